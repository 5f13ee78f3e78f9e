//! Runs the plan of a subquery for rows of outer values.
//!
//! ```text
//!   answers([7, 9, 7])    7: an instance, $outer0 = 7, a reset copy of its plan, until the answer is known
//!                         9: the same instance        7: kept
//! ```
//!
//! 1. An instance runs for one row at a time: its slots hold that row's values.
//! 2. Instances hold no snapshot and no values when they are idle; whoever needs one and finds none makes one.
//! 3. The thread that asks waits for the answer, and does all of the work itself: an instance needs no other thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use arrow::array::{Array, ArrayRef, AsArray, ListArray, new_empty_array, new_null_array};
use arrow::buffer::OffsetBuffer;
use arrow::compute::{cast, concat};
use arrow::datatypes::DataType as ArrowType;
use arrow::row::{RowConverter, SortField};
use datafusion::common::{Result, ScalarValue, internal_datafusion_err, internal_err};
use datafusion::execution::SendableRecordBatchStream;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::execution_plan::{ExecutionPlanProperties, reset_plan_states};
use futures::StreamExt;
use tokio::task::block_in_place;
use weft_env::sync::Mutex;
use weft_format::{Code, Error};

use super::super::error::wrap;
use super::super::scan::Execution;
use super::super::slots::Slots;
use super::super::stop::running;
use super::super::stream::wait;
use super::body::Question;
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
    /// The plan of the first instance, for EXPLAIN.
    pub(crate) shown: Arc<dyn ExecutionPlan>,
}

impl Runner {
    /// A runner with one instance.
    pub(crate) fn new(make: Box<dyn Make>, own: usize) -> Result<Runner> {
        let first = make.instance()?;
        let shown = Arc::clone(&first.plan);
        Ok(Runner { make, own, idle: Mutex::new(vec![first]), shown })
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
    let held = MemoryConsumer::new("Subquery").register(&execution.shared.memory.memory_pool);
    let cache = execution.shared.caches.of(std::ptr::from_ref(question) as usize);
    let keys = Keys::new(values)?;
    let asking = Asking { question, runner, execution: &execution, held: &held };
    if values.is_empty() && question.body.is_kept() {
        // Once in an execution: who comes while it runs waits for it.
        let answer = cache.once(|| aside(|| asking.all(&mut |answer| answer(Vec::new()))))?;
        return answer.to_array_of_size(rows);
    }
    let cache = question.body.is_kept().then_some(&*cache);
    let known = |row: usize| cache.and_then(|cache| cache.get(keys.key(row)));
    let mut answers: Vec<ScalarValue> = (0..rows).map_while(known).collect();
    if answers.len() < rows {
        aside(|| {
            asking.all(&mut |answer| {
                for row in answers.len()..rows {
                    let one = match known(row) {
                        Some(one) => one,
                        None => {
                            let one = answer(row_of(values, row)?)?;
                            if let Some(cache) = cache {
                                cache.put(keys.key(row), &one);
                            }
                            one
                        }
                    };
                    held.try_grow(one.size())?;
                    answers.push(one);
                }
                Ok(ScalarValue::Null)
            })
        })?;
    }
    let array = ScalarValue::iter_to_array(answers)?;
    if array.data_type() == to { Ok(array) } else { Ok(cast(&array, to)?) }
}

/// How many threads may wait for subqueries beside the engine's own; more would take all that it may start.
const ASIDE_MAX: usize = 64;
static ASIDE: AtomicUsize = AtomicUsize::new(0);

/// Runs what takes long in this thread, which may be one of the engine's: another takes its place, up to a bound. What
/// runs needs no other thread (`one_by_one`), so it comes to an end in any case.
fn aside<R>(run: impl FnOnce() -> R) -> R {
    struct Leaving;
    impl Drop for Leaving {
        fn drop(&mut self) {
            ASIDE.fetch_sub(1, Ordering::Relaxed);
        }
    }
    let is_full = ASIDE.fetch_add(1, Ordering::Relaxed) >= ASIDE_MAX;
    let _leaving = Leaving;
    if is_full { run() } else { block_in_place(run) }
}

/// Answers for the values of the outer references.
type Answer<'a> = dyn FnMut(Vec<ScalarValue>) -> Result<ScalarValue> + 'a;

struct Asking<'a> {
    question: &'a Question,
    runner: &'a Runner,
    execution: &'a Execution,
    /// The memory of what is answered.
    held: &'a MemoryReservation,
}

impl Asking<'_> {
    /// Has an instance for all rows that `ask` asks for.
    fn all(&self, ask: &mut dyn FnMut(&mut Answer<'_>) -> Result<ScalarValue>) -> Result<ScalarValue> {
        let mut instance = self.runner.take()?;
        let mut is_used = false;
        let made = ask(&mut |values| {
            if is_used && !instance.is_reusable {
                instance = self.runner.take()?;
            }
            is_used = true;
            let streams = self.runner.start(&mut instance, self.execution, values)?;
            wait(&self.execution.shared.quiet, asked(self.question, streams, self.held))
        });
        self.runner.put(instance);
        made
    }
}

/// The most elements of an array that a subquery makes, as for functions.
const ELEMENTS_MAX: usize = 8 << 20;

/// Reads as many rows as the answer takes.
async fn asked(
    question: &Question,
    streams: Vec<SendableRecordBatchStream>,
    held: &MemoryReservation,
) -> Result<ScalarValue> {
    let mut value = ScalarValue::try_from(question.field.data_type())?;
    let mut has_value = false;
    let mut is_unknown = false;
    let (mut items, mut count) = (Vec::new(), 0);
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
                Kind::Array => {
                    count += batch.num_rows();
                    if count > ELEMENTS_MAX {
                        let message = format!("an array of a subquery has at most {ELEMENTS_MAX} elements");
                        return Err(wrap(
                            Error::new(Code::ProgramLimit, message).hint("read the rows of the subquery"),
                        ));
                    }
                    // They are copied in the end.
                    held.try_grow(2 * batch.column(0).get_array_memory_size())?;
                    items.push(Arc::clone(batch.column(0)));
                }
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
