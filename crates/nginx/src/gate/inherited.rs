//! What our servers would inherit from the host's `http` level, and how they override it.
//!
//! A server inherits all directives that it does not set itself. nginx's default is written only
//! where the host's `http` level changes it, because each directive of each server costs time in
//! each reload. An ordinary host therefore pays nothing, and nginx never gets a directive that it
//! does not know. Directives that describe the host itself are inherited: its networks
//! (`set_real_ip_from`), its logs, its limits of time and memory, its choice of ciphers.

use crate::{Http2, OtherSites, Reset};
use ingressd_model::catalogue::{self, CERTIFICATES_BY_VARIABLE, DirectiveRow, Inherited, NO_CERTIFICATE, Version};
use ingressd_model::finding::{Finding, Reason};

use super::host;

/// The directives that our servers need because of what the host's `http` level sets, in the order
/// of the catalogue.
pub fn resets(other_sites: &OtherSites, version: Version, http2: Http2, findings: &mut Vec<Finding>) -> Vec<Reset> {
    let is_set = |row: &&DirectiveRow| other_sites.http_directives.contains(row.name);
    let mut resets: Vec<Reset> = Vec::new();
    for row in catalogue::all().filter(is_set) {
        match row.inherited {
            Inherited::Stays => {}
            Inherited::Permanent => report(
                findings,
                format!(
                    "nginx.conf sets {} for all sites, which changes hosts of the cluster, because ingressd cannot \
                        undo it there; move it into the sites that need it",
                    row.name
                ),
            ),
            Inherited::TakenBack(reset) => {
                if reset.protects {
                    let words = format!(
                        "nginx.conf sets {} for all sites, and hosts of the cluster do not inherit it; protect them \
                            by settings of ingressd or by annotations",
                        row.name
                    );
                    report(findings, words);
                }
                let is_unknown = reset.arguments == NO_CERTIFICATE && version < CERTIFICATES_BY_VARIABLE;
                let arguments = if is_unknown { "\"\"" } else { reset.arguments };
                let reset = Reset { row: reset.by.unwrap_or(row), arguments };
                // Several directives may be overridden by the same one.
                if !resets.contains(&reset) {
                    resets.push(reset);
                }
            }
        }
    }
    if is_set(&&catalogue::HTTP2) && http2 != Http2::Directive {
        resets.push(Reset { row: &catalogue::HTTP2, arguments: "off" });
    }
    resets
}

fn report(findings: &mut Vec<Finding>, words: String) {
    findings.push(Finding::new(Reason::HostConflict, host(), words));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(names: &[&str], http2: Http2) -> (Vec<String>, usize) {
        let http_directives = names.iter().map(|name| (*name).to_owned()).collect();
        let other_sites = OtherSites { http_directives, ..OtherSites::default() };
        let mut findings = Vec::new();
        let resets = resets(&other_sites, Version(1, 22, 1), http2, &mut findings);
        (resets.iter().map(|reset| format!("{} {}", reset.row.name, reset.arguments)).collect(), findings.len())
    }

    #[test]
    fn only_what_the_host_sets_is_taken_back() {
        type Row = (&'static [&'static str], Http2, &'static [&'static str], usize);
        let rows: &[Row] = &[
            (&[], Http2::Off, &[], 0),
            (&["access_log", "set_real_ip_from", "keepalive_timeout", "ssl_ciphers"], Http2::Off, &[], 0),
            (
                &["proxy_buffering", "proxy_buffers", "proxy_buffer_size"],
                Http2::Off,
                &["proxy_buffer_size 4k", "proxy_buffering on", "proxy_buffers 8 4k"],
                0,
            ),
            (&["gzip", "error_page"], Http2::Off, &["error_page 599 /", "gzip off"], 0),
            (&["allow", "deny"], Http2::Off, &["allow all"], 2),
            (&["sub_filter"], Http2::Off, &[], 1),
            (&["http2"], Http2::Off, &["http2 off"], 0),
            (&["http2"], Http2::Directive, &[], 0),
        ];
        for (names, http2, expected, findings) in rows {
            let (resets, reported) = of(names, *http2);
            assert_eq!(
                (resets, reported),
                (expected.iter().map(|text| (*text).to_owned()).collect(), *findings),
                "{names:?}"
            );
        }
    }
}
