//! The faults of a simulated disk that are still to come.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;

/// What the machine does with an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Perform,
    /// Perform it, and crash before it returns.
    Crash,
    Fail,
}

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
pub(super) struct Planned {
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
    pub(super) fail_at: BTreeSet<u64>,
    pub(super) syncs: Vec<(Planned, SyncFault)>,
    pub(super) dir_syncs: Vec<Planned>,
    /// Reads with a fault: the path's part, how many, what.
    pub(super) reads: Vec<(Planned, ReadFault)>,
    /// Paths' parts whose files cannot be opened, or removed.
    pub(super) refused: Vec<(String, Refused)>,
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

/// A fault that strikes at the `countdown`-th matching operation.
pub(super) fn plan(path_part: &str, countdown: u64) -> Planned {
    assert!(countdown > 0, "operations count from 1");
    Planned { path_part: path_part.to_owned(), countdown }
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
