//! The tables that a statement changes, which a function that is VOLATILE must not read within it.
//!
//! ```text
//!   INSERT INTO t SELECT next() FROM u     next() reads t: PostgreSQL's sees the rows before its own
//!   INSERT INTO t VALUES (next())          one row: nothing is there yet, and nothing differs
//! ```
//!
//! Weft puts a function's query in the place of the call, where it reads what was there before the statement, as a
//! function that is STABLE does in PostgreSQL.

use std::collections::HashSet;
use std::ops::ControlFlow;

use sqlparser::ast::{FromTable, Query, SetExpr, Statement, TableFactor, TableObject, Visitor};
use weft_format::{Code, Error, Result};
use weft_kernel::Transaction;
use weft_walk::Visit;

use crate::functions::Function;
use crate::parse::table_name;
use crate::resolve::{self, Relation};

/// The tables.
#[derive(Clone, Debug, Default)]
pub(crate) struct Changed {
    tables: HashSet<u32>,
    /// The address of the one row that an INSERT adds.
    row: Option<usize>,
    /// The place is within that row.
    is_before: bool,
}

fn address<T>(of: &T) -> usize {
    std::ptr::from_ref(of).addr()
}

impl Changed {
    /// Those of a statement.
    pub(crate) fn by(txn: &Transaction, statement: &Statement) -> Result<Changed> {
        struct Targets<'a> {
            txn: &'a Transaction,
            tables: HashSet<u32>,
        }
        impl Visitor for Targets<'_> {
            type Break = Error;

            fn pre_visit_statement(&mut self, statement: &Statement) -> ControlFlow<Error> {
                match tables_changed(self.txn, statement) {
                    Ok(tables) => {
                        self.tables.extend(tables);
                        ControlFlow::Continue(())
                    }
                    Err(error) => ControlFlow::Break(error),
                }
            }
        }
        let mut targets = Targets { txn, tables: HashSet::new() };
        if let ControlFlow::Break(error) = statement.visit(&mut targets) {
            return Err(error);
        }
        let row = match statement {
            Statement::Insert(insert) => insert.source.as_deref().filter(|query| is_one_row(query)).map(address),
            _ => None,
        };
        Ok(Changed { tables: targets.tables, row, is_before: false })
    }

    /// Goes into a query.
    pub(crate) fn enter(&mut self, query: &Query) {
        self.is_before |= self.row == Some(address(query));
    }

    /// Leaves it.
    pub(crate) fn leave(&mut self, query: &Query) {
        self.is_before &= self.row != Some(address(query));
    }

    /// Fails when a function, whose query is given, would read other rows in PostgreSQL.
    pub(crate) fn check(&self, txn: &Transaction, function: &Function, query: &Query) -> Result<()> {
        if self.tables.is_empty() || self.is_before || function.volatility != 'v' {
            return Ok(());
        }
        struct Reads<'a>(&'a Transaction, &'a HashSet<u32>);
        impl Visitor for Reads<'_> {
            type Break = String;

            fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<String> {
                let TableFactor::Table { name, args: None, .. } = factor else { return ControlFlow::Continue(()) };
                // Those of WITH have no schema.
                let known_as = table_name(name).ok().filter(|_| name.0.len() > 1);
                match known_as.and_then(|name| resolve::table(self.0, &name).ok()) {
                    Some(table) if self.1.contains(&table.def.oid) => ControlFlow::Break(table.def.name.clone()),
                    _ => ControlFlow::Continue(()),
                }
            }
        }
        let ControlFlow::Break(table) = query.visit(&mut Reads(txn, &self.tables)) else { return Ok(()) };
        let name = &function.name;
        let message = format!("function {name} reads table \"{table}\", which the statement changes");
        let hint = "ALTER FUNCTION ... STABLE, if it is to read what was there before the statement";
        Err(Error::new(Code::FeatureNotSupported, message).hint(hint))
    }
}

/// Whether a query gives one row that is there before anything is written.
fn is_one_row(query: &Query) -> bool {
    match &*query.body {
        SetExpr::Values(values) => values.rows.len() == 1,
        _ => false,
    }
}

/// The relation that an UPDATE, DELETE or MERGE changes.
pub(crate) fn target_of(statement: &Statement) -> Option<&TableFactor> {
    match statement {
        Statement::Update(update) => Some(&update.table.relation),
        Statement::Merge(merge) => Some(&merge.table),
        Statement::Delete(delete) => {
            let (FromTable::WithFromKeyword(from) | FromTable::WithoutKeyword(from)) = &delete.from;
            from.first().map(|from| &from.relation)
        }
        _ => None,
    }
}

/// The table that a statement changes; of a view those that it reads.
fn tables_changed(txn: &Transaction, statement: &Statement) -> Result<Vec<u32>> {
    let name = match statement {
        Statement::Insert(insert) => match &insert.table {
            TableObject::TableName(name) => name,
            _ => return Ok(Vec::new()),
        },
        other => match target_of(other) {
            Some(TableFactor::Table { name, .. }) => name,
            _ => return Ok(Vec::new()),
        },
    };
    let mut tables = Vec::new();
    match resolve::relation(txn, &table_name(name)?) {
        Some(Relation::Table(table)) => tables.push(table.def.oid),
        Some(Relation::Object(object)) => tables.extend(&object.needs),
        _ => {}
    }
    // Views among them are not left out, nor are they twice.
    let mut at = 0;
    while let Some(id) = tables.get(at).copied() {
        if let Some(object) = txn.object_of(id) {
            let new: Vec<u32> = object.needs.iter().copied().filter(|id| !tables.contains(id)).collect();
            tables.extend(new);
        }
        at += 1;
    }
    Ok(tables)
}
