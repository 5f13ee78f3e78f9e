//! Bracket expressions: `[a-z_[:digit:][.hyphen.][=e=]\w]`.

use weft_format::{Error, Result};

use super::charset::{CharSet, any_case, cases, class};
use super::options::invalid;
use super::tokens::{Token, Tokens};

/// One thing between brackets.
enum Item {
    /// A character, which may begin a range.
    Char(u32),
    /// What may not.
    Set(CharSet),
    /// The `-` of a range.
    Range,
    /// `]`.
    End,
}

/// The characters of a bracket expression, behind its `[` or `[^`, up to its `]`.
pub(super) fn parse(tokens: &mut Tokens, is_other: bool) -> Result<CharSet> {
    let any = tokens.options.any_case;
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    let mut at_hand = item(tokens, true)?;
    loop {
        let from = match at_hand {
            Item::End => break,
            Item::Range => return Err(bad_range()),
            Item::Set(set) => {
                ranges.extend(set.ranges());
                at_hand = item(tokens, false)?;
                continue;
            }
            Item::Char(code) => code,
        };
        at_hand = item(tokens, false)?;
        if !matches!(at_hand, Item::Range) {
            if any {
                ranges.extend(cases(from).map(|code| (code, code)));
            } else {
                ranges.push((from, from));
            }
            continue;
        }
        let to = match item(tokens, false)? {
            Item::Char(code) => code,
            Item::Range => u32::from('-'),
            Item::Set(_) | Item::End => return Err(bad_range()),
        };
        if from > to {
            return Err(bad_range());
        }
        if any {
            ranges.extend(any_case(from, to));
        } else {
            ranges.push((from, to));
        }
        at_hand = item(tokens, false)?;
    }
    let set = CharSet::of(ranges);
    if !is_other {
        return Ok(set);
    }
    let newline = tokens.options.stops_at_newline.then_some((10, 10));
    Ok(CharSet::of(set.ranges().iter().copied().chain(newline)).complement())
}

fn bad_range() -> Error {
    invalid("invalid character range")
}

fn item(tokens: &mut Tokens, is_first: bool) -> Result<Item> {
    let open = || invalid("brackets [] not balanced");
    let c = tokens.take().ok_or_else(open)?;
    Ok(match c {
        ']' if !is_first => Item::End,
        '-' if !is_first && tokens.peek(0) != Some(']') => Item::Range,
        '\\' if tokens.options.advanced => {
            if tokens.peek(0).is_none() {
                return Err(invalid("invalid escape \\ sequence"));
            }
            match tokens.escape()? {
                Token::Char(code) => Item::Char(code),
                Token::Class(name, is_other) => {
                    let set = class(name).ok_or_else(|| invalid("invalid character class"))?;
                    Item::Set(if is_other { set.complement() } else { set.clone() })
                }
                _ => return Err(invalid("invalid escape \\ sequence")),
            }
        }
        '[' => match tokens.peek(0).ok_or_else(open)? {
            kind @ ('.' | '=' | ':') => {
                tokens.take();
                let name = named(tokens, kind)?;
                return named_item(&name, kind, tokens.options.any_case);
            }
            _ => Item::Char(u32::from(c)),
        },
        c => Item::Char(u32::from(c)),
    })
}

/// What stands before the closing `.]`, `=]` or `:]`.
fn named(tokens: &mut Tokens, kind: char) -> Result<String> {
    let mut name = String::new();
    loop {
        let c = tokens.take().ok_or_else(|| invalid("brackets [] not balanced"))?;
        if c == kind && tokens.eat("]") {
            return Ok(name);
        }
        name.push(c);
    }
}

fn named_item(name: &str, kind: char, any: bool) -> Result<Item> {
    if kind == ':' {
        let name = if any && matches!(name, "upper" | "lower") { "alpha" } else { name };
        let set = class(name).ok_or_else(|| invalid("invalid character class"))?;
        return Ok(Item::Set(set.clone()));
    }
    let mut chars = name.chars();
    let code = match (chars.next(), chars.next()) {
        (Some(c), None) => Some(u32::from(c)),
        _ => NAMES.iter().find(|(known, _)| *known == name).map(|(_, code)| *code),
    };
    let code = code.ok_or_else(|| invalid("invalid collating element"))?;
    Ok(match kind {
        '=' if any => Item::Set(CharSet::of(cases(code).map(|code| (code, code)))),
        '=' => Item::Set(CharSet::one(code)),
        _ => Item::Char(code),
    })
}

/// POSIX's names of characters.
const NAMES: [(&str, u32); 95] = [
    ("NUL", 0),
    ("SOH", 1),
    ("STX", 2),
    ("ETX", 3),
    ("EOT", 4),
    ("ENQ", 5),
    ("ACK", 6),
    ("BEL", 7),
    ("alert", 7),
    ("BS", 8),
    ("backspace", 8),
    ("HT", 9),
    ("tab", 9),
    ("LF", 10),
    ("newline", 10),
    ("VT", 11),
    ("vertical-tab", 11),
    ("FF", 12),
    ("form-feed", 12),
    ("CR", 13),
    ("carriage-return", 13),
    ("SO", 14),
    ("SI", 15),
    ("DLE", 16),
    ("DC1", 17),
    ("DC2", 18),
    ("DC3", 19),
    ("DC4", 20),
    ("NAK", 21),
    ("SYN", 22),
    ("ETB", 23),
    ("CAN", 24),
    ("EM", 25),
    ("SUB", 26),
    ("ESC", 27),
    ("IS4", 28),
    ("FS", 28),
    ("IS3", 29),
    ("GS", 29),
    ("IS2", 30),
    ("RS", 30),
    ("IS1", 31),
    ("US", 31),
    ("space", 32),
    ("exclamation-mark", 33),
    ("quotation-mark", 34),
    ("number-sign", 35),
    ("dollar-sign", 36),
    ("percent-sign", 37),
    ("ampersand", 38),
    ("apostrophe", 39),
    ("left-parenthesis", 40),
    ("right-parenthesis", 41),
    ("asterisk", 42),
    ("plus-sign", 43),
    ("comma", 44),
    ("hyphen", 45),
    ("hyphen-minus", 45),
    ("period", 46),
    ("full-stop", 46),
    ("slash", 47),
    ("solidus", 47),
    ("zero", 48),
    ("one", 49),
    ("two", 50),
    ("three", 51),
    ("four", 52),
    ("five", 53),
    ("six", 54),
    ("seven", 55),
    ("eight", 56),
    ("nine", 57),
    ("colon", 58),
    ("semicolon", 59),
    ("less-than-sign", 60),
    ("equals-sign", 61),
    ("greater-than-sign", 62),
    ("question-mark", 63),
    ("commercial-at", 64),
    ("left-square-bracket", 91),
    ("backslash", 92),
    ("reverse-solidus", 92),
    ("right-square-bracket", 93),
    ("circumflex", 94),
    ("circumflex-accent", 94),
    ("underscore", 95),
    ("low-line", 95),
    ("grave-accent", 96),
    ("left-brace", 123),
    ("left-curly-bracket", 123),
    ("vertical-line", 124),
    ("right-brace", 125),
    ("right-curly-bracket", 125),
    ("tilde", 126),
    ("DEL", 127),
];
