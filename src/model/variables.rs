//! The variables of nginx that texts of objects refer to by names of their own choice; it must not know where these texts stand.
//!
//! nginx keeps a place for each such name in each request, whoever it is from, and looks through all of them for each reference that
//! it reads. So names are counted.

use std::collections::BTreeSet;
use std::iter;

use super::{
    AuthenticationPolicy, BackendHeaders, Balance, Behaviour, FastCgi, MirrorPolicy, RewriteTarget, Snippet,
    SnippetPart, TargetPart, Template, TemplatePart,
};

/// How names begin that are made of what the author of a text chooses.
const FAMILIES: [&str; 4] = ["arg_", "cookie_", "http_", "upstream_http_"];

/// Such names, each once.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Variables(BTreeSet<String>);

impl Variables {
    /// All of them.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }

    fn add<'t>(&mut self, names: impl Iterator<Item = &'t str>) {
        let chosen = names.filter(|name| FAMILIES.iter().any(|family| name.starts_with(family)));
        self.0.extend(chosen.map(str::to_owned));
    }

    /// Adds those of a text.
    pub fn of_template(&mut self, template: &Template) {
        self.add(template.parts().iter().filter_map(|part| match part {
            TemplatePart::Variable(name) => Some(name.as_str()),
            _ => None,
        }));
    }

    /// Adds those of what a path, a header or a key becomes.
    pub fn of_target(&mut self, target: &RewriteTarget) {
        self.add(target.parts().iter().filter_map(|part| match part {
            TargetPart::Variable(name) => Some(name.as_str()),
            _ => None,
        }));
    }

    /// Adds those of a snippet.
    pub fn of_snippet(&mut self, snippet: &Snippet) {
        self.add(snippet.parts().into_iter().filter_map(|part| match part {
            SnippetPart::Variable(name) => Some(name.as_str()),
            _ => None,
        }));
    }

    /// Adds those of what all routes of an object have.
    pub fn of_behaviour(&mut self, behaviour: &Behaviour) {
        let headers = behaviour.backend_headers.as_deref();
        headers.into_iter().for_each(|headers| self.of_headers(headers));
        behaviour.fastcgi.as_deref().into_iter().for_each(|told| self.of_fastcgi(told));
        behaviour.snippets.iter().for_each(|snippet| self.of_snippet(snippet));
        behaviour.rewrite.iter().for_each(|rewrite| self.of_target(&rewrite.target));
    }

    fn of_headers(&mut self, headers: &BackendHeaders) {
        headers.host.iter().chain(&headers.prefix).for_each(|target| self.of_target(target));
    }

    fn of_fastcgi(&mut self, told: &FastCgi) {
        told.parameters.iter().for_each(|(_, value)| self.of_template(value));
    }

    /// Adds those of a question.
    pub fn of_question(&mut self, policy: &AuthenticationPolicy) {
        let headers = policy.request_headers.iter().map(|(_, value)| value);
        let optional = policy.sign_in.iter().chain(&policy.request_redirect);
        let key = policy.memory.iter().map(|memory| &memory.key);
        let texts = [&policy.host, &policy.target].into_iter().chain(headers).chain(optional).chain(key);
        texts.for_each(|text| self.of_template(text));
        let told = policy.response_headers.iter().map(|name| format!("upstream_http_{}", name.as_str()));
        self.0.extend(told.map(|name| name.to_ascii_lowercase().replace('-', "_")));
    }

    /// Adds those of a copy.
    pub fn of_copy(&mut self, policy: &MirrorPolicy) {
        [&policy.host, &policy.target].into_iter().for_each(|text| self.of_template(text));
    }

    /// Adds that by which an endpoint is chosen.
    pub fn of_balance(&mut self, balance: &Balance) {
        match balance {
            Balance::Key(key) | Balance::SharedKey(key, _) => self.of_target(key),
            Balance::Session(cookie) => {
                let name = format!("cookie_{}", cookie.as_str());
                self.add(iter::once(name.as_str()));
            }
            Balance::LeastConnections | Balance::TwoByChance => {}
        }
    }
}
