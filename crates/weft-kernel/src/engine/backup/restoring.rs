//! What is added to a backup while it is restored: log that came after it, and the files that this attaches.
//!
//! ```text
//!   backup 3    log-...10000 up to offset 9216     add_log("log-...10000" from 8192)    1024 bytes are compared
//!                                                  add_log("log-...18200" from 0)       a new segment
//!   raise_edits(57)    the log names edits of the manifest that came after the backup: it says so (ends 2)
//! ```
//!
//! 1. What is there is compared, never changed: log of another history does not fit.
//! 2. The log stays one piece: bytes behind a gap within a segment are refused.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use weft_env::{Env, File, OpenMode};
use weft_format::{Error, Lsn, Result};

use super::copy::write;
use super::list::{Backup, Entry};
use super::shelf::{Shelf, fetch};
use crate::files::parse_file_name;
use crate::log::{LogPart, SEGMENT_HEADER_BYTES, segment_path};
use crate::manifest::ManifestSnapshot;

/// A note has so many bytes at most.
const NOTE_BYTES_MAX: usize = 4096;

/// A database that is being restored, whose backup is there, and which is none before this ends well.
pub struct Restoring<'a> {
    pub(super) env: &'a Env,
    pub(super) shelf: &'a Arc<dyn Shelf>,
    pub(super) dir: &'a Path,
    pub(super) backup: &'a Backup,
    pub(super) written: &'a mut Vec<PathBuf>,
    /// Segments that were added to.
    pub(super) touched: BTreeSet<PathBuf>,
}

impl Restoring<'_> {
    /// The backup.
    pub fn backup(&self) -> &Backup {
        self.backup
    }

    /// Fetches a data file, unless the backup has it.
    pub fn add_file(&mut self, file: &Entry) -> Result<()> {
        let name = &file.name;
        if parse_file_name(name).is_none() {
            return Err(Error::corrupt(format!("{name:?} is named among data files, which it is not")));
        }
        let path = self.dir.join(name);
        if let Some(known) = self.backup.entries.iter().find(|entry| entry.name == *name) {
            let is_same = (known.bytes, known.checksum) == (file.bytes, file.checksum);
            let differs =
                || Error::corrupt(format!("the file {name} is not the same in backup {}", self.backup.number));
            return if is_same { Ok(()) } else { Err(differs()) };
        }
        if self.written.contains(&path) {
            return Ok(());
        }
        self.written.push(path);
        fetch(&**self.shelf, self.dir, self.backup, file)
    }

    /// Adds bytes of a segment of the log, at their offset in its file (restoring 1, 2). The backup has the log up to
    /// `known`: what ends at or before that is left out, for it may lie before the backup's first segment.
    pub fn add_log(&mut self, known: Lsn, LogPart { segment, offset, bytes }: &LogPart) -> Result<()> {
        let unknown = || Error::corrupt(format!("{segment:?} is no segment of a log"));
        let (path, start) = segment_path(self.dir, segment).ok_or_else(unknown)?;
        let offset = *offset;
        let end = start.0.checked_add(offset).and_then(|end| end.checked_add(bytes.len() as u64));
        let end = end.ok_or_else(unknown)?.saturating_sub(SEGMENT_HEADER_BYTES as u64);
        if end <= known.0 {
            return Ok(());
        }
        let failed = |error: std::io::Error| Error::io(format!("writing {}", path.display()), &error);
        let fs = &self.env.fs;
        let is_there = fs.exists(&path).map_err(failed)?;
        if !is_there {
            self.written.push(path.clone());
        }
        let mode = if is_there { OpenMode::ReadWrite } else { OpenMode::CreateNew };
        let file = fs.open(&path, mode).map_err(failed)?;
        let length = file.len().map_err(failed)?;
        if offset > length {
            return Err(Error::corrupt(format!(
                "{segment} has {length} bytes, and those from {offset} on were to follow"
            )));
        }
        let known = (length - offset).min(bytes.len() as u64) as usize;
        if !is_as(&*file, offset, &bytes[..known]).map_err(failed)? {
            let what =
                format!("{segment} is not the same as in backup {}: it is of another history", self.backup.number);
            return Err(Error::corrupt(what));
        }
        if known < bytes.len() {
            file.write_at(&bytes[known..], offset + known as u64).map_err(failed)?;
            self.touched.insert(path);
        }
        Ok(())
    }

    /// The log names edits of the manifest up to here (ends 2).
    pub fn raise_edits(&mut self, edits: u64) -> Result<()> {
        let mut manifest = ManifestSnapshot::of_copy(self.env, self.dir)?;
        manifest.raise_edits(edits);
        let (name, bytes) = manifest.file(self.env);
        let path = self.dir.join(name);
        assert!(self.written.contains(&path), "the manifest of the backup is there, and no other (restoring 1)");
        let removed = self.env.fs.remove(&path);
        removed.map_err(|error| Error::io(format!("removing {}", path.display()), &error))?;
        write(self.env, &path, &bytes)
    }

    /// Adds a small file that is none of the database.
    pub fn add_note(&mut self, name: &str, bytes: &[u8]) -> Result<()> {
        assert!(bytes.len() <= NOTE_BYTES_MAX, "a note is short");
        let path = self.dir.join(name);
        self.written.push(path.clone());
        write(self.env, &path, bytes)
    }

    /// Makes what was added to the log durable.
    pub(super) fn sync(&self) -> Result<()> {
        for path in &self.touched {
            let synced = self.env.fs.open(path, OpenMode::ReadWrite).and_then(|file| file.sync_data());
            synced.map_err(|error| Error::io(format!("syncing {}", path.display()), &error))?;
        }
        Ok(())
    }
}

fn is_as(file: &dyn File, offset: u64, expected: &[u8]) -> std::io::Result<bool> {
    let mut found = vec![0; expected.len()];
    file.read_exact_at(&mut found, offset)?;
    Ok(found == expected)
}
