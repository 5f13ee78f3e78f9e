//! An index: its layout, its locks, and how entries come in and are read.
//!
//! ```text
//!   add       layout lock, shared { active memory }                          never waits for I/O
//!   freeze    C = published, then layout lock { active memory joins the frozen ones · a new one from C }
//!   readers   clone the Arc of the layout ──────────────────────────▶ read what they pinned
//!   jobs      read pinned inputs · write files · edit lock { manifest edit · layout lock { switch } }
//! ```
//!
//! 1. Entries of a commit are added before its timestamp is published, and C is read before the memory is swapped: all
//!    entries up to C are in frozen memories or files, whoever adds meanwhile.
//! 2. Adding is idempotent: redo may add again what files have.
//! 3. The cut never goes back; everything up to it is in files that a durable edit names.
//! 4. Entries are never taken back when rows change. Readers look at the row; merges ask [`Keep`](super::Keep).
//!
//! Concurrency, outermost first: edit lock → layout lock. The edit lock is held across the manifest's I/O; nobody who
//! adds or reads waits for it. One flush at a time, oldest memory first; merges of different ranges beside each other
//! and beside it.
//!
//! Crash: memories are gone, redo adds their entries again from the log behind the cut; listed files are whole. Where
//! redo cannot read the table the log stays from the cut on, whatever the table's own cut is.
//!
//! Source: SG-ColBase, sections 3 and 5; DESIGN section 5 (Indexes).

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use weft_contract::{Damage, Direction, RecoveredTable};
use weft_env::sync::{Mutex, RwLock};
use weft_format::{Error, FileId, Result, Timestamp};

use super::batch::Batch;
use super::cursor::Cursor;
use super::entry::Span;
use super::layout::{Layout, Range};
use super::memory::{Added, Memory};
use super::options::IndexContext;
use super::payload::FileSet;
use super::run::Run;
use super::run_writer::RunFiles;
use crate::fault::{Fault, active};

/// An index's storage.
pub struct IndexStore {
    pub(super) context: IndexContext,
    pub(super) files: RunFiles,
    pub(super) layout: RwLock<Arc<Layout>>,
    /// The edit lock: whoever changes what the manifest says of this index.
    pub(super) editing: Mutex<()>,
    /// Changes under the edit lock.
    cut: AtomicU64,
    /// Below it merges may have left out entries that a snapshot needs: those of a writer that is followed, which looks
    /// at its own snapshots alone (follow 4).
    floor: AtomicU64,
    /// The cut stays at or below it: the table was given up behind it.
    cut_max: AtomicU64,
    /// Redo could not feed it: its table cannot be used, and neither can it until the next open.
    is_unfed: AtomicBool,
    pub(super) flushing: AtomicBool,
    /// Where ranges begin that are being merged: nobody else merges or splits them.
    pub(super) merging: Mutex<BTreeSet<Arc<[u8]>>>,
    /// Files of bulk builds that nobody attached yet.
    pub(super) built: Mutex<BTreeMap<FileId, Arc<Run>>>,
    pub(super) dropped: AtomicBool,
    /// Misses and false positives of runs that are gone.
    pub(super) retired: [AtomicU64; 2],
}

impl IndexStore {
    /// A new index (`recovered` is empty), or one that the manifest knows.
    pub fn open(context: IndexContext, recovered: &RecoveredTable) -> Result<IndexStore> {
        let files = RunFiles {
            index: context.id,
            env: context.env.clone(),
            services: context.services.clone(),
            block_bytes: context.options.block_bytes,
        };
        let ranges = open_ranges(&context, &files, recovered)?;
        let budget = context.services.row_budget().clone();
        let active = Memory::new(1, recovered.cut, context.options.memory_bytes, budget);
        Ok(IndexStore {
            files,
            layout: RwLock::new(Arc::new(Layout::new(Arc::new(active), Vec::new(), ranges))),
            editing: Mutex::new(()),
            cut: AtomicU64::new(recovered.cut.0),
            floor: AtomicU64::new(0),
            cut_max: AtomicU64::new(u64::MAX),
            is_unfed: AtomicBool::new(false),
            flushing: AtomicBool::new(false),
            merging: Mutex::new(BTreeSet::new()),
            built: Mutex::new(BTreeMap::new()),
            dropped: AtomicBool::new(false),
            retired: Default::default(),
            context,
        })
    }

    /// Adds an entry of a commit that is being installed (before it is published) or redone. A second time it keeps the
    /// greater timestamp.
    pub fn add(&self, value: &[u8], key: &[u8], ts: Timestamp) {
        self.add_with(ts, |memory| memory.add(value, key, ts));
    }

    /// Adds entries of a commit, sorted: as [`IndexStore::add`].
    pub(super) fn add_sorted(&self, entries: Batch, ts: Timestamp) {
        debug_assert!((0..entries.len()).all(|at| entries.ts(at) == ts), "the entries of a commit have its timestamp");
        self.add_with(ts, |memory| memory.add_sorted(entries));
    }

    fn add_with(&self, ts: Timestamp, add: impl FnOnce(&Memory) -> Added) {
        let limit = self.context.options.memory_bytes;
        let (added, merged) = {
            let guard = self.layout.read();
            if active(Fault::INDEX_ADD_UNGUARDED) {
                let memory = guard.active.clone();
                drop(guard);
                // Two times a point where others may go on.
                drop((self.layout(), self.layout()));
                (add(&memory), None)
            } else {
                let added = add(&guard.active);
                (added, added.can_merge.then(|| guard.active.clone()))
            }
        };
        if let Some(memory) = merged {
            memory.merge_pieces();
        }
        // Redo is behind what other tables have published: C would promise entries that are still to come (store 1).
        if added.bytes >= limit && ts > self.context.services.published() {
            self.freeze_when(|memory| memory.bytes() >= limit);
            self.context.services.wake_jobs();
        }
    }

    /// Freezes what is in memory, so that jobs can carry it to files. Quick.
    pub fn freeze(&self) {
        self.freeze_when(|memory| memory.entry_count() > 0);
    }

    fn freeze_when(&self, test: impl Fn(&Memory) -> bool) {
        let services = &self.context.services;
        let mut layout = self.layout.write();
        // Under the lock: of two that freeze one after the other, the later one begins its memory no earlier.
        let to = if active(Fault::INDEX_CUT_TOO_HIGH) { services.last_sequenced() } else { services.published() };
        let full = &layout.active;
        if full.entry_count() == 0 {
            full.begin_at(to);
        } else if test(full) {
            let next = {
                let (bytes_max, budget) = (self.context.options.memory_bytes, services.row_budget().clone());
                Memory::new(full.number + 1, to, bytes_max, budget)
            };
            let mut frozen = layout.frozen.clone();
            frozen.push(full.clone());
            *layout = Arc::new(Layout::new(Arc::new(next), frozen, layout.ranges.clone()));
        }
    }

    /// The entries whose values lie between two bounds, in order of value and key, as of now. A bound that is only the
    /// beginning of values stands for all values that begin so. Entries may be outdated: look at the row.
    pub fn scan(&self, low: Bound<&[u8]>, high: Bound<&[u8]>, direction: Direction) -> Result<Cursor> {
        Ok(Cursor::new(self.layout(), Span::of_values(low, high), direction))
    }

    /// The entries of one whole value, in order of key; runs whose filter denies the value are not read.
    pub fn lookup(&self, value: &[u8]) -> Result<Cursor> {
        let span = Span::of_values(Bound::Included(value), Bound::Included(value));
        Ok(Cursor::lookup(self.layout(), span, value))
    }

    /// An entry of this value is outdated or will be soon: a writer gave its row another value or deleted it, or a
    /// reader found it so. Many of these make a merge look for entries that nobody needs.
    pub fn note_stale(&self, value: &[u8]) {
        let layout = self.layout.read();
        layout.ranges[layout.range_of(value)].stale.note();
    }

    /// Every entry with a timestamp up to this one is in files named by a durable manifest; [`Timestamp::MAX`] when
    /// nothing is waiting. The log before the lowest of these can go.
    pub fn durable_cut(&self) -> Timestamp {
        let layout = self.layout();
        if self.is_dropped() {
            return Timestamp::MAX;
        }
        if self.is_unfed.load(Ordering::Acquire) {
            return self.cut();
        }
        let memories = layout.memories().filter(|memory| memory.entry_count() > 0).map(|memory| memory.from());
        let runs = layout.runs();
        let unlisted = runs.values().filter(|run| !run.is_listed()).map(|run| Timestamp(run.attached_at().0 - 1));
        memories.chain(unlisted).min().map_or(Timestamp::MAX, |lowest| lowest.max(self.cut()))
    }

    /// Redo could not read the rows of its table that the commit of `ts` changed: the next open feeds it from there on.
    pub(crate) fn leave_unfed(&self, ts: Timestamp) {
        if ts > self.cut() && !active(Fault::CUT_UNFED) {
            self.is_unfed.store(true, Ordering::Release);
            self.hold_cut_before(ts);
        }
    }

    /// The cut stays before a commit that is not published yet: the next open feeds the index from there on.
    pub(crate) fn hold_cut_before(&self, ts: Timestamp) {
        assert!(ts > Timestamp(0), "commits are numbered from 1 on");
        self.cut_max.fetch_min(ts.0 - 1, Ordering::AcqRel);
    }

    /// Up to where the cut may go.
    pub(super) fn cut_max(&self) -> Timestamp {
        Timestamp(self.cut_max.load(Ordering::Acquire))
    }

    /// Gives its memory back, of an index that no snapshot has seen or will see.
    pub(crate) fn empty(&self) {
        let _memories = {
            let mut layout = self.layout.write();
            let (number, from) = (layout.active.number + 1, layout.active.from());
            let (bytes_max, budget) = (self.context.options.memory_bytes, self.context.services.row_budget().clone());
            let active = Arc::new(Memory::new(number, from, bytes_max, budget));
            let next = Arc::new(Layout::new(active, Vec::new(), layout.ranges.clone()));
            std::mem::replace(&mut *layout, next)
        };
    }

    /// Marks the index dropped: nothing new is offered, its files go when the last reader lets go.
    pub fn drop_files(&self) {
        self.dropped.store(true, Ordering::Release);
        self.layout().runs().values().for_each(|run| run.retire());
        std::mem::take(&mut *self.built.lock()).values().for_each(|run| run.retire());
    }

    /// The runs that could not be read when they were needed last.
    pub(crate) fn damage(&self) -> Vec<Damage> {
        let runs = self.layout().runs();
        let failed = |run: &Arc<Run>| run.failure().map(|error| Damage { file: Some(run.file), error });
        runs.values().filter_map(failed).collect()
    }

    pub(super) fn is_dropped(&self) -> bool {
        self.dropped.load(Ordering::Acquire)
    }

    /// Pins the present layout.
    pub(super) fn layout(&self) -> Arc<Layout> {
        self.layout.read().clone()
    }

    /// Whether a snapshot finds its rows in the layout that was pinned before this is asked.
    pub(crate) fn shows(&self, read_ts: Timestamp) -> bool {
        self.floor.load(Ordering::Acquire) <= read_ts.0
    }

    /// Raises the floor; before the layout changes.
    pub(super) fn raise_floor(&self, floor: Timestamp) {
        self.floor.fetch_max(floor.0, Ordering::AcqRel);
    }

    /// The durable cut of the manifest.
    pub(crate) fn cut(&self) -> Timestamp {
        Timestamp(self.cut.load(Ordering::Acquire))
    }

    /// Moves the cut; the caller holds the edit lock and the edit is durable.
    pub(super) fn set_cut(&self, cut: Timestamp) {
        let before = self.cut.swap(cut.0, Ordering::AcqRel);
        assert!(before <= cut.0, "the cut never goes back (index store 3)");
    }
}

fn open_ranges(context: &IndexContext, files: &RunFiles, recovered: &RecoveredTable) -> Result<Vec<Range>> {
    let set = FileSet::from_payloads(&recovered.payloads)?;
    let mut listed = recovered.files.clone();
    listed.sort_unstable();
    if !listed.iter().eq(set.files.keys()) {
        let name = &context.name;
        return Err(Error::corrupt(format!("the manifest lists other files for index \"{name}\" than its payloads")));
    }
    let mut runs = BTreeMap::new();
    for (file, entry) in &set.files {
        let run = files.open(*file)?;
        if run.footer.entry_count != entry.entry_count {
            let (found, listed) = (run.footer.entry_count, entry.entry_count);
            return Err(run.named(&Error::corrupt(format!("it has {found} entries, the manifest says {listed}"))));
        }
        run.attach_at(entry.attached_at);
        run.set_listed();
        runs.insert(*file, Arc::new(run));
    }
    let open = |(low, files): (&Vec<u8>, &Vec<FileId>)| {
        Range::new(low.as_slice().into(), files.iter().map(|file| runs[file].clone()).collect())
    };
    let ranges: Vec<Range> = set.ranges.iter().map(open).collect();
    Ok(if ranges.is_empty() { vec![Range::new(Arc::default(), Vec::new())] } else { ranges })
}
