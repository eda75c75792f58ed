//! The stages of a translation, in their order, each a function from values to values.

use std::sync::Arc;

use rayon::prelude::{ParallelIterator as _, ParallelSlice as _, ParallelSliceMut as _};

use crate::admit::admission::Admission;
use crate::admit::admitted::Admitted;
use crate::admit::canary::Canaries;
use crate::admit::servable::{self, Servable};
use crate::assemble::{self, left_out};
use crate::attach::{self, Aliased, Attached, aliases};
use crate::build::built::{Built, BuiltHosts, Gathered, Outside};
use crate::build::client_certificates::{self, Unserved};
use crate::build::materials::Materials;
use crate::build::server::Servers;
use crate::build::streams;
use crate::claim::arbiter::{Arbiter, Settled};
use crate::claim::claimed;
use crate::claim::tls_entries::Entries;
use crate::claim::{challenges, ports, tls_idle};
use crate::given::Given;
use crate::memory::Memory;
use crate::read::stream::StreamClaim;
use crate::resolve::reached::FoundRows;
use crate::resolve::reached::UpstreamUse;
use crate::secret::certificate::Certificates;
use crate::tables::rows::TableUses;
use crate::{Allowances, CommonPolicy, Options, Translation, admit, select};
use ingressd_model::finding::Finding;
use ingressd_model::{Forwarded, Model, ObjectState, Passthroughs, ServerName, Upstream};

/// The objects of our classes, with what counts for them.
pub struct Objects<'a> {
    pub attached: Vec<Attached<'a>>,
    /// Versions that are not to be served, and keep their claims.
    unserved: Vec<Attached<'a>>,
    /// What counts where no object has a say.
    pub common: CommonPolicy,
}

/// Selects, reads and attaches them. The others come as states.
pub fn attach<'a>(
    given: Given<'a>,
    memory: &mut Memory,
    findings: &mut Vec<Finding>,
) -> (Objects<'a>, Vec<ObjectState>) {
    let Given { snapshot, options, readers, .. } = given;
    let common = memory.policies.common(snapshot, options);
    let by_kind = |kind| readers.of(kind).map(|reader| reader.select);
    let (selected, others) = select::select(snapshot, by_kind, options, findings);
    let intents = memory.read_all(&selected, readers, snapshot, options);
    let mut attached = memory.policies.attach(intents, &selected, snapshot, options);
    aliases::expand(&mut attached, &options.limits, findings);
    memory.keep_rules(&mut attached);
    let unserved = select::withheld(snapshot, by_kind, options);
    let intents = memory.read_all(&unserved, readers, snapshot, options);
    let unserved = memory.policies.attach(intents, &unserved, snapshot, options);
    (Objects { attached, unserved, common }, others)
}

/// The objects by what becomes of them.
pub struct AdmittedObjects<'a> {
    /// Those that are served, the oldest first, without canaries.
    pub objects: Vec<Admitted<'a>>,
    pub canaries: Vec<Admitted<'a>>,
    /// Those that are not served, and keep their claims.
    withheld: Vec<&'a Attached<'a>>,
    /// Those that are not served, as they would be.
    left_out: Vec<Admitted<'a>>,
    /// Client certificate rules of objects that are not served.
    pub unserved_rules: Unserved,
    /// What the budgets left.
    admission: Admission<'a>,
}

/// Leaves out what cannot be served, or is beyond a limit.
pub fn admit<'a>(asking: &'a Objects<'a>, given: Given<'_>, translation: &mut Translation) -> AdmittedObjects<'a> {
    let Servable { objects, withheld: refused, left_out, refused: versions, findings } =
        servable::judge(&asking.attached, &asking.common.policy.behaviour);
    translation.findings.extend(findings);
    translation.refused.extend(versions);
    // A canary has no claim that could be reserved for it.
    let withheld = asking.unserved.iter().filter(|object| object.policy.reading.canary.is_none());
    let mut withheld: Vec<_> = withheld.chain(refused).collect();
    let mut admission = admit::admit(objects, &given.options.limits, given.snapshot);
    withheld.append(&mut admission.withheld);
    translation.refused.append(&mut admission.refused);
    translation.findings.append(&mut admission.findings);
    let objects = std::mem::take(&mut admission.objects).into_iter();
    let (canaries, objects) = objects.partition(|object| object.policy.reading.canary.is_some());
    let unserved_rules = client_certificates::unserved(&withheld);
    AdmittedObjects { objects, canaries, withheld, left_out, unserved_rules, admission }
}

/// Decides who gets ports, hosts and paths. `ports` are the claims of the administrator.
pub fn claim<'s, 'a: 's>(
    mut ports: Vec<StreamClaim<'s>>,
    admitted: &'s AdmittedObjects<'a>,
    given: Given<'a>,
    certificates: &mut Certificates,
) -> Settled<'s, 'a> {
    let (Given { snapshot, world, options, claims, .. }, objects) = (given, &admitted.objects);
    ports.extend(ports::of_objects(objects.iter().chain(&admitted.canaries)));
    let arbiter = Arbiter::new(options, world, claims, Allowances::new(options, snapshot));
    let default = options.default_certificate.as_ref();
    let default = default.and_then(|(namespace, name)| snapshot.secret(namespace, name));
    let named = objects.iter().flat_map(|object| {
        let secrets = object.attached.tls.iter().filter_map(|entry| entry.secret.as_deref());
        secrets.filter_map(|secret| snapshot.secret(&object.id().namespace, secret))
    });
    // Claims are decided on one processor, so certificates are checked on the others.
    let (mut settled, ()) = rayon::join(
        || arbiter.settle(ports, objects, &admitted.withheld),
        || certificates.prepare(named.chain(default)),
    );
    let Settled { claimed_hosts, claims, outsiders, findings, .. } = &mut settled;
    let mut entries = Entries::new(snapshot, certificates);
    tls_idle::report(objects, claimed_hosts, outsiders, (snapshot, &mut entries), findings);
    challenges::report(objects, claimed_hosts, (snapshot, claims, options), findings);
    settled
}

/// The hosts that were built or kept.
pub struct Hosts<'a> {
    hosts: Vec<Arc<Built>>,
    /// What the rest may be built with.
    servers: Servers<'a>,
    /// What endpoints matter for outside of hosts.
    pub outside: Outside,
    /// What was found out for hosts that were built, and for objects that are left out.
    found: FoundRows,
    /// Which fields of objects that are left out would lead to upstreams.
    uses: Vec<UpstreamUse>,
}

/// Follows references and builds the servers of hosts, of which it keeps those that stay.
pub fn build<'a>(
    admitted: &AdmittedObjects<'a>,
    claimed_hosts: &[(ServerName, claimed::ClaimedHost<'_, 'a>)],
    materials: Materials<'a>,
    kept: &mut BuiltHosts,
    findings: &mut Vec<Finding>,
) -> Hosts<'a> {
    let (mut outside, mut found, mut uses) = (Outside::default(), FoundRows::default(), Vec::new());
    if !admitted.left_out.is_empty() {
        let mut servers = Servers::new(materials);
        left_out::look(&mut servers, &admitted.left_out);
        findings.append(&mut servers.findings);
        (uses, found) = (servers.uses, std::mem::take(&mut servers.backends.found));
        outside = Outside::of(servers.backends);
    }
    let mut servers = Servers::new(materials);
    let mut hosts = Vec::with_capacity(claimed_hosts.len() + 1);
    if claimed::find(claimed_hosts, &ServerName::CatchAll).is_none() {
        let built = servers.build_catch_all();
        outside.dependencies.extend_from_slice(&built.dependencies);
        outside.resolutions.extend_from_slice(&built.resolutions);
        hosts.push(Arc::new(built));
    }
    hosts.extend(kept.build(claimed_hosts, materials, |claimed_hosts| {
        // References that several parts resolve have the same result in each.
        let parts = claimed_hosts
            .par_chunks(claimed_hosts.len().div_ceil(rayon::current_num_threads()).max(claimed::SMALLEST_PART));
        let parts = parts.map(|part| {
            let mut servers = Servers::new(materials);
            let built: Vec<_> = part.iter().map(|(name, claimed)| servers.build(name, claimed)).collect();
            servers.backends.found.tables.certificates = servers.tls.found;
            (built, servers.backends.found)
        });
        let (built, of_parts): (Vec<_>, Vec<_>) = parts.unzip();
        of_parts.into_iter().for_each(|part| found.extend(part));
        built.into_iter().flatten().collect()
    }));
    Hosts { hosts, servers, outside, found, uses }
}

/// The model, and what is remembered beside it.
pub struct Assembled {
    pub model: Model,
    /// What endpoints matter for outside of hosts.
    pub outside: Outside,
    /// What was found out about endpoints and certificates.
    pub found: FoundRows,
    pub uses: TableUses,
}

/// Puts together what was built, with what belongs to no host. States, findings and what else is
/// told of objects go into the translation.
pub fn assemble<'a>(
    built: Hosts<'a>,
    (asking, others, aliased): (&Objects<'_>, Vec<ObjectState>, &Aliased),
    admitted: &AdmittedObjects<'a>,
    (settled, offers): (&Settled<'a, 'a>, &Canaries<'_, 'a>),
    options: &Options,
    translation: &mut Translation,
) -> Assembled {
    let Settled { ports, refusals, ends, .. } = settled;
    let AdmittedObjects { objects, canaries, admission, .. } = admitted;
    let Hosts { hosts: of_hosts, servers, mut outside, mut found, uses: mut of_others } = built;
    let Servers { mut backends, mut tls, .. } = servers;
    let mut findings = Vec::new();
    let Gathered { built: mut servers, mut upstreams, mut certificates, mut uses, passed, taken, idle } =
        Gathered::of(&of_hosts, translation, &mut findings);
    findings.extend(admission.close(&mut servers));
    claimed::reserve(&mut servers, &translation.claims);
    offers.report(&taken, &mut findings);
    let streams = streams::build(ports, &mut backends, options, &mut findings, &mut of_others);
    let mut of_upstreams: Vec<_> = of_hosts.iter().map(|host| Arc::clone(&host.uses)).collect();
    of_upstreams.push(of_others.into());
    translation.note_names(&backends.names);
    upstreams.append(&mut backends.used);
    found.extend(std::mem::take(&mut backends.found));
    outside.extend(Outside::of(backends));
    findings.extend(admit::near_names(&translation.names, &options.limits));
    // Several objects may have asked for the same; which of them was resolved first does not
    // matter.
    upstreams.par_sort_by(|one, other| one.id.cmp(&other.id).then_with(|| one.origin.cmp(&other.origin)));
    upstreams.dedup_by(|one, other| Arc::ptr_eq(one, other) || one.id == other.id);
    let is_of_stream = |upstream: &Arc<Upstream>| upstream.id.protocol.is_of_stream();
    let (mut stream_upstreams, upstreams): (Vec<_>, Vec<_>) = upstreams.into_iter().partition(is_of_stream);
    streams::share_connections(ports, &streams, &mut stream_upstreams);
    let of_backends =
        objects.iter().filter_map(|object| object.policy.reading.backend_tls.as_ref()?.certificate.as_ref());
    of_backends.for_each(|certificate| tls.use_as_well(certificate));
    let default_certificate = tls.default_certificate();
    certificates.extend(tls.used().into_iter().map(|certificate| (certificate.id.clone(), certificate)));
    found.tables.certificates.append(&mut tls.found);
    uses.append(&mut tls.uses);
    findings.append(&mut tls.findings);

    translation.due = *ends;
    let parts = [&taken, &idle].map(|of| offers.parts(of));
    let all = objects.iter().chain(canaries);
    let (ours, refused) = ([&asking.attached[..], &asking.unserved[..]], &translation.refused);
    translation.states = assemble::states::states(others, ours, refused, all, &servers, &parts, refusals);
    translation.findings.extend(findings);
    attach::relate(aliased, &mut translation.findings);
    translation.findings.sort();
    translation.findings.dedup();
    translation.refused.append(&mut tls.refused);
    translation.refused.sort();
    translation.refused.dedup_by(|later, first| (&later.id, &later.version) == (&first.id, &first.version));
    let model = Model {
        listeners: assemble::listeners(options, &passed),
        servers,
        upstreams,
        certificates: certificates.into_values().collect(),
        authorities: assemble::authorities(objects),
        password_files: assemble::password_files(objects),
        default_certificate,
        forwarded: Forwarded {
            trusted: options.trusted_proxies.clone(),
            only_addresses: options.only_addresses,
            append: options.append_forwarded_for,
        },
        server_directives: options.server_directives.clone(),
        lookup_tables: Arc::clone(&options.lookup_tables),
        zones: admission.zones.clone(),
        streams: streams.into_iter().map(Arc::new).collect(),
        passthroughs: Passthroughs { hosts: passed, policy: options.streams.policy.clone() },
        stream_upstreams,
    };
    let uses = TableUses { certificates: uses, upstreams: of_upstreams };
    Assembled { model, outside, found, uses }
}
