//! The note beside a database: which archive it ships to, and how far that has its log.
//!
//! ```text
//!   weft archive note 1
//!   archive 5e0a21bc9c01f2aa has 7 41 up to 81920
//!   end b17e55ed
//! ```
//!
//! 1. What a note says was shipped is in the log of its directory, up to the position.

use weft_env::{Env, OpenMode};
use weft_format::{Error, Lsn, Result};

use std::io;
use std::path::Path;

use super::names::PieceName;

/// What it is called.
pub const NOTE_FILE: &str = "archive.note";

/// What a directory knows of its archive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Note {
    /// The archive's random number.
    pub(super) archive: u64,
    /// The last piece; none: nothing was shipped.
    pub(super) head: Option<PieceName>,
    /// The log is whole there up to here.
    pub(super) position: Lsn,
    /// The directory was restored, and nobody has gone on with it yet: its manifest is behind what its log tells of.
    pub(super) is_restored: bool,
}

impl Note {
    /// The bytes.
    pub(super) fn encode(&self) -> Vec<u8> {
        let PieceName { fence, number } = self.head.unwrap_or(PieceName { fence: 0, number: 0 });
        let (archive, position) = (self.archive, self.position.0);
        let restored = if self.is_restored { " restored" } else { "" };
        let text =
            format!("weft archive note 1\narchive {archive:016x} has {fence} {number} up to {position}{restored}\nend");
        let checksum = crc32c::crc32c(text.as_bytes());
        format!("{text} {checksum:08x}\n").into_bytes()
    }

    fn decode(bytes: &[u8]) -> Option<Note> {
        let text = std::str::from_utf8(bytes).ok()?;
        let line = text.lines().nth(1)?;
        let words: Vec<&str> = line.split(' ').collect();
        let ["archive", archive, "has", fence, number, "up", "to", position, ref restored @ ..] = words[..] else {
            return None;
        };
        let head = PieceName { fence: fence.parse().ok()?, number: number.parse().ok()? };
        let archive = u64::from_str_radix(archive, 16).ok()?;
        let head = (head.number > 0).then_some(head);
        let is_restored = *restored == ["restored"];
        let note = Note { archive, head, position: Lsn(position.parse().ok()?), is_restored };
        (note.encode() == bytes).then_some(note)
    }

    /// The note of a directory; none when there is none, or it is of another release.
    pub(super) fn read(env: &Env, dir: &Path) -> Result<Option<Note>> {
        Ok(read_note(env, dir, NOTE_FILE)?.and_then(|bytes| Note::decode(&bytes)))
    }

    /// Writes it, durably, in place of the one before.
    pub(super) fn write(&self, env: &Env, dir: &Path) -> Result<()> {
        write_note(env, dir, NOTE_FILE, &self.encode())
    }
}

/// The bytes of a note; none when there is none.
pub(super) fn read_note(env: &Env, dir: &Path, name: &str) -> Result<Option<Vec<u8>>> {
    let path = dir.join(name);
    let read = env.fs.open(&path, OpenMode::Read).and_then(|file| {
        let mut bytes = vec![0; file.len()?.min(4096) as usize];
        file.read_exact_at(&mut bytes, 0).map(|()| bytes)
    });
    match read {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::io(format!("reading {}", path.display()), &error)),
    }
}

/// Writes a note, durably, in place of the one before.
pub(super) fn write_note(env: &Env, dir: &Path, name: &str, bytes: &[u8]) -> Result<()> {
    let (aside, path) = (dir.join(format!("{name}.tmp")), dir.join(name));
    let written = || {
        if env.fs.exists(&aside)? {
            env.fs.remove(&aside)?;
        }
        let file = env.fs.open(&aside, OpenMode::CreateNew)?;
        file.write_at(bytes, 0)?;
        file.sync_data()?;
        env.fs.rename(&aside, &path)?;
        env.fs.sync_dir(dir)
    };
    written().map_err(|error| Error::io(format!("writing {}", path.display()), &error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_are_read_as_they_were_written() {
        for head in [None, Some(PieceName { fence: 7, number: 41 })] {
            let is_restored = head.is_none();
            let note = Note { archive: 0x5e0a_21bc_9c01_f2aa, head, position: Lsn(81_920), is_restored };
            assert_eq!(Note::decode(&note.encode()), Some(note));
        }
        let bytes = Note { archive: 1, head: None, position: Lsn(0), is_restored: true }.encode();
        for at in 0..bytes.len() {
            let mut wrong = bytes.clone();
            wrong[at] ^= 1;
            assert_eq!(Note::decode(&wrong), None, "byte {at}");
        }
    }
}
