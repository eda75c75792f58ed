//! Looks at nginx: what it is, its files and its processes; it must not know what is right.

use std::fs;

use crate::apply::process::{Role, Table};
use crate::apply::{Host as _, Survey, System, SystemOptions, build_information};
use crate::config::Settings;
use crate::doctor::facts::Nginx;
use crate::model::Model;
use crate::nginx::gate;
use crate::setup::Layout;

/// Looks at the nginx of the settings; what it would be asked to do is in the model.
pub fn look(settings: &Settings, model: Model) -> Result<Nginx, String> {
    let nginx = &settings.nginx;
    let build = build_information(&nginx.binary).map_err(|error| error.to_string())?;
    let survey = Survey::of(
        &nginx.binary,
        Some(&nginx.configuration),
        nginx.prefix.as_deref(),
        &settings.apply.root,
        &settings.instance,
    )
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
        ..SystemOptions::default()
    })
    .map_err(|error| error.to_string())?;
    let tested = system.test(None).map_err(|error| error.to_string());
    let master = system.master().and_then(|master| {
        system.table(master).ok_or_else(|| format!("process {} ended while it was looked at", master.pid))
    });
    let worker_files = master.as_ref().ok().and_then(worker_files);
    let (_, findings) = gate(model, &survey.capabilities, &survey.neighbours, &settings.gate_options());
    Ok(Nginx { survey, build, layout, tested, master, worker_files, findings })
}

/// The limit that the first worker has.
fn worker_files(table: &Table) -> Option<u64> {
    let worker = table.in_role(Role::Worker).next()?;
    files(&fs::read_to_string(format!("/proc/{}/limits", worker.pid)).ok()?)
}

/// The soft limit of open files in the words of `/proc/PID/limits`.
fn files(limits: &str) -> Option<u64> {
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    match line.split_whitespace().next()? {
        "unlimited" => Some(u64::MAX),
        number => number.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::files;

    #[test]
    fn the_soft_limit_is_read() {
        let text = "Limit   Soft Limit   Hard Limit   Units\nMax processes  1  2  processes\nMax open files            1024                 524288               files\n";
        assert_eq!(files(text), Some(1024));
        assert_eq!(files(&text.replace("1024  ", "unlimited")), Some(u64::MAX));
        assert_eq!(files(""), None);
    }
}
