//! Opening a directory: lock, take, recover, start.
//!
//! ```text
//!   lock ─▶ WRITER-6 is WRITER-7 from here on ─▶ manifest and log are read ─▶ log-...-00000007 begins ─▶ open
//!   locked by one that hangs: WRITER-7 first, a moment for it to notice, then its lock is broken
//! ```
//!
//! 1. An opening that fails, or ends in a crash, leaves nothing that a later one refuses.
//! 2. One that is overtaken meanwhile fails, whatever it has found, and takes nothing away from who has come
//!    (`term` 6).
//! 3. One that takes the directory from a writer that may live begins its log before anything goes: until then what
//!    that one writes late would count, and name files. So it fails on a full disk, and the writer before has lost the
//!    directory all the same. Any other begins its log when there is space.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use weft_env::sync::Mutex;
use weft_env::{DirLock, Env, Handles};
use weft_format::{Code, Error, FileId, Result, TableId, Timestamp};

use super::directory::create_dir;
use super::ends::Named;
use super::redo::{Mode, Redo};
use crate::admission::Pool;
use crate::budget::RowBudget;
use crate::cache::{CachePool, Lending};
use crate::catalog::{Catalog, Relation, TableRef};
use crate::fault::{Fault, active};
use crate::files::{Files, Forget};
use crate::jobs::Runner;
use crate::lock::LockTable;
use crate::log::{Log, LogEnd, Record, last_epoch, read_log};
use crate::manifest::{Hooks, LayoutSwitch, Manifest, RecoveredManifest};
use crate::method::{Method, Methods, method};
use crate::options::EngineOptions;
use crate::poison::Poison;
use crate::sched::{Load, Wake};
use crate::services::Services;
use crate::step::{Step, reached};
use crate::term::Term;
use crate::timeline::Timeline;
use crate::txn::{AsyncCommits, Bookkeeping, Core, LostFile, RecentCommits};

/// The file that is locked.
const LOCK_FILE: &str = "LOCK";

/// Opens or creates the database in a directory and recovers it.
pub(super) fn open(env: Env, dir: &Path, methods: Vec<Arc<dyn Method>>, options: EngineOptions) -> Result<Core> {
    let methods: Arc<Methods> = Arc::new(methods.into_iter().map(|method| (method.name(), method)).collect());
    options.check()?;
    let (dir_lock, term) = take_dir(&env, dir, &options)?;
    let guard = term.clone();
    let opened = open_taken(env, dir, methods, options, (dir_lock, term));
    match guard.map(|term| term.check().map_err(|lost| (lost, term.is_lost()))) {
        // What it has found may be half of what another one does (open 2).
        Some(Err((lost, is_lost))) if is_lost || opened.is_ok() => Err(lost),
        _ => opened,
    }
}

/// The same in a directory that is taken.
fn open_taken(
    env: Env,
    dir: &Path,
    methods: Arc<Methods>,
    options: EngineOptions,
    (dir_lock, term): Taken,
) -> Result<Core> {
    let (env, handles) = with_handles(env, &options);
    let (manifest, recovered) = read_manifest(&env, dir, &options)?;
    let guard = term.clone();
    let files = |forget| Files::new(&env, dir, handles, forget, guard);
    let ground = Ground::new(&env, manifest.clone(), &options, files);
    let Ground { services, catalog, .. } = &ground;
    services.timeline.recover_to(recovered.cut_max);
    services.files.find_former()?;
    let found = services.files.number_behind(recovered.file_max)?;
    catalog.raise_next_id(recovered.table_max.0 + 1);
    let Recovered { mut end, attached, lost } = recover(&env, &methods, services, catalog, &recovered)?;
    services.files.note(end.file_max);
    end.file_max = services.files.last_number();
    assert!(end.file_max >= recovered.file_max, "numbers go on behind all that were given (term 6)");
    let term = term.map_or_else(|| take(&env, dir, &options), Ok)?;
    manifest.guard_by(&term);
    let apart = options.takes_over || options.apart;
    manifest.settle(apart)?;
    if apart {
        services.files.number_apart();
    }
    services.timeline.recover_to(end.last_timestamp);
    let (published, last) = (services.published(), services.last_sequenced());
    assert_eq!(published, last, "what recovery has found is published, and nothing is on its way");
    services.timeline.opened();
    reached(Step::RECOVERY_LOG_REPLAYED);
    let told_edit = end.told_edit;
    let log = Arc::new(Log::beside(&env, dir, options.log(), (end, Some(term.clone())), manifest.edit_count())?);
    reached(Step::RECOVERY_LOG_CONTINUED);
    tell_anew(&log, told_edit, &manifest)?;
    manifest.connect(hooks(&log, &methods, catalog, options.repairing));
    log.begin_if_put_off(apart)?;
    forget_dropped(&services.manifest, catalog)?;
    remove_orphans(services, found, attached)?;
    log.begin_if_put_off(false)?;
    catalog.all().iter().filter_map(Relation::table).try_for_each(TableRef::recover_row_ids)?;
    let (dir_lock, term) = (Mutex::new(Some(dir_lock)), Some(term));
    let core = Core { dir_lock, term, lost, ..ground.core(env, methods, log, (options, false)) };
    core.keep_promises();
    Ok(core)
}

/// What tables stand on, before there is an engine.
pub(super) struct Ground {
    pub(super) services: Arc<Services>,
    pub(super) catalog: Arc<Catalog>,
    cache: Arc<CachePool>,
}

impl Ground {
    /// Nothing is recovered yet.
    pub(super) fn new(
        env: &Env,
        manifest: Arc<Manifest>,
        options: &EngineOptions,
        files: impl FnOnce(Forget) -> Files,
    ) -> Ground {
        let cache = Arc::new(CachePool::new(options.cache_bytes));
        let cached = cache.clone();
        let files = files(Box::new(move |file| cached.forget_file(file)));
        let row_budget = Arc::new(RowBudget::new(options.row_memory_bytes));
        let timeline = Arc::new(Timeline::new(Timestamp(0)));
        let catalog = Arc::new(Catalog::new(timeline.clone()));
        let services = Services {
            files,
            manifest,
            cache: cache.clone(),
            block_cache: cache.clone(),
            options: options.clone(),
            timeline,
            load: Arc::new(Load::new(env.clock.clone(), row_budget.clone(), cores(env, options), options.scheduler)),
            row_budget,
            account: Arc::default(),
            wake: Wake::default(),
            wanted: Default::default(),
            poison: Arc::new(Poison::default()),
            log: OnceLock::new(),
        };
        Ground { services: Arc::new(services), catalog, cache }
    }

    /// An engine on it, which has locked no directory.
    pub(super) fn core(
        self,
        env: Env,
        methods: Arc<Methods>,
        log: Arc<Log>,
        (options, follows): (EngineOptions, bool),
    ) -> Core {
        let Ground { services, catalog, cache } = self;
        let (lending, [commits, read_sets]) = share_memory(&services, &cache);
        if !follows {
            services.log.get_or_init(|| log.clone());
            let all = catalog.all();
            all.iter().filter_map(|relation| relation.table()?.table.in_place()).for_each(|pages| pages.opened());
        }
        let runner = Runner::new(&env, &services, &catalog, &log);
        Core {
            env,
            dir: services.files.dir().to_owned(),
            transaction_slots: Pool::new("transaction", "transaction_slots", options.transaction_slots),
            query_slots: Pool::new("query", "query_slots", options.query_slots),
            options,
            methods,
            lending: Arc::new(lending),
            poison: services.poison.clone(),
            timeline: services.timeline.clone(),
            manifest: services.manifest.clone(),
            services,
            log,
            cache,
            catalog,
            locks: LockTable::new(),
            recent: RecentCommits::new(commits),
            read_sets,
            runner,
            monitor_bell: Wake::default(),
            sequencer: Mutex::new(()),
            checkpointing: Mutex::new(()),
            async_commits: AsyncCommits::default(),
            acknowledge: OnceLock::new(),
            exported: Mutex::default(),
            least_since_freeze: AtomicU64::new(0),
            promised_nanos: AtomicU64::new(0),
            closed: AtomicBool::new(false),
            stop: AtomicBool::new(false),
            next_txn: AtomicU64::new(1),
            dir_lock: Mutex::new(None),
            term: None,
            follows,
            lost: Vec::new(),
        }
    }
}

pub(super) fn read_manifest(
    env: &Env,
    dir: &Path,
    options: &EngineOptions,
) -> Result<(Arc<Manifest>, RecoveredManifest)> {
    let (manifest, recovered) = Manifest::open(env, dir)?;
    reached(Step::RECOVERY_MANIFEST_READ);
    Ok((Arc::new(manifest.rewritten_above(options.manifest_bytes)), recovered))
}

/// The cache of handles; log, manifest and files that are written come before files that are read now and then.
pub(super) fn with_handles(env: Env, options: &EngineOptions) -> (Env, Arc<Handles>) {
    let handles = Handles::new(env.fs.clone(), options.open_files(&*env.fs));
    let env = if active(Fault::KEEP_IDLE_HANDLES) { env } else { Env { fs: handles.giving_way(), ..env } };
    (env, handles)
}

/// What an opening that failed would have said of the ends of the log and the manifest, had it come so far: what is
/// missing there explains the rest.
fn incomplete(env: &Env, dir: &Path, named: &Named) -> Option<Error> {
    let mut reader = read_log(env, dir).ok()?;
    while reader.next().ok()?.is_some() {}
    named.check(&reader.finish()).err()
}

/// Who gets memory of whom: the cache of row tables, less what is known of files; serializable transactions of them.
fn share_memory(services: &Services, cache: &Arc<CachePool>) -> (Lending, [Arc<Bookkeeping>; 2]) {
    let Services { options, row_budget, account, manifest, .. } = services;
    manifest.charge_to(account);
    let halves = [(); 2].map(|()| Bookkeeping::half(options.serializable_memory_bytes, row_budget));
    (Lending::new(cache.clone(), row_budget, account, options.lend_row_memory), halves)
}

type Attached = std::collections::BTreeSet<FileId>;

/// What redo has found, beside tables.
struct Recovered {
    end: LogEnd,
    attached: Attached,
    lost: Vec<LostFile>,
}

/// Recovers in memory, and proves that nothing is missing. Until then nothing in the directory is written or removed.
fn recover(
    env: &Env,
    methods: &Arc<Methods>,
    services: &Arc<Services>,
    catalog: &Arc<Catalog>,
    manifest: &RecoveredManifest,
) -> Result<Recovered> {
    let named = Named::from(manifest);
    let recovered = redo(env, methods, services, catalog)
        .map_err(|error| incomplete(env, services.files.dir(), &named).unwrap_or(error))?;
    named.check(&recovered.end)?;
    Ok(recovered)
}

fn redo(env: &Env, methods: &Arc<Methods>, services: &Arc<Services>, catalog: &Arc<Catalog>) -> Result<Recovered> {
    let mut redo = Redo::new((env, methods), services, catalog, Mode::Recovery);
    redo.open_catalog()?;
    let end = redo.run()?;
    Ok(Recovered { end, attached: redo.attached, lost: redo.lost })
}

/// The cores that queries and jobs share.
fn cores(env: &Env, options: &EngineOptions) -> usize {
    if options.cores == 0 { env.spawn.parallelism() } else { options.cores }
}

/// How long an opening waits for this process to let go of the directory: a query that was left halfway may hold it
/// for as long as it takes to notice.
const LET_GO: Duration = Duration::from_secs(2);
/// How often it looks meanwhile.
const LET_GO_LOOK: Duration = Duration::from_millis(10);

fn owner(options: &EngineOptions) -> String {
    options.owner.clone().unwrap_or_else(|| format!("pid {}", std::process::id()))
}

/// The lock of a directory, and the right to write it.
type Taken = (Box<dyn DirLock>, Option<Arc<Term>>);

/// Takes the directory, made when missing (term 2): the lock, and then the right to write; the other way round from a
/// writer that does not let go of the lock.
fn take_dir(env: &Env, dir: &Path, options: &EngineOptions) -> Result<Taken> {
    create_dir(env, dir)?;
    let refused = match lock_dir(env, dir, options) {
        Ok(lock) => return Ok((lock, take_first(env, dir, options)?)),
        Err(refused) if options.takes_over && refused.code() == Code::CannotConnectNow => refused,
        Err(refused) => return Err(refused),
    };
    let term = take_first(env, dir, options)?;
    let file = dir.join(LOCK_FILE);
    let last_look = env.clock.monotonic_nanos() + options.notice.as_nanos() as u64;
    loop {
        if let Ok(lock) = lock_dir(env, dir, options) {
            return Ok((lock, term));
        }
        if env.clock.monotonic_nanos() >= last_look {
            break;
        }
        env.clock.sleep(LET_GO_LOOK);
    }
    // Another may have taken it from this one meanwhile, and have the lock by right.
    term.iter().try_for_each(|term| term.check())?;
    let broken = env.fs.break_lock(&file);
    broken.map_err(|error| Error::io(format!("breaking the lock on {}", file.display()), &error))?;
    let lock =
        lock_dir(env, dir, options).map_err(|error| if error.code() == refused.code() { refused } else { error })?;
    // Two may have come at once.
    term.iter().try_for_each(|term| term.check())?;
    Ok((lock, term))
}

/// The same, before anything is read (term 2).
fn take_first(env: &Env, dir: &Path, options: &EngineOptions) -> Result<Option<Arc<Term>>> {
    if active(Fault::TAKE_AFTER_READ) {
        return Ok(None);
    }
    take(env, dir, options).map(Some)
}

/// Takes the right to write.
fn take(env: &Env, dir: &Path, options: &EngineOptions) -> Result<Arc<Term>> {
    let term = Arc::new(Term::take(env, dir, last_epoch(env, dir)?, &owner(options))?);
    reached(Step::WRITER_TAKEN);
    Ok(term)
}

fn lock_dir(env: &Env, dir: &Path, options: &EngineOptions) -> Result<Box<dyn DirLock>> {
    let this_process = format!("pid {}", std::process::id());
    let owner = &owner(options);
    let file = dir.join(LOCK_FILE);
    let last_look = env.clock.monotonic_nanos() + LET_GO.as_nanos() as u64;
    loop {
        let error = match env.fs.lock(&file, owner) {
            Ok(lock) => return Ok(lock),
            Err(error) => error,
        };
        if error.kind() != io::ErrorKind::WouldBlock {
            return Err(Error::io(format!("locking the file {}", file.display()), &error));
        }
        let text = error.to_string();
        if text == this_process && !options.takes_over && env.clock.monotonic_nanos() < last_look {
            env.clock.sleep(LET_GO_LOOK);
            continue;
        }
        // A server says on a second line how to come in.
        let (owner, way) =
            text.split_once('\n').unwrap_or((&text, "close the database there, or open another directory"));
        let message = format!("the directory {} is in use by {owner}", dir.display());
        return Err(Error::new(Code::CannotConnectNow, message).hint(way));
    }
}

/// Tells the log that edits of the manifest are there of which it was told nothing (manifest told 1).
fn tell_anew(log: &Log, told_edit: u64, manifest: &Manifest) -> Result<()> {
    let edit = manifest.edit_count().load(Ordering::Acquire);
    let are_compared = told_edit <= edit || active(Fault::SKIP_MANIFEST_END_CHECK);
    assert!(are_compared, "the log was told of no more edits than there are (ends 2)");
    if told_edit < edit {
        log.append(&Record::Layout { edit, switch: &LayoutSwitch::encode_anew() })?;
    }
    Ok(())
}

fn hooks(log: &Arc<Log>, methods: &Arc<Methods>, catalog: &Arc<Catalog>, is_repairing: bool) -> Hooks {
    // Weak: the catalog's tables hold the manifest.
    let (log, methods, catalog) = (log.clone(), methods.clone(), Arc::downgrade(catalog));
    let (named, told) = (log.clone(), log.clone());
    Hooks {
        flush: Box::new(move || log.flush_transactions().map(|()| log.durable_lsn())),
        name_edits: Box::new(move || named.name_edits()),
        // A log that takes no more records has stopped; the next opening tells of the edit (manifest told 1).
        tell: Box::new(move |edit, switch| {
            // Rows go that a follower may have changed: it begins again with what is left.
            let anew = LayoutSwitch::encode_anew();
            let switch = if is_repairing { &anew } else { switch };
            drop(told.append(&Record::Layout { edit, switch }));
        }),
        fold: Box::new(move |id, payloads| {
            if id == TableId(0) {
                // Each payload is the whole catalog.
                return Ok(payloads.last().cloned().unwrap_or_default());
            }
            let catalog = catalog.upgrade();
            if catalog.as_ref().is_some_and(|catalog| catalog.buildings.has(id)) {
                return crate::index::fold(payloads);
            }
            match catalog.and_then(|catalog| catalog.by_id(id)) {
                Some(relation) => match relation.stored_by() {
                    Some(name) => method(&methods, name)?.fold(payloads),
                    None => crate::index::fold(payloads),
                },
                None => Err(Error::internal(format!("relation {id} is not in the catalog"))),
            }
        }),
    }
}

/// Removes of the files that were found what nobody has any more.
fn remove_orphans(services: &Services, found: Vec<(TableId, FileId)>, attached: Attached) -> Result<()> {
    let mut named = attached;
    named.extend(services.manifest.files().into_iter().map(|(_, file)| file));
    services.files.remove_orphans(found, &named)?;
    reached(Step::RECOVERY_ORPHANS_REMOVED);
    Ok(())
}

/// Forgets tables whose drop the catalog has behind it, as a crash came between the two, and indexes whose making did
/// not come to its commit.
fn forget_dropped(manifest: &Manifest, catalog: &Catalog) -> Result<()> {
    let known = manifest.files().into_iter().map(|(id, _)| id).collect::<std::collections::BTreeSet<_>>();
    for id in known.into_iter().filter(|&id| id != TableId(0) && catalog.by_id(id).is_none()) {
        match manifest.forget(id) {
            // On a full disk the files stay until the next open.
            Err(error) if error.code() != Code::DiskFull => return Err(error),
            _ => {}
        }
    }
    Ok(())
}
