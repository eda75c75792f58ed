//! What the rows have read so far, before it is put together.

use std::borrow::Cow;
use std::sync::Arc;

use super::Table;
use super::basis::NotedOptions;
use super::value::{ServiceUrl, excerpt};
use crate::finding::{Finding, Reason, Severity};
use crate::model::{
    AnswerDuration, Argument, BackendHeaders, Balance, ByteSize, Cidr, Ciphers, CookiePath, Demand, Directive, FastCgi,
    Field, FirewallSetting, HeaderName, HeaderValue, HostName, LogLine, ObjectId, Origin, OriginPattern, Pattern,
    Protocols, RedirectUrl, Refused, RewriteTarget, SameSite, Template, Text, catalogue::DirectiveRow,
};
use crate::source::Snapshot;
use crate::translate::{Dialect, Reading};

/// One annotation of the object that is being read.
#[derive(Debug, Clone, Copy)]
pub struct Entry<'a> {
    /// The object.
    pub object: &'a Arc<ObjectId>,
    /// The key with its prefix.
    pub key: &'a str,
    /// The value as written.
    pub value: &'a str,
    /// Where the value was written, when the object does not have the annotation.
    pub default: Option<&'a Origin>,
}

impl Entry<'_> {
    /// Where the value was written.
    pub fn origin(&self) -> Origin {
        let own = || Origin::field(self.object, Field::Annotation(Cow::Owned(self.key.to_owned())));
        self.default.cloned().unwrap_or_else(own)
    }
}

/// What is known about the object besides its annotations.
#[derive(Debug, Clone, Copy)]
pub struct Context<'a> {
    /// The object.
    pub object: &'a Arc<ObjectId>,
    /// Its namespace.
    pub namespace: &'a str,
    /// Whose semantics it has.
    pub dialect: Dialect,
    /// The keys that are read.
    pub table: &'static Table,
    /// Everything else.
    pub snapshot: &'a Snapshot,
    /// The administrator's decisions.
    pub options: &'a NotedOptions<'a>,
}

/// Redirects from http to https.
#[derive(Debug, Default)]
pub struct HttpsDraft {
    /// Where the host has a certificate.
    pub redirect: Option<bool>,
    /// Everywhere.
    pub forced: Option<bool>,
    /// A trailing slash stays.
    pub keep_trailing_slash: bool,
}

/// Redirects of all requests.
#[derive(Debug, Default)]
pub struct RedirectDraft {
    /// For ever.
    pub permanent: Option<RedirectUrl>,
    /// Its status.
    pub permanent_status: Option<u16>,
    /// For now; wins over the permanent one.
    pub temporal: Option<RedirectUrl>,
    /// Its status.
    pub temporal_status: Option<u16>,
}

/// Buffers for answers; two keys make one directive.
#[derive(Debug, Default)]
pub struct BuffersDraft {
    /// How many.
    pub count: Option<(u64, Origin)>,
    /// How large each.
    pub size: Option<(ByteSize, Origin)>,
}

/// Lists of addresses.
#[derive(Debug, Default)]
pub struct AccessDraft {
    /// Who is let in.
    pub allow: Option<Vec<Cidr>>,
    /// Who is not.
    pub deny: Option<Vec<Cidr>>,
}

/// Where passwords, certificates or headers are.
#[derive(Debug)]
pub struct SecretReference {
    /// The namespace, when written.
    pub namespace: Option<String>,
    /// The name.
    pub name: String,
    /// Where it was written.
    pub origin: Origin,
}

/// Basic authentication.
#[derive(Debug, Default)]
pub struct AuthenticationDraft {
    /// Where it was asked for.
    pub asked: Option<Origin>,
    /// The Secret.
    pub secret: Option<SecretReference>,
    /// It is a map of users.
    pub map: bool,
    /// The realm.
    pub realm: Option<Text>,
}

/// Authentication by another service.
#[derive(Debug, Default)]
pub struct ExternalDraft {
    /// Where it is asked, and where that was written.
    pub url: Option<(ServiceUrl, Origin)>,
    /// The method of the question.
    pub method: Option<HeaderName>,
    /// Where clients sign in, as written.
    pub sign_in: Option<(String, Origin)>,
    /// The parameter that brings them back.
    pub parameter: Option<Arc<str>>,
    /// Headers of the answer for the backend.
    pub response_headers: Vec<HeaderName>,
    /// The ConfigMap with headers for the question.
    pub request_headers: Option<SecretReference>,
    /// Headers that a snippet has for the question.
    pub snippet_headers: Vec<(HeaderName, Template)>,
    /// `X-Auth-Request-Redirect`.
    pub request_redirect: Option<Template>,
    /// By what answers are remembered.
    pub memory_key: Option<Template>,
    /// For how long.
    pub memory_durations: Option<Vec<AnswerDuration>>,
    /// Its cookies reach clients whatever the answer.
    pub always_sets_cookie: bool,
    /// How many idle connections are kept to it.
    pub keepalive: Option<(u32, Origin)>,
    /// How many questions go over one.
    pub keepalive_requests: Option<(u32, Origin)>,
    /// For how many seconds one may be idle.
    pub keepalive_timeout: Option<(u32, Origin)>,
}

/// Copies of requests.
#[derive(Debug, Default)]
pub struct MirrorDraft {
    /// Where they go, and where that was written.
    pub url: Option<(ServiceUrl, Origin)>,
    /// Their host.
    pub host: Option<Template>,
    /// They have no body.
    pub without_body: bool,
    /// Something about them is wrong: none is made.
    pub is_broken: bool,
}

/// Parameters of FastCGI.
#[derive(Debug, Default)]
pub struct FastCgiDraft {
    /// What is known already.
    pub own: FastCgi,
    /// The ConfigMap with others.
    pub parameters: Option<SecretReference>,
}

/// Cross-origin requests.
#[derive(Debug, Default)]
pub struct CorsDraft {
    /// They are asked for.
    pub enabled: bool,
    /// Something about them is wrong: none is let in.
    pub withheld: bool,
    /// The origins.
    pub origins: Option<Vec<OriginPattern>>,
    /// Where they were written.
    pub origins_at: Option<Origin>,
    /// The methods.
    pub methods: Option<Vec<HeaderName>>,
    /// The request headers.
    pub headers: Option<Vec<HeaderName>>,
    /// The response headers.
    pub expose: Option<Vec<HeaderName>>,
    /// Whether cookies are let in.
    pub credentials: Option<bool>,
    /// Seconds.
    pub max_age: Option<u64>,
}

/// Limits for each client.
#[derive(Debug, Default)]
pub struct LimitsDraft {
    /// Requests each second.
    pub per_second: Option<u32>,
    /// Requests each minute.
    pub per_minute: Option<u32>,
    /// Connections.
    pub connections: Option<u32>,
    /// Burst as a multiple of the rate.
    pub burst_multiplier: Option<u32>,
    /// Who is not limited.
    pub exempt: Vec<Cidr>,
}

/// Which endpoint takes a request.
#[derive(Debug, Default)]
pub struct BalanceDraft {
    /// Clients are kept at one by a cookie.
    pub affinity: bool,
    /// Its name.
    pub name: Option<HeaderName>,
    /// For which requests.
    pub path: Option<CookiePath>,
    /// For which hosts.
    pub domain: Option<Text>,
    /// For how many seconds.
    pub max_age: Option<u64>,
    /// The same, as a time of its end.
    pub expires: Option<u64>,
    /// `SameSite`.
    pub same_site: Option<SameSite>,
    /// `SameSite=None` is left out for programs that mishandle it.
    pub conditional_same_site: bool,
    /// Another session is given where an endpoint fails.
    pub changes_on_failure: bool,
    /// Only by https.
    pub secure: bool,
    /// Clients may change sides of a canary.
    pub changes_side: bool,
    /// What an endpoint is chosen by.
    pub key: Option<RewriteTarget>,
    /// Several endpoints have what one is chosen by.
    pub shares_key: bool,
    /// How many these are.
    pub sharing: Option<u8>,
    /// How one is chosen where nothing of a request decides.
    pub by_connections: Option<Balance>,
}

/// Part of the requests for another object's paths.
#[derive(Debug, Default)]
pub struct CanaryDraft {
    /// Where it was asked for.
    pub asked: Option<Origin>,
    /// The header that decides.
    pub header: Option<HeaderName>,
    /// What it has to be.
    pub value: Option<HeaderValue>,
    /// What it has to match.
    pub pattern: Option<Pattern>,
    /// The cookie that decides.
    pub cookie: Option<HeaderName>,
    /// How many of the whole.
    pub weight: Option<u64>,
    /// The whole.
    pub total: Option<u64>,
}

/// Certificates of clients.
#[derive(Debug, Default)]
pub struct ClientDraft {
    /// The Secret with the authority.
    pub secret: Option<SecretReference>,
    /// What clients have to show; nothing where it is `off`.
    pub demand: Option<Option<Demand>>,
    /// What the common name has to begin with, and where it was written.
    pub common_name: Option<(Pattern, Origin)>,
    /// Where `demand` was written.
    pub demand_at: Option<Origin>,
    /// How many authorities may stand between.
    pub depth: Option<u32>,
    /// Where others are sent.
    pub error_page: Option<RedirectUrl>,
    /// Backends are told the certificate.
    pub is_told: bool,
}

/// TLS towards backends.
#[derive(Debug, Default)]
pub struct BackendTlsDraft {
    /// The Secret.
    pub secret: Option<SecretReference>,
    /// Where it was asked for that the backend is verified.
    pub verify: Option<Origin>,
    /// How many authorities may stand between.
    pub depth: Option<u32>,
    /// The name of the backend.
    pub name: Option<HostName>,
    /// It is told in the handshake.
    pub tells_name: bool,
    /// Versions.
    pub protocols: Option<Protocols>,
    /// Ciphers.
    pub ciphers: Option<Ciphers>,
}

/// A firewall that looks into requests.
#[derive(Debug, Default)]
pub struct FirewallDraft {
    /// It is wanted, or not.
    pub enabled: Option<bool>,
    /// The rules of OWASP are.
    pub core_rules: bool,
    /// The object itself asks for these.
    pub asks_for_core_rules: bool,
    /// What its log calls a request.
    pub transaction: Option<LogLine>,
    /// What counts in the place of what its rules set.
    pub settings: Vec<FirewallSetting>,
}

/// Redirects of backends.
#[derive(Debug, Default)]
pub struct RedirectsDraft {
    /// What they begin with, and where it was written; nothing where they stay as they are.
    pub from: Option<(Option<Text>, Origin)>,
    /// What takes its place.
    pub to: Option<Option<Text>>,
}

/// Everything read so far.
#[derive(Debug, Default)]
pub struct Draft {
    /// What is final already.
    pub reading: Reading,
    /// How many elements the lists of the object have so far.
    pub elements: usize,
    /// Redirects from http to https.
    pub https: HttpsDraft,
    /// Redirects of all requests.
    pub redirect: RedirectDraft,
    /// Redirects of backends.
    pub redirects: RedirectsDraft,
    /// What backends are told otherwise than all others.
    pub backend_headers: BackendHeaders,
    /// The ConfigMap with headers for answers.
    pub answer_headers: Option<SecretReference>,
    /// Buffers for answers.
    pub buffers: BuffersDraft,
    /// Lists of addresses.
    pub access: AccessDraft,
    /// Basic authentication.
    pub authentication: AuthenticationDraft,
    /// Authentication by a service that the object names.
    pub external: ExternalDraft,
    /// Authentication by the service that the administrator names for all objects.
    pub everywhere: ExternalDraft,
    /// The object does without the latter.
    pub opts_out: bool,
    /// Copies of requests.
    pub mirror: MirrorDraft,
    /// Parameters of FastCGI.
    pub fastcgi: FastCgiDraft,
    /// Cross-origin requests.
    pub cors: CorsDraft,
    /// Limits for each client.
    pub limits: LimitsDraft,
    /// Which endpoint takes a request.
    pub balance: BalanceDraft,
    /// Part of the requests for another object's paths.
    pub canary: CanaryDraft,
    /// Certificates of clients.
    pub client: ClientDraft,
    /// TLS towards backends.
    pub backend_tls: BackendTlsDraft,
    /// A firewall that looks into requests.
    pub firewall: FirewallDraft,
    /// Something that protects the whole host cannot be read.
    pub host_is_broken: bool,
}

impl Draft {
    /// Adds a directive.
    pub fn directive(&mut self, row: &'static DirectiveRow, arguments: Vec<Argument>, origin: Origin) {
        self.reading.behaviour.directives.push(Directive { row, arguments, origin });
    }

    /// Adds a directive of the hosts of the object.
    pub fn host_directive(&mut self, row: &'static DirectiveRow, arguments: Vec<Argument>, origin: Origin) {
        self.reading.host.directives.push(Directive { row, arguments, origin });
    }

    /// Adds a finding.
    pub fn find(&mut self, reason: Reason, origin: Origin, note: impl Into<Arc<str>>) {
        self.reading.findings.push(Finding::new(reason, origin, note));
    }

    /// Leaves out what ingress-nginx takes and cannot be honoured: that refuses no object.
    pub fn leave_out(&mut self, entry: &Entry<'_>, refused: &Refused) -> Result<(), Refused> {
        let note = format!("{} is refused: {refused}; it is left out", excerpt(entry.value));
        self.find(Reason::InvalidValue, entry.origin(), note);
        Ok(())
    }

    /// Says that a ceiling of the administrator took the place of what was asked for.
    pub fn above_ceiling(&mut self, origin: Origin, asked: &str, instead: &str, setting: &str) {
        // As charts write it for large files: the ceiling is meant for them.
        if asked.trim_matches('"').trim_end_matches(|unit: char| unit.is_ascii_alphabetic()) == "0" {
            let note = format!("{asked} asks for no bound: {instead}, the administrator's {setting}, is it");
            let finding = Finding::new(Reason::AboveCeiling, origin, note);
            return self.reading.findings.push(Finding { severity: Severity::Info, ..finding });
        }
        let note = format!(
            "{asked} is above the ceiling of {instead}, which takes its place; the administrator's {setting} sets it"
        );
        self.find(Reason::AboveCeiling, origin, note);
    }

    /// What is said of authentication by another service, by whoever wrote the value.
    pub fn external_of(&mut self, entry: &Entry<'_>) -> &mut ExternalDraft {
        match entry.default {
            None => &mut self.external,
            Some(_) => &mut self.everywhere,
        }
    }

    /// Closes the routes and says why.
    pub fn close(&mut self, reason: Reason, origin: Origin, note: impl Into<Arc<str>>) {
        self.reading.closed = true;
        let finding = Finding { severity: Severity::Error, ..Finding::new(reason, origin, note) };
        self.reading.findings.push(finding);
    }
}
