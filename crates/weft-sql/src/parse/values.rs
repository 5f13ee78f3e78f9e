//! INSERT ... VALUES of plain literals without a tree per value.
//!
//! ```text
//!   INSERT INTO t (a, b) VALUES (1, 'x'), (-2, NULL), (3.5, 'it''s') ON CONFLICT DO NOTHING
//!   template  INSERT INTO t (a, b) VALUES (NULL,NULL) ON CONFLICT DO NOTHING     parsed and planned once for all
//!   literals  width 2: Number 1, Text x, Number -2, Null, Number 3.5, Text it's  as ranges of the text
//! ```
//!
//! A tree costs some 600 bytes and a microsecond per value; a range costs 12 bytes. Whatever is not a plain literal
//! ends the attempt, and the statement is parsed as any other.
//!
//! 1. A text that is accepted here means the same as it would parsed in full.
//! 2. A position in the template behind its tuple is moved to the place in the whole text.

use std::sync::Arc;

/// The literals of all tuples.
#[derive(Clone, Debug, PartialEq)]
pub struct Literals {
    /// Values per tuple.
    pub width: usize,
    /// The statement with one tuple of NULLs.
    pub template: Arc<str>,
    /// Characters before the tuples, of the template's tuple, and of all tuples.
    cut: (usize, usize, usize),
    raw: Vec<Raw>,
}

/// What a literal is; the text is in the statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LiteralKind {
    /// NULL
    Null,
    /// TRUE
    True,
    /// FALSE
    False,
    /// Digits, with sign, point and exponent as written.
    Number,
    /// Between quotes, without a quote inside.
    Text,
    /// Between quotes, with doubled quotes inside.
    QuotedText,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Raw {
    kind: LiteralKind,
    start: u32,
    end: u32,
}

impl Literals {
    /// How many tuples there are.
    pub fn tuple_count(&self) -> usize {
        self.raw.len() / self.width
    }

    /// Kind, text (between the quotes) and byte offset of a literal.
    pub fn get<'a>(&self, source: &'a str, tuple: usize, index: usize) -> (LiteralKind, &'a str, usize) {
        let raw = self.raw[tuple * self.width + index];
        (raw.kind, &source[raw.start as usize..raw.end as usize], raw.start as usize)
    }

    /// A position in the template as one in the whole text.
    pub fn position(&self, position: usize) -> usize {
        let (before, template, all) = self.cut;
        if position > before + template { position - template + all } else { position }
    }
}

/// Finds the literals of an INSERT; none when the text is anything else.
pub fn scan_literals(source: &str) -> Option<Literals> {
    let mut scanner = Scanner { text: source.as_bytes(), at: 0 };
    scanner.blanks();
    if !scanner.word("insert") || u32::try_from(source.len()).is_err() || source.contains('\0') {
        return None;
    }
    scanner.find_values()?;
    let mut raw = Vec::new();
    let start = scanner.at;
    scanner.tuple(&mut raw)?;
    let width = raw.len();
    let mut last_end = scanner.at;
    loop {
        scanner.blanks();
        if !scanner.byte(b',') {
            break;
        }
        scanner.blanks();
        let before = raw.len();
        scanner.tuple(&mut raw)?;
        if raw.len() - before != width {
            return None;
        }
        last_end = scanner.at;
    }
    // Another statement may follow a semicolon; the splitter knows how to tell.
    let rest = source[last_end..].trim_end().trim_end_matches(';');
    if rest.contains(';') {
        return None;
    }
    let tuple = format!("({})", vec!["NULL"; width].join(","));
    let cut = (source[..start].chars().count(), tuple.len(), source[start..last_end].chars().count());
    Some(Literals { width, template: [&source[..start], &tuple, rest].concat().into(), cut, raw })
}

struct Scanner<'a> {
    text: &'a [u8],
    at: usize,
}

impl Scanner<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn byte(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn blanks(&mut self) {
        while self.peek().is_some_and(|byte| matches!(byte, b' ' | b'\n' | b'\r' | b'\t')) {
            self.at += 1;
        }
    }

    /// Takes a keyword that ends there.
    fn word(&mut self, word: &str) -> bool {
        let end = self.at + word.len();
        let found = self.text.get(self.at..end).is_some_and(|bytes| bytes.eq_ignore_ascii_case(word.as_bytes()))
            && !self.text.get(end).is_some_and(|&byte| is_word(byte));
        if found {
            self.at = end;
        }
        found
    }

    /// Goes behind VALUES. Before it only names, dots, commas, parentheses and blanks may stand.
    fn find_values(&mut self) -> Option<()> {
        loop {
            self.blanks();
            if self.word("values") {
                self.blanks();
                return Some(());
            }
            match self.peek()? {
                b'"' => {
                    let length = self.text[self.at + 1..].iter().position(|&byte| byte == b'"')?;
                    self.at += length + 2;
                }
                byte if is_word(byte) => {
                    while self.peek().is_some_and(is_word) {
                        self.at += 1;
                    }
                }
                b'.' | b',' | b'(' | b')' => self.at += 1,
                _ => return None,
            }
        }
    }

    /// `(literal, literal, ...)`
    fn tuple(&mut self, raw: &mut Vec<Raw>) -> Option<()> {
        if !self.byte(b'(') {
            return None;
        }
        loop {
            self.blanks();
            raw.push(self.literal()?);
            self.blanks();
            match self.peek()? {
                b',' => self.at += 1,
                b')' => {
                    self.at += 1;
                    return Some(());
                }
                _ => return None,
            }
        }
    }

    fn literal(&mut self) -> Option<Raw> {
        let start = self.at;
        let kind = match self.peek()? {
            b'\'' => return self.string(),
            b'0'..=b'9' | b'-' | b'.' => return self.number(),
            _ if self.word("null") => LiteralKind::Null,
            _ if self.word("true") => LiteralKind::True,
            _ if self.word("false") => LiteralKind::False,
            _ => return None,
        };
        Some(Raw { kind, start: start as u32, end: self.at as u32 })
    }

    fn string(&mut self) -> Option<Raw> {
        let start = self.at + 1;
        let mut kind = LiteralKind::Text;
        let mut at = start;
        loop {
            at += self.text.get(at..)?.iter().position(|&byte| byte == b'\'')?;
            if self.text.get(at + 1) != Some(&b'\'') {
                break;
            }
            kind = LiteralKind::QuotedText;
            at += 2;
        }
        self.at = at + 1;
        Some(Raw { kind, start: start as u32, end: at as u32 })
    }

    fn number(&mut self) -> Option<Raw> {
        let start = self.at;
        self.byte(b'-');
        let whole = self.digits();
        let fraction = if self.byte(b'.') { self.digits() } else { 0 };
        if whole + fraction == 0 {
            return None;
        }
        if self.byte(b'e') || self.byte(b'E') {
            let _ = self.byte(b'-') || self.byte(b'+');
            if self.digits() == 0 {
                return None;
            }
        }
        // What follows decides whether it was a number: 0x1F, 1_000, 5::text are not.
        let ends = matches!(self.peek()?, b',' | b')' | b' ' | b'\n' | b'\r' | b'\t');
        ends.then_some(Raw { kind: LiteralKind::Number, start: start as u32, end: self.at as u32 })
    }

    fn digits(&mut self) -> usize {
        let start = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        self.at - start
    }
}

/// Bytes of names; all of UTF-8 beyond ASCII is taken for letters.
fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || byte >= 0x80
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_are_found_and_cut_out() {
        let sql = "insert INTO \"T x\" (a, b) VALUES (1, 'é'),( -2.5e3 ,NULL), (3, 'it''s'),(4, true) ON CONFLICT x ; ";
        let literals = scan_literals(sql).unwrap();
        assert_eq!(&*literals.template, "insert INTO \"T x\" (a, b) VALUES (NULL,NULL) ON CONFLICT x ");
        assert_eq!((literals.width, literals.tuple_count()), (2, 4));
        let (kind, text, offset) = literals.get(sql, 1, 0);
        assert_eq!((kind, text, &sql[offset..offset + 4]), (LiteralKind::Number, "-2.5e3", "-2.5"));
        assert_eq!(literals.get(sql, 2, 1).1, "it''s");
        assert_eq!(literals.position(13), 13);
        let x = literals.template.find("x ").map(|_| literals.template.chars().count() - 1).unwrap();
        assert_eq!(sql.chars().nth(literals.position(x) - 1), Some('x'));
    }

    #[test]
    fn everything_else_is_left_to_the_parser() {
        let rest = "(1), (2), (3), (4)";
        for sql in [
            format!("INSERT INTO t VALUES (1 + 1), {rest}"),
            format!("INSERT INTO t VALUES (1::int), {rest}"),
            format!("INSERT INTO t VALUES (now()), {rest}"),
            format!("INSERT INTO t VALUES (DEFAULT), {rest}"),
            format!("INSERT INTO t VALUES (E'a'), {rest}"),
            format!("INSERT INTO t VALUES ('a' 'b'), {rest}"),
            format!("INSERT INTO t VALUES ($1), {rest}"),
            format!("INSERT INTO t VALUES (0x1F), {rest}"),
            format!("INSERT INTO t VALUES (1, 2), {rest}"),
            format!("INSERT INTO t VALUES (- 1), {rest}"),
            format!("INSERT INTO t VALUES (1 -- comment\n), {rest}"),
            format!("INSERT INTO t VALUES {rest}, ('open"),
            format!("INSERT INTO t VALUES {rest}; DELETE FROM t"),
            format!("INSERT INTO t VALUES {rest},"),
            format!("SELECT * FROM (VALUES {rest})"),
            format!("INSERT INTO t SELECT * FROM (VALUES {rest}) AS x"),
        ] {
            let found = scan_literals(&sql);
            // FROM (VALUES ...) is found, too; its tuples are the same literals wherever they stand.
            assert!(found.is_none() || sql.contains("SELECT"), "{sql}: {found:?}");
        }
    }
}
