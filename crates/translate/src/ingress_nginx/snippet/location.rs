//! Reads a `location` in a snippet about a whole host that responds by itself. It becomes a
//! condition on the path in the locations of the namespace, so that it affects no requests of
//! other namespaces.

use super::condition::pattern;
use super::reader::Reader;
use super::statements::answer;
use super::text::Captures;
use ingressd_model::expression;
use ingressd_model::language::syntax::Directive;
use ingressd_model::{
    LONGEST_LINE, Refused, SnippetCondition, SnippetPart, SnippetStatement, SnippetText, UrlPath, Variable,
};

/// Directives that may stand beside the response, and have no effect without files or logs of its
/// own.
const IDLE: [&str; 2] = ["access_log", "log_not_found"];

/// Reads a location.
pub fn read(reader: &mut Reader<'_>, directive: &Directive) -> Result<(), Refused> {
    let condition = condition(&directive.arguments)?;
    if let SnippetCondition::Matches { pattern, .. } = &condition {
        reader.variables.weigh(pattern, LONGEST_LINE);
    }
    // nginx executes `return` before it checks addresses.
    let returns = directive.children().iter().any(|inner| inner.name == "return");
    let says_nothing = |inner: &Directive| match inner.name.as_str() {
        "deny" => returns && inner.block.is_none() && inner.arguments == ["all"],
        name => IDLE.contains(&name) && is_off(inner),
    };
    let mut inner = directive.children().iter().filter(|inner| !says_nothing(inner));
    let (Some(only), None) = (inner.next(), inner.next()) else {
        return Err(Refused::because(
            "it may contain only one return or deny all; for a Service write a path in an Ingress",
        ));
    };
    let then = match (only.name.as_str(), only.arguments.as_slice()) {
        _ if only.block.is_some() => return Err(Refused::because("a block must not contain another one")),
        ("deny", [all]) if all == "all" => SnippetStatement::Return(403, None),
        ("return", words) => answer(reader, words, Captures::Unknown)?,
        _ => {
            return Err(Refused::because(
                "it may contain only one return or deny all; for a Service write a path in an Ingress",
            ));
        }
    };
    reader.late.push(SnippetStatement::If(condition, vec![then]));
    Ok(())
}

fn is_off(directive: &Directive) -> bool {
    directive.block.is_none() && directive.arguments == ["off"]
}

fn condition(words: &[String]) -> Result<SnippetCondition, Refused> {
    let variable = SnippetPart::Variable(Variable::new("uri")?);
    let matches =
        |pattern, any_case| SnippetCondition::Matches { variable: variable.clone(), pattern, any_case, not: false };
    let beginning = |path: &str| {
        let path = UrlPath::new(path)?;
        Ok(matches(pattern(&format!("^{}", expression::literal(path.as_str())))?, false))
    };
    match words {
        [operator, path] if operator == "=" => {
            let path = UrlPath::new(path)?;
            let text = SnippetText::new(vec![SnippetPart::Text(path.as_str().into())])?;
            Ok(SnippetCondition::Is { variable, text, not: false })
        }
        [operator, expression] if operator == "~" || operator == "~*" => {
            Ok(matches(pattern(expression)?, operator == "~*"))
        }
        [operator, path] if operator == "^~" => beginning(path),
        [path] if path.starts_with('/') => beginning(path),
        _ => Err(Refused::because("write a path, or a regular expression after ~ or ~*")),
    }
}
