//! A block of a page with some values changed.

use arrow_array::{Array, ArrayRef};
use arrow_select::interleave::interleave;
use weft_format::arrow_values::array_of;
use weft_format::{DataType, Error, Result, ValueRef};

/// `old`, changed at some rows and made longer with `filler`; `changes` ascend by row.
pub(super) fn patched(
    data_type: DataType,
    old: Option<ArrayRef>,
    len: usize,
    changes: &[(usize, ValueRef<'_>)],
    filler: ValueRef<'_>,
) -> Result<ArrayRef> {
    debug_assert!(changes.is_sorted_by(|a, b| a.0 < b.0), "a row has one newest value");
    assert!(changes.last().is_none_or(|(row, _)| *row < len), "what changes is within the block");
    let old_len = old.as_ref().map_or(0, |old| old.len());
    assert!(old_len <= len, "a page never loses rows (segment 1)");
    let old = match old {
        Some(old) if changes.is_empty() && old_len == len => return Ok(old),
        Some(old) => old,
        None => array_of(data_type, std::iter::empty()),
    };
    let values: Vec<ValueRef<'_>> = changes.iter().map(|(_, value)| *value).chain([filler]).collect();
    let new = array_of(data_type, values.into_iter());
    let mut places: Vec<(usize, usize)> = (0..old_len).map(|row| (0, row)).collect();
    places.resize(len, (1, changes.len()));
    changes.iter().enumerate().for_each(|(at, (row, _))| places[*row] = (1, at));
    interleave(&[old.as_ref(), new.as_ref()], &places)
        .map_err(|error| Error::internal(format!("changing values of a page: {error}")))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::Int64Array;

    use super::*;

    #[test]
    fn rows_are_changed_and_added() {
        let old: ArrayRef = Arc::new(Int64Array::from(vec![1, 2, 3]));
        let changes = [(1, ValueRef::Int(20)), (4, ValueRef::Int(50))];
        let new = patched(DataType::BigInt, Some(old.clone()), 5, &changes, ValueRef::Null).unwrap();
        let expected: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), Some(20), Some(3), None, Some(50)]));
        assert_eq!(&new, &expected);
        assert_eq!(&patched(DataType::BigInt, Some(old.clone()), 3, &[], ValueRef::Null).unwrap(), &old);
        let all = patched(DataType::BigInt, None, 2, &[], ValueRef::Int(0)).unwrap();
        assert_eq!(&all, &(Arc::new(Int64Array::from(vec![0, 0])) as ArrayRef));
    }
}
