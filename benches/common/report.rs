//! Figures as a table for people and as JSON for machines.

use std::fmt::Write as _;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// What must not be exceeded: the figure, the number of Ingresses, the limit.
pub type Target = (&'static str, usize, f64);

/// One number.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// Its name.
    pub name: String,
    /// Its unit.
    pub unit: String,
    /// The number.
    pub value: f64,
}

impl Figure {
    /// A number.
    pub fn new(name: impl Into<String>, unit: &str, value: f64) -> Self {
        Figure { name: name.into(), unit: unit.to_owned(), value }
    }

    /// How many of something there were.
    pub fn count(name: impl Into<String>, number: usize) -> Self {
        Figure::new(name, "", f64::from(u32::try_from(number).unwrap()))
    }

    /// A duration in milliseconds.
    pub fn time(name: impl Into<String>, value: std::time::Duration) -> Self {
        Figure::new(name, "ms", value.as_secs_f64() * 1000.0)
    }
}

/// All figures of a run.
#[derive(Debug)]
pub struct Report {
    machine: Vec<(&'static str, String)>,
    targets: &'static [Target],
    runs: Vec<(usize, Vec<Figure>)>,
}

impl Report {
    /// No figures yet.
    pub fn new(machine: Vec<(&'static str, String)>, targets: &'static [Target]) -> Self {
        Report { machine, targets, runs: Vec::new() }
    }

    /// Adds the figures of one number of Ingresses.
    pub fn add(&mut self, size: usize, figures: Vec<Figure>) {
        self.runs.push((size, figures));
    }

    /// A line for each figure, a column for each number of Ingresses; `!` where a target is
    /// missed.
    pub fn table(&self) -> String {
        let mut text = String::new();
        for (name, value) in &self.machine {
            let _ = writeln!(text, "{name}: {value}");
        }
        let _ = write!(text, "\n| {:<60} | unit  |", "Ingresses");
        for (size, _) in &self.runs {
            let _ = write!(text, " {size:>9} |");
        }
        let _ = writeln!(text, "\n| {:-<60} | ----- |{}", "", " --------: |".repeat(self.runs.len()));
        for (name, unit) in self.names() {
            let _ = write!(text, "| {name:<60} | {unit:<5} |");
            for (size, figures) in &self.runs {
                let cell = figures.iter().find(|figure| figure.name == name).map(|figure| self.cell(*size, figure));
                let _ = write!(text, " {:>9} |", cell.unwrap_or_default());
            }
            text.push('\n');
        }
        text
    }

    /// Writes a file of this name into `target` and returns its text.
    pub fn write(&self, name: &str) -> String {
        let runs = self.runs.iter().map(|(size, figures)| {
            let figure = |figure: &Figure| {
                let target = self.target(*size, &figure.name);
                json!({"name": figure.name, "unit": figure.unit, "value": figure.value, "target": target})
            };
            json!({"ingresses": size, "figures": figures.iter().map(figure).collect::<Vec<_>>()})
        });
        let machine: Map<_, _> = self.machine.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect();
        let value: Value = json!({"machine": machine, "runs": runs.collect::<Vec<_>>()});
        let text = value.to_string();
        let target = std::env::var_os("CARGO_TARGET_DIR")
            .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("target"), Into::into);
        std::fs::write(target.join(name), &text).unwrap();
        text
    }

    /// Names and units, each once, in the order of the first run that has them.
    fn names(&self) -> Vec<(&str, &str)> {
        let mut names: Vec<(&str, &str)> = Vec::new();
        for figure in self.runs.iter().flat_map(|(_, figures)| figures) {
            if !names.iter().any(|(name, _)| *name == figure.name) {
                names.push((&figure.name, &figure.unit));
            }
        }
        names
    }

    fn target(&self, size: usize, name: &str) -> Option<f64> {
        self.targets.iter().find(|(figure, at, _)| *figure == name && *at == size).map(|(_, _, limit)| *limit)
    }

    fn cell(&self, size: usize, figure: &Figure) -> String {
        let missed = self.target(size, &figure.name).is_some_and(|limit| figure.value > limit);
        let digits = match figure.value {
            value if value.fract() == 0.0 => 0,
            value if value < 10.0 => 2,
            value if value < 100.0 => 1,
            _ => 0,
        };
        format!("{}{:.digits$}", if missed { "! " } else { "" }, figure.value)
    }
}
