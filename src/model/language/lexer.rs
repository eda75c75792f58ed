//! nginx's language byte by byte, as its own reader has it: where words and statements begin and end.

/// Where the last byte left the reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Part {
    /// Between words.
    #[default]
    Between,
    /// In a word without quotes.
    Bare,
    /// In a word with this quote.
    Quoted(u8),
    /// Behind a closing quote, where nginx insists on a blank or an end.
    Ended,
    /// In a comment.
    Comment,
}

/// What a byte is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Nothing that counts, or the end of a word without quotes.
    Blank,
    /// The first of a word; it may be its quote.
    Begins,
    /// A further one of the word.
    Within,
    /// The quote that ends the word.
    Closes,
    /// `;`, `{` or `}`, and the end of a word without quotes.
    Ends(u8),
}

/// A text that is behind a closing quote without a blank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoBlank;

/// A position between two bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Lexer {
    /// Where it stands.
    pub part: Part,
    /// Whether a backslash protects the next byte of the word.
    pub escaped: bool,
    /// Whether a brace that comes next belongs to a variable.
    pub dollar: bool,
}

impl Lexer {
    /// Reads a byte.
    ///
    /// # Errors
    ///
    /// When it stands behind a closing quote and may not.
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

    /// Goes on in another part, with nothing before it.
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

/// A word that nginx reads back as this one, whatever is in it.
pub fn quoted(word: &str) -> String {
    let mut quoted = String::with_capacity(word.len() + 2);
    quoted.push('"');
    word.chars().for_each(|character| push_quoted(character, &mut quoted));
    quoted.push('"');
    quoted
}

/// Between quotes nginx reads `\"` and `\\` as one character and every other but the closing quote as itself; a backslash
/// before `t`, `r` or `n` would mean a control character, so every one is doubled.
pub fn push_quoted(character: char, into: &mut String) {
    if matches!(character, '"' | '\\') {
        into.push('\\');
    }
    into.push(character);
}
