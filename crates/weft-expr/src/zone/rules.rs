//! The rules of a zone: which kind holds when.

use super::kind::Kind;
use super::posix::Tail;
use crate::days::{DAY_SECONDS, date_parts, days_of};

/// Transitions of the tail are written out up to this year, so that most look-ups are a search.
const TABLE_YEAR_MAX: i64 = 2037;

/// See above.
#[derive(Debug)]
pub(super) struct Rules {
    pub(super) name: Box<str>,
    /// The first holds before all transitions.
    pub(super) kinds: Vec<Kind>,
    /// When (seconds since 1970 UTC), and which kind holds from then on.
    pub(super) transitions: Vec<(i64, u8)>,
    pub(super) tail: Option<Tail>,
}

impl Rules {
    /// What holds at a moment.
    pub(super) fn kind_at(&self, seconds: i64) -> &Kind {
        let end = self.transitions.partition_point(|(at, _)| *at <= seconds);
        match (&self.tail, end) {
            (Some(tail), end) if end == self.transitions.len() => tail.kind_at(seconds),
            (_, 0) => &self.kinds[0],
            (_, end) => &self.kinds[usize::from(self.transitions[end - 1].1)],
        }
    }

    /// The first change behind a moment, and what holds from then on.
    pub(super) fn next_transition(&self, seconds: i64) -> Option<(i64, &Kind)> {
        let end = self.transitions.partition_point(|(at, _)| *at <= seconds);
        match self.transitions.get(end) {
            Some((at, kind)) => Some((*at, &self.kinds[usize::from(*kind)])),
            None => self.tail.as_ref()?.next_transition(seconds),
        }
    }

    /// Adds the transitions of the tail's next years to the table.
    pub(super) fn write_out_tail(&mut self) {
        let Some(tail) = &self.tail else { return };
        let last = self.transitions.last().map_or(i64::MIN, |(at, _)| *at);
        let first_year = if last == i64::MIN { 1970 } else { date_parts(last.div_euclid(DAY_SECONDS)).0 };
        let mut found = Vec::new();
        let mut at = last.max(days_of(first_year, 1, 1) * DAY_SECONDS - 1);
        let end = days_of(TABLE_YEAR_MAX, 12, 31) * DAY_SECONDS;
        while let Some((next, kind)) = tail.next_transition(at).filter(|(next, _)| *next < end) {
            found.push((next, kind.clone()));
            at = next;
        }
        for (at, kind) in found {
            let known = self.kinds.iter().position(|known| *known == kind).unwrap_or_else(|| {
                self.kinds.push(kind);
                self.kinds.len() - 1
            });
            let Ok(known) = u8::try_from(known) else { return };
            self.transitions.push((at, known));
        }
        debug_assert!(self.transitions.is_sorted_by_key(|(at, _)| *at), "zone 2: transitions ascend");
    }
}
