//! The lock table: sharded, with a queue per contended lock.

use std::any::Any;
use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use weft_env::Clock;
use weft_env::sync::{Condvar, Mutex};
use weft_format::{Code, Error, Result, TxnId};

use super::graph::Graph;
use super::mode::LockMode;
use super::name::LockName;
use crate::CancelToken;
use crate::fault::{Fault, active};

/// What a transaction that hands its locks on tells those who follow it. Nobody looks into it here.
pub(crate) type Handed = Arc<dyn Any + Send + Sync>;

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
}

/// All locks of an engine.
pub struct LockTable {
    shards: Box<[Shard]>,
    graph: Mutex<Graph>,
    /// How often a lock came to have two writers at once.
    mixed_count: AtomicU64,
}

const SHARD_COUNT: usize = 64;

/// How long a wait lasts before it looks at the cancel token again.
const CANCEL_POLL: Duration = Duration::from_millis(20);

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

struct Holder {
    txn: TxnId,
    mode: LockMode,
    /// Its commit has its place in the log.
    handed: Option<Handed>,
}

impl Holder {
    fn new(txn: TxnId, mode: LockMode) -> Holder {
        Holder { txn, mode, handed: None }
    }

    /// Whether it is in nobody's way who asks like this.
    fn lets_in(&self, txn: TxnId, mode: LockMode, follows: bool) -> bool {
        self.txn == txn || self.mode.compatible(mode) || (follows && self.handed.is_some())
    }
}

struct Lock {
    first: Holder,
    others: Vec<Holder>,
    waiters: VecDeque<Arc<Waiter>>,
}

struct Waiter {
    txn: TxnId,
    mode: LockMode,
    follows: bool,
    granted: Mutex<bool>,
    wakeup: Condvar,
}

impl Lock {
    fn holders(&self) -> impl Iterator<Item = &Holder> + '_ {
        std::iter::once(&self.first).chain(&self.others)
    }

    fn held_by(&self, txn: TxnId) -> Option<LockMode> {
        self.holders().find(|holder| holder.txn == txn).map(|holder| holder.mode)
    }

    /// Whether a transaction may have the lock beside its present holders.
    fn admits(&self, txn: TxnId, mode: LockMode, follows: bool) -> bool {
        self.holders().all(|holder| holder.lets_in(txn, mode, follows))
    }

    /// Whether nobody waits that would be overtaken.
    fn overtakes_none(&self, mode: LockMode) -> bool {
        self.waiters.iter().all(|waiter| waiter.mode.compatible(mode))
    }

    /// Makes a transaction a holder; counts when the lock has two writers from now on.
    fn add(&mut self, txn: TxnId, mode: LockMode, follows: bool, mixed_count: &AtomicU64) {
        assert!(self.admits(txn, mode, follows), "holders are compatible (lock 1)");
        if self.first.txn == txn {
            self.first.mode = self.first.mode.union(mode);
        } else if let Some(holder) = self.others.iter_mut().find(|holder| holder.txn == txn) {
            holder.mode = holder.mode.union(mode);
        } else {
            self.others.push(Holder::new(txn, mode));
        }
        // Who follows begins with what those have written that have handed on.
        let is_beside = |holder: &Holder| holder.txn != txn && !(follows && holder.handed.is_some());
        if !mode.writes.is_empty() && self.holders().any(|holder| is_beside(holder) && !holder.mode.writes.is_empty()) {
            mixed_count.fetch_add(1, Ordering::AcqRel);
        }
    }

    /// Grants the lock to the waiters that fit beside the holders and beside those who came before them.
    fn grant(&mut self, mixed_count: &AtomicU64) {
        if active(Fault::ForgetWaiter) {
            return;
        }
        let mut at = 0;
        while let Some(next) = self.waiters.get(at) {
            let overtakes = !self.waiters.iter().take(at).all(|ahead| ahead.mode.compatible(next.mode));
            if overtakes || !self.admits(next.txn, next.mode, next.follows) {
                if next.mode == LockMode::EXCLUSIVE {
                    break;
                }
                at += 1;
                continue;
            }
            let next = self.waiters.remove(at).expect("it was looked at");
            self.add(next.txn, next.mode, next.follows, mixed_count);
            *next.granted.lock() = true;
            next.wakeup.notify_one();
        }
    }

    /// Those that `txn` waits for here; none when it was granted the lock and has not woken up yet.
    fn blockers(&self, txn: TxnId) -> Vec<TxnId> {
        let Some(place) = self.waiters.iter().position(|waiter| waiter.txn == txn) else { return Vec::new() };
        let Waiter { mode, follows, .. } = *self.waiters[place];
        let holders = self.holders().filter(|holder| !holder.lets_in(txn, mode, follows));
        let ahead = self.waiters.iter().take(place).filter(|waiter| !waiter.mode.compatible(mode));
        holders.map(|holder| holder.txn).chain(ahead.map(|waiter| waiter.txn)).collect()
    }
}

enum Attempt {
    Granted { new: bool },
    Waits { waiter: Arc<Waiter>, upgrade: bool },
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
            graph: Mutex::default(),
            mixed_count: AtomicU64::new(0),
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
            Attempt::Waits { waiter, upgrade } => {
                self.wait(name, request, &waiter)?;
                if !upgrade {
                    held.0.push(name);
                }
                Ok(())
            }
            Attempt::Refused => Err(self.name_holders(name, refused(request))),
        }
    }

    /// Releases all locks of a transaction.
    pub fn release(&self, txn: TxnId, held: &mut HeldLocks) {
        for name in held.0.drain(..) {
            let mut shard = self.shard(name).0.lock();
            let Entry::Occupied(mut entry) = shard.entry(name) else { panic!("{name:?} of transaction {txn} is gone") };
            let lock = entry.get_mut();
            if lock.first.txn != txn {
                let at = lock.others.iter().position(|other| other.txn == txn);
                lock.others.swap_remove(at.expect("a transaction releases what it holds"));
            } else if let Some(other) = lock.others.pop() {
                lock.first = other;
            } else if let Some(next) = lock.waiters.front() {
                lock.first = Holder::new(next.txn, LockMode::default());
            } else {
                entry.remove();
                continue;
            }
            lock.grant(&self.mixed_count);
        }
    }

    /// Lets those who follow have the locks of a transaction that is still to release them (lock 5).
    pub(crate) fn hand_on(&self, txn: TxnId, held: &HeldLocks, handed: &Handed) {
        for &name in &held.0 {
            let mut shard = self.shard(name).0.lock();
            let lock = shard.get_mut(&name).expect("a transaction has what it holds");
            let mut holders = std::iter::once(&mut lock.first).chain(&mut lock.others);
            let own = holders.find(|holder| holder.txn == txn).expect("a transaction has what it holds");
            own.handed = Some(handed.clone());
            if !lock.waiters.is_empty() {
                lock.grant(&self.mixed_count);
            }
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
        for shard in &self.shards {
            states.extend(shard.0.lock().iter().map(|(name, lock)| LockState {
                name: *name,
                holders: lock.holders().map(|holder| (holder.txn, holder.mode)).collect(),
                waiters: lock.waiters.iter().map(|waiter| (waiter.txn, waiter.mode)).collect(),
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
                let first = Holder::new(txn, mode);
                entry.insert(Lock { first, others: Vec::new(), waiters: VecDeque::new() });
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
        let waiter = Arc::new(Waiter { txn, mode, follows, granted: Mutex::new(false), wakeup: Condvar::new() });
        if upgrade {
            lock.waiters.push_front(waiter.clone());
        } else {
            lock.waiters.push_back(waiter.clone());
        }
        Attempt::Waits { waiter, upgrade }
    }

    /// Waits in the queue until the lock is granted.
    #[cold]
    fn wait(&self, name: LockName, request: &LockRequest<'_>, waiter: &Arc<Waiter>) -> Result<()> {
        let cycle = {
            let mut graph = self.graph.lock();
            graph.insert(request.txn, name);
            if active(Fault::OverlookDeadlock) {
                None
            } else {
                graph.cycle(request.txn, |name, txn| self.blockers(name, txn))
            }
        };
        let outcome = match cycle {
            Some(cycle) => Err(deadlock(&cycle, request)),
            None => self.sleep(request, waiter),
        };
        self.graph.lock().remove(request.txn);
        match outcome {
            Ok(()) => Ok(()),
            // Granted between the decision and the withdrawal: then there is nothing to complain of.
            Err(_) if !self.withdraw(name, waiter) => Ok(()),
            Err(error) => Err(self.name_holders(name, error)),
        }
    }

    fn sleep(&self, request: &LockRequest<'_>, waiter: &Waiter) -> Result<()> {
        let Wait::AtMost(limit) = request.wait else { unreachable!("who never waits does not come here") };
        let start = request.clock.monotonic_nanos();
        let mut granted = waiter.granted.lock();
        loop {
            if *granted {
                return Ok(());
            }
            if let Some(cancel) = request.cancel {
                cancel.check(|| request.clock.monotonic_nanos())?;
            }
            let waited = Duration::from_nanos(request.clock.monotonic_nanos() - start);
            if !limit.is_zero() && waited >= limit {
                return Err(timeout(request, limit));
            }
            let left = if limit.is_zero() { Duration::MAX } else { limit - waited };
            let slice = if request.cancel.is_some() { left.min(CANCEL_POLL) } else { left };
            if slice == Duration::MAX {
                waiter.wakeup.wait(&mut granted);
            } else {
                waiter.wakeup.wait_timeout(&mut granted, slice);
            }
        }
    }

    /// Leaves the queue; false when the lock was granted already.
    fn withdraw(&self, name: LockName, waiter: &Arc<Waiter>) -> bool {
        let mut shard = self.shard(name).0.lock();
        if *waiter.granted.lock() {
            return false;
        }
        let lock = shard.get_mut(&name).expect("a lock with waiters has a holder");
        lock.waiters.retain(|other| !Arc::ptr_eq(other, waiter));
        lock.grant(&self.mixed_count);
        true
    }

    fn blockers(&self, name: LockName, txn: TxnId) -> Vec<TxnId> {
        self.shard(name).0.lock().get(&name).map_or_else(Vec::new, |lock| lock.blockers(txn))
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

fn deadlock(cycle: &[TxnId], request: &LockRequest<'_>) -> Error {
    let mut chain = format!("transaction {}", cycle[0]);
    for txn in &cycle[1..] {
        chain.push_str(&format!(" waits for transaction {txn}, which"));
    }
    let message = format!("deadlock at {}: {chain} waits for transaction {}", (request.what)(), cycle[0]);
    Error::new(Code::DeadlockDetected, message).hint("roll back and run the transaction again")
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "tests run on real threads")]
mod tests;
