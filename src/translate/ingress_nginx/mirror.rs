//! Copies of requests: not served yet.

use crate::translate::annotation::{Family, Trust, nothing_to_finish, unserved};

const MIRRORS: &str = "mirroring is not served yet";

pub static FAMILY: Family = Family {
    title: "Mirroring",
    rows: &[
        unserved("mirror-host", "mirror.example.com", "Host header of the copy. Not served yet.", MIRRORS)
            .trust(Trust::High),
        unserved("mirror-request-body", "off", "Whether the copy has a body. Not served yet.", MIRRORS),
        unserved(
            "mirror-target",
            "https://mirror.example.com$request_uri",
            "Sends a copy of each request there. Not served yet.",
            MIRRORS,
        )
        .trust(Trust::High),
    ],
    finish: nothing_to_finish,
};
