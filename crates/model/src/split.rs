//! Traffic splits: requests of a route that go to other upstreams than the rest, or are answered.

use super::{HeaderName, HeaderValue, Origin, Pattern, RedirectUrl, UpstreamId};

/// A condition on a request.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Test {
    /// It has a header with exactly this value.
    Header(HeaderName, HeaderValue),
    /// It has a header in whose value this expression matches somewhere.
    HeaderMatches(HeaderName, Pattern),
    /// It has a cookie with exactly this value.
    Cookie(HeaderName, HeaderValue),
    /// Its query has a parameter with exactly this value, as sent.
    Query(HeaderName, HeaderValue),
    /// It has this method.
    Method(HeaderName),
}

/// The part of a request that a test is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tested<'t> {
    Header(&'t HeaderName),
    /// All cookies.
    Cookies,
    Query,
    Method,
}

impl Test {
    /// The part of a request that it is about.
    pub const fn tested(&self) -> Tested<'_> {
        match self {
            Test::Header(name, _) | Test::HeaderMatches(name, _) => Tested::Header(name),
            Test::Cookie(..) => Tested::Cookies,
            Test::Query(..) => Tested::Query,
            Test::Method(_) => Tested::Method,
        }
    }
}

/// The action for requests that pass a test.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Choice {
    /// Pass them to an endpoint of this upstream.
    Forward(UpstreamId),
    /// Redirect them with this status, 300 to 308.
    Redirect(u16, RedirectUrl),
    /// Respond with this status and a short text.
    Respond(u16),
}

/// Tests, and what is for requests that pass all of them.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Branch<T> {
    pub all: Vec<Test>,
    pub then: T,
}

/// A share of the requests, in ten-thousandths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Share(u16);

impl Share {
    /// All of them.
    pub const ALL: Share = Share(10_000);

    /// `part` of `whole`, rounded to ten-thousandths: a part that is not 0 becomes at least one,
    /// and a part that is not all does not become all.
    pub fn of(part: u64, whole: u64) -> Self {
        if part >= whole {
            return Share::ALL;
        }
        let all = u64::from(Share::ALL.0);
        let rounded = (u128::from(part) * u128::from(all) + u128::from(whole / 2)) / u128::from(whole);
        let least = u64::from(part > 0);
        Share(u16::try_from(rounded).unwrap_or(u16::MAX).clamp(u16::try_from(least).unwrap_or(1), Share::ALL.0 - 1))
    }

    pub const fn ten_thousandths(self) -> u16 {
        self.0
    }
}

/// How a handler divides its requests among upstreams with the protocol of the main one.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Split {
    /// The object that defines it.
    pub origin: Origin,
    /// Tests in order: the first that a request passes decides.
    pub branches: Vec<Branch<Choice>>,
    /// The cookie by which requests are distributed, so that a client stays on its side; `None`
    /// distributes each request by itself.
    pub session: Option<HeaderName>,
    /// Shares of the requests that pass no test, none of them 0; the rest goes to the main
    /// upstream.
    pub shares: Vec<(Choice, Share)>,
}

impl Split {
    /// Every upstream of the split, perhaps more than once.
    pub fn upstreams(&self) -> impl Iterator<Item = &UpstreamId> {
        self.choices().filter_map(|choice| match choice {
            Choice::Forward(upstream) => Some(upstream),
            Choice::Redirect(..) | Choice::Respond(_) => None,
        })
    }

    /// What happens to requests besides that they go to the main upstream, perhaps more than once.
    pub fn choices(&self) -> impl Iterator<Item = &Choice> {
        let shares = self.shares.iter().map(|(choice, _)| choice);
        self.branches.iter().map(|branch| &branch.then).chain(shares)
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
