//! Partitions: shares, what moves when one is added, and reads meanwhile.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use super::*;

const LOADED: u64 = 1 << 20;

/// The bytes of a key: different keys have different ones.
fn bytes_of(file: u64, block: u32, len: usize) -> Arc<[u8]> {
    let word = (file << 32 | u64::from(block)).to_le_bytes();
    word.iter().copied().cycle().take(len.max(8)).collect()
}

/// Looks a key up and tests the answer; says whether it was loaded.
fn read(cache: &CachePool, file: u64, block: u32) -> bool {
    let len = 100 + block as usize % 900;
    let mut loaded = false;
    let found = cache.get_bytes(key(file, block), &mut || {
        loaded = true;
        Ok(bytes_of(file, block, len))
    });
    assert_eq!(*found.unwrap(), *bytes_of(file, block, len), "the block of another key was found");
    loaded
}

fn shares(cache: &CachePool) -> u64 {
    cache.partitions().iter().map(|partition| partition.bytes_max).sum()
}

#[test]
fn shares_add_up_to_the_budget_however_many_partitions_there_are() {
    for budget in [0, 1, 999, 1_000_003, u64::MAX / 2] {
        let cache = CachePool::new(budget);
        let expected = budget - budget / 16;
        while let Some(count) = cache.add_partition() {
            assert_eq!(cache.partitions().len(), count);
            assert_eq!(shares(&cache), expected);
        }
        let partitions = cache.partitions();
        assert_eq!(partitions.len(), 64);
        let of_size = partitions.iter().map(|partition| partition.bytes_max);
        let (least, most) = (of_size.clone().min().unwrap(), of_size.max().unwrap());
        assert!(most <= (least + 20) * 5 / 2, "the shares are {least} to {most}");
    }
}

#[test]
fn a_partition_that_is_added_takes_its_blocks_with_it() {
    let cache = CachePool::new(LOADED * 64);
    let blocks = 20_000;
    (0..blocks).for_each(|block| assert!(read(&cache, 1, block)));
    for _ in 0..3 {
        let before = cache.partitions();
        let count = cache.add_partition().unwrap();
        let after = cache.partitions();
        let fair = u64::from(blocks) / count as u64;
        let moved = after[count - 1].blocks;
        assert!((fair / 2..fair * 2).contains(&moved), "{moved} blocks moved, {fair} are fair");
        let given: u64 = before.iter().zip(&after).map(|(before, after)| before.blocks - after.blocks).sum();
        assert_eq!(given, moved, "what the new one has the others gave");
        assert_eq!((0..blocks).filter(|&block| read(&cache, 1, block)).count(), 0, "blocks were lost on the way");
    }
    assert_eq!(cache.counters().evictions, 0);
}

#[test]
fn a_full_pool_keeps_to_its_budget_while_partitions_are_added() {
    let cache = CachePool::new(LOADED);
    (0..5000).for_each(|block| _ = read(&cache, 1, block));
    let full = cache.counters().bytes;
    while cache.add_partition().is_some() {
        for partition in cache.partitions() {
            assert!(partition.bytes <= partition.bytes_max, "{partition:?}");
        }
    }
    assert!(cache.counters().bytes > full * 7 / 10, "most blocks stay: {:?} of {full}", cache.counters());
    cache.forget_file(FileId(1));
    assert_eq!((cache.counters().blocks, cache.counters().bytes), (0, 0));
}

/// One thread, random operations, beside a model of what was ever loaded: a hit must be of a key that the model has.
#[test]
fn random_operations_agree_with_a_model() {
    for seed in 0..20 {
        let mut rng = Prng(seed);
        let cache = CachePool::new(60_000 + rng.below(600_000));
        let mut loads: BTreeMap<(u64, u32), u32> = BTreeMap::new();
        let (mut reads, mut hits) = (0, 0);
        for _ in 0..6000 {
            match rng.below(300) {
                0 => {
                    let file = rng.below(4);
                    cache.forget_file(FileId(file));
                    loads.retain(|(of, _), _| *of != file);
                }
                1 => _ = cache.add_partition(),
                _ => {
                    let at = (rng.below(4), rng.below(300) as u32 * rng.below(2) as u32 + rng.below(30) as u32);
                    reads += 1;
                    if read(&cache, at.0, at.1) {
                        *loads.entry(at).or_default() += 1;
                    } else {
                        hits += 1;
                        assert!(loads.contains_key(&at), "{at:?} was found and never loaded since it was forgotten");
                    }
                }
            }
            let counters = cache.counters();
            assert_eq!((counters.hits, counters.misses), (hits, reads - hits));
            assert!(counters.blocks <= loads.len() as u64);
        }
        assert!(hits > 0);
        let partitions = cache.partitions();
        assert!(partitions.iter().all(|partition| partition.bytes <= partition.bytes_max));
    }
}

/// Threads read and forget while another adds all partitions there can be; a fourth looks at the budget all the time.
#[test]
fn reads_go_on_while_partitions_are_added() {
    let budget = 300_000;
    let cache = CachePool::new(budget);
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let readers: Vec<_> = (0..3)
            .map(|thread| {
                let cache = &cache;
                scope.spawn(move || {
                    let mut rng = Prng(thread);
                    for i in 0..60_000 {
                        read(cache, rng.below(3), rng.below(400) as u32);
                        if i % 5000 == 4999 {
                            cache.forget_file(FileId(rng.below(3)));
                        }
                    }
                })
            })
            .collect();
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                let partitions = cache.partitions();
                assert_eq!(partitions.iter().map(|partition| partition.bytes_max).sum::<u64>(), budget - budget / 16);
                assert!(partitions.iter().all(|partition| partition.bytes <= partition.bytes_max));
            }
        });
        while cache.add_partition().is_some() {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        readers.into_iter().for_each(|reader| reader.join().unwrap());
        done.store(true, Ordering::Relaxed);
    });
    // Nothing was left where nobody looks for it.
    (0..3).for_each(|file| cache.forget_file(FileId(file)));
    assert_eq!((cache.counters().bytes, cache.counters().blocks), (0, 0));
}

#[test]
fn what_is_read_again_stays_while_a_scan_goes_by() {
    let cache = CachePool::new(LOADED);
    for _ in 0..3 {
        (0..600).for_each(|block| _ = read(&cache, 1, block));
    }
    // Blocks of file 1 are read once in a while, each time after more than the whole budget was scanned.
    let mut scanned = 0;
    for round in 0..5 {
        for _ in 0..4000 {
            scanned += 1;
            read(&cache, 2, scanned);
        }
        let missed = (0..600).filter(|&block| read(&cache, 1, block)).count();
        assert!(missed < 60, "round {round}: {missed} of 600 blocks went");
    }
}
