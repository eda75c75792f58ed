//! For random objects of two namespaces, the victim's clients get the responses, and the victim
//! the findings, that they would get without the attacker.
//!
//! Many draws share one nginx. Each is there twice, with hosts of its own: as it is, and without
//! the attacker. Answers, statuses and findings are compared.

mod drawn;
mod owned;
mod statuses;

use std::fmt;
use std::hash::{BuildHasher, Hasher, RandomState};

use ingressd_echo::ADDRESS_HEADER;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::Value;

use self::drawn::{Draw, MOST_OBJECTS, MOST_PATHS, draw, objects};
use self::owned::is_owned;
use crate::scene::Ownership;
use crate::stage::taken;
use rig::client::{Connection, Reply, get};
use rig::manifests::{in_namespace, ingress, service_at};
use rig::{ECHO, Rig};

/// How many draws there are in each run.
const DRAWS: usize = 40;

/// Request targets that are sent to each host.
const TARGETS: &[&str] = &[
    "/",
    "/a",
    "/a/",
    "/a/b",
    "/a/b/",
    "/a/7",
    "/A",
    "/a/B",
    "/ab",
    "/abc",
    "/aXb",
    "/a.b",
    "/.well-known",
    "/.well-known/x",
    "/(",
    "/a/b/c",
    "/a/b/c/d",
    "/a/c",
    "/zzz",
    "/zzz/7?x=1",
];

/// Clients inside and outside of the lists.
const CLIENTS: &[&str] = &["10.244.5.7", "10.244.6.7"];

/// Headers of the second client: a canary that takes a part of the requests would get these.
const OF_THE_SECOND: &[(&str, &str)] = &[("x-part", "always"), ("cookie", "part=always; route=0123456789abcdef")];

/// Names of hosts in requests; only a wildcard has `c`.
const NAMES: &[&str] = &["a", "b", "c", "www.a"];

#[test]
fn a_host_of_one_namespace_is_as_if_nobody_else_were_there() {
    compare(Ownership::Namespace);
}

#[test]
fn paths_of_a_shared_host_are_as_if_nobody_else_were_there() {
    compare(Ownership::Shared);
}

/// The number that draws follow from: another one in each run, unless `TENANTS_SEED` names it.
fn seed() -> u64 {
    let given = std::env::var("TENANTS_SEED").ok().map(|text| text.parse().expect("TENANTS_SEED is a number"));
    // The seed of the standard library's hash tables differs from run to run.
    given.unwrap_or_else(|| RandomState::new().build_hasher().finish())
}

fn compare(ownership: Ownership) {
    let seed = seed();
    rig::run(async move |rig| {
        rig.daemon.set("hosts.ownership", ownership.word());
        rig.daemon.set("default-backend", "default/default");
        rig.daemon
            .set("snippets.allowed", "[{namespaces = ['*'], kinds = ['configuration-snippet', 'server-snippet']}]");
        let draws = draws(seed);
        let wrong = differences(rig, &draws, ownership).await;
        let shown: Vec<_> =
            wrong.iter().take(10).map(|(draw, text)| format!("{text}\n  of {:?}", draws[*draw])).collect();
        assert!(wrong.is_empty(), "TENANTS_SEED={seed}: {} differences\n{}", wrong.len(), shown.join("\n"));
    });
}

fn draws(seed: u64) -> Vec<Draw> {
    let bytes: Vec<u8> = seed.to_le_bytes().into_iter().cycle().take(32).collect();
    let source = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let mut runner = TestRunner::new_with_rng(Config::default(), source);
    let strategy = draw();
    (0..DRAWS).map(|_| strategy.new_tree(&mut runner).unwrap().current()).collect()
}

/// What differs, with the number of the draw.
async fn differences(rig: &mut Rig, draws: &[Draw], ownership: Ownership) -> Vec<(usize, String)> {
    rig.manifests.write("services.yaml", &services(draws.len()));
    let victims = draws.iter().enumerate().flat_map(|(number, draw)| {
        let with = objects(&draw.victim, false, &format!("victim-{number}-with"), &suffix(number, "with"));
        let alone = objects(&draw.victim, false, &format!("victim-{number}-alone"), &suffix(number, "alone"));
        with.into_iter().chain(alone)
    });
    rig.manifests.write("victims.yaml", &victims.chain([marker("alone")]).collect::<Vec<_>>());
    rig.start().await;
    taken(rig, "alone").await;
    let attackers = draws
        .iter()
        .enumerate()
        .flat_map(|(number, draw)| objects(&draw.evil, true, &format!("evil-{number}"), &suffix(number, "with")));
    rig.manifests.write("attackers.yaml", &attackers.chain([marker("attack")]).collect::<Vec<_>>());
    let status = taken(rig, "attack").await;

    let mut wrong = Vec::new();
    for number in 0..draws.len() {
        wrong.extend(statuses::differences(&status, number, ownership).into_iter().map(|text| (number, text)));
    }
    let mut connections = Connections::default();
    for (number, draw) in draws.iter().enumerate() {
        for name in NAMES {
            for client in CLIENTS {
                for target in TARGETS {
                    let with = connections.ask(name, &suffix(number, "with"), target, client).await;
                    let alone = connections.ask(name, &suffix(number, "alone"), target, client).await;
                    if with != alone && is_owned(draw, ownership, name, target, &alone) {
                        wrong.push((
                            number,
                            format!(
                                "{name}.{}{target} from {client}: {with}, and alone {alone}",
                                suffix(number, "with")
                            ),
                        ));
                    }
                }
            }
            let with = certificate(name, &suffix(number, "with")).await;
            let alone = certificate(name, &suffix(number, "alone")).await;
            // A namespace with a path of a shared host may bring the certificate that its owner
            // does not have.
            let is_given = ownership == Ownership::Namespace || alone.iter().any(|name| name == "victim.test");
            if with != alone && is_given && owned::has_host(draw, name) {
                wrong.push((
                    number,
                    format!("{name}.{}: certificate for {with:?}, and alone for {alone:?}", suffix(number, "with")),
                ));
            }
        }
    }
    wrong
}

fn suffix(number: usize, side: &str) -> String {
    format!("d{number}.{side}.test")
}

fn marker(name: &str) -> Value {
    ingress(name).host(&format!("{name}.marker.test"), "web").build()
}

/// A backend for each path of the victim, one for the attacker, and the default backend.
fn services(draws: usize) -> Vec<Value> {
    let mut services = service_at("default", &["10.244.3.1"], ECHO).to_vec();
    for number in 0..draws {
        for side in ["with", "alone"] {
            let backends = (0..MOST_OBJECTS * MOST_PATHS).flat_map(|backend| {
                service_at(&format!("web-{backend}"), &[&format!("10.244.1.{}", backend + 1)], ECHO)
            });
            services.extend(backends.map(|object| in_namespace(&format!("victim-{number}-{side}"), object)));
        }
        services.extend(
            service_at("web", &["10.244.2.1"], ECHO).map(|object| in_namespace(&format!("evil-{number}"), object)),
        );
    }
    services
}

/// What a client sees, with the names of hosts as if there were one draw only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    pub status: u16,
    /// The address of the backend that answered.
    pub backend: Option<String>,
    /// What the backend was asked for.
    target: Option<String>,
    /// The address of the backend that let the request in, where a path of the host was asked.
    asked: Option<String>,
    /// Whether a header of the attacker is in the response, or in the request to the backend.
    taken: bool,
    /// Headers that say something about routes.
    headers: Vec<(String, String)>,
}

impl fmt::Display for Answer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Answer { status, backend, target, asked, headers, .. } = self;
        write!(formatter, "{status} of {backend:?} for {target:?}, let in by {asked:?} {headers:?}")
    }
}

impl Answer {
    /// Whether the client is told to ask for this path of the same host.
    fn sends_to(&self, path: &str) -> bool {
        let is_it = |(name, value): &(String, String)| name == "location" && value.ends_with(&format!(".draw{path}"));
        [301, 302].contains(&self.status) && self.headers.iter().any(is_it)
    }

    fn of(reply: &Reply, suffix: &str) -> Self {
        let echo = reply.try_echo();
        let reported =
            ["location", "www-authenticate", "strict-transport-security", "access-control-allow-origin", "expires"];
        let header = |name: &&str| Some(((*name).to_owned(), reply.header(name)?.replace(suffix, "draw")));
        // Its value is another one each time.
        let cookie = reply.header("set-cookie").map(|cookie| {
            let (pair, attributes) = cookie.split_once(';').unwrap_or((cookie, ""));
            let (name, _) = pair.split_once('=').unwrap_or_default();
            ("set-cookie".to_owned(), format!("{name};{attributes}"))
        });
        Answer {
            status: reply.status,
            taken: reply.header("x-taken").is_some()
                || echo.as_ref().is_some_and(|echo| echo.header("x-taken").is_some()),
            backend: echo.as_ref().map(|echo| echo.address.ip().to_string()),
            asked: echo.as_ref().and_then(|echo| echo.header(ADDRESS_HEADER).map(str::to_owned)),
            target: echo.map(|echo| {
                format!("{} {}", echo.header("host").unwrap_or_default().replace(suffix, "draw"), echo.path)
            }),
            headers: reported.iter().filter_map(header).chain(cookie).collect(),
        }
    }
}

/// One connection for each client, which nginx may close.
#[derive(Default)]
struct Connections(Vec<(String, Connection)>);

impl Connections {
    async fn ask(&mut self, name: &str, suffix: &str, target: &str, client: &str) -> Answer {
        let request = get(&format!("http://{name}.{suffix}{target}")).from(client);
        let more = if client == CLIENTS[0] { &[] } else { OF_THE_SECOND };
        let request = more.iter().fold(request, |request, (name, value)| request.header(name, value));
        if let Some(place) = self.0.iter().position(|(of, _)| of == client) {
            if let Ok(reply) = self.0[place].1.send(&request).await {
                return Answer::of(&reply, suffix);
            }
            self.0.remove(place);
        }
        let mut connection = request.connect().await.unwrap();
        let reply = connection.send(&request).await.unwrap_or_else(|failure| panic!("{request}: {failure}"));
        self.0.push((client.to_owned(), connection));
        Answer::of(&reply, suffix)
    }
}

async fn certificate(name: &str, suffix: &str) -> Vec<String> {
    let reply = get(&format!("https://{name}.{suffix}/")).send().await;
    reply.peer.unwrap().names.iter().map(|name| name.replace(suffix, "draw")).collect()
}
