//! Functions of the catalog and the session in queries that read no relation of the catalog: computed first, and put
//! into the query as constants.
//!
//! ```text
//!   SELECT current_user, 0.1 + 0.2       SELECT CAST('ann' AS text) AS current_user, 0.1 + 0.2
//!   SELECT 't'::regclass::oid            SELECT CAST('16387' AS oid) AS oid
//!   SELECT pg_typeof(1.5 + 1)            the type of SELECT 1.5 + 1, by the engine that would run it
//! ```
//!
//! 1. What else the query has is planned by the engines of tables: an expression has one meaning.
//! 2. Each is computed once for a statement, whether or not the query comes to it. One that cannot be is no error yet:
//!    the query may not come to it (`CASE WHEN to_regclass('t') IS NULL THEN 0 ELSE pg_relation_size('t') END`), so the
//!    catalog interprets the statement as it is written, and computes it when it is there.
//! 3. All constants of a statement are of one snapshot of the catalog.

use std::ops::ControlFlow;

use sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, Query, Select, SelectItem, Statement,
    Value as SqlValue, VisitorMut,
};
use weft_format::{Code, DataType, Error, Result, Value};
use weft_pgcatalog::{CatalogQuery, is_computed_late, is_constant, is_of_session};
use weft_walk::VisitMut;

use super::catalog::{self, Shown};
use super::plan::plan;
use super::work::Work;
use crate::expr::{function_name, literal};
use crate::queries::names::column_name;
use crate::settings::EngineChoice;

/// A statement with its constants in their places, or the error of one that the query may not come to.
pub(super) fn substitute(work: &mut Work<'_>, statement: &Statement, source: &str) -> Result<Result<Statement>> {
    let mut folder = Folder { work: Some(work), source, shown: Shown::default(), is_late: false };
    match substituted(statement, &mut folder) {
        Err(error) if folder.is_late && !matches!(error.code(), Code::QueryCanceled | Code::Internal) => Ok(Err(error)),
        made => made.map(Ok),
    }
}

/// The same for who asks for columns and types only: nothing is computed.
pub(super) fn described(statement: &Statement) -> Result<Statement> {
    substituted(statement, &mut Folder { work: None, source: "", shown: Shown::default(), is_late: false })
}

/// Whether an error says that an engine lacks something, so that the catalog may be asked.
pub(super) fn is_lacking(error: &Error) -> bool {
    use Code::{FeatureNotSupported, UndefinedColumn, UndefinedFunction, UndefinedObject};
    matches!(error.code(), FeatureNotSupported | UndefinedColumn | UndefinedFunction | UndefinedObject)
}

fn substituted(statement: &Statement, folder: &mut Folder<'_, '_>) -> Result<Statement> {
    let mut made = statement.clone();
    match VisitMut::visit(&mut made, folder) {
        ControlFlow::Continue(()) => Ok(made),
        ControlFlow::Break(error) => Err(error),
    }
}

struct Folder<'a, 'w> {
    /// None: nothing is computed.
    work: Option<&'a mut Work<'w>>,
    source: &'a str,
    shown: Shown,
    /// Whether what was computed last is an error only where the query comes to it.
    is_late: bool,
}

impl VisitorMut for Folder<'_, '_> {
    type Break = Error;

    /// A result column keeps its name.
    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<Error> {
        for item in &mut select.projection {
            if let SelectItem::UnnamedExpr(expr) = item
                && !matches!(expr, Expr::CompoundIdentifier(_))
            {
                let alias = Ident::with_quote('"', column_name(expr));
                *item = SelectItem::ExprWithAlias { expr: expr.clone(), alias };
            }
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Error> {
        if !is_constant(expr) {
            return ControlFlow::Continue(());
        }
        match self.constant(expr) {
            Ok(made) => {
                *expr = made;
                ControlFlow::Continue(())
            }
            Err(error) => ControlFlow::Break(error),
        }
    }
}

impl Folder<'_, '_> {
    fn constant(&mut self, expr: &Expr) -> Result<Expr> {
        let arg = type_asked(expr);
        self.is_late = arg.is_none() && is_computed_late(expr);
        if let Some(arg) = arg {
            return self.type_name(arg, expr);
        }
        let query = self.asked(expr)?;
        let bound = CatalogQuery::new(&query)?;
        let data_type = bound.columns().first().map_or(DataType::Text, |(_, data_type)| *data_type);
        let Some(work) = &mut self.work else { return literal(&Value::Null, data_type) };
        let value = catalog::constant(&bound, self.source, work, &mut self.shown, is_of_session(expr))?;
        literal(&value, data_type)
    }

    /// `SELECT expr`
    fn asked(&self, expr: &Expr) -> Result<Query> {
        crate::dml::select(vec![SelectItem::UnnamedExpr(expr.clone())], Vec::new(), None)
    }

    fn type_name(&mut self, arg: &Expr, expr: &Expr) -> Result<Expr> {
        let named = |name: &str| literal(&Value::Text(name.into()), DataType::Text);
        match arg {
            Expr::Value(value) if !matches!(value.value, SqlValue::Number(..) | SqlValue::Boolean(_)) => {
                return named("unknown");
            }
            constant if is_constant(constant) => {
                let Some(work) = &mut self.work else { return literal(&Value::Null, DataType::Text) };
                let query = crate::dml::select(vec![SelectItem::UnnamedExpr(expr.clone())], Vec::new(), None)?;
                let bound = CatalogQuery::new(&query)?;
                let value = catalog::constant(&bound, self.source, work, &mut self.shown, false)?;
                return literal(&value, DataType::Text);
            }
            _ => {}
        }
        let statement = Statement::Query(Box::new(self.asked(arg)?));
        let Some(work) = &mut self.work else { return literal(&Value::Null, DataType::Text) };
        let planned = plan(work.db, &statement, self.source, work.txn, (EngineChoice::Auto, &work.local))?;
        let data_type = planned.columns.first().map_or(DataType::Text, |column| column.data_type);
        let name = weft_expr::text::type_name(data_type);
        named(name.split('(').next().unwrap_or(&name))
    }
}

/// What `pg_typeof` is asked of.
fn type_asked(expr: &Expr) -> Option<&Expr> {
    match expr {
        Expr::Function(Function { args: FunctionArguments::List(list), .. }) if is_type_asked(expr) => {
            match &list.args[..] {
                [FunctionArg::Unnamed(FunctionArgExpr::Expr(arg))] => Some(arg),
                _ => None,
            }
        }
        _ => None,
    }
}

fn is_type_asked(expr: &Expr) -> bool {
    matches!(expr, Expr::Function(function) if function_name(function) == "pg_typeof")
}
