//! Crashes at random operations: what was acknowledged is there, in order; nothing else but what was appended.

use std::collections::BTreeSet;

use super::*;
use crate::fault::{self, Fault};

/// What survived every crash so far, and what may or may not be in the log.
#[derive(Clone, Debug, Default)]
struct Model {
    /// Everything appended and not known to be lost, in log order.
    appended: Vec<Owned>,
    /// Timestamps of commits that were acknowledged as durable.
    acknowledged: BTreeSet<u64>,
    /// Timestamps at or below this may have been truncated.
    cut: u64,
}

impl Model {
    /// Compares the log with the model and takes it over.
    fn recover(&mut self, records: Vec<Owned>, what: &str) {
        let skipped = match records.first() {
            None => self.appended.len(),
            Some(first) => self.appended.iter().position(|record| record == first).expect("nothing is invented"),
        };
        let (gone, kept) = self.appended.split_at(skipped);
        assert!(kept.starts_with(&records), "{what}: the log is a piece of what was appended");
        let lost = &kept[records.len()..];
        for record in gone {
            // With nothing left in the log it cannot be told what was truncated from what was lost.
            let must_stay = |ts: &u64| *ts > self.cut && self.acknowledged.contains(ts);
            assert!(!matches!(record, Owned::Commit(_, ts, _) if must_stay(ts)), "{what}: {record:?} was truncated");
        }
        for record in lost {
            assert!(
                !matches!(record, Owned::Commit(_, ts, _) if self.acknowledged.contains(ts)),
                "{what}: lost {record:?}"
            );
        }
        self.appended = records;
    }
}

struct Shared {
    model: Mutex<Model>,
    next_ts: Mutex<u64>,
}

/// One life of the database: recovers, compares, commits from several threads, truncates now and then.
fn life(env: &Env, shared: &Arc<Shared>, seed: u64, what: &str) {
    let (records, end) = read_all(env).unwrap_or_else(|error| panic!("{what}: {error}"));
    shared.model.lock().recover(records, what);
    let log = Arc::new(Log::create_or_continue(env, &dir(), OPTIONS, end).unwrap());
    let handles: Vec<_> = (0..3)
        .map(|thread| {
            let (env_inner, log, shared) = (env.clone(), log.clone(), shared.clone());
            let body = move || client(&env_inner, &log, &shared, seed * 10 + thread);
            env.spawn.spawn("client", Box::new(body)).unwrap()
        })
        .collect();
    handles.into_iter().for_each(|handle| handle.join().unwrap());
    log.seal().unwrap();
}

fn client(env: &Env, log: &Log, shared: &Shared, id: u64) {
    for step in 0..12 {
        let random = env.rng.next_u64();
        let length = (random >> 8) as usize % 900;
        let mut next = shared.next_ts.lock();
        *next += 1;
        let ts = *next;
        let append = |record: Owned| {
            // Known to the model before the log sees it: a crash may come in between.
            shared.model.lock().appended.push(record.clone());
            record
        };
        match random % 8 {
            0 => assert!(log.append(&append(Owned::Chunk(id, payload(ts, length))).record()).is_ok()),
            1 => {
                log.append(&append(Owned::Commit(ts, ts, payload(ts, length))).record()).unwrap();
                drop(next);
                log.flush().unwrap();
                shared.model.lock().acknowledged.insert(ts);
            }
            2 => assert!(log.append(&append(Owned::Commit(ts, ts, payload(ts, length))).record()).is_ok()),
            _ => {
                let ticket = log.append_waited(&append(Owned::Commit(id, ts, payload(ts, length))).record()).unwrap();
                drop(next);
                log.wait_durable(ticket).unwrap();
                shared.model.lock().acknowledged.insert(ts);
            }
        }
        if step == 8 {
            let cut = ts.saturating_sub(20);
            let mut model = shared.model.lock();
            model.cut = model.cut.max(cut);
            drop(model);
            log.truncate_before(behind(cut)).unwrap();
        }
    }
}

/// Several lives of one machine with a crash, a kill or an orderly end each.
fn lives(seed: u64) -> Option<String> {
    let simulation = simulation(seed);
    let shared = Arc::new(Shared { model: Mutex::default(), next_ts: Mutex::default() });
    for number in 0..5 {
        if number < 4 {
            simulation.crash_after(1 + (seed * 37 + number * 101) % 97);
        }
        let (inner, what) = (shared.clone(), format!("seed {seed}, life {number}"));
        let end = simulation.run(move |env| life(&env, &inner, seed, &what));
        if let RunEnd::Panicked { message, .. } = end {
            return Some(message);
        }
        simulation.cancel_crash();
        if matches!(end, RunEnd::Finished) && seed.is_multiple_of(2) {
            simulation.power_off();
        }
    }
    None
}

#[test]
fn acknowledged_commits_survive_crashes() {
    for seed in 0..400 {
        if let Some(failure) = lives(seed) {
            panic!("{failure}");
        }
    }
}

#[test]
fn every_crash_point_of_a_short_life_recovers() {
    for seed in 0..3 {
        let mut point = 1;
        loop {
            let simulation = simulation(seed);
            let shared = Arc::new(Shared { model: Mutex::default(), next_ts: Mutex::default() });
            simulation.crash_after(point);
            let inner = shared.clone();
            let end = simulation.run(move |env| life(&env, &inner, seed, "first life"));
            if end == RunEnd::Finished {
                break;
            }
            assert!(matches!(end, RunEnd::Crashed { .. }), "{end:?}");
            let what = format!("seed {seed}, point {point}");
            let end = simulation.run(move |env| life(&env, &shared, seed, &what));
            assert_eq!(end, RunEnd::Finished);
            point += 1;
        }
        assert!(point > 30, "a life has many points: {point}");
    }
}

/// The planted faults of the log are found by the tests above (run with the feature `faults`, one test at a time).
#[cfg(feature = "faults")]
#[test]
#[ignore = "plants faults for the whole process: `planted_faults_are_caught_apart` runs it"]
fn planted_faults_are_caught() {
    for planted in [Fault::SKIP_LOG_SYNC, Fault::ACK_BEFORE_DURABLE, Fault::SKIP_DIR_SYNC, Fault::RECYCLE_UNSYNCED] {
        fault::plant(Some(planted));
        let caught = (0..1000).find_map(lives);
        fault::plant(None);
        assert!(caught.is_some(), "{} is not caught", planted.name());
    }
    fault::plant(Some(Fault::PAGE_BEFORE_LOG));
    let caught = (0..20).find_map(|seed| super::numbers::page_behind_log(seed).err());
    fault::plant(None);
    assert!(caught.is_some(), "PAGE_BEFORE_LOG is not caught");
    fault::plant(Some(Fault::CUT_LOG_UNDER_PAGES));
    let caught = (0..4).find_map(|seed| super::log_under_a_page(seed).err());
    fault::plant(None);
    assert!(caught.is_some(), "CUT_LOG_UNDER_PAGES is not caught");
}

#[test]
fn no_fault_is_planted_in_an_ordinary_run() {
    assert!(Fault::KERNEL.iter().all(|fault| !fault::active(*fault)));
}
