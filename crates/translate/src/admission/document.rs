//! The documentation of the policies, generated from the rows.

use super::{Policy, TABLE};
use crate::annotation::Table;

/// A Markdown table of the policies.
pub fn policies() -> String {
    let head = "| policy | what it refuses | default action |\n| --- | --- | --- |\n".to_owned();
    let rows = Policy::ALL
        .map(|policy| format!("| `{}` | {} | {} |\n", policy.name(), policy.about(), policy.usual_action().name()));
    head + &rows.concat()
}

/// A Markdown table of the parts of annotations that no policy checks, with the reasons.
pub fn not_judged() -> String {
    let served = |table: &'static Table| table.rows().filter(|row| row.is_served());
    let rows = served(TABLE).filter_map(|row| {
        let judged = row.form.described().unwrap_or_else(|| "nothing".to_owned());
        Some(format!("| `{}` | {judged} | {} |\n", row.key, row.form.left_out()?))
    });
    "| annotation | what is judged | what is not |\n| --- | --- | --- |\n".to_owned() + &rows.collect::<String>()
}
