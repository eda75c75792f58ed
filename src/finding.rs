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

use crate::model::Origin;

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

/// Who can mend it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Audience {
    /// Whoever wrote the object.
    Author,
    /// Whoever runs the edge node.
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

    /// The note as it may be shown: it may quote what a user wrote, and whatever could forge a
    /// line in a log is escaped.
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
    /// The reason.
    pub reason: Reason,
    /// Its name in Events, conditions, metric labels and documentation anchors.
    pub name: &'static str,
    /// How bad it usually is.
    pub severity: Severity,
    /// Who can mend it.
    pub audience: Audience,
    /// What follows for requests, in a few words that are true of every finding with this reason.
    pub effect: &'static str,
    /// One sentence for the documentation: what it means and what to do.
    pub meaning: &'static str,
}

macro_rules! reasons {
    ($($reason:ident, $severity:ident, $audience:ident, $effect:literal, $meaning:literal;)*) => {
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
                meaning: $meaning,
            },)*];
        }
    };
}

reasons! {
    Undecodable, Error, Author, "the object is not served as it is written now", "A document could not be decoded into an object; its last good version, if there is one, goes on being served.";
    Unreadable, Error, Operator, "what the file or folder holds now is not served", "A file or folder of manifests could not be read; what it held before goes on being served.";
    DuplicateObject, Warning, Author, "this description of the object has no effect", "Two documents describe the same object; the first in order of file and line counts.";
    ForeignClass, Info, Author, "nothing of the object is served here", "The object belongs to another controller, names a class that does not exist, or has `spec.defaultBackend` while `hosts.disable-catch-all` is set; it is left alone.";
    InvalidHost, Error, Author, "nothing is served of the host", "A host is not a DNS name; its rule is left out.";
    InvalidPath, Error, Author, "the path is not served as it is written", "A path cannot be served as written; the object version is not used, or, where the path cannot be an expression, it alone answers 503, as the note says.";
    LiteralPath, Warning, Author, "only requests with these very characters get there", "A path has a sign of an expression (`*`, `|`, `[` or `^`), as other controllers and rewrites take them, and nothing makes it one. With `use-regex: \"true\"` and the type `ImplementationSpecific` it is an expression, in which `.*` stands for anything; without the sign it is a beginning.";
    HostOwned, Error, Author, "nothing of the object is served of the host", "Another namespace asked for the host first and has it for itself (`hosts.ownership`), or had it until a moment ago (`hosts.grace`), or it is for the administrator (`hosts.catch-all`): nothing is served of it here. Take another host, or ask the administrator.";
    HostNotAllowed, Error, Author, "nothing of the object is served of the host", "The administrator does not let this namespace have the host (`hosts.allowed`), or an expression for hosts (`server-alias`), or not as many of these; nothing is served of it here.";
    PathConflict, Warning, Author, "requests for the path go where the other object says", "The path is an older object's, or that of another namespace which asked for it first, or lies below a protected path of another one; who has it keeps it.";
    CanaryWithoutMain, Warning, Author, "the canary takes no requests of the path", "The object is a canary, and no other object of its namespace has this path of this host with the same type: there are no requests of which it could take a part. Give it the host, path and pathType of the main object, in the main object's namespace.";
    TooManyPaths, Error, Author, "the path is not served", "The namespace has as many paths on this host as it may have (`limits.paths-of-host`); this one is not served. Its requests go where they would go without it, and are answered 503 where it would be protected.";
    SharedHost, Warning, Author, "requests below the path go where another namespace says", "Several namespaces have paths of the host: below this path another namespace has one and takes its requests there, or another one asked first for paths that begin like this one.";
    OverBudget, Error, Author, "the object is not served", "The object, or its namespace with it, asks for more than the section `limits` of the settings allows, or than its fair share where all namespaces together do. Older objects go first: this one is not served, and what it protects answers 503 where other objects would take its requests. Take out what is not needed, or have the administrator raise the limit that the note names.";
    NearBudget, Info, Operator, "nothing yet: everything is served", "A namespace has used four fifths of one of its budgets, or all together of what the node has, or an object, a Service, or a namespace on one host has four fifths of what the note names. When a budget is used up, the newest objects of the namespace, or of those that ask for more than their fair share, are not served; what follows where something else is, the note says. Raise the limit, or ask for less.";
    TooManyEndpoints, Warning, Author, "some endpoints get no requests", "The Service, or its namespace, has more endpoints than requests are sent to; the others get none. They are chosen by their addresses, so that the choice stays when others come and go.";
    TlsConflict, Warning, Author, "the entry does not decide how the host is served by TLS", "Namespaces share a host, and another one than that of this entry of `spec.tls` asked for it first. What that namespace lists goes first, and the entry has no effect; where it lists nothing this certificate is served, but plain requests are sent to https only for paths of this namespace. List the host in an Ingress of the oldest one's namespace.";
    HostRuleConflict, Warning, Author, "the rule of the other object holds for the host", "A rule that holds for a whole host, such as its ciphers or what it asks of the certificates of clients, is that of the oldest object with one, of the namespace that asked for the host first; the note says which. Say the same in all objects of the host, or take another host.";
    TlsWithoutPath, Warning, Author, "the entry has no effect on the host", "An entry of `spec.tls` lists a host of which other objects have the paths and this one has none, because it does not ask for any or asks in vain: the entry has no effect there. List the host in an object that has a path there.";
    MissingService, Warning, Author, "the route answers 503; nothing is served on the port of a TCP or UDP service", "The Service does not exist; the route answers 503 until it does.";
    MissingPort, Warning, Author, "the route answers 503; nothing is served on the port of a TCP or UDP service", "The Service has no such port; the route answers 503 until it has.";
    NoEndpoints, Warning, Author, "the route answers 503; connections to a TCP or UDP service are closed", "The Service has no ready endpoint; the route answers 503 until it has.";
    UnreachableMode, Warning, Author, "the route answers 503; connections to a TCP or UDP service are closed", "The Service cannot be reached in the endpoint mode that is configured; the route answers 503.";
    ForbiddenTarget, Error, Author, "the address gets no requests; without another one the route answers 503, or connections to a TCP or UDP service are closed", "An upstream address is loopback, link-local, or of this or another edge node; it is left out, and without another one the route answers 503. Where a pod shares the network of an edge node (`hostNetwork`), the administrator may list its address and port in `upstreams.own-addresses`.";
    ExternalNameDisabled, Warning, Author, "the route answers 503; nothing is served on the port of a TCP or UDP service", "Services of type ExternalName are switched off by the administrator; the route answers 503.";
    UnresolvedName, Warning, Author, "requests go to the addresses of the last answer; without any the route answers 503, or connections to a TCP or UDP service are closed", "DNS does not tell the addresses of a Service of type ExternalName; those of the last answer are used, and without any the route answers 503.";
    AddressesLeftOut, Warning, Author, "some addresses get no requests", "DNS tells more addresses of a Service of type ExternalName than are used (`limits.addresses-of-name`); those that are in use stay.";
    MirrorLeftOut, Warning, Author, "requests are served, and not copied", "The service that is to get copies of requests (`mirror-target`) is not there, or may not be used; the routes are served without copies, and the note says why.";
    UnsupportedBackend, Warning, Author, "the route answers 404", "The backend is a resource other than a Service; the route answers 404.";
    MissingSecret, Warning, Author, "what needs the Secret is served without it, or closed", "The Secret does not exist; what needs it is served without it or closed, as the note says.";
    PortConflict, Error, Operator, "nothing is served on the port", "A TCP or UDP service asks for a port of the host that something else has: ingressd or nginx itself, another site of nginx, another program, or another entry. Nothing is served on it, and whoever has the port keeps it. Take another port, or free it.";
    InvalidSecret, Error, Author, "the Secret is not used as it is now", "The Secret cannot be used; the last good version, if there is one, goes on being served.";
    InvalidCertificate, Error, Author, "the last good certificate is served, or the default one", "The certificate and key cannot be used; the last good certificate, or the default one, is served.";
    CertificateHostMismatch, Warning, Author, "clients of the host refuse the certificate", "The certificate does not name the host; browsers will complain.";
    CertificateExpired, Warning, Author, "clients refuse the certificate", "The certificate is served although its validity has ended; clients refuse it.";
    CertificateEnding, Warning, Author, "nothing yet: clients refuse the certificate when it has ended", "The certificate ends soon and was not renewed. It is told 30, 14 and 3 days before, though not before two thirds of its validity are over, when cert-manager and others renew it; one that is valid for some days, when a sixth is left.";
    CertificateNotYetValid, Warning, Author, "clients refuse the certificate", "The certificate is served although its validity has not begun; clients refuse it. Where it was made right now, the clock of this host or of its issuer is wrong by more than five minutes.";
    CrossNamespace, Error, Author, "the reference is not followed", "A reference to another namespace is refused unless the administrator allows it.";
    InvalidValue, Warning, Author, "the key has no effect", "The value is not of the form the key takes; the key has no effect.";
    AboveCeiling, Warning, Author, "the ceiling takes the place of the value", "The value asks for more than the administrator lets objects have; the ceiling takes its place. The note names the setting.";
    InvalidSecurityValue, Error, Author, "the routes of the object answer 503", "A value that protects the route is wrong: its routes answer 503 until it is mended.";
    RefusedValue, Error, Author, "this version of the object is not served", "The value would change where requests go in a way that cannot be served; the object version is not used. Without a last good version, paths that it protects answer 503 where other objects would take their requests.";
    UnknownField, Warning, Author, "the field has no effect", "The object has no such field at that place, often one that is indented too far or too little; it has no effect. `ingressd check` tells it, with the nearest field that there is; an API server drops it, or refuses the object when `kubectl` asks it to.";
    UnknownAnnotation, Warning, Author, "the key has no effect", "The key is not known; the nearest known key is named.";
    UnsupportedAnnotation, Warning, Author, "the key has no effect", "The key is known but has no effect here, or not yet; the note says what to use instead.";
    NoEffectAlone, Info, Author, "the key has no effect", "The key counts together with another one, which the object does not have, or not with the value that the note names. Everything else that the object asks for is done. Add the other key, or take this one out.";
    MissingConfigMap, Error, Operator, "at most its last good version counts", "A ConfigMap that the settings, another ConfigMap or an annotation name does not exist, or may not be read. Create it, give the account of the node the right to read ConfigMaps (docs/kubeconfig.md), or take its name out.";
    UnknownKey, Warning, Author, "the key has no effect", "The ConfigMap has a key that is not known; the nearest known key is named.";
    UnsupportedKey, Warning, Author, "the key has no effect", "The key of the ConfigMap is known but has no effect here, or not yet; the note says what to use instead.";
    NotAdmitted, Error, Author, "an API server with the policies of `ingressd admission` refuses the object", "A policy of `ingressd admission` is against the object; `ingressd check --admission` tells it. What is wrong is told by other findings as well; mend it, or have the administrator choose another action for the policy. A daemon never tells it.";
    ClosedRoute, Error, Author, "the route answers 503", "The route answers 503 because something that protects it cannot be set up, and does not count as served. An object with nothing but such routes keeps the addresses in its status and gets no new ones.";
    Quarantined, Error, Author, "this version of the object is not served", "nginx refused this version of the object, or could not take the configuration with it: for want of memory or time; its last good version, if there is one, goes on being served.";
    MoreFindings, Warning, Author, "more is wrong with the object than is told", "There are more findings about the object than are told, which are the severest: mend these, and the others are told.";
    StatusContention, Warning, Operator, "the addresses in the status of the object may be wrong", "Another controller keeps changing the status of the object; it is written ever more seldom.";
    PublishingFailed, Warning, Operator, "the cluster or other nodes are not told the truth about this node; requests are served", "What this node tells the cluster or the other nodes cannot be written, or theirs not be read; what nginx serves does not depend on it. Where a right or the namespace of `publish.namespace` is missing, apply packaging/rbac/ingressd.yaml.";
    MissingAddress, Warning, Operator, "an address is not published", "An entry of `publish.addresses`, or the Service of `publish.service`, gives no address that can be published; the note says why. What else the settings name is published all the same.";
    MissingRight, Error, Operator, "what depends on the right is not served or not known", "The credentials may not see what a setting depends on; the note says what follows. Apply packaging/rbac/ingressd.yaml, or let `ingressd kubeconfig` give the rights that the settings need.";
    MissingCapability, Warning, Operator, "what this nginx cannot do is left out", "The nginx of this host lacks a module or is too old for what is asked; the note says what is left out.";
    DefaultServerTaken, Warning, Operator, "another site answers requests for unknown hosts", "Another site of this host is the default server of a port; requests for unknown hosts go there.";
    HostConflict, Warning, Operator, "another site of this host decides", "Another site of this host, or its nginx.conf, already sets what is needed; the note says what follows.";
    DrainingWorkers, Warning, Operator, "changes are served later; in the end the oldest connections are cut", "Old workers of nginx finish connections that last, such as WebSockets, and there are more than half as many as `pacing.most-draining` allows: reloads are spaced out by up to `pacing.crowded-spacing`. When there are as many as may be, the oldest are ended before each reload, and their connections with them.";
    Pinned, Warning, Operator, "no change of the cluster is served, and endpoints may be gone", "The administrator went back to an earlier generation with `ingressd rollback`: nothing that changes is applied until `ingressd rollback --resume`, and endpoints of that generation may be gone.";
    SettingsRefused, Error, Operator, "the settings from before are in force, and the next start fails", "The settings were read again (`systemctl reload ingressd`) and cannot be used: those from before are in force, and the next start of the daemon would fail. The note names file, line and key.";
    ReloadFailed, Error, Operator, "no change is served, only what nginx took before", "nginx did not take a new configuration; the last confirmed one is served.";
    WriteFailed, Error, Operator, "no change is served, only what nginx took before", "A file could not be written; the last confirmed configuration is served.";
    NginxDown, Error, Operator, "nothing is served", "nginx does not run; a configuration that it takes is ready for its start.";
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
        "# Findings\n\nWith this page you can look up the reason of a [finding](glossary.md#finding), what it means and who can mend it.\n\n\
         Whatever is wrong with an object, a setting or this host is told as a finding: in `ingressd check`, in\n\
         the journal (`REASON=`), in `ingressd status` and as the label `reason` of the metric `ingressd_findings`. Each has the\n\
         object, the field, a note with the remedy, and one of these reasons. Events have the same reasons. A line of the journal\n\
         ends with the place on this page, as packages install it on the node; an Event ends with a link to it\n\
         (`publish.documentation`). By symptom: [troubleshooting.md](troubleshooting.md).\n\n\
         | reason | severity | what follows | who can mend it |\n| --- | --- | --- | --- |\n",
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
