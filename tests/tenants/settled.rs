//! Which of the rows and tests hold, against those that are awaited to; it must not know what they try.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::awaited::AWAITED;

/// How many failures of a row are shown.
const MOST_SHOWN: usize = 30;

/// What is wrong, by the name of a row or test; nothing for those that hold.
pub type Results = BTreeMap<String, Vec<String>>;

/// Compares results with what is awaited.
///
/// # Panics
///
/// When something does not hold that is not awaited, and when something holds that is.
pub fn settle(results: &Results) {
    let mut wrong = Vec::new();
    for (name, failures) in results {
        match (AWAITED.contains(&name.as_str()), &**failures) {
            (true, []) => wrong.push(format!("{name} holds: take it out of AWAITED")),
            (false, [_, ..]) => {
                let shown: Vec<_> = failures.iter().take(MOST_SHOWN).cloned().collect();
                wrong.push(format!("{name}: {} failures\n  {}", failures.len(), shown.join("\n  ")));
            }
            _ => {}
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// What something returns, or its panic's words.
pub fn outcome<T>(action: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(action)).map_err(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned())).unwrap_or_default()
    })
}
