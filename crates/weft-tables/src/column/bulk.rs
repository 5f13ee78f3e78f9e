//! Bulk load: Arrow batches become files at once, without row tables and without the log.
//!
//! ```text
//!   batches ─▶ keys ─▶ in order? else sort ─▶ twice? in the table? ─▶ first file tells the rows per file
//!                                                                    ─▶ the rest in parallel ─▶ synced ─▶ attachment
//! ```
//!
//! 1. The files' rows have insert timestamp 0 in the file; the part that holds them says when they came in.
//! 2. On an error nothing is left behind.
//! 3. While rows are added, parts that were built and not attached are of the one transaction that has the table for
//!    itself: what it loads next is tested against them, too. Several transactions may replace rows at once
//!    (`replace.rs`): they hold the locks of their keys.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_select::interleave::interleave;
use weft_contract::{Attachment, Bulk};
use weft_env::sync::Mutex;
use weft_format::table::{ColumnTableBuilder, InsertTimestamps};
use weft_format::{BLOCK_ROWS, Code, Error, FileId, KeyRows, Result, Timestamp};
use weft_kernel::step::reached;

use super::file_writer::FileWriter;
use super::key_probe::KeyProbe;
use super::part::Part;
use super::steps::BUILD_FILES_SYNCED;
use super::store::{Shape, Store};

/// Rows on their way into files, in key order.
struct Rows {
    batches: Vec<RecordBatch>,
    /// First row of each batch.
    firsts: Vec<usize>,
    /// The order, when the batches are not in it.
    order: Option<Vec<u32>>,
    count: usize,
}

/// Files being written by several threads, one file at a time each.
struct Load {
    rows: Rows,
    writer: FileWriter,
    file_rows: usize,
    file_count: usize,
    /// The first file, when finding out how many rows make one has filled it.
    first: Mutex<Option<ColumnTableBuilder>>,
    next: AtomicUsize,
    built: Mutex<Vec<(usize, Result<Part>)>>,
}

impl Load {
    fn run(&self) {
        loop {
            let file = self.next.fetch_add(1, Ordering::Relaxed);
            if file >= self.file_count {
                return;
            }
            let part = self.write(file);
            self.built.lock().push((file, part));
        }
    }

    fn write(&self, file: usize) -> Result<Part> {
        let start = file * self.file_rows;
        assert!(start < self.rows.count, "each file of a load has rows");
        let filled = (file == 0).then(|| self.first.lock().take()).flatten();
        let builder = match filled {
            Some(builder) => builder,
            None => {
                let mut builder = self.writer.builder();
                self.rows.push(&mut builder, start..(start + self.file_rows).min(self.rows.count))?;
                builder
            }
        };
        let rows = self.file_rows.min(self.rows.count - start);
        assert!(builder.row_count() as usize == rows, "each row that is loaded goes into one file");
        let part = self.writer.write(builder, Some(Timestamp::MAX), &mut || ())?;
        if file + 1 < self.file_count {
            part.set_full();
        }
        Ok(part)
    }
}

impl Bulk for Store {
    fn bulk_bytes(&self) -> u64 {
        self.options.bulk_bytes
    }

    fn build(&self, batches: &[RecordBatch]) -> Result<Attachment> {
        self.build_files(batches, true)
    }

    fn discard(&self, attachment: &Attachment) {
        let mut built = self.built.lock();
        built.retain(|part| {
            let taken_back = attachment.files.contains(&part.file);
            if taken_back {
                part.retire();
            }
            !taken_back
        });
    }
}

impl Store {
    /// See [`Bulk::build`].
    /// With `are_new` the keys are tested against those that are there.
    pub(crate) fn build_files(&self, batches: &[RecordBatch], are_new: bool) -> Result<Attachment> {
        let schema = self.schema();
        let mut keys = KeyRows::default();
        let mut rows = Rows { batches: Vec::new(), firsts: Vec::new(), order: None, count: 0 };
        for batch in batches.iter().filter(|batch| batch.num_rows() > 0) {
            if batch.num_columns() != schema.columns.len() {
                let (found, expected) = (batch.num_columns(), schema.columns.len());
                return Err(Error::internal(format!("a batch of {found} columns for a table that stores {expected}")));
            }
            let key_columns: Vec<ArrayRef> = schema.key.iter().map(|&ordinal| batch.column(ordinal).clone()).collect();
            keys.push_columns(&schema, &key_columns)?;
            rows.firsts.push(rows.count);
            rows.count += batch.num_rows();
            rows.batches.push(batch.clone());
        }
        if u32::try_from(rows.count).is_err() {
            return Err(Error::new(Code::ProgramLimit, "one bulk statement loads at most 4,294,967,295 rows"));
        }
        if rows.count == 0 {
            return Ok(Attachment { files: Vec::new(), rows: 0, payload: Vec::new(), replaced: None });
        }
        if !(1..rows.count).all(|row| keys.get(row - 1) <= keys.get(row)) {
            let mut order: Vec<u32> = (0..rows.count as u32).collect();
            order.sort_unstable_by(|&a, &b| keys.get(a as usize).cmp(keys.get(b as usize)));
            rows.order = Some(order);
        }
        self.check_distinct(&keys, &rows)?;
        if are_new {
            self.check_free(&keys, &rows)?;
        }
        drop(keys);
        self.write_files(rows)
    }

    fn check_distinct(&self, keys: &KeyRows, rows: &Rows) -> Result<()> {
        for n in 1..rows.count {
            if keys.get(rows.row(n - 1)) == keys.get(rows.row(n)) {
                return Err(self.duplicate(keys.get(rows.row(n)), "is there twice in the rows to load"));
            }
        }
        Ok(())
    }

    fn check_free(&self, keys: &KeyRows, rows: &Rows) -> Result<()> {
        let layout = self.layout();
        let (low, high) = (keys.get(rows.row(0)), keys.get(rows.row(rows.count - 1)));
        let overlaps = |part: &Arc<Part>| part.key_min() <= high && part.key_max() >= low;
        // Bulk load 3.
        let own: Vec<Arc<Part>> = self.built.lock().iter().filter(|part| overlaps(part)).cloned().collect();
        let in_memory = layout.row_tables().any(|table| table.row_count() > 0);
        if !in_memory && own.is_empty() && !layout.parts().iter().any(overlaps) {
            return Ok(());
        }
        for n in 0..rows.count {
            let key = keys.get(n);
            if layout.find(key, Timestamp::MAX)?.is_some() {
                return Err(self.duplicate(key, "already exists."));
            }
            for part in &own {
                if part.find(&KeyProbe::new(key), Timestamp::MAX)?.is_some() {
                    return Err(self.duplicate(key, "is there twice in the rows to load"));
                }
            }
        }
        Ok(())
    }

    fn duplicate(&self, key: &[u8], what: &str) -> Error {
        let def = &self.context.def;
        let names: Vec<&str> =
            def.schema.key.iter().map(|&ordinal| def.schema.columns[ordinal].name.as_str()).collect();
        let values = self.keys.decode(key).unwrap_or_default();
        let values: Vec<String> = values.iter().map(value_text).collect();
        let key = format!("({})=({})", names.join(", "), values.join(", "));
        let constraint = def.primary_key.clone().unwrap_or_else(|| format!("{}_pkey", def.name));
        Error::new(Code::UniqueViolation, format!("duplicate key value violates unique constraint \"{constraint}\""))
            .detail(format!("Key {key} {what}"))
            .hint("load each key once; INSERT ... ON CONFLICT changes rows that exist")
            .about(&def.name, None, Some(&constraint))
    }

    fn write_files(&self, rows: Rows) -> Result<Attachment> {
        let shape = self.shape();
        let (file_rows, first) = self.file_rows(&shape, &rows)?;
        assert!(file_rows > 0, "a file takes a row, however small it is to be");
        let row_count = rows.count as u64;
        let file_count = rows.count.div_ceil(file_rows);
        let (next, built) = (AtomicUsize::new(0), Mutex::new(Vec::with_capacity(file_count)));
        let (writer, first) = (shape.writer.clone(), Mutex::new(first));
        let load = Arc::new(Load { rows, writer, file_rows, file_count, first, next, built });
        let spawn = &self.context.env.spawn;
        let mut handles = Vec::new();
        for number in 1..spawn.parallelism().min(file_count) {
            let shared = load.clone();
            // A thread that does not start leaves its files to the others.
            handles.extend(spawn.spawn(&format!("weft-load-{number}"), Box::new(move || shared.run())));
        }
        load.run();
        let mut failure = None;
        for handle in handles {
            if let Err(text) = handle.join() {
                failure = Some(Error::internal(format!("a thread that loads rows panicked: {text}")));
            }
        }
        let mut results = std::mem::take(&mut *load.built.lock());
        results.sort_by_key(|&(file, _)| file);
        let mut parts: Vec<Arc<Part>> = Vec::with_capacity(file_count);
        for (_, result) in results {
            match result {
                Ok(part) => parts.push(Arc::new(part)),
                Err(error) => failure = failure.or(Some(error)),
            }
        }
        if let Err(error) = failure.map_or_else(|| shape.writer.sync_names(), Err) {
            parts.iter().for_each(|part| part.retire());
            return Err(error);
        }
        reached(BUILD_FILES_SYNCED);
        assert_eq!(parts.len(), file_count, "every file was written");
        let files: Vec<FileId> = parts.iter().map(|part| part.file).collect();
        self.built.lock().extend(parts);
        Ok(Attachment { files, rows: row_count, payload: Vec::new(), replaced: None })
    }

    /// How many rows make a file: as many as reach the size, found by encoding the first; it, too, when these are all.
    fn file_rows(&self, shape: &Shape, rows: &Rows) -> Result<(usize, Option<ColumnTableBuilder>)> {
        let mut builder = shape.writer.builder();
        let mut end = 0;
        while end < rows.count && (builder.estimated_bytes() as u64) < self.options.column_table_bytes {
            let next = (end + BLOCK_ROWS / 8).min(rows.count);
            rows.push(&mut builder, end..next)?;
            end = next;
        }
        // Whole blocks, when it is at least one.
        let file_rows = if end < rows.count && end > BLOCK_ROWS { end / BLOCK_ROWS * BLOCK_ROWS } else { end };
        Ok((file_rows, (file_rows == end).then_some(builder)))
    }
}

impl Rows {
    /// The row that comes `n`th.
    fn row(&self, n: usize) -> usize {
        self.order.as_ref().map_or(n, |order| order[n] as usize)
    }

    fn place(&self, row: usize) -> (usize, usize) {
        debug_assert!(row < self.count, "a place is asked for of rows that were taken");
        let batch = self.firsts.partition_point(|&first| first <= row) - 1;
        (batch, row - self.firsts[batch])
    }

    /// Adds the rows that come at `range` to a file.
    fn push(&self, builder: &mut ColumnTableBuilder, range: std::ops::Range<usize>) -> Result<()> {
        let mut start = range.start;
        while start < range.end {
            let columns: Vec<ArrayRef>;
            let end;
            if self.order.is_some() {
                end = (start + BLOCK_ROWS).min(range.end);
                columns = self.gather(start..end)?;
            } else {
                let (batch, row) = self.place(start);
                let len = (self.batches[batch].num_rows() - row).min(range.end - start);
                end = start + len;
                columns = self.batches[batch].columns().iter().map(|column| column.slice(row, len)).collect();
            }
            assert!(end > start && end <= range.end, "rows are added in pieces that end with the file");
            builder.push_batch(&columns, InsertTimestamps::Same(Timestamp(0)))?;
            start = end;
        }
        Ok(())
    }

    fn gather(&self, range: std::ops::Range<usize>) -> Result<Vec<ArrayRef>> {
        let indices: Vec<(usize, usize)> = range.map(|n| self.place(self.row(n))).collect();
        let column_count = self.batches[0].num_columns();
        let mut columns = Vec::with_capacity(column_count);
        for ordinal in 0..column_count {
            let arrays: Vec<&dyn Array> = self.batches.iter().map(|batch| batch.column(ordinal).as_ref()).collect();
            let column = interleave(&arrays, &indices);
            columns.push(column.map_err(|error| Error::internal(format!("ordering column {ordinal}: {error}")))?);
        }
        Ok(columns)
    }
}

fn value_text(value: &weft_format::Value) -> String {
    use weft_format::Value;
    match value {
        Value::Null => "NULL".into(),
        Value::Bool(v) => v.to_string(),
        Value::Int(v) => v.to_string(),
        Value::Float(v) => v.to_string(),
        Value::Decimal(v) => v.to_string(),
        Value::Text(v) => v.to_string(),
        other => format!("{other:?}"),
    }
}
