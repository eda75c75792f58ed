//! Tries many rows at once through one nginx, in lockstep.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use serde_json::Value;

use crate::asking::{Watcher, check, check_reported, check_victim};
use crate::row::{Ask, Reported, Row};
use crate::scene::{Dialect, Order, Ownership, Scene, harmless};
use rig::manifests::{ingress, service_at};
use rig::{ECHO, Rig};

/// How many failures of a row are shown.
const MOST_SHOWN: usize = 30;

/// Under which settings rows are tried.
#[derive(Debug, Clone, Copy)]
pub struct Stage {
    /// Keys and values, as TOML.
    pub settings: &'static [(&'static str, &'static str)],
    /// Whether each dialect has the rule of the other one about who owns a host.
    pub crossed: bool,
}

/// The default settings.
pub const DEFAULTS: Stage = Stage { settings: &[], crossed: false };

/// One row in one scene, with its objects of now.
struct Case {
    row: &'static Row,
    scene: Scene,
    victim: Vec<Value>,
    evil: Vec<Value>,
    /// What holds in the phase that is.
    asks: Vec<Ask>,
}

impl Stage {
    /// Tries rows, each in all of its cases.
    ///
    /// # Panics
    ///
    /// When something does not hold.
    pub fn run(self, rows: &[&'static [Row]]) {
        let cases: Vec<_> = rows.iter().copied().flatten().flat_map(|row| self.cases(row)).collect();
        let names: Vec<_> = cases.iter().map(|case| case.row.name).collect();
        let found = Arc::<Mutex<Vec<(usize, String)>>>::default();
        let wrong = Arc::clone(&found);
        rig::run(async move |rig: &mut Rig| self.play(rig, cases, &wrong).await);
        let mut by_row = BTreeMap::<&str, Vec<String>>::new();
        for (case, failure) in found.lock().unwrap().drain(..) {
            by_row.entry(names[case]).or_default().push(failure);
        }
        let shown = by_row.iter().map(|(name, failures)| {
            let first: Vec<_> = failures.iter().take(MOST_SHOWN).map(String::as_str).collect();
            format!("{name}: {} failures\n  {}", failures.len(), first.join("\n  "))
        });
        assert!(by_row.is_empty(), "\n{}", shown.collect::<Vec<_>>().join("\n"));
    }

    fn cases(self, row: &'static Row) -> Vec<Case> {
        let mut cases = Vec::new();
        for dialect in [Dialect::Specification, Dialect::IngressNginx] {
            let is_shared = (dialect == Dialect::IngressNginx) != self.crossed;
            let ownership = if is_shared { Ownership::Shared } else { Ownership::Namespace };
            if row.only.is_some_and(|only| only != ownership) {
                continue;
            }
            for order in row.orders {
                let scene = Scene::new(row.name, dialect, ownership, *order);
                let (victim, evil) = match order {
                    Order::Young | Order::SameSecond => ((row.victim)(&scene), Vec::new()),
                    Order::Edited => ((row.victim)(&scene), harmless(&scene, (row.attack)(&scene))),
                    Order::Together => ((row.victim)(&scene), (row.attack)(&scene)),
                    Order::AttackerFirst => (Vec::new(), (row.attack)(&scene)),
                };
                cases.push(Case { row, scene, victim, evil, asks: Vec::new() });
            }
        }
        cases
    }

    async fn play(self, rig: &mut Rig, mut cases: Vec<Case>, wrong: &Mutex<Vec<(usize, String)>>) {
        rig.nginx.serve_streams(&rig.daemon.root());
        for (key, value) in self.settings {
            rig.daemon.set(key, value);
        }
        if self.crossed {
            cross(rig);
        }
        rig.daemon.set("pacing.spacing", "50ms");
        let services: Vec<_> = cases.iter().flat_map(|case| case.scene.services()).collect();
        let default = service_at("default", &["10.244.1.3"], ECHO);
        rig.manifests.write("services.yaml", &[&services[..], &default].concat());
        rig.daemon.set("default-backend", "default/default");
        let mut play = Play { rig, wrong, markers: 0 };
        play.write(&cases);
        play.rig.start().await;
        play.taken().await;
        play.ask("before", &cases).await;
        let number = |(number, case): (usize, &Case)| {
            let clients = if is_late(case) { &[][..] } else { case.row.clients };
            clients.iter().map(move |ask| (number, *ask, case.scene.clone())).collect::<Vec<_>>()
        };
        let watcher = Watcher::start(cases.iter().enumerate().flat_map(number).collect());

        for case in &mut cases {
            case.evil = (case.row.attack)(&case.scene);
            case.victim = (case.row.victim)(&case.scene);
            case.asks = case.row.during.to_vec();
        }
        play.write(&cases);
        let status = play.taken().await;
        play.ask("during", &cases).await;
        for (number, case) in cases.iter().enumerate() {
            play.look(number, case, case.row.reported, &status);
            if !is_late(case) {
                play.note(number, check_victim(case.row.allowed, &case.victim, &case.scene, &status));
            }
        }
        let written = configuration(play.rig);
        for (number, case) in cases.iter().enumerate() {
            let found = case.row.unwritten.iter().filter(|text| written.contains(**text));
            play.note(number, found.map(|text| format!("nginx reads {text:?}")));
        }

        let most = cases.iter().map(|case| case.row.steps.len()).max().unwrap_or_default();
        for index in 0..most {
            for case in &mut cases {
                let Some(step) = case.row.steps.get(index) else { continue };
                if let Some(victim) = step.victim {
                    case.victim = victim(&case.scene);
                }
                if let Some(attack) = step.attack {
                    case.evil = attack(&case.scene);
                }
                case.asks = step.asks.to_vec();
            }
            play.write(&cases);
            let status = play.taken().await;
            play.ask(&format!("step {index}"), &cases).await;
            for (number, case) in cases.iter().enumerate() {
                if let Some(step) = case.row.steps.get(index) {
                    play.look(number, case, step.reported, &status);
                }
            }
        }

        // What was decided is known after a restart too.
        play.rig.daemon.kill();
        play.rig.daemon.start();
        play.taken().await;
        play.ask("restarted", &cases).await;

        for case in &mut cases {
            case.evil.clear();
            case.asks.clear();
        }
        play.write(&cases);
        play.taken().await;
        play.ask("after", &cases).await;
        let meanwhile = watcher.stop().await;
        wrong.lock().unwrap().extend(meanwhile);
    }
}

/// All files of the generation that nginx reads as configuration.
pub fn configuration(rig: &Rig) -> String {
    let files = std::fs::read_dir(rig.daemon.root().join("current/http")).unwrap();
    files.map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap()).collect()
}

/// Whether the victim's objects come after the attacker's, so that nothing is theirs before.
fn is_late(case: &Case) -> bool {
    case.scene.order == Order::AttackerFirst
}

/// Gives each class the rule that is the default of the other one.
fn cross(rig: &Rig) {
    let file = rig.daemon.folder().join("ingressd.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    let text = text.replace("dialect = \"specification\"", "dialect = \"specification\"\nownership = \"shared\"");
    let text = text.replace("dialect = \"ingress-nginx\"", "dialect = \"ingress-nginx\"\nownership = \"namespace\"");
    std::fs::write(file, text).unwrap();
}

/// A stage on which something is played.
struct Play<'a> {
    rig: &'a mut Rig,
    wrong: &'a Mutex<Vec<(usize, String)>>,
    markers: usize,
}

impl Play<'_> {
    /// Writes the objects of all cases, and a marker that shows when they are served.
    fn write(&mut self, cases: &[Case]) {
        self.markers += 1;
        let objects = cases.iter().flat_map(|case| case.victim.iter().chain(&case.evil)).cloned();
        let marker = format!("marker-{}", self.markers);
        let marker = ingress(&marker).host(&format!("{marker}.test"), "web").build();
        self.rig.manifests.write("objects.yaml", &objects.chain([marker]).collect::<Vec<_>>());
    }

    /// Waits until nginx serves the objects that were written last, and returns the status then.
    async fn taken(&mut self) -> Value {
        let marker = format!("marker-{}", self.markers);
        taken(self.rig, &marker).await
    }

    async fn ask(&self, phase: &str, cases: &[Case]) {
        for (number, case) in cases.iter().enumerate() {
            let clients = if is_late(case) { &[][..] } else { case.row.clients };
            for ask in clients.iter().chain(&case.asks) {
                let failure = check(ask, &case.scene).await;
                self.note(number, failure.map(|failure| format!("{phase}: {failure}")));
            }
        }
    }

    fn look(&self, number: usize, case: &Case, reported: &[Reported], status: &Value) {
        self.note(number, reported.iter().filter_map(|reported| check_reported(reported, &case.scene, status)));
    }

    fn note(&self, number: usize, failures: impl IntoIterator<Item = String>) {
        self.wrong.lock().unwrap().extend(failures.into_iter().map(|failure| (number, failure)));
    }
}

/// Waits until nginx serves an Ingress of this name in namespace `default`, and returns the status
/// then.
pub async fn taken(rig: &mut Rig, marker: &str) -> Value {
    let is_served = |status: &Value| {
        let mut known = status["ingresses"].as_array().into_iter().flatten();
        status["phase"] == "serving" && known.any(|known| known["name"] == marker && known["served_seconds"].is_u64())
    };
    let what = format!("{marker} to be served");
    rig::wait::until(&what, async || rig.daemon.status().await.filter(is_served)).await
}
