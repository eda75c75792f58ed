//! A request to try, as the examples write it, with the expected status.

use std::fmt;

use http::{HeaderName, HeaderValue, Method, Uri};

/// The protocol of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Http,
    Grpc,
    /// A WebSocket.
    WebSocket,
}

/// A line of the annotation `demo.ingressd/try`:
/// `STATUS [grpc|websocket] URL [-X METHOD] [-u USER:PASSWORD] [-H 'NAME: VALUE']...`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExampleRequest {
    /// The expected status.
    pub status: u16,
    /// The protocol.
    pub kind: Kind,
    pub method: Method,
    /// The URL without a port.
    pub url: Uri,
    /// User name and password.
    pub user: Option<String>,
    pub headers: Vec<(HeaderName, HeaderValue)>,
}

impl ExampleRequest {
    /// Parses a line, or returns what is wrong with it.
    pub fn parse(line: &str) -> Result<Self, String> {
        let mut words = shlex::split(line).unwrap_or_default().into_iter();
        let mut next = |what: &str| words.next().ok_or_else(|| format!("{line:?} has no {what}"));
        let status = next("status")?.parse().map_err(|_| format!("{line:?} does not begin with a status"))?;
        let mut word = next("URL")?;
        let kind = match word.as_str() {
            "grpc" => Kind::Grpc,
            "websocket" => Kind::WebSocket,
            _ => Kind::Http,
        };
        if kind != Kind::Http {
            word = next("URL")?;
        }
        let url = word.parse().map_err(|error| format!("{word:?} is no URL: {error}"))?;
        let mut example = ExampleRequest { status, kind, method: Method::GET, url, user: None, headers: Vec::new() };
        while let Ok(flag) = next("flag") {
            let value = next(&flag)?;
            example.add(&flag, value)?;
        }
        match example.url.host() {
            Some(_) => Ok(example),
            None => Err(format!("{word:?} has no host")),
        }
    }

    fn add(&mut self, flag: &str, value: String) -> Result<(), String> {
        let wrong = || format!("{flag} {value:?} cannot be used");
        match flag {
            "-X" => self.method = value.parse().map_err(|_| wrong())?,
            "-u" => self.user = Some(value),
            "-H" => {
                let (name, value) = value.split_once(':').ok_or_else(wrong)?;
                self.headers.push((name.parse().map_err(|_| wrong())?, value.trim().parse().map_err(|_| wrong())?));
            }
            _ => return Err(format!("{flag} is not known: -X, -u and -H are")),
        }
        Ok(())
    }

    /// Whether it uses TLS.
    pub fn is_tls(&self) -> bool {
        self.url.scheme_str() == Some("https")
    }

    /// The host, never empty.
    pub fn host(&self) -> &str {
        self.url.host().unwrap_or_default()
    }

    /// The curl command for a shell.
    pub fn command(&self, http_port: u16, https_port: u16) -> String {
        let port = if self.is_tls() { https_port } else { http_port };
        let (scheme, host) = (self.url.scheme_str().unwrap_or("http"), self.host());
        let target = self.url.path_and_query().map_or("/", |target| target.as_str());
        let url = format!("{scheme}://{host}:{port}{target}");
        match self.kind {
            Kind::Grpc => return format!("grpcurl -insecure {host}:{port} grpc.health.v1.Health/Check"),
            Kind::WebSocket => return format!("websocat -k {}", url.replacen("http", "ws", 1)),
            Kind::Http => {}
        }
        let mut line = String::from("curl");
        if self.is_tls() {
            line += " -k";
        }
        if !(200..300).contains(&self.status) || self.method == Method::OPTIONS {
            line += " -i";
        }
        if self.method != Method::GET {
            line += &format!(" -X {}", self.method);
        }
        if let Some(user) = &self.user {
            line += &format!(" -u {user}");
        }
        for (name, value) in &self.headers {
            line += &format!(" -H '{name}: {}'", String::from_utf8_lossy(value.as_bytes()));
        }
        let quote = if url.contains(['?', '&']) { "'" } else { "" };
        format!("{line} {quote}{url}{quote}")
    }
}

impl fmt::Display for ExampleRequest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            Kind::Http => self.method.as_str(),
            Kind::Grpc => "gRPC",
            Kind::WebSocket => "WebSocket",
        };
        let user = if self.user.is_some() { " with password" } else { "" };
        write!(formatter, "{kind} {}{user}", self.url)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_become_commands() {
        for (line, command) in [
            ("200 http://a.localhost/", "curl http://a.localhost:80/"),
            ("308 http://a.localhost/x?y=1", "curl -i 'http://a.localhost:80/x?y=1'"),
            ("200 https://a.localhost/ -u me:secret", "curl -k -u me:secret https://a.localhost:443/"),
            (
                "204 https://a.localhost/ -X OPTIONS -H 'Origin: https://b'",
                "curl -k -i -X OPTIONS -H 'origin: https://b' https://a.localhost:443/",
            ),
            ("101 websocket https://a.localhost/w", "websocat -k wss://a.localhost:443/w"),
        ] {
            assert_eq!(
                ExampleRequest::parse(line).map(|example| example.command(80, 443)),
                Ok(command.to_owned()),
                "{line}"
            );
        }
    }

    #[test]
    fn wrong_lines_are_refused() {
        for line in
            ["", "x", "200", "200 grpc", "200 /path", "200 http://a -Z 1", "200 http://a -H", "200 http://a -H x"]
        {
            assert!(ExampleRequest::parse(line).is_err(), "{line}");
        }
    }
}
