//! The templates of the program, each with a complete example of its view, and the administrator's
//! replacements.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use super::engine::{Engine, Source, TemplateError};
use super::file_set::Digest;
use super::token::{Literal, Word, Words};
use super::view::{self, View};
use ingressd_model::{Instance, Refused};

/// Texts by name.
type Texts = BTreeMap<&'static str, String>;

/// Texts that replace the program's own templates. They are checked to put no value where it could
/// do harm.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Templates(Arc<Texts>);

impl Templates {
    /// Checks texts, given by the names of the templates that they replace.
    ///
    /// # Errors
    ///
    /// The texts that break a rule; the list is never empty.
    pub fn of(texts: BTreeMap<&'static str, String>) -> Result<Self, Vec<TemplateError>> {
        let templates = Templates(Arc::new(texts));
        load(&Instance::default(), &templates).map(|_| templates)
    }

    /// The names of all templates of the program, sorted.
    pub fn names() -> Vec<&'static str> {
        let mut names: Vec<_> = sources(&Instance::default(), &Texts::new()).iter().map(|source| source.name).collect();
        names.sort_unstable();
        names
    }

    /// The text of a template of the program; `None` when there is none of this name.
    pub fn text(name: &str) -> Option<String> {
        let sources = sources(&Instance::default(), &Texts::new());
        sources.into_iter().find(|source| source.name == name).map(|source| source.text)
    }

    /// A digest of these texts; `None` where only the program's own are used.
    pub fn digest(&self) -> Option<Digest> {
        let texts = self.0.iter().map(|(name, text)| format!("{name} {}\n{text}", text.len()));
        (!self.0.is_empty()).then(|| Digest::of(texts.collect::<String>().as_bytes()))
    }
}

impl fmt::Debug for Templates {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Templates").field(&self.0.keys()).finish()
    }
}

/// Loads all templates, with these replacements.
///
/// # Errors
///
/// When one of them breaks a rule. A test loads the program's own; replacements are checked when
/// they are read.
pub fn load(instance: &Instance, templates: &Templates) -> Result<Engine, Vec<TemplateError>> {
    Engine::load(sources(instance, &templates.0), instance)
}

/// A text with our names as they are for an instance: they differ from those of another one.
pub fn named(text: &str, mark: &str) -> String {
    text.replace("ingressd_", &format!("ingressd{mark}_"))
        .replace("shared:ingressd:", &format!("shared:ingressd{mark}:"))
}

fn sources(instance: &Instance, texts: &Texts) -> Vec<Source> {
    let mark = instance.mark();
    let named = |text: &str| named(text, &mark);
    macro_rules! source {
        ($name:literal, $example:expr) => {
            Source {
                name: $name,
                text: named(include_str!(concat!("../../templates/", $name, ".hbs"))),
                instead: texts.get($name).map(|text| named(text)),
                example: $example,
                second_lines: ($name == "location").then_some("directives"),
            }
        };
    }
    // An example that cannot be made becomes an empty view, which no template accepts.
    let example = |made: Result<Value, Refused>| Some(made.unwrap_or(Value::Null));
    vec![
        source!("fastcgi_params", None),
        source!("strict_paths", None),
        source!("tables", Some(read(tables()))),
        source!("status", Some(read(status()))),
        source!("listens", Some(read(view::Listens { listens: lines() }))),
        source!("server_name", example(name())),
        source!("server", Some(read(server()))),
        source!("trusted", Some(read(view::Nothing {}))),
        source!("statements", Some(read(view::Statements { statements: vec![&statement()] }))),
        source!("backends", Some(read(view::Backends { variable: WORD }))),
        source!("backend", example(backend())),
        source!("location", example(location())),
        source!("upstream", Some(read(upstream()))),
        source!("stream", Some(read(stream()))),
        source!("stream_upstream", Some(read(stream_upstream()))),
    ]
}

const WORD: Word = Word::fixed("word");

/// What a template reads of an example.
fn read(view: impl View) -> Value {
    view.value(&mut str::to_owned)
}

/// Several words, so that nothing takes them for one.
fn words() -> Words {
    Words::join([WORD, WORD])
}

fn lines() -> Vec<Words> {
    vec![words()]
}

fn blocks() -> Vec<view::Block> {
    vec![view::Block { opening: words(), lines: lines() }]
}

fn directive() -> view::Directive {
    view::Directive { name: WORD, arguments: words() }
}

fn tables() -> view::Tables {
    view::Tables { statements: vec![view::TablesStatement { block: blocks(), line: lines() }] }
}

fn status() -> view::StatusServer {
    view::StatusServer { address: WORD, directives: lines(), locations: blocks() }
}

fn name() -> Result<Value, Refused> {
    Ok(read(view::Name { name: Literal::new("name")? }))
}

fn backend() -> Result<Value, Refused> {
    Ok(read(view::Backend { host: Literal::new("name")?, upstream: WORD }))
}

fn server() -> view::Server {
    view::Server { connection: lines(), buffers: lines(), backends: lines() }
}

fn statement() -> view::Statement {
    view::Statement {
        conditional: vec![view::Conditional { condition: WORD, name: WORD, arguments: words() }],
        compared: vec![view::Comparison {
            variable: WORD,
            operator: WORD,
            value: words(),
            name: WORD,
            arguments: words(),
        }],
        plain: vec![directive()],
    }
}

fn location() -> Result<Value, Refused> {
    Ok(read(view::Location {
        modifier: WORD,
        path: Literal::new("/")?.into(),
        directives: vec![directive()],
        strict_paths: true,
        statements: vec![statement()],
        pass: vec![view::Pass { directive: WORD, scheme: WORD, upstream: WORD }],
    }))
}

fn upstream() -> view::Upstream {
    view::Upstream { name: WORD, balancing: lines(), endpoints: lines(), connections: lines() }
}

fn stream() -> view::Stream {
    view::Stream { listens: lines(), directives: lines(), upstream: WORD }
}

fn stream_upstream() -> view::StreamUpstream {
    view::StreamUpstream { name: WORD, balancing: lines(), endpoints: lines() }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    /// Every value of every template, in the order of the names. A feature needs none: it says
    /// directives in a slot that is there.
    const HOLES: &[(&str, &str)] = &[
        ("backend", "host upstream"),
        ("backends", "variable"),
        (
            "location",
            "arguments compared condition conditional directive directives modifier name operator pass path plain scheme \
             statements strict_paths upstream value variable",
        ),
        ("listens", "listens this"),
        ("server", "backends buffers connection this"),
        ("server_name", "name"),
        ("statements", "arguments compared condition conditional name operator plain statements value variable"),
        ("status", "address directives lines locations opening this"),
        ("stream", "directives listens this upstream"),
        ("stream_upstream", "balancing endpoints name this"),
        ("tables", "block line lines opening statements this"),
        ("upstream", "balancing connections endpoints name this"),
    ];

    /// The values that a template names.
    fn holes(text: &str) -> String {
        let tags = text.split("{{").skip(1).filter_map(|rest| rest.split_once("}}")).map(|(tag, _)| tag);
        let names = tags.filter(|tag| !tag.starts_with(['/', '>', '!'])).filter_map(|tag| tag.split(' ').next_back());
        names.collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn every_template_keeps_the_rules() {
        super::load(&Default::default(), &Default::default()).expect("every name in every template resolves");
    }

    #[test]
    fn templates_have_slots_and_name_no_feature() {
        for source in super::sources(&Default::default(), &Default::default()) {
            let expected = HOLES.iter().find(|(name, _)| *name == source.name).map_or("", |(_, holes)| *holes);
            assert_eq!(holes(&source.text), expected, "{}", source.name);
        }
    }
}
