//! The simulated disk: files with their durable and their unsynced content, names, space, and the faults to come.
//!
//! ```text
//!   file 7   durable "aaaa"   changes [#12 write 4 "bb", #13 set_len 3]   current "aaa"
//!   sync_data: durable "aaa", no changes        failed: the seed keeps some of #12, #13; the rest is lost for good
//! ```
//!
//! 1. `current` is what reads see; without a failed sync it is `durable` with all of `changes` applied in order.
//! 2. `used_pages` is the sum of the pages of the current contents of all files that have a name or are open.
//! 3. A handle works in the boot in which it was opened and not after.
//! 4. `open_files` is the sum of the handles of all files; it is at most what the faults allow.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use super::content::{Content, PAGE_BYTES};
use super::faults::{Faults, ReadFault, Refused, SyncFault, Verdict};
use super::names::{Names, normal};
use super::random::Prng;
use super::survival::{Change, Fate, survive};

/// A file's bytes and how many handles are open on them.
struct Inode {
    /// The name, for faults that go by path; follows renames.
    path: PathBuf,
    durable: Content,
    current: Content,
    /// Unsynced changes with their sequence numbers, oldest first.
    changes: Vec<(u64, Change)>,
    named: bool,
    handles: u32,
}

/// The disk of a simulated machine.
pub(crate) struct Disk {
    inodes: BTreeMap<u64, Inode>,
    next_inode: u64,
    next_change: u64,
    names: Names,
    /// Held locks: the path, the number of the holder, its text.
    locks: BTreeMap<PathBuf, (u64, String)>,
    next_lock: u64,
    used_pages: u64,
    /// Handles that are open, and the most that ever were at once (disk 4).
    open_files: u64,
    pub(crate) open_files_most: u64,
    pub(crate) faults: Faults,
    /// Operations counted so far.
    pub(crate) operations: u64,
    /// Goes up when the process or the machine ends.
    pub(crate) boot: u64,
    prng: Prng,
}

impl Disk {
    pub(crate) fn new(prng: Prng, capacity_bytes: Option<u64>) -> Disk {
        Disk {
            inodes: BTreeMap::new(),
            next_inode: 1,
            next_change: 1,
            names: Names::default(),
            locks: BTreeMap::new(),
            next_lock: 1,
            used_pages: 0,
            open_files: 0,
            open_files_most: 0,
            faults: Faults::new(capacity_bytes),
            operations: 0,
            boot: 1,
            prng,
        }
    }

    pub(crate) fn names(&self) -> &Names {
        &self.names
    }

    pub(crate) fn names_mut(&mut self) -> &mut Names {
        &mut self.names
    }

    /// Bytes of allocated pages.
    pub(crate) fn used_bytes(&self) -> u64 {
        self.used_pages * PAGE_BYTES
    }

    /// A random number of the disk's stream, below `bound`.
    pub(crate) fn random_below(&mut self, bound: u64) -> u64 {
        self.prng.below(bound)
    }

    /// Counts an operation and says what becomes of it.
    pub(crate) fn count_operation(&mut self) -> Verdict {
        self.operations += 1;
        self.faults.verdict(self.operations)
    }

    /// Adds an empty file and opens it.
    pub(crate) fn create(&mut self, path: &Path) -> io::Result<u64> {
        self.faults.check_allowed(path, Refused::Open)?;
        self.check_open_files()?;
        let inode = self.next_inode;
        self.names.create(path, inode)?;
        self.note_open();
        self.next_inode += 1;
        let file = Inode {
            path: path.to_owned(),
            durable: Content::default(),
            current: Content::default(),
            changes: Vec::new(),
            named: true,
            handles: 1,
        };
        self.inodes.insert(inode, file);
        Ok(inode)
    }

    /// Opens a file that is there.
    pub(crate) fn open(&mut self, path: &Path) -> io::Result<u64> {
        self.faults.check_allowed(path, Refused::Open)?;
        let inode = self.names.file(path)?;
        self.check_open_files()?;
        self.inode_mut(inode).handles += 1;
        self.note_open();
        Ok(inode)
    }

    /// Handles that are open now.
    pub(crate) fn open_files(&self) -> u64 {
        self.open_files
    }

    fn check_open_files(&self) -> io::Result<()> {
        match self.faults.open_files_max {
            Some(most) if self.open_files >= most => Err(io::Error::from_raw_os_error(libc::EMFILE)),
            _ => Ok(()),
        }
    }

    fn note_open(&mut self) {
        self.open_files += 1;
        self.open_files_most = self.open_files_most.max(self.open_files);
    }

    /// Closes a handle.
    pub(crate) fn close(&mut self, inode: u64, boot: u64) {
        if boot == self.boot {
            self.inode_mut(inode).handles -= 1;
            self.open_files -= 1;
            self.release_space(inode);
        }
    }

    /// An error for handles of an earlier boot (disk 3).
    pub(crate) fn check_boot(&self, boot: u64) -> io::Result<()> {
        if boot == self.boot {
            Ok(())
        } else {
            Err(io::Error::other("the handle is from before the simulated process ended; open the file again"))
        }
    }

    pub(crate) fn read(&mut self, inode: u64, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let file = self.inodes.get(&inode).expect("an open file stays");
        let fault = self.faults.read_fault(&file.path);
        if fault == Some(ReadFault::Fail) {
            return Err(injected("read", &file.path));
        }
        let count = file.current.read(buffer, offset);
        if fault == Some(ReadFault::FlipBit) && count > 0 {
            let bit = self.prng.below(count as u64 * 8);
            buffer[(bit / 8) as usize] ^= 1 << (bit % 8);
        }
        Ok(count)
    }

    pub(crate) fn len(&self, inode: u64) -> u64 {
        self.inodes.get(&inode).expect("an open file stays").current.len()
    }

    /// Writes, or on a full disk writes nothing or a prefix and fails.
    pub(crate) fn write(&mut self, inode: u64, bytes: &[u8], offset: u64) -> io::Result<()> {
        let free_pages =
            self.faults.capacity_bytes.map_or(u64::MAX, |bytes| (bytes / PAGE_BYTES).saturating_sub(self.used_pages));
        let len = bytes.len() as u64;
        let mut writable = self.inode_mut(inode).current.writable_bytes(offset, len, free_pages);
        let full = writable < len;
        if full && self.prng.chance(500) {
            writable = 0;
        }
        if writable > 0 {
            self.add_change(inode, Change::Write { offset, bytes: bytes[..writable as usize].into() });
        }
        if full {
            let message = format!("the simulated disk is full: {} bytes are used", self.used_bytes());
            return Err(io::Error::new(io::ErrorKind::StorageFull, message));
        }
        Ok(())
    }

    pub(crate) fn set_len(&mut self, inode: u64, len: u64) {
        self.add_change(inode, Change::SetLen(len));
    }

    /// Removes a name; the space is free when no handle is left.
    pub(crate) fn remove(&mut self, path: &Path) -> io::Result<()> {
        self.faults.check_allowed(path, Refused::Remove)?;
        let inode = self.names.remove(path)?;
        self.unname(inode);
        Ok(())
    }

    pub(crate) fn rename(&mut self, from: &Path, to: &Path) -> io::Result<()> {
        let (inode, replaced) = self.names.rename(from, to)?;
        self.inode_mut(inode).path = to.to_owned();
        if let Some(replaced) = replaced {
            self.unname(replaced);
        }
        Ok(())
    }

    /// The sequence number that the next change of a file will get.
    pub(crate) fn change_sequence(&self) -> u64 {
        self.next_change
    }

    /// Ends a `sync_data` that began when the next change was `sequence`.
    pub(crate) fn finish_sync(&mut self, inode: u64, sequence: u64) -> io::Result<()> {
        let file = self.inodes.get_mut(&inode).expect("an open file stays");
        let later = file.changes.partition_point(|(number, _)| *number < sequence);
        let changes: Vec<Change> = file.changes.drain(..later).map(|(_, change)| change).collect();
        if let Some(fault) = self.faults.sync_fault(&file.path) {
            let fate = Fate::draw(&mut self.prng);
            survive(&mut file.durable, &changes, fate, &mut self.prng);
            return Err(match fault {
                SyncFault::Fail => injected("sync_data", &file.path),
                SyncFault::Full => io::Error::from_raw_os_error(libc::ENOSPC),
            });
        }
        for change in &changes {
            change.apply(&mut file.durable);
        }
        Ok(())
    }

    /// Ends a `sync_dir` that began when the next change of a name was `sequence`.
    pub(crate) fn finish_sync_dir(&mut self, dir: &Path, sequence: u64) -> io::Result<()> {
        self.names.check_directory(dir)?;
        if self.faults.sync_dir_fails(dir) {
            return Err(injected("sync_dir", dir));
        }
        self.names.sync(dir, sequence);
        let reachable = self.names.reachable();
        self.inodes.retain(|inode, file| file.handles > 0 || reachable.contains(inode));
        Ok(())
    }

    /// Takes the lock at `path` and returns the holder's number.
    pub(crate) fn lock(&mut self, path: &Path, owner: &str) -> io::Result<u64> {
        if let Some((_, present)) = self.locks.get(path) {
            return Err(io::Error::new(io::ErrorKind::WouldBlock, present.clone()));
        }
        let inode = if self.names.get(path).is_none() { self.create(path)? } else { self.open(path)? };
        self.set_len(inode, 0);
        let written = self.write(inode, owner.as_bytes(), 0);
        self.close(inode, self.boot);
        written?;
        self.next_lock += 1;
        self.locks.insert(path.to_owned(), (self.next_lock, owner.to_owned()));
        Ok(self.next_lock)
    }

    /// Replaces the owner's text of a lock, if `holder` still has it.
    pub(crate) fn describe_lock(&mut self, path: &Path, holder: u64, owner: &str) {
        if let Some(lock) = self.locks.get_mut(path).filter(|(present, _)| *present == holder) {
            lock.1 = owner.to_owned();
        }
    }

    /// Takes a lock from its holder.
    pub(crate) fn break_lock(&mut self, path: &Path) {
        self.locks.remove(path);
    }

    /// Releases a lock, if `holder` still has it.
    pub(crate) fn unlock(&mut self, path: &Path, holder: u64) {
        if self.locks.get(path).is_some_and(|(present, _)| *present == holder) {
            self.locks.remove(path);
        }
    }

    /// Flips the `bit`-th bit of a file for good.
    pub(crate) fn damage(&mut self, path: &Path, bit: u64) -> io::Result<()> {
        let inode = self.names.file(&normal(path))?;
        let file = self.inode_mut(inode);
        for content in [&mut file.current, &mut file.durable] {
            let mut byte = [0];
            if content.read(&mut byte, bit / 8) == 1 {
                content.write(&[byte[0] ^ 1 << (bit % 8)], bit / 8);
            }
        }
        self.recount(&self.names.named());
        Ok(())
    }

    /// Makes the bytes of a file from `offset` on zeros for good, as far as it has them.
    pub(crate) fn lose(&mut self, path: &Path, offset: u64, bytes: u64) -> io::Result<()> {
        let inode = self.names.file(&normal(path))?;
        let file = self.inode_mut(inode);
        for content in [&mut file.current, &mut file.durable] {
            let count = content.len().saturating_sub(offset).min(bytes);
            content.write(&vec![0; count as usize], offset);
        }
        self.recount(&self.names.named());
        Ok(())
    }

    /// The process ended: its locks and handles are gone, what it wrote stays as it is.
    pub(crate) fn end_process(&mut self) {
        self.boot += 1;
        self.locks.clear();
        for file in self.inodes.values_mut() {
            file.handles = 0;
        }
        self.open_files = 0;
        let reachable = self.names.reachable();
        self.inodes.retain(|inode, _| reachable.contains(inode));
        self.recount(&self.names.named());
    }

    /// The power failed: of what was not synced the seed keeps some.
    pub(crate) fn crash(&mut self) {
        let fate = Fate::draw(&mut self.prng);
        self.names.crash(fate, &mut self.prng);
        let named = self.names.named();
        self.inodes.retain(|inode, _| named.contains(inode));
        for file in self.inodes.values_mut() {
            let fate = Fate::draw(&mut self.prng);
            let changes: Vec<Change> = file.changes.drain(..).map(|(_, change)| change).collect();
            survive(&mut file.durable, &changes, fate, &mut self.prng);
            file.current = file.durable.clone();
        }
        for (path, inode) in self.names.files() {
            self.inodes.get_mut(&inode).expect("a named file is kept").path = path.to_owned();
        }
        self.end_process();
    }

    fn inode_mut(&mut self, inode: u64) -> &mut Inode {
        self.inodes.get_mut(&inode).expect("an open or named file stays")
    }

    fn add_change(&mut self, inode: u64, change: Change) {
        let file = self.inodes.get_mut(&inode).expect("an open file stays");
        match &change {
            Change::Write { offset, bytes } => self.used_pages += file.current.write(bytes, *offset),
            Change::SetLen(len) => self.used_pages -= file.current.set_len(*len),
        }
        file.changes.push((self.next_change, change));
        self.next_change += 1;
    }

    fn unname(&mut self, inode: u64) {
        self.inode_mut(inode).named = false;
        self.release_space(inode);
    }

    fn release_space(&mut self, inode: u64) {
        let file = self.inode_mut(inode);
        if !file.named && file.handles == 0 {
            let pages = file.current.allocated_pages();
            self.used_pages -= pages;
        }
    }

    fn recount(&mut self, named: &BTreeSet<u64>) {
        self.used_pages = 0;
        for (inode, file) in &mut self.inodes {
            file.named = named.contains(inode);
            if file.named || file.handles > 0 {
                self.used_pages += file.current.allocated_pages();
            }
        }
    }
}

fn injected(operation: &str, path: &Path) -> io::Error {
    io::Error::other(format!("injected fault: {operation} of {} failed", path.display()))
}
