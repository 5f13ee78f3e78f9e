//! What a writer keeps for its nodes, and up to which bounds.
//!
//! ```text
//!   moment     edits of the manifest   files that went since are kept
//!   09:00:00   40                      t5-1 t5-2      every node has followed to 52: these go
//!   09:00:01   52                      t5-7           berlin is at 52: these stay
//!   09:00:02   58
//!   log        berlin needs it from 77824 on: segments that end at or before that go, if nobody else needs them
//! ```
//!
//! 1. A node that has followed to an edit finds every file that a later edit has forgotten, within the bounds.
//! 2. No node holds more than so many bytes of log, as many of files, and nothing for longer than so long.
//! 3. Without a node nothing is kept.

use std::collections::VecDeque;

use weft_format::Lsn;
use weft_kernel::fault::active;

use crate::faults;

/// Moments at which files are kept from, in the time for which they are: so many at most, about.
const MOMENTS: u64 = 128;
/// Two moments are at least so far apart.
const APART_NANOS: u64 = 250_000_000;

/// Up to what a writer keeps.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// Bytes of log, and as many of files that no table has any more.
    pub(crate) bytes: u64,
    /// How long.
    pub(crate) nanos: u64,
}

/// What a node needs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Need {
    /// The log from here on.
    pub(crate) from: Lsn,
    /// Files that edits behind this one have forgotten.
    pub(crate) edits: u64,
}

/// How it stands with the writer.
pub(crate) struct Present<'a> {
    pub(crate) now_nanos: u64,
    /// The end of the log.
    pub(crate) durable: Lsn,
    /// Durable edits of the manifest.
    pub(crate) edits: u64,
    /// Bytes of files that are kept for somebody.
    pub(crate) kept_bytes: &'a dyn Fn() -> u64,
}

/// Files that are kept from a moment on.
struct Moment<K> {
    _kept: K,
    edits: u64,
    durable: Lsn,
    nanos: u64,
}

/// What is kept. `K` keeps files from the moment on at which it was made.
pub(crate) struct Retention<K> {
    bounds: Bounds,
    moments: VecDeque<Moment<K>>,
}

impl<K> Retention<K> {
    /// Nothing is kept.
    pub(crate) fn new(bounds: Bounds) -> Retention<K> {
        Retention { bounds, moments: VecDeque::new() }
    }

    /// What is to be kept for these nodes from now on. `keep` begins to keep files, and says at which edit. From where
    /// on the log is kept; none: not at all.
    pub(crate) fn update(&mut self, needs: &[Need], present: &Present<'_>, keep: impl Fn() -> (K, u64)) -> Option<Lsn> {
        let from = needs.iter().map(|need| need.from).min();
        let Some(from) = from.filter(|_| !active(faults::FORGET_NODE)) else {
            self.moments.clear();
            return None;
        };
        let edits = needs.iter().map(|need| need.edits).min().unwrap_or(0);
        if self.is_due(present) {
            self.begin(present, &keep);
        }
        let floor = self.floor(present);
        // A moment goes when nobody needs what went between it and the next one (retention 1), and at a bound (2).
        while let Some(next) = self.moments.get(1) {
            let is_followed = edits >= next.edits;
            if !is_followed && !self.is_old(next.nanos, present) && !self.is_much(present) {
                break;
            }
            self.moments.pop_front();
        }
        if self.is_much(present) {
            self.begin(present, &keep);
            self.moments.pop_front();
        }
        Some(from.max(floor))
    }

    /// Whether files are to be kept from now on, too.
    fn is_due(&self, present: &Present<'_>) -> bool {
        let Some(last) = self.moments.back() else { return true };
        let since = present.now_nanos.saturating_sub(last.nanos);
        let apart = (self.bounds.nanos / MOMENTS).max(APART_NANOS);
        since >= apart && (present.edits != last.edits || present.durable != last.durable)
    }

    fn begin(&mut self, present: &Present<'_>, keep: &impl Fn() -> (K, u64)) {
        let (kept, edits) = keep();
        let (durable, nanos) = (present.durable, present.now_nanos);
        assert!(self.moments.back().is_none_or(|last| last.edits <= edits), "edits are counted up");
        self.moments.push_back(Moment { _kept: kept, edits, durable, nanos });
    }

    /// The log before this is kept for nobody (retention 2).
    fn floor(&self, present: &Present<'_>) -> Lsn {
        if active(faults::KEEP_FOR_EVER) {
            return Lsn(0);
        }
        let of_bytes = Lsn(present.durable.0.saturating_sub(self.bounds.bytes));
        let old = self.moments.iter().take_while(|moment| self.is_old(moment.nanos, present)).last();
        old.map_or(of_bytes, |moment| moment.durable.max(of_bytes))
    }

    fn is_old(&self, nanos: u64, present: &Present<'_>) -> bool {
        present.now_nanos.saturating_sub(nanos) >= self.bounds.nanos && !active(faults::KEEP_FOR_EVER)
    }

    fn is_much(&self, present: &Present<'_>) -> bool {
        (present.kept_bytes)() > self.bounds.bytes && !active(faults::KEEP_FOR_EVER)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::cell::{Cell, RefCell};
    use std::rc::Rc;

    use super::*;

    const SECOND: u64 = 1_000_000_000;

    /// The moments that are kept, by the edit at which they began.
    #[derive(Clone, Default)]
    struct Kept(Rc<RefCell<Vec<u64>>>);

    struct Pin(Kept, u64);

    impl Drop for Pin {
        fn drop(&mut self) {
            let mut kept = self.0.0.borrow_mut();
            let at = kept.iter().position(|edits| *edits == self.1).unwrap();
            kept.remove(at);
        }
    }

    struct Bench {
        retention: Retention<Pin>,
        kept: Kept,
        bytes: Cell<u64>,
    }

    impl Bench {
        fn new() -> Bench {
            let bounds = Bounds { bytes: 1000, nanos: 100 * SECOND };
            Bench { retention: Retention::new(bounds), kept: Kept::default(), bytes: Cell::new(0) }
        }

        /// At a second, with the log and the manifest so long; what is kept of the log, and from which edits on files.
        fn at(&mut self, second: u64, (durable, edits): (u64, u64), needs: &[(u64, u64)]) -> (Option<u64>, Vec<u64>) {
            let needs: Vec<Need> = needs.iter().map(|&(from, edits)| Need { from: Lsn(from), edits }).collect();
            let kept_bytes = || self.bytes.get();
            let durable = Lsn(durable);
            let present = Present { now_nanos: second * SECOND, durable, edits, kept_bytes: &kept_bytes };
            let from = self.retention.update(&needs, &present, || {
                self.kept.0.borrow_mut().push(edits);
                (Pin(self.kept.clone(), edits), edits)
            });
            (from.map(|from| from.0), self.kept.0.borrow().clone())
        }
    }

    #[test]
    fn what_the_hindmost_node_needs_is_kept() {
        let mut bench = Bench::new();
        assert_eq!(bench.at(1, (100, 3), &[]), (None, vec![]));
        assert_eq!(bench.at(2, (100, 3), &[(0, 0)]), (Some(0), vec![3]), "one that joins needs everything");
        assert_eq!(bench.at(3, (200, 5), &[(100, 3), (150, 4)]), (Some(100), vec![3, 5]));
        assert_eq!(bench.at(4, (300, 7), &[(200, 5), (300, 7)]), (Some(200), vec![5, 7]));
        assert_eq!(bench.at(5, (300, 7), &[(300, 7), (300, 7)]), (Some(300), vec![7]));
        assert_eq!(bench.at(6, (300, 7), &[]), (None, vec![]));
    }

    #[test]
    pub(crate) fn no_node_holds_more_than_the_bounds() {
        let mut bench = Bench::new();
        assert_eq!(bench.at(1, (500, 3), &[(400, 3)]), (Some(400), vec![3]));
        assert_eq!(bench.at(5, (1300, 4), &[(400, 3)]), (Some(400), vec![3, 4]));
        // More log than 1000 bytes.
        assert_eq!(bench.at(7, (1600, 6), &[(400, 3)]), (Some(600), vec![3, 4, 6]));
        // More of files.
        bench.bytes.set(1001);
        let (from, kept) = bench.at(8, (1600, 6), &[(400, 3)]);
        assert_eq!((from, kept.len()), (Some(600), 1), "only what goes from now on");
        bench.bytes.set(0);
        // Longer than 100 seconds.
        assert_eq!(bench.at(50, (1700, 8), &[(700, 6)]).0, Some(700));
        assert_eq!(bench.at(107, (1700, 8), &[(700, 6)]), (Some(700), vec![6, 8]));
        assert_eq!(bench.at(108, (1700, 8), &[(700, 6)]), (Some(1600), vec![6, 8]), "the log as of second 8");
        assert_eq!(bench.at(150, (1700, 8), &[(700, 6)]), (Some(1700), vec![8]));
    }

    #[test]
    fn moments_are_few() {
        let mut bench = Bench::new();
        for tenth in 0..20_000 {
            let second = tenth / 10;
            bench.at(second, (tenth, tenth), &[(0, 0)]);
        }
        assert!(bench.retention.moments.len() <= 130, "{} moments", bench.retention.moments.len());
    }
}
