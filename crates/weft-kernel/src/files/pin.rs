//! A pin of files: who copies them holds one.

use std::collections::BTreeSet;
use std::sync::Arc;

use weft_format::FileId;

use super::directory::Directory;
use super::pins::{Held, Wanted};

/// Keeps files until it is dropped.
pub(crate) struct FilePin {
    directory: Arc<Directory>,
    number: u64,
}

impl FilePin {
    /// Keeps every file of a database as it is; when it returns no page of one changes any more.
    pub(super) fn all(directory: &Arc<Directory>) -> FilePin {
        FilePin::of(directory, Wanted::All)
    }

    /// Keeps every file of a database for who reads it.
    pub(super) fn kept(directory: &Arc<Directory>) -> FilePin {
        FilePin::of(directory, Wanted::Kept)
    }

    fn of(directory: &Arc<Directory>, wanted: Wanted) -> FilePin {
        let number = {
            let mut held = directory.pins.0.lock();
            held.next += 1;
            let number = held.next;
            let before = held.pins.insert(number, wanted);
            assert!(before.is_none(), "each pin has a number of its own");
            directory.pins.wait_for_changes(held);
            number
        };
        FilePin { directory: directory.clone(), number }
    }

    /// Keeps only these from now on.
    pub(crate) fn narrow(&self, files: BTreeSet<FileId>) {
        self.change(|held| {
            let before = held.pins.insert(self.number, Wanted::These(files));
            assert!(before.is_some(), "a pin holds files until it is dropped (pins 1)");
        });
    }

    /// Lets one go.
    pub(crate) fn let_go(&self, file: FileId) {
        self.change(|held| {
            if let Some(Wanted::These(files)) = held.pins.get_mut(&self.number) {
                files.remove(&file);
            }
        });
    }

    fn change(&self, change: impl FnOnce(&mut Held)) {
        let free = {
            let mut held = self.directory.pins.0.lock();
            change(&mut held);
            held.free()
        };
        free.into_iter().for_each(|(table, file)| self.directory.unlink(table, file));
    }
}

impl Drop for FilePin {
    fn drop(&mut self) {
        // While a thread unwinds the disk may be gone (a simulated crash); open removes what is left.
        if !std::thread::panicking() {
            self.change(|held| {
                held.pins.remove(&self.number);
            });
        }
    }
}
