//! Frames of windows that the engine does not have: EXCLUDE, RANGE with offsets, offsets that are computed; functions
//! whose arguments are computed for each row.
//!
//! ```text
//!   sum(x) OVER (PARTITION BY a, <mark> ORDER BY b)        see `frame_marks`
//!     framed(1, NULL, b, NULL, NULL, b, x) OVER (PARTITION BY a ORDER BY b)
//!       start and end offset, what RANGE compares, and that less or plus the offsets; all keys; the arguments; FILTER
//! ```
//!
//! 1. The engine sorts, cuts partitions, and hands over whole ones; [`frame_bounds`](super::frame_bounds) finds the
//!    rows of each frame there, [`frame_values`](super::frame_values) computes values of them.
//! 2. The arguments are of the types that the function takes: types are known before.

use std::sync::Arc;

use arrow::compute::SortOptions;
use arrow::datatypes::{DataType as ArrowType, Field, FieldRef};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DFSchema, Result, ScalarValue, exec_err, plan_err};
use datafusion::logical_expr::expr::{Cast, ScalarFunction, WindowFunction};
use datafusion::logical_expr::function::{PartitionEvaluatorArgs, WindowUDFFieldArgs};
use datafusion::logical_expr::{
    AggregateUDF, ColumnarValue, Expr, ExprSchemable, LogicalPlan, PartitionEvaluator, ScalarFunctionArgs, ScalarUDF,
    ScalarUDFImpl, Signature, Volatility, WindowFrame, WindowFrameBound, WindowFrameUnits, WindowFunctionDefinition,
    WindowUDF, WindowUDFImpl, cast,
};
use datafusion::optimizer::AnalyzerRule;
use weft_expr::routines::by_operator;
use weft_expr::text::type_name;
use weft_format::{Code, DataType, Error};
use weft_sql::parse::FRAME;

use super::error::wrap;
use super::frame_bounds::{Bound, Exclusion, Frame, Units};
use super::frame_values::{FIXED, Function, Values};
use super::operands::operand_type;
use super::routines::{bound, cast_to};
use super::semantics::rewrite_plan;

/// The function of marks.
pub(super) fn mark() -> Arc<ScalarUDF> {
    Arc::new(ScalarUDF::from(Mark { signature: Signature::variadic_any(Volatility::Immutable) }))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Mark {
    signature: Signature,
}

impl ScalarUDFImpl for Mark {
    fn name(&self) -> &str {
        FRAME
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[ArrowType]) -> Result<ArrowType> {
        Ok(ArrowType::Boolean)
    }

    fn invoke_with_args(&self, _: ScalarFunctionArgs) -> Result<ColumnarValue> {
        exec_err!("the mark of a frame is no function")
    }
}

/// Takes marks off, and computes such frames by functions of ours; runs once types are known.
#[derive(Debug)]
pub(super) struct Frames;

impl AnalyzerRule for Frames {
    fn name(&self) -> &str {
        "frames"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        rewrite_plan(plan, false, |expr, schema| expr.transform_up(|expr| framed(expr, schema)))
    }
}

fn framed(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let Expr::WindowFunction(mut window) = expr else { return Ok(Transformed::no(expr)) };
    let is_mark = |part: &Expr| matches!(part, Expr::ScalarFunction(call) if call.func.name() == FRAME);
    let place = window.params.partition_by.iter().position(is_mark);
    let mark = match place.map(|place| window.params.partition_by.remove(place)) {
        Some(Expr::ScalarFunction(ScalarFunction { args, .. })) => Some(args),
        _ => None,
    };
    let Some(function) = Function::of(&window.fun) else {
        return Ok(Transformed::new_transformed(Expr::WindowFunction(window), mark.is_some()));
    };
    if mark.is_none() && !has_computed_arguments(&function, &window) {
        return Ok(Transformed::no(Expr::WindowFunction(window)));
    }
    let spec = match mark {
        Some(args) => Marked::of(args)?,
        None => Marked::of_frame(&window.params.window_frame),
    };
    called(function, spec, window, schema).map(Transformed::yes)
}

/// Whether the engine wants constants where there are none.
fn has_computed_arguments(function: &Function, window: &WindowFunction) -> bool {
    let is_constant = |arg: &Expr| match arg {
        Expr::Literal(..) => true,
        Expr::Cast(Cast { expr, .. }) => matches!(**expr, Expr::Literal(..)),
        _ => false,
    };
    let is_null = |arg: &Expr| match arg {
        Expr::Literal(value, _) => value.is_null(),
        Expr::Cast(Cast { expr, .. }) => matches!(&**expr, Expr::Literal(value, _) if value.is_null()),
        _ => false,
    };
    let computed = match function {
        Function::Lag | Function::Lead | Function::NthValue => window.params.args.get(1..).unwrap_or_default(),
        Function::Ntile => &window.params.args[..],
        _ => return false,
    };
    let wanted = if *function == Function::Ntile { computed } else { computed.get(..1).unwrap_or_default() };
    computed.iter().any(|arg| !is_constant(arg)) || wanted.iter().any(is_null)
}

/// What a mark says.
struct Marked {
    units: Units,
    exclusion: Exclusion,
    start: Bound,
    end: Bound,
    start_offset: Expr,
    end_offset: Expr,
    key: Expr,
}

fn null() -> Expr {
    Expr::Literal(ScalarValue::Null, None)
}

impl Marked {
    fn of(args: Vec<Expr>) -> Result<Marked> {
        let mut args = args.into_iter();
        let mut text = || match args.next() {
            Some(Expr::Literal(ScalarValue::Utf8(Some(text)) | ScalarValue::Utf8View(Some(text)), _)) => Ok(text),
            _ => plan_err!("a mark of a frame is none"),
        };
        let units = match text()?.as_str() {
            "rows" => Units::Rows,
            "range" => Units::Range,
            _ => Units::Groups,
        };
        let exclusion = match text()?.as_str() {
            "current" => Exclusion::CurrentRow,
            "group" => Exclusion::Group,
            "ties" => Exclusion::Ties,
            _ => Exclusion::Nothing,
        };
        let kind = |text: String| match text.as_str() {
            "unbounded" => Bound::First,
            "end" => Bound::Last,
            "preceding" => Bound::Preceding,
            "following" => Bound::Following,
            _ => Bound::Current,
        };
        let (start, end) = (kind(text()?), kind(text()?));
        let mut next = || args.next().unwrap_or_else(null);
        let (start_offset, end_offset, key) = (next(), next(), next());
        Ok(Marked { units, exclusion, start, end, start_offset, end_offset, key })
    }

    /// The frame that the engine has; its offsets are rows or groups.
    fn of_frame(frame: &WindowFrame) -> Marked {
        let units = match frame.units {
            WindowFrameUnits::Rows => Units::Rows,
            WindowFrameUnits::Range => Units::Range,
            WindowFrameUnits::Groups => Units::Groups,
        };
        let bound = |bound: &WindowFrameBound| match bound {
            WindowFrameBound::CurrentRow => (Bound::Current, null()),
            WindowFrameBound::Preceding(value) if value.is_null() => (Bound::First, null()),
            WindowFrameBound::Following(value) if value.is_null() => (Bound::Last, null()),
            WindowFrameBound::Preceding(value) => (Bound::Preceding, Expr::Literal(value.clone(), None)),
            WindowFrameBound::Following(value) => (Bound::Following, Expr::Literal(value.clone(), None)),
        };
        let ((start, start_offset), (end, end_offset)) = (bound(&frame.start_bound), bound(&frame.end_bound));
        Marked { units, exclusion: Exclusion::Nothing, start, end, start_offset, end_offset, key: null() }
    }
}

/// The window as a call of ours.
fn called(function: Function, marked: Marked, mut window: Box<WindowFunction>, schema: &DFSchema) -> Result<Expr> {
    let Marked { units, exclusion, start, end, start_offset, end_offset, key } = marked;
    let is_offset = |bound| matches!(bound, Bound::Preceding | Bound::Following);
    let mut fixed = vec![start_offset, end_offset, null(), null(), null()];
    let mut is_limited = false;
    if units == Units::Range && (is_offset(start) || is_offset(end)) {
        let is_descending = window.params.order_by.first().is_some_and(|key| !key.asc);
        is_limited = range(&mut fixed, key, ([start, end], is_descending), schema)?;
    } else {
        for (offset, bound) in fixed.iter_mut().zip([start, end]) {
            if is_offset(bound) {
                *offset = count_of(std::mem::take(offset), units, schema)?;
            }
        }
    }
    let keys = window.params.order_by.len();
    let args = std::mem::take(&mut window.params.args);
    let first = window.params.order_by.first();
    let order =
        first.map_or(SortOptions::default(), |key| SortOptions { descending: !key.asc, nulls_first: key.nulls_first });
    let filter = window.params.filter.take();
    let framed = Framed {
        function,
        frame: Frame { units, exclusion, start, end, is_limited, is_descending: order.descending },
        keys,
        args: args.len(),
        has_filter: filter.is_some(),
        signature: Signature::variadic_any(Volatility::Immutable),
    };
    window.params.args = fixed;
    window.params.args.extend(window.params.order_by.iter().map(|key| key.expr.clone()));
    window.params.args.extend(args);
    window.params.args.extend(filter.map(|filter| *filter));
    let (first, last) = (ScalarValue::UInt64(None), ScalarValue::UInt64(None));
    let (first, last) = (WindowFrameBound::Preceding(first), WindowFrameBound::Following(last));
    window.params.window_frame = WindowFrame::new_bounds(WindowFrameUnits::Rows, first, last);
    window.fun = WindowFunctionDefinition::WindowUDF(Arc::new(WindowUDF::from(framed)));
    Ok(Expr::WindowFunction(window))
}

/// An offset in rows or groups.
fn count_of(offset: Expr, units: Units, schema: &DFSchema) -> Result<Expr> {
    match operand_type(&offset, schema) {
        None | Some(DataType::Numeric { .. } | DataType::Real | DataType::DoublePrecision) => {
            Ok(cast_to(offset, DataType::BigInt))
        }
        Some(DataType::SmallInt | DataType::Integer | DataType::BigInt) => Ok(cast(offset, ArrowType::Int64)),
        // What the engine has made of a constant.
        Some(_) if matches!(offset.get_type(schema), Ok(ArrowType::UInt64)) => Ok(cast(offset, ArrowType::Int64)),
        Some(given) => {
            let units = if units == Units::Rows { "ROWS" } else { "GROUPS" };
            let message = format!("argument of {units} must be type bigint, not type {}", type_name(given));
            Err(wrap(Error::new(Code::DatatypeMismatch, message)))
        }
    }
}

/// Offsets of RANGE, the key, and the limits where they are computed by the engine; whether they are.
fn range(
    fixed: &mut [Expr],
    key: Expr,
    (bounds, is_descending): ([Bound; 2], bool),
    schema: &DFSchema,
) -> Result<bool> {
    let Some(of) = operand_type(&key, schema) else {
        let message = "RANGE with offset PRECEDING/FOLLOWING is not supported for column type text";
        return Err(wrap(Error::new(Code::FeatureNotSupported, message)));
    };
    let mut is_limited = false;
    for (place, bound_kind) in bounds.into_iter().enumerate() {
        if !matches!(bound_kind, Bound::Preceding | Bound::Following) {
            continue;
        }
        let offset = std::mem::take(&mut fixed[place]);
        let given = operand_type(&offset, schema);
        let wanted = offset_type(of, given)?;
        let offset = if given == Some(wanted) { offset } else { cast_to(offset, wanted) };
        if let DataType::Date | DataType::Timestamp | DataType::TimestampTz = of {
            let stamp = stamp_of(&key, of);
            let sign = if (bound_kind == Bound::Preceding) == is_descending { "+" } else { "-" };
            let of = if of == DataType::Date { DataType::Timestamp } else { of };
            let Some(signature) = by_operator(sign, Some(of), Some(DataType::Interval)) else {
                return plan_err!("moments have no {sign}");
            };
            fixed[3 + place] = bound(signature, vec![stamp, offset.clone()]);
            is_limited = true;
        }
        fixed[place] = offset;
    }
    fixed[2] = match of {
        DataType::SmallInt | DataType::Integer | DataType::BigInt => cast(key, ArrowType::Int64),
        DataType::Real => cast(key, ArrowType::Float64),
        DataType::Date | DataType::Timestamp | DataType::TimestampTz => stamp_of(&key, of),
        _ => key,
    };
    Ok(is_limited)
}

fn stamp_of(key: &Expr, of: DataType) -> Expr {
    if of == DataType::Date { cast_to(key.clone(), DataType::Timestamp) } else { key.clone() }
}

/// In which type an offset is added to keys of a type.
fn offset_type(of: DataType, given: Option<DataType>) -> Result<DataType> {
    use DataType as T;
    let is_integer = |data_type| matches!(data_type, T::SmallInt | T::Integer | T::BigInt);
    let is_numeric = |data_type| matches!(data_type, T::Numeric { .. });
    let wanted = match (of, given) {
        (of, None) if is_integer(of) => Some(T::BigInt),
        (of, Some(given)) if is_integer(of) && is_integer(given) => Some(T::BigInt),
        (T::Real | T::DoublePrecision, None) => Some(T::DoublePrecision),
        (T::Real | T::DoublePrecision, Some(given)) if is_integer(given) || is_numeric(given) => {
            Some(T::DoublePrecision)
        }
        (T::Real | T::DoublePrecision, Some(T::Real | T::DoublePrecision)) => Some(T::DoublePrecision),
        (of, None) if is_numeric(of) => Some(of),
        (of, Some(given)) if is_numeric(of) && is_numeric(given) => Some(given),
        (of, Some(given)) if is_numeric(of) && is_integer(given) => Some(T::BigInt),
        (T::Date | T::Timestamp | T::TimestampTz | T::Time | T::Interval, None | Some(T::Interval)) => {
            Some(T::Interval)
        }
        _ => None,
    };
    wanted.ok_or_else(|| {
        let of_name = type_name(of);
        let is_known = is_integer(of)
            || is_numeric(of)
            || matches!(
                of,
                T::Real | T::DoublePrecision | T::Date | T::Timestamp | T::TimestampTz | T::Time | T::Interval
            );
        let start = format!("RANGE with offset PRECEDING/FOLLOWING is not supported for column type {of_name}");
        wrap(match given.filter(|_| is_known) {
            Some(given) => {
                let message = format!("{start} and offset type {}", type_name(given));
                Error::new(Code::FeatureNotSupported, message).hint("Cast the offset value to an appropriate type.")
            }
            None => Error::new(Code::FeatureNotSupported, start),
        })
    })
}

/// A window function over a frame of ours.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Framed {
    function: Function,
    frame: Frame,
    keys: usize,
    args: usize,
    has_filter: bool,
    signature: Signature,
}

impl Framed {
    fn arguments<'a, T>(&self, all: &'a [T]) -> &'a [T] {
        &all[FIXED + self.keys..FIXED + self.keys + self.args]
    }
}

impl WindowUDFImpl for Framed {
    fn name(&self) -> &str {
        self.function.name()
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn field(&self, args: WindowUDFFieldArgs<'_>) -> Result<FieldRef> {
        let (data_type, is_nullable) = self.function.result(self.arguments(args.input_fields()))?;
        Ok(Arc::new(Field::new(args.name(), data_type, is_nullable)))
    }

    fn partition_evaluator(&self, args: PartitionEvaluatorArgs<'_>) -> Result<Box<dyn PartitionEvaluator>> {
        let (exprs, fields) = (self.arguments(args.input_exprs()), self.arguments(args.input_fields()));
        Ok(Box::new(Values::new(self.function.clone(), self.frame, self.keys, self.has_filter, exprs, fields)))
    }
}

impl Function {
    /// The function of a window that has a frame, or rows of its own choice.
    fn of(fun: &WindowFunctionDefinition) -> Option<Function> {
        Some(match fun {
            WindowFunctionDefinition::AggregateUDF(aggregate) => Function::Aggregate(Arc::clone(aggregate)),
            WindowFunctionDefinition::WindowUDF(function) => match function.name() {
                "first_value" => Function::FirstValue,
                "last_value" => Function::LastValue,
                "nth_value" => Function::NthValue,
                "lag" => Function::Lag,
                "lead" => Function::Lead,
                "ntile" => Function::Ntile,
                _ => return None,
            },
        })
    }

    fn name(&self) -> &str {
        match self {
            Function::Aggregate(_) => "framed_aggregate",
            Function::FirstValue => "framed_first_value",
            Function::LastValue => "framed_last_value",
            Function::NthValue => "framed_nth_value",
            Function::Lag => "framed_lag",
            Function::Lead => "framed_lead",
            Function::Ntile => "framed_ntile",
        }
    }

    /// Its type, and whether it may be NULL.
    fn result(&self, fields: &[FieldRef]) -> Result<(ArrowType, bool)> {
        Ok(match self {
            Function::Aggregate(aggregate) => {
                let aggregate: &AggregateUDF = aggregate;
                (aggregate.return_field(fields)?.data_type().clone(), aggregate.is_nullable())
            }
            Function::Ntile => (ArrowType::UInt64, true),
            _ => (fields[0].data_type().clone(), true),
        })
    }
}
