//! What the sessions of one database share: the kernel, the query engine, the statement cache.

use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use weft_env::sync::Mutex;
use weft_format::Result;
use weft_kernel::catalog::ColumnPaths;
use weft_kernel::{Engine, IsolationLevel, Transaction};
use weft_pgcatalog::rights::Access;

use crate::activity::Activities;
use crate::configuration::{Changes, Configured, SETTINGS, Source, definition};
use crate::freshness::Freshness;
use crate::queries::{MakeQueryEngine, QueryEngine, QueryOptions};
use crate::rights::{has_first, load};
use crate::row::ShapeCache;
use crate::session::described::Described;
use crate::session::statement::Prepared;
use crate::settings::{EngineChoice, SEARCH_PATH, Settings, TABLE_METHOD, USER};

/// How many statements are kept, and the longest text that is.
const STATEMENTS_MAX: usize = 512;
const TEXT_BYTES_MAX: usize = 4096;

/// What SQL needs to be told about its surroundings.
#[derive(Clone)]
pub struct SqlOptions {
    /// Memory and threads of the query engine.
    pub queries: QueryOptions,
    /// What makes the query engine.
    pub query_engine: MakeQueryEngine,
}

impl SqlOptions {
    /// With this query engine, set up as usual.
    pub fn new(query_engine: MakeQueryEngine) -> SqlOptions {
        SqlOptions { queries: QueryOptions::default(), query_engine }
    }
}

/// The SQL side of one open database.
pub struct SqlEngine {
    kernel: Arc<Engine>,
    options: SqlOptions,
    /// Made when the first statement needs it: a database that is used through the point engine never pays for it.
    queries: Mutex<Option<Arc<dyn QueryEngine>>>,
    shapes: ShapeCache,
    /// Roles and rights, for a version of the catalog.
    access: Mutex<Option<(u64, Arc<Access>)>>,
    /// What the catalog shows, for a version of it.
    described: Mutex<Option<(u64, Arc<Described>)>>,
    statements: Mutex<Statements>,
    configured: Arc<Configured>,
    activities: Arc<Activities>,
}

/// What a statement is kept under: its text, and what else its plan depends on where a session differs from most. A
/// database with a schema per customer has many sessions that send the same text.
fn text_for<'a>(text: &'a str, settings: &Settings) -> Cow<'a, str> {
    if settings.search_path == SEARCH_PATH && settings.engine == EngineChoice::Auto {
        return Cow::Borrowed(text);
    }
    Cow::Owned(format!("{}\0{:?}\0{text}", settings.search_path, settings.engine))
}

#[derive(Default)]
struct Statements {
    by_text: HashMap<Arc<str>, Arc<Prepared>>,
    /// Oldest first.
    order: VecDeque<Arc<str>>,
}

impl SqlEngine {
    /// SQL over an open kernel.
    pub fn new(kernel: Arc<Engine>, options: SqlOptions) -> Arc<SqlEngine> {
        let activities = Arc::new(Activities::new(kernel.env()));
        let configured = Arc::new(Configured::default());
        if let Some(known) = definition("scheduler") {
            configured.put(known, kernel.load().mode().name().to_owned());
        }
        SqlEngine::of(kernel, options, (configured, activities))
    }

    /// The same over a kernel that takes the place of this one's: what was configured and counted goes on.
    pub fn in_place(&self, kernel: Arc<Engine>) -> Arc<SqlEngine> {
        let shared = (Arc::clone(&self.configured), Arc::clone(&self.activities));
        SqlEngine::of(kernel, self.options.clone(), shared)
    }

    fn of(
        kernel: Arc<Engine>,
        options: SqlOptions,
        (configured, activities): (Arc<Configured>, Arc<Activities>),
    ) -> Arc<SqlEngine> {
        Arc::new(SqlEngine {
            activities,
            kernel,
            options,
            queries: Mutex::new(None),
            shapes: ShapeCache::default(),
            access: Mutex::new(None),
            described: Mutex::new(None),
            statements: Mutex::new(Statements::default()),
            configured,
        })
    }

    /// The kernel.
    pub fn kernel(&self) -> &Arc<Engine> {
        &self.kernel
    }

    /// The query engine.
    pub fn queries(&self) -> Result<Arc<dyn QueryEngine>> {
        let mut slot = self.queries.lock();
        if let Some(engine) = &*slot {
            return Ok(Arc::clone(engine));
        }
        let engine = (self.options.query_engine)(&self.kernel, &self.options.queries)?;
        *slot = Some(Arc::clone(&engine));
        Ok(engine)
    }

    /// Roles and rights as a transaction sees them.
    pub(crate) fn access(&self, txn: &Transaction) -> Result<Arc<Access>> {
        let Some(version) = txn.rights_version() else { return Ok(Arc::new(load(txn)?)) };
        if let Some((known, access)) = &*self.access.lock()
            && *known == version
        {
            return Ok(Arc::clone(access));
        }
        let made = Arc::new(load(txn)?);
        *self.access.lock() = Some((version, Arc::clone(&made)));
        Ok(made)
    }

    /// What the catalog shows of a transaction's objects; made when the first statement of a version of the catalog
    /// asks.
    pub(crate) fn described(
        &self,
        txn: &Transaction,
        make: impl FnOnce() -> Result<Described>,
    ) -> Result<Arc<Described>> {
        let Some(version) = txn.catalog_version() else { return Ok(Arc::new(make()?)) };
        if let Some((known, described)) = &*self.described.lock()
            && *known == version
        {
            return Ok(Arc::clone(described));
        }
        let made = Arc::new(make()?);
        *self.described.lock() = Some((version, Arc::clone(&made)));
        Ok(made)
    }

    /// Whether the first superuser was made: before, nobody can log in.
    pub(crate) fn has_first_role(&self) -> Result<bool> {
        let txn = self.kernel.begin()?;
        let has = has_first(&txn);
        txn.rollback();
        has
    }

    /// Bound constraints of tables.
    pub(crate) fn shapes(&self) -> &ShapeCache {
        &self.shapes
    }

    /// What sessions start with.
    pub(crate) fn default_settings(&self) -> Settings {
        let options = self.kernel.options();
        let mut settings = Settings {
            durability: options.durability,
            engine: EngineChoice::Auto,
            column_paths: ColumnPaths::Auto,
            statement_timeout_ms: 0,
            lock_timeout_ms: u64::try_from(options.lock_timeout.as_millis()).unwrap_or(u64::MAX),
            idle_in_transaction_session_timeout_ms: 0,
            idle_session_timeout_ms: 0,
            freshness: Freshness::default(),
            read_only: false,
            system_time: String::new(),
            speculative_reads: false,
            table_method: TABLE_METHOD.to_owned(),
            isolation: IsolationLevel::ReadCommitted,
            application_name: String::new(),
            client_min_messages: "notice".into(),
            search_path: SEARCH_PATH.to_owned(),
            style: weft_expr::Style::default(),
            others: std::collections::BTreeMap::new(),
            custom: Default::default(),
            memory_limit_bytes: self.options.queries.memory_bytes as u64,
            user: USER.to_owned(),
            session_user: USER.to_owned(),
            role: None,
            session_role: None,
            database: USER.to_owned(),
            backend: 0,
            server: Arc::clone(&self.configured),
        };
        let configuration = self.configured.current();
        let given = SETTINGS.iter().filter(|known| known.changes == Changes::Session);
        for known in given.filter(|known| configuration.source(known.name) != Source::Default) {
            let set = settings.set(known.name, configuration.text(known.name));
            set.expect("a configuration's values are allowed");
        }
        settings
    }

    /// What all sessions do, and did.
    pub fn activities(&self) -> &Arc<Activities> {
        &self.activities
    }

    /// What the server was told, shared by its sessions.
    pub fn configured(&self) -> &Arc<Configured> {
        &self.configured
    }

    /// A statement that was prepared before from the same text, by a session that looks for names where this one does.
    pub(crate) fn cached(&self, text: &str, settings: &Settings) -> Option<Arc<Prepared>> {
        if text.len() > TEXT_BYTES_MAX {
            return None;
        }
        self.statements.lock().by_text.get(&*text_for(text, settings)).map(Arc::clone)
    }

    /// Keeps a statement for others that send the same text and look for names in the same places.
    pub(crate) fn keep(&self, prepared: &Arc<Prepared>, settings: &Settings) {
        let text = prepared.source();
        if text.len() > TEXT_BYTES_MAX {
            return;
        }
        let text = match text_for(text, settings) {
            Cow::Borrowed(_) => Arc::clone(text),
            Cow::Owned(text) => text.into(),
        };
        let mut gone = None;
        {
            let mut statements = self.statements.lock();
            if statements.by_text.insert(Arc::clone(&text), Arc::clone(prepared)).is_none() {
                statements.order.push_back(text);
            }
            if statements.order.len() > STATEMENTS_MAX
                && let Some(oldest) = statements.order.pop_front()
            {
                gone = statements.by_text.remove(&oldest);
            }
        }
        drop(gone);
    }

    /// Lets go of all plans and shapes, and with them of dropped tables.
    pub fn forget(&self) {
        self.shapes.clear();
        let statements = std::mem::take(&mut *self.statements.lock());
        drop(statements);
    }
}
