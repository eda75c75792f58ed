//! Annotations about TLS towards backends: client certificate and verification.

use std::sync::Arc;

use super::secret::{self, Presence};
use crate::RequestedBackendTls;
use crate::annotation::{
    Ceiling, Compared, Context, Draft, Effect, Elsewhere, Family, Form, Gives, OnError, Row, SOMETHING, Scope, Shape,
    Trust, built_in,
};
use crate::secret::certificate;
use crate::value::{HOST_NAME, ON_OFF, SECRET_REFERENCE, integer, on_off};
use ingressd_model::finding::Reason;
use ingressd_model::{BackendTls, Ciphers, HostName, Protocols, Refused};

/// The default depth of the certificate chain.
const DEPTH: &str = "1";

const SECRET: &[(&str, &str)] = &[("proxy-ssl-secret", SOMETHING)];

/// A row that depends on proxy-ssl-secret.
const ROW: Row = Row {
    scope: Scope::Upstream,
    beside: &[("backend-protocol", "HTTPS"), ("proxy-ssl-secret", "default/backend")],
    ..Row::DEFAULT
};

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
        Row {
            key: "proxy-ssl-ciphers",
            counts_with: SECRET,
            trust: Trust::Medium,
            form: Form::Text(&CIPHERS),
            documentation: "Ciphers towards the backend up to TLS 1.2, in the form of OpenSSL. nginx refuses a list \
                without any known cipher, and with it this version of the object.",
            tries: &[
                ("HIGH:!aNULL", Gives::Sets("to backends: ciphers HIGH:!aNULL")),
                ("HIGH;", Gives::Refused("not a list of ciphers")),
                ("$ssl_ciphers", Gives::Refused("not a list of ciphers")),
            ],
            effect: Effect::Part(|draft, entry| {
                draft.backend_tls.ciphers = Some(Ciphers::new(entry.value.trim())?);
                Ok(())
            }),
            ..ROW
        },
        Row {
            key: "proxy-ssl-name",
            compared: Compared::StricterValues("It is a name, without variables.", ""),
            counts_with: SECRET,
            trust: Trust::High,
            form: Form::Text(&HOST_NAME),
            documentation: "The name that the certificate of the backend must have, and that proxy-ssl-server-name \
                            sends; SERVICE.NAMESPACE.svc by default.",
            tries: &[
                ("backend.example.com", Gives::Sets("to backends: as backend.example.com")),
                ("a{", Gives::Refused("is refused")),
                ("$host", Gives::Refused("is refused")),
            ],
            effect: Effect::Part(|draft, entry| {
                draft.backend_tls.name = Some(HostName::new(&entry.value.trim().to_ascii_lowercase())?);
                Ok(())
            }),
            ..ROW
        },
        Row {
            key: "proxy-ssl-protocols",
            compared: Compared::DifferentUnset(
                "Without it TLS 1.3 is used, too.",
                "set it to TLSv1.2 where a backend needs that",
            ),
            counts_with: SECRET,
            form: Form::Words(&["TLSv1.2", "TLSv1.3"]),
            default: "TLSv1.2 TLSv1.3",
            documentation: "Versions of TLS towards the backend: TLSv1.2, TLSv1.3, or both with a blank between.",
            tries: &[
                ("TLSv1.3", Gives::Sets("to backends: TLSv1.3")),
                ("TLSv1.2 TLSv1.3", Gives::Nothing),
                ("TLSv1.1", Gives::Refused("not of TLSv1.2 and TLSv1.3")),
            ],
            effect: Effect::Part(|draft, entry| {
                draft.backend_tls.protocols = Some(protocols(entry.value)?);
                Ok(())
            }),
            ..ROW
        },
        Row {
            key: "proxy-ssl-secret",
            elsewhere: &[Elsewhere::Refuse, Elsewhere::Close],
            trust: Trust::Medium,
            on_error: OnError::Close,
            form: Form::Partly(
                &Form::Text(&SECRET_REFERENCE),
                "whether the Secret is there, may be named and holds what is needed",
            ),
            documentation: "The Secret with the client certificate for backends (tls.crt and tls.key) and the \
                authority of the backends' certificates (ca.crt); either may be absent. Other namespaces are refused \
                unless the administrator allows them. A Secret that is missing or cannot be used closes the routes. \
                It has an effect with the protocols HTTPS and GRPCS.",
            beside: &[("backend-protocol", "HTTPS")],
            tries: &[
                ("default/backend", Gives::Sets("to backends: TLS by Secret default/backend, with a certificate")),
                ("authority", Gives::Sets("to backends: TLS by Secret default/authority")),
                ("absent", Gives::Refused("does not exist")),
                ("users", Gives::Refused("neither")),
                ("elsewhere/users", Gives::Refused("another namespace")),
            ],
            effect: Effect::Part(|draft, entry| {
                draft.backend_tls.secret = Some(secret::reference(entry)?);
                Ok(())
            }),
            ..ROW
        },
        Row {
            key: "proxy-ssl-server-name",
            counts_with: SECRET,
            form: ON_OFF,
            documentation: "Whether nginx sends the name in the TLS handshake with the backend (SNI); off by default.",
            tries: &[
                ("on", Gives::Sets("to backends: the name is told")),
                ("off", Gives::Nothing),
                ("yes", Gives::Refused("not on or off")),
            ],
            effect: Effect::Part(|draft, entry| {
                draft.backend_tls.sends_name = on_off(entry.value)?;
                Ok(())
            }),
            ..ROW
        },
        Row {
            key: "proxy-ssl-verify",
            compared: Compared::Stricter(
                "Without an authority in proxy-ssl-secret the routes answer 503; ingress-nginx does not verify then.",
                "",
            ),
            on_error: OnError::Close,
            form: ON_OFF,
            documentation: "Whether the certificate of the backend is verified: the authority in proxy-ssl-secret \
                must have signed it, and it must have the name of proxy-ssl-name. Otherwise requests get 502; without \
                an authority the routes answer 503. Off by default.",
            tries: &[
                ("on", Gives::Sets("to backends: verified through at most 1 authorities")),
                ("off", Gives::Nothing),
                ("yes", Gives::Refused("not on or off")),
            ],
            effect: Effect::Part(|draft, entry| {
                draft.backend_tls.verify = on_off(entry.value)?.then(|| entry.origin());
                Ok(())
            }),
            ..ROW
        },
        Row {
            key: "proxy-ssl-verify-depth",
            compared: Compared::StricterValues("5 is the most.", ""),
            counts_with: &[("proxy-ssl-verify", "on")],
            default: DEPTH,
            ceiling: Ceiling::NotNeeded(
                "it is limited to 5, because each further one makes a worker verify a key of any size",
            ),
            form: Form::Integer { least: 0, most: 5 },
            documentation: "How many authorities may be between the certificate of the backend and an authority in \
                the Secret; 5 at most.",
            beside: &[
                ("backend-protocol", "HTTPS"),
                ("proxy-ssl-secret", "default/backend"),
                ("proxy-ssl-verify", "on"),
            ],
            tries: &[
                ("2", Gives::Sets("to backends: verified through at most 2 authorities")),
                ("-1", Gives::Refused("whole number")),
            ],
            effect: Effect::Part(|draft, entry| {
                draft.backend_tls.depth = Some(depth(entry.value)?);
                Ok(())
            }),
            ..ROW
        },
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
