//! Files that nobody has any more, removed by a thread of their own: unlinking takes milliseconds, and the last reader
//! of a file is a query.
//!
//! ```text
//!   query     lets go of the last reference to t5-7 ─▶ queue ─▶ goes on
//!   remover   t5-7: its blocks leave the cache, its name the directory
//!   no thread (jobs are run by hand, or the engine ends): who lets go removes
//! ```
//!
//! 1. What was queued is removed before the thread ends.
//!
//! Crash: what was queued is an orphan, which the next open removes.

use std::time::Duration;

use weft_env::sync::{Condvar, Mutex};
use weft_format::{FileId, TableId};

/// The queue.
#[derive(Default)]
pub(super) struct Removals {
    queue: Mutex<Queue>,
    rung: Condvar,
}

#[derive(Default)]
struct Queue {
    /// A thread takes from it.
    is_served: bool,
    /// The thread is to look up now.
    is_rung: bool,
    files: Vec<(TableId, FileId)>,
}

impl Removals {
    /// Queues a file; false when nobody would take it.
    pub(super) fn take(&self, table: TableId, file: FileId) -> bool {
        let mut queue = self.queue.lock();
        if queue.is_served {
            queue.files.push((table, file));
            queue.is_rung = true;
            self.rung.notify_all();
        }
        queue.is_served
    }

    /// Removes what is queued until it is told to stop and nothing is left.
    pub(super) fn serve(&self, stop: impl Fn() -> bool, remove: impl Fn(TableId, FileId), look_around: Duration) {
        let was_served = std::mem::replace(&mut self.queue.lock().is_served, true);
        assert!(!was_served, "one thread takes from the queue, and empties it before it ends (removals 1)");
        let mut is_last = false;
        while !is_last {
            let files = {
                let mut queue = self.queue.lock();
                if !queue.is_rung && !stop() {
                    self.rung.wait_timeout(&mut queue, look_around);
                }
                queue.is_rung = false;
                // From here on who lets go removes (removals 1).
                is_last = stop();
                queue.is_served = !is_last;
                std::mem::take(&mut queue.files)
            };
            files.into_iter().for_each(|(table, file)| remove(table, file));
        }
    }

    /// Makes who serves look up.
    pub(super) fn wake(&self) {
        self.queue.lock().is_rung = true;
        self.rung.notify_all();
    }
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "tests run on real threads")]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use weft_env::sync::Mutex;

    use super::*;

    #[test]
    fn what_was_queued_is_removed_before_the_thread_ends() {
        let (removals, stop) = (Removals::default(), AtomicBool::new(false));
        assert!(!removals.take(TableId(1), FileId(1)), "nobody serves");
        let removed = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            let serve = || {
                let remove = |_, file: FileId| removed.lock().push(file.0);
                removals.serve(|| stop.load(Ordering::Acquire), remove, Duration::from_secs(60));
            };
            let thread = scope.spawn(serve);
            while !removals.take(TableId(1), FileId(2)) {
                std::thread::yield_now();
            }
            assert!((3..1000).all(|file| removals.take(TableId(1), FileId(file))));
            stop.store(true, Ordering::Release);
            removals.wake();
            thread.join().unwrap();
        });
        assert_eq!(*removed.lock(), (2..1000).collect::<Vec<_>>());
        assert!(!removals.take(TableId(1), FileId(1000)), "who lets go removes");
    }
}
