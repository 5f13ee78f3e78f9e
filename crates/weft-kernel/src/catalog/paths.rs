//! Which path a scan takes: an index of entries, the table, or a column index.
//!
//! ```text
//!   orders (o_id key, o_date, o_sum ...) USING row      index x ON orders USING columns (o_date, o_sum)
//!     WHERE o_id BETWEEN 7 AND 90                       84 rows by the key: the table's pages
//!     sum(o_sum) WHERE o_date >= ...                    all rows: x, which has what is asked for
//!     sum(o_sum), max(o_note)                           x has no o_note: the table
//! ```
//!
//! 1. All paths give the same rows: the choice is about time alone.
//! 2. A path that a transaction's own writes or its snapshot rule out is not taken, whatever a setting says.
//!
//! Source: PolarDB-IMCI, section 6, with rows reached in the place of the row plan's cost.

use weft_contract::{FieldTest, ScanField, ScanOutput, ScanRequest};
use weft_format::{CompareOp, Predicate, Result, Value};

use super::select::scan_by_index;
use super::table_ref::TableRef;

/// So many rows are read from pages before columns are started.
const ROWS_BY_KEY: f64 = 1_000.0;

/// When scans go to column indexes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ColumnPaths {
    /// Never.
    Off,
    /// When the key leaves many rows, and no other index finds few.
    #[default]
    Auto,
    /// Whenever one has what is asked for.
    Always,
}

/// What of a scan concerns documents: fields behind the projection, and what their values have to satisfy.
#[derive(Clone, Debug, Default)]
pub struct Documents {
    /// The fields.
    pub fields: Vec<ScanField>,
    /// As in [`TableRef::scan_fields_where`].
    pub tests: Vec<FieldTest>,
}

impl TableRef {
    /// As [`TableRef::scan_known`], or [`TableRef::scan_fields_where`], by the path that takes the least time.
    pub fn scan_by_path(
        &self,
        request: ScanRequest,
        documents: Documents,
        known: &[weft_contract::ExprTest],
        paths: ColumnPaths,
    ) -> Result<ScanOutput> {
        if self.may_prefer_columns(&request, paths) {
            // It is for few rows, and says so.
            if paths == ColumnPaths::Auto
                && documents.fields.is_empty()
                && let Some(output) = scan_by_index(self, &request, known)?
            {
                if let Some(reads) = &request.view.reads {
                    reads.note_scan(self.def.id, &request.predicates, &request.projection);
                }
                return Ok(output);
            }
            if let Some(output) = self.scan_columns(&request, &documents.fields)? {
                return Ok(output);
            }
        }
        match documents.fields.is_empty() && documents.tests.is_empty() {
            true => self.scan_known(request, known),
            false => self.scan_fields_where(request, documents.fields, documents.tests, known),
        }
    }

    fn may_prefer_columns(&self, request: &ScanRequest, paths: ColumnPaths) -> bool {
        if paths == ColumnPaths::Off || self.column_indexes().is_empty() {
            return false;
        }
        paths == ColumnPaths::Always || self.rows_by_key(&request.predicates) > ROWS_BY_KEY
    }

    /// About how many rows the bounds of the key leave: each of its columns is taken to have as many values as the
    /// next.
    fn rows_by_key(&self, predicates: &[Predicate]) -> f64 {
        let key = &self.def.schema.key;
        let rows = (self.table.statistics().row_count as f64).max(1.0);
        let of_each = rows.powf(1.0 / key.len().max(1) as f64);
        let mut left = rows;
        for &column in key {
            if let Some(values) = equal_to(predicates, column) {
                left = left / of_each * values as f64;
                continue;
            }
            if let Some(width) = width_of(predicates, column) {
                left = (left / of_each * width).min(left);
            }
            break;
        }
        left.max(1.0)
    }
}

/// How many values a column is equal to one of.
fn equal_to(predicates: &[Predicate], column: usize) -> Option<usize> {
    let of = predicates.iter().filter(|predicate| predicate.column() == column);
    let counts = of.filter_map(|predicate| match predicate {
        Predicate::Compare { op: CompareOp::Eq, .. } => Some(1),
        Predicate::In { values, .. } => Some(values.len()),
        _ => None,
    });
    counts.min()
}

/// How many whole numbers lie between the bounds of a column; none without both.
fn width_of(predicates: &[Predicate], column: usize) -> Option<f64> {
    let (mut low, mut high) = (None, None);
    for predicate in predicates {
        if let Predicate::Compare { column: of, op, value: Value::Int(at) } = predicate
            && *of == column
        {
            match op {
                CompareOp::Gt | CompareOp::GtEq => low = low.max(Some(*at)),
                CompareOp::Lt | CompareOp::LtEq => high = Some(high.unwrap_or(i64::MAX).min(*at)),
                _ => {}
            }
        }
    }
    Some((high? as f64 - low? as f64 + 1.0).max(1.0))
}
