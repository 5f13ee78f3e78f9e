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
//! 4. Rows leave an input in the order of its positions. So of each column one block per input is decoded at a time,
//!    and the keys of all rows; blocks of a few kilobytes may have megabytes of values.
//! 5. The versions of a key stay in one file, or files cut for their size could overlap in it.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, new_null_array};
use arrow_select::interleave::interleave;
use weft_format::row_arrays::missing_column;
use weft_format::table::NoCache;
use weft_format::{BLOCK_ROWS, Error, Result, Timestamp};
use weft_kernel::table::JobKind;

use super::borders::Key;
use super::claim::{Task, What};
use super::job_steps::{JobStep, job_reached};
use super::key_rows::KeyRows;
use super::output::{Output, Written};
use super::part::Part;
use super::payload::Layer;
use super::publish::{Change, Outcome};
use super::store::{Shape, Store};

/// An output row that is none: the row was dropped.
const DROPPED: u32 = u32::MAX;

/// The fewest rows between two looks at the size of a file.
const PIECE_ROWS_MIN: usize = 16;

/// A row of the inputs.
#[derive(Clone, Copy)]
struct Source {
    input: u32,
    position: u32,
    insert_ts: u64,
}

/// One input: the keys of its rows, and its marks when the job began.
struct Input {
    part: Arc<Part>,
    marks: Vec<(u32, Timestamp)>,
    keys: KeyRows,
}

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
        self.blocks.drain(..(first - self.first).min(self.blocks.len()));
        self.first = first;
        for block in first + self.blocks.len()..=last {
            self.blocks.push(decode(block)?);
        }
        Ok(())
    }
}

impl Store {
    /// Runs a job on column tables; fine when it is no longer needed.
    pub(crate) fn run_task(&self, kind: JobKind, number: u64) -> Result<()> {
        let Some(task) = self.claim(kind, number) else { return Ok(()) };
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
        task.claimed.iter().for_each(|part| part.marks.end_carry());
        self.release(&task);
        result
    }

    fn merge(&self, task: &Task, layer: Layer, cuts: &[Key]) -> Result<()> {
        let parts = &task.claimed;
        let limit = self.droppable(self.cut());
        let shape = self.shape();
        let snapshots: Vec<Vec<(u32, Timestamp)>> = {
            let _marking = self.marking.lock();
            parts.iter().map(|part| part.marks.begin_carry()).collect()
        };
        let mut inputs = Vec::with_capacity(parts.len());
        for (part, marks) in parts.iter().zip(snapshots) {
            inputs.push(self.read_input(&shape, part.clone(), marks)?);
        }
        job_reached(task.kind, JobStep::InputsRead);
        let mut places: Vec<Vec<u32>> = parts.iter().map(|part| vec![DROPPED; part.row_count() as usize]).collect();
        let sources = ordered(&inputs, limit)?;
        for (n, source) in sources.iter().enumerate() {
            places[source.input as usize][source.position as usize] = n as u32;
        }
        let written = self.write_merged(shape, &inputs, &sources, task.kind, cuts)?;
        for (input, places) in inputs.iter().zip(&places) {
            let alive_for_some = input.marks.iter().filter(|&&(_, ts)| ts > limit);
            alive_for_some.for_each(|&(position, ts)| carry_mark(&written, places, position, ts, limit));
        }
        drop(inputs);
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

    /// Reads the keys of an input past the cache.
    fn read_input(&self, shape: &Shape, part: Arc<Part>, marks: Vec<(u32, Timestamp)>) -> Result<Input> {
        let schema = &shape.schema;
        let horizon = self.context.services.horizon();
        let mut pacer = self.context.services.pacer();
        let mut keys = KeyRows::default();
        for block in 0..part.table.block_count() {
            keys.push_columns(schema, &self.decode(shape, &part, &schema.key, block, horizon)?)?;
            pacer.step();
        }
        Ok(Input { part, marks, keys })
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
        let decode = |&ordinal: &usize| {
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

    fn write_merged(
        &self,
        shape: Arc<Shape>,
        inputs: &[Input],
        sources: &[Source],
        kind: JobKind,
        cuts: &[Key],
    ) -> Result<Written> {
        let horizon = self.context.services.horizon();
        let all: Vec<usize> = (0..shape.schema.columns.len()).collect();
        let mut output = Output::new(self, Arc::clone(&shape), kind);
        let mut pacer = self.context.services.pacer();
        let mut windows: Vec<Window> = inputs.iter().map(|_| Window::default()).collect();
        let mut pieces = Pieces { inputs, sources, cuts, next: 0, rows_max: self.piece_rows(inputs) };
        while let Some(Piece { batch, begins_file, may_end }) = pieces.next() {
            if begins_file {
                output.end_file()?;
            }
            let lowest = inputs[batch[0].input as usize].keys.get(batch[0].position as usize);
            for ((input, window), span) in inputs.iter().zip(&mut windows).zip(spans(batch, inputs.len())) {
                let Some((first, last)) = span else {
                    if input.part.key_max() < lowest {
                        window.blocks.clear();
                    }
                    continue;
                };
                let decode = |block| self.decode(&shape, &input.part, &all, block, horizon);
                window.slide(first as usize, last as usize, decode)?;
            }
            output.push_batch(&gather(&windows, batch, all.len())?, &stamps(batch), may_end)?;
            pacer.step();
        }
        output.finish()
    }

    /// How many rows are written between two looks at the size: a quarter of a file's, by what the inputs have.
    fn piece_rows(&self, inputs: &[Input]) -> usize {
        let rows: u64 = inputs.iter().map(|input| u64::from(input.part.row_count())).sum();
        let bytes: u64 = inputs.iter().map(|input| input.part.table.file_bytes()).sum();
        let file_rows = self.options.column_table_bytes.saturating_mul(rows) / bytes.max(1);
        (file_rows as usize / 4).clamp(PIECE_ROWS_MIN, BLOCK_ROWS)
    }
}

/// Rows that are written one after the other, within one file.
struct Piece<'a> {
    batch: &'a [Source],
    /// They lie beyond a border that the rows before them do not.
    begins_file: bool,
    /// The next row has another key.
    may_end: bool,
}

/// Output rows in pieces of at most a block, cut at borders and, wherever it can be, between keys.
struct Pieces<'a> {
    inputs: &'a [Input],
    sources: &'a [Source],
    cuts: &'a [Key],
    next: usize,
    rows_max: usize,
}

impl<'a> Pieces<'a> {
    fn key(&self, n: usize) -> &'a [u8] {
        let source = &self.sources[n];
        self.inputs[source.input as usize].keys.get(source.position as usize)
    }

    /// The first row between two whose key is at or beyond one.
    fn first_at_or_beyond(&self, key: &[u8], start: usize, end: usize) -> usize {
        let (mut low, mut high) = (start, end);
        while low < high {
            let middle = low.midpoint(high);
            if self.key(middle) < key { low = middle + 1 } else { high = middle }
        }
        low
    }

    fn next(&mut self) -> Option<Piece<'a>> {
        let (start, count) = (self.next, self.sources.len());
        if start == count {
            return None;
        }
        let passed = self.cuts.partition_point(|cut| **cut <= *self.key(start));
        self.cuts = &self.cuts[passed..];
        let mut end = (start + self.rows_max).min(count);
        if let Some(cut) = self.cuts.first().filter(|cut| *self.key(end - 1) >= ***cut) {
            end = self.first_at_or_beyond(cut, start, end);
        }
        let is_whole = |end: usize| end == count || self.key(end - 1) != self.key(end);
        let whole = (start + 1..=end).rev().find(|&end| is_whole(end));
        let end = whole.unwrap_or(end);
        self.next = end;
        Some(Piece { batch: &self.sources[start..end], begins_file: passed > 0, may_end: whole.is_some() })
    }
}

/// The columns of rows, out of the windows that have them.
fn gather(windows: &[Window], rows: &[Source], column_count: usize) -> Result<Vec<ArrayRef>> {
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
        spans[row.input as usize].get_or_insert((row.position, row.position)).1 = row.position;
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

/// The rows that stay, by key and insert timestamp.
fn ordered(inputs: &[Input], limit: Timestamp) -> Result<Vec<Source>> {
    let mut sources = Vec::with_capacity(inputs.iter().map(|input| input.keys.len()).sum());
    for (number, input) in inputs.iter().enumerate() {
        let mut dead = input.marks.iter().filter(|&&(_, ts)| ts <= limit).map(|&(position, _)| position).peekable();
        for position in 0..input.part.row_count() {
            if dead.next_if_eq(&position).is_some() {
                continue;
            }
            let inserted = if input.part.insert_ts_max() <= limit {
                Timestamp(0)
            } else {
                // Every reader is behind the limit: it need not be told when the row came in.
                Some(input.part.insert_ts(position)?).filter(|&ts| ts > limit).unwrap_or_default()
            };
            sources.push(Source { input: number as u32, position, insert_ts: inserted.0 });
        }
    }
    let key = |source: &Source| inputs[source.input as usize].keys.get(source.position as usize);
    // The inputs are runs in order, which this sort finds and merges.
    sources.sort_by(|a, b| key(a).cmp(key(b)).then(a.insert_ts.cmp(&b.insert_ts)));
    Ok(sources)
}
