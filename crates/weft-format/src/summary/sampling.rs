//! Which rows of many are looked at: at least 1,024 of them, at most 2,048, however many there are.
//!
//! ```text
//!   row      0   1   2   3   4   5 ...        hash of the number of the row, below the limit: taken
//!   limit    2^64: every row       after 2,048 rows 2^63: half of those that are there go, half of those to come
//! ```
//!
//! 1. Each row is taken as likely as any other, and independently of what it holds.
//! 2. The same rows of all columns are taken.
//!
//! And which stretches of rows are looked at, when not all are read ([`spread`]):
//!
//! ```text
//!   stretches of 8,192 8,192 8,192 100 8,192 rows, three of them      the 3rd, the 1st, the 5th
//! ```

use crate::bloom::hash_word;

/// Rows at which half of them go.
pub(crate) const SAMPLE_ROWS_MAX: usize = 2_048;

/// Draws rows.
#[derive(Debug)]
pub(crate) struct Sampling {
    max: usize,
    /// The greatest hash that is taken.
    limit: u64,
    /// Of the rows that were taken.
    hashes: Vec<u64>,
    rows: u64,
}

impl Sampling {
    /// Of at most so many rows.
    pub(crate) fn new(max: usize) -> Sampling {
        Sampling { max, limit: u64::MAX, hashes: Vec::new(), rows: 0 }
    }

    /// Whether the next row is taken.
    #[inline]
    pub(crate) fn take_next(&mut self) -> bool {
        let hash = hash_word(self.rows);
        self.rows += 1;
        let is_taken = hash <= self.limit;
        if is_taken {
            self.hashes.push(hash);
        }
        is_taken
    }

    /// When too many rows are there: which of them stay. Called after the row that was taken is kept.
    pub(crate) fn thinned(&mut self) -> Option<Vec<bool>> {
        if self.hashes.len() < self.max {
            return None;
        }
        self.limit /= 2;
        let limit = self.limit;
        let stays: Vec<bool> = self.hashes.iter().map(|hash| *hash <= limit).collect();
        self.hashes.retain(|hash| *hash <= limit);
        Some(stays)
    }
}

/// Which of some stretches of rows are looked at, at most so many: spread evenly over all their rows, in an order in
/// which every beginning is spread, too. All of them when there are no more. None is there twice.
pub fn spread(rows: impl IntoIterator<Item = u64>, most: usize) -> Vec<usize> {
    let mut ends: Vec<u64> = Vec::new();
    for rows in rows {
        // A stretch that says it has none may have some.
        ends.push(ends.last().copied().unwrap_or(0).saturating_add(rows.max(1)));
    }
    let all = ends.last().copied().unwrap_or(0);
    let count = most.min(ends.len());
    let place = |at: usize| -> usize {
        if count == ends.len() {
            return at;
        }
        let row = (at as u128 * 2 + 1) * u128::from(all) / (count as u128 * 2);
        ends.partition_point(|end| u128::from(*end) <= row)
    };
    let mut is_taken = vec![false; ends.len()];
    let mut places: Vec<usize> = scattered(count).map(place).collect();
    places.retain(|&place| !std::mem::replace(&mut is_taken[place], true));
    places
}

/// The numbers below a count, the halves before the quarters: 0, 4, 2, 6, 1, 5, 3, 7.
pub fn scattered(count: usize) -> impl Iterator<Item = usize> {
    let bits = count.next_power_of_two().trailing_zeros();
    let turned = move |at: usize| if bits == 0 { 0 } else { at.reverse_bits() >> (usize::BITS - bits) };
    (0..count.next_power_of_two()).map(turned).filter(move |&at| at < count)
}
