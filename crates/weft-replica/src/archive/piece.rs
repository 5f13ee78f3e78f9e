//! The bytes of a piece: a text that says what it is, and the bytes of the log behind it.
//!
//! ```text
//!   weft archive piece 1
//!   piece 8 1 after 7 41 line 5e0a21bc9c01f2aa
//!   log 81920 90112 last 4711 wall 1781000000000000 edits 57 more 0
//!   nodes 41 made 1781000000100000
//!   base 3 ends 65536 from 7 30 wall 1780999990000000 edits 43
//!   before 2 ends 20480 from 7 11 wall 1780900000000000
//!   part log-0000000000010000 16896 8192
//!   file t5-12.data files-8-00000001/t5-12-4194304-5e0a21bc.data 4194304 9c01f2aa
//!   end 8192 77aa0102 b17e55ed
//!   ...8192 bytes
//! ```
//!
//! `log`: what is whole with it, from and up to where, the last commit at its end, when the last commit in it was made
//! (0: it has none), edits of the manifest that were durable, and whether the next piece goes on with the same span.
//! `nodes`, if it is for nodes, too: the pieces have all files that edits of the manifest behind this one name, as far
//! as their log tells of edits; and when it was asked how far the log was durable. Of a base: the last edit that it
//! has. The numbers of the last line: bytes behind it, their CRC32C, the CRC32C of the text before that number.

use std::fmt::Write;

use weft_format::{Code, Error, Lsn, Result, Timestamp};
use weft_kernel::StoredFile;
use weft_kernel::log::LogPart;

use super::names::PieceName;

/// The version of this format.
const FORMAT_VERSION: u32 = 1;

/// A backup that pieces go on from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Base {
    /// Its number among the backups.
    pub(super) backup: u64,
    /// Up to where it has the log.
    pub(super) end: Lsn,
    /// The first piece that has log behind it, there or to come.
    pub(super) from: PieceName,
    /// A moment at which it had been made, microseconds since 1970.
    pub(super) wall: i64,
    /// The last edit of the manifest that it has, with the files that later ones name of which its log tells; none:
    /// it was not said.
    pub(super) edits: Option<u64>,
}

impl Base {
    /// Its words.
    pub(super) fn encode(&self) -> String {
        let Base { backup, end, from: PieceName { fence, number }, wall, edits } = self;
        let edits = edits.map_or_else(String::new, |edits| format!(" edits {edits}"));
        format!("{backup} ends {} from {fence} {number} wall {wall}{edits}", end.0)
    }

    /// Takes it from its words.
    pub(super) fn read(words: &[&str]) -> Option<Base> {
        let [backup, "ends", end, "from", fence, number, "wall", wall, ref edits @ ..] = *words else { return None };
        let from = PieceName { fence: fence.parse().ok()?, number: number.parse().ok()? };
        let edits = match *edits {
            [] => None,
            ["edits", edits] => Some(edits.parse().ok()?),
            _ => return None,
        };
        Some(Base { backup: backup.parse().ok()?, end: Lsn(end.parse().ok()?), from, wall: wall.parse().ok()?, edits })
    }
}

/// What a piece has for nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ForNodes {
    /// The pieces have the files of edits behind this one; of some before it they may lack files.
    pub(super) edits: u64,
    /// All that was durable then is in it and in those before: the writer's clock, microseconds since 1970.
    pub(super) made: i64,
}

/// A piece of the log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) name: PieceName,
    /// The one before it; none: it is the first of an archive.
    pub(super) after: Option<PieceName>,
    /// Random, one for each opening: two that create one name are told apart.
    pub(super) line: u64,
    /// The log from here ...
    pub(super) from: Lsn,
    /// ... to here is whole with this piece; when more of the span follows, it is as before.
    pub(super) to: Lsn,
    /// The last commit before the end of its span.
    pub(super) last: Timestamp,
    /// When the last commit in its span was made; 0: it has none that says so.
    pub(super) wall: i64,
    /// So many edits of the manifest were durable when it was made.
    pub(super) edits: u64,
    /// The next piece goes on with the same span.
    pub(super) more: bool,
    /// What it has for nodes; none: nothing but what a restore needs.
    pub(super) nodes: Option<ForNodes>,
    /// The newest base, and the one before it.
    pub(super) bases: [Option<Base>; 2],
    pub(super) parts: Vec<LogPart>,
    /// Files that commits of its span attach, and for nodes those that edits name of which it tells; those of the whole
    /// span are in its first piece.
    pub(super) files: Vec<StoredFile>,
}

impl Piece {
    /// The bytes.
    pub(super) fn encode(&self) -> Vec<u8> {
        let PieceName { fence, number } = self.name;
        let after = self.after.unwrap_or(PieceName { fence: 0, number: 0 });
        let mut text = format!("weft archive piece {FORMAT_VERSION}\n");
        let _ = writeln!(text, "piece {fence} {number} after {} {} line {:016x}", after.fence, after.number, self.line);
        let (from, to, last, wall) = (self.from.0, self.to.0, self.last.0, self.wall);
        let _ =
            writeln!(text, "log {from} {to} last {last} wall {wall} edits {} more {}", self.edits, u8::from(self.more));
        if let Some(ForNodes { edits, made }) = self.nodes {
            let _ = writeln!(text, "nodes {edits} made {made}");
        }
        for (word, base) in ["base", "before"].into_iter().zip(self.bases) {
            if let Some(base) = base {
                let _ = writeln!(text, "{word} {}", base.encode());
            }
        }
        let mut payload = Vec::new();
        for LogPart { segment, offset, bytes } in &self.parts {
            let _ = writeln!(text, "part {segment} {offset} {}", bytes.len());
            payload.extend_from_slice(bytes);
        }
        for file in &self.files {
            let _ = writeln!(text, "{}", file.line());
        }
        let _ = write!(text, "end {} {:08x}", payload.len(), crc32c::crc32c(&payload));
        let checksum = crc32c::crc32c(text.as_bytes());
        let _ = writeln!(text, " {checksum:08x}");
        let mut bytes = text.into_bytes();
        bytes.extend_from_slice(&payload);
        bytes
    }

    /// Reads the piece of this name.
    pub(super) fn decode(bytes: &[u8], name: PieceName) -> Result<Piece> {
        let damaged = || Error::corrupt(format!("the object {name} of the archive is damaged"));
        let end = find(bytes, b"\nend ").ok_or_else(damaged)? + 1;
        let text_end = end + find(&bytes[end..], b"\n").ok_or_else(damaged)?;
        let text = std::str::from_utf8(&bytes[..text_end]).map_err(|_| damaged())?;
        if let Some(version) = text.strip_prefix("weft archive piece ").and_then(|rest| rest.lines().next())
            && version.parse().is_ok_and(|version: u32| version > FORMAT_VERSION)
        {
            let what = format!("{name} has format version {version}; this release reads {FORMAT_VERSION}");
            return Err(Error::new(Code::VersionMismatch, what).hint("use the release that wrote it"));
        }
        let (before, checksum) = text.rsplit_once(' ').ok_or_else(damaged)?;
        if format!("{:08x}", crc32c::crc32c(before.as_bytes())) != checksum {
            return Err(damaged());
        }
        let piece = read(before, &bytes[text_end + 1..]).filter(|piece| piece.name == name);
        piece.ok_or_else(damaged)
    }
}

fn find(bytes: &[u8], word: &[u8]) -> Option<usize> {
    bytes.windows(word.len()).position(|window| window == word)
}

fn read(text: &str, payload: &[u8]) -> Option<Piece> {
    let mut lines = text.lines().skip(1);
    let words: Vec<&str> = lines.next()?.split(' ').collect();
    let ["piece", fence, number, "after", after_fence, after_number, "line", line] = words[..] else { return None };
    let name = PieceName { fence: fence.parse().ok()?, number: number.parse().ok()? };
    let after = PieceName { fence: after_fence.parse().ok()?, number: after_number.parse().ok()? };
    let line = u64::from_str_radix(line, 16).ok()?;
    let words: Vec<&str> = lines.next()?.split(' ').collect();
    let ["log", from, to, "last", last, "wall", wall, "edits", edits, "more", more] = words[..] else { return None };
    let mut piece = Piece {
        name,
        after: (after.number > 0).then_some(after),
        line,
        from: Lsn(from.parse().ok()?),
        to: Lsn(to.parse().ok()?),
        last: Timestamp(last.parse().ok()?),
        wall: wall.parse().ok()?,
        edits: edits.parse().ok()?,
        more: more == "1",
        nodes: None,
        bases: [None, None],
        parts: Vec::new(),
        files: Vec::new(),
    };
    let mut rest = payload;
    for line in lines {
        let words: Vec<&str> = line.split(' ').collect();
        match words[..] {
            ["nodes", edits, "made", made] => {
                piece.nodes = Some(ForNodes { edits: edits.parse().ok()?, made: made.parse().ok()? });
            }
            ["base", ref base @ ..] => piece.bases[0] = Some(Base::read(base)?),
            ["before", ref base @ ..] => piece.bases[1] = Some(Base::read(base)?),
            ["part", segment, offset, length] => {
                let bytes = rest.split_off(..length.parse().ok()?)?.to_vec();
                piece.parts.push(LogPart { segment: segment.to_owned(), offset: offset.parse().ok()?, bytes });
            }
            ["file", ..] => piece.files.push(StoredFile::read(line)?),
            ["end", length, checksum] => {
                let fits = format!("{:08x}", crc32c::crc32c(payload)) == checksum;
                let is_whole = length.parse() == Ok(payload.len()) && rest.is_empty();
                return (fits && is_whole && piece.from <= piece.to).then_some(piece);
            }
            _ => return None,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece() -> Piece {
        let from = PieceName { fence: 7, number: 30 };
        let base = Base { backup: 3, end: Lsn(65_536), from, wall: 1_780_999_990_000_000, edits: Some(43) };
        let file = StoredFile {
            name: "t5-12.data".into(),
            stored: "files-8-00000001/t5-12-4-5e0a21bc.data".into(),
            bytes: 4,
            checksum: 0x9c01_f2aa,
        };
        let part =
            |offset, bytes: &[u8]| LogPart { segment: "log-0000000000010000".into(), offset, bytes: bytes.into() };
        Piece {
            name: PieceName { fence: 8, number: 1 },
            after: Some(PieceName { fence: 7, number: 41 }),
            line: 0x5e0a_21bc_9c01_f2aa,
            from: Lsn(81_920),
            to: Lsn(90_112),
            last: Timestamp(4711),
            wall: 1_781_000_000_000_000,
            edits: 57,
            more: false,
            nodes: Some(ForNodes { edits: 41, made: 1_781_000_000_100_000 }),
            bases: [Some(base), Some(Base { backup: 2, edits: None, ..base })],
            parts: vec![part(512, b"\nend of a block"), part(0, &[0, 1, 2, 255])],
            files: vec![file],
        }
    }

    #[test]
    fn pieces_are_read_as_they_were_written() {
        let piece = piece();
        assert_eq!(Piece::decode(&piece.encode(), piece.name).unwrap(), piece);
        let empty = Piece {
            after: None,
            nodes: None,
            bases: [None, None],
            parts: Vec::new(),
            files: Vec::new(),
            more: true,
            ..piece
        };
        assert_eq!(Piece::decode(&empty.encode(), empty.name).unwrap(), empty);
    }

    #[test]
    fn no_flipped_bit_and_no_cut_is_read() {
        let piece = piece();
        let bytes = piece.encode();
        for at in 0..bytes.len() {
            let mut wrong = bytes.clone();
            wrong[at] ^= 1 << (at % 8);
            assert!(Piece::decode(&wrong, piece.name).is_err(), "byte {at}");
            assert!(Piece::decode(&bytes[..at], piece.name).is_err(), "cut at {at}");
        }
        assert!(Piece::decode(&bytes, piece.name.next()).is_err(), "another name");
    }
}
