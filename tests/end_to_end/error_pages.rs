//! Responses of the default backend instead of the backend of a path.

use ingressd_echo::Echo;
use rig::client::{Reply, get};
use rig::manifests::{Ingress, endpoint_slice, ingress, service, service_at};

/// Port of the backend with the error pages.
const PAGES: u16 = 9090;

fn with(name: &str, class: &str, service: &str, annotations: &[(&str, &str)]) -> Ingress {
    let base = ingress(name).class(class).path(&format!("{name}.test"), "Prefix", "/", service);
    annotations.iter().fold(base, |ingress, (key, value)| ingress.annotation(key, value))
}

/// Which backend answered, where one did.
fn backend(reply: &Reply) -> Option<String> {
    reply.try_echo().map(|echo| echo.name)
}

#[test]
fn the_default_backend_answers_where_the_object_wants_it() {
    rig::run(async |rig| {
        rig.backends.serve(PAGES, Echo::plain("pages")).await;
        let pages = ("default-backend", "pages");
        let statuses = ("custom-http-errors", "404,502,503");
        let mut objects = vec![
            with("shop", "nginx", "web", &[statuses, pages]).build(),
            with("spec", "ingressd", "web", &[statuses, pages]).build(),
            with("open", "nginx", "web", &[statuses, pages, ("disable-proxy-intercept-errors", "true")]).build(),
            with("down", "nginx", "down", &[statuses, pages]).build(),
            with("gone", "nginx", "gone", &[pages]).build(),
            with("bare", "nginx", "gone", &[]).build(),
            with("nobody", "nginx", "web", &[statuses]).build(),
            service("gone", 8080),
        ];
        objects.extend(service_at("pages", &["10.244.7.7"], PAGES));
        // No process listens there.
        objects.extend([service("down", 9), endpoint_slice("down", &["10.244.7.8"], 9)]);
        rig.manifests.write("objects.yaml", &objects);
        rig.start().await;
        for (url, status, answered, path) in [
            ("http://shop.test/x?status=404", 404, Some("pages"), "/?status=404"),
            ("http://spec.test/x?status=503", 503, Some("pages"), "/?status=503"),
            ("http://shop.test/x?status=500", 500, Some("echo"), "/x?status=500"),
            ("http://shop.test/x", 200, Some("echo"), "/x"),
            ("http://open.test/x?status=404", 404, Some("echo"), "/x?status=404"),
            // The other backend replaces nginx's own answer, with a status of its own.
            ("http://down.test/x", 200, Some("pages"), "/"),
            // While no endpoint is ready, the other backend gets all requests unchanged.
            ("http://gone.test/x?status=418", 418, Some("pages"), "/x?status=418"),
            ("http://bare.test/", 503, None, ""),
            ("http://nobody.test/x?status=404", 404, Some("echo"), "/x?status=404"),
        ] {
            let reply = get(url).send().await;
            assert_eq!((reply.status, backend(&reply).as_deref()), (status, answered), "{url}");
            if let Some(echo) = reply.try_echo() {
                assert_eq!(echo.path, path, "{url}");
            }
        }
        for (url, header, reported) in [
            ("http://shop.test/x?status=404", "x-code", "404"),
            ("http://down.test/x", "x-code", "502"),
            ("http://gone.test/x", "x-code", "503"),
            ("http://gone.test/x", "x-service-name", "gone"),
            ("http://shop.test/x?status=404", "x-format", "text/x-test"),
            ("http://shop.test/x?status=404", "x-original-uri", "/x?status=404"),
            ("http://shop.test/x?status=404", "x-namespace", "default"),
            ("http://shop.test/x?status=404", "x-ingress-name", "shop"),
            ("http://shop.test/x?status=404", "x-service-name", "web"),
            ("http://shop.test/x?status=404", "x-service-port", "80"),
            ("http://shop.test/x?status=404", "host", "shop.test"),
        ] {
            let echo = get(url).header("Accept", "text/x-test").send().await.echo();
            assert_eq!(echo.header(header), Some(reported), "{url} {header}");
        }
    });
}
