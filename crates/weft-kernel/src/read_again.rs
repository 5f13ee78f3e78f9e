//! Reads that fail are tried again, with growing pauses, where failing costs more than waiting.
//!
//! ```text
//!   read ✗ · 1 ms · read ✗ · 2 ms · read ✗ · 4 ms ·  ...  · 256 ms · read ✗     half a second: the error is given back
//! ```
//!
//! For what is done once a commit is in the log: too few handles, a disk that is away for a moment, a bit that
//! flipped on its way are over by then, or it is the trouble of the table.

use std::time::Duration;

use weft_env::Clock;
use weft_format::{Code, Error, Result};

use crate::fault::{Fault, active};

/// The pauses are 1, 2, 4, ... up to this many milliseconds.
const PAUSE_MS_MAX: u64 = 256;

/// Reads until it goes well, or has failed for half a second. The caller may hold the locks of one table.
pub fn read_again<T>(clock: &dyn Clock, mut read: impl FnMut() -> Result<T>) -> Result<T> {
    let mut pause_ms = 1;
    loop {
        match read() {
            Err(error) if concerns_files(&error) && pause_ms <= PAUSE_MS_MAX && !active(Fault::READ_ONCE) => {
                clock.sleep(Duration::from_millis(pause_ms));
                pause_ms *= 2;
            }
            result => return result,
        }
    }
}

/// Whether an error is about the files of one table: damaged, missing, or not readable.
pub(crate) fn concerns_files(error: &Error) -> bool {
    matches!(error.code(), Code::DataCorrupted | Code::Io | Code::UndefinedFile)
}
