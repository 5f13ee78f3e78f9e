//! Reads one stream of levels from front to back, and the values that belong to it.
//!
//! ```text
//!   levels      Number Stop(1) Number Null Number │ ...      of 1024 rows decoded at once, when one is looked at
//!   row 4       level 4, and its number is the third: as many as there are before it
//! ```
//!
//! 1. A stream without arrays has row `n` at level `n`; of others, rows are found from the last place before them that
//!    the front names. Only levels are looked at on the way there, and pieces without a wanted row are not loaded.
//! 2. Values are counted when one is wanted, from the last place before it that was counted or that the front names:
//!    who reads a row pays for the paths that the row has.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::Deref;
use std::rc::Rc;
use std::sync::Arc;

use crate::document::decimal::{Decimal, Form};
use crate::document::front::{ColumnFront, OpenFront, StreamFront, damaged, piece_count};
use crate::document::levels::{Level, Tag};
use crate::document::plan::{ARRAY_SKIP_ROWS, SKIP_ROWS, StreamPlan};
use crate::encoding::{BLOCK_ROWS, Block, Kind, UNIT_ROWS};
use crate::error::{Error, Result};

/// Loads a piece by its number.
pub(crate) type Load<'a> = &'a dyn Fn(usize) -> Result<Arc<Block>>;

/// The pieces of some documents, opened.
pub(crate) struct Documents<'a> {
    open: Arc<OpenFront>,
    pub(crate) load: Load<'a>,
    /// How many bytes all texts have.
    pub(crate) bytes_max: usize,
    windows: RefCell<Windows>,
}

/// The levels that were decoded last of each run of pieces, and of so many levels: equal streams share them.
type Windows = HashMap<(u32, usize), Window>;

/// Levels as numbers, and where they start: those of one unit of a piece.
type Window = (usize, Rc<Vec<u16>>);

impl Deref for Documents<'_> {
    type Target = OpenFront;

    fn deref(&self) -> &OpenFront {
        &self.open
    }
}

impl<'a> Documents<'a> {
    /// Opens documents that have so many rows, pieces, and bytes as texts. Their front is read here, unless it is kept
    /// beside the first piece.
    pub(crate) fn open(rows: usize, pieces: usize, bytes_max: usize, load: Load<'a>) -> Result<Documents<'a>> {
        let block = load(0)?;
        let open = match block.attached::<OpenFront>().filter(|open| open.is_of(rows, pieces)) {
            Some(open) => open,
            None => Arc::new(OpenFront::read(&block, rows, pieces)?),
        };
        Ok(Documents { open, load, bytes_max, windows: RefCell::default() })
    }

    /// A cursor on a stream, before the first row.
    pub(crate) fn cursor(&self, stream: usize) -> Cursor<'_> {
        Cursor {
            plan: &self.plan.streams[stream],
            front: &self.front.streams[stream],
            load: self.load,
            row: 0,
            at: 0,
            counted: 0,
            values: [0; 4],
            windows: &self.windows,
            window: (0, Rc::default()),
            blocks: [const { None }; 5],
        }
    }
}

/// Where one stream is read.
pub(crate) struct Cursor<'a> {
    plan: &'a StreamPlan,
    front: &'a StreamFront,
    load: Load<'a>,
    /// The row that the next level belongs to, or begins.
    row: usize,
    /// The next level.
    at: usize,
    /// So many levels are counted in `values`: no more than `at`.
    counted: usize,
    /// Values of each column that belong to those.
    values: [usize; 4],
    windows: &'a RefCell<Windows>,
    window: Window,
    /// The piece of values that was last used of each column, and of scales.
    blocks: [Option<(usize, Arc<Block>)>; 5],
}

fn cut_off() -> Error {
    damaged("a stream ends within a row")
}

/// The level that ends the outermost array.
const END_OUTERMOST: u16 = Level::End(0).code();

impl<'a> Cursor<'a> {
    pub(crate) fn front(&self) -> &'a StreamFront {
        self.front
    }

    /// How many levels were taken.
    pub(crate) fn level(&self) -> usize {
        self.at
    }

    #[inline]
    fn code_at(&mut self, at: usize) -> Result<u16> {
        if at >= self.front.level_count {
            return Err(cut_off());
        }
        if let Some(code) = self.front.constant {
            return Ok(code);
        }
        if at.wrapping_sub(self.window.0) >= self.window.1.len() {
            self.load_window(at)?;
        }
        Ok(self.window.1[at - self.window.0])
    }

    /// Decodes the levels around one.
    #[cold]
    fn load_window(&mut self, at: usize) -> Result<()> {
        let (piece, unit) = (at / BLOCK_ROWS, at % BLOCK_ROWS / UNIT_ROWS);
        let start = piece * BLOCK_ROWS + unit * UNIT_ROWS;
        let first_piece = self.front.first_piece;
        let mut windows = self.windows.borrow_mut();
        let window = windows.entry((first_piece, self.front.level_count)).or_default();
        if window.0 != start || window.1.is_empty() {
            let block = (self.load)(first_piece as usize + piece)?;
            test(&block, Kind::Int16, self.front.level_count, piece)?;
            // Who still reads the one of before keeps it.
            block.unit_words(unit, Rc::make_mut(&mut window.1));
            window.0 = start;
        }
        self.window = window.clone();
        Ok(())
    }

    /// The next level, which stays the next one.
    #[inline]
    pub(crate) fn peek(&mut self) -> Result<Level> {
        let code = self.code_at(self.at)?;
        Level::of_code(code).ok_or_else(|| damaged("a level is of no kind"))
    }

    /// Takes the next level; a value that belongs to it is then [`Cursor::number`] or [`Cursor::text`].
    #[inline]
    pub(crate) fn next(&mut self) -> Result<Level> {
        let level = self.peek()?;
        self.at += 1;
        Ok(level)
    }

    /// Takes a level that has no value.
    #[inline]
    pub(crate) fn pass(&mut self) {
        self.at += 1;
    }

    /// Goes to the first level of a row, which is not before the one that was last gone to.
    #[inline]
    pub(crate) fn go_to(&mut self, row: usize) -> Result<()> {
        if self.plan.first_array.is_none() {
            (self.row, self.at) = (row, row);
            return Ok(());
        }
        let known = row / ARRAY_SKIP_ROWS;
        if known > self.row / ARRAY_SKIP_ROWS {
            self.row = known * ARRAY_SKIP_ROWS;
            self.at = self.front.level_skips.get(known).map_or(self.row, |&at| at as usize);
        }
        while self.row < row {
            self.pass_row()?;
        }
        Ok(())
    }

    /// Takes all levels of the next row.
    pub(crate) fn pass_row(&mut self) -> Result<()> {
        let first = self.next()?;
        self.row += 1;
        let Some(outermost) = self.plan.first_array else { return Ok(()) };
        if matches!(first, Level::Stop(depth) if depth <= outermost) {
            return Ok(());
        }
        loop {
            self.code_at(self.at)?;
            // A constant stream has one level for each row (front 2).
            let ahead = self.window.1.get(self.at - self.window.0..).ok_or_else(cut_off)?;
            match ahead.iter().position(|&code| code == END_OUTERMOST) {
                Some(end) => {
                    self.at += end + 1;
                    return Ok(());
                }
                None => self.at += ahead.len().max(1),
            }
        }
    }

    /// Notes that the levels of the row were taken one by one.
    #[inline]
    pub(crate) fn end_row(&mut self) {
        self.row += 1;
    }

    /// How many values of each column there are before a level.
    pub(crate) fn count_to(&mut self, at: usize) -> Result<&[usize; 4]> {
        let front = self.front;
        if at < self.counted || at - self.counted > UNIT_ROWS {
            self.count_from_skip(at);
        }
        while self.counted < at {
            if let Some(code) = front.constant {
                let column = Level::of_code(code).and_then(|level| match level {
                    Level::Tag(tag) => tag.column(),
                    _ => None,
                });
                column.into_iter().for_each(|column| self.values[column] += at - self.counted);
                self.counted = at;
                break;
            }
            self.code_at(self.counted)?;
            let (start, levels) = &self.window;
            let end = at.min(start + levels.len());
            let levels = &levels[self.counted - start..end - start];
            for (column, tag) in Tag::WITH_VALUES.into_iter().enumerate() {
                if front.columns[column].is_some() {
                    self.values[column] += levels.iter().filter(|&&code| code == tag as u16).count();
                }
            }
            self.counted = end;
        }
        Ok(&self.values)
    }

    /// Counts from the last place before a level that the front names, if that is nearer.
    fn count_from_skip(&mut self, at: usize) {
        let skips = &self.front.level_skips;
        let known = if skips.is_empty() {
            at / SKIP_ROWS
        } else {
            skips.partition_point(|&skip| skip as usize <= at).saturating_sub(1)
        };
        let level = skips.get(known).map_or(known * SKIP_ROWS, |&level| level as usize);
        if at < self.counted || level > self.counted {
            self.counted = level;
            for (value, column) in self.values.iter_mut().zip(&self.front.columns) {
                if let Some(column) = column {
                    *value = column.skips.get(known).map_or(level, |&at| at as usize);
                }
            }
        }
    }

    /// Which value of its column belongs to the level that was last taken.
    #[inline]
    fn value_at(&mut self, column: usize) -> Result<usize> {
        let level = self.at.wrapping_sub(1);
        if self.front.columns[column].as_ref().is_some_and(|column| column.count == self.front.level_count) {
            return Ok(level);
        }
        self.count_to(level).map(|values| values[column])
    }

    /// The column of a kind of values.
    pub(crate) fn column(&self, tag: Tag) -> Result<&'a ColumnFront> {
        let column = tag.column().and_then(|column| self.front.columns[column].as_deref());
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
        let at = self.value_at(0)?;
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
        let at = self.value_at(place)?;
        let (block, row) = self.block(place, first, count, at, Kind::Text)?;
        let text = block.text_within(row, scratch).ok_or_else(|| damaged("a text is cut off"))?;
        std::str::from_utf8(text).map(each).map_err(|_| damaged("a text is not UTF-8"))
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
