//! The versions of relations, by name and by id.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use weft_contract::{SchemaId, Table, TableDef, Upkeep};
use weft_env::sync::RwLock;
use weft_format::{Result, TableId, Timestamp};

use super::building::Buildings;
use super::codec::CatalogImage;
use super::columns_ref::ColumnsRef;
use super::index_ref::IndexRef;
use super::objects::{Object, Objects};
use super::relation::Relation;
use super::sequence::Sequences;
use super::table_ref::TableRef;
use crate::fault::{Fault, active};
use crate::timeline::{Horizon, Timeline};

/// One definition of a relation, since when it holds, and from when on another does.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) relation: Relation,
    pub(crate) create_ts: Timestamp,
    pub(crate) end_ts: Timestamp,
}

impl Entry {
    fn visible(&self, read_ts: Timestamp) -> bool {
        self.create_ts <= read_ts && read_ts < self.end_ts && read_ts < self.relation.drop_ts()
    }

    /// Since when an opening counts it: of a column index the commit that made it, whatever its name was then, for it
    /// has what was fed since (columns 2).
    fn since(&self) -> Timestamp {
        self.relation.columns().map_or(self.create_ts, ColumnsRef::made_at)
    }

    fn is_alive(&self) -> bool {
        self.end_ts == Timestamp::MAX && self.relation.is_alive()
    }
}

/// All versions that some snapshot may still see.
pub(crate) struct Catalog {
    state: RwLock<State>,
    /// Timestamp of the last DDL installed.
    last_ddl: AtomicU64,
    /// Schemas, views, sequences and the like.
    pub(crate) objects: Objects,
    pub(crate) sequences: Sequences,
    /// Indexes that transactions are making.
    pub(crate) buildings: Buildings,
    /// How far back definitions are kept.
    horizon: Horizon,
    timeline: Arc<Timeline>,
}

#[derive(Default)]
struct State {
    by_name: HashMap<SchemaId, HashMap<String, Vec<Entry>>>,
    /// The definitions of each relation, oldest first.
    by_id: BTreeMap<TableId, Vec<Entry>>,
    /// Timestamps of DDL commits, ascending.
    ddl: Vec<Timestamp>,
    next_id: u32,
    /// The cut of the last catalog edit in the manifest.
    durable_cut: Timestamp,
}

impl Catalog {
    /// An empty catalog; the first table gets id 1.
    pub(crate) fn new(timeline: Arc<Timeline>) -> Catalog {
        Catalog {
            state: RwLock::new(State { next_id: 1, ..State::default() }),
            last_ddl: AtomicU64::default(),
            objects: Objects::default(),
            sequences: Sequences::default(),
            buildings: Buildings::default(),
            horizon: Horizon::of_catalog(timeline.clone()),
            timeline,
        }
    }

    /// The relation of a name at a timestamp.
    pub(crate) fn find(&self, namespace: SchemaId, name: &str, read_ts: Timestamp) -> Option<Relation> {
        let state = self.state.read();
        let versions = state.by_name.get(&namespace)?.get(name)?;
        versions.iter().rev().find(|entry| entry.visible(read_ts)).map(|entry| entry.relation.clone())
    }

    /// The newest version of a name that is alive now.
    pub(crate) fn newest(&self, namespace: SchemaId, name: &str) -> Option<Entry> {
        let state = self.state.read();
        let newest = state.by_name.get(&namespace)?.get(name)?.last()?;
        newest.is_alive().then(|| newest.clone())
    }

    /// The relation of an id under its newest definition, dropped or not, as long as something may still need it.
    pub(crate) fn by_id(&self, id: TableId) -> Option<Relation> {
        self.state.read().newest_of(id).cloned()
    }

    /// The same of a table.
    pub(crate) fn table_by_id(&self, id: TableId) -> Option<TableRef> {
        self.by_id(id)?.into_table()
    }

    /// Why no statement and no job can use a relation: itself, or the table of an index.
    pub(crate) fn is_unavailable(&self, relation: &Relation) -> bool {
        let owner = relation.owner().and_then(|table| self.by_id(table));
        let is_one = |relation: &Relation| relation.upkeep().unavailable().is_some();
        is_one(relation) || owner.as_ref().is_some_and(is_one)
    }

    /// The relation of an id as a snapshot sees it.
    pub(crate) fn by_id_at(&self, id: TableId, read_ts: Timestamp) -> Option<Relation> {
        let state = self.state.read();
        let mut versions = state.by_id.get(&id)?.iter().rev();
        versions.find(|entry| entry.visible(read_ts)).map(|entry| entry.relation.clone())
    }

    /// The relations visible at a timestamp, by id.
    pub(crate) fn visible(&self, read_ts: Timestamp) -> Vec<Relation> {
        let state = self.state.read();
        let versions = state.by_id.values().flatten();
        versions.filter(|entry| entry.visible(read_ts)).map(|entry| entry.relation.clone()).collect()
    }

    /// All relations that jobs, redo or readers may need, dropped ones too.
    pub(crate) fn all(&self) -> Vec<Relation> {
        self.state.read().by_id.values().filter_map(|versions| Some(versions.last()?.relation.clone())).collect()
    }

    /// The dropped relations that no snapshot sees.
    pub(crate) fn unseen(&self) -> Vec<Relation> {
        let mut dropped = self.all();
        let reach = self.horizon.peek();
        dropped.retain(|relation| relation.drop_ts() <= reach);
        // Those of one drop go together, or none.
        let Some(last) = dropped.iter().map(Relation::drop_ts).max() else { return dropped };
        let horizon = self.horizon.advance(last);
        dropped.retain(|relation| relation.drop_ts() <= horizon);
        dropped
    }

    /// Tests that definitions are known as a registered snapshot sees them.
    pub(crate) fn check_kept(&self, read_ts: Timestamp) -> Result<()> {
        self.horizon.check(read_ts, || "the catalog".into())
    }

    /// From where on definitions are known.
    pub(crate) fn floor(&self) -> Timestamp {
        self.horizon.floor()
    }

    /// An id that was never used.
    pub(crate) fn allocate_id(&self) -> TableId {
        let mut state = self.state.write();
        let id = state.next_id;
        assert!(id > 0, "number 0 is the catalog's own");
        assert!(!state.by_id.contains_key(&TableId(id)), "an id is never used again (catalog 3)");
        state.next_id = id.checked_add(1).expect("four billion tables were never created");
        TableId(id)
    }

    /// A relation becomes visible to snapshots from `ts` on.
    pub(crate) fn install_create(&self, ts: Timestamp, relation: Relation) {
        assert!(relation.is_alive(), "what is made is alive from its commit on");
        if let Some(index) = relation.index() {
            index.index.set_ready(ts);
        }
        if let Some(columns) = relation.columns() {
            columns.set_made(ts);
        }
        let entry = Entry { relation: relation.clone(), create_ts: ts, end_ts: Timestamp::MAX };
        let mut state = self.state.write();
        state.add_name(ts, &entry);
        let def = entry.relation.def().clone();
        state.next_id = state.next_id.max(def.id.0 + 1);
        let before = state.by_id.insert(def.id, vec![entry]);
        assert!(before.is_none(), "relation {} is made twice (catalog 3)", def.id);
        state.each_parent(&def, |parent| parent.shared.link(def.id));
        // It is fed from its own commit on; one that could not be opened is not (columns 2).
        if let Some(columns) = relation.columns()
            && columns.index.is_some()
            && let Some(owner) = state.newest_table(columns.table())
        {
            owner.shared.add_columns(columns.clone());
        }
        state.note_ddl(ts);
        self.last_ddl.fetch_max(ts.0, Ordering::AcqRel);
    }

    /// All definitions of a table are those of another storage from now on; at recovery.
    pub(crate) fn replace_table(&self, id: TableId, table: &Arc<dyn Table>) {
        let mut state = self.state.write();
        for entry in state.all_entries() {
            if let Relation::Table(known) = &mut entry.relation
                && known.def.id == id
            {
                known.table = table.clone();
            }
        }
    }

    /// All definitions of an index are those of one whose files another keeps; at recovery.
    pub(crate) fn replace_index(&self, id: TableId, upkeep: &Arc<dyn Upkeep>) {
        let mut state = self.state.write();
        for entry in state.all_entries() {
            if let Relation::Index(known) = &mut entry.relation
                && known.id() == id
            {
                *known = known.kept_by(upkeep.clone());
            }
        }
    }

    /// The same of a column index, which its table feeds no more.
    pub(crate) fn replace_columns(&self, id: TableId, upkeep: &Arc<dyn Upkeep>) {
        let mut state = self.state.write();
        for entry in state.all_entries() {
            if let Relation::Columns(known) = &mut entry.relation
                && known.id() == id
            {
                *known = known.kept_by(upkeep.clone());
            }
        }
        let owner = state.newest_of(id).and_then(Relation::owner);
        if let Some(owner) = owner.and_then(|owner| state.newest_table(owner)) {
            owner.shared.remove_index(id);
        }
    }

    /// Tells all tables who refers to them: an image lists tables by id, and a foreign key may refer to a younger one.
    pub(crate) fn link_all(&self) {
        let state = self.state.write();
        for entry in state.by_id.values().filter_map(|versions| versions.last()) {
            let def = entry.relation.def();
            state.each_parent(def, |parent| parent.shared.link(def.id));
        }
    }

    /// A relation has another definition for snapshots from `ts` on (catalog 5).
    pub(crate) fn install_alter(&self, ts: Timestamp, relation: Relation) {
        let def = relation.def().clone();
        let mut state = self.state.write();
        let before = state.end_definition(ts, def.id);
        if let Some(index) = relation.index()
            && let Some(owner) = state.newest_table(index.index.table())
        {
            owner.shared.replace_index(index);
        }
        if let Some(columns) = relation.columns()
            && let Some(owner) = state.newest_table(columns.table())
        {
            owner.shared.replace_columns(columns);
        }
        assert!(before.schema.version < def.schema.version, "definitions follow each other (catalog 5)");
        relation.life().commit_schema(def.schema.version);
        let entry = Entry { relation, create_ts: ts, end_ts: Timestamp::MAX };
        state.add_name(ts, &entry);
        let versions = state.by_id.entry(def.id).or_default();
        versions.push(entry);
        let is_next = |pair: &[Entry]| pair[0].end_ts == pair[1].create_ts;
        debug_assert!(versions.windows(2).all(is_next), "definitions follow each other without a gap (catalog 5)");
        state.each_parent(&before, |parent| parent.shared.unlink(def.id));
        state.each_parent(&def, |parent| parent.shared.link(def.id));
        state.note_ddl(ts);
        self.last_ddl.fetch_max(ts.0, Ordering::AcqRel);
    }

    /// An object is there, or is another, from `ts` on.
    pub(crate) fn install_object(&self, ts: Timestamp, object: Arc<Object>) {
        assert!(object.id > 0, "an object has its number before it is put into the catalog (objects 2)");
        let mut state = self.state.write();
        state.next_id = state.next_id.max(object.id + 1);
        self.objects.install(ts, object);
        state.note_ddl(ts);
        self.last_ddl.fetch_max(ts.0, Ordering::AcqRel);
    }

    /// An object is gone from `ts` on; false when it is not there.
    pub(crate) fn install_object_drop(&self, ts: Timestamp, id: u32) -> bool {
        let mut state = self.state.write();
        let was_there = self.objects.install_drop(ts, id);
        state.note_ddl(ts);
        self.last_ddl.fetch_max(ts.0, Ordering::AcqRel);
        was_there
    }

    /// A relation is invisible to snapshots from `ts` on.
    pub(crate) fn install_drop(&self, ts: Timestamp, id: TableId) {
        let mut state = self.state.write();
        let relation = state.newest_of(id).expect("a relation that is dropped was created");
        assert!(relation.is_alive(), "relation {id} is dropped twice (catalog 1)");
        relation.life().drop_at(ts);
        if let Some(owner) = relation.owner().and_then(|owner| state.newest_table(owner)) {
            owner.shared.remove_index(id);
        }
        let def = relation.def().clone();
        state.each_parent(&def, |parent| parent.shared.unlink(id));
        state.note_ddl(ts);
        self.last_ddl.fetch_max(ts.0, Ordering::AcqRel);
    }

    /// Lets go of a dropped relation.
    pub(crate) fn remove(&self, id: TableId) {
        let mut state = self.state.write();
        for entry in state.by_id.remove(&id).unwrap_or_default() {
            assert!(!entry.relation.is_alive(), "relation {id} is alive");
            state.retain_name(&entry, |version| version.relation.id() != id);
        }
    }

    /// Timestamp of the last DDL, the catalog's version.
    pub(crate) fn last_ddl(&self) -> Timestamp {
        Timestamp(self.last_ddl.load(Ordering::Acquire))
    }

    /// Timestamp of the last DDL at or before `read_ts`.
    pub(crate) fn version_at(&self, read_ts: Timestamp) -> Timestamp {
        let last = self.last_ddl();
        if last <= read_ts {
            return last;
        }
        let state = self.state.read();
        let count = state.ddl.partition_point(|&ts| ts <= read_ts);
        count.checked_sub(1).map_or(Timestamp(0), |index| state.ddl[index])
    }

    /// Forgets which DDL happened when, below the oldest snapshot.
    pub(crate) fn prune_versions(&self) {
        let horizon = self.horizon.advance(self.last_ddl());
        let mut state = self.state.write();
        let keep_from = state.ddl.partition_point(|&ts| ts <= horizon).saturating_sub(1);
        state.ddl.drain(..keep_from);
        let is_gone = |entry: &Entry| entry.end_ts <= horizon;
        let gone: Vec<Entry> = state.by_id.values().flatten().filter(|entry| is_gone(entry)).cloned().collect();
        for entry in gone {
            if let Some(versions) = state.by_id.get_mut(&entry.relation.id()) {
                versions.retain(|version| !is_gone(version));
            }
            state.retain_name(&entry, |version| !is_gone(version));
        }
        let has_newest = |versions: &Vec<Entry>| versions.last().is_some_and(|last| last.end_ts == Timestamp::MAX);
        debug_assert!(state.by_id.values().all(has_newest), "a relation has its newest definition until it is removed");
        drop(state);
        self.objects.prune(horizon);
    }

    /// What the manifest stores: the tables alive at `cut` (catalog 3).
    pub(crate) fn image(&self, cut: Timestamp) -> CatalogImage {
        let sequences = self.sequences.image();
        let last_ddl = self.version_at(cut);
        let state = self.state.read();
        let mut tables: Vec<&Entry> = state.by_id.values().flatten().filter(|entry| entry.visible(cut)).collect();
        // An index comes behind its table, which may have been stored anew since.
        tables.sort_by_key(|entry| (entry.relation.owner().is_some(), entry.relation.id()));
        CatalogImage {
            next_id: state.next_id,
            tables: tables.into_iter().map(|entry| (entry.since(), entry.relation.def().clone())).collect(),
            objects: self.objects.image(cut),
            sequences,
            last_ddl: Some(last_ddl),
            walls: self.timeline.walls.image(cut),
        }
    }

    /// An opening has the definitions of the manifest's image, or none when there is no image: snapshots from `ts` on
    /// see them, and what the log has of later ones.
    pub(crate) fn known_from(&self, ts: Timestamp) {
        self.horizon.known_from(ts);
        if ts > Timestamp(0) {
            self.state.write().note_ddl(ts);
            self.last_ddl.fetch_max(ts.0, Ordering::AcqRel);
        }
    }

    /// The id below which every id may have been used.
    pub(crate) fn raise_next_id(&self, next_id: u32) {
        let mut state = self.state.write();
        state.next_id = state.next_id.max(next_id);
    }

    /// The cut of the last catalog edit in the manifest.
    pub(crate) fn durable_cut(&self) -> Timestamp {
        self.state.read().durable_cut
    }

    /// A catalog edit with this cut is durable.
    pub(crate) fn set_durable_cut(&self, cut: Timestamp) {
        let mut state = self.state.write();
        assert!(cut >= state.durable_cut, "catalog cuts do not go back");
        state.durable_cut = cut;
    }

    /// What jobs work on: tables and indexes that are alive, those under construction too. By id, but for one that is
    /// just being committed, which may come twice.
    pub(crate) fn maintained(&self) -> Vec<Relation> {
        // First: one that leaves meanwhile is in the catalog by then (buildings 1).
        let building = if active(Fault::OVERLOOK_BUILDING) { Vec::new() } else { self.buildings.alive() };
        let mut maintained = self.all();
        maintained.retain(Relation::is_alive);
        let is_new = |index: &IndexRef| maintained.iter().all(|known| known.id() != index.id());
        let building: Vec<IndexRef> = building.into_iter().filter(is_new).collect();
        maintained.extend(building.into_iter().map(Relation::from));
        maintained
    }

    /// The one of these with an id.
    pub(crate) fn maintained_by_id(&self, id: TableId) -> Option<Relation> {
        let building = self.buildings.alive().into_iter().find(|index| index.id() == id).map(Relation::from);
        building.or_else(|| self.by_id(id).filter(Relation::is_alive))
    }
}

impl State {
    fn newest_of(&self, id: TableId) -> Option<&Relation> {
        Some(&self.by_id.get(&id)?.last()?.relation)
    }

    fn all_entries(&mut self) -> impl Iterator<Item = &mut Entry> {
        let by_id = self.by_id.values_mut().flatten();
        by_id.chain(self.by_name.values_mut().flat_map(HashMap::values_mut).flatten())
    }

    fn newest_table(&self, id: TableId) -> Option<&TableRef> {
        self.newest_of(id)?.table()
    }

    /// A definition's name is taken from `ts` on.
    fn add_name(&mut self, ts: Timestamp, entry: &Entry) {
        let def = entry.relation.def();
        let versions = self.by_name.entry(def.namespace).or_default().entry(def.name.clone()).or_default();
        let is_free = versions.last().is_none_or(|last| last.relation.drop_ts().min(last.end_ts) <= ts);
        assert!(is_free, "two relations {} at {ts} (catalog 1)", def.name);
        versions.push(entry.clone());
    }

    /// The newest definition of a table ends at `ts`; returns it.
    fn end_definition(&mut self, ts: Timestamp, id: TableId) -> Arc<TableDef> {
        let versions = self.by_id.get_mut(&id).expect("a table that is altered was created");
        let last = versions.last_mut().expect("a table has a definition");
        assert_eq!(last.end_ts, Timestamp::MAX, "the newest definition has no end (catalog 5)");
        assert!(last.relation.is_alive(), "a relation that was dropped is not altered (catalog 1)");
        last.end_ts = ts;
        let def = last.relation.def().clone();
        // Altered twice by one transaction.
        versions.retain(|version| version.create_ts < version.end_ts);
        if let Some(versions) = self.by_name.get_mut(&def.namespace).and_then(|names| names.get_mut(&def.name)) {
            for version in versions.iter_mut().filter(|version| version.relation.id() == id) {
                version.end_ts = version.end_ts.min(ts);
            }
            versions.retain(|version| version.create_ts < version.end_ts);
        }
        def
    }

    /// Keeps those of the versions under the name of a definition.
    fn retain_name(&mut self, entry: &Entry, keep: impl FnMut(&Entry) -> bool) {
        let def = entry.relation.def();
        let Some(names) = self.by_name.get_mut(&def.namespace) else { return };
        if let Some(versions) = names.get_mut(&def.name) {
            versions.retain(keep);
            if versions.is_empty() {
                names.remove(&def.name);
            }
        }
    }

    /// The tables that a definition's foreign keys refer to.
    fn each_parent(&self, def: &TableDef, visit: impl Fn(&TableRef)) {
        for foreign_key in &def.foreign_keys {
            if let Some(parent) = self.newest_table(foreign_key.parent) {
                visit(parent);
            }
        }
    }

    fn note_ddl(&mut self, ts: Timestamp) {
        if self.ddl.last() != Some(&ts) {
            // Two transactions with DDL on different names may install in any order before both are published.
            let at = self.ddl.partition_point(|&earlier| earlier < ts);
            if self.ddl.get(at) != Some(&ts) {
                self.ddl.insert(at, ts);
            }
        }
        debug_assert!(self.ddl.is_sorted_by(|a, b| a < b), "the timestamps of DDL ascend");
    }
}
