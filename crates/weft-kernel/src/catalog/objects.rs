//! What the catalog holds beside tables and indexes: schemas, views, sequences, comments; by kind, schema and name.
//!
//! ```text
//!   id  kind      schema  name   properties                          from  to
//!   17  view      0       v      { query: "SELECT a FROM t", ... }      3  40     replaced at 40
//!   17  view      0       v      { query: "SELECT a, b FROM t", ... }  40   ∞
//!   18  sequence  0       s      { increment: "1", ... }               41   ∞
//! ```
//!
//! The kernel versions, logs and stores them; what their properties mean is the business of who put them there.
//!
//! 1. At any timestamp one object has an id, and one object a kind, schema and name.
//! 2. Ids are of the same numbers as those of tables and indexes, and are never used again.
//!
//! Concurrency: one RwLock, held for map operations only; who puts an object holds the lock on its name.

use std::collections::BTreeMap;
use std::sync::Arc;

use weft_env::sync::RwLock;
use weft_format::Timestamp;

use weft_contract::SchemaId;

/// What an object is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ObjectKind {
    /// A schema beside `public`.
    Schema,
    /// A view: a relation.
    View,
    /// A sequence: a relation.
    Sequence,
    /// A comment; its name says on what.
    Comment,
    /// A type.
    Type,
    /// Whatever else the layers above keep; its name says what.
    Other,
    /// A function; its name has the types of its arguments.
    Function,
}

impl ObjectKind {
    /// Whether its names are of one space with those of tables and indexes.
    pub fn is_relation(self) -> bool {
        matches!(self, ObjectKind::View | ObjectKind::Sequence)
    }
}

/// One object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    /// Its number; zero before it is put into the catalog for the first time.
    pub id: u32,
    /// What it is.
    pub kind: ObjectKind,
    /// The schema that its name is in.
    pub namespace: SchemaId,
    /// Name, folded to lower case unless it was quoted.
    pub name: String,
    /// What it says.
    pub properties: BTreeMap<String, String>,
    /// The numbers of the relations and objects that it needs.
    pub needs: Vec<u32>,
}

impl Object {
    /// An object that the catalog does not know yet.
    pub fn new(kind: ObjectKind, namespace: SchemaId, name: impl Into<String>) -> Object {
        Object { id: 0, kind, namespace, name: name.into(), properties: BTreeMap::new(), needs: Vec::new() }
    }

    /// A property.
    pub fn property(&self, name: &str) -> Option<&str> {
        self.properties.get(name).map(String::as_str)
    }

    fn key(&self) -> Key {
        (self.kind, self.namespace, self.name.clone())
    }
}

type Key = (ObjectKind, SchemaId, String);

#[derive(Clone)]
struct Version {
    object: Arc<Object>,
    from: Timestamp,
    to: Timestamp,
}

impl Version {
    fn is_visible(&self, read_ts: Timestamp) -> bool {
        self.from <= read_ts && read_ts < self.to
    }
}

/// All versions that some snapshot may still see.
#[derive(Default)]
pub(crate) struct Objects {
    state: RwLock<State>,
}

#[derive(Default)]
struct State {
    by_key: BTreeMap<Key, Vec<Version>>,
    /// The key of the newest version of each object that is alive.
    by_id: BTreeMap<u32, Key>,
}

impl Objects {
    /// The object of a name at a timestamp.
    pub(crate) fn find(
        &self,
        kind: ObjectKind,
        namespace: SchemaId,
        name: &str,
        read_ts: Timestamp,
    ) -> Option<Arc<Object>> {
        let state = self.state.read();
        let versions = state.by_key.get(&(kind, namespace, name.to_owned()))?;
        versions.iter().rev().find(|version| version.is_visible(read_ts)).map(|version| version.object.clone())
    }

    /// The object of a name that is alive now.
    pub(crate) fn newest(&self, kind: ObjectKind, namespace: SchemaId, name: &str) -> Option<Arc<Object>> {
        let state = self.state.read();
        let last = state.by_key.get(&(kind, namespace, name.to_owned()))?.last()?;
        (last.to == Timestamp::MAX).then(|| last.object.clone())
    }

    /// Whether there are objects of a kind.
    pub(crate) fn has(&self, kind: ObjectKind) -> bool {
        let state = self.state.read();
        let first = state.by_key.range((kind, SchemaId(0), String::new())..).next();
        first.is_some_and(|((known, ..), _)| *known == kind)
    }

    /// The objects of a kind visible at a timestamp, by schema and name.
    pub(crate) fn of_kind(&self, kind: ObjectKind, read_ts: Timestamp) -> Vec<Arc<Object>> {
        let state = self.state.read();
        let from = state.by_key.range((kind, SchemaId(0), String::new())..);
        let versions = from.take_while(|((known, ..), _)| *known == kind).flat_map(|(_, versions)| versions);
        versions.filter(|version| version.is_visible(read_ts)).map(|version| version.object.clone()).collect()
    }

    /// The objects visible at a timestamp, by kind, schema and name.
    pub(crate) fn visible(&self, read_ts: Timestamp) -> Vec<Arc<Object>> {
        self.image(read_ts).into_iter().map(|(_, object)| object).collect()
    }

    /// The objects alive at a timestamp, and since when they are as they are.
    pub(crate) fn image(&self, cut: Timestamp) -> Vec<(Timestamp, Arc<Object>)> {
        let state = self.state.read();
        let versions = state.by_key.values().flatten().filter(|version| version.is_visible(cut));
        versions.map(|version| (version.from, version.object.clone())).collect()
    }

    /// An object is there, or is another, for snapshots from `ts` on.
    pub(crate) fn install(&self, ts: Timestamp, object: Arc<Object>) {
        let mut state = self.state.write();
        state.end(ts, object.id);
        let key = object.key();
        state.by_id.insert(object.id, key.clone());
        let versions = state.by_key.entry(key).or_default();
        assert!(versions.last().is_none_or(|last| last.to <= ts), "two objects {} at {ts} (objects 1)", object.name);
        versions.push(Version { object, from: ts, to: Timestamp::MAX });
    }

    /// An object is gone for snapshots from `ts` on; false when it is not there.
    pub(crate) fn install_drop(&self, ts: Timestamp, id: u32) -> bool {
        self.state.write().end(ts, id)
    }

    /// Forgets what no snapshot at or above `horizon` sees.
    pub(crate) fn prune(&self, horizon: Timestamp) {
        let mut state = self.state.write();
        if state.by_key.values().flatten().any(|version| version.to <= horizon) {
            state.by_key.values_mut().for_each(|versions| versions.retain(|version| version.to > horizon));
            state.by_key.retain(|_, versions| !versions.is_empty());
        }
    }
}

impl State {
    fn end(&mut self, ts: Timestamp, id: u32) -> bool {
        let Some(key) = self.by_id.remove(&id) else { return false };
        if let Some(versions) = self.by_key.get_mut(&key) {
            if let Some(last) = versions.last_mut() {
                assert_eq!(last.object.id, id, "the newest version of a name is of who has it (objects 1)");
                assert_eq!(last.to, Timestamp::MAX, "what is alive has no end (objects 1)");
                last.to = ts;
            }
            // Put twice by one transaction.
            versions.retain(|version| version.from < version.to);
        }
        true
    }
}
