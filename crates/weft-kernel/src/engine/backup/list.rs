//! What a backup consists of, as a text with a checksum.
//!
//! ```text
//!   weft backup 1
//!   backup 2 of 1 at 1781000000000000 holds 4711
//!   file t5-12.data t5-12-4194304-5e0a21bc.data 4194304 9c01f2aa
//!   file MANIFEST-1 manifest-2 812 77aa0102
//!   end 2 b17e55ed
//! ```
//!
//! A file's line: its name in a database, its name among the backups, its bytes, the CRC32C of all of them. The last
//! line: how many files, and the CRC32C of the text before that number's end.

use std::fmt::Write;

use weft_format::{Code, Error, Result, Timestamp};

/// The version of this format.
const FORMAT_VERSION: u32 = 1;
/// Names of lists begin with this, before a decimal number.
pub(super) const LIST_PREFIX: &str = "backup-";
/// What a list is called while it is written.
pub(super) const TEMPORARY_SUFFIX: &str = ".tmp";

/// A file of a database as it lies among backups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its name in the directory of a database.
    pub name: String,
    /// Its name among the backups.
    pub stored: String,
    /// Its length.
    pub bytes: u64,
    /// CRC32C of all its bytes.
    pub checksum: u32,
}

impl Entry {
    /// What a list says of it: `file t5-12.data t5-12-4194304-5e0a21bc.data 4194304 9c01f2aa`.
    pub fn line(&self) -> String {
        let Entry { name, stored, bytes, checksum } = self;
        let has_blank = |word: &str| word.contains([' ', '\n']);
        debug_assert!(!has_blank(name) && !has_blank(stored), "blanks and ends of lines divide what a list says");
        format!("file {name} {stored} {bytes} {checksum:08x}")
    }

    /// Reads such a line.
    pub fn read(line: &str) -> Option<Entry> {
        let words: Vec<&str> = line.split(' ').collect();
        let ["file", name, stored, bytes, checksum] = words[..] else { return None };
        Some(Entry {
            name: name.to_owned(),
            stored: stored.to_owned(),
            bytes: bytes.parse().ok()?,
            checksum: u32::from_str_radix(checksum, 16).ok()?,
        })
    }
}

/// What a good backup says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Backup {
    /// Its number: 1, 2, ...
    pub number: u64,
    /// The backup before it, some of whose files it may share.
    pub parent: Option<u64>,
    /// When it began, microseconds since 1970.
    pub begun_micros: i64,
    /// It holds every commit up to here and none after.
    pub timestamp: Timestamp,
    pub(super) entries: Vec<Entry>,
}

impl Backup {
    /// How many files it consists of.
    pub fn file_count(&self) -> usize {
        self.entries.len()
    }

    /// Their bytes together, those shared with other backups included.
    pub fn bytes(&self) -> u64 {
        self.entries.iter().map(|entry| entry.bytes).sum()
    }

    /// The names of its files among the backups.
    pub fn stored_names(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|entry| entry.stored.as_str())
    }

    /// The text.
    pub(super) fn encode(&self) -> String {
        let mut text = format!("weft backup {FORMAT_VERSION}\n");
        let (number, parent) = (self.number, self.parent.unwrap_or(0));
        let (begun, timestamp) = (self.begun_micros, self.timestamp.0);
        let _ = writeln!(text, "backup {number} of {parent} at {begun} holds {timestamp}");
        for entry in &self.entries {
            let _ = writeln!(text, "{}", entry.line());
        }
        let _ = write!(text, "end {}", self.entries.len());
        let checksum = crc32c::crc32c(text.as_bytes());
        let _ = writeln!(text, " {checksum:08x}");
        text
    }

    /// Reads the text of backup `number`.
    pub(super) fn decode(bytes: &[u8], number: u64) -> Result<Backup> {
        let name = list_name(number);
        let damaged = || {
            Error::corrupt(format!("the list {name} of a backup is damaged"))
                .hint(format!("use another backup; remove {name} to go on with those that are good"))
        };
        let text = std::str::from_utf8(bytes).map_err(|_| damaged())?;
        if let Some(version) = text.strip_prefix("weft backup ").and_then(|rest| rest.split('\n').next())
            && version.parse().is_ok_and(|version: u32| version > FORMAT_VERSION)
        {
            let what = format!("{name} has format version {version}; this release reads {FORMAT_VERSION}");
            return Err(Error::new(Code::VersionMismatch, what).hint("restore it with the release that wrote it"));
        }
        let (before, checksum) = text.trim_end_matches('\n').rsplit_once(' ').ok_or_else(damaged)?;
        let fits = format!("{:08x}", crc32c::crc32c(before.as_bytes())) == checksum;
        let backup = if fits { parse(before) } else { None };
        backup.filter(|backup| backup.number == number && backup.encode() == text).ok_or_else(damaged)
    }
}

/// The name of the list of backup `number`.
pub(super) fn list_name(number: u64) -> String {
    format!("{LIST_PREFIX}{number}")
}

/// The number of the list `name`, when it is one.
pub(super) fn list_number(name: &str) -> Option<u64> {
    let number = name.strip_prefix(LIST_PREFIX)?.parse().ok()?;
    (list_name(number) == name).then_some(number)
}

fn parse(text: &str) -> Option<Backup> {
    let mut lines = text.lines().skip(1);
    let words: Vec<&str> = lines.next()?.split(' ').collect();
    let ["backup", number, "of", parent, "at", begun, "holds", timestamp] = words[..] else { return None };
    let parent: u64 = parent.parse().ok()?;
    let mut entries = Vec::new();
    for line in lines {
        let words: Vec<&str> = line.split(' ').collect();
        match words[..] {
            ["file", ..] => entries.push(Entry::read(line)?),
            ["end", count] if count.parse() == Ok(entries.len()) => {}
            _ => return None,
        }
    }
    Some(Backup {
        number: number.parse().ok()?,
        parent: (parent > 0).then_some(parent),
        begun_micros: begun.parse().ok()?,
        timestamp: Timestamp(timestamp.parse().ok()?),
        entries,
    })
}
