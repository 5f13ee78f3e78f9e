//! The rows of a query that was run to its end, counted for as long as somebody has them.
//!
//! ```text
//!   SELECT t FROM docs      48 MiB for queries
//!   Result     8192 rows, 3 MiB   ─▶ 3 MiB reserved ... 45 MiB     the next batch: 53200, "the result takes more ..."
//!   dropped    the last clone of the rows goes  ─▶ 0
//! ```
//!
//! 1. A batch counts with its values and with the buffers that these lie in, whoever else has them.
//! 2. Few values do not keep the blocks alive that they lie in: they are copied out of buffers that are mostly others'.
//! 3. Rows that are to be written count with all that they show, if that is more: a text that a join repeats is held
//!    once, and written in every row.

use std::fmt;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions};
use weft_format::Result;

use super::array_bytes::{held_bytes, owned, shown_bytes};

/// What becomes of collected rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// They are a result: what they hold on to counts.
    Shown,
    /// They are written: what a copy of them takes counts, too.
    Written,
}

/// Memory of queries that somebody holds; it is given back when it is dropped.
pub trait Reservation: fmt::Debug + Send + Sync {
    /// How much is held, bytes.
    fn bytes(&self) -> usize;

    /// Holds so many bytes more, or [`Code::OutOfMemory`](weft_format::Code::OutOfMemory) when others leave too little.
    fn try_grow(&self, bytes: usize) -> Result<()>;
}

/// Memory of queries, reserved until the last clone goes.
#[derive(Clone, Debug)]
pub struct HeldMemory(Arc<dyn Reservation>);

/// The rows of a query, and their memory.
#[derive(Debug)]
pub struct Collected {
    /// In the order of the query; none is empty.
    pub batches: Vec<RecordBatch>,
    /// What they take.
    pub memory: HeldMemory,
    purpose: Purpose,
}

impl Collected {
    /// No rows; what others take is added to a reservation of nothing.
    pub fn new(memory: Arc<dyn Reservation>, purpose: Purpose) -> Collected {
        debug_assert_eq!(memory.bytes(), 0, "the reservation is of these rows alone");
        Collected { batches: Vec::new(), memory: HeldMemory(memory), purpose }
    }

    /// The bytes of all rows.
    pub fn bytes(&self) -> usize {
        self.memory.0.bytes()
    }

    /// Adds a batch; false when the rows alone would take more than so many bytes,
    /// [`Code::OutOfMemory`](weft_format::Code::OutOfMemory) when others leave no memory for them.
    pub fn push(&mut self, batch: RecordBatch, bytes_max: usize) -> Result<bool> {
        let (batch, bytes) = counted(batch, self.purpose);
        if self.bytes() + bytes > bytes_max {
            return Ok(false);
        }
        self.memory.0.try_grow(bytes)?;
        self.batches.push(batch);
        Ok(true)
    }
}

/// The batch cut until each piece shows at most so many bytes, or is a single row.
pub fn pieces(batch: RecordBatch, bytes_max: usize) -> Vec<RecordBatch> {
    let (mut whole, mut pieces) = (vec![batch], Vec::new());
    while let Some(batch) = whole.pop() {
        let rows = batch.num_rows();
        if batch_bytes(&batch) <= bytes_max || rows < 2 {
            pieces.push(batch);
            continue;
        }
        let half = rows / 2;
        whole.push(batch.slice(half, rows - half));
        whole.push(batch.slice(0, half));
    }
    pieces
}

/// Bytes of the values that batches show.
pub fn batch_bytes(batch: &RecordBatch) -> usize {
    batch.columns().iter().map(|column| shown_bytes(column)).sum()
}

/// The batch as it is kept, and its bytes.
fn counted(batch: RecordBatch, purpose: Purpose) -> (RecordBatch, usize) {
    let own: Vec<Option<ArrayRef>> = batch.columns().iter().map(owned).collect();
    let kept = if own.iter().all(Option::is_none) {
        batch
    } else {
        let pairs = own.into_iter().zip(batch.columns());
        let columns = pairs.map(|(own, column)| own.unwrap_or_else(|| Arc::clone(column))).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        let kept = RecordBatch::try_new_with_options(batch.schema(), columns, &options);
        kept.expect("lengths and types stay")
    };
    let bytes = kept.columns().iter().map(|column| match purpose {
        Purpose::Shown => held_bytes(column),
        Purpose::Written => held_bytes(column).max(shown_bytes(column)),
    });
    let bytes = bytes.sum();
    (kept, bytes)
}

#[cfg(test)]
mod tests {
    use arrow::array::{AsArray, LargeStringArray, StringViewArray};
    use weft_env::sync::Mutex;
    use weft_format::{Code, Error};

    use super::*;

    /// Of one pool of 2 MiB.
    #[derive(Debug, Default)]
    struct Pooled {
        pool: Arc<Mutex<usize>>,
        own: Mutex<usize>,
    }

    impl Reservation for Pooled {
        fn bytes(&self) -> usize {
            *self.own.lock()
        }

        fn try_grow(&self, bytes: usize) -> Result<()> {
            let mut pool = self.pool.lock();
            if *pool + bytes > 2 << 20 {
                return Err(Error::new(Code::OutOfMemory, "too much"));
            }
            *pool += bytes;
            *self.own.lock() += bytes;
            Ok(())
        }
    }

    impl Drop for Pooled {
        fn drop(&mut self) {
            *self.pool.lock() -= *self.own.lock();
        }
    }

    fn texts(count: usize) -> RecordBatch {
        let texts = (0..count).map(|number| format!("{number:0>100}"));
        let column = Arc::new(StringViewArray::from_iter_values(texts)) as ArrayRef;
        RecordBatch::try_from_iter([("t", column)]).unwrap()
    }

    #[test]
    fn few_texts_do_not_keep_the_buffers_of_many() {
        let all = texts(8192);
        let (kept, bytes) = counted(all.clone(), Purpose::Shown);
        assert!((8192 * 116..2 * 8192 * 116).contains(&bytes), "{bytes} bytes");
        assert_eq!(kept, all);
        let (kept, bytes) = counted(all.slice(7, 10), Purpose::Shown);
        assert!(bytes < 4 * 1160, "{bytes} bytes");
        assert_eq!(kept, all.slice(7, 10));
    }

    #[test]
    fn documents_count_with_all_their_bytes() {
        let documents = LargeStringArray::from_iter_values((0..8192).map(|number| format!("{{\"a\": {number:0>90}}}")));
        let batch = RecordBatch::try_from_iter([("d", Arc::new(documents) as ArrayRef)]).unwrap();
        let (_, bytes) = counted(batch.clone(), Purpose::Shown);
        assert!((8192 * 97..2 * 8192 * 110).contains(&bytes), "{bytes} bytes");
        let (kept, bytes) = counted(batch.slice(8000, 10), Purpose::Shown);
        assert!(bytes < 4 * 1160, "{bytes} bytes");
        assert_eq!(kept, batch.slice(8000, 10));
    }

    #[test]
    fn a_repeated_text_counts_once_as_a_result_and_in_every_row_that_is_written() {
        let mut repeated = arrow::array::StringViewBuilder::new().with_deduplicate_strings();
        (0..8192).for_each(|_| repeated.append_value("x".repeat(1000)));
        let batch = RecordBatch::try_from_iter([("t", Arc::new(repeated.finish()) as ArrayRef)]).unwrap();
        assert!(batch.column(0).as_string_view().data_buffers()[0].len() == 1000, "the text is there once");
        let (_, shown) = counted(batch.clone(), Purpose::Shown);
        assert!(shown < 8192 * 40, "{shown} bytes");
        let (_, written) = counted(batch.clone(), Purpose::Written);
        assert!(written >= 8192 * 1000, "{written} bytes");
        let cut = pieces(batch.clone(), 1 << 20);
        assert!(cut.iter().all(|piece| batch_bytes(piece) <= 1 << 20), "8 MB in pieces of 1");
        assert_eq!(arrow::compute::concat_batches(&batch.schema(), &cut).unwrap(), batch);
        assert_eq!(pieces(batch.slice(0, 3), 10).len(), 3, "a row is not cut");
    }

    #[test]
    fn rows_count_until_their_last_clone_goes() {
        let memory = Pooled::default();
        let pool = Arc::clone(&memory.pool);
        let mut collected = Collected::new(Arc::new(memory), Purpose::Shown);
        assert!(collected.push(texts(8192), 2 << 20).unwrap());
        assert_eq!(*pool.lock(), collected.bytes());
        assert!(!collected.push(texts(16384), 2 << 20).unwrap());
        let error = collected.push(texts(16384), usize::MAX).unwrap_err();
        assert_eq!(error.code(), Code::OutOfMemory, "{error}");
        let memory = collected.memory.clone();
        drop(collected);
        assert!(*pool.lock() > 0);
        drop(memory);
        assert_eq!(*pool.lock(), 0);
    }
}
