//! How committed writes come in, and what a blind one asks before.
//!
//! ```text
//!   apply(ts 44)   k1: base at t12-7:17   → mark 17 @ 44 · new version into the row table of 44
//!                  k2: no base            → new version
//!                  k3: base in row table 6, which was converted since → looked for again: t12-9:4 → mark 4 @ 44
//!   cut 44         nothing of it happens: it is in files
//! ```

use std::sync::Arc;
use std::sync::atomic::Ordering;

use weft_contract::{Attachment, Base, Blind, Staged, TableWrites, Write};
use weft_format::{Error, FileId, Result, Timestamp};
use weft_kernel::fault::active;
use weft_kernel::read_again;
use weft_kernel::step::{Moment, passed};

use super::faults;
use super::key_probe::KeyProbe;
use super::layout::{Layout, Site};
use super::options::Incremental;
use super::part::Part;
use super::replace::replaces;
use super::row_table::Place;
use super::store::Store;
use super::together::Turnover;

/// How many young marks a part collects before those behind the horizon are dropped from the list.
const YOUNG_MARKS_MAX: usize = 4096;

impl Write for Store {
    fn apply(&self, ts: Timestamp, writes: &TableWrites) -> Result<()> {
        if ts <= self.cut() && !active(faults::REPLAY_TWICE_APPLIES) {
            return Ok(());
        }
        let attached = match &writes.attachments[..] {
            [] => Vec::new(),
            all => all.iter().map(|attachment| self.parts_of(attachment, ts)).collect::<Result<Vec<_>>>()?,
        };
        let _marking = self.marking.lock();
        if self.given_up.covers(ts) {
            // Only the log has it, and names the files.
            return Ok(());
        }
        self.apply_locked(ts, writes, &attached)?;
        self.taken_in(ts)
    }

    fn give_up(&self, ts: Timestamp, error: &Error) -> bool {
        let _marking = self.marking.lock();
        self.given_up.set(ts, error);
        // Given up 3.
        self.note_change(ts);
        true
    }
}

impl Blind for Store {
    fn may_have_changed(&self, key: &[u8], ts: Timestamp) -> Result<bool> {
        self.given_up.check(Timestamp::MAX)?;
        if self.last_change() <= ts {
            return Ok(false);
        }
        let layout = self.layout();
        let probe = KeyProbe::new(key);
        let is_later = |place: Place| {
            let (began, ended) = (place.chunk.insert_ts(place.slot), place.chunk.delete_ts(place.slot));
            began > ts || (ended > ts && ended != Timestamp::MAX)
        };
        if layout.row_tables().find_map(|table| table.newest(&probe, Timestamp::MAX)).is_some_and(is_later) {
            return Ok(true);
        }
        let may_have = |part: &Arc<Part>| part.insert_ts_max().max(part.marks.latest()) > ts;
        Ok(layout.columns.covering(key).any(|part| may_have(part) && part.table.may_contain_key(probe.hash)))
    }
}

impl Store {
    /// What follows when the versions of a commit are in. The caller holds the mark lock.
    pub(crate) fn taken_in(&self, ts: Timestamp) -> Result<()> {
        if self.options.incremental == Incremental::Columns {
            let (shape, layout) = (self.shape(), self.layout());
            layout.row_table_of(ts).encode(&shape.schema, &shape.codec)?;
        }
        self.note_change(ts);
        let layout = self.layout();
        if self.is_row_table_full(&layout) {
            self.freeze_active(self.context.services.last_sequenced().max(self.last_change()));
            self.context.services.wake_jobs();
        } else if !self.converting.load(Ordering::Acquire) && self.convertible(&layout).is_some() {
            self.context.services.wake_jobs();
        }
        Ok(())
    }

    /// `attached` has the parts of each attachment. The caller holds the mark lock.
    fn apply_locked(&self, ts: Timestamp, writes: &TableWrites, attached: &[Vec<Arc<Part>>]) -> Result<()> {
        for (attachment, parts) in writes.attachments.iter().zip(attached) {
            match &attachment.replaced {
                Some(replaced) => self.end_replaced(&self.layout(), ts, replaced)?,
                None if replaces(&attachment.payload) => self.end_keys_of(&self.layout(), ts, parts)?,
                None => continue,
            }
            passed(Moment::VersionsEnded);
        }
        let attached = attached.concat();
        if !attached.is_empty() {
            self.attach(&attached);
        }
        let layout = self.layout();
        let mut row_table = layout.row_table_of(ts).filling();
        for (key, staged) in &writes.rows {
            if staged.base == Base::Unseen {
                self.install_blind(&layout, &mut row_table, (key, ts), staged.row.as_ref())?;
                continue;
            }
            self.end_base(ts, &layout, key, staged, &attached)?;
            if let Some(row) = &staged.row {
                row_table.insert(key, ts, row.clone());
            }
        }
        Ok(())
    }

    /// Ends the version that a staged row replaces.
    fn end_base(
        &self,
        ts: Timestamp,
        layout: &Layout,
        key: &[u8],
        staged: &Staged,
        attached: &[Arc<Part>],
    ) -> Result<()> {
        if let Some((base_ts, hint)) = staged.base.version() {
            let found = read_again(&*self.context.env.clock, || layout.find_again(hint, key))?;
            let site = found.ok_or_else(|| {
                let name = &self.context.def.name;
                Error::internal(format!("table \"{name}\" lost the version {base_ts} that commit {ts} replaces"))
            })?;
            self.end(&site, ts);
            passed(Moment::VersionsEnded);
        } else if !attached.is_empty() {
            // The transaction built files first and changed a row of them afterwards.
            let probe = KeyProbe::new(key);
            for part in attached {
                let found = read_again(&*self.context.env.clock, || part.find(&probe, Timestamp::MAX))?;
                if let Some(position) = found {
                    self.end(&Site::Column(part, position), ts);
                }
            }
        }
        Ok(())
    }

    /// Ends a version; the caller holds the mark lock.
    pub(crate) fn end(&self, site: &Site<'_>, ts: Timestamp) {
        match site {
            Site::Row(table, place) => table.end(place, ts),
            Site::Column(part, position) => {
                if !part.marks.set(*position, ts) {
                    return;
                }
                let (dead, rows) = (u64::from(part.marks.count()), u64::from(part.row_count()));
                let limit = rows * self.options.dead_percent;
                if dead * 100 >= limit && (dead - 1) * 100 < limit {
                    self.context.services.wake_jobs();
                }
                if dead.is_multiple_of(YOUNG_MARKS_MAX as u64) && part.marks.young_count() >= YOUNG_MARKS_MAX {
                    part.marks.forget(self.droppable(self.cut()));
                }
            }
        }
    }

    /// Puts parts into the layout; the caller holds the mark lock.
    pub(crate) fn attach(&self, attached: &[Arc<Part>]) {
        let has_commit = |part: &Arc<Part>| part.attached_at().is_some_and(|at| at < Timestamp::MAX);
        assert!(attached.iter().all(has_commit), "a part enters the layout with the timestamp of its commit");
        let before = self.layout();
        let columns = before.columns.with(attached);
        let turnover = Turnover { came: attached, went: &[] };
        self.switch(before.rows(), Arc::new(columns), turnover);
    }

    /// The parts that an attachment names: which this process has built and kept open, or which are opened now.
    fn parts_of(&self, attachment: &Attachment, ts: Timestamp) -> Result<Vec<Arc<Part>>> {
        let part = |&file: &FileId| {
            let mut built = self.built.lock();
            let at = built.iter().position(|part| part.file == file);
            let known = at.map(|at| built.swap_remove(at));
            drop(built);
            match known {
                Some(part) => {
                    part.attach_at(ts);
                    Ok(part)
                }
                None => self.open_part(file, Some(ts)).map(Arc::new),
            }
        };
        attachment.files.iter().map(part).collect()
    }
}
