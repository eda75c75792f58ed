//! The keys that are served, each with the lines that come of a good value and the finding about a
//! bad one.

use ingressd_model::catalogue::Module::{Brotli, GeoIp2, HeadersMore, ModSecurity};

use super::{Key, key};

const BROTLI: &[(&str, &str)] = &[("enable-brotli", "true")];
const GZIP: &[(&str, &str)] = &[("use-gzip", "true")];
const TRUSTED: &[(&str, &str)] = &[("use-forwarded-headers", "true"), ("proxy-real-ip-cidr", "192.0.2.0/24")];
const ASKED: &[(&str, &str)] = &[("global-auth-url", "http://backend.example.net/may")];
const SIGN_IN: &[(&str, &str)] =
    &[("global-auth-url", "http://backend.example.net/may"), ("global-auth-signin", "https://in.example/a")];
const SYSLOG: &[(&str, &str)] = &[("enable-syslog", "true"), ("syslog-host", "192.0.2.9")];
const TICKETS: &[(&str, &str)] = &[("ssl-session-tickets", "true")];
const LARGE: &[(&str, &str)] = &[("proxy-buffering", "on")];
const FIREWALL: &[(&str, &str)] = &[("enable-modsecurity", "true")];
const PLACES: &[(&str, &str)] = &[("use-geoip2", "true"), ("log-format-upstream", "$geoip2_country_code")];
const OF_STREAMS_LESS: &str = "-access_log \"/var/log/nginx/ingressd.log\" ingressd_stream_line;";
const OF_STREAMS_STAYS: &str = "=access_log \"/var/log/nginx/ingressd.log\" ingressd_stream_line;";
const SWITCH: &str = "true or false";
const REFUSED: &str = "is refused";

/// Every key, sorted by name.
pub const KEYS: &[Key] = &[
    key(
        "access-log-params",
        "buffer=16k flush=5s",
        &["+access_log \"/var/log/nginx/ingressd.log\" ingressd_line buffer=16k flush=5s;"],
        "if=$x",
        "none of",
    )
    .set("'buffer=16k flush=5s'"),
    key(
        "access-log-path",
        "/var/log/nginx/a.log",
        &["+access_log \"/var/log/nginx/a.log\" ingressd_line;"],
        "/etc/passwd",
        "listen.access-log",
    )
    .set("'/var/log/nginx/a.log'"),
    key("add-headers", "default/headers", &["+add_header X-Site \"edge\" always;"], "headers", "namespace/name"),
    key("allow-backend-server-header", "true", &["+proxy_pass_header Server;"], "yes", SWITCH),
    key("allow-cross-namespace-resources", "true", &["+auth_basic \"Authentication Required\";"], "yes", SWITCH)
        .set("true"),
    key("allow-snippet-annotations", "false", &["-return 200 \"hello\";"], "no", SWITCH).set("false"),
    key("annotations-risk-level", "Low", &["-client_max_body_size 3m;"], "Great", "none of low").set("'low'"),
    key(
        "bind-address",
        "127.0.0.2,::1",
        &["+listen 127.0.0.2:80;", "+listen [::1]:80;", "-listen 0.0.0.0:80;"],
        "eth0",
        REFUSED,
    )
    .set("['127.0.0.2', '::1']"),
    key(
        "block-cidrs",
        "192.0.2.0/24",
        &["+192.0.2.0/24 1;", "+if ($ingressd_blocked_network) {"],
        "everybody",
        REFUSED,
    )
    .set("['192.0.2.0/24']"),
    key("block-referers", "~*spam", &["+if ($ingressd_blocked_referer) {"], "~(", REFUSED).set("['~*spam']"),
    key("block-user-agents", "~*bot,curl/1", &["+if ($ingressd_blocked_agent) {"], "~(", REFUSED)
        .set("['~*bot', 'curl/1']"),
    key("brotli-level", "11", &["+brotli_comp_level 11;"], "12", REFUSED).beside(BROTLI).needs(Brotli),
    key("brotli-min-length", "99", &["+brotli_min_length 99;"], "-1", REFUSED).beside(BROTLI).needs(Brotli),
    key("brotli-types", "text/css", &["+brotli_types \"text/css\";"], "css", "media types")
        .beside(BROTLI)
        .needs(Brotli),
    key("client-body-buffer-size", "64k", &["+client_body_buffer_size 64k;"], "huge", REFUSED),
    key("client-body-timeout", "7", &["+client_body_timeout 7s;"], "soon", REFUSED),
    key("client-header-buffer-size", "2k", &["+client_header_buffer_size 2k;"], "2g", REFUSED),
    key("client-header-timeout", "8", &["+client_header_timeout 8s;"], "soon", REFUSED),
    key(
        "compute-full-forwarded-for",
        "true",
        &["+\"~^1:.\" \"$http_x_forwarded_for, $realip_remote_addr\";"],
        "yes",
        SWITCH,
    )
    .beside(TRUSTED)
    .set("true"),
    key("custom-http-errors", "404,502", &["+proxy_intercept_errors on;"], "200", REFUSED),
    key("default-type", "text/html", &["+default_type \"text/html\";"], "text", "media types"),
    key("denylist-source-range", "192.0.2.0/24", &["+deny 192.0.2.0/24;"], "everybody", REFUSED),
    key("disable-access-log", "true", &["+access_log off;", OF_STREAMS_LESS], "yes", SWITCH).set("false"),
    key("disable-http-access-log", "true", &["+access_log off;", OF_STREAMS_STAYS], "yes", SWITCH).set("false"),
    key("disable-ipv6", "true", &["-listen [::]:80;"], "yes", SWITCH),
    key("disable-proxy-intercept-errors", "true", &["-proxy_intercept_errors on;"], "yes", SWITCH)
        .beside(&[("custom-http-errors", "404")]),
    key("disable-stream-access-log", "true", &[OF_STREAMS_LESS], "yes", SWITCH).set("false"),
    key("enable-access-log-for-default-backend", "false", &["+access_log off;"], "no", SWITCH).set("false"),
    key("enable-aio-write", "true", &["+aio threads;", "+aio_write on;"], "yes", SWITCH),
    key("enable-auth-access-log", "true", &["+log_subrequest on;"], "yes", SWITCH).set("true"),
    key("enable-brotli", "true", &["+brotli on;", "+brotli_comp_level 4;", "+brotli_min_length 20;"], "yes", SWITCH)
        .needs(Brotli),
    key("enable-modsecurity", "true", &["+modsecurity on;"], "yes", SWITCH).needs(ModSecurity),
    key(
        "enable-ocsp",
        "true",
        &["+ssl_stapling on;", "+ssl_stapling_responder http://192.0.2.7:8080/status;"],
        "yes",
        SWITCH,
    )
    .set("true"),
    key(
        "enable-owasp-modsecurity-crs",
        "true",
        &["+modsecurity_rules \"SecRuleRemoveById 1990000001-1990000005\";"],
        "yes",
        SWITCH,
    )
    .beside(FIREWALL)
    .needs(ModSecurity),
    key(
        "enable-real-ip",
        "true",
        &["+set_real_ip_from 192.0.2.0/24;", "+real_ip_header X-Forwarded-For;"],
        "yes",
        SWITCH,
    )
    .beside(&[("proxy-real-ip-cidr", "192.0.2.0/24")]),
    key("enable-syslog", "true", &["+access_log syslog:server=192.0.2.9:514 ingressd_line;"], "yes", SWITCH)
        .beside(&[("syslog-host", "192.0.2.9")])
        .set("true"),
    key("enable-underscores-in-headers", "true", &["+underscores_in_headers on;"], "yes", SWITCH),
    key("force-ssl-redirect", "true", &["+return 308 https://$host$ingressd_stripped_uri;"], "yes", SWITCH),
    key("forwarded-for-header", "X-Client", &["+real_ip_header X-Client;"], "X Client", "letters, digits")
        .beside(TRUSTED)
        .set("'X-Client'"),
    key(
        "forwarded-host-header",
        "X-Asked",
        &["+map $http_x_asked $ingressd_first_forwarded_host {"],
        "X A",
        "letters, digits",
    )
    .beside(TRUSTED)
    .set("'X-Asked'"),
    key("generate-request-id", "false", &["-\"\" $request_id;"], "no", SWITCH).set("false"),
    key("geoip2-autoreload-in-minutes", "5", &["+auto_reload 300s;"], "often", REFUSED)
        .beside(PLACES)
        .set("'5m'")
        .needs(GeoIp2),
    key(
        "global-allowed-response-headers",
        "X-Frame-Options",
        &["+add_header X-Frame-Options \"DENY\" always;"],
        "X A",
        "letters, digits",
    )
    .set("['X-Frame-Options']"),
    key(
        "global-auth-always-set-cookie",
        "true",
        &["+add_header Set-Cookie $ingressd_authentication_cookie_0 always;"],
        "yes",
        SWITCH,
    )
    .beside(ASKED),
    key("global-auth-cache-duration", "200 10m", &["+proxy_cache_valid 200 600s;"], "200", REFUSED).beside(&[
        ("global-auth-url", "http://backend.example.net/may"),
        ("global-auth-cache-key", "$remote_user$http_authorization"),
    ]),
    key(
        "global-auth-cache-key",
        "$remote_user$http_authorization",
        &["+proxy_cache ingressd_authentication;", "+proxy_cache_valid 200 202 401 300s;"],
        "$nonsense",
        REFUSED,
    )
    .beside(ASKED),
    key("global-auth-method", "HEAD", &["+proxy_method HEAD;"], "head", REFUSED).beside(ASKED),
    key(
        "global-auth-request-redirect",
        "https://a.example/b",
        &["+proxy_set_header X-Auth-Request-Redirect \"https://a.example/b\";"],
        "a b",
        REFUSED,
    )
    .beside(ASKED),
    key(
        "global-auth-response-headers",
        "X-User",
        &["+auth_request_set $ingressd_authentication_0 $upstream_http_x_user;"],
        "X;",
        REFUSED,
    )
    .beside(ASKED),
    key(
        "global-auth-signin",
        "https://in.example/a",
        &["+error_page 401 =302 \"https://in.example/a?rd=${scheme}://${ingressd_host}${ingressd_escaped_uri}\";"],
        "ftp://x",
        REFUSED,
    )
    .beside(ASKED),
    key(
        "global-auth-signin-redirect-param",
        "back",
        &["+error_page 401 =302 \"https://in.example/a?back=${scheme}://${ingressd_host}${ingressd_escaped_uri}\";"],
        "a b",
        REFUSED,
    )
    .beside(SIGN_IN),
    key(
        "global-auth-url",
        "http://backend.example.net/may",
        &["+proxy_pass \"http://6dac14cf4141.ingressd.1186dab62c05c9bd454c/may\";"],
        "nowhere",
        REFUSED,
    ),
    key("grpc-buffer-size-kb", "64", &["+grpc_buffer_size 64k;"], "4k", REFUSED),
    key("gzip-disable", "msie6", &["+gzip_disable msie6;"], "(a*)*(", REFUSED).beside(GZIP),
    key("gzip-level", "3", &["+gzip_comp_level 3;"], "10", REFUSED).beside(GZIP),
    key("gzip-min-length", "9", &["+gzip_min_length 9;"], "-1", REFUSED).beside(GZIP),
    key("gzip-types", "text/css", &["+gzip_types \"text/css\";"], "css", "media types").beside(GZIP),
    key("hide-headers", "X-Powered-By", &["+proxy_hide_header X-Powered-By;"], "X A", "letters, digits")
        .set("['X-Powered-By']"),
    key("hsts", "false", &["-proxy_hide_header Strict-Transport-Security;"], "no", SWITCH).set("'off'"),
    key("hsts-include-subdomains", "false", &["+on \"max-age=31536000\";"], "no", SWITCH).set("false"),
    key("hsts-max-age", "60", &["+on \"max-age=60; includeSubDomains\";"], "long", REFUSED).set("60"),
    key("hsts-preload", "true", &["+on \"max-age=31536000; includeSubDomains; preload\";"], "yes", SWITCH).set("true"),
    key(
        "http-access-log-path",
        "/var/log/nginx/b.log",
        &["+access_log \"/var/log/nginx/b.log\" ingressd_line;"],
        "/etc/passwd",
        "listen.access-log",
    )
    .set("'/var/log/nginx/b.log'"),
    key(
        "http-redirect-code",
        "301",
        &["+return 301 https://$host$ingressd_stripped_uri;"],
        "200",
        "301, 302, 307, 308",
    )
    .set("301"),
    key("http2-max-concurrent-streams", "33", &["+http2_max_concurrent_streams 33;"], "0", REFUSED),
    key("ignore-invalid-headers", "false", &["+ignore_invalid_headers off;"], "no", SWITCH),
    key("keep-alive", "7", &["+keepalive_timeout 7s;"], "soon", REFUSED),
    key("keep-alive-requests", "77", &["+keepalive_requests 77;"], "0", REFUSED),
    key("large-client-header-buffers", "2 16k", &["+large_client_header_buffers 2 16k;"], "4", "4 8k"),
    key("limit-conn-status-code", "429", &["+limit_conn_status 429;"], "200", "400 to 599").set("429"),
    key("limit-rate", "900", &["+limit_rate 900k;"], "fast", REFUSED).beside(LARGE),
    key("limit-rate-after", "50", &["+limit_rate_after 50k;"], "late", REFUSED)
        .beside(&[("proxy-buffering", "on"), ("limit-rate", "900")]),
    key("limit-req-status-code", "429", &["+limit_req_status 429;"], "200", "400 to 599").set("429"),
    key("load-balance", "least_conn", &["=random two least_conn;"], "best", REFUSED),
    key("log-format-escape-json", "true", &["+log_format ingressd_line escape=json \"${status}\";"], "yes", SWITCH)
        .beside(&[("log-format-upstream", "$status")])
        .set("true"),
    key(
        "log-format-stream",
        "$protocol $status",
        &["+log_format ingressd_stream_line escape=default \"${protocol} ${status}\";"],
        "$request",
        "no variable of nginx for TCP",
    )
    .set("'$protocol $status'"),
    key(
        "log-format-upstream",
        "$remote_addr $status",
        &["+log_format ingressd_line escape=default \"${remote_addr} ${status}\";"],
        "a $nonsense",
        "no variable",
    )
    .set("'$remote_addr $status'"),
    key(
        "modsecurity-snippet",
        "SecRuleEngine On",
        &["+modsecurity_rules \"SecRuleEngine On\";"],
        "SecRuleScript x.lua",
        REFUSED,
    )
    .beside(FIREWALL)
    .needs(ModSecurity),
    key(
        "no-auth-locations",
        "/public",
        &["-auth_request ingressd-auth-0887466b011be79d2632;"],
        "public",
        "begin with /",
    )
    .set("['/public']"),
    key(
        "no-tls-redirect-locations",
        "/open",
        &["-return 308 https://$host$ingressd_stripped_uri;"],
        "open",
        "begin with /",
    )
    .beside(&[("force-ssl-redirect", "true")])
    .set("['/open']"),
    key("preserve-trailing-slash", "true", &["+return 308 https://$host$request_uri;"], "yes", SWITCH),
    key(
        "proxy-add-original-uri-header",
        "true",
        &["+proxy_set_header X-Original-Uri \"${request_uri}\";"],
        "yes",
        SWITCH,
    )
    .set("true"),
    key("proxy-body-size", "8m", &["+client_max_body_size 8m;"], "huge", REFUSED),
    key("proxy-buffer-size", "16k", &["+proxy_buffer_size 16k;", "+proxy_buffers 4 16k;"], "huge", REFUSED),
    key("proxy-buffering", "on", &["+proxy_buffering on;"], "true", REFUSED),
    key("proxy-buffers-number", "8", &["+proxy_buffers 8 4k;"], "many", REFUSED),
    key("proxy-busy-buffers-size", "12k", &["+proxy_busy_buffers_size 12k;"], "huge", REFUSED),
    key("proxy-connect-timeout", "9", &["+proxy_connect_timeout 9s;", "+grpc_connect_timeout 9s;"], "9s", REFUSED),
    key(
        "proxy-cookie-domain",
        "a.example b.example",
        &["+proxy_cookie_domain \"a.example\" \"b.example\";"],
        "a;",
        REFUSED,
    ),
    key("proxy-cookie-path", "/a /b", &["+proxy_cookie_path \"/a\" \"/b\";"], "a;", REFUSED),
    key("proxy-http-version", "1.0", &["+proxy_http_version 1.0;"], "3", REFUSED),
    key("proxy-max-temp-file-size", "2m", &["+proxy_max_temp_file_size 2m;"], "huge", REFUSED),
    key("proxy-next-upstream", "error http_502", &["+proxy_next_upstream error http_502;"], "always", REFUSED),
    key("proxy-next-upstream-timeout", "4", &["+proxy_next_upstream_timeout 4s;"], "soon", REFUSED),
    key("proxy-next-upstream-tries", "2", &["+proxy_next_upstream_tries 2;"], "some", REFUSED),
    key("proxy-protocol-header-timeout", "13s", &["+proxy_protocol_timeout 13s;"], "0s", "at once").set("'13s'"),
    key("proxy-read-timeout", "77", &["+proxy_read_timeout 77s;", "+grpc_read_timeout 77s;"], "soon", REFUSED),
    key("proxy-real-ip-cidr", "192.0.2.0/24", &["+set_real_ip_from 192.0.2.0/24;"], "somebody", REFUSED)
        .beside(&[("use-forwarded-headers", "true")]),
    key("proxy-redirect-from", "http://a.example/", &["+proxy_redirect \"http://a.example/\" \"/b/\";"], "a;", REFUSED)
        .beside(&[("proxy-redirect-to", "/b/")]),
    key("proxy-redirect-to", "/b/", &["+proxy_redirect \"http://a.example/\" \"/b/\";"], "a;", REFUSED)
        .beside(&[("proxy-redirect-from", "http://a.example/")]),
    key("proxy-request-buffering", "off", &["+proxy_request_buffering off;"], "false", REFUSED),
    key("proxy-send-timeout", "88", &["+proxy_send_timeout 88s;", "+grpc_send_timeout 88s;"], "soon", REFUSED),
    key("proxy-set-headers", "default/headers", &["+proxy_set_header X-Site \"edge\";"], "headers", "namespace/name"),
    key("proxy-stream-next-upstream", "false", &["+proxy_next_upstream off;"], "no", SWITCH).set("false"),
    key("proxy-stream-next-upstream-timeout", "12s", &["+proxy_next_upstream_timeout 12s;"], "soon", REFUSED)
        .set("'12s'"),
    key("proxy-stream-next-upstream-tries", "2", &["+proxy_next_upstream_tries 2;"], "some", REFUSED).set("2"),
    key("proxy-stream-responses", "5", &["+proxy_responses 5;"], "-1", REFUSED).set("5"),
    key("proxy-stream-timeout", "11s", &["+proxy_timeout 11s;"], "0s", "at once").set("'11s'"),
    key("relative-redirects", "true", &["+absolute_redirect off;"], "yes", SWITCH),
    key("retry-non-idempotent", "true", &["+proxy_next_upstream error timeout non_idempotent;"], "yes", SWITCH),
    key("server-tokens", "true", &["-more_clear_headers Server;"], "yes", SWITCH).set("true").needs(HeadersMore),
    key("service-upstream", "true", &["+server 10.96.0.10:80 max_fails=0;"], "yes", SWITCH),
    key("skip-access-log-urls", "/healthz,~^/ping", &["+\"/healthz\" 0;"], "~(", REFUSED)
        .set("['/healthz', '~^/ping']"),
    key("ssl-buffer-size", "4k", &["+ssl_buffer_size 4k;"], "1g", REFUSED),
    key(
        "ssl-ciphers",
        "ECDHE-ECDSA-AES128-GCM-SHA256",
        &["+ssl_ciphers ECDHE-ECDSA-AES128-GCM-SHA256;", "+ssl_prefer_server_ciphers on;"],
        "HIGH;",
        "not a list of ciphers",
    ),
    key(
        "ssl-dh-param",
        "default/exchange",
        &["+ssl_dhparam \"/etc/nginx/ingressd/current/certs/dhparam.pem\";"],
        "exchange",
        "namespace/name",
    ),
    key("ssl-early-data", "true", &["+ssl_early_data on;"], "yes", SWITCH),
    key("ssl-ecdh-curve", "secp384r1", &["+ssl_ecdh_curve secp384r1;"], "a;", REFUSED),
    key("ssl-protocols", "TLSv1.3", &["+ssl_protocols TLSv1.3;"], "TLSv1 TLSv1.3", "not safe").set("['TLSv1.3']"),
    key("ssl-redirect", "false", &["-return 308 https://$host$ingressd_stripped_uri;"], "no", SWITCH),
    key("ssl-reject-handshake", "true", &["+ssl_reject_handshake on;"], "yes", SWITCH),
    key("ssl-session-cache", "false", &["-ssl_session_cache shared:ingressd:10m;"], "no", SWITCH).set("'0'"),
    key("ssl-session-cache-size", "5m", &["+ssl_session_cache shared:ingressd:5m;"], "1k", "64k").set("'5m'"),
    key(
        "ssl-session-ticket-key",
        "QUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFB",
        &["+ssl_session_ticket_key \"/etc/nginx/ingressd/current/certs/session-ticket.key\";"],
        "c2hvcnQ=",
        "48 or 80",
    )
    .beside(TICKETS),
    key("ssl-session-tickets", "true", &["+ssl_session_tickets on;"], "yes", SWITCH).set("true"),
    key("ssl-session-timeout", "1h", &["+ssl_session_timeout 60m;"], "0s", "whole seconds").set("'1h'"),
    key(
        "stream-access-log-path",
        "/var/log/nginx/s.log",
        &["+access_log \"/var/log/nginx/s.log\" ingressd_stream_line;"],
        "/etc/passwd",
        "access-log.stream-path",
    )
    .set("'/var/log/nginx/s.log'"),
    key(
        "syslog-host",
        "192.0.2.8",
        &["+access_log syslog:server=192.0.2.8:514 ingressd_line;"],
        "logs.example",
        "IP address",
    )
    .beside(&[("enable-syslog", "true")])
    .set("'192.0.2.8'"),
    key("syslog-port", "1514", &["+access_log syslog:server=192.0.2.9:1514 ingressd_line;"], "0", "no port")
        .beside(SYSLOG)
        .set("1514"),
    key("upstream-keepalive-connections", "7", &["+keepalive 7;"], "-1", REFUSED).set("7"),
    key("upstream-keepalive-requests", "70", &["+keepalive_requests 70;"], "0", "no request").set("70"),
    key("upstream-keepalive-time", "2h", &["+keepalive_time 7200s;"], "soon", REFUSED).set("'2h'"),
    key("upstream-keepalive-timeout", "30", &["+keepalive_timeout 30s;"], "soon", REFUSED).set("'30s'"),
    key(
        "use-forwarded-headers",
        "true",
        &["+set_real_ip_from 192.0.2.0/24;", "+geo $realip_remote_addr $ingressd_trusted {"],
        "yes",
        SWITCH,
    )
    .beside(&[("proxy-real-ip-cidr", "192.0.2.0/24")]),
    key("use-geoip2", "true", &["+geoip2 \"/var/lib/GeoIP/GeoLite2-Country.mmdb\" {"], "yes", SWITCH)
        .beside(&[("log-format-upstream", "$geoip2_country_code")])
        .set("true")
        .needs(GeoIp2),
    key("use-gzip", "true", &["+gzip on;", "+gzip_comp_level 1;", "+gzip_vary on;"], "yes", SWITCH),
    key("use-http2", "false", &["-listen 0.0.0.0:443 ssl http2;", "+listen 0.0.0.0:443 ssl;"], "no", SWITCH)
        .set("false"),
    key("use-port-in-redirects", "true", &["+port_in_redirect on;"], "yes", SWITCH),
    key("use-proxy-protocol", "true", &["+listen 0.0.0.0:80 proxy_protocol;"], "yes", SWITCH)
        .beside(&[("proxy-real-ip-cidr", "192.0.2.0/24")])
        .set("true\naccess.trusted-proxies = ['192.0.2.0/24']"),
    key("whitelist-source-range", "192.0.2.0/24", &["+allow 192.0.2.0/24;", "+deny all;"], "everybody", REFUSED),
];
