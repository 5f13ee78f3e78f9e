//! Definitions of tables.

use sqlparser::ast::{
    ColumnDef, ColumnOption, CreateTable, CreateTableOptions, DataType as SqlType, Expr as SqlExpr,
    PrimaryKeyConstraint, Spanned, SqlOption, TableConstraint, Value as SqlValue,
};
use std::collections::BTreeMap;
use weft_format::schema::ROW_ID_COLUMN;
use weft_format::{Code, Column, Error, Result, Schema};
use weft_kernel::{NewTable, Transaction};

use super::foreign_keys::{self, NewForeignKey};
use super::index::{check_unique, unique_columns};
use crate::expr::{Scope, data_type_of};
use crate::outcome::OutputColumn;
use crate::parse::{fold, span_position, table_name};
use crate::row::{bind_check, bind_default};

/// The method of a table that was created without USING.
const DEFAULT_METHOD: &str = "column";

/// The most bytes of a name of a table or column.
const NAME_BYTES_MAX: usize = 255;

/// The most columns of a table, as in PostgreSQL.
const COLUMNS_MAX: usize = 1600;

/// A UNIQUE constraint: the columns' ordinals, and the name if it was given.
pub(crate) struct NewUnique {
    pub(crate) name: Option<String>,
    pub(crate) columns: Vec<usize>,
}

/// The definition that a CREATE TABLE with columns asks for, and its UNIQUE constraints. The transaction knows the
/// tables that it refers to.
pub(crate) fn new_table(
    txn: &Transaction,
    create: &CreateTable,
    method: Option<&str>,
    source: &str,
) -> Result<(NewTable, Vec<NewUnique>)> {
    refuse_clauses(create)?;
    let mut building = Building::new(table_name(&create.name)?, source);
    check_length(&building.name)?;
    if create.columns.len() > COLUMNS_MAX {
        let (name, count) = (&building.name, create.columns.len());
        let error =
            Error::new(Code::ProgramLimit, format!("table \"{name}\" has {count} columns, more than {COLUMNS_MAX}"));
        return Err(error.hint("split it into several tables"));
    }
    for column in &create.columns {
        building.column(column)?;
    }
    for constraint in &create.constraints {
        building.constraint(constraint)?;
    }
    let uniques = building.take_uniques();
    let foreign_keys = std::mem::take(&mut building.foreign_keys);
    let mut table = building.finish()?;
    table.method = method.unwrap_or(DEFAULT_METHOD).into();
    table.options = options_of(&create.table_options)?;
    foreign_keys::resolve(txn, &mut table, &uniques, foreign_keys)?;
    Ok((table, uniques))
}

/// The definition that a CREATE TABLE AS asks for: the query's columns, with the names given before AS.
pub(crate) fn table_of_query(create: &CreateTable, method: Option<&str>, query: &[OutputColumn]) -> Result<NewTable> {
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
    let method = method.unwrap_or(DEFAULT_METHOD);
    let mut table = NewTable::new(table_name(&create.name)?, Schema::new(columns, Vec::new()), method);
    table.options = options_of(&create.table_options)?;
    Ok(table)
}

struct Building<'a> {
    source: &'a str,
    name: String,
    columns: Vec<Column>,
    defaults: Vec<Option<String>>,
    /// Name if given, the column it stands at, the condition.
    checks: Vec<(Option<String>, Option<String>, String)>,
    key: Option<(Option<String>, Vec<usize>)>,
    uniques: Vec<NewUnique>,
    foreign_keys: Vec<NewForeignKey>,
}

impl<'a> Building<'a> {
    fn new(name: String, source: &'a str) -> Building<'a> {
        let (columns, defaults, checks, uniques, foreign_keys) = Default::default();
        Building { source, name, columns, defaults, checks, key: None, uniques, foreign_keys }
    }

    fn column(&mut self, column: &ColumnDef) -> Result<()> {
        let name = fold(&column.name);
        check_column_name(&name, &self.columns).map_err(|error| self.place(error, column.name.span))?;
        let data_type = data_type_of(&column.data_type).map_err(|error| self.place(error, column.name.span))?;
        let ordinal = self.columns.len();
        self.columns.push(Column { name: name.clone(), data_type, not_null: false });
        self.defaults.push(None);
        let mut nullable = false;
        for option in &column.options {
            let constraint_name = option.name.as_ref().map(fold);
            match &option.option {
                ColumnOption::Null => nullable = true,
                ColumnOption::NotNull => self.columns[ordinal].not_null = true,
                ColumnOption::Default(expr) => self.defaults[ordinal] = Some(expr.to_string()),
                ColumnOption::PrimaryKey(key) => {
                    let name = constraint_name.or_else(|| key.name.as_ref().map(fold));
                    self.primary_key(name, vec![ordinal])?;
                }
                ColumnOption::Check(check) => {
                    let given = constraint_name.or_else(|| check.name.as_ref().map(fold));
                    self.checks.push((given, Some(name.clone()), check.expr.to_string()));
                }
                ColumnOption::Unique(unique) => {
                    check_unique(unique).map_err(|error| self.place(error, column.name.span))?;
                    let name = constraint_name.or_else(|| unique.name.as_ref().map(fold));
                    self.uniques.push(NewUnique { name, columns: vec![ordinal] });
                }
                ColumnOption::ForeignKey(clause) => {
                    let name = constraint_name.or_else(|| clause.name.as_ref().map(fold));
                    let new = NewForeignKey::new(name, vec![ordinal], clause);
                    self.foreign_keys.push(new.map_err(|error| self.place(error, column.name.span))?);
                }
                other => return Err(self.unsupported_option(other, column)),
            }
        }
        if nullable && self.columns[ordinal].not_null {
            let message =
                format!("conflicting NULL/NOT NULL declarations for column \"{name}\" of table \"{}\"", self.name);
            return Err(self.place(Error::new(Code::SyntaxError, message), column.name.span));
        }
        Ok(())
    }

    fn constraint(&mut self, constraint: &TableConstraint) -> Result<()> {
        match constraint {
            TableConstraint::PrimaryKey(key) => {
                let ordinals = self.key_columns(key)?;
                self.primary_key(key.name.as_ref().map(fold), ordinals)
            }
            TableConstraint::Check(check) => {
                self.checks.push((check.name.as_ref().map(fold), None, check.expr.to_string()));
                Ok(())
            }
            TableConstraint::Unique(unique) => {
                let (name, columns) = unique_columns(unique).map_err(|error| self.place(error, constraint.span()))?;
                let names = columns.iter().map(String::as_str);
                let columns = self.constraint_columns(names, "unique", constraint.span())?;
                self.uniques.push(NewUnique { name, columns });
                Ok(())
            }
            TableConstraint::ForeignKey(clause) => {
                let names: Vec<String> = clause.columns.iter().map(fold).collect();
                let columns =
                    self.constraint_columns(names.iter().map(String::as_str), "foreign key", clause.span())?;
                let new = NewForeignKey::new(clause.name.as_ref().map(fold), columns, clause);
                self.foreign_keys.push(new.map_err(|error| self.place(error, clause.span()))?);
                Ok(())
            }
            other => Err(self.place(unsupported("this table constraint"), other.span())),
        }
    }

    fn key_columns(&self, key: &PrimaryKeyConstraint) -> Result<Vec<usize>> {
        let mut names = Vec::with_capacity(key.columns.len());
        for column in &key.columns {
            let SqlExpr::Identifier(ident) = &column.column.expr else {
                return Err(self.place(unsupported("a PRIMARY KEY over an expression"), key.span()));
            };
            names.push(fold(ident));
        }
        self.constraint_columns(names.iter().map(String::as_str), "primary key", key.span())
    }

    /// The ordinals of the columns that a constraint names.
    fn constraint_columns<'n>(
        &self,
        names: impl Iterator<Item = &'n str>,
        kind: &str,
        span: sqlparser::tokenizer::Span,
    ) -> Result<Vec<usize>> {
        let mut ordinals = Vec::new();
        for name in names {
            let ordinal = self.columns.iter().position(|known| known.name == name).ok_or_else(|| {
                let message = format!("column \"{name}\" named in key does not exist");
                self.place(Error::new(Code::UndefinedColumn, message), span)
            })?;
            if ordinals.contains(&ordinal) {
                let message = format!("column \"{name}\" appears twice in {kind} constraint");
                return Err(self.place(Error::new(Code::DuplicateColumn, message), span));
            }
            ordinals.push(ordinal);
        }
        Ok(ordinals)
    }

    /// The UNIQUE constraints, without those that say what the primary key or an earlier one says. As in PostgreSQL,
    /// the one that stays takes the name if it has none.
    fn take_uniques(&mut self) -> Vec<NewUnique> {
        let mut kept: Vec<NewUnique> = Vec::with_capacity(self.uniques.len());
        for unique in std::mem::take(&mut self.uniques) {
            let same = kept.iter_mut().find(|known| known.columns == unique.columns).map(|known| &mut known.name);
            let same_key = self.key.as_mut().filter(|(_, key)| *key == unique.columns).map(|(name, _)| name);
            match same_key.or(same) {
                Some(name) => *name = name.take().or(unique.name),
                None => kept.push(unique),
            }
        }
        kept
    }

    fn primary_key(&mut self, name: Option<String>, ordinals: Vec<usize>) -> Result<()> {
        if self.key.is_some() {
            let message = format!("multiple primary keys for table \"{}\" are not allowed", self.name);
            return Err(Error::new(Code::InvalidTableDefinition, message));
        }
        self.key = Some((name, ordinals));
        Ok(())
    }

    fn finish(self) -> Result<NewTable> {
        if self.columns.is_empty() {
            let message = format!("table \"{}\" has no columns", self.name);
            return Err(Error::new(Code::InvalidTableDefinition, message).hint("give it at least one"));
        }
        for (column, default) in self.columns.iter().zip(&self.defaults) {
            if let Some(default) = default {
                bind_default(default, column)?;
            }
        }
        let names = self.columns.iter().map(|column| (column.name.as_str(), column.data_type));
        let scope = Scope::empty().with(&self.name, names);
        let mut checks: Vec<(String, String)> = Vec::with_capacity(self.checks.len());
        for (given, column, condition) in self.checks {
            bind_check(&condition, &scope)?;
            let name = match given {
                Some(name) if checks.iter().any(|(known, _)| *known == name) => {
                    let message = format!("constraint \"{name}\" for relation \"{}\" already exists", self.name);
                    return Err(Error::new(Code::InvalidTableDefinition, message));
                }
                Some(name) => name,
                None => free_name(&self.name, column.as_deref(), &checks),
            };
            checks.push((name, condition));
        }
        let (key_name, key) = match self.key {
            Some((name, key)) => (Some(name.unwrap_or_else(|| format!("{}_pkey", self.name))), key),
            None => (None, Vec::new()),
        };
        let mut table = NewTable::new(self.name, Schema::new(self.columns, key), DEFAULT_METHOD);
        table.defaults = self.defaults;
        table.checks = checks;
        table.primary_key = key_name;
        Ok(table)
    }

    fn place(&self, error: Error, span: sqlparser::tokenizer::Span) -> Error {
        match span_position(self.source, span) {
            Some(position) if error.position().is_none() => error.at(position),
            _ => error,
        }
    }

    fn unsupported_option(&self, option: &ColumnOption, column: &ColumnDef) -> Error {
        let what = match option {
            ColumnOption::Generated { .. } | ColumnOption::Identity(_) => "GENERATED".into(),
            ColumnOption::Collation(_) => "COLLATE".into(),
            other => other.to_string(),
        };
        self.place(unsupported(&what), column.name.span)
    }
}

/// `t_price_check`, `t_check`, with a number when it is taken.
fn free_name(table: &str, column: Option<&str>, checks: &[(String, String)]) -> String {
    let base = column.map_or_else(|| format!("{table}_check"), |column| format!("{table}_{column}_check"));
    let is_free = |name: &str| checks.iter().all(|(known, _)| known != name);
    let numbered = (1..).map(|number| format!("{base}{number}"));
    std::iter::once(base.clone()).chain(numbered).find(|name| is_free(name)).expect("some number is free")
}

pub(super) fn check_length(name: &str) -> Result<()> {
    if name.len() <= NAME_BYTES_MAX {
        return Ok(());
    }
    let message =
        format!("a name is longer than {NAME_BYTES_MAX} bytes: \"{}...\"", &name[..name.floor_char_boundary(63)]);
    Err(Error::new(Code::ProgramLimit, message).hint("choose a shorter one"))
}

fn check_column_name(name: &str, columns: &[Column]) -> Result<()> {
    check_length(name)?;
    if columns.iter().any(|known| known.name == name) {
        return Err(Error::new(Code::DuplicateColumn, format!("column \"{name}\" specified more than once")));
    }
    if name == ROW_ID_COLUMN {
        return Err(Error::new(Code::InvalidTableDefinition, format!("the column name \"{name}\" is reserved")));
    }
    Ok(())
}

fn options_of(options: &CreateTableOptions) -> Result<BTreeMap<String, String>> {
    let mut map = BTreeMap::new();
    let list = match options {
        CreateTableOptions::None => return Ok(map),
        CreateTableOptions::With(list) => list,
        other => return Err(unsupported(&other.to_string())),
    };
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

pub(super) fn unsupported(what: &str) -> Error {
    Error::new(Code::FeatureNotSupported, format!("{what} is not supported in CREATE TABLE"))
}

fn refuse_clauses(create: &CreateTable) -> Result<()> {
    let clauses = [
        (create.or_replace, "OR REPLACE"),
        (create.temporary, "TEMPORARY"),
        (create.external, "EXTERNAL"),
        (create.transient || create.volatile || create.global.is_some(), "a kind of table other than plain"),
        (create.like.is_some(), "LIKE"),
        (create.clone.is_some(), "CLONE"),
        (create.inherits.is_some(), "INHERITS"),
        (create.partition_by.is_some() || create.partition_of.is_some(), "PARTITION"),
        (create.on_commit.is_some(), "ON COMMIT"),
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
