use std::os::fd::FromRawFd;
use std::path::PathBuf;
use std::sync::atomic::AtomicU32;

use super::*;
use crate::{Traffic, thread_traffic};

/// A directory of its own under the system's temporary one, removed at the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Scratch {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let dir = std::env::temp_dir().join(format!("weft-env-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        Scratch(dir)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).unwrap();
    }
}

#[test]
fn files_keep_what_is_written() {
    let scratch = Scratch::new();
    let fs = Env::real().fs;
    let dir = scratch.0.join("a/b");
    fs.create_dir_all(&dir).unwrap();
    let path = dir.join("file");
    let file = fs.open(&path, OpenMode::CreateNew).unwrap();
    file.write_at(b"hello", 3).unwrap();
    file.sync_data().unwrap();
    assert_eq!(file.len().unwrap(), 8);
    let mut buffer = [1; 16];
    assert_eq!(file.read_at(&mut buffer, 0).unwrap(), 8);
    assert_eq!(&buffer[..8], b"\0\0\0hello");
    assert_eq!(file.read_exact_at(&mut buffer, 0).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    file.set_len(4).unwrap();
    fs.rename(&path, &dir.join("other")).unwrap();
    fs.sync_dir(&dir).unwrap();
    assert_eq!(fs.list(&dir).unwrap(), ["other"]);
    assert!(!fs.exists(&path).unwrap());
    assert_eq!(fs.open(&dir.join("other"), OpenMode::Read).unwrap().len().unwrap(), 4);
    fs.remove(&dir.join("other")).unwrap();
    assert!(fs.list(&dir).unwrap().is_empty());
}

#[test]
fn open_modes_are_kept_apart() {
    let scratch = Scratch::new();
    let fs = Env::real().fs;
    let path = scratch.0.join("file");
    assert_eq!(fs.open(&path, OpenMode::Read).err().unwrap().kind(), io::ErrorKind::NotFound);
    assert_eq!(fs.open(&path, OpenMode::ReadWrite).err().unwrap().kind(), io::ErrorKind::NotFound);
    drop(fs.open(&path, OpenMode::CreateNew).unwrap());
    assert_eq!(fs.open(&path, OpenMode::CreateNew).err().unwrap().kind(), io::ErrorKind::AlreadyExists);
    assert!(fs.open(&path, OpenMode::Read).unwrap().write_at(b"x", 0).is_err());
    fs.open(&path, OpenMode::ReadWrite).unwrap().write_at(b"x", 0).unwrap();
}

#[test]
fn a_lock_conflicts_within_the_process_and_names_its_owner() {
    let scratch = Scratch::new();
    let fs = Env::real().fs;
    let path = scratch.0.join("LOCK");
    let held = fs.lock(&path, "first owner").unwrap();
    let error = fs.lock(&path, "second").err().unwrap();
    assert_eq!((error.kind(), error.to_string().as_str()), (io::ErrorKind::WouldBlock, "first owner"));
    drop(held);
    let _held = fs.lock(&path, "second").unwrap();
    assert_eq!(fs.lock(&path, "third").err().unwrap().to_string(), "second");
}

#[test]
fn threads_report_their_panics() {
    let env = Env::real();
    assert_eq!(env.spawn.spawn("fine", Box::new(|| {})).unwrap().join(), Ok(()));
    let thread = env.spawn.spawn("bad", Box::new(|| panic!("number {}", 7))).unwrap();
    assert_eq!(thread.join(), Err("number 7".to_owned()));
    assert!(env.spawn.parallelism() > 0);
}

#[test]
#[cfg(target_os = "linux")]
fn slices_are_asked_for_and_given_back() {
    let spawn = Env::real().spawn;
    let nice_and_slice = || super::SchedAttributes::of_thread().map(|found| (found.nice, found.runtime_nanos));
    let Some((nice, own_nanos)) = nice_and_slice() else { return };
    spawn.ask_for_slices(Some(Duration::from_millis(50)));
    let (nice_now, asked_nanos) = nice_and_slice().unwrap();
    assert_eq!(nice_now, nice, "nothing else changes");
    assert!([own_nanos, 50_000_000].contains(&asked_nanos), "{asked_nanos}, where the system knows them");
    spawn.ask_for_slices(None);
    assert_eq!(nice_and_slice().unwrap(), (nice, own_nanos));
}

#[test]
fn a_lock_that_was_let_go_is_free_whoever_has_the_file_open() {
    let scratch = Scratch::new();
    let fs = Env::real().fs;
    let path = scratch.0.join("LOCK");
    let held = fs.lock(&path, "first").unwrap();
    // As in a process that another thread starts just now: one more number for the same open file.
    let is_lock = |fd: &i32| std::fs::read_link(format!("/proc/self/fd/{fd}")).is_ok_and(|found| found == path);
    let fd = (0..1 << 12).find(is_lock).expect("the lock is an open file");
    // SAFETY: dup takes any number; what it returns is this test's own.
    let other = unsafe { std::os::fd::OwnedFd::from_raw_fd(libc::dup(fd)) };
    drop(held);
    drop(fs.lock(&path, "second").unwrap());
    drop(other);
}

#[test]
fn clock_and_rng_move() {
    let env = Env::real();
    let before = env.clock.monotonic_nanos();
    env.clock.sleep(Duration::from_millis(2));
    assert!(env.clock.monotonic_nanos() - before >= 2_000_000);
    assert!(env.clock.wall_micros() > 1_700_000_000_000_000);
    let numbers: std::collections::BTreeSet<u64> = (0..1000).map(|_| env.rng.next_u64()).collect();
    assert_eq!(numbers.len(), 1000);
    assert_ne!(env.rng.next_u64(), Env::real().rng.next_u64());
}

#[test]
fn a_thread_counts_the_bytes_that_it_reads_and_writes() {
    let scratch = Scratch::new();
    let file = Env::real().fs.open(&scratch.0.join("a"), OpenMode::CreateNew).unwrap();
    let before = thread_traffic();
    file.write_at(&[7; 1000], 0).unwrap();
    let mut buffer = [0; 600];
    assert_eq!(file.read_at(&mut buffer, 600).unwrap(), 400, "the file ends");
    assert_eq!(thread_traffic() - before, Traffic { read_bytes: 400, written_bytes: 1000 });
    let other = std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            let before = thread_traffic();
            file.write_at(&[8; 30], 0).unwrap();
            thread_traffic() - before
        });
        thread.join().unwrap()
    });
    assert_eq!(other, Traffic { read_bytes: 0, written_bytes: 30 });
    assert_eq!((thread_traffic() - before).written_bytes, 1000, "others count their own");
}
