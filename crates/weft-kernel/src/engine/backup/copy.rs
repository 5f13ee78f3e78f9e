//! Copies a file, with its checksum.

use std::io;
use std::path::Path;

use weft_env::{Env, File, OpenMode};
use weft_format::{Error, Result};

/// Bytes read and written at a time.
const PIECE_BYTES: u64 = 1 << 20;

/// Copies the first `bytes` of a file into a new one and makes it durable but for its directory entry; returns the
/// CRC32C of what was copied. `go_on` is asked between pieces. What a failure leaves is the caller's to remove.
pub(super) fn copy(env: &Env, from: &Path, to: &Path, bytes: u64, go_on: &dyn Fn() -> Result<()>) -> Result<u32> {
    let reading = |error: io::Error| match error.kind() {
        io::ErrorKind::UnexpectedEof | io::ErrorKind::NotFound => {
            Error::corrupt(format!("the file {} does not have the {bytes} bytes it should have", from.display()))
        }
        _ => Error::io(format!("reading {}", from.display()), &error),
    };
    let writing = |error: io::Error| Error::io(format!("writing {}", to.display()), &error);
    let source = env.fs.open(from, OpenMode::Read).map_err(reading)?;
    let target = env.fs.open(to, OpenMode::CreateNew).map_err(writing)?;
    let mut buffer = vec![0; bytes.min(PIECE_BYTES) as usize];
    let (mut at, mut checksum) = (0, 0);
    while at < bytes {
        go_on()?;
        let piece = &mut buffer[..(bytes - at).min(PIECE_BYTES) as usize];
        source.read_exact_at(piece, at).map_err(reading)?;
        checksum = crc32c::crc32c_append(checksum, piece);
        target.write_at(piece, at).map_err(writing)?;
        at += piece.len() as u64;
    }
    target.sync_data().map_err(writing)?;
    Ok(checksum)
}

/// The CRC32C of a file that should have `bytes`.
pub(super) fn checksum_of(env: &Env, path: &Path, bytes: u64) -> Result<u32> {
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => Error::corrupt(format!("the file {} is missing", path.display())),
        _ => Error::io(format!("reading {}", path.display()), &error),
    };
    let file = env.fs.open(path, OpenMode::Read).map_err(failed)?;
    let length = file.len().map_err(failed)?;
    if length != bytes {
        return Err(Error::corrupt(format!("the file {} has {length} bytes instead of {bytes}", path.display())));
    }
    checksum_of_first(&*file, bytes).map_err(failed)
}

/// The CRC32C of the first bytes of a file.
pub(super) fn checksum_of_first(file: &dyn File, bytes: u64) -> io::Result<u32> {
    let mut buffer = vec![0; bytes.min(PIECE_BYTES) as usize];
    let (mut at, mut checksum) = (0, 0);
    while at < bytes {
        let piece = &mut buffer[..(bytes - at).min(PIECE_BYTES) as usize];
        file.read_exact_at(piece, at)?;
        checksum = crc32c::crc32c_append(checksum, piece);
        at += piece.len() as u64;
    }
    Ok(checksum)
}

/// Writes a new file and makes it durable but for its directory entry.
pub(super) fn write(env: &Env, path: &Path, bytes: &[u8]) -> Result<()> {
    let written = env.fs.open(path, OpenMode::CreateNew).and_then(|file| {
        file.write_at(bytes, 0)?;
        file.sync_data()
    });
    written.map_err(|error| Error::io(format!("writing {}", path.display()), &error))
}

/// Makes the entries of a directory durable.
pub(super) fn sync_dir(env: &Env, dir: &Path) -> Result<()> {
    env.fs.sync_dir(dir).map_err(|error| Error::io(format!("syncing {}", dir.display()), &error))
}
