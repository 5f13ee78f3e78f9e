//! What one execution is bound to: the tables' views, the parameters, the time, the token that cancels it.
//!
//! A plan (of either engine) holds no snapshot, no parameter and no clock; it gets them from here at each execution.

use std::collections::HashMap;
use std::sync::Arc;

use weft_env::{Clock, Env};
use weft_expr::Local;
use weft_format::{DataType, Result, TableId, Value};
use weft_kernel::index::Index;
use weft_kernel::sched::Load;
use weft_kernel::table::{Period, ReadView};
use weft_kernel::{Engine, PastSnapshot, TableRef, Transaction};
use weft_pgcatalog::{CatalogRelation, Snapshot};

use crate::queries::ReadAt;
use crate::settings::Settings;
use crate::updatable::{UpdatableView, Verb};

/// What is visible of some tables.
pub(crate) type Views = HashMap<TableId, (TableRef, ReadView)>;

/// Where a planner finds tables by name: a transaction's catalog.
pub trait Tables {
    /// The table, or [`weft_format::Code::UndefinedTable`] naming it. Names are folded already.
    fn table(&self, name: &str) -> Result<TableRef>;

    /// Whether rows of the table are found through its index.
    fn can_use_index(&self, table: &TableRef, index: &Index) -> bool;

    /// What the views tell of.
    fn engine(&self) -> &Arc<Engine>;

    /// The relation of the catalog that a name is of, if it is one; no user's relation is meant by it then.
    fn of_catalog(&self, name: &str) -> Option<CatalogRelation>;

    /// The view of a name that a statement changes, as something to write to; none when the name is of no view. An
    /// error when the view cannot be written to.
    fn updatable(&self, name: &str, verb: Verb) -> Result<Option<UpdatableView>>;

    /// The table of which rows are locked that goes by this name in a query, as something to read with its hidden
    /// columns.
    fn locked(&self, _name: &str) -> Option<TableRef> {
        None
    }
}

/// Shows the catalog to a query that names relations or calls functions of it.
pub(crate) trait ShowsCatalog {
    /// What a transaction sees; with sessions and locks, if they are asked for.
    fn shown(&self, txn: &Transaction, with_sessions: bool) -> Result<Snapshot>;
}

/// A moment or a period of a statement: what it says, and the commits that it is.
pub struct Moment {
    /// As it is written.
    pub text: String,
    /// What tables are read at.
    pub when: When,
}

/// What of the past tables are read at.
pub enum When {
    /// A commit.
    Commit(PastSnapshot),
    /// Versions of a period, of which what is needed is kept; none: no version is of it.
    Period(Option<(PastSnapshot, Period)>),
    /// All versions that a table keeps.
    All,
}

/// A table as it is read of the past.
#[derive(Clone)]
pub struct PastTable {
    /// The table.
    pub table: TableRef,
    /// What knows the clock of commits.
    pub engine: Arc<Engine>,
    /// What it showed, when it is read at a moment.
    pub view: Option<ReadView>,
    /// Of which commits versions are read, and what is committed for who reads them; none where nothing asks for it.
    pub versions: Option<(ReadView, Period)>,
    /// What is kept for it beside its moment.
    pub kept: Option<Arc<PastSnapshot>>,
}

/// One execution of a query of the query engine.
#[derive(Clone)]
pub struct Binding {
    /// What is visible of each table the plan reads.
    pub views: HashMap<TableId, (TableRef, ReadView)>,
    /// Each table that is read at a moment of the past, or of which versions are read.
    pub past: HashMap<(TableId, ReadAt), PastTable>,
    /// These moments, which are kept while the binding lives.
    pub moments: Arc<[Moment]>,
    /// `$1`, `$2`, ...: values cast to their types.
    pub params: Vec<(Value, DataType)>,
    /// Asked between batches.
    pub cancel: CancelToken,
    /// Told while the client waits.
    pub load: Arc<Load>,
    /// The session's zone and styles, and what `now()` says.
    pub local: Local,
    /// The session's settings at the start of the statement.
    pub settings: Arc<Settings>,
    /// What the query sees of the catalog, if it asks for it.
    pub catalog: Option<Arc<Snapshot>>,
}

/// Stops a running statement from another thread; also carries the statement's deadline.
///
/// It belongs to a session and is good for all its statements: a request stops the statement that runs when it is made,
/// or none. A server counts a statement as running from when its message has come, [`crate::Session::attend`].
#[derive(Clone)]
pub struct CancelToken(Arc<Inner>);

struct Inner {
    /// The kernel's half: waits for locks end by it.
    kernel: weft_kernel::CancelToken,
    clock: Arc<dyn Clock>,
}

impl CancelToken {
    /// A token nobody has used; nothing runs.
    pub fn new(env: &Env) -> CancelToken {
        let kernel = weft_kernel::CancelToken::new();
        kernel.close();
        CancelToken(Arc::new(Inner { kernel, clock: Arc::clone(&env.clock) }))
    }

    /// Asks the running statement to stop; it fails with [`weft_format::Code::QueryCanceled`] at its next check.
    pub fn cancel(&self) {
        self.0.kernel.cancel();
    }

    /// Whether something runs, or begins to, that a request would stop.
    pub fn is_attended(&self) -> bool {
        self.0.kernel.is_open()
    }

    /// An error when the statement was cancelled or its time is over. Cheap; ask once per batch.
    pub fn check(&self) -> Result<()> {
        self.0.kernel.check(|| self.0.clock.monotonic_nanos())
    }

    /// The time that its deadline is in.
    pub fn clock(&self) -> &dyn Clock {
        &*self.0.clock
    }

    /// The kernel's half.
    pub(crate) fn kernel(&self) -> weft_kernel::CancelToken {
        self.0.kernel.clone()
    }

    /// What may be cancelled begins: a statement, or what it is a part of. Requests are heard while the guard lives.
    pub(crate) fn attend(&self) -> Attended {
        Attended(self.0.kernel.open().then(|| self.clone()))
    }

    /// A statement starts, which may take this long (0 = for ever).
    pub(crate) fn limit(&self, timeout_ms: u64) {
        self.0.kernel.set_deadline(match timeout_ms {
            0 => u64::MAX,
            ms => self.0.clock.monotonic_nanos().saturating_add(ms.saturating_mul(1_000_000)),
        });
    }
}

/// While this lives, requests to cancel are heard; with it goes a request that came late, and the time limit.
#[must_use = "nothing is heard once it is dropped"]
pub struct Attended(Option<CancelToken>);

impl Drop for Attended {
    fn drop(&mut self) {
        if let Some(token) = &self.0 {
            token.0.kernel.close();
        }
    }
}
