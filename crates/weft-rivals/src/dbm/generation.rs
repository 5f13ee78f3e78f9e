//! A main store, and what came after it: all that a snapshot between its cut and the next one's needs.
//!
//! ```text
//!   snapshot 45    deltas up to 45: 4 @ 44 {column 1: 20}    main store as of 40: slot 4 (7, 10) since 31
//!                  ─▶ (7, 20) since 44
//! ```

use std::sync::Arc;

use weft_format::{RowCodec, Timestamp, Value};

use super::delta::{Delta, Walk};
use crate::rows::{Gathered, Wanted};
use crate::values::Values;

/// The rows of a range as of its cut, column by column; only read.
#[derive(Default)]
pub(super) struct Main {
    pub(super) cut: Timestamp,
    since: Vec<Timestamp>,
    is_alive: Vec<bool>,
    columns: Vec<Arc<Values>>,
}

/// See the module; the deltas from the newest on.
pub(super) struct Generation<'a> {
    pub(super) main: &'a Main,
    pub(super) deltas: [Option<&'a Delta>; 2],
}

impl Generation<'_> {
    /// See [`Rows::find`](crate::rows::Rows::find).
    pub(super) fn find(
        &self,
        slot: usize,
        read_ts: Timestamp,
        codec: &RowCodec,
        columns: &[usize],
        values: &mut Vec<Value>,
    ) -> Option<Timestamp> {
        let mut walk = Walk { columns, found: vec![None; columns.len()], newest: None, is_over: false };
        self.deltas.iter().flatten().for_each(|delta| delta.walk(slot, read_ts, &mut walk));
        let in_main = || Some((*self.main.since.get(slot)?, self.main.is_alive[slot]));
        let (since, is_alive) = walk.newest.or_else(in_main)?;
        if !is_alive {
            return None;
        }
        let has_page = !walk.is_over && slot < self.main.since.len();
        for (&column, found) in columns.iter().zip(walk.found) {
            let stored =
                || self.main.columns.get(column).filter(|_| has_page).map(|stored| stored.get(slot).to_value());
            values.push(found.or_else(stored).unwrap_or_else(|| codec.missing(column).to_value()));
        }
        Some(since)
    }

    /// Adds the visible rows from row `first` on; there are `rows` at most.
    pub(super) fn gather(&self, first: u64, rows: usize, wanted: &Wanted, gathered: &mut Gathered) {
        let hidden = wanted.hidden_in(first..first + rows as u64);
        let mut is_apart = vec![false; rows];
        let mut touched = Vec::new();
        for delta in self.deltas.iter().flatten() {
            for slot in delta.touched().filter(|&slot| delta.newest(slot, wanted.read_ts).is_some()) {
                if !std::mem::replace(&mut is_apart[slot], true) {
                    touched.push(slot);
                }
            }
        }
        hidden.iter().for_each(|row| is_apart[(row - first) as usize] = true);
        let mut run = 0..0;
        for (slot, is_apart) in is_apart.iter().enumerate().take(self.main.since.len()) {
            if !is_apart && self.main.is_alive[slot] {
                if run.end != slot {
                    gathered.take_run(wanted, first, run, |ordinal| self.main.columns.get(ordinal).map(|one| &**one));
                    run = slot..slot;
                }
                run.end = slot + 1;
            }
        }
        gathered.take_run(wanted, first, run, |ordinal| self.main.columns.get(ordinal).map(|one| &**one));
        let mut values = Vec::with_capacity(wanted.columns.len());
        touched.sort_unstable();
        for slot in touched {
            let row = first + slot as u64;
            if hidden.binary_search(&row).is_err()
                && self.find(slot, wanted.read_ts, &wanted.codec, &wanted.columns, &mut values).is_some()
            {
                gathered.take_row(row, &mut values);
            }
        }
    }
}

impl Main {
    /// The main store after a delta that has ended: columns that nothing changed are shared with the one before.
    pub(super) fn after(&self, delta: &Delta, codec: &RowCodec) -> Main {
        let cut = delta.ends_at().expect("what is consolidated has ended (dbm 2)");
        let rows = self.since.len().max(delta.touched().last().map_or(0, |slot| slot + 1));
        let (mut since, mut is_alive) = (self.since.clone(), self.is_alive.clone());
        since.resize(rows, Timestamp::MAX);
        is_alive.resize(rows, false);
        let ordinals: Vec<usize> = (0..codec.column_count()).collect();
        let mut changed: Vec<Vec<(usize, Value)>> = ordinals.iter().map(|_| Vec::new()).collect();
        for slot in delta.touched() {
            let found = vec![None; ordinals.len()];
            let mut walk = Walk { columns: &ordinals, found, newest: None, is_over: false };
            delta.walk(slot, cut, &mut walk);
            (since[slot], is_alive[slot]) = walk.newest.expect("a touched row has a change");
            if !is_alive[slot] {
                continue;
            }
            for (ordinal, found) in walk.found.into_iter().enumerate() {
                // Of a row that came with the delta, what it was before is over.
                let missing = || walk.is_over.then(|| codec.missing(ordinal).to_value());
                changed[ordinal].extend(found.or_else(missing).map(|value| (slot, value)));
            }
        }
        let column =
            |(ordinal, changed): (usize, Vec<(usize, Value)>)| self.column_after(ordinal, changed, rows, codec);
        let columns = changed.into_iter().enumerate().map(column).collect();
        Main { cut, since, is_alive, columns }
    }

    fn column_after(&self, ordinal: usize, changed: Vec<(usize, Value)>, rows: usize, codec: &RowCodec) -> Arc<Values> {
        let stored = self.columns.get(ordinal);
        if let Some(stored) = stored.filter(|stored| changed.is_empty() && stored.len() == rows) {
            return stored.clone();
        }
        let mut values = stored.map(|stored| (**stored).clone()).unwrap_or_default();
        values.fill(self.since.len(), codec.missing(ordinal));
        values.pad(rows);
        changed.into_iter().for_each(|(slot, value)| drop(values.replace(slot, value)));
        Arc::new(values)
    }

    pub(super) fn rows(&self) -> u64 {
        self.since.len() as u64
    }
}
