//! The command `demo`: it must not know the other commands.

use std::io::{ErrorKind, IsTerminal, stdout};
use std::path::PathBuf;

use super::exit::Exit;
use crate::demo::{self, DemoError};

/// Arguments of `ingressd demo`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Folder of manifests to serve and watch.
    #[arg(long, value_name = "FOLDER", default_value = "examples/demo")]
    manifests: PathBuf,
    /// Do not wait for anybody: request every URL of a copy of the manifests, edit, break and mend one, and tell what happened.
    #[arg(long)]
    check: bool,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Exit {
    let runtime = match tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return complain(&DemoError::Daemon(error.to_string())),
    };
    let done = runtime.block_on(async {
        match arguments.check {
            true => demo::check(&arguments.manifests, &mut stdout()).await,
            false => demo::serve(&arguments.manifests, &mut stdout(), stdout().is_terminal()).await.map(|()| true),
        }
    });
    match done {
        Ok(true) => Exit::Success,
        Ok(false) => Exit::Findings,
        Err(error) => complain(&error),
    }
}

fn complain(error: &DemoError) -> Exit {
    // Whoever watched has seen enough.
    if matches!(error, DemoError::Output(error) if error.kind() == ErrorKind::BrokenPipe) {
        return Exit::Success;
    }
    complain!("ingressd demo: {error}");
    match error {
        DemoError::Write { source, .. } | DemoError::Listen { source, .. } => Exit::of_error(source),
        _ => Exit::Unavailable,
    }
}
