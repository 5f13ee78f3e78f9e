//! The levels of JSON_TABLE: a path to the rows, columns, and levels within them.
//!
//! ```text
//!   '$[*]' COLUMNS (n FOR ORDINALITY, a int PATH '$.a', b bool EXISTS PATH '$.b', NESTED '$.c[*]' COLUMNS (d int))
//!
//!   ($[*]  #  v$.a  x f$.b  ($.c[*]  v$."d"  )  )      as texts, each of one item; blanks are for reading
//! ```
//!
//! 1. Columns are numbered as they are written, those of levels within others in their place.
//! 2. `[` instead of `(`, and `V` instead of `v`: an error of the path is one of the statement.

use std::rc::Rc;

use weft_format::{Code, Error, Result};

use super::super::kept::path_of;
use super::super::path::Path;
use super::clauses::Instead;

/// How deep levels lie within each other, at most.
const DEPTH_MAX: usize = 32;

/// One level.
pub(super) struct Level {
    pub(super) path: Rc<Path>,
    /// Whether an error of the path is one of the statement.
    pub(super) tells: bool,
    /// With the number of each.
    pub(super) columns: Vec<(usize, Column)>,
    pub(super) nested: Vec<Level>,
}

/// A column.
pub(super) enum Column {
    Ordinality,
    /// What a path finds; whether its errors are told.
    Items(Rc<Path>, bool),
    /// Whether it finds something.
    Exists(Rc<Path>, Instead),
}

/// The outermost level of a plan, and how many columns there are in all.
pub(super) fn read(plan: &[String]) -> Result<(Level, usize)> {
    let mut reader = Reader { items: plan.iter(), columns: 0, depth: 0 };
    let level = match reader.items.next().map(|item| split(item)).transpose()? {
        Some((letter @ ('(' | '['), path)) => reader.level(path, letter == '[')?,
        _ => return Err(broken()),
    };
    Ok((level, reader.columns))
}

fn split(item: &str) -> Result<(char, &str)> {
    let letter = item.chars().next().ok_or_else(broken)?;
    Ok((letter, &item[letter.len_utf8()..]))
}

fn broken() -> Error {
    Error::new(Code::InvalidParameterValue, "a plan of JSON_TABLE is broken")
}

struct Reader<'a> {
    items: std::slice::Iter<'a, String>,
    columns: usize,
    depth: usize,
}

impl Reader<'_> {
    /// A level whose path was read, up to its end.
    fn level(&mut self, path: &str, tells: bool) -> Result<Level> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            let message = format!("JSON_TABLE nests at most {DEPTH_MAX} levels");
            return Err(Error::new(Code::StatementTooComplex, message));
        }
        let mut level = Level { path: path_of(path)?, tells, columns: Vec::new(), nested: Vec::new() };
        loop {
            let (letter, rest) = split(self.items.next().ok_or_else(broken)?)?;
            let column = match letter {
                ')' => {
                    self.depth -= 1;
                    return Ok(level);
                }
                '(' | '[' => {
                    level.nested.push(self.level(rest, letter == '[')?);
                    continue;
                }
                '#' => Column::Ordinality,
                'v' | 'V' => Column::Items(path_of(rest)?, letter == 'V'),
                'x' => {
                    let (on_error, path) = split(rest)?;
                    Column::Exists(path_of(path)?, Instead::of(on_error)?)
                }
                _ => return Err(broken()),
            };
            level.columns.push((self.columns, column));
            self.columns += 1;
        }
    }
}
