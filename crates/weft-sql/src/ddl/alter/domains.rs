//! Columns whose type is a domain, of a table that is altered.
//!
//! ```text
//!   ADD COLUMN c posint, ALTER COLUMN a TYPE posint     the rows that are there are tested
//!   ALTER DOMAIN posint ADD CHECK (VALUE < 9)           so are those of every table with such a column
//! ```

use weft_expr::domains::Domain;
use weft_format::{Code, Error, Result};

use super::Altering;
use super::rows::each_batch;
use crate::domains::{Rules, property};
use crate::row::bind_rules;
use crate::values::value_at;

impl Altering<'_> {
    /// Gives a column the rules of a domain, or none; the rows that are there are tested.
    pub(super) fn set_domain(&mut self, ordinal: usize, rules: Option<&Rules>) -> Result<()> {
        let text = rules.map(Rules::to_text);
        if self.table.def.properties.get(&property(ordinal)) == text.as_ref() {
            return Ok(());
        }
        self.put_domain(ordinal, text)?;
        let Some(rules) = rules else { return Ok(()) };
        let domain = bind_rules(rules, self.table.def.schema.columns[ordinal].data_type)?;
        self.test_domain(ordinal, &domain)
    }

    fn put_domain(&mut self, ordinal: usize, text: Option<String>) -> Result<()> {
        self.alter(|def| {
            match text {
                Some(text) => def.properties.insert(property(ordinal), text),
                None => def.properties.remove(&property(ordinal)),
            };
            Ok(())
        })
    }

    /// A column's domain has other rules; the rows that are there are tested by `added`, those that came.
    pub(crate) fn follow_domain(&mut self, ordinal: usize, rules: &Rules, added: Option<&Rules>) -> Result<()> {
        self.txn.lock_definition(&self.table)?;
        self.put_domain(ordinal, Some(rules.to_text()))?;
        let Some(added) = added else { return Ok(()) };
        let column = &self.table.def.schema.columns[ordinal];
        let domain = bind_rules(added, column.data_type)?;
        self.test_domain(ordinal, &domain).map_err(|error| {
            let (name, table) = (&column.name, self.name());
            let message = match error.code() {
                Code::NotNullViolation => format!("column \"{name}\" of table \"{table}\" contains null values"),
                Code::CheckViolation => {
                    format!("column \"{name}\" of table \"{table}\" contains values that violate the new constraint")
                }
                _ => return error,
            };
            Error::new(error.code(), message).about(table, Some(name), None)
        })
    }

    fn test_domain(&self, ordinal: usize, domain: &Domain) -> Result<()> {
        let data_type = self.table.def.schema.columns[ordinal].data_type;
        each_batch(self.txn, &self.table, &[ordinal], Vec::new(), |batch| {
            for row in 0..batch.num_rows() {
                domain.test(&value_at(batch.column(0), row, data_type), &self.eval)?;
            }
            Ok(true)
        })
    }
}
