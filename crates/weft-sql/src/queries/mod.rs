//! What sessions ask of the query engine, and what they keep of its answers.
//!
//! ```text
//!   session ── prepare ──▶ PreparedQuery     good for any snapshot of the same catalog version
//!           ── execute ──▶ QueryStream       batches, pulled; bound to a snapshot and parameters
//!           ── collect ──▶ Collected         all of them, counted as memory of queries
//! ```
//!
//! The engine is made by whoever makes a [`SqlEngine`](crate::SqlEngine): nothing here knows how it plans. What a query
//! means that both engines must agree on (names of result columns, what is refused before planning) is here, too.

mod array_bytes;
mod collected;
pub mod names;

use std::any::Any;
use std::path::PathBuf;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use sqlparser::ast::{Query, Statement};
use weft_expr::Local;
use weft_format::{Code, DataType, Error, Result, TableId};
use weft_kernel::{Engine, TableRef};

use crate::binding::{Binding, Tables};
use crate::outcome::OutputColumn;

pub use array_bytes::{has_views, held_bytes, shown_bytes, viewed_bytes, with_own_views};
pub use collected::{Collected, HeldMemory, Purpose, Reservation, batch_bytes, pieces};

/// The name under which a statement that writes reads its own table, hidden row id included.
pub const TARGET: &str = "\u{1}target";

/// How the query engine is set up.
#[derive(Clone, Debug)]
pub struct QueryOptions {
    /// The most memory all queries together take, bytes; above it they spill, or fail with 53200.
    pub memory_bytes: usize,
    /// Where queries spill to; none: they do not spill.
    pub spill_dir: Option<PathBuf>,
    /// The most bytes of spilled files.
    pub spill_bytes: u64,
    /// Worker threads and partitions; 0 = as many as the machine runs at once.
    pub parallelism: usize,
}

impl Default for QueryOptions {
    fn default() -> QueryOptions {
        QueryOptions { memory_bytes: 2 << 30, spill_dir: None, spill_bytes: 100 << 30, parallelism: 0 }
    }
}

/// Makes the query engine of a database, when the first statement needs it.
pub type MakeQueryEngine = fn(&Engine, &QueryOptions) -> Result<Arc<dyn QueryEngine>>;

/// The query engine: whatever reads many rows.
pub trait QueryEngine: Send + Sync {
    /// Whether a function makes one value of many rows.
    fn is_aggregate(&self, name: &str) -> bool;

    /// Plans a query. `text` is the statement, for positions in errors; `target` is the table behind the name
    /// [`TARGET`].
    fn prepare_query(
        &self,
        tables: &dyn Tables,
        query: &Query,
        text: &str,
        target: Option<TableRef>,
        local: &Local,
    ) -> Result<PreparedQuery>;

    /// Runs a prepared query; batches are pulled from the stream.
    fn execute(&self, query: &PreparedQuery, binding: Binding) -> Result<Box<dyn QueryStream>>;

    /// The plan as text; with `analyze` it is run (its rows are dropped) and shown with what each operator did.
    fn explain(&self, query: &PreparedQuery, binding: Binding, analyze: bool) -> Result<String>;

    /// Whether a query that failed may be run again: it ran out of memory, and will spare it from now on.
    fn spares_after(&self, error: &Error, query: &PreparedQuery) -> bool;

    /// No bytes of the memory of queries, to which others are added.
    fn reservation(&self) -> Arc<dyn Reservation>;

    /// The most memory that all queries take together, bytes.
    fn memory_bytes(&self) -> usize;
}

impl dyn QueryEngine + '_ {
    /// Plans a SELECT (or VALUES, WITH, set operation) for a session. `text` is the statement, for positions in errors.
    pub fn prepare(&self, tables: &dyn Tables, query: &Statement, text: &str, local: &Local) -> Result<PreparedQuery> {
        match query {
            Statement::Query(query) => self.prepare_query(tables, query, text, None, local),
            other => {
                let text = other.to_string();
                let word = text.split_whitespace().next().unwrap_or_default();
                let message = format!("the query engine runs queries only, not {word}");
                Err(Error::new(Code::FeatureNotSupported, message))
            }
        }
    }

    /// Runs a prepared query to its end, for a result. One that runs out of memory is planned again, to spare it.
    pub fn collect(&self, query: &PreparedQuery, binding: impl Fn() -> Binding) -> Result<Collected> {
        self.collect_within(query, Purpose::Shown, u64::MAX, binding)?.ok_or_else(|| {
            let message = format!("the result takes more than the memory of queries ({} bytes)", self.memory_bytes());
            let hint = "ask for fewer rows at a time, write them to a file with COPY (query) TO, or raise memory_limit";
            Error::new(Code::OutOfMemory, message).hint(hint)
        })
    }

    /// The same; none when the rows alone take more than so many bytes, or than the memory of queries.
    pub fn collect_within(
        &self,
        query: &PreparedQuery,
        purpose: Purpose,
        bytes_max: u64,
        binding: impl Fn() -> Binding,
    ) -> Result<Option<Collected>> {
        let bytes_max = usize::try_from(bytes_max).unwrap_or(usize::MAX).min(self.memory_bytes());
        let run = || -> Result<Option<Collected>> {
            let mut collected = self.collected(purpose);
            let mut stream = self.execute(query, binding())?;
            while let Some(batch) = stream.next_batch()? {
                if !collected.push(batch, bytes_max)? {
                    return Ok(None);
                }
            }
            Ok(Some(collected))
        };
        match run() {
            Err(error) if self.spares_after(&error, query) => run(),
            result => result,
        }
    }

    /// No rows, to which others are added that count as memory of queries.
    pub fn collected(&self, purpose: Purpose) -> Collected {
        Collected::new(self.reservation(), purpose)
    }
}

/// A running query. Dropping it cancels what is still running.
pub trait QueryStream: Send {
    /// The schema of the batches: the columns' names, and their types' Arrow types.
    fn schema(&self) -> &SchemaRef;

    /// The next batch, never empty, or the end. After an error the stream has ended.
    fn next_batch(&mut self) -> Result<Option<RecordBatch>>;
}

/// What the engine keeps of a query.
pub trait Plan: Any + Send + Sync {
    /// The ids of the tables that it reads.
    fn scanned(&self) -> Vec<TableId>;

    /// Whether executions reuse what was planned.
    fn is_warm(&self) -> bool;

    /// How often it was planned.
    fn planned_count(&self) -> u64;
}

/// A planned query. Good for any snapshot of the same catalog version.
pub struct PreparedQuery {
    columns: Arc<[OutputColumn]>,
    params: Vec<Option<DataType>>,
    tables: Vec<TableRef>,
    /// Whether plans are good for sessions of one style only.
    reads_session: bool,
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
        PreparedQuery { columns, params, tables, reads_session, plan }
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
        self.tables.iter().filter(|table| ids.contains(&table.def.id)).collect()
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
