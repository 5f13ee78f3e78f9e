//! What the values of all files of a table are like together: a summary per column, merged file by file.
//!
//! ```text
//!   switch     files 7, 8 appear: they wait · file 3 goes: its 5,000 rows are gone, summaries have them
//!   a step     up to 16 of those that wait are read and taken in: at the end of a job, or when somebody wanted to know
//!   anew       when a fifth of what was taken in is gone: all files, step by step, beside what is told meanwhile
//!                now   files 1 .. 900, 200 of them gone         told until the other is complete
//!                next  files 1 .. 640 of 700
//! ```
//!
//! 1. Each file is taken in once at most, and either waits, is in hand, or is covered, while it is in the layout.
//! 2. What is taken in is counted, whether the file has gone since or not: `gone_rows` never forgets a row that the
//!    summaries have and the layout lacks. With the last covered file all is forgotten.
//! 3. Summaries are an estimate: a damaged file is covered without rows. Who checks files finds the damage. A file that
//!    cannot be read for a moment waits on, behind the others, and nobody reads for a while ([`READ_REST`]).
//! 4. A crash loses nothing: files have their own, and all wait when the table is opened.
//! 5. Rows of files that lack a column have there what the schema says of such rows.
//! 6. Who asks what is known reads no file, and a step reads a bounded number of files and bytes.
//! 7. Under the lock of the sets nothing is done for each file of the table: a switch says which files come and go, and
//!    what begins anew is built beside the lock from the files that are present, while what comes and goes is noted;
//!    under the lock it is told of that. Those that have gone are left out of the queue once for as many.
//! 8. A panic while files are taken in gives them back, and nobody takes in files of this table again but ANALYZE.
//!
//! ```text
//!   anew   noted: []   present 1 .. 700   built beside the lock ............   9 comes, 4 goes: noted [+9, -4]
//!          under the lock: +9, -4, and it is the one where files are taken in
//! ```
//!
//! Concurrency: a switch notes, under the mark lock, which files come and go, and reads none. One thread at a time
//! merges, beside the lock; others take what there is.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use weft_env::sync::{Mutex, yield_point};
use weft_env::{Env, catch_panic};
use weft_format::summary::{constant, scattered};
use weft_format::{Code, ColumnStats, ColumnSummary, Error, FileId, Result, RowCodec, Schema};
use weft_kernel::account::{Account, Charge, Kept};
use weft_kernel::fault::active;

use super::columns::Columns;
use super::faults;
use super::part::Part;

/// Files that a step reads.
const STEP_PARTS_MAX: usize = 16;
/// Bytes that a step reads, but of its first file.
const STEP_BYTES_MAX: u64 = 4 << 20;
/// Files that have gone since they began to wait, and are passed over in a step.
const STEP_GONE_MAX: usize = 1_024;
/// After a read that failed nobody reads for so long.
const READ_REST: Duration = Duration::from_secs(5);
/// Of so many rows that were taken in one may be gone.
const GONE_SHARE: u64 = 5;

/// What is known of the files of a table together.
pub(crate) struct Together {
    sets: Mutex<Sets>,
    /// Held by the one who merges.
    merging: Mutex<()>,
    /// Somebody has planned with it: before that nobody merges for later.
    is_asked_for: AtomicBool,
    /// Taking in files has panicked (together 8).
    given_up: AtomicBool,
    /// When files may be read again, by the monotonic clock.
    rests_until: AtomicU64,
    /// Set under `merging`.
    charge: Charge,
    env: Env,
}

/// Files that a switch brings into the layout, and those that leave it.
#[derive(Clone, Copy, Default)]
pub(crate) struct Turnover<'a> {
    pub(crate) came: &'a [Arc<Part>],
    pub(crate) went: &'a [FileId],
}

impl Turnover<'_> {
    /// Whether it is all that two layouts differ in.
    pub(crate) fn is_between(&self, before: &Columns, after: &Columns) -> bool {
        let comes = |part: &Arc<Part>| before.part(part.file).is_none() && after.part(part.file).is_some();
        let goes = |file: &FileId| before.part(*file).is_some() && after.part(*file).is_none();
        let adds_up = before.parts.len() + self.came.len() == after.parts.len() + self.went.len();
        adds_up && self.came.iter().all(comes) && self.went.iter().all(goes)
    }
}

#[derive(Default)]
struct Sets {
    now: Known,
    /// All files anew, until it has them all.
    next: Option<Known>,
    /// So many were made.
    made: u64,
    /// What came and went while one is built beside the lock.
    noted: Option<Vec<Noted>>,
}

enum Noted {
    Came(Arc<Part>),
    Went(FileId),
}

#[derive(Default)]
struct Known {
    /// Told apart from what was there before it.
    number: u64,
    waiting: HashMap<FileId, Arc<Part>>,
    /// The order in which those that wait are taken; some of these have gone since.
    queue: VecDeque<FileId>,
    in_hand: HashSet<FileId>,
    /// Files that were taken in, with their rows.
    covered: HashMap<FileId, u64>,
    covered_rows: u64,
    gone_rows: u64,
    columns: Arc<Vec<ColumnSummary>>,
    /// The same with what files lack, of so many columns.
    shown: Option<(usize, Arc<Vec<ColumnSummary>>)>,
    ranges: Arc<Ranges>,
}

/// The lowest and highest values of columns, of all files that came since they were counted anew.
#[derive(Clone, Default)]
pub(crate) struct Ranges {
    merged: Vec<ColumnStats>,
    /// So many columns all of them have; those that some file lacks have no range.
    pub(crate) columns: Option<usize>,
}

impl Ranges {
    fn add(&mut self, part: &Part) {
        let stored = part.table.column_count();
        self.merged.resize_with(self.merged.len().max(stored), ColumnStats::empty);
        self.merged[..stored]
            .iter_mut()
            .enumerate()
            .for_each(|(ordinal, stats)| stats.merge(part.table.stats(ordinal)));
        self.columns = Some(self.columns.map_or(stored, |columns| columns.min(stored)));
    }

    /// Those of a column.
    pub(crate) fn of(&self, ordinal: usize) -> Option<&ColumnStats> {
        if ordinal < self.columns? { self.merged.get(ordinal) } else { None }
    }
}

impl Together {
    pub(crate) fn new(account: &Arc<Account>, env: &Env) -> Together {
        let (charge, env) = (account.charge(Kept::Files, 0), env.clone());
        let (sets, merging, is_asked_for, given_up, rests_until) = Default::default();
        Together { sets, merging, is_asked_for, given_up, rests_until, charge, env }
    }

    /// The layout has other files than before. The caller holds the mark lock.
    pub(crate) fn note(&self, turnover: Turnover<'_>) {
        let Turnover { came, went } = turnover;
        let mut sets = self.sets.lock();
        for part in scattered(came.len()).map(|at| &came[at]) {
            sets.each(|known| known.come(part));
        }
        for file in went {
            sets.each(|known| known.go(*file));
        }
        if let Some(noted) = &mut sets.noted {
            noted.extend(came.iter().cloned().map(Noted::Came));
            noted.extend(went.iter().copied().map(Noted::Went));
        }
        if sets.now.is_empty() {
            sets.now = Known { number: sets.next_number(), ..Known::default() };
            sets.next = None;
        }
    }

    /// The lowest and highest values.
    pub(crate) fn ranges(&self) -> Arc<Ranges> {
        self.sets.lock().now.ranges.clone()
    }

    /// Whether somebody has ever asked for what is known.
    pub(crate) fn is_asked_for(&self) -> bool {
        self.is_asked_for.load(Ordering::Relaxed)
    }

    /// Whether a step would do something.
    pub(crate) fn is_behind(&self) -> bool {
        if self.given_up.load(Ordering::Relaxed) || self.rests() {
            return false;
        }
        let sets = self.sets.lock();
        sets.next.is_some() || !sets.now.waiting.is_empty() || sets.now.is_stale()
    }

    /// Whether a read failed a moment ago.
    fn rests(&self) -> bool {
        let until = self.rests_until.load(Ordering::Relaxed);
        until > 0 && self.env.clock.monotonic_nanos() < until
    }

    /// Takes in some of the files that wait, unless somebody else does. `present` gives the files of the present
    /// layout.
    pub(crate) fn catch_up(&self, present: &dyn Fn() -> Arc<Columns>) {
        let Some(_merging) = self.merging.try_lock() else { return };
        if self.is_behind() && self.step(present).is_err() {
            let until = self.env.clock.monotonic_nanos().saturating_add(READ_REST.as_nanos() as u64);
            self.rests_until.store(until, Ordering::Relaxed);
        }
    }

    /// Takes in all files of the present layout anew, and asks between steps whether to go on. After a read that failed
    /// what was known is told on.
    pub(crate) fn renew(
        &self,
        present: &dyn Fn() -> Arc<Columns>,
        goes_on: &mut dyn FnMut() -> Result<()>,
    ) -> Result<()> {
        self.given_up.store(false, Ordering::Relaxed);
        {
            let _merging = self.merging.lock();
            self.begin_anew(present);
        }
        while self.sets.lock().next.is_some() {
            goes_on()?;
            let _merging = self.merging.lock();
            self.step(present)?;
        }
        Ok(())
    }

    /// Together 7. The caller holds `merging`.
    fn begin_anew(&self, present: &dyn Fn() -> Arc<Columns>) {
        self.sets.lock().noted = Some(Vec::new());
        // What a switch brings from here on is noted, and it may be present as well: that changes nothing.
        let columns = present();
        let mut next = Known::default();
        for at in scattered(columns.parts.len()) {
            next.come(&columns.parts[at]);
            // Where a schedule is played, others go on here.
            yield_point();
        }
        let before = {
            let mut sets = self.sets.lock();
            let noted = sets.noted.take().filter(|_| !active(faults::FORGET_NOTED));
            for noted in noted.unwrap_or_default() {
                match noted {
                    Noted::Came(part) => next.come(&part),
                    Noted::Went(file) => next.go(file),
                }
            }
            next.number = sets.next_number();
            let next = if next.is_empty() { None } else { Some(next) };
            std::mem::replace(&mut sets.next, next)
        };
        // Beside the lock: it may have many files.
        drop(before);
    }

    /// Together 6. The caller holds `merging`. An error: of a read that may not fail the next time, or of a panic.
    fn step(&self, present: &dyn Fn() -> Arc<Columns>) -> Result<()> {
        if self.given_up.load(Ordering::Relaxed) {
            return Err(Error::internal("taking in files has panicked before"));
        }
        let is_stale = {
            let sets = self.sets.lock();
            sets.now.is_stale() && sets.next.is_none()
        };
        if is_stale {
            self.begin_anew(present);
        }
        let (parts, number, columns) = {
            let mut sets = self.sets.lock();
            let target = sets.target();
            (target.take_waiting(), target.number, target.columns.clone())
        };
        let merged = catch_panic(|| merge(&columns, &parts)).unwrap_or_else(|panic| {
            self.given_up.store(true, Ordering::Relaxed);
            Merged { columns: Vec::new(), taken: 0, error: Some(Error::internal(panic)) }
        });
        let before = {
            let mut sets = self.sets.lock();
            // What it was merged into may be gone: then its files wait where they are now, or are gone as well.
            if let Some(known) = sets.numbered(number) {
                let (taken, left) = parts.split_at(merged.taken);
                taken.iter().for_each(|part| known.cover(part));
                left.iter().for_each(|part| known.give_back(part));
                if !taken.is_empty() {
                    (known.columns, known.shown) = (Arc::new(merged.columns), None);
                }
            }
            let before = sets.finish();
            self.charge.set(sets.memory_bytes());
            before
        };
        drop(before);
        merged.error.map_or(Ok(()), Err)
    }

    /// The summaries, of all columns of a table of this schema (together 5).
    pub(crate) fn columns(&self, schema: &Schema, codec: &RowCodec) -> Arc<Vec<ColumnSummary>> {
        self.is_asked_for.store(true, Ordering::Relaxed);
        let count = schema.columns.len();
        let columns = {
            let sets = self.sets.lock();
            match &sets.now.shown {
                Some((columns, shown)) if *columns == count => return shown.clone(),
                _ => sets.now.columns.clone(),
            }
        };
        let shown = with_lacking(&columns, schema, codec);
        let mut sets = self.sets.lock();
        if Arc::ptr_eq(&sets.now.columns, &columns) {
            sets.now.shown = Some((count, shown.clone()));
        }
        shown
    }
}

/// Together 5.
fn with_lacking(columns: &Arc<Vec<ColumnSummary>>, schema: &Schema, codec: &RowCodec) -> Arc<Vec<ColumnSummary>> {
    let all = columns.iter().map(ColumnSummary::rows).max().unwrap_or(0);
    let rows = |ordinal: usize| columns.get(ordinal).map_or(0, ColumnSummary::rows);
    let count = schema.columns.len();
    if active(faults::LEAVE_OUT_LACKING) || (0..count).all(|ordinal| rows(ordinal) == all) {
        return columns.clone();
    }
    let of = |ordinal: usize| {
        let mut column = columns.get(ordinal).cloned();
        if rows(ordinal) < all {
            let value = codec.missing(ordinal);
            let lacking = constant(value, schema.columns[ordinal].data_type, all - rows(ordinal));
            match &mut column {
                Some(column) => column.merge(&lacking),
                None => column = Some(lacking),
            }
        }
        column
    };
    Arc::new((0..count).map_while(of).collect())
}

impl Sets {
    fn next_number(&mut self) -> u64 {
        self.made += 1;
        self.made
    }

    fn each(&mut self, mut act: impl FnMut(&mut Known)) {
        act(&mut self.now);
        self.next.iter_mut().for_each(act);
    }

    /// Where files are taken in.
    fn target(&mut self) -> &mut Known {
        self.next.as_mut().unwrap_or(&mut self.now)
    }

    fn numbered(&mut self, number: u64) -> Option<&mut Known> {
        std::iter::once(&mut self.now).chain(&mut self.next).find(|known| known.number == number)
    }

    /// What has all files is told of; what was told of before, to be dropped beside the lock.
    fn finish(&mut self) -> Option<Known> {
        let next = self.next.take_if(|next| next.waiting.is_empty() && next.in_hand.is_empty())?;
        Some(std::mem::replace(&mut self.now, next))
    }

    fn memory_bytes(&self) -> u64 {
        self.now.memory_bytes() + self.next.as_ref().map_or(0, Known::memory_bytes)
    }
}

impl Known {
    fn come(&mut self, part: &Arc<Part>) {
        let file = part.file;
        let is_known = self.covered.contains_key(&file) || self.in_hand.contains(&file);
        if !is_known && self.waiting.insert(file, part.clone()).is_none() {
            self.queue.push_back(file);
            Arc::make_mut(&mut self.ranges).add(part);
        }
    }

    fn go(&mut self, file: FileId) {
        if self.waiting.remove(&file).is_some() && self.queue.len() > self.waiting.len() * 2 + STEP_GONE_MAX {
            // Once for as many as have gone.
            self.queue.retain(|file| self.waiting.contains_key(file));
        }
        self.in_hand.remove(&file);
        if let Some(rows) = self.covered.remove(&file)
            && !active(faults::SUMMARY_OUTLIVES_PART)
        {
            self.gone_rows += rows;
        }
    }

    /// Whether it has no file (together 2).
    fn is_empty(&self) -> bool {
        self.covered.is_empty() && self.waiting.is_empty() && self.in_hand.is_empty()
    }

    /// Some of those that wait, the first in the queue.
    fn take_waiting(&mut self) -> Vec<Arc<Part>> {
        assert!(self.waiting.len() <= self.queue.len(), "what waits is in the queue");
        let (mut taken, mut bytes, mut gone) = (Vec::new(), 0, 0);
        while taken.len() < STEP_PARTS_MAX && bytes < STEP_BYTES_MAX && gone < STEP_GONE_MAX {
            let Some(file) = self.queue.pop_front() else { break };
            let Some(part) = self.waiting.remove(&file) else {
                gone += 1;
                continue;
            };
            bytes += part.table.summaries_bytes();
            self.in_hand.insert(file);
            taken.push(part);
        }
        taken
    }

    /// It was not taken in, and waits again, behind the others.
    fn give_back(&mut self, part: &Arc<Part>) {
        if self.in_hand.remove(&part.file) {
            self.waiting.insert(part.file, part.clone());
            self.queue.push_back(part.file);
        }
    }

    /// The summaries have it from now on.
    fn cover(&mut self, part: &Part) {
        let rows = u64::from(part.row_count());
        self.covered_rows += rows;
        if self.in_hand.remove(&part.file) {
            assert!(self.covered.insert(part.file, rows).is_none(), "a file is taken in once (together 1)");
        } else {
            // It went while it was read.
            self.gone_rows += rows;
        }
    }

    fn is_stale(&self) -> bool {
        self.gone_rows > 0 && self.gone_rows * GONE_SHARE > self.covered_rows
    }

    fn memory_bytes(&self) -> u64 {
        let of = |columns: &[ColumnSummary]| -> usize {
            columns.iter().map(|column| size_of::<ColumnSummary>() + column.memory_bytes()).sum()
        };
        let shown = self.shown.as_ref().filter(|(_, shown)| !Arc::ptr_eq(shown, &self.columns));
        let columns = of(&self.columns) + shown.map_or(0, |(_, shown)| of(shown));
        let ranges: usize =
            self.ranges.merged.iter().map(|stats| size_of::<ColumnStats>() + stats.memory_bytes()).sum();
        let waiting = self.waiting.capacity() * size_of::<(FileId, Arc<Part>)>();
        let files = self.covered.capacity() * size_of::<(FileId, u64)>() + self.queue.capacity() * size_of::<FileId>();
        (columns + ranges + waiting + files) as u64
    }
}

/// Summaries with those of some files.
struct Merged {
    columns: Vec<ColumnSummary>,
    /// So many files are in.
    taken: usize,
    /// Why not all.
    error: Option<Error>,
}

fn merge(columns: &[ColumnSummary], parts: &[Arc<Part>]) -> Merged {
    assert!(!active(faults::PANIC_IN_MERGE), "planted");
    let mut columns = columns.to_vec();
    for (taken, part) in parts.iter().enumerate() {
        if let Err(error) = add_part(&mut columns, part) {
            return Merged { columns, taken, error: Some(error) };
        }
    }
    Merged { columns, taken: parts.len(), error: None }
}

fn add_part(columns: &mut Vec<ColumnSummary>, part: &Part) -> Result<()> {
    if active(faults::MERGE_FORGETS_PART) && !columns.is_empty() {
        return Ok(());
    }
    let times = if active(faults::MERGE_COUNTS_TWICE) { 2 } else { 1 };
    let summaries = match part.table.summaries() {
        Ok(Some(summaries)) => summaries,
        Ok(None) => return Ok(()),
        // Together 3.
        Err(error) if error.code() == Code::DataCorrupted || active(faults::COVER_UNREADABLE) => return Ok(()),
        Err(error) => return Err(error),
    };
    for _ in 0..times {
        for (ordinal, summary) in summaries.iter().enumerate() {
            match columns.get_mut(ordinal) {
                Some(column) => column.merge(summary),
                None => columns.push(summary.clone()),
            }
        }
    }
    Ok(())
}
