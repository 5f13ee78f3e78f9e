//! Outer references of a subquery that is applied: told apart from those of all others, then parameters.
//!
//! ```text
//!   outer_ref(o.k)     as the planner found it: o may be the name of a relation on several levels
//!   outer_ref(m3.0)    the first outer value of the subquery marked 3
//!   $outer0            the same, when types are known: a parameter of its plan
//!   $7                 the same in a statement of six parameters
//! ```

use std::sync::Arc;

use arrow::datatypes::FieldRef;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Column, DFSchema, DFSchemaRef, ExprSchema, Result, TableReference};
use datafusion::logical_expr::expr::Placeholder;
use datafusion::logical_expr::{Expr, LogicalPlan};
use weft_sql::queries::names::MARKER;

use super::super::named::with_names;

const PREFIX: &str = "$outer";

/// The plan of a subquery with its outer references told apart as those of `number`, and what they refer to: columns of
/// `around`, or outer references of the query around, too. `values` are further outer values, which come first.
pub(crate) fn told_apart(
    plan: LogicalPlan,
    values: Vec<Expr>,
    around: &DFSchema,
    number: u32,
) -> Result<(LogicalPlan, Vec<Expr>)> {
    let mut finder = Finder { around, number, values };
    let plan = finder.visit(plan, &[])?;
    Ok((plan, finder.values))
}

struct Finder<'a> {
    around: &'a DFSchema,
    number: u32,
    values: Vec<Expr>,
}

impl Finder<'_> {
    /// `bound` are the left sides of joins in the subquery around the plan: what is LATERAL in it refers to them.
    fn visit(&mut self, plan: LogicalPlan, bound: &[DFSchemaRef]) -> Result<LogicalPlan> {
        let left = match &plan {
            LogicalPlan::Join(join) => Some(Arc::clone(join.left.schema())),
            _ => None,
        };
        let mut is_first = true;
        let plan = plan.map_children(|child| {
            let bound = match &left {
                Some(left) if !is_first => [bound, std::slice::from_ref(left)].concat(),
                _ => bound.to_vec(),
            };
            is_first = false;
            self.visit(child, &bound).map(Transformed::yes)
        })?;
        let told = with_names(plan.data, &mut |expr| {
            let Expr::OuterReferenceColumn(field, column) = &expr else { return Ok(Transformed::no(expr)) };
            if is_told_apart(column) || bound.iter().any(|schema| schema.has_column(column)) {
                return Ok(Transformed::no(expr));
            }
            let near = self.around.field_from_column(column).ok().cloned();
            let field = near.clone().unwrap_or_else(|| Arc::clone(field));
            let value = if near.is_some() { Expr::Column(column.clone()) } else { expr.clone() };
            let place = self.values.iter().position(|known| *known == value).unwrap_or_else(|| {
                self.values.push(value);
                self.values.len() - 1
            });
            Ok(Transformed::yes(reference(field, self.number, place)))
        })?;
        told.data.recompute_schema()
    }
}

/// The outer value of a place, of the subquery marked `number`.
pub(crate) fn reference(field: FieldRef, number: u32, place: usize) -> Expr {
    Expr::OuterReferenceColumn(field, Column::new(Some(relation(number)), place.to_string()))
}

fn relation(number: u32) -> TableReference {
    TableReference::bare(format!("{MARKER}mark{number}"))
}

/// Whether a column is an outer value of some subquery that is applied.
pub(crate) fn is_told_apart(column: &Column) -> bool {
    let prefix = format!("{MARKER}mark");
    column.relation.as_ref().is_some_and(|of| of.table().starts_with(&prefix))
}

fn place_of(column: &Column, number: u32) -> Option<usize> {
    let is_own = column.relation.as_ref().is_some_and(|of| *of == relation(number));
    if is_own { column.name.parse().ok() } else { None }
}

/// The plan whose outer references have the types that the outer values have in the end; whether one had another.
pub(crate) fn typed(plan: LogicalPlan, fields: &[Option<FieldRef>], number: u32) -> Result<(LogicalPlan, bool)> {
    let mut changed = false;
    let plan = replaced(plan, &mut |expr| {
        let Expr::OuterReferenceColumn(field, column) = &expr else { return Ok(Transformed::no(expr)) };
        let Some(known) = place_of(column, number).and_then(|place| fields.get(place)?.as_ref()) else {
            return Ok(Transformed::no(expr));
        };
        changed |= known.data_type() != field.data_type() || known.metadata() != field.metadata();
        Ok(Transformed::yes(Expr::OuterReferenceColumn(nullable(known), column.clone())))
    })?;
    Ok((plan, changed))
}

/// The plan with parameters for its outer references.
pub(crate) fn as_parameters(plan: LogicalPlan, number: u32) -> Result<LogicalPlan> {
    replaced(plan, &mut |expr| {
        let Expr::OuterReferenceColumn(field, column) = &expr else { return Ok(Transformed::no(expr)) };
        let Some(place) = place_of(column, number) else { return Ok(Transformed::no(expr)) };
        let placeholder = Placeholder { id: format!("{PREFIX}{place}"), field: Some(nullable(field)) };
        Ok(Transformed::yes(Expr::Placeholder(placeholder)))
    })
}

/// The place of an outer value that a parameter stands for.
pub(crate) fn outer_place(id: &str) -> Option<usize> {
    id.strip_prefix(PREFIX)?.parse().ok()
}

/// The plan in which outer values are parameters behind the statement's own.
pub(crate) fn numbered(plan: LogicalPlan, own: usize) -> Result<LogicalPlan> {
    replaced(plan, &mut |expr| {
        let Expr::Placeholder(placeholder) = &expr else { return Ok(Transformed::no(expr)) };
        let Some(place) = outer_place(&placeholder.id) else { return Ok(Transformed::no(expr)) };
        let id = format!("${}", own + place + 1);
        Ok(Transformed::yes(Expr::Placeholder(Placeholder { id, field: placeholder.field.clone() })))
    })
}

fn nullable(field: &FieldRef) -> FieldRef {
    Arc::new(field.as_ref().clone().with_nullable(true))
}

/// The plan with its expressions rewritten; results keep their names.
fn replaced(plan: LogicalPlan, rewrite: &mut dyn FnMut(Expr) -> Result<Transformed<Expr>>) -> Result<LogicalPlan> {
    let made = plan.transform_up(|plan| with_names(plan, rewrite)?.map_data(LogicalPlan::recompute_schema))?;
    Ok(made.data)
}
