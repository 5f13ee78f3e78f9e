//! Ordered-set and hypothetical-set aggregates, as other aggregates and functions of what they give.
//!
//! ```text
//!   percentile_disc(f) WITHIN GROUP (ORDER BY x DESC) FILTER (WHERE c)
//!     "\1percentile_disc"(array_agg(x ORDER BY x DESC) FILTER (WHERE (c) AND x IS NOT NULL), f)      see `percentiles`
//!   rank(h) WITHIN GROUP (ORDER BY x)           count(*) FILTER (WHERE x stands before h) + 1
//!   dense_rank(h) WITHIN GROUP (ORDER BY x, y)  count(DISTINCT jsonb_build_array(x, y)) FILTER (...) + 1
//! ```

use std::ops::ControlFlow;

use sqlparser::ast::helpers::attached_token::AttachedToken;
use sqlparser::ast::{
    BinaryOperator, CaseWhen, DataType as SqlType, DuplicateTreatment, ExactNumberInfo, Expr, Function, FunctionArg,
    FunctionArgExpr, FunctionArgumentClause, FunctionArguments, OrderByExpr, Value,
};
use weft_format::{Code, Error, Result};
use weft_sql::expr::call;
use weft_sql::queries::names::{MARKER, folded};
use weft_walk::visit_expressions;

use super::typed_values::cast;

const ORDERED: [&str; 3] = ["percentile_cont", "percentile_disc", "mode"];
const HYPOTHETICAL: [&str; 4] = ["rank", "dense_rank", "percent_rank", "cume_dist"];

/// Whether an aggregate has WITHIN GROUP.
pub(super) fn is_one(name: &str) -> bool {
    ORDERED.iter().any(|known| known.eq_ignore_ascii_case(name))
}

/// The name of the function that takes the ordered values.
pub(super) fn function_name(name: &str) -> String {
    format!("{MARKER}{name}")
}

/// An aggregate with WITHIN GROUP in these forms; none when it is another.
pub(super) fn written_out(expr: &Expr) -> Result<Option<Expr>> {
    let Expr::Function(function) = expr else { return Ok(None) };
    let Some(name) = function.name.0.last().and_then(|part| part.as_ident()).map(folded) else { return Ok(None) };
    let (is_ordered, is_hypothetical) = (ORDERED.contains(&&*name), HYPOTHETICAL.contains(&&*name));
    if !is_ordered && (!is_hypothetical || function.within_group.is_empty()) {
        return Ok(None);
    }
    let kind = if is_ordered { "ordered-set" } else { "hypothetical-set" };
    if function.over.is_some() {
        let message = format!("OVER is not supported for {kind} aggregate {name}");
        return Err(Error::new(Code::FeatureNotSupported, message));
    }
    if function.within_group.is_empty() {
        let message = format!("WITHIN GROUP is required for {kind} aggregate {name}");
        return Err(Error::new(Code::WrongObjectType, message));
    }
    let FunctionArguments::List(list) = &function.args else { return Ok(None) };
    if list.duplicate_treatment == Some(DuplicateTreatment::Distinct) {
        return Err(Error::new(Code::SyntaxError, "cannot use DISTINCT with WITHIN GROUP"));
    }
    if !list.clauses.is_empty() {
        return Err(Error::new(Code::SyntaxError, "cannot use multiple ORDER BY clauses with WITHIN GROUP"));
    }
    let args: Vec<Expr> = list.args.iter().filter_map(plain).collect();
    if args.len() != list.args.len() {
        return Ok(None);
    }
    let condition = function.filter.as_deref();
    if is_hypothetical {
        let made = hypothetical(&name, &args, &function.within_group, condition)?;
        return Ok(Some(args.iter().filter(|arg| has_columns(arg)).fold(made, grouped)));
    }
    let wanted = usize::from(name != "mode");
    let [key] = &function.within_group[..] else {
        return Err(undefined(&name, args.len() + function.within_group.len()));
    };
    if args.len() != wanted {
        return Err(undefined(&name, args.len() + 1));
    }
    let there = Expr::IsNotNull(nested(key.expr.clone()));
    let collected = collected(key, both(condition.cloned(), there));
    let all = std::iter::once(collected).chain(args).collect();
    Ok(Some(call(&function_name(&name), all)))
}

/// The value, where an argument's columns are grouped: it stands outside of the aggregates, too.
fn grouped(value: Expr, arg: &Expr) -> Expr {
    let told = Expr::IsNull(nested(arg.clone()));
    let is_it = binary(told, BinaryOperator::Or, Expr::IsNotNull(nested(arg.clone())));
    let when = CaseWhen { condition: is_it, result: value };
    Expr::Case {
        case_token: AttachedToken::empty(),
        end_token: AttachedToken::empty(),
        operand: None,
        conditions: vec![when],
        else_result: None,
    }
}

fn has_columns(expr: &Expr) -> bool {
    let found = visit_expressions(expr, |expr| match expr {
        Expr::Identifier(_) | Expr::CompoundIdentifier(_) => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    });
    found.is_break()
}

fn plain(arg: &FunctionArg) -> Option<Expr> {
    match arg {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr.clone()),
        _ => None,
    }
}

fn undefined(name: &str, count: usize) -> Error {
    Error::new(Code::UndefinedFunction, format!("function {name} with {count} arguments does not exist"))
}

/// `array_agg(x ORDER BY x) FILTER (...)`
fn collected(key: &OrderByExpr, condition: Expr) -> Expr {
    let mut made = call("array_agg", vec![key.expr.clone()]);
    if let Expr::Function(Function { args: FunctionArguments::List(list), filter, .. }) = &mut made {
        list.clauses.push(FunctionArgumentClause::OrderBy(vec![key.clone()]));
        *filter = Some(Box::new(condition));
    }
    made
}

fn nested(expr: Expr) -> Box<Expr> {
    Box::new(match expr {
        plain @ (Expr::Identifier(_) | Expr::CompoundIdentifier(_) | Expr::Value(_) | Expr::Nested(_)) => plain,
        other => Expr::Nested(Box::new(other)),
    })
}

fn binary(left: Expr, op: BinaryOperator, right: Expr) -> Expr {
    Expr::Nested(Box::new(Expr::BinaryOp { left: nested(left), op, right: nested(right) }))
}

fn both(condition: Option<Expr>, other: Expr) -> Expr {
    match condition {
        Some(condition) => binary(condition, BinaryOperator::And, other),
        None => other,
    }
}

fn number(text: &str) -> Expr {
    Expr::value(Value::Number(text.into(), false))
}

/// `count(*) FILTER (...)`
fn counted(condition: Option<Expr>) -> Expr {
    let mut made = call("count", vec![number("1")]);
    if let Expr::Function(function) = &mut made {
        function.filter = condition.map(Box::new);
    }
    made
}

fn hypothetical(name: &str, args: &[Expr], keys: &[OrderByExpr], condition: Option<&Expr>) -> Result<Expr> {
    if args.len() != keys.len() {
        let hint = format!(
            "To use the hypothetical-set aggregate {name}, the number of hypothetical direct arguments (here {}) must \
             match the number of ordering columns (here {}).",
            args.len(),
            keys.len()
        );
        return Err(undefined(name, args.len() + keys.len()).hint(hint));
    }
    let pairs: Vec<(&OrderByExpr, &Expr)> = keys.iter().zip(args).collect();
    let filter = |other: Expr| Some(both(condition.cloned(), other));
    let before = || before(&pairs, false);
    let double = |expr: Expr| cast(expr, SqlType::Double(ExactNumberInfo::None));
    Ok(match name {
        "rank" => binary(counted(filter(before())), BinaryOperator::Plus, number("1")),
        "dense_rank" => {
            let found = match keys {
                [key] => {
                    // Values are equal as their type says; NULL is one more.
                    let is_null = Expr::IsNull(Box::new(key.expr.clone()));
                    let nulls = call("least", vec![counted(filter(both(Some(before()), is_null))), number("1")]);
                    binary(distinct(key.expr.clone(), filter(before())), BinaryOperator::Plus, nulls)
                }
                keys => {
                    let values = call("jsonb_build_array", keys.iter().map(|key| key.expr.clone()).collect());
                    distinct(values, filter(before()))
                }
            };
            binary(found, BinaryOperator::Plus, number("1"))
        }
        "percent_rank" => {
            let all = call("nullif", vec![counted(condition.cloned()), number("0")]);
            let share = binary(double(counted(filter(before()))), BinaryOperator::Divide, double(all));
            call("coalesce", vec![share, double(number("0"))])
        }
        _ => {
            let up_to = counted(filter(self::before(&pairs, true)));
            let up_to = double(binary(up_to, BinaryOperator::Plus, number("1")));
            let all = double(binary(counted(condition.cloned()), BinaryOperator::Plus, number("1")));
            binary(up_to, BinaryOperator::Divide, all)
        }
    })
}

/// `count(DISTINCT value) FILTER (WHERE condition)`
fn distinct(value: Expr, condition: Option<Expr>) -> Expr {
    let mut made = call("count", vec![value]);
    if let Expr::Function(function) = &mut made {
        function.filter = condition.map(Box::new);
        if let FunctionArguments::List(list) = &mut function.args {
            list.duplicate_treatment = Some(DuplicateTreatment::Distinct);
        }
    }
    made
}

/// Whether a row stands before the hypothetical one, or at its place.
fn before(pairs: &[(&OrderByExpr, &Expr)], or_equal: bool) -> Expr {
    let Some(((key, given), rest)) = pairs.split_first() else {
        return Expr::Value(Value::Boolean(or_equal).into());
    };
    let (value, given) = (key.expr.clone(), (*given).clone());
    let is_descending = key.options.asc == Some(false);
    let nulls_first = key.options.nulls_first.unwrap_or(is_descending);
    let op = if is_descending { BinaryOperator::Gt } else { BinaryOperator::Lt };
    let (null, there) = if nulls_first { (&value, &given) } else { (&given, &value) };
    let by_null =
        binary(Expr::IsNull(nested(null.clone())), BinaryOperator::And, Expr::IsNotNull(nested(there.clone())));
    let is_before = call("coalesce", vec![binary(value.clone(), op, given.clone()), by_null]);
    let equal = Expr::Nested(Box::new(Expr::IsNotDistinctFrom(nested(value), nested(given))));
    let further = binary(equal, BinaryOperator::And, before(rest, or_equal));
    binary(is_before, BinaryOperator::Or, further)
}
