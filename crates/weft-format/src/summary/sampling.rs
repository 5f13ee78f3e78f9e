//! Which rows of many are looked at: at least 1,024 of them, at most 2,048, however many there are.
//!
//! ```text
//!   row      0   1   2   3   4   5 ...        hash of the number of the row, below the limit: taken
//!   limit    2^64: every row       after 2,048 rows 2^63: half of those that are there go, half of those to come
//! ```
//!
//! 1. Each row is taken as likely as any other, and independently of what it holds.
//! 2. The same rows of all columns are taken.

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
