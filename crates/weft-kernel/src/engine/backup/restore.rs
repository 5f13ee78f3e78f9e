//! Makes a directory of a database from a backup.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use weft_env::Env;
use weft_env::sync::Mutex;
use weft_format::{Code, Error, Result};

use super::copy::{sync_dir, write};
use super::destination::{read_backup, read_backups};
use super::directory::{LOCK_FILE, names};
use super::list::{Backup, Entry};
use super::place::BackupPlace;
use super::restoring::Restoring;
use super::shelf::{Shelf, fetch, in_backup, wrong_checksum};
use crate::engine::directory::create_dir;
use crate::files::{parse_file_name, parse_former_name};
use crate::log::segment_start;
use crate::manifest::{ManifestSnapshot, manifest_number};
use crate::step::BackupStep;

/// The good backups in a place, oldest first.
pub fn backups(env: &Env, dest: impl Into<BackupPlace>) -> Result<Vec<Backup>> {
    read_backups(&*dest.into().shelf(env))
}

/// Reads every file of a backup (the newest, when none is named) and tests its checksum.
pub fn check_backup(env: &Env, dest: impl Into<BackupPlace>, number: Option<u64>) -> Result<Backup> {
    let shelf = dest.into().shelf(env);
    let backup = find(&*shelf, number)?;
    for entry in &backup.entries {
        let found = shelf.checksum(entry).map_err(|error| in_backup(&backup, error))?;
        if found != entry.checksum {
            return Err(wrong_checksum(&backup, entry));
        }
    }
    Ok(backup)
}

/// Makes `dir`, which must be missing or empty, a database as backup `number` of `dest` holds it (the newest, when none
/// is named). After an error `dir` holds no database.
pub fn restore(env: &Env, dest: impl Into<BackupPlace>, dir: &Path, number: Option<u64>) -> Result<Backup> {
    restore_then(env, dest, dir, number, |_| Ok(()))
}

/// The same; `then` adds to it what came after it, before `dir` becomes a database.
pub fn restore_then(
    env: &Env,
    dest: impl Into<BackupPlace>,
    dir: &Path,
    number: Option<u64>,
    then: impl FnOnce(&mut Restoring<'_>) -> Result<()>,
) -> Result<Backup> {
    let shelf = dest.into().shelf(env);
    let backup = find(&*shelf, number)?;
    create_dir(env, dir)?;
    refuse_content(env, dir)?;
    let owner = format!("pid {}", std::process::id());
    let lock = env.fs.lock(&dir.join(LOCK_FILE), &owner).map_err(|error| match error.kind() {
        io::ErrorKind::WouldBlock => {
            let what = format!("the directory {} is in use by {error}", dir.display());
            Error::new(Code::CannotConnectNow, what).hint("restore into another directory")
        }
        _ => Error::io(format!("locking {}", dir.join(LOCK_FILE).display()), &error),
    })?;
    refuse_content(env, dir)?;
    let mut written = Vec::new();
    let mut result = fetch_backup(env, &shelf, dir, &backup, &mut written);
    if result.is_ok() {
        let (shelf, backup, touched) = (&shelf, &backup, BTreeSet::new());
        let mut restoring = Restoring { env, shelf, dir, backup, written: &mut written, touched };
        result = then(&mut restoring).and_then(|()| restoring.sync());
    }
    let result = result.and_then(|()| make_database(env, dir, &mut written));
    if result.is_err() {
        // CURRENT, the last, first: what is left is no database.
        for path in written.iter().rev() {
            // What cannot be removed stays; without CURRENT it is refused.
            let _ = env.fs.remove(path);
        }
    }
    drop(lock);
    result.map(|()| backup)
}

fn fetch_backup(
    env: &Env,
    shelf: &Arc<dyn Shelf>,
    dir: &Path,
    backup: &Backup,
    written: &mut Vec<PathBuf>,
) -> Result<()> {
    for Entry { name, .. } in &backup.entries {
        let is_data = parse_file_name(name).is_some() || parse_former_name(name).is_some();
        let known = is_data || segment_start(name).is_some() || manifest_number(name).is_some();
        if !known {
            let what = format!("backup {} names {name:?}, which is no file of a database", backup.number);
            return Err(Error::corrupt(what).hint("use another backup"));
        }
    }
    if shelf.streams() > 1 {
        written.extend(backup.entries.iter().map(|entry| dir.join(&entry.name)));
        fetch_all(env, shelf, dir, backup)?;
    } else {
        for entry in &backup.entries {
            written.push(dir.join(&entry.name));
            fetch(&**shelf, dir, backup, entry)?;
            BackupStep::FileRestored.reached();
        }
    }
    Ok(())
}

/// All files are there: names the manifest, last of all.
fn make_database(env: &Env, dir: &Path, written: &mut Vec<PathBuf>) -> Result<()> {
    sync_dir(env, dir)?;
    BackupStep::FilesRestored.reached();
    let (name, text) = ManifestSnapshot::current();
    written.push(dir.join(name));
    write(env, &dir.join(name), text.as_bytes())?;
    sync_dir(env, dir)?;
    BackupStep::Restored.reached();
    Ok(())
}

/// Files that several threads fetch.
struct Fetching {
    shelf: Arc<dyn Shelf>,
    dir: PathBuf,
    backup: Backup,
    next: AtomicUsize,
    /// What went wrong first; nothing is fetched after it.
    failed: Mutex<Option<Error>>,
}

impl Fetching {
    fn work(&self) {
        while self.failed.lock().is_none() {
            let Some(entry) = self.backup.entries.get(self.next.fetch_add(1, Ordering::Relaxed)) else { return };
            match fetch(&*self.shelf, &self.dir, &self.backup, entry) {
                Ok(()) => BackupStep::FileRestored.reached(),
                Err(error) => self.fail(error),
            }
        }
    }

    fn fail(&self, error: Error) {
        self.failed.lock().get_or_insert(error);
    }
}

/// Fetches the files from several threads; the first error ends all of them.
pub(super) fn fetch_all(env: &Env, shelf: &Arc<dyn Shelf>, dir: &Path, backup: &Backup) -> Result<()> {
    let fetching = Arc::new(Fetching {
        shelf: shelf.clone(),
        dir: dir.to_owned(),
        backup: backup.clone(),
        next: AtomicUsize::new(0),
        failed: Mutex::new(None),
    });
    let mut threads = Vec::new();
    for _ in 0..shelf.streams().min(backup.entries.len()) {
        let working = fetching.clone();
        match env.spawn.spawn("weft-restore", Box::new(move || working.work())) {
            Ok(thread) => threads.push(thread),
            Err(error) => fetching.fail(Error::io("starting a thread that restores", &error)),
        }
    }
    for thread in threads {
        if let Err(panic) = thread.join() {
            fetching.fail(Error::internal(format!("a thread that restores panicked: {panic}")));
        }
    }
    let failed = fetching.failed.lock().take();
    failed.map_or(Ok(()), Err)
}

fn find(shelf: &dyn Shelf, number: Option<u64>) -> Result<Backup> {
    if let Some(number) = number {
        return read_backup(shelf, number);
    }
    let newest = shelf.numbers()?.into_iter().next_back().ok_or_else(|| {
        Error::new(Code::UndefinedObject, format!("there is no finished backup in {}", shelf.place()))
            .hint("make one: weft backup DIR DEST")
    })?;
    read_backup(shelf, newest)
}

/// A restored database is alone in its directory. The lock of an attempt that failed may be there.
fn refuse_content(env: &Env, dir: &Path) -> Result<()> {
    match names(env, dir)?.iter().find(|name| *name != LOCK_FILE && *name != "lost+found") {
        None => Ok(()),
        Some(name) => {
            let what = format!("the directory {} is not empty: it holds {name:?}", dir.display());
            Err(Error::new(Code::InvalidParameterValue, what).hint("restore into a new directory"))
        }
    }
}
