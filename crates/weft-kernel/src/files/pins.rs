//! Files that stay although no table has them any more, while somebody copies them.
//!
//! ```text
//!   pin everything ─ a merge drops t5-7, which waits ─ narrow to {t5-7, t5-9} ─ t5-7 copied: let go, it is removed
//! ```
//!
//! 1. A file that is removed while it is pinned is removed when the last pin of it goes, at the latest.
//!
//! Crash: pins are in memory. What waited is an orphan, which the next open removes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use weft_env::Env;
use weft_env::sync::Mutex;
use weft_format::{FileId, TableId};

use super::name::file_name;

/// Which files stay.
#[derive(Default)]
pub(crate) struct FilePins(Mutex<Pins>);

#[derive(Default)]
struct Pins {
    /// The files are another engine's, which is followed.
    of_another: bool,
    next: u64,
    held: BTreeMap<u64, Held>,
    waiting: BTreeMap<FileId, TableId>,
}

enum Held {
    All,
    These(BTreeSet<FileId>),
}

impl Pins {
    fn holds(&self, file: FileId) -> bool {
        self.held.values().any(|held| match held {
            Held::All => true,
            Held::These(files) => files.contains(&file),
        })
    }

    /// Takes out what waits and is not held any more.
    fn free(&mut self) -> Vec<(TableId, FileId)> {
        let free: Vec<_> = self.waiting.iter().filter(|(file, _)| !self.holds(**file)).map(|(f, t)| (*t, *f)).collect();
        free.iter().for_each(|(_, file)| {
            self.waiting.remove(file);
        });
        free
    }
}

impl FilePins {
    /// Those of an engine that follows another, whose files these are: it removes none.
    pub(crate) fn of_follower() -> FilePins {
        FilePins(Mutex::new(Pins { of_another: true, ..Pins::default() }))
    }

    /// Whether the file may be removed now; if not, it is when it is let go.
    pub(crate) fn may_remove(&self, table: TableId, file: FileId) -> bool {
        let mut pins = self.0.lock();
        if pins.of_another {
            return false;
        }
        let held = pins.holds(file);
        if held {
            pins.waiting.insert(file, table);
        }
        !held
    }

    /// How many files wait for their removal.
    #[cfg(test)]
    pub(crate) fn waiting_count(&self) -> usize {
        self.0.lock().waiting.len()
    }
}

/// Keeps files until it is dropped.
pub(crate) struct FilePin {
    env: Env,
    dir: PathBuf,
    pins: Arc<FilePins>,
    number: u64,
}

impl FilePin {
    /// Keeps every file of a database's directory.
    pub(crate) fn all(env: &Env, dir: &Path, pins: &Arc<FilePins>) -> FilePin {
        let number = {
            let mut pins = pins.0.lock();
            pins.next += 1;
            let number = pins.next;
            let before = pins.held.insert(number, Held::All);
            assert!(before.is_none(), "each pin has a number of its own");
            number
        };
        FilePin { env: env.clone(), dir: dir.to_owned(), pins: pins.clone(), number }
    }

    /// Keeps only these from now on.
    pub(crate) fn narrow(&self, files: BTreeSet<FileId>) {
        self.change(|pins| {
            let before = pins.held.insert(self.number, Held::These(files));
            assert!(before.is_some(), "a pin holds files until it is dropped (pins 1)");
        });
    }

    /// Lets one go.
    pub(crate) fn let_go(&self, file: FileId) {
        self.change(|pins| {
            if let Some(Held::These(files)) = pins.held.get_mut(&self.number) {
                files.remove(&file);
            }
        });
    }

    fn change(&self, change: impl FnOnce(&mut Pins)) {
        let free = {
            let mut pins = self.pins.0.lock();
            change(&mut pins);
            pins.free()
        };
        for (table, file) in free {
            // A file that cannot be removed now is an orphan, which the next open removes.
            let _ = self.env.fs.remove(&self.dir.join(file_name(table, file)));
        }
    }
}

impl Drop for FilePin {
    fn drop(&mut self) {
        // While a thread unwinds the disk may be gone (a simulated crash); open removes what is left.
        if !std::thread::panicking() {
            self.change(|pins| {
                pins.held.remove(&self.number);
            });
        }
    }
}
