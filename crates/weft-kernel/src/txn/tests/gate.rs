//! A gate before the log's writes: commits wait there, in the log's order and not durable.

use std::io;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex};
use std::thread::{self, JoinHandle};

use weft_env::{DirLock, Env, File, Fs, OpenMode};
use weft_format::{Result, Timestamp};

use crate::{Engine, Transaction};

/// Holds what is written to the log.
#[derive(Default)]
pub(super) struct Gate {
    state: Mutex<GateState>,
    changed: Condvar,
}

#[derive(Default)]
struct GateState {
    closed: bool,
    /// The next write finds the disk full.
    full: bool,
    /// The write after that takes it back, and is let through.
    takes_back: bool,
    waiting: usize,
}

impl Gate {
    /// The real environment with the log behind the gate.
    pub(super) fn env(self: &Arc<Gate>) -> Env {
        let real = Env::real();
        Env { fs: Arc::new(GatedFs(real.fs.clone(), self.clone())), ..real }
    }

    pub(super) fn close(&self) {
        self.state.lock().unwrap().closed = true;
    }

    pub(super) fn open(&self) {
        self.open_as(false);
    }

    pub(super) fn open_full(&self) {
        self.open_as(true);
    }

    fn open_as(&self, full: bool) {
        let mut state = self.state.lock().unwrap();
        (state.closed, state.full) = (false, full);
        self.changed.notify_all();
    }

    fn pass(&self) -> io::Result<()> {
        let mut state = self.state.lock().unwrap();
        if std::mem::take(&mut state.takes_back) {
            return Ok(());
        }
        state.waiting += 1;
        self.changed.notify_all();
        while state.closed {
            state = self.changed.wait(state).unwrap();
        }
        state.waiting -= 1;
        state.takes_back = std::mem::take(&mut state.full);
        if state.takes_back { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
    }

    /// Waits until somebody waits.
    pub(super) fn reached(&self) {
        let mut state = self.state.lock().unwrap();
        while state.waiting == 0 {
            state = self.changed.wait(state).unwrap();
        }
    }
}

struct GatedFs(Arc<dyn Fs>, Arc<Gate>);
struct GatedFile(Arc<dyn File>, Arc<Gate>);

impl File for GatedFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.0.read_at(buffer, offset)
    }
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.1.pass()?;
        self.0.write_at(bytes, offset)
    }
    fn sync_data(&self) -> io::Result<()> {
        self.0.sync_data()
    }
    fn len(&self) -> io::Result<u64> {
        self.0.len()
    }
    fn set_len(&self, len: u64) -> io::Result<()> {
        self.0.set_len(len)
    }
}

impl Fs for GatedFs {
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn File>> {
        let file = self.0.open(path, mode)?;
        let is_log = path.file_name().unwrap().to_str().unwrap().starts_with("log-");
        Ok(if is_log { Arc::new(GatedFile(file, self.1.clone())) } else { file })
    }
    fn list(&self, dir: &Path) -> io::Result<Vec<String>> {
        self.0.list(dir)
    }
    fn exists(&self, path: &Path) -> io::Result<bool> {
        self.0.exists(path)
    }
    fn is_stream(&self, path: &Path) -> std::io::Result<bool> {
        self.0.is_stream(path)
    }

    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.0.rename_new(from, to)
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.0.rename(from, to)
    }
    fn remove(&self, path: &Path) -> io::Result<()> {
        self.0.remove(path)
    }
    fn create_dir_all(&self, dir: &Path) -> io::Result<()> {
        self.0.create_dir_all(dir)
    }
    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        self.0.sync_dir(dir)
    }
    fn lock(&self, path: &Path, owner: &str) -> io::Result<Box<dyn DirLock>> {
        self.0.lock(path, owner)
    }
}

/// Commits in a thread of its own; returns once the commit has its place in the log.
pub(super) fn commit_later(
    engine: &Arc<Engine>,
    work: impl FnOnce(&mut Transaction) -> Result<()>,
) -> JoinHandle<Result<Timestamp>> {
    let mut txn = engine.begin().unwrap();
    work(&mut txn).unwrap();
    let before = engine.core.timeline.last_sequenced();
    let commit = thread::spawn(move || txn.commit());
    while engine.core.timeline.last_sequenced() == before {
        thread::yield_now();
    }
    commit
}
