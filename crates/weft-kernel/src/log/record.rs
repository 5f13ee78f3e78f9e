//! A record: what one transaction puts into the log in one step.
//!
//! ```text
//!   Chunk   01 | txn u64 |          | bytes u32 | changes      part of a long transaction, before its commit
//!   Commit  02 | txn u64 | ts u64   | bytes u32 | changes      the rest; it alone decides
//!   Abort   03 | txn u64                                       the chunks of this transaction are void
//! ```
//!
//! A transaction number is unique within one epoch (one opening of the database), so readers pair it with the epoch:
//! chunks of an earlier epoch without a commit record are dead.

use weft_format::{Code, Error, Result, Timestamp, TxnId};

use super::layout::{read_u32, read_u64};

/// First byte of a [`Record::Chunk`].
pub(crate) const CHUNK: u8 = 1;
/// First byte of a [`Record::Commit`].
pub(crate) const COMMIT: u8 = 2;
/// First byte of a [`Record::Abort`].
pub(crate) const ABORT: u8 = 3;
/// A record's changes are at most this long; a longer transaction is written in chunks.
pub const RECORD_BYTES_MAX: usize = 1 << 30;

/// A record; its changes are what [`super::ChangeEncoder`] made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Record<'a> {
    /// Some changes of a transaction that goes on.
    Chunk {
        /// The transaction.
        txn: TxnId,
        /// Encoded changes.
        changes: &'a [u8],
    },
    /// A transaction's last changes, and its decision.
    Commit {
        /// The transaction.
        txn: TxnId,
        /// Its commit timestamp, higher than that of every commit before it in the log.
        ts: Timestamp,
        /// Encoded changes that no chunk holds.
        changes: &'a [u8],
    },
    /// A transaction whose chunks are in the log does not commit.
    Abort {
        /// The transaction.
        txn: TxnId,
    },
}

impl<'a> Record<'a> {
    /// The transaction it belongs to.
    pub fn txn(&self) -> TxnId {
        match *self {
            Record::Chunk { txn, .. } | Record::Commit { txn, .. } | Record::Abort { txn } => txn,
        }
    }

    /// Bytes in the log.
    pub(crate) fn encoded_bytes(&self) -> usize {
        match self {
            Record::Chunk { changes, .. } => 13 + changes.len(),
            Record::Commit { changes, .. } => 21 + changes.len(),
            Record::Abort { .. } => 9,
        }
    }

    /// Appends the record's bytes.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        let (kind, changes) = match self {
            Record::Chunk { changes, .. } => (CHUNK, Some(changes)),
            Record::Commit { changes, .. } => (COMMIT, Some(changes)),
            Record::Abort { .. } => (ABORT, None),
        };
        out.push(kind);
        out.extend_from_slice(&self.txn().0.to_le_bytes());
        if let Record::Commit { ts, .. } = self {
            out.extend_from_slice(&ts.0.to_le_bytes());
        }
        if let Some(changes) = changes {
            out.extend_from_slice(&(changes.len() as u32).to_le_bytes());
            out.extend_from_slice(changes);
        }
    }

    /// Fails when the record is too long to be written.
    pub(crate) fn check_size(&self) -> Result<()> {
        if self.encoded_bytes() <= RECORD_BYTES_MAX {
            return Ok(());
        }
        let what = format!("{} bytes of changes are too many for one log record", self.encoded_bytes());
        Err(Error::new(Code::ProgramLimit, what).hint("a row may have at most 1 GB; store large values elsewhere"))
    }

    /// The record that `bytes` begins with, and its length; none when the bytes are no record.
    pub(crate) fn decode(bytes: &'a [u8]) -> Option<(Record<'a>, usize)> {
        if bytes.len() < 9 {
            return None;
        }
        let txn = TxnId(read_u64(bytes, 1));
        let changes_at = |offset: usize| {
            let length = bytes.get(offset..offset + 4).map(|length| read_u32(length, 0) as usize)?;
            bytes.get(offset + 4..offset + 4 + length)
        };
        let record = match bytes[0] {
            CHUNK => Record::Chunk { txn, changes: changes_at(9)? },
            COMMIT if bytes.len() >= 17 => {
                Record::Commit { txn, ts: Timestamp(read_u64(bytes, 9)), changes: changes_at(17)? }
            }
            ABORT => Record::Abort { txn },
            _ => return None,
        };
        Some((record, record.encoded_bytes()))
    }
}
