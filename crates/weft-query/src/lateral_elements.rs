//! Elements of arrays that stand beside their rows in FROM: rows are multiplied, no subquery is applied.
//!
//! ```text
//!   FROM s, jsonb_array_elements(s.doc->'a') AS r
//!     Lateral Inner, values [s.doc]                              Projection s.*, e AS r
//!       s                                               ─▶         Unnest e
//!       Unnest of jsonb_array_elements($outer0->'a')                 Projection s.*, jsonb_array_elements(..) AS e
//!                                                                      s
//! ```
//!
//! 1. The array is made of each row of the left side, as it is where the right side is applied: the same rows. What is
//!    no array is an error also where a LIMIT would have ended before it, within a batch of rows.
//! 2. LEFT JOIN LATERAL stays applied: UNNEST has no row for an empty array.
//! 3. A query with more around the function than names, as `OFFSET 0` is, stays applied, too.

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Column, DFSchema, Result, UnnestOptions};
use datafusion::logical_expr::expr::Placeholder;
use datafusion::logical_expr::logical_plan::Projection;
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder, UserDefinedLogicalNodeCore};
use datafusion::optimizer::optimizer::ApplyOrder;
use datafusion::optimizer::{OptimizerConfig, OptimizerRule};
use weft_sql::queries::names::MARKER;

use super::apply::lateral::{Lateral, Right, lateral_of};
use super::apply::outer::outer_place;
use super::apply::subplan::subplan_of;
use super::element_fields::ELEMENTS;

/// See above.
#[derive(Debug, Default)]
pub(super) struct LateralElements;

impl OptimizerRule for LateralElements {
    fn name(&self) -> &str {
        "lateral_elements"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::BottomUp)
    }

    fn supports_rewrite(&self) -> bool {
        true
    }

    fn rewrite(&self, plan: LogicalPlan, _: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        let made = lateral_of(&plan).and_then(|lateral| beside(lateral).transpose()).transpose()?;
        Ok(made.map_or_else(|| Transformed::no(plan), Transformed::yes))
    }
}

/// The rows of the left side beside the elements of each; none when the right side is another query.
fn beside(lateral: &Lateral) -> Result<Option<LogicalPlan>> {
    let Right::Hidden { body, runner: None } = &lateral.right else { return Ok(None) };
    if lateral.keeps_all || body.is_volatile || body.plan.schema().fields().len() != 1 {
        return Ok(None);
    }
    let Some(array) = array_of(&body.plan) else { return Ok(None) };
    let array = array.clone().transform_up(|expr| {
        let Expr::Placeholder(Placeholder { id, .. }) = &expr else { return Ok(Transformed::no(expr)) };
        Ok(match outer_place(id).and_then(|place| lateral.values.get(place)) {
            Some(value) => Transformed::yes(value.clone()),
            None => Transformed::no(expr),
        })
    })?;
    let left = lateral.left.schema();
    let elements = format!("{MARKER}elements{}", lateral.number);
    let mut below: Vec<Expr> = Vec::with_capacity(left.fields().len() + 1);
    let mut above = Vec::with_capacity(left.fields().len() + 1);
    for (place, (relation, field)) in left.iter().enumerate() {
        let column = Expr::Column(Column::new(relation.cloned(), field.name()));
        if is_only(left, field.name()) {
            below.push(column.clone());
            above.push(column);
            continue;
        }
        // The operator tells columns apart by their names alone.
        let name = format!("{MARKER}beside{place}");
        below.push(column.alias(&name));
        above.push(Expr::Column(Column::from_name(name)).alias_qualified(relation.cloned(), field.name()));
    }
    below.push(array.data.alias(&elements));
    let (relation, field) = body.plan.schema().qualified_field(0);
    let element = Expr::Column(Column::from_name(&elements)).alias_qualified(relation.cloned(), field.name());
    above.push(element);
    let below = LogicalPlan::Projection(Projection::try_new(below, Arc::clone(&lateral.left))?);
    let unnested = LogicalPlanBuilder::from(below)
        .unnest_columns_with_options(
            vec![Column::from_name(&elements)],
            UnnestOptions::new().with_preserve_nulls(false),
        )?
        .build()?;
    let made = LogicalPlan::Projection(Projection::try_new(above, Arc::new(unnested))?);
    let (asked, given) = (lateral.schema(), made.schema());
    Ok(asked.logically_equivalent_names_and_types(given).then_some(made))
}

fn is_only(schema: &DFSchema, name: &str) -> bool {
    schema.fields().iter().filter(|field| field.name() == name).count() == 1
}

/// The array whose elements are the one column of a plan, and nothing else is done in it.
fn array_of(plan: &LogicalPlan) -> Option<&Expr> {
    match plan {
        LogicalPlan::SubqueryAlias(alias) => array_of(&alias.input),
        LogicalPlan::Projection(projection) => {
            let [expr] = &projection.expr[..] else { return None };
            matches!(bare(expr), Expr::Column(_)).then(|| array_of(&projection.input))?
        }
        LogicalPlan::Unnest(unnest) => {
            let [(_, list)] = &unnest.list_type_columns[..] else { return None };
            if list.depth != 1 || !unnest.struct_type_columns.is_empty() {
                return None;
            }
            let LogicalPlan::Projection(projection) = &*unnest.input else { return None };
            let LogicalPlan::EmptyRelation(row) = &*projection.input else { return None };
            let [expr] = &projection.expr[..] else { return None };
            let array = bare(expr);
            (row.produce_one_row && is_of_elements(array)).then_some(array)
        }
        _ => None,
    }
}

fn bare(expr: &Expr) -> &Expr {
    match expr {
        Expr::Alias(alias) => bare(&alias.expr),
        other => other,
    }
}

/// Whether an expression is the elements of an array, without a subquery in it.
fn is_of_elements(expr: &Expr) -> bool {
    let Expr::ScalarFunction(call) = expr else { return false };
    let asks = |expr: &Expr| {
        Ok(matches!(expr, Expr::ScalarSubquery(_) | Expr::Exists(_) | Expr::InSubquery(_))
            || subplan_of(expr).is_some())
    };
    ELEMENTS.iter().any(|(name, _)| call.func.name() == *name) && !expr.exists(asks).unwrap_or(true)
}
