//! Definitions of indexes.

use sqlparser::ast::{
    CreateIndex, Expr as SqlExpr, IndexColumn, IndexType, NullsDistinctOption, OrderByOptions, UniqueConstraint,
};
use weft_expr::Local;
use weft_format::{Code, Error, Result};
use weft_kernel::index::{NewColumnIndex, NewIndex};
use weft_kernel::{TableRef, Transaction};

use super::index_parts::{part_name, part_of};
use super::pieces::{NewUnique, check_length, free_name, ordinal_of, place, refused};
use crate::parse::{fold, table_name};
use crate::row::{TableShape, index_predicate};

/// The most columns of an index, as in PostgreSQL.
const INDEX_COLUMNS_MAX: usize = 32;

/// An index to be made: of entries, or of columns.
pub(crate) enum AnyIndex {
    Entries(NewIndex),
    Columns(NewColumnIndex),
}

impl AnyIndex {
    /// Its name.
    pub(crate) fn name(&self) -> &str {
        match self {
            AnyIndex::Entries(new) => &new.name,
            AnyIndex::Columns(new) => &new.name,
        }
    }
}

/// The method of column indexes, as CREATE INDEX names it.
const COLUMNS: &str = "columns";

/// The index that a CREATE INDEX of a session asks for; `is_taken` says whether a table or an index has a name.
pub(crate) fn new_index(
    create: &CreateIndex,
    method: Option<&str>,
    table: &TableRef,
    source: &str,
    local: &Local,
    is_taken: &dyn Fn(&str) -> bool,
) -> Result<AnyIndex> {
    let in_parser = match &create.using {
        None | Some(IndexType::BTree) => None,
        Some(other) => Some(other.to_string().to_lowercase()),
    };
    let method = in_parser.as_deref().or(method);
    if method == Some(COLUMNS) {
        return column_index(create, table, source, is_taken).map(AnyIndex::Columns);
    }
    refuse_clauses(create, method)?;
    let shape = TableShape::bind(table)?;
    let mut parts = Vec::with_capacity(create.columns.len());
    for column in &create.columns {
        let part = part_of(column, &shape, source)?;
        // A column that comes again orders nothing.
        if !parts.contains(&part) {
            parts.push(part);
        }
    }
    let mut include = Vec::with_capacity(create.include.len());
    for ident in &create.include {
        include.push(ordinal_of(table, &fold(ident)).map_err(|error| place(error, source, ident.span))?);
    }
    check_width(create.columns.len() + include.len())?;
    let predicate = match &create.predicate {
        Some(selection) => index_predicate(selection, table, source, local)?,
        None => Vec::new(),
    };
    let name = match &create.name {
        Some(name) => table_name(name)?,
        None => free_name(&index_base(table, create), "idx", is_taken),
    };
    check_length(&name)?;
    Ok(AnyIndex::Entries(NewIndex { include, predicate, ..NewIndex::on(name, parts, create.unique) }))
}

/// `CREATE INDEX ... USING columns (a, b)`: which columns of the rows are kept as columns beside the table.
fn column_index(
    create: &CreateIndex,
    table: &TableRef,
    source: &str,
    is_taken: &dyn Fn(&str) -> bool,
) -> Result<NewColumnIndex> {
    let lacks = |what: &str| Error::new(Code::FeatureNotSupported, format!("access method \"{COLUMNS}\" {what}"));
    if create.concurrently {
        return Err(lacks("does not support CONCURRENTLY").hint("writers wait until it is made: leave it out"));
    }
    if create.unique {
        return Err(lacks("does not support unique indexes").hint("uniqueness is kept by an index of its own"));
    }
    if !create.include.is_empty() {
        return Err(lacks("does not support included columns").hint("name them among the columns"));
    }
    if create.predicate.is_some() {
        return Err(lacks("does not support a condition").hint("it has all rows: leave WHERE out"));
    }
    refuse_options(create)?;
    let mut columns = Vec::with_capacity(create.columns.len());
    for column in &create.columns {
        let SqlExpr::Identifier(ident) = &column.column.expr else {
            return Err(lacks("does not support expressions").hint("name the columns that they read"));
        };
        if column.operator_class.is_some() || column.column.options != OrderByOptions::default() {
            return Err(lacks("does not support ASC, DESC, NULLS and operator classes").hint("leave them out"));
        }
        let ordinal = ordinal_of(table, &fold(ident)).map_err(|error| place(error, source, ident.span))?;
        if !columns.contains(&ordinal) {
            columns.push(ordinal);
        }
    }
    let name = match &create.name {
        Some(name) => table_name(name)?,
        None => free_name(&index_base(table, create), "idx", is_taken),
    };
    check_length(&name)?;
    Ok(NewColumnIndex::new(name, columns))
}

fn refuse_clauses(create: &CreateIndex, method: Option<&str>) -> Result<()> {
    match method {
        None | Some("btree") => {}
        Some(known @ ("hash" | "gist" | "gin" | "brin" | "spgist")) => {
            return Err(refused(&format!("USING {known}")).hint("USING btree, or leave USING out"));
        }
        Some(other) => {
            let message = format!("access method \"{other}\" does not exist");
            return Err(Error::new(Code::UndefinedObject, message).hint("indexes have the method btree or columns"));
        }
    }
    refuse_options(create)
}

fn refuse_options(create: &CreateIndex) -> Result<()> {
    let clauses = [
        (create.nulls_distinct == Some(false), "NULLS NOT DISTINCT", "declare the columns NOT NULL"),
        (!create.with.is_empty(), "WITH", "leave it out"),
        (!create.index_options.is_empty() || !create.alter_options.is_empty(), "this option", "leave it out"),
    ];
    match clauses.iter().find(|(found, ..)| *found) {
        Some((_, what, remedy)) => Err(refused(what).hint(*remedy)),
        None => Ok(()),
    }
}

/// The column that an item of a UNIQUE constraint's list names.
fn column_of(column: &IndexColumn) -> Result<String> {
    if let Some(class) = &column.operator_class {
        return Err(refused(&format!("the operator class {class}")).hint("text is indexed by its bytes: leave it out"));
    }
    match &column.column.expr {
        SqlExpr::Identifier(ident) => Ok(fold(ident)),
        other => {
            let error = Error::new(Code::SyntaxError, format!("syntax error at or near \"{other}\""));
            Err(error.hint("a constraint is on columns: make a unique index on the expression"))
        }
    }
}

fn check_width(columns: usize) -> Result<()> {
    if columns <= INDEX_COLUMNS_MAX {
        return Ok(());
    }
    Err(Error::new(Code::ProgramLimit, format!("cannot use more than {INDEX_COLUMNS_MAX} columns in an index"))
        .hint("leave out the last ones: readers test every condition again on the row"))
}

/// `t_a_b` for an index on a and b, or on a that includes b, `t_lower_expr` for one on lower(a) and a + 1; a name that
/// comes twice is told apart as PostgreSQL does.
fn index_base(table: &TableRef, create: &CreateIndex) -> String {
    let listed = create.columns.iter().map(part_name);
    let mut names: Vec<String> = Vec::new();
    for name in listed.chain(create.include.iter().map(fold)) {
        let numbered = (1..).map(|number| format!("{name}{number}"));
        let mut free = std::iter::once(name.clone()).chain(numbered).filter(|name| !names.contains(name));
        let free = free.next().expect("some number is free");
        names.push(free);
    }
    format!("{}_{}", table.def.name, names.join("_"))
}

/// The columns that a UNIQUE table constraint names, and its name.
pub(super) fn unique_columns(unique: &UniqueConstraint) -> Result<(Option<String>, Vec<String>)> {
    check_unique(unique)?;
    check_width(unique.columns.len())?;
    let columns = unique.columns.iter().map(column_of).collect::<Result<Vec<String>>>()?;
    Ok((unique.name.as_ref().map(fold), columns))
}

/// Refuses what a UNIQUE constraint cannot have.
pub(super) fn check_unique(unique: &UniqueConstraint) -> Result<()> {
    let is_deferred = unique.characteristics.as_ref().is_some_and(|characteristics| {
        characteristics.deferrable == Some(true)
            || characteristics.initially == Some(sqlparser::ast::DeferrableInitial::Deferred)
    });
    let clauses = [
        (is_deferred, "a DEFERRABLE UNIQUE constraint", "it is tested by each statement: leave DEFERRABLE out"),
        (
            unique.nulls_distinct == NullsDistinctOption::NotDistinct,
            "UNIQUE NULLS NOT DISTINCT",
            "declare the columns NOT NULL",
        ),
        (
            unique.index_type.is_some() || unique.index_name.is_some() || !unique.index_options.is_empty(),
            "an index option of UNIQUE",
            "write UNIQUE (columns)",
        ),
    ];
    match clauses.iter().find(|(found, ..)| *found) {
        Some((_, what, remedy)) => {
            Err(Error::new(Code::FeatureNotSupported, format!("{what} is not supported")).hint(*remedy))
        }
        None => Ok(()),
    }
}

/// Makes the indexes of UNIQUE constraints.
pub(crate) fn create_uniques(txn: &mut Transaction, table: &TableRef, uniques: Vec<NewUnique>) -> Result<()> {
    let namespace = table.def.namespace;
    for NewUnique { name, columns } in uniques {
        let name = name.unwrap_or_else(|| {
            let schema = &table.def.schema;
            let names: Vec<&str> = columns.iter().map(|&ordinal| schema.columns[ordinal].name.as_str()).collect();
            let is_taken = |name: &str| {
                crate::resolve::is_taken(txn, namespace, name) || table.def.primary_key.as_deref() == Some(name)
            };
            free_name(&format!("{}_{}", table.def.name, names.join("_")), "key", &is_taken)
        });
        if crate::resolve::is_taken(txn, namespace, &name) {
            let message = format!("relation \"{name}\" already exists");
            return Err(Error::new(Code::DuplicateTable, message).about(&name, None, None));
        }
        txn.create_index(table, NewIndex { constraint: true, ..NewIndex::new(name, columns, true) })?;
    }
    Ok(())
}
