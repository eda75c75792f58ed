//! Certificates with an answer about their revocation (OCSP stapling): nginx asks only responders
//! that the administrator lists.

use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};

use tokio::io::{AsyncBufReadExt as _, BufReader};

use crate::config_map::says;
use crate::rig::manifests::{ingress, secret};
use crate::rig::status::notes;
use crate::rig::{self, wait};

/// Makes an authority, and certificates of the hosts `one.test` and `other.test` with these
/// responders.
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
printf 'V\t491231235959Z\t\t10\tunknown\t/CN=one.test\nV\t491231235959Z\t\t11\tunknown\t/CN=other.test\n' > index
"#;

/// The output of OpenSSL about a handshake in which it asks for a stapled response.
fn handshake(host: &str) -> String {
    let mut command = Command::new("openssl");
    command.args(["s_client", "-connect", "127.0.0.1:443", "-servername", host, "-status"]);
    let output = command.stdin(Stdio::null()).output().unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn a_listed_responder_is_asked_and_no_other_one() {
    rig::run(async |rig| {
        let folder = rig.folder().to_owned();
        let made = Command::new("sh").args(["-c", AUTHORITY]).current_dir(&folder).output().unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let mut responder = tokio::process::Command::new("openssl");
        responder.args("ocsp -index index -port 2560 -rsigner authority.pem -rkey authority.key".split(' '));
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
        let objects = [certificate("one"), certificate("other"), host("one"), host("other")];
        rig.manifests.write("objects.yaml", &objects);
        rig.daemon.set("ingress-nginx.configmap", "default/controller");
        rig.daemon.set("tls.ocsp-responders", "ocsp.test=127.0.0.1:2560");
        says(rig, &[("enable-ocsp", "true")]);
        // An address needs no resolver, and one that never answers does no harm.
        rig.nginx.write_site("resolver.conf", "resolver 127.0.0.1:2562;\n");
        rig.start().await;

        // nginx asks the responder at the first handshake, and staples the answer from then on.
        let told = |text: &String| text.contains("OCSP Response Status: successful") && text.contains("Status: good");
        wait::until_right("an answer about the certificate", async || handshake("one.test"), told).await;
        let status = rig.daemon.status().await.unwrap();
        assert!(notes(&status, "Secret one", "NotStapled").is_empty());
        let note = notes(&status, "Secret other", "NotStapled").join("\n");
        assert!(note.contains("http://127.0.0.1:2561/") && note.contains("tls.ocsp-responders"), "{note}");
        for _ in 0..2 {
            let told = handshake("other.test");
            assert!(told.contains("OCSP response: no response sent") && told.contains("CN = other.test"), "{told}");
        }
        assert!(stranger.accept().is_err(), "nobody asks there");
    });
}
