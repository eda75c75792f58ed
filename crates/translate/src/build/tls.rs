//! Chooses the certificate of each host.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::admit::admitted::Admitted;
use crate::claim::tls_entries::Entries;
use crate::read::intent::TlsSpec;
use crate::resolve::dependency::Dependency;
use crate::secret::certificate::{Certificates, Checked, Use};
use crate::value::host;
use crate::{Options, World};
use ingressd_model::finding::{Finding, Reason};
use ingressd_model::{
    Certificate, CertificateId, Field, Kind, ObjectId, Origin, Presented, RefusedVersion, ServerName, TlsTermination,
};
use ingressd_objects::Snapshot;

/// Chooses certificates and collects those in use.
#[derive(Debug)]
pub struct Tls<'a> {
    snapshot: &'a Snapshot,
    world: &'a World,
    options: &'a Options,
    certificates: &'a Certificates,
    entries: Entries<'a>,
    used: BTreeMap<CertificateId, Arc<Presented>>,
    /// The certificates that were found.
    pub found: BTreeMap<CertificateId, Arc<Certificate>>,
    /// Where a field names one of them.
    pub uses: Vec<Use>,
    /// Versions of Secrets without a certificate that may be served.
    pub refused: Vec<RefusedVersion>,
    /// What is wrong.
    pub findings: Vec<Finding>,
}

/// The objects that the certificate of a host with these objects depends on.
pub fn dependencies(objects: &[&Admitted<'_>], options: &Options) -> Vec<Dependency> {
    let on = |namespace: &str, name: &str| Dependency::on(Kind::SECRET, namespace, name);
    let of_object = |object: &&Admitted<'_>| {
        let namespace = &object.id().namespace;
        object.attached.tls.iter().filter_map(|entry| Some(on(namespace, entry.secret.as_deref()?))).collect::<Vec<_>>()
    };
    let default = options.default_certificate.iter().map(|(namespace, name)| on(namespace, name));
    objects.iter().flat_map(of_object).chain(default).collect()
}

impl<'a> Tls<'a> {
    /// A chooser that has chosen nothing.
    pub fn new(snapshot: &'a Snapshot, world: &'a World, options: &'a Options, certificates: &'a Certificates) -> Self {
        let (refused, findings) = (Vec::new(), Vec::new());
        let entries = Entries::new(snapshot, certificates);
        let (used, found, uses) = Default::default();
        Tls { snapshot, world, options, certificates, entries, used, found, uses, refused, findings }
    }

    /// How TLS of a host is terminated that these objects share, and the namespace whose entry
    /// decides about redirects, if that is not the one that owns the host (the namespace of the
    /// first object).
    ///
    /// An entry of `spec.tls` of the namespace that owns the host takes precedence over those of
    /// others, and a certificate that names the host over one that does not, which is never
    /// served. Without an entry of that namespace the certificate of another one is served, but
    /// that one decides nothing about requests for paths of others.
    pub fn of_host(&mut self, name: &ServerName, objects: &[&Admitted<'a>]) -> (TlsTermination, Option<&'a str>) {
        let Some(oldest) = objects.first() else { return (TlsTermination::Default, None) };
        let home: &'a str = &oldest.id().namespace;
        let mut decider: Option<(&Admitted<'a>, usize)> = None;
        let mut termination = None;
        let mut counting: Option<(&Admitted<'a>, Option<&'a str>)> = None;
        let options = self.options;
        for object in objects.iter().filter(|object| may_decide(options, name, object)) {
            let namespace: &'a str = &object.id().namespace;
            let is_settled =
                termination.is_some() && decider.is_some_and(|(decider, _)| *decider.id().namespace == *namespace);
            // Of a namespace whose certificate is served the first entry counts.
            let Some((number, entry)) = self.entries.of_host(object, name) else { continue };
            match termination {
                Some(_) if is_settled => self.report_settled(object, (number, entry), name, counting),
                Some(_) => self.report_without_effect(object, number, name),
                // Without an entry, a host that the administrator's certificate names gets that
                // certificate.
                None if namespace != home && self.default_names(name) => {
                    self.report_without_effect(object, number, name);
                }
                None => {
                    let is_default = namespace == home && self.is_default(object, entry);
                    let own = self.of_entry(name, object, number, entry);
                    termination = own.or(is_default.then_some(TlsTermination::DefaultDeclared));
                    counting = termination.as_ref().map(|_| (*object, entry.secret.as_deref()));
                    // The first namespace that lists the host decides about redirects, even
                    // without a certificate.
                    if decider.is_none() {
                        decider = Some((object, number));
                    }
                }
            }
        }
        let Some((object, number)) = decider else { return (TlsTermination::Default, None) };
        let namespace: &'a str = &object.id().namespace;
        let stranger = (namespace != home).then_some(namespace);
        if stranger.is_some() {
            self.report_stranger(object, number, name, home);
        }
        (termination.unwrap_or(TlsTermination::DefaultDeclared), stranger)
    }

    /// Whether an entry uses the default certificate, because it names no Secret, or none that is
    /// valid.
    fn is_default(&self, object: &Admitted<'_>, entry: &TlsSpec) -> bool {
        let secret = entry.secret.as_deref();
        let secret = secret.and_then(|name| self.snapshot.secret(&object.id().namespace, name));
        secret.is_none_or(|secret| self.certificates.check(secret).is_err())
    }

    /// Whether the administrator's certificate names the host.
    fn default_names(&self, name: &ServerName) -> bool {
        let secret = self.options.default_certificate.as_ref();
        let secret = secret.and_then(|(namespace, name)| self.snapshot.secret(namespace, name));
        secret.is_some_and(|secret| self.certificates.check(secret).is_ok_and(|checked| checked.covers(name)))
    }

    /// The certificate of an entry, if it can be served for the host.
    fn of_entry(
        &mut self,
        name: &ServerName,
        object: &Admitted<'a>,
        number: usize,
        entry: &TlsSpec,
    ) -> Option<TlsTermination> {
        let origin = Origin::field(object.id(), Field::Tls(crate::position(number)));
        let secret = entry.secret.as_deref()?;
        let checked = self.secret(&object.id().namespace, secret, &origin)?;
        // It is unknown which names the requests to the catch-all server, or to an expression,
        // have.
        let is_unknown = matches!(name, ServerName::CatchAll | ServerName::Expression(_));
        if !is_unknown && !checked.covers(name) {
            let host = host::written(name);
            let note = format!(
                "the certificate in Secret {secret:?} does not name {host}, so the default certificate is served for \
                 it; use a certificate for the host"
            );
            self.findings.push(Finding::new(Reason::CertificateHostMismatch, origin, note));
            return None;
        }
        Some(TlsTermination::Own(self.serve(&checked.certificate)))
    }

    /// Of further entries of the namespace: what is wrong with the certificate that another one
    /// named first, or that this one's is not served.
    fn report_settled(
        &mut self,
        other: &Admitted<'a>,
        (number, entry): (usize, &'a TlsSpec),
        name: &ServerName,
        counting: Option<(&Admitted<'a>, Option<&'a str>)>,
    ) {
        let origin = Origin::field(other.id(), Field::Tls(crate::position(number)));
        let own = entry.secret.as_deref().filter(|name| !name.is_empty());
        match (own, counting) {
            (Some(own), Some((first, secret))) if Some(own) == secret => {
                self.secret(&first.id().namespace, own, &origin);
            }
            (Some(own), Some((first, _))) => {
                let note = format!(
                    "the entry has no effect on {}: {} has it, too, and is older, so that its entry counts, and not the \
                     certificate in Secret {own:?}; name one Secret in both",
                    host::written(name),
                    first.id()
                );
                self.findings.push(Finding::new(Reason::TlsWithoutPath, origin, note));
            }
            _ => {}
        }
    }

    fn report_without_effect(&mut self, other: &Admitted<'_>, number: usize, name: &ServerName) {
        let note = format!(
            "the entry has no effect on {}, because another namespace decides about its certificate; list the host \
                there, or remove it here",
            host::written(name)
        );
        let origin = Origin::field(other.id(), Field::Tls(crate::position(number)));
        self.findings.push(Finding::new(Reason::TlsConflict, origin, note));
    }

    fn report_stranger(&mut self, stranger: &Admitted<'_>, number: usize, name: &ServerName, home: &str) {
        let host = host::written(name);
        let note = format!(
            "this certificate is served for {host}, but plain requests for paths of other namespaces are not \
                redirected to https, because the namespace {home:?} asked for the host first; list the host under \
                spec.tls there"
        );
        let origin = Origin::field(stranger.id(), Field::Tls(crate::position(number)));
        self.findings.push(Finding::new(Reason::TlsConflict, origin, note));
    }

    /// The certificate of hosts without one: from the settings, or the daemon's own.
    pub fn default_certificate(&mut self) -> Option<CertificateId> {
        if let Some((namespace, name)) = &self.options.default_certificate {
            let settings = Arc::new(ObjectId::new(Kind::SETTINGS, "", "default-certificate"));
            if let Some(checked) = self.secret(namespace, name, &Origin::object(&settings)) {
                return Some(self.serve(&checked.certificate));
            }
        }
        let own = self.world.self_signed.as_ref()?;
        Some(self.serve(own))
    }

    /// All chosen certificates, sorted.
    pub fn used(&mut self) -> Vec<Arc<Presented>> {
        std::mem::take(&mut self.used).into_values().collect()
    }

    /// Adds a certificate for backends.
    pub fn use_as_well(&mut self, certificate: &Arc<Certificate>) {
        self.serve(certificate);
    }

    fn serve(&mut self, certificate: &Arc<Certificate>) -> CertificateId {
        let id = &certificate.of.id;
        self.used.entry(id.clone()).or_insert_with(|| Arc::clone(&certificate.of));
        self.find(certificate);
        id.clone()
    }

    fn find(&mut self, certificate: &Arc<Certificate>) {
        self.found.insert(certificate.of.id.clone(), Arc::clone(certificate));
    }

    fn secret(&mut self, namespace: &str, name: &str, origin: &Origin) -> Option<Arc<Checked>> {
        let Some(secret) = self.snapshot.secret(namespace, name) else {
            let note = format!(
                "there is no Secret {name:?} in the namespace {namespace:?}; the default certificate is served"
            );
            self.findings.push(Finding::new(Reason::MissingSecret, origin.clone(), note));
            return None;
        };
        match self.certificates.check(secret) {
            Ok(checked) => {
                self.find(&checked.certificate);
                self.uses.push((checked.certificate.of.id.clone(), origin.clone()));
                let doubts = checked.doubts.iter().map(|doubt| {
                    let note = format!("the certificate in Secret {name:?} is served, but {doubt}");
                    Finding::new(Reason::DoubtfulCertificate, origin.clone(), note)
                });
                self.findings.extend(doubts);
                Some(checked)
            }
            Err(fault) => {
                // The finding is about the Secret, so that it stays when its last good version
                // takes its place.
                let note = format!("it cannot be used: {fault}");
                self.findings.push(Finding::new(Reason::InvalidCertificate, Origin::object(&secret.id), note));
                // Who names it is told as well, and only while no last good version is served.
                let note =
                    format!("the certificate in Secret {name:?} cannot be used, so the default one is served: {fault}");
                self.findings.push(Finding::new(Reason::InvalidCertificate, origin.clone(), note));
                let (id, version) = (Arc::clone(&secret.id), secret.version.clone());
                self.refused.push(RefusedVersion { id, version, why: Reason::InvalidCertificate });
                None
            }
        }
    }
}

/// Whether the object may choose the certificate: the default certificate, also for unknown hosts,
/// is the administrator's.
fn may_decide(options: &Options, name: &ServerName, object: &Admitted<'_>) -> bool {
    *name != ServerName::CatchAll || options.is_catch_all(&object.id().namespace)
}
