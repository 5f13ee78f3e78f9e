//! Redo: the log's committed changes, applied in order to what the manifest knew, as their commits applied them
//! (`txn/apply.rs`).
//!
//! ```text
//!   Chunk 17 [a]   Commit 16 ts 75 [b]   Chunk 17 [c]   Commit 17 ts 76 [d]   Chunk 18 [e]   (end, or a new epoch)
//!   applied:  75: b     76: a c d        e never: no commit record
//! ```
//!
//! Changes of pages come first (`pages.rs`).
//!
//! 1. A relation has in its files what is at or below its cut, and nothing beyond: that is left out here, this is
//!    applied once (traits 4).
//! 2. A follower is recovery that goes on (`follower.rs`): the same code, but what it has applied it publishes commit
//!    by commit, and a file that it cannot read is no damage: who writes has gone on without it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use weft_contract::{RecoveredTable, Table, TableWrites, Upkeep};
use weft_env::Env;
use weft_format::{Code, Error, FileId, Lsn, Result, TableId, Timestamp};

use super::behind::{Behind, key_of_row};
use super::tested::test_again;
use super::undecided::{Chunks, Undecided};
use crate::catalog::{
    Catalog, ColumnsRef, IndexRef, Relation, TableDef, TableRef, decode_def, decode_image, decode_object,
};
use crate::fault::{self, Fault};
use crate::index::{COLUMNS_METHOD, ColumnIndex, Index, STORED_BY, columns_table_of};
use crate::log::{Change, ChangeDecoder, Entry, LogEnd, LoggedChange, Record, read_log};
use crate::method::{Methods, TableContext, Unavailable, method};
use crate::read_again::concerns_files;
use crate::services::Services;
use crate::txn::{Journal, LostFile, OwnDdl, apply_ddl, apply_writes, check_change, logged_attachment};

/// Who reads the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// An opening, which will write.
    Recovery,
    /// A follower that has no snapshot yet.
    Joining,
    /// A follower of which others read.
    Following,
}

/// Recovery's state, and a follower's.
pub(super) struct Redo {
    pub(super) env: Env,
    pub(super) methods: Arc<Methods>,
    pub(super) services: Arc<Services>,
    pub(super) catalog: Arc<Catalog>,
    pub(super) mode: Mode,
    /// How far the log of another engine is durable, as far as is known here.
    pub(super) announced: Option<Lsn>,
    /// The first segment of the log, and the last commit before it.
    pub(super) begins: Option<(String, Timestamp)>,
    /// Changes of transactions that are not decided.
    undecided: Undecided,
    /// Files and cuts of the tables that are open, for those on which redo fails.
    pub(super) opened: BTreeMap<TableId, RecoveredTable>,
    /// What indexes get at the end.
    pub(super) behind: Behind,
    /// The tables that the log makes, and when.
    pub(super) made: BTreeMap<TableId, Timestamp>,
    /// Files that attach records name: they are no orphans although no manifest edit names them yet.
    pub(super) attached: BTreeSet<FileId>,
    /// Of these, those that cannot be read, when files are being taken out: the tables go on without them.
    pub(super) lost: Vec<LostFile>,
}

impl Redo {
    /// Nothing is recovered yet.
    pub(super) fn new(
        (env, methods): (&Env, &Arc<Methods>),
        services: &Arc<Services>,
        catalog: &Arc<Catalog>,
        mode: Mode,
    ) -> Redo {
        Redo {
            env: env.clone(),
            methods: methods.clone(),
            services: services.clone(),
            catalog: catalog.clone(),
            mode,
            announced: None,
            begins: None,
            undecided: Undecided::new(services.options.undecided_bytes),
            opened: BTreeMap::new(),
            behind: Behind::default(),
            made: BTreeMap::new(),
            attached: BTreeSet::new(),
            lost: Vec::new(),
        }
    }

    /// Opens the tables of the catalog as the manifest has it.
    pub(super) fn open_catalog(&mut self) -> Result<()> {
        assert!(self.mode != Mode::Following, "the catalog is opened once, before others read of it");
        let recovered = self.services.manifest.recovered(TableId(0));
        let Some(payload) = recovered.payloads.last() else {
            self.catalog.known_from(Timestamp(0));
            return Ok(());
        };
        let image = decode_image(payload)?;
        self.services.timeline.walls.restore(image.walls);
        // An image is what holds at its cut.
        self.catalog.known_from(image.last_ddl.unwrap_or(recovered.cut));
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
        assert_eq!(self.mode, Mode::Recovery, "the whole log is read by who will write it on");
        let mut reader = read_log(&self.env, self.services.files.dir())?;
        self.check_begin(reader.begins())?;
        self.redo_pages()?;
        while let Some(entry) = reader.next()? {
            self.record(&entry)?;
        }
        self.feed_behind(None)?;
        Ok(reader.finish())
    }

    /// Applies a record of the log; the timestamp of a commit. Switches of layout are not its business: what recovers
    /// has the manifest, and a follower looks at them itself.
    pub(super) fn record(&mut self, entry: &Entry<'_>) -> Result<Option<Timestamp>> {
        self.undecided.begin_epoch(entry.epoch);
        match entry.record {
            Record::Chunk { txn, changes } => self.undecided.add(txn, entry.lsn, changes),
            Record::Abort { txn } => drop(self.undecided.take(txn)),
            Record::Commit { txn, ts, wall, changes } => {
                let chunks = self.undecided.take(txn).filter(|_| !fault::active(Fault::FORGET_CHUNKS));
                let timeline = self.services.timeline.clone();
                match self.mode {
                    // First, so that nothing freezes up to a commit of which indexes may still get entries.
                    Mode::Recovery | Mode::Joining => timeline.recover_to(ts),
                    Mode::Following if fault::active(Fault::PUBLISH_BEFORE_APPLIED) => timeline.recover_to(ts),
                    // Published when it is applied.
                    Mode::Following => timeline.follow_to(ts),
                }
                self.commit(ts, chunks, changes)?;
                wall.iter().for_each(|&wall| timeline.walls.recover((ts, wall)));
                if self.mode == Mode::Following {
                    // What an opening wants to know at its end.
                    self.opened.clear();
                    self.made.clear();
                    self.attached.clear();
                }
                return Ok(Some(ts));
            }
            Record::Page { table, change } if self.mode == Mode::Following => {
                self.redo_page(table, entry.number, change)?
            }
            // Done before any commit (pages 1).
            Record::Page { .. } => {}
            Record::Layout { .. } => {}
        }
        Ok(None)
    }

    /// Where the first change of a transaction lies that is not decided; none when all are.
    pub(super) fn undecided_from(&self) -> Option<Lsn> {
        self.undecided.first()
    }

    /// Whether a relation that a file keeps from being used is left out, and all else goes on.
    pub(super) fn is_left_out(&self, error: &Error) -> bool {
        self.mode == Mode::Recovery && concerns_files(error)
    }

    /// Applies what a commit has in its chunks and in its own record.
    fn commit(&mut self, ts: Timestamp, chunks: Option<Chunks>, changes: &[u8]) -> Result<()> {
        let mut journal = Journal::default();
        if let Some(chunks) = chunks {
            let (env, services) = (self.env.clone(), self.services.clone());
            let announced = self.announced;
            chunks.for_each((&env, &services.files), announced, |changes| self.read(ts, changes, &mut journal))?;
        }
        self.read(ts, changes, &mut journal)?;
        let mut troubles: Vec<(Relation, Error)> = Vec::new();
        apply_writes(ts, &[], &journal, &mut |relation, error| {
            if !self.is_left_out(&error) {
                return Err(error);
            }
            troubles.push((relation.clone(), error));
            Ok(())
        })?;
        for (relation, error) in troubles {
            match relation {
                Relation::Table(table) => self.give_up_at(ts, &table, &error),
                Relation::Index(index) => self.give_up_index(&index, &error),
                Relation::Columns(columns) => self.give_up_columns(&columns, &error),
            }
        }
        Ok(())
    }

    /// Gives indexes what they could not be fed (index relation 2).
    pub(super) fn feed_behind(&mut self, announced: Option<Lsn>) -> Result<()> {
        let mut behind = std::mem::take(&mut self.behind);
        behind.read_missed(&self.env, &self.services, announced)?;
        let catalog = self.catalog.clone();
        behind.feed(&catalog, self.mode != Mode::Recovery, |id, error| {
            if !self.is_left_out(error) {
                return Err(error.clone());
            }
            self.give_up(id, error, true);
            Ok(())
        })
    }

    /// Whether indexes were made that lack what changed meanwhile.
    pub(super) fn has_made_index(&self) -> bool {
        self.behind.has_made()
    }

    /// No commit may be missing between what the manifest knows and the log: log segments are removed only after the
    /// manifest has a catalog with a cut at or behind their last commit.
    pub(super) fn check_begin(&mut self, begins: Option<(String, Timestamp)>) -> Result<()> {
        self.begins.clone_from(&begins);
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
        if self.mode != Mode::Recovery {
            // The writer has cut it since the manifest was read.
            return Err(Error::new(Code::UndefinedFile, missing).hint("join anew"));
        }
        Err(Error::corrupt(missing)
            .hint("restore the log from a backup; opening without it would lose acknowledged commits"))
    }

    /// Makes definitions part of the catalog, and of the rest what the transaction had staged.
    fn read(&mut self, ts: Timestamp, changes: &[u8], journal: &mut Journal) -> Result<()> {
        for change in ChangeDecoder::new(changes) {
            match change? {
                LoggedChange::Table { table, schema_version, change } => {
                    self.change(ts, (table, schema_version), change, journal)?
                }
                LoggedChange::CreateTable { definition } => self.create(ts, &definition)?,
                LoggedChange::DropTable { table } => self.drop(ts, table)?,
                LoggedChange::AlterTable { definition } => self.alter(ts, &definition)?,
                LoggedChange::PutObject { object } => {
                    let object = decode_object(&object)?;
                    if ts > self.catalog.durable_cut() {
                        apply_ddl(&self.catalog, ts, &OwnDdl::Object(None, Some(Arc::new(object))));
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

    fn change(
        &mut self,
        ts: Timestamp,
        (id, schema_version): (TableId, u32),
        change: Change,
        journal: &mut Journal,
    ) -> Result<()> {
        if let Change::Attach(files, _) = &change {
            // Of a table that was dropped since, nothing else may know them any more.
            files.iter().for_each(|file| self.services.files.note(*file));
        }
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
        let is_in_files = ts <= self.services.manifest.cut(id);
        // At or below the cut the manifest says what became of the files.
        if let Change::Attach(files, _) = &change
            && !is_in_files
        {
            self.attached.extend(files);
        }
        match &relation {
            Relation::Table(table) if is_in_files => {
                self.behind.note(ts, table, &change);
                Ok(())
            }
            Relation::Index(_) | Relation::Columns(_) if is_in_files => {
                self.files_of(ts, &relation, change).map(|_| ())
            }
            Relation::Table(table) => {
                let change = self.without_lost(&relation, change)?;
                self.change_table(ts, table, change, journal)
            }
            Relation::Index(index) => {
                let change = self.without_lost(&relation, change)?;
                let (files, payload) = self.files_of(ts, &relation, change)?;
                if let Ok(filled) = payload.as_slice().try_into() {
                    self.behind.note_filled(index.id(), Timestamp(u64::from_le_bytes(filled)));
                }
                if index.upkeep().unavailable().is_none() && !files.is_empty() {
                    journal.attach_entries(index.clone(), logged_attachment(files, payload));
                }
                Ok(())
            }
            Relation::Columns(columns) => {
                let change = self.without_lost(&relation, change)?;
                let (files, payload) = self.files_of(ts, &relation, change)?;
                if columns.upkeep().unavailable().is_none() && !files.is_empty() {
                    journal.attach_entries(relation.clone(), logged_attachment(files, payload));
                }
                Ok(())
            }
        }
    }

    fn change_table(&mut self, ts: Timestamp, table: &TableRef, change: Change, journal: &mut Journal) -> Result<()> {
        if table.table.unavailable().is_some() {
            if key_of_row(&change).is_some() {
                table.indexes().iter().for_each(|index| index.index.store().leave_unfed(ts));
            }
            leave_columns(table, ts);
            // It notes that the log has changes of it.
            return table.table.apply(ts, &TableWrites::default());
        }
        check_change(ts, table, &change)?;
        // Pages are ahead: what follows for the table is there already, and is not staged.
        if table.table.in_place().is_some()
            && !table.column_indexes().is_empty()
            && let Change::Update { key, .. } | Change::Delete { key } = &change
            && matches!(table.table.newest(key), Ok(None))
        {
            self.behind.note_of_columns(ts, table, &change);
        }
        match journal.restage(ts, table, change) {
            Err(error) if self.is_left_out(&error) => {
                journal.forget(table.id());
                self.give_up_at(ts, table, &error);
                Ok(())
            }
            restaged => restaged,
        }
    }

    /// Of an index the log has only which files were built for it.
    fn files_of(&self, ts: Timestamp, index: &Relation, change: Change) -> Result<(Vec<FileId>, Vec<u8>)> {
        match change {
            Change::Attach(files, payload) => Ok((files, payload)),
            _ => Err(Error::corrupt(format!("commit {ts} in the log changes rows of index {:?}", index.def().name))),
        }
    }

    /// While files are being taken out: the change without those of its files that cannot be read. The rows of a large
    /// update have the values of before it then.
    fn without_lost(&mut self, relation: &Relation, change: Change) -> Result<Change> {
        let (files, payload) = match change {
            Change::Attach(files, payload) if self.services.options.repairing => (files, payload),
            other => return Ok(other),
        };
        let id = relation.id();
        let mut readable = Vec::new();
        for file in files {
            let path = self.services.files.path(id, file);
            match test_again((&self.env, &self.methods), relation, &path, file) {
                Ok(()) => readable.push(file),
                Err(error) if concerns_files(&error) => self.lost.push(LostFile { relation: id, file, error }),
                Err(error) => return Err(error),
            }
        }
        Ok(Change::Attach(readable, payload))
    }

    /// A table of which redo cannot read what the commit of `ts` needs: its indexes lack what that one does, too.
    fn give_up_at(&mut self, ts: Timestamp, table: &TableRef, error: &Error) {
        self.give_up(table.id(), error, true);
        table.indexes().iter().for_each(|index| index.index.store().leave_unfed(ts));
        leave_columns(table, ts);
    }

    /// From here on the table is there and answers with an error: redo could not read what it needs of it.
    pub(super) fn give_up(&mut self, id: TableId, error: &Error, has_changes: bool) {
        assert_eq!(self.mode, Mode::Recovery, "only an opening goes on without a table; who follows fails (follow 4)");
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
        let context = self.context_of_index(index.def.clone(), &owner);
        let unavailable = Unavailable::new(context, &recovered, error);
        owner.leave_index_alone(index.id());
        self.catalog.replace_index(index.id(), &(Arc::new(unavailable.keeping_log()) as Arc<dyn Upkeep>));
    }

    /// The same of a column index: its table is scanned.
    fn give_up_columns(&mut self, columns: &ColumnsRef, error: &Error) {
        let Some(owner) = self.catalog.table_by_id(columns.table()) else { return };
        let recovered = self.opened.remove(&columns.id()).unwrap_or_default();
        let context = self.context_of_index(columns.def.clone(), &owner);
        let unavailable = Unavailable::new(context, &recovered, error).keeping_log();
        self.catalog.replace_columns(columns.id(), &(Arc::new(unavailable) as Arc<dyn Upkeep>));
    }

    /// Nobody would test what an index keeps unique; one that is not unique is missed by no answer.
    fn go_without(&mut self, index: &TableDef, owner: &TableRef, error: &Error) {
        if index.options.contains_key("unique") && !self.services.options.repairing {
            // Redo may have changed it already.
            self.give_up(owner.id(), error, true);
        }
    }

    fn context(&self, def: Arc<TableDef>) -> TableContext {
        TableContext::new(def, &self.env, &self.services)
    }

    fn context_of_index(&self, def: Arc<TableDef>, owner: &TableRef) -> TableContext {
        owner.context_of_index(def, &self.env, &self.services)
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
        match &relation {
            Relation::Table(table) => {
                self.made.insert(table.id(), ts);
            }
            Relation::Index(index) => {
                let owner = index.index.table();
                // Made with its table it has missed nothing.
                if self.made.get(&owner) != Some(&ts) {
                    self.behind.note_made(index, ts);
                }
            }
            // Nobody wrote to the table while it was made (columns 2).
            Relation::Columns(_) => {}
        }
        let made = relation.id();
        apply_ddl(&self.catalog, ts, &OwnDdl::Create(relation));
        self.redo_pages_of_made(made)
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
        let altered = before.with_def(def);
        apply_ddl(&self.catalog, ts, &OwnDdl::Alter(before, altered));
        Ok(())
    }

    fn drop(&mut self, ts: Timestamp, id: TableId) -> Result<()> {
        if ts <= self.catalog.durable_cut() {
            return Ok(());
        }
        match self.catalog.by_id(id) {
            Some(relation) if relation.is_alive() => {
                apply_ddl(&self.catalog, ts, &OwnDdl::Drop(relation));
                Ok(())
            }
            _ => Err(unknown_table(ts, id)),
        }
    }

    fn open_relation(&mut self, def: Arc<TableDef>) -> Result<Relation> {
        let recovered = self.services.manifest.recovered(def.id);
        let known = RecoveredTable { cut: recovered.cut, files: recovered.files.clone(), payloads: Vec::new() };
        let relation = match crate::index::table_of(&def)? {
            None if def.method == COLUMNS_METHOD => self.open_columns(def.clone(), &recovered)?.into(),
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
        let context = self.context_of_index(def.clone(), owner);
        match Index::open(context.clone(), recovered, &owner.as_indexed()) {
            Ok(index) => {
                let index = IndexRef::new(def, index);
                owner.add_index(index.clone());
                Ok(index)
            }
            Err(error) if self.is_left_out(&error) => {
                self.go_without(&def, owner, &error);
                owner.leave_index_alone(def.id);
                let empty = Index::open(context.clone(), &RecoveredTable::default(), &owner.as_indexed())?;
                let unavailable = Arc::new(Unavailable::new(context, recovered, &error).keeping_log());
                Ok(IndexRef::new(def, empty).kept_by(unavailable))
            }
            Err(error) => Err(error),
        }
    }

    /// Its table lists it when it is installed.
    fn open_columns(&mut self, def: Arc<TableDef>, recovered: &RecoveredTable) -> Result<ColumnsRef> {
        let table = columns_table_of(&def)?.and_then(|id| self.catalog.table_by_id(id));
        let owner = table.ok_or_else(|| {
            Error::corrupt(format!("column index {:?} belongs to a table that does not exist", def.name))
        })?;
        let context = self.context_of_index(def.clone(), &owner);
        let method = method(&self.methods, STORED_BY)?.clone();
        match ColumnIndex::open(context.clone(), &*method, recovered.clone(), &owner.as_indexed()) {
            Ok(index) => Ok(ColumnsRef::new(def, index)),
            Err(error) if self.is_left_out(&error) => {
                let unavailable = Arc::new(Unavailable::new(context, recovered, &error).keeping_log());
                Ok(ColumnsRef::unopened(def, owner.id(), unavailable))
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
        let context = self.context(def);
        let table: Arc<dyn Table> = match method(&self.methods, &context.def.method)?.open(context.clone(), recovered) {
            Ok(table) => table,
            Err(error) if self.is_left_out(&error) => Arc::new(Unavailable::new(context.clone(), known, &error)),
            Err(error) => return Err(error),
        };
        Ok(TableRef::new(&context, table))
    }
}

/// Column indexes of a table lack what the commit of `ts` does to it: it cannot be read.
fn leave_columns(table: &TableRef, ts: Timestamp) {
    let cannot = || Error::internal(format!("table {:?} cannot be read", table.def.name));
    let error = table.table.unavailable().cloned().unwrap_or_else(cannot);
    let columns = table.column_indexes();
    let indexes = columns.iter().filter_map(|columns| columns.index.as_ref());
    indexes.filter(|index| index.lacks(ts)).for_each(|index| index.give_up(ts, &error));
}

fn unknown_table(ts: Timestamp, id: TableId) -> Error {
    let message = format!("commit {ts} in the log changes table {id}, which does not exist then");
    Error::corrupt(message).hint("restore the directory from a backup")
}
