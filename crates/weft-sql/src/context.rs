//! What a statement runs in: its transaction, its parameters, its session's zone and clock.

use std::collections::HashMap;
use std::sync::Arc;

use weft_expr::Local;
use weft_format::{DataType, Error, Result, Value};
use weft_kernel::table::ReadView;
use weft_kernel::{TableRef, Transaction};

use crate::binding::{Binding, CancelToken, ShowsCatalog, Views};
use crate::expr::EvalContext;
use crate::queries::{AsksCatalog, PreparedQuery, QueryEngine};
use crate::row::{ShapeCache, TableShape};
use crate::settings::Settings;

/// What a statement runs in. Statement atomicity, retries and the commit are the session's: a statement that fails just
/// returns its error.
pub struct StatementContext<'a> {
    /// The statement's transaction.
    pub txn: &'a mut Transaction,
    /// The query engine.
    pub engine: &'a dyn QueryEngine,
    /// Bound defaults and checks of tables.
    pub shapes: &'a ShapeCache,
    /// `$1`, `$2`, ... cast to `param_types`.
    pub params: &'a [Value],
    /// The types of the parameters.
    pub param_types: &'a [DataType],
    /// Asked between batches of work.
    pub cancel: &'a CancelToken,
    /// The session's zone and styles, and the transaction's time.
    pub local: &'a Local,
    /// The session's settings.
    pub settings: &'a Arc<Settings>,
    /// What tables showed before the first part of the statement wrote; none: they are read as they are now.
    pub(crate) views: Option<Arc<Views>>,
    /// Shows the catalog.
    pub(crate) catalog: &'a dyn ShowsCatalog,
}

impl StatementContext<'_> {
    /// A table by name, with its constraints bound.
    pub fn shape(&self, name: &str) -> Result<Arc<TableShape>> {
        self.shapes.shape(&crate::resolve::table(self.txn, name)?)
    }

    /// The binding of a query, as of now in the transaction.
    pub fn binding(&self, query: &PreparedQuery) -> Result<Binding> {
        let tables = query.tables();
        let catalog = match query.asks_catalog() {
            AsksCatalog::Nothing => None,
            asked => Some(Arc::new(self.catalog.shown(self.txn, asked == AsksCatalog::Sessions)?)),
        };
        let moments = self.moments(query)?;
        let mut past = HashMap::new();
        for (table, read_at) in query.past() {
            let moment = moments.get(read_at.number());
            let moment = moment.ok_or_else(|| Error::internal("a table is read at a moment of its query"))?;
            past.insert((table.def.id, *read_at), self.past_table(table, &moment.when)?);
        }
        let mut views = HashMap::with_capacity(tables.len());
        for table in tables {
            views.insert(table.def.id, self.view_of(table)?);
        }
        Ok(Binding {
            views,
            past,
            moments,
            params: self.params.iter().cloned().zip(self.param_types.iter().copied()).collect(),
            cancel: self.cancel.clone(),
            load: Arc::clone(self.txn.engine().load()),
            local: self.local.clone(),
            settings: Arc::clone(self.settings),
            catalog,
        })
    }

    /// What the statement sees of a table.
    pub(crate) fn view_of(&self, table: &TableRef) -> Result<(TableRef, ReadView)> {
        match self.views.as_ref().and_then(|views| views.get(&table.def.id)) {
            Some(before) => Ok(before.clone()),
            None => Ok((table.clone(), self.txn.view(table)?)),
        }
    }

    /// What expressions of the point engine are evaluated in.
    pub fn eval_context(&self) -> EvalContext<'_> {
        EvalContext { params: self.params, local: self.local, rng: Some(&*self.txn.engine().env().rng) }
    }
}
