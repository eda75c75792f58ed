//! A shared server block has the same directives for each host as the host's own file would have.

use std::collections::BTreeMap;

use ingressd_model::HostName;
use ingressd_nginx::render::FileSet;
use ingressd_nginx::syntax::Directive;

use crate::pipeline::parse;

/// Directives without their lines: name, arguments, block.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Said(String, Vec<String>, Option<Vec<Said>>);

/// Compares the files of a plan with those of the same plan where hosts share.
///
/// # Panics
///
/// When a host is lost, stands twice, or is answered in another way.
pub fn check(alone: &FileSet, together: &FileSet) {
    let mut moved = 0;
    for (path, file) in together.files.iter().filter(|(path, _)| path.starts_with("http/server-alike+")) {
        let text = file.content.text();
        for (host, server) in hosts(&parse(&text), path) {
            let own = format!("http/server-exact-{host}.conf");
            assert!(!together.files.contains_key(&*own), "{host} stands twice");
            let own = parse(&alone.files.get(&*own).unwrap_or_else(|| panic!("{host} is not served")).content.text());
            assert_eq!(own.iter().map(said).collect::<Vec<_>>(), [server], "{host} in {path}");
            moved += 1;
        }
    }
    let own = |files: &FileSet| files.files.keys().filter(|path| path.starts_with("http/server-exact-")).count();
    assert_eq!(own(alone), own(together) + moved, "a host is lost");
}

/// Each host of a block with what its server would say by itself.
fn hosts(directives: &[Directive], path: &str) -> Vec<(String, Said)> {
    let mut tables: BTreeMap<String, BTreeMap<&str, &str>> = BTreeMap::new();
    let mut servers = Vec::new();
    for directive in directives {
        match (directive.name.as_str(), directive.arguments.as_slice()) {
            // It is named by the table beside it, and is not here yet.
            ("include", [included]) => {
                let (_, slot) =
                    included.split_once("/[e]mpty/empty_").unwrap_or_else(|| panic!("{included} in {path}"));
                let backend = format!("ingressd_backend_{}", slot.trim_end_matches(".conf"));
                assert!(tables.keys().any(|variable| variable.ends_with(&backend)), "{included} in {path}");
            }
            ("map", [host, variable]) if host == "$host" => {
                let entries = directive.children().iter().map(|entry| {
                    let [upstream] = entry.arguments.as_slice() else { panic!("{entry:?} in {path}") };
                    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
                    assert!(upstream.bytes().all(plain), "{entry:?} in {path}");
                    (entry.name.as_str(), upstream.as_str())
                });
                assert!(tables.insert(variable.clone(), entries.collect()).is_none(), "{variable} is set twice");
            }
            ("server", []) => servers.push(directive),
            _ => panic!("{directive:?} in {path}"),
        }
    }
    let [server] = servers.as_slice() else { panic!("{} servers in {path}", servers.len()) };
    let names = server.children().iter().filter(|directive| directive.name == "server_name");
    let one = |name: &Directive| {
        let [host] = name.arguments.as_slice() else { panic!("{name:?} in {path}") };
        HostName::new(host).unwrap_or_else(|why| panic!("{host:?} in {path}: {why:?}"));
        (host.clone(), of_host(server, host, &tables))
    };
    names.map(one).collect()
}

/// What a server says, with one of its names and that host's upstreams.
fn of_host(directive: &Directive, host: &str, tables: &BTreeMap<String, BTreeMap<&str, &str>>) -> Said {
    let kept = |child: &&Directive| match child.name.as_str() {
        "server_name" => child.arguments == [host],
        // The answer without endpoints: its variable is that of the upstream.
        "include" => !asks_for(child, directive.children()),
        _ => true,
    };
    let block =
        directive.block.as_ref().map(|block| block.iter().filter(kept).map(|child| of_host(child, host, tables)));
    let mut arguments = directive.arguments.clone();
    if directive.name == "proxy_pass"
        && let Some((scheme, variable)) = arguments[0].split_once("://").filter(|(_, to)| to.starts_with('$'))
    {
        arguments[0] = format!("{scheme}://{}", tables[variable][host]);
    }
    Said(directive.name.clone(), arguments, block.map(Iterator::collect))
}

/// Whether an `include` is that of the question for the upstream beside it.
fn asks_for(included: &Directive, beside: &[Directive]) -> bool {
    let Some((_, slot)) = included.arguments[0].split_once("/[e]mpty/if_empty_") else { return false };
    let backend = format!("backend_{}", slot.trim_end_matches(".conf"));
    let passes = |one: &Directive| one.name == "proxy_pass" && one.arguments[0].ends_with(&backend);
    assert!(beside.iter().any(passes), "{included:?}");
    true
}

fn said(directive: &Directive) -> Said {
    // Where a shared server asks a variable, its own includes the answer, behind that of a service
    // that says who may pass.
    let last = |name: &str| directive.children().iter().rposition(|child| child.name == name);
    let answer = last("include").filter(|_| last("proxy_pass").is_some() && last("internal").is_none());
    let kept = |block: &Vec<Directive>| {
        let kept = block.iter().enumerate().filter(|(number, _)| Some(*number) != answer);
        kept.map(|(_, child)| said(child)).collect()
    };
    let block = directive.block.as_ref().map(kept);
    Said(directive.name.clone(), directive.arguments.clone(), block)
}
