//! Redo: the log's committed changes, applied in order to what the manifest knew.
//!
//! ```text
//!   Chunk 17 [a]   Commit 16 ts 75 [b]   Chunk 17 [c]   Commit 17 ts 76 [d]   Chunk 18 [e]   (end, or a new epoch)
//!   applied:  75: b     76: a c d        e never: no commit record
//! ```

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use weft_contract::{Change, Derived, RecoveredTable, Table, Upkeep};
use weft_env::Env;
use weft_format::{Error, FileId, Result, TableId, Timestamp, TxnId};

use super::tested::test_again;
use crate::catalog::{Catalog, IndexRef, Relation, TableDef, TableRef, decode_def, decode_image, decode_object};
use crate::fault::{self, Fault};
use crate::index::Index;
use crate::log::{ChangeDecoder, LogEnd, LoggedChange, Record, read_log};
use crate::method::{Methods, TableContext, Unavailable, method};
use crate::read_again::concerns_files;
use crate::services::Services;
use crate::txn::LostFile;

/// Recovery's state.
pub(super) struct Redo<'a> {
    pub(super) env: &'a Env,
    pub(super) methods: &'a Methods,
    pub(super) services: &'a Arc<Services>,
    pub(super) catalog: &'a Catalog,
    /// What the manifest knows of each table.
    pub(super) recovered: BTreeMap<TableId, RecoveredTable>,
    /// Files and cuts of the tables that are open, for those on which redo fails.
    pub(super) opened: BTreeMap<TableId, RecoveredTable>,
    /// Rows that the log changes, by table, and when it does last: their indexes are brought up to date at the end.
    pub(super) changed: BTreeMap<TableId, BTreeMap<Vec<u8>, Timestamp>>,
    /// Files that attach records name: they are no orphans although no manifest edit names them yet.
    pub(super) attached: BTreeSet<FileId>,
    /// Of these, those that cannot be read, when files are being taken out: the tables go on without them.
    pub(super) lost: Vec<LostFile>,
}

impl Redo<'_> {
    /// Opens the tables of the catalog as the manifest has it.
    pub(super) fn open_catalog(&mut self) -> Result<()> {
        let Some(recovered) = self.recovered.remove(&TableId(0)) else { return Ok(()) };
        let Some(payload) = recovered.payloads.last() else { return Ok(()) };
        let image = decode_image(payload)?;
        self.catalog.raise_next_id(image.next_id);
        for (create_ts, def) in image.tables {
            let relation = self.open_relation(def)?;
            self.catalog.install_create(create_ts, relation);
        }
        self.catalog.link_all();
        image.objects.into_iter().for_each(|(since, object)| self.catalog.install_object(since, object));
        image.sequences.into_iter().for_each(|(id, value)| self.catalog.sequences.recover(id, value));
        self.catalog.set_durable_cut(recovered.cut);
        Ok(())
    }

    /// Applies the log; returns where it ends.
    pub(super) fn run(&mut self) -> Result<LogEnd> {
        let mut reader = read_log(self.env, &self.services.dir)?;
        self.check_begin(reader.begins())?;
        let mut chunks: HashMap<TxnId, Vec<Vec<u8>>> = HashMap::new();
        let mut epoch = 0;
        while let Some(entry) = reader.next()? {
            if entry.epoch != epoch {
                epoch = entry.epoch;
                chunks.clear();
            }
            match entry.record {
                Record::Chunk { txn, changes } => chunks.entry(txn).or_default().push(changes.to_vec()),
                Record::Abort { txn } => {
                    chunks.remove(&txn);
                }
                Record::Commit { txn, ts, changes } => {
                    self.services.timeline.recover_to(ts);
                    let mut chunks = chunks.remove(&txn).unwrap_or_default();
                    if fault::active(Fault::FORGET_CHUNKS) {
                        chunks.clear();
                    }
                    for chunk in chunks {
                        self.apply(ts, &chunk)?;
                    }
                    self.apply(ts, changes)?;
                }
            }
        }
        self.feed_indexes()?;
        Ok(reader.finish())
    }

    /// Gives each index the entries of the rows that the log changed (index relation 2).
    fn feed_indexes(&mut self) -> Result<()> {
        let mut value = Vec::new();
        if fault::active(Fault::FORGET_REDO_ENTRY) {
            return Ok(());
        }
        for (id, keys) in std::mem::take(&mut self.changed) {
            let Some(t) = self.catalog.table_by_id(id).filter(|table| table.drop_ts() == Timestamp::MAX) else {
                continue;
            };
            let indexes = t.indexes();
            let last = keys.values().max().copied().unwrap_or_default();
            let leave_unfed = || indexes.iter().for_each(|index| index.index.store().leave_unfed(last));
            if t.table.unavailable().is_some() {
                leave_unfed();
                continue;
            }
            for (key, ts) in keys {
                // What an index has in its files is read no more: a part that cannot be read concerns who needs it.
                if indexes.iter().all(|index| index.index.store().cut() >= ts) {
                    continue;
                }
                let found = t.table.newest(&key).and_then(|newest| {
                    let row = t.table.read_row(&key, Timestamp::MAX)?;
                    Ok(newest.zip(row))
                });
                let (newest, row) = match found {
                    Ok(Some(found)) => found,
                    Ok(None) => continue,
                    Err(error) if concerns_files(&error) => {
                        self.give_up(id, &error, true);
                        leave_unfed();
                        break;
                    }
                    Err(error) => return Err(error),
                };
                indexes.iter().for_each(|index| index.index.add_row(&key, &row, newest.insert_ts, &mut value));
            }
        }
        Ok(())
    }

    /// No commit may be missing between what the manifest knows and the log: log segments are removed only after the
    /// manifest has a catalog with a cut at or behind their last commit.
    fn check_begin(&self, begins: Option<(String, Timestamp)>) -> Result<()> {
        let known = self.catalog.durable_cut();
        let missing = match begins {
            Some((name, last_ts)) if last_ts > known => {
                format!(
                    "log segments before {name} are missing: it begins after commit {last_ts}, the manifest has {known}"
                )
            }
            None if known > Timestamp(0) => {
                format!("the log is missing: the manifest knows commit {known}, and there is no file log-*")
            }
            _ => return Ok(()),
        };
        Err(Error::corrupt(missing)
            .hint("restore the log from a backup; opening without it would lose acknowledged commits"))
    }

    fn apply(&mut self, ts: Timestamp, changes: &[u8]) -> Result<()> {
        for change in ChangeDecoder::new(changes) {
            match change? {
                LoggedChange::Table { table, schema_version, change } => {
                    self.change(ts, table, schema_version, &change)?
                }
                LoggedChange::CreateTable { definition } => self.create(ts, &definition)?,
                LoggedChange::DropTable { table } => self.drop(ts, table)?,
                LoggedChange::InsertUncounted { table, key, row } => {
                    if let Some(known) = self.catalog.table_by_id(table) {
                        let schema = &known.def.schema;
                        let first = schema.evolution.first_columns;
                        let count = if first == 0 { schema.columns.len() } else { first };
                        let row = known.codec.with_count(&row, count)?;
                        self.change(ts, table, 1, &Change::Insert { key, row })?;
                    }
                }
                LoggedChange::AlterTable { definition } => self.alter(ts, &definition)?,
                LoggedChange::PutObject { object } => {
                    let object = decode_object(&object)?;
                    if ts > self.catalog.durable_cut() {
                        self.catalog.install_object(ts, Arc::new(object));
                    }
                }
                LoggedChange::DropObject { id } => {
                    if ts > self.catalog.durable_cut() && !self.catalog.install_object_drop(ts, id) {
                        return Err(Error::corrupt(format!("commit {ts} drops object {id}, which does not exist")));
                    }
                }
                LoggedChange::SetSequence { id, value } => {
                    if ts > self.catalog.durable_cut() {
                        // Its number may be that of a sequence whose creation was lost: it is not given again.
                        self.catalog.raise_next_id(id.saturating_add(1));
                        self.catalog.sequences.recover(id, value);
                    }
                }
            }
        }
        Ok(())
    }

    fn change(&mut self, ts: Timestamp, id: TableId, schema_version: u32, change: &Change) -> Result<()> {
        let Some(relation) = self.catalog.by_id(id) else {
            // Dropped, and so long ago that the manifest's catalog knows.
            return if ts <= self.catalog.durable_cut() { Ok(()) } else { Err(unknown_table(ts, id)) };
        };
        let def = relation.def();
        if schema_version > def.schema.version {
            let name = &def.name;
            return Err(Error::corrupt(format!(
                "commit {ts} changes table {name:?} under schema version {schema_version}"
            )));
        }
        // At or below the cut the manifest says what became of the files.
        if let Change::Attach(files, _) = change
            && ts > self.services.manifest.cut(id)
        {
            self.attached.extend(files);
        }
        let readable = self.without_lost(ts, &relation, change)?;
        let change = readable.as_ref().unwrap_or(change);
        match &relation {
            Relation::Table(table) => self.change_table(ts, table, change),
            Relation::Index(index) => self.change_index(ts, index, change),
        }
    }

    fn change_table(&mut self, ts: Timestamp, table: &TableRef, change: &Change) -> Result<()> {
        let id = table.id();
        match change {
            Change::Insert { key, row } | Change::Put { key, row } => {
                table.codec.check(row)?;
                self.changed.entry(id).or_default().insert(key.clone(), ts);
            }
            Change::Update { key, values } => {
                self.changed.entry(id).or_default().insert(key.clone(), ts);
                if values.iter().any(|(column, _)| *column >= table.codec.column_count()) {
                    return Err(Error::corrupt(format!("commit {ts} updates a column that table {id} does not have")));
                }
            }
            Change::Attach(..) | Change::Delete { .. } | Change::Clear { .. } => {}
        }
        match table.table.replay(ts, change) {
            Err(error) if concerns_files(&error) => {
                self.give_up(id, &error, true);
                Ok(())
            }
            replayed => replayed,
        }
    }

    /// Of an index the log has only which files were built for it.
    fn change_index(&mut self, ts: Timestamp, index: &IndexRef, change: &Change) -> Result<()> {
        let Change::Attach(files, _) = change else {
            return Err(Error::corrupt(format!("commit {ts} in the log changes rows of index {:?}", index.def.name)));
        };
        if index.upkeep().unavailable().is_some() {
            return Ok(());
        }
        match index.index.attach(ts, files) {
            Err(error) if concerns_files(&error) => {
                self.give_up_index(index, &error);
                Ok(())
            }
            attached => attached,
        }
    }

    /// While files are being taken out: the change without those of its files that cannot be read; none when it has
    /// none of these. The rows of a large update have the values of before it then.
    fn without_lost(&mut self, ts: Timestamp, relation: &Relation, change: &Change) -> Result<Option<Change>> {
        let id = relation.id();
        let Change::Attach(files, payload) = change else { return Ok(None) };
        if !self.services.options.repairing || ts <= self.services.manifest.cut(id) {
            return Ok(None);
        }
        let mut readable = Vec::new();
        for &file in files {
            let path = self.services.file_path(id, file);
            match test_again((self.env, self.services, self.methods), relation, &path, file) {
                Ok(()) => readable.push(file),
                Err(error) if concerns_files(&error) => self.lost.push(LostFile { relation: id, file, error }),
                Err(error) => return Err(error),
            }
        }
        Ok(Some(Change::Attach(readable, payload.clone())))
    }

    /// From here on the table is there and answers with an error: redo could not read what it needs of it.
    fn give_up(&mut self, id: TableId, error: &Error, has_changes: bool) {
        let Some(table) = self.catalog.table_by_id(id).filter(|table| table.table.unavailable().is_none()) else {
            return;
        };
        let recovered = self.opened.remove(&id).unwrap_or_default();
        let unavailable = Unavailable::new(self.context(table.def), &recovered, error);
        let unavailable: Arc<dyn Table> = Arc::new(unavailable.instead_of(table.table, has_changes));
        self.catalog.replace_table(id, &unavailable);
    }

    /// The same of an index: its table goes on without it, unless it keeps something unique.
    fn give_up_index(&mut self, index: &IndexRef, error: &Error) {
        let Some(owner) = self.catalog.table_by_id(index.index.table()) else { return };
        let recovered = self.opened.remove(&index.id()).unwrap_or_default();
        self.go_without(&index.def, &owner, error);
        let unavailable = Unavailable::new(self.context(index.def.clone()), &recovered, error);
        owner.leave_index_alone(index.id());
        self.catalog.replace_index(index.id(), &(Arc::new(unavailable.keeping_log()) as Arc<dyn Upkeep>));
    }

    /// Nobody would test what an index keeps unique; one that is not unique is missed by no answer.
    fn go_without(&mut self, index: &TableDef, owner: &TableRef, error: &Error) {
        if index.options.contains_key("unique") && !self.services.options.repairing {
            // Redo may have changed it already.
            self.give_up(owner.id(), error, true);
        }
    }

    fn context(&self, def: Arc<TableDef>) -> TableContext {
        TableContext { def, env: self.env.clone(), services: self.services.clone() }
    }

    fn create(&mut self, ts: Timestamp, mut definition: &[u8]) -> Result<()> {
        let def = decode_def(&mut definition)?;
        if ts <= self.catalog.durable_cut() {
            return Ok(());
        }
        if self.catalog.newest(def.namespace, &def.name).is_some() || self.catalog.by_id(def.id).is_some() {
            return Err(Error::corrupt(format!("commit {ts} creates table {:?} ({}), which exists", def.name, def.id)));
        }
        let relation = self.open_relation(Arc::new(def))?;
        self.catalog.install_create(ts, relation);
        Ok(())
    }

    fn alter(&mut self, ts: Timestamp, mut definition: &[u8]) -> Result<()> {
        let def = Arc::new(decode_def(&mut definition)?);
        if ts <= self.catalog.durable_cut() {
            return Ok(());
        }
        let before = self.catalog.by_id(def.id).filter(Relation::is_alive);
        let before = before.ok_or_else(|| unknown_table(ts, def.id))?;
        let known = before.def();
        let is_other = known.namespace != def.namespace || known.name != def.name;
        let is_taken = is_other && self.catalog.newest(def.namespace, &def.name).is_some();
        if is_taken || known.schema.key != def.schema.key || def.schema.version <= known.schema.version {
            let (name, id) = (&def.name, def.id);
            return Err(Error::corrupt(format!("commit {ts} alters table {name:?} ({id}) to what it cannot be")));
        }
        before.upkeep().evolve(&def);
        self.catalog.install_alter(ts, before.with_def(def));
        Ok(())
    }

    fn drop(&mut self, ts: Timestamp, id: TableId) -> Result<()> {
        if ts <= self.catalog.durable_cut() {
            return Ok(());
        }
        match self.catalog.by_id(id) {
            Some(relation) if relation.is_alive() => {
                self.catalog.install_drop(ts, id);
                Ok(())
            }
            _ => Err(unknown_table(ts, id)),
        }
    }

    fn open_relation(&mut self, def: Arc<TableDef>) -> Result<Relation> {
        let recovered = self.recovered.remove(&def.id).unwrap_or_default();
        let known = RecoveredTable { cut: recovered.cut, files: recovered.files.clone(), payloads: Vec::new() };
        let relation = match crate::index::table_of(&def)? {
            Some(owner) => {
                let owner = self.catalog.table_by_id(owner).ok_or_else(|| {
                    Error::corrupt(format!("index {:?} belongs to table {owner}, which does not exist", def.name))
                })?;
                self.open_index(def.clone(), &recovered, &owner)?.into()
            }
            None => self.open_table(def.clone(), recovered, &known)?.into(),
        };
        self.opened.insert(def.id, known);
        Ok(relation)
    }

    fn open_index(&mut self, def: Arc<TableDef>, recovered: &RecoveredTable, owner: &TableRef) -> Result<IndexRef> {
        let context = self.context(def.clone());
        match Index::open(context.clone(), recovered, &owner.as_indexed()) {
            Ok(index) => {
                let index = IndexRef::new(def, index);
                owner.add_index(index.clone());
                Ok(index)
            }
            Err(error) if concerns_files(&error) => {
                self.go_without(&def, owner, &error);
                owner.leave_index_alone(def.id);
                let empty = Index::open(context.clone(), &RecoveredTable::default(), &owner.as_indexed())?;
                let unavailable = Arc::new(Unavailable::new(context, recovered, &error).keeping_log());
                Ok(IndexRef::new(def, empty).kept_by(unavailable))
            }
            Err(error) => Err(error),
        }
    }

    fn open_table(
        &mut self,
        def: Arc<TableDef>,
        recovered: RecoveredTable,
        known: &RecoveredTable,
    ) -> Result<TableRef> {
        let context = self.context(def.clone());
        let table: Arc<dyn Table> = match method(self.methods, &def.method)?.open(context.clone(), recovered) {
            Ok(table) => table,
            Err(error) if concerns_files(&error) => Arc::new(Unavailable::new(context, known, &error)),
            Err(error) => return Err(error),
        };
        Ok(TableRef::new(def, table))
    }
}

fn unknown_table(ts: Timestamp, id: TableId) -> Error {
    let message = format!("commit {ts} in the log changes table {id}, which does not exist then");
    Error::corrupt(message).hint("restore the directory from a backup")
}
