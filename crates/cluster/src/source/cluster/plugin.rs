//! Runs the credential plugin of a kubeconfig, and puts its credentials into the user's entry.

use std::io;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use kube::config::{AuthInfo, ExecConfig};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use rustix::process::{Resource, Rlimit, getrlimit, prlimit};
use serde::Deserialize;
use serde_json::json;
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::Command;

use ingressd_objects::yaml;

/// How long a plugin may take.
pub const LIMIT: Duration = Duration::from_secs(60);

/// The most bytes that are kept of a plugin's standard output, and of its standard error.
const LONGEST_ANSWER: u64 = 1024 * 1024;
const LONGEST_COMPLAINT: u64 = 400;

/// Why a plugin returned no credentials. Its standard output may be secret and is never shown.
#[derive(Debug, thiserror::Error)]
pub enum PluginError {
    /// The kubeconfig names no command.
    #[error("the kubeconfig names a credential plugin (exec) without a command")]
    NoCommand,
    /// It does not start.
    #[error("the credential plugin {command} cannot be run: {source}{hint}")]
    Start {
        command: String,
        /// The error of the system.
        source: io::Error,
        /// The `installHint` of the kubeconfig.
        hint: String,
    },
    /// Its output could not be read.
    #[error("the credential plugin {command} cannot be listened to: {source}")]
    Read {
        command: String,
        /// The error of the system.
        source: io::Error,
    },
    /// It exceeded the time limit and was killed.
    #[error("the credential plugin {command} did not end within {} s", LIMIT.as_secs())]
    Slow { command: String },
    /// It exited with an error.
    #[error("the credential plugin {command} failed ({status}): {complaint}")]
    Failed {
        command: String,
        /// Its exit status.
        status: ExitStatus,
        /// Its standard error.
        complaint: String,
    },
    /// Its output cannot be used.
    #[error("the credential plugin {command} gave {what}")]
    Useless {
        command: String,
        /// What is wrong with the output.
        what: &'static str,
    },
}

/// The output of a plugin.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Credential {
    #[serde(default)]
    api_version: Option<String>,
    #[serde(default)]
    status: Option<Given>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Given {
    expiration_timestamp: Option<Timestamp>,
    token: Option<String>,
    client_certificate_data: Option<String>,
    client_key_data: Option<String>,
}

/// Whether the credentials of this user come from a plugin; all other entries take precedence.
pub fn is_needed(user: &AuthInfo) -> bool {
    let has_password = user.username.is_some() && user.password.is_some();
    user.exec.is_some()
        && !(has_password || user.token.is_some() || user.token_file.is_some() || user.auth_provider.is_some())
}

/// Runs the plugin and replaces its entry by its credentials, so that the library does not run it
/// again. Returns when they expire, if they do.
///
/// # Errors
///
/// When it returns no credentials.
pub async fn replace(user: &mut AuthInfo) -> Result<Option<Timestamp>, PluginError> {
    let Some(plugin) = user.exec.take() else { return Ok(None) };
    let command = plugin.command.clone().ok_or(PluginError::NoCommand)?;
    let answer = run(&plugin, &command).await?;
    let useless = |what| PluginError::Useless { command: command.clone(), what };
    // The output is parsed as YAML, which includes JSON: some plugins write YAML.
    let text = std::str::from_utf8(&answer).map_err(|_| useless("something that is no text"))?;
    if text.trim().is_empty() {
        return Err(useless("nothing"));
    }
    let credential: Credential = yaml::parse(text).map_err(|_| useless("something that is no ExecCredential"))?;
    if plugin.api_version.is_some() && credential.api_version != plugin.api_version {
        return Err(useless("an ExecCredential of another version than the kubeconfig asks for"));
    }
    let given = credential.status.ok_or_else(|| useless("an ExecCredential without a status"))?;
    let pair = given.client_certificate_data.zip(given.client_key_data);
    if pair.is_none() && given.token.is_none() {
        return Err(useless("neither a token nor a certificate with its key"));
    }
    if let Some((certificate, key)) = pair {
        user.client_certificate_data = Some(STANDARD.encode(certificate));
        user.client_key_data = Some(STANDARD.encode(key).into());
    }
    user.token = given.token.map(Into::into);
    Ok(given.expiration_timestamp)
}

/// As many files as programs may have open where nobody says otherwise.
const FILES: u64 = 1024;

/// Gives the plugin the usual limit of open files, not the daemon's: it may use select(2), or
/// close every file up to the limit.
fn limit_files(plugin: Option<u32>) {
    let plugin = plugin.and_then(|plugin| rustix::process::Pid::from_raw(plugin.try_into().ok()?));
    let limit = getrlimit(Resource::Nofile);
    let current = limit.current.map(|current| current.min(FILES));
    if let Some(plugin) = plugin {
        // A plugin that has ended already needs none.
        let _ = prlimit(Some(plugin), Resource::Nofile, Rlimit { current, maximum: limit.maximum });
    }
}

/// Runs the plugin within the time limit and returns its standard output.
async fn run(plugin: &ExecConfig, command: &str) -> Result<Vec<u8>, PluginError> {
    let named = |source| PluginError::Read { command: command.to_owned(), source };
    let mut process = Command::new(command);
    process.args(plugin.args.iter().flatten());
    let variables = plugin.env.iter().flatten();
    process.envs(variables.filter_map(|variable| Some((variable.get("name")?, variable.get("value")?))));
    process.env("KUBERNETES_EXEC_INFO", information(plugin));
    // The plugin has no terminal for questions. It leads a process group, so that the processes it
    // starts are killed with it.
    process.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0).kill_on_drop(true);
    let mut child = process.spawn().map_err(|source| PluginError::Start {
        command: command.to_owned(),
        source,
        hint: plugin.install_hint.as_ref().map(|hint| format!("; {}", hint.trim())).unwrap_or_default(),
    })?;
    let (output, errors) = (child.stdout.take(), child.stderr.take());
    let mut group = Group(child.id());
    limit_files(child.id());
    let work = async {
        let (output, errors) = tokio::try_join!(read(output, LONGEST_ANSWER), read(errors, LONGEST_COMPLAINT))?;
        Ok((child.wait().await?, output, errors))
    };
    let ended = tokio::time::timeout(LIMIT, work).await;
    let (status, output, errors) =
        ended.map_err(|_| PluginError::Slow { command: command.to_owned() })?.map_err(named)?;
    group.0 = None;
    match status.success() {
        true => Ok(output),
        false => {
            let complaint = String::from_utf8_lossy(&errors).trim().escape_debug().to_string();
            Err(PluginError::Failed { command: command.to_owned(), status, complaint })
        }
    }
}

/// The input of the plugin: a JSON object of the kind that it responds with.
fn information(plugin: &ExecConfig) -> String {
    let mut specification = json!({ "interactive": false });
    if let (true, Some(cluster)) = (plugin.provide_cluster_info, &plugin.cluster) {
        specification["cluster"] = serde_json::to_value(cluster).unwrap_or_default();
    }
    json!({ "apiVersion": plugin.api_version, "kind": "ExecCredential", "spec": specification }).to_string()
}

/// The first bytes of the output. The rest is read and dropped: a process that writes into a
/// closed pipe is killed.
async fn read(from: Option<impl AsyncRead + Unpin>, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if let Some(mut from) = from {
        (&mut from).take(most).read_to_end(&mut bytes).await?;
        tokio::io::copy(&mut from, &mut tokio::io::sink()).await?;
    }
    Ok(bytes)
}

/// A process group that is killed when this value is dropped, unless its leader was seen to end.
struct Group(Option<u32>);

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(leader) = self.0.and_then(|leader| i32::try_from(leader).ok()) {
            // The group may have ended by itself.
            let _ = killpg(Pid::from_raw(leader), Signal::SIGKILL);
        }
    }
}
