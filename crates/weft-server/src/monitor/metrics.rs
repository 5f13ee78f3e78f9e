//! What is measured, by the words of docs/GLOSSARY.md.

use std::collections::BTreeMap;
use std::time::Duration;

use weft::{Database, EngineStatus, JobTotal};
use weft_sql::activity::{Activities, EngineUsed, State};
use weft_wire::monitor::Page;

/// The most tables that are told one by one.
const TABLES_MAX: usize = 1000;

/// A family: name, kind, what it says, and the value of a sample.
type Family<T> = (&'static str, &'static str, &'static str, fn(&T) -> u64);

/// The whole page; without a database only that there is none yet.
pub(super) fn render(database: Option<&Database>, up: Duration, healthy: bool) -> String {
    let mut page = Page::default();
    page.single("weft_up", "gauge", "Whether the server serves: /health says why not.", u8::from(healthy));
    page.single("weft_uptime_seconds", "gauge", "Since the process began to start.", up.as_secs_f64());
    process(&mut page);
    if let Some(database) = database {
        let status = database.status();
        sessions(&mut page, database.activities());
        statements(&mut page, database.activities());
        log(&mut page, &status);
        memory(&mut page, &status);
        jobs(&mut page, &status);
        waits(&mut page, database, &status);
        layout(&mut page, database);
        super::nodes::render(&mut page, database);
    }
    page.finish()
}

fn sessions(page: &mut Page, activities: &Activities) {
    let name = "weft_sessions";
    page.family(name, "gauge", "Sessions by what they are at.");
    let all = activities.all();
    for state in [State::Active, State::Idle, State::IdleInTransaction, State::Aborted] {
        let count = all.iter().filter(|session| session.state == state).count();
        page.sample(name, &[("state", state.name())], count);
    }
    let clients = all.iter().filter(|session| session.origin.is_client).count();
    page.single("weft_connections", "gauge", "Clients that are logged in.", clients);
    let counters = activities.counters();
    page.single("weft_sessions_total", "counter", "Sessions that have begun.", counters.sessions);
    let name = "weft_transactions_total";
    page.family(name, "counter", "Transactions that have ended; those that only read count as committed.");
    page.sample(name, &[("outcome", "committed")], counters.commits);
    page.sample(name, &[("outcome", "rolled_back")], counters.rollbacks);
    let oldest = all.iter().filter(|session| session.transaction_nanos > 0).map(|session| session.transaction_nanos);
    let age = oldest.min().map_or(0, |nanos| activities.age_nanos(nanos));
    page.single("weft_transaction_age_max_seconds", "gauge", "Age of the oldest open transaction.", age as f64 / 1e9);
}

fn statements(page: &mut Page, activities: &Activities) {
    let counters = activities.counters();
    let name = "weft_statement_seconds";
    page.family(name, "histogram", "How long statements took, by the engine that ran them.");
    for engine in EngineUsed::ALL {
        let at = engine as usize;
        page.histogram(name, &[("engine", engine.name())], &counters.times[at], counters.nanos[at]);
    }
    page.single("weft_statement_rows_total", "counter", "Rows that statements returned or changed.", counters.rows);
    page.single("weft_statements_failed_total", "counter", "Statements that failed.", counters.failed);
    let name = "weft_errors_total";
    page.family(name, "counter", "Errors that clients were told, by the class of their SQLSTATE.");
    let mut classes: BTreeMap<String, u64> = BTreeMap::new();
    let errors = activities.errors();
    for (sqlstate, count) in &errors {
        *classes.entry(sqlstate.chars().take(2).collect()).or_default() += count;
    }
    for (class, count) in &classes {
        page.sample(name, &[("class", class)], count);
    }
    let deadlocks = errors.get("40P01").copied().unwrap_or(0);
    page.single("weft_deadlocks_total", "counter", "Deadlocks that clients were told of.", deadlocks);
}

fn log(page: &mut Page, status: &EngineStatus) {
    let log = &status.log;
    page.single("weft_log_commits_total", "counter", "Commits in the log's blocks.", log.commits);
    page.single("weft_log_bytes_total", "counter", "Bytes written to the log.", log.bytes);
    page.single("weft_log_failures_total", "counter", "Blocks of the log that could not be written.", log.failures);
    let name = "weft_log_write_seconds";
    page.family(name, "histogram", "How long writing and syncing a block of the log took.");
    page.histogram(name, &[], &log.write_times, log.write_nanos);
    let help = "Log that recovery would read: how far checkpoints lag behind.";
    page.single("weft_log_live_bytes", "gauge", help, status.log_bytes);
}

fn memory(page: &mut Page, status: &EngineStatus) {
    page.single("weft_row_memory_bytes", "gauge", "Memory of row tables and indexes.", status.row_memory_bytes);
    page.single("weft_row_memory_limit_bytes", "gauge", "Its budget.", status.row_memory_limit_bytes);
    let cache = &status.cache;
    page.single("weft_cache_bytes", "gauge", "Bytes of cached blocks.", cache.bytes);
    page.single("weft_cache_blocks", "gauge", "Cached blocks.", cache.blocks);
    page.single("weft_cache_hits_total", "counter", "Blocks found in the cache.", cache.hits);
    page.single("weft_cache_misses_total", "counter", "Blocks that had to be read.", cache.misses);
    page.single("weft_cache_evictions_total", "counter", "Blocks that had to go.", cache.evictions);
}

fn jobs(page: &mut Page, status: &EngineStatus) {
    page.family("weft_jobs_total", "counter", "Background jobs that have ended, by kind.");
    let label = |name: &str| name.replace(' ', "");
    for (kind, total) in &status.jobs_by_kind {
        page.sample("weft_jobs_total", &[("kind", &label(kind.name()))], total.count);
    }
    let mut family = |name, help, value: &dyn Fn(&JobTotal) -> f64| {
        page.family(name, "counter", help);
        for (kind, total) in &status.jobs_by_kind {
            page.sample(name, &[("kind", &label(kind.name()))], value(total));
        }
    };
    family("weft_job_seconds_total", "The time they took, by kind.", &|total| total.nanos as f64 / 1e9);
    family("weft_job_cpu_seconds_total", "Their time on a core.", &|total| total.spent.thread_nanos as f64 / 1e9);
    family("weft_job_read_bytes_total", "Bytes that they read from files.", &|total| total.spent.read_bytes as f64);
    family("weft_job_written_bytes_total", "Bytes that they wrote.", &|total| total.spent.written_bytes as f64);
    page.single("weft_jobs_failed_total", "counter", "Background jobs that failed.", status.jobs_failed);
    let help = "Background jobs that failed and wait until they are tried again; weft_jobs says why.";
    page.single("weft_jobs_resting", "gauge", help, status.jobs_resting);
    let help = "Data files and tables that could not be read when they were needed last.";
    page.single("weft_damaged_files", "gauge", help, status.damaged_files);
    page.single("weft_open_files", "gauge", "Data files that are open.", status.handles.open);
    page.single("weft_open_files_limit", "gauge", "How many may be.", status.handles.limit);
    page.single("weft_files_opened_total", "counter", "Data files opened, also again.", status.handles.opened);
}

fn waits(page: &mut Page, database: &Database, status: &EngineStatus) {
    page.single("weft_locks", "gauge", "Locks that are held.", status.lock_count);
    page.single("weft_lock_waiters", "gauge", "Transactions that wait for a lock.", database.lock_waiters());
    page.single("weft_snapshots", "gauge", "Snapshots in use.", status.snapshot_count);
    let pools = [("transactions", status.transactions), ("queries", status.queries)];
    let families: [Family<weft::PoolStatus>; 5] = [
        ("weft_admission_slots", "gauge", "Slots there are.", |pool| pool.slots),
        ("weft_admission_taken", "gauge", "Slots that are taken.", |pool| pool.taken),
        ("weft_admission_waiting", "gauge", "Who waits for a slot.", |pool| pool.waiting),
        ("weft_admission_waits_total", "counter", "How often somebody had to wait for a slot.", |pool| pool.waits),
        ("weft_admission_refused_total", "counter", "How often somebody waited too long.", |pool| pool.refused),
    ];
    for (name, kind, help, value) in families {
        page.family(name, kind, help);
        for (pool, of) in &pools {
            page.sample(name, &[("pool", pool)], value(of));
        }
    }
}

fn layout(page: &mut Page, database: &Database) {
    let layout: Vec<_> = database.layout().into_iter().take(TABLES_MAX).collect();
    let families: [Family<weft::Layer>; 3] = [
        ("weft_table_parts", "gauge", "Row tables and column tables of a table, by layer.", |layer| layer.parts),
        ("weft_table_rows", "gauge", "Row versions, dead ones among them.", |layer| layer.rows),
        ("weft_table_bytes", "gauge", "Bytes, in memory or on disk.", |layer| layer.bytes),
    ];
    for (name, kind, help, value) in families {
        page.family(name, kind, help);
        for (table, oid, layers) in &layout {
            for layer in layers {
                let oid = oid.to_string();
                page.sample(name, &[("table", table), ("oid", &oid), ("layer", &layer.name)], value(layer));
            }
        }
    }
}

/// What Linux tells of the process; nothing elsewhere.
fn process(page: &mut Page) {
    let Ok(status) = std::fs::read_to_string("/proc/self/status") else { return };
    let kilobytes = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim_start_matches(':').trim().split(' ').next()?.parse::<u64>().ok()
    };
    if let Some(resident) = kilobytes("VmRSS") {
        page.single("process_resident_memory_bytes", "gauge", "Memory of the process.", resident * 1024);
    }
    if let Some(threads) = kilobytes("Threads") {
        page.single("process_threads", "gauge", "Threads of the process.", threads);
    }
}
