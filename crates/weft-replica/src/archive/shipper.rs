//! Ships the log of an engine to an archive, round by round.
//!
//! ```text
//!   each second     hold files ─ how far is the log durable? ─ its spans, one after another ─ note ─ hold goes
//!   beside it       a base, when the log behind the last one is long ─ the next piece names it ─ what is old goes
//!   trouble         pauses, longer and longer; beyond what is kept: a gap, and a new base
//!   taken over      nothing is committed any more
//! ```
//!
//! 1. From the position of the note on the log is kept, and files from a moment before its durable end was asked for.
//! 2. A base is named by a piece once it is there, if the log that comes after it is in the archive without a gap.
//! 3. For nodes files stay from a moment on of whose edits the log that was shipped tells: so one that an edit has
//!    named of which it does not tell is there, whatever has forgotten it since.
//! 4. For nodes a base is made when the last one has not the edits from which on the pieces have all files.
//! 5. Of a node that is fed ([`Aim::Feed`]) the directory notes nothing, and its trouble is nobody's but its own.
//!
//! Concurrency: the status's mutex is held for moments; the thread holds nothing while it asks the store.

use std::collections::{BTreeSet, VecDeque};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use weft_env::sync::Mutex;
use weft_env::{Env, ObjectStore};
use weft_format::{Code, Error, Lsn, Result, Timestamp};
use weft_kernel::fault::active;
use weft_kernel::log::{LogKeeper, LogSpan, LogTap};
use weft_kernel::{Engine, KeptFiles};

use super::acks::Acks;
use super::base::{Bases, Made, tidy};
use super::beat::Beat;
use super::claim::{Claim, Failed, check_fence, claim, claim_fed};
use super::names::PieceName;
use super::note::Note;
use super::piece::{Base, ForNodes};
use super::span::Shipment;
use super::standing::{ArchivePhase, ArchiveStatus, Stands, accompany, status_of};
use crate::bell::{Bell, Worker};
use crate::faults;

/// A span has so many bytes of log, unless a block is longer.
const SPAN_BYTES: u64 = 8 << 20;
/// The longest pause while a commit waits.
const WAITED_PAUSE: Duration = Duration::from_millis(20);
/// The shortest interval.
const INTERVAL_MIN: Duration = Duration::from_millis(1);
/// The shortest pause after a base that failed.
const BASE_PAUSE: Duration = Duration::from_secs(10);
/// So long the last round takes at most, but for a request that is under way.
const ENDING_TIME: Duration = Duration::from_secs(10);
/// The longest pause after trouble.
const PAUSE_MAX: Duration = Duration::from_secs(30);
/// A fence is looked for so often, though nothing is shipped: of as many intervals, and no more often than that.
const IDLE_ROUNDS: u32 = 10;
const IDLE_MIN: Duration = Duration::from_millis(100);

/// How an archive is kept.
#[derive(Clone, Copy, Debug)]
pub struct ArchiveOptions {
    /// How often what is durable is shipped.
    pub interval: Duration,
    /// So many bytes of log that are not shipped are kept at most, and as many of files.
    pub keep_bytes: u64,
    /// A base is made when the log behind the last one has so many bytes, or a quarter of that one's.
    pub base_log_bytes: u64,
    /// Any moment of so long ago can be restored.
    pub keep_time: Duration,
    /// A commit waits so long until the archive has it; zero: it does not wait.
    pub ack: Duration,
    /// Nodes may follow the archive: it gets every file that edits of the manifest name, not only what a restore needs.
    pub nodes: bool,
}

impl Default for ArchiveOptions {
    fn default() -> ArchiveOptions {
        ArchiveOptions {
            interval: Duration::from_secs(1),
            keep_bytes: 4 << 30,
            base_log_bytes: 256 << 20,
            keep_time: Duration::from_secs(24 * 3600),
            ack: Duration::ZERO,
            nodes: false,
        }
    }
}

/// Whom it ships for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Aim {
    /// Whoever restores: the database has one archive.
    Archive,
    /// A node, over a connection that has this number.
    Feed(u64),
}

impl Aim {
    pub(super) fn keeper(self) -> LogKeeper {
        match self {
            Aim::Archive => LogKeeper::Archive,
            Aim::Feed(number) => LogKeeper::Feed(number),
        }
    }
}

struct Shared {
    env: Env,
    status: Mutex<ArchiveStatus>,
    /// The last edit of which what was shipped tells.
    told: AtomicU64,
    /// Everything that was durable at this moment was shipped, behind a base; none: that was never so.
    caught_up: Mutex<Option<u64>>,
    bell: Arc<Bell>,
    acks: Acks,
    /// The thread that ships has panicked.
    has_panicked: AtomicBool,
}

/// Ships the log of an engine, until it is dropped.
pub struct Archive {
    engine: Arc<Engine>,
    store: Arc<dyn ObjectStore>,
    shared: Arc<Shared>,
    worker: Worker,
}

impl Archive {
    /// Up to where the archive of a directory has its log, for [`weft_kernel::EngineOptions::archived_to`]: what comes
    /// after it must be there when the archive goes on.
    pub fn has_up_to(env: &Env, dir: &Path) -> Result<Option<Lsn>> {
        Ok(Note::read(env, dir)?.map(|note| note.position))
    }

    /// Begins to ship; once for an engine. Fails when its directory may not go on with the archive; a store that cannot
    /// be asked is asked again, later.
    pub fn start(engine: &Arc<Engine>, store: Arc<dyn ObjectStore>, options: ArchiveOptions) -> Result<Archive> {
        let kept_from = Archive::has_up_to(engine.env(), engine.dir())?;
        let archive = Archive::begin(engine, store, options, (Aim::Archive, kept_from));
        archive.map_err(|failed| match failed {
            Failed::Again(error) | Failed::Gone(error) | Failed::Lost(error) | Failed::Ahead(error) => error,
        })
    }

    /// The same, for whomever it is; from `kept_from` on the log is kept at once. [`Failed::Gone`]: the node that is
    /// fed has what this log does not go on from.
    pub(super) fn begin(
        engine: &Arc<Engine>,
        store: Arc<dyn ObjectStore>,
        options: ArchiveOptions,
        (aim, kept_from): (Aim, Option<Lsn>),
    ) -> Result<Archive, Failed> {
        let env = engine.env().clone();
        if kept_from.is_some() {
            engine.keep_log_from(aim.keeper(), kept_from);
        }
        let status = ArchiveStatus { place: store.place().to_owned(), ..ArchiveStatus::default() };
        let shared = Arc::new(Shared {
            env: env.clone(),
            status: Mutex::new(status),
            told: AtomicU64::new(0),
            caught_up: Mutex::new(None),
            bell: Arc::new(Bell::new()),
            acks: Acks::default(),
            has_panicked: AtomicBool::new(false),
        });
        let options = ArchiveOptions { interval: options.interval.max(INTERVAL_MIN), ..options };
        let mut shipper = Shipper {
            bases: Bases::new(engine, &store),
            engine: engine.clone(),
            store: store.clone(),
            options,
            aim,
            shared: shared.clone(),
            line: env.rng.next_u64(),
            shipment: None,
            tap: None,
            pending: None,
            held: VecDeque::new(),
            kept_from,
            spans: VecDeque::new(),
            base_bytes: 0,
            base_is_void: false,
            is_base_new: false,
            base_pause: (0, 0),
            base_begun: None,
            looked: env.clock.monotonic_nanos(),
            ending: None,
        };
        match shipper.claim() {
            Err(Failed::Again(error) | Failed::Gone(error)) if aim == Aim::Archive => shared.failed(error),
            Err(failed) => {
                engine.keep_log_from(aim.keeper(), None);
                return Err(failed);
            }
            Ok(()) => {}
        }
        if aim == Aim::Archive {
            let stands: Arc<dyn Stands> = shared.clone();
            accompany(engine, &stands);
        }
        if !options.ack.is_zero() {
            let waits = shared.clone();
            engine.acknowledge_by(Box::new(move |ts| waits.acks.wait(&waits.env, &waits.bell, ts, options.ack)));
        }
        let what = ("weft-archive", "ships the log");
        let worker = Worker::start(&env, what, &shared.bell, move || shipper.run())?;
        Ok(Archive { engine: engine.clone(), store, shared, worker })
    }

    /// How it stands.
    pub fn status(&self) -> ArchiveStatus {
        self.shared.status_with(&self.engine)
    }

    /// How that of an engine stands; none when it has none.
    pub fn status_of(engine: &Engine) -> Option<ArchiveStatus> {
        status_of(engine)
    }

    /// Where it ships to.
    pub fn store(&self) -> Arc<dyn ObjectStore> {
        self.store.clone()
    }

    /// Whether nothing is shipped any more because of a bug.
    pub(super) fn has_panicked(&self) -> bool {
        self.shared.has_panicked.load(Ordering::Acquire)
    }

    /// The last edit of the manifest of which what was shipped tells.
    pub(super) fn told(&self) -> u64 {
        self.shared.told.load(Ordering::Acquire)
    }

    /// Why nothing goes on, when another has taken over the archive.
    pub fn lost(&self) -> Option<Error> {
        let status = self.shared.status.lock();
        status.error.clone().filter(|_| status.phase == ArchivePhase::Lost)
    }

    /// Ships what is durable by now, and ends; what cannot be shipped is left for the next opening.
    pub fn stop(&self) {
        self.worker.stop();
    }
}

impl Stands for Shared {
    fn status_with(&self, engine: &Engine) -> ArchiveStatus {
        let mut status = self.status.lock().clone();
        status.lag_bytes = engine.durable().lsn.0.saturating_sub(status.shipped.0);
        let caught_up = *self.caught_up.lock();
        let now = self.env.clock.monotonic_nanos();
        status.age = caught_up.map(|at| Duration::from_nanos(now.saturating_sub(at)));
        if self.has_panicked.load(Ordering::Acquire) {
            status.phase = ArchivePhase::Waiting;
            status.error = Some(Error::internal("the thread that ships has panicked: open the database again"));
        }
        status
    }
}

impl Shared {
    fn failed(&self, error: Error) {
        let mut status = self.status.lock();
        status.failures += 1;
        (status.phase, status.error) = (ArchivePhase::Waiting, Some(error));
    }

    /// What did not keep a round from shipping.
    fn noted(&self, error: Error) {
        let mut status = self.status.lock();
        status.failures += 1;
        status.error = Some(error);
    }

    fn stops(&self) -> bool {
        self.bell.has_rung()
    }
}

/// Tells of a panic.
struct Panicking(Arc<Shared>);

impl Drop for Panicking {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.acks.end(&Error::internal("the thread that ships has panicked"));
            self.0.has_panicked.store(true, Ordering::Release);
        }
    }
}

struct Shipper {
    engine: Arc<Engine>,
    store: Arc<dyn ObjectStore>,
    options: ArchiveOptions,
    aim: Aim,
    shared: Arc<Shared>,
    /// Random, of this opening.
    line: u64,
    /// Once it has claimed the archive.
    shipment: Option<Shipment>,
    tap: Option<LogTap>,
    /// A span that was not shipped to its end.
    pending: Option<LogSpan>,
    /// From these moments on files stay; none: they do not.
    held: VecDeque<KeptFiles>,
    /// The log is kept from here on; none: it is not.
    kept_from: Option<Lsn>,
    bases: Bases,
    /// First pieces and ends of the spans that were shipped while a base is made.
    spans: VecDeque<(PieceName, Lsn)>,
    /// Bytes of the last base.
    base_bytes: u64,
    /// The base under way lacks log that no piece has.
    base_is_void: bool,
    /// No piece has named the newest base.
    is_base_new: bool,
    /// How many bases have failed, one after another, and before when none is begun.
    base_pause: (u32, u64),
    /// Where the log ended when the last base was begun.
    base_begun: Option<Lsn>,
    /// When it was looked for a fence.
    looked: u64,
    /// When the last round began.
    ending: Option<u64>,
}

impl Shipper {
    fn run(mut self) {
        let _panicking = Panicking(self.shared.clone());
        let mut pause = self.options.interval;
        loop {
            // In trouble nobody hurries it: whoever waits is told in time. A base is waited for in short pauses.
            match pause <= self.options.interval {
                true if self.shared.acks.is_waited_for() => {
                    self.shared.bell.pause_unless_hurried(pause.min(WAITED_PAUSE));
                }
                true => self.shared.bell.pause_unless_hurried(pause),
                false => self.shared.bell.pause(pause),
            }
            if self.aim != Aim::Archive && self.usable_base().is_none() && !self.shared.stops() {
                // Nobody takes anything before there is a base.
                self.shared.bell.pause(IDLE_MIN);
            }
            let is_last = self.shared.stops();
            if is_last {
                self.ending = Some(self.now());
                self.bases.end();
            }
            let round = self.round().and_then(|()| self.check_pace());
            self.bound();
            match round {
                Ok(()) => pause = self.options.interval,
                Err(Failed::Again(error) | Failed::Gone(error)) => {
                    self.shared.failed(error);
                    pause = (pause * 2).min(PAUSE_MAX.max(self.options.interval));
                }
                Err(Failed::Lost(error) | Failed::Ahead(error)) => return self.lose(error),
            }
            if is_last {
                self.shared.status.lock().phase = ArchivePhase::Stopped;
                self.shared.acks.end(&Error::new(Code::ShuttingDown, "the archive was ended"));
                return;
            }
        }
    }

    fn now(&self) -> u64 {
        self.shared.env.clock.monotonic_nanos()
    }

    fn shipment(&mut self) -> &mut Shipment {
        self.shipment.as_mut().expect("it has claimed")
    }

    fn keep_from(&mut self, from: Option<Lsn>) {
        self.kept_from = from;
        self.engine.keep_log_from(self.aim.keeper(), from);
    }

    /// Another has taken over: what would be committed here, nobody who restores would ever see (archive 2).
    fn lose(&mut self, error: Error) {
        if self.aim == Aim::Archive {
            self.engine.stop_writes(error.message());
        }
        self.shared.acks.end(&error);
        self.bases.end();
        self.keep_from(None);
        let mut status = self.shared.status.lock();
        (status.phase, status.error) = (ArchivePhase::Lost, Some(error));
    }

    fn claim(&mut self) -> Result<(), Failed> {
        // Files that go from here on stay, then it is asked how far the log is (shipper 1).
        self.held = VecDeque::from([self.engine.keep_files()]);
        let claimed: Claim = match self.aim {
            Aim::Archive => claim(&self.engine, &self.store, self.line)?,
            Aim::Feed(_) => claim_fed(&self.engine, &self.store, self.line)?,
        };
        let Claim { archive, fence, after, position, bases, nodes } = claimed;
        let (durable, head_before) = (self.engine.durable(), position);
        let mut shipment = Shipment {
            claim: claimed,
            line: self.line,
            head: after,
            position: position.unwrap_or(durable.lsn),
            last: Timestamp(0),
            bases,
            is_unsure: false,
            // Nobody knows yet when what is shipped first was everything.
            nodes: self.for_nodes(nodes.unwrap_or_else(|| self.engine.edits())).map(|of| ForNodes { made: 0, ..of }),
            told: 0,
            attached: BTreeSet::new(),
        };
        let position = shipment.position;
        // Says from where on this one goes on (claim 2).
        let begin = LogSpan { from: position, to: position, ..LogSpan::default() };
        shipment.ship(&self.engine, &self.store, &begin, &|| Ok(()))?;
        let head = shipment.head;
        if head_before.is_none() {
            // The first base has all that was durable when this began.
            shipment.last = durable.last;
        }
        self.shipment = Some(shipment);
        if self.aim != Aim::Archive {
            // What comes before the position is read while it is kept; what it reads behind that is sent next.
            let tap = self.engine.tap_log(position);
            let begun = tap.and_then(|mut tap| tap.next(position, SPAN_BYTES).map(|span| (tap, span)));
            let (tap, span) = begun.map_err(|error| match error.code() {
                Code::UndefinedFile => Failed::Gone(error),
                _ => Failed::Again(error),
            })?;
            (self.tap, self.pending) = (Some(tap), span);
        }
        self.note(Note { archive, head, position, is_restored: false })?;
        self.keep_from(Some(position));
        let mut status = self.shared.status.lock();
        (status.fence, status.shipped) = (fence, position);
        status.base = bases[0].map(|base| base.backup);
        Ok(())
    }

    /// The directory of an archive's database notes how far that is (shipper 5).
    fn note(&self, note: Note) -> Result<()> {
        match self.aim {
            Aim::Archive => note.write(self.engine.env(), self.engine.dir()),
            Aim::Feed(_) => Ok(()),
        }
    }

    /// Goes on from the log's durable end: what comes before it is for a base to have.
    fn begin_again(&mut self) {
        let held = self.engine.keep_files();
        let nodes = self.for_nodes(held.edits());
        self.held = VecDeque::from([held]);
        let durable = self.engine.durable();
        self.keep_from(Some(durable.lsn));
        (self.tap, self.pending) = (None, None);
        self.spans.clear();
        self.base_is_void = self.bases.is_under_way();
        let shipment = self.shipment();
        (shipment.position, shipment.last, shipment.nodes) = (durable.lsn, durable.last, nodes);
        shipment.attached.clear();
        if active(faults::GO_ON_ACROSS_GAP) {
            self.base_is_void = false;
            return;
        }
        // No base that is there goes on here; the last one is what can be restored meanwhile.
        shipment.bases = [None, shipment.bases[0].or(shipment.bases[1])];
        (self.base_bytes, self.is_base_new) = (0, false);
        *self.shared.caught_up.lock() = None;
        let mut status = self.shared.status.lock();
        (status.base, status.shipped) = (None, durable.lsn);
    }

    /// Keeps no more than it may (archive 5).
    fn bound(&mut self) {
        let Some(kept_from) = self.kept_from else { return };
        let durable = self.engine.durable().lsn.0;
        let lag = durable.saturating_sub(kept_from.0);
        // The herald counts all files that are kept, and lets go what it keeps itself: a node that is away is not to
        // make those begin anew that are there.
        let files = match self.aim {
            Aim::Archive => self.engine.kept_bytes(),
            Aim::Feed(_) => self.engine.kept_bytes() / 2,
        };
        if lag.max(files) > self.options.keep_bytes {
            self.held.clear();
            (self.tap, self.pending) = (None, None);
            self.keep_from(None);
        }
    }

    /// A node to which a base travels too slowly is given up (feed 3).
    fn check_pace(&self) -> Result<(), Failed> {
        let written = self.base_begun.map_or(0, |begun| self.engine.durable().lsn.0.saturating_sub(begun.0));
        if self.aim == Aim::Archive || !self.bases.is_under_way() || written <= self.options.keep_bytes {
            return Ok(());
        }
        let what = format!("a base did not reach {} while {written} bytes of log were written", self.store.place());
        Err(Failed::Lost(
            Error::new(Code::ProgramLimit, what).hint("raise node_keep_size, or connect it by a faster way"),
        ))
    }

    /// Ships what is durable by now.
    fn round(&mut self) -> Result<(), Failed> {
        if self.shipment.is_none() {
            self.claim()?;
        }
        // Also when nothing is to be shipped: a base waits for that.
        let store = self.store.clone();
        self.shipment().settle(&*store)?;
        self.take_base();
        let begun = self.now();
        if self.held.is_empty() || self.kept_from.is_none() {
            self.begin_again();
        }
        // Files that go from here on stay; then what the log has by now is shipped (shipper 1).
        let (held, made) = (self.engine.keep_files(), self.shared.env.clock.wall_micros());
        if active(faults::FORGET_NAMED_FILES) {
            self.held = VecDeque::from([self.engine.keep_files()]);
        }
        if self.options.nodes && held.edits() > self.shipment().told {
            // So that the log tells of these edits, and what was kept for them can go when it is shipped.
            if let Err(error) = self.engine.flush() {
                // What is durable is shipped also when nothing more will be.
                self.shared.noted(error);
            }
        }
        match self.ship_durable(made) {
            Err(Failed::Gone(_)) => {
                self.begin_again();
                return Ok(());
            }
            shipped => shipped?,
        }
        if self.held.is_empty() {
            return Ok(());
        }
        self.hold(held);
        if self.is_base_due() {
            self.base_begun = Some(self.engine.durable().lsn);
            self.bases.begin()?;
            (self.base_is_void, self.spans) = (false, VecDeque::new());
        }
        if self.usable_base().is_some() && !self.is_base_new {
            *self.shared.caught_up.lock() = Some(begun);
            let last = self.shipment().last;
            self.shared.acks.note(last);
        }
        let mut status = self.shared.status.lock();
        status.phase = ArchivePhase::Shipping;
        status.error = status.error.take().filter(|_| self.base_pause.0 > 0);
        Ok(())
    }

    /// What pieces have for nodes that have the files of edits behind this one.
    fn for_nodes(&self, edits: u64) -> Option<ForNodes> {
        let made = self.shared.env.clock.wall_micros();
        self.options.nodes.then_some(ForNodes { edits, made })
    }

    /// Files stay from this moment on, and from earlier ones that are needed (shipper 3).
    fn hold(&mut self, held: KeptFiles) {
        if !self.options.nodes {
            self.held.clear();
        }
        if self.held.back().is_none_or(|last| last.edits() < held.edits()) {
            self.held.push_back(held);
        }
        let told = self.shipment().told;
        while self.held.get(1).is_some_and(|next| next.edits() <= told) {
            self.held.pop_front();
        }
    }

    /// `made` is a moment before it is asked what is durable.
    fn ship_durable(&mut self, made: i64) -> Result<(), Failed> {
        let durable = self.engine.durable().lsn;
        let mut has_shipped = false;
        while let Some(span) = self.next_span(durable)? {
            if span.to >= durable {
                self.shipment().has_all_of(made);
            }
            self.ship(span)?;
            has_shipped = true;
            self.bound();
            let is_late = |begun| self.now().saturating_sub(begun) > ENDING_TIME.as_nanos() as u64;
            if self.held.is_empty() || self.ending.is_some_and(is_late) {
                return Ok(());
            }
        }
        self.shipment().has_all_of(made);
        if self.is_base_new {
            let Shipment { position, last, .. } = *self.shipment();
            self.ship(LogSpan { from: position, to: position, last, ..LogSpan::default() })?;
            (self.is_base_new, has_shipped) = (false, true);
            let now = self.shared.env.clock.wall_micros();
            // What cannot be removed now goes behind the next base.
            let tidied = match self.aim {
                Aim::Archive => tidy(&*self.store, now, self.options.keep_time),
                // What it has taken the node removes itself.
                Aim::Feed(_) => Ok(()),
            };
            if let Err(error) = tidied {
                self.shared.noted(error);
            }
        }
        let (now, idle_time) = (self.now(), (self.options.interval * IDLE_ROUNDS).max(IDLE_MIN));
        if has_shipped {
            self.looked = now;
        }
        if now.saturating_sub(self.looked) >= idle_time.as_nanos() as u64 || self.shared.stops() {
            self.looked = now;
            let Shipment { claim: Claim { fence, .. }, head, nodes, .. } = *self.shipment();
            check_fence(&*self.store, fence)?;
            if let (Some(ForNodes { made, .. }), Some(head), false) = (nodes, head, has_shipped) {
                // What another has written since is not said to be there.
                self.engine.check_directory().map_err(Failed::Lost)?;
                Beat { head, made }.put(&*self.store)?;
            }
        }
        Ok(())
    }

    /// What is to be shipped next. After an error the log is read anew: the tap has lost what it has read of the span.
    fn next_span(&mut self, durable: Lsn) -> Result<Option<LogSpan>, Failed> {
        if let Some(pending) = self.pending.take() {
            return Ok(Some(pending));
        }
        let position = self.shipment().position;
        let begun = self.tap.take().map_or_else(|| self.engine.tap_log(position), Ok);
        let next = begun.and_then(|mut tap| tap.next(durable, SPAN_BYTES).map(|span| (tap, span)));
        let (tap, span) = next.map_err(|error| match error.code() {
            Code::UndefinedFile => Failed::Gone(error),
            _ => Failed::Again(error),
        })?;
        self.tap = Some(tap);
        Ok(span)
    }

    fn ship(&mut self, span: LogSpan) -> Result<(), Failed> {
        let (engine, store) = (self.engine.clone(), self.store.clone());
        let bytes: u64 = span.parts.iter().map(|part| part.bytes.len() as u64).sum();
        let first = match self.shipment().ship(&engine, &store, &span, &|| Ok(())) {
            Ok(first) => first,
            Err(failed) => {
                self.pending = Some(span).filter(|span| span.to > span.from);
                return Err(failed);
            }
        };
        let Shipment { claim: Claim { archive, .. }, head, position, last, .. } = *self.shipment();
        if self.bases.is_under_way() {
            self.spans.push_back((first, position));
        }
        // The note of a directory that another has taken is that one's.
        engine.check_directory().map_err(Failed::Lost)?;
        self.note(Note { archive, head, position, is_restored: false })?;
        self.keep_from(Some(position));
        let told = self.shipment().told;
        self.shared.told.store(told, Ordering::Release);
        let mut status = self.shared.status.lock();
        (status.shipped, status.commit) = (position, last);
        status.pieces += 1;
        status.bytes += bytes;
        Ok(())
    }

    fn is_base_due(&self) -> bool {
        if self.bases.is_under_way() || self.is_base_new || self.shared.stops() || self.now() < self.base_pause.1 {
            return false;
        }
        let Some(base) = self.usable_base() else { return true };
        // Shipper 4.
        let nodes = self.shipment.as_ref().and_then(|shipment| shipment.nodes);
        if nodes.is_some_and(|nodes| base.edits.is_none_or(|edits| edits < nodes.edits)) {
            return true;
        }
        let position = self.shipment.as_ref().map_or(base.end, |shipment| shipment.position);
        position.0.saturating_sub(base.end.0) >= self.options.base_log_bytes.max(self.base_bytes / 4)
    }

    /// The newest base, if the archive's log goes on from it without a gap.
    fn usable_base(&self) -> Option<Base> {
        self.shipment.as_ref().and_then(|shipment| shipment.bases[0])
    }

    /// A base that was made is named by the next piece (shipper 2).
    fn take_base(&mut self) {
        // Which piece comes next is not known.
        if self.shipment().is_unsure {
            return;
        }
        let Some(made) = self.bases.take() else { return };
        let Made { backup, end, edits, wall, bytes } = match made {
            Ok(made) => made,
            Err(error) => {
                let pause = BASE_PAUSE.saturating_mul(1 << self.base_pause.0.min(6));
                self.base_pause = (self.base_pause.0 + 1, self.now() + pause.as_nanos() as u64);
                return self.shared.noted(error);
            }
        };
        self.base_pause = (0, 0);
        if self.base_is_void {
            return;
        }
        let behind = self.spans.iter().find(|(_, to)| *to > end).map(|(first, _)| *first);
        let shipment = self.shipment();
        let from = behind.unwrap_or_else(|| shipment.next_name());
        let base = Base { backup, end, from, wall, edits: Some(edits) };
        // When somebody has removed lists their numbers are given again: what they were is gone.
        let before = shipment.bases[0].or(shipment.bases[1]).filter(|before| before.backup < backup);
        shipment.bases = [Some(base), before];
        (self.is_base_new, self.base_bytes) = (true, bytes);
        self.spans.clear();
        self.shared.status.lock().base = Some(backup);
    }
}
