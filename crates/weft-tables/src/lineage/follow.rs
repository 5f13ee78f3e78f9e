//! A follower's table does with its files as the writer's did.
//!
//! ```text
//!   switch   cut 52, added [9: pages of segment 0], removed [3]     applied here beyond 52: k1 set @ 55, k8 new @ 57
//!   before   base 40   tails (40, ..)   k1 @ 44, @ 55   k8 @ 57 at row id 70
//!   after    base 52   tails (52, ..)   k1 @ 55         k8 @ 57 at row id 71: this node gives its own
//! ```
//!
//! 1. What is at or below the cut is in the files, as the writer had it. What is beyond goes into new tails, in the
//!    order of the commits, found by key: row ids beyond the files are this node's own.
//!    Bulk loads of later commits stay, at new row ids behind those.
//! 2. What the files have forgotten no snapshot here may ask for (layout 2).
//!
//! Concurrency: the follower applies nothing meanwhile. Readers keep the layout that they pinned.

use std::sync::Arc;

use weft_contract::FileSwitch;
use weft_format::{Error, FileId, Result, Timestamp, Value};

use super::base::Base;
use super::key_run::KeyRun;
use super::layout::Layout;
use super::loaded::Loaded;
use super::payload::{Entry, Payload};
use super::record::{Kind, Record};
use super::segment::Segment;
use super::store::{Store, add_file};

/// A change beyond the cut.
struct Later {
    ts: Timestamp,
    key: Vec<u8>,
    what: What,
}

enum What {
    Insert(Arc<[u8]>),
    Set(Vec<(u16, Value)>),
    Delete,
}

impl Store {
    /// See [`Upkeep::follow`](weft_contract::Upkeep::follow).
    pub(super) fn follow_switch(&self, switch: &FileSwitch) -> Result<()> {
        let payload = Payload::decode(&switch.payload)?;
        let added: Vec<FileId> = payload.added.iter().map(|(file, _)| *file).collect();
        if added != switch.added || payload.removed != switch.removed {
            let name = &self.context.def.name;
            return Err(Error::corrupt(format!(
                "an edit of table \"{name}\" in the log names other files than its payload"
            )));
        }
        let _editing = self.editing.lock();
        let before = self.layout();
        let base = Arc::new(self.base_after(&before.base, &payload, switch.cut)?);
        let later = self.later(&before, switch.cut)?;
        self.skip_row_ids(base.next_row_id());
        let number = before.active.number + 1;
        let floor = before.floor.max(base.known_from);
        let active = Arc::new(self.tails_from(number, switch.cut.next()));
        let mut after = Layout::new(base, Vec::new(), active, floor);
        let mut loads = before.base.loaded.iter().filter(|loaded| loaded.ts > switch.cut).peekable();
        for change in &later {
            while let Some(loaded) = loads.next_if(|loaded| loaded.ts <= change.ts) {
                after = self.load_again(&after, loaded);
            }
            self.append_later(&after, change)?;
        }
        for loaded in loads {
            after = self.load_again(&after, loaded);
        }
        let Layout { base, frozen, active, floor } = after;
        let (base, active) = (&base, &active);
        self.switch(|_| Layout::new(base.clone(), frozen, active.clone(), floor));
        // A follower removes no files: with the last reader the cached blocks go.
        payload.removed.iter().filter_map(|file| before.base.file(*file)).for_each(|file| file.retire());
        Ok(())
    }

    fn load_again(&self, layout: &Layout, loaded: &Loaded) -> Layout {
        let mut base = (*layout.base).clone();
        base.load(loaded.ts, self.take_segments(loaded.built.pages.len() as u64), &loaded.built);
        layout.active.note_loaded(loaded.ts);
        layout.with_base(base)
    }

    fn base_after(&self, before: &Base, payload: &Payload, cut: Timestamp) -> Result<Base> {
        let mut base = before.clone();
        base.take_loaded();
        let shape = self.shape();
        for (file, entry) in &payload.added {
            add_file(&mut base, &self.context, &shape.schema, *file, entry)?;
            // A segment that is longer now has pages of all columns.
            if let Entry::Pages { segment, .. } = entry {
                let known = base.segment(*segment).is_some_and(|segment| segment.newest.number() == *file);
                assert!(known, "a segment has the file that was added to it");
            }
        }
        payload.dropped.iter().for_each(|number| base.set_segment(*number, None));
        base.keys.retain(|run| !payload.removed.contains(&run.file.number()));
        base.past.retain(|past| !payload.removed.contains(&past.file.number()));
        base.keys.sort_by_key(KeyRun::order);
        base.past.sort_by_key(|past| past.after);
        let has_removed =
            |segment: &Arc<Segment>| segment.files().iter().any(|file| payload.removed.contains(&file.number()));
        if base.segments.iter().flatten().any(has_removed) {
            return Err(Error::corrupt("an edit in the log removes pages that are in use"));
        }
        (base.cut, base.known_from) = (cut, base.known_from.max(payload.known_from));
        Ok(base)
    }

    /// What was applied beyond the cut, in the order of the commits.
    fn later(&self, layout: &Layout, cut: Timestamp) -> Result<Vec<Later>> {
        let mut later = Vec::new();
        for tails in layout.tails() {
            for (first, range) in tails.ranges() {
                for record in range.records().filter(|record| record.ts > cut) {
                    let row_id = first + u64::from(record.slot);
                    later.push(Later { ts: record.ts, key: self.key_of(layout, row_id, record)?, what: what(record) });
                }
            }
        }
        later.sort_by_key(|change| change.ts);
        Ok(later)
    }

    /// The key of a row: that of the row as it was inserted, or of its page.
    fn key_of(&self, layout: &Layout, row_id: u64, record: &Record) -> Result<Vec<u8>> {
        let shape = self.shape();
        let row = layout.tails().find_map(|tails| {
            let mut record = tails.find(row_id, record.ts);
            while let Some(found) = record {
                if let Some(row) = found.root() {
                    return Some(row.clone());
                }
                record = tails.before(row_id, found);
            }
            None
        });
        if let Some(row) = row {
            return Ok(self.keys.of_row(&shape.codec, &row));
        }
        let Some((segment, slot)) = layout.base.place(row_id) else {
            return Err(Error::internal(format!("row id {row_id} has records, but neither a row nor a page")));
        };
        let values = shape.schema.key.iter().map(|&ordinal| segment.value(&shape.codec, ordinal, slot));
        let values = values.collect::<Result<Vec<Value>>>()?;
        Ok(self.keys.encode(values.iter().map(Value::as_ref)))
    }

    fn append_later(&self, layout: &Layout, change: &Later) -> Result<()> {
        let known = layout.row_id(&change.key)?;
        let (active, ts) = (&layout.active, change.ts);
        match &change.what {
            What::Insert(row) => {
                let row_id = known.unwrap_or_else(|| self.take_row_id());
                active.append(row_id, |slot| Record::insert(ts, slot, row.clone()));
                active.add_key(&change.key, row_id);
            }
            What::Set(set) => {
                let row_id = known.ok_or_else(|| lost(ts))?;
                let before = layout.newest(row_id);
                active.append(row_id, |slot| Record::set(ts, slot, set.clone(), before, layout.base.cut));
            }
            What::Delete => {
                let row_id = known.ok_or_else(|| lost(ts))?;
                active.append(row_id, |slot| Record::delete(ts, slot));
            }
        }
        Ok(())
    }
}

fn lost(ts: Timestamp) -> Error {
    Error::internal(format!("the row that commit {ts} changed is not in the files of the writer"))
}

fn what(record: &Record) -> What {
    match (record.kind, record.inserted()) {
        (Kind::Insert, Some(row)) => What::Insert(row.clone()),
        (Kind::Delete, _) => What::Delete,
        _ => What::Set(record.own().map(|(column, value)| (column as u16, value.clone())).collect()),
    }
}
