//! A table with its DEFAULT and CHECK expressions bound, and the tests every written row passes.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{Array, AsArray, RecordBatch};
use sqlparser::ast::{Expr as SqlExpr, SelectItem};
use weft_env::sync::Mutex;
use weft_expr::domains::Domain;
use weft_format::{Code, Column, DataType, Error, Result, Schema, TableId, Value, ValueRef};
use weft_kernel::{ColumnSet, LockMode, ObjectKind, TableDef, TableRef, Transaction};

use super::Projection;
use super::domains::bind_rules;
use super::generated::{all_generated, bind_generated, generated};
use super::lens::Lens;
use super::stored::{RowDefault, bind_check, bind_default};
use crate::domains;
use crate::expr::{BindResult, Binder, EvalContext, Expr, Scope, sequence_call};
use crate::resolve;
use crate::updatable::UpdatableView;
use crate::values::{value_at, value_ref_at};

/// A table's constraints, ready to be evaluated on the values of its rows: one per stored column, in their order,
/// without a hidden row id at the end. Dropped columns are NULL there, and so is a hidden row id among them.
///
/// For a statement that changes the table through a view, the names are those of the view.
#[derive(Clone)]
pub struct TableShape {
    /// The table.
    pub table: TableRef,
    /// Per value of a row: DEFAULT, cast to the column's type.
    pub defaults: Vec<Option<RowDefault>>,
    /// CHECK constraints: name and condition.
    pub checks: Vec<(String, Expr)>,
    /// Generated columns: ordinal and expression.
    pub generated: Vec<(usize, Expr)>,
    /// Columns whose type is a domain: ordinal and rules.
    pub domains: Vec<(usize, Domain)>,
    /// The views that it is seen through, and the one whose names count.
    pub(super) lens: Option<(Arc<Lens>, usize)>,
}

impl TableShape {
    /// Binds the stored expressions of a table.
    pub fn bind(table: &TableRef) -> Result<TableShape> {
        let def = &table.def;
        let scope = table_scope(&def.name, &def.schema, Scope::empty());
        let mut defaults = Vec::with_capacity(def.defaults.len());
        for (column, default) in row_columns(&def.schema).iter().zip(&def.defaults) {
            defaults.push(match default {
                Some(source) => Some(bound_default(source, column)?),
                None => None,
            });
        }
        let mut checks = Vec::with_capacity(def.checks.len());
        for (name, source) in &def.checks {
            checks.push((name.clone(), bind_check(source, &scope)?));
        }
        let mut generated = Vec::new();
        for (ordinal, source) in all_generated(def) {
            generated.push((ordinal, bind_generated(source, &scope, &def.schema.columns[ordinal])?));
        }
        let mut domains = Vec::new();
        for (ordinal, rules) in domains::of_table(def)? {
            let column = &def.schema.columns[ordinal];
            let is_generated = generated.iter().any(|(known, _)| *known == ordinal);
            if let Some(default) = rules.default.as_ref().filter(|_| defaults[ordinal].is_none() && !is_generated) {
                defaults[ordinal] = Some(bound_default(default, column)?);
            }
            domains.push((ordinal, bind_rules(&rules, column.data_type)?));
        }
        Ok(TableShape { table: table.clone(), defaults, checks, generated, domains, lens: None })
    }

    /// What a statement locks of a row of which it sets `writes` and has read `reads`: the columns of
    /// constraints that must be tested again count as read; a new key is a new row.
    pub fn write_mode(&self, mut reads: ColumnSet, mut writes: ColumnSet) -> LockMode {
        let (read, written) = self.generated_by(writes);
        (reads, writes) = (reads.union(read), writes.union(written));
        if self.table.def.schema.key.iter().any(|&ordinal| writes.contains(ordinal)) {
            return LockMode::EXCLUSIVE;
        }
        let of_views = self.lens.iter().flat_map(|(lens, _)| &lens.checks);
        for (_, condition) in self.checks.iter().chain(of_views) {
            let columns: ColumnSet = condition.columns().into_iter().collect();
            if columns.meets(writes) {
                reads = reads.union(columns);
            }
        }
        LockMode::columns(reads.union(self.table.columns_tested(writes)), writes)
    }

    /// What a statement reads and writes beside the columns that it sets.
    fn generated_by(&self, writes: ColumnSet) -> (ColumnSet, ColumnSet) {
        let (mut reads, mut more) = (ColumnSet::NONE, ColumnSet::NONE);
        for (ordinal, expr) in &self.generated {
            let columns: ColumnSet = expr.columns().into_iter().collect();
            if columns.meets(writes) {
                reads = reads.union(columns);
                more.insert(*ordinal);
            }
        }
        (reads, more)
    }

    /// The table's name.
    pub fn name(&self) -> &str {
        &self.table.def.name
    }

    /// The columns of the values of a row: those a user sees, and what lies between them.
    pub fn columns(&self) -> &[Column] {
        row_columns(&self.table.def.schema)
    }

    /// The ordinals of the columns a user sees.
    pub fn visible(&self) -> Vec<usize> {
        self.table.def.schema.visible().map(|(ordinal, _)| ordinal).collect()
    }

    /// The scope of the visible columns behind a name (the table's, or its alias).
    pub fn scope(&self, name: &str) -> Scope {
        self.scope_behind(name, Scope::empty())
    }

    /// The visible columns behind a name and behind those of another scope.
    pub fn scope_behind(&self, name: &str, before: Scope) -> Scope {
        match &self.lens {
            Some((lens, at)) => lens.scope(*at, name, self.columns().len(), before),
            None => table_scope(name, &self.table.def.schema, before),
        }
    }

    /// The name that it goes by: the view's, or the table's.
    pub(super) fn known_as(&self) -> &str {
        self.lens.as_ref().map_or_else(|| self.name(), |(lens, _)| lens.view.name())
    }

    /// The view that it is seen through.
    pub(super) fn view(&self) -> Option<&UpdatableView> {
        self.lens.as_ref().map(|(lens, _)| &lens.view)
    }

    /// What the view's query is over: its shape, the name that it has there, and the WHERE.
    pub(super) fn below(&self) -> Option<(TableShape, &str, Option<&SqlExpr>)> {
        let (lens, at) = self.lens.as_ref()?;
        let layer = &lens.layers[*at];
        let next = (at + 1 < lens.layers.len()).then(|| (Arc::clone(lens), at + 1));
        Some((TableShape { lens: next, ..self.clone() }, &layer.alias, layer.selection.as_ref()))
    }

    /// The ordinal of a visible column, if there is such a one.
    pub(super) fn find_ordinal(&self, name: &str) -> Option<usize> {
        match &self.lens {
            Some((lens, at)) => lens.plain(*at, name),
            None => self.table.def.schema.visible_ordinal(name),
        }
    }

    /// The ordinal of a visible column.
    pub fn ordinal(&self, name: &str) -> Result<usize> {
        if let Some((lens, _)) = &self.lens {
            return lens.view.ordinal(name, lens.verb);
        }
        self.table.def.schema.visible_ordinal(name).ok_or_else(|| {
            let message = format!("column \"{name}\" of relation \"{}\" does not exist", self.name());
            Error::new(Code::UndefinedColumn, message).about(self.name(), Some(name), None)
        })
    }

    /// The value of a column that a statement says nothing about.
    pub fn default_value(&self, txn: &Transaction, column: usize, eval: &EvalContext<'_>) -> Result<Value> {
        self.value_of(self.defaults[column].as_ref(), txn, column, eval)
    }

    fn value_of(
        &self,
        default: Option<&RowDefault>,
        txn: &Transaction,
        column: usize,
        eval: &EvalContext<'_>,
    ) -> Result<Value> {
        match default {
            Some(RowDefault::Expr(expr)) => expr.eval(&[], eval),
            Some(RowDefault::NextOf(name)) => {
                let sequence = resolve::object(txn, ObjectKind::Sequence, name);
                let next = txn.next_value(&*sequence.ok_or_else(|| resolve::undefined(name))?)?;
                let column = &self.columns()[column];
                weft_expr::assign(Value::Int(next), DataType::BigInt, column.data_type, &column.name, eval.local)
            }
            None => Ok(Value::Null),
        }
    }

    /// The ordinals of the columns that take numbers from sequences.
    pub fn numbered(&self) -> Vec<usize> {
        let is_numbered = |&ordinal: &usize| matches!(self.defaults[ordinal], Some(RowDefault::NextOf(_)));
        (0..self.defaults.len()).filter(is_numbered).collect()
    }

    /// What `SET column = DEFAULT` makes of a column.
    pub(super) fn update_default(&self, txn: &Transaction, column: usize, eval: &EvalContext<'_>) -> Result<Value> {
        match &self.lens {
            Some((lens, _)) => self.value_of(lens.update_defaults[column].as_ref(), txn, column, eval),
            None => self.default_value(txn, column, eval),
        }
    }

    /// Tests the check options of the views on the values of a new row.
    pub(super) fn check_view(&self, values: &[Value], eval: &EvalContext<'_>) -> Result<()> {
        self.lens.as_ref().map_or(Ok(()), |(lens, _)| lens.check(values, eval))
    }

    /// Tests domains, NOT NULL and CHECK on the values of a row.
    pub fn check_row(&self, values: &[Value], eval: &EvalContext<'_>) -> Result<()> {
        let row_id = self.table.def.schema.row_id();
        for (ordinal, domain) in &self.domains {
            domain.test(&values[*ordinal], eval)?;
        }
        for (ordinal, (column, value)) in self.columns().iter().zip(values).enumerate() {
            if column.not_null && value.is_null() && row_id != Some(ordinal) {
                return Err(self.null_in(column));
            }
        }
        for (name, condition) in &self.checks {
            if condition.truth(values, eval)? == Some(false) {
                return Err(self.violates(name));
            }
        }
        Ok(())
    }

    /// Tests a new row's values, and encodes them; a hidden row id is taken from the table's counter.
    pub fn complete(
        &self,
        txn: &Transaction,
        values: &[Value],
        eval: &EvalContext<'_>,
        row: &mut Vec<u8>,
    ) -> Result<()> {
        self.check_row(values, eval)?;
        let row_id = self.table.def.schema.row_id();
        let hidden = row_id.map(|_| Value::Int(txn.next_row_id(&self.table)));
        self.encode(values, hidden.as_ref().map_or(ValueRef::Null, Value::as_ref), row);
        Ok(())
    }

    /// A row of these values and a hidden row id, if it has one.
    fn encode(&self, values: &[Value], hidden: ValueRef<'_>, row: &mut Vec<u8>) {
        let row_id = self.table.def.schema.row_id();
        let value = |ordinal| match row_id == Some(ordinal) {
            true => hidden,
            false => values[ordinal].as_ref(),
        };
        self.table.codec.encode_into((0..self.table.codec.column_count()).map(value), row);
    }

    /// Tests a changed row's values, and encodes them; `old` gives a hidden row id.
    pub fn complete_update(&self, old: &[u8], values: &[Value], eval: &EvalContext<'_>) -> Result<Vec<u8>> {
        self.check_row(values, eval)?;
        self.check_view(values, eval)?;
        let row_id = self.table.def.schema.row_id();
        let mut row = Vec::new();
        self.encode(values, row_id.map_or(ValueRef::Null, |row_id| self.table.codec.get(old, row_id)), &mut row);
        Ok(row)
    }

    /// The values of a row.
    pub fn decode(&self, row: &[u8], values: &mut Vec<Value>) {
        let codec = &self.table.codec;
        values.extend((0..self.columns().len()).map(|column| codec.get(row, column).to_value()));
    }

    /// Tests domains, NOT NULL, varchar lengths and CHECK on a batch of rows' values, in their storage types.
    pub fn check_batch(&self, batch: &RecordBatch, eval: &EvalContext<'_>) -> Result<()> {
        let row_id = self.table.def.schema.row_id();
        for (ordinal, domain) in &self.domains {
            let data_type = self.columns()[*ordinal].data_type;
            for index in 0..batch.num_rows() {
                domain.test(&value_at(batch.column(*ordinal), index, data_type), eval)?;
            }
        }
        for (ordinal, (column, array)) in self.columns().iter().zip(batch.columns()).enumerate() {
            if column.not_null && array.null_count() > 0 && row_id != Some(ordinal) {
                return Err(self.null_in(column));
            }
            check_bits(array, column.data_type)?;
            if let DataType::Varchar(limit) | DataType::Char(limit) = column.data_type
                && limit > 0
            {
                for text in array.as_string_view().iter().flatten() {
                    if text.len() > limit as usize && text.chars().count() > limit as usize {
                        let name = crate::text::type_name(column.data_type);
                        let message = format!("value too long for type {name}({limit}) in column \"{}\"", column.name);
                        let error = Error::new(Code::StringTooLong, message);
                        return Err(error.about(self.name(), Some(&column.name), None));
                    }
                }
            }
        }
        let mut row = vec![Value::Null; self.columns().len()];
        for (name, condition) in &self.checks {
            let used = condition.columns();
            for index in 0..batch.num_rows() {
                for &column in &used {
                    row[column] = value_at(batch.column(column), index, self.columns()[column].data_type);
                }
                if condition.truth(&row, eval)? == Some(false) {
                    return Err(self.violates(name));
                }
            }
        }
        Ok(())
    }

    /// Binds a RETURNING list.
    pub fn bind_returning(&self, items: &[SelectItem], name: &str, binder: &mut Binder<'_>) -> BindResult<Projection> {
        Projection::bind(items, &self.scope(name), binder)
    }

    /// The key of an encoded row.
    pub fn key_of(&self, row: &[u8]) -> Vec<u8> {
        self.table.keys.of_row(&self.table.codec, row)
    }

    fn null_in(&self, column: &Column) -> Error {
        let message = format!(
            "null value in column \"{}\" of relation \"{}\" violates not-null constraint",
            column.name,
            self.name()
        );
        Error::new(Code::NotNullViolation, message).about(self.name(), Some(&column.name), None)
    }

    fn violates(&self, check: &str) -> Error {
        let message = format!("new row for relation \"{}\" violates check constraint \"{check}\"", self.name());
        Error::new(Code::CheckViolation, message).about(self.name(), None, Some(check))
    }
}

/// Fails when an INSERT gives a value to a column that is always generated.
pub(crate) fn check_generated(def: &TableDef, ordinal: usize, insert: &sqlparser::ast::Insert) -> Result<()> {
    check_given(def, ordinal, crate::parse::overriding(insert))
}

/// Fails when a value is given for a column that is always generated; `overriding`: OVERRIDING SYSTEM VALUE is said.
pub(crate) fn check_given(def: &TableDef, ordinal: usize, overriding: bool) -> Result<()> {
    if generated(def, ordinal).is_some() {
        let name = &def.schema.columns[ordinal].name;
        let message = format!("cannot insert a non-DEFAULT value into column \"{name}\"");
        return Err(Error::new(Code::GeneratedAlways, message)
            .hint(format!("Column \"{name}\" is a generated column: leave it out, or write DEFAULT."))
            .about(&def.name, Some(name), None));
    }
    let is_always = def.properties.get(&format!("identity.{ordinal}")).is_some_and(|kind| kind == "always");
    if !is_always || overriding {
        return Ok(());
    }
    let name = &def.schema.columns[ordinal].name;
    let message = format!("cannot insert a non-DEFAULT value into column \"{name}\"");
    Err(Error::new(Code::GeneratedAlways, message)
        .hint("Use OVERRIDING SYSTEM VALUE to override: the column is an identity column defined as GENERATED ALWAYS.")
        .about(&def.name, Some(name), None))
}

/// The columns of the values of a row.
pub(crate) fn row_columns(schema: &Schema) -> &[Column] {
    let count = schema.columns.len();
    &schema.columns[..count - usize::from(schema.row_id() == Some(count - 1))]
}

pub(crate) fn table_scope(name: &str, schema: &Schema, before: Scope) -> Scope {
    let columns = schema.visible().map(|(ordinal, column)| (ordinal, column.name.as_str(), column.data_type));
    before.with_some(name, row_columns(schema).len(), columns)
}

/// A DEFAULT, ready to be computed.
fn bound_default(source: &str, column: &Column) -> Result<RowDefault> {
    Ok(match sequence_call(source) {
        Some(sequence) => RowDefault::NextOf(sequence),
        None => RowDefault::Expr(bind_default(source, column)?),
    })
}

/// The shapes of the tables in use, shared by all sessions. Emptied when a table is created or dropped.
#[derive(Default)]
pub struct ShapeCache {
    shapes: Mutex<HashMap<TableId, Arc<TableShape>>>,
}

impl ShapeCache {
    /// The shape of a table, bound at first use.
    pub fn shape(&self, table: &TableRef) -> Result<Arc<TableShape>> {
        if let Some(shape) = self.shapes.lock().get(&table.def.id)
            && Arc::ptr_eq(&shape.table.def, &table.def)
        {
            return Ok(Arc::clone(shape));
        }
        let shape = Arc::new(TableShape::bind(table)?);
        self.shapes.lock().insert(table.def.id, Arc::clone(&shape));
        Ok(shape)
    }

    /// Lets go of all tables.
    pub fn clear(&self) {
        let shapes = std::mem::take(&mut *self.shapes.lock());
        drop(shapes);
    }
}

/// Brings a key value to the type of its key column; none when no row can have it.
pub(super) fn key_value(value: ValueRef<'_>, from: DataType, to: DataType) -> Option<Value> {
    match (value, to) {
        (ValueRef::Null, _) => None,
        (ValueRef::Int(v), DataType::SmallInt | DataType::Integer | DataType::BigInt) => {
            crate::text::fits_integer(v, to).then_some(Value::Int(v))
        }
        (_, DataType::Numeric { precision, scale }) => exact_decimal(value, from, precision, scale).map(Value::Decimal),
        _ => Some(value.to_value()),
    }
}

fn exact_decimal(value: ValueRef<'_>, from: DataType, precision: u8, scale: u8) -> Option<i128> {
    let (number, from_scale) = match (value, from) {
        (ValueRef::Int(v), _) => (i128::from(v), 0),
        (ValueRef::Decimal(v), DataType::Numeric { scale, .. }) => (v, scale),
        _ => return None,
    };
    let scaled = crate::text::rescale(number, from_scale, scale)?;
    let exact = scale >= from_scale || crate::text::rescale(scaled, scale, from_scale) == Some(number);
    (exact && scaled.unsigned_abs() < crate::text::pow10(precision).unsigned_abs()).then_some(scaled)
}

/// Tests the lengths of strings of bits.
fn check_bits(array: &dyn Array, data_type: DataType) -> Result<()> {
    if !data_type.is_bits() {
        return Ok(());
    }
    (0..array.len()).try_for_each(|row| match value_ref_at(array, row, data_type) {
        ValueRef::Text(digits) => weft_expr::fit_bits(digits, data_type),
        _ => Ok(()),
    })
}
