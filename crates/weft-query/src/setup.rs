//! How the engine is set up: memory, rules, functions.

use std::num::NonZeroUsize;
use std::sync::Arc;

use datafusion::execution::memory_pool::TrackConsumersPool;
use datafusion::execution::runtime_env::{RuntimeEnv, RuntimeEnvBuilder};
use datafusion::execution::{SessionState, SessionStateBuilder};
use datafusion::logical_expr::planner::ExprPlanner;
use datafusion::logical_expr::{AggregateUDF, ScalarUDF};
use datafusion::optimizer::analyzer::resolve_grouping_function::ResolveGroupingFunction;
use datafusion::optimizer::analyzer::type_coercion::TypeCoercion;
use datafusion::optimizer::extract_equijoin_predicate::ExtractEquijoinPredicate;
use datafusion::optimizer::extract_leaf_expressions::ExtractLeafExpressions;
use datafusion::optimizer::optimizer::Optimizer;
use datafusion::optimizer::{Analyzer, AnalyzerRule, OptimizerRule};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_optimizer::ensure_coop::EnsureCooperative;
use datafusion::physical_optimizer::ensure_requirements::EnsureRequirements;
use datafusion::physical_optimizer::optimizer::PhysicalOptimizer;
use datafusion::physical_optimizer::projection_pushdown::ProjectionPushdown;
use datafusion::physical_optimizer::topk_aggregation::TopKAggregation;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::prelude::SessionConfig;
use datafusion::sql::planner::ParserOptions;
use weft_env::Rng;
use weft_kernel::cache::Lending;
use weft_sql::queries::QueryOptions;

use super::apply::hide::Hide;
use super::apply::lateral_exec::Planner;
use super::apply::mark::ArrayOfRows;
use super::averages;
use super::bit_aggregates;
use super::catalog;
use super::crossed::KeptKeys;
use super::document_fields::DocumentFields;
use super::element_aggregates::ElementAggregates;
use super::element_fields::ElementFields;
use super::extremes;
use super::field_conditions::FieldConditions;
use super::frames::{self, Frames};
use super::functions;
use super::inferred::SafeInference;
use super::lateral_elements::LateralElements;
use super::leaf_projections::LeafProjections;
use super::lengths::bounded;
use super::membership::Applies;
use super::open_filters::OpenFilters;
use super::operators::WeftOperators;
use super::percentiles;
use super::plain::PlainInputs;
use super::pool::{MERGE_PART, QueryPool};
use super::repeated::OnceEach;
use super::routines;
use super::row_count;
use super::scan::BATCH_ROWS;
use super::semantics::{CheckedArithmetic, PostgresTypes};
use super::single_distinct::SingleDistinct;
use super::subqueries::Subqueries;
use super::sums;
use super::typed_fields::TypedFields;
use super::variance;

type PhysicalRule = Arc<dyn PhysicalOptimizerRule + Send + Sync>;

/// Rows of a batch of a query that spares memory.
const SPARING_BATCH_ROWS: usize = BATCH_ROWS / 8;

/// How a query runs that needs more memory than there is: joins sort, and so spill; batches are smaller; what sorts
/// keep for merging is at most half of the memory for all sorts of the plan together, the rest is for their batches.
#[derive(Clone, Copy)]
pub(super) struct Sparing {
    memory_bytes: usize,
}

impl Sparing {
    pub(super) fn new(memory_bytes: usize) -> Sparing {
        Sparing { memory_bytes }
    }

    /// For planning.
    pub(super) fn plan(&self, config: SessionConfig) -> SessionConfig {
        // With one partition the planner knows no join that sorts.
        let partitions = config.target_partitions().max(2);
        let mut config = config.with_target_partitions(partitions).with_batch_size(SPARING_BATCH_ROWS);
        config.options_mut().optimizer.prefer_hash_join = false;
        // Batches sorted together are copied first, and for the copy there may be no memory.
        config.options_mut().execution.sort_in_place_threshold_bytes = 0;
        config
    }

    /// For the execution of a plan.
    pub(super) fn run(&self, config: SessionConfig, plan: &Arc<dyn ExecutionPlan>) -> SessionConfig {
        let merge_bytes = (self.memory_bytes / (2 * sort_count(plan).max(1))).min(self.memory_bytes / MERGE_PART);
        let merge_bytes = merge_bytes.min(config.options().execution.sort_spill_reservation_bytes);
        self.plan(config).with_sort_spill_reservation_bytes(merge_bytes)
    }
}

/// How many sorts a plan runs, counting each partition.
fn sort_count(plan: &Arc<dyn ExecutionPlan>) -> usize {
    let below: usize = plan.children().into_iter().map(sort_count).sum();
    below + if plan.is::<SortExec>() { plan.properties().partitioning.partition_count() } else { 0 }
}

/// The memory pool and the place to spill to.
pub(super) fn memory(options: &QueryOptions, lending: Arc<Lending>) -> datafusion::common::Result<Arc<RuntimeEnv>> {
    let pool = QueryPool::new(options.memory_bytes).telling(lending);
    let pool = TrackConsumersPool::new(pool, NonZeroUsize::new(3).expect("3 is not 0"));
    let builder = RuntimeEnvBuilder::new().with_memory_pool(Arc::new(pool));
    let builder = match &options.spill_dir {
        Some(dir) => builder.with_temp_file_path(dir.clone()).with_max_temp_directory_size(options.spill_bytes),
        None => builder,
    };
    builder.build_arc()
}

/// Rules, functions and options.
pub(super) fn session_state(
    parallelism: usize,
    applies: Applies,
    memory: Arc<RuntimeEnv>,
    rng: &Arc<dyn Rng>,
) -> SessionState {
    let mut config = SessionConfig::new()
        .with_target_partitions(parallelism)
        .with_batch_size(BATCH_ROWS)
        .with_information_schema(false)
        .with_collect_statistics(false)
        .with_create_default_catalog_and_schema(false)
        .with_round_robin_repartition(false);
    let options = config.options_mut();
    options.execution.time_zone = Some("UTC".into());
    options.optimizer.enable_dynamic_filter_pushdown = false;
    options.optimizer.enable_topk_dynamic_filter_pushdown = false;
    options.optimizer.enable_join_dynamic_filter_pushdown = false;
    options.optimizer.enable_aggregate_dynamic_filter_pushdown = false;
    options.sql_parser.parse_float_as_decimal = true;
    let types: Vec<Arc<dyn AnalyzerRule + Send + Sync>> =
        vec![Arc::new(PostgresTypes), Arc::new(TypeCoercion::new()), Arc::new(Frames), Arc::new(CheckedArithmetic)];
    let mut rules: Vec<Arc<dyn AnalyzerRule + Send + Sync>> =
        vec![Arc::new(ResolveGroupingFunction::new()), Arc::new(Subqueries { applies, types: types.clone() })];
    rules.extend(types.iter().cloned());
    rules.push(Arc::new(Hide { types }));
    let analyzer = Analyzer::with_rules(rules);
    let rules = logical_rules();
    let mut physical = PhysicalOptimizer::new().rules;
    // Conditions are moved in the logical plan; this rule finds columns by name, and takes the first of several.
    physical.retain(|rule| !rule.name().starts_with("FilterPushdown"));
    // It takes ORDER BY for that of a group's key by the name alone, below windows and computed columns, too.
    physical.retain(|rule| rule.name() != TopKAggregation::new().name());
    physical.insert(0, Arc::new(PlainInputs));
    let physical = physical.into_iter().flat_map(|rule| before(&rule).into_iter().chain([rule])).collect();
    let mut state = SessionStateBuilder::new()
        .with_physical_optimizer_rules(physical)
        .with_config(config)
        .with_runtime_env(memory)
        .with_default_features()
        .with_analyzer_rules(analyzer.rules)
        .with_optimizer_rules(rules)
        .with_query_planner(Arc::new(Planner))
        .build();
    let mut planners: Vec<Arc<dyn ExprPlanner>> = vec![Arc::new(WeftOperators)];
    planners.extend(state.expr_planners().iter().cloned());
    let is_foreign = |name: &str| FOREIGN.contains(&name);
    let scalars = state.scalar_functions().iter();
    let scalars = scalars.filter(|(name, function)| !is_foreign(name) && !is_foreign(function.name()));
    let mut scalars: Vec<Arc<ScalarUDF>> = scalars.map(|(_, function)| bounded(Arc::clone(function))).collect();
    scalars.extend(functions::functions());
    scalars.push(Arc::new(ArrayOfRows::function()));
    scalars.extend(percentiles::functions().into_iter().chain([frames::mark(), row_count::ties()]));
    scalars.extend(catalog::functions());
    let routines = routines::functions(&scalars, rng);
    scalars.extend(routines);
    let mut aggregates: Vec<Arc<AggregateUDF>> = state.aggregate_functions().values().cloned().collect();
    if let Some(every) = state.aggregate_functions().get("bool_and") {
        aggregates.push(Arc::new((**every).clone().with_aliases(["every"])));
    }
    aggregates.extend(extremes::functions().into_iter().chain(bit_aggregates::functions()));
    aggregates.extend([averages::function(), sums::function()]);
    aggregates.extend(variance::functions());
    state = SessionStateBuilder::new_from_existing(state)
        .with_expr_planners(planners)
        .with_scalar_functions(scalars)
        .with_aggregate_functions(aggregates)
        .build();
    state
}

/// Rules of ours that run right before one of the engine's.
fn before(rule: &PhysicalRule) -> Vec<PhysicalRule> {
    match () {
        () if rule.name() == EnsureRequirements::new().name() => vec![Arc::new(PlainInputs)],
        () if rule.name() == ProjectionPushdown::new().name() => vec![Arc::new(OpenFilters)],
        // Projections are where they stay.
        () if rule.name() == EnsureCooperative::new().name() => {
            vec![
                Arc::new(DocumentFields),
                Arc::new(ElementFields),
                Arc::new(ElementAggregates),
                Arc::new(FieldConditions),
            ]
        }
        () => Vec::new(),
    }
}

/// The optimizer's rules, with some of ours in place of its own.
fn logical_rules() -> Vec<Arc<dyn OptimizerRule + Send + Sync>> {
    let mut rules = Optimizer::new().rules;
    // Before conditions are moved.
    rules.insert(0, Arc::new(LateralElements));
    for rule in &mut rules {
        if rule.name() == KeptKeys::default().name() {
            *rule = Arc::new(KeptKeys::default());
        }
        if rule.name() == SafeInference::default().name() {
            *rule = Arc::new(SafeInference::default());
        }
        if rule.name() == LeafProjections::default().name() {
            *rule = Arc::new(LeafProjections::default());
        }
        if rule.name() == SingleDistinct::default().name() {
            *rule = Arc::new(SingleDistinct::default());
        }
    }
    if let Some(place) = rules.iter().position(|rule| rule.name() == "common_sub_expression_eliminate") {
        rules.insert(place, Arc::new(OnceEach));
    }
    if let Some(place) = rules.iter().position(|rule| rule.name() == ExtractLeafExpressions::new().name()) {
        rules.insert(place, Arc::new(TypedFields));
    }
    // What `KeptKeys` took for conditions.
    rules.push(Arc::new(ExtractEquijoinPredicate::new()));
    rules
}

/// Functions that PostgreSQL has under the same name with another meaning (its patterns are not strftime's; the
/// dimensions of an array are a text; rounding is in `functions`).
const FOREIGN: &[&str] = &[
    "to_char",
    "date_format",
    "to_date",
    "to_time",
    "round",
    "trunc",
    "ceil",
    "ceiling",
    "floor",
    "signum",
    "array_dims",
];

/// How SQL is read: numbers with a point are numeric, errors have positions.
pub(super) fn parser_options() -> ParserOptions {
    ParserOptions { parse_float_as_decimal: true, collect_spans: true, ..ParserOptions::new() }
}
