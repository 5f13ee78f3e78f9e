//! What a physical plan is expected to cost, and what it did cost: the query engine's side of the scheduler of jobs.
//!
//! ```text
//!   AggregateExec mode=Final       1 partition   aggregate       2 rows           0 us / 1 core
//!     CoalescePartitionsExec                     (hands on)
//!       AggregateExec mode=Partial 2 partitions  aggregate  200,000 rows      1,200 us / 2 cores
//!         FilterExec               2 partitions  filter   1,000,000 rows      2,000 us / 2 cores
//!           WeftScanExec           2 partitions  scan     1,000,000 rows x 2  3,000 us / 2 cores
//!
//!   stages, in the order in which they run:   scan, filter, aggregate, aggregate
//! ```
//!
//! 1. Stages are the operators from the leaves up, of a join's inputs the build side first: an operator that needs all
//!    of its input comes after it, and operators that take turns add up.
//! 2. Costs are rows times what a row costs in an operator of the kind, about; the factor by which that is wrong on a
//!    machine is φ of the kind, which `learn` corrects after each query that ran to its end.
//! 3. A plan that may stop early (LIMIT without an order) teaches nothing: what it left out is no error of the costs.
//! 4. Who asks a plan what it took keeps its operators until then, and joins keep the rows of their build side as long:
//!    plans that join much are not asked.
//!
//! Source: SynchroStore section 3.3: Cost and φ of operators.

use std::sync::Arc;

use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties};
use weft_kernel::sched::{OperatorKind, PlanForecast, QueryRun, Stage};

use super::scan::WeftScanExec;

/// What is estimated and takes less, microseconds, is not a matter of rows.
const LEARN_US_MIN: f64 = 10.0;
/// About what a row of a join's build side takes, bytes.
const HELD_ROW_BYTES: f64 = 64.0;
/// Build sides may be kept longer than needed up to this part of the memory of queries.
const HELD_SHARE: f64 = 16.0;
/// The part of rows that conditions leave, when nothing else is known.
const FILTERED_SHARE: f64 = 0.2;
/// A batch that goes through an exchange, nanoseconds per row.
const EXCHANGE_NANOS: f64 = 2.0;

/// What is expected of a plan.
#[derive(Clone, Debug)]
pub(super) struct Expected {
    /// Its stages.
    pub(super) forecast: Arc<PlanForecast>,
    /// Whether it is asked in the end what it took (forecast 4).
    pub(super) is_observed: bool,
}

/// What is expected of a plan on so many cores, with so much memory for all queries.
pub(super) fn expected(plan: &Arc<dyn ExecutionPlan>, cores: usize, memory_bytes: usize) -> Expected {
    let (mut stages, mut held_bytes) = (Vec::new(), 0.0);
    walk(plan, &mut |node| {
        if kind_of(node.as_ref()) == Some(OperatorKind::Join)
            && let Some(build) = node.children().first()
        {
            held_bytes += rows_of(build.as_ref()) * HELD_ROW_BYTES;
        }
        let Some(kind) = kind_of(node.as_ref()) else { return };
        let partitions = node.output_partitioning().partition_count().clamp(1, cores.max(1));
        let cost_us = cost_nanos(node.as_ref(), kind) / 1e3;
        let parallelism = u32::try_from(partitions).unwrap_or(u32::MAX);
        stages.push(Stage { kind, cost_us, parallelism });
    });
    let is_observed = held_bytes <= memory_bytes as f64 / HELD_SHARE;
    Expected { forecast: Arc::new(PlanForecast::new(stages)), is_observed }
}

/// The LIMIT that leaves nothing out: it keeps conditions from being pushed below.
const ALL_ROWS: usize = i64::MAX as usize;

/// Ends a query that ran to its end, and tells what its operators took.
pub(super) fn learn(run: QueryRun, plan: &Arc<dyn ExecutionPlan>) {
    let forecast = Arc::clone(run.plan());
    let mut stages = forecast.stages().iter();
    let mut learned = Vec::with_capacity(forecast.stages().len());
    let mut stops_early = false;
    walk(plan, &mut |node| {
        stops_early |=
            node.fetch().is_some_and(|rows| rows < ALL_ROWS) && kind_of(node.as_ref()) != Some(OperatorKind::Sort);
        let Some(kind) = kind_of(node.as_ref()) else { return };
        let Some(stage) = stages.next().filter(|stage| stage.kind == kind) else { return };
        let Some(actual_us) = actual_us(node.as_ref()) else { return };
        if stage.cost_us >= LEARN_US_MIN || actual_us >= LEARN_US_MIN * 10.0 {
            learned.push((kind, stage.cost_us, actual_us));
        }
    });
    if !stops_early {
        run.finish(&learned);
    }
}

/// From the leaves up, the first input first (forecast 1).
fn walk<'a>(node: &'a Arc<dyn ExecutionPlan>, visit: &mut impl FnMut(&'a Arc<dyn ExecutionPlan>)) {
    for child in node.children() {
        walk(child, visit);
    }
    visit(node);
}

/// What an operator does; none when it only hands rows on.
fn kind_of(node: &dyn ExecutionPlan) -> Option<OperatorKind> {
    Some(match node.name() {
        "WeftScanExec" => OperatorKind::Scan,
        "FilterExec" => OperatorKind::Filter,
        "ProjectionExec" => OperatorKind::Projection,
        "AggregateExec" => OperatorKind::Aggregate,
        "SortExec" | "SortExec(TopK)" | "PartialSortExec" | "SortPreservingMergeExec" => OperatorKind::Sort,
        "HashJoinExec" | "NestedLoopJoinExec" | "CrossJoinExec" | "SortMergeJoinExec" | "PiecewiseMergeJoinExec" => {
            OperatorKind::Join
        }
        "RepartitionExec" => OperatorKind::Repartition,
        "BoundedWindowAggExec" | "WindowAggExec" => OperatorKind::Window,
        "CoalescePartitionsExec"
        | "CoalesceBatchesExec"
        | "CoalesceExec"
        | "PlainExec"
        | "CooperativeExec"
        | "StopExec"
        | "GlobalLimitExec"
        | "LocalLimitExec"
        | "UnionExec"
        | "EmptyExec"
        | "PlaceholderRowExec"
        | "DataSourceExec" => return None,
        _ => OperatorKind::Other,
    })
}

/// About how long an operator takes on one core of a machine of today, nanoseconds.
fn cost_nanos(node: &dyn ExecutionPlan, kind: OperatorKind) -> f64 {
    let children: Vec<f64> = node.children().into_iter().map(|child| rows_of(child.as_ref())).collect();
    let rows = children.iter().fold(0.0, |most: f64, rows| most.max(*rows));
    let out = rows_of(node);
    match kind {
        OperatorKind::Scan => node.downcast_ref::<WeftScanExec>().map_or(0.0, scan_nanos),
        OperatorKind::Filter => rows * 2.0,
        OperatorKind::Projection => rows * node.schema().fields().len() as f64,
        OperatorKind::Aggregate => {
            let (groups, made) = node
                .downcast_ref::<AggregateExec>()
                .map_or((1, 1), |aggregate| (aggregate.group_expr().expr().len(), aggregate.aggr_expr().len()));
            rows * (12.0 * groups as f64 + 2.0 * made as f64)
        }
        OperatorKind::Sort => rows * rows.max(2.0).log2() * 3.0,
        OperatorKind::Join => {
            let build = children.first().copied().unwrap_or_default();
            let probe = children.get(1).copied().unwrap_or_default();
            match node.name() {
                "NestedLoopJoinExec" | "CrossJoinExec" => build * probe * 0.5 + out * 2.0,
                _ => build * 25.0 + probe * 12.0 + out * 5.0,
            }
        }
        OperatorKind::Repartition => rows * EXCHANGE_NANOS * node.schema().fields().len().max(1) as f64,
        OperatorKind::Window => rows * 30.0,
        OperatorKind::Other => rows * 10.0,
    }
}

/// A scan decodes its columns and tests its predicates for each row.
fn scan_nanos(scan: &WeftScanExec) -> f64 {
    let (rows, numbers, texts, predicates) = scan.work_estimated();
    rows as f64 * (0.3 + 0.5 * numbers as f64 + 4.0 * texts as f64 + predicates as f64)
}

/// How many rows an operator gives, about. Groups are few as a rule; nothing is known of the values of columns.
fn rows_of(node: &dyn ExecutionPlan) -> f64 {
    let children: Vec<f64> = node.children().into_iter().map(|child| rows_of(child.as_ref())).collect();
    let rows = children.iter().fold(0.0, |most: f64, rows| most.max(*rows));
    let rows = match kind_of(node) {
        Some(OperatorKind::Scan) => node.downcast_ref::<WeftScanExec>().map_or(0.0, |scan| {
            let (rows, _, _, predicates) = scan.work_estimated();
            rows as f64 * if predicates > 0 { FILTERED_SHARE } else { 1.0 }
        }),
        Some(OperatorKind::Filter) => rows * FILTERED_SHARE,
        Some(OperatorKind::Aggregate) => match node.downcast_ref::<AggregateExec>() {
            Some(aggregate) if aggregate.group_expr().expr().is_empty() => 1.0,
            _ => rows.min(rows.sqrt() * 10.0),
        },
        _ if node.name() == "UnionExec" => children.iter().sum(),
        _ => rows,
    };
    node.fetch().map_or(rows, |fetch| rows.min(fetch as f64))
}

/// What an operator took on all cores together, microseconds; none when it does not say.
fn actual_us(node: &dyn ExecutionPlan) -> Option<f64> {
    if let Some(scan) = node.downcast_ref::<WeftScanExec>() {
        return Some(scan.nanos() as f64 / 1e3);
    }
    let metrics = node.metrics()?;
    let nanos = match metrics.elapsed_compute() {
        Some(nanos) => nanos,
        None => metrics.sum_by_name("repartition_time")?.as_usize(),
    };
    Some(nanos as f64 / 1e3)
}

#[cfg(test)]
mod tests;
