//! What a table has in which layer, for people and for SQL's views.

use weft_format::{Error, FileId, Value};

/// A layer, or a bucket's share of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LayerStatus {
    /// Its name: `active row table`, `frozen row tables`, `incremental`, `transition`, `baseline`.
    pub layer: &'static str,
    /// Which bucket's share this is, counted from 0 by key; none: the layer has no buckets.
    pub bucket: Option<u32>,
    /// Row tables or column tables.
    pub parts: u64,
    /// Row versions in them.
    pub rows: u64,
    /// How many of these are dead.
    pub dead_rows: u64,
    /// Bytes, in memory or on disk.
    pub bytes: u64,
    /// The lowest key, as the key codec writes it; none when nothing is there.
    pub key_min: Option<Vec<u8>>,
    /// The highest key.
    pub key_max: Option<Vec<u8>>,
}

/// A data file that could not be read when it was needed last.
#[derive(Clone, Debug)]
pub struct Damage {
    /// The file; none: the table itself could not be opened.
    pub file: Option<FileId>,
    /// What is wrong; names the file.
    pub error: Error,
}

/// A file that a method takes out of a table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TakenOut {
    /// The payload of the edit that takes it out.
    pub payload: Vec<u8>,
    /// Rows that are alive in it, by the payloads.
    pub rows: u64,
    /// The lowest and the highest key in it, when its footer can be read.
    pub keys: Option<(Vec<Value>, Vec<Value>)>,
}

/// A data file and its delete marks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartStatus {
    /// The file.
    pub file: FileId,
    /// The layer it is in.
    pub layer: &'static str,
    /// Rows in it.
    pub rows: u64,
    /// Bytes on disk.
    pub bytes: u64,
    /// Rows that are marked dead.
    pub marks: u64,
    /// Marks that keep their timestamp, since some snapshot may be older.
    pub young_marks: u64,
    /// Memory of the bitmap and of the young marks.
    pub marks_bytes: u64,
}
