//! Scans of a table that its column index answers.
//!
//! ```text
//!   index (k0 a1 c3)    projection [3, 1], c > 5     covered: projection [2, 1] of the index, its column 2 > 5
//!                       projection [2]               b is not there: the table is scanned
//! ```
//!
//! 1. The answer is the table's, row for row: every column that is asked for, or tested, is in the index.
//! 2. Names and types are those of the table's schema that the reader knows.

use std::sync::Arc;

use weft_contract::{ScanField, ScanOutput, ScanRequest};
use weft_format::{Predicate, Result, Schema};

use super::columns::{ColumnIndex, schema_of};

impl ColumnIndex {
    /// Whether it has every column that a scan asks for.
    pub fn covers(&self, projection: &[usize], fields: &[ScanField], predicates: &[Predicate]) -> bool {
        let fields = fields.iter().map(|field| field.column);
        let tested = predicates.iter().map(Predicate::column);
        projection.iter().copied().chain(fields).chain(tested).all(|ordinal| self.has_column(ordinal))
    }

    /// Starts a scan that it covers, of a snapshot that may use it; the ordinals are those of the table.
    pub(crate) fn scan(
        &self,
        table: &Schema,
        mut request: ScanRequest,
        mut fields: Vec<ScanField>,
    ) -> Result<ScanOutput> {
        assert!(self.covers(&request.projection, &fields, &request.predicates), "the index has it (columns scan 1)");
        assert!(request.view.own.is_none(), "who has written to the table scans the table (columns 4)");
        let place = |ordinal: usize| self.ordinals.binary_search(&ordinal).expect("it is covered");
        request.projection.iter_mut().for_each(|ordinal| *ordinal = place(*ordinal));
        request.predicates.iter_mut().for_each(|predicate| {
            *column_of(predicate) = place(predicate.column());
        });
        fields.iter_mut().for_each(|field| field.column = place(field.column));
        let schema = schema_of(table, &self.ordinals, self.context.def.schema.version);
        let output = self.stored().scan(&Arc::new(schema), request, fields)?;
        *output.metrics.index.lock() = Some(self.name().to_string());
        Ok(output)
    }
}

fn column_of(predicate: &mut Predicate) -> &mut usize {
    match predicate {
        Predicate::Compare { column, .. }
        | Predicate::In { column, .. }
        | Predicate::IsNull { column }
        | Predicate::IsNotNull { column } => column,
    }
}
