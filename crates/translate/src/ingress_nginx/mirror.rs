//! Annotations about mirrored requests. After any mistake nothing is mirrored, and the routes are
//! served. They must not know where the service is.

use std::sync::Arc;

use crate::annotation::{
    Compared, Context, Draft, Family, Form, Gives, MirrorDraft, OnError, Row, SOMETHING, Shape, Trust, put,
};
use crate::value::{HOST_HEADER, ON_OFF, ServiceAddress, mirror_host, mirror_url, on_off};
use crate::{RequestedMirror, RequestedService};
use ingressd_model::{MirrorPolicy, Template};

const TARGET: (&str, &str) = ("mirror-target", "https://mirror.example.com$request_uri");

/// A URL that may contain variables behind its host.
const URL: Shape = Shape {
    name: "a URL of http or https",
    pattern: r"https?://[!$-&(-:=?-\[\]_a-{}~]+",
    verbatim: true,
    ..Shape::DEFAULT
};

pub static FAMILY: Family = Family {
    title: "Mirroring",
    rows: &[
        Row::new("mirror-host", Form::Partly(&Form::Text(&HOST_HEADER), "which variables there are"))
            .counts_with(&[("mirror-target", SOMETHING)])
            .trust(Trust::High)
            .on_error(OnError::WithholdCopies)
            .documentation("The Host header of mirrored requests, instead of the host in mirror-target: letters, digits, - . _ : and $host or $http_host, which are that of the client's request.")
            .beside(&[TARGET])
            .tries(&[
                ("test.example.com", Gives::Sets("copies go to https://test.example.com${request_uri}")),
                ("$host", Gives::Sets("copies go to https://${host}${request_uri}")),
                ("$request_uri", Gives::Refused("a host is letters")),
                ("a\"; x", Gives::Refused("cannot hold")),
            ])
            .part(|draft, entry| put(&mut draft.mirror.host, mirror_host(entry.value))),
        Row::new("mirror-request-body", ON_OFF)
            .counts_with(&[("mirror-target", SOMETHING)])
            .on_error(OnError::WithholdCopies)
            .default("on")
            .documentation("Whether mirrored requests have the body of the request: on or off. With on, nginx reads the whole body before it sends the request to the backend, whatever proxy-request-buffering is.")
            .beside(&[TARGET])
            .tries(&[
                ("off", Gives::Sets("copies go to https://mirror.example.com${request_uri}, without their bodies")),
                ("on", Gives::Nothing),
                ("false", Gives::Refused("not on or off")),
            ])
            .part(|draft, entry| put(&mut draft.mirror.without_body, on_off(entry.value).map(|is_on| !is_on))),
        Row::new("mirror-target", Form::Partly(&Form::Text(&URL), "the variables that it may hold, and its host"))
            .trust(Trust::High)
            .on_error(OnError::WithholdCopies)
            .documentation(
                "Sends a copy of each request of the object to this URL and throws the answer away. The host is a name \
                 or an address, or NAME.NAMESPACE.svc or NAME.NAMESPACE.svc.cluster.local for a Service of the \
                 cluster; another namespace is refused unless the administrator allows it. Behind the host may stand \
                 $request_uri, $args, $query_string, $is_args, $arg_NAME, $host, $http_host, $scheme, $remote_addr and \
                 $request_method; without a path, that and the query are those of the request. The certificate of an \
                 https URL is not verified. A service that does not answer within ten seconds is given up; until then \
                 the next request of the same connection waits. A service that cannot be reached leaves the routes as \
                 they are. Requests for gRPC are not copied.",
            )
            .tries(&[
                (TARGET.1, Gives::Sets("copies go to https://mirror.example.com${request_uri}")),
                ("https://mirror.example.com", Gives::Sets("copies go to https://mirror.example.com${request_uri}")),
                (
                    "http://shadow.default.svc.cluster.local:8080/v2$request_uri",
                    Gives::Sets("copies go to http://shadow.default.svc.cluster.local:8080/v2${request_uri}"),
                ),
                ("mirror.example.com", Gives::Refused("begins with http://")),
                ("http://$host/", Gives::Refused("its host holds a variable")),
                ("http://localhost/", Gives::Refused("a name of this host itself")),
                ("http://mirror.example.com/$uri", Gives::Refused("contain a line break")),
                ("http://mirror.example.com/\"; }", Gives::Refused("cannot hold")),
            ])
            .part(|draft, entry| put(&mut draft.mirror.url, mirror_url(entry.value).map(|url| (url, entry.origin()))))
            .compared(Compared::Different(
                "Without a path in the URL, mirrored requests have the path of the request. They end after ten seconds without an answer, and gRPC requests are not mirrored. The node's own addresses and Services of other namespaces are refused.",
                "",
            )),
    ],
    finish,
};

/// The annotation that names a service by its URL.
pub const KEY: &str = "mirror-target";

/// The address in the annotation.
pub fn address(value: &str) -> Option<ServiceAddress> {
    Some(mirror_url(value).ok()?.address)
}

fn finish(draft: &mut Draft, _context: &Context<'_>) {
    let MirrorDraft { url, host, without_body, is_broken } = std::mem::take(&mut draft.mirror);
    // A mistake has a finding already.
    let Some((url, origin)) = url.filter(|_| !is_broken) else { return };
    let host: Template = host.unwrap_or(url.host);
    let policy = Arc::new(MirrorPolicy { host, target: url.target, has_body: !without_body });
    let (address, protocol) = (url.address, url.protocol);
    let service = RequestedService { origin, is_global: false, address, protocol, reuse: None };
    draft.reading.mirror = Some(Arc::new(RequestedMirror { service, policy }));
}
