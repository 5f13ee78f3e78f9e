//! A table of pages.
//!
//! Concurrency: one lock for all of it. A job copies the pages that it writes and lets go of the lock meanwhile.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, RecordBatchOptions};
use weft_contract::{
    Blind, Bulk, BulkReplace, Damage, FileSwitch, InPlace, Inspect, JobKind, JobOffer, LOCATION, LayerStatus, Newest,
    PartStatus, Partition, Price, Read, RecoveredTable, ScanOutput, ScanRequest, Table, TableStatistics, TableWrites,
    Upkeep, Versions, Write, scan_schema,
};
use weft_env::sync::Mutex;
use weft_format::row_arrays::column_of_rows;
use weft_format::{Code, Error, FileId, RecordNo, Result, RowCodec, Schema, Timestamp, Value};
use weft_kernel::TableDef;
use weft_kernel::files::{PageChanges, PagedFile};
use weft_kernel::manifest::Edit;
use weft_kernel::method::TableContext;

use super::bytes::{PAGE_BYTES, image_record, is_long, of_disk, on_disk, read_record};
use super::page::Page;
use super::pages::Pages;

/// A page that is being written is read so often.
const READS: u32 = 3;
/// Writes changed pages.
pub(super) const WRITE_BACK: JobKind = JobKind::freeing("write back");

struct State {
    pages: Pages,
    /// None before the first write.
    file: Option<Arc<PagedFile>>,
    /// The manifest names the file.
    is_named: bool,
    cut: Timestamp,
    /// The last change.
    last: Timestamp,
    /// The next job carries everything up to here to disk.
    frozen: Option<Timestamp>,
    /// The first record that the pages lack which a job writes at this moment.
    written_from: Option<RecordNo>,
    is_dropped: bool,
    charged: u64,
}

/// See the module.
pub(super) struct InPlaceTable {
    context: TableContext,
    state: Mutex<State>,
}

/// Pages that a job writes, each as it was when its image was logged.
#[derive(Default)]
struct Written {
    pages: Vec<Page>,
    /// The record of the last image.
    last: Option<RecordNo>,
}

impl State {
    fn is_behind(&self) -> bool {
        self.cut < self.last || self.pages.all().any(|page| page.is_changed)
    }
}

impl InPlaceTable {
    pub(super) fn open(context: TableContext, recovered: &RecoveredTable) -> Result<InPlaceTable> {
        let file = match recovered.files.as_slice() {
            [] => None,
            [number] => Some(context.services.files().open_paged(context.def.id, *number, PAGE_BYTES)?),
            _ => return Err(Error::corrupt(format!("table {:?} has more than one file", context.def.name))),
        };
        let pages = file.as_ref().map_or_else(|| Ok(Pages::new()), read_pages)?;
        let (is_named, cut) = (file.is_some(), recovered.cut);
        let state = State {
            pages,
            file: file.map(Arc::new),
            is_named,
            cut,
            last: cut,
            frozen: None,
            written_from: None,
            is_dropped: false,
            charged: 0,
        };
        Ok(InPlaceTable { context, state: Mutex::new(state) })
    }

    fn log(&self, change: &[u8]) -> Result<RecordNo> {
        self.context.services.log_page(self.context.def.id, change)
    }

    /// Takes what has changed, one page after the other, and says it to the log: each changes again from then on. What
    /// is split off meanwhile is in the log.
    fn take_changed(&self, written: &mut Written) -> Result<()> {
        let changed: Vec<u64> = {
            let state = self.state.lock();
            state.pages.all().filter(|page| page.is_changed).map(|page| page.number).collect()
        };
        for number in changed {
            self.context.services.wait_for_log_room()?;
            let mut state = self.state.lock();
            let State { pages, written_from, .. } = &mut *state;
            let page = pages.split_page(number, &|change| self.log(change))?;
            if is_long(page) {
                let message = format!("a row of page {number} is longer than a page of method in_place");
                return Err(Error::new(Code::ProgramLimit, message).hint("store large values elsewhere"));
            }
            let record = self.log(&image_record(page))?;
            page.changed_by(record);
            written.pages.push(page.clone());
            written.last = Some(record);
            *written_from = (*written_from).into_iter().chain(page.needs.take()).min();
            page.is_changed = false;
        }
        Ok(())
    }

    /// Writes pages over what lies there, durably (in place 1).
    fn write(&self, mut changes: PageChanges<'_>, written: &Written) -> Result<()> {
        let Some(last) = written.last else { return Ok(()) };
        self.context.services.flush_log_to(last)?;
        written.pages.iter().try_for_each(|page| changes.write(page.number, &on_disk(page)))?;
        changes.sync()
    }

    /// What a job took is to be written again.
    fn give_back(&self, written: &Written, charged: u64, error: &Error) {
        let mut state = self.state.lock();
        (state.written_from, state.charged) = (None, state.charged + charged);
        // The edit may be durable: the next opening knows.
        state.is_named |= error.code() == Code::Poisoned;
        let mut taken = written.pages.iter().peekable();
        for page in state.pages.all_mut() {
            if let Some(taken) = taken.next_if(|taken| taken.number == page.number) {
                page.is_changed = true;
                page.needs = taken.needs.into_iter().chain(page.needs).min();
            }
        }
    }
}

/// The pages of a file; some are torn, or are being written.
fn read_pages(file: &PagedFile) -> Result<Pages> {
    let failed = |error| Error::io("reading a file of method in_place", &error);
    let mut found = Vec::new();
    for number in 0..file.page_count().map_err(failed)? {
        let mut page = None;
        for _ in 0..READS {
            page = of_disk(&file.read(number).map_err(failed)?);
            if page.is_some() {
                break;
            }
        }
        found.push(page);
    }
    Ok(Pages::of_disk(found))
}

impl Drop for InPlaceTable {
    fn drop(&mut self) {
        let state = self.state.get_mut();
        self.context.services.row_budget().release(state.charged);
        if state.is_dropped || !state.is_named {
            state.file.iter().for_each(|file| file.retire());
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
        let seen = state.pages.of_key(key).slot(key).and_then(|slot| slot.seen(read_ts));
        Ok(seen.map(|version| Arc::clone(&version.row)))
    }

    fn newest(&self, key: &[u8]) -> Result<Option<Newest>> {
        Ok(self.newest_row(key)?.map(|(newest, _)| newest))
    }

    fn newest_row(&self, key: &[u8]) -> Result<Option<(Newest, Arc<[u8]>)>> {
        let state = self.state.lock();
        let seen = state.pages.of_key(key).slot(key).and_then(|slot| slot.seen(Timestamp::MAX));
        Ok(seen.map(|version| (Newest { insert_ts: version.since, location: None }, Arc::clone(&version.row))))
    }

    fn greatest_key(&self) -> Result<Option<Vec<u8>>> {
        Ok(self.state.lock().pages.slots().last().map(|slot| slot.key.to_vec()))
    }

    /// The rows are copied out at once, and dealt out in stretches.
    fn scan(&self, schema: &Arc<Schema>, request: ScanRequest) -> Result<ScanOutput> {
        let ScanRequest { view, projection, predicates, partition_count, batch_rows } = request;
        let codec = RowCodec::new(schema);
        let own = view.own.unwrap_or_default();
        let state = self.state.lock();
        let committed = state.pages.slots().filter(|slot| !own.rows.contains_key(&slot.key[..]));
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
        let rows = self.state.lock().pages.slots().count() as u64;
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
        let log = |change: &[u8]| self.log(change);
        for (key, staged) in &writes.rows {
            let page = state.pages.of_key_mut(key);
            // It came with the page (contract: in place 2).
            if page.is_ahead(key, ts) {
                continue;
            }
            let was_there = page.end(key, ts);
            assert!(was_there == staged.base.version().is_some(), "what is replaced is there, and nothing else");
            if let Some(row) = &staged.row {
                page.put(key, ts, Arc::clone(row));
                state.charged += row.len() as u64;
                self.context.services.row_budget().charge(row.len() as u64);
                // While the log is read the splits are those that it has.
                if self.context.services.takes_page_records() {
                    state.pages.split(key, &log)?;
                }
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
        let changed = state.pages.all().filter(|page| page.is_changed).count();
        let price = Price { memory_freed_bytes: state.charged, ..Price::default() };
        let reason = format!("{changed} pages changed");
        vec![JobOffer { table: self.context.def.id, kind: WRITE_BACK, number: frozen.0, price, reason }]
    }

    fn run(&self, offer: &JobOffer) -> Result<()> {
        let (table, cut) = (self.context.def.id, Timestamp(offer.number));
        let found = self.state.lock().file.clone();
        let file = match found {
            Some(file) => file,
            None => Arc::new(self.context.services.files().create_paged(table, PAGE_BYTES)?),
        };
        // Before anything is logged: a backup may have the file.
        let changes = file.change()?;
        let (is_named, charged) = {
            let mut state = self.state.lock();
            // Another freeze is another offer: what it has may not be published yet.
            if state.frozen != Some(cut) {
                return Ok(());
            }
            state.file = Some(Arc::clone(&file));
            (state.is_named, std::mem::take(&mut state.charged))
        };
        let added: Vec<FileId> = (!is_named).then(|| file.number()).into_iter().collect();
        let edit = Edit { table, cut, added, ..Edit::default() };
        let mut written = Written::default();
        let durable = self
            .take_changed(&mut written)
            .and_then(|()| self.write(changes, &written))
            .and_then(|()| self.context.services.apply_edit(edit))
            .inspect_err(|error| self.give_back(&written, charged, error))?;
        let mut state = self.state.lock();
        (state.cut, state.frozen, state.is_named, state.written_from) = (cut, None, true, None);
        let limit = self.context.horizon.advance(cut);
        state.pages.all_mut().for_each(|page| page.purge(limit));
        self.context.services.row_budget().release(charged);
        drop(state);
        durable.followed();
        Ok(())
    }

    fn freeze(&self) {
        let mut state = self.state.lock();
        if state.frozen.is_none() && state.is_behind() {
            state.frozen = Some(self.context.services.last_sequenced().max(state.last));
        }
    }

    fn durable_cut(&self) -> Timestamp {
        let state = self.state.lock();
        if state.is_behind() { state.cut } else { Timestamp::MAX }
    }

    /// Rows say how many columns they have; readers know the rest.
    fn evolve(&self, _: &Arc<TableDef>) {}

    fn drop_files(&self) {
        self.state.lock().is_dropped = true;
    }

    fn check(&self) -> Result<Vec<String>> {
        let state = self.state.lock();
        let mut wrong = state.pages.check();
        let is_at_rest = self.context.services.takes_page_records() && state.written_from.is_none();
        // Who follows has pages of its own; what is being written is not whole yet.
        if let Some(file) = state.file.as_ref().filter(|_| is_at_rest) {
            for page in state.pages.all().filter(|page| !page.is_changed) {
                let bytes = file.read(page.number).map_err(|error| Error::io("reading a page", &error))?;
                if of_disk(&bytes).is_none_or(|found| found.record != page.record) {
                    wrong.push(format!("page {} is not on disk as it was written", page.number));
                }
            }
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
        state.cut = switch.cut;
        let limit = self.context.horizon.advance(switch.cut);
        state.pages.all_mut().for_each(|page| page.purge(limit));
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

    fn in_place(&self) -> Option<&dyn InPlace> {
        Some(self)
    }

    fn versions(&self) -> Option<&dyn Versions> {
        None
    }
}

impl InPlace for InPlaceTable {
    fn redo(&self, number: RecordNo, change: &[u8]) -> Result<()> {
        let change = read_record(change)?;
        self.state.lock().pages.redo(number, change);
        Ok(())
    }

    fn redone(&self) -> Result<()> {
        self.state.lock().pages.settle()
    }

    fn opened(&self) {}

    fn last_found(&self) -> RecordNo {
        self.state.lock().pages.last_found
    }

    fn needs_from(&self) -> Option<RecordNo> {
        let state = self.state.lock();
        state.pages.all().filter_map(|page| page.needs).chain(state.written_from).min()
    }
}
