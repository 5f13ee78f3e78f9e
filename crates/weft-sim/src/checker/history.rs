//! What the clients did and saw: the checker's input.
//!
//! ```text
//!   T0  client 1  begin 0  end 5  committed at 17  serializable   l5+31  l5=[31]  r7.0:=9
//!   T1  client 2  begin 1  end 9  unknown          serializable   l5=[]  l5+32
//! ```
//!
//! `l5` is the list of key 5, `r7.0` the register in column 0 of key 7. A transaction's number is its place in the
//! order of begins.
//!
//! 1. An element is appended to a list at most once in the whole history, a value written to a register at most once;
//!    so a read tells which transaction wrote what it saw.
//! 2. `begin` was taken before the transaction's snapshot, `end` after its acknowledgement, from one sequence.

use std::fmt;

use super::codec::decode;
pub(super) use super::op::LIST;
pub use super::op::Op;

/// Isolation levels, as PostgreSQL names them, from the weakest to the strongest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// A snapshot per statement.
    ReadCommitted,
    /// Snapshot isolation.
    RepeatableRead,
    /// As if one after the other.
    Serializable,
}

/// How a transaction ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// The commit was acknowledged.
    Committed,
    /// Rolled back, or refused.
    Aborted,
    /// Neither was heard, for example because of a crash. It counts as committed once somebody saw a write of it.
    Unknown,
}

/// A list or a register, written `l5` and `r7.0`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Object {
    /// [`LIST`], or a register's column.
    pub(super) column: u16,
    /// The key.
    pub(super) key: u64,
}

impl Object {
    /// Whether it is a list.
    pub(super) fn is_list(self) -> bool {
        self.column == LIST
    }
}

impl fmt::Display for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.column {
            LIST => write!(f, "l{}", self.key),
            column => write!(f, "r{}.{column}", self.key),
        }
    }
}

/// A transaction without its operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transaction {
    /// Who ran it.
    pub client: u32,
    /// Its place in the sequence of begins and ends when it was begun.
    pub begin: u64,
    /// Its place in that sequence when its outcome was known.
    pub end: u64,
    /// The level it ran at.
    pub level: Level,
    /// How it ended.
    pub status: Status,
    /// The timestamp that its commit returned.
    pub commit_ts: Option<u64>,
    /// Which stream holds its operations, and where they begin and end.
    pub(super) stream: u32,
    pub(super) first_byte: usize,
    pub(super) end_byte: usize,
}

/// All transactions of a run, by begin. Made by [`super::Sequence::merge`] and [`super::parse`].
#[derive(Clone, Debug, Default)]
pub struct History {
    pub(super) transactions: Vec<Transaction>,
    pub(super) streams: Vec<Vec<u8>>,
}

impl History {
    /// The transactions, by begin.
    pub fn transactions(&self) -> &[Transaction] {
        &self.transactions
    }

    /// Bytes held in memory.
    pub fn bytes(&self) -> usize {
        let streams: usize = self.streams.iter().map(Vec::capacity).sum();
        streams + self.transactions.capacity() * size_of::<Transaction>()
    }

    /// Calls `visit` with each operation of a transaction, and whether a rollback to a savepoint undid it.
    pub fn for_each_op(&self, transaction: u32, list: &mut Vec<u64>, mut visit: impl FnMut(Op<'_>, bool)) {
        let Transaction { stream, first_byte, end_byte, .. } = self.transactions[transaction as usize];
        let bytes = &self.streams[stream as usize][..end_byte];
        let mut at = first_byte;
        while at < end_byte {
            let (op, undone) = decode(bytes, &mut at, list);
            visit(op, undone);
        }
    }
}
