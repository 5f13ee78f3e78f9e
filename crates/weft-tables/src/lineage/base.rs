//! The base: what is in files as of a cut, and bulk loads of later commits.
//!
//! Concurrency: immutable; a merge makes the next one.

use std::sync::{Arc, OnceLock};

use weft_format::{ColumnStats, FileId, Timestamp, Value};
use weft_kernel::fault::active;

use super::faults;
use super::files::OpenFile;
use super::key_run::KeyRun;
use super::loaded::{Built, Loaded};
use super::past::PastFile;
use super::segment::Segment;

/// See the module.
#[derive(Clone)]
pub(super) struct Base {
    /// It has the newest values as of here (lineage 4).
    pub(super) cut: Timestamp,
    /// From here on history is complete (past 2).
    pub(super) known_from: Timestamp,
    /// By number; none where no row is, or all are gone.
    pub(super) segments: Vec<Option<Arc<Segment>>>,
    /// In their order: the highest rank first.
    pub(super) keys: Vec<KeyRun>,
    /// In the order of their times.
    pub(super) past: Vec<PastFile>,
    /// Bulk loads that no merge has listed, in the order of their commits.
    pub(super) loaded: Vec<Loaded>,
    /// Rows of a segment.
    pub(super) segment_rows: u32,
    /// What all pages together say, once somebody has asked.
    pub(super) summary: Summary,
}

/// Computed once for a base: a copy, which becomes another base, begins without.
#[derive(Default)]
pub(super) struct Summary(OnceLock<Summed>);

/// Sums over the segments.
pub(super) struct Summed {
    pub(super) alive: u64,
    pub(super) bytes: u64,
    /// By column: lowest and highest value, where all segments know it.
    pub(super) ranges: Vec<Option<(Value, Value)>>,
}

impl Clone for Summary {
    fn clone(&self) -> Summary {
        Summary::default()
    }
}

impl Base {
    /// The segment of a row, when it has a page with it, and its slot there.
    pub(super) fn place(&self, row_id: u64) -> Option<(&Arc<Segment>, u32)> {
        let (number, slot) = (row_id / u64::from(self.segment_rows), (row_id % u64::from(self.segment_rows)) as u32);
        let segment = self.segment(number)?;
        (slot < segment.rows).then_some((segment, slot))
    }

    /// A segment.
    pub(super) fn segment(&self, number: u64) -> Option<&Arc<Segment>> {
        self.segments.get(usize::try_from(number).ok()?)?.as_ref()
    }

    /// Puts a segment in its place, or takes it away.
    pub(super) fn set_segment(&mut self, number: u64, segment: Option<Arc<Segment>>) {
        let at = number as usize;
        if self.segments.len() <= at {
            self.segments.resize(at + 1, None);
        }
        self.segments[at] = segment;
    }

    /// The first row id that no page has and no key names: of a segment that is gone keys may be left.
    pub(super) fn next_row_id(&self) -> u64 {
        let last = self.segments.iter().rposition(Option::is_some);
        let rows = |at: usize| self.segments[at].as_ref().map_or(0, |segment| u64::from(segment.rows));
        let in_pages = last.map_or(0, |at| at as u64 * u64::from(self.segment_rows) + rows(at));
        if active(faults::REUSE_ROW_IDS) {
            return in_pages;
        }
        self.keys.iter().map(KeyRun::next_row_id).fold(in_pages, u64::max)
    }

    /// All files, each once.
    pub(super) fn files(&self) -> Vec<Arc<OpenFile>> {
        let mut files: Vec<Arc<OpenFile>> =
            self.segments.iter().flatten().flat_map(|segment| segment.files()).collect();
        files.extend(self.keys.iter().map(|run| run.file.clone()));
        files.extend(self.past.iter().map(|past| past.file.clone()));
        files
    }

    /// The file of a number.
    pub(super) fn file(&self, number: FileId) -> Option<Arc<OpenFile>> {
        self.files().into_iter().find(|file| file.number() == number)
    }

    /// What all pages together say of so many columns, or those that somebody has asked for first: an estimate.
    pub(super) fn summed(&self, columns: usize) -> &Summed {
        self.summary.0.get_or_init(|| {
            let mut merged: Vec<ColumnStats> = (0..columns).map(|_| ColumnStats::empty()).collect();
            let mut is_known = vec![true; columns];
            let (mut alive, mut bytes) = (0, 0);
            for segment in self.segments.iter().flatten() {
                alive += u64::from(segment.alive);
                bytes += segment.bytes();
                for ordinal in 0..columns {
                    match segment.page(ordinal) {
                        Some(page) => merged[ordinal].merge(page.stats()),
                        // Columns that some segment does not have have no range.
                        None => is_known[ordinal] = false,
                    }
                }
            }
            let range = |(stats, known): (ColumnStats, bool)| {
                (known && !stats.min.is_null() && !stats.max.is_null()).then_some((stats.min, stats.max))
            };
            Summed { alive, bytes, ranges: merged.into_iter().zip(is_known).map(range).collect() }
        })
    }
}

impl Base {
    /// Puts a bulk load in, whose segments begin with this one.
    pub(super) fn load(&mut self, ts: Timestamp, first_segment: u64, built: &Arc<Built>) {
        assert!(ts > self.cut, "a load's commit is beyond the cut (loaded 2)");
        let loaded = Loaded { ts, first_segment, built: built.clone() };
        let ordinals: Vec<usize> = (0..built.columns).collect();
        for (number, file) in loaded.segments() {
            assert!(self.segment(number).is_none(), "segments of a load are at row ids that no row has");
            let rows = file.table.row_count();
            let segment = Segment::new(number, rows, rows, ts, file.clone(), &ordinals);
            self.set_segment(number, Some(Arc::new(segment)));
        }
        let offset = first_segment * u64::from(self.segment_rows);
        self.keys.push(KeyRun { rank: ts.0, offset, file: built.keys.clone() });
        self.keys.sort_by_key(KeyRun::order);
        self.loaded.push(loaded);
    }

    /// Takes all bulk loads out again that no merge has listed, and gives them.
    pub(super) fn take_loaded(&mut self) -> Vec<Loaded> {
        let loaded = std::mem::take(&mut self.loaded);
        for (number, _) in loaded.iter().flat_map(Loaded::segments) {
            self.set_segment(number, None);
        }
        let cut = self.cut.0;
        self.keys.retain(|run| run.rank <= cut);
        loaded
    }

    /// The runs of keys of bulk loads that no merge has listed.
    pub(super) fn loaded_keys(&self) -> &[KeyRun] {
        &self.keys[..self.loaded.len()]
    }

    /// The other runs of keys.
    pub(super) fn merged_keys(&self) -> &[KeyRun] {
        &self.keys[self.loaded.len()..]
    }
}
