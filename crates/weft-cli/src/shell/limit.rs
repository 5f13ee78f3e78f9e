//! A process that keeps to a memory limit gives freed memory back.
//!
//! ```text
//!   weft db --memory-limit 256MB
//!      └── exec ──▶ MALLOC_MMAP_THRESHOLD_=131072 MALLOC_ARENA_MAX=2 weft db --memory-limit 256MB
//! ```
//!
//! glibc's malloc keeps freed blocks in a heap per thread, and raises the size from which blocks are mapped, and so
//! returned, one by one. A threshold from the environment stays, and two heaps instead of eight per processor keep less
//! for later. Both are read before `main`, so the process starts itself again, in place. Other C libraries ignore them.

#[cfg(unix)]
use std::process::Command;

use crate::failure::Failure;

/// Blocks from this size on are mapped one by one, bytes; and the number of heaps.
const SETTINGS: [(&str, &str); 2] = [("MALLOC_MMAP_THRESHOLD_", "131072"), ("MALLOC_ARENA_MAX", "2")];

/// Returns when the variables are set; else the process begins again with them.
#[cfg(unix)]
pub(super) fn return_freed_memory() -> Result<(), Failure> {
    use std::os::unix::process::CommandExt;
    let missing: Vec<_> = SETTINGS.into_iter().filter(|(name, _)| std::env::var_os(name).is_none()).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let program = std::env::current_exe().map_err(|error| Failure::Other(format!("finding the program: {error}")))?;
    let error = Command::new(program).args(std::env::args_os().skip(1)).envs(missing.iter().copied()).exec();
    Err(Failure::Other(format!("starting again with {missing:?}: {error}")))
}

/// Nothing to do elsewhere.
#[cfg(not(unix))]
pub(super) fn return_freed_memory() -> Result<(), Failure> {
    Ok(())
}
