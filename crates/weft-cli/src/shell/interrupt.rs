//! Ctrl-C stops the statement that runs, not the shell.
//!
//! The signal handler only sets a flag; a thread that lives as long as the shell looks at it and cancels the session's
//! statement while one runs.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

static PRESSED: AtomicBool = AtomicBool::new(false);

extern "C" fn on_interrupt(_signal: libc::c_int) {
    PRESSED.store(true, Ordering::Relaxed);
}

/// Hands Ctrl-C to a session while it works.
pub(crate) struct Interrupts {
    working: Arc<AtomicBool>,
}

impl Interrupts {
    /// Starts the thread that waits for Ctrl-C.
    pub(crate) fn new(cancel: Box<dyn Fn() + Send>) -> Interrupts {
        let working = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&working);
        std::thread::spawn(move || {
            while Arc::strong_count(&seen) > 1 {
                if seen.load(Ordering::Acquire) && PRESSED.swap(false, Ordering::Relaxed) {
                    cancel();
                }
                std::thread::sleep(Duration::from_millis(20));
            }
        });
        Interrupts { working }
    }

    /// Runs `work`; Ctrl-C meanwhile cancels it.
    pub(crate) fn during<T>(&self, work: impl FnOnce() -> T) -> T {
        PRESSED.store(false, Ordering::Relaxed);
        let handler = on_interrupt as extern "C" fn(libc::c_int) as libc::sighandler_t;
        // SAFETY: the handler does nothing but store to an atomic, which is allowed in a signal handler.
        let before = unsafe { libc::signal(libc::SIGINT, handler) };
        self.working.store(true, Ordering::Release);
        let result = work();
        self.working.store(false, Ordering::Release);
        // SAFETY: `before` is what `signal` gave back for the same signal.
        unsafe { libc::signal(libc::SIGINT, before) };
        result
    }
}
