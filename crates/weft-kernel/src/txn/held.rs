//! A snapshot that is registered beside those of transactions: what `pg_export_snapshot` gives out.
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
    /// A snapshot of the past, as far as it can be read.
    pub(super) fn of_past(engine: &Arc<Engine>, read_ts: Timestamp) -> Result<HeldSnapshot> {
        engine.core.timeline.register_past(read_ts)?;
        let held = HeldSnapshot::registered(engine, read_ts, false);
        engine.core.catalog.check_kept(read_ts)?;
        Ok(held)
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
