//! Rows of a chunk become [runs](super::runs) of columns.

use std::sync::Arc;

use arrow_buffer::Buffer;
use weft_format::encoding::{BlockBuilder, HashesWanted, SymbolTable};
use weft_format::row::columns_of;
use weft_format::row_arrays::missing_column;
use weft_format::{Block, Result, RowCodec, Schema};

use super::chunk::Chunk;
use super::runs::Run;

impl Chunk {
    /// Encodes the slots behind the runs. Returns how many bytes more the runs take, and how many fewer.
    pub(crate) fn encode_runs(&self, schema: &Schema, codec: &RowCodec) -> Result<(u64, u64)> {
        let mut runs: Vec<Arc<Run>> = self.runs.get().to_vec();
        let covered = runs.last().map_or(0, |run| run.end());
        assert!(covered <= self.len(), "runs cover slots that are in use (runs 1)");
        // A transaction that adds a column and rows puts the rows in before the table has the column (runs 3).
        let is_known = |slot: &usize| columns_of(self.row(*slot as u32)) <= schema.columns.len();
        let len = covered + (covered..self.len()).take_while(is_known).count();
        if covered == len {
            return Ok((0, 0));
        }
        let mut start = covered;
        let mut merged = Vec::new();
        while let Some(last) = runs.pop_if(|last| last.len <= len - start || len == self.capacity()) {
            start = last.start;
            merged.push(last);
        }
        merged.reverse();
        debug_assert!(
            merged.iter().map(|run| run.len).sum::<usize>() == covered - start,
            "what is encoded again are all rows from the first of the runs that go (runs 1)"
        );
        let run = encode(self, start, &merged, covered..len, schema, codec)?;
        let freed = merged.iter().map(|run| run.memory_bytes()).sum();
        let taken = run.memory_bytes();
        runs.push(Arc::new(run));
        self.runs.replace(runs);
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
            let (taken, freed) = chunk.encode_runs(&schema, &codec).unwrap();
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
        assert_eq!(chunk.encode_runs(&schema, &codec).unwrap(), (0, 0));
    }
}
