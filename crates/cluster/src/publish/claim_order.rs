//! Writes and reads the order of claims in a Lease. It must not know what is claimed.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use ingressd_model::ClaimOrder;

/// The separator between claims and the namespaces that come last.
const SEPARATOR: char = '.';

/// The length of a mark in bytes.
const MARK: usize = 8;

/// The longest text that is read; nodes write shorter ones.
const LONGEST: usize = 128 * 1024;

/// The text for a Lease; `None` when the order is empty.
pub fn text(order: &ClaimOrder) -> Option<String> {
    if order.is_empty() {
        return None;
    }
    let [known, last] = order.marks();
    Some(format!("{}{SEPARATOR}{}", STANDARD.encode(known.as_flattened()), STANDARD.encode(last.as_flattened())))
}

/// Reads the text from a Lease. An invalid one counts as empty.
pub fn read(text: Option<&str>) -> Arc<ClaimOrder> {
    let read = || {
        let (known, last) = text.filter(|text| text.len() <= LONGEST)?.split_once(SEPARATOR)?;
        let marks = |text: &str| {
            let bytes = STANDARD.decode(text).ok()?;
            let (marks, rest) = bytes.as_chunks::<MARK>();
            rest.is_empty().then(|| marks.to_vec())
        };
        Some(ClaimOrder::read(marks(known)?, marks(last)?))
    };
    Arc::new(read().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_and_nonsense_says_nothing() {
        for (known, last) in [(0, 0), (1, 0), (0, 2), (3, 1)] {
            let marks = |from: u8, count: u8| (from..from + count).rev().map(|number| [number; MARK]);
            let order = ClaimOrder::read(marks(0, known), marks(100, last));
            assert_eq!(*read(text(&order).as_deref()), order);
            assert_eq!(text(&order).is_none(), known + last == 0);
        }
        for nonsense in [None, Some(""), Some("."), Some("AAAA"), Some("AAAA."), Some("!.!")] {
            assert!(read(nonsense).is_empty(), "{nonsense:?}");
        }
    }
}
