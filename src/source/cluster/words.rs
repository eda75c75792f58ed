//! Texts of the client library's errors, in one line.

use std::error::Error;

use ingressd_model::finding::{on_one_line, printable};
use kube::config::KubeconfigError;

/// The longest text in bytes: an API server may respond with a whole page.
const LONGEST: usize = 400;

/// The message of an error and, where that adds something, of its cause.
pub fn words(error: &(dyn Error + 'static)) -> String {
    let error = match error.downcast_ref() {
        // This variant only says that the error comes from an inner service.
        Some(kube::Error::Service(inner)) => &**inner as &(dyn Error + 'static),
        _ => error,
    };
    let is_of_kubeconfig = error.is::<KubeconfigError>();
    let line = |cause: &(dyn Error + 'static)| match is_of_kubeconfig {
        true => first_line(cause),
        false => on_one_line(&cause.to_string()),
    };
    let mut text = line(error);
    let mut source = error.source();
    while let Some(cause) = source {
        let words = line(cause);
        if !text.contains(&words) {
            text = format!("{text}: {words}");
        }
        source = cause.source();
    }
    if text.len() > LONGEST {
        let end = (0..=LONGEST).rev().find(|end| text.is_char_boundary(*end)).unwrap_or_default();
        text.truncate(end);
        text.push_str("...");
    }
    text
}

/// The first line of a message. A parser of YAML quotes on further ones what stands around a
/// mistake, and in a kubeconfig that may be a token.
fn first_line(error: &(dyn Error + 'static)) -> String {
    let text = error.to_string();
    printable(text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("{0}")]
    struct Layer(&'static str, #[source] Option<Box<Layer>>);

    #[test]
    fn causes_are_told_once() {
        let inner = Layer("connection refused", None);
        let middle = Layer("client error (Connect)", Some(Box::new(inner)));
        let outer = Layer("ServiceError: client error (Connect)", Some(Box::new(middle)));
        assert_eq!(words(&outer), "ServiceError: client error (Connect): connection refused");
        assert_eq!(first_line(&Layer("line 3: no colon\n3 | token: secret", None)), "line 3: no colon");
        assert_eq!(words(&Layer("denied:\n  no host", None)), "denied: | no host");
        let page = "ä".repeat(LONGEST).leak();
        assert!(words(&Layer(page, None)).len() <= LONGEST + 3);
    }
}
