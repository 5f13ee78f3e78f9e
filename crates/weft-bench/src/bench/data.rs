//! The rows of the benchmark, by formula.
//!
//! ```text
//!   mix(i, j) = a 64-bit hash of row i and column j
//!   id = i    col_j = mix(i, j) % 1,000,000    str_j = "s" and mix(i, 100 + j) % 10,000    (j = 1..15)
//! ```
//!
//! `bench/compare.py` has the same formula; both print the sum of col_1 of the first 1,000 rows to be compared.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int32Array, Int64Array, RecordBatch, StringViewArray};
use weft::Value;

/// Integer columns, and string columns.
pub(super) const COLUMNS_EACH: u64 = 15;

/// Rows of a batch that is appended.
pub(super) const BATCH_ROWS: u64 = 65_536;

/// A hash of a row and a column.
pub(super) fn mix(row: u64, column: u64) -> u64 {
    let mut x = row.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(column.wrapping_mul(0xBF58_476D_1CE4_E5B9));
    x ^= x >> 32;
    x = x.wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 29)
}

/// The value of `col_<column>`.
pub(super) fn integer(row: u64, column: u64) -> i64 {
    ((mix(row, column) >> 11) % 1_000_000) as i64
}

/// The value of `str_<column>`.
pub(super) fn string(row: u64, column: u64) -> String {
    format!("s{}", (mix(row, 100 + column) >> 11) % 10_000)
}

/// The statement that makes the table.
pub(super) fn create() -> String {
    let integers = (1..=COLUMNS_EACH).map(|j| format!("col_{j} integer"));
    let strings = (1..=COLUMNS_EACH).map(|j| format!("str_{j} text"));
    let columns: Vec<String> = integers.chain(strings).collect();
    format!("CREATE TABLE t (id bigint PRIMARY KEY, {})", columns.join(", "))
}

/// All column names.
pub(super) fn names() -> Vec<String> {
    let integers = (1..=COLUMNS_EACH).map(|j| format!("col_{j}"));
    let strings = (1..=COLUMNS_EACH).map(|j| format!("str_{j}"));
    std::iter::once("id".to_owned()).chain(integers).chain(strings).collect()
}

/// A row whose key is `id` and whose other values are those of row `of`.
pub(super) fn row(id: u64, of: u64) -> Vec<Value> {
    let integers = (1..=COLUMNS_EACH).map(|j| Value::Int(integer(of, j)));
    let strings = (1..=COLUMNS_EACH).map(|j| Value::Text(string(of, j).into()));
    std::iter::once(Value::Int(id as i64)).chain(integers).chain(strings).collect()
}

/// Rows as one Arrow batch.
pub(super) fn batch(rows: std::ops::Range<u64>) -> RecordBatch {
    let mut columns: Vec<(String, ArrayRef)> = Vec::new();
    columns.push(("id".to_owned(), Arc::new(Int64Array::from_iter_values(rows.clone().map(|i| i as i64)))));
    for j in 1..=COLUMNS_EACH {
        let values = Int32Array::from_iter_values(rows.clone().map(|i| integer(i, j) as i32));
        columns.push((format!("col_{j}"), Arc::new(values)));
    }
    for j in 1..=COLUMNS_EACH {
        let values = StringViewArray::from_iter_values(rows.clone().map(|i| string(i, j)));
        columns.push((format!("str_{j}"), Arc::new(values)));
    }
    RecordBatch::try_from_iter(columns).expect("the columns have the same length")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_formula_does_not_change() {
        let sum: i64 = (0..1_000).map(|row| integer(row, 1)).sum();
        assert_eq!((sum, string(7, 3).as_str()), FIRST_ROWS, "bench/compare.py has the same numbers");
    }

    /// What `bench/compare.py` asserts as well.
    const FIRST_ROWS: (i64, &str) = (500_843_356, "s2296");
}
