//! Binding of queries: relations come into sight one after the other, conditions go where they can be tested first.
//!
//! ```text
//!   FROM pg_class c, pg_namespace n WHERE c.relkind = 'r' AND n.oid = c.relnamespace
//!        c: test relkind              n: found by its oid
//! ```

use std::ops::ControlFlow;

use sqlparser::ast::{
    Distinct, Expr, FunctionArg, FunctionArgExpr, GroupByExpr, Ident, JoinConstraint, JoinOperator, LimitClause,
    OrderByExpr, OrderByKind, Query as SqlQuery, Select as SqlSelect, SelectItem, SelectItemQualifiedWildcardKind,
    SetExpr, SetOperator, SetQuantifier, TableAlias, TableFactor, TableWithJoins, Value as SqlValue, Values,
};
use weft_format::{Code, Error, Result};

use crate::bind::{Binder, InSight, Named, Scope, With, direction, fold, last_part, unsupported, wider};
use crate::declared;
use crate::functions;
use crate::join_order::{Step, Steps, conjuncts};
use crate::tree::{Body, Comparison, Condition, Ex, From, Incoming, JoinKind, Order, Query, Select, SetKind};
use crate::value::Type;

impl Binder {
    pub(crate) fn bind_query(&mut self, query: &SqlQuery) -> Result<Query> {
        let known = self.with.len();
        if let Some(with) = &query.with {
            for table in &with.cte_tables {
                let columns = table.alias.columns.iter().map(|column| column.name.clone()).collect();
                let (name, query) = (fold(&table.alias.name), (*table.query).clone());
                self.with.push(With { name, query, columns, sees: self.scopes.len() });
            }
        }
        let order: &[OrderByExpr] = match query.order_by.as_ref().map(|order| &order.kind) {
            None => &[],
            Some(OrderByKind::Expressions(order)) => order,
            Some(OrderByKind::All(_)) => return Err(unsupported("ORDER BY ALL")),
        };
        let mut bound = match &*query.body {
            SetExpr::Select(select) => self.select(select, order)?,
            SetExpr::Query(inner) => {
                let inner = self.bind_query(inner)?;
                ordered(inner, order)?
            }
            SetExpr::Values(values) => ordered(self.values(values)?, order)?,
            SetExpr::SetOperation { op, set_quantifier, left, right } => {
                let kind = match op {
                    SetOperator::Union => SetKind::Union,
                    SetOperator::Intersect => SetKind::Intersect,
                    _ => SetKind::Except,
                };
                let all = *set_quantifier == SetQuantifier::All;
                let (left, right) = (self.side(left)?, self.side(right)?);
                if left.columns.len() != right.columns.len() {
                    let message = format!("each {op} query must have the same number of columns");
                    return Err(Error::new(Code::SyntaxError, message));
                }
                let pairs = left.columns.iter().zip(&right.columns);
                let columns = pairs.map(|((name, a), (_, b))| (name.clone(), wider(a.clone(), b.clone()))).collect();
                let body = Body::Set { kind, all, left: Box::new(left), right: Box::new(right) };
                ordered(Query { body, columns, order: Vec::new(), limit: None, offset: None }, order)?
            }
            other => return Err(unsupported(other)),
        };
        let (limit, offset) = match &query.limit_clause {
            Some(LimitClause::LimitOffset { limit, offset, .. }) => {
                (limit.as_ref(), offset.as_ref().map(|offset| &offset.value))
            }
            _ => (None, None),
        };
        let limit = limit.or(query.fetch.as_ref().and_then(|fetch| fetch.quantity.as_ref()));
        for (from, to) in [(limit, &mut bound.limit), (offset, &mut bound.offset)] {
            if let Some(from) = from {
                let (ex, _) = self.expr(from)?;
                if let Ex::Param(at) = ex
                    && self.params[at].is_none()
                {
                    self.params[at] = Some(Type::Int8);
                }
                *to = Some(ex);
            }
        }
        self.with.truncate(known);
        Ok(bound)
    }

    fn values(&mut self, values: &Values) -> Result<Query> {
        let mut rows = Vec::with_capacity(values.rows.len());
        let mut types = Vec::new();
        for row in &values.rows {
            let mut bound = Vec::with_capacity(row.content.len());
            for (place, expr) in row.content.iter().enumerate() {
                let (ex, data_type) = self.expr(expr)?;
                match types.get_mut(place) {
                    None => types.push(data_type),
                    Some(known) => *known = wider(known.clone(), data_type),
                }
                bound.push(ex);
            }
            rows.push(bound);
        }
        let columns = (1..).zip(types).map(|(number, t)| (format!("column{number}"), t)).collect();
        Ok(Query { body: Body::Values(rows), columns, order: Vec::new(), limit: None, offset: None })
    }

    fn side(&mut self, side: &SetExpr) -> Result<Query> {
        let query = SqlQuery {
            with: None,
            body: Box::new(side.clone()),
            order_by: None,
            limit_clause: None,
            fetch: None,
            locks: Vec::new(),
            for_clause: None,
            settings: None,
            format_clause: None,
            pipe_operators: Vec::new(),
        };
        self.bind_query(&query)
    }

    fn select(&mut self, select: &SqlSelect, order: &[OrderByExpr]) -> Result<Query> {
        self.scopes.push(Scope::default());
        let bound = self.select_in_scope(select, order);
        self.scopes.pop();
        bound
    }

    fn select_in_scope(&mut self, select: &SqlSelect, order: &[OrderByExpr]) -> Result<Query> {
        let (from, conditions) = self.incoming(select)?;
        let (columns, mut project) = self.projection(&select.projection)?;
        let group = self.group(select, &columns, &project)?;
        let having = select.having.as_ref().map(|having| self.expr(having)).transpose()?.map(|(ex, _)| ex);
        let distinct = matches!(select.distinct, Some(Distinct::Distinct)).then_some(columns.len());
        let mut places = Vec::with_capacity(order.len());
        for item in order {
            let place = match position_of(&item.expr, &columns)? {
                Some(place) => place,
                None => {
                    let (ex, _) = self.expr(&item.expr)?;
                    project.push(ex);
                    project.len() - 1
                }
            };
            let (descending, nulls_first) = direction(item);
            places.push(Order { place, descending, nulls_first });
        }
        let mut distinct_on = Vec::new();
        if let Some(Distinct::On(list)) = &select.distinct {
            for expr in list {
                distinct_on.push(match position_of(expr, &columns)? {
                    Some(place) => project[place].clone(),
                    None => self.expr(expr)?.0,
                });
            }
        }
        let scope = self.scope();
        let body = Body::Select(Box::new(Select {
            from,
            conditions,
            width: scope.width,
            group,
            aggregates: std::mem::take(&mut scope.aggregates),
            having,
            windows: std::mem::take(&mut scope.windows),
            sets: std::mem::take(&mut scope.sets),
            project,
            distinct,
            distinct_on,
        }));
        Ok(Query { body, columns, order: places, limit: None, offset: None })
    }

    /// FROM, and what is left of WHERE: conditions on no relation.
    fn incoming(&mut self, select: &SqlSelect) -> Result<(Vec<Incoming>, Vec<Ex>)> {
        let Steps { steps, conditions: parts } = self.steps(select);
        let mut from = Vec::with_capacity(steps.len());
        let mut ends = Vec::with_capacity(steps.len());
        for step in steps {
            let start = self.scope().width;
            let (item, kind, on) = match step {
                Step::Whole(item) => (self.joined(item)?, JoinKind::Inner, Vec::new()),
                Step::One(factor, kind, constraint) => {
                    let item = self.factor(factor)?;
                    let on = constraint.map(|constraint| self.constraint(constraint, start)).transpose()?;
                    (item, kind, on.unwrap_or_default())
                }
            };
            from.push(Incoming { item, kind, on, after: Vec::new() });
            ends.push(self.scope().width);
        }
        let mut conditions = Vec::new();
        for part in parts {
            self.scope().read = None;
            let (ex, _) = self.expr(part)?;
            let Some((_, most)) = self.scope().read else {
                conditions.push(ex);
                continue;
            };
            let at = ends.iter().position(|end| most < *end).unwrap_or(ends.len() - 1);
            let start = if at == 0 { 0 } else { ends[at - 1] };
            if from[at].kind == JoinKind::Inner {
                let condition = self.condition(part, ex, start)?;
                from[at].on.push(condition);
            } else {
                from[at].after.push(ex);
            }
        }
        Ok((from, conditions))
    }

    /// What GROUP BY says.
    fn group(&mut self, select: &SqlSelect, columns: &[(String, Type)], project: &[Ex]) -> Result<Option<Vec<Ex>>> {
        Ok(match &select.group_by {
            GroupByExpr::Expressions(list, _) if list.is_empty() => None,
            GroupByExpr::Expressions(list, _) => {
                let place = |expr: &Expr| self.output_place(expr, columns, &select.projection);
                let places: Vec<Option<usize>> = list.iter().map(place).collect();
                let mut group = Vec::with_capacity(list.len());
                for (expr, place) in list.iter().zip(places) {
                    group.push(match place {
                        Some(place) => project[place].clone(),
                        None => self.expr(expr)?.0,
                    });
                }
                Some(group)
            }
            GroupByExpr::All(_) => return Err(unsupported("GROUP BY ALL")),
        })
    }

    fn scope(&mut self) -> &mut Scope {
        self.scopes.last_mut().expect("a SELECT has a scope while it is bound")
    }

    /// A column of GROUP BY that is one of the result: by number, or by a name that is no column.
    fn output_place(&mut self, expr: &Expr, columns: &[(String, Type)], items: &[SelectItem]) -> Option<usize> {
        let is_alias = |item: &SelectItem| matches!(item, SelectItem::ExprWithAlias { .. });
        match expr {
            Expr::Identifier(ident) => {
                let name = fold(ident);
                if self.column(std::slice::from_ref(&name)).is_some() {
                    return None;
                }
                columns.iter().position(|(known, _)| *known == name).filter(|at| items.get(*at).is_some_and(is_alias))
            }
            other => position_of(other, columns).ok().flatten(),
        }
    }

    /// A conjunct, and what it is good for when a relation that starts at `start` comes in.
    fn condition(&mut self, part: &Expr, ex: Ex, start: usize) -> Result<Condition> {
        let only_right = start > 0 && self.scope().read.is_some_and(|(least, _)| least >= start);
        let mut equal = None;
        if let (Expr::BinaryOp { left, right, .. }, Ex::Compare(Comparison::Eq, a, b)) = (part, &ex) {
            let mut sides = Vec::with_capacity(2);
            for (expr, ex) in [(left, a), (right, b)] {
                self.scope().read = None;
                let (_, data_type) = self.expr(expr)?;
                sides.push((self.scope().read, (**ex).clone(), data_type));
            }
            let class = |data_type: &Type| match data_type {
                integer if integer.is_integer() => 1,
                Type::Unknown => 0,
                text if text.is_text() => 2,
                _ => 0,
            };
            if let [(Some(a), left, a_type), (Some(b), right, b_type)] = &sides[..]
                && class(a_type) == class(b_type)
                && class(a_type) > 0
            {
                if a.1 < start && b.0 >= start {
                    equal = Some((left.clone(), right.clone()));
                } else if b.1 < start && a.0 >= start {
                    equal = Some((right.clone(), left.clone()));
                }
            }
        }
        Ok(Condition { ex, only_right, equal })
    }

    fn joined(&mut self, item: &TableWithJoins) -> Result<From> {
        let start = self.scope().width;
        let mut left = self.factor(&item.relation)?;
        for join in &item.joins {
            let middle = self.scope().width;
            let right = self.factor(&join.relation)?;
            let end = self.scope().width;
            let (kind, constraint) = match &join.join_operator {
                JoinOperator::Join(constraint) | JoinOperator::Inner(constraint) => (JoinKind::Inner, constraint),
                JoinOperator::CrossJoin(constraint) => (JoinKind::Inner, constraint),
                JoinOperator::Left(constraint) | JoinOperator::LeftOuter(constraint) => (JoinKind::Left, constraint),
                JoinOperator::Right(constraint) | JoinOperator::RightOuter(constraint) => (JoinKind::Right, constraint),
                JoinOperator::FullOuter(constraint) => (JoinKind::Full, constraint),
                _ => return Err(unsupported("this kind of JOIN")),
            };
            let on = self.constraint(constraint, middle)?;
            left = From::Join { left: Box::new(left), right: Box::new(right), kind, on, start, middle, end };
        }
        Ok(left)
    }

    fn constraint(&mut self, constraint: &JoinConstraint, middle: usize) -> Result<Vec<Condition>> {
        let mut on = Vec::new();
        match constraint {
            JoinConstraint::None => {}
            JoinConstraint::On(expr) => {
                for part in conjuncts(expr) {
                    self.scope().read = None;
                    let (ex, _) = self.expr(part)?;
                    on.push(self.condition(part, ex, middle)?);
                }
            }
            JoinConstraint::Using(names) => {
                for name in names {
                    let name = last_part(name);
                    on.push(self.shared(&name, middle)?);
                }
            }
            JoinConstraint::Natural => {
                let scope = self.scope();
                let right = scope.relations.last().expect("the right side has come into sight");
                let names: Vec<String> = right.columns.iter().map(|(name, _)| name.clone()).collect();
                let left = &scope.relations[..scope.relations.len() - 1];
                let is_left = |name: &&String| left.iter().any(|r| r.columns.iter().any(|(known, _)| known == *name));
                let shared: Vec<String> = names.iter().filter(is_left).cloned().collect();
                for name in shared {
                    on.push(self.shared(&name, middle)?);
                }
            }
        }
        Ok(on)
    }

    /// The equality of USING; from now on the name means the left column.
    fn shared(&mut self, name: &str, middle: usize) -> Result<Condition> {
        let place_in = |scope: &Scope, right: bool| {
            let mut all = scope.relations.iter().filter(|relation| (relation.start >= middle) == right);
            all.find_map(|r| r.columns.iter().position(|(known, _)| known == name).map(|at| r.start + at))
        };
        let (left, right) = (place_in(self.scope(), false), place_in(self.scope(), true));
        let (Some(left), Some(right)) = (left, right) else {
            let message = format!("column \"{name}\" specified in USING clause does not exist in both tables");
            return Err(Error::new(Code::UndefinedColumn, message));
        };
        for relation in self.scope().relations.iter_mut().filter(|relation| relation.start >= middle) {
            relation.merged.push(name.to_owned());
        }
        let column = |place| Ex::Column { depth: 0, place };
        let ex = Ex::Compare(Comparison::Eq, Box::new(column(left)), Box::new(column(right)));
        Ok(Condition { ex, only_right: false, equal: Some((column(left), column(right))) })
    }

    fn add(&mut self, alias: String, of: Option<(Option<&'static str>, u32)>, columns: Vec<(String, Type)>) {
        let scope = self.scope();
        let start = scope.width;
        scope.width += columns.len();
        let schema = of.and_then(|(schema, _)| schema);
        let system = of.map(|(_, oid)| oid);
        scope.relations.push(InSight { alias, schema, columns, start, system, merged: Vec::new() });
    }

    fn factor(&mut self, factor: &TableFactor) -> Result<From> {
        match factor {
            TableFactor::Table { name, alias, args: None, .. } => {
                let parts: Vec<String> = name.0.iter().filter_map(|part| part.as_ident()).map(fold).collect();
                if let [name] = &parts[..]
                    && let Some((_, number, columns)) =
                        self.recursive.iter().rfind(|(known, ..)| known == name).cloned()
                {
                    let (width, mut columns) = (columns.len(), columns);
                    rename(&mut columns, alias.as_ref());
                    self.add(alias.as_ref().map_or_else(|| name.clone(), |alias| fold(&alias.name)), None, columns);
                    return Ok(From::Last(number, width));
                }
                if let [name] = &parts[..]
                    && let Some(at) = self.with.iter().rposition(|with| with.name == *name)
                {
                    return self.with_table(at, name.clone(), alias.as_ref());
                }
                let (schema, table) = match &parts[..] {
                    [table] => (None, table),
                    [schema, table] => (Some(schema.as_str()), table),
                    [_, schema, table] => (Some(schema.as_str()), table),
                    _ => return Err(unsupported(name)),
                };
                let Some(relation) = declared::find(schema, table) else {
                    let shown = parts.join(".");
                    return Err(Error::new(Code::UndefinedTable, format!("relation \"{shown}\" does not exist")));
                };
                let mut columns: Vec<(String, Type)> =
                    relation.columns.iter().map(|(name, data_type)| ((*name).to_owned(), data_type.clone())).collect();
                rename(&mut columns, alias.as_ref());
                let own = if schema == Some("information_schema") { "information_schema" } else { "pg_catalog" };
                let known_as = alias.as_ref().map(|alias| fold(&alias.name));
                let schema = known_as.is_none().then_some(own);
                self.add(known_as.unwrap_or_else(|| table.clone()), Some((schema, relation.oid)), columns);
                Ok(From::Relation(relation))
            }
            TableFactor::Table { name, alias, args: Some(args), with_ordinality, .. } => {
                self.function(&last_part(name), &args.args, *with_ordinality, alias.as_ref())
            }
            TableFactor::Function { name, args, with_ordinality, alias, .. } => {
                self.function(&last_part(name), args, *with_ordinality, alias.as_ref())
            }
            TableFactor::UNNEST { alias, array_exprs, with_ordinality, .. } => {
                let args = array_exprs.iter().map(|array| FunctionArg::Unnamed(FunctionArgExpr::Expr(array.clone())));
                let args: Vec<FunctionArg> = args.collect();
                let name = if args.len() == 1 { "unnest" } else { functions::UNNEST_SEVERAL };
                self.function(name, &args, *with_ordinality, alias.as_ref())
            }
            TableFactor::Derived { lateral, subquery, alias, .. } => {
                let query = if *lateral { self.bind_query(subquery)? } else { self.outside(subquery)? };
                let mut columns = query.columns.clone();
                rename(&mut columns, alias.as_ref());
                let alias = alias.as_ref().map_or_else(String::new, |alias| fold(&alias.name));
                self.add(alias, None, columns);
                Ok(From::Query { query: Box::new(query), lateral: *lateral })
            }
            TableFactor::NestedJoin { table_with_joins, alias: None } => self.joined(table_with_joins),
            other => Err(unsupported(other)),
        }
    }

    /// A query that does not see the SELECT it stands in.
    fn outside(&mut self, query: &SqlQuery) -> Result<Query> {
        let scope = self.scopes.pop();
        let bound = self.bind_query(query);
        self.scopes.extend(scope);
        bound
    }

    fn with_table(&mut self, at: usize, name: String, alias: Option<&TableAlias>) -> Result<From> {
        let With { query, columns: names, sees, .. } = self.with[at].clone();
        // It sees the queries of WITH before it, and the SELECTs around the place where it stands.
        let later = self.with.split_off(at);
        let around = self.scopes.len().saturating_sub(1).max(sees);
        let hidden = self.scopes.split_off(sees);
        self.scopes.resize_with(around, Scope::default);
        let bound = match reads_itself(&query, &name) {
            true => self.bind_recursive(&query, &name, &names),
            false => self.bind_query(&query),
        };
        self.scopes.truncate(sees);
        self.scopes.extend(hidden);
        self.with.extend(later);
        let query = bound?;
        let mut columns = query.columns.clone();
        for (column, name) in columns.iter_mut().zip(&names) {
            column.0 = fold(name);
        }
        rename(&mut columns, alias);
        self.add(alias.map_or(name, |alias| fold(&alias.name)), None, columns);
        Ok(From::Query { query: Box::new(query), lateral: false })
    }

    /// `first UNION [ALL] step`, where the step reads the rows that came last by the query's own name.
    fn bind_recursive(&mut self, query: &SqlQuery, name: &str, names: &[Ident]) -> Result<Query> {
        let SetExpr::SetOperation { op: SetOperator::Union, set_quantifier, left, right } = &*query.body else {
            let message =
                format!("recursive query \"{name}\" does not have the form non-recursive-term UNION [ALL] ...");
            return Err(Error::new(Code::SyntaxError, message));
        };
        let first = self.side(left)?;
        let mut columns = first.columns.clone();
        for (column, name) in columns.iter_mut().zip(names) {
            column.0 = fold(name);
        }
        self.recursions += 1;
        let number = self.recursions;
        self.recursive.push((name.to_owned(), number, columns.clone()));
        let step = self.side(right);
        self.recursive.pop();
        let step = step?;
        if step.columns.len() != columns.len() {
            let message = "each UNION query must have the same number of columns";
            return Err(Error::new(Code::SyntaxError, message));
        }
        let all = *set_quantifier == SetQuantifier::All;
        let body = Body::Recursive { number, all, first: Box::new(first), step: Box::new(step) };
        Ok(Query { body, columns, order: Vec::new(), limit: None, offset: None })
    }

    fn function(
        &mut self,
        name: &str,
        args: &[FunctionArg],
        ordinality: bool,
        alias: Option<&TableAlias>,
    ) -> Result<From> {
        let mut bound = Vec::with_capacity(args.len());
        for arg in args {
            match arg {
                FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => bound.push(self.expr(expr)?),
                other => return Err(unsupported(format!("the argument {other}"))),
            }
        }
        let Some(function) = functions::find(name, bound.len()) else {
            return Err(Error::new(Code::UndefinedFunction, format!("function {name} does not exist")));
        };
        let is_set = function.is_set;
        let (call, data_type) = self.bound_call(function, bound);
        let known_as = alias.map_or_else(|| name.to_owned(), |alias| fold(&alias.name));
        let (mut columns, record) = match data_type {
            Type::Record(fields) => (fields.to_vec(), true),
            other => (vec![(known_as.clone(), other)], false),
        };
        if ordinality {
            columns.push(("ordinality".into(), Type::Int8));
        }
        rename(&mut columns, alias);
        self.add(known_as, None, columns);
        let call = if is_set { call } else { Ex::Array(vec![call]) };
        Ok(From::Call { call, record, ordinality })
    }

    fn projection(&mut self, items: &[SelectItem]) -> Result<(Named, Vec<Ex>)> {
        let (mut columns, mut project) = (Vec::new(), Vec::new());
        for item in items {
            let alias = match item {
                SelectItem::UnnamedExpr(expr) => Some((expr, name_of(expr))),
                SelectItem::ExprWithAlias { expr, alias } => Some((expr, fold(alias))),
                _ => None,
            };
            if let Some((expr, name)) = alias {
                let (ex, data_type) = self.expr(expr)?;
                columns.push((name, data_type));
                project.push(ex);
                continue;
            }
            let of = match item {
                SelectItem::Wildcard(_) => None,
                SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), _) => {
                    Some(last_part(name))
                }
                other => return Err(unsupported(other)),
            };
            for relation in &self.scope().relations {
                if of.as_ref().is_some_and(|of| relation.alias != *of) {
                    continue;
                }
                for (at, (name, data_type)) in relation.columns.iter().enumerate() {
                    if of.is_none() && relation.merged.contains(name) {
                        continue;
                    }
                    columns.push((name.clone(), data_type.clone()));
                    project.push(Ex::Column { depth: 0, place: relation.start + at });
                }
            }
        }
        Ok((columns, project))
    }
}

/// Whether a query of WITH names itself.
fn reads_itself(query: &SqlQuery, name: &str) -> bool {
    struct Finder<'a>(&'a str);
    impl sqlparser::ast::Visitor for Finder<'_> {
        type Break = ();
        fn pre_visit_relation(&mut self, relation: &sqlparser::ast::ObjectName) -> ControlFlow<()> {
            let is_it = relation.0.len() == 1 && last_part(relation) == self.0;
            if is_it { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        }
    }
    weft_walk::Visit::visit(query, &mut Finder(name)).is_break()
}

/// Gives columns the names of an alias.
fn rename(columns: &mut [(String, Type)], alias: Option<&TableAlias>) {
    for (column, name) in columns.iter_mut().zip(alias.iter().flat_map(|alias| &alias.columns)) {
        column.0 = fold(&name.name);
    }
}

/// The column of the result that ORDER BY names, or numbers.
fn position_of(expr: &Expr, columns: &[(String, Type)]) -> Result<Option<usize>> {
    match expr {
        Expr::Value(value) => match &value.value {
            SqlValue::Number(text, _) => {
                let number = text.parse::<usize>().unwrap_or(0);
                if number == 0 || number > columns.len() {
                    let message = format!("ORDER BY position {text} is not in select list");
                    return Err(Error::new(Code::InvalidColumnReference, message));
                }
                Ok(Some(number - 1))
            }
            _ => Ok(None),
        },
        Expr::Identifier(ident) => {
            let name = fold(ident);
            Ok(columns.iter().position(|(known, _)| *known == name))
        }
        _ => Ok(None),
    }
}

/// A query whose order is that of columns of its result.
fn ordered(mut query: Query, order: &[OrderByExpr]) -> Result<Query> {
    if order.is_empty() {
        return Ok(query);
    }
    query.order.clear();
    for item in order {
        let place = position_of(&item.expr, &query.columns)?.ok_or_else(|| unsupported("this ORDER BY"))?;
        let (descending, nulls_first) = direction(item);
        query.order.push(Order { place, descending, nulls_first });
    }
    Ok(query)
}

/// What PostgreSQL calls a column of the result.
fn name_of(expr: &Expr) -> String {
    named(expr).unwrap_or_else(|| "?column?".into())
}

fn named(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Identifier(ident) => Some(fold(ident)),
        Expr::CompoundIdentifier(parts) => parts.last().map(fold),
        Expr::CompoundFieldAccess { root, access_chain } => {
            let last = access_chain.iter().rev().find_map(|access| match access {
                sqlparser::ast::AccessExpr::Dot(Expr::Identifier(ident)) => Some(fold(ident)),
                _ => None,
            });
            last.or_else(|| named(root))
        }
        Expr::Nested(inner) | Expr::Collate { expr: inner, .. } => named(inner),
        Expr::Function(call) => Some(last_part(&call.name)),
        Expr::Cast { expr, data_type, .. } => named(expr).or_else(|| Some(type_name(&data_type.to_string()))),
        Expr::Case { else_result, .. } => {
            let is_plain = |expr: &&Expr| !matches!(expr, Expr::Value(_));
            let name = else_result.as_deref().filter(is_plain).and_then(named);
            Some(name.unwrap_or_else(|| "case".into()))
        }
        Expr::Exists { .. } => Some("exists".into()),
        Expr::Array(_) => Some("array".into()),
        Expr::Tuple(_) => Some("row".into()),
        Expr::Value(value) if matches!(value.value, SqlValue::Boolean(_)) => Some("bool".into()),
        Expr::Trim { .. } => Some("btrim".into()),
        Expr::Substring { .. } => Some("substring".into()),
        Expr::Position { .. } => Some("position".into()),
        Expr::Subquery(query) => match &*query.body {
            SetExpr::Select(select) => match select.projection.first()? {
                SelectItem::UnnamedExpr(expr) => named(expr),
                SelectItem::ExprWithAlias { alias, .. } => Some(fold(alias)),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    }
}

fn type_name(written: &str) -> String {
    let name = written.to_lowercase();
    let name = name.rsplit('.').next().unwrap_or(&name).trim_matches('"');
    crate::types::by_name(name).map_or_else(|| name.to_owned(), |row| row.name.to_owned())
}

/// A name of a WITH table, for those who look through a query.
pub(crate) fn with_names(query: &SqlQuery) -> impl Iterator<Item = &Ident> {
    query.with.iter().flat_map(|with| with.cte_tables.iter().map(|table| &table.alias.name))
}
