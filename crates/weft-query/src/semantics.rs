//! Two rewrites of a logical plan that give it PostgreSQL's types and errors.
//!
//! ```text
//!   before types are coerced   1 → integer 1;  int_column = '7' → int_column = 7
//!   after                      a + b → add(a, b);  -a → subtract(0, a);  1.5::integer → rounded, not cut
//! ```
//!
//! 1. Every rewrite keeps the name of an output column, so references from above stay valid.
//! 2. Arithmetic on integers and division of floats is never left to the engine's wrapping operators, wherever it
//!    stands in the plan; constant folding runs the same functions.

use arrow::datatypes::DataType as ArrowType;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::functions::unicode::expr_fn::left;
use datafusion::logical_expr::expr::{
    AggregateFunction, Between, Case, Cast, InList, InSubquery, ScalarFunction, WindowFunction,
};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{
    BinaryExpr, Expr, ExprSchemable, LogicalPlan, Operator, WindowFrame, WindowFrameUnits, WindowFunctionDefinition,
    binary_expr, cast, lit, not,
};
use datafusion::optimizer::AnalyzerRule;

use weft_expr::Local;
use weft_expr::routines::{Routine, Signature};
use weft_format::{DataType, Value};
use weft_sql::expr::{NUMERIC_DEFAULT, open};

use super::arithmetic::{Checked, RoundEven, numeric_of};
use super::dates::{as_moment, beside_timestamps, case_in_moments, day_of, moment_of, moments};
use super::enum_types;
use super::error::wrap;
use super::functions;
use super::greatest::{extreme_by_key, is_extreme_by_key};
use super::keyed_groups::keyed;
use super::local::local_of;
use super::nearest::Nearest;
use super::operands::{is_special, operand_type, with_type};
use super::routines::{
    as_type, bound, cast_present, cast_to, comparable, in_list, is_compared_by_key, is_time, settled, typed_call,
    widened,
};
use super::told_once::told_once;
use super::types::{field_of, field_type, output_type};
use super::unified::{Meeting, unified, unified_sets, unified_union, unified_values};
use super::unsorted::silenced;
use super::window_calls;

/// Types of constants; runs before type coercion.
#[derive(Debug)]
pub(crate) struct PostgresTypes;

impl AnalyzerRule for PostgresTypes {
    fn name(&self) -> &str {
        "postgres_types"
    }

    fn analyze(&self, plan: LogicalPlan, config: &ConfigOptions) -> Result<LogicalPlan> {
        let local = local_of(config);
        let meeting = Meeting { local, in_moments: !is_recursive(&plan)? };
        let plan = plan.transform_up_with_subqueries(|plan| match plan {
            LogicalPlan::Values(values) => unified_values(values, meeting),
            other => Ok(Transformed::no(other)),
        })?;
        let ours = |expr: Expr, schema: &DFSchema| {
            expr.transform_up(|expr| {
                let unified = unified(expr, schema, meeting)?.transform_data(|expr| ours(expr, schema))?;
                unified.transform_data(|expr| Ok(narrow_first(expr, schema)))
            })
        };
        let plan = rewrite_plan(plan.data, true, ours)?;
        let plan = plan.transform_up_with_subqueries(|plan| match plan {
            LogicalPlan::Union(union) => unified_union(union, meeting),
            LogicalPlan::Join(join) => unified_sets(join)?.transform_data(in_types_of_inputs),
            other => in_types_of_inputs(other),
        })?;
        let plan = plan.data;
        if is_recursive(&plan)? {
            return Ok(plan);
        }
        let plan = rewrite_plan(plan, false, retype)?.transform_up_with_subqueries(|plan| match plan {
            LogicalPlan::Union(union) => unified_union(union, meeting),
            LogicalPlan::Join(join) => unified_sets(join)?.map_data(LogicalPlan::recompute_schema),
            other => other.recompute_schema().map(Transformed::no),
        })?;
        keyed(plan.data.transform_up_with_subqueries(sorted_by_key)?.data)
    }
}

/// A node over inputs that set operations may have made wider: its columns, and the operators whose type follows from
/// their arguments'.
fn in_types_of_inputs(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    rewrite_node(plan.recompute_schema()?, |expr, schema| {
        expr.transform_up(|expr| narrow_first(expr, schema).transform_data(|expr| Ok(widened(expr, schema))))
    })
}

/// What a value is put in order by, if that is not the value: floats, whose zeros are equal, and types of ours.
fn key_of(expr: &Expr, schema: &DFSchema) -> Option<Expr> {
    match operand_type(expr, schema)? {
        DataType::DoublePrecision => Some(binary_expr(expr.clone(), Operator::Plus, lit(0_f64))),
        DataType::Real => Some(binary_expr(expr.clone(), Operator::Plus, lit(0_f32))),
        data_type if is_compared_by_key(data_type) => Some(comparable(expr.clone(), data_type)),
        _ => None,
    }
}

/// ORDER BY of an interval is by its span, of an array by its bytes.
fn sorted_by_key(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    let LogicalPlan::Sort(mut sort) = plan else { return Ok(Transformed::no(plan)) };
    let schema = sort.input.schema();
    let mut changed = false;
    for key in &mut sort.expr {
        if let Some(made) = key_of(&key.expr, schema) {
            key.expr = made;
            changed = true;
        }
    }
    Ok(Transformed::new(LogicalPlan::Sort(sort), changed, TreeNodeRecursion::Continue))
}

/// Checked arithmetic and rounding casts; runs after type coercion.
#[derive(Debug)]
pub(crate) struct CheckedArithmetic;

impl AnalyzerRule for CheckedArithmetic {
    fn name(&self) -> &str {
        "checked_arithmetic"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        let plan = rewrite_plan(plan, false, |expr, schema| expr.transform_up(|expr| checked(expr, schema)))?;
        if !has_union(&plan)? {
            return Ok(plan);
        }
        // What they say of NULL may have changed.
        let told = plan.transform_up_with_subqueries(|plan| match plan {
            LogicalPlan::Union(union) => unified_union(union, Meeting::coerced()),
            other => other.recompute_schema().map(Transformed::no),
        })?;
        Ok(told.data)
    }
}

fn is_recursive(plan: &LogicalPlan) -> Result<bool> {
    has_node(plan, |node| matches!(node, LogicalPlan::RecursiveQuery(_)))
}

fn has_union(plan: &LogicalPlan) -> Result<bool> {
    has_node(plan, |node| matches!(node, LogicalPlan::Union(_)))
}

/// Whether a plan, or a subquery in it, has such a node.
pub(super) fn has_node(plan: &LogicalPlan, is_one: fn(&LogicalPlan) -> bool) -> Result<bool> {
    let mut found = false;
    plan.apply_with_subqueries(|node| {
        found |= is_one(node);
        Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    Ok(found)
}

pub(super) fn rewrite_plan(
    plan: LogicalPlan,
    in_values: bool,
    rewrite: impl Fn(Expr, &DFSchema) -> Result<Transformed<Expr>>,
) -> Result<LogicalPlan> {
    let rewritten = plan.transform_up_with_subqueries(|plan| {
        let is_values = matches!(plan, LogicalPlan::Values(_)) && !in_values;
        if is_values || matches!(plan, LogicalPlan::Limit(_) | LogicalPlan::TableScan(_)) {
            return Ok(Transformed::no(plan));
        }
        rewrite_node(plan, &rewrite)
    })?;
    Ok(rewritten.data)
}

/// A node with its expressions rewritten, under the names that they had.
fn rewrite_node(
    plan: LogicalPlan,
    rewrite: impl Fn(Expr, &DFSchema) -> Result<Transformed<Expr>>,
) -> Result<Transformed<LogicalPlan>> {
    let schema = merge_schema(&plan.inputs());
    let names = NamePreserver::new(&plan);
    plan.map_expressions(|expr| {
        let name = names.save(&expr);
        Ok(rewrite(expr, &schema)?.update_data(|expr| name.restore(expr)))
    })?
    .map_data(LogicalPlan::recompute_schema)
}

/// Functions whose result has the type of their arguments, so that a constant among them is typed as PostgreSQL does.
const TYPED_BY_ARGUMENTS: &[&str] = &["coalesce", "nullif", "greatest", "least", "abs", "sum", "avg", "min", "max"];

fn retype(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    expr.transform_down_up(
        |expr| {
            let name = match &expr {
                Expr::ScalarFunction(function) => function.func.name(),
                Expr::AggregateFunction(function) => function.func.name(),
                Expr::WindowFunction(window) => match &window.fun {
                    WindowFunctionDefinition::AggregateUDF(function) => function.name(),
                    WindowFunctionDefinition::WindowUDF(_) => "",
                },
                _ => return Ok(Transformed::no(expr)),
            };
            let descend = TYPED_BY_ARGUMENTS.contains(&name);
            let recursion = if descend { TreeNodeRecursion::Continue } else { TreeNodeRecursion::Jump };
            Ok(Transformed::new(expr, false, recursion))
        },
        |expr| retype_one(expr, schema),
    )
}

fn retype_one(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    Ok(match expr {
        Expr::Literal(ScalarValue::Int64(Some(value)), metadata) => match i32::try_from(value) {
            Ok(narrow) => Transformed::yes(Expr::Literal(ScalarValue::Int32(Some(narrow)), metadata)),
            Err(_) => Transformed::no(Expr::Literal(ScalarValue::Int64(Some(value)), metadata)),
        },
        Expr::ScalarFunction(function) if function.func.name() == "nullif" => as_first(function, schema),
        Expr::BinaryExpr(BinaryExpr { left, op, right }) if is_comparison(op) => {
            let (left, right) = (read_as(*left, &right, schema), right);
            let right = read_as(*right, &left, schema);
            Transformed::yes(Expr::BinaryExpr(BinaryExpr::new(Box::new(left), op, Box::new(right))))
        }
        Expr::InList(InList { expr, list, negated }) => {
            // One item is compared with `=`; several are read in one type with what is looked up.
            let expr = match &list[..] {
                [item] => Box::new(read_as_float(*expr, std::iter::once(item), schema)),
                _ => expr,
            };
            let expr = Box::new(beside_timestamps(*expr, list.iter(), schema));
            let list: Vec<Expr> = list.into_iter().map(|item| read_as_member(item, &expr, schema)).collect();
            Transformed::yes(member(*expr, list, negated))
        }
        Expr::InSubquery(InSubquery { expr, subquery, negated }) => {
            let (expr, subquery) = moments(*expr, subquery, schema)?;
            Transformed::yes(Expr::InSubquery(InSubquery { expr: Box::new(expr), subquery, negated }))
        }
        Expr::Between(Between { expr, negated, low, high }) => {
            let expr = Box::new(read_as_float(*expr, [&*low, &*high].into_iter(), schema));
            let (low, high) = (day_of(*low, &expr, schema), day_of(*high, &expr, schema));
            let expr = Box::new(beside_timestamps(*expr, [&low, &high].into_iter(), schema));
            let low = Box::new(read_as(low, &expr, schema));
            let high = Box::new(read_as(high, &expr, schema));
            Transformed::yes(Expr::Between(Between { expr, negated, low, high }))
        }
        other => Transformed::no(other),
    })
}

/// What concerns types that only routines read: casts, lists, ranges, signs.
fn ours(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    Ok(match expr {
        Expr::Cast(Cast { expr, field }) => {
            let (from, to) = (operand_type(&expr, schema), field_type(&field));
            // What the engine reads of a literal is less than what PostgreSQL does: '2024-01-31 10:00'.
            let is_stamp = match from {
                None => is_time(to),
                Some(from) => is_session_cast(from, to),
            };
            let is_null = matches!(*expr, Expr::Literal(ScalarValue::Null, _));
            let is_ours = is_special(to) || from.is_some_and(is_special) || (is_stamp && !is_null);
            if !is_ours || matches!(*expr, Expr::Placeholder(_)) || from == Some(to) {
                return Ok(Transformed::no(Expr::Cast(Cast { expr, field })));
            }
            let given = from.unwrap_or(DataType::Text);
            if !weft_expr::is_castable(given, to) {
                return Err(wrap(weft_expr::no_cast(given, to)));
            }
            if let (false, Expr::Literal(ScalarValue::Utf8(Some(text)) | ScalarValue::Utf8View(Some(text)), _)) =
                (is_time(to), &*expr)
            {
                // It is wrong even where it is not reached.
                weft_expr::cast(Value::Text(text.as_str().into()), DataType::Text, to, Local::fixed()).map_err(wrap)?;
            }
            // A text of a column may say the present.
            let may_say = given.is_text() && is_time(to) && from.is_some();
            Transformed::yes(if may_say { cast_present(*expr, to) } else { cast_to(*expr, to) })
        }
        Expr::InList(InList { expr, list, negated }) if operand_type(&expr, schema).is_some_and(is_special) => {
            let to = open(operand_type(&expr, schema).unwrap_or(DataType::Text));
            // Whether arrays are equal the engine knows.
            let comparable = |expr: Expr| if to == DataType::Interval { comparable(expr, to) } else { expr };
            let list = list.into_iter().map(|item| comparable(as_type(item, to, schema))).collect();
            Transformed::yes(Expr::InList(InList { expr: Box::new(comparable(*expr)), list, negated }))
        }
        Expr::Between(Between { expr, negated, low, high }) if operand_type(&expr, schema).is_some_and(is_special) => {
            let to = open(operand_type(&expr, schema).unwrap_or(DataType::Text));
            let low = Box::new(comparable(as_type(*low, to, schema), to));
            let high = Box::new(comparable(as_type(*high, to, schema), to));
            Transformed::yes(Expr::Between(Between { expr: Box::new(comparable(*expr, to)), negated, low, high }))
        }
        Expr::Case(case) => searched(case, schema),
        Expr::ScalarFunction(call) => our_call(call, schema)?,
        Expr::BinaryExpr(binary) if matches!(binary.op, Operator::IsDistinctFrom | Operator::IsNotDistinctFrom) => {
            distinct(binary, schema)
        }
        // Of parameters, whose types were not known before.
        Expr::BinaryExpr(binary) if matches!(binary.op, Operator::Divide | Operator::Multiply) => {
            match numeric_of(binary.op, &binary.left, &binary.right, schema) {
                Some(made) => Transformed::yes(made),
                None => Transformed::no(Expr::BinaryExpr(binary)),
            }
        }
        Expr::AggregateFunction(call) if call.func.name() == "sum" => typed_sum(call, schema)?,
        Expr::WindowFunction(mut window) => {
            let met = window_calls::settled(&mut window, |expr| operand_type(expr, schema))?;
            enum_types::check_frame(&window, schema)?;
            let mut keyed = keyed_window(window, schema);
            keyed.transformed |= met;
            keyed
        }
        Expr::Negative(inner) if operand_type(&inner, schema) == Some(DataType::Interval) => {
            let (routine, args) = (Routine::IntervalNegate, vec![DataType::Interval]);
            Transformed::yes(bound(Signature { routine, args, result: DataType::Interval }, vec![*inner]))
        }
        other => Transformed::no(other),
    })
}

/// A sum with its constants typed: what stands around it is brought to one type with it.
fn typed_sum(mut call: AggregateFunction, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let args = std::mem::take(&mut call.params.args).into_iter().map(|arg| retype(arg, schema));
    let args = args.collect::<Result<Vec<_>>>()?;
    let changed = args.iter().any(|arg| arg.transformed);
    call.params.args = args.into_iter().map(|arg| arg.data).collect();
    Ok(Transformed::new(Expr::AggregateFunction(call), changed, TreeNodeRecursion::Continue))
}

/// What concerns calls of functions.
fn our_call(call: ScalarFunction, schema: &DFSchema) -> Result<Transformed<Expr>> {
    enum_types::check_call(&call, schema)?;
    Ok(match call {
        call if matches!(call.func.name(), "concat" | "concat_ws") => concatenated(call, schema),
        call if is_extreme_by_key(&call, schema) => extreme_by_key(call, schema)?,
        call if narrower(&call, schema).is_some() => {
            let to = narrower(&call, schema).unwrap_or(ArrowType::Int64);
            Transformed::yes(cast(Expr::ScalarFunction(call), to))
        }
        call if call.func.name() == "to_hex" && call.args.len() == 1 => hex(call, schema),
        ScalarFunction { func, args } => match settled(&func, &args, schema)? {
            Some(settled) => Transformed::yes(settled),
            None => Transformed::no(Expr::ScalarFunction(ScalarFunction { func, args })),
        },
    })
}

/// The type of what the engine gives as bigints.
fn narrower(call: &ScalarFunction, schema: &DFSchema) -> Option<ArrowType> {
    let is_small = |arg: &Expr| matches!(operand_type(arg, schema), Some(DataType::SmallInt | DataType::Integer));
    match call.func.name() {
        "gcd" | "lcm" if call.args.iter().all(is_small) => Some(ArrowType::Int32),
        _ => None,
    }
}

/// CASE x WHEN of types of ours as CASE WHEN x = : the engine looks constants up in tables, and has none for these.
/// Dates and timestamps in it are timestamps.
fn searched(case: Case, schema: &DFSchema) -> Transformed<Expr> {
    let case = match case_in_moments(case, schema) {
        Ok(made) => return Transformed::yes(Expr::Case(made)),
        Err(case) => case,
    };
    let to = case.expr.as_ref().filter(|of| !of.is_volatile()).and_then(|of| operand_type(of, schema));
    let (Some(of), Some(to)) = (&case.expr, to.filter(|to| is_special(*to)).map(open)) else {
        return Transformed::no(Expr::Case(case));
    };
    let span = |expr: Expr| if to == DataType::Interval { comparable(expr, to) } else { expr };
    let branches = case.when_then_expr.into_iter().map(|(when, then)| {
        let when = span(as_type(*when, to, schema));
        (Box::new(span((**of).clone()).eq(when)), then)
    });
    Transformed::yes(Expr::Case(Case { expr: None, when_then_expr: branches.collect(), else_expr: case.else_expr }))
}

/// IS DISTINCT FROM of types of ours, negated or not.
fn distinct(binary: BinaryExpr, schema: &DFSchema) -> Transformed<Expr> {
    let BinaryExpr { left, op, right } = binary;
    let special = [&left, &right].into_iter().find_map(|side| operand_type(side, schema).filter(|t| is_special(*t)));
    let Some(to) = special.map(open) else {
        return Transformed::no(Expr::BinaryExpr(BinaryExpr { left, op, right }));
    };
    let span = |expr: Expr| if to == DataType::Interval { comparable(expr, to) } else { expr };
    let [left, right] = [*left, *right].map(|side| Box::new(span(as_type(side, to, schema))));
    Transformed::yes(Expr::BinaryExpr(BinaryExpr { left, op, right }))
}

fn concatenated(call: ScalarFunction, schema: &DFSchema) -> Transformed<Expr> {
    let ScalarFunction { func, mut args } = call;
    // They take values as these are shown: t and f.
    for arg in &mut args {
        let given = operand_type(arg, schema).filter(|given| !given.is_text());
        let Some(given) = given.filter(|_| !matches!(arg, Expr::Placeholder(_))) else { continue };
        let text = cast_to(arg.clone(), DataType::Text);
        *arg = if given == DataType::Boolean { left(text, lit(1_i64)) } else { text };
    }
    Transformed::yes(Expr::ScalarFunction(ScalarFunction { func, args }))
}

fn hex(call: ScalarFunction, schema: &DFSchema) -> Transformed<Expr> {
    let ScalarFunction { func, mut args } = call;
    // Negative integers have 32 bits, not 64.
    if operand_type(&args[0], schema).is_some_and(|given| given == DataType::Integer) {
        let wide = cast(args.remove(0), ArrowType::Int64);
        args.push(binary_expr(wide, Operator::BitwiseAnd, lit(0xFFFF_FFFF_i64)));
    }
    Transformed::yes(Expr::ScalarFunction(ScalarFunction { func, args }))
}

/// A window partitioned or ordered by what is compared by another value, or over whose values the engine has no RANGE:
/// of rows between the ends and peers, GROUPS are the same.
fn keyed_window(mut window: Box<WindowFunction>, schema: &DFSchema) -> Transformed<Expr> {
    let mut changed = silenced(&mut window);
    let params = &mut window.params;
    for part in &mut params.partition_by {
        if let Some(made) = key_of(part, schema) {
            *part = made;
            changed = true;
        }
    }
    let is_range = params.window_frame.units == WindowFrameUnits::Range;
    if window_calls::is_range_with_offset(&params.window_frame) {
        return Transformed::new(Expr::WindowFunction(window), changed, TreeNodeRecursion::Continue);
    }
    for key in &mut params.order_by {
        let Some(data_type) = operand_type(&key.expr, schema) else { continue };
        if let Some(made) = key_of(&key.expr, schema) {
            key.expr = made;
            changed = true;
        }
        let has_range = !matches!(
            data_type,
            DataType::Time
                | DataType::Uuid
                | DataType::Bytea
                | DataType::Array(_)
                | DataType::Bit(_)
                | DataType::VarBit(_)
        );
        if is_range && !has_range && params.window_frame.units == WindowFrameUnits::Range {
            let WindowFrame { start_bound, end_bound, .. } = params.window_frame.clone();
            params.window_frame = WindowFrame::new_bounds(WindowFrameUnits::Groups, start_bound, end_bound);
            changed = true;
        }
    }
    Transformed::new(Expr::WindowFunction(window), changed, TreeNodeRecursion::Continue)
}

/// Gives parameters that are arguments of routines, cast to a type of ours, or a LIMIT or OFFSET their types.
pub(super) fn typed_params(plan: LogicalPlan) -> Result<LogicalPlan> {
    rewrite_plan(typed_limits(plan)?, true, |expr, schema| {
        expr.transform_up(|expr| {
            Ok(match expr {
                Expr::ScalarFunction(function) if function.args.iter().any(is_open_param) => {
                    Transformed::yes(Expr::ScalarFunction(typed_call(function, schema)?))
                }
                Expr::Cast(Cast { expr, field }) if is_open_param(&expr) && is_special(field_type(&field)) => {
                    let expr = Box::new(with_type(*expr, field_type(&field)));
                    Transformed::yes(Expr::Cast(Cast { expr, field }))
                }
                other => Transformed::no(other),
            })
        })
    })
}

/// A parameter that says how many rows is a bigint, at every level of the query.
fn typed_limits(plan: LogicalPlan) -> Result<LogicalPlan> {
    let typed = plan.transform_up_with_subqueries(|plan| match plan {
        LogicalPlan::Limit(_) => plan.map_expressions(|expr| {
            Ok(if is_open_param(&expr) {
                Transformed::yes(with_type(expr, DataType::BigInt))
            } else {
                Transformed::no(expr)
            })
        }),
        plan => Ok(Transformed::no(plan)),
    })?;
    Ok(typed.data)
}

fn is_open_param(expr: &Expr) -> bool {
    matches!(expr, Expr::Placeholder(placeholder) if placeholder.field.is_none())
}

/// Lists of other things than constants are comparisons: the engine takes the sets of two lists for disjoint when their
/// expressions are other ones.
fn member(expr: Expr, list: Vec<Expr>, negated: bool) -> Expr {
    let is_constant = |item: &Expr| item.column_refs().is_empty() && !item.contains_outer();
    if list.is_empty() || list.iter().all(is_constant) {
        return in_list(expr, list, negated);
    }
    let any = list.into_iter().map(|item| expr.clone().eq(item)).reduce(Expr::or);
    let any = any.unwrap_or_else(|| lit(false));
    if negated { not(any) } else { any }
}

pub(super) fn is_comparison(op: Operator) -> bool {
    use Operator::{Eq, Gt, GtEq, IsDistinctFrom, IsNotDistinctFrom, Lt, LtEq, NotEq};
    matches!(op, Eq | NotEq | Lt | LtEq | Gt | GtEq | IsDistinctFrom | IsNotDistinctFrom)
}

/// What a list has is read in the type of what is looked up: 0.1 among reals is a real.
fn read_as_member(item: Expr, expr: &Expr, schema: &DFSchema) -> Expr {
    match (item.get_type(schema), expr.get_type(schema)) {
        (Ok(from), Ok(to)) if to.is_floating() && (from.is_decimal() || from.is_integer()) => cast(item, to),
        _ => read_as(item, expr, schema),
    }
}

/// A real compared with numerics or integers is compared as double precision.
fn read_as_float<'a>(expr: Expr, mut others: impl Iterator<Item = &'a Expr>, schema: &DFSchema) -> Expr {
    let real = matches!(expr.get_type(schema), Ok(ArrowType::Float32));
    let exact = |other: &Expr| matches!(other.get_type(schema), Ok(t) if t.is_decimal() || t.is_integer());
    if real && others.any(exact) { cast(expr, ArrowType::Float64) } else { expr }
}

/// A string constant compared with a number or a boolean is read as one; a numeric compared with a float is read as
/// double precision (the engine would turn the float to a decimal, which infinity is not); a date compared with a
/// timestamp is its midnight (the engine would turn both to nanoseconds, which the years 1 and 9999 have not).
pub(super) fn read_as(expr: Expr, other: &Expr, schema: &DFSchema) -> Expr {
    let expr = beside_timestamps(expr, std::iter::once(other), schema);
    if let (Ok(from), Ok(ArrowType::Float32 | ArrowType::Float64)) = (expr.get_type(schema), other.get_type(schema))
        && from.is_decimal()
    {
        return cast(expr, ArrowType::Float64);
    }
    let text = matches!(&expr, Expr::Literal(ScalarValue::Utf8(Some(_)) | ScalarValue::Utf8View(Some(_)), _));
    if !text {
        return expr;
    }
    match other.get_type(schema) {
        Ok(to) if to.is_decimal() => cast(expr, open(output_type(&to)).arrow()),
        Ok(to) if to.is_numeric() || to == ArrowType::Boolean => cast(expr, to),
        _ => expr,
    }
}

/// NULLIF in the type of its first argument before the inputs of set operations are brought to one type. Constants have
/// theirs later, and so has what is made of them: those are bigint here.
fn narrow_first(expr: Expr, schema: &DFSchema) -> Transformed<Expr> {
    use ArrowType::{Date32, Float32, Int16, Int32, Timestamp};
    match expr {
        Expr::ScalarFunction(function) if function.func.name() == "nullif" => {
            let first = function.args.first().and_then(|first| first.get_type(schema).ok());
            match first {
                Some(Int16 | Int32 | Float32 | Date32 | Timestamp(..)) => as_first(function, schema),
                _ => Transformed::no(Expr::ScalarFunction(function)),
            }
        }
        other => Transformed::no(other),
    }
}

/// NULLIF has the type of its first argument, where PostgreSQL compares the two as they are; the engine gives it the
/// wider type.
fn as_first(mut function: ScalarFunction, schema: &DFSchema) -> Transformed<Expr> {
    let first = match function.args.iter().map(|arg| operand_type(arg, schema)).collect::<Vec<_>>()[..] {
        [Some(first), Some(second)] if first.arrow() != second.arrow() => {
            let both = |is_one: fn(&ArrowType) -> bool| is_one(&first.arrow()) && is_one(&second.arrow());
            (both(ArrowType::is_integer) || both(ArrowType::is_floating) || is_time(first) && is_time(second))
                .then_some(first)
        }
        _ => None,
    };
    match first {
        Some(first) => {
            if let Some(to) = moment_of(function.args.iter(), schema) {
                function.args = function.args.into_iter().map(|arg| as_moment(arg, &to, schema)).collect();
            }
            Transformed::yes(cast(Expr::ScalarFunction(function), first.arrow()))
        }
        None => Transformed::no(Expr::ScalarFunction(function)),
    }
}

fn checked(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    Ok(match expr {
        Expr::BinaryExpr(BinaryExpr { left, op, right })
            if left == right && matches!(op, Operator::Eq | Operator::LtEq | Operator::GtEq) && !left.is_volatile() =>
        {
            // The engine's own way to say so is lost where the other side of an outer join has an equal column.
            let branch = (Box::new(left.is_not_null()), Box::new(lit(true)));
            let unknown = Box::new(Expr::Literal(ScalarValue::Boolean(None), None));
            Transformed::yes(Expr::Case(Case { expr: None, when_then_expr: vec![branch], else_expr: Some(unknown) }))
        }
        Expr::BinaryExpr(binary) if is_comparison(binary.op) => told_once(binary, schema),
        Expr::BinaryExpr(binary) => match checked_operator(&binary, schema) {
            Some(function) => {
                let args = vec![*binary.left, *binary.right];
                Transformed::yes(Expr::ScalarFunction(ScalarFunction::new_udf(function, args)))
            }
            None => Transformed::no(Expr::BinaryExpr(binary)),
        },
        Expr::ScalarFunction(function) if function.func.name() == "nullif" => null_if(function, schema)?,
        Expr::Case(case) if case.expr.as_ref().is_some_and(|of| !of.is_volatile() && is_floating(of, schema)) => {
            searched_floats(case)
        }
        // As the engine computes them; it says otherwise whether they may be NULL.
        Expr::IsTrue(of) => Transformed::yes(binary_expr(*of, Operator::IsNotDistinctFrom, lit(true))),
        Expr::IsNotTrue(of) => Transformed::yes(binary_expr(*of, Operator::IsDistinctFrom, lit(true))),
        Expr::IsFalse(of) => Transformed::yes(binary_expr(*of, Operator::IsNotDistinctFrom, lit(false))),
        Expr::IsNotFalse(of) => Transformed::yes(binary_expr(*of, Operator::IsDistinctFrom, lit(false))),
        Expr::IsUnknown(of) => Transformed::yes(Expr::IsNull(of)),
        Expr::IsNotUnknown(of) => Transformed::yes(Expr::IsNotNull(of)),
        Expr::Negative(inner) => negated(inner, schema)?,
        Expr::Cast(cast) if let Some(settled) = enum_types::settled_cast(&cast, schema)? => Transformed::yes(settled),
        Expr::Cast(Cast { expr, field }) if is_of_session(&expr, field.data_type(), schema) => {
            let to = output_type(field.data_type());
            let is_text = expr.get_type(schema).is_ok_and(|from| output_type(&from).is_text());
            let is_literal = matches!(*expr, Expr::Literal(..));
            let read = if is_text && !is_literal { cast_present(*expr, to) } else { cast_to(*expr, to) };
            let is_same = field_of("", to).data_type() == field.data_type();
            Transformed::yes(if is_same { read } else { Expr::Cast(Cast { expr: Box::new(read), field }) })
        }
        Expr::Cast(Cast { expr, field }) if is_text(field.data_type()) && is_shown_otherwise(&expr, schema) => {
            let text = cast_to(*expr, DataType::Text);
            let is_same = DataType::Text.arrow() == *field.data_type();
            Transformed::yes(if is_same { text } else { Expr::Cast(Cast { expr: Box::new(text), field }) })
        }
        Expr::Cast(Cast { expr, field }) if is_numeric(field.data_type()) && is_float(&expr, schema) => {
            Transformed::yes(cast_to(*expr, output_type(field.data_type())))
        }
        Expr::Cast(Cast { expr, field }) if is_read(&expr, field.data_type(), schema) => {
            Transformed::yes(cast_to(*expr, output_type(field.data_type())))
        }
        Expr::Cast(Cast { expr, field }) if is_cut(&expr, field.data_type(), schema) => {
            let rounded = round(*expr, field.data_type());
            Transformed::yes(Expr::Cast(Cast { expr: Box::new(rounded), field }))
        }
        Expr::Cast(Cast { expr, field }) if is_nearest(&expr, field.data_type(), schema) => Transformed::yes(
            Expr::ScalarFunction(ScalarFunction::new_udf(Nearest::function(field.data_type()), vec![*expr])),
        ),
        Expr::Cast(Cast { expr, field }) if field.data_type().is_integer() => match expr.get_type(schema) {
            Ok(ArrowType::Float32 | ArrowType::Float64) if !is_rounded(&expr) => {
                let rounded = Expr::ScalarFunction(ScalarFunction::new_udf(RoundEven::function(), vec![*expr]));
                Transformed::yes(Expr::Cast(Cast { expr: Box::new(rounded), field }))
            }
            _ => Transformed::no(Expr::Cast(Cast { expr, field })),
        },
        other => Transformed::no(other),
    })
}

/// The negative of a number.
fn negated(inner: Box<Expr>, schema: &DFSchema) -> Result<Transformed<Expr>> {
    Ok(match inner.get_type(schema) {
        Ok(data_type) if data_type.is_signed_integer() => {
            let zero = Expr::Literal(ScalarValue::new_zero(&data_type)?, None);
            let function = Checked::of(Operator::Minus).expect("subtraction has a checked form");
            Transformed::yes(Expr::ScalarFunction(ScalarFunction::new_udf(function, vec![zero, *inner])))
        }
        // The processor gives NaN a sign, zero has one.
        Ok(data_type) if data_type.is_floating() => {
            let minus_one = Expr::Literal(ScalarValue::new_negative_one(&data_type)?, None);
            let function = Checked::of(Operator::Multiply).expect("multiplication has a checked form");
            Transformed::yes(Expr::ScalarFunction(ScalarFunction::new_udf(function, vec![*inner, minus_one])))
        }
        _ => Transformed::no(Expr::Negative(inner)),
    })
}

/// CASE x WHEN of floats as CASE WHEN x = : the engine's own tells zeros apart by their sign.
fn searched_floats(case: Case) -> Transformed<Expr> {
    let Case { expr: Some(of), when_then_expr, else_expr } = case else { return Transformed::no(Expr::Case(case)) };
    let branches = when_then_expr.into_iter().map(|(when, then)| (Box::new((*of).clone().eq(*when)), then)).collect();
    Transformed::yes(Expr::Case(Case { expr: None, when_then_expr: branches, else_expr }))
}

/// NULLIF of floats by `=`: the engine's own tells zeros apart by their sign.
fn null_if(function: ScalarFunction, schema: &DFSchema) -> Result<Transformed<Expr>> {
    Ok(match &function.args[..] {
        [a, b] if is_floating(a, schema) && !a.is_volatile() => {
            let null = Expr::Literal(ScalarValue::try_from(a.get_type(schema)?)?, None);
            let branch = (Box::new(a.clone().eq(b.clone())), Box::new(null));
            let otherwise = Some(Box::new(a.clone()));
            Transformed::yes(Expr::Case(Case { expr: None, when_then_expr: vec![branch], else_expr: otherwise }))
        }
        _ => Transformed::no(Expr::ScalarFunction(function)),
    })
}

fn is_floating(expr: &Expr, schema: &DFSchema) -> bool {
    expr.get_type(schema).is_ok_and(|given| given.is_floating())
}

/// Whether the engine would cast what the session's zone or style decides: timestamps with time zone to others, dates
/// and timestamps to text and back.
fn is_of_session(expr: &Expr, to: &ArrowType, schema: &DFSchema) -> bool {
    if matches!(expr, Expr::Literal(ScalarValue::Null, _)) || matches!(expr, Expr::Placeholder(_)) {
        return false;
    }
    let is_plain = |t: &ArrowType| {
        matches!(t, ArrowType::Date32 | ArrowType::Timestamp(..) | ArrowType::Utf8 | ArrowType::Utf8View)
    };
    match expr.get_type(schema) {
        Ok(from) => is_plain(&from) && is_plain(to) && is_session_cast(output_type(&from), output_type(to)),
        Err(_) => false,
    }
}

fn is_session_cast(from: DataType, to: DataType) -> bool {
    let is_time = |t| matches!(t, DataType::Date | DataType::Timestamp | DataType::TimestampTz | DataType::Time);
    (is_time(from) && to.is_text())
        || (from.is_text() && is_time(to))
        || (from != to && is_time(from) && is_time(to) && [from, to].contains(&DataType::TimestampTz))
}

/// A float is cast to a numeric through its 15 significant digits, and to a text as it is shown: the engine would scale
/// it as a float, and show 1 as 1.0.
fn is_float(expr: &Expr, schema: &DFSchema) -> bool {
    matches!(expr.get_type(schema), Ok(ArrowType::Float32 | ArrowType::Float64))
        && !matches!(expr, Expr::Placeholder(_))
}

/// Whether a text is read as a number, which the engine does by other rules, or as a label, of which it knows nothing.
fn is_read(expr: &Expr, to: &ArrowType, schema: &DFSchema) -> bool {
    (to.is_floating() || is_numeric(to) || is_enum(to))
        && matches!(expr.get_type(schema), Ok(ArrowType::Utf8 | ArrowType::Utf8View))
        && !matches!(expr, Expr::Placeholder(_))
}

/// Whether a cast leaves digits of a numeric out: `n::integer = 0` would become `n = 0`.
fn is_cut(expr: &Expr, to: &ArrowType, schema: &DFSchema) -> bool {
    match (expr.get_type(schema), to) {
        (Ok(ArrowType::Decimal128(_, scale)), ArrowType::Decimal128(_, to)) => scale > *to,
        (Ok(ArrowType::Decimal128(_, scale)), to) => scale > 0 && to.is_integer(),
        _ => false,
    }
}

/// A numeric rounded to the digits that another type has after the point.
fn round(numeric: Expr, to: &ArrowType) -> Expr {
    let digits = if let ArrowType::Decimal128(_, scale) = to { i64::from(*scale) } else { 0 };
    Expr::ScalarFunction(ScalarFunction::new_udf(functions::round(), vec![numeric, lit(digits)]))
}

/// Whether a numeric is cast to a float.
fn is_nearest(expr: &Expr, to: &ArrowType, schema: &DFSchema) -> bool {
    matches!(to, ArrowType::Float32 | ArrowType::Float64)
        && match expr.get_type(schema) {
            Ok(ArrowType::Decimal128(..)) => true,
            Ok(ArrowType::Float64) => *to == ArrowType::Float32,
            _ => false,
        }
        && !matches!(expr, Expr::Placeholder(_))
}

/// Whether the engine shows values of this type otherwise: floats, intervals, arrays, numerics without a precision.
fn is_shown_otherwise(expr: &Expr, schema: &DFSchema) -> bool {
    let given = expr.get_type(schema);
    is_float(expr, schema)
        || given.as_ref().is_ok_and(|given| *given == NUMERIC_DEFAULT.arrow())
        || matches!(given, Ok(ArrowType::Interval(_) | ArrowType::Duration(_) | ArrowType::List(_)))
        || given.is_ok_and(|given| is_enum(&given))
}

fn is_text(arrow: &ArrowType) -> bool {
    matches!(arrow, ArrowType::Utf8 | ArrowType::Utf8View)
}

fn is_enum(arrow: &ArrowType) -> bool {
    matches!(output_type(arrow), DataType::Enum(_))
}

fn is_numeric(arrow: &ArrowType) -> bool {
    matches!(arrow, ArrowType::Decimal128(..))
}

fn is_rounded(expr: &Expr) -> bool {
    matches!(expr, Expr::ScalarFunction(function) if function.func.name() == "round_even")
}

/// The type of an expression; a chain of checked operators has the type of its first operand, but for the digits of the
/// remainder of two numerics.
fn type_of(mut expr: &Expr, schema: &DFSchema) -> Option<ArrowType> {
    while let Expr::ScalarFunction(function) = expr
        && function.func.inner().downcast_ref::<Checked>().is_some()
    {
        expr = function.args.first()?;
    }
    expr.get_type(schema).ok()
}

fn checked_operator(
    binary: &BinaryExpr,
    schema: &DFSchema,
) -> Option<std::sync::Arc<datafusion::logical_expr::ScalarUDF>> {
    let (left, right) = (type_of(&binary.left, schema)?, type_of(&binary.right, schema)?);
    let integers = left.is_integer() && matches!(binary.op, Operator::Plus | Operator::Minus | Operator::Multiply);
    let remainder = binary.op == Operator::Modulo && left.is_decimal() && right.is_decimal();
    let is_checked = remainder || left == right && (integers || left.is_floating());
    if is_checked { Checked::of(binary.op) } else { None }
}
