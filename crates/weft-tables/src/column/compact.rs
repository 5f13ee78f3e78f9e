//! Plain compaction: some column tables become fewer, without the rows that are dead for everyone.
//!
//! ```text
//!   t5 [a..m]  a c d̶ m          t9 [a..m]  a b c m         cut into files of about 4 MiB: disjoint ranges
//!   t7 [b..m]  b m̶             ▶
//! ```
//!
//! 1. Only listed parts are merged, so every row came in at or before the cut (DESIGN invariant 7).
//! 2. The limit is taken before the lists of new marks begin: a dropped row died before its list.
//! 3. A part is in one job at a time.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, new_null_array};
use arrow_select::interleave::interleave;
use weft_format::row_arrays::missing_column;
use weft_format::table::NoCache;
use weft_format::{BLOCK_ROWS, Error, Result, Timestamp};

use super::job_steps::{JobStep, JobSteps};
use super::key_rows::KeyRows;
use super::output::{Output, Written};
use super::part::Part;
use super::publish::Outcome;
use super::store::{Shape, Store};

/// An output row that is none: the row was dropped.
const DROPPED: u32 = u32::MAX;

/// A row of the inputs.
#[derive(Clone, Copy)]
struct Source {
    input: u32,
    position: u32,
    insert_ts: u64,
}

/// One input: its rows by block, and its marks when the job began.
struct Input {
    part: Arc<Part>,
    marks: Vec<(u32, Timestamp)>,
    keys: KeyRows,
    /// `columns[ordinal][block]`
    columns: Vec<Vec<ArrayRef>>,
}

impl Store {
    /// Merges parts; fine when another job has one of them or it is gone.
    pub(crate) fn compact(&self, inputs: &[Arc<Part>]) -> Result<()> {
        let mut claimed: Vec<Arc<Part>> = Vec::with_capacity(inputs.len());
        for part in inputs {
            if part.claim() {
                claimed.push(part.clone());
            }
        }
        let layout = self.layout();
        let current = |part: &Arc<Part>| part.is_listed() && layout.part(part.file).is_some();
        let complete = claimed.len() == inputs.len() && inputs.iter().all(current) && !self.is_dropped();
        let result = if complete { self.merge(inputs) } else { Ok(()) };
        for part in &claimed {
            part.marks.end_carry();
            part.unclaim();
        }
        result
    }

    fn merge(&self, parts: &[Arc<Part>]) -> Result<()> {
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
        JobSteps::Compact.reached(JobStep::InputsRead);
        let mut places: Vec<Vec<u32>> = parts.iter().map(|part| vec![DROPPED; part.row_count() as usize]).collect();
        let sources = ordered(&inputs, limit)?;
        for (n, source) in sources.iter().enumerate() {
            places[source.input as usize][source.position as usize] = n as u32;
        }
        let written = self.write_merged(shape, &inputs, &sources)?;
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
            outputs: &written.parts,
            inputs: parts,
            row_table: None,
            carry: &carry,
            job: JobSteps::Compact,
        })
    }

    /// Decodes an input past the cache: its blocks are read once and go.
    fn read_input(&self, shape: &Shape, part: Arc<Part>, marks: Vec<(u32, Timestamp)>) -> Result<Input> {
        let schema = &shape.schema;
        let horizon = self.context.services.horizon();
        let mut pacer = self.context.services.pacer();
        let mut columns = Vec::with_capacity(schema.columns.len());
        for (ordinal, column) in schema.columns.iter().enumerate() {
            let mut blocks = Vec::with_capacity(part.table.block_count());
            let is_stored = ordinal < part.table.column_count();
            for block in 0..part.table.block_count() {
                let rows = part.table.block_rows(block);
                blocks.push(if shape.is_forgotten(ordinal, horizon) {
                    new_null_array(&column.data_type.arrow(), rows)
                } else if is_stored {
                    part.table.block(&NoCache, ordinal, block)?.decode(column.data_type)
                } else {
                    missing_column(&shape.codec, column.data_type, ordinal, rows)
                });
            }
            columns.push(blocks);
            pacer.step();
        }
        let mut keys = KeyRows::default();
        for block in 0..part.table.block_count() {
            let blocks = schema.key.iter().map(|&ordinal| &columns[ordinal]);
            let key_columns: Vec<ArrayRef> = blocks.map(|blocks: &Vec<ArrayRef>| blocks[block].clone()).collect();
            keys.push_columns(schema, &key_columns)?;
        }
        Ok(Input { part, marks, keys, columns })
    }

    fn write_merged(&self, shape: Arc<Shape>, inputs: &[Input], sources: &[Source]) -> Result<Written> {
        let column_count = shape.schema.columns.len();
        let mut output = Output::new(self, shape, JobSteps::Compact);
        let mut firsts = Vec::with_capacity(inputs.len());
        let mut next = 0;
        for input in inputs {
            firsts.push(next);
            next += input.part.table.block_count();
        }
        for batch in sources.chunks(BLOCK_ROWS) {
            let place = |source: &Source| {
                let position = source.position as usize;
                (firsts[source.input as usize] + position / BLOCK_ROWS, position % BLOCK_ROWS)
            };
            let indices: Vec<(usize, usize)> = batch.iter().map(place).collect();
            let stamps: Vec<u64> = batch.iter().map(|source| source.insert_ts).collect();
            let mut columns = Vec::with_capacity(column_count);
            for ordinal in 0..column_count {
                let blocks: Vec<&dyn Array> =
                    inputs.iter().flat_map(|input| input.columns[ordinal].iter().map(|block| block.as_ref())).collect();
                let merged = interleave(&blocks, &indices);
                columns.push(merged.map_err(|error| Error::internal(format!("merging column {ordinal}: {error}")))?);
            }
            output.push_batch(&columns, &stamps)?;
        }
        output.finish()
    }
}

fn carry_mark(written: &Written, places: &[u32], position: u32, ts: Timestamp, limit: Timestamp) {
    let n = places[position as usize];
    if n == DROPPED {
        assert!(ts <= limit, "a row that was dropped died before the job began (compact 2)");
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
