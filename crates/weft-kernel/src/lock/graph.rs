//! Who waits for which lock, and the walk that finds a circle of them.
//!
//! ```text
//!   9 comes to wait for x           holders and queues of x, and of what those wait for, each once:
//!   x: held by 7, 8 queues ahead    9 → 8, 7 (in one pass)     7 waits for y: held by 9       9 → 7 → 9: a circle
//! ```
//!
//! 1. Each transaction is gone to once in a walk, and a pass over a queue goes to all that are reached in it.
//! 2. The edges of a circle are looked at twice, and each belongs to the same wait both times: in between all of them
//!    were there, so it was a circle at one moment.

use std::collections::{BTreeMap, HashMap};

use weft_env::sync::Mutex;
use weft_format::TxnId;

use super::name::LockName;
use super::queue::Reached;

const SHARD_COUNT: usize = 64;

/// The waiting transactions; each waits for one lock at a time.
pub(super) struct Graph {
    shards: Box<[Mutex<BTreeMap<TxnId, LockName>>]>,
}

/// A member of a circle: it waits for the next one at a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Member {
    pub(super) txn: TxnId,
    pub(super) name: LockName,
}

impl Default for Graph {
    fn default() -> Graph {
        Graph { shards: (0..SHARD_COUNT).map(|_| Mutex::default()).collect() }
    }
}

impl Graph {
    fn shard(&self, txn: TxnId) -> &Mutex<BTreeMap<TxnId, LockName>> {
        &self.shards[txn.0 as usize % SHARD_COUNT]
    }

    pub(super) fn insert(&self, txn: TxnId, name: LockName) {
        let before = self.shard(txn).lock().insert(txn, name);
        assert!(before.is_none(), "transaction {txn} waits in two places");
    }

    pub(super) fn remove(&self, txn: TxnId) {
        let before = self.shard(txn).lock().remove(&txn);
        assert!(before.is_some(), "who stops waiting has waited");
    }

    fn place(&self, txn: TxnId) -> Option<LockName> {
        self.shard(txn).lock().get(&txn).copied()
    }

    /// A circle through `start`, beginning with it. `reach` tells whom a transaction waits for at a lock
    /// ([`super::queue::Lock::reach`]).
    pub(super) fn circle(
        &self,
        start: TxnId,
        mut reach: impl FnMut(LockName, TxnId, &mut dyn FnMut(Reached)),
    ) -> Option<Vec<Member>> {
        // Each that was gone to, with the one that waits for it and where.
        let mut gone_to: HashMap<TxnId, Member> = HashMap::new();
        let mut to_ask = vec![start];
        while let Some(txn) = to_ask.pop() {
            let Some(name) = self.place(txn) else { continue };
            reach(name, txn, &mut |reached| {
                let from = Member { txn: reached.from, name };
                if gone_to.contains_key(&reached.txn) {
                    return;
                }
                gone_to.insert(reached.txn, from);
                if !reached.waits_here && reached.txn != start {
                    to_ask.push(reached.txn);
                }
            });
            if gone_to.contains_key(&start) {
                return Some(path(start, &gone_to));
            }
        }
        None
    }
}

/// The way to `start` and back to it.
fn path(start: TxnId, gone_to: &HashMap<TxnId, Member>) -> Vec<Member> {
    let mut members = vec![gone_to[&start]];
    while let Some(last) = members.last()
        && last.txn != start
    {
        members.push(gone_to[&last.txn]);
        assert!(members.len() <= gone_to.len(), "a way back comes to each once (lock graph 1)");
    }
    members.reverse();
    members
}
