//! For each annotation an invalid value: what ingress-nginx does with it, and what ingressd does;
//! each difference has a reason.
//!
//! The table is written by hand, and not made of the rows: it holds what ingress-nginx was seen to
//! do.

use std::collections::BTreeSet;

use ingressd_translate::ANNOTATIONS;
use ingressd_translate::annotation::{Compared, Elsewhere, Row, mistakes};

use serde_json::json;

use crate::shop::{about, files, is_closed, shop, written};

/// The result here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Here {
    /// The object is served as without the key.
    Default,
    /// The object is not served.
    Refused,
    /// Its routes answer 503.
    Closed,
    /// No header for other origins is sent.
    NoCors,
    /// No request is copied.
    NoCopies,
}

/// The result of ingress-nginx and the result here, for keys with a value each.
type Group = (&'static [Elsewhere], Here, &'static [(&'static str, &'static str)]);

const GROUPS: &[Group] = &[
    (
        &[Elsewhere::Default],
        Here::Default,
        &[
            ("ssl-redirect", "yes"),
            ("force-ssl-redirect", "on"),
            ("preserve-trailing-slash", "yes"),
            ("use-regex", "yes"),
            ("rewrite-target", "/a;b"),
            ("app-root", "/a;b"),
            ("use-port-in-redirects", "yes"),
            ("backend-protocol", "SMTP"),
            ("proxy-body-size", "8 MB"),
            ("proxy-connect-timeout", "5s"),
            ("proxy-read-timeout", "1m"),
            ("proxy-send-timeout", "soon"),
            ("proxy-buffer-size", "big"),
            ("proxy-buffers-number", "many"),
            ("proxy-busy-buffers-size", "big"),
            ("proxy-buffering", "true"),
            ("proxy-request-buffering", "true"),
            ("proxy-max-temp-file-size", "big"),
            ("proxy-http-version", "3"),
            ("proxy-next-upstream", "http_999"),
            ("proxy-next-upstream-timeout", "5s"),
            ("proxy-next-upstream-tries", "few"),
            ("proxy-cookie-domain", "a;b c"),
            ("proxy-cookie-path", "/a; /b"),
            ("proxy-redirect-from", "http://a;"),
            ("proxy-redirect-to", "http://a;"),
            ("service-upstream", "yes"),
            ("disable-proxy-intercept-errors", "yes"),
            ("affinity", "ip"),
            ("affinity-mode", "none"),
            ("affinity-canary-behavior", "none"),
            ("session-cookie-name", "a;b"),
            ("session-cookie-path", "/a;b"),
            ("session-cookie-domain", "a;b"),
            ("session-cookie-expires", "1h"),
            ("session-cookie-max-age", "1h"),
            ("session-cookie-samesite", "maybe"),
            ("session-cookie-conditional-samesite-none", "yes"),
            ("session-cookie-secure", "yes"),
            ("session-cookie-change-on-failure", "yes"),
            ("canary-weight", "10%"),
            ("canary-weight-total", "all"),
            ("canary-by-header", "X;"),
            ("canary-by-header-value", "a\u{1}b"),
            ("canary-by-header-pattern", "("),
            ("canary-by-cookie", "a;b"),
            ("auth-keepalive", "many"),
            ("auth-keepalive-share-vars", "yes"),
            ("auth-keepalive-requests", "many"),
            ("auth-keepalive-timeout", "1m"),
            ("enable-global-auth", "no"),
            ("auth-tls-verify-depth", "deep"),
            ("proxy-ssl-verify-depth", "deep"),
            ("proxy-ssl-name", "a{"),
            ("proxy-ssl-server-name", "yes"),
            ("proxy-ssl-ciphers", "HIGH;"),
            ("proxy-ssl-protocols", "SSLv2"),
            ("ssl-prefer-server-ciphers", "yes"),
            ("limit-burst-multiplier", "many"),
            ("limit-rate", "100k"),
            ("limit-rate-after", "100k"),
            ("enable-cors", "yes"),
            ("cors-expose-headers", "X Total"),
            ("cors-allow-methods", "GET;"),
            ("cors-allow-headers", "X;"),
            ("cors-max-age", "1h"),
            ("enable-access-log", "no"),
            ("enable-rewrite-log", "yes"),
            ("modsecurity-transaction-id", "a;b"),
        ],
    ),
    (
        &[Elsewhere::Refuse],
        Here::Refused,
        &[
            ("x-forwarded-prefix", "/a\"; b"),
            ("permanent-redirect", "https://a.test/;"),
            ("permanent-redirect-code", "moved"),
            ("temporal-redirect-code", "moved"),
            ("from-to-www-redirect", "yes"),
            ("relative-redirects", "yes"),
            ("connection-proxy-header", "upgrade"),
            ("upstream-vhost", "a;b"),
            ("default-backend", "a;b"),
            ("custom-http-errors", "200"),
            ("http2-push-preload", "yes"),
            ("load-balance", "random"),
            ("upstream-hash-by", "$uri;"),
            ("upstream-hash-by-subset", "yes"),
            ("upstream-hash-by-subset-size", "some"),
            ("auth-tls-error-page", "https://a.test/;"),
            ("auth-tls-pass-certificate-to-upstream", "yes"),
            ("server-alias", "a;b"),
            ("ssl-passthrough", "yes"),
            ("ssl-ciphers", "HIGH;"),
            ("limit-rps", "ten"),
            ("limit-rpm", "60/m"),
            ("limit-connections", "few"),
            ("limit-allowlist", "localhost"),
        ],
    ),
    (
        &[Elsewhere::Close],
        Here::Closed,
        &[
            ("auth-method", "GET; }"),
            ("auth-response-headers", "X-User;"),
            ("auth-proxy-set-headers", "default/absent"),
            ("auth-secret", "absent"),
            ("allowlist-source-range", "localhost"),
            ("denylist-source-range", "localhost"),
            ("custom-headers", "default/absent"),
        ],
    ),
    // The rows from here on differ, each for a reason.
    (
        &[Elsewhere::Refuse],
        Here::Closed,
        &[("auth-type", "token"), ("auth-secret-type", "map"), ("auth-tls-match-cn", "ann"), ("fastcgi-index", "a;b")],
    ),
    (
        &[Elsewhere::Refuse, Elsewhere::Close],
        Here::Closed,
        &[
            ("auth-url", "http://a.test/;"),
            ("auth-url", "a.test"),
            ("proxy-ssl-secret", "default/absent"),
            ("fastcgi-params-configmap", "default/absent"),
        ],
    ),
    (
        &[Elsewhere::Refuse, Elsewhere::CloseHost],
        Here::Closed,
        &[("auth-tls-secret", "a;b"), ("auth-tls-secret", "default/absent")],
    ),
    (&[Elsewhere::Refuse], Here::Default, &[("auth-realm", "a\"b"), ("client-body-buffer-size", "16 KB")]),
    (&[Elsewhere::LeaveOut], Here::Closed, &[("auth-always-set-cookie", "yes"), ("auth-request-redirect", "/a;b")]),
    (
        &[Elsewhere::Close, Elsewhere::LeaveOut],
        Here::Closed,
        &[("auth-cache-duration", "5m 200"), ("auth-cache-duration", "200 5m;")],
    ),
    (
        &[Elsewhere::Refuse, Elsewhere::LeaveOut],
        Here::Refused,
        &[("temporal-redirect", "https://a.test/;"), ("temporal-redirect", "/now")],
    ),
    (
        &[Elsewhere::Default],
        Here::Closed,
        &[
            ("auth-signin", "/login"),
            ("auth-signin-redirect-param", "a=b"),
            ("auth-cache-key", "$cookie_a;"),
            ("satisfy", "some"),
            ("auth-tls-verify-client", "yes"),
            ("proxy-ssl-verify", "yes"),
            ("enable-modsecurity", "yes"),
            ("enable-owasp-core-rules", "yes"),
        ],
    ),
    (&[Elsewhere::Default], Here::Refused, &[("canary", "yes"), ("modsecurity-snippet", "SecRule a b")]),
    (&[Elsewhere::Default], Here::NoCors, &[("cors-allow-origin", "a.test"), ("cors-allow-credentials", "yes")]),
    (
        &[Elsewhere::Default],
        Here::NoCopies,
        &[("mirror-target", "a.test"), ("mirror-host", "a;b"), ("mirror-request-body", "yes")],
    ),
];

/// What is wrong with the result of a value.
fn wrong(row: &Row, here: Here, value: &str) -> Option<String> {
    let with = |annotations: &[(&str, &str)]| {
        let mut main = shop(&[], "/", "Prefix");
        main["metadata"]["name"] = json!("main");
        // A canary takes a part of what another object has.
        let main = annotations.contains(&("canary", "true")).then_some(main);
        written(&main.into_iter().chain([shop(annotations, "/", "Prefix")]).collect::<Vec<_>>())
    };
    let outcome = with(&[row.beside, &[(row.key, value)]].concat());
    let is_reported = !about(&outcome, "shop").is_empty();
    let server = outcome.server("shop.test");
    let is_right = match here {
        Here::Default => files(&outcome) == files(&with(row.beside)) && server.is_some(),
        Here::Refused => server.is_none(),
        Here::Closed => is_closed(&outcome) && server.is_some(),
        Here::NoCors => server.is_some_and(|text| !text.contains("Access-Control") && !text.contains("return 503")),
        Here::NoCopies => files(&outcome) == files(&with(&[])),
    };
    (!is_right || !is_reported).then(|| format!("{}: {value:?}: {here:?}: {:?}", row.key, about(&outcome, "shop")))
}

#[test]
fn each_bad_value_becomes_what_it_does_elsewhere_or_something_stricter_that_is_reported() {
    let (mut seen, mut complaints) = (BTreeSet::new(), Vec::new());
    for (there, here, values) in GROUPS {
        for (key, value) in *values {
            seen.insert(*key);
            let row = ANNOTATIONS.find(key).unwrap_or_else(|| panic!("{key}"));
            if row.elsewhere != *there {
                complaints.push(format!("{key}: {:?} is told to happen elsewhere", row.elsewhere));
            }
            let is_same = matches!(
                (there, here),
                ([Elsewhere::Default], Here::Default)
                    | ([Elsewhere::Refuse], Here::Refused)
                    | ([Elsewhere::Close], Here::Closed)
            );
            if (mistakes::compared(row) == Compared::Equal) != is_same {
                complaints.push(format!("{key}: {:?} is told", mistakes::compared(row)));
            }
            complaints.extend(wrong(row, *here, value));
        }
    }
    assert!(complaints.is_empty(), "\n{}", complaints.join("\n"));
    let served: BTreeSet<_> = ANNOTATIONS.rows().filter(|row| row.is_served()).map(|row| row.key).collect();
    assert_eq!(seen, served, "the keys that are served");
}
