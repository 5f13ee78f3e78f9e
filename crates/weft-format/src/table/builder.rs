//! Builds the image of a column table from rows or Arrow batches that arrive in key order.
//!
//! Rows gather in one [`BlockBuilder`] per column; every 8192 rows each is encoded. The image is laid out at the end,
//! column by column, since a scan of one column then reads the file in one stretch.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef};

use crate::arrow_values::{stored, stored_value_at};
use crate::bloom::{BLOOM_BITS_PER_KEY, BloomFilter, hash_bytes};
use crate::encoding::{BLOCK_ROWS, BlockBuilder, EncodedBlock, HashesWanted};
use crate::error::{Error, Result};
use crate::ids::{FileId, TableId, Timestamp};
use crate::key;
use crate::row::RowCodec;
use crate::schema::Schema;
use crate::stats::ColumnStats;
use crate::summary::{Collector, write_summaries};
use crate::table::documents::finish_documents;
use crate::table::footer::{BlockEntry, ColumnEntry, Footer, SliceEntry};
use crate::table::header::{Header, trailer_bytes};
use crate::table::layout::{
    COLUMN_BLOOM_BYTES_MAX, FOOTER_PLACE, FORMAT_VERSION, HEADER_BYTES, INDEX_ROWS, SUMMARIES_PLACE, checksum,
};
use crate::types::DataType;
use crate::value::ValueRef;

/// Choices of the table's owner.
#[derive(Clone, Debug, Default)]
pub struct ColumnTableOptions {
    /// Ordinals of columns that get a Bloom filter whatever it costs (about 10 bits per distinct value).
    pub bloom_columns: Vec<usize>,
    /// The filter of keys denies nothing and takes no room: nobody looks for a key that may not be there.
    pub without_key_filter: bool,
    /// Documents (jsonb) stay texts, never columns.
    pub documents_as_texts: bool,
    /// Nobody asks what the values are like: no summaries are made.
    pub without_summaries: bool,
    /// Files with fewer bytes in their blocks have no summaries, which would be as large as what they tell of.
    pub summaries_from_bytes: usize,
}

/// Insert timestamps of a batch.
#[derive(Clone, Copy, Debug)]
pub enum InsertTimestamps<'a> {
    /// One for every row.
    Same(Timestamp),
    /// One per row.
    Each(&'a [u64]),
}

/// A finished file, not yet written.
#[derive(Debug)]
pub struct ColumnTableImage {
    /// The file's bytes.
    pub bytes: Vec<u8>,
    /// The file they are for.
    pub file: FileId,
    /// How many rows it holds.
    pub row_count: u32,
    /// First key.
    pub min_key: Vec<u8>,
    /// Last key.
    pub max_key: Vec<u8>,
    /// Smallest insert timestamp.
    pub min_insert_ts: Timestamp,
    /// Greatest insert timestamp.
    pub max_insert_ts: Timestamp,
}

/// Collects rows in the order of (key, insert timestamp).
pub struct ColumnTableBuilder {
    schema: Arc<Schema>,
    codec: RowCodec,
    columns: Vec<ColumnState>,
    rows: u32,
    pending_rows: usize,
    encoded_bytes: usize,
    key: Vec<u8>,
    last_key: Vec<u8>,
    last_ts: Timestamp,
    first_keys: Vec<Vec<u8>>,
    /// None: nobody asks (`without_key_filter`).
    key_hashes: Option<Vec<u64>>,
    min_ts: Timestamp,
    max_ts: Timestamp,
    /// None: nobody asks (`without_summaries`).
    collector: Option<Collector>,
    summaries_from_bytes: usize,
    pause: Option<Pause>,
}

/// What is called between two pieces of work.
type Pause = Box<dyn FnMut() + Send>;

fn rest(pause: &mut Option<Pause>) {
    if let Some(pause) = pause {
        pause();
    }
}

/// One stored column; the last holds the insert timestamps.
struct ColumnState {
    builder: BlockBuilder,
    blocks: Vec<EncodedBlock>,
    wanted: HashesWanted,
    hashes: Vec<u64>,
    may_be_documents: bool,
}

impl ColumnState {
    /// Bytes of the waiting rows, as far as they are likely to be written.
    fn pending_bytes(&self) -> usize {
        self.builder.pending_bytes() / if self.may_be_documents { DOCUMENTS_SHRINK } else { 1 }
    }
}

/// Documents shrink more than other columns, by about so much: their names are not repeated.
const DOCUMENTS_SHRINK: usize = 4;
/// Most distinct values of a column whose Bloom filter stays small.
const COLUMN_BLOOM_VALUES_MAX: usize = COLUMN_BLOOM_BYTES_MAX * 8 / BLOOM_BITS_PER_KEY;

impl ColumnTableBuilder {
    /// An empty builder of a schema's tables.
    pub fn new(schema: Arc<Schema>, options: &ColumnTableOptions) -> ColumnTableBuilder {
        let state = |data_type, wanted| ColumnState {
            builder: BlockBuilder::new(data_type),
            blocks: Vec::new(),
            wanted,
            hashes: Vec::new(),
            may_be_documents: false,
        };
        let mut columns: Vec<ColumnState> = Vec::with_capacity(schema.columns.len() + 1);
        for (ordinal, column) in schema.columns.iter().enumerate() {
            let listed = options.bloom_columns.contains(&ordinal);
            let wanted = if listed { HashesWanted::All } else { HashesWanted::Few(COLUMN_BLOOM_VALUES_MAX) };
            // The key filter answers for a key of one column.
            let covered = schema.key == [ordinal];
            let mut state = state(column.data_type, if covered { HashesWanted::None } else { wanted });
            let is_key = schema.key.contains(&ordinal);
            state.may_be_documents = column.data_type == DataType::Jsonb && !is_key && !options.documents_as_texts;
            columns.push(state);
        }
        columns.push(state(DataType::BigInt, HashesWanted::None));
        ColumnTableBuilder {
            codec: RowCodec::new(&schema),
            collector: (!options.without_summaries).then(|| Collector::new(&schema)),
            summaries_from_bytes: options.summaries_from_bytes,
            schema,
            columns,
            rows: 0,
            pending_rows: 0,
            encoded_bytes: 0,
            key: Vec::new(),
            last_key: Vec::new(),
            last_ts: Timestamp(0),
            first_keys: Vec::new(),
            key_hashes: (!options.without_key_filter).then(Vec::new),
            min_ts: Timestamp::MAX,
            max_ts: Timestamp(0),
            pause: None,
        }
    }

    /// Calls `pause` after each column of each batch that it takes in, of each block that it encodes, within wide
    /// ones, and of the file that it lays out, several times in a millisecond of work: who builds in the background
    /// lets others have the core there.
    pub fn pause_with(&mut self, pause: impl FnMut() + Send + 'static) {
        self.pause = Some(Box::new(pause));
    }

    /// How many rows were added.
    pub fn row_count(&self) -> u32 {
        self.rows
    }

    /// About how many bytes the file would have if it were finished now.
    pub fn estimated_bytes(&self) -> usize {
        let pending: usize = self.columns.iter().map(ColumnState::pending_bytes).sum();
        let hashes = self.key_hashes.as_ref().map_or(0, Vec::len);
        // Rows that wait shrink as much as those before them did, or to about 2 in 3.
        HEADER_BYTES + self.encoded_bytes + pending * 2 / 3 + hashes * BLOOM_BITS_PER_KEY / 8
    }

    /// Adds a row in [`RowCodec`]'s bytes. Panics when it does not follow the row before it.
    pub fn push_row(&mut self, row: &[u8], insert_ts: Timestamp) {
        self.key.clear();
        for &ordinal in &self.schema.key {
            key::put(&mut self.key, self.schema.columns[ordinal].data_type, self.codec.get(row, ordinal));
        }
        self.note_key(insert_ts);
        for (ordinal, column) in self.columns[..self.schema.columns.len()].iter_mut().enumerate() {
            column.builder.push(self.codec.get(row, ordinal));
        }
        self.push_ts(insert_ts);
        self.pending_rows += 1;
        if self.pending_rows == BLOCK_ROWS {
            self.flush();
        }
    }

    /// Adds rows of every stored column, in schema order and Arrow types of [`DataType::arrow`] (text may be Utf8,
    /// LargeUtf8 or Utf8View). Panics when a row does not follow the one before it. After an error the builder is of
    /// no use.
    pub fn push_batch(&mut self, columns: &[ArrayRef], insert_ts: InsertTimestamps<'_>) -> Result<()> {
        let width = self.schema.columns.len();
        let rows = columns.first().map_or(0, |column| column.len());
        if columns.len() != width || columns.iter().any(|column| column.len() != rows) {
            return Err(Error::internal(format!("a batch of {} columns for a table of {width}", columns.len())));
        }
        let typed = columns.iter().zip(&self.schema.columns);
        let columns: Vec<ArrayRef> = typed.map(|(array, column)| stored(array, column.data_type)).collect();
        if let InsertTimestamps::Each(each) = insert_ts {
            assert_eq!(each.len(), rows, "a batch has one insert timestamp per row");
        }
        for &ordinal in &self.schema.key {
            if columns[ordinal].null_count() > 0 {
                return Err(Error::internal(format!("key column {ordinal} of a batch holds NULL")));
            }
        }
        let mut offset = 0;
        while offset < rows {
            let len = (BLOCK_ROWS - self.pending_rows).min(rows - offset);
            for (column, array) in self.columns.iter_mut().zip(&columns) {
                column.builder.push_array(array, offset, len)?;
                rest(&mut self.pause);
            }
            for row in offset..offset + len {
                let ts = match insert_ts {
                    InsertTimestamps::Same(ts) => ts,
                    InsertTimestamps::Each(each) => Timestamp(each[row]),
                };
                self.key.clear();
                for &ordinal in &self.schema.key {
                    let value = stored_value_at(&columns[ordinal], row).expect("the block builder took this type");
                    key::put(&mut self.key, self.schema.columns[ordinal].data_type, value);
                }
                self.note_key(ts);
                self.push_ts(ts);
            }
            self.pending_rows += len;
            offset += len;
            if self.pending_rows == BLOCK_ROWS {
                self.flush();
            }
        }
        Ok(())
    }

    fn push_ts(&mut self, ts: Timestamp) {
        self.min_ts = self.min_ts.min(ts);
        self.max_ts = self.max_ts.max(ts);
        let column = self.columns.last_mut().expect("the timestamps are the last column");
        column.builder.push(ValueRef::Int(ts.0 as i64));
    }

    /// Takes in the key of the row being added, which lies in `self.key`.
    fn note_key(&mut self, ts: Timestamp) {
        if self.rows > 0 {
            let order = self.last_key.cmp(&self.key).then(self.last_ts.cmp(&ts));
            assert!(order.is_le(), "rows of a column table come ordered by key and insert timestamp");
        }
        if (self.rows as usize).is_multiple_of(INDEX_ROWS) {
            self.first_keys.push(self.key.clone());
        }
        if let Some(hashes) = &mut self.key_hashes {
            hashes.push(hash_bytes(&self.key));
        }
        std::mem::swap(&mut self.key, &mut self.last_key);
        self.last_ts = ts;
        self.rows = self.rows.checked_add(1).expect("tables are cut at a few MB, far below 2^32 rows");
    }

    /// Encodes the waiting rows.
    fn flush(&mut self) {
        if let Some(collector) = &mut self.collector {
            collector.rows(self.pending_rows);
        }
        for (ordinal, column) in self.columns.iter_mut().enumerate() {
            let mut pause = || rest(&mut self.pause);
            if let Some(collector) = self.collector.as_mut().filter(|_| ordinal < self.schema.columns.len()) {
                collector.block(ordinal, &column.builder);
            }
            let documents =
                column.may_be_documents.then(|| finish_documents(&mut column.builder, column.wanted, &mut pause));
            let mut block = match documents.flatten() {
                Some(documents) => documents,
                None => column.builder.finish_slices(column.wanted, &mut pause),
            };
            self.encoded_bytes += block.bytes.len() + 64;
            match (column.wanted, block.hashes.take()) {
                (HashesWanted::None, _) => {}
                (HashesWanted::All, hashes) => column.hashes.extend(hashes.expect("all hashes were asked for")),
                (HashesWanted::Few(_), Some(hashes)) => {
                    column.hashes.extend(hashes);
                    column.hashes.sort_unstable();
                    column.hashes.dedup();
                    if column.hashes.len() > COLUMN_BLOOM_VALUES_MAX {
                        column.wanted = HashesWanted::None;
                    }
                }
                (HashesWanted::Few(_), None) => column.wanted = HashesWanted::None,
            }
            column.blocks.push(block);
            rest(&mut self.pause);
        }
        self.pending_rows = 0;
    }

    /// Lays out the file. The caller writes and syncs it. A table has at least one row.
    pub fn finish(mut self, table: TableId, file: FileId) -> Result<ColumnTableImage> {
        if self.rows == 0 {
            return Err(Error::internal("a column table has at least one row"));
        }
        if self.pending_rows > 0 {
            self.flush();
        }
        let header = Header {
            table,
            file,
            schema_version: self.schema.version,
            column_count: self.columns.len() as u32,
            row_count: self.rows,
            version: FORMAT_VERSION,
        };
        let mut bytes = Vec::with_capacity(self.estimated_bytes() + self.encoded_bytes / 8);
        bytes.extend_from_slice(&header.to_bytes());
        let mut entries = Vec::with_capacity(self.columns.len());
        for (number, column) in self.columns.iter_mut().enumerate() {
            entries.push(write_column(&mut bytes, file, number as u32, column));
            rest(&mut self.pause);
        }
        let collector = self.collector.take().filter(|_| bytes.len() >= self.summaries_from_bytes);
        let summaries = collector.map(|collector| append_summaries(&mut bytes, file, collector, &entries));
        let key_filter = match &self.key_hashes {
            None => BloomFilter::of_everything(),
            Some(hashes) => {
                let mut filter = BloomFilter::with_capacity(hashes.len());
                hashes.iter().for_each(|&hash| filter.insert(hash));
                filter
            }
        };
        let footer = Footer {
            max_key: self.last_key,
            first_keys: self.first_keys,
            key_filter,
            min_insert_ts: self.min_ts,
            max_insert_ts: self.max_ts,
            columns: entries,
            summaries,
        };
        let footer_bytes = footer.to_bytes(FORMAT_VERSION);
        let crc = checksum(file, FOOTER_PLACE, FOOTER_PLACE, &footer_bytes);
        let trailer = trailer_bytes(file, bytes.len() as u64, footer_bytes.len() as u32, crc);
        bytes.extend_from_slice(&footer_bytes);
        bytes.extend_from_slice(&trailer);
        Ok(ColumnTableImage {
            bytes,
            file,
            row_count: self.rows,
            min_key: footer.first_keys[0].clone(),
            max_key: footer.max_key,
            min_insert_ts: self.min_ts,
            max_insert_ts: self.max_ts,
        })
    }
}

/// Appends the summaries of the columns.
fn append_summaries(bytes: &mut Vec<u8>, file: FileId, collector: Collector, entries: &[ColumnEntry]) -> SliceEntry {
    let stats: Vec<ColumnStats> = entries.iter().map(ColumnEntry::stats).collect();
    let summaries = write_summaries(&collector.finish(stats.iter()));
    bytes.extend_from_slice(&summaries);
    SliceEntry { bytes: summaries.len() as u32, checksum: checksum(file, SUMMARIES_PLACE, 0, &summaries) }
}

/// Appends a column's blocks and answers its part of the footer.
fn write_column(bytes: &mut Vec<u8>, file: FileId, number: u32, column: &mut ColumnState) -> ColumnEntry {
    let mut blocks = Vec::with_capacity(column.blocks.len());
    let mut index = 0;
    for block in std::mem::take(&mut column.blocks) {
        let mut slices = Vec::with_capacity(block.slice_bytes.len());
        let mut rest = &block.bytes[..];
        for &slice_bytes in &block.slice_bytes {
            let (slice, others) = rest.split_at(slice_bytes as usize);
            slices.push(SliceEntry { bytes: slice_bytes, checksum: checksum(file, number, index, slice) });
            (rest, index) = (others, index + 1);
        }
        bytes.extend_from_slice(&block.bytes);
        let EncodedBlock { slice_rows, document_bytes, stats, .. } = block;
        blocks.push(BlockEntry { slice_rows, slices, document_bytes, stats });
    }
    column.hashes.sort_unstable();
    column.hashes.dedup();
    let filter = (column.wanted != HashesWanted::None).then(|| {
        let mut filter = BloomFilter::with_capacity(column.hashes.len());
        column.hashes.iter().for_each(|&hash| filter.insert(hash));
        filter
    });
    ColumnEntry { data_type: column.builder.data_type(), symbols: column.builder.symbol_table(), filter, blocks }
}
