//! What becomes of a commit between its place in the log and the disk, told to those that build on it.
//!
//! ```text
//!   batch 7, being written   T1                      the disk is full: T1 has failed
//!   batch 8, filling         T2 behind T1, T3        so T2 has failed; T3 goes on
//!   later                    T4 behind T2            is not appended
//! ```
//!
//! Concurrency: fates change, and are asked for an append, under the log's mutex.

use std::sync::{Arc, OnceLock};

use weft_format::{Code, Error, Result};

/// The fate of a commit that somebody waits for.
#[derive(Debug, Default)]
pub(crate) struct Fate {
    failed: OnceLock<Error>,
}

impl Fate {
    /// The commit was not written and will not be.
    pub(super) fn fail(&self, error: Error) {
        // The first reason counts.
        let _ = self.failed.set(error);
    }

    /// Why the commit has failed, if it has.
    pub(crate) fn error(&self) -> Option<&Error> {
        self.failed.get()
    }
}

/// Fails when one of the commits that another builds on has failed.
pub(super) fn check_behind(behind: &[Arc<Fate>]) -> Result<()> {
    let Some(cause) = behind.iter().find_map(|fate| fate.error()) else { return Ok(()) };
    let message = format!("a commit that this one builds on failed: {}", cause.message());
    Err(Error::new(Code::SerializationFailure, message).hint("run the transaction again"))
}
