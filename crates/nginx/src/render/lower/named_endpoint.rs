//! Sessions whose cookie names an endpoint of an upstream: the variables with that endpoint, with
//! the key that leads to it, and with the name of the one that has answered. It must not know what
//! else the cookie says.
//!
//! All are in the file of the upstream, so that a change of endpoints changes no other file.

use std::net::{IpAddr, SocketAddr};

use crate::render::names;
use crate::render::ring;
use crate::render::token::{Word, Words};
use crate::render::view::{Block, Tables};
use ingressd_model::{Endpoint, HeaderName, Refused, Upstream};

use super::session::sent;

/// How many keys lead to one endpoint, of which each request takes one at random: as many as a
/// hexadecimal digit has values. When the endpoint fails, the endpoint behind it on nginx's ring
/// takes the request, which is another one for most of the keys.
const KEYS: usize = 16;

/// How many rows a `map` has. With twice as many, nginx may find no table of its default size in
/// which each row has a place of its own, and would complain at each reload.
const ROWS: usize = 64;

const NOTHING: &str = r#""""#;

/// Writes the variables of an upstream.
pub fn tables(
    upstream: &Upstream,
    endpoints: &[Endpoint],
    cookie: &HeaderName,
    tables: &mut Tables,
) -> Result<(), Refused> {
    let all: Vec<_> = endpoints.iter().map(|one| (names::endpoint(upstream, one), one)).collect();
    let keys = ring::keys(endpoints, KEYS);
    let rows = all.iter().zip(keys).map(|((name, _), keys)| Ok((Word::new(name)?, Word::new(&numbered(&keys))?)));
    let endpoint = names::named_endpoint(&upstream.id);
    chain(&sent(cookie)?, &endpoint, &rows.collect::<Result<Vec<_>, Refused>>()?, tables)?;

    let number_and_keys = Word::concat([Word::fixed("$request_id:"), Word::variable(&endpoint)?]);
    let key = Block::map(number_and_keys, Word::variable(&names::endpoint_key(&upstream.id))?);
    let key = key.row(r#""~^(.)[^:]*:.*\1k([0-7]+)""#, "$2");
    tables.block(key.row("default", "$request_id"));

    let rows = all.iter().map(|(name, one)| Ok((Word::new(&answered(one.address))?, Word::new(name)?)));
    let answer = names::answering_endpoint(&upstream.id);
    let source = Word::variable(names::ANSWERED)?;
    chain(&source, &answer, &rows.collect::<Result<Vec<_>, Refused>>()?, tables)
}

/// The keys, each with its number.
fn numbered(keys: &[String]) -> String {
    let keys = keys.iter().enumerate().map(|(number, key)| format!("{number:x}k{key}"));
    keys.collect::<Vec<_>>().join("-")
}

/// Writes a variable with these values of another one; empty for all others.
fn chain(source: &Word, name: &str, rows: &[(Word, Word)], tables: &mut Tables) -> Result<(), Refused> {
    let variable = |part: usize| match part {
        0 => Word::variable(name),
        _ => Word::variable(&format!("{name}_{part}")),
    };
    let parts = rows.len().div_ceil(ROWS).max(1);
    for part in 0..parts {
        let rest = if part + 1 < parts { variable(part + 1)?.into() } else { Words::from(NOTHING) };
        let map = Block::map(source.clone(), variable(part)?).row("default", rest);
        let rows = rows.iter().skip(part * ROWS).take(ROWS);
        tables.block(rows.fold(map, |map, (from, to)| map.row(from.clone(), to.clone())));
    }
    Ok(())
}

/// An address as [`answers`] writes it. It fits into nginx's table by default, which an IPv6
/// address in brackets need not do.
fn answered(address: SocketAddr) -> String {
    match address.ip() {
        IpAddr::V4(_) => address.to_string(),
        IpAddr::V6(ip) => format!("{ip}:{}", address.port()),
    }
}

/// Writes the variable with the address of the endpoint that has answered: the last one that nginx
/// has tried.
pub fn answers(tables: &mut Tables) -> Result<(), Refused> {
    let map = Block::map("$upstream_addr", Word::variable(names::ANSWERED)?);
    let map = map.row(r#""~\[([^]]+)\](:[0-9]+)$""#, r#""$1$2""#).row(r#""~([0-9.]+:[0-9]+)$""#, "$1");
    tables.block(map.row("default", NOTHING));
    Ok(())
}
