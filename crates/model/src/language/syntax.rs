//! Parses nginx configuration into a tree of directives, exactly as nginx's own parser does.

use std::fmt;
use std::ops::Range;

pub use super::lexer::quoted;
use super::lexer::{Lexer, NoBlank, Part, Step};
use super::lua;

/// The longest word in bytes as written, which is the size of nginx's buffer.
const LONGEST_PARAMETER: usize = 4096;

/// The deepest nesting of blocks, because dropping the tree takes stack for each level.
const DEEPEST: usize = 100;

/// One directive.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Directive {
    pub name: String,
    /// Its arguments, without quotes and escapes.
    pub arguments: Vec<String>,
    /// The directives in its braces; `None` when it ends with a semicolon.
    pub block: Option<Vec<Directive>>,
    /// The line on which it begins, from 1.
    pub line: u32,
    /// The range of its bytes in the text, including the semicolon or the closing brace.
    pub span: Range<usize>,
}

impl Directive {
    /// The directives in its block.
    pub fn children(&self) -> &[Directive] {
        self.block.as_deref().unwrap_or_default()
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct SyntaxError {
    /// The line, from 1.
    pub line: u32,
    /// The message; one clause.
    pub words: &'static str,
}

impl fmt::Display for SyntaxError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "line {}: {}", self.line, self.words)
    }
}

/// Parses a whole file. Bytes that are not UTF-8 become replacement characters.
///
/// # Errors
///
/// Where nginx's parser would stop. Directives with a grammar of their own inside braces (`map`,
/// `types`, `geo`) are parsed word by word, as nginx does. A block of Lua, in which braces mean
/// something else, counts as an empty one.
pub fn parse(text: &[u8]) -> Result<Vec<Directive>, SyntaxError> {
    let mut reader = Reader { text, position: 0, line: 1, lexer: Lexer::default() };
    let mut open: Vec<(Directive, Vec<Directive>)> = Vec::new();
    let mut directives = Vec::new();
    loop {
        let (statement, end) = reader.statement()?;
        match end {
            Some(b'}') => {
                let Some((mut parent, siblings)) = open.pop() else { return Err(reader.error("unexpected \"}\"")) };
                parent.span.end = reader.position;
                parent.block = Some(std::mem::replace(&mut directives, siblings));
                directives.push(parent);
            }
            Some(b'{') if lua::is_block_of(&statement.name) => directives.push(reader.lua(statement)?),
            Some(b'{') if open.len() == DEEPEST => return Err(reader.error("too many blocks within each other")),
            Some(b'{') => open.push((statement, std::mem::take(&mut directives))),
            Some(_) => directives.push(statement),
            None if open.is_empty() => return Ok(directives),
            None => return Err(reader.error("unexpected end of file, expecting \"}\"")),
        }
    }
}

struct Reader<'a> {
    text: &'a [u8],
    position: usize,
    line: u32,
    lexer: Lexer,
}

impl Reader<'_> {
    /// The words up to the byte that ends the directive, and that byte; `None` at the end of the
    /// text.
    fn statement(&mut self) -> Result<(Directive, Option<u8>), SyntaxError> {
        let mut words = Vec::new();
        let (mut word, mut first) = (None, None);
        while let Some(byte) = self.text.get(self.position).copied() {
            let here = self.position;
            let step = self.lexer.step(byte);
            let step = step.map_err(|NoBlank| self.error("unexpected character after a closing quote"))?;
            self.position += 1;
            match step {
                Step::Begins => {
                    word = Some((here, self.line));
                    first.get_or_insert((here, self.line));
                }
                Step::Within => self.check_length(word)?,
                Step::Closes => words.extend(word.take().map(|(start, _)| unescape(&self.text[start + 1..here]))),
                Step::Blank | Step::Ends(_) => {
                    words.extend(word.take().map(|(start, _)| unescape(&self.text[start..here])));
                }
            }
            match (step, words.is_empty()) {
                (Step::Ends(b';'), true) => return Err(self.error("unexpected \";\"")),
                (Step::Ends(b'{'), true) => return Err(self.error("unexpected \"{\"")),
                (Step::Ends(b'}'), false) => return Err(self.error("unexpected \"}\"")),
                (Step::Ends(end), _) => {
                    let (start, line) = first.unwrap_or((here, self.line));
                    let mut words = words.into_iter();
                    let name = words.next().unwrap_or_default();
                    let span = start..self.position;
                    return Ok((Directive { name, arguments: words.collect(), block: None, line, span }, Some(end)));
                }
                _ => self.line += u32::from(byte == b'\n'),
            }
        }
        match (self.lexer.part, first) {
            (Part::Quoted(_), _) => Err(self.error("unexpected end of file within quotes")),
            (_, Some(_)) => Err(self.error("unexpected end of file, expecting \";\" or \"}\"")),
            (_, None) => Ok((Directive::default(), None)),
        }
    }

    /// A directive with a Lua block.
    fn lua(&mut self, mut directive: Directive) -> Result<Directive, SyntaxError> {
        let end = lua::end(self.text, self.position);
        let end = end.ok_or_else(|| self.error("unexpected end of file, expecting the \"}\" of a block of Lua"))?;
        let lines = self.text[self.position..end].iter().filter(|byte| **byte == b'\n').count();
        self.line += u32::try_from(lines).unwrap_or(u32::MAX);
        self.position = end;
        (directive.span.end, directive.block) = (end, Some(Vec::new()));
        Ok(directive)
    }

    fn check_length(&self, word: Option<(usize, u32)>) -> Result<(), SyntaxError> {
        let Some((start, line)) = word else { return Ok(()) };
        let quote = usize::from(matches!(self.lexer.part, Part::Quoted(_)));
        match self.position - start - quote < LONGEST_PARAMETER {
            true => Ok(()),
            false => Err(SyntaxError { line, words: "too long parameter" }),
        }
    }

    fn error(&self, words: &'static str) -> SyntaxError {
        SyntaxError { line: self.line, words }
    }
}

/// Removes the escapes that nginx knows; any other backslash is literal.
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
            ("x_by_lua_block { if a[1] then b = \"}\" end -- }\n} c;", r#"["x_by_lua_block"]{}["c"]"#),
            ("set_by_lua_block $a { return {} }", r#"["set_by_lua_block", "$a"]{}"#),
            ("", ""),
        ];
        for (text, expected) in table {
            let read = parse(text.as_bytes()).map(|directives| shape(&directives));
            assert_eq!(read.as_deref(), Ok(*expected), "{text}");
        }
    }

    #[test]
    fn names_the_line_of_what_nginx_refuses() {
        let table: &[(&str, u32)] = &[
            ("a\nb", 2),
            ("a;\n}", 2),
            ("a {\n", 2),
            ("\n;", 2),
            ("{", 1),
            ("a }", 1),
            ("a \"b\"c;", 1),
            ("a \"b\n", 2),
            ("a;\nx_by_lua_block { '}\n", 2),
            ("x_by_lua_block {\n}\n;", 3),
        ];
        for (text, line) in table {
            assert_eq!(parse(text.as_bytes()).map_err(|error| error.line), Err(*line), "{text}");
        }
        let deep = "a{".repeat(DEEPEST + 1);
        assert_eq!(parse(deep.as_bytes()).map_err(|error| error.line), Err(1));
        let long = format!("\na \"{}\";", "b".repeat(LONGEST_PARAMETER));
        assert_eq!(parse(long.as_bytes()), Err(SyntaxError { line: 2, words: "too long parameter" }));
    }

    #[test]
    fn keeps_the_bytes_of_each_directive() {
        let text = "# ä;\n'a'\tb; c { d \";\"; e{} } f;";
        let tree = parse(text.as_bytes()).expect("nginx reads it");
        let written = |directives: &[Directive]| {
            Vec::from_iter(directives.iter().map(|found| text[found.span.clone()].to_owned()))
        };
        assert_eq!(written(&tree), ["'a'\tb;", "c { d \";\"; e{} }", "f;"]);
        assert_eq!(written(tree[1].children()), ["d \";\";", "e{}"]);
    }

    #[test]
    fn every_quoted_text_is_read_back() {
        for word in ["", "a b", "\\", "\\n", "\"", "'", "a;{}", "$a", "${a", "#", "ä\n"] {
            let tree = parse(format!("x {};", quoted(word)).as_bytes()).expect("nginx reads it");
            assert_eq!((tree.len(), &tree[0].arguments[..]), (1, &[word.to_owned()][..]));
        }
    }

    #[test]
    fn keeps_the_line_of_each_directive() {
        let tree = parse(b"a;\nb\n  c {\n d;\n}\n").expect("nginx reads it");
        assert_eq!((tree[0].line, tree[1].line, tree[1].children()[0].line), (1, 2, 4));
    }
}
