//! Functions behind arithmetic operators: they raise where the query engine's own would wrap, cut or give infinity.
//!
//! ```text
//!   9223372036854775807 + 1    22003, not -9223372036854775808
//!   1.5e0 / 0                  22012, not Infinity
//!   1e308::float8 * 10         22003, not Infinity; of infinities it is one
//!   inf - inf                  NaN, the positive one: that of the processor sorts below all numbers
//!   2 / 3.0                    0.6666666666666667, not 0.6666
//!   2.5e0::integer             2 (rounded to even), 3.5e0::integer 4; the engine's cast would cut
//! ```

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, ArrowPrimitiveType, AsArray, Datum, Decimal128Array, PrimitiveArray};
use arrow::compute::kernels::numeric;
use arrow::datatypes::{DataType as ArrowType, Decimal128Type, Field, FieldRef, Float32Type, Float64Type};
use arrow::error::ArrowError;
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::simplify::{ExprSimplifyResult, SimplifyContext};
use datafusion::logical_expr::type_coercion::binary::BinaryTypeCoercer;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ExprSchemable, Operator, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl,
    Signature, Volatility, cast,
};
use datafusion::physical_expr_common::datum::apply;
use weft_expr::ArithmeticOp;
use weft_format::DataType;

use super::types::output_type;

/// An arithmetic operator that raises on overflow and on division by zero. Both arguments have one numeric type, or are
/// the numerics of a quotient, or of a remainder: the engine takes one divided by a constant 1 for 0, which is so of
/// integers only.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct Checked {
    op: Operator,
    signature: Signature,
}

impl Checked {
    /// The function of an operator, if it has a checked form.
    pub(crate) fn of(op: Operator) -> Option<Arc<ScalarUDF>> {
        use std::sync::LazyLock;
        static ALL: LazyLock<Vec<(Operator, Arc<ScalarUDF>)>> = LazyLock::new(|| {
            [Operator::Plus, Operator::Minus, Operator::Multiply, Operator::Divide, Operator::Modulo]
                .map(|op| {
                    let function = Checked { op, signature: Signature::any(2, Volatility::Immutable) };
                    (op, Arc::new(ScalarUDF::new_from_impl(function)))
                })
                .into()
        });
        ALL.iter().find(|(known, _)| *known == op).map(|(_, function)| Arc::clone(function))
    }
}

impl ScalarUDFImpl for Checked {
    fn name(&self) -> &str {
        match self.op {
            Operator::Plus => "add",
            Operator::Minus => "subtract",
            Operator::Multiply => "multiply",
            Operator::Divide => "divide",
            _ => "modulo",
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    /// In a chain the name is a hash: written out, the names of a chain of n operators have n² characters, and the
    /// planner asks for them n times.
    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        let name = self.name();
        if args.iter().any(|arg| matches!(arg, Expr::ScalarFunction(_))) {
            let mut hasher = DefaultHasher::new();
            args.hash(&mut hasher);
            return Ok(format!("{name}#{:016x}", hasher.finish()));
        }
        let args: Vec<String> = args.iter().map(|arg| arg.schema_name().to_string()).collect();
        Ok(format!("{name}({})", args.join(",")))
    }

    fn return_type(&self, types: &[ArrowType]) -> Result<ArrowType> {
        match types {
            [left, right] if left.is_decimal() && op_of(self.op).is_some() => numeric_type(self.op, left, right),
            [left, right] if left.is_decimal() => BinaryTypeCoercer::new(left, &self.op, right).get_result_type(),
            _ => Ok(types[0].clone()),
        }
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        let nullable = args.arg_fields.iter().any(|field| field.is_nullable());
        let types: Vec<ArrowType> = args.arg_fields.iter().map(|field| field.data_type().clone()).collect();
        Ok(Arc::new(Field::new(self.name(), self.return_type(&types)?, nullable)))
    }

    /// Of a constant NULL nothing is computed of a row: not the other operand either, which may fail.
    fn simplify(&self, args: Vec<Expr>, info: &SimplifyContext) -> Result<ExprSimplifyResult> {
        let is_null = |arg: &Expr| matches!(arg, Expr::Literal(value, _) if value.is_null());
        if !args.iter().any(is_null) || !args.iter().any(Expr::any_column_refs) {
            return Ok(ExprSimplifyResult::Original(args));
        }
        let types = args.iter().map(|arg| info.get_data_type(arg)).collect::<Result<Vec<_>>>()?;
        let data_type = self.return_type(&types)?;
        Ok(ExprSimplifyResult::Simplified(Expr::Literal(ScalarValue::try_from(&data_type)?, None)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [left, right] = &args.args[..] else {
            return datafusion::common::internal_err!("{} takes two arguments", self.name());
        };
        match self.op {
            Operator::Plus => apply(left, right, |l, r| settled(self.op, l, r, numeric::add(l, r)?)),
            Operator::Minus => apply(left, right, |l, r| settled(self.op, l, r, numeric::sub(l, r)?)),
            op if left.data_type().is_decimal() && op_of(op).is_some() => apply(left, right, |l, r| numerics(op, l, r)),
            Operator::Multiply => apply(left, right, |l, r| settled(self.op, l, r, numeric::mul(l, r)?)),
            Operator::Divide => apply(left, right, |l, r| settled(self.op, l, r, numeric::div(l, r)?)),
            _ => apply(left, right, |l, r| nonzero(r).and_then(|()| numeric::rem(l, r))),
        }
    }
}

/// The quotient, or the product, in which a numeric meets a numeric or an integer; none of other types, and of products
/// that the engine gives as many digits, unless a side may be a constant zero: the engine takes that for the product,
/// in the type that the zero is written in.
pub(super) fn numeric_of(op: Operator, left: &Expr, right: &Expr, schema: &DFSchema) -> Option<Expr> {
    let op_of_ours = op_of(op)?;
    let (from, to) = (left.get_type(schema).ok()?, right.get_type(schema).ok()?);
    if !from.is_decimal() && !to.is_decimal() {
        return None;
    }
    let numeric = |expr: &Expr, given: &ArrowType| match given {
        ArrowType::Decimal128(precision, scale) => Some((expr.clone(), (*precision, u8::try_from(*scale).ok()?))),
        ArrowType::Int16 | ArrowType::Int32 | ArrowType::Int64 => {
            let (precision, scale) = weft_expr::as_numeric(output_type(given))?;
            Some((cast(expr.clone(), ArrowType::Decimal128(precision, scale as i8)), (precision, scale)))
        }
        _ => None,
    };
    let ((left, (p1, s1)), (right, (p2, s2))) = (numeric(left, &from)?, numeric(right, &to)?);
    if op == Operator::Multiply {
        let typed = |precision, scale| DataType::Numeric { precision, scale };
        let (_, _, result) = weft_expr::arithmetic_types(op_of_ours, typed(p1, s1), typed(p2, s2))?;
        let may_be_zero = may_be_a_constant_zero(&left) || may_be_a_constant_zero(&right);
        if !may_be_zero && weft_expr::as_numeric(result).is_some_and(|(_, scale)| scale == s1 + s2) {
            return None;
        }
    }
    Some(Expr::ScalarFunction(ScalarFunction::new_udf(Checked::of(op)?, vec![left, right])))
}

/// Whether an expression is zero, or is a constant of which only its evaluation tells.
fn may_be_a_constant_zero(expr: &Expr) -> bool {
    match expr {
        Expr::Cast(cast) => may_be_a_constant_zero(&cast.expr),
        Expr::Literal(value, _) => ScalarValue::new_zero(&value.data_type()).is_ok_and(|zero| zero == *value),
        other => !other.any_column_refs(),
    }
}

/// The operators of numerics that are computed here.
fn op_of(op: Operator) -> Option<ArithmeticOp> {
    match op {
        Operator::Divide => Some(ArithmeticOp::Divide),
        Operator::Multiply => Some(ArithmeticOp::Multiply),
        _ => None,
    }
}

fn numeric_type(op: Operator, left: &ArrowType, right: &ArrowType) -> Result<ArrowType> {
    let [left, right] = [left, right].map(output_type);
    match op_of(op).and_then(|op| weft_expr::arithmetic_types(op, left, right)) {
        Some((_, _, result)) => Ok(result.arrow()),
        None => datafusion::common::internal_err!("no {op} of {left:?} and {right:?}"),
    }
}

/// The quotients or products of numerics, row by row.
fn numerics(op: Operator, left: &dyn Datum, right: &dyn Datum) -> Result<ArrayRef, ArrowError> {
    let ((a, a_is_one), (b, b_is_one)) = (left.get(), right.get());
    let data_type = numeric_type(op, a.data_type(), b.data_type());
    let data_type = data_type.map_err(|error| ArrowError::ComputeError(error.to_string()))?;
    let (ArrowType::Decimal128(_, s1), ArrowType::Decimal128(_, s2), ArrowType::Decimal128(precision, scale)) =
        (a.data_type(), b.data_type(), data_type)
    else {
        return Err(ArrowError::ComputeError(format!("no {op} of {} and {}", a.data_type(), b.data_type())));
    };
    let moved = if op == Operator::Divide { scale + s2 - s1 } else { s1 + s2 - scale };
    let moved = u8::try_from(moved).map_err(|error| ArrowError::ComputeError(error.to_string()))?;
    let end = 10_u128.pow(precision.into());
    let (a, b) = (a.as_primitive::<Decimal128Type>(), b.as_primitive::<Decimal128Type>());
    let one = |row: usize| {
        let (at, by) = (if a_is_one { 0 } else { row }, if b_is_one { 0 } else { row });
        if a.is_null(at) || b.is_null(by) {
            return Ok(None);
        }
        let (x, y) = (a.value(at), b.value(by));
        let made = match op {
            Operator::Divide if y == 0 => return Err(ArrowError::DivideByZero),
            Operator::Divide => weft_expr::quotient(x, y, moved),
            _ => weft_expr::product(x, y, moved),
        };
        let made = made.filter(|made| made.unsigned_abs() < end);
        made.map(Some).ok_or_else(|| ArrowError::ArithmeticOverflow("a numeric has more than 38 digits".into()))
    };
    let rows = if a_is_one { b.len() } else { a.len() };
    let made = (0..rows).map(one).collect::<Result<Decimal128Array, ArrowError>>()?;
    Ok(Arc::new(made.with_precision_and_scale(precision, scale)?))
}

/// Results of float arithmetic as PostgreSQL's: an error where they overflow, underflow or are divided by zero, one
/// NaN.
fn settled(op: Operator, left: &dyn Datum, right: &dyn Datum, out: ArrayRef) -> Result<ArrayRef, ArrowError> {
    match out.data_type() {
        ArrowType::Float64 => settled_floats::<Float64Type>(op, left, right, out),
        ArrowType::Float32 => settled_floats::<Float32Type>(op, left, right, out),
        _ => Ok(out),
    }
}

fn settled_floats<T>(op: Operator, left: &dyn Datum, right: &dyn Datum, out: ArrayRef) -> Result<ArrayRef, ArrowError>
where
    T: ArrowPrimitiveType,
    T::Native: Into<f64> + From<f32>,
{
    let may_underflow = matches!(op, Operator::Multiply | Operator::Divide);
    let results = out.as_primitive::<T>();
    let is_plain = |value: f64| value.is_finite() && (value != 0.0 || !may_underflow);
    if results.values().iter().all(|value| is_plain((*value).into())) {
        return Ok(out);
    }
    let operand = |side: &dyn Datum, row: usize| -> f64 {
        let (array, is_scalar) = side.get();
        array.as_primitive::<T>().value(if is_scalar { 0 } else { row }).into()
    };
    let one = |row: usize| {
        let result = results.value(row);
        let wide: f64 = result.into();
        if is_plain(wide) {
            return Ok(result);
        }
        let (a, b) = (operand(left, row), operand(right, row));
        if op == Operator::Divide && b == 0.0 && !a.is_nan() {
            return Err(ArrowError::DivideByZero);
        }
        let is_lost = wide == 0.0 && a != 0.0 && b != 0.0 && !b.is_infinite();
        if wide.is_infinite() && a.is_finite() && b.is_finite() || is_lost {
            let what = if is_lost { "underflow" } else { "overflow" };
            return Err(ArrowError::ArithmeticOverflow(what.into()));
        }
        Ok(if wide.is_nan() { f32::NAN.into() } else { result })
    };
    let settled = (0..results.len()).map(|row| if results.is_null(row) { Ok(None) } else { one(row).map(Some) });
    Ok(Arc::new(settled.collect::<Result<PrimitiveArray<T>, ArrowError>>()?))
}

/// An error if a float divisor is zero; the integer and decimal kernels see it themselves.
fn nonzero(divisor: &dyn Datum) -> Result<(), ArrowError> {
    let (array, _) = divisor.get();
    let zero = match array.data_type() {
        ArrowType::Float64 => array.as_primitive::<Float64Type>().iter().flatten().any(|v| v == 0.0),
        ArrowType::Float32 => array.as_primitive::<Float32Type>().iter().flatten().any(|v| v == 0.0),
        _ => false,
    };
    if zero { Err(ArrowError::DivideByZero) } else { Ok(()) }
}

/// Rounds floats to whole numbers, halves to even, as PostgreSQL's cast to integers does.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct RoundEven {
    signature: Signature,
}

impl RoundEven {
    /// The function.
    pub(crate) fn function() -> Arc<ScalarUDF> {
        use std::sync::LazyLock;
        static ONE: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| {
            Arc::new(ScalarUDF::new_from_impl(RoundEven { signature: Signature::any(1, Volatility::Immutable) }))
        });
        Arc::clone(&ONE)
    }
}

impl ScalarUDFImpl for RoundEven {
    fn name(&self) -> &str {
        "round_even"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[ArrowType]) -> Result<ArrowType> {
        Ok(types[0].clone())
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        let from = &args.arg_fields[0];
        Ok(Arc::new(Field::new(self.name(), from.data_type().clone(), from.is_nullable())))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let array = args.args[0].to_array(args.number_rows)?;
        let rounded: ArrayRef = match array.data_type() {
            ArrowType::Float64 => {
                Arc::new(array.as_primitive::<Float64Type>().unary::<_, Float64Type>(f64::round_ties_even))
            }
            ArrowType::Float32 => {
                Arc::new(array.as_primitive::<Float32Type>().unary::<_, Float32Type>(f32::round_ties_even))
            }
            _ => array,
        };
        Ok(ColumnarValue::Array(rounded))
    }
}
