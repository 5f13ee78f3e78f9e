//! Sets the faults of a simulated disk, by a test while it runs.
//!
//! ```text
//!   faults.fail_sync("log/", 2)       the second sync_data from now of a path that contains "log/" fails, once
//!   faults.flip_bits("tables/", 1)    the next read of a path that contains "tables/" has one bit flipped
//!   faults.set_capacity(Some(8 << 20))
//! ```

use std::io;
use std::path::Path;
use std::sync::Arc;

use super::faults::{Faults, ReadFault, Refused, SyncFault, plan};
use super::machine::Machine;

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
