//! A batch: the records that will become one block, collected in memory.
//!
//! ```text
//!   bytes    [32 for the header][commit T7][chunk T9][commit T8]
//!   entries   T7 waited for      T9 kept    T8 kept (asynchronous)
//!
//!   the disk is full: T7 is taken out and its committer told; T9 and T8 move to the front of the next batch, from
//!                     which those are taken out, too, that build on T7
//! ```

use std::sync::Arc;

use weft_format::{Error, RecordNo};

use super::fate::{Fate, check_behind};
use super::layout::{BLOCK_ALIGN, BLOCK_HEADER_BYTES};
use super::record::Record;
use super::segments::Noted;

/// The records of one block.
#[derive(Debug)]
pub(crate) struct Batch {
    /// Counted from 1 over the life of the log object.
    pub(crate) number: u64,
    /// Room for the block header, then the records.
    pub(crate) bytes: Vec<u8>,
    entries: Vec<Entry>,
    /// Threads that will ask how the batch ended.
    pub(crate) waiters: u32,
    /// Whether to write the block even without records: it tells the reader that all before it is durable.
    pub(crate) seal: bool,
}

#[derive(Clone, Debug)]
struct Entry {
    start: usize,
    number: RecordNo,
    noted: Noted,
    /// Of a commit that somebody waits for; none: the record outlives the failure to write its block.
    waited: Option<Waited>,
}

/// A commit that somebody waits for.
#[derive(Clone, Debug)]
pub(crate) struct Waited {
    pub(crate) fate: Arc<Fate>,
    /// The commits that it builds on.
    pub(crate) behind: Box<[Arc<Fate>]>,
}

impl Entry {
    fn has_failed(&self) -> bool {
        self.waited.as_ref().is_some_and(|waited| waited.fate.error().is_some())
    }
}

impl Batch {
    /// An empty batch.
    pub(crate) fn new(number: u64) -> Batch {
        Batch { number, bytes: vec![0; BLOCK_HEADER_BYTES], entries: Vec::new(), waiters: 0, seal: false }
    }

    /// Empties the batch for its next use. A buffer that a huge transaction blew up is not kept.
    pub(crate) fn reset(&mut self, number: u64, bytes_kept_max: usize) {
        assert!(number > self.number, "a batch is used again for a later block only (writer 1)");
        if self.bytes.capacity() > bytes_kept_max {
            self.bytes = Vec::new();
        }
        self.bytes.clear();
        self.bytes.resize(BLOCK_HEADER_BYTES, 0);
        self.entries.clear();
        self.number = number;
        self.waiters = 0;
        self.seal = false;
    }

    /// Adds a record. One that nobody waits for outlives the failure to write its block.
    pub(crate) fn push(&mut self, number: RecordNo, record: &Record<'_>, waited: Option<Waited>) {
        self.entries.push(Entry { start: self.bytes.len(), number, noted: Noted::of(number, record), waited });
        record.encode(number, &mut self.bytes);
    }

    /// Whether there is nothing to write.
    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty() && !self.seal
    }

    /// Whether there is a record of a transaction in it.
    pub(crate) fn has_transactions(&self) -> bool {
        self.entries.iter().any(|entry| !matches!(entry.noted, Noted::Layout(_)))
    }

    /// Bytes of records.
    pub(crate) fn payload_bytes(&self) -> usize {
        self.bytes.len() - BLOCK_HEADER_BYTES
    }

    /// Adds the zeros that a block ends with; returns the bytes of records.
    pub(crate) fn pad(&mut self) -> usize {
        let payload = self.payload_bytes();
        self.bytes.resize(self.bytes.len().next_multiple_of(BLOCK_ALIGN), 0);
        payload
    }

    /// What the segments have to know of the records, in order.
    pub(crate) fn noted(&self) -> impl Iterator<Item = Noted> + '_ {
        self.entries.iter().map(|entry| entry.noted)
    }

    /// The numbers of the records, in order.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = RecordNo> + '_ {
        self.entries.iter().map(|entry| entry.number)
    }

    /// Commit records in the batch.
    pub(crate) fn commits(&self) -> u64 {
        self.entries.iter().filter(|entry| matches!(entry.noted, Noted::Commit(..))).count() as u64
    }

    /// Puts the kept records of `failed`, whose block was not written because of `error`, before those of this batch
    /// that do not build on one which is not kept. `payload_bytes` is where the records of `failed` end.
    pub(crate) fn take_over(&mut self, failed: &Batch, payload_bytes: usize, error: &Error) {
        assert!(failed.number < self.number, "records move to a later batch (writer 3)");
        assert!(
            BLOCK_HEADER_BYTES + payload_bytes <= failed.bytes.len(),
            "the records of a batch end before its padding does"
        );
        failed
            .entries
            .iter()
            .filter_map(|entry| entry.waited.as_ref())
            .for_each(|waited| waited.fate.fail(error.clone()));
        // In the order of the log, so that who builds on one that builds on a failed one fails, too.
        for waited in self.entries.iter().filter_map(|entry| entry.waited.as_ref()) {
            if let Err(lost) = check_behind(&waited.behind) {
                waited.fate.fail(lost);
            }
        }
        let mut merged = Batch::new(self.number);
        merged.waiters = self.waiters;
        merged.seal = self.seal;
        merged.add_entries(failed, BLOCK_HEADER_BYTES + payload_bytes);
        merged.add_entries(self, self.bytes.len());
        *self = merged;
    }

    /// Adds the records that have not failed.
    fn add_entries(&mut self, from: &Batch, end: usize) {
        for (i, entry) in from.entries.iter().enumerate() {
            if !entry.has_failed() {
                let before = self.entries.last();
                assert!(before.is_none_or(|last| last.number < entry.number), "what moves keeps its order (writer 1)");
                let end = from.entries.get(i + 1).map_or(end, |next| next.start);
                self.entries.push(Entry { start: self.bytes.len(), ..entry.clone() });
                self.bytes.extend_from_slice(&from.bytes[entry.start..end]);
            }
        }
    }
}
