//! The median: the value in the middle, of which half of all times are not larger.
//!
//! ```text
//!   9.1 3.2 3.4 3.3 3.5  ──▶ 3.2 3.3 (3.4) 3.5 9.1          of an even number the upper one of the two
//! ```

/// The median of times or rates; there is one at least.
pub(super) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values[values.len() / 2]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_are_not_larger() {
        assert_eq!(median(vec![9.1, 3.2, 3.4, 3.3, 3.5]), 3.4);
        assert_eq!(median(vec![2.0, 1.0]), 2.0);
    }
}
