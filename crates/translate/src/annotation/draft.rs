//! The values that the rows have read so far, before families combine them.

use std::sync::Arc;

use super::Table;
use super::row::Row;
use super::value::{ServiceUrl, excerpt};
use crate::{Dialect, Options, Reading};
use ingressd_model::finding::{Finding, Reason, Severity};
use ingressd_model::{
    AnswerDuration, Argument, BackendHeaders, Balance, ByteSize, Cidr, Ciphers, CookiePath, Demand, Directive, FastCgi,
    FirewallSetting, HeaderName, HeaderValue, HostName, LogLine, ObjectId, Origin, OriginPattern, Pattern, Protocols,
    RedirectUrl, Refused, RewriteTarget, SameSite, Template, Text, catalogue::DirectiveRow,
};
use ingressd_objects::Snapshot;

/// One option that counts.
#[derive(Debug, Clone, Copy)]
pub struct Entry<'a> {
    pub row: &'static Row,
    pub value: &'a str,
    /// The place where it is written.
    pub at: &'a Origin,
    /// Whether the object says it, and not the administrator for all objects.
    pub is_own: bool,
}

impl Entry<'_> {
    /// The reason of a finding that it has no effect.
    pub const fn unsupported(&self) -> Reason {
        match self.is_own {
            true => Reason::UnsupportedAnnotation,
            false => Reason::UnsupportedKey,
        }
    }

    /// The place of the value.
    pub fn origin(&self) -> Origin {
        self.at.clone()
    }
}

/// What is known about the object besides its annotations.
#[derive(Debug, Clone, Copy)]
pub struct Context<'a> {
    pub object: &'a Arc<ObjectId>,
    /// The dialect of its class.
    pub dialect: &'static Dialect,
    /// The table of keys.
    pub table: &'static Table,
    pub snapshot: &'a Snapshot,
    /// The administrator's settings.
    pub options: &'a Options,
}

impl<'a> Context<'a> {
    /// The namespace of the object.
    pub fn namespace(&self) -> &'a str {
        &self.object.namespace
    }
}

/// Redirects from http to https.
#[derive(Debug, Default)]
pub struct HttpsDraft {
    /// For hosts with a certificate.
    pub redirect: Option<bool>,
    /// For all hosts.
    pub forced: Option<bool>,
    /// Whether a trailing slash is kept.
    pub keep_trailing_slash: bool,
}

/// Redirects of all requests.
#[derive(Debug, Default)]
pub struct RedirectDraft {
    /// The permanent target.
    pub permanent: Option<RewriteTarget>,
    /// The status of the permanent redirect.
    pub permanent_status: Option<u16>,
    /// The temporary target, which takes precedence.
    pub temporal: Option<RewriteTarget>,
    /// The status of the temporary redirect.
    pub temporal_status: Option<u16>,
}

/// Buffers for responses; two keys make one directive.
#[derive(Debug, Default)]
pub struct BuffersDraft {
    /// The number of buffers.
    pub count: Option<(u64, Origin)>,
    /// The size of each.
    pub size: Option<(ByteSize, Origin)>,
}

/// Address lists.
#[derive(Debug, Default)]
pub struct AccessDraft {
    /// Allowed networks.
    pub allow: Option<Vec<Cidr>>,
    /// Denied networks.
    pub deny: Option<Vec<Cidr>>,
}

/// A reference to a Secret or ConfigMap.
#[derive(Debug)]
pub struct SecretReference {
    /// The namespace, when it is written.
    pub namespace: Option<String>,
    pub name: String,
    /// The field with the reference.
    pub origin: Origin,
}

/// Basic authentication.
#[derive(Debug, Default)]
pub struct AuthenticationDraft {
    /// The field that asks for it.
    pub asked: Option<Origin>,
    pub secret: Option<SecretReference>,
    /// Whether the Secret is a map of users.
    pub map: bool,
    pub realm: Option<Text>,
}

/// Authentication by another service.
#[derive(Debug, Default)]
pub struct ExternalDraft {
    /// The URL of the service, with its field.
    pub url: Option<(ServiceUrl, Origin)>,
    /// The method of the subrequest.
    pub method: Option<HeaderName>,
    /// The URL for signing in, as written, with its field.
    pub sign_in: Option<(String, Origin)>,
    /// The query parameter with the URL to return to.
    pub parameter: Option<Arc<str>>,
    /// Response headers that are passed to the backend.
    pub response_headers: Vec<HeaderName>,
    /// The ConfigMap with headers for the subrequest.
    pub request_headers: Option<SecretReference>,
    /// Headers for the subrequest from a snippet.
    pub snippet_headers: Vec<(HeaderName, Template)>,
    /// `X-Auth-Request-Redirect`.
    pub request_redirect: Option<Template>,
    /// The key of the response cache.
    pub memory_key: Option<Template>,
    /// For how long responses are cached.
    pub memory_durations: Option<Vec<AnswerDuration>>,
    /// Whether its cookies are passed to clients whatever the status of the response is.
    pub always_sets_cookie: bool,
    /// The number of idle connections to it.
    pub keepalive: Option<(u32, Origin)>,
    /// The number of subrequests on one connection.
    pub keepalive_requests: Option<(u32, Origin)>,
    /// How long a connection may be idle, in seconds.
    pub keepalive_timeout: Option<(u32, Origin)>,
    /// Why the routes that use it are closed.
    pub faults: Vec<Finding>,
}

/// Mirrored requests.
#[derive(Debug, Default)]
pub struct MirrorDraft {
    /// The URL of the target, with its field.
    pub url: Option<(ServiceUrl, Origin)>,
    /// Their `Host`.
    pub host: Option<Template>,
    /// Whether they have no body.
    pub without_body: bool,
    /// Whether a value is invalid, so that nothing is mirrored.
    pub is_broken: bool,
}

/// Parameters of FastCGI.
#[derive(Debug, Default)]
pub struct FastCgiDraft {
    /// The parameters of annotations.
    pub own: FastCgi,
    /// The ConfigMap with further parameters.
    pub parameters: Option<SecretReference>,
}

/// Cross-origin resource sharing.
#[derive(Debug, Default)]
pub struct CorsDraft {
    pub enabled: bool,
    /// Whether a value is invalid, so that no origin is allowed.
    pub withheld: bool,
    pub origins: Option<Vec<OriginPattern>>,
    /// The field with the origins.
    pub origins_at: Option<Origin>,
    pub methods: Option<Vec<HeaderName>>,
    /// The request headers.
    pub headers: Option<Vec<HeaderName>>,
    /// The response headers.
    pub expose: Option<Vec<HeaderName>>,
    /// Whether credentials are allowed.
    pub credentials: Option<bool>,
    /// The max-age in seconds.
    pub max_age: Option<u64>,
}

/// Limits per client.
#[derive(Debug, Default)]
pub struct LimitsDraft {
    /// Requests per second.
    pub per_second: Option<u32>,
    /// Requests per minute.
    pub per_minute: Option<u32>,
    pub connections: Option<u32>,
    /// The burst as a multiple of the rate.
    pub burst_multiplier: Option<u32>,
    /// Exempt networks.
    pub exempt: Vec<Cidr>,
}

/// Load balancing.
#[derive(Debug, Default)]
pub struct BalanceDraft {
    /// Whether clients are bound to an endpoint by a cookie.
    pub affinity: bool,
    /// Whether the cookie names the endpoint.
    pub persistent: bool,
    /// The name of the cookie.
    pub name: Option<HeaderName>,
    /// The `Path` of the cookie.
    pub path: Option<CookiePath>,
    /// The `Domain` of the cookie.
    pub domain: Option<Text>,
    /// The `Max-Age` of the cookie in seconds.
    pub max_age: Option<u64>,
    /// The same, from the key for an expiry time.
    pub expires: Option<u64>,
    /// `SameSite`.
    pub same_site: Option<SameSite>,
    /// Whether `SameSite=None` is omitted for clients that misinterpret it.
    pub conditional_same_site: bool,
    /// Whether another session is given when an endpoint fails.
    pub changes_on_failure: bool,
    /// Whether the cookie is always `Secure`.
    pub secure: bool,
    /// Whether clients may change sides of a canary.
    pub changes_side: bool,
    /// The hash key of an endpoint.
    pub key: Option<RewriteTarget>,
    /// Whether a key value has several endpoints.
    pub shares_key: bool,
    /// The number of these endpoints.
    pub sharing: Option<u8>,
    /// The load balancing without a key.
    pub by_connections: Option<Balance>,
}

/// A canary: a share of the requests for another object's paths.
#[derive(Debug, Default)]
pub struct CanaryDraft {
    /// The field that asks for it.
    pub asked: Option<Origin>,
    /// The header that is tested.
    pub header: Option<HeaderName>,
    /// The required value.
    pub value: Option<HeaderValue>,
    /// The expression that the value must match.
    pub pattern: Option<Pattern>,
    /// The cookie that is tested.
    pub cookie: Option<HeaderName>,
    pub weight: Option<u64>,
    /// The total that the weight is a part of.
    pub total: Option<u64>,
}

/// Client certificates.
#[derive(Debug, Default)]
pub struct ClientDraft {
    /// The Secret with the CA.
    pub secret: Option<SecretReference>,
    /// What is required; `Some(None)` means `off`.
    pub demand: Option<Option<Demand>>,
    /// The pattern of the common name, with its field.
    pub common_name: Option<(Pattern, Origin)>,
    /// The field of `demand`.
    pub demand_at: Option<Origin>,
    /// The most intermediate certificates.
    pub depth: Option<u32>,
    /// The redirect target for refused clients.
    pub error_page: Option<RedirectUrl>,
    /// Whether backends get the certificate.
    pub is_reported: bool,
}

/// TLS towards backends.
#[derive(Debug, Default)]
pub struct BackendTlsDraft {
    pub secret: Option<SecretReference>,
    /// The field that asks to verify the backend.
    pub verify: Option<Origin>,
    /// The most intermediate certificates.
    pub depth: Option<u32>,
    /// The name in the backend's certificate.
    pub name: Option<HostName>,
    /// Whether it is sent in the handshake (SNI).
    pub sends_name: bool,
    /// The versions of TLS.
    pub protocols: Option<Protocols>,
    pub ciphers: Option<Ciphers>,
}

/// The web application firewall.
#[derive(Debug, Default)]
pub struct FirewallDraft {
    /// Whether it is switched on or off.
    pub enabled: Option<bool>,
    /// Whether the OWASP rules are used.
    pub core_rules: bool,
    /// Whether the object itself asks for the OWASP rules.
    pub asks_for_core_rules: bool,
    /// The transaction ID for its log.
    pub transaction: Option<LogLine>,
    /// Settings that override those of its rules.
    pub settings: Vec<FirewallSetting>,
}

/// Changes to the redirects of backends.
#[derive(Debug, Default)]
pub struct RedirectsDraft {
    /// The prefix to replace, with its field; `None` inside means that redirects stay unchanged.
    pub from: Option<(Option<RewriteTarget>, Origin)>,
    /// The replacement.
    pub to: Option<Option<RewriteTarget>>,
}

/// All values read so far.
#[derive(Debug, Default)]
pub struct Draft {
    /// The parts of the reading that are final.
    pub reading: Reading,
    /// The number of elements in the lists of the object so far.
    pub elements: usize,
    /// Redirects from http to https.
    pub https: HttpsDraft,
    /// Redirects of all requests.
    pub redirect: RedirectDraft,
    /// Changes to the redirects of backends.
    pub redirects: RedirectsDraft,
    /// Request headers that differ from the usual ones.
    pub backend_headers: BackendHeaders,
    /// The ConfigMap with response headers.
    pub answer_headers: Option<SecretReference>,
    /// Buffers for responses.
    pub buffers: BuffersDraft,
    /// Address lists.
    pub access: AccessDraft,
    /// Basic authentication.
    pub authentication: AuthenticationDraft,
    /// Authentication by a service that the object names.
    pub external: ExternalDraft,
    /// Authentication by a service that the administrator names for all objects.
    pub common: ExternalDraft,
    /// Whether the object opts out of the latter.
    pub opts_out: bool,
    /// Mirrored requests.
    pub mirror: MirrorDraft,
    /// Parameters of FastCGI.
    pub fastcgi: FastCgiDraft,
    /// Cross-origin resource sharing.
    pub cors: CorsDraft,
    /// Limits per client.
    pub limits: LimitsDraft,
    /// Load balancing.
    pub balance: BalanceDraft,
    /// A canary: a share of the requests for another object's paths.
    pub canary: CanaryDraft,
    /// Client certificates.
    pub client: ClientDraft,
    /// TLS towards backends.
    pub backend_tls: BackendTlsDraft,
    /// The web application firewall.
    pub firewall: FirewallDraft,
    /// Whether a value that protects the whole host is invalid.
    pub host_is_broken: bool,
}

impl Draft {
    /// Adds a directive.
    pub fn directive(&mut self, row: &'static DirectiveRow, arguments: Vec<Argument>, origin: Origin) {
        self.reading.behaviour.directives.push(Directive { row, arguments, origin });
    }

    /// Adds a directive for the hosts of the object.
    pub fn host_directive(&mut self, row: &'static DirectiveRow, arguments: Vec<Argument>, origin: Origin) {
        self.reading.host.directives.push(Directive { row, arguments, origin });
    }

    /// Adds a finding that a value, or a part of it, does not count.
    pub fn find(&mut self, reason: Reason, origin: Origin, note: impl Into<Arc<str>>) {
        self.report(Finding::new(reason, origin, note));
    }

    /// The same with the severity of this one.
    pub fn report(&mut self, finding: Finding) {
        self.reading.falls_short = true;
        self.remark(finding);
    }

    /// Adds a finding about a value that counts.
    pub fn remark(&mut self, finding: Finding) {
        self.reading.findings.push(finding);
    }

    /// Leaves out a value of the right form that cannot be honoured, with a finding.
    pub fn leave_out(&mut self, entry: &Entry<'_>, refused: &Refused) -> Result<(), Refused> {
        let note = format!("{} is refused: {refused}; it is left out", excerpt(entry.value));
        self.find(Reason::InvalidValue, entry.origin(), note);
        Ok(())
    }

    /// Adds a finding that a ceiling of the administrator replaces a value.
    pub fn above_ceiling(&mut self, origin: Origin, asked: &str, instead: &str, setting: &str) {
        // Charts set such values for large files: the ceiling is meant for them.
        if asked.trim_matches('"').trim_end_matches(|unit: char| unit.is_ascii_alphabetic()) == "0" {
            let note = format!(
                "{asked} asks for no limit; the ceiling of {instead} is used, which the \
                                administrator's {setting} sets"
            );
            let finding = Finding::new(Reason::AboveCeiling, origin, note);
            return self.remark(Finding { severity: Severity::Info, ..finding });
        }
        let note = format!(
            "{asked} is above the ceiling of {instead}, which is used instead; the administrator's {setting} sets it"
        );
        self.remark(Finding::new(Reason::AboveCeiling, origin, note));
    }

    /// The draft of authentication for the author of the value: the object or the administrator.
    pub fn external_of(&mut self, entry: &Entry<'_>) -> &mut ExternalDraft {
        match entry.is_own {
            true => &mut self.external,
            false => &mut self.common,
        }
    }

    /// Closes the routes, with a finding.
    pub fn close(&mut self, reason: Reason, origin: Origin, note: impl Into<Arc<str>>) {
        self.close_for(Finding { severity: Severity::Error, ..Finding::new(reason, origin, note) });
    }

    /// Closes the routes because of this finding.
    pub fn close_for(&mut self, finding: Finding) {
        self.reading.closed = true;
        self.report(finding);
    }
}
