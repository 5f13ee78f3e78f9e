//! A memory of its own against a map: commits of all sizes, repeated entries, scans in both directions.

use super::*;
use crate::index::batch::Batch;
use crate::index::entry::Span;
use crate::index::filter::value_hash;
use crate::index::memory::{Added, Memory, MemoryScan};

type Entries = BTreeMap<Vec<u8>, u64>;

fn memory(budget: &Arc<RowBudget>) -> Arc<Memory> {
    Arc::new(Memory::new(1, Timestamp(0), 1 << 20, budget.clone()))
}

fn scanned(memory: &Arc<Memory>, low: Bound<&[u8]>, high: Bound<&[u8]>, direction: Direction) -> Vec<(Vec<u8>, u64)> {
    let mut scan = MemoryScan::new(memory.clone(), Arc::new(Span::of_values(low, high)), direction);
    let mut found = Vec::new();
    while scan.advance() {
        found.push((scan.current().bytes.clone(), scan.current().ts.0));
    }
    found
}

/// Compares the entries whose values lie between two bounds, in both directions.
fn compare(memory: &Arc<Memory>, entries: &Entries, low: &[u8], high: &[u8]) {
    let wanted = entries.range(low.to_vec()..).take_while(|(bytes, _)| bytes[..] < *high);
    let mut wanted: Vec<(Vec<u8>, u64)> = wanted.map(|(bytes, ts)| (bytes.clone(), *ts)).collect();
    let bounds = (Bound::Included(low), Bound::Excluded(high));
    assert_eq!(scanned(memory, bounds.0, bounds.1, Direction::Forward), wanted, "{low:?}..{high:?}");
    wanted.reverse();
    assert_eq!(scanned(memory, bounds.0, bounds.1, Direction::Backward), wanted, "{low:?}..{high:?} backward");
}

fn commit(memory: &Memory, rng: &mut Prng, ts: u64, entries: &mut Entries, spread: u64) -> Added {
    let count = [1, 1, 1, 5, 31, 32, 100, 700][rng.below(8) as usize];
    let mut batch = Batch::default();
    let mut of_commit = BTreeSet::new();
    for _ in 0..count {
        // Values of 4 or 12 bytes, of which many begin with the same 8; keys of 2 bytes.
        let n = rng.below(spread);
        let value = if n.is_multiple_of(3) {
            [&[7; 8][..], &(n as u32).to_be_bytes()].concat()
        } else {
            vec![(n % 251) as u8; 4]
        };
        let key = (rng.below(8) as u16).to_be_bytes();
        let bytes = [&value[..], &key].concat();
        if of_commit.insert(bytes.clone()) {
            let last = entries.entry(bytes).or_default();
            *last = (*last).max(ts);
            batch.push(&value, &key, Timestamp(ts));
        }
    }
    if batch.len() > 1 {
        batch.sort();
        return memory.add_sorted(batch);
    }
    let bytes = batch.bytes(0);
    let (value, key) = bytes.split_at(bytes.len() - 2);
    memory.add(value, key, Timestamp(ts))
}

#[test]
fn what_was_added_is_found_once_with_its_greatest_timestamp() {
    for (seed, spread) in [(1, 50), (2, 3000), (3, 1 << 40)] {
        let budget = Arc::new(RowBudget::new(1 << 30));
        let (memory, mut entries, mut rng) = (memory(&budget), Entries::new(), Prng(seed));
        for round in 0..400 {
            // Redo may come with earlier timestamps.
            let ts = if rng.below(10) == 0 { 1 + rng.below(1 + round) } else { 1 + round };
            let added = commit(&memory, &mut rng, ts, &mut entries, spread);
            assert_eq!(added.bytes, memory.bytes());
            if added.can_merge && rng.below(4) > 0 {
                memory.merge_pieces();
            }
            let (a, b) = (vec![rng.below(256) as u8; 4], vec![7; 1 + rng.below(12) as usize]);
            let (low, high) = if a < b { (a, b) } else { (b, a) };
            compare(&memory, &entries, &low, &high);
        }
        compare(&memory, &entries, &[], &[255; 20]);
        assert!(entries.keys().all(|bytes| memory.may_contain(value_hash(&bytes[..bytes.len() - 2]))));
        assert!(memory.entry_count() >= entries.len() as u64);
        assert_eq!(budget.used_bytes(), memory.bytes() + memory.filter_bytes());
        drop(memory);
        assert_eq!(budget.used_bytes(), 0);
    }
}

#[test]
fn repeated_entries_are_merged_away_and_pieces_stay_few() {
    let budget = Arc::new(RowBudget::new(1 << 30));
    let memory = memory(&budget);
    for n in 0..100_000u64 {
        let added = memory.add(&(n % 500).to_be_bytes(), b"k", Timestamp(n));
        if added.can_merge {
            memory.merge_pieces();
        }
    }
    assert!(memory.entry_count() < 5000, "{} entries, of which 500 differ", memory.entry_count());
    for n in 100_000..200_000u64 {
        let added = memory.add(&(n.wrapping_mul(0x9e37_79b9_7f4a_7c15)).to_be_bytes(), b"k", Timestamp(n));
        if added.can_merge {
            memory.merge_pieces();
        }
    }
    assert!(memory.piece_count() <= 24, "{} pieces", memory.piece_count());
    assert_eq!(scanned(&memory, Bound::Unbounded, Bound::Unbounded, Direction::Forward).len(), 100_500);
}

#[test]
fn readers_find_everything_while_writers_merge() {
    let budget = Arc::new(RowBudget::new(1 << 30));
    let memory = memory(&budget);
    const WRITERS: u64 = 3;
    const COMMITS: u64 = 400;
    let done: Vec<AtomicU64> = (0..WRITERS).map(|_| AtomicU64::new(0)).collect();
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let (memory, done) = (&memory, &done);
            scope.spawn(move || {
                for commit in 0..COMMITS {
                    let mut batch = Batch::default();
                    for n in 0..40u64 {
                        let value = (n << 40 | commit).wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes();
                        batch.push(&value, &[writer as u8], Timestamp(commit));
                    }
                    batch.sort();
                    if memory.add_sorted(batch).can_merge {
                        memory.merge_pieces();
                    }
                    done[writer as usize].store(commit + 1, std::sync::atomic::Ordering::Release);
                }
            });
        }
        let is_over = || done.iter().all(|done| done.load(std::sync::atomic::Ordering::Acquire) == COMMITS);
        loop {
            let over = is_over();
            let least: u64 = done.iter().map(|done| done.load(std::sync::atomic::Ordering::Acquire)).sum();
            let found = scanned(&memory, Bound::Unbounded, Bound::Unbounded, Direction::Forward);
            assert!(found.is_sorted_by(|a, b| a.0 < b.0), "entries ascend, each once");
            assert!(found.len() as u64 >= least * 40, "{} of {} entries", found.len(), least * 40);
            if over {
                break;
            }
        }
    });
    assert_eq!(budget.used_bytes(), memory.bytes() + memory.filter_bytes());
}
