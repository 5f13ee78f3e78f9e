//! What a summary takes of the rows that wait in a builder: the hash of each value, some values, and the bytes of all.

use crate::bloom::{hash_bytes, hash_value, hash_word};
use crate::encoding::builder::{BlockBuilder, Data};
use crate::encoding::kind::Kind;
use crate::value::ValueRef;

impl BlockBuilder {
    /// Tells the hash ([`hash_value`]) of each value that waits, in order.
    pub(crate) fn each_hash(&self, mut tell: impl FnMut(u64)) {
        let kind = Kind::of(self.data_type);
        let is_whole = self.null_count == 0;
        let valid = |row: &usize| is_whole || self.is_valid(*row);
        let rows = (0..self.rows).filter(valid);
        match &self.data {
            Data::Bool(values) => rows.for_each(|row| tell(hash_word(values[row].into()))),
            Data::Word16(values) => rows.for_each(|row| tell(hash_word(i64::from(values[row] as i16) as u64))),
            Data::Word32(values) if kind == Kind::Int32 => {
                rows.for_each(|row| tell(hash_word(i64::from(values[row] as i32) as u64)));
            }
            Data::Word64(values) if kind == Kind::Int64 => rows.for_each(|row| tell(hash_word(values[row]))),
            Data::Word128(values) if kind == Kind::Decimal => {
                rows.for_each(|row| tell(hash_bytes(&values[row].to_le_bytes())));
            }
            Data::Word32(values) => {
                rows.for_each(|row| tell(hash_value(kind.value(u128::from(values[row])).as_ref())));
            }
            Data::Word64(values) => {
                rows.for_each(|row| tell(hash_value(kind.value(u128::from(values[row])).as_ref())));
            }
            Data::Word128(values) => rows.for_each(|row| tell(hash_value(kind.value(values[row]).as_ref()))),
            Data::Text { ends, bytes } => {
                let start = |row: usize| if row == 0 { 0 } else { ends[row - 1] as usize };
                rows.for_each(|row| tell(hash_bytes(&bytes[start(row)..ends[row] as usize])));
            }
        }
    }

    /// Tells the values of some of the rows that wait.
    pub(crate) fn each_of(&self, rows: &[u32], mut tell: impl FnMut(ValueRef<'_>)) {
        let kind = Kind::of(self.data_type);
        for row in rows.iter().map(|&row| row as usize) {
            if !self.is_valid(row) {
                tell(ValueRef::Null);
                continue;
            }
            let bits = match &self.data {
                Data::Bool(values) => values[row].into(),
                Data::Word16(values) => values[row].into(),
                Data::Word32(values) => values[row].into(),
                Data::Word64(values) => values[row].into(),
                Data::Word128(values) => values[row],
                Data::Text { ends, bytes } => {
                    let start = if row == 0 { 0 } else { ends[row - 1] as usize };
                    tell(kind.variable(&bytes[start..ends[row] as usize]));
                    continue;
                }
            };
            tell(kind.value(bits).as_ref());
        }
    }

    /// The bytes of all values that wait, a text's length byte included.
    pub(crate) fn value_bytes(&self) -> u64 {
        let present = (self.rows - self.null_count) as u64;
        match &self.data {
            Data::Text { bytes, .. } => bytes.len() as u64 + present,
            Data::Bool(_) => present,
            _ => present * Kind::of(self.data_type).width() as u64,
        }
    }
}
