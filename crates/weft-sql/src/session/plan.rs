//! The router: which engine runs a statement, and the plan it made.

use std::sync::Arc;

use sqlparser::ast::{Insert, Query, SetExpr, Statement, TableObject};
use weft_expr::Local;
use weft_format::{Code, DataType, Error, Result};
use weft_kernel::{TableRef, Transaction};
use weft_pgcatalog::CatalogQuery;

use super::asks::{has_constants, is_of_catalog};
use super::catalog;
use super::parts::plan_parts;
use super::planned::{Action, Plan};
use crate::binding::Tables;
use crate::dml::PreparedWrite;
use crate::engine::SqlEngine;
use crate::expr::BindError;
use crate::parse::{has_history, has_writing_parts, writes};
use crate::row;
use crate::settings::EngineChoice;
use crate::updatable::Verb;

/// Plans a query, INSERT, UPDATE or DELETE for a session.
pub(super) fn plan(
    db: &SqlEngine,
    statement: &Statement,
    source: &str,
    txn: &Transaction,
    (engine, local): (EngineChoice, &Local),
) -> Result<Plan> {
    if let Statement::Query(query) = statement
        && (is_of_catalog(statement) || has_constants(statement))
    {
        refuse_history(statement)?;
        return of_catalog(db, (statement, query), source, txn, (engine, local));
    }
    if let Statement::Query(query) = statement {
        crate::queries::names::check_order(query)?;
    }
    if let Statement::Query(query) = statement
        && has_writing_parts(query)
    {
        if engine == EngineChoice::Point {
            let message = "the point engine cannot run this statement: WITH is not supported by it";
            return Err(Error::new(Code::FeatureNotSupported, message).hint("SET engine = auto"));
        }
        let make = |part: &Statement| plan(db, part, source, txn, (EngineChoice::Query, local));
        let parts = plan_parts(query, txn, make)?;
        let key = (txn.catalog_version(), Arc::clone(txn.search_path()), engine);
        let (columns, param_types) = (Arc::clone(&parts.columns), parts.param_types.clone());
        return Ok(Plan::new(key, columns, param_types, Action::Parts(parts)));
    }
    let key = || (txn.catalog_version(), Arc::clone(txn.search_path()), engine);
    if engine != EngineChoice::Query || is_insert_values(statement) {
        match row::plan(statement, txn, db.shapes(), source, local) {
            Ok(plan) => {
                let (columns, param_types) = (Arc::clone(&plan.columns), plan.param_types.clone());
                return Ok(Plan::new(key(), columns, param_types, Action::Row(plan)).reading(&local.style));
            }
            Err(BindError::Wrong(error)) => return Err(error),
            Err(BindError::Unsupported(what)) if engine == EngineChoice::Point => {
                let message = format!("the point engine cannot run this statement: {what} is not supported by it");
                return Err(Error::new(Code::FeatureNotSupported, message).hint("SET engine = auto"));
            }
            Err(BindError::Unsupported(_)) => {}
        }
    }
    let queries = db.queries()?;
    let known = |types: &[Option<DataType>]| types.iter().map(|t| t.unwrap_or(DataType::Text)).collect();
    Ok(match statement {
        Statement::Query(query) if query.locks.is_empty() && !writes(query) => {
            by_query_engine(db, statement, source, txn, (engine, local))?
        }
        Statement::Insert(insert @ Insert { source: Some(reading), .. }) if is_written_by_rows(insert, txn) => {
            let reading = Box::new(crate::dml::typed_values(insert, reading, txn)?);
            let query = queries.prepare(txn, &Statement::Query(reading), source, local)?;
            let row = row::plan_query_insert(insert, &query, txn, db.shapes(), source, local)?;
            let (columns, param_types) = (Arc::clone(&row.columns), row.param_types.clone());
            Plan::new(key(), columns, param_types, Action::Upsert(query, row)).reading(&local.style)
        }
        _ => {
            let prepared = PreparedWrite::prepare(&*queries, txn, statement, source, local)?;
            let (columns, param_types) = (Arc::clone(prepared.columns()), known(prepared.param_types()));
            Plan::new(key(), columns, param_types, Action::Dml(prepared)).reading(&local.style)
        }
    })
}

/// Plans a query of the catalog: by its interpreter, or by the query engine, which may have what that lacks.
fn of_catalog(
    db: &SqlEngine,
    (statement, query): (&Statement, &Query),
    source: &str,
    txn: &Transaction,
    (engine, local): (EngineChoice, &Local),
) -> Result<Plan> {
    match CatalogQuery::new(query) {
        Ok(query) => {
            let key = (txn.catalog_version(), Arc::clone(txn.search_path()), engine);
            Ok(Plan::new(key, catalog::columns(&query).into(), query.params(), Action::Catalog(query)))
        }
        Err(error) if error.code() == Code::FeatureNotSupported => {
            by_query_engine(db, statement, source, txn, (engine, local)).map_err(|_| error)
        }
        Err(error) => Err(error),
    }
}

/// Plans a query that only reads by the query engine.
fn by_query_engine(
    db: &SqlEngine,
    statement: &Statement,
    source: &str,
    txn: &Transaction,
    (engine, local): (EngineChoice, &Local),
) -> Result<Plan> {
    let query = db.queries()?.prepare(txn, statement, source, local)?;
    let param_types = query.param_types().iter().map(|known| known.unwrap_or(DataType::Text)).collect();
    let (columns, key) = (Arc::clone(query.columns()), (txn.catalog_version(), Arc::clone(txn.search_path()), engine));
    Ok(Plan::new(key, columns, param_types, Action::Query(query)).reading(&local.style))
}

/// Fails when a query of the catalog asks for the past.
fn refuse_history(statement: &Statement) -> Result<()> {
    if !has_history(statement) {
        return Ok(());
    }
    let error = Error::new(Code::WrongObjectType, "relations of the catalog have no history");
    Err(error.hint("BEGIN READ ONLY AS OF shows the catalog of a moment"))
}

/// Whether the rows of an INSERT from a query go through the point engine one by one: it looks for conflicts, and shows
/// what RETURNING names of a row after its numbers were taken and its generated columns computed.
fn is_written_by_rows(insert: &Insert, txn: &Transaction) -> bool {
    if insert.on.is_some() {
        return true;
    }
    let TableObject::TableName(name) = &insert.table else { return false };
    let Ok(name) = crate::parse::table_name(name) else { return false };
    let is_sequence = |text: &str| crate::expr::sequence_call(text).is_some();
    let is_computed = |table: &TableRef| {
        let def = &table.def;
        let mut defaults = (0..def.defaults.len()).filter_map(|ordinal| row::effective_default(def, ordinal));
        defaults.any(|text| is_sequence(&text)) || !row::all_generated(def).is_empty()
    };
    match txn.updatable(&name, Verb::Insert) {
        Ok(Some(view)) => {
            let own = view.insert_defaults().is_ok_and(|own| own.iter().any(|(_, text)| is_sequence(text)));
            own || (insert.returning.is_some() || view.checks()) && is_computed(&view.table)
        }
        Ok(None) if insert.returning.is_some() => {
            crate::resolve::table(txn, &name).is_ok_and(|table| is_computed(&table))
        }
        _ => false,
    }
}

/// INSERT ... VALUES has one path, whatever engine is forced.
fn is_insert_values(statement: &Statement) -> bool {
    match statement {
        Statement::Insert(insert) => match &insert.source {
            Some(source) => matches!(*source.body, SetExpr::Values(_)),
            None => true,
        },
        _ => false,
    }
}
