//! CREATE TYPE, ALTER TYPE and DROP TYPE: enums.
//!
//! ```text
//!   CREATE TYPE mood AS ENUM ('sad', 'ok')              an object of the catalog with its labels
//!   ALTER TYPE mood ADD VALUE 'meh' BEFORE 'ok'         the same with one more; no row changes
//! ```

use std::sync::Arc;

use sqlparser::ast::{
    AlterType, AlterTypeAddValuePosition, AlterTypeOperation, ObjectName, UserDefinedTypeRepresentation,
};
use weft_format::bloom::hash_bytes;
use weft_format::enums::{Beside, EnumId, Labels};
use weft_format::{Code, DataType, Error, Result};
use weft_kernel::{Object, ObjectKind, Transaction};

use super::Session;
use super::answers::unsupported;
use super::domains::drop_domain;
use super::type_objects::{check_free, own};
use crate::ddl::dependents;
use crate::domains::{DOMAIN, is_domain};
use crate::notice::Notice;
use crate::outcome::{Outcome, Tag};
use crate::parse::{fold, table_name};
use crate::resolve;
use crate::types::{self, ID, LABELS};

/// Whether a stored text names a type.
fn names(text: &str, id: EnumId) -> bool {
    text.contains(&id.fixed_name())
}

/// CREATE TYPE name AS ENUM
pub(super) fn create(
    session: &mut Session,
    name: &ObjectName,
    representation: Option<&UserDefinedTypeRepresentation>,
) -> Result<Outcome> {
    let Some(UserDefinedTypeRepresentation::Enum { labels }) = representation else {
        let error = unsupported("a type that is no enum");
        return Err(session.fail(error.hint("CREATE TYPE name AS ENUM ('a', 'b'); for records take columns, or jsonb")));
    };
    session.in_statement(|work| {
        work.check_writable("CREATE TYPE")?;
        let (namespace, name) = resolve::creation(work.txn, &table_name(name)?)?;
        work.permit.check_creates_in(work.txn, namespace)?;
        check_free(work.txn, namespace, &name)?;
        let labels = Labels::new(&name, labels.iter().map(|label| label.value.as_str()))?;
        let mut object = Object::new(ObjectKind::Type, namespace, name);
        // Random, and another for other labels: simulations draw alike.
        let text = labels.to_text();
        let id = EnumId::new(work.txn.engine().env().rng.next_u64() ^ hash_bytes(text.as_bytes()));
        object.properties.insert(ID.to_owned(), format!("{:012x}", id.bits()));
        object.properties.insert(LABELS.to_owned(), text);
        let made = work.txn.put_object(object)?;
        types::note(work.txn, &made)?;
        Ok(Outcome::done(Tag::Done("CREATE TYPE")))
    })
}

/// ALTER TYPE
pub(super) fn alter(session: &mut Session, alter: &AlterType) -> Result<Outcome> {
    session.in_statement(|work| {
        work.check_writable("ALTER TYPE")?;
        let known = own(work, &alter.name)?;
        if is_domain(&known) && !matches!(alter.operation, AlterTypeOperation::Rename(_)) {
            let message = format!("\"{}\" is not an enum", known.name);
            return Err(Error::new(Code::WrongObjectType, message).hint("ALTER DOMAIN is for domains"));
        }
        let mut object = (*known).clone();
        match &alter.operation {
            AlterTypeOperation::Rename(rename) => {
                object.name = fold(&rename.new_name);
                check_free(work.txn, known.namespace, &object.name)?;
            }
            AlterTypeOperation::AddValue(add) => {
                let labels = types::labels_of(&known)?;
                if add.if_not_exists && labels.code(&add.value.value).is_some() {
                    let message = format!("enum label \"{}\" already exists, skipping", add.value.value);
                    work.notices.push(Notice { sqlstate: "42710", ..Notice::plain(message) });
                    return Ok(Outcome::done(Tag::Done("ALTER TYPE")));
                }
                let beside = add.position.as_ref().map(|position| match position {
                    AlterTypeAddValuePosition::Before(label) => Beside::Before(&label.value),
                    AlterTypeAddValuePosition::After(label) => Beside::After(&label.value),
                });
                let labels = labels.with(&add.value.value, beside)?;
                object.properties.insert(LABELS.to_owned(), labels.to_text());
            }
            AlterTypeOperation::RenameValue(_) => {
                let error = unsupported("ALTER TYPE ... RENAME VALUE");
                return Err(error.hint("add the new label, update the rows, and leave the old label unused"));
            }
        }
        work.txn.put_object(object)?;
        Ok(Outcome::done(Tag::Done("ALTER TYPE")))
    })
}

/// DROP TYPE
pub(super) fn drop(session: &mut Session, names: &[ObjectName], if_exists: bool, cascade: bool) -> Result<Outcome> {
    session.in_statement(|work| {
        work.check_writable("DROP TYPE")?;
        let mut found = Vec::with_capacity(names.len());
        for name in names {
            match types::find(work.txn, name) {
                Some(_) => found.push(own(work, name)?),
                None if if_exists => {
                    let shown = resolve::shown(&table_name(name)?);
                    work.notices.push(Notice::plain(format!("type \"{shown}\" does not exist, skipping")));
                }
                None => return Err(types::missing(name)),
            }
        }
        for object in found {
            drop_type(work.txn, &object, cascade, work.notices)?;
        }
        Ok(Outcome::done(Tag::Done("DROP TYPE")))
    })
}

/// Drops a type that no column has; with `cascade` also views that name it.
pub(super) fn drop_type(
    txn: &mut Transaction,
    object: &Arc<Object>,
    cascade: bool,
    notices: &mut Vec<Notice>,
) -> Result<()> {
    if is_domain(object) {
        return drop_domain(txn, object, cascade, notices);
    }
    let id = types::id_of(object)?;
    let is_it = |data_type: DataType| data_type.element().unwrap_or(data_type) == DataType::Enum(id);
    for def in txn.tables() {
        let column = def.schema.visible().find(|(_, column)| is_it(column.data_type));
        let stored = def.defaults.iter().flatten().chain(def.checks.iter().map(|(_, text)| text));
        let is_named = stored.chain(def.properties.values()).any(|text| names(text, id));
        let what = match column {
            Some((_, column)) => format!("column {} of table {}", column.name, def.name),
            None if is_named => format!("table {}", def.name),
            None => continue,
        };
        let message = format!("cannot drop type {} because other objects depend on it", object.name);
        let hint = format!("{what} depends on type {}; drop or change it first", object.name);
        return Err(Error::new(Code::DependentObjects, message).hint(hint));
    }
    let made_of_it = |other: &Object| other.property(DOMAIN).is_some_and(|text| names(text, id));
    if let Some((domain, _)) = txn.objects_of(ObjectKind::Type).iter().find(|(other, _)| made_of_it(other)) {
        let message = format!("cannot drop type {} because other objects depend on it", object.name);
        let hint = format!("type {} depends on type {}; drop it first", domain.name, object.name);
        return Err(Error::new(Code::DependentObjects, message).hint(hint));
    }
    let reading = txn.objects().into_iter().filter(|other| other.properties.values().any(|text| names(text, id)));
    let what = format!("type {}", object.name);
    for other in reading.collect::<Vec<_>>() {
        match other.kind {
            ObjectKind::View => dependents::drop_dependent(txn, &other, &what, cascade, notices)?,
            ObjectKind::Function => dependents::drop_caller(txn, &other, &what, cascade, notices)?,
            _ => {}
        }
    }
    txn.drop_object(object)
}
