//! Reads one stream of levels from front to back, and the values that belong to it.
//!
//! A row that is not the next one is found from the last place before it that the front names; only levels are looked
//! at on the way there, and pieces without a wanted row are not loaded.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int16Type;
use arrow_buffer::ScalarBuffer;

use crate::document::decimal::{Decimal, Form};
use crate::document::front::{ColumnFront, Front, StreamFront, damaged, piece_count};
use crate::document::levels::{Level, Tag};
use crate::document::plan::{Plan, StreamPlan};
use crate::document::shred::SKIP_ROWS;
use crate::encoding::{BLOCK_ROWS, Block, Kind};
use crate::error::{Error, Result};
use crate::types::DataType;

/// Loads a piece by its number.
pub(crate) type Load<'a> = &'a dyn Fn(usize) -> Result<Arc<Block>>;

/// The pieces of some documents, opened.
pub(crate) struct Documents<'a> {
    pub(crate) front: Front,
    pub(crate) plan: Plan,
    pub(crate) load: Load<'a>,
}

impl<'a> Documents<'a> {
    /// Reads the front of documents that have so many rows and pieces.
    pub(crate) fn open(rows: usize, pieces: usize, load: Load<'a>) -> Result<Documents<'a>> {
        let front = load(0)?;
        let (front, plan) = front.with_value(0, |value| match value.as_bytes() {
            Some(bytes) => Front::read(bytes, rows, pieces),
            None => Err(damaged("it is no bytes")),
        })?;
        Ok(Documents { front, plan, load })
    }

    /// A cursor on a stream, before the first row.
    pub(crate) fn cursor(&self, stream: usize) -> Cursor<'_> {
        Cursor {
            plan: &self.plan.streams[stream],
            front: &self.front.streams[stream],
            load: self.load,
            row: 0,
            at: 0,
            levels: None,
            values: [0; 4],
            blocks: [const { None }; 5],
        }
    }
}

/// Where one stream is read.
pub(crate) struct Cursor<'a> {
    plan: &'a StreamPlan,
    front: &'a StreamFront,
    load: Load<'a>,
    /// The row that a caller last went to.
    row: usize,
    /// The next level.
    at: usize,
    /// The levels of a piece, and where they start.
    levels: Option<(usize, ScalarBuffer<i16>)>,
    /// The next value of each column.
    values: [usize; 4],
    /// The piece of values that was last used of each column, and of scales.
    blocks: [Option<(usize, Arc<Block>)>; 5],
}

fn cut_off() -> Error {
    damaged("a stream ends within a row")
}

impl Cursor<'_> {
    pub(crate) fn front(&self) -> &StreamFront {
        self.front
    }

    #[inline]
    fn code_at(&mut self, at: usize) -> Result<u16> {
        if at >= self.front.level_count {
            return Err(cut_off());
        }
        if let Some(code) = self.front.constant {
            return Ok(code);
        }
        match &self.levels {
            Some((start, levels)) if at.wrapping_sub(*start) < levels.len() => Ok(levels[at - start] as u16),
            _ => self.load_levels(at),
        }
    }

    #[cold]
    fn load_levels(&mut self, at: usize) -> Result<u16> {
        let piece = at / BLOCK_ROWS;
        let block = (self.load)(self.front.first_piece as usize + piece)?;
        test(&block, Kind::Int16, self.front.level_count, piece)?;
        let levels = block.decode(DataType::SmallInt).as_primitive::<Int16Type>().values().clone();
        let code = levels[at % BLOCK_ROWS] as u16;
        self.levels = Some((piece * BLOCK_ROWS, levels));
        Ok(code)
    }

    /// The next level, which stays the next one.
    #[inline]
    pub(crate) fn peek(&mut self) -> Result<Level> {
        let code = self.code_at(self.at)?;
        Level::of_code(code).ok_or_else(|| damaged("a level is of no kind"))
    }

    /// Takes the next level; a value that belongs to it is then the last that was passed.
    #[inline]
    pub(crate) fn next(&mut self) -> Result<Level> {
        let level = self.peek()?;
        self.at += 1;
        if let Level::Tag(tag) = level
            && let Some(column) = tag.column()
        {
            self.values[column] += 1;
        }
        Ok(level)
    }

    /// Takes a level that has no value.
    #[inline]
    pub(crate) fn pass(&mut self) {
        self.at += 1;
    }

    /// Goes to the first level of a row, which is not before the one that was last gone to.
    pub(crate) fn go_to(&mut self, row: usize) -> Result<()> {
        let known = row / SKIP_ROWS;
        if known > self.row / SKIP_ROWS {
            self.row = known * SKIP_ROWS;
            self.at = self.front.level_skips.get(known).map_or(self.row, |&at| at as usize);
            for (value, column) in self.values.iter_mut().zip(&self.front.columns) {
                if let Some(column) = column {
                    *value = column.skips.get(known).map_or(self.at, |&at| at as usize);
                }
            }
        }
        while self.row < row {
            self.pass_row()?;
        }
        Ok(())
    }

    /// Takes all levels of the next row.
    pub(crate) fn pass_row(&mut self) -> Result<()> {
        self.row += 1;
        if self.front.constant.is_some() && self.plan.first_array.is_none() {
            self.at += 1;
            self.values.iter_mut().for_each(|value| *value += 1);
            return Ok(());
        }
        let first = self.next()?;
        let Some(outermost) = self.plan.first_array else { return Ok(()) };
        if matches!(first, Level::Stop(depth) if depth <= outermost) {
            return Ok(());
        }
        while self.next()? != Level::End(0) {}
        Ok(())
    }

    /// Notes that the levels of the row were taken one by one.
    pub(crate) fn end_row(&mut self) {
        self.row += 1;
    }

    /// The column of a kind of values.
    pub(crate) fn column(&self, tag: Tag) -> Result<&ColumnFront> {
        let column = tag.column().and_then(|column| self.front.columns[column].as_ref());
        column.ok_or_else(|| damaged("a value has no column"))
    }

    /// The piece with a value, its number in the piece.
    fn block(&mut self, place: usize, first: usize, count: usize, at: usize, kind: Kind) -> Result<(&Block, usize)> {
        if at >= count {
            return Err(damaged("a value lies behind the end of its column"));
        }
        let piece = at / BLOCK_ROWS;
        let is_here = matches!(&self.blocks[place], Some((known, _)) if *known == piece);
        if !is_here {
            let block = (self.load)(first + piece)?;
            test(&block, kind, count, piece)?;
            self.blocks[place] = Some((piece, block));
        }
        let block = self.blocks[place].as_ref().map(|(_, block)| &**block);
        Ok((block.ok_or_else(cut_off)?, at % BLOCK_ROWS))
    }

    /// The number that belongs to the level that was last taken.
    #[inline]
    pub(crate) fn number(&mut self) -> Result<Decimal> {
        let column = self.column(Tag::Number)?;
        let (first, count, form) = (column.first_piece as usize, column.count, column.form);
        let at = self.values[0].wrapping_sub(1);
        let (block, row) = self.block(0, first, count, at, Kind::Int64)?;
        let mantissa = block.bits_at(row) as i64;
        let scale = match form {
            Form::Each => {
                let (scales, row) = self.block(4, first + piece_count(count), count, at, Kind::Int16)?;
                (scales.bits_at(row) as u8).min(18)
            }
            _ => 0,
        };
        Ok(form.number(mantissa, scale))
    }

    /// Runs `each` on the text that belongs to the level that was last taken.
    #[inline]
    pub(crate) fn text<R>(&mut self, tag: Tag, scratch: &mut Vec<u8>, each: impl FnOnce(&str) -> R) -> Result<R> {
        let column = self.column(tag)?;
        let (first, count) = (column.first_piece as usize, column.count);
        let place = tag.column().unwrap_or(0);
        let at = self.values[place].wrapping_sub(1);
        let (block, row) = self.block(place, first, count, at, Kind::Text)?;
        let text = std::str::from_utf8(block.text_bytes_at(row, scratch));
        text.map(each).map_err(|_| damaged("a text is not UTF-8"))
    }
}

/// A piece has values of its kind, without NULLs, and as many as its place says.
pub(crate) fn test(block: &Block, kind: Kind, count: usize, piece: usize) -> Result<()> {
    let rows = BLOCK_ROWS.min(count - piece * BLOCK_ROWS);
    if block.kind() == kind && block.len() == rows && block.null_count() == 0 {
        return Ok(());
    }
    Err(damaged("a piece has other values than its front says"))
}
