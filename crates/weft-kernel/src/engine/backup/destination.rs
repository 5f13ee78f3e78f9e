//! Which backups are good, and what a backup that is taken can share with them.

use std::collections::BTreeMap;
use std::sync::Arc;

use weft_format::{Code, Error, Result};

use super::list::{Backup, Entry};
use super::shelf::{Shelf, Taken};

/// Where a backup is added.
pub(super) struct Destination {
    pub(super) place: String,
    pub(super) taken: Box<dyn Taken>,
    /// The newest good backup.
    pub(super) newest: Option<Backup>,
    /// Files of good backups, by what they hold: the last word of their names there.
    pub(super) stored: BTreeMap<String, Entry>,
}

impl Destination {
    /// Begins a backup, and lets what unfinished ones left be removed.
    pub(super) fn open(shelf: &Arc<dyn Shelf>) -> Result<Destination> {
        let mut taken = shelf.begin()?;
        let good = read_backups(&**shelf)?;
        let mut stored = BTreeMap::new();
        for entry in good.iter().flat_map(|backup| &backup.entries) {
            let content = entry.stored.rsplit('/').next().unwrap_or(&entry.stored);
            stored.insert(content.to_owned(), entry.clone());
        }
        taken.knows(&good)?;
        Ok(Destination { place: shelf.place(), taken, newest: good.into_iter().next_back(), stored })
    }
}

/// Every good backup, oldest first.
pub(super) fn read_backups(shelf: &dyn Shelf) -> Result<Vec<Backup>> {
    shelf.numbers()?.into_iter().map(|number| read_backup(shelf, number)).collect()
}

/// A good backup.
pub(super) fn read_backup(shelf: &dyn Shelf, number: u64) -> Result<Backup> {
    let bytes = shelf.list(number)?.ok_or_else(|| {
        let what = format!("there is no backup {number} in {}", shelf.place());
        Error::new(Code::UndefinedObject, what).hint("`weft restore DEST --list` shows those that are there")
    })?;
    Backup::decode(&bytes, number)
}
