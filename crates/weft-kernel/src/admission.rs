//! Admission: so many transactions at once and so many long queries, in order of arrival, with a time limit.
//!
//! ```text
//!   transaction slots 8        T1 T2 T3 Q4 Q5 · · ·        waiting: none
//!   query slots 2              Q4 Q5                       waiting: Q6, Q7          "2 wait before this one"
//! ```
//!
//! Whoever begins takes a transaction slot. A statement that reads much (the query engine's queries) takes a query
//! slot besides, of which there are fewer: the difference is the share that short transactions have to themselves, so a
//! wall of analytic queries cannot starve them.
//!
//! 1. A slot that becomes free goes to who has waited longest; nobody overtakes.
//! 2. Who waits for a query slot holds its transaction slot: waiting queries are counted, too.
//! 3. Who waits for a lock holds no query slot: a statement gives its slot back when its query was read to the end, and
//!    for as long as it waits before. So whoever holds a query slot goes on, every slot comes free, and no circle goes
//!    through one: the search for deadlocks knows of locks alone. Who holds locks may wait for a query slot.
//! 4. Who waits for a lock keeps its transaction slot. Nobody who holds a lock wants another transaction slot, so these
//!    come free when the locks do.
//!
//! Concurrency: one mutex per pool, held for the queue's operations, never while anybody waits.
//! Crash: nothing of this outlives the process.
//!
//! Source: SG-ColBase section 3.4 (transaction pool); DESIGN section 4.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use weft_env::Clock;
use weft_env::sync::Mutex;
use weft_format::{Code, Error, Result};

use crate::CancelToken;
use crate::sleeper::Sleeper;

/// A fixed number of slots.
pub struct Pool {
    name: &'static str,
    /// The option that sets the number, for the error's remedy.
    option: &'static str,
    slot_count: usize,
    state: Mutex<State>,
    waits: AtomicU64,
    refused: AtomicU64,
}

#[derive(Default)]
struct State {
    taken: usize,
    waiters: VecDeque<Arc<Sleeper>>,
}

/// A slot that was taken; it becomes free when this is dropped.
pub struct Slot(Arc<Pool>);

/// How a pool is doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolStatus {
    /// Slots there are.
    pub slots: u64,
    /// Slots that are taken.
    pub taken: u64,
    /// Who waits for one.
    pub waiting: u64,
    /// How often somebody had to wait.
    pub waits: u64,
    /// How often somebody waited too long.
    pub refused: u64,
}

impl Pool {
    /// A pool of free slots.
    pub fn new(name: &'static str, option: &'static str, slot_count: usize) -> Arc<Pool> {
        assert!(slot_count > 0, "a pool without slots admits nobody");
        Arc::new(Pool {
            name,
            option,
            slot_count,
            state: Mutex::default(),
            waits: AtomicU64::new(0),
            refused: AtomicU64::new(0),
        })
    }

    /// Takes a slot, waiting at most `timeout` (zero: as long as it takes). Fails with
    /// [`Code::TooManyTransactions`] or [`Code::QueryCanceled`].
    pub fn enter(self: &Arc<Self>, timeout: Duration, cancel: Option<&CancelToken>, clock: &dyn Clock) -> Result<Slot> {
        let waiter = {
            let mut state = self.state.lock();
            if state.taken < self.slot_count && state.waiters.is_empty() {
                state.taken += 1;
                return Ok(Slot(self.clone()));
            }
            let waiter = Arc::<Sleeper>::default();
            state.waiters.push_back(waiter.clone());
            waiter
        };
        self.waits.fetch_add(1, Ordering::Relaxed);
        let refusal = match waiter.sleep(timeout, cancel, clock) {
            Ok(true) => return Ok(Slot(self.clone())),
            Ok(false) => None,
            Err(stopped) => Some(stopped),
        };
        let before = {
            let mut state = self.state.lock();
            let place = state.waiters.iter().position(|other| Arc::ptr_eq(other, &waiter));
            // Granted between the decision and the withdrawal: then there is nothing to complain of.
            let Some(place) = place else { return Ok(Slot(self.clone())) };
            state.waiters.remove(place);
            place
        };
        self.refused.fetch_add(1, Ordering::Relaxed);
        Err(refusal.unwrap_or_else(|| self.full(before, timeout)))
    }

    fn full(&self, before: usize, timeout: Duration) -> Error {
        let Pool { name, slot_count, option, .. } = self;
        let message =
            format!("all {slot_count} {name} slots are taken; {before} wait before this one, after {timeout:?}");
        Error::new(Code::TooManyTransactions, message).hint(format!("try again later, or raise {option}"))
    }

    /// How it is doing.
    pub fn status(&self) -> PoolStatus {
        let state = self.state.lock();
        PoolStatus {
            slots: self.slot_count as u64,
            taken: state.taken as u64,
            waiting: state.waiters.len() as u64,
            waits: self.waits.load(Ordering::Relaxed),
            refused: self.refused.load(Ordering::Relaxed),
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut state = self.0.state.lock();
        match state.waiters.pop_front() {
            // The slot goes from hand to hand (admission 1).
            Some(next) => next.release(),
            None => state.taken -= 1,
        }
    }
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "tests run on real threads")]
mod tests {
    use super::*;
    use weft_env::Env;

    #[test]
    fn slots_are_handed_on_in_order() {
        let pool = Pool::new("transaction", "transaction_slots", 2);
        let clock = Env::real().clock;
        let enter = |timeout| pool.enter(timeout, None, &*clock);
        let short = Duration::from_millis(20);
        let first = enter(short).unwrap();
        let second = enter(short).unwrap();
        let error = enter(short).err().unwrap();
        assert_eq!(error.code(), Code::TooManyTransactions);
        assert_eq!(error.message(), "all 2 transaction slots are taken; 0 wait before this one, after 20ms");
        let order = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for number in 0..4 {
                let (pool, clock, order) = (&pool, &clock, &order);
                scope.spawn(move || {
                    let slot = pool.enter(Duration::ZERO, None, &**clock).unwrap();
                    order.lock().push(number);
                    drop(slot);
                });
                while pool.status().waiting <= number {
                    std::thread::sleep(Duration::from_millis(1));
                }
            }
            // Nobody overtakes those who wait, not even when a slot is free.
            drop(first);
        });
        assert_eq!(order.into_inner(), [0, 1, 2, 3]);
        let status = pool.status();
        assert_eq!((status.taken, status.waiting, status.waits, status.refused), (1, 0, 5, 1));
        drop(second);
        assert_eq!(pool.status().taken, 0);
    }

    #[test]
    fn a_wait_can_be_cancelled() {
        let pool = Pool::new("query", "query_slots", 1);
        let clock = Env::real().clock;
        let _taken = pool.enter(Duration::ZERO, None, &*clock).unwrap();
        let cancel = CancelToken::new();
        cancel.cancel();
        let error = pool.enter(Duration::ZERO, Some(&cancel), &*clock).err().unwrap();
        assert_eq!(error.code(), Code::QueryCanceled);
        assert_eq!(pool.status().waiting, 0);
    }
}
