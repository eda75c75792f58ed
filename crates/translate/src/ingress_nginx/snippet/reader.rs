//! Reads the text of a snippet into values, directive by directive. It must not know which
//! directives there are.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::directives::{self, Allowed, Read};
use super::refused;
use super::statements;
use super::text::{Captures, TextPlace, Variables};
use crate::annotation::{Context, Draft, Effect, Entry, Implied};
use ingressd_model::catalogue::{self, Context as Block};
use ingressd_model::language::syntax::{self, Directive};
use ingressd_model::{Digest, OwnVariable, Refused, Snippet, SnippetDirective, SnippetStatement, SnippetText};

/// The most directives of one snippet, which are written in every location that it applies to.
const MOST_DIRECTIVES: usize = 100;
/// The greatest total weight of the expressions in one snippet: each request is matched with all
/// of them.
const MOST_WEIGHT: u32 = 250;
/// The most mistakes that are reported at once.
const MOST_MISTAKES: usize = 5;
/// The bytes of a digest that tell the variables of one snippet from those of all others.
const MARK: usize = 8;

/// Reads a snippet for the locations of an object.
pub fn of_location(draft: &mut Draft, entry: &Entry<'_>, context: &Context<'_>) -> Result<Vec<Implied>, Refused> {
    let (snippet, implied) = Reader::new(entry, context, false).read(entry.value)?;
    if snippet != Snippet::new(entry.origin()) {
        draft.reading.behaviour.snippets.push(Arc::new(snippet));
        Snippet::fit_together(&draft.reading.behaviour.snippets)?;
    }
    Ok(implied)
}

/// Reads a snippet for whole hosts.
pub fn of_host(draft: &mut Draft, entry: &Entry<'_>, context: &Context<'_>) -> Result<Vec<Implied>, Refused> {
    let (snippet, implied) = Reader::new(entry, context, true).read(entry.value)?;
    if snippet != Snippet::new(entry.origin()) {
        draft.reading.host.snippets.push(Arc::new(snippet));
        Snippet::fit_together(&draft.reading.host.snippets)?;
    }
    Ok(implied)
}

/// Clients by address, as nginx reads them: the first matching line decides.
#[derive(Debug, Default)]
pub struct Addresses {
    deny: Vec<String>,
    allow: Vec<String>,
    has_ended: bool,
}

/// A snippet that is being read.
pub struct Reader<'a> {
    context: &'a Context<'a>,
    entry: &'a Entry<'a>,
    is_of_host: bool,
    /// The variables that may be used.
    pub variables: Variables,
    /// The result so far.
    pub snippet: Snippet,
    /// Statements that are executed after all others.
    pub late: Vec<SnippetStatement>,
    /// Clients by address.
    pub addresses: Addresses,
    implied: BTreeMap<&'static str, String>,
}

impl<'a> Reader<'a> {
    fn new(entry: &'a Entry<'a>, context: &'a Context<'a>, is_of_host: bool) -> Self {
        // Nobody can choose a text whose variables are those of another object.
        let mark = Digest::of_all([&entry.origin().to_string(), "\n", entry.value]).hexadecimal(MARK);
        let tables = context.options.lookup_tables.iter();
        let sizes = tables.map(|table| (table.variable.clone(), table.longest)).collect();
        Reader {
            context,
            entry,
            is_of_host,
            variables: Variables { mark, sizes, ..Variables::default() },
            snippet: Snippet::new(entry.origin()),
            late: Vec::new(),
            addresses: Addresses::default(),
            implied: BTreeMap::new(),
        }
    }

    fn read(mut self, text: &str) -> Result<(Snippet, Vec<Implied>), Refused> {
        let tree = syntax::parse(text.as_bytes()).map_err(|error| Refused(error.to_string().into()))?;
        if count(&tree) > MOST_DIRECTIVES {
            return Err(Refused(format!("it has more than {MOST_DIRECTIVES} directives").into()));
        }
        names(&tree, &mut self.variables.own);
        let mut mistakes = Vec::new();
        for directive in &tree {
            if let Err(refused) = self.directive(directive) {
                mistakes.push(mistake(text, directive, &refused));
            }
        }
        if mistakes.is_empty() {
            self.settle_addresses()?;
        }
        self.snippet.statements.append(&mut self.late);
        self.snippet.burden.longest = self.variables.total.get();
        self.snippet.burden.weight = self.variables.weight.get();
        match self.snippet.burden.weight > MOST_WEIGHT {
            _ if !mistakes.is_empty() => Err(several(mistakes)),
            true => Err(Refused(
                format!(
                    "its regular expressions have a weight of more than {MOST_WEIGHT} together, which takes nginx \
                    too long"
                )
                .into(),
            )),
            false => Ok((self.snippet, self.implied.into_iter().collect())),
        }
    }

    fn directive(&mut self, directive: &Directive) -> Result<(), Refused> {
        let Some(allowed) = directives::find(&directive.name) else { return Err(refused::why(&directive.name)) };
        if self.is_of_host && !allowed.of_hosts {
            return Err(Refused::because("it concerns single routes; write it into configuration-snippet"));
        }
        if !self.is_of_host && allowed.only_of_hosts {
            return Err(Refused::because("it must not stand in a location; write it into server-snippet"));
        }
        if directive.block.is_some() != allowed.has_block {
            let what = if allowed.has_block { "it needs a block" } else { "it must not have a block" };
            return Err(Refused::because(what));
        }
        self.allowed(allowed, directive)
    }

    fn allowed(&mut self, allowed: &'static Allowed, directive: &Directive) -> Result<(), Refused> {
        match allowed.read {
            Read::By(read) => read(self, directive),
            Read::Nothing(fits) => fits(&directive.arguments),
            Read::Plain { fits, is_list } => {
                fits(&directive.arguments)?;
                let arguments = directive.arguments.iter().map(|argument| self.value(argument));
                let arguments = arguments.collect::<Result<Vec<_>, _>>()?;
                if let ("sub_filter", [from, to]) = (allowed.name, arguments.as_slice()) {
                    let from = self.variables.size(from, Captures::Unknown);
                    self.snippet.burden.searches.push((from, self.variables.replacement_size(to)));
                }
                let Some(row) = catalogue::find(allowed.name, Block::Location) else {
                    return Err(Refused::because("the directive is not known"));
                };
                if !is_list && self.snippet.directives.iter().any(|other| other.row == row) {
                    return Err(Refused::because("it is there twice"));
                }
                self.snippet.directives.push(SnippetDirective { row, arguments, is_list });
                Ok(())
            }
            Read::Annotation(key, written) => {
                let value = written(&directive.arguments)?;
                match self.is_of_host {
                    true => self.setting(key, &value),
                    false => self.imply(key, value),
                }
            }
        }
    }

    /// Records an annotation that the snippet stands for.
    pub fn imply(&mut self, key: &'static str, value: String) -> Result<(), Refused> {
        match self.implied.insert(key, value) {
            None => Ok(()),
            Some(_) => Err(Refused(format!("{key} is there twice").into())),
        }
    }

    /// Sets for a whole host what an annotation sets for an object.
    fn setting(&mut self, key: &'static str, value: &str) -> Result<(), Refused> {
        let row = self.context.table.find(key);
        let Some((row, Effect::Directive(directive, parse))) = row.map(|row| (row, row.effect)) else {
            return Err(Refused::because("it concerns single routes; write it into configuration-snippet"));
        };
        let cut = row.ceiling.instead_of(value, &self.context.options.limits);
        let arguments = parse(cut.as_ref().map_or(value, |(instead, _)| instead))?;
        if self.snippet.settings.iter().any(|other| other.row == directive) {
            return Err(Refused::because("it is there twice"));
        }
        let origin = self.entry.origin();
        self.snippet.settings.push(ingressd_model::Directive { row: directive, arguments, origin });
        Ok(())
    }

    /// Parses a text for a header, a URL or a body, outside of conditions.
    pub fn value(&self, text: &str) -> Result<SnippetText, Refused> {
        self.variables.text(text, TextPlace::Value, Captures::Unknown)
    }

    /// Sets a variable.
    pub fn set(
        &mut self,
        name: &str,
        (value, longest): (SnippetText, u32),
        in_condition: bool,
    ) -> Result<SnippetStatement, Refused> {
        let own = OwnVariable::new(&self.variables.mark, name)?;
        // nginx would log a warning for each request that does not set the variable.
        if in_condition && !self.variables.sizes.contains_key(&own) {
            self.snippet.statements.push(SnippetStatement::Set(own.clone(), SnippetText::default()));
        }
        let known = self.variables.sizes.entry(own.clone()).or_default();
        *known = longest.max(*known);
        Ok(SnippetStatement::Set(own, value))
    }

    /// Allows or denies the clients of a network.
    pub fn address(&mut self, lets_in: bool, network: &str) -> Result<(), Refused> {
        let Addresses { deny, allow, has_ended } = &mut self.addresses;
        if *has_ended {
            return Err(Refused::because("an earlier line already decides about all clients"));
        }
        match (network, lets_in) {
            ("all", true) if allow.is_empty() => {}
            ("all", true) => return Err(Refused::because("allowed networks before it would have no effect")),
            ("all", false) if allow.is_empty() => deny.extend(["0.0.0.0/0", "::/0"].map(str::to_owned)),
            ("all", false) => {}
            ("unix:", _) => return Err(Refused::because("clients do not connect through sockets of the node")),
            (network, true) => allow.push(network.to_owned()),
            (_, false) if !allow.is_empty() => {
                return Err(Refused::because("write deny before allow"));
            }
            (network, false) => deny.push(network.to_owned()),
        }
        *has_ended = network == "all";
        Ok(())
    }

    fn settle_addresses(&mut self) -> Result<(), Refused> {
        let Addresses { deny, allow, has_ended } = std::mem::take(&mut self.addresses);
        if !allow.is_empty() && !has_ended {
            return Err(Refused::because("allow without deny all admits every client; write deny all; after it"));
        }
        for (key, list) in [("denylist-source-range", deny), ("allowlist-source-range", allow)] {
            if !list.is_empty() {
                self.imply(key, list.join(","))?;
            }
        }
        Ok(())
    }
}

/// The first of several mistakes, and how many more there are.
pub(super) fn several(mut mistakes: Vec<String>) -> Refused {
    let more = mistakes.len().saturating_sub(MOST_MISTAKES);
    mistakes.truncate(MOST_MISTAKES);
    mistakes.extend((more > 0).then(|| format!("and {more} more")));
    Refused(mistakes.join("; ").into())
}

/// A message about a directive, with its place.
pub(super) fn mistake(text: &str, directive: &Directive, refused: &Refused) -> String {
    let before = &text[..directive.span.start];
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    let name = crate::value::excerpt(&directive.name);
    format!("line {}, column {column}: {name}: {refused}", directive.line)
}

fn count(tree: &[Directive]) -> usize {
    tree.iter().map(|directive| 1 + count(directive.children())).sum()
}

/// The variables that a snippet sets.
fn names(tree: &[Directive], into: &mut BTreeSet<String>) {
    for directive in tree {
        if directive.name == "set" {
            let name = directive.arguments.first().and_then(|name| name.strip_prefix('$'));
            into.extend(name.filter(|name| statements::may_be_set(name)).map(str::to_ascii_lowercase));
        }
        names(directive.children(), into);
    }
}
