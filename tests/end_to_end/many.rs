//! A cluster that is large from the start is served by one generation.

use rig::client::get;
use rig::manifests::{ingress, service_at};
use rig::{ECHO, status, wait};
use std::time::Duration;

/// How many Ingresses there are.
const COUNT: usize = 5000;

/// How many of them share a file of the folder.
const IN_A_FILE: usize = 250;

/// Longest time until they are served: a limit for broken code, for a daemon that is not optimised
/// on a slow machine.
const LIMIT: Duration = Duration::from_secs(180);

#[test]
fn five_thousand_ingresses_at_start_take_one_reload() {
    rig::run(async |rig| {
        let numbers: Vec<_> = (0..COUNT).collect();
        for (file, numbers) in numbers.chunks(IN_A_FILE).enumerate() {
            let backend = format!("backend-{file}");
            let object = |number: &usize| {
                let host = format!("host-{number}.example");
                ingress(&format!("ingress-{number}"))
                    .host(&host, &backend)
                    .path(&host, "Exact", "/exact", "web")
                    .build()
            };
            let mut objects: Vec<_> = numbers.iter().map(object).collect();
            objects.extend(service_at(&backend, &[&format!("10.244.1.{file}")], ECHO));
            rig.manifests.write(&format!("part-{file}.yaml"), &objects);
        }
        rig.nginx.start();
        rig.daemon.start();
        let is_serving = async || (rig.daemon.status().await?["phase"] == "serving").then_some(());
        wait::until_within(LIMIT, "so many to be served", is_serving).await;
        rig.daemon.ready().await;
        let status = rig.daemon.status().await.unwrap();
        assert_eq!(status::serving(&status), Some(1));
        assert_eq!((&status["hosts"], &status["routes"]), (&COUNT.into(), &(2 * COUNT).into()));
        assert_eq!(status["findings"].as_array().map(Vec::len), Some(0), "{}", status["findings"]);
        assert_eq!(rig.daemon.reloads().await, 1);
        for number in (0..COUNT).step_by(97).chain([COUNT - 1]) {
            let answer = get(&format!("http://host-{number}.example/")).send().await.echo();
            assert_eq!(answer.address.ip().to_string(), format!("10.244.1.{}", number / IN_A_FILE));
            let exact = get(&format!("http://host-{number}.example/exact")).send().await.echo();
            assert_eq!(exact.address.ip().to_string(), "10.244.0.1");
        }
        // One more object takes one more reload.
        rig.manifests.write("more.yaml", &[ingress("more").host("more.example", "web").build()]);
        get("http://more.example/").send_until("one more", |reply| reply.status == 200).await;
        rig.daemon.status_when("generation 2", |now| status::serving(now) == Some(2)).await;
        assert_eq!(rig.daemon.reloads().await, 2);
    });
}
