//! A row as bytes: the number of its columns, a null bitmap, one fixed slot per column, then the text bytes.
//!
//! ```text
//!   columns a integer, b text, c bigint; row (7, 'hi', NULL)
//!   ┌───────┬──────┬─────────────┬─────────────────────────┬─────────────────────────┬─────────┐
//!   │ 03 00 │ 0x04 │ 07 00 00 00 │ 17 00 00 00 02 00 00 00 │ 00 00 00 00 00 00 00 00 │ 68 69   │
//!   └───────┴──────┴─────────────┴─────────────────────────┴─────────────────────────┴─────────┘
//!    columns  nulls  a             b: offset 23, length 2     c (NULL: zeros)           text
//! ```
//!
//! Little-endian. Any column is read in constant time. The bytes of rows with as many columns are equal exactly when
//! the values are.
//!
//! 1. A row has the first columns of every later version of its schema (schema 1). A column that it does not have is
//!    what the schema says of such rows (schema 2), so rows of any version are read by the codec of any version.

use crate::bytes::array;
use crate::error::{Error, Result};
use crate::interval::Interval;
use crate::ordered::elements;
use crate::schema::Schema;
use crate::types::DataType;
use crate::value::{Value, ValueRef};

/// Writes and reads the rows of one schema.
#[derive(Clone, Debug)]
pub struct RowCodec {
    pub(crate) types: Vec<DataType>,
    /// Where the slot of each column is, counted from the end of the null bitmap; one more for the end of the last.
    offsets: Vec<usize>,
    /// Where the slot of each column is in a row of all columns.
    pub(crate) slots: Vec<usize>,
    /// Where the slots end and the texts begin in a row of all columns.
    pub(crate) fixed_bytes: usize,
    /// The values of columns that a row does not have.
    missing: Option<Box<[u8]>>,
}

/// Bytes of the number of columns, with which a row begins.
pub(crate) const COUNT_BYTES: usize = 2;

impl RowCodec {
    /// The codec of a schema's rows.
    pub fn new(schema: &Schema) -> RowCodec {
        let types: Vec<DataType> = schema.columns.iter().map(|column| column.data_type).collect();
        let mut offsets = Vec::with_capacity(types.len() + 1);
        let mut offset = 0;
        for data_type in &types {
            offsets.push(offset);
            offset += data_type.slot_bytes();
        }
        offsets.push(offset);
        let first = slots_begin(types.len());
        let slots = offsets[..types.len()].iter().map(|offset| first + offset).collect();
        RowCodec { types, offsets, slots, fixed_bytes: first + offset, missing: schema.evolution.missing.clone() }
    }

    /// How many columns a row has that this codec encodes.
    pub fn column_count(&self) -> usize {
        self.types.len()
    }

    /// Encodes one value per column. Values must fit their types; the caller has cast and checked them.
    pub fn encode<'a>(&self, values: impl IntoIterator<Item = ValueRef<'a>>) -> Vec<u8> {
        let mut row = Vec::new();
        self.encode_into(values, &mut row);
        row
    }

    /// As [`RowCodec::encode`], into a buffer that is used again and again.
    pub fn encode_into<'a>(&self, values: impl IntoIterator<Item = ValueRef<'a>>, row: &mut Vec<u8>) {
        self.begin_row(self.types.len(), row);
        let mut count = 0;
        for (column, value) in values.into_iter().enumerate() {
            self.put(row, column, value);
            count += 1;
        }
        assert_eq!(count, self.types.len(), "a row has one value per column");
    }

    /// A row to which the value of each column is put, in order.
    pub(crate) fn empty_row(&self) -> Vec<u8> {
        self.empty_row_of(self.types.len())
    }

    /// A row of the first `count` columns.
    pub(crate) fn empty_row_of(&self, count: usize) -> Vec<u8> {
        let mut row = Vec::with_capacity((slots_begin(count) + self.offsets[count]) * 2);
        self.begin_row(count, &mut row);
        row
    }

    fn begin_row(&self, count: usize, row: &mut Vec<u8>) {
        row.clear();
        row.resize(slots_begin(count) + self.offsets[count], 0);
        let count = u16::try_from(count).expect("a table has at most 1,600 columns");
        row[..COUNT_BYTES].copy_from_slice(&count.to_le_bytes());
    }

    pub(crate) fn put(&self, row: &mut Vec<u8>, column: usize, value: ValueRef<'_>) {
        let slot = slots_begin(columns_of(row)) + self.offsets[column];
        match (self.types[column], value) {
            (_, ValueRef::Null) => row[COUNT_BYTES + column / 8] |= 1 << (column % 8),
            (DataType::Boolean, ValueRef::Bool(v)) => row[slot] = u8::from(v),
            (DataType::SmallInt, ValueRef::Int(v)) => row[slot..slot + 2].copy_from_slice(&(v as i16).to_le_bytes()),
            (DataType::Integer | DataType::Date, ValueRef::Int(v)) => {
                row[slot..slot + 4].copy_from_slice(&(v as i32).to_le_bytes());
            }
            (_, ValueRef::Int(v)) => row[slot..slot + 8].copy_from_slice(&v.to_le_bytes()),
            (DataType::Real, ValueRef::Float(v)) => row[slot..slot + 4].copy_from_slice(&(v as f32).to_le_bytes()),
            (DataType::DoublePrecision, ValueRef::Float(v)) => row[slot..slot + 8].copy_from_slice(&v.to_le_bytes()),
            (DataType::Numeric { .. }, ValueRef::Decimal(v)) => row[slot..slot + 16].copy_from_slice(&v.to_le_bytes()),
            (DataType::Uuid, ValueRef::Uuid(v)) => row[slot..slot + 16].copy_from_slice(&v.to_be_bytes()),
            (DataType::Interval, ValueRef::Interval(v)) => {
                row[slot..slot + 16].copy_from_slice(&v.to_bits().to_le_bytes());
            }
            (data_type, value) => match value.as_bytes() {
                Some(bytes) if data_type.is_variable() && matches!(value, ValueRef::Text(_)) == data_type.is_utf8() => {
                    put_variable(row, slot, bytes);
                }
                _ => panic!("value {value:?} was not cast to {data_type}"),
            },
        }
    }

    /// Reads one column of a row that a codec of some version of the schema encoded, or that [`RowCodec::check`]
    /// accepted (row 1).
    #[inline]
    pub fn get<'a>(&'a self, row: &'a [u8], column: usize) -> ValueRef<'a> {
        let count = columns_of(row);
        if column >= count {
            return self.missing(column);
        }
        if row[COUNT_BYTES + column / 8] & (1 << (column % 8)) != 0 {
            return ValueRef::Null;
        }
        let slot = &row[slots_begin(count) + self.offsets[column]..];
        match self.types[column] {
            DataType::Boolean => ValueRef::Bool(slot[0] != 0),
            DataType::SmallInt => ValueRef::Int(i16::from_le_bytes(array(slot)).into()),
            DataType::Integer | DataType::Date => ValueRef::Int(i32::from_le_bytes(array(slot)).into()),
            DataType::BigInt | DataType::Oid | DataType::Time | DataType::Timestamp | DataType::TimestampTz => {
                ValueRef::Int(i64::from_le_bytes(array(slot)))
            }
            DataType::Enum(_) => ValueRef::Int(i64::from_le_bytes(array(slot))),
            DataType::Real => ValueRef::Float(f32::from_le_bytes(array(slot)).into()),
            DataType::DoublePrecision => ValueRef::Float(f64::from_le_bytes(array(slot))),
            DataType::Numeric { .. } => ValueRef::Decimal(i128::from_le_bytes(array(slot))),
            DataType::Uuid => ValueRef::Uuid(u128::from_be_bytes(array(slot))),
            DataType::Interval => ValueRef::Interval(Interval::from_bits(u128::from_le_bytes(array(slot)))),
            DataType::Bytea => ValueRef::Bytes(variable(row, slot)),
            DataType::Array(_) => ValueRef::Array(variable(row, slot)),
            DataType::Text
            | DataType::Varchar(_)
            | DataType::Char(_)
            | DataType::Json
            | DataType::Jsonb
            | DataType::JsonPath
            | DataType::Bit(_)
            | DataType::VarBit(_) => {
                let text = std::str::from_utf8(variable(row, slot));
                ValueRef::Text(text.expect("rows hold UTF-8: encoded from str or checked"))
            }
        }
    }

    /// The value of a column in rows that do not have it.
    pub fn missing(&self, column: usize) -> ValueRef<'_> {
        match &self.missing {
            Some(missing) if column < columns_of(missing) => self.get(missing, column),
            _ => ValueRef::Null,
        }
    }

    /// All columns of a row.
    pub fn decode(&self, row: &[u8]) -> Vec<Value> {
        (0..self.types.len()).map(|column| self.get(row, column).to_value()).collect()
    }

    /// Tests bytes that come from outside (log, file): lengths, offsets, UTF-8.
    pub fn check(&self, row: &[u8]) -> Result<()> {
        let Some((count, _)) = row.split_first_chunk::<COUNT_BYTES>() else {
            return Err(Error::corrupt(format!("a row has {} bytes", row.len())));
        };
        let count = usize::from(u16::from_le_bytes(*count));
        if count > self.types.len() {
            return Err(Error::corrupt(format!("a row has {count} columns, its table {}", self.types.len())));
        }
        let fixed_bytes = slots_begin(count) + self.offsets[count];
        if row.len() < fixed_bytes {
            return Err(Error::corrupt(format!("a row has {} bytes, less than {fixed_bytes}", row.len())));
        }
        for (column, data_type) in self.types[..count].iter().enumerate() {
            let slot = &row[slots_begin(count) + self.offsets[column]..];
            if *data_type == DataType::Boolean && slot[0] > 1 {
                return Err(Error::corrupt(format!("column {column} of a row is the boolean {}", slot[0])));
            }
            if !data_type.is_variable() || row[COUNT_BYTES + column / 8] & (1 << (column % 8)) != 0 {
                continue;
            }
            let offset = u32::from_le_bytes(array(slot)) as usize;
            let len = u32::from_le_bytes(array(&slot[4..])) as usize;
            let bytes = offset.checked_add(len).and_then(|end| row.get(offset..end));
            let is_whole = bytes.is_some_and(|bytes| match data_type.element() {
                Some(element) => elements(bytes, element).is_ok(),
                None => !data_type.is_utf8() || std::str::from_utf8(bytes).is_ok(),
            });
            if !is_whole {
                return Err(Error::corrupt(format!("column {column} of a row is not {data_type} within the row")));
            }
        }
        Ok(())
    }
}

/// How many columns a row has.
#[inline]
pub fn columns_of(row: &[u8]) -> usize {
    usize::from(u16::from_le_bytes([row[0], row[1]]))
}

/// Where the slots of a row of `count` columns begin.
#[inline]
fn slots_begin(count: usize) -> usize {
    COUNT_BYTES + count.div_ceil(8)
}

/// Appends bytes to a row, and points a slot at them.
fn put_variable(row: &mut Vec<u8>, slot: usize, bytes: &[u8]) {
    let offset = u32::try_from(row.len()).expect("rows are limited to 1 GiB before they get here");
    row[slot..slot + 4].copy_from_slice(&offset.to_le_bytes());
    row[slot + 4..slot + 8].copy_from_slice(&(bytes.len() as u32).to_le_bytes());
    row.extend_from_slice(bytes);
}

/// The bytes that a slot points at.
fn variable<'a>(row: &'a [u8], slot: &[u8]) -> &'a [u8] {
    let offset = u32::from_le_bytes(array(slot)) as usize;
    let len = u32::from_le_bytes(array(&slot[4..])) as usize;
    &row[offset..offset + len]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encoding::tests::{Random, TYPES, random_type, random_value, same};
    use crate::schema::Column;

    fn codec(types: &[DataType]) -> RowCodec {
        let column = |&data_type| Column { name: String::new(), data_type, not_null: false };
        RowCodec::new(&Schema::new(types.iter().map(column).collect(), vec![0]))
    }

    #[test]
    fn the_example_of_the_module() {
        let codec = codec(&[DataType::Integer, DataType::Text, DataType::BigInt]);
        let row = codec.encode([ValueRef::Int(7), ValueRef::Text("hi"), ValueRef::Null]);
        let expected = [3, 0, 4, 7, 0, 0, 0, 23, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, b'h', b'i'];
        assert_eq!(row, expected);
    }

    #[test]
    fn rows_of_older_and_newer_schemas_are_read() {
        let column = |name: &str, data_type| Column { name: name.into(), data_type, not_null: false };
        let first = Schema::new(vec![column("a", DataType::Integer), column("b", DataType::Text)], vec![0]);
        let mut second = first.clone();
        second.add_column(column("c", DataType::BigInt), &Value::Null);
        for at in 0..9 {
            let value = Value::Text(format!("x{at}").into());
            second.add_column(column(&format!("d{at}"), DataType::Text), &value);
        }
        second.drop_column(1);
        let (old, new) = (RowCodec::new(&first), RowCodec::new(&second));
        let row = old.encode([ValueRef::Int(7), ValueRef::Text("hi")]);
        new.check(&row).unwrap();
        assert_eq!(
            new.decode(&row)[..4],
            [Value::Int(7), Value::Text("hi".into()), Value::Null, Value::Text("x0".into())]
        );
        assert_eq!(new.get(&row, 11), ValueRef::Text("x8"));
        let values = new.decode(&row);
        let newer = new.encode(values.iter().map(Value::as_ref));
        assert_eq!(old.decode(&newer), old.decode(&row));
        assert!(old.check(&newer).is_err(), "a row of columns that nobody knows is damage");
        let named: Vec<usize> = second.visible().map(|(ordinal, _)| ordinal).collect();
        assert_eq!(named, [0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
    }

    #[test]
    fn rows_round_trip_in_any_order() {
        let mut random = Random(31);
        for shape in 0..2_000 {
            let types: Vec<DataType> = (0..1 + random.below(20)).map(|_| random_type(&mut random)).collect();
            let codec = codec(&types);
            let values: Vec<Value> = types
                .iter()
                .map(|data_type| match random.below(4) {
                    0 => Value::Null,
                    _ => random_value(*data_type, shape, &mut random),
                })
                .collect();
            let row = codec.encode(values.iter().map(Value::as_ref));
            codec.check(&row).unwrap();
            for (column, value) in values.iter().enumerate().rev() {
                assert!(same(&codec.get(&row, column).to_value(), value), "column {column}: {value:?}");
            }
            assert_eq!(codec.encode(codec.decode(&row).iter().map(Value::as_ref)), row, "one spelling per row");
        }
    }

    #[test]
    fn damaged_rows_are_refused_or_readable() {
        let mut random = Random(32);
        let codec = codec(&TYPES);
        let values: Vec<Value> = TYPES.iter().map(|data_type| random_value(*data_type, 3, &mut random)).collect();
        let good = codec.encode(values.iter().map(Value::as_ref));
        for len in 0..good.len() {
            if codec.check(&good[..len]).is_ok() {
                codec.decode(&good[..len]);
            }
        }
        for _ in 0..20_000 {
            let mut bad = good.clone();
            for _ in 0..1 + random.below(4) {
                bad[random.below(good.len() as u64) as usize] = random.next() as u8;
            }
            if codec.check(&bad).is_ok() {
                codec.decode(&bad);
            }
        }
        assert!(codec.check(&[]).is_err());
    }
}
