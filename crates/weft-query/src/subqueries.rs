//! Subqueries and HAVING of a logical plan in forms that the engine plans rightly; before types are coerced.
//!
//! ```text
//!   WHERE k IN (q) OR x = 1          see `membership`: what is asked of q; `correlation`: what is refused
//!   a JOIN b ON c AND k IN (q)       a JOIN b ON c WHERE k IN (q)
//!   a LEFT JOIN b ON b.k IN (q)      a LEFT JOIN (b WHERE b.k IN (q)) ON true
//!   a JOIN LATERAL (q) ON c          a join, or q WHERE c for each row of a: see `apply`
//!   GROUP BY k IN (q), ORDER BY ...  a result column below, by whose name it is grouped
//!   HAVING random() < 1              HAVING kept(random() < 1, count(*))
//! ```
//!
//! 1. Every rewrite keeps the name of an output column.
//! 2. The engine knows subqueries with outer columns in conditions and result columns only: elsewhere they move there.
//! 3. A condition that reads no column, or comes to be a constant, is pushed below an aggregate by the engine, though
//!    an aggregate without GROUP BY, or with an empty grouping set, has a row for no rows (apache/datafusion 25519). A
//!    limit that no result reaches is in the way; of a subquery that becomes a join, `kept` has the condition read a
//!    column.

use std::cell::Cell;
use std::fmt;
use std::sync::Arc;

use arrow::datatypes::DataType as ArrowType;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, DFSchema, DFSchemaRef, ExprSchema, Result, internal_err};
use datafusion::functions::expr_fn::coalesce;
use datafusion::functions_aggregate::count::count;
use datafusion::functions_window::expr_fn::{rank, row_number};
use datafusion::logical_expr::expr::{Exists, InSubquery, ScalarFunction, SetComparison};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::logical_plan::{
    Aggregate, Filter, Join, Limit, Projection, Sort, Subquery, SubqueryAlias, Values,
};
use datafusion::logical_expr::utils::{conjunction, split_conjunction_owned};
use datafusion::logical_expr::{
    BinaryExpr, Expr, ExprFunctionExt, ExprSchemable, JoinType, LogicalPlan, LogicalPlanBuilder, Operator, cast, lit,
    not,
};
use datafusion::optimizer::AnalyzerRule;
use weft_format::{Code, Error};
use weft_sql::queries::names::MARKER;

use super::apply::inner::with_outer_types;
use super::apply::lateral::{Lateral, Right, lateral_of};
use super::apply::mark::ArrayOfRows;
use super::apply::outer;
use super::belonging::{check_belonging, check_join_condition};
use super::correlation::{
    Asked, check, has_split_groups, has_subquery, is_correlated, is_refusal, refused, subquery_of,
};
use super::error::wrap;
use super::functions::Kept;
use super::lifted::told_apart;
use super::membership::{Applies, Context, Place, Rewriter, is_single_row, nullable};
use super::row_count::{RowCount, with_ties};
use super::semantics::has_node;

/// Subqueries as conditions and values; conditions on aggregates.
pub(crate) struct Subqueries {
    /// Which are applied.
    pub(crate) applies: Applies,
    /// The rules that give expressions their types, which run later.
    pub(crate) types: Vec<Arc<dyn AnalyzerRule + Send + Sync>>,
}

impl fmt::Debug for Subqueries {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Subqueries")
    }
}

impl AnalyzerRule for Subqueries {
    fn name(&self) -> &str {
        "subqueries"
    }

    fn analyze(&self, plan: LogicalPlan, config: &ConfigOptions) -> Result<LogicalPlan> {
        let made = Cell::new(0);
        let context = Context { made: &made, applies: self.applies, types: &self.types, config };
        let plan = plan.transform_down_with_subqueries(unwrapped_below)?.data;
        let rewritten = plan.transform_up_with_subqueries(|plan| node(plan, context))?.data;
        let has_conditions =
            has_node(&rewritten, |plan| matches!(plan, LogicalPlan::Filter(_) | LogicalPlan::Join(_)))?;
        if has_conditions { barred(rewritten) } else { Ok(rewritten) }
    }
}

fn node(plan: LogicalPlan, context: Context<'_>) -> Result<Transformed<LogicalPlan>> {
    let has_some = has_subquery_of_its_own(&plan)?;
    if has_some {
        check_belonging(&plan)?;
    }
    let shown = plan.inputs().first().map(|input| input.schema().columns());
    let plan = if has_some { widened(lateral(plan, context)?)? } else { lateral(plan, context)? };
    if let LogicalPlan::Join(Join { filter: Some(condition), .. }) = &plan {
        check_join_condition(condition)?;
    }
    match plan {
        LogicalPlan::Filter(Filter { predicate, input, .. }) => {
            let rewritten = |predicate| Rewriter::new(&[&input], context).rewrite(predicate, Place::Conjunct);
            let predicate = if has_some { rewritten(predicate)? } else { predicate };
            kept(without_distinct(predicate)?, input)
        }
        LogicalPlan::Values(values) if has_some || LogicalPlan::Values(values.clone()).contains_outer_reference() => {
            node(values_apart(values)?, context)
        }
        LogicalPlan::Limit(limit) if is_computed(&limit) => numbered(limit, context).map(Transformed::yes),
        plan if !has_some => Ok(Transformed::no(plan)),
        LogicalPlan::Join(join) => on_conditions(join, context).map(Transformed::yes),
        plan @ (LogicalPlan::Aggregate(_) | LogicalPlan::Sort(_) | LogicalPlan::Window(_)) => {
            let rewriter = Rewriter::new(&plan.inputs(), context);
            moved(plan, &rewriter, shown.unwrap_or_default()).map(Transformed::yes)
        }
        plan => {
            let rewriter = Rewriter::new(&plan.inputs(), context);
            let names = NamePreserver::new(&plan);
            let rewritten = plan.map_expressions(|expr| {
                let name = names.save(&expr);
                Ok(Transformed::yes(name.restore(rewriter.rewrite(expr, Place::Value)?)))
            })?;
            rewritten.map_data(LogicalPlan::recompute_schema)
        }
    }
}

/// Whether LIMIT or OFFSET is more than the engine computes before it runs: names columns of the query around, has a
/// subquery, is no integer, or takes rows that are like the last one.
fn is_computed(limit: &Limit) -> bool {
    let is_integer = |expr: &Expr| match expr.get_type(&DFSchema::empty()) {
        Ok(known) => known.is_integer() || known.is_null() || matches!(known, ArrowType::Utf8),
        Err(_) => true,
    };
    let is_it = |expr: &Expr| has_subquery(expr) || with_ties(expr).is_some() || !is_integer(expr);
    [&limit.skip, &limit.fetch].into_iter().flatten().any(|expr| is_it(expr))
        || LogicalPlan::Limit(limit.clone()).contains_outer_reference()
}

/// Such a LIMIT and OFFSET as a condition on the rows' numbers; with ties, on their ranks.
fn numbered(limit: Limit, context: Context<'_>) -> Result<LogicalPlan> {
    if let LogicalPlan::Projection(shown) = &*limit.input
        && matches!(&*shown.input, LogicalPlan::Sort(_))
    {
        // What the rows are ordered by may not be shown.
        let below = numbered(Limit { input: Arc::clone(&shown.input), ..limit.clone() }, context)?;
        return LogicalPlanBuilder::from(below).project(shown.expr.clone())?.build();
    }
    let (input, order) = match &*limit.input {
        LogicalPlan::Sort(sort) if sort.fetch.is_none() => (&sort.input, sort.expr.clone()),
        _ => (&limit.input, Vec::new()),
    };
    let shown: Vec<Expr> = input.schema().columns().into_iter().map(Expr::Column).collect();
    let made = context.number();
    let over = |function: Expr, name: &str| -> Result<(Expr, Expr)> {
        let name = format!("{MARKER}{name}{made}");
        let function = if order.is_empty() { function } else { function.order_by(order.clone()).build()? };
        Ok((function.alias(&name), cast(Expr::Column(Column::from_name(&name)), ArrowType::Int64)))
    };
    let (function, number) = over(row_number(), "row")?;
    let mut functions = vec![function];
    let none = || lit(0_i64);
    let rows = |count: Expr, counts| RowCount::of(counts, cast(count, ArrowType::Int64));
    let skipped = coalesce(vec![limit.skip.map_or_else(none, |skip| rows(*skip, RowCount::Offset)), none()]);
    let mut taken = number.clone().gt(skipped.clone());
    if let Some(fetch) = limit.fetch {
        let wanted = |count: Expr| coalesce(vec![rows(count, RowCount::Limit), lit(i64::MAX)]);
        taken = taken.and(match with_ties(&fetch) {
            Some(count) => {
                let (function, rank) = over(rank(), "rank")?;
                functions.push(function);
                let count = wanted(count.clone());
                (rank - skipped).lt_eq(count.clone()).and(count.gt(none()))
            }
            None => (number.clone() - skipped).lt_eq(wanted(*fetch)),
        });
    }
    let filter = LogicalPlanBuilder::from(input.as_ref().clone()).window(functions)?.filter(taken)?.build()?;
    let filter = if has_subquery_of_its_own(&filter)? { node(filter, context)?.data } else { filter };
    LogicalPlanBuilder::from(filter).sort(vec![number.sort(true, false)])?.project(shown)?.build()
}

/// Whether an expression of a node has a subquery.
fn has_subquery_of_its_own(plan: &LogicalPlan) -> Result<bool> {
    let mut found = false;
    plan.apply_expressions(|expr| {
        found |= has_subquery(expr);
        Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    Ok(found)
}

/// Rows of VALUES that are more than constants, each as a query.
fn values_apart(values: Values) -> Result<LogicalPlan> {
    let names: Vec<String> = values.schema.fields().iter().map(|field| field.name().clone()).collect();
    let mut rows = values.values.into_iter().map(|row| {
        let columns = row.into_iter().zip(&names).map(|(expr, name)| expr.alias(name));
        LogicalPlanBuilder::empty(true).project(columns.collect::<Vec<_>>())?.build()
    });
    let first = rows.next().unwrap_or_else(|| internal_err!("VALUES has rows"))?;
    rows.try_fold(LogicalPlanBuilder::from(first), |all, row| all.union(row?))?.build()
}

/// A join with a correlated LATERAL, whose columns to be lifted get names of their own ([`told_apart`]); one that the
/// engine would plan wrongly is applied.
fn lateral(mut plan: LogicalPlan, context: Context<'_>) -> Result<LogicalPlan> {
    let LogicalPlan::Join(join) = &mut plan else { return Ok(plan) };
    let made = told_apart_below(&join.right, context);
    match made {
        Ok(Some(right)) if matches!(join.join_type, JoinType::Inner | JoinType::Left) => join.right = Arc::new(right),
        Ok(None) if !names_columns(&join.right, join.left.schema()) => {}
        Err(error) if !is_refusal(&error) => return Err(error),
        _ => return applied(join, context),
    }
    Ok(plan)
}

/// Whether outer references of a plan are columns of this schema.
fn names_columns(plan: &LogicalPlan, schema: &DFSchema) -> bool {
    let is_one = |expr: &Expr| matches!(expr, Expr::OuterReferenceColumn(_, column) if schema.has_column(column));
    let mut found = false;
    let walked = plan.apply(|node| {
        node.apply_expressions(|expr| {
            found |= expr.exists(|expr| Ok(is_one(expr)))?;
            Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
        })
    });
    walked.expect("the search does not fail");
    found
}

/// A join whose right side runs for each row of the left one; its condition is one of the right side.
fn applied(join: &Join, context: Context<'_>) -> Result<LogicalPlan> {
    let keeps_all = match join.join_type {
        JoinType::Inner => false,
        JoinType::Left => true,
        _ => {
            let message =
                "invalid reference to FROM-clause entry: LATERAL stands on the right of an INNER or LEFT JOIN";
            let error = Error::new(Code::InvalidColumnReference, message);
            return Err(wrap(error.hint("turn the join around, or write a subquery that names no other table")));
        }
    };
    let left = &context.typed(&[join.left.as_ref().clone()]);
    let mut right = LogicalPlanBuilder::from(unwrapped(&join.right)?);
    let equal = join.on.iter().map(|(a, b)| a.clone().eq(b.clone()));
    if let Some(condition) = conjunction(equal.chain(join.filter.clone())) {
        let rewriter = Rewriter::new(&[&join.left, &join.right], Context { applies: Applies::All, ..context });
        let condition = rewriter.rewrite(condition, Place::Conjunct)?.transform_up(|expr| {
            let Expr::Column(column) = &expr else { return Ok(Transformed::no(expr)) };
            if right.schema().has_column(column) {
                return Ok(Transformed::no(expr));
            }
            let field = Arc::clone(left.field_from_column(column)?);
            Ok(Transformed::yes(Expr::OuterReferenceColumn(field, column.clone())))
        })?;
        right = right.filter(condition.data)?;
    }
    let number = context.number();
    let right = with_outer_types(right.build()?, left)?;
    let (right, values) = outer::told_apart(right, Vec::new(), left, number)?;
    Ok(Lateral::new(Arc::clone(&join.left), Right::Shown(Arc::new(right)), values, number, keeps_all)?.plan())
}

/// A node whose inputs do not say that they are LATERAL where they name nothing beside them, but what is around.
fn unwrapped_below(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    let left = match &plan {
        LogicalPlan::Join(join) => Some(Arc::clone(join.left.schema())),
        _ => None,
    };
    let mut is_right = false;
    plan.map_children(|child| {
        let is_first = !std::mem::replace(&mut is_right, true);
        let stays = |left: &DFSchemaRef| !is_first && names_columns(&child, left);
        if !is_wrapped(&child) || left.as_ref().is_some_and(stays) {
            return Ok(Transformed::no(child));
        }
        unwrapped(&child).map(Transformed::yes)
    })
}

fn is_wrapped(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::SubqueryAlias(alias) => is_wrapped(&alias.input),
        LogicalPlan::Subquery(_) => true,
        _ => false,
    }
}

/// The plan of LATERAL without the node that says so.
fn unwrapped(plan: &LogicalPlan) -> Result<LogicalPlan> {
    Ok(match plan {
        LogicalPlan::SubqueryAlias(alias) => {
            let input = Arc::new(unwrapped(&alias.input)?);
            LogicalPlan::SubqueryAlias(SubqueryAlias::try_new(input, alias.alias.clone())?)
        }
        LogicalPlan::Subquery(of) => of.subquery.as_ref().clone(),
        other => other.clone(),
    })
}

/// The plan of a correlated LATERAL, below its names; none for any other.
fn told_apart_below(plan: &LogicalPlan, context: Context<'_>) -> Result<Option<LogicalPlan>> {
    match plan {
        LogicalPlan::SubqueryAlias(alias) => {
            let Some(input) = told_apart_below(&alias.input, context)? else { return Ok(None) };
            let named = SubqueryAlias::try_new(Arc::new(input), alias.alias.clone())?;
            Ok(Some(LogicalPlan::SubqueryAlias(named)))
        }
        LogicalPlan::Subquery(of) if is_correlated(&of.subquery) => {
            if context.applies != Applies::Others {
                return refused("at all");
            }
            if of.subquery.exists(|node| Ok(matches!(node, LogicalPlan::Subquery(_)) || lateral_of(node).is_some()))? {
                return refused("beside another LATERAL");
            }
            if has_distinct(&of.subquery) {
                return refused("below DISTINCT of LATERAL");
            }
            if has_split_groups(&of.subquery) {
                return refused("by other than equality below GROUP BY of LATERAL");
            }
            check(&of.subquery, Asked::Table)?;
            told_apart(of.clone(), context.made).map(|apart| Some(LogicalPlan::Subquery(apart)))
        }
        _ => Ok(None),
    }
}

/// Whether rows that are distinct in the query are repeated when the engine lifts its conditions.
fn has_distinct(plan: &LogicalPlan) -> bool {
    matches!(plan, LogicalPlan::Distinct(_)) || plan.inputs().into_iter().any(has_distinct)
}

/// IS DISTINCT FROM, negated or not, between a subquery and the query around it, written out: the engine's joins on it
/// lose rows with NULL.
fn without_distinct(predicate: Expr) -> Result<Expr> {
    let written = predicate.transform_up(|expr| {
        let Expr::BinaryExpr(BinaryExpr { left, op, right }) = expr else { return Ok(Transformed::no(expr)) };
        let is_it = matches!(op, Operator::IsDistinctFrom | Operator::IsNotDistinctFrom);
        if !is_it || !(left.contains_outer() || right.contains_outer()) {
            return Ok(Transformed::no(Expr::BinaryExpr(BinaryExpr { left, op, right })));
        }
        let (a, b) = (*left, *right);
        let both = a.clone().is_null().and(b.clone().is_null());
        let same = a.eq(b).is_true().or(both);
        Ok(Transformed::yes(if op == Operator::IsDistinctFrom { not(same) } else { same }))
    })?;
    Ok(written.data)
}

fn filtered(input: Arc<LogicalPlan>, conditions: Vec<Expr>, context: Context<'_>) -> Result<LogicalPlan> {
    let Some(predicate) = conjunction(conditions) else { return Ok(input.as_ref().clone()) };
    let rewriter = Rewriter::new(&[&input], context);
    let predicate = rewriter.rewrite(predicate, Place::Conjunct)?;
    Ok(LogicalPlan::Filter(Filter::try_new(predicate, input)?))
}

/// Conditions of ON with subqueries become conditions of a WHERE: above an inner join, else on the side that may be
/// missing, whose rows alone they choose. Those of both sides stay, and are applied.
fn on_conditions(mut join: Join, context: Context<'_>) -> Result<LogicalPlan> {
    let conditions = join.filter.take().map(split_conjunction_owned).unwrap_or_default();
    let (with, without): (Vec<Expr>, Vec<Expr>) = conditions.into_iter().partition(has_subquery);
    join.filter = conjunction(without);
    let side = match join.join_type {
        JoinType::Inner => return filtered(Arc::new(LogicalPlan::Join(join)), with, context),
        JoinType::Left => Some(&mut join.right),
        JoinType::Right => Some(&mut join.left),
        _ => None,
    };
    let is_of = |side: &&mut Arc<LogicalPlan>| {
        let mut all = with.iter().flat_map(columns);
        all.all(|column| side.schema().has_column(&column))
    };
    match side.filter(is_of) {
        Some(side) => *side = Arc::new(filtered(Arc::clone(side), with, context)?),
        None => {
            let rewriter = Rewriter::new(&[&join.left, &join.right], Context { applies: Applies::All, ..context });
            let with = with.into_iter().map(|condition| rewriter.rewrite(condition, Place::Condition));
            join.filter = conjunction(join.filter.into_iter().chain(with.collect::<Result<Vec<_>>>()?));
        }
    }
    LogicalPlan::Join(join).recompute_schema()
}

/// The columns that an expression reads, also in its subqueries.
fn columns(expr: &Expr) -> Vec<Column> {
    let mut columns: Vec<Column> = expr.column_refs().into_iter().cloned().collect();
    let walked = expr.apply(|expr| {
        if let Some(subquery) = subquery_of(expr) {
            let outer = subquery.subquery.all_out_ref_exprs();
            columns.extend(outer.into_iter().filter_map(|expr| match expr {
                Expr::OuterReferenceColumn(_, column) => Some(column),
                _ => None,
            }));
        }
        Ok(TreeNodeRecursion::Continue)
    });
    walked.expect("the search does not fail");
    columns
}

/// Invariant 2: subqueries of a node's expressions become columns of what it reads.
fn moved(plan: LogicalPlan, rewriter: &Rewriter<'_>, shown: Vec<Column>) -> Result<LogicalPlan> {
    let input = plan.inputs()[0].clone();
    let written = input.schema().columns();
    let mut columns: Vec<Expr> = written.iter().cloned().map(Expr::Column).collect();
    let names = NamePreserver::new(&plan);
    let plan = plan.map_expressions(|expr| {
        let name = names.save(&expr);
        let replaced = expr.transform_down(|expr| {
            let expr = match expr {
                Expr::ScalarSubquery(subquery)
                    if !is_correlated(&subquery.subquery) && is_single_row(&subquery.subquery) =>
                {
                    return Ok(Transformed::new(nullable(subquery), true, TreeNodeRecursion::Jump));
                }
                other => other,
            };
            if subquery_of(&expr).is_none() && ArrayOfRows::subquery(&expr).is_none() {
                return Ok(Transformed::no(expr));
            }
            let column = format!("{MARKER}sub{}", rewriter.number());
            columns.push(rewriter.rewrite(expr, Place::Value)?.alias(column.clone()));
            Ok(Transformed::new(Expr::Column(Column::from_name(column)), true, TreeNodeRecursion::Jump))
        })?;
        Ok(Transformed::yes(name.restore(replaced.data)))
    })?;
    let is_sort = matches!(plan.data, LogicalPlan::Sort(_));
    let below = LogicalPlan::Projection(Projection::try_new(columns, Arc::new(input))?);
    let plan = plan.data.with_new_exprs(plan.data.expressions(), vec![below])?;
    if !is_sort {
        return Ok(plan);
    }
    LogicalPlanBuilder::from(plan).project(shown.into_iter().map(Expr::Column).collect::<Vec<_>>())?.build()
}

/// A sort whose input has the columns, too, that subqueries of its keys name of what is selected from.
fn widened(plan: LogicalPlan) -> Result<LogicalPlan> {
    let LogicalPlan::Sort(sort) = plan else { return Ok(plan) };
    let LogicalPlan::Projection(projection) = &*sort.input else { return Ok(LogicalPlan::Sort(sort)) };
    let mut exprs = projection.expr.clone();
    for key in &sort.expr {
        let missing = columns(&key.expr)
            .into_iter()
            .filter(|column| !projection.schema.has_column(column) && projection.input.schema().has_column(column));
        for column in missing.map(Expr::Column) {
            if !exprs.contains(&column) {
                exprs.push(column);
            }
        }
    }
    let input = Arc::new(LogicalPlan::Projection(Projection::try_new(exprs, Arc::clone(&projection.input))?));
    Ok(LogicalPlan::Sort(Sort { input, ..sort }))
}

/// Invariant 3, but for subqueries that refer to the query around them, LATERAL or not: a limit is in the way of their
/// becoming joins.
fn barred(plan: LogicalPlan) -> Result<LogicalPlan> {
    let outermost = |plan: LogicalPlan| {
        let is_lateral = matches!(&plan, LogicalPlan::Subquery(of) if is_correlated(&of.subquery));
        let recursion = if is_lateral { TreeNodeRecursion::Jump } else { TreeNodeRecursion::Continue };
        Ok(Transformed::new(plan, false, recursion))
    };
    let one = |plan: LogicalPlan| {
        let plan = plan.map_expressions(|expr| {
            expr.transform_up(|expr| {
                Ok(Transformed::yes(match expr {
                    Expr::ScalarSubquery(of) => Expr::ScalarSubquery(barred_subquery(of)?),
                    Expr::InSubquery(of) => {
                        Expr::InSubquery(InSubquery { subquery: barred_subquery(of.subquery)?, ..of })
                    }
                    Expr::Exists(of) => Expr::Exists(Exists { subquery: barred_subquery(of.subquery)?, ..of }),
                    Expr::SetComparison(of) => {
                        Expr::SetComparison(SetComparison { subquery: barred_subquery(of.subquery)?, ..of })
                    }
                    other => return Ok(Transformed::no(other)),
                }))
            })
        })?;
        let has_empty_set = matches!(&plan.data, LogicalPlan::Aggregate(_)) && has_empty_set(&plan.data);
        Ok(match has_empty_set {
            true => {
                let (fetch, input) = (Some(Box::new(lit(i64::MAX))), Arc::new(plan.data));
                Transformed::yes(LogicalPlan::Limit(Limit { skip: None, fetch, input }))
            }
            false => plan,
        })
    };
    plan.transform_down_up(outermost, one).map(|barred| barred.data)
}

fn barred_subquery(of: Subquery) -> Result<Subquery> {
    if is_correlated(&of.subquery) {
        return Ok(of);
    }
    let plan = barred(of.subquery.as_ref().clone())?;
    Ok(Subquery { subquery: Arc::new(plan), ..of })
}

/// Invariant 3.
fn kept(predicate: Expr, input: Arc<LogicalPlan>) -> Result<Transformed<LogicalPlan>> {
    // Of LATERAL, too: what changes from call to call would be asked of rows of its left side.
    let is_lateral = lateral_of(&input).is_some();
    let is_open = |part: &Expr| {
        let is_constant = part.column_refs().is_empty() && !matches!(part, Expr::Literal(..));
        is_constant || (is_lateral && part.is_volatile())
    };
    let parts = split_conjunction_owned(predicate);
    if !parts.iter().any(is_open) || !(is_lateral || has_empty_set(&input)) {
        let predicate = conjunction(parts).unwrap_or_else(|| lit(true));
        return Ok(Transformed::yes(LogicalPlan::Filter(Filter::try_new(predicate, input)?)));
    }
    let input = counted(input)?;
    let column = Column::from(input.schema().qualified_field(input.schema().fields().len() - 1));
    let keep = |part: Expr| match is_open(&part) {
        true => {
            let args = vec![part, Expr::Column(column.clone())];
            Expr::ScalarFunction(ScalarFunction::new_udf(Kept::function(), args))
        }
        false => part,
    };
    let predicate = conjunction(parts.into_iter().map(keep)).unwrap_or_else(|| lit(true));
    Ok(Transformed::yes(LogicalPlan::Filter(Filter::try_new(predicate, input)?)))
}

/// Whether an aggregate that has a row for no rows is in the way of a condition pushed down.
fn has_empty_set(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Aggregate(aggregate) => {
            aggregate.group_expr.is_empty()
                || aggregate.group_expr.iter().any(|expr| matches!(expr, Expr::GroupingSet(_)))
        }
        LogicalPlan::Projection(_)
        | LogicalPlan::SubqueryAlias(_)
        | LogicalPlan::Filter(_)
        | LogicalPlan::Sort(_)
        | LogicalPlan::Window(_)
        | LogicalPlan::Distinct(_) => plan.inputs().into_iter().any(has_empty_set),
        _ => false,
    }
}

/// An aggregate whose last column is one of no key.
fn counted(plan: Arc<LogicalPlan>) -> Result<Arc<LogicalPlan>> {
    match &*plan {
        LogicalPlan::Aggregate(aggregate) if aggregate.aggr_expr.is_empty() => {
            let number = vec![count(lit(1_i64)).alias(format!("{MARKER}kept"))];
            let made = Aggregate::try_new(Arc::clone(&aggregate.input), aggregate.group_expr.clone(), number)?;
            Ok(Arc::new(LogicalPlan::Aggregate(made)))
        }
        _ => Ok(plan),
    }
}
