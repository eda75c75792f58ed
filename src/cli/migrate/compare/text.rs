//! The result of a comparison for people: similar differences are grouped, with a summary. It must
//! not know how they were found.

use crate::cli::migrate::text::{shortened, word};
use crate::cli::page::{BAD, FAINT, GOOD, STRONG, styled, wrapped};
use ingressd_migrate::compare::{Because, Comparison, Difference, DifferentPart, Part, Request};
use ingressd_model::finding::{count, on_one_line};

/// The column of the text, behind the verdict.
const INDENT: usize = 13;

/// How many requests of a group are shown.
const MOST_SHOWN: usize = 3;

/// A part that differs in the same way for several requests.
struct Group<'a> {
    ingress: Option<&'a str>,
    part: &'a DifferentPart,
    requests: Vec<&'a Request>,
}

/// The result, on lines of this width.
pub fn text(comparison: &Comparison, width: Option<usize>) -> String {
    let mut text = String::new();
    for (side, of) in [("controller", &comparison.controller), ("ingressd  ", &comparison.ingressd)] {
        let at = on_one_line(&of.address);
        text += &format!("{} {at}, ports {} and {}\n", styled(STRONG, side), of.ports.http, of.ports.https);
    }
    let groups = groups(&comparison.different);
    if !groups.is_empty() {
        text += &format!("\n{}\n", styled(STRONG, "Differences"));
    }
    groups.iter().for_each(|group| text += &shown(group, width));
    if !comparison.unsteady.is_empty() {
        text += &format!("\n{}\n", styled(STRONG, "Another answer each time, which is no difference"));
    }
    for (request, parts) in &comparison.unsteady {
        let parts = parts.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        text += &format!("- {}\n", wrapped(&on_one_line(&format!("{request}: {parts}")), width, 2, 2));
    }
    text + "\n" + &summary(comparison, width)
}

/// Groups differences of one Ingress with equal values, ignoring values that are unique to each
/// request.
fn groups(different: &[Difference]) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for Difference { request, ingress, parts } in different {
        for part in parts {
            let is_alike = |group: &&mut Group<'_>| {
                let values = |one: &DifferentPart| (one.controller.clone(), one.ingressd.clone());
                group.ingress == ingress.as_deref()
                    && group.part.part == part.part
                    && group.part.because == part.because
                    && (matches!(part.part, Part::Body | Part::Location) || values(group.part) == values(part))
            };
            match groups.iter_mut().find(is_alike) {
                Some(group) => group.requests.push(request),
                None => groups.push(Group { ingress: ingress.as_deref(), part, requests: vec![request] }),
            }
        }
    }
    groups
}

fn shown(group: &Group<'_>, width: Option<usize>) -> String {
    let DifferentPart { part, controller, ingressd, because } = group.part;
    let (number, blanks) = (group.requests.len(), " ".repeat(INDENT));
    let name = on_one_line(&part.to_string());
    let whose = group.ingress.map_or_else(|| "no Ingress".to_owned(), on_one_line);
    let many = count(number, "request", "requests");
    let mut text = format!("\n{}  {}  {}\n", styled(STRONG, &whose), styled(BAD, &name), styled(FAINT, &many));
    for request in group.requests.iter().take(MOST_SHOWN) {
        text += &format!("  {}\n", wrapped(&on_one_line(&request.to_string()), width, 2, 4));
    }
    if number > MOST_SHOWN {
        text += &format!("  and {} more\n", number - MOST_SHOWN);
    }
    for (side, value) in [("controller", controller), ("ingressd", ingressd)] {
        let value = if value.is_empty() { "nothing".to_owned() } else { shortened(&on_one_line(value)) };
        text += &format!("  {side:10} {}\n", wrapped(&value, width, INDENT, INDENT));
    }
    if because.is_empty() {
        text +=
            &format!("  {:10} {}\n", "because", wrapped("nothing of the report explains it", width, INDENT, INDENT));
    }
    for one in because {
        text += &format!("  {}{}", word(one.item.verdict), &explained(one, group.ingress, &blanks, width));
    }
    text
}

fn explained(because: &Because, own: Option<&str>, blanks: &str, width: Option<usize>) -> String {
    let item = &because.item;
    let mut name = format!("{} {}", because.kind.name(), on_one_line(&item.name));
    if !item.value.is_empty() {
        name += &format!(": {}", shortened(&on_one_line(&item.value)));
    }
    if !because.ingress.is_empty() && Some(&*because.ingress) != own {
        name += &format!(" (of {})", on_one_line(&because.ingress));
    }
    let mut text = format!("  {}\n", wrapped(&name, width, INDENT, INDENT));
    if !because.is_foreseen {
        text += &format!("{blanks}{}\n", styled(FAINT, "it may have to do with this, and the report does not say so"));
    }
    if !item.why.is_empty() {
        text += &format!("{blanks}{}\n", styled(FAINT, &wrapped(&on_one_line(&item.why), width, INDENT, INDENT)));
    }
    if !item.remedy.is_empty() {
        text += &format!("{blanks}-> {}\n", wrapped(&on_one_line(&item.remedy), width, INDENT + 3, INDENT + 3));
    }
    text
}

fn summary(comparison: &Comparison, width: Option<usize>) -> String {
    let number = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
    let asked = count(number(comparison.asked), "request was sent to both", "requests were sent to both");
    let (different, explained) = (comparison.different.len(), comparison.explained());
    let mut words = vec![match different {
        0 if comparison.is_clean() => styled(GOOD, "both answer alike"),
        0 => styled(BAD, "neither side answers"),
        different => format!("{different} differ, {explained} of them as the report says beforehand"),
    }];
    if !comparison.unsteady.is_empty() {
        words.push(format!("{} with parts that are another each time", comparison.unsteady.len()));
    }
    if comparison.unanswered > 0 && comparison.is_clean() {
        words.push(format!("{} that neither answers", comparison.unanswered));
    }
    let mut text = wrapped(&format!("{asked}: {}", words.join(", ")), width, 0, 0) + "\n";
    for (_, why, count) in comparison.left_out.counts().into_iter().filter(|(.., count)| *count > 0) {
        text += &format!("{}\n", styled(FAINT, &wrapped(&format!("not sent: {why} ({count})"), width, 0, 0)));
    }
    text
}
