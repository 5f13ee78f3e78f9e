//! Opening a directory: lock, recover, start.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};

use weft_env::sync::Mutex;
use weft_env::{DirLock, Env};
use weft_format::{Code, Error, FileId, Result, TableId};

use super::backup::FilePins;
use super::core::{Core, Methods, method};
use super::holds::LogHolds;
use super::options::EngineOptions;
use super::poison::Poison;
use super::redo::Redo;
use super::threads::AsyncCommits;
use crate::admission::Pool;
use crate::budget::RowBudget;
use crate::cache::{CachePool, Lending};
use crate::catalog::Catalog;
use crate::lock::LockTable;
use crate::log::{Log, LogEnd, LogOptions};
use crate::manifest::{Hooks, Manifest, RecoveredManifest};
use crate::sched::{Load, Runner, Wake};
use crate::services::{Services, parse_file_name};
use crate::step::{Step, reached};
use crate::table::Method;
use crate::txn::{RecentCommits, Timeline};

/// The file that is locked.
const LOCK_FILE: &str = "LOCK";

/// Opens or creates the database in a directory and recovers it.
pub(super) fn open(env: Env, dir: &Path, methods: Vec<Arc<dyn Method>>, options: EngineOptions) -> Result<Core> {
    options.check()?;
    let methods: Arc<Methods> = Arc::new(methods.into_iter().map(|method| (method.name(), method)).collect());
    create_dir(&env, dir)?;
    let dir_lock = lock_dir(&env, dir, &options)?;
    let (manifest, recovered) = Manifest::open(&env, dir)?;
    let manifest = Arc::new(manifest.rewritten_above(options.manifest_bytes));
    reached(Step::RecoveryManifestRead);
    let timeline = Arc::new(Timeline::new(recovered.cut_max));
    let cache = Arc::new(CachePool::new(options.cache_bytes));
    let names = list(&env, dir)?;
    let row_budget = Arc::new(RowBudget::new(options.row_memory_bytes));
    let cores = if options.cores == 0 { env.spawn.parallelism() } else { options.cores };
    let services = Arc::new(Services {
        dir: dir.to_owned(),
        manifest: manifest.clone(),
        cache: cache.clone(),
        block_cache: cache.clone(),
        options: options.clone(),
        timeline: timeline.clone(),
        load: Arc::new(Load::new(env.clock.clone(), row_budget.clone(), cores, options.scheduler)),
        row_budget,
        next_file: AtomicU64::new(next_file(&names, &recovered).0),
        wake: Wake::default(),
        pins: FilePins::default(),
    });
    let catalog = Arc::new(Catalog::new());
    catalog.raise_next_id(recovered.table_max.0 + 1);
    let (end, attached) = recover(&env, &methods, &services, &catalog, recovered.tables)?;
    timeline.recover_to(end.last_timestamp);
    reached(Step::RecoveryLogReplayed);
    let log_options = LogOptions { segment_bytes: options.log_segment_bytes, ..LogOptions::default() };
    let log = Arc::new(Log::create_or_continue(&env, dir, log_options, end)?);
    reached(Step::RecoveryLogContinued);
    manifest.connect(hooks(&log, &methods, &catalog));
    forget_dropped(&manifest, &catalog)?;
    remove_orphans(&env, dir, &names, &manifest, &attached)?;
    reached(Step::RecoveryOrphansRemoved);
    for table in catalog.all() {
        table.recover_row_ids()?;
    }
    Ok(Core {
        env,
        dir: dir.to_owned(),
        transaction_slots: Pool::new("transaction", "transaction_slots", options.transaction_slots),
        query_slots: Pool::new("query", "query_slots", options.query_slots),
        options,
        methods,
        lending: Arc::new(Lending::new(cache.clone(), services.row_budget.clone(), services.options.lend_row_memory)),
        services,
        timeline,
        log,
        manifest,
        cache,
        catalog,
        locks: LockTable::new(),
        recent: RecentCommits::default(),
        runner: Runner::default(),
        monitor_bell: Wake::default(),
        poison: Poison::default(),
        sequencer: Mutex::new(()),
        checkpointing: Mutex::new(()),
        log_holds: LogHolds::default(),
        async_commits: AsyncCommits::default(),
        closed: AtomicBool::new(false),
        stop: AtomicBool::new(false),
        next_txn: AtomicU64::new(1),
        dir_lock: Mutex::new(Some(dir_lock)),
    })
}

type Attached = std::collections::BTreeSet<FileId>;

fn recover(
    env: &Env,
    methods: &Methods,
    services: &Arc<Services>,
    catalog: &Catalog,
    tables: BTreeMap<TableId, crate::table::RecoveredTable>,
) -> Result<(LogEnd, Attached)> {
    let mut redo = Redo {
        env,
        methods,
        services,
        catalog,
        recovered: tables,
        changed: BTreeMap::new(),
        attached: Attached::new(),
    };
    redo.open_catalog()?;
    let end = redo.run()?;
    Ok((end, redo.attached))
}

pub(super) fn create_dir(env: &Env, dir: &Path) -> Result<()> {
    let failed = |error: io::Error| Error::io(format!("creating the directory {}", dir.display()), &error);
    if env.fs.exists(dir).map_err(failed)? {
        return Ok(());
    }
    let mut changed = Vec::new();
    for parent in dir.ancestors().skip(1) {
        changed.push(parent);
        if parent.as_os_str().is_empty() || env.fs.exists(parent).map_err(failed)? {
            break;
        }
    }
    env.fs.create_dir_all(dir).map_err(failed)?;
    changed.into_iter().rev().try_for_each(|parent| env.fs.sync_dir(parent)).map_err(failed)
}

fn lock_dir(env: &Env, dir: &Path, options: &EngineOptions) -> Result<Box<dyn DirLock>> {
    let owner = options.owner.clone().unwrap_or_else(|| format!("pid {}", std::process::id()));
    env.fs.lock(&dir.join(LOCK_FILE), &owner).map_err(|error| {
        if error.kind() != io::ErrorKind::WouldBlock {
            return Error::io(format!("locking the file {}", dir.join(LOCK_FILE).display()), &error);
        }
        let text = error.to_string();
        // A server says on a second line how to come in.
        let (owner, way) =
            text.split_once('\n').unwrap_or((&text, "close the database there, or open another directory"));
        let message = format!("the directory {} is in use by {owner}", dir.display());
        Error::new(Code::CannotConnectNow, message).hint(way)
    })
}

fn list(env: &Env, dir: &Path) -> Result<Vec<String>> {
    env.fs.list(dir).map_err(|error| Error::io(format!("listing {}", dir.display()), &error))
}

/// Above every file number that the manifest or the directory names.
fn next_file(names: &[String], recovered: &RecoveredManifest) -> FileId {
    let found = names.iter().filter_map(|name| parse_file_name(name)).map(|(_, file)| file);
    found.fold(recovered.file_max, FileId::max).next()
}

fn hooks(log: &Arc<Log>, methods: &Arc<Methods>, catalog: &Arc<Catalog>) -> Hooks {
    // Weak: the catalog's tables hold the manifest.
    let (log, methods, catalog) = (log.clone(), methods.clone(), Arc::downgrade(catalog));
    Hooks {
        flush: Box::new(move || log.flush()),
        fold: Box::new(move |id, payloads| {
            if id == TableId(0) {
                // Each payload is the whole catalog.
                return Ok(payloads.last().cloned().unwrap_or_default());
            }
            let entry = catalog.upgrade().and_then(|catalog| catalog.by_id(id));
            let entry = entry.ok_or_else(|| Error::internal(format!("table {id} is not in the catalog")))?;
            if entry.table.as_index.is_some() {
                return crate::index::fold(payloads);
            }
            method(&methods, &entry.table.def.method)?.fold(payloads)
        }),
    }
}

/// Forgets tables whose drop the catalog has behind it: a crash came between the two.
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

/// Removes data files that nothing names: of jobs that did not end and of bulk statements that did not commit.
fn remove_orphans(env: &Env, dir: &Path, names: &[String], manifest: &Manifest, attached: &Attached) -> Result<()> {
    let named: Attached = manifest.files().into_iter().map(|(_, file)| file).collect();
    for name in names {
        let Some((_, file)) = parse_file_name(name) else { continue };
        if !named.contains(&file) && !attached.contains(&file) {
            let path = dir.join(name);
            env.fs.remove(&path).map_err(|error| Error::io(format!("removing {}", path.display()), &error))?;
        }
    }
    Ok(())
}
