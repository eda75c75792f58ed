//! A lexer for nginx's language that works byte by byte, like nginx's own: it finds where words
//! and directives begin and end.

/// The state of the lexer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Part {
    /// It is between words.
    #[default]
    Between,
    /// It is in a word without quotes.
    Bare,
    /// It is in a word with this quote.
    Quoted(u8),
    /// It is behind a closing quote, where nginx requires a blank or an end.
    Ended,
    Comment,
}

/// The meaning of a byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// White space or a comment, or the end of a word without quotes.
    Blank,
    /// The first byte of a word, which may be its quote.
    Begins,
    /// A further byte of the word.
    Within,
    /// The closing quote of the word.
    Closes,
    /// `;`, `{` or `}`, which also ends a word without quotes.
    Ends(u8),
}

/// A closing quote is not followed by a blank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoBlank;

/// The state of the lexer between two bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Lexer {
    /// The current part.
    pub part: Part,
    /// Whether the previous byte is a backslash that escapes the next one.
    pub escaped: bool,
    /// Whether a brace that comes next belongs to a variable.
    pub dollar: bool,
}

impl Lexer {
    /// Processes a byte.
    ///
    /// # Errors
    ///
    /// When the byte must not stand behind a closing quote.
    pub fn step(&mut self, byte: u8) -> Result<Step, NoBlank> {
        Ok(match (self.part, byte) {
            (Part::Comment, b'\n') => self.at(Part::Between, Step::Blank),
            (Part::Comment, _) => Step::Blank,
            (Part::Between | Part::Ended, b' ' | b'\t' | b'\r' | b'\n') => self.at(Part::Between, Step::Blank),
            (Part::Between, b'#') => self.at(Part::Comment, Step::Blank),
            (Part::Between | Part::Ended, b';' | b'{' | b'}') => self.at(Part::Between, Step::Ends(byte)),
            (Part::Between, b'"' | b'\'') => self.at(Part::Quoted(byte), Step::Begins),
            // A closing parenthesis begins the next word.
            (Part::Ended, byte) if byte != b')' => return Err(NoBlank),
            (Part::Between | Part::Ended, _) => {
                self.at(Part::Bare, Step::Begins);
                self.within(byte);
                Step::Begins
            }
            (Part::Bare | Part::Quoted(_), _) if self.escaped => {
                (self.escaped, self.dollar) = (false, false);
                Step::Within
            }
            (Part::Bare, b' ' | b'\t' | b'\r' | b'\n') => self.at(Part::Between, Step::Blank),
            (Part::Bare, b'{') if self.dollar => Step::Within,
            (Part::Bare, b';' | b'{') => self.at(Part::Between, Step::Ends(byte)),
            (Part::Quoted(quote), _) if byte == quote => self.at(Part::Ended, Step::Closes),
            (Part::Bare | Part::Quoted(_), _) => self.within(byte),
        })
    }

    /// Continues in another part, as after nothing.
    pub fn at(&mut self, part: Part, step: Step) -> Step {
        *self = Lexer { part, escaped: false, dollar: false };
        step
    }

    fn within(&mut self, byte: u8) -> Step {
        self.escaped = byte == b'\\';
        self.dollar = byte == b'$' || (self.dollar && byte == b'{');
        Step::Within
    }
}

/// A quoted word that nginx parses back as this text.
pub fn quoted(word: &str) -> String {
    let mut quoted = String::with_capacity(word.len() + 2);
    quoted.push('"');
    word.chars().for_each(|character| push_quoted(character, &mut quoted));
    quoted.push('"');
    quoted
}

/// Appends a character to a quoted word. Between quotes nginx parses `\"` and `\\` as one
/// character. A backslash before `t`, `r` or `n` would be a control character, so every backslash
/// is doubled.
pub fn push_quoted(character: char, into: &mut String) {
    if matches!(character, '"' | '\\') {
        into.push('\\');
    }
    into.push(character);
}
