//! The engine: reads the annotations of one object by a table of typed rows.

mod ceiling;
mod companions;
mod document;
mod draft;
mod effective;
mod engine;
mod layer;
pub mod mistakes;
mod outline;
pub(crate) mod reading;
mod row;
mod snippets;
mod table;
#[cfg(test)]
mod tests;

pub use ceiling::{Ceiling, Unit};
pub use companions::{ANYTHING, Companion, SOMETHING, asks_for_nothing, fits, words};
pub use document::{document, manual, summary};
pub use draft::{Context, Draft, Entry, ExternalDraft, FastCgiDraft, MirrorDraft, SecretReference};
pub use effective::effective;
pub use engine::merge;
pub use layer::{Layer, OptionEntry, options};
pub use mistakes::Elsewhere;
pub use outline::{argument_words, outline};
pub use row::{
    Compared, Effect, Family, Gives, Implied, OnError, Row, Scope, SnippetRow, Trust, Try, asks, built_in,
    nothing_to_finish, put, unserved,
};
pub use table::{Index, Table};

pub use crate::value::{self, Form, Shape};
