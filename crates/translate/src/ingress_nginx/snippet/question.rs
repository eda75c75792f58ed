//! Reads snippets for the subrequest of external authentication: headers only. It must not know
//! the service.

use super::refused;
use crate::annotation::{Context, Draft, Entry, Implied};
use crate::ingress_nginx::external_authentication::settable;
use crate::value::{TemplateUse, header_names, template};
use ingressd_model::Refused;
use ingressd_model::language::syntax;

/// The most headers of one subrequest.
const MOST_HEADERS: usize = 32;

/// Reads a snippet.
pub fn read(draft: &mut Draft, entry: &Entry<'_>, _context: &Context<'_>) -> Result<Vec<Implied>, Refused> {
    let tree = syntax::parse(entry.value.as_bytes()).map_err(|error| Refused(error.to_string().into()))?;
    if tree.len() > MOST_HEADERS {
        return Err(Refused::because("it has more than 32 directives"));
    }
    let mut headers = Vec::new();
    for directive in &tree {
        let at = |refused: Refused| Refused(format!("line {}: {refused}", directive.line).into());
        let (name, value) = match (directive.name.as_str(), directive.arguments.as_slice(), &directive.block) {
            ("proxy_set_header", [name, value], None) => (name, value),
            ("proxy_set_header", ..) => return Err(at(Refused::because("write a name and a value"))),
            (name, ..) if super::directives::find(name).is_some() => {
                return Err(at(Refused(
                    format!("{name} has no effect on a request to auth-url; only proxy_set_header has").into(),
                )));
            }
            (name, ..) => return Err(at(refused::why(name))),
        };
        let read = || {
            let names = header_names(name)?;
            let [name] = names.as_slice() else { return Err(Refused::because("it is not the name of a header")) };
            settable(name)?;
            Ok((name.clone(), template(value, TemplateUse::Header)?))
        };
        headers.push(read().map_err(at)?);
    }
    draft.external_of(entry).snippet_headers.extend(headers);
    Ok(Vec::new())
}
