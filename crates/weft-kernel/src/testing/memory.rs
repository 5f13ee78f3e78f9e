//! A table method for tests: all versions in a map; a conversion writes the rows alive at the cut to one file.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, RecordBatch};
use weft_contract::{
    Attachment, Base, Blind, Bulk, BulkReplace, Damage, Derived, FileSwitch, InPlace, Inspect, JobKind, JobOffer,
    LayerStatus, Location, Newest, PartStatus, Partition, Price, Read, RecoveredTable, ScanOutput, ScanRequest, Staged,
    Table, TableStatistics, TableWrites, Upkeep, Versions, VisitRow, Write,
};
use weft_env::File;
use weft_env::sync::{Mutex, RwLock};
use weft_format::row_arrays::column_of_rows;
use weft_format::{Code, Error, FileId, Result, Schema, Timestamp, Value, ValueRef};

use crate::catalog::TableDef;
use crate::fault::Fault;
use crate::manifest::Edit;
use crate::method::{Method, TableContext, derives_nothing};
use crate::step::Step;
use weft_format::key::KeyCodec;
use weft_format::row::RowCodec;

pub(crate) struct MemoryMethod;

impl Method for MemoryMethod {
    fn name(&self) -> &'static str {
        "memory"
    }

    fn job_kinds(&self) -> &'static [JobKind] {
        const { &[JobKind::freeing("convert")] }
    }

    fn steps(&self) -> &'static [Step] {
        &[]
    }

    fn faults(&self) -> &'static [Fault] {
        &[]
    }

    fn check_options(&self, options: &BTreeMap<String, String>) -> Result<()> {
        match options.keys().find(|name| !["blind", "plain", crate::History::OPTION].contains(&name.as_str())) {
            None => Ok(()),
            Some(name) => Err(Error::new(Code::InvalidParameterValue, format!("option {name:?} is unknown"))),
        }
    }

    fn test_file(&self, _def: &TableDef, _: &[Vec<u8>], _file: FileId, _handle: Arc<dyn File>) -> Result<()> {
        Ok(())
    }

    fn open(&self, context: TableContext, recovered: RecoveredTable) -> Result<Arc<dyn Table>> {
        let codec = RwLock::new(Arc::new(RowCodec::new(&context.def.schema)));
        let keys = KeyCodec::new(&context.def.schema);
        let table = MemoryTable { context, codec, keys, state: Mutex::default() };
        {
            let mut state = table.state.lock();
            state.cut = recovered.cut;
            state.last = recovered.cut;
            assert!(recovered.files.len() <= 1);
            state.file = recovered.files.first().copied();
            if let Some(file) = state.file {
                for (ts, row) in table.read_file(file)? {
                    state.insert(table.keys.of_row(&table.codec.read().clone(), &row), ts, row);
                }
            }
        }
        Ok(Arc::new(table))
    }

    fn derive(&self, _: TableContext, _: RecoveredTable) -> Result<Arc<dyn Derived>> {
        Err(derives_nothing(self.name()))
    }

    fn fold(&self, payloads: &[Vec<u8>]) -> Result<Vec<u8>> {
        Ok(payloads.last().cloned().unwrap_or_default())
    }
}

struct Version {
    insert_ts: Timestamp,
    delete_ts: Timestamp,
    row: Arc<[u8]>,
}

#[derive(Default)]
struct State {
    versions: BTreeMap<Vec<u8>, Vec<Version>>,
    cut: Timestamp,
    /// The last change installed.
    last: Timestamp,
    frozen: Option<Timestamp>,
    file: Option<FileId>,
    attached: Vec<(Timestamp, FileId)>,
    dropped: bool,
    charged: u64,
}

struct MemoryTable {
    context: TableContext,
    codec: RwLock<Arc<RowCodec>>,
    keys: KeyCodec,
    state: Mutex<State>,
}

impl State {
    fn insert(&mut self, key: Vec<u8>, ts: Timestamp, row: Arc<[u8]>) {
        let versions = self.versions.entry(key).or_default();
        assert!(versions.last().is_none_or(|last| last.delete_ts <= ts), "a key has two rows at {ts}");
        versions.push(Version { insert_ts: ts, delete_ts: Timestamp::MAX, row });
    }

    fn delete(&mut self, key: &[u8], ts: Timestamp) -> Arc<[u8]> {
        let version = self.versions.get_mut(key).and_then(|versions| versions.last_mut());
        let version = version.filter(|version| version.delete_ts == Timestamp::MAX).expect("a row to delete");
        version.delete_ts = ts;
        version.row.clone()
    }

    fn clear(&mut self, key: &[u8], ts: Timestamp) {
        if self.find(key, Timestamp::MAX).is_some() {
            self.delete(key, ts);
        }
    }

    fn find(&self, key: &[u8], ts: Timestamp) -> Option<Arc<[u8]>> {
        let versions = self.versions.get(key)?;
        let seen = versions
            .iter()
            .find(|version| version.insert_ts <= ts && (ts < version.delete_ts || version.delete_ts == Timestamp::MAX));
        seen.map(|version| version.row.clone())
    }

    fn charge(&mut self, context: &TableContext, bytes: u64) {
        self.charged += bytes;
        context.services.row_budget().charge(bytes);
    }
}

impl MemoryTable {
    /// Whether the table was made with an option: `blind`, it takes blind writes; `plain`, it builds no files.
    fn has(&self, option: &str) -> bool {
        self.def().options.contains_key(option)
    }

    fn def(&self) -> &TableDef {
        &self.context.def
    }

    /// A file is a list of (timestamp u64, length u32, row).
    fn write_file(&self, rows: &[(Timestamp, Arc<[u8]>)]) -> Result<FileId> {
        let mut bytes = Vec::new();
        for (ts, row) in rows {
            bytes.extend(ts.0.to_le_bytes());
            bytes.extend((row.len() as u32).to_le_bytes());
            bytes.extend(&row[..]);
        }
        let files = self.context.services.files();
        let mut file = files.create(self.def().id)?;
        file.append(&bytes).map_err(|error| Error::io("writing a file", &error))?;
        let sealed = file.seal().map_err(|error| Error::io("writing a file", &error))?;
        files.sync_names().inspect_err(|_| sealed.retire())?;
        Ok(sealed.number())
    }

    fn read_file(&self, file: FileId) -> Result<Vec<(Timestamp, Arc<[u8]>)>> {
        let handle = self.context.services.files().open(self.def().id, file)?.reader();
        let mut bytes = vec![0; handle.len().unwrap() as usize];
        handle.read_exact_at(&mut bytes, 0).unwrap();
        let mut rows = Vec::new();
        let mut rest = &bytes[..];
        while !rest.is_empty() {
            let ts = Timestamp(u64::from_le_bytes(rest[..8].try_into().unwrap()));
            let len = u32::from_le_bytes(rest[8..12].try_into().unwrap()) as usize;
            rows.push((ts, rest[12..12 + len].into()));
            rest = &rest[12 + len..];
        }
        Ok(rows)
    }

    /// `payload` 0: the rows replace those of their keys.
    fn attach(&self, state: &mut State, ts: Timestamp, files: &[FileId], payload: &[u8]) -> Result<()> {
        for &file in files {
            for (_, row) in self.read_file(file)? {
                let key = self.keys.of_row(&self.codec.read().clone(), &row);
                if payload == [0] {
                    state.delete(&key, ts);
                }
                state.insert(key, ts, row);
            }
            state.attached.push((ts, file));
        }
        Ok(())
    }

    fn remove(&self, file: FileId) {
        self.context.services.files().remove(self.def().id, file);
    }
}

impl Drop for MemoryTable {
    fn drop(&mut self) {
        let state = self.state.get_mut();
        self.context.services.row_budget().release(state.charged);
        if state.dropped {
            let files: Vec<FileId> =
                state.file.into_iter().chain(state.attached.iter().map(|attached| attached.1)).collect();
            files.into_iter().for_each(|file| self.remove(file));
        }
    }
}

impl MemoryTable {
    fn build_rows(&self, batches: &[RecordBatch], is_new: bool) -> Result<Attachment> {
        let mut rows: Vec<(Timestamp, Arc<[u8]>)> = Vec::new();
        for batch in batches {
            let columns: Vec<_> = batch.columns().iter().map(|column| column.as_primitive::<Int64Type>()).collect();
            for i in 0..batch.num_rows() {
                let row =
                    self.codec.read().clone().encode(
                        columns.iter().map(|column| {
                            if column.is_null(i) { ValueRef::Null } else { ValueRef::Int(column.value(i)) }
                        }),
                    );
                if is_new && self.newest(&self.keys.of_row(&self.codec.read().clone(), &row))?.is_some() {
                    return Err(Error::new(Code::UniqueViolation, "a key of the batch exists"));
                }
                rows.push((Timestamp(0), row.into()));
            }
        }
        let file = self.write_file(&rows)?;
        Ok(Attachment { files: vec![file], rows: rows.len() as u64, payload: vec![u8::from(is_new)], replaced: None })
    }
}

struct OneBatch(Option<RecordBatch>);

impl Partition for OneBatch {
    fn next(&mut self) -> Result<Option<RecordBatch>> {
        Ok(self.0.take().filter(|batch| batch.num_rows() > 0))
    }
}

impl Read for MemoryTable {
    fn read(
        &self,
        codec: &RowCodec,
        key: &[u8],
        read_ts: Timestamp,
        columns: &[usize],
        values: &mut Vec<Value>,
    ) -> Result<bool> {
        values.clear();
        let Some(row) = self.read_row(key, read_ts)? else { return Ok(false) };
        values.extend(columns.iter().map(|&column| codec.get(&row, column).to_value()));
        Ok(true)
    }

    fn read_row(&self, key: &[u8], read_ts: Timestamp) -> Result<Option<Arc<[u8]>>> {
        Ok(self.state.lock().find(key, read_ts))
    }

    fn newest(&self, key: &[u8]) -> Result<Option<Newest>> {
        let state = self.state.lock();
        let last = state.versions.get(key).and_then(|versions| versions.last());
        let alive = last.filter(|version| version.delete_ts == Timestamp::MAX);
        Ok(alive.map(|version| Newest { insert_ts: version.insert_ts, location: None }))
    }

    fn newest_row(&self, key: &[u8]) -> Result<Option<(Newest, Arc<[u8]>)>> {
        Ok(self.newest(key)?.zip(self.read_row(key, Timestamp::MAX)?))
    }

    fn greatest_key(&self) -> Result<Option<Vec<u8>>> {
        Ok(self.state.lock().versions.keys().next_back().cloned())
    }

    /// One batch.
    fn scan(&self, schema: &Arc<Schema>, request: ScanRequest) -> Result<ScanOutput> {
        let ScanRequest { view, projection, predicates, .. } = request;
        let state = self.state.lock();
        let codec = RowCodec::new(schema);
        let matches =
            |row: &Arc<[u8]>| predicates.iter().all(|predicate| predicate.matches(codec.get(row, predicate.column())));
        let own = view.own.unwrap_or_default();
        let committed = state.versions.keys().filter(|key| !own.rows.contains_key(&key[..]));
        let committed = committed.filter_map(|key| state.find(key, view.read_ts));
        let staged = own.rows.values().filter_map(|staged| staged.row.clone());
        let rows: Vec<Arc<[u8]>> = committed.chain(staged).filter(matches).collect();
        let columns = projection.iter().map(|&column| {
            let data_type = schema.columns[column].data_type;
            (column.to_string(), column_of_rows(&codec, data_type, column, rows.iter().map(|row| &row[..])))
        });
        let batch = RecordBatch::try_from_iter(columns).expect("columns of one length");
        Ok(ScanOutput { partitions: vec![Box::new(OneBatch(Some(batch)))], metrics: Arc::default() })
    }

    fn statistics(&self) -> TableStatistics {
        TableStatistics::default()
    }
}

impl Write for MemoryTable {
    fn apply(&self, ts: Timestamp, writes: &TableWrites) -> Result<()> {
        let mut state = self.state.lock();
        if ts <= state.cut {
            return Ok(());
        }
        for attachment in &writes.attachments {
            self.attach(&mut state, ts, &attachment.files, &attachment.payload)?;
        }
        for (key, Staged { base, row, .. }) in &writes.rows {
            match base {
                Base::Free => {}
                Base::Version(..) => drop(state.delete(key, ts)),
                Base::Unseen => state.clear(key, ts),
            }
            if let Some(row) = row {
                state.charge(&self.context, row.len() as u64);
                state.insert(key.to_vec(), ts, row.clone());
            }
        }
        state.last = state.last.max(ts);
        Ok(())
    }

    fn give_up(&self, _: Timestamp, _: &Error) -> bool {
        false
    }
}

impl Bulk for MemoryTable {
    fn bulk_bytes(&self) -> u64 {
        4 << 20
    }

    fn build(&self, batches: &[RecordBatch]) -> Result<Attachment> {
        self.build_rows(batches, true)
    }

    fn discard(&self, attachment: &Attachment) {
        attachment.files.iter().for_each(|&file| self.remove(file));
    }
}

impl Blind for MemoryTable {
    fn may_have_changed(&self, key: &[u8], ts: Timestamp) -> Result<bool> {
        let state = self.state.lock();
        let last = state.versions.get(key).and_then(|versions| versions.last());
        let ended = |version: &Version| version.delete_ts != Timestamp::MAX && version.delete_ts > ts;
        Ok(last.is_some_and(|version| version.insert_ts > ts || ended(version)))
    }
}

impl BulkReplace for MemoryTable {
    fn still_there(&self, places: &[Option<Location>]) -> Vec<bool> {
        vec![false; places.len()]
    }

    fn build_replacing(&self, batches: &[RecordBatch]) -> Result<Attachment> {
        self.build_rows(batches, false)
    }

    fn built_row(&self, attachment: &Attachment, key: &[u8]) -> Result<Option<Arc<[u8]>>> {
        let mut found = None;
        self.built_rows(attachment, &mut |other, row| {
            if other == key {
                found = Some(row);
            }
            Ok(())
        })?;
        Ok(found)
    }

    fn built_rows(&self, attachment: &Attachment, visit: &mut VisitRow<'_>) -> Result<()> {
        for &file in &attachment.files {
            for (_, row) in self.read_file(file)? {
                visit(&self.keys.of_row(&self.codec.read().clone(), &row), row)?;
            }
        }
        Ok(())
    }
}

impl Upkeep for MemoryTable {
    fn jobs(&self) -> Vec<JobOffer> {
        let state = self.state.lock();
        let Some(frozen) = state.frozen else { return Vec::new() };
        if self.context.services.published() < frozen {
            return Vec::new();
        }
        let price = Price { memory_freed_bytes: state.charged, ..Price::default() };
        let reason = "frozen".into();
        vec![JobOffer { table: self.def().id, kind: JobKind::freeing("convert"), number: frozen.0, price, reason }]
    }

    fn run(&self, _: &JobOffer) -> Result<()> {
        let (cut, rows, old, attached) = {
            let state = self.state.lock();
            let Some(cut) = state.frozen else { return Ok(()) };
            let versions = state.versions.values().flatten();
            let alive = versions.filter(|version| version.insert_ts <= cut && cut < version.delete_ts);
            let rows: Vec<_> = alive.map(|version| (version.insert_ts, version.row.clone())).collect();
            let attached = state.attached.iter().copied().filter(|attached| attached.0 <= cut).collect::<Vec<_>>();
            (cut, rows, state.file, attached)
        };
        let file = self.write_file(&rows)?;
        let removed: Vec<FileId> = old.into_iter().collect();
        let edit = Edit { table: self.def().id, cut, added: vec![file], removed, payload: vec![7] };
        let durable = self.context.services.apply_edit(edit).inspect_err(|error| {
            if error.code() != Code::Poisoned {
                self.remove(file);
            }
        })?;
        let mut state = self.state.lock();
        state.cut = cut;
        state.file = Some(file);
        state.frozen = None;
        state.attached.retain(|file| !attached.contains(file));
        self.context.services.row_budget().release(std::mem::take(&mut state.charged));
        drop(state);
        durable.followed();
        old.into_iter().chain(attached.into_iter().map(|attached| attached.1)).for_each(|file| self.remove(file));
        Ok(())
    }

    fn freeze(&self) {
        let mut state = self.state.lock();
        if state.frozen.is_none() && state.cut < state.last {
            state.frozen = Some(self.context.services.last_sequenced());
        }
    }

    fn durable_cut(&self) -> Timestamp {
        let state = self.state.lock();
        if state.cut < state.last { state.cut } else { Timestamp::MAX }
    }

    fn evolve(&self, def: &Arc<TableDef>) {
        *self.codec.write() = Arc::new(RowCodec::new(&def.schema));
    }

    fn drop_files(&self) {
        self.state.lock().dropped = true;
    }

    fn check(&self) -> Result<Vec<String>> {
        Ok(Vec::new())
    }

    fn damage(&self) -> Vec<Damage> {
        Vec::new()
    }

    fn unavailable(&self) -> Option<&Error> {
        None
    }

    /// All rows stay in memory.
    fn follow(&self, switch: &FileSwitch) -> Result<()> {
        let mut state = self.state.lock();
        state.cut = switch.cut;
        state.file = switch.added.first().copied();
        state.attached.retain(|attached| attached.0 > switch.cut);
        Ok(())
    }
}

impl Inspect for MemoryTable {
    fn layers(&self) -> Vec<LayerStatus> {
        Vec::new()
    }

    fn parts(&self) -> Vec<PartStatus> {
        Vec::new()
    }
}

impl Table for MemoryTable {
    fn bulk(&self) -> Option<&dyn Bulk> {
        (!self.has("plain")).then_some(self)
    }

    fn bulk_replace(&self) -> Option<&dyn BulkReplace> {
        (!self.has("plain")).then_some(self)
    }

    fn blind(&self) -> Option<&dyn Blind> {
        self.has("blind").then_some(self)
    }

    fn in_place(&self) -> Option<&dyn InPlace> {
        None
    }

    fn versions(&self) -> Option<&dyn Versions> {
        None
    }
}
