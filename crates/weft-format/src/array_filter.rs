//! A predicate evaluated on an Arrow array, or on encoded rows, ANDed into a mask.
//!
//! ```text
//!   a >= 7   [7, NULL, 3, 9]   mask 1110   ▶   mask 1000        the last row was not selected before
//! ```
//!
//! Integers of all widths are compared as ranges, those of arrays 64 rows to a word; other values one by one, selected
//! ones only.
//!
//! 1. A row stays selected exactly if [`Predicate::matches`] is true of its value.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Int16Type, Int32Type, Int64Type, Time64MicrosecondType, TimestampMicrosecondType,
    TimestampSecondType, UInt32Type,
};
use arrow_array::{Array, PrimitiveArray};

use crate::arrow_values::value_ref_at;
use crate::encoding::{IntTest, and_where};
use crate::mask::Mask;
use crate::predicate::Predicate;
use crate::row::RowCodec;
use crate::types::DataType;
use crate::value::ValueRef;

/// Deselects the rows of `mask` whose value in `array` does not satisfy the predicate. The array has the Arrow type of
/// `data_type` and is in its stored form.
pub fn filter_array(predicate: &Predicate, array: &dyn Array, data_type: DataType, mask: &mut Mask) {
    assert_eq!(mask.len(), array.len(), "a mask has one bit per row of the array");
    if let Some(test) = IntTest::of(predicate) {
        let is_filtered = match data_type {
            DataType::SmallInt => filter_ints::<Int16Type>(&test, array, mask),
            DataType::Integer => filter_ints::<Int32Type>(&test, array, mask),
            DataType::BigInt => filter_ints::<Int64Type>(&test, array, mask),
            DataType::Oid => filter_ints::<UInt32Type>(&test, array, mask),
            DataType::Date => filter_ints::<Date32Type>(&test, array, mask),
            DataType::Time => filter_ints::<Time64MicrosecondType>(&test, array, mask),
            DataType::Timestamp | DataType::TimestampTz => filter_ints::<TimestampMicrosecondType>(&test, array, mask),
            DataType::Enum(_) => filter_ints::<TimestampSecondType>(&test, array, mask),
            _ => false,
        };
        if is_filtered {
            return;
        }
    }
    for row in mask.positions() {
        if !predicate.matches(value_ref_at(array, row as usize, data_type)) {
            mask.clear(row as usize);
        }
    }
}

/// Deselects the rows of `mask` that do not satisfy the predicate; `row` has the encoded row of each position.
pub fn filter_rows<'a>(predicate: &Predicate, codec: &'a RowCodec, row: impl Fn(u32) -> &'a [u8], mask: &mut Mask) {
    let (test, column) = (IntTest::of(predicate), predicate.column());
    for at in mask.positions() {
        let is_satisfied = match (&test, codec.get(row(at), column)) {
            (Some(IntTest::Range(range)), ValueRef::Int(value)) => range.contains(value),
            (_, value) => predicate.matches(value),
        };
        if !is_satisfied {
            mask.clear(at as usize);
        }
    }
}

fn filter_ints<T: ArrowPrimitiveType<Native: Into<i64>>>(test: &IntTest, array: &dyn Array, mask: &mut Mask) -> bool {
    let array: &PrimitiveArray<T> = array.as_primitive();
    match test {
        IntTest::Range(range) => and_where(mask, 0, array.values(), |value| range.contains(value.into())),
        IntTest::List(list) => and_where(mask, 0, array.values(), |value| list.binary_search(&value.into()).is_ok()),
    }
    for row in array.nulls().into_iter().flat_map(|nulls| (0..nulls.len()).filter(|&row| nulls.is_null(row))) {
        mask.clear(row);
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arrow_values::array_of;
    use crate::predicate::CompareOp;
    use crate::schema::{Column, Schema};
    use crate::value::Value;

    fn column(data_type: DataType, rows: usize) -> Vec<Value> {
        let value = |row: usize| match (row % 7, data_type) {
            (3, _) => Value::Null,
            (_, DataType::Text) => Value::Text(format!("text {}", row % 5).into()),
            (_, DataType::DoublePrecision) => Value::Float((row % 11) as f64 / 2.0),
            (_, DataType::Boolean) => Value::Bool(row.is_multiple_of(2)),
            (2, _) => Value::Int(i64::from(i16::MAX)),
            _ => Value::Int((row % 11) as i64),
        };
        (0..rows).map(value).collect()
    }

    /// Every comparison, list and test for NULL on every kind of array, and on rows, says what [`Predicate::matches`]
    /// says.
    #[test]
    fn arrays_and_rows_are_filtered_as_values_are() {
        let types = [
            DataType::SmallInt,
            DataType::Integer,
            DataType::BigInt,
            DataType::Oid,
            DataType::Date,
            DataType::Time,
            DataType::Timestamp,
            DataType::Text,
            DataType::DoublePrecision,
            DataType::Boolean,
        ];
        let ops = [CompareOp::Eq, CompareOp::NotEq, CompareOp::Lt, CompareOp::LtEq, CompareOp::Gt, CompareOp::GtEq];
        let (mut kept, mut dropped) = (0, 0);
        for data_type in types {
            for rows in [1, 63, 64, 150] {
                let values = column(data_type, rows);
                let array = array_of(data_type, values.iter().map(Value::as_ref));
                let column = Column { name: "c".into(), data_type, not_null: false };
                let codec = RowCodec::new(&Schema::new(vec![column], vec![0]));
                let encoded: Vec<Vec<u8>> = values.iter().map(|value| codec.encode([value.as_ref()])).collect();
                let constants =
                    [values[0].clone(), values[rows / 2].clone(), values[rows.min(3) - 1].clone(), Value::Null];
                let mut predicates = vec![Predicate::IsNull { column: 0 }, Predicate::IsNotNull { column: 0 }];
                predicates.push(Predicate::In { column: 0, values: constants.to_vec() });
                predicates.push(Predicate::In { column: 0, values: vec![Value::Null] });
                for value in constants {
                    let compare = |op| Predicate::Compare { column: 0, op, value: value.clone() };
                    predicates.extend(ops.map(compare));
                }
                for predicate in predicates {
                    let mut mask = Mask::all(rows);
                    (0..rows).step_by(4).for_each(|row| mask.clear(row));
                    let before = mask.clone();
                    let mut mask_of_rows = mask.clone();
                    filter_array(&predicate, &array, data_type, &mut mask);
                    filter_rows(&predicate, &codec, |at| &encoded[at as usize], &mut mask_of_rows);
                    assert_eq!(mask.words(), mask_of_rows.words(), "{predicate:?} of rows of {data_type}");
                    for (row, value) in values.iter().enumerate() {
                        let wanted = before.get(row) && predicate.matches(value.as_ref());
                        assert_eq!(mask.get(row), wanted, "{predicate:?} of {value:?} as {data_type}");
                        kept += usize::from(wanted);
                        dropped += usize::from(before.get(row) && !wanted);
                    }
                }
            }
        }
        assert!(kept > 1000 && dropped > 1000, "{kept} {dropped}");
    }

    #[test]
    fn the_ends_of_the_range_are_compared() {
        let ends = [i64::MIN, -1, 0, i64::MAX];
        let array = array_of(DataType::BigInt, ends.iter().map(|&end| ValueRef::Int(end)));
        for op in [CompareOp::Lt, CompareOp::LtEq, CompareOp::Gt, CompareOp::GtEq, CompareOp::NotEq] {
            for end in ends {
                let predicate = Predicate::Compare { column: 0, op, value: Value::Int(end) };
                let mut mask = Mask::all(ends.len());
                filter_array(&predicate, &array, DataType::BigInt, &mut mask);
                let wanted = ends.map(|value| op.holds(value.cmp(&end)));
                assert_eq!(wanted.map(usize::from), [0, 1, 2, 3].map(|row| usize::from(mask.get(row))), "{op:?} {end}");
            }
        }
    }
}
