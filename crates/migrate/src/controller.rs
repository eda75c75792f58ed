//! Finds the ingress-nginx controller among workloads, and parses its flags as it does.

use super::flags::{Flag, Takes};
use ingressd_objects::{Container, Workload};

const PROGRAM: &str = "nginx-ingress-controller";

/// The first version that looks at values of annotations without being told to.
const VALIDATING: [u32; 3] = [1, 12, 0];

/// The names of its images.
const IMAGES: &[&str] = &["ingress-nginx/controller", PROGRAM];

/// A flag as it was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Argument {
    /// Its name, without dashes.
    pub name: String,
    /// Its value; `true` for a switch without one.
    pub value: String,
}

impl Argument {
    pub(crate) fn written(&self) -> String {
        let dashes = if self.name.chars().count() > 1 { "--" } else { "-" };
        match self.value.as_str() {
            "true" if self.row().is_some_and(|row| row.takes == Takes::Switch) => format!("{dashes}{}", self.name),
            value => format!("{dashes}{}={value}", self.name),
        }
    }

    /// Its value.
    ///
    /// # Errors
    ///
    /// That the controller does not start with it.
    pub(crate) fn checked(&self) -> Result<&str, String> {
        let is_switch = self.row().is_some_and(|row| row.takes == Takes::Switch);
        match is_switch && !is_true(&self.value) && !is_false(&self.value) {
            true => Err(format!("{:?} is neither true nor false: the controller does not start with it", self.value)),
            false => Ok(&self.value),
        }
    }

    /// Its row in the table of flags.
    pub fn row(&self) -> Option<&'static Flag> {
        Flag::find(&self.name)
    }
}

/// An ingress-nginx controller.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Controller {
    /// The kind, namespace and name of its workload.
    pub workload: String,
    /// The namespace and name of its workload.
    pub name: String,
    pub(crate) image: String,
    /// Its flags, each once: the last of repeated flags counts.
    pub arguments: Vec<Argument>,
}

impl Controller {
    /// The value of a flag, if it is given.
    pub fn value(&self, name: &str) -> Option<&str> {
        self.arguments.iter().find(|argument| argument.name == name).map(|argument| argument.value.as_str())
    }

    /// The value of a flag, or its default.
    pub fn value_or_default(&self, name: &str) -> &str {
        let default = || Flag::find(name).map_or("", |flag| flag.default);
        self.value(name).filter(|value| !value.is_empty()).unwrap_or_else(default)
    }

    /// Its version, as the tag of its image says.
    pub fn version(&self) -> Option<[u32; 3]> {
        let (path, tag) = self.image.split('@').next()?.rsplit_once(':')?;
        let tag = tag.strip_prefix('v').filter(|_| !path.is_empty()).unwrap_or(tag);
        let mut parts = tag.split(['-', '+']).next()?.split('.').map(str::parse);
        match (parts.next(), parts.next(), parts.next(), parts.next()) {
            (Some(Ok(major)), Some(Ok(minor)), Some(Ok(patch)), None) => Some([major, minor, patch]),
            _ => None,
        }
    }

    /// Whether it looks at values of annotations before it uses them, as far as is known.
    pub fn validates(&self) -> bool {
        let is_usual = || self.version().is_some_and(|version| version >= VALIDATING);
        self.value("enable-annotation-validation").map_or_else(is_usual, is_true)
    }

    /// Whether a switch is on.
    pub fn is_on(&self, name: &str) -> bool {
        is_true(self.value_or_default(name))
    }
}

/// Whether Go parses the value as true.
pub fn is_true(value: &str) -> bool {
    ["1", "t", "T", "true", "TRUE", "True"].contains(&value)
}

/// Whether Go parses the value as false.
fn is_false(value: &str) -> bool {
    ["0", "f", "F", "false", "FALSE", "False"].contains(&value)
}

/// Every ingress-nginx controller among these workloads.
pub fn controllers(workloads: &[Workload]) -> Vec<Controller> {
    let found =
        workloads.iter().flat_map(|workload| workload.containers.iter().map(move |container| (workload, container)));
    let found = found.filter(|(_, container)| is_controller(container));
    found
        .map(|(workload, container)| {
            let name = format!("{}/{}", workload.namespace, workload.name);
            let workload = format!("{} {name}", workload.kind);
            Controller { workload, name, image: container.image.clone(), arguments: arguments(&container.words) }
        })
        .collect()
}

/// Whether the image name without registry, tag and digest is one of these, or the program is run.
pub(super) fn is_controller(container: &Container) -> bool {
    let image = container.image.split('@').next().unwrap_or_default();
    let path = match image.rsplit_once(':') {
        Some((path, tag)) if !tag.contains('/') => path,
        _ => image,
    };
    let is_named = IMAGES.iter().any(|name| path == *name || path.ends_with(&format!("/{name}")));
    is_named || container.words.iter().any(|word| is_program(word))
}

fn is_program(word: &str) -> bool {
    word.rsplit('/').next() == Some(PROGRAM) && !word.starts_with('-')
}

fn arguments(words: &[String]) -> Vec<Argument> {
    let behind = words.iter().rposition(|word| is_program(word)).map_or(0, |program| program + 1);
    let mut words = words[behind..].iter().peekable();
    let mut arguments: Vec<Argument> = Vec::new();
    while let Some(word) = words.next() {
        let Some(word) = word.strip_prefix("--").or_else(|| word.strip_prefix('-')).filter(|word| !word.is_empty())
        else {
            continue;
        };
        let argument = match word.split_once('=') {
            Some((name, value)) => Argument { name: name.to_owned(), value: value.to_owned() },
            None => {
                let takes = Flag::find(word).map_or(Takes::Switch, |flag| flag.takes);
                let value =
                    if takes == Takes::Value { words.next().cloned().unwrap_or_default() } else { "true".to_owned() };
                Argument { name: word.to_owned(), value }
            }
        };
        arguments.retain(|known| known.name != argument.name);
        arguments.push(argument);
    }
    arguments
}
