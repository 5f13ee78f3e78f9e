//! Advisory locks: locks of numbers, which mean what applications agree on.
//!
//! ```text
//!   BEGIN (txn 7)   pg_advisory_lock(1), pg_advisory_xact_lock(2)     the table of locks: 1 → 7, 2 → 7
//!   COMMIT                                                            1 → 7, which is over
//!   BEGIN (txn 9)   UPDATE ...                                        1 → 9: whoever waits for 1 waits for 9
//! ```
//!
//! 1. The locks of a session are held in the table of locks by its transaction, so circles through rows, tables and
//!    numbers are found alike. Between two transactions the last one holds them, which waits for nobody.
//! 2. A lock is held as long as somebody counts on it, in the strongest mode of those: how often the session took it,
//!    and how often its transaction did.
//!
//! Concurrency: a session runs one statement at a time; its state's mutex is not held while it waits. Crash: nothing of
//! this outlives the process.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use weft_env::sync::Mutex;
use weft_expr::{AdvisoryKey, AdvisoryLocks, AdvisoryRequest};
use weft_format::{Code, Error, Result, TxnId};

use super::opened::Engine;
use crate::CancelToken;
use crate::lock::{LockMode, LockName, LockRequest, Wait};

/// The advisory locks of one session.
pub struct SessionLocks {
    engine: Arc<Engine>,
    cancel: CancelToken,
    state: Mutex<State>,
    /// How often the session took a lock for itself or gave one back: what is not done again.
    lasting_count: AtomicU64,
    /// The statement is run by who must not wait.
    never_waits: AtomicBool,
}

#[derive(Default)]
struct State {
    /// Who holds the locks in the table of locks (session locks 1).
    holder: Option<TxnId>,
    lock_timeout: Duration,
    held: BTreeMap<AdvisoryKey, Counts>,
    /// Those of the transaction, and whether they are shared, in the order in which they were taken.
    of_transaction: Vec<(AdvisoryKey, bool)>,
    warnings: Vec<String>,
}

/// How often a lock is held: alone, and shared.
#[derive(Clone, Copy, Default)]
struct Counts {
    of_session: [u32; 2],
    of_transaction: [u32; 2],
}

impl Counts {
    /// The mode in which all count on it; none when nobody does.
    fn mode(self) -> Option<LockMode> {
        match [0, 1].map(|shared| self.of_session[shared] + self.of_transaction[shared] > 0) {
            [true, _] => Some(LockMode::EXCLUSIVE),
            [false, true] => Some(LockMode::SHARED),
            _ => None,
        }
    }
}

fn mode_of(shared: bool) -> LockMode {
    if shared { LockMode::SHARED } else { LockMode::EXCLUSIVE }
}

impl SessionLocks {
    /// Of a session that has none; requests to cancel end its waits.
    pub fn new(engine: &Arc<Engine>, cancel: CancelToken) -> Arc<SessionLocks> {
        Arc::new(SessionLocks {
            engine: Arc::clone(engine),
            cancel,
            state: Mutex::default(),
            lasting_count: AtomicU64::new(0),
            never_waits: AtomicBool::new(false),
        })
    }

    /// A statement begins in a transaction.
    pub fn enter(&self, txn: TxnId, lock_timeout: Duration) {
        let mut state = self.state.lock();
        state.lock_timeout = lock_timeout;
        let Some(before) = state.holder.replace(txn).filter(|before| *before != txn) else { return };
        for key in state.held.keys() {
            self.engine.core.locks.rename_holder(LockName::advisory(*key), before, txn);
        }
    }

    /// How often the session took a lock for itself or gave one back so far.
    pub fn lasting_count(&self) -> u64 {
        self.lasting_count.load(Ordering::Relaxed)
    }

    /// Whether who runs the statement must not wait: it holds what others need to go on.
    pub fn never_wait(&self, never: bool) {
        self.never_waits.store(never, Ordering::Relaxed);
    }

    /// How many locks the transaction has taken: a place to go back to.
    pub fn mark(&self) -> usize {
        self.state.lock().of_transaction.len()
    }

    /// Gives back what the transaction took since a mark; 0: all, for it has ended.
    pub fn release_since(&self, mark: usize) {
        let mut state = self.state.lock();
        while state.of_transaction.len() > mark {
            let Some((key, shared)) = state.of_transaction.pop() else { return };
            let counts = state.held.get_mut(&key).expect("what the transaction took is held (session locks 2)");
            counts.of_transaction[usize::from(shared)] -= 1;
            self.settle(&mut state, key);
        }
    }

    /// Gives everything back: the session ends.
    pub fn release_all(&self) {
        self.release_since(0);
        self.unlock_all();
    }

    /// What the statement is to be warned of.
    pub fn take_warnings(&self) -> Vec<String> {
        std::mem::take(&mut self.state.lock().warnings)
    }

    /// Holds a lock no stronger than somebody counts on it.
    fn settle(&self, state: &mut State, key: AdvisoryKey) {
        let (locks, name) = (&self.engine.core.locks, LockName::advisory(key));
        let holder = state.holder.expect("who holds a lock has had a transaction");
        match state.held.get(&key).and_then(|counts| counts.mode()) {
            Some(mode) => locks.narrow(name, holder, mode),
            None => {
                state.held.remove(&key);
                locks.release_advisory(key, holder);
            }
        }
    }
}

impl AdvisoryLocks for SessionLocks {
    fn lock(&self, key: AdvisoryKey, request: AdvisoryRequest) -> Result<bool> {
        let (holder, lock_timeout) = {
            let state = self.state.lock();
            (
                state.holder.ok_or_else(|| Error::internal("a lock is asked for outside of a transaction"))?,
                state.lock_timeout,
            )
        };
        let may_wait = request.waits && !self.never_waits.load(Ordering::Relaxed);
        let what = || format!("the advisory lock [{},{},{}]", key.class, key.object, key.kind);
        let asked = LockRequest {
            txn: holder,
            mode: mode_of(request.shared),
            follows: false,
            wait: if may_wait { Wait::AtMost(lock_timeout) } else { Wait::Never },
            cancel: Some(&self.cancel),
            holds_slot: false,
            clock: &*self.engine.core.env.clock,
            what: &what,
        };
        match self.engine.core.locks.acquire_advisory(key, &asked) {
            Err(error) if error.code() == Code::LockTimeout && !request.waits => return Ok(false),
            Err(error) if error.code() == Code::LockTimeout && !may_wait => {
                let message = format!("a query that reads tables cannot wait for {}", what());
                let error = Error::new(Code::FeatureNotSupported, message);
                return Err(error.hint("call pg_advisory_lock in a SELECT without FROM, or pg_try_advisory_lock"));
            }
            taken => taken?,
        }
        let mut state = self.state.lock();
        let counts = state.held.entry(key).or_default();
        if request.of_session {
            counts.of_session[usize::from(request.shared)] += 1;
            self.lasting_count.fetch_add(1, Ordering::Relaxed);
        } else {
            counts.of_transaction[usize::from(request.shared)] += 1;
            state.of_transaction.push((key, request.shared));
        }
        Ok(true)
    }

    fn unlock(&self, key: AdvisoryKey, shared: bool) -> bool {
        let mut state = self.state.lock();
        let count = state.held.get_mut(&key).map(|counts| &mut counts.of_session[usize::from(shared)]);
        let Some(count) = count.filter(|count| **count > 0) else {
            let mode = if shared { "ShareLock" } else { "ExclusiveLock" };
            state.warnings.push(format!("you don't own a lock of type {mode}"));
            return false;
        };
        *count -= 1;
        self.lasting_count.fetch_add(1, Ordering::Relaxed);
        self.settle(&mut state, key);
        true
    }

    fn unlock_all(&self) {
        let mut state = self.state.lock();
        let keys: Vec<AdvisoryKey> = state.held.keys().copied().collect();
        for key in keys {
            if let Some(counts) = state.held.get_mut(&key) {
                counts.of_session = [0; 2];
            }
            self.settle(&mut state, key);
        }
        self.lasting_count.fetch_add(1, Ordering::Relaxed);
    }
}
