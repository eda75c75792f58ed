//! The pipeline for one host's nginx, from a snapshot to a running configuration.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use super::certificate;
use super::changes::Changes;
use super::claims;
use super::composition::Composition;
use super::cycle::Stages as _;
use super::explain::InForce;
use super::publication::Peers;
use super::{last_good, options, state_file, states, traffic};
use ingressd_apply::folder::{self, Existing};
use ingressd_apply::lock::{self, Lock};
use ingressd_apply::{
    Applier, ApplyError, Contents, Options, Steps, Survey, System, connections, ports, remove_abandoned_caches,
};
use ingressd_config::Settings;
use ingressd_model::catalogue;
use ingressd_model::{HostName, Instance, Model, ObjectState, Port, Tables, Transport};
use ingressd_nginx::render::{Digest, Renderer};
use ingressd_nginx::{Gated, Plan};
use ingressd_objects::Snapshot;
use ingressd_translate::{Claims, Names, Namespaces, Readers, Translation, Translator};

mod stages;

/// How often nginx's version and the host's other sites are surveyed.
const SURVEY_INTERVAL: Duration = Duration::from_secs(10);

/// Why the pipeline cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The state folder cannot be used.
    #[error("the state folder {} cannot be used: {source}", path.display())]
    State {
        /// The folder.
        path: PathBuf,
        /// The error of the file system.
        source: std::io::Error,
    },
    /// The default certificate is missing.
    #[error(transparent)]
    Certificate(#[from] certificate::Error),
    /// nginx or its folders cannot be used.
    #[error(transparent)]
    Apply(#[from] ApplyError),
}

/// Everything between a snapshot and nginx.
#[derive(Debug)]
pub struct Pipeline {
    composition: Composition,
    gated: states::GatedStates,
    /// Why hosts do not share servers although the settings allow it: nginx's complaint about a
    /// shared one.
    sharing_refused: Option<String>,
    /// The claims of what nginx serves.
    claims: Arc<Claims>,
    renderer: Renderer,
    pub(super) applier: Applier<System>,
    /// What keeps other daemons out of the folders.
    _locks: [Option<Lock>; 2],
    changes: Changes,
    survey: Survey,
    surveyed: Instant,
    /// What nginx says of the host's configuration where it refuses it; `None` as well before it
    /// was asked.
    refusal: Option<Arc<str>>,
    /// Whether nginx was asked about the host's configuration as it was surveyed.
    is_tested: bool,
    /// The version of nginx that answered last, as long as nginx runs.
    running: Option<catalogue::Version>,
    /// The ports of TCP and UDP services.
    ports: BTreeSet<Port>,
}

/// What one pipeline remembers of its last cycle, for the next one under other settings.
#[derive(Debug)]
pub struct PipelineMemory {
    translator: Translator,
    renderer: Renderer,
    /// The instance and the digest of the templates that the renderer has.
    templates: (Instance, Option<Digest>),
    /// What is known of nginx, for as long as its configuration cannot be read.
    survey: Option<Survey>,
}

impl PipelineMemory {
    /// The translator and the renderer, where they are still valid under these settings.
    fn under(self, settings: &Settings) -> (Translator, Option<Renderer>) {
        let is_same = self.templates == (settings.instance.clone(), settings.templates.digest());
        (self.translator, is_same.then_some(self.renderer))
    }
}

impl Pipeline {
    /// Reads objects as this table says.
    pub fn set_readers(&mut self, readers: Readers) {
        self.composition.set_readers(readers);
    }

    /// Ends the pipeline and returns what the next one can remember.
    pub fn into_memory(self) -> PipelineMemory {
        let Settings { instance, templates, .. } = &self.composition.settings;
        let templates = (instance.clone(), templates.digest());
        let translator = self.composition.into_translator();
        PipelineMemory { translator, renderer: self.renderer, templates, survey: Some(self.survey) }
    }

    /// Surveys the host's nginx and opens the folders; nginx itself is not touched.
    pub fn open(settings: &Settings, memory: Option<PipelineMemory>) -> Result<Self, Error> {
        let state = &settings.apply.state;
        state_file::make_folder(state).map_err(|source| Error::State { path: state.clone(), source })?;
        folder::make(&settings.apply.root, 0o755, Existing::Closed)
            .map_err(ApplyError::files("use folder", &settings.apply.root))?;
        let locks = [Lock::of_folder(state)?, Lock::of_folder(&settings.apply.root)?];
        for folder in [state.clone(), last_good::folder(state)] {
            state_file::remove_unfinished(&folder).map_err(|source| Error::State { path: folder, source })?;
        }
        let on_this_host = (options::of_host(settings), options::world(settings, certificate::kept_in(state)?));
        let system = System::new(settings.system_options());
        let running = system.version();
        let known = memory.as_ref().and_then(|memory| memory.survey.clone());
        let known = known.filter(|known| known.configuration.ends_with(&settings.nginx.configuration));
        let survey = match (look(settings), known) {
            // A mistake in nginx.conf must not end a daemon that reads its settings again.
            (Err(error @ ApplyError::Configuration { .. }), Some(known)) => {
                tracing::warn!("{}", uninspected(&error));
                known
            }
            (survey, _) => survey?.run_by(running),
        };
        let applier = Applier::open(
            Options {
                turn: Some(lock::beside(&settings.nginx.pid_file)),
                keep: settings.apply.kept_generations.max(2),
                workers_group: survey.workers_group,
                ..settings.apply_options()
            },
            system,
        )?
        .with_steps(Steps::of_environment());
        let temporary = survey.capabilities.temporary.iter();
        temporary.for_each(|temporary| remove_abandoned_caches(temporary, &settings.apply.root));
        let (translator, renderer) = memory.map(|memory| memory.under(settings)).unzip();
        let renderer = renderer.flatten().unwrap_or_else(|| Renderer::of(&settings.instance, &settings.templates));
        let mut composition = Composition::new(settings, on_this_host, translator);
        composition.gate_options.traffic = traffic::prepare(settings);
        Ok(Pipeline {
            composition,
            gated: states::GatedStates::default(),
            sharing_refused: None,
            claims: claims::kept_in(state).map_err(|source| Error::State { path: state.clone(), source })?,
            renderer,
            changes: Changes::since(applier.contents()),
            applier,
            _locks: locks,
            survey,
            surveyed: Instant::now(),
            refusal: None,
            is_tested: false,
            running,
            ports: BTreeSet::new(),
        })
    }

    /// What the generation of an earlier run serves that nginx was last seen to run; `None` when
    /// it was not recorded.
    pub fn earlier(&self) -> Option<&Contents> {
        self.changes.earlier().map(|contents| &**contents)
    }

    /// The same, with the time when it was made.
    pub fn earlier_made(&self) -> Option<SystemTime> {
        self.earlier().and_then(|_| self.applier.contents_made())
    }

    /// What explains the answers of the generation of an earlier run, by the objects that it kept
    /// on disk; `None` when it served others.
    pub fn recall(&mut self, kept: &Snapshot) -> Option<Arc<InForce>> {
        let contents = Arc::clone(self.changes.earlier()?);
        let Translation { model, tables, states, .. } = self.translate(kept);
        let version = |state: &ObjectState| state.working.as_ref().map(|working| working.version.clone());
        let now = |served: &ObjectState| ObjectState::find(&states, &served.id).and_then(|state| version(state));
        if !contents.objects.iter().all(|served| now(served) == version(served)) {
            return None;
        }
        let plan = self.pass(&model, &tables).plan;
        // Addresses of pods are not kept, so it is not known which Services have none.
        let (tables, without_endpoints) = Default::default();
        Some(Arc::new(InForce { tables, without_endpoints, ..self.in_force(kept, plan) }))
    }

    fn in_force(&self, snapshot: &Snapshot, plan: Plan) -> InForce {
        InForce {
            settings: Arc::clone(self.composition.in_force()),
            options: self.composition.options().clone(),
            readers: self.composition.readers(),
            snapshot: snapshot.clone(),
            without_endpoints: plan.tables.without_endpoints(&plan.model).map(|one| one.id.clone()).collect(),
            model: plan.model,
            tables: plan.tables,
            sites_beside: plan.sites_beside,
        }
    }

    /// What this nginx can do of a model and its tables.
    fn pass(&mut self, model: &Arc<Model>, tables: &Arc<Tables>) -> Gated {
        let Survey { capabilities, other_sites, .. } = &self.survey;
        self.composition.pass(model, tables, capabilities, other_sites)
    }

    /// How many findings of one object are reported.
    pub fn most_findings(&self) -> usize {
        self.composition.options().limits.findings_of_object
    }

    /// Sets the DNS answers for the translation.
    pub fn set_names(&mut self, names: Arc<Names>) {
        self.composition.world.names = names;
    }

    /// The names of Services to which served objects would refer.
    pub fn names_of(&mut self, snapshot: &Snapshot) -> BTreeMap<HostName, Namespaces> {
        self.translate(snapshot).names
    }

    fn translate(&mut self, snapshot: &Snapshot) -> Translation {
        self.composition.translate(snapshot, &self.claims)
    }

    /// Sets the current addresses of this host for the translation (an address that moves between
    /// nodes may arrive while the daemon runs), and the records of other nodes.
    pub fn set_peers(&mut self, peers: &Peers) {
        self.composition.world.own_addresses = options::own_addresses(&self.composition.settings, &peers.addresses);
        self.composition.world.claim_orders = Arc::clone(&peers.claim_orders);
    }

    /// Sets the current time for the translation: certificates expire, and reservations of hosts
    /// end.
    pub fn set_clock(&mut self) {
        self.composition.world.now = options::now();
    }

    /// Surveys nginx again. Returns whether its package was upgraded or another site changed, so
    /// that files may have to differ.
    pub fn survey_changed(&mut self) -> bool {
        if self.surveyed.elapsed() < SURVEY_INTERVAL {
            return false;
        }
        self.surveyed = Instant::now();
        let is_moved = self.follow_traffic();
        let surveyed = look(&self.composition.settings);
        self.test_host(&surveyed);
        match surveyed {
            Ok(survey) => {
                match self.applier.host().version() {
                    Some(version) => self.running = Some(version),
                    // A busy one may not answer for a moment.
                    None => self.running = self.running.filter(|_| self.applier.runs()),
                }
                let mut survey = survey.run_by(self.running);
                survey.other_sites.occupied = self.occupied();
                self.applier.set_workers_group(survey.workers_group);
                let differs = std::mem::replace(&mut self.survey, survey) != self.survey;
                if differs {
                    self.resume_sharing();
                }
                differs || is_moved
            }
            Err(error) => {
                tracing::warn!("{}", uninspected(&error));
                is_moved
            }
        }
    }

    /// Makes the file for counts of requests anew, where it is gone. Returns whether nginx has to
    /// write to another one.
    fn follow_traffic(&mut self) -> bool {
        let is_there = traffic::found(&self.composition.settings) == self.composition.gate_options.traffic;
        let now = if is_there {
            self.composition.gate_options.traffic.clone()
        } else {
            traffic::prepare(&self.composition.settings)
        };
        std::mem::replace(&mut self.composition.gate_options.traffic, now) != self.composition.gate_options.traffic
    }

    /// Asks nginx whether it could be started again with what the host's configuration is now,
    /// which another site or nginx.conf may have made impossible.
    fn test_host(&mut self, surveyed: &Result<Survey, ApplyError>) {
        let is_same = surveyed.as_ref().is_ok_and(|survey| survey.host == self.survey.host);
        if is_same && self.is_tested && self.refusal.is_none() {
            return;
        }
        match self.applier.test_in_place() {
            Ok(tested) => {
                self.is_tested = true;
                self.refusal = (!tested.accepted).then(|| tested.words.trim().into());
            }
            Err(error) => tracing::warn!("nginx's configuration cannot be tested: {error}"),
        }
    }

    /// What nginx says of the host's configuration, where it could not be started with it.
    pub fn refusal(&self) -> Option<Arc<str>> {
        self.refusal.clone()
    }

    /// The ports that nginx needs for TCP and UDP services and for itself.
    fn ports_of(&self, model: &Model) -> BTreeSet<Port> {
        let inside = Port { transport: Transport::Tcp, number: self.composition.gate_options.passthrough_port };
        let inside = (!model.passthroughs.hosts.is_empty()).then_some(inside);
        model.streams.iter().map(|stream| stream.listener.port).chain(inside).collect()
    }

    /// Which of these ports other programs use. With such a port nginx would refuse every change.
    fn occupied(&mut self) -> BTreeSet<(Transport, SocketAddr)> {
        if self.ports.is_empty() {
            return BTreeSet::new();
        }
        let (applier, asked) = (&mut self.applier, &self.ports);
        let look = || {
            let runs = applier.runs();
            let own = if runs { applier.stream_ports() } else { BTreeSet::new() };
            Ok((runs, ports::occupied(&asked.difference(&own).copied().collect())?))
        };
        ports::settled(&self.survey.other_sites.occupied, look).unwrap_or_else(|error| {
            tracing::warn!("the ports of other programs are taken to be as before: {error}");
            self.survey.other_sites.occupied.clone()
        })
    }

    /// The file of nginx's error log.
    pub fn error_log(&self) -> Option<PathBuf> {
        self.survey.error_log()
    }

    pub(crate) fn nginx_version(&self) -> String {
        self.survey.capabilities.version.to_string()
    }

    /// How many clients are connected to the ports of Ingresses and TCP services.
    pub fn connections(&mut self) -> Option<usize> {
        let streams = self.applier.stream_ports().into_iter();
        // On this port nginx connects to itself, for clients that are counted already.
        let inside = self.composition.gate_options.passthrough_port;
        let streams = streams.filter(|port| port.transport == Transport::Tcp && port.number != inside);
        let streams = streams.map(|port| port.number);
        let ports: Vec<_> = self.composition.settings.translate.listeners.ports().chain(streams).collect();
        connections::established(&ports)
    }

    /// Removes old generations.
    pub fn sweep(&self) {
        if let Err(error) = self.applier.sweep() {
            tracing::warn!("old generations cannot be removed, and stay: {error}");
        }
    }
}

fn uninspected(error: &ApplyError) -> String {
    format!("this host's nginx cannot be inspected, and is taken to be as before: {error}")
}

fn look(settings: &Settings) -> Result<Survey, ApplyError> {
    settings.survey()?.with_files(&settings.gate)
}
