//! Table methods: ways to store tables, and what the kernel gives them to work with.
//!
//! ```text
//!   CREATE TABLE t ... USING column     Method::open(context, nothing)      ─▶ a Table, empty
//!   open of the directory               Method::open(context, recovered)    ─▶ the Table as the manifest knows it
//!                                       a file of it cannot be opened       ─▶ a Table that refuses and says why
//! ```

mod unavailable;

use std::collections::BTreeMap;
use std::sync::Arc;

use weft_contract::{Derived, JobKind, RecoveredTable, Table, TableDef, TakenOut};
use weft_env::{Env, File};
use weft_format::{Code, Error, FileId, Result};

use crate::fault::Fault;
use crate::services::Services;
use crate::step::Step;
use crate::timeline::Horizon;

pub(crate) use unavailable::{Unavailable, told_at_commit};

/// What a method gets to build or reopen a table.
#[derive(Clone)]
pub struct TableContext {
    /// Name, schema, options.
    pub def: Arc<TableDef>,
    /// Files, time, threads.
    pub env: Env,
    /// What the kernel offers to methods.
    pub services: Arc<Services>,
    /// How far back the table is read; an index has its table's.
    pub horizon: Arc<Horizon>,
}

impl TableContext {
    /// That of a table that has dropped nothing yet.
    pub(crate) fn new(def: Arc<TableDef>, env: &Env, services: &Arc<Services>) -> TableContext {
        let horizon = Arc::new(Horizon::new(services.timeline.clone()));
        TableContext { def, env: env.clone(), services: services.clone(), horizon }
    }
}

/// A way to store tables, chosen by `CREATE TABLE ... USING`.
pub trait Method: Send + Sync {
    /// The name after USING.
    fn name(&self) -> &'static str;
    /// Tests the options of WITH; an unknown or bad one is an error that names it and what is allowed.
    fn check_options(&self, options: &BTreeMap<String, String>) -> Result<()>;
    /// The kinds of jobs that its tables have.
    fn job_kinds(&self) -> &'static [JobKind];
    /// The named steps of what they write: a simulation crashes after each.
    fn steps(&self) -> &'static [Step];
    /// The deliberate bugs that can be planted in it.
    fn faults(&self) -> &'static [Fault];
    /// Builds a new table (`recovered` is empty) or reopens one.
    fn open(&self, context: TableContext, recovered: RecoveredTable) -> Result<Arc<dyn Table>>;
    /// Builds, or reopens, rows of some columns of a table, which are fed by it and scanned instead of it
    /// ([`Derived::columns`]): the schema is that of these columns. Fails in a method that stores tables only
    /// ([`derives_nothing`]).
    fn derive(&self, context: TableContext, recovered: RecoveredTable) -> Result<Arc<dyn Derived>>;
    /// Folds the payloads of a table's manifest edits into one that means the same. Pure.
    fn fold(&self, payloads: &[Vec<u8>]) -> Result<Vec<u8>>;
    /// Tests every checksum of a data file, or a copy of it, of a table with this definition. What nobody uses as of
    /// these payloads need not be whole.
    fn test_file(&self, def: &TableDef, payloads: &[Vec<u8>], file: FileId, handle: Arc<dyn File>) -> Result<()>;
    /// What a table with these payloads loses with a file, and the payload that takes it out. `handle` is the file when
    /// it can be opened.
    fn take_out(
        &self,
        def: &TableDef,
        _payloads: &[Vec<u8>],
        file: FileId,
        _handle: Option<Arc<dyn File>>,
    ) -> Result<TakenOut> {
        let message = format!("method {} cannot go on without file {file} of table {:?}", self.name(), def.name);
        Err(Error::new(Code::FeatureNotSupported, message).hint("restore the file from a backup"))
    }
}

/// What a method that stores tables only says to [`Method::derive`].
pub fn derives_nothing(method: &str) -> Error {
    Error::new(Code::FeatureNotSupported, format!("method {method} stores no column indexes"))
}

/// Methods by name.
pub(crate) type Methods = BTreeMap<&'static str, Arc<dyn Method>>;

/// The method of a name among those the engine was opened with.
pub(crate) fn method<'a>(methods: &'a Methods, name: &str) -> Result<&'a Arc<dyn Method>> {
    methods.get(name).ok_or_else(|| {
        let known: Vec<&str> = methods.keys().copied().collect();
        let message = format!("table method {name:?} does not exist");
        Error::new(Code::UndefinedObject, message).hint(format!("methods are: {}", known.join(", ")))
    })
}
