//! The deep check: every byte of every file, and what must hold between the parts.

use weft_format::{Result, Timestamp};

use super::alive::AlivePlace;
use super::layout::Layout;
use super::row_table::RowTable;
use super::store::Store;

impl Store {
    /// See [`Upkeep::check`](weft_contract::Upkeep::check).
    pub(crate) fn check_all(&self) -> Result<Vec<String>> {
        // No job and no write may come between the looks at the parts.
        let _editing = self.editing.lock();
        let (_marking, reconciled) = self.lock_reconciled();
        let layout = self.layout();
        let mut wrong: Vec<String> = reconciled.err().map(|error| error.to_string()).into_iter().collect();
        let mut readable = wrong.is_empty();
        for part in layout.parts() {
            if let Err(error) = part.table.verify() {
                wrong.push(error.to_string());
                readable = false;
            }
            let file = part.file;
            if part.marks.count() > part.row_count() {
                wrong.push(format!("file {file} has more marks than rows"));
            }
            if !part.data.exists() {
                wrong.push(format!("file {file} is listed but not in the directory"));
            }
            if part.insert_ts_max() > self.cut() && part.is_listed() {
                let (ts, cut) = (part.insert_ts_max(), self.cut());
                wrong.push(format!("file {file} is listed with rows of {ts}, beyond the cut {cut}"));
            }
        }
        for table in layout.row_tables() {
            self.check_row_table(table, &mut wrong);
        }
        if readable {
            self.check_alive(&layout, &mut wrong)?;
        }
        Ok(wrong)
    }

    fn check_row_table(&self, table: &RowTable, wrong: &mut Vec<String>) {
        let to = table.frozen_at().unwrap_or(Timestamp::MAX);
        let shape = self.shape();
        table.for_each(|key, place| {
            let (from, until) = (place.chunk.insert_ts(place.slot), place.chunk.delete_ts(place.slot));
            if from < table.from || from > to {
                wrong.push(format!("row table {} holds a version of {from}", table.number));
            }
            if until < from {
                wrong.push(format!("a version of {from} ended at {until}"));
            }
            let row = place.chunk.row(place.slot);
            if shape.codec.check(row).is_err() || self.keys.of_row(&shape.codec, row) != key {
                wrong.push(format!("a row of row table {} does not fit its key", table.number));
            }
        });
    }

    /// DESIGN invariant 2, for the newest snapshot: a key has at most one version alive.
    fn check_alive(&self, layout: &Layout, wrong: &mut Vec<String>) -> Result<()> {
        let mut last: Option<(Vec<u8>, AlivePlace)> = None;
        let mut alive = self.alive_keys(layout);
        while let Some((key, place)) = alive.next()? {
            if let Some((_, other)) = last.as_ref().filter(|(last, _)| *last == key) {
                let values = self.keys.decode(&key).unwrap_or_default();
                wrong.push(format!("key {values:?} is alive in {other} and in {place}"));
            }
            last = Some((key, place));
        }
        Ok(())
    }
}
