//! Caches hosts until something that they depend on changes. It must not know how a host is built.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use rayon::prelude::{IndexedParallelIterator as _, IntoParallelIterator as _, ParallelIterator as _};

use super::materials::Materials;
use crate::admit::admitted::Admitted;
use crate::admit::canary::Offer;
use crate::claim::claimed::{Claim, ClaimedHost, Root};
use crate::read::intent::Intent;
use crate::read::path::{Matching, Text};
use crate::read::rule::Rule;
use crate::resolve::backend::Backends;
use crate::resolve::changes::SnapshotChanges;
use crate::resolve::dependency::Dependency;
use crate::resolve::endpoint::Slices;
use crate::resolve::reached;
use crate::resolve::reached::FoundRows;
use crate::resolve::resolution::{NamedBy, Resolution};
use crate::secret::certificate::{Certificates, Use};
use crate::{NameAnswer, Names, Options, Reading, Translation, World};
use ingressd_model::finding::Finding;
use ingressd_model::{
    Behaviour, Certificate, CertificateId, HostName, Origin, Passthrough, Presented, RefusedVersion, Server,
    ServerName, Upstream, UpstreamId,
};
use ingressd_objects::Snapshot;

/// The result of building a host, which stays in memory as long as the host.
#[derive(Debug, Default)]
pub struct Built {
    pub server: Option<Arc<Server>>,
    /// Its upstreams, in any order, perhaps repeated.
    pub upstreams: Box<[Arc<Upstream>]>,
    /// What is wrong, whatever endpoints there are.
    pub findings: Box<[Finding]>,
    /// Which fields lead to upstreams.
    pub uses: Arc<[reached::UpstreamUse]>,
    /// The objects that were looked up in the snapshot.
    pub dependencies: Box<[Dependency]>,
    /// What its references to Services were resolved to.
    pub resolutions: Box<[Arc<Resolution>]>,
    /// What few hosts have.
    pub more: Option<Box<More>>,
}

/// What few hosts have.
#[derive(Debug, Default, PartialEq)]
pub struct More {
    /// The certificates that it presents.
    pub certificates: Vec<Arc<Presented>>,
    /// Where fields name certificates.
    pub uses: Vec<Use>,
    /// Hosts with TLS passthrough.
    pub passed: Vec<Passthrough>,
    /// The fields of the canaries that take a share of its paths.
    pub taken: BTreeSet<Origin>,
    /// Those of them to which nginx passes no request, because their backend is not there.
    pub idle: BTreeSet<Origin>,
    /// The upstreams whose lack of endpoints is in the server, and whether they lacked some.
    pub asked: Vec<(UpstreamId, bool)>,
    /// The DNS names of the Services that it refers to.
    pub names: Vec<NamedBy>,
    /// Versions that cannot be served as written.
    pub refused: Vec<RefusedVersion>,
}

impl Built {
    /// The upstreams whose lack of endpoints is in the server, and whether they lacked some.
    fn asked(&self) -> &[(UpstreamId, bool)] {
        self.more.as_ref().map_or(&[], |more| &more.asked)
    }
}

impl More {
    /// The same, where there is anything.
    pub fn boxed(self) -> Option<Box<Self>> {
        (self != More::default()).then(|| Box::new(self))
    }
}

/// The results of all hosts together.
#[derive(Debug, Default)]
pub struct Gathered {
    pub built: Vec<Arc<Server>>,
    /// In any order, perhaps repeated.
    pub upstreams: Vec<Arc<Upstream>>,
    pub certificates: BTreeMap<CertificateId, Arc<Presented>>,
    /// Where fields name certificates.
    pub uses: Vec<Use>,
    pub passed: Vec<Passthrough>,
    /// The fields of the canaries that take a share.
    pub taken: BTreeSet<Origin>,
    /// Those of them to which nginx passes no request.
    pub idle: BTreeSet<Origin>,
}

impl Gathered {
    /// Gathers them.
    pub fn of(hosts: &[Arc<Built>], translation: &mut Translation, findings: &mut Vec<Finding>) -> Self {
        let mut all = Gathered { built: Vec::with_capacity(hosts.len()), ..Gathered::default() };
        for host in hosts {
            all.built.extend(host.server.clone());
            all.upstreams.extend_from_slice(&host.upstreams);
            findings.extend_from_slice(&host.findings);
            let Some(host) = &host.more else { continue };
            let certificates = host.certificates.iter().map(|one| (one.id.clone(), Arc::clone(one)));
            all.certificates.extend(certificates);
            all.uses.extend_from_slice(&host.uses);
            all.passed.extend_from_slice(&host.passed);
            all.taken.extend(host.taken.iter().cloned());
            all.idle.extend(host.idle.iter().cloned());
            translation.note_names(&host.names);
            translation.refused.extend_from_slice(&host.refused);
        }
        all
    }
}

/// The hosts that were built last.
#[derive(Debug, Default)]
pub struct BuiltHosts {
    /// The hosts, in order.
    hosts: Vec<(ServerName, CachedHost)>,
    /// What has changed since.
    changes: SnapshotChanges,
    /// Whether something has to be made again because of endpoints.
    pub is_stale: bool,
    /// How many hosts were built in this translation.
    pub anew: usize,
}

/// What endpoints matter for outside of hosts.
#[derive(Debug, Default)]
pub struct Outside {
    pub dependencies: Vec<Dependency>,
    pub resolutions: Vec<Arc<Resolution>>,
}

impl Outside {
    /// What these backends were asked for.
    pub fn of(mut backends: Backends<'_>) -> Self {
        Outside { resolutions: backends.take_resolutions().into(), dependencies: backends.dependencies }
    }

    /// Adds more.
    pub fn extend(&mut self, other: Outside) {
        self.dependencies.extend(other.dependencies);
        self.resolutions.extend(other.resolutions);
    }
}

#[derive(Debug)]
struct CachedHost {
    /// Whether the endpoints of a Service change more than its upstream.
    is_stale: bool,
    /// The marks of what it depends on.
    marks: u64,
    objects: Box<[KeptObject]>,
    claims: Box<[KeptClaim]>,
    redirect: Option<Box<(HostName, Origin)>>,
    is_without_owner: bool,
    root: Root,
    order: u64,
    unserved: Option<BTreeSet<Arc<str>>>,
    canaries: Box<[KeptCanary]>,
    /// What DNS said about the names of its Services.
    answers: Box<[Option<NameAnswer>]>,
    built: Arc<Built>,
}

/// An object of the host. While it is kept here, no other object gets its address in memory.
#[derive(Debug)]
struct KeptObject {
    intent: Arc<Intent>,
    rules: Arc<[Rule]>,
    reading: Arc<Reading>,
    behaviour: Arc<Behaviour>,
    is_protected: bool,
    closed_rules: Option<Arc<[usize]>>,
}

/// A path of a canary.
#[derive(Debug)]
struct KeptCanary {
    object: KeptObject,
    origin: Origin,
}

/// A claim. The path at a place of an object is the same as long as its rules are, which the host
/// keeps with the object.
#[derive(Debug)]
struct KeptClaim {
    intent: Arc<Intent>,
    /// The indices of rule and path.
    place: (u16, u16),
    matching: Matching,
    closed: bool,
    stays_text: Option<Box<Text>>,
}

impl BuiltHosts {
    /// Drops everything, because settings have changed.
    pub fn forget(&mut self) {
        self.hosts.clear();
    }

    /// Records which Secrets have changed. Certificates that were renewed concern no host, and are
    /// returned.
    pub fn begin(&mut self, snapshot: &Snapshot, certificates: &mut Certificates) -> Vec<Arc<Certificate>> {
        self.changes.follow_secrets(snapshot, certificates)
    }

    /// Records what else has changed in this snapshot.
    pub fn follow(&mut self, snapshot: &Snapshot, options: &Options) {
        self.is_stale = false;
        if !self.changes.follow(snapshot, options) {
            self.forget();
        }
    }

    /// Whether nothing that a host was built from has changed but endpoints.
    pub fn is_unchanged(&self) -> bool {
        self.changes.changed.is_empty()
    }

    /// Resolves references to Services whose endpoints have changed again. A host stays as it is
    /// where only endpoints differ, which are returned.
    pub fn refresh(&mut self, snapshot: &Snapshot, world: &World, options: &Options, outside: &Outside) -> FoundRows {
        let BuiltHosts { hosts, changes: SnapshotChanges { moved, .. }, is_stale, .. } = self;
        if moved.is_empty() {
            return FoundRows::default();
        }
        let touched = |dependencies: &[Dependency]| dependencies.iter().any(|one| moved.contains(one));
        let marks = Dependency::marks(&*moved);
        let marked = hosts.iter().enumerate().filter(|(_, (_, host))| host.marks & marks != 0);
        let built = marked.map(|(number, (_, host))| (number, Arc::clone(&host.built)));
        let concerned: Vec<_> = built.filter(|(_, built)| touched(&built.dependencies)).collect();
        let slices = Slices::new(snapshot);
        let mut backends = Backends::new(snapshot, world, options, &slices);
        let mut judged = HashMap::new();
        let of_hosts = concerned
            .iter()
            .map(|(number, built)| (Some((number, built.asked())), &*built.resolutions, &*built.dependencies));
        let of_none = (None, &*outside.resolutions, &*outside.dependencies);
        for (host, resolutions, dependencies) in of_hosts.chain([of_none]) {
            let mut again = resolutions.iter().filter(|resolution| touched(&resolution.dependencies));
            let stays = again.all(|resolution| {
                *judged.entry(Arc::as_ptr(resolution)).or_insert_with(|| {
                    let Some(reference) = &resolution.reference else { return false };
                    backends.resolve(&reference.borrowed()).has_other_endpoints_only(resolution)
                })
            });
            // What else looks at endpoints is not resolved alone.
            let is_resolved = |one: &Dependency| resolutions.iter().any(|all| all.dependencies.contains(one));
            let stays = stays && dependencies.iter().filter(|one| moved.contains(one)).all(is_resolved);
            let has = |(id, lacks): &(UpstreamId, bool)| {
                let is_same = !backends.found.tables.endpoints.contains_key(id);
                is_same || backends.is_without_endpoints(id) == *lacks
            };
            let asked = host.map(|(_, asked)| asked).unwrap_or_default();
            let stays = stays && asked.iter().all(has);
            *is_stale |= !stays;
            if let Some((number, _)) = host {
                hosts[*number].1.is_stale = !stays;
            }
        }
        backends.found
    }

    /// Returns all hosts in order: unchanged ones from the cache, and all others from `build`,
    /// which gets several at once.
    pub fn build<'s, 'a>(
        &mut self,
        claimed_hosts: &[(ServerName, ClaimedHost<'s, 'a>)],
        materials: Materials<'_>,
        build: impl FnOnce(&[&(ServerName, ClaimedHost<'s, 'a>)]) -> Vec<Built>,
    ) -> Vec<Arc<Built>> {
        let mut before = std::mem::take(&mut self.hosts).into_iter().peekable();
        let kept = claimed_hosts.iter().map(|(name, claimed)| {
            let kept: CachedHost = loop {
                match before.peek()?.0.cmp(name) {
                    Ordering::Less => drop(before.next()),
                    Ordering::Equal => break before.next()?.1,
                    Ordering::Greater => return None,
                }
            };
            kept.is_current(name, claimed, materials, &self.changes.changed).then_some(kept)
        });
        let kept: Vec<_> = kept.collect();
        drop(before);
        let missing: Vec<_> =
            claimed_hosts.iter().zip(&kept).filter(|(_, kept)| kept.is_none()).map(|(claimed, _)| claimed).collect();
        self.anew = missing.len();
        let anew = build(&missing).into_par_iter().map(Arc::new).zip(missing);
        let anew = anew.map(|(built, (name, claimed))| CachedHost::new(name, claimed, materials, built));
        let mut anew = anew.collect::<Vec<_>>().into_iter();
        let mut all = Vec::with_capacity(claimed_hosts.len());
        self.hosts.reserve_exact(claimed_hosts.len());
        for ((name, _), kept) in claimed_hosts.iter().zip(kept) {
            let Some(kept) = kept.or_else(|| anew.next()) else { continue };
            all.push(Arc::clone(&kept.built));
            self.hosts.push((name.clone(), kept));
        }
        all
    }
}

impl CachedHost {
    fn new(name: &ServerName, claimed: &ClaimedHost<'_, '_>, materials: Materials<'_>, built: Arc<Built>) -> Self {
        CachedHost {
            is_stale: false,
            marks: Dependency::marks(&built.dependencies),
            objects: claimed.objects.iter().map(|object| KeptObject::of(object)).collect(),
            claims: claimed.claims.iter().map(KeptClaim::of).collect(),
            redirect: claimed.redirect.clone().map(Box::new),
            is_without_owner: claimed.is_without_owner,
            root: claimed.root,
            order: claimed.order,
            unserved: materials.unserved_rules.get(name).cloned(),
            canaries: materials.canaries.of_host(name).into_iter().map(KeptCanary::of).collect(),
            answers: answers(&built, &materials.given.world.names).map(Option::<&NameAnswer>::cloned).collect(),
            built,
        }
    }

    /// Whether building the host would give the same result.
    fn is_current(
        &self,
        name: &ServerName,
        claimed: &ClaimedHost<'_, '_>,
        materials: Materials<'_>,
        changed: &HashSet<Dependency>,
    ) -> bool {
        !self.is_stale
            && (changed.is_empty() || !self.built.dependencies.iter().any(|one| changed.contains(one)))
            && (self.is_without_owner, self.root) == (claimed.is_without_owner, claimed.root)
            && self.order == claimed.order
            && self.redirect.as_deref() == claimed.redirect.as_ref()
            && self.objects.len() == claimed.objects.len()
            && self.objects.iter().zip(&claimed.objects).all(|(kept, object)| kept.is(object))
            && self.claims.len() == claimed.claims.len()
            && self.claims.iter().zip(&claimed.claims).all(|(kept, claim)| kept.is(claim))
            && self.unserved.as_ref() == materials.unserved_rules.get(name)
            && self.has_canaries(&materials.canaries.of_host(name))
            && self.answers.iter().map(Option::as_ref).eq(answers(&self.built, &materials.given.world.names))
    }

    fn has_canaries(&self, offers: &[&Offer<'_, '_>]) -> bool {
        self.canaries.len() == offers.len() && self.canaries.iter().zip(offers).all(|(kept, offer)| kept.is(offer))
    }
}

/// What DNS says about the names of a host's Services.
fn answers<'n>(built: &Built, names: &'n Names) -> impl Iterator<Item = Option<&'n NameAnswer>> {
    built.more.iter().flat_map(|more| &more.names).map(|(name, _)| names.0.get(name))
}

impl KeptCanary {
    fn of(offer: &Offer<'_, '_>) -> Self {
        KeptCanary { object: KeptObject::of(offer.object), origin: offer.origin.clone() }
    }

    fn is(&self, offer: &Offer<'_, '_>) -> bool {
        self.object.is(offer.object) && self.origin == offer.origin
    }
}

impl KeptObject {
    fn of(object: &Admitted<'_>) -> Self {
        KeptObject {
            intent: Arc::clone(&object.attached.intent),
            rules: Arc::clone(&object.attached.rules),
            reading: Arc::clone(&object.policy.reading),
            behaviour: Arc::clone(&object.policy.behaviour),
            is_protected: object.is_protected,
            closed_rules: object.closed_rules.clone(),
        }
    }

    fn is(&self, object: &Admitted<'_>) -> bool {
        Arc::ptr_eq(&self.intent, &object.attached.intent)
            && Arc::ptr_eq(&self.rules, &object.attached.rules)
            && Arc::ptr_eq(&self.reading, &object.policy.reading)
            && Arc::ptr_eq(&self.behaviour, &object.policy.behaviour)
            && self.is_protected == object.is_protected
            && self.closed_rules == object.closed_rules
    }
}

impl KeptClaim {
    fn of(claim: &Claim<'_, '_>) -> Self {
        let Claim { object, place, matching, closed, ref stays_text, .. } = *claim;
        let (intent, stays_text) = (Arc::clone(&object.attached.intent), stays_text.clone());
        KeptClaim { intent, place, matching, closed, stays_text }
    }

    fn is(&self, claim: &Claim<'_, '_>) -> bool {
        Arc::ptr_eq(&self.intent, &claim.object.attached.intent)
            && self.place == claim.place
            && self.matching == claim.matching
            && self.closed == claim.closed
            && self.stays_text == claim.stays_text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{ingress, manifests, options, path, world};
    use crate::value::host;
    use crate::{Claims, Names, Options, Translator, World};
    use ingressd_objects::{List, Version};

    /// Replaces each object with this name by a copy.
    fn touch<K: Clone>(list: &mut List<K>, name: &str) {
        let named = list.edit().iter_mut().filter(|stored| *stored.id.name == *name);
        named.for_each(|stored| {
            stored.object = Arc::new((*stored.object).clone());
            stored.version = Version("touched".into());
        });
    }

    #[test]
    fn what_nothing_has_changed_of_is_not_built_again() {
        let of = |name: &str, annotations: &str, service: &str| {
            ingress(name, "nginx", &format!("{name}.example"), annotations, &[path("/", "Prefix", service)])
        };
        let secure = of("secure", "", "api")
            .replace("spec: {", "spec: {tls: [{hosts: [secure.example], secretName: shop-tls}], ");
        let canary =
            of("canary", "canary: 'true', canary-weight: '5'", "api").replace("canary.example", "split.example");
        let external = "auth-url: 'http://auth.example.net/'";
        let objects = [
            of("one", "", "web"),
            of("two", "", "web"),
            secure,
            of("split", "", "web"),
            canary,
            of("asking", external, "web"),
            of("passed", "ssl-passthrough: 'true'", "web"),
            of("aliased", "server-alias: other.example", "web"),
        ];
        let before = manifests::snapshot(&objects.join("\n---\n"));
        let slice = |service: &str| {
            let slices = before.endpoint_slices.iter();
            let mut of_service = slices.filter(|slice| slice.object.service.as_deref() == Some(service));
            of_service.next().unwrap().id.name.to_string()
        };
        type Change<'c> = &'c dyn Fn(&mut Snapshot, &mut Options, &mut World);
        let of_web = [
            "aliased.example",
            "asking.example",
            "one.example",
            "other.example",
            "passed.example",
            "split.example",
            "two.example",
        ];
        let mut all = of_web.to_vec();
        all.insert(5, "secure.example");
        let asked = |world: &mut World, number| {
            let addresses = vec![[192, 0, 2, number].into()];
            let answer = NameAnswer { addresses, ..NameAnswer::default() };
            world.names = Arc::new(Names([(HostName::new("auth.example.net").unwrap(), answer)].into()));
        };
        let rows: [(&str, Change<'_>, &[&str]); 15] = [
            ("nothing", &|_, _, _| {}, &[]),
            ("time", &|_, _, world| world.now += 1, &[]),
            ("an object", &|snapshot, _, _| touch(&mut snapshot.ingresses, "one"), &["one.example"]),
            ("a canary", &|snapshot, _, _| touch(&mut snapshot.ingresses, "canary"), &["split.example"]),
            (
                "an alias",
                &|snapshot, _, _| touch(&mut snapshot.ingresses, "aliased"),
                &["aliased.example", "other.example"],
            ),
            ("DNS", &|_, _, world| asked(world, 2), &["asking.example"]),
            ("a Service", &|snapshot, _, _| touch(&mut snapshot.services, "web"), &of_web),
            ("a slice", &|snapshot, _, _| touch(&mut snapshot.endpoint_slices, &slice("web")), &[]),
            (
                "the last endpoint",
                &|snapshot, _, _| {
                    let gone = slice("web");
                    snapshot.endpoint_slices.edit().retain(|stored| *stored.id.name != *gone);
                },
                &[],
            ),
            (
                "a Service that went",
                &|snapshot, _, _| snapshot.services.edit().retain(|stored| *stored.id.name != *"web"),
                &of_web,
            ),
            ("a Secret", &|snapshot, _, _| touch(&mut snapshot.secrets, "shop-tls"), &[]),
            (
                "a Secret that went",
                &|snapshot, _, _| snapshot.secrets.edit().retain(|stored| *stored.id.name != *"shop-tls"),
                &["secure.example"],
            ),
            ("a class", &|snapshot, _, _| touch(&mut snapshot.ingress_classes, "nginx"), &all),
            ("an own address", &|_, _, world| world.own_addresses.push("192.0.2.1:80".parse().unwrap()), &all),
            ("settings", &|_, options, _| options.external_names = !options.external_names, &all),
        ];
        for (what, change, expected) in rows {
            let (mut snapshot, mut options, mut world) = (before.clone(), options(), world());
            options.passthrough = true;
            asked(&mut world, 1);
            let mut translator = Translator::new(options.clone());
            let claims: Arc<Claims> = translator.translate(&snapshot, &world, &Arc::default()).claims;
            let kept = |translator: &Translator| {
                let hosts = translator.memory.built.hosts.iter();
                hosts.map(|(name, kept)| (host::written(name), Arc::clone(&kept.built))).collect::<Vec<_>>()
            };
            let first = kept(&translator);
            change(&mut snapshot, &mut options, &mut world);
            translator.set_options(options);
            translator.translate(&snapshot, &world, &claims);
            let then = kept(&translator);
            let anew = first.iter().zip(&then).filter(|((_, one), (_, other))| !Arc::ptr_eq(one, other));
            let anew: Vec<_> = anew.map(|((name, _), _)| &**name).collect();
            assert_eq!(anew, expected, "{what}");
        }
    }
}
