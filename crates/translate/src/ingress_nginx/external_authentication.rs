//! Annotations about authentication by another service; any mistake closes the routes.

use std::sync::Arc;

use crate::annotation::{
    Compared, Context, Draft, Elsewhere, ExternalDraft, Family, Form, Gives, OnError, Row, SOMETHING, Shape, Trust, put,
};
use crate::value::{
    HEADER_NAME, ServiceAddress, TemplateUse, answer_durations, boolean, header_names, method, parameter, service_url,
    sign_in, template,
};
use crate::{RequestedAuthentication, RequestedService};
use ingressd_model::finding::Reason;
use ingressd_model::{
    AnswerDuration, AnswerMemory, AuthenticationPolicy, HeaderName, LONGEST_HEADER_NAME, LONGEST_MEMORY, Origin,
    Refused,
};

use super::authentication_keepalive as keepalive;
use super::config_map::{self, Fault};

pub(super) const URL: (&str, &str) = ("auth-url", "https://auth.example.com/check");
pub(super) const ASKS: &[(&str, &str)] = &[("auth-url", SOMETHING)];
pub(super) const BESIDE: &[(&str, &str)] = &[URL];
/// The outline of a subrequest without any of the other keys.
const ASKED: &str = "asks GET https://auth.example.com/check";

/// The default of how long responses are cached.
const DURATIONS: &str = "200 202 401 5m";

/// The header whose length tells nginx how often a request came by.
const HOPS: &str = "x-ingress-hops";

/// Headers that frame a request or a connection: nginx sets them itself.
const FRAMING: [&str; 10] = [
    "connection",
    "content-length",
    "expect",
    "host",
    "keep-alive",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// The most headers for a backend, or for the service.
const MOST_HEADERS: usize = 32;

/// The greatest total length of the headers of a subrequest.
const LONGEST_HEADERS: u32 = 1 << 20;

/// Statuses followed by a time.
const DURATION: Shape = Shape {
    name: "statuses with the time behind them",
    pattern: "(?:[2-5][0-9]{2}[ \t]+)*0*[0-9]{1,6}[smhd]?",
    ..Shape::DEFAULT
};
/// A key that distinguishes clients.
const CACHE_KEY: Shape = Shape { name: "text with a variable", pattern: "[!-~]*[$][!-~]*", ..Shape::DEFAULT };
/// The name of a query parameter.
const PARAMETER: Shape = Shape {
    name: "the name of a parameter",
    pattern: "[A-Za-z0-9._~-]+",
    longest: 64,
    verbatim: true,
    ..Shape::DEFAULT
};
/// A URL that may contain variables.
const URL_WITH_VARIABLES: Shape = Shape {
    name: "a URL of http or https",
    pattern: "(?:https?|[$]scheme|[$]pass_access_scheme)://[!-~]+",
    verbatim: true,
    ..Shape::DEFAULT
};

const FORM_OF_URL: Form =
    Form::Partly(&Form::Text(&URL_WITH_VARIABLES), "the variables that it may hold, and its host");

/// A row that depends on `auth-url`.
const fn belonging(key: &'static str, form: Form) -> Row {
    Row::new(key, form).on_error(OnError::Close).stands_alone().counts_with(ASKS).beside(BESIDE)
}

pub static FAMILY: Family = Family {
    title: "External authentication",
    rows: &[
        belonging("auth-always-set-cookie", Form::Boolean)
            .elsewhere(&[Elsewhere::LeaveOut])
            .documentation(
                "With true, cookies of the service at auth-url are added to all responses; otherwise only to those \
                 with a status below 400. Clients get the first six; with nginx before 1.23 the first one.",
            )
            .tries(&[
                ("true", Gives::Sets("its cookies reach clients always")),
                ("false", Gives::Nothing),
                ("yes", Gives::Refused("not true or false")),
            ])
            .part(|draft, entry| put(&mut draft.external_of(entry).always_sets_cookie, boolean(entry.value))),
        belonging("auth-cache-duration", Form::Partly(&Form::List(&DURATION), "which statuses and times there may be"))
            .compared(Compared::StricterValues("A week is the longest.", ""))
            .elsewhere(&[Elsewhere::Close, Elsewhere::LeaveOut])
            .counts_with(&[("auth-cache-key", SOMETHING)])
            .trust(Trust::Medium)
            .documentation(
                "For how long answers of auth-url are cached where auth-cache-key is set: statuses followed by a time, \
                 such as 200 202 5m, 401 10s, with commas between. The default is 200 202 401 5m; a week is the \
                 longest. Cache-Control and Expires of the service take precedence, and an answer with a cookie is not \
                 cached.",
            )
            .beside(&[URL, ("auth-cache-key", "$http_authorization")])
            .tries(&[
                ("200 1m, 401 10s", Gives::Sets("200 are remembered for 60 s")),
                ("200 5m;", Gives::Refused("not statuses with a time")),
                ("5m 200", Gives::Refused("not statuses with a time")),
                ("200 30d", Gives::Refused("longer than a week")),
            ])
            .part(|draft, entry| put(&mut draft.external_of(entry).memory_durations, answer_durations(entry.value))),
        belonging("auth-cache-key", Form::Partly(&Form::Text(&CACHE_KEY), "the variables that it may hold"))
            .compared(Compared::StricterValues(
                "It holds a variable that tells clients apart, and none but those that repeat what the client sent.",
                "",
            ))
            .trust(Trust::Medium)
            .documentation(
                "Caches answers of auth-url, for requests to paths of the namespace on the same host with the same \
                 value of this key: text and variables, at least one of which tells clients apart, such as \
                 $http_authorization or $cookie_session. The cache contains the key in plain text, in a file that only \
                 nginx can read, in the folder of its temporary files.",
            )
            .tries(&[
                (
                    "$cookie_session$http_authorization",
                    Gives::Sets("remembered by ${cookie_session}${http_authorization}"),
                ),
                ("fixed", Gives::Refused("holds no variable")),
                ("$ssl_client_raw_cert", Gives::Refused("unknown")),
                ("$cookie_a;", Gives::Refused("cannot hold \";\"")),
            ])
            .part(|draft, entry| {
                let key = template(entry.value.trim(), TemplateUse::Key)?;
                if !key.has_variables() {
                    return Err(Refused::because("it holds no variable, and one answer would count for all clients"));
                }
                put(&mut draft.external_of(entry).memory_key, Ok(key))
            }),
        keepalive::CONNECTIONS,
        keepalive::REQUESTS,
        keepalive::SHARED_VARIABLES,
        keepalive::TIMEOUT,
        belonging("auth-method", Form::Word(&["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]))
            .compared(Compared::StricterValues("CONNECT, TRACE and unusual methods are refused.", ""))
            .elsewhere(&[Elsewhere::Close])
            .documentation(
                "The method of the request to auth-url: GET, the default, HEAD, POST, PUT, PATCH, DELETE or OPTIONS. \
                 The request never has a body.",
            )
            .tries(&[
                ("HEAD", Gives::Sets("asks HEAD https://auth.example.com/check")),
                ("get", Gives::Refused("not one of GET")),
                ("GET; }", Gives::Refused("not one of GET")),
            ])
            .part(|draft, entry| put(&mut draft.external_of(entry).method, method(entry.value))),
        belonging("auth-proxy-set-headers", config_map::REFERENCE)
            .compared(Compared::StricterValues(
                "Values hold no variables but those that repeat what the client sent.",
                "",
            ))
            .elsewhere(&[Elsewhere::Close])
            .trust(Trust::Medium)
            .documentation(
                "A ConfigMap with further headers for the request to auth-url: name, or namespace/name. Each key is \
                 the name of a header, each value its value, which may contain the variables of rewrite-target except \
                 those of the path and the query. Other namespaces are refused unless the administrator allows them. A \
                 ConfigMap that is missing or has other contents closes the routes.",
            )
            .tries(&[
                ("headers", Gives::Sets("the question has X-Realm: staff of ${host}")),
                ("default/headers", Gives::Sets("the question has X-Realm: staff of ${host}")),
                ("absent", Gives::Refused("does not exist")),
                ("bad-headers", Gives::Refused("unknown \"undefined\" variable")),
                ("elsewhere/headers", Gives::Refused("another namespace")),
                ("../headers", Gives::Refused("not the name of a ConfigMap")),
            ])
            .part(|draft, entry| put(&mut draft.external_of(entry).request_headers, config_map::reference(entry))),
        belonging(
            "auth-request-redirect",
            Form::NotJudged("the variables that it may hold are known to the parser alone"),
        )
        .elsewhere(&[Elsewhere::LeaveOut])
        .trust(Trust::Medium)
        .documentation(
            "Value of X-Auth-Request-Redirect for the service at auth-url; the default is path and query of the \
             client's request.",
        )
        .tries(&[
            (
                "https://example.com/back",
                Gives::Sets("the question has X-Auth-Request-Redirect: https://example.com/back"),
            ),
            ("/a;b", Gives::Refused("cannot hold \";\"")),
            ("/$uri", Gives::Refused("contain a line break")),
        ])
        .part(|draft, entry| {
            put(&mut draft.external_of(entry).request_redirect, template(entry.value, TemplateUse::Question))
        }),
        belonging(
            "auth-response-headers",
            Form::Partly(&Form::List(&HEADER_NAME), "headers that frame a request, and how many and how long they are"),
        )
        .compared(Compared::StricterValues(
            "Headers that frame a request, such as Host and Content-Length, are refused, and so are more than 32.",
            "",
        ))
        .elsewhere(&[Elsewhere::Close])
        .trust(Trust::Medium)
        .documentation(
            "Headers of the answer of auth-url that are passed to the backend, a comma-separated list of at most 32. \
             The backend does not get the client's headers of these names. One that the service sends several times \
             arrives once, with commas between its values; nginx before 1.23 passes on only the first \
             (MissingCapability). Headers that frame a request, such as Host, Content-Length and Connection, are \
             refused.",
        )
        .tries(&[
            ("X-User", Gives::Sets("the backend gets X-User")),
            ("X-User, X-Email", Gives::Sets("the backend gets X-User, X-Email")),
            ("X-A-Name-Of-A-Header-That-Is-Longer-Than-Others", Gives::Refused("more than nginx takes")),
            ("X-User;", Gives::Refused("not a header name")),
            ("Content-Length", Gives::Refused("frames the request")),
            ("x-ingress-hops", Gives::Refused("round and round")),
        ])
        .part(|draft, entry| {
            let names = header_names(entry.value)?;
            if names.len() > MOST_HEADERS {
                return Err(Refused::because("it names more than 32 headers"));
            }
            names.iter().try_for_each(settable)?;
            put(&mut draft.external_of(entry).response_headers, Ok(names))
        }),
        belonging("auth-signin", FORM_OF_URL)
            .compared(Compared::StricterValues(
                "Its host is a name or $host, and it contains no decoded variable, such as $uri.",
                "use $escaped_request_uri",
            ))
            .trust(Trust::High)
            .documentation(
                "URL to which clients are redirected with 302 when the service at auth-url answers 401: an absolute \
                 URL, whose host is a name or $host. Where its query has no parameter of the name in \
                 auth-signin-redirect-param, that parameter is added, with the URL of the client's request. Variables \
                 are those of rewrite-target without $uri and $document_uri, and $escaped_request_uri.",
            )
            .tries(&[
                (
                    "https://login.example.com/start",
                    Gives::Sets(
                        "signs in at https://login.example.com/start?rd=${client_scheme}://${client_host}${escaped_request_uri}",
                    ),
                ),
                (
                    "https://$host/oauth2/start?rd=$escaped_request_uri",
                    Gives::Sets("signs in at https://${host}/oauth2/start?rd=${escaped_request_uri}"),
                ),
                ("/login", Gives::Refused("begins with http:// or https://")),
                ("https://$arg_host/", Gives::Refused("holds a variable")),
                ("https://login.example.com/$uri", Gives::Refused("contain a line break")),
                ("https://login.example.com/\"; }", Gives::Refused("cannot hold")),
            ])
            .part(|draft, entry| {
                sign_in(entry.value, "rd")?;
                put(&mut draft.external_of(entry).sign_in, Ok((entry.value.to_owned(), entry.origin())))
            }),
        belonging("auth-signin-redirect-param", Form::Text(&PARAMETER))
            .counts_with(&[("auth-signin", SOMETHING)])
            .trust(Trust::Medium)
            .documentation("The name of the parameter of auth-signin with the URL to return to; rd by default.")
            .beside(&[URL, ("auth-signin", "https://login.example.com/start")])
            .tries(&[
                (
                    "back",
                    Gives::Sets(
                        "signs in at https://login.example.com/start?back=${client_scheme}://${client_host}${escaped_request_uri}",
                    ),
                ),
                ("a=b", Gives::Refused("not the name of a parameter")),
            ])
            .part(|draft, entry| put(&mut draft.external_of(entry).parameter, parameter(entry.value))),
        belonging("auth-url", FORM_OF_URL)
            .elsewhere(&[Elsewhere::Refuse, Elsewhere::Close])
            .counts_with(&[])
            .documentation(
                "nginx sends a request to this URL before each request of a client: with a status from 200 to 299 the \
                 client's request passes, 401 and 403 go to the client, and any other answer becomes 500. The host is \
                 a name or an address, NAME.NAMESPACE.svc or NAME.NAMESPACE.svc.cluster.local for a Service of the \
                 cluster, or $host for a path of the same host; another namespace is refused unless the administrator \
                 allows it. Path and query may contain $host, $http_host, $remote_addr, $request_method, $request_uri, \
                 $escaped_request_uri, $scheme and $server_name. The certificate of an https URL is not verified. No \
                 request passes without an answer of the service.",
            )
            .compared(Compared::Different(
                "Names outside of the cluster are resolved by the DNS servers in upstreams.resolvers, and Services of \
                 other namespaces need access.shared-services or cross-namespace.",
                "",
            ))
            .trust(Trust::High)
            .beside(&[])
            .tries(&[
                ("https://auth.example.com/check", Gives::Sets(ASKED)),
                (
                    "http://auth.default.svc.cluster.local:4180/check?u=$request_uri",
                    Gives::Sets("asks GET http://auth.default.svc.cluster.local:4180/check?u=${request_uri}"),
                ),
                ("https://$host/oauth2/auth", Gives::Sets("asks GET https://${client_host}/oauth2/auth")),
                ("auth.example.com", Gives::Refused("begins with http://")),
                ("http://localhost:4180/", Gives::Refused("a name of this host itself")),
                ("http://$http_x/", Gives::Refused("its host holds a variable")),
                ("http://auth.example.com/$undefined", Gives::Refused("unknown \"undefined\" variable")),
                ("http://auth.example.com/#;}", Gives::Refused("cannot hold \";\"")),
            ])
            .part(|draft, entry| {
                put(&mut draft.external_of(entry).url, service_url(entry.value).map(|url| (url, entry.origin())))
            }),
        Row::new("enable-global-auth", Form::Boolean)
            .documentation(
                "With false, the administrator's service for all objects (global-auth-url) is not used for the routes \
                 of the object.",
            )
            .tries(&[
                ("false", Gives::Sets("the service for all objects is not asked")),
                ("true", Gives::Nothing),
                ("no", Gives::Refused("not true or false")),
            ])
            .part(|draft, entry| put(&mut draft.opts_out, boolean(entry.value).map(|asks| !asks))),
    ],
    finish,
};

/// The annotation that names a service by its URL.
pub const KEY: &str = "auth-url";

/// The address in the annotation.
pub fn address(value: &str) -> Option<ServiceAddress> {
    Some(service_url(value).ok()?.address)
}

/// Checks whether a header may be set: nginx refuses names that do not fit into its tables, and
/// sets some itself.
pub(super) fn settable(name: &HeaderName) -> Result<(), Refused> {
    if name.as_str().len() > LONGEST_HEADER_NAME {
        return Err(Refused::because("a name of a header has more than 46 letters, which is more than nginx takes"));
    }
    if name.as_str().eq_ignore_ascii_case(HOPS) {
        return Err(Refused::because("it ends requests that go round and round"));
    }
    match FRAMING.iter().any(|framing| name.as_str().eq_ignore_ascii_case(framing)) {
        true => Err(Refused(format!("{name} frames the request, and nginx writes it").into())),
        false => Ok(()),
    }
}

fn finish(draft: &mut Draft, context: &Context<'_>) {
    let own = std::mem::take(&mut draft.external);
    let common = std::mem::take(&mut draft.common);
    draft.reading.opts_out = draft.opts_out;
    let (part, is_global) = match own.url {
        Some(_) => (own, false),
        None if draft.opts_out => return,
        None => (common, true),
    };
    part.faults.iter().for_each(|fault| draft.close_for(fault.clone()));
    let Some((url, origin)) = part.url.clone() else { return };
    let reuse = keepalive::reuse(draft, &part, &url.address);
    match policy(context, part, &url) {
        Ok(policy) => {
            let (address, protocol) = (url.address, url.protocol);
            let policy = Arc::new(policy);
            let service = RequestedService { origin, is_global, address, protocol, reuse };
            draft.reading.authentication = Some(Arc::new(RequestedAuthentication { service, policy }));
        }
        Err((reason, origin, note)) => draft.close(reason, origin, note),
    }
}

fn policy(
    context: &Context<'_>,
    part: ExternalDraft,
    url: &crate::value::ServiceUrl,
) -> Result<AuthenticationPolicy, Fault> {
    let refused = |origin: Origin| {
        move |refused: Refused| {
            let note = format!("it is refused: {refused}; the routes answer 503 until it is corrected");
            (Reason::InvalidSecurityValue, origin, note)
        }
    };
    let at = part.url.as_ref().map_or_else(|| Origin::object(context.object), |(_, origin)| origin.clone());
    let sign_in = match &part.sign_in {
        Some((url, origin)) => {
            let parameter = part.parameter.as_deref().unwrap_or("rd");
            Some(sign_in(url, parameter).map_err(refused(origin.clone()))?)
        }
        None => None,
    };
    let mut request_headers = match &part.request_headers {
        Some(reference) => config_map::headers(context, reference, |name, value| {
            settable(&name)?;
            Ok((name, template(value, TemplateUse::Header)?))
        })?,
        None => Vec::new(),
    };
    request_headers.extend(part.snippet_headers);
    let longest = request_headers.iter().map(|(_, value)| value.longest());
    if longest.fold(0, u32::saturating_add) > LONGEST_HEADERS {
        return Err(refused(at)(Refused::because(
            "the headers of the question may become longer than 1 MB together; refer to fewer variables",
        )));
    }
    let memory = match part.memory_key {
        Some(key) => {
            let default = || answer_durations(DURATIONS).map_err(refused(at.clone()));
            let durations: Vec<AnswerDuration> = part.memory_durations.map_or_else(default, Ok)?;
            debug_assert!(durations.iter().all(|one| one.duration() <= LONGEST_MEMORY));
            Some(AnswerMemory { key, durations })
        }
        None => None,
    };
    let method = part.method.map_or_else(|| HeaderName::new("GET"), Ok).map_err(refused(at))?;
    Ok(AuthenticationPolicy {
        host: url.host.clone(),
        target: url.target.clone(),
        method,
        sign_in,
        response_headers: part.response_headers,
        request_headers,
        request_redirect: part.request_redirect,
        memory,
        always_sets_cookie: part.always_sets_cookie,
    })
}
