//! The leaf of a physical plan: a scan of one Weft table.
//!
//! ```text
//!   plan (cached)            WeftScan { table 3, columns [0, 4], predicates [a >= 7], partitions 2 }
//!   execution (TaskContext)  Execution { binding: view of table 3 at timestamp 812, cancel token }
//!   execute(0), execute(1)   the two partitions of one Read::scan
//! ```
//!
//! 1. The plan holds no snapshot: the view comes from the execution's binding, so a cached plan is good for any
//!    snapshot.
//! 2. All partitions of one execution of a leaf belong to the same `Read::scan`: every row is in exactly one of them.
//! 3. Statistics are estimates and never exact, so no answer is ever computed from them.
//!
//! Concurrency: partitions are read by different worker threads; each read is synchronous work inside a poll. The plan
//! wraps the leaf in an operator that yields to the scheduler; the cancel token is asked before each batch.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll};

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use datafusion::common::stats::Precision;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{DataFusionError, Result, ScalarValue, Statistics};
use datafusion::execution::runtime_env::RuntimeEnv;
use datafusion::execution::{RecordBatchStream, SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType, ReplaceChildrenOptions};
use datafusion::physical_plan::metrics::{Count, Metric, MetricValue, MetricsSet};
use datafusion::physical_plan::statistics::StatisticsArgs;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning, PlanProperties};
use datafusion::prelude::SessionConfig;
use futures::Stream;
use tokio::runtime::Handle;
use weft_env::sync::Mutex;
use weft_format::document::FieldPath;
use weft_format::{Code, DataType, Error, Schema, TableId};
use weft_kernel::catalog::Documents;
use weft_kernel::table::{
    FieldTest, LayerScan, Partition, ReadView, ScanField, ScanMetrics, ScanOutput, ScanRequest, scan_schema_with,
};
use weft_sql::Binding;
use weft_sql::queries::ReadAt;

use super::apply::cache::Caches;
use super::conditions::Conditions;
use super::error::wrap;
use super::held::with_own_texts;
use super::pushdown::describe_about;
use super::versions;

/// Rows per batch.
pub(crate) const BATCH_ROWS: usize = 8192;

/// What the leaves of a running plan find in their task context.
pub(crate) struct Execution {
    /// Views, cancel token.
    pub(crate) binding: Arc<Binding>,
    /// The values of open parameters, `$1` first; in the plan of a subquery that is applied its outer values follow.
    pub(crate) params: Arc<[ScalarValue]>,
    /// Set when nobody waits for the result any more; the cancel token may belong to the next statement by then.
    pub(crate) stopped: Arc<AtomicBool>,
    /// What the plans of its subqueries share with it.
    pub(crate) shared: Arc<Shared>,
}

/// What the plan of an execution and those of its subqueries have in common.
pub(crate) struct Shared {
    pub(crate) config: SessionConfig,
    pub(crate) memory: Arc<RuntimeEnv>,
    /// A runtime that runs no tasks: what a thread waits for in it runs in that thread.
    pub(crate) quiet: Handle,
    /// What subqueries answered.
    pub(crate) caches: Caches,
}

impl Execution {
    /// An error when the statement was cancelled, its time is over, or nobody waits for it.
    pub(crate) fn check(&self) -> Result<(), Error> {
        if self.stopped.load(Ordering::Relaxed) {
            return Err(Error::new(Code::QueryCanceled, "the query was dropped"));
        }
        self.binding.cancel.check()
    }

    /// The context of a plan.
    pub(crate) fn context(self) -> Arc<TaskContext> {
        let shared = Arc::clone(&self.shared);
        let config = shared.config.clone().with_extension(Arc::new(self));
        let none = (HashMap::new(), HashMap::new(), HashMap::new(), HashMap::new());
        let memory = Arc::clone(&shared.memory);
        Arc::new(TaskContext::new(None, String::new(), config, none.0, none.1, none.2, none.3, memory))
    }

    /// The context of the plan of a subquery, with these parameters.
    pub(crate) fn within(&self, params: Arc<[ScalarValue]>) -> Arc<TaskContext> {
        let (binding, stopped) = (Arc::clone(&self.binding), Arc::clone(&self.stopped));
        Execution { binding, params, stopped, shared: Arc::clone(&self.shared) }.context()
    }
}

/// A scan of one table, with its columns and conditions.
pub(crate) struct WeftScanExec {
    table: TableId,
    /// What of the past is read of it.
    read_at: Option<ReadAt>,
    name: Arc<str>,
    stored: Arc<Schema>,
    projection: Arc<[usize]>,
    /// Values within documents, behind the columns of the projection.
    fields: Arc<[ScanField]>,
    /// What an operator above tests of values within documents.
    tests: Arc<[FieldTest]>,
    conditions: Arc<Conditions>,
    rows_estimated: u64,
    bytes_estimated: u64,
    kept_share: f64,
    properties: Arc<PlanProperties>,
    started: Mutex<Started>,
}

/// The scans of this leaf's execution. More than one only when an operator above runs a partition again.
#[derive(Default)]
struct Started {
    scans: Vec<Vec<Option<Box<dyn Partition>>>>,
    metrics: Vec<Arc<ScanMetrics>>,
    /// Time in partitions, nanoseconds.
    nanos: Arc<AtomicU64>,
}

/// What a leaf is made from.
pub(crate) struct Leaf {
    pub(crate) table: TableId,
    pub(crate) read_at: Option<ReadAt>,
    pub(crate) name: Arc<str>,
    pub(crate) stored: Arc<Schema>,
    pub(crate) projection: Arc<[usize]>,
    pub(crate) fields: Arc<[ScanField]>,
    pub(crate) tests: Arc<[FieldTest]>,
    pub(crate) conditions: Arc<Conditions>,
    pub(crate) partition_count: usize,
    pub(crate) rows_estimated: u64,
    pub(crate) bytes_estimated: u64,
    /// The share of its rows that the conditions leave, about.
    pub(crate) kept_share: f64,
}

impl WeftScanExec {
    /// A leaf that has not run.
    pub(crate) fn new(leaf: Leaf) -> WeftScanExec {
        let schema = match leaf.fields.is_empty() {
            true => versions::schema(&leaf.stored, &leaf.projection),
            false => scan_schema_with(&leaf.stored, &leaf.projection, &leaf.fields),
        };
        let properties = PlanProperties::new(
            EquivalenceProperties::new(schema),
            Partitioning::UnknownPartitioning(leaf.partition_count),
            EmissionType::Incremental,
            Boundedness::Bounded,
        );
        WeftScanExec {
            table: leaf.table,
            read_at: leaf.read_at,
            name: leaf.name,
            stored: leaf.stored,
            projection: leaf.projection,
            fields: leaf.fields,
            tests: leaf.tests,
            conditions: leaf.conditions,
            rows_estimated: leaf.rows_estimated,
            bytes_estimated: leaf.bytes_estimated,
            kept_share: leaf.kept_share,
            properties: Arc::new(properties),
            started: Mutex::new(Started::default()),
        }
    }

    /// The table's name, how many rows its conditions were thought to leave, and how many they left.
    pub(crate) fn estimated(&self) -> (&str, usize, u64) {
        let counts = self.scan_counts();
        let given = counts.iter().find(|(name, _)| *name == "output_rows").map_or(0, |(_, count)| *count);
        (&self.name, self.kept(self.rows_estimated, 1), given)
    }

    /// What the conditions leave of so many rows, or bytes, of all in so many partitions.
    fn kept(&self, all: u64, partitions: u64) -> usize {
        (all as f64 * self.kept_share / partitions as f64).ceil() as usize
    }

    /// The same leaf, not started.
    fn fresh(&self) -> WeftScanExec {
        WeftScanExec::new(self.leaf())
    }

    /// The same leaf with other columns and fields, not started.
    fn reading(&self, projection: Arc<[usize]>, fields: Arc<[ScanField]>) -> WeftScanExec {
        WeftScanExec::new(Leaf { projection, fields, ..self.leaf() })
    }

    /// What the leaf is made from.
    fn leaf(&self) -> Leaf {
        Leaf {
            table: self.table,
            read_at: self.read_at,
            name: Arc::clone(&self.name),
            stored: Arc::clone(&self.stored),
            projection: Arc::clone(&self.projection),
            fields: Arc::clone(&self.fields),
            tests: Arc::clone(&self.tests),
            conditions: Arc::clone(&self.conditions),
            partition_count: self.properties.partitioning.partition_count(),
            rows_estimated: self.rows_estimated,
            bytes_estimated: self.bytes_estimated,
            kept_share: self.kept_share,
        }
    }

    /// The same leaf, not started, that is told what is tested above it.
    pub(crate) fn told(&self, tests: Vec<FieldTest>) -> WeftScanExec {
        WeftScanExec::new(Leaf { tests: tests.into(), ..self.leaf() })
    }

    /// The ordinals of the columns that it gives.
    pub(crate) fn columns(&self) -> &[usize] {
        &self.projection
    }

    /// Whether it may be asked for fields of documents: what it gives are stored columns as they are now.
    pub(crate) fn reads_fields(&self) -> bool {
        self.read_at.is_none() && self.fields.is_empty()
    }

    /// The fields of documents that it gives behind its columns.
    pub(crate) fn fields(&self) -> &[ScanField] {
        &self.fields
    }

    /// What is at a place of what it gives, where that is documents, or values within them, as they are stored now.
    pub(crate) fn field_at(&self, place: usize) -> Option<ScanField> {
        if self.read_at.is_some() {
            return None;
        }
        match place.checked_sub(self.projection.len()) {
            Some(field) => self.fields.get(field).filter(|of| !of.path.is_list()).cloned(),
            None => {
                let column = self.projection[place];
                let is_document = self.stored.columns.get(column)?.data_type == DataType::Jsonb;
                let path = FieldPath::new(Vec::new(), DataType::Jsonb);
                is_document.then_some(ScanField { column, path })
            }
        }
    }

    /// The same leaf, not started: of its columns those at these places, and behind them fields of documents.
    pub(crate) fn with_fields(&self, kept: &[usize], fields: Vec<ScanField>) -> WeftScanExec {
        self.reading(kept.iter().map(|&at| self.projection[at]).collect(), fields.into())
    }

    /// Which columns of which table it reads, and what of each is tested with these parameters.
    pub(crate) fn shape(&self, given: &[ScalarValue]) -> Result<(String, BTreeSet<String>)> {
        let partitions = self.properties.partitioning.partition_count();
        let fields = &self.fields;
        let shape = format!("{:?} {:?} {:?} {fields:?} {partitions}", self.table, self.read_at, self.projection);
        Ok((shape, self.conditions.bound(given)?.kinds(&self.stored).collect()))
    }

    /// The table and how many partitions the plan reads it in.
    pub(crate) fn partitioned(&self) -> (TableId, usize) {
        (self.table, self.properties.partitioning.partition_count())
    }

    /// What a scan has to do: rows, columns of numbers and such, columns of texts and such, conditions.
    pub(crate) fn work_estimated(&self) -> (u64, usize, usize, usize) {
        let is_long = |column: &&usize| {
            let column = self.stored.columns.get(**column);
            column.is_some_and(|column| column.data_type.arrow().primitive_width().is_none())
        };
        let texts = self.projection.iter().filter(is_long).count();
        let texts = texts + self.fields.len();
        (self.rows_estimated, self.projection.len() + self.fields.len() - texts, texts, self.conditions.count())
    }

    /// How long this execution read, on all cores together, nanoseconds.
    pub(crate) fn nanos(&self) -> u64 {
        self.started.lock().nanos.load(Ordering::Relaxed)
    }

    /// Takes one partition of this execution's scan, starting it if need be (invariant 2).
    fn take(&self, partition: usize, execution: &Execution, batch_rows: usize) -> Result<Box<dyn Partition>> {
        let mut started = self.started.lock();
        for scan in &mut started.scans {
            if let Some(found) = scan[partition].take() {
                return Ok(found);
            }
        }
        let partition_count = self.properties.partitioning.partition_count();
        let output = self.start(execution, (partition_count, batch_rows))?;
        assert_eq!(output.partitions.len(), partition_count, "a scan has the partitions asked for");
        let mut scan: Vec<_> = output.partitions.into_iter().map(Some).collect();
        let taken = scan[partition].take().expect("a scan that was just started has all its partitions");
        started.scans.push(scan);
        started.metrics.push(output.metrics);
        Ok(taken)
    }

    /// Starts a scan of the rows that the execution is bound to, or of the versions.
    fn start(&self, execution: &Execution, (partition_count, batch_rows): (usize, usize)) -> Result<ScanOutput> {
        let binding = &execution.binding;
        let tests = self.conditions.bound(&execution.params)?;
        let request = |view: &ReadView| ScanRequest {
            view: view.clone(),
            projection: self.projection.to_vec(),
            predicates: tests.predicates.clone(),
            partition_count,
            batch_rows,
        };
        let started = match self.read_at {
            None => binding.views.get(&self.table).map(|(table, view)| {
                let documents = Documents { fields: self.fields.to_vec(), tests: self.tests.to_vec() };
                table.scan_by_path(request(view), documents, &tests.told, binding.settings.column_paths)
            }),
            Some(read_at) => binding.past.get(&(self.table, read_at)).and_then(|past| {
                let of_versions = read_at == ReadAt::Period(read_at.number()) || versions::names_any(&self.projection);
                match (&past.view, &past.versions) {
                    (_, Some((view, period))) if of_versions => Some(versions::scan(past, request(view), *period)),
                    (Some(view), _) => Some(past.table.scan_known(request(view), &tests.told)),
                    _ => None,
                }
            }),
        };
        let unbound = || Error::internal(format!("the execution was not bound to a view of table \"{}\"", self.name));
        started.ok_or_else(|| wrap(unbound()))?.map_err(wrap)
    }

    /// The parts of each layer that this execution read and left out.
    fn layers(&self) -> Vec<LayerScan> {
        let mut layers: Vec<LayerScan> = Vec::new();
        for metrics in &self.started.lock().metrics {
            for scanned in metrics.layers.lock().iter() {
                match layers.iter_mut().find(|known| known.layer == scanned.layer) {
                    Some(known) => {
                        known.read += scanned.read;
                        known.pruned += scanned.pruned;
                    }
                    None => layers.push(*scanned),
                }
            }
        }
        layers
    }

    fn scan_counts(&self) -> [(&'static str, u64); 7] {
        let started = self.started.lock();
        let sum = |pick: fn(&ScanMetrics) -> u64| started.metrics.iter().map(|metrics| pick(metrics)).sum();
        [
            ("output_rows", sum(|m| m.rows.load(Ordering::Relaxed))),
            ("parts", sum(|m| m.parts.load(Ordering::Relaxed))),
            ("parts_pruned", sum(|m| m.parts_pruned.load(Ordering::Relaxed))),
            ("blocks", sum(|m| m.blocks.load(Ordering::Relaxed))),
            ("blocks_pruned", sum(|m| m.blocks_pruned.load(Ordering::Relaxed))),
            ("field_columns", sum(|m| m.field_columns.load(Ordering::Relaxed))),
            ("field_texts", sum(|m| m.field_texts.load(Ordering::Relaxed))),
        ]
    }
}

fn show_layer(scanned: &LayerScan) -> String {
    format!("{}: {} read, {} pruned", scanned.layer, scanned.read, scanned.pruned)
}

impl fmt::Debug for WeftScanExec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WeftScanExec").field("table", &self.name).field("projection", &self.projection).finish()
    }
}

impl DisplayAs for WeftScanExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |column: &usize| match self.stored.columns.get(*column) {
            Some(column) => &*column.name,
            None => versions::name_of(*column).unwrap_or("place"),
        };
        let columns: Vec<&str> = self.projection.iter().map(name).collect();
        write!(f, "WeftScanExec: table={}, ", self.name)?;
        match self.read_at {
            Some(ReadAt::Moment(number)) => write!(f, "moment={}, ", number + 1)?,
            Some(ReadAt::Period(number)) => write!(f, "versions of moment={}, ", number + 1)?,
            None => {}
        }
        write!(f, "columns=[{}]", columns.join(", "))?;
        if !self.fields.is_empty() {
            let field = |field: &ScanField| format!("{}{}", self.stored.columns[field.column].name, field.path);
            let fields: Vec<String> = self.fields.iter().map(field).collect();
            write!(f, ", fields=[{}]", fields.join(", "))?;
        }
        let (predicates, mut told) = self.conditions.describe();
        told.extend(self.tests.iter().map(|FieldTest { field, predicate, .. }| {
            let name = format!("{}{}", self.stored.columns[field.column].name, field.path);
            describe_about(predicate, &name, field.path.data_type)
        }));
        if !predicates.is_empty() {
            write!(f, ", predicates=[{}]", predicates.join(" AND "))?;
        }
        if !told.is_empty() {
            write!(f, ", told=[{}]", told.join(" AND "))?;
        }
        write!(f, ", partitions={}, rows~{}", self.properties.partitioning.partition_count(), self.rows_estimated)?;
        if self.kept_share < 1.0 {
            write!(f, ", kept~{}", self.kept(self.rows_estimated, 1))?;
        }
        let layers = self.layers();
        if !layers.is_empty() {
            let shown: Vec<String> = layers.iter().map(show_layer).collect();
            write!(f, ", layers=[{}]", shown.join("; "))?;
        }
        Ok(())
    }
}

impl ExecutionPlan for WeftScanExec {
    fn name(&self) -> &str {
        "WeftScanExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        Vec::new()
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn replace_children(
        self: Arc<Self>,
        _: Vec<Arc<dyn ExecutionPlan>>,
        _: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }

    fn with_new_children(self: Arc<Self>, _: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }

    fn reset_state(self: Arc<Self>) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(Arc::new(self.fresh()))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let execution = context
            .session_config()
            .get_extension::<Execution>()
            .ok_or_else(|| DataFusionError::Internal("a scan ran outside an execution".into()))?;
        let batch_rows = context.session_config().batch_size();
        let partition = self.take(partition, &execution, batch_rows)?;
        Ok(Box::pin(ScanStream {
            schema: Arc::clone(self.properties.eq_properties.schema()),
            execution,
            partition: Some(partition),
            nanos: Arc::clone(&self.started.lock().nanos),
            owns_texts: batch_rows < BATCH_ROWS,
        }))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        let mut set = MetricsSet::new();
        for (name, count) in self.scan_counts() {
            let value = Count::new();
            value.add(usize::try_from(count).unwrap_or(usize::MAX));
            let value = match name {
                "output_rows" => MetricValue::OutputRows(value),
                name => MetricValue::Count { name: name.into(), count: value },
            };
            set.push(Arc::new(Metric::new(value, None)));
        }
        Some(set)
    }

    fn statistics_from_inputs(&self, _: &[Arc<Statistics>], args: &StatisticsArgs) -> Result<Arc<Statistics>> {
        let share = match args.partition() {
            Some(_) => self.properties.partitioning.partition_count().max(1) as u64,
            None => 1,
        };
        let mut statistics = Statistics::new_unknown(self.properties.eq_properties.schema());
        statistics.num_rows = Precision::Inexact(self.kept(self.rows_estimated, share));
        statistics.total_byte_size = Precision::Inexact(self.kept(self.bytes_estimated, share));
        Ok(Arc::new(statistics))
    }
}

/// One partition as a stream.
struct ScanStream {
    schema: SchemaRef,
    execution: Arc<Execution>,
    partition: Option<Box<dyn Partition>>,
    /// Where its time is added.
    nanos: Arc<AtomicU64>,
    /// Whether texts are copied out of the blocks that they were read from. Who spares memory counts each batch with
    /// all that it holds on to.
    owns_texts: bool,
}

impl Stream for ScanStream {
    type Item = Result<RecordBatch>;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        let Some(partition) = &mut this.partition else {
            return Poll::Ready(None);
        };
        let clock = this.execution.binding.cancel.clock();
        let begun_nanos = clock.monotonic_nanos();
        let next = this.execution.check().and_then(|()| partition.next());
        this.nanos.fetch_add(clock.monotonic_nanos().saturating_sub(begun_nanos), Ordering::Relaxed);
        match next {
            Ok(Some(batch)) if this.owns_texts => Poll::Ready(Some(Ok(with_own_texts(&batch)))),
            Ok(Some(batch)) => Poll::Ready(Some(Ok(batch))),
            Ok(None) => {
                this.partition = None;
                Poll::Ready(None)
            }
            Err(error) => {
                this.partition = None;
                Poll::Ready(Some(Err(wrap(error))))
            }
        }
    }
}

impl RecordBatchStream for ScanStream {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}
