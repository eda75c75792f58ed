//! What nginx said lately of the Ingress that takes a request.

use serde_json::Value;

use super::text_of;

/// In sentences.
pub fn sentences(answer: &Value) -> Vec<String> {
    let said = answer["nginx_said"].as_array().into_iter().flatten();
    said.map(|said| {
        let times = match said["count"].as_u64().unwrap_or_default() {
            1 => format!("at {}", text_of(&said["last"])),
            count => format!("{count} times since {}, last at {}", text_of(&said["since"]), text_of(&said["last"])),
        };
        let endpoint = match said["endpoint"].as_str() {
            Some("") | None => String::new(),
            Some(_) => format!(" ({})", text_of(&said["endpoint"])),
        };
        let (about, message) = (text_of(&said["about"]), text_of(&said["message"]));
        format!("nginx said of its Ingress {times} that {about}: {message}{endpoint}")
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::sentences;

    #[test]
    fn what_nginx_said_is_told_with_its_endpoint_and_steers_no_terminal() {
        let said = json!({ "nginx_said": [{ "kind": "connection_refused", "about": "an endpoint refused the connection",
            "count": 14, "since": "2026-11-29T05:00:00Z", "last": "2026-11-29T05:01:00Z", "message": "connect() \u{1b}[2J",
            "endpoint": "http://10.0.0.1:80" }] });
        let expected = "nginx said of its Ingress 14 times since 2026-11-29T05:00:00Z, last at 2026-11-29T05:01:00Z that an \
                        endpoint refused the connection: connect() \\u{1b}[2J (http://10.0.0.1:80)";
        assert_eq!(sentences(&said), [expected]);
        assert_eq!(sentences(&json!({ "kind": "Request" })), [""; 0]);
    }
}
