use std::sync::Arc;

use arrow_array::UInt8Array;
use weft_format::encoding::{Block, BlockBuilder, HashesWanted};
use weft_format::table::{BlockCache, BlockKey};
use weft_format::{Code, DataType, Error, FileId, ValueRef};

use super::*;
use crate::testing::Prng;

mod forgetting;
mod freeing;
mod lending;
mod partitions;
mod simulated;
mod speed;

fn key(file: u64, block: u32) -> BlockKey {
    BlockKey { file: FileId(file), block }
}

/// A block of some 1000 bytes that begins with `seed`.
fn block(seed: i64) -> Block {
    let mut rng = Prng(seed as u64);
    let mut builder = BlockBuilder::new(DataType::BigInt);
    builder.push(ValueRef::Int(seed));
    (0..99).for_each(|_| builder.push(ValueRef::Int(rng.next() as i64)));
    let bytes = UInt8Array::from(builder.finish(HashesWanted::None).bytes);
    Block::parse(bytes.values().inner().clone(), None).unwrap()
}

fn get(cache: &CachePool, file: u64, number: u32) {
    let seed = (file * 1000 + u64::from(number)) as i64;
    let found = cache.get(key(file, number), &mut || Ok(block(seed))).unwrap();
    assert_eq!(found.int_at(0), Some(seed), "the block of another key was found");
}

#[test]
fn a_block_is_loaded_once() {
    let cache = CachePool::new(1 << 20);
    for _ in 0..3 {
        (0..20).for_each(|number| get(&cache, 1, number));
    }
    let counters = cache.counters();
    assert_eq!((counters.hits, counters.misses, counters.blocks), (40, 20, 20));
    cache.forget_file(FileId(2));
    assert_eq!(cache.counters().blocks, 20);
    cache.forget_file(FileId(1));
    assert_eq!((cache.counters().blocks, cache.counters().bytes), (0, 0));
}

#[test]
fn an_error_is_handed_on_and_not_kept() {
    let cache = CachePool::new(1 << 20);
    let error = cache.get(key(1, 1), &mut || Err(Error::corrupt("bad"))).unwrap_err();
    assert_eq!(error.code(), Code::DataCorrupted);
    get(&cache, 1, 1);
}

#[test]
fn the_bytes_are_bounded_and_what_is_used_stays() {
    let limit = 16 * 20_000;
    let cache = CachePool::new(limit);
    let mut rng = Prng(5);
    for round in 0..4000 {
        // Ten blocks are asked for again and again while a scan goes by.
        get(&cache, 1, rng.below(10) as u32);
        get(&cache, 2 + round / 1000, (round % 1000) as u32);
        assert!(cache.counters().bytes <= limit);
    }
    let before = cache.counters().misses;
    (0..10).for_each(|number| get(&cache, 1, number));
    assert!(cache.counters().misses - before <= 1, "the blocks in use were evicted by a scan");
    assert!(cache.counters().bytes > limit / 2);
}

#[test]
fn a_block_bigger_than_a_share_is_not_kept() {
    let cache = CachePool::new(1000);
    get(&cache, 1, 1);
    assert_eq!(cache.counters().blocks, 0);
    assert_eq!(CachePool::new(0).counters(), CacheCounters::default());
}

#[test]
fn threads_share_it() {
    let cache = CachePool::new(200_000);
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let cache = &cache;
            scope.spawn(move || {
                let mut rng = Prng(thread);
                for i in 0..5000 {
                    get(cache, 1 + rng.below(3), rng.below(200) as u32);
                    if i % 500 == 0 {
                        cache.forget_file(FileId(1 + rng.below(3)));
                    }
                }
            });
        }
    });
    assert!(cache.counters().bytes <= 200_000);
}
