//! A table of pages.
//!
//! Concurrency: one lock for all of it. A job copies the pages that it writes and lets go of the lock meanwhile.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, RecordBatchOptions};
use weft_contract::{
    Blind, Bulk, BulkReplace, Damage, FileSwitch, Inspect, JobKind, JobOffer, LOCATION, LayerStatus, Newest,
    PartStatus, Partition, Price, Read, RecoveredTable, ScanOutput, ScanRequest, Table, TableStatistics, TableWrites,
    Upkeep, Write, scan_schema,
};
use weft_env::sync::Mutex;
use weft_format::row_arrays::column_of_rows;
use weft_format::{Code, Error, FileId, Result, RowCodec, Schema, Timestamp, Value};
use weft_kernel::TableDef;
use weft_kernel::files::DataFile;
use weft_kernel::manifest::Edit;
use weft_kernel::method::TableContext;

use super::files::{Places, pages_as_of, read_pages};
use super::page::{Page, Slot};

/// Writes changed pages.
pub(super) const WRITE_BACK: JobKind = JobKind::freeing("write back");

struct State {
    /// By lowest key; the first one begins at "".
    pages: BTreeMap<Vec<u8>, Page>,
    places: Places,
    /// What each page holds of the file that it was written to last.
    files: BTreeMap<u64, DataFile>,
    next_page: u64,
    cut: Timestamp,
    /// The last change.
    last: Timestamp,
    /// What the next job writes is as of here.
    frozen: Option<Timestamp>,
    is_dropped: bool,
    charged: u64,
}

/// See the module.
pub(super) struct InPlaceTable {
    context: TableContext,
    state: Mutex<State>,
}

impl State {
    fn page_of(&self, key: &[u8]) -> &Page {
        self.pages
            .range::<[u8], _>((Bound::Unbounded, Bound::Included(key)))
            .next_back()
            .expect("the first page begins at the lowest key")
            .1
    }

    fn page_for(&mut self, key: &[u8]) -> &mut Page {
        self.pages
            .range_mut::<[u8], _>((Bound::Unbounded, Bound::Included(key)))
            .next_back()
            .expect("the first page begins at the lowest key")
            .1
    }

    fn slots(&self) -> impl Iterator<Item = &Slot> {
        self.pages.values().flat_map(Page::slots)
    }

    /// Splits the page of a key when it has become too large.
    fn split(&mut self, key: &[u8]) {
        let number = self.next_page;
        if let Some(upper) = self.page_for(key).split(number) {
            let low = upper.slots().first().expect("half of the slots").key.to_vec();
            self.pages.insert(low, upper);
            self.next_page += 1;
        }
    }
}

impl InPlaceTable {
    pub(super) fn open(context: TableContext, recovered: &RecoveredTable) -> Result<InPlaceTable> {
        let places = Places::from_payloads(&recovered.payloads)?;
        let (mut pages, mut files, mut opened) = (BTreeMap::new(), BTreeMap::new(), Vec::new());
        for number in places.files() {
            let file = context.services.files().open(context.def.id, number)?;
            for page in read_pages(&*file.reader())? {
                if let Some((low, _)) = places.0.get(&page.number).filter(|(_, place)| *place == number) {
                    files.insert(page.number, file.share());
                    pages.insert(low.clone(), page);
                }
            }
            opened.push(file);
        }
        if pages.len() != places.0.len() {
            return Err(Error::corrupt(format!("table {:?} lacks pages that its payloads name", context.def.name)));
        }
        // From here on each page has its own hold on a file.
        opened.iter().for_each(DataFile::retire);
        let next_page = places.0.keys().next_back().map_or(1, |last| last + 1);
        pages.entry(Vec::new()).or_default();
        let cut = recovered.cut;
        let state =
            State { pages, places, files, next_page, cut, last: cut, frozen: None, is_dropped: false, charged: 0 };
        Ok(InPlaceTable { context, state: Mutex::new(state) })
    }

    /// Writes pages into a new file, durable with its name.
    fn write_file(&self, bytes: &[u8]) -> Result<DataFile> {
        let files = self.context.services.files();
        let mut file = files.create(self.context.def.id)?;
        let failed = |error| Error::io("writing a file of method in_place", &error);
        file.append(bytes).map_err(failed)?;
        let file = file.seal().map_err(failed)?;
        files.sync_names().inspect_err(|_| file.retire())?;
        Ok(file)
    }
}

impl Drop for InPlaceTable {
    fn drop(&mut self) {
        let state = self.state.get_mut();
        self.context.services.row_budget().release(state.charged);
        if state.is_dropped {
            state.files.values().for_each(DataFile::retire);
        }
    }
}

impl Read for InPlaceTable {
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
        let state = self.state.lock();
        let seen = state.page_of(key).slot(key).and_then(|slot| slot.seen(read_ts));
        Ok(seen.map(|version| Arc::clone(&version.row)))
    }

    fn newest(&self, key: &[u8]) -> Result<Option<Newest>> {
        let state = self.state.lock();
        let seen = state.page_of(key).slot(key).and_then(|slot| slot.seen(Timestamp::MAX));
        Ok(seen.map(|version| Newest { insert_ts: version.since, location: None }))
    }

    fn greatest_key(&self) -> Result<Option<Vec<u8>>> {
        Ok(self.state.lock().slots().last().map(|slot| slot.key.to_vec()))
    }

    /// The rows are copied out at once, and dealt out in stretches.
    fn scan(&self, schema: &Arc<Schema>, request: ScanRequest) -> Result<ScanOutput> {
        let ScanRequest { view, projection, predicates, partition_count, batch_rows } = request;
        let codec = RowCodec::new(schema);
        let own = view.own.unwrap_or_default();
        let state = self.state.lock();
        let committed = state.slots().filter(|slot| !own.rows.contains_key(&slot.key[..]));
        let committed = committed.filter_map(|slot| slot.seen(view.read_ts)).map(|version| Arc::clone(&version.row));
        let staged = own.rows.values().filter_map(|staged| staged.row.clone());
        let is_wanted =
            |row: &Arc<[u8]>| predicates.iter().all(|predicate| predicate.matches(codec.get(row, predicate.column())));
        let rows: Vec<Arc<[u8]>> = committed.chain(staged).filter(is_wanted).collect();
        drop(state);
        let arrow = scan_schema(schema, &projection);
        let batch = |rows: &[Arc<[u8]>]| {
            let column = |&ordinal: &usize| -> ArrayRef {
                if ordinal == LOCATION {
                    return Arc::new(Int64Array::new_null(rows.len()));
                }
                column_of_rows(&codec, schema.columns[ordinal].data_type, ordinal, rows.iter().map(|row| &row[..]))
            };
            let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
            let columns = projection.iter().map(column).collect();
            RecordBatch::try_new_with_options(Arc::clone(&arrow), columns, &options).expect("columns of one length")
        };
        let share = rows.len().div_ceil(partition_count).max(1);
        let mut partitions: Vec<Box<dyn Partition>> = Vec::new();
        let mut shares = rows.chunks(share);
        for _ in 0..partition_count {
            let batches = shares.next().into_iter().flat_map(|rows| rows.chunks(batch_rows)).map(batch);
            partitions.push(Box::new(Dealt(batches.collect::<Vec<_>>().into_iter())));
        }
        Ok(ScanOutput { partitions, metrics: Arc::default() })
    }

    fn statistics(&self) -> TableStatistics {
        let rows = self.state.lock().slots().count() as u64;
        let ranges = vec![None; self.context.def.schema.columns.len()];
        TableStatistics { row_count: rows, bytes: rows * 100, ranges }
    }
}

struct Dealt(std::vec::IntoIter<RecordBatch>);

impl Partition for Dealt {
    fn next(&mut self) -> Result<Option<RecordBatch>> {
        Ok(self.0.next())
    }
}

impl Write for InPlaceTable {
    fn apply(&self, ts: Timestamp, writes: &TableWrites) -> Result<()> {
        assert!(writes.attachments.is_empty(), "a table that builds no files gets none (abilities 2)");
        let mut state = self.state.lock();
        if ts <= state.cut {
            return Ok(());
        }
        for (key, staged) in &writes.rows {
            let page = state.page_for(key);
            let was_there = page.end(key, ts);
            assert!(was_there == staged.base.version().is_some(), "what is replaced is there, and nothing else");
            if let Some(row) = &staged.row {
                page.put(key, ts, Arc::clone(row));
                state.charged += row.len() as u64;
                self.context.services.row_budget().charge(row.len() as u64);
                state.split(key);
            }
        }
        state.last = state.last.max(ts);
        Ok(())
    }

    /// Nothing has to be read when a commit is applied.
    fn give_up(&self, _: Timestamp, _: &Error) -> bool {
        false
    }
}

impl Upkeep for InPlaceTable {
    fn jobs(&self) -> Vec<JobOffer> {
        let state = self.state.lock();
        let frozen = state.frozen.filter(|frozen| *frozen <= self.context.services.published() && !state.is_dropped);
        let Some(frozen) = frozen else { return Vec::new() };
        let changed = state.pages.values().filter(|page| page.is_changed).count();
        let price = Price { memory_freed_bytes: state.charged, ..Price::default() };
        let reason = format!("{changed} pages changed");
        vec![JobOffer { table: self.context.def.id, kind: WRITE_BACK, number: frozen.0, price, reason }]
    }

    fn run(&self, _: &JobOffer) -> Result<()> {
        let (cut, written, mut places) = {
            let state = self.state.lock();
            let Some(cut) = state.frozen else { return Ok(()) };
            let changed = state.pages.iter().filter(|(_, page)| page.is_changed);
            let written: BTreeMap<Vec<u8>, Page> = changed.map(|(low, page)| (low.clone(), page.clone())).collect();
            (cut, written, state.places.clone())
        };
        // What came and went changed no page.
        let file = match written.is_empty() {
            true => None,
            false => Some(self.write_file(&pages_as_of(written.values(), cut))?),
        };
        let before = places.files();
        let added: Vec<FileId> = file.iter().map(DataFile::number).collect();
        let pages = written.iter().map(|(low, page)| (page.number, (low.clone(), added[0])));
        let payload = Places(pages.collect());
        places.0.extend(payload.0.clone());
        let removed: Vec<FileId> = before.difference(&places.files()).copied().collect();
        let (table, payload) = (self.context.def.id, payload.encode());
        let edit = Edit { table, cut, added, removed, payload };
        let durable = self.context.services.apply_edit(edit).inspect_err(|error| {
            if error.code() != Code::Poisoned {
                file.iter().for_each(DataFile::retire);
            }
        })?;
        let mut state = self.state.lock();
        for (page, file) in written.values().zip(file.iter().cycle()) {
            if let Some(before) = state.files.insert(page.number, file.share()) {
                before.retire();
            }
        }
        file.iter().for_each(DataFile::retire);
        (state.cut, state.frozen, state.places) = (cut, None, places);
        let limit = self.context.horizon.advance(cut);
        let is_behind = state.last > cut;
        for (low, page) in &mut state.pages {
            // What changed beyond the cut is written by the next job.
            page.is_changed &= is_behind || !written.contains_key(low);
            page.purge(limit);
        }
        self.context.services.row_budget().release(std::mem::take(&mut state.charged));
        drop(state);
        durable.followed();
        Ok(())
    }

    fn freeze(&self) {
        let mut state = self.state.lock();
        if state.frozen.is_none() && state.cut < state.last {
            state.frozen = Some(self.context.services.last_sequenced().max(state.last));
        }
    }

    fn durable_cut(&self) -> Timestamp {
        let state = self.state.lock();
        if state.cut < state.last { state.cut } else { Timestamp::MAX }
    }

    /// Rows say how many columns they have; readers know the rest.
    fn evolve(&self, _: &Arc<TableDef>) {}

    fn drop_files(&self) {
        self.state.lock().is_dropped = true;
    }

    fn check(&self) -> Result<Vec<String>> {
        let state = self.state.lock();
        let mut wrong = Vec::new();
        let keys: Vec<&[u8]> = state.slots().map(|slot| &slot.key[..]).collect();
        if !keys.is_sorted_by(|a, b| a < b) {
            wrong.push("keys are out of order".to_owned());
        }
        for file in state.places.files() {
            let opened = self.context.services.files().open(self.context.def.id, file);
            let read = opened.and_then(|file| read_pages(&*file.reader()));
            wrong.extend(read.err().map(|error| error.to_string()));
        }
        Ok(wrong)
    }

    fn damage(&self) -> Vec<Damage> {
        Vec::new()
    }

    fn unavailable(&self) -> Option<&Error> {
        None
    }

    /// All rows are in memory, here as there; the pages of a follower are its own.
    fn follow(&self, switch: &FileSwitch) -> Result<()> {
        let mut state = self.state.lock();
        let written = Places::from_payloads(std::slice::from_ref(&switch.payload))?;
        state.places.0.extend(written.0);
        state.cut = switch.cut;
        let limit = self.context.horizon.advance(switch.cut);
        state.pages.values_mut().for_each(|page| page.purge(limit));
        self.context.services.row_budget().release(std::mem::take(&mut state.charged));
        Ok(())
    }
}

impl Inspect for InPlaceTable {
    fn layers(&self) -> Vec<LayerStatus> {
        Vec::new()
    }

    fn parts(&self) -> Vec<PartStatus> {
        Vec::new()
    }
}

impl Table for InPlaceTable {
    fn bulk(&self) -> Option<&dyn Bulk> {
        None
    }

    fn bulk_replace(&self) -> Option<&dyn BulkReplace> {
        None
    }

    fn blind(&self) -> Option<&dyn Blind> {
        None
    }
}
