//! A directory that is kept as a writer's elsewhere would be: files of a backup, the log behind it, and no writer.
//!
//! ```text
//!   begin      locks DIR, which has no database, or the note of a mirror
//!   settle     t5-12.data.coming ─▶ t5-12.data   log-...10000   MIRROR: MANIFEST-4 with the edits that it really has
//!   add_log    bytes of a segment, at their place      sync      what was added is durable
//!   stand_in   WRITER-7: segments of epoch 7 are the log's end
//!   remove_*   what neither the manifest nor who follows needs
//! ```
//!
//! 1. A file has its name when it is whole: it is fetched under another one, tested, synced, and renamed.
//! 2. The manifest names what is there, and the log from where that manifest needs it; it takes the place of the one
//!    before at once.
//! 3. Only the bytes behind what is known of the log are written: those before are read by others.
//!
//! Crash: under any name but the temporary ones is what was there before, or what comes after it; log behind what was
//! synced may be anything, and is written again.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use weft_env::{DirLock, Env, ObjectStore, OpenMode};
use weft_format::{Code, Error, Lsn, Result};

use super::copy::{checksum_of, sync_dir};
use super::destination::read_backup;
use super::directory::{LOCK_FILE, names};
use super::list::{Backup, Entry};
use super::place::BackupPlace;
use super::restore::fetch_all;
use super::shelf::{Shelf, fetch};
use crate::engine::directory::create_dir;
use crate::files::{parse_file_name, parse_former_name};
use crate::log::{LogPart, SEGMENT_HEADER_BYTES, SegmentHeader, SegmentName, segment_path, segment_start};
use crate::manifest::{CURRENT, ManifestSnapshot, manifest_number};
use crate::term;

/// So many bytes of the end of a log tell it from another one.
const TAIL_BYTES: u64 = 4096;
/// What a file is called while it is fetched: this behind its name.
const COMING: &str = ".coming";

/// A directory that mirrors a writer's, held by its lock.
pub struct Mirroring {
    env: Env,
    dir: PathBuf,
    shelf: Arc<dyn Shelf>,
    /// Segments with bytes that are not durable.
    touched: BTreeSet<PathBuf>,
    _lock: Box<dyn DirLock>,
}

impl Mirroring {
    /// Takes a directory, which has no database or has `note`: it is made when it is missing.
    pub fn begin(env: &Env, store: &Arc<dyn ObjectStore>, dir: &Path, note: &str) -> Result<Mirroring> {
        create_dir(env, dir)?;
        let owner = format!("pid {}, which follows an archive", std::process::id());
        let lock = env.fs.lock(&dir.join(LOCK_FILE), &owner).map_err(|error| match error.kind() {
            std::io::ErrorKind::WouldBlock => {
                let what = format!("the directory {} is in use by {error}", dir.display());
                Error::new(Code::CannotConnectNow, what).hint("each server that follows an archive has its own")
            }
            _ => Error::io(format!("locking {}", dir.join(LOCK_FILE).display()), &error),
        })?;
        let found = names(env, dir)?;
        let is_of_database = |name: &&String| {
            is_data(name) || segment_start(name).is_some() || manifest_number(name).is_some() || *name == CURRENT
        };
        if !found.iter().any(|name| name == note)
            && let Some(name) = found.iter().find(is_of_database)
        {
            let what = format!("the directory {} holds {name:?}, and is none that follows an archive", dir.display());
            return Err(Error::new(Code::InvalidParameterValue, what).hint("name a directory that is empty or new"));
        }
        let shelf = BackupPlace::Objects(store.clone()).shelf(env);
        Ok(Mirroring { env: env.clone(), dir: dir.to_owned(), shelf, touched: BTreeSet::new(), _lock: lock })
    }

    /// A backup in the store.
    pub fn backup(&self, number: u64) -> Result<Backup> {
        read_backup(&*self.shelf, number)
    }

    /// From where on a backup has the log.
    pub fn log_begins(backup: &Backup) -> Lsn {
        backup.entries.iter().filter_map(|entry| segment_start(&entry.name)).min().unwrap_or_default()
    }

    /// The names of the data files of a backup.
    pub fn data_files(backup: &Backup) -> impl Iterator<Item = &str> {
        backup.entries.iter().map(|entry| entry.name.as_str()).filter(|name| is_data(name))
    }

    /// Makes the directory what it was when a backup was taken, as of an edit of the manifest; `with_log`: the log too,
    /// which it has not up to there. What it has of `known`, the backup before, is not fetched again.
    pub fn settle(&mut self, backup: &Backup, known: Option<&Backup>, edits: u64, with_log: bool) -> Result<()> {
        let (mut wanted, mut pages) = (Vec::new(), Vec::new());
        for entry in &backup.entries {
            let Entry { name, .. } = entry;
            if is_data(name) {
                match self.knows(entry, known)? {
                    Some(true) => {}
                    Some(false) => pages.push(entry.clone()),
                    None => wanted.push(entry.clone()),
                }
            } else if segment_start(name).is_some() {
                wanted.extend(with_log.then(|| entry.clone()));
            } else if manifest_number(name).is_none() {
                let what = format!("backup {} names {name:?}, which is no file of a database", backup.number);
                return Err(Error::corrupt(what).hint("make another backup"));
            }
        }
        self.fetch(backup, wanted)?;
        if with_log {
            self.touched.clear();
            let is_other = |name: &&String| segment_start(name).is_some() && !is_of(backup, name);
            names(&self.env, &self.dir)?
                .iter()
                .filter(is_other)
                .try_for_each(|name| self.remove(&self.dir.join(name)))?;
        }
        // What is on pages may be ahead of the manifest, and not of the log (mirroring 2).
        self.fetch(backup, pages)?;
        self.sync()?;
        self.manifest_of(backup)?.at_edits(edits)?.install(&self.env, &self.dir)
    }

    /// Whether the directory has a file as the backup has it: another one of the name, none, or it.
    fn knows(&self, entry: &Entry, known: Option<&Backup>) -> Result<Option<bool>> {
        let path = self.dir.join(&entry.name);
        if !self.env.fs.exists(&path).map_err(|error| self.failed("looking for", &path, &error))? {
            return Ok(None);
        }
        let is_in = |known: &Backup| known.entries.contains(entry);
        if known.is_some_and(is_in) {
            return Ok(Some(true));
        }
        match checksum_of(&self.env, &path, entry.bytes) {
            Ok(checksum) => Ok(Some(checksum == entry.checksum)),
            Err(error) if error.code() == Code::DataCorrupted => Ok(Some(false)),
            Err(error) => Err(error),
        }
    }

    fn manifest_of(&self, backup: &Backup) -> Result<ManifestSnapshot> {
        let entry = backup.entries.iter().find(|entry| manifest_number(&entry.name).is_some());
        let entry = entry.ok_or_else(|| Error::corrupt(format!("backup {} has no manifest", backup.number)))?;
        let coming = coming(entry);
        let path = self.dir.join(&coming.name);
        self.remove(&path)?;
        fetch(&*self.shelf, &self.dir, backup, &coming)?;
        let failed = |error| self.failed("reading", &path, &error);
        let file = self.env.fs.open(&path, OpenMode::Read).map_err(failed)?;
        let mut bytes = vec![0; usize::try_from(entry.bytes).unwrap_or(usize::MAX)];
        file.read_exact_at(&mut bytes, 0).map_err(failed)?;
        self.remove(&path)?;
        ManifestSnapshot::of_bytes(&bytes)
    }

    /// Fetches a file that came behind a backup, unless it is there.
    pub fn add_file(&mut self, file: &Entry) -> Result<()> {
        if !is_data(&file.name) {
            return Err(Error::corrupt(format!("{:?} is named among data files, which it is not", file.name)));
        }
        if self.knows(file, None)? == Some(true) {
            return Ok(());
        }
        let coming = self.dir.join(coming(file).name);
        self.remove(&coming)?;
        if self.shelf.fetch(file, &coming)? != file.checksum {
            return Err(Error::corrupt(format!(
                "the file {} in {} fails its checksum",
                file.stored,
                self.shelf.place()
            )));
        }
        self.name(file)?;
        sync_dir(&self.env, &self.dir)
    }

    /// Gives a file that is whole its name (mirroring 1).
    fn name(&self, file: &Entry) -> Result<()> {
        let path = self.dir.join(&file.name);
        let renamed = self.env.fs.rename(&self.dir.join(coming(file).name), &path);
        renamed.map_err(|error| self.failed("naming", &path, &error))
    }

    /// Fetches files, which get their names when all are whole (mirroring 1).
    fn fetch(&mut self, backup: &Backup, files: Vec<Entry>) -> Result<()> {
        if files.is_empty() {
            return Ok(());
        }
        let entries: Vec<Entry> = files.iter().map(coming).collect();
        for entry in &entries {
            assert!(entry.name.ends_with(COMING), "what is not whole has another name (mirroring 1)");
            self.remove(&self.dir.join(&entry.name))?;
        }
        fetch_all(&self.env, &self.shelf, &self.dir, &Backup { entries, ..backup.clone() })?;
        files.iter().try_for_each(|file| self.name(file))?;
        sync_dir(&self.env, &self.dir)
    }

    /// Adds bytes of a segment of the log, at their offset in its file; those before `known` are there (mirroring 3).
    pub fn add_log(&mut self, known: Lsn, LogPart { segment, offset, bytes }: &LogPart) -> Result<()> {
        let unknown = || Error::corrupt(format!("{segment:?} is no segment of a log"));
        let (path, start) = segment_path(&self.dir, segment).ok_or_else(unknown)?;
        let header = SEGMENT_HEADER_BYTES as u64;
        let end = start.0.checked_add(*offset).and_then(|end| end.checked_add(bytes.len() as u64));
        let end = end.ok_or_else(unknown)?.saturating_sub(header);
        if end <= known.0 {
            return Ok(());
        }
        let failed = |error: std::io::Error| Error::io(format!("writing {}", path.display()), &error);
        let is_there = self.env.fs.exists(&path).map_err(failed)?;
        let mode = if is_there { OpenMode::ReadWrite } else { OpenMode::CreateNew };
        let file = self.env.fs.open(&path, mode).map_err(failed)?;
        let length = file.len().map_err(failed)?;
        if *offset > length {
            let what = format!("{segment} has {length} bytes, and those from {offset} on were to follow");
            return Err(Error::corrupt(what));
        }
        // Others read what comes before that.
        let first = if known > start { (header + known.0 - start.0).saturating_sub(*offset) } else { 0 };
        let first = usize::try_from(first).unwrap_or(usize::MAX).min(bytes.len());
        let at = offset + first as u64;
        debug_assert!(known <= start || at >= header + known.0 - start.0, "what others read stays (mirroring 3)");
        file.write_at(&bytes[first..], offset + first as u64).map_err(failed)?;
        self.touched.insert(path);
        Ok(())
    }

    /// Makes what was added to the log durable.
    pub fn sync(&mut self) -> Result<()> {
        let is_log = |path: &PathBuf| path.file_name().and_then(|name| name.to_str()).and_then(segment_start).is_some();
        debug_assert!(self.touched.iter().all(is_log), "what is not synced at once is log (mirroring 1, 3)");
        for path in &self.touched {
            let synced = self.env.fs.open(path, OpenMode::ReadWrite).and_then(|file| file.sync_data());
            synced.map_err(|error| self.failed("syncing", path, &error))?;
        }
        if !std::mem::take(&mut self.touched).is_empty() {
            sync_dir(&self.env, &self.dir)?;
        }
        Ok(())
    }

    /// The epoch of the last segment; none: there is no log.
    pub fn epoch(&self) -> Result<Option<u32>> {
        let last = names(&self.env, &self.dir)?.iter().filter_map(|name| SegmentName::parse(name)).max();
        let Some(last) = last else { return Ok(None) };
        let path = self.dir.join(last.to_string());
        let mut bytes = [0; SEGMENT_HEADER_BYTES];
        let read = self.env.fs.open(&path, OpenMode::Read).and_then(|file| file.read_exact_at(&mut bytes, 0));
        read.map_err(|error| self.failed("reading", &path, &error))?;
        Ok(Some(SegmentHeader::decode(&bytes, &last.to_string())?.epoch))
    }

    /// The end of the log that a directory has up to a position: the header of the segment there, and its last bytes.
    /// Empty: it has none.
    pub fn log_tail(env: &Env, dir: &Path, position: Lsn) -> Result<Vec<LogPart>> {
        let found = names(env, dir)?;
        let segments = found.iter().filter_map(|name| SegmentName::parse(name));
        let Some(last) = segments.filter(|segment| segment.start < position).max() else { return Ok(Vec::new()) };
        let header = SEGMENT_HEADER_BYTES as u64;
        let end = header + (position.0 - last.start.0);
        let path = dir.join(last.to_string());
        let failed = |error: std::io::Error| Error::io(format!("reading {}", path.display()), &error);
        let file = env.fs.open(&path, OpenMode::Read).map_err(failed)?;
        let part = |from: u64, to: u64| {
            let mut bytes = vec![0; usize::try_from(to - from).expect("a tail is short")];
            file.read_exact_at(&mut bytes, from).map_err(failed)?;
            Ok(LogPart { segment: last.to_string(), offset: from, bytes })
        };
        Ok(vec![part(0, header)?, part(header.max(end.saturating_sub(TAIL_BYTES)), end)?])
    }

    /// Says that the writer of an epoch has the directory: who follows looks for that.
    pub fn stand_in(&self, epoch: u32) -> Result<()> {
        term::stand_in(&self.env, &self.dir, epoch)
    }

    /// Removes the segments that begin at or behind a position: a crash has left them, in whatever state.
    pub fn remove_log_from(&self, position: Lsn) -> Result<()> {
        let is_behind = |name: &&String| segment_start(name).is_some_and(|start| start >= position);
        names(&self.env, &self.dir)?.iter().filter(is_behind).try_for_each(|name| self.remove(&self.dir.join(name)))
    }

    /// Removes the segments that end before a position: who is at the end of one looks there whether it goes on.
    pub fn remove_log_before(&self, from: Lsn) -> Result<()> {
        let mut segments: Vec<SegmentName> =
            names(&self.env, &self.dir)?.iter().filter_map(|name| SegmentName::parse(name)).collect();
        segments.sort_unstable();
        for pair in segments.windows(2).filter(|pair| pair[1].start < from) {
            self.remove(&self.dir.join(pair[0].to_string()))?;
        }
        Ok(())
    }

    /// Removes all data files but these.
    pub fn remove_files_but(&self, kept: &BTreeSet<String>) -> Result<()> {
        let is_gone = |name: &&String| is_data(name) && !kept.contains(*name) || name.ends_with(COMING);
        names(&self.env, &self.dir)?.iter().filter(is_gone).try_for_each(|name| self.remove(&self.dir.join(name)))
    }

    fn remove(&self, path: &Path) -> Result<()> {
        match self.env.fs.remove(path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(self.failed("removing", path, &error)),
            _ => Ok(()),
        }
    }

    fn failed(&self, what: &str, path: &Path, error: &std::io::Error) -> Error {
        Error::io(format!("{what} {}", path.display()), error)
    }
}

fn is_of(backup: &Backup, name: &str) -> bool {
    backup.entries.iter().any(|entry| entry.name == name)
}

fn is_data(name: &str) -> bool {
    parse_file_name(name).is_some() || parse_former_name(name).is_some()
}

fn coming(entry: &Entry) -> Entry {
    Entry { name: format!("{}{COMING}", entry.name), ..entry.clone() }
}
