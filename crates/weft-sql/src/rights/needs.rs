//! The rights that a statement needs, read off its tree.
//!
//! ```text
//!   UPDATE t SET a = u.b FROM u WHERE t.id = u.id RETURNING t.c
//!     t   UPDATE of a, SELECT of id, c          u   SELECT of b, id
//!   SELECT count(*) FROM v                      v   SELECT of any column;   as v's owner: what its query needs
//!   INSERT INTO t (a) VALUES (1)                t   INSERT of a;   USAGE on the sequences of the other columns
//! ```

use std::collections::HashSet;
use std::ops::ControlFlow;

use sqlparser::ast::{
    Assignment, AssignmentTarget, ConflictTarget, Expr, FromTable, Function, FunctionArg, FunctionArgExpr,
    FunctionArguments, Insert, JoinConstraint, LockClause, Merge, MergeAction, MergeClause, MergeInsertExpr,
    ObjectName, OnConflictAction, OnInsert, OrderByKind, Query, Select, SelectItem, SelectItemQualifiedWildcardKind,
    SetExpr, Statement, TableFactor, TableObject, TableWithJoins, UpdateTableFromKind, Visitor,
};
use weft_format::{Code, Error, Result};
use weft_kernel::{Object, ObjectKind, Transaction};
use weft_pgcatalog::FIRST;
use weft_pgcatalog::rights::Rights;
use weft_walk::Visit;

use super::columns::{alias_of, constraint_of, given_columns, last, merged_columns, output_names, values_of};
use super::links::{Link, links};
use super::need::{Need, Needs};
use super::numbers::number_of;
use super::schema_oid;
use super::scope::{Frame, Scope, Source, Uses};
use crate::changes;
use crate::functions;
use crate::parse::{
    Parsed, anywhere, conflict_parts, conflict_rows, fold, has_writing_parts, inserts_nothing, parse, pushed_down,
    table_name, writes,
};
use crate::resolve::{self, Relation};
use crate::updatable::{self, Verb};
use crate::view_columns::{is_on, view_columns};

/// How deep views may lie within views.
pub(super) const NESTING_MAX: usize = 64;

/// What a query, INSERT, UPDATE or DELETE needs.
pub(crate) fn needs_of(txn: &Transaction, statement: &Statement) -> Result<Needs> {
    let fixed = functions::fixed(txn, statement)?;
    let statement = &*fixed;
    let mut reader = Reader {
        txn,
        called: HashSet::new(),
        in_view: false,
        needs: Needs::default(),
        scope: Scope::default(),
        as_owner_of: None,
        depth: 0,
        ending: Vec::new(),
        at_top: true,
        links: Vec::new(),
    };
    match reader.statement(statement) {
        ControlFlow::Continue(()) => {
            reader.links.iter().for_each(|link| link.hand_down(&mut reader.needs));
            Ok(reader.needs)
        }
        ControlFlow::Break(error) => Err(error),
    }
}

type Flow = ControlFlow<Error>;

pub(super) struct Reader<'a> {
    pub(super) txn: &'a Transaction,
    pub(super) needs: Needs,
    pub(super) scope: Scope,
    /// The view whose query is read.
    pub(super) as_owner_of: Option<u32>,
    pub(super) depth: usize,
    /// WITH queries that are not in sight yet: the address of the query, the frame, the name and the columns.
    pub(super) ending: Vec<(usize, usize, String, Option<Vec<String>>)>,
    /// Nothing of a statement was visited yet.
    pub(super) at_top: bool,
    /// The views that are changed, the outer ones first.
    pub(super) links: Vec<Link>,
    /// The functions whose statements were read.
    pub(super) called: HashSet<u32>,
    /// Within the query of a view, which may name what is in schemas that others do not look into.
    pub(super) in_view: bool,
}

fn address<T>(of: &T) -> usize {
    std::ptr::from_ref(of).addr()
}

fn flow(result: Result<()>) -> Flow {
    match result {
        Ok(()) => ControlFlow::Continue(()),
        Err(error) => ControlFlow::Break(error),
    }
}

impl Visitor for Reader<'_> {
    type Break = Error;

    fn pre_visit_query(&mut self, query: &Query) -> Flow {
        self.begin_query(query);
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, query: &Query) -> Flow {
        self.end_query(query)
    }

    fn pre_visit_select(&mut self, select: &Select) -> Flow {
        flow(self.begin_select(select))
    }

    fn post_visit_select(&mut self, _: &Select) -> Flow {
        if let Some(Frame::Select(sources)) = self.scope.frames.pop()
            && let Some(Frame::Query { ended, .. }) = self.scope.frames.last_mut()
        {
            *ended = sources;
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> Flow {
        if !self.scope.of_result.contains(&address(expr)) {
            self.expression(expr);
        }
        match expr {
            Expr::Function(call) => flow(self.called(&call.name)),
            _ => ControlFlow::Continue(()),
        }
    }

    /// A statement within a query, not in its own WITH: all that it might need. It is refused by who plans it.
    fn pre_visit_statement(&mut self, statement: &Statement) -> Flow {
        if std::mem::take(&mut self.at_top) {
            return ControlFlow::Continue(());
        }
        flow(self.inner_statement(statement))
    }
}

impl Reader<'_> {
    pub(super) fn statement(&mut self, statement: &Statement) -> Flow {
        match statement {
            Statement::Insert(insert) => self.insert(insert),
            Statement::Update(update) => {
                let mut tables = vec![&update.table];
                match &update.from {
                    Some(UpdateTableFromKind::AfterSet(from) | UpdateTableFromKind::BeforeSet(from)) => {
                        tables.extend(from);
                    }
                    None => {}
                }
                let right = Rights::UPDATE;
                self.changing(&tables, right, &update.assignments, &update.selection, update.returning.as_deref())
            }
            Statement::Delete(delete) => {
                let (FromTable::WithFromKeyword(from) | FromTable::WithoutKeyword(from)) = &delete.from;
                let tables: Vec<&TableWithJoins> = from.iter().chain(delete.using.iter().flatten()).collect();
                self.changing(&tables, Rights::DELETE, &[], &delete.selection, delete.returning.as_deref())
            }
            Statement::Merge(merge) => self.merge(merge),
            Statement::Query(query) if writes(query) || has_writing_parts(query) => self.with_parts(query),
            other => other.visit(self),
        }
    }

    /// A query that is a statement which writes, or that has WITH queries which are.
    fn with_parts(&mut self, query: &Query) -> Flow {
        self.begin_query(query);
        for table in query.with.iter().flat_map(|with| &with.cte_tables) {
            if writes(&table.query) {
                self.with_parts(&table.query)?;
            } else {
                table.visit(self)?;
            }
        }
        match &*query.body {
            SetExpr::Insert(inner) | SetExpr::Update(inner) | SetExpr::Delete(inner) | SetExpr::Merge(inner) => {
                self.statement(inner)?;
            }
            body => body.visit(self)?,
        }
        query.order_by.visit(self)?;
        query.limit_clause.visit(self)?;
        query.fetch.visit(self)?;
        query.pipe_operators.visit(self)?;
        self.end_query(query)
    }

    /// MERGE: what its actions do to the target; the source is read.
    fn merge(&mut self, merge: &Merge) -> Flow {
        self.at_top = false;
        let right = |clause: &MergeClause| match clause.action {
            MergeAction::Insert(_) => Rights::INSERT,
            MergeAction::Update(_) => Rights::UPDATE,
            MergeAction::Delete { .. } => Rights::DELETE,
        };
        let rights = merge.clauses.iter().map(right).fold(Rights::NONE, Rights::and);
        let found = self.factor(&merge.table, rights).and_then(|target| {
            let source = self.factor(&merge.source, Rights::SELECT)?;
            Ok((target.first().cloned(), target.into_iter().chain(source).collect()))
        });
        let (target, sources) = match found {
            Ok(found) => found,
            Err(error) => return ControlFlow::Break(error),
        };
        self.scope.frames.push(Frame::Select(sources));
        merge.source.visit(self)?;
        merge.on.visit(self)?;
        for clause in &merge.clauses {
            clause.predicate.visit(self)?;
            clause.action.visit(self)?;
            let Some(target) = &target else { continue };
            match &clause.action {
                MergeAction::Update(update) => self.assign(target, &update.assignments),
                MergeAction::Insert(insert) => {
                    if let Err(error) = self.merge_insert(&merge.table, target, insert) {
                        return ControlFlow::Break(error);
                    }
                }
                MergeAction::Delete { .. } => {}
            }
        }
        self.scope.frames.pop();
        ControlFlow::Continue(())
    }

    /// INSERT of MERGE: the columns that it gives values for, and the sequences of the others.
    fn merge_insert(&mut self, table: &TableFactor, target: &Source, insert: &MergeInsertExpr) -> Result<()> {
        let (TableFactor::Table { name, .. }, Some(need)) = (table, target.need) else { return Ok(()) };
        if inserts_nothing(insert) {
            return Ok(());
        }
        let columns = target.columns.as_deref().unwrap_or_default();
        let values = values_of(insert);
        let given = merged_columns(insert, columns);
        self.needs.relations[need].insert.numbers.extend(given.iter().map(|(_, number)| *number));
        self.numbered(name, values, &given)
    }

    /// UPDATE and DELETE: the first table is changed, the others are read.
    fn changing(
        &mut self,
        tables: &[&TableWithJoins],
        right: Rights,
        assignments: &[Assignment],
        selection: &Option<Expr>,
        returning: Option<&[SelectItem]>,
    ) -> Flow {
        self.at_top = false;
        let mut sources = Vec::new();
        for (at, table) in tables.iter().enumerate() {
            match self.sources(table, if at == 0 { right } else { Rights::SELECT }) {
                Ok(found) => sources.extend(found),
                Err(error) => return ControlFlow::Break(error),
            }
        }
        let target = sources.first().cloned();
        self.scope.frames.push(Frame::Select(sources));
        if let Some(target) = &target {
            self.assign(target, assignments);
        }
        for table in tables {
            table.visit(self)?;
        }
        for assignment in assignments {
            assignment.value.visit(self)?;
        }
        selection.visit(self)?;
        self.items(returning.unwrap_or_default())?;
        self.scope.frames.pop();
        ControlFlow::Continue(())
    }

    /// The columns that are assigned.
    fn assign(&mut self, target: &Source, assignments: &[Assignment]) {
        let names = assignments.iter().flat_map(|assignment| match &assignment.target {
            AssignmentTarget::ColumnName(name) => std::slice::from_ref(name),
            AssignmentTarget::Tuple(names) => names.as_slice(),
        });
        let Some(need) = target.need else { return };
        for name in names {
            let column = name.0.last().and_then(|part| part.as_ident()).map(fold).unwrap_or_default();
            let known = target.columns.iter().flatten().find(|(known, _)| *known == column);
            self.needs.relations[need].rights = self.needs.relations[need].rights.and(Rights::UPDATE);
            self.needs.relations[need].update.numbers.extend(known.map(|(_, number)| *number));
        }
    }

    fn insert(&mut self, insert: &Insert) -> Flow {
        self.at_top = false;
        let TableObject::TableName(name) = &insert.table else { return ControlFlow::Continue(()) };
        if let Some(source) = &insert.source {
            source.visit(self)?;
        }
        let target = match self.target(name, Rights::INSERT) {
            Ok(Some(target)) => target,
            Ok(None) => return ControlFlow::Continue(()),
            Err(error) => return ControlFlow::Break(error),
        };
        let Some(need) = target.need else { return ControlFlow::Continue(()) };
        let columns = target.columns.clone().unwrap_or_default();
        let given = given_columns(insert, &columns);
        self.needs.relations[need].insert.numbers.extend(given.iter().map(|(_, number)| *number));
        let values = match insert.source.as_deref().map(|source| &*source.body) {
            Some(SetExpr::Values(values)) => Some(values),
            _ => None,
        };
        if let Err(error) = self.numbered(name, values, &given) {
            return ControlFlow::Break(error);
        }
        let alias = insert.table_alias.as_ref().map_or(target.alias.clone(), |alias| fold(&alias.alias));
        let excluded = Source { alias: "excluded".to_owned(), ..target.clone() };
        let target = Source { alias, ..target };
        if let Some(OnInsert::OnConflict(conflict)) = &insert.on {
            self.scope.frames.push(Frame::Select(vec![target.clone()]));
            match &conflict.conflict_target {
                Some(ConflictTarget::Columns(names)) => {
                    for name in names {
                        let uses = self.scope.column(None, &fold(name));
                        self.read(uses);
                    }
                }
                Some(ConflictTarget::OnConstraint(name)) => {
                    let key = self.columns_of_constraint(&insert.table, name);
                    self.read(key.into_iter().map(|number| (need, Some(number))).collect());
                }
                None => {}
            }
            for part in conflict_parts(insert).into_iter().flatten().chain(conflict_rows(insert)) {
                part.visit(self)?;
            }
            self.scope.frames.pop();
            if let OnConflictAction::DoUpdate(update) = &conflict.action {
                // A name without a relation is the target's; both have the same columns.
                self.scope.frames.push(Frame::Select(vec![target.clone(), excluded]));
                self.assign(&target, &update.assignments);
                for assignment in &update.assignments {
                    assignment.value.visit(self)?;
                }
                update.selection.visit(self)?;
                self.scope.frames.pop();
            }
        }
        self.scope.frames.push(Frame::Select(vec![target]));
        self.items(insert.returning.as_deref().unwrap_or_default())?;
        self.scope.frames.pop();
        ControlFlow::Continue(())
    }

    /// Columns of a result that are read.
    fn items(&mut self, items: &[SelectItem]) -> Flow {
        self.wildcards(items);
        items.iter().try_for_each(|item| item.visit(self))
    }

    fn wildcards(&mut self, items: &[SelectItem]) {
        for item in items {
            let uses = match item {
                SelectItem::Wildcard(_) => self.scope.all(None),
                SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), _) => {
                    self.scope.all(Some(&last(name)))
                }
                _ => continue,
            };
            self.read(uses);
        }
    }

    /// Notes that columns are read.
    fn read(&mut self, uses: Uses) {
        for (need, number) in uses {
            let need = &mut self.needs.relations[need];
            need.rights = need.rights.and(Rights::SELECT);
            match number {
                Some(number) => {
                    need.select.numbers.insert(number);
                }
                None => need.select.all = true,
            }
        }
    }

    fn expression(&mut self, expr: &Expr) {
        let uses = match expr {
            Expr::Identifier(name) => self.scope.column(None, &fold(name)),
            Expr::CompoundIdentifier(parts) => {
                let names: Vec<String> = parts.iter().map(fold).collect();
                match names.as_slice() {
                    [relation, column, ..] if self.scope.has_relation(relation) => {
                        self.scope.column(Some(relation), column)
                    }
                    [_, relation, column, ..] => self.scope.column(Some(relation), column),
                    // A field of a column.
                    [column, ..] => self.scope.column(None, column),
                    [] => Uses::new(),
                }
            }
            Expr::QualifiedWildcard(name, _) => self.scope.all(Some(&last(name))),
            Expr::Wildcard(_) => self.scope.all(None),
            Expr::Function(function) => self.function(function),
            _ => return,
        };
        self.read(uses);
    }

    /// `count(t.*)` reads all of t, `count(*)` nothing.
    fn function(&self, function: &Function) -> Uses {
        let FunctionArguments::List(list) = &function.args else { return Uses::new() };
        let arg = |arg: &FunctionArg| match arg {
            FunctionArg::Unnamed(FunctionArgExpr::QualifiedWildcard(name)) => self.scope.all(Some(&last(name))),
            _ => Uses::new(),
        };
        list.args.iter().flat_map(arg).collect()
    }

    fn begin_query(&mut self, query: &Query) {
        self.at_top = false;
        let mut with = Vec::new();
        let frame = self.scope.frames.len();
        if let Some(clause) = &query.with {
            for table in &clause.cte_tables {
                let name = fold(&table.alias.name);
                let columns = match table.alias.columns.as_slice() {
                    [] => output_names(&table.query.body),
                    columns => Some(columns.iter().map(|column| fold(&column.name)).collect()),
                };
                if clause.recursive {
                    with.push((name, columns));
                } else {
                    self.ending.push((address(&*table.query), frame, name, columns));
                }
            }
        }
        self.scope.frames.push(Frame::Query { with, ended: Vec::new() });
        if let Some(order) = &query.order_by
            && let OrderByKind::Expressions(orders) = &order.kind
        {
            let names: Option<Vec<String>> = match &*query.body {
                SetExpr::Select(select) => Some(select.projection.iter().filter_map(alias_of).collect()),
                // Names behind a set operation are those of the result.
                _ => None,
            };
            let of_result = |expr: &Expr| match (expr, &names) {
                (Expr::Identifier(_), None) => true,
                (Expr::Identifier(name), Some(names)) => names.contains(&fold(name)),
                _ => false,
            };
            let addresses = orders.iter().filter(|order| of_result(&order.expr)).map(|order| address(&order.expr));
            self.scope.of_result.extend(addresses);
        }
        self.whole_tables(&query.body);
    }

    /// `TABLE t`
    fn whole_tables(&mut self, body: &SetExpr) {
        match body {
            SetExpr::Table(table) => {
                let name = match (&table.schema_name, &table.table_name) {
                    (Some(schema), Some(name)) => resolve::qualified(schema, name),
                    (None, Some(name)) if self.scope.with_named(name).is_none() => name.clone(),
                    _ => return,
                };
                if let Ok(Some(Source { need: Some(need), .. })) = self.known_as(&name, None, Rights::SELECT) {
                    self.needs.relations[need].select.all = true;
                }
            }
            SetExpr::SetOperation { left, right, .. } => {
                self.whole_tables(left);
                self.whole_tables(right);
            }
            _ => {}
        }
    }

    fn end_query(&mut self, query: &Query) -> Flow {
        let Some(Frame::Query { ended, .. }) = self.scope.frames.pop() else { return ControlFlow::Continue(()) };
        let mut locked = Vec::new();
        for lock in &query.locks {
            let of = crate::parse::clause_of(lock).1.as_ref().map(last);
            for source in ended.iter().filter(|source| of.as_ref().is_none_or(|of| source.alias == *of)) {
                if let Some(need) = source.need {
                    self.needs.relations[need].rights = self.needs.relations[need].rights.and(Rights::UPDATE);
                    locked.push((self.needs.relations[need].oid, anywhere(lock)));
                }
            }
        }
        // What lies below a view is locked, too.
        for (oid, lock) in locked {
            let view = oid.checked_sub(FIRST).and_then(|id| self.txn.object_of(id));
            if let Some(view) = view.filter(|view| view.kind == ObjectKind::View) {
                self.view(&view, Some(&lock)).map_or_else(ControlFlow::Break, ControlFlow::Continue)?;
            }
        }
        if let Some(at) = self.ending.iter().position(|(query_at, ..)| *query_at == address(query)) {
            let (_, frame, name, columns) = self.ending.swap_remove(at);
            if let Some(Frame::Query { with, .. }) = self.scope.frames.get_mut(frame) {
                with.push((name, columns));
            }
        }
        ControlFlow::Continue(())
    }

    fn begin_select(&mut self, select: &Select) -> Result<()> {
        let mut sources = Vec::new();
        for table in &select.from {
            sources.extend(self.sources(table, Rights::SELECT)?);
        }
        self.scope.frames.push(Frame::Select(sources));
        for table in &select.from {
            self.joined(table);
        }
        self.wildcards(&select.projection);
        Ok(())
    }

    /// The columns that JOIN USING and NATURAL JOIN read.
    fn joined(&mut self, table: &TableWithJoins) {
        for join in &table.joins {
            match constraint_of(&join.join_operator) {
                Some(JoinConstraint::Using(names)) => {
                    for name in crate::parse::joined_names(names).0 {
                        let uses = self.every(&last(name));
                        self.read(uses);
                    }
                }
                Some(JoinConstraint::Natural) => {
                    let uses = self.scope.all(None);
                    self.read(uses);
                }
                _ => {}
            }
        }
    }

    /// A column of every source of the innermost select that has it.
    fn every(&self, name: &str) -> Uses {
        let Some(Frame::Select(sources)) = self.scope.frames.last() else { return Uses::new() };
        let one = |source: &Source| {
            let (_, number) = source.columns.as_ref()?.iter().find(|(known, _)| known == name)?;
            Some((source.need?, Some(*number)))
        };
        sources.iter().filter_map(one).collect()
    }

    fn sources(&mut self, table: &TableWithJoins, first: Rights) -> Result<Vec<Source>> {
        let mut sources = self.factor(&table.relation, first)?;
        for join in &table.joins {
            sources.extend(self.factor(&join.relation, Rights::SELECT)?);
        }
        Ok(sources)
    }

    fn factor(&mut self, factor: &TableFactor, right: Rights) -> Result<Vec<Source>> {
        let source = match factor {
            TableFactor::Table { name, alias, args: None, .. } => {
                let is_read = right == Rights::SELECT;
                let found = if is_read { self.relation(name, None, right)? } else { self.target(name, right)? };
                let Some(mut source) = found else { return Ok(Vec::new()) };
                if let Some(alias) = alias {
                    source.alias = fold(&alias.name);
                    if let Some(columns) = &mut source.columns {
                        for (column, (known, _)) in alias.columns.iter().zip(columns) {
                            *known = fold(&column.name);
                        }
                    }
                }
                source
            }
            TableFactor::Derived { subquery, alias, .. } => {
                let names = match alias {
                    Some(alias) if !alias.columns.is_empty() => {
                        Some(alias.columns.iter().map(|column| fold(&column.name)).collect())
                    }
                    _ => output_names(&subquery.body),
                };
                plain(alias.as_ref().map_or_else(String::new, |alias| fold(&alias.name)), names)
            }
            TableFactor::NestedJoin { table_with_joins, .. } => {
                let sources = self.sources(table_with_joins, right)?;
                self.scope.frames.push(Frame::Select(sources));
                self.joined(table_with_joins);
                return match self.scope.frames.pop() {
                    Some(Frame::Select(sources)) => Ok(sources),
                    _ => Ok(Vec::new()),
                };
            }
            TableFactor::Table { name, alias, .. } => {
                self.called(name)?;
                self.changes(factor)?;
                plain(alias.as_ref().map_or_else(|| last(name), |alias| fold(&alias.name)), None)
            }
            TableFactor::Function { name, alias, .. } => {
                self.called(name)?;
                self.changes(factor)?;
                plain(alias.as_ref().map_or_else(String::new, |alias| fold(&alias.name)), None)
            }
            _ => {
                self.changes(factor)?;
                plain(String::new(), None)
            }
        };
        Ok(vec![source])
    }

    /// A call that reads the past of a table, and all of its columns.
    fn changes(&mut self, factor: &TableFactor) -> Result<()> {
        let Some(name) = changes::table_of(factor)? else { return Ok(()) };
        if let Some(Source { need: Some(need), .. }) = self.known_as(&name, None, Rights::SELECT)? {
            self.needs.relations[need].select.all = true;
        }
        Ok(())
    }

    /// A relation that is named.
    fn relation(&mut self, name: &ObjectName, alias: Option<String>, right: Rights) -> Result<Option<Source>> {
        let Ok(known_as) = table_name(name) else { return Ok(None) };
        if let (None, own) = resolve::split(&known_as)
            && let Some(columns) = self.scope.with_named(own)
        {
            return Ok(Some(plain(own.to_owned(), columns)));
        }
        self.known_as(&known_as, alias, right)
    }

    /// A relation that is written to, which is never a WITH query.
    fn target(&mut self, name: &ObjectName, right: Rights) -> Result<Option<Source>> {
        let Ok(known_as) = table_name(name) else { return Ok(None) };
        let at = self.needs.relations.len();
        let target = self.known_as(&known_as, None, right)?;
        // Whether it may be changed at all is said by who plans the statement.
        if let Ok(Some(view)) = updatable::find(self.txn, &known_as, Verb::Delete) {
            self.links.extend(links(at, &view));
        }
        Ok(target)
    }

    fn known_as(&mut self, name: &str, alias: Option<String>, right: Rights) -> Result<Option<Source>> {
        let (schema, own) = resolve::split(name);
        // Verifiers of passwords; names of members of documents, which are values of people.
        if let Some(secret) =
            ["pg_authid", "pg_shadow", "weft_document_paths"].into_iter().find(|secret| *secret == own)
            && matches!(schema, None | Some("pg_catalog"))
        {
            self.needs.superuser = Some(secret);
        }
        if let Some(schema) = schema
            && !self.in_view
            && let Some(id) = resolve::schema_of(self.txn, schema)
            && !resolve::is_temporary(self.txn, id)
        {
            self.needs.schemas.push((schema_oid(id), schema.to_owned()));
        }
        let alias = alias.unwrap_or_else(|| own.to_owned());
        if right == Rights::SELECT && resolve::of_catalog(self.txn, name).is_some() {
            return Ok(Some(plain(alias, None)));
        }
        let (mut need, columns, view) = match resolve::relation(self.txn, name) {
            Some(Relation::Table(table)) => {
                let visible = table.def.schema.visible();
                let columns = visible.map(|(at, column)| (column.name.clone(), number_of(&table.def, at))).collect();
                (Need::of_table(&table.def, right), columns, None)
            }
            Some(Relation::Object(object)) => {
                let columns: Vec<(String, i64)> = match object.kind {
                    ObjectKind::View => view_columns(&object).into_iter().map(|(name, _)| name).zip(1..).collect(),
                    _ => ["last_value", "log_cnt", "is_called"].map(str::to_owned).into_iter().zip(1..).collect(),
                };
                let mut need = Need::of_object(&object, right);
                need.columns = columns.iter().map(|(_, number)| *number).collect();
                (need, columns, (object.kind == ObjectKind::View).then_some(object))
            }
            // Others are not there, and that is said by who looks them up; or they are the system's.
            _ => return Ok(Some(plain(alias, None))),
        };
        need.as_owner_of = self.as_owner_of;
        let at = self.needs.relations.len();
        self.needs.relations.push(need);
        if let Some(view) = view {
            self.view(&view, None)?;
        }
        Ok(Some(Source { alias, columns: Some(columns), need: Some(at) }))
    }

    /// What the query of a view needs, as its owner; with a locking clause also what that needs.
    fn view(&mut self, view: &Object, lock: Option<&LockClause>) -> Result<()> {
        if self.depth >= NESTING_MAX {
            return Err(Error::new(Code::StatementTooComplex, "views lie too deep within views"));
        }
        let damaged = || Error::corrupt(format!("the catalog's entry of view \"{}\" is damaged", view.name));
        let text = view.property("query").ok_or_else(damaged)?;
        let Some(Parsed::Sql { mut statement, .. }) = parse(text)?.pop() else { return Err(damaged()) };
        if let (Some(lock), Statement::Query(query)) = (lock, &mut *statement) {
            query.locks.push(lock.clone());
            pushed_down(&mut statement);
        }
        let mut inner = Reader {
            txn: self.txn,
            needs: std::mem::take(&mut self.needs),
            scope: Scope::default(),
            // A view with this option is as if its query stood in the statement, wherever it is named.
            as_owner_of: (!is_on(view, "security_invoker")).then_some(FIRST + view.id),
            called: std::mem::take(&mut self.called),
            in_view: true,
            depth: self.depth + 1,
            ending: Vec::new(),
            at_top: true,
            links: Vec::new(),
        };
        let done = inner.statement(&statement);
        self.needs = inner.needs;
        self.called = inner.called;
        match done {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(error) => Err(error),
        }
    }

    /// A statement that changes something, within a query.
    fn inner_statement(&mut self, statement: &Statement) -> Result<()> {
        let (name, right) = match statement {
            Statement::Insert(insert) => match &insert.table {
                TableObject::TableName(name) => (name, Rights::INSERT),
                _ => return Ok(()),
            },
            Statement::Update(update) => match &update.table.relation {
                TableFactor::Table { name, .. } => (name, Rights::UPDATE),
                _ => return Ok(()),
            },
            Statement::Delete(delete) => {
                let (FromTable::WithFromKeyword(from) | FromTable::WithoutKeyword(from)) = &delete.from;
                match from.first().map(|from| &from.relation) {
                    Some(TableFactor::Table { name, .. }) => (name, Rights::DELETE),
                    _ => return Ok(()),
                }
            }
            _ => return Ok(()),
        };
        if let Some(Source { need: Some(need), .. }) = self.target(name, right.and(Rights::SELECT))? {
            let need = &mut self.needs.relations[need];
            need.select.all = true;
            need.insert.all = true;
            need.update.all = true;
        }
        Ok(())
    }
}

fn plain(alias: String, names: Option<Vec<String>>) -> Source {
    Source { alias, columns: names.map(|names| names.into_iter().zip(1..).collect()), need: None }
}
