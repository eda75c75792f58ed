//! The stages of a cycle over one host's nginx: what is made of a snapshot, and how it is applied.

use std::sync::Arc;

use super::Pipeline;
use crate::daemon::cycle::{Product, Stages};
use crate::daemon::estimate::Estimate;
use crate::daemon::host_findings::{not_included, not_restarted, not_shared};
use crate::daemon::publication::newest;
use crate::daemon::served::certificates;
use ingressd_apply::{Complaint, Contents, Outcome, Survey};
use ingressd_cluster::publish::Revision;
use ingressd_model::finding::{Finding, Reason};
use ingressd_model::{Kind, ObjectId, ObjectState};
use ingressd_nginx::Gated;
use ingressd_nginx::render::{Digest, FileSet, Renderer, Templates};
use ingressd_objects::Snapshot;
use ingressd_translate::{Claims, Translation};

impl Stages for Pipeline {
    fn judge(&self, snapshot: &Snapshot) -> Arc<str> {
        // nginx may refuse directives of modules that are not known here.
        let Survey { capabilities, fingerprint, host, .. } = &self.survey;
        let settings = Digest::of(format!("{:?}", self.composition.settings).as_bytes()).hexadecimal(16);
        let layer =
            self.composition.settings.layer_version(snapshot).map_or_else(String::new, |version| version.0.to_string());
        let templates =
            self.composition.settings.templates.digest().map_or_else(String::new, |templates| templates.to_string());
        format!(
            "ingressd {}, nginx {} {fingerprint} {host}, settings {settings} {layer} {templates}",
            env!("CARGO_PKG_VERSION"),
            capabilities.version
        )
        .into()
    }

    fn layer(&self) -> Option<Arc<ObjectId>> {
        let (namespace, name) = self.composition.settings.ingress_nginx.config_map.as_ref()?;
        Some(Arc::new(ObjectId::new(Kind::CONFIG_MAP, namespace, name)))
    }

    fn make(&mut self, snapshot: &Snapshot) -> Product {
        let Translation { model, tables, mut findings, states, mut refused, claims, due, names, work: _ } =
            self.translate(snapshot);
        let certificates = certificates(&tables);
        let estimate =
            Arc::new(Estimate { model: Arc::clone(&model), tables: Arc::clone(&tables), ..Estimate::default() });
        self.ports = self.ports_of(&model);
        self.survey.other_sites.occupied = self.occupied();
        self.composition.gate_options.has_passthrough =
            self.applier.has_passthrough(self.composition.gate_options.passthrough_port);
        let Gated { mut plan, findings: of_gate, .. } = self.pass(&model, &tables);
        plan.recounts = self.applier.recounts();
        let mut files = self.renderer.render(&plan).together();
        // Only where nginx reloads anyway: to count anew is no reason for a reload, which would
        // end further workers.
        if plan.counts() && self.applier.in_place() != Some(files.digest()) && self.applier.ends_workers() {
            plan.recounts = plan.recounts.wrapping_add(1);
            files = self.renderer.render(&plan).together();
        }
        for origin in files.unwritten() {
            let note = "it cannot be written for nginx and answers 503; this is a bug of ingressd, please report it";
            findings.push(Finding::new(Reason::ClosedRoute, origin.clone(), note));
        }
        let states = self.gated.states(states, &plan, files.unwritten().map(|origin| &origin.object));
        tracing::debug!(states = self.gated.step.looked_at, "looked at for what the gate left");
        let contents = Contents {
            objects: states.clone(),
            certificates: certificates.clone(),
            revision: newest(snapshot).map(|Revision(revision)| revision),
        };
        self.applier.set_contents(Arc::new(contents));
        self.changes.made(snapshot);
        findings.extend(of_gate);
        if let Some(layered) = self.composition.layer() {
            findings.extend_from_slice(&layered.findings);
            refused.extend(layered.refused.clone());
        }
        findings.extend(self.sharing_refused.as_deref().map(not_shared));
        findings.extend(self.survey.installed.map(|installed| not_restarted(installed, &self.survey)));
        findings
            .extend((!self.survey.includes_ours).then(|| not_included(&self.survey, &self.composition.gate_options)));
        self.composition.in_force().report_places(&mut findings);
        let in_force = Some(Arc::new(self.in_force(snapshot, plan)));
        Product {
            files: Arc::new(files),
            findings,
            states,
            refused,
            certificates,
            estimate,
            claims,
            due,
            names,
            in_force,
            ..Product::default()
        }
    }

    fn most_removed(&self) -> usize {
        self.composition.settings.apply.most_removed
    }

    fn states_of_earlier_run(&self) -> Vec<Arc<ObjectState>> {
        self.earlier().map(|contents| contents.objects.clone()).unwrap_or_default()
    }

    fn settle(&mut self, claims: &Arc<Claims>) {
        self.claims = Arc::clone(claims);
    }

    fn apply(&mut self, files: &FileSet) -> Outcome {
        self.applier.set_changes(self.changes.all());
        let outcome = self.applier.apply(files);
        if outcome.is_in_place() {
            self.changes.settle();
        }
        outcome
    }

    fn begin_weighing(&mut self) -> bool {
        self.applier.begin_weighing()
    }

    fn end_weighing(&mut self) {
        self.applier.end_weighing();
    }

    fn stop_sharing(&mut self, words: &str) -> bool {
        let shares = std::mem::replace(&mut self.composition.gate_options.shared_servers, false);
        if shares {
            self.sharing_refused = Some(words.to_owned());
        }
        shares
    }

    fn resume_sharing(&mut self) {
        if self.sharing_refused.take().is_some() {
            self.composition.gate_options.shared_servers = true;
        }
    }

    fn fault_of_host(&mut self) -> Option<Outcome> {
        self.applier.refusal_in_place()
    }

    fn has_templates(&self) -> bool {
        self.composition.settings.templates.digest().is_some()
    }

    fn try_out(&mut self, snapshot: &Snapshot, has_templates: bool) -> Option<Vec<Complaint>> {
        let Translation { model, tables, .. } = self.translate(snapshot);
        let plan = self.pass(&model, &tables).plan;
        let files = match has_templates {
            true => self.renderer.render(&plan),
            false => Renderer::of(&self.composition.settings.instance, &Templates::default()).render(&plan),
        };
        match self.applier.try_out(&files.together()) {
            Ok(complaints) => complaints,
            Err(error) => {
                tracing::warn!("ingressd cannot find out what is to blame for a refused configuration: {error}");
                None
            }
        }
    }
}
