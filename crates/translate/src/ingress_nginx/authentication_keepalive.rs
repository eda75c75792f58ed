//! Annotations about connections to the external authentication service. They must not know where
//! the service is, or what it is asked.

use std::sync::Arc;
use std::time::Duration;

use crate::annotation::{Ceiling, Compared, Draft, Entry, ExternalDraft, Form, Gives, Row, SOMETHING, put};
use crate::value::{ServiceAddress, boolean, integer};
use ingressd_model::finding::Reason;
use ingressd_model::{ConnectionReuse, Origin, Refused};

use super::external_authentication::{ASKS, BESIDE, URL};

/// A row about idle connections to the service, which has no effect without a service.
const fn keepalive(key: &'static str, form: Form) -> Row {
    Row::new(key, form).stands_alone().counts_with(ASKS).beside(BESIDE)
}

/// The default number of subrequests on one connection, and the default idle time in seconds.
const DEFAULT_REQUESTS: u32 = 1000;
const DEFAULT_TIMEOUT: u32 = 60;

/// The most idle connections of a worker.
const MOST_KEPT: u32 = 1000;

/// The number of idle connections.
pub const CONNECTIONS: Row = keepalive("auth-keepalive", Form::Integer { least: 0, most: MOST_KEPT as u64 })
    .ceiling(Ceiling::NotNeeded("it goes to 1000, and each is closed when nobody uses it"))
    .documentation(
        "How many idle connections each worker keeps to the service at auth-url, up to 1000; 0 keeps none. Without it \
         there are as many as to other backends. nginx keeps a connection after an answer without a body (204, \
         Content-Length: 0, or any answer to auth-method HEAD), and after one that it caches (auth-cache-key). It \
         closes the connection after any other answer.",
    )
    .compared(Compared::Different(
        "nginx keeps connections only after answers without a body, and after those that it caches.",
        "have the service answer without a body, or set auth-method: HEAD where it accepts that",
    ))
    .tries(&[
        ("8", Gives::Sets("keeps 8 connections to the service, each for 1000 requests and 60 s")),
        ("0", Gives::Sets("keeps 0 connections to the service, each for 1000 requests and 60 s")),
        ("-1", Gives::Refused("whole number")),
        ("1001", Gives::Refused("whole number")),
    ])
    .part(|draft, entry| put(&mut draft.external_of(entry).keepalive, number(entry, 0, MOST_KEPT)));

/// The number of subrequests on one connection.
pub const REQUESTS: Row = keepalive("auth-keepalive-requests", Form::Integer { least: 1, most: u32::MAX as u64 })
    .counts_with(&[("auth-keepalive", SOMETHING)])
    .ceiling(Ceiling::NotNeeded("a connection ends sooner or later by itself"))
    .documentation(
        "How many requests go over one connection to the service at auth-url before it is closed; 1000 by default.",
    )
    .beside(&[URL, ("auth-keepalive", "8")])
    .tries(&[
        ("100", Gives::Sets("keeps 8 connections to the service, each for 100 requests and 60 s")),
        ("1000", Gives::Nothing),
        ("0", Gives::Refused("whole number")),
    ])
    .part(|draft, entry| put(&mut draft.external_of(entry).keepalive_requests, number(entry, 1, u32::MAX)));

pub const SHARED_VARIABLES: Row = keepalive("auth-keepalive-share-vars", Form::Boolean)
    .documentation(
        "Whether the request to auth-url shares variables with the client's request. It always does, and sets none \
         that the client's request has.",
    )
    .tries(&[("true", Gives::Nothing), ("false", Gives::Nothing), ("yes", Gives::Refused("not true or false"))])
    .part(|_, entry| boolean(entry.value).map(drop));

/// How long a connection may be idle.
pub const TIMEOUT: Row = keepalive("auth-keepalive-timeout", Form::Integer { least: 1, most: 3600 })
    .counts_with(&[("auth-keepalive", SOMETHING)])
    .ceiling(Ceiling::NotNeeded("it goes to an hour, after which nginx ends a connection anyway"))
    .documentation(
        "For how many seconds a connection to the service at auth-url may be idle, up to an hour; 60 by default.",
    )
    .beside(&[URL, ("auth-keepalive", "8")])
    .tries(&[
        ("30", Gives::Sets("keeps 8 connections to the service, each for 1000 requests and 30 s")),
        ("60", Gives::Nothing),
        ("1m", Gives::Refused("whole number")),
    ])
    .part(|draft, entry| put(&mut draft.external_of(entry).keepalive_timeout, number(entry, 1, 3600)));

/// A number within these limits, and where it is said.
fn number(entry: &Entry<'_>, least: u64, most: u32) -> Result<(u32, Origin), Refused> {
    let number = integer(entry.value, least, most.into())?;
    Ok((u32::try_from(number).unwrap_or(u32::MAX), entry.origin()))
}

/// The settings of connections to the service, when there are any.
pub fn reuse(draft: &mut Draft, part: &ExternalDraft, address: &ServiceAddress) -> Option<Arc<ConnectionReuse>> {
    let ExternalDraft { keepalive, keepalive_requests, keepalive_timeout, .. } = part;
    let (connections, _) = keepalive.as_ref()?;
    if *address == ServiceAddress::SameHost {
        let said = [keepalive, keepalive_requests, keepalive_timeout];
        for (_, origin) in said.into_iter().flatten() {
            let note = "it has no effect where the host is $host: the connections of that path are used";
            draft.find(Reason::UnsupportedAnnotation, origin.clone(), note);
        }
        return None;
    }
    let number = |said: &Option<(u32, Origin)>, default| said.as_ref().map_or(default, |(number, _)| *number);
    Some(Arc::new(ConnectionReuse {
        connections: *connections,
        requests: number(keepalive_requests, DEFAULT_REQUESTS),
        timeout: Duration::from_secs(number(keepalive_timeout, DEFAULT_TIMEOUT).into()),
    }))
}
