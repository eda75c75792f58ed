//! Annotations about headers, cookies and redirects between client and backend.

use std::sync::Arc;

use crate::annotation::{
    ANYTHING, Compared, Context, Draft, Elsewhere, Entry, Family, Form, Gives, OnError, Row, Shape, Trust, put,
};
use crate::value::{
    CONFIG_MAP_REFERENCE, HOST_HEADER, boolean, goes_to_known_host, host_header, one_of, text_with_groups,
};
use ingressd_model::catalogue::{DirectiveRow, PROXY_COOKIE_DOMAIN, PROXY_COOKIE_PATH, PROXY_REDIRECT};
use ingressd_model::{
    AnswerHeader, Argument, BackendHeaders, Connection, HeaderName, HeaderText, Refused, RewriteTarget, TargetPart,
};

use super::config_map;

/// The form of [`word`].
const WORD: Shape = Shape {
    name: "letters, digits and - . _ ~ / : , ? & =, with $1 to $9 and variables, or off",
    pattern: r"[A-Za-z0-9._/:,?&=${}-][A-Za-z0-9._~/:,?&=${}-]*",
    verbatim: true,
    ..Shape::DEFAULT
};

/// The form of [`pair`].
const PAIR: Shape = Shape {
    name: "off, or two words of letters, digits, variables and - . _ ~ / : , ? & = with a blank between",
    pattern: r"off|[A-Za-z0-9._/:,?&=${}-][A-Za-z0-9._~/:,?&=${}-]*[\x09-\x0d \x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}]+[A-Za-z0-9._/:,?&=${}-][A-Za-z0-9._~/:,?&=${}-]*",
    ..Shape::DEFAULT
};

/// What the forms of texts with variables do not judge.
const VARIABLES: &str = "which variables there are";
const GROUPS: &str = "Variables are those about the request of the client. With groups of the path or $uri, paths with control \
                      characters are answered with 400.";

pub static FAMILY: Family = Family {
    title: "Headers and cookies",
    rows: &[
        Row::new("connection-proxy-header", Form::Word(&["close", "keep-alive"]))
            .elsewhere(&[Elsewhere::Refuse])
            .on_error(OnError::Refuse)
            .documentation(
                "A fixed Connection header for the backend, close or keep-alive. WebSockets do not work then.",
            )
            .tries(&[
                ("close", Gives::Sets("backends get Connection: close")),
                ("keep-alive", Gives::Sets("backends get Connection: keep-alive")),
                ("upgrade", Gives::Refused("not close or keep-alive")),
            ])
            .part(|draft, entry| {
                let words = [("close", Connection::Close), ("keep-alive", Connection::KeepAlive)];
                put(&mut draft.backend_headers.connection, one_of(entry.value, &words, "it is not close or keep-alive"))
            }),
        Row::new(
            "custom-headers",
            Form::Partly(
                &Form::Text(&CONFIG_MAP_REFERENCE),
                "whether the ConfigMap is there, may be named, and holds headers that the administrator allows",
            ),
        )
        .elsewhere(&[Elsewhere::Close])
        .trust(Trust::Medium)
        .on_error(OnError::Close)
        .documentation("A ConfigMap with headers of responses, which replace those of backends and those of the administrator: name, or namespace/name. Each key is the name of a header, each value its value, which is sent unchanged. The administrator lists the allowed names (headers.allowed, or global-allowed-response-headers of the ConfigMap of ingress-nginx). Other namespaces are refused unless the administrator allows them. A ConfigMap that is missing or has other contents closes the routes.")
        .compared(Compared::StricterValues(
            "Other namespaces are refused unless the administrator allows them, and headers that nginx itself sets cannot be replaced.",
            "copy the ConfigMap into the namespace of the object, or set cross-namespace",
        ))
        .tries(&[
            ("answer-headers", Gives::Sets("answers have X-Frame-Options: DENY")),
            ("default/answer-headers", Gives::Sets("answers have Cache-Control: max-age=60; $1 \"x\"")),
            ("absent", Gives::Refused("does not exist")),
            ("headers", Gives::Refused("does not list this header")),
            ("bad-answer-headers", Gives::Refused("control character")),
            ("elsewhere/answer-headers", Gives::Refused("another namespace")),
            ("../headers", Gives::Refused("not the name of a ConfigMap")),
        ])
        .part(|draft, entry| put(&mut draft.answer_headers, config_map::reference(entry))),
        Row::new("http2-push-preload", Form::Boolean)
            .elsewhere(&[Elsewhere::Refuse])
            .on_error(OnError::Refuse)
            .documentation(
                "HTTP/2 push of the resources in Link headers. nginx and browsers no longer support it, so it has no \
                 effect.",
            )
            .tries(&[("true", Gives::Nothing), ("false", Gives::Nothing), ("yes", Gives::Refused("not true or false"))])
            .part(|_, entry| boolean(entry.value).map(drop)),
        Row::new("proxy-cookie-domain", Form::Partly(&Form::Text(&PAIR), VARIABLES))
            .trust(Trust::Medium)
            .documentation(
                "Changes the Domain of cookies that the backend sets: the old value, a blank, and the new value; or \
                 off. $host is the host of the request.",
            )
            .tries(&[
                ("localhost $host", Gives::Sets("proxy_cookie_domain localhost ${host};")),
                ("localhost $1.example.com", Gives::Refused("no other variable than $host")),
                ("localhost example.com", Gives::Sets("proxy_cookie_domain localhost example.com;")),
                ("off", Gives::Nothing),
                ("localhost", Gives::Refused("two words")),
                ("~.* example.com", Gives::Refused("expression")),
                ("a;b c", Gives::Refused("cannot hold")),
            ])
            .part(|draft, entry| {
                pair(&PROXY_COOKIE_DOMAIN, draft, entry, |part| match part {
                    TargetPart::Capture(_) => false,
                    TargetPart::Variable(name) => name.as_str() == "host",
                    TargetPart::Literal(_) => true,
                })
            }),
        Row::new("proxy-cookie-path", Form::Partly(&Form::Text(&PAIR), VARIABLES))
            .trust(Trust::Medium)
            .documentation(
                "Changes the Path of cookies that the backend sets: the old beginning, a blank, and the new beginning; \
                 or off. $1 to $9 are the groups in the path of the rule, and the variables are those of \
                 rewrite-target. Requests for which they hold a ; or a control character are answered with 400.",
            )
            .compared(Compared::StricterValues(GROUPS, ""))
            .tries(&[
                ("/one/ /", Gives::Sets("proxy_cookie_path /one/ /;")),
                ("off", Gives::Nothing),
                ("/one", Gives::Refused("two words")),
                ("~^/x /", Gives::Refused("expression")),
                ("/one /two$uri", Gives::Sets("proxy_cookie_path /one /two${uri};")),
                ("/one /$undefined", Gives::Refused("unknown \"undefined\" variable")),
                ("/one /;", Gives::Refused("cannot hold")),
            ])
            .part(|draft, entry| pair(&PROXY_COOKIE_PATH, draft, entry, |_| true)),
        Row::new("proxy-redirect-from", Form::Partly(&Form::Text(&WORD), VARIABLES))
            .counts_with(&[("proxy-redirect-to", ANYTHING)])
            .trust(Trust::Medium)
            .documentation("Beginning of redirects and Refresh headers of the backend that proxy-redirect-to replaces. With off and default they stay as they are. $1 to $9 are the groups in the path of the rule, and the variables are those of rewrite-target. With groups, $uri or $document_uri, paths with control characters, such as %0A, are answered with 400.")
            .compared(Compared::StricterValues(GROUPS, ""))
            .beside(&[("proxy-redirect-to", "https://example.com/")])
            .tries(&[
                ("http://backend/", Gives::Sets("proxy_redirect http://backend/ https://example.com/;")),
                ("off", Gives::Nothing),
                ("default", Gives::Nothing),
                ("~^http", Gives::Refused("expression")),
                ("http://$host/", Gives::Sets("proxy_redirect http://${host}/ https://example.com/;")),
                ("http://a;", Gives::Refused("cannot hold")),
            ])
            .part(|draft, entry| {
                put(&mut draft.redirects.from, redirect_part(entry).map(|from| (from, entry.origin())))
            }),
        Row::new(
            "proxy-redirect-to",
            Form::Partly(&Form::Text(&WORD), "which variables there are, and where a client could choose the host"),
        )
        .counts_with(&[("proxy-redirect-from", ANYTHING)])
        .trust(Trust::Medium)
        .documentation("What takes the place of proxy-redirect-from, with groups and variables as there. The host of a URL is a text or $host, and what follows it begins with /, ?, #, $request_uri or $uri.")
        .compared(Compared::StricterValues(GROUPS, ""))
        .beside(&[("proxy-redirect-from", "http://backend/")])
        .tries(&[
            ("https://example.com/", Gives::Sets("proxy_redirect http://backend/ https://example.com/;")),
            ("$scheme://$host/a/", Gives::Sets("proxy_redirect http://backend/ ${scheme}://${host}/a/;")),
            ("off", Gives::Nothing),
            ("a\"b", Gives::Refused("cannot hold")),
            ("https://$arg_x/", Gives::Refused("its host is neither")),
            ("$arg_x", Gives::Refused("begins with http://")),
        ])
        .part(|draft, entry| {
            let to = redirect_part(entry)?;
            // A path is one of the same host, which is written in front of it.
            if let Some(to) = to.as_ref().filter(|to| to.is_dynamic() && !to.to_string().starts_with('/')) {
                goes_to_known_host(to)?;
            }
            put(&mut draft.redirects.to, Ok(to))
        }),
        Row::new("upstream-vhost", Form::Partly(&Form::Text(&HOST_HEADER), "which variables there are"))
            .compared(Compared::StricterValues(
                "Variables are those about the request of the client, and those of the Service. With groups of the \
                 path or $uri, paths with control characters are answered with 400.",
                "",
            ))
            .elsewhere(&[Elsewhere::Refuse])
            .on_error(OnError::Refuse)
            .documentation(
                "The Host header for the backend: letters, digits, - . _ :, $1 to $9 for the groups in the path of the \
                 rule, and variables, those of rewrite-target, and $service_name, $service_port, $namespace and \
                 $ingress_name, which are the same for all requests. With groups, $uri or $document_uri, paths with \
                 control characters, such as %0A, are answered with 400. X-Forwarded-Host stays the host of the \
                 client's request.",
            )
            .tries(&[
                ("internal.example.com", Gives::Sets("backends get Host: internal.example.com")),
                (
                    "$service_name.$namespace.svc.cluster.local",
                    Gives::Sets("backends get Host: ${service_name}.${namespace}.svc.cluster.local"),
                ),
                ("$uri", Gives::Sets("backends get Host: ${uri}")),
                ("$undefined", Gives::Refused("unknown \"undefined\" variable")),
                ("a/b", Gives::Refused("a host is")),
                ("a;b", Gives::Refused("cannot hold")),
                ("$1.example.com", Gives::Sets("backends get Host: $1.example.com")),
            ])
            .part(|draft, entry| put(&mut draft.backend_headers.host, host_header(entry.value))),
    ],
    finish,
};

/// The prefix of a redirect, or its replacement; `None` when the value asks for none.
fn redirect_part(entry: &Entry<'_>) -> Result<Option<RewriteTarget>, Refused> {
    match entry.value {
        "off" | "default" => Ok(None),
        value => word(entry, value).map(Some),
    }
}

/// Parses a word of URL characters, groups and variables, which nginx does not read as an
/// expression.
fn word(entry: &Entry<'_>, value: &str) -> Result<RewriteTarget, Refused> {
    if value.is_empty() {
        return Err(Refused::because("it is empty"));
    }
    if value.starts_with('~') {
        return Err(Refused::because("nginx would read it as an expression"));
    }
    let word = text_with_groups(value, |one| one.is_ascii_alphanumeric() || "-._~/:,?&=".contains(one))?;
    match !entry.is_own && word.has_captures() {
        true => Err(Refused::because("it refers to groups such as $1, and a default for all paths has none")),
        false => Ok(word),
    }
}

/// Sets a directive of two words, unless the value asks for none.
fn pair(
    row: &'static DirectiveRow,
    draft: &mut Draft,
    entry: &Entry<'_>,
    fits: fn(&TargetPart) -> bool,
) -> Result<(), Refused> {
    let value = entry.value.trim();
    if value == "off" {
        return Ok(());
    }
    let words: Vec<_> = value.split_whitespace().map(|text| word(entry, text)).collect::<Result<_, _>>()?;
    if !words.iter().flat_map(RewriteTarget::parts).all(fits) {
        return Err(Refused::because("it may hold no other variable than $host"));
    }
    match <[RewriteTarget; 2]>::try_from(words) {
        Ok(words) => draft.directive(row, words.map(Argument::Target).into(), entry.origin()),
        Err(_) => return Err(Refused::because("it is neither off nor two words")),
    }
    Ok(())
}

/// A header, provided that the administrator allows it.
fn allowed(context: &Context<'_>, name: HeaderName, value: &str) -> Result<AnswerHeader, Refused> {
    let is_listed = |own: &HeaderName| own.as_str().eq_ignore_ascii_case(name.as_str());
    if !context.options.allowed_headers.iter().any(is_listed) {
        return Err(Refused::because("the administrator's headers.allowed does not list this header"));
    }
    AnswerHeader::new(name, HeaderText::new(value)?)
}

fn answer_headers(draft: &mut Draft, context: &Context<'_>) {
    let Some(wanted) = draft.answer_headers.take() else { return };
    match config_map::headers(context, &wanted, |name, value| allowed(context, name, value)) {
        Ok(headers) if headers.is_empty() => {}
        Ok(headers) => draft.reading.behaviour.answer_headers = Some(headers.into()),
        Err((reason, origin, note)) => draft.close(reason, origin, note),
    }
}

fn finish(draft: &mut Draft, context: &Context<'_>) {
    answer_headers(draft, context);
    let headers = std::mem::take(&mut draft.backend_headers);
    if headers != BackendHeaders::default() {
        draft.reading.behaviour.backend_headers = Some(Arc::new(headers));
    }
    // If one of them asks for nothing, both do.
    if let (Some((Some(from), origin)), Some(Some(to))) = (draft.redirects.from.take(), draft.redirects.to.take()) {
        draft.directive(&PROXY_REDIRECT, [from, to].map(Argument::Target).into(), origin);
    }
}
