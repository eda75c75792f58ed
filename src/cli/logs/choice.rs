//! Which requests are shown. It must not know how.

use std::ops::RangeInclusive;
use std::time::Duration;

use jiff::Timestamp;

use super::entry::Entry;
use super::{duration, name_of};

/// Classes or ranges of statuses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statuses(RangeInclusive<u16>);

/// What the requests have in common.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct Choice {
    /// Show only requests for this host; `*.example.com` stands for all below it. This option may
    /// be repeated.
    #[arg(long = "host", value_name = "HOST")]
    pub hosts: Vec<String>,
    /// Show only requests that this Ingress takes.
    #[arg(long, value_name = "NAMESPACE/NAME", value_parser = name_of)]
    pub ingress: Option<(String, String)>,
    /// Show only requests that this Service got.
    #[arg(long, value_name = "NAMESPACE/NAME", value_parser = name_of)]
    service: Option<(String, String)>,
    /// Show only answers with these statuses, such as `5xx`, `404` or `400-499`. This option may
    /// be repeated.
    #[arg(long = "status", value_name = "STATUS", value_parser = statuses, value_delimiter = ',')]
    statuses: Vec<Statuses>,
    /// Show only requests that took this long or longer, such as `1s`.
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    slow: Option<Duration>,
    /// Show only what was logged within this time, such as `10m`; rotated files are read where
    /// they reach so far.
    #[arg(long, value_name = "DURATION", value_parser = since)]
    since: Option<Timestamp>,
}

fn since(text: &str) -> Result<Timestamp, String> {
    let back = jiff::SignedDuration::try_from(duration(text)?).map_err(|error| error.to_string())?;
    Timestamp::now().checked_sub(back).map_err(|_| "it is longer ago than time goes back".to_owned())
}

fn statuses(text: &str) -> Result<Statuses, String> {
    let wrong = || format!("{text:?} is no status such as 5xx, 404 or 400-499");
    let number = |text: &str| text.parse::<u16>().ok().filter(|status| *status < 1000).ok_or_else(wrong);
    let range = match (text.strip_suffix("xx"), text.split_once('-')) {
        (Some(class), _) if class.len() == 1 => number(class).map(|class| class * 100..=class * 100 + 99)?,
        (_, Some((first, last))) => number(first)?..=number(last)?,
        _ => number(text)?..=number(text)?,
    };
    if range.is_empty() { Err(wrong()) } else { Ok(Statuses(range)) }
}

impl Choice {
    /// When the earliest line was written that is shown.
    pub fn earliest(&self) -> Option<Timestamp> {
        self.since
    }

    /// The option about something that the line does not have.
    pub fn lacks(&self, entry: &Entry) -> Option<&'static str> {
        let asked = [
            (!self.hosts.is_empty() && !entry.has("host"), "--host"),
            (self.ingress.is_some() && !(entry.has("ingress") && entry.has("namespace")), "--ingress"),
            (self.service.is_some() && !(entry.has("service") || entry.has("upstream_name")), "--service"),
            (!self.statuses.is_empty() && !entry.has("status"), "--status"),
            (self.slow.is_some() && !entry.has("request_time"), "--slow"),
            (self.since.is_some() && entry.time().is_none(), "--since"),
        ];
        asked.into_iter().find(|(lacks, _)| *lacks).map(|(_, option)| option)
    }

    /// Whether the request is shown.
    pub fn takes(&self, entry: &Entry) -> bool {
        let status = entry.number("status").map_or(0, |status| status as u16);
        (self.hosts.is_empty() || self.has_host(entry.text("host")))
            && self
                .ingress
                .as_ref()
                .is_none_or(|(namespace, name)| entry.text("namespace") == namespace && entry.text("ingress") == name)
            && self.service.as_ref().is_none_or(|(namespace, name)| is_of_service(entry, namespace, name))
            && (self.statuses.is_empty() || self.statuses.iter().any(|Statuses(range)| range.contains(&status)))
            && self
                .slow
                .is_none_or(|least| entry.number("request_time").is_some_and(|seconds| seconds >= least.as_secs_f64()))
            && self.since.is_none_or(|since| entry.time().is_some_and(|time| time >= since))
    }

    /// Whether the host is one of those that are asked for.
    pub fn has_host(&self, host: &str) -> bool {
        self.hosts.iter().any(|wanted| match wanted.strip_prefix('*') {
            Some(below) => host.len() > below.len() && host.to_ascii_lowercase().ends_with(&below.to_ascii_lowercase()),
            None => host.eq_ignore_ascii_case(wanted),
        })
    }
}

/// Namespace, Service and port are joined by hyphens where there are no fields of their own.
fn is_of_service(entry: &Entry, namespace: &str, name: &str) -> bool {
    match entry.has("service") && entry.has("namespace") {
        true => entry.text("namespace") == namespace && entry.text("service") == name,
        false => {
            let port = entry.text("upstream_name").strip_prefix(&format!("{namespace}-{name}-"));
            port.is_some_and(|port| !port.is_empty() && !port.contains('-'))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_are_classes_numbers_and_ranges() {
        for (text, inside, outside) in [("5xx", 599, 499), ("404", 404, 405), ("400-499", 499, 500)] {
            let Statuses(range) = statuses(text).unwrap();
            assert!(range.contains(&inside) && !range.contains(&outside), "{text}");
        }
        for text in ["", "xx", "5x", "55xx", "abc", "500-400", "-1", "1000"] {
            assert!(statuses(text).is_err(), "{text}");
        }
    }

    #[test]
    fn hosts_are_names_and_all_below_one() {
        let choice = Choice { hosts: vec!["a.test".into(), "*.b.test".into()], ..Choice::default() };
        assert_eq!(
            ["A.test", "x.b.test", "b.test", "xb.test", "c.test"].map(|host| choice.has_host(host)),
            [true, true, false, false, false]
        );
    }
}
