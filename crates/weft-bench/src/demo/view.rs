//! What is shown while the replay runs: one screen that is drawn again, or plain lines when the output is no terminal.
//!
//! ```text
//!   2013-06-14 08:31   45.2 %   452,310 events   12,420 transactions/s   p50 157 µs   p99 1.20 ms
//!     delay by airline            210 runs   p50 12.40 ms
//! ```

use std::io::{self, IsTerminal, Write};
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::events::minute_text;
use super::progress::Progress;
use super::queries::QUERIES;
use crate::latency::duration_text;

/// Draws the progress.
pub(super) struct View {
    screen: bool,
    total: u64,
    shown: Option<Duration>,
    transactions: u64,
}

impl View {
    /// A view of a replay of `total` events.
    pub(super) fn new(plain: bool, total: u64) -> View {
        View { screen: !plain && io::stdout().is_terminal(), total, shown: None, transactions: 0 }
    }

    /// Draws when it is time: four times a second on a terminal, every two seconds in a file.
    pub(super) fn show(&mut self, progress: &Progress, elapsed: Duration) {
        let every = Duration::from_millis(if self.screen { 250 } else { 2_000 });
        if elapsed.saturating_sub(self.shown.unwrap_or_default()) >= every {
            self.draw(progress, elapsed);
        }
    }

    /// Draws the end.
    pub(super) fn finish(&mut self, progress: &Progress, elapsed: Duration) {
        self.draw(progress, elapsed);
    }

    fn draw(&mut self, progress: &Progress, elapsed: Duration) {
        let mut out = io::stdout().lock();
        if self.screen && self.shown.is_some() {
            let _ = write!(out, "\x1b[{}A\x1b[J", 1 + QUERIES.len());
        }
        let _ = writeln!(out, "{}", self.summary(progress, elapsed));
        if self.screen {
            let reads = progress.reads.lock().expect("no holder panics");
            for (query, latencies) in QUERIES.iter().zip(reads.iter()) {
                let p50 = duration_text(latencies.quantile_ns(0.5));
                let _ = writeln!(out, "  {:<26} {:>7} runs   p50 {p50}", query.name, latencies.count());
            }
        }
        let _ = out.flush();
        self.shown = Some(elapsed);
    }

    fn summary(&mut self, progress: &Progress, elapsed: Duration) -> String {
        let events = progress.events.load(Ordering::Relaxed);
        let transactions = progress.transactions.load(Ordering::Relaxed);
        let since = elapsed.saturating_sub(self.shown.unwrap_or_default()).as_secs_f64().max(1e-3);
        let rate = (transactions - self.transactions) as f64 / since;
        self.transactions = transactions;
        let writes = progress.writes.lock().expect("no holder panics");
        let queries: u64 = progress.reads.lock().expect("no holder panics").iter().map(|reads| reads.count()).sum();
        format!(
            "{}  {:>5.1} %  {events} events  {rate:.0} transactions/s  p50 {}  p99 {}  {queries} queries",
            minute_text(progress.minute.load(Ordering::Relaxed)),
            events as f64 * 100.0 / self.total.max(1) as f64,
            duration_text(writes.quantile_ns(0.5)),
            duration_text(writes.quantile_ns(0.99)),
        )
    }
}
