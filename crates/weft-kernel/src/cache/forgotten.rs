//! Which files were forgotten not long ago: a block of theirs that was being loaded meanwhile is not kept.
//!
//! ```text
//!   load of (7, 3) begins at 41        forgotten so far 41, the last ones …4 9
//!   file 7 is forgotten                forgotten so far 42, the last ones …4 9 7
//!   the load ends: 42 is not 41, and 7 is among the last 42 − 41: its reader has the block, the pool does not
//! ```
//!
//! 1. A block whose load began before its file was forgotten does not stay in the pool. When more files were forgotten
//!    meanwhile than are known, the block is not kept either, whatever its file: it is loaded again, which is never
//!    wrong.
//!
//! What is known is bounded, and nothing has to be told when a load ends. Concurrency: one mutex, innermost, taken by
//! who forgets and by loads during which a file was forgotten.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};

use weft_env::sync::Mutex;
use weft_format::FileId;

/// So many of the last are known: more than a load sees forgotten, unless it is very slow.
const KNOWN_MAX: usize = 256;

/// The files forgotten last.
#[derive(Default)]
pub(super) struct Forgotten {
    /// Files forgotten so far.
    count: AtomicU64,
    /// The last of them, the latest at the back.
    last: Mutex<VecDeque<FileId>>,
}

/// When a load began: how many files had been forgotten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Began(u64);

impl Forgotten {
    /// A load begins.
    #[inline]
    pub(super) fn begin(&self) -> Began {
        Began(self.count.load(Ordering::Acquire))
    }

    /// From now on a load that began before does not bring back this file. Called before its blocks are taken out: who
    /// keeps a block before they are is undone then, who keeps one afterwards sees this under the partition's lock.
    pub(super) fn add(&self, file: FileId) {
        let mut last = self.last.lock();
        if last.len() == KNOWN_MAX {
            last.pop_front();
        }
        last.push_back(file);
        self.count.fetch_add(1, Ordering::Release);
    }

    /// Whether the file was forgotten, or may have been, since a load began.
    pub(super) fn since(&self, began: Began, file: FileId) -> bool {
        if self.begin() == began {
            return false;
        }
        let last = self.last.lock();
        let Began(now) = self.begin();
        let meanwhile = usize::try_from(now - began.0).unwrap_or(usize::MAX);
        meanwhile > last.len() || last.iter().rev().take(meanwhile).any(|forgotten| *forgotten == file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_forgotten_meanwhile_is_known() {
        let forgotten = Forgotten::default();
        forgotten.add(FileId(1));
        let began = forgotten.begin();
        assert!(!forgotten.since(began, FileId(1)), "it was forgotten before");
        forgotten.add(FileId(2));
        assert!(forgotten.since(began, FileId(2)));
        assert!(!forgotten.since(began, FileId(1)) && !forgotten.since(began, FileId(3)));
        (0..KNOWN_MAX as u64 - 1).for_each(|file| forgotten.add(FileId(10 + file)));
        assert!(!forgotten.since(began, FileId(3)), "all that was forgotten meanwhile is known");
        forgotten.add(FileId(4));
        assert!(forgotten.since(began, FileId(3)), "more than is known: it may have been");
        assert!(!forgotten.since(forgotten.begin(), FileId(4)));
    }
}
