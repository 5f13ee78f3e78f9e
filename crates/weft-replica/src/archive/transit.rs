//! Where a writer puts its archive for a node that it feeds: what the node has not taken yet, and no more.
//!
//! ```text
//!   writer ─▶ piece-8-41, files-8-00000041/..., 3-5e0a21bc/..., backup-3     DIR/incoming
//!   mirror ─▶ DIR: log, files, manifest      taken: piece-8-40 goes     settled: objects of base 3 are emptied
//!   lost   ─▶ all goes but who it is of and its fences: the writer that is connected next begins with a base
//! ```
//!
//! 1. The last piece stays: who feeds goes on from it. Names of a base's objects stay, too, so that the next one does
//!    not bring them again; their bytes are in the directory.
//! 2. What was put is durable, as in any archive; what the node has taken is durable before it goes.
//! 3. What is damaged here, or has gone, cannot come any more: then all of it comes again.
//! 4. A fence goes when a piece of a later one was taken: whoever looks for one looks behind that.
//!
//! Concurrency: the mutex is held for memory work only.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use weft_env::sync::Mutex;
use weft_env::{Created, Env, ObjectStore};
use weft_format::{Code, Error, Lsn, Result, Timestamp};
use weft_kernel::{Backup, BackupPlace, Mirroring};

use super::chain::failed;
use super::mirror_note::Mirrored;
use super::names::{IDENTITY, PieceName, beat_number, before, each_name, fence_number, get};
use super::piece::Piece;
use crate::bell::Bell;

/// The object that has the end of the log that the node has: made when it is asked for.
pub(super) const TAIL: &str = "tail";
/// It is as a piece of this name.
pub(super) const TAIL_NAME: PieceName = PieceName { fence: 0, number: 0 };
/// The object that is there while the node has what the log of its server has not.
const REFUSED: &str = "refused";
/// Names of lists of bases begin with this.
const LIST_PREFIX: &str = "backup-";
/// So many pieces are taken before some go, unless there are files with them.
const PIECES_KEPT: usize = 64;

#[derive(Default)]
struct State {
    /// Who takes from here, to be woken when something has come.
    bell: Option<Arc<Bell>>,
    /// Pieces that were taken since some went.
    taken: usize,
    /// It is to be emptied (transit 3).
    is_lost: bool,
    /// It was, and why; who takes from here has not heard of it.
    emptied: Option<Error>,
    /// Why nothing comes.
    trouble: Option<Error>,
    /// Objects that have come.
    came: u64,
    /// So often something was taken.
    took: u64,
    /// How far the node is.
    position: Lsn,
    last: Timestamp,
}

/// What has come for a node, until it has taken it.
pub struct Transit {
    env: Env,
    /// The node's directory.
    dir: PathBuf,
    store: Arc<dyn ObjectStore>,
    place: String,
    state: Mutex<State>,
}

impl Transit {
    /// For the node in a directory, in a store of its own; `place` is where it comes from.
    pub fn new(env: &Env, dir: &Path, store: Arc<dyn ObjectStore>, place: &str) -> Transit {
        Transit { env: env.clone(), dir: dir.to_owned(), store, place: place.to_owned(), state: Mutex::default() }
    }

    /// Where it comes from.
    pub fn feeder(&self) -> &str {
        &self.place
    }

    /// Wakes this when something has come.
    pub(super) fn wakes(&self, bell: &Arc<Bell>) {
        self.state.lock().bell = Some(bell.clone());
    }

    /// What was taken up to a piece, with files or without, is durable in the directory.
    pub(super) fn took(&self, pieces: &[Piece], last: (Lsn, Timestamp)) -> Result<()> {
        let Some(newest) = pieces.last() else { return Ok(()) };
        {
            let mut state = self.state.lock();
            (state.position, state.last) = last;
            state.took += 1;
            state.taken += pieces.len();
            if state.taken < PIECES_KEPT && pieces.iter().all(|piece| piece.files.is_empty()) {
                return Ok(());
            }
            state.taken = 0;
        }
        // The last one stays (transit 1), and its files with it.
        let gone = before(&*self.store, newest.name).and_then(|mut names| {
            let is_old = |number: Option<u64>| number.is_some_and(|number| number < newest.name.fence);
            for prefix in ["fence-", "beat-"] {
                each_name(&*self.store, prefix, |name| {
                    if is_old(fence_number(name)) || is_old(beat_number(name)) {
                        names.push(name.to_owned());
                    }
                })?;
            }
            self.remove(&names)
        });
        gone.map_err(|error| failed(self, "removing what was taken", &error))
    }

    /// Everything that a base names is durable in the directory: earlier lists go, and its objects are emptied.
    pub(super) fn settled(&self, backup: &Backup, last: (Lsn, Timestamp)) -> Result<()> {
        {
            let mut state = self.state.lock();
            (state.position, state.last) = last;
            state.took += 1;
        }
        let empty = || -> io::Result<()> {
            let mut lists = Vec::new();
            each_name(&*self.store, LIST_PREFIX, |name| {
                let number = name.strip_prefix(LIST_PREFIX).and_then(|number| number.parse::<u64>().ok());
                if number.is_some_and(|number| number < backup.number) {
                    lists.push(name.to_owned());
                }
            })?;
            self.remove(&lists)?;
            // The next base may have segments of the log as they are in this one, and they are fetched all the same.
            let is_log = |stored: &&str| stored.rsplit('/').next().is_some_and(|name| name.starts_with("log-"));
            for stored in backup.stored_names().filter(|stored| !is_log(stored)) {
                let mut names = Vec::new();
                each_name(&*self.store, &format!("{stored}/"), |name| names.push(name.to_owned()))?;
                for name in names {
                    if !self.store.get(&name)?.is_empty() {
                        self.store.put(&name, &[])?;
                    }
                }
            }
            Ok(())
        };
        empty().map_err(|error| failed(self, "emptying what was taken", &error))
    }

    /// Removes what attempts at bases have left that have ended, while nobody is connected.
    pub(super) fn sweep(&self) -> Result<()> {
        let place = BackupPlace::Objects(self.store.clone());
        let lists = match weft_kernel::backups(&self.env, place) {
            // One that is damaged keeps every base from being made.
            Err(error) if error.code() == Code::DataCorrupted => {
                self.lose();
                return Err(error);
            }
            // One went while they were read.
            Err(error) if error.code() == Code::UndefinedObject => return Ok(()),
            lists => lists?,
        };
        let named: BTreeSet<&str> = lists.iter().flat_map(Backup::stored_names).collect();
        let mut left = Vec::new();
        let swept = each_name(&*self.store, "", |name| {
            // `3-5e0a21bc/t5-19-4194304-77aa0102.data/0`
            let stored = name.rsplit_once('/').map(|(stored, _)| stored).filter(|stored| stored.contains('/'));
            let is_base = |stored: &str| stored.starts_with(|first: char| first.is_ascii_digit());
            if stored.is_some_and(|stored| is_base(stored) && !named.contains(stored)) {
                left.push(name.to_owned());
            }
        });
        swept.and_then(|()| self.remove(&left)).map_err(|error| failed(self, "removing what is left", &error))
    }

    /// The node cannot go on with what comes (transit 3).
    pub(super) fn lose(&self) {
        let mut state = self.state.lock();
        // What went a moment ago went for that.
        state.is_lost |= state.emptied.is_none();
    }

    /// The node has what the log of its server has not: from now on it does not begin anew because that one's log says
    /// nothing any more of what it has.
    pub(super) fn refuse(&self) -> Result<()> {
        self.store.put(REFUSED, &[]).map_err(|error| failed(self, "noting", &error))
    }

    /// Whether it was refused so, and not accepted since.
    pub(super) fn is_refused(&self) -> Result<bool> {
        let found = get(&*self.store, REFUSED).map_err(|error| failed(self, "reading", &error))?;
        Ok(found.is_some())
    }

    /// Whether it is to be emptied before anything else comes.
    pub(super) fn is_lost(&self) -> bool {
        self.state.lock().is_lost
    }

    /// Why it was emptied, once.
    pub(super) fn take_emptied(&self) -> Option<Error> {
        self.state.lock().emptied.take()
    }

    /// Empties it, while nobody is connected.
    pub(super) fn empty(&self, why: &Error) -> Result<()> {
        let mut names = Vec::new();
        each_name(&*self.store, "", |name| {
            if name != IDENTITY && fence_number(name).is_none() {
                names.push(name.to_owned());
            }
        })
        .and_then(|()| {
            // Pieces first: they name lists.
            names.sort_by_key(|name| PieceName::parse(name).is_none());
            self.remove(&names)
        })
        .map_err(|error| failed(self, "emptying", &error))?;
        let mut state = self.state.lock();
        (state.is_lost, state.emptied) = (false, Some(why.clone()));
        (state.position, state.last) = (Lsn(0), Timestamp(0));
        Ok(())
    }

    fn remove(&self, names: &[String]) -> io::Result<()> {
        if names.is_empty() { Ok(()) } else { self.store.delete(names) }
    }

    /// Why nothing comes; none: it does.
    pub(super) fn note_trouble(&self, trouble: Option<Error>) {
        self.state.lock().trouble = trouble;
    }

    /// Why nothing comes; none: it does.
    pub(super) fn trouble(&self) -> Option<Error> {
        self.state.lock().trouble.clone()
    }

    /// How often the node has taken something.
    pub(super) fn taken(&self) -> u64 {
        self.state.lock().took
    }

    /// How many objects have come, but for beats.
    pub(super) fn came(&self) -> u64 {
        self.state.lock().came
    }

    /// How far the node is: its log, and its last commit.
    pub(super) fn told(&self) -> (Lsn, Timestamp) {
        let state = self.state.lock();
        (state.position, state.last)
    }

    /// The end of the log that the node has; none: it has nothing yet.
    fn tail(&self) -> Result<Option<Vec<u8>>> {
        let Some(Mirrored { position, last, .. }) = Mirrored::read(&self.env, &self.dir)? else { return Ok(None) };
        let parts = Mirroring::log_tail(&self.env, &self.dir, position)?;
        let (from, to) = (position, position);
        let piece = Piece { name: TAIL_NAME, from, to, last, parts, ..Piece::default() };
        Ok((!piece.parts.is_empty()).then(|| piece.encode()))
    }

    fn wake(&self) {
        self.state.lock().came += 1;
        if let Some(bell) = &self.state.lock().bell {
            bell.hurry();
        }
    }
}

impl ObjectStore for Transit {
    fn get(&self, name: &str) -> io::Result<Vec<u8>> {
        if name != TAIL {
            return self.store.get(name);
        }
        let tail = self.tail().map_err(|error| io::Error::other(error.message().to_owned()))?;
        tail.ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "the node has no log yet"))
    }

    fn put(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        self.store.put(name, bytes)?;
        if beat_number(name).is_none() {
            self.state.lock().came += 1;
        }
        Ok(())
    }

    fn create(&self, name: &str, bytes: &[u8]) -> io::Result<Created> {
        let created = self.store.create(name, bytes)?;
        if PieceName::parse(name).is_some() || name.starts_with(LIST_PREFIX) {
            // Whoever makes a piece has accepted what the node has.
            if PieceName::parse(name).is_some_and(|piece| piece.number == 1) {
                self.store.delete(&[REFUSED.to_owned()])?;
            }
            self.wake();
        }
        Ok(created)
    }

    fn list(&self, prefix: &str, after: &str) -> io::Result<Vec<String>> {
        self.store.list(prefix, after)
    }

    fn delete(&self, names: &[String]) -> io::Result<()> {
        self.store.delete(names)
    }

    fn place(&self) -> &str {
        &self.place
    }
}
