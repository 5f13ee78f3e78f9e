//! A vector that only grows, whose elements never move, and that is read without a lock.
//!
//! ```text
//!   index   0 .. 1 │ 2 .. 5 │ 6 .. 13 │ ...      bucket b has 2 · 2^b places, made when the first is used
//! ```
//!
//! 1. A place is filled once; who finds it filled sees all that its writer wrote before.
//!
//! Concurrency: places and buckets are [`OnceLock`]s; two who make the same bucket make one of it.

use std::sync::OnceLock;

/// The first bucket has two to this power of places.
const FIRST_BITS: u32 = 1;
/// So many buckets have a place for every index of 32 bits.
const BUCKETS: usize = (32 - FIRST_BITS + 1) as usize;

/// See the module.
pub struct Buckets<T> {
    buckets: [OnceLock<Box<[OnceLock<T>]>>; BUCKETS],
}

impl<T> Default for Buckets<T> {
    fn default() -> Buckets<T> {
        Buckets { buckets: [const { OnceLock::new() }; BUCKETS] }
    }
}

/// The bucket of an index, and the place in it.
fn place(index: u32) -> (usize, usize) {
    let counted = u64::from(index) + (1 << FIRST_BITS);
    let bucket = counted.ilog2() - FIRST_BITS;
    (bucket as usize, (counted - (1 << (bucket + FIRST_BITS))) as usize)
}

impl<T> Buckets<T> {
    /// Memory of the first bucket, bytes.
    pub const FIRST_BYTES: usize = size_of::<OnceLock<T>>() << FIRST_BITS;

    /// What is at an index.
    pub fn get(&self, index: u32) -> Option<&T> {
        let (bucket, at) = place(index);
        self.buckets[bucket].get()?[at].get()
    }

    /// What is at an index, made when nothing is.
    pub fn get_or_init(&self, index: u32, make: impl FnOnce() -> T) -> &T {
        let (bucket, at) = place(index);
        self.bucket(bucket)[at].get_or_init(make)
    }

    /// Fills a place that nobody has filled (buckets 1).
    pub fn fill(&self, index: u32, element: T) -> &T {
        let (bucket, at) = place(index);
        let place = &self.bucket(bucket)[at];
        assert!(place.set(element).is_ok(), "a place is filled once (buckets 1)");
        place.get().expect("it was filled a moment ago")
    }

    /// All that is there, by index.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        let bucket = |number: usize| {
            let first = (1u64 << (number as u32 + FIRST_BITS)) - (1 << FIRST_BITS);
            let places = self.buckets[number].get().map_or(&[][..], |bucket| &bucket[..]);
            let filled = places.iter().enumerate().filter_map(|(at, place)| Some((at, place.get()?)));
            filled.map(move |(at, element)| ((first + at as u64) as u32, element))
        };
        (0..BUCKETS).flat_map(bucket)
    }

    fn bucket(&self, number: usize) -> &[OnceLock<T>] {
        self.buckets[number]
            .get_or_init(|| (0..1usize << (number as u32 + FIRST_BITS)).map(|_| OnceLock::new()).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_follow_each_other() {
        let mut last = (0, usize::MAX);
        for index in 0..10_000 {
            let (bucket, at) = place(index);
            let follows = (bucket == last.0 && at == last.1.wrapping_add(1)) || (bucket == last.0 + 1 && at == 0);
            assert!(follows, "{index}: {last:?} then {bucket}, {at}");
            last = (bucket, at);
        }
        assert!(place(u32::MAX).0 < BUCKETS);
    }

    #[test]
    fn what_is_filled_is_found() {
        let buckets = Buckets::default();
        for index in [0, 63, 64, 5_000, 191] {
            buckets.fill(index, index * 2);
        }
        assert_eq!((buckets.get(5_000), buckets.get(5_001), buckets.get(1 << 20)), (Some(&10_000), None, None));
        assert_eq!(buckets.get_or_init(7, || 1), &1);
        assert_eq!(buckets.get_or_init(7, || 2), &1);
        let all: Vec<u32> = buckets.iter().map(|(index, _)| index).collect();
        assert_eq!(all, [0, 7, 63, 64, 191, 5_000]);
    }

    #[test]
    #[should_panic(expected = "filled once")]
    fn a_place_is_filled_once() {
        let buckets = Buckets::default();
        buckets.fill(3, 'a');
        buckets.fill(3, 'b');
    }
}
