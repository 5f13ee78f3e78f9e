//! Definitions of tables.

use std::collections::BTreeMap;

use sqlparser::ast::{
    ColumnDef, CreateTable, CreateTableOptions, DataType as SqlType, Expr as SqlExpr, OnCommit, SqlOption,
    Value as SqlValue,
};
use weft_expr::Local;
use weft_format::{Code, Column, Error, Result, Schema};
use weft_kernel::{NewTable, Transaction};

use super::building::{Building, DEFAULT_METHOD, check_column_name, check_default_life};
use super::foreign_keys;
use super::like::Copied;
use super::pieces::{NewUnique, ON_COMMIT, check_length, unsupported};
use super::sequence::NewSequence;
use crate::notice::Notice;
use crate::outcome::OutputColumn;
use crate::parse::{fold, like_of, table_name};

/// The most columns of a table, as in PostgreSQL.
const COLUMNS_MAX: usize = 1600;

/// What a CREATE TABLE asks for.
pub(crate) struct Asked {
    pub(crate) table: NewTable,
    pub(crate) uniques: Vec<NewUnique>,
    /// Of serial and identity columns.
    pub(crate) sequences: Vec<NewSequence>,
    pub(crate) notices: Vec<Notice>,
    /// What LIKE takes over when the table is there.
    pub(crate) copies: Vec<Copied>,
}

/// The definition that a CREATE TABLE with columns asks for, and its UNIQUE constraints. The transaction knows the
/// tables that it refers to.
pub(crate) fn new_table(
    txn: &Transaction,
    create: &CreateTable,
    method: Option<&str>,
    source: &str,
    local: &Local,
) -> Result<Asked> {
    refuse_clauses(create)?;
    let (namespace, name) = crate::resolve::creation(txn, &table_name(&create.name)?)?;
    let mut building = Building::new(name, source);
    check_length(&building.name)?;
    if create.columns.len() > COLUMNS_MAX {
        let (name, count) = (&building.name, create.columns.len());
        let error =
            Error::new(Code::ProgramLimit, format!("table \"{name}\" has {count} columns, more than {COLUMNS_MAX}"));
        return Err(error.hint("split it into several tables"));
    }
    let mut copies = Vec::new();
    for column in &create.columns {
        match like_of(column)? {
            Some(like) => copies.push(super::like::copy(txn, &like, &mut building)?),
            None => building.column_in(txn, column)?,
        }
    }
    for constraint in &create.constraints {
        building.constraint(constraint)?;
    }
    let (uniques, sequences) = (building.take_uniques(), building.take_sequences());
    let foreign_keys = std::mem::take(&mut building.foreign_keys);
    let mut table = building.finish(local)?;
    table.namespace = namespace;
    table.defaults.iter().flatten().try_for_each(|default| check_default_life(txn, namespace, default))?;
    let (method, options, notices) = storage_of(create, method)?;
    (table.method, table.options) = (method, options);
    table.properties.extend(on_commit(create));
    foreign_keys::resolve(txn, &mut table, &uniques, foreign_keys)?;
    Ok(Asked { table, uniques, sequences, notices, copies })
}

/// Makes a table with its sequences and unique indexes.
pub(crate) fn create_asked(txn: &mut Transaction, asked: Asked, local: &Local) -> Result<()> {
    let Asked { mut table, uniques, sequences, copies, .. } = asked;
    let mut made = Vec::with_capacity(sequences.len());
    for new in &sequences {
        let column = table.schema.columns[new.ordinal].name.clone();
        let sequence = super::sequence::make(txn, table.namespace, &table.name, &column, new)?;
        table.defaults[new.ordinal] = Some(super::sequence::default_text(txn, &sequence));
        if let Some(always) = new.identity {
            let (key, value) = super::sequence::identity_property(new.ordinal, always);
            table.properties.insert(key, value);
        }
        made.push(sequence);
    }
    crate::types::hold_columns(txn, &table.schema)?;
    let table = txn.create_table(table)?;
    for (new, sequence) in sequences.iter().zip(&made) {
        super::sequence::own(txn, sequence, &table.def, new.ordinal)?;
    }
    super::index::create_uniques(txn, &table, uniques)?;
    copies.iter().try_for_each(|copied| copied.finish(txn, &table, local))
}

/// The definition that a CREATE TABLE AS asks for: the query's columns, with the names given before AS.
pub(crate) fn table_of_query(
    txn: &Transaction,
    create: &CreateTable,
    method: Option<&str>,
    query: &[OutputColumn],
) -> Result<(NewTable, Vec<Notice>)> {
    refuse_clauses(create)?;
    let is_bare = |column: &ColumnDef| column.data_type == SqlType::Unspecified && column.options.is_empty();
    if !create.columns.iter().all(is_bare) || !create.constraints.is_empty() {
        return Err(Error::new(
            Code::SyntaxError,
            "CREATE TABLE AS takes column names only, without types and constraints",
        ));
    }
    if create.columns.len() > query.len() {
        return Err(Error::new(Code::SyntaxError, "CREATE TABLE AS names more columns than the query has"));
    }
    let mut columns: Vec<Column> = Vec::with_capacity(query.len());
    for (index, output) in query.iter().enumerate() {
        let name = create.columns.get(index).map_or_else(|| output.name.clone(), |column| fold(&column.name));
        check_column_name(&name, &columns)?;
        columns.push(Column { name, data_type: output.data_type, not_null: false });
    }
    let (namespace, name) = crate::resolve::creation(txn, &table_name(&create.name)?)?;
    let (method, options, notices) = storage_of(create, method)?;
    let mut table = NewTable::new(name, Schema::new(columns, Vec::new()), method);
    (table.options, table.namespace) = (options, namespace);
    table.properties.extend(on_commit(create));
    Ok((table, notices))
}

fn on_commit(create: &CreateTable) -> Option<(String, String)> {
    let what = match create.on_commit.as_ref()? {
        OnCommit::DeleteRows => "delete",
        OnCommit::Drop => "drop",
        OnCommit::PreserveRows => return None,
    };
    Some((ON_COMMIT.to_owned(), what.to_owned()))
}

fn options_of(options: &CreateTableOptions) -> Result<BTreeMap<String, String>> {
    let mut map = BTreeMap::new();
    let list = match options {
        CreateTableOptions::None => return Ok(map),
        CreateTableOptions::With(list) => list,
        other => return Err(unsupported(&other.to_string())),
    };
    map.extend(options_in(list)?);
    Ok(map)
}

/// The options in parentheses, by name.
pub(super) fn options_in(list: &[SqlOption]) -> Result<BTreeMap<String, String>> {
    let mut map = BTreeMap::new();
    for option in list {
        let SqlOption::KeyValue { key, value } = option else {
            return Err(Error::new(Code::SyntaxError, format!("WITH takes name = value, not {option}")));
        };
        let text = match value {
            SqlExpr::Value(value) => match &value.value {
                SqlValue::Boolean(truth) => truth.to_string(),
                SqlValue::Number(digits, _) => digits.clone(),
                other => other.clone().into_string().unwrap_or_else(|| other.to_string()),
            },
            SqlExpr::Identifier(ident) => fold(ident),
            other => other.to_string(),
        };
        map.insert(fold(key), text);
    }
    Ok(map)
}

/// Parameters of PostgreSQL's storage, which mean nothing here.
const FOREIGN_OPTIONS: &[&str] =
    &["fillfactor", "parallel_workers", "user_catalog_table", "vacuum_index_cleanup", "vacuum_truncate"];

type Storage = (String, BTreeMap<String, String>, Vec<Notice>);

/// Method and options of a table; what is PostgreSQL's alone is left out, with a notice.
fn storage_of(create: &CreateTable, method: Option<&str>) -> Result<Storage> {
    let mut notices = Vec::new();
    let method = match method {
        Some(heap @ "heap") => {
            notices.push(Notice::plain(format!("table method \"{heap}\" is \"{DEFAULT_METHOD}\" here")));
            DEFAULT_METHOD
        }
        other => other.unwrap_or(DEFAULT_METHOD),
    };
    let mut options = options_of(&create.table_options)?;
    options.retain(|name, _| {
        let is_foreign = FOREIGN_OPTIONS.contains(&name.as_str())
            || ["autovacuum_", "toast.", "toast_", "log_autovacuum"].iter().any(|prefix| name.starts_with(prefix));
        if is_foreign {
            notices.push(Notice::plain(format!("storage parameter \"{name}\" has no effect")));
        }
        !is_foreign
    });
    Ok((method.to_owned(), options, notices))
}

fn refuse_clauses(create: &CreateTable) -> Result<()> {
    let clauses = [
        (create.or_replace, "OR REPLACE"),
        (create.external, "EXTERNAL"),
        (create.transient || create.volatile || create.global.is_some(), "a kind of table other than plain"),
        (create.like.is_some(), "LIKE"),
        (create.clone.is_some(), "CLONE"),
        (create.inherits.is_some(), "INHERITS"),
        (create.partition_by.is_some() || create.partition_of.is_some(), "PARTITION"),
        (create.on_cluster.is_some() || create.order_by.is_some() || create.cluster_by.is_some(), "clustering"),
        (create.without_rowid || create.strict, "WITHOUT ROWID or STRICT"),
        (create.comment.is_some(), "COMMENT"),
        (create.default_ddl_collation.is_some(), "COLLATE"),
        (create.file_format.is_some() || create.location.is_some(), "STORED AS"),
    ];
    match clauses.iter().find(|(found, _)| *found) {
        Some((_, what)) => Err(unsupported(what)),
        None => Ok(()),
    }
}
