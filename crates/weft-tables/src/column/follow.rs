//! A follower's table does with its files as the writer's did.
//!
//! ```text
//!   switch     cut 40, added [9: 4 rows], removed [3]        what was applied here beyond 40: k1 @ 44, k2 ended @ 45
//!   before     t12-3   row table 7 (11..=52)  a@12  b@30..45  k1@44
//!   after      t12-9   row table 7 (41..=52)                  k1@44        b is in t12-9, and is marked there @ 45
//! ```
//!
//! 1. What the switch lists has every version up to the cut that was alive at the cut, and the versions that died then
//!    are marked in it. So a version that began up to the cut and died beyond it is there, and is found by its key as
//!    of just before its death.
//! 2. Versions beyond the cut are in no file: those of a row table that the cut divides go into a new one.
//! 3. A part that stays has every mark that this node has set. The marks that the switch says of it are among these:
//!    they are at or below the cut, and everything up to there was applied.
//! 4. A part that a bulk statement attached beyond the cut stays, listed or not.
//! 5. What the files have forgotten of the time before the cut no snapshot here may ask for (layout 7).
//!
//! Cost: opening what is added, the marks beyond the cut of what is removed, and where the cut moves the versions of
//! the row tables at or below it; and one list of all parts, as every switch.
//!
//! Concurrency: as `publish.rs`, without a manifest to write. The follower applies nothing meanwhile.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use weft_contract::FileSwitch;
use weft_format::{BLOCK_ROWS, Error, FileId, Result, Timestamp};
use weft_kernel::fault::active;

use super::borders::Borders;
use super::columns::{Columns, Placed, fault_of};
use super::faults;
use super::key_probe::KeyProbe;
use super::layout::{Layout, Rows};
use super::options::Incremental;
use super::part::Part;
use super::payload::{Layer, PartEntry, Payload};
use super::row_table::{Place, RowTable};
use super::store::Store;
use super::together::Turnover;

/// A version that the switch has in a file, and that ended beyond the cut: its key, and when it ended.
type Ended = (Vec<u8>, Timestamp);

impl Store {
    /// See [`Upkeep::follow`](weft_contract::Upkeep::follow).
    pub(crate) fn follow_switch(&self, switch: &FileSwitch) -> Result<()> {
        // So that this node's marks are all there (follow 3).
        self.reconcile()?;
        let payload = Payload::decode(&switch.payload)?;
        self.check_switch(switch, &payload)?;
        let _editing = self.editing.lock();
        let added = payload.added.iter().map(|entry| self.followed_part(&payload, entry, switch.cut));
        let added = added.collect::<Result<Vec<Placed>>>()?;
        let _marking = self.marking.lock();
        let before = self.layout();
        let columns = self.columns_after(&before, &payload, &added)?;
        let mut ended = Vec::new();
        for file in &payload.removed {
            let part = before.part(*file).expect("what is removed was looked for in columns_after");
            self.ended_in(part, switch.cut, &mut ended)?;
        }
        if self.is_derived {
            self.take_marks_over(&before, &payload, switch.cut);
        }
        let rows = self.rows_behind(&before, switch.cut, &mut ended)?;
        if self.is_derived {
            // Of a key the first end is that of what is in the files.
            ended.sort_by_key(|(_, death)| *death);
        }
        if !active(faults::FOLLOW_WITHOUT_MARKS) {
            self.mark_followed(&added, &ended)?;
        }
        // A move alone forgets nothing.
        let forgets = !added.is_empty() || !payload.removed.is_empty() || switch.cut > self.cut();
        let forgets = forgets && !active(faults::FOLLOW_BELOW_FLOOR);
        let floor = if forgets { switch.cut.max(self.shape().last_drop()) } else { before.floor };
        let floor = floor.max(before.floor);
        let is_new = |part: &&Arc<Part>| before.part(part.file).is_none();
        let came: Vec<Arc<Part>> = added.iter().map(|(part, _)| part).filter(is_new).cloned().collect();
        let turnover = Turnover { came: &came, went: &payload.removed };
        self.switch_from(&before, rows, (Arc::new(columns), turnover), floor);
        self.set_cut(switch.cut);
        added.iter().for_each(|(part, _)| part.set_listed());
        // A follower removes no files: with the last reader the cached blocks go.
        payload.removed.iter().filter_map(|file| before.part(*file)).for_each(|part| part.retire());
        let limit = self.droppable(switch.cut);
        self.layout().parts().iter().for_each(|part| part.marks.forget(limit));
        Ok(())
    }

    /// Marks of parts that stay, which this node may not have set (derived 3).
    fn take_marks_over(&self, before: &Layout, payload: &Payload, cut: Timestamp) {
        for (file, positions) in &payload.marks {
            let Some(part) = before.part(*file) else { continue };
            let missing = positions.iter().filter(|position| !part.marks.is_marked(**position));
            missing.for_each(|position| {
                part.marks.set(*position, cut);
            });
        }
    }

    /// What the payload says of files is what the edit says.
    fn check_switch(&self, switch: &FileSwitch, payload: &Payload) -> Result<()> {
        let added: Vec<FileId> = payload.added.iter().map(|entry| entry.file).collect();
        if added == switch.added && payload.removed == switch.removed {
            return Ok(());
        }
        let name = &self.context.def.name;
        Err(Error::corrupt(format!("an edit of table \"{name}\" in the log names other files than its payload")))
    }

    /// A part that the switch lists: attached before (follow 4), or opened now.
    fn followed_part(&self, payload: &Payload, entry: &PartEntry, cut: Timestamp) -> Result<Placed> {
        let attached_at = (entry.attached_at != Timestamp(0)).then_some(entry.attached_at);
        let known = self.layout().part(entry.file).cloned();
        let is_known = known.is_some();
        let part = known.map_or_else(|| self.open_part(entry.file, attached_at).map(Arc::new), Ok)?;
        if part.row_count() != entry.row_count || part.attached_at() != attached_at {
            let (file, found, listed) = (entry.file, part.row_count(), entry.row_count);
            return Err(Error::corrupt(format!("file {file} has {found} rows, the log says {listed}, or is another")));
        }
        if is_known {
            return Ok((part, entry.layer));
        }
        let dead = payload.marks.get(&entry.file).into_iter().flatten();
        if let Some(position) = dead.clone().find(|position| **position >= entry.row_count) {
            let file = entry.file;
            return Err(Error::corrupt(format!("the log marks row {position} of file {file}, which has it not")));
        }
        part.marks.load(dead.map(|&position| (position, cut)));
        if entry.full {
            part.set_full();
        }
        Ok((part, entry.layer))
    }

    fn columns_after(&self, before: &Layout, payload: &Payload, added: &[Placed]) -> Result<Columns> {
        let name = &self.context.def.name;
        if let Some(file) = payload.removed.iter().find(|file| before.part(**file).is_none()) {
            return Err(Error::corrupt(format!("the log removes file {file} of table \"{name}\", which has it not")));
        }
        // Those that were attached before are placed as the switch says.
        let leaves: HashSet<FileId> =
            payload.removed.iter().copied().chain(added.iter().map(|(part, _)| part.file)).collect();
        let moved: HashMap<FileId, Layer> = payload.moved.iter().copied().collect();
        let stays = before.columns.placed().filter(|(part, _)| !leaves.contains(&part.file));
        let mut placed: Vec<Placed> =
            stays.map(|(part, layer)| (part.clone(), moved.get(&part.file).copied().unwrap_or(layer))).collect();
        placed.extend(added.iter().cloned());
        let borders =
            payload.borders.as_ref().map_or(before.columns.borders.clone(), |keys| Borders::new(keys.clone()));
        if let Some(fault) = fault_of(&placed, &borders) {
            return Err(Error::corrupt(format!("a switch of table \"{name}\" in the log cannot be: {fault}")));
        }
        Ok(Columns::new(placed, borders))
    }

    /// What ended in a part beyond the cut.
    fn ended_in(&self, part: &Part, cut: Timestamp, ended: &mut Vec<Ended>) -> Result<()> {
        for run in part.marks.later_than(cut).chunk_by(|a, b| a.0 as usize / BLOCK_ROWS == b.0 as usize / BLOCK_ROWS) {
            let block = run[0].0 as usize / BLOCK_ROWS;
            let keys = self.keys_of_block(part, block)?;
            ended.extend(run.iter().map(|&(position, ts)| (keys.get(position as usize % BLOCK_ROWS).to_vec(), ts)));
        }
        Ok(())
    }

    /// The row tables with what lies beyond the cut (follow 2), and what ended there of the rest.
    fn rows_behind(&self, before: &Layout, cut: Timestamp, ended: &mut Vec<Ended>) -> Result<Rows> {
        let mut frozen = Vec::new();
        for table in &before.frozen {
            let behind = self.behind(table, cut, ended)?;
            if table.frozen_at() > Some(cut) {
                frozen.push(behind);
            }
        }
        Ok(Rows { active: self.behind(&before.active, cut, ended)?, frozen })
    }

    fn behind(&self, table: &Arc<RowTable>, cut: Timestamp, ended: &mut Vec<Ended>) -> Result<Arc<RowTable>> {
        if table.from > cut {
            if self.is_derived {
                // Derived 3.
                table.for_each(|key, place| ended.push((key.to_vec(), place.chunk.insert_ts(place.slot))));
            }
            return Ok(table.clone());
        }
        let (shape, budget) = (self.shape(), self.context.services.row_budget().clone());
        let columns = shape.schema.columns.len();
        let rest = RowTable::new(table.number, cut.next(), self.row_table_bytes, columns, budget);
        let mut later: Vec<(Timestamp, Vec<u8>, Place)> = Vec::new();
        table.for_each(|key, place| {
            let (began, death) = (place.chunk.insert_ts(place.slot), place.chunk.delete_ts(place.slot));
            if began > cut {
                if self.is_derived {
                    // Derived 3.
                    ended.push((key.to_vec(), began));
                }
                later.push((began, key.to_vec(), place.clone()));
            } else if death > cut && death != Timestamp::MAX {
                ended.push((key.to_vec(), death));
            }
        });
        // As they came in.
        later.sort_by(|a, b| (a.0, &a.1).cmp(&(b.0, &b.1)));
        let mut filling = rest.filling();
        for (began, key, place) in later {
            let row = place.chunk.row(place.slot).clone();
            filling.insert_ended(&key, began, row, place.chunk.delete_ts(place.slot));
        }
        drop(filling);
        if let Some(to) = table.frozen_at().filter(|to| *to > cut) {
            rest.freeze(to);
        }
        if self.options.incremental == Incremental::Columns {
            rest.encode(&shape.schema, &shape.codec)?;
        }
        Ok(Arc::new(rest))
    }

    /// Marks what ended beyond the cut where the switch has it (follow 1).
    fn mark_followed(&self, added: &[Placed], ended: &[Ended]) -> Result<()> {
        for (key, death) in ended {
            let (probe, before) = (KeyProbe::new(key), Timestamp(death.0 - 1));
            let covering = added.iter().map(|(part, _)| part);
            let mut covering = covering.filter(|part| part.key_min() <= &key[..] && &key[..] <= part.key_max());
            let found = covering.find_map(|part| match part.find(&probe, before) {
                Ok(position) => position.map(|position| Ok((part, position))),
                Err(error) => Some(Err(error)),
            });
            let found = found.transpose()?;
            if found.is_none() && self.is_derived {
                continue;
            }
            let Some((part, position)) = found else {
                let name = &self.context.def.name;
                return Err(Error::corrupt(format!(
                    "a row of table \"{name}\" that ended at {death} is in no file of the switch in the log"
                )));
            };
            if !self.is_derived || !part.marks.is_marked(position) {
                part.marks.set(position, *death);
            }
        }
        Ok(())
    }
}
