//! Counts the requests to the API server by verb and response.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use http::{Method, StatusCode};

/// The number of requests by verb and HTTP status.
#[derive(Debug, Default)]
pub struct Requests(Mutex<BTreeMap<(&'static str, Option<StatusCode>), u64>>);

impl Requests {
    /// Counts a request with the status of its response, `None` when there was none.
    pub fn count(&self, verb: &'static str, answer: Option<StatusCode>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner).entry((verb, answer)).or_default() += 1;
    }

    /// Verb, status code as text (`error` when there was no response before the deadline) and
    /// count, sorted.
    pub fn counts(&self) -> Vec<(&'static str, String, u64)> {
        let counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let name = |answer: Option<StatusCode>| answer.map_or("error".to_owned(), |code| code.as_str().to_owned());
        counts.iter().map(|((verb, answer), count)| (*verb, name(*answer), *count)).collect()
    }
}

/// The Kubernetes verb of a request; `known` is the name that the client library gives it.
pub fn verb(method: &Method, known: Option<&'static str>) -> &'static str {
    match (known, method) {
        (Some(known @ ("get" | "list" | "watch" | "create" | "delete")), _) => known,
        (Some(known), _) if known.starts_with("watch") => "watch",
        (Some(known), _) if known.starts_with("list") => "list",
        (_, &Method::GET | &Method::HEAD) => "get",
        (_, &Method::POST) => "create",
        (_, &Method::PUT) => "update",
        (_, &Method::PATCH) => "patch",
        (_, &Method::DELETE) => "delete",
        _ => "other",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verbs_are_those_of_rbac() {
        for (method, known, expected) in [
            (Method::GET, Some("list"), "list"),
            (Method::GET, Some("watch_metadata"), "watch"),
            (Method::GET, None, "get"),
            (Method::PATCH, Some("patch_status"), "patch"),
            (Method::PUT, Some("replace"), "update"),
            (Method::POST, Some("create"), "create"),
            (Method::OPTIONS, None, "other"),
        ] {
            assert_eq!(verb(&method, known), expected);
        }
    }

    #[test]
    fn counts_are_sorted_by_verb_and_answer() {
        let requests = Requests::default();
        for (verb, code) in [("watch", Some(200)), ("list", Some(403)), ("list", None), ("list", Some(403))] {
            requests.count(verb, code.map(|code| StatusCode::from_u16(code).unwrap()));
        }
        let counts = requests.counts();
        let counts: Vec<_> = counts.iter().map(|(verb, code, count)| (*verb, code.as_str(), *count)).collect();
        assert_eq!(counts, [("list", "error", 1), ("list", "403", 2), ("watch", "200", 1)]);
    }
}
