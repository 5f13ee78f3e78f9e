//! A row put together from two.

use std::sync::Arc;

use weft_format::RowCodec;

/// A row with the values of some columns of another.
pub(super) fn overlay(codec: &RowCodec, onto: &[u8], from: &[u8], columns: &[usize]) -> Arc<[u8]> {
    let value = |column| codec.get(if columns.contains(&column) { from } else { onto }, column);
    codec.encode((0..codec.column_count()).map(value)).into()
}
