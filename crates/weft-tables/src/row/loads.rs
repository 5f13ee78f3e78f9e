//! Rows that come into the tree before the commit that they are of: bulk loads.
//!
//! ```text
//!   #900   rows of load 900      leaf: k1 since load 900 · k2 since load 900           nobody sees them
//!   commit 61 attaches 900       900 = 61                                              who looks from 61 on sees them
//!   a leaf is changed later      k1 since 61                                           the mark goes
//!   #940   load 905 is gone      a leaf with its rows loses them when it is changed
//! ```
//!
//! 1. A load has the number of the record that began it, which no other load has. A cell whose timestamp has its
//!    highest bit set names a load in the others.
//! 2. Who loads has the table for itself: while a load is open no other one is, but of the same transaction, and no
//!    commit changes the table.
//! 3. What the manifest does not say of loads the log does, until it does: recovery knows each load whose rows may be
//!    on pages. Those that no commit has attached when the log has been read are gone, and the log says so before any
//!    commit that comes after.
//! 4. Loads up to `settled` that are not gone were committed at or before `settled_at`, which all snapshots see, or
//!    have no row anywhere: those that are gone are forgotten when that is so ([`super::sweep`]).
//!
//! Concurrency: a lock of its own, innermost. What the log says and what is known change under the lock of what has
//! changed (store 2).

use std::collections::{BTreeMap, BTreeSet};

use weft_format::wire::{ByteReader, put_varint};
use weft_format::{Error, RecordNo, Result, Timestamp};

const MARK: u64 = 1 << 63;

/// The timestamp of the cells of a load.
pub(super) fn mark_of(load: RecordNo) -> Timestamp {
    assert!(load.0 < MARK, "the log has fewer records (loads 1)");
    Timestamp(load.0 | MARK)
}

/// The load that a cell with this timestamp is of.
pub(super) fn load_of(since: Timestamp) -> Option<RecordNo> {
    (since.0 & MARK != 0).then_some(RecordNo(since.0 & !MARK))
}

/// What became of a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// Nothing yet.
    Open,
    /// Its rows are there since this commit.
    Committed(Timestamp),
    /// Its rows never were there.
    Gone,
}

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Loads {
    settled: RecordNo,
    settled_at: Timestamp,
    committed: BTreeMap<RecordNo, Timestamp>,
    open: BTreeSet<RecordNo>,
    gone: BTreeSet<RecordNo>,
}

impl Loads {
    pub(super) fn fate(&self, load: RecordNo) -> Fate {
        if self.gone.contains(&load) {
            return Fate::Gone;
        }
        match self.committed.get(&load) {
            Some(&ts) => Fate::Committed(ts),
            None if load <= self.settled && !self.open.contains(&load) => Fate::Committed(self.settled_at),
            None => Fate::Open,
        }
    }

    /// A load begins, or recovery finds that it has.
    pub(super) fn begin(&mut self, load: RecordNo) {
        if self.fate(load) == Fate::Open {
            self.open.insert(load);
        }
    }

    /// A commit attaches it; false: that was known. Fails when the log has said that it is gone (loads 3).
    pub(super) fn commit(&mut self, load: RecordNo, ts: Timestamp) -> Result<bool> {
        match self.fate(load) {
            Fate::Committed(_) => Ok(false),
            Fate::Gone => Err(damaged(&format!("commit {ts} attaches load {load}, which is gone"))),
            Fate::Open => {
                self.open.remove(&load);
                self.committed.insert(load, ts);
                Ok(true)
            }
        }
    }

    /// No commit will attach it.
    pub(super) fn let_go(&mut self, load: RecordNo) {
        self.open.remove(&load);
        self.gone.insert(load);
    }

    /// Loads that are gone.
    pub(super) fn gone(&self) -> &BTreeSet<RecordNo> {
        &self.gone
    }

    /// No page has a row of these loads that are gone (sweep 2).
    pub(super) fn forget(&mut self, swept: &BTreeSet<RecordNo>) {
        self.gone.retain(|load| !swept.contains(load));
    }

    /// Loads that are open.
    pub(super) fn open(&self) -> impl Iterator<Item = RecordNo> + '_ {
        self.open.iter().copied()
    }

    /// Puts together what all snapshots see (loads 4).
    pub(super) fn settle(&mut self, limit: Timestamp) {
        while let Some((&load, &ts)) = self.committed.first_key_value()
            && ts <= limit
            && self.open.first().is_none_or(|open| *open > load)
        {
            self.committed.pop_first();
            self.settled = self.settled.max(load);
            self.settled_at = self.settled_at.max(ts);
        }
    }

    /// Appends its bytes: settled, settled at, committed (number, timestamp), open, gone; varints, lists with counts.
    pub(super) fn put(&self, bytes: &mut Vec<u8>) {
        put_varint(bytes, self.settled.0);
        put_varint(bytes, self.settled_at.0);
        put_varint(bytes, self.committed.len() as u64);
        for (load, ts) in &self.committed {
            put_varint(bytes, load.0);
            put_varint(bytes, ts.0);
        }
        for set in [&self.open, &self.gone] {
            put_varint(bytes, set.len() as u64);
            set.iter().for_each(|load| put_varint(bytes, load.0));
        }
    }

    /// What the bytes say.
    pub(super) fn read(reader: &mut ByteReader<'_>) -> Result<Loads> {
        let (settled, settled_at) = (RecordNo(reader.varint()?), Timestamp(reader.varint()?));
        let mut loads = Loads { settled, settled_at, ..Loads::default() };
        for _ in 0..reader.varint()? {
            let (load, ts) = (RecordNo(reader.varint()?), Timestamp(reader.varint()?));
            loads.committed.insert(load, ts);
        }
        for set in [&mut loads.open, &mut loads.gone] {
            for _ in 0..reader.varint()? {
                set.insert(RecordNo(reader.varint()?));
            }
        }
        Ok(loads)
    }
}

/// How far the leaves were looked at.
#[derive(Default)]
pub(super) struct Sweep {
    /// The loads that were gone when it began; none: it has not begun.
    pub(super) gone: BTreeSet<RecordNo>,
    /// The first key that was not looked at.
    pub(super) next: Vec<u8>,
    /// Steps that were made, ever.
    pub(super) steps: u64,
}

fn damaged(what: &str) -> Error {
    Error::corrupt(format!("the log's attachment of a load of method row is damaged: {what}"))
}

/// What a commit says of a load that it attaches: its number, and its rows.
pub(super) fn payload_of(load: RecordNo, rows: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    put_varint(&mut bytes, load.0);
    put_varint(&mut bytes, rows);
    bytes
}

/// The load that a commit attaches, and its rows.
pub(super) fn read_payload(bytes: &[u8]) -> Result<(RecordNo, u64)> {
    let mut reader = ByteReader::new(bytes, damaged);
    let (load, rows) = (RecordNo(reader.varint()?), reader.varint()?);
    reader.end()?;
    Ok((load, rows))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loads_are_open_until_a_commit_has_them_or_they_are_gone() {
        let (n, ts) = (RecordNo, Timestamp);
        let mut loads = Loads::default();
        [900, 905, 910, 920].iter().for_each(|&load| loads.begin(n(load)));
        assert!(loads.commit(n(900), ts(61)).unwrap() && !loads.commit(n(900), ts(61)).unwrap());
        loads.let_go(n(905));
        assert!(loads.commit(n(905), ts(62)).is_err());
        assert!(loads.commit(n(920), ts(70)).unwrap());
        let fates = |loads: &Loads| [900, 905, 910, 920].map(|load| loads.fate(n(load)));
        let all = [Fate::Committed(ts(61)), Fate::Gone, Fate::Open, Fate::Committed(ts(70))];
        assert_eq!(fates(&loads), all);
        // Before a load that is open nothing more is put together.
        loads.settle(ts(80));
        assert_eq!((fates(&loads), loads.settled, loads.committed.len()), (all, n(900), 1));
        let mut bytes = Vec::new();
        loads.put(&mut bytes);
        let mut reader = ByteReader::new(&bytes, damaged);
        assert_eq!(Loads::read(&mut reader).unwrap(), loads);
        assert!(loads.commit(n(910), ts(70)).unwrap());
        loads.settle(ts(69));
        assert_eq!(loads.committed.len(), 2);
        loads.settle(ts(70));
        assert_eq!(loads.settled, n(920));
        assert_eq!(
            fates(&loads),
            [Fate::Committed(ts(70)), Fate::Gone, Fate::Committed(ts(70)), Fate::Committed(ts(70))]
        );
        // What was put together is not begun again by a record that is read again.
        loads.begin(n(910));
        assert_eq!(loads.fate(n(910)), Fate::Committed(ts(70)));
        loads.forget(&BTreeSet::from([n(905), n(906)]));
        assert!(loads.gone().is_empty());
        // Nor does it become open by a record that is read again: one that says that it is gone lies behind it.
        loads.begin(n(905));
        assert_eq!(loads.open().count(), 0);
        loads.let_go(n(905));
        assert_eq!(loads.fate(n(905)), Fate::Gone);
        assert_eq!(read_payload(&payload_of(n(900), 7)).unwrap(), (n(900), 7));
        assert_eq!(load_of(mark_of(n(900))), Some(n(900)));
        assert_eq!(load_of(ts(61)), None);
    }
}
