//! Fields of documents: from their own columns in column tables, from texts elsewhere.

use std::sync::atomic::Ordering;

use arrow_array::ArrayRef;
use weft_contract::{FieldTest, ScanField};
use weft_format::row_arrays::missing_column;
use weft_format::{Mask, Result};

use super::plan::{PartScan, Plan};

impl Plan {
    /// Adds the fields of rows whose documents are texts; `column` gives the documents of a column.
    pub(super) fn push_fields(
        &self,
        columns: &mut Vec<ArrayRef>,
        column: impl Fn(usize) -> Result<ArrayRef>,
    ) -> Result<()> {
        for field in &self.fields {
            columns.push(field.path.of_array(&column(field.column)?)?.array);
            self.metrics.field_texts.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Whether rows of a block may have the fields that are wanted, by what the fronts of its documents say.
    pub(super) fn fields_may_match(&self, scan: &PartScan, block: usize) -> Result<bool> {
        let table = &scan.part.table;
        for FieldTest { field, predicate, cast } in &self.tests {
            let (place, path, cache) = ((field.column, block), &field.path, scan.part.cache());
            if field.column >= table.column_count() || table.field_may_match(cache, place, path, predicate)? {
                continue;
            }
            let is_wanted = match cast {
                Some(to) => !table.field_casts_all(cache, place, path, *to)?,
                None => false,
            };
            if !is_wanted {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// A field of the rows of a block that a mask selects, which are so many; without a mask of all.
    pub(super) fn field_of_block(
        &self,
        scan: &PartScan,
        block: usize,
        field: &ScanField,
        (mask, selected): (Option<&Mask>, usize),
    ) -> Result<ArrayRef> {
        let table = &scan.part.table;
        if field.column >= table.column_count() {
            let data_type = self.schema.columns[field.column].data_type;
            let documents = missing_column(&self.codec, data_type, field.column, selected);
            return Ok(field.path.of_array(&documents)?.array);
        }
        let is_columns = table.is_documents(field.column, block);
        let count = if is_columns { &self.metrics.field_columns } else { &self.metrics.field_texts };
        count.fetch_add(1, Ordering::Relaxed);
        Ok(table.field(scan.part.cache(), (field.column, block), &field.path, mask)?.array)
    }
}
