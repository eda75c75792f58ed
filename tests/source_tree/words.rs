//! Names are usual words, each with one meaning.

use std::collections::{BTreeMap, BTreeSet};

use syn::visit::Visit;

use super::{SourceFile, complain, program_files, root, rust_files};

/// Words that names of ours do not have, and what says it.
const UNUSUAL_WORDS: &[(&[&str], &str)] = &[
    (&["entrance"], "listener"),
    (&["desk"], "queue"),
    (&["wish", "wishes"], "command, request, choice or what is wanted"),
    (&["interregnum"], "handover"),
    (&["parted"], "not shared"),
    (&["neighbour", "neighbours"], "other sites, other nodes"),
    (&["obey", "obeyed"], "execute"),
    (&["told", "tell", "tells"], "report"),
    (&["suspect", "suspects", "trial", "trials"], "candidate, request or what is tested"),
    (&["innocent", "guilty", "convict"], "cleared, to blame"),
    (&["crowd", "crowds", "crowded"], "many, nearly full or without room"),
    (&["everywhere"], "global, common"),
    (&["twin", "twins"], "duplicate, or what it is"),
];

/// The same for words that are usual in sentences, such as the names of tests: nothing has them as
/// its whole name.
const UNUSUAL_NAMES: &[(&str, &str)] = &[("carries", "revision"), ("Lacks", "missing")];

/// Names of types that meant several things: the one file or folder that has each.
const ONE_MEANING: &[(&str, &[&str])] = &[
    ("Reading", &["crates/translate/src/annotation/reading"]),
    ("Place", &["crates/nginx/src/render/lower/paths"]),
    ("Status", &["src/daemon/status"]),
    ("Names", &["crates/translate/src/world"]),
    ("Listeners", &["src/daemon/listeners"]),
    ("Known", &["crates/cluster/src/source/cluster/found"]),
    ("Places", &["crates/translate/src/places"]),
    ("Standing", &["crates/model/src/state"]),
    ("Judgement", &[]),
    ("Written", &["crates/model/src/effective"]),
    ("Wish", &[]),
    ("Handover", &["src/daemon/serving"]),
    ("Whereabouts", &[]),
    ("Roster", &[]),
    ("Chronicle", &[]),
    ("Agenda", &[]),
    ("Bulletin", &[]),
    ("Site", &[]),
    ("Room", &[]),
    ("Guest", &[]),
    ("Seat", &[]),
    ("Accepted", &[]),
    ("Confirmed", &[]),
    ("Compared", &["crates/translate/src/annotation/row"]),
    ("Judged", &[]),
    ("Unfit", &["crates/cluster/src/source/cluster/item"]),
    ("Gives", &["crates/translate/src/annotation/row"]),
    ("Asking", &[]),
    ("Askers", &[]),
    ("Looked", &[]),
    ("Mood", &[]),
    ("Said", &[]),
    ("Sort", &[]),
];

/// How many names of types that more than one file gives to others there are. It may only fall:
/// what is known beyond its folder has a name of its own. Each command has its `Arguments`.
const NAMESAKES: usize = 120;

/// Comments end before this column, as prose in the documentation does.
const WIDTH: usize = 100;

/// Words by which a comment says no more than a name.
const EMPTY_WORDS: &str = "a an the its of it this that is are for in on to and as or by with whether which what kind";

/// Words before the name of an item.
const KEYWORDS: &[&str] =
    &["pub", "crate", "super", "const", "async", "unsafe", "fn", "struct", "enum", "type", "trait", "static"];

/// The names that a file gives and uses, in macros too, split into words of lower-case letters.
#[derive(Default)]
struct Words {
    names: BTreeSet<String>,
    words: BTreeSet<String>,
    /// The words of keys of annotations and labels of ours.
    of_keys: BTreeSet<String>,
    types: Vec<String>,
}

impl Words {
    fn of(file: &SourceFile) -> Self {
        let mut words = Words::default();
        words.visit_file(&file.tree);
        words
    }

    fn add(&mut self, name: &str) {
        self.names.insert(name.to_owned());
        let mut word = String::new();
        for letter in name.chars() {
            if letter == '_' || letter.is_uppercase() {
                self.words.insert(std::mem::take(&mut word));
            }
            word.extend(letter.to_lowercase().filter(|letter| *letter != '_'));
        }
        self.words.insert(word);
    }
}

impl<'ast> Visit<'ast> for Words {
    fn visit_ident(&mut self, name: &'ast syn::Ident) {
        self.add(&name.to_string());
    }

    fn visit_lit_str(&mut self, text: &'ast syn::LitStr) {
        let text = text.value();
        let key = text.strip_prefix("ingressd/").into_iter();
        self.of_keys.extend(key.flat_map(|key| key.split('-')).map(str::to_owned));
    }

    fn visit_macro(&mut self, item: &'ast syn::Macro) {
        // What is between quotes is text.
        let code = item.tokens.to_string().split('"').step_by(2).collect::<Vec<_>>().join(" ");
        code.split(|letter: char| !letter.is_alphanumeric() && letter != '_').for_each(|name| self.add(name));
        syn::visit::visit_macro(self, item);
    }

    fn visit_item_struct(&mut self, item: &'ast syn::ItemStruct) {
        self.types.push(item.ident.to_string());
        syn::visit::visit_item_struct(self, item);
    }

    fn visit_item_enum(&mut self, item: &'ast syn::ItemEnum) {
        self.types.push(item.ident.to_string());
        syn::visit::visit_item_enum(self, item);
    }

    fn visit_item_type(&mut self, item: &'ast syn::ItemType) {
        self.types.push(item.ident.to_string());
        syn::visit::visit_item_type(self, item);
    }
}

#[test]
fn names_are_usual_words_with_one_meaning() {
    let (mut complaints, mut found) = (Vec::new(), BTreeSet::new());
    for file in program_files() {
        let Words { names, words, of_keys, types } = Words::of(&file);
        let has = |unusual: &str| names.contains(unusual) || of_keys.contains(&unusual.to_lowercase());
        for (unusual, usual) in UNUSUAL_NAMES.iter().filter(|(unusual, _)| has(unusual)) {
            complaints.push(format!("{}: {unusual} is usually called {usual}", file.path));
        }
        for (unusual, usual) in UNUSUAL_WORDS {
            for word in unusual.iter().filter(|word| words.contains(**word)) {
                complaints.push(format!("{}: a name has {word:?}, which is usually called {usual}", file.path));
            }
        }
        for (name, homes) in ONE_MEANING.iter().filter(|(name, _)| types.iter().any(|own| own == name)) {
            found.insert(*name);
            if !homes.iter().any(|home| file.is_within(home)) {
                complaints.push(format!("{}: {name} means what is in {homes:?}", file.path));
            }
        }
    }
    complain(&complaints);
    assert!(found.contains("Status") && found.contains("Names"), "types were not found: {found:?}");
}

/// The types that a file gives to others, outside of blocks.
fn given_types(file: &SourceFile) -> impl Iterator<Item = String> {
    let is_given = |visibility: &syn::Visibility| matches!(visibility, syn::Visibility::Public(_));
    file.tree.items.iter().filter_map(move |item| match item {
        syn::Item::Struct(item) => is_given(&item.vis).then(|| item.ident.to_string()),
        syn::Item::Enum(item) => is_given(&item.vis).then(|| item.ident.to_string()),
        syn::Item::Type(item) => is_given(&item.vis).then(|| item.ident.to_string()),
        syn::Item::Trait(item) => is_given(&item.vis).then(|| item.ident.to_string()),
        _ => None,
    })
}

#[test]
fn ever_fewer_types_have_the_same_name() {
    let files = program_files();
    let mut places: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for file in files.iter().filter(|file| !file.is_test()) {
        given_types(file).for_each(|name| places.entry(name).or_default().push(&file.path));
    }
    places.retain(|name, files| files.len() > 1 && name != "Arguments");
    let all: Vec<_> = places.iter().map(|(name, files)| format!("{name}: {}", files.join(", "))).collect();
    assert!(all.len() <= NAMESAKES, "{} names, at most {NAMESAKES} may be:\n{}", all.len(), all.join("\n"));
    assert!(all.len() == NAMESAKES, "only {} names mean several types: say so instead of {NAMESAKES}", all.len());
}

#[test]
fn comments_end_before_column_100() {
    let root = root();
    let (mut complaints, mut counts) = (Vec::new(), BTreeMap::new());
    let files = ["src", "crates", "tests", "benches"].iter().flat_map(|folder| rust_files(&root.join(folder)));
    for path in files {
        let text = std::fs::read_to_string(&path).unwrap();
        let path = path.strip_prefix(root).unwrap();
        let count: &mut usize = counts.entry(path.iter().next().unwrap().to_owned()).or_default();
        let mut is_figure = false;
        for (number, line) in (1..).zip(text.lines()) {
            let Some(comment) = line.trim_start().strip_prefix("//") else { continue };
            *count += 1;
            let is_fence = comment.trim_start_matches(['/', '!', ' ']).starts_with("```");
            is_figure ^= is_fence;
            if !is_figure && line.chars().count() >= WIDTH {
                let (path, last) = (path.display(), WIDTH - 1);
                complaints.push(format!("{path}:{number}: a comment goes beyond column {last}"));
            }
        }
    }
    complain(&complaints);
    let [benches, crates, src, tests] = counts.values().copied().collect::<Vec<_>>()[..] else { panic!("{counts:?}") };
    assert!(benches > 100 && crates > 8000 && src > 2000 && tests > 2000, "comments were not found: {counts:?}");
}

#[test]
fn comments_say_more_than_names() {
    let (mut complaints, mut count) = (Vec::new(), 0);
    // The comments of commands are their help.
    for file in program_files().into_iter().filter(|file| !file.is_within("src/cli")) {
        let lines: Vec<_> = file.text.lines().map(str::trim).collect();
        for (number, run) in lines.windows(3).enumerate() {
            let [before, comment, after] = run else { unreachable!("three lines") };
            let Some(comment) = comment.strip_prefix("/// ") else { continue };
            if before.starts_with("///") || after.starts_with("///") {
                continue;
            }
            let item = lines[number + 2..].iter().find(|line| !line.starts_with("#["));
            let mut names = item.unwrap().split(|letter: char| !letter.is_alphanumeric() && letter != '_');
            let Some(name) = names.find(|name| !name.is_empty() && !KEYWORDS.contains(name)) else { continue };
            let mut known = Words::default();
            known.add(name);
            let known: BTreeSet<_> = known.words.iter().map(|word| word.trim_end_matches('s')).collect();
            let comment = comment.to_lowercase();
            let words = comment.split(|letter: char| !letter.is_alphabetic()).filter(|word| !word.is_empty());
            let mut words = words.filter(|word| EMPTY_WORDS.split(' ').all(|empty| empty != *word)).peekable();
            count += 1;
            if words.peek().is_some() && words.all(|word| known.contains(word.trim_end_matches('s'))) {
                let (path, number) = (&file.path, number + 2);
                complaints.push(format!("{path}:{number}: the comment repeats the name {name}"));
            }
        }
    }
    complain(&complaints);
    assert!(count > 1000, "{count} comments were found");
}

/// Names of texts and numbers, which may stand in a sentence as Rust quotes them.
const QUOTED: &[&str] = &[
    "address",
    "class",
    "controller",
    "home",
    "key",
    "kind",
    "line",
    "name",
    "named",
    "namespace",
    "node",
    "number",
    "other",
    "prefix",
    "secret",
    "service",
    "text",
    "token",
    "value",
    "word",
];

/// Sentences that quote what has no name in them: a text each.
const QUOTED_WITHOUT_NAME: &[&str] = &[
    "{0:?} is not a path within a generation",
    "of the addressType {:?}",
    "publish.mode = {:?}",
    "log.level: {0:?} is no level",
    "{} of {:?}",
    "{:?} is neither true nor false",
    "an Event about {:?}",
    "Service {:?} of the path",
    "the namespace {:?} needs",
    "requests to Service {:?}",
    "requests go to Service {:?}",
    "externalName {} of Service {:?}",
    "{:?} is not one of Exact",
    "the daemon says: {status:?}",
    "{}({:?})",
    // These are digested, or told to developers or the settings' parser.
    "format!(\"{{controller = {controller:?}, dialect = {dialect:?}}}\")",
    "\\n{} {state:?}",
    "format!(\"{parameter:?}\")",
];

/// A sentence for people has no value of the program in it, such as `Some(1)` or an error as Rust
/// prints it.
#[test]
fn sentences_quote_texts_and_no_other_values() {
    let placeholder = regex::Regex::new(r"\{([a-z_0-9.]*):#?\?\}").unwrap();
    let mut complaints = Vec::new();
    for file in program_files().iter().filter(|file| !file.is_test() && !file.is_within("crates/echo")) {
        let code = file.text.split("\n#[cfg(test)]").next().unwrap_or_default();
        let sentences = code.lines().filter(|line| {
            let text = line.split_once('"').map(|(_, text)| text).unwrap_or(line);
            text.contains(' ') && !["assert", "panic!", "hash(", "Digest::of("].iter().any(|word| line.contains(word))
        });
        for line in sentences.filter(|line| !QUOTED_WITHOUT_NAME.iter().any(|known| line.contains(known))) {
            for found in placeholder.captures_iter(line).filter(|found| !QUOTED.contains(&&found[1])) {
                complaints.push(format!("{}: {} in {}", file.path, &found[0], line.trim()));
            }
        }
    }
    complain(&complaints);
}
