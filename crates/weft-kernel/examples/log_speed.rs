//! Commits per second of the log alone, on a real disk, with 1 and 4 threads.
//!
//! `cargo run --release -p weft-kernel --example log_speed -- DIRECTORY` prints one line per number of threads, beside
//! the time of a bare write and fdatasync of the same size, so that the ratio tells the log's own share.
#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "a measuring program on the real machine")]

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use weft_env::sync::Mutex;
use weft_env::{Env, OpenMode};
use weft_format::{Timestamp, TxnId};
use weft_kernel::log::{Log, LogOptions, NeededFrom, Record, read_log};

const SECONDS: u64 = 2;
const CHANGE_BYTES: usize = 300;

fn main() {
    let dir = std::env::args().nth(1).expect("usage: log_speed DIRECTORY");
    let env = Env::real();
    for round in 0..2 {
        println!("round {round}: bare overwrite + fdatasync {:6.0} / s", bare(&env, Path::new(&dir)));
        for (threads, work) in [(1, 0), (2, 0), (4, 0), (8, 0), (1, 30), (4, 30), (4, 150)] {
            let (rate, p50) = commits(&env, Path::new(&dir), threads, Duration::from_micros(work));
            let p50_ms = p50.as_secs_f64() * 1e3;
            println!("  {threads} threads, {work:3} us between commits: {rate:8.0} commits/s, median {p50_ms:.3} ms");
        }
    }
}

fn bare(env: &Env, dir: &Path) -> f64 {
    let path = dir.join("bare");
    let _ = env.fs.remove(&path);
    let file = env.fs.open(&path, OpenMode::CreateNew).unwrap();
    file.write_at(&vec![0; 16 << 20], 0).unwrap();
    file.sync_data().unwrap();
    let start = Instant::now();
    let mut count = 0u64;
    while start.elapsed() < Duration::from_secs(SECONDS) {
        file.write_at(&[1; CHANGE_BYTES], (count * CHANGE_BYTES as u64) % (15 << 20)).unwrap();
        file.sync_data().unwrap();
        count += 1;
    }
    env.fs.remove(&path).unwrap();
    count as f64 / start.elapsed().as_secs_f64()
}

fn commits(env: &Env, dir: &Path, threads: u64, work: Duration) -> (f64, Duration) {
    let mut reader = read_log(env, dir).unwrap();
    while reader.next().unwrap().is_some() {}
    let end = reader.finish();
    let next_ts = end.last_timestamp.0;
    let log = Arc::new(Log::create_or_continue(env, dir, LogOptions::default(), end).unwrap());
    let sequence = Arc::new(Mutex::new(next_ts));
    let total = Arc::new(AtomicU64::new(0));
    let start = Instant::now();
    let worker = |thread: u64| {
        let (log, sequence, total) = (log.clone(), sequence.clone(), total.clone());
        move || {
            let changes = vec![7; CHANGE_BYTES];
            let mut times = Vec::new();
            while start.elapsed() < Duration::from_secs(SECONDS) {
                let arrive = Instant::now();
                while arrive.elapsed() < work {}
                let begin = Instant::now();
                let mut last = sequence.lock();
                *last += 1;
                let record = Record::Commit { txn: TxnId(thread), ts: Timestamp(*last), wall: None, changes: &changes };
                let ticket = log.append_waited(&record).unwrap();
                drop(last);
                log.wait_durable(ticket).unwrap();
                times.push(begin.elapsed());
                total.fetch_add(1, Ordering::Relaxed);
            }
            times
        }
    };
    let handles: Vec<_> = (0..threads).map(|thread| std::thread::spawn(worker(thread))).collect();
    let mut times: Vec<_> = handles.into_iter().flat_map(|handle| handle.join().unwrap()).collect();
    let rate = total.load(Ordering::Relaxed) as f64 / start.elapsed().as_secs_f64();
    times.sort_unstable();
    log.truncate_before(NeededFrom::commits_behind(Timestamp(u64::MAX))).unwrap();
    (rate, times[times.len() / 2])
}
