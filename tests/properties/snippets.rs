//! Snippets: any text is refused with a reason, or adds allowed directives to its own routes and
//! nothing else.

use std::sync::Arc;

use ingressd_model::{Kind, ObjectId};
use ingressd_objects::{Snapshot, StringMap};
use ingressd_translate::annotation::{Context, merge, options as own_options};
use ingressd_translate::{ANNOTATIONS, INGRESS_NGINX, PREFIX};

use crate::confinement::{self, Allowed};
use crate::inputs::{SCRIBES, options};

/// All that a snippet may add.
const ALLOWED: Allowed = Allowed {
    added: &[
        "access_log",
        "add_header",
        "allow",
        "break",
        "charset",
        "client_body_buffer_size",
        "client_max_body_size",
        "default_type",
        "deny",
        "expires",
        "gzip",
        "gzip_comp_level",
        "gzip_min_length",
        "gzip_proxied",
        "gzip_types",
        "gzip_vary",
        "if",
        "limit_rate",
        "limit_rate_after",
        "proxy_buffer_size",
        "proxy_buffering",
        "proxy_buffers",
        "proxy_busy_buffers_size",
        "proxy_connect_timeout",
        "proxy_cookie_domain",
        "proxy_cookie_path",
        "proxy_hide_header",
        "proxy_http_version",
        "proxy_max_temp_file_size",
        "proxy_next_upstream",
        "proxy_next_upstream_timeout",
        "proxy_next_upstream_tries",
        "proxy_read_timeout",
        "proxy_redirect",
        "proxy_request_buffering",
        "proxy_send_timeout",
        "proxy_set_header",
        "return",
        "rewrite",
        "satisfy",
        "set",
        "sub_filter",
        "sub_filter_last_modified",
        "sub_filter_once",
        "sub_filter_types",
    ],
    shared: &[
        "access_log",
        "allow",
        "client_body_buffer_size",
        "client_max_body_size",
        "deny",
        "limit_rate",
        "limit_rate_after",
        "proxy_buffer_size",
        "proxy_buffering",
        "proxy_buffers",
        "proxy_busy_buffers_size",
        "proxy_connect_timeout",
        "proxy_cookie_domain",
        "proxy_http_version",
        "proxy_max_temp_file_size",
        "proxy_next_upstream",
        "proxy_next_upstream_timeout",
        "proxy_next_upstream_tries",
        "proxy_read_timeout",
        "proxy_redirect",
        "proxy_request_buffering",
        "proxy_send_timeout",
        "satisfy",
    ],
};

/// Each kind of snippet, and whether it is about locations of the object.
const KINDS: [(&str, bool); 4] =
    [("configuration-snippet", true), ("server-snippet", true), ("auth-snippet", false), ("stream-snippet", false)];

pub fn check(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    for (kind, is_of_locations) in KINDS {
        // The way through all of nginx's configuration is long, and most texts do not begin it.
        if is_taken(kind, text) && is_of_locations {
            confinement::check(kind, &[text.to_owned()], &ALLOWED).unwrap_or_else(|wrong| panic!("{kind}: {wrong}"));
        }
    }
}

/// Whether the text is read, and not refused.
fn is_taken(kind: &str, text: &str) -> bool {
    let object = &Arc::new(ObjectId::new(Kind::INGRESS, SCRIBES, "web"));
    let (snapshot, options) = (&Snapshot::default(), &options(("host", "default-tls"), &Snapshot::default()));
    let context = Context { object, dialect: &INGRESS_NGINX, table: &ANNOTATIONS, snapshot, options };
    let asks = (format!("{PREFIX}auth-url"), "http://auth.test/".to_owned());
    let annotations = StringMap::from_iter([asks, (format!("{PREFIX}{kind}"), text.to_owned())]);
    let (own, findings) = own_options(object, &annotations, &ANNOTATIONS, &[]);
    let reading = merge(&context, &own);
    for finding in reading.findings.iter().chain(&findings) {
        let shown = finding.to_string();
        assert!(!shown.contains(char::is_control) && finding.note.len() < 2000, "{kind}: {shown:?}");
    }
    let is_refused = reading.refused || reading.closed;
    assert!(
        !is_refused || !reading.findings.is_empty() || !findings.is_empty(),
        "{kind}: {text:?} is refused without a word"
    );
    !is_refused
}
