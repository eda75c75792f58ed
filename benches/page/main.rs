//! `make bench`, page: how soon a browser shows the status page, and what an update costs it.
#![expect(clippy::unwrap_used, reason = "a measurement that cannot be taken may panic")]

#[expect(dead_code, reason = "it takes pictures for tests")]
#[path = "../../tests/page/browser.rs"]
mod browser;
#[expect(dead_code, reason = "measuring the daemon needs more")]
#[path = "../common/mod.rs"]
mod common;

use std::process::{Command, Stdio};
use std::sync::mpsc;

use clap::Parser;

use browser::Open;
use common::machine;
use common::report::{Figure, Report, Target};
use rig::Rig;
use rig::manifests::ingress;

/// What the page may cost whoever looks at it, in milliseconds.
const TARGETS: &[Target] = &[("first paint, middle", 5000, 300.0), ("script for an update, middle", 5000, 50.0)];

/// Measures the status page in Chromium on this machine.
#[derive(Debug, Parser)]
struct Options {
    /// How many hosts, one run for each number.
    #[arg(long, env = "BENCH_SIZES", value_delimiter = ',', default_values_t = [100, 1000, 5000])]
    sizes: Vec<usize>,
    /// How often the page is loaded, and how many updates there are.
    #[arg(long, env = "BENCH_SAMPLES", default_value_t = 9)]
    samples: usize,
    /// Given by `cargo bench` to every benchmark.
    #[arg(long, hide = true)]
    bench: bool,
}

fn main() {
    let options = Options::parse();
    if Command::new("chromium").arg("--version").stdout(Stdio::null()).status().is_err() {
        println!("The status page was left out: chromium is not installed (`tests/requirements page` installs it).");
        return;
    }
    let mut report = Report::new(machine::facts(), TARGETS);
    for size in options.sizes {
        let (sender, receiver) = mpsc::channel();
        let samples = options.samples;
        rig::run(async move |rig| sender.send(measure(rig, size, samples).await).unwrap());
        report.add(size, receiver.recv().unwrap());
    }
    print!("{}", report.table());
    println!("{}", report.write("bench-page.json"));
}

async fn measure(rig: &mut Rig, size: usize, samples: usize) -> Vec<Figure> {
    let host = |number: usize| ingress(&format!("h{number}")).host(&format!("h{number}.example"), "web").build();
    rig.manifests.write("hosts.yaml", &(0..size).map(host).collect::<Vec<_>>());
    rig.start().await;
    let mut page = Open::begin(&rig.folder().join("chromium")).await;
    let (mut paints, mut answers, mut bytes) = (Vec::new(), Vec::new(), 0.0);
    for _ in 0..samples {
        page.go("").await;
        page.until("the first paint", &format!("{PAINT} !== undefined")).await;
        paints.push(number(&mut page, &format!("{PAINT}.startTime")).await);
        answers.push(number(&mut page, &format!("{LOAD}.responseEnd - {LOAD}.requestStart")).await);
        bytes = number(&mut page, &format!("{LOAD}.decodedBodySize")).await;
    }
    page.ask(WATCH).await;
    for sample in 0..samples {
        let before = number(&mut page, "times.length").await;
        rig.manifests.write("late.yaml", &[ingress("late").host(&format!("late{sample}.example"), "web").build()]);
        page.until("an update", &format!("times.length > {before}")).await;
    }
    let scripts = page.ask("times.join()").await.split(',').map(|time| time.parse().unwrap()).collect();
    let mut figures = vec![Figure::new("bytes of the page", "KiB", bytes / 1024.0)];
    for (name, values) in
        [("first paint", paints), ("of it the daemon's answer", answers), ("script for an update", scripts)]
    {
        figures.extend(middle_and_longest(name, values));
    }
    figures
}

const PAINT: &str = "performance.getEntriesByName('first-contentful-paint')[0]";
const LOAD: &str = "performance.getEntriesByType('navigation')[0]";

/// Takes the times of updates: of what the script does from the moment when it has the new page
/// until all is in place, which is without a pause.
const WATCH: &str = "(() => {
    window.times = [];
    let began;
    const parse = DOMParser.prototype.parseFromString;
    DOMParser.prototype.parseFromString = function (...told) {
        began = performance.now();
        return parse.apply(this, told);
    };
    const ended = () => times.push(performance.now() - began);
    new MutationObserver(ended).observe(document.documentElement, { attributeFilter: ['data-refreshed'] });
})()";

async fn number(page: &mut Open, expression: &str) -> f64 {
    page.ask(expression).await.parse().unwrap()
}

fn middle_and_longest(name: &str, mut values: Vec<f64>) -> [Figure; 2] {
    values.sort_by(f64::total_cmp);
    let (middle, longest) = (values[values.len() / 2], values[values.len() - 1]);
    [Figure::new(format!("{name}, middle"), "ms", middle), Figure::new(format!("{name}, longest"), "ms", longest)]
}
