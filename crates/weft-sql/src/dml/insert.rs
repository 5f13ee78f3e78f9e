//! INSERT from a query, as a query of new rows.

use sqlparser::ast::{Expr, Insert, Query, SelectItem, SetExpr, TableObject, Value};
use weft_expr::Local;
use weft_format::{Code, DataType, Error, Result};

use super::syntax::{aliased, column, derived, exact, hidden, is_default, select, unsupported};
use super::target::Target;
use super::write::{Parts, PreparedWrite, Write, returns};
use crate::binding::Tables;
use crate::expr::{cast_to, check_assignable, with_parts};
use crate::queries::QueryEngine;
use crate::queries::names::MARKER;
use crate::row::{check_generated, generated, row_columns};
use crate::updatable::Verb;

/// Plans an INSERT.
pub(super) fn prepare(
    engine: &dyn QueryEngine,
    tables: &dyn Tables,
    insert: &Insert,
    text: &str,
    local: &Local,
) -> Result<PreparedWrite> {
    if insert.on.is_some() {
        return Err(unsupported("ON CONFLICT with a query that the point engine cannot run"));
    }
    let TableObject::TableName(name) = &insert.table else {
        return Err(unsupported("inserting into anything but a table"));
    };
    let name = crate::parse::table_name(name)?;
    let target = Target::named(tables, &name, Verb::Insert)?;
    let table = target.table.clone();
    let schema = &table.def.schema;
    let shown = insert.table_alias.as_ref().map_or_else(|| exact(target.name()), |alias| alias.alias.clone());
    let (source, given) = source(engine, tables, insert, &target, text, local)?;
    let query = new_rows(source, &given, &target)?;

    let ordinals = 0..row_columns(schema).len();
    let mut numbered: Vec<usize> = Vec::new();
    for ordinal in ordinals {
        if !given.contains(&ordinal) && target.is_numbered(ordinal)? {
            numbered.push(ordinal);
        }
    }
    given.iter().try_for_each(|&ordinal| check_generated(&table.def, ordinal, insert))?;
    let returns = returns(insert.returning.as_ref());
    let checks = target.checks();
    if (returns || !checks.is_empty()) && !numbered.is_empty() {
        return Err(Error::internal("the point engine writes what takes numbers and returns them"));
    }
    let query = if returns || !checks.is_empty() {
        let width = row_columns(schema).len();
        let mut outer: Vec<SelectItem> = (0..width).map(|ordinal| target.new_column(&shown, ordinal)).collect();
        outer.extend(target.flags(&shown));
        outer.extend(target.returning(insert.returning.as_deref().unwrap_or(&[]), &shown));
        select(outer, vec![target.new_rows(query, &shown, 0..width, &[])?], None)?
    } else {
        query
    };
    Ok(PreparedWrite::new(Parts {
        query: engine.prepare_query(tables, &query, text, None, local)?,
        write: Write::Insert { numbered },
        key_columns: 0,
        row_columns: row_columns(schema).len(),
        returns,
        checks,
        table,
    }))
}

/// The source query, and the ordinals its columns go to.
fn source(
    engine: &dyn QueryEngine,
    tables: &dyn Tables,
    insert: &Insert,
    target: &Target,
    text: &str,
    local: &Local,
) -> Result<(Query, Vec<usize>)> {
    let table = &target.table;
    let schema = &table.def.schema;
    let is_named = !insert.columns.is_empty();
    let Some(source) = &insert.source else {
        let query = select(vec![SelectItem::UnnamedExpr(target.default(0)?)], Vec::new(), None)?;
        return Ok((query, vec![0]));
    };
    let mut query = typed_values(insert, source, tables)?;
    if let SetExpr::Values(values) = &mut *query.body {
        let width = values.rows.first().map_or(0, |row| row.content.len());
        let all = target.given(&insert.columns, width)?;
        check_width(width, &all, is_named)?;
        // A column that is generated is given by DEFAULT only, and so is not given.
        let is_left_out = |place: usize| {
            generated(&table.def, all[place]).is_some()
                && values.rows.iter().all(|row| row.content.get(place).is_some_and(is_default))
        };
        let given: Vec<usize> = (0..width).filter(|place| !is_left_out(*place)).collect();
        if given.is_empty() {
            return Err(unsupported("DEFAULT alone in VALUES of a generated column"));
        }
        for row in &mut values.rows {
            let content = std::mem::take(&mut row.content).into_iter().enumerate();
            let kept = content.filter(|(place, _)| given.contains(place));
            for (place, mut expr) in kept {
                if is_default(&expr) {
                    expr = target.default(all[place])?;
                }
                let stored = &schema.columns[all[place]];
                let expr = with_parts(expr, crate::parse::parse_expression("NULL")?, stored.data_type, &stored.name)?;
                row.content.push(expr);
            }
        }
        return Ok((query, given.into_iter().map(|place| all[place]).collect()));
    }
    let prepared = engine.prepare_query(tables, &query, text, None, local)?;
    let columns = prepared.columns();
    let all = target.given(&insert.columns, columns.len())?;
    check_width(columns.len(), &all, is_named)?;
    for (from, &ordinal) in columns.iter().zip(&all) {
        let to = &schema.columns[ordinal];
        if from.data_type != DataType::Text {
            check_assignable(from.data_type, to.data_type, &to.name)?;
        }
    }
    Ok((query, all[..columns.len()].to_vec()))
}

/// The source of an INSERT as a query of its own: constants in quotes and NULLs among VALUES have the types of their
/// columns, where alone they would be texts.
pub(crate) fn typed_values(insert: &Insert, source: &Query, tables: &dyn Tables) -> Result<Query> {
    let mut query = source.clone();
    let (SetExpr::Values(values), TableObject::TableName(name)) = (&mut *query.body, &insert.table) else {
        return Ok(query);
    };
    let target = Target::named(tables, &crate::parse::table_name(name)?, Verb::Insert)?;
    let schema = &target.table.def.schema;
    let width = values.rows.first().map_or(0, |row| row.content.len());
    let ordinals = target.given(&insert.columns, width)?;
    let is_open = |expr: &Expr| {
        matches!(expr, Expr::Value(value)
            if matches!(value.value, Value::SingleQuotedString(_) | Value::Null | Value::Placeholder(_)))
    };
    for row in &mut values.rows {
        for (expr, &ordinal) in row.content.iter_mut().zip(&ordinals) {
            let to = schema.columns[ordinal].data_type;
            if is_open(expr) && !to.is_text() {
                *expr = cast_to(expr.clone(), to)?;
            }
        }
    }
    Ok(query)
}

fn check_width(width: usize, all: &[usize], is_named: bool) -> Result<()> {
    if width > all.len() || all.is_empty() {
        return Err(Error::new(Code::SyntaxError, "INSERT has more expressions than target columns"));
    }
    if width < all.len() && is_named {
        return Err(Error::new(Code::SyntaxError, "INSERT has more target columns than expressions"));
    }
    Ok(())
}

/// `SELECT CAST(v0 AS ...) AS a, DEFAULT of b AS b, ... FROM (source) AS s (v0, ...)`
fn new_rows(source: Query, given: &[usize], target: &Target) -> Result<Query> {
    let from = exact(&format!("{MARKER}source"));
    let names: Vec<String> = (0..given.len()).map(|place| hidden('v', place)).collect();
    let mut items = Vec::new();
    for (ordinal, stored) in row_columns(&target.table.def.schema).iter().enumerate() {
        let value: Expr = match given.iter().position(|&known| known == ordinal) {
            Some(place) => column(&from, &names[place]),
            None if target.is_numbered(ordinal)? => crate::parse::parse_expression("NULL")?,
            None => target.default(ordinal)?,
        };
        items.push(aliased(cast_to(value, stored.data_type)?, &stored.name));
    }
    select(items, vec![derived(source, from, &names)], None)
}
