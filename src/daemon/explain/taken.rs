//! The path of a route as it was written, and why nginx compares it as it does.

use serde_json::{Value, json};

use super::InForce;
use ingressd_model::{Field, ObjectId, PathMatch, Route, Server, WrittenAt, expression};
use ingressd_translate::asked;

/// The keys that make the paths of a namespace on a host expressions, and the value that does not.
const MAKERS: [(&str, &str); 2] = [("use-regex", "false"), ("rewrite-target", "")];

impl InForce {
    /// The path of a route as its object has it, and how nginx compares it; nothing where it is of
    /// no rule. Names of members are a contract.
    pub(super) fn path_of(&self, server: &Server, route: &Route) -> Value {
        let Field::Path(rule, number, _) = route.origin.field else { return Value::Null };
        let asked = asked(&self.snapshot, &route.origin.object);
        let of_rule = asked.iter().flat_map(|asked| &asked.routes).filter(|path| path.rule == Some(usize::from(rule)));
        let Some(written) = { of_rule }.nth(usize::from(number)) else { return Value::Null };
        let compared = match &route.path {
            PathMatch::Regex(pattern) if pattern.as_str() == expression::literal(written.path) => "caseless",
            PathMatch::Regex(_) => "expression",
            PathMatch::Exact { .. } | PathMatch::Prefix { .. } => "text",
        };
        let because = (compared != "text").then(|| self.maker_of_expressions(server, &route.origin.object)).flatten();
        json!({ "text": written.path, "type": written.path_type, "compared": compared, "because": because })
    }

    /// What makes paths of the object's namespace on the host expressions: first its own words.
    fn maker_of_expressions(&self, server: &Server, own: &ObjectId) -> Option<String> {
        let others = server.routes.iter().map(|route| &*route.origin.object);
        let others = others.filter(|other| other.namespace == own.namespace && *other != own);
        [own].into_iter().chain(others).find_map(|id| {
            let reported = self.annotations(id);
            let made = reported.iter().find(|reported| {
                let counts = &reported.effective.counts;
                let is_maker = |(key, idle): &(&str, &str)| reported.name.ends_with(key) && *counts.value != **idle;
                counts.is_of(id) && MAKERS.iter().any(is_maker)
            })?;
            match &made.effective.counts.at {
                WrittenAt::Object(origin) => Some(origin.to_string()),
                WrittenAt::BuiltIn | WrittenAt::Settings(_) => None,
            }
        })
    }
}
