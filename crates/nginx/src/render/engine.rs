//! Fills templates with views. It is strict: it fills only templates that were checked against an
//! example.

use std::convert::Infallible;

use handlebars::{
    BlockContext, Context, Handlebars, Helper, HelperDef, HelperResult, Output, RenderContext, RenderError,
    RenderErrorReason, Renderable, Template,
};
use serde_json::Value;

use super::family::Family;
use super::headers::HeaderList;
use super::lint;
use super::shape::{self, Filled, Form, Shapes};
use super::templates;
use super::view::{Nothing, View};
use crate::syntax;
use ingressd_model::Instance;

/// A template with its name, its text and a complete example of its view.
pub struct Source {
    pub name: &'static str,
    pub text: String,
    /// The administrator's text that replaces it, if any.
    pub instead: Option<String>,
    /// A view in which every list has an element; `None` for a partial, which must contain no
    /// expression.
    pub example: Option<Value>,
    /// The list whose elements have owners, and are written from the second line on.
    pub second_lines: Option<&'static str>,
}

/// A template that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("template {template}: {words}")]
pub struct TemplateError {
    /// The name of the template.
    pub template: &'static str,
    /// The line, where it is known.
    pub line: Option<usize>,
    /// What is wrong.
    pub words: String,
}

/// Templates that were loaded and checked.
#[derive(Debug)]
pub struct Engine {
    templates: Handlebars<'static>,
    shapes: Shapes,
    /// The suffix of our names that tells instances apart.
    instance: String,
}

impl Engine {
    /// Loads templates. Checks that each can be filled with any view of the example's form, and
    /// that each replacement follows the rules of the template that it replaces.
    ///
    /// # Errors
    ///
    /// The templates that break a rule; the list is never empty.
    pub fn load(sources: Vec<Source>, instance: &Instance) -> Result<Self, Vec<TemplateError>> {
        let mut registry = Handlebars::new();
        registry.set_strict_mode(true);
        registry.register_escape_fn(handlebars::no_escape);
        registry.register_helper("when", Box::new(Condition { wanted: true }));
        registry.register_helper("unless", Box::new(Condition { wanted: false }));
        registry.register_helper("each", Box::new(Each));
        let partials: Vec<_> =
            sources.iter().filter(|source| source.example.is_none()).map(|source| source.name).collect();
        let mut wrong = Vec::new();
        for source in &sources {
            match source.proven(&partials) {
                Ok(template) => registry.register_template(source.name, template),
                Err((line, words)) => wrong.push(TemplateError { template: source.name, line, words }),
            }
        }
        match wrong.is_empty() {
            true => Ok(Engine { templates: registry, shapes: Shapes::default(), instance: instance.mark() }),
            false => Err(wrong),
        }
    }

    /// Fills a template.
    ///
    /// # Errors
    ///
    /// When the form of the view differs from the example of the template.
    pub fn fill(&self, template: &'static str, view: &impl View) -> Result<Filled, RenderError> {
        let form = Form::of(view, &self.instance);
        self.shapes.fill(template, form, || self.templates.render(template, &shape::marked(view)))
    }
}

impl Engine {
    /// A list of headers for backends of a family, without those of these names.
    pub fn header_list(&self, list: HeaderList, family: Family, without: &[&str]) -> Filled {
        let mut form = Form::of(&Nothing {}, &self.instance);
        list.key(family).into_iter().for_each(|part| form.add_length(part));
        without.iter().for_each(|header| form.add_fixed(header));
        let is_kept = |name: &str| without.iter().all(|header| !header.eq_ignore_ascii_case(name));
        let text = || {
            let lines = list.lines(family).filter(|(name, _)| is_kept(name)).map(|(_, line)| line);
            Ok::<_, Infallible>(templates::named(&lines.collect::<String>(), &self.instance))
        };
        match self.shapes.fill("headers", form, text) {
            Ok(filled) => filled,
        }
    }

    /// The text of a template that sets parameters and has no values, without the directives that
    /// set one of these.
    ///
    /// # Errors
    ///
    /// When the template is not such a one, which would be a fault of the program.
    pub fn fill_without(&self, template: &'static str, headers: &[&str]) -> Result<Filled, RenderError> {
        let mut form = Form::of(&Nothing {}, &self.instance);
        headers.iter().for_each(|header| form.add_fixed(header));
        self.shapes.fill(template, form, || {
            let text = self.templates.render(template, &Value::Null)?;
            Ok(without(&text, headers))
        })
    }
}

/// Removes the directives whose first argument is one of these names, case-insensitively.
fn without(text: &str, headers: &[&str]) -> String {
    let is_set = |directive: &syntax::Directive| {
        let name = directive.arguments.first().map_or("", String::as_str);
        headers.iter().any(|header| header.eq_ignore_ascii_case(name))
    };
    // A text that cannot be parsed here is refused by nginx's test.
    let Ok(directives) = syntax::parse(text.as_bytes()) else { return text.to_owned() };
    let mut kept = text.to_owned();
    for directive in directives.iter().rev().filter(|directive| is_set(directive)) {
        let begin = text[..directive.span.start].rfind('\n').map_or(0, |end| end + 1);
        let end = text[directive.span.end..].find('\n').map_or(text.len(), |end| directive.span.end + end + 1);
        let alone =
            text[begin..directive.span.start].trim().is_empty() && text[directive.span.end..end].trim().is_empty();
        kept.replace_range(if alone { begin..end } else { directive.span.clone() }, "");
    }
    kept
}

impl Source {
    fn proven(&self, partials: &[&str]) -> Result<Template, lint::Wrong> {
        let (embedded, uses) = lint::compile(&self.text, self.example.as_ref(), partials)?;
        let template = match &self.instead {
            None => embedded,
            Some(text) => {
                let (template, of_other) = lint::compile(text, self.example.as_ref(), partials)?;
                uses.allow(&of_other).map_err(|words| (None, words))?;
                template
            }
        };
        self.second_lines.map_or(Ok(()), |list| lint::second_lines(list, &template)).map_err(|words| (None, words))?;
        Ok(template)
    }
}

/// `{{#when condition}}`: unlike `if`, it refuses any value that is not a boolean.
struct Condition {
    wanted: bool,
}

impl HelperDef for Condition {
    fn call<'reg: 'rc, 'rc>(
        &self,
        helper: &Helper<'rc>,
        registry: &'reg Handlebars<'reg>,
        context: &'rc Context,
        render: &mut RenderContext<'reg, 'rc>,
        output: &mut dyn Output,
    ) -> HelperResult {
        let value = helper.param(0).and_then(|parameter| parameter.value().as_bool());
        let chosen = match value.ok_or(RenderErrorReason::InvalidParamType("bool"))? == self.wanted {
            true => helper.template(),
            false => helper.inverse(),
        };
        chosen.map_or(Ok(()), |template| template.render(registry, context, render, output))
    }
}

/// `{{#each list}}`: unlike the built-in one, it refuses any value that is not a list.
struct Each;

impl HelperDef for Each {
    fn call<'reg: 'rc, 'rc>(
        &self,
        helper: &Helper<'rc>,
        registry: &'reg Handlebars<'reg>,
        context: &'rc Context,
        render: &mut RenderContext<'reg, 'rc>,
        output: &mut dyn Output,
    ) -> HelperResult {
        let list = helper.param(0).ok_or(RenderErrorReason::InvalidParamType("array"))?;
        let elements = list.value().as_array().ok_or(RenderErrorReason::InvalidParamType("array"))?;
        let Some(template) = helper.template() else { return Ok(()) };
        for (index, element) in elements.iter().enumerate() {
            let mut block = BlockContext::new();
            match list.context_path() {
                Some(path) => {
                    block.base_path_mut().clone_from(path);
                    block.base_path_mut().push(index.to_string());
                }
                None => block.set_base_value(element.clone()),
            }
            render.push_block(block);
            let rendered = template.render(registry, context, render, output);
            render.pop_block();
            rendered?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn load(text: &str) -> Engine {
        let example = json!({ "word": "w", "flag": true, "list": [{ "inner": "i", "plain": ["p"] }] });
        let source =
            |name, text: &str, example| Source { name, text: text.into(), instead: None, example, second_lines: None };
        let sources = vec![source("known", "known;\n", None), source("main", text, Some(example))];
        Engine::load(sources, &Instance::default()).expect("it keeps the rules")
    }

    #[test]
    fn a_list_of_headers_gives_way_to_what_a_location_says() {
        let text = "    set_header Host $host;\n    set_header\n        x-real-ip $a; # why\n    set_header B \"a;b\"; set_header C c;\n";
        assert_eq!(without(text, &[]), text);
        let kept = without(text, &["host", "X-Real-IP", "C"]);
        assert_eq!(
            kept,
            "    set_header\n # why\n    set_header B \"a;b\"; \n".replace("    set_header\n # why", "     # why")
        );
    }

    #[test]
    fn fills_what_it_loaded() {
        let engine = load(
            "a {{word}};\n{{#when flag}}{{> known}}{{else}}no;\n{{/when}}{{#unless flag}}yes;\n{{/unless}}\
             {{#each list}}b {{inner}}{{#each plain}}-{{this}}{{/each}};\n{{/each}}",
        );
        let text = |view| engine.fill("main", view).expect("same form").pieces().collect::<String>();
        let view = json!({ "word": "<&>", "flag": true, "list": [
            { "inner": "a", "plain": ["1", "2"] }, { "inner": "b", "plain": [] }
        ] });
        assert_eq!(text(&view), "a <&>;\nknown;\nb a-1-2;\nb b;\n");
        let view = json!({ "word": 1, "flag": false, "list": [] });
        assert_eq!(text(&view), "a 1;\nno;\nyes;\n");
        assert!(engine.fill("main", &json!({ "word": 1, "list": [] })).is_err());
    }
}
