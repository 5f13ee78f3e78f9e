//! Where writer and nodes meet: the folder `nodes` in the directory of the database.
//!
//! ```text
//!   DIR/nodes/announced        the writer's: 64 bytes, written in place
//!   DIR/nodes/berlin.node      a node's: 192 bytes, written in place
//! ```
//!
//! 1. Nothing in it is synced, and nothing depends on it after a crash: what it says of the log was durable when it was
//!    written.
//! 2. Each file has one writer, and is read until its checksum fits.
//!
//! A torn read is as good as none: the file is smaller than a page of memory and a sector of the disk, so there is
//! hardly ever one, and the next look is a millisecond away.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use weft_env::{Env, File, OpenMode};
use weft_format::{Code, Error, Result};

use crate::announcement::{ANNOUNCEMENT_BYTES, Announcement};
use crate::registration::{REGISTRATION_BYTES, Registration};

/// The folder in the directory of a database.
pub const NODES_DIR: &str = "nodes";
const ANNOUNCED: &str = "announced";
/// What is not whole is read so often: somebody may be writing it.
const READS: u32 = 3;
const SUFFIX: &str = ".node";
/// The longest name of a node, bytes.
const NAME_BYTES_MAX: usize = 63;

/// The folder of a database.
#[derive(Clone)]
pub(crate) struct Place {
    env: Env,
    dir: PathBuf,
}

impl Place {
    /// The folder in a database's directory.
    pub(crate) fn of(env: &Env, database: &Path) -> Place {
        Place { env: env.clone(), dir: database.join(NODES_DIR) }
    }

    /// The writer's file, made when missing, with its folder.
    pub(crate) fn announced_to(&self) -> Result<Arc<dyn File>> {
        self.made(ANNOUNCED)
    }

    /// The writer's file, to read; none when no writer has announced anything.
    pub(crate) fn announced_from(&self) -> Result<Option<Arc<dyn File>>> {
        self.found(ANNOUNCED)
    }

    /// The file of a node, made when missing.
    pub(crate) fn registered_to(&self, name: &str) -> Result<Arc<dyn File>> {
        self.made(&format!("{name}{SUFFIX}"))
    }

    /// All nodes that have registered, and what they say; none of those whose file cannot be read now.
    pub(crate) fn registered(&self) -> Result<Vec<(String, Option<Registration>)>> {
        let names = match self.env.fs.list(&self.dir) {
            Ok(names) => names,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(Error::io(format!("listing {}", self.dir.display()), &error)),
        };
        let mut found = Vec::new();
        for file in names {
            let Some(name) = file.strip_suffix(SUFFIX) else { continue };
            let Some(open) = self.found(&file)? else { continue };
            let mut bytes = [0; REGISTRATION_BYTES];
            let told =
                (0..READS).find_map(|_| read(&*open, &mut bytes).then(|| Registration::decode(&bytes)).flatten());
            found.push((name.to_owned(), told));
        }
        Ok(found)
    }

    /// Forgets all nodes: those that live tell again.
    pub(crate) fn forget_all(&self) -> Result<()> {
        self.registered()?.iter().for_each(|(name, _)| self.leave(name));
        Ok(())
    }

    /// A node leaves, or is forgotten.
    pub(crate) fn leave(&self, name: &str) {
        let _ = self.env.fs.remove(&self.dir.join(format!("{name}{SUFFIX}")));
    }

    fn found(&self, name: &str) -> Result<Option<Arc<dyn File>>> {
        let path = self.dir.join(name);
        match self.env.fs.open(&path, OpenMode::Read) {
            Ok(file) => Ok(Some(file)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Error::io(format!("opening {}", path.display()), &error)),
        }
    }

    fn made(&self, name: &str) -> Result<Arc<dyn File>> {
        let path = self.dir.join(name);
        let fs = &self.env.fs;
        let open = || {
            fs.create_dir_all(&self.dir)?;
            match fs.open(&path, OpenMode::CreateNew) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => fs.open(&path, OpenMode::ReadWrite),
                made => made,
            }
        };
        open().map_err(|error| Error::io(format!("making {}", path.display()), &error))
    }
}

/// Reads what was announced last; none when there is nothing, or nothing whole (place 2).
pub(crate) fn read_announcement(file: &dyn File) -> Option<Announcement> {
    let mut bytes = [0; ANNOUNCEMENT_BYTES];
    (0..READS).find_map(|_| read(file, &mut bytes).then(|| Announcement::decode(&bytes)).flatten())
}

fn read(file: &dyn File, bytes: &mut [u8]) -> bool {
    file.read_exact_at(bytes, 0).is_ok()
}

/// Takes away what was announced: for a writer that announces nothing, so that no node takes it for news.
pub fn withdraw(env: &Env, database: &Path) {
    let path = Place::of(env, database).dir.join(ANNOUNCED);
    // Nodes that have the file open read nothing whole in it any more.
    if let Ok(file) = env.fs.open(&path, OpenMode::ReadWrite) {
        let _ = file.write_at(&[0; ANNOUNCEMENT_BYTES], 0);
    }
    let _ = env.fs.remove(&path);
}

/// An error when a node cannot be called so.
pub(crate) fn check_name(name: &str) -> Result<()> {
    let is_good = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if !name.is_empty() && name.len() <= NAME_BYTES_MAX && name.chars().all(is_good) && !name.starts_with('.') {
        return Ok(());
    }
    let message = format!("{name:?} is no name of a node");
    Err(Error::new(Code::InvalidName, message).hint("letters, digits, and - _ . between them; at most 63 of them"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_files() {
        for good in ["a", "berlin-2", "n_1.x", &"n".repeat(63)] {
            check_name(good).unwrap();
        }
        for bad in ["", "a/b", "..", "a b", "ä", &"n".repeat(64)] {
            assert_eq!(check_name(bad).unwrap_err().code(), Code::InvalidName, "{bad}");
        }
    }
}
