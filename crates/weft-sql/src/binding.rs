//! What one execution is bound to: the tables' views, the parameters, the time, the token that cancels it.
//!
//! A plan (of either engine) holds no snapshot, no parameter and no clock; it gets them from here at each execution.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use weft_env::{Clock, Env};
use weft_format::{Code, DataType, Error, Result, TableId, Value};
use weft_kernel::index::Index;
use weft_kernel::sched::Load;
use weft_kernel::table::ReadView;
use weft_kernel::{Engine, TableRef};

use crate::settings::Settings;

/// Where a planner finds tables by name: a transaction's catalog.
pub trait Tables {
    /// The table, or [`Code::UndefinedTable`] naming it. Names are folded already.
    fn table(&self, name: &str) -> Result<TableRef>;

    /// Whether rows of the table are found through its index.
    fn can_use_index(&self, table: &TableRef, index: &Index) -> bool;

    /// What the views tell of.
    fn engine(&self) -> &Arc<Engine>;
}

impl Tables for weft_kernel::Transaction {
    fn table(&self, name: &str) -> Result<TableRef> {
        weft_kernel::Transaction::table(self, name)
    }

    fn can_use_index(&self, table: &TableRef, index: &Index) -> bool {
        weft_kernel::Transaction::can_use_index(self, table, index)
    }

    fn engine(&self) -> &Arc<Engine> {
        weft_kernel::Transaction::engine(self)
    }
}

/// One execution of a query of the column engine.
#[derive(Clone)]
pub struct Binding {
    /// What is visible of each table the plan reads.
    pub views: HashMap<TableId, (TableRef, ReadView)>,
    /// `$1`, `$2`, ...: values cast to their types.
    pub params: Vec<(Value, DataType)>,
    /// Asked between batches.
    pub cancel: CancelToken,
    /// Told while the client waits.
    pub load: Arc<Load>,
    /// What `now()`, `current_timestamp` and `current_date` say: microseconds since 1970 UTC.
    pub now_micros: i64,
    /// The session's settings at the start of the statement.
    pub settings: Arc<Settings>,
}

/// Stops a running statement from another thread; also carries the statement's deadline.
///
/// It belongs to a session and is good for all its statements: a request stops the statement that runs when it is made,
/// or none.
#[derive(Clone)]
pub struct CancelToken(Arc<Inner>);

struct Inner {
    /// The kernel's half: waits for locks end by it.
    requested: weft_kernel::CancelToken,
    /// Monotonic nanoseconds; `u64::MAX` when there is no statement timeout.
    deadline_nanos: AtomicU64,
    clock: Arc<dyn Clock>,
}

impl CancelToken {
    /// A token nobody has used.
    pub fn new(env: &Env) -> CancelToken {
        CancelToken(Arc::new(Inner {
            requested: weft_kernel::CancelToken::new(),
            deadline_nanos: AtomicU64::new(u64::MAX),
            clock: Arc::clone(&env.clock),
        }))
    }

    /// Asks the running statement to stop; it fails with [`Code::QueryCanceled`] at its next check.
    pub fn cancel(&self) {
        self.0.requested.cancel();
    }

    /// An error when the statement was cancelled or its time is over. Cheap; ask once per batch.
    pub fn check(&self) -> Result<()> {
        if self.0.requested.is_cancelled() {
            return Err(Error::new(Code::QueryCanceled, "canceling statement due to user request"));
        }
        let deadline = self.0.deadline_nanos.load(Ordering::Relaxed);
        if deadline != u64::MAX && self.0.clock.monotonic_nanos() >= deadline {
            return Err(Error::new(Code::QueryCanceled, "canceling statement due to statement timeout")
                .hint("raise it with SET statement_timeout"));
        }
        Ok(())
    }

    /// The kernel's half.
    pub(crate) fn kernel(&self) -> weft_kernel::CancelToken {
        self.0.requested.clone()
    }

    /// A new statement starts: forgets earlier requests and sets the deadline (0 = none).
    pub(crate) fn start_statement(&self, timeout_ms: u64) {
        self.0.requested.reset();
        let deadline = match timeout_ms {
            0 => u64::MAX,
            ms => self.0.clock.monotonic_nanos().saturating_add(ms.saturating_mul(1_000_000)),
        };
        self.0.deadline_nanos.store(deadline, Ordering::Relaxed);
    }
}
