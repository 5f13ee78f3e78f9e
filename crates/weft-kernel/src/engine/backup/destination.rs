//! The directory of backups: which are good, and what is left of those that were not finished.
//!
//! 1. Only what no good backup names is removed, and only files with names that backups give.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use weft_env::{DirLock, Env, OpenMode};
use weft_format::{Code, Error, Result};

use super::copy::sync_dir;
use super::list::{Backup, Entry, TEMPORARY_SUFFIX, list_number};
use crate::engine::directory::create_dir;
use crate::log::segment_start;
use crate::manifest::CURRENT;

/// The file that is locked while a backup is made.
pub(super) const LOCK_FILE: &str = "LOCK";
/// Names of copied manifests begin with this, before the backup's number.
pub(super) const MANIFEST_PREFIX: &str = "manifest-";

/// A directory of backups to which one is added.
pub(super) struct Destination {
    pub(super) env: Env,
    pub(super) dir: PathBuf,
    /// The newest good backup.
    pub(super) newest: Option<Backup>,
    /// Files of good backups, by their names there.
    pub(super) stored: BTreeMap<String, Entry>,
    _lock: Box<dyn DirLock>,
}

impl Destination {
    /// Locks the directory, made when missing, and removes what unfinished backups left.
    pub(super) fn open(env: &Env, dir: &Path) -> Result<Destination> {
        create_dir(env, dir)?;
        refuse_others(dir, &list(env, dir)?)?;
        let owner = format!("pid {}", std::process::id());
        let lock = env.fs.lock(&dir.join(LOCK_FILE), &owner).map_err(|error| {
            if error.kind() != io::ErrorKind::WouldBlock {
                return Error::io(format!("locking {}", dir.join(LOCK_FILE).display()), &error);
            }
            let what = format!("another backup into {} is running, by {error}", dir.display());
            Error::new(Code::CannotConnectNow, what).hint("wait for its end, or back up into another directory")
        })?;
        let good = read_backups(env, dir)?;
        let mut stored = BTreeMap::new();
        for entry in good.iter().flat_map(|backup| &backup.entries) {
            stored.insert(entry.stored.clone(), entry.clone());
        }
        let destination = Destination {
            env: env.clone(),
            dir: dir.to_owned(),
            newest: good.into_iter().next_back(),
            stored,
            _lock: lock,
        };
        destination.clean()?;
        Ok(destination)
    }

    /// Removes what no good backup names.
    pub(super) fn clean(&self) -> Result<()> {
        let mut removed = false;
        for name in list(&self.env, &self.dir)? {
            let left = is_unfinished_list(&name) || is_stored_name(&name) && !self.stored.contains_key(&name);
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

/// Every good backup of a directory, oldest first.
pub(super) fn read_backups(env: &Env, dir: &Path) -> Result<Vec<Backup>> {
    let numbers: BTreeSet<u64> = list(env, dir)?.iter().filter_map(|name| list_number(name)).collect();
    numbers.into_iter().map(|number| read_backup(env, dir, number)).collect()
}

/// A good backup.
pub(super) fn read_backup(env: &Env, dir: &Path, number: u64) -> Result<Backup> {
    let path = dir.join(super::list::list_name(number));
    let read = env.fs.open(&path, OpenMode::Read).and_then(|file| {
        let mut bytes = vec![0; file.len()? as usize];
        file.read_exact_at(&mut bytes, 0).map(|()| bytes)
    });
    let bytes = read.map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => {
            let what = format!("there is no backup {number} in {}", dir.display());
            Error::new(Code::UndefinedObject, what).hint("`weft restore DEST --list` shows those that are there")
        }
        _ => Error::io(format!("reading {}", path.display()), &error),
    })?;
    Backup::decode(&bytes, number)
}

pub(super) fn list(env: &Env, dir: &Path) -> Result<Vec<String>> {
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
