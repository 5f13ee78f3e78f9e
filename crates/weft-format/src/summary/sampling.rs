//! Which rows of many are looked at: at least 512 of them, at most 1,024, however many there are.
//!
//! ```text
//!   row      0   1   2   3   4   5 ...        hash of the number of the row, below the limit: taken
//!   limit    2^64: every row       after 1,024 rows 2^63: half of those that are there go, half of those to come
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
pub(crate) const SAMPLE_ROWS_MAX: usize = 1_024;

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

    /// Looks at the next rows, so many.
    pub(crate) fn next(&mut self, rows: usize) -> Taken {
        let numbers = 0..rows as u32;
        let mut taken: Vec<(u32, u64)> = numbers
            .map(|row| (row, hash_word(self.rows + u64::from(row))))
            .filter(|(_, hash)| *hash <= self.limit)
            .collect();
        self.rows += rows as u64;
        let before = self.limit;
        let mut count = self.hashes.len() + taken.len();
        while count >= self.max {
            self.limit /= 2;
            taken.retain(|(_, hash)| *hash <= self.limit);
            count = self.hashes.iter().filter(|hash| **hash <= self.limit).count() + taken.len();
        }
        let limit = self.limit;
        let stays = (limit < before).then(|| self.hashes.iter().map(|hash| *hash <= limit).collect());
        self.hashes.retain(|hash| *hash <= limit);
        self.hashes.extend(taken.iter().map(|(_, hash)| hash));
        Taken { stays, rows: taken.into_iter().map(|(row, _)| row).collect() }
    }
}

/// What becomes of rows.
#[derive(Debug, Default)]
pub(crate) struct Taken {
    /// Of those that were taken before: does each stay? None: all do.
    pub(crate) stays: Option<Vec<bool>>,
    /// Those of the next rows that are taken, by their number among these.
    pub(crate) rows: Vec<u32>,
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
