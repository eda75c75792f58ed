//! Gathers facts about nginx: capabilities, files and processes.

use std::path::{Path, PathBuf};

use procfs::process::{FDTarget, LimitValue, Process};

use super::objects::Translated;
use crate::doctor::facts::{Nginx, NoNginx, OpenFiles};
use crate::setup::Layout;
use ingressd_apply::process::{Role, Table};
use ingressd_apply::{ApplyError, Host as _, System};
use ingressd_config::Settings;
use ingressd_nginx::{Gated, wanted};
use ingressd_translate::Translation;

/// Gathers facts about the nginx of the settings, given the translation that it would get.
pub fn look(settings: &Settings, translated: Translated) -> Result<Nginx, NoNginx> {
    let Translated { mut composition, translation: Translation { model, tables, .. } } = translated;
    let mut system = System::new(settings.system_options());
    let master = system.master().map_err(|why| why.to_string()).and_then(|master| {
        let table = system.table(master).map_err(|error| error.to_string())?;
        table.ok_or_else(|| format!("process {} ended while it was looked at", master.pid))
    });
    let survey = settings.survey().and_then(|survey| survey.with_files(&settings.gate));
    // A running nginx is the host's nginx, also where its configuration cannot be read any more.
    let survey = match survey {
        Ok(survey) => survey.run_by(system.version()),
        Err(error) => {
            let is_configuration = matches!(error, ApplyError::Configuration { .. });
            let tested = is_configuration.then(|| system.test(None).map_err(|error| error.to_string()));
            return Err(NoNginx { why: error.to_string(), tested, master });
        }
    };
    let layout = match Layout::read(settings) {
        Ok(layout) => layout,
        Err(error) => {
            let why = format!("cannot read {}: {error}", settings.nginx.configuration.display());
            return Err(NoNginx { why, tested: None, master });
        }
    };
    let tested = system.test(None).map_err(|error| error.to_string());
    let worker_files = master.as_ref().ok().and_then(worker_files);
    let master_files = master.as_ref().ok().and_then(master_files);
    let wanted = wanted(&model, &settings.gate);
    let Gated { findings, .. } = composition.pass(&model, &tables, &survey.capabilities, &survey.other_sites);
    Ok(Nginx { survey, layout, tested, master, worker_files, master_files, wanted, findings })
}

/// The limit of open files of the first worker.
fn worker_files(table: &Table) -> Option<u64> {
    let worker = table.in_role(Role::Worker).next()?;
    most_files(&process(worker.pid)?)
}

fn master_files(table: &Table) -> Option<OpenFiles> {
    let master = process(table.master.pid)?;
    let open = master.fd_count().ok()?.try_into().ok()?;
    Some(OpenFiles { open, limit: most_files(&master)? })
}

fn most_files(process: &Process) -> Option<u64> {
    match process.limits().ok()?.max_open_files.soft_limit {
        LimitValue::Unlimited => Some(u64::MAX),
        LimitValue::Value(number) => Some(number),
    }
}

fn process(pid: u32) -> Option<Process> {
    Process::new(pid.try_into().ok()?).ok()
}

/// The folders of the files that the master writes to: its logs.
pub fn log_folders(table: &Table) -> Vec<PathBuf> {
    let open = process(table.master.pid).and_then(|master| master.fd().ok());
    let files = open.into_iter().flatten().flatten().filter_map(|open| match open.target {
        FDTarget::Path(path) if path.is_file() => path.parent().map(Path::to_owned),
        _ => None,
    });
    let mut folders: Vec<_> = files.collect();
    folders.sort();
    folders.dedup();
    folders
}
