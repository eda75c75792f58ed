//! `ingressd explain --send` asks the real nginx, and says what it finds.

use std::process::Output;

use nix::sys::signal::Signal;
use serde_json::Value;

use rig::Rig;
use rig::client::get;
use rig::manifests::{ingress, secret, tls_secret};

async fn send(rig: &Rig, arguments: &[&str]) -> Output {
    let mut command = rig.daemon.command("explain");
    command.arg("--send").args(arguments);
    tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap()
}

#[test]
fn what_nginx_answers_is_compared_with_what_is_said() {
    rig::run(async |rig| {
        rig.serve(&["shop", "item", "rest"]);
        let of_nginx = |name: &str| ingress(name).class("nginx");
        let objects = [
            ingress("shop").host("shop.test", "shop").path("shop.test", "Prefix", "/idle", "absent").build(),
            tls_secret("cert", &["own.test"]),
            of_nginx("own").host("own.test", "shop").tls(&["own.test"], "cert").build(),
            of_nginx("asked")
                .host("asked.test", "shop")
                .annotation("auth-type", "basic")
                .annotation("auth-secret", "users")
                .build(),
            secret("users", "Opaque", &[("auth", "a:$apr1$x$vxlZ.6wQkoYjY5ZDKOuOA0\n")]),
            of_nginx("moved").host("moved.test", "shop").annotation("permanent-redirect", "https://new.test/").build(),
            of_nginx("regex")
                .path("regex.test", "ImplementationSpecific", "/(?!x)[a-z]+/item/.*", "item")
                .path("regex.test", "ImplementationSpecific", "/.*", "rest")
                .annotation("use-regex", "true")
                .build(),
        ];
        rig.manifests.write("objects.yaml", &objects);
        rig.start().await;
        for (url, code, expected) in [
            (
                "http://shop.test/cart?x=1",
                0,
                &["sent to 127.0.0.1:80: it is answered 200, by Service default/shop\nagrees with"][..],
            ),
            ("http://shop.test/idle", 0, &["it is answered 503\nagrees with"]),
            ("http://own.test/", 0, &["it is answered 308, to https://own.test\nagrees with"]),
            (
                "https://own.test:8443/",
                0,
                &["sent to 127.0.0.1:443: it is answered 200, by Service default/shop\nagrees"],
            ),
            ("http://asked.test/", 0, &["it is answered 401\n401 is what an option of those above may answer before"]),
            ("moved.test", 0, &["it is answered 301, to https://new.test/\nagrees with"]),
            ("http://nobody.test/", 1, &["it is answered 404\nagrees with"]),
            ("http://shop.test/../x", 1, &["it is answered 400\nagrees with"]),
            // What explain cannot judge, the answer tells.
            (
                "http://regex.test/a/item/7",
                0,
                &[
                    "unless nginx matches the expression /(?!x)",
                    "by Service default/",
                    "nginx matches the expression /(?!x)[a-z]+/item/.*: ",
                    "default/item was asked",
                ],
            ),
            ("http://regex.test/x/item/7", 0, &["by Service default/rest\nagrees with"]),
        ] {
            let output = send(rig, &[url]).await;
            let text = String::from_utf8(output.stdout).unwrap();
            println!("{text}");
            assert_eq!(output.status.code(), Some(code), "{url}: {text}");
            assert!(expected.iter().all(|words| text.contains(words)), "{url}: {expected:?} is not in\n{text}");
        }
        assert_eq!(send(rig, &["*"]).await.status.code(), Some(64));
        let file = rig.manifests.folder().join("objects.yaml");
        assert_eq!(send(rig, &["shop.test", file.to_str().unwrap()]).await.status.code(), Some(64));

        // Somebody changes what nginx runs, behind the daemon's back.
        let files = std::fs::read_dir(rig.daemon.root().join("current/http")).unwrap();
        let files = files.map(|file| file.unwrap().path());
        let texts = files.map(|file| (std::fs::read_to_string(&file).unwrap_or_default(), file));
        let (text, file) = { texts }.find(|(text, _)| text.contains("server_name \"shop.test\";")).unwrap();
        let edited = text.replace("location ^~ \"/\" {", "location ^~ \"/\" {\nreturn 302 https://evil.test/;\n");
        assert_ne!(edited, text);
        std::fs::write(file, edited).unwrap();
        rig.nginx.signal(Signal::SIGHUP);
        get("http://shop.test/cart").send_until("what nginx runs now", |reply| reply.status == 302).await;
        rig.nginx.settled_workers().await;
        let output = send(rig, &["http://shop.test/cart", "--json"]).await;
        let reported: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(output.status.code(), Some(2), "{reported:#}");
        let sent = &reported["sent"];
        assert_eq!((&sent["status"], &sent["location"]), (&302.into(), &"https://evil.test/".into()), "{sent}");
        assert_eq!(sent["differences"][1], "Ingress default/shop is said, and no Ingress has it", "{sent}");
        rig.nginx.stop().await;
        let output = send(rig, &["http://shop.test/"]).await;
        assert_eq!(output.status.code(), Some(69));
        assert!(String::from_utf8(output.stderr).unwrap().contains("nothing listens at 127.0.0.1:80"));
    });
}
