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
//! 2. Where there is no memory for more, the table being read counts as read whole: never less than what was read.
//! 3. A scan's conditions describe at least every row that it looked at: rows left out by the statement later on, or
//!    never asked for because of a LIMIT, count as read.
//!
//! Source: precision locking (Jordan, Banerjee and Batman, 1981) as Neumann, Mühlbauer and Kemper validate with it
//! (SIGMOD 2015, section 4.2).

use std::collections::HashMap;
use std::sync::Arc;

use weft_contract::{Base, LOCATION, NoteReads, Staged};
use weft_env::sync::Mutex;
use weft_format::predicate::Predicate;
use weft_format::{Result, TableId, Timestamp};

use super::bookkeeping::Bookkeeping;
use super::recent::{CommittedWrites, TableCommit};
use crate::catalog::TableRef;
use crate::fault::{Fault, active};
use crate::lock::ColumnSet;

/// What a key that was read costs beside its bytes, and a scan beside its conditions, about.
const READ_BYTES: u64 = 64;
/// What a condition costs, about.
const PREDICATE_BYTES: u64 = 96;

/// The reads of one transaction.
pub struct ReadSet {
    tables: Mutex<HashMap<TableId, TableReads>>,
    bookkeeping: Arc<Bookkeeping>,
}

#[derive(Default)]
struct TableReads {
    keys: HashMap<Box<[u8]>, ColumnSet>,
    scans: Vec<ScanRead>,
    /// Charged.
    bytes: u64,
    /// All of it counts as read.
    whole: bool,
}

struct ScanRead {
    predicates: Vec<Predicate>,
    /// What it returned and what it tested.
    columns: ColumnSet,
}

impl ReadSet {
    /// Nothing was read yet.
    pub(super) fn new(bookkeeping: &Arc<Bookkeeping>) -> ReadSet {
        ReadSet { tables: Mutex::default(), bookkeeping: Arc::clone(bookkeeping) }
    }

    /// A row was read by its key, or was found missing.
    pub(crate) fn note_key(&self, table: TableId, key: &[u8], columns: ColumnSet) {
        let mut tables = self.tables.lock();
        let reads = tables.entry(table).or_default();
        if let Some(known) = reads.keys.get_mut(key) {
            *known = known.union(columns);
        } else if reads.take(&self.bookkeeping, READ_BYTES + key.len() as u64) {
            reads.keys.insert(key.into(), columns);
        }
    }

    /// The tables of which something was read.
    pub(super) fn tables(&self) -> Vec<TableId> {
        self.tables.lock().keys().copied().collect()
    }

    /// Whether a commit behind the snapshot changed something that was read; the table's name then.
    pub(super) fn changed_by(&self, commit: &CommittedWrites, read_ts: Timestamp) -> Result<Option<String>> {
        assert!(commit.ts > read_ts, "what the snapshot shows was no change beside it");
        let tables = self.tables.lock();
        for TableCommit { table, writes, has_files } in &commit.tables {
            let Some(reads) = tables.get(&table.def.id) else { continue };
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

impl NoteReads for ReadSet {
    fn note_scan(&self, table: TableId, predicates: &[Predicate], projection: &[usize]) {
        let tested = predicates.iter().map(Predicate::column);
        let columns = projection.iter().copied().filter(|&column| column != LOCATION).chain(tested).collect();
        let mut tables = self.tables.lock();
        let reads = tables.entry(table).or_default();
        if let Some(scan) = reads.scans.iter_mut().find(|scan| scan.predicates == predicates) {
            scan.columns = scan.columns.union(columns);
        } else if reads.take(&self.bookkeeping, READ_BYTES + PREDICATE_BYTES * predicates.len() as u64) {
            reads.scans.push(ScanRead { predicates: predicates.to_vec(), columns });
        }
    }
}

impl Drop for ReadSet {
    fn drop(&mut self) {
        self.bookkeeping.release(self.tables.get_mut().values().map(|reads| reads.bytes).sum());
    }
}

impl TableReads {
    fn check(&self) {
        assert!(
            !self.whole || self.keys.is_empty(),
            "of a table that counts as read whole no keys are noted (reads 2)"
        );
        assert!(!self.whole || self.bytes == 0, "a table that counts as read whole takes no memory (reads 2)");
        let is_all = |scan: &ScanRead| scan.predicates.is_empty() && scan.columns == ColumnSet::ALL;
        assert!(
            !self.whole || self.scans.iter().any(is_all),
            "a table that counts as read whole has a scan of all its rows (reads 2)"
        );
    }

    /// Takes memory for a read more; false when the table counts as read whole, from now on at the latest (reads 2).
    fn take(&mut self, bookkeeping: &Bookkeeping, bytes: u64) -> bool {
        self.check();
        if self.whole {
            return false;
        }
        if !bookkeeping.is_full(bytes) {
            bookkeeping.charge(bytes);
            self.bytes += bytes;
            return true;
        }
        bookkeeping.release(std::mem::take(&mut self.bytes));
        self.keys = HashMap::new();
        self.scans = vec![ScanRead { predicates: Vec::new(), columns: ColumnSet::ALL }];
        self.whole = true;
        false
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
        let scans = if active(Fault::VALIDATE_KEYS_ONLY) { &[] } else { &self.scans[..] };
        for scan in scans.iter().filter(|scan| touches(scan.columns)) {
            if scan.predicates.is_empty() || scan.may_hold_after(table, staged, mixed) {
                return Ok(true);
            }
            if before.is_none() {
                let forgets = active(Fault::FORGET_BEFORE_IMAGE);
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
