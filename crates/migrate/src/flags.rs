//! Every flag of the ingress-nginx controller, one row each, with its replacement.

use toml_edit::{Array, Value};

use super::controller::is_true;
use super::drop_in::Class;
use ingressd_translate::annotation::Compared;
use ingressd_translate::value::entries;

/// How the value of a flag is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takes {
    /// Optionally behind `=`.
    Switch,
    /// Behind `=` or as the next word.
    Value,
}

/// Keys of settings with values.
pub type Entries = Vec<(&'static str, Value)>;

/// Converts the value of a flag to settings; empty when the value means their defaults.
pub type Write = fn(&str) -> Result<Entries, String>;

/// The replacement of a flag.
#[derive(Debug, Clone, Copy)]
pub enum Counterpart {
    /// These settings, and a remark.
    Settings(&'static [&'static str], Write, Compared),
    /// A key of the table in `classes`.
    Class(&'static str, fn(&mut Class, &str) -> Result<(), String>),
    /// None is needed, for this reason.
    Nothing(&'static str),
    /// There is none; what to do instead.
    Refused(&'static str),
}

/// One flag.
#[derive(Debug)]
pub struct Flag {
    /// Its name, without dashes.
    pub name: &'static str,
    /// How its value is given.
    pub takes: Takes,
    /// Its default; empty when there is none.
    pub default: &'static str,
    /// Its replacement.
    pub counterpart: Counterpart,
}

impl Flag {
    /// The flag with this name.
    pub fn find(name: &str) -> Option<&'static Flag> {
        FLAGS.iter().find(|flag| flag.name == name)
    }

    /// Its replacement in words, for documentation.
    pub fn words(&self) -> String {
        match self.counterpart {
            Counterpart::Settings(keys, _, compared) => {
                let keys = keys.iter().map(|key| quoted(key)).collect::<Vec<_>>().join(", ");
                match compared.words() {
                    ("", _) => keys,
                    (why, _) => format!("{keys}. {why}"),
                }
            }
            Counterpart::Class(column, _) => format!("`{column}` of a table in `classes`"),
            Counterpart::Nothing(why) => format!("no setting is needed: {why}"),
            Counterpart::Refused(instead) => format!("nothing: {instead}"),
        }
    }
}

/// A setting in backquotes; it must exist.
fn quoted(key: &str) -> String {
    match ingressd_config::rows().any(|row| row.key == key) {
        true => format!("`{key}`"),
        false => format!("{key}, which this version does not have"),
    }
}

const fn settings(name: &'static str, keys: &'static [&'static str], write: Write) -> Flag {
    Flag { name, takes: Takes::Value, default: "", counterpart: Counterpart::Settings(keys, write, Compared::Equal) }
}

const fn switch(name: &'static str, keys: &'static [&'static str], write: Write) -> Flag {
    Flag { takes: Takes::Switch, default: "false", ..settings(name, keys, write) }
}

const fn class(name: &'static str, column: &'static str, set: fn(&mut Class, &str) -> Result<(), String>) -> Flag {
    Flag { name, takes: Takes::Value, default: "", counterpart: Counterpart::Class(column, set) }
}

const fn nothing(name: &'static str, takes: Takes, why: &'static str) -> Flag {
    Flag { name, takes, default: "", counterpart: Counterpart::Nothing(why) }
}

const fn refused(name: &'static str, takes: Takes, instead: &'static str) -> Flag {
    Flag { name, takes, default: "", counterpart: Counterpart::Refused(instead) }
}

impl Flag {
    const fn default(self, default: &'static str) -> Self {
        Flag { default, ..self }
    }

    const fn switched(self) -> Self {
        Flag { takes: Takes::Switch, default: "false", ..self }
    }

    const fn compared(self, compared: Compared) -> Self {
        match self.counterpart {
            Counterpart::Settings(keys, write, _) => {
                Flag { counterpart: Counterpart::Settings(keys, write, compared), ..self }
            }
            _ => self,
        }
    }
}

const CREDENTIALS: &str =
    "`ingressd kubeconfig` writes the credentials of a node, and the setting `kubeconfig` names them";
const LOG: &str = "logs go to the journal: see `log.level` and `log.format`";
const METRICS: &str = "metrics are always served: see `http.address`";
const PER_REQUEST: &str =
    "`traffic.ingress-nginx-names` counts requests with labels and buckets of its own choice: see docs/prometheus.md";
const INTERNAL: &str = "it is an internal port of the controller";
const GEOIP: &str =
    "download databases on each node, for example with geoipupdate, and name them in `geoip2.databases`";
const WEBHOOK: &str = "there is no webhook: `ingressd admission` prints policies for the API server, and `ingressd \
    check` reports mistakes in a pipeline";
const ELECTION: &str = "nodes have Leases of their own: see `publish.lease`";
const ALWAYS: &str = "values are always parsed: correct those of which the report says that they have no effect";
const STOPPED: &str = "nginx goes on serving when the daemon stops, and `ingressd drain` takes a node out";
const REMOVED: &str = "ingress-nginx itself has removed it";

/// Every flag, sorted by name, including removed ones.
pub const FLAGS: &[Flag] = &[
    nothing("add_dir_header", Takes::Switch, LOG),
    nothing("alsologtostderr", Takes::Switch, LOG),
    class("annotations-prefix", "annotations-prefix", |class, value| {
        class.prefix = Some(value.trim_end_matches('/').to_owned());
        Ok(())
    })
    .default("nginx.ingress.kubernetes.io"),
    nothing("apiserver-host", Takes::Value, CREDENTIALS),
    settings("bind-addresses", &["listen.addresses"], |value| Ok(vec![("listen.addresses", list(value))])),
    refused("bucket-factor", Takes::Value, PER_REQUEST),
    nothing("certificate-authority", Takes::Value, CREDENTIALS),
    settings("configmap", &["ingress-nginx.configmap"], |value| named("ingress-nginx.configmap", value)),
    class("controller-class", "controller", |class, value| {
        class.controller = value.to_owned();
        Ok(())
    })
    .default("k8s.io/ingress-nginx"),
    refused("deep-inspect", Takes::Switch, ALWAYS).default("true"),
    settings("default-backend-service", &["default-backend"], |value| named("default-backend", value)),
    nothing("default-server-port", Takes::Value, INTERNAL).default("8181"),
    settings("default-ssl-certificate", &["tls.default-certificate"], |value| named("tls.default-certificate", value)),
    switch("disable-catch-all", &["hosts.disable-catch-all"], |value| on("hosts.disable-catch-all", value)),
    nothing("disable-full-test", Takes::Switch, WEBHOOK),
    nothing("disable-leader-election", Takes::Switch, ELECTION),
    switch("disable-svc-external-name", &["upstreams.external-names"], |value| {
        Ok(is_true(value).then(|| ("upstreams.external-names", Value::from(false))).into_iter().collect())
    }),
    nothing(
        "disable-sync-events",
        Takes::Switch,
        "an Event is written when something changes; `publish.events` switches all of them off",
    ),
    nothing("dynamic-configuration-retries", Takes::Value, INTERNAL),
    nothing("election-id", Takes::Value, ELECTION).default("ingress-controller-leader"),
    settings("election-ttl", &["publish.lease-duration"], |value| {
        Ok(vec![("publish.lease-duration", Value::from(value))])
    })
    .default("30s")
    .compared(Compared::Different(
        "Without the flag a node counts as lost after 15 s, and not after 30 s; the address of a lost node is withdrawn then.",
        "",
    )),
    refused("enable-annotation-validation", Takes::Switch, ALWAYS).default("true"),
    nothing("enable-dynamic-certificates", Takes::Switch, REMOVED),
    nothing("enable-dynamic-configuration", Takes::Switch, REMOVED),
    nothing("enable-metrics", Takes::Switch, METRICS),
    refused("enable-ssl-chain-completion", Takes::Switch, "put the intermediate certificates into the Secret")
        .switched(),
    switch("enable-ssl-passthrough", &["tls.passthrough"], |value| on("tls.passthrough", value)),
    refused(
        "enable-topology-aware-routing",
        Takes::Switch,
        "nodes may be outside of the cluster and have no zone: requests go to all endpoints",
    )
    .switched(),
    nothing("exclude-socket-metrics", Takes::Value, METRICS),
    nothing(
        "force-namespace-isolation",
        Takes::Switch,
        "Secrets and ConfigMaps of other namespaces are refused: see `cross-namespace`",
    ),
    nothing("health-check-path", Takes::Value, "health checks use `/healthz` and `/readyz`: see `http.address`")
        .default("/healthz"),
    refused(
        "healthz-host",
        Takes::Value,
        "set `http.address`, and `http.remote` for an address that other machines \
                                           reach",
    ),
    settings("healthz-port", &["http.address"], |value| {
        Ok(vec![("http.address", Value::from(format!("127.0.0.1:{}", port(value)?)))])
    })
    .default("10254")
    .compared(Compared::Stricter(
        "The port is only on loopback.",
        "set `http.address` and `http.remote` where probes come from elsewhere",
    )),
    settings("http-port", &["listen.http-port"], |value| Ok(vec![("listen.http-port", Value::from(port(value)?))]))
        .default("80"),
    settings("https-port", &["listen.https-port"], |value| Ok(vec![("listen.https-port", Value::from(port(value)?))]))
        .default("443"),
    class("ingress-class", "legacy-class", |class, value| {
        class.legacy = value.to_owned();
        Ok(())
    })
    .default("nginx"),
    class("ingress-class-by-name", "class-name", |class, value| {
        class.by_name = is_true(value);
        Ok(())
    })
    .switched(),
    nothing("internal-logger-address", Takes::Value, INTERNAL),
    nothing("kubeconfig", Takes::Value, CREDENTIALS),
    refused("length-buckets", Takes::Value, PER_REQUEST),
    nothing("log_backtrace_at", Takes::Value, LOG),
    nothing("log_dir", Takes::Value, LOG),
    nothing("log_file", Takes::Value, LOG),
    nothing("log_file_max_size", Takes::Value, LOG),
    nothing("logtostderr", Takes::Switch, LOG),
    refused("maxmind-edition-ids", Takes::Value, GEOIP),
    refused("maxmind-license-key", Takes::Value, GEOIP),
    refused("maxmind-mirror", Takes::Value, GEOIP),
    refused("maxmind-retries-count", Takes::Value, GEOIP),
    refused("maxmind-retries-timeout", Takes::Value, GEOIP),
    refused("metrics-per-host", Takes::Switch, PER_REQUEST).default("true"),
    refused("metrics-per-undefined-host", Takes::Switch, PER_REQUEST).switched(),
    nothing("monitor-max-batch-size", Takes::Value, METRICS),
    nothing("one_output", Takes::Switch, LOG),
    nothing("post-shutdown-grace-period", Takes::Value, STOPPED),
    nothing("profiler-port", Takes::Value, INTERNAL).default("10245"),
    nothing("profiling", Takes::Switch, INTERNAL),
    settings("publish-service", &["publish.mode", "publish.service"], |value| {
        let [service] = &named("publish.service", value)?[..] else { return Ok(Vec::new()) };
        Ok(vec![("publish.mode", Value::from("service")), service.clone()])
    })
    .compared(Compared::Different(
        "The addresses in the status and the externalIPs of the Service are published.",
        "route the addresses of the Service to the nodes, or remove both lines to publish the nodes themselves",
    )),
    settings("publish-status-address", &["publish.mode", "publish.addresses"], |value| {
        Ok(vec![("publish.mode", Value::from("fixed")), ("publish.addresses", list(value))])
    }),
    switch("report-node-internal-ip-address", &["publish.addresses"], |value| {
        Ok(is_true(value).then(|| ("publish.addresses", list("node:InternalIP"))).into_iter().collect())
    }),
    refused("report-status-classes", Takes::Switch, PER_REQUEST).switched(),
    nothing("shutdown-grace-period", Takes::Value, STOPPED),
    refused("size-buckets", Takes::Value, PER_REQUEST),
    nothing("skip_headers", Takes::Switch, LOG),
    nothing("skip_log_headers", Takes::Switch, LOG),
    nothing("sort-backends", Takes::Switch, REMOVED),
    nothing("ssl-passthrough-proxy-port", Takes::Value, "nginx accepts both kinds of connections without it")
        .default("442"),
    settings("status-port", &["listen.status"], |value| {
        Ok(vec![("listen.status", Value::from(format!("127.0.0.1:{}", port(value)?)))])
    })
    .default("10246"),
    nothing(
        "status-update-interval",
        Takes::Value,
        "statuses are written as soon as they differ: see `publish.status-rate`",
    ),
    nothing("stderrthreshold", Takes::Value, LOG),
    nothing("stream-port", Takes::Value, INTERNAL).default("10247"),
    nothing("sync-period", Takes::Value, "ingressd watches the cluster, and needs no resynchronization"),
    settings("sync-rate-limit", &["pacing.spacing"], |value| {
        let rate = value.parse::<f64>().ok().filter(|rate| (0.001..=1000.0).contains(rate));
        let rate = rate.ok_or_else(|| format!("{value:?} is no rate from 0.001 to 1000"))?;
        Ok(vec![("pacing.spacing", Value::from(format!("{:.0}ms", 1000.0 / rate)))])
    })
    .default("0.3"),
    settings("tcp-services-configmap", &["ingress-nginx.tcp-services-configmap"], |value| {
        named("ingress-nginx.tcp-services-configmap", value)
    }),
    refused("time-buckets", Takes::Value, PER_REQUEST),
    settings("udp-services-configmap", &["ingress-nginx.udp-services-configmap"], |value| {
        named("ingress-nginx.udp-services-configmap", value)
    }),
    nothing(
        "update-status",
        Takes::Switch,
        "the take-over needs it, and `publish.hold` keeps the nodes from writing until then; to never write statuses, \
            set `publish.status` to `false`",
    )
    .default("true"),
    nothing(
        "update-status-on-shutdown",
        Takes::Switch,
        "addresses are withdrawn when nginx stops, and stay for `publish.grace-period` when the daemon stops",
    )
    .default("true"),
    nothing("v", Takes::Value, LOG),
    nothing("validating-webhook", Takes::Value, WEBHOOK),
    nothing("validating-webhook-certificate", Takes::Value, WEBHOOK),
    nothing("validating-webhook-key", Takes::Value, WEBHOOK),
    nothing("version", Takes::Switch, "`ingressd --version` prints it"),
    nothing("vmodule", Takes::Value, LOG),
    class("watch-ingress-without-class", "without-class", |class, value| {
        class.without_class = is_true(value);
        Ok(())
    })
    .switched(),
    settings("watch-namespace", &["namespaces"], |value| {
        Ok((!value.is_empty()).then(|| ("namespaces", list(value))).into_iter().collect())
    }),
    settings("watch-namespace-selector", &["namespace-selector"], |value| {
        Ok((!value.is_empty()).then(|| ("namespace-selector", Value::from(value))).into_iter().collect())
    }),
];

/// A switch that is off by default in both programs.
fn on(key: &'static str, value: &str) -> Result<Entries, String> {
    Ok(is_true(value).then(|| (key, Value::from(true))).into_iter().collect())
}

/// The namespace and name of an object.
fn named(key: &'static str, value: &str) -> Result<Entries, String> {
    match value.split_once('/') {
        _ if value.is_empty() => Ok(Vec::new()),
        Some((namespace, name)) if !namespace.is_empty() && !name.is_empty() => Ok(vec![(key, Value::from(value))]),
        _ => Err(format!("{value:?} is not of the form namespace/name")),
    }
}

fn port(value: &str) -> Result<i64, String> {
    value.parse::<u16>().map(i64::from).map_err(|_| format!("{value:?} is no port"))
}

fn list(value: &str) -> Value {
    Value::Array(entries(value).into_iter().flatten().collect::<Array>())
}
