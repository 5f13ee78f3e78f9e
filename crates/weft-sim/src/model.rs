//! The plain model: a map from key to row, and transactions as steps from one version of a row to the next.
//!
//! ```text
//!   state   accounts/7 → (7, balance 50, version 3)
//!   T12     accounts/7: version 3 → version 4;  pairs/('b',2): none → version 1
//!   T13     accounts/7: version 4 → none
//! ```
//!
//! 1. A transaction can be applied exactly when the state shows, for each key it changed, the row it changed it from.
//!    So a lost update, a torn transaction or a wrong order has no way to be replayed.
//! 2. Transactions whose timestamp is known are applied in its order; those that were in `commit` when the machine
//!    crashed are tried in every place.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A table's name and a key in it; the name "" and a table's name as key: the existence of the table.
pub type Place = (&'static str, Vec<u8>);
/// A row in the row codec.
pub type Row = Arc<[u8]>;
/// What the database holds.
pub type State = BTreeMap<Place, Row>;
/// What a transaction changed.
pub type Effects = BTreeMap<Place, Effect>;

/// One key's change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Effect {
    /// The row before, none when there was none.
    pub before: Option<Row>,
    /// The row after.
    pub after: Option<Row>,
}

/// Applies `ordered` in order, and each of `free` anywhere, to `base`; returns what differs from `base` in the end, or
/// where the replay gets stuck.
pub fn replay(
    base: &State,
    ordered: &[(u64, &Effects)],
    free: &[(u64, &Effects)],
) -> Result<BTreeMap<Place, Option<Row>>, String> {
    assert!(free.len() < 64, "few transactions are in commit at the same time");
    let mut search =
        Search { base, ordered, free, changed: BTreeMap::new(), failed: BTreeSet::new(), deepest: (0, String::new()) };
    if search.run(0, 0) { Ok(search.changed) } else { Err(search.deepest.1) }
}

struct Search<'a> {
    base: &'a State,
    ordered: &'a [(u64, &'a Effects)],
    free: &'a [(u64, &'a Effects)],
    changed: BTreeMap<Place, Option<Row>>,
    failed: BTreeSet<(usize, u64)>,
    /// How many were applied when it got stuck, and why.
    deepest: (usize, String),
}

impl Search<'_> {
    /// Whether the rest can be applied, with `done` ordered ones applied and the free ones in `mask`.
    fn run(&mut self, done: usize, mask: u64) -> bool {
        if done == self.ordered.len() && mask.count_ones() as usize == self.free.len() {
            return true;
        }
        if self.failed.contains(&(done, mask)) {
            return false;
        }
        let depth = done + mask.count_ones() as usize;
        if let Some(&(tid, effects)) = self.ordered.get(done)
            && self.try_apply(tid, effects, depth, |search| search.run(done + 1, mask))
        {
            return true;
        }
        for index in 0..self.free.len() {
            let (tid, effects) = self.free[index];
            if mask & (1 << index) == 0
                && self.try_apply(tid, effects, depth, |search| search.run(done, mask | 1 << index))
            {
                return true;
            }
        }
        self.failed.insert((done, mask));
        false
    }

    fn try_apply(&mut self, tid: u64, effects: &Effects, depth: usize, rest: impl FnOnce(&mut Self) -> bool) -> bool {
        for (place, effect) in effects {
            let present = match self.changed.get(place) {
                Some(changed) => changed.as_ref(),
                None => self.base.get(place),
            };
            if present != effect.before.as_ref() {
                if depth >= self.deepest.0 {
                    let message = format!(
                        "transaction {tid} changed {} from {}, but that is {} in the model",
                        show_place(place),
                        show(effect.before.as_ref()),
                        show(present)
                    );
                    self.deepest = (depth, message);
                }
                return false;
            }
        }
        let mut undo = Vec::with_capacity(effects.len());
        for (place, effect) in effects {
            undo.push((place, self.changed.insert(place.clone(), effect.after.clone())));
        }
        if rest(self) {
            return true;
        }
        for (place, before) in undo {
            match before {
                Some(before) => self.changed.insert(place.clone(), before),
                None => self.changed.remove(place),
            };
        }
        false
    }
}

/// A place for people.
pub(crate) fn show_place((table, key): &Place) -> String {
    format!("{table}/{}", key.escape_ascii())
}

/// A row for people.
pub(crate) fn show(row: Option<&Row>) -> String {
    row.map_or("none".to_owned(), |row| row.escape_ascii().to_string())
}

/// The first differences between two states, one line each.
pub(crate) fn differences(expected: &State, found: &State) -> Vec<String> {
    let mut lines = Vec::new();
    let places: BTreeSet<&Place> = expected.keys().chain(found.keys()).collect();
    for place in places {
        let (expected, found) = (expected.get(place), found.get(place));
        if expected != found {
            lines.push(format!(
                "{}: the model has {}, the database {}",
                show_place(place),
                show(expected),
                show(found)
            ));
        }
        if lines.len() == 8 {
            lines.push("...".to_owned());
            break;
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(n: u8) -> Option<Row> {
        (n > 0).then(|| [n].into())
    }

    fn effects(changes: &[(u8, u8, u8)]) -> Effects {
        changes
            .iter()
            .map(|&(k, before, after)| (("t", vec![k]), Effect { before: row(before), after: row(after) }))
            .collect()
    }

    #[test]
    fn in_doubt_transactions_find_their_place() {
        let base = State::new();
        // U inserts 1 and V deletes it again before K inserts it once more: only U, V, K works.
        let (u, v, k) = (effects(&[(1, 0, 5)]), effects(&[(1, 5, 0)]), effects(&[(1, 0, 9)]));
        let changed = replay(&base, &[(3, &k)], &[(2, &v), (1, &u)]).unwrap();
        // K first, then U and V would get stuck: the search comes back from it.
        assert_eq!(changed[&("t", vec![1])], row(9));
    }

    #[test]
    fn a_lost_update_and_a_torn_transaction_get_stuck() {
        let base: State = [(("t", vec![1]), row(1).unwrap())].into();
        let (a, b) = (effects(&[(1, 1, 2)]), effects(&[(1, 1, 3)]));
        assert!(replay(&base, &[(1, &a), (2, &b)], &[]).unwrap_err().contains("transaction 2"));
        let torn = effects(&[(1, 1, 2), (2, 7, 8)]);
        assert!(replay(&base, &[(1, &torn)], &[]).is_err());
        assert_eq!(replay(&base, &[(1, &a)], &[]).unwrap()[&("t", vec![1])], row(2));
    }
}
