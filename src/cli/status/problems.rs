//! Problems for people: errors first, namespaces in turn, and not too many.

use std::collections::BTreeMap;

use anstyle::Style;
use serde_json::Value;

use crate::cli::page::{BAD, DOUBTFUL, FAINT, STRONG, styled, wrapped};
use ingressd_model::finding::{count, in_turn, on_one_line, printable};

/// How many problems are shown.
const MOST: usize = 40;

/// How many of them may have the same reason.
const MOST_ALIKE: usize = 5;

/// The column of the text, behind the severity.
const INDENT: usize = 9;

/// All problems, on lines of this width; `left_out` is the number of findings that are not given.
pub fn problems(findings: &[Value], left_out: u64, width: Option<usize>) -> Vec<String> {
    let of = |severity: &'static str| findings.iter().filter(move |finding| finding["severity"] == *severity);
    let (errors, warnings) = (of("error").count() as u64, of("warning").count() as u64);
    let (results, causes): (Vec<_>, Vec<_>) = of("error").partition(|finding| is_result(finding, findings));
    // What is to be done stands with the causes.
    let worst_first = [causes, results, of("warning").collect()];
    let worst_first = worst_first.map(|of_it| in_turn(of_it, |finding| text(&finding["namespace"])));
    let mut groups: Vec<Group<'_>> = Vec::new();
    let mut shown = 0;
    for finding in worst_first.into_iter().flatten() {
        let is_alike = |group: &&mut Group<'_>| {
            group.shown[0]["reason"] == finding["reason"] && group.shown[0]["severity"] == finding["severity"]
        };
        match groups.iter_mut().find(is_alike) {
            Some(group) if group.shown.len() < MOST_ALIKE && shown < MOST => group.shown.push(finding),
            Some(group) => {
                group.more += 1;
                continue;
            }
            None => groups.push(Group { shown: vec![finding], more: 0 }),
        }
        shown += 1;
    }
    let mut lines = Vec::new();
    if errors + warnings + left_out > 1 {
        let more = if left_out > 0 { format!(", and {left_out} more") } else { String::new() };
        lines.push(format!("{}, {}{more}", count(errors, "error", "errors"), count(warnings, "warning", "warnings")));
    }
    for group in &groups {
        lines.extend(group.shown.iter().map(|finding| problem(finding, width)));
        if group.more > 0 {
            let reason = text(&group.shown[0]["reason"]);
            lines.push(format!("{}and {} more with the reason {reason}", " ".repeat(INDENT), group.more));
        }
    }
    let more = groups.iter().map(|group| group.more).sum::<u64>() + left_out;
    if more > 0 {
        let ways = "`ingressd status NAMESPACE/NAME` tells all of one Ingress, --format json more of each namespace, and the journal \
                    has them by REASON=";
        let reported = format!("{} not shown: {ways}", count(more, "finding is", "findings are"));
        lines.push(wrapped(&reported, width, 0, 0));
    }
    lines.extend(remarks(findings, width));
    lines
}

/// Whether this only says what follows from another error about the object.
fn is_result(finding: &Value, findings: &[Value]) -> bool {
    let is_of_it = |other: &Value| ["kind", "namespace", "name"].iter().all(|part| other[*part] == finding[*part]);
    let is_cause = |other: &&Value| other["severity"] == "error" && other["reason"] != "ClosedRoute" && is_of_it(other);
    finding["reason"] == "ClosedRoute" && finding["field"] == "" && findings.iter().any(|other| is_cause(&other))
}

/// Findings with the same reason.
struct Group<'a> {
    shown: Vec<&'a Value>,
    more: u64,
}

/// One finding: the subject and the effect, and below it the remedy.
pub fn problem(finding: &Value, width: Option<usize>) -> String {
    let severity = text(&finding["severity"]);
    let mark = styled(style_of(&severity), &format!("{severity:7}"));
    let subject = [object(finding), short_key(finding["field"].as_str().unwrap_or_default())];
    let subject = subject.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("  ");
    let effect = match finding["effect"].as_str() {
        Some(effect) => format!("{} ({})", printable(effect), text(&finding["reason"])),
        None => text(&finding["reason"]),
    };
    let blanks = " ".repeat(INDENT);
    let first = wrapped(&format!("{subject}  {effect}"), width, INDENT, INDENT);
    // The subject is emphasised where it stands on the first line.
    let first = match first.strip_prefix(&subject) {
        Some(rest) => format!("{}{rest}", styled(STRONG, &subject)),
        None => first,
    };
    let note = on_one_line(finding["note"].as_str().unwrap_or_default());
    format!("{mark}  {first}\n{blanks}{}", wrapped(&note, width, INDENT, INDENT))
}

/// Mere information is counted: there may be thousands of objects of other controllers.
fn remarks(findings: &[Value], width: Option<usize>) -> Option<String> {
    let mut counts = BTreeMap::<_, u64>::new();
    for finding in findings.iter().filter(|finding| finding["severity"] == "info") {
        *counts.entry(text(&finding["reason"])).or_default() += 1;
    }
    let all: u64 = counts.values().sum();
    let named = counts.iter().map(|(reason, count)| format!("{reason} {count}")).collect::<Vec<_>>().join(", ");
    let reported = format!("{} besides ({named}): --format json tells them", count(all, "remark", "remarks"));
    (all > 0).then(|| styled(FAINT, &wrapped(&reported, width, 0, 0)))
}

fn object(finding: &Value) -> String {
    let name = [&finding["namespace"], &finding["name"]].map(text);
    let name = name.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("/");
    [text(&finding["kind"]), name].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
}

/// An annotation without its prefix, or another field unchanged.
fn short_key(field: &str) -> String {
    let annotation = field.strip_prefix("metadata.annotations[").and_then(|key| key.strip_suffix(']'));
    printable(match annotation {
        Some(key) => key.rsplit('/').next().unwrap_or(key),
        None => field,
    })
}

fn style_of(severity: &str) -> Style {
    match severity {
        "error" => BAD,
        "warning" => DOUBTFUL,
        _ => FAINT,
    }
}

fn text(value: &Value) -> String {
    value.as_str().map(printable).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn plain(lines: &[String]) -> String {
        anstream::adapter::strip_str(&lines.join("\n")).to_string()
    }

    fn of(namespace: &str, severity: &str, reason: &str, field: &str) -> Value {
        json!({"kind": "Ingress", "namespace": namespace, "name": "cart", "field": field, "severity": severity,
            "reason": reason, "effect": "the key has no effect", "note": "bad \u{1b}[2J\u{202e}value\nsecond line; take another"})
    }

    #[test]
    fn errors_come_first_with_object_short_key_effect_and_remedy() {
        let annotation = "metadata.annotations[nginx.ingress.kubernetes.io/auth-type]";
        let findings = [
            of("shop", "warning", "UnknownAnnotation", annotation),
            of("shop", "info", "ForeignClass", ""),
            of("shop", "error", "InvalidHost", "spec.rules[0]"),
        ];
        let expected = "\
1 error, 1 warning
error    Ingress shop/cart  spec.rules[0]  the key has no effect (InvalidHost)
         bad \\u{1b}[2J\\u{202e}value | second line; take another
warning  Ingress shop/cart  auth-type  the key has no effect (UnknownAnnotation)
         bad \\u{1b}[2J\\u{202e}value | second line; take another
1 remark besides (ForeignClass 1): --format json tells them";
        assert_eq!(plain(&problems(&findings, 0, None)), expected);
        let narrow = plain(&problems(&findings, 0, Some(50)));
        assert!(narrow.lines().all(|line| line.chars().count() <= 50), "{narrow}");
        assert_eq!(
            narrow.split_whitespace().collect::<Vec<_>>(),
            expected.split_whitespace().collect::<Vec<_>>(),
            "nothing is lost"
        );
    }

    #[test]
    fn causes_come_before_what_follows_from_them() {
        let missing = of("shop", "error", "MissingSecret", "metadata.annotations[x/auth-secret]");
        let findings = [of("shop", "error", "ClosedRoute", ""), missing, of("shop", "warning", "InvalidValue", "")];
        let shown = plain(&problems(&findings, 2, None));
        let place = |word: &str| shown.find(word).unwrap();
        assert!(place("(MissingSecret)") < place("(ClosedRoute)"), "{shown}");
        assert!(place("(ClosedRoute)") < place("(InvalidValue)"), "{shown}");
        assert!(shown.starts_with("2 errors, 1 warning, and 2 more\n"), "{shown}");
        // Where nothing else says why, it is a cause itself.
        let alone = [of("alone", "error", "ClosedRoute", ""), of("shop", "error", "MissingSecret", "")];
        let shown = plain(&problems(&alone, 0, None));
        assert!(shown.find("(ClosedRoute)") < shown.find("(MissingSecret)"), "{shown}");
    }

    #[test]
    fn no_namespace_fills_the_screen() {
        let bulk = (0..500).map(|_| of("crowd", "warning", "UnknownAnnotation", ""));
        let reasons = (0..100).map(|number| of("crowd", "warning", &format!("Reason{number}"), ""));
        let findings: Vec<_> = bulk.chain(reasons).chain([of("victim", "warning", "UnknownAnnotation", "")]).collect();
        let shown = plain(&problems(&findings, 4000, None));
        assert!(shown.contains("victim/cart") && shown.lines().count() < 260, "{shown}");
        assert!(shown.contains("\n         and 496 more with the reason UnknownAnnotation\n"), "{shown}");
        assert!(shown.contains("\n4496 findings are not shown: "), "{shown}");
        assert!(problems(&[], 0, None).is_empty());
    }
}
