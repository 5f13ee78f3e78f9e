//! Cursors: DECLARE, FETCH, MOVE, CLOSE.
//!
//! ```text
//!   BEGIN; DECLARE c CURSOR FOR SELECT ...;  FETCH 100 FROM c;  FETCH ABSOLUTE 5 FROM c;  MOVE ALL IN c;  COMMIT
//!   rows        0   1   2  ...  n
//!   position    before the first row, on row 1 to n, behind the last
//! ```
//!
//! 1. A cursor's query is run when it is declared: its rows are those of that moment, and count as memory of queries.
//! 2. A cursor ends with its transaction, unless it was declared WITH HOLD and the transaction is committed.

use std::sync::Arc;

use sqlparser::ast::{CloseCursor, Declare, DeclareType, FetchDirection, Ident, Value as SqlValue, ValueWithSpan};
use weft_format::{Code, Error, Result, Value};

use super::answers::unsupported;
use super::client::Embedded;
use super::cursor::{Cursor, Step};
use super::{Prepared, Session};
use crate::outcome::{Outcome, OutputColumn, Rows, Tag};
use crate::parse::{fold, has_writing_parts};

/// DECLARE name CURSOR FOR query.
pub(super) fn declare(
    session: &mut Session,
    statements: &[Declare],
    prepared: Option<&Arc<Prepared>>,
    params: &[Value],
) -> Result<Outcome> {
    let (
        [Declare { names, declare_type: Some(DeclareType::Cursor), scroll, hold, for_query: Some(query), .. }],
        Some(prepared),
    ) = (statements, prepared)
    else {
        return Err(session.fail(unsupported("DECLARE of anything but a cursor")));
    };
    let name = names.first().map(fold).unwrap_or_default();
    let holds = *hold == Some(true);
    if !session.in_transaction() && !holds {
        let error = Error::new(Code::NoActiveTransaction, "DECLARE CURSOR can only be used in transaction blocks");
        return Err(error.hint("BEGIN starts one; or declare it WITH HOLD"));
    }
    if session.cursors.contains_key(&name) {
        let message = format!("cursor \"{name}\" already exists");
        return Err(session.fail(Error::new(Code::DuplicateCursor, message)));
    }
    if has_writing_parts(query) {
        let message = "DECLARE CURSOR must not contain data-modifying or locking statements in WITH or subqueries";
        let error = Error::new(Code::FeatureNotSupported, message);
        return Err(session.fail(error.hint("run the statement by itself, or declare a cursor on what it gives")));
    }
    let outcome = session.run(prepared, params, None, &mut Embedded)?;
    session.cursors.insert(name, Cursor { outcome, position: 0, holds, scrolls: *scroll != Some(false) });
    Ok(Outcome::done(Tag::Done("DECLARE CURSOR")))
}

/// FETCH, or MOVE when the rows are not wanted.
pub(super) fn fetch(session: &mut Session, name: &Ident, direction: &FetchDirection, moves: bool) -> Result<Outcome> {
    let name = fold(name);
    let Some(cursor) = session.cursors.get_mut(&name) else { return Err(session.fail(no_cursor(&name))) };
    let taken = step(direction).and_then(|step| cursor.take(step));
    let picked = match taken {
        Ok(picked) => picked,
        Err(error) => return Err(session.fail(error)),
    };
    let count = picked.len() as u64;
    if moves {
        return Ok(Outcome::done(Tag::Move(count)));
    }
    let rows = &cursor.outcome.rows;
    let width = rows.width();
    let values = picked.iter().flat_map(|&row| (0..width).map(move |column| rows.value(row, column))).collect();
    let rows = Rows::from_values(width, values);
    Ok(Outcome { tag: Tag::Fetch(count), columns: Arc::clone(&cursor.outcome.columns), rows })
}

/// CLOSE
pub(super) fn close(session: &mut Session, cursor: &CloseCursor) -> Result<Outcome> {
    match cursor {
        CloseCursor::All => session.cursors.clear(),
        CloseCursor::Specific { name } => {
            let name = fold(name);
            if session.cursors.remove(&name).is_none() {
                return Err(session.fail(no_cursor(&name)));
            }
        }
    }
    Ok(Outcome::done(Tag::Done("CLOSE CURSOR")))
}

impl Session {
    /// The columns of an open cursor.
    pub fn cursor_columns(&self, name: &str) -> Option<Arc<[OutputColumn]>> {
        self.cursors.get(name).map(|cursor| Arc::clone(&cursor.outcome.columns))
    }

    /// A transaction has ended: its cursors go, but for those that hold when it was committed (cursors 2).
    pub(super) fn end_cursors(&mut self, committed: bool) {
        if !self.cursors.is_empty() {
            self.cursors.retain(|_, cursor| committed && cursor.holds);
        }
    }
}

fn step(direction: &FetchDirection) -> Result<Step> {
    let number = |limit: &ValueWithSpan| match &limit.value {
        SqlValue::Number(digits, _) => {
            let wrong = || Error::new(Code::SyntaxError, format!("{digits} is not a number of rows"));
            digits.parse::<i64>().map_err(|_| wrong())
        }
        other => Err(Error::new(Code::SyntaxError, format!("{other} is not a number of rows"))),
    };
    Ok(match direction {
        FetchDirection::Count { limit } => Step::Rows(number(limit)?),
        FetchDirection::Next => Step::Rows(1),
        FetchDirection::Prior => Step::Rows(-1),
        FetchDirection::First => Step::To(1),
        FetchDirection::Last => Step::To(-1),
        FetchDirection::Absolute { limit } => Step::To(number(limit)?),
        FetchDirection::Relative { limit } => Step::Rows(number(limit)?),
        FetchDirection::All | FetchDirection::ForwardAll => Step::Rows(i64::MAX),
        FetchDirection::Forward { limit } => Step::Rows(limit.as_ref().map_or(Ok(1), number)?),
        FetchDirection::Backward { limit } => Step::Rows(-limit.as_ref().map_or(Ok(1), number)?),
        FetchDirection::BackwardAll => Step::Rows(-i64::MAX),
    })
}

fn no_cursor(name: &str) -> Error {
    Error::new(Code::UndefinedCursor, format!("cursor \"{name}\" does not exist"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Positions as PostgreSQL 15 has them, row by row.
    #[test]
    fn positions_move_as_postgresqls() {
        let rows = Rows::from_values(1, (1..=5).map(Value::Int).collect());
        let outcome = Outcome { tag: Tag::Select(5), columns: Arc::new([]), rows };
        let mut cursor = Cursor { outcome, position: 0, holds: false, scrolls: true };
        let mut take = |step| cursor.take(step).unwrap().iter().map(|row| row + 1).collect::<Vec<_>>();
        assert_eq!(take(Step::Rows(2)), [1, 2]);
        assert_eq!(take(Step::Rows(0)), [2]);
        assert_eq!(take(Step::Rows(-1)), [1]);
        assert!(take(Step::Rows(-1)).is_empty());
        assert_eq!(take(Step::Rows(i64::MAX)), [1, 2, 3, 4, 5]);
        assert!(take(Step::Rows(0)).is_empty());
        assert_eq!(take(Step::Rows(-2)), [5, 4]);
        assert_eq!(take(Step::To(2)), [2]);
        assert_eq!(take(Step::To(-1)), [5]);
        assert!(take(Step::Rows(1)).is_empty());
        assert_eq!(take(Step::Rows(-i64::MAX)), [5, 4, 3, 2, 1]);
        assert!(take(Step::To(9)).is_empty());
        assert_eq!(take(Step::Rows(-1)), [5]);
        assert!(take(Step::To(0)).is_empty());
        assert_eq!(take(Step::Rows(1)), [1]);
        cursor.scrolls = false;
        assert!(cursor.take(Step::Rows(-1)).is_err());
    }
}
