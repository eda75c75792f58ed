//! Reads the host's own part of the configuration that nginx would load.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use nix::fcntl::OFlag;

use super::error::{ApplyError, is_shortage};
use super::include::included;
use ingressd_model::Instance;
use ingressd_nginx::syntax::{self, Directive};
use ingressd_nginx::{HostConfiguration, OpenFiles, ParsedFile, survey};

/// The host's configuration without our files.
#[derive(Debug)]
pub struct Tree {
    main: ParsedFile,
    folder: PathBuf,
    own: PathBuf,
}

impl Tree {
    /// Reads the main file. `own` is the root of our generations, whose files are left out.
    pub fn read(main: &Path, own: &Path) -> Result<Tree, ApplyError> {
        let text = read(main).map_err(ApplyError::files("read", main))?;
        let refused =
            |error: syntax::SyntaxError| ApplyError::Configuration { path: main.to_owned(), what: error.to_string() };
        let directives = syntax::parse(&text).map_err(refused)?;
        let main_file = ParsedFile { path: main.display().to_string(), directives };
        let folder = main.parent().unwrap_or(Path::new("/")).to_owned();
        Ok(Tree { main: main_file, folder, own: own.to_owned() })
    }

    /// What the sites and the main file say; `instance` tells which files are ours.
    ///
    /// # Errors
    ///
    /// When it could not be found out which files there are, or what is in them.
    pub fn survey(&self, instance: &Instance) -> Result<HostConfiguration, ApplyError> {
        let current = self.own.join("current");
        let is_ours = |pattern: &str| self.folder.join(pattern).starts_with(&current);
        let mut failed = None;
        let found = survey(&self.main, instance, &mut |pattern| {
            if is_ours(pattern) {
                return None;
            }
            let files = self.files(pattern);
            Some(files.unwrap_or_else(|error| {
                failed = Some(error);
                Vec::new()
            }))
        });
        failed.map_or(Ok(found), Err)
    }

    /// The files for the argument of an `include`, in nginx's order. Files that cannot be read are
    /// left out: nginx's test complains about them.
    fn files(&self, pattern: &str) -> Result<Vec<ParsedFile>, ApplyError> {
        let pattern = self.folder.join(pattern);
        let mut files = Vec::new();
        // Our own may be thousands.
        if pattern.starts_with(&self.own) {
            return Ok(files);
        }
        let found = included(&pattern).map_err(ApplyError::files("look for", &pattern))?;
        for path in found.into_iter().filter(|path| !path.starts_with(&self.own)) {
            let text = match read(&path) {
                Err(error) if is_shortage(&error) => return Err(ApplyError::files("read", path)(error)),
                Err(_) => continue,
                Ok(text) => text,
            };
            if let Ok(directives) = syntax::parse(&text) {
                files.push(ParsedFile { path: path.display().to_string(), directives });
            }
        }
        Ok(files)
    }

    /// The directives of the main context, with the directives of included files in the place of
    /// each `include`.
    ///
    /// # Errors
    ///
    /// As those of [`Tree::survey`].
    pub fn expanded(&self) -> Result<Vec<Directive>, ApplyError> {
        self.expand(&self.main.directives, &mut OpenFiles::of(&self.main.path))
    }

    fn expand(&self, directives: &[Directive], open: &mut OpenFiles) -> Result<Vec<Directive>, ApplyError> {
        let mut expanded = Vec::with_capacity(directives.len());
        for directive in directives {
            match (directive.name.as_str(), directive.arguments.first()) {
                ("include", Some(pattern)) if open.has_room() => {
                    for file in self.files(pattern)? {
                        if open.open(&file.path) {
                            expanded.extend(self.expand(&file.directives, open)?);
                            open.close();
                        }
                    }
                }
                ("include", _) => {}
                _ => expanded.push(Directive {
                    block: directive.block.as_deref().map(|block| self.expand(block, open)).transpose()?,
                    ..directive.clone()
                }),
            }
        }
        Ok(expanded)
    }
}

/// Reads a file. A named pipe, which whoever may write to an included folder can put there, is not
/// waited for.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut file = File::options().read(true).custom_flags(OFlag::O_NONBLOCK.bits()).open(path)?;
    let mut text = Vec::new();
    file.read_to_end(&mut text)?;
    Ok(text)
}

/// A built-in path of the binary, such as `--conf-path=/etc/nginx/nginx.conf` in the output of
/// `nginx -V`.
pub fn built_in(build_information: &str, flag: &str) -> Option<PathBuf> {
    build_information.split_whitespace().find_map(|word| word.strip_prefix(flag)).map(PathBuf::from)
}

/// The group ID of nginx's workers; `None` when they run as the user that started nginx.
///
/// `user` is what the configuration says; without it the built-in user from the output of
/// `nginx -V` counts.
///
/// # Errors
///
/// When the groups of this host cannot be read.
pub fn workers_group(
    user: Option<&(String, Option<String>)>,
    build_information: &str,
) -> Result<Option<u32>, ApplyError> {
    if !nix::unistd::geteuid().is_root() {
        return Ok(None);
    }
    let flag = |flag: &str| build_information.split_whitespace().find_map(|word| word.strip_prefix(flag));
    let (name, group) = match user {
        Some((name, group)) => (name.as_str(), group.as_deref()),
        None => (flag("--user=").unwrap_or("nobody"), flag("--group=")),
    };
    // Without a group nginx uses the one with the name of the user; without a user it uses its
    // built-in one.
    let known = nix::unistd::Group::from_name(group.unwrap_or(name)).map_err(std::io::Error::from);
    let known = ApplyError::found("read", "/etc/group", known)?.flatten();
    Ok(known.map(|group| group.gid.as_raw()))
}

/// Writes directives as text that nginx reads back as the same arguments.
pub fn write(directives: &[Directive], text: &mut String) {
    for directive in directives {
        for word in std::iter::once(&directive.name).chain(&directive.arguments) {
            text.push_str(&syntax::quoted(word));
            text.push(' ');
        }
        match &directive.block {
            Some(block) => {
                text.push_str("{\n");
                write(block, text);
                text.push_str("}\n");
            }
            None => text.push_str(";\n"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Instance, Tree, write};
    use ingressd_nginx::syntax;

    #[test]
    fn included_files_stand_where_they_are_named_and_ours_are_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        std::fs::create_dir_all(path("ours/current/http")).unwrap();
        std::fs::create_dir_all(path("sites")).unwrap();
        for (name, text) in [
            ("nginx.conf", "user www-data; http { gzip on; include sites/*; include ours/current/http/*.conf; }"),
            ("sites/b", "server { listen 81 default_server; }"),
            ("sites/a", "log_format x \"a \\\" b\"; include ../sites/a; include mime;"),
            ("mime", "types { text/html html; }"),
            ("ours/current/http/x.conf", "server { listen 82; }"),
        ] {
            std::fs::write(path(name), text).unwrap();
        }
        nix::unistd::mkfifo(&path("sites/pipe"), nix::sys::stat::Mode::S_IRWXU).unwrap();
        let tree = Tree::read(&path("nginx.conf"), &path("ours")).unwrap();
        let found = tree.survey(&Instance::default()).unwrap();
        assert!(found.includes_ours);
        assert!(
            !Tree::read(&path("nginx.conf"), &path("elsewhere"))
                .unwrap()
                .survey(&Instance::default())
                .unwrap()
                .includes_ours
        );
        let ports: Vec<_> = found.other_sites.listens.iter().map(|listen| listen.address.port()).collect();
        assert_eq!((ports, found.user), (vec![81], Some(("www-data".to_owned(), None))));
        let names: Vec<_> =
            tree.expanded().unwrap()[1].children().iter().map(|directive| directive.name.clone()).collect();
        assert_eq!(
            (names[0].as_str(), names[1].as_str(), names.last().map(String::as_str)),
            ("gzip", "log_format", Some("server"))
        );
        assert!(names.iter().any(|name| name == "types"));
    }

    #[test]
    fn directives_are_written_so_that_they_are_read_back() {
        let mut written = String::new();
        let text = b"map $a $b{default \"\";\"~^\\d+\\.x \\\" y\" x;}if ($x = 'a\\\\b'){return 200 \"a b\";}";
        let directives = syntax::parse(text).unwrap();
        write(&directives, &mut written);
        // The line numbers of the copy differ, so the copy is written once more to compare texts.
        let mut again = String::new();
        write(&syntax::parse(written.as_bytes()).unwrap(), &mut again);
        assert_eq!(written, again);
        assert!(written.contains(r#""~^\\d+\\.x \" y" "x" ;"#), "{written}");
    }
}
