//! Writes down what one client does, without locks; merged when all are done.
//!
//! ```text
//!   Sequence ── recorder(1) ── client 1: begin · append · read_list · commit ─┐
//!     0,1,2… ── recorder(2) ── client 2: begin · read_list · abort ───────────┴─ Sequence::merge ──▶ History
//! ```
//!
//! ```
//! use weft_sim::checker::{Level, Rules, Sequence, check};
//!
//! let sequence = Sequence::default();
//! let mut client = sequence.recorder(1);
//! client.begin(Level::Serializable);
//! client.append(5, 31);
//! client.read_list(5, &[31]);
//! client.commit(Some(17));
//! let history = Sequence::merge([client]);
//! assert!(check(&history, Rules::default()).unwrap().is_clean());
//! ```
//!
//! 1. `begin` is called before the database is asked to begin, `commit` after it acknowledged: so two transactions
//!    whose places do not overlap did not overlap in the database either.
//! 2. A value is recorded before the statement that writes it is sent, or the transaction ends as aborted or unknown
//!    with the write recorded: a value that nobody recorded and somebody reads is reported as garbage.
//! 3. `commit` is called for what a crash may not lose. A commit that was acknowledged before it was durable, and that
//!    a crash took back after others saw it, forks the lists: give such sessions lists of their own, or no crashes.
//!
//! Concurrency: a recorder belongs to one thread; the shared sequence is one atomic counter.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::codec;
use super::history::{History, LIST, Level, Op, Status, Transaction};

/// The order of begins and ends that all recorders of a run share. Outlives restarts of the database.
#[derive(Clone, Debug, Default)]
pub struct Sequence {
    next: Arc<AtomicU64>,
}

impl Sequence {
    /// A recorder for one client.
    pub fn recorder(&self, client: u32) -> Recorder {
        Recorder { sequence: self.clone(), client, open: None, transactions: Vec::new(), bytes: Vec::new() }
    }

    /// The history of all clients. A transaction that is still open ends as unknown.
    pub fn merge(recorders: impl IntoIterator<Item = Recorder>) -> History {
        let mut history = History::default();
        for (stream, mut recorder) in recorders.into_iter().enumerate() {
            if recorder.open.is_some() {
                recorder.unknown();
            }
            recorder.transactions.iter_mut().for_each(|transaction| transaction.stream = stream as u32);
            history.transactions.append(&mut recorder.transactions);
            history.streams.push(recorder.bytes);
        }
        history.transactions.sort_unstable_by_key(|transaction| transaction.begin);
        history
    }

    fn next(&self) -> u64 {
        self.next.fetch_add(1, Ordering::SeqCst)
    }
}

/// Where a transaction's savepoint was set.
#[derive(Clone, Copy, Debug)]
pub struct Savepoint {
    begin: u64,
    byte: usize,
}

/// What one client did.
#[derive(Debug)]
pub struct Recorder {
    sequence: Sequence,
    client: u32,
    open: Option<Transaction>,
    transactions: Vec<Transaction>,
    bytes: Vec<u8>,
}

impl Recorder {
    /// A transaction is about to begin.
    pub fn begin(&mut self, level: Level) {
        assert!(self.open.is_none(), "client {} ends its transaction before it begins another", self.client);
        let begin = self.sequence.next();
        self.open = Some(Transaction {
            client: self.client,
            begin,
            end: begin,
            level,
            status: Status::Unknown,
            commit_ts: None,
            stream: 0,
            first_byte: self.bytes.len(),
            end_byte: self.bytes.len(),
        });
    }

    /// Whether a transaction is open.
    pub fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Appended an element that this list never had.
    pub fn append(&mut self, key: u64, element: u64) {
        self.push(Op::Append { key, element });
    }

    /// Read a list.
    pub fn read_list(&mut self, key: u64, elements: &[u64]) {
        self.push(Op::ReadList { key, elements });
    }

    /// Set a register to a value that it never had. The column is below `u16::MAX`.
    pub fn write_register(&mut self, key: u64, column: u16, value: u64) {
        assert!(column != LIST, "column {LIST} stands for lists; number registers below it");
        self.push(Op::WriteRegister { key, column, value });
    }

    /// Read a register; none when nothing was there.
    pub fn read_register(&mut self, key: u64, column: u16, value: Option<u64>) {
        self.push(Op::ReadRegister { key, column, value });
    }

    /// Read all lists with keys from `low` to `high`, both included; `rows` ascend by key.
    pub fn read_range_lists(&mut self, low: u64, high: u64, rows: &[(u64, Vec<u64>)]) {
        let keys: Vec<u64> = rows.iter().map(|row| row.0).collect();
        self.push(Op::ReadRange { low, high, column: None, keys: &keys });
        rows.iter().for_each(|(key, elements)| self.read_list(*key, elements));
    }

    /// Read one column of all rows with keys from `low` to `high`, both included; `rows` ascend by key.
    pub fn read_range_registers(&mut self, low: u64, high: u64, column: u16, rows: &[(u64, u64)]) {
        let keys: Vec<u64> = rows.iter().map(|row| row.0).collect();
        self.push(Op::ReadRange { low, high, column: Some(column), keys: &keys });
        rows.iter().for_each(|(key, value)| self.read_register(*key, column, Some(*value)));
    }

    /// A savepoint of the open transaction.
    pub fn savepoint(&self) -> Savepoint {
        let open = self.open.as_ref().expect("a savepoint is set inside a transaction");
        Savepoint { begin: open.begin, byte: self.bytes.len() }
    }

    /// Rolled back to a savepoint: writes since then count as aborted, reads since then do not count.
    pub fn rollback_to(&mut self, savepoint: Savepoint) {
        let open = self.open.as_ref().expect("a savepoint is rolled back to inside a transaction");
        assert!(open.begin == savepoint.begin, "a savepoint belongs to one transaction");
        codec::undo(&mut self.bytes[savepoint.byte..]);
    }

    /// The commit was acknowledged, with its timestamp if it told one.
    pub fn commit(&mut self, commit_ts: Option<u64>) {
        self.end(Status::Committed, commit_ts);
    }

    /// Rolled back, or the database said that nothing of it is left.
    pub fn abort(&mut self) {
        self.end(Status::Aborted, None);
    }

    /// Nobody knows whether it committed.
    pub fn unknown(&mut self) {
        self.end(Status::Unknown, None);
    }

    pub(super) fn push(&mut self, op: Op<'_>) {
        assert!(self.open.is_some(), "client {} begins a transaction before {op:?}", self.client);
        codec::encode(&mut self.bytes, op);
    }

    fn end(&mut self, status: Status, commit_ts: Option<u64>) {
        let mut transaction = self.open.take().expect("a transaction begins before it ends");
        transaction.end = self.sequence.next();
        transaction.status = status;
        transaction.commit_ts = commit_ts;
        transaction.end_byte = self.bytes.len();
        self.transactions.push(transaction);
    }
}
