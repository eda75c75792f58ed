//! Annotations about client certificates; any mistake closes the routes.

use std::sync::Arc;

use super::secret::{self, Presence};
use crate::ClientRule;
use crate::annotation::{
    Ceiling, Compared, Context, Draft, Elsewhere, Family, Form, Gives, OnError, Row, SOMETHING, Scope, Shape, Trust,
    built_in, put,
};
use crate::value::{REDIRECT_URL, boolean, integer, one_of, redirect_url};
use ingressd_model::finding::Reason;
use ingressd_model::{Authority, ClientCertificates, Demand, Pattern, Refused};

/// The prefix of a common name in the value of auth-tls-match-cn.
const COMMON_NAME: &str = "CN=";

/// The default depth of the certificate chain.
const DEPTH: &str = "1";

const SECRET: &[(&str, &str)] = &[("auth-tls-secret", SOMETHING)];

/// A row that depends on auth-tls-secret.
const fn row(key: &'static str, form: Form) -> Row {
    Row::new(key, form).scope(Scope::Server).beside(&[("auth-tls-secret", "default/authority")])
}

/// The form of auth-tls-match-cn.
const NAMED: Shape = Shape { name: "CN= and an expression", pattern: r"(?s)CN=.+", ..Shape::DEFAULT };

pub static FAMILY: Family = Family {
    title: "Client certificates",
    rows: &[
        row(
            "auth-tls-error-page",
            Form::Partly(
                &Form::Text(&REDIRECT_URL),
                "whether what follows in a URL is a host, and a port where there is one",
            ),
        )
        .compared(Compared::StricterValues(
            "Only a URL of http or https is served; a path or @name is left out.",
            "write the whole URL",
        ))
        .on_error(OnError::Refuse)
        .elsewhere(&[Elsewhere::Refuse])
        .counts_with(SECRET)
        .trust(Trust::High)
        .documentation(
            "URL of http or https to which clients without a valid certificate are redirected, with status 302. \
             Without it they get 400.",
        )
        .tries(&[
            ("https://example.com/sorry", Gives::Sets("without a good certificate: to https://example.com/sorry")),
            ("@sorry", Gives::LeftOut("not a URL")),
            ("/sorry", Gives::LeftOut("not a URL")),
            ("https://example.com/$uri", Gives::Refused("variables")),
        ])
        .part(|draft, entry| {
            let is_place = |value: &str| {
                value.starts_with(['/', '@'])
                    && value[1..].bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte))
            };
            match redirect_url(entry.value) {
                Err(refused) if is_place(entry.value.trim()) => draft.leave_out(entry, &refused),
                url => put(&mut draft.client.error_page, url),
            }
        }),
        row(
            "auth-tls-match-cn",
            Form::Partly(&Form::Text(&NAMED), "the expression, which is one of PCRE and has to be cheap"),
        )
        .compared(Compared::Stricter(
            "It is matched with the beginning of the common name, and not anywhere in the subject.",
            "",
        ))
        .elsewhere(&[Elsewhere::Refuse])
        .trust(Trust::High)
        .on_error(OnError::Close)
        .documentation(
            "Admits only clients whose verified certificate has such a common name: `CN=` and a regular expression for \
             the beginning of the name; end it with `(,|$)` to match the whole name. All others get 403.",
        )
        .tries(&[
            ("CN=client", Gives::Sets("the common name begins with \"client\"")),
            ("CN=(alice|bob)(,|$)", Gives::Sets("the common name begins with \"(alice|bob)(,|$)\"")),
            ("client", Gives::Refused("does not begin with CN=")),
            ("CN=", Gives::Refused("does not begin with CN=")),
            ("CN=(a", Gives::Refused("is refused")),
            ("CN=a)|(b", Gives::Refused("is refused")),
        ])
        .part(|draft, entry| {
            let name = entry.value.trim().strip_prefix(COMMON_NAME).filter(|name| !name.is_empty());
            let name = name.ok_or(Refused::because("it does not begin with CN= and a name"))?;
            put(&mut draft.client.common_name, Pattern::new(name).map(|name| (name, entry.origin())))
        }),
        row("auth-tls-pass-certificate-to-upstream", Form::Boolean)
            .on_error(OnError::Refuse)
            .elsewhere(&[Elsewhere::Refuse])
            .counts_with(SECRET)
            .documentation("Sends the certificate to backends, as percent-encoded PEM, in the header ssl-client-cert.")
            .tries(&[
                ("true", Gives::Sets("backends get the certificate")),
                ("false", Gives::Nothing),
                ("yes", Gives::Refused("not true or false")),
            ])
            .part(|draft, entry| put(&mut draft.client.is_reported, boolean(entry.value))),
        row("auth-tls-secret", secret::REFERENCE)
            .elsewhere(&[Elsewhere::Refuse, Elsewhere::CloseHost])
            .compared(Compared::Stricter("Requests without TLS are redirected to https or get 403.", ""))
            .trust(Trust::Medium)
            .on_error(OnError::Close)
            .documentation(
                "Requires clients of the object's hosts to have a certificate signed by an authority in this Secret: \
                 name, or namespace/name. Its key ca.crt has the authorities, and its optional key ca.crl their \
                 revocation lists. Other namespaces are refused unless the administrator allows them. The rule holds \
                 for the whole host: the oldest object with one decides, of the namespace that asked for the host \
                 first. Where its Secret is missing or cannot be used, the routes of that namespace answer 503. \
                 Clients without a valid certificate get 400. Requests without TLS are redirected to https or get 403, \
                 except ACME challenges with a path of their own. Backends get ssl-client-verify, \
                 ssl-client-subject-dn and ssl-client-issuer-dn. An object without a host cannot require certificates.",
            )
            .beside(&[])
            .tries(&[
                ("default/authority", Gives::Sets("certificates of clients by Secret default/authority")),
                ("authority", Gives::Sets("certificates of clients by Secret default/authority")),
                ("absent", Gives::Refused("does not exist")),
                ("users", Gives::Refused("no key ca.crt")),
                ("elsewhere/users", Gives::Refused("another namespace")),
                ("../authority", Gives::Refused("not the name of a Secret")),
            ])
            .part(|draft, entry| put(&mut draft.client.secret, secret::reference(entry))),
        row("auth-tls-verify-client", Form::Word(&["on", "off", "optional", "optional_no_ca"]))
            .default("on")
            .trust(Trust::Medium)
            .on_error(OnError::Close)
            .documentation(
                "Which certificates are required: `on` a valid one, `optional` a valid one or none, `optional_no_ca` \
                 any or none, and backends get the result of the verification. With `off` no certificate is requested.",
            )
            .tries(&[
                ("on", Gives::Nothing),
                ("optional", Gives::Sets("a certificate is optional")),
                ("optional_no_ca", Gives::Sets("a certificate is optional and not verified")),
                ("off", Gives::Sets("http: 308 to https, where the host has a certificate")),
                ("yes", Gives::Refused("not on, off, optional or optional_no_ca")),
            ])
            .part(|draft, entry| {
                let words = [
                    ("on", Some(Demand::Required)),
                    ("optional", Some(Demand::Optional)),
                    ("optional_no_ca", Some(Demand::Unverified)),
                    ("off", None),
                ];
                let demand = one_of(entry.value, &words, "it is not on, off, optional or optional_no_ca")?;
                (draft.client.demand, draft.client.demand_at) = (Some(demand), Some(entry.origin()));
                Ok(())
            }),
        row("auth-tls-verify-depth", Form::Integer { least: 0, most: 5 })
            .compared(Compared::StricterValues("5 is the most.", ""))
            .counts_with(SECRET)
            .default(DEPTH)
            .ceiling(Ceiling::NotNeeded(
                "it is limited to 5, because each further one makes a worker verify a key of any size",
            ))
            .documentation(
                "How many authorities may be between a certificate and an authority in the Secret; 5 at most.",
            )
            .tries(&[
                ("2", Gives::Sets("through at most 2 authorities")),
                ("-1", Gives::Refused("whole number")),
                ("6", Gives::Refused("whole number")),
            ])
            .part(|draft, entry| put(&mut draft.client.depth, depth(entry.value))),
    ],
    finish,
};

fn depth(value: &str) -> Result<u32, Refused> {
    integer(value, 0, 5).map(|depth| u32::try_from(depth).unwrap_or(u32::MAX))
}

fn finish(draft: &mut Draft, context: &Context<'_>) {
    let requested = std::mem::take(&mut draft.client);
    if draft.host_is_broken {
        draft.reading.host.client_rule = Some(ClientRule::Broken);
        return;
    }
    let asked = requested.demand.unwrap_or(Some(Demand::Required));
    let (Some(demand), Some(secret)) = (asked, requested.secret) else {
        let protects = requested.demand_at.filter(|_| asked.is_some());
        if let Some(origin) = protects.or(requested.common_name.map(|(_, origin)| origin)) {
            let note = "it needs client certificates, so set auth-tls-secret, and do not set auth-tls-verify-client \
                to off; the routes answer 503";
            draft.close(Reason::ClosedRoute, origin, note);
            draft.reading.host.client_rule = Some(ClientRule::Broken);
        }
        return;
    };
    let origin = secret.origin.clone();
    let authority: Option<Arc<Authority>> = secret::find(draft, context, &secret)
        .and_then(|stored| secret::authority(draft, stored, &origin, Presence::Required))
        .flatten();
    draft.reading.host.client_rule = Some(match authority {
        Some(authority) => ClientRule::Good(Arc::new(ClientCertificates {
            origin,
            authority,
            demand,
            depth: requested.depth.unwrap_or_else(|| built_in(DEPTH, depth)),
            common_name: requested.common_name.map(|(name, _)| name),
            error_page: requested.error_page,
            is_reported: requested.is_reported,
        })),
        None => ClientRule::Broken,
    });
}
