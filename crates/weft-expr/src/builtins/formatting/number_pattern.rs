//! Templates of numbers: their pieces, and what they ask for in all.
//!
//! ```text
//!   S9G990D00    digits before the point 4, behind it 2, zeros from the third on, a sign before the number
//! ```

use std::cell::RefCell;

use weft_format::{Code, Error, Result};

use super::pattern::{Case, check_length, quoted};

/// Templates of at most so many bytes are kept for the next row.
const KEPT_BYTES_MAX: usize = 256;

/// A piece of a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Piece {
    Nine,
    Zero,
    /// `.`
    Point,
    /// D
    LocalPoint,
    /// `,`
    Comma,
    /// G
    Group,
    /// L
    Currency,
    /// B and C, which do nothing; and SP.
    Nothing,
    /// EEEE
    Exponent,
    /// FM
    Bare,
    /// MI
    Minus,
    /// PL
    Plus,
    /// SG
    PlusOrMinus,
    /// PR
    Brackets,
    /// S
    Sign,
    /// RN
    Roman(Case),
    /// TH
    Ordinal(Case),
    /// V
    Shift,
    Text(char),
}

/// Where S puts the sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Anchor {
    Before,
    Behind,
}

/// What a template asks for in all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Wanted {
    /// Digits before and behind the point.
    pub(super) whole: usize,
    pub(super) fraction: usize,
    /// Digits behind V.
    pub(super) shift: usize,
    /// Whether V is there.
    pub(super) is_shifted: bool,
    pub(super) has_point: bool,
    /// The place of the first digit 0 before the point, from 0.
    pub(super) first_zero: Option<usize>,
    /// How many digits there are up to the last 0.
    pub(super) zeros_end: usize,
    pub(super) sign: Option<Anchor>,
    /// Digits before S.
    pub(super) whole_before_sign: usize,
    pub(super) is_blank: bool,
    pub(super) is_bare: bool,
    pub(super) has_brackets: bool,
    pub(super) has_minus: bool,
    pub(super) has_plus: bool,
    pub(super) is_roman: bool,
    pub(super) has_exponent: bool,
}

/// The keywords in upper case, longer ones before their beginnings; they may be in lower case too.
const KEYWORDS: &[(&str, Piece)] = &[
    ("9", Piece::Nine),
    ("0", Piece::Zero),
    (".", Piece::Point),
    (",", Piece::Comma),
    ("B", Piece::Nothing),
    ("C", Piece::Nothing),
    ("D", Piece::LocalPoint),
    ("EEEE", Piece::Exponent),
    ("FM", Piece::Bare),
    ("G", Piece::Group),
    ("L", Piece::Currency),
    ("MI", Piece::Minus),
    ("PL", Piece::Plus),
    ("PR", Piece::Brackets),
    ("RN", Piece::Roman(Case::Upper)),
    ("SG", Piece::PlusOrMinus),
    ("SP", Piece::Nothing),
    ("S", Piece::Sign),
    ("TH", Piece::Ordinal(Case::Upper)),
    ("V", Piece::Shift),
];

thread_local! {
    /// The template of the last call, its pieces and what it asks for.
    static LAST: RefCell<(String, Vec<Piece>, Wanted)> = RefCell::new((String::new(), Vec::new(), Wanted::default()));
}

/// Gives the pieces of a template and what it asks for, those of the last call again if it is the same.
pub(super) fn with_pieces<T>(pattern: &str, then: impl FnOnce(&[Piece], Wanted) -> Result<T>) -> Result<T> {
    check_length(pattern)?;
    if pattern.len() > KEPT_BYTES_MAX {
        let mut pieces = Vec::new();
        let wanted = parse(pattern, &mut pieces)?;
        return then(&pieces, wanted);
    }
    LAST.with_borrow_mut(|(last, pieces, wanted)| {
        if last != pattern {
            pieces.clear();
            last.clear();
            // Of a template with an error nothing is kept but the empty one.
            *wanted = Wanted::default();
            match parse(pattern, pieces) {
                Ok(found) => *wanted = found,
                Err(error) => {
                    pieces.clear();
                    return Err(error);
                }
            }
            last.push_str(pattern);
        }
        then(pieces, *wanted)
    })
}

fn parse(pattern: &str, pieces: &mut Vec<Piece>) -> Result<Wanted> {
    let mut wanted = Wanted::default();
    let mut rest = pattern;
    while let Some(first) = rest.chars().next() {
        if let Some((piece, behind)) = keyword(rest) {
            wanted.add(rest, piece)?;
            pieces.push(piece);
            rest = behind;
        } else if first == '"' {
            rest = quoted(&rest[1..], |letter| pieces.push(Piece::Text(letter)));
        } else {
            let letter = if rest.starts_with("\\\"") { '"' } else { first };
            rest = &rest[if letter == first { first.len_utf8() } else { 2 }..];
            pieces.push(Piece::Text(letter));
        }
    }
    Ok(wanted)
}

/// The keyword that a text begins with, all of it in one case, and what is behind it.
fn keyword(text: &str) -> Option<(Piece, &str)> {
    let is_lower = text.as_bytes()[0].is_ascii_lowercase();
    KEYWORDS.iter().find_map(|(name, piece)| {
        let start = text.as_bytes().get(..name.len())?;
        let is_it = if is_lower {
            start.iter().zip(name.bytes()).all(|(byte, known)| *byte == known.to_ascii_lowercase())
        } else {
            start == name.as_bytes()
        };
        let piece = match piece {
            Piece::Roman(_) if is_lower => Piece::Roman(Case::Lower),
            Piece::Ordinal(_) if is_lower => Piece::Ordinal(Case::Lower),
            piece => *piece,
        };
        is_it.then(|| (piece, &text[name.len()..]))
    })
}

fn wrong(message: &str) -> Error {
    Error::new(Code::SyntaxError, message)
}

impl Wanted {
    /// Adds a piece, which may contradict those before it; the text begins with it.
    fn add(&mut self, text: &str, piece: Piece) -> Result<()> {
        if self.has_exponent && piece != Piece::Exponent {
            return Err(wrong("\"EEEE\" must be the last pattern used"));
        }
        match piece {
            Piece::Nine | Piece::Zero => self.add_digit(piece),
            Piece::Point | Piece::LocalPoint => {
                if self.has_point {
                    return Err(wrong("multiple decimal points"));
                }
                if self.is_shifted {
                    return Err(wrong("cannot use \"V\" and decimal point together"));
                }
                self.has_point = true;
                Ok(())
            }
            Piece::Nothing if text.starts_with(['B', 'b']) => {
                self.is_blank |= self.whole == 0 && self.fraction == 0 && self.first_zero.is_none();
                Ok(())
            }
            Piece::Bare => {
                self.is_bare = true;
                Ok(())
            }
            Piece::Sign | Piece::Minus | Piece::Plus | Piece::PlusOrMinus | Piece::Brackets => self.add_sign(piece),
            Piece::Roman(_) => {
                self.is_roman = true;
                Ok(())
            }
            Piece::Shift => {
                if self.has_point {
                    return Err(wrong("cannot use \"V\" and decimal point together"));
                }
                self.is_shifted = true;
                Ok(())
            }
            Piece::Exponent => self.add_exponent(),
            _ => Ok(()),
        }
    }

    fn add_digit(&mut self, piece: Piece) -> Result<()> {
        if self.has_brackets {
            let digit = if piece == Piece::Zero { '0' } else { '9' };
            return Err(wrong(&format!("\"{digit}\" must be ahead of \"PR\"")));
        }
        if piece == Piece::Nine && self.is_shifted {
            self.shift += 1;
        } else if self.has_point {
            self.fraction += 1;
        } else {
            if piece == Piece::Zero && self.first_zero.is_none() {
                self.first_zero = Some(self.whole);
            }
            self.whole += 1;
        }
        if piece == Piece::Zero {
            self.zeros_end = self.whole + self.fraction;
        }
        Ok(())
    }

    fn add_sign(&mut self, piece: Piece) -> Result<()> {
        let name = match piece {
            Piece::Minus => "MI",
            Piece::Plus => "PL",
            Piece::PlusOrMinus => "SG",
            _ => "",
        };
        match piece {
            Piece::Sign => {
                if self.sign.is_some() {
                    return Err(wrong("cannot use \"S\" twice"));
                }
                if self.has_plus || self.has_minus || self.has_brackets {
                    return Err(wrong("cannot use \"S\" and \"PL\"/\"MI\"/\"SG\"/\"PR\" together"));
                }
                self.sign = Some(if self.has_point { Anchor::Behind } else { Anchor::Before });
                if !self.has_point {
                    self.whole_before_sign = self.whole;
                }
            }
            Piece::Brackets => {
                if self.sign.is_some() || self.has_plus || self.has_minus {
                    return Err(wrong("cannot use \"PR\" and \"S\"/\"PL\"/\"MI\"/\"SG\" together"));
                }
                self.has_brackets = true;
            }
            _ => {
                if self.sign.is_some() {
                    return Err(wrong(&format!("cannot use \"S\" and \"{name}\" together")));
                }
                self.has_minus |= piece != Piece::Plus;
                self.has_plus |= piece != Piece::Minus;
            }
        }
        Ok(())
    }

    fn add_exponent(&mut self) -> Result<()> {
        if self.has_exponent {
            return Err(wrong("cannot use \"EEEE\" twice"));
        }
        let has_signs = self.sign.is_some() || self.has_brackets || self.has_minus || self.has_plus;
        if self.is_blank || self.is_bare || has_signs || self.is_roman || self.is_shifted {
            return Err(wrong("\"EEEE\" is incompatible with other formats")
                .detail("\"EEEE\" may only be used together with digit and decimal point patterns."));
        }
        self.has_exponent = true;
        Ok(())
    }
}
