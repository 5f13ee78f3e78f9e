//! What an array takes: the values that it shows, and the buffers that these lie in, which others may share.
//!
//! ```text
//!   'ab' 'cd' of a block of 1 MiB     shows 36 bytes, holds 1 MiB           ─▶ owned: 36 bytes of its own
//!   a join: one text in 8,192 rows    shows 8,192 · (16 + 300), holds 128 KiB: all that stays in memory, until the
//!                                     rows are written
//! ```
//!
//! Texts, bytes and arrays of them are views into buffers, and what is cut out of longer arrays keeps all of these.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, ListArray, MutableArrayData, make_array};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::DataType as ArrowType;

/// Bytes of others that the buffers of an array may have beside twice its own.
const SLACK_BYTES: usize = 16 << 10;

/// Bytes of the values that an array shows: what a copy of it takes at least.
pub fn shown_bytes(array: &dyn Array) -> usize {
    let views = |lengths: &mut dyn Iterator<Item = u32>| lengths.map(|length| 16 + length as usize).sum();
    if let Some(width) = array.data_type().primitive_width() {
        return array.len() * width;
    }
    match array.data_type() {
        ArrowType::Utf8View => views(&mut array.as_string_view().lengths()),
        ArrowType::BinaryView => views(&mut array.as_binary_view().lengths()),
        ArrowType::List(_) => {
            let lists = array.as_list::<i32>();
            size_of_val(lists.value_offsets()) + shown_bytes(&items_of(lists))
        }
        _ => array.to_data().get_slice_memory_size().unwrap_or_else(|_| array.get_buffer_memory_size()),
    }
}

/// Bytes that stay in memory as long as the array: those of its values, and of the buffers that its views point into.
pub fn held_bytes(array: &dyn Array) -> usize {
    match array.data_type().primitive_width() {
        Some(_) => shown_bytes(array),
        None => array.get_buffer_memory_size(),
    }
}

/// Bytes of the buffers that views point into; they stay with every array that was cut out of this one, or made of it.
pub fn viewed_bytes(array: &dyn Array) -> usize {
    match array.data_type() {
        ArrowType::Utf8View => array.as_string_view().data_buffers().iter().map(|buffer| buffer.capacity()).sum(),
        ArrowType::BinaryView => array.as_binary_view().data_buffers().iter().map(|buffer| buffer.capacity()).sum(),
        ArrowType::List(_) => viewed_bytes(array.as_list::<i32>().values()),
        _ => 0,
    }
}

/// Whether arrays of a type are made of views.
pub fn has_views(data_type: &ArrowType) -> bool {
    match data_type {
        ArrowType::Utf8View | ArrowType::BinaryView => true,
        ArrowType::List(item) => has_views(item.data_type()),
        _ => false,
    }
}

/// A copy of an array in buffers of its own, when those that it has are mostly others'.
pub(super) fn owned(array: &ArrayRef) -> Option<ArrayRef> {
    let held = array.get_buffer_memory_size();
    if held <= SLACK_BYTES || held <= 2 * shown_bytes(array) + SLACK_BYTES {
        return None;
    }
    if has_views(array.data_type()) {
        return Some(with_own_views(array));
    }
    let data = array.to_data();
    let mut copy = MutableArrayData::new(vec![&data], false, data.len());
    copy.try_extend(0, 0, data.len()).ok()?;
    Some(make_array(copy.freeze()))
}

/// The same array; what its views point into is a copy that nobody shares.
pub fn with_own_views(array: &ArrayRef) -> ArrayRef {
    match array.data_type() {
        ArrowType::Utf8View => Arc::new(array.as_string_view().gc()),
        ArrowType::BinaryView => Arc::new(array.as_binary_view().gc()),
        ArrowType::List(item) if has_views(item.data_type()) => {
            let lists = array.as_list::<i32>();
            let items = with_own_views(&items_of(lists));
            let offsets = OffsetBuffer::from_lengths(lists.offsets().lengths());
            Arc::new(ListArray::new(Arc::clone(item), offsets, items, lists.nulls().cloned()))
        }
        _ => Arc::clone(array),
    }
}

/// The items of all lists: an array that was cut out of a longer one has those of the others, too.
fn items_of(lists: &ListArray) -> ArrayRef {
    let offsets = lists.value_offsets();
    let (first, last) = (offsets[0] as usize, offsets[lists.len()] as usize);
    lists.values().slice(first, last - first)
}

#[cfg(test)]
mod tests {
    use arrow::array::{
        BinaryViewArray, BooleanArray, FixedSizeBinaryArray, Int64Array, LargeBinaryArray, LargeStringArray,
        StringViewArray,
    };

    use super::*;

    const ROWS: usize = 4_096;

    /// An array of each kind, with the bytes of its longest values; one row in eight is NULL.
    fn arrays() -> Vec<(ArrayRef, usize)> {
        let texts = || (0..ROWS).map(|row| (row % 8 > 0).then(|| format!("{row:0>100}")));
        let bytes: Vec<Option<Vec<u8>>> = texts().map(|text| text.map(String::into_bytes)).collect();
        let bytes = || bytes.iter().map(|bytes| bytes.as_deref());
        let items: ArrayRef = Arc::new(StringViewArray::from_iter(texts().chain(texts())));
        let item = Arc::new(arrow::datatypes::Field::new_list_field(ArrowType::Utf8View, true));
        let lists = ListArray::new(item, OffsetBuffer::from_lengths([2; ROWS]), items, None);
        vec![
            (Arc::new(StringViewArray::from_iter(texts())), 100),
            (Arc::new(BinaryViewArray::from_iter(bytes())), 100),
            (Arc::new(LargeStringArray::from_iter(texts())), 100),
            (Arc::new(LargeBinaryArray::from_iter(bytes())), 100),
            (Arc::new(lists), 200),
            (Arc::new(Int64Array::from_iter((0..ROWS as i64).map(Some))), 8),
            (Arc::new(BooleanArray::from_iter((0..ROWS).map(|row| Some(row % 2 == 0)))), 0),
            (Arc::new(FixedSizeBinaryArray::try_from_iter(bytes().map(|b| [b.map_or(0, |b| b[99]); 16])).unwrap()), 16),
        ]
    }

    #[test]
    fn all_values_count() {
        for (array, value_bytes) in arrays() {
            let what = array.data_type();
            let least = ROWS * value_bytes * 7 / 8;
            let (shown, held) = (shown_bytes(&array), held_bytes(&array));
            assert!((least..=least + ROWS * 50).contains(&shown), "{what}: {shown} bytes shown");
            assert!((least..=2 * least + ROWS * 60).contains(&held), "{what}: {held} bytes held");
        }
    }

    #[test]
    fn few_values_do_not_keep_the_buffers_of_many() {
        for (array, value_bytes) in arrays() {
            let what = array.data_type();
            assert!(owned(&array).is_none(), "{what}: nobody else's");
            let few = array.slice(17, 10);
            assert!(shown_bytes(&few) <= 10 * (value_bytes + 50), "{what}: {} bytes shown", shown_bytes(&few));
            let kept = owned(&few).unwrap_or_else(|| Arc::clone(&few));
            assert_eq!(&kept, &few);
            let held = kept.get_buffer_memory_size();
            assert!(held <= SLACK_BYTES + 20 * (value_bytes + 50), "{what}: {held} bytes held");
        }
    }

    #[test]
    fn views_into_buffers_of_others_become_own() {
        for (array, _) in arrays().into_iter().filter(|(array, _)| has_views(array.data_type())) {
            let few = array.slice(100, 20);
            let own = with_own_views(&few);
            assert_eq!(&own, &few);
            assert!(viewed_bytes(&few) >= ROWS * 100 * 7 / 8, "{}", few.data_type());
            assert!(viewed_bytes(&own) <= 20 * 200, "{}: {} bytes", own.data_type(), viewed_bytes(&own));
        }
    }
}
