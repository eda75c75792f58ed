//! Reads the annotations of one object by a table of typed rows; it must not know paths, hosts or backends.

mod document;
mod draft;
mod engine;
mod form;
mod outline;
mod row;
mod table;
#[cfg(test)]
mod tests;
pub mod value;

pub use document::{document, manual, summary};
pub use draft::{Context, Draft, Entry, SecretReference};
pub use engine::{judge, read};
pub use form::{Form, Shape};
pub use outline::outline;
pub use row::{
    Ceiling, Compared, Effect, Family, Gives, OnError, Row, Scope, Trust, Try, Unit, asks, nothing_to_finish, unserved,
};
pub use table::{Index, Table};
