//! What other machines need to see the status page: TLS with our certificate, and a proof of who
//! asks.

use std::io;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use hyper::StatusCode;
use hyper::header::{AUTHORIZATION, HeaderMap};
use rustls::crypto::{CryptoProvider, ring};
use rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::{RootCertStore, ServerConfig};
use tokio::net::TcpStream;
use tokio::task::spawn_blocking;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::files::{Contents, Found};
use super::passwords::{PasswordCheck, Passwords, basic};
use ingressd_config::PageFiles;
use ingressd_model::Digest;

/// The first byte of a connection that speaks TLS: the type of a record with a handshake. No
/// method of HTTP begins with it.
const HANDSHAKE: u8 = 0x16;

/// The files, and what was read of them last.
#[derive(Debug)]
pub struct Remote {
    files: PageFiles,
    read: Mutex<Read>,
}

#[derive(Debug, Default)]
struct Read {
    fingerprint: Digest,
    /// The last certificate that could be used, with its key.
    certified: Option<Arc<CertifiedKey>>,
    access: Access,
}

/// Who may see the page, and how it is spoken to them.
#[derive(Debug, Clone, Default)]
pub struct Access {
    /// `None` as long as there was no certificate that could be used.
    tls: Option<Arc<ServerConfig>>,
    /// Who has to tell a name and a password; `None` where nobody has to.
    passwords: Option<Arc<Passwords>>,
    /// Whether a certificate has to be shown.
    asks_certificate: bool,
}

impl Remote {
    /// What lets others see the page by these files. It reads them.
    pub fn new(files: PageFiles) -> Self {
        let remote = Remote { files, read: Mutex::default() };
        remote.look();
        remote
    }

    /// Whether these are its files.
    pub fn is_of(&self, files: &PageFiles) -> bool {
        self.files == *files
    }

    /// What the files say now. They are small and read for each connection, so that each counts as
    /// soon as it is replaced.
    pub fn look(&self) -> Access {
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        let contents = Contents::read(&self.files);
        let fingerprint = contents.fingerprint();
        if read.fingerprint != fingerprint {
            let (found, faults) = contents.judge(&self.files);
            for fault in faults {
                tracing::warn!("for the status page on other machines: {fault}");
            }
            read.take(fingerprint, found);
        }
        read.access.clone()
    }
}

impl Read {
    /// A certificate that cannot be used leaves the one before; who may see the page is never left
    /// to an earlier file.
    fn take(&mut self, fingerprint: Digest, found: Found) {
        self.fingerprint = fingerprint;
        self.certified = found.certified.or(self.certified.take());
        let tls = self.certified.as_ref().and_then(|certified| configuration(certified, found.authorities.clone()));
        let (passwords, asks_certificate) = (found.passwords.map(Arc::new), found.authorities.is_some());
        self.access = Access { tls, passwords, asks_certificate };
    }
}

/// How TLS is spoken; clients may show no certificate, because health checks need none.
fn configuration(certified: &Arc<CertifiedKey>, authorities: Option<RootCertStore>) -> Option<Arc<ServerConfig>> {
    let provider: Arc<CryptoProvider> = Arc::new(ring::default_provider());
    let builder =
        ServerConfig::builder_with_provider(Arc::clone(&provider)).with_safe_default_protocol_versions().ok()?;
    let builder = match authorities.filter(|authorities| !authorities.is_empty()) {
        Some(authorities) => {
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(authorities), provider);
            builder.with_client_cert_verifier(verifier.allow_unauthenticated().build().ok()?)
        }
        None => builder.with_no_client_auth(),
    };
    let mut configuration = builder.with_cert_resolver(Arc::new(SingleCertAndKey::from(Arc::clone(certified))));
    configuration.alpn_protocols = vec![b"http/1.1".to_vec()];
    // Whoever resumes a session shows no certificate, which may have ended meanwhile.
    configuration.session_storage = Arc::new(NoServerSessionStorage {});
    Some(Arc::new(configuration))
}

/// What a connection has shown.
#[derive(Debug, Clone)]
pub struct Proof {
    access: Access,
    certificate: bool,
}

/// A connection that speaks as it began.
pub enum Spoken {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>, Proof),
}

/// Waits for the first byte of a connection, and for all of the handshake where it begins one.
pub async fn accept(stream: TcpStream, remote: Option<Arc<Remote>>) -> io::Result<Spoken> {
    let mut first = [0];
    let Some(remote) = remote else { return Ok(Spoken::Plain(stream)) };
    if stream.peek(&mut first).await? == 0 || first != [HANDSHAKE] {
        return Ok(Spoken::Plain(stream));
    }
    let access = spawn_blocking(move || remote.look()).await?;
    let tls = access.tls.clone().ok_or_else(|| io::Error::other("there is no certificate that can be used"))?;
    let stream = TlsAcceptor::from(tls).accept(stream).await?;
    let certificate = stream.get_ref().1.peer_certificates().is_some();
    Ok(Spoken::Tls(Box::new(stream), Proof { access, certificate }))
}

/// Why somebody may not see the page now.
#[derive(Debug, PartialEq, Eq)]
pub struct Refusal(pub StatusCode, pub &'static str);

impl Proof {
    /// Whether the page may be shown: all that is asked for is needed.
    pub async fn admits(&self, headers: &HeaderMap, from: IpAddr) -> Result<(), Refusal> {
        if self.access.asks_certificate && !self.certificate {
            return Err(Refusal(StatusCode::FORBIDDEN, "a certificate of an authority in http.client-ca is needed\n"));
        }
        let Some(passwords) = &self.access.passwords else { return Ok(()) };
        let reported = headers.get(AUTHORIZATION).and_then(|value| basic(value.as_bytes()));
        let verdict = match reported {
            Some((name, password)) => passwords.judge(&name, &password, from).await,
            None => PasswordCheck::Wrong,
        };
        match verdict {
            PasswordCheck::Right => Ok(()),
            PasswordCheck::Wrong => Err(Refusal(StatusCode::UNAUTHORIZED, "a name and a password are needed\n")),
            PasswordCheck::Early => Err(Refusal(StatusCode::TOO_MANY_REQUESTS, "ask again in two seconds\n")),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt as _;
    use std::path::PathBuf;

    use hyper::header::HeaderValue;
    use rcgen::{CertifiedKey as Made, generate_simple_self_signed};
    use rustls::{ClientConfig, ClientConnection, HandshakeKind, ServerConnection};

    use super::*;
    use crate::daemon::http::faults;

    const NOW: i64 = 1_800_000_000;

    struct Folder(tempfile::TempDir);

    impl Folder {
        fn new() -> Self {
            let folder = Folder(tempfile::tempdir().unwrap());
            folder.make_pair();
            folder.write("passwords", &format!("ann:{}\n", bcrypt::hash("geheim", 4).unwrap()));
            folder
        }

        fn path(&self, name: &str) -> PathBuf {
            self.0.path().join(name)
        }

        fn write(&self, name: &str, text: &str) {
            fs::write(self.path(name), text).unwrap();
            fs::set_permissions(self.path(name), Permissions::from_mode(0o600)).unwrap();
        }

        /// Returns the certificate.
        fn make_pair(&self) -> Vec<u8> {
            let Made { cert, signing_key } = generate_simple_self_signed(["edge1.example".to_owned()]).unwrap();
            self.write("certificate", &cert.pem());
            self.write("key", &signing_key.serialize_pem());
            cert.der().to_vec()
        }

        fn files(&self, passwords: bool, authorities: bool) -> PageFiles {
            PageFiles {
                certificate: self.path("certificate"),
                key: self.path("key"),
                passwords: passwords.then(|| self.path("passwords")),
                authorities: authorities.then(|| self.path("authorities")),
            }
        }
    }

    /// The certificate in use.
    fn shown(remote: &Remote) -> Option<Vec<u8>> {
        remote.look();
        remote.read.lock().unwrap().certified.as_ref().map(|certified| certified.cert[0].to_vec())
    }

    #[test]
    fn a_certificate_is_used_as_soon_as_it_is_there_and_until_a_good_one_replaces_it() {
        let folder = Folder::new();
        let remote = Remote::new(folder.files(true, false));
        let second = folder.make_pair();
        assert_eq!(shown(&remote), Some(second.clone()));
        for name in ["certificate", "key"] {
            let good = fs::read_to_string(folder.path(name)).unwrap();
            folder.write(name, "nonsense");
            assert_eq!(shown(&remote), Some(second.clone()), "{name}");
            fs::remove_file(folder.path(name)).unwrap();
            assert_eq!(shown(&remote), Some(second.clone()), "{name}");
            folder.write(name, &good);
        }
        // A new certificate without its key is no pair.
        let key = fs::read_to_string(folder.path("key")).unwrap();
        let third = folder.make_pair();
        let (other, third_key) = (key, fs::read_to_string(folder.path("key")).unwrap());
        folder.write("key", &other);
        assert_eq!(shown(&remote), Some(second));
        folder.write("key", &third_key);
        assert_eq!(shown(&remote), Some(third));
        assert!(remote.look().tls.is_some());
    }

    #[test]
    fn each_file_that_is_wrong_is_named_with_the_remedy() {
        let folder = Folder::new();
        let files = folder.files(true, true);
        folder.write("authorities", &fs::read_to_string(folder.path("certificate")).unwrap());
        assert_eq!(faults(&files, NOW), []);
        let reported = || faults(&files, NOW).iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
        let mode = |name: &str, mode| fs::set_permissions(folder.path(name), Permissions::from_mode(mode)).unwrap();
        mode("key", 0o644);
        assert!(
            reported().ends_with("/key can be used by everybody; run chmod o= on it, and make a new key"),
            "{}",
            reported()
        );
        assert!(faults(&files, NOW)[0].is_used);
        mode("key", 0o640);
        mode("passwords", 0o640);
        assert!(
            reported().contains("/passwords is refused: others than its owner may use it (mode 0640); run chmod 600")
        );
        mode("passwords", 0o600);
        for (name, text, words) in [
            ("certificate", "", "/certificate has no certificate; put it there as PEM"),
            ("key", "", "/key has no private key ("),
            (
                "passwords",
                "ann",
                "/passwords cannot be used: line 1 is not NAME:HASH; make lines with htpasswd -B -C 10",
            ),
            ("authorities", "x", "/authorities has no certificate; put"),
        ] {
            let good = fs::read_to_string(folder.path(name)).unwrap();
            folder.write(name, text);
            assert!(reported().contains(words) && faults(&files, NOW).len() == 1, "{name}: {}", reported());
            fs::remove_file(folder.path(name)).unwrap();
            assert!(reported().contains(&format!("/{name} cannot be read: ")), "{name}: {}", reported());
            folder.write(name, &good);
        }
        folder.make_pair();
        assert_eq!(reported(), "", "a pair may be replaced");
        let [ended] = &faults(&files, i64::MAX)[..] else { panic!("{}", reported()) };
        assert!(ended.what.ends_with("/certificate has ended, so browsers refuse it") && ended.is_used, "{ended}");
        assert!(faults(&files, 0)[0].what.ends_with("/certificate is not valid yet by the clock of this host"));
    }

    /// Shakes hands as a client that has these sessions, and takes what the server sends for the
    /// next one. Returns how it went.
    fn handshake(server: &Arc<ServerConfig>, client: &Arc<ClientConfig>) -> Option<HandshakeKind> {
        let mut client = ClientConnection::new(Arc::clone(client), "edge1.example".try_into().unwrap()).unwrap();
        let mut server = ServerConnection::new(Arc::clone(server)).unwrap();
        let mut bytes = Vec::new();
        while client.wants_write() || server.wants_write() {
            while client.wants_write() {
                client.write_tls(&mut bytes).unwrap();
            }
            while !bytes.is_empty() {
                let read = server.read_tls(&mut &*bytes).unwrap();
                bytes.drain(..read);
                server.process_new_packets().unwrap();
            }
            while server.wants_write() {
                server.write_tls(&mut bytes).unwrap();
            }
            while !bytes.is_empty() {
                let read = client.read_tls(&mut &*bytes).unwrap();
                bytes.drain(..read);
                client.process_new_packets().unwrap();
            }
        }
        assert!(!client.is_handshaking() && !server.is_handshaking());
        client.handshake_kind()
    }

    #[test]
    fn no_session_is_resumed_because_that_shows_no_certificate() {
        let folder = Folder::new();
        let mut roots = RootCertStore::empty();
        roots.add(folder.make_pair().into()).unwrap();
        let server = Remote::new(folder.files(true, false)).look().tls.unwrap();
        for version in [&rustls::version::TLS12, &rustls::version::TLS13] {
            let client = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
            let client = client.with_protocol_versions(&[version]).unwrap();
            let client = Arc::new(client.with_root_certificates(roots.clone()).with_no_client_auth());
            for _ in 0..2 {
                assert_eq!(handshake(&server, &client), Some(HandshakeKind::Full), "{version:?}");
            }
        }
    }

    #[tokio::test]
    async fn all_that_is_asked_for_is_needed_and_what_cannot_be_read_admits_nobody() {
        let folder = Folder::new();
        folder.write("authorities", &fs::read_to_string(folder.path("certificate")).unwrap());
        let from = "192.0.2.7".parse().unwrap();
        let admits = async |access: &Access, certificate, reported: Option<&str>| {
            let headers = reported
                .map(|reported| (AUTHORIZATION, HeaderValue::from_str(reported).unwrap()))
                .into_iter()
                .collect();
            let admitted = Proof { access: access.clone(), certificate }.admits(&headers, from).await;
            admitted.map_or_else(|refusal| refusal.0.as_u16(), |()| 200)
        };
        let (right, none) = (Some("Basic YW5uOmdlaGVpbQ=="), None);
        for (passwords, authorities, expected) in [
            (true, false, [401, 401, 200, 200]),
            (false, true, [403, 200, 403, 200]),
            (true, true, [403, 401, 403, 200]),
        ] {
            let access = Remote::new(folder.files(passwords, authorities)).look();
            for ((certificate, reported), expected) in
                [(false, none), (true, none), (false, right), (true, right)].into_iter().zip(expected)
            {
                assert_eq!(
                    admits(&access, certificate, reported).await,
                    expected,
                    "{passwords} {authorities} {certificate}"
                );
            }
        }
        let remote = Remote::new(folder.files(true, true));
        fs::remove_file(folder.path("passwords")).unwrap();
        assert_eq!(admits(&remote.look(), true, right).await, 401);
        fs::remove_file(folder.path("authorities")).unwrap();
        let access = remote.look();
        assert_eq!(admits(&access, false, right).await, 403);
        assert!(access.tls.is_some(), "health checks go on");
    }
}
