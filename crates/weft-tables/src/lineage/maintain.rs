//! Background work: what could run now, and running it.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use weft_contract::{Damage, FileSwitch, Inspect, JobOffer, LayerStatus, PartStatus, Price, Upkeep};
use weft_format::{Error, Result, Timestamp};
use weft_kernel::TableDef;

use super::files::OpenFile;
use super::gate::Holder;
use super::job_kinds::{MERGE, MERGE_HISTORY, MERGE_KEYS};
use super::layout::Layout;
use super::status;
use super::store::Store;

/// Bytes of tails that one core merges in a microsecond, about.
const MERGE_BYTES_PER_US: u64 = 30;

impl Upkeep for Store {
    fn jobs(&self) -> Vec<JobOffer> {
        if self.is_dropped() || self.unavailable().is_some() {
            return Vec::new();
        }
        let layout = self.layout();
        let offers = [self.merge_offer(&layout), self.key_offer(&layout), self.past_offer(&layout)];
        offers.into_iter().flatten().collect()
    }

    fn run(&self, offer: &JobOffer) -> Result<()> {
        match offer.kind {
            MERGE => self.merge(offer.number),
            MERGE_KEYS => self.merge_keys(offer.number),
            MERGE_HISTORY => self.merge_past(offer.number),
            _ => Ok(()),
        }
    }

    fn freeze(&self) {
        self.freeze_active(|_| true);
    }

    fn durable_cut(&self) -> Timestamp {
        // No writer is between its change and its note, so an installation is noted or will be published later.
        let _closed = self.close(Holder::Look);
        let cut = self.cut();
        if self.last_change() > cut && !self.is_dropped() { cut } else { Timestamp::MAX }
    }

    fn evolve(&self, def: &Arc<TableDef>) {
        self.set_definition(def);
    }

    fn drop_files(&self) {
        self.mark_dropped();
    }

    fn check(&self) -> Result<Vec<String>> {
        match self.unavailable() {
            None => self.check_all(),
            Some(error) => Ok(vec![error.to_string()]),
        }
    }

    fn damage(&self) -> Vec<Damage> {
        let failed =
            |file: Arc<OpenFile>| file.table.failures().1.map(|error| Damage { file: Some(file.number()), error });
        let of_all = self.unavailable().map(|error| Damage { file: None, error: error.clone() });
        of_all.into_iter().chain(self.layout().base.files().into_iter().filter_map(failed)).collect()
    }

    fn unavailable(&self) -> Option<&Error> {
        self.given_up.error()
    }

    fn follow(&self, switch: &FileSwitch) -> Result<()> {
        self.follow_switch(switch)
    }
}

impl Inspect for Store {
    fn layers(&self) -> Vec<LayerStatus> {
        status::layers(self, &self.layout())
    }

    fn parts(&self) -> Vec<PartStatus> {
        Vec::new()
    }
}

impl Store {
    fn merge_offer(&self, layout: &Layout) -> Option<JobOffer> {
        if self.merging.load(Ordering::Acquire) {
            return None;
        }
        let tails = self.mergeable(layout)?;
        let (bytes, records) = (tails.bytes(), tails.record_count());
        let price = Price {
            cpu_us: bytes / MERGE_BYTES_PER_US,
            write_bytes: bytes,
            memory_freed_bytes: bytes,
            log_released_bytes: bytes,
            dead_rows: records,
            ..Price::default()
        };
        let (number, waiting) = (tails.number, layout.frozen.len());
        let reason = format!("tails {number} are frozen with {records} records, {waiting} wait");
        Some(JobOffer { table: self.context.def.id, kind: MERGE, number, price, reason })
    }
}
