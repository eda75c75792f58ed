//! The costs of many similar objects in a real nginx, compared with the estimate.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;

use ingressd_model::catalogue::Version;
use ingressd_model::cost::{self, Cost};
use ingressd_nginx::render::{FileSet, Renderer};
use ingressd_nginx::{self as nginx, Capabilities, GateOptions, OtherSites};
use ingressd_translate::{NamespaceLimits, Translation, Translator};

use crate::{DEFAULT_CERTIFICATE, documents, inputs, judge, snapshot, world};
use ingressd_config::Usual as _;

/// How many objects there are of each sort.
const OBJECTS: usize = 400;

/// A sort of objects: its name, its annotations, how many paths each object has, and whether all
/// have one host, services of their own, and certificates.
struct Sort {
    name: &'static str,
    annotations: fn(usize) -> String,
    paths: usize,
    services: bool,
    certificates: bool,
}

const PLAIN: Sort =
    Sort { name: "hosts", annotations: |_| String::new(), paths: 1, services: false, certificates: false };

fn networks(number: usize, count: usize, six: bool) -> String {
    let network = |index: usize| {
        // The addresses are spread over many networks.
        let mixed = (number * count + index).wrapping_mul(2_654_435_761) % (1 << 32);
        match six {
            true => format!("2001:db8:{:x}:{:x}:{mixed:x}::1", mixed >> 16, mixed & 0xffff)
                .replace(&format!("{mixed:x}::"), "1::"),
            false => format!("{}.{}.{}.{}", 1 + (mixed >> 24) % 223, mixed >> 16 & 255, mixed >> 8 & 255, mixed & 255),
        }
    };
    (0..count).map(network).collect::<Vec<_>>().join(",")
}

fn annotation(key: &str, value: &str) -> String {
    format!("nginx.ingress.kubernetes.io/{key}: '{value}'")
}

/// Objects whose requests count for their namespace, because the administrator limits these.
const COUNTED: &str = "requests of a namespace";

const SORTS: &[Sort] = &[
    PLAIN,
    Sort { name: "paths", paths: 10, ..PLAIN },
    Sort { name: COUNTED, paths: 10, ..PLAIN },
    Sort { name: "Services", paths: 5, services: true, ..PLAIN },
    Sort { name: "certificates", certificates: true, ..PLAIN },
    Sort {
        name: "short lists",
        annotations: |number| annotation("denylist-source-range", &networks(number, 32, false)),
        paths: 5,
        ..PLAIN
    },
    Sort {
        name: "long lists",
        annotations: |number| annotation("denylist-source-range", &networks(number, 200, false)),
        paths: 5,
        ..PLAIN
    },
    Sort {
        name: "long lists of IPv6",
        annotations: |number| annotation("denylist-source-range", &networks(number, 60, true)),
        ..PLAIN
    },
    Sort {
        name: "origins",
        annotations: |number| {
            let origins = (0..10).map(|index| format!("https://o{index}.n{number}.example.com")).collect::<Vec<_>>();
            format!("{}, {}", annotation("enable-cors", "true"), annotation("cors-allow-origin", &origins.join(",")))
        },
        paths: 5,
        ..PLAIN
    },
    Sort {
        name: "origins and what they are told",
        annotations: |number| {
            let all = [
                ("enable-cors", "true".to_owned()),
                ("cors-allow-origin", format!("https://n{number}.example.com")),
                ("cors-allow-headers", format!("X-A{number}")),
                ("cors-expose-headers", format!("X-E{number}")),
                ("cors-max-age", (1000 + number).to_string()),
            ];
            all.map(|(key, value)| annotation(key, &value)).join(", ")
        },
        ..PLAIN
    },
    Sort {
        name: "limits",
        annotations: |_| {
            format!(
                "{}, {}, {}",
                annotation("limit-rps", "10"),
                annotation("limit-rpm", "10"),
                annotation("limit-connections", "10")
            )
        },
        paths: 5,
        ..PLAIN
    },
    Sort {
        name: "directives and redirects",
        annotations: |_| {
            let all = [
                ("proxy-read-timeout", "77"),
                ("proxy-connect-timeout", "7"),
                ("proxy-body-size", "7m"),
                ("force-ssl-redirect", "true"),
                ("proxy-buffering", "on"),
                ("proxy-buffer-size", "16k"),
            ];
            all.map(|(key, value)| annotation(key, value)).join(", ")
        },
        paths: 5,
        ..PLAIN
    },
    Sort {
        name: "rewrites",
        annotations: |_| format!("{}, {}", annotation("rewrite-target", "/$1/new"), annotation("use-regex", "true")),
        paths: 5,
        ..PLAIN
    },
    Sort {
        name: "sessions",
        annotations: |number| {
            let name = annotation("session-cookie-name", &format!("my-{number}"));
            format!("{}, {name}", annotation("affinity", "cookie"))
        },
        paths: 5,
        ..PLAIN
    },
    Sort {
        name: "sessions at endpoints",
        annotations: |number| {
            let name = annotation("session-cookie-name", &format!("my-{number}"));
            format!("{}, {}, {name}", annotation("affinity", "cookie"), annotation("affinity-mode", "persistent"))
        },
        paths: 2,
        services: true,
        ..PLAIN
    },
    Sort {
        name: "certificates of clients",
        annotations: |_| {
            format!("{}, {}", annotation("auth-tls-secret", "authority"), annotation("auth-tls-match-cn", "CN=a"))
        },
        paths: 5,
        ..PLAIN
    },
    Sort {
        name: "TLS to backends",
        annotations: |_| {
            let all = [("backend-protocol", "HTTPS"), ("proxy-ssl-secret", "client"), ("proxy-ssl-verify", "on")];
            all.map(|(key, value)| annotation(key, value)).join(", ")
        },
        paths: 5,
        ..PLAIN
    },
    Sort {
        name: "copies",
        annotations: |number| annotation("mirror-target", &format!("http://192.0.2.7/{number}")),
        paths: 5,
        ..PLAIN
    },
    Sort { name: "stand-ins", annotations: |_| annotation("default-backend", "api"), paths: 5, ..PLAIN },
    Sort { name: "FastCGI", annotations: |_| annotation("backend-protocol", "FCGI"), paths: 5, ..PLAIN },
    Sort { name: "canaries", paths: 5, ..PLAIN },
    Sort { name: "headers of answers", annotations: |_| annotation("custom-headers", "answers"), paths: 5, ..PLAIN },
    Sort {
        name: "headers of requests",
        annotations: |_| annotation("upstream-vhost", "internal.example.com"),
        paths: 5,
        ..PLAIN
    },
    Sort {
        name: "questions",
        annotations: |number| annotation("auth-url", &format!("http://192.0.2.7:{}/check", 1024 + number)),
        ..PLAIN
    },
    Sort {
        name: "questions with all",
        annotations: |number| {
            let all = [
                ("auth-url", format!("https://192.0.2.7/check?n={number}")),
                ("auth-signin", "https://login.example.com/start".to_owned()),
                ("auth-response-headers", "X-User, X-Email, X-Groups, Authorization".to_owned()),
                ("auth-proxy-set-headers", "auth-headers".to_owned()),
                ("auth-cache-key", "$cookie_session$http_authorization".to_owned()),
                ("auth-always-set-cookie", "true".to_owned()),
            ];
            all.map(|(key, value)| annotation(key, &value)).join(", ")
        },
        paths: 5,
        ..PLAIN
    },
    Sort { name: "streams", services: true, ..PLAIN },
    Sort { name: "passthrough", annotations: |_| annotation("ssl-passthrough", "true"), services: true, ..PLAIN },
    Sort {
        name: "long texts",
        annotations: |_| annotation("permanent-redirect", &format!("https://example.org/{}", "x".repeat(2000))),
        paths: 5,
        ..PLAIN
    },
];

/// The objects of a sort.
fn manifests(sort: &Sort, objects: usize) -> String {
    let mut text = documents("hosts").first().cloned().unwrap_or_default();
    text.clear();
    for number in 0..objects {
        let paths = (0..sort.paths).map(|index| {
            let service = if sort.services { format!("s{number}-{index}") } else { "web".to_owned() };
            format!("{{path: '/p{index}/(.*)', pathType: ImplementationSpecific, backend: {{service: {{name: {service}, port: {{number: 80}}}}}}}}")
        });
        let paths = paths.collect::<Vec<_>>().join(", ");
        let paths = if sort.name == "rewrites" { paths } else { paths.replace("/(.*)", "") };
        let paths = if sort.name == "passthrough" { paths.replace("/p0", "/") } else { paths };
        // One that does not name the host is served nevertheless.
        let class = if sort.certificates { "ingressd" } else { "nginx" };
        let tls = match sort.certificates {
            true => format!("tls: [{{hosts: [h{number}.example.com], secretName: c{number}}}], "),
            false => String::new(),
        };
        write!(
            text,
            "---\napiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {{name: i{number}, namespace: default, annotations: \
             {{{}}}}}\nspec: {{ingressClassName: {class}, {tls}rules: [{{host: h{number}.example.com, http: {{paths: [{paths}]}}}}]}}\n",
            (sort.annotations)(number)
        )
        .unwrap();
        if sort.name == "canaries" {
            let keys =
                [("canary", "true"), ("canary-weight", "10"), ("canary-by-header", "X-A"), ("canary-by-cookie", "a")];
            let keys = keys.map(|(key, value)| annotation(key, value)).join(", ");
            write!(
                text,
                "---\napiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {{name: c{number}, namespace: default, \
                 annotations: {{{keys}}}}}\nspec: {{ingressClassName: {class}, rules: [{{host: h{number}.example.com, http: \
                 {{paths: [{}]}}}}]}}\n",
                paths.replace("name: web", "name: api")
            )
            .unwrap();
        }
        for index in 0..if sort.services { sort.paths } else { 0 } {
            write!(
                text,
                "---\napiVersion: v1\nkind: Service\nmetadata: {{name: s{number}-{index}, namespace: default}}\nspec: {{ports: [{{port: 80}}]}}\n\
                 ---\napiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\nmetadata: {{name: s{number}-{index}, namespace: default, labels: \
                 {{kubernetes.io/service-name: s{number}-{index}}}}}\naddressType: IPv4\nports: [{{port: 80, protocol: TCP}}]\nendpoints: \
                 [{{addresses: [10.9.{}.{}]}}, {{addresses: [10.8.{0}.{1}]}}]\n",
                number % 256,
                index + 1
            )
            .unwrap();
        }
    }
    if sort.name == "streams" {
        let entries = (0..objects).map(|number| format!("'{}': default/s{number}-0:80:PROXY:PROXY", 20_000 + number));
        let (entries, name) = (entries.collect::<Vec<_>>().join(", "), inputs::TCP_SERVICES.1);
        write!(
            text,
            "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, namespace: default}}\ndata: {{{entries}}}\n"
        )
        .unwrap();
    }
    let prelude: Vec<_> = documents("hosts");
    let mut all: Vec<_> = prelude.into_iter().filter(|document| !document.contains("kind: Ingress\n")).collect();
    let of_case = match sort.name {
        "certificates of clients" => "client-certificates",
        "TLS to backends" => "backend-tls",
        _ => "hosts",
    };
    let secrets = documents(of_case).into_iter().filter(|document| document.contains("kind: Secret\n"));
    let config_maps = ["answer-headers", "external-authentication"].into_iter().flat_map(documents);
    let config_maps = config_maps.filter(|document| document.contains("kind: ConfigMap\n"));
    let secrets = secrets.chain(config_maps);
    let secrets: Vec<_> = secrets.filter(|document| !all.contains(document)).collect();
    all.extend(secrets);
    if sort.certificates {
        let (_, secret) = DEFAULT_CERTIFICATE;
        let secret = all.iter().find(|document| document.contains(&format!("name: {secret}"))).unwrap().clone();
        all.extend((0..objects).map(|number| secret.replace(DEFAULT_CERTIFICATE.1, &format!("c{number}"))));
    }
    all.join("\n---\n") + "\n" + &text
}

fn made(sort: &Sort, objects: usize) -> (FileSet, Cost) {
    let snapshot = snapshot(&[manifests(sort, objects)]);
    let mut options = inputs::options(DEFAULT_CERTIFICATE, &snapshot);
    let limits = &mut options.limits;
    let NamespaceLimits { memory, test, files, hosts, .. } = &mut limits.namespace;
    [memory, test, files, hosts, &mut limits.node.test].into_iter().for_each(|most| *most = u64::MAX);
    let translation = Translator::new(options).translate(&snapshot, &world(), &Default::default());
    let each = if sort.name == "canaries" { 2 } else { 1 };
    assert_eq!(translation.accepted().count(), each * objects, "{}: {:?}", sort.name, translation.findings.first());
    let mut sum = Cost::default();
    cost::by_namespace(&translation.model, &translation.tables).into_iter().for_each(|(_, cost)| sum += cost);
    // What hosts share is cheaper than what is estimated.
    let requests_of_namespace = if sort.name == COUNTED { 100 } else { 0 };
    let options = GateOptions { shared_servers: false, requests_of_namespace, ..GateOptions::usual() };
    let other_sites = OtherSites { worker_connections: Some(2048), ..OtherSites::default() };
    let (Translation { model, tables, .. }, capabilities) = (translation, Capabilities::profile(Version(1, 22, 1)));
    let (plan, _) = nginx::gate(&model, &tables, &capabilities, &other_sites, &options);
    (Renderer::default().render(&plan).together(), sum)
}

fn written(files: &FileSet) -> u64 {
    let plain = files.files.values().filter(|file| !file.content.secret);
    plain.map(|file| u64::try_from(file.content.bytes().len()).unwrap()).sum()
}

/// What a sort of objects really costs beyond nothing, and what was estimated: files, bytes of
/// configuration and of memory, variables, comparisons of a name with those of all, microseconds.
fn weighed(sort: &Sort) -> [(u64, u64); 6] {
    let judges = judge::judges();
    let judge = judges.iter().find(|judge| judge.version == Version(1, 22, 1)).unwrap_or(&judges[0]);
    let ((empty, without), (files, with)) = (made(sort, 0), made(sort, OBJECTS));
    let ((before, _), (after, time)) = (judge.weigh(&empty), judge.weigh(&files));
    let count = |files: &FileSet| u64::try_from(files.files.len()).unwrap();
    let named = named(&files);
    let (variables, uses) = (u64::try_from(named.len()).unwrap(), named.values().sum::<u64>());
    [
        (count(&files) - count(&empty), with.files - without.files),
        (written(&files) - written(&empty), with.configuration - without.configuration),
        (after - before, with.memory - without.memory),
        (variables, with.variables - without.variables),
        (uses.midpoint(variables), with.searches - without.searches),
        (u64::try_from(time.as_micros()).unwrap(), with.test - without.test),
    ]
}

/// How often each of the variables is named of which there may be many.
fn named(files: &FileSet) -> BTreeMap<String, u64> {
    let mut named = BTreeMap::new();
    for file in files.files.values().filter(|file| !file.content.secret) {
        let text = file.content.text();
        for part in text.split('$').skip(1) {
            let part = part.trim_start_matches('{');
            let end = part.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_').unwrap_or(part.len());
            // The others are few, and found soon.
            if part[..end].contains("_ingressd_") {
                *named.entry(part[..end].to_owned()).or_default() += 1;
            }
        }
    }
    named
}

/// How many steps nginx takes to find each of these variables among all, as often as it is named.
/// For each it compares the length, and where that is equal the letters up to one that differs.
fn steps(named: &BTreeMap<String, u64>) -> u64 {
    let all: u64 = named.values().sum();
    let mut steps = all * u64::try_from(named.len()).unwrap();
    let longest = named.keys().map(String::len).max().unwrap_or_default();
    for letters in 0..longest {
        let mut alike: HashMap<_, (u64, u64)> = HashMap::new();
        for (name, times) in named.iter().filter(|(name, _)| name.len() > letters) {
            let (names, uses) = alike.entry((name.len(), &name[..letters])).or_default();
            (*names, *uses) = (*names + 1, *uses + times);
        }
        steps += alike.values().map(|(names, uses)| names * uses).sum::<u64>();
    }
    steps
}

/// What nginx does in a few nanoseconds.
const NANOSECONDS_OF_STEP: u64 = 3;

#[test]
fn the_price_of_variables_grows_with_what_nginx_does_about_them() {
    let sort = SORTS.iter().find(|sort| sort.name == "origins and what they are told").unwrap();
    let (files, cost) = made(sort, 12_500);
    let named = named(&files);
    assert!(named.len() > 50_000, "{}", named.len());
    let (comparisons, steps) = (named.values().sum::<u64>() * u64::try_from(named.len()).unwrap(), steps(&named));
    println!("{} variables: {comparisons} comparisons, {steps} steps, {} microseconds", named.len(), cost.test);
    assert!(steps < 2 * comparisons, "{steps} steps for {comparisons} comparisons: names begin alike");
    // Of all variables nginx has compared half when it finds one.
    assert!(cost.test >= steps / 2 * NANOSECONDS_OF_STEP / 1000, "{} microseconds for {steps} steps", cost.test);
}

/// nginx sorts the locations of a server by insertion, and compares their paths with a slash as
/// the least: in an order of the author's choice 10,000 of them would take it 20 s.
#[test]
fn many_plain_locations_come_in_the_order_in_which_nginx_sorts_them() {
    let path = |number: usize| format!("/{}a{}", "b".repeat(number % 200), number / 200);
    let paths = (0..1000).map(|number| {
        format!(
            "{{path: {}, pathType: Prefix, backend: {{service: {{name: web, port: {{number: 80}}}}}}}}",
            path(number)
        )
    });
    let ingress = format!(
        "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {{name: many, namespace: default}}\nspec: \
         {{ingressClassName: nginx, rules: [{{host: many.example.com, http: {{paths: [{}]}}}}]}}\n",
        paths.collect::<Vec<_>>().join(", ")
    );
    let prelude = documents("hosts").into_iter().filter(|document| !document.contains("kind: Ingress\n"));
    let snapshot = snapshot(&[prelude.chain([ingress]).collect::<Vec<_>>().join("\n---\n")]);
    let options = inputs::options(DEFAULT_CERTIFICATE, &snapshot);
    let translation = Translator::new(options).translate(&snapshot, &world(), &Default::default());
    let capabilities = Capabilities::profile(Version(1, 22, 1));
    let Translation { model, tables, .. } = translation;
    let (plan, _) = nginx::gate(&model, &tables, &capabilities, &OtherSites::default(), &GateOptions::usual());
    let files = Renderer::default().render(&plan).together();
    let text = files.files["http/server-exact-many.example.com.conf"].content.text();
    let places = text.lines().filter_map(|line| line.trim().strip_prefix("location "));
    let places = places
        .filter_map(|place| place.split(' ').nth(1))
        .map(|path| path.trim_matches('"'))
        .filter(|path| path.starts_with('/'));
    let keys: Vec<_> = places.map(|path| path.replace('/', "\0")).collect();
    let unsorted = keys.windows(2).filter(|pair| pair[0] > pair[1]).count();
    assert!(keys.len() > 2000 && unsorted <= 1, "{unsorted} of {} come after a greater one", keys.len());
}

/// What is printed is the table from which the numbers in crates/model/src/cost come, real and
/// estimated for each object: `cargo test --test golden what_is_estimated -- --nocapture`.
#[test]
fn what_is_estimated_is_enough_and_not_far_too_much() {
    let objects = u64::try_from(OBJECTS).unwrap();
    println!("{:<30} files, configuration, memory, variables, searches, microseconds", "each");
    for sort in SORTS {
        let costs = weighed(sort);
        let shown = costs.map(|(real, estimated)| format!("{} ({})", real / objects, estimated / objects));
        println!("{:<30} {}", sort.name, shown.join("  "));
        let [files, configuration, memory, variables, searches, _] = costs;
        for (what, (real, estimated), most) in [
            ("files", files, 2),
            ("bytes", configuration, 4),
            ("memory", memory, 4),
            ("variables", variables, u64::MAX),
            ("searches", searches, u64::MAX),
        ] {
            let shown = format!("{}: {real} {what}, estimated {estimated}", sort.name);
            // A few more or less are those of the daemon itself.
            assert!(estimated + 3 >= real, "too little for {shown}");
            assert!(estimated <= most.saturating_mul(real.max(1)), "too much for {shown}");
        }
    }
}
