//! A firewall for requests: not served yet, and closed rather than left out.

use crate::translate::annotation::{Family, OnError, Trust, nothing_to_finish, unserved};

const FIREWALL: &str = "a firewall in nginx is not served yet; put one in front of this node or of the backend";

pub static FAMILY: Family = Family {
    title: "Web application firewall",
    rows: &[
        unserved("enable-modsecurity", "true", "Checks requests by ModSecurity. Not served yet; because the routes would be open without it, true closes them.", FIREWALL).unless("false").on_error(OnError::Close),
        unserved("enable-owasp-core-rules", "true", "Checks requests by the OWASP rules. Not served yet; because the routes would be open without them, true closes them.", FIREWALL).unless("false").on_error(OnError::Close),
        unserved("modsecurity-snippet", "SecRuleEngine On", "Rules of ModSecurity as text. Not served: the object is refused.", "raw configuration is never read; a firewall in nginx is not served yet; put one in front of this node or of the backend").trust(Trust::Critical).on_error(OnError::Refuse),
        unserved("modsecurity-transaction-id", "$request_id", "Name of a transaction in the firewall's log. Not served yet.", FIREWALL).trust(Trust::High),
    ],
    finish: nothing_to_finish,
};
