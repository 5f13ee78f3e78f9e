//! Evicted blocks: who frees them, and what a reader holds.

use std::sync::Weak;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::*;
use crate::cache::pool::ENTRY_BYTES;

const BLOCK_BYTES: usize = 1000;

fn read(cache: &CachePool, block: u32) -> Arc<[u8]> {
    let bytes: Arc<[u8]> = vec![block as u8; BLOCK_BYTES].into();
    cache.get_bytes(key(1, block), &mut || Ok(bytes.clone())).unwrap()
}

/// Runs `body` beside a thread that frees.
fn beside_the_job(cache: &CachePool, body: impl FnOnce()) {
    struct Stop<'a>(&'a AtomicBool, &'a CachePool);
    impl Drop for Stop<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Release);
            self.1.wake();
        }
    }
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        // Dropped also when the body panics: else nobody would end the job.
        let _stop = Stop(&stop, cache);
        scope.spawn(|| cache.free_evicted(|| stop.load(Ordering::Acquire), Duration::from_millis(1)));
        until("the job", || cache.is_served());
        body();
    });
}

fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < Duration::from_secs(20), "{what} did not come");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn without_a_job_who_evicts_frees() {
    let cache = CachePool::new(200_000);
    let blocks: Vec<Weak<[u8]>> = (0..1000).map(|block| Arc::downgrade(&read(&cache, block))).collect();
    let alive = blocks.iter().filter(|block| block.strong_count() > 0).count() as u64;
    let counters = cache.counters();
    assert_eq!((counters.blocks, counters.freeing_bytes), (alive, 0));
    assert_eq!(counters.evictions, 1000 - alive);
}

#[test]
fn the_job_frees_what_no_reader_holds() {
    let cache = CachePool::new(800_000);
    beside_the_job(&cache, || {
        let held: Vec<Arc<[u8]>> = (0..20).map(|block| read(&cache, block)).collect();
        let others: Vec<Weak<[u8]>> = (20..40).map(|block| Arc::downgrade(&read(&cache, block))).collect();
        cache.forget_file(FileId(1));
        until("freeing", || others.iter().all(|block| block.strong_count() == 0));
        until("the count", || cache.counters().freeing_bytes == 20 * (BLOCK_BYTES as u64 + ENTRY_BYTES as u64));
        // Looked at again and again, and still there.
        std::thread::sleep(Duration::from_millis(20));
        assert_eq!(cache.counters().freeing_bytes, 20 * (BLOCK_BYTES as u64 + ENTRY_BYTES as u64));
        assert!(
            held.iter().all(|block| Arc::strong_count(block) == 2),
            "what waits is still counted, so still referred to"
        );
        for (block, bytes) in held.iter().enumerate() {
            assert_eq!(**bytes, *vec![block as u8; BLOCK_BYTES]);
        }
        drop(held);
        until("freeing of what was held", || cache.counters().freeing_bytes == 0);
    });
}

#[test]
fn what_waits_is_bounded_when_readers_hold_everything() {
    let budget = 320_000;
    let cache = CachePool::new(budget);
    beside_the_job(&cache, || {
        let mut held = Vec::new();
        for block in 0..2000 {
            held.push(read(&cache, block));
            let counters = cache.counters();
            assert!(counters.freeing_bytes <= budget / 16);
            assert!(counters.bytes + counters.freeing_bytes <= budget, "the budget holds for both (cache 1)");
        }
        let intact = held.iter().enumerate().all(|(block, bytes)| **bytes == *vec![block as u8; BLOCK_BYTES]);
        assert!(intact, "a block changed under its reader");
        let counters = cache.counters();
        assert!(counters.freeing_bytes > budget / 32, "{counters:?}");
        // Beyond the bound the last reader frees.
        let given_up = held.iter().filter(|block| Arc::strong_count(block) == 1).count() as u64;
        assert_eq!(
            given_up + counters.blocks + counters.freeing_bytes / (BLOCK_BYTES as u64 + ENTRY_BYTES as u64),
            2000
        );
        drop(held);
        until("freeing", || cache.counters().freeing_bytes == 0);
    });
    assert_eq!(cache.counters().freeing_bytes, 0);
}

#[test]
fn what_waits_at_the_end_goes_with_the_job() {
    let cache = CachePool::new(800_000);
    let mut held = Vec::new();
    beside_the_job(&cache, || {
        held.extend((0..20).map(|block| read(&cache, block)));
        cache.forget_file(FileId(1));
    });
    assert_eq!(cache.counters().freeing_bytes, 0);
    assert!(held.iter().all(|block| Arc::strong_count(block) == 1));
    read(&cache, 50);
    cache.forget_file(FileId(1));
    assert_eq!(cache.counters().freeing_bytes, 0, "nothing waits when nobody frees");
}
