//! One directory with the data files in it: where they are, and when they go.
//!
//! Concurrency: from any thread. `is_ours` is held for reading while a file is made or removed, so that the directory
//! is not let go in the middle. No lock is taken while pins are locked.
//!
//! Crash: a file that no edit names is an orphan, which the next opening removes.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use weft_env::sync::RwLock;
use weft_env::{Env, File, HandleCounters, Handles, OpenMode};
use weft_format::{Code, Error, FileId, Result, TableId, file_name};

use super::name::{former_name, parse_file_name, parse_former_name};
use super::pins::Pins;
use super::removals::Removals;
use crate::fault::{Fault, active};
use crate::term::Term;

/// Who is told that a file is gone: it may have blocks of it.
pub(crate) type Forget = Box<dyn Fn(FileId) + Send + Sync>;

/// A directory.
pub(super) struct Directory {
    env: Env,
    path: PathBuf,
    handles: Arc<Handles>,
    pub(super) pins: Pins,
    removals: Removals,
    /// Files may be made and removed in it.
    is_ours: RwLock<bool>,
    /// The right to do so, which another writer may take; none: nobody else can come.
    term: Option<Arc<Term>>,
    /// Files that have the name which an earlier release gave them, and keep it.
    former: RwLock<BTreeSet<FileId>>,
    forget: Forget,
}

impl Directory {
    pub(super) fn new(
        env: &Env,
        path: &Path,
        handles: Arc<Handles>,
        forget: Forget,
        (is_ours, term): (bool, Option<Arc<Term>>),
    ) -> Directory {
        Directory {
            env: env.clone(),
            path: path.to_owned(),
            handles,
            pins: Pins::default(),
            removals: Removals::default(),
            is_ours: RwLock::new(is_ours),
            term,
            former: RwLock::default(),
            forget,
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn path_of(&self, owner: TableId, number: FileId) -> PathBuf {
        self.path.join(self.name_of(owner, number))
    }

    pub(super) fn name_of(&self, owner: TableId, number: FileId) -> String {
        if self.former.read().contains(&number) { former_name(owner, number) } else { file_name(owner, number) }
    }

    /// Looks for files with the names of an earlier release.
    pub(super) fn find_former(&self) -> Result<()> {
        let found = self.names()?.iter().filter_map(|name| Some(parse_former_name(name)?.1)).collect();
        *self.former.write() = found;
        Ok(())
    }

    fn names(&self) -> Result<Vec<String>> {
        let names = self.env.fs.list(&self.path);
        names.map_err(|error| Error::io(format_args!("listing {}", self.path.display()), &error))
    }

    /// Whether it is this engine's now.
    pub(super) fn is_ours(&self) -> bool {
        *self.is_ours.read()
    }

    /// Does what changes the directory (files 3). What is done takes the lock for nothing else.
    pub(super) fn while_ours<R>(&self, change: impl FnOnce() -> Result<R>) -> Result<R> {
        let is_ours = self.is_ours.read();
        if !*is_ours {
            return Err(Error::new(Code::ShuttingDown, "the database was closed"));
        }
        self.term.as_ref().map_or(Ok(()), |term| term.check())?;
        change()
    }

    /// Makes a file, for writing.
    pub(super) fn create(&self, owner: TableId, number: &mut dyn FnMut() -> FileId) -> Result<(FileId, Arc<dyn File>)> {
        self.while_ours(|| {
            loop {
                let number = number();
                let path = self.path_of(owner, number);
                match self.env.fs.open(&path, OpenMode::CreateNew) {
                    Ok(handle) => return Ok((number, handle)),
                    // One that had lost the directory was late, and made it after this opening had looked.
                    Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                    Err(error) => return Err(Error::io(format_args!("creating {}", path.display()), &error)),
                }
            }
        })
    }

    /// Opens a file for reading, one of a bounded number.
    pub(super) fn open(&self, owner: TableId, number: FileId) -> Result<Arc<dyn File>> {
        let path = self.path_of(owner, number);
        self.handles.open(&path).map_err(|error| {
            Error::io(format_args!("opening {}", path.display()), &error).hint("restore the file from a backup")
        })
    }

    /// Opens a file of pages to change some.
    pub(super) fn open_to_change(&self, owner: TableId, number: FileId) -> Result<Arc<dyn File>> {
        self.while_ours(|| {
            let path = self.path_of(owner, number);
            let handle = self.env.fs.open(&path, OpenMode::ReadWrite);
            handle.map_err(|error| Error::io(format_args!("opening {}", path.display()), &error))
        })
    }

    /// From here on a file that was written and synced is read through the cache of handles.
    pub(super) fn adopt(&self, owner: TableId, number: FileId, handle: Arc<dyn File>) -> Arc<dyn File> {
        self.handles.adopt(&self.path_of(owner, number), handle)
    }

    pub(super) fn counters(&self) -> HandleCounters {
        self.handles.counters()
    }

    pub(super) fn exists(&self, owner: TableId, number: FileId) -> io::Result<bool> {
        self.env.fs.exists(&self.path_of(owner, number))
    }

    /// All data files.
    pub(super) fn list(&self) -> Result<Vec<(TableId, FileId)>> {
        let parsed = |name: &String| parse_file_name(name).or_else(|| parse_former_name(name));
        Ok(self.names()?.iter().filter_map(parsed).collect())
    }

    /// Makes names durable.
    pub(super) fn sync(&self) -> Result<()> {
        if active(Fault::SKIP_DIR_SYNC) {
            return Ok(());
        }
        let failed = |error| Error::io(format_args!("syncing directory {}", self.path.display()), &error);
        self.env.fs.sync_dir(&self.path).map_err(failed)
    }

    /// Removes a file that nobody has any more, once nobody copies it; in the background where there are threads.
    pub(super) fn remove(&self, owner: TableId, number: FileId) {
        if !self.removals.take(owner, number) {
            self.remove_now(owner, number);
        }
    }

    fn remove_now(&self, owner: TableId, number: FileId) {
        let length = || self.env.fs.open(&self.path_of(owner, number), OpenMode::Read)?.len();
        // Of one that cannot be looked at nobody knows; it is as good as none.
        if self.pins.may_remove(owner, number, || length().unwrap_or(0)) {
            self.unlink(owner, number);
        }
        (self.forget)(number);
    }

    /// Takes a file's name out of the directory (files 3). One that cannot be removed now is an orphan.
    pub(super) fn unlink(&self, owner: TableId, number: FileId) {
        let is_ours = self.is_ours.read();
        let has_term = || self.term.as_ref().is_none_or(|term| term.check().is_ok());
        if *is_ours && has_term() || active(Fault::REMOVE_AFTER_CLOSE) {
            let _ = self.env.fs.remove(&self.path_of(owner, number));
        }
    }

    /// Removes a file that nothing names.
    pub(super) fn remove_orphan(&self, owner: TableId, number: FileId) -> Result<()> {
        self.while_ours(|| {
            let path = self.path_of(owner, number);
            match self.env.fs.remove(&path) {
                // The one that made it may live, and has removed it.
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    Err(Error::io(format_args!("removing {}", path.display()), &error))
                }
                _ => Ok(()),
            }
        })
    }

    /// Removes in this thread what others let go of, until it is told to stop.
    pub(super) fn serve_removals(&self, stop: impl Fn() -> bool, look_around: Duration) {
        self.removals.serve(stop, |owner, number| self.remove_now(owner, number), look_around);
    }

    pub(super) fn wake_removals(&self) {
        self.removals.wake();
    }

    /// Nothing is made or removed in it any more.
    pub(super) fn let_go(&self) {
        *self.is_ours.write() = false;
    }
}
