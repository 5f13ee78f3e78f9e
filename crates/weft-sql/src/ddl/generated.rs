//! The expression of a generated column, as it is stored.
//!
//! ```text
//!   c int GENERATED ALWAYS AS (t.a + b) STORED     a + b
//!   GENERATED ALWAYS AS (now()), (c + 1)           42P17: changes with time, reads a generated column
//!   GENERATED ALWAYS AS ((SELECT 1)), (sum(a))     0A000, 42803, as PostgreSQL
//! ```

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use sqlparser::ast::Expr as SqlExpr;
use weft_expr::Local;
use weft_format::{Code, Column, Error, Result};
use weft_walk::visit_expressions;

use super::index_parts::forbidden;
use super::pieces::without_table;
use crate::expr::{BindError, Binder, Scope};
use crate::parse::{fold, parse_expression};
use crate::row::stored_expression;

/// Tests the expression of a column of a table, whose columns have these names and types; `generated` are the names of
/// all generated ones. Returns the text to store.
pub(super) fn stored_generated(
    text: &str,
    table: &str,
    columns: &[Column],
    column: &Column,
    generated: &BTreeSet<String>,
    local: &Local,
) -> Result<String> {
    let text = without_table(text, table)?;
    let tree = parse_expression(&text)?;
    let looked = visit_expressions(&tree, |part| {
        let of_generated = |name: &String| {
            let message = format!("cannot use generated column \"{name}\" in column generation expression");
            let error = Error::new(Code::InvalidObjectDefinition, message).about(table, Some(name), None);
            error.hint("A generated column cannot reference another generated column.")
        };
        let named = match part {
            SqlExpr::Identifier(ident) => generated.get(&fold(ident)),
            _ => None,
        };
        let error = named.map(of_generated).or_else(|| forbidden(part, "column generation expression"));
        error.map_or(ControlFlow::Continue(()), ControlFlow::Break)
    });
    if let ControlFlow::Break(error) = looked {
        return Err(error);
    }
    let names = columns.iter().map(|known| (known.name.as_str(), known.data_type));
    let scope = Scope::empty().with(table, names);
    let stored = stored_expression(&text, &scope, column, local)?;
    let mut binder = Binder { is_stored: true, ..Binder::new(&stored) };
    let bound = match binder.bind(&parse_expression(&stored)?, &scope, Some(column.data_type)) {
        Ok(bound) => bound,
        Err(BindError::Wrong(error)) => return Err(error),
        Err(BindError::Unsupported(what)) => {
            let message = format!("{what} is not supported in a column generation expression");
            return Err(Error::new(Code::FeatureNotSupported, message));
        }
    };
    if !bound.is_immutable_anywhere() || !bound.cast_to(column.data_type).is_immutable_anywhere() {
        let error = Error::new(Code::InvalidObjectDefinition, "generation expression is not immutable");
        return Err(error.hint("its value must not depend on the clock, on settings or on chance"));
    }
    Ok(stored)
}
