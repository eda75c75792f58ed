//! Parses an expression as PCRE does. It refuses what PCRE refuses, what differs between versions
//! of PCRE, and what cannot be bounded.
//!
//! A parser of another grammar would be unsafe: where the grammars differ (`[[a]`, `a++`, `{,3}`),
//! a hostile expression could mean one thing to the check and another to nginx.

use super::bytes::Bytes;
use super::tree::Node;
use crate::Refused;

/// The deepest nesting of groups, which also bounds our own stack.
const DEEPEST: usize = 30;
/// The highest number of a counted repetition, as in PCRE.
const MOST_REPEATED: u32 = 65_535;
/// The most capturing groups. A rewrite can refer to nine, and each makes every step of the match
/// more expensive.
const MOST_CAPTURES: usize = 32;

/// Options that hold until the end of their group.
#[derive(Clone, Copy)]
struct Flags {
    caseless: bool,
    dot_all: bool,
}

struct Parser<'a> {
    text: &'a [u8],
    at: usize,
    depth: usize,
    captures: usize,
    flags: Flags,
}

/// Parses the whole expression, case-insensitively unless it says otherwise, as paths are matched.
pub fn parse(text: &str) -> Result<Node, Refused> {
    let flags = Flags { caseless: true, dot_all: false };
    let mut parser = Parser { text: text.as_bytes(), at: 0, depth: 0, captures: 0, flags };
    let node = parser.alternatives()?;
    match parser.peek() {
        None => Ok(node),
        Some(_) => Err(Refused::because("it closes a parenthesis that it does not open; write \\) for the character")),
    }
}

fn unsupported(what: &str, remedy: &str) -> Refused {
    Refused(format!("{what} in an expression is not served, because {remedy}").into())
}

impl Parser<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn next(&mut self) -> Option<u8> {
        let byte = self.peek()?;
        self.at += 1;
        Some(byte)
    }

    fn take(&mut self, wanted: &[u8]) -> bool {
        let found = self.text.get(self.at..).is_some_and(|rest| rest.starts_with(wanted));
        self.at += if found { wanted.len() } else { 0 };
        found
    }

    fn alternatives(&mut self) -> Result<Node, Refused> {
        let mut all = vec![self.sequence()?];
        while self.take(b"|") {
            all.push(self.sequence()?);
        }
        Ok(match all.len() {
            1 => all.remove(0),
            _ => Node::Choice(all),
        })
    }

    fn sequence(&mut self) -> Result<Node, Refused> {
        let mut nodes = Vec::new();
        while let Some(byte) = self.peek().filter(|byte| !matches!(byte, b'|' | b')')) {
            self.at += 1;
            let Some(node) = self.atom(byte)? else { continue };
            let is_bare_place = matches!(node, Node::Place | Node::End | Node::Look(_));
            let node = self.quantified(node, is_bare_place)?;
            nodes.push(node);
        }
        Ok(match nodes.len() {
            1 => nodes.remove(0),
            _ => Node::Sequence(nodes),
        })
    }

    /// Parses one repeatable item; `None` for a change of options.
    fn atom(&mut self, byte: u8) -> Result<Option<Node>, Refused> {
        Ok(Some(match byte {
            b'(' => return self.group(),
            b'[' => Node::Set(self.class()?),
            b'.' if self.flags.dot_all => Node::Set(Bytes::ALL),
            b'.' => Node::Set(Bytes::one(b'\n').inverted()),
            b'^' => Node::Place,
            b'$' => Node::End,
            b'\\' => self.escape()?,
            b'*' | b'+' | b'?' => {
                return Err(Refused::because("a *, + or ? has nothing to repeat; write \\* for the character"));
            }
            b'{' if self.is_counted()? => return Err(Refused::because("a {number} has nothing to repeat")),
            _ => self.literal(byte),
        }))
    }

    fn literal(&self, byte: u8) -> Node {
        Node::Set(self.folded(Bytes::one(byte)))
    }

    fn folded(&self, set: Bytes) -> Bytes {
        if self.flags.caseless { set.in_any_case() } else { set }
    }

    fn quantified(&mut self, node: Node, is_bare_place: bool) -> Result<Node, Refused> {
        let (least, most) = match self.peek() {
            Some(b'*') => (0, None),
            Some(b'+') => (1, None),
            Some(b'?') => (0, Some(1)),
            Some(b'{') => {
                self.at += 1;
                let counted = self.is_counted()?;
                self.at -= 1;
                match counted {
                    true => self.counts()?,
                    false => return Ok(node),
                }
            }
            _ => return Ok(node),
        };
        // A counted quantifier is read up to its brace.
        self.at += 1;
        if is_bare_place {
            return Err(Refused::because("it repeats something that takes no character, such as $ or a look-ahead"));
        }
        let repeat = Node::Repeat { node: Box::new(node), least, most };
        Ok(match self.peek() {
            Some(b'+') => {
                self.at += 1;
                Node::Atomic(Box::new(repeat))
            }
            Some(b'?') => {
                self.at += 1;
                repeat
            }
            _ => repeat,
        })
    }

    /// Whether a brace begins a counted repetition, and is not literal.
    fn is_counted(&self) -> Result<bool, Refused> {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let inside = rest.split(|byte| *byte == b'}').next().filter(|inside| inside.len() < rest.len());
        let Some(inside) = inside else { return Ok(false) };
        let is_number = |digits: &[u8]| !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
        let mut halves = inside.splitn(2, |byte| *byte == b',');
        let (first, second) = (halves.next().unwrap_or_default(), halves.next());
        match is_number(first) && second.is_none_or(|second| second.is_empty() || is_number(second)) {
            true => Ok(true),
            // `{,3}` and `{ 1 }` are literal in some versions of PCRE and repetitions in others;
            // `{}` is literal in all.
            false
                if !inside.is_empty() && inside.iter().all(|byte| byte.is_ascii_digit() || b", \t".contains(byte)) =>
            {
                Err(Refused::because(
                    "versions of PCRE differ in what a { followed by a comma or blank means; write {0,3} or \\{",
                ))
            }
            false => Ok(false),
        }
    }

    /// The numbers of a counted repetition, from behind its brace to before the closing one.
    fn counts(&mut self) -> Result<(u32, Option<u32>), Refused> {
        self.at += 1;
        let least = self.number()?;
        let most = match self.take(b",") {
            false => Some(least),
            true if self.peek() == Some(b'}') => None,
            true => Some(self.number()?),
        };
        match most.is_none_or(|most| least <= most) {
            true => Ok((least, most)),
            false => Err(Refused::because("the numbers of a {repetition} are in the wrong order")),
        }
    }

    fn number(&mut self) -> Result<u32, Refused> {
        let mut number: u32 = 0;
        while let Some(digit) = self.peek().filter(u8::is_ascii_digit) {
            self.at += 1;
            number = number.saturating_mul(10).saturating_add(u32::from(digit - b'0'));
        }
        match number <= MOST_REPEATED {
            true => Ok(number),
            false => Err(Refused::because("the number of a {repetition} is above 65535")),
        }
    }

    fn group(&mut self) -> Result<Option<Node>, Refused> {
        if self.peek() == Some(b'*') {
            return Err(unsupported("(*", "it gives orders to the library of expressions"));
        }
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(Refused(format!("its groups are nested deeper than {DEEPEST}").into()));
        }
        let outer = self.flags;
        let wrap: fn(Box<Node>) -> Node = match self.take(b"?") {
            false => {
                self.captures += 1;
                if self.captures > MOST_CAPTURES {
                    let note =
                        format!("it has more than {MOST_CAPTURES} groups; write (?: for those that nothing refers to");
                    return Err(Refused(note.into()));
                }
                Node::Capture
            }
            true if self.take(b":") => |node| *node,
            true if self.take(b"=") || self.take(b"!") || self.take(b"<=") || self.take(b"<!") => Node::Look,
            true if self.take(b">") => Node::Atomic,
            // nginx makes a variable of each named group, for all sites: `(?<http_cookie>...)` in
            // one object would empty that variable for every other. Numbered groups are
            // sufficient.
            true if self.take(b"<") || self.take(b"P<") || self.take(b"'") => {
                return Err(Refused::because("it names a group; groups can only be referred to by number"));
            }
            true => match self.flags()? {
                b':' => |node| *node,
                _ => {
                    self.depth -= 1;
                    return Ok(None);
                }
            },
        };
        let node = self.alternatives()?;
        self.flags = outer;
        self.depth -= 1;
        match self.take(b")") {
            // The node is wrapped, so that a quantifier repeats all of it.
            true => Ok(Some(wrap(Box::new(node)))),
            false => {
                Err(Refused::because("it opens a parenthesis that it does not close; write \\( for the character"))
            }
        }
    }

    /// Parses changes of options up to `:` or `)`, and returns that character.
    fn flags(&mut self) -> Result<u8, Refused> {
        let mut on = true;
        loop {
            match self.next() {
                Some(b'-') if on => on = false,
                Some(b'i') => self.flags.caseless = on,
                Some(b's') => self.flags.dot_all = on,
                Some(end @ (b':' | b')')) => return Ok(end),
                _ => {
                    return Err(unsupported(
                        "this kind of (?",
                        "what it costs cannot be bounded; groups are (…), (?:…), (?>…), (?=…), (?!…), (?<=…), (?<!…) and the flags i and s",
                    ));
                }
            }
        }
    }

    fn escape(&mut self) -> Result<Node, Refused> {
        let Some(byte) = self.next() else { return Err(Refused::because("it ends in a backslash")) };
        Ok(match byte {
            b'b' | b'B' | b'A' | b'G' => Node::Place,
            b'z' | b'Z' => Node::End,
            b'1'..=b'9' | b'g' | b'k' => {
                return Err(unsupported(
                    "a reference back to a group",
                    "what it costs cannot be bounded; repeat the group instead",
                ));
            }
            _ => Node::Set(self.escaped(byte)?),
        })
    }

    /// The bytes that an escape stands for, within a class or outside.
    fn escaped(&mut self, byte: u8) -> Result<Bytes, Refused> {
        let single = match byte {
            b'd' | b'D' | b'w' | b'W' | b's' | b'S' | b'h' | b'H' | b'v' | b'V' | b'N' => {
                let set = Bytes::that(|candidate| is_of(byte.to_ascii_lowercase(), candidate));
                return Ok(if byte.is_ascii_uppercase() { set.inverted() } else { set });
            }
            b't' => b'\t',
            b'n' => b'\n',
            b'r' => b'\r',
            b'f' => 0x0c,
            b'e' => 0x1b,
            b'a' => 0x07,
            b'x' => {
                let digits = self.text.get(self.at..self.at + 2).and_then(|digits| std::str::from_utf8(digits).ok());
                let digits = digits.filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()));
                let value = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
                self.at += 2;
                value.ok_or(Refused::because("a \\x is not followed by two hexadecimal digits"))?
            }
            _ if byte.is_ascii_alphanumeric() => {
                let note = format!("\\{} in an expression is not served", char::from(byte));
                return Err(Refused(note.into()));
            }
            _ => byte,
        };
        Ok(self.folded(Bytes::one(single)))
    }

    fn class(&mut self) -> Result<Bytes, Refused> {
        const UNCLOSED: Refused = Refused::because("it opens a [ that it does not close; write \\[ for the character");
        let inverted = self.take(b"^");
        let mut set = Bytes::NONE;
        let mut is_first = true;
        loop {
            let byte = self.next().ok_or(UNCLOSED)?;
            match byte {
                b']' if !is_first => break,
                b'[' if matches!(self.peek(), Some(b':' | b'.' | b'=')) => {
                    set = set.or(&self.named_class()?);
                    is_first = false;
                    continue;
                }
                _ => {}
            }
            is_first = false;
            let (low, many) = self.member(byte)?;
            set = set.or(&self.folded(many));
            // A minus at the end of a class is literal.
            let is_range = self.peek() == Some(b'-') && self.text.get(self.at + 1).is_some_and(|next| *next != b']');
            if !is_range {
                continue;
            }
            self.at += 1;
            let byte = self.next().ok_or(UNCLOSED)?;
            let (high, _) = match (byte, self.peek()) {
                (b'[', Some(b':' | b'.' | b'=')) => (None, Bytes::NONE),
                _ => self.member(byte)?,
            };
            match (low, high) {
                (Some(low), Some(high)) if low <= high => {
                    let range = Bytes::that(|candidate| (low..=high).contains(&candidate));
                    set = set.or(&self.folded(range));
                }
                _ => return Err(Refused::because("a range in [ ] does not go from a lower to a higher character")),
            }
        }
        Ok(if inverted { set.inverted() } else { set })
    }

    /// A member of a class: the byte when it is a single one, and its set.
    fn member(&mut self, byte: u8) -> Result<(Option<u8>, Bytes), Refused> {
        if byte != b'\\' {
            return Ok((Some(byte), Bytes::one(byte)));
        }
        let byte = self.next().ok_or(Refused::because("it ends in a backslash"))?;
        let Flags { caseless, dot_all } = self.flags;
        self.flags.caseless = false;
        let set = match byte {
            b'b' => Ok(Bytes::one(0x08)),
            b'N' => Err(Refused::because("\\N cannot stand in [ ]")),
            _ => self.escaped(byte),
        };
        self.flags = Flags { caseless, dot_all };
        let set = set?;
        let mut members = set.iter();
        match (members.next(), members.next()) {
            (Some(only), None) => Ok((Some(only), set)),
            _ => Ok((None, set)),
        }
    }

    /// `[:alpha:]` and similar classes, from behind the bracket.
    fn named_class(&mut self) -> Result<Bytes, Refused> {
        const UNKNOWN: Refused =
            Refused::because("a [: in [ ] names no class such as [:alpha:]; write \\[ for the character");
        let rest = self.text.get(self.at..).unwrap_or_default();
        let end = rest.windows(2).position(|pair| pair == b":]").ok_or(UNKNOWN)?;
        let name = rest.get(1..end).ok_or(UNKNOWN)?;
        self.at += end + 2;
        let (name, inverted) = match name.strip_prefix(b"^") {
            Some(name) => (name, true),
            None => (name, false),
        };
        let fits: fn(&u8) -> bool = match name {
            b"alpha" => u8::is_ascii_alphabetic,
            // Case-insensitively both contain all letters.
            b"lower" | b"upper" if self.flags.caseless => u8::is_ascii_alphabetic,
            b"lower" => u8::is_ascii_lowercase,
            b"upper" => u8::is_ascii_uppercase,
            b"digit" => u8::is_ascii_digit,
            b"alnum" => u8::is_ascii_alphanumeric,
            b"xdigit" => u8::is_ascii_hexdigit,
            b"punct" => u8::is_ascii_punctuation,
            b"word" => |byte| is_of(b'w', *byte),
            b"space" => |byte| is_of(b's', *byte),
            b"graph" => u8::is_ascii_graphic,
            b"print" => |byte| byte.is_ascii_graphic() || *byte == b' ',
            b"cntrl" => u8::is_ascii_control,
            b"blank" => |byte| matches!(byte, b' ' | b'\t'),
            b"ascii" => u8::is_ascii,
            _ => return Err(UNKNOWN),
        };
        let set = Bytes::that(|byte| fits(&byte));
        Ok(if inverted { set.inverted() } else { set })
    }
}

/// Whether the byte is in the class of the escape with this lower-case letter.
fn is_of(letter: u8, byte: u8) -> bool {
    match letter {
        b'd' => byte.is_ascii_digit(),
        b'w' => byte.is_ascii_alphanumeric() || byte == b'_',
        // Older versions of PCRE exclude the vertical tab; real paths have none.
        b's' => matches!(byte, b' ' | b'\t'..=b'\r'),
        b'h' => matches!(byte, b' ' | b'\t' | 0xa0),
        b'v' => matches!(byte, b'\n'..=b'\r' | 0x85),
        // The complement of `\N`, which is any byte but a newline.
        _ => byte == b'\n',
    }
}
