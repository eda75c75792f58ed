//! The search among several objects for those that caused a complaint.

use std::sync::Arc;

use ingressd_apply::Complaint;
use ingressd_model::ObjectId;

/// How many culprits of one namespace are searched for one by one, in a search by namespaces.
const MOST_OF_NAMESPACE: usize = 2;

/// An object that may have caused a complaint.
#[derive(Debug, Clone)]
pub(super) struct Suspect {
    pub(super) id: Arc<ObjectId>,
    /// Whether the object is left out altogether, because the complaint is about its earlier
    /// version.
    pub(super) left_out: bool,
}

/// A search by bisection, when several objects may have caused one complaint. The shortest prefix
/// of the list without which the complaint is gone ends with an object that caused it. The others
/// come back, and are searched again only if the complaint comes back with them.
#[derive(Debug)]
pub(super) struct Trial {
    pub(super) complaint: Complaint,
    guilty: Vec<Suspect>,
    /// The suspects, the most likely first.
    suspects: Vec<Suspect>,
    /// How many of them have versions that nginx did not run before. The others are left out only
    /// if the complaint stays without these.
    changed: usize,
    /// Whether all suspects of a namespace are taken out together before single ones are.
    by_namespace: bool,
    /// How many are taken out now.
    taken: usize,
    /// The longest prefix without which the complaint is known to stay, and the shortest without
    /// which it is known to be gone.
    stays: Option<usize>,
    gone: Option<usize>,
}

/// The state of a trial after an attempt.
pub(super) enum Verdict {
    Continue,
    Guilty,
    Nobody,
}

impl Trial {
    /// Begins with the first suspect.
    pub(super) fn new(complaint: &Complaint, suspects: Vec<Suspect>, changed: usize) -> Self {
        let (complaint, guilty, taken) = (complaint.clone(), Vec::new(), suspects.len().min(1));
        Trial { complaint, guilty, suspects, changed, by_namespace: false, taken, stays: Some(0), gone: None }
    }

    /// Begins with the first namespace: all of its suspects are taken out together before single
    /// ones are. The suspects of a namespace are adjacent, and nginx ran none of them before.
    pub(super) fn by_namespace(complaint: &Complaint, suspects: Vec<Suspect>) -> Self {
        let changed = suspects.len();
        let mut trial = Trial { by_namespace: true, ..Trial::new(complaint, suspects, changed) };
        let first = trial.ends().next();
        trial.taken = first.unwrap_or_default();
        trial
    }

    /// The suspects that the next attempt leaves out.
    pub(super) fn excluded(&self) -> impl Iterator<Item = &Suspect> {
        self.guilty.iter().chain(&self.suspects[..self.taken])
    }

    /// Whether the trial is about this complaint.
    pub(super) fn is_about(&self, complaint: &Complaint) -> bool {
        self.complaint.words == complaint.words && self.is_about_file_of(complaint)
    }

    /// Whether the trial is about the file of this complaint: line numbers shift when an object is
    /// left out.
    pub(super) fn is_about_file_of(&self, complaint: &Complaint) -> bool {
        let file = |complaint: &Complaint| complaint.place.as_ref().map(|(file, _)| Arc::clone(file));
        file(&self.complaint) == file(complaint)
    }

    /// All suspects that are not cleared.
    pub(super) fn everybody(&self) -> impl Iterator<Item = &Suspect> {
        self.guilty.iter().chain(&self.suspects)
    }

    /// Whether the trial is about this object, so that the complaint may be about the version that
    /// replaces it temporarily.
    pub(super) fn concerns(&self, id: &ObjectId) -> bool {
        self.everybody().any(|suspect| *suspect.id == *id)
    }

    pub(super) fn complaint_stays(&mut self) -> Verdict {
        self.stays = Some(self.taken);
        self.go_on()
    }

    pub(super) fn complaint_is_gone(&mut self) -> Verdict {
        if self.taken == 0 {
            return Verdict::Guilty;
        }
        self.gone = Some(self.taken);
        self.go_on()
    }

    fn go_on(&mut self) -> Verdict {
        let all = self.suspects.len();
        let stays = self.stays.unwrap_or_default();
        self.taken = match self.gone {
            None if stays == all => return Verdict::Nobody,
            None => {
                let bound = if stays < self.changed { self.changed } else { all };
                let wanted = (2 * stays).clamp(1, bound);
                self.ends().find(|end| *end >= wanted).unwrap_or(wanted)
            }
            Some(gone) if gone - stays > 1 => self.between(stays, gone),
            Some(gone) => {
                self.suspects.truncate(gone);
                self.guilty.extend(self.suspects.pop());
                self.spare_effort();
                self.changed = self.changed.min(self.suspects.len());
                (self.stays, self.gone) = (None, Some(self.suspects.len()));
                0
            }
        };
        match self.suspects.is_empty() {
            true => Verdict::Guilty,
            false => Verdict::Continue,
        }
    }

    /// How many to try between the two bounds. Of a namespace the first suspect is by far the most
    /// likely.
    fn between(&self, stays: usize, gone: usize) -> usize {
        let inside: Vec<_> = self.ends().filter(|end| (stays + 1..gone).contains(end)).collect();
        match inside.get(inside.len() / 2) {
            Some(middle) => *middle,
            None if self.by_namespace && (stays == 0 || self.ends().any(|end| end == stays)) => stays + 1,
            None => gone.midpoint(stays),
        }
    }

    /// Where namespaces end among the suspects; empty in a search that is not by namespaces.
    fn ends(&self) -> impl Iterator<Item = usize> {
        let suspects = if self.by_namespace { &self.suspects[..] } else { &[] };
        let namespaces = suspects.chunk_by(|one, other| one.id.namespace == other.id.namespace);
        namespaces.scan(0, |end, group| {
            *end += group.len();
            Some(*end)
        })
    }

    /// Where one namespace has many culprits, all of its suspects are blamed: to tell them apart
    /// would cost all others time.
    fn spare_effort(&mut self) {
        let Some(last) = self.guilty.last().filter(|_| self.by_namespace) else { return };
        let namespace = Arc::clone(&last.id.namespace);
        if self.guilty.iter().filter(|suspect| suspect.id.namespace == namespace).count() >= MOST_OF_NAMESPACE {
            let (its, others) =
                std::mem::take(&mut self.suspects).into_iter().partition(|suspect| suspect.id.namespace == namespace);
            (self.guilty, self.suspects) = ([std::mem::take(&mut self.guilty), its].concat(), others);
        }
    }

    /// Ends the search. It blames what nginx did not run before, or else every suspect; in a
    /// search by namespaces, those without which the complaint was gone.
    pub(super) fn give_up(&mut self) {
        self.taken = match self.gone {
            Some(gone) if self.by_namespace => gone,
            _ if self.changed == 0 => self.suspects.len(),
            _ => self.changed,
        };
    }

    /// Begins again with the suspects left out altogether, because their earlier versions may be
    /// the cause.
    pub(super) fn again_without_substitutes(&self) -> Option<Self> {
        let had_substitutes = self.everybody().any(|suspect| !suspect.left_out);
        let left_out = self.everybody().map(|suspect| Suspect { left_out: true, ..suspect.clone() }).collect();
        had_substitutes.then(|| Trial::new(&self.complaint, left_out, self.changed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ingressd_model::Kind;

    fn suspects(count: usize) -> Vec<Suspect> {
        let id = |number: usize| Arc::new(ObjectId::new(Kind::Ingress, "shop", &number.to_string()));
        (0..count).map(|number| Suspect { id: id(number), left_out: false }).collect()
    }

    /// The culprits that were found, and the number of attempts; `None` when there are none.
    fn run(count: usize, changed: usize, bad: &[usize], stays_always: bool) -> (Option<Vec<usize>>, usize) {
        let complaint =
            Complaint { place: None, words: String::new(), origin: None, ran_before: false, suspects: Vec::new() };
        let mut trial = Trial::new(&complaint, suspects(count), changed);
        let number = |suspect: &Suspect| suspect.id.name.parse::<usize>().unwrap();
        for attempts in 1.. {
            let taken: Vec<_> = trial.excluded().map(number).collect();
            let is_gone = !stays_always && bad.iter().all(|bad| taken.contains(bad));
            assert!(
                taken.iter().all(|taken| *taken < changed) || bad.iter().any(|bad| *bad >= changed) || stays_always
            );
            match if is_gone { trial.complaint_is_gone() } else { trial.complaint_stays() } {
                Verdict::Continue => {}
                Verdict::Nobody => return (None, attempts),
                Verdict::Guilty => {
                    let mut guilty: Vec<_> = trial.excluded().map(number).collect();
                    guilty.sort_unstable();
                    return (Some(guilty), attempts);
                }
            }
        }
        unreachable!("a trial ends")
    }

    #[test]
    fn each_culprit_costs_a_few_attempts_however_many_suspects_there_are() {
        for (bad, most) in [(vec![0], 2), (vec![63], 14), (vec![31, 32], 20), (vec![5, 40, 41, 99], 36)] {
            let (guilty, attempts) = run(100, 3, &bad, false);
            assert_eq!(guilty, Some(bad));
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
    fn nobody_is_guilty_of_what_stays_without_all() {
        assert_eq!(run(100, 3, &[], true).0, None);
        assert_eq!(run(1, 0, &[], true), (None, 1));
    }
}
