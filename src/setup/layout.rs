//! The layout of the host's nginx: which folders its configuration includes in which context, and
//! the files of its sites.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use ingressd_apply::included;
use ingressd_config::Settings;
use ingressd_model::Listener;
use ingressd_nginx::syntax::{self, Directive};
use ingressd_nginx::{OpenFiles, OtherSites, SiteListen};

/// The layout of the files that nginx would load.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Layout {
    /// The main file, with symbolic links resolved.
    pub configuration: PathBuf,
    /// Patterns that are included in the main context, in order.
    pub main_includes: Vec<PathBuf>,
    /// Patterns that are included in the block `http`, in order.
    pub http_includes: Vec<PathBuf>,
    /// The file with the block `stream`, if there is one.
    pub stream_in: Option<PathBuf>,
    /// Whether that block includes our files.
    pub stream_includes_ours: bool,
    /// Every block `server` within `http`.
    pub sites: Vec<ServerBlock>,
}

/// A `server` of any file of nginx, ours or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerBlock {
    /// Its file, as nginx names it.
    pub file: PathBuf,
    /// The line on which it begins.
    pub line: u32,
    /// The lines of its `listen` directives; its own line when it has none.
    pub listens: Vec<u32>,
    pub names: Vec<String>,
}

impl Layout {
    /// Reads the layout of the nginx that the settings name. Files that cannot be read are left
    /// out: nginx's test complains about them.
    ///
    /// # Errors
    ///
    /// When the main file cannot be read.
    pub fn read(settings: &Settings) -> std::io::Result<Layout> {
        let named = &settings.nginx.configuration;
        let configuration = match &settings.nginx.prefix {
            Some(prefix) => prefix.join(named),
            None => named.clone(),
        };
        let mut layout = Layout { configuration: fs::canonicalize(&configuration)?, ..Layout::default() };
        let text = fs::read(&configuration)?;
        let folder = configuration.parent().unwrap_or(Path::new("/")).to_owned();
        let open = OpenFiles::of(&configuration.display().to_string());
        let mut walk = Walk { layout: &mut layout, folder, own: settings.apply.root.join("current"), open };
        walk.list(&configuration, &syntax::parse(&text).unwrap_or_default(), Context::Main);
        Ok(layout)
    }

    /// The sites that get requests for unknown hosts on our sockets.
    pub fn default_sites(&self, other_sites: &OtherSites, listeners: &[Listener]) -> Vec<&ServerBlock> {
        let places: BTreeSet<_> =
            claims(other_sites, listeners).into_iter().map(|listen| listen.place.as_str()).collect();
        let claims = |site: &&ServerBlock| {
            site.listens.iter().any(|line| places.contains(format!("{}:{line}", site.file.display()).as_str()))
        };
        self.sites.iter().filter(claims).collect()
    }
}

/// The `listen` lines of other sites that are the default server of one of our sockets: those with
/// `default_server`, and where there is none, the first that nginx reads, if it reads it before
/// our files.
pub fn claims<'n>(other_sites: &'n OtherSites, listeners: &[Listener]) -> Vec<&'n SiteListen> {
    let claim = |socket: std::net::SocketAddr| {
        let same = || other_sites.listens.iter().filter(move |listen| listen.address == socket);
        same().find(|listen| listen.default_server).or_else(|| same().next().filter(|listen| listen.before_ours))
    };
    listeners.iter().flat_map(Listener::sockets).filter_map(claim).collect()
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Context {
    Main,
    Http,
    Stream,
}

struct Walk<'l> {
    layout: &'l mut Layout,
    folder: PathBuf,
    own: PathBuf,
    open: OpenFiles,
}

impl Walk<'_> {
    fn list(&mut self, file: &Path, directives: &[Directive], context: Context) {
        for directive in directives {
            match (directive.name.as_str(), directive.arguments.first(), context) {
                ("include", Some(pattern), _) => self.include(pattern, context),
                ("http", _, Context::Main) => self.list(file, directive.children(), Context::Http),
                ("stream", _, Context::Main) if directive.block.is_some() => {
                    self.layout.stream_in.get_or_insert_with(|| file.to_owned());
                    self.list(file, directive.children(), Context::Stream);
                }
                ("server", _, Context::Http) => self.layout.sites.push(site(file, directive)),
                _ => {}
            }
        }
    }

    fn include(&mut self, pattern: &str, context: Context) {
        let pattern = self.folder.join(pattern);
        if pattern.starts_with(&self.own) {
            self.layout.stream_includes_ours |= context == Context::Stream;
            return;
        }
        match context {
            Context::Main => self.layout.main_includes.push(pattern.clone()),
            Context::Http => self.layout.http_includes.push(pattern.clone()),
            Context::Stream => {}
        }
        let files = if self.open.has_room() { included(&pattern).unwrap_or_default() } else { Vec::new() };
        for path in files {
            if self.open.open(&path.display().to_string()) {
                let directives = fs::read(&path).ok().and_then(|text| syntax::parse(&text).ok());
                self.list(&path, &directives.unwrap_or_default(), context);
                self.open.close();
            }
        }
    }
}

fn site(file: &Path, server: &Directive) -> ServerBlock {
    let named = |name: &'static str| server.children().iter().filter(move |directive| directive.name == name);
    let listens: Vec<_> = named("listen").map(|listen| listen.line).collect();
    ServerBlock {
        file: file.to_owned(),
        line: server.line,
        listens: if listens.is_empty() { vec![server.line] } else { listens },
        names: named("server_name").flat_map(|directive| directive.arguments.iter().cloned()).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ingressd_config::Usual as _;
    use ingressd_model::HostListeners;

    #[test]
    fn the_tree_is_read_with_its_includes_and_blocks() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        for name in ["modules", "sites"] {
            fs::create_dir(path(name)).unwrap();
        }
        let own = path("own");
        for (name, text) in [
            (
                "nginx.conf",
                format!(
                    "include modules/*.conf; http {{ include conf.d/*.conf; include sites/*; include {}/current/http/*.conf; }}",
                    own.display()
                ),
            ),
            (
                "modules/stream.conf",
                format!(
                    "load_module m/ngx_stream_module.so; stream {{ include {}/current/stream/*.conf; }}",
                    own.display()
                ),
            ),
            (
                "sites/default",
                "server { listen 80 default_server;\nlisten 81; server_name _ b; }\nserver { }".to_owned(),
            ),
        ] {
            fs::write(path(name), text).unwrap();
        }
        let mut settings = Settings::default();
        settings.nginx.configuration = path("nginx.conf");
        settings.apply.root = own;
        let layout = Layout::read(&settings).unwrap();
        assert_eq!(layout.main_includes, [path("modules/*.conf")]);
        assert_eq!(layout.http_includes, [path("conf.d/*.conf"), path("sites/*")]);
        assert_eq!(
            (layout.stream_in.as_deref(), layout.stream_includes_ours),
            (Some(path("modules/stream.conf").as_path()), true)
        );
        let [default, second] = &layout.sites[..] else { panic!("{:?}", layout.sites) };
        assert_eq!(
            (default.line, &default.listens[..], &default.names[..]),
            (1, &[1, 2][..], &["_".to_owned(), "b".to_owned()][..])
        );
        assert_eq!((second.line, &second.listens[..]), (3, &[3][..]));
    }

    #[test]
    fn the_default_server_is_who_says_so_or_comes_first() {
        let listen = |place: &str, port: u16, default_server: bool, before_ours: bool| SiteListen {
            place: place.to_owned(),
            address: ([0, 0, 0, 0], port).into(),
            default_server,
            ssl: false,
            http2: false,
            proxy_protocol: false,
            dual_stack: false,
            before_ours,
        };
        type Listens<'l> = &'l [(&'l str, u16, bool, bool)];
        let rows: &[(Listens<'_>, &[&str])] = &[
            (&[("a:1", 80, false, true), ("b:1", 80, true, true)], &["b:1"]),
            (&[("a:1", 80, false, true), ("b:1", 80, false, true)], &["a:1"]),
            (&[("a:1", 80, false, false)], &[]),
            (&[("a:1", 80, true, false), ("b:1", 443, false, true)], &["a:1", "b:1"]),
            (&[("a:1", 8080, true, true)], &[]),
        ];
        for (listens, expected) in rows {
            let listens = listens.iter().map(|(place, port, default, before)| listen(place, *port, *default, *before));
            let other_sites = OtherSites { listens: listens.collect(), ..OtherSites::default() };
            let found = claims(&other_sites, &HostListeners::usual().all());
            assert_eq!(found.iter().map(|listen| listen.place.as_str()).collect::<Vec<_>>(), *expected);
        }
    }
}
