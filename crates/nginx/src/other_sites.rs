//! What other sites and the host's own `nginx.conf` already set, from parsed configuration files.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use super::access_log::{BufferedLogs, HostLog, buffered, host_log};
use super::firewall::{RULE_DIRECTIVES, RuleFiles};
use super::host_lines::{HostBlock, HostLine};
use super::open_files::OpenFiles;
use super::syntax::Directive;
use ingressd_model::{Instance, Transport};

/// A configuration file of the host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParsedFile {
    /// Its path, for messages.
    pub path: String,
    pub directives: Vec<Directive>,
}

/// What the host's configuration files say, without ours.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostConfiguration {
    /// What the other sites claim.
    pub other_sites: OtherSites,
    /// The files of `load_module`, as written.
    pub load_modules: Vec<String>,
    /// The file of `pid`, as written.
    pub pid: Option<String>,
    /// User and group of the workers, as written.
    pub user: Option<(String, Option<String>)>,
    /// Whether the configuration includes our files: otherwise nginx never reads them.
    pub includes_ours: bool,
}

/// What other sites and the host's own `nginx.conf` already set, read from the configuration that
/// nginx would load, without our files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OtherSites {
    /// `listen` lines of other sites.
    pub listens: Vec<SiteListen>,
    /// Names of directives at http level, for example `gzip`.
    pub http_directives: BTreeSet<String>,
    /// Whether something at http level uses `$server_name`, as a log format may.
    pub names_server: bool,
    /// The file and line, for messages, where the host or a site accepts headers that nginx drops
    /// by default, such as those with underscores in their names.
    pub lenient_headers: Option<String>,
    /// Access logs at `http` level, which all sites inherit.
    pub logs: Vec<HostLog>,
    /// The files of all logs that have a buffer, those of sites included.
    pub buffered_logs: BufferedLogs,
    /// Names that other sites claim, in nginx's order.
    pub server_names: Vec<SiteName>,
    /// Certificates that other sites serve.
    pub certificates: Vec<SiteCertificate>,
    /// `listen` lines of TCP and UDP services that are not ours.
    pub stream_listens: Vec<StreamListen>,
    /// Names of directives at stream level, without those inside TCP and UDP services.
    pub stream_directives: BTreeSet<String>,
    /// Whether no `stream` block includes our files.
    pub leaves_streams_out: bool,
    /// The wanted ports that other programs use.
    pub occupied: BTreeSet<(Transport, SocketAddr)>,
    /// The file and line, for messages, where a site loads rules of a firewall.
    pub firewall_rules: Option<String>,
    /// Wanted rule files of the firewall that do not exist.
    pub missing_rules: BTreeSet<RuleFiles>,
    /// Databases of GeoIP2 that the settings name and that are not there.
    pub missing_databases: BTreeSet<PathBuf>,
    /// Value of `worker_processes`, when a number.
    pub worker_processes: Option<u32>,
    /// Value of `worker_connections`, when it is set.
    pub worker_connections: Option<u32>,
    /// Whether expressions are compiled to machine code (`pcre_jit`).
    pub compiles_expressions: bool,
    /// Everything that stands outside of servers and other blocks.
    pub lines: Vec<HostLine>,
}

/// A `server_name` of another site.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SiteName {
    /// The file and line, for messages.
    pub place: String,
    /// A name, a wildcard, or an expression behind `~`. Names and wildcards are in lower case.
    pub name: String,
    /// The sockets on which the site has it.
    pub sockets: BTreeSet<SocketAddr>,
    /// Whether nginx reads it before our files, and so tries its expression before ours.
    pub before_ours: bool,
}

/// A certificate of another site.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SiteCertificate {
    /// The file and line, for messages.
    pub place: String,
    /// The file of the certificate, as written.
    pub file: String,
    /// The names of the site.
    pub names: Vec<String>,
    /// The ports on which it has them.
    pub ports: BTreeSet<u16>,
}

/// One `listen` of another site.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SiteListen {
    /// The file and line, for messages.
    pub place: String,
    /// The address; unspecified for a bare port.
    pub address: SocketAddr,
    /// Whether it claims to be the default server.
    pub default_server: bool,
    /// Whether it has the parameter `ssl`.
    pub ssl: bool,
    /// Whether it has the parameter `http2`.
    pub http2: bool,
    /// Whether clients must begin with a header of the PROXY protocol.
    pub proxy_protocol: bool,
    /// Whether an IPv6 socket accepts IPv4 too, by `ipv6only=off`.
    pub dual_stack: bool,
    /// Whether nginx reads it before our files. Where no site says `default_server`, the first is
    /// the default server.
    pub before_ours: bool,
}

/// One `listen` of a TCP or UDP service that is not ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamListen {
    /// The file and line, for messages.
    pub place: String,
    /// Its transport protocol.
    pub transport: Transport,
    /// The address; unspecified for a bare port.
    pub address: SocketAddr,
}

/// Surveys the configuration that begins with the main file.
///
/// `include` returns the files for the argument of an `include` line in nginx's order. It leaves
/// out files that cannot be read, and returns `None` for our files. Files of other instances are
/// recognised by the variable with their generation. Of two instances that have the same host, the
/// one that is first in order keeps it.
pub fn survey(
    main: &ParsedFile,
    own: &Instance,
    include: &mut dyn FnMut(&str) -> Option<Vec<ParsedFile>>,
) -> HostConfiguration {
    let mut found = HostConfiguration::default();
    let (mut siblings, mut includes_streams) = (BTreeMap::new(), false);
    let mut walk = Walk { include, open: OpenFiles::of(&main.path), ours_read: false };
    walk.list(&main.path, &main.directives, &mut |walk, path, directive| {
        let first = directive.arguments.first();
        found.other_sites.lines.extend(HostLine::of(HostBlock::Main, path, directive));
        match (directive.name.as_str(), first) {
            ("load_module", Some(file)) => found.load_modules.push(file.clone()),
            ("pid", Some(file)) => found.pid = Some(file.clone()),
            ("user", Some(user)) => found.user = Some((user.clone(), directive.arguments.get(1).cloned())),
            ("pcre_jit", Some(switch)) => found.other_sites.compiles_expressions = switch == "on",
            ("worker_processes", Some(number)) => found.other_sites.worker_processes = number.parse().ok(),
            ("events", _) => walk.inside(path, directive, &mut |_, path, directive| {
                found.other_sites.lines.extend(HostLine::of(HostBlock::Events, path, directive));
                if let ("worker_connections", Some(number)) = (directive.name.as_str(), directive.arguments.first()) {
                    found.other_sites.worker_connections = number.parse().ok();
                }
            }),
            ("http", _) => walk.inside(path, directive, &mut |walk, path, directive| {
                let sibling = sibling(&mut siblings, path, directive);
                found.other_sites.at_http_level(walk, path, directive, sibling.map(|sibling| own < sibling));
            }),
            ("stream", _) => {
                // Only in `http` does it matter which sites are read before ours.
                let before = std::mem::replace(&mut walk.ours_read, false);
                walk.inside(path, directive, &mut |walk, path, directive| {
                    found.other_sites.at_stream_level(walk, path, directive);
                });
                includes_streams |= std::mem::replace(&mut walk.ours_read, before);
            }
            _ => {}
        }
    });
    found.includes_ours = walk.ours_read;
    found.other_sites.leaves_streams_out = !includes_streams;
    found
}

impl OtherSites {
    /// For a directive of another instance, `behind` says whether that instance comes behind us in
    /// order.
    fn at_http_level(&mut self, walk: &mut Walk<'_>, path: &str, directive: &Directive, behind: Option<bool>) {
        self.look_for_buffers(directive);
        self.lines.extend(HostLine::of(HostBlock::Http, path, directive));
        if directive.name != "server" {
            self.logs.extend(host_log(&directive.arguments).filter(|_| directive.name == "access_log"));
            self.http_directives.insert(directive.name.clone());
            self.names_server |= names_server(directive);
            self.look_for_leniency(path, directive);
            return;
        }
        // Another instance is the default server only where it says so, never by its place.
        let before_ours = !walk.ours_read && behind.is_none();
        walk.inside(path, directive, &mut |_, path, directive| self.look_for_rules(path, directive));
        let (mut listens, mut ssl, mut names, mut files) = (Vec::new(), false, Vec::new(), Vec::new());
        walk.inside(path, directive, &mut |_, path, directive| self.look_for_leniency(path, directive));
        walk.inside(path, directive, &mut |_, path, directive| match directive.name.as_str() {
            "listen" => listens.extend(listen(&place(path, directive), &directive.arguments)),
            "server_name" => {
                names.extend(directive.arguments.iter().map(|name| (place(path, directive), written(name))));
            }
            "ssl_certificate" => {
                files.extend(directive.arguments.first().map(|file| (place(path, directive), file.clone())));
            }
            // The form that nginx had before 1.25.1 besides the parameter of `listen`.
            "ssl" => ssl = directive.arguments.first().is_some_and(|value| value == "on"),
            _ => {}
        });
        if listens.is_empty() {
            // nginx listens on port 80 for a server without `listen`.
            listens.extend(listen(&place(path, directive), &["80".to_owned()]));
        }
        let ports: BTreeSet<_> = listens.iter().map(|listen: &SiteListen| listen.address.port()).collect();
        if behind != Some(true) {
            let names: Vec<String> = names.iter().map(|(_, name): &(String, String)| name.clone()).collect();
            let of_file = |(place, file)| SiteCertificate { place, file, names: names.clone(), ports: ports.clone() };
            self.certificates.extend(files.into_iter().map(of_file));
        }
        let sockets: BTreeSet<_> = listens.iter().map(|listen: &SiteListen| listen.address).collect();
        let named = |(place, name)| SiteName { place, name, sockets: sockets.clone(), before_ours: !walk.ours_read };
        // The other instance will see that we have the names, and leave them to us.
        self.server_names.extend(names.into_iter().filter(|_| behind != Some(true)).map(named));
        let complete = |listen: SiteListen| SiteListen { ssl: listen.ssl || ssl, before_ours, ..listen };
        self.listens.extend(listens.into_iter().map(complete));
    }

    fn at_stream_level(&mut self, walk: &mut Walk<'_>, path: &str, directive: &Directive) {
        if directive.name != "server" {
            self.stream_directives.insert(directive.name.clone());
            return;
        }
        walk.inside(path, directive, &mut |_, path, directive| {
            let ("listen", Some((address, parameters))) = (directive.name.as_str(), directive.arguments.split_first())
            else {
                return;
            };
            let is_udp = parameters.iter().any(|parameter| parameter == "udp");
            let transport = if is_udp { Transport::Udp } else { Transport::Tcp };
            let listen = |address| StreamListen { place: place(path, directive), transport, address };
            self.stream_listens.extend(addresses(address).into_iter().map(listen));
        });
    }

    fn look_for_buffers(&mut self, directive: &Directive) {
        if directive.name == "access_log" {
            self.buffered_logs.extend(host_log(&directive.arguments).as_ref().and_then(buffered));
        }
        directive.children().iter().for_each(|directive| self.look_for_buffers(directive));
    }

    fn look_for_rules(&mut self, path: &str, directive: &Directive) {
        if self.firewall_rules.is_none() && RULE_DIRECTIVES.contains(&&*directive.name) {
            self.firewall_rules = Some(place(path, directive));
        }
        directive.children().iter().for_each(|directive| self.look_for_rules(path, directive));
    }

    fn look_for_leniency(&mut self, path: &str, directive: &Directive) {
        let is = |name: &str, value: &str| {
            directive.name == name && directive.arguments.first().is_some_and(|first| first.eq_ignore_ascii_case(value))
        };
        if self.lenient_headers.is_none() && (is("underscores_in_headers", "on") || is("ignore_invalid_headers", "off"))
        {
            self.lenient_headers = Some(place(path, directive));
        }
    }
}

/// The file and line of a directive, for messages.
fn place(path: &str, directive: &Directive) -> String {
    format!("{path}:{}", directive.line)
}

fn names_server(directive: &Directive) -> bool {
    let has = |word: &String| ["$server_name", "${server_name}"].iter().any(|name| word.contains(name));
    has(&directive.name) || directive.arguments.iter().any(has) || directive.children().iter().any(names_server)
}

/// The instance that wrote a file. One file of its folder names it, and is read before any file
/// with hosts.
fn sibling<'s>(
    siblings: &'s mut BTreeMap<String, Instance>,
    path: &str,
    directive: &Directive,
) -> Option<&'s Instance> {
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let variable = directive.arguments.last().and_then(|last| last.strip_prefix('$'));
    let named = variable.filter(|_| directive.name == "map").and_then(Instance::of_generation_variable);
    if let Some(instance) = named {
        siblings.insert(folder.to_owned(), instance);
    }
    siblings.get(folder)
}

/// The name in lower case, unless it is an expression, where case has a meaning: `\d` is not `\D`.
fn written(name: &str) -> String {
    if name.starts_with('~') { name.to_owned() } else { name.to_ascii_lowercase() }
}

type Visit<'v> = &'v mut dyn FnMut(&mut Walk<'_>, &str, &Directive);

struct Walk<'a> {
    include: &'a mut dyn FnMut(&str) -> Option<Vec<ParsedFile>>,
    open: OpenFiles,
    /// Whether our files were read already.
    ours_read: bool,
}

impl Walk<'_> {
    fn inside(&mut self, path: &str, directive: &Directive, visit: Visit<'_>) {
        self.list(path, directive.children(), visit);
    }

    fn list(&mut self, path: &str, directives: &[Directive], visit: Visit<'_>) {
        for directive in directives {
            match (directive.name.as_str(), directive.arguments.first()) {
                ("include", Some(pattern)) if self.open.has_room() => {
                    let Some(files) = (self.include)(pattern) else {
                        self.ours_read = true;
                        continue;
                    };
                    for file in files {
                        if self.open.open(&file.path) {
                            self.list(&file.path, &file.directives, visit);
                            self.open.close();
                        }
                    }
                }
                _ => visit(self, path, directive),
            }
        }
    }
}

/// The sockets of one `listen` line: several for a range of ports, none for a Unix socket or a
/// host name.
fn listen(place: &str, arguments: &[String]) -> Vec<SiteListen> {
    let Some((address, parameters)) = arguments.split_first() else { return Vec::new() };
    let has = |name: &str| parameters.iter().any(|parameter| parameter == name);
    addresses(address)
        .into_iter()
        .map(|address| SiteListen {
            place: place.to_owned(),
            address,
            default_server: has("default_server") || has("default"),
            ssl: has("ssl"),
            http2: has("http2"),
            proxy_protocol: has("proxy_protocol"),
            dual_stack: has("ipv6only=off"),
            before_ours: false,
        })
        .collect()
}

fn addresses(text: &str) -> Vec<SocketAddr> {
    const ANY: IpAddr = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
    let (host, ports) = match text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((host, rest)) => (host, rest.strip_prefix(':').unwrap_or("80")),
        None => match text.rsplit_once(':') {
            Some((host, ports)) => (host, ports),
            None if text.starts_with(|first: char| first.is_ascii_digit()) && !text.contains('.') => ("*", text),
            None => (text, "80"),
        },
    };
    let address = match host {
        "*" => Some(ANY),
        "localhost" => Some(IpAddr::V4(Ipv4Addr::LOCALHOST)),
        _ => host.parse().ok(),
    };
    let (first, last) = ports.split_once('-').unwrap_or((ports, ports));
    match (address, first.parse::<u16>(), last.parse::<u16>()) {
        (Some(address), Ok(first), Ok(last)) => (first..=last).map(|port| SocketAddr::new(address, port)).collect(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::syntax;

    fn file(path: &str, text: &str) -> ParsedFile {
        ParsedFile { path: path.to_owned(), directives: syntax::parse(text.as_bytes()).expect("nginx reads it") }
    }

    #[test]
    fn reads_sites_through_includes() {
        let main = "user www-data www; pcre_jit on; worker_processes 4; events { worker_connections 768; } pid /run/nginx.pid; load_module modules/a.so; include mods;\n\
            http { gzip on; include sites; include ours; server { server_name A.example ~^B\\D$; listen 8080; } }";
        let site = "server { listen 80 default_server; listen [::]:80 default_server ipv6only=off;\nlisten 443 ssl http2 proxy_protocol;\nserver_name c.example; ssl_certificate /c.pem; }";
        let found = survey(&file("main", main), &Instance::default(), &mut |pattern| match pattern {
            "mods" => Some(vec![file("mods", "load_module b.so;")]),
            "ours" => None,
            _ => Some(vec![file("site", site), file("bare", "server { }")]),
        });
        let other_sites = &found.other_sites;
        let listens: Vec<_> = other_sites
            .listens
            .iter()
            .map(|listen| {
                let flags = (listen.default_server, listen.ssl, listen.http2, listen.dual_stack);
                assert_eq!(listen.proxy_protocol, listen.place == "site:2");
                (listen.place.as_str(), listen.address.to_string(), flags, listen.before_ours)
            })
            .collect();
        assert_eq!(
            listens,
            [
                ("site:1", "0.0.0.0:80".to_owned(), (true, false, false, false), true),
                ("site:1", "[::]:80".to_owned(), (true, false, false, true), true),
                ("site:2", "0.0.0.0:443".to_owned(), (false, true, true, false), true),
                ("bare:1", "0.0.0.0:80".to_owned(), (false, false, false, false), true),
                ("main:2", "0.0.0.0:8080".to_owned(), (false, false, false, false), false),
            ]
        );
        assert_eq!(other_sites.http_directives, BTreeSet::from(["gzip".to_owned()]));
        assert!(!other_sites.names_server);
        let sockets = BTreeSet::from([([0, 0, 0, 0], 8080).into()]);
        let named = |name: &str| SiteName {
            place: "main:2".into(),
            name: name.into(),
            sockets: sockets.clone(),
            before_ours: false,
        };
        let (of_site, of_main) = other_sites.server_names.split_at(1);
        assert_eq!((&*of_site[0].place, of_main), ("site:3", &["a.example", "~^B\\D$"].map(named)[..]));
        assert!(of_site[0].before_ours);
        let (place, file, names) = ("site:3".into(), "/c.pem".into(), vec!["c.example".into()]);
        assert_eq!(
            other_sites.certificates,
            [SiteCertificate { place, file, names, ports: BTreeSet::from([80, 443]) }]
        );
        assert!(found.includes_ours);
        assert_eq!((other_sites.worker_processes, other_sites.worker_connections), (Some(4), Some(768)));
        assert!(other_sites.compiles_expressions && !OtherSites::default().compiles_expressions);
        let line =
            |line: &HostLine| format!("{} {} {} {}", line.place, line.block, line.name, line.arguments.join(" "));
        let lines: Vec<_> = other_sites.lines.iter().map(line).collect();
        let expected = [
            "main:1 outside of every block user www-data www",
            "main:1 outside of every block pcre_jit on",
            "main:1 outside of every block worker_processes 4",
            "main:1 in the block events worker_connections 768",
            "main:1 outside of every block pid /run/nginx.pid",
            "main:1 outside of every block load_module modules/a.so",
            "mods:1 outside of every block load_module b.so",
            "main:2 in the block http gzip on",
        ];
        assert_eq!(lines, expected);
        assert!(other_sites.compiles_expressions && !OtherSites::default().compiles_expressions);
        assert_eq!(found.load_modules, ["modules/a.so", "b.so"]);
        assert_eq!(found.pid.as_deref(), Some("/run/nginx.pid"));
        assert_eq!(found.user, Some(("www-data".to_owned(), Some("www".to_owned()))));
    }

    #[test]
    fn headers_that_nginx_would_drop_are_known() {
        for (text, expected) in [
            ("http { underscores_in_headers on; }", true),
            ("http { server { ignore_invalid_headers off; } }", true),
            ("http { underscores_in_headers off; server { ignore_invalid_headers on; } }", false),
        ] {
            let found = survey(&file("main", text), &Instance::default(), &mut |_| None);
            assert_eq!(found.other_sites.lenient_headers, expected.then(|| "main:1".to_owned()), "{text}");
        }
    }

    #[test]
    fn what_asks_for_the_first_name_of_a_server_is_known() {
        for (text, expected) in [
            ("http { log_format all '$remote_addr $server_name'; }", true),
            ("http { access_log /var/log/nginx/${server_name}.log; }", true),
            ("http { map $host $site { default $server_name; } }", true),
            ("http { log_format all '$host $server_port'; server { server_name a; return 200 $server_name; } }", false),
        ] {
            let found = survey(&file("main", text), &Instance::default(), &mut |_| None);
            assert_eq!(found.other_sites.names_server, expected, "{text}");
        }
    }

    #[test]
    fn the_first_of_two_instances_keeps_a_host_and_none_is_the_default_server_by_its_place() {
        let files = || {
            let number = "map $nginx_version $ingressd__blue_generation { default 7; }";
            Some(vec![
                file("/b/http/generation.conf", number),
                file("/b/http/server.conf", "server { listen 80; server_name x; }"),
            ])
        };
        for (own, names) in [("", 0), ("amber", 0), ("blue", 1), ("cyan", 1)] {
            let own = Instance::new(own).unwrap();
            let found = survey(&file("main", "http { include b; }"), &own, &mut |_| files()).other_sites;
            assert_eq!((found.server_names.len(), found.listens[0].before_ours), (names, false), "{own}");
        }
    }

    #[test]
    fn ends_when_a_file_includes_itself() {
        let endless = file("a", "include a;");
        let found = survey(&endless, &Instance::default(), &mut |_| Some(vec![endless.clone()]));
        let other_sites = OtherSites { leaves_streams_out: true, ..OtherSites::default() };
        assert_eq!(found, HostConfiguration { other_sites, ..HostConfiguration::default() });
    }

    /// Each of ten files includes all ten: there are ten to the power of their number of ways
    /// through them.
    #[test]
    fn ends_when_files_include_each_other() {
        let files = || (0..10).map(|number| file(&format!("{number}"), "include all; server { listen 80; }")).collect();
        let mut asked = 0;
        let found = survey(&file("main", "http { include all; }"), &Instance::default(), &mut |_| {
            asked += 1;
            Some(files())
        });
        assert!(asked < 50_000, "{asked}");
        let read: BTreeSet<_> = found.other_sites.listens.iter().map(|listen| &*listen.place).collect();
        assert_eq!(read.len(), 10);
    }

    #[test]
    fn what_listens_in_stream_blocks_and_whether_ours_is_there_is_known() {
        let main = "include mods; http { include ours; server { listen 80; } }";
        let services = "stream { server { listen 53 udp; listen [::1]:53 udp; }\nserver { listen 192.0.2.1:5432; }\ninclude ours; }";
        let of = |services: &str| {
            survey(&file("main", main), &Instance::default(), &mut |pattern| match pattern {
                "mods" => Some(vec![file("mods", services)]),
                _ => None,
            })
        };
        let found = of(services);
        let listens = found.other_sites.stream_listens.iter();
        let listens: Vec<_> =
            listens.map(|listen| (&*listen.place, listen.transport, listen.address.to_string())).collect();
        assert_eq!(
            listens,
            [
                ("mods:1", Transport::Udp, "0.0.0.0:53".to_owned()),
                ("mods:1", Transport::Udp, "[::1]:53".to_owned()),
                ("mods:2", Transport::Tcp, "192.0.2.1:5432".to_owned()),
            ]
        );
        assert!(!found.other_sites.leaves_streams_out && found.includes_ours);
        assert!(!found.other_sites.listens[0].before_ours, "our files of http come before the site");
        // `http` and `stream` each have to include our files.
        let found = of(&services.replace("include ours;", ""));
        assert!(found.other_sites.leaves_streams_out && found.includes_ours);
        let found = survey(&file("main", services), &Instance::default(), &mut |_| None);
        assert!(!found.other_sites.leaves_streams_out && !found.includes_ours);
    }

    #[test]
    fn rules_of_a_firewall_are_seen_wherever_a_site_has_them() {
        for (text, expected) in [
            ("http { server { location / { modsecurity_rules_file /a; } } }", true),
            ("http { server { modsecurity_rules a; } }", true),
            // All sites inherit it.
            ("http { modsecurity_rules_file /a; server { modsecurity on; } }", false),
        ] {
            let found = survey(&file("main", text), &Instance::default(), &mut |_| None).other_sites;
            assert_eq!(found.firewall_rules, expected.then(|| "main:1".to_owned()), "{text}");
        }
    }

    #[test]
    fn reads_every_form_of_address() {
        let table: &[(&str, &[&str])] = &[
            ("80", &["0.0.0.0:80"]),
            ("*:81", &["0.0.0.0:81"]),
            ("10.0.0.1", &["10.0.0.1:80"]),
            ("10.0.0.1:82-83", &["10.0.0.1:82", "10.0.0.1:83"]),
            ("[::1]", &["[::1]:80"]),
            ("[::]:84", &["[::]:84"]),
            ("localhost:85", &["127.0.0.1:85"]),
            ("unix:/run/x.sock", &[]),
        ];
        for (text, expected) in table {
            let found: Vec<_> = addresses(text).iter().map(ToString::to_string).collect();
            assert_eq!(found, *expected, "{text}");
        }
    }
}
