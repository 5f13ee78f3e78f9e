//! A query of the catalog: bound once, run over any snapshot.

use sqlparser::ast::Query as SqlQuery;
use weft_format::{DataType, Result, Value};

use crate::bind::Binder;
use crate::eval::Execution;
use crate::snapshot::Snapshot;
use crate::tree::Query;
use crate::value::{Datum, Type};

/// A bound query of the catalog. It holds nothing of any snapshot.
pub struct CatalogQuery {
    query: Query,
    params: Vec<Type>,
}

impl CatalogQuery {
    /// Binds a query.
    pub fn new(query: &SqlQuery) -> Result<CatalogQuery> {
        let mut binder = Binder::default();
        let query = binder.bind_query(query)?;
        let params = binder.params.into_iter().map(|param| param.unwrap_or(Type::Text)).collect();
        Ok(CatalogQuery { query, params })
    }

    /// Names and types of the result's columns.
    pub fn columns(&self) -> Vec<(String, DataType)> {
        self.query.columns.iter().map(|(name, data_type)| (name.clone(), data_type.output())).collect()
    }

    /// The types of `$1`, `$2`, ...
    pub fn params(&self) -> Vec<DataType> {
        self.params.iter().map(Type::output).collect()
    }

    /// The rows, and how many relations were made as a whole for them.
    #[cfg(test)]
    pub(crate) fn counted(&self, snapshot: &Snapshot) -> Result<(Vec<crate::value::Row>, usize)> {
        let execution = Execution::new(snapshot, &[]);
        let rows = execution.run(&self.query, None)?;
        Ok((rows, execution.relations.borrow().len()))
    }

    /// The rows, one value after the other.
    pub fn run(&self, snapshot: &Snapshot, params: &[Value]) -> Result<Vec<Value>> {
        let datum = |(value, data_type): (&Value, &Type)| match (value, data_type.output().element()) {
            (Value::Array(array), Some(element)) => {
                Datum::list(array.values(element).iter().map(Datum::from).collect())
            }
            (value, _) => Datum::from(value),
        };
        let params: Vec<Datum> = params.iter().zip(&self.params).map(datum).collect();
        let execution = Execution::new(snapshot, &params);
        let rows = execution.run(&self.query, None)?;
        let mut values = Vec::with_capacity(rows.len() * self.query.columns.len());
        for row in rows {
            for (value, (_, data_type)) in row.iter().zip(&self.query.columns) {
                let is_named = data_type.is_reg() || data_type.element().is_some_and(Type::is_reg);
                values.push(match value {
                    Datum::Null => Value::Null,
                    Datum::List(items) if is_named => {
                        let element = data_type.element().unwrap_or(data_type);
                        let texts = items.iter().map(|item| Datum::text(execution.text(item, element))).collect();
                        Datum::list(texts).output(data_type)
                    }
                    value if is_named => Value::Text(execution.text(value, data_type).into()),
                    value => value.output(data_type),
                });
            }
        }
        Ok(values)
    }
}
