//! Finds certificates of other sites of the host that name hosts of Ingresses with TLS. It must
//! not read files.

use serde_json::{Value, json};

/// A certificate that another site of this host serves on the cluster's port for https.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SiteCertificate {
    /// The file and line that name it, for messages.
    pub place: String,
    pub file: String,
    /// The names of the site.
    pub names: Vec<String>,
    /// The names in the certificate, or why they are not known.
    pub within: Result<Vec<String>, String>,
}

/// A host of an Ingress with TLS, and its certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsHost {
    pub host: String,
    /// Namespace and name of the Ingress.
    pub ingress: String,
    /// Namespace and name of its Secret; empty where it has none of its own.
    pub secret: String,
}

/// A name in a certificate of the cluster and in one of another site.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CertificateClash {
    pub(crate) of: TlsHost,
    /// The file of the other certificate.
    pub(crate) file: String,
    /// The file and line that name it.
    pub(crate) place: String,
    /// Whether the site has the name, so that its certificate is served.
    pub is_taken: bool,
}

impl CertificateClash {
    /// Which certificate clients get.
    pub fn effect(&self) -> String {
        let secret = match self.of.secret.as_str() {
            "" => "the default certificate".to_owned(),
            secret => format!("Secret {secret}"),
        };
        match self.is_taken {
            true => format!(
                "the site at {} keeps the name, so clients get its certificate and not \
                {secret}",
                self.place
            ),
            false => format!("clients get {secret}; the site at {} has the name only in its certificate", self.place),
        }
    }

    pub fn remedy(&self) -> &'static str {
        match self.is_taken {
            true => "remove the name from the site, or the host from the Ingress",
            false => {
                "leave the name out of that certificate when it is renewed, because ingressd gets the HTTP-01 \
                    challenges for it"
            }
        }
    }

    /// The name, its Ingress and the file, in one clause.
    pub fn heading(&self) -> String {
        format!("{} of Ingress {} is also in {}", self.of.host, self.of.ingress, self.file)
    }

    pub(crate) fn json(&self) -> Value {
        json!({
            "host": self.of.host,
            "ingress": self.of.ingress,
            "secret": self.of.secret,
            "file": self.file,
            "site": self.place,
            "taken": self.is_taken,
            "effect": self.effect(),
            "remedy": self.remedy(),
        })
    }
}

/// The names in both, those that the sites keep first.
pub fn certificate_clashes(hosts: &[TlsHost], sites: &[SiteCertificate]) -> Vec<CertificateClash> {
    let mut clashes = Vec::new();
    for site in sites {
        for of in hosts {
            let host = of.host.to_ascii_lowercase();
            let is_taken = site.names.iter().any(|name| is_name_of(name, &host));
            if is_taken || site.within.iter().flatten().any(|name| is_covered(&name.to_ascii_lowercase(), &host)) {
                let (file, place) = (site.file.clone(), site.place.clone());
                clashes.push(CertificateClash { of: of.clone(), file, place, is_taken });
            }
        }
    }
    clashes.sort_by(|one, other| {
        let key = |clash: &CertificateClash| (!clash.is_taken, clash.of.host.clone(), clash.file.clone());
        key(one).cmp(&key(other))
    });
    clashes.dedup();
    clashes
}

/// Whether a `server_name` of a site matches the host. Regular expressions are not evaluated.
fn is_name_of(name: &str, host: &str) -> bool {
    let is_below = |parent: &str| host.strip_suffix(parent).is_some_and(|labels| labels.ends_with('.'));
    match (name.strip_prefix("*."), name.strip_prefix('.'), name.strip_suffix(".*")) {
        (Some(parent), ..) => is_below(parent) || host == name,
        (_, Some(parent), _) => is_below(parent) || host == parent,
        (.., Some(beginning)) => host.strip_prefix(beginning).is_some_and(|rest| rest.starts_with('.')),
        _ => name == host,
    }
}

/// Whether a name in a certificate covers the host: `*` is exactly one label.
fn is_covered(name: &str, host: &str) -> bool {
    let below = |parent: &str| host.split_once('.').is_some_and(|(_, rest)| rest == parent);
    name == host || name.strip_prefix("*.").is_some_and(below)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn site(names: &[&str], within: &[&str]) -> SiteCertificate {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        SiteCertificate {
            place: "/etc/nginx/site:3".into(),
            file: "/etc/ssl/site.pem".into(),
            names: owned(names),
            within: Ok(owned(within)),
        }
    }

    #[test]
    fn names_that_both_have_a_certificate_for_are_reported() {
        let of = |host: &str| TlsHost { host: host.into(), ingress: "shop/web".into(), secret: "shop/tls".into() };
        // A host, names of the site, names in its certificate, and whether the site keeps it.
        for (host, names, within, expected) in [
            ("Shop.example", &["shop.example"][..], &[][..], Some(true)),
            ("a.b.example", &["*.example"], &[], Some(true)),
            ("*.example", &["*.example"], &[], Some(true)),
            ("example", &["*.example"], &[], None),
            ("example", &[".example"], &[], Some(true)),
            ("www.example", &["www.*"], &[], Some(true)),
            ("wwwexample", &["www.*"], &[], None),
            ("notshop.example", &["shop.example"], &[], None),
            ("shop.example", &["_"], &["Shop.example"], Some(false)),
            ("shop.example", &["_"], &["*.example"], Some(false)),
            ("a.shop.example", &["_"], &["*.example", "shop.example"], None),
            ("shop.example", &["other.example"], &["CN=shop.example"], None),
        ] {
            let clashes = certificate_clashes(&[of(host)], &[site(names, within)]);
            let found: Vec<_> = clashes.iter().map(|clash| clash.is_taken).collect();
            assert_eq!(found, Vec::from_iter(expected), "{host} {names:?} {within:?}");
        }
    }

    #[test]
    fn what_is_kept_stands_first_and_says_whose_certificate_is_served() {
        let of = |host: &str, secret: &str| TlsHost { host: host.into(), ingress: "a/b".into(), secret: secret.into() };
        let hosts = [of("a.example", "a/tls"), of("b.example", "")];
        let unread = SiteCertificate { within: Err("No such file".into()), ..site(&["b.example"], &[]) };
        let clashes = certificate_clashes(&hosts, &[site(&["c.example"], &["a.example"]), unread]);
        let reported: Vec<_> = clashes.iter().map(CertificateClash::effect).collect();
        assert_eq!(
            reported,
            [
                "the site at /etc/nginx/site:3 keeps the name, so clients get its certificate and not the default certificate",
                "clients get Secret a/tls; the site at /etc/nginx/site:3 has the name only in its certificate",
            ]
        );
        assert_eq!(clashes[1].heading(), "a.example of Ingress a/b is also in /etc/ssl/site.pem");
        assert_eq!(
            (clashes[1].json()["secret"].as_str(), clashes[1].json()["taken"].as_bool()),
            (Some("a/tls"), Some(false))
        );
    }
}
