//! `variance`, `stddev` and their kin, as PostgreSQL computes them of floats: by Youngs and Cramer, sums of squares of
//! differences that are updated value by value.
//!
//! ```text
//!   of 100000003, 100000004, 100000006, 100000007     var_pop 2.5; the engine's own is 2.5000000055879354
//!   of 'Infinity' alone                               var_pop NaN; the engine's own is 0
//! ```
//!
//! Integers and numerics are cast to double precision first (docs/differences.md). Source: float8_accum and
//! float8_combine in PostgreSQL's float.c; Youngs and Cramer, Technometrics 13 (1971).

use std::collections::BTreeSet;
use std::mem::size_of_val;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, Float64Array};
use arrow::datatypes::{DataType as ArrowType, Field, FieldRef, Float64Type};
use arrow::error::ArrowError;
use datafusion::common::{Result, ScalarValue, plan_err};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::AggregateOrderSensitivity;
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, EmitTo, GroupsAccumulator, ReversedUDAF, Signature, Volatility,
};

/// The functions.
pub(super) fn functions() -> Vec<Arc<AggregateUDF>> {
    let make = |name: &'static str, aliases: &[&str], is_sample: bool, is_root: bool| {
        let aliases = aliases.iter().map(|alias| (*alias).into()).collect();
        let signature = Signature::user_defined(Volatility::Immutable);
        let made = Made { is_sample, is_root };
        Arc::new(AggregateUDF::from(Variance { name, aliases, made, signature }))
    };
    vec![
        make("var", &["var_sample", "var_samp", "variance"], true, false),
        make("var_pop", &["var_population"], false, false),
        make("stddev", &["stddev_samp"], true, true),
        make("stddev_pop", &[], false, true),
    ]
}

/// What is made of the sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Made {
    /// Divided by the number of values but one.
    is_sample: bool,
    /// The square root.
    is_root: bool,
}

impl Made {
    fn of(self, sums: &Sums) -> Option<f64> {
        let divisor = if self.is_sample { sums.count - 1.0 } else { sums.count };
        if divisor <= 0.0 {
            return None;
        }
        let variance = sums.squares / divisor;
        Some(if self.is_root { variance.sqrt() } else { variance })
    }
}

/// Of some values: their number, their sum, and the sum of the squares of their differences from the average.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Sums {
    count: f64,
    sum: f64,
    squares: f64,
}

impl Sums {
    fn add(&mut self, value: f64) -> Result<(), ArrowError> {
        let before = *self;
        self.count += 1.0;
        self.sum += value;
        if before.count == 0.0 {
            if !value.is_finite() {
                self.squares = f64::NAN;
            }
            return Ok(());
        }
        let difference = value * self.count - self.sum;
        self.squares += difference * difference / (self.count * before.count);
        if self.sum.is_infinite() || self.squares.is_infinite() {
            if before.sum.is_finite() && value.is_finite() {
                return Err(overflow());
            }
            self.squares = f64::NAN;
        }
        Ok(())
    }

    fn merge(&mut self, other: &Sums) -> Result<(), ArrowError> {
        if self.count == 0.0 || other.count == 0.0 {
            if self.count == 0.0 {
                *self = *other;
            }
            return Ok(());
        }
        let count = self.count + other.count;
        let difference = self.sum / self.count - other.sum / other.count;
        let squares = self.squares + other.squares + self.count * other.count * difference * difference / count;
        if squares.is_infinite() && self.squares.is_finite() && other.squares.is_finite() && difference.is_finite() {
            return Err(overflow());
        }
        *self = Sums { count, sum: self.sum + other.sum, squares };
        Ok(())
    }
}

fn overflow() -> ArrowError {
    ArrowError::ArithmeticOverflow("overflow".into())
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Variance {
    name: &'static str,
    aliases: Vec<String>,
    made: Made,
    signature: Signature,
}

impl AggregateUDFImpl for Variance {
    fn name(&self) -> &str {
        self.name
    }

    fn aliases(&self) -> &[String] {
        &self.aliases
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[ArrowType]) -> Result<Vec<ArrowType>> {
        match types {
            [number] if number.is_numeric() || number.is_null() => Ok(vec![ArrowType::Float64]),
            [other] => plan_err!("No function matches {}({other})", self.name),
            _ => plan_err!("No function matches {} with {} arguments", self.name, types.len()),
        }
    }

    fn return_type(&self, _: &[ArrowType]) -> Result<ArrowType> {
        Ok(ArrowType::Float64)
    }

    fn accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        if args.is_distinct {
            return Ok(Box::new(Distinct { made: self.made, values: BTreeSet::new() }));
        }
        Ok(Box::new(One { made: self.made, sums: Sums::default() }))
    }

    fn state_fields(&self, args: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        let field = |part: &str, data_type| Arc::new(Field::new(format!("{}[{part}]", args.name), data_type, true));
        if args.is_distinct {
            let item = Arc::new(Field::new_list_field(ArrowType::Float64, true));
            return Ok(vec![field("values", ArrowType::List(item))]);
        }
        Ok(["count", "sum", "squares"].map(|part| field(part, ArrowType::Float64)).into())
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs<'_>) -> bool {
        !args.is_distinct
    }

    fn create_groups_accumulator(&self, _: AccumulatorArgs<'_>) -> Result<Box<dyn GroupsAccumulator>> {
        Ok(Box::new(Groups { made: self.made, sums: Vec::new() }))
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        AggregateOrderSensitivity::Insensitive
    }

    fn reverse_expr(&self) -> ReversedUDAF {
        ReversedUDAF::Identical
    }
}

/// Another one's state.
fn states(values: &[ArrayRef]) -> impl Iterator<Item = Sums> {
    let [counts, sums, squares] = [0, 1, 2].map(|place: usize| values[place].as_primitive::<Float64Type>());
    (0..counts.len()).map(|row| Sums { count: counts.value(row), sum: sums.value(row), squares: squares.value(row) })
}

/// Of all rows.
#[derive(Debug)]
struct One {
    made: Made,
    sums: Sums,
}

impl Accumulator for One {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let values = values[0].as_primitive::<Float64Type>();
        Ok(values.iter().flatten().try_for_each(|value| self.sums.add(value))?)
    }

    fn merge_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        Ok(states(values).try_for_each(|sums| self.sums.merge(&sums))?)
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        Ok(ScalarValue::Float64(self.made.of(&self.sums)))
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let Sums { count, sum, squares } = self.sums;
        Ok([count, sum, squares].map(|number| ScalarValue::Float64(Some(number))).into())
    }

    fn size(&self) -> usize {
        size_of_val(self)
    }
}

/// Of the values that differ, by their bits in order.
#[derive(Debug)]
struct Distinct {
    made: Made,
    values: BTreeSet<u64>,
}

impl Accumulator for Distinct {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let values = values[0].as_primitive::<Float64Type>();
        // There is one zero and one NaN.
        let one = |value: f64| if value.is_nan() { f64::NAN } else { value + 0.0 };
        self.values.extend(values.iter().flatten().map(|value| one(value).to_bits()));
        Ok(())
    }

    fn merge_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        values[0].as_list::<i32>().iter().flatten().try_for_each(|values| self.update_batch(&[values]))
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let mut sums = Sums::default();
        self.values.iter().try_for_each(|bits| sums.add(f64::from_bits(*bits)))?;
        Ok(ScalarValue::Float64(self.made.of(&sums)))
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let values: Vec<_> = self.values.iter().map(|bits| ScalarValue::Float64(Some(f64::from_bits(*bits)))).collect();
        Ok(vec![ScalarValue::List(ScalarValue::new_list_nullable(&values, &ArrowType::Float64))])
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.values.len() * 2 * size_of::<u64>()
    }
}

/// By groups.
#[derive(Debug)]
struct Groups {
    made: Made,
    sums: Vec<Sums>,
}

impl GroupsAccumulator for Groups {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        group_count: usize,
    ) -> Result<()> {
        self.sums.resize(group_count, Sums::default());
        let values = values[0].as_primitive::<Float64Type>();
        let counts =
            |row: usize| values.is_valid(row) && filter.is_none_or(|filter| filter.is_valid(row) && filter.value(row));
        for row in (0..values.len()).filter(|row| counts(*row)) {
            self.sums[groups[row]].add(values.value(row))?;
        }
        Ok(())
    }

    fn merge_batch(&mut self, values: &[ArrayRef], groups: &[usize], group_count: usize) -> Result<()> {
        self.sums.resize(group_count, Sums::default());
        Ok(groups.iter().zip(states(values)).try_for_each(|(group, sums)| self.sums[*group].merge(&sums))?)
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        let sums = emit_to.take_needed(&mut self.sums);
        Ok(Arc::new(sums.iter().map(|sums| self.made.of(sums)).collect::<Float64Array>()))
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        let sums = emit_to.take_needed(&mut self.sums);
        let column =
            |part: fn(&Sums) -> f64| -> ArrayRef { Arc::new(Float64Array::from_iter_values(sums.iter().map(part))) };
        Ok(vec![column(|sums| sums.count), column(|sums| sums.sum), column(|sums| sums.squares)])
    }

    fn convert_to_state(&self, values: &[ArrayRef], filter: Option<&BooleanArray>) -> Result<Vec<ArrayRef>> {
        let mut rows = Groups { made: self.made, sums: Vec::new() };
        let each_its_own: Vec<usize> = (0..values[0].len()).collect();
        rows.update_batch(values, &each_its_own, filter, each_its_own.len())?;
        rows.state(EmitTo::All)
    }

    fn size(&self) -> usize {
        self.sums.capacity() * size_of::<Sums>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const POP: Made = Made { is_sample: false, is_root: false };

    fn of(values: &[f64]) -> Sums {
        let mut sums = Sums::default();
        values.iter().for_each(|value| sums.add(*value).unwrap());
        sums
    }

    #[test]
    fn values_far_from_zero_lose_nothing() {
        let values = [100_000_003.0, 100_000_004.0, 100_000_006.0, 100_000_007.0];
        assert_eq!(POP.of(&of(&values)), Some(2.5));
        let mut merged = of(&values[..1]);
        merged.merge(&of(&values[1..])).unwrap();
        assert!((POP.of(&merged).unwrap() - 2.5).abs() < 1e-8, "averages of parts are rounded, in PostgreSQL too");
        assert_eq!(Made { is_sample: true, is_root: true }.of(&of(&[1.0])), None);
        assert_eq!(Made { is_sample: true, is_root: true }.of(&of(&[1.0, 3.0])), Some(2_f64.sqrt()));
        assert_eq!(POP.of(&Sums::default()), None);
    }

    #[test]
    fn infinity_is_not_zero_and_overflow_is_an_error() {
        assert!(POP.of(&of(&[f64::INFINITY])).unwrap().is_nan());
        assert!(POP.of(&of(&[1.0, f64::INFINITY])).unwrap().is_nan());
        assert!(POP.of(&of(&[f64::NAN])).unwrap().is_nan());
        let mut sums = of(&[1e308]);
        assert!(sums.add(-1e308).is_err());
    }

    #[test]
    fn groups_and_values_that_differ() {
        let values: ArrayRef = Arc::new(Float64Array::from(vec![Some(1.0), Some(3.0), None, Some(3.0)]));
        let mut groups = Groups { made: POP, sums: Vec::new() };
        groups.update_batch(&[Arc::clone(&values)], &[0, 0, 1, 0], None, 2).unwrap();
        let state = groups.convert_to_state(&[Arc::clone(&values)], None).unwrap();
        groups.merge_batch(&state, &[2; 4], 3).unwrap();
        let made = groups.evaluate(EmitTo::All).unwrap();
        let made: Vec<_> = made.as_primitive::<Float64Type>().iter().collect();
        assert_eq!((made[1], made[0].map(|v| (v * 9.0).round())), (None, Some(8.0)));
        assert_eq!(made[0].map(|v| (v * 9.0).round()), made[2].map(|v| (v * 9.0).round()));
        let mut distinct = Distinct { made: POP, values: BTreeSet::new() };
        distinct.update_batch(&[values]).unwrap();
        assert_eq!(distinct.evaluate().unwrap(), ScalarValue::Float64(Some(1.0)));
    }
}
