//! The table of checks as a documentation page and as a section of the manual.

use super::table::CHECKS;

/// The page.
pub fn document() -> String {
    let mut text = "# The checks of `ingressd doctor`\n\n\
         With this page you can look up what each check of `ingressd doctor` examines, and what to do when it finds a problem. Words that the page does not explain are in the [glossary](glossary.md).\n\n\
         The command changes nothing and needs no running daemon. Run it as root on the edge node. The output lists the problems \
         first: a level (`error`, `warning`, `note`), the name of the check and what it found, and in the next line behind `->` the \
         remedy. Then it prints the number of checks that passed; `--all` lists those too. `ingressd doctor NAME...` makes only the \
         checks of these names and shows all their results, and `--format json` is for programs.\n\n\
         Exit status: 0 when all is well, 1 when there are warnings, 2 when there are errors, 64 when the command line is wrong. Notes \
         do not change it.\n"
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
        "The command changes nothing, and needs no running daemon. Run it as root. The output lists the problems first: a level (error, \
         warning, note), the name of the check and what it found, and in the next line behind -> the remedy. Then it prints the \
         number of checks that passed. Notes do not change the exit status.\n\nThe checks:\n\n{}",
        checks.collect::<Vec<_>>().join("\n\n")
    )
}
