//! Plans what is applied in a plan: optimised and made physical like it, for one partition.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::execution::SessionState;
use datafusion::logical_expr::{Expr, LogicalPlan};
use datafusion::physical_plan::ExecutionPlan;
use tokio::runtime::Handle;

use super::super::named::with_names;
use super::super::shapes::is_reusable;
use super::super::slots::{Slots, with_slots};
use super::super::stream::wait;
use super::body::Body;
use super::lateral::{Right, lateral_of};
use super::one_by_one::alone;
use super::outer::numbered;
use super::run::{Instance, Make, Runner};
use super::subplan::{Subplan, subplan_of};

/// The last changes of a physical plan.
pub(crate) type Finish = dyn Fn(Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> + Send + Sync;

/// What plans of subqueries are made with.
pub(crate) struct Preparing {
    /// One partition, else as the statement's.
    pub(crate) state: SessionState,
    /// How many parameters the statement has.
    pub(crate) own: usize,
    pub(crate) handle: Handle,
    pub(crate) finish: Box<Finish>,
}

/// Whether something is applied in a plan that is not prepared.
pub(crate) fn needs_preparing(plan: &LogicalPlan) -> Result<bool> {
    let mut found = false;
    plan.apply_with_subqueries(|node| {
        found |= lateral_of(node).is_some_and(|lateral| matches!(lateral.right, Right::Hidden { runner: None, .. }));
        node.apply_expressions(|expr| {
            found |= expr.exists(|expr| Ok(subplan_of(expr).is_some_and(|subplan| subplan.runner.is_none())))?;
            Ok(TreeNodeRecursion::Continue)
        })?;
        Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    Ok(found)
}

/// The optimised plan with runners for what is applied in it.
pub(crate) fn prepared(plan: LogicalPlan, preparing: &Arc<Preparing>) -> Result<LogicalPlan> {
    if !needs_preparing(&plan)? {
        return Ok(plan);
    }
    let made = plan.transform_up_with_subqueries(|node| {
        let node = with_names(node, &mut |expr| with_runner(expr, preparing))?;
        let Some(lateral) = lateral_of(&node.data) else { return Ok(node) };
        let Right::Hidden { body, runner: None } = &lateral.right else { return Ok(node) };
        let planned = lateral.with_runner(runner(body, preparing)?)?;
        Ok(Transformed::yes(planned.plan()))
    })?;
    Ok(made.data)
}

fn with_runner(expr: Expr, preparing: &Arc<Preparing>) -> Result<Transformed<Expr>> {
    let Some(subplan) = subplan_of(&expr) else { return Ok(Transformed::no(expr)) };
    if subplan.runner.is_some() {
        return Ok(Transformed::no(expr));
    }
    let question = Arc::clone(&subplan.question);
    let runner = runner(&question.body, preparing)?;
    let Expr::ScalarFunction(function) = expr else { return Ok(Transformed::no(expr)) };
    Ok(Transformed::yes(Subplan::expr(question, Some(Arc::new(runner)), function.args)))
}

fn runner(body: &Body, preparing: &Arc<Preparing>) -> Result<Runner> {
    let state = &preparing.state;
    let plan = numbered(body.plan.clone(), preparing.own)?;
    let plan = state.optimizer().optimize(plan, state, |_, _| {})?;
    Runner::new(Box::new(Maker { plan, preparing: Arc::clone(preparing) }), preparing.own)
}

struct Maker {
    plan: LogicalPlan,
    preparing: Arc<Preparing>,
}

impl Make for Maker {
    fn instance(&self) -> Result<Instance> {
        let Preparing { state, handle, finish, .. } = &*self.preparing;
        let slots = Arc::new(Slots::default());
        let plan = prepared(with_slots(self.plan.clone(), &slots)?, &self.preparing)?;
        let plan = wait(handle, state.query_planner().create_physical_plan(&plan, state))?;
        let plan = finish(alone(plan)?)?;
        let is_reusable = is_reusable(&plan);
        Ok(Instance { plan, slots, is_reusable })
    }
}
