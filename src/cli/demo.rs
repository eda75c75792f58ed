//! The command `demo`: serves example manifests with a private nginx.

use std::io::{ErrorKind, IsTerminal, stdout};
use std::path::PathBuf;

use super::exit::Exit;
use crate::demo::{self, DemoError};

/// The folders of the examples: in a clone of the repository, and in packages.
const PLACES: [&str; 2] = ["examples/demo", "/usr/share/ingressd/demo"];

/// Arguments of `ingressd demo`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Folder of manifests to serve and watch, such as your own: a Service without EndpointSlices
    /// gets a backend that answers with what reached it, and a Secret for TLS that is missing gets
    /// a certificate. The default is examples/demo here, or /usr/share/ingressd/demo where that
    /// does not exist.
    #[arg(value_name = "FOLDER")]
    manifests: Option<PathBuf>,
    /// Run without a user: request every URL of a copy of the manifests, change, break and correct
    /// one of them, and report the result.
    #[arg(long)]
    check: bool,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Exit {
    let runtime = match tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return complain(&DemoError::Daemon(error.to_string())),
    };
    let manifests = arguments.manifests.clone().unwrap_or_else(|| {
        let places = PLACES.map(PathBuf::from);
        places.iter().find(|place| place.is_dir()).unwrap_or(&places[0]).clone()
    });
    let done = runtime.block_on(async {
        match arguments.check {
            true => demo::check(&manifests, &mut stdout()).await,
            false => demo::serve(&manifests, &mut stdout(), stdout().is_terminal()).await.map(|()| true),
        }
    });
    match done {
        Ok(true) => Exit::Success,
        Ok(false) => Exit::Findings,
        Err(error) => complain(&error),
    }
}

fn complain(error: &DemoError) -> Exit {
    // The reader of the output has gone, which is no error.
    if matches!(error, DemoError::Output(error) if error.kind() == ErrorKind::BrokenPipe) {
        return Exit::Success;
    }
    complain!("ingressd demo: {error}");
    match error {
        DemoError::Write { source, .. } | DemoError::Listen { source, .. } => Exit::of_error(source),
        _ => Exit::Unavailable,
    }
}
