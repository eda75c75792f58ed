//! Annotations about redirects of all requests of an object.

use crate::annotation::{
    Ceiling, Compared, Context, Draft, Elsewhere, Entry, Family, Form, Gives, OnError, Row, SOMETHING, Scope, Trust,
    built_in, put,
};
use crate::value::{REDIRECT_TARGET, REDIRECT_TARGET_OR_PATH, boolean, is_number, redirect_status, redirect_target};
use ingressd_model::catalogue::ABSOLUTE_REDIRECT;
use ingressd_model::{Argument, Refused};

/// The default statuses.
const PERMANENT: &str = "301";
const TEMPORAL: &str = "302";

const GROUPS: &str = "The host is a text or $host, and variables are those about the request of the client. With groups of the \
                      path or $uri, paths with control characters are answered with 400.";

/// What the forms of targets do not judge.
const TARGET: &str =
    "which variables there are, and whether what follows in a URL is a host, and a port where there is one";

pub static FAMILY: Family = Family {
    title: "Redirects",
    rows: &[
        Row::new("from-to-www-redirect", Form::Boolean)
            .compared(Compared::Different(
                "Location has a port only where it is not the default one, and the slash at the end of a path stays. \
                 Where plain requests go to https, they do so first.",
                "",
            ))
            .elsewhere(&[Elsewhere::Refuse])
            .scope(Scope::Server)
            .on_error(OnError::Refuse)
            .documentation(
                "Redirects requests for www.HOST to the host of the rule, or for the host without www. where the rule \
                 has it, with the same path and query and status 308 or tls.redirect-status. Plain requests go to \
                 https first where the object redirects them and the certificate of the redirected host covers it. It \
                 has no effect where another rule of the namespace has that other host, or where another namespace \
                 asked for it first.",
            )
            .tries(&[
                ("true", Gives::Sets("hosts: from www. or without it")),
                ("false", Gives::Nothing),
                ("yes", Gives::Refused("not true or false")),
            ])
            .part(|draft, entry| {
                let asks = boolean(entry.value)?;
                put(&mut draft.reading.host.redirects_www, Ok(asks.then(|| entry.origin())))
            }),
        Row::new("permanent-redirect", Form::Partly(&Form::Text(&REDIRECT_TARGET_OR_PATH), TARGET))
            .elsewhere(&[Elsewhere::Refuse])
            .trust(Trust::Medium)
            .on_error(OnError::Refuse)
            .documentation(
                "Answers all requests of the object with a redirect to this URL, or to this path of the same host. The \
                 status is 301, or permanent-redirect-code. $1 to $9 are the groups in the path of the rule, and the \
                 variables are those of rewrite-target, both as nginx has decoded them. The host of a URL is a text or \
                 $host, and what follows it begins with /, ?, #, $request_uri or $uri. With groups, $uri or \
                 $document_uri, paths with control characters, such as %0A, are answered with 400.",
            )
            .compared(Compared::StricterValues(GROUPS, ""))
            .tries(&[
                ("https://example.com/new", Gives::Sets("all requests: 301 to https://example.com/new")),
                ("/new", Gives::Sets("all requests: 301 to /new")),
                (
                    "https://example.com$request_uri",
                    Gives::Sets("all requests: 301 to https://example.com${request_uri}"),
                ),
                ("$scheme://$host/new/$arg_to", Gives::Sets("all requests: 301 to ${scheme}://${host}/new/${arg_to}")),
                ("https://$http_x/", Gives::Refused("its host is neither")),
                ("https://example.com$args", Gives::Refused("its host is neither")),
                ("https://example.com/$undefined", Gives::Refused("unknown \"undefined\" variable")),
                ("https://example.com/; }", Gives::Refused("cannot hold \";\"")),
                ("example.com", Gives::Refused("begins with http://")),
            ])
            .part(|draft, entry| put(&mut draft.redirect.permanent, redirect_target(entry.value, true))),
        Row::new("permanent-redirect-code", Form::Word(&["301", "302", "303", "307", "308"]))
            .on_error(OnError::Refuse)
            .elsewhere(&[Elsewhere::Refuse])
            .counts_with(&[("permanent-redirect", SOMETHING)])
            .default(PERMANENT)
            .ceiling(Ceiling::NotNeeded("it is one of a few statuses"))
            .documentation(
                "The status of permanent-redirect: 301, 302, 303, 307 or 308. With any other number the default is \
                 used.",
            )
            .beside(&[("permanent-redirect", "https://example.com")])
            .tries(&[
                ("308", Gives::Sets("all requests: 308 to https://example.com")),
                ("200", Gives::LeftOut("not one of 301")),
                ("moved", Gives::Refused("not a number")),
            ])
            .part(|draft, entry| code(draft, entry, true, |draft| &mut draft.redirect.permanent_status)),
        Row::new("relative-redirects", Form::Boolean)
            .elsewhere(&[Elsewhere::Refuse])
            .on_error(OnError::Refuse)
            .documentation("Writes redirects that nginx itself makes without scheme and host.")
            .tries(&[
                ("true", Gives::Sets("absolute_redirect off;")),
                ("false", Gives::Nothing),
                ("yes", Gives::Refused("not true or false")),
            ])
            .part(|draft, entry| {
                if boolean(entry.value)? {
                    draft.directive(&ABSOLUTE_REDIRECT, vec![Argument::Switch(false)], entry.origin());
                }
                Ok(())
            }),
        Row::new("temporal-redirect", Form::Partly(&Form::Text(&REDIRECT_TARGET), TARGET))
            .elsewhere(&[Elsewhere::Refuse, Elsewhere::LeaveOut])
            .trust(Trust::Medium)
            .on_error(OnError::Refuse)
            .documentation(
                "Answers all requests of the object with a redirect to this URL, with groups and variables as in \
                 permanent-redirect. The status is 302, or temporal-redirect-code. It takes precedence over \
                 permanent-redirect.",
            )
            .compared(Compared::StricterValues(GROUPS, ""))
            .beside(&[("permanent-redirect", "https://example.com/for-ever")])
            .tries(&[
                ("https://example.com/now", Gives::Sets("all requests: 302 to https://example.com/now")),
                ("https://$host/a?b=$uri", Gives::Sets("all requests: 302 to https://${host}/a?b=${uri}")),
                ("/now", Gives::Refused("begins with http://")),
                (" https://example.com", Gives::Refused("cannot hold \" \"")),
            ])
            .part(|draft, entry| put(&mut draft.redirect.temporal, redirect_target(entry.value, false))),
        Row::new("temporal-redirect-code", Form::Word(&["301", "302", "303", "307"]))
            .on_error(OnError::Refuse)
            .elsewhere(&[Elsewhere::Refuse])
            .counts_with(&[("temporal-redirect", SOMETHING)])
            .default(TEMPORAL)
            .ceiling(Ceiling::NotNeeded("it is one of a few statuses"))
            .documentation(
                "The status of temporal-redirect: 301, 302, 303 or 307. With any other number the default is used.",
            )
            .beside(&[("temporal-redirect", "https://example.com")])
            .tries(&[
                ("307", Gives::Sets("all requests: 307 to https://example.com")),
                ("308", Gives::LeftOut("not one of 301")),
                ("moved", Gives::Refused("not a number")),
            ])
            .part(|draft, entry| code(draft, entry, false, |draft| &mut draft.redirect.temporal_status)),
    ],
    finish,
};

/// A status; another number leaves the default.
fn code(
    draft: &mut Draft,
    entry: &Entry<'_>,
    may_be_permanent: bool,
    place: fn(&mut Draft) -> &mut Option<u16>,
) -> Result<(), Refused> {
    match redirect_status(entry.value, may_be_permanent) {
        Ok(status) => *place(draft) = Some(status),
        Err(refused) if is_number(entry.value) => return draft.leave_out(entry, &refused),
        Err(_) => return Err(Refused::because("it is not a number")),
    }
    Ok(())
}

fn status(default: &str, may_be_permanent: bool) -> u16 {
    built_in(default, |value| redirect_status(value, may_be_permanent))
}

fn finish(draft: &mut Draft, _context: &Context<'_>) {
    let requested = &mut draft.redirect;
    draft.reading.redirect = match (requested.temporal.take(), requested.permanent.take()) {
        (Some(url), _) => Some((requested.temporal_status.unwrap_or_else(|| status(TEMPORAL, false)), url)),
        (None, Some(url)) => Some((requested.permanent_status.unwrap_or_else(|| status(PERMANENT, true)), url)),
        (None, None) => None,
    };
}
