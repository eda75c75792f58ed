//! Directives about gRPC backends.

use super::context::HTTP_TO_LOCATION;
use super::proxy::NO_CERTIFICATE;
use super::{Context, Contexts, DirectiveRow, Form, InTemplate, Module, rows};

const fn row(name: &'static str, form: Form) -> DirectiveRow {
    DirectiveRow::new(name, HTTP_TO_LOCATION, form).of(Module::Grpc)
}

const LOCATIONS: Contexts = Contexts::of(&[Context::Location, Context::LocationIf]);

/// A header that is never sent: a list with this header only replaces the list of the `http` level
/// and has no effect.
const NO_HEADER: &str = "X-Ingressd-None";

rows! {
    GRPC_BIND = row("grpc_bind", Form::Words).default("off").reset();
    /// Memory for the first part of an answer of gRPC.
    pub GRPC_BUFFER_SIZE = row("grpc_buffer_size", Form::Size).default("4k").reset().in_template(InTemplate::Grpc);
    GRPC_CONNECT_TIMEOUT = row("grpc_connect_timeout", Form::Time).default("60s").reset().in_template(InTemplate::Grpc);
    GRPC_HIDE_HEADER = row("grpc_hide_header", Form::Word).reset_to(NO_HEADER);
    GRPC_IGNORE_HEADERS = row("grpc_ignore_headers", Form::Words).in_template(InTemplate::Grpc);
    GRPC_INTERCEPT_ERRORS = row("grpc_intercept_errors", Form::Switch).default("off").reset();
    GRPC_NEXT_UPSTREAM = row("grpc_next_upstream", Form::Words).default("error timeout").reset().in_template(InTemplate::Grpc);
    GRPC_NEXT_UPSTREAM_TIMEOUT = row("grpc_next_upstream_timeout", Form::Time).default("0").reset().in_template(InTemplate::Grpc);
    GRPC_NEXT_UPSTREAM_TRIES = row("grpc_next_upstream_tries", Form::Number).default("0").reset().in_template(InTemplate::Grpc);
    GRPC_PASS = DirectiveRow::new("grpc_pass", LOCATIONS, Form::Text).of(Module::Grpc);
    /// Headers of backends that nginx would replace otherwise.
    pub GRPC_PASS_HEADER = row("grpc_pass_header", Form::Word).default(NO_HEADER).reset().by_server();
    GRPC_READ_TIMEOUT = row("grpc_read_timeout", Form::Time).default("60s").reset().in_template(InTemplate::Grpc);
    GRPC_SEND_TIMEOUT = row("grpc_send_timeout", Form::Time).default("60s").reset().in_template(InTemplate::Grpc);
    GRPC_SET_HEADER = row("grpc_set_header", Form::Words);
    GRPC_SSL_CERTIFICATE = row("grpc_ssl_certificate", Form::Path).reset_to(NO_CERTIFICATE);
    GRPC_SSL_CERTIFICATE_KEY = row("grpc_ssl_certificate_key", Form::Path);
    GRPC_SSL_CIPHERS = row("grpc_ssl_ciphers", Form::Text).default("DEFAULT");
    GRPC_SSL_NAME = row("grpc_ssl_name", Form::Text);
    GRPC_SSL_PROTOCOLS = row("grpc_ssl_protocols", Form::Words).default("TLSv1.2 TLSv1.3");
    GRPC_SSL_SERVER_NAME = row("grpc_ssl_server_name", Form::Switch).default("off").reset();
    GRPC_SSL_TRUSTED_CERTIFICATE = row("grpc_ssl_trusted_certificate", Form::Path);
    GRPC_SSL_VERIFY = row("grpc_ssl_verify", Form::Switch).default("off").reset();
    GRPC_SSL_VERIFY_DEPTH = row("grpc_ssl_verify_depth", Form::Number).default("1");
}
