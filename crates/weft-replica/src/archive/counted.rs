//! The pieces that come next, for who follows an archive while others ship to it.
//!
//! ```text
//!   next 7-42   7-42, 7-43 read ─ no fence-8: they count                        take them
//!               7-42 read ─ fence-8 is there: it may be of who has lost it      head 8-3, no fence-9: 8-1 after 7-41
//!                                                                               take 8-1, 8-2, 8-3; 7-42 never
//! ```
//!
//! 1. A piece counts that was there before the next fence was: who created that fence read how far the archive was
//!    afterwards. So first the piece is read, then it is looked for the fence.
//! 2. Behind a fence that has no piece yet nobody knows what counts: it is waited for.

use std::sync::Arc;

use weft_env::ObjectStore;
use weft_format::{Error, Result};
use weft_kernel::fault::active;

use super::chain::{Chain, find_piece, read_head};
use super::claim::is_fenced;
use super::names::PieceName;
use super::piece::Piece;
use crate::faults;

/// So many bytes of log are read at once, unless a span is longer.
const BYTES_AT_ONCE: usize = 32 << 20;

/// What comes next.
pub(super) enum Coming {
    /// These pieces, in order; none: nothing yet.
    Pieces(Vec<Piece>),
    /// What comes next is not there any more, or never was of this archive.
    Gone(Error),
}

/// The last piece, when it counts (counted 2).
pub(super) fn counted_head(store: &dyn ObjectStore) -> Result<Option<Piece>> {
    let Some(head) = read_head(store)? else { return Ok(None) };
    Ok(if is_fenced(store, head.name.fence)? { None } else { Some(head) })
}

/// The pieces from one on that count.
pub(super) fn coming(store: &Arc<dyn ObjectStore>, next: PieceName) -> Result<Coming> {
    let mut name = next;
    let found = take(|| {
        let found = find_piece(&**store, name)?;
        name = name.next();
        Ok(found)
    })?;
    if active(faults::MIRROR_UNFENCED) && !found.is_empty() || !is_fenced(&**store, next.fence)? {
        return Ok(Coming::Pieces(found));
    }
    let Some(head) = counted_head(&**store)? else { return Ok(Coming::Pieces(Vec::new())) };
    if head.name.fence <= next.fence {
        return Ok(Coming::Pieces(Vec::new()));
    }
    let mut chain = match Chain::new(store, next, &head) {
        Ok(chain) => chain,
        Err(error) => return gone_or_failed(error),
    };
    if !chain.goes_on() {
        return Ok(Coming::Gone(Error::corrupt(format!("{} of the archive goes on from before {next}", head.name))));
    }
    take(|| chain.next()).map(Coming::Pieces).or_else(gone_or_failed)
}

/// Whether pieces behind the one that comes next are there, and it is not.
pub(super) fn is_overtaken(store: &dyn ObjectStore, next: PieceName) -> Result<bool> {
    let Some(head) = counted_head(store)? else { return Ok(false) };
    Ok(head.name >= next && head.name.fence == next.fence && find_piece(store, next)?.is_none())
}

/// Pieces, until there is none, or enough; spans are not divided.
fn take(mut next: impl FnMut() -> Result<Option<Piece>>) -> Result<Vec<Piece>> {
    let (mut found, mut bytes) = (Vec::<Piece>::new(), 0);
    while bytes < BYTES_AT_ONCE || found.last().is_some_and(|last| last.more) {
        let Some(piece) = next()? else { break };
        bytes += piece.parts.iter().map(|part| part.bytes.len()).sum::<usize>();
        found.push(piece);
    }
    Ok(found)
}

fn gone_or_failed(error: Error) -> Result<Coming> {
    if error.code() == weft_format::Code::DataCorrupted { Ok(Coming::Gone(error)) } else { Err(error) }
}
