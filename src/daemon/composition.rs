//! What a snapshot becomes for one nginx: the translation under the settings and the ConfigMap
//! that they name, and what the gate lets pass. The daemon and the commands that only look compose
//! both here; it must not know how that reaches nginx.

use std::sync::Arc;

use super::options;
use ingressd_config::{Layered, Settings};
use ingressd_model::{Model, Tables};
use ingressd_nginx::{Capabilities, Gate, GateOptions, Gated, OtherSites};
use ingressd_objects::{Snapshot, Version};
use ingressd_translate::{Claims, Options, Readers, Translation, Translator, World};

/// A translation and a gate, with what they remember.
#[derive(Debug)]
pub struct Composition {
    /// The settings as they were given.
    pub settings: Settings,
    /// The layer of settings from a version of the ConfigMap; `None` before one was looked for.
    layer: Option<(Option<Version>, Layered)>,
    /// The settings under it.
    in_force: Arc<Settings>,
    options: Options,
    /// What the world says.
    pub world: World,
    /// What nginx is asked for beside the model.
    pub gate_options: GateOptions,
    translator: Translator,
    gate: Gate,
}

impl Composition {
    /// Under these settings, with what this host adds to them; a translator of earlier settings
    /// keeps what is still valid.
    pub fn new(settings: &Settings, (options, world): (Options, World), earlier: Option<Translator>) -> Self {
        let translator = match earlier {
            Some(mut translator) => {
                translator.set_options(options.clone());
                translator
            }
            None => Translator::new(options.clone()),
        };
        Composition {
            layer: None,
            in_force: Arc::new(settings.clone()),
            options,
            world,
            gate_options: settings.gate_options(),
            translator,
            gate: Gate::default(),
            settings: settings.clone(),
        }
    }

    /// Reads objects as this table says.
    pub fn set_readers(&mut self, readers: Readers) {
        self.translator.set_readers(readers);
    }

    /// The table by which it reads objects.
    pub const fn readers(&self) -> Readers {
        self.translator.readers()
    }

    /// Translates a snapshot under the ConfigMap of the settings, as it is there. `claims` are
    /// those of what is served.
    pub fn translate(&mut self, snapshot: &Snapshot, claims: &Arc<Claims>) -> Translation {
        let version = self.settings.layer_version(snapshot);
        if self.settings.ingress_nginx.config_map.is_some()
            && self.layer.as_ref().is_none_or(|(known, _)| *known != version)
        {
            let layered = self.settings.layered(snapshot);
            self.options = options::under(&self.options, &layered.settings);
            self.translator.set_options(self.options.clone());
            let GateOptions { shared_servers, ref traffic, .. } = self.gate_options;
            self.gate_options =
                GateOptions { shared_servers, traffic: traffic.clone(), ..layered.settings.gate_options() };
            self.in_force = Arc::new(layered.settings.clone());
            self.layer = Some((version, layered));
        }
        self.translator.translate(snapshot, &self.world, claims)
    }

    /// What an nginx can do of a model and its tables.
    pub fn pass(
        &mut self,
        model: &Arc<Model>,
        tables: &Arc<Tables>,
        capabilities: &Capabilities,
        other_sites: &OtherSites,
    ) -> Gated {
        self.gate.pass(model, tables, capabilities, other_sites, &self.gate_options)
    }

    /// The settings under the ConfigMap of the last translation.
    pub const fn in_force(&self) -> &Arc<Settings> {
        &self.in_force
    }

    /// The layer of the ConfigMap of the last translation, where the settings name one.
    pub fn layer(&self) -> Option<&Layered> {
        self.layer.as_ref().map(|(_, layered)| layered)
    }

    /// The options of the last translation.
    pub const fn options(&self) -> &Options {
        &self.options
    }

    /// Ends it, and returns the translator for other settings.
    pub fn into_translator(self) -> Translator {
        self.translator
    }
}
