//! The engine's threads: job workers, their monitor, the one that writes asynchronous commits to disk, the one that
//! frees evicted blocks, the one that writes space for the log, and the one that removes files.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use weft_env::JoinHandle;
use weft_format::{Code, Error, Lsn, Result};

use crate::jobs::{LOOK, Ran, look};
use crate::txn::Core;

/// How long an asynchronous commit stays in memory, about.
const FLUSH_DELAY: Duration = Duration::from_millis(10);
/// How often idle threads look around.
const LOOK_AROUND: Duration = Duration::from_millis(100);
/// So long after the last write the manifest names the end of the log.
const QUIET: Duration = Duration::from_secs(1);
/// The least that a worker waits for the moment at which idle cores are expected: looking costs something, too.
const WAIT_MIN: Duration = Duration::from_millis(10);

/// Starts the threads; none when the options say that jobs are run by hand.
pub(super) fn start(core: &Arc<Core>) -> Result<Vec<JoinHandle>> {
    assert!(!core.follows, "who follows changes no files, so it has no jobs (follow 5)");
    let mut handles = Vec::new();
    for number in 0..core.options.workers {
        let worker = core.clone();
        handles.push(spawn(core, &format!("weft-job-{number}"), move || work(&worker))?);
    }
    if core.options.workers > 0 {
        let watched = core.clone();
        handles.push(spawn(core, "weft-monitor", move || watch(&watched))?);
        let flusher = core.clone();
        handles.push(spawn(core, "weft-log-flush", move || flush(&flusher))?);
        let freer = core.clone();
        handles.push(spawn(core, "weft-cache-free", move || {
            freer.cache.free_evicted(|| freer.stop.load(Ordering::Acquire), LOOK_AROUND)
        })?);
        let ahead = core.clone();
        handles.push(spawn(core, "weft-log-ahead", move || {
            ahead.log.serve_spares(|| ahead.stop.load(Ordering::Acquire), LOOK_AROUND)
        })?);
        let remover = core.clone();
        handles.push(spawn(core, "weft-file-remove", move || {
            remover.services.files.serve_removals(|| remover.stop.load(Ordering::Acquire), LOOK_AROUND)
        })?);
    }
    Ok(handles)
}

/// Starts the thread of an engine that follows: it looks at columns, and does nothing else. None when the options say
/// that jobs are run by hand.
pub(super) fn start_following(core: &Arc<Core>) -> Result<Vec<JoinHandle>> {
    assert!(core.follows, "who writes looks between jobs");
    if core.options.workers == 0 {
        return Ok(Vec::new());
    }
    let looker = core.clone();
    Ok(vec![spawn(core, "weft-look", move || look_on(&looker))?])
}

/// Looks at columns when somebody wants to know of them, until the engine stops.
fn look_on(core: &Core) {
    let mut heard = 0;
    while !core.stop.load(Ordering::Acquire) && core.poison.cause().is_none() {
        let rings = core.services.wake.rings();
        if !core.look_at_columns() {
            heard = if heard == rings { core.services.wake.wait(rings, LOOK_AROUND) } else { rings };
        }
    }
}

fn spawn(core: &Core, name: &str, body: impl FnOnce() + Send + 'static) -> Result<JoinHandle> {
    let spawned = core.env.spawn.spawn(name, Box::new(body));
    spawned.map_err(|error| Error::io(format!("starting the thread {name}"), &error))
}

/// Runs jobs until the engine stops.
fn work(core: &Core) {
    let mut heard = 0;
    while !core.stop.load(Ordering::Acquire) && core.poison.cause().is_none() {
        let rings = core.services.wake.rings();
        // What fails here has stopped the engine or is tried again after a pause (sched 2).
        let ran = core.runner.run_scheduled().unwrap_or(Ran::Busy);
        let kept_house = core.keep_house(ran);
        if ran != Ran::Job && !kept_house && !core.look_at_columns() {
            let patience = match ran {
                Ran::Waits(Some(until)) => until.clamp(WAIT_MIN, LOOK_AROUND),
                _ => LOOK_AROUND,
            };
            heard = if heard == rings { core.services.wake.wait(rings, patience) } else { rings };
        }
    }
}

/// Looks ten times a second at what runs, until the engine stops.
fn watch(core: &Core) {
    while !core.stop.load(Ordering::Acquire) && core.poison.cause().is_none() {
        let rings = core.monitor_bell.rings();
        look(&core.runner, &core.lending);
        core.monitor_bell.wait(rings, LOOK);
    }
}

/// A moment without commits: it ends with the manifest naming the end of the log, so that damage to its last blocks is
/// told from an unfinished write (docs/format/log.md).
struct Quiet {
    end: Lsn,
    since_nanos: u64,
}

impl Quiet {
    fn look(&mut self, core: &Core) {
        // A writer that has nothing to write notices, too.
        if core.check_term().is_err() {
            return;
        }
        // What tells of edits of the manifest waits for nobody; who follows waits for it. A full disk, a log that has
        // stopped: whoever commits is told.
        if core.log.pending_bytes() > 0 {
            let _ = core.log.flush();
        }
        let (end, now) = (core.log.durable_lsn(), core.env.clock.monotonic_nanos());
        if end != self.end {
            *self = Quiet { end, since_nanos: now };
        } else if now - self.since_nanos >= QUIET.as_nanos() as u64 {
            self.since_nanos = now;
            // A full disk: the next try comes after as long again.
            let _ = core.name_log_end();
        }
    }
}

/// Writes asynchronous commits to disk until the engine stops, and names the log's end when it has been quiet.
fn flush(core: &Core) {
    let commits = &core.async_commits;
    let mut quiet = Quiet { end: Lsn(0), since_nanos: core.env.clock.monotonic_nanos() };
    while !core.stop.load(Ordering::Acquire) {
        let rings = commits.wake.rings();
        if !commits.pending.load(Ordering::Acquire) {
            commits.wake.wait(rings, LOOK_AROUND);
            quiet.look(core);
            continue;
        }
        core.env.clock.sleep(FLUSH_DELAY);
        commits.pending.store(false, Ordering::Release);
        if let Err(error) = core.log.flush() {
            if error.code() == Code::Poisoned {
                core.poison_if_stopped(error);
                return;
            }
            // A full disk: the records wait in memory for the next try.
            commits.pending.store(true, Ordering::Release);
            core.env.clock.sleep(LOOK_AROUND);
        }
    }
}
