//! Counts the nginx variables in texts of objects whose names are freely chosen. It must not know
//! where these texts stand.
//!
//! nginx reserves memory for each such name in every request, and compares all of them for each
//! reference in the configuration. So the names are counted.

use std::collections::BTreeSet;
use std::iter;

use super::{
    AuthenticationPolicy, Balance, Behaviour, FastCgi, MirrorPolicy, RewriteTarget, Snippet, SnippetPart, TargetPart,
    Template, TemplatePart,
};

/// The prefixes of names whose rest the author of a text chooses.
const FAMILIES: [&str; 4] = ["arg_", "cookie_", "http_", "upstream_http_"];

/// Such names, without duplicates.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Variables(BTreeSet<String>);

impl Variables {
    /// All names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }

    fn add<'t>(&mut self, names: impl Iterator<Item = &'t str>) {
        let chosen = names.filter(|name| FAMILIES.iter().any(|family| name.starts_with(family)));
        self.0.extend(chosen.map(str::to_owned));
    }

    /// Adds those in a template.
    pub fn of_template(&mut self, template: &Template) {
        self.add(template.parts().iter().filter_map(|part| match part {
            TemplatePart::Variable(name) => Some(name.as_str()),
            _ => None,
        }));
    }

    /// Adds those in a rewrite target.
    pub fn of_target(&mut self, target: &RewriteTarget) {
        self.add(target.parts().iter().filter_map(|part| match part {
            TargetPart::Variable(name) => Some(name.as_str()),
            _ => None,
        }));
    }

    /// Adds those in a snippet.
    pub fn of_snippet(&mut self, snippet: &Snippet) {
        self.add(snippet.parts().into_iter().filter_map(|part| match part {
            SnippetPart::Variable(name) => Some(name.as_str()),
            _ => None,
        }));
    }

    /// Adds those in the behaviour of an object's routes.
    pub fn of_behaviour(&mut self, behaviour: &Behaviour) {
        behaviour.texts().for_each(|text| self.of_target(text));
        behaviour.fastcgi.as_deref().into_iter().for_each(|reported| self.of_fastcgi(reported));
        behaviour.snippets.iter().for_each(|snippet| self.of_snippet(snippet));
        behaviour.rewrite.iter().for_each(|rewrite| self.of_target(&rewrite.target));
    }

    fn of_fastcgi(&mut self, reported: &FastCgi) {
        reported.parameters.iter().for_each(|(_, value)| self.of_template(value));
    }

    /// Adds those of an authentication subrequest.
    pub fn of_question(&mut self, policy: &AuthenticationPolicy) {
        let headers = policy.request_headers.iter().map(|(_, value)| value);
        let optional = policy.sign_in.iter().chain(&policy.request_redirect);
        let key = policy.memory.iter().map(|memory| &memory.key);
        let texts = [&policy.host, &policy.target].into_iter().chain(headers).chain(optional).chain(key);
        texts.for_each(|text| self.of_template(text));
        let reported = policy.response_headers.iter().map(|name| format!("upstream_http_{}", name.as_str()));
        self.0.extend(reported.map(|name| name.to_ascii_lowercase().replace('-', "_")));
    }

    /// Adds those of a mirrored request.
    pub fn of_copy(&mut self, policy: &MirrorPolicy) {
        [&policy.host, &policy.target].into_iter().for_each(|text| self.of_template(text));
    }

    /// Adds those by which an endpoint is selected.
    pub fn of_balance(&mut self, balance: &Balance) {
        match balance {
            Balance::Key(key) | Balance::SharedKey(key, _) => self.of_target(key),
            Balance::Session(cookie) | Balance::Named(cookie) => {
                let name = format!("cookie_{}", cookie.as_str());
                self.add(iter::once(name.as_str()));
            }
            Balance::TwoByChance => {}
        }
    }
}
