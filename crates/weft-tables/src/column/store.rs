//! A `column` table: its layout, its locks, and how the one layout is switched for the next.
//!
//! ```text
//!   readers   clone the Arc of the layout ──────────────────────────▶ read what they pinned
//!   writers   mark lock { find old versions · end them · put new ones into the row table of their timestamp }
//!   jobs      read pinned inputs · write files · edit lock { manifest edit · mark lock { carry over · switch } }
//! ```
//!
//! Invariants are those of DESIGN section 5, by their numbers there; where each is kept:
//!
//! 1. The kernel registers a view's timestamp before it calls a reader; readers pin the layout first thing
//!    ([`Store::layout`]) and never look at another.
//! 2. [`Store::switch`] is the only place that changes the pointer; outputs and inputs change in one switch.
//! 3. `publish.rs`, under the mark lock, from lists of new marks.
//! 4. The kernel publishes after [`apply`](weft_contract::Write::apply) returned.
//! 5. [`Store::freeze_active`].
//! 6. [`newest`](weft_contract::Read::newest) looks at the newest version; the kernel holds the key's lock.
//! 7. `publish.rs`: one manifest edit with the cut; files are removed by [`Part`]'s last reference, after the edit.
//! 8. [`Layout::find_again`], under the mark lock.
//! 9. [`Part::find`] and the scans.
//!
//! Concurrency, outermost first: edit lock → mark lock → layout pointer → marks of a part, chunks of a row table.
//! Readers take only the last two, for as long as it takes to copy. The claim lock is held while a job is chosen, and
//! only the last two are taken under it. The edit lock is held across the manifest's I/O;
//! nobody who commits waits for it.
//!
//! Crash: row tables and unlisted marks are gone, redo brings them back from the log; listed files and marks are
//! exactly the snapshot at the cut.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use weft_contract::RecoveredTable;
use weft_env::sync::{Mutex, RwLock};
use weft_format::table::{ColumnTable, ColumnTableOptions};
use weft_format::{Error, FileId, KeyCodec, Result, RowCodec, Schema, Timestamp};
use weft_kernel::Horizon;
use weft_kernel::TableDef;
use weft_kernel::fault::active;
use weft_kernel::method::TableContext;

use crate::given_up::GivenUp;

use super::borders::Borders;
use super::columns::{Columns, Placed, fault_of};
use super::faults;
use super::file_writer::FileWriter;
use super::layout::{Layout, Rows};
use super::options::{Incremental, Options};
use super::part::Part;
use super::payload::PartSet;
use super::row_table::RowTable;
use super::together::{Together, Turnover};
use super::unseen::Unseen;

/// The table's newest definition, and what follows from it: what is written has its columns (schema 1).
pub(crate) struct Shape {
    pub(crate) schema: Arc<Schema>,
    pub(crate) codec: RowCodec,
    pub(crate) writer: FileWriter,
    /// Snapshots before it may know columns that are dropped in it.
    pub(crate) since: Timestamp,
}

impl Shape {
    fn new(context: &TableContext, options: &Options, since: Timestamp) -> Result<Shape> {
        let schema = context.def.schema.clone();
        let file_options = ColumnTableOptions {
            bloom_columns: options.bloom_ordinals(&schema)?,
            summaries_from_bytes: options.summaries_from_bytes(),
            ..Default::default()
        };
        let codec = RowCodec::new(&schema);
        Ok(Shape { codec, writer: FileWriter::new(context.clone(), file_options), schema, since })
    }

    /// From where on snapshots know none of the columns that were dropped; the start of time when none was.
    pub(crate) fn last_drop(&self) -> Timestamp {
        let has_dropped = (0..self.schema.columns.len()).any(|ordinal| self.schema.is_dropped(ordinal));
        if has_dropped { self.since } else { Timestamp(0) }
    }

    /// The same, as far as no snapshot is before it now.
    pub(crate) fn forgets_at(&self, horizon: &Horizon) -> Timestamp {
        horizon.advance(self.last_drop())
    }

    /// Whether the values of a column need not be kept: it was dropped, and no snapshot knows it any more.
    pub(crate) fn is_forgotten(&self, ordinal: usize, horizon: Timestamp) -> bool {
        self.schema.is_dropped(ordinal) && self.since <= horizon
    }
}

/// One table stored by method `column`.
pub(crate) struct Store {
    pub(crate) context: TableContext,
    pub(crate) options: Options,
    /// A row table of this size is frozen.
    pub(crate) row_table_bytes: u64,
    /// Blind writes of which column tables may have what they replace, unmarked.
    pub(crate) unseen: Unseen,
    shape: RwLock<Arc<Shape>>,
    pub(crate) keys: KeyCodec,
    layout: RwLock<Arc<Layout>>,
    /// The mark lock: whoever ends versions, puts versions in or switches the layout.
    pub(crate) marking: Mutex<()>,
    /// The edit lock: whoever changes what the manifest says of this table.
    pub(crate) editing: Mutex<()>,
    /// Everything up to here is in files named by a durable manifest. Changes under the edit lock.
    cut: AtomicU64,
    /// The latest timestamp that changed the table. Changes under the mark lock.
    last_change: AtomicU64,
    /// The claim lock: whoever decides which parts a job takes, or lets go of them.
    pub(crate) claiming: Mutex<()>,
    /// A conversion is under way; there is one at a time, oldest row table first.
    pub(crate) converting: AtomicBool,
    pub(crate) dropped: AtomicBool,
    /// Its rows are those of another table, which feeds them (`derived.rs`).
    pub(crate) is_derived: bool,
    /// Since when a commit could not be installed.
    pub(crate) given_up: GivenUp,
    /// What the values of its files are like.
    pub(crate) together: Together,
    /// Bulk-built parts that no installation has taken yet.
    pub(crate) built: Mutex<Vec<Arc<Part>>>,
    /// The layout before the present one: what a reader that does it in the wrong order would pin.
    #[cfg(feature = "faults")]
    stale: Mutex<Option<Arc<Layout>>>,
}

impl Store {
    /// A new table, or one that the manifest knows.
    pub(crate) fn open(context: TableContext, recovered: &RecoveredTable) -> Result<Store> {
        let options = Options::parse(&context.def.options)?;
        let row_table_bytes = options.row_table_bytes.unwrap_or(context.services.options().row_table_bytes);
        let schema = context.def.schema.clone();
        let shape = RwLock::new(Arc::new(Shape::new(&context, &options, Timestamp(0))?));
        let set = PartSet::from_payloads(&recovered.payloads)?;
        let mut files: Vec<FileId> = recovered.files.clone();
        files.sort_unstable();
        if !files.iter().eq(set.parts.keys()) {
            let name = &context.def.name;
            return Err(Error::corrupt(format!(
                "the manifest lists other files for table \"{name}\" than its payloads"
            )));
        }
        let active = RowTable::new(
            0,
            recovered.cut.next(),
            row_table_bytes,
            schema.columns.len(),
            context.services.row_budget().clone(),
        );
        let keys = KeyCodec::new(&schema);
        let empty = Arc::new(Layout::new(0, Arc::new(active), Vec::new(), Arc::default()));
        let store = Store {
            unseen: Unseen::default(),
            options,
            row_table_bytes,
            shape,
            keys,
            layout: RwLock::new(empty.clone()),
            marking: Mutex::new(()),
            editing: Mutex::new(()),
            claiming: Mutex::new(()),
            cut: AtomicU64::new(recovered.cut.0),
            last_change: AtomicU64::new(recovered.cut.0),
            converting: AtomicBool::new(false),
            dropped: AtomicBool::new(false),
            is_derived: false,
            given_up: GivenUp::new(faults::FORGET_GIVEN_UP),
            together: Together::new(context.services.account(), &context.env),
            built: Mutex::new(Vec::new()),
            #[cfg(feature = "faults")]
            stale: Mutex::new(None),
            context,
        };
        let columns = store.open_parts(&set, recovered.cut)?;
        store.together.note(Turnover { came: &columns.parts, went: &[] });
        *store.layout.write() = Arc::new(Layout::new(1, empty.active.clone(), Vec::new(), Arc::new(columns)));
        Ok(store)
    }

    /// Opens what the manifest lists.
    fn open_parts(&self, set: &PartSet, cut: Timestamp) -> Result<Columns> {
        let mut placed: Vec<Placed> = Vec::with_capacity(set.parts.len());
        for (file, (entry, dead)) in &set.parts {
            let attached_at = (entry.attached_at != Timestamp(0)).then_some(entry.attached_at);
            let part = self.open_part(*file, attached_at)?;
            if part.row_count() != entry.row_count {
                let (found, listed) = (part.row_count(), entry.row_count);
                return Err(Error::corrupt(format!("file {file} has {found} rows, the manifest says {listed}")));
            }
            part.marks.load(dead.iter().map(|&position| (position, cut)));
            part.set_listed();
            if entry.full {
                part.set_full();
            }
            placed.push((Arc::new(part), entry.layer));
        }
        let borders = Borders::new(set.borders.clone());
        if let Some(fault) = fault_of(&placed, &borders) {
            let name = &self.context.def.name;
            return Err(Error::corrupt(format!("the manifest's payloads of table \"{name}\" cannot be: {fault}")));
        }
        Ok(Columns::new(placed, borders))
    }

    /// The newest definition.
    pub(crate) fn shape(&self) -> Arc<Shape> {
        self.shape.read().clone()
    }

    pub(crate) fn schema(&self) -> Arc<Schema> {
        self.shape().schema.clone()
    }

    /// See [`Upkeep::evolve`](weft_contract::Upkeep::evolve).
    pub(crate) fn set_definition(&self, def: &Arc<TableDef>) {
        let context = TableContext { def: def.clone(), ..self.context.clone() };
        // Options that name a column that is gone are those of no column.
        let options = Options { bloom_columns: Vec::new(), ..self.options.clone() };
        let since = self.context.services.last_sequenced();
        let shape = Shape::new(&context, &self.options, since).or_else(|_| Shape::new(&context, &options, since));
        *self.shape.write() = Arc::new(shape.expect("a table without options has a shape"));
    }

    /// Opens a file of this table.
    pub(crate) fn open_part(&self, file: FileId, attached_at: Option<Timestamp>) -> Result<Part> {
        let TableContext { def, services, .. } = &self.context;
        let data = services.files().open(def.id, file)?;
        let table = ColumnTable::open(data.reader(), def.id, file, &self.schema())?;
        Ok(Part::new(table, data, attached_at, &self.context))
    }

    /// Pins the present layout (invariant 1: the caller's timestamp is registered already).
    pub(crate) fn layout(&self) -> Arc<Layout> {
        self.layout.read().clone()
    }

    /// The layout a scan pins.
    pub(crate) fn layout_for_scan(&self) -> Arc<Layout> {
        #[cfg(feature = "faults")]
        if active(faults::STALE_LAYOUT)
            && let Some(stale) = self.stale.lock().clone()
        {
            return stale;
        }
        self.layout()
    }

    /// Replaces the layout; the caller holds the mark lock.
    pub(crate) fn switch(&self, rows: Rows, columns: Arc<Columns>, turnover: Turnover<'_>) {
        let before = self.layout();
        self.switch_from(&before, rows, (columns, turnover), before.floor);
        #[cfg(feature = "faults")]
        if weft_kernel::fault::active(faults::STALE_LAYOUT) {
            *self.stale.lock() = Some(before);
        }
    }

    /// The same from a floor on, which never goes back.
    pub(crate) fn switch_from(
        &self,
        before: &Layout,
        Rows { active, frozen }: Rows,
        (columns, turnover): (Arc<Columns>, Turnover<'_>),
        floor: Timestamp,
    ) {
        assert!(floor >= before.floor, "the floor never goes back (layout 7)");
        assert!(active.number >= before.active.number, "a frozen row table never becomes active again (layout 2)");
        assert!(turnover.is_between(&before.columns, &columns), "a switch says which files come and go (together 7)");
        let next = Layout::new(before.number + 1, active, frozen, columns).with_floor(floor);
        *self.layout.write() = Arc::new(next);
        if !turnover.came.is_empty() || !turnover.went.is_empty() {
            self.together.note(turnover);
        }
    }

    /// The durable cut.
    pub(crate) fn cut(&self) -> Timestamp {
        Timestamp(self.cut.load(Ordering::Acquire))
    }

    /// Moves the cut; the caller holds the edit lock and the edit is durable.
    pub(crate) fn set_cut(&self, cut: Timestamp) {
        let before = self.cut.swap(cut.0, Ordering::AcqRel);
        assert!(before <= cut.0, "the cut never goes back (DESIGN invariant 7)");
    }

    /// The latest timestamp that changed the table.
    pub(crate) fn last_change(&self) -> Timestamp {
        Timestamp(self.last_change.load(Ordering::Acquire))
    }

    /// Notes that `ts` changed the table; the caller holds the mark lock.
    pub(crate) fn note_change(&self, ts: Timestamp) {
        self.last_change.fetch_max(ts.0, Ordering::AcqRel);
    }

    /// Versions that died at or before this timestamp are needed by no snapshot and by no redo.
    pub(crate) fn droppable(&self, cut: Timestamp) -> Timestamp {
        if active(faults::DROP_DEAD_TOO_EARLY) {
            return cut;
        }
        self.context.horizon.advance(cut)
    }

    /// Fixes F for the active row table and starts the next (invariant 5); the caller holds the mark lock. `to` is at
    /// or above every timestamp that was put in, and no timestamp at or below it is handed out any more.
    pub(crate) fn freeze_active(&self, to: Timestamp) {
        let layout = self.layout();
        if to < layout.active.from {
            return;
        }
        assert!(to >= self.last_change(), "F is at or above what was put in before (DESIGN invariant 5)");
        layout.active.freeze(to);
        let next = RowTable::new(
            layout.active.number + 1,
            to.next(),
            self.row_table_bytes,
            self.schema().columns.len(),
            self.context.services.row_budget().clone(),
        );
        let mut frozen = layout.frozen.clone();
        frozen.push(layout.active.clone());
        self.switch(Rows { active: Arc::new(next), frozen }, layout.columns.clone(), Turnover::default());
    }

    /// Whether the active row table has its size; never when row tables become columns only when they must.
    pub(crate) fn is_row_table_full(&self, layout: &Layout) -> bool {
        self.options.incremental != Incremental::Rows && layout.active.bytes() >= self.row_table_bytes
    }

    /// The oldest frozen row table, when it is complete: everything up to its F is published.
    pub(crate) fn convertible(&self, layout: &Layout) -> Option<Arc<RowTable>> {
        let oldest = layout.frozen.first()?;
        let to = oldest.frozen_at().expect("frozen row tables have their F (DESIGN invariant 5)");
        let is_complete = to <= self.context.services.published() || active(faults::CONVERT_TOO_EARLY);
        // Given up 2.
        (is_complete && !self.given_up.covers(to)).then(|| oldest.clone())
    }

    /// Marks dropped: nothing new is offered, files go with their last reader.
    pub(crate) fn mark_dropped(&self) {
        let _marking = self.marking.lock();
        self.dropped.store(true, Ordering::Release);
        self.layout().parts().iter().for_each(|part| part.retire());
    }

    pub(crate) fn is_dropped(&self) -> bool {
        self.dropped.load(Ordering::Acquire)
    }
}
