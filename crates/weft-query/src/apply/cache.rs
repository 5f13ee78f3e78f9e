//! What subqueries answered in one execution, by their outer values.
//!
//! ```text
//!   subplan 1    (7) → 30    (9) → NULL        64 MB at most of each, and what the memory of queries allows
//! ```
//!
//! 1. A key is the row of outer values as bytes: what is equal to SQL may be two keys, what is not never one.
//! 2. An answer that finds no room is not kept; a subplan's answers are dropped when they take too much.
//! 3. A subplan is known by the address of its question, which lives as long as the plan that runs.

use std::collections::HashMap;
use std::sync::Arc;

use datafusion::common::{Result, ScalarValue};
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryPool, MemoryReservation};
use weft_env::sync::Mutex;

const BYTES_MAX: usize = 64 << 20;
/// About what an entry takes beside its bytes.
const ENTRY_BYTES: usize = 64;

/// The answers of all subqueries of an execution.
pub(crate) struct Caches {
    by_plan: Mutex<HashMap<usize, Arc<Cache>>>,
    pool: Arc<dyn MemoryPool>,
}

impl Caches {
    pub(crate) fn new(pool: &Arc<dyn MemoryPool>) -> Caches {
        Caches { by_plan: Mutex::default(), pool: Arc::clone(pool) }
    }

    /// The answers of the subquery at this address.
    pub(crate) fn of(&self, plan: usize) -> Arc<Cache> {
        let mut caches = self.by_plan.lock();
        let cache = caches.entry(plan).or_insert_with(|| {
            let reservation = MemoryConsumer::new("Subquery cache").register(&self.pool);
            let state = Mutex::new(State { answers: HashMap::new(), reservation });
            Arc::new(Cache { state, once: Mutex::default() })
        });
        Arc::clone(cache)
    }
}

/// The answers of one subquery.
pub(crate) struct Cache {
    state: Mutex<State>,
    /// The answer of one without outer values.
    once: Mutex<Option<ScalarValue>>,
}

struct State {
    answers: HashMap<Box<[u8]>, ScalarValue>,
    reservation: MemoryReservation,
}

impl Cache {
    /// The answer of a subquery without outer values, which is asked for once.
    pub(crate) fn once(&self, ask: impl FnOnce() -> Result<ScalarValue>) -> Result<ScalarValue> {
        let mut once = self.once.lock();
        if let Some(answer) = &*once {
            return Ok(answer.clone());
        }
        let answer = ask()?;
        *once = Some(answer.clone());
        Ok(answer)
    }

    /// What was answered for these outer values.
    pub(crate) fn get(&self, key: &[u8]) -> Option<ScalarValue> {
        self.state.lock().answers.get(key).cloned()
    }

    /// Keeps an answer, if there is room.
    pub(crate) fn put(&self, key: &[u8], answer: &ScalarValue) {
        let bytes = key.len() + answer.size() + ENTRY_BYTES;
        let mut state = self.state.lock();
        if state.reservation.size() + bytes > BYTES_MAX {
            state.answers.clear();
            state.reservation.free();
        }
        if bytes <= BYTES_MAX && state.reservation.try_grow(bytes).is_ok() {
            state.answers.insert(key.into(), answer.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use datafusion::execution::memory_pool::GreedyMemoryPool;

    use super::*;

    #[test]
    fn answers_are_kept_as_far_as_there_is_memory() {
        let pool: Arc<dyn MemoryPool> = Arc::new(GreedyMemoryPool::new(400));
        let caches = Caches::new(&pool);
        let answer = ScalarValue::Int32(Some(1));
        for key in 0..10_u8 {
            caches.of(1).put(&[key], &answer);
        }
        let kept = (0..10_u8).filter(|key| caches.of(1).get(&[*key]).is_some()).count();
        assert!((1..10).contains(&kept), "kept {kept}");
        assert!(caches.of(2).get(&[0]).is_none());
        drop(caches);
        assert_eq!(pool.reserved(), 0);
    }
}
