//! Requests as ingress-nginx counts them, under its names and labels. It must not know where lines
//! come from.

use std::fmt;
use std::sync::{Arc, PoisonError};

use http::StatusCode;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Unit;

use super::Traffic;
use super::figures::{BOUNDS, Bounded, Buckets, Times};
use super::line::Line;
use super::table::Destination;
use ingressd_model::PathMatch;
use ingressd_translate::written_host;

/// How many series of each metric there are. Each is some 40 rows of a Prometheus.
const MOST: usize = 1000;

/// What stands for each label of the rest.
const OTHER: &str = "other";

/// The methods that have a label of their own.
const METHODS: [&str; 9] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "CONNECT", "TRACE"];

/// The upper bounds of the sizes that are counted together, in bytes.
const SIZES: [f64; 6] = [100.0, 1e3, 1e4, 1e5, 1e6, 1e7];

/// The labels that are the same for all metrics of a controller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Controller {
    pub class: Arc<str>,
    /// The name of the node.
    pub pod: Arc<str>,
}

impl Controller {
    /// The labels with their names; there is no Pod, and so no namespace of one.
    pub fn labels(&self) -> [(&'static str, &str); 3] {
        [("controller_class", &self.class), ("controller_namespace", "ingressd"), ("controller_pod", &self.pod)]
    }
}

/// What a request is counted by.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Key {
    namespace: Arc<str>,
    ingress: Arc<str>,
    /// The Service of the rule.
    service: Arc<str>,
    /// The upstream that took the request instead of that one.
    canary: String,
    host: Arc<str>,
    path: Arc<str>,
    method: &'static str,
    /// The class, as in `2xx`, where the status is none that is registered.
    status: String,
}

/// The counts of one of these.
#[derive(Debug, Default)]
struct Figure {
    duration: Times,
    upstream: Times,
    /// The times of connections to backends, and how many there were.
    connect: (f64, u64),
    received: Buckets<{ SIZES.len() + 1 }>,
    sent: Buckets<{ SIZES.len() + 1 }>,
}

/// All counts since the start.
#[derive(Debug)]
pub struct Named {
    pub controller: Controller,
    figures: Bounded<Key, Figure>,
}

impl Named {
    pub fn of(controller: Controller) -> Self {
        Named { controller, figures: Bounded::default() }
    }

    /// Counts a line about a request that an Ingress takes; ingress-nginx counts no others.
    pub fn count(&mut self, line: &Line<'_>, destination: Destination<'_>) {
        let Some(key) = key(line, destination) else { return };
        let (method, status) = (key.method, line.status);
        let figure = self.figures.of(key, MOST, || rest(method, status));
        figure.duration.add(&BOUNDS, line.seconds, line.stands_for);
        if let Some(upstream) = line.upstream {
            figure.upstream.add(&BOUNDS, upstream, line.stands_for);
        }
        if let Some(connect) = line.connect {
            figure.connect.0 += connect * line.stands_for as f64;
            figure.connect.1 += line.stands_for;
        }
        // No request is so large that it loses precision.
        figure.received.add(&SIZES, line.received as f64, line.stands_for);
        figure.sent.add(&SIZES, line.sent as f64, line.stands_for);
    }
}

fn key(line: &Line<'_>, destination: Destination<'_>) -> Option<Key> {
    let route = destination.route?;
    let object = Some(&route.origin.object).filter(|object| object.kind.asks_for_routes())?;
    let service = route.action.upstream().map_or_else(|| Arc::from(""), |upstream| Arc::clone(&upstream.service));
    let other = line.service.filter(|reported| *reported.namespace == *object.namespace && *reported.name != *service);
    let canary = other.filter(|_| !service.is_empty());
    Some(Key {
        namespace: Arc::clone(&object.namespace),
        ingress: object.name_with_kind(),
        service,
        canary: canary
            .map_or_else(String::new, |reported| format!("{}-{}-{}", reported.namespace, reported.name, reported.port)),
        host: written_host(&destination.server.name).into(),
        path: match &route.path {
            PathMatch::Exact { path, .. } | PathMatch::Prefix { path, .. } => path.text(),
            PathMatch::Regex(pattern) => pattern.text(),
        },
        method: METHODS.into_iter().find(|method| *method == line.method).unwrap_or(OTHER),
        status: status(line.status),
    })
}

/// Backends could make a series of every number.
fn status(status: u16) -> String {
    let is_known = StatusCode::from_u16(status).is_ok_and(|status| status.canonical_reason().is_some());
    // nginx gives this one to requests whose client has gone.
    if is_known || status == 499 { status.to_string() } else { class(status) }
}

fn class(status: u16) -> String {
    format!("{}xx", status / 100)
}

fn rest(method: &'static str, status: u16) -> Key {
    let other = || Arc::from(OTHER);
    Key {
        namespace: other(),
        ingress: other(),
        service: other(),
        canary: String::new(),
        host: other(),
        path: other(),
        method,
        status: class(status),
    }
}

/// Writes the counts, whenever metrics are asked for.
#[derive(Debug)]
pub struct ExposedNamed(pub Arc<Traffic>);

/// A series with its labels, but for those of the controller.
type Row<'k> = ([(&'static str, &'k str); 8], &'k Figure);

impl Collector for ExposedNamed {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let figures = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(named) = &figures.named else { return Ok(()) };
        let rows: Vec<Row<'_>> = named.figures.sorted().into_iter().map(labelled).collect();
        let count = |figure: &Figure| figure.duration.counts.iter().sum::<u64>();
        number(&mut encoder, "requests", "Requests of clients", &rows, |figure| count(figure).into())?;
        let help = "Time from the first byte of a request to the last one of its answer";
        buckets(&mut encoder, ("request_duration", help, Some(Unit::Seconds)), &BOUNDS, &rows, |figure| {
            &figure.duration
        })?;
        let help = "Time that endpoints took for a request, all that were tried together";
        buckets(&mut encoder, ("response_duration", help, Some(Unit::Seconds)), &BOUNDS, &rows, |figure| {
            &figure.upstream
        })?;
        let help = "Bytes of requests, with their heads";
        buckets(&mut encoder, ("request_size", help, None), &SIZES, &rows, |figure| &figure.received)?;
        let help = "Bytes of answers, with their heads";
        buckets(&mut encoder, ("response_size", help, None), &SIZES, &rows, |figure| &figure.sent)?;
        // There is no type for a summary.
        let help = "Time until endpoints had accepted connections, together";
        number(&mut encoder, "ingress_upstream_latency_seconds_sum", help, &rows, |figure| figure.connect.0.into())?;
        let help = "How many requests had such a time";
        number(&mut encoder, "ingress_upstream_latency_seconds_count", help, &rows, |figure| figure.connect.1.into())
    }
}

fn labelled<'k>((key, figure): (&'k Key, &'k Figure)) -> Row<'k> {
    let labels = [
        ("namespace", &*key.namespace),
        ("ingress", &*key.ingress),
        ("service", &*key.service),
        ("canary", &*key.canary),
        ("host", &*key.host),
        ("path", &*key.path),
        ("method", key.method),
        ("status", &*key.status),
    ];
    (labels, figure)
}

/// A number of either kind.
enum Number {
    Whole(u64),
    Broken(f64),
}

impl From<u64> for Number {
    fn from(number: u64) -> Self {
        Number::Whole(number)
    }
}

impl From<f64> for Number {
    fn from(number: f64) -> Self {
        Number::Broken(number)
    }
}

/// A counter whose name has no `_total`, which is no counter in OpenMetrics.
fn number(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    rows: &[Row<'_>],
    value: impl Fn(&Figure) -> Number,
) -> fmt::Result {
    let mut family = encoder.encode_descriptor(name, help, None, MetricType::Unknown)?;
    for (labels, figure) in rows {
        let mut metric = family.encode_family(labels)?;
        match value(figure) {
            Number::Whole(count) => metric.encode_gauge(&i64::try_from(count).unwrap_or(i64::MAX))?,
            Number::Broken(sum) => metric.encode_gauge(&sum)?,
        }
    }
    Ok(())
}

fn buckets<const RANGES: usize>(
    encoder: &mut DescriptorEncoder<'_>,
    (name, help, unit): (&str, &str, Option<Unit>),
    bounds: &[f64],
    rows: &[Row<'_>],
    of: impl Fn(&Figure) -> &Buckets<RANGES>,
) -> fmt::Result {
    let mut family = encoder.encode_descriptor(name, help, unit.as_ref(), MetricType::Histogram)?;
    for (labels, figure) in rows {
        let buckets = of(figure);
        let count = buckets.counts.iter().sum();
        let bounds = bounds.iter().copied().chain([f64::INFINITY]);
        let ranges: Vec<_> = bounds.zip(buckets.counts).collect();
        // What no request had needs no rows.
        if count > 0 {
            let mut metric = family.encode_family(labels)?;
            metric.encode_histogram::<[(&str, &str); 0]>(buckets.sum, count, &ranges, None)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use prometheus_client::registry::Registry;

    use super::*;

    /// All metrics of so many series, each of which has everything.
    fn reported(count: usize) -> String {
        let mut named = Named::of(Controller { class: "k8s.io/ingress-nginx".into(), pod: "edge-1.example".into() });
        for number in 0..count {
            let name = |what: &str| Arc::from(format!("{what}-{number:04}"));
            let key = Key {
                namespace: name("namespace"),
                ingress: name("ingress"),
                service: name("service"),
                host: format!("host-{number}.example.com").into(),
                path: "/api/v1/shop".into(),
                ..rest("GET", 200)
            };
            let figure = named.figures.of(key, MOST, || rest("GET", 204));
            figure.duration.add(&BOUNDS, 0.1, 1);
            figure.upstream.add(&BOUNDS, 0.1, 1);
            figure.sent.add(&SIZES, 1.0, 1);
            figure.received.add(&SIZES, 1.0, 1);
            figure.connect.1 += 1;
        }
        let traffic = Arc::<Traffic>::default();
        traffic.0.lock().unwrap().named = Some(named);
        let mut all = Registry::with_prefix("nginx_ingress_controller");
        let labels = traffic.controller().unwrap();
        let labels = labels.labels().map(|(name, value)| (name.into(), value.to_owned().into()));
        all.sub_registry_with_labels(labels.into_iter()).register_collector(Box::new(ExposedNamed(traffic)));
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &all).unwrap();
        text
    }

    #[test]
    fn what_is_more_than_enough_is_counted_together_and_bounded() {
        let text = reported(MOST + 7);
        let ends = r#"host="other",path="other",method="GET",status="2xx"} 7"#;
        assert!(
            text.lines().any(|line| line.starts_with("nginx_ingress_controller_requests{") && line.ends_with(ends))
        );
        // As the documentation of the setting says.
        let (lines, size) = (text.lines().count(), text.len());
        assert!((43_000..44_000).contains(&lines) && (12_000_000..14_000_000).contains(&size), "{lines} lines, {size}");
        assert_eq!(text.lines().count(), reported(2 * MOST).lines().count());
    }

    #[test]
    fn clients_and_backends_make_no_labels() {
        let reported = [0, 200, 404, 499, 507, 599, 600, 999].map(status);
        assert_eq!(reported, ["0xx", "200", "404", "499", "507", "5xx", "6xx", "9xx"]);
    }
}
