//! The modules of nginx that speak with backends, by which directives have their names.

use ingressd_model::Protocol;
use ingressd_model::catalogue::Module;

/// The family of directives (nginx module) for a backend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// `ngx_http_proxy_module`.
    Proxy,
    /// `ngx_http_grpc_module`.
    Grpc,
    /// `ngx_http_fastcgi_module`.
    FastCgi,
}

impl Family {
    /// The family for a protocol.
    pub const fn of(protocol: Protocol) -> Self {
        match protocol.module() {
            Module::Grpc => Family::Grpc,
            Module::FastCgi => Family::FastCgi,
            _ => Family::Proxy,
        }
    }

    /// The directive that replaces error responses of the backend by error pages.
    pub const fn intercept_errors(self) -> &'static str {
        match self {
            Family::Proxy => "proxy_intercept_errors",
            Family::Grpc => "grpc_intercept_errors",
            Family::FastCgi => "fastcgi_intercept_errors",
        }
    }

    /// The directive that removes a header of the backend.
    pub const fn hide_header(self) -> &'static str {
        match self {
            Family::Proxy => "proxy_hide_header",
            Family::Grpc => "grpc_hide_header",
            Family::FastCgi => "fastcgi_hide_header",
        }
    }

    /// The directive that sets a request header.
    pub const fn set_header(self) -> &'static str {
        match self {
            Family::Proxy => "proxy_set_header",
            Family::Grpc => "grpc_set_header",
            Family::FastCgi => "fastcgi_param",
        }
    }

    /// The directive that passes requests to a backend.
    pub const fn pass(self) -> &'static str {
        match self {
            Family::Proxy => "proxy_pass",
            Family::Grpc => "grpc_pass",
            Family::FastCgi => "fastcgi_pass",
        }
    }
}
