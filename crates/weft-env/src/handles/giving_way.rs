//! A file system for who opens other files than those of a cache of handles: where none is left, the cache gives some
//! of its own.

use std::io;
use std::path::Path;
use std::sync::Arc;

use super::Handles;
use crate::{DirLock, File, Fs, OpenMode};

/// See above.
pub struct GivingWay {
    fs: Arc<dyn Fs>,
    handles: Arc<Handles>,
}

impl Handles {
    /// The file system that it opens files of, for all that is not read through it (handles 4).
    pub fn giving_way(self: &Arc<Handles>) -> Arc<dyn Fs> {
        Arc::new(GivingWay { fs: self.fs.clone(), handles: self.clone() })
    }
}

/// A directory is opened to be listed and to be synced, too.
impl Fs for GivingWay {
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn File>> {
        self.handles.with_room(|| self.fs.open(path, mode))
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<String>> {
        self.handles.with_room(|| self.fs.list(dir))
    }

    fn exists(&self, path: &Path) -> io::Result<bool> {
        self.fs.exists(path)
    }

    fn is_stream(&self, path: &Path) -> io::Result<bool> {
        self.fs.is_stream(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.fs.rename(from, to)
    }

    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.fs.rename_new(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.fs.remove(path)
    }

    fn create_dir_all(&self, dir: &Path) -> io::Result<()> {
        self.fs.create_dir_all(dir)
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        self.handles.with_room(|| self.fs.sync_dir(dir))
    }

    fn lock(&self, path: &Path, owner: &str) -> io::Result<Box<dyn DirLock>> {
        self.handles.with_room(|| self.fs.lock(path, owner))
    }

    fn break_lock(&self, path: &Path) -> io::Result<()> {
        self.fs.break_lock(path)
    }

    fn open_files_max(&self) -> Option<u64> {
        self.fs.open_files_max()
    }
}
