//! Caches the result of a template for views of one form, so that filling it again only joins
//! strings.
//!
//! Templates contain no logic: the result depends on a view's booleans, numbers and lengths of
//! lists, and its tokens are copied unchanged. So a view is serialised with a mark in the place of
//! each token. That text is the key of the form; the template, filled once with the marks, is the
//! form itself.

use std::collections::HashMap;
use std::io::{self, Write};
use std::sync::{Arc, PoisonError, RwLock};

use serde::Serialize;
use serde_json::ser::{CharEscape, Formatter, Serializer};

use super::token::INSTANCE;

/// Encloses the number of a token; no token contains a control character.
const MARK: char = '\u{1}';

/// The most bytes of marked views that are cached for each template: lists in views can have any
/// length.
const MOST: usize = 8 << 20;

/// The pieces of a filled template.
#[derive(Debug)]
struct Shape {
    /// Texts, each with the number of the token behind it.
    pieces: Box<[(Box<str>, usize)]>,
    end: Box<str>,
    /// The number of line ends in the text. Tokens contain none.
    lines: u32,
}

/// A template together with the words that fill it.
#[derive(Debug, Clone)]
pub struct Filled {
    shape: Arc<Shape>,
    /// The tokens, concatenated.
    words: Box<str>,
    /// The end of each token.
    ends: Box<[u32]>,
}

/// The forms of one template, by the text of the marked view.
#[derive(Debug, Default)]
struct Forms {
    known: HashMap<Vec<u8>, Arc<Shape>>,
    bytes: usize,
}

/// The forms of all templates.
#[derive(Debug, Default)]
pub struct Shapes(RwLock<HashMap<&'static str, Forms>>);

/// A view with marks in the place of its tokens, and the tokens.
pub struct Form {
    key: Vec<u8>,
    words: String,
    ends: Vec<u32>,
}

impl Form {
    /// Splits a view into its form and its tokens; our names get the suffix of the instance.
    ///
    /// # Errors
    ///
    /// When the view cannot be written as JSON, which would be a fault of its type.
    pub fn of(view: &impl Serialize, instance: &str) -> Result<Self, serde_json::Error> {
        let mut key = Vec::with_capacity(512);
        let mut marker = Marker { instance, ..Marker::default() };
        view.serialize(&mut Serializer::with_formatter(&mut key, &mut marker))?;
        Ok(Form { key, words: marker.words, ends: marker.ends })
    }
}

impl Form {
    /// A form without a view, for templates without values.
    pub fn fixed(key: Vec<u8>) -> Self {
        Form { key, words: String::new(), ends: Vec::new() }
    }
}

impl Shapes {
    /// Fills a form. `fill` gets the marked view as JSON, and is called only for unknown forms.
    ///
    /// # Errors
    ///
    /// Those of `fill`.
    pub fn fill<E>(
        &self,
        template: &'static str,
        form: Form,
        fill: impl FnOnce(&[u8]) -> Result<String, E>,
    ) -> Result<Filled, E> {
        let Form { key, words, ends } = form;
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let shape = known.get(template).and_then(|forms| forms.known.get(&key)).cloned();
        drop(known);
        let shape = match shape {
            Some(shape) => shape,
            None => {
                let shape = Arc::new(Shape::read(&fill(&key)?));
                let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
                let forms = known.entry(template).or_default();
                if forms.bytes + key.len() <= MOST {
                    forms.bytes += key.len();
                    forms.known.insert(key, Arc::clone(&shape));
                }
                shape
            }
        };
        Ok(Filled { shape, words: words.into(), ends: ends.into() })
    }
}

impl Shape {
    fn read(text: &str) -> Self {
        let mut pieces = Vec::new();
        let mut parts = text.split(MARK);
        let mut before = parts.next().unwrap_or_default();
        while let (Some(number), Some(after)) = (parts.next(), parts.next()) {
            let number = number.parse().expect("marks enclose numbers");
            pieces.push((before.into(), number));
            before = after;
        }
        let lines = text.bytes().map(|byte| u32::from(byte == b'\n')).sum();
        Shape { pieces: pieces.into(), end: before.into(), lines }
    }
}

impl Filled {
    /// The number of line ends.
    pub fn lines(&self) -> u32 {
        self.shape.lines
    }

    /// Its text, piece by piece.
    pub fn pieces(&self) -> impl Iterator<Item = &str> {
        let pieces = self.shape.pieces.iter().flat_map(|(before, token)| [&**before, self.token(*token)]);
        pieces.chain([&*self.shape.end])
    }

    fn token(&self, number: usize) -> &str {
        let end = |number: usize| self.ends[number] as usize;
        &self.words[number.checked_sub(1).map_or(0, end)..end(number)]
    }
}

/// Writes JSON with marks in the place of strings; member names stay as they are.
#[derive(Debug, Default)]
struct Marker<'a> {
    instance: &'a str,
    words: String,
    ends: Vec<u32>,
    in_name: bool,
}

impl Formatter for &mut Marker<'_> {
    fn begin_object_key<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        self.in_name = true;
        if first { Ok(()) } else { writer.write_all(b",") }
    }

    fn end_object_key<W: ?Sized + Write>(&mut self, _: &mut W) -> io::Result<()> {
        self.in_name = false;
        Ok(())
    }

    fn begin_string<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        if self.in_name {
            return writer.write_all(b"\"");
        }
        write!(writer, "\"\\u0001{}\\u0001", self.ends.len())
    }

    fn end_string<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        if !self.in_name {
            self.ends.push(u32::try_from(self.words.len()).map_err(io::Error::other)?);
        }
        writer.write_all(b"\"")
    }

    fn write_string_fragment<W: ?Sized + Write>(&mut self, writer: &mut W, fragment: &str) -> io::Result<()> {
        if self.in_name {
            return writer.write_all(fragment.as_bytes());
        }
        self.words.push_str(fragment);
        Ok(())
    }

    fn write_char_escape<W: ?Sized + Write>(&mut self, _: &mut W, escape: CharEscape) -> io::Result<()> {
        if matches!(escape, CharEscape::AsciiControl(byte) if char::from(byte) == INSTANCE) {
            self.words.push_str(self.instance);
            return Ok(());
        }
        // Member names are Rust identifiers, which need no escaping.
        let character = match escape {
            CharEscape::Quote => '"',
            CharEscape::ReverseSolidus => '\\',
            CharEscape::Solidus => '/',
            CharEscape::Backspace => '\u{8}',
            CharEscape::FormFeed => '\u{c}',
            CharEscape::LineFeed => '\n',
            CharEscape::CarriageReturn => '\r',
            CharEscape::Tab => '\t',
            CharEscape::AsciiControl(byte) => char::from(byte),
        };
        self.words.push(character);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Form, Shapes};

    #[test]
    fn a_form_is_filled_once_and_gives_the_same_text_for_all_its_views() {
        let shapes = Shapes::default();
        let mut asked = 0;
        let mut text = |view: Value| {
            let form = Form::of(&view, "__blue").unwrap();
            let fill = |marked: &[u8]| {
                asked += 1;
                let view: Value = serde_json::from_slice(marked)?;
                let list = view["list"].as_array().unwrap().iter().map(|one| one.as_str().unwrap());
                let joined: Vec<_> = list.collect();
                Ok::<_, serde_json::Error>(format!("{}: {};\n", view["name"].as_str().unwrap(), joined.join(", ")))
            };
            shapes.fill("t", form, fill).unwrap().pieces().collect::<String>()
        };
        assert_eq!(text(json!({"name": "a", "list": ["\"x\\\"", "y/é"]})), "a: \"x\\\", y/é;\n");
        assert_eq!(text(json!({"name": "", "list": ["1", ""]})), ": 1, ;\n");
        assert_eq!(text(json!({"name": "$ingressd\u{2}_a", "list": []})), "$ingressd__blue_a: ;\n");
        assert_eq!(text(json!({"name": "b", "list": []})), "b: ;\n");
        assert_eq!(asked, 2);
    }

    #[test]
    fn booleans_and_numbers_belong_to_the_form() {
        let key = |view: Value| Form::of(&view, "").unwrap().key;
        assert_eq!(key(json!({"a": "x", "b": true})), key(json!({"a": "y", "b": true})));
        assert_ne!(key(json!({"a": "x", "b": true})), key(json!({"a": "x", "b": false})));
        assert_ne!(key(json!({"a": 1})), key(json!({"a": 2})));
    }
}
