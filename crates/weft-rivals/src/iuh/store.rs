//! The pages of a table, each behind its latch.
//!
//! Concurrency: one latch at a time; history is read without any, of values that were copied under the latch.

use std::sync::Arc;

use weft_contract::{JobOffer, LayerStatus};
use weft_env::Clock;
use weft_env::sync::RwLock;
use weft_format::{RowCodec, Timestamp, Value};
use weft_tables::lineage::buckets::Buckets;
use weft_tables::waits::{self, Waits};

use super::IuhOptions;
use super::history::History;
use super::page::Page;
use crate::rows::{Gathered, Rows, Wanted};

/// See the module.
pub(crate) struct Iuh {
    page_rows: u64,
    pages: Buckets<RwLock<Page>>,
    history: History,
    latches: Arc<Waits>,
    clock: Arc<dyn Clock>,
}

impl Iuh {
    pub(crate) fn new(options: IuhOptions, latches: Arc<Waits>, clock: Arc<dyn Clock>) -> Iuh {
        Iuh { page_rows: options.page_rows, pages: Buckets::default(), history: History::default(), latches, clock }
    }

    fn place(&self, row: u64) -> (u32, usize) {
        ((row / self.page_rows) as u32, (row % self.page_rows) as usize)
    }

    /// Changes the page of a row.
    fn change(&self, row: u64, change: impl FnOnce(&mut Page, usize)) {
        let (number, slot) = self.place(row);
        let page = self.pages.get_or_init(number, RwLock::default);
        change(&mut waits::write(page, &self.latches, &*self.clock), slot);
    }
}

impl Rows for Iuh {
    fn block_rows(&self) -> u64 {
        self.page_rows
    }

    fn insert(&self, row: u64, ts: Timestamp, codec: &RowCodec, values: Vec<Value>) {
        self.change(row, |page, slot| page.insert(slot, ts, codec, values, &self.history));
    }

    fn update(&self, row: u64, ts: Timestamp, codec: &RowCodec, bytes: &[u8], columns: &[usize]) {
        self.change(row, |page, slot| page.update(slot, ts, codec, (bytes, columns), &self.history));
    }

    fn delete(&self, row: u64, ts: Timestamp) {
        self.change(row, |page, slot| page.delete(slot, ts, &self.history));
    }

    fn find(
        &self,
        row: u64,
        read_ts: Timestamp,
        codec: &RowCodec,
        columns: &[usize],
        values: &mut Vec<Value>,
    ) -> Option<Timestamp> {
        let (number, slot) = self.place(row);
        let copied = {
            let page = waits::read(self.pages.get(number)?, &self.latches, &*self.clock);
            if page.len() <= slot {
                return None;
            }
            page.copy(slot, codec, columns, values)
        };
        copied.seen_at(&self.history, read_ts, columns, values)
    }

    fn gather(&self, block: u64, wanted: &Wanted, gathered: &mut Gathered) {
        let Some(page) = self.pages.get(block as u32) else { return };
        let mut late = Vec::new();
        waits::read(page, &self.latches, &*self.clock).gather(block * self.page_rows, wanted, gathered, &mut late);
        for mut row in late {
            if row.copied.seen_at(&self.history, wanted.read_ts, &wanted.columns, &mut row.values).is_some() {
                gathered.take_row(row.row, &mut row.values);
            }
        }
    }

    fn is_due(&self) -> bool {
        false
    }

    fn offer(&self) -> Option<JobOffer> {
        None
    }

    fn run(&self, _: &RowCodec, _: &dyn Fn() -> Timestamp) {}

    /// There is nothing that a job could carry.
    fn freeze(&self) {}

    fn check(&self) -> Vec<String> {
        let mut wrong = Vec::new();
        for (number, page) in self.pages.iter() {
            page.read().check(u64::from(number) * self.page_rows, &self.history, &mut wrong);
        }
        wrong
    }

    fn layers(&self) -> Vec<LayerStatus> {
        let layer = |layer, parts, rows| LayerStatus {
            layer,
            bucket: None,
            parts,
            rows,
            dead_rows: 0,
            bytes: 0,
            key_min: None,
            key_max: None,
        };
        let lengths: Vec<u64> = self.pages.iter().map(|(_, page)| page.read().len() as u64).collect();
        vec![layer("pages", lengths.len() as u64, lengths.iter().sum()), layer("history", 1, self.history.len())]
    }
}
