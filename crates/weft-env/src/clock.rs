//! Time, as the layers above see it.

use std::time::Duration;

/// Wall time, monotonic time and sleeping.
pub trait Clock: Send + Sync {
    /// Wall time in microseconds since 1970-01-01 00:00:00 UTC.
    fn wall_micros(&self) -> i64;
    /// Monotonic time in nanoseconds since an arbitrary start.
    fn monotonic_nanos(&self) -> u64;
    /// Blocks the calling thread for `duration`.
    fn sleep(&self, duration: Duration);
    /// Processor time that all threads of this process have used, nanoseconds, in steps of 10 ms or so; none where that
    /// is unknown.
    fn processor_nanos(&self) -> Option<u64> {
        None
    }
    /// Processor time that the calling thread has used, nanoseconds; none where that is unknown.
    fn thread_processor_nanos(&self) -> Option<u64> {
        None
    }
}
