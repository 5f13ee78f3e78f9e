//! Calls of users' functions in a statement: which function each means, with all of its arguments in their order.
//!
//! ```text
//!   SELECT f(b => 2, a => k) FROM t        SELECT "weft.function.7"(t.k, CAST(2 AS BIGINT)) AS f FROM t
//! ```
//!
//! 1. Such a call needs no search path and no types any more: views keep it, and what is put in its place depends on it
//!    alone.
//! 2. Columns in its arguments have the names of their relations, where these are known, so that they mean the same
//!    within a subquery.

use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::ControlFlow;

use sqlparser::ast::{
    Array, CastKind, DataType as SqlType, Expr, Function as Call, FunctionArg, FunctionArgExpr, FunctionArgumentList,
    FunctionArguments, Ident, ObjectName, Query, Select, SelectItem, Statement, TableAlias, TableFactor, VisitorMut,
};
use weft_expr::as_numeric;
use weft_expr::builtins::is_same;
use weft_format::{Code, DataType, Error, Result};
use weft_kernel::{ObjectKind, Transaction};
use weft_walk::VisitMut;

use super::called::called_in_result;
use super::definition::{Argument, Function, plain_type_of, sql_type_of};
use super::names::{fixed_name, of_fixed_name};
use super::overload::{Candidate, Given, choose, given, named, undefined};
use super::scope::{Found, Scopes, Typing, name_of};
use super::system;
use crate::parse::{ArgumentMode, fold, parse_expression, table_name};
use crate::{resolve, types};

/// Whether there are functions of users.
pub(crate) fn are_there(txn: &Transaction) -> bool {
    txn.has_objects(ObjectKind::Function)
}

/// What may have calls.
pub(crate) trait HasCalls: VisitMut + Clone {}

impl HasCalls for Statement {}
impl HasCalls for Query {}
impl HasCalls for Expr {}

/// A statement, or a part of one, whose calls of users' functions say which these are.
pub(crate) fn fixed<'s, T: HasCalls>(txn: &Transaction, part: &'s T) -> Result<Cow<'s, T>> {
    if !txn.has_objects(ObjectKind::Function) {
        return Ok(Cow::Borrowed(part));
    }
    let mut fixed = part.clone();
    fix(txn, &mut fixed, Vec::new())?;
    Ok(Cow::Owned(fixed))
}

/// The same in place, with the types of `$1`, `$2`, ...
pub(crate) fn fix<T: VisitMut>(txn: &Transaction, part: &mut T, params: Vec<DataType>) -> Result<()> {
    if !txn.has_objects(ObjectKind::Function) {
        return Ok(());
    }
    // Arguments may be of enums.
    types::note_all(txn)?;
    let objects = txn.objects_of(ObjectKind::Function);
    let own = |key: &str| key.split('(').next().unwrap_or_default().to_owned();
    let names = objects.iter().map(|(object, _)| own(&object.name)).collect();
    let mut fixing = Fixing { names, scopes: Scopes::new(txn, params), depth: 0 };
    match part.visit(&mut fixing) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(error),
    }
}

struct Fixing<'a> {
    /// The names of all functions.
    names: HashSet<String>,
    scopes: Scopes<'a>,
    /// How many statements are around.
    depth: usize,
}

impl VisitorMut for Fixing<'_> {
    type Break = Error;

    fn pre_visit_statement(&mut self, statement: &mut Statement) -> ControlFlow<Error> {
        self.depth += 1;
        self.scopes.enter_statement(statement);
        ControlFlow::Continue(())
    }

    fn post_visit_statement(&mut self, statement: &mut Statement) -> ControlFlow<Error> {
        self.scopes.leave();
        let returning = match statement {
            Statement::Insert(insert) => insert.returning.as_mut(),
            Statement::Update(update) => update.returning.as_mut(),
            Statement::Delete(delete) => delete.returning.as_mut(),
            _ => None,
        };
        flow(returning.map_or(Ok(()), |items| self.name_items(items)))
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
        self.scopes.enter_select(select);
        ControlFlow::Continue(())
    }

    fn post_visit_select(&mut self, select: &mut Select) -> ControlFlow<Error> {
        self.scopes.leave_select();
        flow(self.check_sets(&select.projection).and_then(|()| self.name_items(&mut select.projection)))
    }

    fn post_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<Error> {
        flow(self.factor(factor))
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Error> {
        match expr {
            Expr::Function(call) => flow(self.call(call)),
            _ => ControlFlow::Continue(()),
        }
    }
}

fn flow(result: Result<()>) -> ControlFlow<Error> {
    match result {
        Ok(()) => ControlFlow::Continue(()),
        Err(error) => ControlFlow::Break(error),
    }
}

impl Fixing<'_> {
    /// Whether a name may be that of a function of users.
    fn is_ours(&self, name: &ObjectName) -> bool {
        let parts: Vec<&Ident> = name.0.iter().filter_map(|part| part.as_ident()).collect();
        match parts.as_slice() {
            [own] => self.names.contains(&fold(own)),
            [schema, own] => {
                let is_of_system = ["pg_catalog", "information_schema"].contains(&fold(schema).as_str());
                !is_of_system && self.names.contains(&fold(own))
            }
            _ => false,
        }
    }

    /// Fails where a result has rows of several functions, one of users among them.
    fn check_sets(&self, items: &[SelectItem]) -> Result<()> {
        let mut ours = None;
        let (called, mut sets) = called_in_result(items);
        for id in called {
            let function = Function::of_number(self.scopes.txn, id)?.filter(|function| function.is_set);
            sets += usize::from(function.is_some());
            ours = function.map(|function| function.name).or(ours);
        }
        let Some(name) = ours else { return Ok(()) };
        if sets < 2 {
            return Ok(());
        }
        let message = format!("function {name} gives many rows beside another function that does");
        let error = Error::new(Code::FeatureNotSupported, message);
        Err(error.hint("ROWS FROM (f(...), g(...)) in FROM"))
    }

    /// A column of a result is called as the function that gives it.
    fn name_items(&self, items: &mut [SelectItem]) -> Result<()> {
        for item in items {
            let SelectItem::UnnamedExpr(expr) = item else { continue };
            let Some(id) = called(expr) else { continue };
            if let Some(function) = Function::of_number(self.scopes.txn, id)? {
                let alias = plain_ident(function.name);
                *item = SelectItem::ExprWithAlias { expr: expr.clone(), alias };
            }
        }
        Ok(())
    }

    fn call(&mut self, call: &mut Call) -> Result<()> {
        if !self.is_ours(&call.name) {
            return Ok(());
        }
        let FunctionArguments::List(list) = &call.args else { return Ok(()) };
        let is_plain = call.over.is_none()
            && call.filter.is_none()
            && call.within_group.is_empty()
            && list.duplicate_treatment.is_none()
            && list.clauses.is_empty();
        let Some(args) = given(&list.args).filter(|_| is_plain) else { return Ok(()) };
        let Some((function, args)) = self.meant(&call.name, &args)? else { return Ok(()) };
        call.name = fixed_name(function.id);
        call.args = FunctionArguments::List(FunctionArgumentList {
            duplicate_treatment: None,
            args: args.into_iter().map(unnamed).collect(),
            clauses: Vec::new(),
        });
        Ok(())
    }

    fn factor(&mut self, factor: &mut TableFactor) -> Result<()> {
        let (name, args, alias) = match factor {
            TableFactor::Table { name, args: Some(args), alias, .. } if args.settings.is_none() => {
                (name, &mut args.args, alias)
            }
            TableFactor::Function { name, args, alias, .. } => (name, args, alias),
            _ => return Ok(()),
        };
        if !self.is_ours(name) {
            return Ok(());
        }
        let Some(written) = given(args) else { return Ok(()) };
        let Some((function, fixed)) = self.meant(name, &written)? else { return Ok(()) };
        *name = fixed_name(function.id);
        *args = fixed.into_iter().map(unnamed).collect();
        if alias.is_none() {
            let name = Ident::with_quote('"', function.name);
            *alias = Some(TableAlias { explicit: true, name, columns: Vec::new(), at: None });
        }
        Ok(())
    }

    /// The function that a call means, and its arguments; none: one of the system.
    fn meant(&mut self, name: &ObjectName, args: &[Given]) -> Result<Option<(Function, Vec<Expr>)>> {
        let own = table_name(name)?;
        if name.0.len() == 1 && system::has(&own) {
            return Ok(None);
        }
        let functions = named(self.scopes.txn, name)?;
        let types: Vec<Typing> = args.iter().map(|(_, expr)| self.scopes.type_of(expr)).collect();
        let Some(candidate) = choose(self.scopes.txn, functions, args, &types)? else {
            return Err(undefined(&resolve::shown(&own), args, &types));
        };
        let args = self.arguments_of(&candidate, args, &types)?;
        Ok(Some((candidate.function, args)))
    }

    /// The arguments of a call in their order, each of its type.
    fn arguments_of(&mut self, candidate: &Candidate, args: &[Given], types: &[Typing]) -> Result<Vec<Expr>> {
        let inputs: Vec<Argument> = candidate.function.inputs().cloned().collect();
        let mut made = Vec::with_capacity(inputs.len());
        for (input, place) in inputs.iter().zip(&candidate.places) {
            if let (ArgumentMode::Variadic, Some(count), Some(first)) = (input.mode, candidate.variadic, place) {
                let elements = args[*first..*first + count].iter().map(|(_, expr)| self.qualified(expr)).collect();
                let list = Expr::Array(Array { elem: elements, named: true });
                made.push(cast(list, sql_type_of(&input.data_type)?));
                continue;
            }
            let (expr, typing) = match place {
                Some(at) => (self.qualified(&args[*at].1), types[*at]),
                None => {
                    let text = input.default.as_deref().unwrap_or("NULL");
                    let expr = parse_expression(text)?;
                    let typing = self.scopes.type_of(&expr);
                    (expr, typing)
                }
            };
            made.push(typed(self.scopes.txn, expr, typing, &input.data_type)?);
        }
        Ok(made)
    }

    /// An argument whose columns have the names of their relations.
    fn qualified(&self, expr: &Expr) -> Expr {
        struct Columns<'s, 'a> {
            scopes: &'s Scopes<'a>,
        }
        impl VisitorMut for Columns<'_, '_> {
            type Break = ();

            fn pre_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
                ControlFlow::Break(())
            }

            fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
                if let Expr::Identifier(name) = expr
                    && let Found::Column(alias, _) = self.scopes.find(None, &fold(name))
                {
                    *expr = Expr::CompoundIdentifier(vec![plain_ident(alias), name.clone()]);
                }
                ControlFlow::Continue(())
            }
        }
        let mut qualified = expr.clone();
        match VisitMut::visit(&mut qualified, &mut Columns { scopes: &self.scopes }) {
            ControlFlow::Continue(()) => qualified,
            ControlFlow::Break(()) => expr.clone(),
        }
    }
}

/// A name as an identifier, in quotes where it needs them.
fn plain_ident(name: String) -> Ident {
    if weft_pgcatalog::quoted(&name).starts_with('"') { Ident::with_quote('"', name) } else { Ident::new(name) }
}

/// The function that an expression calls, a cast aside.
fn called(expr: &Expr) -> Option<u32> {
    name_of(expr)?;
    match expr {
        Expr::Nested(inner) | Expr::Cast { expr: inner, .. } => called(inner),
        Expr::Function(call) => of_fixed_name(&call.name),
        _ => None,
    }
}

fn unnamed(expr: Expr) -> FunctionArg {
    FunctionArg::Unnamed(FunctionArgExpr::Expr(expr))
}

fn cast(expr: Expr, data_type: SqlType) -> Expr {
    Expr::Cast { kind: CastKind::Cast, expr: Box::new(expr), data_type, array: false, format: None }
}

/// A cast to a stored type.
pub(crate) fn cast_of(expr: Expr, to: &str) -> Result<Expr> {
    Ok(cast(expr, sql_type_of(to)?))
}

/// An expression as one of a stored type; what is of the type already stays as it is.
pub(super) fn typed(txn: &Transaction, expr: Expr, typing: Typing, to: &str) -> Result<Expr> {
    let (data_type, domain) = plain_type_of(txn, to)?;
    if let (Typing::Known(known), None) = (typing, domain) {
        let numeric = as_numeric(known).filter(|_| matches!(data_type, DataType::Numeric { .. }));
        match numeric {
            // It keeps the digits that it has.
            Some(_) if matches!(known, DataType::Numeric { .. }) => return Ok(expr),
            Some((precision, scale)) => {
                let digits = DataType::Numeric { precision, scale };
                return Ok(cast(expr, sql_type_of(&digits.to_string())?));
            }
            None if is_same(known, data_type) => return Ok(expr),
            None => {}
        }
    }
    Ok(cast(expr, sql_type_of(to)?))
}

/// The error of a function that is called and not there any more.
pub(crate) fn gone(id: u32) -> Error {
    Error::new(Code::UndefinedFunction, format!("function with OID {} does not exist", weft_pgcatalog::FIRST + id))
}
