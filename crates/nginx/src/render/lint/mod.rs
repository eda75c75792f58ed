//! Checks that a template puts values only where nginx expects whole words, whatever the values
//! are.
//!
//! handlebars reads an unknown name in `{{#if}}` as false even in strict mode, and three braces
//! bypass escaping. So every template is walked once against a full example of its view: each name
//! must resolve, conditions must be booleans, lists must be lists, and nothing but `when`,
//! `unless`, `each` and known partials may be called. While it is walked, its text is read as
//! nginx reads it, so that it is known where each value stands.

mod position;
mod tags;

use std::collections::BTreeSet;

use handlebars::template::{HelperTemplate, Parameter, TemplateElement};
use handlebars::{Path, Template};
use serde_json::Value;

pub use position::ValueContext;
use position::{Kind, Position};

/// A mistake: the line, where it is known, and the message.
pub type Wrong = (Option<usize>, String);

/// How a template uses its values.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Uses {
    /// Every value that it reads, by its path in the view.
    read: BTreeSet<String>,
    /// The context of each value that must not be used elsewhere: quoted texts, and names of
    /// directives.
    bound: BTreeSet<(String, ValueContext)>,
    /// The blocks that it leaves open at its end.
    open: Vec<String>,
}

/// Compiles a template and checks it with the example of its view.
pub fn compile(text: &str, example: Option<&Value>, partials: &[&str]) -> Result<(Template, Uses), Wrong> {
    tags::check(text).map_err(|(line, words)| (Some(line), words))?;
    let template = parse(text)?;
    let mut walk = Walk { partials: example.map_or(&[], |_| partials), uses: Uses::default() };
    let mut position = Position::default();
    walk.template(&template, &Scope { view: example.unwrap_or(&Value::Null), path: "" }, &mut position)?;
    let end = Some(text.lines().count());
    if !position.is_between_statements() || !position.is_fresh() {
        return Err((end, "it does not end with a whole statement and the end of a line".into()));
    }
    if let Some(unread) = example.and_then(|example| unread(example, "", &walk.uses.read)) {
        let words = format!("it does not use {unread}: what that stands for would be lost without a word");
        return Err((None, words));
    }
    walk.uses.open = position.open().to_vec();
    Ok((template, walk.uses))
}

/// Most of the program's templates are plain text, and the parser takes longer for plain text than
/// everything else that a start does before it reads manifests.
fn parse(text: &str) -> Result<Template, Wrong> {
    if text.contains("{{") {
        return Template::compile(text)
            .map_err(|error| (error.pos().map(|(line, _)| line), format!("it is no template: {}", error.reason())));
    }
    let mut template = Template::default();
    template.elements.push(TemplateElement::RawString(text.to_owned()));
    Ok(template)
}

impl Uses {
    /// Checks that another template may replace this one.
    pub fn allow(&self, other: &Uses) -> Result<(), String> {
        if let Some((path, place)) = other.bound.difference(&self.bound).next() {
            let place = match place {
                ValueContext::First { .. } => "as a first word there".to_owned(),
                ValueContext::Argument { name, .. } => format!("there as an argument of {name}"),
            };
            return Err(format!("{path} cannot stand {place}: the embedded template has it elsewhere"));
        }
        match other.open == self.open {
            true => Ok(()),
            false if self.open.is_empty() => Err("a block is not closed".to_owned()),
            false => Err(format!("it has to leave these blocks open, and no others: {}", self.open.join(", "))),
        }
    }
}

/// Checks that a template has a list directly below its first line, with one line for each
/// element, because its directives have owners of their own.
pub fn second_lines(list: &str, template: &Template) -> Result<(), String> {
    let elements = &template.elements;
    let each = elements.iter().enumerate().find_map(|(index, element)| match element {
        TemplateElement::HelperBlock(block) => match (block.template.as_ref(), block.params.as_slice()) {
            (Some(body), [parameter]) if written(parameter) == list => Some((index, body)),
            _ => None,
        },
        _ => None,
    });
    let is_one_line = |elements: &[TemplateElement]| {
        text(elements).is_some_and(|text| text.find('\n').is_some_and(|end| end + 1 == text.len()))
    };
    match each.is_some_and(|(index, body)| is_one_line(&body.elements) && is_one_line(&elements[..index])) {
        true => Ok(()),
        false => Err(format!(
            "{{{{#each {list}}}}} has to stand directly below the first line, with one line for each: a line that nginx \
             complains about must have the right owner"
        )),
    }
}

/// The constant text of elements; `None` when it depends on a value.
fn text(elements: &[TemplateElement]) -> Option<String> {
    let text = |element: &TemplateElement| match element {
        TemplateElement::RawString(text) => Some(text.clone()),
        TemplateElement::Expression(_) => Some("value".to_owned()),
        TemplateElement::Comment(_) => Some(String::new()),
        _ => None,
    };
    elements.iter().map(text).collect()
}

/// A value of the example that the template does not read.
fn unread(example: &Value, path: &str, read: &BTreeSet<String>) -> Option<String> {
    match example {
        Value::Object(members) => members.iter().find_map(|(name, value)| unread(value, &joined(path, name), read)),
        Value::Array(elements) => match elements.first() {
            Some(Value::Object(members)) if !members.is_empty() => unread(&elements[0], path, read),
            // For a list it can be enough to know whether it has an element.
            Some(_) => (!read.contains(path)).then(|| path.to_owned()),
            None => None,
        },
        _ => (!read.contains(path)).then(|| path.to_owned()),
    }
}

fn joined(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

/// A view, or the element of a list within it.
struct Scope<'v> {
    view: &'v Value,
    path: &'v str,
}

struct Walk<'p> {
    partials: &'p [&'p str],
    uses: Uses,
}

impl Walk<'_> {
    fn template(&mut self, template: &Template, scope: &Scope<'_>, position: &mut Position) -> Result<(), Wrong> {
        for (index, element) in template.elements.iter().enumerate() {
            let line = template.mapping.get(index).map_or(1, |mapping| mapping.0);
            let at = |words: String| (Some(line), words);
            match element {
                TemplateElement::RawString(text) => {
                    for (offset, character) in text.char_indices() {
                        let here = |words| (Some(line + text[..offset].matches('\n').count()), words);
                        position.character(character).map_err(here)?;
                    }
                }
                TemplateElement::Comment(_) => {}
                TemplateElement::Expression(expression)
                    if !expression.block && expression.params.is_empty() && expression.hash.is_empty() =>
                {
                    self.value(&expression.name, scope, position).map_err(at)?;
                }
                TemplateElement::HelperBlock(block) => self.block(block, line, scope, position)?,
                TemplateElement::PartialExpression(partial) => match &partial.name {
                    Parameter::Name(name) if self.partials.contains(&name.as_str()) => {
                        if !position.is_between_statements() {
                            return Err(at(format!("the partial {name} stands within a statement")));
                        }
                        if !partial.params.is_empty() || !partial.hash.is_empty() {
                            return Err(at(format!("the partial {name} takes nothing")));
                        }
                        position.lines();
                    }
                    name => return Err(at(format!("there is no partial {} here", written(name)))),
                },
                _ => {
                    return Err(at(
                        "only {{name}}, {{#when}}, {{#unless}}, {{#each}} and {{> partial}} are allowed".into()
                    ));
                }
            }
        }
        Ok(())
    }

    fn value(&mut self, name: &Parameter, scope: &Scope<'_>, position: &mut Position) -> Result<(), String> {
        let (value, path) = self.resolve(name, scope)?;
        let kind = match value {
            // Values in examples have the form of the values that they stand for.
            Value::String(text) if text.contains(['"', ' ']) => Kind::Whole,
            Value::String(_) | Value::Number(_) => Kind::Bare,
            Value::Bool(_) => return Err(format!("{path} is for {{{{#when}}}} and {{{{#unless}}}}, not a text")),
            _ => return Err(format!("{path} is for {{{{#each}}}}, not a text")),
        };
        let place = position.value(kind, &path)?;
        if kind == Kind::Whole || matches!(place, ValueContext::First { .. }) {
            self.uses.bound.insert((path, place));
        }
        Ok(())
    }

    fn block(
        &mut self,
        block: &HelperTemplate,
        line: usize,
        scope: &Scope<'_>,
        position: &mut Position,
    ) -> Result<(), Wrong> {
        let at = |words: String| (Some(line), words);
        let helper = written(&block.name);
        let [parameter] = block.params.as_slice() else {
            return Err(at(format!("{helper} takes one name")));
        };
        if !block.hash.is_empty() || block.block_param.is_some() {
            return Err(at(format!("{helper} takes one name and nothing else")));
        }
        let (value, path) = self.resolve(parameter, scope).map_err(at)?;
        let inner = match (helper.as_str(), value) {
            ("when" | "unless", Value::Bool(_)) => Scope { view: scope.view, path: scope.path },
            ("each", Value::Array(_)) if block.inverse.is_some() => return Err(at("each takes no else".into())),
            ("each", Value::Array(elements)) => match elements.first() {
                Some(view) => Scope { view, path: &path },
                None => return Err(at(format!("the example of {path} has no element"))),
            },
            ("when" | "unless", _) => return Err(at(format!("{path} is no condition"))),
            ("each", _) => return Err(at(format!("{path} is no list"))),
            (other, _) => return Err(at(format!("{other} is none of when, unless and each"))),
        };
        for part in [&block.template, &block.inverse].into_iter().flatten() {
            let mut within = position.enter().map_err(|why| at(format!("{helper} {path}: {why}")))?;
            self.template(part, &inner, &mut within)?;
            position.leave(&within).map_err(|why| at(format!("{helper} {path}: {why}")))?;
        }
        Ok(())
    }

    /// The value of a plain name, or of `this`, with its path.
    fn resolve<'v>(&mut self, parameter: &Parameter, scope: &Scope<'v>) -> Result<(&'v Value, String), String> {
        let name = match parameter {
            Parameter::Name(name) => name,
            Parameter::Path(Path::Relative((_, name))) => name,
            other => return Err(format!("{} is not a plain name", written(other))),
        };
        let path = joined(scope.path, name);
        let value = match name.as_str() {
            "this" => scope.view,
            name => scope.view.get(name).ok_or_else(|| format!("there is no {path}"))?,
        };
        self.uses.read.insert(path.clone());
        Ok((value, path))
    }
}

/// A parameter approximately as it was written, for messages.
fn written(parameter: &Parameter) -> String {
    parameter.as_name().map_or_else(|| format!("{parameter:?}"), str::to_owned)
}

#[cfg(test)]
mod tests;
