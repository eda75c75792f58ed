//! Gathers the certificates of the current generation, and the hosts that use them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use x509_parser::extensions::GeneralName;
use x509_parser::prelude::X509Certificate;

use crate::doctor::facts::Served;
use ingressd_model::Validity;
use ingressd_nginx::syntax::{self, Directive};

/// The certificates below this folder, by file.
pub fn certificates(current: &Path) -> Vec<Served> {
    let files = |folder: &str| {
        let entries = fs::read_dir(current.join(folder)).into_iter().flatten().flatten();
        let mut paths: Vec<_> = entries.map(|entry| entry.path()).collect();
        paths.sort();
        paths
    };
    let mut users = BTreeMap::<String, BTreeSet<String>>::new();
    for path in files("http") {
        let directives = fs::read(&path).ok().and_then(|text| syntax::parse(&text).ok()).unwrap_or_default();
        for server in directives.iter().filter(|directive| directive.name == "server") {
            for certificate in values(server, "ssl_certificate") {
                let name = certificate.rsplit('/').next().unwrap_or_default().to_owned();
                users.entry(name).or_default().extend(values(server, "server_name").cloned());
            }
        }
    }
    let read = |path: PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let hosts = users.remove(&name).unwrap_or_default().into_iter().filter(|host| host != "_");
        let hosts = hosts.collect();
        match fs::read(&path).map_err(|error| error.to_string()).and_then(|bytes| leaf(&bytes)) {
            Ok((names, validity)) => Served { file: path, names, hosts, validity: Ok(validity) },
            Err(why) => Served { file: path, names: Vec::new(), hosts, validity: Err(why) },
        }
    };
    files("certs").into_iter().map(read).collect()
}

fn values<'a>(server: &'a Directive, name: &'a str) -> impl Iterator<Item = &'a String> {
    let named = server.children().iter().filter(move |directive| directive.name == name);
    named.flat_map(|directive| &directive.arguments)
}

/// The names in the certificate of a file, or its subject.
///
/// # Errors
///
/// Why it cannot be read.
pub fn certificate_names(path: &Path) -> Result<Vec<String>, String> {
    let bytes = fs::read(path).map_err(|error| error.to_string())?;
    leaf(&bytes).map(|(names, _)| names)
}

/// Names and validity of the first certificate of a file.
fn leaf(bytes: &[u8]) -> Result<(Vec<String>, Validity), String> {
    let blocks = x509_parser::pem::Pem::iter_from_buffer(bytes).filter_map(Result::ok);
    let mut certificates = blocks.filter(|block| block.label == "CERTIFICATE");
    let block = certificates.next().ok_or("there is no certificate in it")?;
    let certificate = block.parse_x509().map_err(|error| error.to_string())?;
    let validity = certificate.validity();
    let validity = Validity { begins: validity.not_before.timestamp(), ends: validity.not_after.timestamp() };
    Ok((names(&certificate), validity))
}

fn names(certificate: &X509Certificate<'_>) -> Vec<String> {
    let alternatives = certificate.subject_alternative_name().ok().flatten();
    let alternatives = alternatives.into_iter().flat_map(|extension| &extension.value.general_names);
    let names: Vec<_> = alternatives
        .filter_map(|name| match name {
            GeneralName::DNSName(name) => Some((*name).to_owned()),
            _ => None,
        })
        .collect();
    match names.is_empty() {
        true => vec![certificate.subject().to_string()],
        false => names,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn certificates_are_read_with_the_hosts_that_use_them() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        for name in ["certs", "http"] {
            fs::create_dir(path(name)).unwrap();
        }
        let key = rcgen::KeyPair::generate().unwrap();
        let mut parameters = rcgen::CertificateParams::new(vec!["shop.example".to_owned()]).unwrap();
        parameters.not_after = rcgen::date_time_ymd(2031, 1, 2);
        let certificate = parameters.self_signed(&key).unwrap();
        fs::write(path("certs/a.pem"), key.serialize_pem() + &certificate.pem()).unwrap();
        fs::write(path("certs/b.pem"), "nonsense").unwrap();
        let server = "server { server_name shop.example _; ssl_certificate /x/certs/a.pem; }";
        fs::write(path("http/x.conf"), server).unwrap();
        let [good, bad] = &certificates(folder.path())[..] else { panic!("two") };
        assert_eq!(
            (&good.names[..], &good.hosts[..]),
            (&["shop.example".to_owned()][..], &["shop.example".to_owned()][..])
        );
        assert_eq!(
            (good.validity.clone().map(|validity| validity.ends), bad.validity.is_err()),
            (Ok(1_925_078_400), true)
        );
        assert_eq!(certificates(Path::new("/nonexistent")), []);
    }
}
