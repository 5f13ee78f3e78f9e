//! Groups, DISTINCT, joins and aggregates of types whose equal values look different: `1 mon` and `30 days`.
//!
//! ```text
//!   SELECT v, sum(n) FROM t GROUP BY v     SELECT first_value(v) AS v, sum(n) FROM t GROUP BY span(v)
//!   SELECT DISTINCT v, n FROM t            SELECT first_value(v) AS v, n FROM t GROUP BY span(v), n
//!   a JOIN b ON a.v = b.v                  ... ON span(a.v) = span(b.v)
//!   count(DISTINCT v)                      count(DISTINCT span(v))
//!   min(v), max(v)                         first_value(v ORDER BY span(v)), first_value(v ORDER BY span(v) DESC)
//! ```
//!
//! PostgreSQL, too, shows one of the equal values and does not say which. Grouping sets are left as they are.

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, DFSchema, Result};
use datafusion::functions_aggregate::first_last::first_value_udaf;
use datafusion::logical_expr::expr::{AggregateFunction, NullTreatment, Sort};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::{Aggregate, Distinct, Expr, Join, LogicalPlan, Projection};

use weft_format::DataType;

use super::operands::operand_type;
use super::routines::comparable;
use super::types::field_type;

/// A plan whose groups and joins of such values are by key.
pub(super) fn keyed(plan: LogicalPlan) -> Result<LogicalPlan> {
    let mut changed = false;
    let made = plan.transform_up_with_subqueries(|node| {
        let made = match node {
            LogicalPlan::Distinct(Distinct::All(input)) if has_keyed_column(input.schema()) => grouped_rows(input)?,
            LogicalPlan::Aggregate(aggregate) => keyed_aggregate(aggregate)?,
            LogicalPlan::Join(join) => keyed_join(join),
            other => Transformed::no(other),
        };
        changed |= made.transformed;
        if changed && !made.transformed { made.data.recompute_schema().map(Transformed::yes) } else { Ok(made) }
    })?;
    Ok(made.data)
}

fn is_keyed(data_type: Option<DataType>) -> bool {
    data_type == Some(DataType::Interval)
}

fn has_keyed_column(schema: &DFSchema) -> bool {
    schema.fields().iter().any(|field| is_keyed(Some(field_type(field))))
}

/// DISTINCT as groups of all columns.
fn grouped_rows(input: Arc<LogicalPlan>) -> Result<Transformed<LogicalPlan>> {
    let columns = input.schema().columns().into_iter().map(Expr::Column).collect();
    keyed_aggregate(Aggregate::try_new(input, columns, Vec::new())?)
}

fn keyed_aggregate(mut aggregate: Aggregate) -> Result<Transformed<LogicalPlan>> {
    let input = Arc::clone(aggregate.input.schema());
    let mut changed = false;
    for call in &mut aggregate.aggr_expr {
        let made = call.clone().transform_up(|expr| Ok(keyed_call(expr, &input)))?;
        if made.transformed {
            let name = NamePreserver::new_for_projection().save(call);
            *call = name.restore(made.data);
            changed = true;
        }
    }
    let is_keyed_group = |expr: &Expr| is_keyed(operand_type(expr, &input));
    let is_plain = !aggregate.group_expr.iter().any(|expr| matches!(expr, Expr::GroupingSet(_)));
    if !is_plain || !aggregate.group_expr.iter().any(is_keyed_group) {
        if !changed {
            return Ok(Transformed::no(LogicalPlan::Aggregate(aggregate)));
        }
        let Aggregate { input, group_expr, aggr_expr, .. } = aggregate;
        return Ok(Transformed::yes(LogicalPlan::Aggregate(Aggregate::try_new(input, group_expr, aggr_expr)?)));
    }
    let groups = aggregate.group_expr.len();
    let mut calls = aggregate.aggr_expr.clone();
    let mut shown = Vec::new();
    let mut group_expr = Vec::with_capacity(groups);
    for (place, expr) in aggregate.group_expr.iter().enumerate() {
        if !is_keyed_group(expr) {
            group_expr.push(expr.clone());
            shown.push(None);
            continue;
        }
        let name = format!("\u{1}group {place}");
        group_expr.push(comparable(expr.clone().unalias(), DataType::Interval).alias(format!("{name} key")));
        calls.push(first(expr.clone().unalias(), Vec::new(), None).alias(&name));
        shown.push(Some(name));
    }
    let made = LogicalPlan::Aggregate(Aggregate::try_new(Arc::clone(&aggregate.input), group_expr, calls)?);
    let columns = aggregate.schema.iter().enumerate().map(|(place, (relation, field))| {
        match shown.get(place).cloned().flatten() {
            Some(name) => Expr::Column(Column::new_unqualified(name)).alias_qualified(relation.cloned(), field.name()),
            None => Expr::Column(Column::new(relation.cloned(), field.name())),
        }
    });
    let columns = columns.collect();
    Ok(Transformed::yes(LogicalPlan::Projection(Projection::try_new(columns, Arc::new(made))?)))
}

/// A call of an aggregate over such values.
fn keyed_call(expr: Expr, schema: &DFSchema) -> Transformed<Expr> {
    let Expr::AggregateFunction(mut call) = expr else { return Transformed::no(expr) };
    let is_of_keyed = matches!(&call.params.args[..], [arg] if is_keyed(operand_type(arg, schema)));
    if !is_of_keyed {
        return Transformed::no(Expr::AggregateFunction(call));
    }
    let arg = call.params.args[0].clone();
    match call.func.name() {
        "count" if call.params.distinct => {
            call.params.args = vec![comparable(arg, DataType::Interval)];
            Transformed::yes(Expr::AggregateFunction(call))
        }
        name @ ("min" | "max") => {
            let by = Sort::new(comparable(arg.clone(), DataType::Interval), name == "min", false);
            Transformed::yes(first(arg, vec![by], call.params.filter))
        }
        _ => Transformed::no(Expr::AggregateFunction(call)),
    }
}

/// `first_value(arg ORDER BY ...) FILTER (WHERE ...)`, of what is not NULL if there is such a value.
fn first(arg: Expr, order_by: Vec<Sort>, filter: Option<Box<Expr>>) -> Expr {
    let nulls = Some(NullTreatment::RespectNulls);
    let call = AggregateFunction::new_udf(first_value_udaf(), vec![arg], false, filter, order_by, nulls);
    Expr::AggregateFunction(call)
}

fn keyed_join(mut join: Join) -> Transformed<LogicalPlan> {
    let mut changed = false;
    for (left, right) in &mut join.on {
        if is_keyed(operand_type(left, join.left.schema())) && is_keyed(operand_type(right, join.right.schema())) {
            *left = comparable(left.clone(), DataType::Interval);
            *right = comparable(right.clone(), DataType::Interval);
            changed = true;
        }
    }
    Transformed::new(LogicalPlan::Join(join), changed, TreeNodeRecursion::Continue)
}
