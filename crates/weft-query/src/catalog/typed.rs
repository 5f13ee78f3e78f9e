//! Casts, comparisons and results of types that only the catalog has.
//!
//! ```text
//!   c.oid::regclass::text         regclass_out(regclass(c.oid))
//!   c.oid = 16390                 both are oids: an oid and an integer would be compared as bigints
//!   i.indkey[0]                   the first element
//!   SELECT c.oid::regclass        SELECT regclass_out(regclass(c.oid)): a result shows names
//! ```

use datafusion::common::Column;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::logical_expr::expr::{Cast, ScalarFunction};
use datafusion::logical_expr::planner::RawBinaryExpr;
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlan, LogicalPlanBuilder, binary_expr, lit};
use sqlparser::ast::BinaryOperator;
use weft_format::{Code, DataType, Error};
use weft_pgcatalog::{Reg, Shape};

use super::functions::{as_reg, bare, reg_in, reg_out, vector_out};
use super::shapes::{shape_of_field, special_shape};
use crate::error::wrap;
use crate::operands::operand_type;
use crate::semantics::rewrite_plan;
use crate::types::field_of;

/// Functions that take a value of any type as it is shown.
const SHOWING: &[&str] = &[
    "concat",
    "concat_ws",
    "format",
    "json_build_array",
    "json_build_object",
    "jsonb_build_array",
    "jsonb_build_object",
    "quote_ident",
    "quote_literal",
    "quote_nullable",
    "to_json",
    "to_jsonb",
];

/// Functions that choose one of their arguments.
const CHOOSING: &[&str] = &["coalesce", "greatest", "least", "nullif"];

/// Aggregates whose result shows the values.
const COLLECTING: &[&str] = &["array_agg", "json_agg", "jsonb_agg", "json_object_agg", "jsonb_object_agg"];

/// Functions of arrays that count from the first subscript.
const COUNTING: &[&str] = &["array_lower", "array_position", "array_upper"];

/// A plan with these types' casts and functions, whose columns are shown as PostgreSQL shows them.
pub(crate) fn typed(plan: LogicalPlan) -> Result<LogicalPlan> {
    let plan = rewrite_plan(plan, true, |expr, schema| expr.transform_up(|expr| one(expr, schema)))?;
    shown(plan)
}

/// Names in place of the numbers of objects at the top of a plan.
fn shown(plan: LogicalPlan) -> Result<LogicalPlan> {
    let schema = plan.schema();
    let is_plain = |field| matches!(shape_of_field(field), Shape::Plain(_));
    if schema.fields().iter().all(|field| is_plain(field)) {
        return Ok(plan);
    }
    let items: Vec<Expr> = schema
        .iter()
        .map(|(qualifier, field)| {
            let column = Expr::Column(Column::new(qualifier.cloned(), field.name()));
            match as_text(column.clone(), shape_of_field(field)) {
                Some(text) => text.alias_qualified(qualifier.cloned(), field.name()),
                None => column,
            }
        })
        .collect();
    LogicalPlanBuilder::from(plan).project(items)?.build()
}

/// A value as text, if it is of a type that only the catalog has.
fn as_text(expr: Expr, shape: Shape) -> Option<Expr> {
    match shape {
        Shape::Plain(_) => None,
        Shape::Reg(reg) => Some(reg_out(reg, expr)),
        Shape::Vector(_) => Some(vector_out(expr)),
    }
}

fn one(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    Ok(match expr {
        Expr::Cast(Cast { expr, field }) => {
            let to = shape_of_field(&field);
            let from = special_shape(&expr, schema);
            match (from, to) {
                (None, Shape::Plain(_)) => Transformed::no(Expr::Cast(Cast { expr, field })),
                (from, to) => Transformed::yes(cast(*expr, from, to, schema)?),
            }
        }
        Expr::ScalarFunction(ScalarFunction { func, args }) if SHOWING.contains(&func.name()) => {
            let show = |arg: Expr| match special_shape(&arg, schema) {
                Some(shape) => as_text(arg.clone(), shape).unwrap_or(arg),
                None => arg,
            };
            let args = args.into_iter().map(show).collect();
            Transformed::yes(Expr::ScalarFunction(ScalarFunction { func, args }))
        }
        Expr::ScalarFunction(ScalarFunction { func, args })
            if COUNTING.contains(&func.name()) && args.first().is_some_and(|arg| is_vector(arg, schema)) =>
        {
            let call = Expr::ScalarFunction(ScalarFunction { func, args });
            Transformed::yes(call - lit(1_i32))
        }
        Expr::ScalarFunction(call)
            if call.func.name().ends_with("generate_subscripts")
                && call.args.first().is_some_and(|arg| is_vector(arg, schema)) =>
        {
            let error =
                Error::new(Code::FeatureNotSupported, "generate_subscripts of an int2vector is not supported here");
            return Err(wrap(error.hint("write unnest(...) WITH ORDINALITY, or cast it to int2[]")));
        }
        Expr::ScalarFunction(call) if call.func.name() == "pg_typeof" => {
            match call.args.first().and_then(|arg| special_shape(arg, schema)) {
                Some(shape) => Transformed::yes(lit(type_name(shape))),
                None => Transformed::no(Expr::ScalarFunction(call)),
            }
        }
        Expr::ScalarFunction(call) if CHOOSING.contains(&call.func.name()) => {
            let reg = common_reg(call.args.iter(), schema);
            chosen(Expr::ScalarFunction(call), reg)
        }
        Expr::Case(case) => {
            let results = case.when_then_expr.iter().map(|(_, then)| &**then).chain(case.else_expr.as_deref());
            let reg = common_reg(results, schema);
            chosen(Expr::Case(case), reg)
        }
        Expr::AggregateFunction(mut call) if COLLECTING.contains(&call.func.name()) => {
            let shown = |arg: &Expr| special_shape(arg, schema).and_then(|shape| as_text(arg.clone(), shape));
            let args: Vec<Option<Expr>> = call.params.args.iter().map(shown).collect();
            let changed = args.iter().any(Option::is_some);
            for (arg, text) in call.params.args.iter_mut().zip(args) {
                *arg = text.unwrap_or_else(|| std::mem::take(arg));
            }
            Transformed::new(Expr::AggregateFunction(call), changed, TreeNodeRecursion::Continue)
        }
        other => Transformed::no(other),
    })
}

/// What a type is called.
fn type_name(shape: Shape) -> &'static str {
    match shape {
        Shape::Reg(reg) => reg.name(),
        Shape::Vector(array) if array.element() == Some(DataType::Oid) => "oidvector",
        Shape::Vector(_) | Shape::Plain(_) => "int2vector",
    }
}

/// The type of expressions of which one is chosen, if they are all of it or NULL.
fn common_reg<'e>(exprs: impl Iterator<Item = &'e Expr>, schema: &DFSchema) -> Option<Reg> {
    let mut common = None;
    for expr in exprs.filter(|expr| !matches!(expr, Expr::Literal(value, _) if value.is_null())) {
        let Some(Shape::Reg(reg)) = special_shape(expr, schema) else { return None };
        if common.is_some_and(|known| known != reg) {
            return None;
        }
        common = Some(reg);
    }
    common
}

fn chosen(expr: Expr, reg: Option<Reg>) -> Transformed<Expr> {
    match reg {
        Some(reg) => Transformed::yes(as_reg(reg, expr)),
        None => Transformed::no(expr),
    }
}

fn is_vector(expr: &Expr, schema: &DFSchema) -> bool {
    matches!(special_shape(expr, schema), Some(Shape::Vector(_)))
}

/// A cast from or to one of these types.
fn cast(expr: Expr, from: Option<Shape>, to: Shape, schema: &DFSchema) -> Result<Expr> {
    let plainly = |expr: Expr, to: DataType| Expr::Cast(Cast { expr: Box::new(expr), field: field_of("", to).into() });
    let refuse = |what: &str| {
        let error = Error::new(Code::FeatureNotSupported, format!("this cast to {what} is not supported"));
        Err(wrap(error.hint("cast to text or to an array")))
    };
    Ok(match (from, to) {
        (Some(shape), Shape::Plain(text)) if text.is_text() => {
            let shown = as_text(expr.clone(), shape).unwrap_or(expr);
            if text == DataType::Text { shown } else { plainly(shown, text) }
        }
        (Some(Shape::Reg(_)), Shape::Plain(DataType::Oid)) => bare(expr),
        (Some(_), Shape::Plain(to)) => plainly(bare(expr), to),
        (Some(Shape::Reg(own)), Shape::Reg(reg)) if own == reg => expr,
        (Some(Shape::Reg(_)), Shape::Reg(reg)) => as_reg(reg, bare(expr)),
        (Some(Shape::Vector(_)), Shape::Vector(_)) => expr,
        (None, Shape::Reg(reg)) => match operand_type(&expr, schema) {
            Some(DataType::Oid) => as_reg(reg, expr),
            None if matches!(expr, Expr::Placeholder(_)) => reg_in(reg, plainly(expr, DataType::Text)),
            None => reg_in(reg, expr),
            Some(given) if given.is_text() => reg_in(reg, expr),
            Some(_) => as_reg(reg, plainly(expr, DataType::Oid)),
        },
        (_, Shape::Reg(reg)) => return refuse(reg.name()),
        (_, Shape::Vector(_)) => return refuse("int2vector"),
        (None, Shape::Plain(to)) => plainly(expr, to),
    })
}

/// A comparison with, or a concatenation of, a value of one of these types, or of an oid with a constant; none: any
/// other operator.
pub(crate) fn compared(raw: &RawBinaryExpr, schema: &DFSchema) -> Result<Option<Expr>> {
    use BinaryOperator::{Eq, Gt, GtEq, Lt, LtEq, NotEq, StringConcat};
    if raw.op == StringConcat {
        let sides = [&raw.left, &raw.right].map(|side| special_shape(side, schema));
        if sides.iter().all(Option::is_none) {
            return Ok(None);
        }
        let shown = |side: &Expr, shape: Option<Shape>| {
            shape.and_then(|shape| as_text(side.clone(), shape)).unwrap_or_else(|| side.clone())
        };
        let (left, right) = (shown(&raw.left, sides[0]), shown(&raw.right, sides[1]));
        return Ok(Some(binary_expr(left, datafusion::logical_expr::Operator::StringConcat, right)));
    }
    if !matches!(raw.op, Eq | NotEq | Lt | LtEq | Gt | GtEq) {
        return Ok(None);
    }
    let (left, right) = (beside(&raw.left, &raw.right, schema), beside(&raw.right, &raw.left, schema));
    if left.is_none() && right.is_none() {
        return Ok(None);
    }
    let (left, right) = (left.unwrap_or_else(|| raw.left.clone()), right.unwrap_or_else(|| raw.right.clone()));
    let op = match raw.op {
        Eq => datafusion::logical_expr::Operator::Eq,
        NotEq => datafusion::logical_expr::Operator::NotEq,
        Lt => datafusion::logical_expr::Operator::Lt,
        LtEq => datafusion::logical_expr::Operator::LtEq,
        Gt => datafusion::logical_expr::Operator::Gt,
        _ => datafusion::logical_expr::Operator::GtEq,
    };
    Ok(Some(binary_expr(left, op, right)))
}

/// An integer constant beside an oid, as one.
fn beside(expr: &Expr, other: &Expr, schema: &DFSchema) -> Option<Expr> {
    let number = match expr {
        Expr::Literal(ScalarValue::Int64(Some(number)), _) => *number,
        Expr::Literal(ScalarValue::Int32(Some(number)), _) => i64::from(*number),
        _ => return None,
    };
    let is_oid = matches!(other, Expr::Column(_) | Expr::Cast(_) | Expr::ScalarFunction(_))
        && other.get_type(schema).is_ok_and(|arrow| arrow == DataType::Oid.arrow());
    let number = u32::try_from(number).ok().filter(|_| is_oid)?;
    Some(Expr::Literal(ScalarValue::UInt32(Some(number)), None))
}

/// The subscript of an array's element, where those of a value begin at 0.
pub(crate) fn element_place(of: &Expr, key: Expr, schema: &DFSchema) -> Expr {
    match key {
        key if !is_vector(of, schema) => key,
        Expr::Literal(ScalarValue::Int64(Some(place)), metadata) => {
            Expr::Literal(ScalarValue::Int64(Some(place.saturating_add(1))), metadata)
        }
        key => key + lit(1_i64),
    }
}
