//! How much a thread has read from files and written to them, in all.
//!
//! ```text
//!   before = thread_traffic()      read 120 MB   written 40 MB
//!   a job runs in this thread
//!   thread_traffic() - before      read  64 MB   written 31 MB     what the job took, not what it was expected to take
//! ```
//!
//! 1. Bytes that were asked of [`File`](crate::File) and given or taken count, in the thread that asked, whether they
//!    came from a device or from the system's memory. What fails does not count.
//!
//! Concurrency: a thread has its own numbers, nobody else's are seen. Crash: nothing here survives.

use std::cell::Cell;
use std::ops::Sub;

/// Bytes read from files and written to them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub written_bytes: u64,
}

impl Sub for Traffic {
    type Output = Traffic;

    fn sub(self, before: Traffic) -> Traffic {
        Traffic {
            read_bytes: self.read_bytes - before.read_bytes,
            written_bytes: self.written_bytes - before.written_bytes,
        }
    }
}

thread_local! {
    static TRAFFIC: Cell<Traffic> = const { Cell::new(Traffic { read_bytes: 0, written_bytes: 0 }) };
}

/// What this thread has read and written since it began.
pub fn thread_traffic() -> Traffic {
    TRAFFIC.get()
}

pub(crate) fn note_read(bytes: usize) {
    let now = TRAFFIC.get();
    TRAFFIC.set(Traffic { read_bytes: now.read_bytes + bytes as u64, ..now });
}

pub(crate) fn note_written(bytes: usize) {
    let now = TRAFFIC.get();
    TRAFFIC.set(Traffic { written_bytes: now.written_bytes + bytes as u64, ..now });
}
