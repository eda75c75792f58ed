//! One annotation as data: key, documentation, tries and effect.

use super::ceiling::Ceiling;
use super::companions::Companion;
use super::draft::{Context, Draft, Entry};
use super::mistakes::Elsewhere;
use super::value::{Form, boolean};
use crate::{Limits, Options, SnippetKind};
use ingressd_model::catalogue::DirectiveRow;
use ingressd_model::{Argument, Refused};

/// The scope of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// The whole host: if several objects set it, one decides.
    Server,
    /// The routes of the object, and how all paths of its namespace on the host are matched.
    Matching,
    /// The routes of the object.
    Route,
    /// The connections to the backends of the object.
    Upstream,
    /// What clients connect to, before it is known which host they ask for: addresses, ports, the
    /// PROXY protocol. No object says it.
    Listener,
    /// The whole nginx of a node with its other sites, or the daemon. No object says it.
    Node,
}

impl Scope {
    /// Whether an object may say something of it.
    pub const fn is_of_objects(self) -> bool {
        !matches!(self, Scope::Listener | Scope::Node)
    }

    /// What it is about, for people.
    pub const fn about(self) -> &'static str {
        match self {
            Scope::Server => "hosts",
            Scope::Matching | Scope::Route => "routes",
            Scope::Upstream => "the way to backends",
            Scope::Listener => "listeners",
            Scope::Node => "the node",
        }
    }

    /// The note of the finding about such a key on an object.
    pub fn is_not_for_objects(self) -> String {
        let about = self.about();
        match self.is_of_objects() {
            true => format!(
                "it is not an annotation but a key of the controller's ConfigMap, about {about} of all objects; write \
                 it there"
            ),
            false => format!(
                "it is about {about}, which only the administrator sets, in the controller's ConfigMap or the settings"
            ),
        }
    }
}

/// The trust that a value needs in the author of the Ingress, as ingress-nginx ranks it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Trust {
    /// The value can harm only the object's own users.
    Low,
    /// The value is free text, or a number with a cost.
    Medium,
    /// The value affects more than the object, or other hosts.
    High,
    /// The value is raw configuration.
    Critical,
}

impl Trust {
    /// All levels, in ascending order.
    pub const ALL: [Trust; 4] = [Trust::Low, Trust::Medium, Trust::High, Trust::Critical];

    /// Its name in settings and documentation.
    pub const fn name(self) -> &'static str {
        match self {
            Trust::Low => "low",
            Trust::Medium => "medium",
            Trust::High => "high",
            Trust::Critical => "critical",
        }
    }
}

/// The consequence of an invalid value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnError {
    /// Only this key has no effect.
    Skip,
    /// No CORS headers are sent, so browsers block other origins.
    WithholdCors,
    /// No request of the object is mirrored.
    WithholdCopies,
    /// The routes of the object answer 503.
    Close,
    /// This version of the object is not used; its last good one, if any, is still served.
    Refuse,
}

impl OnError {
    /// A sentence for the documentation.
    pub const fn sentence(self) -> &'static str {
        match self {
            OnError::Skip => "A value that cannot be used is skipped with a finding.",
            OnError::WithholdCopies => "With a value that cannot be used no request is mirrored, with a finding.",
            OnError::WithholdCors => {
                "With a value that cannot be used the object sends no CORS headers, with a finding."
            }
            OnError::Close => {
                "A value that cannot be used closes the routes of the object: they answer 503 until it is corrected."
            }
            OnError::Refuse => {
                "With a value that cannot be used this version of the object is refused, and its last good version \
                 stays in use."
            }
        }
    }
}

/// Parses a value to the arguments of a directive.
pub type ParseArguments = fn(&str) -> Result<Vec<Argument>, Refused>;

/// Sets a part of the draft by a value.
pub type SetPart = fn(&mut Draft, &Entry<'_>) -> Result<(), Refused>;

/// An annotation that a snippet stands for: its key without the prefix, and the value.
pub type Implied = (&'static str, String);

/// A snippet of configuration, which is used only where the administrator allows it.
#[derive(Debug, Clone, Copy)]
pub struct SnippetRow {
    /// Its kind in the settings.
    pub kind: SnippetKind,
    /// Reads it. The annotations that it stands for are returned, everything else goes into the
    /// draft.
    pub read: fn(&mut Draft, &Entry<'_>, &Context<'_>) -> Result<Vec<Implied>, Refused>,
}

/// The effect of a row.
#[derive(Debug, Clone, Copy)]
pub enum Effect {
    /// It sets one directive of the catalogue.
    Directive(&'static DirectiveRow, ParseArguments),
    /// It sets a part of the draft.
    Part(SetPart),
    /// It is known but not supported.
    Unserved {
        /// An example of a value that is not supported.
        example: &'static str,
        /// The value that asks for what happens anyway; empty when there is none.
        harmless: &'static str,
        /// The alternative; one sentence.
        instead: &'static str,
    },
}

/// The effect of the key compared with ingress-nginx. Differences of some values only are in
/// findings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compared {
    /// The same.
    Equal,
    /// Stricter: less is accepted or trusted. The reason, and what to do (empty when nothing has
    /// to be done).
    Stricter(&'static str, &'static str),
    /// Stricter, but with a value that causes no finding the same.
    StricterValues(&'static str, &'static str),
    /// Different: the reason, and what to do.
    Different(&'static str, &'static str),
    /// Different without the key, and with it the same.
    DifferentUnset(&'static str, &'static str),
    /// No effect: the reason, and what to do.
    Refused(&'static str, &'static str),
}

impl Compared {
    /// The reason, and what to do.
    pub const fn words(self) -> (&'static str, &'static str) {
        match self {
            Compared::Equal => ("", ""),
            Compared::Stricter(why, remedy)
            | Compared::StricterValues(why, remedy)
            | Compared::Different(why, remedy)
            | Compared::DifferentUnset(why, remedy)
            | Compared::Refused(why, remedy) => (why, remedy),
        }
    }

    /// The comparison of a value that causes no finding.
    pub const fn of_accepted(self) -> Self {
        match self {
            Compared::StricterValues(..) | Compared::DifferentUnset(..) => Compared::Equal,
            compared => compared,
        }
    }
}

/// The result of a value in a [`Try`].
#[derive(Debug, Clone, Copy)]
pub enum Gives {
    /// It sets this line of the outline.
    Sets(&'static str),
    /// It sets nothing, and there is no finding.
    Nothing,
    /// It sets this line of the outline, with a finding that the value is above its ceiling.
    Cut(&'static str),
    /// It sets this line of the outline, which is near to what the value asks for, with a finding
    /// that says so.
    Near(&'static str),
    /// There is a finding whose note contains this text.
    Refused(&'static str),
    /// The same, and whatever a bad value does, this one has no effect: it is of the form, and
    /// cannot be honoured.
    LeftOut(&'static str),
}

/// A value and its result: a test, and an example in the manual.
pub type Try = (&'static str, Gives);

/// One annotation.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    /// The key without its prefix.
    pub key: &'static str,
    /// Other spellings of the key; the key takes precedence over them.
    pub aliases: &'static [&'static str],
    pub scope: Scope,
    /// The trust that it needs.
    pub trust: Trust,
    /// The consequence of an invalid value.
    pub on_error: OnError,
    /// What ingress-nginx does with an invalid value; several where that depends on the value.
    pub elsewhere: &'static [Elsewhere],
    /// The upper limit of its number.
    pub ceiling: Ceiling,
    /// The default as it would be written; empty when it cannot be written.
    pub default: &'static str,
    /// The setting that says what counts where no object does, and neither the ConfigMap; empty
    /// where there is none.
    pub setting: &'static str,
    /// The form of its values, for programs that cannot call the parser, such as an API server;
    /// rows that are not served need none.
    pub form: Form,
    /// One paragraph for users.
    pub documentation: &'static str,
    /// Whether the administrator's default applies together with the other defaults of the family,
    /// whatever an object sets itself.
    pub stands_alone: bool,
    /// Annotations of which at least one is needed for an effect; for defaults that stand alone,
    /// those of the administrator.
    pub counts_with: &'static [Companion],
    /// Whether it counts on a canary; otherwise that of its main object does.
    pub counts_on_canary: bool,
    /// Further annotations that the tries need.
    pub beside: &'static [(&'static str, &'static str)],
    /// Examples.
    pub tries: &'static [Try],
    pub effect: Effect,
    /// The use as a snippet, where the administrator allows it.
    pub snippet: Option<SnippetRow>,
    /// The comparison with ingress-nginx.
    pub compared: Compared,
}

/// Makes a method for each of these fields, which sets it.
macro_rules! setters {
    ($($field:ident: $type:ty,)*) => {
        $(pub const fn $field(self, $field: $type) -> Self {
            Row { $field, ..self }
        })*
    };
}

impl Row {
    /// A row about routes, which anybody may set and whose bad values are skipped. It has no
    /// effect yet.
    pub const fn new(key: &'static str, form: Form) -> Row {
        Row {
            key,
            aliases: &[],
            scope: Scope::Route,
            trust: Trust::Low,
            on_error: OnError::Skip,
            elsewhere: &[Elsewhere::Default],
            ceiling: Ceiling::NoNumber,
            default: "",
            setting: "",
            form,
            documentation: "",
            stands_alone: false,
            counts_with: &[],
            counts_on_canary: false,
            beside: &[],
            tries: &[],
            effect: Effect::Unserved { example: "", harmless: "", instead: "" },
            snippet: None,
            compared: Compared::Equal,
        }
    }

    setters! {
        aliases: &'static [&'static str],
        scope: Scope,
        trust: Trust,
        on_error: OnError,
        elsewhere: &'static [Elsewhere],
        ceiling: Ceiling,
        default: &'static str,
        setting: &'static str,
        documentation: &'static str,
        counts_with: &'static [Companion],
        beside: &'static [(&'static str, &'static str)],
        tries: &'static [Try],
        effect: Effect,
        compared: Compared,
    }

    pub const fn stands_alone(self) -> Self {
        Row { stands_alone: true, ..self }
    }

    pub const fn counts_on_canary(self) -> Self {
        Row { counts_on_canary: true, ..self }
    }

    pub const fn snippet(self, snippet: SnippetRow) -> Self {
        Row { snippet: Some(snippet), ..self }
    }

    /// The row with the effect that it sets one directive.
    pub const fn directive(self, row: &'static DirectiveRow, parse: ParseArguments) -> Self {
        self.effect(Effect::Directive(row, parse))
    }

    /// The row with the effect that it sets a part of the draft.
    pub const fn part(self, set: SetPart) -> Self {
        self.effect(Effect::Part(set))
    }

    /// Whether the row has an effect of its own.
    pub const fn is_served(&self) -> bool {
        !matches!(self.effect, Effect::Unserved { .. })
    }

    /// Its tries; those of a row that is not supported are made of its effect.
    pub fn all_tries(&self) -> Vec<Try> {
        match self.effect {
            Effect::Unserved { example, harmless, instead } => {
                let nothing = (!harmless.is_empty()).then_some((harmless, Gives::Nothing));
                std::iter::once((example, Gives::Refused(instead))).chain(nothing).collect()
            }
            Effect::Directive(..) | Effect::Part(_) => self.tries.to_vec(),
        }
    }

    /// For a row that is not supported: this value asks for what happens anyway.
    pub const fn unless(self, value: &'static str) -> Self {
        match self.effect {
            Effect::Unserved { example, instead, .. } => {
                self.effect(Effect::Unserved { example, harmless: value, instead })
            }
            Effect::Directive(..) | Effect::Part(_) => self,
        }
    }

    /// Whether its values are used in some namespace although it is not supported otherwise.
    pub fn is_allowed_somewhere(&self, options: &Options) -> bool {
        options.annotation_snippets
            && self.snippet.is_some_and(|snippet| options.allows_snippet_somewhere(snippet.kind))
    }

    /// The form of effective values. The parser reduces a number above its ceiling, so no number
    /// is too large.
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

/// A row for a key that is known and not supported, with an example, a paragraph for users, and a
/// sentence about the alternative.
pub const fn unserved(
    key: &'static str,
    example: &'static str,
    documentation: &'static str,
    instead: &'static str,
) -> Row {
    Row::new(key, Form::NotJudged("nobody has said yet what its values look like"))
        .documentation(documentation)
        .compared(Compared::Refused(documentation, instead))
        .effect(Effect::Unserved { example, harmless: "", instead })
}

/// Sets a place to a value, unless this is refused.
pub fn put<P: From<T>, T>(place: &mut P, value: Result<T, Refused>) -> Result<(), Refused> {
    *place = P::from(value?);
    Ok(())
}

/// Parses a row's default by the parser of the row.
pub fn built_in<T: Default>(default: &str, parse: impl FnOnce(&str) -> Result<T, Refused>) -> T {
    parse(default).unwrap_or_default()
}

/// Whether a value asks for something that does not happen anyway.
pub fn asks(value: &str, harmless: &str) -> bool {
    match boolean(harmless) {
        Ok(harmless) => boolean(value) != Ok(harmless),
        Err(_) => value.trim() != harmless,
    }
}

/// A family of annotations.
#[derive(Debug)]
pub struct Family {
    /// The heading in the documentation.
    pub title: &'static str,
    /// The rows, sorted by key.
    pub rows: &'static [Row],
    /// Combines the values of the rows; runs once for each object, after all rows.
    pub finish: fn(&mut Draft, &Context<'_>),
}

/// For families whose rows need no combination.
pub fn nothing_to_finish(_draft: &mut Draft, _context: &Context<'_>) {}
