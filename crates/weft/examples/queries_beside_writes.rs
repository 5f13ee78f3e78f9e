//! Times analytic queries beside a writer, under each scheduler of background jobs in turn: what the tail feels.
//!
//! `cargo run --release -p weft --example queries_beside_writes -- ROWS QUERIES_PER_MODE ROUNDS WRITES_PER_S MODES`
//!
//! The modes take turns in rounds on one database, so that whatever else the machine does hits each alike.
#![allow(clippy::disallowed_methods, reason = "a program that measures uses the system's clock and threads")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use weft::{Database, Durability, Options, Value};

const QUERIES: [&str; 3] = [
    "SELECT sum(col_1) FROM t",
    "SELECT count(*), sum(col_2), max(str_1) FROM t WHERE col_3 < 200000",
    "SELECT col_4 % 16 AS g, count(*), sum(col_5) FROM t GROUP BY g ORDER BY g",
];

fn number(at: usize, default: u64) -> u64 {
    std::env::args().nth(at).map_or(default, |text| text.parse().expect("a number"))
}

fn load(database: &Database, rows: u64) {
    let mut session = database.session().expect("a session");
    let numbers: Vec<String> = (1..=15).map(|n| format!("col_{n} integer")).collect();
    let texts: Vec<String> = (1..=15).map(|n| format!("str_{n} text")).collect();
    let columns = [numbers, texts].concat().join(", ");
    session.execute(&format!("CREATE TABLE t (id bigint PRIMARY KEY, {columns})")).expect("creates");
    let numbers = (1..=15).map(|n| format!("((v * {}) % 1000003)::integer", 7919 * n + 13));
    let texts = (1..=15).map(|n| format!("'s' || ((v * {}) % 10007)", 104_729 * n + 7));
    let values = numbers.chain(texts).collect::<Vec<_>>().join(", ");
    for first in (0..rows).step_by(50_000) {
        let last = (first + 49_999).min(rows - 1);
        let sql = format!("INSERT INTO t SELECT v, {values} FROM generate_series({first}, {last}) AS s(v)");
        session.execute(&sql).expect("loads");
    }
    session.execute("CHECKPOINT").expect("checkpoints");
}

/// Upserts rows at a rate until told to stop; counts them, and the longest.
fn write(database: &Database, rows: u64, per_second: u64, stop: &AtomicBool, written: &AtomicU64, worst: &AtomicU64) {
    let mut session = database.session().expect("a session");
    let marks: Vec<String> = (1..=31).map(|n| format!("${n}")).collect();
    let set: Vec<String> =
        (1..=15).flat_map(|n| ["col", "str"].map(|kind| format!("{kind}_{n} = excluded.{kind}_{n}"))).collect();
    let sql = format!("INSERT INTO t VALUES ({}) ON CONFLICT (id) DO UPDATE SET {}", marks.join(", "), set.join(", "));
    let upsert = session.prepare(&sql).expect("prepares");
    let (begun, mut count) = (Instant::now(), 0u64);
    while !stop.load(Ordering::Relaxed) {
        count += 1;
        let due = Duration::from_secs_f64(count as f64 / per_second as f64);
        if let Some(early) = due.checked_sub(begun.elapsed()).filter(|early| *early > Duration::from_micros(500)) {
            std::thread::sleep(early);
        }
        let mut params = vec![Value::Int((count.wrapping_mul(15_485_863) % rows) as i64)];
        params.extend((1..=15).map(|n| Value::Int((count * n % 1_000_003) as i64)));
        params.extend((1..=15).map(|n| Value::Text(format!("u{}", count * n % 10_007).into())));
        let one = Instant::now();
        session.execute_prepared(&upsert, &params).expect("upserts");
        worst.fetch_max(one.elapsed().as_micros() as u64, Ordering::Relaxed);
        written.fetch_add(1, Ordering::Relaxed);
    }
}

fn main() {
    let (rows, queries, rounds, per_second) =
        (number(1, 300_000), number(2, 10_000), number(3, 4).max(1), number(4, 2000).max(1));
    let modes: Vec<String> =
        std::env::args().nth(5).unwrap_or("cost,greedy".into()).split(',').map(str::to_owned).collect();
    let dir = std::env::temp_dir().join(format!("weft-beside-{}", std::process::id()));
    // Small row tables: many jobs, as under a far larger load.
    let options = Options { durability: Durability::Async, row_table_bytes: 1 << 20, ..Options::default() };
    let database = Arc::new(Database::open_with(&dir, options).expect("opens"));
    load(&database, rows);
    let mut times: Vec<Vec<f64>> = vec![Vec::new(); modes.len()];
    let mut facts = vec![(0u64, 0u64, 0u64, 0.0f64); modes.len()];
    for round in 0..rounds {
        for turn in 0..modes.len() {
            let at = (turn + round as usize) % modes.len();
            let mut session = database.session().expect("a session");
            session.execute(&format!("SET scheduler = '{}'", modes[at])).expect("sets");
            let (stop, written, worst) = (AtomicBool::new(false), AtomicU64::new(0), AtomicU64::new(0));
            let (jobs, begun) = (database.status().jobs_run, Instant::now());
            std::thread::scope(|scope| {
                scope.spawn(|| write(&database, rows, per_second, &stop, &written, &worst));
                for query in 0..queries / rounds {
                    let one = Instant::now();
                    session.execute(QUERIES[query as usize % QUERIES.len()]).expect("answers");
                    times[at].push(one.elapsed().as_secs_f64() * 1e3);
                }
                stop.store(true, Ordering::Relaxed);
            });
            let fact = &mut facts[at];
            fact.0 += written.load(Ordering::Relaxed);
            fact.1 += database.status().jobs_run - jobs;
            fact.2 = fact.2.max(worst.load(Ordering::Relaxed));
            fact.3 += begun.elapsed().as_secs_f64();
        }
    }
    let mut session = database.session().expect("a session");
    for ((mode, times), (writes, jobs, worst_us, seconds)) in modes.iter().zip(&mut times).zip(facts) {
        times.sort_by(f64::total_cmp);
        let at = |share: f64| times[((times.len() as f64 * share) as usize).min(times.len() - 1)];
        println!(
            "{mode:<7} {} queries: p50 {:.3} p90 {:.3} p99 {:.3} p99.9 {:.3} max {:.1} ms; {jobs} jobs, \
             {:.0} writes/s, longest write {:.1} ms",
            times.len(),
            at(0.5),
            at(0.9),
            at(0.99),
            at(0.999),
            at(1.0),
            writes as f64 / seconds,
            worst_us as f64 / 1e3
        );
    }
    for outcome in
        session.execute("SELECT operator, phi, updates, error_uncorrected, error FROM weft_scheduler").expect("reads")
    {
        for row in outcome.rows.iter() {
            println!("{row:?}");
        }
    }
    drop(session);
    drop(database);
    std::fs::remove_dir_all(&dir).expect("removes");
}
