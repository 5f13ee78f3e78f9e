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

use std::sync::Arc;

use datafusion::common::{Result as PlanResult, ScalarValue};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::execution_plan::reset_plan_states;
use weft_env::sync::Mutex;

use super::forecast::Expected;
use super::shapes::Shape;
use super::slots::Slots;

/// How many templates of a query are kept: for executions at once, and for values of closed parameters.
const TEMPLATES_MAX: usize = 4;
/// The most bytes of such values.
const CLOSED_BYTES_MAX: usize = 4096;

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
pub(super) enum Stage {
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
pub(super) struct Template {
    /// The values of closed parameters.
    pub(super) closed: Vec<ScalarValue>,
    pub(super) slots: Arc<Slots>,
    pub(super) plan: Arc<dyn ExecutionPlan>,
    pub(super) expected: Expected,
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

    pub(super) fn stage(&self) -> Stage {
        self.0.lock().stage.clone()
    }

    pub(super) fn set_stage(&self, stage: Stage) {
        self.0.lock().stage = stage;
    }

    /// The plans that are kept.
    pub(super) fn plans(&self) -> Vec<Arc<dyn ExecutionPlan>> {
        self.0.lock().kept.iter().map(|kept| Arc::clone(&kept.plan)).collect()
    }

    /// Keeps a template.
    pub(super) fn keep(&self, template: Template) {
        self.0.lock().keep(template);
    }

    /// A template for these values of closed parameters.
    pub(super) fn take(&self, closed: &[ScalarValue]) -> Option<(Template, u64)> {
        let mut state = self.0.lock();
        let place = state.kept.iter().rposition(|template| template.closed == closed)?;
        let is_shared = !state.kept[place].slots.is_used();
        let template = if is_shared { state.kept[place].clone() } else { state.kept.remove(place) };
        Some((template, state.generation))
    }

    /// Has an execution run a template, which is kept then.
    pub(super) fn lend(&self, template: Template, generation: u64, given: Arc<[ScalarValue]>) -> PlanResult<Runnable> {
        let (plan, expected) = (reset_plan_states(Arc::clone(&template.plan))?, template.expected.clone());
        let lease = template.slots.is_used().then(|| {
            template.slots.fill(Some(Arc::clone(&given)));
            Lease { template: Some(template), home: Arc::clone(&self.0), generation }
        });
        Ok(Runnable { plan, expected, given, lease })
    }

    /// Keeps a new template and has an execution run it.
    pub(super) fn add(&self, template: Template, given: Arc<[ScalarValue]>) -> PlanResult<Runnable> {
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
