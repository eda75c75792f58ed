//! Tells of a failure once, and once when it is over; it must not know what failed.

/// Something that is done again and again and may fail.
#[derive(Debug)]
pub struct Trouble {
    what: &'static str,
    now: Option<String>,
}

impl Trouble {
    /// `what` is a clause such as "the Lease cannot be renewed".
    pub fn of(what: &'static str) -> Self {
        Trouble { what, now: None }
    }

    /// It failed.
    pub fn failed(&mut self, why: impl ToString) {
        let why = why.to_string();
        if self.now.as_ref() != Some(&why) {
            tracing::warn!("{}: {}", self.what, why.escape_debug());
            self.now = Some(why);
        }
    }

    /// It worked.
    pub fn worked(&mut self) {
        if self.now.take().is_some() {
            tracing::info!("no longer: {}", self.what);
        }
    }
}
