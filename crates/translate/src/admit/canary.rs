//! Canaries: objects that take a share of the requests for the paths of others.

use std::collections::{BTreeSet, HashMap};

use super::admitted::Admitted;
use crate::position;
use crate::read::path::PathType;
use crate::read::rule::Backend;
use ingressd_model::finding::{Finding, Reason};
use ingressd_model::{Field, ObjectId, Origin, ServerName, UrlPath};

/// A path for which an object is a canary.
#[derive(Debug)]
pub struct Offer<'s, 'a> {
    pub object: &'s Admitted<'a>,
    /// The field of the path.
    pub origin: Origin,
    pub backend: Backend<'a>,
}

/// The canaries of all paths.
#[derive(Debug, Default)]
pub struct Canaries<'s, 'a> {
    offers: Vec<Offer<'s, 'a>>,
    /// The index of the canary for a path, by host.
    places: HashMap<ServerName, Paths<'a>>,
    /// Default backends, which cannot have canaries.
    backends: Vec<Origin>,
}

/// The indices of offers, by namespace and path.
type Paths<'a> = HashMap<(&'a str, UrlPath, PathType), usize>;

impl<'s, 'a> Canaries<'s, 'a> {
    /// The canaries among these objects, the oldest first.
    pub fn of(objects: &'s [Admitted<'a>], findings: &mut Vec<Finding>) -> Self {
        let mut canaries = Canaries::default();
        for object in objects {
            let backend = object.takes_the_rest().then(|| Origin::field(object.id(), Field::DefaultBackend));
            canaries.backends.extend(backend);
            for (number, rule) in object.rules() {
                let name = match &rule.name {
                    Ok(name) => name,
                    Err(refused) => {
                        findings.push(object.invalid_host(number, refused));
                        continue;
                    }
                };
                for (path_number, read, backend) in object.paths(number) {
                    let Some((path, kind)) = read.parts() else { continue };
                    let origin = Origin::field(object.id(), Field::Path(position(number), position(path_number), ""));
                    let of_host = canaries.places.entry(name.clone()).or_default();
                    let place = (&*object.id().namespace, path.clone(), kind);
                    if let Some(known) = of_host.get(&place) {
                        findings.push(second(&canaries.offers[*known].origin, origin));
                        continue;
                    }
                    of_host.insert(place, canaries.offers.len());
                    canaries.offers.push(Offer { object, origin, backend });
                }
            }
        }
        canaries
    }

    /// The canary of a path.
    pub fn of_path(
        &self,
        namespace: &str,
        name: &ServerName,
        path: &UrlPath,
        kind: PathType,
    ) -> Option<&Offer<'s, 'a>> {
        let number = *self.places.get(name)?.get(&(namespace, path.clone(), kind))?;
        self.offers.get(number)
    }

    /// The canaries of all paths of a host, in order.
    pub fn of_host(&self, name: &ServerName) -> Vec<&Offer<'s, 'a>> {
        let mut numbers: Vec<_> = self.places.get(name).into_iter().flatten().map(|(_, number)| *number).collect();
        numbers.sort_unstable();
        numbers.into_iter().filter_map(|number| self.offers.get(number)).collect()
    }

    /// The number of these paths of which each object takes a share.
    pub fn parts(&self, taken: &BTreeSet<Origin>) -> HashMap<&'a ObjectId, u32> {
        let mut parts = HashMap::new();
        for offer in self.offers.iter().filter(|offer| taken.contains(&offer.origin)) {
            *parts.entry(&**offer.object.id()).or_default() += 1;
        }
        parts
    }

    /// Adds findings about canaries without a main object.
    pub fn report(&self, taken: &BTreeSet<Origin>, findings: &mut Vec<Finding>) {
        let alone = self.offers.iter().filter(|offer| !taken.contains(&offer.origin));
        findings.extend(alone.map(|offer| {
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
