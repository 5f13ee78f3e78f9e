//! A row table: in-memory, ordered, multi-version rows of the commits of one range of timestamps.
//!
//! ```text
//!   row table 4, timestamps 11..=F
//!   index   (k1,@12)▶ slot 2   (k1,@11)▶ slot 0   (k2,@11)▶ slot 1       skip list, newest version of a key first
//!   chunks  64 slots, 128 slots, 256 slots, ...                          arrival order, for scans
//!   filter  one bit in each of three places per key                      most lookups of absent keys end here;
//!                                                                        made when there are some hundred versions
//! ```
//!
//! 1. F is fixed once, under the mark lock (DESIGN invariant 5). Versions later than F are never put in.
//! 2. Versions come in until F is published; afterwards only delete timestamps change: then the table is complete.
//! 3. Of the versions of a key at most one is alive, and it is the newest: it is found by its key and the greatest
//!    insert timestamp at or before the reader's.
//! 4. While a job carries over, every delete is either in the slots the job read or in its list.
//! 5. A version is put in once: a commit beyond the table's cut is applied once.
//! 6. Antimatter is a version that nobody sees, because it ends when it begins: it hides what column tables have of its
//!    key.
//!
//! Concurrency: one writer at a time (it holds the mark lock), readers without locks but for the list of chunks.
//! Crash: nothing here survives; redo fills a new row table from the log.
//!
//! Source: SynchroStore section 3.1; the delete timestamp beside the row replaces the paper's DList.

use std::ops::Bound;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use crossbeam_skiplist::SkipMap;
use crossbeam_skiplist::map::Entry;
use weft_contract::Direction;
use weft_env::sync::{Mutex, RwLock};
use weft_format::bloom::hash_bytes;
use weft_format::{KeyRange, Result, RowCodec, Schema, Timestamp};
use weft_kernel::budget::RowBudget;

use super::chunk::{CHUNK_ROWS_MAX, CHUNK_ROWS_MIN, Chunk};
use super::key_probe::KeyProbe;
use super::version_key::VersionKey;

/// What a version costs besides its row and key, bytes: skip list node, slot, allocation headers.
const VERSION_OVERHEAD_BYTES: u64 = 176;

/// A row table of so many versions has a filter; smaller ones earlier.
const FILTER_VERSIONS_MIN: u64 = 256;

/// What a row table says of a key.
pub(crate) enum Look {
    /// It has no version that the reader could see.
    Absent,
    /// The newest version that began before has ended; it began then.
    Ended(Timestamp),
    /// This version is seen.
    Alive(Place),
}

/// A version of a row table, from which a walk goes on.
pub(crate) type Version<'a> = Entry<'a, VersionKey, Place>;

/// Where a version lies.
#[derive(Clone)]
pub(crate) struct Place {
    pub(crate) chunk: Arc<Chunk>,
    pub(crate) slot: u32,
}

/// One row table.
pub(crate) struct RowTable {
    /// Counts the table's row tables.
    pub(crate) number: u64,
    /// The first timestamp that belongs here.
    pub(crate) from: Timestamp,
    /// F; MAX while active.
    to: AtomicU64,
    index: SkipMap<VersionKey, Place>,
    /// A Bloom filter of the keys; none while there are few.
    filter: OnceLock<Box<[AtomicU64]>>,
    filter_words: u64,
    chunks: RwLock<Vec<Arc<Chunk>>>,
    bytes: AtomicU64,
    cached_bytes: AtomicU64,
    row_count: AtomicU64,
    dead: AtomicU64,
    carry: Mutex<Option<Vec<(u32, Timestamp)>>>,
    column_count: usize,
    budget: Arc<RowBudget>,
}

impl RowTable {
    /// An empty active row table for timestamps from `from` on, expected to reach about `bytes`.
    pub(crate) fn new(
        number: u64,
        from: Timestamp,
        bytes: u64,
        column_count: usize,
        budget: Arc<RowBudget>,
    ) -> RowTable {
        let filter_words = (bytes / 512).clamp(16, 1 << 16).next_power_of_two();
        RowTable {
            number,
            from,
            to: AtomicU64::new(Timestamp::MAX.0),
            index: SkipMap::new(),
            filter: OnceLock::new(),
            filter_words,
            chunks: RwLock::new(Vec::new()),
            bytes: AtomicU64::new(0),
            cached_bytes: AtomicU64::new(0),
            row_count: AtomicU64::new(0),
            dead: AtomicU64::new(0),
            carry: Mutex::new(None),
            column_count,
            budget,
        }
    }

    /// F, once it is fixed.
    pub(crate) fn frozen_at(&self) -> Option<Timestamp> {
        let to = self.to.load(Ordering::Acquire);
        (to != Timestamp::MAX.0).then_some(Timestamp(to))
    }

    /// Fixes F; under the mark lock.
    pub(crate) fn freeze(&self, to: Timestamp) {
        assert!(to >= self.from && to < Timestamp::MAX, "F is a timestamp of the row table's own (row table 1)");
        let before = self.to.swap(to.0, Ordering::AcqRel);
        assert_eq!(before, Timestamp::MAX.0, "a row table is frozen once (row table 1)");
    }

    /// Bytes charged to the row budget.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Versions, dead or alive.
    pub(crate) fn row_count(&self) -> u64 {
        self.row_count.load(Ordering::Acquire)
    }

    /// Versions that have ended.
    pub(crate) fn dead_count(&self) -> u64 {
        self.dead.load(Ordering::Relaxed)
    }

    /// The chunks now, oldest first.
    pub(crate) fn chunks(&self) -> Vec<Arc<Chunk>> {
        self.chunks.read().clone()
    }

    /// For versions one after the other; the caller holds the mark lock as long.
    pub(crate) fn filling(&self) -> Filling<'_> {
        Filling { table: self, chunk: None, bytes: 0, rows: 0 }
    }

    fn chunk_with_room(&self) -> Arc<Chunk> {
        let last = self.chunks.read().last().cloned();
        if let Some(chunk) = &last
            && !chunk.is_full()
        {
            return chunk.clone();
        }
        let (first, capacity) = match &last {
            Some(chunk) => (chunk.first + chunk.len() as u32, (chunk.len() * 2).min(CHUNK_ROWS_MAX)),
            None => (0, CHUNK_ROWS_MIN),
        };
        let chunk = Arc::new(Chunk::new(first, capacity, self.column_count));
        self.chunks.write().push(chunk.clone());
        chunk
    }

    fn filter_bits(&self, hash: u64) -> [(usize, u64); 3] {
        let mask = self.filter_words - 1;
        let word = |shift: u32| ((hash >> shift & mask) as usize, 1u64 << (hash.rotate_left(shift + 7) & 63));
        [word(0), word(17), word(34)]
    }

    fn may_contain(&self, hash: u64) -> bool {
        let Some(filter) = self.filter.get() else { return true };
        self.filter_bits(hash).iter().all(|&(word, bit)| filter[word].load(Ordering::Acquire) & bit != 0)
    }

    /// Puts a key into the filter, before the version; the caller holds the mark lock, so there is one writer.
    fn note_key(&self, filter: &[AtomicU64], key: &[u8]) {
        for (word, bit) in self.filter_bits(hash_bytes(key)) {
            let word = &filter[word];
            word.store(word.load(Ordering::Relaxed) | bit, Ordering::Release);
        }
    }

    /// The filter, made of all keys that are there once they are enough: a few are found as fast without. The caller
    /// holds the mark lock and counts the versions.
    fn filter_for(&self, version_count: u64) -> Option<&[AtomicU64]> {
        if self.filter.get().is_none() && version_count >= (self.filter_words / 16).clamp(8, FILTER_VERSIONS_MIN) {
            let filter: Box<[AtomicU64]> = (0..self.filter_words).map(|_| AtomicU64::new(0)).collect();
            self.index.iter().for_each(|entry| self.note_key(&filter, entry.key().key()));
            self.charge_cached(self.filter_words * 8);
            self.filter.set(filter).expect("it is made under the mark lock");
        }
        self.filter.get().map(|filter| &**filter)
    }

    /// The version of `key` that a reader at `read_ts` sees ([`Timestamp::MAX`]: the version that is alive).
    pub(crate) fn find(&self, probe: &KeyProbe<'_>, read_ts: Timestamp) -> Option<Place> {
        match self.look(probe, read_ts) {
            Look::Alive(place) => Some(place),
            Look::Absent | Look::Ended(_) => None,
        }
    }

    /// What a reader at `read_ts` finds here.
    pub(crate) fn look(&self, probe: &KeyProbe<'_>, read_ts: Timestamp) -> Look {
        let Some(place) = self.newest(probe, read_ts) else { return Look::Absent };
        // Row table 3: an older version of the key ended before this one began.
        let deleted = place.chunk.delete_ts(place.slot);
        if deleted > read_ts || deleted == Timestamp::MAX {
            Look::Alive(place)
        } else {
            Look::Ended(place.chunk.insert_ts(place.slot))
        }
    }

    /// The newest version of a key that began at or before `ts`.
    pub(crate) fn newest(&self, probe: &KeyProbe<'_>, ts: Timestamp) -> Option<Place> {
        if !self.may_contain(probe.hash) {
            return None;
        }
        let entry = self.index.lower_bound(Bound::Included(&VersionKey::new(probe.key, ts)))?;
        (entry.key().key() == probe.key).then(|| entry.value().clone())
    }

    /// Ends a version; the caller holds the mark lock.
    pub(crate) fn end(&self, place: &Place, ts: Timestamp) {
        if place.chunk.end(place.slot, ts) {
            self.dead.fetch_add(1, Ordering::Relaxed);
            if let Some(carry) = self.carry.lock().as_mut() {
                carry.push((place.chunk.first + place.slot, ts));
            }
        }
    }

    /// From here on deletes are listed for the job (row table 4); the caller holds the mark lock.
    pub(crate) fn begin_carry(&self) {
        assert!(self.frozen_at().is_some(), "a row table is converted when no version comes in any more (convert 1)");
        let before = self.carry.lock().replace(Vec::new());
        assert!(before.is_none(), "one conversion at a time reads a row table (row table 4)");
    }

    /// The deletes since [`RowTable::begin_carry`] or the last call: ordinal of the slot and timestamp.
    pub(crate) fn drain_carry(&self) -> Vec<(u32, Timestamp)> {
        self.carry.lock().as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Ends the list of deletes.
    pub(crate) fn end_carry(&self) {
        *self.carry.lock() = None;
    }

    /// Slots that may be in use: one more than the greatest ordinal.
    pub(crate) fn slot_count(&self) -> usize {
        self.chunks.read().last().map_or(0, |chunk| chunk.first as usize + chunk.len())
    }

    /// The greatest key of any version.
    pub(crate) fn greatest_key(&self) -> Option<Vec<u8>> {
        self.index.back().map(|entry| entry.key().key().to_vec())
    }

    /// The lowest key.
    pub(crate) fn lowest_key(&self) -> Option<Vec<u8>> {
        self.index.front().map(|entry| entry.key().key().to_vec())
    }

    /// The keys and places of all versions, by key, newest version first.
    pub(crate) fn versions(&self) -> impl Iterator<Item = (Vec<u8>, Place)> {
        self.index.iter().map(|entry| (entry.key().key().to_vec(), entry.value().clone()))
    }

    /// The version that a walk over a range of keys begins with; it may lie outside of it.
    pub(crate) fn first_of(&self, range: &KeyRange, direction: Direction) -> Option<Version<'_>> {
        let bound = |key: &[u8]| VersionKey::new(key, Timestamp::MAX);
        match (direction, &range.to) {
            (Direction::Forward, _) => self.index.lower_bound(Bound::Included(&bound(&range.from))),
            (Direction::Backward, Some(to)) => self.index.upper_bound(Bound::Excluded(&bound(to))),
            (Direction::Backward, None) => self.index.back(),
        }
    }

    /// Calls `visit` with every version in order: by key, newest version first.
    pub(crate) fn for_each(&self, mut visit: impl FnMut(&[u8], &Place)) {
        for entry in self.index.iter() {
            visit(entry.key().key(), entry.value());
        }
    }

    /// Encodes the rows that came in since the last call; the caller holds the mark lock.
    pub(crate) fn encode(&self, schema: &Schema, codec: &RowCodec) -> Result<()> {
        // Only the last chunk grows, and full ones are encoded whole.
        let is_whole = |chunk: &Arc<Chunk>| chunk.runs.get().last().is_some_and(|run| run.len == chunk.capacity());
        let chunks = self.chunks();
        for chunk in chunks.iter().rev().take_while(|chunk| !is_whole(chunk)) {
            let (taken, freed) = chunk.encode_runs(schema, codec)?;
            self.charge_cached(taken);
            let before = self.cached_bytes.fetch_sub(freed, Ordering::Relaxed);
            assert!(before >= freed, "the bytes of runs that go were charged when they came");
            self.budget.release(freed);
        }
        Ok(())
    }

    /// Charges the budget for what a scan keeps here beside the rows.
    pub(crate) fn charge_cached(&self, bytes: u64) {
        self.cached_bytes.fetch_add(bytes, Ordering::Relaxed);
        self.budget.charge(bytes);
    }
}

/// Puts versions into a row table; counts and charges them at its end.
pub(crate) struct Filling<'a> {
    table: &'a RowTable,
    /// The one that has room, or had.
    chunk: Option<Arc<Chunk>>,
    bytes: u64,
    rows: u64,
}

impl Filling<'_> {
    /// Puts a version in that is not there yet.
    pub(crate) fn insert(&mut self, key: &[u8], ts: Timestamp, row: Arc<[u8]>) {
        self.push(key, ts, row);
    }

    /// Puts a version in that has ended by now, or not (MAX).
    pub(crate) fn insert_ended(&mut self, key: &[u8], ts: Timestamp, row: Arc<[u8]>, ended: Timestamp) {
        let place = self.push(key, ts, row);
        if ended != Timestamp::MAX {
            self.table.end(&place, ended);
        }
    }

    /// Puts a version in that ends when it begins: from `ts` on nothing older of the key counts (row table 6). `row`
    /// has the key.
    pub(crate) fn insert_antimatter(&mut self, key: &[u8], ts: Timestamp, row: Arc<[u8]>) {
        let place = self.push(key, ts, row);
        self.table.end(&place, ts);
    }

    /// Charges memory that lasts as long as the row table.
    pub(crate) fn charge(&mut self, bytes: u64) {
        self.bytes += bytes;
    }

    fn push(&mut self, key: &[u8], ts: Timestamp, row: Arc<[u8]>) -> Place {
        let table = self.table;
        assert!(
            ts >= table.from && ts.0 <= table.to.load(Ordering::Acquire),
            "a version goes into the row table of its timestamp (row table 1)"
        );
        self.bytes += row.len() as u64 + key.len() as u64 + VERSION_OVERHEAD_BYTES;
        self.rows += 1;
        let chunk = match self.chunk.take().filter(|chunk| !chunk.is_full()) {
            Some(chunk) => chunk,
            None => table.chunk_with_room(),
        };
        let slot = chunk.push(ts, row);
        if let Some(filter) = table.filter_for(table.row_count() + self.rows) {
            table.note_key(filter, key);
        }
        let place = Place { chunk: chunk.clone(), slot };
        let entry = table.index.compare_insert(VersionKey::new(key, ts), place.clone(), |_| false);
        let Place { chunk: found, slot: at } = entry.value();
        assert!(*at == slot && Arc::ptr_eq(found, &chunk), "a version is put in once (row table 5)");
        self.chunk = Some(chunk);
        place
    }
}

impl Drop for Filling<'_> {
    fn drop(&mut self) {
        if self.rows > 0 {
            self.table.bytes.fetch_add(self.bytes, Ordering::Relaxed);
            self.table.row_count.fetch_add(self.rows, Ordering::Release);
            self.table.budget.charge(self.bytes);
        }
    }
}

impl Drop for RowTable {
    fn drop(&mut self) {
        self.budget.release(self.bytes() + self.cached_bytes.load(Ordering::Relaxed));
    }
}
