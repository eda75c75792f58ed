//! What a translation is made of, which its stages share.

use std::sync::Arc;

use crate::read::reader::Readers;
use crate::{Claims, Options, World};
use ingressd_objects::Snapshot;

/// What a translation is made of.
#[derive(Clone, Copy)]
pub struct Given<'a> {
    pub snapshot: &'a Snapshot,
    pub world: &'a World,
    /// The claims of what is served.
    pub claims: &'a Arc<Claims>,
    pub options: &'a Options,
    /// How objects are read.
    pub readers: Readers,
}
