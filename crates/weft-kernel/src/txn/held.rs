//! A snapshot that is registered beside those of transactions: what `pg_export_snapshot` gives out, and a moment of
//! the past that a statement reads tables at.
//!
//! 1. What is listed is registered: both begin and end in this order, under the list's lock.

use std::sync::Arc;

use weft_format::{Result, Timestamp};

use super::opened::Engine;

/// What the snapshot shows is kept until this is dropped.
pub(super) struct HeldSnapshot {
    engine: Arc<Engine>,
    read_ts: Timestamp,
    is_registered: bool,
    is_listed: bool,
}

impl HeldSnapshot {
    /// A snapshot of the past with the catalog of then, as far as it can be read.
    pub(super) fn of_past(engine: &Arc<Engine>, read_ts: Timestamp) -> Result<HeldSnapshot> {
        let held = HeldSnapshot::of_rows(engine, read_ts)?;
        engine.core.catalog.check_kept(read_ts)?;
        Ok(held)
    }

    /// The same for who reads tables of today's catalog.
    pub(super) fn of_rows(engine: &Arc<Engine>, read_ts: Timestamp) -> Result<HeldSnapshot> {
        engine.core.timeline.register_past(read_ts)?;
        Ok(HeldSnapshot::registered(engine, read_ts, false))
    }

    /// What the caller reads, whose own snapshot is registered: others are told of it (held 1).
    pub(super) fn exported(engine: &Arc<Engine>, read_ts: Timestamp) -> HeldSnapshot {
        let mut exported = engine.core.exported.lock();
        engine.core.timeline.register_kept(read_ts);
        *exported.entry(read_ts).or_default() += 1;
        HeldSnapshot::registered(engine, read_ts, true)
    }

    /// What another transaction exports; none when nobody does.
    pub(super) fn imported(engine: &Arc<Engine>, read_ts: Timestamp) -> Option<HeldSnapshot> {
        let exported = engine.core.exported.lock();
        exported.contains_key(&read_ts).then(|| {
            engine.core.timeline.register_kept(read_ts);
            HeldSnapshot::registered(engine, read_ts, false)
        })
    }

    fn registered(engine: &Arc<Engine>, read_ts: Timestamp, is_listed: bool) -> HeldSnapshot {
        HeldSnapshot { engine: engine.clone(), read_ts, is_registered: true, is_listed }
    }

    /// The registration is the caller's from here on.
    pub(super) fn into_registered(mut self) -> Timestamp {
        self.is_registered = false;
        self.read_ts
    }

    /// The last commit that it shows.
    pub(super) fn read_ts(&self) -> Timestamp {
        self.read_ts
    }
}

impl Drop for HeldSnapshot {
    fn drop(&mut self) {
        if self.is_listed {
            let mut exported = self.engine.core.exported.lock();
            let count = exported.get_mut(&self.read_ts).expect("what is listed stays so until it is let go");
            *count -= 1;
            if *count == 0 {
                exported.remove(&self.read_ts);
            }
        }
        if self.is_registered {
            self.engine.core.timeline.release(self.read_ts);
        }
    }
}
