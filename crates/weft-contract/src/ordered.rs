//! Rows in the order of their keys, as many as are wanted.
//!
//! ```text
//!   WHERE a = 7 AND b >= 3 ORDER BY b LIMIT 2, key (a, b)     (7, 3) (7, 5), and there may be more
//!   from there on                                             behind (7, 5): (7, 8), and there are no more
//! ```

use weft_format::{KeyRange, Result, RowCodec, Timestamp, Value};

/// Which way keys come, or the entries of an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// They ascend.
    Forward,
    /// They descend.
    Backward,
}

impl Direction {
    /// What of a range comes behind a key.
    pub fn rest(self, range: KeyRange, key: &[u8]) -> KeyRange {
        match self {
            Direction::Forward => range.behind(key),
            Direction::Backward => range.before(key),
        }
    }

    /// Whether a key comes before another.
    pub fn is_before(self, key: &[u8], other: &[u8]) -> bool {
        match self {
            Direction::Forward => key < other,
            Direction::Backward => key > other,
        }
    }
}

/// Rows one behind the other: the key of each, and the values of some columns.
#[derive(Debug, Default)]
pub struct OrderedRows {
    /// Their keys.
    pub keys: Vec<Vec<u8>>,
    /// As many values for each.
    pub values: Vec<Value>,
}

impl OrderedRows {
    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// The memory of the values from one on, about, bytes.
    pub fn bytes_from(&self, value: usize) -> usize {
        let heap = |value: &Value| match value {
            Value::Text(text) => text.len(),
            Value::Bytes(bytes) => bytes.len(),
            Value::Array(array) => array.as_bytes().len(),
            _ => 0,
        };
        self.values[value..].iter().map(|value| heap(value) + size_of::<Value>()).sum()
    }
}

/// The rows that are wanted of a range of keys.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    /// The rows of these keys,
    pub range: &'a KeyRange,
    /// from this end on,
    pub direction: Direction,
    /// at most so many.
    pub limit: usize,
    /// What is seen of them.
    pub read_ts: Timestamp,
    /// Ordinals of the columns that are wanted, which are those of the reader's codec.
    pub columns: &'a [usize],
}

/// How far one call goes, whatever is wanted: it looks at so many versions beside the rows that it gives,
pub const LOOKS_MAX: usize = 4096;
/// and gives so many bytes, about, and the row that goes beyond.
pub const ORDERED_BYTES_MAX: usize = 1 << 20;

/// Gives out rows by their keys, from any key on.
pub trait Ordered: Send + Sync {
    /// Adds the first rows of a range: as many as are wanted, or fewer, even none, where the call has gone far enough.
    /// Returns the last key that it looked at, behind which the range goes on; none: there is no more of it. What a
    /// call costs does not grow with the table. Own writes are the caller's business.
    fn read_first(&self, codec: &RowCodec, wanted: Wanted<'_>, rows: &mut OrderedRows) -> Result<Option<Vec<u8>>>;
}
