//! The router: which engine runs a statement, and the plan it made.

use std::sync::Arc;

use sqlparser::ast::{Insert, SetExpr, Statement, TableObject};
use weft_env::sync::{Mutex, RwLock};
use weft_expr::{Local, Style};
use weft_format::{Code, DataType, Error, Result};
use weft_kernel::{SchemaId, TableRef, Transaction};
use weft_pgcatalog::CatalogQuery;

use super::{catalog, constants};
use crate::dml::PreparedWrite;
use crate::engine::SqlEngine;
use crate::expr::BindError;
use crate::outcome::OutputColumn;
use crate::queries::PreparedQuery;
use crate::row::{self, RowPlan};
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
    /// The column engine's plan, for when an index finds too much; made when it is needed.
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
    /// engine reads, the row engine writes.
    Upsert(PreparedQuery, RowPlan),
}

/// How many roles a plan remembers.
const PERMITTED_MAX: usize = 64;

/// What a plan is good for.
type Key = (Option<u64>, Arc<[SchemaId]>, EngineChoice);

impl Plan {
    fn new(
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
    fn reading(mut self, style: &Style) -> Plan {
        let reads = match &self.action {
            Action::Query(query) => query.reads_session(),
            Action::Upsert(query, row) => query.reads_session() || row.reads_session,
            Action::Dml(write) => write.query().reads_session(),
            Action::Row(row) => row.reads_session,
            Action::Catalog(_) => false,
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

    /// The plan of the same statement by the column engine.
    pub(super) fn by_columns(
        &self,
        db: &SqlEngine,
        statement: &Statement,
        source: &str,
        txn: &Transaction,
        local: &Local,
    ) -> Result<Arc<Plan>> {
        if let Some(known) = self.by_columns.lock().as_ref().filter(|known| known.suits(&local.style)) {
            return Ok(Arc::clone(known));
        }
        let made = Arc::new(plan(db, statement, source, txn, (EngineChoice::Column, local))?);
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
            Action::Catalog(_) => Vec::new(),
        }
    }

    /// Whether it writes nothing.
    pub(super) fn is_read_only(&self) -> bool {
        match &self.action {
            Action::Row(plan) => plan.is_read_only(),
            Action::Query(_) | Action::Catalog(_) => true,
            Action::Dml(_) | Action::Upsert(..) => false,
        }
    }
}

/// Plans a query, INSERT, UPDATE or DELETE for a session.
pub(super) fn plan(
    db: &SqlEngine,
    statement: &Statement,
    source: &str,
    txn: &Transaction,
    (engine, local): (EngineChoice, &Local),
) -> Result<Plan> {
    if let Statement::Query(query) = statement
        && (catalog::is_of_catalog(statement) || constants::has_constants(statement))
    {
        let query = CatalogQuery::new(query)?;
        let key = (txn.catalog_version(), Arc::clone(txn.search_path()), engine);
        return Ok(Plan::new(key, catalog::columns(&query).into(), query.params(), Action::Catalog(query)));
    }
    if let Statement::Query(query) = statement {
        crate::queries::names::check_order(query)?;
    }
    let key = || (txn.catalog_version(), Arc::clone(txn.search_path()), engine);
    if engine != EngineChoice::Column || is_insert_values(statement) {
        match row::plan(statement, txn, db.shapes(), source, local) {
            Ok(plan) => {
                let (columns, param_types) = (Arc::clone(&plan.columns), plan.param_types.clone());
                return Ok(Plan::new(key(), columns, param_types, Action::Row(plan)).reading(&local.style));
            }
            Err(BindError::Wrong(error)) => return Err(error),
            Err(BindError::Unsupported(what)) if engine == EngineChoice::Row => {
                let message = format!("the row engine cannot run this statement: {what} is not supported by it");
                return Err(Error::new(Code::FeatureNotSupported, message).hint("SET engine = auto"));
            }
            Err(BindError::Unsupported(_)) => {}
        }
    }
    let queries = db.queries()?;
    let known = |types: &[Option<DataType>]| types.iter().map(|t| t.unwrap_or(DataType::Text)).collect();
    Ok(match statement {
        Statement::Query(query) if query.locks.is_empty() => {
            let query = queries.prepare(txn, statement, source, local)?;
            let (columns, param_types) = (Arc::clone(query.columns()), known(query.param_types()));
            Plan::new(key(), columns, param_types, Action::Query(query)).reading(&local.style)
        }
        Statement::Insert(insert @ Insert { source: Some(reading), .. }) if is_written_by_rows(insert, txn) => {
            let reading = Box::new(crate::dml::typed_values(insert, reading, txn)?);
            let query = queries.prepare(txn, &Statement::Query(reading), source, local)?;
            let row = row::plan_query_insert(insert, &query, txn, db.shapes(), source, local)?;
            let (columns, param_types) = (Arc::clone(&row.columns), row.param_types.clone());
            Plan::new(key(), columns, param_types, Action::Upsert(query, row)).reading(&local.style)
        }
        _ => {
            let prepared = PreparedWrite::prepare(&*queries, txn, statement, source, local)?;
            let (columns, param_types) = (Arc::clone(prepared.columns()), known(prepared.param_types()));
            Plan::new(key(), columns, param_types, Action::Dml(prepared)).reading(&local.style)
        }
    })
}

/// Whether the rows of an INSERT from a query go through the row engine one by one: it looks for conflicts, and shows
/// what RETURNING names of a row after its numbers were taken.
fn is_written_by_rows(insert: &Insert, txn: &Transaction) -> bool {
    if insert.on.is_some() {
        return true;
    }
    let TableObject::TableName(name) = &insert.table else { return false };
    let table = crate::parse::table_name(name).and_then(|name| crate::resolve::table(txn, &name));
    let takes_numbers = |table: &TableRef| {
        table.def.defaults.iter().flatten().any(|default| crate::expr::sequence_call(default).is_some())
    };
    insert.returning.is_some() && table.is_ok_and(|table| takes_numbers(&table))
}

/// INSERT ... VALUES has one path, whatever engine is forced.
fn is_insert_values(statement: &Statement) -> bool {
    match statement {
        Statement::Insert(insert) => match &insert.source {
            Some(source) => matches!(*source.body, SetExpr::Values(_)),
            None => true,
        },
        _ => false,
    }
}
