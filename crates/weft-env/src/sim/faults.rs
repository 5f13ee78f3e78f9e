//! The faults of a simulated disk, set by a test while it runs.
//!
//! ```text
//!   faults.fail_sync("log/", 2)       the second sync_data from now of a path that contains "log/" fails, once
//!   faults.flip_bits("tables/", 1)    the next read of a path that contains "tables/" has one bit flipped
//!   faults.set_capacity(Some(8 << 20))
//! ```

use std::collections::BTreeSet;
use std::io;
use std::path::Path;
use std::sync::Arc;

use super::disk::Verdict;
use super::machine::Machine;

/// What happens to a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReadFault {
    FlipBit,
    Fail,
}

/// What happens to a sync.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SyncFault {
    Fail,
    /// As on disks that find out late that they are full.
    Full,
}

/// What is not permitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    Open,
    Remove,
}

/// A fault that waits for its moment: it strikes the matching operation that brings `countdown` to zero.
#[derive(Debug)]
struct Planned {
    path_part: String,
    countdown: u64,
}

/// The faults to come.
#[derive(Debug)]
pub(crate) struct Faults {
    pub(crate) capacity_bytes: Option<u64>,
    /// The number of the operation that crashes the machine.
    pub(crate) crash_at: Option<u64>,
    /// The numbers of the operations that fail.
    fail_at: BTreeSet<u64>,
    syncs: Vec<(Planned, SyncFault)>,
    dir_syncs: Vec<Planned>,
    /// Reads with a fault: the path's part, how many, what.
    reads: Vec<(Planned, ReadFault)>,
    /// Paths' parts whose files cannot be opened, or removed.
    refused: Vec<(String, Refused)>,
    /// How many handles there may be.
    pub(crate) open_files_max: Option<u64>,
}

impl Faults {
    pub(crate) fn new(capacity_bytes: Option<u64>) -> Faults {
        Faults {
            capacity_bytes,
            crash_at: None,
            fail_at: BTreeSet::new(),
            syncs: Vec::new(),
            dir_syncs: Vec::new(),
            reads: Vec::new(),
            refused: Vec::new(),
            open_files_max: None,
        }
    }

    /// What becomes of the operation with this number.
    pub(crate) fn verdict(&mut self, operation: u64) -> Verdict {
        if self.crash_at.is_some_and(|at| at == operation) {
            self.crash_at = None;
            Verdict::Crash
        } else if self.fail_at.remove(&operation) {
            Verdict::Fail
        } else {
            Verdict::Perform
        }
    }

    /// The fault of a sync, which uses it up.
    pub(crate) fn sync_fault(&mut self, path: &Path) -> Option<SyncFault> {
        let mut struck = None;
        self.syncs.retain_mut(|(planned, fault)| {
            planned.countdown -= u64::from(matches(planned, path));
            if planned.countdown == 0 {
                struck = Some(*fault);
            }
            planned.countdown > 0
        });
        struck
    }

    /// An error when nobody may do this to the path.
    pub(crate) fn check_allowed(&self, path: &Path, what: Refused) -> io::Result<()> {
        let text = path.to_string_lossy();
        let is_refused = self.refused.iter().any(|(part, refused)| *refused == what && text.contains(part));
        if is_refused { Err(io::Error::from_raw_os_error(libc::EACCES)) } else { Ok(()) }
    }

    pub(crate) fn sync_dir_fails(&mut self, dir: &Path) -> bool {
        strikes(&mut self.dir_syncs, dir)
    }

    /// The fault of a read, which uses it up.
    pub(crate) fn read_fault(&mut self, path: &Path) -> Option<ReadFault> {
        let i = self.reads.iter().position(|(planned, _)| matches(planned, path))?;
        let (planned, fault) = &mut self.reads[i];
        let fault = *fault;
        planned.countdown -= 1;
        if planned.countdown == 0 {
            self.reads.remove(i);
        }
        Some(fault)
    }
}

fn matches(planned: &Planned, path: &Path) -> bool {
    path.to_string_lossy().contains(&planned.path_part)
}

/// Counts down every matching plan; true when one came to its end.
fn strikes(plans: &mut Vec<Planned>, path: &Path) -> bool {
    let before = plans.len();
    plans.retain_mut(|planned| {
        planned.countdown -= u64::from(matches(planned, path));
        planned.countdown > 0
    });
    plans.len() < before
}

/// Sets the faults of a simulation's disk, before a run or while it runs.
pub struct SimFaults {
    pub(super) machine: Arc<Machine>,
}

impl SimFaults {
    /// Lets the `nth` (from 1) `sync_data` from now of a file whose path contains `path_part` fail; what it was to sync
    /// is kept, torn or lost as the seed says, and no later sync brings it back.
    pub fn fail_sync(&self, path_part: &str, nth: u64) {
        self.change(|faults| faults.syncs.push((plan(path_part, nth), SyncFault::Fail)));
    }

    /// As [`SimFaults::fail_sync`], with the error of a full disk (thin volumes, quotas with late allocation).
    pub fn fill_at_sync(&self, path_part: &str, nth: u64) {
        self.change(|faults| faults.syncs.push((plan(path_part, nth), SyncFault::Full)));
    }

    /// From now on files whose path contains `path_part` cannot be opened nor created: not permitted.
    pub fn refuse_opens(&self, path_part: &str) {
        self.change(|faults| faults.refused.push((path_part.to_owned(), Refused::Open)));
    }

    /// From now on files whose path contains `path_part` cannot be removed: not permitted.
    pub fn refuse_removals(&self, path_part: &str) {
        self.change(|faults| faults.refused.push((path_part.to_owned(), Refused::Remove)));
    }

    /// Sets how many files may be open at once, as `ulimit -n` does; `None`: no limit.
    pub fn set_open_files_max(&self, most: Option<u64>) {
        self.change(|faults| faults.open_files_max = most);
    }

    /// Handles that are open now, and the most that were at once.
    pub fn open_files(&self) -> (u64, u64) {
        let disk = self.machine.disk.lock();
        (disk.open_files(), disk.open_files_most)
    }

    /// Lets the `nth` (from 1) `sync_dir` from now of a directory whose path contains `path_part` fail.
    pub fn fail_sync_dir(&self, path_part: &str, nth: u64) {
        self.change(|faults| faults.dir_syncs.push(plan(path_part, nth)));
    }

    /// Lets the `nth` (from 1) operation that [`operation_count`](super::Simulation::operation_count) counts from now
    /// fail without effect. Several calls let several fail.
    pub fn fail_operation(&self, nth: u64) {
        assert!(nth > 0, "operations count from 1");
        let mut disk = self.machine.disk.lock();
        let number = disk.operations + nth;
        disk.faults.fail_at.insert(number);
    }

    /// Flips one bit in each of the next `reads` reads of files whose path contains `path_part`; the disk keeps the
    /// right bytes.
    pub fn flip_bits(&self, path_part: &str, reads: u64) {
        self.change(|faults| faults.reads.push((plan(path_part, reads), ReadFault::FlipBit)));
    }

    /// Lets the next `reads` reads of files whose path contains `path_part` fail.
    pub fn fail_reads(&self, path_part: &str, reads: u64) {
        self.change(|faults| faults.reads.push((plan(path_part, reads), ReadFault::Fail)));
    }

    /// Sets how many bytes (in whole pages of 4096) the disk holds; `None`: no limit.
    pub fn set_capacity(&self, capacity_bytes: Option<u64>) {
        self.change(|faults| faults.capacity_bytes = capacity_bytes);
    }

    /// Leaves no free page on the disk, until space is freed or the capacity is raised.
    pub fn fill_disk(&self) {
        let mut disk = self.machine.disk.lock();
        disk.faults.capacity_bytes = Some(disk.used_bytes());
    }

    /// Bytes of the pages that files occupy.
    pub fn used_bytes(&self) -> u64 {
        self.machine.disk.lock().used_bytes()
    }

    /// Changes one bit of a file for good, in what is durable and what is read: the `bit`-th of its bytes.
    pub fn damage(&self, path: &Path, bit: u64) -> io::Result<()> {
        self.machine.disk.lock().damage(path, bit)
    }

    /// Makes bytes of a file zeros for good, in what is durable and what is read, as far as the file has them.
    pub fn lose(&self, path: &Path, offset: u64, bytes: u64) -> io::Result<()> {
        self.machine.disk.lock().lose(path, offset, bytes)
    }

    /// Takes back all faults to come, and the planned crash; the capacity stays.
    pub fn clear(&self) {
        self.change(|faults| *faults = Faults::new(faults.capacity_bytes));
    }

    fn change(&self, change: impl FnOnce(&mut Faults)) {
        change(&mut self.machine.disk.lock().faults);
    }
}

fn plan(path_part: &str, countdown: u64) -> Planned {
    assert!(countdown > 0, "operations count from 1");
    Planned { path_part: path_part.to_owned(), countdown }
}
