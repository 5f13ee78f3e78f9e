//! LATERAL as an operator: for each row of its input, the rows of a plan that is given values of it.
//!
//! ```text
//!   input (1, 7)  (2, 9)        plan for 7: a, b    for 9: none
//!   out   (1, 7, a)  (1, 7, b)  and, where all rows stay, (2, 9, NULL)
//! ```
//!
//! 1. Rows come in the order of the input, those of one row in the order in which the plan gives them; nobody is told
//!    that, so who needs an order sorts.
//! 2. What is held is a batch of the input, and as many rows of the plan as make a batch.
//!
//! Concurrency: partitions of the input run at once, each with an instance of the plan of its own.

use std::fmt;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions, UInt32Array};
use arrow::compute::{cast, concat_batches, take_record_batch};
use arrow::datatypes::SchemaRef;
use async_trait::async_trait;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, internal_datafusion_err, internal_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::logical_expr::{LogicalPlan, UserDefinedLogicalNode};
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, Partitioning, PlanProperties,
    apply_expression_roots,
};
use datafusion::physical_planner::{DefaultPhysicalPlanner, ExtensionPlanner, PhysicalPlanner};
use futures::{StreamExt, stream};

use super::super::scan::Execution;
use super::lateral::{Lateral, Right};
use super::run::{Instance, Runner, row_of};

/// The operator.
pub(crate) struct LateralExec {
    input: Arc<dyn ExecutionPlan>,
    name: Arc<str>,
    runner: Arc<Runner>,
    values: Vec<Arc<dyn PhysicalExpr>>,
    keeps_all: bool,
    properties: Arc<PlanProperties>,
}

impl LateralExec {
    fn with_input(&self, input: Arc<dyn ExecutionPlan>) -> LateralExec {
        LateralExec {
            properties: properties(&input, Arc::clone(self.properties.eq_properties.schema())),
            input,
            name: Arc::clone(&self.name),
            runner: Arc::clone(&self.runner),
            values: self.values.clone(),
            keeps_all: self.keeps_all,
        }
    }

    /// The plan of its right side, for EXPLAIN.
    pub(crate) fn shown(&self) -> (String, Arc<dyn ExecutionPlan>) {
        (self.name.to_string(), Arc::clone(&self.runner.shown))
    }
}

fn properties(input: &Arc<dyn ExecutionPlan>, schema: SchemaRef) -> Arc<PlanProperties> {
    let partitioning = Partitioning::UnknownPartitioning(input.output_partitioning().partition_count());
    let equal = EquivalenceProperties::new(schema);
    Arc::new(PlanProperties::new(equal, partitioning, EmissionType::Incremental, Boundedness::Bounded))
}

impl fmt::Debug for LateralExec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LateralExec").field("name", &self.name).finish_non_exhaustive()
    }
}

impl DisplayAs for LateralExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = if self.keeps_all { "Left" } else { "Inner" };
        let values: Vec<String> = self.values.iter().map(ToString::to_string).collect();
        write!(f, "LateralExec: {kind}, {}({})", self.name, values.join(", "))
    }
}

impl ExecutionPlan for LateralExec {
    fn name(&self) -> &str {
        "LateralExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn apply_expressions(
        &self,
        visit: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        apply_expression_roots(self.values.iter(), visit)
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        let Some(input) = children.into_iter().next() else { return internal_err!("LateralExec has one child") };
        Ok(Arc::new(self.with_input(input)))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let execution = context
            .session_config()
            .get_extension::<Execution>()
            .ok_or_else(|| internal_datafusion_err!("LATERAL ran outside an execution"))?;
        let schema = self.schema();
        let rows = Rows {
            input: self.input.execute(partition, Arc::clone(&context))?,
            runner: Arc::clone(&self.runner),
            values: self.values.clone(),
            keeps_all: self.keeps_all,
            schema: Arc::clone(&schema),
            batch_rows: context.session_config().batch_size(),
            execution,
            instance: None,
            given: None,
        };
        let batches = stream::try_unfold(rows, |mut rows| async move { Ok(rows.next().await?.map(|out| (out, rows))) });
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, batches)))
    }
}

/// A partition of the operator.
struct Rows {
    input: SendableRecordBatchStream,
    runner: Arc<Runner>,
    values: Vec<Arc<dyn PhysicalExpr>>,
    keeps_all: bool,
    schema: SchemaRef,
    batch_rows: usize,
    execution: Arc<Execution>,
    instance: Option<Instance>,
    given: Option<Given>,
}

/// A LIMIT above may end it early: the instance is good for others then.
impl Drop for Rows {
    fn drop(&mut self) {
        drop(self.given.take());
        if let Some(instance) = self.instance.take() {
            self.runner.put(instance);
        }
    }
}

/// A batch of the input, and how far it was gone through.
struct Given {
    batch: RecordBatch,
    values: Vec<ArrayRef>,
    row: usize,
    /// The partitions of the plan that runs for the row, the next one last; none before it was started.
    running: Option<Vec<SendableRecordBatchStream>>,
    /// Whether it gave rows.
    has_rows: bool,
}

impl Rows {
    /// The next batch of rows; none at the end.
    async fn next(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            let mut given = match self.given.take() {
                Some(given) => given,
                None => {
                    let Some(batch) = self.input.next().await else { return Ok(None) };
                    let batch = batch?;
                    let values = self.values.iter().map(|value| value.evaluate(&batch)?.into_array(batch.num_rows()));
                    let values = values.collect::<Result<Vec<_>>>()?;
                    Given { batch, values, row: 0, running: None, has_rows: false }
                }
            };
            let (places, found) = self.gather(&mut given).await?;
            let is_done = given.row >= given.batch.num_rows();
            let out = if places.is_empty() { None } else { Some(self.joined(&given.batch, places, found)?) };
            if !is_done {
                self.given = Some(given);
            } else if let Some(instance) = self.instance.take() {
                self.runner.put(instance);
            }
            if out.is_some() {
                return Ok(out);
            }
        }
    }

    /// Rows of the plan until they make a batch, or the input's batch is gone through; beside each the place of its row
    /// in the input. A row that stays without any has a batch of one row of no columns.
    async fn gather(&mut self, given: &mut Given) -> Result<(Vec<u32>, Vec<Option<RecordBatch>>)> {
        let (mut places, mut found) = (Vec::new(), Vec::new());
        while given.row < given.batch.num_rows() && places.len() < self.batch_rows {
            let place = u32::try_from(given.row).map_err(|_| internal_datafusion_err!("a batch of too many rows"))?;
            let mut running = match given.running.take() {
                Some(running) => running,
                None => self.started(given)?,
            };
            if let Some(stream) = running.last_mut() {
                match stream.next().await {
                    Some(batch) => {
                        let batch = batch?;
                        places.extend(std::iter::repeat_n(place, batch.num_rows()));
                        given.has_rows |= batch.num_rows() > 0;
                        found.push(Some(batch));
                    }
                    None => drop(running.pop()),
                }
                given.running = Some(running);
                continue;
            }
            if self.keeps_all && !given.has_rows {
                places.push(place);
                found.push(None);
            }
            (given.row, given.has_rows) = (given.row + 1, false);
        }
        Ok((places, found))
    }

    fn started(&mut self, given: &Given) -> Result<Vec<SendableRecordBatchStream>> {
        let mut instance = match self.instance.take() {
            Some(instance) if instance.is_reusable => instance,
            _ => self.runner.take()?,
        };
        let mut streams = self.runner.start(&mut instance, &self.execution, row_of(&given.values, given.row)?)?;
        self.instance = Some(instance);
        streams.reverse();
        Ok(streams)
    }

    fn joined(&self, left: &RecordBatch, places: Vec<u32>, found: Vec<Option<RecordBatch>>) -> Result<RecordBatch> {
        let rows = places.len();
        let left_columns = left.num_columns();
        let right = Arc::new(arrow::datatypes::Schema::new(self.schema.fields()[left_columns..].to_vec()));
        let found = found.into_iter().map(|batch| match batch {
            Some(batch) => as_schema(&batch, &right),
            None => Ok(RecordBatch::new_empty(Arc::clone(&right)).with_nulls(&right)),
        });
        let found = found.collect::<Result<Vec<_>>>()?;
        let found = concat_batches(&right, &found)?;
        let left = take_record_batch(left, &UInt32Array::from(places))?;
        let columns = left.columns().iter().chain(found.columns()).cloned().collect();
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        Ok(RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)?)
    }
}

/// A batch of one row of NULLs in place of an empty one.
trait WithNulls {
    fn with_nulls(&self, schema: &SchemaRef) -> RecordBatch;
}

impl WithNulls for RecordBatch {
    fn with_nulls(&self, schema: &SchemaRef) -> RecordBatch {
        let columns = schema.fields().iter().map(|field| arrow::array::new_null_array(field.data_type(), 1)).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(1));
        RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options).expect("NULLs of the schema's types")
    }
}

/// The batch with the types that the node has: those of the plan may differ in what holds the same values.
fn as_schema(batch: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch> {
    let columns = batch.columns().iter().zip(schema.fields()).map(|(column, field)| {
        if column.data_type() == field.data_type() {
            return Ok(Arc::clone(column));
        }
        cast(column, field.data_type())
    });
    let columns = columns.collect::<std::result::Result<Vec<_>, _>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    Ok(RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)?)
}

/// Plans LATERAL.
#[derive(Debug)]
struct LateralPlanner;

#[async_trait]
impl ExtensionPlanner for LateralPlanner {
    async fn plan_extension(
        &self,
        planner: &dyn PhysicalPlanner,
        node: &dyn UserDefinedLogicalNode,
        logical_inputs: &[&LogicalPlan],
        physical_inputs: &[Arc<dyn ExecutionPlan>],
        session: &dyn datafusion::catalog::Session,
        context: &PhysicalPlanningContext,
    ) -> Result<Option<Arc<dyn ExecutionPlan>>> {
        let Some(lateral) = node.as_any().downcast_ref::<Lateral>() else { return Ok(None) };
        let Right::Hidden { body, runner: Some(runner) } = &lateral.right else {
            return internal_err!("LATERAL was not prepared");
        };
        let ([logical], [input]) = (logical_inputs, physical_inputs) else {
            return internal_err!("LATERAL has one input");
        };
        let values = lateral.values.iter();
        let values = values.map(|value| planner.create_physical_expr(value, logical.schema(), session, context));
        let values = values.collect::<Result<Vec<_>>>()?;
        let schema = Arc::clone(node.schema().inner());
        Ok(Some(Arc::new(LateralExec {
            properties: properties(input, schema),
            input: Arc::clone(input),
            name: body.name.as_str().into(),
            runner: Arc::clone(runner),
            values,
            keeps_all: lateral.keeps_all,
        })))
    }
}

/// The engine's planner, and LATERAL.
#[derive(Debug)]
pub(crate) struct Planner;

#[async_trait]
impl datafusion::execution::context::QueryPlanner for Planner {
    async fn create_physical_plan(
        &self,
        plan: &LogicalPlan,
        session: &dyn datafusion::catalog::Session,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let planner = DefaultPhysicalPlanner::with_extension_planners(vec![Arc::new(LateralPlanner)]);
        planner.create_physical_plan(plan, session).await
    }
}
