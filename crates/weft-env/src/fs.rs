//! Files, as the layers above see them.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A path by a name that does not depend on the directory in which the process is; nothing need be there.
pub fn absolute(path: &Path) -> io::Result<PathBuf> {
    std::path::absolute(path)
}

/// How a file is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenMode {
    /// An existing file, for reading.
    Read,
    /// An existing file, for reading and writing.
    ReadWrite,
    /// A file that must not exist yet, for reading and writing.
    CreateNew,
}

/// Files and directories. What a crash leaves: synced bytes of a file whose directory entry was synced; unsynced writes
/// may be lost, kept or torn at 512-byte sectors, in any combination.
pub trait Fs: Send + Sync {
    /// Opens a file.
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn File>>;
    /// The names (not paths) of the entries of a directory, sorted.
    fn list(&self, dir: &Path) -> io::Result<Vec<String>>;
    /// Whether a file or directory is there.
    fn exists(&self, path: &Path) -> io::Result<bool>;
    /// Whether what is there takes bytes one after the other, as devices and pipes do: no file that may be replaced.
    fn is_stream(&self, path: &Path) -> io::Result<bool>;
    /// Renames a file, replacing what is there; atomic, durable after [`Fs::sync_dir`].
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Renames a file unless something has the name already ([`io::ErrorKind::AlreadyExists`]): of all who try one
    /// succeeds. Atomic, durable after [`Fs::sync_dir`].
    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Removes a file; durable after [`Fs::sync_dir`].
    fn remove(&self, path: &Path) -> io::Result<()>;
    /// Removes a directory that is empty; a file system that keeps it does no harm.
    fn remove_dir(&self, _dir: &Path) -> io::Result<()> {
        Ok(())
    }
    /// Creates a directory and its parents.
    fn create_dir_all(&self, dir: &Path) -> io::Result<()>;
    /// Makes created, renamed and removed entries of a directory durable.
    fn sync_dir(&self, dir: &Path) -> io::Result<()>;
    /// Takes an exclusive lock on the file at `path` (made when missing) and writes `owner` into it, or fails with
    /// [`io::ErrorKind::WouldBlock`] and the present owner's text as the message. The lock dies with its holder.
    fn lock(&self, path: &Path, owner: &str) -> io::Result<Box<dyn DirLock>>;
    /// Takes the lock on the file at `path` from whoever holds it: another may take it then, beside the one that thinks
    /// that it has it.
    fn break_lock(&self, path: &Path) -> io::Result<()> {
        // A lock is on a file, whatever its name.
        self.remove(path)
    }
    /// How many files and sockets the process may have open at once; none: nobody knows, or no limit.
    fn open_files_max(&self) -> Option<u64> {
        None
    }
}

/// A held lock; dropping it releases.
pub trait DirLock: Send + Sync {
    /// Replaces the owner's text.
    fn describe(&self, owner: &str) -> io::Result<()>;
}

/// An open file, shared between threads; reads and writes carry their position.
pub trait File: Send + Sync {
    /// Reads up to `buffer.len()` bytes at `offset`; fewer only at the end of the file.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;
    /// Writes all of `bytes` at `offset`, extending the file when needed.
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()>;
    /// Makes written bytes and the length durable (fdatasync).
    fn sync_data(&self) -> io::Result<()>;
    /// The length in bytes.
    fn len(&self) -> io::Result<u64>;
    /// Whether the file has no bytes.
    fn is_empty(&self) -> io::Result<bool> {
        Ok(self.len()? == 0)
    }
    /// Cuts or extends (with zeros) the file.
    fn set_len(&self, len: u64) -> io::Result<()>;

    /// Reads exactly `buffer.len()` bytes at `offset`.
    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        let mut done = 0;
        while done < buffer.len() {
            let n = self.read_at(&mut buffer[done..], offset + done as u64)?;
            if n == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            done += n;
        }
        Ok(())
    }
}
