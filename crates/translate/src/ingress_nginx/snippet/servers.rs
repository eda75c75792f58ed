//! Reads the annotation about TCP and UDP services: servers that open ports of the node, each for
//! a Service of the namespace, where the administrator allows the ports.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use super::forms::{COUNT, number, one, seconds, switch};
use super::reader::{mistake, several};
use super::streams::{self, LONGEST, MOST};
use crate::annotation::reading::RequestedStream;
use crate::annotation::{Context, Draft, Entry, Implied};
use crate::value::{excerpt, service_port};
use ingressd_model::language::syntax::{self, Directive};
use ingressd_model::{Argument, Origin, Port, Refused, StreamPolicy, Transport};

/// Directives that only the administrator decides: memory of each connection.
const OF_NODE: [&str; 3] = ["preread_buffer_size", "preread_timeout", "proxy_buffer_size"];
/// What a server may say besides those that all services may have.
const OF_SERVER: [&str; 9] = [
    "listen",
    "proxy_next_upstream",
    "proxy_next_upstream_timeout",
    "proxy_next_upstream_tries",
    "proxy_pass",
    "proxy_protocol",
    "proxy_protocol_timeout",
    "proxy_responses",
    "proxy_timeout",
];

/// A Service and the number of its port.
type Address = (Arc<str>, u16);

/// Reads the servers of a snippet.
pub fn read(draft: &mut Draft, entry: &Entry<'_>, context: &Context<'_>) -> Result<Vec<Implied>, Refused> {
    if !entry.is_own {
        return Err(Refused::because("it opens ports for one object; write it there"));
    }
    let (policy, origin, most) = (&context.options.streams.policy, entry.origin(), context.options.limits.timeout);
    let (namespace, domain) = (context.namespace(), &*context.options.cluster_domain);
    let reader = Reader { namespace, domain, policy, origin, most, above: Cell::default() };
    let streams = reader.read(entry.value)?;
    let labels = context.snapshot.namespace(context.namespace()).map(|stored| &stored.object.labels);
    let allows = |port: &Port| context.options.allows_port(context.namespace(), labels, port.number);
    let wrong = streams.iter().map(|stream| &stream.wanted).filter(|port| !allows(port));
    let wrong: Vec<_> = wrong.map(ToString::to_string).collect();
    if !wrong.is_empty() {
        let note = format!(
            "the administrator allows the namespace no {}: the key ports of its table in snippets.allowed has the \
             ports that it may open",
            wrong.join(", ")
        );
        return Err(Refused(note.into()));
    }
    if let Some(asked) = reader.above.get() {
        let [asked, most] = [asked, most].map(|time| format!("{}s", time.as_secs()));
        draft.above_ceiling(entry.origin(), &asked, &most, "limits.timeout");
    }
    draft.reading.streams.extend(streams);
    Ok(Vec::new())
}

struct Reader<'a> {
    namespace: &'a str,
    /// That of the cluster.
    domain: &'a str,
    /// What services do that say nothing else.
    policy: &'a StreamPolicy,
    origin: Origin,
    /// The administrator's ceiling of times; zero is none.
    most: Duration,
    /// The longest time above it.
    above: Cell<Option<Duration>>,
}

/// One block of a server, as far as it was read.
struct Server {
    /// The ports, and whether clients begin with a header of the PROXY protocol.
    listens: Vec<(Port, bool)>,
    address: Option<Address>,
    sends_proxy_protocol: bool,
    policy: StreamPolicy,
}

impl Reader<'_> {
    fn read(&self, text: &str) -> Result<Vec<RequestedStream>, Refused> {
        if text.len() > LONGEST {
            return Err(Refused(format!("it is longer than {LONGEST} bytes").into()));
        }
        let tree = syntax::parse(text.as_bytes()).map_err(|error| Refused(error.to_string().into()))?;
        if tree.iter().map(|block| 1 + block.children().len()).sum::<usize>() > MOST {
            return Err(Refused(format!("it has more than {MOST} directives").into()));
        }
        let (mut groups, mut streams, mut mistakes) = (BTreeMap::new(), Vec::new(), Vec::new());
        for block in tree.iter().filter(|block| block.name == "upstream") {
            let group = self.group(block).and_then(|(name, address)| match groups.insert(name, address) {
                None => Ok(()),
                Some(_) => Err(Refused::because("it is there twice")),
            });
            mistakes.extend(group.err().map(|refused| mistake(text, block, &refused)));
        }
        for block in tree.iter().filter(|block| block.name != "upstream") {
            if let Err(refused) = self.block(text, block, &groups, &mut streams, &mut mistakes) {
                mistakes.push(mistake(text, block, &refused));
            }
        }
        match (mistakes.is_empty(), streams.is_empty()) {
            (false, _) => Err(several(mistakes)),
            (true, true) => Err(Refused::because("it has no server")),
            (true, false) => Ok(streams),
        }
    }

    /// A group of servers, of which one is the Service.
    fn group(&self, block: &Directive) -> Result<(String, Address), Refused> {
        let name = one(&block.arguments)?;
        match block.children() {
            [server] if server.name == "server" && server.block.is_none() => {
                Ok((name.to_owned(), self.service(one(&server.arguments)?)?))
            }
            _ => Err(Refused::because("it has one server, the Service; Kubernetes knows its endpoints")),
        }
    }

    fn block(
        &self,
        text: &str,
        block: &Directive,
        groups: &BTreeMap<String, Address>,
        streams: &mut Vec<RequestedStream>,
        mistakes: &mut Vec<String>,
    ) -> Result<(), Refused> {
        if block.name != "server" {
            let mut known = OF_SERVER.into_iter().chain(streams::allowed().map(|row| row.name));
            return Err(match known.any(|name| name == block.name) {
                true => Refused::because("it would concern the services of others; write it into a server"),
                false => of_node(&block.name),
            });
        }
        if block.block.is_none() || !block.arguments.is_empty() {
            return Err(Refused::because("it is a block without a name"));
        }
        let (policy, before) = (self.policy.clone(), mistakes.len());
        let mut server = Server { listens: Vec::new(), address: None, sends_proxy_protocol: false, policy };
        let mut seen = BTreeSet::new();
        for directive in block.children() {
            let name = &*directive.name;
            let is_list = name == "listen" || streams::LISTS.contains(&name);
            let read = match seen.insert(name) || is_list {
                true => self.directive(directive, groups, &mut server),
                false => Err(Refused::because("it is there twice")),
            };
            mistakes.extend(read.err().map(|refused| mistake(text, directive, &refused)));
        }
        if mistakes.len() > before { Ok(()) } else { self.add(server, streams) }
    }

    fn add(&self, server: Server, streams: &mut Vec<RequestedStream>) -> Result<(), Refused> {
        let Server { listens, address, sends_proxy_protocol, policy } = server;
        let (service, port) = address.ok_or(Refused::because("it needs proxy_pass with the address of a Service"))?;
        if listens.is_empty() {
            return Err(Refused::because("it needs listen with a port"));
        }
        for (wanted, accepts_proxy_protocol) in listens {
            if wanted.transport == Transport::Udp && (accepts_proxy_protocol || sends_proxy_protocol) {
                return Err(Refused::because("nginx has no PROXY protocol for UDP"));
            }
            if streams.iter().any(|stream| stream.wanted == wanted) {
                return Err(Refused(format!("another server has {wanted} as well").into()));
            }
            streams.push(RequestedStream {
                origin: self.origin.clone(),
                wanted,
                accepts_proxy_protocol,
                service: Arc::clone(&service),
                port,
                sends_proxy_protocol,
                policy: policy.clone(),
            });
        }
        Ok(())
    }

    fn directive(
        &self,
        directive: &Directive,
        groups: &BTreeMap<String, Address>,
        server: &mut Server,
    ) -> Result<(), Refused> {
        let words = &directive.arguments;
        let row = streams::allowed().find(|row| row.name == directive.name && !OF_NODE.contains(&row.name));
        if row.is_none() && !OF_SERVER.contains(&&*directive.name) {
            return Err(of_node(&directive.name));
        }
        if directive.block.is_some() {
            return Err(COUNT);
        }
        let whole = |most| number(words, 0, most).and_then(|()| words[0].parse().map_err(|_| COUNT));
        let time = || Ok(self.bounded(seconds(words)?.parse().map(Duration::from_secs).map_err(|_| COUNT)?));
        let some_time = || match time()? {
            Duration::ZERO => Err(Refused::because("with 0 no connection would come about")),
            time => Ok(time),
        };
        let policy = &mut server.policy;
        match &*directive.name {
            "listen" => {
                let (port, accepts) = listen(words)?;
                match server.listens.iter().find(|(known, _)| *known == port) {
                    // IPv4 and IPv6 are written one by one.
                    Some((_, same)) if *same == accepts => {}
                    Some(_) => {
                        return Err(Refused::because("the port is there twice, with and without PROXY protocol"));
                    }
                    None => server.listens.push((port, accepts)),
                }
            }
            "proxy_pass" => {
                let target = one(words)?;
                server.address = Some(groups.get(target).cloned().map_or_else(|| self.service(target), Ok)?);
            }
            "proxy_protocol" => {
                switch(words)?;
                server.sends_proxy_protocol = words[0] == "on";
            }
            "proxy_timeout" => policy.timeout = some_time()?,
            // Connections that wait for the header are counted by nobody.
            "proxy_protocol_timeout" => policy.header_timeout = some_time()?.min(self.policy.header_timeout),
            "proxy_responses" => policy.responses = whole(1_000_000)?,
            "proxy_next_upstream" => {
                switch(words)?;
                policy.next_upstream = words[0] == "on";
            }
            "proxy_next_upstream_timeout" => policy.next_upstream_timeout = time()?,
            "proxy_next_upstream_tries" => policy.next_upstream_tries = whole(1_000)?,
            name => {
                let row = row.ok_or_else(|| of_node(name))?;
                let is_list = |name: &str| streams::LISTS.contains(&name);
                let says_same =
                    |outer: &ingressd_model::Directive| outer.row == row || (is_list(outer.row.name) && is_list(name));
                if self.policy.directives.iter().any(says_same) {
                    return Err(Refused::because("the administrator's stream-snippet says it for all services"));
                }
                let argument = match streams::argument(row, directive)? {
                    Argument::Time(time) => Argument::Time(self.bounded(time)),
                    argument => argument,
                };
                let directive =
                    ingressd_model::Directive { row, arguments: vec![argument], origin: self.origin.clone() };
                policy.directives = policy.directives.iter().cloned().chain([directive]).collect();
            }
        }
        Ok(())
    }

    /// The time, or the ceiling.
    fn bounded(&self, time: Duration) -> Duration {
        if self.most.is_zero() || time <= self.most {
            return time;
        }
        self.above.set(self.above.get().max(Some(time)));
        self.most
    }

    /// A Service of the namespace with its port.
    fn service(&self, text: &str) -> Result<Address, Refused> {
        let (namespace, service, port) = service_port(text, self.domain)?;
        match *namespace == *self.namespace {
            true => Ok((service, port)),
            false => Err(Refused(format!("{} is not a Service of this namespace", excerpt(text)).into())),
        }
    }
}

/// Why a directive is refused that only the administrator may write.
fn of_node(name: &str) -> Refused {
    Refused(format!("a stream-snippet may not have {}; docs/snippets.md says what it may have", excerpt(name)).into())
}

/// The port of a listener, and whether clients begin with a header of the PROXY protocol.
fn listen(words: &[String]) -> Result<(Port, bool), Refused> {
    let (address, parameters) = words.split_first().ok_or(COUNT)?;
    // The addresses of the node are the administrator's.
    let any = ["*:", "0.0.0.0:", "[::]:"].iter().find_map(|any| address.strip_prefix(any));
    let digits = any.unwrap_or(address);
    let number = digits.parse().ok().filter(|number: &u16| *number > 0 && number.to_string() == *digits);
    let Some(number) = number else {
        let note = format!("{} is not a port; the administrator's listen.addresses names addresses", excerpt(address));
        return Err(Refused(note.into()));
    };
    let (mut transport, mut accepts) = (Transport::Tcp, false);
    for parameter in parameters {
        match &**parameter {
            "udp" => transport = Transport::Udp,
            "proxy_protocol" => accepts = true,
            // What ingressd decides for all listeners.
            "reuseport" => {}
            "ssl" => return Err(Refused::because("TLS is not terminated on ports of services; the backend does it")),
            other => return Err(Refused(format!("the parameter {} is not known here", excerpt(other)).into())),
        }
    }
    Ok((Port { transport, number }, accepts))
}
