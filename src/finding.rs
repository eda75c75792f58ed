//! What is wrong with what a user wrote, as a value: it must not know who reads it, nor how it was found.

mod limit;

pub use limit::{Shown, in_turn, limit};

use std::fmt;
use std::sync::Arc;

use crate::model::Origin;

/// Longest note in bytes: notes quote what users wrote, and reach the journal, the status and the cluster.
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
}

impl fmt::Display for Finding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The note may quote what a user wrote: whatever could forge a line in a log is shown escaped.
        write!(formatter, "{}: {}: ", self.origin, self.reason)?;
        self.note.chars().try_for_each(|character| match character {
            '"' | '\'' | '\\' => write!(formatter, "{character}"),
            _ => write!(formatter, "{}", character.escape_debug()),
        })
    }
}

/// What a [`Reason`] stands for.
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
    /// One sentence for the documentation: what it means and what to do.
    pub meaning: &'static str,
}

macro_rules! reasons {
    ($($reason:ident, $severity:ident, $audience:ident, $meaning:literal;)*) => {
        /// The closed list of sorts of findings.
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
                meaning: $meaning,
            },)*];
        }
    };
}

reasons! {
    Undecodable, Error, Author, "A document could not be decoded into an object; its last good version, if there is one, goes on being served.";
    Unreadable, Error, Operator, "A file or folder of manifests could not be read; what it held before goes on being served.";
    DuplicateObject, Warning, Author, "Two documents describe the same object; the first in order of file and line counts.";
    ForeignClass, Info, Author, "The object belongs to another controller, or names a class that does not exist, and is left alone.";
    InvalidHost, Error, Author, "A host is not a DNS name; its rule is left out.";
    InvalidPath, Error, Author, "A path cannot be served as written; the object version is not used, or, where the path cannot be an expression, it alone answers 503, as the note says.";
    HostOwned, Error, Author, "Another namespace asked for the host first and has it for itself (`hosts.ownership`), or had it until a moment ago (`hosts.grace`), or it is for the administrator (`hosts.catch-all`): nothing is served of it here. Take another host, or ask the administrator.";
    HostNotAllowed, Error, Author, "The administrator does not let this namespace have the host (`hosts.allowed`); nothing is served of it here.";
    PathConflict, Warning, Author, "The path is an older object's, or that of another namespace which asked for it first, or lies below a protected path of another one; who has it keeps it.";
    TooManyPaths, Error, Author, "The namespace has as many paths on this host as it may have (`limits.paths-of-host`); this one is not served. Its requests go where they would go without it, and are answered 503 where it would be protected.";
    SharedHost, Warning, Author, "Several namespaces have paths of the host: below this path another namespace has one and takes its requests there, or another one asked first for paths that begin like this one.";
    OverBudget, Error, Author, "The object, or its namespace with it, asks for more than the section `limits` of the settings allows. Older objects go first: this one is not served, and what it protects answers 503 where other objects would take its requests. Take out what is not needed, or have the administrator raise the limit that the note names.";
    NearBudget, Info, Operator, "A namespace has used four fifths of one of its budgets; when it is used up, its newest objects are not served. Raise the limit, or ask the namespace for less.";
    TooManyEndpoints, Warning, Author, "The Service, or its namespace, has more endpoints than requests are sent to; the others get none. They are chosen by their addresses, so that the choice stays when others come and go.";
    TlsConflict, Warning, Author, "Namespaces share a host, and another one than that of this entry of `spec.tls` asked for it first. What that namespace lists goes first, and the entry has no effect; where it lists nothing this certificate is served, but plain requests are sent to https only for paths of this namespace. List the host in an Ingress of the oldest one's namespace.";
    MissingService, Warning, Author, "The Service does not exist; the route answers 503 until it does.";
    MissingPort, Warning, Author, "The Service has no such port; the route answers 503 until it has.";
    NoEndpoints, Warning, Author, "The Service has no ready endpoint; the route answers 503 until it has.";
    UnreachableMode, Warning, Author, "The Service cannot be reached in the endpoint mode that is configured; the route answers 503.";
    ForbiddenTarget, Error, Author, "An upstream address is loopback, link-local, or of this or another edge node; it is left out, and without another one the route answers 503. Where a pod shares the network of an edge node (`hostNetwork`), the administrator may list its address and port in `upstreams.own-addresses`.";
    ExternalNameDisabled, Warning, Author, "Services of type ExternalName are switched off by the administrator; the route answers 503.";
    UnresolvedName, Warning, Author, "DNS does not tell the addresses of a Service of type ExternalName; those of the last answer are used, and without any the route answers 503.";
    AddressesLeftOut, Warning, Author, "DNS tells more addresses of a Service of type ExternalName than are used (`limits.addresses-of-name`); those that are in use stay.";
    UnsupportedBackend, Warning, Author, "The backend is a resource other than a Service; the route answers 404.";
    MissingSecret, Warning, Author, "The Secret does not exist; what needs it is served without it or closed, as the note says.";
    InvalidSecret, Error, Author, "The Secret cannot be used; the last good version, if there is one, goes on being served.";
    InvalidCertificate, Error, Author, "The certificate and key cannot be used; the last good certificate, or the default one, is served.";
    CertificateHostMismatch, Warning, Author, "The certificate does not name the host; browsers will complain.";
    CertificateExpired, Warning, Author, "The certificate is served although its validity has ended or not begun.";
    CrossNamespace, Error, Author, "A reference to another namespace is refused unless the administrator allows it.";
    InvalidValue, Warning, Author, "The value is not of the form the key takes; the key has no effect.";
    AboveCeiling, Warning, Author, "The value asks for more than the administrator lets objects have; the ceiling takes its place. The note names the setting.";
    InvalidSecurityValue, Error, Author, "A value that protects the route is wrong: its routes answer 503 until it is mended.";
    RefusedValue, Error, Author, "The value would change where requests go in a way that cannot be served; the object version is not used.";
    UnknownAnnotation, Warning, Author, "The key is not known; the nearest known key is named.";
    UnsupportedAnnotation, Warning, Author, "The key is known but has no effect here, or not yet; the note says what to use instead.";
    ClosedRoute, Error, Author, "The route answers 503 because something that protects it cannot be set up.";
    Quarantined, Error, Author, "nginx refused this version of the object, or could not take the configuration with it: for want of memory or time; its last good version, if there is one, goes on being served.";
    MoreFindings, Warning, Author, "There are more findings about the object than are told, which are the severest: mend these, and the others are told.";
    StatusContention, Warning, Operator, "Another controller keeps changing the status of the object; it is written ever more seldom.";
    PublishingFailed, Warning, Operator, "What this node tells the cluster or the other nodes cannot be written, or theirs not be read; what nginx serves does not depend on it. Where a right or the namespace of `publish.namespace` is missing, apply packaging/rbac/ingressd.yaml.";
    MissingAddress, Warning, Operator, "An entry of `publish.addresses`, or the Service of `publish.service`, gives no address that can be published; the note says why. What else the settings name is published all the same.";
    MissingRight, Error, Operator, "The credentials may not see what a setting depends on; the note says what follows. Apply packaging/rbac/ingressd.yaml, or let `ingressd kubeconfig` give the rights that the settings need.";
    MissingCapability, Warning, Operator, "The nginx of this host lacks a module or is too old for what is asked; the note says what is left out.";
    DefaultServerTaken, Warning, Operator, "Another site of this host is the default server of a port; requests for unknown hosts go there.";
    HostConflict, Warning, Operator, "Another site of this host, or its nginx.conf, already sets what is needed; the note says what follows.";
    DrainingWorkers, Warning, Operator, "Old workers of nginx finish connections that last, such as WebSockets, and there are more than half as many as `pacing.most-draining` allows: reloads are spaced out by up to `pacing.crowded-spacing`. When there are as many as may be, the oldest are ended before each reload, and their connections with them.";
    Pinned, Warning, Operator, "The administrator went back to an earlier generation with `ingressd rollback`: nothing that changes is applied until `ingressd rollback --resume`, and endpoints of that generation may be gone.";
    ReloadFailed, Error, Operator, "nginx did not take a new configuration; the last confirmed one is served.";
    WriteFailed, Error, Operator, "A file could not be written; the last confirmed configuration is served.";
    NginxDown, Error, Operator, "nginx does not run; a configuration that it takes is ready for its start.";
}

/// Where packages put what a clone of the repository has in its first folder.
const DOCUMENTATION: &str = "/usr/share/doc/ingressd/";

impl Reason {
    /// What it stands for.
    pub fn row(self) -> &'static ReasonRow {
        &Reason::ALL[self as usize]
    }

    /// Where it is explained, as Events and log lines name it: a page of the documentation where packages install it, and
    /// the place on it.
    pub fn page(self) -> String {
        format!("{DOCUMENTATION}docs/findings.md#{}", self.anchor())
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

/// The documentation of all reasons in Markdown; each has an anchor that Events and log lines can name.
pub fn document() -> String {
    let mut text = String::from(
        "# Findings\n\nWhatever is wrong with an object, a setting or this host is told as a finding: in `ingressd check`, in\n\
         the journal (`REASON=`), in `ingressd status` and as the label `reason` of the metric `ingressd_findings`. Each has the\n\
         object, the field, a note with the remedy, and one of these reasons. Events have the same reasons; they and the lines\n\
         of the journal name the place on this page, by the path at which packages install it: whoever has no access to the node\n\
         finds it here. By symptom: [troubleshooting.md](troubleshooting.md).\n\n\
         | reason | severity | who can mend it |\n| --- | --- | --- |\n",
    );
    for row in Reason::ALL {
        let (anchor, severity, audience) = (row.reason.anchor(), row.severity.name(), row.audience.name());
        text.push_str(&format!("| [{}](#{anchor}) | {severity} | {audience} |\n", row.name));
    }
    for row in Reason::ALL {
        text.push_str(&format!("\n## {}\n\n{}\n", row.name, row.meaning));
    }
    text
}
