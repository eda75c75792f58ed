//! The command `templates`: prints the templates that are part of the program.

use clap::builder::PossibleValuesParser;

use super::exit::{Ended, Exit};
use super::output;
use ingressd_nginx::render::Templates;

/// Arguments of `ingressd templates`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Print the text of this template. Without a name, all names are printed.
    #[arg(value_name = "NAME", value_parser = PossibleValuesParser::new(Templates::names()), hide_possible_values = true)]
    name: Option<String>,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Ended {
    let text = arguments.name.as_deref().and_then(Templates::text);
    output::show(text.unwrap_or_else(|| Templates::names().join("\n") + "\n"), Exit::Success)
}
