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
//! 3. What is computed of an element may be said around the function, once: `LATERAL (SELECT e->>'a', s.x FROM
//!    jsonb_array_elements(s.doc) e)`. A query with more around it, as `OFFSET 0` is, stays applied; so does one with
//!    conditions: beside others they would be asked in any order, of elements that they were to leave out.

use std::collections::HashMap;
use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Column, DFSchema, Result, UnnestOptions};
use datafusion::logical_expr::expr::Placeholder;
use datafusion::logical_expr::logical_plan::{Projection, Unnest};
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder, UserDefinedLogicalNodeCore};
use datafusion::optimizer::optimizer::ApplyOrder;
use datafusion::optimizer::{OptimizerConfig, OptimizerRule};
use weft_expr::builtins::JSON_TABLE;
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
    if lateral.keeps_all || body.is_volatile {
        return Ok(None);
    }
    let Some(Elements { array, values }) = elements_of(&body.plan)? else { return Ok(None) };
    let left = lateral.left.schema();
    let elements = format!("{MARKER}elements{}", lateral.number);
    let mut below: Vec<Expr> = Vec::with_capacity(left.fields().len() + 1);
    let mut above = Vec::with_capacity(left.fields().len() + values.len());
    // Columns of the left side whose names others have, too, and what they are called beside the elements.
    let mut renamed = HashMap::new();
    for (place, (relation, field)) in left.iter().enumerate() {
        let column = Column::new(relation.cloned(), field.name());
        let expr = Expr::Column(column.clone());
        if is_only(left, field.name()) {
            below.push(expr.clone());
            above.push(expr);
            continue;
        }
        // The operator tells columns apart by their names alone.
        let name = format!("{MARKER}beside{place}");
        below.push(expr.alias(&name));
        above.push(Expr::Column(Column::from_name(&name)).alias_qualified(relation.cloned(), field.name()));
        renamed.insert(column, name);
    }
    below.push(with_outer(array, lateral, &HashMap::new())?.alias(&elements));
    let below = LogicalPlan::Projection(Projection::try_new(below, Arc::clone(&lateral.left))?);
    let beside = LogicalPlanBuilder::from(below).unnest_columns_with_options(
        vec![Column::from_name(&elements)],
        UnnestOptions::new().with_preserve_nulls(false),
    )?;
    let element = Column::from_name(&elements);
    let with_element = |expr: Expr| with_outer(replaced(expr, &element)?, lateral, &renamed);
    for ((relation, field), value) in body.plan.schema().iter().zip(values) {
        above.push(with_element(value)?.alias_qualified(relation.cloned(), field.name()));
    }
    let made = LogicalPlan::Projection(Projection::try_new(above, Arc::new(beside.build()?))?);
    let (asked, given) = (lateral.schema(), made.schema());
    Ok(asked.logically_equivalent_names_and_types(given).then_some(made))
}

/// An expression with the outer values that it names; columns in them have the names of a map.
fn with_outer(expr: Expr, lateral: &Lateral, renamed: &HashMap<Column, String>) -> Result<Expr> {
    let value = |place: usize| {
        lateral.values.get(place).map(|value| {
            value.clone().transform_up(|part| match &part {
                Expr::Column(column) => Ok(match renamed.get(column) {
                    Some(name) => Transformed::yes(Expr::Column(Column::from_name(name))),
                    None => Transformed::no(part),
                }),
                _ => Ok(Transformed::no(part)),
            })
        })
    };
    let made = expr.transform_up(|part| {
        let Expr::Placeholder(Placeholder { id, .. }) = &part else { return Ok(Transformed::no(part)) };
        match outer_place(id).and_then(value).transpose()? {
            Some(value) => Ok(Transformed::yes(value.data)),
            None => Ok(Transformed::no(part)),
        }
    })?;
    Ok(made.data)
}

/// An expression whose column [`ELEMENT`] is another one.
fn replaced(expr: Expr, element: &Column) -> Result<Expr> {
    let made = expr.transform_up(|part| {
        let is_it = matches!(&part, Expr::Column(column) if column.relation.is_none() && column.name == ELEMENT);
        Ok(if is_it { Transformed::yes(Expr::Column(element.clone())) } else { Transformed::no(part) })
    })?;
    Ok(made.data)
}

fn is_only(schema: &DFSchema, name: &str) -> bool {
    schema.fields().iter().filter(|field| field.name() == name).count() == 1
}

/// What stands for the element in the expressions of [`Elements`].
const ELEMENT: &str = "\u{1}element";

/// A plan that makes one row of each element of an array.
struct Elements {
    array: Expr,
    /// The columns.
    values: Vec<Expr>,
}

/// The elements that the rows of a plan are made of, if nothing else is.
fn elements_of(plan: &LogicalPlan) -> Result<Option<Elements>> {
    let (input, exprs) = match plan {
        LogicalPlan::SubqueryAlias(alias) => return elements_of(&alias.input),
        LogicalPlan::Unnest(unnest) => {
            let array = array_of(unnest).cloned();
            return Ok(array.map(|array| Elements { array, values: vec![Expr::Column(Column::from_name(ELEMENT))] }));
        }
        LogicalPlan::Projection(projection) => (&projection.input, &projection.expr[..]),
        _ => return Ok(None),
    };
    if exprs.iter().any(has_subquery) {
        return Ok(None);
    }
    let Some(mut elements) = elements_of(input)? else { return Ok(None) };
    // A value is computed where it is named: once, as before.
    let is_named = elements.values.iter().all(|value| matches!(value, Expr::Column(_)));
    if !is_named && !exprs.iter().all(|expr| matches!(bare(expr), Expr::Column(_))) {
        return Ok(None);
    }
    let schema = input.schema();
    let mut made = Vec::with_capacity(exprs.len());
    for expr in exprs {
        let value = bare(expr).clone().transform_up(|part| {
            let Expr::Column(column) = &part else { return Ok(Transformed::no(part)) };
            let place = schema.index_of_column(column)?;
            Ok(Transformed::yes(elements.values[place].clone()))
        });
        made.push(value?.data);
    }
    elements.values = made;
    Ok(Some(elements))
}

/// The array whose elements are the one column of a plan.
fn array_of(unnest: &Unnest) -> Option<&Expr> {
    let [(_, list)] = &unnest.list_type_columns[..] else { return None };
    if list.depth != 1 || !unnest.struct_type_columns.is_empty() || unnest.options.preserve_nulls() {
        return None;
    }
    let LogicalPlan::Projection(projection) = &*unnest.input else { return None };
    let LogicalPlan::EmptyRelation(row) = &*projection.input else { return None };
    let [expr] = &projection.expr[..] else { return None };
    let array = bare(expr);
    (row.produce_one_row && is_of_elements(array)).then_some(array)
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
    let name = call.func.name();
    (name == JSON_TABLE || ELEMENTS.iter().any(|(of, _)| name == *of)) && !has_subquery(expr)
}

fn has_subquery(expr: &Expr) -> bool {
    let asks = |expr: &Expr| {
        Ok(matches!(expr, Expr::ScalarSubquery(_) | Expr::Exists(_) | Expr::InSubquery(_))
            || subplan_of(expr).is_some())
    };
    expr.exists(asks).unwrap_or(true)
}
