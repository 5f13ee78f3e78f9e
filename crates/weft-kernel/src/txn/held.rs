//! A snapshot that is registered beside those of transactions: what `pg_export_snapshot` gives out.

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
    /// Registers a snapshot, as far as it can be read.
    pub(super) fn new(engine: &Arc<Engine>, read_ts: Timestamp) -> Result<HeldSnapshot> {
        engine.core.timeline.register_past(read_ts)?;
        let held = HeldSnapshot { engine: engine.clone(), read_ts, is_registered: true, is_listed: false };
        engine.core.catalog.check_kept(read_ts)?;
        Ok(held)
    }

    /// Others are told of it.
    pub(super) fn listed(mut self) -> HeldSnapshot {
        *self.engine.core.exported.lock().entry(self.read_ts).or_default() += 1;
        self.is_listed = true;
        self
    }

    /// The registration is the caller's from here on.
    pub(super) fn into_registered(mut self) {
        self.is_registered = false;
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
