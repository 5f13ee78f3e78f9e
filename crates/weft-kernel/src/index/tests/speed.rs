//! How fast it is, for people: `cargo test --release -p weft-kernel index::tests::speed -- --ignored --nocapture`.

use std::time::Instant;

use super::*;
use crate::testing::Scratch;
use crate::timeline::Horizon;

const ENTRIES: u64 = 1_000_000;

fn number(n: u64) -> [u8; 8] {
    (n ^ 1 << 63).to_be_bytes()
}

fn scattered(n: u64) -> u64 {
    n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20
}

fn rate(what: &str, count: u64, start: Instant) {
    let seconds = start.elapsed().as_secs_f64();
    println!("{what:<44} {:>10.0} per second", count as f64 / seconds);
}

fn world(scratch: &Scratch, cache_bytes: u64) -> World {
    let env = Env::real();
    let (services, recovered) = services(&env, scratch.path(), cache_bytes);
    let context = IndexContext {
        id: INDEX,
        name: "t_v".into(),
        env,
        services: services.clone(),
        horizon: Arc::new(Horizon::new(services.timeline.clone())),
        options: IndexOptions::default(),
        keep: Arc::new(KeepAll),
    };
    World { store: Arc::new(IndexStore::open(context, &recovered).unwrap()), services }
}

fn lookups(what: &str, world: &World, threads: u64, value: impl Fn(u64) -> u64 + Sync) -> u64 {
    let count = 200_000;
    let start = Instant::now();
    let found = std::thread::scope(|scope| {
        let run = |thread: u64| {
            let value = &value;
            scope.spawn(move || {
                let mut found = 0;
                for n in 0..count / threads {
                    let value = number(value(scattered(n + thread * count) % ENTRIES));
                    found += u64::from(world.store.lookup(&value).unwrap().next().unwrap().is_some());
                }
                found
            })
        };
        let threads: Vec<_> = (0..threads).map(run).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    rate(what, count, start);
    found
}

fn read_all(what: &str, world: &World) {
    for (name, way) in [("forward", Direction::Forward), ("backward", Direction::Backward)] {
        let start = Instant::now();
        let mut cursor = world.store.scan(Bound::Unbounded, Bound::Unbounded, way).unwrap();
        let mut count = 0;
        while cursor.next().unwrap().is_some() {
            count += 1;
        }
        assert_eq!(count, ENTRIES);
        rate(&format!("{what}: entries scanned {name}"), count, start);
    }
}

fn read_everything(what: &str, world: &World) {
    for threads in [1, 2] {
        let hits = lookups(&format!("{what}: hits, {threads} threads"), world, threads, |n| scattered(n) * 2);
        assert_eq!(hits, 200_000);
        let hits = lookups(&format!("{what}: misses, {threads} threads"), world, threads, |n| scattered(n) * 2 + 1);
        assert_eq!(hits, 0);
    }
    read_all(what, world);
    println!("{:?}", world.store.statistics());
}

#[test]
#[ignore = "for people"]
fn a_million_entries() {
    let scratch = Scratch::new("index-speed");
    let world = world(&scratch, 256 << 20);
    let start = Instant::now();
    for n in 0..ENTRIES {
        world.commit(|store, ts| store.add(&number(scattered(n) * 2), &number(n), ts));
    }
    rate("adds, one thread, no jobs", ENTRIES, start);
    read_everything("in memory", &world);
    let start = Instant::now();
    world.store.freeze();
    let jobs = world.run_jobs();
    rate(&format!("entries carried to files by {jobs} jobs"), ENTRIES, start);
    read_everything("on disk", &world);
}

#[test]
#[ignore = "for people"]
fn adds_by_threads() {
    for threads in [1, 2, 4] {
        let scratch = Scratch::new(&format!("index-adds-{threads}"));
        let world = world(&scratch, 256 << 20);
        world.services.timeline.sequence(Timestamp(1));
        let start = Instant::now();
        std::thread::scope(|scope| {
            for thread in 0..threads {
                let store = &world.store;
                scope.spawn(move || {
                    for n in (thread..ENTRIES).step_by(threads as usize) {
                        store.add(&number(scattered(n)), &number(n), Timestamp(1));
                    }
                });
            }
        });
        rate(&format!("adds, {threads} threads"), ENTRIES, start);
    }
}

#[test]
#[ignore = "for people"]
fn a_bulk_build() {
    let scratch = Scratch::new("index-build");
    let world = world(&scratch, 256 << 20);
    let start = Instant::now();
    let entries = (0..ENTRIES).map(|n| Ok((number(scattered(n) * 2), number(n))));
    let built = world.store.build(entries, Timestamp(0)).unwrap();
    rate("entries built, unsorted", ENTRIES, start);
    world.commit(|store, ts| store.attach(&built.files, ts).unwrap());
    world.run_jobs();
    read_everything("built", &world);
    let start = Instant::now();
    let entries = (0..ENTRIES).map(|n| Ok((number(n), number(n))));
    world.store.build(entries, Timestamp(0)).unwrap();
    rate("entries built, sorted", ENTRIES, start);
}
