//! A pattern's tokens, as PostgreSQL cuts them.
//!
//! ```text
//!   a\d{2,3}?     Char(a)  Class(digit)  Bound             what follows a Bound or a Bracket is read by who parses it
//!   \B \y \12     Char(\)  WordEdge      Char(octal 12), or group 12 when so many groups are open
//! ```

use weft_format::{Code, Error, Result};

use super::options::{Options, invalid};

/// What a pattern is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// Before the first.
    Start,
    /// After the last.
    End,
    Bar,
    /// `*`, `+` or `?`: how often at least and at most, and whether the longest is preferred.
    Quantifier(u32, Option<u32>, bool),
    /// `{` with a number behind it.
    Bound,
    /// A group that is kept or not.
    Open(bool),
    Close,
    /// `[` or, if true, `[^`.
    Bracket(bool),
    Dot,
    /// A character's number, which no character may have.
    Char(u32),
    /// A class, or all that is not in it.
    Class(&'static str, bool),
    Assert(Assertion),
    BackReference(u32),
}

/// What must hold between two characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Assertion {
    TextStart,
    TextEnd,
    LineStart,
    LineEnd,
    WordStart,
    WordEnd,
    WordEdge,
    NoWordEdge,
}

/// The token at hand and the characters behind it.
pub(super) struct Tokens {
    chars: Vec<char>,
    at: usize,
    /// The options, with those in the pattern.
    pub(super) options: Options,
    /// The token at hand.
    pub(super) now: Token,
    /// How many groups that are kept began.
    pub(super) groups: u32,
}

impl Tokens {
    /// The tokens of a pattern, the first at hand.
    pub(super) fn new(pattern: &str, options: Options) -> Result<Tokens> {
        options.check()?;
        let mut tokens = Tokens { chars: pattern.chars().collect(), at: 0, options, now: Token::Start, groups: 0 };
        if !options.quoted {
            tokens.prefixes()?;
        }
        tokens.next()?;
        Ok(tokens)
    }

    /// The character at hand in a bracket or a bound, which is passed.
    pub(super) fn take(&mut self) -> Option<char> {
        let c = self.peek(0)?;
        self.at += 1;
        Some(c)
    }

    /// A character further on.
    pub(super) fn peek(&self, ahead: usize) -> Option<char> {
        self.chars.get(self.at + ahead).copied()
    }

    /// Passes a text if it comes next.
    pub(super) fn eat(&mut self, text: &str) -> bool {
        let comes = text.chars().enumerate().all(|(ahead, c)| self.peek(ahead) == Some(c));
        if comes {
            self.at += text.chars().count();
        }
        comes
    }

    /// `***:`, `***=` and `(?options)`.
    fn prefixes(&mut self) -> Result<()> {
        if self.eat("***") {
            match self.take() {
                Some('?') => return Err(invalid("invalid regexp (reg version 0.8)")),
                Some('=') => {
                    let any_case = self.options.any_case;
                    let none = Options { extended: false, advanced: false, quoted: true, ..Options::ADVANCED };
                    self.options = Options { any_case, ..none };
                    return Ok(());
                }
                Some(':') => (self.options.extended, self.options.advanced) = (true, true),
                _ => return Err(invalid("quantifier operand invalid")),
            }
        }
        let begins = self.peek(0) == Some('(') && self.peek(1) == Some('?');
        if !self.options.advanced || !begins || !self.peek(2).is_some_and(|c| c.is_ascii_alphabetic()) {
            return Ok(());
        }
        self.at += 2;
        let options = &mut self.options;
        while let Some(flag) = self.chars.get(self.at).filter(|c| c.is_ascii_alphabetic()) {
            self.at += 1;
            match flag {
                'b' => (options.extended, options.advanced, options.quoted) = (false, false, false),
                'e' => (options.extended, options.advanced, options.quoted) = (true, false, false),
                'q' => (options.extended, options.advanced, options.quoted) = (false, false, true),
                _ if options.set(*flag) => {}
                _ => return Err(invalid("invalid embedded option")),
            }
        }
        if !self.eat(")") {
            return Err(invalid("invalid embedded option"));
        }
        if self.options.quoted {
            self.options.expanded = false;
            self.options.set('s');
        }
        Ok(())
    }

    /// Goes to the next token.
    pub(super) fn next(&mut self) -> Result<()> {
        let last = self.now;
        self.now = loop {
            self.skip_space();
            let Some(c) = self.take() else { break Token::End };
            if self.options.quoted {
                break Token::Char(u32::from(c));
            }
            let token = if self.options.extended { self.extended(c)? } else { self.basic(c, last)? };
            if let Some(token) = token {
                break token;
            }
        };
        Ok(())
    }

    /// Passes white space and comments, where they are ignored.
    pub(super) fn skip_space(&mut self) {
        if !self.options.expanded {
            return;
        }
        loop {
            while self.peek(0).is_some_and(|c| c.is_ascii_whitespace() || c == '\u{b}') {
                self.at += 1;
            }
            if self.peek(0) != Some('#') {
                return;
            }
            while self.peek(0).is_some_and(|c| c != '\n') {
                self.at += 1;
            }
        }
    }

    /// A token of an extended or advanced pattern; None is a comment.
    fn extended(&mut self, c: char) -> Result<Option<Token>> {
        Ok(Some(match c {
            '|' => Token::Bar,
            '*' => Token::Quantifier(0, None, self.prefers_longest()),
            '+' => Token::Quantifier(1, None, self.prefers_longest()),
            '?' => Token::Quantifier(0, Some(1), self.prefers_longest()),
            '{' => {
                self.skip_space();
                if self.peek(0).is_some_and(|c| c.is_ascii_digit()) { Token::Bound } else { Token::Char(u32::from(c)) }
            }
            '(' if self.options.advanced && self.eat("?") => return self.special_group(),
            '(' => Token::Open(true),
            ')' => Token::Close,
            '[' => self.bracket(),
            '.' => Token::Dot,
            '^' => self.line_start(),
            '$' => self.line_end(),
            '\\' => {
                let Some(next) = self.peek(0) else { return Err(invalid("invalid escape \\ sequence")) };
                if self.options.advanced {
                    return self.escape().map(Some);
                }
                self.at += 1;
                Token::Char(u32::from(next))
            }
            c => Token::Char(u32::from(c)),
        }))
    }

    /// Whether a quantifier has no `?` behind it, which is passed.
    pub(super) fn prefers_longest(&mut self) -> bool {
        !(self.options.advanced && self.eat("?"))
    }

    fn bracket(&mut self) -> Token {
        if self.eat("[:<:]]") {
            Token::Assert(Assertion::WordStart)
        } else if self.eat("[:>:]]") {
            Token::Assert(Assertion::WordEnd)
        } else {
            Token::Bracket(self.eat("^"))
        }
    }

    fn line_start(&self) -> Token {
        Token::Assert(if self.options.anchors_at_newline { Assertion::LineStart } else { Assertion::TextStart })
    }

    fn line_end(&self) -> Token {
        Token::Assert(if self.options.anchors_at_newline { Assertion::LineEnd } else { Assertion::TextEnd })
    }

    /// What begins with `(?`.
    fn special_group(&mut self) -> Result<Option<Token>> {
        if self.eat(":") {
            Ok(Some(Token::Open(false)))
        } else if self.eat("#") {
            while self.take().is_some_and(|c| c != ')') {}
            Ok(None)
        } else if ["=", "!", "<=", "<!"].iter().any(|look| self.eat(look)) {
            Err(Error::new(
                Code::FeatureNotSupported,
                "lookahead and lookbehind constraints in regular expressions are not supported",
            ))
        } else {
            Err(invalid("quantifier operand invalid"))
        }
    }

    /// An escape of an advanced pattern, whose backslash is passed.
    pub(super) fn escape(&mut self) -> Result<Token> {
        let bad = || invalid("invalid escape \\ sequence");
        let c = self.take().ok_or_else(bad)?;
        let number = |value: u32| if value < 0x7fff_ffff { Ok(Token::Char(value)) } else { Err(bad()) };
        Ok(match c {
            'a' => Token::Char(7),
            'b' => Token::Char(8),
            'B' => Token::Char(u32::from('\\')),
            'c' => Token::Char(u32::from(self.take().ok_or_else(bad)?) & 0x1f),
            'e' => Token::Char(0x1b),
            'f' => Token::Char(0xc),
            'n' => Token::Char(0xa),
            'r' => Token::Char(0xd),
            't' => Token::Char(9),
            'v' => Token::Char(0xb),
            'd' | 'D' => Token::Class("digit", c == 'D'),
            's' | 'S' => Token::Class("space", c == 'S'),
            'w' | 'W' => Token::Class("word", c == 'W'),
            'A' => Token::Assert(Assertion::TextStart),
            'Z' => Token::Assert(Assertion::TextEnd),
            'm' => Token::Assert(Assertion::WordStart),
            'M' => Token::Assert(Assertion::WordEnd),
            'y' => Token::Assert(Assertion::WordEdge),
            'Y' => Token::Assert(Assertion::NoWordEdge),
            'u' => number(self.digits(16, 4, 4).ok_or_else(bad)?)?,
            'U' => number(self.digits(16, 8, 8).ok_or_else(bad)?)?,
            'x' => number(self.digits(16, 1, 255).ok_or_else(bad)?)?,
            '0'..='9' => self.numbered(c).ok_or_else(bad)?,
            c if c.is_ascii_alphanumeric() => return Err(bad()),
            c => Token::Char(u32::from(c)),
        })
    }

    /// A group's number, or a character's in octal digits; the first digit is passed.
    fn numbered(&mut self, first: char) -> Option<Token> {
        let second = self.at;
        self.at -= 1;
        if first != '0' {
            let number = self.digits(10, 1, 255)?;
            if self.at == second || (1..=self.groups).contains(&number) {
                return Some(Token::BackReference(number));
            }
            self.at = second - 1;
        }
        let value = self.digits(8, 1, 3)?;
        if value <= 0xff {
            return Some(Token::Char(value));
        }
        self.at -= 1;
        Some(Token::Char(value >> 3))
    }

    /// A number of some digits; too large ones lose their upper bits.
    fn digits(&mut self, base: u32, least: usize, most: usize) -> Option<u32> {
        let begin = self.at;
        let mut value = 0_u32;
        while self.at - begin < most {
            let Some(digit) = self.peek(0).and_then(|c| c.to_digit(base)) else { break };
            value = value.wrapping_mul(base).wrapping_add(digit);
            self.at += 1;
        }
        (self.at - begin >= least).then_some(value)
    }

    /// A token of a basic pattern.
    fn basic(&mut self, c: char, last: Token) -> Result<Option<Token>> {
        let after_start = matches!(last, Token::Start | Token::Open(_));
        let after_caret = matches!(last, Token::Assert(Assertion::TextStart | Assertion::LineStart));
        Ok(Some(match c {
            '*' if !after_start && !after_caret => Token::Quantifier(0, None, true),
            '[' => self.bracket(),
            '.' => Token::Dot,
            '^' if after_start => self.line_start(),
            '$' => {
                self.skip_space();
                let at_end = self.peek(0).is_none() || (self.peek(0) == Some('\\') && self.peek(1) == Some(')'));
                if at_end { self.line_end() } else { Token::Char(u32::from(c)) }
            }
            '\\' => match self.take() {
                None => return Err(invalid("invalid escape \\ sequence")),
                Some('{') => Token::Bound,
                Some('(') => Token::Open(true),
                Some(')') => Token::Close,
                Some('<') => Token::Assert(Assertion::WordStart),
                Some('>') => Token::Assert(Assertion::WordEnd),
                Some(digit @ '1'..='9') => Token::BackReference(digit.to_digit(10).unwrap_or(0)),
                Some(c) => Token::Char(u32::from(c)),
            },
            c => Token::Char(u32::from(c)),
        }))
    }
}
