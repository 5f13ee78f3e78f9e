//! A segment: the base pages of some rows, one page per column, each as of the last merge that changed it.
//!
//! ```text
//!   segment 3   changed, is_alive   t12-9 @ 52         the newest file of the segment has them
//!               column 0            t12-4 @ 12
//!               column 1            t12-9 @ 52
//!               column 2            none: added later, every row has what the schema says
//! ```
//!
//! 1. All pages have as many rows as the segment.
//! 2. A column's page is right as of the base's cut: what was not rewritten was not changed.
//! 3. The rows of a bulk load came with one commit, which their file does not know (it says 0): the segment does.
//!    No row of the segment was there before.
//!
//! Concurrency: immutable.

use std::sync::Arc;

use arrow_array::{ArrayRef, cast::AsArray, types::Int64Type};
use weft_format::table::BlockCache;
use weft_format::{Block, ColumnStats, DataType, Result, RowCodec, Timestamp, Value};

use weft_kernel::fault::active;

use super::faults;
use super::files::OpenFile;
use super::shapes::{CHANGED, FIRST_PAGE, IS_ALIVE};

/// A page: the file and the column in it.
#[derive(Clone)]
pub(super) struct Page {
    pub(super) file: Arc<OpenFile>,
    pub(super) column: usize,
}

impl Page {
    /// A value.
    pub(super) fn value(&self, slot: u32) -> Result<Value> {
        self.file.table.value(self.file.cache(), self.column, slot)
    }

    /// A block, of which some rows are wanted.
    pub(super) fn block(&self, block: usize, wanted: Option<&weft_format::Mask>) -> Result<Arc<Block>> {
        self.file.table.block_for(self.file.cache(), self.column, block, wanted)
    }

    /// What is known of a block.
    pub(super) fn block_stats(&self, block: usize) -> &ColumnStats {
        self.file.table.block_stats(self.column, block)
    }

    /// What is known of all rows.
    pub(super) fn stats(&self) -> &ColumnStats {
        self.file.table.stats(self.column)
    }
}

/// When the rows of a block were changed last.
pub(super) struct Changed {
    block: Arc<Block>,
    born: Timestamp,
}

impl Changed {
    /// How many rows there are.
    pub(super) fn len(&self) -> usize {
        self.block.len()
    }

    /// When a row was changed; 0: there was none yet.
    pub(super) fn at(&self, row: usize) -> Timestamp {
        Timestamp(self.block.int_at(row).unwrap_or_default().cast_unsigned()).max(self.born)
    }

    /// The same of all rows, as a column of whole numbers.
    pub(super) fn column(&self) -> ArrayRef {
        let column = self.block.decode(DataType::BigInt);
        match self.born.0.cast_signed() {
            0 => column,
            born => Arc::new(column.as_primitive::<Int64Type>().unary::<_, Int64Type>(|ts| ts.max(born))),
        }
    }
}

/// See the module.
#[derive(Clone)]
pub(super) struct Segment {
    pub(super) number: u64,
    pub(super) rows: u32,
    pub(super) alive: u32,
    /// The commit that brought all rows (segment 3); 0: the file says when they came.
    pub(super) born: Timestamp,
    /// The newest file, which has when rows were changed, and whether they are there.
    pub(super) newest: Arc<OpenFile>,
    /// By ordinal.
    pub(super) pages: Vec<Option<Page>>,
}

impl Segment {
    /// A segment of one file.
    pub(super) fn new(
        number: u64,
        rows: u32,
        alive: u32,
        born: Timestamp,
        file: Arc<OpenFile>,
        ordinals: &[usize],
    ) -> Segment {
        let (newest, pages) = (file.clone(), Vec::new());
        Segment { number, rows, alive, born, newest, pages }.with(rows, alive, file, ordinals)
    }

    /// The segment with newer pages of some columns.
    pub(super) fn with(&self, rows: u32, alive: u32, file: Arc<OpenFile>, ordinals: &[usize]) -> Segment {
        assert_eq!(file.table.row_count(), rows, "all pages have as many rows as the segment (segment 1)");
        let mut pages = self.pages.clone();
        for (at, &ordinal) in ordinals.iter().enumerate() {
            if pages.len() <= ordinal {
                pages.resize(ordinal + 1, None);
            }
            pages[ordinal] = Some(Page { file: file.clone(), column: FIRST_PAGE + at });
        }
        let has_rows = |page: &Page| page.file.table.row_count() == rows;
        assert!(pages.iter().flatten().all(has_rows), "all pages have as many rows as the segment (segment 1)");
        Segment { number: self.number, rows, alive, born: self.born, newest: file, pages }
    }

    /// The page of a column.
    pub(super) fn page(&self, ordinal: usize) -> Option<&Page> {
        self.pages.get(ordinal)?.as_ref()
    }

    /// The files, each once.
    pub(super) fn files(&self) -> Vec<Arc<OpenFile>> {
        let mut files = vec![self.newest.clone()];
        for page in self.pages.iter().flatten() {
            if !files.iter().any(|file| Arc::ptr_eq(file, &page.file)) {
                files.push(page.file.clone());
            }
        }
        files
    }

    /// Whether a snapshot sees that there is a segment: nothing of it was there before it was born.
    pub(super) fn is_born(&self, read_ts: Timestamp) -> bool {
        self.born <= read_ts || active(faults::SEE_UNBORN)
    }

    /// When the rows of a block were changed last.
    pub(super) fn changed_block(&self, block: usize) -> Result<Changed> {
        Ok(Changed { block: self.newest.table.block(self.cache(), CHANGED, block)?, born: self.born })
    }

    /// A block of whether there are rows.
    pub(super) fn alive_block(&self, block: usize) -> Result<Arc<Block>> {
        self.newest.table.block(self.cache(), IS_ALIVE, block)
    }

    /// When a row was changed last; 0: there was none yet.
    pub(super) fn changed(&self, slot: u32) -> Result<Timestamp> {
        self.newest.number_at(CHANGED, slot).map(|ts| Timestamp(ts).max(self.born))
    }

    /// Whether there is a row.
    pub(super) fn is_alive(&self, slot: u32) -> Result<bool> {
        if self.alive == self.rows { Ok(true) } else { self.newest.flag_at(IS_ALIVE, slot) }
    }

    /// The latest change.
    pub(super) fn last_change(&self) -> Timestamp {
        match self.newest.table.stats(CHANGED).max {
            Value::Int(ts) => Timestamp(ts.cast_unsigned()).max(self.born),
            _ => self.born,
        }
    }

    /// A value.
    pub(super) fn value(&self, codec: &RowCodec, ordinal: usize, slot: u32) -> Result<Value> {
        match self.page(ordinal) {
            Some(page) => page.value(slot),
            None => Ok(codec.missing(ordinal).to_value()),
        }
    }

    pub(super) fn cache(&self) -> &dyn BlockCache {
        self.newest.cache()
    }

    /// Bytes of its files.
    pub(super) fn bytes(&self) -> u64 {
        self.files().iter().map(|file| file.table.file_bytes()).sum()
    }
}
