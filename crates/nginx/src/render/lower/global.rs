//! The directives of every server that come from the administrator's settings for all hosts.

use crate::render::family::Family;
use crate::render::names;
use crate::render::token::{Literal, Text, Word, Words};
use crate::render::view::{Block, Statement, Tables};
use crate::{Global, HeaderTest, Plan, SetHeader, Uncompressed};
use ingressd_model::expression::{LIMITS, anywhere, literal};
use ingressd_model::{Cidr, HeaderName, LogLine, Refused};

use super::head::{Head, HeadSlots};
use super::lists::halves;
use super::slots::{Header, Inherited};
use super::tables::{Files, matching};

/// The variables that say which clients are refused.
const NETWORK: &str = "blocked_network";
const AGENT: &str = "blocked_agent";
const REFERER: &str = "blocked_referer";

/// The file that servers require where some clients are refused.
pub fn tables(plan: &Plan, files: &mut Files<'_>) {
    let global = &plan.decisions.global;
    if global.blocks() {
        files.add(names::blocked_file(), None, [], |tables| say(global, tables));
    }
}

fn say(global: &Global, tables: &mut Tables) -> Result<(), Refused> {
    if !global.blocked_networks.is_empty() {
        let networks = distinct(&global.blocked_networks);
        let networks = networks.iter().map(Word::network);
        tables.block(Block::new(Words::line("geo", Word::variable(NETWORK)?)).row("default", "0").rows(networks, "1"));
    }
    let headers =
        [("$http_user_agent", AGENT, &global.blocked_agents), ("$http_referer", REFERER, &global.blocked_referers)];
    for (header, variable, tests) in headers.into_iter().filter(|(.., tests)| !tests.is_empty()) {
        let values = tests.iter().map(test).collect::<Result<Vec<_>, _>>()?;
        tables.block(Block::map(header, Word::variable(variable)?).row("default", "0").rows(values, "1"));
    }
    Ok(())
}

/// The networks without duplicates.
fn distinct(networks: &[Cidr]) -> Vec<Cidr> {
    let mut all: Vec<_> = networks.iter().flat_map(|network| halves(network.trunc())).collect();
    all.sort_unstable();
    all.dedup();
    all
}

fn test(test: &HeaderTest) -> Result<Literal, Refused> {
    match test {
        HeaderTest::Exact(value) => Literal::new(&format!("~*^{}$", literal(value.as_str()))),
        HeaderTest::Expression { pattern, case_sensitive } => matching(pattern, *case_sensitive),
    }
}

/// Writes the directives of a server.
pub fn of_server(head: &Head<'_>, slots: &mut HeadSlots) -> Result<(), Refused> {
    let global = &head.facts.decisions.global;
    let asked = [
        (NETWORK, global.blocked_networks.is_empty()),
        (AGENT, global.blocked_agents.is_empty()),
        (REFERER, global.blocked_referers.is_empty()),
    ];
    let mut say = |statement| slots.say(statement, &head.server.origin);
    for (variable, _) in asked.into_iter().filter(|(_, is_empty)| !is_empty) {
        say(Statement::conditional(Word::variable(variable)?, "return", "403"));
    }
    let Inherited { answer_headers, hidden_headers, request_headers } = inherited(global)?;
    hidden_headers.into_iter().for_each(|name| say(Statement::plain(Family::Proxy.hide_header(), name)));
    for Header { name, value, .. } in answer_headers {
        say(Statement::plain("add_header", Words::join([name.into(), value, "always".into()])));
    }
    for Header { name, value, .. } in request_headers {
        say(Statement::plain(Family::Proxy.set_header(), Words::join([name.into(), value])));
    }
    if let Some(programs) = &global.uncompressed {
        let programs = match programs {
            Uncompressed::OldExplorers => "msie6".into(),
            Uncompressed::Matching(pattern) => {
                Words::from(Literal::new(&format!("{LIMITS}{}", anywhere(pattern.as_str())))?)
            }
        };
        say(Statement::plain("gzip_disable", programs));
    }
    Ok(())
}

/// The headers that locations have to repeat when they set any themselves.
pub fn inherited(global: &Global) -> Result<Inherited, Refused> {
    let name = |name: &HeaderName| Word::new(name.as_str());
    let header =
        |SetHeader { name: own, value }: &SetHeader| Ok::<_, Refused>(Header::new(name(own)?, Text::line(value)?));
    let original = global.original_uri.then(|| {
        let uri = LogLine::new("$request_uri")?;
        Ok(Header::fixed("X-Original-Uri", Text::log_line(&uri)?))
    });
    // Cookies are added to those of backends, because a response may have several.
    let replaced = global.answer_headers.iter().map(|header| &header.name);
    let replaced = replaced.filter(|name| !name.as_str().eq_ignore_ascii_case("Set-Cookie"));
    let mut hidden: Vec<_> = global.hidden_headers.iter().chain(replaced).collect();
    hidden.sort_unstable_by_key(|name| name.as_str().to_ascii_lowercase());
    hidden.dedup_by_key(|name| name.as_str().to_ascii_lowercase());
    Ok(Inherited {
        answer_headers: global.answer_headers.iter().map(header).collect::<Result<_, _>>()?,
        hidden_headers: hidden.into_iter().map(name).collect::<Result<_, _>>()?,
        request_headers: global.request_headers.iter().map(header).chain(original).collect::<Result<_, _>>()?,
    })
}
