//! Rows of the view of what documents have in them: a row for each path, and each kind of value there.
//!
//! ```text
//!   SELECT path, type, presence, rows, bytes FROM weft_document_paths WHERE table_name = 't'
//!     $          object   3000   3000   1204      presence: how many values
//!     $.id       number   3000   3000   5120
//!     $.tags     array    2100   3000    310
//!     $.tags[*]  string   6300   3000   9005      of elements there may be more than rows
//! ```
//!
//! 1. What is told is what files say of all versions in them: rows that are in no file yet are not counted, those that
//!    are dead are until a job leaves them behind. `rows` were looked at, of `file_rows` in the files of the table:
//!    documents that are stored as texts are not, and of large tables some blocks are.
//! 2. Memory: a column has at most [`COLUMN_ROWS_MAX`] rows, the view [`VIEW_ROWS_MAX`]. Where there is more, a row
//!    without a path has the bytes of the rest.

use std::collections::BTreeMap;

use weft_format::document::PathRow;
use weft_format::{DataType, Result, Value};
use weft_kernel::{Engine, SchemaId, TableRef};

use super::values::{BIGINT, Columns, TEXT, int, text};
use crate::resolve::PUBLIC;

pub(super) const TABLE_NAME: &str = "table_name";
pub(super) const COLUMNS: Columns = &[
    ("schema", TEXT),
    (TABLE_NAME, TEXT),
    ("column_name", TEXT),
    ("path", TEXT),
    ("type", TEXT),
    ("presence", BIGINT),
    ("rows", BIGINT),
    ("bytes", BIGINT),
    ("files", BIGINT),
    ("file_rows", BIGINT),
];

/// Blocks that are looked at, of a column of a table: all of a table of 8 million rows.
const BLOCKS_MAX: usize = 1_024;
const COLUMN_ROWS_MAX: usize = 1 << 15;
const VIEW_ROWS_MAX: usize = 1 << 18;

/// The rows of all tables, or of those of a name.
pub(super) fn paths(engine: &Engine, only: Option<&str>) -> Result<Vec<Vec<Value>>> {
    let schemas: BTreeMap<u32, String> =
        engine.objects().iter().map(|object| (object.id, object.name.clone())).collect();
    let schema_name = |id: SchemaId| match id {
        SchemaId::PUBLIC => PUBLIC.to_owned(),
        SchemaId(id) => schemas.get(&id).cloned().unwrap_or_else(|| format!("schema {id}")),
    };
    let mut rows = Vec::new();
    for table in engine.tables() {
        if only.is_none_or(|name| table.def.name == name) {
            of_table(&table, &schema_name(table.def.namespace), &mut rows)?;
        }
    }
    Ok(rows)
}

fn of_table(table: &TableRef, schema: &str, rows: &mut Vec<Vec<Value>>) -> Result<()> {
    let Some(fields) = table.table.fields() else { return Ok(()) };
    for (ordinal, column) in table.def.schema.visible() {
        if column.data_type != DataType::Jsonb {
            continue;
        }
        let left = VIEW_ROWS_MAX.saturating_sub(rows.len());
        let paths = fields.paths(ordinal, BLOCKS_MAX, left.min(COLUMN_ROWS_MAX))?;
        let place = [schema, &table.def.name, &column.name].map(text);
        let looked_at = int(paths.summary.rows);
        let file_rows = int(paths.file_rows);
        paths.summary.each(&mut |row: PathRow<'_>| {
            let mut values = place.to_vec();
            values.extend([text(row.path), text(row.kind.name()), int(row.values), looked_at.clone()]);
            values.extend([int(row.bytes), int(row.files), file_rows.clone()]);
            rows.push(values);
        });
        if paths.summary.has_untold {
            let mut values = place.to_vec();
            values.extend([Value::Null, Value::Null, Value::Null, looked_at]);
            values.extend([int(paths.summary.untold_bytes), Value::Null, file_rows]);
            rows.push(values);
        }
    }
    Ok(())
}
