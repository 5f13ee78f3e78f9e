//! Rewrites of a logical plan's subqueries and unions, before types are coerced.
//!
//! ```text
//!   x > ALL (q)                              CASE over EXISTS (q with the comparison in it)
//!   (SELECT d.name FROM d WHERE d.id = e.d)  one_row((SELECT max(name) ...), (SELECT count(*) ...))
//!   SELECT 1 UNION SELECT 'a'                'a' is read as an integer: 22P02
//! ```
//!
//! 1. A correlated subquery becomes a join, which would repeat rows: it must be aggregated. Of one row the maximum is
//!    the value; more than one row is an error where the value is used (`one_row`).
//! 2. Every rewrite keeps the name of an output column.

use std::sync::Arc;

use arrow::datatypes::DataType as ArrowType;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Column, Result, ScalarValue};
use datafusion::functions_aggregate::count::count;
use datafusion::functions_aggregate::min_max::max;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::logical_plan::{Projection, Subquery, Union};
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder, cast, lit};
use datafusion::optimizer::rewrite_set_comparison::RewriteSetComparison;
use datafusion::optimizer::{AnalyzerRule, OptimizerContext, OptimizerRule};
use weft_format::{Code, Error};

use super::error::wrap;
use super::functions::OneRow;
use super::types::output_type;

/// Subqueries that are compared, subqueries as expressions, types of unions.
#[derive(Debug)]
pub(crate) struct Subqueries;

impl AnalyzerRule for Subqueries {
    fn name(&self) -> &str {
        "subqueries"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        let plan = RewriteSetComparison::new().rewrite(plan, &OptimizerContext::new())?.data;
        let rewritten = plan.transform_up_with_subqueries(|plan| {
            if let LogicalPlan::Union(union) = &plan
                && let Some(typed) = typed_union(union)?
            {
                return Ok(Transformed::yes(typed));
            }
            let names = NamePreserver::new(&plan);
            plan.map_expressions(|expr| {
                let name = names.save(&expr);
                Ok(expr.transform_up(single_row)?.update_data(|expr| name.restore(expr)))
            })
        })?;
        Ok(rewritten.data)
    }
}

/// Invariant 1.
fn single_row(expr: Expr) -> Result<Transformed<Expr>> {
    let Expr::ScalarSubquery(subquery) = &expr else { return Ok(Transformed::no(expr)) };
    if subquery.outer_ref_columns.is_empty() || is_single_row(&subquery.subquery) {
        return Ok(Transformed::no(expr));
    }
    let plan = &subquery.subquery;
    let [_] = &plan.schema().fields()[..] else { return Ok(Transformed::no(expr)) };
    let column = Expr::Column(Column::from(plan.schema().qualified_field(0)));
    let aggregated = |aggregate: Expr| -> Result<Expr> {
        let plan =
            LogicalPlanBuilder::from(plan.as_ref().clone()).aggregate(Vec::<Expr>::new(), vec![aggregate])?.build()?;
        Ok(Expr::ScalarSubquery(Subquery { subquery: Arc::new(plan), ..subquery.clone() }))
    };
    let args = vec![aggregated(max(column))?, aggregated(count(lit(1_i64)))?];
    Ok(Transformed::yes(Expr::ScalarFunction(ScalarFunction::new_udf(OneRow::function(), args))))
}

fn is_single_row(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Projection(projection) => is_single_row(&projection.input),
        LogicalPlan::SubqueryAlias(alias) => is_single_row(&alias.input),
        LogicalPlan::Sort(sort) => is_single_row(&sort.input),
        LogicalPlan::Filter(filter) => matches!(&*filter.input, LogicalPlan::Aggregate(_)),
        LogicalPlan::Aggregate(_) => true,
        other => other.max_rows().is_some_and(|rows| rows <= 1),
    }
}

fn is_text(data_type: &ArrowType) -> bool {
    matches!(data_type, ArrowType::Utf8 | ArrowType::LargeUtf8 | ArrowType::Utf8View)
}

/// A union of text with something else: constants are read as the other type, all else is an error.
fn typed_union(union: &Union) -> Result<Option<LogicalPlan>> {
    let width = union.inputs.iter().map(|input| input.schema().fields().len()).min().unwrap_or(0);
    let mut inputs = union.inputs.clone();
    for place in 0..width {
        let type_of = |input: &Arc<LogicalPlan>| input.schema().field(place).data_type().clone();
        let Some(other) = inputs.iter().map(type_of).find(|t| !is_text(t) && !t.is_null()) else { continue };
        for input in &mut inputs {
            let given = type_of(input);
            if is_text(&given) {
                *input = Arc::new(read_constant(input, place, &other)?.ok_or_else(|| {
                    let (a, b) = (output_type(&other), output_type(&given));
                    wrap(Error::new(Code::DatatypeMismatch, format!("UNION types {a} and {b} cannot be matched")))
                })?);
            }
        }
    }
    let same = inputs.iter().zip(&union.inputs).all(|(new, old)| Arc::ptr_eq(new, old));
    if same { Ok(None) } else { Ok(Some(LogicalPlan::Union(Union::try_new_with_loose_types(inputs)?))) }
}

/// The input with its constant at `place` cast; none when it is no constant there.
fn read_constant(input: &LogicalPlan, place: usize, to: &ArrowType) -> Result<Option<LogicalPlan>> {
    let LogicalPlan::Projection(projection) = input else { return Ok(None) };
    let mut exprs = projection.expr.clone();
    let name = projection.schema.field(place).name().clone();
    let constant = match &exprs[place] {
        Expr::Alias(alias) => &alias.expr,
        other => other,
    };
    match constant {
        Expr::Literal(ScalarValue::Utf8(_) | ScalarValue::Utf8View(_), _) => {}
        _ => return Ok(None),
    }
    exprs[place] = cast(constant.clone(), to.clone()).alias(name);
    Ok(Some(LogicalPlan::Projection(Projection::try_new(exprs, Arc::clone(&projection.input))?)))
}
