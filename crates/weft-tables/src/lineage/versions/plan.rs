//! What the partitions of a scan of versions share.

use std::sync::Arc;

use weft_contract::{Period, SINCE, ScanRequest, UNTIL};
use weft_format::{Predicate, Result, Schema, Timestamp};
use weft_kernel::fault::active;

use super::super::faults;
use super::super::scan::Plan;
use super::super::store::Store;

/// See the module.
pub(super) struct VersionPlan {
    /// The scan: layout, columns, conditions, and what nobody took.
    pub(super) scan: Plan,
    pub(super) period: Period,
}

impl VersionPlan {
    pub(super) fn new(
        store: &Store,
        schema: &Arc<Schema>,
        mut request: ScanRequest,
        period: Period,
    ) -> Result<VersionPlan> {
        request.view.own = None;
        let scan = Plan::new(store, schema, request)?;
        scan.layout.check_snapshot(period.after)?;
        let known_from = scan.layout.base.known_from;
        assert!(period.after >= known_from, "what is asked for is registered, and so kept (past 2)");
        Ok(VersionPlan { scan, period })
    }

    /// The commits with which a version that has not ended began, if it is wanted: beyond the first, up to the second.
    pub(super) fn begun(&self) -> (Timestamp, Timestamp) {
        let from = self.period.except.unwrap_or(Timestamp(0));
        (from, self.period.to.min(self.scan.read_ts()))
    }

    /// When a version ended, as far as the snapshot knows (versions 4).
    pub(super) fn seen_end(&self, until: Timestamp) -> Timestamp {
        if until > self.scan.read_ts() { Timestamp::MAX } else { until }
    }

    /// Whether a version is wanted, whatever its values are.
    pub(super) fn wants(&self, since: Timestamp, until: Timestamp) -> bool {
        since <= self.scan.read_ts() && self.period.has(since, self.seen_end(until))
    }

    /// When the version of a page ended that no record comes after.
    pub(super) fn end_of_page(&self) -> Timestamp {
        if active(faults::VERSIONS_END_WITH_MERGE) { self.scan.layout.base.cut } else { Timestamp::MAX }
    }

    /// The columns of a version that are looked at.
    pub(super) fn columns(&self) -> Vec<usize> {
        let request = &self.scan.request;
        let stored = request.projection.iter().copied().filter(|&ordinal| ordinal != SINCE && ordinal != UNTIL);
        let mut columns: Vec<usize> = stored.chain(request.predicates.iter().map(Predicate::column)).collect();
        columns.sort_unstable();
        columns.dedup();
        columns
    }
}
