//! Encodes and decodes 1 M rows × 31 columns (bigint key, 15 integers, 15 short strings); prints sizes and speeds.
//!
//! `cargo run --release -p weft-format --example encode_speed`

#![allow(clippy::disallowed_methods, reason = "a measurement needs the real clock")]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use arrow_array::{Array, ArrayRef, Int32Array, Int64Array, StringViewArray};
use arrow_buffer::Buffer;
use weft_format::encoding::{BlockBuilder, HashesWanted, SymbolTable};
use weft_format::{
    BLOCK_ROWS, Block, Column, ColumnTableBuilder, ColumnTableOptions, DataType, FileId, InsertTimestamps, Schema,
    TableId, Timestamp,
};

const ROWS: usize = 1 << 20;
const TABLE_BYTES: usize = 4 << 20;

fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

fn text(state: &mut u64) -> String {
    let len = 5 + random(state) % 8;
    (0..len).map(|_| char::from(b'a' + (random(state) % 26) as u8)).collect()
}

fn columns(first: usize, rows: usize, words: &[Vec<String>]) -> Vec<ArrayRef> {
    let mut state = first as u64;
    let mut columns: Vec<ArrayRef> =
        vec![Arc::new(Int64Array::from_iter_values((first..first + rows).map(|k| k as i64)))];
    for column in 0..15 {
        // Ranges from 100 to 2^31, evenly on a logarithmic scale.
        let range = 100f64 * (2f64.powi(31) / 100.0).powf(f64::from(column) / 14.0);
        let values = (0..rows).map(|_| (random(&mut state) % range as u64) as i32);
        columns.push(Arc::new(Int32Array::from_iter_values(values)));
    }
    for list in words {
        let values = (0..rows).map(|_| match list.len() {
            0 => text(&mut state),
            len => list[(random(&mut state) % len as u64) as usize].clone(),
        });
        columns.push(Arc::new(StringViewArray::from_iter_values(values)));
    }
    columns
}

fn main() {
    let mut state = 1;
    let words: Vec<Vec<String>> =
        (0..15).map(|column| (0..[10, 100, 1000, 10_000, 0][column % 5]).map(|_| text(&mut state)).collect()).collect();
    let column = |index: usize| Column {
        name: format!("col_{index}"),
        data_type: [DataType::BigInt, DataType::Integer, DataType::Text][index.div_ceil(15).min(2)],
        not_null: false,
    };
    let schema = Arc::new(Schema::new((0..31).map(column).collect(), vec![0]));
    // Twice each: the first time of all warms up.
    for without_summaries in [false, true, false, true] {
        load(&words, &schema, without_summaries);
    }
    per_column(&words, &schema);
}

/// Encodes all rows; with and without what is told of the values of columns.
fn load(words: &[Vec<String>], schema: &Arc<Schema>, without_summaries: bool) {
    let (mut seconds, mut bytes, mut tables, mut arrow_bytes) = (0.0, 0, 0, 0);
    let options = ColumnTableOptions { without_summaries, ..ColumnTableOptions::default() };
    let new = || ColumnTableBuilder::new(Arc::clone(schema), &options);
    let mut builder = new();
    for first in (0..ROWS).step_by(BLOCK_ROWS) {
        let batch = columns(first, BLOCK_ROWS, words);
        arrow_bytes += batch.iter().map(|array| array.get_array_memory_size()).sum::<usize>();
        let start = Instant::now();
        builder.push_batch(&batch, InsertTimestamps::Same(Timestamp(1))).expect("the batch fits the schema");
        if builder.estimated_bytes() > TABLE_BYTES || first + BLOCK_ROWS == ROWS {
            let full = std::mem::replace(&mut builder, new());
            tables += 1;
            bytes += full.finish(TableId(1), FileId(tables)).expect("rows were added").bytes.len();
        }
        seconds += start.elapsed().as_secs_f64();
    }
    let summaries = if without_summaries { "without summaries" } else { "with summaries" };
    let per_value = seconds * 1e9 / (ROWS * schema.columns.len()) as f64;
    println!(
        "load {summaries}: {seconds:.2} s, {per_value:.1} ns a value, {tables} files, {:.1} MB from {:.0} MB of Arrow",
        mb(bytes),
        mb(arrow_bytes)
    );
}

fn mb(bytes: usize) -> f64 {
    bytes as f64 / 1e6
}

/// Encoding and speed column by column, over 16 blocks.
fn per_column(words: &[Vec<String>], schema: &Schema) {
    const BLOCKS: usize = 16;
    println!("column      encoding     bits/row  encode ns/row  decode ns/row  one value ns");
    let batches: Vec<Vec<ArrayRef>> = (0..BLOCKS).map(|block| columns(block * BLOCK_ROWS, BLOCK_ROWS, words)).collect();
    for ordinal in 0..schema.columns.len() {
        let data_type = schema.columns[ordinal].data_type;
        let mut builder = BlockBuilder::new(data_type);
        let start = Instant::now();
        let mut encoded = Vec::new();
        for batch in &batches {
            builder.push_array(&batch[ordinal], 0, BLOCK_ROWS).expect("the array fits");
            encoded.push(builder.finish(HashesWanted::Few(1638)));
        }
        let encode = start.elapsed();
        let symbols = builder.symbol_table();
        let symbols = (!symbols.is_empty()).then(|| Arc::new(SymbolTable::parse(&symbols).expect("just written")));
        let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
        encoded.iter().for_each(|block| *kinds.entry(format!("{:?}", block.encoding)).or_default() += 1);
        let bits = encoded.iter().map(|block| block.bytes.len()).sum::<usize>() as f64 * 8.0;
        let blocks: Vec<Block> = encoded
            .into_iter()
            .map(|block| Block::parse(Buffer::from_vec(block.bytes), symbols.as_ref()).expect("just encoded"))
            .collect();
        let start = Instant::now();
        let repeats = 8;
        let decoded: usize = (0..repeats)
            .map(|_| blocks.iter().map(|block| std::hint::black_box(block.decode(data_type)).len()).sum::<usize>())
            .sum();
        let decode = start.elapsed();
        let start = Instant::now();
        let mut state = 5;
        let probes = 100_000;
        for _ in 0..probes {
            let at = random(&mut state) as usize;
            std::hint::black_box(blocks[at % BLOCKS].value(at / BLOCKS % BLOCK_ROWS));
        }
        let one = start.elapsed();
        let rows = (BLOCKS * BLOCK_ROWS) as f64;
        println!(
            "{:<10} {:<14} {:>7.2} {:>13.1} {:>14.2} {:>12.0}",
            schema.columns[ordinal].name,
            kinds.into_keys().collect::<Vec<_>>().join("/"),
            bits / rows,
            encode.as_nanos() as f64 / rows,
            decode.as_nanos() as f64 / decoded as f64,
            one.as_nanos() as f64 / f64::from(probes),
        );
    }
}
