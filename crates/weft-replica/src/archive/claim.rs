//! Whether a directory may go on with an archive, and the fence that keeps everybody else out.
//!
//! ```text
//!   which database?     archive: database 9c01f2aa.., number 5e0a21bc..       another one's: refused
//!   how far is it?      head 7-41, up to 81920        note: 7-41              go on
//!                                                     note: 7-38              7-39 to 7-41 are in the log here, too
//!                                                     no note, or not so      refused: copied, or put back
//!   fence-8 created     head again: 7-41 still, or the same test once more
//! ```
//!
//! 1. The fence is created before the head is read for the last time: what counted before that is read (archive 2).
//! 2. Right behind that the first piece of the fence is made, an empty one: it says from where on this one goes on. In
//!    between somebody who has lost the archive may make a piece; a restore may have it until then, as if it counted.
//! 3. Who is refused after the fence was made has stopped the one before, too: nobody can tell the two apart.

use std::sync::Arc;

use weft_env::{Created, ObjectStore};
use weft_format::{Code, Error, Lsn, Result};
use weft_kernel::Engine;
use weft_kernel::fault::active;

use super::chain::{failed, find_piece, read_head};
use super::names::{IDENTITY, PieceName, fence_name, get, newest_fence};
use super::note::Note;
use super::piece::{Base, Piece};
use super::transit::{TAIL, TAIL_NAME};
use crate::faults;

/// So many pieces behind the note are compared with the log at most: those of one span are.
const COMPARED_MAX: usize = 4096;

/// Why an archive does not go on.
#[derive(Debug)]
pub(super) enum Failed {
    /// It may, later.
    Again(Error),
    /// Log or files that it lacks are not there any more: it goes on behind them, with a new base.
    Gone(Error),
    /// It never will.
    Lost(Error),
    /// The node that is to be fed has what this log has not.
    Ahead(Error),
}

impl From<Error> for Failed {
    fn from(error: Error) -> Failed {
        Failed::Again(error)
    }
}

/// What an opening has claimed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Claim {
    /// The archive's random number.
    pub(super) archive: u64,
    /// Of this opening.
    pub(super) fence: u64,
    /// The last piece before it.
    pub(super) after: Option<PieceName>,
    /// The log is whole up to here with that one; none: there is none.
    pub(super) position: Option<Lsn>,
    pub(super) bases: [Option<Base>; 2],
    /// The pieces have the files of edits behind this one; none: nobody saw to that.
    pub(super) nodes: Option<u64>,
}

/// Claims an archive for an engine. `line` is random.
pub(super) fn claim(engine: &Engine, store: &Arc<dyn ObjectStore>, line: u64) -> Result<Claim, Failed> {
    engine.check_writes().map_err(Failed::Lost)?;
    let archive = identify(engine, &**store)?;
    let note = Note::read(engine.env(), engine.dir())?.filter(|note| note.archive == archive);
    let mut head = read_head(&**store)?;
    test(engine, &**store, note, head.as_ref())?;
    if note.is_none() {
        // So that a crash from here on is no reason to refuse the directory.
        let position = engine.durable().lsn;
        Note { archive, head: None, position, is_restored: false }.write(engine.env(), engine.dir())?;
    }
    let fence = create_fence(engine, &**store, line)?;
    let found = read_head(&**store)?;
    if found.as_ref().map(|piece| piece.name) != head.as_ref().map(|piece| piece.name) {
        test(engine, &**store, note, found.as_ref())?;
        head = found;
    }
    let position = head.as_ref().map(|head| head.to);
    if head.as_ref().is_some_and(|head| head.name.fence >= fence) {
        return Err(Failed::Lost(taken_over(&**store)));
    }
    // Of a manifest that was restored the log says more than it has: nodes need that manifest.
    let is_restored = note.is_some_and(|note| note.is_restored);
    let nodes = head.as_ref().and_then(|head| head.nodes).map(|nodes| nodes.edits).filter(|_| !is_restored);
    let (after, bases) = head.map_or((None, [None; 2]), |head| (Some(head.name), head.bases));
    Ok(Claim { archive, fence, after, position, bases, nodes })
}

/// The same for a node that is fed. Nothing was noted of it: its own log says whether this one goes on from there.
/// [`Failed::Gone`]: that is not known any more, and the node has to begin anew.
pub(super) fn claim_fed(engine: &Engine, store: &Arc<dyn ObjectStore>, line: u64) -> Result<Claim, Failed> {
    engine.check_writes().map_err(Failed::Lost)?;
    let archive = identify(engine, &**store)?;
    let head = read_head(&**store)?;
    test_fed(engine, &**store, head.as_ref())?;
    let fence = create_fence(engine, &**store, line)?;
    let (position, nodes) = (head.as_ref().map(|head| head.to), head.as_ref().and_then(|head| head.nodes));
    let (after, bases) = head.map_or((None, [None; 2]), |head| (Some(head.name), head.bases));
    Ok(Claim { archive, fence, after, position, bases, nodes: nodes.map(|nodes| nodes.edits) })
}

/// Tests that the end of a node's log, and what it has not taken yet, are in the log of this directory. A node that has
/// something else, or more, is refused: it may be the last that has it.
fn test_fed(engine: &Engine, store: &dyn ObjectStore, head: Option<&Piece>) -> Result<(), Failed> {
    let place = store.place();
    let refused = |why: String| {
        let what = format!("{place} has what the log of this server has not: {why}");
        let hint = "follow the server that it has followed, or give it a new directory";
        Failed::Ahead(Error::new(Code::InvalidParameterValue, what).hint(hint))
    };
    let unknown = |why: String| {
        let what = format!("whether the log of this server goes on from what {place} has is not known any more: {why}");
        Failed::Gone(Error::new(Code::UndefinedFile, what).hint("it begins anew"))
    };
    let found = get(store, TAIL).map_err(|error| failed(store, "reading", &error))?;
    let tail = found.map(|bytes| Piece::decode(&bytes, TAIL_NAME)).transpose()?;
    if head.is_none() && tail.is_none() {
        return Ok(());
    }
    let (durable, taken) = (engine.durable().lsn, tail.as_ref().map_or(Lsn(0), |tail| tail.to));
    let has = taken.max(head.map_or(Lsn(0), |head| head.to));
    if has > durable {
        return Err(refused(format!("it has the log up to {has}, and this one ends at {durable}")));
    }
    let tap = engine.tap_log(durable)?;
    // What is not kept any more is no proof, of one thing or the other.
    let test = |piece: &Piece, is_taken: bool| {
        let mut is_proved = None;
        // The end of its log proves what comes before that.
        for part in piece.parts.iter().filter(|part| is_taken || part.end().is_none_or(|end| end > taken)) {
            match tap.compare(part)? {
                Some(false) if !active(faults::FEED_ANYTHING) => {
                    return Err(refused(format!("it has other bytes of {}", part.segment)));
                }
                Some(_) => is_proved = is_proved.or(Some(true)),
                None => is_proved = Some(false),
            }
        }
        Ok(is_proved)
    };
    let mut is_proved = tail.as_ref().map_or(Ok(None), |tail| test(tail, true))?;
    let Some(head) = head else { return Ok(()) };
    // The newest that has bytes proves those before it. Those that it has taken have gone, but for a few.
    let (mut at, mut left) = (Some(head.clone()), COMPARED_MAX);
    while let Some(piece) = at.take().filter(|_| left > 0) {
        left -= 1;
        if let Some(found) = test(&piece, false)? {
            is_proved = Some(found && is_proved != Some(false));
            break;
        }
        let before = piece.after.filter(|before| *before < piece.name && (tail.is_none() || piece.to > taken));
        at = before.map(|before| find_piece(store, before)).transpose()?.flatten();
    }
    // A base alone proves nothing; without one there is nothing to prove.
    if is_proved == Some(true) || is_proved.is_none() && head.bases == [None; 2] {
        return Ok(());
    }
    Err(unknown("that part of the log is not kept".to_owned()))
}

/// The number of the archive, which is made when there is none.
fn identify(engine: &Engine, store: &dyn ObjectStore) -> Result<u64, Failed> {
    let number = engine.database_number().ok_or_else(|| Error::internal("a writer knows its database"))?;
    let text = format!("weft archive 1\ndatabase {number:016x}\nnumber {:016x}\n", engine.env().rng.next_u64());
    let failed = |what: &str, error: &std::io::Error| failed(store, what, error);
    let mut found = get(store, IDENTITY).map_err(|error| failed("reading", &error))?;
    if found.is_none() {
        match store.create(IDENTITY, text.as_bytes()).map_err(|error| failed("creating", &error))? {
            Created::Made => found = Some(text.into_bytes()),
            Created::Exists => found = get(store, IDENTITY).map_err(|error| failed("reading", &error))?,
        }
    }
    let found = String::from_utf8(found.unwrap_or_default()).unwrap_or_default();
    let (database, archive) = read_identity(&found).ok_or_else(|| {
        let what = format!("{IDENTITY} in {} is none that this release reads", store.place());
        Failed::Lost(Error::new(Code::VersionMismatch, what).hint("use the release that made it, or another place"))
    })?;
    if database != number {
        let what = format!("the archive in {} is of another database", store.place());
        return Err(Failed::Lost(Error::new(Code::InvalidParameterValue, what).hint("choose another place")));
    }
    Ok(archive)
}

/// The database and the number that the object says.
pub(super) fn read_identity(text: &str) -> Option<(u64, u64)> {
    let mut lines = text.strip_prefix("weft archive 1\n")?.lines();
    let mut number = |word| u64::from_str_radix(lines.next()?.strip_prefix(word)?, 16).ok();
    Some((number("database ")?, number("number ")?))
}

/// Tests that what was shipped last is in the log of this directory (archive 3).
fn test(engine: &Engine, store: &dyn ObjectStore, note: Option<Note>, head: Option<&Piece>) -> Result<(), Failed> {
    let Some(head) = head else { return Ok(()) };
    if note.is_some_and(|note| note.head == Some(head.name)) || active(faults::ARCHIVE_ANYTHING) {
        return Ok(());
    }
    let refused = |why: String| {
        let what = format!(
            "the archive in {} goes on from another directory of this database, or has more of its log than {}",
            store.place(),
            engine.dir().display()
        );
        let hint = "restore the archive into a new directory and serve that, or name another place for this one";
        Failed::Lost(Error::new(Code::InvalidParameterValue, what).detail(why).hint(hint))
    };
    let Some(note) = note else { return Err(refused("the directory has no note of this archive".to_owned())) };
    // Back from the head to the note, and the log here beside it.
    let (mut names, mut at, mut from, mut has_log) = (Vec::new(), head.clone(), head.to, false);
    loop {
        names.push(at.name);
        if !at.parts.is_empty() {
            (from, has_log) = (from.min(at.from), true);
        }
        if at.after == note.head {
            break;
        }
        let Some(before) = at.after.filter(|_| names.len() < COMPARED_MAX) else {
            return Err(refused(format!("{} does not follow what the directory has noted", head.name)));
        };
        at = find_piece(store, before)?.ok_or_else(|| refused(format!("{before} is not there any more")))?;
    }
    let durable = engine.durable().lsn;
    if head.to > durable {
        return Err(refused(format!("the archive has the log up to {}, the directory up to {durable}", head.to)));
    }
    if !has_log {
        return Ok(());
    }
    let tap = match engine.tap_log(from) {
        Ok(tap) => tap,
        Err(error) if error.code() == Code::UndefinedFile => return Err(refused(error.message().to_owned())),
        Err(error) => return Err(error.into()),
    };
    for name in names {
        let piece = find_piece(store, name)?.ok_or_else(|| refused(format!("{name} is not there any more")))?;
        for part in &piece.parts {
            if !tap.has(part)? {
                return Err(refused(format!("{name} has other bytes of {} than the directory", part.segment)));
            }
        }
    }
    Ok(())
}

fn taken_over(store: &dyn ObjectStore) -> Error {
    let what = format!("another server has taken over the archive in {}", store.place());
    let hint = "that one goes on; restore the archive into a new directory to follow it";
    Error::new(Code::Poisoned, what).hint(hint)
}

/// Creates the next fence.
fn create_fence(engine: &Engine, store: &dyn ObjectStore, line: u64) -> Result<u64> {
    let failed = |what: &str, error: &std::io::Error| failed(store, what, error);
    let mut number = newest_fence(store).map_err(|error| failed("listing", &error))?.saturating_add(1);
    let text = format!("weft archive fence 1\nline {line:016x} epoch {}\n", engine.epoch());
    loop {
        let name = fence_name(number);
        match store.create(&name, text.as_bytes()).map_err(|error| failed(&format!("creating {name}"), &error))? {
            Created::Made => return Ok(number),
            Created::Exists => number = number.saturating_add(1),
        }
    }
}

/// Fails when somebody has claimed the archive since.
pub(super) fn check_fence(store: &dyn ObjectStore, fence: u64) -> Result<(), Failed> {
    if active(faults::SHIP_UNFENCED) {
        return Ok(());
    }
    if is_fenced(store, fence)? { Err(Failed::Lost(taken_over(store))) } else { Ok(()) }
}

/// Whether somebody has claimed the archive after this fence.
pub(super) fn is_fenced(store: &dyn ObjectStore, fence: u64) -> Result<bool> {
    let name = fence_name(fence.saturating_add(1));
    let next = get(store, &name).map_err(|error| failed(store, &format!("reading {name}"), &error))?;
    Ok(next.is_some())
}
