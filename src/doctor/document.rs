//! The table of checks as a documentation page and as a section of the manual.

use super::table::CHECKS;

/// The page.
pub fn document() -> String {
    let mut text = "# What `ingressd doctor` looks at\n\n\
         With this page you can look up what each check of `ingressd doctor` examines, and what to do when it finds a problem. Words that the page does not explain are in the [glossary](glossary.md).\n\n\
         The command changes nothing and needs no running daemon; it is to be run as root on the edge node. What is wrong comes first: a level \
         (`error`, `warning`, `note`), the name of the check, what was found, and on a line of its own behind `->` what to do. Then it says how many \
         checks are fine; `--all` lists those too. `ingressd doctor NAME...` makes only the checks of these names and tells all that they find, \
         `--format json` is for machines.\n\n\
         Exit status: 0 when all is well, 1 when there are warnings, 2 when there are errors; 64 when the command line is wrong. Notes count \
         for nothing.\n"
        .to_owned();
    for check in CHECKS {
        text += &format!("\n## {}\n\n{}\n\n{}\n", check.name, check.about, check.wrong);
    }
    text
}

/// The part of the manual behind the options.
pub fn manual() -> String {
    let checks =
        CHECKS.iter().map(|check| format!("{}: {} {}", check.name, check.about, check.wrong).replace('`', "'"));
    format!(
        "Nothing is changed, and no daemon has to run. It is to be run as root. What is wrong comes first: a level (error, warning, \
         note), the name of the check, what was found, and on a line of its own behind -> what to do. Then it says how many checks are fine. Notes do not count for the exit status.\n\nThe checks:\n\n{}",
        checks.collect::<Vec<_>>().join("\n\n")
    )
}
