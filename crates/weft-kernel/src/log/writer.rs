//! Group commit: many committers, one block, one fdatasync.
//!
//! ```text
//!   T1 append ─ wait: idle → T1 writes batch 1 ······ fdatasync ─▶ T1 returns
//!   T2      append ─ wait ········· (batch 2 fills) ·············▶ T2 writes batch 2 (T2, T3) ··· ─▶ both return
//!   T3           append ─ wait ··································································· ▶
//! ```
//!
//! Committers append to the filling batch. Who waits and finds nobody writing becomes the writer of the whole batch;
//! the rest sleep. So a lone committer waits for no threshold and no other thread, and under load the batch grows by
//! itself.
//!
//! 1. Batches are written one after the other, each durable before the next is written; so log order is append order.
//! 2. A waiter is told "durable" only after the fdatasync of its batch succeeded.
//! 3. When a block cannot be written (full disk), the records somebody waits for are dropped and their waiters told;
//!    the others (chunks, asynchronous commits, whose effects are visible already) stay at the front of the next batch.
//! 4. After a failed fsync every call fails, for as long as the object lives.
//! 5. A commit that builds on others is not written without them: it fails when one of them was dropped (fate).
//! 6. A panic of the writing thread is like a failed fsync: what is on disk is unknown, and everybody is told.
//! 7. Who must not wait appends without asking for room; who may wait asks first, without holding what others need. So
//!    the batch exceeds its bound by at most one record of each committer.
//! 8. The log is cut only when it names every durable edit of the manifest (tail 5).
//! 9. A record has its number from the moment it is appended, so that a page can carry that of its last change; the
//!    page is written only after [`Log::flush_to`] that number: the log goes before the page.
//! 10. Each block is announced when it is durable and before anybody is told so: what was acknowledged was announced.
//!
//! Concurrency: `state` is held for memory work only; `tail` is held by the writing thread during I/O, and taken before
//! `state` by nobody. Two conditions by parity of the batch number, so that the end of one batch wakes its own waiters
//! and one thread of the next batch, its writer.
//!
//! Crash: what was acknowledged is in synced blocks. A block that was being written is there whole or is cut off.
//!
//! Source: SG-ColBase sections 3 and 7.3 to 7.5 (log before memory, atomic append, two caches that swap). Changed:
//! atomicity by checksum instead of a length field that costs a second write; the writer is a committer instead of a
//! thread; a swap happens whenever the disk is idle instead of when a cache is full.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use weft_env::sync::{Condvar, Mutex, MutexGuard};
use weft_env::{Env, OpenMode};
use weft_format::{Code, Error, Lsn, RecordNo, Result};

use super::batch::{Batch, Waited};
use super::durable::{Announce, Durable};
use super::fate::{Fate, check_behind};
use super::gather::Gather;
use super::layout::{SegmentName, temporary_segment};
use super::reader::{FOLLOWED_DIR, left_aside};
use super::record::Record;
use super::segments::{LogKeeper, NeededFrom, Segment};
use super::spares::{Spare, Spares};
use super::tail::{Failure, Tail};
use super::{LogEnd, LogOptions};
use crate::fault::{self, Fault};
use crate::step::{Step, reached};
use crate::term::Term;

/// An appended commit that somebody will wait for.
#[derive(Debug)]
#[must_use = "a commit is durable only after wait_durable"]
pub struct Ticket {
    batch: u64,
    number: RecordNo,
    fate: Arc<Fate>,
}

impl Ticket {
    /// The number of its record.
    pub fn number(&self) -> RecordNo {
        self.number
    }

    /// What those must know that build on the commit before it is durable.
    pub(crate) fn fate(&self) -> &Arc<Fate> {
        &self.fate
    }
}

/// What the log did since it was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogCounters {
    /// Blocks made durable, one fdatasync each.
    pub blocks: u64,
    /// Commit records in them.
    pub commits: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Blocks that could not be written.
    pub failures: u64,
    /// The time that writing and syncing them took, nanoseconds.
    pub write_nanos: u64,
    /// How many took at most 1, 2, 4, ... microseconds; the last one takes all that were slower.
    pub write_times: [u64; WRITE_TIMES],
}

/// How many classes of [`LogCounters::write_times`] there are.
pub const WRITE_TIMES: usize = 24;

impl LogCounters {
    fn note_write(&mut self, nanos: u64) {
        self.write_nanos += nanos;
        let micros = nanos.div_ceil(1000).max(1);
        let class = micros.next_power_of_two().trailing_zeros() as usize;
        self.write_times[class.min(WRITE_TIMES - 1)] += 1;
    }
}

struct State {
    /// The number given last.
    last_number: RecordNo,
    filling: Batch,
    spare: Option<Batch>,
    writing: bool,
    /// Waiters of the batch being written.
    writing_waiters: u32,
    gather: Gather,
    /// Batches up to this number have ended, well or not.
    done: u64,
    /// Batches that could not be written and their waiters that do not know yet.
    failed: BTreeMap<u64, (Error, u32)>,
    /// The first batch whose fate is unknown, and why.
    poisoned: Option<(u64, Error)>,
    counters: LogCounters,
}

/// The log of an open database. Shared by all threads.
pub struct Log {
    env: Env,
    dir: std::path::PathBuf,
    state: Mutex<State>,
    wake: [Condvar; 2],
    /// Tells the writer that as many committers are there as it hoped for.
    gathered: Condvar,
    tail: Mutex<Tail>,
    spares: Arc<Spares>,
    /// Held by who removes segments: two at a time could leave a gap at a crash. How many keep every segment.
    truncating: Mutex<usize>,
    durable: AtomicU64,
    first: AtomicU64,
    announce: OnceLock<Announce>,
    batch_bytes_max: usize,
}

impl Log {
    /// Opens the log for writing behind what recovery read. Segments of the past stay as they are; writing starts in a
    /// new one. On a full disk that is put off to the first write.
    pub fn create_or_continue(env: &Env, dir: &Path, options: LogOptions, end: LogEnd) -> Result<Log> {
        let edits = Arc::new(AtomicU64::new(end.manifest_edits));
        Log::beside(env, dir, options, (end, None), edits)
    }

    /// The same beside a manifest, which counts its durable edits for the log to name, for as long as the directory is
    /// this writer's.
    pub(crate) fn beside(
        env: &Env,
        dir: &Path,
        options: LogOptions,
        (end, term): (LogEnd, Option<Arc<Term>>),
        edits: Arc<AtomicU64>,
    ) -> Result<Log> {
        let still_ours = || term.as_ref().map_or(Ok(()), |term| term.check());
        remove_temporary(env, dir, term.as_ref().map_or(u32::MAX, |term| term.number()), still_ours)?;
        still_ours()?;
        settle(env, dir, &end)?;
        let (aside, strays) = left_aside(env, dir)?;
        for name in strays {
            still_ours()?;
            // One that cannot be removed now is found by the next opening.
            let _ = env.fs.remove(&dir.join(FOLLOWED_DIR).join(name.to_string()));
        }
        let mut tail = Tail::new(env, dir.to_owned(), options, (end, term), edits);
        begin_or_put_off(&mut tail)?;
        tail.segments().found_aside(aside);
        Ok(Log::of_tail(env, dir, options, tail, None))
    }

    /// Begins the log of this opening, where that was put off and there is space by now. Where it `must` begin, as the
    /// writer before may live and what it writes late would count until then, it fails for want of space.
    pub(crate) fn begin_if_put_off(&self, must: bool) -> Result<()> {
        let mut tail = self.tail.lock();
        match (tail.is_put_off(), must) {
            (false, _) => Ok(()),
            (true, false) => begin_or_put_off(&mut tail),
            (true, true) => {
                tail.begin_segment().map_err(Failure::error)?;
                assert!(!tail.is_put_off(), "a log that must begin has begun (open 3)");
                Ok(())
            }
        }
    }

    /// The log of an engine that writes none: whoever would append is told `error`.
    pub(crate) fn refusing(env: &Env, dir: &Path, options: LogOptions, error: Error) -> Log {
        let tail = Tail::new(env, dir.to_owned(), options, Default::default(), Arc::default());
        Log::of_tail(env, dir, options, tail, Some((0, error)))
    }

    fn of_tail(env: &Env, dir: &Path, options: LogOptions, mut tail: Tail, poisoned: Option<(u64, Error)>) -> Log {
        let next = tail.next_lsn();
        let first = tail.segments().first().unwrap_or(next);
        let state = State {
            last_number: tail.last_number(),
            filling: Batch::new(1),
            spare: Some(Batch::new(0)),
            writing: false,
            writing_waiters: 0,
            gather: Gather::default(),
            done: 0,
            failed: BTreeMap::new(),
            poisoned,
            counters: LogCounters::default(),
        };
        Log {
            env: env.clone(),
            dir: dir.to_owned(),
            state: Mutex::new(state),
            wake: [Condvar::new(), Condvar::new()],
            gathered: Condvar::new(),
            spares: tail.spares().clone(),
            tail: Mutex::new(tail),
            truncating: Mutex::new(0),
            durable: AtomicU64::new(next.0),
            first: AtomicU64::new(first.0),
            announce: OnceLock::new(),
            batch_bytes_max: options.batch_bytes_max,
        }
    }

    /// Appends a record that nobody waits for: a chunk, an abort, an asynchronous commit. It is durable after the next
    /// successful flush or wait, and survives failures in between (invariant 3). An error means it was not appended.
    /// Never waits (invariant 7).
    pub fn append(&self, record: &Record<'_>) -> Result<RecordNo> {
        self.push(record, None).map(|(number, _)| number)
    }

    /// Appends a commit whose committer will call [`Log::wait_durable`] and takes the transaction back when that fails.
    /// An error means it was not appended. Calls in commit order: the caller holds its sequencing latch.
    pub fn append_waited(&self, record: &Record<'_>) -> Result<Ticket> {
        self.append_behind(record, &[])
    }

    /// As [`Log::append_waited`] a commit that builds on others, which may not be durable yet: it fails when one of
    /// them does, with [`Code::SerializationFailure`].
    pub(crate) fn append_behind(&self, record: &Record<'_>, behind: &[Arc<Fate>]) -> Result<Ticket> {
        let fate = Arc::<Fate>::default();
        let (number, batch) = self.push(record, Some(Waited { fate: fate.clone(), behind: behind.into() }))?;
        Ok(Ticket { batch, number, fate })
    }

    /// Waits until the batch that fills is below its bound, writing it if need be. An error, of a full disk: it is not
    /// (invariant 7).
    pub(crate) fn wait_for_room(&self) -> Result<()> {
        loop {
            let mut state = self.state.lock();
            state.check_poison()?;
            if state.filling.payload_bytes() < self.batch_bytes_max {
                return Ok(());
            }
            let batch = state.filling.number;
            state.filling.waiters += 1;
            self.wait_batch(state, batch)?;
        }
    }

    /// Gives the record its number and puts it into the batch that fills; the number of that one, too.
    fn push(&self, record: &Record<'_>, waited: Option<Waited>) -> Result<(RecordNo, u64)> {
        record.check_size()?;
        let mut state = self.state.lock();
        state.check_poison()?;
        // Under the mutex under which the fates of failed batches are decided.
        waited.as_ref().map_or(Ok(()), |waited| check_behind(&waited.behind))?;
        let is_waited = waited.is_some();
        let number = state.last_number.next();
        if !fault::active(Fault::GIVE_NUMBER_TWICE) {
            state.last_number = number;
        }
        state.filling.push(number, record, waited);
        if is_waited {
            state.filling.waiters += 1;
            if state.gather.is_complete(state.filling.waiters) {
                self.gathered.notify_one();
            }
        }
        Ok((number, state.filling.number))
    }

    /// Returns when the commit is on disk. An error: it is not and will not be (its record was dropped), or the log is
    /// poisoned and nobody knows.
    pub fn wait_durable(&self, ticket: Ticket) -> Result<Lsn> {
        let mut state = self.state.lock();
        if fault::active(Fault::ACK_BEFORE_DURABLE) {
            state.filling.waiters = state.filling.waiters.saturating_sub(1);
            return Ok(self.durable_lsn());
        }
        let durable = self.wait_batch(state, ticket.batch)?;
        // It may have been taken out of a batch that was written (invariant 5).
        ticket.fate.error().map_or(Ok(durable), |error| Err(error.clone()))
    }

    /// Returns when everything appended before the call is on disk.
    pub fn flush(&self) -> Result<()> {
        self.flush_when(|filling| !filling.is_empty())
    }

    /// Returns when the records of transactions that were appended before the call are on disk. What tells of edits of
    /// the manifest may wait for the next block.
    pub(crate) fn flush_transactions(&self) -> Result<()> {
        self.flush_when(Batch::has_transactions)
    }

    fn flush_when(&self, test: impl FnOnce(&Batch) -> bool) -> Result<()> {
        let mut state = self.state.lock();
        state.check_poison()?;
        let batch = if test(&state.filling) {
            state.filling.waiters += 1;
            state.filling.number
        } else if state.writing {
            state.writing_waiters += 1;
            state.filling.number - 1
        } else {
            return Ok(());
        };
        self.wait_batch(state, batch).map(|_| ())
    }

    /// Returns when the record of that number and all before it are on disk, but for commits that failed: what comes
    /// before a page is written whose last change it is (invariant 9).
    pub fn flush_to(&self, number: RecordNo) -> Result<()> {
        let state = self.state.lock();
        state.check_poison()?;
        assert!(number <= state.last_number, "record {number} was not appended yet");
        let is_older = state.filling.numbers().next().is_none_or(|first| number < first);
        if fault::active(Fault::PAGE_BEFORE_LOG) || (is_older && !state.writing) {
            return Ok(());
        }
        drop(state);
        self.flush()
    }

    /// Flushes and writes an empty block, which tells later readers that everything before it is durable: damage in the
    /// last block of a closed database is then reported, not taken for a torn tail.
    pub fn seal(&self) -> Result<()> {
        // The records first: only a block behind theirs can say that they are durable.
        self.flush()?;
        let tail = self.tail.lock();
        if tail.is_at_segment_start() && tail.names_edits() {
            return Ok(());
        }
        drop(tail);
        self.write_empty_block()
    }

    /// Makes the log name every durable edit of the manifest; no block is written when it does (tail 5).
    pub(crate) fn name_edits(&self) -> Result<()> {
        if self.tail.lock().names_edits() {
            return Ok(());
        }
        self.write_empty_block()
    }

    /// Writes what is appended; a block without records when there is nothing.
    fn write_empty_block(&self) -> Result<()> {
        let mut state = self.state.lock();
        state.check_poison()?;
        state.filling.seal = true;
        state.filling.waiters += 1;
        let batch = state.filling.number;
        self.wait_batch(state, batch).map(|_| ())
    }

    fn wait_batch<'a>(&'a self, mut state: MutexGuard<'a, State>, number: u64) -> Result<Lsn> {
        assert!(number <= state.filling.number, "a batch that is waited for has begun to fill");
        loop {
            if state.done >= number {
                return state.outcome(number).map(|()| self.durable_lsn());
            }
            if state.writing {
                self.wake[number as usize % 2].wait(&mut state);
            } else {
                state = self.write_filling(state);
            }
        }
    }

    /// Writes the filling batch; the caller is the only writer.
    fn write_filling<'a>(&'a self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        assert!(!state.writing, "batches are written one after the other (invariant 1)");
        // Before `state`, so that an unwinding thread lets go of the mutex first.
        let writing = Writing { log: self, batch: state.filling.number };
        let mut state = state;
        state.writing = true;
        self.wait_for_committers(&mut state);
        let mut next = state.spare.take().unwrap_or_else(|| Batch::new(0));
        next.reset(state.filling.number + 1, self.batch_bytes_max / 2);
        let mut batch = std::mem::replace(&mut state.filling, next);
        state.writing_waiters = batch.waiters;
        drop(state);

        let payload_bytes = batch.payload_bytes();
        let begin = self.env.clock.monotonic_nanos();
        let mut tail = self.tail.lock();
        let result = tail.write(&mut batch);
        assert!(tail.next_lsn() >= self.durable_lsn(), "what is durable stays durable (log 1)");
        if let (Ok(()), Some(announce)) = (&result, self.announce.get()) {
            announce(tail.durable());
        }
        self.durable.store(tail.next_lsn().0, Ordering::Release);
        drop(tail);
        let elapsed = self.env.clock.monotonic_nanos().saturating_sub(begin);

        let mut state = self.state.lock();
        assert!(state.writing, "nobody else ends the batch that this thread writes (invariant 1)");
        assert!(state.filling.number == batch.number + 1, "records go into the batch behind the one being written");
        let present = state.writing_waiters + state.filling.waiters;
        state.gather.learn(present, elapsed);
        state.writing = false;
        if state.poisoned.is_none() {
            assert!(state.done + 1 == batch.number, "batches end in their order (invariant 1)");
            state.done = batch.number;
        }
        match result {
            Ok(()) => {
                state.counters.blocks += 1;
                state.counters.note_write(elapsed);
                state.counters.commits += batch.commits();
                state.counters.bytes += batch.bytes.len() as u64;
            }
            Err(Failure::Clean(error)) => {
                state.counters.failures += 1;
                let waiters = state.writing_waiters;
                state.filling.take_over(&batch, payload_bytes, &error);
                if waiters > 0 {
                    state.failed.insert(batch.number, (error, waiters));
                }
            }
            Err(Failure::Fatal(error)) => {
                state.counters.failures += 1;
                state.poison(batch.number, &failed_sync(&error));
                self.wake[(batch.number + 1) as usize % 2].notify_all();
            }
            Err(Failure::Fenced(error)) => {
                state.counters.failures += 1;
                state.poison_with(batch.number, error);
                self.wake[(batch.number + 1) as usize % 2].notify_all();
            }
        }
        self.wake[batch.number as usize % 2].notify_all();
        self.wake[(batch.number + 1) as usize % 2].notify_one();
        state.spare = Some(batch);
        std::mem::forget(writing);
        state
    }

    /// Waits a moment for committers that were here a moment ago and are likely to come back: one sync for four commits
    /// beats two syncs for two each. Never for a lone committer.
    fn wait_for_committers(&self, state: &mut MutexGuard<'_, State>) {
        let waiters = state.filling.waiters;
        let Some(patience_ns) = state.gather.begin(waiters) else { return };
        let deadline = self.env.clock.monotonic_nanos() + patience_ns;
        while !state.gather.is_complete(state.filling.waiters) {
            let left = deadline.saturating_sub(self.env.clock.monotonic_nanos());
            if left == 0 || self.gathered.wait_timeout(state, Duration::from_nanos(left)) {
                break;
            }
        }
        let waiters = state.filling.waiters;
        state.gather.end(waiters);
    }

    /// Whether [`Log::truncate_before`] would remove anything now.
    pub fn can_truncate(&self, from: NeededFrom) -> bool {
        *self.truncating.lock() == 0 && self.tail.lock().segments().unneeded(from).is_some()
    }

    /// Removes segments in which nothing is needed: every commit in them is at or before the cut, so is the commit of
    /// every transaction with a chunk in them, and changes of pages have lower numbers. Returns how many went.
    pub fn truncate_before(&self, from: NeededFrom) -> Result<usize> {
        let keepers = self.truncating.lock();
        let mut removed = 0;
        if *keepers > 0 {
            return Ok(0);
        }
        loop {
            self.state.lock().check_poison()?;
            if self.tail.lock().segments().unneeded(from).is_none() {
                break;
            }
            if !fault::active(Fault::CUT_LOG_UNNAMED) {
                self.name_edits()?;
            }
            let Some(segment) = self.tail.lock().segments().pop_before(from) else { break };
            let (spare, is_aside) = match self.put_away(segment) {
                Ok(put) => put,
                // An earlier try that failed had its effect all the same.
                Err(error) if error.kind() == ErrorKind::NotFound => (None, false),
                Err(error) => {
                    // It stays the oldest: were its successor removed before it, the log would have a gap.
                    self.tail.lock().segments().put_back(segment);
                    let path = self.dir.join(segment.name.to_string());
                    return Err(Error::io(format!("removing log segment {}", path.display()), &error));
                }
            };
            let spare = if fault::active(Fault::RECYCLE_UNSYNCED) {
                spare.into_iter().for_each(|spare| self.spares.keep(spare));
                None
            } else {
                spare
            };
            // One by one: were two removals pending at a crash, the older file could outlive the younger and leave a
            // gap.
            if !fault::active(Fault::SKIP_DIR_SYNC)
                && let Err(error) = self.sync_names(is_aside)
            {
                let error = Error::io(format!("syncing directory {}", self.dir.display()), &error);
                let mut state = self.state.lock();
                let next = state.filling.number;
                state.poison(next, &failed_sync(&error));
                self.wake.iter().for_each(Condvar::notify_all);
                return Err(error);
            }
            spare.into_iter().for_each(|spare| self.spares.keep(spare));
            removed += 1;
            reached(Step::LOG_SEGMENT_REMOVED);
            let mut tail = self.tail.lock();
            let first = tail.segments().first().expect("the last segment never goes");
            assert!(first > segment.start, "segments go from the oldest, so the log begins later than before");
            self.first.store(first.0, Ordering::Release);
        }
        Ok(removed)
    }

    /// Takes the name of a segment away that recovery does not need: one that a follower needs is put aside, with the
    /// same effect (segments 3); whether it was.
    fn put_away(&self, segment: Segment) -> std::io::Result<(Option<Spare>, bool)> {
        let end = self.tail.lock().segments().first();
        let is_followed = self.tail.lock().segments().is_followed(end);
        if !is_followed {
            return Ok((self.spares.put_away(segment)?, false));
        }
        let (fs, name) = (&self.env.fs, segment.name.to_string());
        let aside = self.dir.join(FOLLOWED_DIR);
        fs.create_dir_all(&aside)?;
        match fs.rename(&self.dir.join(&name), &aside.join(&name)) {
            // On a full disk, say. Who follows joins anew.
            Err(error) if error.kind() != ErrorKind::NotFound => {
                fs.remove(&self.dir.join(&name)).map(|()| (None, false))
            }
            Err(error) => Err(error),
            Ok(()) => {
                self.tail.lock().segments().put_aside(segment.name);
                Ok((None, true))
            }
        }
    }

    /// Makes it durable that a segment has lost its name. A rename into another directory is durable when both are
    /// synced: else a crash could bring the segment back after younger ones have gone.
    fn sync_names(&self, is_aside: bool) -> std::io::Result<()> {
        if is_aside {
            self.env.fs.sync_dir(&self.dir.join(FOLLOWED_DIR))?;
        }
        self.env.fs.sync_dir(&self.dir)
    }

    /// Makes files for segments to come when they are wanted, until it is told to stop.
    pub(crate) fn serve_spares(&self, stop: impl Fn() -> bool, look_around: Duration) {
        self.spares.serve(stop, look_around);
    }

    /// Makes who makes them look up.
    pub(crate) fn wake_spares(&self) {
        self.spares.wake();
    }

    /// Removes the files for segments to come: none begins any more.
    pub(crate) fn remove_spares(&self) {
        self.spares.clear();
    }

    /// Keeps every segment until what it returns is dropped.
    pub(crate) fn keep(self: &Arc<Log>) -> KeptLog {
        *self.truncating.lock() += 1;
        KeptLog(Arc::clone(self))
    }

    /// Keeps the segments that have anything from a position on, for who follows from there; none: nobody does.
    pub(crate) fn keep_from(&self, keeper: LogKeeper, from: Option<Lsn>) {
        let unneeded = self.tail.lock().segments().keep_from(keeper, from);
        for name in unneeded {
            // One that cannot be removed now is found by the next opening.
            let _ = self.env.fs.remove(&self.dir.join(FOLLOWED_DIR).join(name.to_string()));
        }
    }

    /// Bytes of log that only followers need.
    pub(crate) fn followed_bytes(&self) -> u64 {
        self.tail.lock().segments().aside_bytes()
    }

    /// From here on every block is announced when it is durable (invariant 10); once. How far it is by now, which may
    /// have been announced by then.
    pub(crate) fn announce_by(&self, announce: Announce) -> Durable {
        let tail = self.tail.lock();
        assert!(self.announce.set(announce).is_ok(), "a log is announced by one");
        tail.durable()
    }

    /// How far it is durable.
    pub(crate) fn durable(&self) -> Durable {
        self.tail.lock().durable()
    }

    /// Makes everything appended so far durable and says where it lies: the segments, oldest first, and the end. What
    /// lies before the end does not change any more.
    pub(crate) fn extent(&self) -> Result<(Vec<SegmentName>, Lsn)> {
        self.flush()?;
        let mut tail = self.tail.lock();
        let end = tail.next_lsn();
        Ok((tail.segments().names(), end))
    }

    /// Bytes of log on disk that recovery would read.
    pub fn bytes(&self) -> u64 {
        self.durable.load(Ordering::Acquire).saturating_sub(self.first.load(Ordering::Acquire))
    }

    /// Everything before this is on disk.
    pub fn durable_lsn(&self) -> Lsn {
        Lsn(self.durable.load(Ordering::Acquire))
    }

    /// Bytes appended and not yet handed to the disk.
    pub fn pending_bytes(&self) -> usize {
        self.state.lock().filling.payload_bytes()
    }

    /// The number given last: what was appended by now has it or a lower one.
    pub fn last_number(&self) -> RecordNo {
        self.state.lock().last_number
    }

    /// Why the log takes no more records, if so.
    pub fn poisoned(&self) -> Option<Error> {
        self.state.lock().check_poison().err()
    }

    /// What the log did since it was opened.
    pub fn counters(&self) -> LogCounters {
        self.state.lock().counters
    }

    /// Reads every kept block again up to the durable end and tests it; what is wrong, one line each. No block is
    /// written meanwhile.
    pub fn check(&self) -> Result<Vec<String>> {
        let mut tail = self.tail.lock();
        let durable = tail.next_lsn();
        let starts = tail.segments().names();
        match super::reader::check_segments(&self.env, &self.dir, &starts, durable) {
            Ok(()) => Ok(Vec::new()),
            Err(error) if error.code() == Code::DataCorrupted => Ok(vec![error.to_string()]),
            Err(error) => Err(error),
        }
    }
}

/// A thread that writes a batch. It forgets this when the batch has ended; dropped, by a panic, it tells everybody who
/// waits (invariant 6).
struct Writing<'a> {
    log: &'a Log,
    batch: u64,
}

impl Drop for Writing<'_> {
    fn drop(&mut self) {
        if fault::active(Fault::FORGET_PANICKED_WRITER) {
            return;
        }
        let mut state = self.log.state.lock();
        state.writing = false;
        state.poison(self.batch, "a panic of the thread that wrote a block");
        self.log.wake.iter().for_each(Condvar::notify_all);
    }
}

fn failed_sync(error: &Error) -> String {
    format!("a failed fsync ({})", error.message())
}

/// Keeps every segment of a log.
pub(crate) struct KeptLog(Arc<Log>);

impl Drop for KeptLog {
    fn drop(&mut self) {
        *self.0.truncating.lock() -= 1;
    }
}

/// Begins the first segment; on a full disk later.
fn begin_or_put_off(tail: &mut Tail) -> Result<()> {
    match tail.begin_segment() {
        Ok(()) => Ok(()),
        Err(Failure::Clean(error)) if error.code() == Code::DiskFull => Ok(()),
        Err(failure) => Err(failure.error()),
    }
}

/// Removes what writers up to an epoch have left of segments that were under construction. A later one's may be there,
/// too, when it has taken the directory meanwhile (layout 3).
pub(super) fn remove_temporary(env: &Env, dir: &Path, epoch: u32, still_ours: impl Fn() -> Result<()>) -> Result<()> {
    let names = env.fs.list(dir).map_err(|error| Error::io(format!("listing {}", dir.display()), &error))?;
    let is_older = |made_in: u32| made_in <= epoch || fault::active(Fault::REMOVE_OF_SUCCESSOR);
    for name in names.iter().filter(|name| temporary_segment(name).is_some_and(is_older)) {
        still_ours()?;
        let path = dir.join(name);
        match env.fs.remove(&path) {
            // The one before may live, and has removed it.
            Err(error) if error.kind() != ErrorKind::NotFound => {
                return Err(Error::io(format!("removing {}", path.display()), &error));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Makes the last block that recovery read durable, before anything is built on it. It was read from memory if only the
/// process died, and a sync that failed then may have left it clean in memory and missing on disk: so it is written
/// again. Where another has the directory by now it is the same as it was: nobody else writes there, and the file
/// becomes no other segment of that one (spares 3).
fn settle(env: &Env, dir: &Path, end: &LogEnd) -> Result<()> {
    let Some(block) = &end.last_block else { return Ok(()) };
    let path = dir.join(block.segment.to_string());
    let settled = env.fs.open(&path, OpenMode::ReadWrite).and_then(|file| {
        file.write_at(&block.bytes, block.offset)?;
        file.sync_data()
    });
    settled.map_err(|error| Error::io(format!("settling the end of {}", path.display()), &error))
}

impl State {
    fn check_poison(&self) -> Result<()> {
        self.poisoned.as_ref().map_or(Ok(()), |(_, error)| Err(error.clone()))
    }

    /// From `batch` on nobody knows what is on disk.
    fn poison(&mut self, batch: u64, cause: &str) {
        let what = format!("the log stopped after {cause}; which of the last commits are on disk is unknown");
        self.poison_with(batch, Error::new(Code::Poisoned, what).hint("close the database and open it again"));
    }

    /// From `batch` on everybody is told this.
    fn poison_with(&mut self, batch: u64, error: Error) {
        if let Some((first, _)) = &mut self.poisoned {
            *first = batch.min(*first);
            return;
        }
        self.poisoned = Some((batch, error));
        self.done = u64::MAX;
    }

    /// How a batch ended; each waiter asks once.
    fn outcome(&mut self, number: u64) -> Result<()> {
        if let Some((error, waiters)) = self.failed.get_mut(&number) {
            let error = error.clone();
            *waiters -= 1;
            if *waiters == 0 {
                self.failed.remove(&number);
            }
            return Err(error);
        }
        match &self.poisoned {
            Some((first, error)) if number >= *first => Err(error.clone()),
            _ => Ok(()),
        }
    }
}
