//! What becomes of values that are none, beside what ingress-nginx makes of them; it must not know
//! any key.

use std::fmt::Write as _;

use super::row::{Compared, OnError, Row};
use super::table::Table;

/// What ingress-nginx makes of a value that is none of the key's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Elsewhere {
    /// The default counts.
    Default,
    /// The object is not taken; an earlier version goes on being served, where there is one.
    Refuse,
    /// The routes of the object answer 503.
    Close,
    /// The whole host answers 403.
    CloseHost,
    /// The key is left out, with the keys that belong to it.
    LeaveOut,
}

impl Elsewhere {
    const fn words(self) -> &'static str {
        match self {
            Elsewhere::Default => "the default counts",
            Elsewhere::Refuse => "the object is refused",
            Elsewhere::Close => "503",
            Elsewhere::CloseHost => "the host answers 403",
            Elsewhere::LeaveOut => "the key and those that belong to it have no effect",
        }
    }
}

impl OnError {
    const fn words(self) -> &'static str {
        match self {
            OnError::Skip => "the default counts",
            OnError::WithholdCors => "no CORS headers",
            OnError::WithholdCopies => "no copies",
            OnError::Close => "503",
            OnError::Refuse => "the object is refused",
        }
    }
}

/// What a bad value does here, beside what it does there. Of two things that may come of it there,
/// the one that differs counts.
pub fn compared(row: &Row) -> Compared {
    let each = row.elsewhere.iter().map(|there| beside(*there, row.on_error));
    each.into_iter().find(|compared| *compared != Compared::Equal).unwrap_or(Compared::Equal)
}

const fn beside(there: Elsewhere, here: OnError) -> Compared {
    match (there, here) {
        (Elsewhere::Default, OnError::Skip)
        | (Elsewhere::Refuse, OnError::Refuse)
        | (Elsewhere::Close, OnError::Close) => Compared::Equal,
        (Elsewhere::Default | Elsewhere::LeaveOut, OnError::Close) => {
            Compared::Stricter("A protection is never left out because of a mistake.", "")
        }
        (Elsewhere::CloseHost, OnError::Close) => {
            Compared::Different("A mistake closes only the routes of its own namespace, with 503.", "")
        }
        (Elsewhere::Refuse, OnError::Close) => Compared::Stricter(
            "An earlier version may protect less, and where the object is left out another path may take its requests.",
            "",
        ),
        (_, OnError::WithholdCors) => Compared::Stricter("A mistake admits no other origin.", ""),
        (_, OnError::WithholdCopies) => Compared::Stricter("A mistake sends requests to no other backend.", ""),
        (Elsewhere::Default | Elsewhere::LeaveOut, OnError::Refuse) => Compared::Stricter(
            "Requests were to go elsewhere, or to be checked first: they do not reach the backend without that.",
            "",
        ),
        (_, OnError::Skip) => Compared::Different("The object is served with the default, which is as safe.", ""),
        (Elsewhere::Close | Elsewhere::CloseHost, OnError::Refuse) => {
            Compared::Different("An earlier version goes on being served, where there is one.", "")
        }
    }
}

/// The table of all keys that are served, in Markdown; `effect` names how something is here.
pub fn document(table: &Table, effect: impl Fn(Compared) -> &'static str) -> String {
    let mut text = String::from("| key | ingress-nginx | ingressd | effect | why |\n| --- | --- | --- | --- | --- |\n");
    let mut rows: Vec<_> = table.rows().filter(|row| row.is_served()).collect();
    rows.sort_by_key(|row| row.key);
    for row in rows {
        let there = row.elsewhere.iter().map(|there| there.words()).collect::<Vec<_>>().join("; or: ");
        let compared = compared(row);
        let (name, here) = (effect(compared), row.on_error.words());
        let _ = writeln!(text, "| `{}` | {there} | {here} | {name} | {} |", row.key, compared.words().0);
    }
    text
}
