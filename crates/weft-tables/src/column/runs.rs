//! Encoded runs of a chunk of a row table: with `incremental = 'columns'`, new rows become columns in the statement
//! that commits them.
//!
//! ```text
//!   slots      0 ......... 3   4 .. 5   6         runs of 4, 2 and 1 rows, each column one encoded block
//!   + 1 row    0 ............................ 7   runs at the end that are not longer than what comes behind them are
//!                                                 decoded and encoded again with it: 1, then 2, then 4
//! ```
//!
//! A row is encoded again once per doubling of its run: eleven times until its chunk is full. Scans read the blocks as
//! those of column tables; when rows came in and died is asked of the chunk, whose rows serve point reads, conversion
//! and redo.
//!
//! 1. Runs cover the first slots of their chunk, without a gap; slots behind them are read as rows.
//! 2. A run is immutable; the list is replaced as a whole.
//! 3. A run has all columns that its rows have.
//!
//! Concurrency: one writer (it holds the table's mark lock). Crash: nothing here survives; rows that redo brings back
//! are encoded with the next commit.
//!
//! Source: SynchroStore (papers/000) section 1.2, "incremental columnar": each insertion decompresses, changes and
//! compresses the newest structure. Its cost per row would grow with that structure; here it is bounded by merging runs
//! of equal size, so that the comparison is of formats (docs/decisions/2026-11-22-incremental-columns.md).

use std::sync::Arc;

use arrow_buffer::Buffer;
use weft_env::sync::RwLock;
use weft_format::encoding::{BlockBuilder, HashesWanted, SymbolTable};
use weft_format::row::columns_of;
use weft_format::row_arrays::missing_column;
use weft_format::{Block, Result, RowCodec, Schema};

use super::chunk::Chunk;

/// Some slots of a chunk as columns.
pub(crate) struct Run {
    /// The first slot.
    pub(crate) start: usize,
    /// How many.
    pub(crate) len: usize,
    /// By ordinal; columns that are younger than the run are missing.
    pub(crate) columns: Vec<Block>,
}

/// The runs of a chunk.
#[derive(Default)]
pub(crate) struct Runs(RwLock<Arc<[Arc<Run>]>>);

impl Run {
    fn end(&self) -> usize {
        self.start + self.len
    }

    fn memory_bytes(&self) -> u64 {
        self.columns.iter().map(|block| block.memory_bytes() as u64).sum()
    }
}

impl Runs {
    /// The runs now, by slot.
    pub(crate) fn get(&self) -> Arc<[Arc<Run>]> {
        self.0.read().clone()
    }

    /// Encodes the slots of the chunk behind the runs. Returns how many bytes more the runs take, and how many fewer.
    pub(crate) fn extend(&self, chunk: &Chunk, schema: &Schema, codec: &RowCodec) -> Result<(u64, u64)> {
        let mut runs: Vec<Arc<Run>> = self.get().to_vec();
        let covered = runs.last().map_or(0, |run| run.end());
        // A transaction that adds a column and rows puts the rows in before the table has the column (runs 3).
        let is_known = |slot: &usize| columns_of(chunk.row(*slot as u32)) <= schema.columns.len();
        let len = covered + (covered..chunk.len()).take_while(is_known).count();
        if covered == len {
            return Ok((0, 0));
        }
        let mut start = covered;
        let mut merged = Vec::new();
        while let Some(last) = runs.pop_if(|last| last.len <= len - start || len == chunk.capacity()) {
            start = last.start;
            merged.push(last);
        }
        merged.reverse();
        let run = encode(chunk, start, &merged, covered..len, schema, codec)?;
        let freed = merged.iter().map(|run| run.memory_bytes()).sum();
        let taken = run.memory_bytes();
        runs.push(Arc::new(run));
        *self.0.write() = runs.into();
        Ok((taken, freed))
    }
}

/// One run of what some runs have and of new rows behind them.
fn encode(
    chunk: &Chunk,
    start: usize,
    merged: &[Arc<Run>],
    new: std::ops::Range<usize>,
    schema: &Schema,
    codec: &RowCodec,
) -> Result<Run> {
    let len = new.end - start;
    let mut columns = Vec::with_capacity(schema.columns.len());
    for (ordinal, column) in schema.columns.iter().enumerate() {
        let mut builder = BlockBuilder::new(column.data_type);
        for run in merged {
            let values = match run.columns.get(ordinal) {
                Some(block) => block.decode(column.data_type),
                None => missing_column(codec, column.data_type, ordinal, run.len),
            };
            builder.push_array(&values, 0, run.len)?;
        }
        for slot in new.clone() {
            builder.push(codec.get(chunk.row(slot as u32), ordinal));
        }
        let encoded = builder.finish(HashesWanted::None);
        let symbols = builder.symbol_table();
        let symbols = if symbols.is_empty() { None } else { Some(Arc::new(SymbolTable::parse(&symbols)?)) };
        columns.push(Block::parse(Buffer::from_vec(encoded.bytes), symbols.as_ref())?);
    }
    Ok(Run { start, len, columns })
}

#[cfg(test)]
mod tests {
    use weft_format::{DataType, Timestamp, Value};

    use super::*;
    use crate::testing::Prng;
    use crate::testing::conformance::{row_values, schema};

    #[test]
    fn runs_have_what_the_rows_have_and_are_few() {
        let (schema, mut random) = (schema(), Prng(11));
        let codec = RowCodec::new(&schema);
        let chunk = Chunk::new(0, 300, schema.columns.len());
        let mut bytes = 0;
        let mut encoded_rows = 0;
        while !chunk.is_full() {
            for _ in 0..(1 + random.below(3)).min((300 - chunk.len()) as u64) {
                let values = row_values(random.below(1000), &mut random);
                chunk.push(Timestamp(7), codec.encode(values.iter().map(Value::as_ref)).into());
            }
            let (taken, freed) = chunk.runs.extend(&chunk, &schema, &codec).unwrap();
            bytes = bytes + taken - freed;
            let runs = chunk.runs.get();
            encoded_rows += runs.last().unwrap().len;
            assert!(runs.len() <= 9, "runs double: {:?}", runs.iter().map(|run| run.len).collect::<Vec<_>>());
            let mut next = 0;
            for run in &*runs {
                assert_eq!(run.start, next, "runs cover the slots without a gap (runs 1)");
                next += run.len;
                let is_array = |ordinal: usize| matches!(schema.columns[ordinal].data_type, DataType::Array(_));
                for (ordinal, block) in run.columns.iter().enumerate().filter(|(ordinal, _)| !is_array(*ordinal)) {
                    let row = run.start + random.below(run.len as u64) as usize;
                    assert_eq!(block.value(row - run.start), codec.get(chunk.row(row as u32), ordinal).to_value());
                }
            }
            assert_eq!(next, chunk.len());
            assert_eq!(bytes, runs.iter().map(|run| run.memory_bytes()).sum::<u64>());
        }
        assert_eq!(chunk.runs.get().len(), 1, "a full chunk is one run");
        assert!(encoded_rows < 300 * 10, "a row is encoded again once per doubling: {encoded_rows}");
        assert_eq!(chunk.runs.extend(&chunk, &schema, &codec).unwrap(), (0, 0));
    }
}
