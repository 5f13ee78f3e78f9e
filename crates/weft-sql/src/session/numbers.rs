//! What a session remembers of sequences, and of its last commit.

use std::collections::HashMap;

use weft_format::Timestamp;
use weft_kernel::Transaction;

/// The numbers that a session took from sequences.
#[derive(Default)]
pub(super) struct Numbers {
    pub(super) by_id: HashMap<u32, i64>,
    pub(super) last: Option<u32>,
    /// The last transaction of the session that changed something.
    pub(super) last_commit: Option<Timestamp>,
}

impl Numbers {
    /// Notes what a transaction took.
    pub(super) fn note(&mut self, txn: &Transaction) {
        for (id, number) in txn.take_numbers() {
            self.by_id.insert(id, number);
            self.last = Some(id);
        }
    }

    /// DISCARD SEQUENCES
    pub(super) fn forget(&mut self) {
        *self = Numbers { last_commit: self.last_commit, ..Numbers::default() };
    }
}
