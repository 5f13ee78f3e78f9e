//! Definitions of tables.

use sqlparser::ast::{
    ColumnDef, ColumnOption, CreateTable, CreateTableOptions, DataType as SqlType, Expr as SqlExpr, GeneratedAs,
    PrimaryKeyConstraint, Spanned, SqlOption, TableConstraint, Value as SqlValue,
};
use std::collections::BTreeMap;
use weft_expr::Local;
use weft_format::schema::ROW_ID_COLUMN;
use weft_format::{Code, Column, DataType, Error, Result, Schema};
use weft_kernel::{NewTable, TableDef, Transaction};

use super::foreign_keys::{self, NewForeignKey};
use super::index::{check_unique, unique_columns};
use super::pieces::{NewUnique, check_length, unsupported};
use super::sequence::NewSequence;
use crate::expr::{Scope, data_type_of, sequence_call};
use crate::notice::Notice;
use crate::outcome::OutputColumn;
use crate::parse::{fold, span_position, table_name};
use crate::row::{stored_check, stored_default};

/// The method of a table that was created without USING.
const DEFAULT_METHOD: &str = "column";

/// The most columns of a table, as in PostgreSQL.
const COLUMNS_MAX: usize = 1600;

/// What a CREATE TABLE asks for.
pub(crate) struct Asked {
    pub(crate) table: NewTable,
    pub(crate) uniques: Vec<NewUnique>,
    /// Of serial and identity columns.
    pub(crate) sequences: Vec<NewSequence>,
    pub(crate) notices: Vec<Notice>,
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
    for column in &create.columns {
        building.column(column)?;
    }
    for constraint in &create.constraints {
        building.constraint(constraint)?;
    }
    let (uniques, sequences) = (building.take_uniques(), building.take_sequences());
    let foreign_keys = std::mem::take(&mut building.foreign_keys);
    let mut table = building.finish(local)?;
    table.namespace = namespace;
    let (method, options, notices) = storage_of(create, method)?;
    (table.method, table.options) = (method, options);
    foreign_keys::resolve(txn, &mut table, &uniques, foreign_keys)?;
    Ok(Asked { table, uniques, sequences, notices })
}

/// Makes a table with its sequences and unique indexes.
pub(crate) fn create_asked(txn: &mut Transaction, asked: Asked) -> Result<()> {
    let Asked { mut table, uniques, sequences, .. } = asked;
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
    let table = txn.create_table(table)?;
    for (new, sequence) in sequences.iter().zip(&made) {
        super::sequence::own(txn, sequence, &table.def, new.ordinal)?;
    }
    super::index::create_uniques(txn, &table, uniques)
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
    Ok((table, notices))
}

/// What a column definition or a constraint adds to a table that is there.
pub(super) struct Added {
    pub(super) column: Column,
    pub(super) default: Option<String>,
    pub(super) checks: Vec<(Option<String>, Option<String>, String)>,
    pub(super) key: Option<(Option<String>, Vec<usize>)>,
    pub(super) uniques: Vec<NewUnique>,
    pub(super) foreign_keys: Vec<NewForeignKey>,
}

pub(super) struct Building<'a> {
    source: &'a str,
    name: String,
    columns: Vec<Column>,
    defaults: Vec<Option<String>>,
    /// Name if given, the column it stands at, the condition.
    checks: Vec<(Option<String>, Option<String>, String)>,
    key: Option<(Option<String>, Vec<usize>)>,
    uniques: Vec<NewUnique>,
    foreign_keys: Vec<NewForeignKey>,
    sequences: Vec<NewSequence>,
}

impl<'a> Building<'a> {
    fn new(name: String, source: &'a str) -> Building<'a> {
        let (columns, defaults, checks, uniques, foreign_keys, sequences) = Default::default();
        Building { source, name, columns, defaults, checks, key: None, uniques, foreign_keys, sequences }
    }

    /// What is added to a table: its columns are known, hidden ones under names that nobody writes.
    pub(super) fn of(def: &TableDef, source: &'a str) -> Building<'a> {
        let mut building = Building::new(def.name.clone(), source);
        building.columns = def.schema.columns.clone();
        if let Some(row_id) = def.schema.row_id() {
            building.columns[row_id].name.clear();
        }
        building.defaults = vec![None; building.columns.len()];
        building
    }

    pub(super) fn take_sequences(&mut self) -> Vec<NewSequence> {
        std::mem::take(&mut self.sequences)
    }

    /// What was added to a table that had so many columns.
    pub(super) fn added(mut self, count: usize) -> Added {
        let uniques = self.take_uniques();
        let none = || Column { name: String::new(), data_type: weft_format::DataType::Text, not_null: false };
        Added {
            column: self.columns.get(count).cloned().unwrap_or_else(none),
            default: self.defaults.get(count).cloned().flatten(),
            checks: self.checks,
            key: self.key,
            uniques,
            foreign_keys: self.foreign_keys,
        }
    }

    /// A column takes its numbers from a sequence.
    fn number(
        &mut self,
        ordinal: usize,
        options: &[sqlparser::ast::SequenceOptions],
        identity: Option<bool>,
    ) -> Result<()> {
        let Column { name, data_type, .. } = self.columns[ordinal].clone();
        if !matches!(data_type, DataType::SmallInt | DataType::Integer | DataType::BigInt) {
            let message = "identity column type must be smallint, integer, or bigint";
            return Err(Error::new(Code::InvalidParameterValue, message).about(&self.name, Some(&name), None));
        }
        let is_numbered = self.sequences.iter().any(|sequence| sequence.ordinal == ordinal);
        if is_numbered || self.defaults[ordinal].is_some() {
            let what = if identity.is_some() { "both default and identity" } else { "multiple default values" };
            let message = format!("{what} specified for column \"{name}\" of table \"{}\"", self.name);
            return Err(Error::new(Code::SyntaxError, message));
        }
        self.columns[ordinal].not_null = true;
        self.sequences.push(NewSequence { ordinal, data_type, options: options.to_vec(), identity });
        Ok(())
    }

    pub(super) fn column(&mut self, column: &ColumnDef) -> Result<()> {
        let name = fold(&column.name);
        check_column_name(&name, &self.columns).map_err(|error| self.place(error, column.name.span))?;
        let serial = serial_type(&column.data_type);
        let data_type = match serial {
            Some(data_type) => data_type,
            None => data_type_of(&column.data_type).map_err(|error| self.place(error, column.name.span))?,
        };
        let ordinal = self.columns.len();
        self.columns.push(Column { name: name.clone(), data_type, not_null: false });
        self.defaults.push(None);
        if serial.is_some() {
            self.number(ordinal, &[], None)?;
        }
        let mut nullable = false;
        for option in &column.options {
            let constraint_name = option.name.as_ref().map(fold);
            match &option.option {
                ColumnOption::Null => nullable = true,
                ColumnOption::NotNull => self.columns[ordinal].not_null = true,
                ColumnOption::Default(_) if self.sequences.iter().any(|sequence| sequence.ordinal == ordinal) => {
                    let message =
                        format!("multiple default values specified for column \"{name}\" of table \"{}\"", self.name);
                    return Err(self.place(Error::new(Code::SyntaxError, message), column.name.span));
                }
                ColumnOption::Default(expr) => self.defaults[ordinal] = Some(expr.to_string()),
                ColumnOption::Generated {
                    generated_as: generated_as @ (GeneratedAs::Always | GeneratedAs::ByDefault),
                    sequence_options,
                    generation_expr: None,
                    ..
                } => {
                    let always = matches!(generated_as, GeneratedAs::Always);
                    self.number(ordinal, sequence_options.as_deref().unwrap_or_default(), Some(always))
                        .map_err(|error| self.place(error, column.name.span))?;
                }
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

    pub(super) fn constraint(&mut self, constraint: &TableConstraint) -> Result<()> {
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
            let ordinal =
                self.columns.iter().position(|known| known.name == name && !name.is_empty()).ok_or_else(|| {
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

    fn finish(mut self, local: &Local) -> Result<NewTable> {
        if self.columns.is_empty() {
            let message = format!("table \"{}\" has no columns", self.name);
            return Err(Error::new(Code::InvalidTableDefinition, message).hint("give it at least one"));
        }
        for (column, default) in self.columns.iter().zip(&mut self.defaults) {
            if let Some(default) = default.as_mut().filter(|default| sequence_call(default).is_none()) {
                *default = stored_default(default, column, local)?;
            }
        }
        let names = self.columns.iter().map(|column| (column.name.as_str(), column.data_type));
        let scope = Scope::empty().with(&self.name, names);
        let mut checks: Vec<(String, String)> = Vec::with_capacity(self.checks.len());
        for (given, column, condition) in self.checks {
            let condition = stored_check(&condition, &scope, local)?;
            let name = match given {
                Some(name) if checks.iter().any(|(known, _)| *known == name) => {
                    let message = format!("constraint \"{name}\" for relation \"{}\" already exists", self.name);
                    return Err(Error::new(Code::InvalidTableDefinition, message));
                }
                Some(name) => name,
                None => free_check_name(&self.name, column.as_deref(), &checks),
            };
            checks.push((name, condition));
        }
        let (key_name, key) = match self.key {
            Some((name, key)) => (Some(name.unwrap_or_else(|| format!("{}_pkey", self.name))), key),
            None => (None, Vec::new()),
        };
        let mut table = NewTable::new(self.name, Schema::new(self.columns, key), DEFAULT_METHOD);
        table.defaults[..self.defaults.len()].clone_from_slice(&self.defaults);
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
pub(super) fn free_check_name(table: &str, column: Option<&str>, checks: &[(String, String)]) -> String {
    let base = column.map_or_else(|| format!("{table}_check"), |column| format!("{table}_{column}_check"));
    let is_free = |name: &str| checks.iter().all(|(known, _)| known != name);
    let numbered = (1..).map(|number| format!("{base}{number}"));
    std::iter::once(base.clone()).chain(numbered).find(|name| is_free(name)).expect("some number is free")
}

pub(super) fn check_column_name(name: &str, columns: &[Column]) -> Result<()> {
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

/// A DEFAULT for a column as it is stored.
pub(super) fn check_default(txn: &Transaction, default: &str, column: &Column, local: &Local) -> Result<String> {
    match sequence_call(default) {
        Some(name) => match crate::resolve::object(txn, weft_kernel::ObjectKind::Sequence, &name) {
            Some(_) => Ok(default.to_owned()),
            None => Err(crate::resolve::undefined(&name)),
        },
        None => stored_default(default, column, local),
    }
}

/// The type of a serial column.
fn serial_type(name: &SqlType) -> Option<DataType> {
    let SqlType::Custom(name, arguments) = name else { return None };
    if !arguments.is_empty() {
        return None;
    }
    match name.to_string().to_lowercase().as_str() {
        "smallserial" | "serial2" => Some(DataType::SmallInt),
        "serial" | "serial4" => Some(DataType::Integer),
        "bigserial" | "serial8" => Some(DataType::BigInt),
        _ => None,
    }
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
