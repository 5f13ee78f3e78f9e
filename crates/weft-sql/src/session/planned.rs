//! The plan of a statement, for a version of the catalog.

use std::sync::Arc;

use weft_env::sync::{Mutex, RwLock};
use weft_expr::Style;
use weft_format::{DataType, Result};
use weft_kernel::{SchemaId, TableRef};
use weft_pgcatalog::CatalogQuery;

use crate::dml::PreparedWrite;
use crate::outcome::OutputColumn;
use crate::queries::PreparedQuery;
use crate::row::RowPlan;
use crate::settings::EngineChoice;

/// How a statement is run.
pub(super) struct Plan {
    /// The catalog it was made for; none when the transaction had DDL of its own.
    pub(super) version: Option<u64>,
    /// Where names without a schema were looked for.
    pub(super) path: Arc<[SchemaId]>,
    /// The setting it was made under.
    pub(super) engine: EngineChoice,
    /// The style of sessions that it is good for; none: any.
    pub(super) style: Option<Style>,
    pub(super) columns: Arc<[OutputColumn]>,
    pub(super) param_types: Vec<DataType>,
    pub(super) action: Action,
    /// The query engine's plan, for when an index finds too much; made when it is needed.
    by_columns: Mutex<Option<Arc<Plan>>>,
    /// Roles that have the rights that it needs, as of its version of the catalog.
    permitted: RwLock<Vec<u32>>,
}

pub(super) enum Action {
    Row(RowPlan),
    Query(PreparedQuery),
    Dml(PreparedWrite),
    /// A query of the catalog.
    Catalog(CatalogQuery),
    /// INSERT from a query with ON CONFLICT, or with a RETURNING that shows numbers taken from sequences: the column
    /// engine reads, the point engine writes.
    Upsert(PreparedQuery, RowPlan),
    /// A statement some of whose WITH queries write.
    Parts(Parts),
}

/// A statement with WITH queries that write: its parts are planned when they run.
pub(super) struct Parts {
    pub(super) columns: Arc<[OutputColumn]>,
    pub(super) param_types: Vec<DataType>,
    /// All tables that are read or written.
    pub(super) tables: Vec<TableRef>,
}

/// How many roles a plan remembers.
const PERMITTED_MAX: usize = 64;

/// What a plan is good for.
type Key = (Option<u64>, Arc<[SchemaId]>, EngineChoice);

impl Plan {
    pub(super) fn new(
        (version, path, engine): Key,
        columns: Arc<[OutputColumn]>,
        param_types: Vec<DataType>,
        action: Action,
    ) -> Plan {
        Plan {
            version,
            path,
            engine,
            style: None,
            columns,
            param_types,
            action,
            by_columns: Mutex::new(None),
            permitted: RwLock::default(),
        }
    }

    /// A plan that a session's texts may have part in: it may be good for one style only.
    pub(super) fn reading(mut self, style: &Style) -> Plan {
        let reads = match &self.action {
            Action::Query(query) => query.reads_session(),
            Action::Upsert(query, row) => query.reads_session() || row.reads_session,
            Action::Dml(write) => write.query().reads_session(),
            Action::Row(row) => row.reads_session,
            Action::Catalog(_) | Action::Parts(_) => false,
        };
        self.style = reads.then(|| style.clone());
        self
    }

    /// Whether it is good for a session of a style.
    pub(super) fn suits(&self, style: &Style) -> bool {
        self.style.as_ref().is_none_or(|own| own == style)
    }

    /// Whether it may build on commits that are not durable yet.
    pub(super) fn may_follow(&self) -> bool {
        matches!(&self.action, Action::Row(row) if row.may_follow())
    }

    /// Whether a role was found to have the rights that the plan needs.
    pub(super) fn permits(&self, role: u32) -> bool {
        self.permitted.read().contains(&role)
    }

    /// Notes that a role has the rights that the plan needs.
    pub(super) fn note_permitted(&self, role: u32) {
        let mut permitted = self.permitted.write();
        if permitted.len() >= PERMITTED_MAX {
            permitted.clear();
        }
        permitted.push(role);
    }

    /// The plan of the same statement by the query engine, which is made when it is asked for first.
    pub(super) fn by_columns(&self, style: &Style, make: impl FnOnce() -> Result<Plan>) -> Result<Arc<Plan>> {
        if let Some(known) = self.by_columns.lock().as_ref().filter(|known| known.suits(style)) {
            return Ok(Arc::clone(known));
        }
        let made = Arc::new(make()?);
        *self.by_columns.lock() = Some(Arc::clone(&made));
        Ok(made)
    }

    /// The tables that it reads and writes.
    pub(super) fn tables(&self) -> Vec<&TableRef> {
        match &self.action {
            Action::Row(plan) => plan.table().into_iter().collect(),
            Action::Query(query) => query.scanned(),
            Action::Dml(write) => write.query().scanned().into_iter().chain([write.table()]).collect(),
            Action::Upsert(query, plan) => query.scanned().into_iter().chain(plan.table()).collect(),
            Action::Parts(parts) => parts.tables.iter().collect(),
            Action::Catalog(_) => Vec::new(),
        }
    }

    /// Whether it writes nothing.
    pub(super) fn is_read_only(&self) -> bool {
        match &self.action {
            Action::Row(plan) => plan.is_read_only(),
            Action::Query(_) | Action::Catalog(_) => true,
            Action::Dml(_) | Action::Upsert(..) | Action::Parts(_) => false,
        }
    }
}
