//! Queries in place of the views that a statement reads, and the names in a view's query written out.
//!
//! ```text
//!   v (x) is SELECT a FROM public.t
//!   SELECT * FROM v WHERE x > 1     SELECT * FROM (SELECT "a" AS "x" FROM (SELECT a FROM public.t) AS "v") AS v
//!   UPDATE v SET x = 1              as it is: who plans it asks what v makes of its table (`crate::updatable`)
//! ```

use std::borrow::Cow;
use std::ops::ControlFlow;

use sqlparser::ast::{
    CopySource, Expr, FromTable, FunctionArg, FunctionArgExpr, Ident, ObjectName, Query, SetExpr, Statement,
    TableAlias, TableFactor, TableObject, TableVersion, VisitorMut,
};
use weft_format::{Code, Error, Result};
use weft_kernel::{Object, ObjectKind, Transaction};
use weft_walk::VisitMut;

use crate::changed::{Changed, target_of};
use crate::changes;
use crate::ddl::dependents::{is_materialized, is_populated};
use crate::expr::arguments;
use crate::functions::{self, Body, Function};
use crate::parse::fold;
use crate::parse::{Parsed, parse, period_of, read_at, table_name};
use crate::resolve::{self, Relation};
use crate::types;
use crate::view_columns::SEPARATOR;

/// How deep views may lie within views.
const NESTING_MAX: usize = 64;
/// How many calls of functions a statement may have, those within functions among them.
const CALLS_MAX: usize = 1000;

/// A statement with the views that it reads, and the changes that it asks for, as subqueries, and with the fixed names
/// of users' types.
pub(crate) fn expand_views<'s>(txn: &Transaction, statement: &'s Statement) -> Result<Cow<'s, Statement>> {
    let has_views = txn.has_objects(ObjectKind::View);
    let fixed = types::fixed(txn, statement)?;
    let has_functions = txn.has_objects(ObjectKind::Function);
    if !has_views && !has_functions && !changes::has_calls(&fixed) {
        return Ok(fixed);
    }
    if has_views {
        refuse_target(txn, &fixed)?;
    }
    let mut expanded = fixed.into_owned();
    if has_functions {
        functions::fix(txn, &mut expanded, Vec::new())?;
        // Arguments may be cast to domains.
        types::run(txn, &mut expanded)?;
    }
    let changed = if has_functions { Changed::by(txn, &expanded)? } else { Changed::default() };
    let mut names = Names { changed, ..Names::new(txn, Use::Expand { is_read: true }) };
    match VisitMut::visit(&mut expanded, &mut names) {
        ControlFlow::Continue(()) => Ok(Cow::Owned(expanded)),
        ControlFlow::Break(error) => Err(error),
    }
}

/// The same of a part of a stored view's query.
pub(crate) fn expand_part(txn: &Transaction, part: &mut Expr) -> Result<()> {
    match VisitMut::visit(part, &mut Names::new(txn, Use::Expand { is_read: true })) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(error),
    }
}

/// A query with its views as subqueries, for who looks at its columns only.
pub(crate) fn expand_unread(txn: &Transaction, query: &Query) -> Result<Statement> {
    let mut query = query.clone();
    functions::fix(txn, &mut query, Vec::new())?;
    types::run(txn, &mut query)?;
    let mut statement = Statement::Query(Box::new(query));
    let mut names = Names::new(txn, Use::Expand { is_read: false });
    match VisitMut::visit(&mut statement, &mut names) {
        ControlFlow::Continue(()) => Ok(statement),
        ControlFlow::Break(error) => Err(error),
    }
}

/// Fails when a statement would change a materialised view, or merge into a view.
fn refuse_target(txn: &Transaction, statement: &Statement) -> Result<()> {
    if let Statement::Query(query) = statement {
        let with = query.with.iter().flat_map(|with| &with.cte_tables).map(|table| &*table.query);
        for part in with.chain([&**query]) {
            if let SetExpr::Insert(inner) | SetExpr::Update(inner) | SetExpr::Delete(inner) | SetExpr::Merge(inner) =
                &*part.body
            {
                refuse_target(txn, inner)?;
            }
        }
    }
    let name = match statement {
        Statement::Insert(insert) => match &insert.table {
            TableObject::TableName(name) => name,
            _ => return Ok(()),
        },
        Statement::Copy { source: CopySource::Table { table_name, .. }, .. } => table_name,
        other => match target_of(other) {
            Some(TableFactor::Table { name, .. }) => name,
            _ => return Ok(()),
        },
    };
    let known_as = table_name(name)?;
    if let Some(Relation::Table(table)) = resolve::relation(txn, &known_as)
        && is_materialized(&table.def)
    {
        let message = match statement {
            Statement::Copy { to: true, .. } => format!("cannot copy from materialized view \"{}\"", table.def.name),
            _ => format!("cannot change materialized view \"{}\"", table.def.name),
        };
        return Err(Error::new(Code::WrongObjectType, message).hint("REFRESH MATERIALIZED VIEW, or COPY a query of it"));
    }
    match resolve::object(txn, ObjectKind::View, &known_as) {
        Some(view) if matches!(statement, Statement::Merge(_)) => {
            let message = format!("cannot execute MERGE on relation \"{}\"", view.name);
            let error = Error::new(Code::FeatureNotSupported, message);
            Err(error.detail("This operation is not supported for views.").hint("change the tables that it reads"))
        }
        _ => Ok(()),
    }
}

/// As [`target_of`].
fn target_of_mut(statement: &mut Statement) -> Option<&mut TableFactor> {
    match statement {
        Statement::Update(update) => Some(&mut update.table.relation),
        Statement::Merge(merge) => Some(&mut merge.table),
        Statement::Delete(delete) => {
            let (FromTable::WithFromKeyword(from) | FromTable::WithoutKeyword(from)) = &mut delete.from;
            from.first_mut().map(|from| &mut from.relation)
        }
        _ => None,
    }
}

/// What is done with the names of relations.
enum Use {
    /// Views become subqueries; when they are read, materialised ones must have rows.
    Expand { is_read: bool },
    /// Schemas are written out; the numbers of what is named are noted.
    Qualify(Vec<u32>),
}

struct Names<'a> {
    txn: &'a Transaction,
    /// The names of the WITH clauses in sight.
    with: Vec<Vec<String>>,
    depth: usize,
    use_of: Use,
    /// What the statements around the place change, which stays as it is.
    targets: Vec<Option<TableFactor>>,
    /// The functions whose bodies are around.
    calling: Vec<u32>,
    /// How many calls were replaced.
    calls: usize,
    /// What the statement changes.
    changed: Changed,
}

impl<'a> Names<'a> {
    fn new(txn: &'a Transaction, use_of: Use) -> Names<'a> {
        let (with, targets, calling) = (Vec::new(), Vec::new(), Vec::new());
        Names { txn, with, depth: 0, use_of, targets, calling, calls: 0, changed: Changed::default() }
    }
}

impl VisitorMut for Names<'_> {
    type Break = Error;

    fn pre_visit_statement(&mut self, statement: &mut Statement) -> ControlFlow<Error> {
        self.targets.push(target_of(statement).cloned());
        ControlFlow::Continue(())
    }

    fn post_visit_statement(&mut self, statement: &mut Statement) -> ControlFlow<Error> {
        if let (Some(kept), Some(target)) = (self.targets.pop().flatten(), target_of_mut(statement)) {
            *target = kept;
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Error> {
        let tables = query.with.iter().flat_map(|with| &with.cte_tables);
        self.with.push(tables.map(|table| fold(&table.alias.name)).collect());
        self.changed.enter(query);
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, query: &mut Query) -> ControlFlow<Error> {
        self.changed.leave(query);
        self.with.pop();
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Error> {
        let Expr::Function(call) = expr else { return ControlFlow::Continue(()) };
        let Some(id) = functions::of_fixed_name(&call.name) else { return ControlFlow::Continue(()) };
        let args = arguments(call).unwrap_or_default().into_iter().cloned().collect();
        match self.call(id, args) {
            Ok(value) => {
                *expr = value.unwrap_or_else(|| expr.clone());
                ControlFlow::Continue(())
            }
            Err(error) => ControlFlow::Break(error),
        }
    }

    fn post_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<Error> {
        match self.factor(factor) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => ControlFlow::Break(error),
        }
    }
}

impl Names<'_> {
    /// What stands for a call of a function of users; none: the call stays.
    fn call(&mut self, id: u32, args: Vec<Expr>) -> Result<Option<Expr>> {
        match self.body_of(id)? {
            Some((function, body)) => functions::in_place(self.txn, &function, body, args).map(Some),
            None => Ok(None),
        }
    }

    /// A function and its query, with the views that it reads and the functions that it calls in their places; none
    /// where only names are written out.
    fn body_of(&mut self, id: u32) -> Result<Option<(Function, Body)>> {
        let is_read = match &mut self.use_of {
            Use::Qualify(needs) => {
                if !needs.contains(&id) {
                    needs.push(id);
                }
                return Ok(None);
            }
            Use::Expand { is_read } => *is_read,
        };
        let function = Function::of_number(self.txn, id)?.ok_or_else(|| functions::gone(id))?;
        if self.calling.contains(&id) {
            let message = format!("function {} calls itself", function.shown(self.txn));
            let error = Error::new(Code::FeatureNotSupported, message);
            return Err(error.hint("WITH RECURSIVE in a query does what functions that call themselves do"));
        }
        self.calls += 1;
        if self.depth == NESTING_MAX || self.calls > CALLS_MAX {
            return Err(Error::new(Code::StatementTooComplex, "functions call too many functions"));
        }
        let mut body = functions::body_of(self.txn, &function)?;
        let calling = self.calling.iter().copied().chain([id]).collect();
        let mut names = Names {
            depth: self.depth + 1,
            calling,
            calls: self.calls,
            ..Names::new(self.txn, Use::Expand { is_read })
        };
        if let ControlFlow::Break(error) = VisitMut::visit(&mut body.query, &mut names) {
            return Err(error);
        }
        self.calls = names.calls;
        self.changed.check(self.txn, &function, &body.query)?;
        Ok(Some((function, body)))
    }

    /// Puts a query in the place of a function of users in FROM; whether it is one.
    fn function_factor(&mut self, factor: &mut TableFactor) -> Result<bool> {
        let (name, args, alias, with_ordinality) = match factor {
            TableFactor::Table { name, args: Some(args), alias, with_ordinality, .. } => {
                (&*name, args.args.as_slice(), &*alias, *with_ordinality)
            }
            TableFactor::Function { name, args, alias, with_ordinality, .. } => {
                (&*name, args.as_slice(), &*alias, *with_ordinality)
            }
            _ => return Ok(false),
        };
        let Some(id) = functions::of_fixed_name(name) else { return Ok(false) };
        let Some((function, body)) = self.body_of(id)? else { return Ok(true) };
        if with_ordinality {
            let message = format!("WITH ORDINALITY of function {} is not supported", function.name);
            return Err(Error::new(Code::FeatureNotSupported, message).hint("row_number() OVER () numbers its rows"));
        }
        let plain = |arg: &FunctionArg| match arg {
            FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr.clone()),
            _ => None,
        };
        let args = args.iter().filter_map(plain).collect();
        let alias = alias.clone().unwrap_or_else(|| alias_of(&function.name));
        *factor = functions::in_from(self.txn, &function, body, args, alias)?;
        Ok(true)
    }

    fn factor(&mut self, factor: &mut TableFactor) -> Result<()> {
        if self.function_factor(factor)? {
            return Ok(());
        }
        match &mut self.use_of {
            Use::Qualify(needs) => {
                if let Some(table) = changes::qualify(self.txn, factor)? {
                    if !needs.contains(&table.def.oid) {
                        needs.push(table.def.oid);
                    }
                    return Ok(());
                }
            }
            Use::Expand { .. } => {
                if let Some(query) = changes::expanded(self.txn, factor)? {
                    *factor = query;
                    return Ok(());
                }
            }
        }
        let TableFactor::Table { name, alias, args: None, .. } = factor else { return Ok(()) };
        let Ok(known_as) = table_name(name) else { return Ok(()) };
        if self.with.iter().flatten().any(|with| *with == known_as) {
            return Ok(());
        }
        if resolve::of_catalog(self.txn, &known_as).is_some() {
            return Ok(());
        }
        let Some(relation) = resolve::relation(self.txn, &known_as) else { return Ok(()) };
        if let Use::Qualify(needs) = &mut self.use_of {
            let (id, namespace, own) = match &relation {
                Relation::Table(table) => (table.def.oid, table.def.namespace, table.def.name.clone()),
                Relation::Object(object) => (object.id, object.namespace, object.name.clone()),
                Relation::Index(..) | Relation::Columns(..) => return Ok(()),
            };
            if !needs.contains(&id) {
                needs.push(id);
            }
            let schema = resolve::schema_name(self.txn, namespace);
            let quoted = |name: &str| match weft_pgcatalog::quoted(name).starts_with('"') {
                true => Ident::with_quote('"', name),
                false => Ident::new(name),
            };
            if alias.is_none() {
                *alias = Some(alias_of(&own));
            }
            *name = ObjectName::from(vec![quoted(&schema), quoted(&own)]);
            return Ok(());
        }
        if let (Relation::Table(table), Use::Expand { is_read: true }) = (&relation, &self.use_of)
            && !is_populated(&table.def)
        {
            let message = format!("materialized view \"{}\" has not been populated", table.def.name);
            let error = Error::new(Code::NotInPrerequisiteState, message);
            return Err(error.hint("Use the REFRESH MATERIALIZED VIEW command."));
        }
        match relation {
            Relation::Object(view) if view.kind == ObjectKind::View => self.view(&view, factor),
            _ => Ok(()),
        }
    }

    /// Puts the query of a view in the place of its name.
    fn view(&mut self, view: &Object, factor: &mut TableFactor) -> Result<()> {
        let TableFactor::Table { alias, version, .. } = factor else { return Ok(()) };
        let alias = alias.take().unwrap_or_else(|| alias_of(&view.name));
        let mut subquery = Box::new(self.query_of(view)?);
        if let Some(version) = version.take() {
            if matches!(&version, TableVersion::ForSystemTimeAsOf(moment) if period_of(moment).is_some()) {
                let message = format!("\"{}\" is a view: versions are those of tables", view.name);
                let hint = "make a view whose query has the clause, or read the view AS OF a moment";
                return Err(Error::new(Code::FeatureNotSupported, message).hint(hint));
            }
            read_at(&mut subquery, &version);
        }
        *factor = TableFactor::Derived { lateral: false, subquery, alias: Some(alias), sample: None };
        Ok(())
    }

    /// The query of a view, with the views that it reads as subqueries.
    fn query_of(&mut self, view: &Object) -> Result<Query> {
        if self.depth == NESTING_MAX {
            return Err(Error::new(Code::StatementTooComplex, "views lie too deep within views"));
        }
        let damaged = || damaged(view);
        let text = view.property("query").ok_or_else(damaged)?;
        let (from, names) = (view.property("from").ok_or_else(damaged)?, view.property("columns").ok_or_else(damaged)?);
        let quoted = |name: &str| format!("\"{}\"", name.replace('"', "\"\""));
        let items = from.split(SEPARATOR).zip(names.split(SEPARATOR));
        let items: Vec<String> = items.map(|(from, name)| format!("{} AS {}", quoted(from), quoted(name))).collect();
        let sql = format!("SELECT {} FROM ({text}) AS {}", items.join(", "), quoted(&view.name));
        let Some(Parsed::Sql { statement, .. }) = parse(&sql)?.pop() else { return Err(damaged()) };
        let Statement::Query(mut query) = *statement else { return Err(damaged()) };
        types::run(self.txn, &mut query)?;
        let is_read = matches!(self.use_of, Use::Expand { is_read: true });
        let use_of = Use::Expand { is_read };
        let (calling, calls, changed) = (self.calling.clone(), self.calls, self.changed.clone());
        let mut names = Names { depth: self.depth + 1, calling, calls, changed, ..Names::new(self.txn, use_of) };
        if let ControlFlow::Break(error) = VisitMut::visit(&mut *query, &mut names) {
            return Err(error);
        }
        self.calls = names.calls;
        Ok(*query)
    }
}

/// The error of a view that is not stored as it should be.
pub(crate) fn damaged(view: &Object) -> Error {
    Error::corrupt(format!("the catalog's entry of view \"{}\" is damaged", view.name))
}

fn alias_of(name: &str) -> TableAlias {
    TableAlias { explicit: true, name: Ident::with_quote('"', name), columns: Vec::new(), at: None }
}

/// A view's query with the schemas of what it names written out, and the numbers of these.
pub(crate) fn qualified_query(txn: &Transaction, query: &Query) -> Result<(Query, Vec<u32>)> {
    let mut query = query.clone();
    let mut names = Names::new(txn, Use::Qualify(Vec::new()));
    if let ControlFlow::Break(error) = VisitMut::visit(&mut query, &mut names) {
        return Err(error);
    }
    let Use::Qualify(needs) = names.use_of else { return Err(Error::internal("names were qualified")) };
    Ok((query, needs))
}

/// Whether a query names a temporary relation.
pub(crate) fn reads_temporary(txn: &Transaction, query: &Query) -> Result<bool> {
    let mut query = query.clone();
    let mut names = Names::new(txn, Use::Qualify(Vec::new()));
    if let ControlFlow::Break(error) = VisitMut::visit(&mut query, &mut names) {
        return Err(error);
    }
    let Use::Qualify(needs) = names.use_of else { return Ok(false) };
    let is_temporary = |id: &u32| {
        let table = || txn.tables().iter().find(|def| def.oid == *id).map(|def| def.namespace);
        let namespace = txn.object_of(*id).map(|object| object.namespace).or_else(table);
        namespace.is_some_and(|namespace| resolve::is_temporary(txn, namespace))
    };
    Ok(needs.iter().any(is_temporary))
}
