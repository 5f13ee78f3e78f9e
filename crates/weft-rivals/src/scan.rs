//! Scans: partitions that share a queue of blocks, so that threads of any speed end together.
//!
//! 1. Every visible row is in exactly one block, once; own rows are given by one partition.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use arrow_array::{ArrayRef, Int64Array, RecordBatch, RecordBatchOptions};
use arrow_schema::SchemaRef;
use weft_contract::{LOCATION, Partition, ScanMetrics, ScanOutput, ScanRequest, scan_schema};
use weft_format::row_arrays::column_of_rows;
use weft_format::{Error, Result, RowCodec, Schema};

use crate::rows::{Gathered, Rows, Wanted, location_of};

/// Everything that the partitions of a scan share.
struct Plan<R> {
    rows: Arc<R>,
    request: ScanRequest,
    schema: Arc<Schema>,
    arrow: SchemaRef,
    wanted: Wanted,
    next_block: AtomicU64,
    /// The first row that was not there when the scan began.
    end: u64,
    has_given_own: AtomicBool,
    metrics: Arc<ScanMetrics>,
}

struct BlockPartition<R> {
    plan: Arc<Plan<R>>,
    waiting: VecDeque<RecordBatch>,
}

/// A scan of the rows before `end`; those that own writes replace are `hidden`, ascending.
pub(crate) fn start<R: Rows>(
    rows: &Arc<R>,
    schema: &Arc<Schema>,
    request: ScanRequest,
    hidden: Vec<u64>,
    end: u64,
) -> ScanOutput {
    let asked = request.projection.iter().copied().chain(request.predicates.iter().map(|one| one.column()));
    let mut columns: Vec<usize> = asked.filter(|&ordinal| ordinal != LOCATION).collect();
    columns.sort_unstable();
    columns.dedup();
    let wanted = Wanted { read_ts: request.view.read_ts, columns, codec: RowCodec::new(schema), hidden };
    let (count, metrics) = (request.partition_count, Arc::<ScanMetrics>::default());
    let plan = Arc::new(Plan {
        rows: rows.clone(),
        arrow: scan_schema(schema, &request.projection),
        schema: schema.clone(),
        wanted,
        next_block: AtomicU64::new(0),
        end,
        has_given_own: AtomicBool::new(false),
        metrics: metrics.clone(),
        request,
    });
    let partition = |_| Box::new(BlockPartition { plan: plan.clone(), waiting: VecDeque::new() }) as Box<dyn Partition>;
    ScanOutput { partitions: (0..count).map(partition).collect(), metrics }
}

impl<R: Rows> Plan<R> {
    /// The rows of a block that satisfy the predicates.
    fn read_block(&self, block: u64) -> Result<Option<RecordBatch>> {
        self.metrics.blocks.fetch_add(1, Ordering::Relaxed);
        let mut gathered = Gathered::new(&self.wanted);
        self.rows.gather(block, &self.wanted, &mut gathered);
        let place = |ordinal: usize| self.wanted.columns.binary_search(&ordinal).expect("it is wanted");
        if !self.request.predicates.is_empty() {
            let tests: Vec<_> = self.request.predicates.iter().map(|one| (one, place(one.column()))).collect();
            let columns = &gathered.columns;
            let keeps = |at: usize| tests.iter().all(|(one, place)| one.matches(columns[*place].get(at)));
            let keep: Vec<bool> = (0..gathered.rows.len()).map(keeps).collect();
            gathered.columns.iter_mut().for_each(|column| column.retain(&keep));
            let mut kept = keep.iter();
            gathered.rows.retain(|_| *kept.next().expect("a word for each row"));
        }
        let count = gathered.rows.len();
        if count == 0 {
            return Ok(None);
        }
        let types = self.wanted.columns.iter().map(|&ordinal| self.schema.columns[ordinal].data_type);
        let arrays: Vec<ArrayRef> =
            gathered.columns.into_iter().zip(types).map(|(column, data_type)| column.into_array(data_type)).collect();
        let column = |&ordinal: &usize| -> ArrayRef {
            if ordinal != LOCATION {
                return arrays[place(ordinal)].clone();
            }
            let places = gathered.rows.iter().map(|&row| location_of(row).map(|location| location.number()));
            Arc::new(places.collect::<Int64Array>())
        };
        self.batch(self.request.projection.iter().map(column).collect(), count).map(Some)
    }

    /// Own rows that satisfy the predicates.
    fn read_own(&self) -> Result<Option<RecordBatch>> {
        let Some(own) = &self.request.view.own else { return Ok(None) };
        let codec = &self.wanted.codec;
        let matches = |row: &&[u8]| {
            self.request.predicates.iter().all(|predicate| predicate.matches(codec.get(row, predicate.column())))
        };
        let rows: Vec<&[u8]> = own.rows.values().filter_map(|staged| staged.row.as_deref()).filter(matches).collect();
        if rows.is_empty() {
            return Ok(None);
        }
        let column = |&ordinal: &usize| -> ArrayRef {
            match ordinal {
                LOCATION => Arc::new(Int64Array::new_null(rows.len())),
                _ => column_of_rows(codec, self.schema.columns[ordinal].data_type, ordinal, rows.iter().copied()),
            }
        };
        self.batch(self.request.projection.iter().map(column).collect(), rows.len()).map(Some)
    }

    fn batch(&self, columns: Vec<ArrayRef>, rows: usize) -> Result<RecordBatch> {
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(self.arrow.clone(), columns, &options)
            .map_err(|error| Error::internal(format!("a scan's columns do not fit its schema: {error}")))
    }
}

impl<R> BlockPartition<R> {
    fn take(&mut self, batch: Option<RecordBatch>) {
        let Some(batch) = batch else { return };
        let (rows, most) = (batch.num_rows(), self.plan.request.batch_rows.max(1));
        self.plan.metrics.rows.fetch_add(rows as u64, Ordering::Relaxed);
        for start in (0..rows).step_by(most) {
            self.waiting.push_back(batch.slice(start, most.min(rows - start)));
        }
    }
}

impl<R: Rows> Partition for BlockPartition<R> {
    fn next(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            if let Some(batch) = self.waiting.pop_front() {
                return Ok(Some(batch));
            }
            let plan = self.plan.clone();
            if !plan.has_given_own.swap(true, Ordering::AcqRel) {
                self.take(plan.read_own()?);
                continue;
            }
            let block = plan.next_block.fetch_add(1, Ordering::Relaxed);
            if block * plan.rows.block_rows() >= plan.end {
                return Ok(None);
            }
            self.take(plan.read_block(block)?);
        }
    }
}
