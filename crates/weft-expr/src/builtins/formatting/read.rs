//! Texts by a template: what each field of it says.
//!
//! ```text
//!   '9 Mar 2024 2:30 PM' by 'DD Mon YYYY HH:MI AM'    Said { day: 9, month: 3, year: 2024, hour: 2, is_pm: 1, ... }
//!   '20240309' by 'YYYYMMDD'                          a number that digits follow has as many as its keyword
//! ```
//!
//! 1. A blank or separator of the template fits any blank or separator of the text, or none; with FX any letter.
//! 2. What no template asks for any more is left alone; a text that ends early says less.
//! 3. A field that is said twice says the same, but for zero.

use weft_format::{Code, Error, Result};

use super::moments::{DAYS, MONTHS};
use super::pattern::{Dots, Field, Item, Node, is_blank, is_separator};
use super::roman;
use crate::text::shorten;

/// What a text says; zero stands for what it does not say.
#[derive(Clone, Debug, Default)]
pub(super) struct Said {
    pub(super) calendar: Option<Calendar>,
    pub(super) hour: i32,
    pub(super) has_half: bool,
    pub(super) is_pm: i32,
    pub(super) minute: i32,
    pub(super) second: i32,
    pub(super) day_seconds: i32,
    pub(super) millis: i32,
    pub(super) micros: i32,
    /// Digits of a second that count.
    pub(super) fraction_digits: u8,
    /// From Sunday = 1.
    pub(super) weekday: i32,
    pub(super) day: i32,
    pub(super) day_of_year: i32,
    pub(super) month: i32,
    pub(super) year: i32,
    /// Whether the year has one or two digits, so that a century says the rest.
    pub(super) is_year_short: bool,
    pub(super) is_bc: i32,
    pub(super) week: i32,
    pub(super) week_of_month: i32,
    pub(super) century: i32,
    pub(super) julian: i32,
    /// 1 east, -1 west of UTC, 0 when there is no offset.
    pub(super) zone_sign: i32,
    pub(super) zone_hours: i32,
    pub(super) zone_minutes: i32,
}

/// How days are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Calendar {
    Gregorian,
    IsoWeeks,
}

impl Calendar {
    fn of(field: Field) -> Option<Calendar> {
        Some(match field {
            Field::IsoDayOfYear | Field::IsoWeekday | Field::IsoWeek | Field::IsoYear(_) => Calendar::IsoWeeks,
            Field::DayOfYear
            | Field::Day
            | Field::Weekday
            | Field::Month
            | Field::MonthName(_)
            | Field::MonthShort(_)
            | Field::MonthRoman(_)
            | Field::Week
            | Field::WeekOfMonth
            | Field::YearComma
            | Field::Year(_) => Calendar::Gregorian,
            _ => return None,
        })
    }
}

fn wrong(message: impl Into<String>) -> Error {
    Error::new(Code::InvalidDatetime, message)
}

/// Reads a text by a template.
pub(super) fn read(text: &str, nodes: &[Node]) -> Result<Said> {
    let mut reader = Reader { text, at: 0, extra: 0, is_exact: false, said: Said::default() };
    for (index, node) in nodes.iter().enumerate() {
        if reader.rest().is_empty() {
            break;
        }
        let starts_exact = matches!(node, Node::Field(item) if item.field() == Field::Exact);
        if !reader.is_exact && !starts_exact && (index == 0 || matches!(node, Node::Field(_))) {
            reader.extra += reader.skip_blanks();
        }
        match node {
            Node::Separator(_) | Node::Space(_) => reader.separator(),
            Node::Text(_) => reader.letter(),
            Node::Field(item) => {
                let takes_all = item.is_bare || ends_number(*item, nodes.get(index + 1));
                reader.field(Slot { item: *item, takes_all })?;
                if !reader.is_exact {
                    reader.extra = reader.skip_blanks();
                }
            }
        }
    }
    Ok(reader.said)
}

/// Reads all of a text by all of a template, whose separators and letters stand for themselves.
pub(super) fn read_standard(text: &str, nodes: &[Node]) -> Result<Said> {
    let mut reader = Reader { text, at: 0, extra: 0, is_exact: true, said: Said::default() };
    for (index, node) in nodes.iter().enumerate() {
        if reader.rest().is_empty() {
            return Err(wrong("input string is too short for datetime format"));
        }
        match node {
            Node::Field(item) => {
                let takes_all = item.is_bare || ends_number(*item, nodes.get(index + 1));
                reader.field(Slot { item: *item, takes_all })?;
            }
            Node::Separator(letter) | Node::Space(letter) | Node::Text(letter)
                if reader.rest().starts_with(*letter) =>
            {
                reader.skip_letter();
            }
            Node::Separator(letter) | Node::Space(letter) => {
                return Err(wrong(format!("unmatched format separator \"{letter}\"")));
            }
            Node::Text(letter) => return Err(wrong(format!("unmatched format character \"{letter}\""))),
        }
    }
    reader.skip_blanks();
    match reader.rest() {
        "" => Ok(reader.said),
        _ => Err(wrong("trailing characters remain in input string after datetime format")),
    }
}

/// Whether a number ends where its digits end, since no digits follow it.
fn ends_number(item: Item, next: Option<&Node>) -> bool {
    item.ordinal.is_some()
        || match next {
            None => true,
            Some(Node::Field(next)) => !next.field().is_digits(),
            Some(Node::Separator(letter) | Node::Space(letter) | Node::Text(letter)) => !letter.is_ascii_digit(),
        }
}

/// A field at its place.
#[derive(Clone, Copy)]
struct Slot {
    item: Item,
    /// Whether its number has any digits, not those of its keyword.
    takes_all: bool,
}

struct Reader<'a> {
    text: &'a str,
    /// Bytes that are read.
    at: usize,
    /// Blanks and separators that were skipped beyond those of the template.
    extra: i64,
    is_exact: bool,
    said: Said,
}

/// Sets a part of what is said.
fn set(part: &mut i32, value: i32, item: Item) -> Result<()> {
    if *part != 0 && *part != value {
        let message = format!("conflicting values for \"{}\" field in formatting string", item.name());
        return Err(wrong(message).detail("This value contradicts a previous setting for the same field type."));
    }
    *part = value;
    Ok(())
}

/// The number at the start of a text as C reads it: the value, and the bytes up to its end, 0 if there is none.
fn leading_number(text: &str) -> (i64, usize) {
    let blanks = text.len() - text.trim_start_matches(is_blank).len();
    let signed = &text.as_bytes()[blanks..];
    let sign = usize::from(matches!(signed.first(), Some(b'+' | b'-')));
    let digits = signed[sign..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    if digits == 0 {
        return (0, 0);
    }
    let digit = |value: i64, byte: &u8| value.saturating_mul(10).saturating_add(i64::from(byte - b'0'));
    let value = signed[sign..sign + digits].iter().fold(0, digit);
    (if signed[0] == b'-' { -value } else { value }, blanks + sign + digits)
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    /// Skips blanks, and says how many there were.
    fn skip_blanks(&mut self) -> i64 {
        let rest = self.rest();
        let count = rest.len() - rest.trim_start_matches(is_blank).len();
        self.at += count;
        count as i64
    }

    fn skip_letter(&mut self) {
        self.at += self.rest().chars().next().map_or(0, char::len_utf8);
    }

    /// A blank or separator of the template.
    fn separator(&mut self) {
        let fits = self.rest().starts_with(|letter| is_blank(letter) || is_separator(letter));
        if self.is_exact {
            self.skip_letter();
        } else if fits {
            self.at += 1;
        } else {
            self.extra -= 1;
        }
    }

    /// Another letter of the template: it stands for any, unless more was skipped before.
    fn letter(&mut self) {
        if !self.is_exact && self.extra > 0 {
            self.extra -= 1;
        } else {
            self.skip_letter();
        }
    }

    fn field(&mut self, slot: Slot) -> Result<()> {
        let field = slot.item.field();
        if let Some(calendar) = Calendar::of(field)
            && self.said.calendar.replace(calendar).is_some_and(|known| known != calendar)
        {
            return Err(wrong("invalid combination of date conventions")
                .hint("Do not mix Gregorian and ISO week date conventions in a formatting template."));
        }
        match field {
            Field::Exact => {
                self.is_exact = true;
                return Ok(());
            }
            Field::Half(..)
            | Field::Era(..)
            | Field::DayName(_)
            | Field::DayShort(_)
            | Field::MonthName(_)
            | Field::MonthShort(_)
            | Field::MonthRoman(_) => return self.word_field(slot.item, field),
            Field::Zone(_) | Field::Offset => {
                let message = format!("formatting field \"{}\" is only supported in to_char", slot.item.name());
                return Err(Error::new(Code::FeatureNotSupported, message));
            }
            Field::ZoneHours | Field::ZoneMinutes => return self.zone_field(slot, field),
            Field::Millis | Field::Micros | Field::Fraction(_) => self.fraction_field(slot, field)?,
            Field::Year(_) | Field::IsoYear(_) | Field::YearComma => self.year_field(slot, field)?,
            _ => self.number_field(slot, field)?,
        }
        if slot.item.ordinal.is_some() {
            self.skip_letter();
            self.skip_letter();
        }
        Ok(())
    }

    /// Fields that are a word.
    fn word_field(&mut self, item: Item, field: Field) -> Result<()> {
        match field {
            Field::Half(_, dots) => {
                let words: &[&str] = if dots == Dots::With { &["a.m.", "p.m."] } else { &["am", "pm"] };
                let at = self.word(words, usize::MAX, item)?;
                self.said.has_half = true;
                set(&mut self.said.is_pm, at, item)
            }
            Field::Era(_, dots) => {
                let words: &[&str] = if dots == Dots::With { &["a.d.", "b.c."] } else { &["ad", "bc"] };
                let at = self.word(words, usize::MAX, item)?;
                set(&mut self.said.is_bc, at, item)
            }
            Field::DayName(_) | Field::DayShort(_) => {
                let chars = if matches!(field, Field::DayShort(_)) { 3 } else { usize::MAX };
                let at = self.word(&DAYS, chars, item)?;
                set(&mut self.said.weekday, at, item)?;
                self.said.weekday = at + 1;
                Ok(())
            }
            Field::MonthName(_) | Field::MonthShort(_) => {
                let chars = if matches!(field, Field::MonthShort(_)) { 3 } else { usize::MAX };
                let at = self.word(&MONTHS, chars, item)?;
                set(&mut self.said.month, at + 1, item)
            }
            _ => {
                // XII before XI: the last that fits.
                let month = self.last_word(&roman::MONTHS, item)?;
                set(&mut self.said.month, month + 1, item)
            }
        }
    }

    fn starts_with(&self, word: &str) -> bool {
        self.rest().as_bytes().get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word.as_bytes()))
    }

    /// The place of the word that the text has here; of each word so many letters count.
    fn word(&mut self, words: &[&str], chars: usize, item: Item) -> Result<i32> {
        let short = |word: &&str| self.starts_with(&word[..word.len().min(chars)]);
        let at = words.iter().position(short).ok_or_else(|| self.no_word(item))?;
        self.at += words[at].len().min(chars);
        Ok(at as i32)
    }

    /// The place of the last word that the text has here.
    fn last_word(&mut self, words: &[&str], item: Item) -> Result<i32> {
        let at = words.iter().rposition(|word| self.starts_with(word)).ok_or_else(|| self.no_word(item))?;
        self.at += words[at].len();
        Ok(at as i32)
    }

    fn no_word(&self, item: Item) -> Error {
        let word = self.rest().split([' ', '\t', '\n', '\r', '\x0c']).next().unwrap_or_default();
        wrong(format!("invalid value \"{}\" for \"{}\"", shorten(word), item.name()))
            .detail("The given value did not match any of the allowed values for this field.")
    }

    /// A number of so many digits, unless no digits follow it; and the bytes that it took.
    fn number(&mut self, length: usize, slot: Slot) -> Result<(i32, usize)> {
        let start = self.at;
        let from_start = self.rest();
        self.skip_blanks();
        let rest = self.rest();
        let name = slot.item.name();
        let mut end = rest.len().min(length);
        while !rest.is_char_boundary(end) {
            end -= 1;
        }
        let invalid = || wrong(format!("invalid value \"{}\" for \"{name}\"", &rest[..end]));
        let fixed = || "If your source string is not fixed-width, try using the \"FM\" modifier.";
        let value;
        if slot.takes_all {
            let (number, used) = leading_number(from_start);
            (value, self.at) = (number, start + used);
        } else {
            if rest.len() < length {
                let message = format!("source string too short for \"{name}\" formatting field");
                let detail = format!("Field requires {length} characters, but only {} remain.", rest.len());
                return Err(wrong(message).detail(detail).hint(fixed()));
            }
            let (number, used) = leading_number(&rest[..end]);
            if used > 0 && used < length {
                let detail = format!("Field requires {length} characters, but only {used} could be parsed.");
                return Err(invalid().detail(detail).hint(fixed()));
            }
            value = number;
            self.at += used;
        }
        if self.at == start {
            return Err(invalid().detail("Value must be an integer."));
        }
        let value = i32::try_from(value).map_err(|_| {
            let message = format!("value for \"{name}\" in source string is out of range");
            let detail = format!("Value must be in the range {} to {}.", i32::MIN, i32::MAX);
            Error::new(Code::DatetimeOverflow, message).detail(detail)
        })?;
        Ok((value, self.at - start))
    }

    /// Fields that are a number as it stands.
    fn number_field(&mut self, slot: Slot, field: Field) -> Result<()> {
        let length = match field {
            Field::Hour12 | Field::Hour24 => 2,
            Field::IsoDayOfYear => 3,
            Field::IsoWeekday => 1,
            _ => slot.item.name().len(),
        };
        let (value, _) = self.number(length, slot)?;
        let said = &mut self.said;
        let part = match field {
            Field::Hour12 | Field::Hour24 => &mut said.hour,
            Field::Minute => &mut said.minute,
            Field::Second => &mut said.second,
            Field::DaySeconds => &mut said.day_seconds,
            Field::Month => &mut said.month,
            Field::DayOfYear | Field::IsoDayOfYear => &mut said.day_of_year,
            Field::Day => &mut said.day,
            Field::Weekday | Field::IsoWeekday => &mut said.weekday,
            Field::Week | Field::IsoWeek => &mut said.week,
            Field::Century => &mut said.century,
            Field::WeekOfMonth => &mut said.week_of_month,
            Field::Julian => &mut said.julian,
            // A quarter is read, and says nothing: which of its days would it be?
            _ => return Ok(()),
        };
        set(part, value, slot.item)?;
        match field {
            Field::Hour12 => said.has_half = true,
            // Monday = 1 becomes Monday = 2.
            Field::IsoWeekday => said.weekday = if value >= 7 { 1 } else { value.saturating_add(1) },
            _ => {}
        }
        Ok(())
    }

    /// Parts of a second: `5` is five tenths, `05` five hundredths.
    fn fraction_field(&mut self, slot: Slot, field: Field) -> Result<()> {
        let length = match field {
            Field::Millis => 3,
            Field::Fraction(digits) => {
                self.said.fraction_digits = digits;
                usize::from(digits)
            }
            _ => 6,
        };
        let (value, used) = self.number(length, slot)?;
        let scale = |places: usize| 10_i32.pow(places.saturating_sub(used) as u32);
        if field == Field::Millis {
            set(&mut self.said.millis, value, slot.item)?;
            self.said.millis = value.wrapping_mul(scale(3));
        } else {
            set(&mut self.said.micros, value, slot.item)?;
            self.said.micros = value.wrapping_mul(scale(6));
        }
        Ok(())
    }

    fn year_field(&mut self, slot: Slot, field: Field) -> Result<()> {
        let value = match field {
            Field::YearComma => self.year_with_comma()?,
            _ => {
                let length = slot.item.name().len();
                let (value, used) = self.number(length, slot)?;
                if length < 4 && used < 4 {
                    set(&mut self.said.year, value, slot.item)?;
                    self.said.year = near_2020(value);
                    self.said.is_year_short = length <= 2;
                    return Ok(());
                }
                value
            }
        };
        set(&mut self.said.year, value, slot.item)?;
        self.said.is_year_short = matches!(field, Field::Year(1 | 2) | Field::IsoYear(1 | 2));
        Ok(())
    }

    /// `2,024`: thousands, and three digits at most.
    fn year_with_comma(&mut self) -> Result<i32> {
        let invalid = || wrong("invalid input string for \"Y,YYY\"");
        let (thousands, used) = leading_number(self.rest());
        let behind = self.rest()[used..].strip_prefix(',').filter(|_| used > 0).ok_or_else(invalid)?;
        let blanks = behind.len() - behind.trim_start_matches(is_blank).len();
        let mut end = behind.len().min(blanks + 3);
        while !behind.is_char_boundary(end) {
            end -= 1;
        }
        let (years, years_used) = leading_number(&behind[..end]);
        if years_used == 0 {
            return Err(invalid());
        }
        self.at += used + 1 + years_used;
        let year = thousands.saturating_mul(1000).saturating_add(years);
        Ok(year.clamp(i32::MIN.into(), i32::MAX.into()) as i32)
    }

    /// TZH with its sign, which may have been taken for a separator, and TZM.
    fn zone_field(&mut self, slot: Slot, field: Field) -> Result<()> {
        if field == Field::ZoneMinutes {
            if self.said.zone_sign == 0 {
                self.said.zone_sign = 1;
            }
            let (value, _) = self.number(2, slot)?;
            return set(&mut self.said.zone_minutes, value, slot.item);
        }
        let is_minus = |byte: Option<&u8>| byte == Some(&b'-');
        let first = self.rest().as_bytes().first();
        let is_west = if matches!(first, Some(b'+' | b'-' | b' ')) {
            self.at += 1;
            is_minus(first)
        } else {
            self.extra > 0 && self.at > 0 && is_minus(self.text.as_bytes().get(self.at - 1))
        };
        self.said.zone_sign = if is_west { -1 } else { 1 };
        let (value, _) = self.number(2, slot)?;
        set(&mut self.said.zone_hours, value, slot.item)
    }
}

/// A year of fewer than four digits: the one that is nearest to 2020.
fn near_2020(year: i32) -> i32 {
    match year {
        ..70 => year.saturating_add(2000),
        70..100 => year + 1900,
        100..520 => year + 2000,
        520..1000 => year + 1000,
        _ => year,
    }
}
