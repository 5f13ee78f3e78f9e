//! The operating system as an [`Env`]: files by `pread`/`pwrite`, `flock`, the system's clocks, random seed and
//! threads.
//!
//! ```text
//!   fs.lock("db/LOCK", "pid 17")  ── open, flock(LOCK_EX | LOCK_NB) ──▶ held: the file says "pid 17"
//!   fs.lock("db/LOCK", "pid 23")  ─────────────────────────────────────▶ WouldBlock, message "pid 17"
//! ```
//!
//! 1. A lock belongs to one open file description, so it conflicts between processes and within one, and the kernel
//!    releases it when its holder dies.
//! 2. The file of a lock is removed only to break it. So who has locked a file looks whether that still has the name,
//!    and locks anew otherwise: of two who come then one holds the lock.
//!
//! Concurrency: everything here may be called from any thread; only `lock`'s conflict is answered without waiting.
//!
//! Crash: what POSIX promises and no more: bytes are durable after `sync_data` returned, names after `sync_dir`.

use std::fs::{File as OsFile, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::spawn::panic_text;
use crate::traffic::{note_read, note_written};
use crate::{Clock, DirLock, Env, File, Fs, JoinHandle, OpenMode, Rng, Spawn};

impl Env {
    /// The operating system.
    pub fn real() -> Env {
        Env {
            fs: Arc::new(RealFs),
            clock: Arc::new(RealClock::new()),
            rng: Arc::new(RealRng::new()),
            spawn: Arc::new(RealSpawn),
        }
    }
}

/// So often a file is locked whose name another has meanwhile.
const LOCK_TRIES: u32 = 100;

struct RealFs;

struct RealFile(OsFile);

/// A locked file. The system's lock belongs to the open file, not to this process' number for it: a process that is
/// being started has a number for it too, until its program runs.
struct RealLock(OsFile);

impl Drop for RealLock {
    fn drop(&mut self) {
        // SAFETY: flock only needs a file descriptor that is open during the call; `self` owns it.
        let failed = unsafe { libc::flock(self.0.as_raw_fd(), libc::LOCK_UN) } != 0;
        debug_assert!(!failed, "a file that is open can be unlocked");
    }
}

impl DirLock for RealLock {
    fn describe(&self, owner: &str) -> io::Result<()> {
        // The new text first and the cut after it: whoever reads in between sees an owner, never an empty file.
        self.0.write_all_at(owner.as_bytes(), 0)?;
        self.0.set_len(owner.len() as u64)
    }
}

impl File for RealFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let mut done = 0;
        while done < buffer.len() {
            match self.0.read_at(&mut buffer[done..], offset + done as u64) {
                Ok(0) => break,
                Ok(n) => done += n,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        note_read(done);
        Ok(done)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        match self.0.write_all_at(bytes, offset) {
            // A pipe has no places: what is written comes behind what was written.
            Err(error) if error.raw_os_error() == Some(libc::ESPIPE) => (&self.0).write_all(bytes)?,
            written => written?,
        }
        note_written(bytes.len());
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        self.0.sync_data()
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.0.set_len(len)
    }
}

impl Fs for RealFs {
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn File>> {
        let mut options = OpenOptions::new();
        match mode {
            OpenMode::Read => options.read(true),
            OpenMode::ReadWrite => options.read(true).write(true),
            OpenMode::CreateNew => options.read(true).write(true).create_new(true),
        };
        Ok(Arc::new(RealFile(options.open(path)?)))
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in std::fs::read_dir(or_here(dir))? {
            let name = entry?.file_name().into_string().map_err(|name| {
                io::Error::new(
                    io::ErrorKind::InvalidData,
                    format!("the name {name:?} in {} is not UTF-8", dir.display()),
                )
            })?;
            names.push(name);
        }
        names.sort_unstable();
        Ok(names)
    }

    fn exists(&self, path: &Path) -> io::Result<bool> {
        path.try_exists()
    }

    fn is_stream(&self, path: &Path) -> io::Result<bool> {
        match std::fs::metadata(path) {
            Ok(found) => Ok(!found.is_file() && !found.is_dir()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        std::fs::rename(from, to)
    }

    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        // A second name, unless it is taken. File systems without second names say so.
        std::fs::hard_link(from, to)?;
        std::fs::remove_file(from)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        std::fs::remove_file(path)
    }

    fn remove_dir(&self, dir: &Path) -> io::Result<()> {
        std::fs::remove_dir(dir)
    }

    fn create_dir_all(&self, dir: &Path) -> io::Result<()> {
        std::fs::create_dir_all(dir)
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        OsFile::open(or_here(dir))?.sync_all()
    }

    fn lock(&self, path: &Path, owner: &str) -> io::Result<Box<dyn DirLock>> {
        for _ in 0..LOCK_TRIES {
            let mut file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
            // SAFETY: flock only needs a file descriptor that is open during the call; `file` owns it.
            if unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } != 0 {
                let error = io::Error::last_os_error();
                if error.kind() != io::ErrorKind::WouldBlock {
                    return Err(error);
                }
                let mut present = String::new();
                file.read_to_string(&mut present)?;
                return Err(io::Error::new(io::ErrorKind::WouldBlock, present));
            }
            let lock = RealLock(file);
            // Real 2.
            let held = lock.0.metadata()?;
            let is_there = std::fs::metadata(path).is_ok_and(|now| (now.dev(), now.ino()) == (held.dev(), held.ino()));
            if is_there {
                lock.describe(owner)?;
                return Ok(Box::new(lock));
            }
        }
        Err(io::Error::new(io::ErrorKind::WouldBlock, "somebody who breaks the lock again and again"))
    }

    fn open_files_max(&self) -> Option<u64> {
        crate::limits::open_files().map(|(soft, _)| soft)
    }
}

/// The empty path, the parent of a relative path with one component, means the current directory.
fn or_here(dir: &Path) -> &Path {
    if dir.as_os_str().is_empty() { Path::new(".") } else { dir }
}

struct RealClock {
    start: Instant,
}

impl RealClock {
    fn new() -> RealClock {
        RealClock { start: Instant::now() }
    }
}

impl Clock for RealClock {
    fn wall_micros(&self) -> i64 {
        match SystemTime::now().duration_since(UNIX_EPOCH) {
            Ok(since) => since.as_micros() as i64,
            Err(before) => -(before.duration().as_micros() as i64),
        }
    }

    fn monotonic_nanos(&self) -> u64 {
        self.start.elapsed().as_nanos() as u64
    }

    fn sleep(&self, duration: Duration) {
        std::thread::sleep(duration);
    }

    fn processor_nanos(&self) -> Option<u64> {
        ticks_of(&std::fs::read_to_string("/proc/self/stat").ok()?).map(|ticks| ticks * TICK_NANOS)
    }

    fn thread_processor_nanos(&self) -> Option<u64> {
        thread_nanos()
    }
}

/// The time of the calling thread on its processor, nanoseconds.
fn thread_nanos() -> Option<u64> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call writes one timespec, to which the pointer leads.
    let failed = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) } != 0;
    (!failed).then(|| time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

/// What Linux counts processor time in where it tells programs of it (USER_HZ, 100 a second).
const TICK_NANOS: u64 = 10_000_000;

/// Ticks in user and kernel mode, fields 14 and 15 of /proc/self/stat; field 2 is a name that may have spaces and
/// parentheses in it.
fn ticks_of(stat: &str) -> Option<u64> {
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace().skip(11);
    let mut ticks = || fields.next()?.parse::<u64>().ok();
    Some(ticks()? + ticks()?)
}

/// SplitMix64 (Steele, Lea, Flood, OOPSLA 2014): one atomic addition per number, so threads share it without a lock.
struct RealRng {
    state: AtomicU64,
}

impl RealRng {
    fn new() -> RealRng {
        RealRng { state: AtomicU64::new(system_seed()) }
    }
}

impl Rng for RealRng {
    fn next_u64(&self) -> u64 {
        use crate::sim::random::{GOLDEN_GAMMA, mix};
        mix(self.state.fetch_add(GOLDEN_GAMMA, Ordering::Relaxed).wrapping_add(GOLDEN_GAMMA))
    }
}

/// 64 bits of the system's randomness; where there is no /dev/urandom, the time and an address must do.
fn system_seed() -> u64 {
    let mut bytes = [0; 8];
    if OsFile::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut bytes)).is_ok() {
        return u64::from_le_bytes(bytes);
    }
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    since.as_nanos() as u64 ^ (&raw const bytes as u64).rotate_left(32) ^ u64::from(std::process::id())
}

struct RealSpawn;

impl Spawn for RealSpawn {
    fn spawn(&self, name: &str, body: Box<dyn FnOnce() + Send>) -> io::Result<JoinHandle> {
        let thread = std::thread::Builder::new().name(name.to_owned()).spawn(body)?;
        Ok(JoinHandle { join: Box::new(move || thread.join().map_err(|payload| panic_text(&*payload))) })
    }

    fn parallelism(&self) -> usize {
        std::thread::available_parallelism().map_or(1, usize::from)
    }

    fn ask_for_slices(&self, slice: Option<Duration>) {
        #[cfg(target_os = "linux")]
        if let Some(mut attributes) = SchedAttributes::of_thread() {
            attributes.runtime_nanos = slice.map_or(0, |slice| slice.as_nanos() as u64);
            attributes.set();
        }
        let _ = slice;
    }
}

/// How the calling thread is scheduled: `struct sched_attr` of Linux in its first version.
#[cfg(target_os = "linux")]
#[repr(C)]
#[derive(Debug, Default)]
struct SchedAttributes {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    /// Of an ordinary thread: the slice it asks for, 0 for the system's choice.
    runtime_nanos: u64,
    deadline_nanos: u64,
    period_nanos: u64,
}

#[cfg(target_os = "linux")]
impl SchedAttributes {
    fn of_thread() -> Option<SchedAttributes> {
        let mut found = SchedAttributes::default();
        let size = size_of::<SchedAttributes>() as u32;
        // SAFETY: the call writes at most `size` bytes, to where the pointer leads.
        let failed = unsafe { libc::syscall(libc::SYS_sched_getattr, 0, &raw mut found, size, 0) } != 0;
        (!failed && found.policy == libc::SCHED_OTHER as u32).then_some(found)
    }

    /// A failure changes nothing: slices are a wish.
    fn set(&self) {
        // SAFETY: the call reads `self.size` bytes, which the kernel set to what it knows of this struct.
        unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const *self, 0) };
    }
}

#[cfg(test)]
mod tests;
