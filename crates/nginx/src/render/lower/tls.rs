//! How TLS sessions are resumed, and the files for that; it must not know certificates.

use crate::render::content::Part;
use crate::render::file_set::{File, FilePath};
use crate::render::names;
use crate::render::token::{Path, Word, Words};
use crate::{Decisions, Global, Plan};
use ingressd_model::{ByteSize, Refused};

use super::tables::Files;

/// The files that servers with a certificate require.
pub fn files(plan: &Plan, files: &mut Files<'_>) {
    all(&plan.decisions.global).for_each(|(path, file)| files.put(path, file));
}

/// The same by their paths.
pub fn all(global: &Global) -> impl Iterator<Item = (FilePath, File)> {
    let key = global.ticket_key.as_ref().filter(|_| global.session_tickets);
    let key = key.map(|key| (names::ticket_key_file(), File::secret([Part::Bytes(key.bytes())], key.origin.clone())));
    let exchange = global.dh_parameters.as_ref().map(|parameters| {
        let content = Part::Bytes(parameters.content.clone());
        (names::dh_parameters_file(), File::secret([content], parameters.origin.clone()))
    });
    key.into_iter().chain(exchange)
}

/// What a server with a certificate says.
pub fn sessions(decisions: &Decisions) -> Result<Vec<Words>, Refused> {
    let global = &decisions.global;
    let cache = match global.session_cache {
        ByteSize(0) => Word::fixed("off"),
        size => Word::own(&format!("shared:ingressd:{size}"))?,
    };
    let mut lines = vec![
        Words::line("ssl_session_cache", cache),
        Words::line("ssl_session_timeout", Word::long_time(global.session_timeout)),
        Words::line("ssl_session_tickets", if global.session_tickets { "on" } else { "off" }),
    ];
    for (path, _) in all(global) {
        let is_key = path == names::ticket_key_file();
        let name = if is_key { "ssl_session_ticket_key" } else { "ssl_dhparam" };
        lines.push(Words::line(name, Path::new(&decisions.current.join(&*path))?));
    }
    Ok(lines)
}
