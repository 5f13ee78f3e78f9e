//! Keys of rows and their row ids, in a file by key.

use std::sync::Arc;

use weft_format::bloom::hash_bytes;
use weft_format::{Result, Value};

use super::files::OpenFile;

/// See the module.
#[derive(Clone)]
pub(super) struct KeyRun {
    /// Of two runs with a key the one with the higher rank counts.
    pub(super) rank: u64,
    pub(super) file: Arc<OpenFile>,
}

impl KeyRun {
    /// The row id of a key.
    pub(super) fn find(&self, key: &[u8]) -> Result<Option<u64>> {
        let table = &self.file.table;
        if key < table.min_key() || key > table.max_key() || !table.may_contain_key(hash_bytes(key)) {
            return Ok(None);
        }
        let found = table.find_unfiltered(self.file.cache(), key)?;
        if found.is_empty() {
            return Ok(None);
        }
        assert!(found.len() == 1, "a run has a key once");
        self.row_id(found.start).map(Some)
    }

    /// The row id at a position.
    pub(super) fn row_id(&self, position: u32) -> Result<u64> {
        self.file.number_at(self.file.table.column_count() - 1, position)
    }

    /// One more than the highest row id.
    pub(super) fn next_row_id(&self) -> u64 {
        match self.file.table.stats(self.file.table.column_count() - 1).max {
            Value::Int(row_id) => row_id.cast_unsigned() + 1,
            _ => 0,
        }
    }

    /// How many keys it has.
    pub(super) fn rows(&self) -> u64 {
        u64::from(self.file.table.row_count())
    }
}
