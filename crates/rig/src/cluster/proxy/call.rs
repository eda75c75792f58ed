//! One call to the API, as the proxy sees it.

use http::Method;
use http::request::Parts;

/// A call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// The method.
    pub method: Method,
    /// The path, without the query.
    pub path: String,
    /// The query.
    pub query: String,
    /// The kind as paths name it: `ingresses`; empty when the path names none.
    pub resource: String,
    /// A part of the object: `status`.
    pub subresource: Option<String>,
    /// The object, when one is named.
    pub name: Option<String>,
}

impl Call {
    /// What a request asks for.
    pub fn of(head: &Parts) -> Self {
        let path = head.uri.path().to_owned();
        let mut words = path.split('/').filter(|word| !word.is_empty());
        // /api/VERSION/... or /apis/GROUP/VERSION/...
        let skipped = match words.next() {
            Some("api") => 1,
            Some("apis") => 2,
            _ => usize::MAX,
        };
        let mut words = words.skip(skipped).peekable();
        let mut resource = words.next().unwrap_or_default();
        // namespaces/NAMESPACE/RESOURCE, but also the Namespaces themselves.
        let mut name = words.next();
        if resource == "namespaces" && words.peek().is_some() {
            resource = words.next().unwrap_or_default();
            name = words.next();
        }
        Call {
            method: head.method.clone(),
            query: head.uri.query().unwrap_or_default().to_owned(),
            resource: resource.to_owned(),
            name: name.map(str::to_owned),
            subresource: words.next().map(str::to_owned),
            path,
        }
    }

    /// Whether it is a watch.
    pub fn is_watch(&self) -> bool {
        self.method == Method::GET && self.query.split('&').any(|pair| matches!(pair, "watch=true" | "watch=1"))
    }

    /// Whether it lists objects once.
    pub fn is_list(&self) -> bool {
        self.method == Method::GET && !self.resource.is_empty() && self.name.is_none() && !self.is_watch()
    }

    /// Whether it changes something.
    pub fn is_write(&self) -> bool {
        !matches!(self.method, Method::GET | Method::HEAD | Method::OPTIONS)
    }

    /// Whether it watches this kind, named as paths do it: `ingresses`.
    pub fn watches(&self, resource: &str) -> bool {
        self.is_watch() && self.resource == resource
    }

    /// Whether it lists this kind.
    pub fn lists(&self, resource: &str) -> bool {
        self.is_list() && self.resource == resource
    }
}
