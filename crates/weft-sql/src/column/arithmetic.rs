//! Functions behind arithmetic operators: they raise where the query engine's own would wrap, cut or give infinity.
//!
//! ```text
//!   9223372036854775807 + 1    22003, not -9223372036854775808
//!   1.5e0 / 0                  22012, not Infinity
//!   2.5e0::integer             2 (rounded to even), 3.5e0::integer 4; the engine's cast would cut
//! ```

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Datum};
use arrow::compute::kernels::numeric;
use arrow::datatypes::{DataType as ArrowType, Field, FieldRef, Float32Type, Float64Type};
use arrow::error::ArrowError;
use datafusion::common::Result;
use datafusion::logical_expr::{
    ColumnarValue, Expr, Operator, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use datafusion::physical_expr_common::datum::apply;

/// An arithmetic operator that raises on overflow and on division by zero. Both arguments have one numeric type.
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
        Ok(types[0].clone())
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        let nullable = args.arg_fields.iter().any(|field| field.is_nullable());
        Ok(Arc::new(Field::new(self.name(), args.arg_fields[0].data_type().clone(), nullable)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [left, right] = &args.args[..] else {
            return datafusion::common::internal_err!("{} takes two arguments", self.name());
        };
        match self.op {
            Operator::Plus => apply(left, right, numeric::add),
            Operator::Minus => apply(left, right, numeric::sub),
            Operator::Multiply => apply(left, right, numeric::mul),
            Operator::Divide => apply(left, right, |l, r| nonzero(r).and_then(|()| numeric::div(l, r))),
            _ => apply(left, right, |l, r| nonzero(r).and_then(|()| numeric::rem(l, r))),
        }
    }
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
