//! Collects the layers (defaults, files, drop-ins, environment, flags), which the `config` crate
//! merges. It must not know single keys.

use std::fmt;
use std::io;
use std::path::PathBuf;

use config::{Config, Value, ValueKind};

use super::decisive;
use super::layer::Layer;
use super::settings::Settings;
use super::templates;
use super::written::Layers;
use ingressd_apply::unless_missing;
use ingressd_model::Instance;

/// The default path of the settings file.
pub const DEFAULT_FILE: &str = "/etc/ingressd/ingressd.toml";

/// The name of an additional drop-in in messages.
const FURTHER: &str = "further settings";

/// The sources of settings, besides the defaults.
#[derive(Debug, Clone, Default)]
pub struct Sources {
    /// Which of several instances this is: it has folders of its own, and its settings in
    /// `/etc/ingressd/NAME/`.
    pub instance: Instance,
    /// The file, which must exist; `None` reads [`DEFAULT_FILE`] if that exists. Drop-ins are
    /// `conf.d/*.toml` beside it.
    pub file: Option<PathBuf>,
    /// The text of an additional drop-in, which is read after the others.
    pub further: Option<String>,
    /// Environment variables; those that begin with `INGRESSD_` are used.
    pub environment: Vec<(String, String)>,
    /// Keys and values of flags; the last one wins.
    pub flags: Vec<(String, String)>,
}

/// A mistake in the settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistake {
    /// Its place: `FILE:LINE`, an environment variable, the command line, or `default`.
    pub origin: String,
    /// The key; empty when the text is not valid TOML.
    pub key: String,
    /// The mistake; one clause.
    pub why: String,
}

impl fmt::Display for Mistake {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.key.is_empty() {
            true => write!(formatter, "{}: {}", self.origin, self.why),
            false => write!(formatter, "{}: {}: {}", self.origin, self.key, self.why),
        }
    }
}

/// Why settings cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file cannot be read.
    #[error("the settings in {} cannot be read: {source}", path.display())]
    Read {
        /// The file or folder.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// There are mistakes; never empty.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Mistakes(Vec<Mistake>),
}

/// Merges the layers, each over those before it. Every value keeps its origin.
pub(super) fn merge(layers: Vec<Layer>) -> Config {
    let merged = Config::builder().add_source(layers).build();
    merged.unwrap_or_else(|error| unreachable!("a layer has only keys of rows, and cannot fail: {error}"))
}

/// The value of a key after merging.
pub(super) fn merged_value<'a>(merged: &'a Config, key: &str) -> Option<&'a Value> {
    key.split('.').try_fold(&merged.cache, |value, name| match &value.kind {
        ValueKind::Table(table) => table.get(name),
        _ => None,
    })
}

/// The settings so far, and the merged values.
struct Unchecked {
    settings: Settings,
    merged: Config,
    mistakes: Vec<Mistake>,
}

impl Sources {
    /// Reads every layer and reports all mistakes at once.
    pub fn load(&self) -> Result<Settings, Error> {
        let mut unchecked = self.read()?;
        if let Some(folder) = &unchecked.settings.nginx.templates {
            match templates::read(folder) {
                Ok(templates) => unchecked.settings.templates = templates,
                Err(wrong) => unchecked.all_wrong("nginx.templates", wrong),
            }
        }
        unchecked.end()
    }

    /// The same without templates, for commands that write no configuration: a node whose
    /// templates are wrong can still be asked, drained and rolled back.
    pub fn load_without_templates(&self) -> Result<Settings, Error> {
        self.read()?.end()
    }

    /// The usable part of the settings, and the mistakes: for commands that ask a running daemon,
    /// which has read other settings.
    pub fn load_what_can_be(&self) -> (Settings, Option<Error>) {
        match self.read() {
            Ok(unchecked) => (unchecked.settings.clone(), unchecked.end().err()),
            Err(error) => (Settings::of_instance(&self.instance), Some(error)),
        }
    }

    /// The settings of this text over the defaults, without files and environment.
    pub fn load_text(text: &str) -> Result<Settings, Error> {
        Sources { further: Some(text.to_owned()), ..Sources::default() }.load_without_host()
    }

    /// The settings of the additional drop-in and of the flags, without the files and variables of
    /// this host.
    pub fn load_without_host(&self) -> Result<Settings, Error> {
        let mut layers = vec![Layer::defaults(&self.instance)];
        layers.extend(self.further.as_ref().map(|text| Layer::file(FURTHER.as_ref(), text)));
        layers.push(Layer::flags(&self.flags));
        Unchecked::of(&self.instance, layers).end()
    }

    fn read(&self) -> Result<Unchecked, Error> {
        let mut layers = vec![Layer::defaults(&self.instance)];
        for path in self.files()? {
            let text = std::fs::read_to_string(&path).map_err(|source| Error::Read { path: path.clone(), source })?;
            layers.push(Layer::file(&path, &text));
        }
        layers.extend(self.further.as_ref().map(|text| Layer::file(FURTHER.as_ref(), text)));
        layers.extend([Layer::variables(&self.environment), Layer::flags(&self.flags)]);
        Ok(Unchecked::of(&self.instance, layers))
    }

    /// The default path of the settings file, for this instance.
    fn default_file(&self) -> PathBuf {
        match self.instance.name() {
            "" => PathBuf::from(DEFAULT_FILE),
            name => PathBuf::from(format!("/etc/ingressd/{name}/ingressd.toml")),
        }
    }

    /// The file and its drop-ins in the order of their names.
    fn files(&self) -> Result<Vec<PathBuf>, Error> {
        let file = self.file.clone().unwrap_or_else(|| self.default_file());
        let folder = file.with_file_name("conf.d");
        let read = || -> io::Result<Vec<_>> {
            let entries = unless_missing(std::fs::read_dir(&folder))?.into_iter().flatten();
            entries.map(|entry| entry.map(|entry| entry.path())).collect()
        };
        let mut drop_ins = read().map_err(|source| Error::Read { path: folder.clone(), source })?;
        drop_ins.retain(|path| path.extension().is_some_and(|ending| ending == "toml"));
        drop_ins.sort();
        let given = self.file.is_some() || file.exists();
        Ok(given.then_some(file).into_iter().chain(drop_ins).collect())
    }
}

impl Unchecked {
    fn of(instance: &Instance, layers: Vec<Layer>) -> Self {
        let mistakes = layers.iter().flat_map(|layer| layer.mistakes.clone()).collect();
        let written = Layers::of(&layers[1..]);
        let merged = merge(layers);
        let settings = Settings { written, decisive: decisive::text(&merged), ..Settings::of(instance, &merged) };
        Unchecked { settings, merged, mistakes }
    }

    /// Records mistakes in a value that were found after all values were read.
    fn all_wrong(&mut self, key: &str, wrong: Vec<String>) {
        let value = merged_value(&self.merged, key);
        let origin = value.and_then(Value::origin).unwrap_or_default().to_owned();
        let mistake = |why| Mistake { origin: origin.clone(), key: key.to_owned(), why };
        self.mistakes.extend(wrong.into_iter().map(mistake));
    }

    /// The settings, if there are no mistakes.
    fn end(mut self) -> Result<Settings, Error> {
        for (key, why) in self.settings.contradictions() {
            self.all_wrong(key, vec![why]);
        }
        match self.mistakes.is_empty() {
            true => Ok(self.settings),
            false => Err(Error::Mistakes(self.mistakes)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(files: &[(&str, &str)], environment: &[(&str, &str)], flags: &[(&str, &str)]) -> Result<Settings, String> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("conf.d")).unwrap();
        for (name, text) in files {
            std::fs::write(folder.path().join(name), text).unwrap();
        }
        let pairs = |list: &[(&str, &str)]| list.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect();
        let file = files.iter().any(|(name, _)| *name == "ingressd.toml").then(|| folder.path().join("ingressd.toml"));
        let sources = Sources { file, environment: pairs(environment), flags: pairs(flags), ..Sources::default() };
        sources.load().map_err(|error| error.to_string().replace(&format!("{}/", folder.path().display()), ""))
    }

    #[test]
    fn later_layers_win() {
        let port = |files: &[_], environment: &[_], flags: &[_]| {
            load(files, environment, flags).unwrap().translate.listeners.http_port
        };
        let file = ("ingressd.toml", "[listen]\nhttp-port = 81\n");
        let (first, second) =
            (("conf.d/1.toml", "listen.http-port = 82"), ("conf.d/2.toml", "listen = { http-port = 83 }"));
        let variable = ("INGRESSD_LISTEN_HTTP_PORT", "84");
        assert_eq!(port(&[], &[], &[]), 80);
        assert_eq!(port(&[file], &[], &[]), 81);
        assert_eq!(port(&[file, first], &[], &[]), 82);
        assert_eq!(port(&[file, second, first], &[], &[]), 83);
        assert_eq!(port(&[file, second], &[variable], &[]), 84);
        assert_eq!(port(&[file, second], &[variable], &[("listen.http-port", "85")]), 85);
    }

    #[test]
    fn classes_are_tables() {
        let text = "[[classes]]\ncontroller = 'k8s.io/ingress-nginx'\ndialect = 'ingress-nginx'\nlegacy-class = 'nginx'\n[[classes]]\ncontroller = 'ingressd/nginx'\n";
        let settings = load(&[("ingressd.toml", text)], &[], &[]).unwrap();
        let names: Vec<_> = settings.translate.classes.iter().map(|rule| &*rule.controller).collect();
        assert_eq!(names, ["k8s.io/ingress-nginx", "ingressd/nginx"]);
        assert_eq!(settings.translate.classes[0].legacy_class.as_deref(), Some("nginx"));
    }

    #[test]
    fn mistakes_name_file_key_and_line() {
        let rows: &[(&str, &str)] = &[
            (
                "\n[listen]\nhttp-prot = 80\n",
                "ingressd.toml:3: listen.http-prot: there is no such key; did you mean listen.http-port?",
            ),
            (
                "[listen]\nhttp-port = '80'\n",
                "ingressd.toml:2: listen.http-port: it takes a whole number, not the string \"80\"",
            ),
            ("[listen]\nhttp-port = 65536\n", "ingressd.toml:2: listen.http-port: 65536 is not within 0 to 65535"),
            ("[listen]\nhttp2 = 1\n", "ingressd.toml:2: listen.http2: it takes true or false, not the integer 1"),
            ("log.level = 5\n", "ingressd.toml:1: log.level: it takes a string, not the integer 5"),
            ("pacing.gather = 20\n", "ingressd.toml:1: pacing.gather: it takes a string, not the integer 20"),
            (
                "pacing.gather = '20 parsecs'\n",
                "ingressd.toml:1: pacing.gather: \"20 parsecs\" is not a duration such as \"20ms\", \"1s\" or \"5m\"",
            ),
            (
                "[http]\nmost-draining = 2\n",
                "ingressd.toml:2: http.most-draining: there is no such key; did you mean pacing.most-draining?",
            ),
            ("log-level = 'info'\n", "ingressd.toml:1: log-level: there is no such key; did you mean log.level?"),
            ("http-prt = 8080\n", "ingressd.toml:1: http-prt: there is no such key; did you mean listen.http-port?"),
            ("# one\n\nlisten = 1\n", "ingressd.toml:3: listen: it is a section, not a value"),
            (
                "[nonsense.deep]\nx = 1\n",
                "ingressd.toml:1: nonsense: there is no such key; correct or remove it: ingressd.toml(5) lists all keys",
            ),
            ("[listen\n", "ingressd.toml:1: "),
            (
                "[http]\naddress = '0.0.0.0:10254'\n",
                "ingressd.toml:2: http.address: 0.0.0.0:10254 can be reached by other machines",
            ),
            (
                "[http]\nkey = '/k.pem'\ncertificate = '/c.pem'\n",
                "ingressd.toml:3: http.certificate: it has no effect without http.remote = true",
            ),
            (
                "[http]\nremote = true\nclient-ca = '/ca.pem'\n",
                "ingressd.toml:3: http.client-ca: other machines see the status page over TLS only: set http.certificate",
            ),
            (
                "[http]\nremote = true\ncertificate = '/c.pem'\npassword-file = '/p'\n",
                "ingressd.toml:3: http.certificate: other machines see the status page over TLS only: set http.key",
            ),
            (
                "[http]\nremote = true\ncertificate = '/c.pem'\nkey = '/k.pem'\n",
                "ingressd.toml:3: http.certificate: nobody on other machines may see the status page: set http.pass",
            ),
            (
                "namespaces = ['shop']\n[tls]\ndefault-certificate = 'edge/wildcard'\n",
                "ingressd.toml:3: tls.default-certificate: the namespace \"edge\" is not served",
            ),
            (
                "[[classes]]\ncontroler = 'x'\n",
                "ingressd.toml:1: classes: unknown key \"controler\"; did you mean controller?",
            ),
            (
                "\nnamespace-selector = 'edge=a b'\n",
                "ingressd.toml:2: namespace-selector: \"edge=a b\" is no selector of labels: there is \"b\" where a comma is needed",
            ),
            ("[publish]\nmode = 'vip'\n", "ingressd.toml:2: publish.mode: \"vip\" is none of nodes, fixed, service"),
            ("[publish]\nmode = 'service'\n", "ingressd.toml:2: publish.mode: the Service to copy is not named"),
            ("[publish]\n\nservice = 'edge/front'\n", "ingressd.toml:3: publish.service: it has no effect with"),
            ("publish.service = 'front'\n", "ingressd.toml:1: publish.service: \"front\" is not of the form"),
            (
                "publish.service = 'edge/Front'\n",
                "ingressd.toml:1: publish.service: edge/Front is no name of a Service",
            ),
            (
                "publish.node-object = 'Edge 1'\n",
                "ingressd.toml:1: publish.node-object: \"Edge 1\" is no name of a Node",
            ),
            ("publish.addresses = []\n", "ingressd.toml:1: publish.addresses: without an address"),
            (
                "[publish]\nmode = 'fixed'\naddresses = ['203.0.113.1', 'interface:eth0']\n",
                "ingressd.toml:3: publish.addresses: interface:eth0 differs from node to node",
            ),
            ("publish.mode = 'fixed'\n", "default: publish.addresses: auto differs from node to node"),
            (
                "publish.addresses = ['192.0.2.1', '169.254.0.1']\n",
                "ingressd.toml:1: publish.addresses: 169.254.0.1 means nothing beyond one network segment",
            ),
            ("publish.addresses = ['interface:']\n", "ingressd.toml:1: publish.addresses: \"\" is not a name"),
            (
                "[listen]\nproxy-protocol = true\n",
                "ingressd.toml:2: listen.proxy-protocol: no load balancer is trusted",
            ),
            ("[apply]\nroot = 'relative'\n", "ingressd.toml:2: apply.root: \"relative\" is not an absolute path"),
        ];
        for (text, expected) in rows {
            let message = load(&[("ingressd.toml", text)], &[], &[]).map(drop).unwrap_err();
            assert!(message.starts_with(expected), "{text:?}\n got: {message}\nwant: {expected}");
        }
    }

    #[test]
    fn mistakes_in_environment_and_flags_are_named() {
        let message = load(&[], &[("INGRESSD_LOG_LEVLE", "info")], &[("log.levle", "x"), ("listen.http2", "maybe")]);
        let message = message.map(drop).unwrap_err();
        assert_eq!(
            message,
            "environment variable INGRESSD_LOG_LEVLE: it names no setting; did you mean INGRESSD_LOG_LEVEL?\n\
             command line: log.levle: there is no such key; did you mean log.level?\n\
             command line: listen.http2: \"maybe\" is not of the form: boolean"
        );
    }

    #[test]
    fn no_form_is_taken_for_another() {
        let forms = [
            ("listen.http-port", &["'80'", "80.0", "true", "[80]", "{}", "1979-05-27"][..]),
            ("listen.http2", &["'true'", "'on'", "1", "1.0", "[true]", "{}", "1979-05-27"]),
            ("log.level", &["1", "1.5", "true", "['info']", "{}", "1979-05-27"]),
            ("pacing.gather", &["1", "1.5", "true", "['1s']", "{}", "07:32:00"]),
            ("namespaces", &["'shop'", "1", "true", "{}", "1979-05-27", "[1]", "[true]", "[1979-05-27]"]),
            ("classes", &["'x'", "1", "['x']", "[{ controller = 1 }]", "[{ controller = 1979-05-27 }]"]),
        ];
        for (key, values) in forms {
            for value in values {
                let message = load(&[("ingressd.toml", &format!("{key} = {value}\n"))], &[], &[]).unwrap_err();
                let reported = message.split_once("it takes ").map(|(place, _)| place.to_owned());
                let expected = format!("ingressd.toml:1: {key}: ");
                assert!(reported.is_some_and(|place| place.starts_with(&expected)), "{key} = {value}: {message}");
            }
        }
        for text in ["'80'", "80.0", "true", "[80]"] {
            assert!(load(&[], &[("INGRESSD_LISTEN_HTTP_PORT", text)], &[]).is_err(), "{text}");
        }
    }

    #[test]
    fn a_mistake_is_reported_although_a_later_layer_sets_the_same() {
        let file = ("ingressd.toml", "[listen]\nhttp-port = 'eighty'\n");
        let later = ("conf.d/1.toml", "listen.http-port = 82");
        let message = load(&[file, later], &[], &[("listen.http-port", "83")]).map(drop).unwrap_err();
        assert_eq!(message, "ingressd.toml:2: listen.http-port: it takes a whole number, not the string \"eighty\"");
    }

    #[test]
    fn an_instance_has_defaults_of_its_own() {
        let instance = Instance::new("edge").unwrap();
        let socket = |flags: &[(&str, &str)]| {
            let flags = flags.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect();
            Sources { instance: instance.clone(), flags, ..Sources::default() }.load().unwrap().control_socket
        };
        assert_eq!(socket(&[]).to_str(), Some("/run/ingressd-edge/control.sock"));
        assert_eq!(socket(&[("control.socket", "/x")]).to_str(), Some("/x"));
    }

    #[test]
    fn lists_may_be_split_by_commas_outside_of_files() {
        let settings = load(&[], &[], &[("listen.addresses", "127.0.0.1, ::1")]).unwrap();
        assert_eq!(settings.translate.listeners.addresses.len(), 2);
    }

    #[test]
    fn what_can_be_used_is_there_beside_what_is_wrong() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("ingressd.toml");
        for wrong in ["http-prt = 1", "http-port = 'many'", "= nothing", "[listen", ""] {
            std::fs::write(&file, format!("control.socket = '/x/y.sock'\n[listen]\nhttps-port = 444\n{wrong}\n"))
                .unwrap();
            let sources = Sources { file: Some(file.clone()), ..Sources::default() };
            let (settings, error) = sources.load_what_can_be();
            assert_eq!(
                (settings.control_socket.to_str(), settings.translate.listeners.https_port),
                (Some("/x/y.sock"), 444),
                "{wrong}"
            );
            assert_eq!(error.is_none(), wrong.is_empty(), "{wrong}");
        }
    }

    #[test]
    fn a_file_that_was_named_must_exist() {
        let sources = Sources { file: Some("/nonexistent/ingressd.toml".into()), ..Sources::default() };
        assert!(matches!(sources.load(), Err(Error::Read { .. })));
    }
}
