//! Objects inside a transaction: schemas, views, sequences, comments.
//!
//! ```text
//!   put     the lock on its name ─ nobody else has changed it since the snapshot ─ another version from the commit on
//!   drop    the same
//! ```

use std::sync::Arc;

use weft_format::{Code, Error, Result};

use super::journal::Step;
use super::own_ddl::OwnDdl;
use super::transaction::Transaction;
use crate::catalog::{Object, ObjectKind, Relation, SchemaId, TableRef};
use crate::lock::{LockMode, LockName};

/// What a transaction made and dropped.
#[derive(Default)]
pub struct DdlSince {
    /// Tables that were made.
    pub made: Vec<TableRef>,
    /// The numbers of tables that were dropped.
    pub dropped: Vec<u32>,
    /// Objects that were made.
    pub made_objects: Vec<Arc<Object>>,
    /// Objects that were dropped.
    pub dropped_objects: Vec<Arc<Object>>,
}

impl Transaction {
    /// An object by its kind, schema and exact name, own DDL included.
    pub fn object(&self, kind: ObjectKind, namespace: SchemaId, name: &str) -> Option<Arc<Object>> {
        match self.own_object(kind, namespace, name) {
            Some(own) => own,
            None => self.core().catalog.objects.find(kind, namespace, name, self.objects_ts(kind)),
        }
    }

    /// An object by its number, own DDL included.
    pub fn object_of(&self, id: u32) -> Option<Arc<Object>> {
        self.objects().into_iter().find(|object| object.id == id)
    }

    /// All objects, by kind, schema and name; own DDL included.
    pub fn objects(&self) -> Vec<Arc<Object>> {
        let known = &self.core().catalog.objects;
        let mut objects = known.visible(self.read_ts);
        let of_now = self.objects_ts(ObjectKind::Other);
        let mut is_changed = of_now != self.read_ts;
        if is_changed {
            let is_of_now = |object: &Arc<Object>| object.kind == ObjectKind::Other;
            objects.retain(|object| !is_of_now(object));
            objects.extend(known.visible(of_now).into_iter().filter(is_of_now));
        }
        for ddl in &self.ddl {
            if let OwnDdl::Object(before, after) = ddl {
                objects.retain(|object| before.as_ref().is_none_or(|before| before.id != object.id));
                objects.extend(after.clone());
                is_changed = true;
            }
        }
        if is_changed {
            objects.sort_by(|a, b| (a.kind, a.namespace, &a.name).cmp(&(b.kind, b.namespace, &b.name)));
        }
        objects
    }

    /// The objects of a kind, own DDL included, each with what it was when this transaction began, or made it.
    pub fn objects_of(&self, kind: ObjectKind) -> Vec<(Arc<Object>, Arc<Object>)> {
        let known = self.core().catalog.objects.of_kind(kind, self.objects_ts(kind));
        let mut objects: Vec<(Arc<Object>, Arc<Object>)> =
            known.into_iter().map(|object| (object.clone(), object)).collect();
        for ddl in &self.ddl {
            let OwnDdl::Object(before, after) = ddl else { continue };
            let at = before.as_ref().and_then(|before| objects.iter().position(|(object, _)| object.id == before.id));
            let first = at.map(|at| objects.remove(at).1);
            if let Some(after) = after.as_ref().filter(|after| after.kind == kind) {
                objects.push((after.clone(), first.unwrap_or_else(|| after.clone())));
            }
        }
        objects
    }

    /// Keeps an object from being changed or dropped until this transaction ends; it must be what it sees.
    pub fn hold_object(&mut self, object: &Object) -> Result<()> {
        let (kind, SchemaId(namespace), name) = (object.kind, object.namespace, &object.name);
        let lock = LockName::table_name(&format!("{kind:?}\0{namespace}\0{name}"));
        self.lock(lock, LockMode::SHARED, self.lock_wait(), &|| format!("the name {name:?}"))?;
        if self.newest_object(kind, object.namespace, name).is_some_and(|newest| newest.id == object.id) {
            return Ok(());
        }
        let message = format!("\"{name}\" was changed by a concurrent transaction");
        Err(Error::new(Code::SerializationFailure, message).hint("run the transaction again"))
    }

    /// Whether there are objects of a kind at all, for who need not look then.
    pub fn has_objects(&self, kind: ObjectKind) -> bool {
        let is_one = |object: &Option<Arc<Object>>| object.as_ref().is_some_and(|object| object.kind == kind);
        self.core().catalog.objects.has(kind)
            || self.ddl.iter().any(|ddl| matches!(ddl, OwnDdl::Object(_, after) if is_one(after)))
    }

    /// How many steps of DDL the transaction has made, for [`Transaction::ddl_since`].
    pub fn ddl_count(&self) -> usize {
        self.ddl.len()
    }

    /// The tables and objects that the transaction made and dropped since it had made so many steps of DDL; a table
    /// that was stored anew is among both.
    pub fn ddl_since(&self, count: usize) -> DdlSince {
        let mut since = DdlSince::default();
        for ddl in self.ddl.iter().skip(count) {
            match ddl {
                OwnDdl::Create(Relation::Table(table)) => since.made.push(table.clone()),
                OwnDdl::Drop(Relation::Table(table)) => since.dropped.push(table.def.oid),
                OwnDdl::Object(None, Some(object)) => since.made_objects.push(object.clone()),
                OwnDdl::Object(Some(object), None) => since.dropped_objects.push(object.clone()),
                _ => {}
            }
        }
        since
    }

    /// Puts an object: a new one (its id is zero) or a version of one that is there. A name that is taken is
    /// [`Code::DuplicateTable`] or [`Code::DuplicateObject`].
    pub fn put_object(&mut self, mut object: Object) -> Result<Arc<Object>> {
        self.core().check_writable()?;
        let before = if object.id == 0 { None } else { self.object_of(object.id) };
        let is_named_so = |known: &Arc<Object>| (known.namespace, &known.name) == (object.namespace, &object.name);
        if !before.as_ref().is_some_and(is_named_so) {
            self.lock_free_object(&object)?;
        }
        match &before {
            Some(before) => self.lock_object(before)?,
            None => object.id = self.core().catalog.allocate_id().0,
        }
        assert!(object.id != 0, "an object that was put has a number");
        let object = Arc::new(object);
        self.ddl.push(OwnDdl::Object(before, Some(object.clone())));
        self.journal.note(|| Step::Ddl);
        Ok(object)
    }

    /// Drops an object; others see it until commit.
    pub fn drop_object(&mut self, object: &Arc<Object>) -> Result<()> {
        self.core().check_writable()?;
        self.lock_object(object)?;
        self.ddl.push(OwnDdl::Object(Some(object.clone()), None));
        self.journal.note(|| Step::Ddl);
        Ok(())
    }

    /// A view or a sequence that has a name now, whatever the snapshot shows.
    pub(super) fn newest_relation_object(&self, namespace: SchemaId, name: &str) -> Option<Arc<Object>> {
        let kinds = [ObjectKind::View, ObjectKind::Sequence];
        kinds.into_iter().find_map(|kind| self.newest_object(kind, namespace, name))
    }

    fn newest_object(&self, kind: ObjectKind, namespace: SchemaId, name: &str) -> Option<Arc<Object>> {
        match self.own_object(kind, namespace, name) {
            Some(own) => own,
            None => self.core().catalog.objects.newest(kind, namespace, name),
        }
    }

    /// What the transaction's own DDL says of a name.
    fn own_object(&self, kind: ObjectKind, namespace: SchemaId, name: &str) -> Option<Option<Arc<Object>>> {
        let is_it = |object: &Option<Arc<Object>>| {
            object.as_ref().is_some_and(|o| o.kind == kind && o.namespace == namespace && o.name == name)
        };
        self.ddl.iter().rev().find_map(|ddl| match ddl {
            OwnDdl::Object(_, after) if is_it(after) => Some(after.clone()),
            OwnDdl::Object(before, _) if is_it(before) => Some(None),
            _ => None,
        })
    }

    /// Locks the name of an object that is to be made; it must be free.
    fn lock_free_object(&mut self, object: &Object) -> Result<()> {
        if object.kind.is_relation() {
            return self.lock_free_name(object.namespace, &object.name);
        }
        self.lock_object_name(object)?;
        if self.newest_object(object.kind, object.namespace, &object.name).is_none() {
            return Ok(());
        }
        let code = if object.kind == ObjectKind::Schema { Code::DuplicateSchema } else { Code::DuplicateObject };
        Err(Error::new(code, format!("\"{}\" already exists", object.name)))
    }

    /// Locks an object that is changed; it must be what this transaction sees.
    fn lock_object(&mut self, object: &Object) -> Result<()> {
        self.lock_object_name(object)?;
        let newest = self.newest_object(object.kind, object.namespace, &object.name);
        if newest.is_some_and(|newest| *newest == *object) {
            return Ok(());
        }
        let message = format!("\"{}\" was changed by a concurrent transaction", object.name);
        Err(Error::new(Code::SerializationFailure, message).hint("run the transaction again"))
    }

    fn lock_object_name(&mut self, object: &Object) -> Result<()> {
        if object.kind.is_relation() {
            return self.lock_relation_name(object.namespace, &object.name);
        }
        let (kind, SchemaId(namespace), name) = (object.kind, object.namespace, &object.name);
        let lock = LockName::table_name(&format!("{kind:?}\0{namespace}\0{name}"));
        self.lock(lock, LockMode::EXCLUSIVE, self.lock_wait(), &|| format!("the name {name:?}"))
    }
}
