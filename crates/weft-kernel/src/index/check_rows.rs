//! Compares an index with its table, as of one snapshot.
//!
//! ```text
//!   row (5, 'e@x')   lookup 'e@x' → 5, 9    5 is there: it has its entry
//!   row (9, 'e@x')                          9 has 'e@x' at the snapshot, too: not unique; told once, by the lesser key
//!   row (7, NULL)    lookup NULL → 3, 7     7 is there; NULL is different from everything
//! ```
//!
//! 1. Every row that the index has (its predicate's) has an entry by its value.
//! 2. No two rows of the snapshot have the same value of a unique index, none of its parts NULL.
//!
//! Memory: one row at a time. A duplicate without an entry is told as a row without one.

use std::sync::Arc;

use weft_contract::Table;
use weft_expr::text;
use weft_format::{Result, Timestamp};

use super::Index;

/// More findings of a kind than this are not told.
const TOLD_MAX: usize = 10;

impl Index {
    /// Tests the rows of the table: what is wrong, one line each.
    pub(super) fn check_rows(&self) -> Result<Vec<String>> {
        let Some(table) = self.rows.table.upgrade() else { return Ok(Vec::new()) };
        let timeline = &self.store().context.services.timeline;
        let read_ts = timeline.register();
        let wrong = self.wrong_rows(&*table, read_ts);
        timeline.release(read_ts);
        wrong
    }

    fn wrong_rows(&self, table: &dyn Table, read_ts: Timestamp) -> Result<Vec<String>> {
        let (mut missing, mut twice) = (Vec::new(), Vec::new());
        let mut value = Vec::new();
        super::scan_rows::for_each_row(table, &self.rows.schema, read_ts, |batch| {
            let rows = self.rows.codec.encode_columns(batch.columns());
            for row in rows.iter().filter(|row| self.has_row(row)) {
                let key = self.rows.keys.of_row(&self.rows.codec, row);
                let has_null = match self.put_row(row, &mut value) {
                    Ok(has_null) => has_null,
                    Err(error) => {
                        let name = self.table_name();
                        missing.push(format!(
                            "a row of table {name:?} cannot be indexed: {error} (key {})",
                            self.key_text(&key)
                        ));
                        continue;
                    }
                };
                let is_tested = self.is_unique() && !has_null;
                let mut found = false;
                let mut cursor = self.store().lookup(&value)?;
                while let Some(entry) = cursor.next()? {
                    found |= entry.key == key;
                    if is_tested && *entry.key > key[..] && self.has_value(table, entry.key, &value, read_ts)? {
                        twice.push(self.told_twice(row, &key, entry.key));
                    }
                }
                if !found {
                    let name = self.table_name();
                    missing.push(format!("a row of table {name:?} has no entry (key {})", self.key_text(&key)));
                }
            }
            missing.truncate(TOLD_MAX);
            twice.truncate(TOLD_MAX);
            Ok(())
        })?;
        missing.append(&mut twice);
        Ok(missing)
    }

    /// Whether a snapshot shows a row of a key that the index has by a value.
    fn has_value(&self, table: &dyn Table, key: &[u8], value: &[u8], read_ts: Timestamp) -> Result<bool> {
        let row: Option<Arc<[u8]>> = table.read_row(key, read_ts)?;
        Ok(row.is_some_and(|row| self.has_row_by(&row, value, &mut Vec::with_capacity(value.len()))))
    }

    fn told_twice(&self, row: &[u8], key: &[u8], other: &[u8]) -> String {
        let values = self.row_values(row).unwrap_or_default();
        let types = self.parts().iter().map(|part| part.data_type(&self.rows.schema));
        let printed: Vec<String> = values.iter().zip(types).map(|(v, of)| text::print(v.as_ref(), of)).collect();
        format!(
            "unique index \"{}\": two rows of table \"{}\" have the same value ({}): those of keys {} and {}; delete \
             or change one of them",
            self.name(),
            self.table_name(),
            printed.join(", "),
            self.key_text(key),
            self.key_text(other)
        )
    }

    /// `(7, zürich)`
    fn key_text(&self, key: &[u8]) -> String {
        let schema = &self.rows.schema;
        let types = schema.key.iter().map(|&at| schema.columns[at].data_type);
        match self.rows.keys.decode(key) {
            Ok(values) => {
                let printed: Vec<String> =
                    values.iter().zip(types).map(|(v, of)| text::print(v.as_ref(), of)).collect();
                format!("({})", printed.join(", "))
            }
            Err(_) => format!("{key:02x?}"),
        }
    }
}
