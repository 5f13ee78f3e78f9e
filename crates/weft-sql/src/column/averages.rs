//! `avg` of integers: a numeric, as in PostgreSQL; the engine's own is double precision.
//!
//! ```text
//!   avg of 1, 2, 2            1.6666666666666667
//!   avg of 2^53, 2^53 + 1     9007199254740992.5000000000000000; as double precision the half is lost
//! ```
//!
//! Sums are exact, in 128 bits: 2^64 bigints fit. The quotient has 16 digits after the point and is rounded half away
//! from zero, as every numeric. Everything else is averaged by the engine's function.

use std::mem::size_of_val;
use std::sync::{Arc, LazyLock};

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, Decimal128Array, Int64Array};
use arrow::compute::cast;
use arrow::datatypes::{
    ArrowPrimitiveType, DataType as ArrowType, Decimal128Type, Field, FieldRef, Int16Type, Int32Type, Int64Type,
};
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::functions_aggregate::average::avg_udaf;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::AggregateOrderSensitivity;
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, EmitTo, GroupsAccumulator, ReversedUDAF, Signature, Volatility,
};

/// Digits after the point.
const SCALE: i8 = 16;
/// What an average is.
const AVERAGE: ArrowType = ArrowType::Decimal128(38, SCALE);
/// What a sum is between partitions.
const SUM: ArrowType = ArrowType::Decimal128(38, 0);
/// Any integer, for the engine's function.
const WIDE: ArrowType = ArrowType::Decimal128(20, 0);

/// `avg`.
pub(super) fn function() -> Arc<AggregateUDF> {
    static AVG: LazyLock<Arc<AggregateUDF>> = LazyLock::new(|| {
        let signature = Signature::user_defined(Volatility::Immutable);
        Arc::new(AggregateUDF::from(Average { inner: avg_udaf(), signature }))
    });
    Arc::clone(&AVG)
}

/// The engine's function, but for integers.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Average {
    inner: Arc<AggregateUDF>,
    signature: Signature,
}

fn is_integer(data_type: &ArrowType) -> bool {
    matches!(data_type, ArrowType::Int16 | ArrowType::Int32 | ArrowType::Int64)
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
            [integer] if is_integer(integer) => Ok(vec![integer.clone()]),
            [numeric @ ArrowType::Decimal128(..)] => Ok(vec![numeric.clone()]),
            [ArrowType::Decimal256(_, scale)] => Ok(vec![ArrowType::Decimal128(38, *scale)]),
            [number] if number.is_integer() => Ok(vec![ArrowType::Int64]),
            [number] if number.is_floating() || number.is_null() => Ok(vec![ArrowType::Float64]),
            [span @ ArrowType::Duration(_)] => Ok(vec![span.clone()]),
            [other] => datafusion::common::plan_err!("No function matches avg({other})"),
            _ => datafusion::common::plan_err!("No function matches avg with {} arguments", types.len()),
        }
    }

    fn return_type(&self, types: &[ArrowType]) -> Result<ArrowType> {
        if is_integer(&types[0]) { Ok(AVERAGE) } else { self.inner.return_type(types) }
    }

    fn accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        if !is_integer(args.expr_fields[0].data_type()) {
            return self.inner.accumulator(args);
        }
        if !args.is_distinct {
            return Ok(Box::<One>::default());
        }
        let expr_fields = [wide_field(args.expr_fields[0].name())];
        Ok(Box::new(Widened { inner: self.inner.accumulator(AccumulatorArgs { expr_fields: &expr_fields, ..args })? }))
    }

    fn state_fields(&self, args: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        let given = &args.input_fields[0];
        if !is_integer(given.data_type()) {
            return self.inner.state_fields(args);
        }
        if args.is_distinct {
            return self.inner.state_fields(StateFieldsArgs { input_fields: &[wide_field(given.name())], ..args });
        }
        let field = |name: &str, data_type| Arc::new(Field::new(format!("{}[{name}]", args.name), data_type, true));
        Ok(vec![field("count", ArrowType::Int64), field("sum", SUM)])
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs<'_>) -> bool {
        if is_integer(args.expr_fields[0].data_type()) {
            !args.is_distinct
        } else {
            self.inner.groups_accumulator_supported(args)
        }
    }

    fn create_groups_accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn GroupsAccumulator>> {
        if is_integer(args.expr_fields[0].data_type()) {
            Ok(Box::<Groups>::default())
        } else {
            self.inner.create_groups_accumulator(args)
        }
    }

    fn create_sliding_accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        if is_integer(args.expr_fields[0].data_type()) {
            self.accumulator(args)
        } else {
            self.inner.create_sliding_accumulator(args)
        }
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        AggregateOrderSensitivity::Insensitive
    }

    fn reverse_expr(&self) -> ReversedUDAF {
        ReversedUDAF::Identical
    }
}

fn wide_field(name: &str) -> FieldRef {
    Arc::new(Field::new(name, WIDE, true))
}

/// The sum of `count` integers divided by their number, none of none; rounded half away from zero.
fn quotient(sum: i128, count: i64) -> Option<i128> {
    const UNIT: i128 = 10_i128.pow(SCALE as u32);
    let count = i128::from(count);
    if count == 0 {
        return None;
    }
    // The rest is below 2^63, so neither product is above 2^127.
    let (whole, rest) = (sum / count, sum % count * UNIT);
    let carry = if (rest % count).abs() * 2 >= count { rest.signum() } else { 0 };
    Some(whole * UNIT + rest / count + carry)
}

/// Calls with each value that counts, and where it stands.
fn each(array: &ArrayRef, mut call: impl FnMut(usize, i64)) -> Result<()> {
    fn visit<T: ArrowPrimitiveType<Native: Into<i64>>>(array: &ArrayRef, call: &mut impl FnMut(usize, i64)) {
        let values = array.as_primitive::<T>();
        match values.nulls().filter(|nulls| nulls.null_count() > 0) {
            None => values.values().iter().enumerate().for_each(|(row, value)| call(row, (*value).into())),
            Some(nulls) => nulls.valid_indices().for_each(|row| call(row, values.value(row).into())),
        }
    }
    match array.data_type() {
        ArrowType::Int16 => visit::<Int16Type>(array, &mut call),
        ArrowType::Int32 => visit::<Int32Type>(array, &mut call),
        ArrowType::Int64 => visit::<Int64Type>(array, &mut call),
        other => return internal_err!("avg of integers is given {other}"),
    }
    Ok(())
}

/// The counts and sums of another one's state.
fn states(values: &[ArrayRef]) -> (&Int64Array, &Decimal128Array) {
    (values[0].as_primitive::<Int64Type>(), values[1].as_primitive::<Decimal128Type>())
}

/// The average of all rows.
#[derive(Debug, Default)]
struct One {
    count: i64,
    sum: i128,
}

impl Accumulator for One {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        each(&values[0], |_, value| {
            self.count += 1;
            self.sum += i128::from(value);
        })
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        each(&values[0], |_, value| {
            self.count -= 1;
            self.sum -= i128::from(value);
        })
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    fn merge_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let (counts, sums) = states(values);
        self.count += counts.values().iter().sum::<i64>();
        self.sum += sums.values().iter().sum::<i128>();
        Ok(())
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        Ok(ScalarValue::Decimal128(quotient(self.sum, self.count), 38, SCALE))
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Ok(vec![ScalarValue::Int64(Some(self.count)), ScalarValue::Decimal128(Some(self.sum), 38, 0)])
    }

    fn size(&self) -> usize {
        size_of_val(self)
    }
}

/// Averages by groups.
#[derive(Debug, Default)]
struct Groups {
    counts: Vec<i64>,
    sums: Vec<i128>,
}

impl Groups {
    fn reach(&mut self, group_count: usize) {
        self.counts.resize(group_count, 0);
        self.sums.resize(group_count, 0);
    }
}

impl GroupsAccumulator for Groups {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        group_count: usize,
    ) -> Result<()> {
        self.reach(group_count);
        let (counts, sums) = (&mut self.counts, &mut self.sums);
        let mut add = |row: usize, value: i64| {
            counts[groups[row]] += 1;
            sums[groups[row]] += i128::from(value);
        };
        match filter {
            None => each(&values[0], add),
            Some(filter) => each(&values[0], |row, value| {
                if filter.is_valid(row) && filter.value(row) {
                    add(row, value);
                }
            }),
        }
    }

    fn merge_batch(&mut self, values: &[ArrayRef], groups: &[usize], group_count: usize) -> Result<()> {
        self.reach(group_count);
        let (counts, sums) = states(values);
        for ((&group, count), sum) in groups.iter().zip(counts.values()).zip(sums.values()) {
            self.counts[group] += count;
            self.sums[group] += sum;
        }
        Ok(())
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        let (counts, sums) = (emit_to.take_needed(&mut self.counts), emit_to.take_needed(&mut self.sums));
        let averages: Decimal128Array = sums.into_iter().zip(counts).map(|(sum, count)| quotient(sum, count)).collect();
        Ok(Arc::new(averages.with_data_type(AVERAGE)))
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        let counts = Int64Array::from(emit_to.take_needed(&mut self.counts));
        let sums = Decimal128Array::from(emit_to.take_needed(&mut self.sums)).with_data_type(SUM);
        Ok(vec![Arc::new(counts), Arc::new(sums)])
    }

    fn convert_to_state(&self, values: &[ArrayRef], filter: Option<&BooleanArray>) -> Result<Vec<ArrayRef>> {
        let mut rows = Groups::default();
        let count = values[0].len();
        let each_its_own: Vec<usize> = (0..count).collect();
        rows.update_batch(values, &each_its_own, filter, count)?;
        rows.state(EmitTo::All)
    }

    fn size(&self) -> usize {
        self.counts.capacity() * size_of::<i64>() + self.sums.capacity() * size_of::<i128>()
    }
}

/// The engine's function over integers as numerics: of those that differ.
#[derive(Debug)]
struct Widened {
    inner: Box<dyn Accumulator>,
}

impl Accumulator for Widened {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.inner.update_batch(&[cast(&values[0], &WIDE)?])
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.inner.retract_batch(&[cast(&values[0], &WIDE)?])
    }

    fn supports_retract_batch(&self) -> bool {
        self.inner.supports_retract_batch()
    }

    fn merge_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.inner.merge_batch(values)
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        self.inner.evaluate()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        self.inner.state()
    }

    fn size(&self) -> usize {
        self.inner.size()
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{Int16Array, Int32Array};

    use super::*;

    const UNIT: i128 = 10_i128.pow(SCALE as u32);

    #[test]
    fn quotients_are_rounded_half_away_from_zero_at_the_sixteenth_digit() {
        assert_eq!(quotient(0, 0), None);
        assert_eq!(quotient(5, 3), Some(16_666_666_666_666_667));
        assert_eq!(quotient(-5, 3), Some(-16_666_666_666_666_667));
        assert_eq!(quotient(-4, 3), Some(-13_333_333_333_333_333));
        assert_eq!(quotient(3, 2), Some(UNIT + UNIT / 2));
        // Half of the last digit.
        assert_eq!((quotient(1, 2 * 10_i64.pow(16)), quotient(-1, 2 * 10_i64.pow(16))), (Some(1), Some(-1)));
        let many = i64::MAX;
        for value in [i64::MAX, i64::MIN] {
            assert_eq!(quotient(i128::from(value) * i128::from(many), many), Some(i128::from(value) * UNIT));
        }
        assert!(quotient(i128::from(many) - 1, many).unwrap() <= UNIT);
    }

    #[test]
    fn groups_and_one_agree_through_states_filters_and_windows() {
        let values: ArrayRef = Arc::new(Int32Array::from(vec![Some(1), None, Some(2), Some(7), Some(-3), None]));
        let filter = BooleanArray::from(vec![Some(true), Some(true), Some(true), Some(false), None, Some(true)]);
        let groups = [0, 1, 0, 2, 2, 1];
        let mut parts = Groups::default();
        parts.update_batch(&[Arc::clone(&values)], &groups, Some(&filter), 3).unwrap();
        let state = parts.state(EmitTo::All).unwrap();
        let mut all = Groups::default();
        all.merge_batch(&state, &[0, 1, 2], 4).unwrap();
        let other = all.convert_to_state(&[Arc::clone(&values)], None).unwrap();
        all.merge_batch(&other, &[3; 6], 4).unwrap();
        let averages = all.evaluate(EmitTo::First(1)).unwrap();
        assert_eq!(averages.as_primitive::<Decimal128Type>().iter().collect::<Vec<_>>(), [Some(UNIT + UNIT / 2)]);
        let averages = all.evaluate(EmitTo::All).unwrap();
        let averages = averages.as_primitive::<Decimal128Type>();
        assert_eq!(averages.iter().collect::<Vec<_>>(), [None, None, Some(7 * UNIT / 4)]);
        assert_eq!(averages.data_type(), &AVERAGE);

        let mut one = One::default();
        one.update_batch(&[values]).unwrap();
        one.retract_batch(&[Arc::new(Int16Array::from(vec![Some(7), None]))]).unwrap();
        assert_eq!(one.evaluate().unwrap(), ScalarValue::Decimal128(Some(0), 38, SCALE));
        assert_eq!(one.state().unwrap()[0], ScalarValue::Int64(Some(3)));
    }
}
