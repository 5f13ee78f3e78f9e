//! What a function's text says, with `$1`, `$2`, ... for its arguments.
//!
//! ```text
//!   f(k int)   SELECT v FROM t WHERE t.k = f.k LIMIT 1      SELECT v FROM t WHERE t.k = $1 LIMIT 1
//! ```
//!
//! 1. A name that may be a column is one; else it is an argument.

use std::ops::ControlFlow;

use sqlparser::ast::{Expr, Ident, Query, Select, Statement, Value, VisitMut, VisitorMut, visit_expressions};
use weft_format::{Code, DataType, Error, Result};
use weft_kernel::Transaction;

use super::calls::fix;
use super::definition::{Function, plain_type_of};
use super::scope::{Column, Found, Scopes, parameter};
use crate::expr::function_name;
use crate::parse::{Parsed, fold, has_writing_parts, parse, writes};
use crate::types;

/// The query of a function that only reads.
pub(crate) struct Body {
    pub(crate) query: Query,
    /// The columns that it gives, as far as its tree tells them.
    pub(crate) columns: Option<Vec<Column>>,
}

/// The types of a function's arguments.
pub(super) fn params_of(txn: &Transaction, function: &Function) -> Result<Vec<DataType>> {
    function.inputs().map(|input| Ok(plain_type_of(txn, &input.data_type)?.0)).collect()
}

/// The statements of a function, with parameters for its arguments.
pub(crate) fn statements_of(txn: &Transaction, function: &Function) -> Result<Vec<Statement>> {
    let text = if function.is_return { format!("SELECT {}", function.body) } else { function.body.clone() };
    let params = params_of(txn, function)?;
    let mut statements = Vec::new();
    for parsed in parse(&text)? {
        let Parsed::Sql { mut statement, .. } = parsed else {
            let message = format!("function {} has a statement that functions cannot run", function.name);
            return Err(Error::new(Code::FeatureNotSupported, message)
                .hint("a function in SQL has SELECT, INSERT, UPDATE, DELETE and MERGE"));
        };
        let mut naming = Naming { function, scopes: Scopes::new(txn, params.clone()) };
        if let ControlFlow::Break(error) = VisitMut::visit(&mut *statement, &mut naming) {
            return Err(error);
        }
        fix(txn, &mut *statement, params.clone())?;
        statements.push(*statement);
    }
    Ok(statements)
}

/// Whether a statement is one that only reads.
pub(super) fn only_reads(statement: &Statement) -> bool {
    matches!(statement, Statement::Query(query) if !writes(query) && !has_writing_parts(query))
}

/// Whether a call must be a statement of its own.
pub(crate) fn runs_alone(txn: &Transaction, function: &Function) -> Result<bool> {
    if function.is_alone() {
        return Ok(true);
    }
    let statements = statements_of(txn, function)?;
    let is_plain = matches!(statements.as_slice(), [only] if only_reads(only));
    Ok(!is_plain || takes_numbers(&statements))
}

/// Whether a statement calls what takes numbers of sequences, or changes settings.
fn takes_numbers(statements: &[Statement]) -> bool {
    const NAMES: &[&str] = &["nextval", "currval", "setval", "lastval", "set_config"];
    let takes = |expr: &Expr| match expr {
        Expr::Function(call) if NAMES.contains(&function_name(call).as_str()) => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    };
    statements.iter().any(|statement| visit_expressions(statement, takes).is_break())
}

/// The query that a call stands for.
pub(crate) fn body_of(txn: &Transaction, function: &Function) -> Result<Body> {
    let mut statements = statements_of(txn, function)?;
    let is_plain = matches!(statements.as_slice(), [only] if only_reads(only));
    let is_put = is_plain && !function.is_alone() && !takes_numbers(&statements);
    let Some(Statement::Query(mut query)) = statements.pop().filter(|_| is_put) else {
        return Err(alone(function));
    };
    let columns = Scopes::new(txn, params_of(txn, function)?).columns_of(&query);
    types::run(txn, &mut *query)?;
    Ok(Body { query: *query, columns })
}

/// The error of a call that is a part of a statement, of a function that is not put in its place.
fn alone(function: &Function) -> Error {
    let message = format!("function {} is called within a statement", function.name);
    let error = Error::new(Code::FeatureNotSupported, message);
    error.hint(format!(
        "it gives nothing, writes, or has several statements: call it alone, SELECT {}(...)",
        function.name
    ))
}

/// Puts parameters in the places of arguments' names.
struct Naming<'f, 'a> {
    function: &'f Function,
    scopes: Scopes<'a>,
}

impl Naming<'_, '_> {
    fn parameter(&self, name: &str) -> Option<Expr> {
        let at = self.function.inputs().position(|input| input.name.as_deref() == Some(name))?;
        Some(Expr::value(Value::Placeholder(format!("${}", at + 1))))
    }

    fn named(&self, expr: &Expr) -> Option<Expr> {
        match expr {
            Expr::Identifier(name) => {
                let name = fold(name);
                match self.scopes.find(None, &name) {
                    Found::Nothing | Found::Perhaps(None) => self.parameter(&name),
                    _ => None,
                }
            }
            Expr::CompoundIdentifier(parts) => {
                let [function, name] = parts.as_slice() else { return None };
                let is_it = fold(function) == self.function.name && !self.scopes.has_relation(&self.function.name);
                self.parameter(&fold(name)).filter(|_| is_it)
            }
            _ => None,
        }
    }
}

impl VisitorMut for Naming<'_, '_> {
    type Break = Error;

    fn pre_visit_statement(&mut self, statement: &mut Statement) -> ControlFlow<Error> {
        self.scopes.enter_statement(statement);
        ControlFlow::Continue(())
    }

    fn post_visit_statement(&mut self, _: &mut Statement) -> ControlFlow<Error> {
        self.scopes.leave();
        ControlFlow::Continue(())
    }

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Error> {
        self.scopes.enter_query(query);
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<Error> {
        self.scopes.leave();
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<Error> {
        // A column of a result keeps the name of the argument that it shows.
        for item in &mut select.projection {
            if let sqlparser::ast::SelectItem::UnnamedExpr(expr) = item
                && self.named(expr).is_some()
                && let Some(name) = super::scope::name_of(expr)
            {
                let alias = Ident::with_quote('"', name);
                *item = sqlparser::ast::SelectItem::ExprWithAlias { expr: expr.clone(), alias };
            }
        }
        self.scopes.enter_select(select);
        ControlFlow::Continue(())
    }

    fn post_visit_select(&mut self, _: &mut Select) -> ControlFlow<Error> {
        self.scopes.leave_select();
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Error> {
        if let Some(parameter) = self.named(expr) {
            *expr = parameter;
            return ControlFlow::Continue(());
        }
        if let Expr::Value(value) = expr
            && let Value::Placeholder(name) = &value.value
            && parameter(name).is_none_or(|at| at >= self.function.inputs().count())
        {
            let message = format!("there is no parameter {name}");
            return ControlFlow::Break(Error::new(Code::UndefinedParameter, message));
        }
        ControlFlow::Continue(())
    }
}
