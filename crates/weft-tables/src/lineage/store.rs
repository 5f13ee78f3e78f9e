//! A `lineage` table: its layout, its locks, and how the one layout is switched for the next.
//!
//! ```text
//!   readers   clone the Arc of the layout ────────────────▶ read what they pinned
//!   writers   gate, shared { pin the layout · append to the tails of the commit's timestamp · loads into the base }
//!   freeze    gate, alone  { the end is fixed · the next tails begin }                     no I/O, no work by size
//!   merges    read frozen tails and base · write files · edit lock { manifest edit · layout lock { switch } }
//! ```
//!
//! 1. A reader's timestamp is registered before it pins the layout, and it never looks at another.
//! 2. A commit finds the tails of its timestamp: whoever freezes keeps writers out while the end is fixed, and every
//!    timestamp that was handed out before is at or below the end.
//! 3. Nothing that a merge does holds the gate: waits of writers are counted by whom they wait for (`gate`).
//!
//! Concurrency, outermost first: edit lock → gate → layout lock. A job is claimed by its flag.
//!
//! Crash: tails are gone, redo brings them back from the log; listed files are exactly the base as of the cut.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use weft_contract::RecoveredTable;
use weft_env::sync::{Mutex, RwLock};
use weft_format::{Error, KeyCodec, Result, RowCodec, Schema, Timestamp};
use weft_kernel::fault::active;
use weft_kernel::method::TableContext;
use weft_kernel::{EngineOptions, History, TableDef};

use crate::given_up::GivenUp;

use super::base::{Base, Summary};
use super::faults;
use super::files::OpenFile;
use super::gate::{Gate, GateWaits, Holder};
use super::key_run::KeyRun;
use super::layout::Layout;
use super::loaded::Built;
use super::options::Options;
use super::past::PastFile;
use super::payload::{Entry, FileSet};
use super::segment::Segment;
use super::shapes::{FIRST_PAGE, Shape as FileShape};
use super::tails::{RANGE_ROWS_MAX, Tails};
use super::version::Hops;

/// Tails are frozen at so many times the size of row tables,
const TAIL_ROW_TABLES: u64 = 4;
/// but at this part of the memory of rows.
const TAIL_PART: u64 = 8;

/// The table's newest definition.
pub(super) struct Shape {
    pub(super) schema: Arc<Schema>,
    pub(super) codec: RowCodec,
}

impl Shape {
    fn new(schema: &Arc<Schema>) -> Arc<Shape> {
        Arc::new(Shape { schema: schema.clone(), codec: RowCodec::new(schema) })
    }
}

/// One table stored by method `lineage`.
pub(crate) struct Store {
    pub(super) context: TableContext,
    pub(super) options: Options,
    pub(super) keys: KeyCodec,
    pub(super) hops: Hops,
    pub(super) tail_bytes: u64,
    shape: RwLock<Arc<Shape>>,
    layout: RwLock<Arc<Layout>>,
    /// Writers share it, whoever freezes has it alone (store 2).
    gate: Gate,
    /// Whoever changes what the manifest says of this table.
    pub(super) editing: Mutex<()>,
    /// The row id of the next row that is new.
    next_row_id: AtomicU64,
    /// The latest timestamp that changed the table.
    last_change: AtomicU64,
    /// A merge is under way; there is one at a time, oldest tails first.
    pub(super) merging: AtomicBool,
    dropped: AtomicBool,
    /// Since when a commit could not be installed.
    pub(super) given_up: GivenUp,
    /// Bulk loads that no commit has attached yet.
    pub(super) built: Mutex<Vec<Arc<Built>>>,
}

impl Store {
    /// A new table, or one that the manifest knows.
    pub(super) fn open(context: TableContext, recovered: &RecoveredTable, gate_waits: Arc<GateWaits>) -> Result<Store> {
        let options = Options::parse(&context.def.options)?;
        let tail_bytes = options.tail_bytes.unwrap_or_else(|| default_tail_bytes(context.services.options()));
        let schema = context.def.schema.clone();
        let set = FileSet::from_payloads(&recovered.payloads)?;
        let mut listed: Vec<_> = set.files.iter().map(|(file, _)| *file).collect();
        let mut files = recovered.files.clone();
        listed.sort_unstable();
        files.sort_unstable();
        if listed != files {
            let name = &context.def.name;
            return Err(Error::corrupt(format!(
                "the manifest lists other files for table \"{name}\" than its payloads"
            )));
        }
        let base = open_base(&context, &schema, options.segment_rows, &set, recovered.cut)?;
        let next_row_id = base.next_row_id();
        let store = Store {
            keys: KeyCodec::new(&schema),
            hops: Hops::default(),
            tail_bytes,
            shape: RwLock::new(Shape::new(&schema)),
            layout: RwLock::new(Arc::new(Layout::new(
                Arc::new(base),
                Vec::new(),
                Arc::new(new_tails(&context, &options, 0, recovered.cut.next())),
                Timestamp(0),
            ))),
            gate: Gate::new(gate_waits),
            editing: Mutex::new(()),
            next_row_id: AtomicU64::new(next_row_id),
            last_change: AtomicU64::new(recovered.cut.0),
            merging: AtomicBool::new(false),
            dropped: AtomicBool::new(false),
            given_up: GivenUp::new(faults::FORGET_GIVEN_UP),
            built: Mutex::new(Vec::new()),
            options,
            context,
        };
        let horizon = &store.context.horizon;
        horizon.known_from(store.layout().base.known_from);
        // The kernel promises what the definition says; without a word this method keeps everything.
        if store.options.history == History::All {
            horizon.keep_from(Timestamp(0));
        }
        Ok(store)
    }

    /// The newest definition.
    pub(super) fn shape(&self) -> Arc<Shape> {
        self.shape.read().clone()
    }

    /// See [`Upkeep::evolve`](weft_contract::Upkeep::evolve).
    pub(super) fn set_definition(&self, def: &Arc<TableDef>) {
        *self.shape.write() = Shape::new(&def.schema);
    }

    /// Pins the present layout (store 1).
    pub(super) fn layout(&self) -> Arc<Layout> {
        self.layout.read().clone()
    }

    /// Replaces the layout by what is made of the one before it.
    pub(super) fn switch(&self, make: impl FnOnce(&Layout) -> Layout) {
        let mut layout = self.layout.write();
        let next = make(&layout);
        assert!(next.base.cut >= layout.base.cut, "the cut never goes back (DESIGN invariant 7)");
        assert!(next.floor >= layout.floor, "the floor never goes back (layout 2)");
        *layout = Arc::new(next);
    }

    /// Lets a writer in: tails are not frozen meanwhile (store 2).
    pub(super) fn enter(&self) -> impl Drop + '_ {
        self.gate.enter(&*self.context.env.clock)
    }

    /// Keeps writers out.
    pub(super) fn close(&self, holder: Holder) -> impl Drop + '_ {
        self.gate.close(holder)
    }

    /// A row id that no row has.
    pub(super) fn take_row_id(&self) -> u64 {
        self.next_row_id.fetch_add(1, Ordering::Relaxed)
    }

    /// Takes all row ids of so many segments that nobody has a row id of; the first of them.
    pub(super) fn take_segments(&self, count: u64) -> u64 {
        let rows = u64::from(self.options.segment_rows);
        let taken = self
            .next_row_id
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |next| Some((next.div_ceil(rows) + count) * rows))
            .expect("it always says some");
        taken.div_ceil(rows)
    }

    /// Row ids below this one are taken.
    pub(super) fn next_row_id(&self) -> u64 {
        self.next_row_id.load(Ordering::Acquire)
    }

    /// Gives no row id below this one any more.
    pub(super) fn skip_row_ids(&self, below: u64) {
        self.next_row_id.fetch_max(below, Ordering::AcqRel);
    }

    /// The latest timestamp that changed the table.
    pub(super) fn last_change(&self) -> Timestamp {
        Timestamp(self.last_change.load(Ordering::Acquire))
    }

    /// Notes that `ts` changed the table; within the gate.
    pub(super) fn note_change(&self, ts: Timestamp) {
        self.last_change.fetch_max(ts.0, Ordering::AcqRel);
    }

    /// The durable cut.
    pub(super) fn cut(&self) -> Timestamp {
        self.layout().base.cut
    }

    /// What was replaced at or before this timestamp is asked for by nobody.
    pub(super) fn forgettable(&self, cut: Timestamp, known_from: Timestamp) -> Timestamp {
        if active(faults::FORGET_TOO_EARLY) {
            return cut;
        }
        self.context.horizon.advance(cut).max(known_from)
    }

    /// Whether active tails have their size.
    pub(super) fn is_full(&self, tails: &Tails) -> bool {
        tails.bytes() >= self.tail_bytes
    }

    /// Fixes the end of the active tails, and begins the next, when they have a change; `is_wanted` is asked once
    /// nobody is writing.
    pub(super) fn freeze_active(&self, is_wanted: impl FnOnce(&Layout) -> bool) {
        let number = self.layout().active.number + 1;
        let _gate = self.close(Holder::Freeze);
        let layout = self.layout();
        if layout.active.number >= number || layout.active.record_count() == 0 || !is_wanted(&layout) {
            return;
        }
        let to = self.context.services.last_sequenced().max(self.last_change());
        assert!(to >= self.last_change(), "the end is at or above what was put in (tails 1)");
        let next = Arc::new(new_tails(&self.context, &self.options, number, to.next()));
        self.switch(|layout| {
            assert!(layout.active.number < number, "tails are frozen once (tails 1)");
            // Under the layout lock: no merge finds active tails that have ended.
            layout.active.freeze(to);
            let mut frozen = layout.frozen.clone();
            frozen.push(layout.active.clone());
            Layout::new(layout.base.clone(), frozen, next, layout.floor)
        });
    }

    /// Tails that begin at a timestamp.
    pub(super) fn tails_from(&self, number: u64, from: Timestamp) -> Tails {
        new_tails(&self.context, &self.options, number, from)
    }

    /// The oldest frozen tails, when they are complete: everything up to their end is published.
    pub(super) fn mergeable(&self, layout: &Layout) -> Option<Arc<Tails>> {
        let oldest = layout.frozen.first()?;
        let to = oldest.frozen_at().expect("frozen tails have an end (tails 1)");
        let is_complete = to <= self.context.services.published() || active(faults::MERGE_TOO_EARLY);
        // Given up 2.
        (is_complete && !self.given_up.covers(to)).then(|| oldest.clone())
    }

    /// Marks dropped: nothing new is offered, files go with their last reader.
    pub(super) fn mark_dropped(&self) {
        self.dropped.store(true, Ordering::Release);
        let _editing = self.editing.lock();
        self.layout().base.files().iter().for_each(|file| file.retire());
    }

    pub(super) fn is_dropped(&self) -> bool {
        self.dropped.load(Ordering::Acquire)
    }
}

/// Several row tables: a merge rewrites pages of all segments that tails have records of, however few.
fn default_tail_bytes(engine: &EngineOptions) -> u64 {
    let part = engine.row_memory_bytes / TAIL_PART;
    (engine.row_table_bytes * TAIL_ROW_TABLES).min(part).max(engine.row_table_bytes)
}

fn new_tails(context: &TableContext, options: &Options, number: u64, from: Timestamp) -> Tails {
    let range_rows = options.segment_rows.min(RANGE_ROWS_MAX);
    Tails::new(number, from, range_rows, context.services.row_budget().clone())
}

/// Opens what payloads list.
pub(super) fn open_base(
    context: &TableContext,
    schema: &Arc<Schema>,
    segment_rows: u32,
    set: &FileSet,
    cut: Timestamp,
) -> Result<Base> {
    let (known_from, segments) = (set.known_from, Vec::new());
    let mut base = Base {
        cut,
        known_from,
        segments,
        keys: Vec::new(),
        past: Vec::new(),
        loaded: Vec::new(),
        segment_rows,
        summary: Summary::default(),
    };
    for (file, entry) in &set.files {
        add_file(&mut base, context, schema, *file, entry)?;
    }
    base.keys.sort_by_key(KeyRun::order);
    base.past.sort_by_key(|past| past.after);
    Ok(base)
}

/// Opens a file and puts it where it belongs.
pub(super) fn add_file(
    base: &mut Base,
    context: &TableContext,
    schema: &Arc<Schema>,
    file: weft_format::FileId,
    entry: &Entry,
) -> Result<()> {
    let open = |shape| OpenFile::open(context, file, shape, schema).map(Arc::new);
    match entry {
        Entry::Pages { segment, rows, alive, ordinals, born } => {
            let ordinals: Vec<usize> = ordinals.iter().map(|&ordinal| usize::from(ordinal)).collect();
            let opened = open(FileShape::Pages)?;
            if opened.table.column_count() != FIRST_PAGE + ordinals.len() {
                let found = opened.table.column_count();
                return Err(Error::corrupt(format!("file {file} has {found} columns, it is listed with others")));
            }
            if opened.table.row_count() != *rows || *rows > base.segment_rows {
                let found = opened.table.row_count();
                return Err(Error::corrupt(format!("file {file} has {found} rows, the manifest says {rows}")));
            }
            let next = match base.segment(*segment) {
                Some(before) if before.rows == *rows => before.with(*rows, *alive, opened, &ordinals),
                _ => Segment::new(*segment, *rows, *alive, *born, opened, &ordinals),
            };
            base.set_segment(*segment, Some(Arc::new(next)));
        }
        Entry::Keys { rank, offset } => {
            base.keys.push(KeyRun { rank: *rank, offset: *offset, file: open(FileShape::Keys)? });
        }
        Entry::History { after, to } => {
            base.past.push(PastFile { after: *after, to: *to, file: open(FileShape::History)? });
        }
    }
    Ok(())
}
