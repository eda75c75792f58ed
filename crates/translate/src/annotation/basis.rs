//! Tracks which settings the reading of annotations depends on, so that it is kept when other
//! settings change.

use std::cell::Cell;
use std::collections::BTreeMap;

use super::row::{Row, Scope, Trust};
use super::table::Table;
use crate::{AllowedSnippets, DefaultValue, Limits, Options, PasswordLimits, SnippetKind};
use ingressd_model::{Cidr, HeaderName, LookupTable, StreamPolicy};
use ingressd_objects::StringMap;

/// Each line is one setting that rows and families may ask for, as a function of the options.
macro_rules! decisions {
    ($($(#[$doc:meta])* $name:ident: $type:ty = |$options:ident| $value:expr;)*) => {
        /// The index of each setting in the record of dependencies.
        #[expect(non_camel_case_types, reason = "they are called as what asks for them")]
        enum Decision { $($name),* }

        $(fn $name($options: &Options) -> $type { $value })*

        impl NotedOptions<'_> {
            $($(#[$doc])* pub fn $name(&self) -> $type {
                self.noted.set(self.noted.get() | (1 << Decision::$name as u32));
                $name(self.options)
            })*
        }

        /// The settings that differ between the two.
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
    /// The default list of allowed clients.
    allowlist: &[Cidr] = |options| &options.allowlist;
    /// The default list of denied clients.
    denylist: &[Cidr] = |options| &options.denylist;
    /// Whether hosts with a certificate redirect plain requests to https by default.
    ssl_redirect: bool = |options| options.ssl_redirect;
    /// Whether all hosts do so.
    force_ssl_redirect: bool = |options| options.force_ssl_redirect;
    /// The status of these redirects.
    redirect_status: u16 = |options| options.redirect_status;
    /// Whether references may name other namespaces.
    cross_namespace: bool = |options| options.cross_namespace;
    /// The domain of names that only the cluster has.
    cluster_domain: &str = |options| &options.cluster_domain;
    /// Whether objects may ask for TLS passthrough.
    passthrough: bool = |options| options.passthrough;
    /// Whether requests with ambiguous paths are refused; `None` follows the dialect.
    strict_paths: Option<bool> = |options| options.strict_paths;
    /// Response headers that objects may set.
    allowed_headers: &[HeaderName] = |options| &options.allowed_headers;
    /// Whether the rules of the firewall are loaded once for all hosts.
    shares_firewall_rules: bool = |options| options.shares_firewall_rules;
    /// What TCP and UDP services do that say nothing else.
    stream_policy: &StreamPolicy = |options| &options.streams.policy;
    /// The trust in authors of Ingresses.
    max_trust: Trust = |options| options.max_trust;
    /// Which snippets count in which namespaces.
    snippets: &[AllowedSnippets] = |options| &options.snippets;
    /// Whether annotations may be snippets at all.
    annotation_snippets: bool = |options| options.annotation_snippets;
    /// Lookup tables that snippets may use.
    lookup_tables: &[LookupTable] = |options| &options.lookup_tables;
    /// All limits, for values that stand for annotations which the object does not have.
    limits: &Limits = |options| &options.limits;
    /// The longest annotation in bytes.
    annotation_bytes: u64 = |options| options.limits.object.annotation_bytes;
    /// The most elements that all lists of an object may have.
    list_entries: u64 = |options| options.limits.object.list_entries;
    /// The most origins that an object may allow.
    origins: u64 = |options| options.limits.object.origins;
    /// The most memory for the buffers of one response; 0 means no limit.
    answer_buffers: u64 = |options| options.limits.answer_buffers.0;
    /// The limits of passwords.
    passwords: PasswordLimits = |options| options.limits.password;
}

/// The administrator's settings for readers of annotations. It records which settings are read.
#[derive(Debug)]
pub struct NotedOptions<'a> {
    options: &'a Options,
    noted: Cell<u32>,
}

impl<'a> NotedOptions<'a> {
    /// Options of which none was read.
    pub fn new(options: &'a Options) -> Self {
        NotedOptions { options, noted: Cell::new(0) }
    }

    /// Whether a snippet of this kind is allowed in a namespace with these labels, as far as they
    /// are known.
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

    /// Whether a snippet of such a namespace may open this port of the node.
    pub fn allows_port(&self, namespace: &str, labels: Option<&BTreeMap<String, String>>, port: u16) -> bool {
        !self.snippets().is_empty() && self.options.allows_port(namespace, labels, port)
    }

    /// The subject of a key that is not read on objects, because only the ConfigMap of the
    /// controller has it. It does not depend on the settings.
    pub(super) fn key_of_config_map(&self, name: &str) -> Option<Scope> {
        let keys = self.options.keys_of_config_map;
        keys.iter().find(|(key, _)| *key == name).map(|(_, scope)| *scope)
    }

    /// What objects ask for that do not say otherwise. Nothing has to be noted: which rows an
    /// object has itself is known.
    pub(super) fn defaults(&self) -> &'a [DefaultValue] {
        &self.options.defaults
    }

    /// The replacement of a value above its ceiling, and the setting of the ceiling. It is not
    /// recorded for the same reason.
    pub(super) fn instead_of(&self, row: &Row, value: &str) -> Option<(String, &'static str)> {
        row.ceiling.instead_of(value, &self.options.limits)
    }
}

/// What a reading depends on besides the object and the objects that it refers to.
#[derive(Debug)]
pub struct Basis {
    noted: u32,
    /// Rows of which the object itself has a value: their ceilings apply to it, and their defaults
    /// do not.
    own: Box<[&'static Row]>,
}

impl Basis {
    /// The basis of the reading of these annotations under these options.
    pub(super) fn of(table: &Table, annotations: &StringMap, options: &NotedOptions<'_>) -> Self {
        let own = annotations.iter().filter(|(_, value)| !value.trim().is_empty());
        let own = own.filter_map(|(key, _)| table.find(key.strip_prefix(table.prefix)?)).collect();
        Basis { noted: options.noted.get(), own }
    }

    /// Whether the reading of an object by this table stays the same after the change.
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

/// A change of settings.
#[derive(Debug)]
pub struct Change<'a> {
    before: &'a Options,
    after: &'a Options,
    /// The settings that differ.
    differing: u32,
    /// Keys with a default before or after, and whether it is the same.
    defaults: Vec<(&'static str, bool)>,
}

impl<'a> Change<'a> {
    /// The differences that matter to annotations.
    pub fn between(before: &'a Options, after: &'a Options) -> Self {
        let of =
            |options: &'a Options, key: &'static str| options.defaults.iter().filter(move |default| default.key == key);
        let all = before.defaults.iter().chain(&*after.defaults).map(|default| default.key);
        let defaults = all.map(|key| (key, of(before, key).eq(of(after, key)))).collect();
        Change { before, after, differing: differing(before, after), defaults }
    }
}
