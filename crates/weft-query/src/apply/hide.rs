//! Marked subqueries become functions whose plans the engine does not see: the last rule of analysis.
//!
//! ```text
//!   subquery(plan with outer_ref(m3.0), o.k)     subplan1(o.k), plan with $outer0
//!   Lateral o, plan with outer_ref(m4.0)         Lateral o, hidden plan with $outer0
//! ```
//!
//! 1. A plan was coerced with the types that its outer values had before they were: where these came to be others, it
//!    is coerced again.
//! 2. A scalar subquery in a hidden plan that refers to nothing outside is a subplan of its own, which runs once.

use std::cell::Cell;
use std::fmt;
use std::sync::Arc;

use arrow::datatypes::FieldRef;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::logical_plan::Extension;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlan, cast};
use datafusion::optimizer::AnalyzerRule;

use super::super::correlation::is_correlated;
use super::super::named::with_names;
use super::body::{Body, Question, changes};
use super::lateral::{Right, lateral_of};
use super::mark::{Kind, parts};
use super::outer::{as_parameters, typed};
use super::subplan::{Subplan, subplan_of};

/// The rule.
pub(crate) struct Hide {
    /// What gives expressions their types.
    pub(crate) types: Vec<Arc<dyn AnalyzerRule + Send + Sync>>,
}

impl fmt::Debug for Hide {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Hide")
    }
}

impl AnalyzerRule for Hide {
    fn name(&self) -> &str {
        "hide"
    }

    fn analyze(&self, plan: LogicalPlan, config: &ConfigOptions) -> Result<LogicalPlan> {
        let mut has_some = false;
        plan.apply_with_subqueries(|node| {
            has_some |= lateral_of(node).is_some();
            node.apply_expressions(|expr| {
                has_some |= expr.exists(|expr| Ok(parts(expr).is_some()))?;
                Ok(TreeNodeRecursion::Continue)
            })?;
            Ok(if has_some { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
        })?;
        if !has_some {
            return Ok(plan);
        }
        let hiding = Hiding { types: &self.types, config, made: Cell::new(0) };
        plan.transform_up_with_subqueries(|node| hiding.node(node)).map(|hidden| hidden.data)
    }
}

struct Hiding<'a> {
    types: &'a [Arc<dyn AnalyzerRule + Send + Sync>],
    config: &'a ConfigOptions,
    /// Numbers the plans.
    made: Cell<u32>,
}

impl Hiding<'_> {
    fn node(&self, plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
        let plan = self.expressions(plan, &|expr, schema| self.expr(expr, schema))?.data;
        let Some(lateral) = lateral_of(&plan) else { return Ok(Transformed::yes(plan)) };
        let Right::Shown(right) = &lateral.right else { return Ok(Transformed::yes(plan)) };
        let fields = fields_of(&lateral.values, lateral.left.schema())?;
        let body = self.body("lateral", right.as_ref().clone(), fields, lateral.number)?;
        let hidden = lateral.hidden(Arc::new(body))?;
        Ok(Transformed::yes(LogicalPlan::Extension(Extension { node: Arc::new(hidden) })))
    }

    /// The node with its expressions rewritten; results keep their names.
    fn expressions(
        &self,
        plan: LogicalPlan,
        rewrite: &dyn Fn(Expr, &DFSchema) -> Result<Transformed<Expr>>,
    ) -> Result<Transformed<LogicalPlan>> {
        let schema = merge_schema(&plan.inputs());
        let plan = with_names(plan, &mut |expr| rewrite(expr, &schema))?;
        if plan.transformed { plan.map_data(LogicalPlan::recompute_schema) } else { Ok(plan) }
    }

    fn expr(&self, expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
        let Some((mark, subquery, values)) = parts(&expr) else { return Ok(Transformed::no(expr)) };
        let before = expr.get_type(schema)?;
        let fields = fields_of(values, schema)?;
        let body = self.body("subplan", subquery.subquery.as_ref().clone(), fields, mark.number)?;
        let made = asked(mark.kind, body, values.to_vec())?;
        let made = if made.get_type(schema)? == before { made } else { cast(made, before) };
        Ok(Transformed::yes(made))
    }

    fn body(&self, kind: &str, plan: LogicalPlan, fields: Vec<FieldRef>, number: u32) -> Result<Body> {
        // Invariant 1.
        let known: Vec<_> = fields.iter().cloned().map(Some).collect();
        let (mut plan, has_changed) = typed(plan, &known, number)?;
        if has_changed {
            for rule in self.types {
                plan = rule.analyze(plan, self.config)?;
            }
        }
        let plan = as_parameters(plan, number)?;
        let plan = plan.transform_up(|node| self.expressions(node, &|expr, _| self.once(expr)))?.data;
        let is_pure = |expr: &Expr| subplan_of(expr).is_some_and(|subplan| !subplan.question.body.is_volatile);
        let is_volatile = changes(&plan, &is_pure)?;
        self.made.set(self.made.get() + 1);
        Ok(Body { plan, fields, is_volatile, name: format!("{kind}{}", self.made.get()) })
    }

    /// Invariant 2.
    fn once(&self, expr: Expr) -> Result<Transformed<Expr>> {
        match expr {
            Expr::ScalarSubquery(of) if !is_correlated(&of.subquery) => {
                let body = self.body("subplan", of.subquery.as_ref().clone(), Vec::new(), u32::MAX)?;
                Ok(Transformed::yes(asked(Kind::Value, body, Vec::new())?))
            }
            other => Ok(Transformed::no(other)),
        }
    }
}

fn fields_of(values: &[Expr], schema: &DFSchema) -> Result<Vec<FieldRef>> {
    values.iter().map(|value| value.to_field(schema).map(|(_, field)| field)).collect()
}

fn asked(kind: Kind, body: Body, values: Vec<Expr>) -> Result<Expr> {
    let field = kind.answer(body.plan.schema().field(0))?.with_name(&body.name);
    Ok(Subplan::expr(Arc::new(Question { kind, body, field: Arc::new(field) }), None, values))
}
