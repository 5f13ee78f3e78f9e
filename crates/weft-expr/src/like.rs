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
pub(crate) fn like(text: &str, pattern: &str, escape: Option<char>) -> Option<bool> {
    let mut parts = Vec::with_capacity(pattern.len());
    let mut chars = pattern.chars();
    while let Some(c) = chars.next() {
        parts.push(match c {
            c if Some(c) == escape => Part::Char(chars.next()?),
            '%' => Part::Any,
            '_' => Part::One,
            c => Part::Char(c),
        });
    }
    let text: Vec<char> = text.chars().collect();
    let (mut at, mut part) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    while at < text.len() {
        match parts.get(part) {
            Some(Part::Any) => {
                retry = Some((at, part));
                part += 1;
            }
            Some(Part::One) => (at, part) = (at + 1, part + 1),
            Some(Part::Char(c)) if *c == text[at] => (at, part) = (at + 1, part + 1),
            _ => match retry {
                Some((from, any)) => {
                    retry = Some((from + 1, any));
                    (at, part) = (from + 1, any + 1);
                }
                None => return Some(false),
            },
        }
    }
    Some(parts[part..].iter().all(|part| *part == Part::Any))
}

#[derive(PartialEq)]
enum Part {
    Any,
    One,
    Char(char),
}
