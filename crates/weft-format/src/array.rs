//! A one-dimensional array as bytes whose order under memcmp is the order of arrays.
//!
//! ```text
//!   '{7,NULL}'::integer[]     01 80 00 00 07   02   00        a value: 01 and its key bytes; NULL: 02; the end: 00
//! ```
//!
//! 1. Arrays compare element by element, NULL above every value, and a prefix is below what it begins; so do the bytes:
//!    the end is below every element, and no key is a prefix of another.
//! 2. One array has one spelling; -0.0 is 0.0 and there is one NaN. Intervals, whose keys are their spans, have their
//!    months and days behind them.
//!
//! Rows, keys, blocks and statistics treat arrays as these bytes; what is in them: `ordered`.

use std::sync::Arc;

pub use crate::ordered::elements;

/// An array's values; who has one knows the type of its elements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArrayValue(Arc<[u8]>);

impl ArrayValue {
    /// An array that was [`ArrayValue::as_bytes`].
    pub fn from_bytes(bytes: &[u8]) -> ArrayValue {
        ArrayValue(bytes.into())
    }

    /// The bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}
