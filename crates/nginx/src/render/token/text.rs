//! Quoted texts in which nginx expands variables, made of the texts of the model.

use std::fmt::Write as _;

use super::{DOLLAR, INSTANCE, OURS, Text, Word, escape, fits, quote};
use crate::RuleFiles;
use crate::render::names;
use ingressd_model::{
    LogLine, LogPart, LogVariable, Refused, RewriteTarget, SameSite, SessionCookie, TargetPart, Template, TemplatePart,
    UrlPath,
};

impl Text {
    /// Quotes the text.
    pub fn new(text: &str) -> Result<Self, Refused> {
        quote(text, true).map(Text)
    }

    /// Our words without blanks between them, in quotes.
    pub fn of_words<const N: usize>(words: [Word; N]) -> Self {
        Text(format!("\"{}\"", Word::concat(words).as_str()))
    }

    /// What ModSecurity reads to take over the rules of these files. Their type lets no character
    /// through that would have to be quoted, and is short.
    pub fn including(files: &RuleFiles) -> Self {
        Text(format!("\"Include {files}\""))
    }

    /// A text that was checked before, and cannot be too long.
    pub fn of(text: &ingressd_model::Text) -> Self {
        Self::new(text.as_str()).unwrap_or_else(|_| Text("\"\"".to_owned()))
    }

    /// The same with references to parts of the request.
    pub fn of_target(text: &RewriteTarget) -> Self {
        Self::of_parts(&[], text).unwrap_or_else(|_| Text("\"\"".to_owned()))
    }

    /// Our words, and a text with references to parts of the request behind them.
    pub fn of_parts(before: &[Word], text: &RewriteTarget) -> Result<Self, Refused> {
        let mut quoted = String::from("\"");
        before.iter().for_each(|word| quoted.push_str(&word.0));
        for part in text.parts() {
            match part {
                TargetPart::Literal(text) => escape(text, true, &mut quoted)?,
                part => drop(write!(quoted, "{part}")),
            }
        }
        quoted.push('"');
        fits(quoted).map(Text)
    }

    /// A path, encoded as nginx encodes the name of a location in a redirect, with the query of
    /// the request.
    pub fn redirection(path: &UrlPath) -> Result<Self, Refused> {
        let mut quoted = String::from("\"");
        for byte in path.as_str().bytes() {
            match byte {
                b'$' => quoted.push_str(DOLLAR),
                plain if plain.is_ascii_graphic() && !b"\"#%<>?\\^`{|}".contains(&plain) => quoted.push(plain.into()),
                odd => drop(write!(quoted, "%{odd:02X}")),
            }
        }
        quoted.push_str("$is_args$args\"");
        fits(quoted).map(Text)
    }

    /// Our words, and a template behind them. `trusts` says whether proxies are trusted to name
    /// the scheme of a request.
    pub fn template(before: &[Word], template: &Template, trusts: bool) -> Result<Self, Refused> {
        let mut quoted = String::from("\"");
        before.iter().for_each(|word| quoted.push_str(&word.0));
        for part in template.parts() {
            match part {
                TemplatePart::Text(text) => escape(text, true, &mut quoted)?,
                TemplatePart::Variable(name) => drop(write!(quoted, "${{{name}}}")),
                TemplatePart::ClientScheme if trusts => drop(write!(quoted, "${{{OURS}{INSTANCE}_scheme}}")),
                TemplatePart::ClientScheme => quoted.push_str("${scheme}"),
                TemplatePart::ClientHost => drop(write!(quoted, "${{{OURS}{INSTANCE}_host}}")),
                TemplatePart::EscapedTarget => drop(write!(quoted, "${{{OURS}{INSTANCE}_escaped_uri}}")),
            }
        }
        quoted.push('"');
        fits(quoted).map(Text)
    }

    /// The replacement of a rewritten path. It begins with a slash unless a capture or variable
    /// begins it, or it is a URL: those are redirects for nginx.
    pub fn replacement(target: &RewriteTarget) -> Result<Self, Refused> {
        let slash = match target.parts().first() {
            _ if target.is_url() => "",
            None => "/",
            Some(TargetPart::Literal(text)) if !text.starts_with('/') => "/",
            Some(_) => "",
        };
        let mut quoted = format!("\"{slash}");
        for part in target.parts() {
            match part {
                TargetPart::Literal(text) => escape(text, true, &mut quoted)?,
                part => drop(write!(quoted, "{part}")),
            }
        }
        quoted.push('"');
        fits(quoted).map(Text)
    }

    /// The same with one of our variables behind it.
    pub fn replacement_with(target: &RewriteTarget, Word(variable): &Word) -> Result<Self, Refused> {
        let Text(mut quoted) = Self::replacement(target)?;
        quoted.truncate(quoted.len() - 1);
        quoted.push('-');
        quoted.push_str(variable);
        quoted.push('"');
        fits(quoted).map(Text)
    }
}

impl Text {
    /// A line of the access log, in which nginx encodes what a line cannot hold.
    pub fn log_line(line: &LogLine) -> Result<Self, Refused> {
        Self::of_line(line, |_| None)
    }

    /// A header, or another text of which nginx encodes nothing.
    pub fn line(line: &LogLine) -> Result<Self, Refused> {
        Self::of_line(line, |part| part.decoded().map(names::line))
    }

    /// `instead` gives the variable of ours that takes the place of a part.
    fn of_line(line: &LogLine, instead: fn(&LogPart) -> Option<String>) -> Result<Self, Refused> {
        let mut quoted = String::from("\"");
        for part in line.parts() {
            if let Some(own) = instead(part) {
                let _ = write!(quoted, "${{{OURS}{INSTANCE}_{own}}}");
                continue;
            }
            match part {
                LogPart::Text(text) => escape(text, true, &mut quoted)?,
                LogPart::Nginx(_) => drop(write!(quoted, "{part}")),
                LogPart::Geo(variable) => drop(write!(quoted, "${{{OURS}{INSTANCE}_{variable}}}")),
                LogPart::Route(variable) => {
                    let name = match variable {
                        LogVariable::Namespace => "namespace",
                        LogVariable::IngressName => "ingress",
                        LogVariable::ServiceName => "service",
                        LogVariable::ServicePort => "port",
                        LogVariable::Upstream => "upstream",
                        LogVariable::Alternative => "alternative",
                        LogVariable::RequestId => "request_id",
                        LogVariable::IngressNamespace => "ingress_namespace",
                        LogVariable::Path => "path",
                        LogVariable::Time => "time",
                        LogVariable::Status => "status",
                        LogVariable::Host => "host",
                        LogVariable::Scheme => "scheme",
                        LogVariable::Port => "server_port",
                    };
                    let _ = write!(quoted, "${{{OURS}{INSTANCE}_log_{name}}}");
                }
            }
        }
        quoted.push('"');
        fits(quoted).map(Text)
    }

    /// The value of `Set-Cookie`. `session` is the variable with the value of the cookie, `path`
    /// that with its path.
    pub fn session_cookie(cookie: &SessionCookie, session: &Word, path: &Word, secure: bool) -> Result<Self, Refused> {
        let mut quoted = String::from("\"");
        escape(cookie.name.as_str(), true, &mut quoted)?;
        let _ = write!(quoted, "={}; Path={}", session.0, path.0);
        if let Some(domain) = &cookie.domain {
            quoted.push_str("; Domain=");
            escape(domain.as_str(), true, &mut quoted)?;
        }
        if let Some(max_age) = cookie.max_age {
            let _ = write!(quoted, "; Max-Age={max_age}");
        }
        match cookie.same_site {
            Some(SameSite::NoneWhereKnown) => drop(write!(quoted, "${{{OURS}{INSTANCE}_{}}}", names::SAME_SITE)),
            Some(same_site) => drop(write!(quoted, "; SameSite={}", same_site.name())),
            None => {}
        }
        quoted.push_str(if secure { "; Secure" } else { "" });
        quoted.push_str("; HttpOnly\"");
        fits(quoted).map(Text)
    }
}
