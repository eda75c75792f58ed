//! Findings about this host's nginx as a whole. It must not know how nginx is looked at.

use std::sync::Arc;

use ingressd_apply::Survey;
use ingressd_model::catalogue::Version;
use ingressd_model::finding::{Finding, Reason, Severity};
use ingressd_model::{Kind, ObjectId, Origin};
use ingressd_nginx::GateOptions;

/// nginx of this host, as the object of a finding.
pub(super) fn nginx() -> Arc<ObjectId> {
    Arc::new(ObjectId::new(Kind::HOST, "", "nginx"))
}

/// A finding about nginx of this host.
pub(super) fn of_nginx(reason: Reason, note: String) -> Finding {
    Finding::new(reason, Origin::object(&nginx()), note)
}

/// The finding that another version of nginx runs than the installed one.
pub(super) fn not_restarted(installed: Version, survey: &Survey) -> Finding {
    let running = survey.capabilities.version;
    let note = format!(
        "nginx {installed} is installed, and {running} still runs: files are made for {running}, which cannot load \
         modules of {installed} and then takes no change; when few clients are connected, restart nginx: `nginx -t && systemctl \
         restart nginx`"
    );
    of_nginx(Reason::MissingCapability, note)
}

/// The finding that nginx's configuration does not include our files.
pub(super) fn not_included(survey: &Survey, options: &GateOptions) -> Finding {
    let configuration = survey.configuration.display();
    let current = options.current.display();
    let origin = Origin::object(&Arc::new(ObjectId::new(Kind::HOST, "", &configuration.to_string())));
    let note = format!(
        "it does not include the generated files, so nginx does not serve them; write the line `include \
         {current}/http/*.conf;` into a file that its http block includes, for example /etc/nginx/conf.d/ingressd.conf"
    );
    Finding { severity: Severity::Error, ..Finding::new(Reason::HostConflict, origin, note) }
}

/// The finding that nginx refused a shared server.
pub(super) fn not_shared(words: &str) -> Finding {
    let note = format!(
        "nginx refuses a server that several hosts share, so each host has its own server, and reloads take longer: \
         {words}"
    );
    of_nginx(Reason::HostConflict, note)
}
