//! Reads nginx configuration text into a tree of directives, exactly as nginx's own reader does; it must not know what a directive means.

use std::fmt;

/// Longest parameter in bytes as written: nginx reads into a buffer of this size.
const LONGEST_PARAMETER: usize = 4096;

/// One directive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Directive {
    /// Its name, the first word.
    pub name: String,
    /// Its other words, without quotes and escapes.
    pub arguments: Vec<String>,
    /// What stands between its braces; `None` when it ends with a semicolon.
    pub block: Option<Vec<Directive>>,
    /// The line on which it begins, from 1.
    pub line: u32,
}

impl Directive {
    /// The directives in its block.
    pub fn children(&self) -> &[Directive] {
        self.block.as_deref().unwrap_or_default()
    }
}

/// Text that nginx would not read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct SyntaxError {
    /// The line, from 1.
    pub line: u32,
    /// What is wrong, in one clause.
    pub words: &'static str,
}

impl fmt::Display for SyntaxError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "line {}: {}", self.line, self.words)
    }
}

/// Reads a whole file. Bytes that are not UTF-8 become replacement characters.
///
/// # Errors
///
/// Where nginx's reader would stop. Directives with a grammar of their own inside braces (`map`, `types`,
/// `geo`) are read as nginx does: word by word.
pub fn parse(text: &[u8]) -> Result<Vec<Directive>, SyntaxError> {
    let mut reader = Reader { bytes: text, position: 0, line: 1 };
    let mut open: Vec<(Directive, Vec<Directive>)> = Vec::new();
    let mut directives = Vec::new();
    loop {
        let (words, line, end) = reader.statement()?;
        match end {
            End::Semicolon => directives.push(directive(words, line, None)),
            End::Opens => open.push((directive(words, line, None), std::mem::take(&mut directives))),
            End::Closes => {
                let Some((mut parent, siblings)) = open.pop() else {
                    return Err(SyntaxError { line, words: "unexpected \"}\"" });
                };
                parent.block = Some(std::mem::replace(&mut directives, siblings));
                directives.push(parent);
            }
            End::File if open.is_empty() => return Ok(directives),
            End::File => return Err(SyntaxError { line, words: "unexpected end of file, expecting \"}\"" }),
        }
    }
}

fn directive(words: Vec<String>, line: u32, block: Option<Vec<Directive>>) -> Directive {
    let mut words = words.into_iter();
    Directive { name: words.next().unwrap_or_default(), arguments: words.collect(), block, line }
}

enum End {
    Semicolon,
    Opens,
    Closes,
    File,
}

struct Reader<'a> {
    bytes: &'a [u8],
    position: usize,
    line: u32,
}

const fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n')
}

impl Reader<'_> {
    fn next(&mut self) -> Option<u8> {
        let byte = *self.bytes.get(self.position)?;
        self.position += 1;
        self.line += u32::from(byte == b'\n');
        Some(byte)
    }

    /// Words up to and with the byte that ends them.
    fn statement(&mut self) -> Result<(Vec<String>, u32, End), SyntaxError> {
        let mut words = Vec::new();
        let mut first_line = None;
        loop {
            let Some(byte) = self.next() else {
                return match words.is_empty() {
                    true => Ok((words, self.line, End::File)),
                    false => Err(self.error("unexpected end of file, expecting \";\" or \"}\"")),
                };
            };
            match byte {
                byte if is_blank(byte) => continue,
                b'#' => {
                    while self.next().is_some_and(|byte| byte != b'\n') {}
                    continue;
                }
                b';' if words.is_empty() => return Err(self.error("unexpected \";\"")),
                b'{' if words.is_empty() => return Err(self.error("unexpected \"{\"")),
                b'}' if !words.is_empty() => return Err(self.error("unexpected \"}\"")),
                b';' => return Ok((words, first_line.unwrap_or(self.line), End::Semicolon)),
                b'{' => return Ok((words, first_line.unwrap_or(self.line), End::Opens)),
                b'}' => return Ok((words, self.line, End::Closes)),
                _ => {}
            }
            first_line.get_or_insert(self.line);
            let ended = match byte {
                b'"' | b'\'' => {
                    words.push(self.quoted(byte)?);
                    self.after_quote()?
                }
                _ => {
                    let (word, ended) = self.bare(byte)?;
                    words.push(word);
                    ended
                }
            };
            if let Some(end) = ended {
                return Ok((words, first_line.unwrap_or(self.line), end));
            }
        }
    }

    /// The rest of a quoted word; a backslash protects any byte after it from ending the word.
    fn quoted(&mut self, quote: u8) -> Result<String, SyntaxError> {
        let (start, line) = (self.position, self.line);
        loop {
            match self.next() {
                Some(b'\\') => drop(self.next()),
                Some(byte) if byte == quote => break,
                Some(_) => {}
                None => return Err(self.error("unexpected end of file within quotes")),
            }
            self.check_length(start, line)?;
        }
        Ok(unescape(&self.bytes[start..self.position - 1]))
    }

    /// nginx insists on a blank or an end after a closing quote; a closing parenthesis begins the next word.
    fn after_quote(&mut self) -> Result<Option<End>, SyntaxError> {
        match self.next() {
            Some(byte) if is_blank(byte) => Ok(None),
            Some(b';') => Ok(Some(End::Semicolon)),
            Some(b'{') => Ok(Some(End::Opens)),
            Some(b')') => {
                self.position -= 1;
                Ok(None)
            }
            Some(_) => Err(self.error("unexpected character after a closing quote")),
            None => Err(self.error("unexpected end of file, expecting \";\" or \"}\"")),
        }
    }

    /// The rest of a word without quotes; `${` does not open a block.
    fn bare(&mut self, first: u8) -> Result<(String, Option<End>), SyntaxError> {
        let (start, line) = (self.position - 1, self.line);
        let mut variable = first == b'$';
        if first == b'\\' {
            self.next();
        }
        loop {
            let Some(byte) = self.next() else {
                return Err(self.error("unexpected end of file, expecting \";\" or \"}\""));
            };
            let end = match byte {
                b'{' if variable => continue,
                b'{' => Some(End::Opens),
                b';' => Some(End::Semicolon),
                byte if is_blank(byte) => None,
                _ => {
                    variable = byte == b'$';
                    if byte == b'\\' {
                        self.next();
                    }
                    self.check_length(start, line)?;
                    continue;
                }
            };
            return Ok((unescape(&self.bytes[start..self.position - 1]), end));
        }
    }

    fn check_length(&self, start: usize, line: u32) -> Result<(), SyntaxError> {
        match self.position - start < LONGEST_PARAMETER {
            true => Ok(()),
            false => Err(SyntaxError { line, words: "too long parameter" }),
        }
    }

    fn error(&self, words: &'static str) -> SyntaxError {
        SyntaxError { line: self.line, words }
    }
}

/// Takes out the escapes that nginx knows; any other backslash stands for itself.
fn unescape(raw: &[u8]) -> String {
    let mut bytes = Vec::with_capacity(raw.len());
    let mut rest = raw.iter().copied().peekable();
    while let Some(byte) = rest.next() {
        let meant = match (byte, rest.peek()) {
            (b'\\', Some(&escaped @ (b'"' | b'\'' | b'\\'))) => Some(escaped),
            (b'\\', Some(b't')) => Some(b'\t'),
            (b'\\', Some(b'r')) => Some(b'\r'),
            (b'\\', Some(b'n')) => Some(b'\n'),
            _ => None,
        };
        if meant.is_some() {
            rest.next();
        }
        bytes.push(meant.unwrap_or(byte));
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(directives: &[Directive]) -> String {
        let one = |directive: &Directive| {
            let words: Vec<_> = std::iter::once(&directive.name).chain(&directive.arguments).collect();
            match &directive.block {
                Some(block) => format!("{words:?}{{{}}}", shape(block)),
                None => format!("{words:?}"),
            }
        };
        directives.iter().map(one).collect()
    }

    #[test]
    fn reads_as_nginx_does() {
        let table: &[(&str, &str)] = &[
            ("a;", r#"["a"]"#),
            ("a b\tc\n;", r#"["a", "b", "c"]"#),
            ("a { b; } c;", r#"["a"]{["b"]}["c"]"#),
            ("a{b;}", r#"["a"]{["b"]}"#),
            (r#"a "b c" 'd;e';"#, r#"["a", "b c", "d;e"]"#),
            (r#"a "\d" "\\d" "\"";"#, r#"["a", "\\d", "\\d", "\""]"#),
            (r#"a "\t\n\x";"#, r#"["a", "\t\n\\x"]"#),
            ("a b'c\"d;", r#"["a", "b'c\"d"]"#),
            ("a b#c; # comment ; { \nd;", r##"["a", "b#c"]["d"]"##),
            // A brace after `$d` opens a block, unlike one directly after the `$`.
            ("a ${b}c $d{e;}", r#"["a", "${b}c", "$d"]{["e"]}"#),
            ("a b\\;c;", r#"["a", "b\\;c"]"#),
            ("if ($a = \"b\") {}", r#"["if", "($a", "=", "b", ")"]{}"#),
            ("\"a\";", r#"["a"]"#),
            ("", ""),
        ];
        for (text, expected) in table {
            let read = parse(text.as_bytes()).map(|directives| shape(&directives));
            assert_eq!(read.as_deref(), Ok(*expected), "{text}");
        }
    }

    #[test]
    fn tells_the_line_of_what_nginx_refuses() {
        let table: &[(&str, u32)] = &[
            ("a\nb", 2),
            ("a;\n}", 2),
            ("a {\n", 2),
            ("\n;", 2),
            ("{", 1),
            ("a }", 1),
            ("a \"b\"c;", 1),
            ("a \"b\n", 2),
        ];
        for (text, line) in table {
            assert_eq!(parse(text.as_bytes()).map_err(|error| error.line), Err(*line), "{text}");
        }
        let long = format!("\na \"{}\";", "b".repeat(LONGEST_PARAMETER));
        assert_eq!(parse(long.as_bytes()), Err(SyntaxError { line: 2, words: "too long parameter" }));
    }

    #[test]
    fn keeps_the_line_of_each_directive() {
        let tree = parse(b"a;\nb\n  c {\n d;\n}\n").expect("nginx reads it");
        assert_eq!((tree[0].line, tree[1].line, tree[1].children()[0].line), (1, 2, 4));
    }
}
