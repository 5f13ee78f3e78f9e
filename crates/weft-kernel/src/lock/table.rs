//! The lock table: sharded, with a queue per contended lock.
//!
//! ```text
//!   9 waits: into queue and graph ─ does anybody wait for 9? ─ no: no circle can go through it; sleep
//!                                      └ yes: walk ─ a circle? ─ under the verdict's mutex: still? ─ leave
//! ```
//!
//! 1. A transaction that does not wait has no edge, and a waiter gets a new edge only to who holds the lock it wants or
//!    waits ahead of it: to who came before, or to an upgrade, which comes after. So the last of a circle to come finds
//!    somebody waiting for it, and the rest of the circle in place.
//! 2. Of several that find one circle, the first to take the verdict's mutex leaves its queue under it; the others then
//!    see that it is none any more.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use weft_env::Clock;
use weft_env::sync::Mutex;
use weft_expr::AdvisoryKey;
use weft_format::{Code, Error, Result, TxnId};

use super::graph::{Graph, Member};
use super::mode::LockMode;
use super::name::LockName;
use super::queue::{Handed, Lock, Waiter};
use crate::CancelToken;
use crate::fault::{Fault, active};
use crate::sleeper::Sleeper;

/// What happens when the lock is not free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// Wait this long; zero: as long as it takes.
    AtMost(Duration),
    /// Fail at once (NOWAIT, SKIP LOCKED).
    Never,
}

/// How a lock is asked for.
#[derive(Clone, Copy)]
pub struct LockRequest<'a> {
    /// Who asks.
    pub txn: TxnId,
    /// The mode.
    pub mode: LockMode,
    /// Holders that have handed their locks on are not in the way (lock 5).
    pub follows: bool,
    /// Whether to wait, and how long.
    pub wait: Wait,
    /// Ends the wait early.
    pub cancel: Option<&'a CancelToken>,
    /// It holds a slot that others wait for, so it must not wait here (admission 3).
    pub holds_slot: bool,
    /// Measures the wait.
    pub clock: &'a dyn Clock,
    /// Names the locked object in errors.
    pub what: &'a dyn Fn() -> String,
}

/// The locks of one transaction, each once.
#[derive(Debug, Default)]
pub struct HeldLocks(Vec<LockName>);

impl HeldLocks {
    /// How many locks are held.
    pub fn count(&self) -> usize {
        self.0.len()
    }
}

/// A lock as it is at a moment.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LockState {
    /// What it protects.
    pub name: LockName,
    /// By whom, and how.
    pub holders: Vec<(TxnId, LockMode)>,
    /// Who waits, and for which mode; the next one first.
    pub waiters: Vec<(TxnId, LockMode)>,
    /// What it is of, when it is an advisory lock.
    pub advisory: Option<AdvisoryKey>,
}

/// All locks of an engine.
pub struct LockTable {
    shards: Box<[Shard]>,
    graph: Graph,
    /// Held by who ends a circle.
    verdict: Mutex<()>,
    /// Waits so far: the number of the next one.
    wait_count: AtomicU64,
    /// How often a lock came to have two writers at once.
    mixed_count: AtomicU64,
    /// The advisory locks that anybody holds or waits for, and how many do.
    advisory: Mutex<HashMap<LockName, (AdvisoryKey, usize)>>,
    /// How many are in there. While there are none, who waits for a transaction waits for a lock in its list.
    advisory_count: AtomicUsize,
}

const SHARD_COUNT: usize = 64;

/// Who holds more locks than this walks at once, and does not look first whether anybody waits for one of them.
const LOOKED_AT_MAX: usize = 64;

#[derive(Default)]
#[repr(align(64))]
struct Shard(Mutex<HashMap<LockName, Lock, BuildHasherDefault<NameHasher>>>);

/// Lock names are hashes already.
#[derive(Default)]
struct NameHasher(u64);

impl Hasher for NameHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _: &[u8]) {
        unreachable!("a lock name is one u64");
    }

    fn write_u64(&mut self, name: u64) {
        self.0 = name;
    }
}

enum Attempt {
    Granted { new: bool },
    Waits { wait: u64, sleeper: Arc<Sleeper>, upgrade: bool },
    Refused,
}

impl Default for LockTable {
    fn default() -> LockTable {
        LockTable::new()
    }
}

impl LockTable {
    /// A table without locks.
    pub fn new() -> LockTable {
        LockTable {
            shards: (0..SHARD_COUNT).map(|_| Shard::default()).collect(),
            graph: Graph::default(),
            verdict: Mutex::default(),
            wait_count: AtomicU64::new(0),
            mixed_count: AtomicU64::new(0),
            advisory: Mutex::default(),
            advisory_count: AtomicUsize::new(0),
        }
    }

    /// Takes a lock and notes it in `held`; a lock held already is taken or widened again at no cost. Waits when others
    /// are in the way, and fails with [`Code::DeadlockDetected`], [`Code::LockTimeout`] or [`Code::QueryCanceled`].
    #[inline]
    pub fn acquire(&self, name: LockName, request: &LockRequest<'_>, held: &mut HeldLocks) -> Result<()> {
        match self.attempt(name, request) {
            Attempt::Granted { new } => {
                if new {
                    held.0.push(name);
                }
                Ok(())
            }
            Attempt::Waits { wait, sleeper, upgrade } => {
                let lists_all = self.advisory_count.load(Ordering::Acquire) == 0;
                let is_in_no_way = !upgrade && lists_all && held.0.len() <= LOOKED_AT_MAX;
                self.wait(name, request, wait, &sleeper, if is_in_no_way { Some(held) } else { None })?;
                if !upgrade {
                    held.0.push(name);
                }
                Ok(())
            }
            Attempt::Refused => Err(self.name_holders(name, refused(request))),
        }
    }

    /// Takes an advisory lock as [`LockTable::acquire`] takes others; it is in nobody's list, and
    /// [`LockTable::release_advisory`] releases it.
    pub(crate) fn acquire_advisory(&self, key: AdvisoryKey, request: &LockRequest<'_>) -> Result<()> {
        let name = LockName::advisory(key);
        // First: whoever it comes to stand in the way of must look for circles.
        self.note_advisory(key);
        let taken = match self.attempt(name, request) {
            Attempt::Granted { new } => Ok(new),
            Attempt::Waits { wait, sleeper, upgrade } => {
                self.wait(name, request, wait, &sleeper, None).map(|()| !upgrade)
            }
            Attempt::Refused => Err(self.name_holders(name, refused(request))),
        };
        if !matches!(taken, Ok(true)) {
            self.forget_advisory(name);
        }
        taken.map(|_| ())
    }

    fn note_advisory(&self, key: AdvisoryKey) {
        let mut known = self.advisory.lock();
        known.entry(LockName::advisory(key)).or_insert((key, 0)).1 += 1;
        self.advisory_count.store(known.len(), Ordering::Release);
    }

    fn forget_advisory(&self, name: LockName) {
        let mut known = self.advisory.lock();
        let Entry::Occupied(mut entry) = known.entry(name) else { panic!("the advisory lock {name} is not known") };
        entry.get_mut().1 -= 1;
        if entry.get().1 == 0 {
            entry.remove();
        }
        self.advisory_count.store(known.len(), Ordering::Release);
    }

    /// Releases an advisory lock.
    pub(crate) fn release_advisory(&self, key: AdvisoryKey, txn: TxnId) {
        let name = LockName::advisory(key);
        self.release_one(name, txn);
        self.forget_advisory(name);
    }

    /// Holds a lock in a weaker mode from now on.
    pub(crate) fn narrow(&self, name: LockName, txn: TxnId, mode: LockMode) {
        let mut shard = self.shard(name).0.lock();
        shard.get_mut(&name).expect("a transaction has what it holds").narrow(txn, mode, &self.mixed_count);
    }

    /// A transaction takes over what another one held that is over.
    pub(crate) fn rename_holder(&self, name: LockName, from: TxnId, to: TxnId) {
        let mut shard = self.shard(name).0.lock();
        shard.get_mut(&name).expect("a transaction has what it holds").rename_holder(from, to);
    }

    /// Releases all locks of a transaction.
    pub fn release(&self, txn: TxnId, held: &mut HeldLocks) {
        held.0.drain(..).for_each(|name| self.release_one(name, txn));
    }

    fn release_one(&self, name: LockName, txn: TxnId) {
        let mut shard = self.shard(name).0.lock();
        let Entry::Occupied(mut entry) = shard.entry(name) else { panic!("{name:?} of transaction {txn} is gone") };
        if !entry.get_mut().release(txn, &self.mixed_count) {
            entry.remove();
        }
    }

    /// Lets those who follow have the locks of a transaction that is still to release them (lock 5).
    pub(crate) fn hand_on(&self, txn: TxnId, held: &HeldLocks, handed: &Handed) {
        for &name in &held.0 {
            let mut shard = self.shard(name).0.lock();
            let lock = shard.get_mut(&name).expect("a transaction has what it holds");
            lock.hand_on(txn, handed.clone(), &self.mixed_count);
        }
    }

    /// The transactions that hold a lock beside `txn` and have handed it on, in no order.
    pub(crate) fn handed_on(&self, name: LockName, txn: TxnId) -> Vec<Handed> {
        let shard = self.shard(name).0.lock();
        let holders = shard.get(&name).into_iter().flat_map(Lock::holders);
        holders.filter(|holder| holder.txn != txn).filter_map(|holder| holder.handed.clone()).collect()
    }

    /// How often, up to now, a lock came to have two writers at once (of different columns). While it stands still, a
    /// writer was alone with each row it wrote.
    pub fn mixed_count(&self) -> u64 {
        self.mixed_count.load(Ordering::Acquire)
    }

    /// How many locks are held by anybody.
    pub fn lock_count(&self) -> usize {
        self.shards.iter().map(|shard| shard.0.lock().len()).sum()
    }

    /// The locks that anybody holds, by name; shard after shard, so not of one moment while others come and go.
    pub fn states(&self) -> Vec<LockState> {
        let mut states = Vec::new();
        let advisory = self.advisory.lock().clone();
        for shard in &self.shards {
            states.extend(shard.0.lock().iter().map(|(name, lock)| LockState {
                name: *name,
                holders: lock.holders().map(|holder| (holder.txn, holder.mode)).collect(),
                waiters: lock.waiters().map(|waiter| (waiter.txn, waiter.mode)).collect(),
                advisory: advisory.get(name).map(|(key, _)| *key),
            }));
        }
        states.sort_unstable();
        states
    }

    fn shard(&self, name: LockName) -> &Shard {
        &self.shards[(name.0 >> 32) as usize % SHARD_COUNT]
    }

    #[inline]
    fn attempt(&self, name: LockName, request: &LockRequest<'_>) -> Attempt {
        let LockRequest { txn, mode, follows, .. } = *request;
        let mut shard = self.shard(name).0.lock();
        let lock = match shard.entry(name) {
            Entry::Vacant(entry) => {
                entry.insert(Lock::new(txn, mode));
                return Attempt::Granted { new: true };
            }
            Entry::Occupied(entry) => entry.into_mut(),
        };
        let held = lock.held_by(txn);
        if held.is_some_and(|held| held.covers(mode)) {
            return Attempt::Granted { new: false };
        }
        let upgrade = held.is_some();
        if lock.admits(txn, mode, follows) && (upgrade || lock.overtakes_none(mode)) {
            lock.add(txn, mode, follows, &self.mixed_count);
            return Attempt::Granted { new: !upgrade };
        }
        if request.wait == Wait::Never {
            return Attempt::Refused;
        }
        let sleeper = Arc::<Sleeper>::default();
        let wait = self.wait_count.fetch_add(1, Ordering::Relaxed);
        lock.enqueue(Waiter { txn, mode, follows, wait, sleeper: sleeper.clone() }, upgrade);
        Attempt::Waits { wait, sleeper, upgrade }
    }

    /// Waits in the queue until the lock is granted. `held` are the locks by which others may wait for the transaction,
    /// when these are few and this one is not among them.
    #[cold]
    fn wait(
        &self,
        name: LockName,
        request: &LockRequest<'_>,
        wait: u64,
        sleeper: &Arc<Sleeper>,
        held: Option<&HeldLocks>,
    ) -> Result<()> {
        assert!(!request.holds_slot, "who waits for a lock holds no query slot (admission 3)");
        self.graph.insert(request.txn, name);
        let is_in_the_way = held.is_none_or(|held| held.0.iter().any(|&name| self.is_waited_for(name)));
        let circle =
            if is_in_the_way && !active(Fault::OVERLOOK_DEADLOCK) { self.end_circle(request.txn) } else { None };
        let outcome = match circle {
            Some(circle) => Err(deadlock(&circle, request)),
            None => self.sleep(request, sleeper),
        };
        self.graph.remove(request.txn);
        match outcome {
            Ok(()) => Ok(()),
            // Granted between the decision and the withdrawal: then there is nothing to complain of.
            Err(error) if error.code() != Code::DeadlockDetected && !self.leave(name, wait) => Ok(()),
            Err(error) => Err(self.name_holders(name, error)),
        }
    }

    /// Whether somebody waits for a lock.
    fn is_waited_for(&self, name: LockName) -> bool {
        self.shard(name).0.lock().get(&name).is_some_and(Lock::is_waited_for)
    }

    /// Takes a transaction out of its queue when a circle goes through it; the circle.
    fn end_circle(&self, txn: TxnId) -> Option<Vec<Member>> {
        self.circle(txn)?;
        let _verdict = self.verdict.lock();
        loop {
            let circle = self.circle(txn)?;
            debug_assert_eq!(circle[0].txn, txn, "a circle begins with who looks for it, who leaves it");
            let waits: Option<Vec<u64>> = circle.iter().map(|member| self.wait_of(*member)).collect();
            // Whoever is not in its place any more has broken the circle, and perhaps closed another.
            let Some(waits) = waits.filter(|waits| self.has_edges(&circle, waits)) else { continue };
            if self.has_edges(&circle, &waits) && self.leave(circle[0].name, waits[0]) {
                return Some(circle);
            }
        }
    }

    fn circle(&self, txn: TxnId) -> Option<Vec<Member>> {
        self.graph.circle(txn, |name, txn, tell| {
            if let Some(lock) = self.shard(name).0.lock().get(&name) {
                lock.reach(txn, tell);
            }
        })
    }

    fn wait_of(&self, Member { txn, name }: Member) -> Option<u64> {
        self.shard(name).0.lock().get(&name).and_then(|lock| lock.wait_of(txn))
    }

    /// Whether each member of a circle, in the wait of that number, waits for the next.
    fn has_edges(&self, circle: &[Member], waits: &[u64]) -> bool {
        let next = circle.iter().cycle().skip(1);
        circle.iter().zip(waits).zip(next).all(|((member, &wait), next)| {
            let shard = self.shard(member.name).0.lock();
            shard.get(&member.name).is_some_and(|lock| lock.waits_for(wait, next.txn))
        })
    }

    fn sleep(&self, request: &LockRequest<'_>, sleeper: &Arc<Sleeper>) -> Result<()> {
        let Wait::AtMost(limit) = request.wait else { unreachable!("who never waits does not come here") };
        match sleeper.sleep(limit, request.cancel, request.clock)? {
            true => Ok(()),
            false => Err(timeout(request, limit)),
        }
    }

    /// Leaves the queue; false when the lock was granted already.
    fn leave(&self, name: LockName, wait: u64) -> bool {
        let mut shard = self.shard(name).0.lock();
        shard.get_mut(&name).is_some_and(|lock| lock.leave(wait, &self.mixed_count))
    }

    fn name_holders(&self, name: LockName, error: Error) -> Error {
        if error.code() != Code::LockTimeout {
            return error;
        }
        let shard = self.shard(name).0.lock();
        let holders: Vec<String> =
            shard.get(&name).into_iter().flat_map(Lock::holders).map(|holder| holder.txn.to_string()).collect();
        if holders.is_empty() {
            return error.hint("it has become free meanwhile; try again");
        }
        error.hint(format!("held by transaction {}; let it end, or raise lock_timeout", holders.join(", ")))
    }
}

fn timeout(request: &LockRequest<'_>, limit: Duration) -> Error {
    let message = format!("transaction {} waited {limit:?} for {} and gave up", request.txn, (request.what)());
    Error::new(Code::LockTimeout, message)
}

fn refused(request: &LockRequest<'_>) -> Error {
    Error::new(Code::LockTimeout, format!("could not obtain lock on {}", (request.what)()))
}

fn deadlock(circle: &[Member], request: &LockRequest<'_>) -> Error {
    let mut chain = format!("transaction {}", circle[0].txn);
    for Member { txn, .. } in &circle[1..] {
        chain.push_str(&format!(" waits for transaction {txn}, which"));
    }
    let message = format!("deadlock at {}: {chain} waits for transaction {}", (request.what)(), circle[0].txn);
    Error::new(Code::DeadlockDetected, message).hint("roll back and run the transaction again")
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "tests run on real threads")]
mod tests;
