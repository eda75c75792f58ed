//! Gathers facts about nginx: capabilities, files and processes.

use procfs::process::LimitValue;

use crate::config::Settings;
use crate::config::Usual as _;
use crate::doctor::facts::Nginx;
use crate::setup::Layout;
use ingressd_apply::process::{Role, Table};
use ingressd_apply::{Host as _, Survey, System, SystemOptions};
use ingressd_model::Model;
use ingressd_nginx::{gate, wanted};

/// Gathers facts about the nginx of the settings, given the model that it would get.
pub fn look(settings: &Settings, model: Model) -> Result<Nginx, String> {
    let nginx = &settings.nginx;
    let survey = Survey::of(
        &nginx.binary,
        Some(&nginx.configuration),
        nginx.prefix.as_deref(),
        &settings.apply.root,
        &settings.instance,
    )
    .and_then(|survey| survey.with_files(&settings.gate))
    .map_err(|error| error.to_string())?;
    let layout =
        Layout::read(settings).map_err(|error| format!("cannot read {}: {error}", nginx.configuration.display()))?;
    let mut system = System::new(SystemOptions {
        binary: nginx.binary.clone(),
        configuration: Some(nginx.configuration.clone()),
        prefix: nginx.prefix.clone(),
        pid_file: nginx.pid_file.clone(),
        unit: nginx.unit.clone(),
        status: settings.gate.status,
        ..SystemOptions::usual()
    });
    let survey = survey.run_by(system.version());
    let tested = system.test(None).map_err(|error| error.to_string());
    let master = system.master().map_err(|why| why.to_string()).and_then(|master| {
        let table = system.table(master).map_err(|error| error.to_string())?;
        table.ok_or_else(|| format!("process {} ended while it was looked at", master.pid))
    });
    let worker_files = master.as_ref().ok().and_then(worker_files);
    let wanted = wanted(&model, &settings.gate);
    let (_, findings) = gate(model, &survey.capabilities, &survey.other_sites, &settings.gate_options());
    Ok(Nginx { survey, layout, tested, master, worker_files, wanted, findings })
}

/// The limit of open files of the first worker.
fn worker_files(table: &Table) -> Option<u64> {
    let worker = table.in_role(Role::Worker).next()?;
    let limits = procfs::process::Process::new(worker.pid.try_into().ok()?).and_then(|process| process.limits());
    match limits.ok()?.max_open_files.soft_limit {
        LimitValue::Unlimited => Some(u64::MAX),
        LimitValue::Value(number) => Some(number),
    }
}
