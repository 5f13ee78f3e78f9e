//! Which pieces follow each other.
//!
//! ```text
//!   head 8-3   first of fence 8: after 7-41          base from 7-30
//!   chain      7-30 ... 7-41, 8-1, 8-2, 8-3          7-42 came late, from who had lost the archive: it is not in it
//! ```
//!
//! 1. A chain ends at the head. Of an earlier fence it has the pieces up to the one that the next fence went on from.

use std::sync::Arc;

use weft_env::ObjectStore;
use weft_format::{Error, Result};

use super::names::{PieceName, get, newest_piece};
use super::piece::{Base, Piece};

/// Why a store could not be asked.
pub(super) fn failed(store: &dyn ObjectStore, what: &str, error: &std::io::Error) -> Error {
    Error::io(format!("{what} in {}", store.place()), error)
}

/// A piece; none when it is not there.
pub(super) fn find_piece(store: &dyn ObjectStore, name: PieceName) -> Result<Option<Piece>> {
    let found = get(store, &name.to_string()).map_err(|error| failed(store, &format!("reading {name}"), &error))?;
    found.map(|bytes| Piece::decode(&bytes, name)).transpose()
}

/// A piece that must be there.
pub(super) fn read_piece(store: &dyn ObjectStore, name: PieceName) -> Result<Piece> {
    find_piece(store, name)?.ok_or_else(|| {
        Error::corrupt(format!("the object {name} is missing in {}", store.place()))
            .hint("restore to a moment before it: weft restore URL DIR --until TIME")
    })
}

/// The last piece of an archive; none when it has none.
pub(super) fn read_head(store: &dyn ObjectStore) -> Result<Option<Piece>> {
    let newest = newest_piece(store).map_err(|error| failed(store, "listing", &error))?;
    newest.map(|name| read_piece(store, name)).transpose()
}

/// Pieces of one fence, from the first to the last.
type Stretch = (PieceName, PieceName);

/// The pieces from one to the head, in order.
pub(super) struct Chain {
    store: Arc<dyn ObjectStore>,
    stretches: std::collections::VecDeque<Stretch>,
}

impl Chain {
    /// The pieces from `first` on to `head`; `first` may be the one that comes after the last of its fence.
    pub(super) fn new(store: &Arc<dyn ObjectStore>, first: PieceName, head: &Piece) -> Result<Chain> {
        let mut stretches = std::collections::VecDeque::new();
        let mut last = head.name;
        loop {
            let begin = PieceName { fence: last.fence, number: 1 };
            if last.fence == first.fence {
                stretches.push_front((first, last));
                break;
            }
            stretches.push_front((begin, last));
            let opening = read_piece(&**store, begin)?;
            let before = opening.after.filter(|before| before.fence < begin.fence && before.fence >= first.fence);
            last =
                before.ok_or_else(|| Error::corrupt(format!("{begin} of the archive does not go on from {first}")))?;
        }
        Ok(Chain { store: store.clone(), stretches })
    }

    /// Whether its first piece is there, or follows the last one of its fence that counts: somebody who has taken what
    /// came before it has taken nothing else.
    pub(super) fn goes_on(&self) -> bool {
        self.stretches.front().is_some_and(|(first, last)| first.number <= last.number + 1)
    }

    /// The next piece; none behind the head.
    pub(super) fn next(&mut self) -> Result<Option<Piece>> {
        while let Some((next, last)) = self.stretches.front_mut() {
            if *next > *last {
                self.stretches.pop_front();
                continue;
            }
            let piece = read_piece(&*self.store, *next)?;
            *next = next.next();
            return Ok(Some(piece));
        }
        Ok(None)
    }
}

/// The bases that an archive can be restored from, newest first, as far back as their pieces are there.
pub(super) fn bases(store: &dyn ObjectStore, head: &Piece) -> Result<Vec<Base>> {
    let mut found: Vec<Base> = Vec::new();
    let mut piece = Some(head.clone());
    while let Some(at) = piece {
        for base in at.bases.into_iter().flatten() {
            if found.last().is_none_or(|oldest| base.backup < oldest.backup) {
                found.push(base);
            }
        }
        let Some(oldest) = found.last() else { break };
        let older = find_piece(store, oldest.from)?;
        let is_older = |at: &Piece| at.bases.iter().flatten().any(|base| base.backup < oldest.backup);
        piece = older.filter(is_older);
    }
    assert!(found.is_sorted_by(|newer, older| newer.backup > older.backup), "bases go back in time (chain 1)");
    let mut there = Vec::new();
    for base in found {
        let list = format!("backup-{}", base.backup);
        if get(store, &list).map_err(|error| failed(store, &format!("reading {list}"), &error))?.is_some() {
            there.push(base);
        }
    }
    Ok(there)
}
