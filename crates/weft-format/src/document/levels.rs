//! The alphabet of levels: how far each occurrence of a path got, and where arrays end.
//!
//! ```text
//!   path games[].title           {"games": [{"title": "NBA"}, {}]}   {"games": []}   {}
//!   depths    0    1  2  3        String Stop(3) End(0)               Stop(1)         Stop(1)
//! ```
//!
//! Every path that can hold something else than one kind of container has a stream of levels. An occurrence of the path
//! adds its *tag*, what is there. Where the path ends early, at depth `k`, it adds `Stop(k)`: the value at depth `k` is
//! missing, or is not of the kind that the path goes on from. An array with elements adds `End(j)` behind them, `j`
//! counting the arrays around it; the end of an outer array stands for those of the inner ones that end there too.
//!
//! 1. A stream has for every row one `Stop`, or one tag, or (where an array has elements) what the elements add and one
//!    `End`; it is read from front to back without any other.
//! 2. Levels of all paths have the same numbers: siblings that occur together have equal streams, which are stored
//!    once.
//!
//! Source: Alkowaileet and Carey, "Columnar Formats for Schemaless LSM-based Document Stores" (VLDB 2022), section 3.1:
//! definition levels with delimiters in place of repetition levels. There one number is a level or a delimiter by where
//! it stands, and each branch of a union has levels of its own; here the alphabet says which it is, and a path has one
//! stream for all branches, so that null, missing, empty and each type are told apart by the path alone.

/// What is at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Tag {
    /// null
    Null = 0,
    /// false
    False = 1,
    /// true
    True = 2,
    /// A number of at most 18 digits.
    Number = 3,
    /// Another number, as text.
    Numeral = 4,
    /// A string.
    String = 5,
    /// `{}`
    EmptyObject = 6,
    /// `[]`
    EmptyArray = 7,
    /// An object with members.
    Object = 8,
    /// An array with elements.
    Array = 9,
    /// A value that was not taken apart: its text.
    Raw = 10,
}

/// How many tags there are.
pub(crate) const TAG_COUNT: usize = 11;
/// The number of `Stop(0)`.
pub(crate) const STOP: u16 = 16;
/// Paths have fewer steps: values that are nested deeper are kept as texts.
pub(crate) const DEPTH_MAX: usize = 64;

impl Tag {
    /// Every tag.
    pub const ALL: [Tag; TAG_COUNT] = [
        Tag::Null,
        Tag::False,
        Tag::True,
        Tag::Number,
        Tag::Numeral,
        Tag::String,
        Tag::EmptyObject,
        Tag::EmptyArray,
        Tag::Object,
        Tag::Array,
        Tag::Raw,
    ];

    /// Tags with values of their own, in the order of a path's columns.
    pub(crate) const WITH_VALUES: [Tag; 4] = [Tag::Number, Tag::Numeral, Tag::String, Tag::Raw];

    /// The place of its values among a path's columns.
    #[inline]
    pub(crate) fn column(self) -> Option<usize> {
        match self {
            Tag::Number => Some(0),
            Tag::Numeral => Some(1),
            Tag::String => Some(2),
            Tag::Raw => Some(3),
            _ => None,
        }
    }

    pub(crate) fn bit(self) -> u16 {
        1 << self as u16
    }
}

/// One level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    Tag(Tag),
    /// The path stops at this depth.
    Stop(usize),
    /// The end of the array with so many arrays around it.
    End(usize),
}

impl Level {
    #[inline]
    pub(crate) const fn code(self) -> u16 {
        match self {
            Level::Tag(tag) => tag as u16,
            Level::Stop(depth) => STOP + 2 * depth as u16,
            Level::End(array) => STOP + 1 + 2 * array as u16,
        }
    }

    #[inline]
    pub(crate) fn of_code(code: u16) -> Option<Level> {
        if code < STOP {
            return Tag::ALL.get(usize::from(code)).copied().map(Level::Tag);
        }
        let number = usize::from((code - STOP) / 2);
        match code % 2 {
            _ if number > DEPTH_MAX => None,
            0 => Some(Level::Stop(number)),
            _ => Some(Level::End(number)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_inverse() {
        let numbers = (0..=DEPTH_MAX).flat_map(|number| [Level::Stop(number), Level::End(number)]);
        for level in Tag::ALL.map(Level::Tag).into_iter().chain(numbers) {
            assert_eq!(Level::of_code(level.code()), Some(level));
        }
        assert_eq!(Level::of_code(11), None);
        assert_eq!(Level::of_code(STOP + 2 * DEPTH_MAX as u16 + 2), None);
    }
}
