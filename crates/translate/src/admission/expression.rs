//! CEL expressions for texts, forms and label selectors.

use crate::annotation::{Form, Shape};
use ingressd_objects::{LabelCondition, Selector};

/// White space as this program and CEL's `trim` define it, for RE2, whose own class is smaller.
const BLANK: &str = r"[\x09-\x0d\x{85}\pZ]";

/// The digits of a 64-bit number without leading zeros. CEL does not accept larger numbers either.
const DIGITS: &str = "(?:[0-9]{1,19}|1[0-8][0-9]{18})";

/// Features of CEL that depend on the version of the API server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Abilities {
    /// Whether it can parse addresses and networks: since Kubernetes 1.31.
    pub networks: bool,
}

pub fn text(text: &str) -> String {
    let escaped = text.chars().map(|letter| match letter {
        '\'' | '\\' => format!("\\{letter}"),
        letter if letter.is_control() => format!("\\U{:08x}", u32::from(letter)),
        letter => letter.to_string(),
    });
    format!("'{}'", escaped.collect::<String>())
}

/// A list of texts.
pub fn list<'a>(texts: impl IntoIterator<Item = &'a str>) -> String {
    let texts: Vec<_> = texts.into_iter().map(text).collect();
    format!("[{}]", texts.join(", "))
}

/// An expression that is true when the pattern matches in the value of `it`.
fn matches(it: &str, pattern: &str) -> String {
    debug_assert!(!pattern.contains('\''), "{pattern} ends the text that it stands in");
    format!("{it}.matches(r'{pattern}')")
}

/// An expression that is true when the value of `it` has the form; `None` where CEL cannot express
/// that.
pub fn form(form: &Form, it: &str, abilities: Abilities) -> Option<String> {
    let trimmed = format!("{it}.trim()");
    // Empty entries are left out, and one has to be left.
    let every = |fits: String| {
        let has_entry = matches(it, "[^,\\x09-\\x0d\\x{85}\\pZ]");
        format!("{has_entry} && {it}.split(',').all(x, x.trim() == '' || {fits})")
    };
    Some(match form {
        Form::Boolean => format!("{trimmed} in {}", list(BOOLEANS)),
        Form::Word(words) => format!("{trimmed} in {}", list(words.iter().copied())),
        Form::AnyCase(words) => format!("{trimmed}.lowerAscii() in {}", list(words.iter().copied())),
        Form::Words(words) => {
            let words: Vec<_> = words.iter().map(|word| regex::escape(word)).collect();
            let word = format!("(?:{})", words.join("|"));
            matches(&trimmed, &format!("^{word}(?:{BLANK}+{word})*$"))
        }
        Form::Integer { least, most } => {
            let (is_number, number) =
                (matches(&trimmed, &format!("^[+]?0*{DIGITS}$")), format!("uint({trimmed}.replace('+', ''))"));
            format!("{is_number} && {}", within(&number, *least, *most))
        }
        Form::Size { least, most } => size(&trimmed, *least, *most),
        Form::Addresses if abilities.networks => every(network("x.trim()")),
        Form::Addresses => matches(it, &format!("^(?:[0-9a-fA-F:./,]|{BLANK})+$")),
        Form::Text(shape) => fits(shape, it),
        Form::List(shape) => every(fits(shape, "x")),
        Form::Some(shape) => format!("{it}.split(',').exists(x, {})", fits(shape, "x")),
        Form::Partly(inner, _) => return self::form(inner, it, abilities),
        Form::NotJudged(_) => return None,
    })
}

/// The spellings of booleans in Go.
pub const BOOLEANS: [&str; 12] = ["1", "t", "T", "true", "TRUE", "True", "0", "f", "F", "false", "FALSE", "False"];

fn within(number: &str, least: u64, most: u64) -> String {
    match least {
        0 => format!("{number} <= {most}u"),
        least => format!("{number} >= {least}u && {number} <= {most}u"),
    }
}

fn size(it: &str, least: u64, most: u64) -> String {
    let is_size = matches(it, &format!("^0*{DIGITS}[bBkKmMgG]?$"));
    let of_unit = |unit: &str, bytes: u64| {
        let number = format!("uint(x.replace('{unit}', ''))");
        within(&number, least.div_ceil(bytes), most / bytes)
    };
    let units = [("k", 1 << 10), ("m", 1 << 20), ("g", 1 << 30)];
    let larger: String =
        units.iter().map(|(unit, bytes)| format!("x.endsWith('{unit}') ? {} : ", of_unit(unit, *bytes))).collect();
    format!("{is_size} && [{it}.lowerAscii()].all(x, {larger}{})", of_unit("b", 1))
}

/// An address or a network. The extra forms that our parser accepts are matched by their
/// characters: IPv4 within IPv6, and leading zeros of the prefix length.
fn network(it: &str) -> String {
    let besides = matches(it, "^[0-9a-fA-F:]*:[0-9.]+(?:/[0-9]{1,3})?$|^[0-9a-fA-F:.]+/0[0-9]+$");
    format!("isIP({it}) || isCIDR({it}) || {besides}")
}

/// An expression that is true when a text has the shape.
pub fn fits(shape: &Shape, it: &str) -> String {
    let it = if shape.verbatim { it.to_owned() } else { format!("{it}.trim()") };
    let it = if shape.any_case { format!("{it}.lowerAscii()") } else { it };
    let mut all = vec![matches(&it, &format!("^(?:{})$", shape.pattern))];
    all.extend((!shape.never.is_empty()).then(|| format!("!{}", matches(&it, shape.never))));
    all.push(format!("size({it}) <= {}", shape.longest));
    all.join(" && ")
}

/// An expression that is true when the selector matches the labels.
pub fn selects(selector: &Selector, labels: &str) -> String {
    let conditions = selector.requirements().map(|(key, condition)| {
        let (key, values) =
            (text(key), |values: &std::collections::BTreeSet<String>| list(values.iter().map(String::as_str)));
        let (is_there, label) = (format!("{key} in {labels}"), format!("{labels}[{key}]"));
        let is_number = format!("{is_there} && {}", matches(&label, "^[+-]?0*[0-9]{1,18}$"));
        match condition {
            LabelCondition::Present => is_there,
            LabelCondition::Absent => format!("!({is_there})"),
            LabelCondition::Among(among) => format!("{is_there} && {label} in {}", values(among)),
            LabelCondition::NotAmong(among) => format!("!({is_there} && {label} in {})", values(among)),
            LabelCondition::Above(bound) => format!("{is_number} && int({label}) > {bound}"),
            LabelCondition::Below(bound) => format!("{is_number} && int({label}) < {bound}"),
        }
    });
    conditions.collect::<Vec<_>>().join(" && ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_end_where_they_should() {
        assert_eq!(text(r"a'b\c"), r"'a\'b\\c'");
        assert_eq!(text("a\nb"), r"'a\U0000000ab'");
    }

    #[test]
    fn sizes_are_compared_in_their_own_units() {
        let reported = size("v", 1, 1536);
        assert!(
            reported.contains("x.endsWith('k') ? uint(x.replace('k', '')) >= 1u && uint(x.replace('k', '')) <= 1u"),
            "{reported}"
        );
        assert!(
            reported.ends_with("uint(x.replace('b', '')) >= 1u && uint(x.replace('b', '')) <= 1536u)"),
            "{reported}"
        );
    }

    #[test]
    fn selectors_are_those_of_the_settings() {
        let selector: Selector = "team in (a,b),!old,tier!=x,level>3".parse().unwrap();
        let expected = "'team' in l && l['team'] in ['a', 'b'] && !('old' in l) && !('tier' in l && l['tier'] in ['x']) && \
                        'level' in l && l['level'].matches(r'^[+-]?0*[0-9]{1,18}$') && int(l['level']) > 3";
        assert_eq!(selects(&selector, "l"), expected);
    }
}
