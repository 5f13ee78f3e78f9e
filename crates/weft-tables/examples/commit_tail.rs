//! How long commits take, to the last of a hundred thousand: threads that insert a wide row each, jobs beside them.
//!
//! `cargo run --release -p weft-tables --example commit_tail DIR [seconds] [threads] [row bytes]`
#![allow(clippy::disallowed_methods, reason = "a program that measures uses the system's clock")]

use std::path::Path;
use std::time::{Duration, Instant};

use weft_env::Env;
use weft_format::{Column, DataType, Schema, ValueRef};
use weft_kernel::{Engine, EngineOptions, NewTable};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize, default: u64| arguments.get(at).map_or(default, |text| text.parse().expect("a number"));
    let dir = Path::new(arguments.first().expect("the directory to write to")).join("commit-tail");
    let (seconds, threads, bytes) = (number(1, 20), number(2, 4), number(3, 2048));
    let _ = std::fs::remove_dir_all(&dir);
    let engine = Engine::open(Env::real(), &dir, vec![weft_tables::column_method()], EngineOptions::default());
    let engine = engine.expect("opens");
    let column = |name: &str, data_type| Column { name: name.into(), data_type, not_null: false };
    let schema = Schema::new(vec![column("k", DataType::BigInt), column("v", DataType::Text)], vec![0]);
    let mut txn = engine.begin().expect("begins");
    let table = txn.create_table(NewTable::new("t", schema, "column")).expect("creates");
    txn.commit().expect("commits");
    let begun = Instant::now();
    let mut micros: Vec<u64> = std::thread::scope(|scope| {
        let client = |thread: u64| {
            let (engine, table) = (&engine, &table);
            move || {
                let mut times = Vec::new();
                // Text that no encoding makes small.
                let mut state = thread + 1;
                while begun.elapsed() < Duration::from_secs(seconds) {
                    let mut letter = || {
                        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                        char::from(b'a' + (state >> 33) as u8 % 26)
                    };
                    let text: String = (0..bytes).map(|_| letter()).collect();
                    let key = times.len() as i64 * 1_000 + thread as i64;
                    let row = table.codec.encode([ValueRef::Int(key), ValueRef::Text(&text)]);
                    let started = Instant::now();
                    let mut txn = engine.begin().expect("begins");
                    txn.insert(table, &row).expect("inserts");
                    txn.commit().expect("commits");
                    times.push(started.elapsed().as_micros() as u64);
                }
                times
            }
        };
        let clients: Vec<_> = (0..threads).map(|thread| scope.spawn(client(thread))).collect();
        clients.into_iter().flat_map(|client| client.join().expect("a client ends")).collect()
    });
    micros.sort_unstable();
    let at = |share: f64| micros[((micros.len() - 1) as f64 * share) as usize];
    println!(
        "{} commits, {:.0}/s; p50 {} p99 {} p99.9 {} p99.99 {} max {} us",
        micros.len(),
        micros.len() as f64 / begun.elapsed().as_secs_f64(),
        at(0.5),
        at(0.99),
        at(0.999),
        at(0.9999),
        at(1.0)
    );
    engine.close().expect("closes");
    drop(engine);
    let _ = std::fs::remove_dir_all(&dir);
}
