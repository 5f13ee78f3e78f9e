//! Templates of dates and times: fields with their modifiers, and what stands between them.
//!
//! ```text
//!   FMDDth "de" Mon     Field DD, filled, ordinal | Space | Text d | Text e | Space | Field Mon
//! ```
//!
//! 1. The first keyword of the table that fits is taken: it lists longer ones before their beginnings.
//! 2. A prefix that no keyword follows is dropped.

use std::cell::RefCell;

use weft_format::{Code, Error, Result};

/// The most bytes of a template: what it makes is at most some ten times as long.
const BYTES_MAX: usize = 16 << 20;
/// Templates of at most so many bytes are kept for the next row.
const KEPT_BYTES_MAX: usize = 256;

/// How the letters of a name are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Case {
    Upper,
    Title,
    Lower,
}

/// What a keyword stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field {
    /// AM and PM.
    Half(Case, Dots),
    /// BC and AD.
    Era(Case, Dots),
    Century,
    DayName(Case),
    DayShort(Case),
    DayOfYear,
    Day,
    /// From Sunday = 1.
    Weekday,
    /// So many digits of a second.
    Fraction(u8),
    Millis,
    Micros,
    /// FX: the text has exactly the template's form.
    Exact,
    Hour24,
    Hour12,
    Minute,
    Second,
    DaySeconds,
    IsoDayOfYear,
    /// From Monday = 1.
    IsoWeekday,
    IsoWeek,
    /// Its last digits, so many of them.
    IsoYear(u8),
    Julian,
    Month,
    MonthName(Case),
    MonthShort(Case),
    MonthRoman(Case),
    Offset,
    ZoneHours,
    ZoneMinutes,
    Zone(Case),
    Quarter,
    Week,
    WeekOfMonth,
    YearComma,
    /// Its last digits, so many of them.
    Year(u8),
}

/// Whether `a.m.` is written, or `am`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dots {
    With,
    Without,
}

/// A keyword and what it stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Keyword {
    pub(super) name: &'static str,
    pub(super) field: Field,
}

const fn of(name: &'static str, field: Field) -> Keyword {
    Keyword { name, field }
}

/// All keywords, those with the same first letter in the order in which they are tried.
#[rustfmt::skip]
const KEYWORDS: &[Keyword] = {
    use Case::{Lower, Title, Upper};
    use Dots::{With, Without};
    use Field as F;
    &[
        of("A.D.", F::Era(Upper, With)), of("a.d.", F::Era(Lower, With)),
        of("A.M.", F::Half(Upper, With)), of("a.m.", F::Half(Lower, With)),
        of("AD", F::Era(Upper, Without)), of("ad", F::Era(Lower, Without)),
        of("AM", F::Half(Upper, Without)), of("am", F::Half(Lower, Without)),
        of("B.C.", F::Era(Upper, With)), of("b.c.", F::Era(Lower, With)),
        of("BC", F::Era(Upper, Without)), of("bc", F::Era(Lower, Without)),
        of("CC", F::Century), of("cc", F::Century),
        of("DAY", F::DayName(Upper)), of("day", F::DayName(Lower)),
        of("DDD", F::DayOfYear), of("ddd", F::DayOfYear),
        of("DD", F::Day), of("dd", F::Day),
        of("DY", F::DayShort(Upper)), of("dy", F::DayShort(Lower)),
        of("Day", F::DayName(Title)), of("Dy", F::DayShort(Title)),
        of("D", F::Weekday), of("d", F::Weekday),
        of("FF1", F::Fraction(1)), of("ff1", F::Fraction(1)),
        of("FF2", F::Fraction(2)), of("ff2", F::Fraction(2)),
        of("FF3", F::Fraction(3)), of("ff3", F::Fraction(3)),
        of("FF4", F::Fraction(4)), of("ff4", F::Fraction(4)),
        of("FF5", F::Fraction(5)), of("ff5", F::Fraction(5)),
        of("FF6", F::Fraction(6)), of("ff6", F::Fraction(6)),
        of("FX", F::Exact), of("fx", F::Exact),
        of("HH24", F::Hour24), of("hh24", F::Hour24),
        of("HH12", F::Hour12), of("hh12", F::Hour12),
        of("HH", F::Hour12), of("hh", F::Hour12),
        of("IDDD", F::IsoDayOfYear), of("iddd", F::IsoDayOfYear),
        of("ID", F::IsoWeekday), of("id", F::IsoWeekday),
        of("IW", F::IsoWeek), of("iw", F::IsoWeek),
        of("IYYY", F::IsoYear(4)), of("iyyy", F::IsoYear(4)),
        of("IYY", F::IsoYear(3)), of("iyy", F::IsoYear(3)),
        of("IY", F::IsoYear(2)), of("iy", F::IsoYear(2)),
        of("I", F::IsoYear(1)), of("i", F::IsoYear(1)),
        of("J", F::Julian), of("j", F::Julian),
        of("MI", F::Minute), of("mi", F::Minute),
        of("MM", F::Month), of("mm", F::Month),
        of("MONTH", F::MonthName(Upper)), of("month", F::MonthName(Lower)),
        of("MON", F::MonthShort(Upper)), of("mon", F::MonthShort(Lower)),
        of("MS", F::Millis), of("ms", F::Millis),
        of("Month", F::MonthName(Title)), of("Mon", F::MonthShort(Title)),
        of("OF", F::Offset), of("of", F::Offset),
        of("P.M.", F::Half(Upper, With)), of("p.m.", F::Half(Lower, With)),
        of("PM", F::Half(Upper, Without)), of("pm", F::Half(Lower, Without)),
        of("Q", F::Quarter), of("q", F::Quarter),
        of("RM", F::MonthRoman(Upper)), of("rm", F::MonthRoman(Lower)),
        of("SSSSS", F::DaySeconds), of("sssss", F::DaySeconds),
        of("SSSS", F::DaySeconds), of("ssss", F::DaySeconds),
        of("SS", F::Second), of("ss", F::Second),
        of("TZH", F::ZoneHours), of("tzh", F::ZoneHours),
        of("TZM", F::ZoneMinutes), of("tzm", F::ZoneMinutes),
        of("TZ", F::Zone(Upper)), of("tz", F::Zone(Lower)),
        of("US", F::Micros), of("us", F::Micros),
        of("WW", F::Week), of("ww", F::Week),
        of("W", F::WeekOfMonth), of("w", F::WeekOfMonth),
        of("Y,YYY", F::YearComma), of("y,yyy", F::YearComma),
        of("YYYY", F::Year(4)), of("yyyy", F::Year(4)),
        of("YYY", F::Year(3)), of("yyy", F::Year(3)),
        of("YY", F::Year(2)), of("yy", F::Year(2)),
        of("Y", F::Year(1)), of("y", F::Year(1)),
    ]
};

/// A keyword with its modifiers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Item {
    /// Its place in the table, of fewer than 256.
    at: u8,
    /// FM: without the blanks and zeros that fill it up.
    pub(super) is_bare: bool,
    /// TM: a name of the session's language, which is English, without the blanks that fill it up.
    pub(super) is_local: bool,
    /// th and TH: an ordinal number.
    pub(super) ordinal: Option<Case>,
}

/// A piece of a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Node {
    Field(Item),
    /// ASCII that is no letter, digit or blank.
    Separator(char),
    Space(char),
    Text(char),
}

impl Item {
    pub(super) fn field(self) -> Field {
        KEYWORDS[usize::from(self.at)].field
    }

    /// The keyword as it stands in the template.
    pub(super) fn name(self) -> &'static str {
        KEYWORDS[usize::from(self.at)].name
    }
}

impl Field {
    /// Whether a text has digits for it, so that a number before it ends where its digits are counted.
    pub(super) fn is_digits(self) -> bool {
        !matches!(
            self,
            Field::Half(..)
                | Field::Era(..)
                | Field::DayName(_)
                | Field::DayShort(_)
                | Field::MonthName(_)
                | Field::MonthShort(_)
                | Field::MonthRoman(_)
                | Field::Exact
                | Field::Offset
                | Field::ZoneHours
                | Field::Zone(_)
        )
    }
}

thread_local! {
    /// The template of the last call, and its pieces.
    static LAST: RefCell<(String, Vec<Node>)> = const { RefCell::new((String::new(), Vec::new())) };
}

/// Gives the pieces of a template, those of the last call again if it is the same.
pub(super) fn with_nodes<T>(pattern: &str, then: impl FnOnce(&[Node]) -> Result<T>) -> Result<T> {
    check_length(pattern)?;
    if pattern.len() > KEPT_BYTES_MAX {
        let mut nodes = Vec::new();
        parse(pattern, &mut nodes);
        return then(&nodes);
    }
    LAST.with_borrow_mut(|(last, nodes)| {
        if last != pattern {
            nodes.clear();
            last.clear();
            parse(pattern, nodes);
            last.push_str(pattern);
        }
        then(nodes)
    })
}

/// Refuses templates whose results would be hundreds of megabytes.
pub(super) fn check_length(pattern: &str) -> Result<()> {
    if pattern.len() <= BYTES_MAX {
        return Ok(());
    }
    let message = format!("a template of {} bytes is longer than {BYTES_MAX}", pattern.len());
    Err(Error::new(Code::ProgramLimit, message).hint("format the parts one by one"))
}

/// The pieces of a template of the SQL standard, which has few separators and no other letters but in quotes.
pub(super) fn standard_nodes(pattern: &str) -> Result<Vec<Node>> {
    check_length(pattern)?;
    let mut nodes = Vec::new();
    match parse(pattern, &mut nodes) {
        None => Ok(nodes),
        Some(letter) => {
            let message = format!("invalid datetime format separator: \"{letter}\"");
            Err(Error::new(Code::InvalidDatetime, message))
        }
    }
}

/// Takes a template apart; gives the first letter outside of quotes that is no separator of the SQL standard.
fn parse(pattern: &str, nodes: &mut Vec<Node>) -> Option<char> {
    let mut stray = None;
    let mut rest = pattern;
    while !rest.is_empty() {
        let (mut is_bare, mut is_local) = (false, false);
        if let Some(behind) = after(rest, "FM", "fm") {
            (rest, is_bare) = (behind, true);
        } else if let Some(behind) = after(rest, "TM", "tm") {
            (rest, is_local) = (behind, true);
        }
        let Some(first) = rest.chars().next() else { return stray };
        if let Some(at) = keyword(rest) {
            rest = &rest[KEYWORDS[at].name.len()..];
            let mut ordinal = None;
            if let Some(behind) = rest.strip_prefix("TH") {
                (rest, ordinal) = (behind, Some(Case::Upper));
            } else if let Some(behind) = rest.strip_prefix("th") {
                (rest, ordinal) = (behind, Some(Case::Lower));
            } else if let Some(behind) = rest.strip_prefix("SP") {
                rest = behind;
            }
            nodes.push(Node::Field(Item { at: at as u8, is_bare, is_local, ordinal }));
        } else if first == '"' {
            rest = quoted(&rest[1..], |letter| nodes.push(Node::Text(letter)));
        } else {
            if stray.is_none() && !"-./,':; ".contains(first) {
                stray = Some(first);
            }
            let letter = if rest.starts_with("\\\"") { '"' } else { first };
            rest = &rest[if letter == first { first.len_utf8() } else { 2 }..];
            nodes.push(match letter {
                letter if is_separator(letter) => Node::Separator(letter),
                letter if is_blank(letter) => Node::Space(letter),
                letter => Node::Text(letter),
            });
        }
    }
    stray
}

fn after<'a>(text: &'a str, upper: &str, lower: &str) -> Option<&'a str> {
    text.strip_prefix(upper).or_else(|| text.strip_prefix(lower))
}

fn keyword(text: &str) -> Option<usize> {
    let first = text.as_bytes()[0];
    KEYWORDS.iter().position(|keyword| keyword.name.as_bytes()[0] == first && text.starts_with(keyword.name))
}

/// Takes the letters of a quoted text up to its closing quote, which may be missing; gives what is behind it.
pub(super) fn quoted(text: &str, mut each: impl FnMut(char)) -> &str {
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '"' => break,
            // A backslash quotes what follows it, if something does.
            '\\' => each(letters.next().unwrap_or('\\')),
            letter => each(letter),
        }
    }
    letters.as_str()
}

/// What stands between the parts of a date.
pub(super) fn is_separator(letter: char) -> bool {
    letter.is_ascii_punctuation()
}

/// What C takes for a blank.
pub(super) fn is_blank(letter: char) -> bool {
    matches!(letter, ' ' | '\t'..='\r')
}
