//! Calls of window functions: what PostgreSQL refuses, and in which type values meet.
//!
//! ```text
//!   ntile(0), nth_value(x, 0)     22014, 22016
//!   lead(i, 1, -1.5)              numeric; the engine's own makes the default an integer, -1
//! ```

use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::expr::{Cast, WindowFunction};
use datafusion::logical_expr::{Expr, WindowFrame, WindowFrameBound, WindowFrameUnits, cast};
use weft_format::{Code, DataType, Error};

use super::error::wrap;

/// Refuses arguments that the engine takes for something else, or words otherwise.
fn check_arguments(name: &str, args: &[Expr]) -> Result<()> {
    let plain = |place: usize| match args.get(place) {
        Some(Expr::Cast(Cast { expr, .. })) => Some(&**expr),
        other => other,
    };
    let number = |place: usize| match plain(place) {
        Some(Expr::Literal(ScalarValue::Int64(number), _)) => *number,
        Some(Expr::Literal(ScalarValue::Int32(number), _)) => number.map(i64::from),
        _ => None,
    };
    let error = match name {
        "ntile" if number(0).is_some_and(|number| number <= 0) => {
            Error::new(Code::NtileArgument, "argument of ntile must be greater than zero")
        }
        "nth_value" if number(1).is_some_and(|number| number <= 0) => {
            Error::new(Code::NthValueArgument, "argument of nth_value must be greater than zero")
        }
        _ => return Ok(()),
    };
    Err(wrap(error))
}

/// DISTINCT is refused; the default of lag and lead meets their argument in one type: the engine casts it to the
/// argument's. Whether something was cast; `type_of` says the type of an operand, none of an untyped constant.
pub(super) fn settled(window: &mut WindowFunction, type_of: impl Fn(&Expr) -> Option<DataType>) -> Result<bool> {
    if window.params.distinct {
        let error = Error::new(Code::FeatureNotSupported, "DISTINCT is not implemented for window functions");
        return Err(wrap(error));
    }
    check_arguments(window.fun.name(), &window.params.args)?;
    if !matches!(window.fun.name(), "lag" | "lead") {
        return Ok(false);
    }
    let [value, _, default] = &mut window.params.args[..] else { return Ok(false) };
    let types = (type_of(value), type_of(default));
    let (Some(given), Some(beside)) = types else { return Ok(false) };
    if given.arrow() == beside.arrow() {
        return Ok(false);
    }
    let Some(common) = weft_expr::common_type(given, beside) else {
        let [given, beside] = [given, beside].map(weft_expr::text::type_name);
        let message =
            format!("function {} of {given} with a default that is {beside} does not exist", window.fun.name());
        return Err(wrap(Error::new(Code::UndefinedFunction, message).hint("cast one to the type of the other")));
    };
    for expr in [value, default] {
        *expr = cast(std::mem::take(expr), common.arrow());
    }
    Ok(true)
}

/// Whether a frame is a RANGE that begins or ends at an offset.
pub(super) fn is_range_with_offset(frame: &WindowFrame) -> bool {
    let has_offset = |bound: &WindowFrameBound| match bound {
        WindowFrameBound::Preceding(value) | WindowFrameBound::Following(value) => !value.is_null(),
        WindowFrameBound::CurrentRow => false,
    };
    frame.units == WindowFrameUnits::Range && (has_offset(&frame.start_bound) || has_offset(&frame.end_bound))
}
