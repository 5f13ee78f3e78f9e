//! Sums of integers and numerics in 128 bits, and what is made of them: `sum` and `avg`.
//!
//! ```text
//!   sum of bigint         2^63 - 1 twice is 18446744073709551614; 2^64 of them fit
//!   sum of numeric        more than 38 digits are an error (22003), never another number
//!   avg of either         the sum divided by their number: 16 digits after the point or as many as the values have,
//!                         rounded half away from zero
//! ```
//!
//! The state of a sum between partitions is the number of values and their sum, the latter without its scale.

use std::collections::HashSet;
use std::mem::size_of_val;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, Decimal128Array, Int64Array};
use arrow::compute::cast;
use arrow::datatypes::{
    ArrowPrimitiveType, DataType as ArrowType, Decimal128Type, Field, FieldRef, Int16Type, Int32Type, Int64Type,
};
use arrow::error::ArrowError;
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::error::DataFusionError;
use datafusion::logical_expr::{Accumulator, EmitTo, GroupsAccumulator};
use weft_expr::{QUOTIENT_SCALE, quotient, quotient_scale};

/// The digits of a numeric.
pub(super) const DIGITS_MAX: u8 = 38;
/// What a sum is between partitions.
const SUM: ArrowType = ArrowType::Decimal128(DIGITS_MAX, 0);

/// What is made of a sum and the number of its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Made {
    /// An average with so many digits after the point, of values that have so many.
    Average { scale: u8, of: u8 },
    /// A numeric of so many digits, of which so many are after the point.
    Sum(u8, i8),
}

impl Made {
    /// The average of values of a type; none of what is no integer and no numeric.
    pub(super) fn average(of: &ArrowType) -> Option<Made> {
        match of {
            ArrowType::Int16 | ArrowType::Int32 | ArrowType::Int64 => {
                Some(Made::Average { scale: QUOTIENT_SCALE, of: 0 })
            }
            ArrowType::Decimal128(precision, scale) => {
                let of = u8::try_from(*scale).ok()?;
                Some(Made::Average { scale: quotient_scale((*precision, of), 0), of })
            }
            _ => None,
        }
    }

    /// What is made.
    pub(super) fn data_type(self) -> ArrowType {
        match self {
            Made::Average { scale, .. } => ArrowType::Decimal128(DIGITS_MAX, scale as i8),
            Made::Sum(precision, scale) => ArrowType::Decimal128(precision, scale),
        }
    }

    /// None of no values.
    fn of(self, sum: i128, count: i64) -> Result<Option<i128>> {
        let made = match self {
            _ if count == 0 => return Ok(None),
            Made::Average { scale, of } => quotient(sum, count.into(), scale.saturating_sub(of)),
            Made::Sum(..) => Some(sum),
        };
        let made = made.filter(|made| made.unsigned_abs() < 10_u128.pow(DIGITS_MAX.into()));
        made.map(Some).ok_or_else(too_long)
    }

    /// The fields of the state between partitions of an aggregate with this name.
    pub(super) fn state_fields(name: &str, is_distinct: bool) -> Vec<FieldRef> {
        let field = |part: &str, data_type| Arc::new(Field::new(format!("{name}[{part}]"), data_type, true));
        if is_distinct {
            let item = Arc::new(Field::new_list_field(SUM, true));
            return vec![field("values", ArrowType::List(item))];
        }
        vec![field("count", ArrowType::Int64), field("sum", SUM)]
    }
}

fn too_long() -> DataFusionError {
    ArrowError::ArithmeticOverflow("a numeric has more than 38 digits".into()).into()
}

/// Calls with each value that counts, and where it stands.
fn each(array: &ArrayRef, mut call: impl FnMut(usize, i128)) -> Result<()> {
    fn visit<T: ArrowPrimitiveType<Native: Into<i128>>>(array: &ArrayRef, call: &mut impl FnMut(usize, i128)) {
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
        ArrowType::Decimal128(..) => visit::<Decimal128Type>(array, &mut call),
        other => return internal_err!("an exact sum is given {other}"),
    }
    Ok(())
}

/// The counts and sums of another one's state.
fn states(values: &[ArrayRef]) -> (&Int64Array, &Decimal128Array) {
    (values[0].as_primitive::<Int64Type>(), values[1].as_primitive::<Decimal128Type>())
}

/// Sums that notice when they do not fit 128 bits.
#[derive(Clone, Copy, Default)]
struct Fit {
    is_lost: bool,
}

impl Fit {
    fn add(&mut self, to: &mut i128, value: i128) {
        let (sum, is_lost) = to.overflowing_add(value);
        self.is_lost |= is_lost;
        *to = sum;
    }

    fn told(self) -> Result<()> {
        if self.is_lost { Err(too_long()) } else { Ok(()) }
    }
}

/// The sum of all rows.
#[derive(Debug)]
pub(super) struct One {
    made: Made,
    count: i64,
    sum: i128,
}

impl One {
    pub(super) fn new(made: Made) -> One {
        One { made, count: 0, sum: 0 }
    }
}

impl Accumulator for One {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let mut fit = Fit::default();
        each(&values[0], |_, value| {
            self.count += 1;
            fit.add(&mut self.sum, value);
        })?;
        fit.told()
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let mut fit = Fit::default();
        each(&values[0], |_, value| {
            self.count -= 1;
            fit.add(&mut self.sum, -value);
        })?;
        fit.told()
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    fn merge_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let (counts, sums) = states(values);
        let mut fit = Fit::default();
        self.count += counts.values().iter().sum::<i64>();
        sums.values().iter().for_each(|sum| fit.add(&mut self.sum, *sum));
        fit.told()
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let made = self.made.of(self.sum, self.count)?;
        ScalarValue::new_primitive::<Decimal128Type>(made, &self.made.data_type())
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Ok(vec![ScalarValue::Int64(Some(self.count)), ScalarValue::Decimal128(Some(self.sum), DIGITS_MAX, 0)])
    }

    fn size(&self) -> usize {
        size_of_val(self)
    }
}

/// The sum of the values that differ.
#[derive(Debug)]
pub(super) struct Distinct {
    made: Made,
    values: HashSet<i128>,
}

impl Distinct {
    pub(super) fn new(made: Made) -> Distinct {
        Distinct { made, values: HashSet::new() }
    }
}

impl Accumulator for Distinct {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        each(&values[0], |_, value| {
            self.values.insert(value);
        })
    }

    fn merge_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        values[0].as_list::<i32>().iter().flatten().try_for_each(|values| self.update_batch(&[values]))
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let mut one = One::new(self.made);
        let mut fit = Fit::default();
        for value in &self.values {
            one.count += 1;
            fit.add(&mut one.sum, *value);
        }
        fit.told()?;
        one.evaluate()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let values = self.values.drain().map(|value| ScalarValue::Decimal128(Some(value), DIGITS_MAX, 0));
        let values: Vec<ScalarValue> = values.collect();
        Ok(vec![ScalarValue::List(ScalarValue::new_list_nullable(&values, &SUM))])
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.values.capacity() * size_of::<i128>()
    }
}

/// Sums by groups.
#[derive(Debug)]
pub(super) struct Groups {
    made: Made,
    counts: Vec<i64>,
    sums: Vec<i128>,
}

impl Groups {
    pub(super) fn new(made: Made) -> Groups {
        Groups { made, counts: Vec::new(), sums: Vec::new() }
    }

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
        let mut fit = Fit::default();
        let mut add = |row: usize, value: i128| {
            counts[groups[row]] += 1;
            fit.add(&mut sums[groups[row]], value);
        };
        match filter {
            None => each(&values[0], add)?,
            Some(filter) => each(&values[0], |row, value| {
                if filter.is_valid(row) && filter.value(row) {
                    add(row, value);
                }
            })?,
        }
        fit.told()
    }

    fn merge_batch(&mut self, values: &[ArrayRef], groups: &[usize], group_count: usize) -> Result<()> {
        self.reach(group_count);
        let (counts, sums) = states(values);
        let mut fit = Fit::default();
        for ((&group, count), sum) in groups.iter().zip(counts.values()).zip(sums.values()) {
            self.counts[group] += count;
            fit.add(&mut self.sums[group], *sum);
        }
        fit.told()
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        let (counts, sums) = (emit_to.take_needed(&mut self.counts), emit_to.take_needed(&mut self.sums));
        let made: Result<Decimal128Array> =
            sums.into_iter().zip(counts).map(|(sum, count)| self.made.of(sum, count)).collect();
        Ok(Arc::new(made?.with_data_type(self.made.data_type())))
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        let counts = Int64Array::from(emit_to.take_needed(&mut self.counts));
        let sums = Decimal128Array::from(emit_to.take_needed(&mut self.sums)).with_data_type(SUM);
        Ok(vec![Arc::new(counts), Arc::new(sums)])
    }

    fn convert_to_state(&self, values: &[ArrayRef], filter: Option<&BooleanArray>) -> Result<Vec<ArrayRef>> {
        let mut rows = Groups::new(self.made);
        let count = values[0].len();
        let each_its_own: Vec<usize> = (0..count).collect();
        rows.update_batch(values, &each_its_own, filter, count)?;
        rows.state(EmitTo::All)
    }

    fn size(&self) -> usize {
        self.counts.capacity() * size_of::<i64>() + self.sums.capacity() * size_of::<i128>()
    }
}

/// The engine's function over values of a wider type.
#[derive(Debug)]
pub(super) struct Widened<A> {
    inner: A,
    to: ArrowType,
    /// What the result is cast to again.
    result: ArrowType,
}

impl<A> Widened<A> {
    /// `inner` takes values of type `to`; its result becomes a `result`.
    pub(super) fn new(inner: A, to: ArrowType, result: ArrowType) -> Widened<A> {
        Widened { inner, to, result }
    }

    fn widened(&self, values: &[ArrayRef]) -> Result<[ArrayRef; 1]> {
        Ok([cast(&values[0], &self.to)?])
    }
}

impl Accumulator for Widened<Box<dyn Accumulator>> {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let values = self.widened(values)?;
        self.inner.update_batch(&values)
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let values = self.widened(values)?;
        self.inner.retract_batch(&values)
    }

    fn supports_retract_batch(&self) -> bool {
        self.inner.supports_retract_batch()
    }

    fn merge_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.inner.merge_batch(values)
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        self.inner.evaluate()?.cast_to(&self.result)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        self.inner.state()
    }

    fn size(&self) -> usize {
        self.inner.size()
    }
}

impl GroupsAccumulator for Widened<Box<dyn GroupsAccumulator>> {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        group_count: usize,
    ) -> Result<()> {
        let values = self.widened(values)?;
        self.inner.update_batch(&values, groups, filter, group_count)
    }

    fn merge_batch(&mut self, values: &[ArrayRef], groups: &[usize], group_count: usize) -> Result<()> {
        self.inner.merge_batch(values, groups, group_count)
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        Ok(cast(&self.inner.evaluate(emit_to)?, &self.result)?)
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        self.inner.state(emit_to)
    }

    fn convert_to_state(&self, values: &[ArrayRef], filter: Option<&BooleanArray>) -> Result<Vec<ArrayRef>> {
        self.inner.convert_to_state(&self.widened(values)?, filter)
    }

    fn size(&self) -> usize {
        self.inner.size()
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{Int16Array, Int32Array};

    use super::*;

    const UNIT: i128 = 10_i128.pow(QUOTIENT_SCALE as u32);
    const AVERAGE: Made = Made::Average { scale: QUOTIENT_SCALE, of: 0 };

    #[test]
    fn groups_and_one_agree_through_states_filters_and_windows() {
        let values: ArrayRef = Arc::new(Int32Array::from(vec![Some(1), None, Some(2), Some(7), Some(-3), None]));
        let filter = BooleanArray::from(vec![Some(true), Some(true), Some(true), Some(false), None, Some(true)]);
        let groups = [0, 1, 0, 2, 2, 1];
        let mut parts = Groups::new(AVERAGE);
        parts.update_batch(&[Arc::clone(&values)], &groups, Some(&filter), 3).unwrap();
        let state = parts.state(EmitTo::All).unwrap();
        let mut all = Groups::new(AVERAGE);
        all.merge_batch(&state, &[0, 1, 2], 4).unwrap();
        let other = all.convert_to_state(&[Arc::clone(&values)], None).unwrap();
        all.merge_batch(&other, &[3; 6], 4).unwrap();
        let averages = all.evaluate(EmitTo::First(1)).unwrap();
        assert_eq!(averages.as_primitive::<Decimal128Type>().iter().collect::<Vec<_>>(), [Some(UNIT + UNIT / 2)]);
        let averages = all.evaluate(EmitTo::All).unwrap();
        let averages = averages.as_primitive::<Decimal128Type>();
        assert_eq!(averages.iter().collect::<Vec<_>>(), [None, None, Some(7 * UNIT / 4)]);
        assert_eq!(averages.data_type(), &ArrowType::Decimal128(38, 16));

        let mut one = One::new(AVERAGE);
        one.update_batch(&[values]).unwrap();
        one.retract_batch(&[Arc::new(Int16Array::from(vec![Some(7), None]))]).unwrap();
        assert_eq!(one.evaluate().unwrap(), ScalarValue::Decimal128(Some(0), 38, 16));
        assert_eq!(one.state().unwrap()[0], ScalarValue::Int64(Some(3)));
    }

    #[test]
    fn sums_are_exact_or_an_error() {
        let big: ArrayRef = Arc::new(Int64Array::from(vec![i64::MAX, i64::MAX]));
        let mut one = One::new(Made::Sum(30, 0));
        one.update_batch(&[big]).unwrap();
        let twice = i128::from(i64::MAX) * 2;
        assert_eq!(one.evaluate().unwrap(), ScalarValue::Decimal128(Some(twice), 30, 0));
        assert_eq!(One::new(Made::Sum(30, 0)).evaluate().unwrap(), ScalarValue::Decimal128(None, 30, 0));

        // The first two have more than 38 digits together, the three do not fit 128 bits.
        let wide = 9 * 10_i128.pow(37);
        let values = Decimal128Array::from(vec![wide; 3]).with_data_type(ArrowType::Decimal128(38, 10));
        let values: ArrayRef = Arc::new(values);
        for count in [2, 3] {
            let rows = [values.slice(0, count)];
            let mut one = One::new(Made::Sum(38, 10));
            let told = one.update_batch(&rows).and_then(|()| one.evaluate());
            assert!(told.unwrap_err().to_string().contains("more than 38 digits"));
            let mut groups = Groups::new(Made::Sum(38, 10));
            let told = groups.update_batch(&rows, &[0; 3][..count], None, 1);
            let told = told.and_then(|()| groups.evaluate(EmitTo::All));
            assert!(told.unwrap_err().to_string().contains("more than 38 digits"));
        }
    }

    #[test]
    fn averages_of_numerics_are_rounded_at_their_last_digit() {
        let mut one = One::new(Made::average(&ArrowType::Decimal128(12, 3)).unwrap());
        let values = Decimal128Array::from(vec![1000, 500, 500]).with_data_type(ArrowType::Decimal128(12, 3));
        one.update_batch(&[Arc::new(values)]).unwrap();
        assert_eq!(one.evaluate().unwrap(), ScalarValue::Decimal128(Some(6_666_666_666_666_667), 38, 16));
        assert_eq!(Made::average(&ArrowType::Float64), None);
        let scales = [(25, 20), (38, 10), (38, 0), (26, 0)].map(|(precision, scale)| {
            let made = Made::average(&ArrowType::Decimal128(precision, scale)).unwrap();
            if let ArrowType::Decimal128(_, scale) = made.data_type() { scale } else { 0 }
        });
        assert_eq!(scales, [20, 16, 4, 12]);
    }

    #[test]
    fn values_that_differ_count_once_through_states() {
        let values: ArrayRef = Arc::new(Int64Array::from(vec![Some(i64::MAX), None, Some(1), Some(1), Some(i64::MAX)]));
        let mut part = Distinct::new(Made::Sum(30, 0));
        part.update_batch(&[Arc::clone(&values)]).unwrap();
        let state: Vec<ArrayRef> = part.state().unwrap().iter().map(|value| value.to_array().unwrap()).collect();
        let mut all = Distinct::new(Made::Sum(30, 0));
        all.merge_batch(&state).unwrap();
        all.update_batch(&[values]).unwrap();
        let sum = i128::from(i64::MAX) + 1;
        assert_eq!(all.evaluate().unwrap(), ScalarValue::Decimal128(Some(sum), 30, 0));
    }
}
