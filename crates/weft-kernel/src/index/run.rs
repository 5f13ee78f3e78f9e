//! A sorted run on disk: the open file, and what is known of it in memory.
//!
//! ```text
//!   run t31-7   9000 entries, 4100 values, 24 blocks, 2 segments       listed      read by ranges ["", "m")
//!   run t31-9   built by CREATE INDEX, attached at 44: no entry is older than 44   not listed yet
//! ```
//!
//! 1. The file is retired only after a durable manifest edit forgot it, or when none ever named it (DESIGN invariant
//!    7); it goes with the last reference.
//! 2. Every block and segment is tested by checksum when it is read from the file.
//!
//! Concurrency: all but the flags and counters is immutable.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use weft_env::sync::Mutex;
use weft_env::{Env, File};
use weft_format::bloom::may_contain_in;
use weft_format::table::BlockKey;
use weft_format::{Error, FileId, Result, TableId, Timestamp, file_name};

use super::filter::SEGMENT_BLOCKS;
use super::footer::{Footer, HEADER_BYTES, Piece, Place, TRAILER_BYTES, Trailer, test_header};
use super::payload::FileEntry;
use crate::account::{Charge, Kept};
use crate::files::DataFile;
use crate::sched::Setback;
use crate::services::Services;

/// One run.
pub(crate) struct Run {
    pub(crate) file: FileId,
    pub(crate) footer: Footer,
    pub(crate) file_bytes: u64,
    index: TableId,
    data: DataFile,
    reader: Arc<dyn File>,
    services: Arc<Services>,
    env: Env,
    /// 0: entries have their own timestamps; MAX: built, its commit is still to come.
    attached_at: AtomicU64,
    /// Named by a durable manifest edit.
    listed: AtomicBool,
    /// Lookups of values that are not here.
    misses: AtomicU64,
    /// It could not be read.
    setback: Setback,
    failed: Mutex<Option<Error>>,
    /// Those of them that the filter let through.
    false_positives: AtomicU64,
    _charge: Charge,
}

impl Run {
    /// The run that a file is: one that is there, or one that was written and is still to be made durable.
    pub(crate) fn new(env: &Env, services: &Arc<Services>, index: TableId, data: DataFile) -> Result<Run> {
        let (file, reader) = (data.number(), data.reader());
        let (footer, file_bytes) = read_footer(&*reader, index, file).map_err(|error| in_run(index, file, &error))?;
        let memory_bytes = (size_of::<Run>() + footer.memory_bytes()) as u64;
        Ok(Run {
            _charge: services.account.charge(Kept::Files, memory_bytes),
            file,
            footer,
            file_bytes,
            index,
            data,
            reader,
            services: services.clone(),
            env: env.clone(),
            attached_at: AtomicU64::new(0),
            listed: AtomicBool::new(false),
            misses: AtomicU64::new(0),
            setback: Setback::default(),
            failed: Mutex::default(),
            false_positives: AtomicU64::new(0),
        })
    }

    /// A block, tested. `cached`: through the cache pool; else straight from the file.
    pub(crate) fn block(&self, block: usize, cached: bool) -> Result<Arc<[u8]>> {
        let place = self.footer.blocks[block];
        if !cached {
            return self.load(Piece::Block(block), place);
        }
        let key = BlockKey { file: self.file, block: block as u32 };
        self.services.block_cache.get_bytes(key, &mut || self.load(Piece::Block(block), place))
    }

    /// A segment of the filter, tested.
    pub(crate) fn segment(&self, segment: usize, cached: bool) -> Result<Arc<[u8]>> {
        let place = self.footer.segments[segment];
        if !cached {
            return self.load(Piece::Segment(segment), place);
        }
        let key = BlockKey { file: self.file, block: u32::MAX - segment as u32 };
        self.services.block_cache.get_bytes(key, &mut || self.load(Piece::Segment(segment), place))
    }

    fn load(&self, piece: Piece, place: Place) -> Result<Arc<[u8]>> {
        self.try_load(piece, place).inspect_err(|error| {
            self.setback.note(error.code(), self.env.clock.monotonic_nanos());
            *self.failed.lock() = Some(error.clone());
        })
    }

    /// Whether no merge should read it now: it could not be read.
    pub(crate) fn is_set_back(&self) -> bool {
        self.setback.is_near(self.env.clock.monotonic_nanos())
    }

    /// What the last read that failed said.
    pub(crate) fn failure(&self) -> Option<Error> {
        self.failed.lock().clone()
    }

    fn try_load(&self, piece: Piece, place: Place) -> Result<Arc<[u8]>> {
        read_piece(&*self.reader, (self.index, self.file), piece, place)
    }

    /// Makes the file's bytes durable; its name is the caller's to make so.
    pub(crate) fn seal(&self) -> Result<()> {
        let failed = |error| Error::io(format_args!("syncing {}", file_name(self.index, self.file)), &error);
        self.data.seal().map_err(failed)
    }

    /// An error, with the run's name.
    pub(crate) fn named(&self, error: &Error) -> Error {
        in_run(self.index, self.file, error)
    }

    /// Whether entries of a value may be here, by the edges and the filter; false is certain.
    pub(crate) fn may_contain(&self, value: &[u8], value_hash: u64) -> Result<bool> {
        let (first, last) = (&self.footer.first.bytes[..], &self.footer.last.bytes[..]);
        if last < value || first > value && !first.starts_with(value) {
            return Ok(false);
        }
        let segment = self.segment(self.footer.block_of(value) / SEGMENT_BLOCKS, true)?;
        let hit = may_contain_in(&segment, self.footer.filter.hash(value_hash));
        if !hit {
            self.misses.fetch_add(1, Ordering::Relaxed);
        }
        Ok(hit)
    }

    /// A lookup that the filter let through found nothing.
    pub(crate) fn note_false_positive(&self) {
        self.misses.fetch_add(1, Ordering::Relaxed);
        self.false_positives.fetch_add(1, Ordering::Relaxed);
    }

    /// Lookups of absent values that came to the filter, and those that it let through.
    pub(crate) fn misses(&self) -> (u64, u64) {
        (self.misses.load(Ordering::Relaxed), self.false_positives.load(Ordering::Relaxed))
    }

    /// The timestamp below which no entry is, if a statement attached the file.
    pub(crate) fn attached_at(&self) -> Timestamp {
        Timestamp(self.attached_at.load(Ordering::Acquire))
    }

    /// Sets when the file was attached: before the run enters a layout, or where it was [`Timestamp::MAX`] and the
    /// commit comes; what is published by then is before both.
    pub(crate) fn attach_at(&self, ts: Timestamp) {
        let before = self.attached_at.swap(ts.0, Ordering::AcqRel);
        assert!(before == 0 || before == u64::MAX, "a file is attached by one commit (buildings 3)");
    }

    /// What a manifest payload says of the run.
    pub(crate) fn entry(&self) -> FileEntry {
        FileEntry { file: self.file, entry_count: self.footer.entry_count, attached_at: self.attached_at() }
    }

    pub(crate) fn is_listed(&self) -> bool {
        self.listed.load(Ordering::Acquire)
    }

    pub(crate) fn set_listed(&self) {
        self.listed.store(true, Ordering::Release);
    }

    /// The file goes with the last reference.
    pub(crate) fn retire(&self) {
        self.data.retire();
    }
}

/// Tests every checksum of a run, wherever it lies.
pub(crate) fn verify_run(index: TableId, file: FileId, handle: &dyn File) -> Result<()> {
    let (footer, _) = read_footer(handle, index, file).map_err(|error| in_run(index, file, &error))?;
    let blocks = footer.blocks.iter().enumerate().map(|(at, place)| (Piece::Block(at), *place));
    let segments = footer.segments.iter().enumerate().map(|(at, place)| (Piece::Segment(at), *place));
    blocks.chain(segments).try_for_each(|(piece, place)| read_piece(handle, (index, file), piece, place).map(|_| ()))
}

fn read_piece(handle: &dyn File, (index, file): (TableId, FileId), piece: Piece, place: Place) -> Result<Arc<[u8]>> {
    let mut bytes = vec![0; place.bytes as usize];
    let read = handle.read_exact_at(&mut bytes, place.offset);
    read.map_err(|error| Error::io(format_args!("reading {}", file_name(index, file)), &error))?;
    if piece.checksum(file, &bytes) != place.checksum {
        let error = Error::corrupt(format!("{piece:?} at {} fails its checksum", place.offset));
        return Err(in_run(index, file, &error));
    }
    Ok(bytes.into())
}

fn read_footer(handle: &dyn File, index: TableId, file: FileId) -> Result<(Footer, u64)> {
    let failed = |error: std::io::Error| Error::io("reading it", &error);
    let file_bytes = handle.len().map_err(failed)?;
    if file_bytes < (HEADER_BYTES + TRAILER_BYTES) as u64 {
        return Err(Error::corrupt(format!("it has only {file_bytes} bytes")));
    }
    let mut header = [0; HEADER_BYTES];
    handle.read_exact_at(&mut header, 0).map_err(failed)?;
    test_header(&header, index, file)?;
    let mut trailer = [0; TRAILER_BYTES];
    handle.read_exact_at(&mut trailer, file_bytes - TRAILER_BYTES as u64).map_err(failed)?;
    let trailer = Trailer::decode(&trailer, file, file_bytes)?;
    let mut bytes = vec![0; trailer.footer_bytes as usize];
    handle.read_exact_at(&mut bytes, trailer.footer_offset).map_err(failed)?;
    if Piece::Footer.checksum(file, &bytes) != trailer.footer_checksum {
        return Err(Error::corrupt("its footer fails the checksum"));
    }
    Ok((Footer::decode(&bytes, trailer.footer_offset)?, file_bytes))
}

fn in_run(index: TableId, file: FileId, error: &Error) -> Error {
    let named = Error::new(error.code(), format!("index {index}, run file {file}: {}", error.message()));
    named.hint(error.hint_text().unwrap_or("rebuild the index by `weft check --quarantine`, or drop and create it"))
}
