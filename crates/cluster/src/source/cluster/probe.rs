//! Single requests to the API server, for the doctor's checks.

use std::net::IpAddr;
use std::time::SystemTime;

use http::Request;
use http::header::DATE;
use ipnet::IpNet;
use jiff::Timestamp;
use jiff::fmt::rfc2822::DateTimeParser;
use k8s_openapi::api::authorization::v1::{ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec};
use k8s_openapi::api::core::v1::Node;
use kube::Api;
use kube::api::{ListParams, PostParams};
use kube::client::Body;
use serde::Deserialize;

use super::clients::Clients;
use super::words::explained;

/// The number of Nodes on a page of a list.
const PAGE: u32 = 500;

/// The most Nodes that are requested.
const MOST_NODES: usize = 5000;

/// What the API server reports about itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Server {
    /// Its version, as in `v1.33.1`.
    pub version: String,
    /// How many seconds its clock is ahead of ours; negative when it is behind. `None` when its
    /// response has no date. Dates have a resolution of one second, so the value may be wrong by
    /// one.
    pub ahead: Option<i64>,
}

/// A question to the API server whether something is allowed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AccessReview {
    /// The API group; empty for the core group.
    pub group: String,
    /// The resource, with its subresource behind a slash.
    pub resource: String,
    pub verb: String,
    /// The namespace; `None` for all.
    pub namespace: Option<String>,
    /// The name of the object; `None` for all.
    pub name: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeNetworks {
    pub name: String,
    /// The networks of its pods (`podCIDRs`).
    pub pods: Vec<IpNet>,
    /// Its own addresses.
    pub addresses: Vec<IpAddr>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Version {
    git_version: String,
}

/// Requests the version of the API server, and reads its clock from the response.
///
/// # Errors
///
/// Why there is no response, or that the request is refused.
pub async fn server(clients: &Clients) -> Result<Server, String> {
    let request = Request::get("/version").body(Body::empty()).map_err(|error| error.to_string())?;
    let before = SystemTime::now();
    let answer = clients.lease.send(request).await.map_err(|error| explained(&error))?;
    let after = SystemTime::now();
    let ahead = answer.headers().get(DATE).and_then(|date| ahead(date.to_str().ok()?, before, after));
    let status = answer.status();
    match status {
        http::StatusCode::UNAUTHORIZED => {
            return Err(format!(
                "it does not accept the credentials ({status}): run `ingressd kubeconfig --force` for new ones"
            ));
        }
        status if !status.is_success() => return Err(format!("it answers {status}")),
        _ => {}
    }
    let body = http_body_util::BodyExt::collect(answer.into_body()).await.map_err(|error| explained(&error))?;
    let version: Version = serde_json::from_slice(&body.to_bytes()).map_err(|_| "it is no API server".to_owned())?;
    Ok(Server { version: version.git_version, ahead })
}

/// How many seconds the clock that made this date is ahead, when the date was made between two of
/// our times.
fn ahead(date: &str, before: SystemTime, after: SystemTime) -> Option<i64> {
    let reported = DateTimeParser::new().parse_timestamp(date).ok()?.as_second();
    let second = |time: SystemTime| Timestamp::try_from(time).ok().map(Timestamp::as_second);
    let (first, last) = (second(before)?, second(after)?);
    // The response may have been made at any time between the two.
    Some(if reported < first { reported - first } else { (reported - last).max(0) })
}

/// Asks whether the API server would allow this.
///
/// # Errors
///
/// Why the question was not answered.
pub async fn allows(clients: &Clients, asked: &AccessReview) -> Result<bool, String> {
    let (resource, subresource) = match asked.resource.split_once('/') {
        Some((resource, subresource)) => (resource, Some(subresource.to_owned())),
        None => (asked.resource.as_str(), None),
    };
    let review = SelfSubjectAccessReview {
        spec: SelfSubjectAccessReviewSpec {
            resource_attributes: Some(ResourceAttributes {
                group: Some(asked.group.clone()),
                resource: Some(resource.to_owned()),
                subresource,
                verb: Some(asked.verb.clone()),
                namespace: asked.namespace.clone(),
                name: asked.name.clone(),
                ..ResourceAttributes::default()
            }),
            ..SelfSubjectAccessReviewSpec::default()
        },
        ..SelfSubjectAccessReview::default()
    };
    let reviews = Api::<SelfSubjectAccessReview>::all(clients.lease.clone());
    let reviewed = reviews.create(&PostParams::default(), &review).await.map_err(|error| explained(&error))?;
    Ok(reviewed.status.is_some_and(|status| status.allowed))
}

/// Lists the networks of all Nodes.
///
/// # Errors
///
/// Why they cannot be listed.
pub async fn nodes(clients: &Clients) -> Result<Vec<NodeNetworks>, String> {
    let nodes = Api::<Node>::all(clients.write.clone());
    let mut parameters = ListParams::default().limit(PAGE);
    let mut found = Vec::new();
    loop {
        let page = nodes.list(&parameters).await.map_err(|error| explained(&error))?;
        found.extend(page.items.iter().map(networks));
        match page.metadata.continue_.filter(|position| !position.is_empty()) {
            Some(position) if found.len() < MOST_NODES => parameters = parameters.continue_token(&position),
            _ => return Ok(found),
        }
    }
}

fn networks(node: &Node) -> NodeNetworks {
    let spec = node.spec.as_ref();
    let several = spec.and_then(|spec| spec.pod_cidrs.as_deref()).unwrap_or_default().iter();
    let one = spec.and_then(|spec| spec.pod_cidr.as_ref());
    let mut pods: Vec<IpNet> = several.chain(one).filter_map(|network| network.parse().ok()).collect();
    pods.sort();
    pods.dedup();
    let addresses = node.status.as_ref().and_then(|status| status.addresses.as_deref()).unwrap_or_default();
    NodeNetworks {
        name: node.metadata.name.clone().unwrap_or_default(),
        pods,
        addresses: addresses.iter().filter_map(|address| address.address.parse().ok()).collect(),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_clock_is_ahead_or_behind_only_outside_of_the_time_that_the_question_took() {
        let at = |milliseconds: u64| SystemTime::UNIX_EPOCH + Duration::from_millis(milliseconds);
        for (date, before, after, expected) in [
            ("Thu, 01 Jan 1970 00:01:40 GMT", 100_400, 100_900, Some(0)),
            ("Thu, 01 Jan 1970 00:01:40 GMT", 98_400, 102_900, Some(0)),
            ("Thu, 01 Jan 1970 00:01:40 GMT", 110_000, 111_000, Some(-10)),
            ("Thu, 01 Jan 1970 01:00:00 GMT", 0, 1_000, Some(3599)),
            ("yesterday", 0, 0, None),
        ] {
            assert_eq!(ahead(date, at(before), at(after)), expected, "{date}");
        }
    }

    #[test]
    fn pod_networks_are_read_once_each() {
        let node = serde_json::json!({
            "metadata": {"name": "a"}, "spec": {"podCIDR": "10.244.1.0/24", "podCIDRs": ["10.244.1.0/24", "fd00::/64", "x"]},
            "status": {"addresses": [{"type": "InternalIP", "address": "192.0.2.1"}, {"type": "Hostname", "address": "a"}]}
        });
        let read = networks(&serde_json::from_value(node).unwrap());
        assert_eq!(read.pods, ["10.244.1.0/24".parse().unwrap(), "fd00::/64".parse::<IpNet>().unwrap()]);
        assert_eq!((read.name.as_str(), read.addresses), ("a", vec!["192.0.2.1".parse().unwrap()]));
    }
}
