//! The lock table: sharded, with a queue per contended lock.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;
use std::time::Duration;

use weft_env::Clock;
use weft_env::sync::{Condvar, Mutex};
use weft_format::{Code, Error, Result, TxnId};

use super::graph::Graph;
use super::name::LockName;
use crate::CancelToken;

/// Who may hold a lock beside the holder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LockMode {
    /// Other shared holders: row writers of one table (IX).
    Shared,
    /// Nobody: the writer of a key, a bulk build, a drop (X).
    Exclusive,
}

/// How a lock is asked for.
#[derive(Clone, Copy)]
pub struct LockRequest<'a> {
    /// Who asks.
    pub txn: TxnId,
    /// The mode.
    pub mode: LockMode,
    /// How long to wait; zero: as long as it takes.
    pub timeout: Duration,
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
    /// How it is held.
    pub mode: LockMode,
    /// By whom.
    pub holders: Vec<TxnId>,
    /// Who waits, and for which mode; the next one first.
    pub waiters: Vec<(TxnId, LockMode)>,
}

/// All locks of an engine.
pub struct LockTable {
    shards: Box<[Shard]>,
    graph: Mutex<Graph>,
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

struct Lock {
    mode: LockMode,
    holder: TxnId,
    /// Further shared holders.
    sharers: Vec<TxnId>,
    waiters: VecDeque<Arc<Waiter>>,
}

struct Waiter {
    txn: TxnId,
    mode: LockMode,
    granted: Mutex<bool>,
    wakeup: Condvar,
}

impl Lock {
    fn holds(&self, txn: TxnId) -> bool {
        self.holder == txn || self.sharers.contains(&txn)
    }

    fn holders(&self) -> impl Iterator<Item = TxnId> + '_ {
        std::iter::once(self.holder).chain(self.sharers.iter().copied())
    }

    /// Whether a transaction may have the lock beside its present holders.
    fn admits(&self, txn: TxnId, mode: LockMode) -> bool {
        match mode {
            LockMode::Shared => self.mode == LockMode::Shared,
            LockMode::Exclusive => self.holders().all(|holder| holder == txn),
        }
    }

    fn add(&mut self, txn: TxnId, mode: LockMode) {
        if self.holds(txn) {
            self.mode = mode;
        } else {
            assert!(mode == LockMode::Shared && self.mode == LockMode::Shared, "two holders, one exclusive (lock 1)");
            self.sharers.push(txn);
        }
    }

    /// Grants the lock to waiters from the front as long as they fit.
    fn grant(&mut self) {
        while let Some(next) = self.waiters.front() {
            if !self.admits(next.txn, next.mode) {
                break;
            }
            let next = self.waiters.pop_front().expect("the front was looked at");
            self.add(next.txn, next.mode);
            *next.granted.lock() = true;
            next.wakeup.notify_one();
        }
    }

    /// Those that `txn` waits for here; none when it was granted the lock and has not woken up yet.
    fn blockers(&self, txn: TxnId) -> Vec<TxnId> {
        let Some(place) = self.waiters.iter().position(|waiter| waiter.txn == txn) else { return Vec::new() };
        let ahead = self.waiters.iter().take(place).map(|waiter| waiter.txn);
        self.holders().filter(|&holder| holder != txn).chain(ahead).collect()
    }
}

enum Attempt {
    Granted { new: bool },
    Waits { waiter: Arc<Waiter>, upgrade: bool },
}

impl Default for LockTable {
    fn default() -> LockTable {
        LockTable::new()
    }
}

impl LockTable {
    /// A table without locks.
    pub fn new() -> LockTable {
        LockTable { shards: (0..SHARD_COUNT).map(|_| Shard::default()).collect(), graph: Mutex::default() }
    }

    /// Takes a lock and notes it in `held`; a lock held already is taken or upgraded again at no cost. Waits when
    /// others are in the way, and fails with [`Code::DeadlockDetected`], [`Code::LockTimeout`] or
    /// [`Code::QueryCanceled`].
    #[inline]
    pub fn acquire(&self, name: LockName, request: &LockRequest<'_>, held: &mut HeldLocks) -> Result<()> {
        match self.attempt(name, request) {
            Attempt::Granted { new: false } => Ok(()),
            Attempt::Granted { new: true } => {
                held.0.push(name);
                Ok(())
            }
            Attempt::Waits { waiter, upgrade } => {
                self.wait(name, request, &waiter)?;
                if !upgrade {
                    held.0.push(name);
                }
                Ok(())
            }
        }
    }

    /// Releases all locks of a transaction.
    pub fn release(&self, txn: TxnId, held: &mut HeldLocks) {
        for name in held.0.drain(..) {
            let mut shard = self.shard(name).0.lock();
            let Entry::Occupied(mut entry) = shard.entry(name) else { panic!("{name:?} of transaction {txn} is gone") };
            let lock = entry.get_mut();
            if lock.holder != txn {
                let at = lock.sharers.iter().position(|&sharer| sharer == txn);
                lock.sharers.swap_remove(at.expect("a transaction releases what it holds"));
                lock.grant();
            } else if let Some(sharer) = lock.sharers.pop() {
                lock.holder = sharer;
                lock.grant();
            } else if let Some(next) = lock.waiters.front() {
                (lock.holder, lock.mode) = (next.txn, next.mode);
                lock.grant();
            } else {
                entry.remove();
            }
        }
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
                mode: lock.mode,
                holders: lock.holders().collect(),
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
        let LockRequest { txn, mode, .. } = *request;
        let mut shard = self.shard(name).0.lock();
        let lock = match shard.entry(name) {
            Entry::Vacant(entry) => {
                entry.insert(Lock { mode, holder: txn, sharers: Vec::new(), waiters: VecDeque::new() });
                return Attempt::Granted { new: true };
            }
            Entry::Occupied(entry) => entry.into_mut(),
        };
        let upgrade = lock.holds(txn);
        if upgrade && (mode == LockMode::Shared || lock.mode == LockMode::Exclusive) {
            return Attempt::Granted { new: false };
        }
        if lock.admits(txn, mode) && (upgrade || lock.waiters.is_empty()) {
            lock.add(txn, mode);
            return Attempt::Granted { new: !upgrade };
        }
        let waiter = Arc::new(Waiter { txn, mode, granted: Mutex::new(false), wakeup: Condvar::new() });
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
            graph.cycle(request.txn, |name, txn| self.blockers(name, txn))
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
        let start = request.clock.monotonic_nanos();
        let mut granted = waiter.granted.lock();
        loop {
            if *granted {
                return Ok(());
            }
            if let Some(cancel) = request.cancel {
                cancel.check()?;
            }
            let waited = Duration::from_nanos(request.clock.monotonic_nanos() - start);
            if !request.timeout.is_zero() && waited >= request.timeout {
                return Err(timeout(request));
            }
            let left = if request.timeout.is_zero() { Duration::MAX } else { request.timeout - waited };
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
        lock.grant();
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
            shard.get(&name).into_iter().flat_map(Lock::holders).map(|holder| holder.to_string()).collect();
        error.hint(format!("held by transaction {}; let it end, or raise lock_timeout", holders.join(", ")))
    }
}

fn timeout(request: &LockRequest<'_>) -> Error {
    let message =
        format!("transaction {} waited {:?} for {} and gave up", request.txn, request.timeout, (request.what)());
    Error::new(Code::LockTimeout, message)
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
