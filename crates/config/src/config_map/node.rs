//! What keys ask of nginx.conf of each node: the line to set there, and whether what stands there
//! does it. It must not write that file.

use std::borrow::Cow;
use std::fmt;

use super::keys::{Effect, find};
use crate::settings::Settings;
use ingressd_model::Refused;
use ingressd_model::language::syntax;
use ingressd_nginx::{HostBlock, HostLine, OtherSites};
use ingressd_objects::Snapshot;
use ingressd_translate::value::{address_list, boolean, entries, integer};

/// From a value of a key to what it asks for; nothing where nginx.conf may say what it likes.
type Form = fn(&str) -> Result<Option<Requirement>, Refused>;

/// A key that belongs to nginx.conf.
struct Key {
    name: &'static str,
    block: HostBlock,
    form: Form,
    /// What counts where nginx.conf does not have the directive; empty where ingressd writes it
    /// then, as large as it has to be.
    absent: &'static str,
}

const fn key(name: &'static str, block: HostBlock, form: Form, absent: &'static str) -> Key {
    Key { name, block, form, absent }
}

const KEYS_OF_NODES: &[Key] = &[
    key("debug-connections", HostBlock::Events, addresses, "nothing"),
    key("enable-multi-accept", HostBlock::Events, switch, "off"),
    key("error-log-level", HostBlock::Main, level, USUAL_LOG),
    key("error-log-path", HostBlock::Main, log, USUAL_LOG),
    key("map-hash-bucket-size", HostBlock::Http, size, "64"),
    key("max-worker-connections", HostBlock::Events, number, "512"),
    key("max-worker-open-files", HostBlock::Main, number, "0"),
    key("server-name-hash-max-size", HostBlock::Http, size, ""),
    key("variables-hash-bucket-size", HostBlock::Http, size, ""),
    key("variables-hash-max-size", HostBlock::Http, size, ""),
    key("worker-cpu-affinity", HostBlock::Main, affinity, "nothing"),
    key("worker-processes", HostBlock::Main, processes, "1"),
    key("worker-shutdown-timeout", HostBlock::Main, time, "0"),
];

/// The key with lines of nginx.conf itself.
const SNIPPET: &str = "main-snippet";

/// The error log of nginx, where neither the ConfigMap nor nginx.conf names one.
const USUAL_LOG: &str = "/var/log/nginx/error.log error";

/// Levels of the error log, the most talkative first.
const LEVELS: [&str; 8] = ["debug", "info", "notice", "warn", "error", "crit", "alert", "emerg"];

/// What a directive has to say.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Requirement {
    /// These words.
    Words(String),
    /// A line for each of these.
    Each(Vec<String>),
    /// A number that is not smaller.
    AtLeast(u64),
    /// So many seconds.
    Seconds(u64),
    /// This file, and this level or a more talkative one.
    Log { file: Option<String>, level: Option<&'static str> },
}

/// What keys of the ConfigMap ask of one directive of nginx.conf.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AskedOfNode {
    /// Those keys; none where the controller always writes the line.
    pub keys: Vec<&'static str>,
    directive: Cow<'static, str>,
    block: HostBlock,
    wanted: Requirement,
    absent: &'static str,
}

/// The lines of nginx.conf about a requirement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OfNode {
    /// Whether they meet it.
    pub is_met: bool,
    /// What stands there, in one clause.
    pub says: String,
    /// What to write where.
    pub remedy: String,
}

impl Settings {
    /// What the ConfigMap that counts asks of nginx.conf of each node; nothing where none is
    /// named.
    pub fn asked_of_nodes(&self, snapshot: &Snapshot) -> Vec<AskedOfNode> {
        let Some((namespace, name)) = &self.ingress_nginx.config_map else { return Vec::new() };
        let data = snapshot.config_map(namespace, name).and_then(|stored| stored.object.data.as_ref());
        let mut asked: Vec<AskedOfNode> = Vec::new();
        for (key, value) in data.into_iter().flatten() {
            for more in AskedOfNode::of(key, value).unwrap_or_default() {
                // Lines of a snippet may repeat a directive.
                let same = |known: &&mut AskedOfNode| known.directive == more.directive && known.keys != [SNIPPET];
                match asked.iter_mut().find(same) {
                    Some(known) => known.take(more),
                    None => asked.push(more),
                }
            }
        }
        let wanted = Requirement::Words("epoll".to_owned());
        asked.push(AskedOfNode {
            keys: Vec::new(),
            directive: "use".into(),
            block: HostBlock::Events,
            wanted,
            absent: "epoll",
        });
        asked
    }
}

/// What to tell of a key that belongs to nginx.conf.
pub(super) fn note(name: &str, value: &str) -> Result<Option<String>, Refused> {
    // What ingressd writes where nginx.conf does not is as large as it has to be.
    let all: Vec<_> = AskedOfNode::of(name, value)?.into_iter().filter(|asked| !asked.absent.is_empty()).collect();
    let Some(first) = all.first() else { return Ok(None) };
    let lines: Vec<_> = all.iter().map(|asked| asked.line(None)).collect();
    let (lines, block) = (lines.join(" "), first.block);
    Ok(Some(format!("ingressd does not change nginx.conf: set `{lines}` there on each node, {block}")))
}

impl AskedOfNode {
    /// What the value of a key asks for, line by line; nothing where it belongs elsewhere, or
    /// nginx.conf may say what it likes.
    ///
    /// # Errors
    ///
    /// When nginx would not take it.
    pub fn of(name: &str, value: &str) -> Result<Vec<Self>, Refused> {
        if name == SNIPPET {
            return of_snippet(value);
        }
        let found = KEYS_OF_NODES.iter().find(|key| key.name == name && !value.trim().is_empty());
        let effect = find(name).map(|key| key.effect);
        let (Some(key), Some(Effect::Host(directive))) = (found, effect) else { return Ok(Vec::new()) };
        let Key { block, absent, .. } = *key;
        let asked = |wanted| AskedOfNode { keys: vec![key.name], directive: directive.into(), block, wanted, absent };
        Ok((key.form)(value.trim())?.map(asked).into_iter().collect())
    }

    /// Two keys may be about one directive.
    fn take(&mut self, more: AskedOfNode) {
        self.keys.extend(more.keys);
        if let (Requirement::Log { file, level }, Requirement::Log { file: also, level: and }) =
            (&mut self.wanted, more.wanted)
        {
            *file = file.take().or(also);
            *level = level.or(and);
        }
    }

    /// What the host says of it. `files` is how many files a worker may have open already.
    pub fn judge(&self, host: &OtherSites, main: &str, files: Option<u64>) -> OfNode {
        let all = || host.lines.iter().filter(|line| line.name == self.directive);
        // What is said for http alone counts there.
        let nearest = all().map(|line| line.block).max();
        let lines: Vec<_> = all().filter(|line| Some(line.block) == nearest).collect();
        let Some(first) = lines.first() else {
            let has = self.directive == "worker_rlimit_nofile" && files.is_some_and(|files| self.wanted.takes(files));
            let absent: Vec<_> = self.absent.split_whitespace().collect();
            return OfNode {
                is_met: has || absent.is_empty() || self.wanted.is_met_by(&absent),
                says: format!("{main} does not have it"),
                remedy: format!("write `{}` into {main}, {}", self.line(None), self.block),
            };
        };
        let words = |line: &HostLine| format!("{} says `{} {};`", line.place, line.name, line.arguments.join(" "));
        let is_met_by = |line: &&HostLine| {
            let arguments: Vec<_> = line.arguments.iter().map(String::as_str).collect();
            self.wanted.is_met_by(&arguments)
        };
        let is_met = match &self.wanted {
            Requirement::Each(all) => all.iter().all(|one| lines.iter().any(|line| line.arguments == [one.as_str()])),
            _ => lines.iter().any(is_met_by),
        };
        OfNode { is_met, says: words(first), remedy: format!("write `{}` there", self.line(Some(first))) }
    }

    /// The line to set, in the place of this one.
    fn line(&self, now: Option<&HostLine>) -> String {
        let now = |index: usize| now.and_then(|line| line.arguments.get(index)).map(String::as_str);
        let words = match &self.wanted {
            Requirement::Words(words) => words.clone(),
            Requirement::Each(all) => all.join(&format!("; {} ", self.directive)),
            Requirement::AtLeast(number) => number.to_string(),
            Requirement::Seconds(seconds) => format!("{seconds}s"),
            Requirement::Log { file, level } => {
                let file = file.as_deref().or(now(0)).unwrap_or("/var/log/nginx/error.log");
                format!("{file} {}", level.or(now(1)).unwrap_or("error"))
            }
        };
        format!("{} {words};", self.directive)
    }
}

/// The keys, or who asks.
impl fmt::Display for AskedOfNode {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.keys[..] {
            [] => formatter.write_str("ingress-nginx itself"),
            [key] => write!(formatter, "key {key} of the ConfigMap"),
            keys => write!(formatter, "keys {} of the ConfigMap", keys.join(" and ")),
        }
    }
}

impl Requirement {
    fn is_met_by(&self, words: &[&str]) -> bool {
        match self {
            Requirement::Words(wanted) => words.join(" ") == *wanted,
            Requirement::Each(all) => matches!(words, [word] if all == &[*word]),
            Requirement::AtLeast(_) => {
                matches!(words, [number] if number.parse().is_ok_and(|number| self.takes(number)))
            }
            Requirement::Seconds(wanted) => matches!(words, [time] if seconds_of(time) == Some(*wanted)),
            Requirement::Log { file, level } => {
                let rank = |level: &str| LEVELS.iter().position(|known| *known == level);
                let said = words.get(1).copied().unwrap_or("error");
                file.as_deref().is_none_or(|file| words.first() == Some(&file))
                    && level.is_none_or(|level| rank(said) <= rank(level))
            }
        }
    }

    fn takes(&self, number: u64) -> bool {
        matches!(self, Requirement::AtLeast(least) if number >= *least)
    }
}

/// What a snippet for the outermost level asks for; a block is no line that could be compared.
fn of_snippet(text: &str) -> Result<Vec<AskedOfNode>, Refused> {
    let tree = syntax::parse(text.as_bytes()).map_err(|error| Refused(error.to_string().into()))?;
    let lines = tree.into_iter().filter(|directive| directive.block.is_none());
    let asked = |directive: syntax::Directive| AskedOfNode {
        keys: vec![SNIPPET],
        directive: directive.name.into(),
        block: HostBlock::Main,
        wanted: Requirement::Words(directive.arguments.join(" ")),
        absent: "nothing",
    };
    Ok(lines.map(asked).collect())
}

/// A time as nginx reads it, such as 240s or 1h30m.
fn seconds_of(text: &str) -> Option<u64> {
    let (mut total, mut number) = (0u64, None);
    for letter in text.chars() {
        if let Some(digit) = letter.to_digit(10) {
            number = Some(number.unwrap_or(0u64).checked_mul(10)?.checked_add(digit.into())?);
            continue;
        }
        let unit = match letter {
            's' => 1,
            'm' => 60,
            'h' => 3600,
            'd' => 86_400,
            _ => return None,
        };
        total = total.checked_add(number.take()?.checked_mul(unit)?)?;
    }
    if text.is_empty() { None } else { total.checked_add(number.unwrap_or(0)) }
}

/// Clients and their networks, as they are written.
fn addresses(value: &str) -> Result<Option<Requirement>, Refused> {
    address_list(value)?;
    let all = entries(value)?.into_iter().map(str::to_owned);
    Ok(Some(Requirement::Each(all.collect())))
}

fn switch(value: &str) -> Result<Option<Requirement>, Refused> {
    boolean(value).map(|is_on| Some(Requirement::Words(if is_on { "on" } else { "off" }.to_owned())))
}

/// 0 leaves the number to the administrator of nginx.
fn number(value: &str) -> Result<Option<Requirement>, Refused> {
    integer(value, 0, 10_000_000).map(|number| (number > 0).then_some(Requirement::AtLeast(number)))
}

fn size(value: &str) -> Result<Option<Requirement>, Refused> {
    integer(value, 1, 1 << 20).map(|size| Some(Requirement::AtLeast(size)))
}

fn processes(value: &str) -> Result<Option<Requirement>, Refused> {
    if value != "auto" && integer(value, 1, 10_000).is_err() {
        return Err(Refused::because("it is neither auto nor a whole number from 1 to 10000"));
    }
    Ok(Some(Requirement::Words(value.to_owned())))
}

fn affinity(value: &str) -> Result<Option<Requirement>, Refused> {
    let words: Vec<_> = value.split_whitespace().collect();
    let is_mask = |word: &&str| word.bytes().all(|byte| matches!(byte, b'0' | b'1'));
    let masks = if words.first() == Some(&"auto") { &words[1..] } else { &words[..] };
    match masks.iter().all(is_mask) {
        true => Ok(Some(Requirement::Words(words.join(" ")))),
        false => Err(Refused::because("it is neither auto nor masks such as 0001 0010")),
    }
}

fn time(value: &str) -> Result<Option<Requirement>, Refused> {
    let seconds = seconds_of(value).ok_or_else(|| Refused::because("it is not a time such as 240s"))?;
    Ok(Some(Requirement::Seconds(seconds)))
}

fn level(value: &str) -> Result<Option<Requirement>, Refused> {
    let level = LEVELS.into_iter().find(|level| *level == value);
    let level = level.ok_or_else(|| Refused(format!("it is none of {}", LEVELS.join(", ")).into()))?;
    Ok(Some(Requirement::Log { file: None, level: Some(level) }))
}

fn log(value: &str) -> Result<Option<Requirement>, Refused> {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-".contains(&byte);
    match value.starts_with('/') && value.bytes().all(fits) {
        true => Ok(Some(Requirement::Log { file: Some(value.to_owned()), level: None })),
        false => Err(Refused::because("it is not the path of a file")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config_map::keys::KEYS;
    use crate::config_map::tests::{settings, snapshot};

    fn asked(data: &[(&str, &str)]) -> Vec<AskedOfNode> {
        settings().asked_of_nodes(&snapshot(data))
    }

    fn line(text: &str) -> HostLine {
        let mut words = text.split_whitespace().map(str::to_owned);
        let name = words.next().unwrap();
        HostLine { place: "nginx.conf:7".into(), block: HostBlock::Main, name, arguments: words.collect() }
    }

    #[test]
    fn every_key_of_nginx_conf_is_judged() {
        let of_host = KEYS.iter().filter(|key| matches!(key.effect, Effect::Host(_))).map(|key| key.name);
        assert!(of_host.eq(KEYS_OF_NODES.iter().map(|key| key.name)));
    }

    /// A key, its value, a line of nginx.conf or none, and the line to write there; empty where
    /// the requirement is met.
    const TABLE: &[(&str, &str, &str, &str)] = &[
        ("worker-processes", "4", "worker_processes auto", "worker_processes 4;"),
        ("worker-processes", "4", "", "worker_processes 4;"),
        ("worker-processes", "4", "worker_processes 4", ""),
        ("worker-processes", "auto", "worker_processes auto", ""),
        ("worker-processes", "1", "", ""),
        ("max-worker-connections", "16384", "worker_connections 768", "worker_connections 16384;"),
        ("max-worker-connections", "16384", "worker_connections 20000", ""),
        ("max-worker-connections", "1024", "", "worker_connections 1024;"),
        ("max-worker-open-files", "4096", "worker_rlimit_nofile 1024", "worker_rlimit_nofile 4096;"),
        // What workers may have already is enough.
        ("max-worker-open-files", "4096", "", ""),
        ("max-worker-open-files", "8193", "", "worker_rlimit_nofile 8193;"),
        ("debug-connections", "192.0.2.1, 10.0.0.0/8", "", "debug_connection 192.0.2.1; debug_connection 10.0.0.0/8;"),
        ("debug-connections", "192.0.2.1", "debug_connection 192.0.2.2", "debug_connection 192.0.2.1;"),
        ("debug-connections", "192.0.2.1", "debug_connection 192.0.2.1", ""),
        ("enable-multi-accept", "true", "", "multi_accept on;"),
        ("enable-multi-accept", "false", "", ""),
        ("enable-multi-accept", "false", "multi_accept on", "multi_accept off;"),
        ("error-log-level", "notice", "", "error_log /var/log/nginx/error.log notice;"),
        ("error-log-level", "notice", "error_log /x.log", "error_log /x.log notice;"),
        ("error-log-level", "notice", "error_log /x.log info", ""),
        ("error-log-level", "error", "error_log stderr", ""),
        ("error-log-path", "/var/log/nginx/e.log", "error_log /x.log warn", "error_log /var/log/nginx/e.log warn;"),
        ("error-log-path", "/x.log", "error_log /x.log warn", ""),
        ("worker-shutdown-timeout", "240s", "", "worker_shutdown_timeout 240s;"),
        ("worker-shutdown-timeout", "240s", "worker_shutdown_timeout 4m", ""),
        ("worker-shutdown-timeout", "1h30m", "worker_shutdown_timeout 90m", ""),
        ("worker-cpu-affinity", "auto", "", "worker_cpu_affinity auto;"),
        ("worker-cpu-affinity", "01 10", "worker_cpu_affinity 01 10", ""),
        ("map-hash-bucket-size", "128", "", "map_hash_bucket_size 128;"),
        ("map-hash-bucket-size", "64", "", ""),
        ("server-name-hash-max-size", "4096", "", ""),
        ("server-name-hash-max-size", "4096", "server_names_hash_max_size 512", "server_names_hash_max_size 4096;"),
        ("variables-hash-bucket-size", "512", "", ""),
        ("variables-hash-max-size", "512", "variables_hash_max_size 1024", ""),
    ];

    #[test]
    fn what_stands_in_nginx_conf_is_compared_with_what_is_asked() {
        for (key, value, said, expected) in TABLE {
            let asked = asked(&[(key, value)]);
            let lines = Some(*said).filter(|said| !said.is_empty()).map(line).into_iter().collect();
            let judged = asked[0].judge(&OtherSites { lines, ..OtherSites::default() }, "nginx.conf", Some(8192));
            assert_eq!(judged.is_met, expected.is_empty(), "{key} {value}: {said}: {judged:?}");
            assert!(judged.remedy.contains(expected), "{key} {value}: {said}: {judged:?}");
            let place = if said.is_empty() { "nginx.conf does not have it" } else { "nginx.conf:7 says `" };
            assert!(judged.says.starts_with(place), "{judged:?}");
        }
    }

    #[test]
    fn two_keys_of_one_line_are_reported_together_and_what_counts_for_http_is_compared() {
        let asked = asked(&[("error-log-level", "warn"), ("error-log-path", "/a.log")]);
        let [log, epoll] = &asked[..] else { panic!("{asked:?}") };
        assert_eq!(log.to_string(), "keys error-log-level and error-log-path of the ConfigMap");
        let mut lines = vec![line("error_log /a.log warn"), line("error_log /b.log warn"), line("use poll")];
        lines[1].block = HostBlock::Http;
        let host = OtherSites { lines, ..OtherSites::default() };
        let judged = log.judge(&host, "", None);
        assert!(!judged.is_met && judged.remedy.contains("`error_log /a.log warn;`"), "{judged:?}");
        assert_eq!(epoll.judge(&host, "", None).remedy, "write `use epoll;` there");
        assert!(epoll.judge(&OtherSites::default(), "", None).is_met);
    }

    #[test]
    fn lines_of_a_snippet_are_reported_and_compared_one_by_one() {
        let text = "# cores\nworker_rlimit_core 500M;\nenv A;\nenv B=1;\nevents { multi_accept on; }";
        assert_eq!(
            note("main-snippet", text).unwrap().unwrap(),
            "ingressd does not change nginx.conf: set `worker_rlimit_core 500M; env A; env B=1;` there on each node, outside \
             of every block"
        );
        let asked = asked(&[("main-snippet", text), ("worker-processes", "4")]);
        let lines = vec![line("env B=1"), line("env A"), line("worker_rlimit_core 1M"), line("worker_processes 4")];
        let host = OtherSites { lines, ..OtherSites::default() };
        let judged: Vec<_> = asked.iter().map(|asked| asked.judge(&host, "nginx.conf", None)).collect();
        let met: Vec<_> = judged.iter().map(|judged| judged.is_met).collect();
        assert_eq!(met, [false, true, true, true, true], "{judged:?}");
        assert_eq!(judged[0].remedy, "write `worker_rlimit_core 500M;` there");
        assert!(note("main-snippet", "env A").is_err() && asked[0].to_string().contains("main-snippet"));
    }

    #[test]
    fn what_asks_for_nothing_and_what_cannot_be_read() {
        for (key, value) in
            [("max-worker-connections", "0"), ("server-name-hash-max-size", "4096"), ("keep-alive", "5")]
        {
            assert_eq!(note(key, value).unwrap(), None);
        }
        for (key, value) in [
            ("debug-connections", "192.0.2.1, somebody"),
            ("worker-processes", "many"),
            ("worker-processes", "0"),
            ("worker-processes", "4; load_module x.so"),
            ("max-worker-connections", "-1"),
            ("enable-multi-accept", "yes"),
            ("error-log-level", "verbose"),
            ("error-log-path", "e.log"),
            ("error-log-path", "/a b"),
            ("worker-cpu-affinity", "0x1"),
            ("worker-shutdown-timeout", "soon"),
            ("worker-shutdown-timeout", "99999999999999999999s"),
            ("map-hash-bucket-size", "0"),
        ] {
            note(key, value).expect_err(value);
            assert_eq!(asked(&[(key, value)]).len(), 1, "{key} {value}");
        }
        assert!(Settings::default().asked_of_nodes(&Snapshot::default()).is_empty());
    }
}
