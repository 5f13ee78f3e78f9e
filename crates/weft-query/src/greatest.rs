//! `greatest` and `least` of what the engine puts in another order: arrays and intervals.
//!
//! ```text
//!   greatest(a, b, c)     the better of the better of a and b, and c:
//!                         CASE WHEN b IS NULL THEN a WHEN key(a) >= key(b) THEN a ELSE b END, and so on
//! ```

use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, Result, internal_err};
use datafusion::logical_expr::expr::{Case, ScalarFunction};
use datafusion::logical_expr::{Expr, Operator, binary_expr};
use weft_format::{Code, DataType, Error};

use super::error::wrap;
use super::operands::operand_type;
use super::routines::{as_type, comparable, is_compared_by_key};

pub(super) fn is_extreme_by_key(call: &ScalarFunction, schema: &DFSchema) -> bool {
    let is_by_key = |arg: &Expr| operand_type(arg, schema).is_some_and(is_compared_by_key);
    matches!(call.func.name(), "greatest" | "least") && call.args.iter().any(is_by_key)
}

/// `greatest` or `least` of arrays or intervals, which the engine puts in another order: the one or the other, two by
/// two, NULL being neither.
pub(super) fn extreme_by_key(call: ScalarFunction, schema: &DFSchema) -> Result<Transformed<Expr>> {
    // Each is written several times for each that follows it.
    const ARGS_MAX: usize = 6;
    if call.args.iter().any(Expr::is_volatile) || call.args.len() > ARGS_MAX {
        let name = call.func.name();
        let message =
            format!("{name} of arrays or intervals that are many or change from call to call is not supported");
        let error = Error::new(Code::FeatureNotSupported, message);
        return Err(wrap(error.hint("compute them in a subquery of FROM, a few at a time")));
    }
    let data_type = call.args.iter().find_map(|arg| operand_type(arg, schema).filter(|of| is_compared_by_key(*of)));
    let data_type = data_type.unwrap_or(DataType::Interval);
    let op = if call.func.name() == "greatest" { Operator::GtEq } else { Operator::LtEq };
    let mut args = call.args.into_iter().map(|arg| as_type(arg, data_type, schema));
    let Some(first) = args.next() else { return internal_err!("greatest and least have arguments") };
    let whole = args.fold(first, |best, next| {
        let is_better = binary_expr(comparable(best.clone(), data_type), op, comparable(next.clone(), data_type));
        let branches =
            vec![(Box::new(next.clone().is_null()), Box::new(best.clone())), (Box::new(is_better), Box::new(best))];
        Expr::Case(Case { expr: None, when_then_expr: branches, else_expr: Some(Box::new(next)) })
    });
    Ok(Transformed::yes(whole))
}
