//! The rows of frames, within one partition whose rows are sorted.
//!
//! ```text
//!   keys 1 3 3 4 7, RANGE BETWEEN 2 PRECEDING AND CURRENT ROW EXCLUDE TIES
//!     row 1 (3): rows 0..3, without its peer, row 2: [0..1, 1..2]
//! ```
//!
//! 1. What RANGE compares stands in the order of the rows, NULLs together at one end. A bound with an offset is found
//!    by halving; for a row whose key is NULL it is that of the NULLs.
//! 2. Offsets are those of the partition's first row: they are the same for all.

use std::ops::Range;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::compute::{cast, partition};
use arrow::datatypes::{
    DataType as ArrowType, Decimal128Type, Float64Type, Int64Type, IntervalMonthDayNanoType, TimeUnit,
};
use datafusion::common::{Result, exec_err};
use weft_format::{Code, Error};

use super::error::wrap;

/// What a frame counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Units {
    /// Rows.
    Rows,
    /// Distance of the key.
    Range,
    /// Rows with equal keys.
    Groups,
}

/// What is left out of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Exclusion {
    /// Nothing.
    Nothing,
    /// The row itself.
    CurrentRow,
    /// The row and its peers.
    Group,
    /// Its peers.
    Ties,
}

/// Where a frame begins or ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Bound {
    /// UNBOUNDED PRECEDING
    First,
    /// An offset before the row.
    Preceding,
    /// CURRENT ROW
    Current,
    /// An offset behind the row.
    Following,
    /// UNBOUNDED FOLLOWING
    Last,
}

/// A frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Frame {
    pub(super) units: Units,
    pub(super) exclusion: Exclusion,
    pub(super) start: Bound,
    pub(super) end: Bound,
    /// Whether the limits of RANGE are columns.
    pub(super) is_limited: bool,
    pub(super) is_descending: bool,
}

/// What the fixed arguments of a partition are: offsets, the key of RANGE, its limits.
pub(super) struct Fixed<'a> {
    pub(super) offsets: [&'a ArrayRef; 2],
    pub(super) key: &'a ArrayRef,
    pub(super) limits: [&'a ArrayRef; 2],
}

/// The frames of a partition's rows.
pub(super) struct Bounds {
    frame: Frame,
    rows: usize,
    /// The group of each row, and each group's rows.
    group: Vec<usize>,
    groups: Vec<Range<usize>>,
    /// Rows or groups.
    counts: [usize; 2],
    distances: Option<Distances>,
}

/// What RANGE compares.
struct Distances {
    /// Rows whose key is not NULL.
    valid: Range<usize>,
    keys: Keys,
}

enum Keys {
    /// Keys, and what is added or taken.
    Whole(Vec<i128>, [i128; 2]),
    /// Keys, and them with the offsets.
    Limited(Vec<i128>, [Vec<i128>; 2]),
    Floats(Vec<f64>, [f64; 2]),
}

impl Bounds {
    pub(super) fn new(frame: Frame, rows: usize, keys: &[ArrayRef], fixed: &Fixed<'_>) -> Result<Bounds> {
        let needs_groups = frame.units != Units::Rows || matches!(frame.exclusion, Exclusion::Group | Exclusion::Ties);
        let groups = match keys {
            [] => std::iter::once(0..rows).collect(),
            _ if !needs_groups => Vec::new(),
            keys => partition(keys)?.ranges(),
        };
        let mut group = Vec::with_capacity(if needs_groups { rows } else { 0 });
        for (number, rows) in groups.iter().enumerate().filter(|_| needs_groups) {
            group.extend(rows.clone().map(|_| number));
        }
        let mut bounds = Bounds { frame, rows, group, groups, counts: [0; 2], distances: None };
        let mut has_offset = false;
        for (place, bound) in [frame.start, frame.end].into_iter().enumerate() {
            if !matches!(bound, Bound::Preceding | Bound::Following) {
                continue;
            }
            has_offset = true;
            let offset = fixed.offsets[place];
            let which = if place == 0 { "starting" } else { "ending" };
            if offset.is_null(0) {
                let message = format!("frame {which} offset must not be null");
                return Err(wrap(Error::new(Code::NullNotAllowed, message)));
            }
            if frame.units != Units::Range {
                let count = offset.as_primitive::<Int64Type>().value(0);
                bounds.counts[place] = usize::try_from(count).map_err(|_| {
                    wrap(Error::new(Code::FrameOffset, format!("frame {which} offset must not be negative")))
                })?;
            }
        }
        if has_offset && frame.units == Units::Range {
            bounds.distances = Some(Distances::new(frame, fixed)?);
        }
        Ok(bounds)
    }

    /// The rows of the frame of a row, in order; empty parts are left out.
    pub(super) fn of(&self, row: usize, into: &mut Vec<Range<usize>>) {
        into.clear();
        let (start, end) = (self.start(row), self.end(row));
        let mut add = |part: Range<usize>| {
            if part.start < part.end {
                into.push(part);
            }
        };
        let within = |part: Range<usize>| part.start.max(start)..part.end.min(end);
        match self.frame.exclusion {
            Exclusion::Nothing => add(start..end),
            Exclusion::CurrentRow => {
                add(within(0..row));
                add(within(row + 1..self.rows));
            }
            Exclusion::Group => {
                let peers = self.peers(row);
                add(within(0..peers.start));
                add(within(peers.end..self.rows));
            }
            Exclusion::Ties => {
                let peers = self.peers(row);
                add(within(0..peers.start));
                add(within(row..row + 1));
                add(within(peers.end..self.rows));
            }
        }
    }

    fn peers(&self, row: usize) -> Range<usize> {
        self.groups[self.group[row]].clone()
    }

    fn start(&self, row: usize) -> usize {
        match (self.frame.start, self.frame.units) {
            (Bound::First, _) => 0,
            (Bound::Last, _) => self.rows,
            (Bound::Current, Units::Rows) => row,
            (Bound::Current, _) => self.peers(row).start,
            (Bound::Preceding, Units::Rows) => row.saturating_sub(self.counts[0]),
            (Bound::Following, Units::Rows) => row.saturating_add(self.counts[0]).min(self.rows),
            (bound, Units::Groups) => self
                .group_at(row, bound, self.counts[0])
                .map_or_else(|| if bound == Bound::Preceding { 0 } else { self.rows }, |group| group.start),
            (bound, Units::Range) => self.distance(row, bound, 0),
        }
    }

    /// The row behind the last one.
    fn end(&self, row: usize) -> usize {
        match (self.frame.end, self.frame.units) {
            (Bound::First, _) => 0,
            (Bound::Last, _) => self.rows,
            (Bound::Current, Units::Rows) => row + 1,
            (Bound::Current, _) => self.peers(row).end,
            (Bound::Preceding, Units::Rows) => (row + 1).saturating_sub(self.counts[1]),
            (Bound::Following, Units::Rows) => (row + 1).saturating_add(self.counts[1]).min(self.rows),
            (bound, Units::Groups) => self
                .group_at(row, bound, self.counts[1])
                .map_or_else(|| if bound == Bound::Preceding { 0 } else { self.rows }, |group| group.end),
            (bound, Units::Range) => self.distance(row, bound, 1),
        }
    }

    fn group_at(&self, row: usize, bound: Bound, count: usize) -> Option<Range<usize>> {
        let of = self.group[row];
        let at = if bound == Bound::Preceding { of.checked_sub(count) } else { of.checked_add(count) };
        at.and_then(|at| self.groups.get(at)).cloned()
    }

    fn distance(&self, row: usize, bound: Bound, place: usize) -> usize {
        let Some(Distances { valid, keys }) = &self.distances else { return row };
        if !valid.contains(&row) {
            let nulls = if row < valid.start { 0..valid.start } else { valid.end..self.rows };
            return if place == 0 { nulls.start } else { nulls.end };
        }
        // As PostgreSQL does: the start is the first row within, the end the first one behind.
        let takes = (bound == Bound::Preceding) != self.frame.is_descending;
        let is_less = (place == 1) != self.frame.is_descending;
        let is_within = |other: usize| keys.is_in_range(other, row, takes, is_less, place);
        let (mut low, mut high) = (valid.start, valid.end);
        while low < high {
            let middle = low + (high - low) / 2;
            // Rows before the start are not within, those before the end are.
            if is_within(middle) == (place == 1) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }
}

impl Keys {
    /// Whether a row's key is at most (at least) another row's, less or plus the offset.
    fn is_in_range(&self, row: usize, base: usize, takes: bool, is_less: bool, place: usize) -> bool {
        match self {
            Keys::Whole(keys, offsets) => {
                let offset = offsets[place];
                let limit = if takes { keys[base].saturating_sub(offset) } else { keys[base].saturating_add(offset) };
                if is_less { keys[row] <= limit } else { keys[row] >= limit }
            }
            Keys::Limited(keys, limits) => {
                let limit = limits[place][base];
                if is_less { keys[row] <= limit } else { keys[row] >= limit }
            }
            Keys::Floats(keys, offsets) => {
                let (value, base, offset) = (keys[row], keys[base], offsets[place]);
                match (value.is_nan(), base.is_nan()) {
                    (true, true) => return true,
                    (true, false) => return !is_less,
                    (false, true) => return is_less,
                    (false, false) => {}
                }
                // The sum is no number.
                if offset.is_infinite() && base.is_infinite() && (if takes { base > 0.0 } else { base < 0.0 }) {
                    return true;
                }
                let limit = if takes { base - offset } else { base + offset };
                if is_less { value <= limit } else { value >= limit }
            }
        }
    }
}

impl Distances {
    fn new(frame: Frame, fixed: &Fixed<'_>) -> Result<Distances> {
        let key = fixed.key;
        let rows = key.len();
        let first = (0..rows).find(|row| key.is_valid(*row));
        let valid = match first {
            Some(first) => first..(first..rows).find(|row| key.is_null(*row)).unwrap_or(rows),
            None => rows..rows,
        };
        let is_offset = [frame.start, frame.end].map(|bound| matches!(bound, Bound::Preceding | Bound::Following));
        let negative = || wrap(Error::new(Code::FrameOffset, "invalid preceding or following size in window function"));
        if *key.data_type() == ArrowType::Float64 {
            let mut offsets = [0.0; 2];
            for place in (0..2).filter(|place| is_offset[*place]) {
                offsets[place] = fixed.offsets[place].as_primitive::<Float64Type>().value(0);
                if offsets[place] < 0.0 || offsets[place].is_nan() {
                    return Err(negative());
                }
            }
            let keys = key.as_primitive::<Float64Type>().values().to_vec();
            return Ok(Distances { valid, keys: Keys::Floats(keys, offsets) });
        }
        let (mut scale, mut offsets) = (scale_of(key), [0; 2]);
        for place in (0..2).filter(|place| is_offset[*place]) {
            scale = scale.max(scale_of(fixed.offsets[place]));
        }
        let is_time = matches!(key.data_type(), ArrowType::Time64(_));
        for place in (0..2).filter(|place| is_offset[*place]) {
            if whole(fixed.offsets[place], 0, scale, false)? < 0 {
                return Err(negative());
            }
            offsets[place] = whole(fixed.offsets[place], 0, scale, is_time)?;
        }
        let all = |of: &ArrayRef| (0..rows).map(|row| whole(of, row, scale, false)).collect::<Result<Vec<_>>>();
        let keys = all(key)?;
        if frame.is_limited {
            let mut limits = [Vec::new(), Vec::new()];
            for place in (0..2).filter(|place| is_offset[*place]) {
                limits[place] = all(fixed.limits[place])?;
            }
            return Ok(Distances { valid, keys: Keys::Limited(keys, limits) });
        }
        Ok(Distances { valid, keys: Keys::Whole(keys, offsets) })
    }
}

fn scale_of(array: &ArrayRef) -> i8 {
    if let ArrowType::Decimal128(_, scale) = array.data_type() { *scale } else { 0 }
}

/// A value as a whole number, that of its last digit or in microseconds; of an interval beside times only its time.
fn whole(array: &ArrayRef, row: usize, scale: i8, is_time: bool) -> Result<i128> {
    const MICROS_OF_DAY: i128 = 86_400_000_000;
    if array.is_null(row) {
        return Ok(0);
    }
    let digits = |value: i128, of: i8| {
        let shift = u32::try_from(scale - of).unwrap_or(0);
        10_i128.checked_pow(shift).and_then(|power| value.checked_mul(power)).ok_or_else(|| {
            wrap(Error::new(Code::NumericOutOfRange, "the keys of RANGE have more digits than can be compared"))
        })
    };
    Ok(match array.data_type() {
        ArrowType::Decimal128(_, of) => digits(array.as_primitive::<Decimal128Type>().value(row), *of)?,
        ArrowType::Interval(_) => {
            let interval = array.as_primitive::<IntervalMonthDayNanoType>().value(row);
            let days = i128::from(interval.months) * 30 + i128::from(interval.days);
            let days = if is_time { 0 } else { days };
            days * MICROS_OF_DAY + i128::from(interval.nanoseconds) / 1000
        }
        ArrowType::Timestamp(TimeUnit::Nanosecond, _) | ArrowType::Time64(TimeUnit::Nanosecond) => {
            i128::from(as_integer(array, row)?) / 1000
        }
        ArrowType::Int64 | ArrowType::Timestamp(..) | ArrowType::Time64(_) => {
            digits(as_integer(array, row)?.into(), 0)?
        }
        other => return exec_err!("no frame has keys of type {other}"),
    })
}

fn as_integer(array: &ArrayRef, row: usize) -> Result<i64> {
    match array.data_type() {
        ArrowType::Int64 => Ok(array.as_primitive::<Int64Type>().value(row)),
        _ => Ok(cast(&array.slice(row, 1), &ArrowType::Int64)?.as_primitive::<Int64Type>().value(0)),
    }
}
