//! A range of keys in pieces, and the partitions of a scan, which take one after the other.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arrow_array::{ArrayRef, Int64Array, RecordBatch, RecordBatchOptions};
use arrow_schema::SchemaRef;
use weft_contract::{LOCATION, LayerScan, Partition, Sample, ScanMetrics, ScanOutput, ScanRequest, scan_schema};
use weft_env::sync::Mutex;
use weft_format::row_arrays::column_of_rows;
use weft_format::summary::spread;
use weft_format::{Error, KeyRange, RecordNo, Result, RowCodec, Schema, Timestamp};

use super::super::loads::{load_of, read_payload};
use super::super::node::Cell;
use super::super::pool::Page;
use super::super::store::Store;
use super::super::tree::Seek;

/// A partition finds so many pieces, about.
const PIECES: usize = 4;
/// So many leaves of a piece are read, at most, for a sample: the first ones may have no row that is seen.
const SAMPLED_LEAVES: usize = 4;
/// The first leaves of a range between two keys are looked at as by points: a short range that is asked for again
/// and again stays in the cache, where what a long scan reads goes with it.
const NEAR_LEAVES: usize = 4;
/// A batch is made of rows of so many bytes, be they fewer than asked for.
const BATCH_BYTES: usize = 4 << 20;

/// Rows one behind the other.
#[derive(Default)]
struct Rows {
    bytes: Vec<u8>,
    places: Vec<Range<usize>>,
}

impl Rows {
    fn push(&mut self, row: &[u8]) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(row);
        self.places.push(start..self.bytes.len());
    }
}

/// What the partitions of a scan share.
struct Plan {
    store: Arc<Store>,
    request: ScanRequest,
    schema: Arc<Schema>,
    codec: RowCodec,
    arrow: SchemaRef,
    pieces: Mutex<VecDeque<KeyRange>>,
    /// So many leaves of each piece are read.
    leaves_max: usize,
    /// So many of them as by points.
    near_leaves: usize,
    is_sample: bool,
    has_given_own: AtomicBool,
    /// What the transaction itself has loaded.
    own_loads: Vec<RecordNo>,
    metrics: Arc<ScanMetrics>,
}

/// Starts a scan of a table.
pub(in crate::row) fn start(store: &Store, schema: &Arc<Schema>, request: ScanRequest) -> Result<ScanOutput> {
    let range = KeyRange::new(schema, &store.keys, &request.predicates);
    let pieces = if range.is_empty() { VecDeque::new() } else { cut(store, range, request.partition_count)? };
    start_pieces(store, schema, request, (pieces, usize::MAX, false))
}

/// The same of some leaves, from all over the table.
pub(in crate::row) fn start_sample(
    store: &Store,
    schema: &Arc<Schema>,
    request: ScanRequest,
    leaves: usize,
) -> Result<Sample> {
    let (starts, are_leaves) = store.starts(leaves)?;
    let is_whole = are_leaves && starts.len() <= leaves;
    let piece = |at: usize| KeyRange { from: starts[at].clone(), to: starts.get(at + 1).cloned() };
    let places = spread(starts.iter().map(|_| 1), leaves);
    let leaves_max = if is_whole { usize::MAX } else { SAMPLED_LEAVES };
    let pieces = places.into_iter().map(piece).collect();
    Ok(Sample { output: start_pieces(store, schema, request, (pieces, leaves_max, true))?, is_whole })
}

/// Starts a scan of some pieces, and of so many leaves of each.
fn start_pieces(
    store: &Store,
    schema: &Arc<Schema>,
    request: ScanRequest,
    (pieces, leaves_max, is_sample): (VecDeque<KeyRange>, usize, bool),
) -> Result<ScanOutput> {
    let metrics = Arc::new(ScanMetrics::default());
    metrics.parts.fetch_add(1, Ordering::Relaxed);
    let mut layer = LayerScan::new("pages");
    layer.add(!pieces.is_empty());
    *metrics.layers.lock() = vec![layer];
    let own = request.view.own.iter().flat_map(|own| &own.attachments);
    let own = own.filter(|attachment| !attachment.payload.is_empty());
    let own_loads = own.map(|attachment| read_payload(&attachment.payload).map(|(load, _)| load));
    let is_bounded = pieces.back().is_some_and(|piece| piece.to.is_some());
    let is_short = !is_sample && is_bounded && pieces.len() <= NEAR_LEAVES;
    let plan = Arc::new(Plan {
        near_leaves: if is_short { NEAR_LEAVES } else { 0 },
        own_loads: own_loads.collect::<Result<_>>()?,
        store: store.shared(),
        codec: RowCodec::new(schema),
        arrow: scan_schema(schema, &request.projection),
        schema: schema.clone(),
        pieces: Mutex::new(pieces),
        leaves_max,
        is_sample,
        has_given_own: AtomicBool::new(false),
        metrics: metrics.clone(),
        request,
    });
    let partition = |_| {
        let (plan, waiting) = (plan.clone(), VecDeque::new());
        Box::new(LeafPartition { plan, piece: None, leaves: 0, rows: Rows::default(), waiting }) as Box<dyn Partition>
    };
    Ok(ScanOutput { partitions: (0..plan.request.partition_count).map(partition).collect(), metrics })
}

/// Cuts a range at children of the root.
fn cut(store: &Store, range: KeyRange, partition_count: usize) -> Result<VecDeque<KeyRange>> {
    let starts = store.look_at_root(|page| {
        let node = &page.node;
        if node.is_leaf() { Vec::new() } else { (1..node.len()).map(|at| node.key(at)).collect::<Vec<_>>() }
    })?;
    let is_inside = |key: &Vec<u8>| *key > range.from && range.to.as_ref().is_none_or(|to| key < to);
    let starts: Vec<Vec<u8>> = starts.into_iter().filter(is_inside).collect();
    let every = starts.len().div_ceil(partition_count.max(1) * PIECES).max(1);
    let mut pieces = VecDeque::new();
    let mut from = range.from;
    for start in starts.into_iter().skip(every - 1).step_by(every) {
        pieces.push_back(KeyRange { from, to: Some(start.clone()) });
        from = start;
    }
    pieces.push_back(KeyRange { from, to: range.to });
    Ok(pieces)
}

impl Plan {
    fn is_wanted(&self, row: &[u8]) -> bool {
        let mut predicates = self.request.predicates.iter();
        predicates.all(|predicate| predicate.matches(self.codec.get(row, predicate.column())))
    }

    /// Copies what the snapshot sees of a leaf from a key on; where the piece goes on, if it does. So many of its
    /// leaves were read, with this one.
    fn read_leaf(&self, piece: &KeyRange, leaves: usize, rows: &mut Rows) -> Result<Option<Vec<u8>>> {
        let own = self.request.view.own.as_deref().filter(|own| !own.rows.is_empty());
        self.metrics.blocks.fetch_add(1, Ordering::Relaxed);
        self.store.look_at_leaf(Seek::Key(&piece.from), leaves > self.near_leaves, |page: &Page| {
            let (node, mut last) = (&page.node, None);
            let end = piece.to.as_ref().map_or(node.len(), |to| node.first_from(to));
            for at in node.first_from(&piece.from)..end {
                let cell = node.cell(at);
                if own.is_some_and(|own| own.rows.contains_key(&*node.key(at))) {
                    continue;
                }
                let since = if self.is_own(&cell) { Some(Timestamp(0)) } else { self.store.since_of(&cell, &mut last) };
                let seen = self.store.seen(&cell, since, || node.key(at), self.request.view.read_ts);
                if let Some(seen) = seen.filter(|seen| self.is_wanted(seen.row())) {
                    rows.push(seen.row());
                }
            }
            node.high.clone().filter(|high| piece.to.as_ref().is_none_or(|to| high < to))
        })
    }

    /// Whether a cell is of a load of the transaction itself.
    fn is_own(&self, cell: &Cell<'_>) -> bool {
        !self.own_loads.is_empty() && load_of(cell.since).is_some_and(|load| self.own_loads.contains(&load))
    }

    /// The transaction's own rows, once.
    fn own_rows(&self) -> Rows {
        let mut rows = Rows::default();
        if let Some(own) = &self.request.view.own
            && !self.has_given_own.swap(true, Ordering::AcqRel)
        {
            let staged = own.rows.values().filter_map(|staged| staged.row.as_deref());
            staged.filter(|row| self.is_wanted(row)).for_each(|row| rows.push(row));
        }
        rows
    }

    fn batch(&self, rows: &Rows, places: &[Range<usize>]) -> Result<RecordBatch> {
        let column = |&ordinal: &usize| -> ArrayRef {
            if ordinal == LOCATION {
                return Arc::new(Int64Array::new_null(places.len()));
            }
            let data_type = self.schema.columns[ordinal].data_type;
            column_of_rows(&self.codec, data_type, ordinal, places.iter().map(|place| &rows.bytes[place.clone()]))
        };
        self.metrics.rows.fetch_add(places.len() as u64, Ordering::Relaxed);
        let options = RecordBatchOptions::new().with_row_count(Some(places.len()));
        let columns = self.request.projection.iter().map(column).collect();
        RecordBatch::try_new_with_options(self.arrow.clone(), columns, &options)
            .map_err(|error| Error::internal(format!("a scan's columns do not fit its schema: {error}")))
    }
}

/// A partition of a scan.
struct LeafPartition {
    plan: Arc<Plan>,
    /// What it reads now.
    piece: Option<KeyRange>,
    /// So many leaves of it were read.
    leaves: usize,
    rows: Rows,
    waiting: VecDeque<RecordBatch>,
}

impl LeafPartition {
    /// Makes batches of the rows that were read.
    fn flush(&mut self) -> Result<()> {
        let rows = std::mem::take(&mut self.rows);
        for places in rows.places.chunks(self.plan.request.batch_rows.max(1)) {
            self.waiting.push_back(self.plan.batch(&rows, places)?);
        }
        Ok(())
    }
}

impl Partition for LeafPartition {
    fn next(&mut self) -> Result<Option<RecordBatch>> {
        let plan = self.plan.clone();
        loop {
            if let Some(batch) = self.waiting.pop_front() {
                return Ok(Some(batch));
            }
            let own = plan.own_rows();
            if !own.places.is_empty() {
                self.rows = own;
                self.flush()?;
                continue;
            }
            if self.piece.is_none() {
                self.piece = plan.pieces.lock().pop_front();
                self.leaves = 0;
            }
            let Some(mut piece) = self.piece.take() else {
                self.flush()?;
                match self.waiting.pop_front() {
                    None => return Ok(None),
                    batch => return Ok(batch),
                }
            };
            self.leaves += 1;
            if let Some(next) = plan.read_leaf(&piece, self.leaves, &mut self.rows)?
                && self.leaves < plan.leaves_max
            {
                piece.from = next;
                self.piece = Some(piece);
            } else if plan.is_sample {
                // A batch of each piece, so that none stands for others.
                self.flush()?;
            }
            let is_full = self.rows.places.len() >= plan.request.batch_rows || self.rows.bytes.len() >= BATCH_BYTES;
            if is_full {
                self.flush()?;
            }
        }
    }
}
