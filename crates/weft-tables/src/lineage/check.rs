//! The deep check: every byte of every file, and what must hold between them.

use std::collections::HashSet;

use weft_format::{Result, Timestamp, Value};

use super::gate::Holder;
use super::layout::Layout;
use super::store::Store;

impl Store {
    /// See [`Upkeep::check`](weft_contract::Upkeep::check).
    pub(super) fn check_all(&self) -> Result<Vec<String>> {
        // No job and no write may come between the looks.
        let _editing = self.editing.lock();
        let _closed = self.close(Holder::Look);
        let layout = self.layout();
        let mut wrong = Vec::new();
        for file in layout.base.files() {
            if let Err(error) = file.table.verify() {
                wrong.push(error.to_string());
            }
            // The writer of a database may have removed what a follower still reads.
            if self.context.services.takes_page_records() && !file.exists() {
                wrong.push(format!("file {} is listed but not in the directory", file.number()));
            }
        }
        if wrong.is_empty() {
            self.check_segments(&layout, &mut wrong)?;
            self.check_past(&layout, &mut wrong)?;
            self.check_keys(&layout, &mut wrong)?;
        }
        Ok(wrong)
    }

    fn check_segments(&self, layout: &Layout, wrong: &mut Vec<String>) -> Result<()> {
        for segment in layout.base.segments.iter().flatten() {
            let number = segment.number;
            if segment.last_change() > layout.base.cut.max(segment.born) {
                wrong.push(format!("segment {number} has changes beyond the cut {}", layout.base.cut));
            }
            let mut alive = 0;
            for slot in 0..segment.rows {
                alive += u32::from(segment.is_alive(slot)?);
            }
            if alive != segment.alive {
                let listed = segment.alive;
                wrong.push(format!("segment {number} has {alive} rows alive, the manifest says {listed}"));
            }
        }
        Ok(())
    }

    fn check_past(&self, layout: &Layout, wrong: &mut Vec<String>) -> Result<()> {
        for past in &layout.base.past {
            let number = past.file.number();
            for position in 0..past.file.table.row_count() {
                let (row_id, old) = past.at(position)?;
                if old.until <= past.after || old.until > past.to || old.since >= old.until {
                    wrong.push(format!(
                        "file {number}: row {row_id} from {} to {} is out of place",
                        old.since, old.until
                    ));
                }
            }
        }
        Ok(())
    }

    /// Each row that is there has a key that leads to it, and no two have the same.
    fn check_keys(&self, layout: &Layout, wrong: &mut Vec<String>) -> Result<()> {
        let shape = self.shape();
        let mut seen = HashSet::new();
        for row_id in 0..self.next_row_id() {
            let Some(version) = layout.version(row_id, Timestamp::MAX)? else { continue };
            let values = shape.schema.key.iter().map(|&ordinal| version.value(&shape.codec, ordinal, &self.hops));
            let values = values.collect::<Result<Vec<Value>>>()?;
            let key = self.keys.encode(values.iter().map(Value::as_ref));
            match layout.row_id(&key)? {
                Some(found) if found == row_id => {}
                found => wrong.push(format!("key {values:?} is at row id {row_id}, it leads to {found:?}")),
            }
            if !seen.insert(key) {
                wrong.push(format!("key {values:?} is there twice"));
            }
        }
        Ok(())
    }
}
