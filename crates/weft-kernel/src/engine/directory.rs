//! Directories that are made when missing.

use std::io;
use std::path::Path;

use weft_env::Env;
use weft_format::{Error, Result};

/// Makes a directory, durably, with those above it; nothing when it is there.
pub(super) fn create_dir(env: &Env, dir: &Path) -> Result<()> {
    let failed = |error: io::Error| Error::io(format!("creating the directory {}", dir.display()), &error);
    if env.fs.exists(dir).map_err(failed)? {
        return Ok(());
    }
    let mut changed = Vec::new();
    for parent in dir.ancestors().skip(1) {
        changed.push(parent);
        if parent.as_os_str().is_empty() || env.fs.exists(parent).map_err(failed)? {
            break;
        }
    }
    env.fs.create_dir_all(dir).map_err(failed)?;
    changed.into_iter().rev().try_for_each(|parent| env.fs.sync_dir(parent)).map_err(failed)
}
