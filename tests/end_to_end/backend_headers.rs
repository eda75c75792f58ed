//! Annotations that change headers, cookies and redirects between client and backend.
use rig::client::{Reply, get};
use rig::manifests::{Ingress, ingress};

fn with(name: &str, class: &str, annotations: &[(&str, &str)]) -> Ingress {
    let base = ingress(name).class(class).host(&format!("{name}.test"), "web");
    annotations.iter().fold(base, |ingress, (key, value)| ingress.annotation(key, value))
}

/// Asks for an answer with a header of the backend's.
async fn answer(host: &str, header: &str) -> Reply {
    get(&format!("http://{host}.test/?header={header}")).send().await
}

#[test]
fn the_backend_gets_what_the_object_says() {
    rig::run(async |rig| {
        let prefix = |name: &str, value: &str| {
            ingress(name)
                .class("nginx")
                .path(&format!("{name}.test"), "ImplementationSpecific", "/(app|shop)(/|$)(.*)", "web")
                .annotation("use-regex", "true")
                .annotation("rewrite-target", "/$3")
                .annotation("x-forwarded-prefix", value)
                .build()
        };
        let team = |name: &str, kind: &str| {
            let path = "/(team1|team2)(/|$)(.*)";
            let team = ingress(name).class("nginx").path(&format!("{name}.test"), kind, path, "web");
            team.annotation("upstream-vhost", "$1.internal.example").annotation("enable-cors", "true")
        };
        rig.manifests.write(
            "told.yaml",
            &[
                with("fixed", "nginx", &[("upstream-vhost", "internal.example.com:81")]).build(),
                with("mesh", "nginx", &[("upstream-vhost", "$service_name.$namespace.svc.$service_port")]).build(),
                with("spec", "ingressd", &[("upstream-vhost", "$ingress_name-$host")]).build(),
                with("closes", "ingressd", &[("connection-proxy-header", "close")]).build(),
                prefix("text", "/app"),
                prefix("captured", "/$1"),
                with("plain", "nginx", &[("x-forwarded-prefix", "/app")]).build(),
                team("team", "ImplementationSpecific").annotation("rewrite-target", "/$3").build(),
                team("regex", "ImplementationSpecific").annotation("use-regex", "true").build(),
                with("grpc", "nginx", &[("upstream-vhost", "internal.example.com")]).build(),
            ],
        );
        rig.start().await;
        for (url, header, reported) in [
            ("http://fixed.test/", "host", Some("internal.example.com:81")),
            ("http://fixed.test/", "x-forwarded-host", Some("fixed.test")),
            ("http://mesh.test/", "host", Some("web.default.svc.80")),
            ("http://spec.test/", "host", Some("spec-spec.test")),
            ("http://closes.test/", "connection", Some("close")),
            ("http://text.test/shop/x", "x-forwarded-prefix", Some("/app")),
            ("http://captured.test/shop/x", "x-forwarded-prefix", Some("/shop")),
            ("http://team.test/team2/x", "host", Some("team2.internal.example")),
            ("http://regex.test/team1/x", "host", Some("team1.internal.example")),
            // Without a rewrite no prefix was removed.
            ("http://plain.test/", "x-forwarded-prefix", None),
        ] {
            let asked = get(url).header("X-Forwarded-Prefix", "/forged").header("Origin", "https://other.test");
            let echo = asked.send().await.echo();
            assert_eq!(echo.header(header), reported, "{url} {header}");
            // All other headers are sent as before.
            assert!(echo.header("x-real-ip").is_some(), "{url}");
        }
        assert_eq!(get("http://captured.test/shop/x?y=1").send().await.echo().path, "/x?y=1");
        assert_eq!(get("http://team.test/team1/x?y=1").send().await.echo().path, "/x?y=1");
        assert_eq!(get("http://regex.test/team1/x?y=1").send().await.echo().path, "/team1/x?y=1");
    });
}

#[test]
fn cookies_and_redirects_of_the_backend_are_changed() {
    rig::run(async |rig| {
        let redirects = [("proxy-redirect-from", "http://inner/"), ("proxy-redirect-to", "https://outer.example/x/")];
        let groups = |name: &str, from: &str, to: &str| {
            let host = format!("{name}.test");
            let groups = ingress(name).class("nginx").path(&host, "ImplementationSpecific", "/(app|shop)/", "web");
            let groups = groups.annotation("use-regex", "true").annotation("enable-cors", "true");
            let groups = groups.annotation("proxy-cookie-path", "/ /$1/");
            groups.annotation("proxy-redirect-from", from).annotation("proxy-redirect-to", to)
        };
        let loose = ingress("loose").class("nginx").path("loose.test", "ImplementationSpecific", "/(.*)/", "web");
        let loose = loose.annotation("use-regex", "true").annotation("proxy-cookie-path", "/ /$1");
        rig.manifests.write(
            "changed.yaml",
            &[
                loose.build(),
                with("domain", "nginx", &[("proxy-cookie-domain", "inner.test outer.test")]).build(),
                with("path", "nginx", &[("proxy-cookie-path", "/inner/ /")]).build(),
                with("redirect", "nginx", &redirects).build(),
                with("off", "nginx", &[("proxy-redirect-from", "off"), ("proxy-cookie-path", "off")]).build(),
                with("host", "nginx", &[("proxy-cookie-domain", "inner.test $host")]).build(),
                groups("group", "http://$host/", "https://outer.example/$1/").build(),
                groups("place", "/", "/$1/").build(),
                groups("rewritten", "/", "/$1/").annotation("rewrite-target", "/").build(),
            ],
        );
        rig.start().await;
        for (url, cookie, location) in [
            ("http://group.test/app/", "a=b; Path=/app/x", "https://outer.example/app/x"),
            ("http://place.test/shop/", "a=b; Path=/shop/x", "http://place.test/shop/x"),
            ("http://rewritten.test/shop/", "a=b; Path=/shop/x", "http://rewritten.test/shop/x"),
        ] {
            let sent = if url.contains("group") { "http://group.test/x" } else { "/x" };
            let reply = get(&format!("{url}?header=set-cookie:a%3Db;%20Path%3D/x&header=location:{sent}"));
            let reply = reply.header("Origin", "https://other.test").send().await;
            assert_eq!((reply.header("set-cookie"), reply.header("location")), (Some(cookie), Some(location)), "{url}");
        }
        // It would be an attribute of its own. Where the client encodes something, nginx does,
        // too.
        assert_eq!(get("http://loose.test/a;Domain=test/").send().await.status, 400);
        assert_eq!(get("http://loose.test/a/").send().await.status, 200);
        for (host, header, sent, expected) in [
            ("domain", "set-cookie", "a=b;%20Domain%3Dinner.test", "a=b; Domain=outer.test"),
            ("host", "set-cookie", "a=b;%20Domain%3Dinner.test", "a=b; Domain=host.test"),
            ("path", "set-cookie", "a=b;%20Path%3D/inner/x", "a=b; Path=/x"),
            ("off", "set-cookie", "a=b;%20Path%3D/inner/x", "a=b; Path=/inner/x"),
            ("redirect", "location", "http://inner/a", "https://outer.example/x/a"),
            ("redirect", "location", "http://other/a", "http://other/a"),
            ("off", "location", "http://inner/a", "http://inner/a"),
        ] {
            let reply = answer(host, &format!("{header}:{sent}")).await;
            assert_eq!(reply.header(header), Some(expected), "{host} {sent}");
        }
    });
}

#[test]
fn redirects_of_nginx_follow_the_object() {
    rig::run(async |rig| {
        rig.daemon.set("listen.http-port", "8081");
        let slash = |name: &str, annotation: Option<(&str, &str)>| {
            let base = ingress(name).class("nginx").path(&format!("{name}.test"), "Prefix", "/a/", "web");
            annotation.into_iter().fold(base, |ingress, (key, value)| ingress.annotation(key, value)).build()
        };
        let relative = slash("relative", Some(("relative-redirects", "true")));
        let port = slash("port", Some(("use-port-in-redirects", "true")));
        rig.manifests.write("slash.yaml", &[slash("absolute", None), relative, port]);
        rig.start().await;
        for (host, location) in
            [("absolute", "http://absolute.test/a/"), ("relative", "/a/"), ("port", "http://port.test:8081/a/")]
        {
            let reply = get(&format!("http://{host}.test:8081/a")).send().await;
            assert_eq!((reply.status, reply.header("location")), (301, Some(location)), "{host}");
        }
    });
}
