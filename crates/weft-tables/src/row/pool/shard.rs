//! Frames by number, and the ring that the clock goes around.
//!
//! ```text
//!   frames   9 ─▶ ●   12 ─▶ ●   14 ─▶ ●   17 ─▶ ●
//!   ring     12 · 17 · 9 · 14           the hand at 17: used, loses its bit · 9 held · 14 goes, 12 is next
//! ```
//!
//! 1. A frame is in the ring once, and knows where: it goes in and out without a search. One that is charged to the
//!    memory of rows is not in it (pool 4).
//! 2. A look for a frame that may go has an end: after some that were used the next one goes although it was, and
//!    whoever looks says at how many frames.
//!
//! Concurrency: a shard is behind its lock. A frame has one reference here, one more in the ring, and one for each
//! who has it.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering, fence};

use weft_env::sync::RwLock;
use weft_format::RecordNo;
use weft_kernel::fault::active;

use super::super::faults;
use super::super::node::Node;

/// An odd number whose bits are spread.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;
/// So many frames that were used lose their bit for one that goes.
const USED_MAX: usize = 32;
/// The place of a frame that is not in the ring.
const NOWHERE: usize = usize::MAX;

/// A node in memory.
pub(in crate::row) struct Page {
    pub(in crate::row) node: Node,
    /// The record of the log that changed it last.
    pub(in crate::row) record: RecordNo,
    /// Pages that the node goes on on, as it was written last.
    pub(in crate::row) further: Vec<u64>,
}

/// A place for a node.
pub(in crate::row) struct Frame {
    pub(in crate::row) number: u64,
    /// None until the page was read.
    pub(in crate::row) latch: RwLock<Option<Page>>,
    /// The page on disk is another (pool 1).
    pub(in crate::row) is_changed: AtomicBool,
    is_used: AtomicBool,
    /// How long the pool takes it to be. It and the next change under the lock of the pool's sums.
    pub(super) bytes: AtomicU64,
    /// It is charged to the memory of rows (pool 4).
    pub(super) is_lent: AtomicBool,
    /// Where it is in the ring. It changes under the lock of its shard.
    place: AtomicUsize,
}

impl Frame {
    /// A frame of a node that has changed is charged to the memory of rows.
    pub(super) fn new(number: u64, page: Option<Page>, is_changed: bool) -> Frame {
        let [is_changed, is_lent, is_used] = [is_changed, is_changed, false].map(AtomicBool::new);
        let (bytes, place) = (AtomicU64::new(0), AtomicUsize::new(NOWHERE));
        Frame { number, latch: RwLock::new(page), is_changed, is_used, bytes, is_lent, place }
    }

    /// It was asked for, and not by a scan.
    pub(in crate::row) fn touch(&self) {
        if !self.is_used.load(Ordering::Relaxed) {
            self.is_used.store(true, Ordering::Relaxed);
        }
    }

    /// It is being written: who asks for it from now on keeps it (pool 7).
    pub(in crate::row) fn begin_anew(&self) {
        if !active(faults::WRITTEN_PAGES_FILL_CACHE) {
            self.is_used.store(false, Ordering::Relaxed);
        }
    }

    /// It is charged to the memory of rows.
    pub(super) fn is_lent(&self) -> bool {
        self.is_lent.load(Ordering::Relaxed)
    }

    /// It was asked for since the clock came by.
    pub(super) fn is_used(&self) -> bool {
        self.is_used.load(Ordering::Relaxed)
    }
}

/// See the module.
#[derive(Default)]
pub(super) struct Shard {
    frames: HashMap<u64, Arc<Frame>, BuildHasherDefault<Spread>>,
    ring: Vec<Arc<Frame>>,
    hand: usize,
}

impl Shard {
    /// The frame of a number; an empty one when there is none.
    pub(super) fn frame(&mut self, number: u64) -> Arc<Frame> {
        if let Some(frame) = self.frames.get(&number) {
            return Arc::clone(frame);
        }
        let frame = Arc::new(Frame::new(number, None, false));
        self.put(&frame);
        frame
    }

    /// Puts a frame in the place of the one of its number, if there is one, which it gives back.
    pub(super) fn put(&mut self, frame: &Arc<Frame>) -> Option<Arc<Frame>> {
        let before = self.frames.insert(frame.number, Arc::clone(frame));
        before.iter().for_each(|before| self.leave(before));
        if !frame.is_lent() {
            self.enter(frame);
        }
        before
    }

    /// Nobody looks for a frame any more.
    pub(super) fn forget(&mut self, number: u64) -> Option<Arc<Frame>> {
        let gone = self.frames.remove(&number);
        gone.iter().for_each(|gone| self.leave(gone));
        gone
    }

    /// Whether a frame is the one of its number: one that was freed meanwhile is nobody's.
    pub(super) fn knows(&self, frame: &Frame) -> bool {
        self.frames.get(&frame.number).is_some_and(|known| std::ptr::eq(&raw const **known, frame))
    }

    /// The clock comes by a frame from now on.
    pub(super) fn enter(&mut self, frame: &Arc<Frame>) {
        let before = frame.place.swap(self.ring.len(), Ordering::Relaxed);
        assert!(before == NOWHERE, "a frame is in the ring once (shard 1)");
        self.ring.push(Arc::clone(frame));
    }

    /// It does not any more. The last one, which is the newest, comes into its place.
    pub(super) fn leave(&mut self, frame: &Frame) {
        let place = frame.place.swap(NOWHERE, Ordering::Relaxed);
        if place == NOWHERE {
            return;
        }
        let gone = self.ring.swap_remove(place);
        assert!(std::ptr::eq(&raw const *gone, frame), "a frame is where it says in the ring (shard 1)");
        self.ring.get(place).iter().for_each(|moved| moved.place.store(place, Ordering::Relaxed));
    }

    /// Lets the next frame go that may, at most around twice; none: it has looked at so many, and none may.
    pub(super) fn evict(&mut self, looks: &mut usize) -> Option<Arc<Frame>> {
        let mut used = 0;
        for _ in 0..self.ring.len() * 2 {
            *looks = looks.checked_sub(1)?;
            self.hand = if self.hand < self.ring.len() { self.hand } else { 0 };
            let frame = &self.ring[self.hand];
            let may_go = is_idle(frame, 0) && (used >= USED_MAX || !frame.is_used());
            if may_go {
                let number = frame.number;
                let gone = self.forget(number);
                // The hand comes to the one that is in its place last.
                self.hand += 1;
                return gone;
            }
            used += usize::from(frame.is_used.swap(false, Ordering::Relaxed));
            self.hand += 1;
        }
        None
    }

    /// Frames, for people.
    pub(super) fn len(&self) -> usize {
        self.frames.len()
    }

    /// Asserts that the ring has the frames that are known and not lent, once each.
    pub(super) fn assert_whole(&self) -> impl Iterator<Item = &Arc<Frame>> {
        let lent = self.frames.values().filter(|frame| frame.is_lent()).count();
        assert!(self.ring.len() + lent == self.frames.len(), "what is not lent is in the ring (shard 1)");
        for (place, frame) in self.ring.iter().enumerate() {
            let is_there = frame.place.load(Ordering::Relaxed) == place && self.knows(frame) && !frame.is_lent();
            assert!(is_there, "a frame is where it says in the ring (shard 1)");
        }
        self.frames.values()
    }
}

/// Whether a frame has not changed, and nobody has it but the shard and so many who ask. Asked under the shard's lock.
pub(super) fn is_idle(frame: &Arc<Frame>, asking: usize) -> bool {
    let of_shard = if frame.place.load(Ordering::Relaxed) == NOWHERE { 1 } else { 2 };
    let is_had = Arc::strong_count(frame) > of_shard + asking;
    // The count alone orders nothing: who changed it did so before they let go of it.
    fence(Ordering::Acquire);
    !is_had && !frame.is_changed.load(Ordering::Acquire)
}

/// Spreads the numbers of pages: their low bits choose the shard, and a table of hashes wants the high ones to differ.
#[derive(Default)]
struct Spread(u64);

impl Hasher for Spread {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u64(self.0 ^ u64::from(byte)));
    }

    fn write_u64(&mut self, number: u64) {
        let product = u128::from(number) * u128::from(SPREAD);
        self.0 = product as u64 ^ (product >> 64) as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A shard with so many frames, all of which were used.
    fn shard(count: u64) -> Shard {
        let mut shard = Shard::default();
        (0..count).for_each(|number| shard.frame(number).touch());
        shard
    }

    #[test]
    fn a_frame_is_in_the_ring_once() {
        let mut shard = shard(4);
        for _ in 0..3 {
            shard.frame(5);
            shard.forget(5);
        }
        shard.frame(5);
        let new = Arc::new(Frame::new(2, None, false));
        assert_eq!(shard.put(&new).map(|before| before.number), Some(2));
        shard.forget(0);
        let mut ring: Vec<u64> = shard.ring.iter().map(|frame| frame.number).collect();
        ring.sort_unstable();
        assert_eq!(ring, [1, 2, 3, 5]);
        assert_eq!(shard.assert_whole().count(), 4);
    }

    #[test]
    fn a_look_for_a_frame_that_may_go_has_an_end() {
        let mut used = shard(10_000);
        let mut looks = 1000;
        assert!(used.evict(&mut looks).is_some());
        assert_eq!(1000 - looks, USED_MAX + 1, "all were used: the next one goes although it was");
        let next = used.evict(&mut looks).map(|gone| gone.is_used());
        assert_eq!(next, Some(true));
        let mut held = shard(10_000);
        let all: Vec<Arc<Frame>> = (0..10_000).map(|number| held.frame(number)).collect();
        assert!(held.evict(&mut looks).is_none() && looks == 0, "all are held: {looks} looks are left");
        drop(all);
        looks = 100;
        assert!(held.evict(&mut looks).is_some(), "and they may go when they are not any more");
        assert_eq!(held.assert_whole().count(), 9_999);
    }

    #[test]
    fn who_writes_a_frame_that_is_not_in_the_ring_has_it() {
        let mut shard = shard(3);
        let written = shard.frame(1);
        shard.leave(&written);
        assert!(is_idle(&written, 1), "the shard has it, and who asks");
        let looked_at = shard.frame(1);
        assert!(!is_idle(&looked_at, 1), "who writes it has it, too");
    }

    #[test]
    fn who_was_not_used_goes_first() {
        let mut shard = shard(20);
        shard.frame(100);
        let mut looks = usize::MAX;
        assert_eq!(shard.evict(&mut looks).map(|gone| gone.number), Some(100));
        shard.frame(7).touch();
        let gone: Vec<u64> = (0..10).filter_map(|_| shard.evict(&mut looks)).map(|gone| gone.number).collect();
        assert_eq!(gone, [0, 1, 2, 3, 4, 5, 6, 8, 9, 10]);
    }
}
