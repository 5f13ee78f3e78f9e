//! Which queries are about the catalog, and which only have constants of it.
//!
//! ```text
//!   SELECT * FROM pg_class c JOIN pg_namespace n ON ...    Catalog: all relations are the catalog's
//!   SELECT x FROM current_schemas(true) x                  Catalog: a function of the catalog gives rows
//!   SELECT version(), 0.1 + 0.2                            Constants: version() is computed here, the rest by others
//!   SELECT quote_ident(x) FROM (VALUES ('a b')) v (x)      Catalog: the function is called for each row
//!   SELECT now()     SELECT * FROM t                       Other
//! ```
//!
//! 1. What can be put into a query as a constant is no reason to interpret the query here: an expression has one
//!    meaning, alone and beside a function of the catalog.
//! 2. A value of regclass and its like is a number that is written as a name. Other engines know neither: it is put
//!    in only where it is shown or tested for NULL.

use std::ops::ControlFlow;

use sqlparser::ast::{
    DataType, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, ObjectName, Query, Select, SelectItem,
    TableFactor, UnaryOperator, Value as SqlValue, Visitor,
};
use weft_walk::Visit;

use crate::bind::{fold, last_part, sql_type};
use crate::bind_query::with_names;
use crate::declared;
use crate::functions::{self, OF_SESSION, WITHOUT_PARENTHESES};
use crate::value::Type;

/// What a query has of the catalog.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It is one of the catalog.
    Catalog,
    /// It has constants of the catalog or the session ([`is_constant`]).
    Constants,
    /// Nothing.
    Other,
}

#[derive(Default)]
struct Finder {
    with: Vec<String>,
    names: Vec<Vec<String>>,
    calls: bool,
    /// A function that changes something or is of a table's query.
    foreign: bool,
    /// A function of the catalog gives rows.
    gives_rows: bool,
    /// How many constants are around.
    inside: usize,
    /// Something of the catalog is no constant.
    varies: bool,
    /// Constants of regclass and its like, and those of them that are shown or tested for NULL.
    named: usize,
    shown: usize,
}

impl Visitor for Finder {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        self.with.extend(with_names(query).map(fold));
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<()> {
        for item in &select.projection {
            if let SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } = item {
                self.shown += usize::from(is_named(expr));
            }
        }
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
        if self.inside > 0 {
            self.inside += usize::from(is_constant(expr));
            return ControlFlow::Continue(());
        }
        if is_constant(expr) {
            self.inside = 1;
            self.calls = true;
            self.named += usize::from(is_named(expr));
            return ControlFlow::Continue(());
        }
        match expr {
            Expr::Function(call) => {
                self.function(&call.name);
                self.varies |= functions::is_of_catalog(&last_part(&call.name));
            }
            Expr::Cast { data_type, .. } => {
                self.calls |= is_reg(data_type);
                self.varies |= is_of_catalog_only(data_type);
            }
            Expr::IsNull(inner) | Expr::IsNotNull(inner) => self.shown += usize::from(is_named(inner)),
            _ => {}
        }
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        if self.inside > 0 && is_constant(expr) {
            self.inside -= 1;
        }
        ControlFlow::Continue(())
    }
}

fn is_reg(data_type: &DataType) -> bool {
    let data_type = sql_type(data_type);
    data_type.is_reg() || data_type == Type::RegProc
}

/// Whether no engine but this knows a type.
fn is_of_catalog_only(data_type: &DataType) -> bool {
    match sql_type(data_type) {
        Type::Array(element) => matches!(*element, Type::Name | Type::Char) || element.is_reg(),
        Type::Name | Type::Char | Type::RegProc | Type::Vector(_) => true,
        other => other.is_reg(),
    }
}

fn parts(name: &ObjectName) -> Vec<String> {
    name.0.iter().filter_map(|part| part.as_ident()).map(fold).collect()
}

/// Functions of sequences and settings, which change something.
const FOREIGN: &[&str] = &["nextval", "currval", "setval", "lastval", "set_config", "pg_sleep"];

impl Finder {
    fn function(&mut self, name: &ObjectName) {
        let name = last_part(name);
        let locks = name.starts_with("pg_advisory_") || name.starts_with("pg_try_advisory_");
        self.foreign |= FOREIGN.contains(&name.as_str()) || locks;
        self.calls |= functions::is_of_catalog(&name);
    }
}

/// What a query has of the catalog.
pub fn classify(query: &Query) -> Kind {
    let mut finder = Finder::default();
    let _ = Visit::visit(query, &mut finder);
    let is_known = |name: &Vec<String>| match &name[..] {
        [name] if finder.with.contains(name) => None,
        [name] => Some(name.starts_with("pg_") && declared::find(None, name).is_some()),
        [schema, _] | [_, schema, _] => Some(schema == "pg_catalog" || schema == "information_schema"),
        _ => Some(false),
    };
    let known: Vec<bool> = finder.names.iter().filter_map(is_known).collect();
    let is_catalog = if known.is_empty() { finder.gives_rows } else { known.iter().all(|known| *known) };
    if is_catalog {
        return Kind::Catalog;
    }
    if !known.is_empty() || !finder.calls {
        return Kind::Other;
    }
    match (finder.varies || finder.named > finder.shown, finder.foreign) {
        (true, true) => Kind::Other,
        (true, false) => Kind::Catalog,
        (false, _) => Kind::Constants,
    }
}

/// Whether an expression is of the catalog or the session and has one value for the statement: a call of a function
/// with constants, `current_user`, `'t'::regclass`.
pub fn is_constant(expr: &Expr) -> bool {
    match expr {
        Expr::Nested(inner) => is_constant(inner),
        Expr::Identifier(ident) => ident.quote_style.is_none() && WITHOUT_PARENTHESES.contains(&fold(ident).as_str()),
        Expr::Cast { expr, data_type, .. } => {
            let of_catalog = is_of_catalog_only(data_type) && !matches!(sql_type(data_type), Type::Array(_));
            of_catalog && is_plain(expr) || is_simple(data_type) && is_named(expr)
        }
        Expr::Function(call) => is_constant_call(call),
        _ => false,
    }
}

fn is_constant_call(call: &Function) -> bool {
    let name = last_part(&call.name);
    if !functions::is_constant(&name) || call.over.is_some() || call.filter.is_some() {
        return false;
    }
    let FunctionArguments::List(list) = &call.args else { return matches!(call.args, FunctionArguments::None) };
    let is_fit = |expr: &Expr| if name == "pg_typeof" { has_a_type(expr) } else { is_plain(expr) };
    list.clauses.is_empty()
        && list.duplicate_treatment.is_none()
        && list.args.iter().all(|arg| matches!(arg, FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) if is_fit(expr)))
}

/// Whether an argument of a call is a constant about which all engines agree.
fn is_plain(expr: &Expr) -> bool {
    match expr {
        Expr::Nested(inner) => is_plain(inner),
        Expr::Value(value) => match &value.value {
            SqlValue::Placeholder(_) => false,
            SqlValue::Number(text, _) => text.parse::<i64>().is_ok(),
            _ => true,
        },
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => matches!(**expr, Expr::Value(_)) && is_plain(expr),
        Expr::Cast { expr, data_type, .. } if is_simple(data_type) => is_plain(expr),
        other => is_constant(other),
    }
}

fn is_simple(data_type: &DataType) -> bool {
    matches!(
        sql_type(data_type),
        Type::Bool | Type::Int2 | Type::Int4 | Type::Int8 | Type::Oid | Type::Text | Type::Varchar
    ) && !matches!(data_type, DataType::Varchar(Some(_)) | DataType::Char(_) | DataType::Character(_))
}

/// Whether the type of an expression can be asked for: it reads no column and no parameter.
fn has_a_type(expr: &Expr) -> bool {
    struct Open;
    impl Visitor for Open {
        type Break = ();
        fn pre_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
            ControlFlow::Break(())
        }
        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            let is_open = match expr {
                Expr::Identifier(_) => !is_constant(expr),
                Expr::CompoundIdentifier(_) => true,
                Expr::Value(value) => matches!(value.value, SqlValue::Placeholder(_)),
                _ => false,
            };
            if is_open { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        }
    }
    Visit::visit(expr, &mut Open).is_continue()
}

/// Whether a constant is of regclass and its like.
fn is_named(expr: &Expr) -> bool {
    match expr {
        Expr::Nested(inner) => is_named(inner),
        Expr::Cast { data_type, .. } => is_reg(data_type) && is_constant(expr),
        Expr::Function(call) => {
            let name = last_part(&call.name);
            (name == "pg_typeof" || name.starts_with("to_reg")) && is_constant_call(call)
        }
        _ => false,
    }
}

/// Whether a constant is computed when the query comes to it. One with a name of regclass and its like in quotes is
/// not:
/// such a name is looked up when the query is read.
pub fn is_computed_late(expr: &Expr) -> bool {
    struct Names;
    impl Visitor for Names {
        type Break = ();
        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            let is_name = match expr {
                Expr::Function(call) => functions::TAKING_REGCLASS.contains(&last_part(&call.name).as_str()),
                Expr::Cast { data_type, .. } => is_reg(data_type),
                _ => false,
            };
            if is_name { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        }
    }
    Visit::visit(expr, &mut Names).is_continue()
}

/// Whether a constant is of the session only: no relation of the catalog is read for it.
pub fn is_of_session(expr: &Expr) -> bool {
    struct Reads;
    impl Visitor for Reads {
        type Break = ();
        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            let is_free = match expr {
                Expr::Function(call) => OF_SESSION.contains(&last_part(&call.name).as_str()),
                Expr::Cast { data_type, .. } => !is_reg(data_type),
                _ => true,
            };
            if is_free { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        }
    }
    Visit::visit(expr, &mut Reads).is_continue()
}
