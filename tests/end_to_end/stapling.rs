//! Certificates with an answer about their revocation (OCSP stapling): nginx asks only responders
//! that the administrator lists.

use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};

use tokio::io::{AsyncBufReadExt as _, BufReader};

use crate::config_map::says;
use rig::dns::Dns;
use rig::manifests::{ingress, secret, service_at};
use rig::status::notes;
use rig::{Rig, wait};

/// The port of the responder.
const RESPONDER: u16 = 2560;

/// Makes an authority, and certificates of the hosts `one.test`, `other.test` and `public.test`
/// with these responders.
const AUTHORITY: &str = r#"set -e
new="-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes"
openssl req -x509 $new -keyout authority.key -out authority.pem -days 30 -subj /CN=authority
number=16
certify() {
    openssl req $new -keyout $1.key -out $1.csr -subj /CN=$1.test
    printf 'subjectAltName=DNS:%s.test\nauthorityInfoAccess=OCSP;URI:%s\n' $1 $2 > $1.ext
    openssl x509 -req -in $1.csr -CA authority.pem -CAkey authority.key -set_serial $number -days 20 \
        -extfile $1.ext -out $1.pem
    number=$((number + 1))
}
certify one http://ocsp.test/
certify other http://127.0.0.1:2561/
certify public http://ocsp.example.com/
number=10
for name in one other public; do
    printf 'V\t491231235959Z\t\t%s\tunknown\t/CN=%s.test\n' $number $name
    number=$((number + 1))
done > index
"#;

/// The output of OpenSSL about a handshake in which it asks for a stapled response.
fn handshake(host: &str) -> String {
    let mut command = Command::new("openssl");
    command.args(["s_client", "-connect", "127.0.0.1:443", "-servername", host, "-status"]);
    let output = command.stdin(Stdio::null()).output().unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The site in docs/security-review.md that passes questions on, with this resolver.
fn relay(resolver: &str) -> String {
    let page = include_str!("../../docs/security-review.md");
    let behind = page.split_once("# /etc/nginx/conf.d/ocsp.conf").unwrap().1.split_once('\n').unwrap().1;
    let site = behind.split_once("```").unwrap().0;
    assert!(site.contains("resolver 127.0.0.53;"), "{site}");
    site.replace("127.0.0.53", resolver)
}

/// The responder of a public authority answers questions for its name, on port 80.
fn public_responder(rig: &Rig, dns: &Dns) {
    dns.set("ocsp.example.com", &["10.244.0.80"]);
    let [service, endpoints] = service_at("responder", &["10.244.1.1"], RESPONDER);
    let host = ingress("responder").class("nginx").host("ocsp.example.com", "responder").build();
    rig.manifests.write("responder.yaml", &[service, endpoints, host]);
}

#[test]
fn a_listed_responder_is_asked_and_no_other_one() {
    rig::run(async |rig| {
        let folder = rig.folder().to_owned();
        let made = Command::new("sh").args(["-c", AUTHORITY]).current_dir(&folder).output().unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let mut responder = tokio::process::Command::new("openssl");
        responder.args("ocsp -index index -rsigner authority.pem -rkey authority.key -port".split(' '));
        responder.arg(RESPONDER.to_string());
        responder.args("-CA authority.pem -ndays 1".split(' ')).current_dir(&folder).kill_on_drop(true);
        let mut responder = responder.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(responder.stderr.take().unwrap()).lines();
        let line = lines.next_line().await.unwrap().unwrap_or_default();
        assert!(line.contains("waiting for OCSP client connections"), "{line}");
        let stranger = TcpListener::bind("127.0.0.1:2561").unwrap();
        stranger.set_nonblocking(true).unwrap();

        let certificate = |name: &str| {
            let read = |file: &str| std::fs::read_to_string(Path::new(&folder).join(file)).unwrap();
            let chain = read(&format!("{name}.pem")) + &read("authority.pem");
            secret(name, "kubernetes.io/tls", &[("tls.crt", &chain), ("tls.key", &read(&format!("{name}.key")))])
        };
        let host = |name: &str| {
            let host = format!("{name}.test");
            ingress(name).class("nginx").host(&host, "web").tls(&[&host], name).build()
        };
        for name in ["one", "other", "public"] {
            rig.manifests.write(&format!("{name}.yaml"), &[certificate(name), host(name)]);
        }
        let dns = Dns::start().await;
        public_responder(rig, &dns);
        rig.daemon.set("ingress-nginx.configmap", "default/controller");
        rig.daemon.set("tls.ocsp-responders", "ocsp.test=127.0.0.1:2560,ocsp.example.com=127.0.0.1:8889");
        says(rig, &[("enable-ocsp", "true")]);
        // An address needs no resolver, and one that never answers does no harm.
        rig.nginx.write_site("resolver.conf", "resolver 127.0.0.1:2562;\n");
        rig.nginx.write_site("ocsp.conf", &relay("10.244.0.53"));
        rig.start().await;

        // nginx asks the responder at the first handshake, and staples the answer from then on.
        let reported =
            |text: &String| text.contains("OCSP Response Status: successful") && text.contains("Status: good");
        for host in ["one.test", "public.test"] {
            wait::until_right("an answer about the certificate", async || handshake(host), reported).await;
        }
        let status = rig.daemon.status().await.unwrap();
        for name in ["one", "public"] {
            assert!(notes(&status, &format!("Secret {name}"), "NotStapled").is_empty());
        }
        let note = notes(&status, "Secret other", "NotStapled").join("\n");
        assert!(note.contains("http://127.0.0.1:2561/") && note.contains("tls.ocsp-responders"), "{note}");
        for _ in 0..2 {
            let reported = handshake("other.test");
            assert!(
                reported.contains("OCSP response: no response sent") && reported.contains("CN = other.test"),
                "{reported}"
            );
        }
        assert!(stranger.accept().is_err(), "nobody asks there");
    });
}
