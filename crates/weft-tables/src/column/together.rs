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
//! 3. Summaries are an estimate: a file that cannot be read is covered without rows. Who checks files finds the damage.
//! 4. A crash loses nothing: files have their own, and all wait when the table is opened.
//! 5. Rows of files that lack a column have there what the schema says of such rows.
//! 6. Who asks what is known reads no file, and a step reads a bounded number of files and bytes.
//!
//! Concurrency: a switch notes, under the mark lock, which files come and go, and reads none. One thread at a time
//! merges, beside the lock; others take what there is.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use weft_env::sync::Mutex;
use weft_format::summary::constant;
use weft_format::{ColumnStats, ColumnSummary, FileId, Result, RowCodec, Schema};
use weft_kernel::account::{Account, Charge, Kept};
use weft_kernel::fault::active;

use super::columns::Columns;
use super::faults;
use super::part::Part;

/// Files that a step reads.
const STEP_PARTS_MAX: usize = 16;
/// Bytes that a step reads, but of its first file.
const STEP_BYTES_MAX: u64 = 4 << 20;
/// Of so many rows that were taken in one may be gone.
const GONE_SHARE: u64 = 5;

/// What is known of the files of a table together.
pub(crate) struct Together {
    sets: Mutex<Sets>,
    /// Held by the one who merges.
    merging: Mutex<()>,
    /// Somebody has planned with it: before that nobody merges for later.
    is_asked_for: AtomicBool,
    /// Set under `merging`.
    charge: Charge,
}

#[derive(Default)]
struct Sets {
    now: Known,
    /// All files anew, until it has them all.
    next: Option<Known>,
    /// So many were made.
    made: u64,
}

#[derive(Default)]
struct Known {
    /// Told apart from what was there before it.
    number: u64,
    waiting: BTreeMap<FileId, Arc<Part>>,
    in_hand: HashSet<FileId>,
    /// Files that were taken in, with their rows.
    covered: HashMap<FileId, u64>,
    covered_rows: u64,
    gone_rows: u64,
    columns: Arc<Vec<ColumnSummary>>,
    /// The same with what files lack, of so many columns.
    shown: Option<(usize, Arc<Vec<ColumnSummary>>)>,
    ranges: Ranges,
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
    pub(crate) fn new(account: &Arc<Account>) -> Together {
        let charge = account.charge(Kept::Files, 0);
        let (sets, merging, is_asked_for) = Default::default();
        Together { sets, merging, is_asked_for, charge }
    }

    /// The layout has other files than before. The caller holds the mark lock.
    pub(crate) fn note(&self, before: &Columns, after: &Columns) {
        let mut sets = self.sets.lock();
        for part in after.parts.iter().filter(|part| before.part(part.file).is_none()) {
            sets.each(|known| known.come(part));
        }
        for part in before.parts.iter().filter(|part| after.part(part.file).is_none()) {
            sets.each(|known| known.go(part.file));
        }
        if sets.now.is_empty() {
            sets.now = sets.fresh();
            sets.next = None;
        }
    }

    /// The lowest and highest values.
    pub(crate) fn ranges(&self) -> Ranges {
        self.sets.lock().now.ranges.clone()
    }

    /// Whether somebody has ever asked for what is known.
    pub(crate) fn is_asked_for(&self) -> bool {
        self.is_asked_for.load(Ordering::Relaxed)
    }

    /// Whether a step would do something.
    pub(crate) fn is_behind(&self) -> bool {
        let sets = self.sets.lock();
        sets.next.is_some() || !sets.now.waiting.is_empty() || sets.now.is_stale()
    }

    /// Takes in some of the files that wait, unless somebody else does. `present` gives the files of the present
    /// layout.
    pub(crate) fn catch_up(&self, present: &dyn Fn() -> Arc<Columns>) {
        if let Some(_merging) = self.merging.try_lock() {
            self.step(present);
        }
    }

    /// Takes in all files of the present layout anew, and asks between steps whether to go on.
    pub(crate) fn renew(
        &self,
        present: &dyn Fn() -> Arc<Columns>,
        goes_on: &mut dyn FnMut() -> Result<()>,
    ) -> Result<()> {
        self.sets.lock().begin_anew(&present());
        while self.sets.lock().next.is_some() {
            goes_on()?;
            let _merging = self.merging.lock();
            self.step(present);
        }
        Ok(())
    }

    /// Together 6. The caller holds `merging`.
    fn step(&self, present: &dyn Fn() -> Arc<Columns>) {
        let mut sets = self.sets.lock();
        if sets.now.is_stale() && sets.next.is_none() {
            sets.begin_anew(&present());
        }
        let target = sets.target();
        let (parts, number) = (target.take_waiting(), target.number);
        let mut columns = target.columns.to_vec();
        drop(sets);
        for part in &parts {
            add_part(&mut columns, part);
        }
        let mut sets = self.sets.lock();
        // What it was merged into may be gone: then its files wait where they are now, or are gone as well.
        if let Some(known) = sets.numbered(number) {
            parts.iter().for_each(|part| known.cover(part));
            if !parts.is_empty() {
                (known.columns, known.shown) = (Arc::new(columns), None);
            }
        }
        sets.finish();
        self.charge.set(sets.memory_bytes());
    }

    /// The summaries, of all columns of a table of this schema (together 5).
    pub(crate) fn columns(&self, schema: &Schema, codec: &RowCodec) -> Arc<Vec<ColumnSummary>> {
        self.is_asked_for.store(true, Ordering::Relaxed);
        let mut sets = self.sets.lock();
        let (known, count) = (&mut sets.now, schema.columns.len());
        match &known.shown {
            Some((columns, shown)) if *columns == count => shown.clone(),
            _ => {
                let shown = with_lacking(&known.columns, schema, codec);
                known.shown = Some((count, shown.clone()));
                shown
            }
        }
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
    fn fresh(&mut self) -> Known {
        self.made += 1;
        Known { number: self.made, ..Known::default() }
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

    /// A switch is noted before or after this, whatever it has changed: noting it again changes nothing.
    fn begin_anew(&mut self, present: &Columns) {
        let mut next = self.fresh();
        present.parts.iter().for_each(|part| next.come(part));
        self.next = Some(next);
    }

    /// What has all files is told of.
    fn finish(&mut self) {
        if let Some(next) = self.next.take_if(|next| next.waiting.is_empty() && next.in_hand.is_empty()) {
            self.now = next;
        }
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
            self.ranges.add(part);
        }
    }

    fn go(&mut self, file: FileId) {
        self.waiting.remove(&file);
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

    /// Some of those that wait, old ones and new ones.
    fn take_waiting(&mut self) -> Vec<Arc<Part>> {
        let every = self.waiting.len().div_ceil(STEP_PARTS_MAX).max(1);
        let mut bytes = 0;
        let fits = |part: &&Arc<Part>| {
            let fits = bytes < STEP_BYTES_MAX;
            bytes += part.table.summaries_bytes();
            fits
        };
        let taken: Vec<Arc<Part>> = self.waiting.values().step_by(every).take_while(fits).cloned().collect();
        for part in &taken {
            self.waiting.remove(&part.file);
            self.in_hand.insert(part.file);
        }
        taken
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
        (columns + ranges + self.covered.capacity() * size_of::<(FileId, u64)>()) as u64
    }
}

fn add_part(columns: &mut Vec<ColumnSummary>, part: &Part) {
    if active(faults::MERGE_FORGETS_PART) && !columns.is_empty() {
        return;
    }
    let times = if active(faults::MERGE_COUNTS_TWICE) { 2 } else { 1 };
    // Together 3.
    let Ok(Some(summaries)) = part.table.summaries() else { return };
    for _ in 0..times {
        for (ordinal, summary) in summaries.iter().enumerate() {
            match columns.get_mut(ordinal) {
                Some(column) => column.merge(summary),
                None => columns.push(summary.clone()),
            }
        }
    }
}
