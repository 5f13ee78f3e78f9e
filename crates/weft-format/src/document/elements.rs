//! The values at one path of all elements of an array, without the arrays around them: what UNNEST asks for.
//!
//! ```text
//!   readings[].temp   {"readings": [{"temp": 21.5}, {}]}   {"readings": []}   {}
//!   values            21.5, NULL
//!   ends of rows                                       2                  2    2
//! ```
//!
//! Source: Alkowaileet and Carey (VLDB 2022), section 5: an operator that unnests needs the column of the leaf, not the
//! array.

use std::ops::Range;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, Float64Array};
use arrow_buffer::{BooleanBufferBuilder, NullBuffer};

use crate::document::cursor::{Documents, test};
use crate::document::decimal::Form;
use crate::document::front::damaged;
use crate::document::levels::{Level, Tag};
use crate::document::plan::PlanNode;
use crate::encoding::{BLOCK_ROWS, Kind};
use crate::error::Result;
use crate::types::DataType;

/// Numbers of the elements of arrays.
#[derive(Clone, Debug, PartialEq)]
pub struct ElementNumbers {
    /// Of all rows, one after the other; NULL for an element without a number.
    pub values: Float64Array,
    /// Where each row's elements end.
    pub row_ends: Vec<u32>,
}

impl ElementNumbers {
    /// The elements of a row.
    pub fn of_row(&self, row: usize) -> Range<usize> {
        let start = if row == 0 { 0 } else { self.row_ends[row - 1] };
        start as usize..self.row_ends[row] as usize
    }
}

/// The numbers at `within` in the elements of the array at `array`; None when they cannot be read from their column
/// alone: there is no such path, or parts of it are kept as text, or numbers have scales of their own.
pub(crate) fn element_numbers(
    documents: &Documents<'_>,
    array: &[&str],
    within: &[&str],
) -> Result<Option<ElementNumbers>> {
    let Some(of_array) = follow(documents, &documents.plan.root, array) else { return Ok(None) };
    let Some(element) = of_array.element.as_deref().filter(|_| of_array.arrays == 0) else { return Ok(None) };
    let Some(target) = follow(documents, element, within).filter(|target| target.has_stream) else { return Ok(None) };
    if is_raw(documents, of_array) || is_raw(documents, target) {
        return Ok(None);
    }
    let front = &documents.front.streams[target.streams.start];
    let numerals = front.counts[Tag::Numeral as usize];
    let form = front.columns[0].as_ref().map_or(Form::Fixed(0), |column| column.form);
    if numerals > 0 || form == Form::Each {
        return Ok(None);
    }
    let numbers = numbers(documents, target.streams.start, form)?;
    collect(documents, target.streams.start, of_array.depth, &numbers).map(Some)
}

/// Whether texts are among the values of a path.
fn is_raw(documents: &Documents<'_>, node: &PlanNode) -> bool {
    node.has_stream && documents.front.streams[node.streams.start].counts[Tag::Raw as usize] > 0
}

/// The path of some keys, if all its members are columns.
fn follow<'a>(documents: &Documents<'_>, from: &'a PlanNode, keys: &[&str]) -> Option<&'a PlanNode> {
    keys.iter().try_fold(from, |node, key| {
        let member = node.members.iter().find(|member| *member.name == **key)?;
        (!is_raw(documents, node)).then_some(&member.node)
    })
}

/// All numbers of a path.
fn numbers(documents: &Documents<'_>, stream: usize, form: Form) -> Result<Vec<f64>> {
    let Some(column) = &documents.front.streams[stream].columns[0] else { return Ok(Vec::new()) };
    let mut numbers = Vec::with_capacity(column.count);
    for piece in 0..column.count.div_ceil(BLOCK_ROWS) {
        let block = (documents.load)(column.first_piece as usize + piece)?;
        test(&block, Kind::Int64, column.count, piece)?;
        let mantissas: ArrayRef = block.decode(DataType::BigInt);
        let mantissas = mantissas.as_primitive::<Int64Type>().values().iter();
        numbers.extend(mantissas.map(|&mantissa| form.number_untrimmed(mantissa).to_f64()));
    }
    Ok(numbers)
}

/// Lays numbers out by the levels of their path, whose array is at a depth.
fn collect(documents: &Documents<'_>, stream: usize, depth: usize, numbers: &[f64]) -> Result<ElementNumbers> {
    let front = &documents.front.streams[stream];
    let mut cursor = documents.cursor(stream);
    let mut row_ends = Vec::with_capacity(documents.front.rows);
    let mut values = Vec::with_capacity(numbers.len());
    let mut missing = Vec::new();
    let mut left = numbers.iter();
    let wrong = || damaged("a path has other rows or numbers than its front says");
    for _ in 0..front.level_count {
        match cursor.next()? {
            Level::Tag(Tag::Number) => values.push(*left.next().ok_or_else(wrong)?),
            Level::End(_) => row_ends.push(values.len() as u32),
            Level::Stop(stop) if stop <= depth => row_ends.push(values.len() as u32),
            Level::Tag(_) | Level::Stop(_) => {
                missing.push(values.len());
                values.push(0.0);
            }
        }
    }
    if left.next().is_some() || row_ends.len() != documents.front.rows {
        return Err(wrong());
    }
    let nulls = (!missing.is_empty()).then(|| {
        let mut present = BooleanBufferBuilder::new(values.len());
        present.append_n(values.len(), true);
        missing.iter().for_each(|&at| present.set_bit(at, false));
        NullBuffer::new(present.finish())
    });
    let values = Float64Array::new(values.into(), nulls);
    Ok(ElementNumbers { values, row_ends })
}
