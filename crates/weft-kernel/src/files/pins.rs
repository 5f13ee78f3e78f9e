//! Files that stay although no table has them any more, while somebody copies them.
//!
//! ```text
//!   pin everything ─ a merge drops t5-7, which waits ─ narrow to {t5-7, t5-9} ─ t5-7 copied: let go, it is removed
//! ```
//!
//! Who follows needs the files that went since it came: a pin for those keeps what goes after it was made, and nothing
//! of what waits for another pin by then.
//!
//! A file of pages stays as it is, too: who copies waits for the change that goes on, and none begins.
//!
//! 1. A file that is removed while it is pinned is removed when the last pin of it goes, at the latest.
//!
//! Crash: pins are in memory. What waited is an orphan, which the next open removes.

use std::collections::{BTreeMap, BTreeSet};

use weft_env::sync::{Condvar, Mutex, MutexGuard};
use weft_format::{FileId, TableId};

use crate::fault::{Fault, active};

/// Which files stay.
#[derive(Default)]
pub(super) struct Pins(pub(super) Mutex<Held>, Condvar);

/// The pins, and what they keep.
#[derive(Default)]
pub(super) struct Held {
    pub(super) next: u64,
    pub(super) pins: BTreeMap<u64, Wanted>,
    waiting: BTreeMap<FileId, Waiting>,
    /// Files whose pages are being changed.
    changing: BTreeSet<FileId>,
}

/// A file that waits for its removal.
struct Waiting {
    table: TableId,
    /// Pins with lower numbers were there when it began to wait.
    since: u64,
    bytes: u64,
}

/// What one pin keeps.
pub(super) enum Wanted {
    /// All files, for who reads them: pages may change.
    Kept,
    /// All of them as they are, for who copies.
    All,
    These(BTreeSet<FileId>),
}

impl Held {
    /// Whether a pin holds a file that goes now, or that has waited since there were so many pins.
    fn holds(&self, file: FileId, since: u64) -> bool {
        self.pins.iter().any(|(number, wanted)| match wanted {
            Wanted::Kept => *number <= since,
            Wanted::All => true,
            Wanted::These(files) => files.contains(&file),
        })
    }

    fn is_copied(&self, file: FileId) -> bool {
        self.pins.values().any(|wanted| match wanted {
            Wanted::Kept => false,
            Wanted::All => true,
            Wanted::These(files) => files.contains(&file),
        })
    }

    /// Takes out what waits and is not held any more.
    pub(super) fn free(&mut self) -> Vec<(TableId, FileId)> {
        let is_free = |(file, waiting): &(&FileId, &Waiting)| !self.holds(**file, waiting.since);
        let free: Vec<_> = self.waiting.iter().filter(is_free).map(|(file, waiting)| (waiting.table, *file)).collect();
        for (_, file) in &free {
            let waited = self.waiting.remove(file);
            assert!(waited.is_some(), "what is free has waited (pins 1)");
        }
        free
    }
}

impl Pins {
    /// Whether the file may be removed now; if not, it is when it is let go. `bytes` says how long it is.
    pub(super) fn may_remove(&self, table: TableId, file: FileId, bytes: impl FnOnce() -> u64) -> bool {
        let held = self.0.lock();
        if !held.holds(file, held.next) {
            return true;
        }
        drop(held);
        // A pin that came or went meanwhile is seen below.
        let bytes = bytes();
        let mut held = self.0.lock();
        let since = held.next;
        if !held.holds(file, since) {
            return true;
        }
        held.waiting.insert(file, Waiting { table, since, bytes });
        false
    }

    /// Bytes of the files that wait for who reads all of them: what only a copy holds is not counted.
    pub(super) fn followed_bytes(&self) -> u64 {
        let held = self.0.lock();
        let is_kept = |(_, wanted): &(&u64, &Wanted)| matches!(wanted, Wanted::Kept);
        let Some((oldest, _)) = held.pins.iter().find(is_kept) else { return 0 };
        held.waiting.values().filter(|waiting| waiting.since >= *oldest).map(|waiting| waiting.bytes).sum()
    }

    /// Whether pages of the file may change now; [`Pins::end_change`] follows then.
    pub(super) fn begin_change(&self, file: FileId) -> bool {
        let mut held = self.0.lock();
        if held.is_copied(file) && !active(Fault::CHANGE_COPIED_PAGES) {
            return false;
        }
        assert!(held.changing.insert(file), "one thread at a time changes the pages of a file (paged 1)");
        true
    }

    pub(super) fn end_change(&self, file: FileId) {
        self.0.lock().changing.remove(&file);
        self.1.notify_all();
    }

    /// Waits until no page changes that a pin keeps as it is. The pin is there: none begins.
    pub(super) fn wait_for_changes<'a>(&'a self, mut held: MutexGuard<'a, Held>) {
        while held.changing.iter().any(|file| held.is_copied(*file)) && !active(Fault::CHANGE_COPIED_PAGES) {
            self.1.wait(&mut held);
        }
    }

    /// How many files wait for their removal.
    #[cfg(test)]
    pub(super) fn waiting_count(&self) -> usize {
        self.0.lock().waiting.len()
    }
}
