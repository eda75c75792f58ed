//! Small file sets as `render` would make them.

use std::net::SocketAddr;
use std::sync::Arc;

use ingressd_model::{Field, Kind, ObjectId, Origin};
use ingressd_nginx::render::{File, FilePath, FileSet, Owners, Part};

/// Builds a file set, starting with the server that returns the generation.
pub struct Files(FileSet);

impl Files {
    pub fn with_status(status: SocketAddr) -> Self {
        let text = format!(
            "server {{\n  listen {status} default_server;\n  location = /generation {{ return 200 \"$ingressd_generation\\n\"; }}\n}}\n"
        );
        Files(FileSet::default()).file("http/status.conf", &text, &[])
    }

    /// A server whose every line belongs to the Ingress of its name.
    pub fn server(self, name: &str, status: SocketAddr, body: &str) -> Self {
        let text = format!("server {{\n  listen {status};\n  server_name {name}.example;\n  {body}\n}}\n");
        self.file(&format!("http/{name}.conf"), &text, &[])
    }

    pub fn file(self, path: &str, text: &str, requires: &[&str]) -> Self {
        self.file_of("shop", path, text, requires)
    }

    /// A file of a namespace.
    pub fn file_of(mut self, namespace: &str, path: &str, text: &str, requires: &[&str]) -> Self {
        let name = path.split(['/', '.']).nth(1).unwrap();
        let object = Arc::new(ObjectId::new(Kind::INGRESS, namespace, name));
        let origin = Origin::field(&object, Field::Rule(0));
        let part = [Part::Bytes(text.as_bytes().into())];
        let file = match path.starts_with("http/") {
            true => File::plain(part, Owners(vec![(1, origin)]), requires.iter().map(|path| FilePath::from(*path))),
            false => File::secret(part, origin),
        };
        self.0.files.insert(path.into(), Arc::new(file));
        self
    }

    pub fn set(self) -> FileSet {
        self.0
    }
}
