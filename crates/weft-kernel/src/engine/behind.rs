//! What redo cannot feed to an index commit by commit, and feeds at the end.
//!
//! ```text
//!   table t5    cut 80          in files up to 80: an update at 75 says one column, and the row of then is gone
//!   index t6    cut 60          lacks 61..=80: the rows that changed then are looked up at the end
//!   index t7    made at 95      lacks what changed while it was made: the log is read again for the keys
//! ```
//!
//! 1. A row that is alive at the end and that changed in the time that an index lacks is here, so its entry comes. Rows
//!    that were dead before the end no snapshot will see.
//! 2. An entry may come twice: adding is idempotent (index store 2).
//! 3. Column indexes are told when a row changed, no later: what they end later than it ended would be in none of their
//!    files when their cut says that it is.
//!
//! Memory: the keys of the log between the cuts of tables and of their indexes, and of tables that got an index those
//! of the log from the snapshot on that it was made of.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use weft_env::Env;
use weft_format::{Code, Error, Lsn, Result, TableId, Timestamp};

use crate::catalog::{Catalog, IndexRef, Relation, TableRef};
use crate::fault::{Fault, active};
use crate::index::ColumnIndex;
use crate::log::{Change, ChangeDecoder, LoggedChange, Record, read_live_log_from, read_log};
use crate::read_again::concerns_files;
use crate::services::Services;

/// Rows by their keys, and when each changed last.
type Rows = BTreeMap<Vec<u8>, Timestamp>;

/// The rows of a table.
#[derive(Default)]
struct Changed {
    /// That some index lacks; they may have changed before.
    rows: Rows,
    /// That some column index lacks (behind 3).
    of_columns: Rows,
}

/// The rows, by table.
#[derive(Default)]
pub(super) struct Behind {
    changed: BTreeMap<TableId, Changed>,
    /// The indexes that the log makes of rows that were there.
    made: BTreeMap<TableId, Made>,
}

/// The time in which an index was not there to be fed.
#[derive(Clone, Copy)]
struct Made {
    table: TableId,
    /// It has in files what was up to here.
    from: Timestamp,
    /// It was made here.
    to: Timestamp,
}

/// The key of which a change may leave a row.
pub(super) fn key_of_row(change: &Change) -> Option<&[u8]> {
    match change {
        Change::Insert { key, .. } | Change::Put { key, .. } | Change::Update { key, .. } => Some(key),
        Change::Delete { .. } | Change::Clear { .. } | Change::Attach(..) => None,
    }
}

impl Behind {
    /// A table has this change in files, its indexes may not.
    pub(super) fn note(&mut self, ts: Timestamp, table: &TableRef, change: &Change) {
        self.note_of_columns(ts, table, change);
        let Some(key) = key_of_row(change) else { return };
        let lacks = |index: &IndexRef| index.index.store().cut() < ts;
        if table.indexes().iter().any(lacks) {
            add(&mut self.changed.entry(table.id()).or_default().rows, key, ts);
        }
    }

    /// Column indexes of a table were not fed this change: where rows went, they want to know, too.
    pub(super) fn note_of_columns(&mut self, ts: Timestamp, table: &TableRef, change: &Change) {
        let Some(key) = change.key() else { return };
        let columns = table.column_indexes();
        let lacks = |index: &Arc<ColumnIndex>| index.lacks(ts);
        if columns.iter().filter_map(|columns| columns.index.as_ref()).any(lacks) {
            add(&mut self.changed.entry(table.id()).or_default().of_columns, key, ts);
        }
    }

    /// The commit of `ts` makes an index of the rows of a table.
    pub(super) fn note_made(&mut self, index: &IndexRef, ts: Timestamp) {
        let made = Made { table: index.index.table(), from: index.index.store().cut(), to: ts };
        self.made.insert(index.id(), made);
    }

    /// The files that a commit attaches to an index have the entries of everything up to here.
    pub(super) fn note_filled(&mut self, index: TableId, up_to: Timestamp) {
        if let Some(made) = self.made.get_mut(&index) {
            made.from = made.from.max(up_to);
        }
    }

    /// By table: the time in which some index of it was not there to be fed.
    fn missed(&self) -> BTreeMap<TableId, Made> {
        let mut missed: BTreeMap<TableId, Made> = BTreeMap::new();
        for made in self.made.values() {
            let all = missed.entry(made.table).or_insert(*made);
            *all = Made { from: all.from.min(made.from), to: all.to.max(made.to), ..*all };
        }
        missed
    }

    /// Whether an index was made of rows that were there.
    pub(super) fn has_made(&self) -> bool {
        !self.made.is_empty()
    }

    /// Reads the log again for the rows that changed before an index was there to be fed; a log that somebody writes up
    /// to where that one has announced it.
    pub(super) fn read_missed(&mut self, env: &Env, services: &Services, announced: Option<Lsn>) -> Result<()> {
        let missed = self.missed();
        let Some(last) = missed.values().map(|made| made.to).max() else { return Ok(()) };
        if active(Fault::FORGET_MISSED_ROWS) {
            return Ok(());
        }
        let mut reader = match announced {
            None => read_log(env, services.files.dir())?,
            Some(announced) => read_live_log_from(env, services.files.dir(), announced, Lsn(0))?,
        };
        let from = missed.values().map(|made| made.from).min().unwrap_or_default();
        if announced.is_some()
            && let Some((name, before)) = reader.begins().filter(|(_, before)| *before > from)
        {
            let what = format!("an index was made of what changed since {from}; {name} begins behind commit {before}");
            return Err(Error::new(Code::UndefinedFile, what).hint("join anew: the log was cut before it was followed"));
        }
        while let Some(entry) = reader.next()? {
            let (ts, changes) = match entry.record {
                Record::Commit { ts, .. } if ts > last => break,
                Record::Commit { ts, changes, .. } => (ts, changes),
                // Whether and when it was committed does not matter: what is alive at the end does.
                Record::Chunk { changes, .. } => (last, changes),
                Record::Abort { .. } | Record::Layout { .. } | Record::Page { .. } => continue,
            };
            for change in ChangeDecoder::new(changes) {
                let LoggedChange::Table { table, change, .. } = change? else { continue };
                let made = missed.get(&table).filter(|made| ts > made.from).map(|made| made.to);
                if let (Some(made), Some(key)) = (made, key_of_row(&change)) {
                    add(&mut self.changed.entry(table).or_default().rows, key, ts.min(made));
                }
            }
        }
        Ok(())
    }

    /// Gives each index the entries of these rows. `give_up` leaves out a table of which a file cannot be read.
    /// A follower's column indexes get what they lack by a switch.
    pub(super) fn feed(
        self,
        catalog: &Catalog,
        follows: bool,
        mut give_up: impl FnMut(TableId, &Error) -> Result<()>,
    ) -> Result<()> {
        if active(Fault::FORGET_REDO_ENTRY) {
            return Ok(());
        }
        let fed: BTreeSet<TableId> = self.changed.keys().copied().collect();
        self.feed_rows(catalog, follows, &mut give_up)?;
        // The others have missed nothing.
        let others = catalog.all().into_iter().filter_map(Relation::into_columns);
        let others = others.filter(|columns| !fed.contains(&columns.table())).filter_map(|columns| columns.index);
        others.for_each(|index| index.note_lacking(std::iter::empty()));
        Ok(())
    }

    fn feed_rows(
        self,
        catalog: &Catalog,
        follows: bool,
        give_up: &mut impl FnMut(TableId, &Error) -> Result<()>,
    ) -> Result<()> {
        for (id, changed) in self.changed {
            let Some(table) = catalog.table_by_id(id).filter(|table| table.drop_ts() == Timestamp::MAX) else {
                continue;
            };
            let (indexes, columns) = (table.indexes(), table.column_indexes());
            let columns: Vec<&ColumnIndex> = columns.iter().filter_map(|columns| columns.index.as_deref()).collect();
            let fed = if table.table.unavailable().is_some() {
                Ok(false)
            } else {
                feed_rows(&table, &indexes, (&columns, follows), &changed)
            };
            if let Err(error) = &fed {
                if !concerns_files(error) {
                    return fed.map(|_| ());
                }
                give_up(id, error)?;
            }
            if !matches!(fed, Ok(true)) {
                indexes.iter().for_each(|index| leave_unfed(index, &changed.rows));
                let error = fed.err().or_else(|| table.table.unavailable().cloned());
                let rows = &changed.of_columns;
                let lacking = |index: &ColumnIndex| rows.values().filter(|ts| index.lacks(**ts)).min().copied();
                for (index, ts) in columns.iter().filter_map(|index| Some((index, lacking(index)?))) {
                    let unfed = || Error::internal(format!("table {:?} cannot be read", table.def.name));
                    index.give_up(ts, &error.clone().unwrap_or_else(unfed));
                }
            }
        }
        Ok(())
    }
}

/// A row, and a time when it changed: the latest counts, or an index that has the earlier one in files would seem to
/// have both.
fn add(rows: &mut Rows, key: &[u8], ts: Timestamp) {
    match rows.get_mut(key) {
        Some(last) => *last = ts.max(*last),
        None => drop(rows.insert(key.to_vec(), ts)),
    }
}

/// Gives column indexes the rows of these keys as they are at the end.
fn amend(table: &TableRef, columns: &[&ColumnIndex], rows: &Rows) -> Result<()> {
    for index in columns {
        if active(Fault::COLUMNS_FORGET_AMENDMENTS) {
            continue;
        }
        index.amend(rows.iter().map(|(key, ts)| (&key[..], *ts)), |key| table.table.read_row(key, Timestamp::MAX))?;
    }
    Ok(())
}

/// An index that lacks one of these rows is not carried on from where it is: which commit it lacks first nobody knows.
fn leave_unfed(index: &IndexRef, rows: &Rows) {
    let cut = index.index.store().cut();
    if rows.values().any(|&ts| ts > cut) {
        index.index.store().leave_unfed(cut.next());
    }
}

fn feed_rows(
    table: &TableRef,
    indexes: &[IndexRef],
    (columns, follows): (&[&ColumnIndex], bool),
    Changed { rows, of_columns }: &Changed,
) -> Result<bool> {
    match follows {
        true => columns.iter().for_each(|index| index.note_lacking(of_columns.values().copied())),
        false => amend(table, columns, of_columns)?,
    }
    let mut value = Vec::new();
    for (key, ts) in rows {
        // What an index has in its files is read no more: a part that cannot be read concerns who needs it.
        if indexes.iter().all(|index| index.index.store().cut() >= *ts) {
            continue;
        }
        if let Some(newest) = table.table.newest(key)?
            && let Some(row) = table.table.read_row(key, Timestamp::MAX)?
        {
            indexes.iter().for_each(|index| index.index.add_row(key, &row, newest.insert_ts, &mut value));
        }
    }
    Ok(true)
}
