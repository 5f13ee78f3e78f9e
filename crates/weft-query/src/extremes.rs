//! `min` and `max` of floats by groups, in PostgreSQL's order: -Infinity below every number, NaN above.
//!
//! ```text
//!   max of '-Infinity' alone     -Infinity; the engine's own starts at the lowest finite number and stays there
//!   max of 'NaN', 1              NaN; the engine's own takes what came last
//! ```
//!
//! Floats are aggregated as the integers that have their order ([`f64::total_cmp`]), by the engine's code for integers.
//! Every NaN is the positive one first, so the lowest and the highest integer stand for no float.

use std::sync::{Arc, LazyLock};

use arrow::array::{ArrayRef, AsArray, BooleanArray};
use arrow::datatypes::{DataType as ArrowType, Field, FieldRef, Float32Type, Float64Type, Int32Type, Int64Type};
use datafusion::common::Result;
use datafusion::common::ScalarValue;
use datafusion::functions_aggregate::min_max::{max_udaf, min_udaf};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::AggregateOrderSensitivity;
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, EmitTo, Expr, GroupsAccumulator, ReversedUDAF, SetMonotonicity,
    Signature, StatisticsArgs,
};

/// `min` and `max`.
pub(super) fn functions() -> [Arc<AggregateUDF>; 2] {
    static BOTH: LazyLock<[Arc<AggregateUDF>; 2]> =
        LazyLock::new(|| [min_udaf(), max_udaf()].map(|inner| Arc::new(AggregateUDF::from(Extreme { inner }))));
    BOTH.clone()
}

/// `min(expr)`
pub(super) fn min(expr: Expr) -> Expr {
    functions()[0].call(vec![expr])
}

/// `max(expr)`
pub(super) fn max(expr: Expr) -> Expr {
    functions()[1].call(vec![expr])
}

/// The engine's function, but for floats by groups.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Extreme {
    inner: Arc<AggregateUDF>,
}

impl AggregateUDFImpl for Extreme {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn signature(&self) -> &Signature {
        self.inner.signature()
    }

    fn return_type(&self, types: &[ArrowType]) -> Result<ArrowType> {
        self.inner.return_type(types)
    }

    fn coerce_types(&self, types: &[ArrowType]) -> Result<Vec<ArrowType>> {
        self.inner.coerce_types(types)
    }

    fn accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        self.inner.accumulator(args)
    }

    fn state_fields(&self, args: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        self.inner.state_fields(args)
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs<'_>) -> bool {
        self.inner.groups_accumulator_supported(args)
    }

    fn create_groups_accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn GroupsAccumulator>> {
        let float = args.return_field.data_type().clone();
        let integer = match &float {
            ArrowType::Float64 => ArrowType::Int64,
            ArrowType::Float32 => ArrowType::Int32,
            _ => return self.inner.create_groups_accumulator(args),
        };
        let return_field = Arc::new(Field::new(args.return_field.name(), integer, true));
        let expr_fields = [Arc::clone(&return_field)];
        let inner = self.inner.create_groups_accumulator(AccumulatorArgs {
            return_field,
            expr_fields: &expr_fields,
            ..args
        })?;
        Ok(Box::new(Ordered { inner }))
    }

    fn create_sliding_accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        self.inner.create_sliding_accumulator(args)
    }

    fn is_descending(&self) -> Option<bool> {
        self.inner.is_descending()
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        self.inner.order_sensitivity()
    }

    fn reverse_expr(&self) -> ReversedUDAF {
        ReversedUDAF::Identical
    }

    fn value_from_stats(&self, args: &StatisticsArgs<'_>) -> Option<ScalarValue> {
        self.inner.value_from_stats(args)
    }

    /// NULL of no rows, or of NULLs only, comes before the results that ascend, and stands behind them in their order.
    fn set_monotonicity(&self, _: &ArrowType) -> SetMonotonicity {
        SetMonotonicity::NotMonotonic
    }
}

/// Aggregates floats as integers of their order.
struct Ordered {
    inner: Box<dyn GroupsAccumulator>,
}

impl GroupsAccumulator for Ordered {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        group_count: usize,
    ) -> Result<()> {
        self.inner.update_batch(&keys(values), groups, filter, group_count)
    }

    fn merge_batch(&mut self, values: &[ArrayRef], groups: &[usize], group_count: usize) -> Result<()> {
        self.inner.merge_batch(&keys(values), groups, group_count)
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        self.inner.evaluate(emit_to).map(|array| float_of(&array))
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        Ok(self.inner.state(emit_to)?.iter().map(float_of).collect())
    }

    fn convert_to_state(&self, values: &[ArrayRef], filter: Option<&BooleanArray>) -> Result<Vec<ArrayRef>> {
        Ok(self.inner.convert_to_state(&keys(values), filter)?.iter().map(float_of).collect())
    }

    fn size(&self) -> usize {
        self.inner.size()
    }
}

fn keys(values: &[ArrayRef]) -> Vec<ArrayRef> {
    values.iter().map(key_of).collect()
}

/// The integers that have the order of floats.
fn key_of(array: &ArrayRef) -> ArrayRef {
    match array.data_type() {
        ArrowType::Float64 => {
            Arc::new(array.as_primitive::<Float64Type>().unary::<_, Int64Type>(|value| {
                turned_64(if value.is_nan() { f64::NAN } else { value }.to_bits() as i64)
            }))
        }
        ArrowType::Float32 => {
            Arc::new(array.as_primitive::<Float32Type>().unary::<_, Int32Type>(|value| {
                turned_32(if value.is_nan() { f32::NAN } else { value }.to_bits() as i32)
            }))
        }
        _ => Arc::clone(array),
    }
}

/// The floats behind their integers.
fn float_of(array: &ArrayRef) -> ArrayRef {
    match array.data_type() {
        ArrowType::Int64 => Arc::new(
            array.as_primitive::<Int64Type>().unary::<_, Float64Type>(|key| f64::from_bits(turned_64(key) as u64)),
        ),
        ArrowType::Int32 => Arc::new(
            array.as_primitive::<Int32Type>().unary::<_, Float32Type>(|key| f32::from_bits(turned_32(key) as u32)),
        ),
        _ => Arc::clone(array),
    }
}

/// Negative floats have their bits turned, so that the greater magnitude is the lesser integer; its own inverse.
fn turned_64(bits: i64) -> i64 {
    bits ^ ((bits >> 63) as u64 >> 1) as i64
}

fn turned_32(bits: i32) -> i32 {
    bits ^ ((bits >> 31) as u32 >> 1) as i32
}

#[cfg(test)]
mod tests {
    use arrow::array::{Array, Float32Array, Float64Array};

    use super::*;

    #[test]
    fn integers_have_the_order_of_floats() {
        let values =
            [f64::NEG_INFINITY, f64::MIN, -1.5, -f64::MIN_POSITIVE, -0.0, 0.0, 1e-300, 2.0, f64::MAX, f64::INFINITY];
        let with_nan = |nan: f64| values.iter().copied().chain([nan]);
        for nan in [f64::NAN, -f64::NAN] {
            let array: ArrayRef = Arc::new(Float64Array::from_iter_values(with_nan(nan)));
            let keys = key_of(&array);
            let sorted = keys.as_primitive::<Int64Type>().values();
            assert!(sorted.windows(2).all(|pair| pair[0] < pair[1]), "{sorted:?}");
            assert!(!sorted.contains(&i64::MIN) && !sorted.contains(&i64::MAX));
            let back = float_of(&keys);
            let back = back.as_primitive::<Float64Type>().values();
            assert!(back.iter().zip(with_nan(f64::NAN)).all(|(a, b)| a.to_bits() == b.to_bits()), "{back:?}");
        }
        let array: ArrayRef =
            Arc::new(Float32Array::from(vec![Some(-f32::INFINITY), Some(-1.0), None, Some(f32::NAN)]));
        let keys = key_of(&array);
        assert_eq!(keys.null_count(), 1);
        assert_eq!(float_of(&keys).as_primitive::<Float32Type>().value(1), -1.0);
    }
}
