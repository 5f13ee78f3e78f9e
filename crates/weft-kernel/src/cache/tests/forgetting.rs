//! Files that are gone: what letting go of them costs, what is left, and loads that end afterwards.

use weft_env::sim::{RunEnd, SimOptions, Simulation};
use weft_env::sync::Mutex;

use super::*;

/// What a forgotten file costs does not depend on what else is kept: entries are counted, not time.
#[test]
fn only_a_files_own_entries_are_looked_at() {
    for others in [0, 100, 20_000] {
        let cache = CachePool::new(1 << 30);
        (0..others).for_each(|number| get_bytes(&cache, 1, number));
        for (file, blocks) in [(2, 0), (3, 1), (4, 500)] {
            (0..blocks).for_each(|number| get_bytes(&cache, file, number));
            let before = cache.looked_at();
            cache.forget_file(FileId(file));
            assert_eq!(cache.looked_at() - before, u64::from(blocks), "beside {others} others");
        }
        assert_eq!(cache.counters().blocks, u64::from(others));
        cache.check();
    }
}

/// Bytes, blocks, queues and chains are as before a file came, also when it has blocks in both queues and was evicted
/// in part.
#[test]
fn what_is_kept_is_the_same_as_before_the_file_came() {
    let cache = CachePool::new(1 << 20);
    (0..100).for_each(|number| get_bytes(&cache, 1, number));
    let before = cache.counters();
    for _ in 0..3 {
        (0..50).for_each(|number| get_bytes(&cache, 2, number));
    }
    cache.forget_file(FileId(2));
    let after = cache.counters();
    assert_eq!((after.bytes, after.blocks, after.evictions), (before.bytes, before.blocks, 0));
    cache.check();
    // More than there is room for, some read often, so that they lie in the main queue.
    for number in 0..20_000 {
        get_bytes(&cache, 3 + u64::from(number) % 5, number);
        (0..4).for_each(|_| get_bytes(&cache, 8, number % 100));
    }
    cache.check();
    (0..10).for_each(|file| cache.forget_file(FileId(file)));
    cache.check();
    assert_eq!((cache.counters().bytes, cache.counters().blocks), (0, 0));
}

/// A file that is forgotten while one of its blocks is loaded: the reader has the block, the pool does not.
#[test]
fn a_block_that_was_being_loaded_does_not_come_back() {
    let cache = CachePool::new(1 << 20);
    let read = |file: u64, meanwhile: &dyn Fn()| {
        let load = &mut || {
            meanwhile();
            Ok(vec![1; 100].into())
        };
        assert_eq!(cache.get_bytes(key(file, 1), load).unwrap().len(), 100);
    };
    read(1, &|| cache.forget_file(FileId(1)));
    assert_eq!((cache.counters().blocks, cache.counters().bytes), (0, 0));
    read(1, &|| cache.forget_file(FileId(2)));
    assert_eq!(cache.counters().blocks, 1, "another file was forgotten");
    read(2, &|| (0..1000).for_each(|file| cache.forget_file(FileId(10 + file))));
    assert_eq!(cache.counters().blocks, 1, "more were forgotten than are known");
    read(2, &|| {
        cache.add_partition().unwrap();
        cache.forget_file(FileId(2));
        cache.add_partition().unwrap();
    });
    assert_eq!(cache.counters().blocks, 1, "its slot may have moved meanwhile");
    read(2, &|| {});
    assert_eq!(cache.counters().blocks, 2, "a load that begins afterwards is the reader's affair");
    cache.check();
}

/// Readers of files that go one after the other, some while their blocks are being loaded, while partitions are added.
#[test]
fn in_no_schedule_does_a_block_come_back() {
    let mut raced = 0;
    for seed in 0..200 {
        let mut options = SimOptions::seeded(seed);
        options.switch_permille = Some(300);
        let loads = Arc::new(Mutex::new(0));
        let counted = loads.clone();
        let end = Simulation::new(options).run(move |env| *counted.lock() = forget_beside_readers(&env, seed));
        assert_eq!(end, RunEnd::Finished, "seed {seed}");
        raced += *loads.lock();
    }
    assert!(raced > 100, "only {raced} loads ended after their file was forgotten");
}

/// Answers how many loads began before their file was forgotten and ended afterwards.
fn forget_beside_readers(env: &weft_env::Env, seed: u64) -> usize {
    let cache = Arc::new(CachePool::new(4_000_000));
    // Files below are being forgotten, or were; loads that began before that, and whether they ended after it.
    let gone = Arc::new(Mutex::new(0_u64));
    let early = Arc::new(Mutex::new(Vec::new()));
    let mut threads = Vec::new();
    for thread in 0..3_u32 {
        let (cache, gone, early) = (cache.clone(), gone.clone(), early.clone());
        let body = move || {
            let mut rng = Prng(seed * 3 + u64::from(thread));
            for number in 0..40 {
                let (file, block) = (*gone.lock() + rng.below(2), thread * 100 + number);
                let load = &mut || {
                    let is_early = *gone.lock() <= file;
                    weft_env::sync::yield_point();
                    if is_early {
                        early.lock().push((file, block, *gone.lock() > file));
                    }
                    Ok(vec![7; 300].into())
                };
                cache.get_bytes(key(file, block), load).unwrap();
            }
        };
        threads.push(env.spawn.spawn("read", Box::new(body)).unwrap());
    }
    for file in 0..20 {
        *gone.lock() = file + 1;
        cache.forget_file(FileId(file));
        if file % 4 == 0 {
            cache.add_partition().unwrap();
        }
    }
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    cache.check();
    let early = early.lock();
    for (file, block, _) in early.iter().filter(|(file, ..)| *file < 20) {
        let mut is_kept = true;
        let load = &mut || {
            is_kept = false;
            Ok(vec![7; 300].into())
        };
        cache.get_bytes(key(*file, *block), load).unwrap();
        assert!(!is_kept, "seed {seed}: block {block} of the forgotten file {file} came back");
    }
    early.iter().filter(|(.., ended_late)| *ended_late).count()
}

fn get_bytes(cache: &CachePool, file: u64, number: u32) {
    let found = cache.get_bytes(key(file, number), &mut || Ok(vec![file as u8; 100 + number as usize % 50].into()));
    assert_eq!(found.unwrap()[0], file as u8, "the block of another key was found");
}
