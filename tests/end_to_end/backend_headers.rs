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
fn the_backend_is_told_what_the_object_says() {
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
                with("grpc", "nginx", &[("upstream-vhost", "internal.example.com")]).build(),
            ],
        );
        rig.start().await;
        for (url, header, told) in [
            ("http://fixed.test/", "host", Some("internal.example.com:81")),
            ("http://fixed.test/", "x-forwarded-host", Some("fixed.test")),
            ("http://mesh.test/", "host", Some("web.default.svc.80")),
            ("http://spec.test/", "host", Some("spec-spec.test")),
            ("http://closes.test/", "connection", Some("close")),
            ("http://text.test/shop/x", "x-forwarded-prefix", Some("/app")),
            ("http://captured.test/shop/x", "x-forwarded-prefix", Some("/shop")),
            // Without a rewrite no prefix was removed.
            ("http://plain.test/", "x-forwarded-prefix", None),
        ] {
            let echo = get(url).header("X-Forwarded-Prefix", "/forged").send().await.echo();
            assert_eq!(echo.header(header), told, "{url} {header}");
            // All other headers are sent as before.
            assert!(echo.header("x-real-ip").is_some(), "{url}");
        }
        assert_eq!(get("http://captured.test/shop/x?y=1").send().await.echo().path, "/x?y=1");
    });
}

#[test]
fn cookies_and_redirects_of_the_backend_are_changed() {
    rig::run(async |rig| {
        let redirects = [("proxy-redirect-from", "http://inner/"), ("proxy-redirect-to", "https://outer.example/x/")];
        rig.manifests.write(
            "changed.yaml",
            &[
                with("domain", "nginx", &[("proxy-cookie-domain", "inner.test outer.test")]).build(),
                with("path", "nginx", &[("proxy-cookie-path", "/inner/ /")]).build(),
                with("redirect", "nginx", &redirects).build(),
                with("off", "nginx", &[("proxy-redirect-from", "off"), ("proxy-cookie-path", "off")]).build(),
            ],
        );
        rig.start().await;
        for (host, header, sent, expected) in [
            ("domain", "set-cookie", "a=b;%20Domain%3Dinner.test", "a=b; Domain=outer.test"),
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
