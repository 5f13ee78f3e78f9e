//! What ordered-set aggregates compute of their values, which come in order and without NULL: see `ordered_sets`.
//!
//! ```text
//!   percentile_disc([1, 2, 3, 4], 0.5)               2, the first value at or behind half of them
//!   percentile_cont([1, 2, 3, 4], 0.5)               2.5, between two of them
//!   percentile_disc([1, 2, 3, 4], ARRAY[0.5, 1])     {2, 4}
//!   mode([1, 2, 2, 3])                               2
//! ```

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Float64Array, IntervalMonthDayNanoArray, ListArray, UInt64Array};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::compute::{cast, partition, take};
use arrow::datatypes::{
    DataType as ArrowType, Field, Float64Type, IntervalMonthDayNano, IntervalMonthDayNanoType, IntervalUnit,
};
use datafusion::common::{Result, plan_err};
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, TypeSignature, Volatility,
};
use weft_format::{Code, Error, Interval};

use super::error::wrap;
use super::ordered_sets::function_name;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Kind {
    Discrete,
    Continuous,
    Mode,
}

/// The functions.
pub(super) fn functions() -> [Arc<ScalarUDF>; 3] {
    [("percentile_disc", Kind::Discrete), ("percentile_cont", Kind::Continuous), ("mode", Kind::Mode)].map(
        |(name, kind)| {
            let signature = TypeSignature::Any(if kind == Kind::Mode { 1 } else { 2 });
            let signature = Signature::new(signature, Volatility::Immutable);
            Arc::new(ScalarUDF::from(OrderedSet { name: function_name(name), kind, signature }))
        },
    )
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct OrderedSet {
    name: String,
    kind: Kind,
    signature: Signature,
}

fn element(list: &ArrowType) -> Result<ArrowType> {
    match list {
        ArrowType::List(field) => Ok(field.data_type().clone()),
        other => plan_err!("an ordered set is a list, not {other}"),
    }
}

fn is_interval(data_type: &ArrowType) -> bool {
    matches!(data_type, ArrowType::Interval(_))
}

impl ScalarUDFImpl for OrderedSet {
    fn name(&self) -> &str {
        &self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[ArrowType]) -> Result<ArrowType> {
        let of = element(&types[0])?;
        let is_list = matches!(types.get(1), Some(ArrowType::List(_)));
        let one = match self.kind {
            Kind::Continuous if of.is_numeric() => ArrowType::Float64,
            Kind::Continuous if is_interval(&of) => ArrowType::Interval(IntervalUnit::MonthDayNano),
            Kind::Continuous => {
                let message =
                    "function percentile_cont of values that are neither numbers nor intervals does not exist";
                let error = Error::new(Code::UndefinedFunction, message);
                return Err(wrap(error.hint("use percentile_disc")));
            }
            _ => of,
        };
        Ok(if is_list { ArrowType::List(Arc::new(Field::new_list_field(one, true))) } else { one })
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let lists = args.args[0].to_array(args.number_rows)?;
        let lists = lists.as_list::<i32>();
        let made = match (self.kind, args.args.get(1)) {
            (Kind::Mode, _) | (_, None) => modes(lists)?,
            (kind, Some(given)) => {
                let given = given.to_array(args.number_rows)?;
                let fractions = Fractions::of(&given)?;
                let values = match kind {
                    Kind::Continuous => between(lists, &fractions)?,
                    _ => discrete(lists, &fractions)?,
                };
                fractions.shaped(lists, values)
            }
        };
        Ok(ColumnarValue::Array(made))
    }
}

/// The most frequent values, the first of several.
fn modes(lists: &ListArray) -> Result<ArrayRef> {
    let mut places = Vec::with_capacity(lists.len());
    for row in 0..lists.len() {
        let (start, end) = bounds(lists, row);
        if start == end {
            places.push(None);
            continue;
        }
        let runs = runs(&lists.values().slice(start, end - start))?;
        let longest = runs.iter().map(|run| run.len()).max().unwrap_or(0);
        let run = runs.into_iter().find(|run| run.len() == longest);
        places.push(run.map(|run| (start + run.start) as u64));
    }
    Ok(take(lists.values(), &UInt64Array::from(places), None)?)
}

/// The runs of equal ones among ordered values. Intervals are equal when they are as long (a month is 30 days).
fn runs(values: &ArrayRef) -> Result<Vec<Range<usize>>> {
    if !is_interval(values.data_type()) {
        return Ok(partition(&[Arc::clone(values)])?.ranges());
    }
    let intervals = values.as_primitive::<IntervalMonthDayNanoType>();
    let span = |at: usize| {
        let of = intervals.value(at);
        Interval::new(of.months, of.days, of.nanoseconds / 1000).span()
    };
    let mut runs: Vec<Range<usize>> = Vec::new();
    for at in 0..intervals.len() {
        match runs.last_mut() {
            Some(run) if span(run.start) == span(at) => run.end = at + 1,
            _ => runs.push(at..at + 1),
        }
    }
    Ok(runs)
}

/// The values of a row; none where there is no list.
fn bounds(lists: &ListArray, row: usize) -> (usize, usize) {
    if lists.is_null(row) {
        return (0, 0);
    }
    let offsets = lists.value_offsets();
    (offsets[row] as usize, offsets[row + 1] as usize)
}

/// The fractions asked for: one or a list per row.
struct Fractions {
    values: Float64Array,
    /// The row of each.
    rows: Vec<usize>,
    lists: Option<(OffsetBuffer<i32>, Option<NullBuffer>)>,
}

impl Fractions {
    fn of(given: &ArrayRef) -> Result<Fractions> {
        let (values, rows, lists) = match given.as_list_opt::<i32>() {
            None => (Arc::clone(given), (0..given.len()).collect(), None),
            Some(lists) => {
                let mut rows = Vec::with_capacity(lists.values().len());
                let mut places = Vec::with_capacity(lists.values().len());
                let mut lengths = Vec::with_capacity(lists.len());
                for row in 0..lists.len() {
                    let (start, end) = bounds(lists, row);
                    lengths.push(end - start);
                    rows.extend((start..end).map(|_| row));
                    places.extend((start..end).map(|place| place as u64));
                }
                let values = take(lists.values(), &UInt64Array::from(places), None)?;
                (values, rows, Some((OffsetBuffer::from_lengths(lengths), lists.nulls().cloned())))
            }
        };
        let values = cast(&values, &ArrowType::Float64)?.as_primitive::<Float64Type>().clone();
        if let Some(wrong) = values.iter().flatten().find(|fraction| !(0.0..=1.0).contains(fraction)) {
            let message = format!("percentile value {wrong} is not between 0 and 1");
            return Err(wrap(Error::new(Code::NumericOutOfRange, message)));
        }
        Ok(Fractions { values, rows, lists })
    }

    /// Per fraction its row's values, and it.
    fn with<'a>(&'a self, lists: &'a ListArray) -> impl Iterator<Item = Option<(usize, usize, f64)>> + 'a {
        self.values.iter().zip(&self.rows).map(move |(fraction, row)| {
            let (start, end) = bounds(lists, *row);
            fraction.filter(|_| start < end).map(|fraction| (start, end - start, fraction))
        })
    }

    fn shaped(self, lists: &ListArray, values: ArrayRef) -> ArrayRef {
        match self.lists {
            None => values,
            Some((offsets, nulls)) => {
                let has_some = |row: usize| bounds(lists, row).0 < bounds(lists, row).1;
                let has_some = NullBuffer::from_iter((0..lists.len()).map(has_some));
                let nulls = NullBuffer::union(nulls.as_ref(), Some(&has_some));
                let field = Arc::new(Field::new_list_field(values.data_type().clone(), true));
                Arc::new(ListArray::new(field, offsets, values, nulls))
            }
        }
    }
}

fn discrete(lists: &ListArray, fractions: &Fractions) -> Result<ArrayRef> {
    let place = |(start, count, fraction): (usize, usize, f64)| {
        let number = (fraction * count as f64).ceil().max(1.0) as usize;
        (start + number.min(count) - 1) as u64
    };
    let places: UInt64Array = fractions.with(lists).map(|found| found.map(place)).collect();
    Ok(take(lists.values(), &places, None)?)
}

fn between(lists: &ListArray, fractions: &Fractions) -> Result<ArrayRef> {
    let around = |count: usize, fraction: f64| {
        let exact = fraction * (count - 1) as f64;
        (exact.floor() as usize, exact.ceil() as usize, exact - exact.floor())
    };
    if is_interval(lists.values().data_type()) {
        let values = lists.values().as_primitive::<IntervalMonthDayNanoType>();
        let made = fractions.with(lists).map(|found| {
            found.map(|(start, count, fraction)| {
                let (low, high, part) = around(count, fraction);
                let (low, high) = (values.value(start + low), values.value(start + high));
                if low == high { Some(low) } else { interval_between(low, high, part) }
            })
        });
        let made = made.map(|found| match found {
            Some(None) => Err(wrap(Error::new(Code::DatetimeOverflow, "interval out of range"))),
            found => Ok(found.flatten()),
        });
        return Ok(Arc::new(made.collect::<Result<IntervalMonthDayNanoArray>>()?));
    }
    let values = cast(lists.values(), &ArrowType::Float64)?;
    let values = values.as_primitive::<Float64Type>();
    let made = fractions.with(lists).map(|found| {
        found.map(|(start, count, fraction)| {
            let (low, high, part) = around(count, fraction);
            let (from, to) = (values.value(start + low), values.value(start + high));
            if low == high { from } else { from + part * (to - from) }
        })
    });
    Ok(Arc::new(made.collect::<Float64Array>()))
}

/// The interval at a part of the way from one to another, as PostgreSQL multiplies intervals; none out of range.
fn interval_between(low: IntervalMonthDayNano, high: IntervalMonthDayNano, part: f64) -> Option<IntervalMonthDayNano> {
    const SECONDS_OF_DAY: f64 = 86_400.0;
    let rounded = |value: f64| (value * 1e6).round() / 1e6;
    let months = f64::from(high.months.checked_sub(low.months)?) * part;
    let days = f64::from(high.days.checked_sub(low.days)?) * part;
    let days_of_month = rounded((months - months.trunc()) * 30.0);
    let mut whole_days = days.trunc() + days_of_month.trunc();
    let mut seconds = rounded((days - days.trunc() + days_of_month - days_of_month.trunc()) * SECONDS_OF_DAY);
    if seconds.abs() >= SECONDS_OF_DAY {
        whole_days += (seconds / SECONDS_OF_DAY).trunc();
        seconds -= (seconds / SECONDS_OF_DAY).trunc() * SECONDS_OF_DAY;
    }
    let micros = (high.nanoseconds.checked_sub(low.nanoseconds)? / 1000) as f64 * part + seconds * 1e6;
    Some(IntervalMonthDayNano::new(
        low.months.checked_add(months.trunc() as i32)?,
        low.days.checked_add(whole_days as i32)?,
        low.nanoseconds.checked_add((micros.round_ties_even() as i64).checked_mul(1000)?)?,
    ))
}
