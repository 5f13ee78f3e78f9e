//! The rows of JSON_TABLE, each as an array of cells.
//!
//! ```text
//!   [{"a": 1, "c": [5, 6]}, {"a": "x"}]
//!   '$[*]' COLUMNS (n FOR ORDINALITY, a int PATH '$.a', NESTED '$.c[*]' COLUMNS (d int PATH '$'))
//!
//!   [1, [1], [5]]    [1, [1], [6]]    [2, ["x"], null]
//! ```
//!
//! 1. A row of a level stands once for each row of the levels within it, which have rows of their own, and once if
//!    there are none. Cells of levels that a row is not of are null.
//! 2. A cell has what the path found, and not the document that it found it in: rows are as long as their columns.

use weft_format::{ArrayValue, DataType, Result, Value, ValueRef};

use super::super::super::builtin::Call;
use super::super::super::jsons::texts;
use super::super::super::limits::{check_bytes, check_elements};
use super::super::walk::WORK_MAX;
use super::clauses::is_answered;
use super::found::Asking;
use super::plan::{self, Column, Level};
use crate::json;

/// What all paths of one call may look at beyond [`WORK_MAX`], for each byte of the document and each column.
const WORK_PER_COLUMN: usize = 32;

/// The rows of JSON_TABLE: a document, a plan and the variables.
pub const JSON_TABLE: &str = "weft_json_table";

/// `weft_json_table(document, plan, vars)`
pub(super) fn json_table(call: &Call<'_>) -> Result<Value> {
    let plan: Vec<String> = texts(call, 1).into_iter().flatten().collect();
    let (level, columns) = plan::read(&plan)?;
    let work = WORK_PER_COLUMN.saturating_mul(columns + 1).saturating_mul(call.text(0).len());
    let asking = Asking { vars: call.text(2), local: call.local, work_left: Some(WORK_MAX.saturating_add(work)) };
    let mut table = Table { asking, cells: vec![None; columns], rows: Vec::new(), bytes: 0 };
    table.level(&level, call.text(0))?;
    Ok(Value::Array(ArrayValue::new(DataType::Jsonb, table.rows.iter().map(|row| ValueRef::Text(row)))))
}

struct Table<'a> {
    asking: Asking<'a>,
    /// Of the row that is made.
    cells: Vec<Option<String>>,
    rows: Vec<String>,
    bytes: u64,
}

impl Table<'_> {
    /// The rows of a level of an item.
    fn level(&mut self, level: &Level, of: &str) -> Result<()> {
        let items = match self.asking.items(of, &level.path) {
            Ok(items) => items,
            Err(error) if level.tells || !is_answered(&error) => return Err(error),
            Err(_) => Vec::new(),
        };
        for (at, item) in items.iter().enumerate() {
            for (number, column) in &level.columns {
                self.cells[*number] = self.cell(column, item, at + 1)?;
            }
            let before = self.rows.len();
            for nested in &level.nested {
                self.level(nested, item)?;
            }
            if self.rows.len() == before {
                self.row()?;
            }
        }
        for (number, _) in &level.columns {
            self.cells[*number] = None;
        }
        Ok(())
    }

    fn cell(&mut self, column: &Column, item: &str, ordinal: usize) -> Result<Option<String>> {
        let text = match column {
            Column::Ordinality => ordinal.to_string(),
            Column::Items(path, tells) => match self.asking.items(item, path) {
                Ok(found) => json::array_text(found.iter().map(String::as_str)),
                Err(error) if *tells || !is_answered(&error) => return Err(error),
                Err(_) => "{}".to_owned(),
            },
            Column::Exists(path, on_error) => {
                let truth = match self.asking.is_there(item, path) {
                    Ok(is_there) => Value::Bool(is_there),
                    Err(error) if is_answered(&error) => on_error.truth(error)?,
                    Err(error) => return Err(error),
                };
                match truth {
                    Value::Bool(is_there) => is_there.to_string(),
                    _ => return Ok(None),
                }
            }
        };
        Ok(Some(text))
    }

    fn row(&mut self) -> Result<()> {
        let texts = self.cells.iter().map(|cell| cell.as_deref().unwrap_or("null"));
        let row = json::array_text(texts);
        self.bytes += row.len() as u64;
        check_bytes(self.bytes)?;
        check_elements(self.rows.len() + 1)?;
        self.rows.push(row);
        Ok(())
    }
}
