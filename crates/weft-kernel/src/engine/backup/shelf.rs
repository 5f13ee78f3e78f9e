//! What a backup needs of the place where it is put.
//!
//! ```text
//!   taking     begin ─ put a file, put a file, ... ─ flush ─ finish: backup-3 is there, so all that it names is
//!   restoring  lists ─ read a list ─ fetch a file, fetch a file, ...
//! ```
//!
//! 1. `finish` is the moment at which a backup counts: one name, made at once, after everything that it names.
//! 2. Of two who finish the same number one succeeds.

use std::path::{Path, PathBuf};

use weft_format::{Code, Error, Result};

use super::list::{Backup, Entry};

/// Asked between pieces: an error ends the work.
pub(super) type GoOn<'a> = &'a (dyn Fn() -> Result<()> + Sync);

/// A place for backups. What it says of files is by their names there ([`Entry::stored`]).
pub(super) trait Shelf: Send + Sync {
    /// For messages.
    fn place(&self) -> String;
    /// What is held while a backup is taken.
    fn begin(&self) -> Result<Box<dyn Taken>>;
    /// The numbers of the lists that are there, ascending.
    fn numbers(&self) -> Result<Vec<u64>>;
    /// The bytes of a list; none when there is none.
    fn list(&self, number: u64) -> Result<Option<Vec<u8>>>;
    /// Copies a file of a backup to `to`, a new file; the CRC32C of what was copied, which has the bytes that it says.
    fn fetch(&self, entry: &Entry, to: &Path) -> Result<u32>;
    /// The CRC32C of a file, which has the bytes that it says.
    fn checksum(&self, entry: &Entry) -> Result<u32>;
    /// How many files are fetched at a time.
    fn streams(&self) -> usize;
}

/// A place while a backup is taken.
pub(super) trait Taken {
    /// Learns which backups are good. What unfinished ones have left goes.
    fn knows(&mut self, good: &[Backup]) -> Result<()>;
    /// Whether a file of an earlier backup is there as it says.
    fn has(&mut self, entry: &Entry) -> Result<bool>;
    /// The name there of a file that is to be put.
    fn name(&self, stored: &str, number: u64) -> String;
    /// Puts the first `bytes` bytes of a file; their CRC32C.
    fn put_file(&mut self, from: &Path, stored: &str, bytes: u64, go_on: GoOn<'_>) -> Result<u32>;
    /// Puts bytes as a file.
    fn put(&mut self, stored: &str, bytes: &[u8], go_on: GoOn<'_>) -> Result<()>;
    /// Where a file that was put can be read; none: where it came from.
    fn copy_of(&self, stored: &str) -> Option<PathBuf>;
    /// Makes a backup count, last of all (shelf 1).
    fn finish(&mut self, backup: &Backup, go_on: GoOn<'_>) -> Result<()>;
    /// Removes what no list names, after a failure.
    fn clean(&mut self);
}

/// Fetches a file of a backup into a directory, and tests its checksum.
pub(super) fn fetch(shelf: &dyn Shelf, dir: &Path, backup: &Backup, entry: &Entry) -> Result<()> {
    let found = shelf.fetch(entry, &dir.join(&entry.name)).map_err(|error| in_backup(backup, error))?;
    if found == entry.checksum { Ok(()) } else { Err(wrong_checksum(backup, entry)) }
}

/// What is said of a file that is not as its list says.
pub(super) fn wrong_checksum(backup: &Backup, entry: &Entry) -> Error {
    in_backup(backup, Error::corrupt(format!("the file {} fails its checksum", entry.stored)))
}

/// An error, as one of a backup when something is damaged.
pub(super) fn in_backup(backup: &Backup, error: Error) -> Error {
    if error.code() != Code::DataCorrupted {
        return error;
    }
    Error::corrupt(format!("backup {} is damaged: {}", backup.number, error.message()))
        .hint("restore another backup; `weft restore DEST --list` shows those that are there")
}
