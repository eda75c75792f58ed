//! The keys of the sections `access` and `http`: which clients are allowed, and the daemon's own
//! endpoints.

use config::Value;

use super::settings::Settings;
use super::table::{SettingRow, row};
use super::value::{Form, Setting, on_off_or_dialect, text};
use ingressd_model::HostName;
use ingressd_translate::Scope;

/// Their keys.
pub const ROWS: &[SettingRow] = &[
    row!("access.allowlist", Scope::Route, "[]", translate.allowlist)
        .doc("Networks of clients that are admitted, except where an annotation says otherwise. Empty admits all clients."),
    row!("access.denylist", Scope::Route, "[]", translate.denylist)
        .doc("Networks of clients that are denied, except where an annotation says otherwise."),
    row!("access.max-trust", Scope::Node, r#""high""#, translate.max_trust)
        .doc("How far the authors of Ingresses are trusted: `low`, `medium`, `high` or `critical`, as ingress-nginx ranks annotations (`annotations-risk-level`). An annotation of a higher rank is refused like a bad value, with a finding; docs/annotations.md has the rank of each."),
    row!("access.no-authentication", Scope::Route, r#"["/.well-known/acme-challenge"]"#, translate.no_authentication)
        .doc("Paths that need no password and no consent of an authentication service, together with those below them, whatever annotations say: certificate authorities have to reach them. Lists of addresses and client certificates still apply."),
    SettingRow::new("access.strict-paths", Scope::Route, Form::Text, r#""dialect""#, |settings, value| {
        on_off_or_dialect(&mut settings.translate.strict_paths, value)
    })
        .doc("Whether nginx refuses with 400 requests whose path it and a backend may understand differently: with encoded slashes (`%2F`), backslashes, empty and dot segments (`//`, `/../`, `/%2e%2e/`), and `#`. It does so on all routes of a namespace on a host where one of them is protected (by addresses, a password or another service) and another one is not, or in another way; routes of other namespaces on the host are not affected. `on`, `off`, or `dialect` for what the dialect of the protected route's class does (the specification refuses them, ingress-nginx does not). docs/security-review.md lists them."),
    row!("access.shared-services", Scope::Upstream, "[]", translate.shared_services)
        .doc("Services that objects of all namespaces may use in `auth-url`, `mirror-target` and Services of type ExternalName, each as `namespace/name`, for example `[\"infra/oauth2-proxy\"]`. Secrets and ConfigMaps of other namespaces stay closed, which `cross-namespace` would open."),
    row!("access.trusted-proxies", Scope::Server, "[]", translate.trusted_proxies)
        .doc("Proxies in front of this host whose `X-Forwarded` headers nginx trusts, and whose other headers about the client, such as `Forwarded` or `CF-Connecting-IP`, reach backends; docs/security-review.md lists them. With an empty list nginx trusts no proxy. With `listen.proxy-protocol` nginx trusts the header of that protocol from these addresses, and no header of a request."),
    row!("access.append-forwarded-for", Scope::Server, "false", translate.append_forwarded_for)
        .doc("Whether the address of the client is appended to the `X-Forwarded-For` of a trusted proxy, instead of replacing the header. With `listen.proxy-protocol` the header is always replaced, because the client wrote it."),
    row!("http.address", Scope::Node, r#""127.0.0.1:10254""#, http.address)
        .doc("Address of the status page for browsers, and of the endpoints /healthz, /readyz, /metrics and /status.json."),
    row!("http.remote", Scope::Node, "false", http.remote)
        .doc("Whether `http.address` may be an address that other machines reach. They get /healthz, /readyz and /metrics, without authentication; metrics name hosts and objects of every tenant. The status page and /status.json need `http.certificate`, `http.key` and one of `http.password-file` and `http.client-ca`, and answer 403 without them to all that do not come by loopback."),
    row!("http.certificate", Scope::Node, r#""""#, http.certificate)
        .doc("File with a certificate and the chain of its authorities (PEM), with which `http.address` speaks TLS beside plain HTTP, so that other machines can see the status page and /status.json over https. docs/status-page.md shows all that it takes. This file, and the other three, may be replaced at any time; with a certificate that cannot be used the one before stays in use, and the journal says why."),
    row!("http.key", Scope::Node, r#""""#, http.key).doc("File with the private key of `http.certificate` (PEM)."),
    row!("http.password-file", Scope::Node, r#""""#, http.password_file)
        .doc("File with who may see the status page from other machines: lines `NAME:HASH`, as `htpasswd -B` writes them, with bcrypt hashes of cost 4 to 14. Only its owner may read the file (mode 0600). With `http.client-ca` too, both are needed. A file that cannot be used admits nobody."),
    row!("http.client-ca", Scope::Node, r#""""#, http.client_ca)
        .doc("File with the certificates of authorities (PEM): whoever shows a certificate of one of them may see the status page from other machines. With `http.password-file` too, both are needed. A file that cannot be used admits nobody."),
    row!("http.hosts", Scope::Node, "[]", http.hosts)
        .doc("Host names in requests to `http.address` that are accepted, beside IP addresses and `localhost`. Requests with another name get 421, because a page in a browser could otherwise read the endpoints through a name that resolves to this address."),
];

impl Setting for HostName {
    fn read(value: &Value) -> Result<Self, String> {
        let name = text(value)?;
        HostName::new(name).map_err(|why| format!("{name:?} is no host name: {why}"))
    }
}

impl Settings {
    /// Contradictions in the section `http`: pairs of a key and one clause.
    pub(super) fn http_contradictions(&self) -> Vec<(&'static str, String)> {
        let http = &self.http;
        if !http.remote && !http.address.ip().is_loopback() {
            let why = format!("{} can be reached by other machines; allow it with http.remote = true", http.address);
            return vec![("http.address", why)];
        }
        let files = [
            ("http.certificate", &http.certificate),
            ("http.key", &http.key),
            ("http.password-file", &http.password_file),
            ("http.client-ca", &http.client_ca),
        ];
        let Some((first, _)) = files.iter().find(|(_, file)| file.is_some()) else { return Vec::new() };
        if !http.remote {
            return vec![(first, "it has no effect without http.remote = true: set that, or leave it out".into())];
        }
        let missing = files[..2].iter().find(|(_, file)| file.is_none());
        match missing {
            Some((key, _)) => vec![(first, format!("other machines see the status page over TLS only: set {key} too"))],
            None if http.page_files().is_none() => {
                let why =
                    "nobody on other machines may see the status page: set http.password-file or http.client-ca too";
                vec![(first, why.into())]
            }
            None => Vec::new(),
        }
    }
}
