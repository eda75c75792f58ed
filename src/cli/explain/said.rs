//! What nginx said lately of the Ingress that takes a request.

use serde_json::Value;

use crate::cli::fields::{rows, text};

/// In sentences.
pub fn sentences(answer: &Value) -> Vec<String> {
    let said = rows(&answer["nginx_said"]).iter();
    said.map(|said| {
        let times = match said["count"].as_u64().unwrap_or_default() {
            1 => format!("at {}", text(&said["last"])),
            count => format!("{count} times since {}, last at {}", text(&said["since"]), text(&said["last"])),
        };
        let endpoint = match said["endpoint"].as_str() {
            Some("") | None => String::new(),
            Some(_) => format!(" ({})", text(&said["endpoint"])),
        };
        let (about, message) = (text(&said["about"]), text(&said["message"]));
        format!("nginx said of its Ingress {times} that {about}: {message}{endpoint}")
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::sentences;

    #[test]
    fn what_nginx_said_is_reported_with_its_endpoint_and_steers_no_terminal() {
        let said = json!({ "nginx_said": [{ "kind": "connection_refused", "about": "an endpoint refused the connection",
            "count": 14, "since": "2026-11-29T05:00:00Z", "last": "2026-11-29T05:01:00Z", "message": "connect() \u{1b}[2J",
            "endpoint": "http://10.0.0.1:80" }] });
        let expected = "nginx said of its Ingress 14 times since 2026-11-29T05:00:00Z, last at 2026-11-29T05:01:00Z that an \
                        endpoint refused the connection: connect() \\u{1b}[2J (http://10.0.0.1:80)";
        assert_eq!(sentences(&said), [expected]);
        assert_eq!(sentences(&json!({ "kind": "Request" })), [""; 0]);
    }
}
