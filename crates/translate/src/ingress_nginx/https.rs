//! Annotations about redirects from http to https.

use crate::annotation::{Context, Draft, Family, Form, Gives, Row, Trust, put};
use crate::value::boolean;
use ingressd_model::catalogue::PORT_IN_REDIRECT;
use ingressd_model::{Argument, HttpsRedirect};

pub static FAMILY: Family = Family {
    title: "From http to https",
    rows: &[
        Row::new("force-ssl-redirect", Form::Boolean)
            .setting("tls.force-redirect")
            .trust(Trust::Medium)
            .documentation(
                "Redirects http requests to https even when the host has no certificate of its own, for hosts whose \
                 TLS is terminated in front of this node.",
            )
            .tries(&[
                ("true", Gives::Sets("http: 308 to https, always")),
                ("false", Gives::Nothing),
                ("yes", Gives::Refused("not true or false")),
            ])
            .part(|draft, entry| put(&mut draft.https.forced, boolean(entry.value))),
        Row::new("preserve-trailing-slash", Form::Boolean)
            .trust(Trust::Medium)
            .documentation(
                "Keeps the final slash of the path in redirects to https. Without it only classes of the ingress-nginx \
                 dialect remove the slash.",
            )
            .tries(&[("true", Gives::Nothing), ("false", Gives::Nothing), ("1.0", Gives::Refused("not true or false"))])
            .part(|draft, entry| put(&mut draft.https.keep_trailing_slash, boolean(entry.value))),
        Row::new("ssl-redirect", Form::Boolean)
            .setting("tls.redirect")
            .documentation(
                "Redirects http requests to https when the host is listed under spec.tls of an Ingress of the same \
                 namespace, or of the namespace that asked for the host first. Strict-Transport-Security has no \
                 annotation: it is a setting of the administrator.",
            )
            .tries(&[
                ("true", Gives::Sets("http: 308 to https, where the host has a certificate")),
                ("false", Gives::Sets("http is served as it is")),
                ("on", Gives::Refused("not true or false")),
            ])
            .part(|draft, entry| put(&mut draft.https.redirect, boolean(entry.value))),
        Row::new("use-port-in-redirects", Form::Boolean)
            .documentation(
                "Writes the port of the connection into redirects that nginx itself makes, such as those from /path to \
                 /path/. Redirects to https always name the port where it is not 443.",
            )
            .tries(&[
                ("true", Gives::Sets("port_in_redirect on;")),
                ("false", Gives::Nothing),
                ("yes", Gives::Refused("not true or false")),
            ])
            .part(|draft, entry| {
                if boolean(entry.value)? {
                    draft.directive(&PORT_IN_REDIRECT, vec![Argument::Switch(true)], entry.origin());
                }
                Ok(())
            }),
    ],
    finish,
};

fn finish(draft: &mut Draft, context: &Context<'_>) {
    let options = context.options;
    let forced = draft.https.forced.unwrap_or(options.force_ssl_redirect);
    if forced || draft.https.redirect.unwrap_or(options.ssl_redirect) {
        draft.reading.behaviour.https_redirect = Some(HttpsRedirect {
            status: options.redirect_status,
            strip_trailing_slash: context.dialect.strips_trailing_slash && !draft.https.keep_trailing_slash,
            forced,
        });
    }
}
