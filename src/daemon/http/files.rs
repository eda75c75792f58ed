//! Reads the files by which other machines may see the status page, and says what is wrong with
//! them. It must not know what follows from them.

use std::fmt::{self, Display};
use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Arc;

use rustls::RootCertStore;
use rustls::crypto::ring;
use rustls::sign::CertifiedKey;
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};

use super::passwords::Passwords;
use ingressd_config::PageFiles;
use ingressd_model::{Digest, Validity, ValidityPhase};

/// The largest of them in bytes.
const LARGEST: u64 = 1 << 20;

const PEM: &str = "put it there as PEM";

/// What is wrong with one of the files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    pub what: String,
    pub remedy: String,
    /// Whether the file is used all the same.
    pub is_used: bool,
}

impl Fault {
    fn of(file: &Path, what: impl Display, remedy: &str) -> Self {
        Fault { what: format!("{} {what}", file.display()), remedy: remedy.to_owned(), is_used: false }
    }
}

impl Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}; {}", self.what, self.remedy)
    }
}

/// What is wrong with these files, as far as it can be read, at a time in seconds since 1970.
pub fn faults(files: &PageFiles, now: i64) -> Vec<Fault> {
    let (found, mut faults) = Contents::read(files).judge(files);
    let certified = found.certified.as_deref();
    faults.extend(certified.and_then(|certified| age(&files.certificate, certified, now)));
    faults
}

fn age(file: &Path, certified: &CertifiedKey, now: i64) -> Option<Fault> {
    let (_, certificate) = x509_parser::parse_x509_certificate(certified.cert.first()?).ok()?;
    let validity = certificate.validity();
    let validity = Validity { begins: validity.not_before.timestamp(), ends: validity.not_after.timestamp() };
    let what = match validity.standing(now) {
        ValidityPhase::Good => return None,
        ValidityPhase::NotYet => "is not valid yet by the clock of this host",
        ValidityPhase::Ending(_) => "ends soon",
        ValidityPhase::Ended => "has ended, so browsers refuse it",
    };
    Some(Fault { is_used: true, ..Fault::of(file, what, "renew the certificate, and look at the clock") })
}

/// The bytes of a file, and its mode.
type Content = (Vec<u8>, u32);

/// The files as they are.
pub struct Contents {
    certificate: io::Result<Content>,
    key: io::Result<Content>,
    passwords: Option<io::Result<Content>>,
    authorities: Option<io::Result<Content>>,
}

/// What could be used of them.
pub struct Found {
    pub certified: Option<Arc<CertifiedKey>>,
    /// Nobody, where the file cannot be used.
    pub passwords: Option<Passwords>,
    /// None, where the file cannot be used.
    pub authorities: Option<RootCertStore>,
}

impl Contents {
    pub fn read(files: &PageFiles) -> Self {
        Contents {
            certificate: read(&files.certificate),
            key: read(&files.key),
            passwords: files.passwords.as_deref().map(read),
            authorities: files.authorities.as_deref().map(read),
        }
    }

    /// Differs when one of them differs.
    pub fn fingerprint(&self) -> Digest {
        let files = [Some(&self.certificate), Some(&self.key), self.passwords.as_ref(), self.authorities.as_ref()];
        Digest::of_all(files.into_iter().map(|file| match file {
            Some(Ok((content, mode))) => [&mode.to_be_bytes()[..], &Digest::of(content).0].concat(),
            Some(Err(error)) => error.to_string().into_bytes(),
            None => Vec::new(),
        }))
    }

    /// What can be used of them, and what is wrong.
    pub fn judge(&self, files: &PageFiles) -> (Found, Vec<Fault>) {
        let mut faults = Vec::new();
        let certified = match self.certified(files, &mut faults) {
            Ok(certified) => Some(Arc::new(certified)),
            Err(fault) => {
                faults.push(fault);
                None
            }
        };
        let passwords = self.passwords.as_ref().zip(files.passwords.as_ref()).map(|(read, file)| {
            passwords(read, file).unwrap_or_else(|fault| {
                faults.push(fault);
                Passwords::none()
            })
        });
        let authorities = self.authorities.as_ref().zip(files.authorities.as_ref()).map(|(read, file)| {
            authorities(read, file).unwrap_or_else(|fault| {
                faults.push(fault);
                RootCertStore::empty()
            })
        });
        (Found { certified, passwords, authorities }, faults)
    }

    fn certified(&self, files: &PageFiles, faults: &mut Vec<Fault>) -> Result<CertifiedKey, Fault> {
        let (certificate, key) = (&files.certificate, &files.key);
        let chain = chain(&self.certificate, certificate)?;
        let (content, mode) = content(&self.key, key)?;
        if mode & 0o007 != 0 {
            let fault = Fault::of(key, "can be used by everybody", "run chmod o= on it, and make a new key");
            faults.push(Fault { is_used: true, ..fault });
        }
        let read = PrivateKeyDer::from_pem_slice(content);
        let read = read.map_err(|error| Fault::of(key, format!("has no private key ({error})"), PEM))?;
        CertifiedKey::from_der(chain, read, &ring::default_provider()).map_err(|error| {
            let what = format!("and {} are no pair ({error})", key.display());
            Fault::of(certificate, what, "put a certificate and its own key there")
        })
    }
}

fn read(file: &Path) -> io::Result<Content> {
    let mut content = Vec::new();
    let file = File::open(file)?;
    let mode = file.metadata()?.permissions().mode() & 0o7777;
    match file.take(LARGEST + 1).read_to_end(&mut content)? as u64 > LARGEST {
        true => Err(io::Error::other("it has more than 1 MiB")),
        false => Ok((content, mode)),
    }
}

fn content<'r>(read: &'r io::Result<Content>, file: &Path) -> Result<(&'r [u8], u32), Fault> {
    let remedy = "put it where the daemon sees it: its unit shows it neither homes nor /tmp";
    match read {
        Ok((content, mode)) => Ok((content, *mode)),
        Err(error) => Err(Fault::of(file, format!("cannot be read: {error}"), remedy)),
    }
}

fn chain(read: &io::Result<Content>, file: &Path) -> Result<Vec<CertificateDer<'static>>, Fault> {
    let (content, _) = content(read, file)?;
    let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(content).collect();
    match read {
        Ok(chain) if !chain.is_empty() => Ok(chain),
        Ok(_) => Err(Fault::of(file, "has no certificate", PEM)),
        Err(error) => Err(Fault::of(file, format!("has no certificate ({error})"), PEM)),
    }
}

fn passwords(read: &io::Result<Content>, file: &Path) -> Result<Passwords, Fault> {
    let (content, mode) = content(read, file)?;
    if mode & 0o077 != 0 {
        let what = format!("is refused: others than its owner may use it (mode {mode:04o})");
        return Err(Fault::of(file, what, "run chmod 600 on it"));
    }
    Passwords::read(&String::from_utf8_lossy(content))
        .map_err(|(what, remedy)| Fault::of(file, format!("cannot be used: {what}"), remedy))
}

fn authorities(read: &io::Result<Content>, file: &Path) -> Result<RootCertStore, Fault> {
    let mut roots = RootCertStore::empty();
    for certificate in chain(read, file)? {
        let added = roots.add(certificate);
        added.map_err(|error| Fault::of(file, format!("has a certificate that cannot be used ({error})"), PEM))?;
    }
    Ok(roots)
}
