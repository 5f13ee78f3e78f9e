//! The mix: one writer and one reader at the same time, each statement timed by its own thread.
//!
//! ```text
//!   writer   INSERT · UPDATE · INSERT · UPDATE ...        parameters are made before the clock starts
//!   reader   SQL3 · SQL4 · SQL5 · SQL3 ...                rows are handed out as Arrow batches
//!   main     samples what the caller wants to know, ends both when the time is over
//!            window 0             window 1
//!
//!   full speed   ████████████████████    one statement after the other
//!   a rate       ██  ███   █ ██    ██    random pauses between them, so many start in a second on average
//! ```
//!
//! 1. SQL3 gives a row for each key of its range as long as nothing is deleted: less is an error.
//! 2. A client whose statements take longer than its pauses is late; the next ones start at once until it has caught
//!    up. That wait is not part of a latency.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use weft::{Database, Prepared, Session, Value};

use super::Settings;
use super::consumed::consumed;
use super::statements;
use super::trial::Trial;
use super::writer::{Keys, Write, Writer};
use crate::bench::numbers::Numbers;
use crate::latency::Latencies;
use crate::subcommand::Failure;

/// How often the main thread looks whether it is over.
const TICK: Duration = Duration::from_millis(20);

/// All values of col_2 are below this.
const FILTERED: u64 = 1_000_000;

/// One kind of query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Read {
    /// SQL3.
    Sum,
    /// SQL4.
    Max,
    /// SQL5.
    Join,
}

impl Read {
    pub(super) const ALL: [Read; 3] = [Read::Sum, Read::Max, Read::Join];

    /// How results are named.
    pub(super) fn name(self) -> &'static str {
        match self {
            Read::Sum => "sql3",
            Read::Max => "sql4",
            Read::Join => "sql5",
        }
    }

    /// How results of those are named beside which jobs worked.
    pub(super) fn beside_jobs_name(self) -> &'static str {
        match self {
            Read::Sum => "sql3_beside_jobs",
            Read::Max => "sql4_beside_jobs",
            Read::Join => "sql5_beside_jobs",
        }
    }

    /// How results of the others are named.
    pub(super) fn without_jobs_name(self) -> &'static str {
        match self {
            Read::Sum => "sql3_without_jobs",
            Read::Max => "sql4_without_jobs",
            Read::Join => "sql5_without_jobs",
        }
    }
}

/// Latencies by statement; "reads" and "writes" are all of these.
pub(super) type Timings = BTreeMap<&'static str, Latencies>;

/// How many statements each client starts in a second, on average; none: one after the other.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rates {
    pub(super) writes: Option<u64>,
    pub(super) reads: Option<u64>,
}

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

struct Reader {
    database: Database,
    keys: Arc<Keys>,
    numbers: Numbers,
    range: u64,
    width: u64,
    /// Whether rows go while it reads.
    deletes: bool,
    prepared: Vec<(Read, Arc<Prepared>)>,
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
        let reader = Reader {
            database: trial.database.clone(),
            keys: Arc::clone(&writer.keys),
            numbers: Numbers::new(2),
            range: settings.range(),
            width: settings.filter_width,
            deletes: false,
            prepared,
        };
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

/// One statement that ran.
struct Step {
    /// What it counts as: itself, all of its kind.
    names: Vec<&'static str>,
    time: Duration,
}

/// The pauses of one client: times between two starts are exponential, as those of many independent people are.
struct Pauses {
    numbers: Numbers,
    /// The mean time between two starts.
    mean: Option<Duration>,
    /// When the next statement is due, since the start.
    due: Duration,
}

impl Pauses {
    fn new(seed: u64, rate: Option<u64>) -> Pauses {
        let mean = rate.map(|rate| Duration::from_secs(1) / u32::try_from(rate).unwrap_or(u32::MAX));
        Pauses { numbers: Numbers::new(seed), mean, due: Duration::ZERO }
    }

    /// Sleeps until the next statement is due.
    fn pause(&mut self, begun: Instant) {
        let Some(mean) = self.mean else { return };
        let part = (self.numbers.below(1 << 32) + 1) as f64 / (1_u64 << 32) as f64;
        self.due += mean.mul_f64(-part.ln());
        std::thread::sleep(self.due.saturating_sub(begun.elapsed()));
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

impl Reader {
    /// One query.
    fn read(&mut self, session: &mut Session, number: usize) -> Result<Step, Failure> {
        let (read, prepared) = &self.prepared[number % self.prepared.len()];
        let (low, next) = self.keys.bounds();
        let (from, count) = match read {
            Read::Join => (self.numbers.below(FILTERED - self.width.min(FILTERED - 1)), self.width),
            Read::Sum | Read::Max => (low + self.numbers.below(next - low - self.range + 1), self.range),
        };
        let params = [Value::Int(from as i64), Value::Int((from + count) as i64)];
        let worked_nanos = self.database.status().jobs_worked_nanos;
        let begun = Instant::now();
        let outcome = session.execute_prepared(prepared, &params)?;
        let found = consumed(&outcome.rows);
        let time = begun.elapsed();
        if *read == Read::Sum && !self.deletes && found != count {
            return Err(Failure::Other(format!("SQL3 from key {from} gave {found} rows instead of {count}")));
        }
        let jobs_worked = self.database.status().jobs_worked_nanos > worked_nanos;
        let met = if jobs_worked { read.beside_jobs_name() } else { read.without_jobs_name() };
        Ok(Step { names: vec![read.name(), "reads", met], time })
    }
}

/// The windows of both together.
fn joined(mut left: Vec<Timings>, right: Vec<Timings>) -> Vec<Timings> {
    left.resize_with(left.len().max(right.len()), Timings::new);
    for (window, timings) in left.iter_mut().zip(right) {
        for (name, latencies) in timings {
            window.entry(name).or_default().add_all(&latencies);
        }
    }
    left
}
