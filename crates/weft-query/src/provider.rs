//! Tables and functions, as the planner sees them.
//!
//! ```text
//!   FROM t            → Tables::table("t")  → WeftTable { visible columns }
//!   FROM weft_locks   → no such table → SystemView
//!   FROM "\u{1}target" → the table an UPDATE or DELETE writes → WeftTable { hidden row id and place too }
//! ```

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow::datatypes::{DataType as ArrowType, SchemaRef};
use async_trait::async_trait;
use datafusion::catalog::Session;
use datafusion::common::config::ConfigOptions;
use datafusion::common::{Result, TableReference};
use datafusion::datasource::cte_worktable::CteWorkTable;
use datafusion::datasource::{TableProvider, provider_as_source, source_as_provider};
use datafusion::execution::SessionState;
use datafusion::logical_expr::planner::{ContextProvider, ExprPlanner, TypePlanner};
use datafusion::logical_expr::{
    AggregateUDF, Expr, HigherOrderUDF, LogicalPlan, ScalarUDF, TableProviderFilterPushDown, TableSource, TableType,
    WindowUDF,
};
use datafusion::physical_plan::ExecutionPlan;
use weft_env::sync::Mutex;
use weft_format::{Code, Error, Schema, TableId};
use weft_kernel::index::IndexPart;
use weft_kernel::table::{LOCATION, ReadView};
use weft_kernel::{TableRef, WeakTableRef};
use weft_sql::queries::{AsksCatalog, ReadAt, TARGET, moment_of};
use weft_sql::views::{SystemView, is_view};
use weft_sql::{Tables, qualified};

use super::apply::walk::visit_all;
use super::catalog::{CatalogTable, is_of_catalog};
use super::conditions::Conditions;
use super::error::wrap;
use super::indexed::{Indexed, indexed, test_of};
use super::pushdown::predicates_of;
use super::scan::{Leaf, WeftScanExec};
use super::series;
use super::shares::{Size, share_of};
use super::spans::{Known, Spans};
use super::system_view::ViewProvider;
use super::type_planner::WeftTypes;
use super::versions;

/// Tables below this many rows are read in one partition: starting tasks would take longer than reading.
const SMALL_TABLE_ROWS: u64 = 40_000;

/// How many partitions a table of about `rows` rows is read in.
pub(crate) fn partition_count(rows: u64, target: usize) -> usize {
    if rows < SMALL_TABLE_ROWS { 1 } else { target }
}

/// One table in a plan: its definition and estimates, no snapshot.
pub(crate) struct WeftTable {
    id: TableId,
    /// What of the past is read of it.
    read_at: Option<ReadAt>,
    name: Arc<str>,
    stored: Arc<Schema>,
    schema: SchemaRef,
    /// Which stored column each of `schema` is, or which of a version.
    ordinals: Vec<usize>,
    indexed: Arc<[Indexed]>,
    /// Columns that are unique together.
    unique: Vec<Vec<String>>,
    rows: AtomicU64,
    bytes: AtomicU64,
    source: WeakTableRef,
    /// None: nobody has asked since the table was planned last.
    spans: Mutex<Option<Spans>>,
}

impl WeftTable {
    /// The table as it is defined now; with `hidden`, a hidden row id is a column too, and the last one says where rows
    /// lie.
    fn new(table: &TableRef, hidden: bool, read_at: Option<ReadAt>) -> WeftTable {
        let stored = read_at.map_or_else(|| Arc::clone(&table.def.schema), |_| with_former_nulls(&table.def.schema));
        let is_shown = |&ordinal: &usize| hidden || stored.is_visible(ordinal);
        let mut ordinals: Vec<usize> =
            (0..stored.columns.len()).filter(is_shown).chain(hidden.then_some(LOCATION)).collect();
        if read_at.is_some() {
            ordinals.extend(versions::columns_of(table).map(|(_, ordinal)| ordinal));
        }
        let statistics = table.table.statistics();
        // A key has one row at a moment, and any number of versions.
        let unique = match read_at {
            Some(ReadAt::Period(_)) => Vec::new(),
            read_at => unique_columns(table, read_at.is_none()),
        };
        let is_indexed = !matches!(read_at, Some(ReadAt::Period(_)));
        WeftTable {
            id: table.def.id,
            read_at,
            name: table.def.name.as_str().into(),
            schema: versions::schema(&stored, &ordinals),
            ordinals,
            stored,
            indexed: if is_indexed { indexed(table).into() } else { Arc::new([]) },
            unique,
            rows: AtomicU64::new(statistics.row_count),
            bytes: AtomicU64::new(statistics.bytes),
            source: table.downgrade(),
            spans: Mutex::new(None),
        }
    }
}

impl WeftTable {
    /// How many rows it had when it was planned last.
    pub(crate) fn row_count(&self) -> u64 {
        self.rows.load(Ordering::Relaxed)
    }

    /// What is known of its columns: asked for when a condition or a join needs it.
    pub(crate) fn spans(&self) -> Spans {
        let mut spans = self.spans.lock();
        spans.get_or_insert_with(|| self.source.upgrade().map(|table| spans_of(&table)).unwrap_or_default()).clone()
    }

    /// The share of its rows that conditions leave.
    fn kept_of(&self, conditions: &[Expr]) -> f64 {
        if conditions.is_empty() {
            return 1.0;
        }
        share_of(&conditions.iter().collect::<Vec<_>>(), &self.size())
    }

    /// Rows, keys, and what is known of its columns.
    pub(crate) fn size(&self) -> Size {
        let of_rows = Size::of_rows(self.row_count() as f64);
        Size { unique: self.unique_columns(), spans: self.spans(), ..of_rows }
    }

    /// The names of columns that are unique together.
    pub(crate) fn unique_columns(&self) -> Vec<Vec<String>> {
        self.unique.clone()
    }
}

fn spans_of(table: &TableRef) -> Spans {
    let (ranges, columns) = (table.table.statistics().ranges, Arc::new(table.known_columns()));
    let known = table.def.schema.columns.iter().enumerate().map(|(ordinal, column)| {
        let range = ranges.get(ordinal).and_then(Option::as_ref);
        (column.name.clone(), Known::of(range, column.data_type, ordinal, &columns))
    });
    Arc::new(known.collect())
}

/// What a table has become may lack NULLs that it had.
fn with_former_nulls(schema: &Arc<Schema>) -> Arc<Schema> {
    let mut schema = Schema::clone(schema);
    let key = schema.key.clone();
    let columns = schema.columns.iter_mut().enumerate();
    columns.filter(|(ordinal, _)| !key.contains(ordinal)).for_each(|(_, column)| column.not_null = false);
    Arc::new(schema)
}

/// The columns of the key, and of unique indexes of columns alone and of all rows: these may be younger than the rows
/// that are read.
fn unique_columns(table: &TableRef, is_now: bool) -> Vec<Vec<String>> {
    let schema = &table.def.schema;
    let name = |ordinal: usize| schema.columns[ordinal].name.clone();
    let mut unique: Vec<Vec<String>> = Vec::new();
    if !schema.hidden_row_id {
        unique.push(schema.key.iter().copied().map(name).collect());
    }
    for index in table.indexes().iter().filter(|_| is_now) {
        let columns = index.index.parts().iter().map(|part| match part {
            IndexPart::Column(ordinal) => Some(name(*ordinal)),
            IndexPart::Expression(_) => None,
        });
        if index.index.is_unique()
            && index.index.predicate().is_empty()
            && let Some(columns) = columns.collect::<Option<Vec<String>>>()
        {
            unique.push(columns);
        }
    }
    unique
}

impl fmt::Debug for WeftTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WeftTable").field("name", &self.name).finish()
    }
}

#[async_trait]
impl TableProvider for WeftTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    async fn scan(
        &self,
        session: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        _limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let projection: Vec<usize> = match projection {
            Some(columns) => columns.iter().map(|&column| self.ordinals[column]).collect(),
            None => self.ordinals.clone(),
        };
        let conditions = Conditions::new(filters, Arc::clone(&self.stored), Arc::clone(&self.indexed))?;
        let target = session.config().target_partitions();
        let rows = self.rows.load(Ordering::Relaxed);
        Ok(Arc::new(WeftScanExec::new(Leaf {
            table: self.id,
            read_at: self.read_at,
            name: Arc::clone(&self.name),
            stored: Arc::clone(&self.stored),
            projection: projection.into(),
            fields: Arc::new([]),
            tests: Arc::new([]),
            conditions: Arc::new(conditions),
            partition_count: partition_count(rows, target),
            rows_estimated: rows,
            bytes_estimated: self.bytes.load(Ordering::Relaxed),
            kept_share: self.kept_of(filters),
        })))
    }

    fn supports_filters_pushdown(&self, filters: &[&Expr]) -> Result<Vec<TableProviderFilterPushDown>> {
        let answer = |filter: &&Expr| match predicates_of(filter, &self.stored, None) {
            Some(_) => TableProviderFilterPushDown::Exact,
            None if test_of(filter, &self.stored, &self.indexed, None).is_some() => {
                TableProviderFilterPushDown::Inexact
            }
            None => TableProviderFilterPushDown::Unsupported,
        };
        Ok(filters.iter().map(answer).collect())
    }
}

/// Takes new estimates from the bound tables into a plan's providers, so that it is planned anew with them.
pub(crate) fn refresh_estimates(plan: &LogicalPlan, views: &HashMap<TableId, (TableRef, ReadView)>) {
    let refreshed = visit_all(plan, &mut |node| {
        if let LogicalPlan::TableScan(scan) = node
            && let Ok(provider) = source_as_provider(&scan.source)
            && let Some(table) = provider.downcast_ref::<WeftTable>()
            && let Some((bound, _)) = views.get(&table.id)
        {
            let statistics = bound.table.statistics();
            table.rows.store(statistics.row_count, Ordering::Relaxed);
            table.bytes.store(statistics.bytes, Ordering::Relaxed);
            *table.spans.lock() = None;
        }
        Ok(())
    });
    debug_assert!(refreshed.is_ok(), "a walk that returns no error ends well");
}

/// The tables that a plan reads.
pub(crate) fn scanned_tables(plan: &LogicalPlan) -> HashSet<TableId> {
    let mut ids = HashSet::new();
    let walked = visit_all(plan, &mut |node| {
        if let LogicalPlan::TableScan(scan) = node
            && let Ok(provider) = source_as_provider(&scan.source)
            && let Some(table) = provider.downcast_ref::<WeftTable>()
        {
            ids.insert(table.id);
        }
        Ok(())
    });
    debug_assert!(walked.is_ok(), "a walk that returns no error ends well");
    ids
}

/// What one statement is planned against.
pub(crate) struct PlanningContext<'a> {
    state: &'a SessionState,
    tables: &'a dyn Tables,
    target: Option<TableRef>,
    used: RefCell<HashMap<(TableId, Option<ReadAt>), TableRef>>,
    reads_views: Cell<bool>,
    asks_catalog: Cell<AsksCatalog>,
    types: Arc<WeftTypes>,
}

impl<'a> PlanningContext<'a> {
    /// A context; `target` is what [`TARGET`] names.
    pub(crate) fn new(state: &'a SessionState, tables: &'a dyn Tables, target: Option<TableRef>) -> Self {
        PlanningContext {
            state,
            tables,
            target,
            used: RefCell::new(HashMap::new()),
            reads_views: Cell::new(false),
            asks_catalog: Cell::new(AsksCatalog::Nothing),
            types: Arc::default(),
        }
    }

    /// What the query asks of the catalog.
    pub(crate) fn asks_catalog(&self) -> AsksCatalog {
        let by_type = self.types.is_of_catalog.load(Ordering::Relaxed);
        self.asks_catalog.get().max(if by_type { AsksCatalog::Objects } else { AsksCatalog::Nothing })
    }

    fn note_catalog(&self, asked: AsksCatalog) {
        self.asks_catalog.set(self.asks_catalog.get().max(asked));
    }

    /// The relation of the catalog of a name.
    fn of_catalog(&self, reference: &TableReference) -> Option<CatalogTable> {
        let name = match reference.schema() {
            Some(schema) => Cow::Owned(qualified(schema, reference.table())),
            None => Cow::Borrowed(reference.table()),
        };
        let relation = self.tables.of_catalog(&name)?;
        self.note_catalog(if relation.tells_of_sessions() { AsksCatalog::Sessions } else { AsksCatalog::Objects });
        Some(CatalogTable::new(relation))
    }

    /// Whether a view was named, whose rows are made anew for each execution.
    pub(crate) fn reads_views(&self) -> bool {
        self.reads_views.get()
    }

    /// The view of a name, when no table has it.
    fn view(&self, reference: &TableReference) -> Option<ViewProvider> {
        let is_public = matches!(reference.schema(), None | Some("public"));
        let name = moment_of(reference.table()).0;
        if !is_public || !is_view(name) || self.tables.table(name).is_ok() {
            return None;
        }
        SystemView::find(name, self.tables.engine()).map(ViewProvider)
    }

    /// The tables that were named, and those of which the past is read.
    pub(crate) fn into_used(self) -> (Vec<TableRef>, Vec<(TableRef, ReadAt)>) {
        let (mut now, mut past) = (Vec::new(), Vec::new());
        for ((_, read_at), table) in self.used.into_inner() {
            match read_at {
                None => now.push(table),
                Some(read_at) => past.push((table, read_at)),
            }
        }
        (now, past)
    }

    fn find(&self, reference: &TableReference) -> weft_format::Result<(TableRef, bool)> {
        match (reference.schema(), &self.target) {
            (None, Some(target)) if reference.table() == TARGET => return Ok((target.clone(), true)),
            (None, _) => {
                if let Some(locked) = self.tables.locked(reference.table()) {
                    return Ok((locked, true));
                }
            }
            (Some(schema), _) => {
                let name = qualified(schema, reference.table());
                return Ok((self.tables.table(&name)?, false));
            }
        }
        Ok((self.tables.table(reference.table())?, false))
    }
}

impl ContextProvider for PlanningContext<'_> {
    fn get_table_source(&self, name: TableReference) -> Result<Arc<dyn TableSource>> {
        let read_at = moment_of(name.table()).1;
        if read_at.is_none()
            && let Some(relation) = self.of_catalog(&name)
        {
            return Ok(provider_as_source(Arc::new(relation)));
        }
        if let Some(view) = self.view(&name) {
            if read_at.is_some() {
                let message = format!("\"{}\" has no history", moment_of(name.table()).0);
                return Err(wrap(
                    Error::new(Code::WrongObjectType, message).hint("FOR SYSTEM_TIME stands behind a table"),
                ));
            }
            self.reads_views.set(true);
            return Ok(provider_as_source(Arc::new(view)));
        }
        let (table, hidden) = self.find(&name).map_err(wrap)?;
        if let Some(ReadAt::Period(_)) = read_at {
            table.versions().map_err(wrap)?;
        }
        let provider = WeftTable::new(&table, hidden, read_at);
        self.used.borrow_mut().insert((table.def.id, read_at), table);
        Ok(provider_as_source(Arc::new(provider)))
    }

    fn get_table_function_source(&self, name: &str, args: Vec<Expr>) -> Result<Arc<dyn TableSource>> {
        let function = self.state.table_functions().get(name).cloned().ok_or_else(|| {
            wrap(Error::new(Code::UndefinedFunction, format!("table function {name} does not exist")))
        })?;
        if name == "generate_series" {
            return Ok(provider_as_source(series::table(&function, args, self.state)?));
        }
        let arguments = datafusion::catalog::TableFunctionArgs::new(&args, self.state);
        Ok(provider_as_source(function.create_table_provider_with_args(arguments)?))
    }

    fn create_cte_work_table(&self, name: &str, schema: SchemaRef) -> Result<Arc<dyn TableSource>> {
        Ok(provider_as_source(Arc::new(CteWorkTable::new(name, schema))))
    }

    fn get_expr_planners(&self) -> &[Arc<dyn ExprPlanner>] {
        self.state.expr_planners()
    }

    fn get_type_planner(&self) -> Option<Arc<dyn TypePlanner>> {
        Some(Arc::clone(&self.types) as Arc<dyn TypePlanner>)
    }

    fn get_function_meta(&self, name: &str) -> Option<Arc<ScalarUDF>> {
        let function = self.state.scalar_functions().get(name).cloned()?;
        if is_of_catalog(&function) {
            self.note_catalog(AsksCatalog::Objects);
        }
        Some(function)
    }

    fn get_higher_order_meta(&self, name: &str) -> Option<Arc<HigherOrderUDF>> {
        self.state.higher_order_functions().get(name).cloned()
    }

    fn get_aggregate_meta(&self, name: &str) -> Option<Arc<AggregateUDF>> {
        self.state.aggregate_functions().get(name).cloned()
    }

    fn get_window_meta(&self, name: &str) -> Option<Arc<WindowUDF>> {
        self.state.window_functions().get(name).cloned()
    }

    fn get_variable_type(&self, _: &[String]) -> Option<ArrowType> {
        None
    }

    fn options(&self) -> &ConfigOptions {
        self.state.config_options()
    }

    fn udf_names(&self) -> Vec<String> {
        self.state.scalar_functions().keys().cloned().collect()
    }

    fn higher_order_function_names(&self) -> Vec<String> {
        self.state.higher_order_functions().keys().cloned().collect()
    }

    fn udaf_names(&self) -> Vec<String> {
        self.state.aggregate_functions().keys().cloned().collect()
    }

    fn udwf_names(&self) -> Vec<String> {
        self.state.window_functions().keys().cloned().collect()
    }
}
