//! Requests of one route with which something else is done than with the rest.

use std::fmt;

use super::{HeaderName, HeaderValue, Origin, Pattern, RedirectUrl, UpstreamId};

/// What a request has to have.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Test {
    /// A header with this value, letter for letter.
    Header(HeaderName, HeaderValue),
    /// A header in whose value this expression matches somewhere.
    HeaderMatches(HeaderName, Pattern),
    /// A cookie with this value, letter for letter.
    Cookie(HeaderName, HeaderValue),
    /// A parameter of the query with this value, letter for letter as it is sent.
    Query(HeaderName, HeaderValue),
    /// This method.
    Method(HeaderName),
}

/// What of a request a test looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tested<'t> {
    /// This header.
    Header(&'t HeaderName),
    /// All cookies.
    Cookies,
    /// The query.
    Query,
    /// The method.
    Method,
}

impl Test {
    /// What is looked at.
    pub const fn tested(&self) -> Tested<'_> {
        match self {
            Test::Header(name, _) | Test::HeaderMatches(name, _) => Tested::Header(name),
            Test::Cookie(..) => Tested::Cookies,
            Test::Query(..) => Tested::Query,
            Test::Method(_) => Tested::Method,
        }
    }
}

/// What is done with requests that pass a test.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Choice {
    /// They go to this upstream.
    Forward(UpstreamId),
    /// They are redirected with this status, 300 to 308.
    Redirect(u16, RedirectUrl),
    /// They are answered with this status and a short text.
    Respond(u16),
}

/// A test, and what is done with requests that pass it.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Branch {
    /// What they have to have.
    pub test: Test,
    /// What is done with them.
    pub choice: Choice,
}

/// Names of files are made of it: a branch to an upstream is shown as it ever was, so that an upgrade renames nothing.
impl fmt::Debug for Branch {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = formatter.debug_struct("Branch");
        shown.field("test", &self.test);
        match &self.choice {
            Choice::Forward(upstream) => shown.field("upstream", upstream),
            answer => shown.field("choice", answer),
        };
        shown.finish()
    }
}

/// A part of the requests, in ten-thousandths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Share(u16);

impl Share {
    /// All of them.
    pub const ALL: Share = Share(10_000);

    /// `part` of `whole`, to the nearest ten-thousandth: less than that is one, as long as it is anything, and a part that is not
    /// all is not rounded to all.
    pub fn of(part: u64, whole: u64) -> Self {
        if part >= whole {
            return Share::ALL;
        }
        let all = u64::from(Share::ALL.0);
        let rounded = (u128::from(part) * u128::from(all) + u128::from(whole / 2)) / u128::from(whole);
        let least = u64::from(part > 0);
        Share(u16::try_from(rounded).unwrap_or(u16::MAX).clamp(u16::try_from(least).unwrap_or(1), Share::ALL.0 - 1))
    }

    /// In ten-thousandths.
    pub const fn ten_thousandths(self) -> u16 {
        self.0
    }
}

/// What is done with requests of a route that do not go to its upstream. All upstreams are spoken to in the same way as that one.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Split {
    /// The object that asked for it.
    pub origin: Origin,
    /// Tests in the order in which they are tried: the first that a request passes decides.
    pub branches: Vec<Branch>,
    /// The cookie by whose session requests are shared out, so that a client stays on its side; `None` shares each out by itself.
    pub session: Option<HeaderName>,
    /// Shares of the requests that pass none, each of them more than nothing; the rest goes to the route's upstream.
    pub shares: Vec<(UpstreamId, Share)>,
}

impl Split {
    /// Every upstream that it names, perhaps more than once.
    pub fn upstreams(&self) -> impl Iterator<Item = &UpstreamId> {
        let branches = self.branches.iter().filter_map(|branch| match &branch.choice {
            Choice::Forward(upstream) => Some(upstream),
            Choice::Redirect(..) | Choice::Respond(_) => None,
        });
        branches.chain(self.shares.iter().map(|(upstream, _)| upstream))
    }
}

#[cfg(test)]
mod tests {
    use super::Share;

    #[test]
    fn shares_are_rounded_without_losing_either_side() {
        for (part, whole, expected) in [
            (0, 100, 0),
            (1, 100, 100),
            (10, 100, 1000),
            (1, 3, 3333),
            (2, 3, 6667),
            (1, 1_000_000, 1),
            (999_999, 1_000_000, 9999),
            (100, 100, 10_000),
            (200, 100, 10_000),
            (u64::MAX - 1, u64::MAX, 9999),
        ] {
            assert_eq!(Share::of(part, whole).ten_thousandths(), expected, "{part} of {whole}");
        }
    }
}
