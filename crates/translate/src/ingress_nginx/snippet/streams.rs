//! Reads a snippet about TCP and UDP services: directives that the catalogue knows for their
//! servers and that neither open ports, nor concern other sites, nor have a key of their own. It
//! must not know who may write one.

use std::time::Duration;

use super::forms::{COUNT, number, one, seconds, switch};
use super::reader::{mistake, several};
use crate::value::{byte_size, excerpt, network};
use ingressd_model::catalogue::{self, Argument, Context, DirectiveRow, Form, Module};
use ingressd_model::language::syntax;
use ingressd_model::{Directive, Origin, Refused, Text};

/// The longest text, and the most directives.
pub(super) const LONGEST: usize = 16 << 10;
pub(super) const MOST: usize = 100;
/// Directives of which several lines count, one after the other.
pub(super) const LISTS: [&str; 2] = ["allow", "deny"];
/// The smallest and largest buffer: each connection may take it.
const BUFFER: [u64; 2] = [1 << 10, 1 << 20];
/// The highest rate, in bytes per second.
const FASTEST: u64 = 1 << 40;

/// What a snippet may not have although the catalogue knows it, and what to use instead.
const DENIED: &[(&str, &str)] = &[
    ("access_log", "set log-format-stream and stream-access-log-path"),
    ("geo", NODE),
    ("listen", PORTS),
    ("log_format", "set log-format-stream"),
    ("map", NODE),
    ("map_hash_bucket_size", NODE),
    ("map_hash_max_size", NODE),
    ("proxy_next_upstream", "set proxy-stream-next-upstream"),
    ("proxy_next_upstream_timeout", "set proxy-stream-next-upstream-timeout"),
    ("proxy_next_upstream_tries", "set proxy-stream-next-upstream-tries"),
    ("proxy_pass", PORTS),
    ("proxy_protocol", "write PROXY behind the service in its ConfigMap"),
    ("proxy_protocol_timeout", "set proxy-protocol-header-timeout"),
    ("proxy_responses", "set proxy-stream-responses"),
    ("proxy_timeout", "set proxy-stream-timeout"),
    ("server", PORTS),
    ("set_real_ip_from", "set proxy-real-ip-cidr"),
    ("ssl_preread", "pass hosts through with the annotation ssl-passthrough"),
    ("upstream", PORTS),
];

const NODE: &str = "write it into the stream block of nginx.conf of each node";
const PORTS: &str = "name TCP and UDP services in ingress-nginx.tcp-services-configmap and \
    ingress-nginx.udp-services-configmap, or write a stream block into nginx.conf of each node";

/// The directives that a snippet may have.
pub(super) fn allowed() -> impl Iterator<Item = &'static DirectiveRow> {
    // What other modules say there, such as `include`, is about files and logs of the node.
    let is_one = |row: &&DirectiveRow| {
        row.module == Some(Module::Stream)
            && [Context::Stream, Context::StreamServer].iter().all(|one| row.contexts.hold(*one))
    };
    catalogue::all().filter(is_one).filter(|row| DENIED.iter().all(|(name, _)| *name != row.name))
}

/// Reads the directives of a text.
pub fn directives(text: &str, origin: &Origin) -> Result<Vec<Directive>, Refused> {
    if text.len() > LONGEST {
        return Err(Refused(format!("it is longer than {LONGEST} bytes").into()));
    }
    let tree = syntax::parse(text.as_bytes()).map_err(|error| Refused(error.to_string().into()))?;
    if tree.len() > MOST {
        return Err(Refused(format!("it has more than {MOST} directives").into()));
    }
    let (mut all, mut mistakes) = (Vec::<Directive>::new(), Vec::new());
    for written in &tree {
        let read = row(&written.name).and_then(|row| {
            if !LISTS.contains(&row.name) && all.iter().any(|known| known.row == row) {
                return Err(Refused::because("it is there twice"));
            }
            let argument = argument(row, written)?;
            Ok(Directive { row, arguments: vec![argument], origin: origin.clone() })
        });
        match read {
            Ok(directive) => all.push(directive),
            Err(refused) => mistakes.push(mistake(text, written, &refused)),
        }
    }
    if mistakes.is_empty() { Ok(all) } else { Err(several(mistakes)) }
}

pub(super) fn row(name: &str) -> Result<&'static DirectiveRow, Refused> {
    if let Some((_, instead)) = DENIED.iter().find(|(denied, _)| *denied == name) {
        return Err(Refused(format!("it is refused; instead: {instead}").into()));
    }
    allowed().find(|row| row.name == name).ok_or_else(|| {
        let name = excerpt(name);
        Refused(format!("a stream-snippet may not have {name}; {NODE}, or see docs/snippets.md").into())
    })
}

pub(super) fn argument(row: &DirectiveRow, written: &syntax::Directive) -> Result<Argument, Refused> {
    let words = &written.arguments;
    if written.block.is_some() {
        return Err(COUNT);
    }
    let whole = |text: &str| text.parse().map_err(|_| COUNT);
    Ok(match row.form {
        Form::Switch => switch(words).map(|()| Argument::Switch(words[0] == "on"))?,
        Form::Number => number(words, 0, 1_000_000).and_then(|()| whole(&words[0])).map(Argument::Number)?,
        Form::Size if row.name.ends_with("_rate") => Argument::Size(byte_size(one(words)?, 0, FASTEST)?),
        Form::Size => Argument::Size(byte_size(one(words)?, BUFFER[0], BUFFER[1])?),
        Form::Time => match whole(&seconds(words)?)? {
            0 => return Err(Refused::because("with 0 no connection would come about")),
            time => Argument::Time(Duration::from_secs(time)),
        },
        _ => match one(words)? {
            "all" => Argument::Word("all"),
            address => Argument::Text(Text::new(&network(address)?.to_string())?),
        },
    })
}

/// A row of the documentation for each directive.
pub(super) fn document() -> String {
    let takes = |row: &DirectiveRow| match row.form {
        Form::Switch => "`on` or `off`",
        Form::Number => "a number",
        Form::Size => "a size",
        Form::Time => "a time",
        _ => "a network, or `all`",
    };
    allowed().map(|row| format!("| `{}` | {} | stream | nothing |\n", row.name, takes(row))).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::Arc;

    use super::*;
    use ingressd_model::{Kind, ObjectId};

    fn read(text: &str) -> Result<Vec<Directive>, String> {
        let origin = Origin::object(&Arc::new(ObjectId::new(Kind::CONFIG_MAP, "edge", "controller")));
        directives(text, &origin).map_err(|refused| refused.to_string())
    }

    #[test]
    fn what_the_catalogue_knows_is_read_into_values() {
        let text = "allow 10.0.0.5/8; allow 2001:db8::1; deny all; preread_buffer_size 8k; preread_timeout 5s; \
                    proxy_buffer_size 32k; proxy_connect_timeout 1m; proxy_download_rate 10m; proxy_half_close on; \
                    proxy_requests 3; proxy_socket_keepalive on; proxy_upload_rate 0; tcp_nodelay off;";
        let read = read(text).unwrap();
        let names: BTreeSet<_> = read.iter().map(|directive| directive.row.name).collect();
        assert_eq!(names, allowed().map(|row| row.name).collect(), "each one has an example");
        assert!(DENIED.is_sorted());
        let arguments: Vec<_> = read.iter().map(|directive| &directive.arguments[0]).collect();
        assert_eq!(arguments[0], &Argument::Text(Text::new("10.0.0.0/8").unwrap()));
        assert_eq!(arguments[2], &Argument::Word("all"));
        assert_eq!(arguments[6], &Argument::Time(Duration::from_secs(60)));
    }

    #[test]
    fn what_opens_ports_concerns_others_or_has_a_key_is_refused_with_what_to_do() {
        for (text, why) in [
            ("server { listen 9000; proxy_pass 10.0.0.1:80; }", "tcp-services-configmap"),
            ("listen 9000;", "tcp-services-configmap"),
            ("upstream a { server 10.0.0.1:80; }", "tcp-services-configmap"),
            ("map $remote_addr $a { default 1; }", "stream block of nginx.conf"),
            ("proxy_timeout 5s;", "proxy-stream-timeout"),
            ("error_log /tmp/x;", "stream block of nginx.conf"),
            ("load_module x.so;", "may not have \"load_module\""),
            ("deny all; }", "unexpected"),
            ("deny all {}", "number of arguments"),
            ("deny unix:;", "not an address"),
            ("tcp_nodelay on; tcp_nodelay off;", "twice"),
            ("tcp_nodelay yes;", "on or off"),
            ("proxy_buffer_size 0;", "refused"),
            ("proxy_connect_timeout 0;", "no connection"),
            ("proxy_download_rate $rate;", "refused"),
        ] {
            let reported = read(text).unwrap_err();
            assert!(reported.contains(why) || (why == "refused" && reported.contains("line 1")), "{text}: {reported}");
        }
        let many = read(&"listen 1; ".repeat(7)).unwrap_err();
        assert!(many.ends_with("and 2 more"), "{many}");
    }
}
