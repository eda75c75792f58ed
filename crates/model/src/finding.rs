//! A finding: what is wrong with what a user wrote, as a value. It must not know who reads it, nor
//! how it was found.

mod count;
mod limit;
mod nearest;
mod printable;

pub use count::{count, count_of};
pub use limit::{Shown, in_turn, limit};
pub use nearest::{hint, nearest, unknown_key};
pub use printable::{on_one_line, printable, printable_json};

use std::fmt;
use std::sync::Arc;

use crate::{Field, Kind, Origin};

/// The longest note, in bytes. Notes quote what users wrote, and they reach the journal, the
/// status and the cluster.
const LONGEST_NOTE: usize = 1500;

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Worth knowing; everything asked for is done.
    Info,
    /// Something asked for is not done, or done otherwise.
    Warning,
    /// Requests are refused or an object version is not served because of it.
    Error,
}

impl Severity {
    /// The word for people and machines.
    pub const fn name(self) -> &'static str {
        match self {
            Severity::Info => "info",
            Severity::Warning => "warning",
            Severity::Error => "error",
        }
    }
}

/// Who can correct it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Audience {
    /// The author of the object.
    Author,
    /// The administrator of the edge node.
    Operator,
}

impl Audience {
    /// The words for people.
    pub const fn name(self) -> &'static str {
        match self {
            Audience::Author => "author of the object",
            Audience::Operator => "operator of the node",
        }
    }
}

/// Something worth telling, with the place that causes it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Finding {
    /// The object and field.
    pub origin: Origin,
    /// How bad it is.
    pub severity: Severity,
    /// What sort of thing it is.
    pub reason: Reason,
    /// One or two sentences: what is wrong and the remedy. It does not repeat the origin.
    pub note: Arc<str>,
}

impl Finding {
    /// A finding with the severity that its reason has by default.
    pub fn new(reason: Reason, origin: Origin, note: impl Into<Arc<str>>) -> Self {
        let note = note.into();
        let note = match note.len() > LONGEST_NOTE {
            true => {
                let end = (0..=LONGEST_NOTE).rev().find(|end| note.is_char_boundary(*end)).unwrap_or_default();
                format!("{}...", &note[..end]).into()
            }
            false => note,
        };
        Finding { origin, severity: reason.row().severity, reason, note }
    }

    /// What follows for requests in this case, of those that its reason has.
    pub fn effect(&self) -> &'static str {
        self.consequence().0
    }

    /// Whether routes answer 503 because of it.
    pub fn closes_routes(&self) -> bool {
        self.consequence().1
    }

    /// What follows, and whether that is that routes answer 503.
    fn consequence(&self) -> (&'static str, bool) {
        let ReasonRow { effect: whole, closes, .. } = *self.reason.row();
        let is_of_routes = {
            let kind = self.origin.object.kind;
            kind.asks_for_routes() || kind == Kind::SETTINGS
        };
        match self.reason {
            Reason::MissingSecret => match self.origin.field {
                Field::Tls(_) => ("the host is served with the default certificate", false),
                _ if self.severity == Severity::Error => ("the routes of the object answer 503", true),
                _ => (whole, closes),
            },
            // The others of its users get in.
            Reason::InvalidSecret if self.severity < Severity::Error => {
                ("users whose entries are left out get 401", false)
            }
            Reason::MissingService
            | Reason::MissingPort
            | Reason::NoEndpoints
            | Reason::UnreachableMode
            | Reason::ExternalNameDisabled
            | Reason::UnsupportedBackend => {
                let of_annotation = matches!(self.origin.field, Field::Annotation(_));
                match whole.split_once("; ") {
                    // What protects routes closes them, which is an error.
                    _ if of_annotation && self.severity < Severity::Error => ("the key has no effect", false),
                    Some((of_routes, _)) if is_of_routes => (of_routes, closes),
                    Some((_, of_streams)) => (of_streams, false),
                    None => (whole, closes),
                }
            }
            _ => (whole, closes),
        }
    }

    /// The note as it may be shown: it may quote what a user wrote, so characters that could forge
    /// a line in a log are escaped.
    pub fn printable_note(&self) -> String {
        printable(&self.note)
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}: {}", self.origin, self.reason, self.printable_note())
    }
}

/// What the table knows about a [`Reason`].
#[derive(Debug, PartialEq, Eq)]
pub struct ReasonRow {
    pub reason: Reason,
    /// Its name in Events, conditions, metric labels and documentation anchors.
    pub name: &'static str,
    /// How bad it usually is.
    pub severity: Severity,
    /// Who can correct it.
    pub audience: Audience,
    /// What follows for requests, in a few words that are true of every finding with this reason.
    pub effect: &'static str,
    /// Whether that is, in some cases, that routes answer 503.
    pub closes: bool,
    /// One sentence for the documentation: what it means and what to do.
    pub meaning: &'static str,
}

impl ReasonRow {
    /// What to do: the last sentence of the meaning, unless that refers to the note.
    pub fn remedy(&self) -> Option<&'static str> {
        let (_, last) = self.meaning.rsplit_once(". ")?;
        (!last.contains("note ")).then_some(last)
    }
}

macro_rules! reasons {
    ($($reason:ident, $severity:ident, $audience:ident, $effect:literal $($closes:ident)?, $meaning:literal;)*) => {
        /// The closed list of reasons for findings.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Reason {
            $(#[doc = $meaning] $reason,)*
        }

        impl Reason {
            /// One row for each reason, in order.
            pub const ALL: &'static [ReasonRow] = &[$(ReasonRow {
                reason: Reason::$reason,
                name: stringify!($reason),
                severity: Severity::$severity,
                audience: Audience::$audience,
                effect: $effect,
                closes: !concat!($(stringify!($closes))?).is_empty(),
                meaning: $meaning,
            },)*];
        }
    };
}

reasons! {
    Undecodable, Error, Author, "this version of the object is not served", "A document cannot be decoded into an object of its kind. ingressd goes on serving the last good version, if there is one. Correct the field that the note names.";
    Unreadable, Error, Operator, "the present content of the file or folder is not served", "A file or folder of manifests cannot be read. ingressd goes on serving its earlier content. Correct the file, or its owner and mode.";
    DuplicateObject, Warning, Author, "this document has no effect", "Two documents describe the same object. The first one in the order of files and lines is used. Remove the other one.";
    ForeignClass, Info, Author, "the object is not served here", "The object belongs to another controller, names a class that does not exist, or has `spec.defaultBackend` while `hosts.disable-catch-all` is set. If ingressd is to serve it, name a class of ingressd in `spec.ingressClassName`.";
    InvalidHost, Error, Author, "the host is not served", "A host is not a DNS name, and its rule is left out. Correct the host.";
    InvalidPath, Error, Author, "the path is not served as it is written", "A path cannot be served as it is written. Either this version of the object is not served, or only this path answers 503, when it is a regular expression that cannot be used; the note says which. Correct the path.";
    LiteralPath, Warning, Author, "the path takes only requests with exactly these characters", "A path contains a character of regular expressions (`*`, `|`, `[` or `^`), but ingressd reads it as text. Where other objects of its namespace make paths of the host expressions, the note says why this one stays text. Or it contains `//`, `/./`, `/../` or an escape such as `%20`, which nginx resolves before it compares paths, so that no request matches: write the path as it is then. To make it a regular expression, in which `.*` matches anything, set `use-regex: \"true\"` and the type `ImplementationSpecific`; to match all paths that begin with the text, remove the character.";
    HostOwned, Error, Author, "the object is not served on the host", "Another namespace owns the host, because it asked for it first (`hosts.ownership`) or had it until a moment ago (`hosts.grace`), or the host is reserved for the administrator (`hosts.catch-all`). Use another host, or ask the administrator.";
    HostNotAllowed, Error, Author, "the object is not served on the host", "The administrator does not allow the host to this namespace (`hosts.allowed`), or does not allow a regular expression for hosts (`server-alias`), or the namespace has too many of these, or so many hosts whose names nginx's hash cannot tell apart that its table has no room. Use another host, or ask the administrator.";
    PathConflict, Warning, Author, "requests for the path go to the backend of the other object", "Another object has the path: an older one of the same namespace, or one of another namespace that asked for it first, or that protects a path above it. That object keeps the path. A default backend of the host's owner counts as the path `/`. Use another path.";
    CanaryWithoutMain, Warning, Author, "the canary takes no requests of the path", "The object is a canary, and no other object of its namespace has this path of this host with the same type: so it gets no requests. Give it the host, path and pathType of the main object, in the namespace of the main object.";
    TooManyPaths, Error, Author, "the path is not served", "The namespace has more paths on this host than `limits.paths-of-host` allows, and this one is not served. Other paths take its requests; where it was to be protected, they are answered 503. Remove paths, or have the administrator raise the limit.";
    SharedHost, Warning, Author, "requests below the path go to the backend of another namespace", "Several namespaces have paths on the host. Another namespace has a path below this one and takes the requests for it, or asked first for paths that begin like this one. If that is not intended, use another host.";
    OverBudget, Error, Author, "the object is not served", "The object alone, or its namespace, exceeds a limit of the section `limits` of the settings, or the namespace exceeds its fair share where all namespaces together exceed one. Older objects take precedence, so this one is not served; paths that it protects answer 503 where other objects would take their requests. Remove what is not needed, or have the administrator raise the limit that the note names.";
    NearBudget, Info, Operator, "nothing yet: everything is served", "Four fifths of a limit are reached: of a budget of a namespace, of the total of the node, or of a limit of an object, a Service or a namespace on one host. When a budget of a namespace is exceeded, its newest objects are not served; when the total is exceeded, the newest objects of namespaces with more than their fair share. For other limits the note says what happens. Raise the limit, or remove what is not needed.";
    TooManyEndpoints, Warning, Author, "some endpoints get no requests", "The Service, or its namespace, has more endpoints than a limit allows, and the others get no requests. The choice depends on the addresses only, so it stays the same when endpoints are added or removed. Have the administrator raise the limit that the note names.";
    TlsConflict, Warning, Author, "the entry does not decide about TLS of the host", "Several namespaces share a host, and another namespace than that of this entry of `spec.tls` asked for it first. An entry of that namespace takes precedence, and this one has no effect. Without such an entry this certificate is served, but plain requests are redirected to https only for paths of this namespace. List the host in an Ingress of the namespace that asked first.";
    HostRuleConflict, Warning, Author, "the rule of the other object holds for the host", "Some rules hold for a whole host, such as its ciphers or client certificates. The oldest object with such a rule, in the namespace that asked for the host first, decides; the note names it. Write the same rule in all objects of the host, or use another host. An alias, or a redirect between `www.` and the host without it, has no effect on a host for which another object has a rule.";
    TlsWithoutPath, Warning, Author, "the entry has no effect, or none on the host", "An entry of `spec.tls` lists a host on which other objects have paths and this object has none, because it names no path or its paths are refused: list the host in an object that has a path there. Or the entry has no effect at all, because no object has a rule for its hosts, because it lists none, or only a wildcard, and its Secret is used for no host of the object, or because an earlier entry, or that of an older object, lists the same hosts: correct it as the note says.";
    ForeignChallenge, Warning, Operator, "the certificate is not renewed by HTTP-01", "An entry of `spec.tls` has a certificate of cert-manager for hosts that another namespace asked for first. Challenges of certificate authorities, below `/.well-known/acme-challenge`, are served only by that namespace, since whoever answers them gets certificates for the host. Request the certificate there, use DNS-01, or name the namespace of this object in `hosts.challenges`.";
    HostsRemoved, Error, Operator, "clients of these hosts are answered as those of unknown hosts, or the removal is held", "One change took at least ten hosts away, and at least half of all, or would take away more than `hosts.most-removed-at-once` allows, which is held. The note says how many and what changed, such as an IngressClass that was deleted. Restore it, or let a change that is held pass with `ingressd resume`. The error ends when the hosts are back, after a day, or when the daemon starts or reads its settings again.";
    MissingService, Warning, Author, "the route answers 503; nothing is served on the port of a TCP or UDP service" closes, "The Service does not exist. The route answers 503 until it does. Create the Service, or correct its name.";
    MissingPort, Warning, Author, "the route answers 503; nothing is served on the port of a TCP or UDP service" closes, "The Service does not have the port. The route answers 503 until it does. Correct the port in the Service or in the object.";
    NoEndpoints, Warning, Author, "the route answers 503; connections to a TCP or UDP service are closed" closes, "The Service has no ready endpoint. The route answers 503 until it has one. Look at the pods and the selector of the Service.";
    UnreachableMode, Warning, Author, "the route answers 503; connections to a TCP or UDP service are closed" closes, "The Service does not offer what its endpoint mode needs (`upstreams.endpoints`), such as a node port. The route answers 503. Change the type of the Service, or choose another mode (docs/networking.md).";
    ForbiddenTarget, Error, Author, "the address gets no requests; without another one the route answers 503, or connections to a TCP or UDP service are closed" closes, "The address of an endpoint is loopback, link-local, or an address of an edge node. It gets no requests, and without another address the route answers 503. For a pod with `hostNetwork` on an edge node the administrator can list address and port in `upstreams.own-addresses`.";
    ExternalNameDisabled, Warning, Author, "the route answers 503; nothing is served on the port of a TCP or UDP service" closes, "The administrator has switched off Services of type ExternalName. The route answers 503. Use another type of Service, or ask the administrator.";
    UnresolvedName, Warning, Author, "requests go to the addresses of the last answer; without any the route answers 503, or connections to a TCP or UDP service are closed" closes, "DNS returns no address for a name: that of a Service of type ExternalName, or the host in `auth-url`. The addresses of the last answer are used; without any the route answers 503. Correct the name, or the DNS servers in `upstreams.resolvers`.";
    AddressesLeftOut, Warning, Author, "some addresses get no requests", "DNS returns more addresses for a name than `limits.addresses-of-name` allows. Addresses that are in use stay in use, and the surplus gets no requests. Have the administrator raise the limit.";
    MirrorLeftOut, Warning, Author, "requests are served, and not mirrored", "The service that is to get copies of requests (`mirror-target`) does not exist or may not be used; the note says why. The routes are served without mirroring. Correct the annotation, or create the service.";
    WithoutWebSockets, Info, Author, "requests are served, and WebSockets are not opened", "The Service says by `appProtocol` that its backend speaks HTTP/2, which nginx uses then (`upstreams.app-protocol`), and WebSockets cannot pass. If clients open WebSockets, set `backend-protocol: HTTP`.";
    UnsupportedBackend, Warning, Author, "the route answers 503" closes, "The backend is a resource other than a Service. The route answers 503. Use a Service as backend.";
    MissingSecret, Warning, Author, "the host or route is served without the Secret, or closed", "The Secret does not exist. The host is served with the default certificate, or the routes that need the Secret answer 503, as the note says. Create the Secret, or correct its name.";
    PortConflict, Error, Operator, "the service is not served on the port", "A TCP or UDP service needs a port of the node that is in use: by ingressd or nginx itself, by another site of nginx, by another program, by another entry, or by an object of another namespace. The service is not served. Use another port, or stop the other user of the port.";
    InvalidSecret, Error, Author, "this version of the Secret is not used", "The content of the Secret cannot be used. Its last good version stays in use, if there is one. Correct the Secret as the note says.";
    InvalidCertificate, Error, Author, "the last good certificate is served, or the default one", "The certificate or its key cannot be used. The last good certificate is served, or the default one. Correct the Secret as the note says.";
    DoubtfulCertificate, Warning, Author, "some clients refuse the certificate, or nginx accepts no certificate of theirs", "The Secret is used, and not in the way that its author probably means: a part of it is not read, its chain lacks the certificate of the issuer, the certificate names hosts only as its common name, which browsers do not read, or `ca.crt` has no authority at which a chain ends. Correct the Secret as the note says.";
    CertificateHostMismatch, Warning, Author, "clients of the host refuse the certificate", "The certificate does not name the host, so browsers refuse it. Request a certificate for the host.";
    CertificateExpired, Warning, Author, "clients refuse the certificate", "The validity of the certificate has ended. It is still served, but clients refuse it. Renew the certificate.";
    CertificateEnding, Warning, Author, "nothing yet: clients refuse the certificate after its end", "The certificate ends soon and was not renewed. The finding comes 30, 14 and 3 days before the end, but not before two thirds of the validity are over, when cert-manager and other programs renew it. For a certificate that is valid for only some days it comes when a sixth is left. Renew the certificate.";
    NotStapled, Warning, Operator, "the certificate is served without an answer about its revocation", "The certificate names a responder for questions about its revocation (OCSP), and nginx does not ask it; the note says why. Clients that insist on the answer refuse the certificate. Add the responder to `tls.ocsp-responders`, or correct the Secret as the note says.";
    CertificateNotYetValid, Warning, Author, "clients refuse the certificate", "The validity of the certificate has not begun. It is served, but clients refuse it. If it was issued just now, the clock of this node or of the issuer is wrong by more than five minutes. Correct the clock, or wait.";
    CrossNamespace, Error, Author, "the reference is not followed", "The object refers to an object of another namespace, which the setting `cross-namespace` does not allow. Refer to an object of the same namespace, or ask the administrator, who can allow single Services to all namespaces (`access.shared-services`).";
    InvalidValue, Warning, Author, "the key, or the part that the note names, has no effect", "The value, or a part of it such as an entry of a list, does not have the form that the key needs, so it has no effect. Correct the value as the note says.";
    AboveCeiling, Warning, Author, "the ceiling is used instead of the value", "The value is above the ceiling that the administrator has set, and the ceiling is used instead. The note names the setting. Write a lower value, or ask the administrator.";
    NearestUsed, Warning, Author, "the nearest that nginx has is used instead of the value", "nginx does not have what the value asks for, and the nearest that it has is used. The note says what that is. Write the value that asks for it, or leave it as it is.";
    InvalidSecurityValue, Error, Author, "the routes of the object answer 503" closes, "A value that protects routes is wrong, and these routes answer 503 until it is corrected. Correct the value as the note says.";
    RefusedValue, Error, Author, "this version of the object is not served", "The object cannot be served with this value, so this version of it is not served. Its last good version stays in use; without one, paths that it protects answer 503 where other objects would take their requests. Correct the value as the note says.";
    UnknownField, Warning, Author, "the field has no effect", "The object has no field of this name at this place; often the line is indented too far or too little. The field has no effect. Only `ingressd check` reports it, with the nearest known field, because an API server drops such a field or refuses the object.";
    UnknownAnnotation, Warning, Author, "the key has no effect", "The annotation is not known. The note names the nearest known one. Correct the key, or remove it.";
    UnsupportedAnnotation, Warning, Author, "the key has no effect", "The annotation is known and has no effect here. The note says what to use instead.";
    NoEffectAlone, Info, Author, "the key has no effect", "The annotation has an effect only together with another one, which the object does not have, or does not have with the value that the note names; or the object is a canary, and the annotation counts on its main object. It is a warning for annotations whose mistakes close routes, most of which protect something. Add the other annotation, write it in the main object, or remove this one.";
    MissingConfigMap, Error, Operator, "the last good version of the ConfigMap is used, or none", "A ConfigMap that the settings, another ConfigMap or an annotation name does not exist, or the node may not read it. Create it, give the account of the node the right to read ConfigMaps (docs/kubeconfig.md), or remove its name.";
    UnknownKey, Warning, Author, "the key has no effect", "The ConfigMap has a key that is not known. The note names the nearest known one. Correct the key, or remove it.";
    UnsupportedKey, Warning, Author, "the key has no effect", "The key of the ConfigMap is known and has no effect here. The note says what to use instead.";
    EveryClientTrusted, Warning, Operator, "clients can write any address, and so pass lists of addresses", "The ConfigMap has headers of proxies or the PROXY protocol trusted and lists no proxies, so nginx trusts every client about its address, as ingress-nginx does. List the proxies in `proxy-real-ip-cidr`, or in the setting `access.trusted-proxies`.";
    NotAdmitted, Error, Author, "an API server with the policies of `ingressd admission` refuses the object", "A policy of `ingressd admission` refuses the object. Only `ingressd check --admission` reports this; other findings of the object say what is wrong. Correct the object, or have the administrator choose another action for the policy.";
    ClosedRoute, Error, Author, "the route answers 503" closes, "The route answers 503 because its protection cannot be set up; the note says why. It does not count as served. An object with only such routes keeps the addresses in its status and gets no new ones. Correct what the note names.";
    Quarantined, Error, Author, "this version of the object is not served", "nginx refused this version of the object, or could not load the configuration with it for lack of memory or time. The last good version, if there is one, goes on being served. The note has nginx's message, and says where nginx accepts the version alone and refuses it only together with other objects: then it is tried again after each change. After a change that ingressd cannot see, such as a library of the host, `ingressd reload` tries all versions in quarantine again. Correct the object, or ask the administrator.";
    MoreFindings, Warning, Author, "some findings of the object are not shown", "The object has more findings than `limits.findings-of-object`, and only the severest are shown. Correct these, and the others will be shown.";
    StatusContention, Warning, Operator, "the addresses in the status of the object may be wrong", "Another controller keeps changing the status of the object, so ingressd writes it less and less often. Stop the other controller from writing it, or give the object a class that only one of them serves.";
    PublishingFailed, Warning, Operator, "requests are served; statuses, Events or Leases are out of date", "ingressd cannot write a status, an Event or a Lease, or cannot read the Leases of other nodes; the note has the answer of the API server. nginx goes on serving. Where a right or the namespace of `publish.namespace` is missing, apply packaging/rbac/ingressd.yaml.";
    MissingAddress, Warning, Operator, "an address is not published", "An entry of `publish.addresses`, or the Service of `publish.service`, gives no address that can be published; the note says why. All other addresses are published. Correct the setting, or the interface, Node or Service that it names.";
    MissingRight, Error, Operator, "objects that need the right are not served", "A setting needs a right that the credentials of the node do not have; the note says what is not served. Apply packaging/rbac/ingressd.yaml, or have `ingressd kubeconfig` grant the rights that the settings need.";
    MissingCapability, Warning, Operator, "a feature that this nginx does not have is left out", "The nginx of this node lacks a module, or is too old. The note names what is missing and what is left out. Install the module, or a newer nginx (docs/modules.md).";
    DefaultServerTaken, Warning, Operator, "another site answers requests for unknown hosts", "Another site of this nginx is the default server of a port, and takes the requests for unknown hosts. To change that, remove its `default_server`; `ingressd setup --yes --disable-default-site` does it for the distribution's default site.";
    HostConflict, Warning, Operator, "another site of this nginx takes precedence", "Another site of this nginx, or nginx.conf, has the host, the port or the setting that an object needs. The note says which, what the effect is, and what to change.";
    DrainingWorkers, Warning, Operator, "changes are served later; at the limit connections are closed", "Old workers of nginx stay because of long connections, such as WebSockets, and there are more than half as many as `pacing.most-draining` allows. So changes wait until each of these workers had `pacing.draining-time`. At the limit ingressd ends workers before each reload, with their connections: the oldest, but those that took connections for a minute or longer come last, because they have the most.";
    Pinned, Warning, Operator, "no change of the cluster is served, and endpoints may no longer exist", "The administrator went back to an earlier generation with `ingressd rollback`. No change is applied until `ingressd resume`, and endpoints of that generation may no longer exist.";
    SettingsRefused, Error, Operator, "the earlier settings are in force, and the next start fails", "The daemon read the settings again (`systemctl reload ingressd`) and cannot use them. The earlier settings stay in force, and the next start of the daemon would fail. The note names file, line and key. Correct them and reload again.";
    ReloadFailed, Error, Operator, "no change is served, only the last confirmed generation", "nginx did not load a new configuration, and the last confirmed generation is served. The note has nginx's message; often another program uses a port. Where nginx refuses the host's own configuration, it could not be started again either: correct the line that it names before anything restarts it.";
    WriteFailed, Error, Operator, "no change is served, only the last confirmed generation", "A file cannot be written, and the last confirmed generation is served. The note names the file and the error: often the disk is full or read-only.";
    NginxDown, Error, Operator, "nothing is served", "nginx does not run. A configuration that nginx accepts is ready for its start: `systemctl start nginx`.";
}

/// Where packages install the files that stand in the top folder of the repository.
const DOCUMENTATION: &str = "/usr/share/doc/ingressd/";

impl Reason {
    /// The row of the table about this reason.
    pub fn row(self) -> &'static ReasonRow {
        &Reason::ALL[self as usize]
    }

    /// Where the reason is explained: the installed documentation page and the anchor on it, as
    /// lines of the journal name it.
    pub fn page(self) -> String {
        format!("{DOCUMENTATION}docs/{}", self.place())
    }

    /// The documentation page, relative to `docs/`, and the anchor on it.
    pub fn place(self) -> String {
        format!("findings.md#{}", self.anchor())
    }

    fn anchor(self) -> String {
        self.row().name.to_lowercase()
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.row().name)
    }
}

/// The documentation of all reasons in Markdown; each has an anchor that Events and log lines can
/// name.
pub fn document() -> String {
    let mut text = String::from(
        "# Findings\n\nWith this page you can look up the reason of a [finding](glossary.md#finding), what it means and who can correct it.\n\n\
         ingressd reports every mistake in an object, a setting or this node as a finding: in `ingressd check`, in\n\
         the journal (`REASON=`), in `ingressd status` and as the label `reason` of the metric `ingressd_findings`. Each finding\n\
         has the object, the field, a note with the remedy, and one of these reasons. Events have the same reasons. A line of the\n\
         journal ends with the path of this page on the node and the anchor of the reason; an Event has the remedy, and a link\n\
         to this page where there is one (`publish.documentation`). By symptom: [troubleshooting.md](troubleshooting.md).\n\n\
         | reason | severity | effect | who can correct it |\n| --- | --- | --- | --- |\n",
    );
    for row in Reason::ALL {
        let (anchor, severity, audience) = (row.reason.anchor(), row.severity.name(), row.audience.name());
        text.push_str(&format!("| [{}](#{anchor}) | {severity} | {} | {audience} |\n", row.name, row.effect));
    }
    for row in Reason::ALL {
        text.push_str(&format!("\n## {}\n\n{}\n", row.name, row.meaning));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ObjectId;

    #[test]
    fn each_case_of_a_reason_has_its_effect() {
        let annotation = || Field::Annotation("default-backend".into());
        for (reason, kind, field, severity, expected) in [
            (Reason::MissingService, Kind::INGRESS, Field::Path(0, 0, ""), Severity::Warning, "the route answers 503"),
            (Reason::MissingService, Kind::INGRESS, annotation(), Severity::Warning, "the key has no effect"),
            (Reason::MissingService, Kind::INGRESS, annotation(), Severity::Error, "the route answers 503"),
            (Reason::UnsupportedBackend, Kind::INGRESS, annotation(), Severity::Warning, "the key has no effect"),
            (
                Reason::InvalidSecret,
                Kind::INGRESS,
                annotation(),
                Severity::Warning,
                "users whose entries are left out get 401",
            ),
            (
                Reason::MissingPort,
                Kind::CONFIG_MAP,
                Field::Object,
                Severity::Warning,
                "nothing is served on the port of a TCP or UDP service",
            ),
            (Reason::NoEndpoints, Kind::SETTINGS, Field::Object, Severity::Warning, "the route answers 503"),
            (
                Reason::MissingSecret,
                Kind::INGRESS,
                Field::Tls(0),
                Severity::Warning,
                "the host is served with the default certificate",
            ),
            (
                Reason::MissingSecret,
                Kind::INGRESS,
                annotation(),
                Severity::Error,
                "the routes of the object answer 503",
            ),
        ] {
            let origin = Origin::field(&Arc::new(ObjectId::new(kind, "shop", "cart")), field);
            let finding = Finding { severity, ..Finding::new(reason, origin, "x") };
            assert_eq!(finding.effect(), expected, "{finding}");
            assert_eq!(finding.closes_routes(), expected.contains("503"), "{finding}");
        }
    }

    #[test]
    fn what_closes_routes_says_so() {
        let closing = Reason::ALL.iter().map(|row| (row.name, row.closes));
        assert!(closing.eq(Reason::ALL.iter().map(|row| (row.name, row.effect.contains("503")))));
    }

    #[test]
    fn what_an_author_can_correct_has_a_remedy_beside_its_note_or_in_it() {
        let of_authors = Reason::ALL.iter().filter(|row| matches!(row.audience, Audience::Author));
        let without = of_authors.filter(|row| row.remedy().is_none() && !row.meaning.contains("note"));
        assert_eq!(without.map(|row| row.name).collect::<Vec<_>>(), [""; 0]);
        assert_eq!(Reason::MissingService.row().remedy(), Some("Create the Service, or correct its name."));
        assert_eq!(Reason::UnsupportedKey.row().remedy(), None);
    }
}
