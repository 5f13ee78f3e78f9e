//! `bit_and`, `bit_or` and `bit_xor` of strings of bits; those of integers are the engine's own.
//!
//! ```text
//!   bit_and of B'0110', NULL, B'0101'     0100
//!   bit_or of B'01', B'011'               22026: cannot OR bit strings of different sizes
//! ```

use std::sync::{Arc, LazyLock};

use arrow::array::{ArrayRef, AsArray};
use arrow::datatypes::{DataType as ArrowType, FieldRef};
use datafusion::common::{Result, ScalarValue, plan_err};
use datafusion::functions_aggregate::bit_and_or_xor::{bit_and_udaf, bit_or_udaf, bit_xor_udaf};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::AggregateOrderSensitivity;
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, GroupsAccumulator, ReversedUDAF, Signature, Volatility,
};
use weft_format::{Code, Error};

use super::error::wrap;

/// The functions.
pub(super) fn functions() -> [Arc<AggregateUDF>; 3] {
    static ALL: LazyLock<[Arc<AggregateUDF>; 3]> = LazyLock::new(|| {
        let function = |inner, how| {
            let signature = Signature::user_defined(Volatility::Immutable);
            Arc::new(AggregateUDF::from(BitAggregate { inner, how, signature }))
        };
        [function(bit_and_udaf(), How::And), function(bit_or_udaf(), How::Or), function(bit_xor_udaf(), How::Xor)]
    });
    ALL.clone()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum How {
    And,
    Or,
    Xor,
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct BitAggregate {
    inner: Arc<AggregateUDF>,
    how: How,
    signature: Signature,
}

fn is_bits(arrow: &ArrowType) -> bool {
    *arrow == ArrowType::Binary
}

impl AggregateUDFImpl for BitAggregate {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[ArrowType]) -> Result<Vec<ArrowType>> {
        match types {
            [of] if is_bits(of) || of.is_integer() => Ok(vec![of.clone()]),
            [ArrowType::Null] => Ok(vec![ArrowType::Int64]),
            [other] => plan_err!("No function matches {}({other})", self.name()),
            _ => plan_err!("No function matches {} with {} arguments", self.name(), types.len()),
        }
    }

    fn return_type(&self, types: &[ArrowType]) -> Result<ArrowType> {
        Ok(types[0].clone())
    }

    fn accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        if !is_bits(args.return_type()) {
            return self.inner.accumulator(args);
        }
        if args.is_distinct && self.how == How::Xor {
            let message = "bit_xor(DISTINCT ...) of strings of bits is not supported";
            let error = Error::new(Code::FeatureNotSupported, message);
            return Err(wrap(error.hint("select the distinct values in a subquery")));
        }
        Ok(Box::new(Joined { how: self.how, digits: None }))
    }

    fn state_fields(&self, args: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        match is_bits(args.return_field.data_type()) {
            true => Ok(vec![Arc::new(args.return_field.as_ref().clone().with_nullable(true))]),
            false => self.inner.state_fields(args),
        }
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs<'_>) -> bool {
        !is_bits(args.return_type()) && self.inner.groups_accumulator_supported(args)
    }

    fn create_groups_accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn GroupsAccumulator>> {
        self.inner.create_groups_accumulator(args)
    }

    fn create_sliding_accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        match is_bits(args.return_type()) {
            true => self.accumulator(args),
            false => self.inner.create_sliding_accumulator(args),
        }
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        AggregateOrderSensitivity::Insensitive
    }

    fn reverse_expr(&self) -> ReversedUDAF {
        ReversedUDAF::Identical
    }
}

/// The digits of the rows so far, joined.
#[derive(Debug)]
struct Joined {
    how: How,
    digits: Option<Vec<u8>>,
}

impl Joined {
    fn join(&mut self, value: &[u8]) -> Result<()> {
        let Some(digits) = &mut self.digits else {
            self.digits = Some(value.to_vec());
            return Ok(());
        };
        if digits.len() != value.len() {
            let name = format!("{:?}", self.how).to_uppercase();
            let message = format!("cannot {name} bit strings of different sizes");
            return Err(wrap(Error::new(Code::BitLengthMismatch, message)));
        }
        for (digit, other) in digits.iter_mut().zip(value) {
            // The digits differ in their last bit only.
            *digit = match self.how {
                How::And => *digit & other,
                How::Or => *digit | other,
                How::Xor => b'0' | (*digit ^ other),
            };
        }
        Ok(())
    }
}

impl Accumulator for Joined {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        values[0].as_binary::<i32>().iter().flatten().try_for_each(|value| self.join(value))
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        Ok(ScalarValue::Binary(self.digits.clone()))
    }

    fn size(&self) -> usize {
        size_of::<Joined>() + self.digits.as_ref().map_or(0, Vec::capacity)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        self.evaluate().map(|digits| vec![digits])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.update_batch(states)
    }
}
