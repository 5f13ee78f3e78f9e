//! Large blocks go back to the system when they are freed, whatever small ones lie between. A process of its own.

#![cfg(all(target_os = "linux", target_env = "gnu"))]
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test looks at its own process")]

use std::hint::black_box;

const LARGE: usize = 512 << 10;
const BLOCKS: usize = 64;

/// What the process has in memory, bytes.
fn resident() -> usize {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: usize = text.split(' ').nth(1).unwrap().parse().unwrap();
    pages * 4096
}

/// Allocates large blocks with small ones between, which stay; returns how much more there is once the large ones are
/// gone.
fn left_after_a_round() -> usize {
    // A mapped block that is freed tells glibc to take blocks of its size from the heap from now on.
    drop(black_box(vec![1u8; 4 * LARGE]));
    let before = resident();
    let mut small = Vec::with_capacity(BLOCKS);
    let mut large = Vec::with_capacity(BLOCKS);
    for _ in 0..BLOCKS {
        large.push(black_box(vec![1u8; LARGE]));
        small.push(black_box(vec![1u8; 2000]));
    }
    assert!(resident().saturating_sub(before) > BLOCKS * LARGE / 2, "the blocks are there");
    drop(large);
    let left = resident().saturating_sub(before);
    drop(small);
    left
}

#[test]
fn large_blocks_go_back_at_once() {
    // Without it 31 MB of 32 stay.
    weft_env::keep_little_freed_memory();
    weft_env::keep_little_freed_memory();
    let left = left_after_a_round();
    assert!(left < BLOCKS * LARGE / 16, "{left} bytes stay");
}
