//! What differs between two sides that were asked several times, and what differs each time that one of them is asked; it must not know requests.

use std::collections::{BTreeMap, BTreeSet};

use super::answer::Part;

/// What was told of each answer, in the order of asking.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rounds {
    /// By the controller.
    pub controller: Vec<BTreeMap<Part, String>>,
    /// By ingressd.
    pub ingressd: Vec<BTreeMap<Part, String>>,
}

/// What comes of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Parts that differ, with what the controller and ingressd say; empty where one says nothing.
    pub different: Vec<(Part, String, String)>,
    /// Parts of which one side alone says one thing and then another.
    pub unsteady: Vec<Part>,
}

impl Rounds {
    /// How often each side is asked when the answers differ: a backend that answers by chance is found out, all but seldom.
    pub const MOST: usize = 4;

    /// Whether neither gave an answer.
    pub fn is_silent(&self) -> bool {
        self.controller.iter().chain(&self.ingressd).all(|told| !told.contains_key(&Part::Status))
    }

    /// What comes of what was told so far.
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

/// What was said of a part, each thing once.
fn values<'a>(rounds: &'a [BTreeMap<Part, String>], part: &Part) -> Vec<&'a str> {
    let mut values: Vec<_> = rounds.iter().map(|told| told.get(part).map_or("", String::as_str)).collect();
    values.sort_unstable();
    values.dedup();
    values
}

impl Outcome {
    /// Where there is no answer, or another status, everything else is another too, and tells nothing more.
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
