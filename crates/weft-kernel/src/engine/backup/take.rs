//! Takes a backup of a database that runs.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;

use weft_env::OpenMode;
use weft_format::{Code, Error, FileId, Lsn, Result, TableId, Timestamp};

use super::copy::{checksum_of, checksum_of_first};
use super::destination::Destination;
use super::list::{Backup, Entry};
use super::place::BackupPlace;
use super::source::{self, LogContent, MANIFEST_PREFIX, Wanted};
use crate::CancelToken;
use crate::catalog::Relation;
use crate::engine::tested::test_data_file;
use crate::log::SegmentName;
use crate::manifest::ManifestSnapshot;
use crate::step::BackupStep;
use crate::txn::Core;

/// What a backup did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BackupSummary {
    /// Its number among the backups of its destination: 1, 2, ...
    pub number: u64,
    /// It holds every commit up to here and none after.
    pub timestamp: Timestamp,
    /// How many files it consists of.
    pub file_count: u64,
    /// Bytes of files that were copied.
    pub copied_bytes: u64,
    /// Bytes of files that an earlier backup had copied.
    pub reused_bytes: u64,
}

/// Where what comes after a backup goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GoesOn {
    /// The backup has the log up to here.
    pub log: Lsn,
    /// It has the manifest as of this edit, and the files that later ones name of which its log tells.
    pub edits: u64,
}

/// Backs up into `dest`, beside the backups that are there; also where what comes after it goes on.
pub(in crate::engine) fn backup(
    core: &Arc<Core>,
    dest: BackupPlace,
    cancel: Option<&CancelToken>,
) -> Result<(BackupSummary, GoesOn)> {
    core.check_writable()?;
    let begun_micros = core.env.clock.wall_micros();
    let destination = Destination::open(&dest.shelf(&core.env))?;
    let parent = destination.newest.as_ref().map(|backup| backup.number);
    let mut taking = Taking {
        core,
        cancel,
        number: parent.unwrap_or(0) + 1,
        destination,
        relations: BTreeMap::new(),
        entries: Vec::new(),
        copied_bytes: 0,
        reused_bytes: 0,
    };
    let result = taking.run(parent, begun_micros);
    if result.is_err() {
        taking.destination.taken.clean();
    }
    result
}

struct Taking<'a> {
    core: &'a Arc<Core>,
    cancel: Option<&'a CancelToken>,
    number: u64,
    destination: Destination,
    /// As they are when it begins: how their files are tested.
    relations: BTreeMap<TableId, Relation>,
    entries: Vec<Entry>,
    copied_bytes: u64,
    reused_bytes: u64,
}

impl Taking<'_> {
    fn run(&mut self, parent: Option<u64>, begun_micros: i64) -> Result<(BackupSummary, GoesOn)> {
        // First the pins, then the manifest, then the log: what the manifest names is there, and the log goes on where
        // its cuts are (backup 1, 3).
        let log = self.core.log.keep();
        let pin = self.core.services.files.pin();
        let mut manifest = self.core.manifest.snapshot()?;
        let extent = self.core.log.extent().map_err(|error| self.core.poison_if_stopped(error))?;
        // The log names edits that came after the manifest's moment: the copy goes without them, as a crash before them
        // would, and says so (ends 2).
        let told = self.core.manifest.edit_count().load(std::sync::atomic::Ordering::Acquire);
        self.relations = self.core.catalog.all().into_iter().map(|relation| (relation.id(), relation)).collect();
        BackupStep::Begun.reached();
        let goes_on = GoesOn { log: extent.1, edits: manifest.edits() };
        let content = self.copy_log(extent, &manifest)?;
        // One more than was told: whoever opens the copy tells the log of it, so that nobody takes its manifest for the
        // one of which the log tells.
        manifest.raise_edits(told + 1);
        drop(log);
        BackupStep::LogCopied.reached();
        // A table's pages come from the log for who follows it; of one that is gone nobody knows what its files are.
        let is_opened = |table: &TableId| self.relations.contains_key(table) && !self.has_pages(*table);
        let named = content.named.into_iter().filter(|(table, _)| is_opened(table));
        let files: BTreeSet<(TableId, FileId)> = manifest.files().chain(content.attached).chain(named).collect();
        pin.narrow(files.iter().map(|(_, file)| *file).collect());
        // Pages cannot change until they are copied.
        let (first, others): (Vec<_>, Vec<_>) = files.into_iter().partition(|(table, _)| self.has_pages(*table));
        for (table, file) in first.into_iter().chain(others) {
            self.copy_data_file((table, file), manifest.payloads(table))?;
            pin.let_go(file);
        }
        drop(pin);
        BackupStep::FilesCopied.reached();
        let timestamp = content.last_timestamp.max(manifest.cut_max());
        self.write_manifest(&manifest)?;
        let backup = Backup { number: self.number, parent, begun_micros, timestamp, entries: Vec::new() };
        Ok((self.finish(backup)?, goes_on))
    }

    fn go_on(&self) -> Result<()> {
        go_on(self.core, self.cancel)
    }

    fn copy_log(
        &mut self,
        (segments, end): (Vec<SegmentName>, Lsn),
        manifest: &ManifestSnapshot,
    ) -> Result<LogContent> {
        if segments.is_empty() {
            return Err(Error::new(Code::DiskFull, "the database has no log yet, for want of space on its device")
                .hint("free space on the device"));
        }
        let ends = segments.iter().skip(1).map(|next| next.start).chain([end]);
        let mut places: BTreeMap<Lsn, PathBuf> = BTreeMap::new();
        for (&segment, end) in segments.iter().zip(ends) {
            let wanted = source::segment(&self.core.env, &self.core.dir, segment, end)?;
            let at = self.core.dir.join(&wanted.name);
            let stored = self.add(wanted)?.0;
            // What was copied is read where that can be; the log is kept meanwhile.
            places.insert(segment.start, self.destination.taken.copy_of(&stored).unwrap_or(at));
        }
        source::read_log(&self.core.env, &self.core.dir, places, end, manifest)
    }

    fn has_pages(&self, table: TableId) -> bool {
        let table = self.relations.get(&table).and_then(Relation::table);
        table.is_some_and(|table| table.table.in_place().is_some() && table.table.unavailable().is_none())
    }

    fn copy_data_file(&mut self, (table, file): (TableId, FileId), payloads: &[Vec<u8>]) -> Result<()> {
        let path = source::path_of(self.core, table, file);
        let has_pages = self.has_pages(table);
        let wanted = source::data_file(&self.core.env, &path, has_pages.then_some(self.number))?;
        let (stored, is_new) = self.add(wanted)?;
        if is_new {
            let copied = self.destination.taken.copy_of(&stored).unwrap_or_else(|| path.clone());
            // One of a table that is not there any more has the checksum of the copy only.
            let Core { env, methods, .. } = &**self.core;
            let Some(owner) = self.relations.get(&table) else { return Ok(()) };
            let tested = test_data_file((env, methods), owner, payloads, &copied, file);
            tested.or_else(|error| if has_pages { self.is_torn(owner, &path, error) } else { Err(error) })?;
        }
        Ok(())
    }

    /// Whether pages of a copy are not whole because a crash has torn them and they wait to be written again: the log
    /// of the backup has them. Nobody changes the file while it is copied.
    fn is_torn(&self, owner: &Relation, path: &Path, error: Error) -> Result<()> {
        let pages = owner.table().and_then(|table| table.table.in_place());
        let waits = pages.is_some_and(|pages| pages.needs_from().is_some());
        let copied = self.entries.last().expect("the copy was added");
        let is_same = checksum_of(&self.core.env, path, copied.bytes)? == copied.checksum;
        if waits && is_same { Ok(()) } else { Err(error) }
    }

    /// Adds a file of the database; its name there, and whether it was copied, because no earlier backup has it.
    fn add(&mut self, wanted: Wanted) -> Result<(String, bool)> {
        self.go_on()?;
        let Wanted { name, stored, bytes } = wanted;
        if let Some(entry) = self.destination.stored.get(&stored).cloned() {
            if !self.destination.taken.has(&entry)? {
                let (stored, place) = (&entry.stored, &self.destination.place);
                let what = format!("the file {stored} of an earlier backup is not there as it was, in {place}");
                return Err(Error::corrupt(what).hint("back up into another place"));
            }
            self.reused_bytes += bytes;
            let stored = entry.stored.clone();
            self.entries.push(entry);
            return Ok((stored, false));
        }
        let stored = self.destination.taken.name(&stored, self.number);
        let (core, cancel) = (self.core, self.cancel);
        let go_on = || go_on(core, cancel);
        let checksum = self.destination.taken.put_file(&core.dir.join(&name), &stored, bytes, &go_on)?;
        if self.destination.taken.copy_of(&stored).is_none() {
            self.compare(&core.dir.join(&name), bytes, checksum)?;
        }
        self.copied_bytes += bytes;
        self.entries.push(Entry { name, stored: stored.clone(), bytes, checksum });
        Ok((stored, true))
    }

    /// Compares what was put with its source, which is tested in its place: a bit that flipped on the way from the disk
    /// would get a checksum that fits.
    fn compare(&self, path: &Path, bytes: u64, checksum: u32) -> Result<()> {
        let file = self.core.env.fs.open(path, OpenMode::Read);
        let found = file.and_then(|file| checksum_of_first(&*file, bytes));
        if found.map_err(|error| Error::io(format!("reading {}", path.display()), &error))? == checksum {
            return Ok(());
        }
        let what = format!("the file {} was not read twice as the same", path.display());
        Err(Error::corrupt(what).hint("look at the disk and the memory of this machine; then back up again"))
    }

    fn write_manifest(&mut self, manifest: &ManifestSnapshot) -> Result<()> {
        let (name, bytes) = manifest.file(&self.core.env);
        let stored = self.destination.taken.name(&format!("{MANIFEST_PREFIX}{}", self.number), self.number);
        let (core, cancel) = (self.core, self.cancel);
        self.destination.taken.put(&stored, &bytes, &|| go_on(core, cancel))?;
        self.copied_bytes += bytes.len() as u64;
        let checksum = crc32c::crc32c(&bytes);
        self.entries.push(Entry { name, stored, bytes: bytes.len() as u64, checksum });
        Ok(())
    }

    /// Makes the backup count, last of all (backup 2).
    fn finish(&mut self, mut backup: Backup) -> Result<BackupSummary> {
        let newest = self.destination.newest.as_ref();
        let is_next = newest.is_none_or(|newest| newest.number < backup.number);
        assert!(is_next, "a backup is numbered behind those that are there");
        backup.entries = std::mem::take(&mut self.entries);
        assert!(!backup.entries.is_empty(), "a backup has a manifest at least");
        debug_assert!(has_each_once(&backup.entries), "a backup has each file of the database once");
        let (core, cancel) = (self.core, self.cancel);
        self.destination.taken.finish(&backup, &|| go_on(core, cancel))?;
        BackupStep::Done.reached();
        Ok(BackupSummary {
            number: backup.number,
            timestamp: backup.timestamp,
            file_count: backup.entries.len() as u64,
            copied_bytes: self.copied_bytes,
            reused_bytes: self.reused_bytes,
        })
    }
}

/// Fails when the backup is to end: cancelled, or the database is closed.
fn go_on(core: &Core, cancel: Option<&CancelToken>) -> Result<()> {
    core.check_open()?;
    cancel.map_or(Ok(()), |cancel| cancel.check(|| core.env.clock.monotonic_nanos()))
}

fn has_each_once(entries: &[Entry]) -> bool {
    let names: BTreeSet<&str> = entries.iter().map(|entry| entry.name.as_str()).collect();
    names.len() == entries.len()
}
