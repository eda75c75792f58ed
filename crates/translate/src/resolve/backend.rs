//! Resolves the Service that a rule names to an upstream.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use super::dependency::Dependency;
use super::endpoint::Slices;
use super::mode::{self, Reach, Unreachable};
use super::resolution::{KeptReference, NamedBy, Note, Noted, Resolution};
use super::service;
use super::target::{self, Chosen};
use crate::read::port::{self, PortReference};
use crate::resolve::reached::FoundRows;
use crate::resolve::reached::{self, EndpointTrouble};
use crate::value::{ClusterName, ExternalName, ServiceAddress, excerpt};
use crate::{Dialect, EndpointMode, INGRESS_NGINX, Options, RequestedService, World, bounds};
use ingressd_model::finding::Reason;
use ingressd_model::{
    BackendTls, Balance, ConnectionReuse, Endpoint, HostName, Kind, ObjectId, Origin, Protocol, Transport, Upstream,
    UpstreamId, UpstreamIdentity, is_label, shared_text,
};
use ingressd_objects::{Service, ServicePort, Snapshot, Stored};

/// The largest weight of an endpoint in a consistent hash.
const MOST_WEIGHT: u32 = 10;

/// A reference to a Service.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct BackendReference<'a> {
    /// The namespace of the Service: that of the referring object, or one that the administrator
    /// names.
    pub namespace: &'a str,
    /// The name of the Service.
    pub service: &'a str,
    pub port: PortReference<'a>,
    /// The dialect of the referring object.
    pub dialect: &'static Dialect,
    /// How endpoints are reached unless the Service sets a mode.
    pub mode: EndpointMode,
    /// Whether the cluster IP of the Service is used instead, where it has one.
    pub by_cluster_address: bool,
    /// The protocol of the endpoints; `None` leaves it to the Service.
    pub protocol: Option<Protocol>,
    /// How an endpoint is selected.
    pub balance: Option<Arc<Balance>>,
    /// The TLS settings, where TLS is used.
    pub tls: Option<Arc<BackendTls>>,
    /// How long idle connections are kept.
    pub reuse: Option<Arc<ConnectionReuse>>,
}

impl BackendReference<'_> {
    /// Which ports of the Service count.
    fn transport(&self) -> Transport {
        if self.protocol == Some(Protocol::Udp) { Transport::Udp } else { Transport::Tcp }
    }
}

/// Resolves references, each once for a translation.
#[derive(Debug)]
pub struct Backends<'a> {
    snapshot: &'a Snapshot,
    world: &'a World,
    options: &'a Options,
    slices: &'a Slices<'a>,
    resolved: HashMap<BackendReference<'a>, Arc<Resolution>>,
    /// The same for hosts that are no Services.
    hosts: HashMap<Host, Arc<Resolution>>,
    /// The upstreams that were resolved since they were last taken, perhaps several times.
    pub used: Vec<Arc<Upstream>>,
    /// The endpoints of all upstreams that were resolved.
    pub found: FoundRows,
    /// The objects that were looked up meanwhile.
    pub dependencies: Vec<Dependency>,
    /// The DNS names that were needed meanwhile.
    pub names: Vec<NamedBy>,
    /// The results meanwhile, perhaps repeated.
    pub resolutions: Vec<Arc<Resolution>>,
}

/// A host that is not a Service: the object that names it, its address, its protocol, and the
/// settings of connections.
type Host = (Arc<ObjectId>, ServiceAddress, Protocol, Option<Arc<ConnectionReuse>>);

/// An upstream, its endpoints, and what is wrong with these.
type WithEndpoints = (Upstream, Vec<Endpoint>, Vec<Note>);

/// A port of a Service that exists.
struct Located<'a> {
    service: &'a Stored<Service>,
    number: i32,
    /// The port in the Service.
    port: Option<&'a ServicePort>,
    way: Way<'a>,
}

/// How the endpoints of a port are reached.
#[derive(Clone, Copy)]
enum Way<'a> {
    Mode(EndpointMode, &'a ServicePort),
    /// By the `externalName` of the Service, on this port.
    Name(&'a str, u16),
}

/// The protocol of a port (`appProtocol`) that WebSockets cannot pass, although they may be meant.
const WITHOUT_WEBSOCKETS: &str = "kubernetes.io/h2c";

impl Located<'_> {
    fn mode_name(&self) -> &'static str {
        match self.way {
            Way::Mode(mode, _) => mode::name(mode),
            Way::Name(..) => "",
        }
    }
}

impl<'a> Backends<'a> {
    /// A resolver that has resolved nothing.
    pub fn new(snapshot: &'a Snapshot, world: &'a World, options: &'a Options, slices: &'a Slices<'a>) -> Self {
        let (resolved, hosts, found) = (HashMap::new(), HashMap::new(), FoundRows::default());
        let (used, dependencies, named) = (Vec::new(), Vec::new(), Vec::new());
        Backends {
            snapshot,
            world,
            options,
            slices,
            resolved,
            hosts,
            used,
            found,
            dependencies,
            names: named,
            resolutions: Vec::new(),
        }
    }

    /// Whether no endpoint was found for an upstream that was resolved.
    pub fn is_without_endpoints(&self, upstream: &UpstreamId) -> bool {
        reached::is_empty(upstream, &self.found.troubles)
    }

    /// Looks up a Service, and records the dependency.
    pub fn service(&mut self, namespace: &str, name: &str) -> Option<&'a Stored<Service>> {
        self.dependencies.push(Dependency::on(Kind::SERVICE, namespace, name));
        self.snapshot.service(namespace, name)
    }

    /// Records that a Service matters, with its endpoints.
    fn depend_on(&mut self, namespace: &str, service: &str) {
        let on = |kind| Dependency::on(kind, namespace, service);
        self.dependencies.extend([Kind::SERVICE, Kind::ENDPOINT_SLICE].map(on));
    }

    /// The upstream of a reference.
    pub fn resolve(&mut self, reference: &BackendReference<'a>) -> Arc<Resolution> {
        if let Some(known) = self.resolved.get(reference) {
            let known = Arc::clone(known);
            self.note(&known);
            return known;
        }
        let (noted, mut notes) = (self.take_noted(), Vec::new());
        self.depend_on(reference.namespace, reference.service);
        let upstream = self.upstream(reference, &mut notes);
        let resolution = self.resolution(Some(KeptReference::of(reference)), upstream, notes, noted);
        self.resolved.insert(reference.clone(), Arc::clone(&resolution));
        resolution
    }

    /// The upstream of a service that is given by a host.
    pub fn resolve_host(&mut self, requested: &RequestedService) -> Arc<Resolution> {
        let host = (
            Arc::clone(&requested.origin.object),
            requested.address.clone(),
            requested.protocol,
            requested.reuse.clone(),
        );
        if let Some(known) = self.hosts.get(&host) {
            let known = Arc::clone(known);
            self.note(&known);
            return known;
        }
        let noted = self.take_noted();
        let mut troubles = Vec::new();
        let upstream = self.endpoints_of_host(requested, &mut troubles).map(|(name, port, endpoints)| {
            let identity = UpstreamIdentity {
                mode: "host",
                protocol: requested.protocol,
                reuse: requested.reuse.clone(),
                ..UpstreamIdentity::usual(&host.0.namespace, &name, &port.to_string())
            };
            let origin = Origin::object(&requested.origin.object);
            let upstream = Upstream { id: identity.into(), origin, uid: None, sharers: 1 };
            (upstream, endpoints, std::mem::take(&mut troubles))
        });
        let resolution = self.resolution(None, upstream, troubles, noted);
        self.hosts.insert(host, Arc::clone(&resolution));
        resolution
    }

    /// The results since they were last taken, each once.
    pub fn take_resolutions(&mut self) -> Box<[Arc<Resolution>]> {
        let mut all = std::mem::take(&mut self.resolutions);
        all.sort_unstable_by_key(Arc::as_ptr);
        all.dedup_by(|one, other| Arc::ptr_eq(one, other));
        all.into()
    }

    fn take_noted(&mut self) -> Noted {
        (std::mem::take(&mut self.names), std::mem::take(&mut self.dependencies))
    }

    /// Makes the result of a resolution.
    fn resolution(
        &mut self,
        reference: Option<KeptReference>,
        upstream: Result<WithEndpoints, (Reason, String)>,
        mut notes: Vec<Note>,
        (names, dependencies): Noted,
    ) -> Arc<Resolution> {
        let target = match upstream {
            Ok((upstream, endpoints, troubles)) => {
                if !troubles.is_empty() {
                    let trouble = EndpointTrouble { notes: troubles, is_empty: endpoints.is_empty() };
                    self.found.troubles.entry(upstream.id.clone()).or_insert_with(|| Arc::new(trouble));
                }
                self.found.tables.endpoints.entry(upstream.id.clone()).or_insert_with(|| endpoints.into());
                // Two references that call the same port differently mostly stand side by side.
                let target = match self.used.last().filter(|last| ***last == upstream) {
                    Some(same) => Arc::clone(same),
                    None => Arc::new(upstream),
                };
                Some(target)
            }
            Err((reason, note)) => {
                notes.push((reason, note.into()));
                None
            }
        };
        let names = std::mem::replace(&mut self.names, names);
        let dependencies = std::mem::replace(&mut self.dependencies, dependencies).into();
        let reference = reference.map(|reference| reference.sharing(target.as_deref()));
        let resolution = Arc::new(Resolution { reference, target, notes, names, dependencies });
        self.note(&resolution);
        resolution
    }

    fn note(&mut self, resolution: &Arc<Resolution>) {
        // The routes of one object mostly use the same upstream.
        let is_last = |target: &&Arc<Upstream>| self.used.last().is_some_and(|last| Arc::ptr_eq(last, target));
        let target = resolution.target.as_ref().filter(|target| !is_last(target));
        self.used.extend(target.cloned());
        self.names.extend_from_slice(&resolution.names);
        self.dependencies.extend_from_slice(&resolution.dependencies);
        self.resolutions.push(Arc::clone(resolution));
    }

    fn endpoints_of_host(
        &mut self,
        requested: &RequestedService,
        notes: &mut Vec<Note>,
    ) -> Result<(String, u16, Vec<Endpoint>), (Reason, String)> {
        let (name, port, addresses) = match &requested.address {
            ServiceAddress::Address(address, port) => (address.to_string(), *port, vec![*address]),
            ServiceAddress::Name(name, port) => {
                self.names.push((name.clone(), Arc::clone(&requested.origin.object.namespace)));
                let subject = format!("host {}: ", excerpt(name.as_str()));
                (name.to_string(), *port, self.resolved(name, &subject, notes)?)
            }
            ServiceAddress::SameHost | ServiceAddress::Service { .. } => {
                return Err((Reason::MissingService, "it is not a host".to_owned()));
            }
        };
        let endpoint = |address: IpAddr| Endpoint { address: SocketAddr::new(address, port), weight: 1 };
        let endpoints = addresses.into_iter().map(endpoint).collect();
        let subject = format!("host {}: ", excerpt(&name));
        Ok((name, port, self.permitted(endpoints, Chosen::ByTenant, &subject, notes)?))
    }

    fn upstream(
        &mut self,
        reference: &BackendReference<'a>,
        notes: &mut Vec<Note>,
    ) -> Result<WithEndpoints, (Reason, String)> {
        let located = self.locate(reference, notes)?;
        let protocol = reference.protocol.or_else(|| self.protocol_of_port(reference, &located, notes));
        let end = self.end(&located, reference, notes);
        let way = end.as_ref().ok().and_then(Option::as_ref).unwrap_or(&located);
        let id = id(reference, &located, way.mode_name(), protocol.unwrap_or(Protocol::Http));
        let mut troubles = Vec::new();
        let found = end.and_then(|end| self.endpoints(end.as_ref().unwrap_or(&located), &mut troubles));
        let mut endpoints = found.unwrap_or_else(|(reason, note)| {
            troubles.push((reason, note.into()));
            Vec::new()
        });
        if reference.balance.is_some() {
            even_out(&mut endpoints);
        }
        let uid = located.service.object.uid.as_deref().filter(|_| id.naming_cookie().is_some()).map(Arc::from);
        Ok((Upstream { id, origin: Origin::object(&located.service.id), uid, sharers: 1 }, endpoints, troubles))
    }

    /// The protocol that the port names, where that counts.
    fn protocol_of_port(
        &self,
        reference: &BackendReference<'_>,
        located: &Located<'_>,
        notes: &mut Vec<Note>,
    ) -> Option<Protocol> {
        let port = located.port.filter(|_| self.options.heeds_app_protocol(reference.dialect))?;
        if port.application.as_deref() == Some(WITHOUT_WEBSOCKETS) {
            let note = format!(
                "requests go to Service {:?} by HTTP/2, because appProtocol of its port {} is {WITHOUT_WEBSOCKETS}, so \
                 WebSockets cannot pass; where clients open some, set backend-protocol: HTTP",
                reference.service, port.number
            );
            notes.push((Reason::WithoutWebSockets, note.into()));
        }
        port::protocol(port)
    }

    /// Finds the port of a reference, and how its endpoints are reached.
    fn locate(&self, reference: &BackendReference<'a>, notes: &mut Vec<Note>) -> Result<Located<'a>, (Reason, String)> {
        let BackendReference { namespace, service: name, .. } = reference;
        let missing =
            || (Reason::MissingService, format!("there is no Service {name:?} in the namespace {namespace:?}"));
        // Names of upstreams are made of these names, so that they have to be valid.
        if !is_label(namespace) || !is_label(name) {
            return Err(missing());
        }
        let service = self.snapshot.service(namespace, name).ok_or_else(missing)?;
        let port = port::find(&service.object, &reference.port, reference.transport(), reference.dialect);
        let missing_port = || missing_port(reference);
        if let Some(host) = service.object.external_name.as_deref() {
            if !self.options.external_names {
                let note =
                    format!("Service {name:?} is of type ExternalName, which the administrator has switched off");
                return Err((Reason::ExternalNameDisabled, note));
            }
            // A Service without ports accepts any port number, in ingress-nginx every one does.
            let accepts_any = service.object.ports.is_empty() || reference.dialect.accepts_target_ports;
            let numbers = match (port, &reference.port) {
                (Some(port), _) => port::outside(port).map(|outside| (port.number, outside)),
                (None, PortReference::Number(number)) if accepts_any => Some((i32::from(*number), *number)),
                _ => None,
            };
            let (number, outside) = numbers.ok_or_else(missing_port)?;
            return Ok(Located { service, number, port, way: Way::Name(host, outside) });
        }
        let port = port.ok_or_else(missing_port)?;
        let has_address = service.object.cluster_address.is_some();
        let mode = match reference.by_cluster_address && has_address {
            true => EndpointMode::ClusterIp,
            false => reference.mode,
        };
        let mode = choose_mode(service, mode, notes);
        Ok(Located { service, number: port.number, port: Some(port), way: Way::Mode(mode, port) })
    }

    /// The port of the Service of this cluster that an `externalName` is the name of, if it is
    /// one. It is found in the same way for all objects.
    fn end(
        &mut self,
        located: &Located<'a>,
        reference: &BackendReference<'a>,
        notes: &mut Vec<Note>,
    ) -> Result<Option<Located<'a>>, (Reason, String)> {
        let Way::Name(host, number) = located.way else { return Ok(None) };
        let Some(next) = self.named_service(located.service, host)? else { return Ok(None) };
        let (namespace, service) = (&*next.id.namespace, &*next.id.name);
        self.depend_on(namespace, service);
        let (port, dialect) = (PortReference::Number(number), &INGRESS_NGINX);
        self.locate(&BackendReference { namespace, service, port, dialect, ..reference.clone() }, notes).map(Some)
    }

    fn endpoints(&mut self, located: &Located<'a>, notes: &mut Vec<Note>) -> Result<Vec<Endpoint>, (Reason, String)> {
        match located.way {
            Way::Mode(mode, port) => self.endpoints_by(located.service, port, mode, notes),
            Way::Name(host, number) => self.endpoints_of(located.service, host, number, notes),
        }
    }

    /// The Service with endpoints of its own that an `externalName` is the name of, if it is one
    /// of this cluster; DNS need not be asked. An error where the name may not be used.
    fn named_service(
        &mut self,
        service: &'a Stored<Service>,
        host: &str,
    ) -> Result<Option<&'a Stored<Service>>, (Reason, String)> {
        let own = &*service.id.namespace;
        let name = host.trim_end_matches('.').to_ascii_lowercase();
        let Some(within) = ClusterName::of(&name, &self.options.cluster_domain) else { return Ok(None) };
        let next = match within {
            ClusterName::Service { name, namespace } => self.service(namespace, name),
            ClusterName::Other { .. } => None,
        };
        let is_foreign = within.namespace() != Some(own);
        // DNS follows a chain of such Services to wherever it leads.
        let is_chain = next.is_some_and(|next| next.object.external_name.is_some());
        let is_allowed = match within {
            ClusterName::Service { name, namespace } if is_foreign => {
                self.options.may_use_service(own, namespace, name)
            }
            _ => self.options.cross_namespace || !(is_foreign || is_chain),
        };
        if !is_allowed {
            let subject = format!("externalName {} of Service {:?}: ", excerpt(host), service.id.name);
            let note = match within {
                _ if !is_foreign => "it is the name of another Service of type ExternalName, which the administrator \
                    does not allow (`cross-namespace`); name a Service of this namespace with pods in the Ingress"
                    .to_owned(),
                ClusterName::Service { name, namespace } => service::refusal(namespace, name),
                ClusterName::Other { .. } => "it is a name of another namespace of the cluster, which the \
                    administrator does not allow (`cross-namespace`); name a Service of this namespace with pods in \
                    the Ingress"
                    .to_owned(),
            };
            return Err((Reason::CrossNamespace, format!("{subject}{note}")));
        }
        Ok(next.filter(|_| !is_chain))
    }

    fn endpoints_by(
        &self,
        service: &'a Stored<Service>,
        port: &'a ServicePort,
        mode: EndpointMode,
        notes: &mut Vec<Note>,
    ) -> Result<Vec<Endpoint>, (Reason, String)> {
        let (snapshot, options, slices) = (self.snapshot, self.options, self.slices);
        let reach = Reach { snapshot, options, slices, id: &service.id, service: &service.object, port };
        let name = &service.id.name;
        let (endpoints, chosen) = reach.by(mode).map_err(|unreachable| match unreachable {
            Unreachable::NoEndpoints => {
                let note = format!("Service {name:?} has no ready endpoint for its port {}", port.number);
                (Reason::NoEndpoints, note)
            }
            Unreachable::Mode(clause) => (Reason::UnreachableMode, format!("Service {name:?}: {clause}")),
        })?;
        // None of these could be left out: the cluster's proxy distributes requests to all of
        // them.
        let behind = (chosen == Chosen::ByCluster).then(|| reach.behind());
        for address in behind.into_iter().flatten() {
            if let Some(clause) = target::forbidden(address, Chosen::ByTenant, self.options, self.world) {
                let note = format!("Service {name:?} is not used: one of its endpoints is {address}, and {clause}");
                return Err((Reason::ForbiddenTarget, note));
            }
        }
        self.permitted(endpoints, chosen, "", notes)
    }

    /// Removes addresses that must not get requests; returns an empty list when none is left.
    /// `subject` opens each note.
    fn permitted(
        &self,
        mut endpoints: Vec<Endpoint>,
        chosen: Chosen,
        subject: &str,
        notes: &mut Vec<Note>,
    ) -> Result<Vec<Endpoint>, (Reason, String)> {
        let mut refused = Vec::new();
        endpoints.retain(|endpoint| match target::forbidden(endpoint.address, chosen, self.options, self.world) {
            None => true,
            Some(clause) => {
                let note = format!("{subject}{} is left out: {clause}", endpoint.address);
                refused.push((Reason::ForbiddenTarget, note));
                false
            }
        });
        if endpoints.is_empty() && !refused.is_empty() {
            return Err(refused.swap_remove(0));
        }
        notes.extend(refused.into_iter().map(|(reason, note)| (reason, note.into())));
        Ok(endpoints)
    }

    fn endpoints_of(
        &mut self,
        service: &'a Stored<Service>,
        host: &str,
        number: u16,
        notes: &mut Vec<Note>,
    ) -> Result<Vec<Endpoint>, (Reason, String)> {
        let name = &service.id.name;
        let subject = format!("externalName {} of Service {name:?}: ", excerpt(host));
        let refused = |clause: &str| (Reason::ForbiddenTarget, format!("{subject}{clause}"));
        let addresses = match ExternalName::read(host).map_err(refused)? {
            ExternalName::Address(address) => vec![address],
            ExternalName::Name(host) => {
                self.names.push((host.clone(), Arc::clone(&service.id.namespace)));
                self.resolved(&host, &subject, notes)?
            }
        };
        let endpoint = |address: IpAddr| Endpoint { address: SocketAddr::new(address, number), weight: 1 };
        self.permitted(addresses.into_iter().map(endpoint).collect(), Chosen::ByTenant, &subject, notes)
    }

    /// The addresses of a name in the last DNS answer; empty only where DNS is not asked.
    fn resolved(&self, host: &HostName, subject: &str, notes: &mut Vec<Note>) -> Result<Vec<IpAddr>, (Reason, String)> {
        let answer = self.world.names.0.get(host);
        let failure = answer.map_or(Some("there is no answer of DNS yet"), |answer| answer.failure.as_deref());
        let addresses = answer.map(|answer| answer.addresses.clone()).unwrap_or_default();
        if answer.is_some_and(|answer| answer.is_cut) {
            let used = addresses.len();
            let note = format!(
                "{subject}DNS returns more addresses than the {used} that limits.addresses-of-name allows; \
                    the others get no requests"
            );
            notes.push((Reason::AddressesLeftOut, note.into()));
        }
        let most = u64::try_from(self.options.limits.addresses_of_name).unwrap_or(u64::MAX);
        let near = bounds::ADDRESSES.note(addresses.len(), most);
        let near = near.filter(|_| answer.is_some_and(|answer| !answer.is_cut));
        notes.extend(near.map(|note| (Reason::NearBudget, format!("{subject}{note}").into())));
        match failure {
            _ if answer.is_some_and(|answer| answer.is_unasked) => Ok(Vec::new()),
            _ if addresses.is_empty() => {
                let why = failure.unwrap_or("it has no address");
                Err((Reason::UnresolvedName, format!("{subject}{why}")))
            }
            Some(why) => {
                let note = format!("{subject}{why}; the addresses of the last answer are used");
                notes.push((Reason::UnresolvedName, note.into()));
                Ok(addresses)
            }
            None => Ok(addresses),
        }
    }
}

/// The number identifies the port, however a rule names it, so that two names of one port share an
/// upstream.
fn id(reference: &BackendReference<'_>, located: &Located<'_>, mode: &'static str, protocol: Protocol) -> UpstreamId {
    let ObjectId { namespace, name, .. } = &*located.service.id;
    let (namespace, service) = (Arc::clone(namespace), Arc::clone(name));
    let port = shared_text(&located.number.to_string());
    let (balance, tls) = (reference.balance.clone(), reference.tls.clone());
    let tls = tls.filter(|_| protocol.has_tls());
    UpstreamIdentity { namespace, service, port, mode, protocol, balance, tls, reuse: reference.reuse.clone() }.into()
}

/// Consistent hashing makes points for each unit of a weight, so weights are divided by a common
/// factor.
fn even_out(endpoints: &mut [Endpoint]) {
    let heaviest = endpoints.iter().map(|endpoint| endpoint.weight).max().unwrap_or(1).max(1);
    for endpoint in endpoints.iter_mut().filter(|_| heaviest > MOST_WEIGHT) {
        let share = u64::from(endpoint.weight) * u64::from(MOST_WEIGHT) / u64::from(heaviest);
        endpoint.weight = u32::try_from(share).unwrap_or(MOST_WEIGHT).max(1);
    }
}

fn missing_port(reference: &BackendReference<'_>) -> (Reason, String) {
    let (service, port) = (reference.service, reference.port.written());
    (Reason::MissingPort, format!("Service {service:?} has no {} port {port}", reference.transport().name()))
}

fn choose_mode(service: &Stored<Service>, otherwise: EndpointMode, notes: &mut Vec<Note>) -> EndpointMode {
    let Some(value) = service.object.annotations.get(mode::ANNOTATION) else { return otherwise };
    mode::parse(value).unwrap_or_else(|| {
        let (name, key) = (&service.id.name, mode::ANNOTATION);
        let note = format!(
            "{key} of Service {name:?} is not one of pod, nodeport, clusterip, loadbalancer, auto; it has no effect"
        );
        notes.push((Reason::InvalidValue, note.into()));
        otherwise
    })
}
