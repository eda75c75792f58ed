//! Substitutes for Secrets of which only the names are known, so that their unknown data cause no
//! findings.

use std::collections::{BTreeMap, BTreeSet};

use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair};

use ingressd_model::{Kind, ObjectId};
use ingressd_objects::Inventory;
use ingressd_translate::{Options, Readers};

/// The user name in a substitute.
const USER: &str = "nobody";

/// A hash without a known password.
const HASH: &str = "$apr1$......$9R2Ty9mVKkmJ7TyKsnNEK.";

/// Gives every Secret of which only the name is known, under the settings of the translation, a
/// certificate for the hosts that use it, a CA, and passwords.
///
/// # Errors
///
/// When no key can be made.
pub fn stand_in_for_secrets(inventory: &mut Inventory, options: &Options) -> Result<(), rcgen::Error> {
    let key = KeyPair::generate()?;
    let mut parameters = CertificateParams::new(Vec::new())?;
    parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = parameters.self_signed(&key)?.pem();
    let (hosts, maps) = named(inventory, options);
    let entries = inventory.snapshot.lists().flat_map(|(_, list)| list.entries());
    let needed = entries.flat_map(|entry| Readers::default().needs(entry, options));
    let certificate = options.default_certificate.iter();
    let certificate = certificate.map(|(namespace, name)| ObjectId::new(Kind::SECRET, namespace, name));
    let needed = needed.filter(|id| id.kind == Kind::SECRET).chain(certificate).collect();
    inventory.stand_in_for_secrets(needed, |id| {
        if maps.contains(id) {
            return BTreeMap::from([(USER.to_owned(), HASH.as_bytes().to_vec())]);
        }
        let hosts = hosts.get(id).into_iter().flatten().filter_map(|host| host.as_str().try_into().ok());
        let mut parameters = CertificateParams::default();
        parameters.subject_alt_names = hosts.map(rcgen::SanType::DnsName).collect();
        let certificate = parameters.self_signed(&key).map(|certificate| certificate.pem()).unwrap_or_default();
        let parts = [
            ("tls.crt", certificate),
            ("tls.key", key.serialize_pem()),
            ("ca.crt", authority.clone()),
            ("auth", format!("{USER}:{HASH}\n")),
        ];
        parts.map(|(name, text)| (name.to_owned(), text.into_bytes())).into()
    });
    Ok(())
}

/// The hosts of each Secret with a certificate, and the Secrets that are maps of users.
fn named(inventory: &Inventory, options: &Options) -> (BTreeMap<ObjectId, BTreeSet<String>>, BTreeSet<ObjectId>) {
    let (mut hosts, mut maps) = (BTreeMap::<_, BTreeSet<String>>::new(), BTreeSet::new());
    for stored in &inventory.snapshot.ingresses {
        let secret = |name: &str| {
            let (namespace, name) = name.trim().split_once('/').unwrap_or((&stored.id.namespace, name.trim()));
            ObjectId::new(Kind::SECRET, namespace, name)
        };
        let of_rules: BTreeSet<&str> = stored.object.rules.iter().filter_map(|rule| rule.host.as_deref()).collect();
        for tls in &stored.object.tls {
            let Some(name) = &tls.secret_name else { continue };
            let known = hosts.entry(secret(name)).or_default();
            known.extend(of_rules.iter().copied().chain(tls.hosts.iter().map(|host| &**host)).map(str::to_lowercase));
        }
        let tables = || options.classes.iter().map(|class| class.annotations);
        let annotations = &stored.object.annotations;
        let annotation = |key: &str| tables().find_map(|table| annotations.get(&format!("{}{key}", table.prefix)));
        if annotation("auth-secret-type").is_some_and(|kind| kind.trim() == "auth-map") {
            maps.extend(annotation("auth-secret").map(secret));
        }
    }
    (hosts, maps)
}
