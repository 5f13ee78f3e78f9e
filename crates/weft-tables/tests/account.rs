//! The account of memory, beside what the allocator was really asked for: what is known of data files, delete marks,
//! empty tables.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test counts what its own process allocates")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use weft_env::Env;
use weft_format::{Column, DataType, Schema, ValueRef};
use weft_kernel::index::NewIndex;
use weft_kernel::{Engine, EngineOptions, NewTable, TableRef};
use weft_tables::{column_method, row_method};

/// Counts the bytes in use.
struct Counting;

static IN_USE: AtomicU64 = AtomicU64::new(0);

// SAFETY: everything is handed to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        IN_USE.fetch_add(layout.size() as u64, Ordering::Relaxed);
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        IN_USE.fetch_sub(layout.size() as u64, Ordering::Relaxed);
        // SAFETY: the caller's promises are passed on.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// A directory that goes with its guard.
struct Scratch(std::path::PathBuf);

impl Scratch {
    fn new() -> Scratch {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        Scratch(std::env::temp_dir().join(format!("weft-account-{}-{number}", std::process::id())))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

const TABLES: usize = 60;
const ROWS: i64 = 12_000;

fn open(dir: &std::path::Path) -> Arc<Engine> {
    let options = EngineOptions {
        workers: 0,
        row_table_bytes: 8 << 20,
        // Nothing is cached: blocks are not what is counted here.
        cache_bytes: 0,
        ..EngineOptions::default()
    };
    Engine::open(Env::real(), dir, vec![column_method()], options).unwrap()
}

fn column(name: &str, data_type: DataType) -> Column {
    Column { name: name.into(), data_type, not_null: true }
}

fn create(engine: &Arc<Engine>, name: &str) {
    let mut txn = engine.begin().unwrap();
    let columns = vec![
        column("k", DataType::BigInt),
        column("a", DataType::Integer),
        column("b", DataType::Text),
        column("c", DataType::DoublePrecision),
    ];
    let mut new = NewTable::new(name, Schema::new(columns, vec![0]), "column");
    new.options.insert("column_table_bytes".into(), "16384".into());
    let t = txn.create_table(new).unwrap();
    txn.create_index(&t, NewIndex::new(format!("{name}_b"), vec![2, 1], false)).unwrap();
    txn.commit().unwrap();
}

fn row(t: &TableRef, k: i64) -> Vec<u8> {
    let text = format!("text number {:x}", (k as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    t.codec.encode([ValueRef::Int(k), ValueRef::Int(k % 97), ValueRef::Text(&text), ValueRef::Float(k as f64)])
}

/// Both within a quarter of the greater.
fn assert_near(what: &str, charged: u64, found: u64) {
    let apart = charged.abs_diff(found);
    assert!(apart * 4 <= charged.max(found), "{what}: {charged} bytes are charged, {found} are in use");
}

fn in_use() -> u64 {
    IN_USE.load(Ordering::Relaxed)
}

/// What an opened database with so many rows in files has charged to the account, and how many bytes are in use for it
/// but for row memory.
fn opened(rows: i64) -> (u64, u64) {
    let dir = Scratch::new();
    let engine = open(&dir.0);
    create(&engine, "t");
    let mut txn = engine.begin().unwrap();
    let t = txn.table("t").unwrap();
    (0..rows).for_each(|k| txn.insert(&t, &row(&t, k * 3)).unwrap());
    txn.commit().unwrap();
    engine.checkpoint().unwrap();
    engine.run_jobs().unwrap();
    engine.close().unwrap();
    drop((engine, t));
    let before = in_use();
    let engine = open(&dir.0);
    let found = in_use() - before;
    let status = engine.status();
    // Redo has given the index its entries again; that is row memory.
    (status.file_memory_bytes + status.manifest_memory_bytes, found - status.row_memory_bytes)
}

/// More files, and nothing else more.
fn counts_what_is_known_of_files() {
    // What is made once in a process is made.
    opened(10);
    let ((few_charged, few_found), (charged, found)) = (opened(ROWS / 4), opened(4 * ROWS));
    let more = charged - few_charged;
    assert!(more > 100_000, "{more} bytes of files");
    assert_near("files", more, found.saturating_sub(few_found));
}

#[test]
fn the_account_is_what_is_there() {
    counts_what_is_known_of_files();
    counts_marks();
    counts_changed_pages();
    empty_tables_take_little();
    #[cfg(feature = "faults")]
    {
        use weft_kernel::fault::{Fault, plant};
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(|_| ()));
        plant(Some(Fault::FORGET_FOOTER_CHARGE));
        let noticed = std::panic::catch_unwind(counts_what_is_known_of_files).is_err();
        plant(None);
        std::panic::set_hook(hook);
        assert!(noticed, "planted and not caught: ForgetFooterCharge");
    }
}

/// Behind an old snapshot the marks of deleted rows keep their timestamps.
fn counts_marks() {
    let dir = Scratch::new();
    let engine = open(&dir.0);
    for name in ["first", "t"] {
        create(&engine, name);
        let mut txn = engine.begin().unwrap();
        let t = txn.table(name).unwrap();
        (0..ROWS).for_each(|k| txn.insert(&t, &row(&t, k)).unwrap());
        txn.commit().unwrap();
    }
    engine.checkpoint().unwrap();
    let old = engine.begin().unwrap();
    // What the lock table and the log's buffers grow to stays theirs.
    delete_all(&engine, "first");
    let (marks, rows, before) = (engine.status().mark_memory_bytes, engine.status().row_memory_bytes, in_use());
    delete_all(&engine, "t");
    let found = in_use() - before;
    let kept = engine.status().mark_memory_bytes - marks;
    assert!(kept > 20 * ROWS as u64, "{kept} bytes for {ROWS} marks");
    assert_near("marks", kept + engine.status().row_memory_bytes - rows, found);
    drop(old);
}

/// Nodes of a table of pages grow while they wait to be written.
fn counts_changed_pages() {
    let dir = Scratch::new();
    let options = EngineOptions { workers: 0, cache_bytes: 0, ..EngineOptions::default() };
    let engine = Engine::open(Env::real(), &dir.0, vec![row_method()], options).unwrap();
    let fill = |name: &str| {
        let mut txn = engine.begin().unwrap();
        let columns = vec![column("k", DataType::BigInt), column("b", DataType::Text)];
        let mut new = NewTable::new(name, Schema::new(columns, vec![0]), "row");
        new.options.insert("changed_bytes".into(), (1 << 30).to_string());
        let t = txn.create_table(new).unwrap();
        txn.commit().unwrap();
        let text = "x".repeat(40);
        for from in 0..10 {
            let mut txn = engine.begin().unwrap();
            for k in (from..2 * ROWS).step_by(10) {
                txn.insert(&t, &t.codec.encode([ValueRef::Int(k * 7919 % (2 * ROWS)), ValueRef::Text(&text)])).unwrap();
            }
            txn.commit().unwrap();
        }
    };
    // What is made once in a process is made.
    fill("first");
    let (charged, found) = (engine.status().row_memory_bytes, in_use());
    fill("t");
    let (charged, found) = (engine.status().row_memory_bytes - charged, in_use() - found);
    assert!(charged > 2 * 50 * ROWS as u64, "{charged} bytes of changed pages");
    assert_near("changed pages", charged, found);
}

fn delete_all(engine: &Arc<Engine>, name: &str) {
    let mut txn = engine.begin().unwrap();
    let t = txn.table(name).unwrap();
    for k in 0..ROWS {
        assert!(txn.delete(&t, &t.keys.encode([ValueRef::Int(k)])).unwrap());
    }
    txn.commit().unwrap();
}

/// Tables and indexes without rows have no filters yet.
fn empty_tables_take_little() {
    let dir = Scratch::new();
    let engine = open(&dir.0);
    let before = in_use();
    (0..TABLES).for_each(|n| create(&engine, &format!("empty_{n}")));
    let each = (in_use() - before) / TABLES as u64;
    assert!(each < 24 << 10, "an empty table with an index takes {each} bytes");
}
