//! What the files of a table know of the paths of its documents, from the fronts of blocks from all over them.
//!
//! ```text
//!   blocks with documents as columns    t12-5: 0 1 2    t12-9: 0 1 2 3 4      8 of them, 4 are wanted
//!   looked at                                  0   2             1   3        every second
//! ```
//!
//! A file that has not the column, and blocks that are texts, are not looked at; their rows count as rows of files.

use std::sync::Arc;

use weft_contract::Paths;
use weft_format::Result;
use weft_format::document::PathSummary;

use super::columns::Columns;
use super::part::Part;

/// Of so many blocks at most, in so many rows at most.
pub(super) fn paths(columns: &Columns, column: usize, block_count_max: usize, row_count_max: usize) -> Result<Paths> {
    let blocks = |part: &Arc<Part>| {
        let has_column = column < part.table.column_count();
        let count = if has_column { part.table.block_count() } else { 0 };
        let part = Arc::clone(part);
        (0..count).filter(move |&block| part.table.is_documents(column, block))
    };
    let count: usize = columns.parts.iter().map(|part| blocks(part).count()).sum();
    let wanted = count.min(block_count_max);
    let mut summary = PathSummary::new(row_count_max);
    // Each block has a share of the next one that is looked at; of one block it is the middle one.
    let mut shares = count / 2;
    for part in &columns.parts {
        for block in blocks(part) {
            shares += wanted;
            if shares >= count {
                shares -= count;
                part.table.add_paths(part.cache(), (column, block), &mut summary)?;
            }
        }
    }
    Ok(Paths { summary, file_rows: columns.rows })
}
