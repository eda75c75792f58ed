//! One Ingress or one host, for people.

use serde_json::Value;

use super::overview::{first_line, is_down, section, state, style_of};
use super::problems::problem;
use crate::cli::fields::{list, rows, text};
use crate::cli::page::{self, FAINT, STRONG, aligned, duration, styled, wrapped};
use ingressd_model::finding::{count, printable};

/// The output, on lines of this width.
pub fn subject(status: &Value, width: Option<usize>) -> String {
    let subject = &status["subject"];
    let (mut lines, is_host) = match subject["kind"].as_str() {
        Some("Host") => (host(status, width), true),
        _ => (ingress(status, width), false),
    };
    let findings = rows(&subject["findings"]);
    // The reason why it is not ours is shown already.
    let reported =
        |finding: &&Value| is_host || subject["state"] != "not ours" || finding["reason"] != subject["reason"];
    let findings = findings.iter().filter(reported).map(|finding| match finding["page"].as_str() {
        Some(page) => format!("{}\n         {}", problem(finding, width), styled(FAINT, &printable(page))),
        None => problem(finding, width),
    });
    section(&mut lines, findings.collect());
    if let Some(left_out) = subject["left_out"].as_u64().filter(|left_out| *left_out > 0) {
        section(&mut lines, vec![format!("{} not shown", count(left_out, "row is", "rows are"))]);
    }
    section(&mut lines, vec![first_line(status, width)]);
    lines.join("\n") + "\n"
}

/// Whether it exists, is served, and has no known problem.
pub fn is_well(status: &Value) -> bool {
    let subject = &status["subject"];
    let is_wrong = |finding: &Value| finding["severity"] != "info";
    let findings = rows(&subject["findings"]);
    let is_served = match subject["kind"].as_str() {
        Some("Host") => subject["ingresses"].as_array().is_some_and(|ingresses| {
            let states = || ingresses.iter().map(|ingress| &ingress["state"]);
            states().any(|state| state == "ok") && states().all(|state| state == "ok" || state == "not ours")
        }),
        _ => subject["state"] == "ok",
    };
    status["ready"] == true && is_served && !findings.iter().any(is_wrong)
}

fn ingress(status: &Value, width: Option<usize>) -> Vec<String> {
    let subject = &status["subject"];
    let state = state(status, subject);
    let shown = style_of(&state).map_or(state.clone(), |style| styled(style, &state));
    let [kind, namespace, name] = ["kind", "namespace", "name"].map(|part| text(&subject[part]));
    let name = format!("{kind} {namespace}/{name}");
    let meaning = if state == "down" { ": nginx does not run" } else { meaning(&subject["state"]) };
    let mut lines = vec![format!("{}  {shown}{meaning}", styled(STRONG, &name))];
    let mut fact = |name: &str, words: String| {
        lines.push(format!("{name:12}{}", wrapped(&words, width, 12, 12)));
    };
    if let Some(why) = subject["why"].as_str() {
        fact("why", printable(why));
    } else if let Some(reason) = subject["reason"].as_str() {
        fact("reason", printable(reason));
    }
    if subject["state"] == "absent" {
        return lines;
    }
    fact("class", text(&subject["class"]));
    fact("hosts", list(&subject["hosts"], usize::MAX).replace(',', ", "));
    fact("since", subject["served_seconds"].as_u64().map_or("-".to_owned(), duration));
    let closed = subject["closed"].as_u64().filter(|closed| *closed > 0);
    let closed = closed.map(|closed| format!(", {closed} closed (503)")).unwrap_or_default();
    let served = if is_down(status) { "ready" } else { "served" };
    fact("routes", format!("{} {served}{closed}", text(&subject["routes"])));
    fact("addresses", list(&subject["addresses"], usize::MAX).replace(',', ", "));
    let entries = rows(&subject["tls"]);
    entries.iter().for_each(|entry| fact("certificate", certificate(entry)));
    // The table shows the present object, which may differ from what is served.
    let mut routes = routes(&[subject], width);
    if !routes.is_empty() && matches!(subject["state"].as_str(), Some("last good" | "waiting" | "refused")) {
        routes.insert(0, styled(FAINT, "What its newest version asks for, which is not served:"));
    }
    section(&mut lines, routes);
    lines
}

/// An explanation of a state, where the word is not enough.
fn meaning(state: &Value) -> &'static str {
    match state.as_str() {
        Some("last good") => ": an earlier version is served, because the newest cannot be",
        Some("refused") => ": nothing of it is served",
        Some("closed") => ": all its routes answer 503",
        Some("waiting") => ": what it says now is not in force yet",
        Some("partly") => ": some of its routes answer 503 or are not served",
        _ => "",
    }
}

fn certificate(entry: &Value) -> String {
    let hosts = list(&entry["hosts"], usize::MAX).replace(',', ", ");
    let secret = match entry["secret"].as_str() {
        Some(secret) => format!("Secret {}", printable(secret)),
        None => "the default one".to_owned(),
    };
    let ends = entry["ends"].as_i64().and_then(|ends| jiff::Timestamp::from_second(ends).ok());
    let served = match (entry["secret"].is_string(), entry["served"] == true, ends) {
        (true, true, Some(ends)) => format!(", served, ends {ends}"),
        (true, false, _) => ", not served".to_owned(),
        _ => String::new(),
    };
    format!("{secret}{served}, for {hosts}")
}

fn host(status: &Value, width: Option<usize>) -> Vec<String> {
    let subject = &status["subject"];
    let written = text(&subject["host"]);
    let ingresses: Vec<_> = rows(&subject["ingresses"]).iter().collect();
    let title = styled(STRONG, &format!("Host {written}"));
    let mut lines = match (subject["is_name"] == true, ingresses.is_empty()) {
        (false, _) => vec![format!("{title}  is no host that a rule can have")],
        (true, true) => {
            let words = "no Ingress that was read has a rule for it: requests are answered 404, or by the catch-all where there is one";
            vec![format!("{title}  {}", wrapped(words, width, 7 + written.len(), 12))]
        }
        (true, false) => vec![title],
    };
    for claim in rows(&subject["claims"]) {
        let namespaces = rows(&claim["namespaces"]);
        let Some((first, others)) = namespaces.split_first() else { continue };
        let words =
            format!("{} was first asked for by namespace {}{}", text(&claim["host"]), claimant(first), behind(others));
        lines.push(format!("{:12}{}", "owner", wrapped(&words, width, 12, 12)));
    }
    lines.extend(expressions(subject).map(|words| format!("{:12}{}", "expression", wrapped(&words, width, 12, 12))));
    section(&mut lines, table(status, &ingresses, width));
    section(&mut lines, routes(&ingresses, width));
    lines
}

/// The expressions for a host that no object names: the first that is certain has it.
fn expressions(subject: &Value) -> impl Iterator<Item = String> {
    let mut is_taken = false;
    rows(&subject["expressions"]).iter().map(move |one| {
        let name = text(&one["expression"]);
        let words = match (one["certain"] == true, is_taken) {
            (true, false) => "takes it, because nobody has this name",
            (true, true) => "would take it next",
            (false, false) => "is tried before: only nginx can tell whether it takes it",
            (false, true) => "is tried later",
        };
        is_taken |= one["certain"] == true;
        format!("{name} {words}")
    })
}

fn claimant(claimant: &Value) -> String {
    let alone = if claimant["exclusive"] == true { ", which has it for itself" } else { "" };
    let reserved = if claimant["reserved"] == true { ", which does not ask any more: it is reserved" } else { "" };
    format!("{}{alone}{reserved}", text(&claimant["namespace"]))
}

fn behind(others: &[Value]) -> String {
    match others.is_empty() {
        true => String::new(),
        false => {
            let names: Vec<_> = others.iter().map(|other| text(&other["namespace"])).collect();
            format!("; then by {}", names.join(", "))
        }
    }
}

/// The Ingresses of the host.
fn table(status: &Value, ingresses: &[&Value], width: Option<usize>) -> Vec<String> {
    let mut table = vec![["INGRESS", "STATE", "SINCE", "ADDRESSES"].map(str::to_owned)];
    table.extend(ingresses.iter().map(|ingress| {
        let name = format!("{}/{}", text(&ingress["namespace"]), text(&ingress["name"]));
        let since = ingress["served_seconds"].as_u64().map_or("-".to_owned(), duration);
        [name, state(status, ingress), since, list(&ingress["addresses"], usize::MAX)]
    }));
    let style = |row: usize, column: usize| match (row, column) {
        (0, _) => page::header(row, column),
        (_, 1) => style_of(&table[row][1]),
        _ => None,
    };
    if ingresses.is_empty() { Vec::new() } else { aligned(&table, &["SINCE"], width, style) }
}

/// The routes of these Ingresses as written now, and their endpoints.
fn routes(ingresses: &[&Value], width: Option<usize>) -> Vec<String> {
    let mut table = vec![["HOST", "PATH", "TYPE", "BEHIND IT", "OF"].map(str::to_owned)];
    for ingress in ingresses {
        let of = format!("{}/{}", text(&ingress["namespace"]), text(&ingress["name"]));
        table.extend(rows(&ingress["asks"]).iter().map(|route| {
            let [host, path, path_type] = [&route["host"], &route["path"], &route["path_type"]].map(text);
            [host, path, path_type, behind_it(route), of.clone()]
        }));
    }
    if table.len() > 1 { aligned(&table, &["TYPE"], width, page::header) } else { Vec::new() }
}

fn behind_it(route: &Value) -> String {
    let Some(service) = route["service"].as_str() else { return "no Service".to_owned() };
    let port = route["port"].as_str().map(|port| format!(":{}", printable(port))).unwrap_or_default();
    let endpoints = match route["endpoints"].as_u64() {
        Some(endpoints) => count(endpoints, "endpoint", "endpoints"),
        None => "no such Service or port".to_owned(),
    };
    format!("Service {}{port}, {endpoints}", printable(service))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn plain(status: &Value) -> String {
        anstream::adapter::strip_str(&subject(status, None)).to_string()
    }

    fn status(subject: Value) -> Value {
        json!({"phase": "serving", "ready": true, "generation": 7, "data_age_seconds": 0,
            "source": {"kind": "folder", "path": "/m"}, "subject": subject})
    }

    #[test]
    fn one_ingress_is_reported_with_all_that_is_known_of_it() {
        let reported = status(json!({
            "kind": "Ingress", "namespace": "shop", "name": "cart", "state": "last good", "class": "ingressd",
            "reason": "Quarantined",
            "hosts": ["a.example", "b.example"], "served_seconds": 7200, "routes": 2, "closed": 1, "addresses": ["192.0.2.1"],
            "tls": [{"hosts": ["a.example"], "secret": "cart-tls", "served": true, "ends": 0},
                {"hosts": ["b.example"], "secret": "gone", "served": false}],
            "asks": [{"host": "a.example", "path": "/", "path_type": "Prefix", "service": "web", "port": "80", "endpoints": 3},
                {"host": "b.example", "path": "/\u{1b}[2J", "path_type": "Exact", "service": "none", "port": "http"}],
            "findings": [{"kind": "Ingress", "namespace": "shop", "name": "cart", "severity": "error", "reason": "Quarantined",
                "effect": "it is not served", "note": "nginx says no", "page": "/docs/findings.md#quarantined"}],
        }));
        let expected = "\
Ingress shop/cart  last good: an earlier version is served, because the newest cannot be
reason      Quarantined
class       ingressd
hosts       a.example, b.example
since       2 h
routes      2 served, 1 closed (503)
addresses   192.0.2.1
certificate Secret cart-tls, served, ends 1970-01-01T00:00:00Z, for a.example
certificate Secret gone, not served, for b.example

What its newest version asks for, which is not served:
HOST       PATH         TYPE    BEHIND IT                                      OF
a.example  /            Prefix  Service web:80, 3 endpoints                    shop/cart
b.example  /\\u{1b}[2J  Exact   Service none:http, no such Service or port  shop/cart

error    Ingress shop/cart  it is not served (Quarantined)
         nginx says no
         /docs/findings.md#quarantined

serving generation 7, as the folder /m says
";
        let squeezed = |text: &str| {
            text.lines().map(|line| line.split_whitespace().collect()).collect::<Vec<Vec<_>>>().join(&"\n").join(" ")
        };
        assert_eq!(squeezed(&plain(&reported)), squeezed(expected));
        assert!(!is_well(&reported));
    }

    #[test]
    fn what_is_not_ours_and_what_is_not_there_says_why() {
        let foreign = json!({"kind": "Ingress", "namespace": "shop", "name": "cart", "state": "not ours", "why": "IngressClass x",
            "reason": "ForeignClass",
            "findings": [{"severity": "info", "reason": "ForeignClass", "note": "IngressClass x"}]});
        let reported = plain(&status(foreign.clone()));
        assert!(reported.starts_with("Ingress shop/cart  not ours\nwhy         IngressClass x\n"), "{reported}");
        assert_eq!(reported.matches("IngressClass x").count(), 1, "{reported}");
        let absent =
            json!({"kind": "Ingress", "namespace": "shop", "name": "cart", "state": "absent", "why": "there is none"});
        assert!(
            plain(&status(absent.clone()))
                .starts_with("Ingress shop/cart  absent\nwhy         there is none\n\nserving")
        );
        assert!(!is_well(&status(foreign)) && !is_well(&status(absent)));
    }

    #[test]
    fn a_host_is_reported_with_its_owner_and_everybody_who_has_a_part_of_it() {
        let route = |path: &str| {
            json!([{"host": "a.example", "path": path, "path_type": "Prefix", "service": "web", "port": "80",
            "endpoints": 1}])
        };
        let reported = status(json!({
            "kind": "Host", "host": "a.example", "is_name": true,
            "claims": [{"host": "a.example", "namespaces": [{"namespace": "shop", "exclusive": true}, {"namespace": "blog"}]},
                {"host": "*.example", "namespaces": []}],
            "ingresses": [{"namespace": "shop", "name": "cart", "state": "ok", "asks": route("/")},
                {"namespace": "blog", "name": "late", "state": "refused", "asks": route("/blog")}],
        }));
        let shown = plain(&reported);
        let owner =
            "owner       a.example was first asked for by namespace shop, which has it for itself; then by blog\n";
        assert!(
            shown.starts_with(&format!("Host a.example\n{owner}\nINGRESS    STATE    SINCE  ADDRESSES\n")),
            "{shown}"
        );
        assert!(shown.contains("\nblog/late  refused  -      -\n") && shown.contains("/blog"), "{shown}");
        assert!(!is_well(&reported));
        let served =
            status(json!({"kind": "Host", "is_name": true, "ingresses": [{"state": "ok"}, {"state": "not ours"}]}));
        assert!(is_well(&served));
        let by_expression = status(json!({
            "kind": "Host", "host": "c.example", "is_name": true, "claims": [],
            "expressions": [{"expression": "~^(?!a)", "certain": false}, {"expression": "~^c", "certain": true},
                {"expression": "~e$", "certain": true}],
            "ingresses": [{"namespace": "shop", "name": "cart", "state": "ok", "asks": route("/")}],
        }));
        let expected = "Host c.example\n\
            expression  ~^(?!a) is tried before: only nginx can tell whether it takes it\n\
            expression  ~^c takes it, because nobody has this name\n\
            expression  ~e$ would take it next\n\nINGRESS ";
        assert!(plain(&by_expression).starts_with(expected), "{}", plain(&by_expression));
        assert!(is_well(&by_expression));
        let nobody = status(json!({"kind": "Host", "host": "b.example", "is_name": true, "ingresses": []}));
        assert!(plain(&nobody).starts_with("Host b.example  no Ingress that was read has a rule for it"));
        assert!(!is_well(&nobody));
    }

    #[test]
    fn what_is_asked_for_is_not_taken_for_what_is_served() {
        let asks = json!([{"host": "a.example", "path": "/new", "path_type": "Prefix", "service": "web", "port": "80",
            "endpoints": 1}]);
        for (state, marked) in [("last good", true), ("waiting", true), ("refused", true), ("ok", false)] {
            let subject =
                json!({"kind": "Ingress", "namespace": "shop", "name": "cart", "state": state, "asks": asks.clone()});
            let reported = plain(&status(subject));
            let mark = "\nWhat its newest version asks for, which is not served:\nHOST ";
            assert_eq!(reported.contains(mark), marked, "{reported}");
        }
    }
}
