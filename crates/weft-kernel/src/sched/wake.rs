//! A bell: rung by whoever has work, heard by the threads that wait for some.

use std::sync::Arc;
use std::time::Duration;

use weft_env::sync::{Condvar, Mutex};

/// Cheap to clone; every clone is the same bell.
#[derive(Clone, Debug, Default)]
pub struct Wake(Arc<Bell>);

#[derive(Debug, Default)]
struct Bell {
    /// How often it rang.
    rings: Mutex<u64>,
    rang: Condvar,
}

impl Wake {
    /// Rings.
    pub fn notify(&self) {
        *self.0.rings.lock() += 1;
        self.0.rang.notify_all();
    }

    /// How often it rang so far.
    pub(crate) fn rings(&self) -> u64 {
        *self.0.rings.lock()
    }

    /// Waits until it rings for the time after `heard`, at most `timeout`; returns how often it rang.
    pub(crate) fn wait(&self, heard: u64, timeout: Duration) -> u64 {
        let mut rings = self.0.rings.lock();
        debug_assert!(*rings >= heard, "nobody hears a bell before it rings");
        if *rings == heard {
            self.0.rang.wait_timeout(&mut rings, timeout);
        }
        *rings
    }
}
