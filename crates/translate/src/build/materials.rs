//! What servers are built of, which all parts that build them share.

use std::collections::BTreeSet;

use super::client_certificates::Unserved;
use super::server::Servers;
use super::tls::Tls;
use crate::CommonPolicy;
use crate::admit::canary::Canaries;
use crate::given::Given;
use crate::resolve::backend::Backends;
use crate::resolve::endpoint::Slices;
use crate::secret::certificate::Certificates;

/// What servers are built of.
#[derive(Clone, Copy)]
pub struct Materials<'a> {
    pub given: Given<'a>,
    /// The endpoints of Services.
    pub slices: &'a Slices<'a>,
    /// Objects that take a share of the requests for the paths of others.
    pub canaries: &'a Canaries<'a, 'a>,
    /// Client certificate rules of objects that are not served.
    pub unserved_rules: &'a Unserved,
    /// The dialect and behaviour of routes that no object defines.
    pub common: &'a CommonPolicy,
    /// The certificates that were checked.
    pub certificates: &'a Certificates,
}

impl<'a> Servers<'a> {
    /// Has built nothing yet.
    pub fn new(materials: Materials<'a>) -> Self {
        let Materials { given, slices, canaries, unserved_rules, common, certificates } = materials;
        let Given { snapshot, world, options, .. } = given;
        Servers {
            options,
            backends: Backends::new(snapshot, world, options, slices),
            canaries,
            unserved_rules,
            common,
            taken: BTreeSet::new(),
            idle: BTreeSet::new(),
            tls: Tls::new(snapshot, world, options, certificates),
            passed: Vec::new(),
            findings: Vec::new(),
            uses: Vec::new(),
            asked: Vec::new(),
            refused: Vec::new(),
        }
    }
}
