//! The keys of the section `access-log`. They must not know files or layers.

use super::table::Row;
use super::value::{Form, Setting, one_of, put, text};
use crate::model::{ByteSize, LogLine, Unlogged};
use crate::nginx::{Buffering, LogFormat};
use crate::translate::value::{byte_size, integer};
use config::Value;

/// Its keys.
pub const ROWS: &[Row] = &[
    Row {
        key: "access-log.enabled",
        form: Form::Boolean,
        default: "true",
        doc: "Whether requests for hosts of the cluster are logged. Where nginx.conf says `access_log off` for all sites, and no file or syslog server is set here, they are not.",
        set: |settings, value| put(&mut settings.gate.access_log.enabled, value),
    },
    Row {
        key: "access-log.format",
        form: Form::Text,
        default: r#""dialect""#,
        doc: "Which hosts log in the line of `access-log.line`: `dialect` for those of the dialect ingress-nginx, `ingress-nginx` for all, `nginx.conf` for none. The others log in the format that nginx.conf names for all sites. Where nginx.conf names no log, and `listen.access-log` is empty, all of them log as nginx does by itself.",
        set: |settings, value| put(&mut settings.gate.access_log.format, value),
    },
    Row {
        key: "access-log.line",
        form: Form::Text,
        default: r#""""#,
        doc: "What a line says: text and variables of nginx, as `log_format` takes them, and `$namespace`, `$service_name`, `$service_port`, `$proxy_upstream_name` and `$proxy_alternative_upstream_name` (of the Service that was asked; where nobody was, the names are `-`), `$ingress_name`, `$req_id` and `$the_real_ip`. A line that names `$ingress_name` costs each location a line in nginx. Empty is the line of ingress-nginx, with its fields in its order.",
        set: |settings, value| put(&mut settings.gate.access_log.line, value),
    },
    Row {
        key: "access-log.escape-json",
        form: Form::Boolean,
        default: "false",
        doc: "Whether what variables of the line hold is escaped for strings of JSON. Otherwise it is escaped as nginx does by itself; it is never left as clients send it, which could write lines of its own.",
        set: |settings, value| put(&mut settings.gate.access_log.json, value),
    },
    Row {
        key: "access-log.parameters",
        form: Form::Text,
        default: r#""""#,
        doc: "How lines are gathered before they are written to a file, for example `buffer=32k flush=5s`, or `gzip=1` to compress them.",
        set: |settings, value| put(&mut settings.gate.access_log.buffering, value),
    },
    Row {
        key: "access-log.skip",
        form: Form::List,
        default: "[]",
        doc: "Requests that are not logged: a path with its query, or an expression behind `~` (`~*` for small and large letters alike) that is looked for in both, for example `~^/healthz`.",
        set: |settings, value| put(&mut settings.gate.access_log.unlogged, value),
    },
    Row {
        key: "access-log.questions",
        form: Form::Boolean,
        default: "false",
        doc: "Whether the questions to services that say who may pass (`auth-url`) are logged besides the requests for which they are asked.",
        set: |settings, value| put(&mut settings.gate.access_log.questions, value),
    },
    Row {
        key: "access-log.syslog",
        form: Form::Boolean,
        default: "false",
        doc: "Whether lines go to a syslog server, and not to a file.",
        set: |settings, value| put(&mut settings.gate.access_log.syslog, value),
    },
    Row {
        key: "access-log.syslog-address",
        form: Form::Text,
        default: r#""""#,
        doc: "IP address of that server. A name is not taken: a reload would fail whenever DNS does not know it.",
        set: |settings, value| put(&mut settings.gate.access_log.syslog_address, value),
    },
    Row {
        key: "access-log.syslog-port",
        form: Form::Number,
        default: "514",
        doc: "UDP port of that server.",
        set: |settings, value| {
            put(&mut settings.gate.access_log.syslog_port, value)?;
            match settings.gate.access_log.syslog_port {
                0 => Err("0 is no port".to_owned()),
                _ => Ok(()),
            }
        },
    },
];

impl Setting for LogFormat {
    fn read(value: &Value) -> Result<Self, String> {
        let words = [
            ("dialect", LogFormat::Dialect),
            ("ingress-nginx", LogFormat::IngressNginx),
            ("nginx.conf", LogFormat::NginxConf),
        ];
        one_of(value, &words)
    }
}

impl Setting for LogLine {
    fn read(value: &Value) -> Result<Self, String> {
        LogLine::new(text(value)?).map_err(|refused| refused.to_string())
    }
}

impl Setting for Unlogged {
    fn read(value: &Value) -> Result<Self, String> {
        let text = text(value)?;
        Unlogged::new(text).map_err(|refused| format!("{text:?} is refused: {refused}"))
    }
}

/// The largest buffer.
const LARGEST_BUFFER: u64 = 16 << 20;

impl Setting for Buffering {
    fn read(value: &Value) -> Result<Self, String> {
        let mut buffering = Buffering::default();
        for word in text(value)?.split_whitespace() {
            let wrong = |why: &dyn std::fmt::Display| format!("{word:?} is refused: {why}");
            match word.split_once('=').unwrap_or((word, "1")) {
                ("buffer", size) => {
                    let size: ByteSize = byte_size(size, 1024, LARGEST_BUFFER).map_err(|why| wrong(&why))?;
                    buffering.size = Some(size);
                }
                ("flush", time) => buffering.flush = Some(super::value::duration(time).map_err(|why| wrong(&why))?),
                ("gzip", level) => {
                    let level = integer(level, 1, 9).map_err(|why| wrong(&why))?;
                    buffering.gzip = u8::try_from(level).ok();
                }
                _ => return Err(wrong(&"it is none of buffer=32k, flush=5s and gzip=1")),
            }
        }
        match buffering.flush.is_some_and(|flush| flush.as_millis() == 0 || flush.as_secs() > 86_400) {
            true => Err("flush is a time of up to a day".to_owned()),
            false if buffering.flush.is_some() && buffering.size.is_none() && buffering.gzip.is_none() => {
                Err("flush needs buffer or gzip".to_owned())
            }
            false => Ok(buffering),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_gathered_as_nginx_can() {
        for (text, expected) in [
            ("", Ok("")),
            ("buffer=32k flush=5s gzip", Ok("32k 5s 1")),
            ("gzip=9", Ok("9")),
            ("flush=5s", Err("needs buffer")),
            ("buffer=0", Err("is refused")),
            ("buffer=1g", Err("is refused")),
            ("gzip=10", Err("is refused")),
            ("buffer=32k flush=0s", Err("up to a day")),
            ("if=$x", Err("none of")),
            ("buffer=32k;", Err("is refused")),
        ] {
            let read = Buffering::read(&Value::new(None, text));
            let shown = read.map(|Buffering { size, flush, gzip }| {
                let parts = [
                    size.map(|size| size.to_string()),
                    flush.map(|flush| format!("{}s", flush.as_secs())),
                    gzip.map(|level| level.to_string()),
                ];
                parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
            });
            match (shown, expected) {
                (Ok(shown), Ok(expected)) => assert_eq!(shown, expected, "{text}"),
                (Err(why), Err(expected)) => assert!(why.contains(expected), "{text}: {why}"),
                (shown, _) => panic!("{text}: {shown:?}"),
            }
        }
    }
}
