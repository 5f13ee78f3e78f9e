//! What the engine keeps of a query.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use datafusion::execution::SessionState;
use datafusion::logical_expr::LogicalPlan;
use weft_format::{DataType, Error, Result, TableId};
use weft_sql::OutputColumn;
use weft_sql::queries::{Plan, PreparedQuery};

use super::provider::scanned_tables;
use super::templates::Templates;

/// What is kept of a query.
pub(super) struct Planned {
    pub(super) plan: Arc<LogicalPlan>,
    pub(super) columns: Arc<[OutputColumn]>,
    pub(super) params: Vec<Option<DataType>>,
    /// Which parameters may stay open in a plan.
    pub(super) is_open: Arc<[bool]>,
    /// Whether plans are good at any time: no clock is read, and no view's rows.
    pub(super) is_fixed: bool,
    /// What plans for the session that it was prepared for.
    pub(super) state: Arc<SessionState>,
    pub(super) templates: Templates,
    pub(super) executions: AtomicU64,
    /// How often a physical plan was made.
    pub(super) planned: AtomicU64,
    /// An execution ran out of memory: joins sort both sides from now on, which can spill, as hash joins cannot.
    pub(super) spares_memory: AtomicBool,
    /// Whether it has subqueries, which are all applied when what they become has no plan.
    pub(super) has_subqueries: bool,
    pub(super) text: Arc<str>,
}

impl Planned {
    /// Of a query that this engine prepared.
    pub(super) fn of(query: &PreparedQuery) -> Result<&Planned> {
        let plan: &dyn Any = query.plan();
        plan.downcast_ref().ok_or_else(|| Error::internal("a query was prepared by another engine"))
    }
}

impl Plan for Planned {
    fn scanned(&self) -> Vec<TableId> {
        scanned_tables(&self.plan).into_iter().collect()
    }

    fn is_warm(&self) -> bool {
        self.templates.is_warm()
    }

    fn planned_count(&self) -> u64 {
        self.planned.load(Ordering::Relaxed)
    }
}
