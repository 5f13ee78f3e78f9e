//! Rows that share a latch: their newest values, column by column.
//!
//! 1. A slot that has no row yet is of no time ([`Timestamp::MAX`]) and has no history.
//! 2. A column that the page lacks has, in all its rows, what the schema says of rows without it.

use std::ops::Range;

use weft_format::{RowCodec, Timestamp, Value};

use super::history::{Back, History, Old};
use crate::rows::{Gathered, Wanted};
use crate::values::Values;

/// See the module.
#[derive(Default)]
pub(super) struct Page {
    since: Vec<Timestamp>,
    is_alive: Vec<bool>,
    back: Vec<Back>,
    columns: Vec<Values>,
}

/// A row as a page has it: where older versions begin, and the values that are wanted.
pub(super) struct Copied {
    pub(super) since: Timestamp,
    pub(super) is_alive: bool,
    pub(super) back: Back,
}

impl Copied {
    /// Goes back until the row is as it was at `read_ts`; `values` are those of `columns`. None: it was not visible.
    pub(super) fn seen_at(
        mut self,
        history: &History,
        read_ts: Timestamp,
        columns: &[usize],
        values: &mut [Value],
    ) -> Option<Timestamp> {
        while self.since > read_ts || self.since == Timestamp::MAX {
            let old = history.get(self.back)?;
            assert!(old.since < self.since, "history goes back in time (iuh 2)");
            for (ordinal, value) in &old.set {
                let places =
                    columns.iter().zip(values.iter_mut()).filter(|(column, _)| **column == usize::from(*ordinal));
                places.for_each(|(_, place)| *place = value.clone());
            }
            self = Copied { since: old.since, is_alive: old.is_alive, back: old.back };
        }
        self.is_alive.then_some(self.since)
    }
}

impl Page {
    pub(super) fn len(&self) -> usize {
        self.since.len()
    }

    /// The newest values of some columns.
    pub(super) fn copy(&self, slot: usize, codec: &RowCodec, columns: &[usize], values: &mut Vec<Value>) -> Copied {
        values.extend(columns.iter().map(|&column| match self.columns.get(column) {
            Some(stored) => stored.get(slot).to_value(),
            None => codec.missing(column).to_value(),
        }));
        Copied { since: self.since[slot], is_alive: self.is_alive[slot], back: self.back[slot] }
    }

    /// A version of all columns, of a row that has none.
    pub(super) fn insert(
        &mut self,
        slot: usize,
        ts: Timestamp,
        codec: &RowCodec,
        values: Vec<Value>,
        history: &History,
    ) {
        self.widen(codec, values.len());
        if self.len() <= slot {
            // Page 1.
            self.since.resize(slot + 1, Timestamp::MAX);
            self.is_alive.resize(slot + 1, false);
            self.back.resize(slot + 1, Back::NOTHING);
            self.columns.iter_mut().for_each(|column| column.pad(slot + 1));
        }
        let is_new = self.since[slot] == Timestamp::MAX;
        assert!(!self.is_alive[slot], "a key has one row at a time");
        assert!(values.len() == self.columns.len(), "a row has a value for every column of its page (page 2)");
        let set: Vec<(u16, Value)> = self
            .columns
            .iter_mut()
            .zip(values)
            .enumerate()
            .map(|(ordinal, (column, value))| (ordinal as u16, column.replace(slot, value)))
            .collect();
        if is_new {
            (self.since[slot], self.is_alive[slot]) = (ts, true);
        } else {
            self.change(slot, ts, true, set, history);
        }
    }

    /// New values of some columns.
    pub(super) fn update(
        &mut self,
        slot: usize,
        ts: Timestamp,
        codec: &RowCodec,
        (bytes, columns): (&[u8], &[usize]),
        history: &History,
    ) {
        self.widen(codec, codec.column_count());
        assert!(self.is_alive[slot], "what is updated is alive");
        let replace =
            |&column: &usize| (column as u16, self.columns[column].replace(slot, codec.get(bytes, column).to_value()));
        let set = columns.iter().map(replace).collect();
        self.change(slot, ts, true, set, history);
    }

    pub(super) fn delete(&mut self, slot: usize, ts: Timestamp, history: &History) {
        assert!(self.is_alive[slot], "what is deleted is alive");
        self.change(slot, ts, false, Vec::new(), history);
    }

    fn change(&mut self, slot: usize, ts: Timestamp, is_alive: bool, set: Vec<(u16, Value)>, history: &History) {
        let since = self.since[slot];
        assert!(since < ts, "versions of a row come in the order of their commits (rows 1)");
        let old = Old { since, is_alive: self.is_alive[slot], back: self.back[slot], set: set.into() };
        // Iuh 2.
        self.back[slot] = history.push(old);
        (self.since[slot], self.is_alive[slot]) = (ts, is_alive);
    }

    /// Gives the page all columns (page 2).
    fn widen(&mut self, codec: &RowCodec, count: usize) {
        for ordinal in self.columns.len()..count {
            let mut column = Values::default();
            column.fill(self.len(), codec.missing(ordinal));
            self.columns.push(column);
        }
    }

    /// Adds the rows whose newest version is visible; of the others with their newest values to `late`.
    pub(super) fn gather(&self, first: u64, wanted: &Wanted, gathered: &mut Gathered, late: &mut Vec<Late>) {
        let hidden = wanted.hidden_in(first..first + self.len() as u64);
        let mut run: Range<usize> = 0..0;
        for slot in 0..self.len() {
            let is_hidden = !hidden.is_empty() && hidden.binary_search(&(first + slot as u64)).is_ok();
            let is_visible = self.since[slot] <= wanted.read_ts;
            if is_visible && self.is_alive[slot] && !is_hidden {
                if run.end != slot {
                    gathered.take_run(wanted, first, run, |ordinal| self.columns.get(ordinal));
                    run = slot..slot;
                }
                run.end = slot + 1;
            } else if !is_visible && !is_hidden && self.back[slot] != Back::NOTHING {
                let mut values = Vec::with_capacity(wanted.columns.len());
                let copied = self.copy(slot, &wanted.codec, &wanted.columns, &mut values);
                late.push(Late { row: first + slot as u64, copied, values });
            }
        }
        gathered.take_run(wanted, first, run, |ordinal| self.columns.get(ordinal));
    }

    /// What is against the invariants.
    pub(super) fn check(&self, first: u64, history: &History, wrong: &mut Vec<String>) {
        for slot in 0..self.len() {
            let (mut since, mut back) = (self.since[slot], self.back[slot]);
            while let Some(old) = history.get(back) {
                if old.since >= since {
                    wrong.push(format!("row {}: history has {} behind {since}", first + slot as u64, old.since));
                }
                (since, back) = (old.since, old.back);
            }
        }
        if let Some(column) = self.columns.iter().find(|column| column.len() != self.len()) {
            wrong.push(format!("the page of row {first} has {} rows, and {} in a column", self.len(), column.len()));
        }
    }
}

/// A row that has a newer version than a snapshot sees.
pub(super) struct Late {
    pub(super) row: u64,
    pub(super) copied: Copied,
    pub(super) values: Vec<Value>,
}
