//! Collects the values of one block, from single values or Arrow arrays, and has them encoded.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Decimal128Type, Float32Type, Float64Type, Int16Type, Int32Type, Int64Type,
    IntervalMonthDayNanoType, Time64MicrosecondType, TimestampMicrosecondType, TimestampSecondType, UInt32Type,
};
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType as ArrowType;

use crate::arrow_values::{stored, text_of};
use crate::encoding::kind::{Kind, UUID_FLIP, Word};
use crate::encoding::layout::{BLOCK_ROWS, Encoding};
use crate::encoding::symbols::SymbolTrainer;
use crate::error::{Error, Result};
use crate::interval::Interval;
use crate::stats::ColumnStats;
use crate::types::DataType;
use crate::value::ValueRef;

/// An encoded block and what is known about it.
#[derive(Debug)]
pub struct EncodedBlock {
    /// The block; its length is a multiple of 16.
    pub bytes: Vec<u8>,
    /// How many bytes each slice has; one of all rows unless slices were asked for.
    pub slice_bytes: Vec<u32>,
    /// How many rows each slice but the last has.
    pub slice_rows: usize,
    /// Bytes of the documents whose pieces the slices are.
    pub document_bytes: Option<u32>,
    /// How it was encoded.
    pub encoding: Encoding,
    /// Statistics of its values.
    pub stats: ColumnStats,
    /// Hashes ([`crate::bloom::hash_value`]) of the distinct values, when they were asked for and few enough.
    pub hashes: Option<Vec<u64>>,
}

impl EncodedBlock {
    /// A block that is not cut.
    pub(crate) fn whole(
        bytes: Vec<u8>,
        encoding: Encoding,
        stats: ColumnStats,
        hashes: Option<Vec<u64>>,
    ) -> EncodedBlock {
        let slice_bytes = vec![bytes.len() as u32];
        EncodedBlock { slice_bytes, slice_rows: BLOCK_ROWS, document_bytes: None, bytes, encoding, stats, hashes }
    }
}

/// Which hashes of the values a caller wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HashesWanted {
    /// None.
    None,
    /// Those of the distinct values, when there are at most this many and finding them is cheap.
    Few(usize),
    /// Those of every value, whatever it costs.
    All,
}

/// The values of a block to be, all of one column.
pub struct BlockBuilder {
    pub(crate) data_type: DataType,
    pub(crate) data: Data,
    /// One bit per row, 1 when it has a value.
    pub(crate) validity: Vec<u64>,
    pub(crate) null_count: usize,
    pub(crate) rows: usize,
    pub(crate) trainer: SymbolTrainer,
}

/// Values by kind; NULL rows have a slot of any content (texts: an empty one).
pub(crate) enum Data {
    Bool(Vec<bool>),
    Word16(Vec<u16>),
    Word32(Vec<u32>),
    Word64(Vec<u64>),
    Word128(Vec<u128>),
    Text { ends: Vec<u32>, bytes: Vec<u8> },
}

impl BlockBuilder {
    /// An empty builder for a column's type.
    pub fn new(data_type: DataType) -> BlockBuilder {
        let data = match Kind::of(data_type) {
            Kind::Bool => Data::Bool(Vec::new()),
            Kind::Int16 => Data::Word16(Vec::new()),
            Kind::Int32 | Kind::Float32 => Data::Word32(Vec::new()),
            Kind::Int64 | Kind::Float64 => Data::Word64(Vec::new()),
            Kind::Decimal | Kind::Uuid | Kind::Interval => Data::Word128(Vec::new()),
            Kind::Text | Kind::Bytes => Data::Text { ends: Vec::new(), bytes: Vec::new() },
        };
        let trainer = SymbolTrainer::default();
        BlockBuilder { data_type, data, validity: Vec::new(), null_count: 0, rows: 0, trainer }
    }

    /// The column's type.
    pub fn data_type(&self) -> DataType {
        self.data_type
    }

    /// How many rows are waiting.
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Whether no row is waiting.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Bytes that the waiting rows take, not encoded.
    pub fn pending_bytes(&self) -> usize {
        match &self.data {
            Data::Bool(_) => self.rows / 8,
            Data::Text { bytes, .. } => bytes.len() + self.rows,
            _ => self.rows * Kind::of(self.data_type).width(),
        }
    }

    /// The symbol table that blocks built so far need, in the form of [`super::SymbolTable::parse`]; empty for none.
    pub fn symbol_table(&self) -> Vec<u8> {
        self.trainer.table()
    }

    fn push_validity(&mut self, valid: bool) {
        assert!(self.rows < BLOCK_ROWS, "a block has at most {BLOCK_ROWS} rows");
        if self.rows.is_multiple_of(64) {
            self.validity.push(0);
        }
        self.validity[self.rows / 64] |= u64::from(valid) << (self.rows % 64);
        self.null_count += usize::from(!valid);
        self.rows += 1;
    }

    /// Adds one value, which has the column's kind.
    pub fn push(&mut self, value: ValueRef<'_>) {
        self.push_validity(!value.is_null());
        match (&mut self.data, value) {
            (Data::Bool(values), value) => values.push(matches!(value, ValueRef::Bool(true))),
            (Data::Word16(values), ValueRef::Int(v)) => values.push(v as u16),
            (Data::Word32(values), ValueRef::Int(v)) => values.push(v as u32),
            (Data::Word32(values), ValueRef::Float(v)) => values.push((v as f32).to_bits()),
            (Data::Word64(values), ValueRef::Int(v)) => values.push(v as u64),
            (Data::Word64(values), ValueRef::Float(v)) => values.push(v.to_bits()),
            (Data::Word128(values), ValueRef::Decimal(v)) => values.push(v as u128),
            (Data::Word128(values), ValueRef::Uuid(v)) => values.push(v ^ UUID_FLIP),
            (Data::Word128(values), ValueRef::Interval(v)) => values.push(v.to_bits()),
            (Data::Text { ends, bytes }, ValueRef::Text(v)) => {
                bytes.extend_from_slice(v.as_bytes());
                ends.push(text_end(bytes));
            }
            (Data::Text { ends, bytes }, ValueRef::Bytes(v) | ValueRef::Array(v)) => {
                bytes.extend_from_slice(v);
                ends.push(text_end(bytes));
            }
            (Data::Word16(values), ValueRef::Null) => values.push(0),
            (Data::Word32(values), ValueRef::Null) => values.push(0),
            (Data::Word64(values), ValueRef::Null) => values.push(0),
            (Data::Word128(values), ValueRef::Null) => values.push(0),
            (Data::Text { ends, bytes }, ValueRef::Null) => ends.push(text_end(bytes)),
            (_, value) => panic!("value {value:?} was not cast to {}", self.data_type),
        }
    }

    /// Adds rows `offset..offset + len` of an array in the column's Arrow type (text: any of the three string types;
    /// arrays: also as their bytes).
    pub fn push_array(&mut self, array: &ArrayRef, offset: usize, len: usize) -> Result<()> {
        let array = stored(&array.slice(offset, len), self.data_type);
        let kind = Kind::of(self.data_type);
        match (&mut self.data, array.data_type()) {
            (Data::Bool(values), ArrowType::Boolean) => values.extend(array.as_boolean().values().iter()),
            (Data::Word16(values), ArrowType::Int16) => extend::<Int16Type, _>(values, &array, |v| v as u16),
            (Data::Word32(values), ArrowType::Int32) if kind == Kind::Int32 => {
                extend::<Int32Type, _>(values, &array, |v| v as u32);
            }
            (Data::Word32(values), ArrowType::Date32) if kind == Kind::Int32 => {
                extend::<Date32Type, _>(values, &array, |v| v as u32);
            }
            (Data::Word32(values), ArrowType::Float32) if kind == Kind::Float32 => {
                extend::<Float32Type, _>(values, &array, f32::to_bits);
            }
            (Data::Word64(values), ArrowType::Int64) if kind == Kind::Int64 => {
                extend::<Int64Type, _>(values, &array, |v| v as u64);
            }
            (Data::Word64(values), ArrowType::Timestamp(arrow_schema::TimeUnit::Second, _)) if kind == Kind::Int64 => {
                extend::<TimestampSecondType, _>(values, &array, |v| v as u64);
            }
            (Data::Word64(values), ArrowType::Timestamp(arrow_schema::TimeUnit::Microsecond, _))
                if kind == Kind::Int64 =>
            {
                extend::<TimestampMicrosecondType, _>(values, &array, |v| v as u64);
            }
            (Data::Word64(values), ArrowType::Float64) if kind == Kind::Float64 => {
                extend::<Float64Type, _>(values, &array, f64::to_bits);
            }
            (Data::Word128(values), ArrowType::Decimal128(..)) => {
                extend::<Decimal128Type, _>(values, &array, |v| v as u128);
            }
            (Data::Word64(values), ArrowType::Time64(arrow_schema::TimeUnit::Microsecond)) if kind == Kind::Int64 => {
                extend::<Time64MicrosecondType, _>(values, &array, |v| v as u64);
            }
            (Data::Word64(values), ArrowType::UInt32) if kind == Kind::Int64 => {
                extend::<UInt32Type, _>(values, &array, u64::from);
            }
            (Data::Word128(values), ArrowType::FixedSizeBinary(16)) if kind == Kind::Uuid => {
                let uuids = array.as_fixed_size_binary();
                values
                    .extend((0..len).map(|row| u128::from_be_bytes(crate::bytes::array(uuids.value(row))) ^ UUID_FLIP));
            }
            (Data::Word128(values), ArrowType::Interval(arrow_schema::IntervalUnit::MonthDayNano)) => {
                extend::<IntervalMonthDayNanoType, _>(values, &array, |v| Interval::from_arrow(v).to_bits());
            }
            (Data::Text { ends, bytes }, _) => extend_variable(ends, bytes, &array, self.data_type)?,
            (_, other) => return Err(mismatch(self.data_type, other)),
        }
        self.extend_validity(&array);
        Ok(())
    }

    fn extend_validity(&mut self, array: &ArrayRef) {
        match array.nulls().filter(|nulls| nulls.null_count() > 0) {
            Some(nulls) => nulls.iter().for_each(|valid| self.push_validity(valid)),
            None => {
                let end = self.rows + array.len();
                assert!(end <= BLOCK_ROWS, "a block has at most {BLOCK_ROWS} rows");
                self.validity.resize(end.div_ceil(64), 0);
                while self.rows < end {
                    let bits = (64 - self.rows % 64).min(end - self.rows);
                    let ones = u64::MAX >> (64 - bits);
                    self.validity[self.rows / 64] |= ones << (self.rows % 64);
                    self.rows += bits;
                }
            }
        }
    }

    /// The waiting texts; nothing when these are bytes or numbers.
    pub(crate) fn texts(&self) -> Option<Vec<Option<&str>>> {
        let Data::Text { ends, bytes } = &self.data else { return None };
        let all = std::str::from_utf8(bytes).ok()?;
        let mut start = 0;
        let text = |(row, &end): (usize, &u32)| {
            let text = &all[std::mem::replace(&mut start, end as usize)..end as usize];
            (self.null_count == 0 || self.is_valid(row)).then_some(text)
        };
        Some(ends.iter().enumerate().map(text).collect())
    }

    /// Whether a waiting row has a value.
    pub(crate) fn is_valid(&self, row: usize) -> bool {
        self.validity[row / 64] >> (row % 64) & 1 == 1
    }

    /// Gives NULL slots of fixed width the value before them (the first value, at the start), which costs least.
    pub(crate) fn fill_nulls(&mut self) {
        fn fill<T: Copy>(values: &mut [T], validity: &[u64]) {
            let valid = |row: usize| validity[row / 64] >> (row % 64) & 1 == 1;
            let first = (0..values.len()).find(|&row| valid(row)).expect("some row has a value");
            let mut last = values[first];
            for (row, value) in values.iter_mut().enumerate() {
                if valid(row) {
                    last = *value;
                } else {
                    *value = last;
                }
            }
        }
        match &mut self.data {
            Data::Bool(values) => fill(values, &self.validity),
            Data::Word16(values) => fill(values, &self.validity),
            Data::Word32(values) => fill(values, &self.validity),
            Data::Word64(values) => fill(values, &self.validity),
            Data::Word128(values) => fill(values, &self.validity),
            Data::Text { .. } => {}
        }
    }
}

fn text_end(bytes: &[u8]) -> u32 {
    u32::try_from(bytes.len()).expect("the texts of a block stay below 4 GiB: tables are cut long before")
}

fn extend<T: ArrowPrimitiveType, W: Word>(values: &mut Vec<W>, array: &ArrayRef, cast: impl Fn(T::Native) -> W) {
    values.extend(array.as_primitive::<T>().values().iter().map(|&value| cast(value)));
}

fn mismatch(data_type: DataType, given: &ArrowType) -> Error {
    Error::internal(format!("a column of type {data_type} was given an array of {given}"))
}

/// Appends values of no fixed width.
fn extend_variable(ends: &mut Vec<u32>, bytes: &mut Vec<u8>, array: &ArrayRef, data_type: DataType) -> Result<()> {
    match array.data_type() {
        ArrowType::BinaryView => extend_texts(ends, bytes, array.as_binary_view().iter()),
        ArrowType::LargeBinary => extend_texts(ends, bytes, array.as_binary::<i64>().iter()),
        ArrowType::Binary if data_type.is_bits() => extend_texts(ends, bytes, array.as_binary::<i32>().iter()),
        arrow if data_type == DataType::JsonPath && *arrow == data_type.arrow() => {
            let texts = array.as_dictionary();
            extend_texts(ends, bytes, (0..array.len()).map(|row| text_of(texts, row)));
        }
        ArrowType::Utf8 => extend_texts(ends, bytes, array.as_string::<i32>().iter()),
        ArrowType::LargeUtf8 => extend_texts(ends, bytes, array.as_string::<i64>().iter()),
        ArrowType::Utf8View => extend_texts(ends, bytes, array.as_string_view().iter()),
        other => return Err(mismatch(data_type, other)),
    }
    Ok(())
}

fn extend_texts<'a, T: AsRef<[u8]> + ?Sized + 'a>(
    ends: &mut Vec<u32>,
    bytes: &mut Vec<u8>,
    texts: impl Iterator<Item = Option<&'a T>>,
) {
    for text in texts {
        bytes.extend_from_slice(text.map_or(&[], AsRef::as_ref));
        ends.push(text_end(bytes));
    }
}
