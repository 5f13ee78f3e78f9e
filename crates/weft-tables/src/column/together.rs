//! What the values of all files of a table are like together: a summary per column, merged file by file.
//!
//! ```text
//!   switch    files 7, 8 appear: they wait · file 3 goes: its 5,000 rows are gone, summaries have them
//!   asked     up to 16 of those that wait are read and taken in
//!   a job     at its end takes in all that wait; when a fifth of what was taken in is gone, all files
//! ```
//!
//! 1. Each file is taken in once at most, and either waits, is in hand, or is covered, while it is in the layout.
//! 2. What is taken in is counted, whether the file has gone since or not: `gone_rows` never forgets a row that the
//!    summaries have and the layout lacks. With the last covered file all is forgotten.
//! 3. Summaries are an estimate: a file that cannot be read is covered without rows. Who checks files finds the damage.
//! 4. A crash loses nothing: files have their own, and all wait when the table is opened.
//!
//! Concurrency: a switch notes, under the mark lock, which files come and go, and reads none. One thread at a time
//! merges, beside the lock; others take what there is.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use weft_env::sync::Mutex;
use weft_format::{ColumnStats, ColumnSummary, FileId};
use weft_kernel::account::{Account, Charge, Kept};
use weft_kernel::fault::active;

use super::columns::Columns;
use super::faults;
use super::part::Part;

/// Files that are read for who asks.
pub(crate) const ASKED_PARTS_MAX: usize = 16;
/// Of so many rows that were taken in one may be gone.
const GONE_SHARE: u64 = 5;

/// What is known of the files of a table together.
pub(crate) struct Together {
    known: Mutex<Known>,
    /// Held by the one who merges.
    merging: Mutex<()>,
    /// Set under `merging`.
    charge: Charge,
}

#[derive(Default)]
struct Known {
    waiting: BTreeMap<FileId, Arc<Part>>,
    in_hand: HashSet<FileId>,
    /// Files that were taken in, with their rows.
    covered: HashMap<FileId, u64>,
    covered_rows: u64,
    gone_rows: u64,
    columns: Arc<Vec<ColumnSummary>>,
    ranges: Ranges,
    /// Counts how often all was forgotten.
    forgotten: u64,
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
        Together { known: Mutex::new(Known::default()), merging: Mutex::new(()), charge }
    }

    /// The layout has other files than before. The caller holds the mark lock.
    pub(crate) fn note(&self, before: &Columns, after: &Columns) {
        let mut known = self.known.lock();
        for part in after.parts.iter().filter(|part| before.part(part.file).is_none()) {
            known.come(part);
        }
        for part in before.parts.iter().filter(|part| after.part(part.file).is_none()) {
            known.go(part.file);
        }
    }

    /// The lowest and highest values.
    pub(crate) fn ranges(&self) -> Ranges {
        self.known.lock().ranges.clone()
    }

    /// Takes in at most so many files that wait.
    pub(crate) fn take_in(&self, most: usize) {
        let Some(_merging) = self.merging.try_lock() else { return };
        let mut known = self.known.lock();
        if known.waiting.is_empty() {
            return;
        }
        let parts = known.take_waiting(most);
        let (mut columns, forgotten) = (known.columns.to_vec(), known.forgotten);
        drop(known);
        for part in &parts {
            add_part(&mut columns, part);
        }
        let mut known = self.known.lock();
        if known.forgotten != forgotten {
            // What it was merged into is gone: those that are still there wait again.
            for part in parts {
                if known.in_hand.remove(&part.file) {
                    known.waiting.insert(part.file, part);
                }
            }
            return;
        }
        for part in &parts {
            known.cover(part);
        }
        known.columns = Arc::new(columns);
        self.charge.set(known.memory_bytes());
    }

    /// Takes in all files of the present layout anew, when enough has gone or it is asked for.
    pub(crate) fn take_all(&self, present: &dyn Fn() -> Arc<Columns>, is_wanted: bool) {
        let Some(_merging) = self.merging.try_lock() else { return };
        if !is_wanted && !self.known.lock().is_stale() {
            return;
        }
        let (taken, mut fresh, mut columns) = (present(), Known::default(), Vec::new());
        for part in &taken.parts {
            add_part(&mut columns, part);
            fresh.covered.insert(part.file, part.row_count().into());
            fresh.ranges.add(part);
        }
        (fresh.covered_rows, fresh.columns) = (taken.rows, Arc::new(columns));
        let mut known = self.known.lock();
        // A switch is noted before or after this, whatever it has changed: noting it again changes nothing.
        let now = present();
        fresh.forgotten = known.forgotten + 1;
        *known = fresh;
        taken.parts.iter().filter(|part| now.part(part.file).is_none()).for_each(|part| known.go(part.file));
        now.parts.iter().for_each(|part| known.come(part));
        self.charge.set(known.memory_bytes());
    }

    /// The summaries, and whether few files are covered of which enough has gone.
    pub(crate) fn columns(&self) -> (Arc<Vec<ColumnSummary>>, bool) {
        let known = self.known.lock();
        (known.columns.clone(), known.is_stale() && known.covered.len() <= ASKED_PARTS_MAX)
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
        if self.covered.is_empty() && self.waiting.is_empty() && self.in_hand.is_empty() {
            *self = Known { forgotten: self.forgotten + 1, ..Known::default() };
        }
    }

    /// At most so many of those that wait, old ones and new ones.
    fn take_waiting(&mut self, most: usize) -> Vec<Arc<Part>> {
        let every = self.waiting.len().div_ceil(most).max(1);
        let taken: Vec<Arc<Part>> = self.waiting.values().step_by(every).cloned().collect();
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
        let columns: usize = self.columns.iter().map(|column| size_of::<ColumnSummary>() + column.memory_bytes()).sum();
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
