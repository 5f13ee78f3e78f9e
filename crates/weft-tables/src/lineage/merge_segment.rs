//! What tails change in one segment: the newest values of its rows, and what they replace.
//!
//! ```text
//!   base      row 4: (7, 'a', 1.5) since 41
//!   tails     @ 44 {b: 'x'}   @ 47 {c: 2.5} repeated {b: 'x'}                        limit 42
//!   pages     row 4: (7, 'x', 2.5) changed 47          columns b and c are written anew
//!   history   row 4 until 44: since 41, b = 'a'        row 4 until 47: since 44, c = 1.5
//! ```
//!
//! 1. Only what a commit has set itself counts: what a record repeats others have said.
//! 2. What was replaced at or before the limit nobody asks for, and is not kept.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use arrow_array::ArrayRef;
use weft_format::row_arrays::missing_column;
use weft_format::table::InsertTimestamps;
use weft_format::{BLOCK_ROWS, DataType, Result, RowCodec, Schema, Timestamp, Value, ValueRef};
use weft_kernel::fault::active;
use weft_kernel::method::TableContext;

use super::faults;
use super::files::{OpenFile, paced_builder};
use super::patched::patched;
use super::range::RangeTails;
use super::record::{Kind, Record};
use super::segment::Segment;
use super::shapes;
use super::store::Shape;
use super::undo::Undo;

/// The newest state of a row.
struct Row {
    changed: Timestamp,
    is_alive: bool,
    /// All its columns but those in `values`.
    row: Option<Arc<[u8]>>,
    /// By ordinal.
    values: BTreeMap<usize, Value>,
}

/// See the module.
pub(super) struct SegmentChange<'a> {
    shape: &'a Shape,
    old: Option<&'a Arc<Segment>>,
    number: u64,
    first_row_id: u64,
    limit: Timestamp,
    rows: BTreeMap<u32, Row>,
    columns: BTreeSet<usize>,
    undo: Vec<Undo>,
}

impl<'a> SegmentChange<'a> {
    /// Nothing so far.
    pub(super) fn new(
        shape: &'a Shape,
        old: Option<&'a Arc<Segment>>,
        (number, segment_rows): (u64, u32),
        limit: Timestamp,
    ) -> SegmentChange<'a> {
        let first_row_id = number * u64::from(segment_rows);
        let (rows, columns) = (BTreeMap::new(), BTreeSet::new());
        SegmentChange { shape, old, number, first_row_id, limit, rows, columns, undo: Vec::new() }
    }

    /// Takes in the records of a range that begins with a row of the segment.
    pub(super) fn take(&mut self, first_row_id: u64, range: &RangeTails) -> Result<()> {
        let from = (first_row_id - self.first_row_id) as u32;
        for record in range.records() {
            if active(faults::MERGE_NEWEST_RECORD_ONLY)
                && range.newest(record.slot).is_some_and(|newest| newest.ts != record.ts)
            {
                continue;
            }
            self.take_record(from + record.slot, record)?;
        }
        Ok(())
    }

    fn take_record(&mut self, slot: u32, record: &Record) -> Result<()> {
        let codec = &self.shape.codec;
        if !self.rows.contains_key(&slot) {
            let (changed, is_alive) = match self.old.filter(|old| slot < old.rows) {
                Some(old) => (old.changed(slot)?, old.is_alive(slot)?),
                None => (Timestamp(0), false),
            };
            self.rows.insert(slot, Row { changed, is_alive, row: None, values: BTreeMap::new() });
        }
        let row = self.rows.get_mut(&slot).expect("it was put there");
        assert!(row.changed < record.ts, "tails have what is beyond the base, in the order of the commits (lineage 2)");
        let mut values = Vec::new();
        let is_kept = record.ts > self.limit && !active(faults::MERGE_WITHOUT_ORIGINALS);
        // Of a row that is the first at its row id nothing was there before.
        if is_kept && row.changed > Timestamp(0) {
            let replaced: Vec<usize> = match record.kind {
                Kind::Insert => (0..codec.column_count()).collect(),
                Kind::Set => record.own().map(|(column, _)| column).collect(),
                Kind::Delete => Vec::new(),
            };
            for column in replaced {
                values.push((column, row.value(codec, self.old, slot, column)?));
            }
            let (until, since, was_alive) = (record.ts, row.changed, row.is_alive);
            self.undo.push(Undo { row_id: self.first_row_id + u64::from(slot), until, since, was_alive, values });
        }
        match record.kind {
            Kind::Insert => {
                assert!(!row.is_alive, "a row that comes in was not there (lineage 1)");
                row.row = record.inserted().cloned();
                row.values.clear();
                self.columns.extend(0..codec.column_count());
            }
            Kind::Set => {
                assert!(row.is_alive || active(faults::MERGE_NEWEST_RECORD_ONLY), "what is changed is alive");
                for (column, value) in record.own() {
                    row.values.insert(column, value.clone());
                    self.columns.insert(column);
                }
            }
            Kind::Delete => assert!(row.is_alive, "what goes was there (lineage 1)"),
        }
        (row.changed, row.is_alive) = (record.ts, record.kind != Kind::Delete);
        Ok(())
    }

    /// What was replaced, by row and time; once.
    pub(super) fn take_undo(&mut self) -> Vec<Undo> {
        let mut undo = std::mem::take(&mut self.undo);
        undo.sort_by_key(|undo| (undo.row_id, undo.until));
        undo
    }

    /// How many rows the segment has now.
    fn row_count(&self) -> u32 {
        let last = self.rows.keys().next_back().map_or(0, |slot| slot + 1);
        self.old.map_or(0, |old| old.rows).max(last)
    }

    /// How many of them are there.
    fn alive_count(&self) -> Result<u32> {
        let mut alive = i64::from(self.old.map_or(0, |old| old.alive));
        for (&slot, row) in &self.rows {
            let was_alive = match self.old.filter(|old| slot < old.rows) {
                Some(old) => old.is_alive(slot)?,
                None => false,
            };
            alive += i64::from(row.is_alive) - i64::from(was_alive);
        }
        Ok(u32::try_from(alive).expect("a segment has as many rows as it has places"))
    }

    /// Whether nothing is left that anybody asks for.
    pub(super) fn is_forgotten(&self) -> Result<bool> {
        let last = self.rows.values().map(|row| row.changed).max().unwrap_or_default();
        let last = last.max(self.old.map_or(Timestamp(0), |old| old.last_change()));
        Ok(last <= self.limit && self.alive_count()? == 0)
    }

    /// Writes the pages that change, and gives the segment with them.
    pub(super) fn write(&self, context: &TableContext) -> Result<(Segment, Vec<usize>)> {
        let schema = &self.shape.schema;
        let rows = self.row_count();
        let is_longer = self.old.is_none_or(|old| old.rows < rows);
        let ordinals: Vec<usize> = match is_longer {
            true => (0..schema.columns.len()).collect(),
            false => self.columns.iter().copied().collect(),
        };
        let file_schema = shapes::pages(schema, &ordinals);
        let mut builder = paced_builder(context, file_schema.clone());
        for block in 0..(rows as usize).div_ceil(BLOCK_ROWS) {
            let columns = self.block(schema, block, rows, &ordinals)?;
            builder.push_batch(&columns, InsertTimestamps::Same(Timestamp(0)))?;
        }
        let file = Arc::new(OpenFile::write(context, builder, &file_schema)?);
        let alive = self.alive_count()?;
        let segment = match self.old.filter(|_| !is_longer) {
            Some(old) => old.with(rows, alive, file, &ordinals),
            None => Segment::new(self.number, rows, alive, Timestamp(0), file, &ordinals),
        };
        Ok((segment, ordinals))
    }

    /// The columns of a file of pages, for one block.
    fn block(&self, schema: &Schema, block: usize, rows: u32, ordinals: &[usize]) -> Result<Vec<ArrayRef>> {
        let codec = &self.shape.codec;
        let first = (block * BLOCK_ROWS) as u32;
        let end = rows.min(first + BLOCK_ROWS as u32);
        let len = (end - first) as usize;
        let changed: Vec<(usize, &Row)> =
            self.rows.range(first..end).map(|(slot, row)| ((slot - first) as usize, row)).collect();
        let old = self.old.filter(|old| old.rows > first);
        let old_block = |load: &dyn Fn(&Segment) -> Result<ArrayRef>| old.map(|old| load(old)).transpose();
        let slots = (first..end).map(|slot| ValueRef::Int(i64::from(slot))).collect::<Vec<_>>();
        let mut columns = vec![weft_format::arrow_values::array_of(DataType::BigInt, slots.into_iter())];
        let stamps: Vec<_> =
            changed.iter().map(|(at, row)| (*at, ValueRef::Int(row.changed.0.cast_signed()))).collect();
        let before = old_block(&|old| Ok(old.changed_block(block)?.column()))?;
        columns.push(patched(DataType::BigInt, before, len, &stamps, ValueRef::Int(0))?);
        let alive: Vec<_> = changed.iter().map(|(at, row)| (*at, ValueRef::Bool(row.is_alive))).collect();
        let before = old_block(&|old| Ok(old.alive_block(block)?.decode(DataType::Boolean)))?;
        columns.push(patched(DataType::Boolean, before, len, &alive, ValueRef::Bool(false))?);
        for &ordinal in ordinals {
            let data_type = schema.columns[ordinal].data_type;
            let values: Vec<(usize, ValueRef<'_>)> =
                changed.iter().filter_map(|(at, row)| Some((*at, row.changed_value(codec, ordinal)?))).collect();
            let before = old_block(&|old| match old.page(ordinal) {
                Some(page) => Ok(page.block(block, None)?.decode(data_type)),
                None => {
                    let count = (old.rows - first).min(BLOCK_ROWS as u32) as usize;
                    Ok(missing_column(codec, data_type, ordinal, count))
                }
            })?;
            columns.push(patched(data_type, before, len, &values, ValueRef::Null)?);
        }
        Ok(columns)
    }
}

impl Row {
    /// A value that is not that of the old page.
    fn changed_value<'a>(&'a self, codec: &'a RowCodec, column: usize) -> Option<ValueRef<'a>> {
        let whole = || self.row.as_ref().map(|row| codec.get(row, column));
        self.values.get(&column).map(Value::as_ref).or_else(whole)
    }

    fn value(&self, codec: &RowCodec, old: Option<&Arc<Segment>>, slot: u32, column: usize) -> Result<Value> {
        match (self.changed_value(codec, column), old.filter(|old| slot < old.rows)) {
            (Some(value), _) => Ok(value.to_value()),
            (None, Some(old)) => old.value(codec, column, slot),
            (None, None) => Ok(codec.missing(column).to_value()),
        }
    }
}
