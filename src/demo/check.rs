//! The demo without a user: it sends all requests, then edits, breaks and mends a manifest.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::examples::Examples;
use super::request::{ExampleRequest, Kind};
use super::session::{DemoError, Session};
use super::status::DaemonStatus;
use ingressd_echo::Answer;

/// How long a change may take to be served.
const PATIENCE: Duration = Duration::from_secs(30);

/// The manifest that is edited: the text, and its replacement.
const EDITED: (&str, &str, &str) = ("30-hello.yaml", "path: /api", "path: /edited");
/// The manifest that is broken.
const BROKEN: (&str, &str, &str) = ("32-rewrite.yaml", "path: /v1(/|$)(.*)", "path: /v1(?<=a+)(/|$)(.*)");
const BROKEN_INGRESS: &str = "rewrite";

/// Runs the check; see [`super::check()`].
pub async fn check(folder: &Path, output: &mut impl Write) -> Result<bool, DemoError> {
    let copy = tempfile::Builder::new().prefix("ingressd-demo-check-").tempdir();
    let copy = copy.map_err(|source| DemoError::Write { path: std::env::temp_dir(), source })?;
    copy_files(folder, copy.path())?;
    let session = Session::start(copy.path()).await?;
    let mut check = Check { session, folder: copy.path().to_owned(), output, failures: 0 };
    let done = check.run().await;
    let failures = check.failures;
    check.session.stop().await;
    done.map(|()| failures == 0)
}

struct Check<'a, W: Write> {
    session: Session,
    folder: PathBuf,
    output: &'a mut W,
    failures: usize,
}

impl<W: Write> Check<'_, W> {
    async fn run(&mut self) -> Result<(), DemoError> {
        if !self
            .see("everything is served", async |session| Ok(session.status().await?.is_some_and(|s| s.ready)))
            .await?
        {
            return Ok(());
        }
        self.request_everything().await?;
        self.edit_break_and_mend().await
    }

    async fn request_everything(&mut self) -> Result<(), DemoError> {
        let examples = Examples::read(&self.folder)?;
        let requests: Vec<_> = examples.requests()?.into_iter().flat_map(|(_, requests)| requests).collect();
        for example in &requests {
            let (right, seen) = self.judge(example).await;
            self.report(right, &format!("{example}: {seen}"))?;
        }
        for host in examples.hosts() {
            for tls in [false, true] {
                let reaches = |example: &ExampleRequest| example.is_tls() == tls && is_of(&host, example.host());
                if !requests.iter().any(reaches) {
                    let scheme = if tls { "HTTPS" } else { "HTTP" };
                    self.report(false, &format!("no request to {host} over {scheme} is in the examples"))?;
                }
            }
        }
        Ok(())
    }

    /// Whether the response is the expected one, and a description of it.
    async fn judge(&self, example: &ExampleRequest) -> (bool, String) {
        match self.session.client.send(example).await {
            Err(error) => (false, error.to_string()),
            Ok(answer) => {
                let status = answer.status.as_u16();
                let serving = example.kind != Kind::Grpc || status != 200 || answer.grpc_status.as_deref() == Some("0");
                match (status == example.status, serving) {
                    (true, true) => (true, status.to_string()),
                    (true, false) => {
                        (false, format!("grpc-status {}", answer.grpc_status.as_deref().unwrap_or("missing")))
                    }
                    (false, _) => (false, format!("{status} instead of {}", example.status)),
                }
            }
        }
    }

    async fn edit_break_and_mend(&mut self) -> Result<(), DemoError> {
        let (file, old, new) = EDITED;
        self.edit(file, old, new)?;
        self.see_backend("http://hello.localhost/edited", "api").await?;

        let (broken, good, bad) = BROKEN;
        self.edit(broken, good, bad)?;
        let quarantined = |status: &DaemonStatus| status.finding("Quarantined", BROKEN_INGRESS).is_some();
        self.see_status(&format!("Ingress {BROKEN_INGRESS} is quarantined"), &quarantined).await?;
        self.see_backend("http://rewrite.localhost/v1/users", "api").await?;

        self.edit(file, new, old)?;
        self.see_backend("http://hello.localhost/api", "api").await?;
        self.see_status("the broken version is still reported", &quarantined).await?;

        self.edit(broken, bad, good)?;
        self.see_status(&format!("Ingress {BROKEN_INGRESS} is mended"), &|status: &DaemonStatus| !quarantined(status))
            .await?;
        self.see_backend("https://rewrite.localhost/v1/users", "api").await
    }

    fn edit(&mut self, file: &str, old: &str, new: &str) -> Result<(), DemoError> {
        let path = self.folder.join(file);
        let failed = |source| DemoError::Write { path: path.clone(), source };
        let text = std::fs::read_to_string(&path).map_err(failed)?;
        let lines = text.lines().map(|line| match line.trim_start_matches(['-', ' ']) == old {
            true => line.replace(old, new),
            false => line.to_owned(),
        });
        let edited = lines.collect::<Vec<_>>().join("\n") + "\n";
        std::fs::write(&path, &edited).map_err(failed)?;
        self.report(edited != text, &format!("edit {file}: `{old}` becomes `{new}`"))
    }

    async fn see_backend(&mut self, url: &str, backend: &str) -> Result<(), DemoError> {
        let example = ExampleRequest::parse(&format!("200 {url}")).map_err(DemoError::Nginx)?;
        let answers = async |session: &mut Session| {
            let Ok(answer) = session.client.send(&example).await else { return Ok(false) };
            Ok(serde_json::from_slice::<Answer>(&answer.body).is_ok_and(|answer| answer.name == backend))
        };
        self.see(&format!("{url} is answered by {backend}"), answers).await?;
        Ok(())
    }

    async fn see_status(&mut self, what: &str, right: &dyn Fn(&DaemonStatus) -> bool) -> Result<(), DemoError> {
        self.see(what, async |session| Ok(session.status().await?.is_some_and(|status| right(&status)))).await?;
        Ok(())
    }

    /// Waits until a condition holds.
    async fn see(
        &mut self,
        what: &str,
        mut ask: impl AsyncFnMut(&mut Session) -> Result<bool, DemoError>,
    ) -> Result<bool, DemoError> {
        let end = Instant::now() + PATIENCE;
        let mut seen = ask(&mut self.session).await?;
        while !seen && Instant::now() < end {
            sleep(Duration::from_millis(20)).await;
            seen = ask(&mut self.session).await?;
        }
        self.report(seen, what)?;
        if !seen && let Some(status) = self.session.status().await? {
            self.report(false, &format!("the daemon says: {status:?}"))?;
        }
        Ok(seen)
    }

    fn report(&mut self, right: bool, what: &str) -> Result<(), DemoError> {
        self.failures += usize::from(!right);
        writeln!(self.output, "{} {what}", if right { "ok  " } else { "FAIL" }).map_err(DemoError::Output)
    }
}

/// Whether a host of a rule, perhaps a wildcard, matches this one.
fn is_of(rule: &str, host: &str) -> bool {
    match rule.strip_prefix('*') {
        Some(suffix) => host.strip_suffix(suffix).is_some_and(|label| !label.is_empty() && !label.contains('.')),
        None => rule == host,
    }
}

fn copy_files(from: &Path, to: &Path) -> Result<(), DemoError> {
    let failed = |source| DemoError::Write { path: to.to_owned(), source };
    for entry in std::fs::read_dir(from).map_err(|source| DemoError::Write { path: from.to_owned(), source })? {
        let entry = entry.map_err(failed)?;
        if entry.path().is_file() {
            std::fs::copy(entry.path(), to.join(entry.file_name())).map_err(failed)?;
        }
    }
    Ok(())
}
