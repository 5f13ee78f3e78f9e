//! Generated columns of a table that is altered.
//!
//! ```text
//!   t (a, b)   ADD c int GENERATED ALWAYS AS (a + b) STORED     rows that are there are stored anew, with c
//!   DROP COLUMN a                                               2BP01: c depends on it; CASCADE drops c, too
//!   ALTER COLUMN a TYPE bigint                                  0A000, as in PostgreSQL
//! ```

use std::sync::Arc;

use sqlparser::ast::Ident;
use weft_format::{Code, Column, Error, Result, Value};
use weft_kernel::TableDef;

use super::Altering;
use super::columns::fresh;
use super::rows::{contains_nulls, has_row, rewrite};
use crate::ddl::generated::stored_generated;
use crate::notice::Notice;
use crate::row::{TableShape, all_generated, generated, generated_property, generation_reads};
use crate::values::{array_of, value_at};

impl Altering<'_> {
    /// Adds a column with what its expression gives to the rows that are there.
    pub(super) fn put_generated(&mut self, ordinal: usize, column: Column, text: &str) -> Result<()> {
        let known = &self.table.def;
        let names = all_generated(known).into_iter().map(|(at, _)| known.schema.columns[at].name.clone());
        let names = names.chain([column.name.clone()]).collect();
        let columns: Vec<Column> = known.schema.visible().map(|(_, known)| known.clone()).collect();
        let stored = stored_generated(text, &known.name, &columns, &column, &names, self.eval.local)?;
        let put = |def: &mut TableDef| {
            let mut schema = (*def.schema).clone();
            schema.add_column(column.clone(), &Value::Null);
            def.schema = Arc::new(schema);
            def.defaults.push(None);
            def.properties.insert(generated_property(ordinal), stored.clone());
            Ok(())
        };
        if !has_row(self.txn, &self.table, Vec::new())? {
            return self.alter(put);
        }
        let mut def = (*self.table.def).clone();
        put(&mut def)?;
        let shape = TableShape::bind(&self.table.redefined(def.clone()))?;
        let Some((_, expr)) = shape.generated.iter().find(|(at, _)| *at == ordinal) else {
            return Err(Error::internal("a generated column has an expression"));
        };
        let (eval, old, table) = (self.eval, Arc::clone(&self.table.def.schema), self.table.clone());
        self.table = rewrite(self.txn, &self.table, fresh(&def), |_, batch| {
            let mut values = Vec::with_capacity(batch.num_rows());
            for row in 0..batch.num_rows() {
                let value = |at: usize| value_at(batch.column(at), row, old.columns[at].data_type);
                let input: Vec<Value> = (0..old.columns.len()).map(value).collect();
                let computed = expr.eval(&input, &eval)?;
                if column.not_null && computed.is_null() {
                    return Err(contains_nulls(&table, &column.name));
                }
                values.push(computed);
            }
            let mut arrays = batch.columns().to_vec();
            arrays.push(array_of(values.iter(), column.data_type));
            Ok(arrays)
        })?;
        Ok(())
    }

    /// The generated columns that are computed from a column.
    fn computed_from(&self, ordinal: usize) -> Result<Vec<String>> {
        let def = &self.table.def;
        let mut names = Vec::new();
        for (at, text) in all_generated(def) {
            if generation_reads(&def.name, &def.schema, at, text)?.contains(&ordinal) {
                names.push(def.schema.columns[at].name.clone());
            }
        }
        Ok(names)
    }

    /// Drops the generated columns that are computed from a column which goes, or refuses.
    pub(super) fn drop_generated(&mut self, name: &str, ordinal: usize, cascade: bool) -> Result<()> {
        for computed in self.computed_from(ordinal)? {
            let table = self.name();
            let what = format!("column {computed} of table {table}");
            if !cascade {
                let message = format!("cannot drop column {name} of table {table} because other objects depend on it");
                let hint =
                    format!("{what} depends on column {name} of table {table}; use DROP ... CASCADE to drop it, too");
                return Err(Error::new(Code::DependentObjects, message).hint(hint));
            }
            self.notices.push(Notice::plain(format!("drop cascades to {what}")));
            self.drop_column(&Ident::with_quote('"', computed), false, true)?;
        }
        Ok(())
    }

    /// Expressions know the types of what they are computed from.
    pub(super) fn refuse_typed_generated(&self, ordinal: usize, name: &str) -> Result<()> {
        let table = self.name();
        let refused = |message: &str| Error::new(Code::FeatureNotSupported, message).about(table, Some(name), None);
        if generated(&self.table.def, ordinal).is_some() {
            let error = refused(&format!("ALTER COLUMN \"{name}\" TYPE of a generated column is not supported"));
            return Err(error.hint("drop the column, and add it with the other type"));
        }
        if let Some(computed) = self.computed_from(ordinal)?.first() {
            let error = refused("cannot alter type of a column used by a generated column");
            return Err(error.hint(format!("Column \"{name}\" is used by generated column \"{computed}\".")));
        }
        Ok(())
    }
}
