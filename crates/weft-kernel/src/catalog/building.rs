//! Indexes that transactions are making: not in the catalog yet, and worked on by jobs all the same.
//!
//! ```text
//!   CREATE INDEX   enter 31 ── flush, edit of table 31 ── flush, merge, edit ── commit 95: in the catalog ── leave 31
//!   rolled back    enter 31 ── flush, edit of table 31 ── give up ── no job runs: the manifest forgets 31 ── leave 31
//!   crash          the manifest knows 31 and no catalog does: opening forgets it, and its files are orphans
//! ```
//!
//! 1. An index is here from before its table lists it until the catalog has it or the manifest has forgotten it: who
//!    asks for what jobs work on, or for what needs the log, overlooks it at no moment.
//! 2. The manifest forgets what was given up before its files go: they go with the last reference, which is here.
//! 3. What was built from the snapshot is listed by no edit before the commit that names it: redo of that commit finds
//!    the files (index store's `attach`).
//!
//! The log is needed from an index's own cut on, as from any table's: a crash before the commit leaves no index that
//! could miss anything, and one behind it finds in the log what the index did not have in files.
//!
//! Concurrency: one lock, inside of the catalog's and of nothing else; nothing is called under it.

use std::collections::BTreeMap;

use weft_env::sync::RwLock;
use weft_format::TableId;

use super::index_ref::IndexRef;

/// The indexes under construction, by id.
#[derive(Default)]
pub(crate) struct Buildings(RwLock<BTreeMap<TableId, Building>>);

struct Building {
    index: IndexRef,
    given_up: bool,
}

impl Buildings {
    /// An index is made; its table does not list it yet.
    pub(crate) fn enter(&self, index: IndexRef) {
        let known = self.0.write().insert(index.id(), Building { index, given_up: false });
        assert!(known.is_none(), "an id is given once");
    }

    /// The catalog has it, or nothing has anything of it any more.
    pub(crate) fn leave(&self, id: TableId) {
        // What goes with the last reference goes outside of the lock.
        let _gone = self.0.write().remove(&id);
    }

    /// Its transaction gives it up: no job begins on it any more. False when it is not here.
    pub(crate) fn give_up(&self, id: TableId) -> bool {
        let mut buildings = self.0.write();
        let found = buildings.get_mut(&id);
        found.map(|building| building.given_up = true).is_some()
    }

    /// Those that were given up and that the manifest may still know.
    pub(crate) fn given_up(&self) -> Vec<TableId> {
        let buildings = self.0.read();
        buildings.iter().filter(|(_, building)| building.given_up).map(|(id, _)| *id).collect()
    }

    /// Whether there is one of this id, given up or not.
    pub(crate) fn has(&self, id: TableId) -> bool {
        self.0.read().contains_key(&id)
    }

    /// Those that were not given up.
    pub(crate) fn alive(&self) -> Vec<IndexRef> {
        let buildings = self.0.read();
        let alive = buildings.values().filter(|building| !building.given_up);
        alive.map(|building| building.index.clone()).collect()
    }
}
