//! An open cursor: its rows, and where it stands.

use std::collections::HashMap;

use weft_format::{Code, Error, Result};

use crate::outcome::Outcome;

/// The open cursors of a session, by name.
pub(super) type Cursors = HashMap<String, Cursor>;

/// A cursor.
pub(super) struct Cursor {
    pub(super) outcome: Outcome,
    /// 0: before the first row; n + 1: behind the last of n.
    pub(super) position: usize,
    pub(super) holds: bool,
    pub(super) scrolls: bool,
}

/// Where a FETCH goes.
pub(super) enum Step {
    /// So many rows onwards, or backwards; 0: the row where it stands.
    Rows(i64),
    /// To a row counted from 1, or from the end.
    To(i64),
}

impl Cursor {
    /// Moves, and gives the rows that were passed, in that order.
    pub(super) fn take(&mut self, step: Step) -> Result<Vec<usize>> {
        let count = self.outcome.rows.len();
        if !self.scrolls && matches!(step, Step::To(_) | Step::Rows(i64::MIN..=-1)) {
            let error = Error::new(Code::NotInPrerequisiteState, "cursor can only scan forward");
            return Err(error.hint("declare it with SCROLL option to enable backward scan"));
        }
        let picked: Vec<usize> = match step {
            Step::Rows(0) => {
                (self.position >= 1 && self.position <= count).then(|| self.position - 1).into_iter().collect()
            }
            Step::Rows(rows) if rows > 0 => {
                let from = self.position.min(count);
                let to = count.min(from.saturating_add(usize::try_from(rows).unwrap_or(usize::MAX)));
                let reached = rows.unsigned_abs() as usize <= to - from;
                self.position = if reached { to } else { count + 1 };
                (from..to).collect()
            }
            Step::Rows(rows) => {
                let from = self.position.saturating_sub(1).min(count);
                let wanted = usize::try_from(rows.unsigned_abs()).unwrap_or(usize::MAX);
                let to = from.saturating_sub(wanted);
                self.position = if wanted <= from { to + 1 } else { 0 };
                (to..from).rev().collect()
            }
            Step::To(place) => {
                let row = if place < 0 { count as i64 + place } else { place - 1 };
                let found = usize::try_from(row).ok().filter(|&row| row < count);
                self.position = match found {
                    Some(row) => row + 1,
                    None if place > 0 => count + 1,
                    None => 0,
                };
                found.into_iter().collect()
            }
        };
        Ok(picked)
    }
}
