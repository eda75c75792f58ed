//! The command `run`: turns signals into requests to the daemon, and its end into an exit status.

use std::path::PathBuf;
use std::sync::Arc;

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{mpsc, watch};

use super::exit::{Ended, Exit};
use super::settings::SettingsArguments;
use crate::daemon::{self, Error, KindTables, Request, Status};
use ingressd_cluster::source::cluster::KubeconfigError;
use ingressd_config::Settings;

/// Arguments of `ingressd run`.
#[derive(Debug, Clone, clap::Args)]
#[command(after_long_help = "\
    Signals: TERM and INT end the daemon, and nginx goes on; HUP makes it read the settings again, as \
    `ingressd reload` does.")]
pub struct Arguments {
    /// File with the address of the cluster to serve, and with the credentials for it.
    #[arg(long, value_name = "FILE", conflicts_with = "manifests")]
    kubeconfig: Option<PathBuf>,
    /// Folder of manifests to serve and watch instead of a cluster.
    #[arg(long, value_name = "FOLDER")]
    manifests: Option<PathBuf>,
    /// Address for /healthz, /readyz, /metrics and /status.json.
    #[arg(long, value_name = "ADDRESS:PORT")]
    http_address: Option<String>,
    /// Lowest level that is logged: error, warn, info, debug or trace.
    #[arg(long, value_name = "LEVEL")]
    log_level: Option<String>,
    #[command(flatten)]
    settings: SettingsArguments,
}

impl Arguments {
    fn named(&self) -> Vec<(&'static str, String)> {
        let absolute = |path: &PathBuf| {
            // Settings have absolute paths; relative ones on the command line start from the
            // working directory.
            let path = std::path::absolute(path).unwrap_or_else(|_| path.clone());
            path.to_string_lossy().into_owned()
        };
        let kubeconfig = self.kubeconfig.as_ref().map(|path| ("kubeconfig", absolute(path)));
        let manifests = self.manifests.as_ref().map(|path| ("manifests", absolute(path)));
        let http = self.http_address.clone().map(|address| ("http.address", address));
        let level = self.log_level.clone().map(|level| ("log.level", level));
        [kubeconfig, manifests, http, level].into_iter().flatten().collect()
    }
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Ended {
    let settings = arguments.settings.load(arguments.named())?;
    daemon::log::start(&settings.log).map_err(|error| {
        complain!("ingressd: {error}");
        Exit::Configuration
    })?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.map_err(|error| {
        complain!("ingressd: threads cannot be started: {error}");
        Exit::of_error(&error)
    })?;
    runtime.block_on(serve(arguments.clone(), settings)).map_err(|error| {
        let remedy = match &error {
            Error::Kubeconfig(KubeconfigError::Read { .. } | KubeconfigError::Invalid { .. }) => {
                "; `ingressd kubeconfig` writes one"
            }
            _ => "",
        };
        tracing::error!("{error}{remedy}");
        exit_of(&error)
    })?;
    Ok(Exit::Success)
}

async fn serve(arguments: Arguments, settings: Settings) -> Result<(), Error> {
    let (sender, requests) = mpsc::channel(1);
    let (status, _) = watch::channel(Arc::<Status>::default());
    let load = move || {
        let loaded = arguments.settings.sources(arguments.named()).load();
        loaded.map(Box::new).map_err(|error| error.to_string())
    };
    let listening = tokio::spawn(listen(sender));
    let ended = daemon::run(settings, KindTables::default(), Box::new(load), requests, status).await;
    listening.abort();
    ended
}

/// Passes signals on as long as the daemon runs.
async fn listen(requests: mpsc::Sender<Request>) -> std::io::Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut hang_up = signal(SignalKind::hangup())?;
    loop {
        let request = tokio::select! {
            _ = terminate.recv() => Request::Stop,
            _ = interrupt.recv() => Request::Stop,
            _ = hang_up.recv() => Request::Reload,
        };
        if requests.send(request).await.is_err() {
            return Ok(());
        }
    }
}

fn exit_of(error: &Error) -> Exit {
    match error {
        Error::NoSource => Exit::Configuration,
        error if error.is_permission() => Exit::Permission,
        Error::Kubeconfig(_) => Exit::Configuration,
        Error::Http { source, .. } | Error::Control { source, .. } => Exit::of_error(source),
        Error::Source(_) | Error::Pipeline(_) => Exit::Unavailable,
    }
}
