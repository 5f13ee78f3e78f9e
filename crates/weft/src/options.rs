//! How a database is opened.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use weft_kernel::sched::SchedulerMode;
use weft_kernel::{Durability, EngineOptions};
use weft_replica::{ArchiveOptions, Connect, HeraldOptions, MirrorOptions};

/// Sizes and limits of an opened database. Each opening may choose its own: none is stored,
/// but a table keeps the options that it was made with.
///
/// ```
/// let options = weft::Options { durability: weft::Durability::Async, ..weft::Options::default() };
/// assert_eq!(options.row_table_bytes, 4 << 20);
/// ```
#[derive(Clone, Debug)]
pub struct Options {
    /// When a commit is acknowledged, unless the session says otherwise.
    pub durability: Durability,
    /// How large a row table grows before it becomes column tables, bytes.
    pub row_table_bytes: u64,
    /// The most memory of all row tables, bytes; writers are slowed down before it is reached.
    pub row_memory_bytes: u64,
    /// The most memory of decoded and read blocks of column tables, bytes.
    pub cache_bytes: u64,
    /// Whether blocks may also take what row tables leave of their memory while queries need little.
    pub lend_row_memory: bool,
    /// Size of a log file, bytes.
    pub log_segment_bytes: u64,
    /// About how much log is kept at most before a checkpoint lets it go, bytes.
    pub checkpoint_log_bytes: u64,
    /// The most memory that queries of the query engine and their results take together, bytes; above it they spill,
    /// or fail with 53200.
    pub query_memory_bytes: usize,
    /// Whether subqueries that refer to the query around them run for each row, also where a join stands for them: the
    /// answers are the same. To compare both.
    pub apply_subqueries: bool,
    /// How long a statement waits for a lock before it fails with 55P03.
    pub lock_timeout: Duration,
    /// How many transactions may be open at once; further ones wait in order, and fail with 53300 in the end.
    pub transaction_slots: usize,
    /// How many queries of the query engine may run at once; what is left of the transaction slots is for short ones.
    pub query_slots: usize,
    /// How long a transaction or a query waits for its slot.
    pub admission_timeout: Duration,
    /// Threads for background jobs; with 0 they run only at [`crate::Database::checkpoint`].
    pub workers: usize,
    /// What decides when background jobs start; `SET scheduler` changes it.
    pub scheduler: SchedulerMode,
    /// Whether nodes may follow ([`crate::Database::follow`]), and what is kept for them; none: nobody follows.
    pub nodes: Option<Nodes>,
    /// The archive that its log is shipped to ([`crate::restore_archive`]); none: none.
    pub archive: Option<Archiving>,
    /// Whether opening tells glibc's malloc to keep little of what is freed: two settings of the whole process, that
    /// large blocks are mapped by themselves and that there are few heaps; and a thread that has it return what is
    /// free between others. Memory limits hold with them. They are for who begins the process, so a library that opens
    /// a database within somebody else's program may turn this off; with another allocator it does nothing. `MALLOC_`
    /// variables and `GLIBC_TUNABLES` come before the settings.
    pub keep_little_freed_memory: bool,
    /// Options of `CREATE TABLE ... WITH` for tables that are made without them, such as `bucket_bytes`.
    pub table_options: BTreeMap<String, String>,
}

/// How a database is archived: its log goes into a store of objects, a moment after it is durable.
#[derive(Clone, Debug)]
pub struct Archiving {
    /// The URL of the store, as for [`crate::Database::backup`].
    pub place: String,
    /// How often what is durable is shipped: so much is lost at most when the machine is.
    pub interval: Duration,
    /// So many bytes of log that the store does not have are kept, and as many of files; beyond that the archive has a
    /// gap, and begins again with a new backup.
    pub keep_bytes: u64,
    /// Any moment of so long ago can be restored.
    pub keep_time: Duration,
    /// A commit is acknowledged when the archive has it, and fails when that takes longer, though it is made. Zero: it
    /// does not wait.
    pub ack: Duration,
    /// Nodes may follow the archive ([`Follow::archive`]): it gets the files that background jobs write, too.
    pub nodes: bool,
}

impl Archiving {
    /// With the default options.
    pub fn to(place: impl Into<String>) -> Archiving {
        let ArchiveOptions { interval, keep_bytes, keep_time, ack, nodes, .. } = ArchiveOptions::default();
        Archiving { place: place.into(), interval, keep_bytes, keep_time, ack, nodes }
    }

    pub(crate) fn options(&self) -> ArchiveOptions {
        let Archiving { interval, keep_bytes, keep_time, ack, nodes, .. } = *self;
        ArchiveOptions { interval, keep_bytes, keep_time, ack, nodes, ..ArchiveOptions::default() }
    }
}

/// What is kept for nodes that follow.
#[derive(Clone, Copy, Debug)]
pub struct Nodes {
    /// So many bytes of log that a node has not read, and as many of files.
    pub keep_bytes: u64,
    /// They are kept for so long; a node that is further behind joins anew.
    pub keep_time: Duration,
}

impl Default for Nodes {
    fn default() -> Nodes {
        let HeraldOptions { keep_bytes, keep_time, .. } = HeraldOptions::default();
        Nodes { keep_bytes, keep_time }
    }
}

impl Nodes {
    pub(crate) fn herald(self) -> HeraldOptions {
        let machine = weft_env::machine();
        HeraldOptions { keep_bytes: self.keep_bytes, keep_time: self.keep_time, machine, ..HeraldOptions::default() }
    }
}

/// How a database is followed.
#[derive(Clone, Debug)]
pub struct Follow {
    /// What the node is called, in the writer's view `weft_nodes`; none: a random name.
    pub name: Option<String>,
    /// Where it can be reached, for the same view.
    pub address: String,
    /// How long joining may take; of an archive, how long it is waited for one that can be joined.
    pub join_timeout: Duration,
    /// The URL of an archive with [`Archiving::nodes`]: the directory becomes a copy of what is shipped there, and
    /// shares nothing with the writer. None: the directory is the writer's.
    pub archive: Option<String>,
    /// How often it is looked for what is new in the archive.
    pub archive_interval: Duration,
    /// A server that feeds it over a connection: the directory becomes a copy of that one's database, milliseconds
    /// later, and shares nothing with it. `name` is that which the server is told.
    pub feeder: Option<Feeder>,
}

/// The server that feeds a node.
#[derive(Clone)]
pub struct Feeder(pub Arc<dyn Connect>);

impl fmt::Debug for Feeder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Feeder({})", self.0.place())
    }
}

impl Default for Follow {
    fn default() -> Follow {
        let MirrorOptions { interval, patience } = MirrorOptions::default();
        let (name, address, archive) = (None, String::new(), None);
        Follow { name, address, join_timeout: patience, archive, archive_interval: interval, feeder: None }
    }
}

impl Default for Options {
    fn default() -> Options {
        let engine = EngineOptions::default();
        Options {
            durability: engine.durability,
            row_table_bytes: engine.row_table_bytes,
            row_memory_bytes: engine.row_memory_bytes,
            cache_bytes: engine.cache_bytes,
            lend_row_memory: engine.lend_row_memory,
            log_segment_bytes: engine.log_segment_bytes,
            checkpoint_log_bytes: engine.checkpoint_log_bytes,
            query_memory_bytes: 1 << 30,
            apply_subqueries: false,
            lock_timeout: engine.lock_timeout,
            transaction_slots: engine.transaction_slots,
            query_slots: engine.query_slots,
            admission_timeout: engine.admission_timeout,
            workers: engine.workers,
            scheduler: engine.scheduler,
            nodes: None,
            archive: None,
            keep_little_freed_memory: true,
            table_options: engine.table_options,
        }
    }
}

impl Options {
    /// The default options with all memory bounded by one limit, bytes: a quarter for row tables with indexes'
    /// memories, three 16ths for what the operators of queries account for (they need up to three times as much while
    /// they spill) and for results, an eighth for cached blocks, which also take what row tables leave while queries
    /// need little; the rest is for plans, background jobs and the program itself.
    ///
    /// ```
    /// let options = weft::Options::with_memory_limit(256 << 20);
    /// assert_eq!(options.query_memory_bytes, 48 << 20);
    /// ```
    pub fn with_memory_limit(limit_bytes: u64) -> Options {
        let part = (limit_bytes / 4).max(8 << 20);
        let options = Options::default();
        Options {
            row_memory_bytes: part,
            row_table_bytes: options.row_table_bytes.min(part / 16),
            cache_bytes: part / 2,
            lend_row_memory: true,
            query_memory_bytes: (part / 4 * 3) as usize,
            ..options
        }
    }

    /// The most of the memory that is accounted for, bytes.
    pub(crate) fn memory_bytes(&self) -> u64 {
        self.row_memory_bytes + self.cache_bytes + self.query_memory_bytes as u64
    }

    /// The kernel's part.
    pub(crate) fn engine(&self) -> EngineOptions {
        EngineOptions {
            row_table_bytes: self.row_table_bytes,
            row_memory_bytes: self.row_memory_bytes,
            cache_bytes: self.cache_bytes,
            lend_row_memory: self.lend_row_memory,
            log_segment_bytes: self.log_segment_bytes,
            checkpoint_log_bytes: self.checkpoint_log_bytes,
            durability: self.durability,
            lock_timeout: self.lock_timeout,
            transaction_slots: self.transaction_slots,
            query_slots: self.query_slots,
            admission_timeout: self.admission_timeout,
            workers: self.workers,
            scheduler: self.scheduler,
            table_options: self.table_options.clone(),
            ..EngineOptions::default()
        }
    }
}
