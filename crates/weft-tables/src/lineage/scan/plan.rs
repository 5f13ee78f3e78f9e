//! What a scan reads: the pinned layout cut into blocks, and what its own transaction hides of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::SchemaRef;
use weft_contract::{LayerScan, ScanMetrics, ScanRequest, TableWrites, scan_schema};
use weft_format::summary::scattered;
use weft_format::{BLOCK_ROWS, Error, Result, RowCodec, Schema, Timestamp};
use weft_kernel::fault::active;

use super::super::faults;
use super::super::layout::Layout;
use super::super::read::row_id_of;
use super::super::segment::Segment;
use super::super::store::Store;
use super::super::tails::Tails;
use super::super::version::Hops;
use super::only::Only;

/// Of so many times as many blocks as are wanted it is looked whether they have rows.
const LOOKED_AT_TIMES: usize = 16;

/// Everything that the partitions of a scan share.
pub(in crate::lineage) struct Plan {
    pub(in crate::lineage) request: ScanRequest,
    pub(in crate::lineage) schema: Arc<Schema>,
    pub(in crate::lineage) codec: RowCodec,
    pub(in crate::lineage) arrow: SchemaRef,
    pub(in crate::lineage) layout: Arc<Layout>,
    /// What own bulk statements have built.
    built: Vec<Arc<Segment>>,
    next_built: AtomicU64,
    /// Row ids of the rows that own writes replace, ascending.
    pub(in crate::lineage) hidden: Vec<u64>,
    pub(in crate::lineage) hops: Hops,
    /// Rows of a block: those of a page, or a whole segment where that is smaller.
    block_rows: u64,
    /// The first row id that no row of the snapshot has.
    end: u64,
    next: AtomicU64,
    /// The numbers of the blocks that are read; none: all are.
    some: Option<Vec<u64>>,
    /// The rows alone that can satisfy the conditions; none: all may.
    only: Option<Only>,
    has_given_own: AtomicU64,
    pub(in crate::lineage) metrics: Arc<ScanMetrics>,
}

/// Row ids that one partition reads at once.
pub(in crate::lineage) type RowIds = std::ops::Range<u64>;

/// What a partition reads at once.
pub(in crate::lineage) enum Piece {
    /// Rows of a block.
    Block(RowIds),
    /// One row, by its key.
    Row(u64),
}

impl Plan {
    pub(in crate::lineage) fn new(store: &Store, schema: &Arc<Schema>, request: ScanRequest) -> Result<Plan> {
        let layout = store.layout();
        let read_ts = request.view.read_ts;
        layout.check_snapshot(read_ts)?;
        let hidden = request.view.own.as_deref().map_or(Ok(Vec::new()), |own| hidden(&layout, own))?;
        let metrics = Arc::new(ScanMetrics::default());
        let segment_rows = u64::from(layout.base.segment_rows);
        let count = (layout.base.segments.iter().flatten().count() + 1 + layout.frozen.len()) as u64;
        metrics.parts.fetch_add(count, Ordering::Relaxed);
        let mut tails = LayerScan::new("tails");
        layout.tails().for_each(|one| tails.add(one.from <= read_ts));
        let mut pages = LayerScan::new("base pages");
        layout.base.segments.iter().flatten().for_each(|_| pages.add(true));
        *metrics.layers.lock() = vec![tails, pages];
        let built = request.view.own.as_deref().map_or(Vec::new(), |own| own_segments(store, own));
        Ok(Plan {
            built,
            next_built: AtomicU64::new(0),
            schema: schema.clone(),
            codec: RowCodec::new(schema),
            arrow: scan_schema(schema, &request.projection),
            hidden,
            hops: Hops::default(),
            block_rows: segment_rows.min(BLOCK_ROWS as u64),
            // What comes in from now on the snapshot does not see.
            end: store.next_row_id(),
            next: AtomicU64::new(0),
            some: None,
            only: Only::new(store, &layout, schema, &request.predicates)?,
            has_given_own: AtomicU64::new(0),
            metrics,
            layout,
            request,
        })
    }

    pub(in crate::lineage) fn read_ts(&self) -> Timestamp {
        self.request.view.read_ts
    }

    /// What nobody took yet.
    pub(in crate::lineage) fn next_piece(&self) -> Option<Piece> {
        match &self.only {
            None => self.next_rows().map(Piece::Block),
            Some(only) => only.next().map(Piece::Row),
        }
    }

    /// The next row ids that nobody took and that somebody may have.
    fn next_rows(&self) -> Option<RowIds> {
        loop {
            let turn = self.next.fetch_add(1, Ordering::Relaxed);
            let number = match &self.some {
                None => turn,
                Some(some) => *some.get(turn as usize)?,
            };
            let rows = self.block(number)?;
            if self.may_have(&rows) {
                return Some(rows);
            }
        }
    }

    /// The row ids of a block; none: it is behind the last one.
    fn block(&self, number: u64) -> Option<RowIds> {
        let first = number.saturating_mul(self.block_rows);
        (first < self.end).then(|| first..(first + self.block_rows).min(self.end))
    }

    /// Whether somebody may have row ids of a block.
    fn may_have(&self, rows: &RowIds) -> bool {
        let in_base = self.layout.base.segment(rows.start / u64::from(self.layout.base.segment_rows)).is_some();
        in_base || self.tails_seen().any(|(_, tails)| has_range(tails, rows))
    }

    /// Leaves blocks out, so that so many are left at most, from all over the row ids. True: none was.
    pub(super) fn keep_spread(&mut self, most: usize) -> bool {
        let count = self.end.div_ceil(self.block_rows) as usize;
        if count <= most {
            return true;
        }
        // Some may have no row.
        let looked_at = spread_evenly(count, most.saturating_mul(LOOKED_AT_TIMES));
        let has_rows = |number: &u64| self.block(*number).is_some_and(|rows| self.may_have(&rows));
        let mut found: Vec<u64> = looked_at.into_iter().filter(has_rows).collect();
        found.sort_unstable();
        self.some = Some(spread_evenly(found.len(), most).into_iter().map(|at| found[at as usize]).collect());
        false
    }

    /// The next block of own segments that nobody took.
    pub(super) fn next_built(&self) -> Option<(&Arc<Segment>, usize)> {
        let mut block = self.next_built.fetch_add(1, Ordering::Relaxed) as usize;
        for segment in &self.built {
            let blocks = (segment.rows as usize).div_ceil(BLOCK_ROWS);
            if block < blocks {
                return Some((segment, block));
            }
            block -= blocks;
        }
        None
    }

    /// The hidden row ids among some.
    pub(in crate::lineage) fn hidden_in(&self, rows: &RowIds) -> &[u64] {
        let start = self.hidden.partition_point(|row_id| *row_id < rows.start);
        let end = self.hidden.partition_point(|row_id| *row_id < rows.end);
        &self.hidden[start..end]
    }

    /// Whether the snapshot is below the base's cut: then pages and history say all of it (lineage 4).
    pub(super) fn is_behind(&self) -> bool {
        self.read_ts() < self.layout.base.cut && !active(faults::READ_TAILS_BELOW_CUT)
    }

    /// The tails that the snapshot sees something of, each with its place among the layout's.
    pub(in crate::lineage) fn tails_seen(&self) -> impl Iterator<Item = (usize, &Arc<Tails>)> {
        let (read_ts, is_behind) = (self.read_ts(), self.is_behind());
        self.layout.tails().enumerate().filter(move |(_, tails)| !is_behind && tails.from <= read_ts)
    }

    /// Whether the own rows are the caller's to give: once.
    pub(in crate::lineage) fn takes_own(&self) -> bool {
        let has_own =
            self.request.view.own.as_ref().is_some_and(|own| own.rows.values().any(|staged| staged.row.is_some()));
        has_own && self.has_given_own.fetch_add(1, Ordering::Relaxed) == 0
    }

    /// A batch of projected columns.
    pub(in crate::lineage) fn batch(&self, columns: Vec<ArrayRef>, rows: usize) -> Result<RecordBatch> {
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(self.arrow.clone(), columns, &options)
            .map_err(|error| Error::internal(format!("a scan's columns do not fit its schema: {error}")))
    }
}

/// Of so many numbers some that lie evenly.
fn spread_evenly(count: usize, most: usize) -> Vec<u64> {
    let step = |at: usize| ((at as u128 * 2 + 1) * count as u128 / (most.min(count) as u128 * 2)) as u64;
    scattered(most.min(count)).map(step).collect()
}

/// Whether tails have records of some rows.
fn has_range(tails: &Tails, rows: &RowIds) -> bool {
    let range_rows = u64::from(tails.range_rows());
    (rows.start / range_rows..=(rows.end - 1) / range_rows).any(|number| tails.range(number).is_some())
}

/// Segments that own bulk statements have built.
fn own_segments(store: &Store, own: &TableWrites) -> Vec<Arc<Segment>> {
    let mut segments = Vec::new();
    for built in store.built_now(&own.attachments) {
        let ordinals: Vec<usize> = (0..built.columns).collect();
        segments.extend(built.pages.iter().map(|file| {
            let rows = file.table.row_count();
            Arc::new(Segment::new(u64::MAX, rows, rows, Timestamp(0), file.clone(), &ordinals))
        }));
    }
    segments
}

/// Row ids of the rows that own writes replace, ascending.
fn hidden(layout: &Layout, own: &TableWrites) -> Result<Vec<u64>> {
    let mut hidden = Vec::with_capacity(own.rows.len());
    for (key, staged) in &own.rows {
        match staged.base.version() {
            Some((_, Some(location))) => {
                hidden.push(row_id_of(location));
            }
            _ => layout.row_ids(key).try_for_each(|row_id| row_id.map(|row_id| hidden.push(row_id)))?,
        }
    }
    hidden.sort_unstable();
    Ok(hidden)
}
