//! A record: what one transaction puts into the log in one step, a switch of the layout of a table, or a change of a
//! page.
//!
//! ```text
//!   Chunk   01 | number u64 | txn u64  |          | bytes u32 | changes    part of a transaction, before its commit
//!   Commit  02 | number u64 | txn u64  | ts u64   | bytes u32 | changes    as 06, before version 4 of the format
//!   Abort   03 | number u64 | txn u64                                      the chunks of this transaction are void
//!   Layout  04 | number u64 | edit u64            | bytes u32 | switch     an edit of the manifest, which is durable
//!   Page    05 | number u64 | table u64 |          | bytes u32 | change     what a method does to its pages
//!   Commit  06 | number u64 | txn u64  | ts u64, wall i64 | bytes u32 | changes    the rest; it alone decides
//! ```
//!
//! A transaction number is unique within one epoch (one opening of the database), so readers pair it with the epoch:
//! chunks of an earlier epoch without a commit record are dead.
//!
//! 1. Numbers ascend along the log. One that was given to a record that was not written is missing for good.

use weft_format::{Code, Error, RecordNo, Result, TableId, Timestamp, TxnId};

use super::layout::{read_u32, read_u64};

/// First byte of a [`Record::Chunk`].
pub(crate) const CHUNK: u8 = 1;
/// First byte of a [`Record::Commit`] that does not say when it was made.
pub(crate) const COMMIT: u8 = 2;
/// First byte of a [`Record::Abort`].
pub(crate) const ABORT: u8 = 3;
/// First byte of a [`Record::Layout`].
pub(crate) const LAYOUT: u8 = 4;
/// First byte of a [`Record::Page`].
pub(crate) const PAGE: u8 = 5;
/// First byte of a [`Record::Commit`] that says when it was made.
pub(crate) const COMMIT_AT: u8 = 6;
/// Where a record's body begins: behind kind and number.
const BODY: usize = 9;
/// The same in the release before, which did not number records.
const BODY_BEFORE: usize = 1;
/// A record's changes are at most this long; a longer transaction is written in chunks.
pub const RECORD_BYTES_MAX: usize = 1 << 30;

/// A record, without the number that it gets when it is appended; its changes are what [`super::ChangeEncoder`] made.
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
        /// When it was made, microseconds since 1970-01-01 UTC, later than every commit before it in the log; none of
        /// what the release before wrote.
        wall: Option<i64>,
        /// Encoded changes that no chunk holds.
        changes: &'a [u8],
    },
    /// A transaction whose chunks are in the log does not commit.
    Abort {
        /// The transaction.
        txn: TxnId,
    },
    /// The manifest has one edit more; everything that it depends on lies before it in the log.
    Layout {
        /// Which edit, counted since the database was made.
        edit: u64,
        /// What it says: a [`crate::manifest::LayoutSwitch`].
        switch: &'a [u8],
    },
    /// The method of a table changes pages where they lie, whatever becomes of any transaction.
    Page {
        /// The table.
        table: TableId,
        /// What it does to them, in the method's own encoding.
        change: &'a [u8],
    },
}

impl<'a> Record<'a> {
    /// The transaction it belongs to; none of a switch of layout or a change of a page.
    pub fn txn(&self) -> Option<TxnId> {
        match *self {
            Record::Chunk { txn, .. } | Record::Commit { txn, .. } | Record::Abort { txn } => Some(txn),
            Record::Layout { .. } | Record::Page { .. } => None,
        }
    }

    /// The transaction's changes in it, encoded.
    pub fn changes(&self) -> &'a [u8] {
        match *self {
            Record::Chunk { changes, .. } | Record::Commit { changes, .. } => changes,
            Record::Abort { .. } | Record::Layout { .. } | Record::Page { .. } => &[],
        }
    }

    /// Bytes in the log.
    pub(crate) fn encoded_bytes(&self) -> usize {
        BODY + self.body_bytes()
    }

    fn body_bytes(&self) -> usize {
        match self {
            Record::Chunk { changes, .. } => 12 + changes.len(),
            Record::Commit { wall, changes, .. } => 20 + wall.map_or(0, |_| 8) + changes.len(),
            Record::Abort { .. } => 8,
            Record::Layout { switch, .. } => 12 + switch.len(),
            Record::Page { change, .. } => 12 + change.len(),
        }
    }

    /// Appends the record's bytes.
    pub(crate) fn encode(&self, number: RecordNo, out: &mut Vec<u8>) {
        let (kind, id, bytes) = match *self {
            Record::Chunk { txn, changes } => (CHUNK, txn.0, Some(changes)),
            Record::Commit { txn, wall, changes, .. } => {
                (if wall.is_some() { COMMIT_AT } else { COMMIT }, txn.0, Some(changes))
            }
            Record::Abort { txn } => (ABORT, txn.0, None),
            Record::Layout { edit, switch } => (LAYOUT, edit, Some(switch)),
            Record::Page { table, change } => (PAGE, u64::from(table.0), Some(change)),
        };
        let (start, size) = (out.len(), self.encoded_bytes());
        assert!(size <= RECORD_BYTES_MAX, "a record that is too long is refused before it has a number");
        out.push(kind);
        out.extend_from_slice(&number.0.to_le_bytes());
        out.extend_from_slice(&id.to_le_bytes());
        if let Record::Commit { ts, wall, .. } = self {
            out.extend_from_slice(&ts.0.to_le_bytes());
            wall.iter().for_each(|wall| out.extend_from_slice(&wall.to_le_bytes()));
        }
        if let Some(bytes) = bytes {
            out.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
            out.extend_from_slice(bytes);
        }
        assert!(out.len() - start == size, "a record takes as many bytes as its reader passes over");
    }

    /// Fails when the record is too long to be written.
    pub(crate) fn check_size(&self) -> Result<()> {
        if self.encoded_bytes() <= RECORD_BYTES_MAX {
            return Ok(());
        }
        let what = format!("{} bytes of changes are too many for one log record", self.encoded_bytes());
        Err(Error::new(Code::ProgramLimit, what).hint("a row may have at most 1 GB; store large values elsewhere"))
    }

    /// The record that `bytes` begins with, its number and its length; none when the bytes are no record.
    pub(crate) fn decode(bytes: &'a [u8]) -> Option<(RecordNo, Record<'a>, usize)> {
        let number = RecordNo(read_u64(bytes.get(1..BODY)?, 0));
        let record = Record::of_body(bytes[0], &bytes[BODY..])?;
        Some((number, record, BODY + record.body_bytes()))
    }

    /// The same of a log of the release before, which had no numbers.
    pub(crate) fn decode_before(bytes: &'a [u8]) -> Option<(Record<'a>, usize)> {
        let record = Record::of_body(*bytes.first()?, &bytes[BODY_BEFORE..])?;
        let has_kind = !matches!(record, Record::Layout { .. } | Record::Page { .. });
        has_kind.then(|| (record, BODY_BEFORE + record.body_bytes()))
    }

    fn of_body(kind: u8, body: &'a [u8]) -> Option<Record<'a>> {
        let id = body.get(..8).map(|id| read_u64(id, 0))?;
        let bytes_at = |offset: usize| {
            let length = body.get(offset..offset + 4).map(|length| read_u32(length, 0) as usize)?;
            body.get(offset + 4..offset + 4 + length)
        };
        Some(match kind {
            CHUNK => Record::Chunk { txn: TxnId(id), changes: bytes_at(8)? },
            COMMIT => {
                let ts = body.get(8..16).map(|ts| Timestamp(read_u64(ts, 0)))?;
                Record::Commit { txn: TxnId(id), ts, wall: None, changes: bytes_at(16)? }
            }
            COMMIT_AT => {
                let ts = body.get(8..16).map(|ts| Timestamp(read_u64(ts, 0)))?;
                let wall = body.get(16..24).map(|wall| read_u64(wall, 0) as i64)?;
                Record::Commit { txn: TxnId(id), ts, wall: Some(wall), changes: bytes_at(24)? }
            }
            ABORT => Record::Abort { txn: TxnId(id) },
            LAYOUT => Record::Layout { edit: id, switch: bytes_at(8)? },
            PAGE => Record::Page { table: TableId(u32::try_from(id).ok()?), change: bytes_at(8)? },
            _ => return None,
        })
    }
}
