//! Describes a reading in lines of text, for tests, examples and people.

use std::fmt::Display;

use crate::value::host;
use crate::{ClientRule, Reading, RequestedAuthentication};
use ingressd_model::finding::count;
use ingressd_model::{
    Argument, AuthenticationPolicy, BackendTls, Balance, ClientCertificates, Demand, Directive, LimitRate,
    MirrorPolicy, OriginPattern, Protocol, Protocols, SameSite, Satisfy, Test,
};

/// One line for each effect of the annotations.
pub fn outline(reading: &Reading) -> Vec<String> {
    let mut lines: Vec<String> = reading.behaviour.directives.iter().map(directive).collect();
    let mut say = |line: String| lines.push(line);
    requests(reading, &mut say);
    headers(reading, &mut say);
    access(reading, &mut say);
    limits(reading, &mut say);
    hosts(reading, &mut say);
    endpoints(reading, &mut say);
    canary(reading, &mut say);
    if reading.closed {
        say("the routes answer 503".into());
    }
    if reading.refused {
        say("the object version is refused".into());
    }
    lines
}

fn requests(reading: &Reading, say: &mut impl FnMut(String)) {
    if reading.use_regex {
        say("paths are regular expressions".into());
    }
    if let Some(target) = &reading.rewrite_target {
        say(format!("the path becomes {}", joined("", target.parts())));
    }
    if let Some(protocol) = reading.protocol {
        let name = match protocol {
            Protocol::AutoHttp => "AUTO_HTTP".to_owned(),
            Protocol::FastCgi => "FCGI".to_owned(),
            other => format!("{other:?}").to_uppercase(),
        };
        say(format!("backends speak {name}"));
    }
    if reading.passthrough.is_some() {
        say("TLS is passed through to the backend".into());
    }
    if let Some((status, location)) = &reading.redirect {
        say(format!("all requests: {status} to {location}"));
    }
}

fn headers(reading: &Reading, say: &mut impl FnMut(String)) {
    let behaviour = &reading.behaviour;
    if let Some(headers) = behaviour.backend_headers.as_deref() {
        let texts = [("Host", &headers.host), ("X-Forwarded-Prefix", &headers.prefix)];
        for (name, text) in texts.into_iter().filter_map(|(name, text)| Some((name, text.as_ref()?))) {
            say(format!("backends get {name}: {}", joined("", text.parts())));
        }
        if let Some(connection) = headers.connection {
            say(format!("backends get Connection: {}", connection.name()));
        }
    }
    for header in behaviour.answer_headers.as_deref().unwrap_or_default() {
        say(format!("answers have {}: {}", header.name(), header.value()));
    }
    say(match behaviour.https_redirect {
        Some(redirect) => {
            let wherever = if redirect.forced { "always" } else { "where the host has a certificate" };
            let slash = if redirect.strip_trailing_slash { ", without the last slash" } else { "" };
            format!("http: {} to https, {wherever}{slash}", redirect.status)
        }
        None => "http is served as it is".into(),
    });
    if let Some(cors) = &behaviour.cors {
        say(format!("other origins: {}", joined(", ", cors.origins.iter().map(origin_pattern))));
        say(format!("allowed methods: {}", joined(", ", &cors.methods)));
        say(format!("allowed headers: {}", joined(", ", &cors.headers)));
        say(format!("exposed headers: {}", joined(", ", &cors.expose)));
        say(format!("credentials: {}", if cors.credentials { "allowed" } else { "not allowed" }));
        say(format!("preflight is good for {} s", cors.max_age));
    }
}

fn access(reading: &Reading, say: &mut impl FnMut(String)) {
    let behaviour = &reading.behaviour;
    if let Some(access) = &behaviour.access {
        access.deny().iter().for_each(|network| say(format!("deny {network}")));
        access.allow().iter().for_each(|network| say(format!("allow {network}")));
    }
    if let Some(authentication) = &behaviour.basic_authentication {
        let (realm, secret) = (&authentication.realm, &authentication.file.secret);
        let form = if authentication.file.map { "map" } else { "file" };
        say(format!("password for \"{realm}\" by the {form} in {secret}"));
    }
    if let Some(requested) = &reading.authentication {
        external_authentication(requested, say);
    }
    if let Some(requested) = &reading.mirror {
        let scheme = if requested.service.protocol == Protocol::Https { "https" } else { "http" };
        let MirrorPolicy { host, target, has_body } = &*requested.policy;
        let body = if *has_body { "" } else { ", without their bodies" };
        say(format!("copies go to {scheme}://{host}{target}{body}"));
    }
    if let Some(fastcgi) = behaviour.fastcgi.as_deref() {
        fastcgi.index.iter().for_each(|index| say(format!("the script of a folder is {index}")));
        let parameters = fastcgi.parameters.iter();
        parameters.for_each(|(name, value)| say(format!("backends get the parameter {name}: {value}")));
    }
    if reading.opts_out {
        say("the service for all objects is not asked".into());
    }
    if behaviour.satisfy == Satisfy::Any {
        say("one way of authentication is enough".into());
    }
}

fn limits(reading: &Reading, say: &mut impl FnMut(String)) {
    let behaviour = &reading.behaviour;
    if let Some(limits) = &behaviour.limits {
        for (rate, burst) in &limits.rates {
            let rate = match rate {
                LimitRate::PerSecond(number) => count(*number, "request a second", "requests a second"),
                LimitRate::PerMinute(number) => count(*number, "request a minute", "requests a minute"),
            };
            say(format!("each client: {rate}, burst {burst}"));
        }
        if let Some(connections) = limits.connections {
            say(format!("each client: {}", count(connections, "connection", "connections")));
        }
        limits.exempt.iter().for_each(|network| say(format!("no limits for {network}")));
    }
    if let Some(firewall) = behaviour.firewall.as_deref() {
        say(format!("a firewall{}", if firewall.core_rules { " with the rules of OWASP" } else { "" }));
        firewall.settings.iter().for_each(|setting| say(format!("its rules: {setting}")));
        if let Some(transaction) = &firewall.transaction {
            say(format!("its log calls a request {}", joined("", transaction.parts())));
        }
    }
}

fn hosts(reading: &Reading, say: &mut impl FnMut(String)) {
    reading.host.directives.iter().for_each(|line| say(format!("hosts: {}", directive(line))));
    let errors = &reading.errors;
    if !errors.statuses.is_empty() {
        say(format!("other answers for {}", joined(", ", &errors.statuses)));
    }
    if errors.passes_backend_errors {
        say("errors of the backend go through".into());
    }
    if let Some((service, _)) = &errors.default_backend {
        say(format!("default backend {service}"));
    }
    if let Some(aliases) = &reading.host.aliases {
        say(format!("hosts: also {}", joined(", ", aliases.names.iter().map(host::written))));
    }
    if let Some(root) = &reading.host.app_root {
        say(format!("hosts: / to {}", root.target));
    }
    if reading.host.redirects_www.is_some() {
        say("hosts: from www. or without it".into());
    }
    if let Some(ClientRule::Good(rule)) = &reading.host.client_rule {
        client_certificates(rule, say);
    }
}

fn endpoints(reading: &Reading, say: &mut impl FnMut(String)) {
    if let Some(requested) = &reading.backend_tls {
        backend_tls(&requested.tls, say);
    }
    match reading.balance.as_deref() {
        Some(Balance::Session(cookie)) => say(format!("sessions by cookie {cookie}")),
        Some(Balance::Named(cookie)) => say(format!("endpoints that the cookie {cookie} names")),
        Some(Balance::Key(key)) => say(format!("endpoints by {}", joined("", key.parts()))),
        Some(Balance::SharedKey(key, endpoints)) => {
            say(format!("{} by {}", count(*endpoints, "endpoint", "endpoints"), joined("", key.parts())));
        }
        Some(Balance::TwoByChance) => say("the less loaded of two random endpoints".into()),
        None => {}
    }
    if let Some(session) = &reading.session {
        if let Some(path) = &session.path {
            say(format!("cookie: Path={}", path.as_str()));
        }
        let cookie = &session.cookie;
        if let Some(domain) = &cookie.domain {
            say(format!("cookie: Domain={domain}"));
        }
        if let Some(seconds) = cookie.max_age {
            say(format!("cookie: Max-Age={seconds}"));
        }
        if let Some(same_site) = cookie.same_site {
            let but = match same_site {
                SameSite::NoneWhereKnown => ", where browsers know it",
                SameSite::None | SameSite::Lax | SameSite::Strict => "",
            };
            say(format!("cookie: SameSite={}{but}", same_site.name()));
        }
        if cookie.always_secure {
            say("cookie: Secure".into());
        }
        if cookie.changes_on_failure {
            say("cookie: another one where an endpoint fails".into());
        }
    }
}

fn canary(reading: &Reading, say: &mut impl FnMut(String)) {
    if reading.changes_side {
        say("clients may change sides of a canary".into());
    }
    if reading.by_cluster_address {
        say("backends by cluster address".into());
    }
    if let Some(canary) = &reading.canary {
        for (test, takes) in &canary.tests {
            let who = if *takes { "canary" } else { "main" };
            let what = match test {
                Test::Header(name, value) => format!("header {name} is \"{value}\""),
                Test::HeaderMatches(name, pattern) => format!("header {name} matches \"{pattern}\""),
                Test::Cookie(name, value) => format!("cookie {name} is \"{value}\""),
                Test::Query(name, value) => format!("parameter {name} is \"{value}\""),
                Test::Method(name) => format!("method is {name}"),
            };
            say(format!("{who}: {what}"));
        }
        let share = canary.share.ten_thousandths();
        say(format!("canary: {}.{:02}% of all other requests", share / 100, share % 100));
    }
}

fn external_authentication(requested: &RequestedAuthentication, say: &mut impl FnMut(String)) {
    let AuthenticationPolicy { host, target, method, response_headers, .. } = &*requested.policy;
    let scheme = if requested.service.protocol == Protocol::Https { "https" } else { "http" };
    say(format!("asks {method} {scheme}://{host}{target}"));
    if let Some(url) = &requested.policy.sign_in {
        say(format!("signs in at {url}"));
    }
    if !response_headers.is_empty() {
        say(format!("the backend gets {}", joined(", ", response_headers)));
    }
    let redirect = requested.policy.request_redirect.iter();
    let redirect = redirect.map(|redirect| format!("the question has X-Auth-Request-Redirect: {redirect}"));
    let headers = requested.policy.request_headers.iter();
    headers.map(|(name, value)| format!("the question has {name}: {value}")).chain(redirect).for_each(&mut *say);
    if let Some(memory) = &requested.policy.memory {
        say(format!("remembered by {}", memory.key));
        for duration in &memory.durations {
            let statuses = joined(" ", duration.statuses());
            say(format!("{statuses} are remembered for {} s", duration.duration().as_secs()));
        }
    }
    if let Some(reuse) = requested.service.reuse.as_deref() {
        say(format!(
            "keeps {} to the service, each for {} and {} s",
            count(reuse.connections, "connection", "connections"),
            count(reuse.requests, "request", "requests"),
            reuse.timeout.as_secs()
        ));
    }
    if requested.policy.always_sets_cookie {
        say("its cookies reach clients always".into());
    }
}

fn client_certificates(rule: &ClientCertificates, say: &mut impl FnMut(String)) {
    say(format!("certificates of clients by {}", rule.authority.id));
    match rule.demand {
        Demand::Required => {}
        Demand::Optional => say("a certificate is optional".into()),
        Demand::Unverified => say("a certificate is optional and not verified".into()),
    }
    if rule.depth != 1 {
        say(format!("through at most {} authorities", rule.depth));
    }
    if let Some(name) = &rule.common_name {
        say(format!("the common name begins with \"{name}\""));
    }
    if let Some(page) = &rule.error_page {
        say(format!("without a good certificate: to {page}"));
    }
    if rule.is_reported {
        say("backends get the certificate".into());
    }
}

fn backend_tls(tls: &BackendTls, say: &mut impl FnMut(String)) {
    let shown = if tls.has_certificate { ", with a certificate" } else { "" };
    say(format!("to backends: TLS by {}{shown}", tls.secret));
    if let Some(depth) = tls.verify_depth {
        say(format!("to backends: verified through at most {depth} authorities"));
    }
    if let Some(name) = &tls.name {
        say(format!("to backends: as {name}"));
    }
    if tls.sends_name {
        say("to backends: the name is told".into());
    }
    match tls.protocols {
        Protocols::Both => {}
        Protocols::Tls12 => say("to backends: TLSv1.2".into()),
        Protocols::Tls13 => say("to backends: TLSv1.3".into()),
    }
    if let Some(ciphers) = &tls.ciphers {
        say(format!("to backends: ciphers {ciphers}"));
    }
}

fn directive(directive: &Directive) -> String {
    format!("{} {};", directive.row.name, argument_words(directive))
}

/// The arguments of a directive as nginx's configuration has them, but for quotes.
pub fn argument_words(directive: &Directive) -> String {
    let argument = |argument: &Argument| match argument {
        Argument::Word(word) => (*word).to_owned(),
        Argument::Number(number) => number.to_string(),
        Argument::Size(size) => size.to_string(),
        Argument::Time(time) => format!("{}s", time.as_secs()),
        Argument::Switch(true) => "on".to_owned(),
        Argument::Switch(false) => "off".to_owned(),
        Argument::Ciphers(ciphers) => ciphers.to_string(),
        Argument::Text(text) => text.to_string(),
        Argument::Target(text) => text.to_string(),
    };
    joined(" ", directive.arguments.iter().map(argument))
}

fn origin_pattern(pattern: &OriginPattern) -> String {
    match pattern {
        OriginPattern::Any => "*".to_owned(),
        OriginPattern::Null => "null".to_owned(),
        OriginPattern::Exact(origin) => origin.to_string(),
        OriginPattern::Wildcard(origin) => origin.as_str().replacen("://", "://*.", 1),
    }
}

fn joined<T: Display>(separator: &str, items: impl IntoIterator<Item = T>) -> String {
    items.into_iter().map(|item| item.to_string()).collect::<Vec<_>>().join(separator)
}
