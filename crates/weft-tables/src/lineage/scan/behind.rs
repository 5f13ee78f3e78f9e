//! A block behind the cut: rows that were changed later than the snapshot, put together from history column by column.
//!
//! ```text
//!   changed   row 4 @ 57   row 9 @ 44           the snapshot is of 50: row 9 is as on the page
//!   history   row 4   until 55: since 41, b = 'a'     until 57: since 55, b = 'x', c = 1
//!   row 4     there since 41; b of until 55, c of until 57, the others of the page
//! ```
//!
//! 1. The first that ends later than the snapshot says whether the row was there ([`past`](super::super::past)); of
//!    each column the first that replaced it has the value.
//! 2. History is walked once, and nothing is kept but where each wanted column of each row is.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_select::interleave::interleave;
use weft_contract::LOCATION;
use weft_format::arrow_values::array_of;
use weft_format::{BLOCK_ROWS, Block, Error, Predicate, Result, Timestamp, ValueRef};
use weft_kernel::fault::active;

use super::super::faults;
use super::super::past::{Entry, PastFile};
use super::super::read::locations;
use super::super::segment::Segment;
use super::super::shapes::{FIRST_OLD, has_bit};
use super::plan::{Plan, RowIds};

/// Rows of a page are decoded one by one below this share of the block.
const DENSE_ONE_IN: usize = 8;

/// Where a row has the value of a column: on the page, or at a position of a file of history.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Place(u64);

impl Place {
    const PAGE: Place = Place(u64::MAX);

    fn new(file: usize, position: u32) -> Place {
        Place((file as u64) << 32 | u64::from(position))
    }

    /// The number of the file, the block and the row in it.
    fn in_file(self) -> Option<(usize, usize, u32)> {
        let position = self.0 as u32;
        let (block, row) = (position as usize / BLOCK_ROWS, position % BLOCK_ROWS as u32);
        (self != Place::PAGE).then_some(((self.0 >> 32) as usize, block, row))
    }
}

/// What is known of a row of the block.
#[derive(Clone, Copy)]
struct Row {
    /// Changed later than the snapshot.
    is_touched: bool,
    /// The snapshot sees it.
    is_seen: bool,
    /// The end of what history said of it last; 0: nothing yet.
    last: Timestamp,
    /// Columns whose place is not known yet.
    open: u32,
}

/// See the module.
pub(super) struct Behind<'a> {
    plan: &'a Plan,
    segment: &'a Arc<Segment>,
    /// The number of the block in the segment.
    block: usize,
    /// The row id of its first row.
    first: u64,
    rows: Vec<Row>,
    /// Wanted columns, ascending, and by row of the block where the value is.
    columns: Vec<(usize, Vec<Place>)>,
}

impl<'a> Behind<'a> {
    /// The rows among some of one block that were changed later than the snapshot; none: there is none that may
    /// satisfy the predicates.
    pub(super) fn new(plan: &'a Plan, row_ids: &RowIds) -> Result<Option<Behind<'a>>> {
        let Some((segment, slot)) = plan.layout.base.place(row_ids.start) else { return Ok(None) };
        let (read_ts, block) = (plan.read_ts(), slot as usize / BLOCK_ROWS);
        if segment.last_change() <= read_ts || !segment.is_born(read_ts) || !may_match(plan, segment, block) {
            return Ok(None);
        }
        let request = &plan.request;
        let mut ordinals: Vec<usize> = request.projection.iter().copied().filter(|&one| one != LOCATION).collect();
        ordinals.extend(request.predicates.iter().map(Predicate::column));
        ordinals.sort_unstable();
        ordinals.dedup();
        let changed = segment.changed_block(block)?;
        let open = ordinals.len() as u32;
        let row = |at| Row { is_touched: changed.at(at) > read_ts, is_seen: false, last: Timestamp(0), open };
        let rows: Vec<Row> = (0..changed.len()).map(row).collect();
        if !rows.iter().any(|row| row.is_touched) {
            return Ok(None);
        }
        let columns = ordinals.into_iter().map(|ordinal| (ordinal, vec![Place::PAGE; rows.len()])).collect();
        let mut behind = Behind { plan, segment, block, first: row_ids.start, rows, columns };
        for (number, past) in plan.layout.base.past.iter().enumerate() {
            past.walk(row_ids.clone(), read_ts, |entry| behind.note(number, entry))?;
        }
        Ok(Some(behind))
    }

    /// What history says next of a row; whether more of the row is wanted.
    fn note(&mut self, file: usize, entry: &Entry<'_>) -> bool {
        let at = (entry.row_id - self.first) as usize;
        // A row of a segment that is gone has no page.
        let Some(row) = self.rows.get_mut(at).filter(|row| row.is_touched) else { return false };
        assert!(row.last < entry.until, "history is in order (past 1)");
        if row.last == Timestamp(0) {
            row.is_seen = entry.is_seen_at(self.plan.read_ts());
        }
        row.last = entry.until;
        if !row.is_seen || row.open == 0 {
            return false;
        }
        for (ordinal, places) in &mut self.columns {
            if places[at] == Place::PAGE && has_bit(entry.replaced, *ordinal) {
                places[at] = Place::new(file, entry.position);
                row.open -= 1;
            }
        }
        row.open > 0
    }

    /// The row ids of the rows that were changed later, ascending.
    pub(super) fn touched(&self) -> impl Iterator<Item = u64> + '_ {
        let touched = self.rows.iter().enumerate().filter(|(_, row)| row.is_touched);
        touched.map(|(at, _)| self.first + at as u64)
    }

    /// Those that the snapshot sees and that satisfy the predicates, as a batch; none when there is none.
    pub(super) fn read(&self) -> Result<Option<RecordBatch>> {
        let is_shown = |at: &u32| self.plan.hidden.binary_search(&(self.first + u64::from(*at))).is_err();
        let seen = (0..self.rows.len() as u32).filter(|&at| self.rows[at as usize].is_seen);
        let mut kept: Vec<u32> = seen.filter(is_shown).collect();
        for predicate in &self.plan.request.predicates {
            self.test(predicate, &mut kept)?;
        }
        if kept.is_empty() {
            return Ok(None);
        }
        let column = |&ordinal: &usize| match ordinal {
            LOCATION => Ok(locations(kept.iter().map(|&at| self.first + u64::from(at)))),
            _ => self.column(ordinal, &kept),
        };
        let columns = self.plan.request.projection.iter().map(column).collect::<Result<Vec<ArrayRef>>>()?;
        self.plan.batch(columns, kept.len()).map(Some)
    }

    /// Where the rows of the block have the values of a wanted column.
    fn places(&self, ordinal: usize) -> &[Place] {
        let at = self.columns.binary_search_by_key(&ordinal, |column| column.0);
        &self.columns[at.expect("it is wanted")].1
    }

    fn past(&self, file: usize) -> &PastFile {
        &self.plan.layout.base.past[file]
    }

    /// Keeps the rows that satisfy a predicate.
    fn test(&self, predicate: &Predicate, kept: &mut Vec<u32>) -> Result<()> {
        let ordinal = predicate.column();
        let places = self.places(ordinal);
        let mut block: Option<((usize, usize), Arc<Block>)> = None;
        let page = match self.segment.page(ordinal) {
            Some(page) if kept.iter().any(|&at| places[at as usize] == Place::PAGE) => {
                Some(page.block(self.block, None)?)
            }
            _ => None,
        };
        let missing = predicate.matches(self.plan.codec.missing(ordinal));
        let mut matches = |at: u32| {
            let Some((file, number, row)) = places[at as usize].in_file() else {
                let on_page = |page: &Arc<Block>| page.with_value(at as usize, |value| predicate.matches(value));
                return Ok(page.as_ref().map_or(missing, on_page));
            };
            if block.as_ref().is_none_or(|(of, _)| *of != (file, number)) {
                block = Some(((file, number), self.past(file).block(FIRST_OLD + ordinal, number)?));
            }
            let (_, block) = block.as_ref().expect("it was just read");
            Ok::<_, Error>(block.with_value(row as usize, |value| predicate.matches(value)))
        };
        let mut failed = None;
        kept.retain(|&at| {
            failed.is_none()
                && matches(at).unwrap_or_else(|error| {
                    failed = Some(error);
                    false
                })
        });
        failed.map_or(Ok(()), Err)
    }

    /// The values of a column in some rows.
    fn column(&self, ordinal: usize, kept: &[u32]) -> Result<ArrayRef> {
        let data_type = self.plan.schema.columns[ordinal].data_type;
        let places = self.places(ordinal);
        // Pieces of history by file and block, each with its rows in order.
        let mut pieces: Vec<((usize, usize), Vec<u32>)> = Vec::new();
        let mut on_page: Vec<u32> = Vec::new();
        // 0 is the page.
        let mut sources: Vec<(usize, usize)> = Vec::with_capacity(kept.len());
        for &at in kept {
            let Some((file, block, row)) = places[at as usize].in_file() else {
                sources.push((0, on_page.len()));
                on_page.push(at);
                continue;
            };
            let of = (file, block);
            // Rows come in the order of their ids, and so each file's blocks.
            let piece = pieces.iter().rposition(|(known, _)| *known == of).unwrap_or_else(|| {
                pieces.push((of, Vec::new()));
                pieces.len() - 1
            });
            sources.push((piece + 1, pieces[piece].1.len()));
            pieces[piece].1.push(row);
        }
        let mut arrays = vec![self.of_page(ordinal, &on_page, &mut sources)?];
        for ((file, block), rows) in &pieces {
            arrays.push(self.past(*file).block(FIRST_OLD + ordinal, *block)?.decode_selected(data_type, rows));
        }
        if let [_, only] = &arrays[..]
            && on_page.is_empty()
        {
            return Ok(only.clone());
        }
        let arrays: Vec<&dyn Array> = arrays.iter().map(|array| &**array).collect();
        interleave(&arrays, &sources)
            .map_err(|error| Error::internal(format!("putting rows of the past together: {error}")))
    }

    /// The values of rows that have them on the page; `sources` may get other places in it.
    fn of_page(&self, ordinal: usize, on_page: &[u32], sources: &mut [(usize, usize)]) -> Result<ArrayRef> {
        let data_type = self.plan.schema.columns[ordinal].data_type;
        let page = if on_page.is_empty() { None } else { self.segment.page(ordinal) };
        let Some(page) = page else {
            // A column that was added later, or nobody asks.
            let missing: ValueRef<'_> = self.plan.codec.missing(ordinal);
            sources.iter_mut().filter(|(source, _)| *source == 0).for_each(|(_, at)| *at = 0);
            return Ok(array_of(data_type, std::iter::once(missing)));
        };
        let block = page.block(self.block, None)?;
        if on_page.len() * DENSE_ONE_IN < block.len() {
            return Ok(block.decode_selected(data_type, on_page));
        }
        sources.iter_mut().filter(|(source, _)| *source == 0).for_each(|(_, at)| *at = on_page[*at] as usize);
        Ok(block.decode(data_type))
    }
}

/// Whether rows of a block may satisfy the predicates, as they are or as they were; false is certain.
fn may_match(plan: &Plan, segment: &Segment, block: usize) -> bool {
    plan.request.predicates.iter().all(|predicate| {
        let is_now = match segment.page(predicate.column()) {
            Some(page) => page.block_stats(block).may_match(predicate),
            None => predicate.matches(plan.codec.missing(predicate.column())),
        };
        let has_past = !active(faults::PRUNE_BY_PAGES);
        is_now || has_past && plan.layout.base.past.iter().any(|past| past.may_match(predicate, plan.read_ts()))
    })
}
