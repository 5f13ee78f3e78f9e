//! Where backups are.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use weft_env::{Env, ObjectStore};

use super::directory::DirectoryShelf;
use super::objects::ObjectShelf;
use super::shelf::Shelf;

/// Where backups are: a directory, or a store of objects.
#[derive(Clone)]
pub enum BackupPlace {
    /// A directory, which one backup at a time locks.
    Directory(PathBuf),
    /// A store of objects.
    Objects(Arc<dyn ObjectStore>),
}

impl From<&Path> for BackupPlace {
    fn from(dir: &Path) -> BackupPlace {
        BackupPlace::Directory(dir.to_owned())
    }
}

impl From<&PathBuf> for BackupPlace {
    fn from(dir: &PathBuf) -> BackupPlace {
        BackupPlace::Directory(dir.clone())
    }
}

impl BackupPlace {
    pub(super) fn shelf(self, env: &Env) -> Arc<dyn Shelf> {
        match self {
            BackupPlace::Directory(dir) => Arc::new(DirectoryShelf::new(env, &dir)),
            BackupPlace::Objects(store) => Arc::new(ObjectShelf::new(env, store)),
        }
    }
}
