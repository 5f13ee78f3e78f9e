//! Makes a directory of a database from a backup.

use std::io;
use std::path::{Path, PathBuf};

use weft_env::Env;
use weft_format::{Code, Error, Result};

use super::copy::{checksum_of, copy, sync_dir, write};
use super::destination::{LOCK_FILE, list, read_backup, read_backups};
use super::list::{Backup, Entry};
use crate::engine::directory::create_dir;
use crate::files::{parse_file_name, parse_former_name};
use crate::log::segment_start;
use crate::manifest::{ManifestSnapshot, manifest_number};
use crate::step::BackupStep;

/// The good backups in a directory, oldest first.
pub fn backups(env: &Env, dest: &Path) -> Result<Vec<Backup>> {
    read_backups(env, dest)
}

/// Reads every file of a backup (the newest, when none is named) and tests its checksum.
pub fn check_backup(env: &Env, dest: &Path, number: Option<u64>) -> Result<Backup> {
    let backup = find(env, dest, number)?;
    for entry in &backup.entries {
        let path = dest.join(&entry.stored);
        let found = checksum_of(env, &path, entry.bytes).map_err(|error| in_backup(&backup, error))?;
        if found != entry.checksum {
            return Err(wrong_checksum(&backup, &path));
        }
    }
    Ok(backup)
}

/// Makes `dir`, which must be missing or empty, a database as backup `number` of `dest` holds it (the newest, when none
/// is named). After an error `dir` holds no database.
pub fn restore(env: &Env, dest: &Path, dir: &Path, number: Option<u64>) -> Result<Backup> {
    let backup = find(env, dest, number)?;
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
    let result = fill(env, dest, dir, &backup, &mut written);
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

fn fill(env: &Env, dest: &Path, dir: &Path, backup: &Backup, written: &mut Vec<PathBuf>) -> Result<()> {
    for Entry { name, stored, bytes, checksum } in &backup.entries {
        let is_data = parse_file_name(name).is_some() || parse_former_name(name).is_some();
        let known = is_data || segment_start(name).is_some() || manifest_number(name).is_some();
        if !known {
            let what = format!("backup {} names {name:?}, which is no file of a database", backup.number);
            return Err(Error::corrupt(what).hint("use another backup"));
        }
        let (from, to) = (dest.join(stored), dir.join(name));
        written.push(to.clone());
        let found = copy(env, &from, &to, *bytes, &|| Ok(())).map_err(|error| in_backup(backup, error))?;
        let length = env.fs.open(&from, weft_env::OpenMode::Read).and_then(|file| file.len());
        if found != *checksum
            || length.map_err(|error| Error::io(format!("reading {}", from.display()), &error))? != *bytes
        {
            return Err(wrong_checksum(backup, &from));
        }
        BackupStep::FileRestored.reached();
    }
    sync_dir(env, dir)?;
    BackupStep::FilesRestored.reached();
    let (name, text) = ManifestSnapshot::current();
    written.push(dir.join(name));
    write(env, &dir.join(name), text.as_bytes())?;
    sync_dir(env, dir)?;
    BackupStep::Restored.reached();
    Ok(())
}

fn find(env: &Env, dest: &Path, number: Option<u64>) -> Result<Backup> {
    if let Some(number) = number {
        return read_backup(env, dest, number);
    }
    let numbers = list(env, dest)?;
    let newest = numbers.iter().filter_map(|name| super::list::list_number(name)).max();
    let newest = newest.ok_or_else(|| {
        Error::new(Code::UndefinedObject, format!("there is no finished backup in {}", dest.display()))
            .hint("make one: weft backup DIR DEST")
    })?;
    read_backup(env, dest, newest)
}

/// A restored database is alone in its directory. The lock of an attempt that failed may be there.
fn refuse_content(env: &Env, dir: &Path) -> Result<()> {
    match list(env, dir)?.iter().find(|name| *name != LOCK_FILE && *name != "lost+found") {
        None => Ok(()),
        Some(name) => {
            let what = format!("the directory {} is not empty: it holds {name:?}", dir.display());
            Err(Error::new(Code::InvalidParameterValue, what).hint("restore into a new directory"))
        }
    }
}

fn wrong_checksum(backup: &Backup, path: &Path) -> Error {
    in_backup(backup, Error::corrupt(format!("the file {} fails its checksum", path.display())))
}

fn in_backup(backup: &Backup, error: Error) -> Error {
    if error.code() != Code::DataCorrupted {
        return error;
    }
    Error::corrupt(format!("backup {} is damaged: {}", backup.number, error.message()))
        .hint("restore another backup; `weft restore DEST --list` shows those that are there")
}
