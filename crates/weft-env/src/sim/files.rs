//! The simulated machine's files: [`Fs`] and [`File`] over the [`Disk`](super::disk::Disk).
//!
//! ```text
//!   file.sync_data()   scheduling point ─ operation 17 counted ─ 60..240 µs of virtual time, others run ─ durable
//! ```
//!
//! 1. A sync begins at one instant and ends at another, and makes durable what was written before it began.
//! 2. A crash in a sync's operation happens before it has an effect; in any other operation while it is under way.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::machine::{Machine, SimPart};
use super::names::normal;
use super::op::Op;
use crate::traffic::{note_read, note_written};
use crate::{DirLock, File, Fs, OpenMode};

struct SimFile {
    machine: Arc<Machine>,
    /// The path with which it was opened, for the trace.
    path: String,
    inode: u64,
    boot: u64,
    writable: bool,
}

struct SimLock {
    machine: Arc<Machine>,
    path: PathBuf,
    holder: u64,
}

impl Fs for SimPart {
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn File>> {
        let path = normal(path);
        let text = path.to_string_lossy().into_owned();
        let machine = &self.0;
        let (inode, boot) = if mode == OpenMode::CreateNew {
            machine.operate(Op::on("create", &text), |disk| Ok((disk.create(&path)?, disk.boot)))?
        } else {
            machine.enter(Op::on("open", &text))?;
            let mut disk = machine.disk.lock();
            (disk.open(&path)?, disk.boot)
        };
        let writable = mode != OpenMode::Read;
        Ok(Arc::new(SimFile { machine: Arc::clone(machine), path: text, inode, boot, writable }))
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<String>> {
        let dir = normal(dir);
        self.0.enter(Op::on("list", &dir.to_string_lossy()))?;
        self.0.disk.lock().names().list(&dir)
    }

    fn exists(&self, path: &Path) -> io::Result<bool> {
        let path = normal(path);
        self.0.enter(Op::on("exists", &path.to_string_lossy()))?;
        Ok(self.0.disk.lock().names().get(&path).is_some())
    }

    fn is_stream(&self, _: &Path) -> io::Result<bool> {
        Ok(false)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let (from, to) = (normal(from), normal(to));
        let text = format!("{} to {}", from.display(), to.display());
        self.0.operate(Op::on("rename", &text), |disk| disk.rename(&from, &to))
    }

    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        let (from, to) = (normal(from), normal(to));
        let text = format!("{} to {}", from.display(), to.display());
        self.0.operate(Op::on("rename_new", &text), |disk| {
            if disk.names().get(&to).is_some() {
                return Err(io::ErrorKind::AlreadyExists.into());
            }
            disk.rename(&from, &to)
        })
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let path = normal(path);
        self.0.operate(Op::on("remove", &path.to_string_lossy()), |disk| disk.remove(&path))
    }

    fn create_dir_all(&self, dir: &Path) -> io::Result<()> {
        let dir = normal(dir);
        self.0.operate(Op::on("create_dir_all", &dir.to_string_lossy()), |disk| disk.names_mut().create_dir_all(&dir))
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        let dir = normal(dir);
        let sequence =
            self.0.operate(Op::on("sync_dir", &dir.to_string_lossy()), |disk| Ok(disk.names().sequence()))?;
        self.0.wait_for_disk()?;
        self.0.disk.lock().finish_sync_dir(&dir, sequence)
    }

    fn lock(&self, path: &Path, owner: &str) -> io::Result<Box<dyn DirLock>> {
        let path = normal(path);
        let holder = self.0.operate(Op::on("lock_file", &path.to_string_lossy()), |disk| disk.lock(&path, owner))?;
        Ok(Box::new(SimLock { machine: Arc::clone(&self.0), path, holder }))
    }

    fn break_lock(&self, path: &Path) -> io::Result<()> {
        let path = normal(path);
        self.0.operate(Op::on("break_lock", &path.to_string_lossy()), |disk| {
            disk.break_lock(&path);
            Ok(())
        })
    }

    fn open_files_max(&self) -> Option<u64> {
        self.0.disk.lock().faults.open_files_max
    }
}

impl DirLock for SimLock {
    fn describe(&self, owner: &str) -> io::Result<()> {
        self.machine.disk.lock().describe_lock(&self.path, self.holder, owner);
        Ok(())
    }
}

impl Drop for SimLock {
    fn drop(&mut self) {
        self.machine.disk.lock().unlock(&self.path, self.holder);
    }
}

impl SimFile {
    fn op(&self, name: &'static str, a: u64, b: u64) -> Op<'_> {
        Op { name, detail: &self.path, a, b }
    }

    fn check_writable(&self) -> io::Result<()> {
        if self.writable {
            Ok(())
        } else {
            let message = format!("{} was opened for reading; open it with OpenMode::ReadWrite", self.path);
            Err(io::Error::new(io::ErrorKind::PermissionDenied, message))
        }
    }
}

impl File for SimFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.machine.enter(self.op("read", offset, buffer.len() as u64))?;
        let mut disk = self.machine.disk.lock();
        disk.check_boot(self.boot)?;
        let read = disk.read(self.inode, buffer, offset)?;
        note_read(read);
        Ok(read)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.check_writable()?;
        self.machine.operate(self.op("write", offset, bytes.len() as u64), |disk| {
            disk.check_boot(self.boot)?;
            disk.write(self.inode, bytes, offset)
        })?;
        note_written(bytes.len());
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        let sequence = self.machine.operate(self.op("sync_data", 0, 0), |disk| {
            disk.check_boot(self.boot)?;
            Ok(disk.change_sequence())
        })?;
        self.machine.wait_for_disk()?;
        self.machine.disk.lock().finish_sync(self.inode, sequence)
    }

    fn len(&self) -> io::Result<u64> {
        self.machine.enter(self.op("len", 0, 0))?;
        let disk = self.machine.disk.lock();
        disk.check_boot(self.boot)?;
        Ok(disk.len(self.inode))
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.check_writable()?;
        self.machine.operate(self.op("set_len", len, 0), |disk| {
            disk.check_boot(self.boot)?;
            disk.set_len(self.inode, len);
            Ok(())
        })
    }
}

impl Drop for SimFile {
    fn drop(&mut self) {
        self.machine.disk.lock().close(self.inode, self.boot);
    }
}
