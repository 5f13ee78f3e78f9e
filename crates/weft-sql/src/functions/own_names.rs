//! The relations that a function's query names, with their schemas, so that they mean the same at the place of a call.
//!
//! ```text
//!   WITH q AS (SELECT * FROM q)      WITH q AS (SELECT * FROM public.q AS q)
//!   SELECT * FROM q, t               SELECT * FROM q, public.t AS t             not the t of a caller's WITH
//! ```

use std::ops::ControlFlow;

use sqlparser::ast::{Ident, ObjectName, Query, SetExpr, TableAlias, TableFactor, VisitorMut};
use weft_format::{Code, Error, Result};
use weft_kernel::Transaction;
use weft_walk::VisitMut;

use super::scope::address;
use crate::changes;
use crate::parse::{fold, table_name};
use crate::resolve::{self, Relation};

/// Writes them out; an error when a relation is not there.
pub(super) fn write_out(txn: &Transaction, query: &mut Query) -> Result<()> {
    let mut writing = Writing { txn, with: Vec::new(), ending: Vec::new() };
    match VisitMut::visit(query, &mut writing) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(error),
    }
}

struct Writing<'a> {
    txn: &'a Transaction,
    /// The WITH queries in sight.
    with: Vec<Vec<String>>,
    /// Those that are in sight behind their end: the address of the query, and the name.
    ending: Vec<(usize, String)>,
}

impl VisitorMut for Writing<'_> {
    type Break = Error;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Error> {
        let mut in_sight = Vec::new();
        if let Some(with) = &query.with {
            for table in &with.cte_tables {
                let name = fold(&table.alias.name);
                if with.recursive {
                    in_sight.push(name);
                } else {
                    self.ending.push((address(&*table.query), name));
                }
            }
        }
        self.with.push(in_sight);
        if has_table(&query.body) {
            let error = Error::new(Code::FeatureNotSupported, "TABLE in a function is not supported");
            return ControlFlow::Break(error.hint("SELECT * FROM"));
        }
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, query: &mut Query) -> ControlFlow<Error> {
        self.with.pop();
        let own = address(query);
        if let Some(at) = self.ending.iter().position(|(ends, _)| *ends == own) {
            let (_, name) = self.ending.swap_remove(at);
            if let Some(around) = self.with.last_mut() {
                around.push(name);
            }
        }
        ControlFlow::Continue(())
    }

    fn post_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<Error> {
        match self.factor(factor) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => ControlFlow::Break(error),
        }
    }
}

/// Whether one of the parts of a query is TABLE.
fn has_table(body: &SetExpr) -> bool {
    match body {
        SetExpr::Table(_) => true,
        SetExpr::SetOperation { left, right, .. } => has_table(left) || has_table(right),
        _ => false,
    }
}

impl Writing<'_> {
    fn factor(&mut self, factor: &mut TableFactor) -> Result<()> {
        if changes::qualify(self.txn, factor)?.is_some() {
            return Ok(());
        }
        let TableFactor::Table { name, alias, args: None, .. } = factor else { return Ok(()) };
        let known_as = table_name(name)?;
        if self.with.iter().flatten().any(|with| *with == known_as) {
            return Ok(());
        }
        let (schema, own) = if resolve::of_catalog(self.txn, &known_as).is_some() {
            let (schema, own) = resolve::split(&known_as);
            (schema.unwrap_or("pg_catalog").to_owned(), own.to_owned())
        } else {
            let (namespace, own) = match resolve::relation(self.txn, &known_as) {
                Some(Relation::Table(table)) => (table.def.namespace, table.def.name.clone()),
                Some(Relation::Object(object)) => (object.namespace, object.name.clone()),
                Some(Relation::Index(..) | Relation::Columns(..)) => return Ok(()),
                None => return Err(resolve::undefined(&known_as)),
            };
            (resolve::schema_name(self.txn, namespace), own)
        };
        if alias.is_none() {
            let name = Ident::with_quote('"', own.clone());
            *alias = Some(TableAlias { explicit: true, name, columns: Vec::new(), at: None });
        }
        *name = ObjectName::from(vec![quoted(schema), quoted(own)]);
        Ok(())
    }
}

fn quoted(name: String) -> Ident {
    if weft_pgcatalog::quoted(&name).starts_with('"') { Ident::with_quote('"', name) } else { Ident::new(name) }
}
