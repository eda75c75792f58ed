//! Settings of a whole host; it must not know which host, or which object decides about it.

use crate::model::{Argument, Ciphers, catalogue};
use crate::translate::annotation::value::boolean;
use crate::translate::annotation::{Context, Draft, Effect, Family, Gives, OnError, Row, Scope, Trust, unserved};

pub static FAMILY: Family = Family {
    title: "Hosts",
    rows: &[
        unserved("server-alias", "www.example.com", "Further names of the host. Not served yet.", "not served yet; add a rule for each name").scope(Scope::Server).trust(Trust::High),
        Row {
            key: "ssl-ciphers",
            scope: Scope::Server,
            documentation: "Ciphers of the host up to TLS 1.2, in the words of OpenSSL, in the place of those of the ConfigMap or \
                of nginx.conf. The order of the list counts, unless ssl-prefer-server-ciphers says otherwise. A list that leaves \
                none over is refused by nginx, and the object version with it. A host without a name cannot have a list of its \
                own.",
            tries: &[
                ("HIGH:!aNULL", Gives::Sets("hosts: ssl_ciphers HIGH:!aNULL;")),
                ("ECDHE-ECDSA-AES128-GCM-SHA256", Gives::Sets("hosts: ssl_prefer_server_ciphers on;")),
                ("HIGH;", Gives::Refused("not a list of ciphers")),
                ("$ssl_ciphers", Gives::Refused("not a list of ciphers")),
            ],
            effect: Effect::Directive(&catalogue::SSL_CIPHERS, |value| {
                Ok(vec![Argument::Ciphers(Ciphers::new(value.trim())?)])
            }),
            ..Row::DEFAULT
        },
        unserved("ssl-passthrough", "true", "Passes TLS on to the backend unopened. Not served yet: the whole object is refused, because opening TLS here would mean something else.", "passing TLS on unopened is not served yet, and opening it here would mean something else; remove it to let TLS end here").unless("false").scope(Scope::Server).on_error(OnError::Refuse),
        Row {
            key: "ssl-prefer-server-ciphers",
            scope: Scope::Server,
            documentation: "Whether the order of the host's ciphers counts, up to TLS 1.2, and not that of the client.",
            tries: &[
                ("true", Gives::Sets("hosts: ssl_prefer_server_ciphers on;")),
                ("false", Gives::Sets("hosts: ssl_prefer_server_ciphers off;")),
                ("yes", Gives::Refused("not true or false")),
            ],
            effect: Effect::Directive(&catalogue::SSL_PREFER_SERVER_CIPHERS, |value| {
                Ok(vec![Argument::Switch(boolean(value)?)])
            }),
            ..Row::DEFAULT
        },
    ],
    finish,
};

/// Whoever lists ciphers wants the first that both know.
fn finish(draft: &mut Draft, _context: &Context<'_>) {
    let said = &draft.reading.host.directives;
    let of = |row| said.iter().find(|directive| directive.row == row);
    if let (Some(ciphers), None) = (of(&catalogue::SSL_CIPHERS), of(&catalogue::SSL_PREFER_SERVER_CIPHERS)) {
        let origin = ciphers.origin.clone();
        draft.host_directive(&catalogue::SSL_PREFER_SERVER_CIPHERS, vec![Argument::Switch(true)], origin);
    }
}
