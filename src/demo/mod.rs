//! A private nginx and example backends, to try ingressd without a cluster.

mod backends;
mod certificates;
mod check;
mod client;
mod daemon;
mod examples;
mod nginx;
mod request;
mod screen;
mod session;
mod signals;
mod status;
mod supplies;

pub use session::{DemoError, HTTP_PORT, HTTPS_PORT};

use std::io::Write;
use std::path::Path;

use session::Session;

/// The settings by which manifests are judged as the demo serves them.
pub fn settings_to_judge() -> [(&'static str, String); 4] {
    [
        ("classes", session::classes()),
        ("upstreams.local", true.to_string()),
        ("listen.http-port", HTTP_PORT.to_string()),
        ("listen.https-port", HTTPS_PORT.to_string()),
    ]
}

/// Runs the check on a copy of a folder of manifests, and prints a line for each step. Returns
/// whether everything succeeded; false after a signal.
///
/// # Errors
///
/// When the demo cannot run at all.
pub async fn check(folder: &Path, output: &mut impl Write) -> Result<bool, DemoError> {
    signals::unless_ended(check::check(folder, output)).await.unwrap_or(Ok(false))
}

/// Serves the manifests of a folder until a signal arrives, and shows what is served.
///
/// # Errors
///
/// When nginx is missing, a port is in use, or a file cannot be read or written.
pub async fn serve(folder: &Path, output: &mut impl Write, terminal: bool) -> Result<(), DemoError> {
    let Some(session) = signals::unless_ended(Session::start(folder)).await else { return Ok(()) };
    let mut session = session?;
    let shown = screen::show(&mut session, output, terminal).await;
    session.stop().await;
    shown
}
