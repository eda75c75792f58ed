//! What is found about the dates of certificates, at the fields that name them: it changes by time
//! and by renewal, and is in no host.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;

use crate::secret::certificate::Use;
use ingressd_model::finding::{Finding, Reason};
use ingressd_model::{Certificate, CertificateId, Origin, Validity, ValidityPhase, in_words};

/// What is found about the dates of certificates, and when.
#[derive(Debug, Clone, Default)]
pub struct Reported {
    pub findings: Vec<Finding>,
    at: i64,
    /// When the passage of time alone changes it, in seconds since 1970.
    pub due: Option<i64>,
}

impl Reported {
    /// Judges these certificates where they are used.
    pub fn of(uses: &[Use], certificates: &BTreeMap<CertificateId, Arc<Certificate>>, now: i64) -> Self {
        let mut reported = Reported { at: now, ..Reported::default() };
        for (id, origin) in uses {
            let (CertificateId::Secret(secret), Some(certificate)) = (id, certificates.get(id)) else { continue };
            reported.findings.extend(reported_of_validity(&secret.name, certificate.validity, now, origin));
            reported.due = [reported.due, certificate.validity.changes(now)].into_iter().flatten().min();
        }
        reported
    }

    /// Whether it is the same now.
    pub fn holds(&self, now: i64) -> bool {
        self.at <= now && self.due.is_none_or(|due| now < due)
    }
}

/// The finding about the validity of a served certificate.
fn reported_of_validity(secret: &str, validity: Validity, now: i64, origin: &Origin) -> Option<Finding> {
    let at = |second: i64| Timestamp::from_second(second).map_or_else(|_| second.to_string(), |time| time.to_string());
    let (reason, clause) = match validity.standing(now) {
        ValidityPhase::Good => return None,
        ValidityPhase::NotYet => {
            (Reason::CertificateNotYetValid, format!("its validity begins at {}", at(validity.begins)))
        }
        ValidityPhase::Ended => (Reason::CertificateExpired, format!("its validity ended at {}", at(validity.ends))),
        ValidityPhase::Ending(left) => {
            let note = format!(
                "the certificate in Secret {secret:?} ends at {}, in less than {}, and should have been renewed",
                at(validity.ends),
                in_words(left)
            );
            return Some(Finding::new(Reason::CertificateEnding, origin.clone(), note));
        }
    };
    let note = format!("the certificate in Secret {secret:?} is served although {clause}");
    Some(Finding::new(reason, origin.clone(), note))
}
