//! For tests of the kernel: a table method that keeps versions in a map, and short words for rows of (k bigint, v
//! bigint).

mod memory;

pub(crate) use memory::MemoryMethod;

use std::path::Path;
use std::sync::Arc;

use weft_env::Env;
use weft_format::{Column, DataType, Result, Schema, Value, ValueRef};

use crate::{Engine, EngineOptions, NewTable, TableRef, Transaction};

/// `CREATE TABLE name (k bigint PRIMARY KEY, v bigint) USING memory`
pub(crate) fn new_table(name: &str) -> NewTable {
    NewTable::new(name, Schema::new(vec![bigint("k"), bigint("v")], vec![0]), "memory")
}

/// `CREATE TABLE name (v bigint) USING memory`
pub(crate) fn keyless_table(name: &str) -> NewTable {
    NewTable::new(name, Schema::new(vec![bigint("v")], vec![]), "memory")
}

fn bigint(name: &str) -> Column {
    Column { name: name.into(), data_type: DataType::BigInt, not_null: false }
}

/// No threads: jobs are run by the test.
pub(crate) fn by_hand() -> EngineOptions {
    EngineOptions { workers: 0, log_segment_bytes: 1 << 16, owner: Some("a test".into()), ..EngineOptions::default() }
}

pub(crate) fn open_with(env: Env, dir: &Path, options: EngineOptions) -> Result<Arc<Engine>> {
    Engine::open(env, dir, vec![Arc::new(MemoryMethod)], options)
}

pub(crate) fn row(t: &TableRef, k: i64, v: i64) -> Vec<u8> {
    t.codec.encode([ValueRef::Int(k), ValueRef::Int(v)])
}

pub(crate) fn key(t: &TableRef, k: i64) -> Vec<u8> {
    t.keys.encode([ValueRef::Int(k)])
}

/// The value of a key as a transaction sees it.
pub(crate) fn get(txn: &Transaction, t: &TableRef, k: i64) -> Option<i64> {
    let mut values = Vec::new();
    let found = txn.get(t, &key(t, k), &[1], &mut values).expect("reads do not fail here");
    match (found, &values[..]) {
        (true, [Value::Int(v)]) => Some(*v),
        (false, []) => None,
        other => panic!("{other:?}"),
    }
}

/// Sets a key in a transaction of its own, whatever it was.
pub(crate) fn put(engine: &Arc<Engine>, table: &str, k: i64, v: i64) -> Result<weft_format::Timestamp> {
    let mut txn = engine.begin()?;
    let t = txn.table(table)?;
    match txn.get_for_upsert(&t, &key(&t, k))? {
        Some(_) => txn.update(&t, &key(&t, k), &row(&t, k, v))?,
        None => txn.insert(&t, &row(&t, k, v))?,
    }
    txn.commit()
}

/// Creates tables, each of a key and a value.
pub(crate) fn create(engine: &Arc<Engine>, names: &[&str]) -> Result<()> {
    let mut txn = engine.begin()?;
    for name in names {
        txn.create_table(new_table(name))?;
    }
    txn.commit().map(|_| ())
}

/// A directory that goes with its guard.
pub(crate) struct Scratch(std::path::PathBuf);

impl Scratch {
    pub(crate) fn new(name: &str) -> Scratch {
        let path = std::env::temp_dir().join(format!("weft-kernel-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        Scratch(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// SplitMix64.
pub(crate) struct Prng(pub(crate) u64);

impl Prng {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
}
