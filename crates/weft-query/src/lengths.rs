//! Functions whose arguments are tested before the engine computes them.
//!
//! ```text
//!   chr(0), make_date(0, 1, 1)     no letter, no year: 54000, 22008
//!   ln(0), asin(2)                 2201E, 22003
//!   date_bin('1 month', ...)       0A000: months have no length
//!   lpad('x', 2147483647, 'y')     would fill 2 GB, letter by letter, deaf to cancellation: 54000
//!   repeat(name, 1000000000)       of 1,000 rows: a terabyte; the sum over a batch counts: 54000
//! ```

use std::sync::Arc;

use arrow::array::{Array, Int64Array, cast::AsArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType as ArrowType, FieldRef, Float64Type, IntervalMonthDayNanoType};
use datafusion::common::Result;
use datafusion::error::DataFusionError;
use datafusion::logical_expr::simplify::{ExprSimplifyResult, SimplifyContext};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
};
use weft_format::{Code, Error};

use super::error::wrap;

/// The most bytes that one call makes, for all rows of a batch.
const TEXT_BYTES_MAX: u64 = 256 << 20;

/// The function, with its bound when it is one of those.
pub(super) fn bounded(function: Arc<ScalarUDF>) -> Arc<ScalarUDF> {
    match function.name() {
        "coalesce" | "greatest" | "least" | "power" | "exp" | "repeat" | "lpad" | "rpad" | "chr" | "make_date"
        | "ln" | "log" | "log10" | "log2" | "acos" | "asin" | "acosh" | "atanh" | "date_bin" => {
            Arc::new(ScalarUDF::from(Bounded { inner: function }))
        }
        _ => function,
    }
}

/// A function with a test of its arguments.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Bounded {
    inner: Arc<ScalarUDF>,
}

impl ScalarUDFImpl for Bounded {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn aliases(&self) -> &[String] {
        self.inner.aliases()
    }

    fn signature(&self) -> &Signature {
        self.inner.signature()
    }

    fn return_type(&self, types: &[ArrowType]) -> Result<ArrowType> {
        self.inner.return_type(types)
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        self.inner.return_field_from_args(args)
    }

    fn coerce_types(&self, types: &[ArrowType]) -> Result<Vec<ArrowType>> {
        match (self.inner.coerce_types(types), self.name()) {
            (Err(error), "coalesce" | "greatest" | "least") => with_constants(types).ok_or(error),
            (coerced, _) => coerced,
        }
    }

    fn simplify(&self, args: Vec<Expr>, context: &SimplifyContext) -> Result<ExprSimplifyResult> {
        if self.name() == "log" {
            // Of a constant of one digit the engine's own fails.
            return Ok(ExprSimplifyResult::Original(args));
        }
        self.inner.inner().simplify(args, context)
    }

    fn short_circuits(&self) -> bool {
        self.inner.short_circuits()
    }

    fn conditional_arguments<'a>(&self, args: &'a [Expr]) -> Option<(Vec<&'a Expr>, Vec<&'a Expr>)> {
        self.inner.conditional_arguments(args)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        match self.name() {
            "chr" if any_first(&args, |code| code < 0.0)? => {
                return Err(wrap(Error::new(Code::InvalidParameterValue, "character number must be positive")));
            }
            "ln" | "log" | "log10" | "log2" if any_last(&args, |number| number == 0.0)? => {
                return Err(wrap(Error::new(Code::LogarithmArgument, "cannot take logarithm of zero")));
            }
            "ln" | "log" | "log10" | "log2" if any_last(&args, |number| number < 0.0)? => {
                return Err(wrap(Error::new(Code::LogarithmArgument, "cannot take logarithm of a negative number")));
            }
            "log" if args.args.len() == 2 && any_first(&args, |base| base == 0.0)? => {
                return Err(wrap(Error::new(Code::LogarithmArgument, "cannot take logarithm of zero")));
            }
            "log" if args.args.len() == 2 && any_first(&args, |base| base < 0.0)? => {
                return Err(wrap(Error::new(Code::LogarithmArgument, "cannot take logarithm of a negative number")));
            }
            "log" if args.args.len() == 2 && any_first(&args, |base| base == 1.0)? => {
                return Err(wrap(Error::new(Code::DivisionByZero, "division by zero")));
            }
            "acos" | "asin" | "atanh" if any_first(&args, |number| number.abs() > 1.0)? => return Err(outside()),
            "acosh" if any_first(&args, |number| number < 1.0)? => return Err(outside()),
            "date_bin" => {
                check_stride(&args)?;
                return self.inner.invoke_with_args(args);
            }
            "chr" if any_first(&args, |code| code == 0.0)? => {
                return Err(wrap(Error::new(Code::ProgramLimit, "null character not permitted")));
            }
            "make_date" if any_first(&args, |year| year == 0.0)? => {
                return Err(wrap(Error::new(Code::DatetimeOverflow, "date field value out of range: year 0")));
            }
            "power" | "exp" => return floating(self.inner.invoke_with_args(args.clone())?, &args),
            "repeat" | "lpad" | "rpad" => {}
            _ => return self.inner.invoke_with_args(args),
        }
        let bytes = result_bytes(self.name(), &args)?;
        if bytes > TEXT_BYTES_MAX {
            let message = format!("{}() would make {bytes} bytes of text, more than {TEXT_BYTES_MAX}", self.name());
            return Err(wrap(Error::new(Code::ProgramLimit, message).hint("ask for shorter text, or for fewer rows")));
        }
        self.inner.invoke_with_args(args)
    }
}

fn outside() -> DataFusionError {
    wrap(Error::new(Code::NumericOutOfRange, "input is out of range"))
}

/// Bins are of days and times, and above zero.
fn check_stride(args: &ScalarFunctionArgs) -> Result<()> {
    let stride = args.args[0].to_array(args.number_rows)?;
    let Some(strides) = stride.as_primitive_opt::<IntervalMonthDayNanoType>() else { return Ok(()) };
    for stride in strides.iter().flatten() {
        if stride.months != 0 {
            let message = "timestamps cannot be binned into intervals containing months or years";
            return Err(wrap(Error::new(Code::FeatureNotSupported, message).hint("use date_trunc")));
        }
        if i128::from(stride.days) * 86_400_000_000_000 + i128::from(stride.nanoseconds) <= 0 {
            return Err(wrap(Error::new(Code::DatetimeOverflow, "stride must be greater than zero")));
        }
    }
    Ok(())
}

/// The type of arguments of which some may be constants in quotes, which are cast to it later.
fn with_constants(types: &[ArrowType]) -> Option<Vec<ArrowType>> {
    let is_open = |arrow: &&ArrowType| !matches!(arrow, ArrowType::Utf8 | ArrowType::Null);
    let known = types.iter().find(is_open)?;
    types.iter().filter(is_open).all(|other| other == known).then(|| vec![known.clone(); types.len()])
}

/// What floats there is a result of: else 2201F, or 22003 where it is out of range.
fn floating(result: ColumnarValue, args: &ScalarFunctionArgs) -> Result<ColumnarValue> {
    let made = result.to_array(args.number_rows)?;
    let ArrowType::Float64 = made.data_type() else { return Ok(result) };
    let arrays =
        args.args.iter().map(|arg| cast(&arg.to_array(args.number_rows)?, &ArrowType::Float64).map_err(Into::into));
    let arrays = arrays.collect::<Result<Vec<_>>>()?;
    let numbers: Vec<_> = arrays.iter().map(|array| array.as_primitive::<Float64Type>()).collect();
    let made = made.as_primitive::<Float64Type>();
    for row in (0..made.len()).filter(|row| made.is_valid(*row)) {
        let value = made.value(row);
        let at = |place: usize| numbers.get(place).map_or(0.0, |array| array.value(row));
        let (base, exponent) = (at(0), at(1));
        let is_power = numbers.len() == 2;
        if is_power && base == 0.0 && exponent < 0.0 {
            return Err(wrap(Error::new(Code::PowerArgument, "zero raised to a negative power is undefined")));
        }
        if is_power && base < 0.0 && exponent.is_finite() && exponent.fract() != 0.0 {
            let message = "a negative number raised to a non-integer power yields a complex result";
            return Err(wrap(Error::new(Code::PowerArgument, message)));
        }
        if value.is_infinite() && base.is_finite() && exponent.is_finite() {
            return Err(wrap(Error::new(Code::NumericOutOfRange, "value out of range: overflow")));
        }
        let is_zero_of_zero = is_power && base == 0.0;
        if value == 0.0 && base.is_finite() && exponent.is_finite() && !is_zero_of_zero {
            return Err(wrap(Error::new(Code::NumericOutOfRange, "value out of range: underflow")));
        }
    }
    Ok(result)
}

/// Whether the first argument is such a number in a row in which no argument is NULL.
fn any_first(args: &ScalarFunctionArgs, is_it: impl Fn(f64) -> bool) -> Result<bool> {
    any_argument(args, 0, is_it)
}

/// The same of the last argument.
fn any_last(args: &ScalarFunctionArgs, is_it: impl Fn(f64) -> bool) -> Result<bool> {
    any_argument(args, args.args.len().saturating_sub(1), is_it)
}

fn any_argument(args: &ScalarFunctionArgs, place: usize, is_it: impl Fn(f64) -> bool) -> Result<bool> {
    let arrays = args.args.iter().map(|arg| arg.to_array(args.number_rows)).collect::<Result<Vec<_>>>()?;
    let Some(array) = arrays.get(place) else { return Ok(false) };
    let numbers = cast(array, &ArrowType::Float64)?;
    let numbers = numbers.as_primitive::<Float64Type>();
    Ok((0..numbers.len()).any(|row| is_it(numbers.value(row)) && arrays.iter().all(|array| array.is_valid(row))))
}

/// An upper bound of what the call makes, but for the length of single letters.
fn result_bytes(name: &str, args: &ScalarFunctionArgs) -> Result<u64> {
    let [text, count, ..] = args.args.as_slice() else { return Ok(0) };
    // Two constants make one value, whatever the number of rows.
    let rows = match (text, count) {
        (ColumnarValue::Scalar(_), ColumnarValue::Scalar(_)) => 1,
        _ => args.number_rows,
    };
    let counts = cast(&count.to_array(rows)?, &ArrowType::Int64)?;
    let counts: &Int64Array = counts.as_primitive();
    let count_at = |row: usize| if counts.is_null(row) { 0 } else { counts.value(row).max(0) as u64 };
    if name != "repeat" {
        return Ok((0..rows).fold(0, |sum: u64, row| sum.saturating_add(count_at(row))));
    }
    let text = cast(&text.to_array(rows)?, &ArrowType::Utf8View)?;
    let text = text.as_string_view();
    let length = |row: usize| if text.is_null(row) { 0 } else { text.value(row).len() as u64 };
    Ok((0..rows).fold(0, |sum: u64, row| sum.saturating_add(length(row).saturating_mul(count_at(row)))))
}
