//! Background work on an index: what could run now, and running it.
//!
//! ```text
//!   flush #4   memory 4 is frozen with 90,000 entries       → one run, read by all the ranges that it reaches into
//!   merge      range "k": 6 runs, 5 of them small           → one run of the range; entries nobody needs are left out
//! ```
//!
//! 1. A merge asks [`Keep`](super::Keep) about entries that every snapshot is behind: added at or before the horizon as
//!    of the merge's start. Younger ones stay. Where hardly an entry was noted as outdated it asks about none: each
//!    answer costs a point read.
//! 2. Which of a range's runs are merged does not matter: a repeated entry keeps its greatest timestamp, and nothing is
//!    ever deleted by an entry.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use weft_contract::{Direction, JobKind, JobOffer, Price};
use weft_format::bloom::hash_bytes;
use weft_format::{FileId, Result, Timestamp};

use super::entry::{EntryBuffer, Span};
use super::filter::FilterShape;
use super::job_steps::{JobStep, JobSteps};
use super::layout::{Layout, Range, range_span};
use super::memory::{Memory, MemoryScan};
use super::merged::{Merged, Source};
use super::pick::{MergePick, RunShape, pick_merge};
use super::publish::Outcome;
use super::run::Run;
use super::run_scan::RunScan;
use super::run_writer::RunWriter;
use super::store::IndexStore;
use crate::fault::{Fault, active};

/// Frozen memory of an index → a sorted run.
const FLUSH: JobKind = JobKind::freeing("index flush");
/// Sorted runs of a range of an index → one, without entries that nobody needs.
const MERGE: JobKind = JobKind::tidying("index merge");
/// The kinds of jobs that indexes have.
pub const JOB_KINDS: [JobKind; 2] = [FLUSH, MERGE];

/// Bytes of memory that one core writes as a run in a microsecond, about.
const FLUSH_BYTES_PER_US: u64 = 100;
/// Bytes of runs that one core merges in a microsecond, about.
const MERGE_BYTES_PER_US: u64 = 50;
/// What a run less is worth, in rows that are read in vain.
const RUN_ROWS: u64 = 1000;
/// A merge looks for outdated entries when one in so many is noted as such.
const STALE_RATIO: u64 = 64;
/// The number of the flush that only lists attached files.
const LIST_NUMBER: u64 = 0;

impl IndexStore {
    /// The jobs that could run now. A pure look at the layout: quick, no I/O.
    pub fn jobs(&self) -> Vec<JobOffer> {
        if self.is_dropped() {
            return Vec::new();
        }
        let layout = self.layout();
        let mut offers: Vec<JobOffer> = self.flush_offer(&layout).into_iter().collect();
        let (merging, horizon) = (self.merging.lock().clone(), self.context.horizon.peek());
        for range in (0..layout.ranges.len()).filter(|&range| !merging.contains(&layout.ranges[range].low)) {
            let Some((inputs, pick)) = self.merge_of(&layout, range, horizon) else { continue };
            let low = &layout.ranges[range].low;
            let bytes: u64 = inputs.iter().map(|run| run.footer.share(low, layout.range_end(range)).1).sum();
            let stale = layout.ranges[range].stale.noted();
            let price = Price {
                cpu_us: bytes / MERGE_BYTES_PER_US,
                read_bytes: bytes,
                write_bytes: bytes,
                dead_rows: stale + inputs.len() as u64 * RUN_ROWS,
                ..Price::default()
            };
            let (table, number, reason) = (self.context.id, hash_bytes(low), pick.reason);
            offers.push(JobOffer { table, kind: MERGE, number, price, reason });
        }
        offers
    }

    /// Runs an offered job to its end, in the caller's thread. Ok when the job is no longer needed, too.
    pub fn run(&self, offer: &JobOffer) -> Result<()> {
        match offer.kind {
            FLUSH => self.run_flush(offer.number),
            MERGE => self.run_merge(offer.number),
            _ => Ok(()),
        }
    }

    fn flush_offer(&self, layout: &Layout) -> Option<JobOffer> {
        if self.flushing.load(Ordering::Acquire) {
            return None;
        }
        let (number, bytes, reason) = match layout.frozen.first() {
            Some(memory) => {
                let (entries, waiting) = (memory.entry_count(), layout.frozen.len());
                let reason = format!("memory {} is frozen with {entries} entries, {waiting} wait", memory.number);
                (memory.number, memory.bytes(), reason)
            }
            None => {
                let count = self.unlisted_count();
                (count > 0).then(|| (LIST_NUMBER, 0, format!("{count} attached files are not listed yet")))?
            }
        };
        let price = Price {
            cpu_us: bytes / FLUSH_BYTES_PER_US,
            write_bytes: bytes / 4,
            memory_freed_bytes: bytes,
            log_released_bytes: bytes,
            ..Price::default()
        };
        Some(JobOffer { table: self.context.id, kind: FLUSH, number, price, reason })
    }

    /// Attached files that an edit could list now.
    fn unlisted_count(&self) -> usize {
        let (cut, layout) = self.reachable_cut(None);
        let runs = layout.ranges.iter().flat_map(|range| &range.runs);
        if runs.clone().all(|run| run.is_listed()) {
            return 0;
        }
        layout.runs().values().filter(|run| !run.is_listed() && run.attached_at() <= cut).count()
    }

    fn run_flush(&self, number: u64) -> Result<()> {
        if self.flushing.swap(true, Ordering::AcqRel) {
            return Ok(());
        }
        let _flushing = Flushing(self);
        match self.layout().frozen.first() {
            _ if self.is_dropped() => Ok(()),
            Some(memory) if memory.number == number => self.flush(memory),
            None if number == LIST_NUMBER && self.unlisted_count() > 0 => {
                self.publish(&Outcome { outputs: &[], merged: None, memory: None, job: JobSteps::Flush })
            }
            _ => Ok(()),
        }
    }

    fn flush(&self, memory: &Arc<Memory>) -> Result<()> {
        assert!(self.flushing.load(Ordering::Acquire), "one flush at a time (index store)");
        let mut scan = MemoryScan::new(memory.clone(), Arc::new(Span::default()), Direction::Forward);
        let mut writer = self.files.create(FilterShape::default())?;
        while scan.advance() {
            let EntryBuffer { bytes, value_len, ts } = scan.current();
            writer.push(bytes, *value_len, *ts)?;
        }
        let output = self.finish(Some(writer), JobSteps::Flush)?;
        let outputs = output.as_slice();
        self.publish(&Outcome { outputs, merged: None, memory: Some(memory), job: JobSteps::Flush })
    }

    /// Makes a run durable. When that fails it goes again.
    fn finish(&self, writer: Option<RunWriter>, job: JobSteps) -> Result<Option<Arc<Run>>> {
        let run = writer.map(RunWriter::finish).transpose()?.map(Arc::new);
        job.reached(JobStep::FilesWritten);
        if let Some(run) = &run {
            let synced = run.seal().and_then(|()| self.context.services.files.sync_names());
            synced.inspect_err(|_| run.retire())?;
        }
        job.reached(JobStep::FilesSynced);
        Ok(run)
    }

    /// The merge that a range needs now: its inputs, and why.
    fn merge_of(&self, layout: &Layout, range: usize, horizon: Timestamp) -> Option<(Vec<Arc<Run>>, MergePick)> {
        let Range { low, runs, stale } = &layout.ranges[range];
        let high = layout.range_end(range);
        let runs: Vec<&Arc<Run>> = runs.iter().filter(|run| run.is_listed()).collect();
        if runs.iter().any(|run| run.is_set_back()) {
            return None;
        }
        let shape = |run: &&Arc<Run>| {
            let ((entries, bytes), (misses, false_positives)) = (run.footer.share(low, high), run.misses());
            RunShape { bytes, entries, misses, false_positives, filter_bits: run.footer.filter.bits }
        };
        let shapes: Vec<RunShape> = runs.iter().map(shape).collect();
        let pick = pick_merge(&shapes, stale.due(horizon), &self.context.options)?;
        Some((pick.inputs.iter().map(|&at| runs[at].clone()).collect(), pick))
    }

    fn run_merge(&self, number: u64) -> Result<()> {
        let Some((claim, layout)) = self.claim(number) else { return Ok(()) };
        let range = layout.range_of(&claim.low);
        match self.merge_of(&layout, range, self.context.horizon.peek()) {
            Some((inputs, pick)) if !self.is_dropped() => self.merge(&layout, range, &inputs, &pick),
            _ => Ok(()),
        }
    }

    /// Takes a range for a merge, and the layout in which nobody else changes its listed runs or its end.
    fn claim(&self, number: u64) -> Option<(Claim<'_>, Arc<Layout>)> {
        // Not between an edit's plan, which may split the range, and its switch.
        let _editing = self.editing.lock();
        let layout = self.layout();
        let low = layout.ranges.iter().map(|range| &range.low).find(|low| hash_bytes(low) == number)?.clone();
        let free = self.merging.lock().insert(low.clone());
        free.then(|| (Claim { store: self, low }, layout))
    }

    fn merge(&self, layout: &Layout, range: usize, inputs: &[Arc<Run>], pick: &MergePick) -> Result<()> {
        assert!(!inputs.is_empty(), "a merge has inputs");
        assert!(inputs.iter().all(|run| run.is_listed()), "only what is listed is merged (publish 2)");
        debug_assert!(!pick.rebuilds_filter || inputs.len() == 1, "a filter is rebuilt for the run that has it");
        let Range { low, stale, .. } = &layout.ranges[range];
        let (noted, published) = (stale.noted(), self.context.services.published());
        let entries: u64 = inputs.iter().map(|run| run.footer.share(low, layout.range_end(range)).0).sum();
        let asks = noted > 0 && noted * STALE_RATIO >= entries;
        // Only who asks leaves entries out.
        let horizon = if asks { self.context.horizon.advance(Timestamp::MAX) } else { self.context.horizon.peek() };
        let span = Arc::new(range_span(&layout.ranges, range));
        let mut merged = Merged::new(Direction::Forward);
        for run in inputs {
            let scan = RunScan::new(run.clone(), span.clone(), Direction::Forward, false);
            merged.add(Source::Run(Box::new(scan)))?;
        }
        let best = |a: FilterShape, b: FilterShape| FilterShape { bits: a.bits.max(b.bits), seed: a.seed.max(b.seed) };
        let filter = inputs.iter().map(|run| run.footer.filter).fold(FilterShape::default(), best);
        let filter = if pick.rebuilds_filter { filter.rebuilt() } else { filter };
        let (mut writer, mut young): (Option<RunWriter>, u64) = (None, 0);
        let mut buffer = EntryBuffer::default();
        while merged.next(&mut buffer)? {
            let entry = buffer.entry();
            let seen = entry.ts <= horizon || active(Fault::INDEX_ASKS_TOO_EARLY);
            young += u64::from(!seen);
            if asks && seen && !self.context.keep.keep(entry.value, entry.key, entry.ts)? {
                continue;
            }
            let writer = match &mut writer {
                Some(writer) => writer,
                none => none.insert(self.files.create(filter)?),
            };
            writer.push(&buffer.bytes, buffer.value_len, buffer.ts)?;
        }
        let output = self.finish(writer, JobSteps::Merge)?;
        let files: Vec<FileId> = inputs.iter().map(|run| run.file).collect();
        let (outputs, merged, job) = (output.as_slice(), Some((low, &files[..])), JobSteps::Merge);
        self.publish(&Outcome { outputs, merged, memory: None, job })?;
        if pick.whole && asks {
            stale.looked(noted, young, published);
        }
        Ok(())
    }
}

/// A flush under way.
struct Flushing<'a>(&'a IndexStore);

impl Drop for Flushing<'_> {
    fn drop(&mut self) {
        let was_set = self.0.flushing.swap(false, Ordering::AcqRel);
        debug_assert!(was_set, "one flush at a time (index store)");
    }
}

/// A range taken for a merge.
struct Claim<'a> {
    store: &'a IndexStore,
    low: Arc<[u8]>,
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        let was_taken = self.store.merging.lock().remove(&self.low);
        debug_assert!(was_taken, "a range is taken for a merge until that ends");
    }
}
