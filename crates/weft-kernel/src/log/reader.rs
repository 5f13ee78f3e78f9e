//! Reading the log at open: every record in order, then where the log ends.
//!
//! ```text
//!   log-0          [block 0][block 800]░░░░       ░ a torn block: the crash of epoch 1
//!   log-520 (1312)                 [block 1312][block 1500][damaged][block 1700]
//!                                                             │
//!   the log of epoch 1 ends at 1312, where a segment begins: go on there.
//!   at 1600 a block is bad, but the block at 1700 was written after everything before it was durable: corruption.
//! ```
//!
//! 1. A record is delivered only out of a block whose checksum fits: none changed, none invented.
//! 2. The log ends at the first bad block of the last segment, and only if nothing behind it proves it was durable.
//! 3. Bytes behind the end of a segment that has a successor are never looked at.
//! 4. Of a log that somebody writes nothing is read beyond what that one has announced as durable: a block that is
//!    being written looks like a damaged one.
//! 5. Where the writer of a later epoch began, the log goes on in its segment: what one that it has taken the place of
//!    wrote there, because it had not noticed yet, is not looked at. Who follows looks for such a segment as soon as
//!    the writer whose log it reads has lost the directory.
//! 6. What is no part of the log, because the segment behind it goes on another one, is not looked at: somebody who had
//!    lost the directory gave it its name late (layout 2).

use std::path::{Path, PathBuf};

use weft_env::{Env, OpenMode};
use weft_format::{Code, Error, FileId, Lsn, RecordNo, Result, Timestamp};

use super::layout::{
    BLOCK_ALIGN, BLOCK_HEADER_BYTES, BLOCK_MAGIC, BlockHeader, SEGMENT_HEADER_BYTES, SegmentHeader, SegmentName,
    block_bytes, that_count,
};
use super::record::Record;
use super::segments::{Noted, Segments};
use crate::fault::{self, Fault};
use crate::term;

/// The folder, in the directory, of segments that nobody needs but who follows.
pub(crate) const FOLLOWED_DIR: &str = "followed";

/// Where the log ends, for the writer that continues it.
#[derive(Clone, Debug, Default)]
pub struct LogEnd {
    /// The position behind the last block.
    pub next_lsn: Lsn,
    /// The epoch of the last segment; 0 when there is none.
    pub epoch: u32,
    /// The highest commit timestamp that was ever in the log, also in segments that are gone; 0 when there is none.
    pub last_timestamp: Timestamp,
    /// So many edits of the manifest were durable when the log was written, as far as it says so.
    pub manifest_edits: u64,
    /// The highest number that a record ever had, also in segments that are gone; 0 when there was none.
    pub last_number: RecordNo,
    /// The last edit of the manifest that a record ever told of; 0 when none did.
    pub told_edit: u64,
    /// Numbers of data files up to this were given, as far as the log says so; 0 where it does not.
    pub(crate) file_max: FileId,
    /// The segments.
    pub(crate) segments: Segments,
    /// The last block of the last segment, if it has one: the only one that nothing proves to be durable.
    pub(crate) last_block: Option<LastBlock>,
}

impl LogEnd {
    /// The last segment and the offset in its file at which the log ends; none when there is no log.
    pub(crate) fn last_place(&self) -> Option<(String, u64)> {
        let name = self.segments.last_name()?;
        Some((name.to_string(), SEGMENT_HEADER_BYTES as u64 + (self.next_lsn.0 - name.start.0)))
    }
}

/// A block as it lies in its file.
#[derive(Clone, Debug)]
pub(crate) struct LastBlock {
    /// The segment.
    pub(crate) segment: SegmentName,
    /// Offset in the file.
    pub(crate) offset: u64,
    /// Header, payload and padding.
    pub(crate) bytes: Vec<u8>,
}

impl LogEnd {
    /// Whether the directory has a log at all.
    pub fn exists(&self) -> bool {
        self.segments.first().is_some()
    }
}

/// A record and where it lies.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'a> {
    /// Position of the record in the log.
    pub lsn: Lsn,
    /// Which opening of the database wrote it. Transaction numbers mean nothing across epochs: when the epoch changes,
    /// chunks without a commit are void.
    pub epoch: u32,
    /// Its number. In what the release before wrote, which has none, records are counted.
    pub number: RecordNo,
    /// The record.
    pub record: Record<'a>,
}

/// Reads a log from its first kept segment to its end.
pub struct LogReader {
    env: Env,
    dir: PathBuf,
    starts: Vec<SegmentName>,
    /// Where the segments lie, when not under their own names in `dir`.
    places: Vec<PathBuf>,
    /// How many of `starts` were opened.
    opened: usize,
    header: SegmentHeader,
    /// What the segment's file is called.
    name: SegmentName,
    bytes: Vec<u8>,
    /// Offset in `bytes` of the next block.
    next_block: usize,
    /// Offset in `bytes` of the present block.
    block: usize,
    /// Offsets in `bytes` of the records of the present block that were not delivered.
    records: std::ops::Range<usize>,
    end: LogEnd,
    /// When the last commit that was delivered was made.
    last_wall: Option<i64>,
    at_end: bool,
    /// Nothing from here on is read; none: the log ends where it is torn.
    limit: Option<Lsn>,
    /// Nothing from here on is looked at; none: files are read to their ends.
    bytes_to: Option<Lsn>,
}

/// Starts to read the log of a database directory.
pub fn read_log(env: &Env, dir: &Path) -> Result<LogReader> {
    LogReader::new(env, dir, segments(env, dir)?)
}

/// Starts to read a log that somebody writes, up to where that one has said that it is durable (reader 4).
pub(crate) fn read_live_log(env: &Env, dir: &Path, announced: Lsn) -> Result<LogReader> {
    LogReader::begin(env, dir, (segments(env, dir)?, Vec::new()), Some(announced))
}

/// The same from the segment that has a position on, or from the first that is left, also of those that nobody needs
/// but who follows.
pub(crate) fn read_live_log_from(env: &Env, dir: &Path, announced: Lsn, from: Lsn) -> Result<LogReader> {
    LogReader::begin(env, dir, (since(all_segments(env, dir)?, from), Vec::new()), Some(announced))
}

/// Starts to read a log at the segment that has a position.
pub(crate) fn read_log_from(env: &Env, dir: &Path, from: Lsn) -> Result<LogReader> {
    LogReader::new(env, dir, since(segments(env, dir)?, from))
}

/// Those of some starts that a reader needs who begins at a position.
fn since(mut starts: Vec<SegmentName>, from: Lsn) -> Vec<SegmentName> {
    let first = starts.partition_point(|name| name.start <= from).saturating_sub(1);
    starts.split_off(first)
}

/// The segments that count, in the log's order.
fn segments(env: &Env, dir: &Path) -> Result<Vec<SegmentName>> {
    Ok(that_go_on(env, dir, that_count(found(env, dir)?).0).0)
}

/// Of segments that count by their names those that are the log, and those that are not (reader 6).
pub(super) fn that_go_on(env: &Env, dir: &Path, names: Vec<SegmentName>) -> (Vec<SegmentName>, Vec<SegmentName>) {
    let (mut log, mut strays) = (Vec::new(), Vec::new());
    let mut behind: Option<SegmentHeader> = None;
    for name in names.into_iter().rev() {
        // What is wrong with one recovery says.
        let header = header_of(env, dir, name);
        let may_be_stray = behind.zip(header).is_some_and(|(behind, header)| behind.may_void(&header));
        if may_be_stray && has_one_block_at_most(env, dir, name) {
            strays.push(name);
        } else {
            log.push(name);
            behind = header;
        }
    }
    log.reverse();
    assert!(log.is_sorted(), "what goes on is in the log's order (reader 6)");
    (log, strays)
}

/// A segment's file, which may have been put aside.
fn file_of(env: &Env, dir: &Path, name: SegmentName) -> Option<std::sync::Arc<dyn weft_env::File>> {
    let open = |path: &Path| env.fs.open(&path.join(name.to_string()), OpenMode::Read);
    open(dir).or_else(|_| open(&dir.join(FOLLOWED_DIR))).ok()
}

/// The header of a segment, when it can be read.
fn header_of(env: &Env, dir: &Path, name: SegmentName) -> Option<SegmentHeader> {
    let mut bytes = [0; SEGMENT_HEADER_BYTES];
    file_of(env, dir, name)?.read_exact_at(&mut bytes, 0).ok()?;
    SegmentHeader::decode(&bytes, &name.to_string()).ok()
}

fn has_one_block_at_most(env: &Env, dir: &Path, name: SegmentName) -> bool {
    // Beside the directory that it reads nothing tells it from a whole log, which ends behind its first block.
    let Ok(mut reader) = LogReader::new(env, dir, vec![name]) else { return false };
    let mut blocks = 0;
    while matches!(reader.open_block(), Ok(true)) {
        blocks += 1;
    }
    blocks <= 1 && reader.at_end
}

/// The segments in a directory.
pub(super) fn found(env: &Env, dir: &Path) -> Result<Vec<SegmentName>> {
    let names = env.fs.list(dir).map_err(|error| Error::io(format!("listing {}", dir.display()), &error))?;
    Ok(names.iter().filter_map(|name| SegmentName::parse(name)).collect())
}

/// Those that were put aside for who follows.
fn found_aside(env: &Env, dir: &Path) -> Result<Vec<SegmentName>> {
    match found(env, &dir.join(FOLLOWED_DIR)) {
        Err(error) if error.code() == Code::UndefinedFile => Ok(Vec::new()),
        found => found,
    }
}

/// The same with those that were put aside. They are listed last: one that is put aside meanwhile is in one of the two.
fn all_segments(env: &Env, dir: &Path) -> Result<Vec<SegmentName>> {
    let present = found(env, dir)?;
    let mut names = [&present[..], &found_aside(env, dir)?].concat();
    names.sort_unstable();
    names.dedup();
    let names = that_go_on(env, dir, that_count(names).0).0;
    Ok(behind_gaps(env, dir, names, &present))
}

/// Those of some segments that lie behind the last gap before what is `present`. Of what was put aside the younger may
/// have gone first, on a full disk or by a crash: what is before such a gap nobody can follow from.
fn behind_gaps(env: &Env, dir: &Path, mut names: Vec<SegmentName>, present: &[SegmentName]) -> Vec<SegmentName> {
    let mut behind: Option<SegmentHeader> = None;
    for at in (0..names.len()).rev() {
        let header = header_of(env, dir, names[at]);
        let goes_on = behind.is_none_or(|behind| header.is_some_and(|header| behind.is_behind(&header)));
        if !goes_on && !present.contains(&names[at]) && !fault::active(Fault::FOLLOW_ACROSS_GAP) {
            return names.split_off(at + 1);
        }
        // What is wrong with one that is present recovery says.
        behind = header;
    }
    names
}

/// What was put aside by earlier openings and still goes on with the log, in its order; and what does not.
pub(super) fn left_aside(env: &Env, dir: &Path) -> Result<(Vec<SegmentName>, Vec<SegmentName>)> {
    let (present, mut aside) = (found(env, dir)?, found_aside(env, dir)?);
    aside.retain(|name| !present.contains(name));
    aside.sort_unstable();
    let log = all_segments(env, dir)?;
    // A gap may be one that cannot be read for a moment: then nothing goes.
    let are_read = aside.iter().chain(present.iter().min()).all(|name| header_of(env, dir, *name).is_some());
    let first = present.iter().map(|name| name.start).min();
    let (mut left, mut strays) = (Vec::new(), Vec::new());
    for name in aside {
        match log.contains(&name) {
            true => left.push(name),
            // What lies further ahead somebody else has put there, who has taken the directory.
            false if are_read && first.is_none_or(|first| name.start < first) => strays.push(name),
            false => {}
        }
    }
    Ok((left, strays))
}

/// The epoch in which a log was written last, as far as its last segment says; 0 when there is none.
pub(crate) fn last_epoch(env: &Env, dir: &Path) -> Result<u32> {
    let last = that_count(found(env, dir)?).0.last().copied();
    // What is wrong with it recovery says.
    let header = last.and_then(|last| header_of(env, dir, last));
    Ok(header.map_or(0, |header| header.epoch))
}

/// Tests every block of these segments up to `durable`.
pub(crate) fn check_segments(env: &Env, dir: &Path, starts: &[SegmentName], durable: Lsn) -> Result<()> {
    let mut reader = LogReader::new(env, dir, starts.to_vec())?;
    while let Some(entry) = reader.next()? {
        super::ChangeDecoder::new(entry.record.changes()).try_for_each(|change| change.map(drop))?;
    }
    let end = reader.finish();
    if end.next_lsn < durable {
        let what = format!("the log is readable up to {} but was durable up to {durable}", end.next_lsn);
        return Err(Error::corrupt(what).hint("restore the log from a backup"));
    }
    Ok(())
}

/// An error of a segment of a log that somebody writes, and cuts.
fn gone_or_failed(path: &Path, error: &std::io::Error) -> Error {
    let failed = Error::io(format!("reading log segment {}", path.display()), error);
    let is_gone = failed.code() == Code::UndefinedFile;
    if is_gone { failed.hint("join anew: the log was cut before it was followed") } else { failed }
}

fn gone(name: SegmentName) -> Error {
    let what = format!("log segment {name} is gone");
    Error::new(Code::UndefinedFile, what).hint("join anew: the log was cut before it was followed")
}

impl LogReader {
    fn new(env: &Env, dir: &Path, starts: Vec<SegmentName>) -> Result<LogReader> {
        LogReader::begin(env, dir, (starts, Vec::new()), None)
    }

    /// Goes on in a log that is durable further than it was, by now (reader 4). The last record that was delivered is
    /// the last one before the limit of before.
    pub(crate) fn advance(&mut self, announced: Lsn) -> Result<()> {
        let before = self.limit.expect("only a live log goes on");
        assert!(self.records.is_empty() && announced >= before, "what was announced was read, and goes on");
        self.limit = Some(announced);
        if announced == before {
            return Ok(());
        }
        // Later ones are looked for where a block ends, unless another writer has begun one.
        self.starts = vec![self.name];
        self.opened = 1;
        self.look_for_successor()?;
        if self.next_block == SEGMENT_HEADER_BYTES {
            // An opening begins anew where nothing was written.
            self.opened = 0;
            return self.open_segment();
        }
        let path = self.dir.join(self.name.to_string());
        let failed = |error| gone_or_failed(&path, &error);
        let file = self.open_live(self.name).map_err(failed)?;
        let from = self.next_block;
        let end = SEGMENT_HEADER_BYTES as u64 + (announced.0 - self.header.start.0);
        let length = file.len().map_err(failed)?.min(end) as usize;
        self.bytes.truncate(from);
        self.bytes.resize(length.max(from), 0);
        file.read_exact_at(&mut self.bytes[from..], from as u64).map_err(failed)?;
        self.check_still_there(self.name)
    }

    /// When the writer whose log it reads has lost the directory, the segments behind the present one, as they count
    /// by now (reader 5).
    fn look_for_successor(&mut self) -> Result<()> {
        let failed = |error| Error::io(format!("looking for the writer of {}", self.dir.display()), &error);
        if term::writer_is_present(&self.env, &self.dir, self.end.epoch).map_err(failed)? {
            return Ok(());
        }
        let is_begun = self.next_block > SEGMENT_HEADER_BYTES;
        let later = |name: &SegmentName| name.start > self.name.start || !is_begun && name.start == self.name.start;
        let later: Vec<SegmentName> = all_segments(&self.env, &self.dir)?.into_iter().filter(later).collect();
        match later.first() {
            Some(first) if first.start == self.name.start => self.starts.clear(),
            Some(first)
                if header_of(&self.env, &self.dir, *first).is_some_and(|next| !next.is_behind(&self.header)) =>
            {
                // What lies between them was cut, and behind what was read there may be late blocks of the one before.
                return Err(gone(self.name));
            }
            _ => {}
        }
        self.starts.extend(later);
        assert!(self.starts.is_sorted_by(|a, b| a.start < b.start), "the log goes on behind what was read (reader 5)");
        Ok(())
    }

    /// Opens a segment of a live log, which may have been put aside.
    fn open_live(&self, name: SegmentName) -> std::io::Result<std::sync::Arc<dyn weft_env::File>> {
        let name = name.to_string();
        match self.env.fs.open(&self.dir.join(&name), OpenMode::Read) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound && self.limit.is_some() => {
                self.env.fs.open(&self.dir.join(FOLLOWED_DIR).join(&name), OpenMode::Read)
            }
            opened => opened,
        }
    }

    /// Whether a segment of a live log is there, or was put aside.
    fn exists_live(&self, name: SegmentName) -> Result<bool> {
        let path = self.dir.join(name.to_string());
        let failed = |error| Error::io(format!("looking for {}", path.display()), &error);
        let fs = &self.env.fs;
        Ok(fs.exists(&path).map_err(failed)?
            || fs.exists(&self.dir.join(FOLLOWED_DIR).join(name.to_string())).map_err(failed)?)
    }

    /// How far it has read.
    pub(crate) fn position(&self) -> Lsn {
        self.end.next_lsn
    }

    /// Whether everything of the blocks that it has opened was delivered.
    pub(crate) fn is_between_blocks(&self) -> bool {
        self.records.is_empty()
    }

    /// The segments of a live log that it has read and that have something from a position on, with their ends.
    pub(crate) fn segments_since(&self, from: Lsn) -> Vec<(SegmentName, Lsn)> {
        self.end.segments.since(from, self.position())
    }

    /// Who goes on for ever needs to know no segment that lies before.
    pub(crate) fn forget_segments_before(&mut self, from: Lsn) {
        self.end.segments.forget_before(from);
    }

    /// Bytes of a segment of a live log, by their offsets in its file.
    pub(crate) fn read_live(&self, name: SegmentName, from: u64, to: u64) -> Result<Vec<u8>> {
        let failed = |error| gone_or_failed(&self.dir.join(name.to_string()), &error);
        let file = self.open_live(name).map_err(failed)?;
        if file.len().map_err(failed)? < to {
            return Err(Error::corrupt(format!("log segment {name} ends before offset {to}")));
        }
        let mut bytes = vec![0; usize::try_from(to - from).unwrap_or(usize::MAX)];
        file.read_exact_at(&mut bytes, from).map_err(failed)?;
        self.check_still_there(name)?;
        Ok(bytes)
    }

    /// The epoch of what it has read.
    pub(crate) fn epoch(&self) -> u32 {
        self.end.epoch
    }

    /// The last edit of the manifest of which it has read, or that segments which are gone told of.
    pub(crate) fn told_edit(&self) -> u64 {
        self.end.told_edit
    }

    /// The last commit that was delivered, or that was in segments which are gone.
    pub(crate) fn last_timestamp(&self) -> Timestamp {
        self.end.last_timestamp
    }

    /// The number of the record that was delivered last, or that was last in segments which are gone.
    pub(crate) fn last_number(&self) -> RecordNo {
        self.end.last_number
    }

    /// Reads segments that lie under other names, up to `end`: `places` has one path for each. Somebody may be writing
    /// behind the end.
    pub(crate) fn of_files(
        env: &Env,
        dir: &Path,
        starts: Vec<Lsn>,
        places: Vec<PathBuf>,
        end: Lsn,
    ) -> Result<LogReader> {
        let starts = starts.into_iter().map(SegmentName::of).collect();
        LogReader::begin_up_to(env, dir, (starts, places), None, Some(end))
    }

    fn begin(
        env: &Env,
        dir: &Path,
        (starts, places): (Vec<SegmentName>, Vec<PathBuf>),
        limit: Option<Lsn>,
    ) -> Result<LogReader> {
        LogReader::begin_up_to(env, dir, (starts, places), limit, None)
    }

    fn begin_up_to(
        env: &Env,
        dir: &Path,
        (starts, places): (Vec<SegmentName>, Vec<PathBuf>),
        limit: Option<Lsn>,
        bytes_to: Option<Lsn>,
    ) -> Result<LogReader> {
        assert!(places.is_empty() || places.len() == starts.len(), "each segment has a place");
        let mut reader = LogReader {
            env: env.clone(),
            dir: dir.to_owned(),
            opened: 0,
            header: SegmentHeader::default(),
            name: SegmentName::default(),
            bytes: Vec::new(),
            next_block: 0,
            block: 0,
            records: 0..0,
            end: LogEnd::default(),
            last_wall: None,
            at_end: starts.is_empty(),
            limit,
            bytes_to,
            starts,
            places,
        };
        if let Some(&first) = reader.starts.first() {
            reader.end.next_lsn = first.start;
            reader.open_segment()?;
        }
        Ok(reader)
    }

    /// The oldest segment and the last commit before it; none when there is no log. Before the first record is read.
    pub(crate) fn begins(&self) -> Option<(String, Timestamp)> {
        assert!(self.opened <= 1, "asked before the first record is read");
        (self.opened == 1).then(|| (self.name.to_string(), self.header.last_ts))
    }

    /// The next record, or none at the end of the log.
    #[expect(clippy::should_implement_trait, reason = "the record borrows the reader's buffer")]
    pub fn next(&mut self) -> Result<Option<Entry<'_>>> {
        while self.records.is_empty() {
            if self.at_end || !self.open_block()? {
                return Ok(None);
            }
        }
        let offset = self.records.start;
        let lsn = self.lsn_at(offset);
        let bytes = &self.bytes[offset..self.records.end];
        let found = if self.header.is_numbered() {
            Record::decode(bytes)
        } else {
            Record::decode_before(bytes).map(|(record, count)| (self.end.last_number.next(), record, count))
        };
        let Some((number, record, count)) = found else {
            return Err(self.damage(lsn, "a record in it cannot be read although its checksum fits"));
        };
        if number <= self.end.last_number {
            return Err(self.damage(lsn, &format!("record {number} follows record {}", self.end.last_number)));
        }
        self.end.last_number = number;
        if let Record::Commit { ts, wall, .. } = record {
            if ts <= self.end.last_timestamp {
                return Err(self.damage(lsn, &format!("commit {ts} follows commit {}", self.end.last_timestamp)));
            }
            if wall.is_some() && wall <= self.last_wall {
                return Err(self.damage(lsn, &format!("commit {ts} was made before the one before it")));
            }
            self.end.last_timestamp = ts;
            self.last_wall = wall.or(self.last_wall);
        }
        if let Record::Layout { edit, .. } = record {
            if edit <= self.end.told_edit {
                return Err(self.damage(lsn, &format!("edit {edit} of the manifest follows {}", self.end.told_edit)));
            }
            self.end.told_edit = edit;
        }
        self.records.start += count;
        assert!(self.records.start <= self.records.end, "a record ends in the block that it begins in (reader 1)");
        self.end.segments.note(&Noted::of(number, &record));
        Ok(Some(Entry { lsn, epoch: self.header.epoch, number, record }))
    }

    /// Where the log ends. Only after [`LogReader::next`] gave none.
    pub fn finish(self) -> LogEnd {
        assert!(self.at_end, "the end is known when all was read");
        self.end
    }

    /// Steps to the next block, in this segment or the one after it. False at the end of the log.
    fn open_block(&mut self) -> Result<bool> {
        let lsn = self.end.next_lsn;
        if self.limit.is_some_and(|limit| lsn >= limit) {
            return Ok(false);
        }
        if self.limit.is_some() && self.opened == self.starts.len() && lsn != self.header.start {
            let next = SegmentName::of(lsn);
            if self.exists_live(next)? {
                self.starts.push(next);
            }
        }
        let next_start = self.starts.get(self.opened).map(|name| name.start);
        if next_start == Some(lsn) {
            self.open_segment()?;
            return Ok(true);
        }
        let found = BlockHeader::decode(self.bytes.get(self.next_block..).unwrap_or(&[]), &self.header, lsn);
        let Some(block) = found else {
            if let Some(next) = next_start {
                return Err(
                    self.gone_or_damaged(lsn, &format!("the next segment starts at {next}, so it was durable"))?
                );
            }
            if let Some(later) = self.later_block() {
                return Err(self.damage(lsn, &format!("the block at {later} proves that it was durable")));
            }
            if self.limit.is_some() {
                return Err(self.gone_or_damaged(lsn, "its writer has announced that it is durable")?);
            }
            self.at_end = true;
            self.end.last_block = (self.block < self.next_block).then(|| LastBlock {
                segment: self.name,
                offset: self.block as u64,
                bytes: self.bytes[self.block..self.next_block].to_vec(),
            });
            return Ok(false);
        };
        let size = block_bytes(block.payload_bytes as usize);
        let end = Lsn(lsn.0 + size as u64);
        if let Some(next) = next_start.filter(|next| end > *next) {
            return Err(self.damage(lsn, &format!("it runs over the start of the next segment, {next}")));
        }
        let payload = self.next_block + BLOCK_HEADER_BYTES;
        self.records = payload..payload + block.payload_bytes as usize;
        self.block = self.next_block;
        self.next_block += size;
        assert!(self.records.end <= self.next_block, "the records of a block lie before the next one");
        assert!(self.next_block <= self.bytes.len(), "a block is delivered when it was read to its end (reader 1)");
        self.end.next_lsn = end;
        self.end.manifest_edits = self.end.manifest_edits.max(block.edits);
        Ok(true)
    }

    fn open_segment(&mut self) -> Result<()> {
        let segment = self.starts[self.opened];
        let (start, name) = (segment.start, segment.to_string());
        let path = self.places.get(self.opened).cloned().unwrap_or_else(|| self.dir.join(&name));
        let failed = |error| Error::io(format!("reading log segment {}", path.display()), &error);
        let file = match self.places.is_empty() {
            true => self.open_live(segment),
            false => self.env.fs.open(&path, OpenMode::Read),
        };
        let file = file.map_err(failed)?;
        // Of the last segment what lies before the end, whatever is written behind it.
        let most = match (self.bytes_to, self.starts.get(self.opened + 1)) {
            (Some(end), None) => SEGMENT_HEADER_BYTES as u64 + end.0.saturating_sub(start.0),
            _ => u64::MAX,
        };
        let length = usize::try_from(file.len().map_err(failed)?.min(most))
            .map_err(|_| Error::corrupt(format!("log segment {name} is longer than memory addresses")))?;
        self.bytes.clear();
        self.bytes.resize(length, 0);
        file.read_exact_at(&mut self.bytes, 0).map_err(failed)?;
        self.check_still_there(segment)?;
        let header = SegmentHeader::decode(&self.bytes, &name)?;
        let first = self.opened == 0;
        if self.limit.is_some() && !first && !header.is_behind(&self.header) {
            return Err(gone(self.name));
        }
        if header.start != start
            || (!first && self.places.is_empty() && !header.is_behind(&self.header))
            || header.epoch < self.end.epoch
            || (!first && header.last_ts != self.end.last_timestamp)
            || (header.is_numbered() && !first && header.told_edit != self.end.told_edit)
            || (header.is_numbered() && header.next_number <= self.end.last_number)
            || (!first && self.header.is_numbered() && header.next_number != self.end.last_number.next())
        {
            let what = format!("log segment {name} does not continue the segment before it");
            return Err(Error::corrupt(what).hint("restore the log from a backup; do not rename or copy its files"));
        }
        if header.epoch != self.end.epoch {
            self.end.segments.begin_epoch();
        }
        self.end.segments.begin(segment, header.epoch, header.before);
        self.end.file_max = self.end.file_max.max(header.files);
        self.end.epoch = header.epoch;
        self.end.manifest_edits = self.end.manifest_edits.max(header.edits);
        self.end.last_timestamp = header.last_ts;
        if header.is_numbered() {
            self.end.last_number = RecordNo(header.next_number.0 - 1);
            self.end.told_edit = header.told_edit;
        }
        self.header = header;
        self.name = segment;
        self.next_block = SEGMENT_HEADER_BYTES;
        self.block = SEGMENT_HEADER_BYTES;
        self.records = 0..0;
        self.opened += 1;
        Ok(())
    }

    /// A valid block behind the bad one: it was written after the bad one was durable.
    fn later_block(&self) -> Option<Lsn> {
        let mut offset = self.next_block + BLOCK_ALIGN;
        while offset + BLOCK_HEADER_BYTES <= self.bytes.len() {
            let bytes = &self.bytes[offset..];
            let lsn = self.lsn_at(offset);
            if bytes[..4] == BLOCK_MAGIC && BlockHeader::decode(bytes, &self.header, lsn).is_some() {
                return Some(lsn);
            }
            offset += BLOCK_ALIGN;
        }
        None
    }

    /// Why a log cannot be read where it was durable. Segments of a live one go from the oldest: where the next one is
    /// missed because it went, this one has gone before it, or was put aside, where it may outlive the next.
    fn gone_or_damaged(&self, lsn: Lsn, proof: &str) -> Result<Error> {
        let path = self.dir.join(self.name.to_string());
        let failed = |error| Error::io(format!("looking for {}", path.display()), &error);
        let is_cut = self.limit.is_some() && !self.env.fs.exists(&path).map_err(failed)?;
        Ok(if is_cut { gone(self.name) } else { self.damage(lsn, proof) })
    }

    /// A segment of a live log that is not needed any more becomes another one (spares 1): what was read before it lost
    /// its name is its own.
    fn check_still_there(&self, name: SegmentName) -> Result<()> {
        if self.limit.is_none() || fault::active(Fault::READ_RECYCLED) {
            return Ok(());
        }
        if self.exists_live(name)? { Ok(()) } else { Err(gone(name)) }
    }

    fn lsn_at(&self, offset: usize) -> Lsn {
        Lsn(self.header.start.0 + (offset - SEGMENT_HEADER_BYTES) as u64)
    }

    fn damage(&self, lsn: Lsn, proof: &str) -> Error {
        let name = self.name;
        let offset = SEGMENT_HEADER_BYTES as u64 + (lsn.0 - self.header.start.0);
        Error::corrupt(format!("the log is damaged in {name} at offset {offset}: {proof}"))
            .hint("restore the log from a backup; opening without it would lose acknowledged commits")
    }
}
