//! The command `kubeconfig`: gives a node its rights in a cluster and writes its kubeconfig, with
//! the rights of an administrator.

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tempfile::NamedTempFile;

use super::exit::{Ended, Exit};
use super::output;
use super::settings::SettingsArguments;
use super::waiting::waiting;
use crate::daemon::access::Grant;
use ingressd_cluster::source::cluster::{self, Administrator, AdministratorError, DEFAULT_KUBECONFIG, Token};
use ingressd_config::{Settings, duration};
use ingressd_model::is_subdomain;
use ingressd_objects::yaml;

/// Arguments of `ingressd kubeconfig`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
    The command makes a ServiceAccount in the namespace of publish.namespace. The account may do what the \
    daemon needs under these settings and nothing else: by Roles where the setting namespaces names \
    namespaces, otherwise by a ClusterRole. When the command runs again, on this node or another one, it adds \
    what is missing; what these settings do not need is shown and stays without --remove-rights. To take \
    the rights from every node that has this account, run `ingressd kubeconfig --print --without-namespace | \
    kubectl delete --ignore-not-found -f -`. The Namespace stays, because it may hold other objects.\n\n\
    The token is kept in a Secret and is valid until that is deleted. With --duration it ends by itself, and \
    the kubeconfig has to be written again before that. The daemon uses the new one without a restart.")]
pub struct Arguments {
    /// Only show the manifests that would be applied.
    #[arg(long)]
    print: bool,
    /// Do not create the Namespace of publish.namespace, because it exists already.
    #[arg(long)]
    without_namespace: bool,
    /// Kubeconfig of an administrator. The default is the file that the variable KUBECONFIG names,
    /// or ~/.kube/config.
    #[arg(long, value_name = "FILE")]
    admin_kubeconfig: Option<PathBuf>,
    /// Context of the administrator's kubeconfig. The default is its current one.
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
    /// File to write. The default is the one that the settings name, or /etc/ingressd/kubeconfig.
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replace the file if it exists.
    #[arg(long)]
    force: bool,
    /// Name of the ServiceAccount. The default is publish.lease: each group of nodes has an
    /// account of its own, and so have each instance and a node side by side with ingress-nginx.
    #[arg(long, value_name = "NAME", value_parser = account)]
    account: Option<String>,
    /// Take away what the roles grant beyond the needs of these settings. Other nodes with this
    /// account may need it, so it stays otherwise, and is only shown.
    #[arg(long)]
    remove_rights: bool,
    /// Let the token end after this time, such as 720h, instead of keeping one in a Secret.
    #[arg(long, value_name = "DURATION", value_parser = life)]
    duration: Option<Duration>,
    /// URL by which the node reaches the API server. The default is the administrator's.
    #[arg(long, value_name = "URL", value_parser = server)]
    server: Option<String>,
    #[command(flatten)]
    settings: SettingsArguments,
}

fn account(text: &str) -> Result<String, String> {
    match is_subdomain(text) {
        true => Ok(text.to_owned()),
        false => Err("it is not a name of lower-case letters, digits, hyphens and dots".to_owned()),
    }
}

fn life(text: &str) -> Result<Duration, String> {
    let life = duration(text).ok().filter(|duration| *duration >= SHORTEST);
    life.ok_or_else(|| "it takes at least 10m, such as 720h".to_owned())
}

fn server(text: &str) -> Result<String, String> {
    match url::Url::parse(text).is_ok_and(|url| url.scheme() == "https" && url.has_host()) {
        true => Ok(text.to_owned()),
        false => Err("it takes a URL that begins with https://".to_owned()),
    }
}

/// The shortest lifetime of a token that API servers issue.
const SHORTEST: Duration = Duration::from_secs(600);

/// Runs the command.
pub fn run(arguments: &Arguments) -> Ended {
    let settings = arguments.settings.load_without_templates()?;
    let account = arguments.account.as_deref().unwrap_or(&settings.publish.lease);
    let grant = Grant::of(&settings, account);
    let mut documents = match arguments.without_namespace {
        true => grant.documents_within(),
        false => grant.documents(),
    };
    if arguments.duration.is_none() {
        documents.push(grant.secret());
    }
    if arguments.print {
        return output::show(documents.concat(), Exit::Success);
    }
    let path = path(arguments, &settings);
    // This is checked before anything changes in the cluster.
    if !arguments.force && path.symlink_metadata().is_ok() {
        return Err(there_already(&path));
    }
    let runtime = super::runtime::start()?;
    let unwritten = |error: io::Error| {
        complain!("ingressd: {} cannot be written: {error}", path.display());
        Exit::of_error(&error)
    };
    let begun = Begun::at(&path).map_err(unwritten)?;
    runtime.block_on(async {
        let obtaining = waiting("the API server");
        let obtained = obtain(arguments, &grant, &documents).await;
        drop(obtaining);
        let (text, token) = obtained.map_err(|error| complain(&error))?;
        begun.finish(&text, arguments.force).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => there_already(&path),
            _ => unwritten(error),
        })?;
        report(&path, &grant, arguments.duration, &token);
        let _waiting = waiting("the API server to know the new credentials");
        cluster::try_out(&path).await.map_err(|error| complain(&error))?;
        Ok(Exit::Success)
    })
}

fn path(arguments: &Arguments, settings: &Settings) -> PathBuf {
    let named = arguments.output.clone().or_else(|| settings.cluster.kubeconfig.clone());
    named.unwrap_or_else(|| PathBuf::from(DEFAULT_KUBECONFIG))
}

fn there_already(path: &Path) -> Exit {
    complain!("ingressd: {} is there already and stays; --force replaces it", path.display());
    Exit::CannotCreate
}

fn complain(error: &AdministratorError) -> Exit {
    // The error may quote others: control characters must not reach the terminal.
    complain!("ingressd: {}", error.to_string().replace(char::is_control, " "));
    match error {
        AdministratorError::Kubeconfig(_) => Exit::Configuration,
        AdministratorError::Api { code: Some(401 | 403), .. } => Exit::Permission,
        AdministratorError::Api { .. } | AdministratorError::NoToken(_) => Exit::Unavailable,
    }
}

/// Applies the manifests, and returns the kubeconfig with the token.
async fn obtain(
    arguments: &Arguments,
    grant: &Grant,
    documents: &[String],
) -> Result<(String, Token), AdministratorError> {
    let (admin, context) = (arguments.admin_kubeconfig.as_deref(), arguments.context.as_deref());
    let administrator = Administrator::connect(admin, context).await?;
    let server = arguments.server.as_deref();
    // A problem of the administrator's own kubeconfig is found before anything is created in the
    // cluster.
    administrator.kubeconfig(&grant.account, &grant.namespace, &Token { text: String::new(), ends: None }, server)?;
    complain!("asking the API server {}", administrator.server().escape_debug());
    for document in documents {
        for object in yaml::values(document) {
            for right in administrator.apply(&object, arguments.remove_rights).await? {
                match arguments.remove_rights {
                    true => complain!("removed: {}", right.escape_debug()),
                    false => complain!(
                        "stays: {}, which these settings do not need and other nodes may; --remove-rights takes it away",
                        right.escape_debug()
                    ),
                }
            }
        }
    }
    let token = match arguments.duration {
        Some(life) => administrator.token(&grant.namespace, &grant.account, life).await?,
        None => administrator.token_of_secret(&grant.namespace, &grant.secret_name()).await?,
    };
    let text = administrator.kubeconfig(&grant.account, &grant.namespace, &token, server)?;
    Ok((text, token))
}

/// A temporary file for the kubeconfig, created first: missing rights are noticed before anything
/// changes elsewhere.
struct Begun {
    path: PathBuf,
    folder: PathBuf,
    file: NamedTempFile,
}

impl Begun {
    fn at(path: &Path) -> io::Result<Begun> {
        let path = std::path::absolute(path)?;
        if path.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        let folder = path.parent().unwrap_or(Path::new("/")).to_owned();
        fs::DirBuilder::new().recursive(true).mode(0o755).create(&folder)?;
        // The file is created with mode 0600, so that only its owner can ever read it.
        let file = tempfile::Builder::new().prefix(".kubeconfig-").tempfile_in(&folder)?;
        Ok(Begun { path, folder, file })
    }

    /// Renames the complete file to its final name. An existing file stays unless it is to be
    /// replaced.
    fn finish(mut self, text: &str, replace: bool) -> io::Result<()> {
        self.file.write_all(text.as_bytes())?;
        self.file.as_file().sync_all()?;
        match replace {
            true => self.file.persist(&self.path)?,
            false => self.file.persist_noclobber(&self.path)?,
        };
        fs::File::open(&self.folder)?.sync_all()
    }
}

fn report(path: &Path, grant: &Grant, asked: Option<Duration>, token: &Token) {
    say!("{} is written, for ServiceAccount {}/{}", path.display(), grant.namespace, grant.account);
    let Some(ends) = token.ends else {
        say!("its token lasts until Secret {}/{} is deleted", grant.namespace, grant.secret_name());
        return;
    };
    say!("its token ends at {ends}: write it again before, with --force");
    let left = Duration::try_from(ends.duration_since(jiff::Timestamp::now())).unwrap_or_default();
    if asked.is_some_and(|asked| left < asked - asked / 20) {
        say!("the API server gives no longer ones");
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn the_file_is_for_its_owner_alone_and_not_replaced_by_accident() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new/kubeconfig");
        let write = |text: &str, replace| Begun::at(&path)?.finish(text, replace);
        write("one", false).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let again = write("two", false).unwrap_err();
        assert_eq!((again.kind(), &*fs::read_to_string(&path).unwrap()), (io::ErrorKind::AlreadyExists, "one"));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        write("two", true).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "two");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1, "nothing is left behind");
        assert_eq!(Begun::at(folder.path()).err().map(|error| error.kind()), Some(io::ErrorKind::IsADirectory));
    }

    #[test]
    fn values_of_flags_are_checked() {
        assert!(life("720h").is_ok() && life("5m").is_err() && life("soon").is_err());
        assert!(server("https://10.0.0.1:6443").is_ok() && server("http://10.0.0.1").is_err() && server("x").is_err());
        assert!(account("edge-1").is_ok() && account("Edge").is_err() && account("a\nb").is_err());
    }
}
