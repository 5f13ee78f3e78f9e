//! Operators that mean something else in PostgreSQL than in the query engine.
//!
//! | SQL | here |
//! |---|---|
//! | `date - date` | integer, days |
//! | `date + integer`, `date - integer` | date |
//! | `date + interval` | timestamp; beside a date it is a date, when the interval has whole days or months |
//! | `numeric / numeric`, long products | a function with the digits of `weft-expr` |
//! | operators of json, bytea, time, interval, arrays | routines of weft-expr |

use arrow::datatypes::DataType as ArrowType;
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::expr::{WindowFunction, WindowFunctionParams};
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult, RawBinaryExpr, RawFieldAccessExpr, RawWindowExpr};
use datafusion::logical_expr::{Expr, ExprSchemable, GetFieldAccess, Operator, binary_expr, cast};
use sqlparser::ast::BinaryOperator;
use weft_expr::routines::{Routine, Signature, by_operator};
use weft_format::{CompareOp, DataType};
use weft_sql::expr::{compare_op, open};

use super::arithmetic::numeric_of;
use super::catalog;
use super::dates::{day_of, midnight};
use super::enum_types::check_operator;
use super::operands::{is_special, narrowed, operand_type, with_type};
use super::routines::{bound, cast_to, comparable, is_native};
use super::semantics::read_as;

/// Plans date arithmetic.
#[derive(Debug)]
pub(crate) struct WeftOperators;

impl ExprPlanner for WeftOperators {
    fn plan_binary_op(&self, raw: RawBinaryExpr, schema: &DFSchema) -> Result<PlannerResult<RawBinaryExpr>> {
        // Of long chains: the types of their parts are not asked for again at each link.
        if matches!(raw.op, BinaryOperator::And | BinaryOperator::Or) {
            return Ok(PlannerResult::Original(raw));
        }
        let raw = RawBinaryExpr { op: raw.op, left: narrowed(raw.left), right: narrowed(raw.right) };
        if let Some(planned) = catalog::compared(&raw, schema)? {
            return Ok(PlannerResult::Planned(planned));
        }
        let raw = match routine(raw, schema)? {
            PlannerResult::Original(raw) => typed(raw, schema),
            planned => return Ok(planned),
        };
        let op = match raw.op {
            BinaryOperator::Divide | BinaryOperator::Multiply => {
                let op = if raw.op == BinaryOperator::Divide { Operator::Divide } else { Operator::Multiply };
                return Ok(match numeric_of(op, &raw.left, &raw.right, schema) {
                    Some(made) => PlannerResult::Planned(made),
                    None => PlannerResult::Original(raw),
                });
            }
            BinaryOperator::Plus => Operator::Plus,
            BinaryOperator::Minus => Operator::Minus,
            _ => return Ok(PlannerResult::Original(raw)),
        };
        let (Ok(left), Ok(right)) = (raw.left.get_type(schema), raw.right.get_type(schema)) else {
            return Ok(PlannerResult::Original(raw));
        };
        let planned = match (&left, &right) {
            (ArrowType::Date32, ArrowType::Date32) if op == Operator::Minus => {
                cast(binary_expr(days(raw.left), op, days(raw.right)), ArrowType::Int32)
            }
            (ArrowType::Date32, integer) if integer.is_integer() => moved(raw.left, op, raw.right),
            (integer, ArrowType::Date32) if integer.is_integer() && op == Operator::Plus => {
                moved(raw.right, op, raw.left)
            }
            (ArrowType::Date32, ArrowType::Interval(_)) => binary_expr(midnight(raw.left), op, raw.right),
            _ => return Ok(PlannerResult::Original(raw)),
        };
        Ok(PlannerResult::Planned(planned))
    }

    /// `a[1]`, `j['key']`
    fn plan_field_access(
        &self,
        raw: RawFieldAccessExpr,
        schema: &DFSchema,
    ) -> Result<PlannerResult<RawFieldAccessExpr>> {
        let Some(of) = operand_type(&raw.expr, schema) else { return Ok(PlannerResult::Original(raw)) };
        let key = match &raw.field_access {
            GetFieldAccess::ListIndex { key } => catalog::element_place(&raw.expr, (**key).clone(), schema),
            GetFieldAccess::NamedStructField { name } => Expr::Literal(name.clone(), None),
            GetFieldAccess::ListRange { .. } => return Ok(PlannerResult::Original(raw)),
        };
        let signature = match of {
            DataType::Array(element) => Some(Signature {
                routine: Routine::ArrayElement,
                args: vec![of, DataType::Integer],
                result: element.data_type(),
            }),
            DataType::Jsonb => by_operator("->", Some(of), operand_type(&key, schema)),
            _ => None,
        };
        Ok(match signature {
            Some(signature) => PlannerResult::Planned(bound(signature, vec![raw.expr, key])),
            None => PlannerResult::Original(raw),
        })
    }

    /// Functions that number rows give bigint, `ntile` integer: the engine's unsigned types become numerics.
    fn plan_window(&self, mut raw: RawWindowExpr) -> Result<PlannerResult<RawWindowExpr>> {
        if let Some(first) = raw.args.first_mut() {
            *first = narrowed(std::mem::take(first));
        }
        let to = match raw.func_def.name() {
            "row_number" | "rank" | "dense_rank" => ArrowType::Int64,
            "ntile" => ArrowType::Int32,
            _ => return Ok(PlannerResult::Original(raw)),
        };
        let window = WindowFunction {
            fun: raw.func_def,
            params: WindowFunctionParams {
                args: raw.args,
                partition_by: raw.partition_by,
                order_by: raw.order_by,
                window_frame: raw.window_frame,
                filter: raw.filter,
                null_treatment: raw.null_treatment,
                distinct: raw.distinct,
            },
        };
        Ok(PlannerResult::Planned(cast(Expr::WindowFunction(Box::new(window)), to)))
    }

    /// `ARRAY[1, 2]`: the elements meet in one type.
    fn plan_array_literal(&self, exprs: Vec<Expr>, schema: &DFSchema) -> Result<PlannerResult<Vec<Expr>>> {
        let mut element: Option<DataType> = None;
        for expr in &exprs {
            let given = operand_type(expr, schema);
            element = match (element, given) {
                (Some(a), Some(b)) => match weft_expr::common_type(a, b) {
                    Some(common) => Some(common),
                    None => return Ok(PlannerResult::Original(exprs)),
                },
                (known, given) => known.or(given),
            };
        }
        let mut element = element.unwrap_or(DataType::Text);
        if element.is_bits() && exprs.iter().any(|expr| operand_type(expr, schema).is_none()) {
            // A literal has the length that it is written with.
            element = open(element);
        }
        let Some(array) = element.array() else { return Ok(PlannerResult::Original(exprs)) };
        let args = vec![element; exprs.len()];
        let exprs = exprs.into_iter().map(|expr| with_type(expr, element)).collect();
        let signature = Signature { routine: Routine::ArrayMake, args, result: array };
        Ok(PlannerResult::Planned(bound(signature, exprs)))
    }
}

/// Operators that are routines, and comparisons of types that only routines read.
fn routine(raw: RawBinaryExpr, schema: &DFSchema) -> Result<PlannerResult<RawBinaryExpr>> {
    let sign = raw.op.to_string();
    let (left, right) = (operand_type(&raw.left, schema), operand_type(&raw.right, schema));
    check_operator(&raw.op, left, right)?;
    if compare_op(&raw.op).is_some() {
        return Ok(compared(raw, left, right));
    }
    let Some(signature) = by_operator(&sign, left, right) else {
        // A number times an interval.
        if sign == "*" && right == Some(DataType::Interval) && left.is_some_and(weft_expr::is_number) {
            let turned = RawBinaryExpr { op: raw.op, left: raw.right, right: raw.left };
            return routine(turned, schema);
        }
        if sign == "+" && right == Some(DataType::Time) && left == Some(DataType::Interval) {
            let turned = RawBinaryExpr { op: raw.op, left: raw.right, right: raw.left };
            return routine(turned, schema);
        }
        return Ok(PlannerResult::Original(raw));
    };
    let [left, right] = [(raw.left, 0), (raw.right, 1)].map(|(expr, at)| with_type(expr, signature.args[at]));
    if is_native(&signature) {
        let right = if operand_type(&right, schema).is_none() { cast_to(right, DataType::Interval) } else { right };
        let op = if sign == "+" { Operator::Plus } else { Operator::Minus };
        return Ok(PlannerResult::Planned(binary_expr(left, op, right)));
    }
    Ok(PlannerResult::Planned(bound(signature, vec![left, right])))
}

/// A comparison in which one side has a type of ours: an untyped side takes it; intervals compare by their spans,
/// arrays by their bytes.
fn compared(raw: RawBinaryExpr, left: Option<DataType>, right: Option<DataType>) -> PlannerResult<RawBinaryExpr> {
    let Some(special) = [left, right].into_iter().flatten().find(|data_type| is_special(*data_type)) else {
        return PlannerResult::Original(raw);
    };
    let to = match (left, right) {
        (Some(left), Some(right)) => match weft_expr::common_type(left, right) {
            Some(common) => common,
            None => return PlannerResult::Original(raw),
        },
        _ => open(special),
    };
    let to = if to.is_text() && left.is_some() && right.is_some() { DataType::Text } else { to };
    let typed = |expr: Expr, given: Option<DataType>| match given {
        Some(given) if given == to || given.arrow() == to.arrow() => expr,
        None if matches!(expr, Expr::Placeholder(_)) => with_type(expr, to),
        _ => cast_to(expr, to),
    };
    let RawBinaryExpr { op, left: left_expr, right: right_expr } = raw;
    let (mut left_expr, mut right_expr) = (typed(left_expr, left), typed(right_expr, right));
    // Whether arrays are equal the engine knows, and scans and indexes with it.
    let is_equality = matches!(op, BinaryOperator::Eq | BinaryOperator::NotEq);
    if to == DataType::Interval || !is_equality {
        (left_expr, right_expr) = (comparable(left_expr, to), comparable(right_expr, to));
    }
    match operator(&op) {
        Some(operator) => PlannerResult::Planned(binary_expr(left_expr, operator, right_expr)),
        None => PlannerResult::Original(RawBinaryExpr { op, left: left_expr, right: right_expr }),
    }
}

fn operator(op: &BinaryOperator) -> Option<Operator> {
    Some(match compare_op(op)? {
        CompareOp::Eq => Operator::Eq,
        CompareOp::NotEq => Operator::NotEq,
        CompareOp::Lt => Operator::Lt,
        CompareOp::LtEq => Operator::LtEq,
        CompareOp::Gt => Operator::Gt,
        CompareOp::GtEq => Operator::GtEq,
    })
}

/// The operands of arithmetic and comparisons: a string constant beside a number is read as one, a real or a numeric
/// that meets a number of another kind is double precision.
fn typed(raw: RawBinaryExpr, schema: &DFSchema) -> RawBinaryExpr {
    use BinaryOperator::{Divide, Eq, Gt, GtEq, Lt, LtEq, Minus, Modulo, Multiply, NotEq, Plus};
    let arithmetic = matches!(raw.op, Plus | Minus | Multiply | Divide | Modulo);
    if !arithmetic && !matches!(raw.op, Eq | NotEq | Lt | LtEq | Gt | GtEq) {
        return raw;
    }
    let RawBinaryExpr { op, left, right } = raw;
    let (left, right) = if arithmetic { (left, right) } else { (day_of(left, &right, schema), right) };
    let right = if arithmetic { right } else { day_of(right, &left, schema) };
    let left = beside(left, &right, schema);
    let right = beside(right, &left, schema);
    RawBinaryExpr { op, left, right }
}

fn beside(expr: Expr, other: &Expr, schema: &DFSchema) -> Expr {
    let (Ok(from), Ok(to)) = (expr.get_type(schema), other.get_type(schema)) else { return expr };
    let double = match (&from, &to) {
        (ArrowType::Float32, to) => to.is_decimal() || to.is_integer(),
        (from, ArrowType::Float32 | ArrowType::Float64) => from.is_decimal(),
        _ => false,
    };
    if double { cast(expr, ArrowType::Float64) } else { read_as(expr, other, schema) }
}

/// A date so many days later or earlier, or 22008.
fn moved(date: Expr, op: Operator, by: Expr) -> Expr {
    let routine = if op == Operator::Minus { Routine::DateMinusDays } else { Routine::DatePlusDays };
    let args = vec![DataType::Date, DataType::Integer];
    bound(Signature { routine, args, result: DataType::Date }, vec![date, by])
}

fn days(date: Expr) -> Expr {
    cast(date, ArrowType::Int32)
}
