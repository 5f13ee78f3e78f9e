//! Writing changed pages, and forgetting what nobody sees.
//!
//! ```text
//!   frozen at 40, 812 pages changed, horizon 38
//!   1  dead rows and versions up to 38 go, sparse leaves are joined
//!   2  by 64 pages: images to the log · the log durable · the pages written over what lies there
//!   3  the file synced · edit {cut 40, free pages, rows}
//! ```
//!
//! 1. A page is in the log as it is on disk, as long as it may be torn: the image's record is needed until the edit.
//! 2. A page that changes after its image changes again, and is written again by the next job.
//! 3. After an error what was taken counts as changed again.
//!
//! Concurrency: a page is latched while its image is made. The job holds the frames that it writes (pool 1).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use weft_contract::{Damage, FileSwitch, JobOffer, Price, TableDef, Upkeep};
use weft_format::{Code, Error, FileId, RecordNo, Result, Timestamp};
use weft_kernel::fault::active;
use weft_kernel::files::{PageChanges, PagedFile};
use weft_kernel::manifest::Edit;
use weft_kernel::step::reached;

use super::bytes::{body_of, image_record, pages_for, pages_of};
use super::faults;
use super::job_kinds::{FIND_LOADED, WRITE_BACK};
use super::loads::Loads;
use super::pool::{Frame, Page};
use super::space::Payload;
use super::steps;
use super::store::{Changed, Changes, Store};

/// Pages whose images become durable together.
const BATCH_PAGES: usize = 64;
/// Bytes that one core writes in a microsecond, about.
const WRITE_BYTES_PER_US: u64 = 100;

/// What a job has taken to write.
#[derive(Default)]
struct Taken {
    pages: BTreeMap<u64, (Arc<Frame>, Changed)>,
}

impl Upkeep for Store {
    fn jobs(&self) -> Vec<JobOffer> {
        let is_out = self.is_dropped.load(Ordering::Acquire) || self.given_up.error().is_some();
        if is_out {
            return Vec::new();
        }
        let frozen = self.frozen().filter(|frozen| *frozen <= self.context.services.published());
        let Some(frozen) = frozen else { return self.sweep_offer().into_iter().collect() };
        let pages = self.changes.lock().pages.len();
        let (bytes, undo_bytes) = (self.pool.lent_bytes(), self.undo.bytes());
        let price = Price {
            cpu_us: bytes / WRITE_BYTES_PER_US,
            write_bytes: bytes * 2,
            memory_freed_bytes: bytes + undo_bytes,
            log_released_bytes: bytes,
            ..Price::default()
        };
        let reason = format!("{pages} pages have changed, {undo_bytes} bytes of older versions");
        vec![JobOffer { table: self.context.def.id, kind: WRITE_BACK, number: frozen.0, price, reason }]
    }

    fn run(&self, offer: &JobOffer) -> Result<()> {
        if offer.kind == FIND_LOADED {
            return if self.given_up.error().is_some() { Ok(()) } else { self.sweep_some(offer) };
        }
        let cut = Timestamp(offer.number);
        // Another freeze is another offer: what it has may not be published yet.
        if self.frozen() != Some(cut) || self.given_up.error().is_some() {
            return Ok(());
        }
        self.write_back(Some(cut))
    }

    fn freeze(&self) {
        self.freeze_all();
    }

    fn durable_cut(&self) -> Timestamp {
        if self.is_behind() && !self.is_dropped.load(Ordering::Acquire) { self.cut() } else { Timestamp::MAX }
    }

    /// Rows say how many columns they have; readers know the rest.
    fn evolve(&self, def: &Arc<TableDef>) {
        *self.def.write() = def.clone();
    }

    fn drop_files(&self) {
        self.is_dropped.store(true, Ordering::Release);
    }

    fn check(&self) -> Result<Vec<String>> {
        match self.given_up.error() {
            None => self.check_all(),
            Some(error) => Ok(vec![error.to_string()]),
        }
    }

    fn damage(&self) -> Vec<Damage> {
        self.given_up.error().map(|error| Damage { file: None, error: error.clone() }).into_iter().collect()
    }

    fn unavailable(&self) -> Option<&Error> {
        self.given_up.error()
    }

    /// All nodes of a follower are in memory, and its own.
    fn follow(&self, switch: &FileSwitch) -> Result<()> {
        self.set_cut(switch.cut);
        self.purge(self.context.horizon.advance(switch.cut)).map(drop)
    }
}

impl Store {
    /// Forgets what nobody sees any more; where leaves begin that are sparse now.
    fn purge(&self, limit: Timestamp) -> Result<Vec<Vec<u8>>> {
        let limit = if active(faults::PURGE_TOO_EARLY) { self.last() } else { limit };
        self.undo.purge(limit);
        let numbers: Vec<u64> = {
            let changes = self.changes.lock();
            changes.pages.keys().chain(&changes.with_dead).copied().collect()
        };
        let mut sparse = Vec::new();
        for number in numbers {
            let frame = self.pool.frame(number);
            self.pool.load(&frame)?;
            sparse.extend(self.purge_leaf(&frame, limit));
        }
        Ok(sparse)
    }

    /// Writes what has changed, and an edit with the cut of a freeze, or with the one that there is.
    pub(super) fn write_back(&self, frozen: Option<Timestamp>) -> Result<()> {
        let _alone = self.writing.lock();
        let cut = frozen.unwrap_or_default().max(self.cut());
        let (table, services) = (self.context.def.id, &self.context.services);
        let file = match self.pool.file() {
            Some(file) => file,
            None => {
                let file = Arc::new(services.files().create_paged(table, self.pool.page_bytes)?);
                self.pool.set_file(file.clone());
                file
            }
        };
        // Before anything is logged: a backup may have the file.
        let writing = file.change()?;
        let swept = self.swept.lock().clone();
        let limit = self.context.horizon.advance(cut);
        // A load alone writes pages: the cut stays, and so does nearly all that a job would forget.
        let sparse = if frozen.is_some() { self.purge(limit)? } else { Vec::new() };
        sparse.iter().try_for_each(|low| self.merge_around(low).map(drop))?;
        {
            // Who joins reads pages, and of the log what they lack.
            let changes: &mut Changes = &mut self.changes.lock();
            changes.is_writing = true;
            changes.rows_written_from = std::mem::replace(&mut changes.rows_from, changes.rows_in_hand);
        }
        let mut taken = Taken::default();
        let is_named = self.is_named.load(Ordering::Acquire);
        let added: Vec<FileId> = (!is_named).then(|| file.number()).into_iter().collect();
        let durable = self
            .write_changed(writing, &file, &mut taken)
            .and_then(|()| {
                let rows = self.rows.load(Ordering::Acquire).max(0).cast_unsigned();
                let loads = self.take_loads(limit, &swept);
                let payload = Payload { space: self.space.lock().clone(), rows, loads }.encode();
                services.apply_edit(Edit { table, cut, added, payload, ..Edit::default() })
            })
            .inspect_err(|error| self.give_back(&taken, error))?;
        reached(steps::EDIT_DURABLE);
        self.is_named.store(true, Ordering::Release);
        self.set_cut(cut);
        let mut changes = self.changes.lock();
        (changes.written_from, changes.space_from, changes.freed_from) = (None, None, None);
        changes.is_writing = false;
        (changes.loads_written_from, changes.rows_written_from) = (None, None);
        if active(faults::FORGET_CHANGED_WHILE_WRITTEN) {
            changes.pages.retain(|page, _| !taken.pages.contains_key(page));
        }
        drop(changes);
        durable.followed();
        taken.pages.into_values().for_each(|(frame, _)| self.pool.take_back(frame));
        // Until here it was charged to the memory of rows, of which the next freeze is to have its part.
        if self.frozen().is_some_and(|frozen| frozen <= cut) {
            self.set_frozen(None);
        }
        Ok(())
    }

    /// What became of loads, for an edit. The pages are synced of which those that are swept had rows.
    fn take_loads(&self, limit: Timestamp, swept: &BTreeSet<RecordNo>) -> Loads {
        let mut changes = self.changes.lock();
        let mut loads = self.loads.write();
        loads.settle(limit);
        loads.forget(swept);
        self.swept.lock().retain(|load| !swept.contains(load));
        changes.loads_written_from = changes.loads_from.take();
        loads.clone()
    }

    /// Writes all that has changed, durably.
    fn write_changed(&self, mut writing: PageChanges<'_>, file: &PagedFile, taken: &mut Taken) -> Result<()> {
        let services = &self.context.services;
        assert!(self.pool.file().is_some_and(|known| known.number() == file.number()), "a table has one file");
        let numbers: Vec<u64> = self.changes.lock().pages.keys().copied().collect();
        for batch in numbers.chunks(BATCH_PAGES) {
            let mut images = Vec::new();
            let mut last = None;
            for &number in batch {
                services.wait_for_log_room()?;
                last = self.take(number, taken, &mut images)?.or(last);
            }
            let Some(last) = last else { continue };
            services.flush_log_to(last)?;
            reached(steps::IMAGES_DURABLE);
            images.iter().try_for_each(|(number, bytes)| writing.write(*number, bytes))?;
            reached(steps::PAGES_WRITTEN);
        }
        writing.sync()?;
        reached(steps::PAGES_SYNCED);
        Ok(())
    }

    /// Makes the image of a page and logs it; its record. None: it was freed.
    fn take(&self, number: u64, taken: &mut Taken, images: &mut Vec<(u64, Vec<u8>)>) -> Result<Option<RecordNo>> {
        let frame = self.pool.frame(number);
        let mut latched = frame.latch.write();
        let Some(page) = latched.as_mut() else { return Ok(None) };
        let mut changes = self.changes.lock();
        if !changes.pages.contains_key(&number) {
            return Ok(None);
        }
        let body = body_of(&page.node);
        let freed = self.fit_pages(page, body.len());
        let record =
            self.context.services.log_page(self.context.def.id, &image_record(&body, &freed, &page.further))?;
        self.give_pages_back(&freed);
        page.record = record;
        let changed = changes.pages.remove(&number).unwrap_or_default();
        let needs = Some(changed.needs.unwrap_or(record));
        changes.written_from = changes.written_from.into_iter().chain(needs).min();
        frame.is_changed.store(false, Ordering::Release);
        frame.begin_anew();
        drop(changes);
        let numbers: Vec<u64> = std::iter::once(number).chain(page.further.iter().copied()).collect();
        images.extend(pages_of(&body, record, &numbers, self.pool.page_bytes));
        drop(latched);
        let before = taken.pages.insert(number, (frame, Changed { needs }));
        assert!(before.is_none(), "a job takes a page once (maintain 2)");
        Ok(Some(record))
    }

    /// Gives a node the pages that it needs; those that it does not need any more.
    fn fit_pages(&self, page: &mut Page, body_bytes: usize) -> Vec<u64> {
        let wanted = pages_for(body_bytes, self.pool.page_bytes) - 1;
        let mut space = self.space.lock();
        while page.further.len() < wanted {
            page.further.push(space.take());
        }
        page.further.split_off(wanted)
    }

    /// What a job took is to be written again (maintain 3).
    fn give_back(&self, taken: &Taken, error: &Error) {
        // The edit may be durable: the next opening knows.
        if error.code() == Code::Poisoned {
            self.is_named.store(true, Ordering::Release);
        }
        for (&number, (frame, changed)) in &taken.pages {
            let latched = frame.latch.write();
            let mut changes = self.changes.lock();
            let is_there = latched.is_some();
            match changes.pages.get_mut(&number).filter(|_| is_there) {
                Some(again) => again.needs = changed.needs.into_iter().chain(again.needs).min(),
                None if is_there => {
                    frame.is_changed.store(true, Ordering::Release);
                    changes.pages.insert(number, *changed);
                }
                None => {}
            }
        }
        let changes: &mut Changes = &mut self.changes.lock();
        (changes.written_from, changes.is_writing) = (None, false);
        changes.loads_from = changes.loads_written_from.take().or(changes.loads_from);
        changes.rows_from = changes.rows_written_from.take().or(changes.rows_from);
    }
}
