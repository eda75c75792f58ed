//! Where the rules of the firewall are on this host; it must not know who asks for it, or what they say.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// A file, or with `*` in its last part several: absolute, of letters, digits and `_ . / -`, so that it means the same to nginx, to
/// ModSecurity, which reads it as a shell would, and to whoever looks for it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RuleFiles(Arc<str>);

impl RuleFiles {
    /// As it is written.
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

/// What the administrator says of the firewall.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FirewallOptions {
    /// Settings and rules of every route that has the firewall.
    pub rules: Vec<RuleFiles>,
    /// The rules of OWASP, in their order; where there are none they are among the others.
    pub core_rules: Vec<RuleFiles>,
    /// They are read once, for all sites of nginx.
    pub shared: bool,
}

impl FirewallOptions {
    /// Before anything is put in: what the rows of the settings say is its default.
    pub fn empty() -> Self {
        FirewallOptions { rules: Vec::new(), core_rules: Vec::new(), shared: false }
    }
}

/// What servers read for the firewall.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FirewallRules {
    /// Settings and rules of every route that has it; none where nginx.conf has them for all sites.
    pub rules: Vec<RuleFiles>,
    /// The rules of OWASP.
    pub core_rules: Vec<RuleFiles>,
    /// All sites read them once, so that no server has to.
    pub shared: bool,
}

/// What nginx says of rules where it does not say which routes they are for.
pub const RULE_DIRECTIVES: [&str; 3] = ["modsecurity_rules", "modsecurity_rules_file", "modsecurity_rules_remote"];

/// What keeps routes from being looked after, in words; nothing where nothing does.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Obstacles {
    /// Any of them.
    pub rules: Option<String>,
    /// Those that ask for the rules of OWASP.
    pub core_rules: Option<String>,
}

impl FirewallOptions {
    /// Every file that is named.
    pub fn files(&self) -> impl Iterator<Item = &RuleFiles> {
        self.rules.iter().chain(&self.core_rules)
    }

    /// What keeps routes from being looked after where these are missing, and whether nginx.conf has rules for all sites.
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
