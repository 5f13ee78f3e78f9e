//! One directory, opened.
//!
//! ```text
//!   Database::open("d")  ── locks d/LOCK, reads the manifest, replays the log ──▶ sessions from any thread
//!   close()              ── stops the jobs, flushes, checkpoints, unlocks
//! ```
//!
//! 1. A directory is open in one process at a time; the second one gets 57P03 with the first one's process id. The lock
//!    of the directory sees to that; a server of another machine, where it may not, is listened for.
//! 2. A `Database` may be dropped without `close`: nothing acknowledged is lost (that is what the log is for), only the
//!    next opening takes longer.
//! 3. A database that follows another process ([`Database::follow`]) only reads. When it has to join anew its sessions
//!    end with 57P01, those that are idle at once, and new ones read what it has joined. The same when it becomes the
//!    writer ([`Database::promote`]): that is done alone, a second call is refused, and closing waits for its end.
//! 4. When the last `Database` goes, what it had in memory goes back to the system; sessions that are left keep it.
//!    Before, what is freed goes back while the process has more than half of what is accounted for.
//! 5. A directory that follows an archive is nobody's to write: opening it is refused.
//! 6. The directory is the one that was named when it was opened, wherever the process goes afterwards.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use weft_env::sync::{Mutex, RwLock};
use weft_env::{Env, FreedMemory, ObjectStore};
use weft_format::{Code, Error, Lsn, Result};
use weft_kernel::log::LogKeeper;
use weft_kernel::{
    Backup, BackupPlace, BackupSummary, Engine, EngineOptions, EngineStatus, QuarantineReport, TableDef,
};
use weft_replica::{
    Archive, ArchiveRestored, ArchiveStatus, ArchiveSummary, FeedOptions, Herald, Link, Mirror, MirrorOptions, Node,
    NodeOptions, NodeSeen, NodeStatus, Promoted, Survey, Transit,
};
use weft_sql::activity::Activities;
use weft_sql::configuration::Configured;
use weft_sql::roles::Login;
use weft_sql::{QueryOptions, Session, SqlEngine, SqlOptions};
use weft_tables::{column_method, lineage_method, row_method};

use crate::options::{Feeder, Follow, Options};

/// How often [`Database::retry`] runs its transaction before it gives the conflict back.
const ATTEMPTS_MAX: u32 = 100;

/// An opened database. Cheap to clone; shared between threads.
#[derive(Clone)]
pub struct Database {
    served: Arc<Served>,
    beside: Arc<RwLock<Arc<Beside>>>,
    options: Arc<Options>,
    dir: PathBuf,
    env: Env,
    /// Dropped last.
    _memory: Arc<FreedMemory>,
}

/// What sessions run on.
struct Served {
    /// Another takes its place when a node joins anew; none: it has not joined yet.
    sql: RwLock<Option<Arc<SqlEngine>>>,
    activities: OnceLock<Arc<Activities>>,
    configured: OnceLock<Arc<Configured>>,
    /// Ships the log.
    archive: Mutex<Option<Archive>>,
    /// Whether it was closed. Held by who closes it or makes it the writer.
    is_closed: Mutex<bool>,
}

impl Served {
    fn nothing() -> Served {
        let (activities, configured) = (OnceLock::new(), OnceLock::new());
        let (sql, archive, is_closed) = (RwLock::new(None), Mutex::new(None), Mutex::new(false));
        Served { sql, activities, configured, archive, is_closed }
    }

    /// These sessions begin in from now on.
    fn begin(&self, sql: Arc<SqlEngine>) {
        self.activities.get_or_init(|| Arc::clone(sql.activities()));
        self.configured.get_or_init(|| Arc::clone(sql.configured()));
        *self.sql.write() = Some(sql);
    }

    /// An engine takes the place of another one, whose sessions end.
    fn replace(&self, engine: &Arc<Engine>, before: Option<&Arc<Engine>>, options: &SqlOptions) {
        let clients = self.clients();
        self.begin(self.sql_of(engine, options));
        self.end(before, &clients);
    }

    /// What sessions begin in on another engine.
    fn sql_of(&self, engine: &Arc<Engine>, options: &SqlOptions) -> Arc<SqlEngine> {
        let present = self.sql.read().clone();
        present
            .map_or_else(|| SqlEngine::new(Arc::clone(engine), options.clone()), |sql| sql.in_place(Arc::clone(engine)))
    }

    /// The sessions there are, by their numbers.
    fn clients(&self) -> Vec<u64> {
        self.activities.get().map(|activities| activities.pids()).unwrap_or_default()
    }

    /// Ends an engine that followed, and these sessions.
    fn end(&self, before: Option<&Arc<Engine>>, clients: &[u64]) {
        // It writes nothing, so nothing is left undone.
        drop(before.map(|before| before.close()));
        // Those that wait for their clients would keep it in memory.
        self.activities.get().inspect(|activities| activities.end_idle(clients));
    }
}

/// The processes beside this one.
enum Beside {
    /// Nobody follows.
    Nobody,
    Nodes(Herald),
    /// The writer, and who mirrors it when it is elsewhere. The node ends first.
    Writer(Node, Option<Arc<Mirror>>),
}

/// What a table has in one of its layers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layer {
    /// Name of the layer: active row table, frozen row tables, incremental, transition, baseline.
    pub name: String,
    /// Row tables or column tables.
    pub parts: u64,
    /// Row versions in them.
    pub rows: u64,
    /// How many of these are dead.
    pub dead_rows: u64,
    /// Bytes, in memory or on disk.
    pub bytes: u64,
}

impl Database {
    /// Opens the database in a directory with the default options; makes it when there is none.
    pub fn open(dir: impl AsRef<Path>) -> Result<Database> {
        Database::open_with(dir, Options::default())
    }

    /// Opens the database in a directory; makes it when there is none.
    pub fn open_with(dir: impl AsRef<Path>, options: Options) -> Result<Database> {
        let env = Env::real();
        let memory = keep_little(&env, &options);
        let methods: Vec<Arc<dyn weft_kernel::method::Method>> = methods();
        let (dir, limits) = (absolute(dir.as_ref())?, options.nodes);
        refuse_mirror(&env, &dir)?;
        let apart = weft_replica::listen(&env, &dir, weft_env::machine())?;
        let archived_to = archived_to(&env, &dir, &options)?;
        let engine_options = EngineOptions { apart, archived_to, ..options.engine() };
        let engine = Engine::open(env.clone(), &dir, methods, engine_options)?;
        let archive = match start_archive(&env, &engine, &options) {
            Ok(archive) => archive,
            Err(error) => {
                // Nothing was written but what recovery writes.
                let _ = engine.close();
                return Err(error);
            }
        };
        let beside = match limits {
            Some(limits) => match Herald::start(&engine, limits.herald()) {
                Ok(herald) => Beside::Nodes(herald),
                // A full disk, or a folder that belongs to somebody else, keeps nobody from opening: nodes wait.
                Err(_) => {
                    weft_replica::withdraw(&env, &dir);
                    Beside::Nobody
                }
            },
            None => {
                weft_replica::withdraw(&env, &dir);
                Beside::Nobody
            }
        };
        let sql = SqlEngine::new(engine, sql_options(&options));
        sql.drop_leftovers();
        let served = Served::nothing();
        *served.archive.lock() = archive;
        served.begin(sql);
        if matches!(beside, Beside::Nobody) {
            engine_of(&served).keep_log_from(LogKeeper::Nodes, None);
        }
        let beside = Arc::new(RwLock::new(Arc::new(beside)));
        Ok(Database {
            served: Arc::new(served),
            beside,
            options: Arc::new(options),
            dir,
            env,
            _memory: Arc::new(memory),
        })
    }

    /// Follows the database that another process has open in a directory, with [`Options::nodes`], and shows what that
    /// one commits, milliseconds later. Sessions only read (25006). With [`Follow::archive`] it follows what a server
    /// ships there, in a directory of its own, as much later as that is shipped.
    ///
    /// # Errors
    ///
    /// 57P03 when it has not joined in [`Follow::join_timeout`], with the reason; 22023 when the directory is another
    /// database's, or follows another archive.
    pub fn follow(dir: impl AsRef<Path>, options: Options, follow: Follow) -> Result<Database> {
        let (env, dir) = (Env::real(), absolute(dir.as_ref())?);
        let memory = keep_little(&env, &options);
        let mirror = start_mirror(&env, &dir, &follow)?.map(Arc::new);
        let node = NodeOptions {
            name: follow.name,
            address: follow.address,
            engine: options.engine(),
            join_timeout: follow.join_timeout,
            ..NodeOptions::default()
        };
        let (served, sql) = (Arc::new(Served::nothing()), sql_options(&options));
        let (shown, mirrored) = (Arc::clone(&served), mirror.clone());
        let replaced = move |engine: &Arc<Engine>, before: Option<Arc<Engine>>| {
            mirrored.iter().for_each(|mirror| mirror.accompany(engine));
            shown.replace(engine, before.as_ref(), &sql);
        };
        let node = Node::start(&env, &dir, methods(), node, Box::new(replaced))?;
        let beside = Arc::new(RwLock::new(Arc::new(Beside::Writer(node, mirror))));
        let database = Database { served, beside, options: Arc::new(options), dir, env, _memory: Arc::new(memory) };
        // A weak one, or it would keep itself.
        let (weak, parts) = (Arc::downgrade(&database.beside), database.clone_parts());
        database.activities().set_promote(move || match weak.upgrade() {
            Some(beside) => parts.promote(&beside, false),
            None => Err(Error::new(Code::ShuttingDown, "the database is closed")),
        });
        Ok(database)
    }

    /// Makes a database that follows the writer of its directory, with everything that was ever acknowledged there;
    /// answers when it may write. With `takes_over` a writer that lives is overtaken: it acknowledges nothing more.
    /// Sessions end with 57P01, and others begin.
    ///
    /// # Errors
    ///
    /// 57P03 when the writer lives and is not to be overtaken, and it follows on then; 55000 when it follows nobody,
    /// and while another promotion is under way; 57P01 when it was closed.
    pub fn promote(&self, takes_over: bool) -> Result<()> {
        self.clone_parts().promote(&self.beside, takes_over)
    }

    fn clone_parts(&self) -> Promotion {
        let (served, env, dir) = (Arc::clone(&self.served), self.env.clone(), self.dir.clone());
        Promotion { served: Arc::downgrade(&served), options: Arc::clone(&self.options), env, dir }
    }

    fn beside(&self) -> Arc<Beside> {
        Arc::clone(&self.beside.read())
    }

    /// Who has the directory now, or the archive, when another has taken it from this database: then it acknowledges
    /// nothing more, and is to be closed.
    pub fn overtaken(&self) -> Option<Error> {
        let engine = self.engine();
        let lost_archive = || self.served.archive.lock().as_ref().and_then(|archive| archive.lost());
        match !engine.is_follower() && engine.has_lost_directory() {
            true => engine.check_writes().err(),
            false => lost_archive(),
        }
    }

    /// What sessions begin in now.
    fn sql(&self) -> Arc<SqlEngine> {
        self.served.sql.read().clone().expect("a database is there when it was opened, or has joined")
    }

    /// The kernel below, for who measures it.
    pub fn engine(&self) -> Arc<Engine> {
        Arc::clone(self.sql().kernel())
    }

    /// Whether it follows another process.
    pub fn follows(&self) -> bool {
        matches!(*self.beside(), Beside::Writer(..))
    }

    /// Where it is as a node; none when it follows nobody.
    pub fn node(&self) -> Option<NodeStatus> {
        if let Beside::Writer(node, _) = &*self.beside() { Some(node.status()) } else { None }
    }

    /// The nodes that follow it.
    pub fn nodes(&self) -> Vec<NodeSeen> {
        if let Beside::Nodes(herald) = &*self.beside() { herald.nodes() } else { Vec::new() }
    }

    /// Feeds a node elsewhere over a connection, until that ends or `goes_on` says no: on this thread. What is kept for
    /// it is bounded as for any node.
    ///
    /// # Errors
    ///
    /// 55000 with [`Options::nodes`] none; 25006 when this follows another database; 42602 when a node cannot be called
    /// so; 22023 when the node has another database.
    pub fn feed(&self, link: Box<dyn Link>, name: &str, address: &str, goes_on: &dyn Fn() -> bool) -> Result<()> {
        let keep_bytes = self.options.nodes.map(|nodes| nodes.keep_bytes);
        let (name, address) = (name.to_owned(), address.to_owned());
        let options = FeedOptions { name, address, keep_bytes, ..FeedOptions::default() };
        weft_replica::feed(&self.engine(), link, &options, goes_on)
    }

    /// How its archive stands; none when it has none.
    pub fn archive(&self) -> Option<ArchiveStatus> {
        Archive::status_of(&self.engine())
    }

    /// A new session; an error when the database was closed.
    pub fn session(&self) -> Result<Session> {
        let sql = self.sql();
        sql.kernel().begin()?.rollback();
        Ok(sql.session())
    }

    /// Runs `work` in a transaction of its own and commits it; runs it again when it lost against another transaction.
    ///
    /// `work` may run several times, so it should do nothing that ROLLBACK does not undo. The last conflict is returned
    /// after 100 attempts. At READ COMMITTED, the default, what was read may change before it is written without a
    /// conflict: lock it by `SELECT ... FOR UPDATE`, or begin with `SET TRANSACTION ISOLATION LEVEL REPEATABLE READ`.
    pub fn retry<T>(&self, mut work: impl FnMut(&mut Session) -> Result<T>) -> Result<T> {
        let mut attempt = 1;
        loop {
            let mut session = self.session()?;
            let result = in_transaction(&mut session, &mut work);
            match result {
                Err(error) if error.is_retryable() && attempt < ATTEMPTS_MAX => self.pause(attempt),
                other => return other,
            }
            attempt += 1;
        }
    }

    /// A pause that grows and differs between competitors: the first retries come at once.
    fn pause(&self, attempt: u32) {
        let micros_max = 10u64 << attempt.min(10);
        self.env.clock.sleep(Duration::from_micros(self.env.rng.next_u64() % micros_max));
    }

    /// What the login of a role is decided by; none when there is no such role.
    pub fn login(&self, role: &str) -> Result<Option<Login>> {
        weft_sql::roles::login(&mut self.session()?, role)
    }

    /// Whether there is a role that may everything: before, nobody can log in.
    pub fn has_superuser(&self) -> Result<bool> {
        weft_sql::roles::has_superuser(&mut self.session()?)
    }

    /// Makes the first role, which has every right, or gives it another verifier of its password.
    pub fn put_superuser(&self, role: &str, verifier: Option<&str>) -> Result<()> {
        weft_sql::roles::put_superuser(&mut self.session()?, role, verifier)
    }

    /// Writes what is in memory to column tables and drops the log before it.
    pub fn checkpoint(&self) -> Result<()> {
        self.engine().checkpoint()
    }

    /// Reads every file and tests every checksum and invariant; what is wrong, one line each.
    pub fn check(&self) -> Result<Vec<String>> {
        self.engine().check()
    }

    /// The committed tables, by name.
    pub fn tables(&self) -> Result<Vec<Arc<TableDef>>> {
        let mut tables = self.engine().begin()?.tables();
        tables.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(tables)
    }

    /// What lies in which layer of a table.
    pub fn layers(&self, table: &str) -> Result<Vec<Layer>> {
        let table = self.engine().begin()?.table(table)?;
        Ok(layers_of(&table))
    }

    /// Copies the database as it is at this moment into `dest`, a directory or a URL (`s3://bucket/prefix`,
    /// `file:///dir`), beside the backups that are there, while transactions go on; files that earlier backups have are
    /// not copied again. After an error those are as they were. [`restore`] makes a database of it.
    pub fn backup(&self, dest: impl AsRef<Path>) -> Result<BackupSummary> {
        let place = match url(dest.as_ref()) {
            Some(url) => BackupPlace::Objects(weft_store::open_to_put(&self.env, url, weft_store::PATIENCE)?),
            None => dest.as_ref().into(),
        };
        self.engine().backup(place, None)
    }

    /// What other programs are told that try to open the directory: who has it, and on a second line how to come in.
    pub fn describe_owner(&self, owner: &str) -> Result<()> {
        self.engine().describe_owner(owner)
    }

    /// Where the database is.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Memory, log and jobs at this moment.
    pub fn status(&self) -> EngineStatus {
        self.engine().status()
    }

    /// What is wrong now with files and background jobs, each with what to do.
    pub fn troubles(&self) -> Vec<(String, String)> {
        let resting = self.engine().jobs().into_iter().filter_map(|job| job.trouble);
        let failing = resting.chain(self.engine().house_trouble()).map(|trouble| (trouble.error, trouble.hint));
        let damaged = self.engine().damaged_files().into_iter().map(|file| (file.error, file.hint));
        let known = "look after the disk, its space and the rights of the directory";
        failing.chain(damaged).map(|(what, remedy)| (what, remedy.unwrap_or_else(|| known.to_owned()))).collect()
    }

    /// What all sessions do, and did.
    pub fn activities(&self) -> &Activities {
        self.served.activities.get().expect("there are sessions since it was opened, or has joined")
    }

    /// What the server was told, shared by its sessions.
    pub fn configured(&self) -> &Arc<Configured> {
        self.served.configured.get().expect("there are sessions since it was opened, or has joined")
    }

    /// How many transactions wait for a lock.
    pub fn lock_waiters(&self) -> usize {
        self.engine().locks().iter().map(|lock| lock.waiters.len()).sum()
    }

    /// Name, number and layers of every table.
    pub fn layout(&self) -> Vec<(String, u32, Vec<Layer>)> {
        let tables = self.engine().tables();
        let of = |table: &weft_kernel::TableRef| (table.def.name.clone(), table.def.oid, layers_of(table));
        tables.iter().map(of).collect()
    }

    /// Stops background jobs, writes a checkpoint and gives the directory free. Sessions that are left fail with 57P01.
    pub fn close(&self) -> Result<()> {
        // A promotion that is under way ends before: then there is one engine, which is closed here.
        let mut is_closed = self.served.is_closed.lock();
        *is_closed = true;
        // What is committed from here on the next opening ships.
        if let Some(archive) = self.served.archive.lock().take() {
            archive.stop();
        }
        match &*self.beside() {
            Beside::Nobody => self.engine().close(),
            Beside::Nodes(herald) => {
                herald.stop();
                self.engine().close_and(|| herald.farewell())
            }
            Beside::Writer(node, mirror) => {
                node.stop();
                mirror.iter().for_each(|mirror| mirror.stop());
                self.engine().close()
            }
        }
    }
}

/// So long a request to the store of an archive is repeated, before it says that it waits.
const ARCHIVE_PATIENCE: Duration = Duration::from_secs(10);

/// So long who asked for a promotion has to be told, before sessions of the node end.
const TELL: Duration = Duration::from_millis(100);

/// What a promotion needs of a database.
#[derive(Clone)]
struct Promotion {
    served: Weak<Served>,
    options: Arc<Options>,
    env: Env,
    dir: PathBuf,
}

impl Promotion {
    fn promote(&self, beside: &RwLock<Arc<Beside>>, takes_over: bool) -> Result<()> {
        let closed = || Error::new(Code::ShuttingDown, "the database is closed");
        let served = self.served.upgrade().ok_or_else(closed)?;
        let Some(is_closed) = served.is_closed.try_lock() else {
            let message = "this node is being promoted, or closed, already";
            return Err(Error::new(Code::NotInPrerequisiteState, message).hint("wait for that to end"));
        };
        if *is_closed {
            return Err(closed());
        }
        let present = Arc::clone(&beside.read());
        let Beside::Writer(node, _) = &*present else {
            let message = "recovery is not in progress";
            return Err(Error::new(Code::NotInPrerequisiteState, message).hint("this database writes already"));
        };
        let archived_to = archived_to(&self.env, &self.dir, &self.options)?;
        let Promoted { engine, before } =
            node.promote(EngineOptions { takes_over, archived_to, ..self.options.engine() })?;
        let herald = self.options.nodes.and_then(|limits| Herald::start(&engine, limits.herald()).ok());
        if herald.is_none() {
            weft_replica::withdraw(&self.env, &self.dir);
        }
        if herald.is_none() {
            engine.keep_log_from(LogKeeper::Nodes, None);
        }
        match start_archive(&self.env, &engine, &self.options) {
            Ok(archive) => *served.archive.lock() = archive,
            // What it would commit nobody who restores would see.
            Err(error) => engine.stop_writes(error.message()),
        }
        // As an opening does, before anybody sees it.
        let (sql, clients) = (served.sql_of(&engine, &sql_options(&self.options)), served.clients());
        sql.drop_leftovers();
        *beside.write() = Arc::new(herald.map_or(Beside::Nobody, Beside::Nodes));
        served.begin(sql);
        let (ending, clock) = (self.served.clone(), Arc::clone(&self.env.clock));
        let end = move |pause: Duration| {
            clock.sleep(pause);
            ending.upgrade().inspect(|served| served.end(Some(&before), &clients));
        };
        let ending = end.clone();
        if self.env.spawn.spawn("weft-promoted", Box::new(move || ending(TELL))).is_err() {
            end(Duration::ZERO);
        }
        Ok(())
    }
}

/// A directory by a name that stays true when the process goes to another one.
fn absolute(dir: &Path) -> Result<PathBuf> {
    weft_env::absolute(dir).map_err(|error| Error::io(format!("finding the directory {}", dir.display()), &error))
}

/// From where on an opening keeps the log for the archive.
fn archived_to(env: &Env, dir: &Path, options: &Options) -> Result<Option<Lsn>> {
    if options.archive.is_some() { Archive::has_up_to(env, dir) } else { Ok(None) }
}

/// Begins to ship the log, when it is to be archived.
fn start_archive(env: &Env, engine: &Arc<Engine>, options: &Options) -> Result<Option<Archive>> {
    let Some(archiving) = &options.archive else { return Ok(None) };
    let place = &archiving.place;
    let store = match weft_store::open_to_put(env, place, ARCHIVE_PATIENCE) {
        // One that cannot be asked now keeps nobody from opening.
        Err(error) if error.code() == Code::Io => weft_store::open(env, place, ARCHIVE_PATIENCE),
        opened => opened,
    }?;
    Archive::start(engine, store, archiving.options()).map(Some)
}

/// What has come for a node that is fed is here, in its directory, until it is taken.
const INCOMING: &str = "incoming";

/// Begins to mirror the server, or the archive, that is to be followed, if one is.
fn start_mirror(env: &Env, dir: &Path, follow: &Follow) -> Result<Option<Mirror>> {
    if let Some(Feeder(connect)) = &follow.feeder {
        let store = weft_store::FileStore::new(env, &dir.join(INCOMING));
        let transit = Arc::new(Transit::new(env, dir, Arc::new(store), &connect.place()));
        return Mirror::start_fed(env, (&transit, connect.clone()), dir, follow.join_timeout).map(Some);
    }
    let Some(place) = &follow.archive else { return Ok(None) };
    let Some(url) = url(Path::new(place)) else {
        // There may be a password before an @.
        let shown = place.rsplit('@').next().unwrap_or_default();
        let what = format!("{shown:?} is no URL of an archive, nor of a server");
        let hint = "name it as s3://bucket/prefix, file:///dir or postgres://user@host/database";
        return Err(Error::new(Code::InvalidParameterValue, what).hint(hint));
    };
    let store = weft_store::open(env, url, ARCHIVE_PATIENCE)?;
    let options = MirrorOptions { interval: follow.archive_interval, patience: follow.join_timeout };
    Mirror::start(env, store, dir, options).map(Some)
}

/// Nobody writes what follows an archive (database 5).
fn refuse_mirror(env: &Env, dir: &Path) -> Result<()> {
    if !weft_replica::is_mirror(env, dir)? {
        return Ok(());
    }
    let what = format!("the directory {} follows an archive, and nobody may write it", dir.display());
    let hint =
        "serve it with --follow URL; to go on with the archive, restore it into a new directory: weft restore URL DIR";
    Err(Error::new(Code::NotInPrerequisiteState, what).hint(hint))
}

fn engine_of(served: &Served) -> Arc<Engine> {
    Arc::clone(served.sql.read().as_ref().expect("sessions begin in it").kernel())
}

/// What SQL is told of its surroundings.
fn sql_options(options: &Options) -> SqlOptions {
    let queries = QueryOptions {
        memory_bytes: options.query_memory_bytes,
        apply_subqueries: options.apply_subqueries,
        ..QueryOptions::default()
    };
    SqlOptions { queries, query_engine: weft_query::query_engine }
}

fn keep_little(env: &Env, options: &Options) -> FreedMemory {
    if options.keep_little_freed_memory {
        weft_env::keep_little_freed_memory();
        FreedMemory::above(env, options.memory_bytes() / 2)
    } else {
        FreedMemory::at_the_end()
    }
}

/// A table's layers, the buckets of each together.
fn layers_of(table: &weft_kernel::TableRef) -> Vec<Layer> {
    let mut layers: Vec<Layer> = Vec::new();
    for status in table.table.layers() {
        let at = layers.iter().position(|layer| layer.name == status.layer).unwrap_or_else(|| {
            let name = status.layer.to_owned();
            layers.push(Layer { name, parts: 0, rows: 0, dead_rows: 0, bytes: 0 });
            layers.len() - 1
        });
        let layer = &mut layers[at];
        layer.parts += status.parts;
        layer.rows += status.rows;
        layer.dead_rows += status.dead_rows;
        layer.bytes += status.bytes;
    }
    layers
}

/// The table methods: those after USING.
fn methods() -> Vec<Arc<dyn weft_kernel::method::Method>> {
    vec![column_method(), lineage_method(), row_method()]
}

/// Makes `dir`, which must be missing or empty, a database as backup `number` of the directory `dest` holds it; the
/// newest, when none is named. Every checksum is tested; after an error `dir` holds no database.
pub fn restore(dest: impl AsRef<Path>, dir: impl AsRef<Path>, number: Option<u64>) -> Result<Backup> {
    weft_kernel::restore(&Env::real(), backup_place(dest.as_ref())?, dir.as_ref(), number)
}

/// Whether there is an archive at a URL ([`Options::archive`]).
pub fn is_archive(place: impl AsRef<Path>) -> Result<bool> {
    let Some(url) = url(place.as_ref()) else { return Ok(false) };
    let store = weft_store::open(&Env::real(), url, weft_store::PATIENCE)?;
    weft_replica::is_archive(&*store).map_err(|error| Error::io(format!("reading {url}"), &error))
}

/// What an archive has; none: nothing was shipped yet.
pub fn survey_archive(place: impl AsRef<Path>) -> Result<Option<ArchiveSummary>> {
    weft_replica::survey_archive(&*archive_at(place.as_ref())?)
}

/// Makes `dir`, which must be missing or empty, a database as an archive has it: everything that was shipped, or with
/// `until`, microseconds since 1970-01-01 UTC, what it was about that moment, with no later commit. Every checksum is
/// tested; after an error `dir` holds no database.
pub fn restore_archive(place: impl AsRef<Path>, dir: impl AsRef<Path>, until: Option<i64>) -> Result<ArchiveRestored> {
    weft_replica::restore_archive(&Env::real(), &archive_at(place.as_ref())?, dir.as_ref(), until)
}

fn archive_at(place: &Path) -> Result<Arc<dyn ObjectStore>> {
    let Some(url) = url(place) else {
        let what = format!("an archive is in a store of objects, and {} is no URL of one", place.display());
        return Err(Error::new(Code::InvalidParameterValue, what).hint("name it as s3://bucket/prefix or file:///dir"));
    };
    weft_store::open(&Env::real(), url, weft_store::PATIENCE)
}

/// Takes the data files that cannot be read out of a database that nobody has open, makes damaged indexes again, and
/// checks what is left. The files are kept in the directory `quarantine` of the database; their rows are lost.
pub fn quarantine(dir: impl AsRef<Path>) -> Result<QuarantineReport> {
    let (env, dir) = (Env::real(), dir.as_ref());
    refuse_mirror(&env, dir)?;
    let report = weft_kernel::quarantine(&env, dir, &methods(), &Options::default().engine())?;
    // What the writer before announced is of another log.
    weft_replica::withdraw(&env, dir);
    Ok(report)
}

/// Who writes the database in a directory and who follows, as their files say; whether they live is heard within two
/// seconds. Nobody is asked, and nothing is locked.
pub fn survey(dir: impl AsRef<Path>) -> Result<Survey> {
    weft_replica::survey(&Env::real(), dir.as_ref())
}

/// The finished backups in a directory, oldest first.
pub fn backups(dest: impl AsRef<Path>) -> Result<Vec<Backup>> {
    weft_kernel::backups(&Env::real(), backup_place(dest.as_ref())?)
}

/// Reads every file of a backup (the newest, when none is named) and tests its checksum.
pub fn check_backup(dest: impl AsRef<Path>, number: Option<u64>) -> Result<Backup> {
    weft_kernel::check_backup(&Env::real(), backup_place(dest.as_ref())?, number)
}

/// A place that is a URL.
fn url(dest: &Path) -> Option<&str> {
    dest.to_str().filter(|dest| weft_store::is_url(dest))
}

/// Where backups are, as people write it: a directory, or the URL of a store of objects ([`weft_store::open`]).
fn backup_place(dest: &Path) -> Result<BackupPlace> {
    match url(dest) {
        Some(url) => weft_store::open(&Env::real(), url, weft_store::PATIENCE).map(BackupPlace::Objects),
        None => Ok(dest.into()),
    }
}

fn in_transaction<T>(session: &mut Session, work: &mut impl FnMut(&mut Session) -> Result<T>) -> Result<T> {
    session.execute("BEGIN")?;
    match work(session) {
        Ok(value) if session.in_transaction() => session.execute("COMMIT").map(|_| value),
        Ok(_) => Err(Error::new(Code::NoActiveTransaction, "the work ended its transaction by itself")
            .hint("leave COMMIT and ROLLBACK to Database::retry")),
        Err(error) => {
            if session.in_transaction() {
                session.execute("ROLLBACK")?;
            }
            Err(error)
        }
    }
}
