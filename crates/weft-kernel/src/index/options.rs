//! What an index is opened with: its sizes, and who knows which entries are still needed.

use std::sync::Arc;

use weft_env::Env;
use weft_format::{Result, TableId, Timestamp};

use crate::services::Services;
use crate::timeline::Horizon;

/// Sizes and thresholds of one index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexOptions {
    /// The active memory is frozen at this size, bytes.
    pub memory_bytes: u64,
    /// A range splits when its runs are larger than this, bytes.
    pub range_bytes_max: u64,
    /// A range that reads so many runs merges the small ones.
    pub runs_max: usize,
    /// A block of a run is ended at this size, bytes.
    pub block_bytes: usize,
    /// What a bulk build sorts in memory at once, bytes.
    pub sort_bytes: u64,
    /// Lookups of absent values after which a run's filter is judged.
    pub filter_misses_min: u64,
    /// A filter that lets one in so many of them through is rebuilt.
    pub filter_false_ratio: u64,
    /// Noted outdated entries after which a range is merged whole to drop them, if they are a fifth of all.
    pub stale_max: u64,
}

impl Default for IndexOptions {
    fn default() -> IndexOptions {
        IndexOptions {
            memory_bytes: 8 << 20,
            range_bytes_max: 64 << 20,
            runs_max: 6,
            block_bytes: 8 << 10,
            sort_bytes: 32 << 20,
            filter_misses_min: 4096,
            filter_false_ratio: 32,
            stale_max: 10_000,
        }
    }
}

/// Knows which entries are still needed: asked while runs are merged.
pub trait Keep: Send + Sync {
    /// Whether some row version that a snapshot at or after the horizon can see has this value and key, so that the
    /// entry must stay. Asked only for entries that every snapshot, present and future, is behind. May read the table;
    /// no lock of the index is held. When in doubt: true.
    fn keep(&self, value: &[u8], key: &[u8], ts: Timestamp) -> Result<bool>;
}

/// Keeps every entry.
#[derive(Clone, Copy, Debug, Default)]
pub struct KeepAll;

impl Keep for KeepAll {
    fn keep(&self, _value: &[u8], _key: &[u8], _ts: Timestamp) -> Result<bool> {
        Ok(true)
    }
}

/// What an index gets to be opened.
#[derive(Clone)]
pub struct IndexContext {
    /// Its number, of the same space as tables: files and manifest edits go by it.
    pub id: TableId,
    /// Its name, for errors.
    pub name: String,
    /// Files, time, threads.
    pub env: Env,
    /// Paths, manifest, cache, timestamps, row budget.
    pub services: Arc<Services>,
    /// How far back its table is read.
    pub horizon: Arc<Horizon>,
    /// Sizes.
    pub options: IndexOptions,
    /// Which entries may go.
    pub keep: Arc<dyn Keep>,
}
