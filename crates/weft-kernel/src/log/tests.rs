use std::path::{Path, PathBuf};
use std::sync::Arc;

use weft_env::sim::{RunEnd, SimOptions, Simulation};
use weft_env::sync::Mutex;
use weft_env::{Env, OpenMode};
use weft_format::{Code, FileId, Lsn, RecordNo, Result, TableId, Timestamp, TxnId};

use super::layout::{self, segment_name, segment_start};
use super::{ChangeEncoder, Log, LogEnd, LogOptions, NeededFrom, Record, Ticket, read_log};

mod codec;
mod crash;
mod damage;
mod failed_operations;
mod format;
mod full_disk;
mod live;
mod numbers;
mod spares;
mod succession;

/// Small enough that a test rolls over many segments.
const OPTIONS: LogOptions = LogOptions { segment_bytes: 3000, zero_ahead_bytes: 700, batch_bytes_max: 8 << 20 };

/// A record as tests keep it.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Owned {
    Chunk(u64, Vec<u8>),
    Commit(u64, u64, Vec<u8>),
    Abort(u64),
    Layout(u64, Vec<u8>),
    Page(u32, Vec<u8>),
}

impl Owned {
    fn record(&self) -> Record<'_> {
        match self {
            Owned::Chunk(txn, changes) => Record::Chunk { txn: TxnId(*txn), changes },
            Owned::Commit(txn, ts, changes) => {
                Record::Commit { txn: TxnId(*txn), ts: Timestamp(*ts), wall: None, changes }
            }
            Owned::Abort(txn) => Record::Abort { txn: TxnId(*txn) },
            Owned::Layout(edit, switch) => Record::Layout { edit: *edit, switch },
            Owned::Page(table, change) => Record::Page { table: TableId(*table), change },
        }
    }
}

impl From<&Record<'_>> for Owned {
    fn from(record: &Record<'_>) -> Owned {
        match *record {
            Record::Chunk { txn, changes } => Owned::Chunk(txn.0, changes.to_vec()),
            Record::Commit { txn, ts, changes, .. } => Owned::Commit(txn.0, ts.0, changes.to_vec()),
            Record::Abort { txn } => Owned::Abort(txn.0),
            Record::Layout { edit, switch } => Owned::Layout(edit, switch.to_vec()),
            Record::Page { table, change } => Owned::Page(table.0, change.to_vec()),
        }
    }
}

/// Commits behind a timestamp are needed, and nothing of pages.
fn behind(cut: u64) -> NeededFrom {
    NeededFrom::commits_behind(Timestamp(cut))
}

fn dir() -> PathBuf {
    PathBuf::from("/db")
}

fn simulation(seed: u64) -> Simulation {
    simulation_of(SimOptions::seeded(seed))
}

fn simulation_of(options: SimOptions) -> Simulation {
    let simulation = Simulation::new(options);
    let end = simulation.run(|env| {
        env.fs.create_dir_all(&dir()).unwrap();
        env.fs.sync_dir(Path::new("/")).unwrap();
    });
    assert_eq!(end, RunEnd::Finished);
    simulation
}

/// An encoded change that says whose it is, with a row of that length; nothing for length 0.
fn payload(ts: u64, length: usize) -> Vec<u8> {
    let row: Vec<u8> = (0..length).map(|i| (ts as usize * 31 + i) as u8).collect();
    let mut changes = ChangeEncoder::new();
    if length > 0 {
        changes.insert(TableId(5), 0, &ts.to_le_bytes(), &row);
    }
    changes.bytes().to_vec()
}

fn read_all(env: &Env) -> Result<(Vec<Owned>, LogEnd)> {
    let mut reader = read_log(env, &dir())?;
    let mut records = Vec::new();
    while let Some(entry) = reader.next()? {
        records.push(Owned::from(&entry.record));
    }
    Ok((records, reader.finish()))
}

fn open(env: &Env) -> Log {
    let (_, end) = read_all(env).unwrap();
    Log::create_or_continue(env, &dir(), OPTIONS, end).unwrap()
}

fn commit(log: &Log, ts: u64, length: usize) -> Result<Lsn> {
    let record = Owned::Commit(ts, ts, payload(ts, length));
    let ticket = log.append_waited(&record.record())?;
    log.wait_durable(ticket)
}

/// Runs a body in a simulation; its panics fail the test.
fn run<T: Send + 'static>(simulation: &Simulation, body: impl FnOnce(Env) -> T + Send + 'static) -> T {
    let result = Arc::new(Mutex::new(None));
    let inner = result.clone();
    match simulation.run(move |env| *inner.lock() = Some(body(env))) {
        RunEnd::Finished => {}
        end => panic!("{end:?}"),
    }
    result.lock().take().expect("the run finished")
}

#[test]
fn records_come_back_in_order_over_segments_and_openings() {
    let simulation = simulation(1);
    run(&simulation, |env| {
        let mut wanted = Vec::new();
        let mut ts = 0;
        for opening in 0..4 {
            let log = open(&env);
            for i in 0..40 {
                ts += 1;
                let chunk = Owned::Chunk(ts, payload(ts, i * 7));
                log.append(&chunk.record()).unwrap();
                wanted.push(chunk);
                if i % 5 == 4 {
                    log.append(&Owned::Abort(ts).record()).unwrap();
                    wanted.push(Owned::Abort(ts));
                } else {
                    commit(&log, ts, i * 11).unwrap();
                    wanted.push(Owned::Commit(ts, ts, payload(ts, i * 11)));
                }
            }
            log.flush().unwrap();
            assert_eq!(log.check().unwrap(), Vec::<String>::new());
            let (records, end) = read_all(&env).unwrap();
            assert_eq!(records, wanted);
            assert_eq!(end.last_timestamp, Timestamp(ts - 1));
            assert_eq!(end.epoch, opening + 1);
            assert_eq!(end.next_lsn, log.durable_lsn());
        }
    });
}

#[test]
fn a_record_longer_than_a_segment_fits() {
    let simulation = simulation(1);
    run(&simulation, |env| {
        let log = open(&env);
        for (ts, length) in [(1, 10), (2, 10_000), (3, 10), (4, 100_000), (5, 0)] {
            commit(&log, ts, length).unwrap();
        }
        let (records, _) = read_all(&env).unwrap();
        assert_eq!(records[3], Owned::Commit(4, 4, payload(4, 100_000)));
        assert_eq!(records.len(), 5);
    });
}

#[test]
fn truncation_keeps_what_redo_needs() {
    let simulation = simulation(1);
    run(&simulation, |env| {
        let log = open(&env);
        for ts in 1..=20 {
            commit(&log, ts, 500).unwrap();
        }
        let first = |env: &Env| match read_all(env).unwrap().0.remove(0) {
            Owned::Commit(_, ts, _) => ts,
            other => panic!("{other:?}"),
        };
        assert_eq!(log.truncate_before(behind(0)).unwrap(), 0);
        assert!(log.truncate_before(behind(9)).unwrap() > 0);
        assert!((2..=10).contains(&first(&env)), "{}", first(&env));
        let before = log.bytes();
        // A chunk of an undecided transaction holds its segment, also when it commits much later.
        log.append(&Owned::Chunk(900, payload(900, 10)).record()).unwrap();
        for ts in 21..=40 {
            commit(&log, ts, 500).unwrap();
        }
        assert!(log.bytes() > before);
        log.truncate_before(behind(40)).unwrap();
        assert!(read_all(&env).unwrap().0.contains(&Owned::Chunk(900, payload(900, 10))));
        let end = Owned::Commit(900, 41, Vec::new());
        let ticket = log.append_waited(&end.record()).unwrap();
        log.wait_durable(ticket).unwrap();
        log.truncate_before(behind(40)).unwrap();
        assert!(read_all(&env).unwrap().0.contains(&Owned::Chunk(900, payload(900, 10))));
        log.truncate_before(behind(41)).unwrap();
        let (records, end) = read_all(&env).unwrap();
        assert!(!records.contains(&Owned::Chunk(900, payload(900, 10))));
        assert_eq!(end.last_timestamp, Timestamp(41));
        // An aborted one holds it no longer either, and a reopened log knows all this again.
        log.append(&Owned::Chunk(901, payload(901, 10)).record()).unwrap();
        for ts in 42..=60 {
            commit(&log, ts, 500).unwrap();
        }
        log.append(&Owned::Abort(901).record()).unwrap();
        drop(log);
        let log = open(&env);
        commit(&log, 61, 0).unwrap();
        log.truncate_before(behind(61)).unwrap();
        let (records, end) = read_all(&env).unwrap();
        assert_eq!(records, [Owned::Commit(61, 61, Vec::new())]);
        assert_eq!(end.last_timestamp, Timestamp(61));
        assert_eq!(log.check().unwrap(), Vec::<String>::new());
    });
}

/// The log when a page that a record changes was not written yet, and everything else is in files.
pub(super) fn log_under_a_page(seed: u64) -> std::result::Result<(), String> {
    let simulation = simulation(seed);
    run(&simulation, |env| {
        let log = open(&env);
        commit(&log, 1, 500).unwrap();
        let page = Owned::Page(7, payload(1, 100));
        let number = log.append(&page.record()).unwrap();
        for ts in 2..=30 {
            commit(&log, ts, 500).unwrap();
        }
        drop(log);
        // An opening knows it, too.
        let log = open(&env);
        commit(&log, 31, 0).unwrap();
        let cut = Timestamp(31);
        log.truncate_before(NeededFrom { cut, page: number }).unwrap();
        if !read_all(&env).unwrap().0.contains(&page) {
            return Err("the log is gone under a page".to_owned());
        }
        assert!(log.truncate_before(NeededFrom { cut, page: number.next() }).unwrap() > 0);
        assert_eq!(read_all(&env).unwrap().0, [Owned::Commit(31, 31, Vec::new())]);
        Ok(())
    })
}

#[test]
fn the_log_stays_under_pages_that_are_not_written_yet() {
    (0..4).try_for_each(log_under_a_page).unwrap();
}

#[test]
fn an_empty_log_keeps_its_timestamp_and_position() {
    let simulation = simulation(1);
    run(&simulation, |env| {
        let log = open(&env);
        commit(&log, 70, 1).unwrap();
        let lsn = log.durable_lsn();
        drop(log);
        for epoch in 2..5 {
            let log = open(&env);
            log.truncate_before(behind(70)).unwrap();
            let (records, end) = read_all(&env).unwrap();
            assert!(records.is_empty());
            assert_eq!((end.next_lsn, end.last_timestamp, end.epoch), (lsn, Timestamp(70), epoch));
        }
    });
}

#[test]
fn concurrent_committers_share_syncs_and_each_is_durable() {
    for seed in 0..20 {
        let simulation = simulation(seed);
        let counters = run(&simulation, |env| {
            let log = Arc::new(open(&env));
            let sequence = Arc::new(Mutex::new(0));
            let handles: Vec<_> = (0..6)
                .map(|thread| {
                    let (log, sequence) = (log.clone(), sequence.clone());
                    let body = move || {
                        for i in 0..15 {
                            let ticket = append_next(&log, &sequence, 10 * thread + i).1;
                            log.wait_durable(ticket).unwrap();
                        }
                    };
                    env.spawn.spawn("committer", Box::new(body)).unwrap()
                })
                .collect();
            handles.into_iter().for_each(|handle| handle.join().unwrap());
            let (records, _) = read_all(&env).unwrap();
            assert_eq!(records.len(), 90);
            log.counters()
        });
        assert_eq!(counters.commits, 90);
        assert!(counters.blocks < 60, "6 threads share syncs: {counters:?}");
    }
}

fn append_next(log: &Log, sequence: &Mutex<u64>, length: usize) -> (u64, Ticket) {
    let mut last = sequence.lock();
    *last += 1;
    let record = Owned::Commit(*last, *last, payload(*last, length));
    (*last, log.append_waited(&record.record()).unwrap())
}

#[test]
fn after_a_failed_sync_nothing_is_acknowledged_until_reopened() {
    for seed in 0..20 {
        let simulation = simulation(seed);
        run(&simulation, |env| {
            let log = open(&env);
            commit(&log, 1, 100).unwrap();
        });
        simulation.faults().fail_sync("log-", 3);
        run(&simulation, |env| {
            let log = open(&env);
            let error = commit(&log, 2, 100).unwrap_err();
            assert_eq!(error.code(), Code::Poisoned);
            assert!(error.to_string().contains("fsync"), "{error}");
            for _ in 0..3 {
                assert_eq!(commit(&log, 3, 100).unwrap_err().code(), Code::Poisoned);
                assert_eq!(log.flush().unwrap_err().code(), Code::Poisoned);
                assert_eq!(log.append(&Owned::Abort(1).record()).unwrap_err().code(), Code::Poisoned);
            }
            assert!(log.poisoned().is_some());
        });
        // The process ends, the machine lives on: what was half on disk is read from memory, and must not be lost
        // later.
        let found = run(&simulation, |env| {
            let log = open(&env);
            let found = read_all(&env).unwrap().0.len();
            commit(&log, 9, 100).unwrap();
            found
        });
        simulation.power_off();
        let records = run(&simulation, |env| read_all(&env).unwrap().0);
        assert_eq!(records.len(), found + 1, "what recovery saw stays");
        assert_eq!(records.last(), Some(&Owned::Commit(9, 9, payload(9, 100))));
    }
}

#[test]
fn segment_names_are_exact() {
    assert_eq!(segment_name(Lsn(0x1240)), "log-0000000000001240");
    assert_eq!(segment_start("log-0000000000001240"), Some(Lsn(0x1240)));
    for name in [
        "log-1240",
        "log-000000000000124G",
        "log-0000000000001240.tmp",
        "log-00000000000012AB",
        "xlog-0000000000001240",
    ] {
        assert_eq!(segment_start(name), None, "{name}");
    }
    assert_eq!(layout::temporary_segment("log-0000000000001240.tmp"), Some(0));
    assert_eq!(layout::temporary_segment("log-0000000000001240-00000007.tmp"), Some(7));
    assert_eq!(layout::temporary_segment("log-1240.tmp"), None);
}

#[test]
fn a_panic_of_the_writer_is_told_to_all_who_wait() {
    for seed in 0..20 {
        let simulation = simulation(seed);
        run(&simulation, |env| {
            let log = Arc::new(open(&env));
            // The second one contradicts the order of timestamps, on which the writer of the batch insists.
            let tickets: Vec<Ticket> = [10, 9, 11, 12]
                .map(|ts| log.append_waited(&Owned::Commit(ts, ts, payload(ts, 50)).record()).unwrap())
                .into();
            let wait = |ticket: Ticket| {
                let log = log.clone();
                let body = move || {
                    let waited = std::panic::AssertUnwindSafe(|| log.wait_durable(ticket));
                    match std::panic::catch_unwind(waited) {
                        Ok(outcome) => assert_eq!(outcome.unwrap_err().code(), Code::Poisoned),
                        Err(panic) if panic.is::<String>() => {}
                        // The simulation's own.
                        Err(panic) => std::panic::resume_unwind(panic),
                    }
                };
                env.spawn.spawn("committer", Box::new(body)).unwrap()
            };
            let threads: Vec<_> = tickets.into_iter().map(wait).collect();
            threads.into_iter().for_each(|thread| thread.join().unwrap());
            assert!(log.poisoned().unwrap().message().contains("panic"));
            assert_eq!(log.flush().unwrap_err().code(), Code::Poisoned);
        });
        assert!(run(&simulation, |env| read_all(&env).unwrap().0.is_empty()), "the order is tested before the write");
    }
}

/// Panics unless a simulation ends with a panic because of a planted fault.
#[cfg(feature = "faults")]
fn must_catch(planted: crate::fault::Fault, body: fn() -> RunEnd) {
    crate::fault::plant(Some(planted));
    let end = body();
    crate::fault::plant(None);
    assert!(matches!(end, RunEnd::Panicked { .. }), "{} is not caught: {end:?}", planted.name());
}
