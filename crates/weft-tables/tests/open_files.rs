//! More data files than the process may open, on the real file system, under `ulimit -n 256`.
//!
//! The limit is a process's own, so the test runs itself again in a child. A few thousand files; with WEFT_TEST_FULL
//! 20,000.

#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use weft_env::Env;
use weft_format::{Column, DataType, Schema, ValueRef};
use weft_kernel::{Engine, EngineOptions, NewTable};
use weft_tables::column_method;

/// Set in the child.
const CHILD: &str = "WEFT_OPEN_FILES_DIR";

#[test]
fn files_are_not_limited_by_handles() {
    if let Ok(dir) = std::env::var(CHILD) {
        return many_files(Path::new(&dir));
    }
    let dir = std::env::temp_dir().join(format!("weft-open-files-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&dir);
    let limited = "ulimit -n 256; exec \"$0\" --exact files_are_not_limited_by_handles --nocapture";
    let output = Command::new("sh")
        .args(["-c", limited])
        .arg(std::env::current_exe().unwrap())
        .env(CHILD, &dir)
        .output()
        .unwrap();
    let _ = std::fs::remove_dir_all(&dir);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}\n{}", String::from_utf8_lossy(&output.stderr));
    print!("{text}");
}

fn open(dir: &Path) -> Arc<Engine> {
    let options = EngineOptions { workers: 0, row_table_bytes: 1 << 20, ..EngineOptions::default() };
    Engine::open(Env::real(), dir, vec![column_method()], options).unwrap()
}

/// Rows of a table whose column tables hold a few rows each, so that a bulk load makes thousands of them.
fn many_files(dir: &Path) {
    let full = std::env::var_os("WEFT_TEST_FULL").is_some();
    let files: i64 = if full { 20_000 } else { 1500 };
    let engine = open(dir);
    let column = |name: &str| Column { name: name.into(), data_type: DataType::BigInt, not_null: false };
    let mut txn = engine.begin().unwrap();
    let names: Vec<String> = (0..files / 10).map(|n| format!("t{n}")).collect();
    for name in &names {
        let mut new = NewTable::new(name, Schema::new(vec![column("k"), column("v")], vec![0]), "column");
        new.options = BTreeMap::from([("incremental_bytes".to_owned(), "1000000000".to_owned())]);
        txn.create_table(new).unwrap();
    }
    txn.commit().unwrap();
    for round in 0..10 {
        let mut txn = engine.begin().unwrap();
        for name in &names {
            let t = txn.table(name).unwrap();
            txn.insert(&t, &t.codec.encode([ValueRef::Int(round), ValueRef::Int(round + 1)])).unwrap();
        }
        txn.commit().unwrap();
        engine.freeze().unwrap();
        while engine.tables().iter().any(|t| t.table.jobs().iter().any(|offer| offer.kind.frees_memory())) {
            engine.run_one_job().unwrap();
        }
    }
    let count = std::fs::read_dir(dir).unwrap().count() as i64;
    assert!(count >= files, "{count} files");
    read(&engine, &names);
    drop(engine);
    let engine = open(dir);
    read(&engine, &names);
    let handles = engine.status().handles;
    assert!(handles.limit <= 128 && handles.open <= handles.limit, "{handles:?}");
    println!("{count} files, {handles:?}");
}

/// Reads a row of every file.
fn read(engine: &Arc<Engine>, names: &[String]) {
    let txn = engine.begin().unwrap();
    let mut values = Vec::new();
    for name in names {
        let t = txn.table(name).unwrap();
        for k in 0..10 {
            assert!(txn.get(&t, &t.keys.encode([ValueRef::Int(k)]), &[1], &mut values).unwrap());
            assert_eq!(values, [weft_format::Value::Int(k + 1)]);
        }
    }
}
