//! Scans whose conditions name a key: of its row alone.
//!
//! ```text
//!   WHERE id = 7 AND v > 3      id is the key: the row ids of 7, no block        v > 3 is tested as always
//! ```

use std::sync::atomic::{AtomicUsize, Ordering};

use weft_format::{CompareOp, Predicate, Result, Schema, Value};

use super::super::layout::Layout;
use super::super::store::Store;

/// The rows of a key: one for each time that it came back by a bulk load.
pub(super) struct Only {
    row_ids: Vec<u64>,
    taken: AtomicUsize,
}

impl Only {
    /// The rows that can satisfy the predicates, when these name a key.
    pub(super) fn new(
        store: &Store,
        layout: &Layout,
        schema: &Schema,
        predicates: &[Predicate],
    ) -> Result<Option<Only>> {
        let Some(key) = key_of(store, schema, predicates) else { return Ok(None) };
        let mut row_ids = layout.row_ids(&key).collect::<Result<Vec<u64>>>()?;
        // A key that a load brought, and then a row by itself, has one of them twice.
        row_ids.sort_unstable();
        row_ids.dedup();
        Ok(Some(Only { row_ids, taken: AtomicUsize::new(0) }))
    }

    /// One that nobody took.
    pub(super) fn next(&self) -> Option<u64> {
        self.row_ids.get(self.taken.fetch_add(1, Ordering::Relaxed)).copied()
    }
}

/// The key that all rows have which satisfy the predicates, when these name one.
fn key_of(store: &Store, schema: &Schema, predicates: &[Predicate]) -> Option<Vec<u8>> {
    let value = |&ordinal: &usize| {
        predicates.iter().find_map(|predicate| match predicate {
            Predicate::Compare { column, op: CompareOp::Eq, value } if *column == ordinal && !value.is_null() => {
                Some(value)
            }
            _ => None,
        })
    };
    let values: Vec<&Value> = schema.key.iter().map(value).collect::<Option<_>>()?;
    Some(store.keys.encode(values.into_iter().map(Value::as_ref)))
}
