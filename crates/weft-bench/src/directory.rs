//! Directories of databases that a demo or a benchmark makes, measures and removes.
//!
//! ```text
//!   temporary("bench") = /tmp/weft-bench-4711 ── Database::open ── bytes = 12,582,912 ── remove
//! ```

use std::path::{Path, PathBuf};

use crate::subcommand::Failure;

/// A directory of this process under the system's folder for temporary files; not created here.
pub(crate) fn temporary(purpose: &str) -> PathBuf {
    std::env::temp_dir().join(format!("weft-{purpose}-{}", std::process::id()))
}

/// Bytes of all its files.
pub(crate) fn bytes(dir: &Path) -> Result<u64, Failure> {
    let wrong = |error: std::io::Error| Failure::io(format!("cannot read {}", dir.display()), &error);
    let mut bytes = 0;
    for entry in std::fs::read_dir(dir).map_err(wrong)? {
        // A file may go while the directory is read: a job removed it.
        bytes += entry.map_err(wrong)?.metadata().map_or(0, |metadata| metadata.len());
    }
    Ok(bytes)
}

/// Removes a directory that this process made; what cannot be removed stays.
pub(crate) fn remove(dir: &Path) {
    let _ = std::fs::remove_dir_all(dir);
}
