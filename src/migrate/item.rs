//! What is said of one flag, key or field: whether it is as before, and what to do.

use crate::finding::{Finding, Reason, Severity};
use crate::translate::annotation::Compared;

/// How something is here, beside ingress-nginx.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// The same.
    #[default]
    Equal,
    /// Less gets through.
    Stricter,
    /// Something else.
    Different,
    /// Nothing of it.
    Refused,
}

impl Verdict {
    /// All of them, the best first.
    pub const ALL: [Verdict; 4] = [Verdict::Equal, Verdict::Stricter, Verdict::Different, Verdict::Refused];

    /// The word for people and machines.
    pub const fn name(self) -> &'static str {
        match self {
            Verdict::Equal => "equal",
            Verdict::Stricter => "stricter",
            Verdict::Different => "different",
            Verdict::Refused => "refused",
        }
    }

    /// What a finding says; `None` where it says nothing of the two programs, because the same follows from it with ingress-nginx, or
    /// because it is about this host.
    ///
    /// Reasons whose meaning depends on the key are the business of [`Item::of_finding`].
    fn of(reason: Reason) -> Option<Verdict> {
        match reason {
            Reason::DuplicateObject
            | Reason::LiteralPath
            | Reason::UnknownAnnotation
            | Reason::UnknownField
            | Reason::UnknownKey => Some(Verdict::Equal),
            Reason::AboveCeiling
            | Reason::AddressesLeftOut
            | Reason::CanaryWithoutMain
            | Reason::PathConflict
            | Reason::TooManyEndpoints => Some(Verdict::Stricter),
            Reason::ClosedRoute
            | Reason::CrossNamespace
            | Reason::ForbiddenTarget
            | Reason::HostNotAllowed
            | Reason::HostOwned
            | Reason::InvalidHost
            | Reason::InvalidPath
            | Reason::InvalidSecurityValue
            | Reason::InvalidValue
            | Reason::MissingCapability
            | Reason::MissingConfigMap
            | Reason::OverBudget
            | Reason::Quarantined
            | Reason::RefusedValue
            | Reason::TooManyPaths
            | Reason::Undecodable
            | Reason::UnreachableMode
            | Reason::Unreadable
            | Reason::UnresolvedName => Some(Verdict::Refused),
            // What an object lacks it lacks there too.
            Reason::CertificateEnding
            | Reason::CertificateExpired
            | Reason::CertificateHostMismatch
            | Reason::CertificateNotYetValid
            | Reason::ExternalNameDisabled
            | Reason::InvalidCertificate
            | Reason::InvalidSecret
            | Reason::MissingPort
            | Reason::MissingSecret
            | Reason::MissingService
            | Reason::NoEndpoints
            | Reason::UnsupportedBackend => None,
            // Told apart.
            Reason::DefaultServerTaken | Reason::ForeignClass | Reason::HostConflict | Reason::PortConflict => None,
            Reason::MoreFindings | Reason::NearBudget => None,
            _ => Some(Verdict::Different),
        }
    }
}

impl From<Compared> for Verdict {
    fn from(compared: Compared) -> Self {
        match compared {
            Compared::Equal => Verdict::Equal,
            Compared::Stricter(..) => Verdict::Stricter,
            Compared::Different(..) => Verdict::Different,
            Compared::Refused(..) => Verdict::Refused,
        }
    }
}

/// What is known of a key, whatever its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Known {
    /// What it does here, beside ingress-nginx.
    pub compared: Compared,
    /// Whether it has an effect of its own.
    pub is_served: bool,
}

impl Known {
    /// What there is to know of what is no key.
    pub const NOTHING: Known = Known { compared: Compared::Equal, is_served: true };

    /// What nothing is found about: a key without an effect asks for what happens anyway then.
    pub fn silent(self) -> Compared {
        if self.is_served { self.compared } else { Compared::Equal }
    }
}

/// One flag, key or field.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Item {
    /// What it is called.
    pub name: String,
    /// Its value as written.
    pub value: String,
    /// How it is here.
    pub verdict: Verdict,
    /// What it becomes, where that is something else.
    pub becomes: String,
    /// Why it is not the same.
    pub why: String,
    /// What to do; empty where nothing has to be done.
    pub remedy: String,
}

impl Item {
    /// A key of which this is known, whatever its value.
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

    /// What a finding says of a key of which this is known; `None` when it says nothing of it.
    pub fn of_finding(name: &str, value: &str, finding: &Finding, known: Known) -> Option<Self> {
        let verdict = match finding.reason {
            // What asks for nothing changes nothing.
            Reason::InvalidValue if finding.severity == Severity::Info || value.trim().is_empty() => Verdict::Equal,
            // As with ingress-nginx.
            Reason::NoEffectAlone => Verdict::Equal,
            Reason::CrossNamespace if name.ends_with("-secret") => Verdict::Equal,
            Reason::UnsupportedAnnotation | Reason::UnsupportedKey => match known.is_served {
                true => Verdict::from(known.compared).max(Verdict::Different),
                false => known.compared.into(),
            },
            reason => Verdict::of(reason)?,
        };
        let (why, remedy) = match verdict {
            Verdict::Equal => (finding.printable_note(), String::new()),
            // The key counts all the same: only this of it is so.
            _ if finding.reason == Reason::UnsupportedKey && known.is_served => {
                (known.compared.words().0.to_owned(), finding.printable_note())
            }
            _ => (finding.reason.row().effect.to_owned(), finding.printable_note()),
        };
        Some(Item { name: name.to_owned(), value: value.to_owned(), verdict, why, remedy, ..Item::default() })
    }

    /// Whether somebody has to do something, or to know something.
    pub fn needs_something(&self) -> bool {
        self.verdict == Verdict::Refused || !self.remedy.is_empty()
    }
}
