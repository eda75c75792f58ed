//! The status page as other machines see it: over TLS, by a password and a certificate.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use rig::Rig;
use rig::authority::{Authority, Signed};
use rig::client::{Reply, Request, get};
use rig::manifests::ingress;

/// An address that is no loopback: whoever connects to it comes from it.
const NODE: [u8; 4] = [10, 244, 9, 9];

/// `ann:geheim` and `ann:wrong`.
const RIGHT: &str = "Basic YW5uOmdlaGVpbQ==";
const WRONG: &str = "Basic YW5uOndyb25n";

fn write(folder: &Path, name: &str, text: &str) -> String {
    let file = folder.join(name);
    fs::write(&file, text).unwrap();
    fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
    file.to_str().unwrap().to_owned()
}

fn put(folder: &Path, pair: &Signed) -> [String; 2] {
    [write(folder, "page.crt", &pair.chain), write(folder, "page.key", &pair.key)]
}

fn set(rig: &mut Rig, pair: &Signed) {
    let [certificate, key] = put(rig.folder(), pair);
    rig.daemon.set("http.hosts", r#"["edge1.example"]"#);
    for (name, value) in
        [("ADDRESS", "0.0.0.0:10254"), ("REMOTE", "true"), ("CERTIFICATE", &certificate), ("KEY", &key)]
    {
        rig.daemon.set_variable(&format!("INGRESSD_HTTP_{name}"), value);
    }
}

fn set_passwords(rig: &mut Rig) {
    let file = write(rig.folder(), "passwords", &format!("ann:{}\n", bcrypt::hash("geheim", 4).unwrap()));
    rig.daemon.set_variable("INGRESSD_HTTP_PASSWORD_FILE", &file);
}

fn ask(url: &str) -> Request {
    get(url).to(NODE)
}

fn reported(reply: &Reply) -> (u16, String) {
    (reply.status, reply.text())
}

#[test]
fn other_machines_see_the_page_over_tls_with_password_and_certificate() {
    rig::run(async |rig| {
        let authority = Authority::new("edge");
        let (client, stranger) = (authority.signs("ann", 7), Authority::new("other").signs("eve", 8));
        set(rig, &authority.signs_host("edge1.example"));
        set_passwords(rig);
        let file = write(rig.folder(), "clients.crt", &authority.pem());
        rig.daemon.set_variable("INGRESSD_HTTP_CLIENT_CA", &file);
        rig.manifests.write("a.yaml", &[ingress("a").host("a.example", "web").build()]);
        rig.start().await;
        for path in ["", "status.json", "events", "page.js"] {
            let (plain, tls) =
                (format!("http://10.244.9.9:10254/{path}"), format!("https://edge1.example:10254/{path}"));
            let by_plain = ask(&plain).header("authorization", RIGHT).send().await;
            assert_eq!(reported(&by_plain), (403, "other machines see that over TLS only: ask with https://\n".into()));
            assert_eq!(
                ask(&tls).header("authorization", RIGHT).send().await.status,
                403,
                "{path} without a certificate"
            );
            let without = ask(&tls).showing(&client).send().await;
            assert_eq!(without.status, 401, "{path}");
            assert_eq!(without.header("www-authenticate"), Some(r#"Basic realm="ingressd", charset="UTF-8""#));
            assert!(!without.text().contains("a.example"));
        }
        assert!(ask("https://edge1.example:10254/").showing(&stranger).try_send().await.is_err(), "no handshake");

        let page = ask("https://edge1.example:10254/").showing(&client).header("authorization", RIGHT);
        let seen = page.clone().send().await;
        assert!(seen.status == 200 && seen.text().contains("a.example"), "{}", seen.text());
        let events = ask("https://edge1.example:10254/events").showing(&client).header("authorization", RIGHT);
        events.open_stream().await.unwrap();
        let rebound = page.clone().header("host", "rebound.example");
        assert_eq!(rebound.send().await.status, 421);
        let other_site = page.clone().header("sec-fetch-site", "cross-site").header("sec-fetch-dest", "empty");
        assert_eq!(other_site.send().await.status, 403);

        // What was found right before needs no hash, whatever is wrong meanwhile.
        let guess = ask("https://edge1.example:10254/").showing(&client).header("authorization", WRONG);
        assert_eq!(guess.send().await.status, 401);
        assert_eq!(page.send().await.status, 200);

        // Health and metrics are as before, and so is everything on loopback; there TLS is no
        // matter either.
        for (url, expected) in [("http://10.244.9.9:10254", 200), ("https://edge1.example:10254", 200)] {
            for path in ["healthz", "readyz", "metrics"] {
                assert_eq!(ask(&format!("{url}/{path}")).send().await.status, expected, "{url}/{path}");
            }
        }
        for url in ["http://127.0.0.1:10254/", "https://127.0.0.1:10254/status.json"] {
            assert_eq!(get(url).sni(None).send().await.status, 200, "{url}");
        }
    });
}

#[test]
fn a_new_certificate_is_used_at_once_and_ends_no_connection() {
    rig::run(async |rig| {
        let authority = Authority::new("edge");
        let names = async || {
            let reply = ask("https://edge1.example:10254/").header("authorization", RIGHT).try_send().await;
            reply.map(|reply| (reply.status, reply.peer.unwrap().names)).ok()
        };
        set(rig, &authority.signs_host("first.example"));
        set_passwords(rig);
        rig.start().await;
        assert_eq!(names().await, Some((200, vec!["first.example".to_owned()])));
        let page = ask("https://edge1.example:10254/").header("authorization", RIGHT);
        let mut open = page.connect().await.unwrap();
        assert_eq!(open.send(&page).await.unwrap().status, 200);
        put(rig.folder(), &authority.signs_host("second.example"));
        assert_eq!(names().await, Some((200, vec!["second.example".to_owned()])));
        // What cannot be used changes nothing, not even when the settings are read again.
        write(rig.folder(), "page.key", "nonsense");
        assert_eq!(names().await, Some((200, vec!["second.example".to_owned()])));
        let reload = rig.daemon.command("reload").output().unwrap();
        assert!(reload.status.success(), "{}", String::from_utf8_lossy(&reload.stderr));
        assert_eq!(names().await, Some((200, vec!["second.example".to_owned()])));
        assert!(rig.daemon.log().contains("page.key has no private key"), "{}", rig.daemon.log());
        let doctor = rig.daemon.command("doctor").arg("status-page").output().unwrap();
        let reported = String::from_utf8_lossy(&doctor.stdout).into_owned();
        assert!(doctor.status.code() == Some(2) && reported.contains("page.key has no private key"), "{reported}");
        assert_eq!(open.send(&page).await.unwrap().status, 200, "an open connection goes on");
        // Whoever is no longer named is out with the next connection.
        fs::remove_file(rig.folder().join("passwords")).unwrap();
        assert_eq!(names().await.unwrap().0, 401);
    });
}
