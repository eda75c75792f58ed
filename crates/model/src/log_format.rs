//! Parses the argument of a `log_format` as nginx does: text, and variables behind `$`. It must
//! not know which variables exist.

use super::value::Refused;

/// A part of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FormatPart {
    /// Literal text; two texts are never adjacent.
    Text(String),
    /// A variable in lower case: nginx ignores the case of names.
    Variable(String),
}

/// The parts of a `log_format`, in order. A line break becomes a blank.
pub fn log_format(text: &str) -> Result<Vec<FormatPart>, Refused> {
    let (mut parts, mut literal) = (Vec::new(), String::new());
    let mut rest = text.trim().chars();
    while let Some(character) = rest.next() {
        match character {
            // These escapes are one character to nginx.
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

/// The name behind a `$`, and the text after it.
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
