//! Fits each route to the capabilities of nginx. Closed routes answer 503.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use rayon::prelude::*;

use crate::capabilities::JOINS_HEADERS;
use crate::firewall::Obstacles;
use crate::{Capabilities, geoip};
use ingressd_model::catalogue::Module;
use ingressd_model::finding::{Finding, Reason};
use ingressd_model::{
    Action, Balance, Behaviour, CertificateId, Cors, Directive, GeoVariable, Handler, HeaderName, LONGEST, LookupTable,
    Model, ObjectId, Origin, OwnVariable, PasswordFileId, Server, Snippet, SnippetDirective, SnippetPart,
    SnippetStatement, Split, TlsTermination, UpstreamId,
};

/// What the routes may refer to.
struct Referable<'a> {
    capabilities: &'a Capabilities,
    has_tls: bool,
    obstacles: &'a Obstacles,
    unreported: Unreported<'a>,
    authorities: BTreeSet<&'a ObjectId>,
    upstreams: HashSet<&'a UpstreamId>,
    certificates: BTreeSet<&'a CertificateId>,
    password_files: BTreeSet<&'a PasswordFileId>,
}

/// Variables of clients for which there is no database, and tables that are looked up by them.
struct Unreported<'a> {
    variables: &'a [GeoVariable],
    tables: BTreeSet<&'a OwnVariable>,
}

impl<'a> Unreported<'a> {
    fn of(variables: &'a [GeoVariable], all: &'a [LookupTable]) -> Self {
        let mut unreported = Unreported { variables, tables: BTreeSet::new() };
        // A table reads those before it alone.
        for table in all.iter().filter(|_| !variables.is_empty()) {
            if geoip::parts_of_table(table).any(|part| unreported.has(part).is_some()) {
                unreported.tables.insert(&table.variable);
            }
        }
        unreported
    }

    /// Its name, where a part is one.
    fn has(&self, part: &SnippetPart) -> Option<String> {
        match part {
            SnippetPart::Geo(variable) => self.variables.contains(variable).then(|| format!("${variable}")),
            SnippetPart::Own(own) => self.tables.contains(own).then(|| "a table".to_owned()),
            _ => None,
        }
    }

    /// The first such variable by which a snippet decides. One that only becomes a part of a
    /// header harms no route where it is empty.
    fn decides(&self, behaviour: &Behaviour) -> Option<String> {
        if self.variables.is_empty() {
            return None;
        }
        behaviour.snippets.iter().find_map(|snippet| {
            let mut parts = snippet.statements.iter().flat_map(SnippetStatement::parts);
            parts.find_map(|part| self.has(part))
        })
    }
}

/// The change that a handler needs.
enum Change {
    /// It answers 503; the reason was reported already.
    Close,
    /// It is served otherwise than asked.
    Fit {
        /// Its new behaviour, where that changes.
        behaviour: Option<Arc<Behaviour>>,
        /// Whether its traffic split is dropped, so that all requests go to the main backend.
        loses_shares: bool,
    },
}

impl Change {
    /// The handler with the change.
    fn of(self, handler: &Handler) -> Handler {
        let mut changed = handler.clone();
        match self {
            Change::Close => (changed.action, changed.behaviour) = (Action::Closed, Arc::default()),
            Change::Fit { behaviour, loses_shares } => {
                changed.behaviour = behaviour.unwrap_or(changed.behaviour);
                if loses_shares {
                    leave_out_shares(&mut changed.action);
                }
            }
        }
        changed
    }
}

/// Changes the routes that do not fit. Servers without such routes stay shared with the model.
pub fn fit(
    model: &mut Model,
    capabilities: &Capabilities,
    has_tls: bool,
    (obstacles, unknown): (&Obstacles, &[GeoVariable]),
    findings: &mut Vec<Finding>,
) {
    let tables = Arc::clone(&model.lookup_tables);
    let known = Referable {
        capabilities,
        has_tls,
        obstacles,
        unreported: Unreported::of(unknown, &tables),
        authorities: model.authorities.iter().map(|authority| &*authority.id).collect(),
        upstreams: model.upstreams.iter().map(|upstream| &upstream.id).collect(),
        certificates: model.certificates.iter().map(|certificate| &certificate.id).collect(),
        password_files: model.password_files.iter().map(|file| &file.id).collect(),
    };
    let fit = |server: &Arc<Server>| {
        let mut own = Vec::new();
        (fit_server(server, &known, &mut own), own)
    };
    let (servers, own): (Vec<_>, Vec<_>) = model.servers.par_iter().map(fit).unzip();
    model.servers = servers;
    findings.extend(own.into_iter().flatten());
}

fn fit_server(server: &Arc<Server>, known: &Referable<'_>, findings: &mut Vec<Finding>) -> Arc<Server> {
    let client_certificates = server.client_certificates.as_ref();
    if let Some(asked) =
        client_certificates.filter(|asked| !known.has_tls || !known.authorities.contains(&*asked.authority.id))
    {
        let words = "this node serves no TLS, so clients cannot send certificates, and the routes of the host answer 503; see \
             the finding about TLS of the node";
        findings.push(Finding::new(Reason::ClosedRoute, asked.origin.clone(), words));
        return Arc::new(closed(server));
    }
    let has_branches = server.all_routes().any(|route| !route.branches.is_empty());
    // Routes share handlers: what one lacks is reported once.
    let (mut changed, mut seen) = (HashMap::new(), HashSet::new());
    for handler in server.handlers().filter(|one| !has_branches || seen.insert(std::ptr::from_ref(*one))) {
        let fitted = examine(handler, known, findings).map(|change| Arc::new(change.of(handler)));
        changed.extend(fitted.map(|fitted| (std::ptr::from_ref(handler), fitted)));
    }
    let lost = matches!(&server.tls, TlsTermination::Own(id) if !known.certificates.contains(id));
    let missing = |directive: &&Directive| !known.capabilities.knows(directive.row);
    for directive in server.directives.iter().filter(missing) {
        if directive.row.security {
            let words = format!(
                "nginx {} has no {}, which the protection of the host needs, so its routes answer 503",
                known.capabilities.version, directive.row.name
            );
            findings.push(Finding::new(Reason::ClosedRoute, directive.origin.clone(), words));
            return Arc::new(closed(server));
        }
        findings.push(left_out(directive, known.capabilities));
    }
    let lacks = server.directives.iter().any(|directive| missing(&directive));
    if !lost && !lacks && changed.is_empty() {
        return Arc::clone(server);
    }
    let mut fitted = (**server).clone();
    fitted.directives.retain(|directive| !missing(&directive));
    if lost {
        fitted.tls = TlsTermination::DefaultDeclared;
    }
    for route in fitted.routes.iter_mut().chain([&mut fitted.fallback]) {
        for handler in route.handlers_mut() {
            if let Some(other) = changed.get(&Arc::as_ptr(handler)) {
                *handler = Arc::clone(other);
            }
        }
    }
    Arc::new(fitted)
}

/// The server as it is when all of its routes are closed, without the features that it would ask
/// for as a whole.
pub fn closed(server: &Server) -> Server {
    let mut closed = Server { client_certificates: None, directives: Vec::new(), ..server.clone() };
    for route in closed.routes.iter_mut().chain([&mut closed.fallback]) {
        route.branches.clear();
        (route.action, route.behaviour) = (Action::Closed, Arc::default());
    }
    closed
}

/// A finding about a directive that protects nothing and that this nginx does not know.
pub(super) fn left_out(directive: &Directive, capabilities: &Capabilities) -> Finding {
    let apart = directive.row.module.and_then(|module| Some((module, Capabilities::install(module)?)));
    let words = match apart {
        // Several directives of one module are reported once.
        Some((module, install)) => {
            let name = Capabilities::name(module);
            format!("it has no effect, because nginx has no {name}; {install}")
        }
        None => format!("nginx {} lacks {}: it is left out", capabilities.version, directive.row.name),
    };
    Finding::new(Reason::MissingCapability, directive.origin.clone(), words)
}

/// The snippets without the directives that this nginx does not know; `None` when it knows all.
/// None of these directives protects anything.
fn without_unknown(
    snippets: &[Arc<Snippet>],
    capabilities: &Capabilities,
    findings: &mut Vec<Finding>,
) -> Option<Vec<Arc<Snippet>>> {
    let is_known = |directive: &SnippetDirective| capabilities.knows(directive.row);
    if snippets.iter().all(|snippet| snippet.directives.iter().all(is_known)) {
        return None;
    }
    let without = |snippet: &Arc<Snippet>| {
        let mut without = Snippet::clone(snippet);
        without.directives.retain(|directive| {
            let is_known = is_known(directive);
            findings.extend((!is_known).then(|| {
                let words = format!("nginx {} lacks {}: it is left out", capabilities.version, directive.row.name);
                Finding::new(Reason::MissingCapability, snippet.origin.clone(), words)
            }));
            is_known
        });
        Arc::new(without)
    };
    Some(snippets.iter().map(without).collect())
}

fn examine(handler: &Handler, known: &Referable<'_>, findings: &mut Vec<Finding>) -> Option<Change> {
    if let Some((reason, words)) = unservable(handler, known).or_else(|| unprotectable(handler, known)) {
        findings.push(Finding::new(reason, handler.origin.clone(), words));
        return Some(Change::Close);
    }
    let behaviour = &handler.behaviour;
    report_of_repeated_headers(behaviour, known.capabilities, findings);
    let missing = |directive: &&Directive| {
        let spoken = handler.action.module();
        let is_duplicate = directive.row.name_by(spoken).is_some_and(|name| name != directive.row.name);
        let module = if is_duplicate { spoken } else { directive.row.module };
        directive.row.since > known.capabilities.version || module.is_some_and(|module| !known.capabilities.has(module))
    };
    let mut fitted: Option<Behaviour> = None;
    if let Some(snippets) = without_unknown(&behaviour.snippets, known.capabilities, findings) {
        fitted.get_or_insert_with(|| (**behaviour).clone()).snippets = snippets;
    }
    for directive in behaviour.directives.iter().filter(missing) {
        let name = directive.row.name;
        if directive.row.security {
            let words = format!(
                "nginx {} has no {name}, which the protection of the route \
                needs",
                known.capabilities.version
            );
            findings.push(Finding::new(Reason::ClosedRoute, directive.origin.clone(), words));
            return Some(Change::Close);
        }
        findings.push(left_out(directive, known.capabilities));
        let fitted = fitted.get_or_insert_with(|| (**behaviour).clone());
        fitted.directives.retain(|other| other.row != directive.row);
    }
    if behaviour.cors.as_deref().is_some_and(is_too_long) {
        let words = format!(
            "a list of methods or headers is longer than {LONGEST} bytes, so no other origin is \
                             admitted; shorten it"
        );
        findings.push(Finding::new(Reason::InvalidValue, handler.origin.clone(), words));
        fitted.get_or_insert_with(|| (**behaviour).clone()).cors = None;
    }
    if let Some((origin, words)) = uncopied(behaviour, known) {
        findings.push(Finding::new(Reason::MissingCapability, origin, words));
        fitted.get_or_insert_with(|| (**behaviour).clone()).mirror = None;
    }
    let loses_shares = report_of_balancing(handler, known, findings);
    let behaviour = fitted.map(Arc::new);
    (behaviour.is_some() || loses_shares).then_some(Change::Fit { behaviour, loses_shares })
}

/// Reports that a backend gets only a part of what an authentication service may say.
fn report_of_repeated_headers(behaviour: &Behaviour, capabilities: &Capabilities, findings: &mut Vec<Finding>) {
    let external = behaviour.external_authentication.as_deref();
    let external = external.filter(|external| !external.policy.response_headers.is_empty());
    if let Some(external) = external.filter(|_| !capabilities.joins_headers()) {
        let words = format!(
            "nginx {} passes on only the first of several headers with one name from the service (auth-response-headers), \
             so that a user may lose groups; let the service send one header with commas, or install nginx {JOINS_HEADERS} or newer",
            capabilities.version
        );
        findings.push(Finding::new(Reason::MissingCapability, external.origin.clone(), words));
    }
}

/// Reports what this nginx lacks to choose a backend or an endpoint as asked. Returns whether the
/// traffic split is dropped.
fn report_of_balancing(handler: &Handler, known: &Referable<'_>, findings: &mut Vec<Finding>) -> bool {
    let mut report = |module: Module, origin: &Origin, follows: &str| {
        let words = format!("nginx has no {}: {follows}", Capabilities::name(module));
        findings.push(Finding::new(Reason::MissingCapability, origin.clone(), words));
    };
    let lacks = |module: Module| !known.capabilities.has(module);
    let balance = handler.action.upstream().and_then(|upstream| upstream.balance.as_deref());
    let needed: &[Module] = match balance {
        Some(Balance::Session(_) | Balance::Named(_) | Balance::Key(_)) => &[Module::UpstreamHash],
        Some(Balance::SharedKey(..)) => &[Module::UpstreamHash, Module::SplitClients],
        Some(Balance::TwoByChance) => &[Module::UpstreamRandom],
        None => &[],
    };
    for module in needed.iter().copied().filter(|module| lacks(*module)) {
        report(module, &handler.origin, "requests go to the endpoints in turn");
    }
    let shares = handler.action.split().filter(|split| lacks(Module::SplitClients) && !split.shares.is_empty());
    if let Some(split) = shares {
        report(
            Module::SplitClients,
            &split.origin,
            "the canary gets no share by weight, only requests with its header or cookie",
        );
    }
    shares.is_some()
}

fn leave_out_shares(action: &mut Action) {
    let Action::Proxy { split, .. } = action else { return };
    let left = split.take().map(|split| Split { shares: Vec::new(), ..Split::clone(&split) });
    *split = left.filter(|split| !split.branches.is_empty()).map(Arc::new);
}

/// Why the requests of the route cannot be mirrored as asked.
fn uncopied(behaviour: &Behaviour, known: &Referable<'_>) -> Option<(Origin, String)> {
    let mirror = behaviour.mirror.as_deref()?;
    let words = match known.capabilities.has(Module::Mirror) {
        false => format!("nginx has no {}, so no request is mirrored", Capabilities::name(Module::Mirror)),
        true if !known.upstreams.contains(&mirror.service) => {
            "the service that gets copies is not known, so no request is mirrored".to_owned()
        }
        true => return None,
    };
    Some((mirror.origin.clone(), words))
}

/// Why the route's backend cannot be reached.
fn unservable(handler: &Handler, known: &Referable<'_>) -> Option<(Reason, String)> {
    let upstream = handler.action.upstream()?;
    let spoken = upstream.protocol.module();
    if !known.capabilities.has(spoken) {
        let words = format!("nginx has no {}: the route answers 503", Capabilities::name(spoken));
        return Some((Reason::MissingCapability, words));
    }
    if let Some(tls) = upstream.tls.as_deref() {
        let certificate = CertificateId::Secret(Arc::clone(&tls.secret));
        let has_certificate = !tls.has_certificate || known.certificates.contains(&certificate);
        if !has_certificate || (tls.verify_depth.is_some() && !known.authorities.contains(&*tls.secret)) {
            return Some((
                Reason::ClosedRoute,
                "the Secret for TLS to its backend is not known: it answers 503".to_owned(),
            ));
        }
    }
    let mut all = handler.action.split().into_iter().flat_map(Split::upstreams).chain([upstream]);
    if all.any(|upstream| !known.upstreams.contains(upstream)) {
        return Some((Reason::MissingService, "its backend is not known: the route answers 503".to_owned()));
    }
    None
}

/// Why the route cannot be protected as asked.
fn unprotectable(handler: &Handler, known: &Referable<'_>) -> Option<(Reason, String)> {
    let behaviour = &handler.behaviour;
    let limits = behaviour.limits.as_deref();
    let needs = [
        (behaviour.access.is_some(), Module::Access),
        (behaviour.basic_authentication.is_some(), Module::AuthBasic),
        (behaviour.external_authentication.is_some(), Module::AuthRequest),
        (limits.is_some_and(|limits| !limits.rates.is_empty()), Module::LimitReq),
        (limits.is_some_and(|limits| limits.connections.is_some()), Module::LimitConn),
        (behaviour.firewall.is_some(), Module::ModSecurity),
    ];
    let missing = |(needed, module): &(bool, Module)| *needed && !known.capabilities.has(*module);
    if let Some((_, module)) = needs.into_iter().find(missing) {
        let remedy = Capabilities::install(module).map(|install| format!("; {install}"));
        let (name, remedy) = (Capabilities::name(module), remedy.unwrap_or_default());
        return Some((
            Reason::ClosedRoute,
            format!("nginx has no {name}, which the protection of the route needs, so it answers 503{remedy}"),
        ));
    }
    if let Some(firewall) = behaviour.firewall.as_deref() {
        let Obstacles { rules, core_rules } = known.obstacles;
        if let Some(words) = rules.as_ref().or(core_rules.as_ref().filter(|_| firewall.core_rules)) {
            return Some((
                Reason::ClosedRoute,
                format!("the route answers 503, because the rules of its firewall are missing: {words}"),
            ));
        }
    }
    if let Some(name) = known.unreported.decides(behaviour) {
        return Some((
            Reason::ClosedRoute,
            format!(
                "a snippet decides by {name}, which no database on this node provides, so the route answers 503; \
                     see geoip2.databases"
            ),
        ));
    }
    if let Some(external) = behaviour.external_authentication.as_deref()
        && !known.upstreams.contains(&external.service)
    {
        return Some((Reason::ClosedRoute, "the service in auth-url is not known: it answers 503".to_owned()));
    }
    match behaviour.basic_authentication.as_deref() {
        Some(basic) if !known.password_files.contains(&basic.file) => {
            Some((Reason::ClosedRoute, "its password file is not known: it answers 503".to_owned()))
        }
        _ => None,
    }
}

/// Whether the list of allowed origins is too long: it becomes one argument of nginx.
fn is_too_long(cors: &Cors) -> bool {
    let length = |list: &[HeaderName]| list.iter().map(|name| name.as_str().len() + 2).sum::<usize>();
    [&cors.methods, &cors.headers, &cors.expose].into_iter().any(|list| length(list) > LONGEST)
}
