//! Files for segments to come: made of those that went, or by a thread.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use weft_env::Fs;

use super::*;
#[cfg(feature = "faults")]
use crate::fault::Fault;
use crate::log::read_live_log;

fn traced(seed: u64) -> Arc<Simulation> {
    Arc::new(simulation_of(SimOptions { record_trace: true, ..SimOptions::seeded(seed) }))
}

/// Operations on files of the log that begin like this, since that many.
fn count(simulation: &Simulation, operation: &str, since: usize) -> usize {
    let trace = simulation.trace();
    trace[since..].iter().filter(|line| line.contains(operation) && line.contains("log-")).count()
}

fn names(env: &Env) -> Vec<String> {
    env.fs.list(&dir()).unwrap()
}

#[test]
fn segments_that_went_become_those_to_come() {
    let simulation = traced(1);
    let outer = simulation.clone();
    let wanted = run(&simulation, move |env| {
        let log = open(&env);
        for ts in 1..=80 {
            commit(&log, ts, 300).unwrap();
            if ts % 5 == 0 {
                log.truncate_before(behind(ts - 5)).unwrap();
            }
        }
        let since = outer.trace().len();
        for ts in 81..=160 {
            commit(&log, ts, 300).unwrap();
            if ts % 5 == 0 {
                log.truncate_before(behind(ts - 5)).unwrap();
            }
        }
        assert_eq!(count(&outer, "create", since), 0, "nothing but files that were there: {:?}", names(&env));
        assert!(count(&outer, "rename", since) > 8);
        assert_eq!(log.check().unwrap(), Vec::<String>::new());
        let (records, end) = read_all(&env).unwrap();
        assert_eq!(end.last_timestamp, Timestamp(160));
        records
    });
    simulation.power_off();
    run(&simulation, move |env| {
        assert_eq!(read_all(&env).unwrap().0, wanted, "what others left in a file passes for nothing (spares 2)");
        drop(open(&env));
        assert!(names(&env).iter().all(|name| !name.ends_with(".tmp")), "{:?}", names(&env));
    });
}

#[test]
fn many_segments_that_go_at_once_are_removed_but_for_two() {
    let simulation = simulation(2);
    run(&simulation, |env| {
        let log = open(&env);
        (1..=100).for_each(|ts| assert!(commit(&log, ts, 300).is_ok()));
        let before = names(&env).len();
        let removed = log.truncate_before(behind(99)).unwrap();
        assert!(removed > 6 && names(&env).len() == before - removed + 2, "{removed} of {before}");
        log.remove_spares();
        assert_eq!(names(&env).len(), before - removed);
        commit(&log, 101, 3000).unwrap();
    });
}

#[test]
fn space_is_written_ahead_by_a_thread() {
    let simulation = traced(3);
    let outer = simulation.clone();
    run(&simulation, move |env| {
        let log = Arc::new(open(&env));
        let stop = Arc::new(AtomicBool::new(false));
        let (ahead, stopped) = (log.clone(), stop.clone());
        let serve = move || ahead.serve_spares(|| stopped.load(Ordering::Acquire), Duration::from_millis(1));
        let thread = env.spawn.spawn("ahead", Box::new(serve)).unwrap();
        let mut ready = 0;
        for ts in 1..=60 {
            commit(&log, ts, 300).unwrap();
            env.clock.sleep(Duration::from_millis(3));
            ready += usize::from(names(&env).iter().any(|name| name.starts_with("log-ffff")));
        }
        assert!(ready > 10, "a file was ready for the next segment {ready} times");
        let segments = names(&env).iter().filter(|name| segment_start(name).is_some()).count();
        assert!(segments > 5, "{segments}");
        // The first one was there before anybody served.
        assert_eq!(count(&outer, "rename", 0), segments);
        assert_eq!(read_all(&env).unwrap().1.last_timestamp, Timestamp(60));
        // Without space there is none; the log goes on when there is again.
        outer.faults().fill_disk();
        log.truncate_before(behind(59)).unwrap();
        log.remove_spares();
        env.clock.sleep(Duration::from_millis(5));
        outer.faults().set_capacity(None);
        (61..=90).for_each(|ts| assert!(commit(&log, ts, 300).is_ok()));
        stop.store(true, Ordering::Release);
        log.wake_spares();
        thread.join().unwrap();
    });
}

/// A disk that has less than a segment left is not filled again and again by who writes space ahead.
#[test]
fn space_that_is_not_there_is_asked_for_once_for_a_segment() {
    let simulation = traced(5);
    let outer = simulation.clone();
    run(&simulation, move |env| {
        let options = LogOptions { segment_bytes: 40_000, zero_ahead_bytes: 4_000, ..OPTIONS };
        let log = Arc::new(Log::create_or_continue(&env, &dir(), options, LogEnd::default()).unwrap());
        let mut ts = 0;
        while log.durable_lsn().0 < 35_500 {
            ts += 1;
            commit(&log, ts, 300).unwrap();
        }
        outer.faults().set_capacity(Some(outer.faults().used_bytes() + 12_000));
        let stop = Arc::new(AtomicBool::new(false));
        let (ahead, stopped) = (log.clone(), stop.clone());
        let serve = move || ahead.serve_spares(|| stopped.load(Ordering::Acquire), Duration::from_millis(1));
        let thread = env.spawn.spawn("ahead", Box::new(serve)).unwrap();
        for _ in 0..10 {
            ts += 1;
            commit(&log, ts, 300).unwrap();
            env.clock.sleep(Duration::from_millis(3));
        }
        assert_eq!(outer.trace().iter().filter(|line| line.contains("create") && line.contains("log-ffff")).count(), 1);
        assert!(names(&env).iter().all(|name| !name.starts_with("log-ffff")), "{:?}", names(&env));
        stop.store(true, Ordering::Release);
        log.wake_spares();
        thread.join().unwrap();
    });
}

/// A disk on which something happens after a file was opened and before it is read: behind so many that are opened
/// before.
struct Late {
    fs: Arc<dyn Fs>,
    happens: Mutex<Option<(usize, Happens)>>,
}

type Happens = Box<dyn FnOnce() + Send>;

impl Fs for Late {
    fn open(&self, path: &Path, mode: OpenMode) -> std::io::Result<Arc<dyn weft_env::File>> {
        let opened = self.fs.open(path, mode);
        let mut waits = self.happens.lock();
        let happens = waits.take_if(|(before, _)| *before == 0);
        waits.iter_mut().for_each(|(before, _)| *before -= 1);
        drop(waits);
        happens.into_iter().for_each(|(_, happens)| happens());
        opened
    }
    fn list(&self, dir: &Path) -> std::io::Result<Vec<String>> {
        self.fs.list(dir)
    }
    fn exists(&self, path: &Path) -> std::io::Result<bool> {
        self.fs.exists(path)
    }
    fn is_stream(&self, path: &Path) -> std::io::Result<bool> {
        self.fs.is_stream(path)
    }
    fn rename_new(&self, from: &Path, to: &Path) -> std::io::Result<()> {
        self.fs.rename_new(from, to)
    }
    fn rename(&self, from: &Path, to: &Path) -> std::io::Result<()> {
        self.fs.rename(from, to)
    }
    fn remove(&self, path: &Path) -> std::io::Result<()> {
        self.fs.remove(path)
    }
    fn create_dir_all(&self, dir: &Path) -> std::io::Result<()> {
        self.fs.create_dir_all(dir)
    }
    fn sync_dir(&self, dir: &Path) -> std::io::Result<()> {
        self.fs.sync_dir(dir)
    }
    fn lock(&self, path: &Path, owner: &str) -> std::io::Result<Box<dyn weft_env::DirLock>> {
        self.fs.lock(path, owner)
    }
}

/// The segment that a reader has opened becomes another one, and is written, before the bytes are read.
fn reads_what_becomes_another() -> RunEnd {
    simulation(4).run(|env| {
        // Headers are looked at before a segment is read.
        let mut happened = [0; 2];
        for (goes_on, before) in (0..4).flat_map(|before| [(false, before), (true, before)]) {
            let log = Arc::new(open(&env));
            let begin = log.durable_lsn();
            let mut ts = begin.0 + 1;
            commit(&log, ts, 200).unwrap();
            let announced = log.durable_lsn();
            let (writer, inner) = (log.clone(), env.clone());
            let happens = move || {
                for _ in 0..30 {
                    ts += 1;
                    commit(&writer, ts, 300).unwrap();
                    writer.truncate_before(behind(ts - 1)).unwrap();
                }
                assert!(!names(&inner).contains(&segment_name(begin)), "the segment that was opened has gone");
            };
            let late = Arc::new(Late { fs: env.fs.clone(), happens: Mutex::default() });
            let slow = Env { fs: late.clone(), ..env.clone() };
            let read = if goes_on {
                let mut reader = read_live_log(&slow, &dir(), announced).unwrap();
                while reader.next().unwrap().is_some() {}
                *late.happens.lock() = Some((before, Box::new(happens)));
                reader.advance(Lsn(announced.0 + 8))
            } else {
                *late.happens.lock() = Some((before, Box::new(happens)));
                read_live_log(&slow, &dir(), announced).map(|_| ())
            };
            let has_happened = late.happens.lock().is_none();
            happened[usize::from(goes_on)] += usize::from(has_happened);
            let is_gone = read.is_err_and(|error| error.code() == Code::UndefinedFile);
            assert!(is_gone || !has_happened, "{goes_on} {before}");
        }
        assert!(happened.iter().all(|count| *count > 0), "segments are opened: {happened:?}");
    })
}

#[test]
fn who_reads_a_segment_that_becomes_another_one_finds_it_gone() {
    assert_eq!(reads_what_becomes_another(), RunEnd::Finished);
}

#[cfg(feature = "faults")]
#[test]
#[ignore = "plants faults for the whole process: `planted_faults_are_caught_apart` runs it"]
fn planted_faults_of_spares_are_caught() {
    must_catch(Fault::READ_RECYCLED, reads_what_becomes_another);
}
