//! Annotations about a whole host.

use super::backend_tls::CIPHERS;
use crate::HostAliases;
use crate::annotation::{
    Compared, Context, Draft, Elsewhere, Family, Form, Gives, OnError, Row, Scope, Shape, Trust, put,
};
use crate::value::arguments::switch;
use crate::value::host::server_name;
use crate::value::{boolean, entries, excerpt};
use ingressd_model::finding::Reason;
use ingressd_model::{Argument, Ciphers, HostExpression, Protocol, Refused, ServerName, catalogue, expression};

/// The most aliases of a host, each of which is a host with all its paths.
const MOST_ALIASES: usize = 32;

/// An alias; may be empty.
const ALIAS: Shape = Shape {
    name: "a host, a wildcard such as *.example.com or an expression such as ~^[a-z]+\\.example\\.com$",
    pattern: r"|~[!-+\--~]+|(?:\*\.)?[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?(?:\.[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?)*",
    longest: 2 + 253,
    any_case: true,
    ..Shape::DEFAULT
};

pub static FAMILY: Family = Family {
    title: "Hosts",
    rows: &[
        Row::new(
            "server-alias",
            Form::Partly(
                &Form::List(&ALIAS),
                "whether a name is an address, what an expression may cost, how many there are, and whose hosts they are",
            ),
        )
        .compared(Compared::Stricter(
            "There are at most 32 names, and a regular expression takes only hosts that no other object names.",
            "",
        ))
        .elsewhere(&[Elsewhere::Refuse])
        .scope(Scope::Server)
        .trust(Trust::High)
        .on_error(OnError::Refuse)
        .documentation("Further names of the hosts of the object, a comma-separated list of at most 32 hosts or wildcards such as *.example.com: the paths of the namespace on a host are also served on its aliases. A rule for such a host takes precedence. An alias is a host like any other, with an owner and a certificate that names it. A regular expression, after `~` and without commas, takes hosts that match it, ignoring case, and that no object names, exactly or by wildcard; it takes no addresses. Of several that match, the one that was asked for first is used. It is served with the certificate of the host whose alias it is, and its TLS is never passed through. With `hosts.ownership = \"namespace\"` only namespaces to which `hosts.allowed` gives all hosts may have one. Use names for hosts that matter, because an object of another namespace that names such a host gets it.")
        .tries(&[
            ("www.example.com, *.example.org", Gives::Sets("hosts: also www.example.com, *.example.org")),
            ("~^[a-z]{4}\\.example\\.com$", Gives::Sets("hosts: also ~^[a-z]{4}\\.example\\.com$")),
            ("~^(?<host>.+)$", Gives::Refused("it names a group")),
            ("~^(a+)+$", Gives::Refused("its repetitions can take the same characters in too many ways")),
            ("~a b", Gives::Refused("it holds what no host does")),
            ("10.0.0.1", Gives::Refused("an address")),
            ("a;b", Gives::Refused("not a DNS name")),
            ("www.example.com, a;b, *.example.org", Gives::Refused("of its aliases \"a;b\"")),
        ])
        .part(|draft, entry| {
            let (names, weight) = aliases(entry.value)?;
            put(&mut draft.reading.host.aliases, Ok(HostAliases { names, weight, origin: entry.origin() }))
        }),
        Row::new("ssl-ciphers", Form::Text(&CIPHERS))
            .on_error(OnError::Refuse)
            .elsewhere(&[Elsewhere::Refuse])
            .scope(Scope::Server)
            .documentation("Ciphers of the host up to TLS 1.2, in the form of OpenSSL, instead of those of the ConfigMap or of nginx.conf. The order of the list is the server's preference, unless ssl-prefer-server-ciphers is false. nginx refuses a list without any known cipher, and with it this version of the object. An object without a host cannot have a list.")
            .tries(&[
                ("HIGH:!aNULL", Gives::Sets("hosts: ssl_ciphers HIGH:!aNULL;")),
                ("ECDHE-ECDSA-AES128-GCM-SHA256", Gives::Sets("hosts: ssl_prefer_server_ciphers on;")),
                ("HIGH;", Gives::Refused("not a list of ciphers")),
                ("$ssl_ciphers", Gives::Refused("not a list of ciphers")),
            ])
            .directive(&catalogue::SSL_CIPHERS, |value| Ok(vec![Argument::Ciphers(Ciphers::new(value.trim())?)])),
        Row::new("ssl-passthrough", Form::Boolean)
            .elsewhere(&[Elsewhere::Refuse])
            .compared(Compared::StricterValues(
                "Without the setting tls.passthrough the object is refused.",
                "set tls.passthrough, as the flag --enable-ssl-passthrough does",
            ))
            .scope(Scope::Server)
            .on_error(OnError::Refuse)
            .documentation("Passes TLS of the object's hosts through to the Service of their path `/`, without decryption, by the server name in the handshake. The administrator has to allow it (`tls.passthrough`). Other paths, and all other annotations, apply only to plain http, for which nginx uses TLS towards the backend. Of several namespaces the one that asked for the host first decides; see docs/passthrough.md.")
            .tries(&[
                ("true", Gives::Sets("TLS is passed through to the backend")),
                ("false", Gives::Nothing),
                ("yes", Gives::Refused("not true or false")),
            ])
            .part(|draft, entry| {
                put(&mut draft.reading.passthrough, boolean(entry.value).map(|asks| asks.then(|| entry.origin())))
            }),
        Row::new("ssl-prefer-server-ciphers", Form::Boolean)
            .scope(Scope::Server)
            .documentation("Whether the server's order of ciphers takes precedence over the client's, up to TLS 1.2.")
            .tries(&[
                ("true", Gives::Sets("hosts: ssl_prefer_server_ciphers on;")),
                ("false", Gives::Sets("hosts: ssl_prefer_server_ciphers off;")),
                ("yes", Gives::Refused("not true or false")),
            ])
            .directive(&catalogue::SSL_PREFER_SERVER_CIPHERS, switch),
    ],
    finish,
};

/// Parses aliases without duplicates, and the weight of the expressions among them.
fn aliases(value: &str) -> Result<(Vec<ServerName>, u32), Refused> {
    let (mut names, mut weight) = (Vec::new(), 0);
    for item in entries(value)? {
        let of = |refused: Refused| match value.contains(',') {
            true => Refused(format!("of its aliases {}: {refused}", excerpt(item)).into()),
            false => refused,
        };
        let name = match item.strip_prefix('~') {
            Some(text) => ServerName::Expression(HostExpression::new(text).map_err(of)?),
            None => server_name(item).map_err(of)?,
        };
        if names.contains(&name) {
            continue;
        }
        if let ServerName::Expression(judged) = &name {
            weight += expression::weight_anywhere(judged.as_str(), ingressd_model::LONGEST_HOST).map_err(of)?;
        }
        names.push(name);
    }
    match names.len() {
        1..=MOST_ALIASES => Ok((names, weight)),
        0 => Err(Refused::because("it names no host")),
        _ => Err(Refused::because("more than 32 aliases; use a wildcard or rules")),
    }
}

/// A list of ciphers is meant in its order of preference.
fn finish(draft: &mut Draft, context: &Context<'_>) {
    passthrough(draft, context);
    let said = &draft.reading.host.directives;
    let of = |row| said.iter().find(|directive| directive.row == row);
    if let (Some(ciphers), None) = (of(&catalogue::SSL_CIPHERS), of(&catalogue::SSL_PREFER_SERVER_CIPHERS)) {
        let origin = ciphers.origin.clone();
        draft.host_directive(&catalogue::SSL_PREFER_SERVER_CIPHERS, vec![Argument::Switch(true)], origin);
    }
}

fn passthrough(draft: &mut Draft, context: &Context<'_>) {
    let Some(origin) = &draft.reading.passthrough else { return };
    if !context.options.passthrough {
        draft.reading.refused = true;
        let note = "the administrator has not allowed TLS passthrough (`tls.passthrough`); remove this key to have \
            nginx terminate TLS of the host";
        return draft.find(Reason::RefusedValue, origin.clone(), note);
    }
    // A host with passthrough has a TLS backend, which plain requests have to reach by TLS too.
    draft.reading.protocol = Some(match draft.reading.protocol {
        Some(Protocol::Grpc | Protocol::Grpcs) => Protocol::Grpcs,
        _ => Protocol::Https,
    });
}
