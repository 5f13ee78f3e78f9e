//! MERGE as a query of actions, old keys and new rows.
//!
//! ```text
//!   MERGE INTO t USING s ON t.id = s.id
//!     WHEN MATCHED AND s.n < 0 THEN DELETE           1
//!     WHEN MATCHED THEN UPDATE SET n = s.n           2
//!     WHEN NOT MATCHED THEN INSERT VALUES (s.id, s.n)    3
//!
//!   read    SELECT t.id AS k0, CASE .. 3 .. AS n, ..., CASE WHEN t.id IS NOT NULL AND s.n < 0 THEN 1 ... END
//!           FROM s LEFT JOIN t ON t.id = s.id
//!   write   deletes, then updates, then inserts
//! ```
//!
//! 1. A row has the first action whose condition holds, or none.
//! 2. A row of the target that a second action would change is an error (21000).
//! 3. What is read is read to its end before the first row is written (dml 1).

use std::ops::ControlFlow;

use sqlparser::ast::{
    Expr, Ident, Join, JoinConstraint, JoinOperator, Merge, MergeAction, MergeClauseKind, MergeInsertKind, ObjectName,
    Query, SelectItem, TableFactor, TableWithJoins, VisitorMut, With,
};
use weft_expr::Local;
use weft_format::{Code, DataType, Error, Result};
use weft_kernel::TableRef;
use weft_walk::VisitMut;

use super::merge_plan::{Kind, MergePlan};
use super::syntax::{
    aliased, assignments, column, default_of, exact, hidden, is_default, select, target, target_relation, unsupported,
    visible_ordinal,
};
use super::write::{Parts, PreparedWrite, Write};
use crate::binding::Tables;
use crate::expr::{cast_to, sequence_call, with_parts};
use crate::parse::{fold, fold_all, inserted, inserts_defaults, inserts_nothing, parse_expression, sets_nothing};
use crate::queries::QueryEngine;
use crate::row::{check_given, check_not_set, effective_default, row_columns};

/// Functions whose value changes from call to call: a condition with one would not be the same wherever it stands.
const VOLATILE: &[&str] = &["random", "gen_random_uuid", "nextval", "clock_timestamp", "timeofday"];

/// One WHEN, read.
struct Action {
    kind: Kind,
    /// That it is this one's turn, apart from those before it.
    condition: Expr,
    /// By ordinal: the new value of a column, where it is not the old one.
    values: Vec<Option<Expr>>,
}

/// Plans a MERGE; `with` are the queries before it.
pub(super) fn prepare(
    engine: &dyn QueryEngine,
    tables: &dyn Tables,
    (merge, with): (&Merge, Option<With>),
    text: &str,
    local: &Local,
) -> Result<PreparedWrite> {
    if !merge.into {
        return Err(Error::new(Code::SyntaxError, "syntax error: MERGE needs INTO"));
    }
    if merge.clauses.is_empty() {
        return Err(Error::new(Code::SyntaxError, "syntax error: MERGE needs WHEN"));
    }
    if merge.output.is_some() {
        return Err(Error::new(Code::SyntaxError, "syntax error: MERGE has no RETURNING"));
    }
    let of_target = TableWithJoins { relation: merge.table.clone(), joins: Vec::new() };
    let (name, shown) = target(&of_target)?;
    let table = tables.table(&name)?;
    let source = source_name(&merge.source);
    if source.as_ref().is_some_and(|source| fold(source) == fold(&shown)) {
        let message = format!("name \"{}\" specified more than once", fold(&shown));
        let error = Error::new(Code::DuplicateAlias, message);
        return Err(error.hint("The name is used both as MERGE target table and data source."));
    }
    let actions = actions(merge, &table, &shown, source.as_ref())?;
    let all_matched = merge.clauses.iter().all(|clause| clause.clause_kind == MergeClauseKind::Matched);
    let mut query = rows(&table, &shown, &actions, joined(merge, of_target, &shown, all_matched))?;
    query.with = with;
    let schema = &table.def.schema;
    let assigned = |action: &Action| {
        let set = action.values.iter().enumerate().filter(|(_, value)| value.is_some());
        set.map(|(ordinal, _)| ordinal).collect()
    };
    let plan = MergePlan {
        kinds: actions.iter().map(|action| action.kind.clone()).collect(),
        writes: actions.iter().map(assigned).collect(),
    };
    Ok(PreparedWrite::new(Parts {
        query: engine.prepare_query(tables, &query, text, Some(table.clone()), local)?,
        write: Write::Merge(Box::new(plan)),
        key_columns: schema.key.len(),
        row_columns: row_columns(schema).len(),
        returns: false,
        checks: Vec::new(),
        table,
    }))
}

/// Reads the actions.
fn actions(merge: &Merge, table: &TableRef, shown: &Ident, source: Option<&Ident>) -> Result<Vec<Action>> {
    let matched = is_there(shown, table);
    let mut actions = Vec::with_capacity(merge.clauses.len());
    let mut ended = [false, false];
    for clause in &merge.clauses {
        let is_matched = match clause.clause_kind {
            MergeClauseKind::Matched => true,
            MergeClauseKind::NotMatched => false,
            other => return Err(unsupported(&format!("WHEN {other}"))),
        };
        if std::mem::replace(&mut ended[usize::from(is_matched)], clause.predicate.is_none())
            || ended[usize::from(is_matched)] && clause.predicate.is_some()
        {
            let message = "unreachable WHEN clause specified after unconditional WHEN clause";
            return Err(Error::new(Code::SyntaxError, message));
        }
        let mut predicate = clause.predicate.clone();
        let (kind, mut values) = action(&clause.action, (table, shown), is_matched)?;
        if !is_matched {
            let of_source = |expr: &mut Expr| in_source(expr, shown, source);
            predicate.as_mut().map_or(Ok(()), of_source)?;
            values.iter_mut().flatten().try_for_each(of_source)?;
        }
        if let Some(predicate) = &predicate {
            refuse_volatile(predicate)?;
        }
        let side = if is_matched { matched.clone() } else { not(matched.clone()) };
        let condition = predicate.into_iter().fold(side, |side, predicate| and(side, nested(predicate)));
        actions.push(Action { kind, condition, values });
    }
    Ok(actions)
}

/// `source LEFT JOIN target ON ...`, an inner one when nothing is done with rows that match none.
fn joined(merge: &Merge, of_target: TableWithJoins, shown: &Ident, all_matched: bool) -> TableWithJoins {
    let on = JoinConstraint::On((*merge.on).clone());
    let join = Join {
        relation: target_relation(of_target, shown).relation,
        global: false,
        join_operator: if all_matched { JoinOperator::Inner(on) } else { JoinOperator::LeftOuter(on) },
    };
    TableWithJoins { relation: merge.source.clone(), joins: vec![join] }
}

/// The query: old keys, new rows, the number of the action.
fn rows(table: &TableRef, shown: &Ident, actions: &[Action], from: TableWithJoins) -> Result<Query> {
    let schema = &table.def.schema;
    let mut items: Vec<SelectItem> = Vec::new();
    for &ordinal in &schema.key {
        items.push(aliased(column(shown, &schema.columns[ordinal].name), &hidden('k', ordinal)));
    }
    for (ordinal, stored) in row_columns(schema).iter().enumerate() {
        let old = column(shown, &stored.name);
        let value = |action: &Action| match (&action.values[ordinal], &action.kind) {
            (Some(value), _) => Ok(Some(cast_to(value.clone(), stored.data_type)?)),
            (None, Kind::Update) => Ok(Some(old.clone())),
            (None, _) => Ok(None),
        };
        let values = actions.iter().map(value).collect::<Result<Vec<Option<Expr>>>>()?;
        let null = cast_to(parse_expression("NULL")?, stored.data_type)?;
        let branches =
            actions.iter().zip(values).map(|(action, value)| (action, value.unwrap_or_else(|| null.clone())));
        let chosen = if actions.is_empty() { null.clone() } else { case(branches)? };
        items.push(aliased(cast_to(chosen, stored.data_type)?, &hidden('c', ordinal)));
    }
    let numbers = actions.iter().enumerate();
    let numbers = numbers.map(|(at, action)| Ok((action, parse_expression(&(at + 1).to_string())?)));
    let number = case(numbers.collect::<Result<Vec<_>>>()?.into_iter())?;
    items.push(aliased(cast_to(number, DataType::BigInt)?, &hidden('a', 0)));
    select(items, vec![from], None)
}

/// `CASE WHEN condition THEN value ... END`
fn case<'a>(branches: impl Iterator<Item = (&'a Action, Expr)>) -> Result<Expr> {
    let Expr::Case { case_token, end_token, mut conditions, .. } = parse_expression("CASE WHEN true THEN 0 END")?
    else {
        return Err(Error::internal("a constant CASE is one"));
    };
    let Some(like) = conditions.pop() else { return Err(Error::internal("a constant CASE has a condition")) };
    for (action, result) in branches {
        let mut when = like.clone();
        (when.condition, when.result) = (action.condition.clone(), result);
        conditions.push(when);
    }
    Ok(Expr::Case { case_token, end_token, operand: None, conditions, else_result: None })
}

/// A value for a column, or parts of one over what it has.
fn assigned(value: Expr, table: &TableRef, ordinal: usize, old: impl FnOnce(&str) -> Result<Expr>) -> Result<Expr> {
    let stored = &table.def.schema.columns[ordinal];
    with_parts(value, old(&stored.name)?, stored.data_type, &stored.name)
}

/// What an action sets.
fn action(action: &MergeAction, of: (&TableRef, &Ident), is_matched: bool) -> Result<(Kind, Vec<Option<Expr>>)> {
    let (table, shown) = of;
    let def = &table.def;
    let mut values: Vec<Option<Expr>> = vec![None; def.schema.columns.len()];
    match action {
        MergeAction::Update(update) if sets_nothing(&update.assignments) => Ok((Kind::Nothing, values)),
        MergeAction::Insert(insert) if inserts_nothing(insert) => Ok((Kind::Nothing, values)),
        MergeAction::Delete { .. } if is_matched => Ok((Kind::Delete, values)),
        MergeAction::Update(update) if is_matched => {
            if update.update_predicate.is_some() || update.delete_predicate.is_some() {
                return Err(unsupported("WHERE in an action of MERGE"));
            }
            let old = |name: &str| Ok(column(shown, name));
            let ordinal = |name: &ObjectName| visible_ordinal(name, &def.schema, &def.name);
            for (ordinal, value) in assignments(&update.assignments, &def.schema, ordinal)? {
                if is_default(&value) {
                    values[ordinal] = Some(default_of(def, ordinal)?);
                } else {
                    check_not_set(def, ordinal)?;
                    values[ordinal] = Some(assigned(value, table, ordinal, old)?);
                }
            }
            Ok((Kind::Update, values))
        }
        MergeAction::Insert(insert) if !is_matched => {
            let MergeInsertKind::Values(given) = &insert.kind else { return Err(unsupported("INSERT ROW")) };
            if insert.insert_predicate.is_some() {
                return Err(unsupported("WHERE in an action of MERGE"));
            }
            let (named, overriding) = inserted(insert);
            let named = named.iter().map(|name| visible_ordinal(name, &def.schema, &def.name));
            let named = named.collect::<Result<Vec<usize>>>()?;
            let row = match given.rows.as_slice() {
                [_] if inserts_defaults(insert) => &[],
                [row] => row.content.as_slice(),
                _ => return Err(Error::new(Code::SyntaxError, "INSERT of MERGE takes one row of VALUES")),
            };
            let all: Vec<usize> = match named.as_slice() {
                [] => def.schema.visible().map(|(ordinal, _)| ordinal).collect(),
                _ => named.clone(),
            };
            if let Some(twice) = (1..all.len()).find(|&at| all[..at].contains(&all[at])) {
                let name = &def.schema.columns[all[twice]].name;
                return Err(Error::new(Code::DuplicateColumn, format!("column \"{name}\" specified more than once")));
            }
            if row.len() > all.len() {
                return Err(Error::new(Code::SyntaxError, "INSERT has more expressions than target columns"));
            }
            if row.len() < named.len() && !inserts_defaults(insert) {
                return Err(Error::new(Code::SyntaxError, "INSERT has more target columns than expressions"));
            }
            for (value, &ordinal) in row.iter().zip(&all).filter(|(value, _)| !is_default(value)) {
                check_given(def, ordinal, overriding)?;
                values[ordinal] = Some(assigned(value.clone(), table, ordinal, |_| parse_expression("NULL"))?);
            }
            let mut numbered = Vec::new();
            for (ordinal, _) in row_columns(&def.schema).iter().enumerate() {
                let default = effective_default(def, ordinal).filter(|_| values[ordinal].is_none());
                match default {
                    Some(text) if sequence_call(&text).is_some() => numbered.push(ordinal),
                    Some(_) => values[ordinal] = Some(default_of(def, ordinal)?),
                    None => {}
                }
            }
            Ok((Kind::Insert { numbered }, values))
        }
        other => Err(Error::new(Code::SyntaxError, format!("{other} is not an action of this WHEN"))),
    }
}

/// `t.key IS NOT NULL`: a row of the target is there.
fn is_there(shown: &Ident, table: &TableRef) -> Expr {
    let first = table.def.schema.key.first().copied().unwrap_or_default();
    Expr::IsNotNull(Box::new(column(shown, &table.def.schema.columns[first].name)))
}

fn not(expr: Expr) -> Expr {
    match expr {
        Expr::IsNotNull(inner) => Expr::IsNull(inner),
        other => Expr::UnaryOp { op: sqlparser::ast::UnaryOperator::Not, expr: Box::new(nested(other)) },
    }
}

fn nested(expr: Expr) -> Expr {
    Expr::Nested(Box::new(expr))
}

fn and(left: Expr, right: Expr) -> Expr {
    Expr::BinaryOp { left: Box::new(left), op: sqlparser::ast::BinaryOperator::And, right: Box::new(right) }
}

/// The name that the source goes by.
fn source_name(source: &TableFactor) -> Option<Ident> {
    match source {
        TableFactor::Table { alias: Some(alias), .. } | TableFactor::Derived { alias: Some(alias), .. } => {
            Some(alias.name.clone())
        }
        TableFactor::Table { name, .. } => {
            name.0.last().and_then(|part| part.as_ident()).map(|ident| exact(&fold(ident)))
        }
        _ => None,
    }
}

/// Where no row of the target matches, names are those of the source.
fn in_source(expr: &mut Expr, shown: &Ident, source: Option<&Ident>) -> Result<()> {
    struct Names<'a> {
        target: String,
        source: Option<&'a Ident>,
        depth: usize,
    }
    impl VisitorMut for Names<'_> {
        type Break = Error;

        fn pre_visit_query(&mut self, _: &mut Query) -> ControlFlow<Error> {
            self.depth += 1;
            ControlFlow::Continue(())
        }

        fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<Error> {
            self.depth -= 1;
            ControlFlow::Continue(())
        }

        fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Error> {
            match (&*expr, self.source) {
                (Expr::CompoundIdentifier(parts), _)
                    if parts.len() > 1 && fold(&parts[parts.len() - 2]) == self.target =>
                {
                    let target = &self.target;
                    let message = format!("invalid reference to FROM-clause entry for table \"{target}\"");
                    let what = "it cannot be referenced from this part of the query";
                    let hint = format!("There is an entry for table \"{target}\", but {what}.");
                    ControlFlow::Break(Error::new(Code::UndefinedTable, message).hint(hint))
                }
                (Expr::Identifier(ident), Some(source)) if self.depth == 0 && !is_default(expr) => {
                    *expr = Expr::CompoundIdentifier(vec![source.clone(), ident.clone()]);
                    ControlFlow::Continue(())
                }
                _ => ControlFlow::Continue(()),
            }
        }
    }
    let mut names = Names { target: fold(shown), source, depth: 0 };
    match VisitMut::visit(expr, &mut names) {
        ControlFlow::Break(error) => Err(error),
        ControlFlow::Continue(()) => Ok(()),
    }
}

/// A condition stands in the query several times.
fn refuse_volatile(expr: &Expr) -> Result<()> {
    let found = weft_walk::visit_expressions(expr, |part| match part {
        Expr::Function(function) if VOLATILE.contains(&fold_all(&function.name).as_str()) => {
            ControlFlow::Break(function.name.to_string())
        }
        _ => ControlFlow::Continue(()),
    });
    match found {
        ControlFlow::Break(name) => Err(unsupported(&format!("{name}() in a condition of WHEN"))
            .hint("compute it in the source, as a subquery with an alias")),
        ControlFlow::Continue(()) => Ok(()),
    }
}
