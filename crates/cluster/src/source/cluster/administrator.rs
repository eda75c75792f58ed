//! The API requests that an administrator makes before a daemon can serve a cluster: applying
//! objects and creating a token.

use std::path::{Path, PathBuf};
use std::time::Duration;

use base64::Engine as _;
use jiff::Timestamp;
use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::{Secret, ServiceAccount};
use k8s_openapi::api::networking::v1::IngressClass;
use kube::api::{ApiResource, DynamicObject, GroupVersionKind, ListParams, Patch, PatchParams, PostParams};
use kube::config::{Cluster, KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::beyond;
use super::kubeconfig::{load, why};
use super::words::{code, remedy, words};
use ingressd_objects::yaml;

/// The field manager for server-side apply.
const MANAGER: &str = "ingressd-kubeconfig";

/// The time limit of a response, and of the connection for it.
const PATIENCE: Duration = Duration::from_secs(15);

/// How long the cluster may take to put a token into a Secret, and to make new rights effective.
const SETTLING: Duration = Duration::from_secs(30);

/// The time between two looks for that.
const LOOK: Duration = Duration::from_millis(200);

/// Why an administrator's request failed.
#[derive(Debug, thiserror::Error)]
pub enum AdministratorError {
    /// The administrator's kubeconfig cannot be used.
    #[error("the kubeconfig cannot be used: {0}")]
    Kubeconfig(String),
    /// The API server cannot be reached, or refuses the request.
    #[error("{what}: {why}")]
    Api {
        /// The attempted action; one clause.
        what: String,
        /// The error.
        why: String,
        /// The HTTP status of an answer that refuses it.
        code: Option<u16>,
    },
    /// The Secret got no token.
    #[error(
        "Secret {0} gets no token: the cluster's controller for tokens of ServiceAccounts does not run; with --duration the API \
         server gives one itself"
    )]
    NoToken(String),
}

/// A token of a ServiceAccount.
pub struct Token {
    /// The text of the token.
    pub text: String,
    /// When it expires; `None` for one that is valid until its Secret is deleted.
    pub ends: Option<Timestamp>,
}

/// A connection to a cluster with the rights of an administrator.
pub struct Administrator {
    pub(super) client: Client,
    cluster: Cluster,
    namespace: String,
}

impl Administrator {
    /// Reads a kubeconfig: this one, the one that the variable `KUBECONFIG` names, or
    /// `~/.kube/config`. Uses the context of this name, or the current one.
    ///
    /// # Errors
    ///
    /// When it cannot be used. Nothing is sent yet.
    pub async fn connect(path: Option<&Path>, context: Option<&str>) -> Result<Self, AdministratorError> {
        let wrong = |why: String| AdministratorError::Kubeconfig(why);
        let read = path.map_or_else(Kubeconfig::read, load);
        let kubeconfig = read.map_err(|error| wrong(why(&error)))?;
        let cluster = cluster_of(&kubeconfig, context).ok_or_else(|| {
            wrong("its context names no cluster that it knows; name another one with --context".to_owned())
        })?;
        let options = KubeConfigOptions { context: context.map(str::to_owned), ..KubeConfigOptions::default() };
        let config = Config::from_custom_kubeconfig(kubeconfig, &options).await.map_err(|error| wrong(why(&error)))?;
        let config = with_deadlines(config);
        let namespace = config.default_namespace.clone();
        let client = Client::try_from(config).map_err(|error| wrong(words(&error)))?;
        Ok(Administrator { client, cluster, namespace })
    }

    /// Creates or updates an object by server-side apply. Fields of other managers stay. What a
    /// role or binding grants beyond this object stays as well, unless `removes`; it is returned.
    ///
    /// # Errors
    ///
    /// The error of the API server.
    pub async fn apply(&self, object: &Value, removes: bool) -> Result<Vec<String>, AdministratorError> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (version, kind) = (text(&object["apiVersion"]), text(&object["kind"]));
        let (group, version) = version.split_once('/').unwrap_or(("", &version));
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, &kind));
        let name = text(&object["metadata"]["name"]);
        let objects: Api<DynamicObject> = match object["metadata"]["namespace"].as_str() {
            Some(namespace) => Api::namespaced_with(self.client.clone(), namespace, &resource),
            None => Api::all_with(self.client.clone(), &resource),
        };
        let failed = |error: kube::Error| failure(format!("{kind} {name} cannot be applied"), &error);
        let mut object = object.clone();
        let mut others = Vec::new();
        if let Some(field) = beyond::field(&kind)
            && let Some(existing) = objects.get_opt(&name).await.map_err(failed)?
        {
            let left = beyond::beyond(&kind, &existing.data, &object);
            others = left.iter().map(|entry| format!("{} ({kind} {name})", beyond::reported(entry))).collect();
            if let Some(entries) = object[field].as_array_mut().filter(|_| !removes) {
                entries.extend(left);
            }
        }
        let parameters = PatchParams::apply(MANAGER).force();
        objects.patch(&name, &parameters, &Patch::Apply(&object)).await.map_err(failed)?;
        Ok(others)
    }

    /// Requests a token that expires. The API server may issue it for a shorter time.
    ///
    /// # Errors
    ///
    /// The error of the API server.
    pub async fn token(&self, namespace: &str, account: &str, life: Duration) -> Result<Token, AdministratorError> {
        let spec = TokenRequestSpec {
            expiration_seconds: Some(i64::try_from(life.as_secs()).unwrap_or(i64::MAX)),
            ..TokenRequestSpec::default()
        };
        let accounts = Api::<ServiceAccount>::namespaced(self.client.clone(), namespace);
        let request = TokenRequest { spec: Some(spec), ..TokenRequest::default() };
        let made = accounts.create_token_request(account, &PostParams::default(), &request).await;
        let what = || format!("no token can be made for ServiceAccount {namespace}/{account}");
        let made = made.map_err(|error| failure(what(), &error))?;
        let status = made.status.unwrap_or_default();
        match (status.token, status.expiration_timestamp) {
            (Some(text), ends) => Ok(Token { text, ends: ends.map(|ends| ends.0) }),
            (None, _) => Err(AdministratorError::Api { what: what(), why: "an empty answer".to_owned(), code: None }),
        }
    }

    /// Waits for the token that the cluster puts into a Secret.
    ///
    /// # Errors
    ///
    /// The error of the API server, or that there is no token in time.
    pub async fn token_of_secret(&self, namespace: &str, name: &str) -> Result<Token, AdministratorError> {
        let secrets = Api::<Secret>::namespaced(self.client.clone(), namespace);
        let end = Instant::now() + SETTLING;
        loop {
            let secret = secrets.get(name).await;
            let secret =
                secret.map_err(|error| failure(format!("Secret {namespace}/{name} cannot be read"), &error))?;
            let token = secret.data.unwrap_or_default().remove("token").map(|token| String::from_utf8(token.0));
            match token {
                Some(Ok(text)) if !text.is_empty() => return Ok(Token { text, ends: None }),
                _ if Instant::now() >= end => return Err(AdministratorError::NoToken(format!("{namespace}/{name}"))),
                _ => sleep(LOOK).await,
            }
        }
    }

    pub fn client(&self) -> Client {
        self.client.clone()
    }

    /// The namespace of the context.
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// The URL of the API server.
    pub fn server(&self) -> &str {
        self.cluster.server.as_deref().unwrap_or_default()
    }

    /// A kubeconfig with this token, as YAML; `server` is the URL of the API server when it is not
    /// the administrator's.
    ///
    /// # Errors
    ///
    /// When the administrator's kubeconfig does not say how the server's certificate is verified,
    /// or names a file that cannot be read.
    pub fn kubeconfig(
        &self,
        account: &str,
        namespace: &str,
        token: &Token,
        server: Option<&str>,
    ) -> Result<String, AdministratorError> {
        let wrong = |why: String| Err(AdministratorError::Kubeconfig(why));
        let Cluster { certificate_authority, certificate_authority_data, tls_server_name, proxy_url, .. } =
            &self.cluster;
        if self.cluster.insecure_skip_tls_verify == Some(true) {
            let why = "it does not check who the API server is (insecure-skip-tls-verify): a token must not be sent like \
                       that; name its authority there";
            return wrong(why.to_owned());
        }
        let Some(server) = server.map(str::to_owned).or_else(|| self.cluster.server.clone()) else {
            return wrong("its cluster has no server".to_owned());
        };
        let authority = match (certificate_authority_data, certificate_authority) {
            (Some(data), _) => Some(data.clone()),
            (None, Some(file)) => match std::fs::read(PathBuf::from(file)) {
                Ok(bytes) => Some(base64::engine::general_purpose::STANDARD.encode(bytes)),
                Err(error) => return wrong(format!("{file}: {error}")),
            },
            // The certificate is verified by the authorities of the system.
            (None, None) => None,
        };
        let mut cluster = json!({ "server": server });
        let others = [
            ("certificate-authority-data", &authority),
            ("tls-server-name", tls_server_name),
            ("proxy-url", proxy_url),
        ];
        for (key, value) in others {
            if let Some(value) = value {
                cluster[key] = json!(value);
            }
        }
        let context = json!({ "cluster": "cluster", "user": account, "namespace": namespace });
        let kubeconfig = json!({
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{ "name": "cluster", "cluster": cluster }],
            "users": [{ "name": account, "user": { "token": token.text } }],
            "contexts": [{ "name": account, "context": context }],
            "current-context": account,
        });
        Ok(yaml::text(&kubeconfig))
    }
}

/// Tries the first request of the daemon with a kubeconfig, and repeats it until new rights are
/// effective.
///
/// # Errors
///
/// The last error of the API server.
pub async fn try_out(path: &Path) -> Result<(), AdministratorError> {
    let wrong = |why: String| AdministratorError::Kubeconfig(why);
    let kubeconfig = load(path).map_err(|error| wrong(words(&error)))?;
    let options = KubeConfigOptions::default();
    let config = Config::from_custom_kubeconfig(kubeconfig, &options).await.map_err(|error| wrong(words(&error)))?;
    let config = with_deadlines(config);
    let client = Client::try_from(config).map_err(|error| wrong(words(&error)))?;
    let classes = Api::<IngressClass>::all(client);
    let end = Instant::now() + SETTLING;
    loop {
        match classes.list(&ListParams::default().limit(1)).await {
            Ok(_) => return Ok(()),
            Err(kube::Error::Api(status)) if matches!(status.code, 401 | 403) && Instant::now() < end => {
                sleep(LOOK).await;
            }
            Err(error) => return Err(failure("the new credentials do not work".to_owned(), &error)),
        }
    }
}

fn with_deadlines(mut config: Config) -> Config {
    (config.connect_timeout, config.read_timeout) = (Some(PATIENCE), Some(PATIENCE));
    config
}

/// The name of the cluster of a context.
fn cluster_of(kubeconfig: &Kubeconfig, context: Option<&str>) -> Option<Cluster> {
    let name = context.or(kubeconfig.current_context.as_deref())?;
    let context = kubeconfig.contexts.iter().find(|context| context.name == name)?.context.as_ref()?;
    let named = kubeconfig.clusters.iter().find(|cluster| cluster.name == context.cluster)?;
    named.cluster.clone()
}

pub(super) fn failure(what: String, error: &kube::Error) -> AdministratorError {
    let code = code(error);
    let remedy = match code {
        Some(401) => Some("log in again, or name another kubeconfig with --admin-kubeconfig"),
        Some(403) => Some("have a user run this who may do that, such as an administrator of the cluster"),
        _ => remedy(error),
    };
    let why = remedy.map_or_else(|| words(error), |remedy| format!("{}: {remedy}", words(error)));
    AdministratorError::Api { what, why, code }
}
