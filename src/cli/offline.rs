//! Runs the pipeline over files, without a daemon, for commands that show its results.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use super::exit::Exit;
use super::settings::SettingsArguments;
use crate::daemon::explain::InForce;
use crate::daemon::{Composition, Dns, look_up, to_look_with, traffic_found};
use ingressd_apply::Survey;
use ingressd_config::Settings;
use ingressd_model::catalogue::Version;
use ingressd_model::finding::{Finding, count, limit};
use ingressd_model::{HostName, Instance, ObjectId, ObjectState, UpstreamId};
use ingressd_nginx::render::Templates;
use ingressd_nginx::{Capabilities, Gated, OtherSites, Plan};
use ingressd_objects::Snapshot;
use ingressd_objects::directory::{ChangedFiles, Directory};
use ingressd_translate::{ClassRule, Names, Options, Readers, Translation, Wanted, World};

/// The version that is assumed when this host has no nginx: that of Debian 12.
pub(super) const ASSUMED: Version = Version(1, 22, 1);

/// Arguments of the commands that read manifests without a daemon.
#[derive(Debug, clap::Args)]
pub struct Manifests {
    /// Files and folders of manifests.
    #[arg(required = true, value_name = "FILE|FOLDER")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    judging: Judging,
    #[command(flatten)]
    settings: SettingsArguments,
}

/// The options by which manifests outside of a cluster are judged.
#[derive(Debug, Default, clap::Args)]
pub struct Judging {
    /// Name of an IngressClass that is not among the manifests. Ingresses of this class are
    /// judged, too. This option may be repeated.
    #[arg(long = "class", value_name = "NAME", requires = "files")]
    pub classes: Vec<String>,
    /// Judge manifests for this version of nginx instead of the installed one.
    #[arg(long, value_name = "X.Y.Z", value_parser = version, requires = "files")]
    nginx_version: Option<Version>,
    /// Ask DNS for the addresses of names, as the daemon does: names of ExternalName Services, of
    /// authentication services and of mirrors. Without this option DNS is not asked, and each name
    /// is taken to have addresses.
    #[arg(long, requires = "files")]
    resolve: bool,
}

/// The result of the pipeline.
#[derive(Debug)]
pub struct Processed {
    /// The objects that were read.
    pub snapshot: Arc<Snapshot>,
    /// Those of them that the daemon would use.
    served: Arc<Snapshot>,
    /// The states of the objects.
    pub states: Vec<Arc<ObjectState>>,
    /// The plan for nginx.
    pub plan: Plan,
    /// The findings, sorted.
    pub findings: Vec<Finding>,
    /// The instance whose names are used.
    pub instance: Instance,
    /// The replacements of templates.
    pub templates: Templates,
    /// The options of the translation.
    pub options: Options,
    /// The settings under the ConfigMap that they name.
    pub settings: Arc<Settings>,
    /// The names for which DNS was not asked.
    unasked: Vec<HostName>,
    /// Whether the endpoints of Services were read.
    pub(super) knows_endpoints: bool,
}

impl Processed {
    /// What is not known of these manifests, in a line for people.
    pub fn unknown(&self) -> Option<String> {
        let names = match &self.unasked[..] {
            [] => return None,
            [name] => name.to_string(),
            [name, more @ ..] => format!("{name} and {}", count(more.len(), "other name", "other names")),
        };
        Some(format!("DNS is not asked for the addresses of {names}; --resolve asks it, as the daemon does"))
    }

    /// Whether an Ingress is of another controller.
    pub fn is_foreign(&self, id: &ObjectId) -> bool {
        ObjectState::find(&self.states, id).is_some_and(|state| !state.is_ours())
    }

    /// The upstreams that would have no endpoints on a node, where DNS is asked.
    fn without_endpoints(&self) -> Vec<UpstreamId> {
        let is_named = |id: &UpstreamId| {
            let service = self.snapshot.service(&id.namespace, &id.service);
            service.is_some_and(|service| service.object.external_name.is_some())
        };
        let Plan { model, tables, .. } = &self.plan;
        let ids = tables.without_endpoints(model).map(|upstream| &upstream.id);
        ids.filter(|_| self.knows_endpoints).filter(|id| self.unasked.is_empty() || !is_named(id)).cloned().collect()
    }

    /// What explains answers of the nginx that would have this.
    pub fn in_force(&self) -> InForce {
        InForce {
            settings: Arc::clone(&self.settings),
            options: self.options.clone(),
            readers: Readers::default(),
            snapshot: Snapshot::clone(&self.served),
            model: Arc::clone(&self.plan.model),
            tables: Arc::clone(&self.plan.tables),
            without_endpoints: self.without_endpoints(),
            sites_beside: self.plan.sites_beside.clone(),
        }
    }
}

pub(super) fn version(text: &str) -> Result<Version, String> {
    let mut parts = text.split('.').map(str::parse);
    match (parts.next(), parts.next(), parts.next(), parts.next()) {
        (Some(Ok(major)), Some(Ok(minor)), Some(Ok(patch)), None) => Ok(Version(major, minor, patch)),
        _ => Err("it is not of the form X.Y.Z".to_owned()),
    }
}

/// The answers of DNS, as the daemon asks.
fn looked_up(settings: &Settings, wanted: &Wanted) -> Result<Names, Exit> {
    let runtime = crate::cli::runtime::start()?;
    Ok(runtime
        .block_on(async { look_up(wanted, &settings.translate.limits, &Dns::of(&settings.names.resolvers)).await }))
}

impl Manifests {
    /// The classes that are ours, also when they are not among the manifests.
    pub fn classes(&self) -> &[String] {
        &self.judging.classes
    }

    /// Reads, translates and gates; tells on standard error what keeps it from doing so. To
    /// `judge` goes on with objects that an API server would refuse; `named` are settings that
    /// other flags of the command set.
    pub fn process(&self, judge: bool, named: Vec<(&'static str, String)>) -> Result<Processed, Exit> {
        self.judging.process(&self.files, self.settings.load(named)?, judge)
    }
}

impl Judging {
    /// The same for these files and settings.
    pub fn process(&self, files: &[PathBuf], settings: Settings, judge: bool) -> Result<Processed, Exit> {
        let (mut options, world) = to_look_with(&settings).map_err(|error| {
            complain!("ingressd: {error}");
            Exit::Unavailable
        })?;
        options.fills_in_class = true;
        self.process_by(files, settings, (options, world), judge)
    }

    fn process_by(
        &self,
        files: &[PathBuf],
        settings: Settings,
        (options, world): (Options, World),
        judge: bool,
    ) -> Result<Processed, Exit> {
        let served = read(Directory::new(files.to_vec()))?;
        let host = Host::of(&settings, self.nginx_version);
        let to_judge = judge.then(|| read(Directory::to_judge(files.to_vec()))).transpose()?;
        judged(&served, to_judge, |snapshot| {
            let mut snapshot = snapshot.clone();
            stand_in_for_classes(&mut snapshot, self.classes.iter().map(String::as_str), &options.classes);
            process(Arc::new(snapshot), settings.clone(), (options.clone(), world.clone()), &host, self.resolve)
        })
    }
}

/// What becomes of the objects that are served. What an API server refuses is judged to the end,
/// and nothing else is told of it: the daemon would serve the others without it.
pub(super) fn judged(
    served: &Arc<Snapshot>,
    judged: Option<Arc<Snapshot>>,
    of: impl Fn(&Snapshot) -> Result<Processed, Exit>,
) -> Result<Processed, Exit> {
    let judged = match judged {
        Some(judged) if !served.left_out.is_empty() => judged,
        judged => {
            let snapshot = judged.unwrap_or_else(|| Arc::clone(served));
            return Ok(Processed { snapshot: Arc::clone(&snapshot), ..of(&snapshot)? });
        }
    };
    let alone = of(&judged)?;
    let mut processed = of(served)?;
    let is_refused = |finding: &Finding| served.left_out(&finding.origin.object).is_some();
    let own = alone.findings.into_iter().filter(|finding| is_refused(finding) || judged.findings.contains(finding));
    processed.findings.extend(own);
    processed.findings.sort();
    processed.findings.dedup();
    Ok(Processed { snapshot: judged, states: alone.states, ..processed })
}

/// Adds classes of these names, which are ours without being among the objects.
pub(super) fn stand_in_for_classes<'n>(
    snapshot: &mut Snapshot,
    names: impl Iterator<Item = &'n str>,
    rules: &[ClassRule],
) {
    for name in names {
        let is_of = |rule: &&ClassRule| [&rule.class_name, &rule.legacy_class].contains(&&Some(Arc::from(name)));
        if let Some(rule) = rules.iter().find(is_of).or(rules.first()) {
            snapshot.stand_in_for_class(name, &rule.controller);
        }
    }
}

pub(super) fn read(mut directory: Directory) -> Result<Arc<Snapshot>, Exit> {
    directory.refresh(&ChangedFiles::All, &BTreeSet::new(), &mut |_| {}).map_err(|error| {
        complain!("ingressd: {error}");
        Exit::NoInput
    })
}

/// Translates a snapshot and gates it for a host; errors are printed. DNS is asked where it is to
/// `resolve` names.
pub(super) fn process(
    snapshot: Arc<Snapshot>,
    settings: Settings,
    on_this_host: (Options, World),
    host: &Host,
    resolve: bool,
) -> Result<Processed, Exit> {
    let (mut composition, claims) = (Composition::new(&settings, on_this_host, None), Arc::default());
    composition.gate_options.traffic = traffic_found(&settings);
    let mut translation = composition.translate(&snapshot, &claims);
    let referred = std::mem::take(&mut translation.names);
    let unasked = if resolve { Vec::new() } else { referred.keys().cloned().collect() };
    if !referred.is_empty() {
        composition.world.names = Arc::new(match resolve {
            true => looked_up(&settings, &Wanted { referred, ..Wanted::default() })?,
            false => Names::unasked(referred.into_keys()),
        });
        translation = composition.translate(&snapshot, &claims);
    }
    let states = translation.states;
    let Translation { model, tables, mut findings, .. } = translation;
    let Gated { plan, findings: gated, .. } = composition.pass(&model, &tables, &host.capabilities, &host.other_sites);
    findings.extend(composition.layer().iter().flat_map(|layered| layered.findings.iter().cloned()));
    // A fault of an object is reported once, in the words of an API server.
    let known: Vec<_> = snapshot.findings.iter().map(|known| (known.reason, known.origin.clone())).collect();
    findings.retain(|finding| {
        snapshot.findings.contains(finding) || !known.contains(&(finding.reason, finding.origin.clone()))
    });
    findings.extend(gated);
    composition.in_force().report_places(&mut findings);
    findings.sort();
    findings.dedup();
    let options = composition.options().clone();
    limit(&mut findings, options.limits.findings_of_object);
    let Settings { instance, templates, .. } = settings;
    let settings = Arc::clone(composition.in_force());
    let served = Arc::clone(&snapshot);
    Ok(Processed {
        snapshot,
        served,
        states,
        plan,
        findings,
        instance,
        templates,
        options,
        settings,
        unasked,
        knows_endpoints: true,
    })
}

/// The nginx that the plan is made for, and its other sites.
#[derive(Debug)]
pub(super) struct Host {
    capabilities: Capabilities,
    pub(super) other_sites: OtherSites,
    /// Whether that is what was found on this host.
    pub(super) is_this: bool,
}

impl Host {
    /// This version, or the nginx of this host.
    pub(super) fn of(settings: &Settings, version: Option<Version>) -> Self {
        let other = |version| Host {
            capabilities: Capabilities::profile(version),
            other_sites: OtherSites::default(),
            is_this: false,
        };
        if let Some(version) = version {
            return other(version);
        }
        match settings.survey().and_then(|survey| survey.with_files(&settings.gate)) {
            Ok(Survey { capabilities, other_sites, .. }) => Host { capabilities, other_sites, is_this: true },
            Err(error) => {
                complain!("ingressd: judging for nginx {ASSUMED}, because this host's cannot be asked: {error}");
                other(ASSUMED)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ingressd_model::catalogue;
    use ingressd_translate::annotation::{Family, Form, Index, Row, Table, nothing_to_finish};
    use ingressd_translate::value::arguments::time;
    use ingressd_translate::{ClassRule, SPECIFICATION};

    static FAMILY: Family = Family {
        title: "Everything",
        rows: &[Row::new("patience", Form::NotJudged("no policy is made of this table"))
            .documentation("Seconds until a backend has to have said something.")
            .directive(&catalogue::PROXY_READ_TIMEOUT, time)],
        finish: nothing_to_finish,
    };

    static TINY: Table = Table {
        prefix: "tiny.example/",
        foreign: &[],
        mistaken: &[],
        invented: &[],
        introduction: &[],
        families: &[&FAMILY],
        index: Index::new(),
    };

    /// Settings in which objects of the class `ingressd` have the keys of another dialect.
    fn tiny() -> Options {
        let rule = ClassRule { annotations: &TINY, ..ClassRule::new("ingressd/nginx", &SPECIFICATION) };
        Options { classes: vec![rule], ..Options::default() }
    }

    /// An Ingress with a mistake in a key of a foreign dialect.
    const MISTAKE: &str = "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata:\n  name: a\n  namespace: default\n  \
                           annotations:\n    tiny.example/patience: ages\nspec: {ingressClassName: ingressd}\n---\n\
                           apiVersion: networking.k8s.io/v1\nkind: IngressClass\nmetadata: {name: ingressd}\nspec: \
                           {controller: ingressd/nginx}\n";

    #[test]
    fn mistakes_in_keys_of_another_dialect_are_found_at_their_lines() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.yaml");
        std::fs::write(&file, MISTAKE).unwrap();
        let judging = Judging { nginx_version: Some(ASSUMED), ..Judging::default() };
        let processed = judging
            .process_by(std::slice::from_ref(&file), Settings::default(), (tiny(), World::default()), true)
            .unwrap();
        let text = crate::cli::check::text(&processed);
        let line = format!("{}:7: warning: Ingress default/a: ", file.display());
        let reported = text.lines().find(|reported| reported.contains("tiny.example/patience")).unwrap_or_default();
        assert!(reported.starts_with(&line) && reported.contains("InvalidValue"), "{text}");
    }
}
