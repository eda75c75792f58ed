//! Reads the annotation about TCP and UDP services: servers that open ports of the node, each for
//! a Service of the namespace. It must not know who may write one.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::forms::{COUNT, number, one, seconds, switch};
use super::reader::mistake;
use super::streams::{self, LONGEST, MOST, MOST_MISTAKES};
use crate::model::language::syntax::{self, Directive};
use crate::model::{Argument, Origin, Port, Refused, StreamPolicy, Transport};
use crate::translate::annotation::{Context, Draft, Entry, Implied};
use crate::translate::streams::RequestedStream;
use crate::translate::value::{excerpt, service_port};

/// The most servers of one snippet.
const MOST_SERVERS: usize = 20;

/// A Service and the number of its port.
type Address = (Arc<str>, u16);

/// Reads the servers of a snippet.
pub fn read(draft: &mut Draft, entry: &Entry<'_>, context: &Context<'_>) -> Result<Vec<Implied>, Refused> {
    if entry.default.is_some() {
        return Err(Refused::because("it opens ports for one object; write it there"));
    }
    let (policy, origin, most) = (context.options.stream_policy(), entry.origin(), context.options.limits().timeout);
    let reader = Reader { namespace: context.namespace, policy, origin, most, above: Cell::default() };
    let streams = reader.read(entry.value)?;
    let labels = context.snapshot.namespace(context.namespace).map(|stored| &stored.object.labels);
    let allows = |port: &Port| context.options.allows_port(context.namespace, labels, port.number);
    if let Some(stream) = streams.iter().find(|stream| !allows(&stream.wanted)) {
        let note = format!(
            "the administrator does not allow {} to the namespace; its table in snippets.allowed lists ports",
            stream.wanted
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
    /// What services do that say nothing else.
    policy: &'a StreamPolicy,
    origin: Origin,
    /// The administrator's ceiling of times; zero is none.
    most: Duration,
    /// The last time above it.
    above: Cell<Option<Duration>>,
}

/// One block of a server, as far as it was read.
struct Server {
    /// The ports, and whether clients begin with a header of the PROXY protocol.
    listens: Vec<(Port, bool)>,
    address: Option<Address>,
    sends_proxy_protocol: bool,
    policy: StreamPolicy,
    directives: Vec<crate::model::Directive>,
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
            match self.group(block) {
                Ok((name, address)) => drop(groups.insert(name, address)),
                Err(refused) => mistakes.push(mistake(text, block, &refused)),
            }
        }
        for block in tree.iter().filter(|block| block.name != "upstream") {
            if let Err(refused) = self.block(text, block, &groups, &mut streams, &mut mistakes) {
                mistakes.push(mistake(text, block, &refused));
            }
        }
        let more = mistakes.len().saturating_sub(MOST_MISTAKES);
        mistakes.truncate(MOST_MISTAKES);
        mistakes.extend((more > 0).then(|| format!("and {more} more")));
        match (mistakes.is_empty(), streams.len()) {
            (false, _) => Err(Refused(mistakes.join("; ").into())),
            (true, 0) => Err(Refused::because("it has no server")),
            (true, count) if count > MOST_SERVERS => {
                Err(Refused(format!("it opens more than {MOST_SERVERS} ports").into()))
            }
            (true, _) => Ok(streams),
        }
    }

    /// A group of servers, of which one is the Service.
    fn group(&self, block: &Directive) -> Result<(String, Address), Refused> {
        let name = one(&block.arguments)?;
        match block.children() {
            [server] if server.name == "server" => Ok((name.to_owned(), self.service(one(&server.arguments)?)?)),
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
            return Err(match streams::allowed().any(|row| row.name == block.name) {
                true => Refused::because("it would concern the services of others; write it into the server"),
                false => streams::row(&block.name).err().unwrap_or(COUNT),
            });
        }
        if block.block.is_none() || !block.arguments.is_empty() {
            return Err(Refused::because("it is a block without a name"));
        }
        let (policy, before) = (StreamPolicy { directives: Arc::default(), ..self.policy.clone() }, mistakes.len());
        let mut server =
            Server { listens: Vec::new(), address: None, sends_proxy_protocol: false, policy, directives: Vec::new() };
        for directive in block.children() {
            if let Err(refused) = self.directive(directive, groups, &mut server) {
                mistakes.push(mistake(text, directive, &refused));
            }
        }
        if mistakes.len() > before { Ok(()) } else { self.add(server, streams) }
    }

    fn add(&self, server: Server, streams: &mut Vec<RequestedStream>) -> Result<(), Refused> {
        let Server { listens, address, sends_proxy_protocol, mut policy, directives } = server;
        let (service, port) = address.ok_or(Refused::because("it needs proxy_pass with the address of a Service"))?;
        if listens.is_empty() {
            return Err(Refused::because("it needs listen with a port"));
        }
        // As in nginx, a list of clients replaces the outer one.
        let is_list = |name: &str| streams::LISTS.contains(&name);
        let has_list = directives.iter().any(|own| is_list(own.row.name));
        let is_replaced = |outer: &&crate::model::Directive| {
            directives.iter().any(|own| own.row == outer.row) || (has_list && is_list(outer.row.name))
        };
        let outer = self.policy.directives.iter().filter(|outer| !is_replaced(outer)).cloned();
        policy.directives = outer.chain(directives.iter().cloned()).collect();
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
            "proxy_pass" if server.address.is_some() => return Err(Refused::because("it is there twice")),
            "proxy_pass" => {
                let target = one(words)?;
                server.address = Some(groups.get(target).cloned().map_or_else(|| self.service(target), Ok)?);
            }
            "proxy_protocol" => {
                switch(words)?;
                server.sends_proxy_protocol = words[0] == "on";
            }
            "proxy_timeout" => policy.timeout = some_time()?,
            "proxy_protocol_timeout" => policy.header_timeout = some_time()?,
            "proxy_responses" => policy.responses = whole(1_000_000)?,
            "proxy_next_upstream" => {
                switch(words)?;
                policy.next_upstream = words[0] == "on";
            }
            "proxy_next_upstream_timeout" => policy.next_upstream_timeout = time()?,
            "proxy_next_upstream_tries" => policy.next_upstream_tries = whole(1_000)?,
            name => {
                let row = streams::row(name)?;
                if !streams::LISTS.contains(&name) && server.directives.iter().any(|known| known.row == row) {
                    return Err(Refused::because("it is there twice"));
                }
                let argument = match streams::argument(row, directive)? {
                    Argument::Time(time) => Argument::Time(self.bounded(time)),
                    argument => argument,
                };
                let arguments = vec![argument];
                server.directives.push(crate::model::Directive { row, arguments, origin: self.origin.clone() });
            }
        }
        Ok(())
    }

    /// The time, or the ceiling.
    fn bounded(&self, time: Duration) -> Duration {
        if self.most.is_zero() || time <= self.most {
            return time;
        }
        self.above.set(Some(time));
        self.most
    }

    /// A Service of the namespace with its port.
    fn service(&self, text: &str) -> Result<Address, Refused> {
        let (namespace, service, port) = service_port(text)?;
        match *namespace == *self.namespace {
            true => Ok((service, port)),
            false => Err(Refused(format!("{} is not a Service of this namespace", excerpt(text)).into())),
        }
    }
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
