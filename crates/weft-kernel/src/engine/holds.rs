//! Who needs the log from some timestamp on, beside the tables: an index that is being filled.

use std::collections::BTreeMap;
use std::sync::Arc;

use weft_env::sync::Mutex;
use weft_format::Timestamp;

/// The timestamps behind which the log is kept, and how many hold each.
#[derive(Clone, Default)]
pub(crate) struct LogHolds(Arc<Mutex<BTreeMap<Timestamp, usize>>>);

/// Keeps the log behind a timestamp until it is dropped.
pub(crate) struct LogHold {
    holds: LogHolds,
    ts: Timestamp,
}

impl LogHolds {
    /// Keeps the log behind `ts`.
    pub(crate) fn hold(&self, ts: Timestamp) -> LogHold {
        *self.0.lock().entry(ts).or_default() += 1;
        LogHold { holds: self.clone(), ts }
    }

    /// The lowest timestamp held.
    pub(crate) fn lowest(&self) -> Option<Timestamp> {
        self.0.lock().first_key_value().map(|(&ts, _)| ts)
    }
}

impl Drop for LogHold {
    fn drop(&mut self) {
        let mut holds = self.holds.0.lock();
        let count = holds.get_mut(&self.ts).expect("a hold is let go once");
        *count -= 1;
        if *count == 0 {
            holds.remove(&self.ts);
        }
    }
}
