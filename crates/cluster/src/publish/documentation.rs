//! Where Events link to the explanation of a reason.

use std::fmt;
use std::str::FromStr;

use url::Url;

use ingressd_model::finding::Reason;

/// The repository of this program: that of `Cargo.toml`, unless the builder of packages names
/// another one.
const REPOSITORY: &str = match option_env!("PACKAGE_REPOSITORY") {
    Some(repository) => repository,
    None => env!("CARGO_PKG_REPOSITORY"),
};

/// The folder of the documentation in the repository.
const FOLDER: &str = "docs/";

/// The longest URL in bytes: an Event takes little more than a thousand, and most of that is
/// needed for the note.
const LONGEST: usize = 256;

/// Where readers of Events find the documentation; they may not have access to the files of a
/// node.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Documentation {
    /// In the repository, where the build names one: a path on the node leads readers of Events
    /// nowhere.
    #[default]
    Repository,
    /// Below this URL, which ends with a slash.
    At(Url),
    /// Nowhere: Events have no link.
    Nowhere,
}

/// Why a text is not a URL of the documentation.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "it takes an absolute URL such as \"https://docs.example/ingressd/\" with neither user, query nor fragment and at most \
     {LONGEST} characters, \"auto\", or nothing"
)]
pub struct NoAddress;

impl Documentation {
    /// The link to the explanation of this reason.
    pub fn link(&self, reason: Reason) -> Option<String> {
        let place = reason.place();
        match self {
            Documentation::Nowhere => None,
            Documentation::At(base) => Some(format!("{base}{place}")),
            Documentation::Repository => in_repository(REPOSITORY).map(|folder| format!("{folder}{place}")),
        }
    }
}

/// The folder of the documentation of this version.
fn in_repository(repository: &str) -> Option<String> {
    let repository = Some(repository.trim_end_matches('/')).filter(|repository| !repository.is_empty())?;
    Some(format!("{repository}/blob/v{}/{FOLDER}", env!("CARGO_PKG_VERSION")))
}

impl FromStr for Documentation {
    type Err = NoAddress;

    fn from_str(text: &str) -> Result<Self, NoAddress> {
        match text {
            "" => return Ok(Documentation::Nowhere),
            "auto" => return Ok(Documentation::Repository),
            _ => {}
        }
        // The URL parser tolerates white space and line ends by dropping them silently.
        let is_plain = text.len() <= LONGEST && text.bytes().all(|byte| byte.is_ascii_graphic());
        let mut url = Url::parse(text).map_err(|_| NoAddress)?;
        if !url.path().ends_with('/') {
            url.set_path(&format!("{}/", url.path()));
        }
        let has_user = !url.username().is_empty() || url.password().is_some();
        let is_bare = !has_user && url.query().is_none() && url.fragment().is_none();
        let is_page = matches!(url.scheme(), "http" | "https") && url.has_host();
        match is_plain && is_bare && is_page {
            true => Ok(Documentation::At(url)),
            false => Err(NoAddress),
        }
    }
}

impl fmt::Display for Documentation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Documentation::Repository => formatter.write_str("auto"),
            Documentation::At(base) => base.fmt(formatter),
            Documentation::Nowhere => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_absolute_and_end_in_the_place_of_the_reason() {
        let long = format!("https://docs.example/{}", "a".repeat(LONGEST));
        for (text, expected) in [
            ("https://docs.example", Some("https://docs.example/findings.md#missingservice")),
            ("https://docs.example/ingressd/", Some("https://docs.example/ingressd/findings.md#missingservice")),
            ("http://[2001:db8::1]:8080/a", Some("http://[2001:db8::1]:8080/a/findings.md#missingservice")),
            ("docs.example", None),
            ("/usr/share/doc/ingressd/docs", None),
            ("file:///usr/share/doc", None),
            ("javascript:alert(1)", None),
            ("https://", None),
            ("https://user@docs.example/", None),
            ("https://:secret@docs.example/", None),
            ("https://docs.example/?page=", None),
            ("https://docs.example/#findings", None),
            ("https://docs.example/\n", None),
            ("https://docs.example/a b", None),
            ("Auto", None),
            (&long, None),
        ] {
            let read = text.parse::<Documentation>().ok();
            let link = read.as_ref().and_then(|read| read.link(Reason::MissingService));
            assert_eq!(link.as_deref(), expected, "{text}");
        }
        assert_eq!("".parse::<Documentation>().unwrap().link(Reason::MissingService), None);
    }

    #[test]
    fn the_repository_is_an_address_or_there_is_no_link() {
        let version = env!("CARGO_PKG_VERSION");
        let folder = format!("https://git.example/a/blob/v{version}/docs/");
        assert_eq!([in_repository("https://git.example/a/"), in_repository("")], [Some(folder), None]);
        assert_eq!("auto".parse(), Ok(Documentation::Repository));
        // A repository that the build names has to be a valid URL.
        let is_address = matches!(REPOSITORY.parse(), Ok(Documentation::At(_)));
        assert!(REPOSITORY.is_empty() || is_address, "{REPOSITORY}");
    }
}
