//! Tests of one data file: every checksum of it, by who knows what it is.

use std::io::ErrorKind;
use std::path::Path;

use weft_env::{Env, OpenMode, is_out_of_handles};
use weft_format::{Code, Error, FileId, Result};

use crate::catalog::Relation;
use crate::fault::{Fault, active};
use crate::index::verify_run;
use crate::method::{Methods, method};
use crate::read_again::read_again;

/// Tests a data file; one that cannot be read is tried for half a second, for its rows are lost by the answer.
pub(super) fn test_again((env, methods): (&Env, &Methods), owner: &Relation, path: &Path, file: FileId) -> Result<()> {
    let test = || test_data_file((env, methods), owner, &[], path, file);
    if active(Fault::QUARANTINE_AT_ONCE) { test() } else { read_again(&*env.clock, test) }
}

/// Tests every checksum of a data file, or of a copy of it, that says anything as of payloads of the manifest.
pub(super) fn test_data_file(
    (env, methods): (&Env, &Methods),
    owner: &Relation,
    payloads: &[Vec<u8>],
    path: &Path,
    file: FileId,
) -> Result<()> {
    let opened = env.fs.open(path, OpenMode::Read);
    let handle = opened.map_err(|error| unopened(path, &error))?;
    match owner.stored_by() {
        None => verify_run(owner.id(), file, &*handle),
        Some(name) => method(methods, name)?.test_file(owner.def(), payloads, file, handle),
    }
}

/// Why a data file cannot be opened. What is wrong with the process that asks says nothing about the file.
fn unopened(path: &Path, error: &std::io::Error) -> Error {
    let what = format!("reading {}", path.display());
    let (code, hint) = match error.kind() {
        _ if active(Fault::QUARANTINE_AT_ONCE) => return Error::io(what, error),
        ErrorKind::PermissionDenied => {
            (Code::InsufficientPrivilege, "the file may be whole: let who runs this read it, and begin again")
        }
        // ENOMEM, and those of which there is no kind yet: EMFILE and ENFILE.
        ErrorKind::OutOfMemory => (Code::OutOfMemory, "the file may be whole: see to memory, and begin again"),
        _ if is_out_of_handles(error) => {
            (Code::OutOfMemory, "the file may be whole: raise `ulimit -n`, and begin again")
        }
        _ => return Error::io(what, error),
    };
    Error::new(code, format!("{what}: {error}")).hint(hint)
}
