//! Runs the plan of a subquery for rows of outer values.
//!
//! ```text
//!   answers([7, 9, 7])    7: an instance, $outer0 = 7, a reset copy of its plan, until the answer is known
//!                         9: the same instance        7: kept
//! ```
//!
//! 1. An instance runs for one row at a time: its slots hold that row's values.
//! 2. Instances hold no snapshot and no values when they are idle; whoever needs one and finds none makes one.
//! 3. The thread that asks waits for the answer. It may be one of the engine's: the others take over what it has to do.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, ListArray, new_empty_array, new_null_array};
use arrow::buffer::OffsetBuffer;
use arrow::compute::{cast, concat};
use arrow::datatypes::DataType as ArrowType;
use arrow::row::{RowConverter, SortField};
use datafusion::common::{DataFusionError, Result, ScalarValue, internal_datafusion_err, internal_err};
use datafusion::execution::SendableRecordBatchStream;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::execution_plan::{ExecutionPlanProperties, reset_plan_states};
use futures::StreamExt;
use tokio::runtime::Handle;
use tokio::task::block_in_place;
use weft_env::sync::Mutex;
use weft_format::{Code, Error};

use super::super::error::wrap;
use super::super::scan::Execution;
use super::super::slots::Slots;
use super::super::stop::running;
use super::super::stream::wait;
use super::body::Question;
use super::cache::Cache;
use super::mark::Kind;

/// A physical plan of a subquery, for one row at a time.
pub(crate) struct Instance {
    pub(crate) plan: Arc<dyn ExecutionPlan>,
    pub(crate) slots: Arc<Slots>,
    /// Whether a reset makes it as good as new.
    pub(crate) is_reusable: bool,
}

/// Makes instances.
pub(crate) trait Make: Send + Sync {
    /// An instance, made by waiting for it.
    fn instance(&self) -> Result<Instance>;
}

/// The plan of a subquery, ready to run.
pub(crate) struct Runner {
    make: Box<dyn Make>,
    /// How many parameters the statement has, before the outer values.
    own: usize,
    idle: Mutex<Vec<Instance>>,
}

impl Runner {
    /// A runner with one instance.
    pub(crate) fn new(make: Box<dyn Make>, own: usize) -> Result<Runner> {
        let first = make.instance()?;
        Ok(Runner { make, own, idle: Mutex::new(vec![first]) })
    }

    /// The plan of an instance, for EXPLAIN.
    pub(crate) fn shown(&self) -> Option<Arc<dyn ExecutionPlan>> {
        self.idle.lock().first().map(|instance| Arc::clone(&instance.plan))
    }

    /// An instance of its own for who asks.
    pub(crate) fn take(&self) -> Result<Instance> {
        let idle = self.idle.lock().pop();
        match idle {
            Some(instance) => Ok(instance),
            None => self.make.instance(),
        }
    }

    /// Gives an instance back.
    pub(crate) fn put(&self, instance: Instance) {
        instance.slots.fill(None);
        if instance.is_reusable {
            self.idle.lock().push(instance);
        }
    }

    /// Starts an instance for one row of outer values; its partitions one by one, in order.
    pub(crate) fn start(
        &self,
        instance: &mut Instance,
        execution: &Execution,
        values: Vec<ScalarValue>,
    ) -> Result<Vec<SendableRecordBatchStream>> {
        execution.check().map_err(wrap)?;
        let own = execution.params.iter().take(self.own).cloned();
        let params: Arc<[ScalarValue]> = own.chain(values).collect();
        instance.slots.fill(Some(Arc::clone(&params)));
        let plan = reset_plan_states(Arc::clone(&instance.plan))?;
        let context = execution.within(params);
        (0..plan.output_partitioning().partition_count())
            .map(|partition| plan.execute(partition, Arc::clone(&context)))
            .collect()
    }
}

/// The row of outer values.
pub(super) fn row_of(values: &[ArrayRef], row: usize) -> Result<Vec<ScalarValue>> {
    values.iter().map(|array| ScalarValue::try_from_array(array, row)).collect()
}

/// What a subquery answers for rows of outer values.
pub(crate) fn answers(question: &Question, runner: &Runner, values: &[ArrayRef], rows: usize) -> Result<ArrayRef> {
    let to = question.field.data_type();
    if rows == 0 {
        return Ok(new_null_array(to, 0));
    }
    let execution = running().ok_or_else(|| internal_datafusion_err!("a subquery ran outside an execution"))?;
    let cache = execution.shared.caches.of(std::ptr::from_ref(question) as usize);
    let keys = Keys::new(values)?;
    let asking = Asking { question, runner, execution: &execution, cache: question.body.is_kept().then_some(&cache) };
    let known = |row: usize| asking.cache.and_then(|cache| cache.get(keys.key(row)));
    let mut answers: Vec<ScalarValue> = (0..rows).map_while(known).collect();
    if answers.len() < rows {
        block_in_place(|| {
            let mut instance = runner.take()?;
            for row in answers.len()..rows {
                answers.push(match known(row) {
                    Some(answer) => answer,
                    None => asking.answer(&mut instance, row_of(values, row)?, keys.key(row))?,
                });
            }
            runner.put(instance);
            Ok::<_, DataFusionError>(())
        })?;
    }
    let array = ScalarValue::iter_to_array(answers)?;
    if array.data_type() == to { Ok(array) } else { Ok(cast(&array, to)?) }
}

struct Asking<'a> {
    question: &'a Question,
    runner: &'a Runner,
    execution: &'a Execution,
    /// None when answers are good for one row only.
    cache: Option<&'a Arc<Cache>>,
}

impl Asking<'_> {
    fn answer(&self, instance: &mut Instance, values: Vec<ScalarValue>, key: &[u8]) -> Result<ScalarValue> {
        let streams = self.runner.start(instance, self.execution, values)?;
        let answer = wait(&Handle::current(), asked(self.question, streams))?;
        if let Some(cache) = self.cache {
            cache.put(key, &answer);
        }
        if !instance.is_reusable {
            *instance = self.runner.take()?;
        }
        Ok(answer)
    }
}

/// Reads as many rows as the answer takes.
async fn asked(question: &Question, streams: Vec<SendableRecordBatchStream>) -> Result<ScalarValue> {
    let mut value = ScalarValue::try_from(question.field.data_type())?;
    let mut has_value = false;
    let mut is_unknown = false;
    let mut items = Vec::new();
    for mut stream in streams {
        while let Some(batch) = stream.next().await {
            let batch = batch?;
            if batch.num_rows() == 0 {
                continue;
            }
            match question.kind {
                Kind::Exists => return Ok(ScalarValue::Boolean(Some(true))),
                Kind::Any => {
                    let column = batch.column(0).as_boolean();
                    if column.true_count() > 0 {
                        return Ok(ScalarValue::Boolean(Some(true)));
                    }
                    is_unknown |= column.null_count() > 0;
                }
                Kind::Array => items.push(Arc::clone(batch.column(0))),
                Kind::Value if has_value || batch.num_rows() > 1 => {
                    let message = "more than one row returned by a subquery used as an expression";
                    return Err(wrap(Error::new(Code::CardinalityViolation, message)));
                }
                Kind::Value => {
                    value = ScalarValue::try_from_array(batch.column(0), 0)?;
                    // Not a part of a batch.
                    value.compact();
                    has_value = true;
                }
            }
        }
    }
    Ok(match question.kind {
        Kind::Array => array_of(&items, question.field.data_type())?,
        Kind::Value => value,
        Kind::Exists => ScalarValue::Boolean(Some(false)),
        Kind::Any if is_unknown => ScalarValue::Boolean(None),
        Kind::Any => ScalarValue::Boolean(Some(false)),
    })
}

/// An array of all values of these columns.
fn array_of(columns: &[ArrayRef], to: &ArrowType) -> Result<ScalarValue> {
    let ArrowType::List(item) = to else { return internal_err!("the array of a subquery is {to}") };
    let columns = columns.iter().map(|column| cast(column, item.data_type())).collect::<Result<Vec<_>, _>>()?;
    let columns: Vec<&dyn Array> = columns.iter().map(AsRef::as_ref).collect();
    let values = if columns.is_empty() { new_empty_array(item.data_type()) } else { concat(&columns)? };
    let offsets = OffsetBuffer::from_lengths([values.len()]);
    Ok(ScalarValue::List(Arc::new(ListArray::try_new(Arc::clone(item), offsets, values, None)?)))
}

/// Rows of outer values as bytes.
struct Keys(Option<arrow::row::Rows>);

impl Keys {
    fn new(values: &[ArrayRef]) -> Result<Keys> {
        if values.is_empty() {
            return Ok(Keys(None));
        }
        let fields = values.iter().map(|array| SortField::new(array.data_type().clone())).collect();
        Ok(Keys(Some(RowConverter::new(fields)?.convert_columns(values)?)))
    }

    fn key(&self, row: usize) -> &[u8] {
        match &self.0 {
            Some(rows) => rows.row(row).data(),
            None => &[],
        }
    }
}
