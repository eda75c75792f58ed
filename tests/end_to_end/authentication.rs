//! Basic authentication.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;

use base64::Engine;
use nix::unistd::Pid;

use rig::client::{Request, get};
use rig::manifests::{Ingress, ingress, secret};
use rig::namespace::has_users;
use rig::wait;

/// The password is `secret`, by `openssl passwd -apr1`.
const HASH: &str = "$apr1$ingressd$yUwEQ6DErlP6TQvhuj7Mm0";

fn private(name: &str, users: &str) -> Ingress {
    let host = format!("{name}.test");
    ingress(name).host(&host, "web").annotation("auth-type", "basic").annotation("auth-secret", users)
}

fn with_password(url: &str, user: &str, password: &str) -> Request {
    let encoded = base64::engine::general_purpose::STANDARD.encode(format!("{user}:{password}"));
    get(url).header("Authorization", &format!("Basic {encoded}"))
}

#[test]
fn both_types_of_secrets_let_in_who_knows_the_password() {
    rig::run(async |rig| {
        rig.manifests.write(
            "private.yaml",
            &[
                secret("file", "Opaque", &[("auth", &format!("ann:{HASH}\n"))]),
                secret("map", "Opaque", &[("ann", HASH), ("bob", HASH)]),
                private("file", "file").annotation("auth-realm", "Staff only").build(),
                private("map", "map").annotation("auth-secret-type", "auth-map").build(),
                private("missing", "absent").build(),
                private("foreign", "elsewhere/file").build(),
            ],
        );
        rig.start().await;
        for host in ["file", "map"] {
            let url = format!("http://{host}.test/");
            let refused = get(&url).send().await;
            assert_eq!(refused.status, 401, "{host}");
            assert!(refused.header("www-authenticate").unwrap().starts_with("Basic realm="), "{host}");
            let reply = with_password(&url, "ann", "secret").send().await;
            assert_eq!(reply.status, 200, "{host}");
            assert_eq!(reply.echo().header("authorization"), None, "the backend does not see the password");
            assert_eq!(with_password(&url, "ann", "wrong").send().await.status, 401, "{host}");
        }
        assert_eq!(
            get("http://file.test/").send().await.header("www-authenticate"),
            Some("Basic realm=\"Staff only\"")
        );
        assert_eq!(with_password("http://map.test/", "bob", "secret").send().await.status, 200);
        assert_eq!(with_password("http://file.test/", "bob", "secret").send().await.status, 401);
        for host in ["missing", "foreign"] {
            assert_eq!(
                with_password(&format!("http://{host}.test/"), "ann", "secret").send().await.status,
                503,
                "{host}"
            );
        }
    });
}

#[test]
fn workers_that_become_another_user_still_read_the_passwords() {
    // Without other users the test cannot change its user.
    if !has_users() {
        return;
    }
    rig::run(async |rig| {
        let users = secret("users", "Opaque", &[("auth", &format!("ann:{HASH}\n"))]);
        rig.manifests.write("private.yaml", &[users, private("private", "users").build()]);
        rig.start().await;
        let open = with_password("http://private.test/", "ann", "secret");
        assert_eq!(open.clone().send().await.status, 200);
        let folder = rig.daemon.root().join("current/auth");
        let groups = || {
            let files = fs::read_dir(&folder).into_iter().flatten().flatten();
            files.filter_map(|file| Some(file.metadata().ok()?.gid())).collect::<BTreeSet<_>>()
        };
        let before = groups();
        // The files have the same contents: only the group that may read them differs, which the
        // administrator never tells the daemon.
        let configuration = fs::read_to_string(rig.nginx.configuration()).unwrap();
        let changed = configuration.replace("user www-data;", "user nobody daemon;");
        assert_ne!(changed, configuration);
        fs::write(rig.nginx.configuration(), changed).unwrap();
        let others = wait::until_right("another group", async || groups(), |groups| *groups != before).await;
        assert_eq!(others, [group("daemon")].into());
        let has_group = |worker: &Pid| {
            let status = fs::read_to_string(format!("/proc/{worker}/status")).unwrap_or_default();
            let line = status.lines().find_map(|line| line.strip_prefix("Gid:")).unwrap_or_default().to_owned();
            line.split_whitespace().next() == Some(&group("daemon").to_string())
        };
        let workers = async || rig.nginx.workers().iter().map(has_group).collect::<Vec<_>>();
        wait::until_right("workers of another group", workers, |workers| *workers == [true, true]).await;
        assert_eq!(open.send().await.status, 200);
    });
}

fn group(name: &str) -> u32 {
    nix::unistd::Group::from_name(name).unwrap().unwrap().gid.as_raw()
}
