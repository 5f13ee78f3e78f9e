//! Keys of rows and their row ids, in a file by key; of a key that came back by a bulk load with several, newest first.

use std::ops::Range;
use std::sync::Arc;

use weft_format::bloom::hash_bytes;
use weft_format::{Result, Value};

use super::files::OpenFile;

/// See the module.
#[derive(Clone)]
pub(super) struct KeyRun {
    /// Of two runs with a key the one with the higher rank counts; of two of one rank that with the greater offset. One
    /// beyond the base's cut is of a bulk load that is not merged yet.
    pub(super) rank: u64,
    /// What is added to the row ids in the file.
    pub(super) offset: u64,
    pub(super) file: Arc<OpenFile>,
}

impl KeyRun {
    /// The row ids of a key, the greatest first.
    pub(super) fn row_ids(&self, key: &[u8]) -> impl Iterator<Item = Result<u64>> + '_ {
        let (found, error) = match self.find(key) {
            Ok(found) => (found, None),
            Err(error) => (0..0, Some(Err(error))),
        };
        error.into_iter().chain(found.map(|position| self.row_id(position)))
    }

    fn find(&self, key: &[u8]) -> Result<Range<u32>> {
        let table = &self.file.table;
        if key < table.min_key() || key > table.max_key() || !table.may_contain_key(hash_bytes(key)) {
            return Ok(0..0);
        }
        table.find_unfiltered(self.file.cache(), key)
    }

    /// The row id at a position.
    pub(super) fn row_id(&self, position: u32) -> Result<u64> {
        let row_id = self.file.number_at(self.file.table.column_count() - 1, position)?;
        Ok(self.offset + row_id)
    }

    /// One more than the highest row id.
    pub(super) fn next_row_id(&self) -> u64 {
        match self.file.table.stats(self.file.table.column_count() - 1).max {
            Value::Int(row_id) => self.offset + row_id.cast_unsigned() + 1,
            _ => 0,
        }
    }

    /// Its place among runs: who is asked first comes first.
    pub(super) fn order(&self) -> impl Ord + use<> {
        std::cmp::Reverse((self.rank, self.offset))
    }

    /// How many keys it has.
    pub(super) fn rows(&self) -> u64 {
        u64::from(self.file.table.row_count())
    }
}
