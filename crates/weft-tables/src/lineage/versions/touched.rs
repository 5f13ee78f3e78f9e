//! Rows of a block with more than the version of their page, or none on it.

use std::collections::BTreeSet;

use weft_format::{BLOCK_ROWS, Result};

use super::super::files::history_key;
use super::super::scan::RowIds;
use super::super::shapes::{ROW_ID, UNTIL};
use super::plan::VersionPlan;

impl VersionPlan {
    /// Rows among some with a record that the snapshot sees, or with a change in history that the period looks behind.
    pub(super) fn touched(&self, rows: &RowIds) -> Result<BTreeSet<u64>> {
        let mut touched = BTreeSet::new();
        self.scan.add_recorded(rows, |row_id| {
            touched.insert(row_id);
        });
        let after = self.period.after;
        for past in self.scan.layout.base.past.iter().filter(|past| past.to > after) {
            let (table, cache) = (&past.file.table, past.file.cache());
            let mut position = table.lower_bound(cache, &history_key(rows.start, 0))?;
            let end = table.lower_bound(cache, &history_key(rows.end, 0))?;
            while position < end {
                let block = position as usize / BLOCK_ROWS;
                let (row_ids, untils) = (table.block(cache, ROW_ID, block)?, table.block(cache, UNTIL, block)?);
                let first = (block * BLOCK_ROWS) as u32;
                let block_end = end.min(first + table.block_rows(block) as u32);
                for at in (position..block_end).map(|position| (position - first) as usize) {
                    let number = |of: &weft_format::Block| of.int_at(at).unwrap_or_default().cast_unsigned();
                    if number(&untils) > after.0 {
                        touched.insert(number(&row_ids));
                    }
                }
                position = block_end;
            }
        }
        Ok(touched)
    }
}
