//! What is freed between blocks that stay goes back while the process works. A process of its own.

#![cfg(all(target_os = "linux", target_env = "gnu"))]
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test looks at its own process")]

use std::hint::black_box;
use std::time::{Duration, Instant};

use weft_env::{Env, FreedMemory};

const MIB: usize = 1 << 20;
const BLOCK: usize = 2_000;
const BLOCKS: usize = 64 * MIB / BLOCK;

/// What the process has in memory, bytes.
fn resident() -> usize {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: usize = text.split(' ').nth(1).unwrap().parse().unwrap();
    pages * 4096
}

/// 64 MiB in small blocks, of which one of 64 stays; what stays keeps them from going by themselves.
fn with_holes() -> Vec<Vec<u8>> {
    let blocks: Vec<Vec<u8>> = (0..BLOCKS).map(|_| black_box(vec![1; BLOCK])).collect();
    blocks.into_iter().enumerate().filter(|(number, _)| number % 64 == 0).map(|(_, block)| block).collect()
}

#[test]
fn what_is_free_between_others_goes_back() {
    weft_env::keep_little_freed_memory();
    let before = resident();
    let kept = with_holes();
    std::thread::sleep(Duration::from_millis(300));
    assert!(resident() - before > 56 * MIB, "by itself it stays");
    let watched = FreedMemory::above(&Env::real(), (before + 16 * MIB) as u64);
    let begun = Instant::now();
    while resident() - before > 16 * MIB {
        assert!(begun.elapsed() < Duration::from_secs(60), "{} MiB stay", (resident() - before) / MIB);
        std::thread::sleep(Duration::from_millis(10));
    }
    drop((kept, watched));
}
