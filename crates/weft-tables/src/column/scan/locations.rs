//! Where rows lie, as a column of a scan ([`LOCATION`](weft_contract::LOCATION)).

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, new_null_array};
use arrow_schema::DataType;
use weft_format::{BLOCK_ROWS, FileId, Mask};

use super::super::seen::Seen;

/// The places of the selected rows of a block; all rows without a mask.
pub(super) fn locations(file: FileId, block: usize, mask: Option<&Mask>, selected: usize) -> ArrayRef {
    let first = (block * BLOCK_ROWS) as u32;
    let Some(first) = Seen::ColumnTable(file, first).location() else { return no_locations(selected) };
    let first = first.number();
    let places: Int64Array = match mask {
        Some(mask) => mask.positions().into_iter().map(|row| first + i64::from(row)).collect(),
        None => (first..first + selected as i64).collect(),
    };
    assert!(places.len() == selected, "each selected row has its place");
    Arc::new(places)
}

/// Rows that only their keys find again.
pub(super) fn no_locations(count: usize) -> ArrayRef {
    new_null_array(&DataType::Int64, count)
}
