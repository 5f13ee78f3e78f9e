//! An entry and its place in the order: value bytes, then key bytes, compared as one string.
//!
//! ```text
//!   value  80 00 00 2a          (integer 42)      key  80 00 00 07     (integer 7)
//!   entry  80 00 00 2a 80 00 00 07                value length 4
//!   all entries of 42:  80 00 00 2a  <=  entry  <  80 00 00 2b
//! ```
//!
//! 1. No value is a prefix of another (weft_format::key), so comparing value ++ key compares values, then keys, and an
//!    entry's bytes decide its value's length.
//! 2. A border is any byte string: entries below it and from it on. It need not be an entry, nor a whole value.

use std::ops::Bound;

use weft_format::Timestamp;

/// An entry as a reader sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry<'a> {
    /// The indexed columns, in key order ([`weft_format::key`]).
    pub value: &'a [u8],
    /// The row's primary key.
    pub key: &'a [u8],
    /// When the entry was last added; 0 when that is long ago.
    pub ts: Timestamp,
}

/// An entry's bytes, the length of its value, and its timestamp, in a buffer that is used again.
#[derive(Clone, Debug, Default)]
pub(crate) struct EntryBuffer {
    pub(crate) bytes: Vec<u8>,
    pub(crate) value_len: usize,
    pub(crate) ts: Timestamp,
}

impl EntryBuffer {
    pub(crate) fn entry(&self) -> Entry<'_> {
        let (value, key) = self.bytes.split_at(self.value_len);
        Entry { value, key, ts: self.ts }
    }

    pub(crate) fn set(&mut self, bytes: &[u8], value_len: usize, ts: Timestamp) {
        debug_assert!(value_len <= bytes.len(), "a value is the beginning of its entry");
        self.bytes.clear();
        self.bytes.extend_from_slice(bytes);
        self.value_len = value_len;
        self.ts = ts;
    }
}

/// A stretch of entries: from `low` on, below `high` (none: to the end).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) low: Vec<u8>,
    pub(crate) high: Option<Vec<u8>>,
}

impl Span {
    /// The entries whose values lie between two bounds. A bound that is only the beginning of values (the first columns
    /// of several) stands for all values that begin so.
    pub(crate) fn of_values(low: Bound<&[u8]>, high: Bound<&[u8]>) -> Span {
        let (low, nothing) = match low {
            Bound::Unbounded => (Vec::new(), false),
            Bound::Included(value) => (value.to_vec(), false),
            Bound::Excluded(value) => match after_prefix(value) {
                Some(low) => (low, false),
                None => (Vec::new(), true),
            },
        };
        let high = match high {
            _ if nothing => Some(Vec::new()),
            Bound::Unbounded => None,
            Bound::Included(value) => after_prefix(value),
            Bound::Excluded(value) => Some(value.to_vec()),
        };
        Span { low, high }
    }

    /// Whether no entry lies in it.
    pub(crate) fn is_empty(&self) -> bool {
        self.high.as_ref().is_some_and(|high| *high <= self.low)
    }

    /// Whether the entry of these bytes lies below the end.
    pub(crate) fn is_before_end(&self, bytes: &[u8]) -> bool {
        self.high.as_ref().is_none_or(|high| bytes < &high[..])
    }

    /// What two stretches share.
    pub(crate) fn intersect(&self, low: &[u8], high: Option<&[u8]>) -> Span {
        let high = match (&self.high, high) {
            (Some(mine), Some(other)) => Some(other.min(mine).to_vec()),
            (mine, other) => mine.clone().or(other.map(<[u8]>::to_vec)),
        };
        Span { low: low.max(&self.low).to_vec(), high }
    }
}

/// The least byte string above everything that begins with `prefix`; none when there is none.
pub(crate) fn after_prefix(prefix: &[u8]) -> Option<Vec<u8>> {
    let last = prefix.iter().rposition(|&byte| byte != 0xff)?;
    let mut after = prefix[..=last].to_vec();
    after[last] += 1;
    debug_assert!(*after > *prefix && !after.starts_with(prefix), "the end lies behind all that begins so");
    Some(after)
}

/// How many bytes two strings have in common at their beginning.
pub(crate) fn shared_len(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_become_stretches() {
        let span = |low, high| Span::of_values(low, high);
        let all = span(Bound::Unbounded, Bound::Unbounded);
        assert_eq!(all, Span { low: vec![], high: None });
        let point = span(Bound::Included(b"ab"), Bound::Included(b"ab"));
        assert_eq!(point, Span { low: b"ab".to_vec(), high: Some(b"ac".to_vec()) });
        let open = span(Bound::Excluded(&[1, 255]), Bound::Excluded(&[9]));
        assert_eq!(open, Span { low: vec![2], high: Some(vec![9]) });
        assert!(span(Bound::Excluded(&[255, 255]), Bound::Unbounded).is_empty());
        assert!(span(Bound::Excluded(b"a"), Bound::Included(b"a")).is_empty());
        assert_eq!(point.intersect(b"aba", Some(b"abz")), Span { low: b"aba".to_vec(), high: Some(b"abz".to_vec()) });
        assert_eq!(all.intersect(b"", None), all);
        assert_eq!(after_prefix(&[255]), None);
    }
}
