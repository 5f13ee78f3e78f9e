//! Tests everything about documents that reading takes on trust: each stream and column against what the front says.
//!
//! ```text
//!   levels of the rows    0 .. 1023 │ 1024 ..        the front says that row 1024 begins at level 70,112: it does,
//!   values counted there        310 │ 311 ..         that 310 numbers lie before it, all between its bounds: so it is
//! ```
//!
//! Pieces that pass their checksums are what was written; this finds what was written wrongly.

use crate::document::cursor::{Cursor, Documents, test};
use crate::document::decimal::Decimal;
use crate::document::front::{Bounds, ColumnFront, StreamFront, damaged, piece_count};
use crate::document::levels::{Level, Tag};
use crate::document::plan::StreamPlan;
use crate::encoding::Kind;
use crate::error::Result;
use crate::value::ValueRef;

/// Tests all streams.
pub(crate) fn check(documents: &Documents<'_>) -> Result<()> {
    for (number, front) in documents.front.streams.iter().enumerate() {
        let plan = &documents.plan.streams[number];
        check_stream(documents.cursor(number), front, plan, documents.front.rows)?;
        for (column, tag) in front.columns.iter().zip(Tag::WITH_VALUES) {
            let Some(column) = column else { continue };
            let kind = if tag == Tag::Number { Kind::Int64 } else { Kind::Text };
            for piece in 0..piece_count(column.count) {
                let block = (documents.load)(column.first_piece as usize + piece)?;
                test(&block, kind, column.count, piece)?;
                block.check()?;
            }
        }
    }
    Ok(())
}

fn check_stream(mut cursor: Cursor<'_>, front: &StreamFront, plan: &StreamPlan, rows: usize) -> Result<()> {
    let mut counts = [0_u32; Tag::ALL.len()];
    let mut scratch = Vec::new();
    let mut row = 0;
    let mut is_within = false;
    while cursor.level() < front.level_count {
        if !is_within && row % plan.skip_rows() == 0 {
            check_skips(front, row / plan.skip_rows(), cursor.level(), &counts)?;
        }
        let level = cursor.next()?;
        match level {
            Level::Tag(tag) if !plan.has(tag) => return Err(damaged("a path has a value of another kind")),
            Level::Tag(tag) => {
                counts[tag as usize] += 1;
                check_value(&mut cursor, front, tag, &mut scratch)?;
            }
            Level::Stop(depth) if depth > plan.depth => return Err(damaged("a path stops behind its end")),
            Level::Stop(_) | Level::End(_) => {}
        }
        is_within = match (plan.first_array, level) {
            (None, _) | (Some(_), Level::End(0)) => false,
            (Some(outermost), Level::Stop(depth)) if !is_within && depth <= outermost => false,
            (Some(_), _) => true,
        };
        row += usize::from(!is_within);
    }
    if is_within || row != rows {
        return Err(damaged("a stream has other rows than its documents"));
    }
    if counts != front.counts {
        return Err(damaged("a path has other values than its front counts"));
    }
    Ok(())
}

/// A place that the front names is where it says.
fn check_skips(front: &StreamFront, skip: usize, level: usize, counts: &[u32]) -> Result<()> {
    let is_at = |skips: &[u32], at: u32| skips.get(skip).is_none_or(|&known| known == at);
    let columns = front.columns.iter().zip(Tag::WITH_VALUES);
    let mut known = columns.filter_map(|(column, tag)| Some((column.as_ref()?, counts[tag as usize])));
    if is_at(&front.level_skips, level as u32) && known.all(|(column, count)| is_at(&column.skips, count)) {
        return Ok(());
    }
    Err(damaged("a row does not begin where its front says"))
}

fn check_value(cursor: &mut Cursor<'_>, front: &StreamFront, tag: Tag, scratch: &mut Vec<u8>) -> Result<()> {
    let Some(column) = tag.column().and_then(|column| front.columns[column].as_deref()) else {
        return if tag.column().is_none() { Ok(()) } else { Err(damaged("a value has no column")) };
    };
    let is_within = match tag {
        Tag::Number => is_number_within(column, cursor.number()?),
        _ => cursor.text(tag, scratch, |text| is_text_within(column, text))?,
    };
    if is_within { Ok(()) } else { Err(damaged("a value lies beyond the bounds of its column")) }
}

fn is_number_within(column: &ColumnFront, number: Decimal) -> bool {
    let Bounds::Numbers(min, max) = column.bounds else { return false };
    let [min, max] = [min, max].map(|(mantissa, scale)| Decimal { mantissa, scale });
    number.compare(min).is_ge() && number.compare(max).is_le()
}

fn is_text_within(column: &ColumnFront, text: &str) -> bool {
    let Bounds::Strings(stats) = &column.bounds else { return true };
    let text = ValueRef::Text(text);
    text.compare(stats.min.as_ref()).is_ge() && (stats.max.is_null() || text.compare(stats.max.as_ref()).is_le())
}
