//! Reads the argument of a `log_format` as nginx does: text, and variables behind `$`; it must not
//! know which variables there are.

use super::value::Refused;

/// A piece of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FormatPart {
    /// Text that stands for itself; two of them never follow each other.
    Text(String),
    /// A variable, in small letters: nginx does not tell them from others.
    Variable(String),
}

/// The pieces of a `log_format`, in order. A break of the line is a blank.
pub fn log_format(text: &str) -> Result<Vec<FormatPart>, Refused> {
    let (mut parts, mut literal) = (Vec::new(), String::new());
    let mut rest = text.trim().chars();
    while let Some(character) = rest.next() {
        match character {
            // What nginx takes for one character.
            '\\' if rest.as_str().starts_with(['"', '\'', '\\']) => literal.extend(rest.next()),
            '\n' => literal.push(' '),
            '$' => {
                let (name, behind) = name(rest.as_str())?;
                rest = behind.chars();
                if !literal.is_empty() {
                    parts.push(FormatPart::Text(std::mem::take(&mut literal)));
                }
                parts.push(FormatPart::Variable(name));
            }
            plain => literal.push(plain),
        }
    }
    if !literal.is_empty() {
        parts.push(FormatPart::Text(literal));
    }
    Ok(parts)
}

/// The name behind a `$`, and what follows it.
fn name(text: &str) -> Result<(String, &str), Refused> {
    let end = |text: &str| {
        text.find(|character: char| !character.is_ascii_alphanumeric() && character != '_').unwrap_or(text.len())
    };
    let (name, behind) = match text.strip_prefix('{') {
        Some(inner) => {
            let (name, behind) = inner.split_at(end(inner));
            (name, behind.strip_prefix('}').ok_or(Refused::because("it holds a ${ without its }"))?)
        }
        None => text.split_at(end(text)),
    };
    match name.is_empty() {
        true => Err(Refused::because("it holds a $ that names no variable")),
        false => Ok((name.to_ascii_lowercase(), behind)),
    }
}
