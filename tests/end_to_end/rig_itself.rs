//! The rig itself, tested with a hand-written nginx.conf.

use http::Method;
use nix::sys::signal::{Signal, kill};

use rig::client::{self, Request, get, grpc_check, post};
use rig::load::Load;
use rig::manifests::ingress;
use rig::namespace::Namespace;
use rig::{ECHO, ECHO_TLS, nginx, wait};

/// Sends everything to the echo backends: plain, gRPC and TLS by port.
const SITE: &str = r"
    upstream web { server 10.244.0.1:8080; server [fd00:10:244::1]:8080; keepalive 8; }
    server {
        listen 80;
        location / {
            proxy_pass http://web;
            proxy_http_version 1.1;
            proxy_set_header Upgrade $http_upgrade;
            proxy_set_header Connection $http_connection;
        }
        location /tls { proxy_pass https://10.244.0.2:8443; proxy_ssl_server_name on; proxy_ssl_name echo.tls; }
    }
    server { listen 81 http2; location / { grpc_pass grpc://10.244.0.3:8080; } }
";

#[test]
fn the_echo_says_what_reached_it() {
    rig::run(async |_| {
        let url = format!("http://echo.example:{ECHO}/a%20b?x=1");
        let reply = post(&url, "four").to([10, 244, 7, 9]).from("10.244.3.3").header("X-One", "1").send().await;
        let answer = reply.echo();
        assert_eq!(reply.status, 200);
        assert_eq!(answer.address, format!("10.244.7.9:{ECHO}").parse().unwrap());
        assert_eq!(answer.client.ip().to_string(), "10.244.3.3");
        assert_eq!((&*answer.method, &*answer.path, &*answer.protocol), ("POST", "/a%20b?x=1", "HTTP/1.1"));
        assert_eq!((answer.header("host"), answer.header("x-one")), (Some("echo.example:8080"), Some("1")));
        assert_eq!((answer.body_length, answer.tls), (4, None));
        assert_eq!(reply.header("x-echo-address"), Some("10.244.7.9:8080"));
    });
}

#[test]
fn the_echo_speaks_every_protocol() {
    rig::run(async |_| {
        let plain = format!("http://echo.example:{ECHO}");
        let secure = format!("https://echo.tls:{ECHO_TLS}");
        let answer = get(&plain).http2().send().await.echo();
        assert_eq!((&*answer.protocol, answer.header("host")), ("HTTP/2", Some("echo.example:8080")));
        let reply = get(&secure).http2().send().await;
        let tls = reply.echo().tls.unwrap();
        assert_eq!((tls.alpn.as_deref(), tls.sni.as_deref()), (Some("h2"), Some("echo.tls")));
        assert_eq!(reply.peer.unwrap().names, ["echo.tls"]);
        assert_eq!(get(&secure).sni(None).send().await.echo().tls.unwrap().sni, None);
        for origin in [&plain, &secure] {
            let check = grpc_check(origin).send().await;
            assert_eq!(check.trailers.get("grpc-status").unwrap(), "0");
            assert_eq!(check.body, [0, 0, 0, 0, 2, 8, 1]);
            let mut socket = get(origin).open_websocket().await.unwrap();
            assert_eq!(socket.say("hello").await.unwrap(), "hello");
        }
    });
}

#[test]
fn switches_change_the_answer() {
    rig::run(async |_| {
        let ask = async |query: &str| get(&format!("http://e:{ECHO}/?{query}")).send().await;
        assert_eq!(ask("status=418").await.status, 418);
        assert_eq!(ask("size=70000").await.body.len(), 70000);
        assert_eq!(ask("header=X-Two:2").await.header("x-two"), Some("2"));
        assert_eq!(ask("events=2").await.text(), "data: 1\n\ndata: 2\n\n");
    });
}

#[test]
fn nginx_is_started_signalled_restarted_and_killed() {
    rig::run(async |rig| {
        rig.nginx.write_site("hand", SITE);
        rig.nginx.start();
        assert!(get("http://a.example/").send().await.echo().address.port() == ECHO);
        assert!(get("http://a.example/tls").send().await.echo().tls.is_some());
        assert_eq!(get("http://a.example/").open_websocket().await.unwrap().say("x").await.unwrap(), "x");
        let check = grpc_check("http://a.example:81").send().await;
        assert_eq!(check.trailers.get("grpc-status").unwrap(), "0");
        assert_eq!(check.header("x-echo-address"), Some("10.244.0.3:8080"));
        assert!(rig.nginx.test().0);

        // One of them may have answered before the other was there.
        let (master, workers) = (rig.nginx.master().unwrap(), rig.nginx.settled_workers().await);
        rig.nginx.signal(Signal::SIGHUP);
        wait::until("new workers", async || {
            let now = rig.nginx.workers();
            (now.len() == 2 && now.iter().all(|worker| !workers.contains(worker))).then_some(())
        })
        .await;
        rig.nginx.restart().await;
        assert_ne!(rig.nginx.master(), Some(master));
        wait::until("the workers of the new master", async || (rig.nginx.workers().len() == 2).then_some(())).await;
        assert_eq!(rig.nginx.kill_master().await.len(), 2);
        assert_eq!(rig.nginx.master(), None);
        // Another process that gets the PID is not taken for the master, and not killed.
        std::fs::write(rig.nginx.pid_file(), std::process::id().to_string()).unwrap();
        assert_eq!(rig.nginx.master(), None);
    });
}

#[test]
fn raw_bytes_are_sent_as_they_are() {
    rig::run(async |rig| {
        rig.nginx.write_site("hand", SITE);
        rig.nginx.start();
        let answer = client::raw(([127, 0, 0, 1], 80).into(), b"GET / HTTP/1.1\r\nHost: a b\r\n\r\n").await;
        assert!(answer.starts_with(b"HTTP/1.1 400 "), "{}", String::from_utf8_lossy(&answer));
        assert_eq!(Request::new(Method::DELETE, "http://x/").send().await.echo().method, "DELETE");
    });
}

#[test]
fn load_counts_failures_and_only_failures() {
    rig::run(async |rig| {
        rig.nginx.write_site("hand", SITE);
        rig.nginx.start();
        let load = Load::new(&[get("http://a.example/"), get("http://b.example/x")]).start();
        // The load runs across a reload, until there were enough requests to judge by.
        let requests = async || rig.nginx.prefix().join("log/access.log").metadata().map_or(0, |log| log.len());
        wait::until_right("some requests", requests, |length| *length > 10_000).await;
        rig.nginx.signal(Signal::SIGHUP);
        wait::until_right("more requests", requests, |length| *length > 30_000).await;
        let report = load.stop().await;
        assert_eq!(report.failures, [""; 0]);
        assert!(report.kept > 50 && report.fresh > 20, "{report:?}");

        let load = Load::new(&[get("http://a.example/?status=500")]).start();
        wait::until_right("bad requests", requests, |length| *length > 35_000).await;
        assert!(!load.stop().await.failures.is_empty());
    });
}

#[test]
fn requests_wait_for_workers_of_earlier_configurations() {
    rig::run(async |rig| {
        rig.manifests.write("a.yaml", &[ingress("a").host("a.example", "web").build()]);
        rig.start().await;
        let old = rig.nginx.settled_workers().await;
        let changed = async || {
            futures_util::poll!(std::pin::pin!(nginx::changed(Namespace::current().number(), [127, 0, 0, 1].into())))
                .is_ready()
        };
        assert!(changed().await, "nothing was changed");
        kill(old[0], Signal::SIGSTOP).unwrap();
        rig.nginx.signal(Signal::SIGHUP);
        let others = async || rig.nginx.workers().iter().filter(|pid| !old.contains(pid)).count();
        wait::until_right("new workers", others, |count| *count == 2).await;
        assert!(!changed().await, "an old worker may take a connection");
        kill(old[0], Signal::SIGCONT).unwrap();
        assert_eq!(get("http://a.example/").send().await.status, 200);
        assert!(changed().await, "they take none any more");
    });
}
