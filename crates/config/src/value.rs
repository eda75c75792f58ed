//! Parses values to types, without coercion. It must not know keys.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use config::{Map, Value, ValueKind};

use super::settings::{LogFormat, Resolver, Settings};
use ingressd_cluster::publish::{self, Announced};
use ingressd_model::finding::hint;
use ingressd_model::{ByteSize, Cidr, Protocols, UrlPath, is_subdomain};
use ingressd_translate::annotation::{Table, Trust};
use ingressd_translate::value::{boolean, byte_size, entries, network, seconds};
use ingressd_translate::{ANNOTATIONS, ClassRule, DIALECTS, Dialect, EndpointMode, HostOwnership, SPECIFICATION};

/// The form of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    Text,
    /// `true` or `false`.
    Boolean,
    /// A whole number.
    Number,
    /// `"20ms"`, `"1s"`, `"5m"`.
    Duration,
    /// `"8k"`, `"1m"`, `"1g"`.
    Size,
    /// `["one", "two"]`.
    List,
    /// `[[key]]` tables with these columns.
    Tables(&'static [Column]),
}

/// A key in the tables of an array.
#[derive(Debug, PartialEq, Eq)]
pub struct Column {
    /// Its name.
    pub key: &'static str,
    /// The form of its value.
    pub form: Form,
    /// Its documentation.
    pub doc: &'static str,
    /// An example in TOML.
    pub example: &'static str,
}

impl Column {
    pub(super) const fn new(key: &'static str, form: Form, example: &'static str) -> Column {
        Column { key, form, doc: "", example }
    }

    pub(super) const fn doc(self, doc: &'static str) -> Column {
        Column { doc, ..self }
    }
}

impl Form {
    /// Its description, for documentation and messages.
    pub const fn name(self) -> &'static str {
        match self {
            Form::Text => "string",
            Form::Boolean => "boolean",
            Form::Number => "integer",
            Form::Duration => "duration, a string such as \"20ms\"",
            Form::Size => "size, a string such as \"1m\"",
            Form::List => "list of strings",
            Form::Tables(_) => "array of tables",
        }
    }

    /// Parses the value of a flag or an environment variable: strings need no quotes, and lists
    /// are separated by commas.
    pub(super) fn read_text(self, text: &str) -> Result<ValueKind, String> {
        match self {
            Form::Text | Form::Duration | Form::Size => Ok(text.into()),
            Form::List if text.trim().is_empty() => Ok(Vec::<String>::new().into()),
            Form::List if !text.trim_start().starts_with('[') => {
                entries(text).map(ValueKind::from).map_err(|refused| format!("{text:?} is refused: {refused}"))
            }
            Form::Boolean | Form::Number | Form::List | Form::Tables(_) => {
                let value = text.trim().parse().ok().as_ref().and_then(untyped);
                value.ok_or_else(|| format!("{text:?} is not of the form: {}", self.name()))
            }
        }
    }

    /// Parses a value of ingress-nginx's ConfigMap: booleans are those of Go, and times without a
    /// unit are seconds.
    pub(super) fn read_of_config_map(self, text: &str) -> Result<ValueKind, String> {
        match self {
            Form::Boolean => boolean(text).map(ValueKind::from).map_err(|refused| refused.to_string()),
            Form::Duration => match seconds(text) {
                Ok(time) => Ok(format!("{}s", time.as_secs()).into()),
                Err(_) => self.read_text(text.trim()),
            },
            Form::Text | Form::Number | Form::Size | Form::List | Form::Tables(_) => self.read_text(text.trim()),
        }
    }
}

/// A TOML value in the types of the `config` crate; `None` for dates, which it would turn into
/// strings.
pub(super) fn untyped(value: &toml_edit::Value) -> Option<ValueKind> {
    Some(match value {
        toml_edit::Value::String(text) => text.value().as_str().into(),
        toml_edit::Value::Integer(number) => (*number.value()).into(),
        toml_edit::Value::Float(number) => (*number.value()).into(),
        toml_edit::Value::Boolean(truth) => (*truth.value()).into(),
        toml_edit::Value::Datetime(_) => return None,
        toml_edit::Value::Array(list) => list.iter().map(untyped).collect::<Option<Vec<_>>>()?.into(),
        toml_edit::Value::InlineTable(table) => {
            let entry = |(key, value): (&str, _)| Some((key.to_owned(), untyped(value)?));
            table.iter().map(entry).collect::<Option<Map<_, _>>>()?.into()
        }
    })
}

/// The content of a value of this type. The crate's own conversions would coerce other types, such
/// as `"80"` to 80.
macro_rules! held {
    ($value:ident, $kind:ident, $expected:literal) => {
        match &$value.kind {
            ValueKind::$kind(held) => Ok(held),
            _ => Err(wrong_form($value, $expected)),
        }
    };
}

/// A type of a setting.
pub(super) trait Setting: Sized {
    /// The form of its values.
    const FORM: Form = Form::Text;
    /// The form of a list of them.
    const LIST: Form = Form::List;

    /// Parses the value, or returns one clause about the mistake.
    fn read(value: &Value) -> Result<Self, String>;
}

/// The form of what is at this place of the settings.
pub(super) const fn form<T: Setting>(_: fn(&Settings) -> &T) -> Form {
    T::FORM
}

/// Parses the value and stores it as `store` does.
pub(super) fn store<T>(
    slot: &mut T,
    value: &Value,
    store: fn(&mut T, &Value) -> Result<(), String>,
) -> Result<(), String> {
    store(slot, value)
}

/// Parses the value and stores it.
pub(super) fn put<T: Setting>(slot: &mut T, value: &Value) -> Result<(), String> {
    *slot = T::read(value)?;
    Ok(())
}

/// Parses a number or a time that is not 0, or returns `why`.
pub(super) fn above_zero<T: Setting + Default + PartialEq>(
    slot: &mut T,
    value: &Value,
    why: &str,
) -> Result<(), String> {
    put(slot, value)?;
    match *slot == T::default() {
        true => Err(why.to_owned()),
        false => Ok(()),
    }
}

/// Parses a number from 1.
pub(super) fn count<T: Setting + Default + PartialEq>(slot: &mut T, value: &Value) -> Result<(), String> {
    above_zero(slot, value, "it takes at least 1")
}

pub(super) fn text(value: &Value) -> Result<&str, String> {
    held!(value, String, "a string").map(String::as_str)
}

/// The values of a list.
pub(super) fn list(value: &Value) -> Result<&[Value], String> {
    held!(value, Array, "a list").map(Vec::as_slice)
}

fn wrong_form(value: &Value, expected: &str) -> String {
    let found = match &value.kind {
        ValueKind::String(text) => format!("the string {text:?}"),
        ValueKind::Boolean(truth) => format!("the boolean {truth}"),
        ValueKind::Float(number) => format!("the float {number:?}"),
        ValueKind::Array(_) => "a list".to_owned(),
        ValueKind::Table(_) => "a table".to_owned(),
        number => format!("the integer {number}"),
    };
    format!("it takes {expected}, not {found}")
}

fn parsed<T: std::str::FromStr>(value: &Value, what: &str) -> Result<T, String> {
    let text = text(value)?;
    text.parse().map_err(|_| format!("{text:?} is not {what}"))
}

pub(super) fn one_of<T: Copy>(value: &Value, words: &[(&str, T)]) -> Result<T, String> {
    let text = text(value)?;
    let found = words.iter().find(|(word, _)| *word == text).map(|(_, meaning)| *meaning);
    found.ok_or_else(|| {
        let words: Vec<_> = words.iter().map(|(word, _)| *word).collect();
        format!("{text:?} is none of {}", words.join(", "))
    })
}

fn number(value: &Value, most: u64) -> Result<u64, String> {
    let number = *held!(value, I64, "a whole number")?;
    u64::try_from(number)
        .ok()
        .filter(|number| *number <= most)
        .ok_or_else(|| format!("{number} is not within 0 to {most}"))
}

impl Setting for bool {
    const FORM: Form = Form::Boolean;

    fn read(value: &Value) -> Result<Self, String> {
        held!(value, Boolean, "true or false").copied()
    }
}

/// Versions of TLS.
impl Setting for Protocols {
    const FORM: Form = Form::List;

    fn read(value: &Value) -> Result<Self, String> {
        let names = Vec::<String>::read(value)?;
        let found = Protocols::of(names.iter().map(String::as_str));
        found.ok_or_else(|| "it takes TLSv1.2 and TLSv1.3; others are not safe".to_owned())
    }
}

impl Setting for Trust {
    fn read(value: &Value) -> Result<Self, String> {
        one_of(value, &[Trust::Low, Trust::Medium, Trust::High, Trust::Critical].map(|trust| (trust.name(), trust)))
    }
}

/// Parses `on` and `off`, or `dialect` for the behaviour of the class's dialect.
pub(super) fn on_off_or_dialect(slot: &mut Option<bool>, value: &Value) -> Result<(), String> {
    *slot = one_of(value, &[("on", Some(true)), ("off", Some(false)), ("dialect", None)])?;
    Ok(())
}

macro_rules! numbers {
    ($($type:ty),*) => {$(
        impl Setting for $type {
            const FORM: Form = Form::Number;

            fn read(value: &Value) -> Result<Self, String> {
                let most = <$type>::MAX as u64;
                number(value, most).map(|number| number as $type)
            }
        }
    )*};
}
numbers!(u8, u16, u32, u64, usize);

impl Setting for String {
    fn read(value: &Value) -> Result<Self, String> {
        text(value).map(str::to_owned)
    }
}

impl Setting for Arc<str> {
    fn read(value: &Value) -> Result<Self, String> {
        text(value).map(Arc::from)
    }
}

impl Setting for UrlPath {
    fn read(value: &Value) -> Result<Self, String> {
        UrlPath::new(text(value)?).map_err(|refused| format!("it is not a path of a URL: {refused}"))
    }
}

impl Setting for PathBuf {
    fn read(value: &Value) -> Result<Self, String> {
        let text = text(value)?;
        // nginx reads some of these paths from its configuration, where such characters have a
        // meaning.
        match text.starts_with('/')
            && !text.chars().any(|letter| letter.is_control() || "\"'\\;{}$*?[".contains(letter))
        {
            true => Ok(PathBuf::from(text)),
            false => Err(format!("{text:?} is not an absolute path of plain characters")),
        }
    }
}

impl<T: Setting> Setting for Option<T> {
    const FORM: Form = T::FORM;

    fn read(value: &Value) -> Result<Self, String> {
        match text(value) {
            Ok("") => Ok(None),
            _ => T::read(value).map(Some),
        }
    }
}

impl Setting for Duration {
    const FORM: Form = Form::Duration;

    fn read(value: &Value) -> Result<Self, String> {
        duration(text(value)?)
    }
}

/// Parses a duration of settings and flags.
pub fn duration(text: &str) -> Result<Duration, String> {
    let duration = text.parse::<jiff::SignedDuration>();
    let duration = duration.map_err(|_| format!("{text:?} is not a duration such as \"20ms\", \"1s\" or \"5m\""))?;
    Duration::try_from(duration).map_err(|_| "a duration cannot be negative".to_owned())
}

/// For a size that is a limit, 0 means none.
impl Setting for ByteSize {
    const FORM: Form = Form::Size;

    fn read(value: &Value) -> Result<Self, String> {
        let text = text(value)?;
        byte_size(text, 0, u64::MAX).map_err(|refused| format!("{text:?} is refused: {refused}"))
    }
}

impl Setting for SocketAddr {
    fn read(value: &Value) -> Result<Self, String> {
        parsed(value, "an address with a port, such as \"127.0.0.1:10254\"")
    }
}

impl Setting for Resolver {
    fn read(value: &Value) -> Result<Self, String> {
        if text(value)? == "host" {
            return Ok(Resolver::OfHost);
        }
        parsed(value, "host, or an address with a port, such as \"10.96.0.10:53\"").map(Resolver::Server)
    }
}

impl Setting for IpAddr {
    fn read(value: &Value) -> Result<Self, String> {
        parsed(value, "an IP address")
    }
}

impl Setting for Announced {
    fn read(value: &Value) -> Result<Self, String> {
        text(value)?.parse().map_err(|why: publish::Refused| why.to_string())
    }
}

impl Setting for publish::Documentation {
    fn read(value: &Value) -> Result<Self, String> {
        let text = text(value)?;
        text.parse().map_err(|why: publish::NoAddress| format!("{text:?} is refused: {why}"))
    }
}

impl Setting for publish::Mode {
    fn read(value: &Value) -> Result<Self, String> {
        use publish::Mode::{Fixed, Nodes, Service};
        let modes = [Nodes, Fixed, Service].map(|mode| (mode.name(), mode));
        one_of(value, &modes)
    }
}

impl Setting for Cidr {
    fn read(value: &Value) -> Result<Self, String> {
        network(text(value)?).map_err(|refused| refused.to_string())
    }
}

impl<T: Setting> Setting for Vec<T> {
    const FORM: Form = T::LIST;

    fn read(value: &Value) -> Result<Self, String> {
        list(value)?.iter().map(T::read).collect()
    }
}

/// A namespace and a name, written `namespace/name`.
impl Setting for (Arc<str>, Arc<str>) {
    fn read(value: &Value) -> Result<Self, String> {
        let text = text(value)?;
        match text.split_once('/') {
            Some((namespace, name)) if !namespace.is_empty() && !name.is_empty() && !name.contains('/') => {
                Ok((namespace.into(), name.into()))
            }
            _ => Err(format!("{text:?} is not of the form namespace/name")),
        }
    }
}

impl Setting for EndpointMode {
    fn read(value: &Value) -> Result<Self, String> {
        one_of(
            value,
            &[
                ("pod", EndpointMode::Pod),
                ("nodeport", EndpointMode::NodePort),
                ("clusterip", EndpointMode::ClusterIp),
                ("loadbalancer", EndpointMode::LoadBalancer),
                ("auto", EndpointMode::Auto),
            ],
        )
    }
}

impl Setting for &'static Dialect {
    fn read(value: &Value) -> Result<Self, String> {
        one_of(value, &DIALECTS.map(|dialect| (dialect.name, dialect)))
    }
}

impl Setting for LogFormat {
    fn read(value: &Value) -> Result<Self, String> {
        one_of(
            value,
            &[
                ("auto", LogFormat::Automatic),
                ("journal", LogFormat::Journal),
                ("text", LogFormat::Text),
                ("json", LogFormat::Json),
            ],
        )
    }
}

/// Parses a table with these columns; `set` stores each value.
pub(super) fn read_table<T>(
    value: &Value,
    columns: &[Column],
    mut table: T,
    set: impl Fn(&mut T, &str, &Value) -> Result<(), String>,
) -> Result<T, String> {
    let entries = held!(value, Table, "a table")?;
    let known = || columns.iter().map(|column| column.key);
    // The entries have no order; sorting makes the message reproducible.
    if let Some(key) = entries.keys().filter(|key| !known().any(|known| known == *key)).min() {
        return Err(format!("unknown key {key:?}{}", hint("", key, known())));
    }
    for (key, value) in known().filter_map(|key| Some((key, entries.get(key)?))) {
        set(&mut table, key, value).map_err(|why| format!("{key}: {why}"))?;
    }
    Ok(table)
}

/// The columns of `[[classes]]`.
pub(super) const CLASS: &[Column] = &[
    Column::new("controller", Form::Text, r#""ingressd/nginx""#)
        .doc("`spec.controller` of the IngressClass. It must be given."),
    Column::new("dialect", Form::Text, r#""specification""#)
        .doc("`specification`: paths as the Ingress specification describes them. `ingress-nginx`: the semantics of that controller, peculiarities included, with the headers that it sends backends (docs/security-review.md) and without buffering of responses (`proxy-buffering`). Both read the same annotations."),
    Column::new("class-name", Form::Text, r#""nginx""#)
        .doc("Name of an IngressClass that belongs to this rule whatever its `spec.controller` says, as with the flag `--ingress-class-by-name` of ingress-nginx."),
    Column::new("legacy-class", Form::Text, r#""nginx""#)
        .doc("Value of the old annotation `kubernetes.io/ingress.class` that belongs to this rule."),
    Column::new("without-class", Form::Boolean, "false").doc("Whether objects without a class belong to this rule."),
    Column::new("endpoints", Form::Text, r#""pod""#)
        .doc("Endpoint mode of this class, where it differs from `upstreams.endpoints`."),
    Column::new("ownership", Form::Text, r#""namespace""#)
        .doc("Ownership of the hosts of this class, where it differs from `hosts.ownership`: `namespace` or `shared`."),
    Column::new("annotations-prefix", Form::Text, r#""nginx.ingress.kubernetes.io""#)
        .doc("Prefix of the annotations of this class, before the `/`, as with the flag `--annotations-prefix` of ingress-nginx."),
];

impl Setting for HostOwnership {
    fn read(value: &Value) -> Result<Self, String> {
        one_of(
            value,
            &[
                ("dialect", HostOwnership::Dialect),
                ("namespace", HostOwnership::Namespace),
                ("shared", HostOwnership::Shared),
            ],
        )
    }
}

impl Setting for ClassRule {
    const LIST: Form = Form::Tables(CLASS);

    fn read(value: &Value) -> Result<Self, String> {
        let nothing = ClassRule::new("", &SPECIFICATION);
        let rule = read_table(value, CLASS, nothing, |rule, key, value| match key {
            "controller" => put(&mut rule.controller, value),
            "dialect" => put(&mut rule.dialect, value),
            "class-name" => put(&mut rule.class_name, value),
            "legacy-class" => put(&mut rule.legacy_class, value),
            "without-class" => put(&mut rule.without_class, value),
            "endpoints" => put(&mut rule.endpoints, value),
            "ownership" => put(&mut rule.ownership, value),
            _ => put(&mut rule.annotations, value),
        })?;
        match rule.controller.is_empty() {
            true => Err("a class needs a controller".to_owned()),
            false => Ok(rule),
        }
    }
}

impl Setting for &'static Table {
    fn read(value: &Value) -> Result<Self, String> {
        let prefix = text(value)?;
        match is_subdomain(prefix) {
            true => Ok(ANNOTATIONS.behind(&format!("{prefix}/"))),
            false => Err(format!("{prefix:?} is no prefix of annotations, such as nginx.ingress.kubernetes.io")),
        }
    }
}
