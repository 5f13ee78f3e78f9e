//! A turn: threads that update and threads that scan, on one table for a while.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use weft_tables::waits::Waited;

use super::contender::{COLUMNS, Contender};
use super::scan;
use super::transaction::{Client, Mix};
use crate::bench::median::median;
use crate::subcommand::Failure;

/// What threads do in a turn.
#[derive(Clone, Copy, Debug)]
pub(super) struct Work {
    pub(super) updaters: u64,
    pub(super) scanners: u64,
    pub(super) mix: Mix,
    /// Rows that transactions touch.
    pub(super) active: u64,
}

/// What came of it.
#[derive(Clone, Debug, Default)]
pub(super) struct Outcome {
    /// Transactions that committed, a second.
    pub(super) transactions: f64,
    /// Scans that ended, a second.
    pub(super) scans: f64,
    /// The median time of a scan, milliseconds; none: none ended.
    pub(super) scan_ms: Option<f64>,
    /// How long it took, seconds.
    pub(super) seconds: f64,
    /// Merges of tails or deltas that ended.
    pub(super) merges: u64,
    /// Waits in the turn, by what was waited for.
    pub(super) waits: Vec<(&'static str, Waited)>,
}

/// What one thread has counted.
#[derive(Default)]
struct Count {
    transactions: u64,
    scan_ms: Vec<f64>,
}

impl Work {
    /// Runs it for a time; every round has other rows.
    pub(super) fn run(&self, contender: &Contender, time: Duration, round: u64) -> Result<Outcome, Failure> {
        let (before, merges) = (contender.waits(), contender.merges());
        let stop = AtomicBool::new(false);
        let begun = Instant::now();
        let counts: Vec<Result<Count, Failure>> = std::thread::scope(|scope| {
            let seed = |thread: u64| 1 + round * 1000 + thread;
            let stop = &stop;
            let updaters: Vec<_> =
                (0..self.updaters).map(|at| scope.spawn(move || self.update(contender, stop, seed(at)))).collect();
            let scanners: Vec<_> =
                (0..self.scanners).map(|at| scope.spawn(move || scan_on(contender, stop, seed(at)))).collect();
            std::thread::sleep(time);
            stop.store(true, Ordering::Relaxed);
            let join = |thread: std::thread::ScopedJoinHandle<'_, _>| {
                thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            };
            updaters.into_iter().chain(scanners).map(join).collect()
        });
        let seconds = begun.elapsed().as_secs_f64();
        let mut outcome = Outcome { seconds, merges: contender.merges() - merges, ..Outcome::default() };
        let mut scan_ms = Vec::new();
        for count in counts {
            let count = count?;
            outcome.transactions += count.transactions as f64 / seconds;
            scan_ms.extend(count.scan_ms);
        }
        outcome.scans = scan_ms.len() as f64 / seconds;
        outcome.scan_ms = (!scan_ms.is_empty()).then(|| median(scan_ms));
        outcome.waits = contender.waits().into_iter().zip(before).map(since).collect();
        Ok(outcome)
    }

    fn update(&self, contender: &Contender, stop: &AtomicBool, seed: u64) -> Result<Count, Failure> {
        let mut client = Client::new(contender, self.mix, self.active, seed);
        let mut count = Count::default();
        while !stop.load(Ordering::Relaxed) {
            client.run()?;
            count.transactions += 1;
        }
        Ok(count)
    }
}

fn scan_on(contender: &Contender, stop: &AtomicBool, seed: u64) -> Result<Count, Failure> {
    let mut count = Count::default();
    let mut column = seed as usize;
    while !stop.load(Ordering::Relaxed) {
        column += 1;
        let begun = Instant::now();
        scan::sum(contender, 1 + column % (COLUMNS - 1))?;
        count.scan_ms.push(begun.elapsed().as_secs_f64() * 1e3);
    }
    Ok(count)
}

fn since(((what, after), (_, before)): ((&'static str, Waited), (&'static str, Waited))) -> (&'static str, Waited) {
    (what, Waited { count: after.count - before.count, nanos: after.nanos - before.nanos })
}
