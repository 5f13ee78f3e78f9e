//! A planned query.

use std::any::Any;
use std::sync::Arc;

use sqlparser::ast::Expr;
use weft_format::{DataType, TableId};
use weft_kernel::TableRef;

use super::moments::{ReadAt, parameter_types};
use crate::outcome::OutputColumn;

/// What the engine keeps of a query.
pub trait Plan: Any + Send + Sync {
    /// The ids of the tables that it reads.
    fn scanned(&self) -> Vec<TableId>;

    /// Whether executions reuse what was planned.
    fn is_warm(&self) -> bool;

    /// How often it was planned.
    fn planned_count(&self) -> u64;
}

/// What a query asks of the catalog.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AsksCatalog {
    /// It names no relation and calls no function of it.
    Nothing,
    /// What there is in the database.
    Objects,
    /// Sessions and locks, too.
    Sessions,
}

/// A planned query. Good for any snapshot of the same catalog version.
pub struct PreparedQuery {
    columns: Arc<[OutputColumn]>,
    params: Vec<Option<DataType>>,
    tables: Vec<TableRef>,
    /// What FOR SYSTEM_TIME says, and the tables that are read so: each with the number of its moment or period.
    moments: Vec<Expr>,
    past: Vec<(TableRef, ReadAt)>,
    /// Whether plans are good for sessions of one style only.
    reads_session: bool,
    asks_catalog: AsksCatalog,
    plan: Box<dyn Plan>,
}

impl PreparedQuery {
    /// What the engine planned: the columns of the result, the types of parameters, the tables that were named, and
    /// whether it is good for sessions of one style only.
    pub fn new(
        columns: Arc<[OutputColumn]>,
        params: Vec<Option<DataType>>,
        tables: Vec<TableRef>,
        reads_session: bool,
        plan: Box<dyn Plan>,
    ) -> PreparedQuery {
        let (asks_catalog, moments, past) = (AsksCatalog::Nothing, Vec::new(), Vec::new());
        PreparedQuery { columns, params, tables, moments, past, reads_session, asks_catalog, plan }
    }

    /// The same, asking this of the catalog.
    pub fn asking(self, asks_catalog: AsksCatalog) -> PreparedQuery {
        PreparedQuery { asks_catalog, ..self }
    }

    /// What it asks of the catalog.
    pub fn asks_catalog(&self) -> AsksCatalog {
        self.asks_catalog
    }

    /// The same, which reads some tables as they were.
    pub fn at_moments(mut self, moments: Vec<Expr>, past: Vec<(TableRef, ReadAt)>) -> PreparedQuery {
        parameter_types(&moments, &mut self.params);
        (self.moments, self.past) = (moments, past);
        self
    }

    /// The moments and periods that tables are read at.
    pub fn moments(&self) -> &[Expr] {
        &self.moments
    }

    /// The tables that are read at moments or periods, and at which.
    pub fn past(&self) -> &[(TableRef, ReadAt)] {
        &self.past
    }

    /// The columns of the result.
    pub fn columns(&self) -> &Arc<[OutputColumn]> {
        &self.columns
    }

    /// The types of `$1`, `$2`, ...; none where nothing around the parameter says it.
    pub fn param_types(&self) -> &[Option<DataType>] {
        &self.params
    }

    /// The tables a binding needs views of.
    pub fn tables(&self) -> &[TableRef] {
        &self.tables
    }

    /// Those of them that the plan reads; a name may also be that of a WITH query.
    pub fn scanned(&self) -> Vec<&TableRef> {
        let ids = self.plan.scanned();
        let all = self.tables.iter().chain(self.past.iter().map(|(table, _)| table));
        let mut scanned: Vec<&TableRef> = all.filter(|table| ids.contains(&table.def.id)).collect();
        scanned.sort_by_key(|table| table.def.id);
        scanned.dedup_by_key(|table| table.def.id);
        scanned
    }

    /// Whether it is good for sessions of the style only that it was prepared for.
    pub fn reads_session(&self) -> bool {
        self.reads_session
    }

    /// Whether executions reuse a physical plan.
    pub fn is_warm(&self) -> bool {
        self.plan.is_warm()
    }

    /// How often a physical plan was made.
    pub fn planned_count(&self) -> u64 {
        self.plan.planned_count()
    }

    /// The ids of the tables.
    pub fn table_ids(&self) -> impl Iterator<Item = TableId> + '_ {
        self.tables.iter().map(|table| table.def.id)
    }

    /// What the engine keeps of it.
    pub fn plan(&self) -> &dyn Plan {
        &*self.plan
    }
}
