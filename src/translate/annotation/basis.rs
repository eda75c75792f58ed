//! Which settings a reading of annotations depends on, so that others leave it as it is.

use std::cell::Cell;
use std::collections::BTreeMap;

use super::row::{Row, Scope, Trust};
use super::table::Table;
use crate::model::{Cidr, HeaderName, LookupTable};
use crate::translate::{AllowedSnippets, DefaultValue, Limits, Options, PasswordLimits, SnippetKind};

/// Each line is one decision of the administrator that rows and families may ask for, with where it is in the settings.
macro_rules! decisions {
    ($($(#[$doc:meta])* $name:ident: $type:ty = |$options:ident| $value:expr;)*) => {
        /// Where the note about each decision is.
        #[expect(non_camel_case_types, reason = "they are called as what asks for them")]
        enum Decision { $($name),* }

        $(fn $name($options: &Options) -> $type { $value })*

        impl NotedOptions<'_> {
            $($(#[$doc])* pub fn $name(&self) -> $type {
                self.noted.set(self.noted.get() | (1 << Decision::$name as u32));
                $name(self.options)
            })*
        }

        /// Those that are not the same in both.
        fn differing(one: &Options, other: &Options) -> u32 {
            let mut differing = 0;
            $(if $name(one) != $name(other) {
                differing |= 1 << Decision::$name as u32;
            })*
            differing
        }
    };
}

decisions! {
    /// Clients that are let in where an object says nothing.
    allowlist: &[Cidr] = |options| &options.allowlist;
    /// Clients that are not.
    denylist: &[Cidr] = |options| &options.denylist;
    /// Whether hosts with a certificate send plain requests to https where an object says nothing.
    ssl_redirect: bool = |options| options.ssl_redirect;
    /// Whether all hosts do.
    force_ssl_redirect: bool = |options| options.force_ssl_redirect;
    /// The status of these redirects.
    redirect_status: u16 = |options| options.redirect_status;
    /// Whether references may name other namespaces.
    cross_namespace: bool = |options| options.cross_namespace;
    /// Whether objects may have TLS of their hosts passed on unopened.
    passthrough: bool = |options| options.passthrough;
    /// Whether requests whose path may mean something else to a backend are refused; `None` follows the dialect.
    strict_paths: Option<bool> = |options| options.strict_paths;
    /// Headers of answers that objects may set.
    allowed_headers: &[HeaderName] = |options| &options.allowed_headers;
    /// Whether rules of the firewall are read once for all hosts.
    shares_firewall_rules: bool = |options| options.shares_firewall_rules;
    /// How much whoever may write an Ingress is trusted.
    max_trust: Trust = |options| options.max_trust;
    /// Which snippets count in which namespaces.
    snippets: &[AllowedSnippets] = |options| &options.snippets;
    /// Whether annotations may be snippets at all.
    annotation_snippets: bool = |options| options.annotation_snippets;
    /// Tables that snippets may read.
    lookup_tables: &[LookupTable] = |options| &options.lookup_tables;
    /// All limits, for what stands for annotations that the object does not have.
    limits: &Limits = |options| &options.limits;
    /// How many bytes an annotation may have.
    annotation_bytes: u64 = |options| options.limits.object.annotation_bytes;
    /// How many elements the lists of an object may have.
    list_entries: u64 = |options| options.limits.object.list_entries;
    /// How many origins an object may let in.
    origins: u64 = |options| options.limits.object.origins;
    /// How much memory the buffers for one answer may take; 0 is no bound.
    answer_buffers: u64 = |options| options.limits.answer_buffers.0;
    /// What passwords may cost.
    passwords: PasswordLimits = |options| options.limits.password;
}

/// The administrator's decisions for whoever reads annotations: what is asked of them is noted.
#[derive(Debug)]
pub struct NotedOptions<'a> {
    options: &'a Options,
    noted: Cell<u32>,
}

impl<'a> NotedOptions<'a> {
    /// Nothing is noted yet.
    pub fn new(options: &'a Options) -> Self {
        NotedOptions { options, noted: Cell::new(0) }
    }

    /// Whether a snippet of this kind counts in a namespace with these labels, as far as they are known.
    pub fn allows_snippet(
        &self,
        kind: SnippetKind,
        namespace: &str,
        labels: Option<&BTreeMap<String, String>>,
    ) -> bool {
        !self.snippets().is_empty()
            && self.annotation_snippets()
            && self.options.allows_snippet(kind, namespace, labels)
    }

    /// What a key is about that is not read on objects, because the ConfigMap of the controller alone has it. It is the same whatever
    /// the settings say.
    pub(super) fn key_of_config_map(&self, name: &str) -> Option<Scope> {
        let keys = self.options.keys_of_config_map;
        keys.iter().find(|(key, _)| *key == name).map(|(_, scope)| *scope)
    }

    /// What objects ask for that do not say otherwise. Nothing has to be noted: which rows an object has itself is known.
    pub(super) fn defaults(&self) -> &'a [DefaultValue] {
        &self.options.defaults
    }

    /// What takes the place of a value above its ceiling, and the setting that says so. Nothing has to be noted for the same reason.
    pub(super) fn instead_of(&self, row: &Row, value: &str) -> Option<(String, &'static str)> {
        row.ceiling.instead_of(value, &self.options.limits)
    }
}

/// What a reading depends on besides the object and what it refers to.
#[derive(Debug)]
pub struct Basis {
    noted: u32,
    /// Rows of which the object has a value itself: their ceilings count for it, and their defaults do not.
    own: Box<[&'static Row]>,
}

impl Basis {
    /// That of an object with these annotations, which were read under these options.
    pub(super) fn of(table: &Table, annotations: &BTreeMap<String, String>, options: &NotedOptions<'_>) -> Self {
        let own = annotations.iter().filter(|(_, value)| !value.trim().is_empty());
        let own = own.filter_map(|(key, _)| table.find(key.strip_prefix(table.prefix)?)).collect();
        Basis { noted: options.noted.get(), own }
    }

    /// Whether an object that is read by this table means the same after the change.
    pub fn outlasts(&self, table: &Table, change: &Change<'_>) -> bool {
        let Change { before, after, differing, .. } = *change;
        let has_ceiling_alike = |row: &Row| row.ceiling.most(&before.limits) == row.ceiling.most(&after.limits);
        let is_concerned = |(key, is_same): &(&str, bool)| {
            let row = table.find(key).filter(|row| !is_same || !has_ceiling_alike(row));
            row.is_some_and(|row| row.stands_alone || !self.own.iter().any(|own| std::ptr::eq(*own, row)))
        };
        self.noted & differing == 0
            && self.own.iter().all(|row| has_ceiling_alike(row))
            && !change.defaults.iter().any(is_concerned)
    }
}

/// From some settings to others.
#[derive(Debug)]
pub struct Change<'a> {
    before: &'a Options,
    after: &'a Options,
    /// Decisions that are others.
    differing: u32,
    /// Keys that have a default before or after, and whether it is the same.
    defaults: Vec<(&'static str, bool)>,
}

impl<'a> Change<'a> {
    /// What differs for annotations.
    pub fn between(before: &'a Options, after: &'a Options) -> Self {
        let of =
            |options: &'a Options, key: &'static str| options.defaults.iter().filter(move |default| default.key == key);
        let all = before.defaults.iter().chain(&*after.defaults).map(|default| default.key);
        let defaults = all.map(|key| (key, of(before, key).eq(of(after, key)))).collect();
        Change { before, after, differing: differing(before, after), defaults }
    }
}
