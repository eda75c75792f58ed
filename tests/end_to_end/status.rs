//! `ingressd status`, as an administrator reads it who looks for a problem.

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use super::terminal::on_a_terminal;
use rig::manifests::ingress;
use rig::{Rig, wait};

/// What the command prints and how it ends.
fn status_of(rig: &Rig, arguments: &[&str]) -> (Option<i32>, String) {
    let output = rig.daemon.command("status").args(arguments).output().unwrap();
    (output.status.code(), String::from_utf8(output.stdout).unwrap())
}

fn state(status: &Value, list: &str, name: &str) -> String {
    let rows = status[list].as_array().into_iter().flatten();
    let row = rows.into_iter().find(|row| row["name"] == name);
    row.map(|row| row["state"].as_str().unwrap().to_owned()).unwrap_or_default()
}

/// One Ingress in each state that does not need an nginx in trouble.
async fn serve_all_sorts(rig: &mut Rig) {
    let foreign = json!({"apiVersion": "networking.k8s.io/v1", "kind": "IngressClass", "metadata": {"name": "theirs"},
        "spec": {"controller": "example.com/theirs"}});
    let bucket = json!({"resource": {"apiGroup": "example.com", "kind": "Bucket", "name": "b"}});
    let older = ingress("older").class("nginx").host("older.example", "web");
    let good = [
        ingress("good").path("good.example", "Exact", "/exact", "web").host("lame.example", "none").build(),
        older.clone().build(),
        ingress("lame").host("lame-too.example", "none").build(),
        ingress("bucket").path_to("bucket.example", "Prefix", "/", bucket).build(),
        ingress("part")
            .class("nginx")
            .path("good.example", "Exact", "/exact", "none")
            .annotation("canary", "true")
            .annotation("canary-weight", "10")
            .build(),
        ingress("protected").class("nginx").host("closed.example", "web").annotation("auth-type", "digest").build(),
        ingress("foreign").class("theirs").host("foreign.example", "web").build(),
        foreign,
    ];
    rig.manifests.write("objects.yaml", &good);
    rig.start().await;
    let refused = ingress("never").class("nginx").host("never.example", "web").annotation("canary", "yes");
    rig.manifests.write("never.yaml", &[refused.build()]);
    let changed = [&good[..1], &[older.annotation("canary", "yes").build()], &good[2..]].concat();
    rig.manifests.write("objects.yaml", &changed);
    let all = |status: &Value| {
        state(status, "ingresses", "older") == "last good" && state(status, "not_served", "never") == "refused"
    };
    rig.daemon.status_when("an object in each state", all).await;
}

#[test]
fn state_comes_first_then_problems_then_objects_with_states_of_their_own() {
    rig::run(async |rig| {
        serve_all_sorts(rig).await;
        let (code, text) = status_of(rig, &[]);
        assert_eq!(code, Some(0), "{text}");
        let folder = rig.manifests.folder().display();
        let needs = "2 things need attention\n\
            1. 4 errors found in objects and on this node. The findings below say where, and what to do.\n\
            2. 4 warnings found in objects and on this node. The findings below say where, and what to do.\n\
            serving generation ";
        assert!(text.starts_with(needs) && text.contains(&format!(", as the folder {folder} says\n")), "{text}");
        let line = |begin: &str| {
            text.lines().position(|line| line.starts_with(begin)).unwrap_or_else(|| panic!("{begin}: {text}"))
        };
        let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        let last_error = text.lines().enumerate().filter(|(_, line)| line.starts_with("error ")).last().unwrap().0;
        assert!(0 < last_error && last_error < line("warning ") && line("warning ") < line("NAMESPACE "), "{text}");
        let problem = line("error    Ingress default/protected  auth-type");
        assert!(
            text.lines().nth(problem).unwrap().ends_with("the routes of the object answer 503 (InvalidSecurityValue)"),
            "{text}"
        );
        assert!(text.lines().nth(problem + 1).unwrap().starts_with("         "), "the remedy: {text}");
        assert!(!text.contains("foreign") && text.contains("ForeignClass 1"), "not ours: {text}");
        let table: Vec<_> = text.lines().skip(line("NAMESPACE ")).map(words).collect();
        for row in [
            "NAMESPACE INGRESS STATE ROUTES SINCE ADDRESSES HOSTS",
            "default good partly (1 closed) 1 ",
            "default lame closed (503) 0 ",
            "default bucket closed (503) 0 ",
            "default part closed (503) 0 ",
            "default never refused - - - never.example",
            "default older last good 1 ",
            "default protected closed (503) 0 ",
        ] {
            assert!(table.iter().any(|line| line.starts_with(row)), "{row}: {text}");
        }
    });
}

#[test]
fn one_ingress_or_host_is_reported_with_everything_about_it() {
    rig::run(async |rig| {
        serve_all_sorts(rig).await;
        let docs = "/usr/share/doc/ingressd/docs/findings.md#";
        let refused = format!("{docs}refusedvalue");
        let rows: [(&[&str], i32, &[&str]); 10] = [
            (
                &["default/good"],
                1,
                &[
                    "Ingress default/good  partly (1 closed): some of its routes answer 503",
                    "Service web:80, 1 endpoint",
                    "/exact",
                    "Exact",
                    "none:80, no such Service",
                    "(MissingService)",
                ],
            ),
            (&["default/older"], 1, &["last good: an earlier version is served", "canary  this version", &refused]),
            (&["default/never"], 1, &["refused: nothing of it is served", &refused]),
            (&["default/protected"], 1, &["closed (503): all its routes answer 503", "0 served, 1 closed (503)"]),
            (&["default/foreign"], 1, &["not ours", "belongs to the controller \"example.com/theirs\""]),
            (
                &["other/good"],
                1,
                &["absent", "there is no such Ingress in what was read; there is one of this name in default"],
            ),
            (
                &["--host", "good.example"],
                1,
                &["good.example was first asked for by namespace default", "default/good  partly"],
            ),
            (&["--host", "LAME.example"], 1, &["default/good  partly", "(MissingService)"]),
            (&["--host", "foreign.example"], 1, &["default/foreign  not ours"]),
            (&["--host", "nobody.example"], 1, &["no Ingress that was read has a rule for it"]),
        ];
        for (arguments, expected, words) in rows {
            let (code, text) = status_of(rig, arguments);
            assert_eq!(code, Some(expected), "{arguments:?}: {text}");
            for words in words {
                assert!(text.contains(words), "{arguments:?}: {words:?} is not in\n{text}");
            }
            assert!(text.trim_end().lines().last().unwrap().starts_with("serving generation "), "{text}");
        }
        // Nothing is wrong with this one.
        rig.manifests.write("well.yaml", &[ingress("well").host("well.example", "web").build()]);
        rig.daemon.confirmed("well").await;
        for arguments in [&["default/well"][..], &["--host", "well.example"]] {
            let (code, text) = status_of(rig, arguments);
            assert_eq!(code, Some(0), "{text}");
        }
        // `explain` uses the settings and objects of the daemon.
        let explained = |url: &str| {
            let output = rig.daemon.command("explain").arg(url).output().unwrap();
            (output.status.code(), String::from_utf8(output.stdout).unwrap())
        };
        let (code, text) = explained("http://well.example/any?x=1");
        let of_daemon = "upstreams.resolvers: nothing\n    from /";
        for words in ["is taken by Ingress default/well: spec.rules[0]", "goes to Service default/web", of_daemon] {
            assert!(code == Some(0) && text.contains(words), "{words:?} is not in\n{text}");
        }
        let (code, text) = explained("closed.example");
        assert!(code == Some(0) && text.contains("is answered 503, because something that protects it"), "{text}");
        assert_eq!(explained("nobody.example/").0, Some(1));
        let (_, text) = status_of(rig, &["default/well", "--format", "json"]);
        let reported: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(
            (&reported["subject"]["state"], &reported["subject"]["asks"][0]["endpoints"]),
            (&json!("ok"), &json!(1))
        );
        for arguments in [&["well"][..], &["a/b/c/d"], &["a b/c"], &["/"], &["a/b", "--cluster"], &["--host", "a\nb"]] {
            assert_eq!(status_of(rig, arguments).0, Some(64), "{arguments:?}");
        }
        // The daemon answers any input on the socket, and reads no more of it than the longest
        // question has.
        let hostile = [
            "ingress default/well x",
            "ingress well",
            "host",
            "explain",
            "explain \u{1b}[2J",
            "host \u{1b}[2J",
            &format!("host {}", "a".repeat(10_000)),
        ];
        for question in hostile {
            let mut stream = UnixStream::connect(rig.folder().join("control.sock")).unwrap();
            // The daemon may have closed it before everything was written.
            let _ = stream.write_all(format!("{question}\n").as_bytes());
            let mut answer = String::new();
            let read = stream.read_to_string(&mut answer);
            let reported = serde_json::from_str::<Value>(&answer);
            assert!(read.is_err() || reported.is_ok_and(|reported| reported.is_object()), "{question:?}: {answer}");
        }
        assert_eq!(status_of(rig, &[]).0, Some(0));
    });
}

#[test]
fn what_is_not_in_force_yet_is_reported_of_each_object() {
    rig::run(async |rig| {
        rig.manifests.write("a.yaml", &[ingress("a").host("a.example", "web").build()]);
        rig.start().await;
        rig.manifests.write("b.yaml", &[ingress("b").host("b.example", "web").build()]);
        rig.daemon.confirmed("b").await;
        assert!(rig.daemon.command("rollback").output().unwrap().status.success());
        rig.manifests.write("a.yaml", &[ingress("a").host("a.example", "web").host("more.example", "web").build()]);
        let waiting = |status: &Value| {
            state(status, "ingresses", "a") == "waiting" && state(status, "not_served", "b") == "waiting"
        };
        rig.daemon.status_when("changes that wait", waiting).await;
        let (_, text) = status_of(rig, &["default/b"]);
        assert!(text.starts_with("Ingress default/b  waiting: what it says now is not in force yet"), "{text}");
        assert!(rig.daemon.command("resume").output().unwrap().status.success());
        let served = |status: &Value| ["a", "b"].iter().all(|name| state(status, "ingresses", name) == "ok");
        rig.daemon.status_when("everything", served).await;
    });
}

/// A process whose output is read as it comes.
struct Watching {
    process: Child,
    heard: Arc<Mutex<String>>,
    reader: std::thread::JoinHandle<()>,
}

impl Watching {
    fn start(mut command: Command) -> Self {
        let mut process = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut output = process.stdout.take().unwrap();
        let heard = Arc::new(Mutex::new(String::new()));
        let reported = Arc::clone(&heard);
        let reader = std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(length @ 1..) = output.read(&mut bytes) {
                let text = String::from_utf8_lossy(&bytes[..length]).into_owned();
                // A reader that has seen enough closes the pipe.
                if text.contains("enough.example") {
                    return;
                }
                reported.lock().unwrap().push_str(&text);
            }
        });
        Watching { process, heard, reader }
    }

    /// Waits until this is told behind what was told before `known` bytes; gives how much was told
    /// by then.
    async fn until(&self, words: &str, known: usize) -> usize {
        let heard = || async { self.heard.lock().unwrap().clone() };
        let text = wait::until_right(words, heard, |text| text[known..].contains(words)).await;
        text.len()
    }
}

#[test]
fn a_status_that_watches_shows_changes_outlives_the_daemon_and_ends_with_its_reader() {
    rig::run(async |rig| {
        rig.manifests.write("a.yaml", &[ingress("a").host("a.example", "web").build()]);
        rig.start().await;
        let mut command = rig.daemon.command("status");
        command.arg("--watch");
        let mut watching = Watching::start(command);
        let known = watching.until("a.example", 0).await;
        rig.manifests.write("b.yaml", &[ingress("b").host("b.example", "web").build()]);
        let known = watching.until("b.example", known).await;
        assert!(rig.daemon.stop().await.success());
        let known = watching.until("no daemon runs here", known).await;
        rig.daemon.start();
        watching.until("b.example", known).await;
        assert!(!watching.heard.lock().unwrap().contains('\u{1b}'), "nothing steers what is no terminal");
        rig.manifests.write("c.yaml", &[ingress("c").host("enough.example", "web").build()]);
        let ended = async || watching.process.try_wait().unwrap();
        let status = wait::until("the end with the reader", ended).await;
        assert_eq!(status.code(), Some(0));
        watching.reader.join().unwrap();
        let mut complaint = String::new();
        watching.process.stderr.take().unwrap().read_to_string(&mut complaint).unwrap();
        assert_eq!(complaint, "");
    });
}

#[test]
fn colours_and_broken_lines_are_for_terminals() {
    rig::run(async |rig| {
        let absent = ingress("a").host("a.example", "a-service-with-a-long-name-that-is-not-there");
        rig.manifests.write("a.yaml", &[absent.build()]);
        rig.start().await;
        let known = |variables: &[(&str, &str)]| on_a_terminal(&rig.daemon.command("status"), 60, variables);
        let coloured = known(&[]);
        let plain = anstream::adapter::strip_str(&coloured).to_string();
        assert!(coloured.starts_with("\u{1b}[33m1 thing needs attention\u{1b}[0m"), "{coloured:?}");
        assert!(coloured.contains("\u{1b}[32mserving generation "), "{coloured:?}");
        assert!(coloured.contains("\u{1b}[33mwarning"), "{coloured:?}");
        let problems = |text: &str| {
            text.lines()
                .take_while(|line| !line.starts_with("NAMESPACE"))
                .map(|line| line.trim_end().chars().count())
                .max()
        };
        assert!(problems(&plain) <= Some(60), "{plain}");
        assert!(problems(&known(&[("NO_COLOR", "1"), ("COLUMNS", "45")])) <= Some(45));
        for (variables, has_colours) in [
            (&[("NO_COLOR", "1")][..], false),
            (&[("NO_COLOR", "")], true),
            (&[("TERM", "dumb")], false),
            (&[("NO_COLOR", "1"), ("CLICOLOR_FORCE", "1")], false),
        ] {
            let shown = known(variables);
            assert_eq!(shown.contains('\u{1b}'), has_colours, "{variables:?}: {shown:?}");
        }
        let piped = rig.daemon.command("status").env("CLICOLOR_FORCE", "1").env("COLUMNS", "40").output().unwrap();
        let piped = String::from_utf8(piped.stdout).unwrap();
        assert!(!piped.contains('\u{1b}') && problems(&piped) > Some(80), "{piped}");
    });
}

/// At night one line has to say that nothing is served, and no other may sound as if something
/// were.
#[test]
fn while_nginx_is_down_nothing_is_reported_as_served() {
    rig::run(async |rig| {
        rig.daemon.set("pacing.recheck", "20ms");
        rig.manifests.write("a.yaml", &[ingress("a").host("a.example", "web").build()]);
        rig.start().await;
        let generation = rig.daemon.status().await.unwrap()["generation"].as_u64().unwrap();
        rig.nginx.stop().await;
        rig.manifests.write("b.yaml", &[ingress("b").host("b.example", "web").build()]);
        let prepared = |status: &Value| status["prepared"].as_u64() == Some(generation + 1);
        rig.daemon.status_when("a generation that is ready", prepared).await;
        let (code, text) = status_of(rig, &[]);
        assert_eq!(code, Some(1), "{text}");
        assert!(text.starts_with("2 things need attention\n1. This node is not ready: nginx-down: "), "{text}");
        let state = text.lines().find(|line| line.starts_with("not serving: nginx does not run (")).unwrap_or_default();
        assert!(state.ends_with(&format!("; generation {} is ready for its start", generation + 1)), "{text}");
        assert!(text.contains("`systemctl status nginx` and `ingressd doctor`"), "{text}");
        let words: Vec<Vec<_>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
        let states = words.iter().filter(|line| line.first() == Some(&"default")).map(|line| line[2]);
        assert_eq!(states.collect::<Vec<_>>(), ["down", "down"], "{text}");
        assert!(text.contains("\nwould serve ") && !text.contains("\nserves "), "{text}");
        let (code, text) = status_of(rig, &["default/b"]);
        assert_eq!(code, Some(1), "{text}");
        assert!(text.starts_with("Ingress default/b  down: nginx does not run\n"), "{text}");

        rig.nginx.start();
        let serves = |status: &Value| status["ready"] == true && status["prepared"].is_null();
        rig.daemon.status_when("what was ready", serves).await;
        let (code, text) = status_of(rig, &[]);
        assert!(code == Some(0) && text.contains("\nserves ") && !text.contains("down"), "{text}");
        assert!(text.starts_with("All is well\nserving generation "), "{text}");
    });
}
