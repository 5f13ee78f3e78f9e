//! LIKE: `%` any characters, `_` one, an escape character before either.

/// The same without regard to case: letters that have one small letter are compared by it.
pub(crate) fn like_any_case(text: &str, pattern: &str, escape: Option<char>) -> Option<bool> {
    let lowered = |text: &str| -> String { text.chars().map(lower).collect() };
    like(&lowered(text), &lowered(pattern), escape)
}

fn lower(letter: char) -> char {
    let mut lower = letter.to_lowercase();
    match (lower.next(), lower.next()) {
        (Some(small), None) => small,
        _ => letter,
    }
}

/// Whether `text` matches `pattern`. Linear for patterns with one `%`, never exponential: on a mismatch only the last
/// `%` takes one character more. None when the pattern ends with its escape character.
pub fn like(text: &str, pattern: &str, escape: Option<char>) -> Option<bool> {
    match escape {
        Some(escape) if !escape.is_ascii() => like(text, &escaped_by_backslash(pattern, escape)?, Some('\\')),
        Some(escape) => {
            let escape = escape as u8;
            let is_whole = !pattern.ends_with(char::from(escape)) || ends_whole(pattern.as_bytes(), escape);
            is_whole.then(|| matches(text.as_bytes(), pattern.as_bytes(), Some(escape)))
        }
        None => Some(matches(text.as_bytes(), pattern.as_bytes(), None)),
    }
}

/// The pattern with another escape character; None when it ends with the one that it has.
fn escaped_by_backslash(pattern: &str, escape: char) -> Option<String> {
    let mut out = String::with_capacity(pattern.len() + 1);
    let mut chars = pattern.chars();
    while let Some(c) = chars.next() {
        let literal = if c == escape { chars.next()? } else { c };
        if c == escape || c == '\\' {
            out.push('\\');
        }
        out.push(literal);
    }
    Some(out)
}

/// Whether every escape character has something behind it.
fn ends_whole(pattern: &[u8], escape: u8) -> bool {
    let mut bytes = pattern.iter();
    while let Some(byte) = bytes.next() {
        if *byte == escape && bytes.next().is_none() {
            return false;
        }
    }
    true
}

/// The same of bytes of UTF-8: literal characters are equal when their bytes are, and the first byte of one tells how
/// many it has.
fn matches(text: &[u8], pattern: &[u8], escape: Option<u8>) -> bool {
    let (mut at, mut part) = (0, 0);
    // The place that the last `%` was left at, and what stands behind that `%`.
    let mut retry: Option<(usize, usize)> = None;
    while at < text.len() {
        let byte = pattern.get(part).copied();
        let step = if byte.is_some() && byte == escape {
            (pattern.get(part + 1) == Some(&text[at])).then_some((at + 1, part + 2))
        } else {
            match byte {
                Some(b'%') => {
                    retry = Some((at, part + 1));
                    Some((at, part + 1))
                }
                Some(b'_') => Some((at + char_bytes(text[at]), part + 1)),
                Some(byte) if byte == text[at] => Some((at + 1, part + 1)),
                _ => None,
            }
        };
        (at, part) = match (step, retry) {
            (Some(step), _) => step,
            (None, Some((from, behind))) => {
                let from = from + char_bytes(text[from]);
                retry = Some((from, behind));
                (from, behind)
            }
            (None, None) => return false,
        };
    }
    pattern[part.min(pattern.len())..].iter().all(|byte| *byte == b'%' && escape != Some(b'%'))
}

/// The bytes of the character with this first byte.
fn char_bytes(first: u8) -> usize {
    match first {
        0..0xc0 => 1,
        0xc0..0xe0 => 2,
        0xe0..0xf0 => 3,
        _ => 4,
    }
}

#[cfg(test)]
mod tests {
    use super::like;

    /// Character by character, every way that there is.
    fn plainly(text: &[char], pattern: &[char], escape: Option<char>) -> bool {
        match pattern {
            [] => text.is_empty(),
            [first, literal, rest @ ..] if Some(*first) == escape => {
                text.first() == Some(literal) && plainly(&text[1..], rest, escape)
            }
            ['%', rest @ ..] => (0..=text.len()).any(|taken| plainly(&text[taken..], rest, escape)),
            ['_', rest @ ..] => !text.is_empty() && plainly(&text[1..], rest, escape),
            [first, rest @ ..] => text.first() == Some(first) && plainly(&text[1..], rest, escape),
        }
    }

    #[test]
    fn bytes_match_as_characters_do() {
        let letters = ['a', 'b', 'é', '漢', '🧵', '%', '_', '\\', '!'];
        let mut state = 7_u64;
        let mut random = move |below: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % below
        };
        for _ in 0..60_000 {
            let escape = [None, Some('\\'), Some('!'), Some('é'), Some('%'), Some('_')][random(6)];
            let text: Vec<char> = (0..random(7)).map(|_| letters[random(5)]).collect();
            let pattern: Vec<char> = (0..random(6)).map(|_| letters[random(letters.len())]).collect();
            let mut left = pattern.iter();
            let mut is_whole = true;
            while let Some(c) = left.next() {
                is_whole &= Some(*c) != escape || left.next().is_some();
            }
            let expected = is_whole.then(|| plainly(&text, &pattern, escape));
            let (text, pattern): (String, String) = (text.iter().collect(), pattern.iter().collect());
            assert_eq!(like(&text, &pattern, escape), expected, "{text:?} LIKE {pattern:?} ESCAPE {escape:?}");
        }
    }
}
