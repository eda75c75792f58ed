//! Whether a controller still writes statuses, judged by its flags and the rollout of its
//! workload, and how to stop that. It must not know the addresses.

use serde_json::{Value, json};

use crate::controller::{Controller, is_controller};
use ingressd_objects::Container;

/// An obstacle, with the remedy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Obstacle {
    /// The obstacle.
    pub why: String,
    /// The remedy: sentences, and commands on lines of their own.
    pub remedy: String,
}

/// A controller, and the Deployment or DaemonSet that runs it.
#[derive(Debug, Clone)]
pub struct Running<'a> {
    controller: &'a Controller,
    workload: &'a Value,
}

impl<'a> Running<'a> {
    /// Finds its workload among these objects.
    pub fn of(controller: &'a Controller, objects: &'a [Value]) -> Option<Self> {
        let text =
            |object: &'a Value, pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let workload = objects.iter().find(|object| {
            let name = format!("{}/{}", text(object, "/metadata/namespace"), text(object, "/metadata/name"));
            controller.workload == format!("{} {name}", text(object, "/kind"))
        })?;
        Some(Running { controller, workload })
    }

    /// Why it does not write; one clause.
    ///
    /// # Errors
    ///
    /// That it may write, and how to stop that without emptying statuses.
    pub fn silence(&self) -> Result<String, Obstacle> {
        let name = &self.controller.workload;
        if self.is_over() {
            return Ok(format!("{name} has no pod"));
        }
        if self.controller.is_on("update-status") {
            return Err(Obstacle { why: format!("{name} writes addresses into statuses"), remedy: self.end_writing() });
        }
        match self.is_rolled_out() {
            true => Ok(format!("{name} has --update-status=false")),
            false => Err(Obstacle {
                why: format!("{name} has --update-status=false, but pods of before that may still run"),
                remedy: format!("wait until this ends, then run this again:\n{}", self.wait()),
            }),
        }
    }

    /// How many of its pods are ready.
    pub fn ready(&self) -> u64 {
        self.number(if self.is_deployment() { "/status/readyReplicas" } else { "/status/numberReady" }).unwrap_or(0)
    }

    fn is_deployment(&self) -> bool {
        self.workload["kind"] == "Deployment"
    }

    fn number(&self, pointer: &str) -> Option<u64> {
        self.workload.pointer(pointer).and_then(Value::as_u64)
    }

    /// Whether its status is about the present generation of the object.
    fn is_observed(&self) -> bool {
        let generation = self.number("/metadata/generation");
        generation.is_some() && self.number("/status/observedGeneration") >= generation
    }

    /// Whether it has no pods and wants none.
    fn is_over(&self) -> bool {
        let (wanted, there) = match self.is_deployment() {
            true => (self.number("/spec/replicas").unwrap_or(1), "/status/replicas"),
            false => (self.number("/status/desiredNumberScheduled").unwrap_or(1), "/status/currentNumberScheduled"),
        };
        self.is_observed() && wanted == 0 && self.number(there).unwrap_or(0) == 0
    }

    /// Whether every pod has the present flags.
    fn is_rolled_out(&self) -> bool {
        let number = |pointer| self.number(pointer).unwrap_or(0);
        let is_done = match self.is_deployment() {
            true => {
                let (updated, all) = (number("/status/updatedReplicas"), number("/status/replicas"));
                updated == all && updated == self.number("/spec/replicas").unwrap_or(1)
            }
            false => number("/status/updatedNumberScheduled") == number("/status/desiredNumberScheduled"),
        };
        self.is_observed() && is_done
    }

    /// The kind, name and namespace for kubectl.
    fn target(&self) -> String {
        let kind = if self.is_deployment() { "deployment" } else { "daemonset" };
        let (namespace, name) = self.controller.name.split_once('/').unwrap_or_default();
        format!("{kind}/{name} --namespace {namespace}")
    }

    fn wait(&self) -> String {
        format!("  kubectl rollout status {}", self.target())
    }

    /// Commands after which it does not write. When its only pod ends, the controller empties all
    /// statuses.
    fn end_writing(&self) -> String {
        let mut lines = vec!["run this, wait until it ends, and run this command again:".to_owned()];
        if self.replaces_its_only_pod() {
            match self.is_deployment() {
                true => {
                    lines[0] =
                        "its only pod would empty all statuses when it ends before another one is there; so run \
                                these, wait until they end, and run this command again:"
                            .to_owned();
                    lines.push(format!("  kubectl scale --replicas=2 {}", self.target()));
                }
                false => {
                    lines[0] =
                        "its only pod empties all statuses when it ends, until the nodes write theirs: let programs \
                                that follow them wait so long; then run this, wait until it ends, and run this command \
                                again at once:"
                            .to_owned();
                }
            }
        }
        lines.push(format!("  kubectl patch {} --type=json --patch='{}'", self.target(), self.patch()));
        lines.push(self.wait());
        lines.join("\n")
    }

    /// Whether its only pod ends before a new one is created.
    fn replaces_its_only_pod(&self) -> bool {
        if !self.controller.is_on("update-status-on-shutdown") {
            return false;
        }
        if !self.is_deployment() {
            return self.number("/status/desiredNumberScheduled").unwrap_or(0) <= 1;
        }
        let strategy = &self.workload["spec"]["strategy"];
        let unavailable = &strategy["rollingUpdate"]["maxUnavailable"];
        // Percentages are rounded down: of one pod that is 0 unless it is 100 %.
        let may_be_without = strategy["type"] == "Recreate"
            || unavailable.as_u64().is_some_and(|most| most > 0)
            || unavailable == "100%";
        may_be_without && self.number("/spec/replicas").unwrap_or(1) <= 1
    }

    /// A patch that appends the flag: the last of repeated flags counts.
    fn patch(&self) -> Value {
        const OFF: &str = "--update-status=false";
        let none = Vec::new();
        let containers =
            self.workload.pointer("/spec/template/spec/containers").and_then(Value::as_array).unwrap_or(&none);
        let words = |container: &Value, key: &str| -> Vec<String> {
            let words = container[key].as_array().into_iter().flatten().filter_map(Value::as_str);
            words.map(str::to_owned).collect()
        };
        let is_it = |container: &Value| {
            let image = container["image"].as_str().unwrap_or_default().to_owned();
            is_controller(&Container { image, words: [words(container, "command"), words(container, "args")].concat() })
        };
        let number = containers.iter().position(is_it).unwrap_or(0);
        let at = format!("/spec/template/spec/containers/{number}");
        let has = |key: &str| containers.get(number).is_some_and(|container| container[key].is_array());
        let (path, value) = match (has("args"), has("command")) {
            (true, _) => (format!("{at}/args/-"), json!(OFF)),
            (false, true) => (format!("{at}/command/-"), json!(OFF)),
            // The default arguments of the image.
            (false, false) => (format!("{at}/args"), json!(["/nginx-ingress-controller", OFF])),
        };
        json!([{ "op": "add", "path": path, "value": value }])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::controllers;
    use ingressd_objects::Inventory;

    /// A workload with these flags, changed by a function.
    fn workload(kind: &str, flags: &[&str], change: impl FnOnce(&mut Value)) -> Value {
        let mut args = vec!["/nginx-ingress-controller"];
        args.extend(flags);
        let mut workload = json!({
            "apiVersion": "apps/v1", "kind": kind,
            "metadata": { "namespace": "edge", "name": "controller", "generation": 2 },
            "spec": { "template": { "spec": { "containers": [
                { "name": "sidecar", "image": "sidecar:1" },
                { "name": "controller", "image": "registry.k8s.io/ingress-nginx/controller:v1.12.1", "args": args },
            ] } } },
            "status": { "observedGeneration": 2 },
        });
        change(&mut workload);
        workload
    }

    fn silence(workload: Value) -> Result<String, Obstacle> {
        let objects = [workload];
        let controller = controllers(&Inventory::of_objects(&objects).workloads).pop().unwrap();
        Running::of(&controller, &objects).unwrap().silence()
    }

    #[test]
    fn a_controller_is_silent_without_pods_or_when_every_pod_has_the_flag() {
        let off = &["--update-status=false"][..];
        type Row =
            (&'static str, &'static str, &'static [&'static str], Value, Value, Result<&'static str, &'static str>);
        let rows: [Row; 10] = [
            (
                "as it is installed",
                "Deployment",
                &[],
                json!({ "replicas": 1 }),
                json!({ "replicas": 1 }),
                Err("writes addresses"),
            ),
            ("scaled to none", "Deployment", &[], json!({ "replicas": 0 }), json!({}), Ok("has no pod")),
            (
                "a pod is ending",
                "Deployment",
                &[],
                json!({ "replicas": 0 }),
                json!({ "replicas": 1 }),
                Err("writes addresses"),
            ),
            (
                "nobody saw that yet",
                "Deployment",
                &[],
                json!({ "replicas": 0 }),
                json!({ "observedGeneration": 1 }),
                Err("writes"),
            ),
            (
                "all have the flag",
                "Deployment",
                off,
                json!({}),
                json!({ "replicas": 1, "updatedReplicas": 1 }),
                Ok("has --update-status=false"),
            ),
            (
                "the old one is there",
                "Deployment",
                off,
                json!({}),
                json!({ "replicas": 2, "updatedReplicas": 1 }),
                Err("may still run"),
            ),
            (
                "the flag is not seen",
                "Deployment",
                off,
                json!({}),
                json!({ "observedGeneration": 1, "replicas": 1, "updatedReplicas": 1 }),
                Err("may still run"),
            ),
            (
                "on no node",
                "DaemonSet",
                &[],
                json!({}),
                json!({ "desiredNumberScheduled": 0, "currentNumberScheduled": 0 }),
                Ok("has no pod"),
            ),
            (
                "on all nodes",
                "DaemonSet",
                off,
                json!({}),
                json!({ "desiredNumberScheduled": 3, "updatedNumberScheduled": 3 }),
                Ok("has --update"),
            ),
            (
                "on some nodes",
                "DaemonSet",
                off,
                json!({}),
                json!({ "desiredNumberScheduled": 3, "updatedNumberScheduled": 2 }),
                Err("may still run"),
            ),
        ];
        for (what, kind, flags, spec, status, expected) in rows {
            let merge = |into: &mut Value, from: Value| {
                into.as_object_mut().unwrap().extend(from.as_object().unwrap().clone());
            };
            let said = silence(workload(kind, flags, |workload| {
                merge(&mut workload["spec"], spec);
                merge(&mut workload["status"], status);
            }));
            match (&said, expected) {
                (Ok(said), Ok(expected)) => assert!(said.contains(expected), "{what}: {said}"),
                (Err(obstacle), Err(expected)) => assert!(obstacle.why.contains(expected), "{what}: {obstacle:?}"),
                _ => panic!("{what}: {said:?}"),
            }
        }
    }

    #[test]
    fn the_commands_name_what_they_change_and_never_empty_a_status_where_that_can_be() {
        let remedy = |workload| silence(workload).unwrap_err().remedy;
        let usual = remedy(workload("Deployment", &["--v=2"], |_| {}));
        let patch = "kubectl patch deployment/controller --namespace edge --type=json --patch='[{\"op\":\"add\",\
                     \"path\":\"/spec/template/spec/containers/1/args/-\",\"value\":\"--update-status=false\"}]'";
        assert!(usual.contains(patch) && usual.contains("kubectl rollout status deployment/controller"), "{usual}");
        assert!(!usual.contains("scale"), "the new pod is there before the old one ends");
        let recreate = |workload: &mut Value| workload["spec"]["strategy"] = json!({ "type": "Recreate" });
        assert!(
            remedy(workload("Deployment", &[], recreate)).contains("kubectl scale --replicas=2 deployment/controller")
        );
        let reported = &["--update-status-on-shutdown=false"];
        assert!(!remedy(workload("Deployment", reported, recreate)).contains("scale"));
        let single = |workload: &mut Value| workload["status"]["desiredNumberScheduled"] = json!(1);
        assert!(remedy(workload("DaemonSet", &[], single)).contains("empties all statuses"));
        let at = |workload: &mut Value, value| workload["spec"]["template"]["spec"]["containers"][1] = value;
        let bare = json!({ "image": "ingress-nginx/controller" });
        let bare = remedy(workload("Deployment", &[], |workload| at(workload, bare)));
        assert!(bare.contains("/containers/1/args\",\"value\":[\"/nginx-ingress-controller\",\"--update"), "{bare}");
        let command = json!({ "image": "x", "command": ["/nginx-ingress-controller"] });
        assert!(remedy(workload("Deployment", &[], |workload| at(workload, command))).contains("/command/-"));
    }
}
