//! What a serializable transaction has read, and whether a commit changed it.
//!
//! ```text
//!   SELECT sum(v) FROM t WHERE g = 7    scan of t { g = 7 }, columns {g, v}
//!   another commits (k 3: g 7 → 8)      the version of k 3 that the snapshot shows satisfies g = 7     conflict
//!   another commits (k 4: g 9, new)     neither before nor after                                       none
//!   another commits (k 5: name)         a column that the scan did not read                            none
//! ```
//!
//! 1. A read is noted before its result is seen.
//! 2. A scan's conditions describe at least every row that it looked at: rows left out by the statement later on, or
//!    never asked for because of a LIMIT, count as read.
//!
//! Source: precision locking (Jordan, Banerjee and Batman, 1981) as Neumann, Mühlbauer and Kemper validate with it
//! (SIGMOD 2015, section 4.2).

use std::collections::HashMap;

use weft_env::sync::Mutex;
use weft_format::predicate::Predicate;
use weft_format::{Result, TableId, Timestamp};

use super::recent::{CommittedWrites, TableCommit};
use crate::catalog::TableRef;
use crate::fault::{Fault, active};
use crate::lock::ColumnSet;
use crate::table::{Base, LOCATION, Staged};

/// How many keys of a table are remembered one by one; beyond, the whole table counts as read.
const KEYS_MAX: usize = 100_000;

/// The reads of one transaction.
#[derive(Default)]
pub struct ReadSet {
    tables: Mutex<HashMap<TableId, TableReads>>,
}

#[derive(Default)]
struct TableReads {
    keys: HashMap<Box<[u8]>, ColumnSet>,
    scans: Vec<ScanRead>,
}

struct ScanRead {
    predicates: Vec<Predicate>,
    /// What it returned and what it tested.
    columns: ColumnSet,
}

impl ReadSet {
    /// A row was read by its key, or was found missing.
    pub(crate) fn note_key(&self, table: TableId, key: &[u8], columns: ColumnSet) {
        let mut tables = self.tables.lock();
        let reads = tables.entry(table).or_default();
        if let Some(known) = reads.keys.get_mut(key) {
            *known = known.union(columns);
        } else if reads.keys.len() < KEYS_MAX {
            reads.keys.insert(key.into(), columns);
        } else {
            reads.note_scan(&[], ColumnSet::ALL);
        }
    }

    /// A scan was started.
    pub(crate) fn note_scan(&self, table: TableId, predicates: &[Predicate], projection: &[usize]) {
        let tested = predicates.iter().map(Predicate::column);
        let columns = projection.iter().copied().filter(|&column| column != LOCATION).chain(tested).collect();
        self.tables.lock().entry(table).or_default().note_scan(predicates, columns);
    }

    /// Whether a commit behind the snapshot changed something that was read; the table's name then.
    pub(super) fn changed_by(&self, commit: &CommittedWrites, read_ts: Timestamp) -> Result<Option<String>> {
        let tables = self.tables.lock();
        for TableCommit { table, writes, has_files } in &commit.tables {
            let Some(reads) = tables.get(&table.def.id) else { continue };
            let Some(writes) = writes else { return Ok(Some(table.def.name.clone())) };
            if *has_files && !(reads.keys.is_empty() && reads.scans.is_empty()) {
                return Ok(Some(table.def.name.clone()));
            }
            for (key, staged) in &writes.rows {
                if reads.changed_by(table, key, staged, commit.mixed, read_ts)? {
                    return Ok(Some(table.def.name.clone()));
                }
            }
        }
        Ok(None)
    }
}

impl TableReads {
    fn note_scan(&mut self, predicates: &[Predicate], columns: ColumnSet) {
        match self.scans.iter_mut().find(|scan| scan.predicates == predicates) {
            Some(scan) => scan.columns = scan.columns.union(columns),
            None => self.scans.push(ScanRead { predicates: predicates.to_vec(), columns }),
        }
    }

    fn changed_by(
        &self,
        table: &TableRef,
        key: &[u8],
        staged: &Staged,
        mixed: bool,
        read_ts: Timestamp,
    ) -> Result<bool> {
        let changed: Option<ColumnSet> = match (&staged.base, &staged.row) {
            (Base::Free, None) => return Ok(false),
            (Base::Version(..), Some(_)) => Some(staged.columns.iter().copied().collect()),
            _ => None,
        };
        let touches = |columns: ColumnSet| changed.is_none_or(|changed| changed.meets(columns));
        if self.keys.get(key).is_some_and(|&columns| touches(columns)) {
            return Ok(true);
        }
        let mut before = None;
        let scans = if active(Fault::ValidateKeysOnly) { &[] } else { &self.scans[..] };
        for scan in scans.iter().filter(|scan| touches(scan.columns)) {
            if scan.predicates.is_empty() || scan.may_hold_after(table, staged, mixed) {
                return Ok(true);
            }
            if before.is_none() {
                let forgets = active(Fault::ForgetBeforeImage);
                before = Some(if forgets { None } else { table.table.read_row(key, read_ts)? });
            }
            if let Some(Some(row)) = &before
                && scan.predicates.iter().all(|predicate| predicate.matches(table.codec.get(row, predicate.column())))
            {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

impl ScanRead {
    /// Whether the row as the commit left it satisfies the conditions. When transactions wrote different columns of
    /// one row at once (`mixed`), nobody knows here what stands in the columns that this one did not set; key columns
    /// never change.
    fn may_hold_after(&self, table: &TableRef, staged: &Staged, mixed: bool) -> bool {
        let Some(row) = &staged.row else { return false };
        let partial = mixed && staged.is_partial();
        self.predicates.iter().all(|predicate| {
            let column = predicate.column();
            let known = !partial || staged.columns.contains(&column) || table.def.schema.key.contains(&column);
            !known || predicate.matches(table.codec.get(row, column))
        })
    }
}
