//! A private nginx and backends that answer for themselves, to try ingressd without a cluster; it must not know how a cluster is read.

mod certificates;
mod check;
mod client;
mod daemon;
pub mod echo;
mod examples;
mod nginx;
mod screen;
mod session;
mod status;
mod trial;

pub use check::check;
pub use session::{DemoError, HTTP_PORT, HTTPS_PORT};

use std::io::Write;
use std::path::Path;

use session::Session;

/// Serves the manifests of a folder until a signal, and shows what is served.
///
/// # Errors
///
/// When nginx is missing, a port is taken, or a file cannot be read or written.
pub async fn serve(folder: &Path, output: &mut impl Write, terminal: bool) -> Result<(), DemoError> {
    let mut session = Session::start(folder).await?;
    let shown = screen::show(&mut session, output, terminal).await;
    session.stop().await;
    shown
}
