//! What all references to one relation share of its life: under which version of its definition, and until when.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use weft_format::Timestamp;

/// See above.
pub(crate) struct Life {
    /// When the relation was dropped; [`Timestamp::MAX`] while it is alive.
    drop_ts: AtomicU64,
    /// The version of the newest schema that is committed.
    schema_version: AtomicU32,
}

impl Life {
    /// Of a relation that is alive.
    pub(super) fn new(schema_version: u32) -> Life {
        Life { drop_ts: AtomicU64::new(Timestamp::MAX.0), schema_version: AtomicU32::new(schema_version) }
    }

    pub(super) fn drop_ts(&self) -> Timestamp {
        Timestamp(self.drop_ts.load(Ordering::Acquire))
    }

    pub(super) fn version(&self) -> u32 {
        self.schema_version.load(Ordering::Acquire)
    }

    /// The relation is gone from a timestamp on.
    pub(super) fn drop_at(&self, ts: Timestamp) {
        self.drop_ts.store(ts.0, Ordering::Release);
    }

    /// A schema of this version is committed.
    pub(super) fn commit_schema(&self, version: u32) {
        let before = self.schema_version.swap(version, Ordering::AcqRel);
        assert!(before < version, "the versions of a schema ascend (catalog 5)");
    }
}
