//! An open column table: what its header and footer say, and its blocks, read on demand through a cache.
//!
//! Concurrency: immutable after [`ColumnTable::open`]; share it behind an `Arc`. Crash: the file is written and synced
//! before anything names it; open tests header, footer and trailer, [`ColumnTable::block`] each block it loads.

use std::fmt;
use std::sync::Arc;

use arrow_buffer::MutableBuffer;
use weft_env::File;
use weft_env::sync::Mutex;

use crate::array::ArrayValue;
use crate::bloom::{BloomFilter, hash_bytes, hash_value};
use crate::document::attach_front;
use crate::encoding::slices::rows_of_slice;
use crate::encoding::{BLOCK_ROWS, Block, Kind, SymbolTable};
use crate::error::{Code, Error, Result};
use crate::file_name;
use crate::ids::{FileId, TableId, Timestamp};
use crate::key::{self, KeyCodec, head};
use crate::mask::Mask;
use crate::predicate::{CompareOp, Predicate};
use crate::row::RowCodec;
use crate::schema::Schema;
use crate::stats::ColumnStats;
use crate::summary::{ColumnSummary, read_summaries};
use crate::table::cache::{BlockCache, BlockKey, NoCache};
use crate::table::footer::{ColumnEntry, Footer, SliceEntry};
use crate::table::header::{Header, Trailer};
use crate::table::layout::{FOOTER_PLACE, HEADER_BYTES, SUMMARIES_PLACE, TRAILER_BYTES, checksum};
use crate::types::DataType;
use crate::value::Value;

/// What a column costs in the codecs of keys and rows, about.
const CODEC_BYTES: usize = 48;

/// An immutable run of rows, ordered by (key, insert timestamp), as columns in one file.
pub struct ColumnTable {
    file: Arc<dyn File>,
    pub(crate) header: Header,
    file_bytes: u64,
    pub(crate) max_key: Vec<u8>,
    pub(crate) first_keys: Vec<Vec<u8>>,
    /// Their first 8 bytes as numbers, zeros for those that are missing.
    pub(crate) first_heads: Vec<u64>,
    pub(crate) key_filter: BloomFilter,
    pub(crate) min_insert_ts: Timestamp,
    pub(crate) max_insert_ts: Timestamp,
    /// The schema's columns, then the insert timestamps.
    pub(crate) columns: Vec<Column>,
    /// Where the summaries lie, when there are some.
    summaries: Option<SlicePlace>,
    pub(crate) key_columns: Vec<usize>,
    pub(crate) key_codec: KeyCodec,
    codec: RowCodec,
    /// What the last load that failed said, and how many did.
    failed: Mutex<(u64, Option<Error>)>,
}

pub(crate) struct Column {
    pub(crate) data_type: DataType,
    symbols: Option<Arc<SymbolTable>>,
    pub(crate) filter: Option<BloomFilter>,
    pub(crate) blocks: Vec<BlockPlace>,
    slices: Vec<SlicePlace>,
    /// The number in the file of its first slice.
    first_slice: u32,
    pub(crate) stats: ColumnStats,
}

impl Column {
    fn memory_bytes(&self) -> usize {
        let symbols = if self.symbols.is_some() { size_of::<SymbolTable>() } else { 0 };
        let filter = self.filter.as_ref().map_or(0, BloomFilter::bytes);
        let places =
            self.blocks.capacity() * size_of::<BlockPlace>() + self.slices.capacity() * size_of::<SlicePlace>();
        let bounds: usize = self.blocks.iter().map(|block| block.stats.memory_bytes()).sum();
        size_of::<Column>() + symbols + filter + places + bounds + self.stats.memory_bytes()
    }
}

pub(crate) struct BlockPlace {
    /// The number in the column of its first slice.
    first_slice: u32,
    /// Rows of each slice but the last.
    slice_rows: u32,
    /// Of documents as columns: how many pieces there are, and how many bytes the texts have.
    documents: Option<(u32, u32)>,
    pub(crate) stats: ColumnStats,
}

struct SlicePlace {
    offset: u64,
    bytes: u32,
    checksum: u32,
}

impl fmt::Debug for ColumnTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ColumnTable(file {}, table {}, {} rows)", self.header.file, self.header.table, self.header.row_count)
    }
}

/// Says which file an error is about, by the name it has in a database directory.
pub(crate) fn in_file(table: TableId, file: FileId, error: Error) -> Error {
    let named = Error::new(error.code(), format!("column table file {}: {}", file_name(table, file), error.message()));
    match error.hint_text() {
        Some(hint) => named.hint(hint),
        None if error.code() == Code::DataCorrupted => {
            named.hint("go on without the file by `weft check --quarantine`, or restore it from a backup")
        }
        None => named,
    }
}

impl ColumnTable {
    /// Reads and tests header, trailer and footer. `table` is the one the file should belong to.
    pub fn open(file: Arc<dyn File>, table: TableId, id: FileId, schema: &Schema) -> Result<ColumnTable> {
        ColumnTable::open_inner(file, table, id, schema).map_err(|error| in_file(table, id, error))
    }

    fn open_inner(file: Arc<dyn File>, table: TableId, id: FileId, schema: &Schema) -> Result<ColumnTable> {
        let file_bytes = file.len().map_err(|error| Error::io("asking for its length", &error))?;
        if file_bytes < (HEADER_BYTES + TRAILER_BYTES) as u64 {
            return Err(Error::corrupt(format!("it has {file_bytes} bytes, less than a header and a trailer")));
        }
        let mut header_bytes = [0; HEADER_BYTES];
        read(&*file, &mut header_bytes, 0)?;
        let header = Header::parse(&header_bytes)?;
        if (header.table, header.file) != (table, id) {
            let what = format!("its header says it is {}", file_name(header.table, header.file));
            return Err(Error::corrupt(what));
        }
        let types: Vec<DataType> = schema.columns.iter().map(|column| column.data_type).collect();
        let stored = (header.column_count as usize).saturating_sub(1);
        if schema.key.iter().any(|&ordinal| ordinal >= stored) || header.column_count > COLUMNS_MAX {
            let (found, expected) = (header.column_count, types.len() + 1);
            return Err(Error::corrupt(format!("it stores {found} columns, its table has {expected}")));
        }
        let mut trailer_bytes = [0; TRAILER_BYTES];
        read(&*file, &mut trailer_bytes, file_bytes - TRAILER_BYTES as u64)?;
        let trailer = Trailer::parse(&trailer_bytes, id, file_bytes)?;
        let mut footer_bytes = vec![0; trailer.footer_bytes as usize];
        read(&*file, &mut footer_bytes, trailer.footer_offset)?;
        if checksum(id, FOOTER_PLACE, FOOTER_PLACE, &footer_bytes) != trailer.footer_checksum {
            return Err(Error::corrupt("its footer fails the checksum"));
        }
        let footer = Footer::parse(&footer_bytes, &header, &types)?;
        let mut shape = schema.clone();
        shape.columns = stored_columns(&footer);
        let summary_bytes = footer.summaries.map_or(0, |entry| u64::from(entry.bytes));
        let blocks_end = trailer.footer_offset.checked_sub(summary_bytes);
        let blocks_end = blocks_end.ok_or_else(|| Error::corrupt("its summaries are longer than all before them"))?;
        let columns = place_blocks(footer.columns, blocks_end)?;
        let place = |entry: SliceEntry| SlicePlace { offset: blocks_end, bytes: entry.bytes, checksum: entry.checksum };
        Ok(ColumnTable {
            file,
            header,
            file_bytes,
            max_key: footer.max_key,
            first_heads: footer.first_keys.iter().map(|key| head(key)).collect(),
            first_keys: footer.first_keys,
            key_filter: footer.key_filter,
            min_insert_ts: footer.min_insert_ts,
            max_insert_ts: footer.max_insert_ts,
            columns,
            summaries: footer.summaries.map(place),
            key_columns: schema.key.clone(),
            key_codec: KeyCodec::new(&shape),
            codec: RowCodec::new(&shape),
            failed: Mutex::default(),
        })
    }

    /// About what the open table holds in memory beside itself, blocks not counted: what it keeps of its footer.
    pub fn memory_bytes(&self) -> usize {
        let keys: usize = self.first_keys.iter().map(|key| size_of::<Vec<u8>>() + key.capacity()).sum();
        let heads = self.first_heads.capacity() * size_of::<u64>();
        let codecs = (self.columns.len() + self.key_columns.len()) * CODEC_BYTES;
        let columns: usize = self.columns.iter().map(Column::memory_bytes).sum();
        self.max_key.capacity() + keys + heads + self.key_filter.bytes() + codecs + columns
    }

    /// The file's number.
    pub fn file_id(&self) -> FileId {
        self.header.file
    }

    /// The table whose rows these are.
    pub fn table_id(&self) -> TableId {
        self.header.table
    }

    /// How many columns of its table the file has, the first ones: later ones are what the schema says of rows that do
    /// not have them.
    pub fn column_count(&self) -> usize {
        self.insert_ts_column()
    }

    /// The version of the schema that the rows were written in.
    pub fn schema_version(&self) -> u32 {
        self.header.schema_version
    }

    /// How many rows there are; positions are below it.
    pub fn row_count(&self) -> u32 {
        self.header.row_count
    }

    /// How many blocks each column has.
    pub fn block_count(&self) -> usize {
        (self.header.row_count as usize).div_ceil(BLOCK_ROWS)
    }

    /// How many rows a block has.
    pub fn block_rows(&self, block: usize) -> usize {
        BLOCK_ROWS.min(self.header.row_count as usize - block * BLOCK_ROWS)
    }

    /// About how many bytes a block of texts or bytes takes when it is decoded; 0 for other columns, which are small.
    pub fn decoded_text_bytes(&self, column: usize, block: usize) -> usize {
        let (parts, rows) = (&self.columns[column], self.block_rows(block));
        if !Kind::of(parts.data_type).is_variable() {
            return 0;
        }
        if let Some((_, bytes)) = parts.blocks[block].documents {
            return rows * size_of::<u128>() + bytes as usize;
        }
        let slices = rows.div_ceil(parts.blocks[block].slice_rows as usize);
        let slices = &parts.slices[parts.blocks[block].first_slice as usize..][..slices];
        let encoded: usize = slices.iter().map(|slice| slice.bytes as usize).sum();
        rows * size_of::<u128>() + encoded * if parts.symbols.is_some() { SYMBOL_BYTES } else { 1 }
    }

    /// Whether a block of a column that the file has is made of texts or bytes and has one slice.
    pub fn is_uncut_text(&self, column: usize, block: usize) -> bool {
        let parts = &self.columns[column];
        let is_uncut = parts.blocks[block].slice_rows as usize >= self.block_rows(block);
        Kind::of(parts.data_type).is_variable() && is_uncut && !self.is_documents(column, block)
    }

    /// Whether a block has documents as columns.
    pub fn is_documents(&self, column: usize, block: usize) -> bool {
        self.columns[column].blocks[block].documents.is_some()
    }

    /// How many bytes the texts of documents have.
    pub(crate) fn document_bytes(&self, column: usize, block: usize) -> usize {
        self.columns[column].blocks[block].documents.map_or(0, |(_, bytes)| bytes as usize)
    }

    /// How many slices a block has; of documents, pieces.
    pub(crate) fn piece_count(&self, column: usize, block: usize) -> usize {
        let place = &self.columns[column].blocks[block];
        let slices = || self.block_rows(block).div_ceil(place.slice_rows as usize);
        place.documents.map_or_else(slices, |(pieces, _)| pieces as usize)
    }

    /// How many bytes a slice of a block has in the file.
    pub(crate) fn piece_bytes(&self, column: usize, block: usize, piece: usize) -> u64 {
        let column = &self.columns[column];
        column.slices[column.blocks[block].first_slice as usize + piece].bytes.into()
    }

    /// The type of a column that the file has.
    pub(crate) fn column_type(&self, column: usize) -> DataType {
        self.columns[column].data_type
    }

    /// The smallest key.
    pub fn min_key(&self) -> &[u8] {
        &self.first_keys[0]
    }

    /// The greatest key.
    pub fn max_key(&self) -> &[u8] {
        &self.max_key
    }

    /// The smallest insert timestamp.
    pub fn min_insert_ts(&self) -> Timestamp {
        self.min_insert_ts
    }

    /// The greatest insert timestamp.
    pub fn max_insert_ts(&self) -> Timestamp {
        self.max_insert_ts
    }

    /// Statistics of a column over the whole table.
    pub fn stats(&self, column: usize) -> &ColumnStats {
        &self.columns[column].stats
    }

    /// The bytes of its summaries in the file.
    pub fn summaries_bytes(&self) -> u64 {
        self.summaries.as_ref().map_or(0, |place| place.bytes.into())
    }

    /// What the values of each column that the file has are like, read from the file; none when it was written without.
    pub fn summaries(&self) -> Result<Option<Vec<ColumnSummary>>> {
        let Some(place) = &self.summaries else { return Ok(None) };
        let mut bytes = vec![0; place.bytes as usize];
        let read = read(&*self.file, &mut bytes, place.offset).and_then(|()| {
            if checksum(self.file_id(), SUMMARIES_PLACE, 0, &bytes) != place.checksum {
                return Err(Error::corrupt("its summaries fail the checksum"));
            }
            let types: Vec<DataType> = (0..self.column_count()).map(|column| self.column_type(column)).collect();
            read_summaries(&bytes, &types, self.row_count().into())
        });
        read.map(Some).map_err(|error| in_file(self.table_id(), self.file_id(), error))
    }

    /// Statistics of one block of a column.
    pub fn block_stats(&self, column: usize, block: usize) -> &ColumnStats {
        &self.columns[column].blocks[block].stats
    }

    /// Size of the file.
    pub fn file_bytes(&self) -> u64 {
        self.file_bytes
    }

    /// Whether rows may satisfy all predicates, by statistics and Bloom filters of the whole table; false is certain.
    /// Predicates on columns that the file does not have say nothing here.
    pub fn may_match(&self, predicates: &[Predicate]) -> bool {
        predicates.iter().filter(|predicate| predicate.column() < self.column_count()).all(|predicate| {
            let column = &self.columns[predicate.column()];
            column.stats.may_match(predicate) && self.filter_may_match(predicate)
        })
    }

    /// Whether rows of one block may satisfy all predicates; false is certain.
    pub fn block_may_match(&self, block: usize, predicates: &[Predicate]) -> bool {
        let stored = predicates.iter().filter(|predicate| predicate.column() < self.column_count());
        stored.into_iter().all(|predicate| self.block_stats(predicate.column(), block).may_match(predicate))
    }

    fn filter_may_match(&self, predicate: &Predicate) -> bool {
        let column = predicate.column();
        let may_contain = |value: &Value| {
            if value.is_null() {
                return false;
            }
            if self.key_columns == [column] {
                let mut key = Vec::new();
                key::put(&mut key, self.columns[column].data_type, value.as_ref());
                return self.may_contain_key(hash_bytes(&key));
            }
            let filter = self.columns[column].filter.as_ref();
            filter.is_none_or(|filter| filter.may_contain(hash_value(value.as_ref())))
        };
        match predicate {
            Predicate::Compare { op: CompareOp::Eq, value, .. } => may_contain(value),
            Predicate::In { values, .. } => values.iter().any(may_contain),
            _ => true,
        }
    }

    /// Whether a key with this hash ([`hash_bytes`]) may be here; false is certain.
    pub fn may_contain_key(&self, key_hash: u64) -> bool {
        self.key_filter.may_contain(key_hash)
    }

    /// A block of a column, from the cache or the file; its checksum was tested when it was loaded.
    pub fn block(&self, cache: &dyn BlockCache, column: usize, block: usize) -> Result<Arc<Block>> {
        self.block_for(cache, column, block, None)
    }

    /// A block that is read for some of its rows: slices without any of these are not loaded, and their rows read as
    /// NULL.
    pub fn block_for(
        &self,
        cache: &dyn BlockCache,
        column: usize,
        block: usize,
        wanted: Option<&Mask>,
    ) -> Result<Arc<Block>> {
        if self.is_documents(column, block) {
            return self.documents_for(cache, column, block, wanted);
        }
        let rows = self.block_rows(block);
        let slice_rows = self.columns[column].blocks[block].slice_rows as usize;
        if slice_rows >= rows {
            return self.slice(cache, column, block, 0);
        }
        let is_wanted = |slice: usize| {
            let rows = rows_of_slice(rows, slice_rows, slice);
            wanted.is_none_or(|mask| mask.words()[rows.start / 64..rows.end.div_ceil(64)].iter().any(|&word| word != 0))
        };
        let load = |slice: usize| is_wanted(slice).then(|| self.slice(cache, column, block, slice)).transpose();
        let slices = (0..rows.div_ceil(slice_rows)).map(load).collect::<Result<Vec<_>>>()?;
        let kind = Kind::of(self.columns[column].data_type);
        Ok(Arc::new(Block::of_slices(kind, rows, slice_rows, slices)))
    }

    /// The slice of a column that holds a row, and the row's number in it.
    fn slice_at(&self, cache: &dyn BlockCache, column: usize, position: u32) -> Result<(Arc<Block>, usize)> {
        let (block, row) = (position as usize / BLOCK_ROWS, position as usize % BLOCK_ROWS);
        if self.is_documents(column, block) {
            return Ok((self.document_at(cache, column, block, row)?, 0));
        }
        let slice_rows = self.columns[column].blocks[block].slice_rows as usize;
        Ok((self.slice(cache, column, block, row / slice_rows)?, row % slice_rows))
    }

    pub(crate) fn slice(
        &self,
        cache: &dyn BlockCache,
        column: usize,
        block: usize,
        slice: usize,
    ) -> Result<Arc<Block>> {
        let parts = &self.columns[column];
        let number = parts.first_slice + parts.blocks[block].first_slice + slice as u32;
        let key = BlockKey { file: self.header.file, block: number };
        let load =
            || self.load_slice(column, block, slice).map_err(|error| self.noted(self.in_block(column, block, error)));
        cache.get(key, &mut || load())
    }

    /// Reads, tests and parses a block.
    pub(crate) fn load(&self, column: usize, block: usize) -> Result<Arc<Block>> {
        self.block(&NoCache, column, block)
    }

    /// Says which block an error is about.
    pub(crate) fn in_block(&self, column: usize, block: usize, error: Error) -> Error {
        let named = Error::new(error.code(), format!("column {column}, block {block}: {}", error.message()));
        in_file(self.header.table, self.header.file, named)
    }

    #[cold]
    pub(crate) fn noted(&self, error: Error) -> Error {
        let mut failed = self.failed.lock();
        *failed = (failed.0 + 1, Some(error.clone()));
        drop(failed);
        error
    }

    /// How many loads of blocks failed since the table was opened, and what the last of them said.
    pub fn failures(&self) -> (u64, Option<Error>) {
        self.failed.lock().clone()
    }

    fn load_slice(&self, column: usize, block: usize, slice: usize) -> Result<Block> {
        let parts = &self.columns[column];
        let (number, slice_rows) = (parts.blocks[block].first_slice as usize + slice, parts.blocks[block].slice_rows);
        let place = &parts.slices[number];
        let mut buffer = MutableBuffer::from_len_zeroed(place.bytes as usize);
        read(&*self.file, buffer.as_slice_mut(), place.offset)?;
        if checksum(self.header.file, column as u32, number as u32, buffer.as_slice()) != place.checksum {
            return Err(Error::corrupt("it fails its checksum"));
        }
        let mut parsed = Block::parse(buffer.into(), parts.symbols.as_ref())?;
        if let Some((pieces, _)) = parts.blocks[block].documents {
            // What reads a piece knows what it should have.
            if slice == 0 {
                attach_front(&mut parsed, self.block_rows(block), pieces as usize)?;
            }
            return Ok(parsed);
        }
        let rows = rows_of_slice(self.block_rows(block), slice_rows as usize, slice);
        let is_whole = rows.len() == self.block_rows(block);
        let null_count = if is_whole { parts.blocks[block].stats.null_count as usize } else { parsed.null_count() };
        let expected = (rows.len(), Kind::of(parts.data_type), null_count);
        if (parsed.len(), parsed.kind(), parsed.null_count()) != expected {
            return Err(Error::corrupt("its rows, kind or NULLs are not what the footer says"));
        }
        Ok(parsed)
    }

    /// One value of a column that the file has; the column number behind those is the insert timestamp.
    pub fn value(&self, cache: &dyn BlockCache, column: usize, position: u32) -> Result<Value> {
        let (slice, row) = self.slice_at(cache, column, position)?;
        let value = slice.value(row);
        // Blocks do not know which of their bytes are arrays.
        Ok(match (value, self.columns[column].data_type) {
            (Value::Bytes(bytes), DataType::Array(_)) => Value::Array(ArrayValue::from_bytes(&bytes)),
            (value, _) => value,
        })
    }

    /// The values of some columns of one row.
    pub fn values(&self, cache: &dyn BlockCache, columns: &[usize], position: u32) -> Result<Vec<Value>> {
        columns.iter().map(|&column| self.value(cache, column, position)).collect()
    }

    /// A whole row in [`RowCodec`]'s bytes, of the columns that the file has.
    pub fn row(&self, cache: &dyn BlockCache, position: u32) -> Result<Vec<u8>> {
        let mut row = self.codec.empty_row();
        let mut scratch = Vec::new();
        for column in 0..self.codec.column_count() {
            let (slice, at) = self.slice_at(cache, column, position)?;
            slice.with_value_in(at, &mut scratch, |value| self.codec.put(&mut row, column, value));
        }
        Ok(row)
    }

    /// The key of a row.
    pub fn key(&self, cache: &dyn BlockCache, position: u32) -> Result<Vec<u8>> {
        let values = self.values(cache, &self.key_columns, position)?;
        Ok(self.key_codec.encode(values.iter().map(Value::as_ref)))
    }

    /// When a row was inserted.
    pub fn insert_ts(&self, cache: &dyn BlockCache, position: u32) -> Result<Timestamp> {
        if self.min_insert_ts == self.max_insert_ts {
            return Ok(self.min_insert_ts);
        }
        let (block, row) = (position as usize / BLOCK_ROWS, position as usize % BLOCK_ROWS);
        Ok(Timestamp(self.insert_ts_block(cache, block)?.int_at(row).unwrap_or(0) as u64))
    }

    /// The insert timestamps of a block, as a block of bigints.
    pub fn insert_ts_block(&self, cache: &dyn BlockCache, block: usize) -> Result<Arc<Block>> {
        self.block(cache, self.insert_ts_column(), block)
    }

    /// The column number of the insert timestamps.
    pub(crate) fn insert_ts_column(&self) -> usize {
        self.columns.len() - 1
    }
}

/// More columns than any table has: a header that says so is damaged.
const COLUMNS_MAX: u32 = 1 << 16;
/// Bytes that a symbol stands for, in texts that repeat themselves; at most eight.
const SYMBOL_BYTES: usize = 4;

/// The columns of a file as its footer tells them; nobody asks for their names.
fn stored_columns(footer: &Footer) -> Vec<crate::Column> {
    let column =
        |entry: &ColumnEntry| crate::Column { name: String::new(), data_type: entry.data_type, not_null: false };
    footer.columns[..footer.columns.len() - 1].iter().map(column).collect()
}

/// Blocks lie one after the other, from the header to the summaries.
fn place_blocks(entries: Vec<ColumnEntry>, end: u64) -> Result<Vec<Column>> {
    let (mut offset, mut first_slice) = (HEADER_BYTES as u64, 0);
    let mut columns = Vec::with_capacity(entries.len());
    for entry in entries {
        let symbols = if entry.symbols.is_empty() { None } else { Some(Arc::new(SymbolTable::parse(&entry.symbols)?)) };
        let mut stats = ColumnStats::empty();
        let mut blocks = Vec::with_capacity(entry.blocks.len());
        let mut slices = Vec::with_capacity(entry.blocks.len());
        for block in entry.blocks {
            stats.merge(&block.stats);
            let (first, slice_rows) = (slices.len() as u32, block.slice_rows as u32);
            let documents = block.document_bytes.map(|bytes| (block.slices.len() as u32, bytes));
            blocks.push(BlockPlace { first_slice: first, slice_rows, documents, stats: block.stats });
            for slice in block.slices {
                slices.push(SlicePlace { offset, bytes: slice.bytes, checksum: slice.checksum });
                offset += u64::from(slice.bytes);
            }
        }
        let filter = entry.filter;
        let column = Column { data_type: entry.data_type, symbols, filter, blocks, slices, first_slice, stats };
        first_slice += column.slices.len() as u32;
        columns.push(column);
    }
    if offset != end {
        return Err(Error::corrupt(format!("its blocks end at {offset}, what follows starts at {end}")));
    }
    Ok(columns)
}

/// Reads exactly; a short file is damage, other failures are I/O errors.
fn read(file: &dyn File, buffer: &mut [u8], offset: u64) -> Result<()> {
    file.read_exact_at(buffer, offset).map_err(|error| match error.kind() {
        std::io::ErrorKind::UnexpectedEof => {
            Error::corrupt(format!("it ends before byte {}", offset + buffer.len() as u64))
        }
        _ => Error::io(format_args!("reading {} bytes at {offset}", buffer.len()), &error),
    })
}
