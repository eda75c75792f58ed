//! Settings of a whole host: not served yet; it must not know the host.

use crate::translate::annotation::{Family, OnError, Scope, Trust, nothing_to_finish, unserved};

const NGINX_CONF: &str = "not served yet; the nginx.conf of the node decides";

pub static FAMILY: Family = Family {
    title: "Hosts",
    rows: &[
        unserved("server-alias", "www.example.com", "Further names of the host. Not served yet.", "not served yet; add a rule for each name").scope(Scope::Server).trust(Trust::High),
        unserved("ssl-ciphers", "HIGH", "Ciphers of the host. Not served yet: the nginx.conf of this node decides.", NGINX_CONF).scope(Scope::Server),
        unserved("ssl-passthrough", "true", "Passes TLS on to the backend unopened. Not served yet: the whole object is refused, because opening TLS here would mean something else.", "passing TLS on unopened is not served yet, and opening it here would mean something else; remove it to let TLS end here").unless("false").scope(Scope::Server).on_error(OnError::Refuse),
        unserved("ssl-prefer-server-ciphers", "true", "Prefers the order of the server's ciphers. Not served yet: the nginx.conf of this node decides.", NGINX_CONF).scope(Scope::Server),
    ],
    finish: nothing_to_finish,
};
