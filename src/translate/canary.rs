//! Canaries: objects that take a share of the requests for the paths of others.

use std::collections::{BTreeSet, HashMap};

use super::path::PathType;
use super::rule::Backend;
use super::subject::Subject;
use super::{position, site};
use ingressd_model::finding::{Finding, Reason};
use ingressd_model::{Field, ObjectId, Origin, ServerName, Share, Test, UrlPath};

/// The requests that go to the backends of a canary; all others go to those of the main object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Canary {
    /// The field that asks for it.
    pub origin: Origin,
    /// The tests in order, and whether requests that pass go to the canary.
    pub tests: Vec<(Test, bool)>,
    /// Its share of the requests that pass no test.
    pub share: Share,
}

/// A path for which an object is a canary.
#[derive(Debug)]
pub struct Offer<'s, 'a> {
    /// The object.
    pub subject: &'s Subject<'a>,
    /// The field of the path.
    pub origin: Origin,
    pub backend: Backend<'a>,
}

/// The canaries of all paths.
#[derive(Debug, Default)]
pub struct Canaries<'s, 'a> {
    offers: Vec<Offer<'s, 'a>>,
    /// The index of the canary for a path, by namespace and host.
    places: HashMap<&'a str, HashMap<ServerName, Paths>>,
    /// Default backends, which cannot have canaries.
    backends: Vec<Origin>,
}

/// The indices of offers, by path.
type Paths = HashMap<(UrlPath, PathType), usize>;

impl<'s, 'a> Canaries<'s, 'a> {
    /// The canaries among these objects, the oldest first.
    pub fn of(subjects: &'s [Subject<'a>], findings: &mut Vec<Finding>) -> Self {
        let mut canaries = Canaries::default();
        for subject in subjects {
            let backend = subject.takes_the_rest().then(|| Origin::field(subject.id(), Field::DefaultBackend));
            canaries.backends.extend(backend);
            for (number, rule) in subject.read() {
                let name = match &rule.name {
                    Ok(name) => name,
                    Err(refused) => {
                        findings.push(site::invalid_host(subject, number, refused));
                        continue;
                    }
                };
                for (path_number, read, backend) in subject.paths(number) {
                    let Some((path, kind)) = read.parts() else { continue };
                    let origin = Origin::field(subject.id(), Field::Path(position(number), position(path_number), ""));
                    let hosts = canaries.places.entry(&*subject.id().namespace).or_default();
                    let site = hosts.entry(name.clone()).or_default();
                    let place = (path.clone(), kind);
                    if let Some(known) = site.get(&place) {
                        findings.push(second(&canaries.offers[*known].origin, origin));
                        continue;
                    }
                    site.insert(place, canaries.offers.len());
                    canaries.offers.push(Offer { subject, origin, backend });
                }
            }
        }
        canaries
    }

    /// The canary of a path, with its index.
    pub fn of_path(
        &self,
        namespace: &str,
        name: &ServerName,
        path: &UrlPath,
        kind: PathType,
    ) -> Option<(usize, &Offer<'s, 'a>)> {
        let number = *self.places.get(namespace)?.get(name)?.get(&(path.clone(), kind))?;
        Some((number, &self.offers[number]))
    }

    /// Whether a path of the host has a canary.
    pub fn has_host(&self, name: &ServerName) -> bool {
        self.places.values().any(|hosts| hosts.contains_key(name))
    }

    /// The number of paths of which each object takes a share.
    pub fn parts(&self, taken: &BTreeSet<usize>) -> HashMap<&'a ObjectId, u32> {
        let mut parts = HashMap::new();
        for offer in taken.iter().filter_map(|number| self.offers.get(*number)) {
            *parts.entry(&**offer.subject.id()).or_default() += 1;
        }
        parts
    }

    /// Adds findings about canaries without a main object.
    pub fn tell(&self, taken: &BTreeSet<usize>, findings: &mut Vec<Finding>) {
        let alone = self.offers.iter().enumerate().filter(|(number, _)| !taken.contains(number));
        findings.extend(alone.map(|(_, offer)| {
            let note = "no other object of the namespace has this host and path with this type, so the canary gets no \
                requests; give it the host, path and type of the main object";
            Finding::new(Reason::CanaryWithoutMain, offer.origin.clone(), note)
        }));
        findings.extend(self.backends.iter().map(|origin| {
            let note = "a canary needs a path, and has no effect on a default backend; give it the path / of the \
                host, with the type of the main object";
            Finding::new(Reason::CanaryWithoutMain, origin.clone(), note)
        }));
    }
}

fn second(known: &Origin, origin: Origin) -> Finding {
    let note = match known.object == origin.object {
        true => format!("the object has this host, path and type already at {}", known.field),
        false => format!("{known} is older and is the canary of this path; a path has one canary"),
    };
    Finding::new(Reason::PathConflict, origin, note)
}
