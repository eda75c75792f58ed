//! A request on a line for people. Clients choose most of its values.

use super::entry::Entry;
use crate::cli::page::{BAD, DOUBTFUL, FAINT, styled};
use ingressd_model::finding::printable;

/// The longest path that is shown whole, in characters.
const LONGEST: usize = 120;

/// The line, without its end.
pub fn line(entry: &Entry) -> String {
    let text = |name: &str| printable(entry.text(name));
    let time: String = text("time").chars().take(23).collect();
    let status = entry.number("status").map_or_else(|| "-".to_owned(), |status| format!("{status:03.0}"));
    let status = match status.as_bytes().first() {
        Some(b'5') => styled(BAD, &status),
        Some(b'4') => styled(DOUBTFUL, &status),
        _ => status,
    };
    let took = entry.number("request_time").map_or_else(|| "-".to_owned(), duration);
    let place = format!("{}{}", text("host"), cut(entry.text("uri")));
    let ingress = format!("{}/{}", dash(text("namespace")), dash(text("ingress")));
    let service = match (entry.text("service"), entry.text("upstream_name")) {
        ("", upstream) => dash(printable(upstream)),
        (service, _) => printable(&format!("{service}:{}", entry.text("service_port"))),
    };
    let (endpoints, statuses) = (text("upstream_addr"), text("upstream_status"));
    let endpoints = if endpoints.is_empty() { String::new() } else { format!("  {endpoints} ({statuses})") };
    let line = format!(
        "{}  {status}  {took:>8}  {:<7} {place:<40}  {ingress:<24}  {service:<16}{endpoints}  {}",
        styled(FAINT, &time),
        text("method"),
        text("remote_addr")
    );
    line.trim_end().to_owned()
}

fn dash(text: String) -> String {
    if text.is_empty() { "-".to_owned() } else { text }
}

fn cut(text: &str) -> String {
    let shown: String = text.chars().take(LONGEST).collect();
    if shown.len() < text.len() { format!("{}...", printable(&shown)) } else { printable(&shown) }
}

fn duration(seconds: f64) -> String {
    if seconds < 1.0 { format!("{:.0} ms", seconds * 1000.0) } else { format!("{seconds:.1} s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_columns_and_steers_no_terminal() {
        let reported = r#"{"time":"2026-11-29T05:00:00.123+00:00","remote_addr":"192.0.2.7","method":"GET","host":"shop.test",
            "uri":"/\u001b[2Jx\n","status":502,"request_time":0.003,"namespace":"shop","ingress":"web","service":"api",
            "service_port":"80","upstream_addr":"10.0.0.1:80","upstream_status":"502"}"#;
        let shown = line(&Entry::read(reported.as_bytes(), &[]).unwrap());
        let plain = anstream::adapter::strip_str(&shown).to_string();
        let expected = "2026-11-29T05:00:00.123  502      3 ms  GET     shop.test/\\u{1b}[2Jx\\n                    shop/web                  \
                        api:80            10.0.0.1:80 (502)  192.0.2.7";
        assert_eq!(plain, expected);
        assert!(shown.contains(&styled(BAD, "502")), "{shown}");
    }
}
