//! What changed when, and who caused it: the kept generations, and what became of the changes of
//! this run.

use std::time::SystemTime;

use jiff::Timestamp;
use maud::{Markup, html};

use super::{chart, moment, table, text};
use crate::daemon::outcomes::Step;
use crate::daemon::status::Status;
use ingressd_apply::{History, KeptGeneration};
use ingressd_model::finding::count;

/// What is shown of a generation or of a change that made none.
struct Row<'a> {
    at: SystemTime,
    number: Option<u64>,
    kept: Option<&'a KeptGeneration>,
    step: Option<&'a Step>,
}

pub fn section(status: &Status, _now: SystemTime) -> Markup {
    let apply = status.in_force.as_ref().map(|in_force| &in_force.settings.apply);
    let history = apply.map(|apply| History::read(&apply.root, &apply.state));
    let (history, failure) = match history {
        Some(Ok(history)) => (Some(history), None),
        Some(Err(error)) => (None, Some(error.to_string())),
        None => (None, None),
    };
    let kept = history.as_ref().map_or(&[][..], |history| &history.kept);
    let steps = &status.outcomes;
    let of_number = |number: u64| steps.iter().rev().find(|step| step.generation == Some(number));
    let of_kept = kept.iter().map(|kept| Row {
        at: kept.written,
        number: Some(kept.number),
        kept: Some(kept),
        step: of_number(kept.number),
    });
    let is_kept = |step: &&Step| step.generation.is_some_and(|number| kept.iter().any(|kept| kept.number == number));
    let of_steps = steps.iter().filter(|step| !is_kept(step));
    let of_steps = of_steps.map(|step| Row { at: step.at, number: step.generation, kept: None, step: Some(step) });
    let mut rows: Vec<_> = of_kept.chain(of_steps).collect();
    rows.sort_by_key(|row| std::cmp::Reverse((row.at, row.number)));
    let rows: Vec<_> = rows.iter().map(|row| cells(row, history.as_ref())).collect();
    let columns = ["Generation", "When", "Cause", "What came of it", "Files", "Reload", "From change to served"];
    html! {
        section #generations aria-labelledby="generations-title" {
            h2 #generations-title { "Generations" }
            @if let Some(failure) = failure { p.error { (text(&failure)) } }
            (times(steps))
            @if rows.is_empty() { p { "None was made yet." } } @else { (table(&columns, &rows)) }
            p.faint { code { "ingressd diff" } " shows, as root, what differs between two of them." }
        }
    }
}

/// How long changes took until they were served, the latest last.
fn times(steps: &[Step]) -> Markup {
    let times: Vec<_> = steps.iter().filter_map(|step| step.waited).map(|time| time.as_millis() as u64).collect();
    let (Some(last), Some(most)) = (times.last(), times.iter().max()) else { return html! {} };
    let words = format!(
        "{}: {last} ms from the last one until it was served, at most {most} ms",
        count(times.len(), "change", "changes")
    );
    let bars: Vec<_> = times.iter().map(|time| [*time, 0]).collect();
    html! { p { (chart::bars("How long changes took until they were served", &bars)) " " (words) } }
}

fn cells(row: &Row<'_>, history: Option<&History>) -> Vec<Markup> {
    let cause = row.kept.and_then(|kept| kept.cause.as_ref()).or_else(|| row.step?.cause.as_ref());
    let step = row.step;
    let mut state = Vec::new();
    if let (Some(kept), Some(history)) = (row.kept, history) {
        state.extend((history.current == Some(kept.number)).then_some("current"));
        state.extend(history.pinned.filter(|pin| pin.generation == kept.number).map(|_| "pinned"));
        state.extend((!kept.confirmed).then_some("never seen to run"));
    }
    vec![
        html! { @match row.number { Some(number) => strong { (number) }, None => "none" } },
        html! { @if let Ok(at) = Timestamp::try_from(row.at) { (moment(at)) } },
        html! { (text(&cause.map(ToString::to_string).unwrap_or_default())) },
        html! {
            @if let Some(failure) = step.and_then(|step| step.failure.as_deref()) { span.error { (text(failure)) } " " }
            (state.join(", "))
        },
        html! { @if let Some(files) = step.and_then(|step| step.files) { (files) } },
        html! { @if let Some(reload) = step.and_then(|step| step.reload) { (reload.as_millis()) " ms" } },
        html! { @if let Some(waited) = step.and_then(|step| step.waited) { (waited.as_millis()) " ms" } },
    ]
}
