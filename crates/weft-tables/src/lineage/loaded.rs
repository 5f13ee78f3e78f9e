//! Files of bulk loads: as they were built, and as they stand in the base from their commit until a merge lists them.
//!
//! ```text
//!   built       [segment of 65,536 rows] [segment of 411 rows] [keys, row ids 0 ..]     no commit names it yet
//!   commit 57   segments 3 and 4, born 57, and a run of keys, offset 3 × 65,536         base, cut 52
//!   merge 60    listed by its edit, rows and keys as they are; rows that changed since have newer pages
//! ```
//!
//! 1. Pages and keys do not know at which row ids they lie: each node gives its own, until a merge of the writer lists
//!    the files.
//! 2. A load's commit is beyond the cut of the base that it stands in.

use std::sync::Arc;

use weft_format::{FileId, Timestamp};

use super::files::OpenFile;
use super::payload::Entry;
use super::segment::Segment;

/// A file that an edit lists.
pub(super) type Listed = (Arc<OpenFile>, Entry);

/// Files of one bulk load.
pub(super) struct Built {
    /// Segments, all but the last full.
    pub(super) pages: Vec<Arc<OpenFile>>,
    pub(super) keys: Arc<OpenFile>,
    /// How many columns of the table the pages have.
    pub(super) columns: usize,
}

/// Files of one bulk load in the base.
#[derive(Clone)]
pub(super) struct Loaded {
    pub(super) ts: Timestamp,
    pub(super) first_segment: u64,
    pub(super) built: Arc<Built>,
}

impl Built {
    /// The numbers of the files, the keys' last.
    pub(super) fn numbers(&self) -> Vec<FileId> {
        self.files().map(|file| file.number()).collect()
    }

    /// The files, the keys' last.
    pub(super) fn files(&self) -> impl Iterator<Item = &Arc<OpenFile>> {
        self.pages.iter().chain([&self.keys])
    }
}

impl Loaded {
    /// The segments, as they came.
    pub(super) fn segments(&self) -> impl Iterator<Item = (u64, &Arc<OpenFile>)> {
        (self.first_segment..).zip(&self.built.pages)
    }

    /// What a merge lists that ends at `cut` and leaves these segments: the pages that are still in use, and the keys.
    pub(super) fn entries(
        &self,
        segment_now: impl Fn(u64) -> Option<Arc<Segment>>,
        cut: Timestamp,
        segment_rows: u32,
    ) -> (Vec<Listed>, Vec<Arc<OpenFile>>) {
        assert!(self.ts <= cut, "a load is listed by the first merge that reaches its commit");
        let (mut listed, mut gone) = (Vec::new(), Vec::new());
        for (segment, file) in self.segments() {
            let is_used =
                segment_now(segment).is_some_and(|now| now.files().iter().any(|used| Arc::ptr_eq(used, file)));
            if is_used {
                let rows = file.table.row_count();
                let ordinals = (0..self.built.columns as u16).collect();
                listed.push((file.clone(), Entry::Pages { segment, rows, alive: rows, ordinals, born: self.ts }));
            } else {
                gone.push(file.clone());
            }
        }
        let offset = self.first_segment * u64::from(segment_rows);
        listed.push((self.built.keys.clone(), Entry::Keys { rank: cut.0, offset }));
        (listed, gone)
    }
}
