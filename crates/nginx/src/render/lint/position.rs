//! Tracks the position in nginx's language, character by character, through a text with holes for
//! values.
//!
//! It can start and stop at any character, because the text between two values of a template is
//! not a configuration by itself.

use crate::lexer::{Lexer, NoBlank, Part, Step};

/// The form of a value as it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A word without quotes, in which no character has a special meaning.
    Bare,
    /// A quoted text, or several words: it must stand by itself.
    Whole,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum ValueContext {
    /// The value is the name of a directive within this block, or a part of the name.
    First {
        /// The name of the block; empty at the top level.
        block: String,
    },
    Argument {
        /// The name of the directive.
        name: String,
        /// The number of the argument, from 1; `None` behind an optional part.
        number: Option<usize>,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Statement {
    name: String,
    /// The number of complete words so far.
    words: Option<usize>,
}

/// A position between two characters.
#[derive(Debug, Clone)]
pub struct Position {
    /// The name of each open block.
    open: Vec<String>,
    /// `None` until the name of a directive has ended.
    statement: Option<Statement>,
    lexer: Lexer,
    /// The word so far.
    word: String,
    /// How many blocks must stay open.
    least: usize,
    /// Whether a line begins here, whatever optional parts were taken.
    fresh: bool,
}

impl Default for Position {
    fn default() -> Self {
        Position {
            open: Vec::new(),
            statement: None,
            lexer: Lexer::default(),
            word: String::new(),
            least: 0,
            fresh: true,
        }
    }
}

impl Position {
    /// Moves past a character.
    ///
    /// # Errors
    ///
    /// When nginx would report a syntax error, or when a block ends that began outside of this
    /// part.
    pub fn character(&mut self, character: char) -> Result<(), String> {
        self.fresh = character == '\n';
        // In UTF-8, the further bytes of a character do not change the state of the lexer.
        let step = self.lexer.step(character.encode_utf8(&mut [0; 4]).as_bytes()[0]);
        match step.map_err(|NoBlank| "a value in quotes and the text behind it need a blank between them")? {
            Step::Begins => self.word = character.to_string(),
            Step::Within => self.word.push(character),
            Step::Closes => {
                self.word.push(character);
                self.end_word();
            }
            Step::Blank => self.end_word(),
            Step::Ends(_) => {
                self.end_word();
                self.end(character)?;
            }
        }
        Ok(())
    }

    /// Moves past a value and returns its context; `path` is its name for messages.
    ///
    /// # Errors
    ///
    /// When a value of this kind cannot stand here.
    pub fn value(&mut self, kind: Kind, path: &str) -> Result<ValueContext, String> {
        let refuse = |why: &str| Err(format!("{path} {why}"));
        match (self.lexer.part, kind) {
            (Part::Comment, _) => return refuse("cannot stand in a comment"),
            (Part::Ended, _) => return refuse("needs a blank before it"),
            (Part::Bare | Part::Quoted(_), Kind::Whole) => {
                return refuse(
                    "stands for itself: it needs a blank before it and a blank or ; behind it, and no quotes",
                );
            }
            _ if self.lexer.escaped || self.lexer.dollar => return refuse("cannot stand behind a backslash or a $"),
            _ => {}
        }
        let place = self.place();
        self.fresh = false;
        if self.lexer.part == Part::Between {
            self.lexer.part = Part::Bare;
        }
        self.word.push_str(&format!("{{{{{path}}}}}"));
        if kind == Kind::Whole {
            self.end_word();
            self.lexer = Lexer { part: Part::Ended, ..Lexer::default() };
        }
        Ok(place)
    }

    /// Enters an optional or repeated part. It has to end in the same state as it begins, see
    /// [`Position::leave`].
    ///
    /// # Errors
    ///
    /// When no such part may begin here.
    pub fn enter(&self) -> Result<Position, String> {
        let within_word = self.lexer.part == Part::Bare && self.statement.is_none();
        match self.lexer.part {
            Part::Between | Part::Bare if !within_word && !self.lexer.escaped && !self.lexer.dollar => {}
            Part::Comment => return Err("it begins within a comment".into()),
            Part::Quoted(_) => return Err("it begins within quotes".into()),
            _ => return Err("it begins within a word; a blank is missing before it".into()),
        }
        let mut inner = self.clone();
        inner.least = inner.open.len();
        inner.forget_number();
        Ok(inner)
    }

    /// Continues behind such a part, given the position at its end.
    ///
    /// # Errors
    ///
    /// When it ended in another state than it began.
    pub fn leave(&mut self, inner: &Position) -> Result<(), String> {
        let name = |position: &Position| position.statement.as_ref().map(|statement| statement.name.clone());
        let within_word = inner.lexer.part == Part::Bare && inner.statement.is_none();
        let same = inner.lexer.part == self.lexer.part && inner.open == self.open && name(inner) == name(self);
        if !same || within_word || inner.lexer.escaped || inner.lexer.dollar {
            return Err("it ends elsewhere in nginx's language than it begins".into());
        }
        self.forget_number();
        self.fresh &= inner.fresh;
        Ok(())
    }

    /// Continues behind complete lines of complete directives.
    pub fn lines(&mut self) {
        self.fresh = true;
    }

    /// Whether a line begins here.
    pub fn is_fresh(&self) -> bool {
        self.fresh
    }

    /// Whether a directive may begin here.
    pub fn is_between_statements(&self) -> bool {
        self.lexer.part == Part::Between && self.statement.is_none()
    }

    /// The names of the open blocks.
    pub fn open(&self) -> &[String] {
        &self.open
    }

    fn forget_number(&mut self) {
        if let Some(statement) = &mut self.statement {
            statement.words = None;
        }
    }

    fn place(&self) -> ValueContext {
        match &self.statement {
            None => ValueContext::First { block: self.open.last().cloned().unwrap_or_default() },
            Some(Statement { name, words }) => ValueContext::Argument { name: name.clone(), number: *words },
        }
    }

    /// Counts the word that ends here, if any.
    fn end_word(&mut self) {
        let word = std::mem::take(&mut self.word);
        match &mut self.statement {
            _ if word.is_empty() => {}
            Some(statement) => statement.words = statement.words.map(|words| words + 1),
            None => self.statement = Some(Statement { name: word, words: Some(1) }),
        }
    }

    /// Handles the end of a directive or of a block.
    fn end(&mut self, character: char) -> Result<(), String> {
        match (character, self.statement.take()) {
            (';', Some(_)) => {}
            ('{', Some(statement)) => self.open.push(statement.name),
            ('}', None) if self.open.len() > self.least => drop(self.open.pop()),
            ('}', None) => return Err("a } ends a block that does not begin here".into()),
            ('}', Some(_)) => return Err("a statement needs a ; before }".into()),
            (other, _) => return Err(format!("a {other} stands behind no statement")),
        }
        Ok(())
    }
}
