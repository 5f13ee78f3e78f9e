//! The engine: its session state, its threads, planning.
//!
//! ```text
//!   prepare   AST ── check ── name columns ── plan ── (no parameters, no clock: optimise, physical plan = template)
//!   execute   template ── reset ── TaskContext { binding, parameters } ── stream   warm, no planning (see `templates`)
//!             plan ── parameters, now() put in ── optimise ── physical ── stream     otherwise
//! ```
//!
//! 1. Nothing is answered from statistics: leaves report estimates only.
//!
//! Concurrency: planning and the last steps of a query run in the caller's thread; partitions run on the engine's
//! worker threads. All state is shared and immutable.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use arrow::datatypes::{DataType as ArrowType, Field};
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{DataFusionError, ParamValues, ScalarValue};
use datafusion::execution::{SessionState, TaskContext};
use datafusion::logical_expr::{Expr, LogicalPlan, Volatility};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::sql::planner::SqlToRel;
use sqlparser::ast::{Expr as SqlExpr, Query, Statement, Value, ValueWithSpan, Visitor};
use tokio::runtime::{Handle, Runtime};
use weft_env::{Clock, Rng};
use weft_expr::Local;
use weft_format::{Code, DataType, Error, Result};
use weft_kernel::{Engine, TableRef};
use weft_sql::OutputColumn;
use weft_sql::expr::{cast_to, open};
use weft_sql::queries::names::{check_query, name_columns, shown};
use weft_sql::queries::{
    AsksCatalog, PreparedQuery, QueryEngine, QueryOptions, QueryStream, Reservation, take_moments,
};
use weft_sql::{Binding, Tables};
use weft_walk::{Visit, visit_expressions_mut};

use super::apply::cache::Caches;
use super::apply::costly::{applies, costly_last};
use super::apply::prepare::{Preparing, needs_preparing, prepared};
use super::apply::walk::visit_all;
use super::cases::level_cases;
use super::catalog;
use super::coalesced::coalesced;
use super::correlation::has_subquery;
use super::error::{missing_column, missing_relation, too_far, unwrap, unwrap_planned, whole_row};
use super::forecast::{Expected, expected};
use super::gather::gather;
use super::guard::{guarded, guarded_deep};
use super::held::counted;
use super::local::state_for;
use super::membership::Applies;
use super::ordered_sets::is_one as is_ordered_set;
use super::output::Converter;
use super::planned::Planned;
use super::pool::Reserved;
use super::provider::PlanningContext;
use super::reach::{has_relation, is_in_reach};
use super::rewrite::rewrite;
use super::scan::{Execution, Shared};
use super::semantics::typed_params;
use super::session_reads::reads_session;
use super::setup::{Sparing, memory, parser_options, session_state};
use super::slots::open_parameters;
use super::stop::{bind_filters, stoppable};
use super::stream::{Running, RunningQuery, wait};
use super::templates::{Runnable, Templates};
use super::types::{check_columns, field_type, output_type, scalar_of};
use super::wildcard::expand_wildcards;
use super::windows::expand_windows;
use super::with_queries;

/// How long a query waits for the memory of its first attempt, at most.
const RELEASE_WAIT: Duration = Duration::from_millis(1);
const RELEASE_WAITS_MAX: u32 = 200;

/// The highest number of a parameter.
const PARAMETERS_MAX: usize = 65_535;

/// A statement with fewer bytes of text is no deep tree.
const TEXT_BYTES_DEEP: usize = 1 << 10;

/// DataFusion over the tables of one database.
pub(crate) struct DataFusionEngine {
    pub(super) state: Arc<SessionState>,
    /// The same, which applies all subqueries: for what the engine has no joins for after all. Made when it is needed.
    applying: OnceLock<Arc<SessionState>>,
    rng: Arc<dyn Rng>,
    runtime: Option<Runtime>,
    /// See [`Shared::quiet`].
    quiet: Option<Runtime>,
    pub(super) handle: Handle,
    pub(super) parallelism: usize,
    memory_bytes: usize,
    /// How queries run that have run out of memory once.
    sparing: Sparing,
    pub(super) clock: Arc<dyn Clock>,
}

impl DataFusionEngine {
    /// Sets up the engine and starts its worker threads.
    pub(crate) fn new(kernel: &Engine, options: &QueryOptions) -> Result<DataFusionEngine> {
        let env = kernel.env();
        let parallelism = if options.parallelism == 0 { env.spawn.parallelism() } else { options.parallelism };
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(parallelism)
            .thread_name("weft-query")
            .thread_stack_size(4 << 20)
            .enable_time()
            .build()
            .map_err(|error| Error::io("starting the query threads", &error))?;
        let quiet = tokio::runtime::Builder::new_current_thread().build();
        let quiet = quiet.map_err(|error| Error::io("starting the query threads", &error))?;
        let memory = memory(options, Arc::clone(kernel.lending())).map_err(|error| unwrap(error, ""))?;
        let applies = if options.apply_subqueries { Applies::Correlated } else { Applies::Others };
        let state = session_state(parallelism, applies, memory, &env.rng);
        Ok(DataFusionEngine {
            state: Arc::new(state),
            applying: OnceLock::new(),
            rng: Arc::clone(&env.rng),
            handle: runtime.handle().clone(),
            runtime: Some(runtime),
            quiet: Some(quiet),
            parallelism,
            memory_bytes: options.memory_bytes,
            sparing: Sparing::new(options.memory_bytes),
            clock: Arc::clone(&env.clock),
        })
    }

    /// The state that applies all subqueries.
    pub(super) fn applying(&self) -> &SessionState {
        self.applying.get_or_init(|| {
            let memory = Arc::clone(self.state.runtime_env());
            Arc::new(session_state(self.parallelism, Applies::All, memory, &self.rng))
        })
    }

    /// Whether a query's subqueries become what the engine plans: it says no to some joins only when it comes to them.
    fn check_joins(
        &self,
        planned: &Planned,
        analysed: LogicalPlan,
        wrong: &dyn Fn(DataFusionError) -> Error,
    ) -> Result<()> {
        let plan = planned.state.optimizer().optimize(analysed, &*planned.state, |_, _| {}).map_err(wrong)?;
        self.physical(planned, &planned.state, &plan).map(drop).map_err(wrong)
    }

    fn finish_prepare(
        &self,
        plan: LogicalPlan,
        tables: Vec<TableRef>,
        (reads_views, asked): (bool, usize),
        (state, text): (Arc<SessionState>, &str),
    ) -> Result<PreparedQuery> {
        let wrong = |error| unwrap_planned(error, text);
        let has_subqueries = has_subqueries(&plan).map_err(wrong)?;
        let plan = typed_params(plan).map_err(wrong)?;
        let mut params = parameters(&plan).map_err(wrong)?;
        // Those of a WITH query that nothing names are not in the plan.
        params.resize(params.len().max(asked), None);
        let written = written_types(&plan);
        let typed = if params.is_empty() { plan.clone() } else { with_null_params(&plan, &params).map_err(wrong)? };
        let analysed = state.analyzer().execute_and_check(typed, state.config_options(), |_, _| {}).map_err(wrong)?;
        let is_fixed = !reads_clock(&analysed).map_err(wrong)? && !reads_views;
        let is_ready = is_fixed && params.is_empty();
        let reads_session = reads_session(&analysed).map_err(wrong)?;
        let trial = (has_subqueries && !is_ready).then(|| analysed.clone());
        let (schema, plan) = if is_ready {
            let optimised = state.optimizer().optimize(analysed, &*state, |_, _| {}).map_err(wrong)?;
            (optimised.schema().as_arrow().clone(), optimised)
        } else {
            (analysed.schema().as_arrow().clone(), plan)
        };
        check_columns(schema.fields())?;
        // That a text is a char(n) may be lost when constants are folded.
        let named = |(field, written): (&Arc<Field>, DataType)| {
            let data_type = match (field_type(field), written) {
                (DataType::Text, char @ DataType::Char(_)) => char,
                (data_type, _) => data_type,
            };
            OutputColumn::new(shown(field.name()), data_type)
        };
        let columns: Arc<[OutputColumn]> = schema.fields().iter().zip(written).map(named).collect();
        let params: Vec<Option<DataType>> = params.into_iter().map(|param| param.as_ref().map(output_type)).collect();
        let planned = Planned {
            is_open: open_parameters(&plan, &params).map_err(wrong)?.into(),
            plan: Arc::new(plan),
            columns: Arc::clone(&columns),
            params: params.clone(),
            is_fixed,
            state,
            templates: Templates::default(),
            executions: AtomicU64::new(0),
            planned: AtomicU64::new(0),
            spares_memory: AtomicBool::new(false),
            has_subqueries,
            text: text.into(),
        };
        if is_ready {
            self.prepare_template(&planned)?;
        }
        if let Some(analysed) = trial {
            self.check_joins(&planned, analysed, &wrong)?;
        }
        Ok(PreparedQuery::new(columns, params, tables, reads_session, Box::new(planned)))
    }

    pub(super) fn start(&self, query: &Planned, runnable: Runnable, binding: Binding) -> Result<RunningQuery> {
        let Runnable { plan, expected, given, lease } = runnable;
        let (cancel, run) = (binding.cancel.clone(), binding.load.begin(expected.forecast));
        let converter = Converter::new(&query.columns, &plan.schema());
        let stopped = Arc::new(AtomicBool::new(false));
        let _entered = self.handle.enter();
        let context = self.task_context(query, &plan, (binding, given), &stopped);
        let observed = expected.is_observed.then(|| Arc::clone(&plan));
        let stream = gather(plan, context).map_err(|error| unwrap(error, &query.text))?;
        let running = Running { stream, observed, run, lease };
        Ok(RunningQuery::new(running, self.handle.clone(), converter, cancel, Arc::clone(&query.text), stopped))
    }

    fn task_context(
        &self,
        query: &Planned,
        plan: &Arc<dyn ExecutionPlan>,
        (binding, params): (Binding, Arc<[ScalarValue]>),
        stopped: &Arc<AtomicBool>,
    ) -> Arc<TaskContext> {
        let mut config = self.state.config().clone();
        if query.spares_memory.load(Ordering::Relaxed) {
            config = self.sparing.run(config, plan);
        }
        let memory = Arc::clone(self.state.runtime_env());
        let quiet = self.quiet.as_ref().map_or_else(|| self.handle.clone(), |quiet| quiet.handle().clone());
        let shared = Arc::new(Shared { config, caches: Caches::new(&memory.memory_pool), memory, quiet });
        Execution { binding: Arc::new(binding), params, stopped: Arc::clone(stopped), shared }.context()
    }

    /// A physical plan for one execution.
    pub(super) fn runnable(&self, query: &Planned, binding: &Binding) -> Result<Runnable> {
        let given = given(&query.params, binding)?;
        let mut runnable = self.unbound(query, binding, given)?;
        runnable.plan = bind_filters(runnable.plan, &binding.cancel).map_err(|error| unwrap(error, &query.text))?;
        Ok(runnable)
    }

    pub(super) fn expected(&self, plan: &Arc<dyn ExecutionPlan>) -> Expected {
        expected(plan, self.parallelism, self.memory_bytes)
    }

    pub(super) fn physical(
        &self,
        query: &Planned,
        state: &SessionState,
        plan: &LogicalPlan,
    ) -> datafusion::common::Result<Arc<dyn ExecutionPlan>> {
        let sparing = query.spares_memory.load(Ordering::Relaxed).then(|| {
            let mut state = state.clone();
            *state.config_mut() = self.sparing.plan(state.config().clone());
            state
        });
        query.planned.fetch_add(1, Ordering::Relaxed);
        let spares_memory = sparing.is_some();
        let state = sparing.as_ref().unwrap_or(state);
        let finish = move |plan| counted(stoppable(coalesced(costly_last(plan)?)?, applies)?, spares_memory);
        // Whoever waits for a subquery learns from its leaves that it is to stop.
        let leaves = |node: &Arc<dyn ExecutionPlan>| Ok(node.children().is_empty() || applies(node)?);
        let within = move |plan| counted(stoppable(coalesced(costly_last(plan)?)?, leaves)?, spares_memory);
        let mut plan = Cow::Borrowed(plan);
        if needs_preparing(&plan)? {
            let mut state = state.clone();
            *state.config_mut() = state.config().clone().with_target_partitions(1);
            let (own, handle) = (query.params.len(), self.handle.clone());
            let preparing = Preparing { state, own, handle, finish: Box::new(within) };
            plan = Cow::Owned(prepared(plan.into_owned(), &Arc::new(preparing))?);
        }
        finish(wait(&self.handle, state.query_planner().create_physical_plan(&plan, state))?)
    }

    /// Waits until the memory of queries that were stopped is given back: their tasks notice that at their next batch.
    /// Others may hold some, so this ends in any case.
    fn await_release(&self) {
        let pool = &self.state.runtime_env().memory_pool;
        for _ in 0..RELEASE_WAITS_MAX {
            if pool.reserved() == 0 {
                return;
            }
            self.clock.sleep(RELEASE_WAIT);
        }
    }
}

impl QueryEngine for DataFusionEngine {
    fn is_aggregate(&self, name: &str) -> bool {
        self.state.aggregate_functions().contains_key(&name.to_lowercase()) || is_ordered_set(name)
    }

    fn prepare_query(
        &self,
        tables: &dyn Tables,
        query: &Query,
        text: &str,
        target: Option<TableRef>,
        local: &Local,
    ) -> Result<PreparedQuery> {
        with_queries::check(query)?;
        guarded_deep(|| {
            let mut query = query.clone();
            let moments = take_moments(&mut query)?;
            check_query(&query)?;
            level_cases(&mut query)?;
            expand_windows(&mut query)?;
            expand_wildcards(&mut query, tables)?;
            name_columns(&mut query);
            rewrite(&mut query)?;
            let state = Arc::new(state_for(&self.state, local));
            let context = PlanningContext::new(&state, tables, target);
            let asked = parameters_of(&query);
            let wrong = |error: DataFusionError| match (missing_relation(&error), missing_column(&error)) {
                (Some(name), _) if is_in_reach(&query, name) => too_far(),
                (_, Some(name)) if has_relation(&query, name) => whole_row(name),
                _ => unwrap(error, text),
            };
            let planned = |query: Query| {
                SqlToRel::new_with_options(&context, parser_options())
                    .sql_statement_to_plan(Statement::Query(Box::new(query)))
                    .map_err(wrong)
            };
            let mut plan = planned(query.clone())?;
            if asked > 0 {
                let mut opened = query.clone();
                if open_numerics(&mut opened, &parameters(&plan).map_err(|error| unwrap(error, text))?)? {
                    plan = planned(opened)?;
                }
            }
            let asks_catalog = context.asks_catalog();
            if asks_catalog != AsksCatalog::Nothing {
                plan = catalog::typed(plan).map_err(|error| unwrap(error, text))?;
            }
            let reads_views = context.reads_views() || asks_catalog != AsksCatalog::Nothing;
            let (used, past) = context.into_used();
            let asked = (reads_views, asked);
            let made = self.finish_prepare(plan.clone(), used.clone(), asked, (state, text));
            let made = match made {
                Err(error) if may_be_lost(&error) && has_subqueries(&plan).unwrap_or(false) => {
                    let applying = Arc::new(state_for(self.applying(), local));
                    self.finish_prepare(plan, used, asked, (applying, text)).map_err(|_| error)
                }
                made => made,
            };
            made.map(|made| made.asking(asks_catalog).at_moments(moments, past))
        })
    }

    fn execute(&self, query: &PreparedQuery, binding: Binding) -> Result<Box<dyn QueryStream>> {
        binding.cancel.check()?;
        let query = Planned::of(query)?;
        let run = || {
            let runnable = self.runnable(query, &binding)?;
            Ok(Box::new(self.start(query, runnable, binding)?) as Box<dyn QueryStream>)
        };
        // It may be planned anew, which a short text needs no more stack for than there is.
        if query.text.len() > TEXT_BYTES_DEEP { guarded_deep(run) } else { guarded(run) }
    }

    fn explain(&self, query: &PreparedQuery, binding: Binding, analyze: bool) -> Result<String> {
        self.explained(Planned::of(query)?, binding, analyze)
    }

    fn spares_after(&self, error: &Error, query: &PreparedQuery) -> bool {
        let Ok(query) = Planned::of(query) else { return false };
        if error.code() != Code::OutOfMemory || query.spares_memory.swap(true, Ordering::Relaxed) {
            return false;
        }
        query.templates.clear();
        self.await_release();
        true
    }

    fn reservation(&self) -> Arc<dyn Reservation> {
        Arc::new(Reserved::nothing(&self.state.runtime_env().memory_pool))
    }

    fn memory_bytes(&self) -> usize {
        self.memory_bytes
    }
}

impl Drop for DataFusionEngine {
    fn drop(&mut self) {
        for runtime in [self.runtime.take(), self.quiet.take()].into_iter().flatten() {
            runtime.shutdown_background();
        }
    }
}

/// Whether a plan has subqueries, or LATERAL.
fn has_subqueries(plan: &LogicalPlan) -> datafusion::common::Result<bool> {
    plan.exists(|node| {
        let mut found = matches!(node, LogicalPlan::Subquery(_));
        node.apply_expressions(|expr| {
            found |= has_subquery(expr);
            Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
        })?;
        Ok(found)
    })
}

/// Whether an error may say that the engine's rules lost their way, not that the query is wrong.
fn may_be_lost(error: &Error) -> bool {
    matches!(error.code(), Code::FeatureNotSupported | Code::Internal | Code::SyntaxError | Code::GroupingError)
}

/// The highest number of a parameter in a query.
fn parameters_of(query: &Query) -> usize {
    struct Highest(usize);
    impl Visitor for Highest {
        type Break = ();
        fn pre_visit_value(&mut self, value: &ValueWithSpan) -> ControlFlow<()> {
            if let Value::Placeholder(name) = &value.value {
                let number = name.trim_start_matches('$').parse().unwrap_or(0);
                self.0 = self.0.max(if number <= PARAMETERS_MAX { number } else { 0 });
            }
            ControlFlow::Continue(())
        }
    }
    let mut highest = Highest(0);
    let _ = Visit::visit(query, &mut highest);
    highest.0
}

/// Casts parameters that take the type of a numeric beside them to one that keeps all their digits, as PostgreSQL does:
/// `n = $1` is not true of 0.02 and 0.015, whatever the scale of n. Whether there are any.
fn open_numerics(query: &mut Query, types: &[Option<ArrowType>]) -> Result<bool> {
    let mut casts = HashMap::new();
    for (place, data_type) in types.iter().enumerate() {
        let Some(given @ ArrowType::Decimal128(..)) = data_type else { continue };
        let to = open(output_type(given));
        if to.arrow() != *given {
            casts.insert(format!("${}", place + 1), cast_to(SqlExpr::value(Value::Null), to)?);
        }
    }
    if casts.is_empty() {
        return Ok(false);
    }
    let _ = visit_expressions_mut(query, |expr| {
        if let SqlExpr::Value(value) = expr
            && let Value::Placeholder(name) = &value.value
            && let Some(SqlExpr::Cast { kind, data_type, array, format, .. }) = casts.get(name).cloned()
        {
            *expr = SqlExpr::Cast { kind, expr: Box::new(expr.clone()), data_type, array, format };
        }
        ControlFlow::<()>::Continue(())
    });
    Ok(true)
}

/// The types of `$1`, `$2`, ... in order; a number that does not come up has no type.
fn parameters(plan: &LogicalPlan) -> datafusion::common::Result<Vec<Option<ArrowType>>> {
    let mut types = Vec::new();
    for (name, data_type) in plan.get_parameter_types()? {
        let number: usize = name
            .trim_start_matches('$')
            .parse()
            .ok()
            .filter(|n| (1..=PARAMETERS_MAX).contains(n))
            .ok_or_else(|| DataFusionError::Plan(format!("parameter {name} is not a placeholder $1 to $65535")))?;
        if types.len() < number {
            types.resize(number, None);
        }
        types[number - 1] = data_type;
    }
    Ok(types)
}

fn with_null_params(plan: &LogicalPlan, types: &[Option<ArrowType>]) -> datafusion::common::Result<LogicalPlan> {
    let null = |data_type: &Option<ArrowType>| match data_type {
        Some(data_type) => ScalarValue::try_from(data_type),
        None => Ok(ScalarValue::Utf8View(None)),
    };
    let values = types.iter().map(null).collect::<datafusion::common::Result<Vec<_>>>()?;
    plan.clone().replace_params_with_values(&ParamValues::from(values))
}

/// The values of the binding's parameters, each cast to its inferred type.
fn given(types: &[Option<DataType>], binding: &Binding) -> Result<Vec<ScalarValue>> {
    if binding.params.len() < types.len() {
        let (given, asked) = (binding.params.len(), types.len());
        return Err(Error::new(
            Code::UndefinedParameter,
            format!("the statement has {asked} parameters, but {given} values were given"),
        ));
    }
    let mut values = Vec::with_capacity(types.len());
    for ((value, from), to) in binding.params.iter().zip(types) {
        let scalar = scalar_of(value, *from).map_err(|error| unwrap(error, ""))?;
        values.push(match to {
            Some(to) if to.arrow() != from.arrow() => scalar.cast_to(&to.arrow()).map_err(|error| unwrap(error, ""))?,
            _ => scalar,
        });
    }
    Ok(values)
}

/// Whether the plan calls a function whose value belongs to the moment of execution (`now()`, `current_date`, ...).
fn reads_clock(plan: &LogicalPlan) -> datafusion::common::Result<bool> {
    let is_stable = |expr: &Expr| {
        matches!(expr, Expr::ScalarFunction(function)
        if function.func.signature().volatility == Volatility::Stable)
    };
    let mut found = false;
    visit_all(plan, &mut |node| {
        node.apply_expressions(|expr| {
            found |= expr.exists(|expr| Ok(is_stable(expr)))?;
            Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
        })?;
        Ok(())
    })?;
    Ok(found)
}

/// The types of a plan's columns; of a cast it is its own, though the engine keeps the length of a char(n) under it.
fn written_types(plan: &LogicalPlan) -> Vec<DataType> {
    let types = plan.schema().fields().iter().map(|field| field_type(field));
    types.zip(cast_types(plan)).map(|(data_type, cast)| cast.unwrap_or(data_type)).collect()
}

/// To what columns are cast at the top of a plan.
fn cast_types(plan: &LogicalPlan) -> Vec<Option<DataType>> {
    match plan {
        LogicalPlan::Sort(_) | LogicalPlan::Limit(_) | LogicalPlan::Distinct(_) | LogicalPlan::SubqueryAlias(_) => {
            cast_types(plan.inputs()[0])
        }
        LogicalPlan::Projection(projection) => {
            let below = cast_types(&projection.input);
            let cast = |expr: &Expr| match expr.clone().unalias() {
                Expr::Cast(cast) => Some(field_type(&cast.field)),
                Expr::Column(column) => {
                    projection.input.schema().maybe_index_of_column(&column).and_then(|place| *below.get(place)?)
                }
                _ => None,
            };
            projection.expr.iter().map(cast).collect()
        }
        LogicalPlan::Union(union) => {
            let inputs: Vec<_> = union.inputs.iter().map(|input| cast_types(input)).collect();
            let of = |place: usize| inputs.iter().find_map(|casts| *casts.get(place)?);
            (0..plan.schema().fields().len()).map(of).collect()
        }
        _ => vec![None; plan.schema().fields().len()],
    }
}
