//! Writes the settings that replace the flags of an ingress-nginx, each line with its flag.

use std::fmt::Write as _;

use toml_edit::Value;

use super::controller::{Argument, Controller};
use super::flags::{Counterpart, Entries, FLAGS, Flag};
use super::item::{Equivalence, Item};
use ingressd_config::{Error, Sources};
use ingressd_model::finding::on_one_line;
use ingressd_translate::annotation::Compared;

/// The flags about the class.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Class {
    /// The `spec.controller` of its IngressClasses.
    pub controller: String,
    /// The value of the legacy annotation.
    pub legacy: String,
    /// Whether an IngressClass with the name of the legacy annotation belongs to it too.
    pub by_name: bool,
    /// Whether objects without a class belong to it.
    pub without_class: bool,
    /// The prefix of annotations, if it is given.
    pub prefix: Option<String>,
}

/// The settings, and the result for each flag.
#[derive(Debug, Clone, Default)]
pub struct DropIn {
    /// The file, as TOML.
    pub text: String,
    /// The given flags in the order of the table, then unknown ones.
    pub flags: Vec<Item>,
}

const HEAD: &str = "\
# Written by `ingressd migrate settings`: settings that replace the flags of an ingress-nginx. Each setting stands below
# its flag; a flag without a setting is a comment that says why.
";

/// The nodes write no statuses while the controller still does.
const HOLD: &str = "
# Addresses are written once `ingressd migrate take-over` has been run.
publish.hold = true
";

/// The settings that replace the flags of this controller.
pub fn drop_in(controller: &Controller) -> DropIn {
    let of = match &*controller.workload {
        "" => "# No controller was found: these are the defaults of its flags".to_owned(),
        workload => format!("# Flags of {}", comment(workload)),
    };
    let mut written = DropIn { text: format!("{HEAD}{of}\n{HOLD}"), flags: Vec::new() };
    let mut class = Class::default();
    let mut of_class = Vec::new();
    // The flags about the served namespaces come first: settings that contradict them are dropped.
    let is_scope = |flag: &&Flag| flag.name.starts_with("watch-namespace");
    for flag in FLAGS.iter().filter(is_scope).chain(FLAGS.iter().filter(|flag| !is_scope(flag))) {
        let given = controller.arguments.iter().find(|argument| argument.name == flag.name);
        match (flag.counterpart, given) {
            (Counterpart::Class(column, set), _) => {
                let value = controller.value_or_default(flag.name);
                let done = set(&mut class, value);
                of_class.extend(given.map(|argument| (argument, column, done.err())));
            }
            (_, Some(argument)) => {
                let item = written.add(argument, flag);
                written.flags.push(item);
            }
            (_, None) => {}
        }
    }
    written.add_class(controller, &class, of_class);
    for argument in controller.arguments.iter().filter(|argument| argument.row().is_none()) {
        let why = "no flag of this name is known";
        written.note(argument, why);
        let known = Compared::Refused("No flag of this name is known.", "look up what it does, and look for a setting");
        written.flags.push(Item::of_key(&argument.written(), "", known));
    }
    written
}

impl DropIn {
    fn note(&mut self, argument: &Argument, why: &str) {
        // Writing to a string does not fail.
        let _ = write!(self.text, "\n# {}: {}\n", comment(&argument.written()), comment(why));
    }

    /// Writes the settings of a flag.
    fn add(&mut self, argument: &Argument, flag: &Flag) -> Item {
        let name = argument.written();
        match flag.counterpart {
            Counterpart::Settings(_, write, compared) => {
                match argument.checked().and_then(write).and_then(|entries| self.proven(&entries)) {
                    Ok(lines) if lines.is_empty() => {
                        self.note(argument, "ingressd always does this");
                        Item { name, ..Item::default() }
                    }
                    Ok(lines) => {
                        let (why, remedy) = compared.words();
                        let remark = match (why, remedy) {
                            ("", "") => String::new(),
                            (why, "") => format!("# {}\n", comment(why)),
                            (why, remedy) => format!("# {} To do: {}.\n", comment(why), comment(remedy)),
                        };
                        let _ = write!(self.text, "\n# {}\n{remark}{lines}", comment(&name));
                        let becomes = lines.lines().collect::<Vec<_>>().join(", ");
                        Item { becomes, ..Item::of_key(&name, "", compared) }
                    }
                    Err(why) => {
                        self.note(argument, &format!("it has no setting: {why}"));
                        Item {
                            name,
                            verdict: Equivalence::Refused,
                            why: "It has no setting.".to_owned(),
                            remedy: why,
                            ..Item::default()
                        }
                    }
                }
            }
            Counterpart::Nothing(why) => {
                self.note(argument, &format!("no setting is needed: {why}"));
                Item { name, why: format!("no setting is needed: {why}"), ..Item::default() }
            }
            Counterpart::Refused(instead) if !argument.value.is_empty() && argument.value != flag.default => {
                self.note(argument, &format!("there is no replacement: {instead}"));
                Item::of_key(&name, "", Compared::Refused("There is no replacement.", instead))
            }
            Counterpart::Refused(_) | Counterpart::Class(..) => {
                self.note(argument, "ingressd always does this");
                Item { name, ..Item::default() }
            }
        }
    }

    /// The lines of these settings, checked by reading them together with all earlier ones.
    fn proven(&self, entries: &Entries) -> Result<String, String> {
        if let Some((key, _)) = entries.iter().find(|(key, _)| ingressd_config::rows().all(|row| row.key != *key)) {
            return Err(format!("this version has no setting {key}"));
        }
        let is_there = |key: &str| self.text.lines().any(|line| line.starts_with(&format!("{key} = ")));
        if let Some((key, _)) = entries.iter().find(|(key, _)| is_there(key)) {
            return Err(format!("a flag before it sets {key} already; remove one of them"));
        }
        let lines: String = entries.iter().map(|(key, value)| format!("{key} = {}\n", plain(value))).collect();
        match Sources::load_text(&format!("{}{lines}", self.text)) {
            Ok(_) => Ok(lines),
            Err(error) => Err(words(&error)),
        }
    }

    /// Writes the class, which exists with or without flags.
    fn add_class(
        &mut self,
        controller: &Controller,
        class: &Class,
        given: Vec<(&Argument, &'static str, Option<String>)>,
    ) {
        let of = |name: &str| {
            let argument = controller.arguments.iter().find(|argument| argument.name == name);
            let default = || format!("--{name}={}", controller.value_or_default(name));
            argument.map_or_else(default, Argument::written)
        };
        let mut lines = vec![
            ("controller", Value::from(&class.controller), of("controller-class")),
            ("dialect", Value::from("ingress-nginx"), "what ingress-nginx does".to_owned()),
            ("legacy-class", Value::from(&class.legacy), of("ingress-class")),
        ];
        if class.by_name {
            let both = format!("{} {}", of("ingress-class-by-name"), of("ingress-class"));
            lines.push(("class-name", Value::from(&class.legacy), both));
        }
        if class.without_class {
            lines.push(("without-class", Value::from(true), of("watch-ingress-without-class")));
        }
        if let Some(prefix) = class.prefix.as_ref().filter(|_| controller.value("annotations-prefix").is_some()) {
            lines.push(("annotations-prefix", Value::from(prefix), of("annotations-prefix")));
        }
        let mut refused: Vec<(&str, String)> = Vec::new();
        let mut table = String::from("\n[[classes]]\n");
        for (column, value, flag) in lines {
            let line = format!("{column} = {} # {}\n", plain(&value), comment(&flag));
            // The first line makes the table valid.
            match Sources::load_text(&format!("{}{table}{line}", self.text)) {
                Ok(_) => table += &line,
                Err(error) => refused.push((column, words(&error))),
            }
        }
        if table.contains("controller = ") {
            self.text += &table;
            self.text += "\n# The default class, which this list would otherwise remove.\n[[classes]]\n\
                          controller = \"ingressd/nginx\"\ndialect = \"specification\"\n";
        }
        for (argument, column, wrong) in given {
            let why = wrong.or_else(|| refused.iter().find(|(of, _)| *of == column).map(|(_, why)| why.clone()));
            let name = argument.written();
            if let Some(why) = &why {
                self.note(argument, &format!("it has no setting: {why}"));
            }
            self.flags.push(match why {
                None => Item { name, becomes: format!("classes: {column}"), ..Item::default() },
                Some(remedy) => Item {
                    name,
                    verdict: Equivalence::Refused,
                    why: "It has no setting.".to_owned(),
                    remedy,
                    ..Item::default()
                },
            });
        }
    }
}

/// What is wrong with a value; where it would stand in the text is of no use.
fn words(error: &Error) -> String {
    match error {
        Error::Mistakes(mistakes) => {
            let each = mistakes.iter().map(|mistake| match mistake.key.as_str() {
                "" => on_one_line(&mistake.why),
                key => format!("{key}: {}", on_one_line(&mistake.why)),
            });
            each.collect::<Vec<_>>().join("; ")
        }
        other => on_one_line(&other.to_string()),
    }
}

/// A value as TOML on one line.
fn plain(value: &Value) -> String {
    // The default form of a long string has several lines.
    match value {
        Value::String(text) => serde_json::Value::from(text.value().as_str()).to_string(),
        Value::Array(values) => format!("[{}]", values.iter().map(plain).collect::<Vec<_>>().join(", ")),
        other => other.to_string().trim().to_owned(),
    }
}

/// A text for a comment, on one line.
fn comment(text: &str) -> String {
    on_one_line(text)
}
