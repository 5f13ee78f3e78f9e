//! Which files of a row of files become one: neighbours of about one size.
//!
//! ```text
//!   newest first   12 9 15 8 │ 100 │ 3000      the first four: their sum 44 is less than half of 100
//! ```
//!
//! 1. Each file is in about as many merges as the logarithm of all rows, so there are as many files at most, times 4.

/// So many neighbours at least are merged.
const LEAST: usize = 4;

/// The places of neighbours to merge, of files of these sizes.
pub(super) fn pick(sizes: &[u64]) -> Option<std::ops::Range<usize>> {
    (0..sizes.len()).find_map(|start| {
        let mut sum = sizes[start];
        let mut end = start + 1;
        while end < sizes.len() && sizes[end] <= sum * 2 {
            sum += sizes[end];
            end += 1;
        }
        (end - start >= LEAST).then_some(start..end)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_of_one_size_become_one() {
        assert_eq!(pick(&[12, 9, 15, 8, 100, 3000]), Some(0..4));
        assert_eq!(pick(&[1, 100, 90, 110, 100]), Some(1..5));
        assert_eq!(pick(&[1, 10, 100, 1000, 10_000]), None);
        assert_eq!(pick(&[]), None);
    }

    #[test]
    fn files_stay_few() {
        let mut sizes: Vec<u64> = Vec::new();
        for _ in 0..10_000 {
            sizes.insert(0, 1);
            while let Some(range) = pick(&sizes) {
                let sum = sizes[range.clone()].iter().sum();
                sizes.splice(range, [sum]);
            }
            assert!(sizes.len() <= 30, "{sizes:?}");
        }
    }
}
