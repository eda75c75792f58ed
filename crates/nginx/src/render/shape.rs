//! Caches the result of a template for views of one form, so that filling it again only joins
//! strings.
//!
//! Templates contain no logic: the result depends on a view's booleans, lengths of lists and texts
//! of the program itself, which are its form, and its words are copied unchanged. A template is
//! filled once for each form, with a mark in the place of each word.

use std::cell::Cell;
use std::collections::HashMap;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, PoisonError, RwLock};

use serde_json::Value;

use super::token::INSTANCE;
use super::view::View;

/// Encloses the number of a token, and ends a word; no token contains a control character.
const MARK: char = '\u{1}';

/// The most bytes of forms that are cached for each template: lists in views can have any length.
const MOST: usize = 8 << 20;

/// The most bytes of a form whose memory is used again.
const LARGE: usize = 64 << 10;

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
    /// The tokens, each with a mark behind it.
    words: Box<str>,
}

/// The forms of one template.
#[derive(Debug, Default)]
struct Forms {
    known: HashMap<Box<[u8]>, Arc<Shape>>,
    bytes: usize,
}

/// The forms of all templates.
#[derive(Debug, Default)]
pub struct Shapes(RwLock<HashMap<&'static str, Forms>>);

/// The form of a view, and its words.
#[derive(Debug)]
pub struct Form<'i> {
    memory: FormMemory,
    /// The suffix of our names.
    instance: &'i str,
}

#[derive(Debug, Default)]
struct FormMemory {
    key: Vec<u8>,
    /// Each with a mark behind it.
    words: String,
}

thread_local! {
    /// The memory of a form, used again.
    static MEMORY: Cell<FormMemory> = Cell::default();
}

impl<'i> Form<'i> {
    /// Splits a view into its form and its words; our names get the suffix of the instance.
    pub fn of(view: &impl View, instance: &'i str) -> Self {
        let mut form = Form { memory: MEMORY.take(), instance };
        view.add_to(&mut form);
        form
    }

    pub fn add_word(&mut self, word: &str) {
        let FormMemory { key, words } = &mut self.memory;
        key.push(b'w');
        // Whatever a word contains, it ends where it ends.
        let mut parts = word.split([INSTANCE, MARK]);
        words.push_str(parts.next().unwrap_or_default());
        for part in parts {
            words.push_str(self.instance);
            words.push_str(part);
        }
        words.push(MARK);
    }

    /// Adds a text of the program itself.
    pub fn add_fixed(&mut self, text: &str) {
        self.memory.key.push(b'f');
        self.add_length(text.len());
        self.memory.key.extend_from_slice(text.as_bytes());
    }

    /// Adds a boolean.
    pub fn add_switch(&mut self, on: bool) {
        self.memory.key.push(if on { b'y' } else { b'n' });
    }

    /// Adds the length of a list; its elements follow.
    pub fn add_length(&mut self, elements: usize) {
        self.memory.key.extend_from_slice(&length(elements).to_be_bytes());
    }
}

impl Drop for Form<'_> {
    fn drop(&mut self) {
        let mut memory = std::mem::take(&mut self.memory);
        if memory.key.capacity() <= LARGE {
            memory.key.clear();
            memory.words.clear();
            MEMORY.set(memory);
        }
    }
}

/// A view of more than 4 GiB does not fit into memory several times over.
fn length(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

/// What a template reads for a form: each word is its number between marks.
pub fn marked(view: &impl View) -> Value {
    let mut number = 0..;
    view.value(&mut |_| format!("{MARK}{}{MARK}", number.next().unwrap_or_default()))
}

impl Shapes {
    /// Fills a form. `fill` fills the template with marks in the place of words, and is called
    /// only for unknown forms.
    ///
    /// # Errors
    ///
    /// Those of `fill`.
    pub fn fill<E>(
        &self,
        template: &'static str,
        form: Form<'_>,
        fill: impl FnOnce() -> Result<String, E>,
    ) -> Result<Filled, E> {
        let FormMemory { key, words } = &form.memory;
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let shape = known.get(template).and_then(|forms| forms.known.get(key.as_slice())).cloned();
        drop(known);
        let shape = match shape {
            Some(shape) => shape,
            None => {
                let shape = Arc::new(Shape::read(&fill()?));
                let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
                let forms = known.entry(template).or_default();
                if forms.bytes + key.len() <= MOST {
                    forms.bytes += key.len();
                    forms.known.insert(key.as_slice().into(), Arc::clone(&shape));
                }
                shape
            }
        };
        Ok(Filled { shape, words: words.as_str().into() })
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

/// Equal ones have the same text. The same text of another form is another one.
impl PartialEq for Filled {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shape, &other.shape) && self.words == other.words
    }
}

impl Eq for Filled {}

impl Hash for Filled {
    fn hash<H: Hasher>(&self, state: &mut H) {
        Arc::as_ptr(&self.shape).hash(state);
        self.words.hash(state);
    }
}

impl Filled {
    /// The number of line ends.
    pub fn lines(&self) -> u32 {
        self.shape.lines
    }

    /// Its text, piece by piece.
    pub fn pieces(&self) -> impl Iterator<Item = &str> {
        let words: Vec<_> = self.words.split(MARK).collect();
        let pieces = self.shape.pieces.iter().flat_map(move |(before, number)| [&**before, words[*number]]);
        pieces.chain([&*self.shape.end])
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Form, Shapes, marked};
    use crate::render::token::Word;
    use crate::render::view::View;

    #[test]
    fn a_form_is_filled_once_and_gives_the_same_text_for_all_its_views() {
        let shapes = Shapes::default();
        let mut asked = 0;
        let mut text = |view: Value| {
            let fill = || {
                asked += 1;
                let view = marked(&view);
                let list = view["list"].as_array().unwrap().iter().map(|one| one.as_str().unwrap());
                let joined: Vec<_> = list.collect();
                Ok::<_, ()>(format!("{}: {};\n", view["name"].as_str().unwrap(), joined.join(", ")))
            };
            shapes.fill("t", Form::of(&view, "__blue"), fill).unwrap().pieces().collect::<String>()
        };
        assert_eq!(text(json!({"name": "a", "list": ["\"x\\\"", "y/é"]})), "a: \"x\\\", y/é;\n");
        assert_eq!(text(json!({"name": "", "list": ["1", ""]})), ": 1, ;\n");
        assert_eq!(text(json!({"name": "$ingressd\u{2}_a", "list": []})), "$ingressd__blue_a: ;\n");
        assert_eq!(text(json!({"name": "b", "list": []})), "b: ;\n");
        assert_eq!(text(json!({"name": "b\u{1}c", "list": ["d"]})), "b__bluec: d;\n");
        assert_eq!(asked, 3);
    }

    #[test]
    fn booleans_lists_and_texts_of_the_program_belong_to_the_form() {
        fn key(view: impl View) -> Vec<u8> {
            Form::of(&view, "").memory.key.clone()
        }
        let (word, fixed) = (|text| Word::new(text).unwrap(), Word::fixed);
        assert_eq!(key(word("a")), key(word("b")));
        assert_ne!(key(fixed("a")), key(fixed("b")));
        assert_ne!(key(word("a")), key(fixed("a")));
        assert_ne!(key(true), key(false));
        assert_ne!(key(vec![vec![true], vec![]]), key(vec![vec![], vec![true]]));
        assert_ne!(key(vec![fixed("ab"), fixed("c")]), key(vec![fixed("a"), fixed("bc")]));
    }
}
