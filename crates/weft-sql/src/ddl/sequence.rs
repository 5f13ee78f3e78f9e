//! Sequences, serial and identity columns.
//!
//! ```text
//!   CREATE TABLE t (id serial)    sequence t_id_seq, owned by column 0 of t
//!                                 default of id: nextval('t_id_seq'::regclass), NOT NULL
//!   id int GENERATED ALWAYS AS IDENTITY    the same, and the table's property identity.0 = always
//! ```

use std::sync::Arc;

use sqlparser::ast::{Expr as SqlExpr, SequenceOptions as SqlOption, UnaryOperator, Value as SqlValue};
use weft_format::{Code, DataType, Error, Result};
use weft_kernel::{Object, ObjectKind, SequenceOptions, SequenceValue, TableDef, Transaction};
use weft_pgcatalog::quoted;

use super::pieces::free_name;
use crate::domains::Definition;
use crate::expr::sequence_call;
use crate::resolve;
use crate::view_columns::is_default_property;

/// The sequence of a column that is to be made.
#[derive(Clone)]
pub(crate) struct NewSequence {
    /// The column's ordinal.
    pub(crate) ordinal: usize,
    /// The column's type, which bounds the numbers.
    pub(crate) data_type: DataType,
    pub(crate) options: Vec<SqlOption>,
    /// Of an identity column: whether its value is always generated.
    pub(crate) identity: Option<bool>,
}

/// The options of a sequence; those not named are as they were, or the usual ones.
pub(crate) fn options_of(
    given: &[SqlOption],
    data_type: DataType,
    before: Option<SequenceOptions>,
) -> Result<SequenceOptions> {
    let (type_min, type_max) = match data_type {
        DataType::SmallInt => (i64::from(i16::MIN), i64::from(i16::MAX)),
        DataType::Integer => (i64::from(i32::MIN), i64::from(i32::MAX)),
        _ => (i64::MIN, i64::MAX),
    };
    let mut increment = before.map_or(1, |before| before.increment);
    let mut cycle = before.is_some_and(|before| before.cycle);
    let (mut min, mut max) = (before.map(|before| before.min), before.map(|before| before.max));
    let mut start = before.map(|before| before.start);
    for option in given {
        match option {
            SqlOption::IncrementBy(by, _) => increment = number(by)?,
            SqlOption::MinValue(value) => min = value.as_ref().map(number).transpose()?,
            SqlOption::MaxValue(value) => max = value.as_ref().map(number).transpose()?,
            SqlOption::StartWith(value, _) => start = Some(number(value)?),
            SqlOption::Cycle(no) => cycle = !no,
            SqlOption::Cache(count) if number(count)? < 1 => {
                return Err(wrong(format!("CACHE ({count}) must be greater than zero")));
            }
            SqlOption::Cache(_) => {}
        }
    }
    if increment == 0 {
        return Err(wrong("INCREMENT must not be zero".into()));
    }
    let min = min.unwrap_or(if increment > 0 { 1 } else { type_min });
    let max = max.unwrap_or(if increment > 0 { type_max } else { -1 });
    if min < type_min || max > type_max {
        let (what, value) = if min < type_min { ("MINVALUE", min) } else { ("MAXVALUE", max) };
        let name = crate::text::type_name(data_type);
        return Err(wrong(format!("{what} ({value}) is out of range for sequence data type {name}")));
    }
    if min >= max {
        return Err(wrong(format!("MINVALUE ({min}) must be less than MAXVALUE ({max})")));
    }
    let start = start.unwrap_or(if increment > 0 { min } else { max });
    if start < min {
        return Err(wrong(format!("START value ({start}) cannot be less than MINVALUE ({min})")));
    }
    if start > max {
        return Err(wrong(format!("START value ({start}) cannot be greater than MAXVALUE ({max})")));
    }
    Ok(SequenceOptions { increment, min, max, start, cycle })
}

fn wrong(message: String) -> Error {
    Error::new(Code::InvalidParameterValue, message)
}

/// A whole number, perhaps with a sign.
pub(crate) fn number(expr: &SqlExpr) -> Result<i64> {
    let bad = || Error::new(Code::SyntaxError, format!("a whole number is expected, not {expr}"));
    match expr {
        SqlExpr::Value(value) => match &value.value {
            SqlValue::Number(digits, _) => digits.parse().map_err(|_| bad()),
            _ => Err(bad()),
        },
        SqlExpr::UnaryOp { op: UnaryOperator::Minus, expr } => match &**expr {
            SqlExpr::Value(value) => match &value.value {
                SqlValue::Number(digits, _) => format!("-{digits}").parse().map_err(|_| bad()),
                _ => Err(bad()),
            },
            _ => Err(bad()),
        },
        SqlExpr::UnaryOp { op: UnaryOperator::Plus, expr } => number(expr),
        _ => Err(bad()),
    }
}

/// CREATE SEQUENCE
pub(crate) fn create(
    txn: &mut Transaction,
    name: &str,
    data_type: DataType,
    given: &[SqlOption],
) -> Result<Arc<Object>> {
    let (namespace, name) = resolve::creation(txn, name)?;
    let mut object = Object::new(ObjectKind::Sequence, namespace, name);
    options_of(given, data_type, None)?.put(&mut object.properties);
    object.properties.insert("type".into(), data_type.to_string());
    txn.put_object(object)
}

/// The type of a sequence's numbers.
pub(crate) fn type_of(sequence: &Object) -> DataType {
    match sequence.property("type") {
        Some("smallint") => DataType::SmallInt,
        Some("integer") => DataType::Integer,
        _ => DataType::BigInt,
    }
}

/// Makes the sequence of a column; it is owned once the column is there.
pub(crate) fn create_owned(
    txn: &mut Transaction,
    table: &TableDef,
    column: &str,
    new: &NewSequence,
) -> Result<Arc<Object>> {
    make(txn, table.namespace, &table.name, column, new)
}

pub(crate) fn make(
    txn: &mut Transaction,
    namespace: weft_kernel::SchemaId,
    table: &str,
    column: &str,
    new: &NewSequence,
) -> Result<Arc<Object>> {
    let name = free_name(&format!("{table}_{column}"), "seq", &|name| resolve::is_taken(txn, namespace, name));
    let mut object = Object::new(ObjectKind::Sequence, namespace, name);
    options_of(&new.options, new.data_type, None)?.put(&mut object.properties);
    object.properties.insert("type".into(), new.data_type.to_string());
    txn.put_object(object)
}

/// A sequence goes with a column.
pub(crate) fn own(txn: &mut Transaction, sequence: &Arc<Object>, table: &TableDef, ordinal: usize) -> Result<()> {
    let mut owned = (**sequence).clone();
    owned.properties.insert("table".into(), table.oid.to_string());
    owned.properties.insert("column".into(), ordinal.to_string());
    txn.put_object(owned).map(|_| ())
}

/// The column that owns a sequence: its table's number, its ordinal.
pub(crate) fn owner(sequence: &Object) -> Option<(u32, usize)> {
    Some((sequence.property("table")?.parse().ok()?, sequence.property("column")?.parse().ok()?))
}

/// `nextval('t_id_seq'::regclass)`
pub(crate) fn default_text(txn: &Transaction, sequence: &Object) -> String {
    format!("nextval('{}'::regclass)", quoted_name(txn, sequence).replace('\'', "''"))
}

/// A name as SQL, with its schema when that is not `public`.
fn quoted_name(txn: &Transaction, object: &Object) -> String {
    let name = quoted(&object.name);
    match object.namespace {
        weft_kernel::SchemaId::PUBLIC => name,
        id => format!("{}.{name}", quoted(&resolve::schema_name(txn, id))),
    }
}

/// The property of a table that makes a column an identity column.
pub(crate) fn identity_property(ordinal: usize, always: bool) -> (String, String) {
    (format!("identity.{ordinal}"), if always { "always" } else { "default" }.to_owned())
}

/// Drops the sequences that a table, or one column of it, owns.
pub(crate) fn drop_owned(txn: &mut Transaction, table: u32, column: Option<usize>) -> Result<()> {
    let owned = |object: &Arc<Object>| {
        object.kind == ObjectKind::Sequence
            && owner(object).is_some_and(|(of, at)| of == table && column.is_none_or(|column| column == at))
    };
    let sequences: Vec<Arc<Object>> = txn.objects().into_iter().filter(owned).collect();
    sequences.iter().try_for_each(|sequence| txn.drop_object(sequence))
}

/// The sequences that a table owns begin again.
pub(crate) fn restart_owned(txn: &Transaction, table: u32) -> Result<()> {
    for sequence in txn.objects().iter().filter(|object| object.kind == ObjectKind::Sequence) {
        if owner(sequence).is_some_and(|(of, _)| of == table) {
            txn.set_sequence(sequence, SequenceOptions::of(sequence)?.begin())?;
        }
    }
    Ok(())
}

/// The columns whose default takes numbers from a sequence.
fn users(txn: &Transaction, sequence: &Object) -> Vec<(weft_kernel::TableRef, usize)> {
    let mut found = Vec::new();
    for def in txn.tables() {
        for (ordinal, default) in def.defaults.iter().enumerate() {
            let named = default.as_deref().and_then(sequence_call);
            let is_it = named.and_then(|name| resolve::object(txn, ObjectKind::Sequence, &name));
            if is_it.is_some_and(|object| object.id == sequence.id)
                && let Some(table) = txn.table_of(def.id)
            {
                found.push((table, ordinal));
            }
        }
    }
    found
}

/// The columns of views whose default takes numbers from a sequence: the view, and its property.
fn views_with(txn: &Transaction, is_it: impl Fn(&str) -> bool) -> Vec<(Arc<Object>, String)> {
    let views = txn.objects().into_iter().filter(|object| object.kind == ObjectKind::View);
    let of_view = |view: Arc<Object>| {
        let found = view.properties.iter().filter(|(name, text)| is_default_property(name) && is_it(text));
        found.map(|(name, _)| (Arc::clone(&view), name.clone())).collect::<Vec<_>>()
    };
    views.flat_map(of_view).collect()
}

/// Before a sequence gets another name its users are noted; here they get it.
pub(crate) fn renamed(txn: &mut Transaction, before: &Object, after: &Arc<Object>) -> Result<()> {
    let old = default_text(txn, before);
    let new = default_text(txn, after);
    for (view, property) in views_with(txn, |text| text == old) {
        let mut changed = (*txn.object_of(view.id).unwrap_or(view)).clone();
        changed.properties.insert(property, new.clone());
        txn.put_object(changed)?;
    }
    for def in txn.tables() {
        if !def.defaults.iter().flatten().any(|text| *text == old) {
            continue;
        }
        if let Some(table) = txn.table_of(def.id) {
            txn.alter_table(&table, |def| {
                def.defaults.iter_mut().flatten().filter(|text| **text == old).for_each(|text| text.clone_from(&new));
                Ok(())
            })?;
        }
    }
    Ok(())
}

/// DROP SEQUENCE
pub(crate) fn drop(
    txn: &mut Transaction,
    sequence: &Arc<Object>,
    cascade: bool,
    notices: &mut Vec<crate::Notice>,
) -> Result<()> {
    let name = &sequence.name;
    for (table, ordinal) in users(txn, sequence) {
        let (column, table_name) = (table.def.schema.columns[ordinal].name.clone(), table.def.name.clone());
        if table.def.properties.contains_key(&format!("identity.{ordinal}")) {
            let message =
                format!("cannot drop sequence {name} because column {column} of table {table_name} requires it");
            return Err(Error::new(Code::DependentObjects, message).hint("drop the column instead"));
        }
        let what = format!("default value for column {column} of table {table_name}");
        if !cascade {
            let message = format!("cannot drop sequence {name} because other objects depend on it");
            let error = Error::new(Code::DependentObjects, message);
            return Err(error.hint(format!("{what} depends on sequence {name}; use DROP ... CASCADE to drop it, too")));
        }
        notices.push(crate::Notice::plain(format!("drop cascades to {what}")));
        txn.alter_table(&table, |def| {
            def.defaults[ordinal] = None;
            Ok(())
        })?;
    }
    let takes = |text: &str| {
        let named = sequence_call(text).and_then(|name| resolve::object(txn, ObjectKind::Sequence, &name));
        named.is_some_and(|object| object.id == sequence.id)
    };
    let of_domain = |object: &Arc<Object>| {
        let definition = Definition::of(object).ok()?;
        definition.default.as_deref().is_some_and(takes).then(|| object.name.clone())
    };
    let types = txn.objects_of(ObjectKind::Type);
    if let Some(domain) = types.iter().find_map(|(object, _)| of_domain(object)) {
        let message = format!("cannot drop sequence {name} because other objects depend on it");
        let hint = format!("the default of domain {domain} takes numbers of it; ALTER DOMAIN {domain} DROP DEFAULT");
        return Err(Error::new(Code::DependentObjects, message).hint(hint));
    }
    for (view, property) in views_with(txn, takes) {
        let what = format!("default value of a column of view {}", view.name);
        if !cascade {
            let message = format!("cannot drop sequence {name} because other objects depend on it");
            let error = Error::new(Code::DependentObjects, message);
            return Err(error.hint(format!("{what} depends on sequence {name}; use DROP ... CASCADE to drop it, too")));
        }
        notices.push(crate::Notice::plain(format!("drop cascades to {what}")));
        let mut changed = (*txn.object_of(view.id).unwrap_or(view)).clone();
        changed.properties.remove(&property);
        txn.put_object(changed)?;
    }
    txn.drop_object(sequence)
}

/// ALTER SEQUENCE: other options, and perhaps another number to go on with.
pub(crate) fn alter(
    txn: &mut Transaction,
    sequence: &Arc<Object>,
    given: &[SqlOption],
    restart: Option<Option<i64>>,
) -> Result<()> {
    let before = SequenceOptions::of(sequence)?;
    let options = options_of(given, type_of(sequence), Some(before))?;
    let value = txn.sequence_value(sequence)?;
    let mut altered = (**sequence).clone();
    options.put(&mut altered.properties);
    let altered = if given.is_empty() { sequence.clone() } else { txn.put_object(altered)? };
    match restart {
        Some(at) => {
            let last = at.unwrap_or(options.start);
            txn.set_sequence(&altered, SequenceValue { last, is_called: false })
        }
        None if value.last < options.min || value.last > options.max => {
            let (what, bound) = if value.last < options.min {
                ("less than MINVALUE", options.min)
            } else {
                ("greater than MAXVALUE", options.max)
            };
            Err(wrong(format!("RESTART value ({}) cannot be {what} ({bound})", value.last)))
        }
        None => Ok(()),
    }
}
