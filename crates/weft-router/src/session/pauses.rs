//! Which nodes a session leaves alone, and for how long.
//!
//! ```text
//!   10:00:00  node a refuses a setting    alone for 1 s: reads run on another node, or on the writer
//!   10:00:01  it refuses it again         2 s, then 4 s ... 64 s
//!   10:00:09  a batch ends on node a      the next refusal is the first again
//! ```
//!
//! 1. A session that a node refuses costs that node one try in each pause, however many reads it has.

use std::collections::HashMap;

const FIRST_NANOS: u64 = 1_000_000_000;
/// How often a pause is doubled.
const DOUBLED_MAX: u32 = 6;

/// How often nodes refused a session in a row, and until when each is left alone.
#[derive(Default)]
pub(super) struct Pauses(HashMap<usize, (u32, u64)>);

impl Pauses {
    /// A node refused the session, or ended its connection.
    pub(super) fn refused(&mut self, node: usize, now_nanos: u64) {
        let (count, until) = self.0.entry(node).or_default();
        *until = now_nanos + (FIRST_NANOS << *count);
        *count = (*count + 1).min(DOUBLED_MAX);
    }

    /// A batch has ended on a node.
    pub(super) fn served(&mut self, node: usize) {
        if !self.0.is_empty() {
            self.0.remove(&node);
        }
    }

    /// Whether a node is left alone.
    pub(super) fn rests(&self, node: usize, now_nanos: u64) -> bool {
        self.0.get(&node).is_some_and(|(_, until)| now_nanos < *until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_and_end() {
        let (mut pauses, mut now) = (Pauses::default(), 0);
        let seconds = [1, 2, 4, 8, 16, 32, 64, 64].map(|second| second * FIRST_NANOS);
        for pause in seconds {
            assert!(!pauses.rests(1, now));
            pauses.refused(1, now);
            assert!(pauses.rests(1, now + pause - 1) && !pauses.rests(0, now));
            now += pause;
        }
        pauses.served(1);
        pauses.refused(1, now);
        assert!(!pauses.rests(1, now + FIRST_NANOS));
    }
}
