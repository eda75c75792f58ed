//! The check of certificates.

use super::Row;
use super::facts::*;
use crate::doctor::report::Level::{Error, Note, Ok as Good, Warning};
use ingressd_model::Validity;

pub const ROWS: &[Row] = &[
    ("certificates", |facts| facts.certificates[0].validity = Ok(lasting(-1)), Error, "ended on 2027-01-15"),
    ("certificates", |facts| facts.certificates[0].validity = Ok(lasting(13 * DAY)), Warning, "in 13 days"),
    ("certificates", |facts| facts.certificates[0].validity = Ok(lasting(DAY - 1)), Warning, "in 23 hours"),
    ("certificates", |facts| facts.certificates[0].validity = Ok(lasting(30 * DAY - 1)), Warning, "in 29 days"),
    ("certificates", |facts| facts.certificates[0].validity = Ok(lasting(30 * DAY)), Good, "1 certificate is good"),
    (
        "certificates",
        |facts| facts.certificates[0].validity = Ok(Validity { begins: NOW + DAY, ends: NOW + 60 * DAY }),
        Error,
        "is not valid before 2027-01-16",
    ),
    (
        "certificates",
        |facts| facts.certificates[0].validity = Err("Permission denied".into()),
        Warning,
        "Permission denied",
    ),
    ("certificates", |facts| facts.certificates.clear(), Note, "no certificate"),
];
