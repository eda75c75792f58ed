//! The differences between two sides that were asked several times, and parts that vary on one
//! side. It must not know requests.

use std::collections::{BTreeMap, BTreeSet};

use super::answer::Part;

/// The parts of all responses, in the order of the requests.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rounds {
    pub controller: Vec<BTreeMap<Part, String>>,
    pub ingressd: Vec<BTreeMap<Part, String>>,
}

/// The result of the comparison.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Parts that differ, with both values; a missing part is empty.
    pub different: Vec<(Part, String, String)>,
    /// Parts that vary on one side.
    pub unsteady: Vec<Part>,
}

impl Rounds {
    /// How often each side is asked when responses differ: this detects random responses with high
    /// probability.
    pub const MOST: usize = 4;

    /// Whether neither side responded.
    pub fn is_silent(&self) -> bool {
        self.controller.iter().chain(&self.ingressd).all(|reported| !reported.contains_key(&Part::Status))
    }

    /// The result so far.
    pub fn outcome(&self) -> Outcome {
        let parts: BTreeSet<_> = self.controller.iter().chain(&self.ingressd).flat_map(BTreeMap::keys).collect();
        let mut outcome = Outcome::default();
        for part in parts {
            let (controller, ingressd) = (values(&self.controller, part), values(&self.ingressd, part));
            match (&controller[..], &ingressd[..]) {
                ([one], [other]) if one == other => {}
                ([one], [other]) => outcome.different.push((part.clone(), (*one).to_owned(), (*other).to_owned())),
                _ => outcome.unsteady.push(part.clone()),
            }
        }
        outcome.keep_causes();
        outcome
    }
}

/// The distinct values of a part.
fn values<'a>(rounds: &'a [BTreeMap<Part, String>], part: &Part) -> Vec<&'a str> {
    let mut values: Vec<_> = rounds.iter().map(|reported| reported.get(part).map_or("", String::as_str)).collect();
    values.sort_unstable();
    values.dedup();
    values
}

impl Outcome {
    /// Without a response, or with another status, all other parts differ too and are dropped.
    fn keep_causes(&mut self) {
        for cause in [Part::Answer, Part::Status] {
            let keep = |part: &Part| *part <= cause || (cause == Part::Status && *part <= Part::Location);
            if self.different.iter().any(|(part, ..)| *part == cause) || self.unsteady.contains(&cause) {
                self.different.retain(|(part, ..)| keep(part));
                self.unsteady.retain(keep);
                return;
            }
        }
    }
}
