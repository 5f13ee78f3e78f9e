//! The files of the manifest: a new one is written and named, an old one is read.
//!
//! Each step of [`write_and_name`] is durable before the next begins, so that whatever CURRENT names is whole.

use std::path::Path;
use std::sync::Arc;

use weft_env::{Env, File, OpenMode};
use weft_format::{Error, Lsn, Result};

use super::edit::Edit;
use super::layout::{
    Before, CURRENT, CURRENT_TEMPORARY, FILE_HEADER_BYTES, FORMAT_VERSION, FileHeader, KIND_DATABASE, KIND_EDIT,
    decode_current, encode_current, manifest_name, push_record,
};
use super::tables::Tables;
use crate::fault::{self, Fault};
use crate::step::{Step, reached};
use crate::term::Term;

/// Why a new file did not come to be.
pub(super) enum Failure {
    /// Everything is as it was before; a later try may succeed.
    Clean(Error),
    /// What is on disk is unknown.
    Fatal(Error),
}

/// What a new file begins with.
#[derive(Clone, Copy)]
pub(super) struct Known<'a> {
    pub(super) tables: &'a Tables,
    /// It depends on everything in the log before this.
    pub(super) log: Lsn,
    /// How many edits there were since the database was made.
    pub(super) edits: u64,
}

/// A number for a new database: positive in the languages that have signed numbers alone.
pub(super) fn new_database(env: &Env) -> u64 {
    (env.rng.next_u64() >> 1).max(1)
}

/// Writes manifest `number` with a snapshot and makes CURRENT name it.
pub(super) fn write_and_name(
    env: &Env,
    dir: &Path,
    (number, term): (u64, Option<&Arc<Term>>),
    known: Known<'_>,
) -> std::result::Result<(Arc<dyn File>, FileHeader), Failure> {
    let (header, bytes) = image(env.rng.next_u64() as u32, number, known);

    let path = dir.join(manifest_name(number));
    let file = write_file(env, &path, &bytes)?;
    reached(Step::MANIFEST_SNAPSHOT_SYNCED);
    // The name first: a crash could keep the renamed CURRENT and lose the entry of the file it names.
    sync_dir(env, dir)?;
    let temporary = dir.join(CURRENT_TEMPORARY);
    let named = write_file(env, &temporary, encode_current(number).as_bytes()).and_then(|_| {
        // Another writer may have the directory, and name a manifest of its own.
        term.map_or(Ok(()), |term| term.check()).map_err(Failure::Clean)?;
        let renamed = env.fs.rename(&temporary, &dir.join(CURRENT));
        renamed.map_err(|error| Failure::Clean(Error::io("renaming CURRENT.tmp to CURRENT", &error)))?;
        reached(Step::MANIFEST_RENAMED);
        Ok(())
    });
    if let Err(failure) = named {
        // What cannot be removed now is removed at the next open.
        let _ = env.fs.remove(&temporary);
        let _ = env.fs.remove(&path);
        return Err(failure);
    }
    sync_dir(env, dir)?;
    reached(Step::MANIFEST_DIR_SYNCED);
    Ok((file, header))
}

/// The bytes of manifest `number` with a snapshot: one edit per table, and one more for each payload
/// after its first.
pub(super) fn image(salt: u32, number: u64, known: Known<'_>) -> (FileHeader, Vec<u8>) {
    let Known { tables, log, edits } = known;
    let mut bytes = vec![0; FILE_HEADER_BYTES];
    if tables.database > 0 {
        // The header speaks for the snapshot.
        let before = Before { durable: 0, log: Lsn(0) };
        push_record(&mut bytes, 0, before, salt, KIND_DATABASE, &tables.database.to_le_bytes());
    }
    for (id, table) in &tables.by_id {
        assert!(*id <= tables.table_max, "the header says the highest table, or its number would be given again");
        assert!(
            table.files.last().is_none_or(|file| *file <= tables.file_max),
            "the header says the highest file, or its number would be given again"
        );
        let mut edit =
            Edit { table: *id, cut: table.cut, added: table.files.iter().copied().collect(), ..Edit::default() };
        let mut payloads = table.payloads.iter();
        edit.payload = payloads.next().cloned().unwrap_or_default();
        push_edit(&mut bytes, salt, &edit);
        for payload in payloads {
            push_edit(
                &mut bytes,
                salt,
                &Edit { table: *id, cut: table.cut, payload: payload.clone(), ..Edit::default() },
            );
        }
    }
    let snapshot_end = bytes.len() as u64;
    let header = FileHeader {
        salt,
        number,
        snapshot_end,
        file_max: tables.file_max,
        table_max: tables.table_max,
        log,
        edits,
        version: FORMAT_VERSION,
    };
    bytes[..FILE_HEADER_BYTES].copy_from_slice(&header.encode());
    (header, bytes)
}

fn push_edit(bytes: &mut Vec<u8>, salt: u32, edit: &Edit) {
    let mut payload = Vec::new();
    edit.encode(&mut payload);
    // The header speaks for the snapshot.
    push_record(bytes, 0, Before { durable: 0, log: Lsn(0) }, salt, KIND_EDIT, &payload);
}

fn sync_dir(env: &Env, dir: &Path) -> std::result::Result<(), Failure> {
    if fault::active(Fault::SKIP_DIR_SYNC) {
        return Ok(());
    }
    let synced = env.fs.sync_dir(dir);
    synced.map_err(|error| Failure::Fatal(Error::io(format!("syncing {}", dir.display()), &error)))
}

/// Writes a new file, durable but for its directory entry. One of that name that an earlier try left is replaced.
fn write_file(env: &Env, path: &Path, bytes: &[u8]) -> std::result::Result<Arc<dyn File>, Failure> {
    let failed = |error: &std::io::Error| Error::io(format!("writing {}", path.display()), error);
    let exists = env.fs.exists(path).and_then(|exists| if exists { env.fs.remove(path) } else { Ok(()) });
    exists.map_err(|error| Failure::Clean(failed(&error)))?;
    let file = env.fs.open(path, OpenMode::CreateNew).map_err(|error| Failure::Clean(failed(&error)))?;
    if let Err(error) = file.write_at(bytes, 0) {
        let _ = env.fs.remove(path);
        return Err(Failure::Clean(failed(&error)));
    }
    reached(Step::MANIFEST_SNAPSHOT_WRITTEN);
    if !fault::active(Fault::SKIP_MANIFEST_SYNC) {
        file.sync_data().map_err(|error| Failure::Fatal(failed(&error)))?;
    }
    Ok(file)
}

pub(super) fn read_current(env: &Env, dir: &Path) -> Result<u64> {
    decode_current(&read_file(env, &dir.join(CURRENT))?)
}

pub(super) fn read_file(env: &Env, path: &Path) -> Result<Vec<u8>> {
    let failed = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::NotFound => {
            Error::corrupt(format!("{} is missing", path.display())).hint("restore the directory from a backup")
        }
        _ => Error::io(format!("reading {}", path.display()), &error),
    };
    let file = env.fs.open(path, OpenMode::Read).map_err(failed)?;
    let mut bytes = vec![0; file.len().map_err(failed)? as usize];
    file.read_exact_at(&mut bytes, 0).map_err(failed)?;
    Ok(bytes)
}

/// Removes a file, which one that had lost the directory may have removed, too.
pub(super) fn remove_if_there(env: &Env, path: &Path) -> Result<()> {
    match env.fs.remove(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(Error::io(format!("removing {}", path.display()), &error))
        }
        _ => Ok(()),
    }
}

pub(super) fn remove(env: &Env, path: &Path) -> Result<()> {
    env.fs.remove(path).map_err(|error| Error::io(format!("removing {}", path.display()), &error))
}
