//! Hosts with the same options share a `server` block, and clients see no difference.

use serde_json::Value;

use rig::client::get;
use rig::load::Load;
use rig::manifests::{Ingress, ingress, service_at, tls_secret};
use rig::{ECHO, status};

/// How many hosts there are: more than one block takes.
const COUNT: usize = 150;

fn host(number: usize) -> String {
    format!("host-{number}.example")
}

fn address(number: usize) -> String {
    format!("10.244.2.{number}")
}

fn object(number: usize) -> Ingress {
    let backend = format!("backend-{number}");
    ingress(&format!("ingress-{number}")).host(&host(number), &backend).path(&host(number), "Prefix", "/api", "web")
}

fn objects(change: impl Fn(usize, Ingress) -> Ingress) -> Vec<Value> {
    let services = (0..COUNT).flat_map(|number| service_at(&format!("backend-{number}"), &[&address(number)], ECHO));
    (0..COUNT).map(|number| change(number, object(number)).build()).chain(services).collect()
}

#[test]
fn each_of_many_hosts_that_are_alike_reaches_its_own_backend() {
    rig::run(async |rig| {
        rig.serve(&["web"]);
        rig.manifests.write("all.yaml", &objects(|_, object| object));
        rig.start().await;
        let files = std::fs::read_dir(rig.daemon.root().join("current/http")).unwrap();
        let names: Vec<_> = files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
        let blocks = names.iter().filter(|name| name.starts_with("server-alike+")).count();
        assert_eq!(
            (blocks, names.iter().filter(|name| name.starts_with("server-exact-")).count()),
            (2, 0),
            "{names:?}"
        );
        for number in 0..COUNT {
            let url = format!("http://{}/some%2Fpath/./x?a=%20b", host(number));
            let echo = get(&url).send().await.echo();
            assert_eq!(echo.address.ip().to_string(), address(number));
            assert_eq!(echo.path, "/some%2Fpath/./x?a=%20b");
        }
        rig.expect([(get("http://host-3.example/api/x"), "web"), (get("http://host-150.example/"), "404")]).await;
        let reached = async |request: rig::client::Request| request.send().await.echo().address.ip().to_string();
        for header in ["HOST-5.Example", "host-5.example.", "host-5.example:80", "Host-5.example.:8080"] {
            assert_eq!(reached(get("http://host-5.example/").header("host", header)).await, address(5), "{header}");
        }
        assert_eq!(reached(get("https://host-6.example/")).await, address(6));
    });
}

#[test]
fn hosts_join_leave_and_change_without_a_lost_request() {
    rig::run(async |rig| {
        rig.serve(&["web"]);
        rig.manifests.write("all.yaml", &objects(|_, object| object));
        rig.start().await;
        let requests: Vec<_> = [0, 1, 40, 99].map(|number| get(&format!("http://{}/", host(number)))).into();
        let load = Load::new(&requests).start();
        // One host differs: it gets a server of its own, with its own certificate.
        let mut differing = objects(|number, object| match number {
            1 => object.annotation("proxy-body-size", "3m").tls(&[&host(1)], "own").annotation("ssl-redirect", "false"),
            _ => object,
        });
        differing.push(tls_secret("own", &[&host(1)]));
        rig.manifests.write("all.yaml", &differing);
        rig.daemon.status_when("generation 2", |now| status::serving(now) == Some(2)).await;
        assert_eq!(get("https://host-1.example/").send().await.echo().address.ip().to_string(), address(1));
        // Another host changes its backend, a further one joins, and the first comes back.
        let mut moved = objects(|number, object| match number {
            40 => ingress("ingress-40").host(&host(40), "backend-41").path(&host(40), "Prefix", "/api", "web"),
            _ => object,
        });
        moved.push(
            ingress("further").host("further.example", "web").path("further.example", "Prefix", "/api", "web").build(),
        );
        rig.manifests.write("all.yaml", &moved);
        rig.daemon.status_when("generation 3", |now| status::serving(now) == Some(3)).await;
        assert_eq!(get("http://host-40.example/").send().await.echo().address.ip().to_string(), address(41));
        rig.expect([(get("http://further.example/"), "web")]).await;
        // So few are left that each has its own again.
        let few: Vec<_> = objects(|_, object| object)
            .into_iter()
            .filter(|object| {
                let name = object["metadata"]["name"].as_str().unwrap();
                object["kind"] != "Ingress" || ["ingress-0", "ingress-1", "ingress-40", "ingress-99"].contains(&name)
            })
            .collect();
        rig.manifests.write("all.yaml", &few);
        rig.daemon.status_when("generation 4", |now| status::serving(now) == Some(4)).await;
        rig.expect([(get("http://host-2.example/"), "404")]).await;
        let report = load.stop().await;
        assert!(report.failures.is_empty() && report.kept > 0 && report.fresh > 0, "{report:?}");
    });
}
