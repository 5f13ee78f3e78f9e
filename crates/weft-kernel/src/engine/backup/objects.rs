//! Backups in a store of objects.
//!
//! ```text
//!   backup-3                                          the list, created: of two who make backup 3 one succeeds
//!   3-5e0a21bc/manifest-3/0                           what the attempt 5e0a21bc at backup 3 has put, in pieces
//!   3-5e0a21bc/t5-19-4194304-77aa0102.data/0, /1
//!   1-9c01f2aa/t5-12-4194304-5e0a21bc.data/0          what backup 1 had put, and backup 3 names, too
//! ```
//!
//! 1. Every attempt puts under a name of its own, so nobody writes or removes what another one has put.
//! 2. An attempt at a number whose list is there has ended, well or not: what it has put and no list names may go. An
//!    attempt at a higher number may be under way.
//! 3. No number is given, and nothing removed, because of a list of names alone, which may be late: a backup that it
//!    does not tell of is looked for. That a piece is there, which a good list names, is taken from it.
//! 4. The list of a number is created only while no higher one is there, else its pieces may be gone (2).
//!
//! Pieces travel on several threads; the list is created when all have arrived.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use weft_env::{Created, Env, OBJECT_BYTES_MAX, ObjectStore, OpenMode};
use weft_format::{Code, Error, Result};

use super::list::{Backup, Entry, LIST_PREFIX, list_name, list_number};
use super::shelf::{GoOn, Shelf, Taken};
use super::source::{self, Wanted};
use super::uploads::Uploads;
use crate::step::BackupStep;

/// A file travels in pieces of so many bytes.
const PIECE_BYTES: u64 = 4 << 20;
/// So many pieces, or files, travel at a time.
const STREAMS: usize = 4;

/// For how long an attempt that failed removes what it has put.
const CLEAN_TIME: Duration = Duration::from_secs(10);

const _: () = assert!(PIECE_BYTES as usize <= OBJECT_BYTES_MAX);

/// A store of backups.
pub(super) struct ObjectShelf {
    env: Env,
    store: Arc<dyn ObjectStore>,
}

impl ObjectShelf {
    pub(super) fn new(env: &Env, store: Arc<dyn ObjectStore>) -> ObjectShelf {
        ObjectShelf { env: env.clone(), store }
    }

    fn failed(&self, what: &str, error: &io::Error) -> Error {
        failed(&*self.store, what, error)
    }

    /// The pieces of a file, one after another.
    fn pieces(&self, entry: &Entry, mut take: impl FnMut(u64, &[u8]) -> Result<()>) -> Result<u32> {
        let (mut at, mut checksum) = (0, 0);
        for piece in 0..piece_count(entry.bytes) {
            let name = piece_name(&entry.stored, piece);
            let bytes = self.store.get(&name).map_err(|error| match error.kind() {
                io::ErrorKind::NotFound => Error::corrupt(format!("the object {name} is missing in {}", self.place())),
                _ => self.failed(&format!("reading {name}"), &error),
            })?;
            let wanted = (entry.bytes - at).min(PIECE_BYTES);
            if bytes.len() as u64 != wanted {
                let what = format!("the object {name} in {} has {} bytes, not {wanted}", self.place(), bytes.len());
                return Err(Error::corrupt(what));
            }
            checksum = crc32c::crc32c_append(checksum, &bytes);
            take(at, &bytes)?;
            at += wanted;
        }
        Ok(checksum)
    }
}

impl Shelf for ObjectShelf {
    fn place(&self) -> String {
        self.store.place().to_owned()
    }

    fn begin(&self) -> Result<Box<dyn Taken>> {
        let present = all_names(&*self.store, "").map_err(|error| self.failed("listing", &error))?;
        let uploads = Uploads::start(&self.env, &self.store, STREAMS)?;
        let attempt = self.env.rng.next_u64() as u32;
        let (env, store) = (self.env.clone(), self.store.clone());
        Ok(Box::new(TakenStore {
            env,
            store,
            attempt,
            present,
            named: BTreeSet::new(),
            read: BTreeSet::new(),
            put: Vec::new(),
            uploads,
        }))
    }

    fn numbers(&self) -> Result<Vec<u64>> {
        let numbers = numbers(&*self.store).map_err(|error| self.failed("listing", &error))?;
        Ok(numbers.into_iter().collect())
    }

    fn list(&self, number: u64) -> Result<Option<Vec<u8>>> {
        match self.store.get(&list_name(number)) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(self.failed(&format!("reading {}", list_name(number)), &error)),
        }
    }

    fn fetch(&self, entry: &Entry, to: &Path) -> Result<u32> {
        let writing = |error: io::Error| Error::io(format!("writing {}", to.display()), &error);
        let target = self.env.fs.open(to, OpenMode::CreateNew).map_err(writing)?;
        let checksum = self.pieces(entry, |at, bytes| target.write_at(bytes, at).map_err(writing))?;
        target.sync_data().map_err(writing)?;
        Ok(checksum)
    }

    fn checksum(&self, entry: &Entry) -> Result<u32> {
        self.pieces(entry, |_, _| Ok(()))
    }

    fn streams(&self) -> usize {
        STREAMS
    }
}

/// A store to which a backup is added.
struct TakenStore {
    env: Env,
    store: Arc<dyn ObjectStore>,
    /// Which attempt this is; random.
    attempt: u32,
    /// The names of all objects, as it began.
    present: BTreeSet<String>,
    /// Files that good backups name.
    named: BTreeSet<String>,
    /// The lists that were read: of these backups `named` knows everything.
    read: BTreeSet<u64>,
    /// What this attempt has put, or is about to; nobody else does (objects 1).
    put: Vec<String>,
    uploads: Uploads,
}

impl Taken for TakenStore {
    fn knows(&mut self, good: &[Backup]) -> Result<()> {
        self.read.extend(good.iter().map(|backup| backup.number));
        self.named.extend(good.iter().flat_map(Backup::stored_names).map(str::to_owned));
        Ok(())
    }

    fn has(&mut self, entry: &Entry) -> Result<bool> {
        for piece in 0..piece_count(entry.bytes) {
            let name = piece_name(&entry.stored, piece);
            if self.present.contains(&name) {
                continue;
            }
            match self.store.get(&name) {
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
                Err(error) => return Err(failed(&*self.store, &format!("reading {name}"), &error)),
            }
        }
        Ok(true)
    }

    fn name(&self, stored: &str, number: u64) -> String {
        format!("{number}-{:08x}/{stored}", self.attempt)
    }

    fn put_file(&mut self, from: &Path, stored: &str, bytes: u64, go_on: GoOn<'_>) -> Result<u32> {
        assert!(self.is_own(stored), "an attempt puts under its own name only (objects 1)");
        let env = self.env.clone();
        read_pieces(&env, from, bytes, |piece, buffer| {
            go_on()?;
            self.put_piece(stored, piece, buffer, go_on)
        })
    }

    fn put(&mut self, stored: &str, bytes: &[u8], go_on: GoOn<'_>) -> Result<()> {
        assert!(self.is_own(stored), "an attempt puts under its own name only (objects 1)");
        for piece in 0..piece_count(bytes.len() as u64) {
            let at = (piece * PIECE_BYTES) as usize;
            let end = bytes.len().min(at + PIECE_BYTES as usize);
            self.put_piece(stored, piece, bytes[at..end].to_vec(), go_on)?;
        }
        Ok(())
    }

    fn copy_of(&self, _stored: &str) -> Option<PathBuf> {
        None
    }

    fn finish(&mut self, backup: &Backup, go_on: GoOn<'_>) -> Result<()> {
        self.uploads.flush(go_on)?;
        let (name, text) = (list_name(backup.number), backup.encode());
        if text.len() > OBJECT_BYTES_MAX {
            let (files, bytes) = (backup.entries.len(), text.len());
            let what = format!("a list of {files} files has {bytes} bytes, too many for one object");
            return Err(Error::new(Code::ProgramLimit, what).hint("back up into a directory"));
        }
        BackupStep::ListSynced.reached();
        self.check_newest(backup.number - 1)?;
        let store = self.store.clone();
        let unknown =
            |error: &io::Error| Error::io(format!("whether {name} was made in {} is not known", store.place()), error);
        match self.store.create(&name, text.as_bytes()) {
            Ok(Created::Made) => {}
            // Of a list that cannot be read nobody knows whose it is.
            Ok(Created::Exists) => match self.is_mine(backup) {
                Ok(true) => {}
                Ok(false) => return Err(self.taken(backup.number)),
                Err(error) => {
                    self.put.clear();
                    return Err(unknown(&error));
                }
            },
            Err(error) => {
                // It may count.
                self.put.clear();
                return Err(unknown(&error));
            }
        }
        // It is named: a later backup may share what it has put, whatever becomes of this one.
        self.put.clear();
        BackupStep::ListNamed.reached();
        // Somebody may have come in between, and found that this attempt had ended (objects 2, 4).
        if let Err(error) = self.check_newest(backup.number) {
            let gone = self.store.delete(std::slice::from_ref(&name));
            gone.map_err(|error| unknown(&error))?;
            return Err(error);
        }
        self.named.extend(backup.entries.iter().map(|entry| entry.stored.clone()));
        // It counts, whatever becomes of what is left of others.
        let _ = self.remove_left(backup.number);
        Ok(())
    }

    fn clean(&mut self) {
        // One that is on its way arrives after it was removed, perhaps: wait for it.
        self.uploads.end();
        // What cannot be removed in time goes when its number was taken (objects 2).
        let begun = self.env.clock.monotonic_nanos();
        let put = std::mem::take(&mut self.put);
        for names in put.chunks(16) {
            let spent = Duration::from_nanos(self.env.clock.monotonic_nanos().saturating_sub(begun));
            if spent > CLEAN_TIME || self.store.delete(names).is_err() {
                return;
            }
        }
    }
}

impl TakenStore {
    /// Fails when a backup is there beyond this number (objects 4).
    fn check_newest(&self, number: u64) -> Result<()> {
        let newest = numbers(&*self.store).map_err(|error| failed(&*self.store, "listing", &error))?.pop_last();
        if newest.is_none_or(|newest| newest <= number) { Ok(()) } else { Err(self.taken(number)) }
    }

    fn taken(&self, number: u64) -> Error {
        let what = format!("another backup into {} was made meanwhile, beside number {number}", self.store.place());
        Error::new(Code::CannotConnectNow, what).hint("run it again, if that one was not of the same database")
    }

    /// Whether the list that is there is this attempt's.
    fn is_mine(&self, backup: &Backup) -> io::Result<bool> {
        let found = self.store.get(&list_name(backup.number))?;
        let found = Backup::decode(&found, backup.number).map_err(io::Error::other)?;
        Ok(found.stored_names().any(|stored| self.is_own(stored)))
    }

    /// Whether this attempt alone puts under such a name.
    fn is_own(&self, stored: &str) -> bool {
        stored
            .split_once('/')
            .and_then(|(attempt, _)| attempt.split_once('-'))
            .is_some_and(|(_, random)| random == format!("{:08x}", self.attempt))
    }

    fn put_piece(&mut self, stored: &str, piece: u64, bytes: Vec<u8>, go_on: GoOn<'_>) -> Result<()> {
        let name = piece_name(stored, piece);
        self.put.push(name.clone());
        self.uploads.put(name, bytes, go_on)
    }

    /// Removes what attempts before backup `number`, which have ended, have put and no list names (objects 2).
    fn remove_left(&self, number: u64) -> io::Result<()> {
        let is_left = |name: &&String| {
            let Some((stored, piece)) = name.rsplit_once('/') else { return false };
            let attempted = attempted_number(stored);
            attempted.is_some_and(|attempted| attempted < number)
                && piece.parse::<u64>().is_ok()
                && !self.named.contains(stored)
        };
        let mut left: Vec<String> = self.present.iter().filter(is_left).cloned().collect();
        if left.is_empty() {
            return Ok(());
        }
        // A list that was not read names files, too (objects 3).
        let first = left.iter().filter_map(|name| attempted_number(name)).min().unwrap_or(number);
        for unread in (first..number).filter(|number| !self.read.contains(number)) {
            match self.store.get(&list_name(unread)) {
                Ok(bytes) => {
                    let Ok(backup) = Backup::decode(&bytes, unread) else { return Ok(()) };
                    let named: BTreeSet<&str> = backup.stored_names().collect();
                    left.retain(|name| name.rsplit_once('/').is_none_or(|(stored, _)| !named.contains(stored)));
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        let may_go = |name: &String| attempted_number(name).is_some_and(|tried| tried < number);
        assert!(left.iter().all(may_go), "attempts that may be under way keep what they have put (objects 2)");
        self.store.delete(&left)
    }
}

/// Puts a data file into a store, in pieces, under a folder of its own that is none of a backup's.
pub(crate) fn put_data_file(
    env: &Env,
    path: &Path,
    (store, folder): (&Arc<dyn ObjectStore>, &str),
    go_on: GoOn<'_>,
) -> Result<Entry> {
    let Wanted { name, stored, bytes } = source::data_file(env, path, None)?;
    let stored = format!("{folder}/{stored}");
    assert!(attempted_number(&stored).is_none(), "no backup removes what is not its own (objects 2)");
    let checksum = read_pieces(env, path, bytes, |piece, buffer| {
        go_on()?;
        let name = piece_name(&stored, piece);
        store.put(&name, &buffer).map_err(|error| failed(&**store, &format!("putting {name}"), &error))
    })?;
    Ok(Entry { name, stored, bytes, checksum })
}

/// Reads the first bytes of a file, piece by piece; their CRC32C.
fn read_pieces(env: &Env, path: &Path, bytes: u64, mut take: impl FnMut(u64, Vec<u8>) -> Result<()>) -> Result<u32> {
    let reading = |error: io::Error| Error::io(format!("reading {}", path.display()), &error);
    let source = env.fs.open(path, OpenMode::Read).map_err(reading)?;
    let mut checksum = 0;
    for piece in 0..piece_count(bytes) {
        let at = piece * PIECE_BYTES;
        let mut buffer = vec![0; (bytes - at).min(PIECE_BYTES) as usize];
        source.read_exact_at(&mut buffer, at).map_err(reading)?;
        checksum = crc32c::crc32c_append(checksum, &buffer);
        take(piece, buffer)?;
    }
    Ok(checksum)
}

/// The number of the backup at which an attempt has put a file: 3 of `3-5e0a21bc/manifest-3`.
fn attempted_number(stored: &str) -> Option<u64> {
    let (attempt, _) = stored.split_once('/')?;
    let (number, random) = attempt.split_once('-')?;
    let is_random = random.len() == 8 && random.bytes().all(|byte| byte.is_ascii_hexdigit());
    number.parse().ok().filter(|_| is_random)
}

fn piece_count(bytes: u64) -> u64 {
    bytes.div_ceil(PIECE_BYTES).max(1)
}

fn piece_name(stored: &str, piece: u64) -> String {
    format!("{stored}/{piece}")
}

fn failed(store: &dyn ObjectStore, what: &str, error: &io::Error) -> Error {
    Error::io(format!("{what} in {}", store.place()), error)
}

/// The numbers of the lists that are there. A list of names may be late (objects 3): those that follow the newest are
/// looked for.
fn numbers(store: &dyn ObjectStore) -> io::Result<BTreeSet<u64>> {
    let mut numbers = listed_numbers(store)?;
    let mut next = numbers.last().copied().unwrap_or(0) + 1;
    loop {
        match store.get(&list_name(next)) {
            Ok(_) => numbers.insert(next),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(numbers),
            Err(error) => return Err(error),
        };
        next += 1;
    }
}

fn listed_numbers(store: &dyn ObjectStore) -> io::Result<BTreeSet<u64>> {
    Ok(all_names(store, LIST_PREFIX)?
        .iter()
        .filter_map(|name| list_number(name))
        .filter(|number| *number > 0)
        .collect())
}

/// All names that begin so.
fn all_names(store: &dyn ObjectStore, prefix: &str) -> io::Result<BTreeSet<String>> {
    let (mut names, mut after) = (BTreeSet::new(), String::new());
    loop {
        let page = store.list(prefix, &after)?;
        let Some(last) = page.last() else { return Ok(names) };
        after.clone_from(last);
        names.extend(page);
    }
}
