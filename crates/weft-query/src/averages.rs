//! `avg` of integers and of numerics: a numeric, rounded, as in PostgreSQL.
//!
//! ```text
//!   avg of 1, 2, 2            1.6666666666666667; the engine's own is double precision
//!   avg of 2^53, 2^53 + 1     9007199254740992.5000000000000000; as double precision the half is lost
//!   avg of 1.0, 0.5, 0.5      0.6666666666666667; the engine's own is 0.66666
//! ```
//!
//! Everything else is averaged by the engine's function.

use std::sync::{Arc, LazyLock};

use arrow::datatypes::{DataType as ArrowType, FieldRef};
use datafusion::common::{Result, plan_err};
use datafusion::functions_aggregate::average::avg_udaf;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::AggregateOrderSensitivity;
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, GroupsAccumulator, ReversedUDAF, Signature, Volatility,
};

use super::exact::{DIGITS_MAX, Distinct, Groups, Made, One};

/// `avg`.
pub(super) fn function() -> Arc<AggregateUDF> {
    static AVG: LazyLock<Arc<AggregateUDF>> = LazyLock::new(|| {
        let signature = Signature::user_defined(Volatility::Immutable);
        Arc::new(AggregateUDF::from(Average { inner: avg_udaf(), signature }))
    });
    Arc::clone(&AVG)
}

/// The engine's function, but for integers and numerics.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Average {
    inner: Arc<AggregateUDF>,
    signature: Signature,
}

impl AggregateUDFImpl for Average {
    fn name(&self) -> &str {
        "avg"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[ArrowType]) -> Result<Vec<ArrowType>> {
        match types {
            [exact] if Made::average(exact).is_some() => Ok(vec![exact.clone()]),
            [ArrowType::Decimal256(_, scale)] => Ok(vec![ArrowType::Decimal128(DIGITS_MAX, *scale)]),
            [number] if number.is_integer() => Ok(vec![ArrowType::Int64]),
            [number] if number.is_floating() || number.is_null() => Ok(vec![ArrowType::Float64]),
            [span @ ArrowType::Duration(_)] => Ok(vec![span.clone()]),
            [other] => plan_err!("No function matches avg({other})"),
            _ => plan_err!("No function matches avg with {} arguments", types.len()),
        }
    }

    fn return_type(&self, types: &[ArrowType]) -> Result<ArrowType> {
        match Made::average(&types[0]) {
            Some(made) => Ok(made.data_type()),
            None => self.inner.return_type(types),
        }
    }

    fn accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        match Made::average(args.expr_fields[0].data_type()) {
            Some(made) if args.is_distinct => Ok(Box::new(Distinct::new(made))),
            Some(made) => Ok(Box::new(One::new(made))),
            None => self.inner.accumulator(args),
        }
    }

    fn create_sliding_accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        match Made::average(args.expr_fields[0].data_type()) {
            Some(_) => self.accumulator(args),
            None => self.inner.create_sliding_accumulator(args),
        }
    }

    fn state_fields(&self, args: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        match Made::average(args.input_fields[0].data_type()) {
            Some(_) => Ok(Made::state_fields(args.name, args.is_distinct)),
            None => self.inner.state_fields(args),
        }
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs<'_>) -> bool {
        match Made::average(args.expr_fields[0].data_type()) {
            Some(_) => !args.is_distinct,
            None => self.inner.groups_accumulator_supported(args),
        }
    }

    fn create_groups_accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn GroupsAccumulator>> {
        match Made::average(args.expr_fields[0].data_type()) {
            Some(made) => Ok(Box::new(Groups::new(made))),
            None => self.inner.create_groups_accumulator(args),
        }
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        AggregateOrderSensitivity::Insensitive
    }

    fn reverse_expr(&self) -> ReversedUDAF {
        ReversedUDAF::Identical
    }
}
