//! Where the rules of the web application firewall are on this host. It must not know who asks for
//! it, or what the rules say.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// A file, or several by a `*` in the last part of the path. It is absolute and consists of
/// letters, digits and `_ . / -`, so that nginx and ModSecurity, which expands it like a shell,
/// read it alike.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RuleFiles(Arc<str>);

impl RuleFiles {
    /// The path as it is written.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for RuleFiles {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (folder, file) = text.rsplit_once('/').ok_or(())?;
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_./-".contains(&byte);
        let fits = text.starts_with('/')
            && !file.is_empty()
            && text.len() <= 1000
            && folder.bytes().all(is_plain)
            && file.bytes().all(|byte| is_plain(byte) || byte == b'*');
        if fits { Ok(RuleFiles(text.into())) } else { Err(()) }
    }
}

impl fmt::Display for RuleFiles {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// The administrator's settings for the firewall.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FirewallOptions {
    /// Files with the settings and rules of every route that has the firewall.
    pub rules: Vec<RuleFiles>,
    /// Files with the OWASP rules, in their order; empty where they are among the other rules.
    pub core_rules: Vec<RuleFiles>,
    /// Whether the rules are loaded once, for all sites of nginx.
    pub shared: bool,
}

impl FirewallOptions {
    /// Before anything is put in: what the rows of the settings say is its default.
    pub fn empty() -> Self {
        FirewallOptions { rules: Vec::new(), core_rules: Vec::new(), shared: false }
    }
}

/// The rule files that servers load.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FirewallRules {
    /// Files with settings and rules of every route that has the firewall; empty where
    /// `nginx.conf` loads them for all sites.
    pub rules: Vec<RuleFiles>,
    /// Files with the OWASP rules.
    pub core_rules: Vec<RuleFiles>,
    /// Whether the rules are loaded once for all sites, so that no server has to.
    pub shared: bool,
}

/// The directives by which a configuration of nginx loads rules.
pub const RULE_DIRECTIVES: [&str; 3] = ["modsecurity_rules", "modsecurity_rules_file", "modsecurity_rules_remote"];

/// Why routes cannot have the firewall, as messages; `None` where they can.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Obstacles {
    /// For any route with the firewall.
    pub rules: Option<String>,
    /// For routes that ask for the OWASP rules.
    pub core_rules: Option<String>,
}

impl FirewallOptions {
    /// Every file that the settings name.
    pub fn files(&self) -> impl Iterator<Item = &RuleFiles> {
        self.rules.iter().chain(&self.core_rules)
    }

    /// Why routes cannot have the firewall when these files are missing. `has_rules` says whether
    /// nginx.conf loads rules for all sites.
    pub fn obstacles(&self, missing: &BTreeSet<RuleFiles>, has_rules: bool) -> Obstacles {
        let lacking = |files: &[RuleFiles], key: &str, package: &str| {
            let file = files.iter().find(|file| missing.contains(file))?;
            Some(format!("there is no {file}: install {package} (Debian and Ubuntu), or name other files with {key}"))
        };
        let none = || "firewall.rules names no file, and nginx.conf has no rules for all sites".to_owned();
        let rules = match (has_rules, self.rules.is_empty()) {
            (true, _) => None,
            (false, true) => Some(none()),
            (false, false) => lacking(&self.rules, "firewall.rules", "libnginx-mod-http-modsecurity"),
        };
        Obstacles { rules, core_rules: lacking(&self.core_rules, "firewall.core-rules", "modsecurity-crs") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_absolute_and_of_plain_characters() {
        for text in ["/a", "/etc/nginx/modsecurity.conf", "/usr/share/modsecurity-crs/rules/*.conf", "/a_b/c-d.*"] {
            assert_eq!(text.parse::<RuleFiles>().map(|files| files.to_string()), Ok(text.to_owned()));
        }
        for text in ["", "a", "/", "/a/", "/*/a", "/a b", "/a$(b)", "/a`b`", "/a\"", "/a\n", "/a;b", "/a?", "~/a"] {
            assert!(text.parse::<RuleFiles>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn what_is_missing_keeps_whom_it_concerns() {
        let options = FirewallOptions::default();
        assert!(options.rules.len() == 1 && options.core_rules.len() == 4, "{options:?}");
        let of = |options: &FirewallOptions, missing: &[&RuleFiles], has_rules| {
            let obstacles = options.obstacles(&missing.iter().map(|file| (*file).clone()).collect(), has_rules);
            (obstacles.rules.is_some(), obstacles.core_rules.is_some())
        };
        assert_eq!(of(&options, &[], false), (false, false));
        assert_eq!(of(&options, &[&options.rules[0]], false), (true, false));
        assert_eq!(of(&options, &[&options.rules[0]], true), (false, false), "nobody reads it");
        assert_eq!(of(&options, &[&options.core_rules[2]], true), (false, true));
        let none = FirewallOptions { rules: Vec::new(), core_rules: Vec::new(), shared: false };
        assert_eq!((of(&none, &[], false), of(&none, &[], true)), ((true, false), (false, false)));
    }
}
