//! Clients: threads with a session each that run one unit of work after the other for a time.
//!
//! ```text
//!   prepare ─ barrier ─ work, work, work, ... until the time is over ─ rate = work done / time
//!   beside them, if asked for: one more thread whose works are timed one by one (a scan)
//! ```
//!
//! 1. A work that fails with a conflict is rolled back and run again; only what committed is counted.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use weft::{Database, Error, Session};

use crate::bench::median::median;
use crate::subcommand::Failure;

/// One unit of work of a client.
pub(super) type Work<'a> = Box<dyn FnMut(&mut Session) -> Result<(), Error> + 'a>;

/// Makes the work of a client from its number: prepares its statements.
pub(super) type Make<'a> = &'a (dyn Fn(u64, &mut Session) -> Result<Work<'a>, Error> + Sync);

/// What clients did.
pub(super) struct Ran {
    /// Works that committed.
    pub(super) done: u64,
    /// Those per second.
    pub(super) rate: f64,
    /// Conflicts after which a work ran again.
    pub(super) retries: u64,
    /// Median time of what ran beside the clients, in milliseconds; 0 without.
    pub(super) beside_ms: f64,
}

/// What one thread did.
#[derive(Default)]
struct Counts {
    done: u64,
    retries: u64,
    times_ms: Vec<f64>,
    error: Option<Error>,
}

/// Runs `clients` threads for a time, and `beside` in one more.
pub(super) fn run<'a>(
    database: &Database,
    clients: u64,
    time: Duration,
    make: Make<'a>,
    beside: Option<Make<'a>>,
) -> Result<Ran, Failure> {
    let threads = clients + u64::from(beside.is_some());
    let (stop, barrier) = (AtomicBool::new(false), Barrier::new(threads as usize + 1));
    let mut elapsed = 0.0;
    let counts: Vec<Counts> = std::thread::scope(|scope| {
        let (stop, barrier) = (&stop, &barrier);
        let clients: Vec<_> = (0..clients)
            .map(|client| scope.spawn(move || client_thread(database, client, make, barrier, stop)))
            .collect();
        let beside = beside.map(|make| scope.spawn(move || client_thread(database, u64::MAX, make, barrier, stop)));
        barrier.wait();
        let begun = Instant::now();
        std::thread::sleep(time);
        stop.store(true, Ordering::Relaxed);
        let ended = clients.into_iter().map(|thread| thread.join().unwrap_or_else(|p| std::panic::resume_unwind(p)));
        let mut counts: Vec<Counts> = ended.collect();
        elapsed = begun.elapsed().as_secs_f64();
        counts.extend(beside.map(|thread| thread.join().unwrap_or_else(|p| std::panic::resume_unwind(p))));
        counts
    });
    if let Some(error) = counts.iter().find_map(|counts| counts.error.clone()) {
        return Err(Failure::Database(error));
    }
    let counted = &counts[..clients as usize];
    let done = counted.iter().map(|counts| counts.done).sum();
    let retries = counted.iter().map(|counts| counts.retries).sum();
    let beside_ms = counts.get(clients as usize).map_or(0.0, |counts| median(counts.times_ms.clone()));
    Ok(Ran { done, rate: done as f64 / elapsed, retries, beside_ms })
}

/// One client, from its session to its counts. Reaches the barrier whatever happens.
fn client_thread(database: &Database, client: u64, make: Make, barrier: &Barrier, stop: &AtomicBool) -> Counts {
    let prepared = database.session().and_then(|mut session| {
        let work = make(client, &mut session)?;
        Ok((session, work))
    });
    barrier.wait();
    let mut counts = Counts::default();
    let timed = client == u64::MAX;
    let result = prepared.and_then(|(mut session, mut work)| {
        // A timed work runs once at least.
        while !stop.load(Ordering::Relaxed) || (timed && counts.times_ms.is_empty()) {
            let begun = timed.then(Instant::now);
            match work(&mut session) {
                Ok(()) => counts.done += 1,
                Err(error) if error.is_retryable() => counts.retries += 1,
                Err(error) => return Err(error),
            }
            if let Some(begun) = begun {
                counts.times_ms.push(begun.elapsed().as_secs_f64() * 1e3);
            }
            if session.in_transaction() {
                session.execute("ROLLBACK")?;
            }
        }
        Ok(())
    });
    counts.error = result.err();
    counts
}
