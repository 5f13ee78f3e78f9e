//! Physical plans that are kept with a prepared query, to be run again.
//!
//! ```text
//!   SELECT sum(a) FROM t WHERE k BETWEEN $1 AND $2
//!     1st execution, 10 and 20    planned with the values; its shape is noted:  aggregate, scan t [k GtEq, k LtEq]
//!     2nd, 30 and 40              planned with $1 and $2 open: the same shape, so it is kept, and run
//!     3rd, ...                    a reset copy of what is kept
//!
//!   SELECT ... WHERE a = $1 ORDER BY b LIMIT $2         kept for some values of $2, which is closed
//! ```
//!
//! 1. A template contains no snapshot, no value of an open parameter, no clock reading and no view's rows: what depends
//!    on them is planned anew.
//! 2. A template is only run as a reset copy, and only if every operator in it is known to be reset completely.
//! 3. A plan with open parameters is kept if it has the operators of the plan with the values, and its leaves test at
//!    least what the leaves of that one test. Where values decide what is planned, all parameters are closed.
//! 4. Who runs a template whose operators read slots has it alone until the end; others take another one.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{Result as PlanResult, ScalarValue};
use datafusion::physical_plan::execution_plan::reset_plan_states;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties};
use weft_env::sync::Mutex;
use weft_format::Result;

use super::engine::{ColumnEngine, PreparedQuery};
use super::error::unwrap_planned;
use super::forecast::Expected;
use super::local::state_for;
use super::provider::{partition_count, refresh_estimates};
use super::scan::WeftScanExec;
use super::slots::{Slots, with_closed, with_slots};
use crate::binding::Binding;

/// How many templates of a query are kept: for executions at once, and for values of closed parameters.
const TEMPLATES_MAX: usize = 4;
/// The most bytes of such values.
const CLOSED_BYTES_MAX: usize = 4096;
/// How often a plan with open parameters is compared with one that has the values before it is given up.
const TRIALS_MAX: u32 = 3;

/// What is kept with a query.
#[derive(Default)]
pub(super) struct Templates(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    stage: Stage,
    /// Oldest first.
    kept: Vec<Template>,
    /// Raised when all are dropped: what is given back later is of no use.
    generation: u64,
}

/// How far it is known whether plans with open parameters are good.
#[derive(Clone, Default)]
enum Stage {
    /// Not executed yet.
    #[default]
    New,
    /// A plan with values had this shape; so many plans with open parameters had another.
    Trial(Shape, u32),
    /// They are good.
    Open,
    /// Plans are good for their values only.
    Closed,
    /// Some operator keeps state: planned for each execution.
    Single,
}

/// A plan that may be run again.
#[derive(Clone)]
struct Template {
    /// The values of closed parameters.
    closed: Vec<ScalarValue>,
    slots: Arc<Slots>,
    plan: Arc<dyn ExecutionPlan>,
    expected: Expected,
}

/// A physical plan for one execution.
pub(super) struct Runnable {
    pub(super) plan: Arc<dyn ExecutionPlan>,
    /// What is expected of it.
    pub(super) expected: Expected,
    /// The values of the parameters, `$1` first.
    pub(super) given: Arc<[ScalarValue]>,
    /// Kept until the execution ends.
    pub(super) lease: Option<Lease>,
}

/// A template that one execution has alone (templates 4).
pub(super) struct Lease {
    template: Option<Template>,
    home: Arc<Mutex<State>>,
    generation: u64,
}

impl Drop for Lease {
    fn drop(&mut self) {
        let Some(template) = self.template.take() else { return };
        template.slots.fill(None);
        let mut state = self.home.lock();
        if state.generation == self.generation {
            state.keep(template);
        }
    }
}

impl State {
    fn keep(&mut self, template: Template) {
        if template.closed.iter().map(ScalarValue::size).sum::<usize>() > CLOSED_BYTES_MAX {
            return;
        }
        self.kept.push(template);
        if self.kept.len() > TEMPLATES_MAX {
            self.kept.remove(0);
        }
    }
}

impl Templates {
    /// Drops them all; the next execution plans anew.
    pub(super) fn clear(&self) {
        let mut state = self.0.lock();
        state.generation += 1;
        let kept = std::mem::take(&mut state.kept);
        drop(state);
        drop(kept);
    }

    /// Whether executions run templates.
    pub(super) fn is_warm(&self) -> bool {
        let state = self.0.lock();
        !state.kept.is_empty() || matches!(state.stage, Stage::Open)
    }

    fn stage(&self) -> Stage {
        self.0.lock().stage.clone()
    }

    fn set_stage(&self, stage: Stage) {
        self.0.lock().stage = stage;
    }

    /// A template for these values of closed parameters.
    fn take(&self, closed: &[ScalarValue]) -> Option<(Template, u64)> {
        let mut state = self.0.lock();
        let place = state.kept.iter().rposition(|template| template.closed == closed)?;
        let is_shared = !state.kept[place].slots.is_used();
        let template = if is_shared { state.kept[place].clone() } else { state.kept.remove(place) };
        Some((template, state.generation))
    }

    /// Has an execution run a template, which is kept then.
    fn lend(&self, template: Template, generation: u64, given: Arc<[ScalarValue]>) -> PlanResult<Runnable> {
        let (plan, expected) = (reset_plan_states(Arc::clone(&template.plan))?, template.expected.clone());
        let lease = template.slots.is_used().then(|| {
            template.slots.fill(Some(Arc::clone(&given)));
            Lease { template: Some(template), home: Arc::clone(&self.0), generation }
        });
        Ok(Runnable { plan, expected, given, lease })
    }

    /// Keeps a new template and has an execution run it.
    fn add(&self, template: Template, given: Arc<[ScalarValue]>) -> PlanResult<Runnable> {
        let generation = {
            let mut state = self.0.lock();
            if !template.slots.is_used() {
                state.keep(template.clone());
            }
            state.generation
        };
        self.lend(template, generation, given)
    }
}

impl ColumnEngine {
    /// Makes the template of a query without parameters.
    pub(super) fn prepare_template(&self, query: &PreparedQuery) -> Result<()> {
        let template = self.made(query, &[], &[], Vec::new()).map_err(|error| unwrap_planned(error, &query.text))?;
        if is_reusable(&template.plan) {
            query.templates.set_stage(Stage::Closed);
            query.templates.0.lock().keep(template);
        } else {
            query.templates.set_stage(Stage::Single);
        }
        Ok(())
    }

    /// A physical plan for one execution with these values of parameters: of a template where there is one.
    pub(super) fn unbound(
        &self,
        query: &PreparedQuery,
        binding: &Binding,
        given: Vec<ScalarValue>,
    ) -> Result<Runnable> {
        let wrong = |error| unwrap_planned(error, &query.text);
        let given: Arc<[ScalarValue]> = given.into();
        self.refresh(query, binding);
        if !query.is_fixed {
            let plan = self.clocked(query, binding, &given).map_err(wrong)?;
            let expected = self.expected(&plan);
            return Ok(Runnable { plan, expected, given, lease: None });
        }
        let closed = |is_open: &[bool]| -> Vec<ScalarValue> {
            let values = given.iter().zip(is_open);
            values.filter(|(_, is_open)| !**is_open).map(|(value, _)| value.clone()).collect()
        };
        let templates = &query.templates;
        let stage = templates.stage();
        let is_open = if matches!(stage, Stage::Open) { Arc::clone(&query.is_open) } else { none_of(&query.is_open) };
        let key = closed(&is_open);
        if let Some((template, generation)) = templates.take(&key) {
            return templates.lend(template, generation, given).map_err(wrong);
        }
        match stage {
            Stage::Open => {
                if let Ok(template) = self.made(query, &is_open, &given, key)
                    && is_reusable(&template.plan)
                {
                    return templates.add(template, given).map_err(wrong);
                }
            }
            Stage::Trial(shape, trials) if query.is_open.contains(&true) => {
                let key = closed(&query.is_open);
                if let Some(runnable) = self.tried(query, &given, key, &shape, trials).map_err(wrong)? {
                    return Ok(runnable);
                }
            }
            _ => {}
        }
        let template = self.made(query, &none_of(&is_open), &given, given.to_vec()).map_err(wrong)?;
        if !is_reusable(&template.plan) {
            templates.set_stage(Stage::Single);
            return Ok(alone(template, given));
        }
        match templates.stage() {
            Stage::New if query.is_open.contains(&true) => {
                templates.set_stage(Stage::Trial(shape_of(&template.plan, &given).map_err(wrong)?, 0));
                Ok(alone(template, given))
            }
            Stage::New | Stage::Closed => {
                templates.set_stage(Stage::Closed);
                templates.add(template, given).map_err(wrong)
            }
            Stage::Trial(..) | Stage::Open | Stage::Single => Ok(alone(template, given)),
        }
    }

    /// Plans with open parameters, and compares with a plan that had values (templates 3): the first one, or one with
    /// the present values. None when they differ.
    fn tried(
        &self,
        query: &PreparedQuery,
        given: &Arc<[ScalarValue]>,
        closed: Vec<ScalarValue>,
        first: &Shape,
        trials: u32,
    ) -> PlanResult<Option<Runnable>> {
        let open = match self.made(query, &query.is_open, given, closed) {
            Ok(open) if is_reusable(&open.plan) => open,
            _ => {
                query.templates.set_stage(Stage::Closed);
                return Ok(None);
            }
        };
        let shape = shape_of(&open.plan, given)?;
        if shape.covers(first) {
            query.templates.set_stage(Stage::Open);
            return query.templates.add(open, Arc::clone(given)).map(Some);
        }
        let with_values = self.made(query, &none_of(&query.is_open), given, given.to_vec())?;
        let present = shape_of(&with_values.plan, given)?;
        if shape.covers(&present) {
            query.templates.set_stage(Stage::Open);
            return query.templates.add(open, Arc::clone(given)).map(Some);
        }
        let is_over = trials + 1 >= TRIALS_MAX;
        query.templates.set_stage(if is_over { Stage::Closed } else { Stage::Trial(present, trials + 1) });
        Ok(Some(alone(with_values, Arc::clone(given))))
    }

    /// A plan in which these parameters are open.
    fn made(
        &self,
        query: &PreparedQuery,
        is_open: &[bool],
        given: &[ScalarValue],
        closed: Vec<ScalarValue>,
    ) -> PlanResult<Template> {
        let slots = Arc::new(Slots::default());
        let plan = if query.params.is_empty() {
            self.physical(query, &query.state, &query.plan)?
        } else {
            let plan = with_closed(&query.plan, &query.params, is_open, given)?;
            let plan = with_slots(query.state.optimize(&plan)?, &slots)?;
            self.physical(query, &query.state, &plan)?
        };
        let expected = self.expected(&plan);
        Ok(Template { closed, slots, plan, expected })
    }

    /// Plans for the moment.
    fn clocked(
        &self,
        query: &PreparedQuery,
        binding: &Binding,
        given: &[ScalarValue],
    ) -> PlanResult<Arc<dyn ExecutionPlan>> {
        let plan = with_closed(&query.plan, &query.params, &none_of(&query.is_open), given)?;
        let mut state = state_for(&query.state, &binding.local);
        state.execution_props_mut().query_execution_start_time =
            chrono::DateTime::from_timestamp_micros(binding.local.now_micros);
        self.physical(query, &state, &state.optimize(&plan)?)
    }

    /// Drops the templates when a table has grown or shrunk so far that it would be read in another number of
    /// partitions.
    /// Looked at in the 1st, 2nd, 4th, 8th, ... and every 256th execution.
    fn refresh(&self, query: &PreparedQuery, binding: &Binding) {
        let count = query.executions.fetch_add(1, Ordering::Relaxed) + 1;
        if !count.is_power_of_two() && !count.is_multiple_of(256) {
            return;
        }
        let kept: Vec<_> = query.templates.0.lock().kept.iter().map(|kept| Arc::clone(&kept.plan)).collect();
        let spares = query.spares_memory.load(Ordering::Relaxed);
        let target = if spares { self.parallelism.max(2) } else { self.parallelism };
        let is_outgrown = |plan: &Arc<dyn ExecutionPlan>| {
            let outgrown = plan.exists(|node| {
                let Some(leaf) = node.downcast_ref::<WeftScanExec>() else {
                    return Ok(false);
                };
                let (table, partitions) = leaf.partitioned();
                Ok(binding.views.get(&table).is_some_and(|(table, _)| {
                    partition_count(table.table.statistics().row_count, target) != partitions
                }))
            });
            outgrown.unwrap_or(true)
        };
        if kept.is_empty() || kept.iter().any(is_outgrown) {
            refresh_estimates(&query.plan, &binding.views);
            query.templates.clear();
        }
    }
}

fn none_of(is_open: &[bool]) -> Arc<[bool]> {
    is_open.iter().map(|_| false).collect()
}

/// A plan that is not kept.
fn alone(template: Template, given: Arc<[ScalarValue]>) -> Runnable {
    Runnable { plan: template.plan, expected: template.expected, given, lease: None }
}

/// The operators of a plan, and what its leaves test.
#[derive(Clone, Default)]
struct Shape {
    operators: Vec<String>,
    tests: Vec<BTreeSet<String>>,
}

impl Shape {
    /// Whether it has the operators of another one, and tests at least the same (templates 3).
    fn covers(&self, other: &Shape) -> bool {
        self.operators == other.operators
            && self.tests.len() == other.tests.len()
            && self.tests.iter().zip(&other.tests).all(|(own, others)| own.is_superset(others))
    }
}

fn shape_of(plan: &Arc<dyn ExecutionPlan>, given: &[ScalarValue]) -> PlanResult<Shape> {
    let mut shape = Shape::default();
    plan.apply(|node| {
        let partitions = node.output_partitioning().partition_count();
        let children = node.children().len();
        let mut operator = format!("{} {children} {partitions} {:?}", node.name(), node.fetch());
        if let Some(leaf) = node.downcast_ref::<WeftScanExec>() {
            let (read, tests) = leaf.shape(given)?;
            operator.push_str(&read);
            shape.tests.push(tests);
        }
        shape.operators.push(operator);
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(shape)
}

/// Operators that a reset makes as good as new (read in their sources, version 55.2; dynamic filters are off).
const REUSABLE: &[&str] = &[
    "WeftScanExec",
    "FilterExec",
    "ProjectionExec",
    "AggregateExec",
    "SortExec",
    "SortExec(TopK)",
    "SortPreservingMergeExec",
    "CoalescePartitionsExec",
    "CoalesceBatchesExec",
    "CoalesceExec",
    "CooperativeExec",
    "RepartitionExec",
    "GlobalLimitExec",
    "LocalLimitExec",
    "HashJoinExec",
    "NestedLoopJoinExec",
    "CrossJoinExec",
    "UnionExec",
    "StopExec",
    "BoundedWindowAggExec",
    "WindowAggExec",
    "EmptyExec",
    "PlaceholderRowExec",
];

fn is_reusable(plan: &Arc<dyn ExecutionPlan>) -> bool {
    let stateful = plan.exists(|node| Ok(!REUSABLE.contains(&node.name())));
    !stateful.unwrap_or(true)
}
