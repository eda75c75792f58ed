//! How sessions of TLS are taken up, and by which files; it must not know certificates.

use crate::model::{ByteSize, Refused};
use crate::nginx::{Decisions, Everywhere};
use crate::render::content::Part;
use crate::render::file_set::{File, FilePath};
use crate::render::names;
use crate::render::token::{Path, Word, Words};
use crate::render::view;

/// The files that servers with a certificate name.
pub fn files(everywhere: &Everywhere) -> impl Iterator<Item = (FilePath, File)> {
    let key = everywhere.ticket_key.as_ref().filter(|_| everywhere.session_tickets);
    let key = key.map(|key| (names::ticket_key_file(), File::secret([Part::Bytes(key.bytes())], key.origin.clone())));
    let exchange = everywhere.dh_parameters.as_ref().map(|parameters| {
        let content = Part::Bytes(parameters.content.clone());
        (names::dh_parameters_file(), File::secret([content], parameters.origin.clone()))
    });
    key.into_iter().chain(exchange)
}

/// What a server with a certificate says.
pub fn sessions(decisions: &Decisions) -> Result<Vec<view::Directive>, Refused> {
    let everywhere = &decisions.everywhere;
    let cache = match everywhere.session_cache {
        ByteSize(0) => Word::fixed("off"),
        size => Word::own(&format!("shared:ingressd:{size}"))?,
    };
    let tickets = Word::fixed(if everywhere.session_tickets { "on" } else { "off" });
    let line = |name, words: Words| view::Directive { name: Word::fixed(name), arguments: words };
    let mut lines = vec![
        line("ssl_session_cache", cache.into()),
        line("ssl_session_timeout", Word::long_time(everywhere.session_timeout).into()),
        line("ssl_session_tickets", tickets.into()),
    ];
    for (path, _) in files(everywhere) {
        let is_key = path == names::ticket_key_file();
        let name = if is_key { "ssl_session_ticket_key" } else { "ssl_dhparam" };
        lines.push(line(name, Path::new(&decisions.current.join(&*path))?.into()));
    }
    Ok(lines)
}
