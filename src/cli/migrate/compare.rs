//! The step `compare` of `migrate`: sends the same requests to a controller and to ingressd, and
//! shows the differences. It must not know which parts of a response are compared.

mod text;

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;
use tokio::time::{Interval, MissedTickBehavior, interval};

use super::{Judging, Origin};
use crate::cli::client::{self, Bounds, Client};
use crate::cli::exit::{Ended, Exit};
use crate::cli::output::{self, FormatArguments};
use crate::cli::page;
use crate::cli::waiting::waiting;
use ingressd_migrate::compare::{
    AGENT, Answer, BESIDE, Choice, Chooser, Comparison, Difference, DifferentPart, Format, IngressHosts, Lines,
    Outcome, Ports, Request, Rounds, Scheme, Side, Silence, explain, reported,
};
use ingressd_migrate::{Controller, Report};
use ingressd_model::USUAL_LINE;
use ingressd_model::finding::on_one_line;
use ingressd_objects::Inventory;
use ingressd_translate::ANNOTATIONS;

/// How files of gzip begin.
const GZIP: &[u8] = &[0x1f, 0x8b];

/// After so many refused connections in a row a side counts as gone.
const MOST_REFUSED: usize = 5;

/// Arguments of `ingressd migrate compare`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
    Both sides have to serve the same objects: ingressd with the settings that `ingressd migrate settings \
    --side-by-side` prints. Without --log, one request is sent for each host and path of the Ingresses of the \
    controller's class, and also one over TLS where the host has TLS. With --log, the requests of the log are \
    sent that the controller had not refused, each once, and the most frequent first. The key log-format-upstream of the ConfigMap says how to \
    read a log; lines may also be JSON. Where a line has no host, the backend that it names tells the host.\n\n\
    Only GET, HEAD and OPTIONS are sent, and without credentials: no cookies, no authorization, and no \
    parameter of a query whose name says that it is a token, key, password or signature. Redirects are not \
    followed. A request whose answers differ is sent three times more, so that a backend that answers \
    differently each time is recognised.")]
pub struct Arguments {
    #[command(flatten)]
    origin: Origin,
    /// Address or name where the controller is reached.
    #[arg(long, value_name = "ADDRESS")]
    controller_address: String,
    /// Ports of the controller for http and https.
    #[arg(long, value_name = "HTTP,HTTPS", default_value_t = Ports { http: 80, https: 443 })]
    controller_ports: Ports,
    /// Address or name where ingressd is reached: its nginx, on this node or another.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    ingressd_address: String,
    /// Ports of ingressd for http and https.
    #[arg(long, value_name = "HTTP,HTTPS", default_value_t = BESIDE)]
    ingressd_ports: Ports,
    /// Access log of the controller whose requests are sent. This option may be repeated, and `-`
    /// is standard input. Without it, requests are made from the Ingresses.
    #[arg(long, value_name = "FILE")]
    log: Vec<PathBuf>,
    /// Send requests again, too, that the controller had refused with 401, 403, 429 or 444.
    #[arg(long)]
    all_statuses: bool,
    /// How many requests each side is sent in a second.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rate: u32,
    /// How many different requests are sent at most.
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    most: u32,
    /// How many seconds an answer may take.
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=600))]
    timeout: u64,
    /// How many bytes of a body are compared.
    #[arg(long, value_name = "BYTES", default_value_t = 1 << 20, value_parser = clap::value_parser!(u32).range(1..=1 << 30))]
    most_body: u32,
    #[command(flatten)]
    form: FormatArguments<output::Format>,
    /// File to write the result to as JSON, for `ingressd migrate take-over`.
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    #[command(flatten)]
    judging: Judging,
}

/// Runs the step.
pub fn run(arguments: &Arguments) -> Ended {
    let mut inventory = arguments.origin.read()?;
    let controller = arguments.origin.controller(&inventory)?;
    let report = arguments.judging.report(&mut inventory, controller.as_ref())?;
    let prefix = controller.as_ref().and_then(|controller| controller.value("annotations-prefix"));
    let prefix = format!("{}/", prefix.unwrap_or(ANNOTATIONS.prefix).trim_end_matches('/'));
    let names = report.ingresses.iter().map(|ingress| format!("{}/{}", ingress.namespace, ingress.name));
    let known_hosts = IngressHosts::of(&inventory.snapshot, &names.collect::<BTreeSet<_>>(), &prefix);
    let key = |name: &str| key_of_map(&inventory, controller.as_ref(), name);
    let choice = choice(arguments, &known_hosts, key)?;
    let runtime = crate::cli::runtime::start()?;
    let bounds = Bounds {
        deadline: Duration::from_secs(arguments.timeout),
        most_body: usize::try_from(arguments.most_body).unwrap_or(usize::MAX),
        says_client: is_on(key("use-proxy-protocol")),
        agent: AGENT,
    };
    let sides = [
        Side { address: arguments.controller_address.clone(), ports: arguments.controller_ports },
        Side { address: arguments.ingressd_address.clone(), ports: arguments.ingressd_ports },
    ];
    // An earlier result must not remain in the file when this run fails.
    arguments.report.as_deref().map_or(Ok(()), remove)?;
    let _waiting = waiting("both sides to answer all requests");
    let found = runtime.block_on(async {
        let mut asking = BothSides::begin(&sides, &bounds, &choice.requests, arguments.rate).await?;
        asking.all(&choice.requests, &known_hosts, &report).await
    })?;
    let [controller, ingressd] = sides;
    let comparison = Comparison {
        finished: Timestamp::now().to_string(),
        controller,
        ingressd,
        asked: choice.requests.len(),
        left_out: choice.left_out,
        ..found
    };
    print(arguments, &comparison)
}

/// The requests to send; keys of the ConfigMap say how to parse a log.
fn choice(
    arguments: &Arguments,
    known_hosts: &IngressHosts,
    key: impl Fn(&str) -> Option<String>,
) -> Result<Choice, Exit> {
    let mut chooser = Chooser::new(known_hosts, arguments.all_statuses);
    let line = key("log-format-upstream").filter(|line| !line.is_empty());
    let line = line.as_deref().unwrap_or(USUAL_LINE);
    match arguments.log.is_empty() {
        true => chooser.add_ingresses(),
        false => {
            let format = Format::new(line, is_on(key("log-format-escape-json"))).map_err(|refused| {
                complain!("ingressd: log-format-upstream of the controller cannot be read: {refused}");
                Exit::NoInput
            })?;
            arguments.log.iter().try_for_each(|file| read_log(file, &format, &mut chooser))?;
        }
    }
    let choice = chooser.choose(usize::try_from(arguments.most).unwrap_or(usize::MAX));
    if choice.requests.is_empty() {
        let why = choice.left_out.counts().into_iter().filter(|(.., count)| *count > 0);
        let why = why.map(|(_, why, count)| format!("{why} ({count})")).collect::<Vec<_>>().join(", ");
        complain!("ingressd: there is nothing to ask{}", if why.is_empty() { why } else { format!(": {why}") });
        if choice.left_out.unreadable > 0 {
            complain!(
                "ingressd: a line is JSON, or as the key log-format-upstream of the controller's ConfigMap says, which is: {}",
                on_one_line(line)
            );
        }
        return Err(Exit::NoInput);
    }
    Ok(choice)
}

fn print(arguments: &Arguments, comparison: &Comparison) -> Ended {
    let json = || output::json(&comparison.json());
    if let Some(file) = &arguments.report {
        write(file, &json()).map_err(|error| unwritable(file, &error))?;
    }
    let end = if comparison.is_clean() { Exit::Success } else { Exit::Findings };
    match arguments.form.format {
        output::Format::Text => output::show_styled(&text::text(comparison, page::width()), end),
        output::Format::Json => output::show(json(), end),
    }
}

/// Removes an earlier file, and finds out whether a new one can be written: a comparison takes
/// minutes.
fn remove(file: &Path) -> Result<(), Exit> {
    match std::fs::remove_file(file) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(unwritable(file, &error)),
        _ => new_beside(file).map(drop).map_err(|error| unwritable(file, &error)),
    }
}

fn unwritable(file: &Path, error: &std::io::Error) -> Exit {
    complain!("ingressd: {}: {error}", file.display());
    Exit::of_error(error)
}

/// Replaces the file as a whole, so that readers never see a part.
fn write(file: &Path, text: &str) -> std::io::Result<()> {
    let mut new = new_beside(file)?;
    new.write_all(text.as_bytes())?;
    new.persist(file).map(drop).map_err(|error| error.error)
}

fn new_beside(file: &Path) -> std::io::Result<tempfile::NamedTempFile> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    tempfile::NamedTempFile::new_in(folder)
}

fn is_on(value: Option<String>) -> bool {
    value.is_some_and(|value| value.trim().eq_ignore_ascii_case("true"))
}

/// A key of the controller's ConfigMap.
fn key_of_map(inventory: &Inventory, controller: Option<&Controller>, key: &str) -> Option<String> {
    let (namespace, name) = controller?.value("configmap")?.split_once('/')?;
    let stored = inventory.snapshot.config_map(namespace, name)?;
    stored.object.data.as_ref()?.get(key).cloned()
}

fn read_log(file: &Path, format: &Format, chooser: &mut Chooser<'_>) -> Result<(), Exit> {
    let wrong = |error: std::io::Error| {
        complain!("ingressd: {}: {error}", file.display());
        Exit::NoInput
    };
    let mut reader: Box<dyn BufRead> = match file == Path::new("-") {
        true => Box::new(std::io::stdin().lock()),
        false => Box::new(BufReader::new(std::fs::File::open(file).map_err(wrong)?)),
    };
    if reader.fill_buf().map_err(wrong)?.starts_with(GZIP) {
        let file = file.display();
        complain!("ingressd: {file} is compressed: name `-` instead, and let `zcat {file}` write into this command");
        return Err(Exit::NoInput);
    }
    let (mut bytes, mut lines) = (Vec::new(), Lines::default());
    while reader.read_until(b'\n', &mut bytes).map_err(wrong)? > 0 {
        let line = String::from_utf8_lossy(&bytes);
        if let Some(line) = lines.end(&line).filter(|line| !line.trim().is_empty()) {
            chooser.add_line(format.read(&line).as_ref());
        }
        bytes.clear();
    }
    (0..lines.begun()).for_each(|_| chooser.add_line(None));
    Ok(())
}

/// Both sides, with their connections.
struct BothSides {
    sides: [Client; 2],
    pace: Interval,
    refused: [usize; 2],
}

impl BothSides {
    /// Checks whether both listen where the requests go.
    async fn begin(sides: &[Side; 2], bounds: &Bounds, requests: &[Request], rate: u32) -> Result<Self, Exit> {
        let mut pace = interval(Duration::from_secs(1) / rate);
        pace.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let [controller, ingressd] = sides;
        let begin = async |side: &Side| {
            let client = Client::new(side.clone(), bounds.clone()).await?;
            for scheme in [Scheme::Http, Scheme::Https] {
                if requests.iter().any(|request| request.scheme == scheme) {
                    client.look(scheme).await?;
                }
            }
            Ok(client)
        };
        let wrong = |side: &'static str| {
            move |error: client::Error| {
                complain!("ingressd: {side}: {error}; --{side}-address and --{side}-ports say where it is asked");
                Exit::Unavailable
            }
        };
        let sides =
            [begin(controller).await.map_err(wrong("controller"))?, begin(ingressd).await.map_err(wrong("ingressd"))?];
        Ok(BothSides { sides, pace, refused: [0, 0] })
    }

    /// Sends all requests. The caller fills in the rest of the report.
    async fn all(
        &mut self,
        requests: &[Request],
        known_hosts: &IngressHosts,
        report: &Report,
    ) -> Result<Comparison, Exit> {
        let [controller, ingressd] = &self.sides;
        let mut comparison = Comparison::new(controller.side.clone(), ingressd.side.clone());
        for request in requests {
            let rounds = self.compare(request).await?;
            comparison.unanswered += usize::from(rounds.is_silent());
            let Outcome { different, unsteady } = rounds.outcome();
            if !unsteady.is_empty() {
                comparison.unsteady.push((request.clone(), unsteady));
            }
            if different.is_empty() {
                continue;
            }
            let known = known_hosts.host(&request.host);
            let ingress = known.and_then(|known| known.route(request.path())).map(|route| route.ingress.clone());
            let others = known.map_or(&[][..], |known| &known.ingresses);
            let seen: Vec<_> = different.iter().map(|(part, ..)| part.clone()).collect();
            let parts = different.into_iter().map(|(part, controller, ingressd)| {
                let because = explain(&part, [&controller, &ingressd], &seen, ingress.as_deref(), others, report);
                DifferentPart { part, controller, ingressd, because }
            });
            comparison.different.push(Difference { parts: parts.collect(), request: request.clone(), ingress });
        }
        Ok(comparison)
    }

    /// Sends a request to both sides, and again while a difference may be random.
    async fn compare(&mut self, request: &Request) -> Result<Rounds, Exit> {
        let mut rounds = Rounds::default();
        while rounds.controller.len() < Rounds::MOST {
            self.pace.tick().await;
            let [controller, ingressd] = &mut self.sides;
            let answers = tokio::join!(controller.ask(request), ingressd.ask(request));
            let answers = [answers.0, answers.1];
            for ((refused, answer), client) in self.refused.iter_mut().zip(&answers).zip(&self.sides) {
                *refused = if matches!(answer, Answer::None(Silence::NoConnection)) { *refused + 1 } else { 0 };
                if *refused >= MOST_REFUSED {
                    complain!("ingressd: nothing listens at {} any more", client.side.address);
                    return Err(Exit::Unavailable);
                }
            }
            let [controller, ingressd] = &self.sides;
            rounds.controller.push(reported(&answers[0], request, controller.side.ports));
            rounds.ingressd.push(reported(&answers[1], request, ingressd.side.ports));
            if rounds.outcome().different.is_empty() {
                break;
            }
        }
        Ok(rounds)
    }
}
