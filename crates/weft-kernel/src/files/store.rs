//! The service itself.
//!
//! Concurrency: all of it from any thread.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use weft_env::{Env, HandleCounters, Handles};
use weft_format::{Error, FileId, Result, TableId};

use super::data_file::DataFile;
use super::directory::{Directory, Forget};
use super::paged::PagedFile;
use super::pin::FilePin;
use super::writing::NewFile;
use crate::fault::{Fault, active};
use crate::term::Term;

/// Who takes a directory from a writer that may live leaves it so many numbers of files.
const NUMBERS_APART: u64 = 1 << 20;

/// The data files of one database.
pub struct Files {
    directory: Arc<Directory>,
    /// The next number.
    next: AtomicU64,
}

impl Files {
    /// The files of a directory that this engine has locked, while it has the term. Numbers begin at 1 until it is told
    /// otherwise.
    pub(crate) fn new(env: &Env, dir: &Path, handles: Arc<Handles>, forget: Forget, term: Option<Arc<Term>>) -> Files {
        Files::of(Directory::new(env, dir, handles, forget, (true, term)))
    }

    /// The files of a directory that another engine has, which is followed: none is made or removed.
    pub(crate) fn of_another(env: &Env, dir: &Path, handles: Arc<Handles>, forget: Forget) -> Files {
        Files::of(Directory::new(env, dir, handles, forget, (false, None)))
    }

    fn of(directory: Directory) -> Files {
        Files { directory: Arc::new(directory), next: AtomicU64::new(1) }
    }

    /// A new file of a table or index, empty, under a number that was never used (files 1).
    pub fn create(&self, owner: TableId) -> Result<NewFile> {
        let mut next = || FileId(self.next.fetch_add(1, Ordering::Relaxed));
        let (number, handle) = self.directory.create(owner, &mut next)?;
        Ok(NewFile::new(DataFile::written(&self.directory, owner, number, handle)))
    }

    /// A file that is there, sealed.
    pub fn open(&self, owner: TableId, number: FileId) -> Result<DataFile> {
        Ok(DataFile::sealed(&self.directory, owner, number, self.directory.open(owner, number)?))
    }

    /// A new file of pages, empty; its name is durable.
    pub fn create_paged(&self, owner: TableId, page_bytes: usize) -> Result<PagedFile> {
        let file = self.create(owner)?.seal().map_err(|error| Error::io("making a file of pages", &error))?;
        self.sync_names().inspect_err(|_| file.retire())?;
        Ok(PagedFile::of(&self.directory, owner, file, page_bytes))
    }

    /// A file of pages that is there.
    pub fn open_paged(&self, owner: TableId, number: FileId, page_bytes: usize) -> Result<PagedFile> {
        Ok(PagedFile::of(&self.directory, owner, self.open(owner, number)?, page_bytes))
    }

    /// Bytes that stand for a file.
    #[cfg(test)]
    pub(crate) fn of_bytes(&self, owner: TableId, number: FileId, bytes: Arc<dyn weft_env::File>) -> DataFile {
        DataFile::sealed(&self.directory, owner, number, bytes)
    }

    /// Makes the names of the files that were sealed durable: before that no edit may name them.
    pub fn sync_names(&self) -> Result<()> {
        self.directory.sync()
    }

    /// All files that are there.
    pub fn list(&self) -> Result<Vec<(TableId, FileId)>> {
        self.directory.list()
    }

    /// Removes a file that no part lies in any more, once nobody copies it; in the background where there are threads.
    /// Who has it open [retires](DataFile::retire) it instead.
    pub fn remove(&self, owner: TableId, number: FileId) {
        self.directory.remove(owner, number);
    }

    /// Open files, and what was done to keep them so few.
    pub fn counters(&self) -> HandleCounters {
        self.directory.counters()
    }

    /// Numbers go on behind this one, and behind all files that are there (files 1), which it returns.
    pub(crate) fn number_behind(&self, last: FileId) -> Result<Vec<(TableId, FileId)>> {
        self.note(last);
        let found = self.list()?;
        found.iter().for_each(|(_, file)| self.note(*file));
        Ok(found)
    }

    /// The highest number that was given, or left out.
    pub(crate) fn last_number(&self) -> FileId {
        FileId(self.next.load(Ordering::Relaxed) - 1)
    }

    /// Leaves numbers to a writer that may live, and make files.
    pub(crate) fn number_apart(&self) {
        self.next.fetch_add(NUMBERS_APART, Ordering::Relaxed);
    }

    /// A file of this number was there.
    pub(crate) fn note(&self, number: FileId) {
        self.next.fetch_max(number.next().0, Ordering::Relaxed);
    }

    /// Looks for files with the names of an earlier release, which they keep. Before any is opened.
    pub(crate) fn find_former(&self) -> Result<()> {
        self.directory.find_former()
    }

    /// What a file is called in the directory.
    pub(crate) fn name(&self, owner: TableId, number: FileId) -> String {
        self.directory.name_of(owner, number)
    }

    /// Whether the directory is this engine's: not that of one which is followed, and not after the close.
    pub fn are_ours(&self) -> bool {
        self.directory.is_ours()
    }

    /// Does what changes the directory, which stays this engine's meanwhile; an error when it is no longer.
    pub(crate) fn while_ours<R>(&self, change: impl FnOnce() -> Result<R>) -> Result<R> {
        self.directory.while_ours(change)
    }

    /// Removes of what was found at the opening what nobody names: files of jobs that did not end and of bulk
    /// statements that did not commit. Not what is there by now: a successor may have made it (`term` 6).
    pub(crate) fn remove_orphans(&self, found: Vec<(TableId, FileId)>, named: &BTreeSet<FileId>) -> Result<()> {
        let last = self.last_number();
        assert!(found.iter().all(|(_, number)| *number <= last), "what was found has no number to come (files 1)");
        let found = if active(Fault::REMOVE_OF_SUCCESSOR) { self.list()? } else { found };
        let mut orphans = found.into_iter().filter(|(_, number)| !named.contains(number));
        orphans.try_for_each(|(owner, number)| self.directory.remove_orphan(owner, number))
    }

    /// Keeps every file that is there, for who reads it, until what this returns is dropped.
    pub(crate) fn keep(&self) -> FilePin {
        FilePin::kept(&self.directory)
    }

    /// Keeps every file as it is until what this returns is dropped, or told of fewer.
    pub(crate) fn pin(&self) -> FilePin {
        FilePin::all(&self.directory)
    }

    /// Bytes of the files that nobody has any more but who follows.
    pub(crate) fn followed_bytes(&self) -> u64 {
        self.directory.pins.followed_bytes()
    }

    /// How many files wait until nobody copies them.
    #[cfg(test)]
    pub(crate) fn waiting_count(&self) -> usize {
        self.directory.pins.waiting_count()
    }

    /// The directory, which has the log and the manifest, too.
    pub(crate) fn dir(&self) -> &Path {
        self.directory.path()
    }

    /// Where a file lies: for who copies files, or moves them away.
    pub(crate) fn path(&self, owner: TableId, number: FileId) -> PathBuf {
        self.directory.path_of(owner, number)
    }

    /// Removes in this thread what others let go of, until it is told to stop.
    pub(crate) fn serve_removals(&self, stop: impl Fn() -> bool, look_around: Duration) {
        self.directory.serve_removals(stop, look_around);
    }

    /// Makes who removes look up.
    pub(crate) fn wake_removals(&self) {
        self.directory.wake_removals();
    }

    /// The directory may be another's from now on: nothing is made or removed in it any more, whoever still reads.
    pub(crate) fn let_go(&self) {
        self.directory.let_go();
    }
}
