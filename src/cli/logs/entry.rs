//! A request of an access log, by the names of the documented fields, whatever format the line
//! has. It must not know which requests are asked for.

use jiff::Timestamp;
use jiff::fmt::strtime;
use serde_json::{Map, Value};

use ingressd_migrate::compare::{Fields, Format};
use ingressd_model::JSON_FIELDS;

/// A request.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Entry(Map<String, Value>);

/// Other variables that say the same as a field, the best first.
const INSTEAD: &[(&str, &[&str])] = &[
    ("time", &["time_iso8601"]),
    ("remote_addr", &["the_real_ip", "realip_remote_addr"]),
    ("host", &["http_host", "best_http_host"]),
    ("uri", &["uri", "document_uri"]),
    ("scheme", &["pass_access_scheme"]),
    ("status", &["status"]),
    ("bytes_sent", &["body_bytes_sent"]),
    ("request_id", &["request_id", "http_x_request_id"]),
    ("namespace", &["namespace"]),
    ("upstream_name", &["proxy_upstream_name"]),
];

/// What the documented line has in any case.
const ALWAYS: [&str; 3] = ["time", "request_time", "ingress"];

impl Entry {
    /// Reads a line; `None` where it has none of the formats and is no object.
    pub fn read(line: &[u8], formats: &[Format]) -> Option<Self> {
        let line = String::from_utf8_lossy(line);
        let object = serde_json::from_str::<Map<String, Value>>(&line).ok();
        if let Some(object) = object.as_ref().filter(|object| ALWAYS.iter().all(|name| object.contains_key(*name))) {
            return Some(Entry(object.clone()));
        }
        let values = formats.iter().find_map(|format| format.values(&line));
        values.map(|values| Entry::of(&values)).or(object.map(Entry))
    }

    fn of(values: &Fields) -> Self {
        let mut entry = Entry::default();
        for field in JSON_FIELDS {
            entry.put(field.name, field.is_number, values.get(field.variable));
        }
        for (name, variables) in INSTEAD {
            if !entry.has(name) {
                let is_number = JSON_FIELDS.iter().any(|field| field.name == *name && field.is_number);
                entry.put(name, is_number, variables.iter().find_map(|variable| values.get(*variable)));
            }
        }
        if let Some((method, rest)) = values.get("request").and_then(|line| line.split_once(' ')) {
            let (uri, protocol) = rest.rsplit_once(' ').unwrap_or((rest, ""));
            for (name, value) in [("method", method), ("uri", uri), ("protocol", protocol)] {
                entry.put(name, false, Some(&value.to_owned()));
            }
        }
        if !entry.has("time") {
            let local = values.get("time_local").and_then(|text| strtime::parse("%d/%b/%Y:%H:%M:%S %z", text).ok());
            let time = local.and_then(|parsed| parsed.to_timestamp().ok());
            entry.put("time", false, time.map(|time| time.to_string()).as_ref());
        }
        entry
    }

    fn put(&mut self, name: &str, is_number: bool, value: Option<&String>) {
        let Some(value) = value else { return };
        let number = value.parse::<u64>().map(Value::from).or_else(|_| value.parse::<f64>().map(Value::from));
        let value = match (is_number, number) {
            (true, Ok(number)) => number,
            (true, Err(_)) => return,
            (false, _) => Value::from(value.as_str()),
        };
        self.0.insert(name.to_owned(), value);
    }

    /// Whether the line has the field, with whatever value.
    pub fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// The text of a field; empty where there is none.
    pub fn text(&self, name: &str) -> &str {
        self.0.get(name).and_then(Value::as_str).filter(|text| *text != "-").unwrap_or_default()
    }

    /// The number in a field.
    pub fn number(&self, name: &str) -> Option<f64> {
        let value = self.0.get(name)?;
        value.as_f64().or_else(|| value.as_str()?.parse().ok())
    }

    /// When it was logged.
    pub fn time(&self) -> Option<Timestamp> {
        self.text("time").parse().ok()
    }

    pub fn json(&self) -> String {
        Value::Object(self.0.clone()).to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ingressd_model::USUAL_LINE;

    fn read(line: &str) -> Option<Entry> {
        let formats = [super::super::places::COMBINED, USUAL_LINE].map(|text| Format::new(text, false).unwrap());
        Entry::read(line.as_bytes(), &formats)
    }

    #[test]
    fn the_fields_of_each_known_format_have_the_same_names() {
        let combined = r#"192.0.2.1 - - [29/Nov/2026:05:00:01 +0100] "GET /a?b HTTP/1.1" 404 9 "-" "x\x22y""#;
        let entry = read(combined).unwrap();
        assert_eq!(entry.time(), Some("2026-11-29T04:00:01Z".parse().unwrap()));
        assert_eq!((entry.text("method"), entry.text("uri"), entry.text("protocol")), ("GET", "/a?b", "HTTP/1.1"));
        assert_eq!((entry.number("status"), entry.text("user_agent")), (Some(404.0), "x\"y"));
        assert!(!entry.has("ingress") && !entry.has("host") && !entry.has("request_time"));

        let of_controller = "192.0.2.1 - - [29/Nov/2026:05:00:01 +0000] \"GET / HTTP/2.0\" 502 150 \"-\" \"c\" 97 0.250 \
                             [shop-web-80] [] 10.0.0.1:80, 10.0.0.2:80 0, 150 0.1, 0.1 502, 502 abc";
        let entry = read(of_controller).unwrap();
        assert_eq!((entry.number("request_time"), entry.text("upstream_name")), (Some(0.25), "shop-web-80"));
        assert_eq!((entry.text("upstream_addr"), entry.text("request_id")), ("10.0.0.1:80, 10.0.0.2:80", "abc"));

        let documented = r#"{"time":"2026-11-29T05:00:01.123+01:00","request_time":1.5,"ingress":"web","status":0}"#;
        let entry = read(documented).unwrap();
        assert_eq!((entry.number("status"), entry.text("ingress")), (Some(0.0), "web"));
        assert_eq!(entry.time(), Some("2026-11-29T04:00:01.123Z".parse().unwrap()));
        for line in ["", "x", "[1]", "{\"a\":", "\u{1b}[2J"] {
            assert_eq!(read(line), None, "{line}");
        }
    }

    #[test]
    fn bytes_that_are_no_text_stay_in_their_field() {
        let line = b"{\"time\":\"t\",\"request_time\":1,\"ingress\":\"web\",\"user_agent\":\"a\xff\xfeb\"}";
        assert_eq!(Entry::read(line, &[]).unwrap().text("user_agent"), "a\u{fffd}\u{fffd}b");
    }
}
