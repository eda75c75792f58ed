//! The two text formats of metrics, and which of them a request asks for.

/// A text format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// OpenMetrics 1.0, which Prometheus asks for.
    OpenMetrics,
    /// Version 0.0.4 of Prometheus' own format, for tools that know no other.
    Plain,
}

impl Format {
    /// Chooses by the header `Accept`.
    pub fn accepted(accept: &str) -> Self {
        match accept.contains("text/plain") && !accept.contains("application/openmetrics-text") {
            true => Format::Plain,
            false => Format::OpenMetrics,
        }
    }

    /// The value of `Content-Type`.
    pub fn content_type(self) -> &'static str {
        match self {
            Format::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            Format::Plain => "text/plain; version=0.0.4; charset=utf-8",
        }
    }

    /// Writes metrics that are in OpenMetrics.
    pub fn write(self, metrics: String) -> String {
        match self {
            Format::OpenMetrics => metrics,
            Format::Plain => plain(&metrics),
        }
    }
}

/// In this format a family has the name of its samples, and a help line comes before its type. It
/// has no units, no end and no type for what describes a thing.
fn plain(metrics: &str) -> String {
    let (mut plain, mut help) = (String::with_capacity(metrics.len()), "");
    for line in metrics.lines() {
        if let Some(reported) = line.strip_prefix("# HELP ") {
            help = reported;
        } else if let Some((name, kind)) = line.strip_prefix("# TYPE ").and_then(|reported| reported.split_once(' ')) {
            let (suffix, kind) = match kind {
                "counter" => ("_total", kind),
                "info" => ("_info", "gauge"),
                "unknown" => ("", "untyped"),
                _ => ("", kind),
            };
            if let Some(help) = help.strip_prefix(name) {
                plain.extend(["# HELP ", name, suffix, help, "\n"]);
            }
            plain.extend(["# TYPE ", name, suffix, " ", kind, "\n"]);
        } else if !line.starts_with('#') {
            plain.extend([line, "\n"]);
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plain_format_is_for_those_who_ask_for_nothing_else() {
        let prometheus = "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.2,*/*;q=0.1";
        for (accept, expected) in [
            ("", Format::OpenMetrics),
            ("*/*", Format::OpenMetrics),
            (prometheus, Format::OpenMetrics),
            ("text/plain", Format::Plain),
            ("text/plain; version=0.0.4", Format::Plain),
        ] {
            assert_eq!(Format::accepted(accept), expected, "{accept}");
        }
    }

    #[test]
    fn families_have_the_names_of_their_samples() {
        let metrics = "\
# HELP reloads How often.
# TYPE reloads counter
reloads_total{result=\"ok\"} 2
# HELP test_seconds How long.
# TYPE test_seconds histogram
# UNIT test_seconds seconds
test_seconds_bucket{le=\"1.0\"} 1
# HELP build What runs.
# TYPE build info
build_info{version=\"1\"} 1
# EOF
";
        let expected = "\
# HELP reloads_total How often.
# TYPE reloads_total counter
reloads_total{result=\"ok\"} 2
# HELP test_seconds How long.
# TYPE test_seconds histogram
test_seconds_bucket{le=\"1.0\"} 1
# HELP build_info What runs.
# TYPE build_info gauge
build_info{version=\"1\"} 1
";
        assert_eq!(Format::Plain.write(metrics.to_owned()), expected);
    }
}
