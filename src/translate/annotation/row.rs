//! What one annotation is, as data: key, documentation, tries and effect.

use super::companions::Companion;
use super::draft::{Context, Draft, Entry};
use super::mistakes::Elsewhere;
use super::value::Form;
use super::value::{boolean, byte_size, integer};
use crate::model::catalogue::DirectiveRow;
use crate::model::{Argument, ByteSize, Refused};
use crate::translate::{Limits, Options, SnippetKind};

/// What a value changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// The whole host: of the objects that say something, one decides.
    Server,
    /// The routes of the object, and how all paths of its namespace on the host are matched.
    Matching,
    /// The routes of the object.
    Route,
    /// The way to the backends of the object.
    Upstream,
}

/// How much whoever may write the value must be trusted, as ingress-nginx ranks it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Trust {
    /// Harms nobody but the object's own users.
    Low,
    /// Free text or numbers that cost something.
    Medium,
    /// Reaches beyond the object, or other hosts.
    High,
    /// Raw configuration.
    Critical,
}

impl Trust {
    /// All of them, from the least on.
    pub const ALL: [Trust; 4] = [Trust::Low, Trust::Medium, Trust::High, Trust::Critical];

    /// As settings and documentation call it.
    pub const fn name(self) -> &'static str {
        match self {
            Trust::Low => "low",
            Trust::Medium => "medium",
            Trust::High => "high",
            Trust::Critical => "critical",
        }
    }
}

/// What follows from a value that cannot be honoured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnError {
    /// This key alone has no effect.
    Skip,
    /// Nothing is sent about cross-origin requests: browsers keep other origins out.
    WithholdCors,
    /// No request of the object is copied.
    WithholdCopies,
    /// The routes of the object answer 503.
    Close,
    /// This version of the object is not used; its last good one, if there is one, goes on being served.
    Refuse,
}

impl OnError {
    /// One sentence for the documentation.
    pub const fn sentence(self) -> &'static str {
        match self {
            OnError::Skip => "A value that cannot be used is skipped with a finding.",
            OnError::WithholdCopies => "While a value cannot be used, nothing is copied, with a finding.",
            OnError::WithholdCors => {
                "A value that cannot be used switches all CORS headers of the object off, with a finding."
            }
            OnError::Close => {
                "A value that cannot be used closes the routes of the object: they answer 503 until it is mended."
            }
            OnError::Refuse => {
                "A value that cannot be used refuses this version of the object; its last good one goes on being \
                 served."
            }
        }
    }
}

/// Turns a value into the arguments of a directive.
pub type ParseArguments = fn(&str) -> Result<Vec<Argument>, Refused>;

/// What a snippet asks for that is an annotation: its key without the prefix, and the value.
pub type Implied = (&'static str, String);

/// A snippet of configuration, which counts only where the administrator lets it.
#[derive(Debug, Clone, Copy)]
pub struct SnippetRow {
    /// What the administrator calls it.
    pub kind: SnippetKind,
    /// Reads it: what is no annotation goes into the draft.
    pub read: fn(&mut Draft, &Entry<'_>, &Context<'_>) -> Result<Vec<Implied>, Refused>,
}

/// What a row does.
#[derive(Debug, Clone, Copy)]
pub enum Effect {
    /// It becomes one directive of the catalogue.
    Directive(&'static DirectiveRow, ParseArguments),
    /// It sets a part of the draft.
    Part(fn(&mut Draft, &Entry<'_>) -> Result<(), Refused>),
    /// It is known but not served.
    Unserved {
        /// A value that is not served.
        example: &'static str,
        /// The value that asks for what happens anyway; empty where there is none.
        harmless: &'static str,
        /// One sentence: what to use instead.
        instead: &'static str,
    },
}

/// How a number is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// As a size.
    Bytes,
    /// As seconds.
    Seconds,
    /// As it is.
    Count,
}

/// How far the number of a row may go.
#[derive(Debug, Clone, Copy)]
pub enum Ceiling {
    /// The row takes no number.
    NoNumber,
    /// None is needed, for this reason.
    NotNeeded(&'static str),
    /// As far as the administrator lets it.
    Setting {
        /// The key of the setting.
        key: &'static str,
        /// How the number is written.
        unit: Unit,
        /// Whether 0 asks for no limit at all, so that the ceiling takes its place too.
        zero_is_unlimited: bool,
        /// The ceiling; 0 is none.
        of: fn(&Limits) -> u64,
    },
}

impl Unit {
    /// The number as an annotation has it.
    pub fn written(self, number: u64) -> String {
        match self {
            Unit::Bytes => ByteSize(number).to_string(),
            Unit::Seconds | Unit::Count => number.to_string(),
        }
    }

    /// The number, when the value is one.
    fn read(self, value: &str) -> Option<u64> {
        match self {
            Unit::Bytes => byte_size(value, 0, u64::MAX).ok().map(|size| size.0),
            Unit::Seconds | Unit::Count => integer(value, 0, u64::MAX).ok(),
        }
    }
}

impl Ceiling {
    /// How far the number may go; 0 is as far as it likes.
    pub fn most(&self, limits: &Limits) -> u64 {
        match self {
            Ceiling::Setting { of, .. } => of(limits),
            Ceiling::NoNumber | Ceiling::NotNeeded(_) => 0,
        }
    }

    /// What takes the place of a value that asks for too much, and the setting that says so.
    pub fn instead_of(&self, value: &str, limits: &Limits) -> Option<(String, &'static str)> {
        let Ceiling::Setting { key, unit, zero_is_unlimited, of } = self else { return None };
        let (ceiling, asked) = (of(limits), unit.read(value)?);
        let is_too_much = asked > ceiling || (asked == 0 && *zero_is_unlimited);
        (ceiling > 0 && is_too_much).then(|| (unit.written(ceiling), *key))
    }
}

/// What the key does here, beside what it does with ingress-nginx. What holds for some values only is in findings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compared {
    /// The same.
    Equal,
    /// Less gets through, or less is believed: why, and what to do; nothing has to be done where that is empty.
    Stricter(&'static str, &'static str),
    /// Something else: why, and what to do.
    Different(&'static str, &'static str),
    /// Nothing: why, and what to do.
    Refused(&'static str, &'static str),
}

impl Compared {
    /// Why, and what to do.
    pub const fn words(self) -> (&'static str, &'static str) {
        match self {
            Compared::Equal => ("", ""),
            Compared::Stricter(why, remedy) | Compared::Different(why, remedy) | Compared::Refused(why, remedy) => {
                (why, remedy)
            }
        }
    }
}

/// What a value in a [`Try`] gives.
#[derive(Debug, Clone, Copy)]
pub enum Gives {
    /// This line of the outline.
    Sets(&'static str),
    /// What there would be without the annotation, and no finding.
    Nothing,
    /// This line of the outline, and a finding that the value asked for more.
    Cut(&'static str),
    /// This line of the outline, which is near to what the value asks for, and a finding that says so.
    Near(&'static str),
    /// A finding whose note holds this text.
    Refused(&'static str),
    /// The same, and whatever a bad value does, this one has no effect: it is of the form, and cannot be honoured.
    LeftOut(&'static str),
}

/// A value and what it gives: a test, and an example in the manual.
pub type Try = (&'static str, Gives);

/// One annotation.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    /// The key without its prefix.
    pub key: &'static str,
    /// Other keys with the same meaning; the key wins over them.
    pub aliases: &'static [&'static str],
    /// What it changes.
    pub scope: Scope,
    /// Who should be allowed to set it.
    pub trust: Trust,
    /// What follows from a bad value.
    pub on_error: OnError,
    /// What ingress-nginx makes of one; several where it depends on what is bad.
    pub elsewhere: &'static [Elsewhere],
    /// How far its number may go.
    pub ceiling: Ceiling,
    /// What counts where nobody says anything, as it would be written; empty where that cannot be said.
    pub default: &'static str,
    /// What its values look like to whoever has no parser, such as an API server; rows that are not served need none.
    pub form: Form,
    /// One paragraph for users.
    pub documentation: &'static str,
    /// The administrator's value counts together with his others of the family, whatever an object says itself.
    pub stands_alone: bool,
    /// Annotations without one of which it has no effect; the administrator's own values count with each other alone where they stand
    /// alone.
    pub counts_with: &'static [Companion],
    /// Annotations that the tries need beside them.
    pub beside: &'static [(&'static str, &'static str)],
    /// Examples.
    pub tries: &'static [Try],
    /// What it does.
    pub effect: Effect,
    /// It is a snippet, and this is done where the administrator lets it.
    pub snippet: Option<SnippetRow>,
    /// Whether that is what ingress-nginx does.
    pub compared: Compared,
}

impl Row {
    /// What most rows have in common; every row sets key, documentation, tries and effect.
    pub const DEFAULT: Row = Row {
        key: "",
        aliases: &[],
        scope: Scope::Route,
        trust: Trust::Low,
        on_error: OnError::Skip,
        elsewhere: &[Elsewhere::Default],
        ceiling: Ceiling::NoNumber,
        default: "",
        form: Form::NotJudged("nobody has said yet what its values look like"),
        documentation: "",
        stands_alone: false,
        counts_with: &[],
        beside: &[],
        tries: &[],
        effect: Effect::Unserved { example: "", harmless: "", instead: "" },
        snippet: None,
        compared: Compared::Equal,
    };

    /// Whether the row has an effect of its own.
    pub const fn is_served(&self) -> bool {
        !matches!(self.effect, Effect::Unserved { .. })
    }

    /// Its examples.
    pub fn tries(&self) -> Vec<Try> {
        match self.effect {
            Effect::Unserved { example, harmless, instead } => {
                let nothing = (!harmless.is_empty()).then_some((harmless, Gives::Nothing));
                std::iter::once((example, Gives::Refused(instead))).chain(nothing).collect()
            }
            Effect::Directive(..) | Effect::Part(_) => self.tries.to_vec(),
        }
    }

    /// For a row that is not served: this value asks for what happens anyway.
    pub const fn unless(self, value: &'static str) -> Self {
        match self.effect {
            Effect::Unserved { example, instead, .. } => {
                Row { effect: Effect::Unserved { example, harmless: value, instead }, ..self }
            }
            Effect::Directive(..) | Effect::Part(_) => self,
        }
    }

    /// Whether its values count in some namespace although it is not served.
    pub fn is_allowed_somewhere(&self, options: &Options) -> bool {
        options.annotation_snippets
            && self.snippet.is_some_and(|snippet| options.allows_snippet_somewhere(snippet.kind))
    }

    /// The row with this scope.
    pub const fn scope(self, scope: Scope) -> Self {
        Row { scope, ..self }
    }

    /// The row with this need for trust.
    pub const fn trust(self, trust: Trust) -> Self {
        Row { trust, ..self }
    }

    /// The row beside ingress-nginx.
    pub const fn compared(self, compared: Compared) -> Self {
        Row { compared, ..self }
    }

    /// The row with this consequence.
    pub const fn on_error(self, on_error: OnError) -> Self {
        Row { on_error, ..self }
    }
}

impl Row {
    /// The form of the values that have an effect. Of a number that asks for more than its ceiling the parser makes the ceiling, so
    /// that no number is too large.
    pub fn form(&self, limits: &Limits) -> Form {
        let ceiling = self.ceiling.most(limits);
        let reaches = |most: u64| if ceiling > 0 && ceiling <= most { u64::MAX } else { most };
        match self.form {
            Form::Integer { least, most } => Form::Integer { least, most: reaches(most) },
            Form::Size { least, most } => Form::Size { least, most: reaches(most) },
            form => form,
        }
    }
}

/// A key that is known and not served: with a value for it, a paragraph for users, and one sentence about what to use instead.
pub const fn unserved(
    key: &'static str,
    example: &'static str,
    documentation: &'static str,
    instead: &'static str,
) -> Row {
    let compared = Compared::Refused(documentation, instead);
    Row { key, documentation, compared, effect: Effect::Unserved { example, harmless: "", instead }, ..Row::DEFAULT }
}

/// What a row's default means, by the parser of the row.
pub fn built_in<T: Default>(default: &str, parse: impl FnOnce(&str) -> Result<T, Refused>) -> T {
    parse(default).unwrap_or_default()
}

/// Whether a value asks for something else than what happens anyway.
pub fn asks(value: &str, harmless: &str) -> bool {
    match boolean(harmless) {
        Ok(harmless) => boolean(value) != Ok(harmless),
        Err(_) => value.trim() != harmless,
    }
}

/// Annotations that belong together.
#[derive(Debug)]
pub struct Family {
    /// Heading in the documentation.
    pub title: &'static str,
    /// The rows, sorted by key.
    pub rows: &'static [Row],
    /// Puts together what the rows set; runs once for each object, after all rows.
    pub finish: fn(&mut Draft, &Context<'_>),
}

/// For families whose rows stand alone.
pub fn nothing_to_finish(_draft: &mut Draft, _context: &Context<'_>) {}
