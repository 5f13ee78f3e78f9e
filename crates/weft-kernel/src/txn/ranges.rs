//! Rows in the order of their keys, own writes among them.
//!
//! ```text
//!   table   3  5  7  9 ..        own   4, 5 changed, 7 deleted        limit 3      3  4  5 (own)
//! ```
//!
//! 1. The table is asked for some rows; what it gives covers the range up to the key that it says, or all of it. Own
//!    rows within that are put between; those behind it are not looked at yet.

use std::iter::Peekable;
use std::ops::Bound;
use std::sync::Arc;

use weft_contract::{Direction, NoteReads, OrderedRows, Staged, TableWrites, Wanted};
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
    /// At most so many rows; one at least.
    pub limit: usize,
    /// Ordinals of the columns that are wanted.
    pub columns: &'a [usize],
}

/// Some rows of a range.
#[derive(Debug, Default)]
pub struct RangeRows {
    /// Perhaps none, though the range goes on.
    pub rows: OrderedRows,
    /// The range goes on behind this key; none: it has ended.
    pub behind: Option<Vec<u8>>,
}

/// Own writes to a range, in the order of the walk.
type Own<'a> = Peekable<Box<dyn Iterator<Item = (&'a Arc<[u8]>, &'a Staged)> + 'a>>;

impl Transaction {
    /// The first rows of a range of keys. None when the table gives out no rows by the order of their keys, or has
    /// files of this transaction that are not attached yet.
    pub fn range_rows(&self, t: &TableRef, range: RowRange<'_>) -> Result<Option<RangeRows>> {
        assert!(range.limit > 0, "who asks wants a row at least");
        self.check_kept(t)?;
        let Some(ordered) = t.table.ordered().filter(|_| !self.has_files(t)) else { return Ok(None) };
        if let Some(reads) = &self.reads {
            reads.note_scan(t.id(), range.predicates, range.columns);
        }
        let mut keys = KeyRange::new(&t.def.schema, &t.keys, range.predicates);
        if let Some(after) = range.after {
            keys = range.direction.rest(keys, after);
        }
        if keys.is_empty() {
            return Ok(Some(RangeRows::default()));
        }
        let RowRange { direction, limit, columns, .. } = range;
        let wanted = Wanted { range: &keys, direction, limit, read_ts: self.read_ts, columns };
        let mut found = OrderedRows::default();
        let mut behind = ordered.read_first(&t.codec, wanted, &mut found)?;
        let covered = match (&behind, direction) {
            (None, _) => keys.clone(),
            (Some(last), Direction::Forward) => KeyRange { to: Some([last, &[0][..]].concat()), ..keys.clone() },
            (Some(last), Direction::Backward) => KeyRange { from: last.clone(), ..keys.clone() },
        };
        let mut rows = found;
        if let Some(mut own) = self.shown_writes(t).and_then(|writes| own_of(writes, &covered, direction)) {
            rows = merge(t, rows, &mut own, range);
            if rows.len() == limit {
                behind = rows.keys.last().cloned();
            }
        }
        assert!(rows.len() <= limit, "no more rows are given than were wanted");
        assert!(rows.values.len() == rows.len() * columns.len(), "each row has a value of each column");
        Ok(Some(RangeRows { rows, behind }))
    }
}

/// Own writes to a range; none: there is none.
fn own_of<'a>(writes: &'a TableWrites, range: &KeyRange, direction: Direction) -> Option<Own<'a>> {
    let to = range.to.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
    let found = writes.rows.range::<[u8], _>((Bound::Included(range.from.as_slice()), to));
    let found: Box<dyn Iterator<Item = _>> = match direction {
        Direction::Forward => Box::new(found),
        Direction::Backward => Box::new(found.rev()),
    };
    let mut found = found.peekable();
    found.peek().is_some().then_some(found)
}

/// The first rows of those of a table and own ones of the range that these cover; an own row hides that of its key.
fn merge(t: &TableRef, found: OrderedRows, own: &mut Own<'_>, range: RowRange<'_>) -> OrderedRows {
    let RowRange { direction, columns, limit, .. } = range;
    let mut rows = OrderedRows::default();
    let put_own = |rows: &mut OrderedRows, (key, staged): (&Arc<[u8]>, &Staged)| {
        if let Some(row) = &staged.row {
            rows.keys.push(key.to_vec());
            rows.values.extend(columns.iter().map(|&column| t.codec.get(row, column).to_value()));
        }
    };
    let mut values = found.values.into_iter();
    for key in found.keys {
        while rows.len() < limit
            && let Some(before) = own.next_if(|(own_key, _)| direction.is_before(own_key, &key))
        {
            put_own(&mut rows, before);
        }
        if rows.len() == limit {
            return rows;
        }
        let stored: Vec<Value> = values.by_ref().take(columns.len()).collect();
        match own.next_if(|(own_key, _)| ***own_key == *key) {
            Some(own) => put_own(&mut rows, own),
            None => {
                rows.keys.push(key);
                rows.values.extend(stored);
            }
        }
    }
    while rows.len() < limit
        && let Some(own) = own.next()
    {
        put_own(&mut rows, own);
    }
    rows
}
