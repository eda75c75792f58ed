//! Every directive in generated files and templates has a fitting row in the catalogue.

use std::collections::BTreeSet;
use std::path::Path;

use ingressd_model::catalogue::{self, Context, Version};
use ingressd_nginx::syntax::{self, Directive};

/// What does not fit among these directives, one line each; notes the rows that are used.
pub fn complaints(
    place: &str,
    directives: &[Directive],
    context: Context,
    version: Version,
    used: &mut BTreeSet<(&'static str, Context)>,
) -> Vec<String> {
    let mut complaints = Vec::new();
    for directive in directives {
        let Directive { name, arguments, block, line, .. } = directive;
        let Some(row) = catalogue::find(name, context) else {
            complaints.push(format!("{place}:{line}: {name} in {context:?} is not in crates/model/src/catalogue"));
            continue;
        };
        used.insert((row.name, context));
        if row.since > version {
            complaints.push(format!("{place}:{line}: {name} exists since {}, this is {version}", row.since));
        }
        if !row.form.fits(arguments, block.is_some()) {
            complaints.push(format!("{place}:{line}: {name} is not written as {:?}: {arguments:?}", row.form));
        }
        if let Some(inner) = context.within(name) {
            complaints.extend(self::complaints(place, directive.children(), inner, version, used));
        }
    }
    complaints
}

/// The context of a file of a generation; `None` for those that are no configuration.
pub fn context(path: &str) -> Option<Context> {
    match path.split_once('/')? {
        ("http", _) => Some(Context::Http),
        ("stream", _) => Some(Context::Stream),
        _ => None,
    }
}

/// Names of the directives that a template itself contains.
fn names(template: &str) -> BTreeSet<String> {
    let tag = |line: &&str| !(line.trim().starts_with("{{") && line.trim().ends_with("}}") && !line.contains(';'));
    let mut text = String::new();
    for line in template.lines().filter(tag) {
        let mut rest = line;
        while let Some((before, behind)) = rest.split_once("{{") {
            text.push_str(before);
            let (inside, after) = behind.split_once("}}").unwrap();
            text.push_str(if inside.starts_with(['#', '/', '>']) { "" } else { "FILLED" });
            rest = after;
        }
        text.push_str(rest);
        text.push('\n');
    }
    // Parts of a block are closed by the program.
    let parsed = (0..3).find_map(|open| syntax::parse(format!("{text}{}", "}\n".repeat(open)).as_bytes()).ok());
    let mut names = BTreeSet::new();
    note(&parsed.unwrap_or_else(|| panic!("nginx does not read it: {text}")), &mut names);
    names
}

fn note(directives: &[Directive], names: &mut BTreeSet<String>) {
    for directive in directives {
        if !directive.name.contains("FILLED") {
            names.insert(directive.name.clone());
        }
        // What stands in these is no directive.
        if !["map", "geo", "split_clients"].contains(&&*directive.name) {
            note(directive.children(), names);
        }
    }
}

#[test]
fn every_directive_of_a_template_has_a_row() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/nginx/templates");
    let known: BTreeSet<&str> = catalogue::all().map(|row| row.name).collect();
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let names = names(&std::fs::read_to_string(&path).unwrap());
        count += names.len();
        for name in names {
            // The program puts these lines of tables together.
            let is_line = path.file_name().unwrap() == "backend.hbs";
            assert!(
                known.contains(&*name) || is_line,
                "{}: {name} is not in crates/model/src/catalogue",
                path.display()
            );
        }
    }
    assert!(count > 30, "templates were not read: {count}");
}
