//! The tables of the paper: an integer key, 15 integers, 15 strings; their rows by formula.
//!
//! ```text
//!   row 7 of table_1     col_0 = 7   col_1 = integer(7, 1) ... col_15   col_16 = string(7, 1) = "s6190" ... col_30
//!   row of 4 KB          the strings are 268 letters of words, four by each mix(7, 1,000 · k + j), k = 1, 2, ...
//!                        a word's number is the product of two bytes / 256: few are frequent, as in people's texts
//!   scattered(0..N)      0..N in an order in which neighbours are far from each other; each number once
//! ```
//!
//! `bench/synchrostore/data.py` has the same formulas.

use std::ops::Range;
use std::sync::{Arc, LazyLock};

use arrow::array::{ArrayRef, Int32Array, Int64Array, RecordBatch, StringViewArray};
use weft::Value;

use crate::bench::data::{self, COLUMNS_EACH};

/// Bytes of a batch that is appended, about.
const BATCH_BYTES: u64 = 16 << 20;

/// Bytes of a row's key and integers.
const NARROW_BYTES: u64 = 8 + 4 * COLUMNS_EACH;

/// About the bytes of a row of short strings.
const SHORT_ROW_BYTES: u64 = NARROW_BYTES + 5 * COLUMNS_EACH;

/// The 256 words that wide texts are made of, frequent ones first.
fn words() -> &'static [&'static str] {
    static WORDS: LazyLock<Vec<&'static str>> =
        LazyLock::new(|| include_str!("../../../../../bench/words.txt").lines().collect());
    &WORDS
}

/// How wide the rows of a table are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Shape {
    /// Characters of a string; 0: the short ones.
    text_chars: u64,
}

impl Shape {
    /// Rows with strings of 2 to 5 characters.
    pub(super) const SHORT: Shape = Shape { text_chars: 0 };

    /// Rows of about these bytes.
    pub(super) fn of_row_bytes(bytes: u64) -> Shape {
        Shape { text_chars: (bytes.saturating_sub(NARROW_BYTES) / COLUMNS_EACH).max(8) }
    }

    /// About the bytes of a row.
    pub(super) fn row_bytes(self) -> u64 {
        if self.text_chars == 0 { SHORT_ROW_BYTES } else { NARROW_BYTES + self.text_chars * COLUMNS_EACH }
    }

    /// Rows that are appended at once.
    pub(super) fn batch_rows(self) -> u64 {
        (BATCH_BYTES / self.row_bytes()).min(data::BATCH_ROWS)
    }

    fn text(self, row: u64, column: u64) -> String {
        if self.text_chars == 0 {
            return data::string(row, column);
        }
        let mut text = String::with_capacity(self.text_chars as usize + 16);
        for four in 1.. {
            if text.len() as u64 >= self.text_chars {
                break;
            }
            for [left, right] in data::mix(row, 1_000 * four + column).to_be_bytes().as_chunks().0 {
                text.push_str(words()[usize::from(*left) * usize::from(*right) / 256]);
                text.push(' ');
            }
        }
        text.truncate(self.text_chars as usize);
        text
    }

    /// The value of column `col_<column>` in row `of`.
    pub(super) fn value(self, of: u64, column: u64) -> Value {
        if column <= COLUMNS_EACH {
            Value::Int(data::integer(of, column))
        } else {
            Value::Text(self.text(of, column - COLUMNS_EACH).into())
        }
    }

    /// A row whose key is `key` and whose other values are those of row `of`.
    pub(super) fn row(self, key: u64, of: u64) -> Vec<Value> {
        let values = (1..=2 * COLUMNS_EACH).map(|column| self.value(of, column));
        std::iter::once(Value::Int(key as i64)).chain(values).collect()
    }

    /// Rows as one Arrow batch.
    pub(super) fn batch(self, rows: Range<u64>) -> RecordBatch {
        let keys: ArrayRef = Arc::new(Int64Array::from_iter_values(rows.clone().map(|row| row as i64)));
        let integers = (1..=COLUMNS_EACH).map(|j| -> ArrayRef {
            Arc::new(Int32Array::from_iter_values(rows.clone().map(|row| data::integer(row, j) as i32)))
        });
        let texts = (1..=COLUMNS_EACH).map(|j| -> ArrayRef {
            Arc::new(StringViewArray::from_iter_values(rows.clone().map(|row| self.text(row, j))))
        });
        let columns = std::iter::once(keys).chain(integers).chain(texts).enumerate();
        RecordBatch::try_from_iter(columns.map(|(number, column)| (format!("col_{number}"), column)))
            .expect("the columns have the same length")
    }
}

/// The statement that makes a table; `with` is its end.
pub(super) fn create(table: &str, with: &str) -> String {
    let integers = (1..=COLUMNS_EACH).map(|j| format!("col_{j} integer"));
    let texts = (COLUMNS_EACH + 1..=2 * COLUMNS_EACH).map(|j| format!("col_{j} text"));
    let columns: Vec<String> = integers.chain(texts).collect();
    format!("CREATE TABLE {table} (col_0 bigint PRIMARY KEY, {}){with}", columns.join(", "))
}

/// The number at place `at` of `0..count` when it is scattered.
///
/// Multiplications by odd numbers and shifts permute the numbers below a power of two; what is not below `count` is
/// permuted again until it is.
pub(super) fn scattered(at: u64, count: u64) -> u64 {
    assert!(at < count, "{at} is one of {count}");
    let bits = (64 - (count - 1).leading_zeros()).max(2);
    let (mask, shift) = (u64::MAX >> (64 - bits), bits / 2);
    let mut number = at;
    loop {
        number = number.wrapping_mul(0x9E37_79B9_7F4A_7C15) & mask;
        number ^= number >> shift;
        number = number.wrapping_mul(0xBF58_476D_1CE4_E5B9) & mask;
        number ^= number >> shift;
        if number < count {
            return number;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_formulas_do_not_change() {
        let wide = Shape::of_row_bytes(4096);
        let text = wide.text(7, 3);
        assert_eq!((wide.text_chars, text.len(), &text[..20]), (268, 268, WIDE_7_3), "synchrostore/data.py");
        assert_eq!(Shape::SHORT.text(7, 3), "s2296");
        let places: Vec<u64> = (0..8).map(|at| scattered(at, 1000)).collect();
        assert_eq!(places, SCATTERED, "synchrostore/data.py has the same numbers");
    }

    const WIDE_7_3: &str = "hand some as a both ";
    const SCATTERED: [u64; 8] = [0, 44, 515, 728, 39, 654, 847, 31];

    #[test]
    fn every_number_has_one_place() {
        for count in [1, 2, 3, 4, 5, 100, 1023, 1024, 1025, 10_007] {
            let mut numbers: Vec<u64> = (0..count).map(|at| scattered(at, count)).collect();
            numbers.sort_unstable();
            assert!(numbers.into_iter().eq(0..count), "{count}");
        }
    }

    #[test]
    fn batches_have_the_values_of_rows() {
        let batch = Shape::of_row_bytes(1000).batch(5..8);
        assert_eq!((batch.num_rows(), batch.num_columns()), (3, 31));
        assert_eq!(Shape::SHORT.row(9, 7).len(), 31);
        assert_eq!(Shape::SHORT.value(7, 18), Value::Text("s2296".into()));
    }
}
