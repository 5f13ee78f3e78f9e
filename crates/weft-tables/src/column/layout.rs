//! A layout version: the immutable list of parts a table consists of at a moment.
//!
//! ```text
//!   layout 17   active   row table 9  (from 41)
//!               frozen   row table 7  (11..=25)   row table 8  (26..=40)                   oldest first
//!               columns  t12-5 [a..f] baseline   t12-9 [b..z] incremental   t12-6 [g..z] baseline
//! ```
//!
//! 1. Each row version that some registered snapshot sees lies in exactly one part (DESIGN invariant 2).
//! 2. Row tables cover disjoint ranges of timestamps, the active one the last.
//! 3. Baseline tables are disjoint, and each lies within one bucket.
//! 4. A transition table lies within one bucket.
//! 5. The borders of the buckets ascend.
//! 6. What column tables have of a key ended, marked or not yet (`reconcile.rs`), before a version of it in a row table
//!    began; all but tables that a bulk statement attached later.
//! 7. Below `floor` a follower's files may have forgotten when a row came in and when it went, and what was in columns
//!    that were dropped: the writer saw to its own snapshots alone. So no snapshot below it reads the layout.
//!
//! Concurrency: immutable; the table swaps one pointer, readers keep what they pinned.

use std::sync::Arc;

use weft_contract::{Location, Newest};
use weft_format::{Code, Error, FileId, Result, Timestamp};

use super::columns::Columns;
use super::key_probe::KeyProbe;
use super::part::Part;
use super::row_table::{Look, Place, RowTable};
use super::seen::Seen;

/// Column tables whose delete marks are counted: of more, some from all over the keys stand for all.
const COUNTED_PARTS_MAX: usize = 256;

/// A version of a row, found.
pub(crate) enum Site<'a> {
    Row(&'a Arc<RowTable>, Place),
    Column(&'a Arc<Part>, u32),
}

impl Site<'_> {
    pub(crate) fn insert_ts(&self) -> Result<Timestamp> {
        match self {
            Site::Row(_, place) => Ok(place.chunk.insert_ts(place.slot)),
            Site::Column(part, position) => part.insert_ts(*position),
        }
    }

    pub(crate) fn location(&self) -> Option<Location> {
        let seen = match self {
            Site::Row(table, _) => Seen::RowTable(table.number),
            Site::Column(part, position) => Seen::ColumnTable(part.file, *position),
        };
        seen.location()
    }

    /// What writers are told of it.
    pub(crate) fn newest(&self) -> Result<Newest> {
        Ok(Newest { insert_ts: self.insert_ts()?, location: self.location() })
    }

    /// The row (row codec).
    pub(crate) fn row(&self) -> Result<Arc<[u8]>> {
        Ok(match self {
            Site::Row(_, place) => place.chunk.row(place.slot).clone(),
            Site::Column(part, position) => part.table.row(part.cache(), *position)?.into(),
        })
    }
}

/// The row tables of a layout.
pub(crate) struct Rows {
    pub(crate) active: Arc<RowTable>,
    /// Oldest first.
    pub(crate) frozen: Vec<Arc<RowTable>>,
}

/// One layout version.
pub(crate) struct Layout {
    /// Counts the table's layouts.
    pub(crate) number: u64,
    pub(crate) active: Arc<RowTable>,
    /// Oldest first.
    pub(crate) frozen: Vec<Arc<RowTable>>,
    pub(crate) columns: Arc<Columns>,
    /// No snapshot below it reads here (layout 7); 0 where nobody is followed.
    pub(crate) floor: Timestamp,
}

impl Layout {
    pub(crate) fn new(number: u64, active: Arc<RowTable>, frozen: Vec<Arc<RowTable>>, columns: Arc<Columns>) -> Layout {
        let tables: Vec<&Arc<RowTable>> = frozen.iter().chain([&active]).collect();
        for pair in tables.windows(2) {
            let to = pair[0].frozen_at().expect("only the last row table is active (layout 2)");
            assert!(to < pair[1].from, "row tables cover disjoint timestamps (layout 2)");
            assert!(pair[0].number < pair[1].number, "a row table is found again by its number");
        }
        assert!(active.frozen_at().is_none(), "the last row table is active (layout 2)");
        Layout { number, active, frozen, columns, floor: Timestamp(0) }
    }

    /// The same for snapshots from `floor` on.
    pub(crate) fn with_floor(self, floor: Timestamp) -> Layout {
        Layout { floor, ..self }
    }

    /// Fails for a snapshot that the layout is too new for (layout 7).
    pub(crate) fn check_snapshot(&self, read_ts: Timestamp) -> Result<()> {
        if read_ts >= self.floor {
            return Ok(());
        }
        let message = format!("snapshot {read_ts} is too old: this node has rows from {} on", self.floor);
        Err(Error::new(Code::SerializationFailure, message).hint("run the transaction again"))
    }

    /// Its row tables, for one that differs in its column tables.
    pub(crate) fn rows(&self) -> Rows {
        Rows { active: self.active.clone(), frozen: self.frozen.clone() }
    }

    /// The column tables, by lowest key.
    pub(crate) fn parts(&self) -> &[Arc<Part>] {
        &self.columns.parts
    }

    /// About how many rows of column tables are alive. Takes no longer with more of them.
    pub(crate) fn alive_in_files(&self) -> u64 {
        let every = self.parts().len().div_ceil(COUNTED_PARTS_MAX).max(1);
        let (mut rows, mut dead) = (0, 0);
        for part in self.parts().iter().step_by(every) {
            rows += u64::from(part.row_count());
            dead += u64::from(part.marks.count());
        }
        let all = self.columns.rows;
        let dead = if every == 1 { dead } else { (dead as f64 / rows as f64 * all as f64) as u64 };
        all.saturating_sub(dead)
    }

    /// Row tables, newest first.
    pub(crate) fn row_tables(&self) -> impl Iterator<Item = &Arc<RowTable>> {
        std::iter::once(&self.active).chain(self.frozen.iter().rev())
    }

    /// The row table that versions of `ts` go into (DESIGN invariant 5).
    pub(crate) fn row_table_of(&self, ts: Timestamp) -> &Arc<RowTable> {
        let table = self.row_tables().find(|table| ts >= table.from);
        table.expect(
            "a version belongs into a row table that was not converted: F was not published (DESIGN invariant 5)",
        )
    }

    /// The part of a file.
    pub(crate) fn part(&self, file: FileId) -> Option<&Arc<Part>> {
        self.columns.part(file)
    }

    /// The version of `key` that a reader at `read_ts` sees ([`Timestamp::MAX`]: the one that is alive).
    pub(crate) fn find<'a>(&'a self, key: &[u8], read_ts: Timestamp) -> Result<Option<Site<'a>>> {
        let probe = KeyProbe::new(key);
        let mut ended = None;
        for table in self.row_tables().filter(|table| table.from <= read_ts) {
            match table.look(&probe, read_ts) {
                Look::Absent => {}
                Look::Alive(place) => return Ok(Some(Site::Row(table, place))),
                Look::Ended(began) => {
                    ended = Some(began);
                    break;
                }
            }
        }
        for part in self.columns.covering(key) {
            // Layout 6.
            if ended.is_some_and(|began| part.is_older_than(began)) {
                continue;
            }
            if let Some(position) = part.find(&probe, read_ts)? {
                return Ok(Some(Site::Column(part, position)));
            }
        }
        Ok(None)
    }

    /// The alive version of `key`, first where it was seen (DESIGN invariant 8).
    pub(crate) fn find_again(&self, hint: Option<Location>, key: &[u8]) -> Result<Option<Site<'_>>> {
        match hint.map(Seen::of) {
            Some(Seen::RowTable(number)) => {
                if let Some(table) = self.row_tables().find(|table| table.number == number)
                    && let Some(place) = table.find(&KeyProbe::new(key), Timestamp::MAX)
                {
                    return Ok(Some(Site::Row(table, place)));
                }
            }
            Some(Seen::ColumnTable(file, position)) => {
                if let Some(part) = self.part(file)
                    && !part.marks.is_marked(position)
                {
                    return Ok(Some(Site::Column(part, position)));
                }
            }
            None => {}
        }
        self.find(key, Timestamp::MAX)
    }
}
