//! FOR UPDATE and FOR SHARE of a query of several tables, subqueries and views: their keys among its columns.
//!
//! ```text
//!   SELECT * FROM a JOIN (SELECT x FROM b) AS q ON ... FOR UPDATE
//!     SELECT a."\1l0k0" AS "\1k0", q."\1l1k0" AS "\1k1", *
//!     FROM (SELECT ..., id AS "\1l0k0" FROM "\1target0") AS a
//!     JOIN (SELECT x, b."\1l1k0" FROM (SELECT ..., id AS "\1l1k0" FROM "\1target1") AS b) AS q ON ...
//! ```
//!
//! 1. A clause without OF is of all tables and subqueries of its FROM, and of theirs; not of WITH queries and
//!    functions.
//! 2. Columns that have no shown name are none of the result's.

use std::ops::ControlFlow;
use std::sync::Arc;

use sqlparser::ast::{
    Expr, GroupByExpr, Ident, Join, JoinOperator, LockClause, ObjectName, OrderByKind, Query, Select, SelectItem,
    SelectItemQualifiedWildcardKind, SetExpr, TableAlias, TableFactor, TableWithJoins, Value, Visitor,
};
use weft_format::{Code, Error, Result};
use weft_kernel::index::Index;
use weft_kernel::{Engine, TableRef};
use weft_pgcatalog::CatalogRelation;
use weft_walk::Visit;

use super::syntax::{aliased, column, exact, hidden, parsed_query, unsupported};
use super::write::LockedTable;
use crate::binding::Tables;
use crate::locking::{RowLocking, not_in_from};
use crate::parse::{anywhere, clause_of, fold, table_name};
use crate::queries::names::MARKER;
use crate::queries::{QueryEngine, TARGET, has_of_its_own};
use crate::updatable::{UpdatableView, Verb};

/// The query with the keys of the rows to lock in front, and the tables.
pub(super) fn written_out(
    engine: &dyn QueryEngine,
    tables: &dyn Tables,
    query: &Query,
) -> Result<(Query, Vec<LockedTable>)> {
    let mut query = query.clone();
    let mut walk = Walk { engine, tables, locked: Vec::new(), columns: 0, with: Vec::new() };
    let keys = walk.query(&mut query, &[])?;
    let SetExpr::Select(select) = &mut *query.body else { return Err(Error::internal("a locked query is a SELECT")) };
    let has_star = select.projection.iter().any(is_star);
    if has_star && orders_by_place(&query) {
        return Err(unsupported("ORDER BY the number of a column, with * and a locking clause over several tables")
            .hint("order by the column's name"));
    }
    let SetExpr::Select(select) = &mut *query.body else { return Err(Error::internal("a locked query is a SELECT")) };
    let front = keys.iter().enumerate().map(|(place, (of, name))| aliased(column(of, name), &hidden('k', place)));
    let items = front.chain(std::mem::take(&mut select.projection)).collect();
    select.projection = items;
    shift_positions(&mut query, keys.len() as u64);
    Ok((query, walk.locked))
}

/// A locking clause stands where it locks nothing.
pub(super) fn refused(clause: &str, what: &str) -> Error {
    Error::new(Code::FeatureNotSupported, format!("{clause} is not allowed with {what}"))
}

pub(super) fn check(select: &Select, refused: &impl Fn(&str) -> Error) -> Result<()> {
    let groups = match &select.group_by {
        GroupByExpr::Expressions(exprs, modifiers) => !exprs.is_empty() || !modifiers.is_empty(),
        GroupByExpr::All(_) => true,
    };
    if groups || select.having.is_some() {
        return Err(refused("GROUP BY or HAVING"));
    }
    if select.distinct.is_some() {
        return Err(refused("DISTINCT"));
    }
    if !select.named_window.is_empty() {
        return Err(refused("window functions"));
    }
    Ok(())
}

pub(super) fn has_aggregate(engine: &dyn QueryEngine, select: &Select) -> bool {
    let is_one = |expr: &Expr| match expr {
        Expr::Function(function) => engine.is_aggregate(&function.name.to_string()),
        _ => false,
    };
    has_of_its_own(&select.projection, is_one)
}

/// `ORDER BY 1` counts the columns that are shown; the keys come before them.
pub(super) fn shift_positions(query: &mut Query, by: u64) {
    let Some(order) = &mut query.order_by else { return };
    let OrderByKind::Expressions(exprs) = &mut order.kind else { return };
    for item in exprs {
        if let Expr::Value(value) = &mut item.expr
            && let Value::Number(digits, _) = &mut value.value
            && let Ok(position) = digits.parse::<u64>()
        {
            *digits = (position + by).to_string();
        }
    }
}

fn is_star(item: &SelectItem) -> bool {
    matches!(item, SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..))
}

fn orders_by_place(query: &Query) -> bool {
    match query.order_by.as_ref().map(|order| &order.kind) {
        Some(OrderByKind::Expressions(keys)) => {
            keys.iter().any(|key| matches!(&key.expr, Expr::Value(value) if matches!(value.value, Value::Number(..))))
        }
        _ => false,
    }
}

/// A key column: the relation that has it, and its name.
type Keys = Vec<(Ident, String)>;

struct Walk<'a> {
    engine: &'a dyn QueryEngine,
    tables: &'a dyn Tables,
    locked: Vec<LockedTable>,
    /// Key columns so far.
    columns: usize,
    /// WITH queries in sight.
    with: Vec<String>,
}

impl Walk<'_> {
    /// Takes the clauses of a query, which is locked by others, too; the key columns that it has then.
    fn query(&mut self, query: &mut Query, outer: &[LockClause]) -> Result<Keys> {
        let mut clauses = std::mem::take(&mut query.locks);
        let own = clauses.len();
        clauses.extend_from_slice(outer);
        let clause = clauses.first().map_or_else(String::new, |lock| format!("FOR {}", lock.lock_type));
        let SetExpr::Select(select) = &mut *query.body else {
            let what = "UNION, INTERSECT, EXCEPT or VALUES";
            let locks_nothing = clauses.is_empty() || matches!(*query.body, SetExpr::Values(_));
            return if locks_nothing { Ok(Keys::new()) } else { Err(refused(&clause, what)) };
        };
        if !clauses.is_empty() {
            check(select, &|what| refused(&clause, what))?;
            if has_aggregate(self.engine, select) {
                return Err(refused(&clause, "aggregate functions"));
            }
        }
        check_names(select, &clauses[..own])?;
        let known = self.with.len();
        self.with.extend(query.with.iter().flat_map(|with| &with.cte_tables).map(|cte| fold(&cte.alias.name)));
        let mut keys = Keys::new();
        for table in &mut select.from {
            self.joined(table, &clauses, false, &mut keys)?;
        }
        self.with.truncate(known);
        if query.limit_clause.is_some() && !outer.is_empty() && outer.iter().any(|clause| clause.nonblock.is_some()) {
            return Err(unsupported("NOWAIT or SKIP LOCKED over a subquery with LIMIT")
                .hint("write the locking clause and LIMIT at one level"));
        }
        Ok(keys)
    }

    fn joined(
        &mut self,
        table: &mut TableWithJoins,
        clauses: &[LockClause],
        is_nullable: bool,
        keys: &mut Keys,
    ) -> Result<()> {
        // The sides of each join, from the last one on, say whose rows may be missing.
        let sides: Vec<(bool, bool)> = table.joins.iter().map(nullable_sides).collect();
        let left_of = |place: usize| sides[place..].iter().any(|(left, _)| *left);
        self.factor(&mut table.relation, clauses, is_nullable || left_of(0), keys)?;
        for (place, join) in table.joins.iter_mut().enumerate() {
            let is_nullable = is_nullable || sides[place].1 || left_of(place + 1);
            self.factor(&mut join.relation, clauses, is_nullable, keys)?;
        }
        Ok(())
    }

    fn factor(
        &mut self,
        factor: &mut TableFactor,
        clauses: &[LockClause],
        is_nullable: bool,
        keys: &mut Keys,
    ) -> Result<()> {
        if let TableFactor::NestedJoin { table_with_joins, alias: None } = factor {
            return self.joined(table_with_joins, clauses, is_nullable, keys);
        }
        let Some(shown) = shown(factor)? else { return Ok(()) };
        let of_it = |clause: &&LockClause| match clause_of(clause).1 {
            Some(of) => table_name(&of).is_ok_and(|of| of == fold(&shown)),
            None => true,
        };
        let mine: Vec<LockClause> = clauses.iter().filter(of_it).cloned().collect();
        let refuse = |what: &str| match mine.iter().find(|clause| clause_of(clause).1.is_some()) {
            Some(clause) => {
                let message = format!("FOR {} cannot be applied to {what}", clause.lock_type);
                Err(Error::new(Code::FeatureNotSupported, message))
            }
            None => Ok(()),
        };
        match factor {
            TableFactor::Table { name, args: None, .. } if self.is_with(name) => refuse("a WITH query"),
            TableFactor::Table { args: None, .. } if mine.is_empty() => Ok(()),
            TableFactor::Table { args: None, .. } => {
                check_side(&mine, is_nullable)?;
                let alias = self.table(factor, &shown, &mine)?;
                keys.extend(alias);
                Ok(())
            }
            TableFactor::Derived { subquery, .. } if !mine.is_empty() || has_locks(subquery) => {
                check_side(&mine, is_nullable)?;
                let inner: Vec<LockClause> = mine.iter().map(anywhere).collect();
                let found = self.query(subquery, &inner)?;
                let SetExpr::Select(select) = &mut *subquery.body else { return Ok(()) };
                let is_all = select.projection.iter().any(|item| matches!(item, SelectItem::Wildcard(_)));
                for (of, column_name) in found {
                    if !is_all && !select.projection.iter().any(|item| is_star_of(item, &of)) {
                        select.projection.push(aliased(column(&of, &column_name), &column_name));
                    }
                    keys.push((shown.clone(), column_name));
                }
                Ok(())
            }
            TableFactor::Derived { .. } => Ok(()),
            _ => refuse("a function"),
        }
    }

    fn is_with(&self, name: &ObjectName) -> bool {
        table_name(name).is_ok_and(|name| self.with.contains(&name))
    }

    /// Puts a table with its key columns in place of the table; they are these.
    fn table(&mut self, factor: &mut TableFactor, shown: &Ident, clauses: &[LockClause]) -> Result<Keys> {
        let TableFactor::Table { name, alias, sample, version, .. } = factor else { return Ok(Keys::new()) };
        let folded = table_name(name)?;
        if sample.is_some() || version.is_some() || self.tables.of_catalog(&folded).is_some() {
            return Err(unsupported("a locking clause for rows of the past, of the catalog or of a sample"));
        }
        let table = self.tables.table(&folded)?;
        let Some(rows) = RowLocking::of_clauses(clauses, &table)? else { return Ok(Keys::new()) };
        let schema = &table.def.schema;
        let number = self.locked.len();
        let inner = exact(&format!("{MARKER}t"));
        let mut query = parsed_query(&format!("SELECT 1 FROM \"{TARGET}{number}\" AS \"{MARKER}t\""))?;
        let SetExpr::Select(select) = &mut *query.body else { return Err(Error::internal("no SELECT")) };
        let mut items: Vec<SelectItem> =
            schema.visible().map(|(_, of)| SelectItem::UnnamedExpr(column(&inner, &of.name))).collect();
        let mut keys = Keys::new();
        for (place, &ordinal) in schema.key.iter().enumerate() {
            let key = format!("{MARKER}l{number}k{place}");
            items.push(aliased(column(&inner, &schema.columns[ordinal].name), &key));
            keys.push((shown.clone(), key));
        }
        select.projection = items;
        let named = TableAlias { explicit: true, name: shown.clone(), columns: Vec::new(), at: None };
        let alias = Some(alias.clone().unwrap_or(named));
        *factor = TableFactor::Derived { lateral: false, subquery: query, alias, sample: None };
        self.locked.push(LockedTable { first: self.columns, table: table.clone(), rows });
        self.columns += schema.key.len();
        Ok(keys)
    }
}

/// Whether the left and the right side of a join may lack rows.
fn nullable_sides(join: &Join) -> (bool, bool) {
    match join.join_operator {
        JoinOperator::Left(_) | JoinOperator::LeftOuter(_) => (false, true),
        JoinOperator::Right(_) | JoinOperator::RightOuter(_) => (true, false),
        JoinOperator::FullOuter(_) => (true, true),
        _ => (false, false),
    }
}

fn check_side(clauses: &[LockClause], is_nullable: bool) -> Result<()> {
    match clauses.first().filter(|_| is_nullable) {
        Some(clause) => {
            let message = format!("FOR {} cannot be applied to the nullable side of an outer join", clause.lock_type);
            Err(Error::new(Code::FeatureNotSupported, message).hint("name the other tables behind OF"))
        }
        None => Ok(()),
    }
}

/// Clauses name what stands in FROM.
fn check_names(select: &Select, clauses: &[LockClause]) -> Result<()> {
    for clause in clauses {
        let Some(of) = clause_of(clause).1 else { continue };
        let wanted = table_name(&of)?;
        if !select.from.iter().any(|table| has_name(table, &wanted)) {
            return Err(not_in_from(clause, &of));
        }
    }
    Ok(())
}

fn has_name(table: &TableWithJoins, wanted: &str) -> bool {
    let is_it = |factor: &TableFactor| match factor {
        TableFactor::NestedJoin { table_with_joins, alias: None } => has_name(table_with_joins, wanted),
        other => shown(other).ok().flatten().is_some_and(|name| fold(&name) == wanted),
    };
    is_it(&table.relation) || table.joins.iter().any(|join| is_it(&join.relation))
}

/// The name by which a relation is known.
fn shown(factor: &TableFactor) -> Result<Option<Ident>> {
    Ok(match factor {
        TableFactor::Table { alias: Some(alias), .. }
        | TableFactor::Derived { alias: Some(alias), .. }
        | TableFactor::Function { alias: Some(alias), .. }
        | TableFactor::UNNEST { alias: Some(alias), .. }
        | TableFactor::NestedJoin { alias: Some(alias), .. } => Some(alias.name.clone()),
        TableFactor::Table { name, .. } => name.0.last().and_then(|part| part.as_ident()).cloned(),
        _ => None,
    })
}

fn is_star_of(item: &SelectItem, of: &Ident) -> bool {
    match item {
        SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), _) => {
            name.0.last().and_then(|part| part.as_ident()).is_some_and(|name| fold(name) == fold(of))
        }
        _ => false,
    }
}

/// Whether a subquery in FROM has locking clauses.
fn has_locks(query: &Query) -> bool {
    struct Locks;
    impl Visitor for Locks {
        type Break = ();
        fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
            match query.locks.is_empty() {
                true => ControlFlow::Continue(()),
                false => ControlFlow::Break(()),
            }
        }
    }
    Visit::visit(query, &mut Locks).is_break()
}

/// The tables of a statement, and those of which it locks rows.
pub(super) struct Targets<'a> {
    tables: &'a dyn Tables,
    locked: Vec<TableRef>,
}

impl<'a> Targets<'a> {
    pub(super) fn new(tables: &'a dyn Tables, locked: &[LockedTable]) -> Targets<'a> {
        Targets { tables, locked: locked.iter().map(|locked| locked.table.clone()).collect() }
    }
}

impl Tables for Targets<'_> {
    fn table(&self, name: &str) -> Result<TableRef> {
        self.tables.table(name)
    }

    fn can_use_index(&self, table: &TableRef, index: &Index) -> bool {
        self.tables.can_use_index(table, index)
    }

    fn engine(&self) -> &Arc<Engine> {
        self.tables.engine()
    }

    fn of_catalog(&self, name: &str) -> Option<CatalogRelation> {
        self.tables.of_catalog(name)
    }

    fn updatable(&self, name: &str, verb: Verb) -> Result<Option<UpdatableView>> {
        self.tables.updatable(name, verb)
    }

    fn locked(&self, name: &str) -> Option<TableRef> {
        let number: usize = name.strip_prefix(TARGET)?.parse().ok()?;
        self.locked.get(number).cloned()
    }
}
