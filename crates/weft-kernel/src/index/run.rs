//! A sorted run on disk: the open file, and what is known of it in memory.
//!
//! ```text
//!   run t31-7   9000 entries, 4100 values, 24 blocks, 2 segments       listed      read by ranges ["", "m")
//!   run t31-9   built by CREATE INDEX, attached at 44: no entry is older than 44   not listed yet
//! ```
//!
//! 1. The file is removed when the last reference goes, and only after a durable manifest edit forgot it, or when none
//!    ever named it (DESIGN invariant 7).
//! 2. Every block and segment is tested by checksum when it is read from the file.
//!
//! 3. A run that was written keeps its own handle until it is synced; from then on the cache of handles has it.
//!
//! Concurrency: all but the flags and counters is immutable.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use weft_env::sync::Mutex;
use weft_env::{Env, File};
use weft_format::bloom::may_contain_in;
use weft_format::table::BlockKey;
use weft_format::{Error, FileId, Result, TableId, Timestamp};

use super::filter::SEGMENT_BLOCKS;
use super::footer::{Footer, HEADER_BYTES, Piece, Place, TRAILER_BYTES, Trailer, test_header};
use super::payload::FileEntry;
use crate::account::{Charge, Kept};
use crate::fault::{Fault, active};
use crate::sched::Setback;
use crate::services::Services;

/// One run.
pub(crate) struct Run {
    pub(crate) file: FileId,
    pub(crate) footer: Footer,
    pub(crate) file_bytes: u64,
    index: TableId,
    /// Of a run that is being made: as it was written (run 3).
    written: Mutex<Option<Arc<dyn File>>>,
    /// Of a durable run.
    handle: OnceLock<Arc<dyn File>>,
    services: Arc<Services>,
    env: Env,
    path: PathBuf,
    /// 0: entries have their own timestamps; MAX: built, its commit is still to come.
    attached_at: AtomicU64,
    /// Named by a durable manifest edit.
    listed: AtomicBool,
    /// To be removed with the last reference.
    obsolete: AtomicBool,
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
    /// Opens a run file.
    pub(crate) fn open(env: &Env, services: &Arc<Services>, index: TableId, file: FileId) -> Result<Run> {
        let path = services.file_path(index, file);
        let opened = services.handles.open(&path).map_err(|error| {
            Error::io(format_args!("opening {} of index {index}", path.display()), &error)
                .hint("restore the file from a backup, or drop and create the index")
        })?;
        Run::from_handle(env, services, index, file, opened)
    }

    /// A run that was written and is not synced.
    pub(crate) fn from_written(
        env: &Env,
        services: &Arc<Services>,
        index: TableId,
        file: FileId,
        written: Arc<dyn File>,
    ) -> Result<Run> {
        let mut run = Run::from_handle(env, services, index, file, written)?;
        *run.written.get_mut() = run.handle.take();
        Ok(run)
    }

    /// A run of an open file.
    pub(crate) fn from_handle(
        env: &Env,
        services: &Arc<Services>,
        index: TableId,
        file: FileId,
        handle: Arc<dyn File>,
    ) -> Result<Run> {
        let (footer, file_bytes) = read_footer(&*handle, index, file).map_err(|error| in_run(index, file, &error))?;
        let memory_bytes = (size_of::<Run>() + footer.memory_bytes()) as u64;
        Ok(Run {
            _charge: services.account.charge(Kept::Files, memory_bytes),
            file,
            footer,
            file_bytes,
            index,
            written: Mutex::default(),
            handle: OnceLock::from(handle),
            services: services.clone(),
            env: env.clone(),
            path: services.file_path(index, file),
            attached_at: AtomicU64::new(0),
            listed: AtomicBool::new(false),
            obsolete: AtomicBool::new(false),
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
        let mut bytes = vec![0; place.bytes as usize];
        let read = match self.handle.get() {
            Some(handle) => handle.read_exact_at(&mut bytes, place.offset),
            None => self.written_handle().read_exact_at(&mut bytes, place.offset),
        };
        read.map_err(|error| Error::io(format_args!("reading {}", self.path.display()), &error))?;
        if piece.checksum(self.file, &bytes) != place.checksum {
            return Err(self.named(&Error::corrupt(format!("{piece:?} at {} fails its checksum", place.offset))));
        }
        Ok(bytes.into())
    }

    /// Reads everything, past the cache, and tests its checksums.
    pub(crate) fn verify_checksums(&self) -> Result<()> {
        (0..self.footer.blocks.len()).try_for_each(|block| self.block(block, false).map(|_| ()))?;
        (0..self.footer.segments.len()).try_for_each(|segment| self.segment(segment, false).map(|_| ()))
    }

    /// Makes the file's bytes durable; its directory entry is the caller's to sync.
    pub(crate) fn sync(&self) -> Result<()> {
        let Some(written) = self.written.lock().clone() else { return Ok(()) };
        if !active(Fault::SKIP_FILE_SYNC) {
            let failed = |error| Error::io(format_args!("syncing {}", self.path.display()), &error);
            written.sync_data().map_err(failed)?;
        }
        self.handle.get_or_init(|| self.services.handles.adopt(&self.path, written));
        *self.written.lock() = None;
        Ok(())
    }

    /// The handle of a run that is not durable yet, or just became so.
    fn written_handle(&self) -> Arc<dyn File> {
        let written = self.written.lock().clone();
        written.or_else(|| self.handle.get().cloned()).expect("a run is being written or is durable (run 3)")
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
    pub(crate) fn set_obsolete(&self) {
        self.obsolete.store(true, Ordering::Release);
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        // While a thread unwinds the disk may be gone (a simulated crash); open removes what is left.
        if self.obsolete.load(Ordering::Acquire) && !std::thread::panicking() {
            self.services.remove_file(&*self.env.fs, self.index, self.file);
        }
    }
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
