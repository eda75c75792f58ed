//! Parameters in the query of a request that change the response.

use std::str::FromStr;
use std::time::Duration;

use http::{HeaderName, HeaderValue, StatusCode};

const LONGEST_DELAY: Duration = Duration::from_secs(120);
/// The largest response in bytes.
const LARGEST: usize = 64 << 20;
/// Most events of a stream.
const MOST_EVENTS: u32 = 10_000;

/// The parameters; the default changes nothing. Unknown ones are ignored.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Switches {
    /// `status=503`: the status of the response.
    pub status: StatusCode,
    /// `delay_ms=50`: the delay of the response.
    pub delay: Duration,
    /// `size=1024`: a body of so many bytes instead of the description.
    pub size: Option<usize>,
    /// `header=Name:Value`, repeatable: a response header.
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// `events=3`: a stream of so many server-sent events instead of the description, `delay_ms`
    /// apart.
    pub events: Option<u32>,
}

impl Switches {
    /// Parses a query.
    pub fn of(query: &str) -> Self {
        let mut switches = Switches::default();
        for (key, value) in url::form_urlencoded::parse(query.as_bytes()) {
            match &*key {
                "status" => switches.status = read(&value).unwrap_or_default(),
                "delay_ms" => {
                    switches.delay = Duration::from_millis(read(&value).unwrap_or_default()).min(LONGEST_DELAY);
                }
                "size" => switches.size = read(&value).map(|size: usize| size.min(LARGEST)),
                "events" => switches.events = read(&value).map(|count: u32| count.min(MOST_EVENTS)),
                "header" => switches.headers.extend(header(&value)),
                _ => {}
            }
        }
        switches
    }
}

fn read<T: FromStr>(value: &str) -> Option<T> {
    value.parse().ok()
}

fn header(line: &str) -> Option<(HeaderName, HeaderValue)> {
    let (name, value) = line.split_once(':')?;
    Some((read(name)?, read(value.trim())?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_query_decides() {
        let switches = Switches::of("status=503&delay_ms=5&size=7&events=2&header=Set-Cookie:%20a%3Db&header=bad");
        assert_eq!(switches.status, StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(switches.delay, Duration::from_millis(5));
        assert_eq!((switches.size, switches.events), (Some(7), Some(2)));
        assert_eq!(switches.headers, [("set-cookie".parse().unwrap(), "a=b".parse().unwrap())]);
    }

    #[test]
    fn nonsense_changes_nothing_and_greed_is_bounded() {
        assert_eq!(Switches::of("status=oops&delay_ms=-1&size=&header=:"), Switches::default());
        let greedy = Switches::of("delay_ms=99999999999&size=99999999999&events=4000000000");
        assert_eq!((greedy.delay, greedy.size, greedy.events), (LONGEST_DELAY, Some(LARGEST), Some(MOST_EVENTS)));
    }
}
