//! The gate of writers: shared by those who append, alone for who needs them out for a moment; their waits are counted
//! by whom they waited for.
//!
//! ```text
//!   writer   enter ── append ── leave            nobody waits for a merge: waits for Merge stay 0
//!   freeze   close ── the end is fixed ── open   a writer that comes meanwhile: waits for Freeze + 1
//! ```

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use weft_env::Clock;
use weft_env::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};

use crate::waits::{Waited, Waits};

/// Who keeps writers out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holder {
    /// Who ends the active tails.
    Freeze,
    /// Who gives the table up.
    GiveUp,
    /// Who asks what is durable, or checks the table: no change may be half there.
    Look,
    /// A merge: never, but for [`MERGE_HOLDS_GATE`](super::faults::MERGE_HOLDS_GATE).
    Merge,
}

impl Holder {
    /// All of them.
    pub const ALL: [Holder; 4] = [Holder::Freeze, Holder::GiveUp, Holder::Look, Holder::Merge];
}

/// Waits of writers at the gates of all tables of a method.
#[derive(Debug, Default)]
pub struct GateWaits {
    by_holder: [Waits; Holder::ALL.len()],
}

impl GateWaits {
    /// Those for one holder so far.
    pub fn of(&self, holder: Holder) -> Waited {
        self.by_holder[holder as usize].so_far()
    }
}

/// See the module.
pub(super) struct Gate {
    lock: RwLock<()>,
    /// Who has it alone, or had it last.
    holder: AtomicUsize,
    waits: Arc<GateWaits>,
}

impl Gate {
    pub(super) fn new(waits: Arc<GateWaits>) -> Gate {
        Gate { lock: RwLock::new(()), holder: AtomicUsize::new(Holder::Freeze as usize), waits }
    }

    /// Lets a writer in.
    pub(super) fn enter(&self, clock: &dyn Clock) -> RwLockReadGuard<'_, ()> {
        self.lock.try_read().unwrap_or_else(|| {
            let waits = &self.waits.by_holder[self.holder.load(Ordering::Acquire)];
            waits.during(clock, || self.lock.read())
        })
    }

    /// Keeps writers out.
    pub(super) fn close(&self, holder: Holder) -> RwLockWriteGuard<'_, ()> {
        // Before: writers wait behind who waits for them. After: another may have had it between.
        self.holder.store(holder as usize, Ordering::Release);
        let guard = self.lock.write();
        self.holder.store(holder as usize, Ordering::Release);
        guard
    }
}
