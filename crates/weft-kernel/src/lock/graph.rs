//! Who waits for which lock, and whether that closes a circle.

use std::collections::{BTreeMap, BTreeSet};

use weft_format::TxnId;

use super::name::LockName;

/// The waiting transactions; each waits for one lock at a time.
#[derive(Default)]
pub(super) struct Graph {
    waiting: BTreeMap<TxnId, LockName>,
}

impl Graph {
    pub(super) fn insert(&mut self, txn: TxnId, name: LockName) {
        let before = self.waiting.insert(txn, name);
        assert!(before.is_none(), "transaction {txn} waits in two places");
    }

    pub(super) fn remove(&mut self, txn: TxnId) {
        self.waiting.remove(&txn);
    }

    /// The transactions of a cycle through `start`, beginning with it. `blockers` names those that a transaction waits
    /// for at a lock.
    pub(super) fn cycle(&self, start: TxnId, blockers: impl Fn(LockName, TxnId) -> Vec<TxnId>) -> Option<Vec<TxnId>> {
        let mut visited = BTreeSet::new();
        // Each entry: a transaction on the present path and the blockers of it that were not tried yet.
        let mut path: Vec<(TxnId, Vec<TxnId>)> = vec![(start, blockers(*self.waiting.get(&start)?, start))];
        while let Some((_, untried)) = path.last_mut() {
            let Some(next) = untried.pop() else {
                path.pop();
                continue;
            };
            if next == start {
                return Some(path.into_iter().map(|(txn, _)| txn).collect());
            }
            if visited.insert(next)
                && let Some(&name) = self.waiting.get(&next)
            {
                path.push((next, blockers(name, next)));
            }
        }
        None
    }
}
