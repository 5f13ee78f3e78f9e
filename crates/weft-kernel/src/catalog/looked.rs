//! What was seen of a table by who looked at some of its rows, and since when that is out of date.
//!
//! ```text
//!   looked at after 12,000 rows were written, of 10,000     written now: 14,001, a fifth more: look again
//!   the look took 40 ms                                     for 2 s nobody looks again, whatever is written
//! ```

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use weft_env::Env;
use weft_env::sync::Mutex;
use weft_format::ColumnSummary;

use crate::account::{Charge, Kept};
use crate::fault::{Fault, active};
use crate::method::TableContext;
use crate::services::Services;

/// One of so many rows may have been written since a look.
pub(super) const WRITTEN_SHARE: u64 = 5;
/// A look is followed by a rest of so many times as long.
const REST_TIMES: u64 = 50;
/// And of so long at least.
const REST_NANOS_MIN: u64 = 1_000_000_000;

/// Summaries by ordinal.
pub(super) type Columns = Arc<Vec<Option<ColumnSummary>>>;

/// What was seen of a table by who looked at its rows.
pub(super) struct Looked {
    pub(super) seen: Mutex<Option<Seen>>,
    pub(super) looking: Mutex<()>,
    /// Rows that commits have written since the table was opened.
    pub(super) written: AtomicU64,
    /// How often somebody looked.
    pub(super) looks: AtomicU64,
    /// Learning of it has panicked.
    pub(super) given_up: AtomicBool,
    /// When looking may go on, by the monotonic clock.
    rests_until: AtomicU64,
    pub(super) env: Env,
    pub(super) services: Arc<Services>,
    /// Set under `seen`.
    charge: Charge,
}

/// What one look has seen.
#[derive(Clone)]
pub(super) struct Seen {
    pub(super) columns: Columns,
    /// How many rows there were.
    pub(super) rows: u64,
    /// How many had been written.
    pub(super) written: u64,
}

impl Looked {
    pub(super) fn new(context: &TableContext) -> Looked {
        let charge = context.services.account().charge(Kept::Files, 0);
        let (env, services) = (context.env.clone(), context.services.clone());
        let (seen, looking, written, looks, given_up, rests_until) = Default::default();
        Looked { seen, looking, written, looks, given_up, rests_until, env, services, charge }
    }

    /// What was seen, be it out of date, and how many rows were written since.
    pub(super) fn seen(&self) -> Option<(Seen, u64)> {
        // What was seen had been written before: it is read last.
        let seen = self.seen.lock().clone()?;
        let written = self.written.load(Ordering::Relaxed);
        assert!(seen.written <= written, "what was written before a look stays written");
        Some((seen.clone(), written - seen.written))
    }

    /// Whether nobody has to look again, at a table of so many columns.
    pub(super) fn is_fresh(&self, columns: usize) -> bool {
        if active(Fault::LOOK_AGAIN) {
            return false;
        }
        let is_fresh = |(seen, written): (Seen, u64)| {
            seen.columns.len() == columns && written * WRITTEN_SHARE <= seen.rows.max(WRITTEN_SHARE - 1)
        };
        self.seen().is_some_and(is_fresh)
    }

    /// Whether a look was a moment ago.
    pub(super) fn rests(&self) -> bool {
        !active(Fault::LOOK_AGAIN) && self.env.clock.monotonic_nanos() < self.rests_until.load(Ordering::Relaxed)
    }

    pub(super) fn rest_after(&self, begun_nanos: u64) {
        let now = self.env.clock.monotonic_nanos();
        let rest = now.saturating_sub(begun_nanos).saturating_mul(REST_TIMES).max(REST_NANOS_MIN);
        self.rests_until.store(now.saturating_add(rest), Ordering::Relaxed);
    }

    pub(super) fn keep(&self, seen: Seen) {
        let bytes = |column: &ColumnSummary| size_of::<ColumnSummary>() + column.memory_bytes();
        assert!(seen.written <= self.written.load(Ordering::Relaxed), "what was written before a look stays written");
        self.looks.fetch_add(1, Ordering::Relaxed);
        let mut kept = self.seen.lock();
        self.charge.set(seen.columns.iter().flatten().map(bytes).sum::<usize>() as u64);
        *kept = Some(seen);
    }
}
