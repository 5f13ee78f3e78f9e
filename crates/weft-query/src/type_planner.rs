//! SQL types in a query, as the planner reads them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arrow::datatypes::FieldRef;
use datafusion::common::{DataFusionError, Result};
use datafusion::logical_expr::planner::TypePlanner;
use sqlparser::ast::DataType as SqlType;
use weft_sql::expr::data_type_of;

use super::catalog;
use super::error::wrap;
use super::types::{field_of, sql_type};

/// Gives the planner Weft's reading of SQL types.
#[derive(Debug, Default)]
pub(crate) struct WeftTypes {
    /// Whether a type was named that only the catalog has.
    pub(crate) is_of_catalog: AtomicBool,
}

impl TypePlanner for WeftTypes {
    fn plan_type_field(&self, sql: &SqlType) -> Result<Option<FieldRef>> {
        if let Some(shape) = catalog::reg_type(sql) {
            self.is_of_catalog.store(true, Ordering::Relaxed);
            return Ok(Some(Arc::new(catalog::field_of_shape("", shape))));
        }
        match sql {
            SqlType::Unspecified => Ok(None),
            other => match sql_type(other) {
                Some(data_type) => Ok(Some(Arc::new(field_of("", data_type)))),
                None => Err(match data_type_of(other) {
                    Err(error) => wrap(error),
                    Ok(_) => DataFusionError::NotImplemented(format!("type {sql} is not supported")),
                }),
            },
        }
    }
}
