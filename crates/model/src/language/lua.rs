//! Finds the end of a Lua block as nginx's Lua module does: braces in strings and comments do not
//! count. It must not know directives.

/// Whether the block of a directive contains Lua instead of directives.
pub fn is_block_of(name: &str) -> bool {
    name.ends_with("_by_lua_block")
}

/// The position behind the brace that closes the block whose first byte is at `start`; `None` when
/// there is none.
pub fn end(text: &[u8], start: usize) -> Option<usize> {
    let (mut position, mut depth) = (start, 1_usize);
    while let Some(byte) = text.get(position) {
        let rest = &text[position..];
        position += match byte {
            b'{' => {
                depth += 1;
                1
            }
            b'}' => {
                depth -= 1;
                if depth == 0 {
                    return Some(position + 1);
                }
                1
            }
            b'"' | b'\'' => string(rest)?,
            b'[' => long(rest).unwrap_or(Some(1))?,
            b'-' if rest.starts_with(b"--") => 2 + comment(&rest[2..])?,
            _ => 1,
        };
    }
    None
}

/// The length of a quoted string.
fn string(text: &[u8]) -> Option<usize> {
    let mut bytes = text.iter().enumerate().skip(1);
    while let Some((at, byte)) = bytes.next() {
        match byte {
            b'\\' => drop(bytes.next()),
            byte if *byte == text[0] => return Some(at + 1),
            _ => {}
        }
    }
    None
}

/// The length of a string in long brackets, such as `[==[ ]==]`: `None` where the text does not
/// begin with one, and `Some(None)` where it does not end.
fn long(text: &[u8]) -> Option<Option<usize>> {
    let level = text.iter().skip(1).take_while(|byte| **byte == b'=').count();
    if text.first() != Some(&b'[') || text.get(1 + level) != Some(&b'[') {
        return None;
    }
    let close = [&b"]"[..], &vec![b'='; level], b"]"].concat();
    let open = level + 2;
    let found = text[open..].windows(close.len()).position(|window| window == close);
    Some(found.map(|at| open + at + close.len()))
}

/// The length of a comment behind two dashes.
fn comment(text: &[u8]) -> Option<usize> {
    match long(text) {
        Some(length) => length,
        None => Some(text.iter().position(|byte| *byte == b'\n').unwrap_or(text.len())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_ends_where_lua_says() {
        for (text, expected) in [
            ("}", Some(1)),
            ("{ a = {} } }", Some(12)),
            ("'}' \"\\\"}\" }", Some(11)),
            ("[[}]] [=[ ]] } ]=] }", Some(20)),
            ("a[1] }", Some(6)),
            ("-- } \n }", Some(8)),
            ("--[==[ } \n ]] ]==] }", Some(20)),
            ("--", None),
            ("'}", None),
            ("[[}", None),
            ("{}", None),
        ] {
            assert_eq!(end(text.as_bytes(), 0), expected, "{text}");
        }
    }
}
