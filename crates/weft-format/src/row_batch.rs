//! Rows of Arrow columns, encoded column by column into one buffer.
//!
//! ```text
//!   a integer [7, 8]   b text ["hi", NULL]        ▶    ends  17 32
//!                                                      bytes │2 00 07.. 15,2 hi│2 02 08.. 0,0│
//!   lengths of the texts first: so every row's place is known, and a column is written with one stride
//! ```
//!
//! 1. Each row is byte by byte what [`RowCodec::encode`] makes of its values.
//!
//! A row at a time costs a look at the type of each value and a buffer that grows; a column at a time does neither.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Decimal128Type, Float32Type, Float64Type, Int16Type, Int32Type, Int64Type,
    IntervalMonthDayNanoType, Time64MicrosecondType, TimestampMicrosecondType, TimestampSecondType, UInt32Type,
};
use arrow_array::{Array, ArrayRef, BinaryViewArray};

use crate::arrow_values::{stored, text_of};
use crate::interval::Interval;
use crate::row::{COUNT_BYTES, RowCodec};
use crate::types::DataType;

/// Encoded rows, one after the other in one buffer.
#[derive(Clone, Debug, Default)]
pub struct EncodedRows {
    bytes: Vec<u8>,
    /// Where each row begins; one more for the end of the last.
    starts: Vec<usize>,
}

impl EncodedRows {
    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The rows in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        self.starts.windows(2).map(|ends| &self.bytes[ends[0]..ends[1]])
    }
}

impl RowCodec {
    /// Encodes the rows of one array per column, each in exactly the Arrow type of its column and all of one length.
    pub fn encode_columns(&self, columns: &[ArrayRef]) -> EncodedRows {
        assert_eq!(columns.len(), self.types.len(), "a row has one value per column");
        let count = columns.first().map_or(0, |column| column.len());
        let columns: Vec<ArrayRef> =
            columns.iter().zip(&self.types).map(|(array, &data_type)| as_views(array, data_type)).collect();
        assert!(columns.iter().all(|column| column.len() == count), "the columns of a batch have one length");
        let starts = self.row_starts(&columns, count);
        let mut bytes = vec![0u8; starts[count]];
        let column_count = u16::try_from(self.types.len()).expect("a table has at most 1,600 columns").to_le_bytes();
        starts[..count].iter().for_each(|&start| bytes[start..start + COUNT_BYTES].copy_from_slice(&column_count));
        // Where the next text of each row goes.
        let mut ends: Vec<usize> = starts[..count].iter().map(|start| start + self.fixed_bytes).collect();
        for (column, (array, &data_type)) in columns.iter().zip(&self.types).enumerate() {
            self.put_nulls(&mut bytes, &starts, column, array);
            let mut slots = Slots { bytes: &mut bytes, starts: &starts, slot: self.slots[column] };
            match data_type {
                DataType::Boolean => {
                    let array = array.as_boolean();
                    slots.put(array, |row| [u8::from(array.value(row))]);
                }
                DataType::SmallInt => slots.primitive::<Int16Type, 2>(array, i16::to_le_bytes),
                DataType::Integer => slots.primitive::<Int32Type, 4>(array, i32::to_le_bytes),
                DataType::Date => slots.primitive::<Date32Type, 4>(array, i32::to_le_bytes),
                DataType::BigInt => slots.primitive::<Int64Type, 8>(array, i64::to_le_bytes),
                DataType::Timestamp | DataType::TimestampTz => {
                    slots.primitive::<TimestampMicrosecondType, 8>(array, i64::to_le_bytes);
                }
                DataType::Enum(_) => slots.primitive::<TimestampSecondType, 8>(array, i64::to_le_bytes),
                DataType::Real => slots.primitive::<Float32Type, 4>(array, f32::to_le_bytes),
                DataType::DoublePrecision => slots.primitive::<Float64Type, 8>(array, f64::to_le_bytes),
                DataType::Numeric { .. } => slots.primitive::<Decimal128Type, 16>(array, i128::to_le_bytes),
                DataType::Oid => slots.primitive::<UInt32Type, 8>(array, |v| i64::from(v).to_le_bytes()),
                DataType::Time => slots.primitive::<Time64MicrosecondType, 8>(array, i64::to_le_bytes),
                DataType::Uuid => {
                    let array = array.as_fixed_size_binary();
                    slots.put::<16>(array, |row| crate::bytes::array(array.value(row)));
                }
                DataType::Interval => slots.primitive::<IntervalMonthDayNanoType, 16>(array, |v| {
                    Interval::from_arrow(v).to_bits().to_le_bytes()
                }),
                _ => slots.variable(array.as_binary_view(), &mut ends),
            }
        }
        assert!(ends.iter().eq(&starts[1..]), "every row ends where the next begins (row batch 1)");
        EncodedRows { bytes, starts }
    }

    /// Where each row begins, and the end of the last.
    fn row_starts(&self, columns: &[ArrayRef], count: usize) -> Vec<usize> {
        let mut starts = vec![self.fixed_bytes; count + 1];
        for (array, _) in columns.iter().zip(&self.types).filter(|(_, data_type)| data_type.is_variable()) {
            let array = array.as_binary_view();
            for (row, (bytes, &view)) in starts.iter_mut().zip(array.views()).enumerate() {
                if array.is_valid(row) {
                    *bytes += view as u32 as usize;
                }
            }
        }
        let mut next = 0;
        for start in &mut starts {
            next += std::mem::replace(start, next);
        }
        starts
    }

    fn put_nulls(&self, bytes: &mut [u8], starts: &[usize], column: usize, array: &ArrayRef) {
        let Some(nulls) = array.nulls().filter(|nulls| nulls.null_count() > 0) else { return };
        for (row, &start) in starts[..array.len()].iter().enumerate() {
            bytes[start + COUNT_BYTES + column / 8] |= u8::from(nulls.is_null(row)) << (column % 8);
        }
    }
}

/// A column as views of bytes, when its values have no fixed width.
fn as_views(array: &ArrayRef, data_type: DataType) -> ArrayRef {
    let bytes: BinaryViewArray = match data_type {
        DataType::Text | DataType::Varchar(_) | DataType::Char(_) => array.as_string_view().clone().to_binary_view(),
        DataType::Json => array.as_binary::<i64>().iter().collect(),
        DataType::Jsonb => array.as_string::<i64>().iter().map(|text| text.map(str::as_bytes)).collect(),
        DataType::JsonPath => {
            let texts = array.as_dictionary();
            (0..array.len()).map(|row| text_of(texts, row).map(str::as_bytes)).collect()
        }
        DataType::Bit(_) | DataType::VarBit(_) => array.as_binary::<i32>().iter().collect(),
        _ => return stored(array, data_type),
    };
    Arc::new(bytes)
}

/// The slots of one column in all rows.
struct Slots<'a> {
    bytes: &'a mut [u8],
    starts: &'a [usize],
    slot: usize,
}

impl Slots<'_> {
    /// Writes the slots of the rows that are not NULL.
    fn put<const N: usize>(&mut self, array: &dyn Array, value: impl Fn(usize) -> [u8; N]) {
        let nulls = array.nulls().filter(|nulls| nulls.null_count() > 0);
        for (row, start) in self.starts[..array.len()].iter().enumerate() {
            if nulls.is_none_or(|nulls| nulls.is_valid(row)) {
                self.bytes[start + self.slot..][..N].copy_from_slice(&value(row));
            }
        }
    }

    fn primitive<T: ArrowPrimitiveType, const N: usize>(
        &mut self,
        array: &ArrayRef,
        to_bytes: impl Fn(T::Native) -> [u8; N],
    ) {
        let values = array.as_primitive::<T>().values();
        self.put(array, |row| to_bytes(values[row]));
    }

    /// Writes texts at `ends`, which move behind them.
    fn variable(&mut self, array: &BinaryViewArray, ends: &mut [usize]) {
        let nulls = array.nulls().filter(|nulls| nulls.null_count() > 0);
        for (row, end) in ends.iter_mut().enumerate() {
            if nulls.is_some_and(|nulls| nulls.is_null(row)) {
                continue;
            }
            let (start, text) = (self.starts[row], array.value(row));
            let offset = u32::try_from(*end - start).expect("rows are limited to 1 GiB before they get here");
            let slot = &mut self.bytes[start + self.slot..][..8];
            slot[..4].copy_from_slice(&offset.to_le_bytes());
            slot[4..].copy_from_slice(&(text.len() as u32).to_le_bytes());
            self.bytes[*end..*end + text.len()].copy_from_slice(text);
            *end += text.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arrow_values::array_of;
    use crate::encoding::tests::{Random, random_type, random_value};
    use crate::schema::{Column, Schema};
    use crate::value::Value;

    #[test]
    fn columns_become_the_bytes_that_rows_do() {
        let mut random = Random(41);
        for shape in 0..400 {
            let types: Vec<DataType> = (0..1 + random.below(20)).map(|_| random_type(&mut random)).collect();
            let column = |&data_type| Column { name: String::new(), data_type, not_null: false };
            let codec = RowCodec::new(&Schema::new(types.iter().map(column).collect(), vec![0]));
            let rows: Vec<Vec<Value>> = (0..random.below(70))
                .map(|_| {
                    let value = |&data_type| match random.below(4) {
                        0 if shape % 3 > 0 => Value::Null,
                        _ => random_value(data_type, shape, &mut random),
                    };
                    types.iter().map(value).collect()
                })
                .collect();
            let arrays: Vec<ArrayRef> = types
                .iter()
                .enumerate()
                .map(|(at, &data_type)| array_of(data_type, rows.iter().map(|row| row[at].as_ref())))
                .collect();
            // Slices begin anywhere.
            let from = random.below(rows.len() as u64 + 1) as usize;
            let sliced: Vec<ArrayRef> = arrays.iter().map(|array| array.slice(from, rows.len() - from)).collect();
            for (arrays, rows) in [(&arrays, &rows[..]), (&sliced, &rows[from..])] {
                let encoded = codec.encode_columns(arrays);
                assert_eq!((encoded.len(), encoded.is_empty()), (rows.len(), rows.is_empty()));
                for (bytes, row) in encoded.iter().zip(rows) {
                    assert_eq!(bytes, codec.encode(row.iter().map(Value::as_ref)), "{row:?}");
                }
            }
        }
    }
}
