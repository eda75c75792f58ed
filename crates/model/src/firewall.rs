//! A web application firewall, which inspects requests and responses. It must not know where its
//! rules are.

use std::fmt;

use super::{LogLine, Refused};

/// The firewall of a route.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Firewall {
    /// Whether the OWASP rules apply in addition to the administrator's.
    pub core_rules: bool,
    /// The transaction ID for its log; `None` means a random one.
    pub transaction: Option<LogLine>,
    /// Settings that override those of the rules.
    pub settings: Vec<FirewallSetting>,
    /// Whether the rules are loaded once for all hosts, so that no host pays for them.
    pub shares_rules: bool,
}

/// One directive of ModSecurity that only changes how requests of a route are inspected: it names
/// no file, and needs no more memory than the administrator's settings allow.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct FirewallSetting(Box<str>);

/// The arguments of a setting.
enum Arguments {
    OneOf(&'static [&'static str]),
    /// A number up to this one.
    Bytes(u64),
    Numbers,
    Tag,
}

/// The longest request body that is inspected, as ModSecurity recommends. Inspection blocks the
/// worker, with the OWASP rules for a third of a second per MB, and needs ten times the memory of
/// the body.
const LONGEST_REQUEST: u64 = 13_107_200;
const LONGEST_WITHOUT_FILES: u64 = 131_072;
const LONGEST_ANSWER: u64 = 524_288;

const SETTINGS: &[(&str, Arguments)] = &[
    // A tenant must not fill the node's audit log.
    ("SecAuditEngine", Arguments::OneOf(&["Off", "RelevantOnly"])),
    ("SecRequestBodyAccess", Arguments::OneOf(&["On", "Off"])),
    ("SecRequestBodyLimit", Arguments::Bytes(LONGEST_REQUEST)),
    ("SecRequestBodyLimitAction", Arguments::OneOf(&["Reject", "ProcessPartial"])),
    ("SecRequestBodyNoFilesLimit", Arguments::Bytes(LONGEST_WITHOUT_FILES)),
    ("SecResponseBodyAccess", Arguments::OneOf(&["On", "Off"])),
    ("SecResponseBodyLimit", Arguments::Bytes(LONGEST_ANSWER)),
    ("SecResponseBodyLimitAction", Arguments::OneOf(&["Reject", "ProcessPartial"])),
    ("SecRuleEngine", Arguments::OneOf(&["On", "Off", "DetectionOnly"])),
    ("SecRuleRemoveById", Arguments::Numbers),
    ("SecRuleRemoveByTag", Arguments::Tag),
];

impl FirewallSetting {
    /// Parses a directive. Names and words are written as ModSecurity documents them, whatever
    /// their case is.
    pub fn new(line: &str) -> Result<Self, Refused> {
        let mut words = line.split_whitespace();
        let given = words.next().unwrap_or_default();
        let Some((name, arguments)) = SETTINGS.iter().find(|(name, _)| name.eq_ignore_ascii_case(given)) else {
            let known: Vec<_> = SETTINGS.iter().map(|(name, _)| *name).collect();
            return Err(Refused(
                format!("of rules as text only these settings are taken: {}", known.join(", ")).into(),
            ));
        };
        let words: Vec<&str> = words.map(unquoted).collect();
        let written = match (arguments, &*words) {
            (Arguments::OneOf(known), [word]) => {
                known.iter().find(|known| known.eq_ignore_ascii_case(word)).map(|known| (*known).to_owned())
            }
            (Arguments::Bytes(most), [number]) => {
                number.parse().ok().filter(|bytes| (1..=*most).contains(bytes)).map(|bytes: u64| bytes.to_string())
            }
            (Arguments::Numbers, [_, ..]) => {
                words.iter().map(|word| numbers(word)).collect::<Option<Vec<_>>>().map(|all| all.join(" "))
            }
            (Arguments::Tag, [tag]) => Some(*tag).filter(|tag| is_tag(tag)).map(str::to_owned),
            _ => None,
        };
        match written {
            Some(written) => Ok(FirewallSetting(format!("{name} {written}").into())),
            None => Err(Refused(format!("{name} takes {}", arguments.in_words()).into())),
        }
    }

    /// The directive.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for FirewallSetting {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl Arguments {
    fn in_words(&self) -> String {
        match self {
            Arguments::OneOf(known) => known.join(" or "),
            Arguments::Bytes(most) => {
                format!("a number of bytes, {most} at most; the administrator's firewall.rules may say more")
            }
            Arguments::Numbers => {
                "numbers of rules, such as 942100, and ranges of them, such as 942100-942999".to_owned()
            }
            Arguments::Tag => "a tag of letters, digits and _ . / -".to_owned(),
        }
    }
}

fn unquoted(word: &str) -> &str {
    let inner = |mark| word.strip_prefix(mark).and_then(|word| word.strip_suffix(mark));
    inner('"').or_else(|| inner('\'')).unwrap_or(word)
}

/// Checks a rule ID, or a range of two with a hyphen.
fn numbers(word: &str) -> Option<String> {
    let number = |text: &str| text.parse::<u32>().ok().filter(|number| *number > 0);
    match word.split_once('-') {
        None => number(word).map(|number| number.to_string()),
        Some((first, last)) => {
            let (first, last) = (number(first)?, number(last)?);
            (first <= last).then(|| format!("{first}-{last}"))
        }
    }
}

fn is_tag(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= 128
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_./-".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_setting_of_a_closed_list_or_nothing() {
        let rows = [
            ("SecRuleEngine On", Some("SecRuleEngine On")),
            ("  secruleengine   detectiononly ", Some("SecRuleEngine DetectionOnly")),
            ("SecRuleEngine \"Off\"", Some("SecRuleEngine Off")),
            ("SecRuleEngine", None),
            ("SecRuleEngine On Off", None),
            ("SecRequestBodyLimit 13107200", Some("SecRequestBodyLimit 13107200")),
            ("SecRequestBodyLimit 13107201", None),
            ("SecRequestBodyNoFilesLimit 131073", None),
            ("SecResponseBodyLimit 524289", None),
            ("SecRequestBodyLimit 0", None),
            ("SecRequestBodyLimit -1", None),
            ("SecRuleRemoveById 942100 \"920000-920999\"", Some("SecRuleRemoveById 942100 920000-920999")),
            ("SecRuleRemoveById 9-8", None),
            ("SecRuleRemoveById 0", None),
            ("SecRuleRemoveById", None),
            ("SecRuleRemoveByTag attack-sqli", Some("SecRuleRemoveByTag attack-sqli")),
            ("SecRuleRemoveByTag a;b", None),
            ("SecRuleRemoveByTag \"a\"b", None),
            ("SecAuditEngine On", None),
            ("SecAuditLog /etc/passwd", None),
            ("SecRule ARGS \"@inspectFile /bin/sh\" \"id:1,exec:/bin/sh\"", None),
            ("SecRuleScript /tmp/x.lua", None),
            ("Include /etc/passwd", None),
            ("SecRemoteRules key https://a.test", None),
            ("", None),
        ];
        for (line, expected) in rows {
            assert_eq!(FirewallSetting::new(line).ok().as_ref().map(FirewallSetting::as_str), expected, "{line}");
        }
    }
}
