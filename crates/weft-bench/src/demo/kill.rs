//! The kill test: a child process writes, the parent kills it at a random moment and looks at what is left.
//!
//! ```text
//!   parent                                   child (the same program)
//!     spawn, positions 0:0 ────────────────▶ writer 0, writer 1: transactions of three events
//!     ◀── "0 3", "1 3", "0 6", ... ───────── a line after each acknowledged commit: writer, events applied
//!     SIGKILL after a random time
//!     open: rows of writer w = after 6 events, or after the 9 of the transaction under way; nothing else
//!     check, close, next round from there
//! ```
//!
//! 1. Every acknowledged transaction is there.
//! 2. A transaction that was not acknowledged is there as a whole or not at all.
//! 3. `check` finds nothing after any round.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use weft::{Database, Options, Value};

use super::events::{Event, events_per_writer, row_after, steps_after};
use super::plan::Plan;
use super::queries::QUERIES;
use super::replay::Writer;
use super::source::TABLES;
use super::verify::{compare_keys, rows_in_key_order};
use crate::subcommand::Failure;

/// Events per transaction: more than one, so that half a transaction can be told from a whole one.
const EVENTS_PER_TRANSACTION: usize = 3;

/// Small, so that freezing, conversion and compaction happen all the time.
const ROW_TABLE_BYTES: u64 = 256 << 10;

/// Small, so that log files are dropped all the time.
const CHECKPOINT_LOG_BYTES: u64 = 1 << 20;

fn options(plan: &Plan) -> Options {
    Options {
        durability: plan.durability,
        row_table_bytes: ROW_TABLE_BYTES,
        checkpoint_log_bytes: CHECKPOINT_LOG_BYTES,
        log_segment_bytes: CHECKPOINT_LOG_BYTES / 4,
        ..Options::default()
    }
}

/// Starts and kills the child `kills` times.
pub(super) fn run_parent(plan: &Plan, dir: &Path, kills: u64, seed: u64) -> Result<(), Failure> {
    println!("kill test: {kills} kills, {} writers, seed {seed}", plan.writers);
    let flights = flights(plan)?;
    let lists = events_per_writer(&flights, plan.writers);
    let database = Database::open_with(dir, options(plan))?;
    database.session()?.execute(&flight_table().create("live_flights"))?;
    database.close()?;
    let mut random = seed;
    let mut applied = vec![0; plan.writers];
    for round in 1..=kills {
        let acknowledged = one_kill(plan, dir, &applied, &mut random)?;
        let before: usize = applied.iter().sum();
        applied = verify(plan, dir, &flights, &lists, &acknowledged)?;
        let total: usize = applied.iter().sum();
        let unacknowledged = total - acknowledged.iter().sum::<usize>();
        println!(
            "kill {round}: {} events, {total} in all; {unacknowledged} of them committed, not acknowledged",
            total - before
        );
    }
    println!("ok     {kills} kills: no acknowledged commit lost, no transaction torn, no damage found");
    Ok(())
}

fn flight_table() -> &'static super::source::TableSpec {
    &TABLES[TABLES.len() - 1]
}

fn flights(plan: &Plan) -> Result<Vec<Vec<Value>>, Failure> {
    flight_table().read(&plan.data, plan.flights)
}

/// Runs the child from `applied` and kills it; gives what it acknowledged.
fn one_kill(plan: &Plan, dir: &Path, applied: &[usize], random: &mut u64) -> Result<Vec<usize>, Failure> {
    let starts: Vec<String> = applied.iter().map(usize::to_string).collect();
    let program = std::env::current_exe().map_err(|error| Failure::io("cannot find this program", &error))?;
    let mut command = Command::new(program);
    command.args(["demo", "--kill-child", &starts.join(":"), "--writers", &plan.writers.to_string()]);
    command.args(["--flights", &plan.flights.to_string(), "--readers", &plan.readers.to_string()]);
    command.arg("--data").arg(&plan.data).arg("--dir").arg(dir).stdout(Stdio::piped());
    let mut child = command.spawn().map_err(|error| Failure::io("cannot start the child", &error))?;
    let lines = BufReader::new(child.stdout.take().expect("the child's output is piped"));
    let after = Duration::from_micros(20_000 + next_random(random) % 1_480_000);
    let mut acknowledged = applied.to_vec();
    let mut killed = None;
    for line in lines.lines() {
        // A line that the kill cut short was not acknowledged to anyone.
        let Some((writer, position)) = line.ok().as_deref().and_then(parse_line) else { continue };
        acknowledged[writer] = position;
        killed.get_or_insert_with(|| kill_after(&child, after));
    }
    let status = child.wait().map_err(|error| Failure::io("cannot wait for the child", &error))?;
    match killed {
        Some(thread) if status.code().is_none() => {
            let _ = thread.join();
            Ok(acknowledged)
        }
        _ => Err(Failure::Other(format!("the child ended by itself ({status}); use more flights"))),
    }
}

/// Kills the child when its time is over; the child's process id stays its own until it was waited for.
fn kill_after(child: &Child, after: Duration) -> thread::JoinHandle<()> {
    let id = child.id() as libc::pid_t;
    thread::spawn(move || {
        thread::sleep(after);
        // SAFETY: `kill` takes numbers only; the child is waited for after its output has ended, so the id is its own.
        unsafe { libc::kill(id, libc::SIGKILL) };
    })
}

fn parse_line(line: &str) -> Option<(usize, usize)> {
    let (writer, position) = line.strip_suffix('.')?.split_once(' ')?;
    Some((writer.parse().ok()?, position.parse().ok()?))
}

/// Opens what is left and finds out how far each writer came; an error when that is neither of the two allowed states.
fn verify(
    plan: &Plan,
    dir: &Path,
    flights: &[Vec<Value>],
    lists: &[Vec<Event>],
    acknowledged: &[usize],
) -> Result<Vec<usize>, Failure> {
    let begun = Instant::now();
    let database = Database::open_with(dir, options(plan))?;
    let opened = begun.elapsed();
    let found = rows_in_key_order(&database)?;
    let positions: Vec<usize> = (0..lists.len())
        .map(|writer| position_of(writer, flights, lists, acknowledged, &found))
        .collect::<Result<_, _>>()?;
    let rows = steps_after(lists, &positions, flights.len()).iter().filter(|step| step.is_some()).count();
    if rows != found.len() {
        return Err(Failure::Other(format!("{} rows in live_flights, {rows} were committed", found.len())));
    }
    let findings = database.check()?;
    if let Some(first) = findings.first() {
        return Err(Failure::Other(format!("check reports {} findings, the first: {first}", findings.len())));
    }
    database.close()?;
    if opened > Duration::from_secs(5) {
        println!("  opening took {:.1} s", opened.as_secs_f64());
    }
    Ok(positions)
}

/// Which of the two positions that a writer may be at fits the rows of its flights.
fn position_of(
    writer: usize,
    flights: &[Vec<Value>],
    lists: &[Vec<Event>],
    acknowledged: &[usize],
    found: &[Vec<Value>],
) -> Result<usize, Failure> {
    let at = acknowledged[writer];
    let next = (at + EVENTS_PER_TRANSACTION).min(lists[writer].len());
    for position in [at, next] {
        let mut alone = vec![0; lists.len()];
        alone[writer] = position;
        let steps = steps_after(lists, &alone, flights.len());
        let fits = (writer..flights.len()).step_by(lists.len()).all(|flight| {
            let have = found.binary_search_by(|row| compare_keys(row, &flights[flight])).ok().map(|at| &found[at]);
            row_after(&flights[flight], steps[flight]).as_ref() == have
        });
        if fits {
            return Ok(position);
        }
    }
    Err(Failure::Other(format!(
        "writer {writer}: the rows fit neither the {at} events that were acknowledged nor the {next} of the next commit"
    )))
}

/// The child: writers from the given positions, readers, a line per acknowledged transaction, until it is killed.
pub(super) fn run_child(plan: &Plan, starts: &str) -> Result<(), Failure> {
    let wrong = || Failure::Usage(format!("--kill-child needs one position per writer, not {starts}"));
    let starts: Vec<usize> = starts.split(':').map(|s| s.parse().map_err(|_| wrong())).collect::<Result<_, _>>()?;
    let dir = plan.dir.as_deref().ok_or_else(wrong)?;
    let flights = flights(plan)?;
    let lists = events_per_writer(&flights, starts.len());
    let database = Database::open_with(dir, options(plan))?;
    let out = Mutex::new(std::io::stdout());
    thread::scope(|scope| {
        for _ in 0..plan.readers {
            scope.spawn(|| ask(&database));
        }
        let writers: Vec<_> = (0..lists.len())
            .map(|writer| {
                let (database, flights, list, out) = (&database, &flights, &lists[writer], &out);
                let start = starts[writer];
                scope.spawn(move || {
                    write(database, flights, list, start, &|position| acknowledge(out, writer, position))
                })
            })
            .collect();
        for writer in writers {
            writer.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        }
        // The readers end with the process.
        std::process::exit(3)
    })
}

fn write(
    database: &Database,
    flights: &[Vec<Value>],
    list: &[Event],
    start: usize,
    acknowledge: &dyn Fn(usize),
) -> Result<(), Failure> {
    let mut writer = Writer::new(database)?;
    let mut position = start;
    for chunk in list[start..].chunks(EVENTS_PER_TRANSACTION) {
        writer.transaction(flights, chunk)?;
        position += chunk.len();
        acknowledge(position);
    }
    Ok(())
}

/// One line, written with one call; the full stop says that it is whole.
fn acknowledge(out: &Mutex<std::io::Stdout>, writer: usize, position: usize) {
    let mut out = out.lock().expect("no holder panics");
    let _ = out.write_all(format!("{writer} {position}.\n").as_bytes());
    let _ = out.flush();
}

fn ask(database: &Database) -> Result<(), Failure> {
    let mut session = database.session()?;
    loop {
        for query in QUERIES.iter().filter(|query| !query.sql.contains("JOIN")) {
            session.execute(query.sql)?;
        }
    }
}

/// SplitMix64.
fn next_random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}
