//! Distances in index files, as numbers that are small when they are.
//!
//! ```text
//!   0  −1  1  −2   →   0  1  2  3
//! ```

/// Small numbers for small distances of either sign.
pub(crate) fn zigzag(distance: i64) -> u64 {
    let number = (distance << 1 ^ distance >> 63) as u64;
    debug_assert_eq!(unzigzag(number), distance, "a distance comes back from its number");
    number
}

/// Takes back [`zigzag`].
pub(crate) fn unzigzag(number: u64) -> i64 {
    (number >> 1) as i64 ^ -((number & 1) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_read_back() {
        for distance in [0, 1, -1, 77, i64::MIN, i64::MAX] {
            assert_eq!(unzigzag(zigzag(distance)), distance);
        }
    }
}
