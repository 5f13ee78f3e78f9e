//! All nodes of a plan, those of hidden plans among them.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_expr::{PhysicalExpr, ScalarFunctionExpr};
use datafusion::physical_plan::ExecutionPlan;

use super::lateral::{Right, lateral_of};
use super::lateral_exec::LateralExec;
use super::subplan::{Subplan, subplan_of};

/// Visits each node of a plan, of its subqueries and of what is applied in them.
pub(crate) fn visit_all(plan: &LogicalPlan, visit: &mut dyn FnMut(&LogicalPlan) -> Result<()>) -> Result<()> {
    plan.apply_with_subqueries(|node| {
        visit(node)?;
        if let Some(lateral) = lateral_of(node)
            && let Right::Hidden { body, .. } = &lateral.right
        {
            visit_all(&body.plan, visit)?;
        }
        node.apply_expressions(|expr| {
            expr.apply(|expr| {
                if let Some(subplan) = subplan_of(expr) {
                    visit_all(&subplan.question.body.plan, visit)?;
                }
                Ok(TreeNodeRecursion::Continue)
            })
        })
    })?;
    Ok(())
}

/// The subplans in an expression.
fn subplans_in(expr: &Arc<dyn PhysicalExpr>, into: &mut Vec<(String, Arc<dyn ExecutionPlan>)>) -> Result<()> {
    expr.apply(|expr| {
        if let Some(subplan) = physical_subplan(expr)
            && let Some(runner) = &subplan.runner
        {
            into.push((subplan.question.body.name.clone(), Arc::clone(&runner.shown)));
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(())
}

/// The subplan that a physical expression is.
pub(crate) fn physical_subplan(expr: &Arc<dyn PhysicalExpr>) -> Option<&Subplan> {
    expr.downcast_ref::<ScalarFunctionExpr>().and_then(|function| function.fun().inner().downcast_ref::<Subplan>())
}

/// What is applied in a physical plan, by name, each before what is applied in it.
pub(crate) fn applied_in(plan: &Arc<dyn ExecutionPlan>) -> Result<Vec<(String, Arc<dyn ExecutionPlan>)>> {
    let mut found = Vec::new();
    plan.apply(|node| {
        if let Some(lateral) = node.downcast_ref::<LateralExec>() {
            found.push(lateral.shown());
        }
        node.apply_expressions(&mut |expr| {
            subplans_in(expr, &mut found)?;
            Ok(TreeNodeRecursion::Continue)
        })
    })?;
    let mut all = Vec::new();
    for (name, plan) in found {
        let inner = applied_in(&plan)?;
        all.push((name, plan));
        all.extend(inner);
    }
    Ok(all)
}
