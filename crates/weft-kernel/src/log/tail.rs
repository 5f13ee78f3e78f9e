//! The end of the log on disk: the one place that writes segments.
//!
//! ```text
//!   write a block      pwrite over zeroed space ─▶ fdatasync                    (a lone commit: 1 write, 1 sync)
//!   next segment       a spare file ─▶ header ─▶ fdatasync ─▶ rename to log-x ─▶ sync directory
//!                      none there: create log-x.tmp ─▶ header, zeros ─▶ as above; every MiB zeros after the block
//!   failed write       zero the block's header space ─▶ fdatasync; the block never was
//! ```
//!
//! 1. A file called `log-x` has a whole, durable header: it gets its name after its header was synced.
//! 2. When a block is written at LSN x everything before x is durable; so a valid block behind a damaged one proves
//!    that the damaged one was durable: corruption, not a torn tail.
//! 3. A failed fsync is final: what it left on disk is unknown and a second try may lie (the kernel drops the dirty
//!    pages), so the log is poisoned.
//!
//! 4. After a block is on disk, and before anybody is told, the writer looks whether it has the directory still
//!    (`term` 2): if not, nobody is told, and it is poisoned as after a failed fsync. It looks, too, before a segment
//!    gets its name; that of an opening's first segment has its epoch in it (layout 1).
//!    Where that one begins none of another epoch stays: the next opening would miss it once its successor has gone.
//! 5. Every block and segment says how many edits of the manifest are durable. So before the log is cut, and before
//!    files go that an edit dropped, the log names that edit: the next opening misses it in a manifest that lost it.
//!
//! Why zeros ahead: an fdatasync of an overwrite has no metadata to write and costs half of that of an append.

use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use weft_env::{Env, File, OpenMode};
use weft_format::{Code, Error, FileId, Lsn, RecordNo, Result, Timestamp};

use super::batch::Batch;
use super::durable::Durable;
use super::layout::{
    BLOCK_HEADER_BYTES, BlockHeader, FORMAT_VERSION, SEGMENT_HEADER_BYTES, SegmentHeader, SegmentName, temporary_name,
    that_count,
};
use super::reader::{found, that_go_on};
use super::segments::{Noted, Segments};
use super::spares::{Spare, Spares, ZEROS};
use super::{LogEnd, LogOptions};
use crate::fault::{self, Fault};
use crate::step::{Step, reached};
use crate::term::Term;

/// Why a write did not happen.
pub(crate) enum Failure {
    /// The log is as it was before; a later write may succeed.
    Clean(Error),
    /// What is on disk is unknown.
    Fatal(Error),
    /// Another writer has the directory: what was written last may count or not (tail 4).
    Fenced(Error),
}

impl Failure {
    /// What happened.
    pub(crate) fn error(self) -> Error {
        match self {
            Failure::Clean(error) | Failure::Fatal(error) | Failure::Fenced(error) => error,
        }
    }
}

struct Open {
    file: Arc<dyn File>,
    name: SegmentName,
    header: SegmentHeader,
    /// File offset up to which bytes were written, zeros or blocks.
    written: u64,
}

/// The writer of segments.
pub(crate) struct Tail {
    env: Env,
    dir: PathBuf,
    options: LogOptions,
    epoch: u32,
    /// The right to write; none: nobody else can come.
    term: Option<Arc<Term>>,
    /// No segment of this epoch was begun.
    is_first: bool,
    /// Numbers of data files up to this were given before the epoch.
    file_max: FileId,
    open: Option<Open>,
    next: Lsn,
    last_ts: Timestamp,
    /// The highest number of a record in the log.
    last_number: RecordNo,
    /// The last edit of the manifest that a record tells of.
    told_edit: u64,
    segments: Segments,
    spares: Arc<Spares>,
    /// Edits of the manifest that are durable; the manifest counts them.
    edits: Arc<AtomicU64>,
    /// How many of them something durable in the log names.
    edits_named: u64,
}

impl Tail {
    /// Continues behind what recovery found, in a new epoch and a new segment.
    pub(crate) fn new(
        env: &Env,
        dir: PathBuf,
        options: LogOptions,
        (end, term): (LogEnd, Option<Arc<Term>>),
        edits: Arc<AtomicU64>,
    ) -> Tail {
        let next = end.epoch.checked_add(1).expect("a database is opened less than 4 billion times");
        let epoch = term.as_ref().map_or(next, |term| term.number());
        assert!(epoch >= next, "a term is above those of the log (term 3)");
        let LogEnd { next_lsn: next, last_timestamp: last_ts, last_number, told_edit, file_max, mut segments, .. } =
            end;
        segments.begin_epoch();
        Tail {
            env: env.clone(),
            spares: Arc::new(Spares::new(env, &dir, options.segment_bytes, epoch)),
            dir,
            options,
            epoch,
            term,
            is_first: true,
            file_max,
            open: None,
            next,
            last_ts,
            last_number,
            told_edit,
            segments,
            edits,
            edits_named: end.manifest_edits,
        }
    }

    /// Where the next block goes; everything before is durable.
    pub(crate) fn next_lsn(&self) -> Lsn {
        self.next
    }

    /// How far the log is durable.
    pub(crate) fn durable(&self) -> Durable {
        Durable { lsn: self.next, last: self.last_ts }
    }

    /// The highest number of a record in the log.
    pub(crate) fn last_number(&self) -> RecordNo {
        self.last_number
    }

    /// Whether nothing was written since the segment began.
    pub(crate) fn is_at_segment_start(&self) -> bool {
        self.open.as_ref().is_none_or(|open| open.header.start == self.next)
    }

    /// Whether something durable in the log names every durable edit of the manifest (tail 5).
    pub(crate) fn names_edits(&self) -> bool {
        self.edits_named >= self.edits.load(Ordering::Acquire)
    }

    /// Files for segments to come.
    pub(super) fn spares(&self) -> &Arc<Spares> {
        &self.spares
    }

    /// The kept segments.
    pub(crate) fn segments(&mut self) -> &mut Segments {
        &mut self.segments
    }

    /// Writes the batch as one block and makes it durable.
    pub(crate) fn write(&mut self, batch: &mut Batch) -> Result<(), Failure> {
        let (mut last_ts, mut last_number, mut told_edit) = (self.last_ts, self.last_number, self.told_edit);
        for (noted, number) in batch.noted().zip(batch.numbers()) {
            assert!(number > last_number, "numbers ascend: {number} after {last_number} (record 1)");
            last_number = number;
            match noted {
                Noted::Commit(_, ts) => {
                    assert!(ts > last_ts, "commit records are in timestamp order: {ts} after {last_ts}");
                    last_ts = ts;
                }
                Noted::Layout(edit) => {
                    assert!(edit > told_edit, "edits are told in their order: {edit} after {told_edit}");
                    told_edit = edit;
                }
                Noted::Chunk(_) | Noted::Abort(_) | Noted::Page(_) => {}
            }
        }
        let payload_bytes = batch.pad();
        let size = batch.bytes.len() as u64;
        if self.open.as_ref().is_none_or(|open| self.is_full(open, size)) {
            self.begin_segment()?;
        }
        let open = self.open.as_mut().expect("begin_segment opens one");
        assert!(self.next >= open.header.start, "the log ends at or behind the start of its last segment");
        let header = BlockHeader {
            lsn: self.next,
            edits: self.edits.load(Ordering::Acquire),
            epoch: self.epoch,
            payload_bytes: u32::try_from(payload_bytes).expect("a batch is bounded far below 4 GB"),
        };
        header.encode(open.header.salt, &mut batch.bytes);
        let offset = SEGMENT_HEADER_BYTES as u64 + (self.next.0 - open.header.start.0);
        assert!(open.written >= offset, "what lies before a block in its file was written (tail 2)");
        if let Err(error) = open.file.write_at(&batch.bytes, offset) {
            return Err(open.take_back(offset, error));
        }
        reached(Step::LOG_BLOCK_WRITTEN);
        open.zero_ahead(offset + size, &self.options);
        if offset + size > self.options.segment_bytes / 2 {
            self.spares.want();
        }
        if !fault::active(Fault::SKIP_LOG_SYNC) {
            open.file.sync_data().map_err(|error| fatal("syncing", open.name, &error))?;
        }
        reached(Step::LOG_BLOCK_SYNCED);
        still_ours(self.term.as_deref())?;
        self.next.0 += size;
        self.edits_named = self.edits_named.max(header.edits);
        (self.last_ts, self.last_number, self.told_edit) = (last_ts, last_number, told_edit);
        batch.noted().for_each(|noted| self.segments.note(&noted));
        Ok(())
    }

    fn is_full(&self, open: &Open, block_bytes: u64) -> bool {
        let used = SEGMENT_HEADER_BYTES as u64 + (self.next.0 - open.header.start.0);
        self.next > open.header.start && used + block_bytes > self.options.segment_bytes
    }

    fn is_behind_open(&self, start: Lsn) -> bool {
        self.open.as_ref().is_none_or(|open| open.header.start < start)
    }

    /// A new file without bytes, for a segment.
    fn empty_file(&self, name: SegmentName) -> Result<Spare, Failure> {
        let path = self.dir.join(temporary_name(name, self.epoch));
        let created = self.env.fs.open(&path, OpenMode::CreateNew).or_else(|error| {
            if error.kind() != ErrorKind::AlreadyExists {
                return Err(error);
            }
            // An earlier try that failed could not remove it either.
            self.env.fs.remove(&path)?;
            self.env.fs.open(&path, OpenMode::CreateNew)
        });
        let file = created.map_err(|error| clean(format!("creating {}", path.display()), &error))?;
        Ok(Spare { path, file, bytes: 0 })
    }

    /// Starts a segment at the present end. Its predecessor is durable to its last byte.
    pub(crate) fn begin_segment(&mut self) -> Result<(), Failure> {
        let start = self.next;
        assert!(
            self.segments.last().is_none_or(|last| last <= start),
            "a segment begins where the log ends, and replaces none that has blocks (segments 1)"
        );
        assert!(self.is_behind_open(start), "a segment that is written has a block before the next begins");
        let name = if self.is_first { SegmentName::first_of(start, self.epoch) } else { SegmentName::of(start) };
        let path = self.dir.join(name.to_string());
        let salt = self.env.rng.next_u64() as u32;
        let before = self.segments.before(start);
        assert!(before.0 <= self.epoch, "a segment lies behind one of its epoch or of one before (layout 2)");
        let header = SegmentHeader {
            epoch: self.epoch,
            start,
            last_ts: self.last_ts,
            salt,
            edits: self.edits.load(Ordering::Acquire),
            next_number: self.last_number.next(),
            told_edit: self.told_edit,
            before,
            files: self.file_max,
            version: FORMAT_VERSION,
        };
        let spare = self.spares.take().map_or_else(|| self.empty_file(name), Ok)?;
        let mut open = Open { file: spare.file.clone(), name, header, written: spare.bytes };
        let result = open.file.write_at(&header.encode(), 0);
        if result.is_ok() {
            open.written = open.written.max(SEGMENT_HEADER_BYTES as u64);
            open.zero_ahead(SEGMENT_HEADER_BYTES as u64, &self.options);
            open.file.sync_data().map_err(|error| fatal("syncing", name, &error))?;
            reached(Step::LOG_SEGMENT_SYNCED);
            still_ours(self.term.as_deref())?;
        }
        if let Err(error) = result.and_then(|()| self.env.fs.rename(&spare.path, &path)) {
            // What cannot be removed now is removed by the next try, or at the next open.
            self.spares.remove(&spare);
            return Err(clean(format!("creating {}", path.display()), &error));
        }
        if !fault::active(Fault::SKIP_DIR_SYNC) {
            self.env.fs.sync_dir(&self.dir).map_err(|error| fatal("syncing the directory entry of", name, &error))?;
        }
        reached(Step::LOG_SEGMENT_CREATED);
        self.edits_named = self.edits_named.max(header.edits);
        self.segments.begin(name, self.epoch, before);
        self.open = Some(open);
        if std::mem::take(&mut self.is_first) {
            self.remove_void();
        }
        Ok(())
    }

    /// Whether no segment of this epoch was begun: the disk is full.
    pub(crate) fn is_put_off(&self) -> bool {
        self.is_first
    }

    /// Removes the segments that are no part of the log now that this epoch has begun its own: what was empty, and what
    /// a writer made that had lost the directory. Nobody makes another of that name and counts on it (`term` 6). One
    /// that cannot be removed no reader takes for a part of it either (layout 2).
    fn remove_void(&self) {
        if fault::active(Fault::LEAVE_EMPTY_SEGMENT) {
            return;
        }
        let Ok(found) = found(&self.env, &self.dir) else { return };
        let (count, mut void) = that_count(found);
        void.extend(that_go_on(&self.env, &self.dir, count).1);
        for name in void.into_iter().filter(|name| name.epoch() < self.epoch) {
            assert!(self.open.as_ref().is_some_and(|open| open.name != name), "what is written counts (layout 1)");
            if still_ours(self.term.as_deref()).is_err() {
                return;
            }
            let _ = self.env.fs.remove(&self.dir.join(name.to_string()));
        }
    }
}

impl Open {
    /// Writes zeros behind `end` when none are left there. Best effort: the block at hand needs none.
    fn zero_ahead(&mut self, end: u64, options: &LogOptions) {
        if end < self.written {
            return;
        }
        self.written = self.written.max(end);
        let target = (end + options.zero_ahead_bytes).min(options.segment_bytes.max(end));
        while self.written < target {
            let count = (target - self.written).min(ZEROS.len() as u64);
            if self.file.write_at(&ZEROS[..count as usize], self.written).is_err() {
                return;
            }
            self.written += count;
        }
    }

    /// Makes sure that a block whose write failed can never be found.
    fn take_back(&self, offset: u64, error: std::io::Error) -> Failure {
        let name = self.name;
        let cleaned = self.file.len().and_then(|len| {
            let count = len.saturating_sub(offset).min(BLOCK_HEADER_BYTES as u64);
            if count > 0 {
                self.file.write_at(&ZEROS[..count as usize], offset)?;
            }
            self.file.sync_data()
        });
        match cleaned {
            Ok(()) => clean(format!("writing log segment {name}"), &error),
            Err(error) => fatal("taking back a failed write to", name, &error),
        }
    }
}

fn fatal(doing: &str, name: SegmentName, error: &std::io::Error) -> Failure {
    Failure::Fatal(Error::io(format!("{doing} log segment {name}"), error))
}

/// Whether this writer has the directory (tail 4).
fn still_ours(term: Option<&Term>) -> Result<(), Failure> {
    term.map_or(Ok(()), Term::check).map_err(Failure::Fenced)
}

/// The log is as it was before.
fn clean(doing: String, error: &std::io::Error) -> Failure {
    let error = Error::io(doing, error);
    let is_full = error.code() == Code::DiskFull;
    Failure::Clean(if is_full { error.hint("free space on the device and run the transaction again") } else { error })
}
