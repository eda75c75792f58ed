//! What an nginx can do, parsed from the output of `nginx -V` and its `load_module` lines. It must
//! not run anything.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use ingressd_model::catalogue::{ACCESS_LOG, DirectiveRow, Module, Version};

/// The first version in which a variable has all headers of one name.
pub const JOINS_HEADERS: Version = Version(1, 23, 0);

/// What an nginx can do, as `nginx -V` and its `load_module` lines tell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capabilities {
    pub version: Version,
    /// The modules it has.
    pub modules: BTreeSet<Module>,
    /// The folder of its temporary files, in which its workers may create others; `None` where
    /// `nginx -V` names none.
    pub temporary: Option<PathBuf>,
    /// The file to which it logs requests where nobody names one.
    pub access_log: String,
    /// The file of its error log where nobody names one.
    pub error_log: String,
}

/// How a module gets into a build.
enum Packaging {
    /// It is built in unless `--without-NAME` is given.
    Always,
    /// It is built in when `--with-NAME` is given.
    Asked,
    /// It is not part of nginx: this package of Debian and Ubuntu contains it, and it must be
    /// loaded.
    Apart(&'static str),
}

/// The name of each module in the flags of `configure`, and how it gets into a build.
const FLAGS: &[(Module, &str, Packaging)] = &[
    (Module::Proxy, "http_proxy_module", Packaging::Always),
    (Module::Grpc, "http_grpc_module", Packaging::Always),
    (Module::FastCgi, "http_fastcgi_module", Packaging::Always),
    (Module::Access, "http_access_module", Packaging::Always),
    (Module::AuthBasic, "http_auth_basic_module", Packaging::Always),
    (Module::AuthRequest, "http_auth_request_module", Packaging::Asked),
    (Module::LimitReq, "http_limit_req_module", Packaging::Always),
    (Module::LimitConn, "http_limit_conn_module", Packaging::Always),
    (Module::Geo, "http_geo_module", Packaging::Always),
    (Module::Map, "http_map_module", Packaging::Always),
    (Module::Rewrite, "http_rewrite_module", Packaging::Always),
    (Module::RealIp, "http_realip_module", Packaging::Asked),
    (Module::Ssl, "http_ssl_module", Packaging::Asked),
    (Module::Http2, "http_v2_module", Packaging::Asked),
    (Module::StubStatus, "http_stub_status_module", Packaging::Asked),
    (Module::UpstreamKeepalive, "http_upstream_keepalive_module", Packaging::Always),
    (Module::AuthRequest, "http_auth_request_module", Packaging::Asked),
    (Module::SplitClients, "http_split_clients_module", Packaging::Always),
    (Module::UpstreamHash, "http_upstream_hash_module", Packaging::Always),
    (Module::UpstreamRandom, "http_upstream_random_module", Packaging::Always),
    (Module::Mirror, "http_mirror_module", Packaging::Always),
    (Module::Sub, "http_sub_module", Packaging::Asked),
    (Module::Gunzip, "http_gunzip_module", Packaging::Asked),
    (Module::HeadersMore, "http_headers_more_filter_module", Packaging::Apart("libnginx-mod-http-headers-more-filter")),
    (Module::Brotli, "http_brotli_filter_module", Packaging::Apart("libnginx-mod-http-brotli-filter")),
    (Module::ModSecurity, "http_modsecurity_module", Packaging::Apart("libnginx-mod-http-modsecurity")),
    (Module::GeoIp2, "http_geoip2_module", Packaging::Apart("libnginx-mod-http-geoip2")),
    (Module::Threads, "threads", Packaging::Asked),
    (Module::Stream, "stream_module", Packaging::Asked),
    (Module::StreamRealIp, "stream_realip_module", Packaging::Asked),
    (Module::StreamSslPreread, "stream_ssl_preread_module", Packaging::Asked),
    (Module::StreamMap, "stream_map_module", Packaging::Always),
    (Module::StreamGeo, "stream_geo_module", Packaging::Always),
    (Module::StreamUpstreamRandom, "stream_upstream_random_module", Packaging::Always),
];

/// Why the output of `nginx -V` cannot be parsed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnknownBuild {
    /// There is no line `nginx version: nginx/X.Y.Z`.
    #[error("`nginx -V` names no version; is the configured binary an nginx?")]
    NoVersion,
}

impl Capabilities {
    /// Reads the output of `nginx -V` and the file names of its `load_module` lines.
    ///
    /// # Errors
    ///
    /// When the output names no version.
    pub fn parse(output: &str, loaded: &[String]) -> Result<Self, UnknownBuild> {
        let version = output.lines().find_map(version).ok_or(UnknownBuild::NoVersion)?;
        let flags: BTreeSet<&str> =
            output.lines().filter_map(|line| line.strip_prefix("configure arguments:")).flat_map(words).collect();
        let has = |name: &str, built: &Packaging| {
            // The flag of the stream module is the only one without `_module`.
            let flag = if name == "stream_module" { "stream" } else { name };
            let asked = flags.contains(format!("--with-{flag}").as_str());
            // A module built as `dynamic` is a file of its own and is available only when it is
            // loaded.
            let file = format!("ngx_{name}.so");
            let present = loaded.iter().any(|path| path.rsplit('/').next() == Some(&file));
            match built {
                Packaging::Asked => asked || present,
                Packaging::Apart(_) => present,
                Packaging::Always => present || !flags.contains(format!("--without-{name}").as_str()),
            }
        };
        let modules = FLAGS.iter().filter(|(_, name, built)| has(name, built)).map(|(module, ..)| *module).collect();
        let proxied = flags.iter().find_map(|flag| flag.strip_prefix("--http-proxy-temp-path="));
        let has_cache = !flags.contains("--without-http-cache");
        let temporary = proxied.map(Path::new).filter(|path| has_cache && path.is_absolute()).and_then(Path::parent);
        let path = |flag: &str| flags.iter().find_map(|found| found.strip_prefix(flag));
        let (access_log, error_log) = (path("--http-log-path="), path("--error-log-path="));
        Ok(Capabilities {
            version,
            modules,
            temporary: temporary.map(Path::to_path_buf),
            access_log: access_log.unwrap_or(ACCESS_LOG.default).to_owned(),
            error_log: error_log.unwrap_or("logs/error.log").to_owned(),
        })
    }

    /// The capabilities of the usual distributions' packages at this version: every module of
    /// nginx that we know.
    pub fn profile(version: Version) -> Self {
        let modules = FLAGS.iter().filter(|(.., built)| !matches!(built, Packaging::Apart(_)));
        let modules = modules.map(|(module, ..)| *module).collect();
        let [access_log, error_log] = ["access", "error"].map(|name| format!("/var/log/nginx/{name}.log"));
        Capabilities { version, modules, temporary: Some("/var/lib/nginx".into()), access_log, error_log }
    }

    /// Whether it has the module.
    pub fn has(&self, module: Module) -> bool {
        self.modules.contains(&module)
    }

    /// Whether it knows the directive.
    pub fn knows(&self, row: &DirectiveRow) -> bool {
        row.since <= self.version && row.module.is_none_or(|module| self.has(module))
    }

    /// Whether a variable has all headers of one name that a service sends, and not only the
    /// first.
    pub fn joins_headers(&self) -> bool {
        self.version >= JOINS_HEADERS
    }

    /// Whether it can serve TCP and UDP services.
    pub fn has_stream(&self) -> bool {
        self.has(Module::Stream)
    }

    /// The package of Debian and Ubuntu with a module that is not part of nginx.
    pub fn package(module: Module) -> Option<&'static str> {
        FLAGS.iter().find_map(|(row, _, built)| match built {
            Packaging::Apart(package) if *row == module => Some(*package),
            _ => None,
        })
    }

    /// How a module that is not part of nginx is installed.
    pub fn install(module: Module) -> Option<String> {
        let package = Self::package(module)?;
        let elsewhere = match module {
            Module::Brotli => ", or nginx-mod-brotli (Fedora)",
            Module::GeoIp2 => ", or build it with nginx-mod-devel (Fedora and RHEL, which have no package of it)",
            _ => "",
        };
        Some(format!("install {package} (Debian and Ubuntu){elsewhere}"))
    }

    /// The module's name as nginx writes it.
    pub fn name(module: Module) -> String {
        let flag = FLAGS.iter().find(|(row, ..)| *row == module).map_or("", |(_, name, _)| *name);
        format!("ngx_{flag}")
    }
}

/// Parses `nginx version: nginx/1.22.1`.
fn version(line: &str) -> Option<Version> {
    let (_, rest) = line.strip_prefix("nginx version: ")?.split_once('/')?;
    Version::read(rest)
}

/// Splits the flags of `configure` at blanks outside single quotes.
fn words(line: &str) -> impl Iterator<Item = &str> {
    let mut quoted = false;
    line.split(move |character: char| {
        quoted ^= character == '\'';
        character == ' ' && !quoted
    })
    .filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEBIAN: &str = "nginx version: nginx/1.22.1\nbuilt with OpenSSL 3.0.11 19 Sep 2023\nTLS SNI support enabled\n\
        configure arguments: --with-cc-opt='-g -O2 --with-http_slice_module' --prefix=/usr/share/nginx \
        --error-log-path=/var/log/nginx/error.log --http-log-path=/var/log/nginx/access.log --http-proxy-temp-path=/var/lib/nginx/proxy --with-compat \
        --with-threads --with-http_ssl_module --with-http_stub_status_module --with-http_realip_module --with-http_v2_module \
        --with-http_perl_module=dynamic --with-stream=dynamic --with-stream_realip_module \
        --with-http_auth_request_module --with-http_sub_module --with-http_gunzip_module --with-stream_ssl_preread_module\n";

    #[test]
    fn reads_a_distribution() {
        let mut profile = Capabilities::profile(Version(1, 22, 1));
        let stream = ["modules/ngx_stream_module.so".to_owned()];
        assert_eq!(Capabilities::parse(DEBIAN, &stream).expect("it is an nginx"), profile);
        profile.modules.remove(&Module::Stream);
        assert_eq!(Capabilities::parse(DEBIAN, &[]).expect("it is an nginx"), profile);
        let extra = ["/usr/lib/nginx/modules/ngx_http_headers_more_filter_module.so".to_owned()];
        let with_extra = Capabilities::parse(DEBIAN, &extra).expect("it is an nginx");
        assert!(with_extra.has(Module::HeadersMore) && !profile.has(Module::HeadersMore));
        let built_in = DEBIAN.replace("--with-stream=dynamic", "--with-stream");
        let built_in = Capabilities::parse(&built_in, &[]).expect("it is an nginx");
        assert!(built_in.has(Module::Stream));
        let unnamed = Capabilities::parse("nginx version: nginx/1.22.1", &[]).expect("it is an nginx");
        assert_eq!(unnamed.access_log, "logs/access.log");
    }

    #[test]
    fn reads_versions_with_what_is_added_to_them() {
        let table = [
            ("nginx version: nginx/1.31.4", Ok(Version(1, 31, 4))),
            ("nginx version: nginx/1.18.0 (Ubuntu)", Ok(Version(1, 18, 0))),
            ("nginx version: openresty/1.25.3.1", Ok(Version(1, 25, 3))),
            ("apache", Err(UnknownBuild::NoVersion)),
            ("nginx version: nginx/1", Err(UnknownBuild::NoVersion)),
        ];
        for (output, expected) in table {
            assert_eq!(Capabilities::parse(output, &[]).map(|found| found.version), expected, "{output}");
        }
    }

    #[test]
    fn counts_modules_by_flag_and_by_load_module() {
        let small = "nginx version: nginx/1.30.0\nconfigure arguments: --without-http_grpc_module --with-http_ssl_module=dynamic";
        let bare = Capabilities::parse(small, &[]).expect("it is an nginx");
        assert!(
            !bare.has(Module::Grpc) && !bare.has(Module::Ssl) && !bare.has(Module::Http2) && bare.has(Module::Proxy)
        );
        let loaded = ["/usr/lib/nginx/modules/ngx_http_ssl_module.so".to_owned()];
        assert!(Capabilities::parse(small, &loaded).expect("it is an nginx").has(Module::Ssl));
    }
}
