//! Which third-party modules would do what a model asks for. It must not know whether they are
//! installed.

use std::collections::BTreeMap;

use crate::{GateOptions, geoip};
use ingressd_model::catalogue::Module;
use ingressd_model::{HeaderSet, Model, Server};

/// How many hosts each module would serve.
pub fn wanted(model: &Model, options: &GateOptions) -> BTreeMap<Module, usize> {
    let has_firewall = |server: &Server| server.handlers().any(|handler| handler.behaviour.firewall.is_some());
    let has_brotli = model.server_directives.iter().any(|directive| directive.row.module == Some(Module::Brotli));
    let global = &options.global;
    let headers = global.answer_headers.iter().chain(&global.request_headers).map(|header| &header.value);
    let has_geo = !geoip::of_model(model).is_empty()
        || options.access_log.line.iter().chain(headers).any(|line| geoip::of_line(line).next().is_some());
    let hosts = |asks: &dyn Fn(&Server) -> bool| model.servers.iter().filter(|server| asks(server)).count();
    let all = [
        (Module::HeadersMore, hosts(&|server| !global.server_header && server.header_set == HeaderSet::Detailed)),
        (Module::Brotli, hosts(&|_| has_brotli)),
        (Module::ModSecurity, hosts(&has_firewall)),
        (Module::GeoIp2, hosts(&|_| has_geo)),
    ];
    all.into_iter().filter(|(_, hosts)| *hosts > 0).collect()
}
