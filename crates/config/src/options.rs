//! What the settings say to each room.

use super::config_map;
use super::settings::{IngressNginx, Nginx, Settings};
use ingressd_apply::{self as apply, ApplyError, Survey, SystemOptions};
use ingressd_cluster::publish;
use ingressd_nginx as nginx;
use ingressd_objects::Needs;
use ingressd_objects::rows::ConfigMap;
use ingressd_translate::Readers;

impl Settings {
    /// The options of the translation, including the ports of our own listeners, which are never
    /// upstreams.
    pub fn translate_options(&self) -> ingressd_translate::Options {
        let mut options = self.translate.clone();
        // No API server has written it into the files of a folder.
        options.fills_in_class = self.manifests.is_some();
        options.keys_of_config_map = config_map::keys_without_annotation();
        options.own_ports.extend(self.translate.listeners.ports());
        let inside = self.translate.passthrough.then_some(self.gate.passthrough_port);
        options.own_ports.extend(inside);
        let IngressNginx { tcp_services, udp_services, .. } = self.ingress_nginx.clone();
        (options.streams.tcp_services, options.streams.udp_services) = (tcp_services, udp_services);
        let taken = [
            (self.translate.listeners.http_port, "listen.http-port"),
            (self.translate.listeners.https_port, "listen.https-port"),
            (self.gate.status.port(), "listen.status"),
            (self.http.address.port(), "http.address"),
            (inside.unwrap_or_default(), "listen.passthrough-port"),
        ];
        options.streams.reserved.extend(taken.into_iter().filter(|(port, _)| *port != 0));
        options
    }

    /// What objects need, as these readers say, and what the ConfigMap of an ingress-nginx names.
    pub fn needs(&self, readers: Readers) -> Needs {
        let (options, layer) = (self.translate_options(), self.ingress_nginx.config_map.clone());
        Needs::new(move |entry| {
            let is_layer = |(namespace, name): &(_, _)| (namespace, name) == (&entry.id.namespace, &entry.id.name);
            match entry.object::<ConfigMap>().filter(|_| layer.as_ref().is_some_and(is_layer)) {
                Some(map) => config_map::needs(entry.id, map),
                None => readers.needs(entry, &options),
            }
        })
    }

    /// The options of publishing, including where nginx listens.
    pub fn publish_options(&self) -> publish::Options {
        publish::Options { listened: self.translate.listeners.addresses.clone(), ..self.publish.clone() }
    }

    /// The options of the gate, including the folder that nginx reads.
    pub fn gate_options(&self) -> nginx::GateOptions {
        nginx::GateOptions {
            current: self.apply.root.join("current"),
            traffic_connects: self.traffic.ingress_nginx_names,
            ..self.gate.clone()
        }
    }

    /// The options of applying, but for what is known of this host.
    pub fn apply_options(&self) -> apply::Options {
        apply::Options {
            root: self.apply.root.clone(),
            state: self.apply.state.clone(),
            nginx_configuration: Some(self.nginx.configuration.clone()),
            keep: self.apply.kept_generations,
            confirm_timeout: self.apply.confirm_timeout,
            draining: self.pacing.draining,
            instance: self.instance.clone(),
            ..apply::Options::empty()
        }
    }

    /// Where nginx of this host is, and how it is reached.
    pub fn system_options(&self) -> SystemOptions {
        SystemOptions {
            binary: self.nginx.binary.clone(),
            configuration: Some(self.nginx.configuration.clone()),
            prefix: self.nginx.prefix.clone(),
            pid_file: self.nginx.pid_file.clone(),
            unit: self.nginx.unit.clone(),
            status: self.gate.status,
            // A reload takes longer than the test before it.
            test_timeout: self.apply.confirm_timeout,
            ..SystemOptions::empty()
        }
    }

    /// Asks nginx of this host what it is, and reads its configuration.
    ///
    /// # Errors
    ///
    /// Those of [`Survey::of`].
    pub fn survey(&self) -> Result<Survey, ApplyError> {
        let Nginx { binary, configuration, prefix, .. } = &self.nginx;
        Survey::of(binary, Some(configuration), prefix.as_deref(), &self.apply.root, &self.instance)
    }
}
