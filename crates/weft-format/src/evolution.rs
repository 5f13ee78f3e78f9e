//! How a schema gets columns: rows that are there have a value for them, too.

use crate::row::RowCodec;
use crate::schema::{Column, Schema};
use crate::value::Value;

impl Schema {
    /// Adds a column at the end; `missing` is what the rows have that are there. Returns its ordinal.
    pub fn add_column(&mut self, column: Column, missing: &Value) -> usize {
        let codec = RowCodec::new(self);
        let mut values: Vec<Value> = match &self.evolution.missing {
            Some(row) => (0..self.columns.len()).map(|ordinal| codec.get(row, ordinal).to_value()).collect(),
            None => vec![Value::Null; self.columns.len()],
        };
        if self.evolution.first_columns == 0 {
            self.evolution.first_columns = self.columns.len();
        }
        values.push(missing.clone());
        self.columns.push(column);
        if values.iter().any(|value| !value.is_null()) {
            let row = RowCodec::new(self).encode(values.iter().map(Value::as_ref));
            self.evolution.missing = Some(row.into());
        }
        self.columns.len() - 1
    }
}
