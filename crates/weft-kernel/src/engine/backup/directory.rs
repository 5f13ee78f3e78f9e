//! A directory of backups.
//!
//! 1. Only what no good backup names is removed, and only files with names that backups give.
//! 2. One backup at a time, by a lock.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use weft_env::{DirLock, Env, OpenMode};
use weft_format::{Code, Error, Result};

use super::copy::{checksum_of, copy, sync_dir, write};
use super::list::{Backup, Entry, TEMPORARY_SUFFIX, list_name, list_number};
use super::shelf::{GoOn, Shelf, Taken};
use super::source::MANIFEST_PREFIX;
use crate::engine::directory::create_dir;
use crate::log::segment_start;
use crate::manifest::CURRENT;
use crate::step::BackupStep;

/// The file that is locked while a backup is made.
pub(super) const LOCK_FILE: &str = "LOCK";

/// A directory of backups.
pub(super) struct DirectoryShelf {
    env: Env,
    dir: PathBuf,
}

impl DirectoryShelf {
    pub(super) fn new(env: &Env, dir: &Path) -> DirectoryShelf {
        DirectoryShelf { env: env.clone(), dir: dir.to_owned() }
    }
}

impl Shelf for DirectoryShelf {
    fn place(&self) -> String {
        self.dir.display().to_string()
    }

    fn begin(&self) -> Result<Box<dyn Taken>> {
        let (env, dir) = (&self.env, &self.dir);
        create_dir(env, dir)?;
        refuse_others(dir, &names(env, dir)?)?;
        let owner = format!("pid {}", std::process::id());
        let lock = env.fs.lock(&dir.join(LOCK_FILE), &owner).map_err(|error| {
            if error.kind() != io::ErrorKind::WouldBlock {
                return Error::io(format!("locking {}", dir.join(LOCK_FILE).display()), &error);
            }
            let what = format!("another backup into {} is running, by {error}", dir.display());
            Error::new(Code::CannotConnectNow, what).hint("wait for its end, or back up into another directory")
        })?;
        Ok(Box::new(TakenDirectory { env: env.clone(), dir: dir.clone(), stored: BTreeSet::new(), _lock: lock }))
    }

    fn numbers(&self) -> Result<Vec<u64>> {
        let numbers: BTreeSet<u64> = names(&self.env, &self.dir)?.iter().filter_map(|name| list_number(name)).collect();
        Ok(numbers.into_iter().collect())
    }

    fn list(&self, number: u64) -> Result<Option<Vec<u8>>> {
        let path = self.dir.join(list_name(number));
        let read = self.env.fs.open(&path, OpenMode::Read).and_then(|file| {
            let mut bytes = vec![0; file.len()? as usize];
            file.read_exact_at(&mut bytes, 0).map(|()| bytes)
        });
        match read {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Error::io(format!("reading {}", path.display()), &error)),
        }
    }

    fn fetch(&self, entry: &Entry, to: &Path) -> Result<u32> {
        let from = self.dir.join(&entry.stored);
        let checksum = copy(&self.env, &from, to, entry.bytes, &|| Ok(()))?;
        let length = self.env.fs.open(&from, OpenMode::Read).and_then(|file| file.len());
        let length = length.map_err(|error| Error::io(format!("reading {}", from.display()), &error))?;
        if length == entry.bytes {
            return Ok(checksum);
        }
        Err(Error::corrupt(format!("the file {} has {length} bytes instead of {}", from.display(), entry.bytes)))
    }

    fn checksum(&self, entry: &Entry) -> Result<u32> {
        checksum_of(&self.env, &self.dir.join(&entry.stored), entry.bytes)
    }

    fn streams(&self) -> usize {
        1
    }
}

/// A directory to which a backup is added.
struct TakenDirectory {
    env: Env,
    dir: PathBuf,
    /// What good backups name, and this one.
    stored: BTreeSet<String>,
    _lock: Box<dyn DirLock>,
}

impl Taken for TakenDirectory {
    fn knows(&mut self, good: &[Backup]) -> Result<()> {
        self.stored.extend(good.iter().flat_map(Backup::stored_names).map(str::to_owned));
        self.remove_unnamed()
    }

    fn has(&mut self, entry: &Entry) -> Result<bool> {
        let found = self.env.fs.open(&self.dir.join(&entry.stored), OpenMode::Read).and_then(|file| file.len());
        Ok(found.as_ref().ok() == Some(&entry.bytes))
    }

    fn name(&self, stored: &str, _number: u64) -> String {
        stored.to_owned()
    }

    fn put_file(&mut self, from: &Path, stored: &str, bytes: u64, go_on: GoOn<'_>) -> Result<u32> {
        copy(&self.env, from, &self.dir.join(stored), bytes, &|| go_on())
    }

    fn put(&mut self, stored: &str, bytes: &[u8], _go_on: GoOn<'_>) -> Result<()> {
        write(&self.env, &self.dir.join(stored), bytes)
    }

    fn copy_of(&self, stored: &str) -> Option<PathBuf> {
        Some(self.dir.join(stored))
    }

    fn finish(&mut self, backup: &Backup, _go_on: GoOn<'_>) -> Result<()> {
        let (env, dir) = (&self.env, &self.dir);
        let name = list_name(backup.number);
        let (path, temporary) = (dir.join(&name), dir.join(format!("{name}{TEMPORARY_SUFFIX}")));
        // The entries of the files before the list that names them.
        sync_dir(env, dir)?;
        write(env, &temporary, backup.encode().as_bytes())?;
        BackupStep::ListSynced.reached();
        let renamed = env.fs.rename(&temporary, &path);
        renamed.map_err(|error| Error::io(format!("naming {}", path.display()), &error))?;
        // It is named: nothing that it names may be removed by this backup any more.
        self.stored.extend(backup.entries.iter().map(|entry| entry.stored.clone()));
        BackupStep::ListNamed.reached();
        sync_dir(&self.env, &self.dir)
    }

    fn clean(&mut self) {
        // What cannot be removed now is removed by the next backup.
        let _ = self.remove_unnamed();
    }
}

impl TakenDirectory {
    /// Removes what no good backup names.
    fn remove_unnamed(&self) -> Result<()> {
        let mut removed = false;
        for name in names(&self.env, &self.dir)? {
            let left = is_unfinished_list(&name) || is_stored_name(&name) && !self.stored.contains(&name);
            if left {
                let path = self.dir.join(&name);
                let gone = self.env.fs.remove(&path);
                gone.map_err(|error| Error::io(format!("removing {}", path.display()), &error))?;
                removed = true;
            }
        }
        if removed { sync_dir(&self.env, &self.dir) } else { Ok(()) }
    }
}

/// The names in a directory.
pub(super) fn names(env: &Env, dir: &Path) -> Result<Vec<String>> {
    env.fs.list(dir).map_err(|error| Error::io(format!("listing {}", dir.display()), &error))
}

/// Backups are not mixed with anything else: what is cleaned away was made by a backup.
fn refuse_others(dir: &Path, names: &[String]) -> Result<()> {
    if names.iter().any(|name| name == CURRENT) {
        let what = format!("the directory {} holds a database, not backups", dir.display());
        return Err(Error::new(Code::InvalidParameterValue, what).hint("back up into another directory"));
    }
    let known = |name: &str| {
        name == LOCK_FILE
            || name == "lost+found"
            || list_number(name).is_some()
            || is_unfinished_list(name)
            || is_stored_name(name)
    };
    match names.iter().find(|name| !known(name)) {
        None => Ok(()),
        Some(name) => {
            let what = format!("the directory {} holds {name:?}, which is no part of a backup", dir.display());
            Err(Error::new(Code::InvalidParameterValue, what)
                .hint("back up into an empty directory, or one of backups"))
        }
    }
}

fn is_unfinished_list(name: &str) -> bool {
    name.strip_suffix(TEMPORARY_SUFFIX).is_some_and(|name| list_number(name).is_some())
}

/// Whether a backup may have given this name: `log-0000000000000000-5e0a21bc-512`, `t5-12-4194304-5e0a21bc.data`,
/// `manifest-3`, `log-0000000000001240-00000007-5e0a21bc-512` of the first segment of an opening.
fn is_stored_name(name: &str) -> bool {
    let decimal = |word: &str| word.parse::<u64>().is_ok();
    let hex = |word: &str, digits: usize| word.len() == digits && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    if let Some(number) = name.strip_prefix(MANIFEST_PREFIX) {
        return decimal(number);
    }
    if let Some((rest, bytes)) = name.rsplit_once('-').filter(|(rest, _)| rest.starts_with("log-")) {
        let segment = rest.rsplit_once('-').filter(|(_, salt)| hex(salt, 8)).map(|(segment, _)| segment);
        return decimal(bytes) && segment.is_some_and(|segment| segment_start(segment).is_some());
    }
    // `.col`: as an earlier release called them.
    let Some(words) = name.strip_prefix('t') else { return false };
    let Some(words) = words.strip_suffix(".data").or_else(|| words.strip_suffix(".col")) else { return false };
    let words: Vec<&str> = words.split('-').collect();
    matches!(words[..], [table, file, bytes, mark] if decimal(table) && decimal(file) && decimal(bytes) && hex(mark, 8))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_backups_are_known() {
        for name in [
            "manifest-3",
            "log-0000000000000000-5e0a21bc-512",
            "log-0000000000001240-00000007-5e0a21bc-512",
            "t5-12-4194304-5e0a21bc.data",
            "t5-12-4-5e0a21bc.col",
        ] {
            assert!(is_stored_name(name), "{name}");
        }
        for name in [
            "manifest-",
            "log-0000000000000000",
            "log-0000000000000000-5e0a21bc",
            "t5-12.data",
            "t5-12-4-5e0a21bc",
            "notes",
            "MANIFEST-3",
        ] {
            assert!(!is_stored_name(name), "{name}");
        }
    }
}
