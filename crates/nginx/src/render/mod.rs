//! Renders a plan to files, byte for byte.

mod blocks;
mod content;
mod engine;
mod family;
mod file_set;
pub mod headers;
mod lint;
mod lower;
mod memory;
mod names;
mod rendered;
mod ring;
mod search_order;
mod shape;
mod templates;
#[cfg(test)]
mod tests;
pub mod token;
mod view;

pub use content::{Content, Part};
pub use engine::TemplateError;
pub use file_set::{Digest, File, FilePath, FileSet, Owners};
pub use lower::{Place, has_own_tls, places, to_https, traffic_log};
pub use names::{passthrough_file, recounts, stream_port};
pub use rendered::{RenderWork, Rendered};
pub use templates::Templates;

use std::collections::HashSet;
use std::sync::Arc;

use crate::{Decisions, Plan};
use blocks::Blocks;
use engine::Engine;
use ingressd_model::{
    AccessList, Authority, Certificate, CertificateId, Directive, Endpoint, Forwarded, Instance, PasswordFile,
    Presented, Server, ServerName, Stream, TlsTermination, Upstream, UpstreamId,
};
use lower::Facts;
use memory::{Files, Rows};
use search_order::SearchOrder;

/// Renders plans. Its cache saves time and never changes the result.
#[derive(Debug)]
pub struct Renderer {
    engine: Engine,
    /// The catch-all server where no Ingress defines one.
    catch_all: Option<Arc<Server>>,
    background: Option<Background>,
    /// How often connections had been counted anew when servers were rendered.
    recounts: u32,
    /// The plan that was rendered last, and the files of its model.
    last: Option<(Plan, Arc<FileSet>)>,
    empty: Option<OfEmpty>,
    blocks: Blocks,
    servers: Files<Server>,
    upstreams: Rows<Upstream, [Endpoint]>,
    certificates: Rows<Presented, Certificate>,
    password_files: Files<PasswordFile>,
    lists: Files<AccessList>,
    streams: Files<Stream>,
    stream_upstreams: Rows<Upstream, [Endpoint]>,
}

/// The upstreams that had no endpoints, and the files that depend on it.
type OfEmpty = (HashSet<UpstreamId>, Vec<(FilePath, Arc<File>)>);

/// What every cached server was rendered with.
#[derive(Debug, PartialEq, Eq)]
struct Background {
    decisions: Arc<Decisions>,
    forwarded: Forwarded,
    server_directives: Vec<Directive>,
    default_certificate: Option<CertificateId>,
    catch_all: Arc<[FilePath]>,
    catch_all_is_own: bool,
    has_request_ids: bool,
    search_order: SearchOrder,
}

impl Default for Renderer {
    fn default() -> Self {
        Renderer::of(&Instance::default(), &Templates::default())
    }
}

impl Renderer {
    /// A renderer for an instance, with these templates in the place of the program's own.
    pub fn of(instance: &Instance, templates: &Templates) -> Self {
        Renderer {
            // Replacements were checked when they were read; the names of another instance cannot
            // make them fail.
            engine: templates::load(instance, templates)
                .expect("the program's own templates, loaded by a test of every build"),
            catch_all: catch_all(),
            background: None,
            recounts: 0,
            last: None,
            empty: None,
            blocks: Blocks::default(),
            servers: Files::default(),
            upstreams: Rows::default(),
            certificates: Rows::default(),
            password_files: Files::default(),
            lists: Files::default(),
            streams: Files::default(),
            stream_upstreams: Rows::default(),
        }
    }
}

impl Renderer {
    /// Renders the files of a plan. Those of the model are made when it or the decisions are
    /// others than last.
    pub fn render(&mut self, plan: &Plan) -> Rendered {
        if plan.decisions.listens.is_empty() && plan.decisions.status.is_none() {
            return Rendered::default();
        }
        let mut work = RenderWork::default();
        let is_of = |(last, _): &(Plan, Arc<FileSet>)| {
            Arc::ptr_eq(&last.model, &plan.model)
                && Arc::ptr_eq(&last.decisions, &plan.decisions)
                && last.recounts == plan.recounts
        };
        let of_model = match self.last.take().filter(is_of) {
            Some((_, files)) => files,
            None => Arc::new(self.render_model(plan, &mut work.rendered)),
        };
        self.last = Some((plan.clone(), Arc::clone(&of_model)));
        let of_tables = self.render_tables(plan, &mut work.rows);
        Rendered { of_model, of_tables, work }
    }

    /// The files of a model; what depends on it is forgotten.
    fn render_model(&mut self, plan: &Plan, anew: &mut usize) -> FileSet {
        self.empty = None;
        let Plan { model, decisions, .. } = plan;
        let mut servers = model.servers.clone();
        if servers.first().is_none_or(|server| server.name != ServerName::CatchAll) {
            servers.extend(self.catch_all.clone());
            servers.rotate_right(1);
        }
        let reserved = reserved_wildcards(&mut servers);
        let search_order = SearchOrder::of(&model.upstreams, &servers);
        let facts = Facts {
            decisions,
            recounts: plan.recounts,
            forwarded: &model.forwarded,
            server_directives: &model.server_directives,
            default_certificate: model.default_certificate.as_ref(),
            catch_all: Arc::default(),
            catch_all_is_own: servers.first().is_some_and(|server| matches!(server.tls, TlsTermination::Own(_))),
            has_request_ids: lower::has_request_ids(plan),
            search_order: &search_order,
        };
        let required = servers.first().map(|server| lower::requires(server, &facts)).unwrap_or_default();
        let facts = Facts { catch_all: required.into_iter().collect(), ..facts };
        self.forget_unless(plan, &facts);

        let engine = &self.engine;
        let (features, lists) = rayon::join(|| lower::files(plan, engine), || lower::long_lists(plan));
        let mut all = Vec::with_capacity(2 * servers.len());
        let own = self.blocks.render(servers, &facts, engine, &mut all, anew);
        let path = |one: &Server| names::server_file(one, &search_order);
        self.servers.render(&own, path, |one| lower::server(one, &facts, engine), &mut all, anew);
        all.extend(reserved.map(|one| (names::reserved_file(), Arc::new(lower::server(&one, &facts, engine)))));
        let path = |one: &PasswordFile| names::password_file(&one.id);
        let make = |one: &PasswordFile| File::secret([Part::Bytes(Arc::clone(&one.content.0))], one.origin.clone());
        self.password_files.render(&model.password_files, path, make, &mut all, anew);
        all.extend(model.authorities.iter().flat_map(|authority| authority_files(authority)));
        let path = |one: &AccessList| one.mark().map(names::list_file).unwrap_or_default();
        self.lists.render(&lists, path, |one| lower::list(one, engine), &mut all, anew);
        let trusted = plan.trusted();
        let path = |one: &Stream| names::stream_file(one.listener.port);
        let make = |one: &Stream| lower::stream(one, decisions, trusted, engine);
        self.streams.render(&model.streams, path, make, &mut all, anew);
        all.extend(features);
        FileSet { files: all.into_iter().collect() }
    }

    /// The files of the tables beside the last model.
    fn render_tables(&mut self, plan: &Plan, anew: &mut usize) -> FileSet {
        let Plan { model, tables, decisions, .. } = plan;
        let (engine, search_order) =
            (&self.engine, self.background.as_ref().map(|background| &background.search_order));
        let empty = lower::empty(plan);
        let is_same =
            |known: &HashSet<UpstreamId>| known.len() == empty.len() && known.iter().all(|id| empty.contains(id));
        if !self.empty.as_ref().is_some_and(|(known, _)| is_same(known)) {
            let mut files = lower::of_tables(plan, engine);
            self.blocks.render_tables(&empty, engine, &mut files);
            self.empty = Some((empty.into_iter().cloned().collect(), files));
        }
        let mut all = self.empty.as_ref().map(|(_, files)| files.clone()).unwrap_or_default();
        let rows: Vec<_> = tables.rows(&model.upstreams).collect();
        let path = |one: &Upstream| names::upstream_file(&one.id, search_order.unwrap_or(&SearchOrder::default()));
        let make = |one: &Upstream, row: &[Endpoint]| lower::upstream(one, row, decisions, engine);
        self.upstreams.render(&rows, path, make, &mut all, anew);
        let rows: Vec<_> = tables.rows(&model.stream_upstreams).collect();
        let path = |one: &Upstream| names::stream_upstream_file(&one.id);
        let make = |one: &Upstream, row: &[Endpoint]| lower::stream_upstream(one, row, decisions, engine);
        self.stream_upstreams.render(&rows, path, make, &mut all, anew);
        let row = |(one, id): (_, &_)| Some((one, Arc::clone(tables.certificates.get(id)?)));
        let rows: Vec<_> = model.certificates.iter().map(|one| (one, &one.id)).filter_map(row).collect();
        let path = |one: &Presented| names::certificate_file(&one.id);
        let make = |one: &Presented, row: &Certificate| {
            let parts = [Part::Bytes(Arc::clone(&row.chain)), Part::Fixed("\n"), Part::Bytes(Arc::clone(&row.key.0))];
            File::secret(parts, one.origin.clone())
        };
        self.certificates.render(&rows, path, make, &mut all, anew);
        FileSet { files: all.into_iter().collect() }
    }

    /// Drops what was rendered with other facts, and of what counts connections what was rendered
    /// with another count.
    fn forget_unless(&mut self, plan: &Plan, facts: &Facts<'_>) {
        let background = Background {
            decisions: Arc::clone(&plan.decisions),
            forwarded: plan.model.forwarded.clone(),
            server_directives: plan.model.server_directives.clone(),
            default_certificate: plan.model.default_certificate.clone(),
            catch_all: Arc::clone(&facts.catch_all),
            catch_all_is_own: facts.catch_all_is_own,
            has_request_ids: facts.has_request_ids,
            search_order: facts.search_order.clone(),
        };
        if self.background.as_ref() != Some(&background) {
            self.blocks = Blocks::default();
            self.servers = Files::default();
            self.upstreams = Rows::default();
            self.streams = Files::default();
            self.stream_upstreams = Rows::default();
            self.background = Some(background);
        }
        if std::mem::replace(&mut self.recounts, plan.recounts) != plan.recounts {
            let counts = |server: &Server| lower::counts(server, &plan.decisions);
            self.blocks.forget(counts);
            self.servers.forget(counts);
        }
    }
}

fn authority_files(authority: &Authority) -> impl Iterator<Item = (FilePath, Arc<File>)> {
    let file = |bytes: &Arc<[u8]>| Arc::new(File::secret([Part::Bytes(Arc::clone(bytes))], authority.origin.clone()));
    let revoked = authority.revoked.as_ref().map(|lists| (names::revoked_file(&authority.id), file(lists)));
    [(names::authority_file(&authority.id), file(&authority.certificates))].into_iter().chain(revoked)
}

/// A second server with the content of the catch-all server, which takes over the wildcards among
/// the names that it reserves. nginx tries wildcards one by one, and a namespace may have many
/// that are not served: they must not be tried before those that are.
fn reserved_wildcards(servers: &mut [Arc<Server>]) -> Option<Server> {
    let first = servers.first_mut()?;
    let is_wildcard = |name: &ServerName| matches!(name, ServerName::Wildcard(_));
    if !first.reserved.iter().any(is_wildcard) {
        return None;
    }
    let wildcards: Vec<_> = Arc::make_mut(first).reserved.extract_if(.., |name| is_wildcard(name)).collect();
    let (name, reserved) = wildcards.split_first()?;
    Some(Server { name: name.clone(), reserved: reserved.to_vec(), ..Server::clone(first) })
}

/// The server that answers requests for unknown hosts, instead of the first server that nginx
/// reads.
fn catch_all() -> Option<Arc<Server>> {
    Server::of_unknown_hosts().map(Arc::new)
}
