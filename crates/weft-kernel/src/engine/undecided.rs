//! Changes that redo has read of transactions of which it does not know yet what becomes of them.
//!
//! ```text
//!   Chunk 17 [a]   Chunk 18 [b]   Chunk 17 [c]      a and c are more than is kept: 17 is left in the log
//!   Abort 17                                        nothing to do
//!   Commit 17                                       a and c are read again, one at a time
//! ```
//!
//! 1. At most so many bytes are kept. Beyond, the transaction that has the most is left in the log: its chunks are
//!    counted, and read again when it commits.
//! 2. Each chunk of a transaction that commits is applied, or the commit fails: the log of another engine may be cut.

use std::collections::HashMap;

use weft_env::Env;
use weft_format::{Code, Error, Lsn, Result, TxnId};

use crate::fault::{Fault, active};
use crate::files::Files;
use crate::log::{LogReader, Record, read_live_log_from, read_log_from};

/// Changes of transactions that are not decided, of one epoch of the log.
pub(super) struct Undecided {
    by_txn: HashMap<TxnId, Chunks>,
    kept_bytes: usize,
    /// How many bytes are kept.
    limit: usize,
    epoch: u32,
}

/// Chunks of one transaction.
pub(super) struct Chunks {
    pub(super) txn: TxnId,
    epoch: u32,
    /// The changes of each; none when they are left in the log.
    kept: Option<Vec<Vec<u8>>>,
    bytes: usize,
    count: usize,
    /// Where the first one is in the log.
    first: Lsn,
}

impl Undecided {
    pub(super) fn new(limit: usize) -> Undecided {
        Undecided { by_txn: HashMap::new(), kept_bytes: 0, limit, epoch: 0 }
    }

    /// The log goes on in an epoch: what was undecided in another is void.
    pub(super) fn begin_epoch(&mut self, epoch: u32) {
        if epoch != self.epoch {
            *self = Undecided { epoch, ..Undecided::new(self.limit) };
        }
    }

    /// One more chunk of a transaction.
    pub(super) fn add(&mut self, txn: TxnId, lsn: Lsn, changes: &[u8]) {
        let epoch = self.epoch;
        let new = || Chunks { txn, epoch, kept: Some(Vec::new()), bytes: 0, count: 0, first: lsn };
        let chunks = self.by_txn.entry(txn).or_insert_with(new);
        chunks.count += 1;
        if let Some(kept) = &mut chunks.kept {
            kept.push(changes.to_vec());
            chunks.bytes += changes.len();
            self.kept_bytes += changes.len();
        }
        while self.kept_bytes > self.limit {
            let most = self.by_txn.values_mut().max_by_key(|chunks| chunks.bytes);
            let most = most.expect("what is kept is some transaction's");
            most.kept = None;
            self.kept_bytes -= std::mem::take(&mut most.bytes);
        }
        assert!(self.kept_bytes <= self.limit, "what is kept of undecided transactions is bounded (undecided 1)");
    }

    /// Where the first chunk of all lies.
    pub(super) fn first(&self) -> Option<Lsn> {
        self.by_txn.values().map(|chunks| chunks.first).min()
    }

    /// What a transaction that is decided now has; none when it has no chunks.
    pub(super) fn take(&mut self, txn: TxnId) -> Option<Chunks> {
        let chunks = self.by_txn.remove(&txn)?;
        self.kept_bytes -= chunks.bytes;
        Some(chunks)
    }
}

impl Chunks {
    /// Calls `visit` with the changes of each chunk in order. A log that somebody writes is read up to what was
    /// announced.
    pub(super) fn for_each(
        self,
        (env, files): (&Env, &Files),
        announced: Option<Lsn>,
        mut visit: impl FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        if let Some(kept) = self.kept {
            return kept.iter().try_for_each(|changes| visit(changes));
        }
        if active(Fault::FORGET_LEFT_CHUNKS) {
            return Ok(());
        }
        let mut reader: LogReader = match announced {
            None => read_log_from(env, files.dir(), self.first)?,
            Some(announced) => read_live_log_from(env, files.dir(), announced, self.first)?,
        };
        let mut count = 0;
        while count < self.count {
            let Some(entry) = reader.next()? else { break };
            if let Record::Chunk { txn, changes } = entry.record
                && (txn, entry.epoch) == (self.txn, self.epoch)
            {
                visit(changes)?;
                count += 1;
            }
        }
        if count == self.count {
            return Ok(());
        }
        let what = format!("{count} of {} chunks of transaction {} are in the log", self.count, self.txn.0);
        Err(match announced {
            None => Error::corrupt(what).hint("restore the log from a backup"),
            Some(_) => Error::new(Code::UndefinedFile, what).hint("join anew: the log was cut before it was followed"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_the_most_is_left_in_the_log() {
        let mut undecided = Undecided::new(10);
        undecided.begin_epoch(1);
        undecided.add(TxnId(1), Lsn(5), &[0; 6]);
        undecided.add(TxnId(2), Lsn(6), &[0; 4]);
        assert_eq!(undecided.kept_bytes, 10);
        undecided.add(TxnId(2), Lsn(7), &[0; 3]);
        // 2 has 7 bytes and goes; 1 stays.
        assert_eq!(undecided.kept_bytes, 6);
        undecided.add(TxnId(2), Lsn(8), &[0; 9]);
        let two = undecided.take(TxnId(2)).unwrap();
        assert_eq!((two.kept.is_none(), two.count, two.first), (true, 3, Lsn(6)));
        let one = undecided.take(TxnId(1)).unwrap();
        assert_eq!((one.kept.map(|kept| kept.len()), undecided.kept_bytes), (Some(1), 0));
        undecided.add(TxnId(4), Lsn(12), &[0; 4]);
        undecided.add(TxnId(3), Lsn(9), &[0; 4]);
        assert_eq!(undecided.first(), Some(Lsn(9)));
        undecided.begin_epoch(2);
        assert_eq!(undecided.first(), None);
        assert!(undecided.take(TxnId(3)).is_none());
        assert_eq!(undecided.kept_bytes, 0);
    }
}
