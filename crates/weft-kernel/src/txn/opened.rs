//! What keeps an engine open: whoever works with it holds this, each transaction too.

use std::any::Any;
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};

use weft_env::JoinHandle;
use weft_env::sync::Mutex;

use super::core::Core;

/// A database directory, open. Dropping the last handle ends the threads and flushes the log; [`Engine::close`] also
/// checkpoints, so that the next open has nothing to redo.
pub struct Engine {
    pub(crate) core: Arc<Core>,
    threads: Mutex<Vec<JoinHandle>>,
    company: [OnceLock<Box<dyn Any + Send + Sync>>; 2],
}

impl Engine {
    /// The parts of an engine that was opened, without threads yet.
    pub(crate) fn of(core: Arc<Core>) -> Engine {
        Engine { core, threads: Mutex::default(), company: [OnceLock::new(), OnceLock::new()] }
    }

    /// What layers above know of the processes that follow it, or that it follows, and of its archive: kept for whoever
    /// asks the engine; each type once. It must not keep the engine.
    pub fn keep_company(&self, company: impl Any + Send + Sync) {
        let left = self.company.iter().try_fold(Box::new(company) as Box<dyn Any + Send + Sync>, |company, place| {
            place.set(company).map_or_else(Some, |()| None)
        });
        assert!(left.is_none(), "an engine keeps one company of a kind, and two kinds");
    }

    /// What is kept of that type.
    pub fn company<T: Any>(&self) -> Option<&T> {
        self.company.iter().find_map(|place| place.get()?.downcast_ref())
    }

    /// These end before the engine does.
    pub(crate) fn keep_threads(&self, threads: Vec<JoinHandle>) {
        self.threads.lock().extend(threads);
    }

    /// Ends the threads.
    pub(crate) fn stop_threads(&self) {
        let _urgent = self.core.services.load.urgent();
        self.core.stop.store(true, Ordering::Release);
        self.core.services.wake.notify();
        self.core.monitor_bell.notify();
        self.core.async_commits.wake();
        self.core.cache.wake();
        self.core.services.files.wake_removals();
        self.core.log.wake_spares();
        let threads = std::mem::take(&mut *self.threads.lock());
        for thread in threads {
            if let Err(panic) = thread.join() {
                self.core.poison.set(&format!("a thread of the engine panicked: {panic}"));
            }
        }
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.stop_threads();
        if !self.core.closed.load(Ordering::Acquire) && self.core.poison.cause().is_none() {
            // So that the next opening leaves no number out; nobody is left to be told of an error.
            let _ = self.core.settle_sequences();
        }
        if !self.core.closed.swap(true, Ordering::AcqRel) && self.core.poison.cause().is_none() {
            // Asynchronous commits; nobody is left to be told of an error.
            let _ = self.core.log.flush();
        }
        self.core.log.remove_spares();
        self.core.services.files.let_go();
    }
}
