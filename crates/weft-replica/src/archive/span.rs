//! Ships one span of the log: the files that it attaches, then its bytes in pieces.
//!
//! ```text
//!   span 81920..98304, attaches t5-12   files-8-00000003/t5-12-...   piece 8-3 (more)   piece 8-4   no fence-9: counts
//!   edit 57 adds t5-19 (for nodes)      files-8-00000003/t5-19-...
//! ```
//!
//! 1. For nodes it has the files that edits name, too. Where one has gone, or nothing was told of edits, the pieces say
//!    behind which edit they have all: a node needs a base that has that one.
//! 2. A file that a commit has attached is not put again when an edit names it: a base made in between has it.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use weft_env::{Created, OBJECT_BYTES_MAX, ObjectStore};
use weft_format::{Code, Error, FileId, Lsn, Result, TableId, Timestamp};
use weft_kernel::fault::active;
use weft_kernel::log::{LogPart, LogSpan};
use weft_kernel::{Engine, SpanFiles, StoredFile};

use super::chain::{failed, find_piece};
use super::claim::{Claim, Failed, check_fence};
use super::names::PieceName;
use super::piece::{Base, ForNodes, Piece};
use crate::faults;

/// A piece has so many bytes of log at most.
const PIECE_BYTES: usize = 8 << 20;

/// A segment begins in a piece that has room for so much of it.
const HEADER_ROOM: usize = 4096;

const _: () = assert!(PIECE_BYTES + (1 << 20) < OBJECT_BYTES_MAX);

/// What is shipped, and how far that is.
pub(super) struct Shipment {
    pub(super) claim: Claim,
    pub(super) line: u64,
    /// The last piece of the archive.
    pub(super) head: Option<PieceName>,
    /// Pieces make the log whole up to here.
    pub(super) position: Lsn,
    pub(super) last: Timestamp,
    pub(super) bases: [Option<Base>; 2],
    /// A piece may have been made of which it is not known.
    pub(super) is_unsure: bool,
    /// What the pieces have for nodes (span 1); none: nothing.
    pub(super) nodes: Option<ForNodes>,
    /// The last edit of which the log that was shipped tells.
    pub(super) told: u64,
    /// Files that were attached and that no edit has named (span 2).
    pub(super) attached: BTreeSet<(TableId, FileId)>,
}

/// The files of a span.
struct Files {
    stored: Vec<StoredFile>,
    /// What edits name.
    named: SpanFiles,
    nodes: Option<ForNodes>,
}

impl Shipment {
    /// The name of the next piece.
    pub(super) fn next_name(&self) -> PieceName {
        let own = self.head.filter(|head| head.fence == self.claim.fence);
        own.map_or(PieceName { fence: self.claim.fence, number: 1 }, PieceName::next)
    }

    /// With the next piece all is there that was durable at this moment.
    pub(super) fn has_all_of(&mut self, made: i64) {
        self.nodes.iter_mut().for_each(|nodes| nodes.made = made);
    }

    /// Ships a span; it counts when this returns, and the name of its first piece is told.
    pub(super) fn ship(
        &mut self,
        engine: &Engine,
        store: &Arc<dyn ObjectStore>,
        span: &LogSpan,
        go_on: &(dyn Fn() -> Result<()> + Sync),
    ) -> Result<PieceName, Failed> {
        assert!(span.from == self.position || span.parts.is_empty(), "spans follow each other");
        self.settle(&**store)?;
        let first = self.next_name();
        let Files { stored: mut files, named, nodes } = self.ship_files(engine, store, span, go_on)?;
        let edits = engine.edits();
        let mut groups = groups(&span.parts).into_iter().peekable();
        loop {
            let parts = groups.next().unwrap_or_default().iter().map(|slice| slice.copied(&span.parts)).collect();
            let more = groups.peek().is_some();
            let piece = Piece {
                name: self.next_name(),
                after: self.head,
                line: self.line,
                from: span.from,
                to: if more { span.from } else { span.to },
                last: span.last,
                wall: span.wall.unwrap_or(0),
                edits,
                more,
                nodes,
                bases: self.bases,
                parts,
                files: std::mem::take(&mut files),
            };
            go_on()?;
            self.create(&**store, &piece)?;
            if !more {
                break;
            }
        }
        check_fence(&**store, self.claim.fence)?;
        (self.position, self.last, self.nodes) = (span.to, span.last, nodes);
        self.told = self.told.max(span.told);
        if nodes.is_some() {
            self.attached.extend(&span.attached);
            self.attached.retain(|file| !named.named.contains_key(file));
        }
        Ok(first)
    }

    /// The files that a span attaches are in the store before its log (archive 4).
    fn ship_files(
        &self,
        engine: &Engine,
        store: &Arc<dyn ObjectStore>,
        span: &LogSpan,
        go_on: &(dyn Fn() -> Result<()> + Sync),
    ) -> Result<Files, Failed> {
        if active(faults::SHIP_WITHOUT_FILES) {
            return Ok(Files { stored: Vec::new(), named: SpanFiles::default(), nodes: self.nodes });
        }
        let folder = self.next_name().folder();
        let mut stored = Vec::new();
        for &attached in &span.attached {
            let shipped = engine.ship_file(attached, (store, &folder), go_on);
            stored.push(shipped.map_err(|error| match error.code() {
                Code::UndefinedFile => Failed::Gone(error),
                _ => Failed::Again(error),
            })?);
        }
        let Some(mut nodes) = self.nodes else {
            return Ok(Files { stored, named: SpanFiles::default(), nodes: None });
        };
        let named = SpanFiles::of(span)?;
        nodes.edits = nodes.edits.max(named.anew.unwrap_or(0));
        let is_put = |file: &(TableId, FileId)| span.attached.contains(file) || self.attached.contains(file);
        for (&file, &edit) in named.named.iter().filter(|(file, _)| !is_put(file)) {
            match engine.ship_named_file(file, (store, &folder), go_on) {
                Ok(shipped) => stored.extend(shipped),
                // Span 1.
                Err(error) if error.code() == Code::UndefinedFile => nodes.edits = nodes.edits.max(edit),
                Err(error) => return Err(Failed::Again(error)),
            }
        }
        Ok(Files { stored, named, nodes: Some(nodes) })
    }

    /// Finds out what became of pieces of which it is not known: those of an earlier try are followed by another one,
    /// with the same bytes.
    pub(super) fn settle(&mut self, store: &dyn ObjectStore) -> Result<(), Failed> {
        while self.is_unsure {
            match find_piece(store, self.next_name())? {
                Some(piece) if piece.line == self.line => self.head = Some(piece.name),
                Some(piece) => return Err(self.is_of_another(store, piece.name)),
                None => self.is_unsure = false,
            }
        }
        Ok(())
    }

    fn is_of_another(&self, store: &dyn ObjectStore, name: PieceName) -> Failed {
        let what = format!("{name} of the archive in {} is there, and of somebody else", store.place());
        Failed::Lost(Error::internal(what))
    }

    fn create(&mut self, store: &dyn ObjectStore, piece: &Piece) -> Result<(), Failed> {
        let (name, bytes) = (piece.name, piece.encode());
        assert!(self.head.is_none_or(|head| head < name), "pieces are made in their order");
        if bytes.len() > OBJECT_BYTES_MAX {
            let what = format!("a commit attaches {} files, too many for one piece of an archive", piece.files.len());
            return Err(Error::new(Code::ProgramLimit, what).hint("load in several transactions").into());
        }
        match store.create(&name.to_string(), &bytes) {
            Ok(Created::Made) => {
                self.head = Some(name);
                Ok(())
            }
            // What is there is of an earlier try that came late, or somebody else's: that is found out first.
            Ok(Created::Exists) => {
                self.is_unsure = true;
                let what = format!("{name} was there already in {}", store.place());
                Err(Error::new(Code::Io, what).into())
            }
            Err(error) => {
                self.is_unsure = true;
                Err(failed(store, &format!("creating {name}"), &error).into())
            }
        }
    }
}

/// Bytes of a part.
#[derive(Clone, Debug)]
struct Slice {
    part: usize,
    bytes: Range<usize>,
}

impl Slice {
    fn copied(&self, parts: &[LogPart]) -> LogPart {
        let LogPart { segment, offset, bytes } = &parts[self.part];
        let offset = offset + self.bytes.start as u64;
        LogPart { segment: segment.clone(), offset, bytes: bytes[self.bytes.clone()].to_vec() }
    }
}

/// The parts of a span, in groups of not too many bytes. None ends within a segment's header.
fn groups(parts: &[LogPart]) -> Vec<Vec<Slice>> {
    let mut groups: Vec<Vec<Slice>> = Vec::new();
    let mut room = 0;
    for (part, LogPart { offset, bytes, .. }) in parts.iter().enumerate() {
        if *offset == 0 && room < HEADER_ROOM {
            room = 0;
        }
        let mut from = 0;
        while from < bytes.len() {
            if room == 0 {
                groups.push(Vec::new());
                room = PIECE_BYTES;
            }
            let to = bytes.len().min(from + room);
            groups.last_mut().expect("one was begun").push(Slice { part, bytes: from..to });
            (room, from) = (room - (to - from), to);
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_have_all_bytes_in_order() {
        let part = |segment: &str, offset, length: usize| LogPart {
            segment: segment.to_owned(),
            offset,
            bytes: (0..length).map(|at| (at % 251) as u8).collect(),
        };
        let parts = vec![part("a", 512, PIECE_BYTES + 10), part("b", 0, 20), part("c", 0, 2 * PIECE_BYTES)];
        let made: Vec<Vec<LogPart>> =
            groups(&parts).iter().map(|group| group.iter().map(|slice| slice.copied(&parts)).collect()).collect();
        let sizes: Vec<usize> = made.iter().map(|group| group.iter().map(|part| part.bytes.len()).sum()).collect();
        assert_eq!(sizes, [PIECE_BYTES, PIECE_BYTES, PIECE_BYTES, 30]);
        let late = [part("a", 512, PIECE_BYTES - 100), part("b", 0, 2000)];
        assert_eq!(groups(&late).len(), 2, "a header is in one piece");
        let mut joined: Vec<LogPart> = Vec::new();
        for part in made.into_iter().flatten() {
            match joined.last_mut().filter(|last| last.segment == part.segment) {
                Some(last) => {
                    assert_eq!(last.offset + last.bytes.len() as u64, part.offset);
                    last.bytes.extend(part.bytes);
                }
                None => joined.push(part),
            }
        }
        assert_eq!(joined, parts);
        assert!(groups(&[]).is_empty());
    }
}
