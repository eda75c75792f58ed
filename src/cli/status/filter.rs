//! Which Ingresses and findings of a status are shown. It must not know how they are shown.

use clap::builder::PossibleValuesParser;
use serde_json::Value;

use super::overview::{is_ok, state};

/// The words for states, of which the last stands for several.
const STATES: [&str; 8] = ["ok", "partly", "closed", "last-good", "refused", "waiting", "down", "wrong"];

/// What the shown ones have in common.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct Filter {
    /// Show only what is of this namespace. This option may be repeated.
    #[arg(long = "namespace", short = 'n', value_name = "NAME", conflicts_with_all = ["ingress", "host", "cluster"])]
    namespaces: Vec<String>,
    /// Show only Ingresses in this state; `wrong` stands for each but ok. This option may be
    /// repeated.
    #[arg(long = "state", value_name = "STATE", value_parser = PossibleValuesParser::new(STATES),
        conflicts_with_all = ["ingress", "host", "cluster"])]
    states: Vec<String>,
    /// Show only Ingresses with this text in namespace, name, host or address, and findings with
    /// it. Capital and small letters are the same.
    #[arg(long, value_name = "TEXT", conflicts_with_all = ["ingress", "host", "cluster"])]
    text: Option<String>,
}

impl Filter {
    /// Whether it leaves out anything.
    pub fn is_some(&self) -> bool {
        !self.namespaces.is_empty() || !self.states.is_empty() || self.text.is_some()
    }

    /// Leaves in a status what is shown.
    pub fn apply(&self, status: &mut Value) {
        if !self.is_some() {
            return;
        }
        // States depend on whether nginx runs.
        let whole = status.clone();
        let mut shown = Vec::new();
        for list in ["ingresses", "not_served"] {
            let Some(rows) = status[list].as_array_mut() else { continue };
            rows.retain(|row| self.is_of_namespace(row) && self.is_in_state(&whole, row) && self.has_text(row));
            shown.extend(rows.iter().map(name));
        }
        if let Some(findings) = status["findings"].as_array_mut() {
            findings.retain(|finding| {
                let is_about_shown = finding["kind"] == "Ingress" && shown.contains(&name(finding));
                let is_asked_for = self.states.is_empty() && self.has_text(finding);
                self.is_of_namespace(finding) && (is_about_shown || is_asked_for)
            });
        }
        if let Some(left_out) = status["findings_left_out"].as_array_mut() {
            left_out.retain(|row| self.is_of_namespace(row));
        }
    }

    fn is_of_namespace(&self, row: &Value) -> bool {
        self.namespaces.is_empty() || self.namespaces.iter().any(|name| row["namespace"] == **name)
    }

    fn is_in_state(&self, status: &Value, ingress: &Value) -> bool {
        let shown = state(status, ingress);
        // What stands in brackets is not the state.
        let word = shown.split(" (").next().unwrap_or_default().replace(' ', "-");
        let is_it = |wanted: &String| *wanted == word || (wanted == "wrong" && !is_ok(&shown));
        self.states.is_empty() || self.states.iter().any(is_it)
    }

    /// Whether a text of the row has the text.
    fn has_text(&self, row: &Value) -> bool {
        let Some(wanted) = self.text.as_deref().map(str::to_lowercase) else { return true };
        let has = |value: &Value| value.as_str().is_some_and(|text| text.to_lowercase().contains(&wanted));
        let (namespace, name) = name(row);
        let whole = format!("{}/{}", namespace.unwrap_or_default(), name.unwrap_or_default());
        let lists = ["hosts", "addresses"].into_iter().filter_map(|list| row[list].as_array()).flatten();
        let words = ["kind", "field", "reason", "effect", "note"].into_iter().map(|word| &row[word]);
        whole.to_lowercase().contains(&wanted) || lists.chain(words).any(has)
    }
}

fn name(row: &Value) -> (Option<String>, Option<String>) {
    let text = |member: &str| row[member].as_str().map(str::to_owned);
    (text("namespace"), text("name"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_not_asked_for_is_left_out() {
        let row = |namespace: &str, name: &str, state: &str, host: &str| json!({"namespace": namespace, "name": name, "state": state, "hosts": [host], "closed": 2});
        let finding = |namespace: &str, name: &str, note: &str| json!({"kind": "Ingress", "namespace": namespace, "name": name, "note": note});
        let status = json!({
            "ingresses": [row("shop", "cart", "ok", "a.example"), row("shop", "old", "last good", "b.example"),
                row("blog", "web", "partly", "c.example")],
            "not_served": [row("blog", "bad", "refused", "d.example")],
            "findings": [finding("shop", "old", "no Secret"), finding("blog", "bad", "no Service"),
                finding("blog", "web", "no Secret"), json!({"kind": "Settings", "note": "c.example"})],
            "findings_left_out": [{"namespace": "shop", "count": 1}],
        });
        let names = |value: &Value| {
            let names = value.as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap_or("-").to_owned());
            names.collect::<Vec<_>>().join(" ")
        };
        // The arguments, and the names in each list.
        for (arguments, expected) in [
            (&[][..], "cart old web|bad|old bad web -|1"),
            (&["-n", "shop"], "cart old||old|1"),
            (&["-n", "shop", "--namespace", "blog"], "cart old web|bad|old bad web|1"),
            (&["--state", "wrong"], "old web|bad|old bad web|1"),
            (&["--state", "last-good", "--state", "partly"], "old web||old web|1"),
            (&["--state", "refused", "-n", "shop"], "|||1"),
            (&["--text", "C.EXAMPLE"], "web||web -|1"),
            (&["--text", "shop/ol"], "old||old|1"),
            (&["--text", "no secret"], "||old web|1"),
        ] {
            let mut shown = status.clone();
            filter(arguments).apply(&mut shown);
            let [ingresses, not_served, findings] =
                ["ingresses", "not_served", "findings"].map(|list| names(&shown[list]));
            let left_out = shown["findings_left_out"].as_array().unwrap().len();
            assert_eq!(format!("{ingresses}|{not_served}|{findings}|{left_out}"), expected, "{arguments:?}");
        }
        // What nginx does not serve while it is down is down.
        let mut down = status.clone();
        down["phase"] = json!("nginx-down");
        filter(&["--state", "down"]).apply(&mut down);
        assert_eq!(names(&down["ingresses"]), "cart old web");
    }

    fn filter(arguments: &[&str]) -> Filter {
        use clap::Parser as _;
        let line = ["ingressd", "status"].iter().chain(arguments);
        match crate::cli::Cli::parse_from(line).command {
            crate::cli::Command::Status(arguments) => arguments.filter,
            other => panic!("{other:?}"),
        }
    }
}
