//! What the partitions of a scan of versions share.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use weft_contract::{Period, SINCE, ScanRequest, UNTIL};
use weft_format::{CompareOp, Predicate, Result, Schema, Timestamp, Value};
use weft_kernel::fault::active;

use super::super::faults;
use super::super::scan::{Plan, RowIds};
use super::super::store::Store;

/// See the module.
pub(super) struct VersionPlan {
    /// The scan: layout, columns, conditions, and which blocks nobody took.
    pub(super) scan: Plan,
    pub(super) period: Period,
    /// The rows alone that can satisfy the conditions; none: all may.
    only: Option<Only>,
}

/// The rows of a key: one for each time that it came back by a bulk load.
struct Only {
    row_ids: Vec<u64>,
    taken: AtomicUsize,
}

/// What a partition reads at once.
pub(super) enum Piece {
    /// Rows of a block.
    Block(RowIds),
    /// One row, by its key.
    Row(u64),
}

impl VersionPlan {
    pub(super) fn new(
        store: &Store,
        schema: &Arc<Schema>,
        mut request: ScanRequest,
        period: Period,
    ) -> Result<VersionPlan> {
        request.view.own = None;
        let key = key_of(store, schema, &request.predicates);
        let scan = Plan::new(store, schema, request)?;
        scan.layout.check_snapshot(period.after)?;
        let known_from = scan.layout.base.known_from;
        assert!(period.after >= known_from, "what is asked for is registered, and so kept (past 2)");
        let only = match key {
            Some(key) => {
                let mut row_ids = scan.layout.row_ids(&key).collect::<Result<Vec<u64>>>()?;
                row_ids.dedup();
                Some(Only { row_ids, taken: AtomicUsize::new(0) })
            }
            None => None,
        };
        Ok(VersionPlan { scan, period, only })
    }

    /// What nobody took yet.
    pub(super) fn next_piece(&self) -> Option<Piece> {
        match &self.only {
            None => self.scan.next_rows().map(Piece::Block),
            Some(only) => only.row_ids.get(only.taken.fetch_add(1, Ordering::Relaxed)).copied().map(Piece::Row),
        }
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

/// The key that all rows have which satisfy the predicates, when these name one.
fn key_of(store: &Store, schema: &Schema, predicates: &[Predicate]) -> Option<Vec<u8>> {
    let value = |&ordinal: &usize| {
        predicates.iter().find_map(|predicate| match predicate {
            Predicate::Compare { column, op: CompareOp::Eq, value } if *column == ordinal && !value.is_null() => {
                Some(value)
            }
            _ => None,
        })
    };
    let values: Vec<&Value> = schema.key.iter().map(value).collect::<Option<_>>()?;
    Some(store.keys.encode(values.into_iter().map(Value::as_ref)))
}
