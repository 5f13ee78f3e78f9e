//! Numbers of all elements of an array in a block, all at once: levels by their runs, numbers by their columns.
//!
//! ```text
//!   levels of readings[].temp    Number ×87  End  Number ×101  End  Stop ×3          as they are stored, mostly
//!   ends of the lists            87, 188, 188, 188, 188
//!   values                       the column of numbers as it lies; a gap for each element without one
//! ```
//!
//! 1. Only of paths that have nothing but numbers of one form, and what is no number at all: they have the same values
//!    row by row ([`lists`](super::lists)), which is how everything else is read.
//! 2. What is left of a path when its numbers are read by themselves is mostly nothing. So it costs next to nothing.
//! 3. Levels and columns that do not fit together are damage, whatever else is asked.
//!
//! Source: Alkowaileet and Carey (VLDB 2022), section 5: an operator that unnests needs the column of the leaf, not the
//! array.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowPrimitiveType, Float64Type, Int64Type};
use arrow_array::{ArrayRef, PrimitiveArray, StringViewArray};
use arrow_buffer::{BooleanBufferBuilder, Buffer, NullBuffer, ScalarBuffer};

use crate::document::arrays::{go, is_raw, list_array, refused};
use crate::document::cursor::{Documents, test};
use crate::document::decimal::Form;
use crate::document::front::{StreamFront, damaged};
use crate::document::levels::{Level, Tag};
use crate::document::path::{FieldPath, FieldStep};
use crate::document::plan::{ARRAY_SKIP_ROWS, PlanNode};
use crate::document::values::FieldValues;
use crate::encoding::{BLOCK_ROWS, Kind};
use crate::error::{Error, Result};
use crate::mask::Mask;
use crate::types::DataType;

/// With at least this share of its rows wanted (1 in so many), a stretch is read whole.
const DENSE_ONE_IN: usize = 4;
/// Bytes of the view of a short text.
const VIEW_BYTES: usize = 16;
/// Texts that are all NULL share so many bytes of zeros.
const ZEROS_BYTES: usize = 256 << 10;

/// The lists at a path, when they are numbers that can be taken all at once; `None` where they are read one by one.
pub(crate) fn numbers_at_once(
    documents: &Documents<'_>,
    path: &FieldPath,
    wanted: Option<&Mask>,
) -> Result<Option<FieldValues>> {
    let all = documents.front.rows;
    let wanted = wanted.filter(|mask| mask.count() < all);
    let Some(source) = Numbers::find(documents, path) else { return Ok(None) };
    let mut rows = 0..all;
    if let Some(mask) = wanted {
        let (Some(first), Some(last)) = (mask.iter_ones().next(), mask.iter_ones().last()) else { return Ok(None) };
        let is_named = !source.front.level_skips.is_empty();
        rows = if is_named { first / ARRAY_SKIP_ROWS * ARRAY_SKIP_ROWS..last + 1 } else { 0..last + 1 };
        // What is no number is counted, and arrays are asked for, of wanted rows alone.
        if mask.count() < rows.len() / DENSE_ONE_IN || source.others() > 0 || source.others_of_array() > 0 {
            return Ok(None);
        }
    }
    let mut layout = source.layout(rows.clone())?;
    if let Some(own) = source.own_levels() {
        layout.join(&source.is_there(own, path, rows.clone())?)?;
    }
    if layout.is_there.len() != rows.len() {
        return Err(damaged("a path has other rows than its front says"));
    }
    if i32::try_from(layout.count).is_err() {
        return Err(Error::internal(format!("a list of {} elements is asked of one block", layout.count)));
    }
    let wanted: Option<Vec<usize>> = wanted.map(|mask| mask.iter_ones().map(|row| row - rows.start).collect());
    let wanted = wanted.as_deref();
    let values: ArrayRef = match path.data_type {
        DataType::DoublePrecision => {
            let mut numbers = Vec::with_capacity(layout.count);
            source.mantissas(&layout, |form, mantissas| form.doubles(mantissas, &mut numbers))?;
            layout.spread::<Float64Type>(numbers, wanted)?
        }
        DataType::BigInt => {
            let mut numbers = Vec::with_capacity(layout.count);
            source.mantissas(&layout, |_, mantissas| numbers.extend_from_slice(mantissas))?;
            layout.spread::<Int64Type>(numbers, wanted)?
        }
        _ => no_texts(wanted.map_or(layout.count, |rows| layout.kept(rows).map(|(from, to)| to - from).sum())),
    };
    let of_elements = if path.unless.is_some() { 0 } else { source.others() };
    let (ends, is_there) = layout.rows(wanted);
    let array = list_array(ends, values, is_there);
    Ok(Some(FieldValues { array, others: of_elements + source.others_of_array() }))
}

/// What is done with a run: an error, or none where there is enough.
type Run = Result<(), Option<Error>>;

/// Where the numbers of elements are.
struct Numbers<'a> {
    documents: &'a Documents<'a>,
    array: &'a PlanNode,
    front: &'a StreamFront,
}

impl<'a> Numbers<'a> {
    fn find(documents: &'a Documents<'a>, path: &FieldPath) -> Option<Numbers<'a>> {
        let at = path.steps.iter().position(FieldStep::is_elements)?;
        let (array, 0) = go(documents, &documents.plan.root, &path.steps[..at])? else { return None };
        let element = array.element.as_deref().filter(|_| !is_raw(documents, array))?;
        let (target, 0) = go(documents, element, &path.steps[at + 1..])? else { return None };
        if !target.has_stream || !target.below().is_empty() || is_raw(documents, target) {
            return None;
        }
        let front = &documents.front.streams[target.streams.start];
        let found = Numbers { documents, array, front };
        let form = found.form();
        let is_at_once = match (path.data_type, path.unless) {
            (DataType::DoublePrecision, None) => form != Form::Each,
            (DataType::BigInt, None) => form == Form::Fixed(0),
            (DataType::Text, Some(DataType::DoublePrecision)) => form != Form::Each && found.others() == 0,
            (DataType::Text, Some(DataType::BigInt)) => form == Form::Fixed(0) && found.others() == 0,
            _ => false,
        };
        (is_at_once && front.counts[Tag::Numeral as usize] == 0).then_some(found)
    }

    fn form(&self) -> Form {
        self.front.columns[0].as_ref().map_or(Form::Fixed(0), |column| column.form)
    }

    /// How many values are there, and no numbers.
    fn others(&self) -> usize {
        let is_other = |tag: &Tag| !matches!(tag, Tag::Null | Tag::Number);
        Tag::ALL.iter().filter(|tag| is_other(tag)).map(|&tag| self.front.counts[tag as usize] as usize).sum()
    }

    /// The levels of the array itself, where it is not always one with elements, or missing.
    fn own_levels(&self) -> Option<&StreamFront> {
        self.array.has_stream.then(|| &self.documents.front.streams[self.array.streams.start])
    }

    /// How often something else is where the array is.
    fn others_of_array(&self) -> usize {
        let Some(own) = self.own_levels() else { return 0 };
        let is_other = |tag: &Tag| !matches!(tag, Tag::Array | Tag::EmptyArray);
        Tag::ALL.iter().filter(|tag| is_other(tag)).map(|&tag| own.counts[tag as usize] as usize).sum()
    }

    /// Runs `each` on the levels of a stream from one on, by their runs, until it has enough.
    fn runs(&self, front: &StreamFront, from: usize, mut each: impl FnMut(Level, usize) -> Run) -> Result<()> {
        let mut one = |code, len| match Level::of_code(code) {
            Some(level) => each(level, len),
            None => Err(Some(damaged("a level is of no kind"))),
        };
        let mut read = || {
            if let Some(code) = front.constant {
                return one(code, front.level_count.saturating_sub(from));
            }
            let mut passed = from % BLOCK_ROWS;
            for piece in from / BLOCK_ROWS..front.level_count.div_ceil(BLOCK_ROWS) {
                let block = (self.documents.load)(front.first_piece as usize + piece)?;
                test(&block, Kind::Int16, front.level_count, piece)?;
                block.word_runs(|code, len| {
                    let left = len.saturating_sub(passed);
                    passed = passed.saturating_sub(len);
                    if left > 0 { one(code, left) } else { Ok(()) }
                })?;
            }
            Ok(())
        };
        match read() {
            Ok(()) | Err(None) => Ok(()),
            Err(Some(error)) => Err(error),
        }
    }

    /// Where the elements of some rows end, and which have no number. The first is one that the front names.
    fn layout(&self, rows: Range<usize>) -> Result<Layout> {
        let known = rows.start / ARRAY_SKIP_ROWS;
        let place = |skips: &[u32], otherwise| match skips {
            [] => Ok(otherwise),
            _ => {
                skips.get(known).map(|&at| at as usize).ok_or_else(|| damaged("a stream has fewer rows than its front"))
            }
        };
        let first_level = place(&self.front.level_skips, rows.start)?;
        let first_number = match &self.front.columns[0] {
            Some(column) => place(&column.skips, first_level)?,
            None => 0,
        };
        let mut layout = Layout { ends: vec![0], first_number, ..Layout::default() };
        let depth = self.array.depth;
        let mut has_elements = false;
        self.runs(self.front, first_level, |level, len| {
            match level {
                Level::Stop(stop) if stop <= depth => {
                    if has_elements {
                        return Err(Some(damaged("an array does not end")));
                    }
                    (0..len.min(rows.len() - layout.is_there.len())).for_each(|_| layout.end_row(false));
                }
                Level::End(0) if has_elements && len == 1 => {
                    layout.end_row(true);
                    has_elements = false;
                }
                Level::End(_) => return Err(Some(damaged("an array ends that did not begin"))),
                Level::Tag(Tag::Number) => {
                    layout.count += len;
                    has_elements = true;
                }
                Level::Tag(_) | Level::Stop(_) => {
                    layout.gaps.push((layout.count, len));
                    layout.count += len;
                    has_elements = true;
                }
            }
            if layout.is_there.len() == rows.len() { Err(None) } else { Ok(()) }
        })?;
        if has_elements {
            return Err(damaged("an array does not end"));
        }
        Ok(layout)
    }

    /// Which of some rows have an array, empty ones too; an error for what is none where one has to be.
    fn is_there(&self, own: &StreamFront, path: &FieldPath, rows: Range<usize>) -> Result<Vec<(bool, usize)>> {
        let is_strict = path.steps.contains(&FieldStep::ArrayElements);
        let (mut runs, mut left) = (Vec::new(), rows.len());
        self.runs(own, rows.start, |level, len| {
            let len = len.min(left);
            left -= len;
            match level {
                Level::Tag(Tag::Array | Tag::EmptyArray) => runs.push((true, len)),
                Level::Tag(Tag::Object | Tag::EmptyObject) if is_strict => return Err(Some(refused("an object"))),
                Level::Tag(_) if is_strict => return Err(Some(refused("a scalar"))),
                Level::Tag(_) | Level::Stop(_) => runs.push((false, len)),
                Level::End(_) => return Err(Some(damaged("an array ends that did not begin"))),
            }
            if left == 0 { Err(None) } else { Ok(()) }
        })?;
        Ok(runs)
    }

    /// Runs `each` on the numbers of a layout, piece by piece.
    fn mantissas(&self, layout: &Layout, mut each: impl FnMut(Form, &[i64])) -> Result<()> {
        let Some(column) = self.front.columns[0].as_ref() else { return Ok(()) };
        let numbers = layout.first_number..layout.first_number + layout.count - layout.gap_count();
        if numbers.end > column.count {
            return Err(damaged("a path has other numbers than its front says"));
        }
        let mut at = numbers.start;
        while at < numbers.end {
            let piece = at / BLOCK_ROWS;
            let first = piece * BLOCK_ROWS;
            let block = (self.documents.load)(column.first_piece as usize + piece)?;
            test(&block, Kind::Int64, column.count, piece)?;
            let end = numbers.end.min(first + BLOCK_ROWS);
            let mantissas = block.decode(DataType::BigInt);
            each(column.form, &mantissas.as_primitive::<Int64Type>().values()[at - first..end - first]);
            at = end;
        }
        Ok(())
    }
}

/// Where lists end.
#[derive(Default)]
struct Layout {
    /// One more than rows: where each begins, and the last ends.
    ends: Vec<i32>,
    is_there: Vec<bool>,
    /// How many elements there are.
    count: usize,
    /// Elements without a number: from where on, how many.
    gaps: Vec<(usize, usize)>,
    /// The place of the first number in its column.
    first_number: usize,
}

impl Layout {
    fn end_row(&mut self, is_there: bool) {
        self.ends.push(self.count as i32);
        self.is_there.push(is_there);
    }

    /// Rows have a list where the array is, and elements nowhere else.
    fn join(&mut self, runs: &[(bool, usize)]) -> Result<()> {
        let mut rows = self.is_there.iter_mut();
        for &(is_array, len) in runs {
            for is_there in rows.by_ref().take(len) {
                if *is_there && !is_array {
                    return Err(damaged("there are elements where no array is"));
                }
                *is_there = is_array;
            }
        }
        match runs.iter().map(|(_, len)| len).sum::<usize>() == self.is_there.len() {
            true => Ok(()),
            false => Err(damaged("an array has other rows than its elements")),
        }
    }

    fn gap_count(&self) -> usize {
        self.gaps.iter().map(|(_, len)| len).sum()
    }

    /// The elements of wanted rows: from where to where.
    fn kept<'a>(&'a self, wanted: &'a [usize]) -> impl Iterator<Item = (usize, usize)> + 'a {
        wanted.iter().map(|&row| (self.ends[row] as usize, self.ends[row + 1] as usize))
    }

    /// Numbers with gaps between them, of wanted rows.
    fn spread<T: ArrowPrimitiveType>(&self, numbers: Vec<T::Native>, wanted: Option<&[usize]>) -> Result<ArrayRef> {
        let gaps = self.gap_count();
        if numbers.len() + gaps != self.count {
            return Err(damaged("a path has other numbers than its front says"));
        }
        let mut values = numbers;
        let mut nulls = None;
        if gaps > 0 {
            let mut present = BooleanBufferBuilder::new(self.count);
            let (dense, mut taken) = (std::mem::take(&mut values), 0);
            values.reserve(self.count);
            for &(from, len) in &self.gaps {
                let until = taken + from - values.len();
                present.append_n(until - taken, true);
                values.extend_from_slice(&dense[taken..until]);
                present.append_n(len, false);
                values.resize(values.len() + len, T::default_value());
                taken = until;
            }
            present.append_n(dense.len() - taken, true);
            values.extend_from_slice(&dense[taken..]);
            nulls = Some(NullBuffer::new(present.finish()));
        }
        if let Some(wanted) = wanted {
            let all = std::mem::take(&mut values);
            self.kept(wanted).for_each(|(from, to)| values.extend_from_slice(&all[from..to]));
            nulls = nulls.map(|nulls| {
                let mut present = BooleanBufferBuilder::new(values.len());
                self.kept(wanted).for_each(|(from, to)| present.append_buffer(&nulls.inner().slice(from, to - from)));
                NullBuffer::new(present.finish())
            });
        }
        let nulls = nulls.filter(|nulls| nulls.null_count() > 0);
        Ok(Arc::new(PrimitiveArray::<T>::new(ScalarBuffer::from(values), nulls)))
    }

    /// The ends of lists of wanted rows, and which have one.
    fn rows(self, wanted: Option<&[usize]>) -> (Vec<i32>, Vec<bool>) {
        let Some(wanted) = wanted else { return (self.ends, self.is_there) };
        let mut ends = vec![0];
        let mut end = 0;
        for (from, to) in self.kept(wanted) {
            end += (to - from) as i32;
            ends.push(end);
        }
        (ends, wanted.iter().map(|&row| self.is_there[row]).collect())
    }
}

/// So many texts that are NULL.
pub(crate) fn no_texts(count: usize) -> ArrayRef {
    static ZEROS: OnceLock<Buffer> = OnceLock::new();
    let bytes = count * VIEW_BYTES;
    if bytes > ZEROS_BYTES {
        return Arc::new(StringViewArray::new_null(count));
    }
    let zeros = ZEROS.get_or_init(|| Buffer::from_vec(vec![0_u128; ZEROS_BYTES / VIEW_BYTES]));
    let views = ScalarBuffer::new(zeros.clone(), 0, count);
    Arc::new(StringViewArray::new(views, Vec::new(), Some(NullBuffer::new_null(count))))
}
