//! What a reader pins: the base, and the tails behind it.
//!
//! ```text
//!   base 0 ── cut 40     frozen (40, 52] (52, 60]     active (60, ..)
//!   snapshot 57          tails (52, 60] and (40, 52], then the base
//!   snapshot 33          the base and history, no tails
//! ```
//!
//! 1. Tails follow each other and the base without a gap, oldest first.
//! 2. No snapshot below `floor` reads here: a follower's files may have forgotten what it sees.
//!
//! Concurrency: immutable; the table swaps one pointer, readers keep what they pinned, and so nobody waits for whom
//! reads it: what a merge has replaced goes with its last reader (the paper's epochs).

use std::sync::Arc;

use weft_format::{Code, Error, Result, Timestamp};

use super::base::Base;
use super::record::Record;
use super::tails::Tails;

/// See the module.
pub(super) struct Layout {
    pub(super) base: Arc<Base>,
    /// Oldest first.
    pub(super) frozen: Vec<Arc<Tails>>,
    pub(super) active: Arc<Tails>,
    pub(super) floor: Timestamp,
}

impl Layout {
    pub(super) fn new(base: Arc<Base>, frozen: Vec<Arc<Tails>>, active: Arc<Tails>, floor: Timestamp) -> Layout {
        let mut next = base.cut.next();
        for tails in &frozen {
            let to = tails.frozen_at().expect("only the last tails are active (layout 1)");
            assert!(tails.from == next, "tails follow each other and the base without a gap (layout 1)");
            next = to.next();
        }
        assert!(active.frozen_at().is_none(), "the last tails are active (layout 1)");
        assert!(active.from == next, "tails follow each other and the base without a gap (layout 1)");
        Layout { base, frozen, active, floor }
    }

    /// The same with another base.
    pub(super) fn with_base(&self, base: Base) -> Layout {
        Layout::new(Arc::new(base), self.frozen.clone(), self.active.clone(), self.floor)
    }

    /// The tails, newest first.
    pub(super) fn tails(&self) -> impl Iterator<Item = &Arc<Tails>> {
        std::iter::once(&self.active).chain(self.frozen.iter().rev())
    }

    /// The tails that a commit goes into.
    pub(super) fn tails_of(&self, ts: Timestamp) -> &Arc<Tails> {
        let tails = self.tails().find(|tails| ts >= tails.from);
        tails.expect("a commit goes into tails that were not merged: their end was not published (lineage 2)")
    }

    /// The newest record of a row that is not in the base.
    pub(super) fn newest(&self, row_id: u64) -> Option<&Record> {
        self.tails().find_map(|tails| tails.find(row_id, Timestamp::MAX))
    }

    /// The row id of a key, be its row there or gone.
    pub(super) fn row_id(&self, key: &[u8]) -> Result<Option<u64>> {
        self.row_ids(key).next().transpose()
    }

    /// All row ids that a key has had, the newest first: who comes back by a bulk load is given another. At most one of
    /// them has a version that a snapshot sees. (Of tails that are not merged a load's run has the greatest: who comes
    /// back one by one keeps the row id.)
    pub(super) fn row_ids<'a>(&'a self, key: &'a [u8]) -> impl Iterator<Item = Result<u64>> + 'a {
        let loaded = self.base.loaded_keys().iter().flat_map(|run| run.row_ids(key));
        let in_tails = self.tails().flat_map(|tails| tails.keys.all(key)).map(Ok);
        loaded.chain(in_tails).chain(self.base.merged_keys().iter().flat_map(|run| run.row_ids(key)))
    }

    /// Fails for a snapshot that the layout is too new for (layout 2).
    pub(super) fn check_snapshot(&self, read_ts: Timestamp) -> Result<()> {
        if read_ts >= self.floor {
            return Ok(());
        }
        let message = format!("snapshot {read_ts} is too old: this node has rows from {} on", self.floor);
        Err(Error::new(Code::SerializationFailure, message).hint("run the transaction again"))
    }
}
