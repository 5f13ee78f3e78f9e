//! A file that is there, for one of the parts that lie in it.
//!
//! ```text
//!   part 1 ── DataFile ─┐
//!   part 2 ── DataFile ─┼─▶ t12-345.data        part 1 is retired: nothing; part 2 too: it goes with its last reader
//!   reader ─────────────┘
//! ```
//!
//! 1. A part that is let go without being retired keeps a file that was sealed: something durable may name it.
//! 2. A file that was written keeps its own handle until it is sealed; from then on the cache of handles has it.
//!
//! Concurrency: from any thread.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use weft_env::File;
use weft_env::sync::Mutex;
use weft_format::{FileId, TableId};

use super::directory::Directory;
use crate::fault::{Fault, active};

/// A part's hold on a file.
pub struct DataFile {
    place: Arc<Place>,
    is_retired: AtomicBool,
}

/// The file, as all its parts and readers have it.
struct Place {
    directory: Arc<Directory>,
    owner: TableId,
    number: FileId,
    /// As it was written (data file 2).
    written: Mutex<Option<Arc<dyn File>>>,
    /// Since it was sealed.
    sealed: OnceLock<Arc<dyn File>>,
    /// A part of it was let go that was not retired (data file 1).
    is_kept: AtomicBool,
}

impl DataFile {
    /// A file that is being written.
    pub(super) fn written(
        directory: &Arc<Directory>,
        owner: TableId,
        number: FileId,
        handle: Arc<dyn File>,
    ) -> DataFile {
        DataFile::of(directory, owner, number, Mutex::new(Some(handle)), OnceLock::new())
    }

    /// A file that is there.
    pub(super) fn sealed(
        directory: &Arc<Directory>,
        owner: TableId,
        number: FileId,
        handle: Arc<dyn File>,
    ) -> DataFile {
        DataFile::of(directory, owner, number, Mutex::default(), OnceLock::from(handle))
    }

    fn of(
        directory: &Arc<Directory>,
        owner: TableId,
        number: FileId,
        written: Mutex<Option<Arc<dyn File>>>,
        sealed: OnceLock<Arc<dyn File>>,
    ) -> DataFile {
        let (directory, is_kept) = (directory.clone(), AtomicBool::new(false));
        let place = Arc::new(Place { directory, owner, number, written, sealed, is_kept });
        DataFile { place, is_retired: AtomicBool::new(false) }
    }

    /// Its number.
    pub fn number(&self) -> FileId {
        self.place.number
    }

    /// The same file, for another part in it.
    pub fn share(&self) -> DataFile {
        DataFile { place: self.place.clone(), is_retired: AtomicBool::new(false) }
    }

    /// What reads it. The file stays until that is gone, too.
    pub fn reader(&self) -> Arc<dyn File> {
        self.place.clone()
    }

    /// Makes its bytes durable, when they are not; its name is by [`Files::sync_names`](super::Files::sync_names).
    pub fn seal(&self) -> io::Result<()> {
        let Place { directory, owner, number, written, sealed, .. } = &*self.place;
        let Some(handle) = written.lock().clone() else { return Ok(()) };
        if !active(Fault::SKIP_FILE_SYNC) {
            handle.sync_data()?;
        }
        sealed.get_or_init(|| directory.adopt(*owner, *number, handle));
        *written.lock() = None;
        Ok(())
    }

    /// The part is gone: a durable edit has forgotten it, or none ever named it. The file goes with the last of its
    /// parts and readers.
    pub fn retire(&self) {
        self.is_retired.store(true, Ordering::Release);
    }

    /// Whether its bytes are there under its name.
    pub fn exists(&self) -> bool {
        self.place.directory.exists(self.place.owner, self.place.number).unwrap_or(false)
    }

    pub(super) fn append(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let written = self.place.written.lock().clone();
        written.expect("a sealed file is not changed (files 2)").write_at(bytes, offset)
    }
}

impl Drop for DataFile {
    fn drop(&mut self) {
        if !*self.is_retired.get_mut() && self.place.sealed.get().is_some() {
            self.place.is_kept.store(true, Ordering::Release);
        }
    }
}

impl Place {
    fn with<R>(&self, read: impl FnOnce(&dyn File) -> R) -> R {
        if let Some(sealed) = self.sealed.get() {
            return read(&**sealed);
        }
        let written = self.written.lock().clone();
        let handle = written.or_else(|| self.sealed.get().cloned());
        read(&*handle.expect("a file is being written or is sealed (data file 2)"))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // While a thread unwinds the disk may be gone (a simulated crash); the next opening removes what is left.
        if !*self.is_kept.get_mut() && !std::thread::panicking() {
            self.directory.remove(self.owner, self.number);
        }
    }
}

impl File for Place {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.with(|file| file.read_at(buffer, offset))
    }

    fn len(&self) -> io::Result<u64> {
        self.with(|file| file.len())
    }

    fn write_at(&self, _: &[u8], _: u64) -> io::Result<()> {
        Err(self.unchanging())
    }

    fn sync_data(&self) -> io::Result<()> {
        Err(self.unchanging())
    }

    fn set_len(&self, _: u64) -> io::Result<()> {
        Err(self.unchanging())
    }
}

impl Place {
    fn unchanging(&self) -> io::Error {
        io::Error::new(io::ErrorKind::PermissionDenied, format!("file {} is read only", self.number))
    }
}
