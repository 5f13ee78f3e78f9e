//! Versions, locks and uncommitted values of the reference database.
//!
//! ```text
//!   l5   versions: 12 → [31], 17 → [31, 32]    locked by client 3, which is about to append 33
//! ```

use std::collections::{BTreeMap, HashMap};

use super::history::Object;

/// Versions kept of an object; snapshots live for fewer commits on one object.
const VERSIONS_MAX: usize = 128;

#[derive(Default)]
struct Cell {
    /// By timestamp, ascending.
    versions: Vec<(u64, Vec<u64>)>,
    lock: Option<u32>,
    pending: Vec<u64>,
}

/// The objects of the reference database.
#[derive(Default)]
pub(super) struct Store {
    cells: BTreeMap<Object, Cell>,
    held: HashMap<u32, Vec<Object>>,
    /// The newest timestamp.
    pub(super) now: u64,
}

impl Store {
    /// The newest version at or before a timestamp; 0 and nothing before the first.
    pub(super) fn visible(&self, object: Object, snapshot: u64) -> (u64, Vec<u64>) {
        let versions = self.cells.get(&object).map_or(&[][..], |cell| &cell.versions);
        let count = versions.partition_point(|version| version.0 <= snapshot);
        versions[..count].last().cloned().unwrap_or_default()
    }

    /// The newest version.
    pub(super) fn newest(&self, object: Object) -> (u64, Vec<u64>) {
        self.visible(object, u64::MAX)
    }

    /// The keys of a range of one column that have been written.
    pub(super) fn keys(&self, (low, high, column): (u64, u64, u16)) -> Vec<u64> {
        let range = Object { column, key: low }..=Object { column, key: high };
        self.cells.range(range).map(|(object, _)| object.key).collect()
    }

    /// Locks an object for a client, or says that another has it.
    pub(super) fn lock(&mut self, object: Object, client: u32) -> bool {
        let cell = self.cells.entry(object).or_default();
        if cell.lock.is_none() {
            cell.lock = Some(client);
            self.held.entry(client).or_default().push(object);
        }
        cell.lock == Some(client)
    }

    /// A value that is not committed.
    pub(super) fn add_pending(&mut self, object: Object, client: u32, value: u64) {
        let cell = self.cells.entry(object).or_default();
        if cell.lock == Some(client) {
            cell.pending.push(value);
        }
    }

    /// The values that a client other than this one has not committed.
    pub(super) fn pending(&self, object: Object, client: u32) -> Vec<u64> {
        let cell = self.cells.get(&object).filter(|cell| cell.lock != Some(client));
        cell.map(|cell| cell.pending.clone()).unwrap_or_default()
    }

    /// Ends the locks of a client.
    pub(super) fn release(&mut self, client: u32) {
        for object in self.held.remove(&client).unwrap_or_default() {
            let cell = self.cells.get_mut(&object).expect("a locked object exists");
            cell.lock = None;
            cell.pending.clear();
        }
    }

    /// Commits: adds to lists, replaces registers. Returns the timestamp.
    pub(super) fn install(&mut self, writes: &[(Object, Vec<u64>)]) -> u64 {
        self.now += 1;
        for (object, values) in writes.iter().filter(|write| !write.1.is_empty()) {
            let mut all = if object.is_list() { self.newest(*object).1 } else { Vec::new() };
            let first = if object.is_list() { 0 } else { values.len() - 1 };
            all.extend(&values[first..]);
            self.push(*object, all);
        }
        self.now
    }

    /// Sets lists back to what they were.
    pub(super) fn reset(&mut self, bases: &[(Object, Vec<u64>)]) {
        self.now += 1;
        bases.iter().for_each(|(object, base)| self.push(*object, base.clone()));
    }

    /// Removes values.
    pub(super) fn remove(&mut self, object: Object, values: &[u64]) {
        self.now += 1;
        let mut all = self.newest(object).1;
        all.retain(|value| !values.contains(value));
        self.push(object, all);
    }

    fn push(&mut self, object: Object, values: Vec<u64>) {
        let cell = self.cells.entry(object).or_default();
        if cell.versions.len() >= VERSIONS_MAX {
            cell.versions.drain(..VERSIONS_MAX / 2);
        }
        match cell.versions.last_mut().filter(|version| version.0 == self.now) {
            Some(version) => version.1 = values,
            None => cell.versions.push((self.now, values)),
        }
    }
}
