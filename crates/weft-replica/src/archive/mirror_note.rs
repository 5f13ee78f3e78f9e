//! The note in a directory that mirrors an archive: how far it is.
//!
//! ```text
//!   weft mirror note 1
//!   archive 5e0a21bc9c01f2aa next 7 42 up to 81920 last 4711 made 1781000000100000
//!   base 3 ends 65536 from 7 30 wall 1780999990000000 edits 43
//!   end b17e55ed
//! ```
//!
//! 1. What it says is durable when it is written: the files of the base and of the pieces up to `next`, and the log.
//! 2. A directory that has it is no database that anybody may open to write.

use weft_env::Env;
use weft_format::{Lsn, Result, Timestamp};

use std::path::Path;

use super::names::PieceName;
use super::note::{read_note, write_note};
use super::piece::Base;

/// What it is called.
pub const MIRROR_FILE: &str = "mirror.note";

/// How far a mirror is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mirrored {
    /// The archive's random number.
    pub(super) archive: u64,
    /// The piece that comes next.
    pub(super) next: PieceName,
    /// The log is whole up to here.
    pub(super) position: Lsn,
    /// The last commit before it, as far as pieces say.
    pub(super) last: Timestamp,
    /// All that was durable then is there; 0: nobody knows. By the clock of the writer, or of the node when that is
    /// behind.
    pub(super) made: i64,
    /// What the manifest is of.
    pub(super) base: Base,
}

impl Mirrored {
    fn encode(&self) -> Vec<u8> {
        let Mirrored { archive, next: PieceName { fence, number }, position, last, made, base } = self;
        let (position, last) = (position.0, last.0);
        let mut text = format!("weft mirror note 1\narchive {archive:016x} next {fence} {number} up to {position} ");
        text.push_str(&format!("last {last} made {made}\nbase {}\nend", base.encode()));
        let checksum = crc32c::crc32c(text.as_bytes());
        format!("{text} {checksum:08x}\n").into_bytes()
    }

    fn decode(bytes: &[u8]) -> Option<Mirrored> {
        let mut lines = std::str::from_utf8(bytes).ok()?.lines().skip(1);
        let words: Vec<&str> = lines.next()?.split(' ').collect();
        let ["archive", archive, "next", fence, number, "up", "to", position, "last", last, "made", made] = words[..]
        else {
            return None;
        };
        let words: Vec<&str> = lines.next()?.split(' ').collect();
        let mirrored = Mirrored {
            archive: u64::from_str_radix(archive, 16).ok()?,
            next: PieceName { fence: fence.parse().ok()?, number: number.parse().ok()? },
            position: Lsn(position.parse().ok()?),
            last: Timestamp(last.parse().ok()?),
            made: made.parse().ok()?,
            base: Base::read(words.strip_prefix(&["base"])?)?,
        };
        (mirrored.encode() == bytes).then_some(mirrored)
    }

    /// That of a directory; none: it has none that says how far it is.
    pub(super) fn read(env: &Env, dir: &Path) -> Result<Option<Mirrored>> {
        Ok(read_note(env, dir, MIRROR_FILE)?.and_then(|bytes| Mirrored::decode(&bytes)))
    }

    pub(super) fn write(&self, env: &Env, dir: &Path) -> Result<()> {
        write_note(env, dir, MIRROR_FILE, &self.encode())
    }
}

/// Says that a directory is a mirror's, which has nothing yet.
pub(super) fn write_empty(env: &Env, dir: &Path) -> Result<()> {
    write_note(env, dir, MIRROR_FILE, b"weft mirror note 1\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_are_read_as_they_were_written() {
        let from = PieceName { fence: 7, number: 30 };
        let base = Base { backup: 3, end: Lsn(65_536), from, wall: 5, edits: Some(43) };
        let next = PieceName { fence: 7, number: 42 };
        let mirrored = Mirrored { archive: 9, next, position: Lsn(81_920), last: Timestamp(4711), made: -1, base };
        let bytes = mirrored.encode();
        assert_eq!(Mirrored::decode(&bytes), Some(mirrored));
        for at in 0..bytes.len() {
            let mut wrong = bytes.clone();
            wrong[at] ^= 1;
            assert_eq!(Mirrored::decode(&wrong), None, "byte {at}");
        }
    }
}
