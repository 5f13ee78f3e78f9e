//! Blocks of documents (jsonb): kept as pieces of columns where that takes less than their texts do, and read as the
//! texts that they were.
//!
//! ```text
//!   8192 documents ──▶ pieces (front, levels, values)     smaller than the texts, by a sample of them?
//!                  └─▶ texts, as any other column         if not
//!
//!   block_for ──▶ a block of texts, of the wanted rows     value, row ──▶ of one row     field ──▶ one path's values
//! ```
//!
//! Every piece is a slice of the block: it has a place, a checksum and a place in the cache of its own. Assembled texts
//! are not kept.
//!
//! Source: Alkowaileet and Carey, "Columnar Formats for Schemaless LSM-based Document Stores" (VLDB 2022), section 4: a
//! mega leaf is a block here, its page 0 the front.

use std::sync::Arc;

use crate::bloom::hash_bytes;
use crate::document::{
    COLUMNS_MAX, DocumentSchema, Documents, FieldPath, FieldValues, PathStatistics, PathSummary, assemble,
    assemble_row, casts_all, check, encode_documents, may_match, statistics,
};
use crate::encoding::{Block, BlockBuilder, EncodedBlock, Encoding, HashesWanted};
use crate::error::{Error, Result};
use crate::mask::Mask;
use crate::predicate::Predicate;
use crate::stats::ColumnStats;
use crate::table::cache::{BlockCache, NoCache};
use crate::table::column_table::ColumnTable;
use crate::types::DataType;
use crate::value::ValueRef;

/// Fewer documents than this are kept as texts.
const ROWS_MIN: usize = 64;
/// Documents with fewer bytes are kept as texts.
const BYTES_MIN: usize = 4 << 10;
/// About so many documents tell what the texts of all would take.
const SAMPLE_ROWS: usize = 256;

/// Encodes the waiting rows of a column as documents, if that pays; then the builder starts over.
pub(crate) fn finish_documents(
    builder: &mut BlockBuilder,
    wanted: HashesWanted,
    pause: &mut dyn FnMut(),
) -> Option<EncodedBlock> {
    let rows = builder.len();
    if builder.data_type() != DataType::Jsonb || rows < ROWS_MIN || builder.pending_bytes() < BYTES_MIN {
        return None;
    }
    let mut trainer = std::mem::take(&mut builder.trainer);
    let is_new = trainer.is_new();
    let texts: Vec<Option<&str>> = builder.texts()?;
    let encoded = encode_documents(texts.iter().copied(), COLUMNS_MAX, &mut trainer, pause);
    let encoded = encoded.filter(|encoded| encoded.bytes.len() < bytes_as_texts(&texts));
    let Some(encoded) = encoded else {
        if !is_new {
            builder.trainer = trainer;
        }
        return None;
    };
    let stats = bounds(&texts);
    let hashes = match wanted {
        HashesWanted::None => None,
        HashesWanted::Few(count) if rows > count => None,
        _ => Some(texts.iter().flatten().map(|text| hash_bytes(text.as_bytes())).collect()),
    };
    let document_bytes = Some(texts.iter().flatten().map(|text| text.len() as u32).sum());
    builder.trainer = trainer;
    builder.start_over();
    Some(EncodedBlock {
        bytes: encoded.bytes,
        slice_bytes: encoded.piece_bytes,
        slice_rows: crate::encoding::BLOCK_ROWS,
        document_bytes,
        encoding: Encoding::Plain,
        stats,
        hashes,
    })
}

/// About how many bytes the documents would have as a block of texts.
fn bytes_as_texts(texts: &[Option<&str>]) -> usize {
    let step = (texts.len() / SAMPLE_ROWS).max(1);
    let mut builder = BlockBuilder::new(DataType::Jsonb);
    let (mut sampled, mut total) = (0, 0);
    for (row, text) in texts.iter().enumerate() {
        let bytes = text.map_or(0, str::len);
        total += bytes;
        if row.is_multiple_of(step) {
            sampled += bytes;
            builder.push(text.map_or(ValueRef::Null, ValueRef::Text));
        }
    }
    let encoded = builder.finish(HashesWanted::None).bytes.len();
    (encoded as u128 * total as u128 / sampled.max(1) as u128) as usize
}

fn bounds(texts: &[Option<&str>]) -> ColumnStats {
    let values = || texts.iter().flatten().copied();
    let bound = |text: Option<&'_ str>| text.map_or(crate::value::Value::Null, |text| ValueRef::Text(text).to_value());
    let (min, max) = (bound(values().min()), bound(values().max()));
    let null_count = texts.iter().filter(|text| text.is_none()).count();
    ColumnStats::new(min.as_ref(), max.as_ref(), null_count as u64, texts.len() as u64)
}

impl ColumnTable {
    /// Runs `each` on the documents of a block.
    fn with_documents<R>(
        &self,
        cache: &dyn BlockCache,
        (column, block): (usize, usize),
        each: impl FnOnce(&Documents<'_>) -> Result<R>,
    ) -> Result<R> {
        let load = |piece: usize| self.slice(cache, column, block, piece);
        let bytes = self.document_bytes(column, block);
        let documents = Documents::open(self.block_rows(block), self.piece_count(column, block), bytes, &load);
        documents.and_then(|documents| each(&documents)).map_err(|error| match error.code() {
            crate::error::Code::DataCorrupted if !error.message().starts_with("column table file") => {
                self.noted(self.in_block(column, block, error))
            }
            _ => error,
        })
    }

    /// The documents of the wanted rows as texts.
    pub(crate) fn documents_for(
        &self,
        cache: &dyn BlockCache,
        column: usize,
        block: usize,
        wanted: Option<&Mask>,
    ) -> Result<Arc<Block>> {
        self.with_documents(cache, (column, block), |documents| assemble(documents, wanted)).map(Arc::new)
    }

    /// One document, as a block of one row.
    pub(crate) fn document_at(
        &self,
        cache: &dyn BlockCache,
        column: usize,
        block: usize,
        row: usize,
    ) -> Result<Arc<Block>> {
        self.with_documents(cache, (column, block), |documents| assemble_row(documents, row)).map(Arc::new)
    }

    /// The values of a field of the documents in a block, of the rows that are wanted, one after the other. Where the
    /// documents are columns, only those of the field are read.
    pub fn field(
        &self,
        cache: &dyn BlockCache,
        (column, block): (usize, usize),
        path: &FieldPath,
        wanted: Option<&Mask>,
    ) -> Result<FieldValues> {
        if self.column_type(column) != DataType::Jsonb {
            return Err(Error::internal(format!("a field is asked of column {column}, which has no documents")));
        }
        if self.is_documents(column, block) {
            return self.with_documents(cache, (column, block), |documents| path.of_documents(documents, wanted));
        }
        let texts = self.block_for(cache, column, block, wanted)?;
        path.of_block(&texts, wanted)
    }

    /// About how many bytes the values of a field in all rows of a block take when they are decoded.
    pub fn field_bytes(
        &self,
        cache: &dyn BlockCache,
        (column, block): (usize, usize),
        path: &FieldPath,
    ) -> Result<usize> {
        let whole = self.decoded_text_bytes(column, block);
        if !self.is_documents(column, block) {
            return Ok(whole);
        }
        let bytes = |piece| self.piece_bytes(column, block, piece);
        self.with_documents(cache, (column, block), |of| Ok(path.bytes_about(of, &bytes).unwrap_or(whole)))
    }

    /// Whether rows of a block may have a field that satisfies a predicate, whose column means nothing, by what the
    /// front of its documents says; false is certain. Of documents that are texts nothing is known.
    pub fn field_may_match(
        &self,
        cache: &dyn BlockCache,
        (column, block): (usize, usize),
        path: &FieldPath,
        predicate: &Predicate,
    ) -> Result<bool> {
        if !self.is_documents(column, block) {
            return Ok(true);
        }
        self.with_documents(cache, (column, block), |documents| Ok(may_match(documents, path, predicate)))
    }

    /// Whether the texts of a field in all rows of a block can be cast to a type of integers without an error, by what
    /// the front of its documents says; true is certain.
    pub fn field_casts_all(
        &self,
        cache: &dyn BlockCache,
        (column, block): (usize, usize),
        path: &FieldPath,
        to: DataType,
    ) -> Result<bool> {
        if !self.is_documents(column, block) {
            return Ok(false);
        }
        self.with_documents(cache, (column, block), |documents| Ok(casts_all(documents, path, to)))
    }

    /// The schema of a column's documents, of those blocks that have them as columns.
    pub fn document_schema(&self, cache: &dyn BlockCache, column: usize) -> Result<DocumentSchema> {
        let mut schema = DocumentSchema::default();
        for block in (0..self.block_count()).filter(|&block| self.is_documents(column, block)) {
            self.with_documents(cache, (column, block), |documents| {
                schema.merge(&documents.front.schema);
                Ok(())
            })?;
        }
        Ok(schema)
    }

    /// What the front of a block of documents knows of each of their paths; nothing when they are texts.
    pub fn path_statistics(
        &self,
        cache: &dyn BlockCache,
        column: usize,
        block: usize,
    ) -> Result<Option<Vec<PathStatistics>>> {
        if !self.is_documents(column, block) {
            return Ok(None);
        }
        let bytes = |piece| self.piece_bytes(column, block, piece);
        self.with_documents(cache, (column, block), |documents| Ok(statistics(documents, &bytes))).map(Some)
    }

    /// Adds what the front of a block knows of its paths, and reads nothing else; false when its documents are texts.
    pub fn add_paths(
        &self,
        cache: &dyn BlockCache,
        (column, block): (usize, usize),
        summary: &mut PathSummary,
    ) -> Result<bool> {
        if !self.is_documents(column, block) {
            return Ok(false);
        }
        let bytes = |piece| self.piece_bytes(column, block, piece);
        self.with_documents(cache, (column, block), |documents| {
            summary.add(documents, &bytes, self.file_id());
            Ok(true)
        })
    }

    /// Tests everything about the documents of a block that reading takes on trust.
    pub(crate) fn check_documents(&self, column: usize, block: usize) -> Result<()> {
        self.with_documents(&NoCache, (column, block), check)
    }
}
