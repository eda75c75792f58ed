//! Fills templates with views, strictly: a template that could stay silent about a missing value does not load; it must not know what views mean.
//!
//! handlebars reads an unknown name in `{{#if}}` as false even in strict mode, and three braces bypass escaping.
//! So every template is walked once against a full example of its view: each name must resolve, conditions must be
//! booleans, lists must be lists, and nothing but `when`, `unless`, `each` and known partials may be called.

use handlebars::template::{HelperTemplate, Parameter, TemplateElement};
use handlebars::{
    BlockContext, Context, Handlebars, Helper, HelperDef, HelperResult, Output, Path, RenderContext, RenderError,
    RenderErrorReason, Renderable, Template,
};
use serde::Serialize;
use serde_json::Value;

use super::shape::{Filled, Form, Shapes};
use crate::model::Instance;

/// A template with a name, its text and a full example of what fills it.
pub struct Source {
    /// The name.
    pub name: &'static str,
    /// The text.
    pub text: String,
    /// A view in which every list has an element; `None` for a partial, which must hold no expression.
    pub example: Option<Value>,
}

/// A template that must not be used.
#[derive(Debug, thiserror::Error)]
#[error("template {template}: {words}")]
pub struct Unfit {
    template: &'static str,
    words: String,
}

/// Loaded templates.
#[derive(Debug)]
pub struct Engine {
    templates: Handlebars<'static>,
    shapes: Shapes,
    /// What names of ours get.
    instance: String,
}

impl Engine {
    /// Loads templates and proves that each of them can be filled with any view of the example's form.
    ///
    /// # Errors
    ///
    /// When one of them breaks a rule.
    pub fn load(sources: Vec<Source>, instance: &Instance) -> Result<Self, Unfit> {
        let mut registry = Handlebars::new();
        registry.set_strict_mode(true);
        registry.register_escape_fn(handlebars::no_escape);
        registry.register_helper("when", Box::new(Condition { wanted: true }));
        registry.register_helper("unless", Box::new(Condition { wanted: false }));
        registry.register_helper("each", Box::new(Each));
        let partials: Vec<_> =
            sources.iter().filter(|source| source.example.is_none()).map(|source| source.name).collect();
        for Source { name, text, example } in sources {
            let unfit = |words: String| Unfit { template: name, words };
            let template = Template::compile(&text).map_err(|error| unfit(error.to_string()))?;
            let view = example.unwrap_or(Value::Null);
            lint(&template, &view, &partials).map_err(unfit)?;
            registry.register_template(name, template);
        }
        Ok(Engine { templates: registry, shapes: Shapes::default(), instance: instance.mark() })
    }

    /// Fills a template.
    ///
    /// # Errors
    ///
    /// When the view has another form than the example that the template was loaded with.
    pub fn fill(&self, template: &'static str, view: &impl Serialize) -> Result<Filled, RenderError> {
        let malformed = |error| RenderError::from(RenderErrorReason::SerdeError(error));
        let form = Form::of(view, &self.instance).map_err(malformed)?;
        self.shapes.fill(template, form, |marked| {
            let view: Value = serde_json::from_slice(marked).map_err(malformed)?;
            self.templates.render(template, &view)
        })
    }
}

/// Walks a template with the example it would be filled with.
fn lint(template: &Template, view: &Value, partials: &[&str]) -> Result<(), String> {
    for element in &template.elements {
        match element {
            TemplateElement::RawString(_) | TemplateElement::Comment(_) => {}
            TemplateElement::Expression(expression) if !expression.block && expression.params.is_empty() => {
                match resolve(&expression.name, view)? {
                    Value::String(_) | Value::Number(_) => {}
                    _ => return Err(format!("{:?} is neither text nor a number", expression.name)),
                }
            }
            TemplateElement::HelperBlock(block) => lint_block(block, view, partials)?,
            TemplateElement::PartialExpression(partial) => match &partial.name {
                Parameter::Name(name) if partials.contains(&name.as_str()) => {}
                name => return Err(format!("there is no partial {name:?}")),
            },
            other => return Err(format!("{other:?} is not allowed")),
        }
    }
    Ok(())
}

fn lint_block(block: &HelperTemplate, view: &Value, partials: &[&str]) -> Result<(), String> {
    let [parameter] = block.params.as_slice() else {
        return Err(format!("{:?} takes one parameter", block.name));
    };
    let value = resolve(parameter, view)?;
    let inner = match (&block.name, value) {
        (Parameter::Name(name), Value::Bool(_)) if name == "when" || name == "unless" => view,
        (Parameter::Name(name), Value::Array(elements)) if name == "each" => {
            elements.first().ok_or_else(|| format!("the example of {parameter:?} has no element"))?
        }
        (name, value) => return Err(format!("{name:?} does not take {value}")),
    };
    [&block.template, &block.inverse].into_iter().flatten().try_for_each(|part| lint(part, inner, partials))
}

/// The value of a plain name, or of `this`.
fn resolve<'v>(parameter: &Parameter, view: &'v Value) -> Result<&'v Value, String> {
    let name = match parameter {
        Parameter::Name(name) => name,
        Parameter::Path(Path::Relative((_, name))) => name,
        other => return Err(format!("{other:?} is not a plain name")),
    };
    match name.as_str() {
        "this" => Ok(view),
        name => view.get(name).ok_or_else(|| format!("the view has no {name}")),
    }
}

/// `{{#when condition}}`: unlike `if`, it refuses whatever is not a boolean.
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

/// `{{#each list}}`: unlike the built-in one, it refuses whatever is not a list.
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

    fn load(text: &'static str) -> Result<Engine, Unfit> {
        let example = json!({ "word": "w", "flag": true, "list": [{ "inner": "i", "plain": ["p"] }], "nothing": [] });
        let partial = Source { name: "known", text: "known".into(), example: None };
        let main = Source { name: "main", text: text.into(), example: Some(example) };
        Engine::load(vec![partial, main], &Instance::default())
    }

    #[test]
    fn refuses_templates_that_could_stay_silent() {
        let table = [
            "{{{word}}}",
            "{{&word}}",
            "{{missing}}",
            "{{#if flag}}{{/if}}",
            "{{#with list}}{{/with}}",
            "{{#when missing}}{{/when}}",
            "{{#when word}}{{/when}}",
            "{{#when list}}{{/when}}",
            "{{#each missing}}{{/each}}",
            "{{#each word}}{{/each}}",
            "{{#each nothing}}{{/each}}",
            "{{#each list}}{{word}}{{/each}}",
            "{{#each list}}{{../word}}{{/each}}",
            "{{#unless flag}}{{missing}}{{else}}{{/unless}}",
            "{{#when flag}}{{else}}{{missing}}{{/when}}",
            "{{> unknown}}",
            "{{> known word=word}}{{lookup list 0}}",
            "{{list}}",
            "{{flag}}",
            "{{#when flag",
        ];
        for text in table {
            assert!(load(text).is_err(), "{text}");
        }
    }

    #[test]
    fn fills_what_it_loaded() {
        let text = "{{word}} {{#when flag}}{{> known}}{{else}}no{{/when}}{{#unless flag}}!{{/unless}}\
            {{#each list}} {{inner}}{{#each plain}}-{{this}}{{/each}}{{/each}}";
        let engine = load(text).expect("it keeps the rules");
        let text = |view| engine.fill("main", view).expect("same form").pieces().collect::<String>();
        let view = json!({ "word": "<&>", "flag": true, "list": [
            { "inner": "a", "plain": ["1", "2"] }, { "inner": "b", "plain": [] }
        ] });
        assert_eq!(text(&view), "<&> known a-1-2 b");
        let view = json!({ "word": 1, "flag": false, "list": [] });
        assert_eq!(text(&view), "1 no!");
        assert!(engine.fill("main", &json!({ "word": 1, "list": [] })).is_err());
    }
}
