//! How fast it is, for people: `cargo test --release -p weft-kernel cache::tests::speed -- --ignored --nocapture`.

use std::time::Instant;

use super::*;

const LOOKUPS: u64 = 4_000_000;

/// Looks up blocks that are all kept; answers nanoseconds per lookup and thread.
fn hits(cache: &CachePool, threads: u64, files: u64, blocks: u32) -> f64 {
    let bytes: Arc<[u8]> = vec![7; 100].into();
    for file in 0..files {
        for block in 0..blocks {
            cache.get_bytes(key(file, block), &mut || Ok(bytes.clone())).unwrap();
        }
    }
    let begun = Instant::now();
    std::thread::scope(|scope| {
        for thread in 0..threads {
            scope.spawn(move || {
                let mut rng = Prng(thread + 1);
                for _ in 0..LOOKUPS {
                    let word = rng.next();
                    let key = key(word % files, (word >> 32) as u32 % blocks);
                    let found = cache.get_bytes(key, &mut || unreachable!("all are kept")).unwrap();
                    std::hint::black_box(found);
                }
            });
        }
    });
    begun.elapsed().as_nanos() as f64 / LOOKUPS as f64
}

#[test]
#[ignore = "for people"]
fn hit_path() {
    for (files, blocks) in [(1, 30), (40, 25), (40, 250)] {
        for threads in [1, 2] {
            let nanos =
                (0..5).map(|_| hits(&CachePool::new(64 << 20), threads, files, blocks)).fold(f64::MAX, f64::min);
            println!("{:>6} blocks, {threads} threads: {nanos:>6.1} ns per lookup", files * u64::from(blocks));
        }
    }
}

/// The share of skewed point reads that hit, in per cent, while scans go by: a tenth of the blocks gets nine tenths of
/// the reads, and there is room for a fifth of them.
fn point_hits(scan_blocks: u32) -> f64 {
    let bytes: Arc<[u8]> = vec![7; 4000].into();
    let cache = CachePool::new(2000 * 4100);
    let mut rng = Prng(3);
    let (mut reads, mut hits, mut scanned) = (0u32, 0u32, 0u32);
    for read in 0..400_000 {
        for _ in 0..scan_blocks {
            scanned += 1;
            cache.get_bytes(key(2, scanned % 30_000), &mut || Ok(bytes.clone())).unwrap();
        }
        let block = if rng.below(10) < 9 { rng.below(1000) } else { rng.below(10_000) } as u32;
        let mut missed = false;
        cache
            .get_bytes(key(1, block), &mut || {
                missed = true;
                Ok(bytes.clone())
            })
            .unwrap();
        if read >= 100_000 {
            reads += 1;
            hits += u32::from(!missed);
        }
    }
    f64::from(hits) * 100.0 / f64::from(reads)
}

#[test]
#[ignore = "for people"]
fn scans_beside_point_reads() {
    for scan_blocks in [0, 1, 3, 10] {
        println!(
            "{scan_blocks:>3} blocks scanned per point read: {:>5.1} % of the point reads hit",
            point_hits(scan_blocks)
        );
    }
}
