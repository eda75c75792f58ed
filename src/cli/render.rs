//! The command `render`: shows the configuration for manifests, without a daemon.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use super::exit::{Ended, Exit};
use super::offline::Manifests;
use super::output;
use ingressd_apply::unless_missing;
use ingressd_nginx::render::{FileSet, Renderer};

/// The mark of a folder that an earlier `render` wrote, so that it may be overwritten.
const MARK: &str = ".ingressd-render";

/// Arguments of `ingressd render`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    manifests: Manifests,
    /// Write files to this folder, which must be empty or written by an earlier `render`, instead
    /// of standard output.
    #[arg(long, value_name = "FOLDER")]
    output: Option<PathBuf>,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Ended {
    let processed = arguments.manifests.process(false, Vec::new())?;
    for finding in &processed.findings {
        complain!("{}: {finding}", finding.severity.name());
    }
    if let Some(unknown) = processed.unknown() {
        complain!("note: {unknown}; without addresses its upstream answers 503");
    }
    let files = Renderer::of(&processed.instance, &processed.templates).render(&processed.plan).together();
    let Some(folder) = &arguments.output else {
        return output::show_foreign(text(&files), Exit::Success);
    };
    match write(&files, folder) {
        Ok(()) => Ok(Exit::Success),
        Err(error) => {
            complain!("ingressd: {} cannot be written: {error}", folder.display());
            Err(Exit::of_error(&error))
        }
    }
}

fn text(files: &FileSet) -> Vec<u8> {
    let mut text = Vec::new();
    for (path, file) in &files.files {
        match file.content.secret {
            true => text.extend(format!("# {path}: secret, not shown\n").into_bytes()),
            false => {
                text.extend(format!("# {path}\n").into_bytes());
                text.extend_from_slice(&file.content.bytes());
            }
        }
    }
    text
}

fn write(files: &FileSet, folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let mark = folder.join(MARK);
    if fs::read_dir(folder)?.next().is_some() && !mark.is_file() {
        return Err(io::Error::other("it holds files that render did not write"));
    }
    fs::write(&mark, "")?;
    for name in ["http", "stream", "certs", "auth", "empty"] {
        unless_missing(fs::remove_dir_all(folder.join(name)))?;
    }
    for (path, file) in &files.files {
        let path = folder.join(&**path);
        let mode = if file.content.secret { 0o600 } else { 0o644 };
        if let Some(parent) = path.parent() {
            DirBuilder::new().recursive(true).mode(0o755).create(parent)?;
        }
        let mut created = OpenOptions::new().write(true).create_new(true).mode(mode).open(&path)?;
        created.write_all(&file.content.bytes())?;
    }
    Ok(())
}
