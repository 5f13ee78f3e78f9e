//! Threads, as the layers above see them.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::Duration;

/// Starts named threads.
pub trait Spawn: Send + Sync {
    /// Starts a thread that runs `body`. A panic in it is reported by [`JoinHandle::join`].
    fn spawn(&self, name: &str, body: Box<dyn FnOnce() + Send>) -> io::Result<JoinHandle>;
    /// How many threads can run at the same time here.
    fn parallelism(&self) -> usize;
    /// Asks the system to run the calling thread in slices of so long, or of its own choice, while others want its
    /// core: whoever wakes up and asks for shorter ones comes first, and all get as much as before. Linux does that
    /// from 6.12 on (EEVDF); where it is unknown nothing happens.
    fn ask_for_slices(&self, _slice: Option<Duration>) {}
}

/// A started thread. Dropping the handle detaches the thread.
pub struct JoinHandle {
    pub(crate) join: Box<dyn FnOnce() -> Result<(), String> + Send>,
}

impl JoinHandle {
    /// Waits for the thread to end; the error is the text of its panic.
    pub fn join(self) -> Result<(), String> {
        (self.join)()
    }
}

/// The text of a panic's payload.
pub(crate) fn panic_text(payload: &(dyn std::any::Any + Send)) -> String {
    if let Some(text) = payload.downcast_ref::<&str>() {
        (*text).to_owned()
    } else if let Some(text) = payload.downcast_ref::<String>() {
        text.clone()
    } else {
        "a panic without text".to_owned()
    }
}

/// Runs `body`; when it panics, the panic's text. The stop of a simulated machine is no panic: it goes on unwinding.
pub fn catch_panic<R>(body: impl FnOnce() -> R) -> Result<R, String> {
    catch_unwind(AssertUnwindSafe(body)).map_err(|payload| {
        if crate::sim::scheduler::is_stop(&*payload) {
            resume_unwind(payload);
        }
        panic_text(&*payload)
    })
}
