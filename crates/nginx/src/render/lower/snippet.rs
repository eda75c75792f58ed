//! Writes the directives of snippets into a location. It must not know who may write a snippet,
//! nor what was refused in one.
//!
//! Headers of snippets are merged with those of the server, because in nginx a single header
//! directive in a location replaces the server's list as a whole.

use crate::render::token::{Literal, SnippetSurroundings, Text, Word, Words};
use crate::render::view;
use ingressd_model::catalogue;
use ingressd_model::expression::{LIMITS, anywhere};
use ingressd_model::{
    Action, LONGEST_HOST, Origin, Pattern, Refused, RewriteFlag, Snippet, SnippetCondition, SnippetDirective,
    SnippetPart, SnippetStatement, SnippetText, Variable,
};

use super::backend_headers;
use super::location::Scene;
use super::slots::{Header, Slot, Slots};

/// The condition of a directive.
enum When<'a> {
    /// It applies to all requests.
    Always,
    /// It applies to requests that fulfil this condition.
    If(&'a SnippetCondition),
    /// It applies to requests for which this variable was set.
    Noted(&'a Word),
}

/// Writes the directives.
pub fn lower(scene: &Scene<'_>, slots: &mut Slots) -> Result<(), Refused> {
    let snippets = &scene.handler.behaviour.snippets;
    if snippets.is_empty() || scene.handler.action == Action::Closed {
        return Ok(());
    }
    let known = |variable| backend_headers::known(scene.handler, variable);
    let surroundings = SnippetSurroundings {
        known: &known,
        trusts: scene.facts.names_scheme(),
        has_request_ids: scene.facts.has_request_ids,
    };
    let slot = if scene.handler.action.upstream().is_some() { Slot::Snippets } else { Slot::Conditions };
    let mut lowering = Lowering { surroundings, slots, slot, notes: 0 };
    if Snippet::replace_all(snippets) {
        lowering.refuse_long_hosts()?;
    }
    snippets.iter().try_for_each(|snippet| lowering.snippet(snippet))?;
    // Where nginx takes a directive once, that of the innermost level counts.
    let mut all: Vec<(&SnippetDirective, &Origin)> = Vec::new();
    for snippet in snippets {
        all.extend(snippet.directives.iter().map(|directive| (directive, &snippet.origin)));
    }
    for (index, (directive, origin)) in all.iter().enumerate() {
        let is_last = all[index + 1..].iter().all(|(later, _)| later.row != directive.row);
        lowering.slots.owned_by(Some((*origin).clone()));
        if directive.is_list || is_last {
            let arguments = directive.arguments.iter().map(|text| lowering.text(text));
            let arguments = Words::join(arguments.collect::<Result<Vec<_>, _>>()?);
            lowering.slots.say(Slot::Backend, directive.row.name, arguments);
        }
    }
    slots.owned_by(None);
    let default_type = scene.facts.decisions.global.default_type.as_ref();
    let says_type = all.iter().any(|(directive, _)| *directive.row == catalogue::DEFAULT_TYPE);
    let answers = snippets.iter().any(|snippet| !snippet.statements.is_empty());
    if let Some(default_type) = default_type.filter(|_| answers && !says_type) {
        slots.say(Slot::Backend, catalogue::DEFAULT_TYPE.name, Text::of(default_type));
    }
    Ok(())
}

struct Lowering<'a> {
    surroundings: SnippetSurroundings<'a>,
    slots: &'a mut Slots,
    /// Where statements go.
    slot: Slot,
    /// The number of conditions that are kept in variables so far.
    notes: usize,
}

impl Lowering<'_> {
    fn snippet(&mut self, snippet: &Snippet) -> Result<(), Refused> {
        self.slots.owned_by(Some(snippet.origin.clone()));
        for statement in &snippet.statements {
            // The response of the location itself must not be left out, which would serve files.
            if ends_here(statement) {
                self.slot = Slot::Snippets;
            }
            match statement {
                SnippetStatement::If(condition, then) => self.condition(condition, then)?,
                statement => self.say(&When::Always, statement)?,
            }
        }
        for header in &snippet.answer_headers {
            let value = self.text(&header.value)?.into();
            let written = Header { name: Word::header_name(&header.name)?, value, owner: Some(snippet.origin.clone()) };
            match header.always {
                true => self.slots.answer_header(written),
                false => self.slots.answer_header_of_success(written),
            }
        }
        for name in &snippet.hidden_headers {
            self.slots.hide_header(Word::header_name(name)?);
        }
        for (name, value) in &snippet.request_headers {
            let value = self.text(value)?.into();
            let owner = Some(snippet.origin.clone());
            self.slots.request_header(Header { name: Word::header_name(name)?, value, owner });
        }
        Ok(())
    }

    /// The host of a request may be as long as a header line, and would be written for each match.
    fn refuse_long_hosts(&mut self) -> Result<(), Refused> {
        let named = |name| Variable::new(name).map(SnippetPart::Variable);
        for variable in [named("host")?, named("http_host")?, SnippetPart::ClientHost] {
            let pattern = Pattern::new(&format!("^.{{{}}}", LONGEST_HOST + 1))?;
            let condition = SnippetCondition::Matches { variable, pattern, any_case: false, not: false };
            self.say(&When::If(&condition), &SnippetStatement::Return(400, None))?;
        }
        Ok(())
    }

    /// A block of several directives becomes one condition for each of them, kept in a variable:
    /// the first directive must not change the condition of the next.
    fn condition(&mut self, condition: &SnippetCondition, then: &[SnippetStatement]) -> Result<(), Refused> {
        if let [statement] = then {
            return self.say(&When::If(condition), statement);
        }
        let note = Word::variable(&format!("s_{}", self.notes))?;
        self.notes += 1;
        self.slots.say(self.slot, "set", Words::join([note.clone(), Word::fixed("\"\"")]));
        self.directive(&When::If(condition), "set", Words::join([note.clone(), Word::fixed("1")]))?;
        then.iter().try_for_each(|statement| self.say(&When::Noted(&note), statement))
    }

    fn say(&mut self, when: &When<'_>, statement: &SnippetStatement) -> Result<(), Refused> {
        let (name, arguments) = match statement {
            SnippetStatement::Set(own, value) => {
                ("set", Words::join([Words::from(Word::own_variable(own)), self.text(value)?.into()]))
            }
            SnippetStatement::Return(status, text) => {
                let text = text.as_ref().map(|text| self.text(text)).transpose()?;
                let status = Words::from(Word::number(u64::from(*status)));
                ("return", Words::join([status].into_iter().chain(text.map(Words::from))))
            }
            SnippetStatement::Rewrite(pattern, target, flag) => {
                let words = [expression(pattern)?.into(), self.text(target)?.into(), Word::fixed(flag.name()).into()];
                ("rewrite", Words::join::<Words>(words))
            }
            SnippetStatement::Break => ("break", Words::nothing()),
            // Conditions cannot be nested.
            SnippetStatement::If(..) => return Err(Refused::because("a condition stands within another one")),
        };
        self.directive(when, name, arguments)
    }

    fn directive(&mut self, when: &When<'_>, name: &'static str, arguments: Words) -> Result<(), Refused> {
        let variable = |part: &SnippetPart| {
            Word::of_snippet(part, &self.surroundings).ok_or(Refused::because("a condition has no variable"))
        };
        let (variable, operator, value) = match when {
            When::Always => {
                self.slots.say(self.slot, name, arguments);
                return Ok(());
            }
            When::Noted(note) => {
                self.slots.say_if(self.slot, (*note).clone(), name, arguments);
                return Ok(());
            }
            When::If(SnippetCondition::IsSet(part)) => {
                self.slots.say_if(self.slot, variable(part)?, name, arguments);
                return Ok(());
            }
            When::If(SnippetCondition::Is { variable: part, text, not }) => {
                (variable(part)?, if *not { "!=" } else { "=" }, Words::from(self.text(text)?))
            }
            When::If(SnippetCondition::Matches { variable: part, pattern, any_case, not }) => {
                let operator = match (not, any_case) {
                    (false, false) => "~",
                    (false, true) => "~*",
                    (true, false) => "!~",
                    (true, true) => "!~*",
                };
                (variable(part)?, operator, expression(pattern)?.into())
            }
        };
        let (operator, name) = (Word::fixed(operator), Word::fixed(name));
        self.slots.say_compared(self.slot, view::Comparison { variable, operator, value, name, arguments });
        Ok(())
    }

    fn text(&self, text: &SnippetText) -> Result<Text, Refused> {
        Text::of_snippet(text, &self.surroundings)
    }
}

/// Whether nginx may skip all that follows a statement, and go on to the backend.
fn ends_here(statement: &SnippetStatement) -> bool {
    match statement {
        SnippetStatement::Break | SnippetStatement::Rewrite(_, _, RewriteFlag::Break) => true,
        SnippetStatement::If(_, then) => then.iter().any(ends_here),
        SnippetStatement::Set(..) | SnippetStatement::Return(..) | SnippetStatement::Rewrite(..) => false,
    }
}

/// A regular expression with limits for the matching effort.
fn expression(pattern: &Pattern) -> Result<Literal, Refused> {
    Literal::new(&format!("{LIMITS}{}", anywhere(pattern.as_str())))
}
