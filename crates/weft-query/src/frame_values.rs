//! Values of window functions over frames of ours, for a whole partition.
//!
//! ```text
//!   sum, frames that grow    each row adds what is new in its frame
//!   sum, frames that slide   what left is taken out, where that is exact (`sliding`)
//!   sum, EXCLUDE             each frame anew, as PostgreSQL does; the same frame once
//! ```

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, UInt64Array};
use arrow::compute::{cast, filter, take};
use arrow::datatypes::{DataType as ArrowType, Field, FieldRef, Int64Type, Schema};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::function::AccumulatorArgs;
use datafusion::logical_expr::{Accumulator, AggregateUDF, PartitionEvaluator};
use datafusion::physical_expr::PhysicalExpr;
use weft_format::{Code, Error};

use super::error::wrap;
use super::frame_bounds::{Bound, Bounds, Exclusion, Fixed, Frame};
use super::sliding;
use super::stop::check_running;

/// Arguments before the keys: two offsets, what RANGE compares, and its two limits.
pub(super) const FIXED: usize = 5;

/// A function over frames.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Function {
    /// An aggregate.
    Aggregate(Arc<AggregateUDF>),
    /// `first_value(x)`
    FirstValue,
    /// `last_value(x)`
    LastValue,
    /// `nth_value(x, n)`
    NthValue,
    /// `lag(x, n, default)`
    Lag,
    /// `lead(x, n, default)`
    Lead,
    /// `ntile(n)`
    Ntile,
}

/// Computes the values of partitions.
#[derive(Debug)]
pub(super) struct Values {
    function: Function,
    frame: Frame,
    keys: usize,
    has_filter: bool,
    exprs: Vec<Arc<dyn PhysicalExpr>>,
    fields: Vec<FieldRef>,
}

impl Values {
    pub(super) fn new(
        function: Function,
        frame: Frame,
        keys: usize,
        has_filter: bool,
        exprs: &[Arc<dyn PhysicalExpr>],
        fields: &[FieldRef],
    ) -> Values {
        Values { function, frame, keys, has_filter, exprs: exprs.to_vec(), fields: fields.to_vec() }
    }
}

impl PartitionEvaluator for Values {
    fn evaluate_all(&mut self, values: &[ArrayRef], rows: usize) -> Result<ArrayRef> {
        let (fixed, rest) = values.split_at(FIXED);
        let (keys, rest) = rest.split_at(self.keys);
        let (args, condition) = rest.split_at(self.exprs.len());
        match self.function {
            Function::Lag => return offset_values(args, rows, true),
            Function::Lead => return offset_values(args, rows, false),
            Function::Ntile => return buckets(&args[0], rows),
            _ => {}
        }
        let fixed = Fixed { offsets: [&fixed[0], &fixed[1]], key: &fixed[2], limits: [&fixed[3], &fixed[4]] };
        let bounds = Bounds::new(self.frame, rows, keys, &fixed)?;
        match &self.function {
            Function::Aggregate(aggregate) => {
                let condition = condition.first().filter(|_| self.has_filter).map(|array| array.as_boolean());
                let aggregated = Aggregated { of: self, aggregate, args, condition };
                aggregated.values(&bounds, rows)
            }
            _ => self.chosen(args, &bounds, rows),
        }
    }
}

impl Values {
    /// A row of each frame.
    fn chosen(&self, args: &[ArrayRef], bounds: &Bounds, rows: usize) -> Result<ArrayRef> {
        let numbers = args.get(1).map(|numbers| cast(numbers, &ArrowType::Int64)).transpose()?;
        let mut parts = Vec::new();
        let mut places: Vec<Option<u64>> = Vec::with_capacity(rows);
        for row in 0..rows {
            bounds.of(row, &mut parts);
            let place = match &numbers {
                None if self.function == Function::LastValue => parts.last().map(|part| part.end - 1),
                None => parts.first().map(|part| part.start),
                Some(numbers) if numbers.is_null(row) => None,
                Some(numbers) => nth(&parts, numbers.as_primitive::<Int64Type>().value(row))?,
            };
            places.push(place.map(|place| place as u64));
        }
        Ok(take(&args[0], &UInt64Array::from(places), None)?)
    }
}

/// The n-th row of a frame.
fn nth(parts: &[Range<usize>], number: i64) -> Result<Option<usize>> {
    if number <= 0 {
        let message = "argument of nth_value must be greater than zero";
        return Err(wrap(Error::new(Code::NthValueArgument, message)));
    }
    let mut left = usize::try_from(number - 1).unwrap_or(usize::MAX);
    for part in parts {
        if left < part.len() {
            return Ok(Some(part.start + left));
        }
        left -= part.len();
    }
    Ok(None)
}

/// `lag` and `lead`.
fn offset_values(args: &[ArrayRef], rows: usize, is_lag: bool) -> Result<ArrayRef> {
    let offsets = args.get(1).map(|offsets| cast(offsets, &ArrowType::Int64)).transpose()?;
    let default = args.get(2);
    let mut places = Vec::with_capacity(rows);
    for row in 0..rows {
        let offset = match &offsets {
            None => Some(1),
            Some(offsets) => offsets.is_valid(row).then(|| offsets.as_primitive::<Int64Type>().value(row)),
        };
        let Some(offset) = offset else {
            places.push(None);
            continue;
        };
        let offset = i128::from(if is_lag { offset.saturating_neg() } else { offset });
        let place = usize::try_from(row as i128 + offset).ok().filter(|place| *place < rows);
        places.push(match (place, default) {
            (Some(place), _) => Some(place as u64),
            // Defaults stand behind the values.
            (None, Some(_)) => Some((rows + row) as u64),
            (None, None) => None,
        });
    }
    let from = match default {
        Some(default) if default.data_type() == args[0].data_type() => {
            arrow::compute::concat(&[args[0].as_ref(), default.as_ref()])?
        }
        Some(default) => {
            let default = cast(default, args[0].data_type())?;
            arrow::compute::concat(&[args[0].as_ref(), default.as_ref()])?
        }
        None => Arc::clone(&args[0]),
    };
    Ok(take(&from, &UInt64Array::from(places), None)?)
}

/// `ntile`: the number of buckets is that of the first row which has one.
fn buckets(numbers: &ArrayRef, rows: usize) -> Result<ArrayRef> {
    let numbers = cast(numbers, &ArrowType::Int64)?;
    let numbers = numbers.as_primitive::<Int64Type>();
    let Some(first) = (0..rows).find(|row| numbers.is_valid(*row)) else {
        return Ok(Arc::new(UInt64Array::new_null(rows)));
    };
    let count = numbers.value(first);
    if count <= 0 {
        let message = "argument of ntile must be greater than zero";
        return Err(wrap(Error::new(Code::NtileArgument, message)));
    }
    let count = count as u64;
    let (whole, larger) = (rows as u64 / count, rows as u64 % count);
    let bucket = |row: u64| {
        let in_larger = larger * (whole + 1);
        if row < in_larger { row / (whole + 1) + 1 } else { larger + (row - in_larger) / whole.max(1) + 1 }
    };
    let of = |row: usize| (row >= first).then(|| bucket((row - first) as u64));
    Ok(Arc::new((0..rows).map(of).collect::<UInt64Array>()))
}

/// An aggregate over the frames of a partition.
struct Aggregated<'a> {
    of: &'a Values,
    aggregate: &'a Arc<AggregateUDF>,
    args: &'a [ArrayRef],
    condition: Option<&'a BooleanArray>,
}

impl Aggregated<'_> {
    fn values(&self, bounds: &Bounds, rows: usize) -> Result<ArrayRef> {
        let grows = self.of.frame.start == Bound::First;
        let is_whole = self.of.frame.exclusion == Exclusion::Nothing;
        let mut state: Box<dyn Accumulator> = self.accumulator(grows || !is_whole)?;
        let slides = is_whole && (grows || state.supports_retract_batch());
        let mut held = 0..0;
        let (mut parts, mut last): (Vec<Range<usize>>, Option<Vec<Range<usize>>>) = (Vec::new(), None);
        let mut made: Vec<ScalarValue> = Vec::with_capacity(rows);
        for row in 0..rows {
            bounds.of(row, &mut parts);
            if last.as_ref() == Some(&parts)
                && let Some(same) = made.last().cloned()
            {
                made.push(same);
                continue;
            }
            check_running()?;
            let wanted = match &parts[..] {
                [] => held.end..held.end,
                [only] => only.clone(),
                _ => 0..0,
            };
            let goes_on = slides && wanted.start >= held.start && wanted.end >= held.end && wanted.start <= held.end;
            if goes_on && !(grows && wanted.start > held.start) {
                self.retract(&mut *state, held.start..wanted.start)?;
                self.update(&mut *state, held.end..wanted.end)?;
                held = wanted;
            } else {
                state = self.accumulator(grows || !is_whole)?;
                for part in &parts {
                    self.update(&mut *state, part.clone())?;
                }
                held = wanted;
            }
            made.push(state.evaluate()?);
            last = Some(parts.clone());
        }
        ScalarValue::iter_to_array(made)
    }

    fn accumulator(&self, is_plain: bool) -> Result<Box<dyn Accumulator>> {
        let fields = &self.of.fields;
        let return_field: FieldRef = self.aggregate.return_field(fields)?;
        let names = fields
            .iter()
            .enumerate()
            .map(|(place, field)| Field::new(format!("{place}"), field.data_type().clone(), field.is_nullable()));
        let schema = Schema::new(names.collect::<Vec<_>>());
        let args = AccumulatorArgs {
            return_field,
            schema: &schema,
            ignore_nulls: false,
            order_bys: &[],
            is_reversed: false,
            name: self.aggregate.name(),
            is_distinct: false,
            exprs: &self.of.exprs,
            expr_fields: fields,
        };
        if is_plain { self.aggregate.accumulator(args) } else { sliding::accumulator(self.aggregate, args) }
    }

    /// The arguments of some rows, of those that FILTER takes.
    fn slice(&self, rows: Range<usize>) -> Result<Vec<ArrayRef>> {
        let slices = self.args.iter().map(|arg| arg.slice(rows.start, rows.len()));
        match self.condition {
            None => Ok(slices.collect()),
            Some(condition) => {
                let condition = condition.slice(rows.start, rows.len());
                slices.map(|slice| filter(&slice, &condition).map_err(Into::into)).collect()
            }
        }
    }

    fn update(&self, state: &mut dyn Accumulator, rows: Range<usize>) -> Result<()> {
        if rows.is_empty() { Ok(()) } else { state.update_batch(&self.slice(rows)?) }
    }

    fn retract(&self, state: &mut dyn Accumulator, rows: Range<usize>) -> Result<()> {
        let slice = if rows.is_empty() { return Ok(()) } else { self.slice(rows)? };
        if slice.first().is_some_and(|first| first.is_empty()) { Ok(()) } else { state.retract_batch(&slice) }
    }
}
