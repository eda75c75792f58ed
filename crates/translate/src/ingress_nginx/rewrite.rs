//! Annotations about regular expressions as paths, and about rewriting.

use crate::AppRoot;
use crate::annotation::{
    Compared, Elsewhere, Family, Form, Gives, OnError, Row, SOMETHING, Scope, Shape, Trust, nothing_to_finish, put,
};
use crate::value::{PATH_PREFIX, REWRITE_TARGET, boolean, prefix, rewrite_target};
use ingressd_model::{RedirectUrl, Refused};

/// A path on the same host.
const ROOT: Shape = Shape {
    name: "a path that begins with one /, without blanks, quotes, backslash, braces, ; and $",
    pattern: r"/(?:[!#%&(-.0-:=?-\[\]_a-z~][!#%&(-:=?-\[\]_a-z~]*)?",
    ..Shape::DEFAULT
};

pub static FAMILY: Family = Family {
    title: "Paths and rewriting",
    rows: &[
        Row::new("app-root", Form::Text(&ROOT))
            .scope(Scope::Server)
            .compared(Compared::Different(
                "Its Location has no scheme and host, so clients stay on the host of their request.",
                "",
            ))
            .trust(Trust::Medium)
            .documentation(
                "Redirects requests for exactly / to this path of the same host, with status 302, before \
                 authentication and all other checks. It has no effect where another namespace had the path / of the \
                 host before.",
            )
            .tries(&[
                ("/app", Gives::Sets("hosts: / to /app")),
                ("https://example.com/app", Gives::Refused("not a path")),
                ("app", Gives::Refused("not a path")),
                ("//example.com", Gives::Refused("not a path")),
                ("/a\"b", Gives::Refused("a URL cannot hold")),
            ])
            .part(|draft, entry| {
                let value = entry.value.trim();
                if !value.starts_with('/') || value.starts_with("//") {
                    return Err(Refused::because("it is not a path, which begins with one /"));
                }
                let target = RedirectUrl::new(value)?;
                put(&mut draft.reading.host.app_root, Ok(AppRoot { target, origin: entry.origin() }))
            }),
        Row::new("rewrite-target", Form::Text(&REWRITE_TARGET))
            .compared(Compared::StricterValues("Variables that do not repeat what the client sent are refused.", ""))
            .scope(Scope::Matching)
            .trust(Trust::Medium)
            .documentation(
                "The path for the backend. $1 to $9 are the captures of the groups in the path of the rule. Variables \
                 about the request of the client may be used: $host, $uri, $request_uri, $document_uri, $args, \
                 $query_string, $is_args, $scheme, $remote_addr, $request_method, $server_name and those that begin \
                 with $arg_, $cookie_ or $http_. A leading slash may be left out. To a URL, such as https://host/$1, \
                 clients are redirected with 302. Behind a ? stands a query; nginx adds that of the request, unless \
                 the value ends in ?. With $uri in a URL or a query, paths with control characters, such as %0A, are \
                 answered with 400. It puts all paths of the host into regex mode. With a value that cannot be used \
                 paths are as without the key, as in ingress-nginx.",
            )
            .tries(&[
                ("/$2", Gives::Sets("the path becomes /$2")),
                ("app/$1", Gives::Sets("the path becomes /app/$1")),
                ("/$host/", Gives::Sets("the path becomes /${host}/")),
                ("/$undefined", Gives::Refused("unknown \"undefined\" variable")),
                ("/a?b=$1", Gives::Sets("the path becomes /a?b=$1")),
                ("/a;b", Gives::Refused("cannot hold \";\"")),
                ("https://example.com/$1", Gives::Sets("the path becomes https://example.com/$1")),
                ("https:///$1", Gives::Refused("has no host")),
            ])
            .part(|draft, entry| put(&mut draft.reading.rewrite_target, rewrite_target(entry.value))),
        Row::new("use-regex", Form::Boolean)
            .compared(Compared::Stricter(
                "Paths of other namespaces on the host stay as they are, and expressions that take nginx too long are \
                 refused. A path of another object stays text, with the finding LiteralPath, where it is no expression \
                 or would take requests of a protected path, and silently where nothing but dots would be special.",
                "",
            ))
            .scope(Scope::Matching)
            .documentation(
                "Reads the paths of the object as regular expressions, and puts all paths of the host into regex mode: \
                 matched from the start, without regard to case, the longest path first. Paths of other objects of the \
                 namespace become expressions, too, whatever their type, unless one is none, would take requests of a \
                 protected path, or has nothing special but dots. In the dialect of the specification only its paths \
                 of the type ImplementationSpecific are expressions, and one is as long as what everything begins with \
                 that it matches: /(.*) takes no requests of the path /admin.",
            )
            .tries(&[
                ("true", Gives::Sets("paths are regular expressions")),
                ("false", Gives::Nothing),
                ("yes", Gives::Refused("not true or false")),
            ])
            .part(|draft, entry| put(&mut draft.reading.use_regex, boolean(entry.value))),
        Row::new("x-forwarded-prefix", Form::Text(&PATH_PREFIX))
            .compared(Compared::StricterValues(
                "It holds no variables but those that repeat what the client sent. With captures or $uri, paths with \
                 control characters are answered with 400.",
                "",
            ))
            .elsewhere(&[Elsewhere::Refuse])
            .counts_with(&[("rewrite-target", SOMETHING)])
            .trust(Trust::Medium)
            .on_error(OnError::Refuse)
            .documentation(
                "Sets X-Forwarded-Prefix for the backend, the part of the path that a rewrite removed: text, $1 to $9 \
                 for the captures of the path, and the variables of rewrite-target. With captures, $uri or \
                 $document_uri, paths with control characters, such as %0A, are answered with 400.",
            )
            .beside(&[("rewrite-target", "/$2")])
            .tries(&[
                ("/app", Gives::Sets("backends get X-Forwarded-Prefix: /app")),
                ("/$1", Gives::Sets("backends get X-Forwarded-Prefix: /$1")),
                ("/$undefined", Gives::Refused("unknown \"undefined\" variable")),
                ("/a\"; b", Gives::Refused("cannot hold")),
            ])
            .part(|draft, entry| put(&mut draft.backend_headers.prefix, prefix(entry.value))),
    ],
    finish: nothing_to_finish,
};
