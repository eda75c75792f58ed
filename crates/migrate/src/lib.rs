//! The migration from ingress-nginx: its flags as settings, and which parts of its objects are
//! equal, stricter, different or refused. It must not know the reader of the report.

mod certificates;
pub mod compare;
mod controller;
mod document;
mod drop_in;
mod flags;
mod html;
mod item;
mod judge;
mod report;
mod secrets;
mod served;
pub mod take_over;
#[cfg(test)]
mod tests;

pub use certificates::{CertificateClash, SiteCertificate, TlsHost, certificate_clashes};
pub use controller::{Argument, Controller, controllers};
pub use document::document;
pub use drop_in::{Class, DropIn, drop_in};
pub use flags::{Counterpart, FLAGS, Flag, Takes};
pub use html::page;
pub use item::{Equivalence, Item, KnownKey};
pub use judge::{ReportInput, judge};
pub use report::{Ingress, Report};
pub use secrets::stand_in_for_secrets;
