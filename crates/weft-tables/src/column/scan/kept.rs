//! The rows of whole blocks that a mask selects.
//!
//! Bit-packed integers leave the others out as they are unpacked ([`Block::decode_kept`]); everything else is decoded
//! first. Then numbers without NULL take [`Mask::keep`]: Arrow's filter copies run by run, and rows that died are
//! scattered, so runs are short. What is left takes Arrow's.

use std::cell::OnceCell;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, BooleanArray, PrimitiveArray, downcast_primitive_array};
use arrow_buffer::{ArrowNativeType, BooleanBuffer, Buffer};
use arrow_select::filter::{FilterBuilder, FilterPredicate};
use weft_format::{Block, DataType, Error, Mask, Result};

/// What a mask keeps of several columns.
pub(super) struct Kept<'a> {
    mask: &'a Mask,
    column_count: usize,
    /// The same for Arrow, when a column asks for it.
    arrow: OnceCell<FilterPredicate>,
}

impl Kept<'_> {
    /// Of so many columns.
    pub(super) fn new(mask: &Mask, column_count: usize) -> Kept<'_> {
        Kept { mask, column_count, arrow: OnceCell::new() }
    }

    /// The rows of a block that are kept.
    pub(super) fn of_block(&self, block: &Block, data_type: DataType) -> Result<ArrayRef> {
        match block.decode_kept(data_type, self.mask) {
            Some(kept) => Ok(kept),
            None => self.of(&block.decode(data_type)),
        }
    }

    /// The rows of a column that are kept.
    pub(super) fn of(&self, column: &ArrayRef) -> Result<ArrayRef> {
        if column.null_count() > 0 {
            return self.by_arrow(column);
        }
        downcast_primitive_array!(
            column => Ok(self.of_numbers(column)),
            _ => self.by_arrow(column),
        )
    }

    fn of_numbers<T: arrow_array::ArrowPrimitiveType>(&self, column: &PrimitiveArray<T>) -> ArrayRef
    where
        T::Native: ArrowNativeType,
    {
        let kept = PrimitiveArray::<T>::new(self.mask.keep(column.values()).into(), None);
        Arc::new(kept.with_data_type(column.data_type().clone()))
    }

    fn by_arrow(&self, column: &ArrayRef) -> Result<ArrayRef> {
        let filter = self.arrow.get_or_init(|| {
            let bits = BooleanBuffer::new(Buffer::from_vec(self.mask.words().to_vec()), 0, self.mask.len());
            let builder = FilterBuilder::new(&BooleanArray::new(bits, None));
            if self.column_count > 1 { builder.optimize().build() } else { builder.build() }
        });
        filter.filter(column).map_err(|error| Error::internal(format!("filtering a column: {error}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::types::Int32Type;
    use arrow_array::{Int32Array, StringArray, TimestampMicrosecondArray};
    use arrow_select::filter::filter;

    #[test]
    fn every_kind_of_column_keeps_what_arrow_keeps() {
        let rows = 1000;
        let mask = Mask::from_words((0..16).map(|at| 0x9E37_79B9_7F4A_7C15 << at | 1 << 63).collect(), rows);
        let chosen = BooleanArray::from((0..rows).map(|row| mask.get(row)).collect::<Vec<_>>());
        let columns: [ArrayRef; 5] = [
            Arc::new(Int32Array::from_iter_values(0..1000)),
            Arc::new(PrimitiveArray::<Int32Type>::from_iter((0..1000).map(|n| (n % 7 > 0).then_some(n)))),
            Arc::new(TimestampMicrosecondArray::from_iter_values(0..1000).with_timezone("UTC")),
            Arc::new(StringArray::from_iter_values((0..1000).map(|n| format!("text {n}")))),
            Arc::new(chosen.clone()),
        ];
        let kept = Kept::new(&mask, columns.len());
        for column in &columns {
            assert_eq!(&kept.of(column).unwrap(), &filter(column, &chosen).unwrap());
        }
    }
}
