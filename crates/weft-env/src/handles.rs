//! Open files, at most so many: a cache of handles over an [`Fs`], for files that are written once and then read.
//!
//! ```text
//!   limit 3                            t1-7 t1-8 t2-9      open
//!   read t3-10   a miss: t1-7 was not read since the hand came by, it is closed; t3-10 is opened     t3-10 t1-8 t2-9
//!   read t1-7    a miss: opened again by its name                                                    ...
//! ```
//!
//! 1. At most `limit` handles are kept. Beside them are open those that a read holds at this moment, one per reading
//!    thread, and those that are being closed.
//! 2. A file that is being read is not closed under its reader: the read has its own reference to the handle.
//! 3. A file keeps its name for as long as somebody has a [`File`] of this cache, and its bytes too unless it is one of
//!    pages: file numbers are never used again, and a part's file is removed after its last reader let go. So opening
//!    it again finds the same file.
//! 4. The system's own limit may be reached by others (sockets, the log): then half of the handles are closed, and the
//!    file is tried again until none is left to close. So does who opens other files ([`GivingWay`]): a handle that
//!    nobody reads keeps no log from going on.
//!
//! Concurrency: a hit takes the file's own slot lock for reading, no lock that others want. A miss takes the lock of
//! the ring to make room, then opens with no lock held, then takes ring and slot one after the other. Handles are
//! closed when no lock is held. Lock order: ring, then a slot.
//!
//! Crash: nothing here is durable.
//!
//! Source: the clock algorithm (Corbató, A paging experiment with the Multics system, 1968).

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use crate::sync::{Mutex, RwLock};
use crate::{File, Fs, OpenMode};

/// The place of a slot that is not in the ring.
const NOWHERE: usize = usize::MAX;
/// The fewest handles that a cache keeps.
const LIMIT_MIN: usize = 4;

/// A bounded cache of open files.
pub struct Handles {
    fs: Arc<dyn Fs>,
    limit: usize,
    ring: Mutex<Ring>,
    opened: AtomicU64,
    closed: AtomicU64,
    refused: AtomicU64,
}

/// What a cache of handles has and did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HandleCounters {
    /// Handles that are kept now.
    pub open: u64,
    /// How many may be.
    pub limit: u64,
    /// Files opened for reading, also again.
    pub opened: u64,
    /// Handles closed to make room for others.
    pub closed: u64,
    /// How often the system had no handle left.
    pub refused: u64,
}

/// Slots that have a handle, and those for which room is being kept.
#[derive(Default)]
struct Ring {
    slots: Vec<Arc<Slot>>,
    hand: usize,
    opening: usize,
}

/// One file.
struct Slot {
    path: PathBuf,
    handle: RwLock<Option<Arc<dyn File>>>,
    /// Read since the hand came by.
    is_used: AtomicBool,
    /// Where it stands in the ring. Changes under the ring's lock.
    place: AtomicUsize,
}

/// A file that is opened when it is read.
struct Lazy {
    handles: Arc<Handles>,
    slot: Arc<Slot>,
}

impl Handles {
    /// A cache that keeps at most `limit` handles (at least four).
    pub fn new(fs: Arc<dyn Fs>, limit: usize) -> Arc<Handles> {
        let (opened, closed, refused) = Default::default();
        Arc::new(Handles { fs, limit: limit.max(LIMIT_MIN), ring: Mutex::default(), opened, closed, refused })
    }

    /// A file that is there, for reading; fails as opening it does.
    pub fn open(self: &Arc<Handles>, path: &Path) -> io::Result<Arc<dyn File>> {
        let lazy = self.lazy(path);
        lazy.handle()?;
        Ok(Arc::new(lazy))
    }

    /// Takes in a file that is open under this name, written and synced; later it may be closed and opened for reading.
    pub fn adopt(self: &Arc<Handles>, path: &Path, handle: Arc<dyn File>) -> Arc<dyn File> {
        let lazy = self.lazy(path);
        self.make_room();
        drop(self.keep(&lazy.slot, handle));
        Arc::new(lazy)
    }

    /// What it has and did.
    pub fn counters(&self) -> HandleCounters {
        HandleCounters {
            open: self.ring.lock().slots.len() as u64,
            limit: self.limit as u64,
            opened: self.opened.load(Ordering::Relaxed),
            closed: self.closed.load(Ordering::Relaxed),
            refused: self.refused.load(Ordering::Relaxed),
        }
    }

    fn lazy(self: &Arc<Handles>, path: &Path) -> Lazy {
        let slot = Slot {
            path: path.to_owned(),
            handle: RwLock::new(None),
            is_used: AtomicBool::new(true),
            place: AtomicUsize::new(NOWHERE),
        };
        Lazy { handles: Arc::clone(self), slot: Arc::new(slot) }
    }

    /// Opens a slot's file, which had no handle a moment ago.
    #[cold]
    fn open_slot(&self, slot: &Arc<Slot>) -> io::Result<Arc<dyn File>> {
        self.make_room();
        match self.with_room(|| self.fs.open(&slot.path, OpenMode::Read)) {
            Ok(handle) => {
                self.opened.fetch_add(1, Ordering::Relaxed);
                Ok(self.keep(slot, handle))
            }
            Err(error) => {
                self.ring.lock().opening -= 1;
                Err(error)
            }
        }
    }

    /// Opens something, again when there is no handle left in the system and some were closed here.
    fn with_room<T>(&self, open: impl Fn() -> io::Result<T>) -> io::Result<T> {
        loop {
            let opened = open();
            if !opened.as_ref().is_err_and(is_out_of_handles) {
                return opened;
            }
            self.refused.fetch_add(1, Ordering::Relaxed);
            if !self.close_half() {
                return opened;
            }
        }
    }

    /// Counts a handle that is to come, and closes others until there is room for it (handles 1).
    fn make_room(&self) {
        let mut ring = self.ring.lock();
        ring.opening += 1;
        let mut gone = Vec::new();
        while ring.slots.len() + ring.opening > self.limit
            && let Some(handle) = ring.evict()
        {
            gone.push(handle);
        }
        drop(ring);
        self.closed.fetch_add(gone.len() as u64, Ordering::Relaxed);
    }

    /// Closes half of the handles; false when there is none (handles 4).
    fn close_half(&self) -> bool {
        let mut ring = self.ring.lock();
        let count = ring.slots.len().div_ceil(2);
        let gone: Vec<_> = (0..count).map_while(|_| ring.evict()).collect();
        drop(ring);
        self.closed.fetch_add(gone.len() as u64, Ordering::Relaxed);
        !gone.is_empty()
    }

    /// Puts a handle that was counted into its slot; another thread's, when that was faster, is as good.
    fn keep(&self, slot: &Arc<Slot>, handle: Arc<dyn File>) -> Arc<dyn File> {
        let mut ring = self.ring.lock();
        ring.opening -= 1;
        let mut present = slot.handle.write();
        if let Some(present) = &*present {
            return Arc::clone(present);
        }
        *present = Some(Arc::clone(&handle));
        slot.place.store(ring.slots.len(), Ordering::Relaxed);
        ring.slots.push(Arc::clone(slot));
        handle
    }

    /// Forgets a slot that nobody reads any more.
    fn forget(&self, slot: &Slot) {
        let mut ring = self.ring.lock();
        let gone = match slot.place.load(Ordering::Relaxed) {
            NOWHERE => None,
            place => ring.take(place),
        };
        drop(ring);
        drop(gone);
    }
}

impl Ring {
    /// Takes out the first slot from the hand on that was not read since the hand came by last.
    fn evict(&mut self) -> Option<Arc<dyn File>> {
        loop {
            if self.hand >= self.slots.len() {
                self.hand = 0;
            }
            let slot = self.slots.get(self.hand)?;
            if !slot.is_used.swap(false, Ordering::Relaxed) {
                return self.take(self.hand);
            }
            self.hand += 1;
        }
    }

    /// Takes a slot out; its handle is the caller's to close, with no lock held.
    fn take(&mut self, place: usize) -> Option<Arc<dyn File>> {
        let slot = self.slots.swap_remove(place);
        slot.place.store(NOWHERE, Ordering::Relaxed);
        if let Some(moved) = self.slots.get(place) {
            moved.place.store(place, Ordering::Relaxed);
        }
        slot.handle.write().take()
    }
}

impl Lazy {
    /// The open file (handles 2).
    fn handle(&self) -> io::Result<Arc<dyn File>> {
        if let Some(handle) = &*self.slot.handle.read() {
            // A store only when it changes something: hits by many threads share the line.
            if !self.slot.is_used.load(Ordering::Relaxed) {
                self.slot.is_used.store(true, Ordering::Relaxed);
            }
            return Ok(Arc::clone(handle));
        }
        self.handles.open_slot(&self.slot)
    }
}

impl Drop for Lazy {
    fn drop(&mut self) {
        self.handles.forget(&self.slot);
    }
}

impl File for Lazy {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.handle()?.read_at(buffer, offset)
    }

    fn write_at(&self, _: &[u8], _: u64) -> io::Result<()> {
        Err(read_only(&self.slot.path))
    }

    fn sync_data(&self) -> io::Result<()> {
        Err(read_only(&self.slot.path))
    }

    fn len(&self) -> io::Result<u64> {
        self.handle()?.len()
    }

    fn set_len(&self, _: u64) -> io::Result<()> {
        Err(read_only(&self.slot.path))
    }
}

fn read_only(path: &Path) -> io::Error {
    let message = format!("{} is in the cache of handles, which reads only; write it before", path.display());
    io::Error::new(io::ErrorKind::PermissionDenied, message)
}

/// Whether the process, or the system, has no handle left.
pub fn is_out_of_handles(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE))
}

mod giving_way;

pub use giving_way::GivingWay;

#[cfg(test)]
mod tests;
