//! Settings of a whole host; it must not know the host.

use crate::finding::Reason;
use crate::model::Protocol;
use crate::translate::annotation::value::boolean;
use crate::translate::annotation::{Context, Draft, Effect, Family, Gives, OnError, Row, Scope, Trust, unserved};

const NGINX_CONF: &str = "not served yet; the nginx.conf of the node decides";

pub static FAMILY: Family = Family {
    title: "Hosts",
    rows: &[
        unserved(
            "server-alias",
            "www.example.com",
            "Further names of the host. Not served yet.",
            "not served yet; add a rule for each name",
        )
        .scope(Scope::Server)
        .trust(Trust::High),
        unserved(
            "ssl-ciphers",
            "HIGH",
            "Ciphers of the host. Not served yet: the nginx.conf of this node decides.",
            NGINX_CONF,
        )
        .scope(Scope::Server),
        Row {
            key: "ssl-passthrough",
            scope: Scope::Server,
            on_error: OnError::Refuse,
            documentation: "Passes TLS of the object's hosts on to the Service of their path `/`, unopened, by the name in the \
                handshake. The administrator has to allow it (`tls.passthrough`). Other paths, and all other annotations, count \
                for plain http alone, over which TLS is spoken to the backend. Of several namespaces the one that asked for the \
                host first decides; see docs/passthrough.md.",
            tries: &[
                ("true", Gives::Sets("TLS goes to the backend unopened")),
                ("false", Gives::Nothing),
                ("yes", Gives::Refused("not true or false")),
            ],
            effect: Effect::Part(|draft, entry| {
                draft.reading.passthrough = boolean(entry.value)?.then(|| entry.origin());
                Ok(())
            }),
            ..Row::DEFAULT
        },
        unserved(
            "ssl-prefer-server-ciphers",
            "true",
            "Prefers the order of the server's ciphers. Not served yet: the nginx.conf of this node decides.",
            NGINX_CONF,
        )
        .scope(Scope::Server),
    ],
    finish,
};

fn finish(draft: &mut Draft, context: &Context<'_>) {
    let Some(origin) = &draft.reading.passthrough else { return };
    if !context.options.passthrough {
        draft.reading.refused = true;
        let note = "the administrator has not allowed it (`tls.passthrough`), and opening TLS here would mean something else; \
                    remove it to let TLS end here";
        return draft.find(Reason::RefusedValue, origin.clone(), note);
    }
    // What TLS is spoken to behind its own port is spoken to so by us as well, where requests come without.
    draft.reading.protocol = Some(match draft.reading.protocol {
        Some(Protocol::Grpc | Protocol::Grpcs) => Protocol::Grpcs,
        Some(Protocol::Http | Protocol::Https) | None => Protocol::Https,
    });
}
