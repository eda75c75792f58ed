//! The flags by which commands find their settings.

use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use crate::cli::exit::Exit;
use ingressd_config::{Error, Settings, Sources};
use ingressd_model::Instance;

/// Flags for settings, to be flattened into the arguments of a command.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct SettingsArguments {
    /// Name of an instance, where several ingressd share this host. Its settings are in
    /// /etc/ingressd/NAME/, and its folders end with the name.
    #[arg(long, value_name = "NAME", env = "INGRESSD_INSTANCE", value_parser = instance, default_value = "", hide_default_value = true)]
    pub instance: Instance,
    /// Settings file to read instead of /etc/ingressd/ingressd.toml. Its drop-ins are the files
    /// conf.d/*.toml beside it.
    #[arg(long, value_name = "FILE", env = "INGRESSD_CONFIG")]
    pub config: Option<PathBuf>,
    /// Set one key of ingressd.toml(5). This option may be repeated.
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = key_and_value)]
    pub set: Vec<(String, String)>,
}

fn instance(text: &str) -> Result<Instance, String> {
    Instance::new(text).map_err(|why| why.0.into_owned())
}

pub(super) fn key_and_value(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("it is not of the form KEY=VALUE")?;
    Ok((key.trim().to_owned(), value.to_owned()))
}

impl SettingsArguments {
    /// The sources of the settings; `named` are keys that other flags of the command set.
    pub fn sources(&self, named: impl IntoIterator<Item = (&'static str, String)>) -> Sources {
        let named = named.into_iter().map(|(key, value)| (key.to_owned(), value));
        // Variables that are not Unicode cannot be settings.
        let environment =
            std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
        Sources {
            instance: self.instance.clone(),
            file: self.config.clone(),
            further: None,
            environment: environment.collect(),
            flags: self.set.iter().cloned().chain(named).collect(),
        }
    }

    /// Reads the settings without templates, for a command that writes no configuration; mistakes
    /// are printed.
    pub fn load_without_templates(&self) -> Result<Settings, Exit> {
        self.sources([]).load_without_templates().map_err(|error| complain(&error))
    }

    /// Reads the settings for a command that asks the daemon. While one runs, mistakes are printed
    /// and the command goes on.
    pub fn load_to_ask(&self) -> Result<Settings, Exit> {
        let (settings, wrong) = self.sources([]).load_what_can_be();
        match wrong {
            Some(wrong) if UnixStream::connect(&settings.control_socket).is_err() => {
                let exit = complain(&wrong);
                complain!("ingressd: no daemon answers on {} either", settings.control_socket.display());
                Err(exit)
            }
            Some(wrong) => {
                complain!("ingressd: the settings cannot be used; the daemon goes on with those it has read before:");
                complain!("{wrong}");
                Ok(settings)
            }
            None => Ok(settings),
        }
    }

    /// Reads the settings; mistakes are printed.
    pub fn load(&self, named: impl IntoIterator<Item = (&'static str, String)>) -> Result<Settings, Exit> {
        self.sources(named).load().map_err(|error| complain(&error))
    }
}

/// Prints what is wrong with the settings.
pub fn complain(error: &Error) -> Exit {
    complain!("ingressd: the settings cannot be used");
    complain!("{error}");
    match error {
        Error::Read { source, .. } if source.kind() == std::io::ErrorKind::PermissionDenied => Exit::Permission,
        Error::Read { .. } | Error::Mistakes(_) => Exit::Configuration,
    }
}
