//! Which queries are about the catalog.
//!
//! ```text
//!   SELECT * FROM pg_class c JOIN pg_namespace n ON ...     yes: all relations are the catalog's
//!   SELECT version()                                        yes: no relation, a function of the catalog
//!   SELECT now()     SELECT * FROM t                        no
//! ```

use std::ops::ControlFlow;

use sqlparser::ast::{DataType, Expr, ObjectName, Query, TableFactor, Visit, Visitor};

use crate::bind::{fold, last_part, sql_type};
use crate::bind_query::with_names;
use crate::functions::{self, WITHOUT_PARENTHESES};
use crate::relations;
use crate::value::Type;

#[derive(Default)]
struct Finder {
    with: Vec<String>,
    names: Vec<Vec<String>>,
    calls: bool,
    /// A function that changes something or is of a table's query.
    foreign: bool,
    /// A function of the catalog gives rows.
    gives_rows: bool,
}

impl Visitor for Finder {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        self.with.extend(with_names(query).map(fold));
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
        match factor {
            TableFactor::Table { name, args: None, .. } => self.names.push(parts(name)),
            TableFactor::Table { name, .. } | TableFactor::Function { name, .. } => {
                self.function(name);
                self.gives_rows |= functions::is_of_catalog(&last_part(name));
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        match expr {
            Expr::Function(call) => self.function(&call.name),
            Expr::Identifier(ident) if ident.quote_style.is_none() => {
                self.calls |= WITHOUT_PARENTHESES.contains(&fold(ident).as_str());
            }
            Expr::Cast { data_type, .. } => self.calls |= is_reg(data_type),
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

fn is_reg(data_type: &DataType) -> bool {
    let data_type = sql_type(data_type);
    data_type.is_reg() || data_type == Type::RegProc
}

fn parts(name: &ObjectName) -> Vec<String> {
    name.0.iter().filter_map(|part| part.as_ident()).map(fold).collect()
}

/// Functions of sequences and settings, which change something.
const FOREIGN: &[&str] = &["nextval", "currval", "setval", "lastval", "set_config", "pg_sleep"];

impl Finder {
    fn function(&mut self, name: &ObjectName) {
        let name = last_part(name);
        self.foreign |= FOREIGN.contains(&name.as_str());
        self.calls |= functions::is_of_catalog(&name);
    }
}

/// Whether a query is about the catalog and the session only.
pub fn is_of_catalog(query: &Query) -> bool {
    let mut finder = Finder::default();
    let _ = Visit::visit(query, &mut finder);
    let is_known = |name: &Vec<String>| match &name[..] {
        [name] if finder.with.contains(name) => None,
        [name] => Some(name.starts_with("pg_") && relations::find(None, name).is_some()),
        [schema, _] | [_, schema, _] => Some(schema == "pg_catalog" || schema == "information_schema"),
        _ => Some(false),
    };
    let known: Vec<bool> = finder.names.iter().filter_map(is_known).collect();
    if known.is_empty() {
        finder.gives_rows || finder.calls && !finder.foreign
    } else {
        known.iter().all(|known| *known)
    }
}
