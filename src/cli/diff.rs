//! The command `diff`: shows the differences between kept generations, and the objects that caused
//! them.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io;

use serde_json::{Value, json};
use similar::{ChangeTag, TextDiff};

use super::exit::{Ended, Exit};
use super::output::{Format, FormatArguments};
use super::settings::SettingsArguments;
use super::{output, page};
use ingressd_apply::{ApplyError, Difference, History, KeptGeneration, Side};

/// Lines of context around each change.
const CONTEXT: usize = 3;

/// How many causes of one place are named.
const MOST_CAUSES: usize = 4;

/// Arguments of `ingressd diff`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
    Generations are read from the disk, so no daemon has to run. The line numbers of each change are followed \
    by the objects that caused it, and the places in them. Of keys, certificates and password files the \
    output only says that they changed, and by which object.")]
pub struct Arguments {
    /// The earlier generation. The default is the latest before the other one that nginx was seen
    /// to run.
    #[arg(value_name = "GENERATION")]
    before: Option<u64>,
    /// The later generation. The default is the current one.
    #[arg(value_name = "LATER")]
    after: Option<u64>,
    /// Name only the files and the objects.
    #[arg(long)]
    summary: bool,
    /// List the generations that are kept, and which objects changed before each.
    #[arg(long, conflicts_with_all = ["before", "summary"])]
    list: bool,
    #[command(flatten)]
    form: FormatArguments<Format>,
    #[command(flatten)]
    settings: SettingsArguments,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Ended {
    let settings = arguments.settings.load_without_templates()?;
    let history = History::read(&settings.apply.root, &settings.apply.state).map_err(|error| unreadable(&error))?;
    if arguments.list {
        return match arguments.form.format {
            Format::Text => output::show_styled(&list(&history, page::width()), Exit::Success),
            Format::Json => output::show(output::json(&list_json(&history)), Exit::Success),
        };
    }
    let (before, after) = chosen(&history, arguments.before, arguments.after).map_err(|why| {
        complain!("ingressd: {why}");
        Exit::NoInput
    })?;
    let differences = history.compare(before, after).map_err(|error| unreadable(&error))?;
    let end = if differences.is_empty() { Exit::Success } else { Exit::Findings };
    if arguments.form.format == Format::Json {
        let files = differences.iter().map(|difference| {
            let is_shown = !arguments.summary && !difference.secret;
            file_json(difference, is_shown.then(|| unified(difference, before, after)))
        });
        let files = files.collect::<Vec<_>>();
        return output::show(output::json(&json!({ "before": before, "after": after, "files": files })), end);
    }
    let shown = differences.iter().map(|difference| match arguments.summary {
        true => summary(difference),
        false => unified(difference, before, after),
    });
    output::show(shown.collect::<String>(), end)
}

/// A file that differs. Names of members are a contract, here and below.
fn file_json(difference: &Difference, diff: Option<String>) -> Value {
    json!({
        "path": difference.path.to_string(),
        "change": change(difference).1,
        "is_secret": difference.secret,
        "causes": causes(difference),
        "diff": diff,
    })
}

fn list_json(history: &History) -> Value {
    let generation = |kept: &KeptGeneration| {
        json!({
            "generation": kept.number,
            "written": written(kept),
            "is_confirmed": kept.confirmed,
            "cause": kept.cause.as_ref().map(ToString::to_string),
        })
    };
    json!({
        "current": history.current,
        "pinned": history.pinned.map(|pin| pin.generation),
        "generations": history.kept.iter().rev().map(generation).collect::<Vec<_>>(),
    })
}

/// When it was written.
fn written(kept: &KeptGeneration) -> Option<String> {
    let time = jiff::Timestamp::try_from(kept.written).ok()?;
    Some(time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string())
}

fn unreadable(error: &ApplyError) -> Exit {
    complain!("ingressd: {error}");
    match error {
        ApplyError::Files { source, .. } if source.kind() == io::ErrorKind::PermissionDenied => Exit::Permission,
        _ => Exit::NoInput,
    }
}

/// The two generations, or why there are not two.
fn chosen(history: &History, before: Option<u64>, after: Option<u64>) -> Result<(u64, u64), String> {
    let after = after.or(history.current).ok_or("there is no generation in use: name two")?;
    let before = match before {
        Some(before) => before,
        None => history
            .before(after)
            .ok_or_else(|| format!("no generation before {after} is kept that nginx was seen to run: name one"))?,
    };
    Ok((history.known(before)?, history.known(after)?))
}

/// The kept generations, the latest first, on lines of this width.
fn list(history: &History, width: Option<usize>) -> String {
    let mut table = vec![["GENERATION", "WRITTEN", "STATE", "CAUSE"].map(str::to_owned)];
    table.extend(history.kept.iter().rev().map(|kept| row(history, kept)));
    page::aligned(&table, &["WRITTEN"], width, page::header).join("\n") + "\n"
}

/// Number and time of a generation, its state, and why it was made.
fn row(history: &History, kept: &KeptGeneration) -> [String; 4] {
    let mut state = Vec::from_iter((history.current == Some(kept.number)).then_some("current"));
    state.extend(history.pinned.filter(|pin| pin.generation == kept.number).map(|_| "PINNED"));
    state.push(if kept.confirmed { "confirmed" } else { "never seen to run" });
    let cause = kept.cause.as_ref().map_or_else(|| "-".to_owned(), ToString::to_string);
    [kept.number.to_string(), written(kept).unwrap_or_default(), state.join(", "), cause]
}

/// What happened to a file: as a letter, as a word, and in a sentence.
fn change(difference: &Difference) -> (char, &'static str, &'static str) {
    match (&difference.before, &difference.after) {
        (None, _) => ('A', "added", "was added"),
        (_, None) => ('D', "removed", "was removed"),
        _ => ('M', "changed", "changed"),
    }
}

/// A line about a file: its change and the objects that caused it.
fn summary(difference: &Difference) -> String {
    format!("{} {}  {}\n", change(difference).0, difference.path, named(&causes(difference)))
}

/// The objects that own lines which differ.
fn causes(difference: &Difference) -> BTreeSet<String> {
    if difference.secret {
        return secret_causes(difference).into_iter().collect();
    }
    let texts = [&difference.before, &difference.after].map(|side| side.as_ref().map_or("", |side| &side.text));
    let diff = TextDiff::from_lines(texts[0], texts[1]);
    let of_change =
        |change: similar::Change<&str>| cause(difference, change.tag(), change.old_index(), change.new_index(), false);
    diff.iter_all_changes().filter_map(of_change).collect()
}

/// The change of a file as a unified diff, for patch(1).
fn unified(difference: &Difference, before: u64, after: u64) -> String {
    let path = &difference.path;
    let name = |side: &Option<Side>, number: u64| match side {
        Some(_) => format!("{number}/{path}"),
        None => "/dev/null".to_owned(),
    };
    let (old, new) = (name(&difference.before, before), name(&difference.after, after));
    if difference.secret {
        let what = change(difference).2;
        return format!("Secret file {path} {what}: {}\n", named(&secret_causes(difference).into_iter().collect()));
    }
    let mut text = format!("--- {old}\n+++ {new}\n");
    let texts = [&difference.before, &difference.after].map(|side| side.as_ref().map_or("", |side| &side.text));
    let diff = TextDiff::from_lines(texts[0], texts[1]);
    for hunk in diff.unified_diff().context_radius(CONTEXT).iter_hunks() {
        let mut causes = BTreeSet::new();
        let mut lines = String::new();
        for change in hunk.iter_changes() {
            causes.extend(cause(difference, change.tag(), change.old_index(), change.new_index(), true));
            lines.push_str(&printable(change.value(), change.tag()));
        }
        // Writing to a string does not fail.
        let _ = write!(text, "{} {}\n{lines}", hunk.header(), named(&causes));
    }
    text
}

/// A line of a diff. Generated files contain no control characters, but an administrator may have
/// edited them.
fn printable(line: &str, tag: ChangeTag) -> String {
    let (line, end) = match line.strip_suffix('\n') {
        Some(line) => (line, "\n"),
        None => (line, "\n\\ No newline at end of file\n"),
    };
    format!("{tag}{}{end}", output::harmless(line))
}

/// The owner of a removed or added line.
fn cause(
    difference: &Difference,
    tag: ChangeTag,
    old: Option<usize>,
    new: Option<usize>,
    with_field: bool,
) -> Option<String> {
    let (side, index) = match tag {
        ChangeTag::Equal => return None,
        ChangeTag::Delete => (difference.before.as_ref()?, old?),
        ChangeTag::Insert => (difference.after.as_ref()?, new?),
    };
    let Some(owners) = &side.owners else { return Some(UNKNOWN.to_owned()) };
    let origin = owners.of_line(u32::try_from(index).ok()? + 1)?;
    Some(if with_field { origin.to_string() } else { origin.object.to_string() })
}

const UNKNOWN: &str = "by whom is not known";

/// The owners of a secret file, before and after.
fn secret_causes(difference: &Difference) -> Vec<String> {
    let Some(side) = difference.after.as_ref().or(difference.before.as_ref()) else { return Vec::new() };
    match &side.owners {
        Some(owners) => owners.objects().iter().map(ToString::to_string).collect(),
        None => vec![UNKNOWN.to_owned()],
    }
}

fn named(causes: &BTreeSet<String>) -> String {
    let mut text = causes.iter().take(MOST_CAUSES).cloned().collect::<Vec<_>>().join(", ");
    if causes.len() > MOST_CAUSES {
        // Writing to a string does not fail.
        let _ = write!(text, " and {} more", causes.len() - MOST_CAUSES);
    }
    text
}
