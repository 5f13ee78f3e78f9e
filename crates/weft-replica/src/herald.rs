//! The writer's side: it announces how far its log is durable, and keeps what its nodes need.
//!
//! ```text
//!   the thread that has written a block ─▶ 64 bytes into DIR/nodes/announced ─▶ wakes who waits for the block
//!   the herald's thread, each 100 ms    ─▶ a beat ─▶ looks at DIR/nodes/*.node ─▶ what is kept (retention)
//! ```
//!
//! 1. What is announced never goes back within an opening, and is durable when it is written.
//! 2. A node that tells nothing new for as long as anything is kept, and some seconds at least, is forgotten, and its
//!    file removed.
//! 3. Trouble with the files of nodes never stops the writer: nodes then hear less.
//! 4. A writer that has stopped (poisoned) says that nothing comes, as one that has closed does; one whose directory
//!    another has taken says nothing any more: the file is that one's. The farewell is said while the directory is
//!    locked.
//!
//! Concurrency: the mutex of what was said last is held during one write into memory.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use weft_env::sync::Mutex;
use weft_env::{Env, File};
use weft_format::{Lsn, Result};
use weft_kernel::fault::active;
use weft_kernel::log::{Durable, LogKeeper};
use weft_kernel::{Engine, KeptFiles};

use crate::announcement::Announcement;
use crate::bell::{Bell, Worker};
use crate::company::Company;
use crate::faults;
use crate::place::Place;
use crate::registration::Registration;
use crate::retention::{Bounds, Need, Present, Retention};
use crate::seen::{NodeSeen, Nodes};
use crate::standing::Phase;

/// A node is not forgotten before it was silent for so long, however short anything is kept.
const SILENCE_MIN: Duration = Duration::from_secs(10);

/// What a writer does for nodes.
#[derive(Clone, Copy, Debug)]
pub struct HeraldOptions {
    /// So many bytes of log are kept for nodes that have not read them, and as many of files.
    pub keep_bytes: u64,
    /// They are kept for so long.
    pub keep_time: Duration,
    /// How often it shows that it lives, and looks after nodes.
    pub beat: Duration,
    /// The machine, as [`weft_env::machine`] knows it.
    pub machine: u32,
}

impl Default for HeraldOptions {
    fn default() -> HeraldOptions {
        let (keep_bytes, keep_time) = (1 << 30, Duration::from_secs(600));
        HeraldOptions { keep_bytes, keep_time, beat: Duration::from_millis(100), machine: 0 }
    }
}

/// What was announced last, and where it is.
struct Voice {
    file: Arc<dyn File>,
    said: Mutex<Announcement>,
    failures: AtomicU64,
}

impl Voice {
    /// More is durable (herald 1).
    fn tell(&self, durable: Durable) {
        let mut said = self.said.lock();
        if durable.lsn >= said.lsn {
            (said.lsn, said.last) = (durable.lsn, durable.last);
            self.write(&said);
        }
    }

    fn beat(&self, wall_micros: i64, is_closed: bool) {
        let mut said = self.said.lock();
        said.beat += 1;
        (said.wall_micros, said.is_closed) = (wall_micros, is_closed);
        self.write(&said);
    }

    fn write(&self, said: &Announcement) {
        if self.file.write_at(&said.encode(), 0).is_err() {
            self.failures.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// A node that has registered.
struct Known {
    told: Registration,
    /// When it told something new.
    heard: u64,
}

struct Held {
    nodes: BTreeMap<String, Known>,
    retention: Retention<KeptFiles>,
    log_from: Option<Lsn>,
}

struct Shared {
    env: Env,
    engine: Arc<Engine>,
    place: Place,
    voice: Arc<Voice>,
    options: HeraldOptions,
    held: Mutex<Held>,
    bell: Arc<Bell>,
}

impl Nodes for Shared {
    fn nodes(&self) -> Vec<NodeSeen> {
        let now = self.env.clock.monotonic_nanos();
        let durable = self.engine.durable().lsn;
        let held = self.held.lock();
        let seen = |(name, Known { told, heard }): (&String, &Known)| NodeSeen {
            name: name.clone(),
            address: told.address.clone(),
            phase: told.phase,
            position: told.position,
            lag_bytes: durable.0.saturating_sub(told.position.0),
            published: told.published,
            heard: Duration::from_nanos(now.saturating_sub(*heard)),
            is_left_behind: told.phase != Phase::Joining && held.log_from.is_some_and(|from| told.needs_from < from),
        };
        held.nodes.iter().map(seen).collect()
    }
}

/// Announces for an engine, until it is dropped.
pub struct Herald {
    shared: Arc<Shared>,
    worker: Worker,
}

impl Herald {
    /// Begins to announce; once for an engine.
    pub fn start(engine: &Arc<Engine>, options: HeraldOptions) -> Result<Herald> {
        let env = engine.env().clone();
        let place = Place::of(&env, engine.dir());
        let (opening, epoch, machine) = (env.rng.next_u64(), engine.epoch(), options.machine);
        let said = Announcement { opening, epoch, machine, ..Announcement::default() };
        let voice =
            Arc::new(Voice { file: place.announced_to()?, said: Mutex::new(said), failures: AtomicU64::new(0) });
        let told = voice.clone();
        let durable = engine.announce_by(Box::new(move |durable| told.tell(durable)));
        voice.tell(durable);
        let bounds = Bounds {
            bytes: options.keep_bytes,
            nanos: u64::try_from(options.keep_time.as_nanos()).unwrap_or(u64::MAX),
        };
        let held = Held { nodes: BTreeMap::new(), retention: Retention::new(bounds), log_from: None };
        let shared = Arc::new(Shared {
            env: env.clone(),
            engine: engine.clone(),
            place,
            voice,
            options,
            held: Mutex::new(held),
            bell: Arc::new(Bell::new()),
        });
        shared.beat();
        // What an earlier opening has put aside for nodes that have gone.
        engine.keep_log_from(LogKeeper::Nodes, shared.held.lock().log_from);
        let nodes: Arc<dyn Nodes> = shared.clone();
        engine.keep_company(Company::writer(&nodes));
        let beating = shared.clone();
        let worker = Worker::start(&env, ("weft-herald", "announces"), &shared.bell, move || beating.run())?;
        Ok(Herald { shared, worker })
    }

    /// Looks after the nodes now, as its thread does now and then.
    pub fn look(&self) {
        self.shared.beat();
    }

    /// The nodes that have registered, by name.
    pub fn nodes(&self) -> Vec<NodeSeen> {
        self.shared.nodes()
    }

    /// From which position on the log is kept for nodes; none: there are none.
    pub fn keeps_log_from(&self) -> Option<Lsn> {
        self.shared.held.lock().log_from
    }

    /// How many announcements could not be written.
    pub fn failures(&self) -> u64 {
        self.shared.voice.failures.load(Ordering::Relaxed)
    }

    /// Stops looking after nodes; what is kept for them stays kept, so that the last checkpoint takes nothing away.
    pub fn stop(&self) {
        self.worker.stop();
    }

    /// The engine closes, and has written its last: says so, and keeps nothing any more. While the directory is locked.
    pub fn farewell(&self) {
        if self.shared.engine.has_lost_directory() {
            return;
        }
        self.shared.voice.tell(self.shared.engine.durable());
        self.shared.voice.beat(self.shared.env.clock.wall_micros(), true);
        self.shared.held.lock().retention = Retention::new(Bounds { bytes: 0, nanos: 0 });
    }
}

impl Shared {
    fn run(&self) {
        while !self.bell.has_rung() {
            self.bell.pause(self.options.beat);
            self.beat();
        }
    }

    fn beat(&self) {
        if active(faults::ANNOUNCE_EARLY) {
            let Durable { lsn, last } = self.engine.durable();
            self.voice.tell(Durable { lsn: Lsn(lsn.0 + 4096), last });
        }
        // It may notice here that another has its directory.
        let stopped = self.engine.check_writes();
        if self.engine.has_lost_directory() {
            return;
        }
        self.voice.beat(self.env.clock.wall_micros(), stopped.is_err());
        // Nodes that cannot be looked at need what they needed (herald 3).
        if let Ok(registered) = self.place.registered() {
            self.keep(registered);
        }
    }

    /// Keeps what these need.
    fn keep(&self, registered: Vec<(String, Option<Registration>)>) {
        let now = self.env.clock.monotonic_nanos();
        let mut held = self.held.lock();
        let Held { nodes, retention, log_from } = &mut *held;
        let mut before = std::mem::take(nodes);
        for (name, told) in registered {
            let known = before.remove(&name);
            // One that cannot be read now needs what it needed.
            let Some(told) = told.or_else(|| Some(known.as_ref()?.told.clone())) else { continue };
            let known = known.filter(|known| (known.told.life, known.told.beat) == (told.life, told.beat));
            let heard = known.map_or(now, |known| known.heard);
            let silence = self.options.keep_time.max(SILENCE_MIN);
            if now.saturating_sub(heard) >= u64::try_from(silence.as_nanos()).unwrap_or(u64::MAX) {
                self.place.leave(&name);
                continue;
            }
            nodes.insert(name, Known { told, heard });
        }
        let needs: Vec<Need> = nodes.values().map(|known| need(&known.told)).collect();
        let kept_bytes = || self.engine.kept_bytes();
        let kept_here = || {
            let kept = self.engine.keep_files();
            let edits = kept.edits();
            (kept, edits)
        };
        let durable = self.engine.durable().lsn;
        let present = Present { now_nanos: now, durable, edits: self.engine.edits(), kept_bytes: &kept_bytes };
        let from = retention.update(&needs, &present, kept_here);
        if from != *log_from {
            *log_from = from;
            self.engine.keep_log_from(LogKeeper::Nodes, from);
        }
    }
}

/// A node that joins may need everything.
fn need(told: &Registration) -> Need {
    match told.phase {
        Phase::Following => Need { from: told.needs_from, edits: told.edits },
        Phase::Waiting | Phase::Joining | Phase::Lost => Need { from: Lsn(0), edits: 0 },
    }
}
