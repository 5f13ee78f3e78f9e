//! ADD COLUMN, DROP COLUMN, ALTER COLUMN.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, new_null_array};
use sqlparser::ast::{AlterColumnOperation, ColumnDef, Expr as SqlExpr, GeneratedAs, Ident, SequenceOptions};
use weft_format::{Code, Column, DataType, Error, Predicate, Result, Value};
use weft_kernel::index::NewColumnIndex;
use weft_kernel::{IndexRef, NewTable, TableDef};

use super::Altering;
use super::rows::{contains_nulls, each_row, has_row, rewrite};
use crate::ddl::building::{Building, check_default, check_default_life};
use crate::ddl::pieces::forget_marks;
use crate::ddl::sequence::NewSequence;
use crate::domains;
use crate::expr::{Binder, Expr, data_type_of};
use crate::notice::Notice;
use crate::parse::fold;
use crate::row::{bind_check, bind_default, generated, generated_property, stored_default, table_scope};
use crate::values::{array_of, value_at};

/// Functions whose value differs from row to row.
const VOLATILE: &[&str] = &["nextval", "random", "gen_random_uuid", "clock_timestamp", "timeofday"];

impl Altering<'_> {
    /// ADD COLUMN
    pub(super) fn add_column(&mut self, column: &ColumnDef, if_not_exists: bool) -> Result<()> {
        let name = fold(&column.name);
        if self.table.def.schema.visible_ordinal(&name).is_some() {
            let message = format!("column \"{name}\" of relation \"{}\" already exists", self.name());
            if if_not_exists {
                self.notices.push(Notice { sqlstate: "42701", ..Notice::plain(format!("{message}, skipping")) });
                return Ok(());
            }
            return Err(Error::new(Code::DuplicateColumn, message).about(self.name(), Some(&name), None));
        }
        let mut building = Building::of(&self.table.def, self.source);
        building.column_in(self.txn, column)?;
        let sequence = building.take_sequences();
        let ordinal = self.table.def.schema.columns.len();
        let added = building.added(ordinal);
        let inherited = added.domain.as_ref().and_then(|rules| rules.default.clone());
        if let Some(sequence) = sequence.into_iter().next() {
            let made = crate::ddl::sequence::create_owned(self.txn, &self.table.def, &added.column.name, &sequence)?;
            let default = crate::ddl::sequence::default_text(self.txn, &made);
            self.put_column(ordinal, added.column.clone(), Some(default))?;
            crate::ddl::sequence::own(self.txn, &made, &self.table.def, ordinal)?;
            if let Some(identity) = sequence.identity {
                let (key, value) = crate::ddl::sequence::identity_property(ordinal, identity);
                self.alter(|def| {
                    def.properties.insert(key, value);
                    Ok(())
                })?;
            }
        } else if let Some(text) = &added.generated {
            self.put_generated(ordinal, added.column, text)?;
        } else if let Some(default) = inherited.filter(|_| added.default.is_none()) {
            self.put_column(ordinal, added.column, Some(default))?;
            self.alter(|def| {
                def.defaults[ordinal] = None;
                Ok(())
            })?;
        } else {
            self.put_column(ordinal, added.column, added.default)?;
        }
        self.set_domain(ordinal, added.domain.as_ref())?;
        for check in added.checks {
            self.add_check(check, false)?;
        }
        if let Some((name, columns)) = added.key {
            self.add_primary_key(name, columns)?;
        }
        for unique in added.uniques {
            crate::ddl::create_uniques(self.txn, &self.table, vec![unique])?;
        }
        self.add_foreign_keys(added.foreign_keys, false)
    }

    /// Adds a column with what its default gives to the rows that are there.
    fn put_column(&mut self, ordinal: usize, column: Column, default: Option<String>) -> Result<()> {
        let default = match default {
            Some(text) => match stored_default(&text, &column, self.eval.local) {
                Err(_) if is_volatile(&text) => Some(text),
                stored => Some(stored?),
            },
            None => None,
        };
        if let Some(text) = &default {
            check_default_life(self.txn, self.table.def.namespace, text)?;
        }
        let bound = default.as_deref().map(|text| bind_default(text, &column)).transpose();
        let is_volatile = default.as_deref().is_some_and(is_volatile);
        let missing = match &bound {
            Ok(Some(expr)) if !is_volatile => expr.eval(&[], &self.eval)?,
            Ok(_) => Value::Null,
            Err(error) if !is_volatile => return Err(error.clone()),
            Err(_) => Value::Null,
        };
        if column.not_null && missing.is_null() && !is_volatile && has_row(self.txn, &self.table, Vec::new())? {
            return Err(contains_nulls(&self.table, &column.name));
        }
        let put = |def: &mut TableDef| {
            let mut schema = (*def.schema).clone();
            schema.add_column(column.clone(), &missing);
            def.schema = Arc::new(schema);
            def.defaults.push(default.clone());
            Ok(())
        };
        if !is_volatile || !has_row(self.txn, &self.table, Vec::new())? {
            return self.alter(put);
        }
        let mut def = (*self.table.def).clone();
        put(&mut def)?;
        let shape = crate::row::TableShape::bind(&self.table.redefined(def.clone()))?;
        let eval = self.eval;
        self.table = rewrite(self.txn, &self.table, fresh(&def), |txn, batch| {
            let mut arrays = batch.columns().to_vec();
            let mut values = Vec::with_capacity(batch.num_rows());
            for _ in 0..batch.num_rows() {
                values.push(shape.default_value(txn, ordinal, &eval)?);
            }
            arrays.push(array_of(values.iter(), column.data_type));
            Ok(arrays)
        })?;
        Ok(())
    }

    /// DROP COLUMN
    pub(super) fn drop_column(&mut self, name: &Ident, if_exists: bool, cascade: bool) -> Result<()> {
        let name = fold(name);
        let Some(ordinal) = self.table.def.schema.visible_ordinal(&name) else {
            let error = self.no_column(&name);
            if if_exists {
                self.notices.push(Notice::plain(format!("{}, skipping", error.message())));
                return Ok(());
            }
            return Err(error);
        };
        if self.table.def.schema.visible().count() == 1 {
            let message = format!("cannot drop column \"{name}\", the only one of table \"{}\"", self.name());
            return Err(Error::new(Code::InvalidTableDefinition, message).hint("drop the table"));
        }
        self.drop_generated(&name, ordinal, cascade)?;
        self.drop_dependents(&name, ordinal, cascade)?;
        if self.table.def.schema.key.contains(&ordinal) {
            self.drop_primary_key()?;
        }
        let scope = table_scope(self.name(), &self.table.def.schema, crate::expr::Scope::empty());
        let mut kept = Vec::new();
        for (check, condition) in &self.table.def.checks {
            if !bind_check(condition, &scope)?.columns().contains(&ordinal) {
                kept.push((check.clone(), condition.clone()));
            }
        }
        self.alter(|def| {
            let mut schema = (*def.schema).clone();
            schema.drop_column(ordinal);
            def.schema = Arc::new(schema);
            def.defaults[ordinal] = None;
            def.checks = kept;
            def.foreign_keys.retain(|key| !key.columns.contains(&ordinal));
            forget_marks(def);
            def.properties.retain(|property, _| *property != format!("identity.{ordinal}"));
            def.properties.remove(&generated_property(ordinal));
            def.properties.remove(&domains::property(ordinal));
            forget_bloom(def, &name, None);
            Ok(())
        })
    }

    /// Drops a column with what depends on it, because its type goes.
    pub(crate) fn drop_column_of(&mut self, name: &Ident) -> Result<()> {
        self.txn.lock_definition(&self.table)?;
        self.drop_column(name, false, true)
    }

    /// What goes with a column: indexes, foreign keys of others, views, the sequence that it owns.
    fn drop_dependents(&mut self, name: &str, ordinal: usize, cascade: bool) -> Result<()> {
        crate::ddl::dependents::check_views(self.txn, &self.table.def, Some(name), cascade, self.notices)?;
        let referring = self.txn.referring_to(&self.table, &[ordinal]);
        self.drop_references(referring, &format!("column {name} of table {}", self.name()), cascade)?;
        for IndexRef { def, index, .. } in self.txn.indexes_of(&self.table) {
            if index.deciding().contains(&ordinal) || index.included().contains(&ordinal) {
                self.txn.drop_index_in(def.namespace, &def.name)?;
            }
        }
        for columns in self.txn.column_indexes_of(&self.table) {
            if NewColumnIndex::again(&columns.def)?.columns.contains(&ordinal) {
                self.txn.drop_column_index_in(columns.def.namespace, &columns.def.name)?;
            }
        }
        crate::ddl::sequence::drop_owned(self.txn, self.table.def.oid, Some(ordinal))?;
        crate::ddl::comment::drop_of(self.txn, self.table.def.oid, Some(ordinal))
    }

    /// ALTER COLUMN
    pub(super) fn alter_column(&mut self, name: &Ident, op: &AlterColumnOperation) -> Result<()> {
        let name = fold(name);
        let ordinal = self.table.def.schema.visible_ordinal(&name).ok_or_else(|| self.no_column(&name))?;
        let column = self.table.def.schema.columns[ordinal].clone();
        let is_identity = self.table.def.properties.contains_key(&format!("identity.{ordinal}"));
        let of_identity = || {
            let message = format!("column \"{name}\" of relation \"{}\" is an identity column", self.name());
            Error::new(Code::SyntaxError, message)
        };
        let is_default = matches!(op, AlterColumnOperation::SetDefault { .. } | AlterColumnOperation::DropDefault);
        if is_default && generated(&self.table.def, ordinal).is_some() {
            let message = format!("column \"{name}\" of relation \"{}\" is a generated column", self.name());
            let error = Error::new(Code::SyntaxError, message).about(self.name(), Some(&name), None);
            return Err(error.hint("drop the column, and add it with another expression"));
        }
        match op {
            AlterColumnOperation::SetDefault { .. } | AlterColumnOperation::DropDefault if is_identity => {
                Err(of_identity())
            }
            AlterColumnOperation::DropNotNull if is_identity => Err(of_identity()),
            AlterColumnOperation::SetDefault { value } => {
                let (namespace, value) = (self.table.def.namespace, value.to_string());
                let text = check_default(self.txn, namespace, &value, &column, self.eval.local)?;
                self.alter(|def| {
                    def.defaults[ordinal] = Some(text);
                    Ok(())
                })
            }
            AlterColumnOperation::DropDefault => self.alter(|def| {
                def.defaults[ordinal] = None;
                Ok(())
            }),
            AlterColumnOperation::SetNotNull => {
                if has_row(self.txn, &self.table, vec![Predicate::IsNull { column: ordinal }])? {
                    return Err(contains_nulls(&self.table, &name));
                }
                self.set_not_null(ordinal, true)
            }
            AlterColumnOperation::DropNotNull => {
                if self.table.def.schema.key.contains(&ordinal) {
                    let message = format!("column \"{name}\" is in a primary key");
                    return Err(Error::new(Code::InvalidTableDefinition, message));
                }
                self.set_not_null(ordinal, false)
            }
            AlterColumnOperation::SetDataType { data_type, using, .. } => {
                let domain = domains::plain_type(self.txn, data_type)?;
                let plain = domain.as_ref().map_or(data_type, |domain| &domain.base);
                self.set_type(ordinal, data_type_of(plain)?, using.as_ref())?;
                self.set_domain(ordinal, domain.as_ref().map(|domain| &domain.rules))
            }
            AlterColumnOperation::AddGenerated { generated_as, sequence_options } => {
                let always = !matches!(generated_as, Some(GeneratedAs::ByDefault));
                self.add_identity(ordinal, always, sequence_options.as_deref().unwrap_or_default())
            }
        }
    }

    /// ADD GENERATED ... AS IDENTITY
    fn add_identity(&mut self, ordinal: usize, always: bool, options: &[SequenceOptions]) -> Result<()> {
        let column = self.table.def.schema.columns[ordinal].clone();
        let relation = self.name().to_owned();
        let refuse = |what: &str| {
            let message = format!("column \"{}\" of relation \"{relation}\" {what}", column.name);
            Err(Error::new(Code::NotInPrerequisiteState, message))
        };
        if !matches!(column.data_type, DataType::SmallInt | DataType::Integer | DataType::BigInt) {
            let message = "identity column type must be smallint, integer, or bigint";
            return Err(Error::new(Code::InvalidParameterValue, message));
        }
        if !column.not_null {
            return refuse("must be declared NOT NULL before identity can be added");
        }
        if self.table.def.properties.contains_key(&format!("identity.{ordinal}")) {
            return refuse("is already an identity column");
        }
        if self.table.def.defaults[ordinal].is_some() || generated(&self.table.def, ordinal).is_some() {
            return refuse("already has a default value");
        }
        let new =
            NewSequence { ordinal, data_type: column.data_type, options: options.to_vec(), identity: Some(always) };
        let made = crate::ddl::sequence::create_owned(self.txn, &self.table.def, &column.name, &new)?;
        let default = crate::ddl::sequence::default_text(self.txn, &made);
        let (key, value) = crate::ddl::sequence::identity_property(ordinal, always);
        self.alter(|def| {
            def.defaults[ordinal] = Some(default);
            def.properties.insert(key, value);
            Ok(())
        })?;
        crate::ddl::sequence::own(self.txn, &made, &self.table.def, ordinal)
    }

    /// DROP IDENTITY: the sequence goes, too.
    pub(crate) fn drop_identity(&mut self, name: &str, if_exists: bool) -> Result<()> {
        self.txn.lock_definition(&self.table)?;
        let ordinal = self.table.def.schema.visible_ordinal(name).ok_or_else(|| self.no_column(name))?;
        let property = format!("identity.{ordinal}");
        if !self.table.def.properties.contains_key(&property) {
            let message = format!("column \"{name}\" of relation \"{}\" is not an identity column", self.name());
            if !if_exists {
                return Err(Error::new(Code::NotInPrerequisiteState, message));
            }
            self.notices.push(Notice::plain(format!("{message}, skipping")));
            return Ok(());
        }
        self.alter(|def| {
            def.defaults[ordinal] = None;
            def.properties.remove(&property);
            Ok(())
        })?;
        crate::ddl::sequence::drop_owned(self.txn, self.table.def.oid, Some(ordinal))
    }

    pub(super) fn set_not_null(&mut self, ordinal: usize, not_null: bool) -> Result<()> {
        if self.table.def.schema.columns[ordinal].not_null == not_null {
            return Ok(());
        }
        self.alter(|def| {
            let mut schema = (*def.schema).clone();
            schema.columns[ordinal].not_null = not_null;
            def.schema = Arc::new(schema);
            Ok(())
        })
    }

    fn set_type(&mut self, ordinal: usize, to: DataType, using: Option<&SqlExpr>) -> Result<()> {
        let column = self.table.def.schema.columns[ordinal].clone();
        if column.data_type == to && using.is_none() {
            return Ok(());
        }
        crate::ddl::dependents::check_views(self.txn, &self.table.def, Some(&column.name), false, self.notices)?;
        self.refuse_typed_dependents(ordinal, &column.name)?;
        self.refuse_typed_generated(ordinal, &column.name)?;
        let mut def = (*self.table.def).clone();
        let mut schema = (*def.schema).clone();
        schema.columns[ordinal].data_type = to;
        def.schema = Arc::new(schema);
        // What stands in the definition must fit the new type.
        if let Some(default) = def.defaults[ordinal].take() {
            let (column, local) = (&def.schema.columns[ordinal], self.eval.local);
            let stored = check_default(self.txn, def.namespace, &default, column, local).map_err(|error| {
                if error.code() != Code::DatatypeMismatch {
                    return error;
                }
                let message = format!(
                    "default for column \"{}\" cannot be cast automatically to type {}",
                    column.name,
                    crate::text::type_name(to)
                );
                Error::new(Code::DatatypeMismatch, message)
            })?;
            def.defaults[ordinal] = Some(stored);
        }
        let scope = table_scope(self.name(), &def.schema, crate::expr::Scope::empty());
        def.checks.iter().try_for_each(|(_, check)| bind_check(check, &scope).map(|_| ()))?;
        let expr = self.conversion(ordinal, &column, to, using)?;
        if using.is_none() && is_wider_text(column.data_type, to) {
            return self.alter(|now| {
                now.schema = def.schema.clone();
                Ok(())
            });
        }
        let (eval, old) = (self.eval, self.table.def.schema.clone());
        self.table = rewrite(self.txn, &self.table, fresh(&def), |_, batch| {
            let mut values = Vec::with_capacity(batch.num_rows());
            for row in 0..batch.num_rows() {
                let value = |at: usize| value_at(batch.column(at), row, old.columns[at].data_type);
                let input: Vec<Value> = (0..old.columns.len()).map(value).collect();
                values.push(expr.eval(&input, &eval)?);
            }
            let mut arrays = batch.columns().to_vec();
            arrays[ordinal] = array_of(values.iter(), to);
            Ok(arrays)
        })?;
        let checks = self.table.def.checks.clone();
        for (name, condition) in &checks {
            self.test_check(name, condition)?;
        }
        Ok(())
    }

    /// What makes a value of the new type of a row.
    fn conversion(&self, ordinal: usize, column: &Column, to: DataType, using: Option<&SqlExpr>) -> Result<Expr> {
        let scope = table_scope(self.name(), &self.table.def.schema, crate::expr::Scope::empty());
        let mut binder = Binder::new(self.source);
        if let Some(using) = using {
            return Ok(binder.bind_assignment(using, &scope, to, &column.name)?);
        }
        let plain = Expr::column(ordinal, column.data_type);
        plain.assign_to(to, &column.name).map_err(|_| {
            let (name, to) = (&column.name, crate::text::type_name(to));
            Error::new(Code::DatatypeMismatch, format!("column \"{name}\" cannot be cast automatically to type {to}"))
                .hint(format!("You might need to specify \"USING {name}::{to}\"."))
        })
    }

    /// Expressions and foreign keys over a column know its type.
    fn refuse_typed_dependents(&self, ordinal: usize, name: &str) -> Result<()> {
        let by_expression = |index: &weft_kernel::index::Index| {
            !index.columns().contains(&ordinal) && index.deciding().contains(&ordinal)
                || index.predicate().iter().any(|predicate| predicate.column() == ordinal)
        };
        if let Some(index) = self.txn.indexes_of(&self.table).iter().find(|index| by_expression(&index.index)) {
            let message =
                format!("ALTER COLUMN \"{name}\" TYPE is not supported: index \"{}\" uses it", index.def.name);
            return Err(Error::new(Code::FeatureNotSupported, message).hint("drop the index, and make it again"));
        }
        let own = self.table.def.foreign_keys.iter().find(|key| key.columns.contains(&ordinal));
        let others = self.txn.referring_to(&self.table, &[ordinal]);
        let constraint = own.map(|key| &key.name).or_else(|| others.first().map(|(_, key)| &key.name));
        if let Some(constraint) = constraint {
            let message = format!("ALTER COLUMN \"{name}\" TYPE is not supported: constraint \"{constraint}\" uses it");
            return Err(Error::new(Code::FeatureNotSupported, message).hint("drop the constraint, and make it again"));
        }
        Ok(())
    }

    /// Tests that all rows satisfy a condition.
    pub(super) fn test_check(&self, name: &str, condition: &str) -> Result<()> {
        let scope = table_scope(self.name(), &self.table.def.schema, crate::expr::Scope::empty());
        let bound = bind_check(condition, &scope)?;
        each_row(self.txn, &self.table, |values| {
            if bound.truth(&values, &self.eval)? != Some(false) {
                return Ok(());
            }
            let table = self.name();
            let message = format!("check constraint \"{name}\" of relation \"{table}\" is violated by some row");
            Err(Error::new(Code::CheckViolation, message).about(table, None, Some(name)))
        })
    }

    pub(super) fn no_column(&self, name: &str) -> Error {
        let message = format!("column \"{name}\" of relation \"{}\" does not exist", self.name());
        Error::new(Code::UndefinedColumn, message).about(self.name(), Some(name), None)
    }
}

/// The definition of a table that is stored anew: all its rows have all columns.
pub(super) fn fresh(def: &TableDef) -> NewTable {
    let mut new = NewTable::of(def);
    new.schema.evolution.missing = None;
    new.schema.evolution.first_columns = 0;
    new
}

/// A column without values.
pub(super) fn nulls(data_type: DataType, batch: &RecordBatch) -> ArrayRef {
    new_null_array(&data_type.arrow(), batch.num_rows())
}

/// Whether a DEFAULT gives each row a value of its own.
fn is_volatile(default: &str) -> bool {
    let lower = default.to_lowercase();
    VOLATILE.iter().any(|name| lower.contains(&format!("{name}(")))
}

/// Whether every value of a text type is one of another.
fn is_wider_text(from: DataType, to: DataType) -> bool {
    match (from, to) {
        (DataType::Varchar(from), DataType::Varchar(to)) => from <= to,
        (DataType::Varchar(_), DataType::Text) => true,
        _ => false,
    }
}

/// A column leaves the list of the option `bloom_columns`, or has another name there.
pub(super) fn forget_bloom(def: &mut TableDef, name: &str, other: Option<&str>) {
    let Some(list) = def.options.get("bloom_columns") else { return };
    let names = list.split(',').map(str::trim);
    let names = names.filter_map(|known| if known == name { other } else { Some(known) });
    let list = names.collect::<Vec<_>>().join(",");
    def.options.insert("bloom_columns".into(), list);
}
