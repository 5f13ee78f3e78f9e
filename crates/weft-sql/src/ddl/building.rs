//! A table that is being defined, column by column and constraint by constraint.
//!
//! ```text
//!   id serial PRIMARY KEY, a int CHECK (a > 0), b int GENERATED ALWAYS AS (a * 2) STORED
//!     columns [id, a, b]   key [0]   sequences [of 0]   checks [(-, a, "a > 0")]   generated [(2, "a * 2")]
//! ```
//!
//! CREATE TABLE builds a whole one; ALTER TABLE builds what it adds behind the columns that are there.

use sqlparser::ast::{
    CheckConstraint, ColumnDef, ColumnOption, DataType as SqlType, Expr as SqlExpr, GeneratedAs, PrimaryKeyConstraint,
    Spanned, TableConstraint,
};
use weft_expr::Local;
use weft_format::schema::ROW_ID_COLUMN;
use weft_format::{Code, Column, DataType, Error, Result, Schema};
use weft_kernel::{NewTable, SchemaId, TableDef, Transaction};

use super::foreign_keys::NewForeignKey;
use super::generated::stored_generated;
use super::index::{check_unique, unique_columns};
use super::pieces::{NO_INHERIT, NewUnique, check_length, marked, unsupported};
use super::sequence::NewSequence;
use crate::domains::{self, Rules};
use crate::expr::{Scope, data_type_of, sequence_call};
use crate::parse::{fold, span_position};
use crate::resolve::is_temporary;
use crate::row::{generated_property, stored_check, stored_default};

/// The method of a table that was created without USING.
pub(super) const DEFAULT_METHOD: &str = "column";

/// What a column definition or a constraint adds to a table that is there.
pub(super) struct Added {
    pub(super) column: Column,
    pub(super) default: Option<String>,
    pub(super) checks: Vec<NewCheck>,
    pub(super) key: Option<(Option<String>, Vec<usize>)>,
    pub(super) uniques: Vec<NewUnique>,
    pub(super) foreign_keys: Vec<NewForeignKey>,
    pub(super) generated: Option<String>,
    pub(super) domain: Option<Rules>,
}

/// A CHECK constraint that is being made.
pub(super) struct NewCheck {
    /// If it was given.
    pub(super) name: Option<String>,
    /// The column at which it stands.
    pub(super) column: Option<String>,
    pub(super) condition: String,
    pub(super) no_inherit: bool,
}

impl NewCheck {
    fn new(name: Option<String>, column: Option<String>, check: &CheckConstraint) -> NewCheck {
        // Nothing else says that it is not enforced: that is how NO INHERIT is read.
        let no_inherit = check.enforced == Some(false);
        NewCheck { name, column, condition: check.expr.to_string(), no_inherit }
    }
}

pub(super) struct Building<'a> {
    source: &'a str,
    pub(super) name: String,
    pub(super) columns: Vec<Column>,
    pub(super) defaults: Vec<Option<String>>,
    pub(super) checks: Vec<NewCheck>,
    key: Option<(Option<String>, Vec<usize>)>,
    pub(super) uniques: Vec<NewUnique>,
    pub(super) foreign_keys: Vec<NewForeignKey>,
    pub(super) sequences: Vec<NewSequence>,
    /// Ordinals and expressions of generated columns.
    pub(super) generated: Vec<(usize, String)>,
    /// Ordinals and rules of columns of domains.
    pub(super) domains: Vec<(usize, Rules)>,
}

impl<'a> Building<'a> {
    pub(super) fn new(name: String, source: &'a str) -> Building<'a> {
        let (columns, defaults, checks, uniques, foreign_keys, sequences) = Default::default();
        let (generated, domains) = Default::default();
        let key = None;
        Building { source, name, columns, defaults, checks, key, uniques, foreign_keys, sequences, generated, domains }
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
            generated: self.generated.pop().map(|(_, text)| text),
            domain: self.domains.pop().map(|(_, rules)| rules),
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

    /// Adds a column, whose type may be a domain of the transaction.
    pub(super) fn column_in(&mut self, txn: &Transaction, column: &ColumnDef) -> Result<()> {
        let (column, rules) = domains::plain_column(txn, column)?;
        self.column(&column)?;
        self.domains.extend(rules.map(|rules| (self.columns.len() - 1, rules)));
        Ok(())
    }

    fn column(&mut self, column: &ColumnDef) -> Result<()> {
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
                ColumnOption::Generated { generation_expr: Some(expr), .. } => {
                    self.generated.push((ordinal, expr.to_string()));
                }
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
                    self.checks.push(NewCheck::new(given, Some(name.clone()), check));
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
        self.check_generation(ordinal).map_err(|error| self.place(error, column.name.span))?;
        if nullable && self.columns[ordinal].not_null {
            let message =
                format!("conflicting NULL/NOT NULL declarations for column \"{name}\" of table \"{}\"", self.name);
            return Err(self.place(Error::new(Code::SyntaxError, message), column.name.span));
        }
        Ok(())
    }

    /// A column has one source of its values.
    fn check_generation(&self, ordinal: usize) -> Result<()> {
        let generated = self.generated.iter().filter(|(known, _)| *known == ordinal).count();
        let is_numbered = self.sequences.iter().any(|sequence| sequence.ordinal == ordinal);
        if generated > 1 || generated == 1 && (is_numbered || self.defaults[ordinal].is_some()) {
            let identity = self.sequences.iter().any(|known| known.ordinal == ordinal && known.identity.is_some());
            let what = match (generated > 1, identity) {
                (true, _) => "multiple generation clauses",
                (_, true) => "both identity and generation expression",
                _ => "both default and generation expression",
            };
            let (table, name) = (&self.name, &self.columns[ordinal].name);
            let message = format!("{what} specified for column \"{name}\" of table \"{table}\"");
            return Err(Error::new(Code::SyntaxError, message));
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
                self.checks.push(NewCheck::new(check.name.as_ref().map(fold), None, check));
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
    pub(super) fn take_uniques(&mut self) -> Vec<NewUnique> {
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

    pub(super) fn primary_key(&mut self, name: Option<String>, ordinals: Vec<usize>) -> Result<()> {
        if self.key.is_some() {
            let message = format!("multiple primary keys for table \"{}\" are not allowed", self.name);
            return Err(Error::new(Code::InvalidTableDefinition, message));
        }
        self.key = Some((name, ordinals));
        Ok(())
    }

    pub(super) fn finish(mut self, local: &Local) -> Result<NewTable> {
        if self.columns.is_empty() {
            let message = format!("table \"{}\" has no columns", self.name);
            return Err(Error::new(Code::InvalidTableDefinition, message).hint("give it at least one"));
        }
        for (column, default) in self.columns.iter().zip(&mut self.defaults) {
            if let Some(default) = default.as_mut().filter(|default| sequence_call(default).is_none()) {
                *default = stored_default(default, column, local)?;
            }
        }
        let mut properties = self.generated_properties(local)?;
        let of_domain = |(ordinal, rules): &(usize, Rules)| (domains::property(*ordinal), rules.to_text());
        properties.extend(self.domains.iter().map(of_domain));
        let names = self.columns.iter().map(|column| (column.name.as_str(), column.data_type));
        let scope = Scope::empty().with(&self.name, names);
        let mut checks: Vec<(String, String)> = Vec::with_capacity(self.checks.len());
        for NewCheck { name: given, column, condition, no_inherit } in self.checks {
            let condition = stored_check(&condition, &scope, local)?;
            let name = match given {
                Some(name) if checks.iter().any(|(known, _)| *known == name) => {
                    let message = format!("constraint \"{name}\" for relation \"{}\" already exists", self.name);
                    return Err(Error::new(Code::InvalidTableDefinition, message));
                }
                Some(name) => name,
                None => free_check_name(&self.name, column.as_deref(), &checks),
            };
            if no_inherit {
                properties.push((marked(NO_INHERIT, &name), "true".into()));
            }
            checks.push((name, condition));
        }
        let (key_name, key) = match self.key {
            Some((name, key)) => (Some(name.unwrap_or_else(|| format!("{}_pkey", self.name))), key),
            None => (None, Vec::new()),
        };
        let mut table = NewTable::new(self.name, Schema::new(self.columns, key), DEFAULT_METHOD);
        table.defaults[..self.defaults.len()].clone_from_slice(&self.defaults);
        table.checks = checks;
        table.properties.extend(properties);
        table.primary_key = key_name;
        Ok(table)
    }

    /// The table's properties that say how columns are generated.
    fn generated_properties(&self, local: &Local) -> Result<Vec<(String, String)>> {
        let names = self.generated.iter().map(|(ordinal, _)| self.columns[*ordinal].name.clone()).collect();
        let property = |(ordinal, text): &(usize, String)| {
            let column = &self.columns[*ordinal];
            let stored = stored_generated(text, &self.name, &self.columns, column, &names, local)?;
            Ok((generated_property(*ordinal), stored))
        };
        self.generated.iter().map(property).collect()
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

/// An error when a default of a table takes numbers from a sequence that goes with the session, and the table does not.
pub(super) fn check_default_life(txn: &Transaction, namespace: SchemaId, default: &str) -> Result<()> {
    let Some(name) = sequence_call(default).filter(|_| !is_temporary(txn, namespace)) else { return Ok(()) };
    let sequence = crate::resolve::object(txn, weft_kernel::ObjectKind::Sequence, &name);
    let Some(sequence) = sequence.filter(|sequence| is_temporary(txn, sequence.namespace)) else { return Ok(()) };
    let message = format!("defaults of permanent tables may not use the temporary sequence \"{}\"", sequence.name);
    Err(Error::new(Code::InvalidTableDefinition, message).hint("use a sequence that is not temporary"))
}

/// A DEFAULT for a column of a table in a schema, as it is stored.
pub(crate) fn check_default(
    txn: &Transaction,
    namespace: SchemaId,
    default: &str,
    column: &Column,
    local: &Local,
) -> Result<String> {
    check_default_life(txn, namespace, default)?;
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
