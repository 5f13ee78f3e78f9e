//! The frames of a table: nodes in memory, found by number, read when they are asked for, let go when memory is short.
//!
//! ```text
//!   frame(17)            there: its latch is taken      not there: an empty frame, and load(17) reads the page
//!   all tables have      48 of 48 MiB, 8 KiB more       the clock of this table goes on: 9 used, 12 held, 14 goes
//!                                                       none of this table can go: some of the others are asked
//! ```
//!
//! 1. A node that differs from its page stays: it is marked as changed under its latch, and who writes it holds its
//!    frame until the page is durable. So what is read from disk is what the node was when it went.
//! 2. Who wants a frame takes it under the lock of its shard, and a frame goes under it when nobody else has it.
//! 3. A table of an engine that follows has all nodes in memory: the file is another engine's.
//! 4. Changed nodes, and those that a job is writing, are charged to the memory of rows, and not here: however many
//!    there are, unchanged ones have their part of the cache. Else each read would let nodes go that the next wants.
//! 5. Who has read a page looks at `LOOKS` frames at most, and at some other tables, to make room for it. When none of
//!    them may go the tables have more than they may for a moment: all that is read until the hand has come around
//!    once, which is one page for each `LOOKS` frames that there are.
//! 6. A frame says what its node takes in memory, and says it anew when that has changed. What is kept, and what the
//!    memory of rows is charged with, are the sums of what frames say. A check asserts it.
//! 7. What was written comes back one by one, as used when somebody has asked for it since its image was made. Else a
//!    job's pages, which may be more than the cache has room for, would drive out what is read.
//!
//! Concurrency: a shard's lock is held for a look; a frame is filled under its own latch, so two who miss it read it
//! once. Latches of frames come before the lock of a shard, and that before the lock of the sums, where more than one
//! is held; a check holds all shards, in their order. Nobody takes one latch twice.
//!
//! Source: the clock with a bit of use. A leaf that a scan reads does not set it, and goes with the scan where memory
//! is short.

use std::borrow::Cow;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use weft_env::sync::{Mutex, RwLock};
use weft_format::{Error, RecordNo, Result};
use weft_kernel::account::{Account, Charge, Kept};
use weft_kernel::budget::RowBudget;
use weft_kernel::fault::active;
use weft_kernel::files::PagedFile;

use super::bytes::{DiskPage, FURTHER, node_of};
use super::faults;
use super::node::Node;

mod shard;

pub(super) use shard::{Frame, Page};
use shard::{Shard, is_idle};

const SHARDS: usize = 16;
/// Who makes room looks at so many frames of a table at most,
const LOOKS: usize = 256;
/// and at so many tables beside its own.
const OTHERS_MAX: usize = 4;
/// A page that is torn is read so often: another engine may be writing it.
const READS: u32 = 3;
/// Of four parts of the cache's budget all tables of pages may have so many.
const CACHE_PARTS: u64 = 3;
/// What a frame takes beside its node, about.
const FRAME_BYTES: usize = 128;

/// The pools of the tables of one method, of whatever engines.
#[derive(Default)]
pub(super) struct Pools {
    pools: Mutex<Vec<Weak<Pool>>>,
    next: AtomicUsize,
}

impl std::fmt::Debug for Pools {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pools").finish_non_exhaustive()
    }
}

impl Pools {
    fn add(&self, pool: &Arc<Pool>) {
        let mut pools = self.pools.lock();
        pools.retain(|pool| pool.strong_count() > 0);
        pools.push(Arc::downgrade(pool));
    }

    /// The next of all tables in turns, when it is another one of the same engine.
    fn next_other(&self, of: &Pool) -> Option<Arc<Pool>> {
        let pools = self.pools.lock();
        let at = self.next.fetch_add(1, Ordering::Relaxed) % pools.len().max(1);
        let next = pools.get(at)?.upgrade()?;
        let is_other = Arc::ptr_eq(&next.account, &of.account) && !std::ptr::eq(&raw const *next, of);
        is_other.then_some(next)
    }
}

/// Bytes of nodes in memory.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Sums {
    /// Of all of them,
    kept_bytes: u64,
    /// and of these, of those that the memory of rows is charged with.
    lent_bytes: u64,
}

/// See the module.
pub(super) struct Pool {
    pub(super) page_bytes: usize,
    shards: Vec<Mutex<Shard>>,
    file: RwLock<Option<Arc<PagedFile>>>,
    is_ours: bool,
    account: Arc<Account>,
    sums: Mutex<Sums>,
    charge: Charge,
    row_budget: Arc<RowBudget>,
    bytes_max: u64,
    pools: Arc<Pools>,
    next_shard: AtomicU64,
    /// Pages read, for people.
    pub(super) reads: AtomicU64,
    /// The highest record that a page had as it lay on disk.
    last_found: AtomicU64,
}

impl Pool {
    /// An empty pool over a file, if there is one yet. `cache_bytes` is the budget of the engine's cache.
    pub(super) fn new(
        pools: &Arc<Pools>,
        (account, row_budget): (&Arc<Account>, &Arc<RowBudget>),
        (page_bytes, cache_bytes): (usize, u64),
        file: Option<PagedFile>,
        is_ours: bool,
    ) -> Arc<Pool> {
        let pool = Arc::new(Pool {
            page_bytes,
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
            file: RwLock::new(file.map(Arc::new)),
            is_ours,
            account: account.clone(),
            sums: Mutex::default(),
            charge: account.charge(Kept::Pages, 0),
            row_budget: row_budget.clone(),
            bytes_max: cache_bytes * CACHE_PARTS / 4,
            pools: pools.clone(),
            next_shard: AtomicU64::new(0),
            reads: AtomicU64::new(0),
            last_found: AtomicU64::new(0),
        });
        pools.add(&pool);
        pool
    }

    /// The table's file.
    pub(super) fn file(&self) -> Option<Arc<PagedFile>> {
        self.file.read().clone()
    }

    /// The table has a file from now on.
    pub(super) fn set_file(&self, file: Arc<PagedFile>) {
        let before = self.file.write().replace(file);
        assert!(before.is_none(), "a table has one file of pages");
    }

    /// The highest record that a page had as it lay on disk.
    pub(super) fn last_found(&self) -> RecordNo {
        RecordNo(self.last_found.load(Ordering::Acquire))
    }

    /// Bytes of nodes in memory.
    pub(super) fn kept_bytes(&self) -> u64 {
        self.sums.lock().kept_bytes
    }

    /// Bytes of those that the memory of rows is charged with.
    pub(super) fn lent_bytes(&self) -> u64 {
        self.sums.lock().lent_bytes
    }

    /// Nodes in memory, for people.
    pub(super) fn kept_count(&self) -> u64 {
        self.shards.iter().map(|shard| shard.lock().len() as u64).sum()
    }

    fn shard(&self, number: u64) -> &Mutex<Shard> {
        &self.shards[number as usize % SHARDS]
    }

    /// The frame of a number; an empty one when there is none.
    pub(super) fn frame(&self, number: u64) -> Arc<Frame> {
        self.shard(number).lock().frame(number)
    }

    /// A frame that a new node lies in. One that has changed is charged to the memory of rows.
    pub(super) fn install(&self, page: Page, has_changed: bool) {
        let (number, bytes) = (page.node.number, bytes_of(&page.node));
        let frame = Arc::new(Frame::new(number, Some(page), has_changed));
        let mut shard = self.shard(number).lock();
        let before = shard.put(&frame);
        before.iter().for_each(|before| self.count(before, 0));
        self.count_as(&frame, bytes, has_changed);
    }

    /// Nobody uses the page any more; nobody looks for it.
    pub(super) fn forget(&self, number: u64) {
        let mut shard = self.shard(number).lock();
        let gone = shard.forget(number);
        gone.iter().for_each(|gone| self.count(gone, 0));
    }

    /// A node has changed: it takes so much from now on, and the memory of rows is charged with it. The caller has it
    /// latched alone.
    pub(super) fn changed(&self, frame: &Frame, node: &Node) {
        let bytes = bytes_of(node);
        if frame.is_lent() == self.is_ours && frame.bytes.load(Ordering::Relaxed) == bytes {
            return;
        }
        let mut shard = self.shard(frame.number).lock();
        assert!(shard.knows(frame), "a node that changes is the one of its number");
        if self.is_ours {
            shard.leave(frame);
        }
        self.count_as(frame, bytes, self.is_ours);
    }

    /// Its page is durable: it is the pool's again, unless it has changed meanwhile. Where memory is short it goes
    /// itself when nobody has asked for it since it was written (pool 7).
    pub(super) fn take_back(&self, frame: Arc<Frame>) {
        let latched = frame.latch.read();
        if frame.is_changed.load(Ordering::Acquire) {
            return;
        }
        let bytes = latched.as_ref().map_or(0, |page| bytes_of(&page.node));
        let has_room = self.account.bytes(Kept::Pages) + bytes <= self.bytes_max;
        let mut shard = self.shard(frame.number).lock();
        if !shard.knows(&frame) {
            return;
        }
        assert!(frame.is_lent(), "what is written was lent (pool 4)");
        if !has_room && !frame.is_used() && is_idle(&frame, 1) {
            shard.forget(frame.number);
            self.count(&frame, 0);
        } else {
            self.count(&frame, bytes);
            shard.enter(&frame);
        }
        drop(shard);
        drop(latched);
        drop(frame);
        self.make_room();
    }

    /// A frame is so long from now on, and charged to the pool.
    fn count(&self, frame: &Frame, bytes: u64) {
        self.count_as(frame, bytes, false);
    }

    /// The same, and charged to the pool or to the memory of rows. Called under the lock of its shard.
    fn count_as(&self, frame: &Frame, bytes: u64, is_lent: bool) {
        let mut sums = self.sums.lock();
        let before = frame.bytes.swap(bytes, Ordering::Relaxed);
        let lent_before = if frame.is_lent.swap(is_lent, Ordering::Relaxed) { before } else { 0 };
        let lent = if is_lent { bytes } else { 0 };
        assert!(sums.kept_bytes >= before && sums.lent_bytes >= lent_before, "a frame that goes was counted");
        sums.kept_bytes = sums.kept_bytes + bytes - before;
        sums.lent_bytes = sums.lent_bytes + lent - lent_before;
        if lent > lent_before {
            self.row_budget.charge(lent - lent_before);
        } else if lent < lent_before {
            self.row_budget.release(lent_before - lent);
        }
        let others = if active(faults::CHANGED_PAGES_FILL_CACHE) { 0 } else { sums.lent_bytes };
        self.charge.set(sums.kept_bytes - others);
    }

    /// Reads the page of an empty frame. Called without a latch.
    pub(super) fn load(&self, frame: &Arc<Frame>) -> Result<()> {
        self.load_telling(frame).map(drop)
    }

    /// The same; whether the page was not whole when it was read first.
    pub(super) fn load_telling(&self, frame: &Arc<Frame>) -> Result<bool> {
        let is_torn = self.load_without_room(frame)?;
        self.make_room();
        Ok(is_torn)
    }

    fn load_without_room(&self, frame: &Arc<Frame>) -> Result<bool> {
        if let Some(reads) = self.load_counting(frame)? {
            return Ok(reads > 1);
        }
        let number = frame.number;
        let file = self.file().map_or_else(String::new, |file| format!(" of file {}", file.number()));
        Err(Error::corrupt(format!("page {number}{file}, of a table of method row, is torn or damaged"))
            .hint("restore the database from a backup"))
    }

    /// The same; false when the page is torn, or was never written.
    pub(super) fn load_whole(&self, frame: &Arc<Frame>) -> Result<bool> {
        let reads = self.load_counting(frame)?;
        self.make_room();
        Ok(reads.is_some())
    }

    /// How often the page was read until it was whole; none: it never was.
    fn load_counting(&self, frame: &Arc<Frame>) -> Result<Option<u32>> {
        let mut latched = frame.latch.write();
        if latched.is_some() {
            return Ok(Some(0));
        }
        let Some(file) = self.file() else { return Ok(None) };
        let (mut page, mut reads) = (None, 0);
        while page.is_none() && reads < READS {
            page = read_node(&file, frame.number)?;
            reads += 1;
        }
        let Some(page) = page else { return Ok(None) };
        self.reads.fetch_add(1, Ordering::Relaxed);
        self.last_found.fetch_max(page.record.0, Ordering::AcqRel);
        let bytes = bytes_of(&page.node);
        *latched = Some(page);
        let shard = self.shard(frame.number).lock();
        if shard.knows(frame) {
            self.count(frame, bytes);
        }
        Ok(Some(reads))
    }

    /// As [`Pool::load`], without making room for it: who reads it by a scan gives it back.
    pub(super) fn load_to_scan(&self, frame: &Arc<Frame>) -> Result<()> {
        self.load_without_room(frame).map(drop)
    }

    /// A scan has looked at a node that it has read: where memory is short, that node goes, and none that others want.
    pub(super) fn scanned(&self, frame: Arc<Frame>) {
        let is_over = self.over_bytes() > 0;
        if is_over && self.is_ours && !active(faults::SCANS_FILL_CACHE) {
            let mut shard = self.shard(frame.number).lock();
            if shard.knows(&frame) && is_idle(&frame, 1) && !frame.is_used() {
                shard.forget(frame.number);
                self.count(&frame, 0);
            }
        }
        if is_over {
            drop(frame);
            self.make_room();
        }
    }

    /// By how much all tables have more than they may.
    fn over_bytes(&self) -> u64 {
        self.account.bytes(Kept::Pages).saturating_sub(self.bytes_max)
    }

    /// Lets nodes go until all tables have no more than they may, or enough was looked at (pool 5).
    pub(super) fn make_room(&self) {
        self.evict();
        for _ in 0..OTHERS_MAX {
            if self.over_bytes() == 0 {
                return;
            }
            self.pools.next_other(self).iter().for_each(|other| other.evict());
        }
    }

    /// The same of this table's nodes, a shard after the other, so that none loses what is used while others have what
    /// is not. How much is too much is asked anew for each: others make room at the same time.
    fn evict(&self) {
        if !self.is_ours || self.file.read().is_none() {
            return;
        }
        let (mut looks, mut in_vain) = (LOOKS, 0);
        while looks > 0 && in_vain < SHARDS && self.over_bytes() > 0 {
            let at = self.next_shard.fetch_add(1, Ordering::Relaxed) as usize % SHARDS;
            let mut shard = self.shards[at].lock();
            let gone = shard.evict(&mut looks);
            gone.iter().for_each(|gone| self.count(gone, 0));
            drop(shard);
            in_vain = if gone.is_some() { 0 } else { in_vain + 1 };
        }
    }

    /// Asserts that what is kept is the sum of what frames say.
    pub(super) fn assert_whole(&self) {
        let shards: Vec<_> = self.shards.iter().map(Mutex::lock).collect();
        let sums = self.sums.lock();
        let mut found = Sums::default();
        for frame in shards.iter().flat_map(|shard| shard.assert_whole()) {
            let (bytes, is_lent) = (frame.bytes.load(Ordering::Relaxed), frame.is_lent());
            let has_changed = frame.is_changed.load(Ordering::Acquire);
            assert!(is_lent || !has_changed, "a node that differs from its page is lent (pool 4)");
            found.kept_bytes += bytes;
            found.lent_bytes += if is_lent { bytes } else { 0 };
        }
        assert!(found == *sums, "what is kept is what the frames say (pool 6)");
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.row_budget.release(self.sums.get_mut().lent_bytes);
    }
}

fn bytes_of(node: &Node) -> u64 {
    (node.memory_bytes() + FRAME_BYTES) as u64
}

/// The node that begins on a page; none: a page of it is torn.
fn read_node(file: &PagedFile, number: u64) -> Result<Option<Page>> {
    let failed = |error| Error::io("reading a page of method row", &error);
    let bytes = file.read(number).map_err(failed)?;
    let Some(first) = DiskPage::read(&bytes, number) else { return Ok(None) };
    let (record, mut next) = (first.record, first.next);
    let (mut left, mut further) = (first.left - first.part.len(), Vec::new());
    let mut body = Cow::Borrowed(first.part);
    while left > 0 {
        let bytes = file.read(next).map_err(failed)?;
        let page = DiskPage::read(&bytes, next | FURTHER);
        let is_torn = |page: &DiskPage<'_>| page.record != record || page.left != left;
        let Some(page) = page.filter(|page| !is_torn(page)) else { return Ok(None) };
        body.to_mut().extend_from_slice(page.part);
        further.push(next);
        (next, left) = (page.next, left.saturating_sub(page.part.len().max(1)));
    }
    let node = node_of(&body)?;
    Ok((node.number == number).then_some(Page { node, record, further }))
}
