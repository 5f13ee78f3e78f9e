//! SELECT and RETURNING lists.

use std::sync::Arc;

use sqlparser::ast::{SelectItem, SelectItemQualifiedWildcardKind, WildcardAdditionalOptions};
use weft_format::{Result, Value};

use crate::expr::{BindError, BindResult, Binder, EvalContext, Expr, Named, Scope};
use crate::outcome::OutputColumn;
use crate::parse::{fold, table_name};
use crate::queries::names::column_name;

/// Named expressions over a row.
#[derive(Clone, Debug)]
pub struct Projection {
    /// Names and types of the results.
    pub columns: Arc<[OutputColumn]>,
    pub(crate) exprs: Vec<Expr>,
}

impl Projection {
    /// Results that are not computed from a row.
    pub(crate) fn nothing(columns: impl Into<Arc<[OutputColumn]>>) -> Projection {
        Projection { columns: columns.into(), exprs: Vec::new() }
    }

    /// Binds a list; `*` is all columns of the scope.
    pub fn bind(items: &[SelectItem], scope: &Scope, binder: &mut Binder<'_>) -> BindResult<Projection> {
        let mut columns = Vec::new();
        let mut exprs = Vec::new();
        for item in items {
            let (name, expr) = match item {
                SelectItem::UnnamedExpr(expr) => (column_name(expr), expr),
                SelectItem::ExprWithAlias { expr, alias } => (fold(alias), expr),
                SelectItem::Wildcard(options) => {
                    wildcard(None, options, scope, &mut columns, &mut exprs)?;
                    continue;
                }
                SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), options) => {
                    let table = table_name(name)?;
                    wildcard(Some(&table), options, scope, &mut columns, &mut exprs)?;
                    continue;
                }
                _ => return Err(BindError::Unsupported(format!("\"{item}\""))),
            };
            let bound = binder.bind(expr, scope, None)?;
            columns.push(OutputColumn::new(name, bound.data_type));
            exprs.push(bound);
        }
        Ok(Projection { columns: columns.into(), exprs })
    }

    /// Appends the results for one row.
    pub fn append(&self, row: &[Value], eval: &EvalContext<'_>, out: &mut Vec<Value>) -> Result<()> {
        for expr in &self.exprs {
            out.push(expr.eval(row, eval)?);
        }
        Ok(())
    }
}

fn wildcard(
    table: Option<&str>,
    options: &WildcardAdditionalOptions,
    scope: &Scope,
    columns: &mut Vec<OutputColumn>,
    exprs: &mut Vec<Expr>,
) -> BindResult<()> {
    let is_plain = options.opt_ilike.is_none()
        && options.opt_exclude.is_none()
        && options.opt_except.is_none()
        && options.opt_replace.is_none()
        && options.opt_rename.is_none()
        && options.opt_alias.is_none();
    let found = scope.all(table);
    if !is_plain || found.is_empty() {
        return Err(BindError::Unsupported("this wildcard".into()));
    }
    for (name, value) in found {
        let expr = match value {
            Named::Value(expr) => expr.clone(),
            Named::Lacking(what) => return Err(BindError::Unsupported(what.clone())),
        };
        columns.push(OutputColumn::new(name, expr.data_type));
        exprs.push(expr);
    }
    Ok(())
}
