//! What every server says because the administrator wants it of all hosts.

use std::collections::BTreeMap;

use crate::model::expression::{LIMITS, anywhere, literal};
use crate::model::{Cidr, HeaderName, LogLine, Refused};
use crate::nginx::{Everywhere, Plan, SetHeader, Test, Uncompressed};
use crate::render::content::Part;
use crate::render::engine::Engine;
use crate::render::file_set::{File, FilePath, Owners};
use crate::render::names;
use crate::render::token::{Literal, Text, Word, Words};
use crate::render::view;

use super::slots::{Family, Header, Inherited};

/// Variables that tell who is turned away.
const NETWORK: &str = "blocked_network";
const AGENT: &str = "blocked_agent";
const REFERER: &str = "blocked_referer";

/// The file that servers require where somebody is turned away.
pub fn blocked(plan: &Plan, engine: &Engine) -> BTreeMap<FilePath, File> {
    let everywhere = &plan.decisions.everywhere;
    if !everywhere.blocks() {
        return BTreeMap::new();
    }
    let text = blocked_view(everywhere).ok().and_then(|view| engine.fill("blocked", &view).ok()).map(Part::Filled);
    BTreeMap::from([(names::blocked_file(), File::plain(text, Owners::default(), []))])
}

fn blocked_view(everywhere: &Everywhere) -> Result<view::Blocked, Refused> {
    let header = |variable: &str, header, tests: &[Test]| {
        let values = tests.iter().map(test).collect::<Result<_, Refused>>()?;
        Ok::<_, Refused>(view::BlockedHeader { header, variable: Word::variable(variable)?, values })
    };
    let agents = header(AGENT, Word::fixed("$http_user_agent"), &everywhere.blocked_agents)?;
    let referers = header(REFERER, Word::fixed("$http_referer"), &everywhere.blocked_referers)?;
    let networks = view::BlockedNetworks {
        variable: Word::variable(NETWORK)?,
        networks: distinct(&everywhere.blocked_networks).iter().map(Word::network).collect(),
    };
    Ok(view::Blocked {
        networks: Some(networks).filter(|networks| !networks.networks.is_empty()).into_iter().collect(),
        headers: [agents, referers].into_iter().filter(|header| !header.values.is_empty()).collect(),
    })
}

/// Each network once; all addresses as two halves, because nginx holds them for the default said twice.
fn distinct(networks: &[Cidr]) -> Vec<Cidr> {
    let halves = |network: &Cidr| {
        let is_all = network.prefix_len() == 0;
        network.trunc().subnets(network.prefix_len() + u8::from(is_all)).into_iter().flatten().collect::<Vec<_>>()
    };
    let mut all: Vec<_> = networks.iter().flat_map(halves).collect();
    all.sort_unstable();
    all.dedup();
    all
}

fn test(test: &Test) -> Result<Literal, Refused> {
    match test {
        Test::Exact(value) => Literal::new(&format!("~*^{}$", literal(value.as_str()))),
        Test::Expression { pattern, case_sensitive: true } => {
            Literal::new(&format!("~{LIMITS}{}", anywhere(pattern.as_str())))
        }
        Test::Expression { pattern, case_sensitive: false } => {
            Literal::new(&format!("~*{LIMITS}{}", anywhere(pattern.as_str())))
        }
    }
}

/// What a server says; `None` where that is nothing.
pub fn of_server(everywhere: &Everywhere) -> Result<Option<view::Everywhere>, Refused> {
    let asked = [
        (NETWORK, everywhere.blocked_networks.is_empty()),
        (AGENT, everywhere.blocked_agents.is_empty()),
        (REFERER, everywhere.blocked_referers.is_empty()),
    ];
    let blocked = asked.into_iter().filter(|(_, is_empty)| !is_empty).map(|(variable, _)| Word::variable(variable));
    let Inherited { answer_headers, hidden_headers, request_headers } = inherited(everywhere)?;
    let line = |name, arguments| view::Directive { name: Word::fixed(name), arguments };
    let hidden = hidden_headers.into_iter().map(|name| line(Family::Proxy.hide_header(), name.into()));
    let answers = answer_headers.into_iter().map(|Header { name, value, .. }| {
        line("add_header", Words::join([name.into(), value, Word::fixed("always").into()]))
    });
    let requests = request_headers
        .into_iter()
        .map(|Header { name, value, .. }| line(Family::Proxy.set_header(), Words::join([name.into(), value])));
    let uncompressed = everywhere.uncompressed.as_ref().map(|programs| match programs {
        Uncompressed::OldExplorers => Ok(Words::from(Word::fixed("msie6"))),
        Uncompressed::Matching(pattern) => {
            Literal::new(&format!("{LIMITS}{}", anywhere(pattern.as_str()))).map(Words::from)
        }
    });
    let uncompressed = uncompressed.transpose()?.map(|words| line("gzip_disable", words));
    let view = view::Everywhere {
        blocked: blocked.collect::<Result<_, _>>()?,
        directives: hidden.chain(answers).chain(requests).chain(uncompressed).collect(),
    };
    Ok(Some(view).filter(|view| !view.blocked.is_empty() || !view.directives.is_empty()))
}

/// What locations repeat that say anything of the kind.
pub fn inherited(everywhere: &Everywhere) -> Result<Inherited, Refused> {
    let name = |name: &HeaderName| Word::new(name.as_str());
    let header =
        |SetHeader { name: own, value }: &SetHeader| Ok::<_, Refused>(Header::new(name(own)?, Text::log_line(value)?));
    let original = everywhere.original_uri.then(|| {
        let uri = LogLine::new("$request_uri")?;
        Ok(Header::fixed("X-Original-Uri", Text::log_line(&uri)?))
    });
    // Several cookies are several headers: those of backends stay.
    let replaced = everywhere.answer_headers.iter().map(|header| &header.name);
    let replaced = replaced.filter(|name| !name.as_str().eq_ignore_ascii_case("Set-Cookie"));
    let mut hidden: Vec<_> = everywhere.hidden_headers.iter().chain(replaced).collect();
    hidden.sort_unstable_by_key(|name| name.as_str().to_ascii_lowercase());
    hidden.dedup_by_key(|name| name.as_str().to_ascii_lowercase());
    Ok(Inherited {
        answer_headers: everywhere.answer_headers.iter().map(header).collect::<Result<_, _>>()?,
        hidden_headers: hidden.into_iter().map(name).collect::<Result<_, _>>()?,
        request_headers: everywhere.request_headers.iter().map(header).chain(original).collect::<Result<_, _>>()?,
    })
}
