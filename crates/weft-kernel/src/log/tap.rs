//! Reads a log that this process writes, for who takes it elsewhere: its bytes as they lie, and the files they attach.
//!
//! ```text
//!   log-0000000000010000   [header][block][block][block]
//!   log-0000000000018200   [header][block][block]             durable up to here
//!                     from ──┘           └── to:  log-...10000 from offset 9216, log-...18200 from offset 0
//! ```
//!
//! 1. A span begins where the one before it ended, and ends where a block does, at most at what was announced.
//! 2. A file belongs to the span that has the commit which attaches it, also when a chunk before the span names it.
//! 3. Edits of the manifest are told in their order: those behind `told` come in a later span.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use weft_env::Env;
use weft_format::{Code, Error, FileId, Lsn, Result, TableId, Timestamp, TxnId};

use super::changes::{Change, ChangeDecoder, LoggedChange};
use super::layout::{SEGMENT_HEADER_BYTES, SegmentName};
use super::reader::{LogReader, read_live_log_from};
use super::record::Record;

/// The log between two positions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogSpan {
    /// Its first byte.
    pub from: Lsn,
    /// The end of a block.
    pub to: Lsn,
    /// Its bytes, by the segments in which they lie, in their order.
    pub parts: Vec<LogPart>,
    /// The data files that its commits attach.
    pub attached: BTreeSet<(TableId, FileId)>,
    /// The edits of the manifest of which it tells: their numbers, and their bytes there.
    pub switches: Vec<(u64, Vec<u8>)>,
    /// The last edit of which the log tells up to its end (tap 3).
    pub told: u64,
    /// The last commit at its end.
    pub last: Timestamp,
    /// When its last commit was made, microseconds since 1970; none: it has none that says so.
    pub wall: Option<i64>,
}

/// Bytes of a segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogPart {
    /// What its file is called.
    pub segment: String,
    /// Where in the file they lie.
    pub offset: u64,
    /// The bytes.
    pub bytes: Vec<u8>,
}

impl LogPart {
    /// Where the log ends with it; none: it is no part of a log.
    pub fn end(&self) -> Option<Lsn> {
        let start = SegmentName::parse(&self.segment)?.start;
        let end = start.0.checked_add(self.offset)?.checked_add(self.bytes.len() as u64)?;
        Some(Lsn(end.saturating_sub(SEGMENT_HEADER_BYTES as u64).max(start.0)))
    }
}

/// So often the log is listed anew when a segment of it went meanwhile.
const TRIES_MAX: usize = 100;

/// Who takes the log elsewhere, and how far that is. The log from there on must be kept meanwhile.
pub struct LogTap {
    reader: LogReader,
    /// What was kept of the log begins here.
    first: Lsn,
    from: Lsn,
    /// Files that chunks of undecided transactions attach, of the epoch that is read.
    undecided: HashMap<TxnId, Vec<(TableId, FileId)>>,
    epoch: u32,
}

impl LogTap {
    /// Begins at a position, the end of a block. [`Code::UndefinedFile`]: the log is not there from there on.
    pub(crate) fn begin(env: &Env, dir: &Path, announced: Lsn, from: Lsn) -> Result<LogTap> {
        // From the first segment: an undecided transaction may have named files in it (tap 2).
        let mut tries = 0;
        let reader = loop {
            match read_live_log_from(env, dir, announced, Lsn(0)) {
                // What lies before the position is not kept: it may go between its being listed and its being read.
                Err(error) if error.code() == Code::UndefinedFile && tries < TRIES_MAX => tries += 1,
                found => break found?,
            }
        };
        if from > announced || reader.position() > from {
            let (first, what) = (reader.position(), "the log does not go on there");
            let message = format!("{what}: it lies between {first} and {announced}, and position {from} is asked for");
            return Err(Error::new(Code::UndefinedFile, message));
        }
        Ok(LogTap { first: reader.position(), reader, from, undecided: HashMap::new(), epoch: 0 })
    }

    /// Where the next span begins.
    pub fn position(&self) -> Lsn {
        self.from
    }

    /// The next span, which ends behind `bytes_max` at the latest, or with the first block; none: nothing is there up
    /// to what is announced. After an error begin another tap: what this one has read of the span is lost.
    pub fn next(&mut self, announced: Lsn, bytes_max: u64) -> Result<Option<LogSpan>> {
        let mut span = LogSpan { from: self.from, ..LogSpan::default() };
        loop {
            let reached = self.reader.position();
            let is_full = self.reader.is_between_blocks() && reached.0.saturating_sub(self.from.0) >= bytes_max;
            if is_full {
                break;
            }
            if self.note_next(&mut span)? {
                continue;
            }
            if announced <= self.reader.position() {
                break;
            }
            self.reader.advance(announced)?;
        }
        span.to = self.reader.position();
        assert!(span.to >= span.from || span.attached.is_empty(), "what lies before a span is not its own (tap 1)");
        if span.to <= span.from {
            return Ok(None);
        }
        (span.last, span.told) = (self.reader.last_timestamp(), self.reader.told_edit());
        for (segment, end) in self.reader.segments_since(span.from) {
            let (first, last) = (span.from.max(segment.start), span.to.min(end));
            span.parts.push(self.read_part(segment, (first, last), span.from <= segment.start)?);
        }
        self.from = span.to;
        self.reader.forget_segments_before(span.to);
        Ok(Some(span))
    }

    /// Whether the log has these bytes where they say that they lie.
    pub fn has(&self, part: &LogPart) -> Result<bool> {
        Ok(self.compare(part)? == Some(true))
    }

    /// The same; none: the part lies before what is kept of the log.
    pub fn compare(&self, part: &LogPart) -> Result<Option<bool>> {
        let Some(segment) = SegmentName::parse(&part.segment) else { return Ok(Some(false)) };
        let Some(end) = part.offset.checked_add(part.bytes.len() as u64) else { return Ok(Some(false)) };
        match self.reader.read_live(segment, part.offset, end) {
            Ok(found) => Ok(Some(found == part.bytes)),
            Err(error) if matches!(error.code(), Code::UndefinedFile | Code::DataCorrupted) => {
                Ok((segment.start >= self.first).then_some(false))
            }
            Err(error) => Err(error),
        }
    }

    /// Reads a record; false when there is none by now.
    fn note_next(&mut self, span: &mut LogSpan) -> Result<bool> {
        let Some(entry) = self.reader.next()? else { return Ok(false) };
        if entry.epoch != self.epoch {
            self.epoch = entry.epoch;
            self.undecided.clear();
        }
        match entry.record {
            Record::Chunk { txn, changes } => attached_files(changes, self.undecided.entry(txn).or_default())?,
            Record::Abort { txn } => {
                self.undecided.remove(&txn);
            }
            Record::Commit { txn, changes, wall, .. } => {
                let mut files = self.undecided.remove(&txn).unwrap_or_default();
                if entry.lsn >= self.from {
                    attached_files(changes, &mut files)?;
                    span.attached.extend(files);
                    span.wall = wall.or(span.wall);
                }
            }
            Record::Layout { edit, switch } if entry.lsn >= self.from => span.switches.push((edit, switch.to_vec())),
            Record::Layout { .. } | Record::Page { .. } => {}
        }
        Ok(true)
    }

    /// The bytes of a segment between two positions, with its header when they begin with it.
    fn read_part(&self, segment: SegmentName, (first, last): (Lsn, Lsn), with_header: bool) -> Result<LogPart> {
        let header = SEGMENT_HEADER_BYTES as u64;
        let offset = if with_header { 0 } else { header + (first.0 - segment.start.0) };
        let end = header + (last.0 - segment.start.0);
        assert!(offset < end, "a segment that a span touches has bytes of it (tap 1)");
        let bytes = self.reader.read_live(segment, offset, end)?;
        Ok(LogPart { segment: segment.to_string(), offset, bytes })
    }
}

/// Adds the files that changes attach.
pub(crate) fn attached_files(changes: &[u8], files: &mut Vec<(TableId, FileId)>) -> Result<()> {
    for change in ChangeDecoder::new(changes) {
        if let LoggedChange::Table { table, change: Change::Attach(attached, _), .. } = change? {
            files.extend(attached.into_iter().map(|file| (table, file)));
        }
    }
    Ok(())
}

/// The path of a segment by its name, and where it begins; none when it is no name of one.
pub(crate) fn segment_path(dir: &Path, name: &str) -> Option<(PathBuf, Lsn)> {
    let parsed = SegmentName::parse(name)?;
    (parsed.to_string() == name).then(|| (dir.join(name), parsed.start))
}
