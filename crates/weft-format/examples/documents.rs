//! Sizes and times of documents as columns beside documents as texts: `cargo run --release --example documents`.
//!
//! For each of the five shapes: bytes of the canonical texts, of a file with them as texts (each compressed by itself),
//! and of a file with them as columns; how long building takes, assembling all documents, reading one leaf, and reading
//! one document of blocks that are in the cache.

#![allow(clippy::disallowed_methods, reason = "a program that measures time itself")]

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::time::Instant;

use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use weft_env::File;
use weft_env::sync::Mutex;
use weft_format::document::shapes::{Shape, Shapes};
use weft_format::document::{FieldPath, FieldStep};
use weft_format::{
    Block, BlockCache, BlockKey, Column, ColumnTable, ColumnTableBuilder, ColumnTableOptions, DataType, FileId,
    NoCache, Result, RowCodec, Schema, TableId, Timestamp, ValueRef,
};

/// A file in memory.
struct Bytes(Vec<u8>);

impl File for Bytes {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let rest = self.0.get(offset as usize..).unwrap_or(&[]);
        let len = rest.len().min(buffer.len());
        buffer[..len].copy_from_slice(&rest[..len]);
        Ok(len)
    }
    fn write_at(&self, _bytes: &[u8], _offset: u64) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }
    fn len(&self) -> io::Result<u64> {
        Ok(self.0.len() as u64)
    }
    fn set_len(&self, _len: u64) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// Keeps all blocks.
#[derive(Default)]
struct Keep(Mutex<HashMap<BlockKey, Arc<Block>>>);

impl BlockCache for Keep {
    fn get(&self, key: BlockKey, load: &mut dyn FnMut() -> Result<Block>) -> Result<Arc<Block>> {
        let mut blocks = self.0.lock();
        if let Some(block) = blocks.get(&key) {
            return Ok(Arc::clone(block));
        }
        let block = Arc::new(load()?);
        blocks.insert(key, Arc::clone(&block));
        Ok(block)
    }
}

/// Microseconds of reading one document, of blocks in the cache: the mean of many, spread over the rows.
fn point(table: &ColumnTable) -> f64 {
    let cache = Keep::default();
    let rows = (0..2_000).map(|at| (at * 7_919 % table.row_count() as usize) as u32);
    let read = || rows.clone().for_each(|row| drop(table.value(&cache, 1, row).expect("read")));
    read();
    timed(read).1 * 1e3 / 2_000.0
}

fn timed<R>(run: impl FnOnce() -> R) -> (R, f64) {
    let start = Instant::now();
    let result = run();
    (result, start.elapsed().as_secs_f64() * 1e3)
}

fn build(texts: &[String], documents_as_texts: bool) -> ColumnTable {
    let column = |name: &str, data_type| Column { name: name.into(), data_type, not_null: true };
    let columns = vec![column("id", DataType::BigInt), column("doc", DataType::Jsonb)];
    let schema = Arc::new(Schema::new(columns, vec![0]));
    let codec = RowCodec::new(&schema);
    let options = ColumnTableOptions { documents_as_texts, ..ColumnTableOptions::default() };
    let mut builder = ColumnTableBuilder::new(schema.clone(), &options);
    for (row, text) in texts.iter().enumerate() {
        builder.push_row(&codec.encode([ValueRef::Int(row as i64), ValueRef::Text(text)]), Timestamp(1));
    }
    let image = builder.finish(TableId(1), FileId(1)).expect("rows were added");
    ColumnTable::open(Arc::new(Bytes(image.bytes)), TableId(1), FileId(1), &schema).expect("it was just built")
}

/// The best of three runs over all blocks, milliseconds.
fn scan(table: &ColumnTable, mut each: impl FnMut(usize)) -> f64 {
    let run = |_| timed(|| (0..table.block_count()).for_each(&mut each)).1;
    (0..3).map(run).fold(f64::INFINITY, f64::min)
}

fn leaf(shape: Shape) -> FieldPath {
    match shape {
        Shape::Cell => FieldPath::of_keys(&["duration"], DataType::BigInt),
        Shape::Sensors => FieldPath::of_keys(&["battery", "mv"], DataType::BigInt),
        Shape::Tweet1 | Shape::Tweet2 => FieldPath::of_keys(&["user", "followers_count"], DataType::BigInt),
        Shape::Wos => FieldPath::of_keys(&["static_data", "summary", "pub_info", "pubyear"], DataType::BigInt),
    }
}

fn main() {
    let scale: usize = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(8_192);
    println!(
        "shape     docs   columns  text MB  as texts  as columns  ratio   build: texts columns  assemble leaf ms  us"
    );
    for shape in Shape::ALL {
        let mut shapes = Shapes::new(shape, 1);
        let texts: Vec<String> = (0..scale).map(|_| shapes.next_text()).collect();
        let bytes: usize = texts.iter().map(String::len).sum();
        let (as_texts, texts_ms) = timed(|| build(&texts, true));
        let (as_columns, columns_ms) = timed(|| build(&texts, false));
        let path = leaf(shape);
        let assemble = scan(&as_columns, |block| drop(as_columns.block(&NoCache, 1, block).expect("read")));
        let leaf = scan(&as_columns, |block| drop(as_columns.field(&NoCache, (1, block), &path, None).expect("read")));
        let of_texts = scan(&as_texts, |block| drop(as_texts.field(&NoCache, (1, block), &path, None).expect("read")));
        let columns = as_columns.document_schema(&NoCache, 1).expect("read").column_count();
        let mb = |bytes: f64| bytes / 1e6;
        println!(
            "{:8} {scale:6} {columns:6} {:9.2} {:9.2} {:9.2} {:7.1}x {:5.1}x {texts_ms:9.0} {columns_ms:7.0} \
             {assemble:9.1} {leaf:7.2} (of texts {of_texts:.1}) {:7.0} (of texts {:.0})",
            format!("{shape:?}"),
            mb(bytes as f64),
            mb(as_texts.file_bytes() as f64),
            mb(as_columns.file_bytes() as f64),
            bytes as f64 / as_columns.file_bytes() as f64,
            as_texts.file_bytes() as f64 / as_columns.file_bytes() as f64,
            point(&as_columns),
            point(&as_texts),
        );
        if shape == Shape::Sensors {
            let steps = vec![FieldStep::Key("readings".into()), FieldStep::Index(0), FieldStep::Key("temp".into())];
            let path = FieldPath::new(steps, DataType::DoublePrecision);
            let first =
                scan(&as_columns, |block| drop(as_columns.field(&NoCache, (1, block), &path, None).expect("read")));
            let steps = vec![FieldStep::Key("readings".into()), FieldStep::Elements, FieldStep::Key("temp".into())];
            let elements = FieldPath::new(steps, DataType::DoublePrecision);
            let mut greatest = f64::MIN;
            let unnested = scan(&as_columns, |block| {
                let found = as_columns.field(&NoCache, (1, block), &elements, None).expect("read").array;
                let numbers = found.as_list::<i32>().values().as_primitive::<Float64Type>();
                greatest = numbers.values().iter().copied().fold(greatest, f64::max);
            });
            println!("         readings[0].temp: {first:.1} ms; max of all readings ({greatest}): {unnested:.1} ms");
        }
    }
}
