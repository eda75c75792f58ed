//! Parses YAML or JSON text to untyped values, with limits of size and depth, and writes YAML.

use serde::{Deserialize, Serialize};
use serde_json::Value;
pub use serde_saphyr::Spanned;

/// The largest file that is read, in bytes.
pub const LARGEST_FILE: u64 = 64 << 20;

/// The content of a document.
#[derive(Debug)]
pub enum Content {
    /// One value.
    Single(Value),
    /// The items of a list, each with its line counted from the first line of the document.
    List(Vec<(u32, Value)>),
}

/// Why a text cannot be parsed.
#[derive(Debug, PartialEq, Eq)]
pub struct Broken {
    /// The line, counted from the first line of the document.
    pub line: u32,
    /// The message.
    pub note: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct List {
    kind: String,
    #[serde(default)]
    api_version: Value,
    items: Vec<Spanned<Value>>,
}

/// Parses one document.
pub fn read(text: &str) -> Result<Content, Broken> {
    // Any other document with both words is parsed as a list first, which fails early.
    let may_be_list = text.contains("List") && text.contains("items");
    if may_be_list
        && let Ok(list) = parse::<List>(text)
        && list.kind.ends_with("List")
    {
        let mut items = Vec::new();
        for item in list.items {
            flatten(line(&item) - 1, item.value, &list.kind, &list.api_version, &mut items);
        }
        return Ok(Content::List(items));
    }
    if text.trim_start().starts_with('{')
        && let Ok(value) = serde_json::from_str(text)
    {
        return Ok(Content::Single(value));
    }
    parse(text).map(Content::Single)
}

/// Adds an item of a list, or the items of a list within it. The items of an `IngressList` need
/// not say what they are.
fn flatten(line: u32, mut value: Value, kind: &str, version: &Value, items: &mut Vec<(u32, Value)>) {
    let list = value.get("kind").and_then(Value::as_str).filter(|kind| kind.ends_with("List")).map(str::to_owned);
    if let Some(kind) = list
        && let Some(Value::Array(within)) = value.get_mut("items").map(Value::take)
    {
        within.into_iter().for_each(|item| flatten(line, item, &kind, &value["apiVersion"], items));
        return;
    }
    let kind = kind.strip_suffix("List").unwrap_or_default();
    if let Some(object) = value.as_object_mut().filter(|object| !kind.is_empty() && !object.contains_key("kind")) {
        object.insert("kind".to_owned(), kind.into());
        object.entry("apiVersion").or_insert_with(|| version.clone());
    }
    items.push((line, value));
}

/// The line of a value, counted from 1.
pub fn line<T>(value: &Spanned<T>) -> u32 {
    u32::try_from(value.referenced.line()).unwrap_or(u32::MAX).max(1)
}

/// Parses one document as a type, within the limits.
pub fn parse<'text, T: Deserialize<'text>>(text: &'text str) -> Result<T, Broken> {
    // Each replayed event of an alias may contain a scalar as long as the text: together they stay
    // within the largest file.
    let longest = usize::try_from(LARGEST_FILE).unwrap_or(usize::MAX);
    let replayed = (longest / text.len().max(1)).clamp(1, 100_000);
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_depth: 64,
            max_events: 50_000_000,
            max_nodes: 50_000_000,
            max_total_scalar_bytes: longest,
            max_aliases: 10_000,
            max_anchors: 10_000,
        },
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: replayed,
        },
        // As in Kubernetes, `y` and `n` are strings.
        strict_booleans: true,
        with_snippet: false,
    };
    serde_saphyr::from_str_with_options(text, options).map_err(|error| {
        let line = error.location().map_or(1, |location| u32::try_from(location.line()).unwrap_or(u32::MAX));
        // The parser's own line counts from the document, which would be misleading beside the
        // line in the file.
        let words = error.to_string();
        let first = words.lines().next().unwrap_or("it is not YAML");
        let first = first.rsplit_once(" at line ").map_or(first, |(what, _)| what);
        // The parser's hints to programmers are no remedy for authors of manifests.
        let what = first.split_once(", set ").map_or(first, |(what, _)| what);
        let line = line.saturating_sub(1);
        let is_template = text.lines().nth(line as usize).is_some_and(|line| line.contains("{{"));
        let remedy = if is_template { "; {{ is of a template: render that first, as `helm template` does" } else { "" };
        Broken { line, note: format!("{what}{remedy}") }
    })
}

/// Writes an object of strings, numbers and lists as YAML.
pub fn text(object: &impl Serialize) -> String {
    serde_saphyr::to_string(object).unwrap_or_else(|error| unreachable!("objects of strings can be written: {error}"))
}
