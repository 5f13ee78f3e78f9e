//! The mix: one writer and one reader at the same time, each statement timed by its own thread.
//!
//! ```text
//!   writer   INSERT · UPDATE · INSERT · UPDATE ...        parameters are made before the clock starts
//!   reader   SQL3 · SQL4 · SQL5 · SQL3 ...                rows are handed out as Arrow batches
//!   main     samples what the caller wants to know, ends both when the time is over
//!            window 0             window 1
//! ```
//!
//! 1. A pause is not part of a latency, neither is the wait of a client that is late.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use weft::Session;

use super::pauses::{Pauses, Rates};
use super::reader::{Read, Reader};
use super::settings::Settings;
use super::statements;
use super::timings::{Step, Timings, joined};
use super::trial::Trial;
use super::writer::{Write, Writer};
use crate::latency::Latencies;
use crate::subcommand::Failure;

/// How often the main thread looks whether it is over.
const TICK: Duration = Duration::from_millis(20);

/// What is run.
pub(super) struct Plan<'a> {
    /// The writer's statements, again and again; none: the reader is alone.
    pub(super) writes: &'a [Write],
    /// How often statements start.
    pub(super) rates: Rates,
    /// It ends when this time is over and SQL3 ran this often.
    pub(super) time: Duration,
    pub(super) queries: u64,
    /// Latencies are kept apart by windows of this length.
    pub(super) window: Duration,
    /// How often the main thread samples.
    pub(super) sample: Duration,
    /// Where it is noted how much memory the latencies of the windows take, bytes: none of the database's.
    pub(super) own_bytes: &'a AtomicU64,
}

/// What was seen.
#[derive(Default)]
pub(super) struct Ran {
    pub(super) time: Duration,
    pub(super) windows: Vec<Timings>,
}

impl Ran {
    /// Takes in what another run of the same plan saw: window by window, as if both had run at once.
    pub(super) fn take(&mut self, other: Ran) {
        self.time += other.time;
        let windows = std::mem::take(&mut self.windows);
        self.windows = joined(windows, other.windows);
    }

    /// How many statements of this name ran.
    pub(super) fn count(&self, name: &str) -> u64 {
        self.windows.iter().filter_map(|timings| timings.get(name)).map(Latencies::count).sum()
    }
}

/// A writer and a reader with their sessions and statements.
pub(super) struct Mix {
    writer: Writer,
    reader: Reader,
    sessions: [Session; 2],
    /// How often it was run: no two runs have the same pauses.
    runs: u64,
}

impl Mix {
    /// Prepares the statements on a table as it was loaded.
    pub(super) fn new(settings: &Settings, trial: &Trial) -> Result<Mix, Failure> {
        let mut sessions = [trial.database.session()?, trial.database.session()?];
        let writer = Writer::new(&mut sessions[0], trial.shape, trial.rows, settings.update_columns)?;
        let mut prepared = Vec::new();
        for read in settings.reads.iter().copied() {
            let text = match read {
                Read::Sum => statements::sum(settings.sum_columns),
                Read::Max => statements::max(settings.max_columns),
                Read::Join => statements::JOIN.to_owned(),
            };
            prepared.push((read, sessions[1].prepare(&text)?));
        }
        let (database, keys) = (trial.database.clone(), Arc::clone(&writer.keys));
        let reader = Reader::new(database, keys, settings.range(), settings.filter_width, prepared);
        Ok(Mix { writer, reader, sessions, runs: 0 })
    }

    /// How many rows the table has, and their sum of col_1.
    pub(super) fn expected(&self) -> (u64, i64) {
        let (low, next) = self.writer.keys.bounds();
        (next - low, self.writer.sum)
    }

    /// Runs both; `sample` is called again and again with the time since the start. When the time is over, both go on
    /// until `rests` says that nothing which they caused runs any more: what it takes from them counts.
    pub(super) fn run(
        &mut self,
        plan: &Plan,
        mut sample: impl FnMut(Duration) -> Result<(), Failure>,
        mut rests: impl FnMut() -> Result<bool, Failure>,
    ) -> Result<Ran, Failure> {
        let Mix { writer, reader, sessions: [write_session, read_session], runs } = self;
        *runs += 1;
        let seeds = [2 * *runs + 1, 2 * *runs + 2];
        reader.deletes = plan.writes.contains(&Write::Delete);
        let (stop, queries, begun) = (AtomicBool::new(false), AtomicU64::new(0), Instant::now());
        let clock = Clock { begun, window: plan.window, stop: &stop, own_bytes: plan.own_bytes };
        let (sampled, written, read, time) = std::thread::scope(|scope| {
            let writes = scope.spawn(|| match plan.writes {
                [] => Ok(Vec::new()),
                writes => clock.run(Pauses::new(seeds[0], plan.rates.writes), |number| {
                    write(writer, write_session, writes, number)
                }),
            });
            let reads = scope.spawn(|| {
                clock.run(Pauses::new(seeds[1], plan.rates.reads), |number| {
                    let ran = reader.read(read_session, number)?;
                    queries.fetch_add(u64::from(ran.names.contains(&Read::Sum.name())), Ordering::Relaxed);
                    Ok(ran)
                })
            });
            let mut sampled = Ok(());
            let mut due = plan.sample;
            let mut is_over = || {
                let is_due = begun.elapsed() >= plan.time && queries.load(Ordering::Relaxed) >= plan.queries;
                if is_due { rests() } else { Ok(false) }
            };
            while sampled.is_ok() && !stop.load(Ordering::Relaxed) {
                match is_over() {
                    Ok(false) => {}
                    Ok(true) => break,
                    Err(error) => {
                        sampled = Err(error);
                        break;
                    }
                }
                std::thread::sleep(TICK);
                if begun.elapsed() >= due {
                    sampled = sample(begun.elapsed());
                    due += plan.sample;
                }
            }
            stop.store(true, Ordering::Relaxed);
            let time = begun.elapsed();
            let [writes, reads] =
                [writes, reads].map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
            (sampled, writes, reads, time)
        });
        sampled?;
        Ok(Ran { time, windows: joined(written?, read?) })
    }
}

/// When and how long statements are run.
struct Clock<'a> {
    begun: Instant,
    window: Duration,
    stop: &'a AtomicBool,
    own_bytes: &'a AtomicU64,
}

impl Clock<'_> {
    /// Runs steps until the end. An error ends the other thread as well.
    fn run(
        &self,
        mut pauses: Pauses,
        mut step: impl FnMut(usize) -> Result<Step, Failure>,
    ) -> Result<Vec<Timings>, Failure> {
        let mut windows: Vec<Timings> = Vec::new();
        for number in 0.. {
            pauses.pause(self.begun);
            if self.stop.load(Ordering::Relaxed) {
                break;
            }
            let Step { names, time } = step(number).inspect_err(|_| self.stop.store(true, Ordering::Relaxed))?;
            let window = (self.begun.elapsed().as_nanos() / self.window.as_nanos()) as usize;
            if windows.len() <= window {
                let own_bytes = windows.last().into_iter().flat_map(Timings::values).map(Latencies::memory_bytes).sum();
                self.own_bytes.fetch_add(own_bytes, Ordering::Relaxed);
                windows.resize_with(window + 1, Timings::new);
            }
            for name in names {
                windows[window].entry(name).or_default().add(time.as_nanos() as u64);
            }
        }
        Ok(windows)
    }
}

/// One write.
fn write(writer: &mut Writer, session: &mut Session, writes: &[Write], number: usize) -> Result<Step, Failure> {
    let write = writes[number % writes.len()];
    let (prepared, params, change) = writer.next(write);
    let begun = Instant::now();
    session.execute_prepared(&prepared, &params)?;
    let time = begun.elapsed();
    writer.done(change);
    Ok(Step { names: vec![write.name(), "writes"], time })
}
