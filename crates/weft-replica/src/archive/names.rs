//! Names of an archive's objects, and which there are.
//!
//! 1. A list of names may be late: behind the last one that it tells of is looked for.

use std::fmt;
use std::io;

use weft_env::ObjectStore;

/// Which database an archive is of.
pub(super) const IDENTITY: &str = "archive";
/// Names of fences begin with this, before a decimal number.
const FENCE_PREFIX: &str = "fence-";
/// Names of beats begin with this.
const BEAT_PREFIX: &str = "beat-";
/// Names of pieces begin with this.
const PIECE_PREFIX: &str = "piece-";
/// Folders of files that pieces attach begin with this.
const FILES_PREFIX: &str = "files-";

/// A piece of the log: which fence's, and its number among those: 1, 2, ...
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct PieceName {
    pub(super) fence: u64,
    pub(super) number: u64,
}

impl fmt::Display for PieceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PIECE_PREFIX}{}-{:08}", self.fence, self.number)
    }
}

impl PieceName {
    /// The next one of the same fence.
    pub(super) fn next(self) -> PieceName {
        PieceName { number: self.number.saturating_add(1), ..self }
    }

    /// The folder of the files that it attaches.
    pub(super) fn folder(self) -> String {
        format!("{FILES_PREFIX}{}-{:08}", self.fence, self.number)
    }

    fn read(name: &str, prefix: &str) -> Option<PieceName> {
        let (fence, number) = name.strip_prefix(prefix)?.split_once('-')?;
        Some(PieceName { fence: fence.parse().ok()?, number: number.parse().ok()? })
    }

    /// The piece of this name.
    pub(super) fn parse(name: &str) -> Option<PieceName> {
        PieceName::read(name, PIECE_PREFIX).filter(|piece| piece.to_string() == name)
    }

    /// The piece that attaches a file of this name.
    fn of_file(name: &str) -> Option<PieceName> {
        PieceName::read(name.split_once('/')?.0, FILES_PREFIX)
    }
}

/// The number of the fence of this name.
pub(super) fn fence_number(name: &str) -> Option<u64> {
    name.strip_prefix(FENCE_PREFIX)?.parse().ok()
}

/// The number of the fence whose beat has this name.
pub(super) fn beat_number(name: &str) -> Option<u64> {
    name.strip_prefix(BEAT_PREFIX)?.parse().ok()
}

/// The name of a fence.
pub(super) fn fence_name(number: u64) -> String {
    format!("{FENCE_PREFIX}{number}")
}

/// The name of what a fence's opening says while nothing is committed.
pub(super) fn beat_name(fence: u64) -> String {
    format!("{BEAT_PREFIX}{fence}")
}

/// Whether a store has an archive.
pub fn is_archive(store: &dyn ObjectStore) -> io::Result<bool> {
    Ok(get(store, IDENTITY)?.is_some())
}

/// An object; none when it is not there.
pub(super) fn get(store: &dyn ObjectStore, name: &str) -> io::Result<Option<Vec<u8>>> {
    match store.get(name) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// The number of the newest fence; 0: there is none.
pub(super) fn newest_fence(store: &dyn ObjectStore) -> io::Result<u64> {
    let mut newest = 0;
    each_name(store, FENCE_PREFIX, |name| {
        let number = name.strip_prefix(FENCE_PREFIX).and_then(|number| number.parse().ok());
        newest = newest.max(number.filter(|number| fence_name(*number) == name).unwrap_or(0));
    })?;
    // Names 1.
    while get(store, &fence_name(newest.saturating_add(1)))?.is_some() {
        newest += 1;
    }
    Ok(newest)
}

/// The last piece of the last fence that has one.
pub(super) fn newest_piece(store: &dyn ObjectStore) -> io::Result<Option<PieceName>> {
    for fence in (1..=newest_fence(store)?).rev() {
        let mut newest = PieceName { fence, number: 0 };
        each_name(store, &format!("{PIECE_PREFIX}{fence}-"), |name| {
            newest = newest.max(PieceName::parse(name).filter(|piece| piece.fence == fence).unwrap_or(newest));
        })?;
        // Names 1.
        while get(store, &newest.next().to_string())?.is_some() {
            newest = newest.next();
        }
        if newest.number > 0 {
            return Ok(Some(newest));
        }
    }
    Ok(None)
}

/// Pieces before this one, and the files that they attach.
pub(super) fn before(store: &dyn ObjectStore, first: PieceName) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    let mut add = |name: &str, piece: Option<PieceName>| {
        if piece.is_some_and(|piece| piece < first) {
            names.push(name.to_owned());
        }
    };
    each_name(store, PIECE_PREFIX, |name| add(name, PieceName::parse(name)))?;
    each_name(store, FILES_PREFIX, |name| add(name, PieceName::of_file(name)))?;
    Ok(names)
}

/// Takes each name that begins so.
pub(super) fn each_name(store: &dyn ObjectStore, prefix: &str, mut take: impl FnMut(&str)) -> io::Result<()> {
    let mut after = String::new();
    loop {
        let page = store.list(prefix, &after)?;
        let Some(last) = page.last() else { return Ok(()) };
        page.iter().for_each(|name| take(name));
        after.clone_from(last);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        let piece = PieceName { fence: 7, number: 42 };
        assert_eq!(piece.to_string(), "piece-7-00000042");
        assert_eq!(PieceName::parse("piece-7-00000042"), Some(piece));
        assert_eq!(PieceName::of_file("files-7-00000042/t5-1.data/0"), Some(piece));
        let long = PieceName { number: 123_456_789, ..piece };
        assert_eq!(PieceName::parse(&long.to_string()), Some(long));
        for wrong in ["piece-7-42", "piece-7", "piece--1", "fence-7", "piece-7-000000420"] {
            assert_eq!(PieceName::parse(wrong), None, "{wrong}");
        }
        assert!(piece < piece.next() && piece.next() < PieceName { fence: 8, number: 1 });
    }
}
