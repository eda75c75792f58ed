//! Checks nginx: version, modules, configuration, processes and the claims of its other sites.

use super::host::without_layer;
use crate::doctor::facts::{Facts, Nginx, NoNginx};
use crate::doctor::report::{Found, Level, Line, or_ok};
use ingressd_apply::process::Role;
use ingressd_config::Settings;
use ingressd_model::catalogue::{self, AskedFor, DirectiveRow, Module, OLDEST};
use ingressd_model::finding::{Finding, Reason, Severity, count};
use ingressd_model::{Field, cost};
use ingressd_nginx::{Capabilities, JOINS_HEADERS, WORKER_CONNECTIONS};

/// Features of later versions.
const FEATURES: &[(&DirectiveRow, &str)] = &[
    (&catalogue::HTTP2, "HTTP/2 for each site of a socket by itself (directive http2)"),
    (
        &catalogue::KEEPALIVE_MIN_TIMEOUT,
        "idle connections of clients that outlive a reload for a moment (keepalive_min_timeout)",
    ),
];

/// The use of a module, and the level when it is missing under these settings.
struct ModuleUse {
    module: Module,
    what: &'static str,
    without: fn(&Settings) -> Level,
}

/// The level when what a setting asks for is missing.
const fn useful(is_asked_for: bool) -> Level {
    if is_asked_for { Level::Warning } else { Level::Note }
}

const fn gives(module: Module, what: &'static str, without: fn(&Settings) -> Level) -> ModuleUse {
    ModuleUse { module, what, without }
}

const MODULES: &[ModuleUse] = &[
    gives(Module::Proxy, "requests to backends (proxy_pass)", |_| Level::Error),
    gives(Module::Map, "variables (map)", |_| Level::Error),
    gives(Module::Geo, "networks of clients (geo)", |_| Level::Error),
    gives(Module::Rewrite, "answers and redirects (return, rewrite, if)", |_| Level::Error),
    gives(Module::Ssl, "https (ssl_certificate)", |settings| match settings.translate.listeners.https_port {
        0 => Level::Note,
        _ => Level::Error,
    }),
    gives(Module::Http2, "HTTP/2 (http2)", |settings| useful(settings.gate.http2)),
    gives(Module::Grpc, "gRPC backends (grpc_pass)", |_| Level::Warning),
    gives(Module::Access, "lists of clients (allow, deny)", |_| Level::Warning),
    gives(Module::AuthBasic, "passwords (auth_basic)", |_| Level::Warning),
    gives(Module::LimitReq, "limits of rates (limit_req)", |_| Level::Warning),
    gives(Module::LimitConn, "limits of connections (limit_conn)", |_| Level::Warning),
    gives(Module::RealIp, "clients behind trusted proxies (set_real_ip_from)", |settings| {
        useful(!settings.translate.trusted_proxies.is_empty())
    }),
    gives(Module::SplitClients, "shares of canaries (split_clients)", |_| Level::Warning),
    gives(Module::UpstreamHash, "sessions, and endpoints that are chosen by a text (hash)", |_| Level::Warning),
    gives(
        Module::UpstreamRandom,
        "endpoints that are chosen by chance and their connections (random), and not in turn",
        |_| Level::Warning,
    ),
    gives(Module::StreamSslPreread, "TLS that is passed on unopened (ssl_preread)", |settings| {
        useful(settings.translate.passthrough)
    }),
    gives(Module::StubStatus, "counts of connections (stub_status)", |_| Level::Note),
    gives(Module::UpstreamKeepalive, "connections to backends that are kept (keepalive)", |_| Level::Warning),
];

/// nginx, or a line why there is nothing to check.
pub fn nginx(facts: &Facts) -> Result<&Nginx, Line> {
    facts.nginx.as_ref().map_err(|none| {
        Line::note(match none.tested {
            Some(_) => "not looked at: nginx cannot read its configuration, see nginx-configuration",
            None => "not looked at: there is no nginx, see nginx-version",
        })
    })
}

/// `nginx-version`.
pub fn version(facts: &Facts) -> Found {
    let binary = facts.settings.nginx.binary.display();
    if let Err(NoNginx { tested: None, why, .. }) = &facts.nginx {
        let remedy = "install the distribution's nginx, or name another with nginx.binary and nginx.configuration";
        return Err(Line::error(why, remedy));
    }
    let nginx = nginx(facts)?;
    let found = nginx.survey.capabilities.version;
    if found < OLDEST {
        let remedy = format!("install nginx {OLDEST} or newer, or name another with nginx.binary");
        return Err(Line::error(format!("{binary} is nginx {found}, which is too old"), remedy));
    }
    let lacks = FEATURES.iter().filter(|(row, _)| found < row.since);
    let mut lacks: Vec<_> = lacks.map(|(row, what)| format!("{what} since {}", row.since)).collect();
    if !nginx.survey.capabilities.joins_headers() {
        lacks.push(format!(
            "all headers with one name from an authentication service (auth-response-headers) and all of its cookies, not \
             only the first, since {JOINS_HEADERS}"
        ));
    }
    let mut lines = vec![Line::ok(format!("{binary} is nginx {found}"))];
    if !lacks.is_empty() {
        lines.push(Line::note(format!("it lacks what later versions have: {}", lacks.join("; "))));
    }
    Ok(lines)
}

/// `nginx-modules`.
pub fn modules(facts: &Facts) -> Found {
    let nginx = nginx(facts)?;
    let capabilities = &nginx.survey.capabilities;
    let (has, lacks): (Vec<_>, Vec<_>) = MODULES.iter().partition(|gives| capabilities.has(gives.module));
    let mut lines: Vec<_> = lacks.into_iter().map(|gives| without(gives, &facts.settings)).collect();
    lines.insert(0, Line::ok(count(has.len(), "module that is of use is there", "modules that are of use are there")));
    lines.extend(APART.iter().filter_map(|gives| apart(gives, nginx)));
    lines.extend(rules(nginx));
    lines.extend(databases(nginx));
    if !capabilities.has_stream() {
        let text = "no ngx_stream_module: nothing can be served over TCP or UDP";
        let package = "libnginx-mod-stream on Debian, nginx-mod-stream on Fedora and RHEL";
        lines.push(match facts.settings.needs_streams() {
            true => Line::error(text, format!("install {package}, then `ingressd setup --yes`")),
            false => Line::note(format!("{text} ({package})")),
        });
    }
    Ok(lines)
}

/// A third-party module, and the effect on hosts that need it.
struct Apart {
    module: Module,
    without: &'static str,
    level: Level,
}

const APART: &[Apart] = &[
    Apart { module: Module::HeadersMore, without: "tell that nginx serves them (header Server)", level: Level::Note },
    Apart { module: Module::Brotli, without: "do not compress answers by Brotli", level: Level::Warning },
    Apart { module: Module::GeoIp2, without: "are told nothing of where clients are", level: Level::Warning },
    Apart { module: Module::ModSecurity, without: "answer 503 where they ask for a firewall", level: Level::Error },
];

fn apart(gives: &Apart, nginx: &Nginx) -> Option<Line> {
    let hosts = nginx.wanted.get(&gives.module).filter(|_| !nginx.survey.capabilities.has(gives.module))?;
    let remedy = Capabilities::install(gives.module)?;
    let name = Capabilities::name(gives.module);
    let asks = count(*hosts, "host asks", "hosts ask");
    Some(Line::new(gives.level, format!("no {name}, for which {asks}: without it hosts {}", gives.without), remedy))
}

/// A line about missing rule files of the firewall.
fn rules(nginx: &Nginx) -> Option<Line> {
    let missing: Vec<_> = nginx.survey.other_sites.missing_rules.iter().map(ToString::to_string).collect();
    let hosts = nginx.wanted.get(&Module::ModSecurity).filter(|_| !missing.is_empty())?;
    let asks = count(*hosts, "host asks for a firewall", "hosts ask for a firewall");
    Some(Line::warning(
        format!("{asks}, and there is no {}", super::some(&missing)),
        "install libnginx-mod-http-modsecurity and modsecurity-crs (Debian and Ubuntu), or name other files with \
         firewall.rules and firewall.core-rules",
    ))
}

/// Databases of GeoIP2 that are not there.
fn databases(nginx: &Nginx) -> Option<Line> {
    let missing = nginx.survey.other_sites.missing_databases.iter();
    let missing: Vec<_> = missing.map(|path| path.display().to_string()).collect();
    let hosts = nginx.wanted.get(&Module::GeoIp2).filter(|_| !missing.is_empty())?;
    let hosts = count(*hosts, "host tells where clients are", "hosts tell where clients are");
    Some(Line::warning(
        format!("{hosts}, and there is no {}", super::some(&missing)),
        "fetch it, for example with geoipupdate, or name other files with geoip2.databases",
    ))
}

fn without(gives: &ModuleUse, settings: &Settings) -> Line {
    let directives = catalogue::asked_for(AskedFor::ByRoute).filter(|row| row.module == Some(gives.module));
    let directives: Vec<_> = directives.map(|row| row.name).collect();
    let also = if directives.is_empty() { String::new() } else { format!(", and {}", directives.join(", ")) };
    let name = Capabilities::name(gives.module);
    Line::new(
        (gives.without)(settings),
        format!("no {name}: nginx has no {}{also}", gives.what),
        "install the package with this module, or an nginx that is built with it",
    )
}

/// `nginx-configuration`.
pub fn configuration(facts: &Facts) -> Found {
    let (file, tested) = match &facts.nginx {
        Ok(nginx) => (nginx.layout.configuration.as_path(), &nginx.tested),
        Err(NoNginx { tested: Some(tested), why, .. }) => match tested {
            Ok(tested) if tested.accepted => {
                return Err(Line::error(why, "write that line so that ingressd can read it, too"));
            }
            tested => (facts.settings.nginx.configuration.as_path(), tested),
        },
        Err(_) => return nginx(facts).map(|_| Vec::new()),
    };
    let file = file.display();
    let line = match tested {
        Ok(tested) if tested.accepted => {
            let advised: Vec<_> = tested.words.lines().filter_map(advice).collect();
            match advised.is_empty() {
                true => Line::ok(format!("nginx accepts {file}")),
                false => return Ok(advised),
            }
        }
        // Its message then is about the user, not about the configuration.
        Ok(tested) if tested.words.contains("(13: Permission denied)") => Line::note(format!(
            "not looked at: this user may not read or write what nginx does; run this as root: {}",
            tested.words.trim()
        )),
        Ok(tested) => {
            let remedy = match tested.words.lines().find_map(hash_size) {
                Some(remedy) => remedy,
                None if tested.words.contains(&*facts.settings.apply.root.to_string_lossy()) => {
                    "leave the generated file as it is: `ingressd status` names its object; nginx goes on with what it \
                     has until it is restarted"
                        .to_owned()
                }
                None => {
                    "correct what it names, and test with `nginx -t`; nginx goes on with what it has until it is restarted"
                        .to_owned()
                }
            };
            Line::error(format!("nginx refuses {file}: {}", tested.words.trim()), remedy)
        }
        Err(why) => Line::error(format!("{file} cannot be tested: {why}"), "run this as root"),
    };
    Ok(vec![line])
}

/// A line about a warning of nginx that a larger table ends.
fn advice(words: &str) -> Option<Line> {
    Some(Line::warning(words.trim(), hash_size(words)?))
}

/// The directive that ends nginx's complaint about the size of one of its tables, as in "you
/// should increase server_names_hash_bucket_size: 64". Sizes are doubled, as nginx's manual
/// recommends.
fn hash_size(words: &str) -> Option<String> {
    let (_, advised) = words.split_once("you should increase ")?;
    let advised = advised.strip_prefix("either ").unwrap_or(advised);
    let (name, rest) = advised.split_once(": ")?;
    let is_name = name.chars().all(|character| character.is_ascii_lowercase() || character == '_');
    let size: String = rest.chars().take_while(char::is_ascii_digit).collect();
    let doubled = size.parse::<u64>().ok().filter(|_| is_name)?.checked_mul(2)?;
    Some(format!(
        "write `{name} {doubled};` into the http block of nginx.conf, in place of the line that is there; where ingressd writes \
         one, it takes that back within seconds; then test with `nginx -t` and reload nginx"
    ))
}

/// `nginx-running`.
pub fn running(facts: &Facts) -> Found {
    let named = &facts.settings.nginx.pid_file;
    let written = facts.nginx.as_ref().ok().map(|nginx| &nginx.survey.pid_file).filter(|written| *written != named);
    let differs = written.map(|written| {
        let text = format!("the settings name the pid file {}, nginx writes {}", named.display(), written.display());
        Line::warning(text, format!("set nginx.pid-file = \"{}\"", written.display()))
    });
    let running = match facts.master() {
        Ok(table) => {
            let workers = table.in_role(Role::Worker).count();
            Line::ok(format!(
                "master {} with {}, by {}",
                table.master.pid,
                count(workers, "worker", "workers"),
                named.display()
            ))
        }
        Err(_) if matches!(&facts.nginx, Err(none) if none.tested.is_none()) => {
            return nginx(facts).map(|_| Vec::new());
        }
        Err(why) => Line::error(
            format!("nginx does not run: {why}"),
            "systemctl enable --now nginx, when nginx accepts its configuration (nginx-configuration)",
        ),
    };
    let matters = |written| facts.master().is_err() || !same_file(named, written);
    Ok(differs.into_iter().filter(|_| written.is_some_and(|written| matters(written))).chain([running]).collect())
}

/// `/var/run` is a link to `/run` wherever there is systemd.
fn same_file(one: &std::path::Path, other: &std::path::Path) -> bool {
    let plain = |path: &std::path::Path| {
        path.strip_prefix("/var").map_or(path.to_owned(), |rest| std::path::Path::new("/").join(rest))
    };
    plain(one) == plain(other)
}

pub fn includes(facts: &Facts) -> Found {
    let nginx = nginx(facts)?;
    let current = facts.settings.apply.root.join("current");
    let http = match nginx.survey.includes_ours {
        true => Line::ok(format!("nginx includes {}/http/*.conf", current.display())),
        false => {
            let text =
                format!("nginx does not include {}/http/*.conf: it never serves what is generated", current.display());
            Line::error(text, "ingressd setup --yes")
        }
    };
    let has_stream = nginx.survey.capabilities.has_stream();
    let stream = match (nginx.layout.stream_includes_ours, has_stream) {
        (true, true) => Line::ok(format!("nginx includes {}/stream/*.conf", current.display())),
        (true, false) => Line::error(
            "the include for TCP and UDP services is there, but the stream module is not: nginx refuses its configuration",
            "install libnginx-mod-stream (Debian) or nginx-mod-stream (Fedora, RHEL), or take the include back: `ingressd setup --undo --step stream-include`",
        ),
        (false, true) if facts.settings.needs_streams() => Line::error(
            format!("nginx does not include {}/stream/*.conf: it never serves TCP and UDP services", current.display()),
            "ingressd setup --yes",
        ),
        (false, true) => Line::note(
            "nginx has the stream module, but no include for TCP and UDP services; `ingressd setup --yes` adds it",
        ),
        (false, false) => return Err(http),
    };
    Ok(vec![http, stream])
}

pub fn default_server(facts: &Facts) -> Found {
    let nginx = nginx(facts)?;
    let claims: Vec<_> = of_reason(nginx, Reason::DefaultServerTaken).map(|finding| finding.note.to_string()).collect();
    let line = match claims.is_empty() {
        true => Line::ok("no other site has the requests for unknown hosts on our ports"),
        false => {
            let more = if claims.len() > 1 { format!(" (and {} more)", claims.len() - 1) } else { String::new() };
            Line::warning(
                format!("{}{more}", claims[0]),
                "leave it, or `ingressd setup --yes --disable-default-site` where it is the distribution's",
            )
        }
    };
    Ok([line].into_iter().chain(without_layer(facts)).collect())
}

pub fn other_sites(facts: &Facts) -> Found {
    let nginx = nginx(facts)?;
    let conflicts = of_reason(nginx, Reason::HostConflict).filter(|finding| !is_about_connections(finding));
    or_ok(conflicts.map(line).collect(), "other sites of this host take nothing that we need")
}

pub fn shared_servers(facts: &Facts) -> Found {
    let nginx = nginx(facts)?;
    if !facts.settings.gate.shared_servers {
        return Err(Line::ok(
            "each host has a server of its own (nginx.shared-servers): no request waits for a search",
        ));
    }
    if nginx.survey.other_sites.names_server {
        return Err(Line::ok("each host has a server of its own, because nginx.conf asks for $server_name"));
    }
    let objects = super::pods::known(facts)?;
    let compared = objects.upstreams as u64;
    let last = microseconds(compared * cost::COMPARISON);
    let words = format!(
        "with {} a request to a host that shares its server waits for a search of up to {last} us of processor time",
        count(compared, "Service", "Services")
    );
    Ok(vec![match compared * cost::COMPARISON > LONG_SEARCH {
        false => Line::ok(words),
        true => Line::note(format!(
            "{words}, half of it on the average; that is the price of short reloads, and nginx.shared-servers = false ends it"
        )),
    }])
}

pub fn expressions(facts: &Facts) -> Found {
    let nginx = nginx(facts)?;
    if nginx.survey.other_sites.compiles_expressions {
        return Err(Line::ok("nginx compiles expressions to machine code (pcre_jit)"));
    }
    Ok(vec![match super::pods::known(facts)?.expressions {
        0 => Line::ok("no path is an expression: nginx need not compile any (pcre_jit)"),
        expressions => Line::warning(
            format!(
                "{}, which nginx does not compile to machine code",
                count(expressions, "path is an expression", "paths are expressions")
            ),
            "write `pcre_jit on;` into nginx.conf, outside of every block, and reload nginx",
        ),
    }])
}

/// The search time in nanoseconds above which there is a note: nginx needs eighteen thousand for a
/// whole small request.
const LONG_SEARCH: u64 = 4000;

fn microseconds(nanoseconds: u64) -> String {
    let tenths = nanoseconds.div_ceil(100);
    format!("{}.{}", tenths / 10, tenths % 10)
}

fn line(finding: &Finding) -> Line {
    let level = if finding.severity == Severity::Info { Level::Note } else { Level::Warning };
    let origin = finding.origin.to_string();
    let note = if origin.is_empty() { finding.note.to_string() } else { format!("{origin}: {}", finding.note) };
    Line::new(level, note, "")
}

fn of_reason(nginx: &Nginx, reason: Reason) -> impl Iterator<Item = &Finding> {
    nginx.findings.iter().filter(move |finding| finding.reason == reason)
}

/// These findings are part of the check `limits`.
fn is_about_connections(finding: &Finding) -> bool {
    matches!(&finding.origin.field, Field::Other(field) if **field == *WORKER_CONNECTIONS)
}
