//! EXISTS, IN, ANY and ALL in forms that the engine plans rightly, with SQL's three truth values.
//!
//! ```text
//!   WHERE x IN (q)                          as it is: rows for which it is not true are left out
//!   WHERE x NOT IN (q)                      as it is when x is a column and q is not correlated
//!   WHERE x NOT IN (q with o.k)             NOT EXISTS (q WHERE (x = y) IS NOT FALSE)
//!   elsewhere, x IN (q)                     CASE WHEN EXISTS (q WHERE x = y) THEN true
//!                                                WHEN CASE WHEN x IS NULL THEN EXISTS (q)
//!                                                     ELSE EXISTS (q WHERE y IS NULL) END
//!                                                THEN NULL ELSE false END
//!   EXISTS (q) that is not correlated       (SELECT count(*) FROM (q LIMIT 1)) > 0: computed once
//!   EXISTS (q with o.k) in result columns   (SELECT count(*) FROM q) > 0
//!   x op ALL (q)                            NOT x (negated op) ANY (q)
//!   what no join stands for                 a subquery that is applied: see `apply`
//! ```
//!
//! 1. The engine's own joins for IN know two truth values (apache/datafusion 21309, 8241, 25336, 25340, 25474): a
//!    negated or embedded IN never reaches them, but for the case above.
//! 2. An aggregate without GROUP BY has one row, or with HAVING at most one: EXISTS and IN of it ask its value (24960).
//! 3. A subquery is written several times only if each time it has the same rows: nothing in it is volatile.

use std::cell::{Cell, OnceCell};
use std::collections::HashMap;
use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Column, DFSchema, ExprSchema, Result, ScalarValue, internal_err};
use datafusion::functions_aggregate::count::count;
use datafusion::logical_expr::expr::{Case, Exists, InSubquery, ScalarFunction, SetComparison, SetQuantifier};
use datafusion::logical_expr::logical_plan::{FetchType, Filter, Projection, SkipType, Subquery};
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{
    BinaryExpr, Distinct, Expr, ExprSchemable, LogicalPlan, LogicalPlanBuilder, Operator, binary_expr, lit, not,
};
use datafusion::optimizer::AnalyzerRule;
use weft_format::{Code, DataType, Error};
use weft_sql::queries::names::MARKER;

use super::apart::kept_apart;
use super::apply::inner::with_outer_types;
use super::apply::mark::{ArrayOfRows, Kind, marked, parts};
use super::apply::outer::reference;
use super::correlation::{
    Asked, check, has_split_groups, has_subquery, is_correlated, is_refusal, is_volatile, reaches_beyond, refused,
    subquery_of,
};
use super::dates::moments;
use super::error::wrap;
use super::extremes::{max, min};
use super::functions::{Maybe, OneRow};
use super::operands::operand_type;
use super::routines::{cast_to, comparable};
use super::types::field_type;

/// Where an expression stands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// A condition of WHERE, HAVING or ON, joined to the others by AND.
    Conjunct,
    /// Inside such a condition.
    Condition,
    /// In a result column.
    Value,
}

impl Place {
    fn inside(self) -> Place {
        if self == Place::Conjunct { Place::Condition } else { self }
    }
}

/// What a rewrite of a plan goes by.
#[derive(Clone, Copy)]
pub(super) struct Context<'a> {
    /// Numbers what must not be taken for one.
    pub(super) made: &'a Cell<u32>,
    pub(super) applies: Applies,
    /// The rules that give expressions their types, which run later.
    pub(super) types: &'a [Arc<dyn AnalyzerRule + Send + Sync>],
    pub(super) config: &'a ConfigOptions,
}

impl Context<'_> {
    pub(super) fn number(&self) -> u32 {
        self.made.replace(self.made.get() + 1)
    }

    /// The columns of plans with the types that they will have. What is wrong with a plan is told later.
    pub(super) fn typed(&self, plans: &[LogicalPlan]) -> DFSchema {
        let typed = |plan: &LogicalPlan| {
            let rules = self.types.iter();
            let typed = rules.clone().try_fold(plan.clone(), |plan, rule| rule.analyze(plan, self.config));
            typed.unwrap_or_else(|_| plan.clone())
        };
        let plans: Vec<LogicalPlan> = plans.iter().map(typed).collect();
        merge_schema(&plans.iter().collect::<Vec<_>>())
    }
}

/// Writes the subqueries of a node's expressions anew.
pub(super) struct Rewriter<'a> {
    context: Context<'a>,
    /// What the node reads.
    inputs: Vec<LogicalPlan>,
    /// The columns of that.
    schema: DFSchema,
    /// The same with their types in the end.
    typed: OnceCell<DFSchema>,
}

impl<'a> Rewriter<'a> {
    pub(super) fn new(inputs: &[&LogicalPlan], context: Context<'a>) -> Rewriter<'a> {
        let schema = merge_schema(inputs);
        let inputs = inputs.iter().map(|input| (*input).clone()).collect();
        Rewriter { context, inputs, schema, typed: OnceCell::new() }
    }

    /// A number that nothing else has.
    pub(super) fn number(&self) -> u32 {
        self.context.number()
    }

    fn typed(&self) -> &DFSchema {
        self.typed.get_or_init(|| self.context.typed(&self.inputs))
    }
}

/// Which subqueries are applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Applies {
    /// Those that no join stands for.
    Others,
    /// All that refer to the query around them.
    Correlated,
    All,
}

impl Rewriter<'_> {
    pub(super) fn rewrite(&self, expr: Expr, place: Place) -> Result<Expr> {
        if !has_subquery(&expr) {
            return Ok(expr);
        }
        let expr = kept_apart(expr, &self.schema, self.context.made)?;
        let Some(of) = subquery_of(&expr) else { return self.parts(expr, place) };
        let applies = match self.context.applies {
            Applies::Others => false,
            Applies::Correlated => is_correlated(&of.subquery),
            Applies::All => true,
        };
        if applies || reaches_beyond(&of.subquery, &self.schema) {
            return self.applied(expr);
        }
        match self.joined(expr.clone(), place) {
            Err(error) if is_refusal(&error) => self.applied(expr),
            made => made,
        }
    }

    /// What has subqueries in it.
    fn parts(&self, expr: Expr, place: Place) -> Result<Expr> {
        match expr {
            Expr::Not(inner) => self.negated(*inner, place),
            Expr::BinaryExpr(BinaryExpr { left, op: Operator::And, right }) if place == Place::Conjunct => {
                Ok(self.rewrite(*left, place)?.and(self.rewrite(*right, place)?))
            }
            other if parts(&other).is_some() => Ok(other),
            other if ArrayOfRows::subquery(&other).is_some() => {
                let Expr::ScalarFunction(mut function) = other else { return internal_err!("no call") };
                match kept_apart(function.args.remove(0), &self.schema, self.context.made)? {
                    Expr::ScalarSubquery(of) => self.marked(Kind::Array, of.subquery.as_ref().clone(), Vec::new()),
                    other => internal_err!("{other} is no subquery"),
                }
            }
            other => {
                let inside = |expr| self.rewrite(expr, place.inside()).map(Transformed::yes);
                other.map_children(inside).map(|expr| expr.data)
            }
        }
    }

    /// A subquery that becomes a join, or is computed once.
    fn joined(&self, expr: Expr, place: Place) -> Result<Expr> {
        match expr {
            Expr::Exists(Exists { subquery, negated }) => self.exists(&subquery.subquery, negated, place),
            Expr::InSubquery(InSubquery { expr, subquery, negated }) => {
                let test = Test { left: self.rewrite(*expr, place.inside())?, op: Operator::Eq, subquery, negated };
                self.any(test, place)
            }
            Expr::SetComparison(SetComparison { expr, subquery, op, quantifier }) => {
                let left = self.rewrite(*expr, place.inside())?;
                let (op, negated) = match quantifier {
                    SetQuantifier::Any => (op, false),
                    SetQuantifier::All => (opposite(op)?, true),
                };
                self.any(Test { left, op, subquery, negated }, place)
            }
            Expr::ScalarSubquery(subquery) => self.value(subquery),
            other => self.parts(other, place),
        }
    }

    /// A subquery that runs for each row of what is around.
    fn applied(&self, expr: Expr) -> Result<Expr> {
        match expr {
            Expr::Exists(Exists { subquery, negated }) => {
                let plan = LogicalPlanBuilder::from(subquery.subquery.as_ref().clone());
                let plan =
                    plan.project(vec![lit(true).alias(format!("{MARKER}exists"))])?.limit(0, Some(1))?.build()?;
                let exists = self.marked(Kind::Exists, plan, Vec::new())?;
                Ok(if negated { not(exists) } else { exists })
            }
            Expr::InSubquery(InSubquery { expr, subquery, negated }) => {
                let left = self.rewrite(*expr, Place::Value)?;
                self.applied_any(Test { left, op: Operator::Eq, subquery, negated })
            }
            Expr::SetComparison(SetComparison { expr, subquery, op, quantifier }) => {
                let left = self.rewrite(*expr, Place::Value)?;
                let (op, negated) = match quantifier {
                    SetQuantifier::Any => (op, false),
                    SetQuantifier::All => (opposite(op)?, true),
                };
                self.applied_any(Test { left, op, subquery, negated })
            }
            Expr::ScalarSubquery(of) => self.marked(Kind::Value, of.subquery.as_ref().clone(), Vec::new()),
            other => Ok(other),
        }
    }

    /// Each row of the subquery says whether the comparison holds; what is compared is an outer value.
    fn applied_any(&self, test: Test) -> Result<Expr> {
        self.check_types(&test)?;
        let test = self.in_moments(test)?;
        let test = self.in_moments(test)?;
        let plan = test.subquery.subquery.as_ref().clone();
        let number = self.context.number();
        let mut values = Vec::new();
        let is_constant = !test.left.any_column_refs() && !test.left.contains_outer() && !has_subquery(&test.left);
        let left = if is_constant {
            test.left
        } else {
            let (_, field) = test.left.to_field(self.typed())?;
            values.push(test.left);
            reference(field, number, 0)
        };
        let data_type = field_type(plan.schema().field(0));
        let name = format!("{MARKER}any");
        let compared = ordered(left, test.op, column_of(&plan), data_type).alias(&name);
        let told = LogicalPlanBuilder::from(plan).project(vec![compared])?;
        let told = told.filter(Expr::Column(Column::from_name(name)).is_not_false())?.build()?;
        let told = with_outer_types(told, self.typed())?;
        let any = marked(Kind::Any, told, values, self.typed(), number)?;
        Ok(if test.negated { not(any) } else { any })
    }

    fn marked(&self, kind: Kind, plan: LogicalPlan, values: Vec<Expr>) -> Result<Expr> {
        let plan = with_outer_types(plan, self.typed())?;
        marked(kind, plan, values, self.typed(), self.context.number())
    }

    fn negated(&self, inner: Expr, place: Place) -> Result<Expr> {
        match inner {
            Expr::Not(inner) => self.rewrite(*inner, place),
            Expr::Exists(Exists { subquery, negated }) => {
                self.rewrite(Expr::Exists(Exists { subquery, negated: !negated }), place)
            }
            Expr::InSubquery(InSubquery { expr, subquery, negated }) => {
                self.rewrite(Expr::InSubquery(InSubquery { expr, subquery, negated: !negated }), place)
            }
            other => Ok(not(self.rewrite(other, place.inside())?)),
        }
    }

    /// Whether a plan has rows.
    fn exists(&self, plan: &LogicalPlan, negated: bool, place: Place) -> Result<Expr> {
        let (plan, skipped) = match without_order(plan)? {
            Rows::None => return Ok(lit(negated)),
            Rows::Of(plan, skipped) => (plan, skipped),
        };
        if !is_correlated(plan) {
            check(plan, Asked::Rows)?;
            let some = LogicalPlanBuilder::from(plan.clone()).limit(skipped, Some(1))?.build()?;
            return compared_count(some, 0, negated);
        }
        if skipped > 0 {
            return compared_count(plan.clone(), skipped as i64, negated);
        }
        match one_row(plan)? {
            OneRowOf::Always => Ok(lit(!negated)),
            OneRowOf::When(condition) => {
                let is_there = scalar(condition)?;
                Ok(if negated { is_there.is_not_true() } else { is_there.is_true() })
            }
            OneRowOf::Other if place == Place::Value => compared_count(plan.clone(), 0, negated),
            OneRowOf::Other => {
                let plan = unnamed(plan)?.0;
                check(&plan, Asked::Rows)?;
                Ok(Expr::Exists(Exists { subquery: subquery(plan), negated }))
            }
        }
    }

    /// Whether a comparison holds for some row.
    fn any(&self, test: Test, place: Place) -> Result<Expr> {
        let test = Test { subquery: subquery(unnamed(&test.subquery.subquery)?.0), ..test };
        self.check_types(&test)?;
        let plan = Arc::clone(&test.subquery.subquery);
        let correlated = is_correlated(&plan);
        if correlated {
            match one_row(&plan)? {
                OneRowOf::Other => {}
                found => return self.any_of_one(test, found),
            }
        }
        if correlated_inside(&test.left) {
            return refused("on the left of a comparison with another subquery");
        }
        match (place, test.negated) {
            (Place::Conjunct, false) if test.op == Operator::Eq => {
                check(&plan, Asked::Member)?;
                let Test { left, subquery, .. } = by_span(test)?;
                Ok(Expr::InSubquery(InSubquery { expr: Box::new(left), subquery, negated: false }))
            }
            (Place::Conjunct, false) => self.exists(&self.filtered(&test, None)?, false, place),
            (Place::Conjunct, true) => self.none(test, correlated),
            _ => self.three_valued(&by_span(test)?, place),
        }
    }

    /// Dates beside timestamps as these.
    fn in_moments(&self, test: Test) -> Result<Test> {
        let (left, subquery) = moments(test.left, test.subquery, &self.schema)?;
        Ok(Test { left, subquery, ..test })
    }

    /// Refuses what has no comparison.
    fn check_types(&self, test: &Test) -> Result<()> {
        let plan = &test.subquery.subquery;
        let [field] = &plan.schema().fields()[..] else {
            let message = format!("subquery must return only one column, not {}", plan.schema().fields().len());
            return Err(wrap(Error::new(Code::SyntaxError, message)));
        };
        // Constants in quotes and NULL take the other's type.
        if let (Some(left), false) = (operand_type(&test.left, &self.schema), is_open(plan))
            && weft_expr::common_type(left, field_type(field)).is_none()
        {
            let [left, right] = [left, field_type(field)].map(weft_expr::text::type_name);
            let message = format!("operator does not exist: {left} {} {right}", test.op);
            return Err(wrap(
                Error::new(Code::UndefinedFunction, message).hint("cast one side to the type of the other"),
            ));
        }
        Ok(())
    }

    /// Invariant 2: a comparison with the one row, if it is there.
    fn any_of_one(&self, test: Test, found: OneRowOf) -> Result<Expr> {
        let plan = &test.subquery.subquery;
        let (value, condition) = match found {
            OneRowOf::When(condition) => (without_condition(plan)?, Some(condition)),
            _ => (plan.as_ref().clone(), None),
        };
        let data_type = field_type(value.schema().field(0));
        let compared = ordered(test.left, test.op, scalar(value)?, data_type);
        let compared = if test.negated { not(compared) } else { compared };
        Ok(match condition {
            Some(condition) => case(vec![(scalar(condition)?.is_true(), compared)], lit(test.negated)),
            None => compared,
        })
    }

    /// A conjunct that is true when the comparison is false for each row.
    fn none(&self, test: Test, correlated: bool) -> Result<Expr> {
        let plan = Arc::clone(&test.subquery.subquery);
        let once = test.left.is_volatile() || is_volatile(&plan);
        let is_interval = field_type(plan.schema().field(0)) == DataType::Interval;
        let is_plain = matches!(test.left, Expr::Column(_)) && test.op == Operator::Eq && !correlated && !is_interval;
        if is_plain {
            check(&plan, Asked::Member)?;
            let Test { left, subquery, .. } = test;
            return Ok(Expr::InSubquery(InSubquery { expr: Box::new(left), subquery, negated: true }));
        }
        if correlated || once || test.op != Operator::Eq || !test.left.any_column_refs() {
            let unless_false = self.filtered(&test, Some(Expr::is_not_false))?;
            return self.exists(&unless_false, true, Place::Conjunct);
        }
        let mut all = self.exists(&self.filtered(&test, None)?, true, Place::Conjunct)?;
        if plan.schema().field(0).is_nullable() {
            all = all.and(self.exists(&nulls(&plan)?, true, Place::Conjunct)?);
        }
        if test.left.nullable(&self.schema)? {
            all = all.and(test.left.is_not_null().or(self.exists(&plan, true, Place::Condition)?));
        }
        Ok(all)
    }

    fn three_valued(&self, test: &Test, place: Place) -> Result<Expr> {
        let plan = &test.subquery.subquery;
        if test.left.is_volatile() || is_volatile(plan) {
            return refused("with a function whose value changes from call to call");
        }
        let found = match extremum(test.op) {
            Some(aggregate) if place == Place::Value => {
                let data_type = field_type(plan.schema().field(0));
                let best = aggregate(comparable(column_of(plan), data_type));
                let best = LogicalPlanBuilder::from(plan.as_ref().clone()).aggregate(Vec::<Expr>::new(), vec![best])?;
                let left = comparable(test.left.clone(), data_type);
                binary_expr(left, test.op, scalar(best.build()?)?).is_true()
            }
            _ => self.exists(&self.filtered(test, None)?, false, place)?,
        };
        let (left_null, row_null) = (test.left.nullable(&self.schema)?, plan.schema().field(0).is_nullable());
        let mut unknown = None;
        if row_null {
            unknown = Some(self.exists(&nulls(plan)?, false, place)?);
        }
        if left_null {
            let any = self.exists(plan, false, place)?;
            unknown = Some(case(vec![(test.left.clone().is_null(), any)], unknown.unwrap_or(lit(false))));
        }
        let mut branches = vec![(found, lit(!test.negated))];
        branches.extend(unknown.map(|unknown| (unknown, Expr::Literal(ScalarValue::Boolean(None), None))));
        Ok(case(branches, lit(test.negated)))
    }

    /// The rows for which the comparison holds; `wider` changes what holding is.
    fn filtered(&self, test: &Test, wider: Option<fn(Expr) -> Expr>) -> Result<LogicalPlan> {
        let plan = &test.subquery.subquery;
        if is_correlated(plan) && has_grouping_sets(plan) {
            // A comparison that comes to be a constant would be pushed below them (invariant 3 of `subqueries`).
            return refused("above grouping sets");
        }
        let left = test.left.clone().transform_up(|expr| {
            Ok(match expr {
                Expr::Column(column) => {
                    let field = Arc::clone(self.schema.field_from_column(&column)?);
                    Transformed::yes(Expr::OuterReferenceColumn(field, column))
                }
                other => Transformed::no(other),
            })
        })?;
        let compared = ordered(left.data, test.op, column_of(plan), field_type(plan.schema().field(0)));
        let compared = wider.map_or(compared.clone(), |wider| wider(compared));
        LogicalPlanBuilder::from(plan.as_ref().clone()).filter(compared)?.build()
    }

    /// A subquery that is a value. A correlated one becomes a join, which would repeat rows: of one row the maximum is
    /// the value; more than one row is an error where the value is used ([`OneRow`]).
    fn value(&self, of: Subquery) -> Result<Expr> {
        let plan = &of.subquery;
        if !is_correlated(plan) {
            check(plan, Asked::Value)?;
            if !is_single_row(plan) {
                // That there are several is an error where the value is asked for only.
                return self.marked(Kind::Value, plan.as_ref().clone(), Vec::new());
            }
            if !is_volatile(plan) {
                return Ok(nullable(of));
            }
            // The engine computes equal subqueries once.
            let number = self.context.number();
            let named = LogicalPlanBuilder::from(plan.as_ref().clone()).alias(format!("{MARKER}once{number}"))?;
            return Ok(nullable(subquery(named.build()?)));
        }
        let [_] = &plan.schema().fields()[..] else { return Ok(Expr::ScalarSubquery(of)) };
        if let Some(value) = of_no_table(plan)? {
            return Ok(value);
        }
        if is_single_row(plan) {
            return scalar(plan.as_ref().clone());
        }
        if plan.exists(|node| Ok(matches!(node, LogicalPlan::Aggregate(_))))? {
            return refused("below an aggregate of an aggregate");
        }
        let aggregated = |aggregate: Expr| -> Result<Expr> {
            scalar(
                LogicalPlanBuilder::from(plan.as_ref().clone())
                    .aggregate(Vec::<Expr>::new(), vec![aggregate])?
                    .build()?,
            )
        };
        let args = vec![aggregated(max(column_of(plan)))?, aggregated(count(lit(1_i64)))?];
        Ok(Expr::ScalarFunction(ScalarFunction::new_udf(OneRow::function(), args)))
    }
}

/// A test of intervals as one of their spans: the engine's joins compare months, days and microseconds.
fn by_span(test: Test) -> Result<Test> {
    let plan = &test.subquery.subquery;
    let field = plan.schema().field(0);
    if field_type(field) != DataType::Interval {
        return Ok(test);
    }
    let spans = vec![comparable(column_of(plan), DataType::Interval).alias(field.name())];
    let spans = LogicalPlanBuilder::from(plan.as_ref().clone()).project(spans)?.build()?;
    Ok(Test { left: span(test.left), subquery: subquery(spans), ..test })
}

/// A comparison: of intervals by their spans, arrays are put in order by their bytes.
fn ordered(left: Expr, op: Operator, right: Expr, data_type: DataType) -> Expr {
    let is_equality = matches!(op, Operator::Eq | Operator::NotEq);
    match data_type {
        DataType::Interval => binary_expr(span(left), op, comparable(right, data_type)),
        DataType::Array(_) if !is_equality => {
            binary_expr(comparable(left, data_type), op, comparable(right, data_type))
        }
        _ => binary_expr(left, op, right),
    }
}

/// The span of what is compared with intervals; a constant in quotes is one.
fn span(expr: Expr) -> Expr {
    let is_text = matches!(expr, Expr::Literal(ScalarValue::Utf8(_) | ScalarValue::Null, _));
    comparable(if is_text { cast_to(expr, DataType::Interval) } else { expr }, DataType::Interval)
}

fn has_grouping_sets(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Aggregate(aggregate) => aggregate.group_expr.iter().any(|of| matches!(of, Expr::GroupingSet(_))),
        LogicalPlan::Projection(_)
        | LogicalPlan::SubqueryAlias(_)
        | LogicalPlan::Filter(_)
        | LogicalPlan::Distinct(_)
        | LogicalPlan::Window(_) => plan.inputs().into_iter().any(has_grouping_sets),
        _ => false,
    }
}

/// Whether the column of a plan may be a constant without a type.
fn is_open(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Projection(projection) => projection.expr.iter().any(|expr| {
            let expr = expr.clone().unalias();
            matches!(expr, Expr::Literal(ScalarValue::Null, _) | Expr::Placeholder(_))
        }),
        LogicalPlan::TableScan(_) | LogicalPlan::Aggregate(_) => false,
        other => other.inputs().is_empty() || other.inputs().into_iter().any(is_open),
    }
}

/// `left op ANY (subquery)`, or that it is not so.
struct Test {
    left: Expr,
    op: Operator,
    subquery: Subquery,
    negated: bool,
}

fn opposite(op: Operator) -> Result<Operator> {
    op.negate().ok_or_else(|| {
        wrap(Error::new(Code::FeatureNotSupported, format!("the operator {op} with ALL (subquery) is not supported")))
    })
}

/// The row with which a comparison holds if it holds with any.
fn extremum(op: Operator) -> Option<fn(Expr) -> Expr> {
    match op {
        Operator::Lt | Operator::LtEq => Some(max),
        Operator::Gt | Operator::GtEq => Some(min),
        _ => None,
    }
}

fn correlated_inside(expr: &Expr) -> bool {
    let is_one = |expr: &Expr| subquery_of(expr).is_some_and(|subquery| is_correlated(&subquery.subquery));
    expr.exists(|expr| Ok(is_one(expr))).expect("the search does not fail")
}

fn case(branches: Vec<(Expr, Expr)>, otherwise: Expr) -> Expr {
    let branches = branches.into_iter().map(|(when, then)| (Box::new(when), Box::new(then))).collect();
    Expr::Case(Case { expr: None, when_then_expr: branches, else_expr: Some(Box::new(otherwise)) })
}

/// The one column of a subquery.
fn column_of(plan: &LogicalPlan) -> Expr {
    Expr::Column(Column::from(plan.schema().qualified_field(0)))
}

fn nulls(plan: &LogicalPlan) -> Result<LogicalPlan> {
    LogicalPlanBuilder::from(plan.clone()).filter(column_of(plan).is_null())?.build()
}

fn subquery(plan: LogicalPlan) -> Subquery {
    let outer_ref_columns = plan.all_out_ref_exprs();
    Subquery { subquery: Arc::new(plan), outer_ref_columns, spans: Default::default() }
}

/// A subquery as a value, which is NULL when it has no row.
pub(super) fn nullable(of: Subquery) -> Expr {
    let value = Expr::ScalarSubquery(of);
    Expr::ScalarFunction(ScalarFunction::new_udf(Maybe::function(), vec![value]))
}

fn scalar(plan: LogicalPlan) -> Result<Expr> {
    let plan = unnamed(&plan)?.0;
    check(&plan, Asked::Value)?;
    if is_correlated(&plan) && has_split_groups(&plan) {
        return refused("by other than equality below an aggregate");
    }
    Ok(nullable(subquery(plan)))
}

/// `(SELECT value WHERE condition)` as a CASE: the engine takes a constant behind its join for one in every row.
fn of_no_table(plan: &LogicalPlan) -> Result<Option<Expr>> {
    let (value, input) = match plan {
        LogicalPlan::SubqueryAlias(alias) => return of_no_table(&alias.input),
        LogicalPlan::Projection(projection) => match &projection.expr[..] {
            [value] => (value.clone().unalias(), &projection.input),
            _ => return Ok(None),
        },
        _ => return Ok(None),
    };
    let LogicalPlan::Filter(filter) = &**input else { return Ok(None) };
    let is_one_row = matches!(&*filter.input, LogicalPlan::EmptyRelation(empty) if empty.produce_one_row);
    let is_once = value.is_volatile() || filter.predicate.is_volatile();
    if is_one_row && has_subquery(&filter.predicate) {
        // The engine loses `o.x` of `WHERE o.x IN (...)` where there is no FROM.
        return refused("without FROM, in a condition with another subquery");
    }
    if !is_one_row || is_once || has_subquery(&value) {
        return Ok(None);
    }
    let inner = |expr: Expr| {
        expr.transform_up(|expr| {
            Ok(match expr {
                Expr::OuterReferenceColumn(_, column) => Transformed::yes(Expr::Column(column)),
                other => Transformed::no(other),
            })
        })
    };
    let null = Expr::Literal(ScalarValue::Null, None);
    Ok(Some(case(vec![(inner(filter.predicate.clone())?.data, inner(value)?.data)], null)))
}

/// Whether a plan has more rows than that, or not.
fn compared_count(plan: LogicalPlan, than: i64, negated: bool) -> Result<Expr> {
    let plan = LogicalPlanBuilder::from(plan).aggregate(Vec::<Expr>::new(), vec![count(lit(1_i64))])?.build()?;
    let (count, than) = (scalar(plan)?, lit(than));
    Ok(if negated { count.lt_eq(than) } else { count.gt(than) })
}

/// Columns that have another name in a plan made anew.
type Renamed = HashMap<Column, Column>;

/// A plan without the names that subqueries of its FROM have, as far as there is one relation only: the engine loses
/// the columns of lifted conditions, and the values of no rows, behind such names.
fn unnamed(plan: &LogicalPlan) -> Result<(LogicalPlan, Renamed)> {
    let as_it_is = || Ok((plan.clone(), Renamed::new()));
    if plan.expressions().iter().any(has_subquery) {
        return as_it_is();
    }
    let made = match plan {
        LogicalPlan::SubqueryAlias(alias) if matches!(*alias.input, LogicalPlan::TableScan(_)) => return as_it_is(),
        LogicalPlan::SubqueryAlias(alias) => unnamed(&alias.input)?.0,
        LogicalPlan::Projection(projection) => {
            let (input, renamed) = unnamed(&projection.input)?;
            let names = projection.schema.fields().iter();
            let exprs = projection.expr.iter().zip(names).map(|(expr, field)| {
                let made = replaced(expr.clone(), &renamed)?;
                let keeps_name = matches!(&made, Expr::Column(column) if column.name == *field.name());
                Ok(if keeps_name { made } else { made.unalias().alias(field.name()) })
            });
            let exprs = exprs.collect::<Result<Vec<_>>>()?;
            LogicalPlan::Projection(Projection::try_new(exprs, Arc::new(input))?)
        }
        LogicalPlan::Filter(filter) => {
            let (input, renamed) = unnamed(&filter.input)?;
            let predicate = replaced(filter.predicate.clone(), &renamed)?;
            LogicalPlan::Filter(Filter::try_new(predicate, Arc::new(input))?)
        }
        _ => return as_it_is(),
    };
    let renamed = plan.schema().columns().into_iter().zip(made.schema().columns()).collect();
    Ok((made, renamed))
}

fn replaced(expr: Expr, renamed: &Renamed) -> Result<Expr> {
    let replaced = expr.transform_up(|expr| {
        Ok(match &expr {
            Expr::Column(column) => match renamed.get(column) {
                Some(other) => Transformed::yes(Expr::Column(other.clone())),
                None => Transformed::no(expr),
            },
            _ => Transformed::no(expr),
        })
    })?;
    Ok(replaced.data)
}

enum Rows<'a> {
    None,
    /// Those of a plan, but for so many.
    Of(&'a LogicalPlan, usize),
}

/// A plan without what does not change whether it has rows.
fn without_order(mut plan: &LogicalPlan) -> Result<Rows<'_>> {
    loop {
        plan = match plan {
            LogicalPlan::Projection(projection) => &projection.input,
            LogicalPlan::SubqueryAlias(alias) => &alias.input,
            LogicalPlan::Sort(sort) if sort.fetch.is_none() => &sort.input,
            LogicalPlan::Distinct(Distinct::All(input)) => input,
            LogicalPlan::Limit(limit) => match (limit.get_skip_type()?, limit.get_fetch_type()?) {
                (_, FetchType::Literal(Some(0))) => return Ok(Rows::None),
                (SkipType::Literal(0), FetchType::Literal(_)) => &limit.input,
                (SkipType::Literal(skipped), FetchType::Literal(_)) => return Ok(Rows::Of(&limit.input, skipped)),
                _ => return Ok(Rows::Of(plan, 0)),
            },
            other => return Ok(Rows::Of(other, 0)),
        };
    }
}

enum OneRowOf {
    /// It has exactly one row.
    Always,
    /// It has one row when the value of this subquery is true, else none.
    When(LogicalPlan),
    Other,
}

/// Whether a correlated plan is an aggregate without GROUP BY, perhaps with HAVING.
fn one_row(plan: &LogicalPlan) -> Result<OneRowOf> {
    let mut plan = plan;
    let mut having = None;
    loop {
        plan = match plan {
            LogicalPlan::Projection(projection) => &projection.input,
            LogicalPlan::SubqueryAlias(alias) => &alias.input,
            LogicalPlan::Filter(filter) if !filter.predicate.contains_outer() && having.is_none() => {
                having = Some(filter);
                &filter.input
            }
            LogicalPlan::Aggregate(aggregate) if aggregate.group_expr.is_empty() && is_correlated(&aggregate.input) => {
                let Some(filter) = having else { return Ok(OneRowOf::Always) };
                let condition = filter.predicate.clone().alias(format!("{MARKER}having"));
                let input = LogicalPlanBuilder::from(filter.input.as_ref().clone());
                return Ok(OneRowOf::When(input.project(vec![condition])?.build()?));
            }
            _ => return Ok(OneRowOf::Other),
        };
    }
}

/// The plan of [`OneRowOf::When`] without its condition.
fn without_condition(plan: &LogicalPlan) -> Result<LogicalPlan> {
    match plan {
        LogicalPlan::Filter(filter) => Ok(filter.input.as_ref().clone()),
        LogicalPlan::Projection(_) | LogicalPlan::SubqueryAlias(_) => {
            let inputs = plan.inputs().into_iter().map(without_condition).collect::<Result<Vec<_>>>()?;
            plan.with_new_exprs(plan.expressions(), inputs)
        }
        other => Ok(other.clone()),
    }
}

/// Whether a plan has at most one row.
pub(super) fn is_single_row(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Projection(projection) => is_single_row(&projection.input),
        LogicalPlan::SubqueryAlias(alias) => is_single_row(&alias.input),
        LogicalPlan::Sort(sort) => is_single_row(&sort.input),
        LogicalPlan::Filter(filter) => is_single_row(&filter.input),
        LogicalPlan::Aggregate(aggregate) => aggregate.group_expr.is_empty(),
        other => other.max_rows().is_some_and(|rows| rows <= 1),
    }
}
