//! A file of pages that are changed where they lie.
//!
//! ```text
//!   create ─▶ empty, its name durable ── an edit names it ── change: write 3, write 17, sync ── change ...   ── retire
//!                                              read 3: what was written last, perhaps while it is being written
//! ```
//!
//! 1. A page is written by one thread at a time, and is durable when [`PageChanges::sync`] returns. Before that a crash
//!    leaves any mixture of its sectors: who writes pages has them elsewhere (in the log), and knows by a checksum.
//! 2. While somebody copies the file nothing in it changes: who would change it is told to try again later.
//!
//! Concurrency: reads from any thread, also beside a change; who must not read half of a page keeps readers off.

use std::io;
use std::sync::Arc;

use weft_env::File;
use weft_format::{Code, Error, FileId, Result, TableId};

use super::data_file::DataFile;
use super::directory::Directory;

/// A file of pages of one length.
pub struct PagedFile {
    directory: Arc<Directory>,
    owner: TableId,
    file: DataFile,
    page_bytes: usize,
}

impl PagedFile {
    pub(super) fn of(directory: &Arc<Directory>, owner: TableId, file: DataFile, page_bytes: usize) -> PagedFile {
        assert!(page_bytes > 0 && page_bytes.is_multiple_of(512), "a page is some sectors");
        PagedFile { directory: directory.clone(), owner, file, page_bytes }
    }

    /// Its number.
    pub fn number(&self) -> FileId {
        self.file.number()
    }

    /// How many pages were begun: the last one may end too early, after a crash.
    pub fn page_count(&self) -> io::Result<u64> {
        Ok(self.file.reader().len()?.div_ceil(self.page_bytes as u64))
    }

    /// The bytes of a page; zeros where the file ends.
    pub fn read(&self, page: u64) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; self.page_bytes];
        let (reader, at) = (self.file.reader(), page * self.page_bytes as u64);
        let mut filled = 0;
        while filled < bytes.len() {
            match reader.read_at(&mut bytes[filled..], at + filled as u64)? {
                0 => break,
                count => filled += count,
            }
        }
        Ok(bytes)
    }

    /// Begins to change pages. Fails with [`Code::ObjectInUse`] while somebody copies the file (paged 2).
    pub fn change(&self) -> Result<PageChanges<'_>> {
        if !self.directory.pins.begin_change(self.number()) {
            let message = format!("file {} is being copied by a backup", self.number());
            return Err(Error::new(Code::ObjectInUse, message).hint("it goes on when the backup has its copy"));
        }
        // From here on it is ended when this is dropped.
        let mut changes = PageChanges { file: self, handle: None };
        changes.handle = Some(self.directory.open_to_change(self.owner, self.number())?);
        Ok(changes)
    }

    /// No page of it is needed any more: a durable edit has forgotten it, or none ever named it. It goes with its last
    /// reader.
    pub fn retire(&self) {
        self.file.retire();
    }
}

/// Some changes of pages. Dropped before [`PageChanges::sync`], which of them are on disk is unknown.
pub struct PageChanges<'a> {
    file: &'a PagedFile,
    handle: Option<Arc<dyn File>>,
}

impl PageChanges<'_> {
    /// Writes a page.
    pub fn write(&mut self, page: u64, bytes: &[u8]) -> Result<()> {
        assert_eq!(bytes.len(), self.file.page_bytes, "a page has the length of the file's pages");
        self.while_ours("writing", |handle| handle.write_at(bytes, page * self.file.page_bytes as u64))
    }

    /// Makes what was written durable.
    pub fn sync(self) -> Result<()> {
        self.while_ours("syncing", |handle| handle.sync_data())
    }

    /// Another engine may have the directory: it wrote the page since (files 3).
    fn while_ours(&self, what: &str, act: impl FnOnce(&dyn File) -> io::Result<()>) -> Result<()> {
        let handle = self.handle.as_deref().expect("it is open while pages change");
        let PagedFile { directory, owner, .. } = self.file;
        directory.while_ours(|| {
            let path = directory.path_of(*owner, self.file.number());
            act(handle).map_err(|error| Error::io(format_args!("{what} {}", path.display()), &error))
        })
    }
}

impl Drop for PageChanges<'_> {
    fn drop(&mut self) {
        self.file.directory.pins.end_change(self.file.number());
    }
}
