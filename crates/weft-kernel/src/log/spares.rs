//! Files for the segments to come, so that the commit that begins one finds its space written.
//!
//! ```text
//!   log-0 is not needed any more ── renamed to log-0.tmp ── directory synced ──▶ kept, at most two; more are removed
//!   none is kept, and the last segment is half full ── a thread writes zeros ── synced ──▶ kept
//!   the next segment takes one: header ── synced ── renamed to log-x ── directory synced
//! ```
//!
//! 1. A file is taken only after it is durable that it has no segment's name any more: a crash finds no segment with
//!    the header of another.
//! 2. What is left in it of blocks passes for none of its next segment: a block says its position in the log, and its
//!    checksum begins with the salt of its segment.
//! 3. Nobody else has the file open, and writes into it later: a segment of a writer that came before is removed, and
//!    its file becomes none. That one may be stopped in the midst of a commit, for an hour.
//! 4. Its bytes were written and synced, most of a segment's at least: a block that is written over them changes no
//!    length.
//!
//! Concurrency: one small lock; files are written with no lock held.
//!
//! Crash: a file that is kept has a temporary name, which the next opening removes.

use std::io;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use weft_env::sync::{Condvar, Mutex};
use weft_env::{Env, File, OpenMode};
use weft_format::Lsn;

use super::layout::{SegmentName, temporary_name};
use super::segments::Segment;
use crate::fault::{Fault, active};

/// The most that are kept.
const KEPT_MAX: usize = 2;

pub(super) static ZEROS: [u8; 64 << 10] = [0; 64 << 10];

/// A file that can become a segment.
pub(super) struct Spare {
    pub(super) path: PathBuf,
    pub(super) file: Arc<dyn File>,
    /// Its length.
    pub(super) bytes: u64,
}

/// Those of one log.
pub(super) struct Spares {
    env: Env,
    dir: PathBuf,
    segment_bytes: u64,
    /// That of their writer.
    epoch: u32,
    state: Mutex<State>,
    rung: Condvar,
}

#[derive(Default)]
struct State {
    kept: Vec<Spare>,
    /// One is to be made.
    is_wanted: bool,
    /// The last one could not be made, for want of space, say: the next try is for the next segment.
    has_failed: bool,
    /// Who makes them is to look up now.
    is_rung: bool,
    /// How many were made: each gets a name of its own.
    made: u64,
}

impl Spares {
    pub(super) fn new(env: &Env, dir: &Path, segment_bytes: u64, epoch: u32) -> Spares {
        let (state, rung) = Default::default();
        Spares { env: env.clone(), dir: dir.to_owned(), segment_bytes, epoch, state, rung }
    }

    /// One for the segment that begins now.
    pub(super) fn take(&self) -> Option<Spare> {
        let mut state = self.state.lock();
        state.has_failed = false;
        state.kept.pop()
    }

    /// The last segment is half full: one is needed soon.
    pub(super) fn want(&self) {
        let mut state = self.state.lock();
        if state.kept.is_empty() && !state.is_wanted && !state.has_failed {
            (state.is_wanted, state.is_rung) = (true, true);
            self.rung.notify_all();
        }
    }

    /// Takes away the name of a segment that is not needed any more: by removing it, or for what this returns, which is
    /// to be [kept](Spares::keep) once the directory was synced (spares 1).
    pub(super) fn put_away(&self, segment: Segment) -> io::Result<Option<Spare>> {
        let path = self.dir.join(segment.name.to_string());
        let fs = &self.env.fs;
        if !segment.is_of(self.epoch) && !active(Fault::RECYCLE_OF_OTHERS) {
            return fs.remove(&path).map(|()| None);
        }
        let is_alone = segment.is_of(self.epoch) || active(Fault::RECYCLE_OF_OTHERS);
        assert!(is_alone, "a file that becomes a segment is nobody else's (spares 3)");
        let Some((file, bytes)) = self.fitting(&path)? else { return fs.remove(&path).map(|()| None) };
        let temporary = self.dir.join(temporary_name(segment.name, self.epoch));
        match fs.rename(&path, &temporary) {
            Ok(()) => Ok(Some(Spare { path: temporary, file, bytes })),
            // A longer name may need space, of which cutting the log needs none.
            Err(error) if error.kind() != io::ErrorKind::NotFound => fs.remove(&path).map(|()| None),
            Err(error) => Err(error),
        }
    }

    /// The file, when there is room for it and it has about the length of its next segment (spares 4).
    fn fitting(&self, path: &Path) -> io::Result<Option<(Arc<dyn File>, u64)>> {
        if self.state.lock().kept.len() >= KEPT_MAX {
            return Ok(None);
        }
        let opened = self.env.fs.open(path, OpenMode::ReadWrite).and_then(|file| Ok((file.len()?, file)));
        match opened {
            Ok((bytes, file)) => Ok(self.lengths().contains(&bytes).then_some((file, bytes))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(error),
            // No handle is left, say: removing it needs none.
            Err(_) => Ok(None),
        }
    }

    fn lengths(&self) -> RangeInclusive<u64> {
        self.segment_bytes / 2..=self.segment_bytes * 2
    }

    /// Keeps one for a segment to come.
    pub(super) fn keep(&self, spare: Spare) {
        assert!(self.lengths().contains(&spare.bytes), "a segment's space is written before it is taken (spares 4)");
        let mut state = self.state.lock();
        state.is_wanted = false;
        if state.kept.len() < KEPT_MAX {
            state.kept.push(spare);
            return;
        }
        drop(state);
        self.remove(&spare);
    }

    /// Removes a file; the next opening does when it cannot be done now.
    pub(super) fn remove(&self, spare: &Spare) {
        let _ = self.env.fs.remove(&spare.path);
    }

    /// Removes all that are kept.
    pub(super) fn clear(&self) {
        let kept = std::mem::take(&mut self.state.lock().kept);
        kept.iter().for_each(|spare| self.remove(spare));
    }

    /// Makes one when it is wanted, until it is told to stop.
    pub(super) fn serve(&self, stop: impl Fn() -> bool, look_around: Duration) {
        while !stop() {
            let mut state = self.state.lock();
            if !state.is_rung {
                self.rung.wait_timeout(&mut state, look_around);
            }
            state.is_rung = false;
            if !std::mem::take(&mut state.is_wanted) || !state.kept.is_empty() {
                continue;
            }
            state.made += 1;
            let name = temporary_name(SegmentName::of(Lsn(u64::MAX - state.made)), self.epoch);
            drop(state);
            match self.make(self.dir.join(name), &stop) {
                Ok(Some(spare)) => self.keep(spare),
                Ok(None) => {}
                // On a full disk, say: the segment that begins next writes its own zeros.
                Err(_) => {
                    let mut state = self.state.lock();
                    // Who wanted one meanwhile wanted this one.
                    (state.has_failed, state.is_wanted) = (true, false);
                }
            }
        }
    }

    /// A file of zeros; none when it is told to stop before.
    fn make(&self, path: PathBuf, stop: &impl Fn() -> bool) -> io::Result<Option<Spare>> {
        let file = self.env.fs.open(&path, OpenMode::CreateNew)?;
        let spare = Spare { path, file, bytes: self.segment_bytes };
        let mut offset = 0;
        let mut written = Ok(());
        while offset < spare.bytes && written.is_ok() && !stop() {
            let count = (spare.bytes - offset).min(ZEROS.len() as u64);
            written = spare.file.write_at(&ZEROS[..count as usize], offset);
            offset += count;
        }
        match written.and_then(|()| spare.file.sync_data()) {
            Ok(()) if offset >= spare.bytes => Ok(Some(spare)),
            Ok(()) => {
                self.remove(&spare);
                Ok(None)
            }
            Err(error) => {
                self.remove(&spare);
                Err(error)
            }
        }
    }

    /// Makes who serves look up.
    pub(super) fn wake(&self) {
        self.state.lock().is_rung = true;
        self.rung.notify_all();
    }
}
