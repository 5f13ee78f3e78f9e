//! Merging: some column tables become others, by key, without the rows that are dead for everyone.
//!
//! ```text
//!   t5 [a..m]  a c d̶ m          t9 [a..b]  a b             cut into files of about 4 MiB, at borders (here c), and in
//!   t7 [b..m]  b m̶             ▶ t10 [c..m] c m             the baseline at tables that stay where they are
//! ```
//!
//! 1. Only listed parts are merged, so every row came in at or before the cut (DESIGN invariant 7).
//! 2. The limit is taken before the lists of new marks begin: a dropped row died before its list.
//! 3. A part is in one job at a time.
//! 4. Rows leave an input in the order of its positions. So of each column one block per input is decoded at a time;
//!    of all rows there are just four bytes in memory, where they went.
//! 5. The versions of a key stay in one file, or files cut for their size could overlap in it.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, new_null_array};
use arrow_select::interleave::interleave;
use weft_contract::JobKind;
use weft_format::row_arrays::missing_column;
use weft_format::table::NoCache;
use weft_format::{BLOCK_ROWS, Error, KeyRows, Result, Timestamp};

use super::borders::Key;
use super::claim::{Task, What};
use super::merge_order::{MergeOrder, Source};
use super::output::{Output, Written};
use super::part::Part;
use super::payload::Layer;
use super::publish::{Change, Outcome};
use super::steps::{JobStep, job_reached};
use super::store::{Shape, Store};

/// An output row that is none: the row was dropped.
const DROPPED: u32 = u32::MAX;

/// The fewest rows between two looks at the size of a file.
const PIECE_ROWS_MIN: usize = 16;

/// The blocks of an input that the next rows lie in.
#[derive(Default)]
struct Window {
    /// The number of the first one.
    first: usize,
    /// `blocks[number - first][ordinal]`
    blocks: Vec<Vec<ArrayRef>>,
}

impl Window {
    /// Has the blocks of the rows from one position to another decoded, and none before them (merge 4).
    fn slide(&mut self, first: usize, last: usize, decode: impl Fn(usize) -> Result<Vec<ArrayRef>>) -> Result<()> {
        let (first, last) = (first / BLOCK_ROWS, last / BLOCK_ROWS);
        assert!(first >= self.first, "rows leave an input in the order of its positions (merge 4)");
        assert!(first <= last, "the first of some rows of an input lies before the last (merge 4)");
        self.blocks.drain(..(first - self.first).min(self.blocks.len()));
        self.first = first;
        for block in first + self.blocks.len()..=last {
            self.blocks.push(decode(block)?);
        }
        assert!(self.blocks.len() == last - first + 1, "the blocks of the rows are decoded, and no others (merge 4)");
        Ok(())
    }
}

impl Store {
    /// Runs a job on column tables; fine when it is no longer needed.
    pub(crate) fn run_task(&self, kind: JobKind, number: u64) -> Result<()> {
        let Some(task) = self.claim(kind, number) else { return Ok(()) };
        let _holding = self.holding(&task);
        let failures: Vec<u64> = task.claimed.iter().map(|part| part.table.failures().0).collect();
        let result = match &task.what {
            _ if self.is_dropped() => Ok(()),
            What::Merge(layer, cuts) => self.merge(&task, *layer, cuts),
            What::Change(change, dropped) => self.publish(&Outcome {
                kind,
                outputs: &[],
                layer: Layer::Incremental,
                inputs: dropped,
                row_table: None,
                change,
                carry: &|| (),
            }),
        };
        result.inspect_err(|error| {
            // So that the next choice leaves it out, and the rest of the table goes on (part 4).
            task.claimed.iter().zip(failures).for_each(|(part, before)| part.note_job_failure(before, error.code()));
        })
    }

    fn merge(&self, task: &Task, layer: Layer, cuts: &[Key]) -> Result<()> {
        let parts = &task.claimed;
        let limit = self.droppable(self.cut());
        let shape = self.shape();
        let snapshots: Vec<Vec<(u32, Timestamp)>> = {
            let _marking = self.marking.lock();
            parts.iter().map(|part| part.marks.begin_carry()).collect()
        };
        let mut places: Vec<Vec<u32>> = parts.iter().map(|part| vec![DROPPED; part.row_count() as usize]).collect();
        let written = self.write_merged(&shape, task, &snapshots, limit, cuts, &mut places)?;
        for (marks, places) in snapshots.iter().zip(&places) {
            let alive_for_some = marks.iter().filter(|&&(_, ts)| ts > limit);
            alive_for_some.for_each(|&(position, ts)| carry_mark(&written, places, position, ts, limit));
        }
        drop(snapshots);
        let carry = || {
            for (part, places) in parts.iter().zip(&places) {
                for (position, ts) in part.marks.drain_carry() {
                    carry_mark(&written, places, position, ts, limit);
                }
            }
        };
        self.publish(&Outcome {
            kind: task.kind,
            outputs: &written.parts,
            layer,
            inputs: parts,
            row_table: None,
            change: &Change::default(),
            carry: &carry,
        })
    }

    /// Reads the keys of a block past the cache.
    fn read_keys(&self, shape: &Shape, part: &Part, block: usize, horizon: Timestamp) -> Result<KeyRows> {
        let schema = &shape.schema;
        let mut keys = KeyRows::default();
        keys.push_columns(schema, &self.decode(shape, part, &schema.key, block, horizon)?)?;
        Ok(keys)
    }

    /// Some columns of a block, past the cache: each block is read once and goes.
    fn decode(
        &self,
        shape: &Shape,
        part: &Part,
        ordinals: &[usize],
        block: usize,
        horizon: Timestamp,
    ) -> Result<Vec<ArrayRef>> {
        let rows = part.table.block_rows(block);
        let mut pacer = self.context.services.pacer();
        let decode = |&ordinal: &usize| {
            pacer.step();
            let data_type = shape.schema.columns[ordinal].data_type;
            Ok(if shape.is_forgotten(ordinal, horizon) {
                new_null_array(&data_type.arrow(), rows)
            } else if ordinal < part.table.column_count() {
                part.table.block(&NoCache, ordinal, block)?.decode(data_type)
            } else {
                missing_column(&shape.codec, data_type, ordinal, rows)
            })
        };
        ordinals.iter().map(decode).collect()
    }

    /// Writes the rows that stay; `places[input][position]` becomes the number of the output row.
    fn write_merged(
        &self,
        shape: &Arc<Shape>,
        task: &Task,
        marks: &[Vec<(u32, Timestamp)>],
        limit: Timestamp,
        cuts: &[Key],
        places: &mut [Vec<u32>],
    ) -> Result<Written> {
        debug_assert!(cuts.is_sorted(), "files are cut at keys in the order of the rows");
        let parts = &task.claimed;
        let horizon = shape.forgets_at(&self.context.horizon);
        let all: Vec<usize> = (0..shape.schema.columns.len()).collect();
        let mut output = Output::new(self, Arc::clone(shape), task.kind);
        let mut pacer = self.context.services.pacer();
        let mut read_keys = |part: &Part, block| self.read_keys(shape, part, block, horizon);
        let mut windows: Vec<Window> = parts.iter().map(|_| Window::default()).collect();
        let order = MergeOrder::new(parts, marks, limit, &mut read_keys)?;
        let mut pieces = Pieces { order, cuts, rows_max: self.piece_rows(parts) };
        let mut row_count = 0;
        while let Some(Piece { batch, lowest, begins_file, may_end }) = pieces.next()? {
            if begins_file {
                output.end_file()?;
            }
            for (n, source) in (row_count..).zip(&batch) {
                let place = &mut places[source.input as usize][source.position as usize];
                debug_assert!(*place == DROPPED, "a row leaves its input once (merge 4)");
                *place = n;
            }
            let numbers_left = (DROPPED - row_count) as usize;
            assert!(batch.len() < numbers_left, "an output row has another number than what is dropped");
            row_count += batch.len() as u32;
            for ((part, window), span) in parts.iter().zip(&mut windows).zip(spans(&batch, parts.len())) {
                let Some((first, last)) = span else {
                    if *part.key_max() < *lowest {
                        window.blocks.clear();
                    }
                    continue;
                };
                let decode = |block| self.decode(shape, part, &all, block, horizon);
                window.slide(first as usize, last as usize, decode)?;
            }
            let columns = gather(&windows, &batch, all.len(), || pacer.step())?;
            output.push_batch(&columns, &stamps(&batch), may_end)?;
        }
        job_reached(task.kind, JobStep::InputsRead);
        output.finish()
    }

    /// How many rows are written between two looks at the size: a quarter of a file's, by what the inputs have.
    fn piece_rows(&self, parts: &[Arc<Part>]) -> usize {
        let rows: u64 = parts.iter().map(|part| u64::from(part.row_count())).sum();
        let bytes: u64 = parts.iter().map(|part| part.table.file_bytes()).sum();
        let file_rows = self.options.column_table_bytes.saturating_mul(rows) / bytes.max(1);
        (file_rows as usize / 4).clamp(PIECE_ROWS_MIN, BLOCK_ROWS / 2)
    }
}

/// Rows that are written one after the other, within one file.
struct Piece {
    batch: Vec<Source>,
    /// The first key.
    lowest: Vec<u8>,
    /// They lie beyond a border that the rows before them do not.
    begins_file: bool,
    /// The next row has another key.
    may_end: bool,
}

/// Output rows in pieces of at most a block, cut at borders and, wherever it can be, between keys.
struct Pieces<'a> {
    order: MergeOrder<'a>,
    cuts: &'a [Key],
    rows_max: usize,
}

impl Pieces<'_> {
    fn next(&mut self) -> Result<Option<Piece>> {
        let Some(lowest) = self.order.key().map(<[u8]>::to_vec) else { return Ok(None) };
        let passed = self.cuts.partition_point(|cut| **cut <= *lowest);
        self.cuts = &self.cuts[passed..];
        let mut piece =
            Piece { batch: Vec::with_capacity(self.rows_max), lowest, begins_file: passed > 0, may_end: true };
        let mut last = piece.lowest.clone();
        while let Some(source) = self.order.take()? {
            piece.batch.push(source);
            let Some(key) = self.order.key() else { break };
            piece.may_end = *key != *last;
            let is_cut = self.cuts.first().is_some_and(|cut| *key >= **cut);
            let is_long = piece.batch.len() >= self.rows_max && piece.may_end;
            if is_cut || is_long || piece.batch.len() == 2 * self.rows_max {
                break;
            }
            last.clear();
            last.extend_from_slice(key);
        }
        assert!(!piece.batch.is_empty(), "a piece has rows as long as the order has a key");
        Ok(Some(piece))
    }
}

/// The columns of rows, out of the windows that have them.
fn gather(windows: &[Window], rows: &[Source], column_count: usize, mut pause: impl FnMut()) -> Result<Vec<ArrayRef>> {
    let mut starts = Vec::with_capacity(windows.len());
    let mut next = 0;
    for window in windows {
        starts.push(next);
        next += window.blocks.len();
    }
    let place = |source: &Source| {
        let (input, position) = (source.input as usize, source.position as usize);
        (starts[input] + position / BLOCK_ROWS - windows[input].first, position % BLOCK_ROWS)
    };
    let indices: Vec<(usize, usize)> = rows.iter().map(place).collect();
    let merged = (0..column_count).map(|ordinal| {
        pause();
        let blocks = windows.iter().flat_map(|window| window.blocks.iter().map(|block| block[ordinal].as_ref()));
        let blocks: Vec<&dyn Array> = blocks.collect();
        let merged = interleave(&blocks, &indices);
        merged.map_err(|error| Error::internal(format!("merging column {ordinal}: {error}")))
    });
    merged.collect()
}

/// The first and the last position of each input among rows.
fn spans(rows: &[Source], input_count: usize) -> Vec<Option<(u32, u32)>> {
    let mut spans: Vec<Option<(u32, u32)>> = vec![None; input_count];
    for row in rows {
        let span = spans[row.input as usize].get_or_insert((row.position, row.position));
        debug_assert!(span.1 <= row.position, "rows leave an input in the order of its positions (merge 4)");
        span.1 = row.position;
    }
    spans
}

fn stamps(rows: &[Source]) -> Vec<u64> {
    rows.iter().map(|source| source.insert_ts).collect()
}

fn carry_mark(written: &Written, places: &[u32], position: u32, ts: Timestamp, limit: Timestamp) {
    let n = places[position as usize];
    if n == DROPPED {
        assert!(ts <= limit, "a row that was dropped died before the job began (merge 2)");
        return;
    }
    let (part, position) = written.place(n);
    part.marks.set(position, ts);
}
