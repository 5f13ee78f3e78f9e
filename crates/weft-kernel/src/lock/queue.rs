//! One lock: who holds it, and the queue of those who wait for it.
//!
//! ```text
//!   holders   7 {a}   8 {b}                            the union of those who stay in the queue, from the front:
//!   queue     9 {a} ─ 10 {c} ─ 11 {a} ─ 12 {b}         9 waits ({a}); 10 is granted; 11, 12 wait ({a, b}) ...
//!   reached from 12: nobody ahead wants b, so holder 8 alone.      From 11: 9 ahead of it, and 7, who holds a
//! ```
//!
//! A pass over the queue looks at each waiter once and compares it with the union of those that matter, not with each
//! of them: a set of modes lets a mode in exactly when its union does.
//!
//! 1. `others` is ordered by transaction, so one of a thousand holders is found in ten steps.
//! 2. `writer_count` holders write something: who only reads beside readers looks at none of them.
//! 3. `least` is within the mode of every waiter: who is in the way of it is in the way of all.

use std::any::Any;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use weft_format::TxnId;

use super::mode::LockMode;
use crate::fault::{Fault, active};
use crate::sleeper::Sleeper;

/// What a transaction that hands its locks on tells those who follow it. Nobody looks into it here.
pub(crate) type Handed = Arc<dyn Any + Send + Sync>;

/// Who holds a lock.
pub(super) struct Holder {
    pub(super) txn: TxnId,
    pub(super) mode: LockMode,
    /// Its commit has its place in the log.
    pub(super) handed: Option<Handed>,
}

impl Holder {
    fn new(txn: TxnId, mode: LockMode) -> Holder {
        Holder { txn, mode, handed: None }
    }

    fn writes(&self) -> bool {
        !self.mode.writes.is_empty()
    }

    /// Whether it is in nobody's way who asks like this.
    fn lets_in(&self, txn: TxnId, mode: LockMode, follows: bool) -> bool {
        self.txn == txn || self.mode.compatible(mode) || (follows && self.handed.is_some())
    }
}

/// Who waits for a lock.
pub(super) struct Waiter {
    pub(super) txn: TxnId,
    pub(super) mode: LockMode,
    pub(super) follows: bool,
    /// Tells one wait from another of the same transaction.
    pub(super) wait: u64,
    pub(super) sleeper: Arc<Sleeper>,
}

struct Queue {
    waiters: VecDeque<Waiter>,
    /// What everybody wants that has come since the queue was empty (invariant 3).
    least: LockMode,
}

pub(super) struct Lock {
    first: Holder,
    others: Vec<Holder>,
    writer_count: usize,
    /// Of a contended lock; never empty.
    queue: Option<Box<Queue>>,
}

/// Somebody whom a walk has come to: a waiter or a holder of a lock, and the waiter it was reached from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reached {
    pub(super) txn: TxnId,
    pub(super) from: TxnId,
    /// It waits here; its own edges were walked, too.
    pub(super) waits_here: bool,
}

impl Lock {
    /// A lock that nobody held.
    pub(super) fn new(txn: TxnId, mode: LockMode) -> Lock {
        let first = Holder::new(txn, mode);
        Lock { writer_count: usize::from(first.writes()), first, others: Vec::new(), queue: None }
    }

    pub(super) fn holders(&self) -> impl Iterator<Item = &Holder> + '_ {
        std::iter::once(&self.first).chain(&self.others)
    }

    /// Those who wait, the next one first.
    pub(super) fn waiters(&self) -> impl Iterator<Item = &Waiter> + '_ {
        self.queue.iter().flat_map(|queue| &queue.waiters)
    }

    pub(super) fn is_waited_for(&self) -> bool {
        self.queue.is_some()
    }

    fn holder_mut(&mut self, txn: TxnId) -> Option<&mut Holder> {
        if self.first.txn == txn {
            return Some(&mut self.first);
        }
        let at = self.others.binary_search_by_key(&txn, |holder| holder.txn).ok()?;
        Some(&mut self.others[at])
    }

    pub(super) fn held_by(&self, txn: TxnId) -> Option<LockMode> {
        if self.first.txn == txn {
            return Some(self.first.mode);
        }
        let at = self.others.binary_search_by_key(&txn, |holder| holder.txn).ok()?;
        Some(self.others[at].mode)
    }

    /// Whether a transaction may have the lock beside its present holders.
    pub(super) fn admits(&self, txn: TxnId, mode: LockMode, follows: bool) -> bool {
        let only_reads = self.writer_count == 0 && mode.writes.is_empty();
        only_reads || self.holders().all(|holder| holder.lets_in(txn, mode, follows))
    }

    /// Whether nobody waits that would be overtaken.
    pub(super) fn overtakes_none(&self, mode: LockMode) -> bool {
        let Some(queue) = &self.queue else { return true };
        queue.least.compatible(mode) && queue.waiters.iter().all(|waiter| waiter.mode.compatible(mode))
    }

    /// Makes a transaction a holder; counts when the lock has two writers from now on.
    pub(super) fn add(&mut self, txn: TxnId, mode: LockMode, follows: bool, mixed_count: &AtomicU64) {
        assert!(self.admits(txn, mode, follows), "holders are compatible (lock 1)");
        if let Some(holder) = self.holder_mut(txn) {
            let wrote = holder.writes();
            holder.mode = holder.mode.union(mode);
            self.writer_count += usize::from(!wrote && !mode.writes.is_empty());
        } else {
            let at = self.others.partition_point(|holder| holder.txn < txn);
            self.others.insert(at, Holder::new(txn, mode));
            self.writer_count += usize::from(!mode.writes.is_empty());
        }
        self.check();
        if mode.writes.is_empty() || self.writer_count == 1 {
            return;
        }
        // Who follows begins with what those have written that have handed on.
        let is_beside = |holder: &Holder| holder.txn != txn && !(follows && holder.handed.is_some());
        if self.holders().any(|holder| is_beside(holder) && holder.writes()) {
            mixed_count.fetch_add(1, Ordering::AcqRel);
        }
    }

    /// Somebody comes to the end of the queue, or to its front with an upgrade.
    pub(super) fn enqueue(&mut self, waiter: Waiter, upgrade: bool) {
        debug_assert_eq!(upgrade, self.held_by(waiter.txn).is_some(), "an upgrade is of a held lock (lock 2)");
        let Some(queue) = &mut self.queue else {
            let (least, waiters) = (waiter.mode, VecDeque::from([waiter]));
            self.queue = Some(Box::new(Queue { waiters, least }));
            return;
        };
        queue.least = queue.least.intersection(waiter.mode);
        if upgrade {
            queue.waiters.push_front(waiter);
        } else {
            queue.waiters.push_back(waiter);
        }
        self.check();
    }

    fn check(&self) {
        debug_assert!(self.others.is_sorted_by(|a, b| a.txn < b.txn), "holders are ordered (lock queue 1)");
        let is_other = |holder: &Holder| holder.txn != self.first.txn;
        debug_assert!(self.others.iter().all(is_other), "a transaction holds a lock once");
        let count_writers = || self.holders().filter(|holder| holder.writes()).count();
        debug_assert_eq!(self.writer_count, count_writers(), "the holders that write are counted (lock queue 2)");
        let Some(queue) = &self.queue else { return };
        debug_assert!(!queue.waiters.is_empty(), "a queue has waiters, or there is none");
        let is_within = |waiter: &Waiter| waiter.mode.covers(queue.least);
        debug_assert!(queue.waiters.iter().all(is_within), "the least is within what each wants (lock queue 3)");
    }

    /// Somebody gives up; false when it was granted the lock already.
    pub(super) fn leave(&mut self, wait: u64, mixed_count: &AtomicU64) -> bool {
        let Some(place) = self.waiters().position(|waiter| waiter.wait == wait) else { return false };
        self.take_waiter(place);
        self.grant(mixed_count);
        true
    }

    fn take_waiter(&mut self, place: usize) -> Waiter {
        let queue = self.queue.as_mut().expect("who is taken out waits");
        let waiter = queue.waiters.remove(place).expect("it was looked at");
        if queue.waiters.is_empty() {
            self.queue = None;
        }
        waiter
    }

    /// A holder lets go, and those who can go on are woken. False when nobody holds the lock any more: it is to be
    /// forgotten.
    pub(super) fn release(&mut self, txn: TxnId, mixed_count: &AtomicU64) -> bool {
        if self.first.txn != txn {
            let at = self.others.binary_search_by_key(&txn, |holder| holder.txn);
            let gone = self.others.remove(at.expect("a transaction releases what it holds"));
            self.writer_count -= usize::from(gone.writes());
        } else {
            self.writer_count -= usize::from(self.first.writes());
            let next = self.waiters().next().map(|next| next.txn);
            if let Some(other) = self.others.pop() {
                self.first = other;
            } else if let Some(next) = next {
                self.first = Holder::new(next, LockMode::default());
            } else {
                return false;
            }
        }
        self.check();
        self.grant(mixed_count);
        true
    }

    /// A holder does less from now on, and those who can go on are woken.
    pub(super) fn narrow(&mut self, txn: TxnId, mode: LockMode, mixed_count: &AtomicU64) {
        let holder = self.holder_mut(txn).expect("a transaction has what it holds");
        debug_assert!(holder.mode.covers(mode), "what is narrowed was wider");
        let wrote = holder.writes();
        holder.mode = mode;
        self.writer_count -= usize::from(wrote && mode.writes.is_empty());
        self.check();
        self.grant(mixed_count);
    }

    /// Another transaction, which does not hold the lock, takes the place of a holder.
    pub(super) fn rename_holder(&mut self, from: TxnId, to: TxnId) {
        debug_assert!(self.held_by(to).is_none(), "a transaction holds a lock once");
        if self.first.txn == from {
            self.first.txn = to;
        } else {
            let at = self.others.binary_search_by_key(&from, |holder| holder.txn);
            let mut holder = self.others.remove(at.expect("a transaction has what it holds"));
            holder.txn = to;
            let at = self.others.partition_point(|holder| holder.txn < to);
            self.others.insert(at, holder);
        }
        self.check();
    }

    /// Lets those who follow have it beside a holder.
    pub(super) fn hand_on(&mut self, txn: TxnId, handed: Handed, mixed_count: &AtomicU64) {
        self.holder_mut(txn).expect("a transaction has what it holds").handed = Some(handed);
        self.grant(mixed_count);
    }

    /// Grants the lock to the waiters that fit beside the holders and those who came before them, and wakes them.
    fn grant(&mut self, mixed_count: &AtomicU64) {
        if active(Fault::FORGET_WAITER) {
            return;
        }
        let (mut at, mut ahead) = (0, LockMode::default());
        while let Some(queue) = &self.queue
            && let Some(next) = queue.waiters.get(at)
        {
            let (txn, mode, follows) = (next.txn, next.mode, next.follows);
            if !ahead.compatible(mode) || !self.admits(txn, mode, follows) {
                ahead = ahead.union(mode);
                if !ahead.compatible(queue.least) {
                    break;
                }
                at += 1;
                continue;
            }
            self.add(txn, mode, follows, mixed_count);
            self.take_waiter(at).sleeper.release();
        }
    }

    /// Whether one that waits here (in the wait of this number) does so for another.
    pub(super) fn waits_for(&self, wait: u64, other: TxnId) -> bool {
        let mut waiters = self.waiters().enumerate();
        let Some((place, waiter)) = waiters.find(|(_, waiter)| waiter.wait == wait) else { return false };
        let &Waiter { txn, mode, follows, .. } = waiter;
        let holds = |holder: &Holder| holder.txn == other && !holder.lets_in(txn, mode, follows);
        let is_ahead = |waiter: &Waiter| waiter.txn == other && !waiter.mode.compatible(mode);
        self.holders().any(holds) || self.waiters().take(place).any(is_ahead)
    }

    /// The number of a transaction's wait; none when it was granted the lock and has not woken up yet.
    pub(super) fn wait_of(&self, txn: TxnId) -> Option<u64> {
        self.waiters().find(|waiter| waiter.txn == txn).map(|waiter| waiter.wait)
    }

    /// Those that `txn` waits for here, those that these wait for here, and so on: one pass over the queue ahead of it
    /// and one over the holders. Each is told with somebody who waits for it. Nobody when `txn` does not wait here.
    pub(super) fn reach(&self, txn: TxnId, mut tell: impl FnMut(Reached)) {
        let Some(queue) = &self.queue else { return };
        let Some(place) = queue.waiters.iter().position(|waiter| waiter.txn == txn) else { return };
        // Those who wait here and were reached, from the back, and what they want together.
        let mut reached: Vec<&Waiter> = vec![&queue.waiters[place]];
        let mut wanted = queue.waiters[place].mode;
        for ahead in queue.waiters.iter().take(place).rev() {
            if wanted.compatible(ahead.mode) || active(Fault::OVERLOOK_QUEUE) {
                continue;
            }
            let behind = reached.iter().find(|behind| !ahead.mode.compatible(behind.mode));
            let from = behind.expect("one of them wants what the union wants").txn;
            tell(Reached { txn: ahead.txn, from, waits_here: true });
            wanted = wanted.union(ahead.mode);
            reached.push(ahead);
        }
        for holder in self.holders().filter(|holder| !holder.mode.compatible(wanted)) {
            let behind = reached.iter().find(|waiter| !holder.lets_in(waiter.txn, waiter.mode, waiter.follows));
            if let Some(behind) = behind {
                tell(Reached { txn: holder.txn, from: behind.txn, waits_here: false });
            }
        }
    }
}
