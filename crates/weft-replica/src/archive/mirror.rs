//! Keeps a directory as that of the writer of an archive would be, so that nodes follow it there.
//!
//! ```text
//!   store        backup-3     piece-7-30 ... 7-41, 8-1, 8-2                          (nobody here writes there)
//!   mirror       base 3, then the pieces that count, in order: their files, then their log, then the note
//!   DIR          t5-12.data  log-...10000  MANIFEST-4  WRITER-8  mirror.note  nodes/announced: 90112 ──▶ Node
//! ```
//!
//! 1. What is announced is there, and durable: files before the log that names them, and log before its announcement.
//! 2. What is announced counts in the archive (`counted`): no takeover takes it back.
//! 3. A base that a later piece names takes the place of the one before, so that log and files before it can go: when
//!    the nodes that follow have come behind it, or did not in some seconds.
//! 4. Where the archive does not go on from here (a gap, files that it lacks, pieces that have gone) the directory is
//!    made anew of the newest base; nodes notice, and join anew.
//! 5. It is never made of another archive that somebody has put in the place of the first: the number of the archive is
//!    read again before the directory is made anew, after trouble, and from time to time while nothing comes.
//!
//! Concurrency: one thread; it holds nothing while it asks the store, and nodes are told by files alone.
//!
//! Crash: the note says what is durable. It says nothing while the directory is made anew: then it is again.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use weft_env::sync::Mutex;
use weft_env::{Env, File, ObjectStore};
use weft_format::{Code, Error, Lsn, Result};
use weft_kernel::fault::active;
use weft_kernel::{Backup, Engine, Mirroring};

use super::beat::Beat;
use super::chain::failed;
use super::claim::read_identity;
use super::counted::{Coming, coming, counted_head, is_overtaken};
use super::fed::{Connect, Fed};
use super::mirror_note::{MIRROR_FILE, Mirrored, write_empty};
use super::names::{IDENTITY, PieceName, get};
use super::piece::{Base, Piece};
use super::standing::{ArchivePhase, ArchiveStatus, Stands, accompany};
use super::transit::Transit;
use crate::announcement::Announcement;
use crate::bell::{Bell, Worker};
use crate::faults;
use crate::place::Place;
use crate::standing::Phase;

/// How often it is looked for what was put into a transit without a sign: beats.
const FED_INTERVAL: Duration = Duration::from_millis(20);
/// The shortest interval.
const INTERVAL_MIN: Duration = Duration::from_millis(1);
/// The longest pause after trouble.
const PAUSE_MAX: Duration = Duration::from_secs(30);
/// The longest pause before it is tried again to begin.
const FIRST_PAUSE_MAX: Duration = Duration::from_millis(250);
/// So long nodes are waited for before a base takes the place of the one before (mirror 3).
const WAIT_NANOS: u64 = 10_000_000_000;
/// The beat of an archive in which nothing is new is read so often: of as many rounds.
const BEAT_ROUNDS: u32 = 5;
/// So often it is looked whether what comes next has gone.
const OVERTAKEN_ROUNDS: u32 = 20;

/// How an archive is followed.
#[derive(Clone, Copy, Debug)]
pub struct MirrorOptions {
    /// How often it is looked for what is new.
    pub interval: Duration,
    /// So long an archive is waited for that is not there, or has no base, when the directory is new.
    pub patience: Duration,
}

impl Default for MirrorOptions {
    fn default() -> MirrorOptions {
        MirrorOptions { interval: Duration::from_secs(1), patience: Duration::from_secs(60) }
    }
}

/// Whether a directory mirrors an archive: nobody may write it.
pub fn is_mirror(env: &Env, dir: &Path) -> Result<bool> {
    let path = dir.join(MIRROR_FILE);
    env.fs.exists(&path).map_err(|error| Error::io(format!("looking for {}", path.display()), &error))
}

struct Shared {
    env: Env,
    status: Mutex<ArchiveStatus>,
    /// All that was durable at this moment of the clock of the day is there; 0: nobody knows.
    made: Mutex<i64>,
    has_panicked: AtomicBool,
    bell: Arc<Bell>,
}

/// Into where what is mirrored comes, and by whom.
type Feeder = (Arc<Transit>, Arc<dyn Connect>);

/// Mirrors an archive in a directory, until it is dropped.
pub struct Mirror {
    shared: Arc<Shared>,
    worker: Worker,
    /// Has what is mirrored come; none: others put it into the store.
    fed: Option<Fed>,
}

impl Mirror {
    /// Begins to mirror: when this returns nodes can join in the directory, which is made, or goes on from where it is.
    /// A store that cannot be asked keeps a directory that is there from nothing.
    pub fn start(env: &Env, store: Arc<dyn ObjectStore>, dir: &Path, options: MirrorOptions) -> Result<Mirror> {
        Mirror::begin(env, (store, None), dir, options)
    }

    /// The same of what comes into a transit, which is emptied as it is taken.
    /// `connect` has it come; a directory is waited for that is new as long as something comes.
    pub fn start_fed(
        env: &Env,
        (transit, connect): (&Arc<Transit>, Arc<dyn Connect>),
        dir: &Path,
        patience: Duration,
    ) -> Result<Mirror> {
        let store: Arc<dyn ObjectStore> = transit.clone();
        let fed = Some((transit.clone(), connect));
        Mirror::begin(env, (store, fed), dir, MirrorOptions { interval: FED_INTERVAL, patience })
    }

    fn begin(
        env: &Env,
        (store, feeder): (Arc<dyn ObjectStore>, Option<Feeder>),
        dir: &Path,
        options: MirrorOptions,
    ) -> Result<Mirror> {
        let mirroring = Mirroring::begin(env, &store, dir, MIRROR_FILE)?;
        let status = ArchiveStatus { place: store.place().to_owned(), ..ArchiveStatus::default() };
        let shared = Arc::new(Shared {
            env: env.clone(),
            status: Mutex::new(status),
            made: Mutex::new(0),
            has_panicked: AtomicBool::new(false),
            bell: Arc::new(Bell::new()),
        });
        let transit = feeder.as_ref().map(|(transit, _)| transit.clone());
        if let Some(transit) = &transit {
            transit.wakes(&shared.bell);
        }
        // Behind the lock of the directory: one at a time has something come into it.
        let fed = feeder.map(|(transit, connect)| Fed::start(env, connect, &transit)).transpose()?;
        let place = Place::of(env, dir);
        place.forget_all()?;
        let mut work = Work {
            env: env.clone(),
            dir: dir.to_owned(),
            interval: options.interval.max(INTERVAL_MIN),
            mirroring,
            shared: shared.clone(),
            archive: None,
            at: Mirrored::read(env, dir)?,
            backup: None,
            fine_to: None,
            lost: None,
            announced: place.announced_to()?,
            place,
            said: Announcement { opening: env.rng.next_u64(), is_shipped: true, ..Announcement::default() },
            files: Vec::new(),
            files_from: PieceName { fence: 0, number: 0 },
            waits_since: None,
            idle: 0,
            store,
            transit,
        };
        work.begin(options.patience)?;
        let mirrors = shared.clone();
        let worker = Worker::start(env, ("weft-mirror", "mirrors an archive"), &mirrors.bell, move || work.run())?;
        Ok(Mirror { shared, worker, fed })
    }

    /// How it stands.
    pub fn status(&self) -> ArchiveStatus {
        self.shared.status()
    }

    /// A node's engine shows from now on how it stands ([`super::Archive::status_of`]).
    pub fn accompany(&self, engine: &Engine) {
        let stands: Arc<dyn Stands> = self.shared.clone();
        accompany(engine, &stands);
    }

    /// Ends; the directory is left as it is.
    pub fn stop(&self) {
        self.fed.iter().for_each(Fed::stop);
        self.worker.stop();
    }
}

impl Stands for Shared {
    fn status_with(&self, _: &Engine) -> ArchiveStatus {
        self.status()
    }
}

impl Shared {
    fn status(&self) -> ArchiveStatus {
        let mut status = self.status.lock().clone();
        let made = *self.made.lock();
        let age = self.env.clock.wall_micros().saturating_sub(made).max(0).unsigned_abs();
        status.age = (made > 0).then_some(Duration::from_micros(age));
        if self.has_panicked.load(Ordering::Acquire) {
            status.phase = ArchivePhase::Waiting;
            status.error = Some(Error::internal("the thread that mirrors has panicked: start this server again"));
        }
        status
    }

    fn failed(&self, error: Error) {
        let mut status = self.status.lock();
        status.failures += 1;
        (status.phase, status.error) = (ArchivePhase::Waiting, Some(error));
    }
}

/// Tells of a panic.
struct Panicking(Arc<Shared>);

impl Drop for Panicking {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.has_panicked.store(true, Ordering::Release);
        }
    }
}

struct Work {
    env: Env,
    dir: PathBuf,
    interval: Duration,
    mirroring: Mirroring,
    shared: Arc<Shared>,
    store: Arc<dyn ObjectStore>,
    /// Where that is emptied as it is taken; none: others ship to it, for whomever.
    transit: Option<Arc<Transit>>,
    /// The number of the archive, once it was read; none: it is read again (mirror 5).
    archive: Option<u64>,
    /// How far it is; none: nothing is there.
    at: Option<Mirrored>,
    /// The base, once its list was read.
    backup: Option<Backup>,
    /// Up to this piece all have the files of edits behind the base: the archive's head says so.
    fine_to: Option<PieceName>,
    /// Why the directory has to be made anew.
    lost: Option<Error>,
    place: Place,
    announced: Arc<dyn File>,
    said: Announcement,
    /// Files of pieces that were taken, since this one.
    files: Vec<(PieceName, String)>,
    files_from: PieceName,
    /// Since when a base waits for nodes.
    waits_since: Option<u64>,
    /// Rounds in which nothing was new.
    idle: u32,
}

impl Work {
    /// Until nodes can join.
    fn begin(&mut self, patience: Duration) -> Result<()> {
        if let Some(at) = self.at {
            self.files_from = at.next;
            self.mirroring.remove_log_from(at.position)?;
            // The first round says what is wrong with the store.
            return self.show();
        }
        write_empty(&self.env, &self.dir)?;
        let came = |transit: &Option<Arc<Transit>>| transit.as_ref().map_or(0, |transit| transit.came());
        let (mut begun, mut before) = (self.env.clock.monotonic_nanos(), 0);
        loop {
            let Err(error) = self.round() else { return Ok(()) };
            if came(&self.transit) > before {
                (begun, before) = (self.env.clock.monotonic_nanos(), came(&self.transit));
            }
            let waited = Duration::from_nanos(self.env.clock.monotonic_nanos().saturating_sub(begun));
            // Nothing comes into a transit of whose feeder nothing is heard: that says more.
            let error = self.transit.as_ref().and_then(|transit| transit.trouble()).unwrap_or(error);
            let may_come = matches!(error.code(), Code::CannotConnectNow | Code::UndefinedObject | Code::Io);
            if !may_come || waited >= patience {
                return Err(error);
            }
            self.shared.bell.pause(self.interval.min(FIRST_PAUSE_MAX));
        }
    }

    fn run(mut self) {
        let _panicking = Panicking(self.shared.clone());
        let mut pause = self.interval;
        while !self.shared.bell.has_rung() {
            match self.round() {
                Ok(()) => pause = self.interval,
                Err(error) => {
                    self.archive = None;
                    self.shared.failed(error);
                    let most = if self.transit.is_some() { FIRST_PAUSE_MAX } else { PAUSE_MAX };
                    pause = (pause * 2).min(most.max(self.interval));
                }
            }
            match pause <= self.interval || self.transit.is_some() {
                true => self.shared.bell.pause_unless_hurried(pause),
                false => self.shared.bell.pause(pause),
            }
        }
        self.shared.status.lock().phase = ArchivePhase::Stopped;
    }

    /// Takes what is new. What has come into a transit and is damaged does not come again.
    fn round(&mut self) -> Result<()> {
        match self.take_round() {
            Err(error) if self.transit.is_some() && error.code() == Code::DataCorrupted => self.lose_all(error),
            taken => taken,
        }
    }

    fn take_round(&mut self) -> Result<()> {
        self.hear_of_loss()?;
        let archive = self.identify()?;
        if self.at.is_none() || self.lost.is_some() {
            self.make_anew(archive)?;
        }
        let mut has_taken = false;
        loop {
            let next = self.at().next;
            let pieces = match coming(&self.store, next)? {
                Coming::Pieces(pieces) => pieces,
                Coming::Gone(error) => return self.lose_all(error),
            };
            if !pieces.iter().any(|piece| !piece.more) {
                break;
            }
            match self.take(&pieces)? {
                Some(error) if error.code() == Code::DataCorrupted => return self.lose_all(error),
                // Who ships knows it from its pieces, and makes a base.
                Some(error) => return self.lose(error),
                None => {}
            }
            has_taken = true;
            if self.shared.bell.has_rung() {
                break;
            }
            if let Some(base) = pieces.last().and_then(|piece| piece.bases[0]) {
                self.adopt(base)?;
            }
        }
        self.idle = if has_taken { 0 } else { self.idle.saturating_add(1) };
        self.look_around()?;
        self.show()?;
        let mut status = self.shared.status.lock();
        let trouble = self.transit.as_ref().and_then(|transit| transit.trouble());
        let phase = if trouble.is_some() { ArchivePhase::Waiting } else { ArchivePhase::Following };
        (status.phase, status.error) = (phase, trouble);
        Ok(())
    }

    /// What was in a transit has gone, or is to go, and the directory is made anew.
    fn hear_of_loss(&mut self) -> Result<()> {
        let Some(transit) = &self.transit else { return Ok(()) };
        if let Some(why) = transit.take_emptied() {
            (self.lost, self.archive) = (Some(why), None);
        }
        match &self.lost {
            // It is to be emptied first.
            Some(why) if transit.is_lost() => Err(Error::new(Code::CannotConnectNow, why.message().to_owned())),
            _ => Ok(()),
        }
    }

    fn at(&self) -> &Mirrored {
        self.at.as_ref().expect("the directory was made")
    }

    /// The directory has to be made anew, in the next round.
    fn lose(&mut self, error: Error) -> Result<()> {
        (self.lost, self.archive) = (Some(error.clone()), None);
        Err(error)
    }

    /// The same; what has come into a transit is of no use for that.
    fn lose_all(&mut self, error: Error) -> Result<()> {
        if let Some(transit) = self.transit.as_ref().filter(|_| !active(faults::KEEP_WHAT_IS_LOST)) {
            transit.lose();
        }
        self.lose(error)
    }

    /// The number of the archive.
    fn identify(&mut self) -> Result<u64> {
        if let Some(archive) = self.archive {
            return Ok(archive);
        }
        let place = self.store.place();
        let found = get(&*self.store, IDENTITY).map_err(|error| failed(&*self.store, "reading", &error))?;
        let Some(found) = found else {
            let what = format!("there is no archive in {place}");
            return Err(Error::new(Code::UndefinedObject, what)
                .hint("start its server with --archive of this place and archive_nodes = on"));
        };
        let numbers = String::from_utf8(found).ok().and_then(|text| read_identity(&text));
        let Some((_, archive)) = numbers else {
            let what = format!("{IDENTITY} in {place} is none that this release reads");
            return Err(Error::new(Code::VersionMismatch, what).hint("use the release that made it"));
        };
        if self.at.is_some_and(|at| at.archive != archive) {
            let what = format!("the directory {} follows another archive than that in {place}", self.dir.display());
            return Err(Error::new(Code::InvalidParameterValue, what).hint("name a directory that is empty or new"));
        }
        self.archive = Some(archive);
        Ok(archive)
    }

    /// Makes the directory of the newest base (mirror 4).
    fn make_anew(&mut self, archive: u64) -> Result<()> {
        let place = self.store.place();
        let again = |what: String, hint: &str| Err(Error::new(Code::CannotConnectNow, what).hint(hint));
        let Some(head) = counted_head(&*self.store)? else {
            return again(
                format!("nothing in the archive in {place} counts yet"),
                "its server is starting: wait for it",
            );
        };
        let Some(nodes) = head.nodes else {
            let what = format!("the archive in {place} does not have what nodes need");
            return again(what, "set archive_nodes = on at the server that ships to it");
        };
        let usable = |base: &Base| base.edits.is_some_and(|edits| edits >= nodes.edits);
        let Some(base) = head.bases[0].filter(usable) else {
            let what = format!("the archive in {place} has no base yet with which nodes can begin");
            return again(what, "its server makes one: wait for it");
        };
        let edits = base.edits.expect("it says which edits it has");
        let backup = self.read_list(base)?;
        write_empty(&self.env, &self.dir)?;
        self.mirroring.settle(&backup, None, edits, true)?;
        let last = backup.timestamp;
        let at = Mirrored { archive, next: base.from, position: base.end, last, made: 0, base };
        at.write(&self.env, &self.dir)?;
        (self.at, self.backup, self.lost, self.waits_since) = (Some(at), Some(backup), None, None);
        (self.files, self.files_from, self.fine_to) = (Vec::new(), base.from, Some(head.name));
        self.shared.status.lock().base = Some(base.backup);
        self.note_settled()
    }

    /// Takes pieces, up to the end of the last span that is whole; why it cannot go on with them.
    fn take(&mut self, pieces: &[Piece]) -> Result<Option<Error>> {
        let mut at = *self.at();
        let whole = pieces.iter().rposition(|piece| !piece.more).map_or(0, |last| last + 1);
        let mut lost = None;
        let mut bytes = 0;
        if active(faults::ANNOUNCE_BEFORE_FILES) {
            self.announce_before(&pieces[..whole])?;
        }
        for piece in &pieces[..whole] {
            lost = why_not(&at, piece, self.fine_to);
            if lost.is_some() {
                break;
            }
            let names = piece.files.iter().map(|file| (piece.name, file.name.clone()));
            self.files.extend(names);
            // Mirror 1.
            piece.files.iter().try_for_each(|file| self.mirroring.add_file(file))?;
            for part in &piece.parts {
                bytes += part.bytes.len() as u64;
                match self.mirroring.add_log(at.position, part) {
                    Err(error) if error.code() == Code::DataCorrupted => return Ok(Some(error)),
                    added => added?,
                }
            }
            if !piece.more {
                at.position = at.position.max(piece.to);
                at.last = at.last.max(piece.last);
                at.next = piece.name.next();
                // Its own clock may be behind that of the writer, and be a bound only from here on.
                let made = piece.nodes.map_or(0, |nodes| nodes.made);
                at.made = at.made.max(made.min(self.env.clock.wall_micros()));
            }
        }
        self.mirroring.sync()?;
        at.write(&self.env, &self.dir)?;
        self.at = Some(at);
        self.show()?;
        if let Some(transit) = self.transit.as_ref().filter(|_| lost.is_none()) {
            transit.took(&pieces[..whole], (at.position, at.last))?;
        }
        let mut status = self.shared.status.lock();
        status.pieces += whole as u64;
        status.bytes += bytes;
        Ok(lost)
    }

    /// The list of a base. In a transit it is damage when there is none: nobody else removes it.
    fn read_list(&self, base: Base) -> Result<Backup> {
        self.mirroring.backup(base.backup).map_err(|error| match error.code() {
            Code::UndefinedObject if self.transit.is_some() => Error::corrupt(error.message().to_owned()),
            _ => error,
        })
    }

    /// The list of a base, read once.
    fn backup_of(&mut self, base: Base) -> Result<Backup> {
        if self.backup.as_ref().is_none_or(|backup| backup.number != base.backup) {
            self.backup = Some(self.read_list(base)?);
        }
        Ok(self.backup.clone().expect("it was read just now"))
    }

    /// A planted fault: log first, files later.
    fn announce_before(&mut self, pieces: &[Piece]) -> Result<()> {
        let mut at = *self.at();
        let known = at.position;
        for piece in pieces {
            if why_not(&at, piece, self.fine_to).is_some() {
                break;
            }
            piece.parts.iter().try_for_each(|part| self.mirroring.add_log(known, part))?;
            (at.position, at.last) = (at.position.max(piece.to), at.last.max(piece.last));
        }
        self.mirroring.sync()?;
        let before = self.at.replace(at);
        self.show()?;
        self.at = before;
        Ok(())
    }

    /// A newer base takes the place of the one before (mirror 3).
    fn adopt(&mut self, base: Base) -> Result<()> {
        let at = *self.at();
        let Some(edits) = base.edits.filter(|_| base.backup > at.base.backup && base.end <= at.position) else {
            return Ok(());
        };
        let now = self.env.clock.monotonic_nanos();
        let is_late = now.saturating_sub(*self.waits_since.get_or_insert(now)) > WAIT_NANOS;
        let mut log_from = Lsn(u64::MAX);
        if !is_late {
            for (_, told) in self.place.registered()? {
                let behind = told.filter(|told| told.phase == Phase::Following && told.edits >= edits);
                // The next piece that names it comes to this again.
                let Some(told) = behind else { return Ok(()) };
                log_from = log_from.min(told.needs_from);
            }
        }
        let known = self.backup_of(at.base).ok();
        let backup = self.read_list(base)?;
        self.mirroring.settle(&backup, known.as_ref(), edits, false)?;
        let at = Mirrored { base, ..at };
        at.write(&self.env, &self.dir)?;
        self.waits_since = None;
        self.mirroring.remove_log_before(log_from.min(Mirroring::log_begins(&backup)))?;
        if base.from >= self.files_from {
            self.files.retain(|(piece, _)| *piece >= base.from);
            let pieces = self.files.iter().map(|(_, name)| name.clone());
            let kept: BTreeSet<String> = Mirroring::data_files(&backup).map(str::to_owned).chain(pieces).collect();
            self.mirroring.remove_files_but(&kept)?;
        }
        (self.at, self.backup) = (Some(at), Some(backup));
        self.shared.status.lock().base = Some(base.backup);
        self.note_settled()
    }

    /// What the base names is here: a transit need not keep it.
    fn note_settled(&self) -> Result<()> {
        let (Some(transit), Some(at), Some(backup)) = (&self.transit, &self.at, &self.backup) else { return Ok(()) };
        transit.settled(backup, (at.position, at.last))
    }

    /// Looks, when nothing comes, whether that is all there is.
    fn look_around(&mut self) -> Result<()> {
        let at = *self.at();
        if self.idle > 0 && self.idle.is_multiple_of(BEAT_ROUNDS) {
            let beat = Beat::read(&*self.store, at.next.fence)?.filter(|beat| beat.head.next() == at.next);
            let made = beat.map_or(0, |beat| beat.made.min(self.env.clock.wall_micros()));
            self.at = Some(Mirrored { made: at.made.max(made), ..at });
        }
        let is_looked_for = self.idle > 0 && self.idle.is_multiple_of(OVERTAKEN_ROUNDS);
        if is_looked_for {
            self.archive = None;
            self.identify()?;
        }
        if is_looked_for && is_overtaken(&*self.store, at.next)? {
            let what = format!("{} of the archive in {} has gone", at.next, self.store.place());
            return self.lose_all(Error::new(Code::UndefinedFile, what).hint("the newest base takes its place"));
        }
        Ok(())
    }

    /// Announces what is there, and that it was looked for more (mirror 1).
    fn show(&mut self) -> Result<()> {
        let Mirrored { position, last, made, next, base, .. } = *self.at();
        if position != self.said.lsn || self.said.epoch == 0 {
            let epoch = self.mirroring.epoch()?.ok_or_else(|| Error::internal("a base has log"))?;
            if epoch != self.said.epoch {
                self.mirroring.stand_in(epoch)?;
            }
            self.said.epoch = epoch;
        }
        self.said.beat += 1;
        (self.said.lsn, self.said.last, self.said.wall_micros) = (position, last, made);
        let written = self.announced.write_at(&self.said.encode(), 0);
        written.map_err(|error| Error::io(format!("announcing in {}", self.dir.display()), &error))?;
        *self.shared.made.lock() = made;
        let mut status = self.shared.status.lock();
        (status.shipped, status.commit, status.fence) = (position, last, next.fence);
        status.base = Some(base.backup);
        Ok(())
    }
}

/// Why a piece does not go on from here; none: it does. The archive's head spoke for those up to `fine_to`.
fn why_not(at: &Mirrored, piece: &Piece, fine_to: Option<PieceName>) -> Option<Error> {
    let gone = |what: String| Some(Error::new(Code::UndefinedFile, what).hint("a newer base takes its place"));
    if piece.from > at.position {
        return gone(format!("the archive has no log between {} and {}", at.position, piece.from));
    }
    if fine_to.is_some_and(|last| piece.name <= last) {
        return None;
    }
    let Some(nodes) = piece.nodes else {
        return gone(format!("{} does not have what nodes need", piece.name));
    };
    if at.base.edits.is_none_or(|edits| edits < nodes.edits) {
        return gone(format!("the archive lacks files that edit {} of the manifest names, or one before", nodes.edits));
    }
    None
}
