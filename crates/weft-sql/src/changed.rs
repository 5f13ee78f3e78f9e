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

use sqlparser::ast::{Query, SetExpr, Statement, TableFactor, TableObject, Visit, Visitor};
use weft_format::{Code, Error, Result};
use weft_kernel::Transaction;

use crate::expansion::target_of;
use crate::functions::Function;
use crate::parse::table_name;
use crate::resolve;
use crate::updatable::{self, Verb};

/// The tables.
#[derive(Debug, Default)]
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
                match table_changed(self.txn, statement) {
                    Ok(table) => {
                        self.tables.extend(table);
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

/// The table that a statement changes, through views or not.
fn table_changed(txn: &Transaction, statement: &Statement) -> Result<Option<u32>> {
    let (name, verb) = match statement {
        Statement::Insert(insert) => match &insert.table {
            TableObject::TableName(name) => (name, Verb::Insert),
            _ => return Ok(None),
        },
        Statement::Update(_) => match target_of(statement) {
            Some(TableFactor::Table { name, .. }) => (name, Verb::Update),
            _ => return Ok(None),
        },
        other => match target_of(other) {
            Some(TableFactor::Table { name, .. }) => (name, Verb::Delete),
            _ => return Ok(None),
        },
    };
    let known_as = table_name(name)?;
    // Whether it can be changed is said by who plans the statement.
    if let Ok(Some(view)) = updatable::find(txn, &known_as, verb) {
        return Ok(Some(view.table.def.oid));
    }
    Ok(resolve::table(txn, &known_as).ok().map(|table| table.def.oid))
}
