//! nginx's language: what parses is where it says it is and parses again as printed, and a token
//! is one word with its value.

use std::path;
use std::sync::LazyLock;

use ingressd_model::{RewriteTarget, TargetPart};
use ingressd_nginx::render::token::{INSTANCE, Literal, Path, Text, Word, Words};
use ingressd_nginx::syntax::{self, Directive, quoted};

/// nginx's buffer for a word, with its quotes.
const LONGEST: usize = 4096;

pub fn check(data: &[u8]) {
    if let Ok(tree) = syntax::parse(data) {
        places(data, &tree, 0..data.len());
        print_and_parse(&tree);
    }
    if let Ok(text) = std::str::from_utf8(data) {
        word(text);
        tokens(text);
    }
}

/// Each directive has its line, its bytes are within those of its parent behind those of the one
/// before, and they are the same directive by themselves.
fn places(data: &[u8], directives: &[Directive], within: std::ops::Range<usize>) {
    let mut start = within.start;
    for directive in directives {
        let span = directive.span.clone();
        assert!(start <= span.start && span.start < span.end && span.end <= within.end, "{directive:?}");
        let lines = 1 + data[..span.start].iter().filter(|byte| **byte == b'\n').count();
        assert_eq!(directive.line as usize, lines, "{directive:?}");
        let alone = syntax::parse(&data[span.clone()]).unwrap_or_else(|error| panic!("{error}: {directive:?}"));
        assert_eq!(shape(&alone), shape(std::slice::from_ref(directive)));
        places(data, directive.children(), span.clone());
        start = span.end;
    }
}

/// A directive without its place.
#[derive(Debug, PartialEq, Eq)]
struct Shape<'d>(&'d str, &'d [String], Option<Vec<Shape<'d>>>);

fn shape(directives: &[Directive]) -> Vec<Shape<'_>> {
    let one = |directive| {
        let Directive { name, arguments, block, .. }: &Directive = directive;
        Shape(name, arguments, block.as_deref().map(shape))
    };
    directives.iter().map(one).collect()
}

fn print_and_parse(tree: &[Directive]) {
    let mut text = String::new();
    let is_short = print(tree, &mut text);
    match syntax::parse(text.as_bytes()) {
        Ok(parsed) => assert_eq!(shape(&parsed), shape(tree), "{text}"),
        // Quotes make words longer than they were written.
        Err(error) => assert!(!is_short, "{error}: {text}"),
    }
}

/// Prints directives, and tells whether nginx takes words as long as these.
fn print(directives: &[Directive], into: &mut String) -> bool {
    let mut is_short = true;
    for directive in directives {
        for word in std::iter::once(&directive.name).chain(&directive.arguments) {
            let word = quoted(word);
            is_short &= word.len() < LONGEST;
            into.push_str(&word);
            into.push(' ');
        }
        match &directive.block {
            Some(block) => {
                into.push('{');
                is_short &= print(block, into);
                into.push('}');
            }
            None => into.push(';'),
        }
    }
    is_short
}

/// Any text in quotes is one word with this value.
fn word(text: &str) {
    let word = quoted(text);
    if word.len() < LONGEST {
        assert_eq!(argument(&word), text);
    }
}

/// A token is refused, or is one word that nginx reads as the text.
fn tokens(text: &str) {
    // nginx's language cannot write a dollar sign: a variable has it.
    static DOLLAR: LazyLock<String> = LazyLock::new(|| read(Text::new("$").unwrap()));
    // The mark of the instance is a control character, and refused.
    let dollar = DOLLAR.as_str();
    if let Ok(token) = Word::new(text) {
        assert_eq!(read(token), text);
    }
    if let Ok(token) = Word::variable(text) {
        assert_eq!(read(token), format!("$ingressd_{text}"));
    }
    if let Ok(token) = Word::own(text) {
        assert_eq!(read(token), text);
    }
    if let Ok(token) = Literal::new(text) {
        assert_eq!(read(token), text);
    }
    if let Ok(token) = Text::new(text) {
        let value = read(token);
        assert_eq!(value, text.replace('$', dollar));
        assert!(!value.replace(dollar, "").contains('$'), "{value}");
    }
    if let Ok(token) = Path::new(path::Path::new(text)) {
        assert_eq!(read(token), text);
    }
    let parts = vec![TargetPart::Literal(text.into()), TargetPart::Capture(1)];
    if let Ok(target) = RewriteTarget::new(parts)
        && let Ok(token) = Text::replacement(&target)
    {
        let slash = if text.starts_with('/') || target.is_url() { "" } else { "/" };
        assert_eq!(read(token), format!("{slash}{text}$1"));
    }
}

/// What nginx reads of a token.
fn read(token: impl Into<Words>) -> String {
    argument(&token.into().as_str().replace(INSTANCE, ""))
}

/// The one argument of a directive that has this text behind its name, with another one behind it.
fn argument(written: &str) -> String {
    let text = format!("x {written};y;");
    let tree = syntax::parse(text.as_bytes()).unwrap_or_else(|error| panic!("{error}: {text}"));
    let [Directive { arguments, block: None, .. }, behind] = &tree[..] else { panic!("{text}") };
    assert_eq!((arguments.len(), behind.name.as_str()), (1, "y"), "{text}");
    arguments[0].clone()
}
