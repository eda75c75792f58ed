//! The bisection among candidates, and the search with it for the objects that caused a complaint.

use std::sync::Arc;

use ingressd_apply::Complaint;
use ingressd_model::ObjectId;

/// An object that may have caused a complaint.
#[derive(Debug, Clone)]
pub(super) struct Candidate {
    pub(super) id: Arc<ObjectId>,
    /// Whether the object is left out altogether, because the complaint is about its earlier
    /// version.
    pub(super) left_out: bool,
}

/// A search by bisection, when several candidates may be the cause. The shortest prefix of the
/// list without which the complaint is gone ends with a culprit. The others come back, and are
/// searched again only if the complaint comes back with them.
#[derive(Debug)]
pub(super) struct Bisection<T> {
    culprits: Vec<T>,
    /// The candidates, the most likely first.
    candidates: Vec<T>,
    /// How many of them have versions that nginx did not run before. The others are left out only
    /// if the complaint stays without these.
    changed: usize,
    /// How many are taken out now.
    taken: usize,
    /// The longest prefix without which the complaint is known to stay, and the shortest without
    /// which it is known to be gone.
    stays: Option<usize>,
    gone: Option<usize>,
}

/// The state of a search after an attempt.
pub(super) enum Progress {
    Continue,
    Found,
    Nobody,
}

impl<T> Bisection<T> {
    /// Begins with the first candidate.
    pub(super) fn new(candidates: Vec<T>, changed: usize) -> Self {
        let taken = candidates.len().min(1);
        Bisection { culprits: Vec::new(), candidates, changed, taken, stays: Some(0), gone: None }
    }

    /// The candidates that the next attempt leaves out.
    pub(super) fn excluded(&self) -> impl Iterator<Item = &T> {
        self.culprits.iter().chain(&self.candidates[..self.taken])
    }

    /// The candidates that it does not leave out.
    pub(super) fn included(&self) -> impl Iterator<Item = &T> {
        self.candidates[self.taken..].iter()
    }

    /// All candidates that are not cleared.
    pub(super) fn everybody(&self) -> impl Iterator<Item = &T> {
        self.culprits.iter().chain(&self.candidates)
    }

    /// Continues after an attempt, by whether the complaint stays.
    pub(super) fn go_on(&mut self, complaint_stays: bool) -> Progress {
        match complaint_stays {
            true => self.stays = Some(self.taken),
            false if self.taken == 0 => return Progress::Found,
            false => self.gone = Some(self.taken),
        }
        let all = self.candidates.len();
        let stays = self.stays.unwrap_or_default();
        self.taken = match self.gone {
            None if stays == all => return Progress::Nobody,
            None => (2 * stays).clamp(1, if stays < self.changed { self.changed } else { all }),
            Some(gone) if gone - stays > 1 => gone.midpoint(stays),
            Some(gone) => {
                self.candidates.truncate(gone);
                self.culprits.extend(self.candidates.pop());
                self.changed = self.changed.min(self.candidates.len());
                (self.stays, self.gone) = (None, Some(self.candidates.len()));
                0
            }
        };
        match self.candidates.is_empty() {
            true => Progress::Found,
            false => Progress::Continue,
        }
    }

    /// Ends the search. It blames those without which the complaint was gone, or else what nginx
    /// did not run before, or every candidate.
    pub(super) fn give_up(&mut self) {
        self.taken = match self.gone {
            Some(gone) => gone,
            None if self.changed == 0 => self.candidates.len(),
            None => self.changed,
        };
    }
}

/// The search for the objects that caused a complaint about a line.
#[derive(Debug)]
pub(super) struct ComplaintSearch {
    pub(super) complaint: Complaint,
    pub(super) bisection: Bisection<Candidate>,
}

impl ComplaintSearch {
    pub(super) fn new(complaint: &Complaint, candidates: Vec<Candidate>, changed: usize) -> Self {
        ComplaintSearch { complaint: complaint.clone(), bisection: Bisection::new(candidates, changed) }
    }

    /// Whether the search is about this complaint.
    pub(super) fn is_about(&self, complaint: &Complaint) -> bool {
        self.complaint.words == complaint.words && self.is_about_file_of(complaint)
    }

    /// Whether the search is about the file of this complaint: line numbers shift when an object
    /// is left out.
    pub(super) fn is_about_file_of(&self, complaint: &Complaint) -> bool {
        let file = |complaint: &Complaint| complaint.place.as_ref().map(|(file, _)| Arc::clone(file));
        file(&self.complaint) == file(complaint)
    }

    /// Whether the search is about this object, so that the complaint may be about the version
    /// that replaces it temporarily.
    pub(super) fn concerns(&self, id: &ObjectId) -> bool {
        self.bisection.everybody().any(|candidate| *candidate.id == *id)
    }

    /// Begins again with the candidates left out altogether, because their earlier versions may be
    /// the cause.
    pub(super) fn again_without_substitutes(&self) -> Option<Self> {
        let had_substitutes = self.bisection.everybody().any(|candidate| !candidate.left_out);
        let left_out = self.bisection.everybody().map(|candidate| Candidate { left_out: true, ..candidate.clone() });
        had_substitutes.then(|| ComplaintSearch::new(&self.complaint, left_out.collect(), self.bisection.changed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The culprits that were found, and the number of attempts; `None` when there are none.
    fn run(count: usize, changed: usize, bad: &[usize], stays_always: bool) -> (Option<Vec<usize>>, usize) {
        let mut bisection = Bisection::new((0..count).collect(), changed);
        for attempts in 1.. {
            let taken: Vec<_> = bisection.excluded().copied().collect();
            let is_gone = !stays_always && bad.iter().all(|bad| taken.contains(bad));
            assert!(
                taken.iter().all(|taken| *taken < changed) || bad.iter().any(|bad| *bad >= changed) || stays_always
            );
            match bisection.go_on(!is_gone) {
                Progress::Continue => {}
                Progress::Nobody => return (None, attempts),
                Progress::Found => {
                    let mut culprits: Vec<_> = bisection.excluded().copied().collect();
                    culprits.sort_unstable();
                    return (Some(culprits), attempts);
                }
            }
        }
        unreachable!("a search ends")
    }

    #[test]
    fn each_culprit_costs_a_few_attempts_however_many_candidates_there_are() {
        for (bad, most) in [(vec![0], 2), (vec![63], 14), (vec![31, 32], 20), (vec![5, 40, 41, 99], 36)] {
            let (culprits, attempts) = run(100, 3, &bad, false);
            assert_eq!(culprits, Some(bad));
            assert!(attempts <= most, "{attempts}");
        }
    }

    #[test]
    fn every_set_of_culprits_is_found_and_nobody_else() {
        for set in 1_usize..1 << 7 {
            let bad: Vec<_> = (0..7).filter(|number| set >> number & 1 == 1).collect();
            for changed in [0, 3, 7] {
                assert_eq!(run(7, changed, &bad, false).0, Some(bad.clone()), "{changed}");
            }
        }
    }

    #[test]
    fn nobody_is_to_blame_for_what_stays_without_all() {
        assert_eq!(run(100, 3, &[], true).0, None);
        assert_eq!(run(1, 0, &[], true), (None, 1));
    }
}
