//! The operator that aggregates the elements of each row: a row of groups and states for each row that has elements.
//!
//! ```text
//!   s    t                         s    max(t)
//!   a    [3, 1, 4]                 a    4
//!   b    []                  ─▶    c    9               states: merged by the aggregate above
//!   c    [NULL, 9]
//! ```
//!
//! 1. Values of elements are the values of the lists, as they lie: nothing is copied unless a condition leaves some
//!    out. Columns of rows are repeated only where an expression of elements names them.
//! 2. Elements of a row are beside each other, so that groups are numbered in the order of rows.
//! 3. Without groups the elements of a batch have one state.

use std::fmt;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, ListArray, RecordBatch, RecordBatchOptions, UInt32Array};
use arrow::compute::{filter, filter_record_batch, take};
use arrow::datatypes::SchemaRef;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{DataFusionError, Result, internal_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::EmitTo;
use datafusion::physical_expr::aggregate::AggregateFunctionExpr;
use datafusion::physical_expr::{EquivalenceProperties, Partitioning, PhysicalExpr};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::metrics::{BaselineMetrics, ExecutionPlanMetricsSet, MetricsSet, RecordOutput};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, PlanProperties};
use futures::StreamExt;

/// Where a column of elements comes from.
#[derive(Clone, Copy, Debug)]
pub(super) enum Taken {
    /// The values of a list.
    Element(usize),
    /// A column of the rows, repeated.
    Row(usize),
}

/// Elements that satisfy a condition, and columns made of them.
#[derive(Clone, Debug)]
pub(super) struct Stage {
    pub(super) predicate: Option<Arc<dyn PhysicalExpr>>,
    pub(super) exprs: Vec<Arc<dyn PhysicalExpr>>,
    pub(super) schema: SchemaRef,
}

/// How elements are made of rows with lists, which have a value for each element, all of them.
#[derive(Clone, Debug)]
pub(super) struct Elements {
    pub(super) lists: Vec<usize>,
    pub(super) taken: Vec<Taken>,
    /// Of what is taken.
    pub(super) schema: SchemaRef,
    pub(super) stages: Vec<Stage>,
}

/// An aggregate, of columns of elements.
#[derive(Clone, Debug)]
pub(super) struct Aggregate {
    pub(super) function: Arc<AggregateFunctionExpr>,
    pub(super) args: Vec<Arc<dyn PhysicalExpr>>,
    pub(super) filter: Option<Arc<dyn PhysicalExpr>>,
}

/// Aggregates the elements of each row.
#[derive(Debug)]
pub(super) struct ElementAggregateExec {
    input: Arc<dyn ExecutionPlan>,
    made: Arc<Made>,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

/// What is made of a batch.
#[derive(Debug)]
struct Made {
    elements: Elements,
    /// Over the rows.
    groups: Vec<Arc<dyn PhysicalExpr>>,
    aggregates: Vec<Aggregate>,
    schema: SchemaRef,
}

impl ElementAggregateExec {
    /// Groups are expressions over the input; the schema has groups first, then the states of each aggregate.
    pub(super) fn new(
        input: Arc<dyn ExecutionPlan>,
        elements: Elements,
        groups: Vec<Arc<dyn PhysicalExpr>>,
        aggregates: Vec<Aggregate>,
        schema: SchemaRef,
    ) -> ElementAggregateExec {
        assert!(!elements.lists.is_empty(), "elements come from a list");
        ElementAggregateExec::above(input, Arc::new(Made { elements, groups, aggregates, schema }))
    }

    fn above(input: Arc<dyn ExecutionPlan>, made: Arc<Made>) -> ElementAggregateExec {
        let partitioning = Partitioning::UnknownPartitioning(input.output_partitioning().partition_count());
        let equivalences = EquivalenceProperties::new(Arc::clone(&made.schema));
        let (emission, bounds) = (EmissionType::Incremental, Boundedness::Bounded);
        let properties = Arc::new(PlanProperties::new(equivalences, partitioning, emission, bounds));
        ElementAggregateExec { input, made, properties, metrics: ExecutionPlanMetricsSet::new() }
    }
}

impl DisplayAs for ElementAggregateExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |exprs: Vec<String>| exprs.join(", ");
        let groups = list(self.made.groups.iter().map(ToString::to_string).collect());
        let aggregates = list(self.made.aggregates.iter().map(|made| made.function.name().to_owned()).collect());
        write!(f, "ElementAggregateExec: gby=[{groups}], aggr=[{aggregates}]")?;
        let predicates = self.made.elements.stages.iter().filter_map(|stage| stage.predicate.as_ref());
        let predicates: Vec<String> = predicates.map(ToString::to_string).collect();
        if predicates.is_empty() { Ok(()) } else { write!(f, ", where=[{}]", predicates.join(", ")) }
    }
}

impl ExecutionPlan for ElementAggregateExec {
    fn name(&self) -> &str {
        "ElementAggregateExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn apply_expressions(
        &self,
        apply: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        let made = &self.made;
        let of_stages = made.elements.stages.iter().flat_map(|stage| stage.predicate.iter().chain(&stage.exprs));
        let of_aggregates = made.aggregates.iter().flat_map(|made| made.args.iter().chain(&made.filter));
        for expr in made.groups.iter().chain(of_stages).chain(of_aggregates) {
            if apply(expr)? == TreeNodeRecursion::Stop {
                return Ok(TreeNodeRecursion::Stop);
            }
        }
        Ok(TreeNodeRecursion::Continue)
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        let input = children.into_iter().next();
        let input = input.ok_or_else(|| DataFusionError::Internal("ElementAggregateExec has one child".into()))?;
        Ok(Arc::new(ElementAggregateExec::above(input, Arc::clone(&self.made))))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let input = self.input.execute(partition, context)?;
        let metrics = BaselineMetrics::new(&self.metrics, partition);
        let (made, schema) = (Arc::clone(&self.made), Arc::clone(&self.made.schema));
        let stream = input.map(move |batch| {
            let batch = batch?;
            let _time = metrics.elapsed_compute().timer();
            Ok(made.states(&batch)?.record_output(&metrics))
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, stream)))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }
}

/// Elements of some rows, row by row.
struct Flat {
    batch: RecordBatch,
    /// The row of each.
    rows: Vec<u32>,
}

impl Made {
    /// Groups and states of a batch of rows.
    fn states(&self, rows: &RecordBatch) -> Result<RecordBatch> {
        let flat = self.elements.of(rows)?;
        let (groups, kept) = match self.groups.is_empty() {
            true => (vec![0; flat.rows.len()], flat.rows.first().copied().into_iter().collect()),
            false => numbered(&flat.rows),
        };
        let count = kept.len();
        let kept = UInt32Array::from(kept);
        let mut columns = Vec::with_capacity(self.schema.fields().len());
        if !self.groups.is_empty() {
            let rows = taken_rows(rows, &kept)?;
            for group in &self.groups {
                columns.push(group.evaluate(&rows)?.into_array(count)?);
            }
        }
        for Aggregate { function, args, filter } in &self.aggregates {
            let elements = flat.batch.num_rows();
            let args = args.iter().map(|arg| arg.evaluate(&flat.batch)?.into_array(elements));
            let args = args.collect::<Result<Vec<_>>>()?;
            let filter = filter.as_ref().map(|filter| selected(filter, &flat.batch)).transpose()?;
            let mut states = function.create_groups_accumulator()?;
            states.update_batch(&args, &groups, filter.as_ref(), count)?;
            columns.extend(states.state(EmitTo::All)?);
        }
        let options = RecordBatchOptions::new().with_row_count(Some(count));
        Ok(RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)?)
    }
}

impl Elements {
    /// The elements of rows that satisfy all conditions.
    fn of(&self, rows: &RecordBatch) -> Result<Flat> {
        let lists = self.lists.iter().map(|&at| dense(rows.column(at))).collect::<Result<Vec<_>>>()?;
        let lengths = |list: &ListArray| list.offsets().lengths().collect::<Vec<usize>>();
        let first = lengths(&lists[0]);
        if lists[1..].iter().any(|list| lengths(list) != first) {
            return internal_err!("lists of the elements of one array have other lengths");
        }
        let numbers = first.iter().enumerate();
        let mut of_rows: Vec<u32> = Vec::with_capacity(first.iter().sum());
        numbers.for_each(|(row, &length)| of_rows.resize(of_rows.len() + length, row as u32));
        let count = of_rows.len();
        let mut repeated = None;
        let mut columns: Vec<ArrayRef> = Vec::with_capacity(self.taken.len());
        for &taken in &self.taken {
            columns.push(match taken {
                Taken::Element(at) => {
                    let list = &lists[self.lists.iter().position(|&list| list == at).unwrap_or_default()];
                    let from = list.value_offsets()[0] as usize;
                    list.values().slice(from, count)
                }
                Taken::Row(at) => {
                    let repeated = repeated.get_or_insert_with(|| UInt32Array::from(of_rows.clone()));
                    take(rows.column(at), repeated, None)?
                }
            });
        }
        let options = RecordBatchOptions::new().with_row_count(Some(count));
        let batch = RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)?;
        self.stages.iter().try_fold(Flat { batch, rows: of_rows }, |flat, stage| stage.of(flat))
    }
}

impl Stage {
    fn of(&self, mut flat: Flat) -> Result<Flat> {
        if let Some(predicate) = &self.predicate {
            let kept = selected(predicate, &flat.batch)?;
            if kept.true_count() < kept.len() {
                flat.batch = filter_record_batch(&flat.batch, &kept)?;
                let rows: ArrayRef = Arc::new(UInt32Array::from(flat.rows));
                let rows = filter(&rows, &kept)?;
                flat.rows = rows.as_primitive::<arrow::datatypes::UInt32Type>().values().to_vec();
            }
        }
        let count = flat.batch.num_rows();
        let columns = self.exprs.iter().map(|expr| expr.evaluate(&flat.batch)?.into_array(count));
        let options = RecordBatchOptions::new().with_row_count(Some(count));
        let columns = columns.collect::<Result<Vec<_>>>()?;
        let batch = RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)?;
        Ok(Flat { batch, rows: flat.rows })
    }
}

/// A list array in which NULL has no elements.
fn dense(column: &ArrayRef) -> Result<ListArray> {
    let Some(list) = column.as_list_opt::<i32>() else {
        return internal_err!("elements are asked of an array of {}", column.data_type());
    };
    let has_hidden = list.nulls().is_some_and(|nulls| {
        (0..list.len()).any(|row| nulls.is_null(row) && list.value_offsets()[row] != list.value_offsets()[row + 1])
    });
    if !has_hidden {
        return Ok(list.clone());
    }
    let rows = UInt32Array::from_iter_values((0..list.len() as u32).filter(|&row| list.is_valid(row as usize)));
    let spread = (0..list.len()).scan(0_u32, |next, row| {
        let at = list.is_valid(row).then_some(*next);
        *next += u32::from(list.is_valid(row));
        Some(at)
    });
    let spread: UInt32Array = spread.collect();
    let there = take(list, &rows, None)?;
    Ok(take(&there, &spread, None)?.as_list::<i32>().clone())
}

/// The rows of a batch, by their numbers.
fn taken_rows(batch: &RecordBatch, rows: &UInt32Array) -> Result<RecordBatch> {
    if rows.len() == batch.num_rows() {
        return Ok(batch.clone());
    }
    Ok(arrow::compute::take_record_batch(batch, rows)?)
}

/// Which rows satisfy a condition; NULL does not.
fn selected(predicate: &Arc<dyn PhysicalExpr>, batch: &RecordBatch) -> Result<BooleanArray> {
    let found = predicate.evaluate(batch)?.into_array(batch.num_rows())?;
    let found = found.as_boolean();
    Ok(if found.null_count() > 0 { arrow::compute::prep_null_mask_filter(found) } else { found.clone() })
}

/// The number of the group of each element, and the row of each group: a group for each row that has elements.
fn numbered(rows: &[u32]) -> (Vec<usize>, Vec<u32>) {
    let mut kept: Vec<u32> = Vec::new();
    let mut groups = Vec::with_capacity(rows.len());
    for run in rows.chunk_by(|a, b| a == b) {
        groups.resize(groups.len() + run.len(), kept.len());
        kept.push(run[0]);
    }
    (groups, kept)
}
