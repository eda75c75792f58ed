//! Annotations about TLS towards backends: client certificate and verification.

use std::sync::Arc;

use super::secret::{self, Presence};
use crate::RequestedBackendTls;
use crate::annotation::{
    Ceiling, Compared, Context, Draft, Elsewhere, Family, Form, Gives, OnError, Row, SOMETHING, Scope, Shape, Trust,
    built_in, put,
};
use crate::secret::certificate;
use crate::value::{HOST_NAME, ON_OFF, integer, on_off};
use ingressd_model::finding::Reason;
use ingressd_model::{BackendTls, Ciphers, HostName, Protocols, Refused};

/// The default depth of the certificate chain.
const DEPTH: &str = "1";

const SECRET: &[(&str, &str)] = &[("proxy-ssl-secret", SOMETHING)];

/// A row that depends on proxy-ssl-secret.
const fn row(key: &'static str, form: Form) -> Row {
    let beside = &[("backend-protocol", "HTTPS"), ("proxy-ssl-secret", "default/backend")];
    Row::new(key, form).scope(Scope::Upstream).beside(beside)
}

/// The form of [`Ciphers`].
pub const CIPHERS: Shape = Shape {
    name: "a list of ciphers, in the form of OpenSSL",
    pattern: r"[A-Za-z0-9+:_!@=.-]+",
    longest: 512,
    ..Shape::DEFAULT
};

pub static FAMILY: Family = Family {
    title: "TLS towards backends",
    rows: &[
        row("proxy-ssl-ciphers", Form::Text(&CIPHERS))
            .counts_with(SECRET)
            .trust(Trust::Medium)
            .documentation(
                "Ciphers towards the backend up to TLS 1.2, in the form of OpenSSL. nginx refuses a list without any \
                 known cipher, and with it this version of the object.",
            )
            .tries(&[
                ("HIGH:!aNULL", Gives::Sets("to backends: ciphers HIGH:!aNULL")),
                ("HIGH;", Gives::Refused("not a list of ciphers")),
                ("$ssl_ciphers", Gives::Refused("not a list of ciphers")),
            ])
            .part(|draft, entry| put(&mut draft.backend_tls.ciphers, Ciphers::new(entry.value.trim()))),
        row("proxy-ssl-name", Form::Text(&HOST_NAME))
            .compared(Compared::StricterValues("It is a name, without variables.", ""))
            .counts_with(SECRET)
            .trust(Trust::High)
            .documentation(
                "The name that the certificate of the backend must have, and that proxy-ssl-server-name sends; \
                 SERVICE.NAMESPACE.svc by default.",
            )
            .tries(&[
                ("backend.example.com", Gives::Sets("to backends: as backend.example.com")),
                ("a{", Gives::Refused("is refused")),
                ("$host", Gives::Refused("is refused")),
            ])
            .part(|draft, entry| {
                put(&mut draft.backend_tls.name, HostName::new(&entry.value.trim().to_ascii_lowercase()))
            }),
        row("proxy-ssl-protocols", Form::Words(&["TLSv1.2", "TLSv1.3"]))
            .compared(Compared::DifferentUnset(
                "Without it TLS 1.3 is used, too.",
                "set it to TLSv1.2 where a backend needs that",
            ))
            .counts_with(SECRET)
            .default("TLSv1.2 TLSv1.3")
            .documentation("Versions of TLS towards the backend: TLSv1.2, TLSv1.3, or both with a blank between.")
            .tries(&[
                ("TLSv1.3", Gives::Sets("to backends: TLSv1.3")),
                ("TLSv1.2 TLSv1.3", Gives::Nothing),
                ("TLSv1.1", Gives::Refused("not of TLSv1.2 and TLSv1.3")),
            ])
            .part(|draft, entry| put(&mut draft.backend_tls.protocols, protocols(entry.value))),
        row("proxy-ssl-secret", secret::REFERENCE)
            .elsewhere(&[Elsewhere::Refuse, Elsewhere::Close])
            .trust(Trust::Medium)
            .on_error(OnError::Close)
            .documentation(
                "The Secret with the client certificate for backends (tls.crt and tls.key) and the authority of the \
                 backends' certificates (ca.crt); either may be absent. Other namespaces are refused unless the \
                 administrator allows them. A Secret that is missing or cannot be used closes the routes. It has an \
                 effect with the protocols HTTPS and GRPCS.",
            )
            .beside(&[("backend-protocol", "HTTPS")])
            .tries(&[
                ("default/backend", Gives::Sets("to backends: TLS by Secret default/backend, with a certificate")),
                ("authority", Gives::Sets("to backends: TLS by Secret default/authority")),
                ("absent", Gives::Refused("does not exist")),
                ("users", Gives::Refused("neither")),
                ("elsewhere/users", Gives::Refused("another namespace")),
            ])
            .part(|draft, entry| put(&mut draft.backend_tls.secret, secret::reference(entry))),
        row("proxy-ssl-server-name", ON_OFF)
            .counts_with(SECRET)
            .documentation("Whether nginx sends the name in the TLS handshake with the backend (SNI); off by default.")
            .tries(&[
                ("on", Gives::Sets("to backends: the name is told")),
                ("off", Gives::Nothing),
                ("yes", Gives::Refused("not on or off")),
            ])
            .part(|draft, entry| put(&mut draft.backend_tls.sends_name, on_off(entry.value))),
        row("proxy-ssl-verify", ON_OFF)
            .compared(Compared::Stricter(
                "Without an authority in proxy-ssl-secret the routes answer 503; ingress-nginx does not verify then.",
                "",
            ))
            .on_error(OnError::Close)
            .documentation(
                "Whether the certificate of the backend is verified: the authority in proxy-ssl-secret must have \
                 signed it, and it must have the name of proxy-ssl-name. Otherwise requests get 502; without an \
                 authority the routes answer 503. Off by default.",
            )
            .tries(&[
                ("on", Gives::Sets("to backends: verified through at most 1 authorities")),
                ("off", Gives::Nothing),
                ("yes", Gives::Refused("not on or off")),
            ])
            .part(|draft, entry| {
                put(&mut draft.backend_tls.verify, on_off(entry.value).map(|is_on| is_on.then(|| entry.origin())))
            }),
        row("proxy-ssl-verify-depth", Form::Integer { least: 0, most: 5 })
            .compared(Compared::StricterValues("5 is the most.", ""))
            .counts_with(&[("proxy-ssl-verify", "on")])
            .default(DEPTH)
            .ceiling(Ceiling::NotNeeded(
                "it is limited to 5, because each further one makes a worker verify a key of any size",
            ))
            .documentation(
                "How many authorities may be between the certificate of the backend and an authority in the Secret; 5 \
                 at most.",
            )
            .beside(&[
                ("backend-protocol", "HTTPS"),
                ("proxy-ssl-secret", "default/backend"),
                ("proxy-ssl-verify", "on"),
            ])
            .tries(&[
                ("2", Gives::Sets("to backends: verified through at most 2 authorities")),
                ("-1", Gives::Refused("whole number")),
            ])
            .part(|draft, entry| put(&mut draft.backend_tls.depth, depth(entry.value))),
    ],
    finish,
};

fn protocols(value: &str) -> Result<Protocols, Refused> {
    let found = Protocols::of(value.split_whitespace());
    found.ok_or_else(|| Refused::because("it is not of TLSv1.2 and TLSv1.3, with a blank between"))
}

fn depth(value: &str) -> Result<u32, Refused> {
    integer(value, 0, 5).map(|depth| u32::try_from(depth).unwrap_or(u32::MAX))
}

fn finish(draft: &mut Draft, context: &Context<'_>) {
    let requested = std::mem::take(&mut draft.backend_tls);
    let Some(wanted) = requested.secret else {
        // A bad proxy-ssl-secret has closed the routes already, with a finding.
        if let Some(origin) = requested.verify.filter(|_| !draft.reading.closed) {
            let note = "there is no proxy-ssl-secret with the authority (ca.crt) of the backend's certificate; the \
                routes answer 503 until it is set";
            draft.close(Reason::ClosedRoute, origin, note);
        }
        return;
    };
    let origin = wanted.origin.clone();
    let Some(stored) = secret::find(draft, context, &wanted) else { return };
    let presence = if requested.verify.is_some() { Presence::Required } else { Presence::Optional };
    let Some(authority) = secret::authority(draft, stored, &origin, presence) else { return };
    let has = |key: &str| stored.object.get(key).is_some();
    let certificate = match has("tls.crt") || has("tls.key") {
        true => match certificate::check(stored) {
            Ok(checked) => Some(checked.certificate),
            Err(fault) => return secret::unusable(draft, stored, &origin, fault),
        },
        false => None,
    };
    if certificate.is_none() && authority.is_none() {
        return secret::unusable(draft, stored, &origin, "it has neither tls.crt and tls.key nor ca.crt");
    }
    let tls = BackendTls {
        secret: Arc::clone(&stored.id),
        has_certificate: certificate.is_some(),
        verify_depth: requested.verify.map(|_| requested.depth.unwrap_or_else(|| built_in(DEPTH, depth))),
        name: requested.name,
        sends_name: requested.sends_name,
        protocols: requested.protocols.unwrap_or(Protocols::Both),
        ciphers: requested.ciphers,
    };
    let requested = RequestedBackendTls { tls: Arc::new(tls), origin, authority, certificate };
    draft.reading.backend_tls = Some(Arc::new(requested));
}
