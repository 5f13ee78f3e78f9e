//! A process that keeps to a memory limit gives freed memory back.
//!
//! ```text
//!   weft db --memory-limit 256MB   ──exec──▶   MALLOC_MMAP_THRESHOLD_=131072 weft db --memory-limit 256MB
//! ```
//!
//! glibc's malloc keeps freed blocks in a heap per thread, and raises the size from which blocks are mapped, and so
//! returned, one by one. A threshold from the environment stays. It is read before `main`, so the process starts itself
//! again, in place. Other C libraries ignore the variable.

#[cfg(unix)]
use std::process::Command;

use crate::failure::Failure;

/// Blocks from this size on are mapped one by one, bytes.
const THRESHOLD: (&str, &str) = ("MALLOC_MMAP_THRESHOLD_", "131072");

/// Returns when the variable is set; else the process begins again with it.
#[cfg(unix)]
pub(super) fn return_freed_memory() -> Result<(), Failure> {
    use std::os::unix::process::CommandExt;
    if std::env::var_os(THRESHOLD.0).is_some() {
        return Ok(());
    }
    let program = std::env::current_exe().map_err(|error| Failure::Other(format!("finding the program: {error}")))?;
    let error = Command::new(program).args(std::env::args_os().skip(1)).env(THRESHOLD.0, THRESHOLD.1).exec();
    Err(Failure::Other(format!("starting again with {}={}: {error}", THRESHOLD.0, THRESHOLD.1)))
}

/// Nothing to do elsewhere.
#[cfg(not(unix))]
pub(super) fn return_freed_memory() -> Result<(), Failure> {
    Ok(())
}
