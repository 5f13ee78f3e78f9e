//! `sum` with PostgreSQL's types: of bigint a numeric, of smaller integers a bigint, of real a real; numerics that do
//! not fit are an error.
//!
//! ```text
//!   sum of 2^63 - 1, 2^63 - 1     18446744073709551614; the engine's own is -2
//!   sum of numeric                22003 from 10^38 on; the engine's own goes on from the lowest number
//! ```
//!
//! Numerics of few digits, floats and spans are added up by the engine's function.

use std::sync::{Arc, LazyLock};

use arrow::datatypes::{DataType as ArrowType, Field, FieldRef};
use datafusion::common::{Result, plan_err};
use datafusion::functions_aggregate::sum::sum_udaf;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::AggregateOrderSensitivity;
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, GroupsAccumulator, ReversedUDAF, Signature, Volatility,
};

use super::exact::{DIGITS_MAX, Distinct, Groups, Made, One, Widened};

/// What a sum of bigints is: those of 10^10 rows fit.
const OF_BIGINT: (u8, i8) = (30, 0);
/// The digits that the engine adds for a sum, enough for 10^10 rows.
const DIGITS_ADDED: u8 = 10;

/// `sum`.
pub(super) fn function() -> Arc<AggregateUDF> {
    static SUM: LazyLock<Arc<AggregateUDF>> = LazyLock::new(|| {
        let signature = Signature::user_defined(Volatility::Immutable);
        Arc::new(AggregateUDF::from(Sum { inner: sum_udaf(), signature }))
    });
    Arc::clone(&SUM)
}

/// How values of a type are added up.
enum Way {
    /// By the engine's function.
    Engine,
    /// By the engine's function over values of another type.
    Widened(ArrowType),
    /// In 128 bits.
    Exact(Made),
}

fn way(of: &ArrowType) -> Way {
    match of {
        ArrowType::Int16 | ArrowType::Int32 => Way::Widened(ArrowType::Int64),
        ArrowType::Float32 => Way::Widened(ArrowType::Float64),
        ArrowType::Int64 => Way::Exact(Made::Sum(OF_BIGINT.0, OF_BIGINT.1)),
        ArrowType::Decimal128(precision, _) if *precision <= DIGITS_MAX - DIGITS_ADDED => Way::Engine,
        ArrowType::Decimal128(_, scale) => Way::Exact(Made::Sum(DIGITS_MAX, *scale)),
        _ => Way::Engine,
    }
}

/// The engine's function, but for integers and numerics of many digits.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Sum {
    inner: Arc<AggregateUDF>,
    signature: Signature,
}

impl Sum {
    /// Calls with the arguments that the engine's function has over values of type `to`.
    fn inner_with<R>(
        &self,
        args: AccumulatorArgs<'_>,
        to: &ArrowType,
        call: impl FnOnce(&AggregateUDF, AccumulatorArgs<'_>) -> Result<R>,
    ) -> Result<R> {
        let expr_fields = [Arc::new(Field::new(args.expr_fields[0].name(), to.clone(), true)) as FieldRef];
        let return_field =
            Arc::new(Field::new(args.return_field.name(), self.inner.return_type(std::slice::from_ref(to))?, true));
        call(&self.inner, AccumulatorArgs { expr_fields: &expr_fields, return_field, ..args })
    }
}

impl AggregateUDFImpl for Sum {
    fn name(&self) -> &str {
        "sum"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[ArrowType]) -> Result<Vec<ArrowType>> {
        use ArrowType::{
            Decimal128, Decimal256, Duration, Float32, Float64, Int8, Int16, Int32, Int64, Interval, Null,
        };
        Ok(vec![match types {
            [Int8 | Int16] => Int16,
            [same @ (Int32 | Int64 | Float32 | Decimal128(..) | Duration(_) | Interval(_))] => same.clone(),
            [Decimal256(_, scale)] => Decimal128(DIGITS_MAX, *scale),
            [unsigned] if unsigned.is_unsigned_integer() => Decimal128(20, 0),
            [Float64 | Null] => Float64,
            [other] => return plan_err!("No function matches sum({other})"),
            _ => return plan_err!("No function matches sum with {} arguments", types.len()),
        }])
    }

    fn return_type(&self, types: &[ArrowType]) -> Result<ArrowType> {
        match &types[0] {
            ArrowType::Int16 | ArrowType::Int32 => Ok(ArrowType::Int64),
            ArrowType::Float32 => Ok(ArrowType::Float32),
            ArrowType::Int64 => Ok(ArrowType::Decimal128(OF_BIGINT.0, OF_BIGINT.1)),
            _ => self.inner.return_type(types),
        }
    }

    fn accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        match way(args.expr_fields[0].data_type()) {
            Way::Engine => self.inner.accumulator(args),
            Way::Exact(made) if args.is_distinct => Ok(Box::new(Distinct::new(made))),
            Way::Exact(made) => Ok(Box::new(One::new(made))),
            Way::Widened(to) => {
                let result = args.return_type().clone();
                let inner = self.inner_with(args, &to, |inner, args| inner.accumulator(args))?;
                Ok(Box::new(Widened::new(inner, to, result)))
            }
        }
    }

    fn create_sliding_accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        match way(args.expr_fields[0].data_type()) {
            Way::Engine => self.inner.create_sliding_accumulator(args),
            Way::Exact(made) => Ok(Box::new(One::new(made))),
            Way::Widened(to) => {
                let result = args.return_type().clone();
                let inner = self.inner_with(args, &to, |inner, args| inner.create_sliding_accumulator(args))?;
                Ok(Box::new(Widened::new(inner, to, result)))
            }
        }
    }

    fn state_fields(&self, args: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        match way(args.input_fields[0].data_type()) {
            Way::Engine => self.inner.state_fields(args),
            Way::Exact(_) => Ok(Made::state_fields(args.name, args.is_distinct)),
            Way::Widened(to) => {
                let result = self.inner.return_type(std::slice::from_ref(&to))?;
                let input_fields = [Arc::new(Field::new(args.input_fields[0].name(), to, true)) as FieldRef];
                let return_field = Arc::new(Field::new(args.return_field.name(), result, true));
                self.inner.state_fields(StateFieldsArgs { input_fields: &input_fields, return_field, ..args })
            }
        }
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs<'_>) -> bool {
        !args.is_distinct
    }

    fn create_groups_accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn GroupsAccumulator>> {
        match way(args.expr_fields[0].data_type()) {
            Way::Engine => self.inner.create_groups_accumulator(args),
            Way::Exact(made) => Ok(Box::new(Groups::new(made))),
            Way::Widened(to) => {
                let result = args.return_type().clone();
                let inner = self.inner_with(args, &to, |inner, args| inner.create_groups_accumulator(args))?;
                Ok(Box::new(Widened::new(inner, to, result)))
            }
        }
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        AggregateOrderSensitivity::Insensitive
    }

    fn reverse_expr(&self) -> ReversedUDAF {
        ReversedUDAF::Identical
    }
}
