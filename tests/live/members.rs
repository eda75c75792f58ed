//! What each node reports about all nodes.

use serde_json::Value;

use crate::nodes::nodes;
use rig::cluster;
use rig::cluster::node::Node;
use rig::wait;

/// `ingressd status --cluster` on this node: its exit code and what it prints.
fn reported(node: &Node, arguments: &[&str]) -> (i32, String) {
    let output = node.daemon.command("status").arg("--cluster").args(arguments).output().unwrap();
    (output.status.code().unwrap(), String::from_utf8(output.stdout).unwrap())
}

/// Node, role and health, by the words of the table.
fn rows(text: &str) -> Vec<(String, String, String)> {
    let rows = text.lines().skip(1).filter(|line| !line.is_empty());
    let row = |line: &str| {
        let cells: Vec<_> = line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect();
        let cell = |place: usize| cells.get(place).copied().unwrap_or_default().to_owned();
        (cells[0].split('_').next().unwrap().to_owned(), cell(1), cell(2))
    };
    rows.map(row).collect()
}

async fn until_rows(node: &Node, expected: [(&str, &str, &str); 3]) -> (i32, String) {
    let expected = expected.map(|(name, role, health)| (name.to_owned(), role.to_owned(), health.to_owned()));
    let answer = async || reported(node, &[]);
    wait::until_right("the table", answer, |(_, text)| rows(text) == expected).await
}

#[test]
fn all_are_reported_by_each_with_their_health() {
    cluster::run(async |cluster| {
        let ([mut one, mut two, mut three], _) =
            nodes(cluster, ["one", "two", "three"], &[("publish.lease-duration", "5s")]).await;
        let all = [("one", "leader", "serving"), ("three", "-", "serving"), ("two", "this", "serving")];
        let (code, text) = until_rows(&two, all).await;
        assert_eq!(code, 0, "{text}");
        for node in [&one, &two, &three] {
            assert!(text.contains(&node.address), "{text}");
        }
        let (_, json) = reported(&one, &["--format", "json"]);
        let json: Value = serde_json::from_str(&json).unwrap();
        assert_eq!((&json["well"], json["members"].as_array().unwrap().len()), (&true.into(), 3), "{json:#}");
        let status = one.daemon.status().await.unwrap();
        for (title, reported) in [("ingressd status --cluster", &json), ("ingressd status, /status.json", &status)] {
            let differences = ingressd::cli::schema::of(title).unwrap().differences(reported);
            assert!(differences.is_empty(), "{differences:#?}");
        }
        assert_eq!(json["members"][0]["generation"], status["generation"]);
        assert_eq!((&json["members"][0]["leader"], &json["node"]), (&true.into(), &status["node"]));

        // One node is drained, which is no fault; one is out of order; and one is gone.
        three.drain(true);
        let drained = [("one", "leader", "serving"), ("three", "-", "drained"), ("two", "this", "serving")];
        assert_eq!(until_rows(&two, drained).await.0, 0);
        three.nginx.stop().await;
        three.drain(false);
        let down = [("one", "leader", "serving"), ("three", "-", "nginx-down"), ("two", "this", "serving")];
        assert_eq!(until_rows(&two, down).await.0, 1);
        three.nginx.start();
        until_rows(&two, all).await;
        assert!(three.daemon.stop().await.success());
        let stopped = [("one", "leader", "serving"), ("three", "-", "serving (stopped)"), ("two", "this", "serving")];
        assert_eq!(until_rows(&two, stopped).await.0, 0);
        one.daemon.kill();
        two.until_leader().await;
        let gone = [("one", "-", "expired"), ("three", "-", "serving (stopped)"), ("two", "leader, this", "serving")];
        assert_eq!(until_rows(&two, gone).await.0, 1);
    });
}
