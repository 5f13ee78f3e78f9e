//! Bulk build: entries of CREATE INDEX or a bulk load become runs at once, without memories and without the log.
//!
//! ```text
//!   push b2 a1 c3 ... │ 32 MB: sorted, run 5 │ push ... │ run 6 │ finish: 5 and 6 overlap? merged into 7, 8 : kept
//!                                                                          └─ synced, directory synced
//! ```
//!
//! 1. On return of [`IndexBuild::finish`] the files are durable; a commit record may name them.
//! 2. Memory is bounded by what is sorted at once, charged to the row budget.
//! 3. On an error, and when a build is dropped unfinished, nothing is left behind.

use std::sync::Arc;

use weft_contract::Direction;
use weft_format::key::head;
use weft_format::{FileId, Result, Timestamp};

use super::entry::{EntryBuffer, Span, shared_len};
use super::filter::FilterShape;
use super::merged::{Merged, Source};
use super::run::Run;
use super::run_scan::RunScan;
use super::run_writer::{RunFiles, RunWriter};
use super::store::IndexStore;
use crate::budget::RowBudget;
use crate::step::{Step, reached};

/// Files that a bulk build made; they become part of the index when they are attached.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BuiltFiles {
    /// The files, durable.
    pub files: Vec<FileId>,
    /// Entries in them.
    pub entries: u64,
}

/// A bulk build under way.
pub struct IndexBuild<'a> {
    store: &'a IndexStore,
    ts: Timestamp,
    chunk: Chunk,
    sort_bytes: u64,
    runs: Runs,
}

/// Entries that are sorted together.
struct Chunk {
    bytes: Vec<u8>,
    places: Vec<ChunkPlace>,
    charged: u64,
    budget: Arc<RowBudget>,
}

#[derive(Clone, Copy)]
struct ChunkPlace {
    /// While they are sorted: the first bytes behind those that all entries share, as a number. Most comparisons end
    /// here, without a look at bytes that lie anywhere.
    head: u64,
    start: u64,
    len: u32,
    value_len: u32,
}

/// Runs that go again unless they are kept.
struct Runs(Vec<Arc<Run>>);

impl Drop for Runs {
    fn drop(&mut self) {
        self.0.iter().for_each(|run| run.retire());
    }
}

impl IndexStore {
    /// Starts a bulk build of entries with timestamp `ts` (raised by [`IndexStore::attach`]).
    pub fn builder(&self, ts: Timestamp) -> IndexBuild<'_> {
        let budget = self.context.services.row_budget().clone();
        let chunk = Chunk { bytes: Vec::new(), places: Vec::new(), charged: 0, budget };
        IndexBuild { store: self, ts, chunk, sort_bytes: self.context.options.sort_bytes, runs: Runs(Vec::new()) }
    }

    /// Builds durable files of entries (value, key) that come in any order; the same entry may come again.
    pub fn build<V: AsRef<[u8]>, K: AsRef<[u8]>>(
        &self,
        entries: impl IntoIterator<Item = Result<(V, K)>>,
        ts: Timestamp,
    ) -> Result<BuiltFiles> {
        let mut build = self.builder(ts);
        for entry in entries {
            let (value, key) = entry?;
            build.push(value.as_ref(), key.as_ref())?;
        }
        build.finish()
    }

    /// Makes built files part of the index at `ts`: at the installation of the commit that names them, before it is
    /// published, and at its redo. No entry of theirs is older then. [`Timestamp::MAX`]: readers find them, and their
    /// commit, which attaches them again, is still to come; until then no edit lists them (buildings 3).
    pub fn attach(&self, files: &[FileId], ts: Timestamp) -> Result<()> {
        if ts <= self.cut() {
            // Redo of what the manifest has listed; merges may have taken the files since.
            return Ok(());
        }
        let known = self.layout().runs();
        let mut attached = Vec::new();
        let early = files.iter().filter_map(|file| known.get(file)).filter(|run| run.attached_at() == Timestamp::MAX);
        early.for_each(|run| run.attach_at(ts));
        for &file in files.iter().filter(|file| !known.contains_key(file)) {
            let built = self.built.lock().remove(&file);
            let run = built.map_or_else(|| self.files.open(file).map(Arc::new), Ok)?;
            run.attach_at(ts);
            attached.push(run);
        }
        if !attached.is_empty() {
            self.switch_attached(&attached);
            self.context.services.wake_jobs();
        }
        Ok(())
    }

    /// Takes back files that no commit record names.
    pub fn discard(&self, files: &BuiltFiles) {
        for file in &files.files {
            let run = self.built.lock().remove(file);
            if let Some(run) = run {
                run.retire();
            }
        }
    }
}

impl IndexBuild<'_> {
    /// Adds an entry.
    pub fn push(&mut self, value: &[u8], key: &[u8]) -> Result<()> {
        self.chunk.push(value, key);
        if self.chunk.memory_bytes() >= self.sort_bytes { self.end_chunk() } else { Ok(()) }
    }

    fn end_chunk(&mut self) -> Result<()> {
        self.chunk.charge();
        self.chunk.sort();
        let mut output = Cut::new(&self.store.files, self.store.context.options.range_bytes_max);
        for at in 0..self.chunk.places.len() {
            let bytes = self.chunk.entry(at);
            if at == 0 || bytes != self.chunk.entry(at - 1) {
                output.push(bytes, self.chunk.places[at].value_len as usize, self.ts)?;
            }
        }
        self.runs.0.append(&mut output.finish()?.0);
        self.chunk.clear();
        Ok(())
    }

    /// Makes everything durable.
    pub fn finish(mut self) -> Result<BuiltFiles> {
        if !self.chunk.places.is_empty() {
            self.end_chunk()?;
        }
        let ascend = |pair: &[Arc<Run>]| pair[0].footer.last.bytes < pair[1].footer.first.bytes;
        if !self.runs.0.windows(2).all(ascend) {
            self.runs = self.merge()?;
        }
        self.runs.0.iter().try_for_each(|run| run.seal())?;
        if !self.runs.0.is_empty() {
            self.store.context.services.files.sync_names()?;
        }
        reached(Step::INDEX_BUILD_FILES_SYNCED);
        let runs = std::mem::take(&mut self.runs.0);
        let files = BuiltFiles {
            files: runs.iter().map(|run| run.file).collect(),
            entries: runs.iter().map(|run| run.footer.entry_count).sum(),
        };
        // Dropped without being attached or discarded they stay until the next open, as any orphan does.
        self.store.built.lock().extend(runs.into_iter().map(|run| (run.file, run)));
        Ok(files)
    }

    fn merge(&self) -> Result<Runs> {
        let mut merged = Merged::new(Direction::Forward);
        let all = Arc::new(Span::default());
        for run in &self.runs.0 {
            let scan = RunScan::new(run.clone(), all.clone(), Direction::Forward, false);
            merged.add(Source::Run(Box::new(scan)))?;
        }
        let mut output = Cut::new(&self.store.files, self.store.context.options.range_bytes_max);
        let mut entry = EntryBuffer::default();
        while merged.next(&mut entry)? {
            output.push(&entry.bytes, entry.value_len, entry.ts)?;
        }
        output.finish()
    }
}

/// Sorted entries on their way into runs of at most half a range each.
struct Cut<'a> {
    files: &'a RunFiles,
    bytes_max: u64,
    writer: Option<RunWriter>,
    runs: Runs,
}

impl<'a> Cut<'a> {
    fn new(files: &'a RunFiles, range_bytes_max: u64) -> Cut<'a> {
        Cut { files, bytes_max: range_bytes_max / 2, writer: None, runs: Runs(Vec::new()) }
    }

    fn push(&mut self, bytes: &[u8], value_len: usize, ts: Timestamp) -> Result<()> {
        let writer = match &mut self.writer {
            Some(writer) => writer,
            none => none.insert(self.files.create(FilterShape::default())?),
        };
        writer.push(bytes, value_len, ts)?;
        if writer.bytes() >= self.bytes_max { self.end_run() } else { Ok(()) }
    }

    fn end_run(&mut self) -> Result<()> {
        if let Some(writer) = self.writer.take() {
            let run = Arc::new(writer.finish()?);
            self.runs.0.push(run.clone());
            // Here and not at the end: a run that is not durable keeps a handle of its own (data file 2).
            run.seal()?;
        }
        Ok(())
    }

    fn finish(mut self) -> Result<Runs> {
        self.end_run()?;
        Ok(Runs(std::mem::take(&mut self.runs.0)))
    }
}

impl Chunk {
    fn push(&mut self, value: &[u8], key: &[u8]) {
        let start = self.bytes.len() as u64;
        self.bytes.extend_from_slice(value);
        self.bytes.extend_from_slice(key);
        let len = u32::try_from(value.len() + key.len()).expect("an entry is shorter than 4 GiB");
        self.places.push(ChunkPlace { head: 0, start, len, value_len: value.len() as u32 });
        if self.places.len().is_multiple_of(4096) {
            self.charge();
        }
    }

    fn memory_bytes(&self) -> u64 {
        (self.bytes.len() + self.places.len() * size_of::<ChunkPlace>()) as u64
    }

    fn charge(&mut self) {
        let bytes = self.memory_bytes();
        assert!(bytes >= self.charged, "entries only come, until all are given back at once (build 2)");
        self.budget.charge(bytes - self.charged);
        self.charged = bytes;
    }

    fn entry(&self, at: usize) -> &[u8] {
        let place = self.places[at];
        &self.bytes[place.start as usize..][..place.len as usize]
    }

    fn sort(&mut self) {
        let Chunk { bytes, places, .. } = self;
        let entry = |place: &ChunkPlace| &bytes[place.start as usize..][..place.len as usize];
        let Some(first) = places.first().map(entry) else { return };
        let shared = places.iter().fold(first.len(), |shared, place| shared_len(&first[..shared], entry(place)));
        for place in places.iter_mut() {
            place.head = head(&entry(place)[shared..]);
        }
        places.sort_unstable_by(|a, b| a.head.cmp(&b.head).then_with(|| entry(a).cmp(entry(b))));
        debug_assert!(places.is_sorted_by(|a, b| entry(a) <= entry(b)), "heads are in the order of their entries");
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.places.clear();
        // Given back once, also by who is stopped in the middle of it.
        self.budget.release(std::mem::take(&mut self.charged));
    }
}

impl Drop for Chunk {
    fn drop(&mut self) {
        self.budget.release(self.charged);
    }
}
