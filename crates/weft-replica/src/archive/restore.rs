//! A database made of an archive: a base, and the pieces that follow it.
//!
//! ```text
//!   weft restore s3://bucket/shop new                       to the last piece
//!   weft restore s3://bucket/shop new --until 2026-11-29T10:00:00Z    no piece with a later commit
//! ```
//!
//! 1. What is restored is a moment of the writer's: everything that counted as shipped before this began, or up to the
//!    piece at which it was told to end.
//! 2. The directory may go on with the archive as long as nobody else has (archive 3).

use std::path::Path;
use std::sync::Arc;

use weft_env::{Env, ObjectStore};
use weft_format::{Code, Error, Lsn, Result, Timestamp};
use weft_kernel::{BackupPlace, Restoring, restore_then};

use super::chain::{Chain, bases, failed, read_head};
use super::claim::read_identity;
use super::names::{IDENTITY, PieceName, get};
use super::note::Note;
use super::piece::{Base, Piece};

/// How often it is begun while what is old goes.
const TRIES: u32 = 5;

/// What was restored.
#[derive(Clone, Copy, Debug)]
pub struct ArchiveRestored {
    /// The backup that it began with.
    pub backup: u64,
    /// So many pieces were added to it.
    pub pieces: u64,
    /// It holds every commit up to here, as far as the pieces say.
    pub timestamp: Timestamp,
    /// When the last commit of the pieces was made, microseconds since 1970; none: no piece has one.
    pub wall: Option<i64>,
    /// The archive has later pieces, which a gap divides from these: what lies in it no base has yet.
    pub has_gap: bool,
}

/// What an archive has.
#[derive(Clone, Debug)]
pub struct ArchiveSummary {
    /// The bases, newest first: the number of the backup, and when it had been made.
    pub bases: Vec<(u64, i64)>,
    /// Up to where it has the log.
    pub position: Lsn,
    /// The last commit in it.
    pub commit: Timestamp,
}

fn no_base(store: &dyn ObjectStore) -> Error {
    let what = format!("the archive in {} has no base yet", store.place());
    let hint = "its server makes one: weft_archive shows its number then; `--backup N` restores a backup that is there";
    Error::new(Code::UndefinedObject, what).hint(hint)
}

/// What an archive has; none: no piece yet.
pub fn survey_archive(store: &dyn ObjectStore) -> Result<Option<ArchiveSummary>> {
    let Some(head) = read_head(store)? else { return Ok(None) };
    let bases = bases(store, &head)?.iter().map(|base| (base.backup, base.wall)).collect();
    Ok(Some(ArchiveSummary { bases, position: head.to, commit: head.last }))
}

/// Makes `dir`, which must be missing or empty, a database as an archive has it; `until`, microseconds since 1970: with
/// no piece that has a later commit. After an error `dir` holds no database.
pub fn restore_archive(
    env: &Env,
    store: &Arc<dyn ObjectStore>,
    dir: &Path,
    until: Option<i64>,
) -> Result<ArchiveRestored> {
    let identity = get(&**store, IDENTITY).map_err(|error| failed(&**store, "reading", &error))?;
    let identity = identity.and_then(|bytes| String::from_utf8(bytes).ok());
    let (_, archive) = identity.as_deref().and_then(read_identity).ok_or_else(|| {
        let what = format!("there is no archive in {} that this release reads", store.place());
        Error::new(Code::UndefinedObject, what).hint("`--list` shows the backups that are there")
    })?;
    let mut tries = 1;
    loop {
        let head = read_head(&**store)?.ok_or_else(|| no_base(&**store))?;
        let base = choose(&**store, &head, until)?;
        let restored = restore_from(env, (store, archive), dir, (base, &head), until);
        // What it was made of may have gone meanwhile, because it was old: there is a newer base then.
        let is_old = || read_head(&**store).is_ok_and(|now| now.is_some_and(|now| now.bases != head.bases));
        match restored {
            Err(_) if tries < TRIES && is_old() => tries += 1,
            restored => return restored,
        }
    }
}

fn restore_from(
    env: &Env,
    (store, archive): (&Arc<dyn ObjectStore>, u64),
    dir: &Path,
    (base, head): (Base, &Piece),
    until: Option<i64>,
) -> Result<ArchiveRestored> {
    let mut adding = Adding { known: base.end, end: base.end, head: None, restored: None, edits: 0, until };
    let place = BackupPlace::Objects(store.clone());
    let backup = restore_then(env, place, dir, Some(base.backup), |restoring| {
        let mut chain = Chain::new(store, base.from, head)?;
        while let Some(piece) = chain.next()? {
            if !adding.add(restoring, &piece)? {
                break;
            }
        }
        restoring.raise_edits(adding.edits + 1)?;
        let note = Note { archive, head: adding.head, position: adding.end, is_restored: true };
        restoring.add_note(super::NOTE_FILE, &note.encode())
    })?;
    let restored = adding.restored.unwrap_or_default();
    Ok(ArchiveRestored {
        backup: backup.number,
        pieces: restored.pieces,
        timestamp: restored.last.max(backup.timestamp),
        wall: Some(restored.wall).filter(|wall| *wall > 0),
        has_gap: restored.has_gap,
    })
}

/// The newest base that was made before a moment.
fn choose(store: &dyn ObjectStore, head: &Piece, until: Option<i64>) -> Result<Base> {
    let known = bases(store, head)?;
    let fits = |base: &&Base| until.is_none_or(|until| base.wall <= until);
    let oldest = known.last().copied().ok_or_else(|| no_base(store))?;
    known.iter().find(fits).copied().ok_or_else(|| {
        let what = format!("the archive in {} does not go back so far", store.place());
        let seconds = oldest.wall.div_euclid(1_000_000) + 1;
        Error::new(Code::UndefinedObject, what)
            .hint(format!("the oldest moment is {seconds} seconds after 1970-01-01 00:00:00 UTC"))
    })
}

#[derive(Clone, Copy, Debug, Default)]
struct Added {
    pieces: u64,
    last: Timestamp,
    wall: i64,
    has_gap: bool,
}

/// What pieces have added to a base.
struct Adding {
    /// The base has the log up to here.
    known: Lsn,
    /// The log is whole up to here.
    end: Lsn,
    /// The last piece.
    head: Option<PieceName>,
    restored: Option<Added>,
    edits: u64,
    until: Option<i64>,
}

impl Adding {
    /// Adds a piece; false: it is not to be added, nor are those behind it.
    fn add(&mut self, restoring: &mut Restoring<'_>, piece: &Piece) -> Result<bool> {
        if self.until.is_some_and(|until| piece.wall > until) {
            return Ok(false);
        }
        let added = self.restored.get_or_insert_default();
        if piece.from > self.end {
            added.has_gap = true;
            return Ok(false);
        }
        for file in &piece.files {
            restoring.add_file(file)?;
        }
        for part in &piece.parts {
            restoring.add_log(self.known, part)?;
        }
        added.pieces += 1;
        self.edits = self.edits.max(piece.edits);
        self.head = Some(piece.name);
        if !piece.more {
            added.last = added.last.max(piece.last);
            added.wall = added.wall.max(piece.wall);
            self.end = self.end.max(piece.to);
        }
        Ok(true)
    }
}
