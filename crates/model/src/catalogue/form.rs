//! The form of a directive's arguments.

/// The form of a directive's arguments. A variable may take the place of any argument except
/// switches and blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// No argument.
    Nothing,
    /// `on` or `off`.
    Switch,
    /// One keyword of nginx, or a name.
    Word,
    /// One or more words.
    Words,
    /// One number.
    Number,
    /// One size: `8k`.
    Size,
    /// The number and the size of buffers.
    NumberAndSize,
    /// One or two times: `60s`.
    Time,
    /// One text that may contain variables.
    Text,
    /// The path of a file.
    Path,
    /// Words, and a block in braces.
    Block,
    /// Words, with or without a block.
    Any,
}

impl Form {
    /// Whether these arguments have the form.
    pub fn fits(self, arguments: &[String], has_block: bool) -> bool {
        let or_variable = |text: &str, is: fn(&str) -> bool| text.starts_with('$') || is(text);
        let all = |is: fn(&str) -> bool, counts: std::ops::RangeInclusive<usize>| {
            counts.contains(&arguments.len()) && arguments.iter().all(|text| or_variable(text, is))
        };
        if has_block {
            return matches!(self, Form::Block | Form::Any);
        }
        match self {
            Form::Nothing => arguments.is_empty(),
            Form::Switch => arguments.len() == 1 && matches!(&*arguments[0], "on" | "off"),
            Form::Word | Form::Text => arguments.len() == 1,
            Form::Words => !arguments.is_empty(),
            Form::Number => all(is_number, 1..=1),
            Form::Size => all(is_size, 1..=1),
            Form::NumberAndSize => arguments.len() == 2 && is_number(&arguments[0]) && is_size(&arguments[1]),
            Form::Time => all(is_time, 1..=2),
            Form::Path => all(|text| text.starts_with('/') || matches!(text, "\"\"" | ""), 1..=1),
            Form::Block => false,
            Form::Any => true,
        }
    }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_size(text: &str) -> bool {
    is_number(text.strip_suffix(['k', 'K', 'm', 'M', 'g', 'G']).unwrap_or(text))
}

fn is_time(text: &str) -> bool {
    let units = ["ms", "s", "m", "h", "d", "w", "M", "y"];
    is_number(units.into_iter().find_map(|unit| text.strip_suffix(unit)).unwrap_or(text))
}

#[cfg(test)]
mod tests {
    use super::Form;

    #[test]
    fn words_fit_their_form() {
        let rows: &[(Form, &[&str], &[&str])] = &[
            (Form::Nothing, &[""], &["on"]),
            (Form::Switch, &["on", "off"], &["", "yes", "on off", "$x"]),
            (Form::Word, &["a"], &["", "a b"]),
            (Form::Words, &["a", "a b"], &[""]),
            (Form::Number, &["0", "12", "$x"], &["", "1k", "1 2", "-1"]),
            (Form::Size, &["0", "8k", "1g", "$x"], &["", "k", "8kb", "8 8"]),
            (Form::NumberAndSize, &["4 8k"], &["4", "8k 4k", "4 8k 1"]),
            (Form::Time, &["0", "60s", "100ms", "75s 60s"], &["", "s", "1s 1s 1s", "soon"]),
            (Form::Path, &["/etc/x"], &["", "x", "/a /b"]),
        ];
        for (form, good, bad) in rows {
            let fits = |text: &str| form.fits(&text.split_whitespace().map(str::to_owned).collect::<Vec<_>>(), false);
            good.iter().for_each(|text| assert!(fits(text), "{form:?}: {text}"));
            bad.iter().for_each(|text| assert!(!fits(text), "{form:?}: {text}"));
        }
        assert!(Form::Block.fits(&["x".to_owned()], true) && !Form::Block.fits(&[], false));
        assert!(!Form::Words.fits(&["x".to_owned()], true));
    }
}
