//! The tokens of a path, as PostgreSQL cuts them.
//!
//! ```text
//!   $x.a\u0062 >= 1.5e3      Variable(x)  .  Word(ab)  >=  Number(1.5e3)
//!   $."a b"                  $  .  Text(a b)
//!   1a                       an error: junk behind a number; `1.type()` is one, `1 .type()` is none
//! ```
//!
//! 1. An error says near what it is: the piece that was read last. That is none behind a word that another token ends,
//!    which PostgreSQL calls the end of the input.

use weft_format::{Code, Error, Result};

use super::errors::{bad_surrogate, near};

/// What a path is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    End,
    Symbol(&'static str),
    Text(String),
    /// With or without quotes, without the dollar.
    Variable(String),
    /// A number with a point or an exponent.
    Number(String),
    Integer(String),
    /// A key or a keyword.
    Word(String),
}

/// Symbols, longer ones first.
const SYMBOLS: [&str; 33] = [
    "&&", "||", "**", "<=", "==", "<>", "!=", ">=", "<", ">", "!", "?", "%", "$", ".", "[", "]", "{", "}", "(", ")",
    "|", "&", "=", "@", "#", ",", "*", ":", "-", "+", "/", "\\",
];

/// The token at hand and the text behind it.
pub(super) struct Tokens<'a> {
    rest: &'a str,
    /// The token at hand.
    pub(super) now: Token,
    /// The piece of the text that was read last.
    pub(super) near: &'a str,
}

fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r' | '\x0c')
}

/// What words are made of.
fn is_other(c: char) -> bool {
    !is_blank(c) && !"?%$.[]{}()|&!=<>@#,*:-+/\\\"".contains(c)
}

/// The bytes of a text's start of such characters.
fn span(text: &str, is: fn(char) -> bool) -> usize {
    text.find(|c| !is(c)).unwrap_or(text.len())
}

fn digits(text: &str) -> usize {
    text.bytes().take_while(u8::is_ascii_digit).count()
}

impl<'a> Tokens<'a> {
    /// The tokens of a path, the first at hand.
    pub(super) fn new(path: &'a str) -> Result<Tokens<'a>> {
        let mut tokens = Tokens { rest: path, now: Token::End, near: "" };
        tokens.next()?;
        Ok(tokens)
    }

    /// An error at the piece that was read last.
    pub(super) fn error(&self, what: &str) -> Error {
        near(what, self.near)
    }

    /// Passes bytes, which errors are near then.
    fn pass(&mut self, bytes: usize) -> &'a str {
        let (passed, rest) = self.rest.split_at(bytes);
        (self.near, self.rest) = (passed, rest);
        passed
    }

    /// Goes to the next token, and gives the one that was at hand.
    pub(super) fn next(&mut self) -> Result<Token> {
        let next = loop {
            match self.piece()? {
                Some(token) => break token,
                None => continue,
            }
        };
        Ok(std::mem::replace(&mut self.now, next))
    }

    /// A token; none is a piece without one, like blanks.
    fn piece(&mut self) -> Result<Option<Token>> {
        let Some(first) = self.rest.chars().next() else {
            self.near = "";
            return Ok(Some(Token::End));
        };
        if is_blank(first) {
            self.pass(span(self.rest, is_blank));
            return Ok(None);
        }
        if self.rest.starts_with("/*") {
            self.comment()?;
            return Ok(None);
        }
        if first == '"' {
            self.pass(1);
            return self.quoted().map(|text| Some(Token::Text(text)));
        }
        if self.rest.starts_with("$\"") {
            self.pass(2);
            return self.quoted().map(|name| Some(Token::Variable(name)));
        }
        if first == '$' {
            let name = span(&self.rest[1..], is_other);
            if name > 0 {
                return Ok(Some(Token::Variable(self.pass(1 + name)[1..].to_owned())));
            }
        }
        if let Some(number) = self.number()? {
            return Ok(Some(number));
        }
        if first == '\\' || is_other(first) {
            return self.word();
        }
        let symbol = SYMBOLS.iter().find(|symbol| self.rest.starts_with(**symbol));
        let symbol = symbol.expect("what is neither blank, word, quote nor number is a symbol");
        self.pass(symbol.len());
        Ok(Some(Token::Symbol(symbol)))
    }

    fn comment(&mut self) -> Result<()> {
        match self.rest[2..].find("*/") {
            Some(end) => {
                self.pass(2 + end + 2);
                Ok(())
            }
            None => {
                self.near = "";
                Err(self.error("unexpected end of comment"))
            }
        }
    }

    /// A number, unless a longer word begins here.
    fn number(&mut self) -> Result<Option<Token>> {
        let text = self.rest;
        let whole = if text.starts_with('0') { 1 } else { digits(text) };
        let point = text[whole..].starts_with('.');
        let fraction = if point { digits(&text[whole + 1..]) } else { 0 };
        let is_decimal = point && (whole > 0 || fraction > 0);
        if whole == 0 && !is_decimal {
            return Ok(None);
        }
        let mut end = if is_decimal { whole + 1 + fraction } else { whole };
        let mut is_number = is_decimal;
        let mut fails = 0;
        if text[end..].starts_with(['e', 'E']) {
            let sign = usize::from(text[end + 1..].starts_with(['+', '-']));
            let exponent = digits(&text[end + 1 + sign..]);
            if exponent > 0 {
                (end, is_number) = (end + 1 + sign + exponent, true);
            } else if sign > 0 {
                fails = end + 2;
            }
        }
        // Of a character beyond ASCII PostgreSQL takes the first byte, which it does not show.
        let next = text[end..].chars().next().filter(|c| is_other(*c));
        let junk = next.map_or(0, |_| end + 1);
        if span(text, is_other) > end.max(fails).max(junk) {
            return Ok(None);
        }
        if fails > junk {
            self.pass(fails);
            return Err(self.error("invalid numeric literal"));
        }
        if let Some(next) = next {
            self.pass(end + usize::from(next.is_ascii()));
            return Err(self.error("trailing junk after numeric literal"));
        }
        let number = self.pass(end).to_owned();
        Ok(Some(if is_number { Token::Number(number) } else { Token::Integer(number) }))
    }

    /// A word. One that a comment follows at once is lost, as in PostgreSQL.
    fn word(&mut self) -> Result<Option<Token>> {
        let mut word = String::new();
        loop {
            let plain = self.pass(span(self.rest, is_other));
            word.push_str(plain);
            if self.rest.starts_with('\\') {
                self.escape(&mut word)?;
                continue;
            }
            if self.rest.starts_with("/*") {
                self.comment()?;
                return Ok(None);
            }
            // A blank is read with the word; what else ends one is put back.
            self.pass(span(self.rest, is_blank));
            return Ok(Some(Token::Word(word)));
        }
    }

    /// A text up to its closing quote; the opening one is passed.
    fn quoted(&mut self) -> Result<String> {
        let mut text = String::new();
        loop {
            text.push_str(self.pass(span(self.rest, |c| c != '"' && c != '\\')));
            match self.rest.chars().next() {
                Some('\\') => self.escape(&mut text)?,
                Some(_) => {
                    self.pass(1);
                    return Ok(text);
                }
                None => {
                    self.near = "";
                    return Err(self.error("unexpected end of quoted string"));
                }
            }
        }
    }

    /// A backslash and what it escapes.
    fn escape(&mut self, out: &mut String) -> Result<()> {
        match self.rest[1..].chars().next().filter(|c| *c != '\n') {
            Some('u') => self.unicode(out),
            Some('x') => {
                let code = self.rest.get(2..4).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()));
                let Some(code) = code else {
                    let one = self.rest[2..].starts_with(|c: char| c.is_ascii_hexdigit());
                    self.pass(2 + usize::from(one));
                    return Err(self.error("invalid hex character sequence"));
                };
                push_code(u32::from_str_radix(code, 16).unwrap_or(0), out)?;
                self.pass(4);
                Ok(())
            }
            Some(c) => {
                out.push(match c {
                    'b' => '\u{8}',
                    'f' => '\u{c}',
                    'n' => '\n',
                    'r' => '\r',
                    't' => '\t',
                    'v' => '\u{b}',
                    c => c,
                });
                self.pass(1 + c.len_utf8());
                Ok(())
            }
            None => {
                self.pass(1);
                Err(self.error("unexpected end after backslash"))
            }
        }
    }

    /// `\u0061`, `\u{61}`, and such ones behind it: two halves may make one character.
    fn unicode(&mut self, out: &mut String) -> Result<()> {
        let text = self.rest;
        let mut at = 0;
        let mut high: Option<u32> = None;
        while text[at..].starts_with("\\u") {
            let behind = &text[at + 2..];
            let braced = behind.starts_with('{');
            let from = usize::from(braced);
            let most = if braced { 6 } else { 4 };
            let count = behind[from..].bytes().take(most).take_while(u8::is_ascii_hexdigit).count();
            let is_whole = if braced { count > 0 && behind[from + count..].starts_with('}') } else { count == 4 };
            if !is_whole {
                self.pass(at + 2 + from + count);
                return Err(self.error("invalid unicode sequence"));
            }
            let code = u32::from_str_radix(&behind[from..from + count], 16).unwrap_or(0);
            at += 2 + from + count + usize::from(braced);
            match (code, high) {
                (0xd800..0xdc00, Some(_)) => return Err(bad_surrogate("high surrogate must not follow a high")),
                (0xd800..0xdc00, None) => high = Some(code),
                (0xdc00..0xe000, Some(first)) => {
                    push_code(0x1_0000 + ((first - 0xd800) << 10) + (code - 0xdc00), out)?;
                    high = None;
                }
                (0xdc00..0xe000, None) | (_, Some(_)) => {
                    return Err(bad_surrogate("low surrogate must follow a high"));
                }
                (code, None) => push_code(code, out)?,
            }
        }
        if high.is_some() {
            return Err(bad_surrogate("low surrogate must follow a high"));
        }
        self.pass(at);
        Ok(())
    }
}

fn push_code(code: u32, out: &mut String) -> Result<()> {
    if code == 0 {
        return Err(Error::new(Code::UntranslatableCharacter, "unsupported Unicode escape sequence")
            .detail("\\u0000 cannot be converted to text."));
    }
    let found = char::from_u32(code);
    out.push(found.ok_or_else(|| Error::new(Code::SyntaxError, "invalid Unicode code point"))?);
    Ok(())
}
