//! Rows in the order of their keys, own writes among them.
//!
//! ```text
//!   table   3  5  7  9 ..        own   4, 5 changed, 7 deleted        limit 3      3  4  5 (own)
//! ```
//!
//! 1. The table is asked for as many rows as are wanted; what it gives covers the range up to its last key, or all of
//!    it. Own rows within that are put between; those behind it are not looked at yet.

use std::ops::Bound;

use weft_contract::{Direction, NoteReads, Ordered, OrderedRows, TableWrites, Wanted};
use weft_format::{KeyRange, Predicate, Result, Value};

use super::transaction::Transaction;
use crate::catalog::TableRef;

/// What is wanted of a table's rows by a range of its keys.
#[derive(Clone, Copy, Debug)]
pub struct RowRange<'a> {
    /// Conditions on the first columns of the key, which bound it; what else they say is not tested.
    pub predicates: &'a [Predicate],
    /// From which end on.
    pub direction: Direction,
    /// Behind this key.
    pub after: Option<&'a [u8]>,
    /// At most so many rows.
    pub limit: usize,
    /// Ordinals of the columns that are wanted.
    pub columns: &'a [usize],
}

impl Transaction {
    /// The first rows of a range of keys; true: there may be more. None when the table gives out no rows by the order of
    /// their keys, or has files of this transaction that are not attached yet.
    pub fn range_rows(&self, t: &TableRef, range: RowRange<'_>) -> Result<Option<(OrderedRows, bool)>> {
        self.check_kept(t)?;
        let Some(ordered) = t.table.ordered().filter(|_| !self.has_files(t)) else { return Ok(None) };
        if let Some(reads) = &self.reads {
            reads.note_scan(t.id(), range.predicates, range.columns);
        }
        let mut keys = KeyRange::new(&t.def.schema, &t.keys, range.predicates);
        if let Some(after) = range.after {
            keys = range.direction.rest(keys, after);
        }
        let own = self.shown_writes(t).map(|writes| &**writes).filter(|writes| has_some(writes, &keys));
        let mut rows = OrderedRows::default();
        let more = match own {
            None => self.read_first(t, ordered, &keys, range, &mut rows)?,
            Some(own) => self.read_beside(t, ordered, (keys, own), range, &mut rows)?,
        };
        assert!(rows.len() <= range.limit, "no more rows are given than were wanted");
        assert!(rows.values.len() == rows.len() * range.columns.len(), "each row has a value of each column");
        Ok(Some((rows, more)))
    }

    fn read_first(
        &self,
        t: &TableRef,
        ordered: &dyn Ordered,
        keys: &KeyRange,
        range: RowRange<'_>,
        rows: &mut OrderedRows,
    ) -> Result<bool> {
        let RowRange { direction, limit, columns, .. } = range;
        if keys.is_empty() || limit == 0 {
            return Ok(!keys.is_empty());
        }
        let wanted = Wanted { range: keys, direction, limit, read_ts: self.read_ts, columns };
        ordered.read_first(&t.codec, wanted, rows)
    }

    /// The same with own rows between (ranges 1).
    fn read_beside(
        &self,
        t: &TableRef,
        ordered: &dyn Ordered,
        (mut keys, own): (KeyRange, &TableWrites),
        range: RowRange<'_>,
        rows: &mut OrderedRows,
    ) -> Result<bool> {
        loop {
            let mut found = OrderedRows::default();
            let limit = range.limit - rows.len();
            let more = self.read_first(t, ordered, &keys, RowRange { limit, ..range }, &mut found)?;
            let last = found.keys.last().cloned().filter(|_| more);
            let rest = last.as_ref().map(|last| range.direction.rest(keys.clone(), last));
            let covered = match (&last, range.direction) {
                (None, _) => keys.clone(),
                (Some(last), Direction::Forward) => KeyRange { to: Some([last, &[0][..]].concat()), ..keys.clone() },
                (Some(last), Direction::Backward) => KeyRange { from: last.clone(), ..keys.clone() },
            };
            merge(t, found, (own, &covered), range, rows);
            if rows.len() >= range.limit {
                let more = rows.len() > range.limit || rest.is_some_and(|rest| !rest.is_empty());
                rows.keys.truncate(range.limit);
                rows.values.truncate(range.limit * range.columns.len());
                return Ok(more);
            }
            match rest {
                Some(rest) => keys = rest,
                None => return Ok(false),
            }
        }
    }
}

/// The bounds of a range, as maps take them.
fn bounds(range: &KeyRange) -> (Bound<&[u8]>, Bound<&[u8]>) {
    (Bound::Included(range.from.as_slice()), range.to.as_deref().map_or(Bound::Unbounded, Bound::Excluded))
}

/// Whether something of a range was written.
fn has_some(writes: &TableWrites, range: &KeyRange) -> bool {
    !range.is_empty() && writes.rows.range::<[u8], _>(bounds(range)).next().is_some()
}

/// Adds rows of a table and own ones of the range that these cover, by key; an own row hides that of its key.
fn merge(
    t: &TableRef,
    found: OrderedRows,
    (own, covered): (&TableWrites, &KeyRange),
    range: RowRange<'_>,
    rows: &mut OrderedRows,
) {
    let RowRange { direction, columns, .. } = range;
    if covered.is_empty() {
        return;
    }
    let staged = own.rows.range::<[u8], _>(bounds(covered));
    let mut staged: Vec<_> = staged.collect();
    // The next one is the last.
    if direction == Direction::Forward {
        staged.reverse();
    }
    let put_own = |rows: &mut OrderedRows, key: &[u8], row: &[u8]| {
        rows.keys.push(key.to_vec());
        rows.values.extend(columns.iter().map(|&column| t.codec.get(row, column).to_value()));
    };
    let mut values = found.values.into_iter();
    for key in found.keys {
        while let Some((own_key, own)) = staged.pop_if(|(own_key, _)| direction.is_before(own_key, &key)) {
            own.row.iter().for_each(|row| put_own(rows, own_key, row));
        }
        let stored: Vec<Value> = values.by_ref().take(columns.len()).collect();
        match staged.pop_if(|(own_key, _)| ***own_key == *key) {
            Some((own_key, own)) => own.row.iter().for_each(|row| put_own(rows, own_key, row)),
            None => {
                rows.keys.push(key);
                rows.values.extend(stored);
            }
        }
    }
    while let Some((own_key, own)) = staged.pop() {
        own.row.iter().for_each(|row| put_own(rows, own_key, row));
    }
}
