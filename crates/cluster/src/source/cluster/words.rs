//! Texts of the client library's errors, in one line and without values of the program, and the
//! remedy for each class of them.

use std::error::Error;
use std::io;

use ingressd_model::finding::{on_one_line, printable};
use kube::config::KubeconfigError;
use rustls::CertificateError;

/// The longest text in bytes: an API server may respond with a whole page.
const LONGEST: usize = 400;

/// The message of an error and, where that adds something, of its causes.
pub fn words(error: &(dyn Error + 'static)) -> String {
    let is_of_kubeconfig = error.is::<KubeconfigError>();
    let mut text = String::new();
    for cause in causes(error) {
        let words = match is_of_kubeconfig {
            true => first_line(cause),
            false => line(cause),
        };
        match text.is_empty() {
            _ if text.contains(&words) => {}
            true => text = words,
            false => text = format!("{text}: {words}"),
        }
    }
    if text.len() > LONGEST {
        let end = (0..=LONGEST).rev().find(|end| text.is_char_boundary(*end)).unwrap_or_default();
        text.truncate(end);
        text.push_str("...");
    }
    text
}

/// The same, with what to do about it, for the credentials of a node.
pub fn explained(error: &(dyn Error + 'static)) -> String {
    match remedy(error) {
        Some(remedy) => format!("{}: {remedy}", words(error)),
        None => words(error),
    }
}

/// What to do about an error of this class.
pub fn remedy(error: &(dyn Error + 'static)) -> Option<&'static str> {
    causes(error).find_map(|cause| match (code(cause), certificate(cause)) {
        (Some(401), _) => Some("run `ingressd kubeconfig --force` for new ones"),
        (Some(403), _) => Some("`ingressd kubeconfig --force` grants what the settings need"),
        (_, Some(error)) => Some(of_certificate(error).1),
        _ => of_connection(cause),
    })
}

/// The HTTP status of an answer that refuses a request.
pub fn code(error: &(dyn Error + 'static)) -> Option<u16> {
    match error.downcast_ref() {
        Some(kube::Error::Api(status)) => Some(status.code),
        _ => None,
    }
}

/// An error and its causes. An answer of the API server has no further cause.
fn causes<'e>(error: &'e (dyn Error + 'static)) -> impl Iterator<Item = &'e (dyn Error + 'static)> {
    std::iter::successors(Some(error), |&error| match code(error) {
        Some(_) => None,
        None => error.source(),
    })
}

/// One error of a chain.
fn line(error: &(dyn Error + 'static)) -> String {
    if let Some(error) = certificate(error) {
        return of_certificate(error).0.to_owned();
    }
    match error.downcast_ref() {
        Some(kube::Error::Api(status)) if status.code == 401 => {
            "the API server does not accept the credentials (401 Unauthorized)".to_owned()
        }
        Some(kube::Error::Api(status)) if status.message.is_empty() => {
            on_one_line(&format!("the API server answers {} {}", status.code, status.reason))
        }
        Some(kube::Error::Api(status)) => on_one_line(&status.message),
        // These variants only say that the error comes from an inner service.
        Some(kube::Error::Service(_) | kube::Error::HyperError(_)) => String::new(),
        _ if error.is::<tokio::time::error::Elapsed>() => NO_ANSWER.to_owned(),
        _ => plain(&on_one_line(&error.to_string())),
    }
}

const NO_ANSWER: &str = "no answer came in time";

/// What the libraries below say, without the names that only their programmers know.
fn plain(text: &str) -> String {
    match text {
        "client error (Connect)" => "no connection to the API server".to_owned(),
        "client error (SendRequest)" => "the connection to the API server broke".to_owned(),
        _ if text.starts_with("client error (") => "the request could not be sent to the API server".to_owned(),
        "dns error" => "its name is not resolved".to_owned(),
        "deadline has elapsed" => NO_ANSWER.to_owned(),
        // The cause says it.
        "tcp connect error" => String::new(),
        _ => match text.rsplit_once(" (os error ") {
            Some((words, number)) if number.ends_with(')') => words.to_owned(),
            _ => text.to_owned(),
        },
    }
}

/// What TLS says of the other side's certificate, also where the error of a connection wraps it.
fn certificate<'e>(error: &'e (dyn Error + 'static)) -> Option<&'e CertificateError> {
    let inner = error.downcast_ref::<io::Error>().and_then(|error| error.get_ref());
    let inner = inner.map(|error| error as &(dyn Error + 'static));
    match inner.unwrap_or(error).downcast_ref() {
        Some(rustls::Error::InvalidCertificate(why)) => Some(why),
        _ => None,
    }
}

/// What is wrong with a certificate of the API server, and the remedy.
fn of_certificate(error: &CertificateError) -> (&'static str, &'static str) {
    use CertificateError as Wrong;
    const CLOCK: &str = "renew it there, and look at the clock of this host";
    match error {
        Wrong::UnknownIssuer => (
            "the API server's certificate is of an authority that the kubeconfig does not name",
            "run `ingressd kubeconfig --force`, or correct certificate-authority-data in the kubeconfig",
        ),
        Wrong::Expired | Wrong::ExpiredContext { .. } => ("the API server's certificate has expired", CLOCK),
        Wrong::NotValidYet | Wrong::NotValidYetContext { .. } => {
            ("the API server's certificate is not valid yet", CLOCK)
        }
        Wrong::NotValidForName | Wrong::NotValidForNameContext { .. } => (
            "the API server's certificate is for other names than the one in the kubeconfig",
            "write one of its names into `server` of the kubeconfig, or into tls-server-name",
        ),
        _ => (
            "the API server's certificate cannot be verified",
            "look at it with `openssl s_client -showcerts -connect`, and at certificate-authority-data in the kubeconfig",
        ),
    }
}

/// What to do when there is no connection, or no answer.
fn of_connection(error: &(dyn Error + 'static)) -> Option<&'static str> {
    const NAME: &str = "look at the name in `server` of the kubeconfig, and at the name servers of this host";
    const WAY: &str = "look at the route to the API server and at firewalls, and at `server` in the kubeconfig";
    const NOBODY: &str = "look at `server` in the kubeconfig, and whether the API server runs there";
    if error.to_string().starts_with("dns error") {
        return Some(NAME);
    }
    if error.is::<tokio::time::error::Elapsed>() {
        return Some(WAY);
    }
    match error.downcast_ref::<io::Error>()?.kind() {
        io::ErrorKind::ConnectionRefused => Some(NOBODY),
        io::ErrorKind::TimedOut | io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable => Some(WAY),
        _ => None,
    }
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
    struct Layer(&'static str, #[source] Option<Box<dyn Error + Send + Sync>>);

    #[test]
    fn causes_are_reported_once() {
        let inner = Layer("connection refused", None);
        let middle = Layer("client error (Connect)", Some(Box::new(inner)));
        let outer = Layer("cannot ask: connection refused", Some(Box::new(middle)));
        assert_eq!(words(&outer), "cannot ask: connection refused: no connection to the API server");
        assert_eq!(first_line(&Layer("line 3: no colon\n3 | token: secret", None)), "line 3: no colon");
        assert_eq!(words(&Layer("denied:\n  no host", None)), "denied: | no host");
        let page = "ä".repeat(LONGEST).leak();
        assert!(words(&Layer(page, None)).len() <= LONGEST + 3);
    }

    fn answer(code: u16, message: &str) -> kube::Error {
        let status = serde_json::json!({"code": code, "reason": "Why", "message": message, "status": "Failure"});
        kube::Error::Api(serde_json::from_value::<kube::core::Status>(status).unwrap().boxed())
    }

    fn connecting(cause: impl Into<Box<dyn Error + Send + Sync>>) -> kube::Error {
        let connect = Layer("tcp connect error", Some(cause.into()));
        kube::Error::Service(Box::new(Layer("client error (Connect)", Some(Box::new(connect)))))
    }

    fn certificate(why: CertificateError) -> kube::Error {
        connecting(io::Error::other(rustls::Error::InvalidCertificate(why)))
    }

    #[test]
    fn each_class_has_words_and_a_remedy_and_no_value_of_the_program() {
        let named = CertificateError::NotValidForNameContext {
            expected: rustls_pki_types::ServerName::try_from("api.example").unwrap(),
            presented: vec!["DnsName(\"kubernetes\")".to_owned()],
        };
        let refused = io::Error::from(io::ErrorKind::ConnectionRefused);
        let unreachable = io::Error::from(io::ErrorKind::HostUnreachable);
        let late = io::Error::other(Layer("deadline has elapsed", None));
        let sending = |kind: &str| {
            let reset = io::Error::from(io::ErrorKind::ConnectionReset);
            let client = Layer(format!("client error ({kind})").leak(), Some(Box::new(reset)));
            kube::Error::Service(Box::new(client))
        };
        let dns = Layer("dns error", Some(Box::new(io::Error::other("Name or service not known"))));
        for (error, says, remedy) in [
            (answer(401, "Unauthorized"), "does not accept the credentials", "run `ingressd kubeconfig --force`"),
            (answer(403, "secrets is forbidden"), "secrets is forbidden", "`ingressd kubeconfig --force` grants"),
            (answer(500, ""), "the API server answers 500 Why", ""),
            (certificate(CertificateError::UnknownIssuer), "does not name", "certificate-authority-data"),
            (certificate(CertificateError::Expired), "has expired", "the clock of this host"),
            (certificate(named), "for other names", "tls-server-name"),
            (certificate(CertificateError::BadSignature), "cannot be verified", "openssl s_client"),
            (connecting(refused), "no connection to the API server: connection refused: look", "the API server runs"),
            (connecting(io::Error::from_raw_os_error(111)), "API server: Connection refused: look", "server runs"),
            (connecting(io::Error::from(io::ErrorKind::TimedOut)), "timed out", "firewalls"),
            (connecting(late), "no connection to the API server: no answer came in time", ""),
            (connecting(unreachable), "host unreachable", "the route"),
            (connecting(dns), "its name is not resolved: Name or service not known", "name servers"),
            (sending("SendRequest"), "the connection to the API server broke: connection reset", ""),
            (sending("Canceled"), "the request could not be sent to the API server: connection reset", ""),
        ] {
            let text = explained(&error);
            assert!(text.contains(says) && text.contains(remedy), "{text}");
            for value in [
                "ApiError",
                "ServiceError",
                "Status {",
                "Some(",
                "DnsName",
                "InvalidCertificate",
                "client error",
                "tcp connect",
                "os error",
                "elapsed",
                "::",
            ] {
                assert!(!text.contains(value), "{text}");
            }
        }
    }
}
