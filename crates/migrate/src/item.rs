//! The judgement about one flag, key or field: whether it is equal, and what to do.

use ingressd_model::finding::{Finding, Reason, Severity};
use ingressd_translate::annotation::Compared;

/// The effect compared with ingress-nginx.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Equivalence {
    /// It is the same.
    #[default]
    Equal,
    /// Less is accepted.
    Stricter,
    Different,
    /// There is none.
    Refused,
}

impl Equivalence {
    /// All verdicts, the best first.
    pub const ALL: [Equivalence; 4] =
        [Equivalence::Equal, Equivalence::Stricter, Equivalence::Different, Equivalence::Refused];

    /// The word for people and machines.
    pub const fn name(self) -> &'static str {
        match self {
            Equivalence::Equal => "equal",
            Equivalence::Stricter => "stricter",
            Equivalence::Different => "different",
            Equivalence::Refused => "refused",
        }
    }

    /// The verdict of a finding's reason; `None` where it does not compare the programs, because
    /// ingress-nginx does the same, or because it is about this host.
    ///
    /// Reasons whose verdict depends on the key are handled by [`Item::of_finding`].
    fn of(reason: Reason) -> Option<Equivalence> {
        match reason {
            Reason::DuplicateObject
            | Reason::LiteralPath
            | Reason::UnknownAnnotation
            | Reason::UnknownField
            | Reason::UnknownKey => Some(Equivalence::Equal),
            Reason::AboveCeiling
            | Reason::AddressesLeftOut
            | Reason::CanaryWithoutMain
            | Reason::PathConflict
            | Reason::TooManyEndpoints => Some(Equivalence::Stricter),
            Reason::ClosedRoute
            | Reason::CrossNamespace
            | Reason::ForbiddenTarget
            | Reason::HostNotAllowed
            | Reason::HostOwned
            | Reason::InvalidHost
            | Reason::InvalidPath
            | Reason::InvalidSecurityValue
            | Reason::MissingCapability
            | Reason::MissingConfigMap
            | Reason::OverBudget
            | Reason::Quarantined
            | Reason::RefusedValue
            | Reason::TooManyPaths
            | Reason::Undecodable
            | Reason::UnreachableMode
            | Reason::Unreadable
            | Reason::UnresolvedName => Some(Equivalence::Refused),
            // A missing part of an object is missing with ingress-nginx too.
            Reason::CertificateEnding
            | Reason::CertificateExpired
            | Reason::CertificateHostMismatch
            | Reason::DoubtfulCertificate
            | Reason::CertificateNotYetValid
            | Reason::ExternalNameDisabled
            | Reason::InvalidCertificate
            | Reason::InvalidSecret
            | Reason::MissingPort
            | Reason::MissingSecret
            | Reason::MissingService
            | Reason::NoEndpoints
            | Reason::UnsupportedBackend => None,
            // These are reported elsewhere.
            Reason::DefaultServerTaken | Reason::ForeignClass | Reason::HostConflict | Reason::PortConflict => None,
            Reason::MoreFindings | Reason::NearBudget => None,
            _ => Some(Equivalence::Different),
        }
    }
}

impl From<Compared> for Equivalence {
    fn from(compared: Compared) -> Self {
        match compared {
            Compared::Equal => Equivalence::Equal,
            Compared::Stricter(..) | Compared::StricterValues(..) => Equivalence::Stricter,
            Compared::Different(..) | Compared::DifferentUnset(..) => Equivalence::Different,
            Compared::Refused(..) => Equivalence::Refused,
        }
    }
}

/// What is known about a key with its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnownKey {
    /// Whether it is a key, whose value may be empty, and not another field.
    pub is_key: bool,
    /// Its effect compared with ingress-nginx.
    pub compared: Compared,
    /// Whether it has an effect of its own.
    pub is_served: bool,
    /// Whether its value asks for what happens anyway.
    pub asks_for_nothing: bool,
    /// What a value does that is none of the key's, compared with ingress-nginx, which may take
    /// it; `None` where that is not known.
    pub mistake: Option<Compared>,
}

impl KnownKey {
    /// For a field that is not a key.
    pub const NOTHING: KnownKey =
        KnownKey { is_key: false, compared: Compared::Equal, is_served: true, asks_for_nothing: false, mistake: None };

    /// The comparison when there is no finding: then a key without effect asks for what happens
    /// anyway.
    pub fn silent(self) -> Compared {
        match self.is_served && !self.asks_for_nothing {
            true => self.compared.of_accepted(),
            false => Compared::Equal,
        }
    }
}

/// One flag, key or field.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Item {
    pub name: String,
    /// Its value as written.
    pub value: String,
    pub verdict: Equivalence,
    /// Its replacement, if it has another name.
    pub becomes: String,
    /// Why it is not equal.
    pub why: String,
    /// What to do; empty when nothing has to be done.
    pub remedy: String,
}

impl Item {
    /// The item for a key, whatever its value is.
    pub fn of_key(name: &str, value: &str, compared: Compared) -> Self {
        let (why, remedy) = compared.words();
        Item {
            name: name.to_owned(),
            value: value.to_owned(),
            verdict: compared.into(),
            why: why.to_owned(),
            remedy: remedy.to_owned(),
            ..Item::default()
        }
    }

    /// The item for a finding about a key; `None` when the finding does not matter for the
    /// comparison.
    pub fn of_finding(name: &str, value: &str, finding: &Finding, known: KnownKey) -> Option<Self> {
        let verdict = match finding.reason {
            // A value without effect changes nothing.
            Reason::InvalidValue if finding.severity == Severity::Info => Equivalence::Equal,
            Reason::InvalidValue if known.is_key && value.trim().is_empty() => Equivalence::Equal,
            // ingress-nginx does the same.
            Reason::NoEffectAlone => Equivalence::Equal,
            // The object is served without the key, as it may be there.
            Reason::InvalidValue => known.mistake.map_or(Equivalence::Refused, Equivalence::from),
            // The service is asked, and a part of its answer is lost.
            Reason::MissingCapability if name.ends_with("auth-url") => Equivalence::Different,
            Reason::UnsupportedAnnotation | Reason::UnsupportedKey => match known.is_served {
                true => Equivalence::from(known.compared).max(Equivalence::Different),
                false => known.compared.into(),
            },
            reason => Equivalence::of(reason)?,
        };
        let (why, remedy) = match verdict {
            Equivalence::Equal => (finding.printable_note(), String::new()),
            _ => (finding.effect().to_owned(), finding.printable_note()),
        };
        Some(Item { name: name.to_owned(), value: value.to_owned(), verdict, why, remedy, ..Item::default() })
    }

    /// Whether the item needs attention.
    pub fn needs_something(&self) -> bool {
        self.verdict == Equivalence::Refused || !self.remedy.is_empty()
    }
}
