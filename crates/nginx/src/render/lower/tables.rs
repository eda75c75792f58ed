//! Files of their own for variables, zones and servers that features need beside servers and
//! services.

use std::collections::BTreeMap;
use std::sync::Arc;

use rayon::prelude::*;

use crate::Plan;
use crate::render::content::Part;
use crate::render::engine::Engine;
use crate::render::file_set::{File, FilePath, Owners};
use crate::render::token::Literal;
use crate::render::view::Tables;
use ingressd_model::expression::{LIMITS, anywhere};
use ingressd_model::{Origin, Pattern, Refused};

use super::{
    access_log, branches, client_certificates, cors, empty, external_authentication, firewall, geo, global, limits,
    lookup, passthrough, session, shared, split, stream, tls, upstream,
};

/// Writes into files what one feature of a plan needs.
type Feature = fn(&Plan, &mut Files<'_>);

/// The features that depend on which upstreams have no endpoints.
const OF_TABLES: &[Feature] = &[empty::tables, split::tables];

/// The features that need more than directives in servers, locations, upstreams and services.
const FEATURES: &[Feature] = &[
    shared::tables,
    branches::tables,
    access_log::tables,
    client_certificates::tables,
    cors::tables,
    global::tables,
    external_authentication::tables,
    firewall::tables,
    geo::tables,
    limits::tables,
    lookup::tables,
    passthrough::tables,
    session::tables,
    stream::tables,
    tls::files,
    upstream::tables,
];

/// Files of features, by their paths.
pub struct Files<'e> {
    pub engine: &'e Engine,
    files: BTreeMap<FilePath, File>,
}

impl Files<'_> {
    /// Adds a file, once for each path. When it cannot be written it stays empty: nginx's test
    /// then names its users.
    pub fn add<R: IntoIterator<Item = FilePath>>(
        &mut self,
        path: FilePath,
        owner: Option<&Origin>,
        requires: R,
        say: impl FnOnce(&mut Tables) -> Result<(), Refused>,
    ) {
        let engine = self.engine;
        self.files.entry(path).or_insert_with(|| {
            let owners = owner.map(|owner| (1, owner.clone())).into_iter().collect();
            File::plain(text(engine, say), Owners(owners), requires)
        });
    }

    /// Adds a finished file.
    pub fn put(&mut self, path: FilePath, file: File) {
        self.files.insert(path, file);
    }
}

/// The text of tables; `None` when they cannot be written.
pub fn text(engine: &Engine, say: impl FnOnce(&mut Tables) -> Result<(), Refused>) -> Option<Part> {
    let mut tables = Tables::default();
    say(&mut tables).ok()?;
    engine.fill("tables", &tables).ok().map(Part::Filled)
}

/// The files of features of the model.
pub fn files(plan: &Plan, engine: &Engine) -> Vec<(FilePath, Arc<File>)> {
    all(FEATURES, plan, engine)
}

/// The files of features that depend on which upstreams have no endpoints.
pub fn of_tables(plan: &Plan, engine: &Engine) -> Vec<(FilePath, Arc<File>)> {
    all(OF_TABLES, plan, engine)
}

/// The files of these features. Each walks all routes, so they do it side by side. No two features
/// write the same file.
fn all(features: &[Feature], plan: &Plan, engine: &Engine) -> Vec<(FilePath, Arc<File>)> {
    let files = |feature: &Feature| {
        let mut files = Files { engine, files: BTreeMap::new() };
        feature(plan, &mut files);
        files.files
    };
    let all: Vec<_> = features.par_iter().map(files).collect();
    all.into_iter().flatten().map(|(path, file)| (path, Arc::new(file))).collect()
}

/// The key of a row that stands for what this expression matches anywhere.
pub fn matching(pattern: &Pattern, case_sensitive: bool) -> Result<Literal, Refused> {
    let mark = if case_sensitive { "~" } else { "~*" };
    Literal::new(&format!("{mark}{LIMITS}{}", anywhere(pattern.as_str())))
}
