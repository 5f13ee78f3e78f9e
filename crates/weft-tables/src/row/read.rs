//! Rows by key.
//!
//! ```text
//!   page k1: c since 47, undo k1: b [44, 47)      as of 50: c      as of 45: b      as of 40: none
//! ```

use std::sync::Arc;
use std::sync::atomic::Ordering;

use weft_contract::{Newest, Read, Sample, ScanOutput, ScanRequest, TableStatistics};
use weft_format::{RecordNo, Result, RowCodec, Schema, Timestamp, Value};
use weft_kernel::fault::active;

use super::faults;
use super::loads::{Fate, load_of};
use super::node::Cell;
use super::scan;
use super::store::Store;
use super::tree::Seek;

/// The load that was looked up last, and what became of it: the cells of a leaf are of few.
pub(super) type LastFate = Option<(RecordNo, Fate)>;

/// What a snapshot sees of a key.
pub(super) enum Seen<'a> {
    /// What the page has.
    Here(&'a [u8]),
    /// An older version.
    Before(Arc<[u8]>),
}

impl Seen<'_> {
    pub(super) fn row(&self) -> &[u8] {
        match self {
            Seen::Here(row) => row,
            Seen::Before(row) => row,
        }
    }
}

impl Store {
    /// What a snapshot sees of the key of a cell, which is latched and there since `since`.
    pub(super) fn seen<'a>(
        &self,
        cell: &Cell<'a>,
        since: Option<Timestamp>,
        key: impl FnOnce() -> Vec<u8>,
        ts: Timestamp,
    ) -> Option<Seen<'a>> {
        if since.is_some_and(|since| since <= ts) {
            return (!cell.is_dead).then_some(Seen::Here(cell.value));
        }
        self.undo.seen(&key(), ts).map(Seen::Before)
    }

    /// Since when a cell is there; none: it is of a load that no commit has attached.
    pub(super) fn since_of(&self, cell: &Cell<'_>, last: &mut LastFate) -> Option<Timestamp> {
        let Some(load) = load_of(cell.since) else { return Some(cell.since) };
        let fate = match *last {
            Some((before, fate)) if before == load => fate,
            _ => self.loads.read().fate(load),
        };
        *last = Some((load, fate));
        match fate {
            Fate::Committed(ts) => Some(ts),
            Fate::Open => active(faults::SEE_OPEN_LOADS).then_some(Timestamp(0)),
            Fate::Gone => None,
        }
    }

    fn look_at_row<R>(&self, key: &[u8], ts: Timestamp, act: impl FnOnce(Timestamp, &[u8]) -> R) -> Result<Option<R>> {
        self.given_up.check(ts)?;
        self.look_at_leaf(Seek::Key(key), false, |page| {
            let cell = page.node.cell(page.node.find(key).ok()?);
            let since = self.since_of(&cell, &mut None);
            let seen = self.seen(&cell, since, || key.to_vec(), ts)?;
            Some(act(since.unwrap_or(cell.since), seen.row()))
        })
    }
}

impl Read for Store {
    fn read(
        &self,
        codec: &RowCodec,
        key: &[u8],
        read_ts: Timestamp,
        columns: &[usize],
        values: &mut Vec<Value>,
    ) -> Result<bool> {
        values.clear();
        let found = self.look_at_row(key, read_ts, |_, row| {
            values.extend(columns.iter().map(|&column| codec.get(row, column).to_value()));
        })?;
        Ok(found.is_some())
    }

    fn read_row(&self, key: &[u8], read_ts: Timestamp) -> Result<Option<Arc<[u8]>>> {
        self.look_at_row(key, read_ts, |_, row| row.into())
    }

    fn newest(&self, key: &[u8]) -> Result<Option<Newest>> {
        self.look_at_row(key, Timestamp::MAX, |insert_ts, _| Newest { insert_ts, location: None })
    }

    fn newest_row(&self, key: &[u8]) -> Result<Option<(Newest, Arc<[u8]>)>> {
        let newest = |insert_ts, row: &[u8]| (Newest { insert_ts, location: None }, row.into());
        self.look_at_row(key, Timestamp::MAX, newest)
    }

    fn greatest_key(&self) -> Result<Option<Vec<u8>>> {
        self.given_up.check(Timestamp::MAX)?;
        let last = |page: &super::pool::Page| {
            let node = &page.node;
            (node.len().checked_sub(1).map(|at| node.key(at)), node.low.clone())
        };
        let (mut found, mut low) = self.look_at_leaf(Seek::Last, false, last)?;
        // Leaves without rows are joined with others, but not at once.
        while found.is_none() && !low.is_empty() {
            (found, low) = self.look_at_leaf(Seek::Before(&low.clone()), false, last)?;
        }
        Ok(found)
    }

    fn scan(&self, schema: &Arc<Schema>, request: ScanRequest) -> Result<ScanOutput> {
        self.given_up.check(request.view.read_ts)?;
        scan::start(self, schema, request)
    }

    fn sample(&self, schema: &Arc<Schema>, request: ScanRequest, stretches: usize) -> Result<Sample> {
        self.given_up.check(request.view.read_ts)?;
        scan::start_sample(self, schema, request, stretches)
    }

    fn statistics(&self) -> TableStatistics {
        let rows = self.rows.load(Ordering::Relaxed).max(0).cast_unsigned();
        let bytes = self.space.lock().end() * self.pool.page_bytes as u64;
        TableStatistics { row_count: rows, bytes, ranges: vec![None; self.context.def.schema.columns.len()] }
    }
}
