//! What a function's text says, with `$1`, `$2`, ... for its arguments.
//!
//! ```text
//!   f(k int)   SELECT v FROM t WHERE t.k = f.k LIMIT 1      SELECT v FROM t WHERE t.k = $1 LIMIT 1
//! ```
//!
//! 1. Its names mean columns and relations of its own, or its arguments (`naming`, `own_names`).

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;

use sqlparser::ast::{Expr, Query, Statement, Visitor};
use weft_format::{Code, DataType, Error, Result};
use weft_kernel::Transaction;
use weft_walk::{Visit, visit_expressions};

use super::called::called_by;
use super::calls::{fix, gone};
use super::definition::{Function, plain_type_of};
use super::scope::{Column, Scopes};
use super::volatile::is_volatile;
use super::{naming, own_names};
use crate::expr::function_name;
use crate::parse::{Parsed, has_writing_parts, parse, writes};
use crate::types;

/// The query of a function that only reads.
pub(crate) struct Body {
    pub(crate) query: Query,
    /// The columns that it gives, as far as its tree tells them.
    pub(crate) columns: Option<Vec<Column>>,
}

/// The types of a function's arguments.
pub(super) fn params_of(txn: &Transaction, function: &Function) -> Result<Vec<DataType>> {
    function.inputs().map(|input| Ok(plain_type_of(txn, &input.data_type)?.0)).collect()
}

/// The statements of a function, with parameters for its arguments.
pub(crate) fn statements_of(txn: &Transaction, function: &Function) -> Result<Vec<Statement>> {
    let text = if function.is_return { format!("SELECT {}", function.body) } else { function.body.clone() };
    let params = params_of(txn, function)?;
    let mut statements = Vec::new();
    for parsed in parse(&text)? {
        let Parsed::Sql { mut statement, .. } = parsed else {
            let message = format!("function {} has a statement that functions cannot run", function.name);
            return Err(Error::new(Code::FeatureNotSupported, message)
                .hint("a function in SQL has SELECT, INSERT, UPDATE, DELETE and MERGE"));
        };
        naming::name(function, Scopes::new(txn, params.clone()), &mut statement)?;
        if calls_one_of(&*statement, &["set_config"]) {
            // Settings change behind the whole statement, where the statements that follow do not see it.
            let message = format!("set_config in function {} is not supported", function.name);
            return Err(Error::new(Code::FeatureNotSupported, message).hint("SET, before the function is called"));
        }
        fix(txn, &mut *statement, params.clone())?;
        statements.push(*statement);
    }
    Ok(statements)
}

/// Whether a statement is one that only reads.
pub(super) fn only_reads(statement: &Statement) -> bool {
    matches!(statement, Statement::Query(query) if !writes(query) && !has_writing_parts(query))
}

/// Whether a call must be a statement of its own.
pub(crate) fn runs_alone(txn: &Transaction, function: &Function) -> Result<bool> {
    must_be_alone(txn, function, &mut HashMap::new())
}

/// The same; `seen`: what is known of the functions that were looked at.
fn must_be_alone(txn: &Transaction, function: &Function, seen: &mut HashMap<u32, bool>) -> Result<bool> {
    if let Some(known) = seen.get(&function.id) {
        return Ok(*known);
    }
    seen.insert(function.id, false);
    let statements = statements_of(txn, function)?;
    let is_plain = matches!(statements.as_slice(), [only] if only_reads(only));
    let mut alone = function.is_alone() || !is_plain || takes_numbers(&statements);
    if !alone {
        for id in called_by(&statements) {
            let other = Function::of_number(txn, id)?.ok_or_else(|| gone(id))?;
            alone |= must_be_alone(txn, &other, seen)?;
        }
    }
    seen.insert(function.id, alone);
    Ok(alone)
}

/// Whether a call that is a whole statement is one that runs alone although it might be put into others: its rows have
/// an order, or it gives another value each time.
pub(crate) fn is_better_alone(txn: &Transaction, function: &Function, args: &[Expr]) -> Result<bool> {
    let mut seen = HashSet::from([function.id]);
    let statements = statements_of(txn, function)?;
    let is_ordered = |statement: &Statement| matches!(statement, Statement::Query(query) if query.order_by.is_some());
    if function.is_set && statements.last().is_some_and(is_ordered) {
        return Ok(true);
    }
    Ok(varies(txn, &args.to_vec(), &mut seen)? || varies(txn, &statements, &mut seen)?)
}

/// Whether something gives another value each time, with the functions of users that it calls.
fn varies<T: Visit>(txn: &Transaction, part: &T, seen: &mut HashSet<u32>) -> Result<bool> {
    if is_volatile(part) {
        return Ok(true);
    }
    for id in called_by(part) {
        if seen.insert(id) {
            let other = Function::of_number(txn, id)?.ok_or_else(|| gone(id))?;
            if varies(txn, &statements_of(txn, &other)?, seen)? {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// Whether a statement calls what takes numbers of sequences, changes settings or asks for commits, or locks rows.
fn takes_numbers(statements: &[Statement]) -> bool {
    const NAMES: &[&str] = &[
        "nextval",
        "currval",
        "setval",
        "lastval",
        "weft_last_commit",
        "weft_published_commit",
        "weft_commit_time",
        "weft_commit_at",
        "weft_writer_epoch",
        "weft_system_identifier",
    ];
    let locks = |query: &Query| if query.locks.is_empty() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) };
    let mut takes = statements.iter().map(|statement| {
        let mut queries = Queries(locks);
        calls_one_of(statement, NAMES) || statement.visit(&mut queries).is_break()
    });
    takes.any(|takes| takes)
}

/// What asks something of each query.
struct Queries<F>(F);

impl<F: Fn(&Query) -> ControlFlow<()>> Visitor for Queries<F> {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        (self.0)(query)
    }
}

/// Whether something calls a function of one of these names.
fn calls_one_of<T: Visit>(part: &T, names: &[&str]) -> bool {
    let calls = |expr: &Expr| match expr {
        Expr::Function(call) if names.contains(&function_name(call).as_str()) => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    };
    visit_expressions(part, calls).is_break()
}

/// The query that a call stands for.
pub(crate) fn body_of(txn: &Transaction, function: &Function) -> Result<Body> {
    let mut statements = statements_of(txn, function)?;
    let is_plain = matches!(statements.as_slice(), [only] if only_reads(only));
    let is_put = is_plain && !function.is_alone() && !takes_numbers(&statements);
    let Some(Statement::Query(mut query)) = statements.pop().filter(|_| is_put) else {
        return Err(alone(function, "gives nothing, writes, takes numbers or locks, or has several statements"));
    };
    let columns = Scopes::new(txn, params_of(txn, function)?).columns_of(&query);
    own_names::write_out(txn, &mut query)?;
    types::run(txn, &mut *query)?;
    Ok(Body { query: *query, columns })
}

/// The error of a call that is a part of a statement, of a function that is not put in its place.
pub(super) fn alone(function: &Function, why: &str) -> Error {
    let name = &function.name;
    let error = Error::new(Code::FeatureNotSupported, format!("function {name} is called within a statement"));
    let from = if function.gives_rows() || function.is_set { "* FROM " } else { "" };
    error.hint(format!("it {why}: call it alone, SELECT {from}{name}(...)"))
}
