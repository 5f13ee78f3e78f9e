//! The names in a function's statements: columns of what these read, or its arguments, and nothing else.
//!
//! ```text
//!   f(k int)   SELECT v FROM t WHERE t.k = f.k      SELECT v FROM t WHERE t.k = $1
//!              INSERT INTO t VALUES (k)             INSERT INTO t VALUES ($1)         VALUES sees no column of t
//!              SELECT w FROM t                      42703: not the column w of who calls f
//! ```
//!
//! 1. A name that is a column of something in FROM is that; else it is an argument, or an error.
//! 2. `$1` behind ORDER BY and GROUP BY is a value, never the number of a column.

use std::collections::HashSet;
use std::ops::ControlFlow;

use sqlparser::ast::{
    Distinct, Expr, FunctionArg, FunctionArguments, GroupByExpr, Ident, OrderByKind, Query, Select, SelectItem,
    Statement, TableFactor, Value, VisitorMut,
};
use weft_format::{Code, Error, Result};
use weft_walk::VisitMut;

use super::calls::cast_of;
use super::definition::Function;
use super::scope::{Found, Scopes, address, name_of, parameter};
use crate::parse::fold;

/// Words that the parser takes for names of columns.
const WORDS: &[&str] = &["default", "current_role", "current_schema", "current_catalog", "user", "session_user"];

/// Puts parameters in the places of arguments' names.
pub(super) fn name(function: &Function, scopes: Scopes<'_>, statement: &mut Statement) -> Result<()> {
    let mut naming = Naming { function, scopes, outputs: HashSet::new(), labels: HashSet::new() };
    match VisitMut::visit(statement, &mut naming) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(error),
    }
}

struct Naming<'f, 'a> {
    function: &'f Function,
    scopes: Scopes<'a>,
    /// Expressions that may name columns of the result, by their addresses.
    outputs: HashSet<usize>,
    /// Names of arguments in calls, `f(name => ...)`, by their addresses.
    labels: HashSet<usize>,
}

/// What stands for an expression; none: it stays.
type Named = Result<Option<Expr>>;

impl Naming<'_, '_> {
    fn parameter(&self, name: &str) -> Option<Expr> {
        let at = self.function.inputs().position(|input| input.name.as_deref() == Some(name))?;
        Some(Expr::value(Value::Placeholder(format!("${}", at + 1))))
    }

    fn named(&self, expr: &Expr) -> Named {
        match expr {
            Expr::Identifier(name) => self.short(name),
            Expr::CompoundIdentifier(parts) => self.long(parts),
            _ => Ok(None),
        }
    }

    fn short(&self, written: &Ident) -> Named {
        let name = fold(written);
        let parameter = self.parameter(&name);
        match self.scopes.find(None, &name) {
            Found::Column(..) | Found::Perhaps(_) => Ok(None),
            Found::Open if parameter.is_some() => {
                let own = &self.function.name;
                let message = format!("in function {own}, {name} may be its argument or a column");
                let error = Error::new(Code::FeatureNotSupported, message);
                Err(error.hint(format!("write {own}.{name} for the argument, or name the relation of the column")))
            }
            Found::Open => Ok(None),
            Found::Nothing if parameter.is_some() => Ok(parameter),
            Found::Nothing if self.scopes.has_relation(&name) => Ok(None),
            Found::Nothing if written.quote_style.is_none() && WORDS.contains(&name.as_str()) => Ok(None),
            Found::Nothing => Err(no_column(&format!("\"{name}\""))),
        }
    }

    fn long(&self, parts: &[Ident]) -> Named {
        let (relation, column) = match parts {
            [relation, column] | [_, relation, column] => (fold(relation), fold(column)),
            _ => return Ok(None),
        };
        if self.scopes.has_relation(&relation) {
            if matches!(self.scopes.find(Some(&relation), &column), Found::Nothing) {
                return Err(no_column(&format!("{relation}.{column}")));
            }
            // The schema is written before the relation's name in FROM.
            let is_long = parts.len() == 3;
            return Ok(is_long.then(|| Expr::CompoundIdentifier(parts[1..].to_vec())));
        }
        let is_own = parts.len() == 2 && relation == self.function.name;
        match self.parameter(&column).filter(|_| is_own) {
            Some(parameter) => Ok(Some(parameter)),
            None => {
                let message = format!("missing FROM-clause entry for table \"{relation}\"");
                Err(Error::new(Code::UndefinedTable, message))
            }
        }
    }

    fn label(&mut self, args: &[FunctionArg]) {
        for arg in args {
            if let FunctionArg::ExprNamed { name, .. } = arg {
                self.labels.insert(address(name));
            }
        }
    }

    /// `$1` as a value of its type.
    fn typed(&self, expr: &mut Expr) -> ControlFlow<Error> {
        let Some(at) = placed(expr) else { return ControlFlow::Continue(()) };
        let Some(input) = self.function.inputs().nth(at) else { return ControlFlow::Continue(()) };
        match cast_of(expr.clone(), &input.data_type) {
            Ok(cast) => {
                *expr = cast;
                ControlFlow::Continue(())
            }
            Err(error) => ControlFlow::Break(error),
        }
    }
}

fn no_column(shown: &str) -> Error {
    Error::new(Code::UndefinedColumn, format!("column {shown} does not exist"))
}

/// The parameter that an expression is, from 0.
fn placed(expr: &Expr) -> Option<usize> {
    match expr {
        Expr::Nested(inner) => placed(inner),
        Expr::Value(value) => match &value.value {
            Value::Placeholder(name) => parameter(name),
            _ => None,
        },
        _ => None,
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
        if let Some(OrderByKind::Expressions(items)) = query.order_by.as_ref().map(|order| &order.kind) {
            self.outputs.extend(items.iter().map(|item| address(&item.expr)));
        }
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, query: &mut Query) -> ControlFlow<Error> {
        self.scopes.leave();
        if let Some(OrderByKind::Expressions(items)) = query.order_by.as_mut().map(|order| &mut order.kind) {
            items.iter().for_each(|item| {
                self.outputs.remove(&address(&item.expr));
            });
            // All rows have the same value.
            items.retain(|item| placed(&item.expr).is_none());
            if items.is_empty() {
                query.order_by = None;
            }
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<Error> {
        self.scopes.enter_select(select);
        // A column of a result keeps the name of the argument that it shows.
        for item in &mut select.projection {
            if let SelectItem::UnnamedExpr(expr) = item
                && matches!(self.named(expr), Ok(Some(_)))
                && let Some(name) = name_of(expr)
            {
                let alias = Ident::with_quote('"', name);
                *item = SelectItem::ExprWithAlias { expr: expr.clone(), alias };
            }
        }
        if let GroupByExpr::Expressions(items, _) = &select.group_by {
            for item in items {
                // Columns that are read come first.
                if matches!(item, Expr::Identifier(name) if !self.scopes.may_be_read(&fold(name))) {
                    self.outputs.insert(address(item));
                }
            }
        }
        if let Some(Distinct::On(items)) = &select.distinct {
            self.outputs.extend(items.iter().map(address));
        }
        ControlFlow::Continue(())
    }

    fn post_visit_select(&mut self, select: &mut Select) -> ControlFlow<Error> {
        self.scopes.leave_select();
        if let GroupByExpr::Expressions(items, _) = &mut select.group_by {
            items.iter_mut().try_for_each(|item| self.typed(item))?;
        }
        if let Some(Distinct::On(items)) = &mut select.distinct {
            items.iter_mut().try_for_each(|item| self.typed(item))?;
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<Error> {
        match factor {
            TableFactor::Table { args: Some(args), .. } => self.label(&args.args),
            TableFactor::Function { args, .. } => self.label(args),
            _ => {}
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Error> {
        if let Expr::Function(call) = expr
            && let FunctionArguments::List(list) = &call.args
        {
            self.label(&list.args);
        }
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Error> {
        let at = address(expr);
        if self.labels.contains(&at) {
            return ControlFlow::Continue(());
        }
        if let Expr::Identifier(name) = expr
            && self.outputs.contains(&at)
            && self.scopes.is_output(&fold(name))
        {
            return ControlFlow::Continue(());
        }
        match self.named(expr) {
            Ok(Some(named)) => {
                *expr = named;
                return ControlFlow::Continue(());
            }
            Ok(None) => {}
            Err(error) => return ControlFlow::Break(error),
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
