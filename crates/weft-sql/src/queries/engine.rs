//! The query engine as sessions use it.

use std::path::PathBuf;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use sqlparser::ast::{Query, Statement};
use weft_expr::Local;
use weft_format::{Code, Error, Result};
use weft_kernel::{Engine, TableRef};

use super::collected::{Collected, Purpose, Reservation};
use super::prepared::PreparedQuery;
use crate::binding::{Binding, Tables};

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
    /// Whether subqueries that refer to the query around them run for each row, also where a join stands for them.
    pub apply_subqueries: bool,
}

impl Default for QueryOptions {
    fn default() -> QueryOptions {
        QueryOptions {
            memory_bytes: 2 << 30,
            spill_dir: None,
            spill_bytes: 100 << 30,
            parallelism: 0,
            apply_subqueries: false,
        }
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
    pub fn collect(&self, query: &PreparedQuery, binding: impl Fn() -> Result<Binding>) -> Result<Collected> {
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
        binding: impl Fn() -> Result<Binding>,
    ) -> Result<Option<Collected>> {
        let bytes_max = usize::try_from(bytes_max).unwrap_or(usize::MAX).min(self.memory_bytes());
        let run = || -> Result<Option<Collected>> {
            let mut collected = self.collected(purpose);
            let mut stream = self.execute(query, binding()?)?;
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
