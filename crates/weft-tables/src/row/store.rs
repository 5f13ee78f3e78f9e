//! A `row` table: its tree of nodes, what has changed of it, and what rows were.
//!
//! ```text
//!   readers   structure shared { root ─▶ leaf, latch by latch }    leaf latched { the row, or what it was }
//!   writers   the same, the leaf latched alone { the old version to the undo · the new one in place }
//!   splits    structure alone { nodes latched { one record · all of them changed } }
//!   job       page by page { image to the log } · log durable · pages written · synced · edit {cut}
//! ```
//!
//! 1. Which keys a node has changes only while `structure` is held alone. Who holds it shared finds the leaf of a key;
//!    who has latched the leaf keeps it although `structure` was let go.
//! 2. A record is appended and what it changed is noted under one lock, which whoever asks what the log must keep
//!    takes, too.
//! 3. A commit changes leaves alone, and is in none before it is durable; rows of loads that nobody will see go when
//!    their leaves change. So nothing on a page is ever undone.
//!
//! Concurrency, outermost first: sweep, writing → structure → latches, a node above before those below it, left before
//! right → changes → space, undo, loads, swept. Who waits for the disk holds an empty frame's latch at most, or is the
//! job.
//!
//! Crash: pages on disk, their images and the changes of the tree in the log; then the commits beyond the cut, as ever.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};

use weft_contract::{RecoveredTable, TableDef};
use weft_env::sync::{Mutex, RwLock};
use weft_format::{Error, KeyCodec, RecordNo, Result, Timestamp};
use weft_kernel::EngineOptions;
use weft_kernel::method::TableContext;

use crate::given_up::GivenUp;

use super::bytes::{HEADER_BYTES, LoadedRow};
use super::faults;
use super::loads::{Loads, Sweep};
use super::node::{Node, ROOT};
use super::options::Options;
use super::pool::{Frame, Page, Pool, Pools};
use super::space::{Payload, Space};
use super::undo::Undo;

/// Changed pages are written at so many times the size of row tables,
const CHANGED_ROW_TABLES: u64 = 4;
/// but at this part of the memory of rows.
const CHANGED_PART: u64 = 8;
/// No timestamp.
const NEVER: u64 = u64::MAX;

/// A page that the file lacks.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Changed {
    /// The first record that the page on disk lacks.
    pub(super) needs: Option<RecordNo>,
}

/// What has changed since it was written.
#[derive(Default)]
pub(super) struct Changes {
    pub(super) pages: BTreeMap<u64, Changed>,
    /// The first record that the pages lack which the job writes at this moment.
    pub(super) written_from: Option<RecordNo>,
    /// The first record that the manifest's list of free pages lacks, when pages have what it says.
    pub(super) space_from: Option<RecordNo>,
    /// The first record that pages lack which were freed since the last edit (reshape 6).
    pub(super) freed_from: Option<RecordNo>,
    /// Leaves with rows that are dead.
    pub(super) with_dead: BTreeSet<u64>,
    /// The first record of rows of a load that are on no page on disk,
    pub(super) rows_from: Option<RecordNo>,
    /// that a job is writing,
    pub(super) rows_written_from: Option<RecordNo>,
    /// and whose rows go into the tree at this moment.
    pub(super) rows_in_hand: Option<RecordNo>,
    /// The first record of loads that the manifest lacks,
    pub(super) loads_from: Option<RecordNo>,
    /// and that an edit is about to have.
    pub(super) loads_written_from: Option<RecordNo>,
    /// A job is writing pages.
    pub(super) is_writing: bool,
}

impl Changes {
    fn note(&mut self, number: u64, record: Option<RecordNo>) {
        let changed = self.pages.entry(number).or_default();
        changed.needs = changed.needs.or(record);
    }
}

/// One table stored by method `row`.
pub(crate) struct Store {
    pub(super) context: TableContext,
    pub(super) keys: KeyCodec,
    pub(super) pool: Arc<Pool>,
    pub(super) structure: RwLock<()>,
    pub(super) changes: Mutex<Changes>,
    pub(super) space: Mutex<Space>,
    pub(super) undo: Undo,
    pub(super) loads: RwLock<Loads>,
    /// How far leaves were looked at for rows of loads that are gone,
    pub(super) sweep: Mutex<Sweep>,
    /// and the loads of which no node has any, which the next edit forgets.
    pub(super) swept: Mutex<BTreeSet<RecordNo>>,
    /// Rows of loads that are not committed, of who follows.
    pub(super) pending: Mutex<BTreeMap<RecordNo, Vec<LoadedRow>>>,
    /// Held by who writes pages: a job, or a load.
    pub(super) writing: Mutex<()>,
    /// The definition as of now.
    pub(super) def: RwLock<Arc<TableDef>>,
    /// Not that of an engine that follows another: its pages are written, and its log has their records.
    pub(super) is_ours: bool,
    /// All records of pages were done that the log had at the opening.
    pub(super) is_redone: AtomicBool,
    /// Pages that were torn when redo looked, or lacked steps (redo 3), and that no record has given back yet.
    pub(super) torn: Mutex<BTreeSet<u64>>,
    pub(super) changed_bytes_max: u64,
    /// Rows, about.
    pub(super) rows: AtomicI64,
    cut: AtomicU64,
    last: AtomicU64,
    /// The next job carries everything up to here to disk.
    frozen: AtomicU64,
    /// The manifest names the file.
    pub(super) is_named: AtomicBool,
    pub(super) is_dropped: AtomicBool,
    /// Since when a commit could not be installed.
    pub(super) given_up: GivenUp,
    /// Itself, for scans that outlive a call.
    itself: OnceLock<Weak<Store>>,
}

/// As many as row tables of some commits, and no more than memory has room for.
fn default_changed_bytes(options: &EngineOptions) -> u64 {
    (options.row_table_bytes * CHANGED_ROW_TABLES).min(options.row_memory_bytes / CHANGED_PART).max(1)
}

impl Store {
    /// A new table, or one that the manifest knows.
    pub(super) fn open(context: TableContext, recovered: &RecoveredTable, pools: &Arc<Pools>) -> Result<Arc<Store>> {
        let options = Options::parse(&context.def.options)?;
        let (services, id) = (&context.services, context.def.id);
        let is_ours = services.files().are_ours();
        let file = match recovered.files.as_slice() {
            [] => None,
            [number] => Some(services.files().open_paged(id, *number, options.page_bytes)?),
            _ => return Err(Error::corrupt(format!("table {:?} has more than one file of pages", context.def.name))),
        };
        let payload = recovered.payloads.last().map_or_else(|| Ok(Payload::default()), |last| Payload::decode(last))?;
        let (is_new, sizes) = (file.is_none(), (options.page_bytes, services.options().cache_bytes));
        let memory = (services.account(), services.row_budget());
        let pool = Pool::new(pools, memory, sizes, file, is_ours);
        let Payload { mut space, rows, loads } = payload;
        space.used(ROOT);
        if is_new {
            let node = Node::new(ROOT, 0, Vec::new(), None);
            pool.install(Page { node, record: RecordNo(0), further: Vec::new() }, false);
        }
        let changed_bytes_max = options.changed_bytes.unwrap_or_else(|| default_changed_bytes(services.options()));
        let store = Arc::new(Store {
            keys: KeyCodec::new(&context.def.schema),
            pool,
            structure: RwLock::new(()),
            changes: Mutex::default(),
            space: Mutex::new(space),
            undo: Undo::new(services.row_budget()),
            loads: RwLock::new(loads),
            sweep: Mutex::default(),
            swept: Mutex::default(),
            pending: Mutex::default(),
            writing: Mutex::new(()),
            def: RwLock::new(context.def.clone()),
            is_ours,
            is_redone: AtomicBool::new(false),
            torn: Mutex::default(),
            changed_bytes_max,
            rows: AtomicI64::new(rows.cast_signed()),
            cut: AtomicU64::new(recovered.cut.0),
            last: AtomicU64::new(recovered.cut.0),
            frozen: AtomicU64::new(NEVER),
            is_named: AtomicBool::new(!is_new),
            is_dropped: AtomicBool::new(false),
            given_up: GivenUp::new(faults::FORGET_GIVEN_UP_ROWS),
            itself: OnceLock::new(),
            context,
        });
        store.itself.set(Arc::downgrade(&store)).expect("it was just made");
        Ok(store)
    }

    /// The table, for who reads it after this call.
    pub(super) fn shared(&self) -> Arc<Store> {
        self.itself.get().and_then(Weak::upgrade).expect("it lives while it is called")
    }

    /// A node that is longer is split.
    pub(super) fn node_bytes_max(&self) -> usize {
        self.pool.page_bytes - HEADER_BYTES
    }

    pub(super) fn cut(&self) -> Timestamp {
        Timestamp(self.cut.load(Ordering::Acquire))
    }

    pub(super) fn set_cut(&self, cut: Timestamp) {
        self.cut.store(cut.0, Ordering::Release);
    }

    pub(super) fn last(&self) -> Timestamp {
        Timestamp(self.last.load(Ordering::Acquire))
    }

    /// The table has changed.
    pub(super) fn note_last(&self, ts: Timestamp) {
        self.last.fetch_max(ts.0, Ordering::AcqRel);
    }

    /// Up to where the next job carries, if there is one to come.
    pub(super) fn frozen(&self) -> Option<Timestamp> {
        Some(Timestamp(self.frozen.load(Ordering::Acquire))).filter(|frozen| frozen.0 != NEVER)
    }

    pub(super) fn set_frozen(&self, frozen: Option<Timestamp>) {
        self.frozen.store(frozen.map_or(NEVER, |frozen| frozen.0), Ordering::Release);
    }

    /// Whether pages on disk lack something.
    pub(super) fn is_behind(&self) -> bool {
        let changes = self.changes.lock();
        self.cut() < self.last()
            || !changes.pages.is_empty()
            || changes.space_from.is_some()
            || changes.freed_from.is_some()
            || changes.loads_from.is_some()
            || changes.rows_from.is_some()
    }

    /// The next job carries all that is there now.
    pub(super) fn freeze_all(&self) {
        if self.is_ours && self.frozen().is_none() && self.is_behind() {
            self.set_frozen(Some(self.context.services.last_sequenced().max(self.last())));
        }
    }

    /// Notes that a node has changed, with the record that says so, if one does. The caller has it latched alone.
    pub(super) fn note_changed(&self, changes: &mut Changes, frame: &Frame, node: &Node, record: Option<RecordNo>) {
        self.pool.changed(frame, node);
        if self.is_ours {
            frame.is_changed.store(true, Ordering::Release);
            changes.note(frame.number, record);
        }
    }

    /// Puts a node in the place of the one of its number, if there is one, and notes that its page is another.
    pub(super) fn note_new(&self, changes: &mut Changes, page: Page, record: Option<RecordNo>) {
        let number = page.node.number;
        self.pool.install(page, self.is_ours);
        if self.is_ours {
            changes.note(number, record);
        }
    }

    /// Whether the tree may be changed as a whole: not while the log is being read by who will write it.
    pub(super) fn may_reshape(&self) -> bool {
        !self.is_ours || self.context.services.takes_page_records()
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        let is_dropped = self.is_dropped.load(Ordering::Acquire);
        if is_dropped || !self.is_named.load(Ordering::Acquire) {
            self.pool.file().iter().for_each(|file| file.retire());
        }
    }
}
